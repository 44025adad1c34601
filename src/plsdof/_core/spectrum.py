"""From standardised predictors to their spectrum: Gram matrices and decompositions.

Notation: X = U S V' (thin, on the numerical rank r), lambda = S^2, z = U'y. The spectrum is the
triple (lambda, z, n) with the part of y that X does not reach; everything else depends on X and y
through it alone.

There are two Gram matrices of X (centred, scaled, rows weighted): G = X'X in the space of features
and G = XX' in the space of samples. They share their non-zero eigenvalues, so either one gives
everything, and the smaller one is taken. Forming it squares the condition number: `decompose` has
the singular value decomposition for where that matters.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, get_args

import numpy as np
import scipy.linalg

from plsdof._core.inputs import Array, read_only
from plsdof._core.standardize import Standardized, Units
from plsdof._core.threads import cached_property
from plsdof.errors import NotAvailableError

# The spectrum of a regression problem: the numbers through which X and y enter everything else
# ---------------------------------------------------------------------------------------------

_EPS = float(np.finfo(np.float64).eps)


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
    counts : (r,) array or None
        How many directions of X each eigenvalue above stands for in a trace; None if one each.
    others, others_error : (c,) arrays
        Eigenvalues of further directions, of which nothing else is known.
    hides_nothing : bool
        Whether eigenvalues that are not resolved hold nothing of y: z comes from X itself.
    side : {"samples", "features"}
        Whose basis was computed: U, and z = U'y, or V, and z = V'X'y / S. In the second case small
        S magnify errors of z, so residuals are what is left of ``squares``.
    squares : float or None
        ``|y|^2``, if known from elsewhere than z.
    collinear : int
        Number of directions of X not larger than the rounding of its entries, which are left out.
    null : int
        Number of directions that are known to be zero, in a basis of the features of fewer
        observations: computed directions turn towards them, too.
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
    counts: Array | None = None
    others: Array = field(default_factory=partial(np.zeros, 0))
    others_error: Array = field(default_factory=partial(np.zeros, 0))
    hides_nothing: bool = False
    side: str = "samples"
    squares: float | None = None
    collinear: int = 0
    null: int = 0
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
        """Number of non-zero eigenvalues of XX'."""
        return int(self.multiplicity.sum()) + len(self.others)

    @property
    def multiplicity(self) -> Array:
        """What each eigenvalue here weighs in a trace. Shape (r,)."""
        return np.ones(len(self.eigenvalues)) if self.counts is None else self.counts

    @property
    def trace(self) -> float:
        """Sum of squares of the standardised predictors."""
        return float(self.multiplicity @ self.eigenvalues + self.others.sum())

    @property
    def total(self) -> float:
        """Sum of squares of the centred response, ``|y|^2``."""
        return float(self.z @ self.z) + self.outside if self.squares is None else self.squares

    def rss(self, factors: Array, residuals: Array, z: Array | None = None) -> Array:
        """Return residual sums of squares for (..., r) filter factors f and residuals 1 - f.

        ``|(1 - f) z|^2 + outside``, or ``|y|^2 - sum f (2 - f) z^2`` with a basis of the features:
        f vanishes where z is magnified.
        """
        z = self.z if z is None else z
        if self.side == "samples":
            return np.asarray(np.square(residuals * z).sum(axis=-1) + self.outside)
        return np.asarray(self.total - (factors * (1.0 + residuals) * z**2).sum(axis=-1))

    @property
    def hidden(self) -> float:
        """The part of ``|y|^2`` that eigenvalues below the floor may hold."""
        return 0.0 if self.hides_nothing else self.outside

    @property
    def residual_dimension(self) -> float:
        """Dimension n - 1 - r of the space that no linear function of X reaches.

        Negative where weights sum to less than X has directions: models that use up more than
        there is have no noise level.
        """
        return self.n - 1.0 - self.rank


# The Gram matrix of a problem: what data of any kind and size come down to
# -------------------------------------------------------------------------

Map = Callable[[Array], Array]
# Matrices up to the first order are formed while data are read. Up to the second, 1.8 GB, one is
# formed when Degrees of Freedom are asked for; beyond, these are not computed.
FORMED, COUNTED = 5000, 15000
# Small eigenvalues of spectra, 100 to 2,000 rows and columns, are off by up to 8 roundings of the
# largest diagonal entry: this times BACKWARD.
_DIAGONAL = 4.0


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Gram:
    """A symmetric positive semi-definite G of order d, and the response in its space.

    Attributes
    ----------
    side : str
        "features" (G = X'X, d = p) or "samples" (G = XX', d = n_rows).
    units : Units
        Means, scales and weights of the data.
    response : (d,) array
        X'y in the space of features, y in the space of samples; y centred and weighted.
    total : float
        ``|y|^2``.
    form : callable
        Returns G, which may take a pass over the data; `matrix` keeps it.
    to_features, to_samples : callables or None
        X' @ u for u of shape (n_rows, k), needed in the space of samples; X @ v for v of shape
        (p, k), in the space of features, None where the rows cannot be reached again.
    y : (n_rows,) array or None
        Centred and weighted response of the rows, where it is known in the space of features, too.
    refine : callable or None
        Reads the rows again and returns data of at most p + 1 rows that have the same products to
        full precision; None if it cannot, or has no better digits.
    rounding : float
        Bound of the norm of what products with X do to it, where that is more than their own
        rounding: if they see the means of its columns.
    """

    side: str
    units: Units
    response: Array
    total: float
    form: Callable[[], Array]
    to_features: Map | None = None
    to_samples: Map | None = None
    y: Array | None = None
    refine: Callable[[], Standardized | None] | None = None
    rounding: float = 0.0

    @cached_property
    def matrix(self) -> Array:
        """G itself, an array of shape (d, d)."""
        self.require_countable()
        return self.form()

    def require_countable(self) -> None:
        """Raise if the matrix is too large to form."""
        if self.order > COUNTED:
            raise NotAvailableError(
                f"Degrees of Freedom of data with more than {COUNTED:,} rows and columns are not "
                "computed: they take all eigenvalues of X. The cross-validated choice, "
                "coefficients, predictions and intervals of Partial Least Squares do without."
            )

    def error(self, eigenvalues: Array) -> Array:
        """Return how far eigenvalues, largest first, may be off.

        Rounding changes the entry (a, b) of G by about eps |x_a| |x_b|, with any sign. So v'Gv
        changes by eps times the largest diagonal entry, for any direction v. Leading
        eigenvalues, where all entries agree, are off relative to the largest one.
        """
        largest = _first(eigenvalues)
        root = np.sqrt(largest * np.maximum(eigenvalues, 0.0))
        return BACKWARD * _EPS * np.maximum(root, self._unit(largest)) + self._moved(largest)

    def floor(self, eigenvalues: Array) -> float:
        """Return below which size eigenvalues, largest first, cannot be told from zero."""
        # Rounding adds up over the longer side; what X is off by is a bound as it is.
        longest, largest = max(self.units.n_rows, len(self.units.x_mean)), _first(eigenvalues)
        return longest * _EPS * self._unit(largest) + 2.0 * self._moved(largest)

    def _unit(self, largest: float) -> float:
        """Return the size of what is rounded, as small eigenvalues see it."""
        return min(largest, _DIAGONAL * self._diagonal)

    @cached_property
    def _diagonal(self) -> float:
        """Largest diagonal entry."""
        return float(self.matrix.diagonal().max(initial=0.0))

    def _moved(self, largest: float) -> float:
        """Return what products that see the means of columns do to eigenvalues."""
        return (2.0 * math.sqrt(largest) + self.rounding) * self.rounding

    @property
    def order(self) -> int:
        """Number d of rows of G."""
        return len(self.response)

    @property
    def X(self) -> "Reached":  # noqa: N802 (the symbol of the field)
        """The standardised predictors, as far as they can be reached."""
        return Reached(forward=self.to_samples, backward=self.to_features)

    @property
    def max_rank(self) -> int:
        """What the rank of centred data cannot exceed: min(n_rows - 1, p)."""
        return min(self.units.n_rows - 1, len(self.units.x_mean))


def _first(eigenvalues: Array) -> float:
    """Return the largest eigenvalue, the first one; zero if it is negative or there is none."""
    return max(float(eigenvalues[0]), 0.0) if len(eigenvalues) else 0.0


def formed(
    matrix: Array, *, side: str, units: Units, response: Array, total: float, **maps: Any
) -> Gram:
    """Return a `Gram` for a matrix that is there as an array."""
    return Gram(
        side=side,
        units=units,
        response=response,
        total=total,
        form=partial(_as_it_is, matrix),
        **maps,
    )


def dense_gram(data: Standardized) -> Gram:
    """Form the smaller of XX' and X'X. Cost: O(n p min(n, p)) time, O(min(n, p)^2) memory."""
    X, wide = data.X, data.X.shape[0] <= data.X.shape[1]
    return formed(
        X @ X.T if wide else X.T @ X,
        side="samples" if wide else "features",
        units=data.units,
        response=data.y if wide else X.T @ data.y,
        total=float(data.y @ data.y),
        to_features=partial(np.matmul, X.T),
        to_samples=partial(np.matmul, X),
        y=data.y,
    )


def _as_it_is(matrix: Array) -> Array:
    return matrix


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Reached:
    """A matrix that is there only through its products: ``X @ v`` and ``X.T @ u``."""

    forward: Map | None
    backward: Map | None

    @property
    def T(self) -> "Reached":  # noqa: N802 (numpy's name)
        """The transpose."""
        return Reached(forward=self.backward, backward=self.forward)

    def __matmul__(self, columns: Array) -> Array:
        if self.forward is None:
            raise NotAvailableError(
                "The rows of the data were not kept, so values per training row are not "
                "available; use predict() on the rows of interest."
            )
        if columns.ndim == 1:
            return self.forward(columns[:, None])[:, 0]
        return self.forward(columns)


# Decomposition of the predictors
# -------------------------------

Solver = Literal["auto", "svd", "gram"]
SOLVERS: tuple[Solver, ...] = get_args(Solver)
# Backward errors of LAPACK's decompositions, in units of eps times the largest value.
BACKWARD = 2.0
# Eigenvalues, and z from zero, are told apart beyond this multiple of their errors.
RESOLUTION = 4.0


@dataclass(frozen=True, kw_only=True)
class Decomposition:
    """Singular value decomposition of the standardised predictors, as far as it is needed.

    At least one of ``left`` and ``right`` is there; the other one is reached through X.
    It needs X only, so that several responses can share it.

    Attributes
    ----------
    eigenvalues, eigenvalue_error : (r,) arrays
        Squared singular values, and the error of the decomposition in them.
    z_amplification : (r,) array
        ``z_error = eps * |y| * z_amplification``.
    left : (n_rows, r) array or None
    right : (p, r) array or None
    X : (n_rows, p) array, `Reached` or None
        The standardised predictors, kept when one side was not computed.
    unresolved : int
    floor : float
    collinear, null : int
        See `Spectrum`.
    solver : str
        "svd" or "gram": how it was made.
    """

    eigenvalues: Array
    eigenvalue_error: Array
    z_amplification: Array
    left: Array | None
    right: Array | None
    X: Any
    unresolved: int
    floor: float
    solver: str
    collinear: int = 0
    null: int = 0

    @property
    def singular_values(self) -> Array:
        """Square roots of the eigenvalues."""
        return np.sqrt(self.eigenvalues)

    @property
    def sample_basis(self) -> Array:
        """U, one row per sample. Shape (n_rows, r)."""
        identity = np.eye(len(self.eigenvalues))
        return self.to_samples(identity) if self.left is None else self.left

    @property
    def feature_basis(self) -> Array:
        """V, one row per feature. Shape (p, r)."""
        identity = np.eye(len(self.eigenvalues))
        return self.to_features(identity) if self.right is None else self.right

    def to_samples(self, rotated: Array) -> Array:
        """Return U @ rotated: from rotated coordinates (r, k) to one row per sample."""
        if self.left is not None:
            return self.left @ rotated
        return self._through(self.X, self.right, rotated)

    def to_features(self, rotated: Array) -> Array:
        """Return V @ rotated: from rotated coordinates (r, k) to one row per feature."""
        if self.right is not None:
            return self.right @ rotated
        return self._through(self.X.T, self.left, rotated)

    def _through(self, X: Any, basis: Array | None, rotated: Array) -> Array:
        """Go from rotated coordinates to the side whose basis was not computed."""
        assert basis is not None
        return np.asarray(X @ (basis @ (rotated / self.singular_values[:, None])))

    def rotate(self, y: Array) -> Array:
        """Return z = U'y."""
        if self.left is not None:
            return self.left.T @ y
        assert self.right is not None
        return np.asarray(self.right.T @ (self.X.T @ y) / self.singular_values)

    def spectrum(self, y: Array, n: float) -> Spectrum:
        """Combine the decomposition of X with a centred response."""
        z = self.rotate(y)
        perpendicular = y - self.to_samples(z[:, None])[:, 0]
        outside, norm = float(perpendicular @ perpendicular), float(np.linalg.norm(y))
        if len(z) >= len(y) - 1 and outside <= (len(y) * _EPS * norm) ** 2:
            outside = 0.0  # X reaches all of y
        return self.spectrum_of(z, n=n, norm=norm, outside=outside)

    def spectrum_of(self, z: Array, *, n: float, norm: float, outside: float) -> Spectrum:
        """Combine the decomposition of X with the coordinates z = U'y of a response of norm |y|."""
        return Spectrum(
            eigenvalues=self.eigenvalues,
            z=read_only(z),
            n=n,
            outside=outside,
            eigenvalue_error=self.eigenvalue_error,
            z_error=read_only(BACKWARD * _EPS * norm * self.z_amplification),
            unresolved=self.unresolved,
            floor=self.floor,
            side="features" if self.left is None else "samples",
            squares=norm**2,
            collinear=self.collinear,
            null=self.null,
        )


def decompose(data: Standardized, solver: str = "svd") -> Decomposition:
    """Decompose the standardised predictors.

    With solver "svd" the numerical rank is the number of singular values above
    ``max(n, p) * eps * S_1`` and above what rounding the entries of X may have made of zero; with
    solver "gram" it is the number of eigenvalues above `Gram.floor`. It is never more than
    min(rows - 1, p). What "gram" cannot resolve is counted in ``unresolved``.

    Cost: O(n p min(n, p)) time for both, with a far smaller constant for "gram", which forms
    the smaller of X'X and XX'. The errors of its eigenvalues are those of `Gram.error` instead of
    eps * S_1 * S_i.
    """
    if solver == "gram":
        return decompose_gram(dense_gram(data))
    left, S, right_t = _svd(data.X)
    r, floor = numerical_rank(data, S)
    missing, S = data.max_rank - r, S[:r]
    return Decomposition(
        eigenvalues=read_only(S**2),
        eigenvalue_error=read_only(squaring_error(S)),
        z_amplification=read_only(np.ones(r)),
        left=read_only(left[:, :r]),
        right=read_only(right_t[:r].T),
        X=None,
        unresolved=missing,
        floor=floor**2,
        solver="svd",
        collinear=missing,
    )


def squaring_error(S: Array, largest: float | None = None) -> Array:
    """Return errors of squared singular values, which are off relative to the largest one."""
    largest = float(np.max(S, initial=0.0)) if largest is None else largest
    return np.asarray(2 * BACKWARD * _EPS * largest * S)


def numerical_rank(data: Standardized, singular_values: Array) -> tuple[int, float]:
    """Return how many singular values, largest first, are more than rounding, and what is not."""
    largest = float(np.max(singular_values, initial=0.0))
    floor = max(max(data.X.shape) * _EPS * largest, data.rounding)
    # Centring takes one dimension of the rows.
    return int(np.count_nonzero(singular_values[: data.max_rank] > floor)), floor


def _svd(X: Array) -> tuple[Array, Array, Array]:
    """Return U, S and V' of X = U diag(S) V', with min(n, p) columns of U and rows of V'."""
    try:
        return np.linalg.svd(X, full_matrices=False)
    except np.linalg.LinAlgError:  # divide and conquer may fail where QR iteration does not
        return scipy.linalg.svd(X, full_matrices=False, check_finite=False, lapack_driver="gesvd")


def decompose_gram(gram: Gram) -> Decomposition:
    """Decompose a formed Gram matrix."""
    eigenvalues, vectors = np.linalg.eigh(gram.matrix)
    r, floor = resolved_rank(gram, eigenvalues[::-1])
    basis = read_only(vectors[:, ::-1][:, :r])
    return on_gram(gram, eigenvalues[::-1][:r], basis, gram.max_rank - r, floor)


def spectrum_on_gram(gram: Gram, decomposition: Decomposition) -> Spectrum:
    """Combine a decomposition of ``gram`` with the response that belongs to it."""
    y = gram.y if decomposition.left is None else gram.response
    if y is not None:
        return decomposition.spectrum(y, gram.units.n)
    assert decomposition.right is not None
    z = decomposition.right.T @ gram.response / decomposition.singular_values
    return decomposition.spectrum_of(
        z, n=gram.units.n, norm=np.sqrt(gram.total), outside=max(gram.total - float(z @ z), 0.0)
    )


def on_gram(
    gram: Gram, eigenvalues: Array, basis: Array, unresolved: int, floor: float
) -> Decomposition:
    """Put together eigenvalues and orthonormal (d, r) eigenvectors in the space of ``gram``."""
    wide = gram.side == "samples"
    # z = V'X'y / S: rounding of X'y is relative to |X| |y|, and divided by S.
    moved = np.sqrt(np.max(eigenvalues, initial=0.0)) + gram.rounding / (BACKWARD * _EPS)
    amplification = np.ones_like(eigenvalues) if wide else moved / np.sqrt(eigenvalues)
    return Decomposition(
        eigenvalues=read_only(eigenvalues),
        eigenvalue_error=read_only(gram.error(eigenvalues)),
        z_amplification=read_only(amplification),
        left=basis if wide else None,
        right=None if wide else basis,
        X=gram.X,
        unresolved=unresolved,
        floor=floor,
        solver="gram",
        null=0 if wide else gram.order - gram.max_rank,
    )


def resolved_rank(gram: Gram, eigenvalues: Array) -> tuple[int, float]:
    """Return the numerical rank, from all eigenvalues, largest first, and the floor behind it."""
    floor = gram.floor(eigenvalues)
    return min(int(np.count_nonzero(eigenvalues > floor)), gram.max_rank), floor
