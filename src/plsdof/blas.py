"""Matrix products by the library that also reduces and decomposes our matrices.

numpy and scipy each bring a linear algebra library with threads of its own, and threads that have
nothing to do keep spinning for a while. If both libraries take turns, they slow each other down,
by half on two cores. What is large and lies between two calls of scipy's LAPACK is therefore
multiplied by scipy's BLAS.
"""

from typing import Any

import numpy as np
from scipy.linalg import blas

from plsdof._validation import Array


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


def _in_fortran_order(A: Array) -> tuple[Any, int]:
    """Return A, or its transpose and 1, whichever is in the order of BLAS."""
    return (A.T, 1) if A.flags.c_contiguous and not A.flags.f_contiguous else (A, 0)
