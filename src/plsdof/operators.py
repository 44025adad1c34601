"""Gram matrices of sparse and implicit predictors, which are never made dense."""

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from plsdof._validation import (
    Array,
    as_count,
    as_positive,
    as_response,
    read_only,
)
from plsdof.errors import InvalidInputError
from plsdof.gram import FORMED, Gram, Map, formed
from plsdof.implicit_problem import operator_problem
from plsdof.operator_problem import Problem, Rows
from plsdof.sparse_problem import sparse_problem
from plsdof.standardize import (
    Response,
    Units,
    centre_response,
    warn_constant_columns,
)


def operator_gram(
    X: Any,
    y: Any,
    *,
    scale: bool | npt.ArrayLike = True,
    sample_weight: Any = None,
    limit: int = FORMED,
) -> Gram:
    """Return the Gram matrix of sparse or implicit predictors, on the smaller side.

    Parameters
    ----------
    X : sparse matrix or array of any format, or LinearOperator, (n, p)
        An operator needs ``rmatvec`` (or ``rmatmat``) as well.
    y : (n,) array
    scale : bool or (p,) array
        Whether to scale columns to unit variance, or what to divide them by. The variances of an
        operator take one product per column; it has none for that with more than ``limit``.
    sample_weight : (n,) array, optional
    limit : int
        Largest order for which the matrix is formed.

    Returns
    -------
    Gram
        ``matrix`` is None and ``times`` works through X if the smaller of n and p is above
        ``limit``; ``trace`` of such an operator is nan.

    Notes
    -----
    Cost: O(nnz) time and a copy of X to standardise; O(nnz k) per product with k vectors, in
    memory of O(max(n, p) k); to form a matrix of order d, the cheaper of a sparse product and
    dense products of blocks of rows, and d^2 numbers of memory; for an operator, d products with
    it and its transpose.

    The columns of an operator cannot be shifted: digits are lost in proportion to |mean| /
    standard deviation. Whether they vary is seen only if there are at most ``limit`` of them.

    Examples
    --------
    >>> X = scipy.sparse.csr_array([[0.0, 3.0], [0.0, 1.0], [6.0, 0.0], [0.0, 0.0]])
    >>> gram = operator_gram(X, [1.0, 2.0, 3.0, 4.0])
    >>> gram.side, gram.trace, gram.units.x_scale
    ('features', 6.0, array([3.        , 1.41421356]))
    """
    _check_shape(X)
    n_all, p = X.shape
    y = as_response(y, n_all)
    rows = Rows.of(sample_weight, n_all)
    limit = as_count(limit, "limit")
    divisors = _as_divisors(scale, p)
    side = "samples" if rows.count <= p else "features"
    make = sparse_problem if scipy.sparse.issparse(X) else partial(operator_problem, limit=limit)
    problem = make(X, rows, divisors, side)
    warn_constant_columns(np.isinf(problem.x_scale), None)
    response = centre_response(y[rows.kept], rows.row_scale)
    units = Units(
        n=rows.n,
        n_rows=rows.count,
        x_mean=read_only(problem.x_mean),
        x_scale=read_only(problem.x_scale),
        y_mean=response.mean,
        row_scale=rows.row_scale,
    )
    return _as_gram(problem, side, units, response, limit)


def _check_shape(X: Any) -> None:
    if len(X.shape) != 2 or X.shape[0] < 2 or X.shape[1] < 1:
        raise InvalidInputError(
            f"X must have at least 2 rows and 1 column; got a {type(X).__name__} of shape "
            f"{tuple(X.shape)}. Check that rows are observations and columns are variables."
        )
    if np.dtype(X.dtype).kind not in "biuf":
        raise InvalidInputError(f"X must hold real numbers; got {X.dtype}.")


def _as_divisors(scale: Any, p: int) -> Array | None:
    """Return what columns are divided by, None for their standard deviations."""
    if isinstance(scale, bool | np.bool_):
        return None if scale else np.ones(p)
    divisors = as_positive(scale, "scale")
    if divisors.shape != (p,):
        raise InvalidInputError(
            f"scale must be True, False or one number per column, shape ({p},); "
            f"got shape {divisors.shape}."
        )
    return divisors


def _as_gram(problem: Problem, side: str, units: Units, response: Response, limit: int) -> Gram:
    factor, y = problem.factor, response.values
    across: tuple[Map, Map] = (factor.transposed, factor.product)
    to_features, to_samples = across if side == "features" else across[::-1]
    total = float(y @ y)
    vector = read_only(to_features(y[:, None])[:, 0]) if side == "features" else y
    if len(vector) <= limit:
        return formed(
            factor.matrix(),
            side=side,
            units=units,
            response=vector,
            total=total,
            to_features=to_features,
            to_samples=to_samples,
        )
    return Gram(
        side=side,
        units=units,
        response=vector,
        total=total,
        trace=problem.trace,
        times=factor.times,
        to_features=to_features,
        to_samples=to_samples,
    )
