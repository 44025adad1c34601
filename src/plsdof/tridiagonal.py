"""Symmetric matrices in tridiagonal form, started at a given vector (Lanczos).

V'GV = J with an orthonormal V whose first column is the start determines V and J: the first L
columns span the Krylov space of the start, one product with G after the other.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from plsdof._validation import Array
from plsdof.gram import Map

_EPS = float(np.finfo(np.float64).eps)
# The space is exhausted when a new direction is this share of the largest value.
EXHAUSTED = 4 * _EPS


@dataclass(frozen=True, kw_only=True)
class Tridiagonalization:
    """A Krylov space, and the matrix in it.

    Attributes
    ----------
    basis : (L, d) array
        Orthonormal rows; the first one is the start.
    diagonal, beside : (L,) arrays
        Of the tridiagonal matrix; ``beside[j]`` couples rows j and j + 1 of the basis, and the
        last one leads out of the space.
    norm : float
        Length of the start.
    """

    basis: Array
    diagonal: Array
    beside: Array
    norm: float

    @property
    def tridiagonal(self) -> Array:
        """The tridiagonal matrix. Shape (L, L)."""
        inside = self.beside[:-1]
        return np.diag(self.diagonal) + np.diag(inside, 1) + np.diag(inside, -1)

    @property
    def ritz_values(self) -> Array:
        """Eigenvalues of the tridiagonal matrix, largest first. Shape (L,)."""
        return self._eigen[0]

    @property
    def ritz_vectors(self) -> Array:
        """Its eigenvectors, as columns. Shape (L, L)."""
        return self._eigen[1]

    @property
    def ritz_residuals(self) -> Array:
        """Norms of G v - theta v for the Ritz pairs. Shape (L,)."""
        return np.asarray(np.abs(self.beside[-1] * self.ritz_vectors[-1]))

    @cached_property
    def _eigen(self) -> tuple[Array, Array]:
        values, vectors = np.linalg.eigh(self.tridiagonal)
        return values[::-1], vectors[:, ::-1]


def lanczos(times: Map, start: Array, steps: int) -> Tridiagonalization:
    """Tridiagonalise a symmetric matrix from a start, with full reorthogonalisation.

    Stops when the space is exhausted. Products are held in units of a power of two near the
    first of them, so that their squares stay in the range of float64. Cost: ``steps`` products,
    O(d steps^2) time, O(d steps) memory.
    """
    steps = min(steps, len(start))
    size = _power_of_two(start)
    norm = float(np.linalg.norm(start / size)) * size
    basis = np.empty((steps, len(start)))
    basis[0] = start / (norm or 1.0)
    diagonal, beside = np.zeros(steps), np.zeros(steps)
    largest, unit = 0.0, 0.0
    for j in range(steps):
        new = times(basis[j][:, None])[:, 0]
        unit = unit or _power_of_two(new)
        new = new / unit
        if j:
            new -= beside[j - 1] * basis[j - 1]
        diagonal[j] = basis[j] @ new
        new -= diagonal[j] * basis[j]
        new -= (basis[: j + 1] @ new) @ basis[: j + 1]
        beside[j] = math.sqrt(new @ new)
        largest = max(largest, diagonal[j])
        if j + 1 == steps or beside[j] <= EXHAUSTED * largest:
            steps = j + 1
            break
        basis[j + 1] = new / beside[j]
    return Tridiagonalization(
        basis=basis[:steps],
        diagonal=diagonal[:steps] * unit,
        beside=beside[:steps] * unit,
        norm=norm,
    )


def _power_of_two(values: Array) -> float:
    """Return one near the largest absolute value, 1 if there is none."""
    largest = float(np.abs(values).max(initial=0.0))
    return math.ldexp(1.0, math.frexp(largest)[1] - 1) if 0.0 < largest < math.inf else 1.0
