"""Symmetric matrices in tridiagonal form, started at a given vector.

V'GV = J with an orthonormal V whose first column is the start determines V and J (up to signs):
the first L columns span the Krylov space of the start. Lanczos' recursion gets them one product
with G after the other. Householder's reflections get all of them at once where G is there as an
array: the first reflection takes the start to the first axis, and the reduction that follows
leaves that axis alone (LAPACK's sytrd with the lower triangle). This is the reduction that
eigenvalues need anyway, so the Krylov space comes for free.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import blas, lapack

from plsdof._validation import Array
from plsdof.gram import Map
from plsdof.linalg import product

_EPS = float(np.finfo(np.float64).eps)
# The space is exhausted when a new direction is this share of the largest value.
EXHAUSTED = 4 * _EPS
# Columns that LAPACK treats together; its own choice, 32, is a little slower.
_BLOCK = 16


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
        inside = self.beside[: max(len(self.beside) - 1, 1)]
        values, vectors, failed = lapack.dstevd(self.diagonal, inside, compute_v=1)
        _require_convergence(failed)
        return values[::-1], vectors[:, ::-1]


def lanczos(times: Map, start: Array, steps: int) -> Tridiagonalization:
    """Tridiagonalise a symmetric matrix from a start, with full reorthogonalisation.

    Stops when the space is exhausted. Cost: ``steps`` products, O(d steps^2) time,
    O(d steps) memory.
    """
    steps = min(steps, len(start))
    norm = float(np.linalg.norm(start))
    basis = np.empty((steps, len(start)))
    basis[0] = start / (norm or 1.0)
    diagonal, beside = np.zeros(steps), np.zeros(steps)
    largest = 0.0
    for j in range(steps):
        new = times(basis[j][:, None])[:, 0]
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
        basis=basis[:steps], diagonal=diagonal[:steps], beside=beside[:steps], norm=norm
    )


def householder(G: Array, start: Array, steps: int) -> tuple[Tridiagonalization, Array]:
    """Tridiagonalise a formed matrix from a start; also return its eigenvalues, largest first.

    Parameters
    ----------
    G : (d, d) array
        Symmetric; only the lower triangle is looked at.
    start : (d,) array
    steps : int
        How many steps the Krylov space is wanted for.

    Notes
    -----
    Cost: that of the eigenvalues alone, and O(d steps^2).

    Examples
    --------
    >>> run, eigenvalues = householder(np.diag([1.0, 2.0, 4.0]), np.ones(3), 2)
    >>> eigenvalues
    array([4., 2., 1.])
    >>> run.tridiagonal[0, 0].round(12)  # the mean of the eigenvalues
    np.float64(2.333333333333)
    """
    d = len(start)
    norm = float(np.linalg.norm(start))
    mirror = start / (norm or 1.0)
    sign = math.copysign(1.0, mirror[0])
    mirror[0] += sign
    # H = I - share * mirror mirror' takes the start to -sign times the first axis.
    share = 2.0 / float(mirror @ mirror)
    reduced = np.array(G, order="F")
    turned = blas.dsymv(share, reduced, mirror, lower=1)
    turned -= 0.5 * share * (mirror @ turned) * mirror
    reduced = blas.dsyr2(-1.0, mirror, turned, a=reduced, lower=1, overwrite_a=1)
    reduced, diagonal, beside, factors, _ = lapack.dsytrd(
        reduced, lower=1, lwork=_BLOCK * d, overwrite_a=1
    )
    ascending, failed = lapack.dsterf(diagonal, beside)
    _require_convergence(failed)
    beside = np.append(beside, 0.0)
    steps = _steps_made(diagonal, beside, min(steps, d))
    basis = np.zeros((steps, d))
    basis[0, 0] = 1.0
    if steps > 1:
        columns = np.array(reduced[1:, : steps - 1], order="F")
        Q, _, _ = lapack.dorgqr(columns, factors[: steps - 1], lwork=_BLOCK * d, overwrite_a=1)
        basis[1:, 1:] = Q.T
    basis -= np.multiply.outer(product(basis, share * mirror), mirror)
    basis *= -sign
    run = Tridiagonalization(
        basis=basis, diagonal=diagonal[:steps], beside=beside[:steps], norm=norm
    )
    return run, ascending[::-1]


def _steps_made(diagonal: Array, beside: Array, most: int) -> int:
    """Return the number of steps before the space of the start is exhausted."""
    largest = np.maximum.accumulate(np.maximum(diagonal[:most], 0.0))
    ended = np.abs(beside[:most]) <= EXHAUSTED * largest
    return 1 + int(np.argmax(ended)) if ended.any() else most


def _require_convergence(failed: int) -> None:
    if failed:
        raise np.linalg.LinAlgError(f"{failed} eigenvalue(s) of a Gram matrix did not converge")
