r"""The Gram matrix in two parts: spectra at the speed of a Gram matrix, without its loss of digits.

Rounding in G = AA' (A = X, or X' if there are more rows than columns) is relative to the largest
eigenvalue and hides the small ones. In spectra a few directions are larger than all others by
orders of magnitude. They are taken off first:

    P = Q'A,     A_2 = A - Q P,     G_2 = A_2 A_2'

with leading eigenvectors Q of G. Since Q'A A_2' is zero up to rounding, the eigenvalues of G are
the squared singular values of P together with the eigenvalues of G_2, where rounding is relative
to the largest one that is left.
"""

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from plsdof._core.inputs import Array, Standardized, read_only
from plsdof._core.krylov import Compressed, Factor, compress_factor, lanczos
from plsdof._core.spectrum import BACKWARD, Decomposition, lapack_svd

_EPS = float(np.finfo(np.float64).eps)
# Directions are taken off while their residuals are within this many roundings of the largest.
_CONVERGED = 30.0
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
        G_2 = A_2 A_2'.
    start : (k + d,) array
        The vector v as (Q'v, v - Q Q'v).
    """

    leading: Array
    values: Array
    rest: Array
    start: Array


def peel(data: Standardized, n_components: int) -> Peeled | None:
    """Take the leading directions off X; None if none is certain.

    Cost: two products AA' of 2 n p min(n, p) operations, half of that where the library knows that
    they are symmetric; everything else is of lower order.
    """
    X, y = data.X, data.y
    wide = X.shape[0] <= X.shape[1]
    A = X if wide else X.T
    # The leading eigenvectors of G, as far as its rounding allows.
    gram = A @ A.T
    Q = _leading(gram, y if wide else A @ y, n_components)
    if Q is None or not Q.shape[1]:
        return None
    # What they leave.
    P = Q.T @ A
    rest = Q @ P
    np.subtract(A, rest, out=rest)
    # P = left S W' with few rows.
    left, values, _ = lapack_svd(np.asarray(np.linalg.qr(P.T, mode="r")).T)
    Q = Q @ left
    if wide:
        inside = Q.T @ y
        beyond = y - Q @ inside
        beyond -= Q @ (Q.T @ beyond)
    else:
        inside, beyond = left.T @ (P @ y), rest @ y
    start = np.concatenate([inside, beyond])
    return Peeled(leading=Q, values=values, rest=rest @ rest.T, start=start)


def _leading(gram: Array, start: Array, n_components: int) -> Array | None:
    """Return orthonormal eigenvectors of the largest eigenvalues, (d, k)."""
    run = lanczos(gram.__matmul__, start, n_components)
    certain = run.ritz_residuals <= _CONVERGED * _EPS * run.ritz_values[0]
    k = int(np.argmin(certain)) if not certain.all() else len(certain)
    return np.linalg.qr(run.basis.T @ run.ritz_vectors[:, :k])[0] if k else None


def decompose_peeled(data: Standardized, n_components: int) -> Decomposition | None:
    """Decompose X through its peeled Gram matrix, with all vectors; None where that is not certain.

    Cost: that of `peel`, and the eigenvectors of a matrix of order min(n, p).
    """
    peeled = peel(data, n_components)
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
    Q = peeled.leading
    d = len(Q)
    eigenvalues: Array = np.asarray(np.linalg.eigvalsh(peeled.rest)[::-1], dtype=np.float64)
    # What was taken off, and the mean of the samples, are null directions.
    null = _null_directions(peeled, data)
    rest = eigenvalues[: d - null.shape[1]]
    error = BACKWARD * _EPS * float(eigenvalues[0])
    if not _certain(rest, error, peeled, data):
        return None
    # Lift the null directions, so that there is a triangular factor.
    lift = float(rest.mean())
    try:
        R2 = scipy.linalg.cholesky(peeled.rest + lift * (null @ null.T), check_finite=False)
    except np.linalg.LinAlgError:
        return None
    factor = Factor(
        matrix=scipy.linalg.block_diag(np.diag(peeled.values), R2),
        start=peeled.start,
        lift=np.hstack([Q, np.eye(d) - Q @ Q.T]),
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
