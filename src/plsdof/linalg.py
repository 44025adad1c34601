"""Linear algebra by one library.

numpy and scipy each bring BLAS and LAPACK with threads of their own, and threads that have nothing
to do keep spinning for a while. If both libraries take turns, they slow each other down, by half
or more on two cores. Reductions that only scipy has are part of the way from data to a path, so
everything large on that way is done by scipy.
"""

from functools import partial
from typing import Any

import numpy as np
import scipy.linalg
from scipy.linalg import blas, lapack

from plsdof._validation import Array

# Columns that LAPACK treats together; with its own choice, 32, two threads take twice the time.
_QR_BLOCK = 64


def product(A: Array, B: Array) -> Array:
    """Return A @ B for a matrix A and a vector or matrix B.

    Examples
    --------
    >>> product(np.eye(2), np.array([3.0, 4.0]))
    array([3., 4.])
    """
    if not A.size or not B.size:
        return A @ B
    a, transposed = _in_fortran_order(A)
    if B.ndim == 1:
        return np.asarray(blas.dgemv(1.0, a, B, trans=transposed))
    if B.shape[1] == 1:  # which dgemm takes twice the time for
        return product(A, B[:, 0])[:, None]
    b, also = _in_fortran_order(B)
    return np.asarray(blas.dgemm(1.0, a, b, trans_a=transposed, trans_b=also))


def lower_gram(A: Array) -> Array:
    """Return the lower triangle of A'A; what is above it is zero.

    Examples
    --------
    >>> lower_gram(np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([[10.,  0.],
           [14., 20.]])
    """
    a, transposed = _in_fortran_order(A)
    return np.asarray(blas.dsyrk(1.0, a, trans=1 - transposed, lower=1))


def add_gram(S: Array, A: Array) -> Array:
    """Add A'A to the lower triangle of S, in place where S is in Fortran order."""
    a, transposed = _in_fortran_order(A)
    return np.asarray(
        blas.dsyrk(1.0, a, beta=1.0, c=S, trans=1 - transposed, lower=1, overwrite_c=1)
    )


def add_square(S: Array, v: Array, factor: float) -> Array:
    """Add a multiple of vv' to the lower triangle of S, in place where S is in Fortran order."""
    return np.asarray(blas.dsyr(factor, v, a=S, lower=1, overwrite_a=1))


def symmetric_product(S: Array, B: Array) -> Array:
    """Return S @ B for a symmetric S, of which the lower triangle is looked at.

    B is a vector or matrix.
    """
    s, transposed = _in_fortran_order(S)
    if B.ndim == 1:
        return np.asarray(blas.dsymv(1.0, s, B, lower=1 - transposed))
    return np.asarray(blas.dsymm(1.0, s, B, lower=1 - transposed))


def eigh(S: Array) -> tuple[Array, Array]:
    """Return the eigenvalues of a symmetric matrix, largest first, and eigenvectors as columns.

    Only the lower triangle is looked at.
    """
    values, vectors = scipy.linalg.eigh(S, driver="evd", check_finite=False)
    return values[::-1], vectors[:, ::-1]


def eigvalsh(S: Array) -> Array:
    """Return only the eigenvalues."""
    values = scipy.linalg.eigh(S, driver="evd", eigvals_only=True, check_finite=False)
    return np.asarray(values)[::-1]


def thin_svd(X: Array) -> tuple[Array, Array, Array]:
    """Return U, S and V' of X = U diag(S) V', with min(n, p) columns of U and rows of V'."""
    svd: Any = partial(scipy.linalg.svd, X, full_matrices=False, check_finite=False)
    try:
        left, S, right_t = svd()
    except np.linalg.LinAlgError:  # divide and conquer may fail where QR iteration does not
        left, S, right_t = svd(lapack_driver="gesvd")
    return left, S, right_t


def singular_values(X: Array) -> Array:
    """Return the singular values, largest first."""
    return np.asarray(scipy.linalg.svdvals(X, check_finite=False))


def thin_qr(X: Array) -> tuple[Array, Array]:
    """Return Q with orthonormal columns and an upper triangular R, X = QR, for a tall X."""
    reflections, factors = _householder_qr(X)
    R = np.triu(reflections[: X.shape[1]])
    Q, _, _ = lapack.dorgqr(reflections, factors, lwork=_lwork(X), overwrite_a=1)
    return Q, R


def triangle(X: Array) -> Array:
    """Return the R of X = QR for a tall X."""
    return np.triu(_householder_qr(X)[0][: X.shape[1]])


def _householder_qr(X: Array) -> tuple[Array, Array]:
    copy = np.array(X, order="F")
    reflections, factors, _, _ = lapack.dgeqrf(copy, lwork=_lwork(X), overwrite_a=1)
    return reflections, factors


def _lwork(X: Array) -> int:
    return max(_QR_BLOCK * int(X.shape[1]), 1)


def _in_fortran_order(A: Array) -> tuple[Any, int]:
    """Return A, or its transpose and 1, whichever is in the order of BLAS."""
    return (A.T, 1) if A.flags.c_contiguous and not A.flags.f_contiguous else (A, 0)
