"""Predictors that are only there through products: scipy linear operators."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from plsdof._validation import (
    Array,
    shortened,
)
from plsdof.errors import InvalidInputError
from plsdof.gram import Map
from plsdof.operator_problem import Problem, Rows
from plsdof.sparse_problem import DENSE
from plsdof.standardize import (
    centre_columns,
)

# Results of block products have at most this many columns.
_WIDTH = 64


def operator_problem(
    X: Any, rows: Rows, divisors: Array | None, side: str, *, limit: int
) -> Problem:
    """Standardise a linear operator through its products."""
    operator = aslinearoperator(X)
    p = operator.shape[1]
    x_mean = _operator_mean(operator, rows)
    width = max(min(DENSE // max(rows.total, p), _WIDTH), 1)
    if p <= limit:
        x_mean, found = _seen_columns(operator, rows, divisors is None, width)
        x_scale = found if divisors is None else np.where(np.isinf(found), np.inf, divisors)
    elif divisors is not None:
        x_scale = divisors
    else:
        raise InvalidInputError(
            f"X is a LinearOperator with {p} columns; their standard deviations would take one "
            f"product each, which is done up to limit={limit}. Pass scale=False; or give the "
            f"standard deviations, shape ({p},), or a larger limit to operator_gram and its result "
            "to pls_path_from."
        )
    maps = (
        partial(_forward, operator, rows, x_scale),
        partial(_backward, operator, rows, x_scale),
    )
    product, transposed = maps if side == "features" else maps[::-1]
    factor = _Implicit(
        product=product, transposed=transposed, order=min(rows.count, p), width=width
    )
    return Problem(factor=factor, x_mean=x_mean, x_scale=x_scale, trace=np.nan)


def _operator_mean(operator: "LinearOperator[Any]", rows: Rows) -> Array:
    weights = np.zeros(rows.total)
    weights[rows.kept] = rows.weights
    try:
        mean = np.asarray(operator.rmatvec(weights), dtype=np.float64) / rows.n
    except (NotImplementedError, TypeError) as error:
        raise InvalidInputError(
            "X is a LinearOperator without products with its transpose; define rmatvec (and, for "
            "speed, rmatmat)."
        ) from error
    bad = np.flatnonzero(~np.isfinite(mean))
    if len(bad):
        raise InvalidInputError(
            f"X'w is NaN or infinity in column(s) {shortened([str(j) for j in bad])} of the "
            "LinearOperator X; all its entries must be finite."
        )
    return mean


def _seen_columns(
    operator: "LinearOperator[Any]", rows: Rows, scale: bool, width: int
) -> tuple[Array, Array]:
    """Return means and scales as `standardize` has them, from products with unit vectors."""
    weights = None if rows.row_scale is None else rows.weights
    parts = []
    for unit in _unit_blocks(operator.shape[1], width):
        seen = np.asarray(operator.matmat(unit), dtype=np.float64)[rows.kept]
        parts.append(centre_columns(seen, weights, rows.n, scale))
    mean = np.concatenate([part.mean for part in parts])
    return mean, np.concatenate([part.scale for part in parts])


def _unit_blocks(order: int, width: int) -> Iterator[Array]:
    for first in range(0, order, width):
        columns = np.arange(first, min(first + width, order))
        unit = np.zeros((order, len(columns)))
        unit[columns, columns - first] = 1.0
        yield unit


def _forward(operator: "LinearOperator[Any]", rows: Rows, x_scale: Array, v: Array) -> Array:
    """X_std v: the mean is that of the product, which is exactly centred then."""
    values = np.asarray(operator.matmat(v / x_scale[:, None]), dtype=np.float64)[rows.kept]
    return (values - rows.weights @ values / rows.n) * rows.root[:, None]


def _backward(operator: "LinearOperator[Any]", rows: Rows, x_scale: Array, u: Array) -> Array:
    """X_std'u."""
    root = rows.root[:, None]
    full = np.zeros((rows.total, u.shape[1]))
    full[rows.kept] = root * (u - root * (root.T @ u) / rows.n)
    return np.asarray(operator.rmatmat(full), dtype=np.float64) / x_scale[:, None]


@dataclass(frozen=True, kw_only=True)
class _Implicit:
    """C given by its products."""

    product: Map
    transposed: Map
    order: int
    width: int

    def times(self, v: Array) -> Array:
        return self.transposed(self.product(v))

    def matrix(self) -> Array:
        parts = [self.times(unit) for unit in _unit_blocks(self.order, self.width)]
        result = np.concatenate(parts, axis=1)
        return (result + result.T) / 2
