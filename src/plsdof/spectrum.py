"""The spectrum of a regression problem: the numbers through which X and y enter everything else.

Notation: X = U S V' (thin, on the numerical rank r), lambda = S^2, z = U'y.
"""

from dataclasses import dataclass

import numpy as np

from plsdof._validation import Array, read_only

_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, kw_only=True)
class Counted:
    """What a trace over all directions of X adds up, where the basis does not hold them all.

    tr f = sum_i basis_weights_i f(lambda_i) + sum_j weights_j f(eigenvalues_j), where i runs over
    the spectrum this belongs to and j over the nodes here.

    Attributes
    ----------
    eigenvalues, eigenvalue_error : (c,) arrays
    weights : (c,) array
        One for every eigenvalue of X, unless they are estimated.
    dimension : float
        Sum of all weights: the number of directions that are counted.
    basis_weights : (r,) array or None
        Where part of the trace is taken from the basis itself.
    """

    eigenvalues: Array
    eigenvalue_error: Array
    weights: Array
    dimension: float
    basis_weights: Array | None = None

    def total(self, values: Array) -> tuple[Array, Array]:
        """Sum (K, c) values over the nodes here; return the sums and their standard errors."""
        return np.vecdot(values, self.weights), np.zeros(len(values))


@dataclass(frozen=True, kw_only=True)
class Spectrum:
    """The numbers through which X and y enter everything else.

    Attributes
    ----------
    eigenvalues : (r,) array
        Positive eigenvalues of K = XX', largest first.
    z : (r,) array
        Coordinates U'y of the centred response.
    n : float
        Number of observations (sum of the weights, if weighted).
    outside : float
        ``|y|^2 - |z|^2``, the part of y that no linear function of X reaches.
    eigenvalue_error, z_error : (r,) arrays
        How far the decomposition may be off, elementwise and in absolute value.
    unresolved : int
        Number of further eigenvalues that may be non-zero but lie below ``floor``.
    floor : float
        Eigenvalues below this one cannot be told from zero.
    counted : Counted or None
        What traces add up; None if it is the eigenvalues above, each of them once.
    computed_basis : bool
        Whether the basis comes from a decomposition in floating point, which mixes directions
        whose eigenvalues are close; False if the numbers above are taken as given.
    """

    eigenvalues: Array
    z: Array
    n: float
    outside: float
    eigenvalue_error: Array
    z_error: Array
    unresolved: int = 0
    floor: float = 0.0
    counted: Counted | None = None
    computed_basis: bool = True

    @classmethod
    def exact(cls, eigenvalues: Array, z: Array, *, n: float, outside: float = 0.0) -> "Spectrum":
        """Return a spectrum whose numbers are taken as exact up to their own rounding."""
        eigenvalues = np.asarray(eigenvalues, dtype=np.float64)
        z = np.asarray(z, dtype=np.float64)
        order = np.argsort(-eigenvalues, kind="stable")
        return cls(
            eigenvalues=read_only(eigenvalues[order]),
            z=read_only(z[order]),
            n=float(n),
            outside=float(outside),
            eigenvalue_error=read_only(_EPS * eigenvalues[order]),
            z_error=read_only(_EPS * np.abs(z[order])),
            computed_basis=False,
        )

    @property
    def rank(self) -> int:
        """Number of non-zero eigenvalues of XX' (an upper bound if they were not computed)."""
        return int(self._dimension)

    @property
    def multiplicity(self) -> Array:
        """What each eigenvalue here weighs in a trace. Shape (r,)."""
        if self.counted is None:
            return np.ones(len(self.eigenvalues))
        weights = self.counted.basis_weights
        return np.zeros(len(self.eigenvalues)) if weights is None else weights

    @property
    def total(self) -> float:
        """Sum of squares of the centred response, ``|y|^2``."""
        return float(self.z @ self.z) + self.outside

    @property
    def residual_dimension(self) -> float:
        """Dimension n - 1 - r of the space that no linear function of X reaches."""
        return max(self.n - 1.0 - self._dimension, 0.0)

    @property
    def _dimension(self) -> float:
        return float(len(self.eigenvalues)) if self.counted is None else self.counted.dimension
