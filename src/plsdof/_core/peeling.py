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

from plsdof._core.inputs import Array, Standardized, read_only
from plsdof._core.krylov import (
    Compressed,
    DiagonalAndDense,
    Factor,
    compress_factor,
)
from plsdof._core.spectrum import BACKWARD, Decomposition, lapack_svd, numerical_rank

_EPS = float(np.finfo(np.float64).eps)
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
SMALL = 128
# Angles whose squares can be left out, and those whose squares are a good deal smaller.
_FIRST_ORDER, _SMALL_ANGLE = 1e-7, 1e-2
_REFINEMENTS = 3
# What XX' knows something about: eigenvalues above this many times the floor of its rounding.
_RESOLVED = 100.0


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


def peel(data: Standardized, n_components: int) -> Peeled | None:
    """Take the leading directions off X; None if they cannot be told from the others.

    Cost: one product AA' of n p min(n, p) operations and, for k directions, about six products of
    2 n p k; everything else is of lower order.
    """
    X, y = data.X, data.y
    wide = X.shape[0] <= X.shape[1]
    A = X if wide else X.T
    Q = _near_leading(A, min(n_components + _BEYOND, len(A) // 3))
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


def refine(data: Standardized, rough: Decomposition) -> Decomposition | None:
    r"""Improve the eigenvectors of XX'; None where that is not certain.

    In the basis U of eigenvectors the rows of T = U'X are orthogonal up to rounding in XX', and
    M = TT' has the digits of small eigenvalues that XX' has lost. To first and second order,

        lambda_j = M_jj + sum_i M_ij F_ij,   u_j + sum_i F_ij u_i,   F_ij = M_ij / (M_jj - M_ii).

    Where F is not small enough, the new vectors are the start of another such step.

    Cost: O(n^2 p) time, most of it in two products.
    """
    U = rough.left
    assert U is not None
    if rough.unresolved or not np.all(rough.eigenvalues > _RESOLVED * rough.floor):
        return None
    for _ in range(_REFINEMENTS):
        T = U.T @ data.X
        M = T @ T.T
        gap = M.diagonal() - M.diagonal()[:, None]
        np.fill_diagonal(gap, np.inf)
        with np.errstate(divide="ignore", invalid="ignore"):
            F = M / gap
        largest = np.abs(F).max(initial=0.0)
        if not _FIRST_ORDER < largest <= _SMALL_ANGLE:
            break
        U = np.linalg.qr(U + U @ F)[0]
    if not largest <= _FIRST_ORDER:
        return None
    values = M.diagonal() + (M * F).sum(axis=0)
    order = np.argsort(-values, kind="stable")
    values = values[order]
    if not len(values) or not values[-1] > 0:
        return None
    S = np.sqrt(values)
    found = numerical_rank(S, data)
    if found.missing or found.rank < len(S):
        return None
    return Decomposition(
        eigenvalues=read_only(values),
        eigenvalue_error=read_only(2 * BACKWARD * _EPS * S[0] * S),
        z_amplification=read_only(np.ones_like(S)),
        left=read_only((U + U @ F)[:, order]),
        right=None,
        X=data.X,
        unresolved=0,
        floor=found.floor,
        solver="gram",
    )


def compress_peeled(data: Standardized, n_components: int) -> Compressed | None:
    """Compress a problem through its peeled Gram matrix; None where that is not certain.

    Cost: that of `peel`, the eigenvalues and a Cholesky factor of a matrix of order min(n, p), and
    3 n_components + 4 products with it.
    """
    # What centring takes to zero must be known, and nobody knows where it is among the rows of a
    # factor; one with more rows than columns has it outside the space of the smaller side.
    if data.is_factor and data.X.shape[0] <= data.X.shape[1]:
        return None
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
        # numpy's own, because scipy brings a second pool of threads that waits for this one.
        R2: Array = np.asarray(np.linalg.cholesky(lifted).T, dtype=np.float64)
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
