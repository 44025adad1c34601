r"""The Gram matrix in two parts: spectra at the speed of a Gram matrix, without its loss of digits.

Rounding in G = AA' (A = X, or X' if there are more rows than columns) is relative to the largest
eigenvalue and hides the small ones. In spectra a few directions are larger than all others by
orders of magnitude. They are taken off first. With orthonormal Q near the leading eigenvectors,

    P = Q'A = S V',     A_2 = A - Q P,     C = A_2 V,     G_2 = A_2 A_2' - C C',

A' has, in the coordinates of Q and those orthogonal to it, the triangular factor

    R = ( S  C' )
        ( 0  R_2 ),     R_2'R_2 = G_2,

in which rounding of every block is relative to that block. The leading eigenvectors of R'R are
spanned by (I, B')' with

    B = C S^{-1} + G_2 B (S K)^{-1},     K = S + C'B,

which is solved by iteration, and in the basis of these vectors and their complement R'R falls into
two parts.
"""

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from plsdof._core.inputs import Array, Standardized, read_only
from plsdof._core.krylov import (
    Compressed,
    DiagonalAndDense,
    Factor,
    Tridiagonalization,
    compress_factor,
)
from plsdof._core.spectrum import BACKWARD, Decomposition, lapack_svd

_EPS = float(np.finfo(np.float64).eps)
# A recursion has found directions whose residuals are within this many roundings of the largest.
_CONVERGED = 30.0
# Directions that are looked at, besides as many as there are components.
_BEYOND = 6
# What is left may be so many times larger than the smallest direction that is looked at.
_REACH = 100.0
# The iteration that separates the two parts gains little if it has not ended by then.
_STEPS = 100
# Below this, squares are not seen beside one.
_SQUARES_VANISH = 1e-9
# Columns of A that are worked on at once, at least.
_BLOCK = 512
# Eigenvalues that are left must be above this many times their error.
_CERTAIN = 4.0
# Matrices of up to this order are decomposed with all of their vectors.
SMALL = 200


@dataclass(frozen=True, kw_only=True)
class Peeled:
    """A (d, N) matrix A in two parts, A = Q P + A_2, and a vector in its space.

    Attributes
    ----------
    leading : (d, k) array
        Orthonormal Q, turned so that the rows of P are orthogonal.
    values : (k,) array
        Lengths of these rows: the leading singular values of A.
    rest : (d, d) array
        A_2 A_2'.
    start : (k + d,) array
        The vector v as (Q'v, v - Q Q'v).
    """

    leading: Array
    values: Array
    rest: Array
    start: Array

    def lift(self, coordinates: Array) -> Array:
        """Return vectors in the space of A from (k + d, m) coordinates such as ``start``."""
        Q = self.leading
        inside, beyond = np.split(coordinates, [Q.shape[1]])
        return np.asarray(beyond + Q @ (inside - Q.T @ beyond))


def peel(data: Standardized, n_components: int, near: Array | None = None) -> Peeled | None:
    """Take the leading directions off X; None if they cannot be told from the others.

    ``near`` (d, k) are orthonormal vectors near the leading eigenvectors, if they are known.

    Cost: one product AA' of n p min(n, p) operations and, for k directions, about six products of
    2 n p k; everything else is of lower order.
    """
    X, y = data.X, data.y
    wide = X.shape[0] <= X.shape[1]
    A = X if wide else X.T
    Q = _near_leading(A, min(n_components + _BEYOND, len(A) // 3)) if near is None else near
    # P = S V' with orthogonal rows.
    V, triangle = np.linalg.qr(A.T @ Q)
    left, S, turn = lapack_svd(triangle.T)
    if not S[-1] > max(A.shape) * _EPS * S[0]:
        return None
    Q, V = Q @ left, V @ turn.T
    rest, common, beyond = _left_over(A, S[:, None] * V.T, Q, V, None if wide else y)
    common -= Q @ (Q.T @ common)
    rest -= common @ common.T
    if wide:
        inside = Q.T @ y
        beyond = y - Q @ inside
        beyond -= Q @ (Q.T @ beyond)
    else:
        inside = S * (V.T @ y)
    B = _graph(rest, common, S)
    if B is None:
        return None
    graph = Q + B
    values, turned = _leading_part(rest, common, S, B)
    # The other part, J (G_2 + E'E) J' with J = I - D B', D = (Q + B) M^{-1} and E = C' - S B'.
    E = common - B * S
    D = graph @ (turned @ turned.T)
    rest += E @ E.T
    rest -= D @ (B.T @ rest)
    rest -= (rest @ B) @ D.T
    outer = beyond - B @ inside
    start = np.concatenate([turned.T @ (inside + B.T @ beyond), outer - D @ (B.T @ outer)])
    return Peeled(leading=graph @ turned, values=values, rest=rest, start=start)


def _near_leading(A: Array, most: int) -> Array:
    """Return (d, k) orthonormal columns near the leading eigenvectors of AA', k < most.

    A step of subspace iteration from some columns of A, cut at the widest gap that leaves little.
    """
    some = np.linspace(0, A.shape[1] - 1, most, dtype=np.intp)
    Q, triangle = np.linalg.qr(A @ (A.T @ np.linalg.qr(A[:, some])[0]))
    left, squares, _ = lapack_svd(triangle)
    quotient = np.divide(squares[1:], squares[:-1], out=np.ones(most - 1), where=squares[:-1] > 0)
    quotient[squares[1:] > _REACH**2 * squares[-1]] = 1.0
    return np.asarray(Q @ left[:, : 1 + int(np.argmin(quotient))])


def _left_over(
    A: Array, P: Array, Q: Array, V: Array, y: Array | None
) -> tuple[Array, Array, Array]:
    """Return A_2 A_2', A_2 V and A_2 y of A_2 = A - Q P, in blocks of columns."""
    (d, k), N = Q.shape, A.shape[1]
    step = min(max(d, _BLOCK), N)
    rest, common, beyond = np.zeros((d, d)), np.zeros((d, k)), np.zeros(d)
    # New memory costs more than what is done to it: every block is put in the same place.
    place, product = np.empty((d, step)), np.empty((d, d))
    for start in range(0, N, step):
        columns = slice(start, min(start + step, N))
        part = np.matmul(Q, P[:, columns], out=place[:, : columns.stop - start])
        np.subtract(A[:, columns], part, out=part)
        rest += np.matmul(part, part.T, out=product)
        common += part @ V[columns]
        if y is not None:
            beyond += part @ y[columns]
    return rest, common, beyond


def _graph(rest: Array, common: Array, S: Array) -> Array | None:
    """Return B, (d, k); None if the iteration does not converge."""
    first = common / S
    B = first
    for _ in range(_STEPS):
        K = np.diag(S) + common.T @ B
        step = first + (rest @ B) @ np.linalg.inv(S[:, None] * K)
        change = float(np.linalg.norm((step - B) * S))
        B = step
        if change <= _EPS * S[0]:
            return B
    return None


def _leading_part(rest: Array, common: Array, S: Array, B: Array) -> tuple[Array, Array]:
    """Return the singular values of R on the columns of (I, B')', and what makes these its vectors.

    The second one is N, (k, k), with N'(I + B'B) N = I.
    """
    if np.abs(B).max() <= _SQUARES_VANISH:
        return S, np.eye(len(S))
    # I + B'B = L L', and R (I, B')' = (K, R_2 B).
    lower = np.linalg.cholesky(np.eye(len(S)) + B.T @ B)
    squares, vectors = np.linalg.eigh(B.T @ rest @ B)
    below = np.sqrt(np.maximum(squares, 0.0))[:, None] * vectors.T
    inverse = np.linalg.inv(lower)
    part = np.concatenate([np.diag(S) + common.T @ B, below]) @ inverse.T
    _, values, turn = lapack_svd(part)
    return values, inverse.T @ turn.T


def converged(run: Tridiagonalization) -> Array | None:
    """Return leading eigenvectors that a recursion on the Gram matrix has found, (d, k)."""
    certain = run.ritz_residuals <= _CONVERGED * _EPS * run.ritz_values[0]
    k = int(np.argmin(certain)) if not certain.all() else len(certain)
    return np.linalg.qr(run.basis.T @ run.ritz_vectors[:, :k])[0] if k else None


def decompose_peeled(
    data: Standardized, n_components: int, near: Array | None = None
) -> Decomposition | None:
    """Decompose X through its peeled Gram matrix, with all vectors; None where that is not certain.

    Cost: that of `peel`, and the eigenvectors of a matrix of order min(n, p).
    """
    peeled = peel(data, n_components, near)
    if peeled is None or len(peeled.leading) < len(data.X):
        return None
    null = _null_directions(peeled, data)
    spare = null.shape[1]
    eigenvalues, vectors = np.linalg.eigh(peeled.rest)
    error = BACKWARD * _EPS * float(eigenvalues[-1])
    rest = eigenvalues[spare:][::-1]
    if not _certain(rest, error, peeled, data):
        return None
    values = np.concatenate([peeled.values**2, rest])
    # What rounding has left along Q would be magnified by the quotient of singular values.
    vectors, Q = vectors[:, spare:][:, ::-1], peeled.leading
    left = np.hstack([Q, vectors - Q @ (Q.T @ vectors)])
    order = np.argsort(-values, kind="stable")
    values = values[order]
    unit = 2 * BACKWARD * _EPS * np.sqrt(values[0])
    return Decomposition(
        eigenvalues=read_only(values),
        eigenvalue_error=read_only(unit * np.sqrt(values) + error),
        z_amplification=read_only(np.ones_like(values)),
        left=read_only(left[:, order]),
        right=None,
        X=data.X,
        unresolved=0,
        floor=0.0,
        solver="gram",
    )


def compress_peeled(data: Standardized, n_components: int) -> Compressed | None:
    """Compress a problem through its peeled Gram matrix; None where that is not certain.

    Cost: that of `peel`, the eigenvalues and a Cholesky factor of a matrix of order min(n, p), and
    3 n_components + 4 products with it.
    """
    peeled = peel(data, n_components)
    if peeled is None:
        return None
    d = len(peeled.leading)
    eigenvalues: Array = np.asarray(np.linalg.eigvalsh(peeled.rest)[::-1], dtype=np.float64)
    # What was taken off, and the mean of the samples, are null directions.
    null = _null_directions(peeled, data)
    rest = eigenvalues[: d - null.shape[1]]
    error = BACKWARD * _EPS * float(eigenvalues[0])
    if not _certain(rest, error, peeled, data):
        return None
    # Lift the null directions, so that there is a triangular factor.
    lifted = (float(rest.mean()) * null) @ null.T
    lifted += peeled.rest
    try:
        R2 = scipy.linalg.cholesky(lifted, overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError:
        return None
    factor = Factor(
        matrix=DiagonalAndDense(diagonal=peeled.values, dense=R2),
        start=peeled.start,
        lift=peeled.lift,
        values=np.sqrt(np.sort(np.concatenate([peeled.values**2, rest]))[::-1]),
        error=error,
        solver="gram",
    )
    return compress_factor(data, factor, n_components)


def _certain(rest: Array, error: float, peeled: Peeled, data: Standardized) -> bool:
    """Whether all eigenvalues that are left are above their error, and above rounding in X."""
    longest = max(data.X.shape)
    floor = max(longest * _EPS * float(peeled.values[0]), data.rounding)
    return len(rest) > 0 and bool(rest[-1] > max(_CERTAIN * longest * error, floor**2))


def _null_directions(peeled: Peeled, data: Standardized) -> Array:
    """Return an orthonormal basis of what G_2 takes to zero. Shape (d, k) or (d, k + 1)."""
    if len(peeled.leading) < len(data.X):
        return peeled.leading
    scale = data.units.row_scale
    mean = np.ones(len(data.X)) if scale is None else scale
    mean = mean - peeled.leading @ (peeled.leading.T @ mean)
    return np.column_stack([peeled.leading, mean / np.linalg.norm(mean)])
