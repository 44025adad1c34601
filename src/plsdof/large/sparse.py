"""Sparse predictors, standardised without being filled.

Standardised predictors are a sparse matrix minus one of rank one,

    X_std = A - r m',    A = diag(r) (X - 1 c') diag(1/s),    m_j = (mean_j - c_j) / s_j,

with r the square roots of the weights and s the column scales. The shifts c are zero except where
a mean is large against the standard deviation: there, the difference of the two terms would lose
digits, so the column itself is shifted and its zeros become stored values. A column with mean^2
above ``_SHIFT`` variances has fewer than one zero in ``_SHIFT + 1`` entries (by weight), so that
this adds at most a quarter to what is stored.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse
from scipy.sparse import csc_array, csr_array

from plsdof._core.inputs import (
    Array,
    as_count,
    as_response,
    as_weights,
    read_only,
    require_flag,
    shortened,
)
from plsdof._core.left_out import Way
from plsdof._core.recipe import Recipe
from plsdof._core.recursion import Integers, Operator, Split
from plsdof._core.recursion import Rows as RowOperator
from plsdof._core.rows import Stored
from plsdof._core.spectrum import Gram, Map, formed
from plsdof._core.standardize import (
    CONSTANT_ULPS,
    LARGE,
    SMALL,
    Observations,
    Units,
    centre_response,
    require_enough,
    warn_constant_columns,
)
from plsdof._core.store import Predicted
from plsdof.errors import InvalidInputError
from plsdof.large.blocks import checked_shape
from plsdof.large.probes import count_by_probes

# Columns whose squared mean exceeds this many variances are shifted.
_SHIFT = 4.0
# Dense blocks of rows have at most this many entries.
DENSE = 2**22
# A multiplication in a sparse product takes about as long as this many in a dense one.
_SPARSE_COST = 100.0


def read_sparse(
    X: Any, y: Any, sample_weight: Any, *, scale: bool, limit: int
) -> tuple[Gram, Observations]:
    """Return the Gram matrix of sparse predictors, on the smaller side, and their rows.

    ``matrix`` is None and ``times`` works through X if the smaller of n and p is above ``limit``.

    Cost: O(nnz) time and two copies of X; O(nnz k) per product with k vectors, in memory of
    O(max(n, p) k); to form a matrix of order d, the cheaper of a sparse product and dense products
    of blocks of rows, and d^2 numbers of memory.
    """
    n_rows, p = checked_shape(X)
    y = as_response(y, n_rows)
    limit = as_count(limit, "limit")
    require_flag(scale)
    matrix = _in_columns(X)
    # Rows without weight are left out.
    weights, row_scale, kept = as_weights(sample_weight, n_rows), None, None
    if weights is not None:
        kept = weights > 0
        matrix, y, weights = csc_array(matrix.tocsr()[kept]), y[kept], weights[kept]
        require_enough(len(weights), float(weights.sum()))
        row_scale = read_only(np.sqrt(weights))
    each = np.ones(len(y)) if weights is None else weights
    n, root = float(each.sum()), np.sqrt(each)
    columns = _standard_columns(matrix, each, n, scale)
    response = centre_response(y, row_scale)
    units = Units(
        n=n,
        n_rows=len(y),
        x_mean=read_only(columns.shift + columns.offset),
        x_scale=read_only(columns.scale),
        y_mean=response.mean,
        row_scale=row_scale,
    )
    warn_constant_columns(np.isinf(units.x_scale), None)
    # On the side of the smaller matrix, in rows.
    offset = columns.offset / columns.scale
    A = columns.values.copy()
    A.data /= columns.scale[_column_of(A)]
    A.data *= root[A.indices]
    wide = len(y) <= p
    factor = _Centred(A.T, offset, root) if wide else _Centred(A.tocsr(), root, offset)
    forward: Map = factor.transposed if wide else factor.product
    backward: Map = factor.product if wide else factor.transposed
    vector = response.values if wide else read_only(backward(response.values[:, None])[:, 0])
    facts: dict[str, Any] = {
        "side": "samples" if wide else "features",
        "units": units,
        "response": vector,
        "total": float(response.values @ response.values),
        "to_features": backward,
        "to_samples": forward,
    }
    if len(vector) <= limit:
        gram = formed(factor.matrix(), **facts)
    else:
        trace = float(np.sum(columns.squares / columns.scale**2))
        gram = Gram(trace=trace, times=factor.normal_product, count=count_by_probes, **facts)
    given = Observations(
        X=SparseRows(X=columns.values.tocsr(), shift=columns.shift),
        y=read_only(y.copy()),
        weights=weights,
        n=n,
        names=None,
        kept=None if kept is None or kept.all() else kept,
    )
    return gram, given


def _in_columns(X: Any) -> "csc_array[Any]":
    """Return X in columns, without duplicates, after looking for NaN and infinity."""
    matrix = csc_array(X)
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    bad = np.flatnonzero(~np.isfinite(matrix.data))
    if len(bad):
        columns = np.searchsorted(matrix.indptr, bad, side="right") - 1
        raise InvalidInputError(
            f"X contains {len(bad)} value(s) that are NaN or infinity, the first in row "
            f"{matrix.indices[bad[0]]}, column {columns[0]} (columns: "
            f"{shortened([str(column) for column in np.unique(columns)])}); drop these rows or "
            "columns, or fill the values in before fitting."
        )
    return matrix


@dataclass(frozen=True, kw_only=True)
class _Columns:
    """Columns minus ``shift``, the mean they still have (``offset``), scales, sums of squares."""

    values: "csc_array[np.float64]"
    shift: Array
    offset: Array
    scale: Array
    squares: Array


def _standard_columns(given: Any, weights: Array, n: float, scale: bool) -> _Columns:
    """Shift the columns that need it, and find their scales."""
    values = given.astype(np.float64)
    highest, lowest = (np.ravel(end.toarray()) for end in (values.max(axis=0), values.min(axis=0)))
    magnitude = np.maximum(np.abs(highest), np.abs(lowest))
    constant = highest / 2 - lowest / 2 <= CONSTANT_ULPS / 2 * magnitude
    extreme = (magnitude > LARGE) | (~constant & (magnitude < SMALL))
    if np.any(extreme):
        raise InvalidInputError(
            f"X has columns whose largest absolute value is {magnitude[extreme][0]:.1e}; their "
            "squares leave the range of 64-bit floats. Change the units."
        )
    mean, squares = _moments(values, weights, n)
    # With extreme weights there may be many zeros; shifting may not double what is stored.
    far = ~constant & (n * mean**2 > _SHIFT * squares)
    far &= 2 * np.diff(values.indptr) >= values.shape[0]
    shift = np.where(far, mean, 0.0)
    if far.any():
        values = _shifted(values, shift)
        mean, squares = _moments(values, weights, n)
    divisor = np.sqrt(squares / (n - 1.0)) if scale else np.ones(len(squares))
    return _Columns(
        values=values,
        shift=shift,
        offset=mean,
        scale=np.where(constant, np.inf, divisor),
        squares=squares,
    )


def _column_of(block: Any) -> npt.NDArray[np.intp]:
    return np.repeat(np.arange(block.shape[1]), np.diff(block.indptr))


def _moments(block: Any, weights: Array, n: float) -> tuple[Array, Array]:
    """Return weighted means and sums of squares about them, in two passes over what is stored.

    A mean is added up to some roundings of it; where that matters, the column gets shifted by it
    and comes here once more.
    """
    column, stored = _column_of(block), np.diff(block.indptr)
    weight = weights[block.indices]
    add = partial(np.bincount, column, minlength=block.shape[1])
    zeros = np.where(stored == block.shape[0], 0.0, n - add(weight))
    mean = add(weight * block.data) / n
    squares = add(weight * (block.data - mean[column]) ** 2) + zeros * mean**2
    return mean, squares


def _shifted(block: Any, shift: Array) -> Any:
    """Subtract ``shift`` from some columns, whose zeros are stored from then on."""
    some, others = np.flatnonzero(shift), np.flatnonzero(shift == 0)
    dense = csc_array(block[:, some].toarray() - shift[some])
    order = np.argsort(np.concatenate([others, some]))
    return scipy.sparse.hstack([block[:, others], dense], format="csc")[:, order]


@dataclass(frozen=True)
class _Centred:
    """C = B - left right' with B in rows."""

    B: "csr_array[np.float64]"
    left: Array
    right: Array

    def product(self, v: Array) -> Array:
        result: Array = self.B @ np.ascontiguousarray(v)
        result -= np.multiply.outer(self.left, self.right @ v)
        return result

    def transposed(self, u: Array) -> Array:
        result: Array = self.B.T @ np.ascontiguousarray(u)
        result -= np.multiply.outer(self.right, self.left @ u)
        return result

    def normal_product(self, v: Array) -> Array:
        return self.transposed(self.product(v))

    def matrix(self) -> Array:
        stored = np.diff(self.B.indptr).astype(np.float64)
        sparse_work = _SPARSE_COST * float(stored @ stored)
        dense_work = float(len(self.left)) * len(self.right) ** 2
        return self._matrix_sparse() if sparse_work < dense_work else self._matrix_dense()

    def _matrix_sparse(self) -> Array:
        """B'B - h right' - right h' with h = B'left - |left|^2 / 2 right."""
        transposed = self.B.T.tocsr()
        result: Array = (transposed @ self.B).toarray()
        h = transposed @ self.left - (self.left @ self.left) / 2 * self.right
        for strip in _strips(*result.shape):
            result[strip] -= np.multiply.outer(h[strip], self.right)
            result[strip] -= np.multiply.outer(self.right[strip], h)
        return result

    def _matrix_dense(self) -> Array:
        result = np.zeros((self.B.shape[1],) * 2)
        for rows in _strips(*self.B.shape):
            part = self.B[rows].toarray()
            part -= np.multiply.outer(self.left[rows], self.right)
            result += part.T @ part
        return result


def _strips(rows: int, columns: int) -> Iterator[slice]:
    """Cut rows into strips that may be dense."""
    height = max(DENSE // columns, 1)
    for first in range(0, rows, height):
        yield slice(first, min(first + height, rows))


# Sparse rows, as a path keeps them
# ---------------------------------


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SparseRows:
    """Sparse rows with positive weight, never filled; see `_core.rows.Stored`.

    Attributes
    ----------
    X : (n, p) sparse array in rows
        As given, minus ``shift``.
    shift : (p,) array
        Zero but for columns whose mean is large against the standard deviation.
    """

    X: "csr_array[np.float64]"
    shift: Array

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        n, p = self.X.shape
        return int(n), int(p)

    def sums(self, weights: Array) -> tuple[Array, Array]:
        """Return sums and sums of squares of columns, for weights (F, n). (F, p) each."""
        return np.asarray(weights @ self.X), np.asarray(weights @ self.X.power(2))

    def through(self, r: Array, inverse: Array | None) -> tuple[Array, Array]:
        """Return C = r X, times ``inverse``, and C X'."""
        C = np.asarray(r @ self.X)
        C = C if inverse is None else C * inverse
        return C, np.asarray((self.X @ C.T).T)

    def columns(self, which: Integers) -> Array:
        """Return some columns as they were given. Shape (n, k)."""
        return np.asarray(self.X[:, which].toarray() + self.shift[which])

    def operators(
        self,
        given: Observations,
        split: Split,  # noqa: ARG002
        n_components: int,  # noqa: ARG002
        scale: bool,
    ) -> list[Way]:
        """Return the way to leave rows out: products."""
        return [Way(partial(by_products, self, given, scale))]

    def refitted(self, recipe: Recipe, given: Observations, split: Split) -> Iterator[Predicted]:
        """Fit the other rows of every fold; yield what the fits predict for its rows."""
        trains = split.trains or [None] * split.count
        for test, train in zip(split.tests, trains, strict=True):
            kept = np.setdiff1d(np.arange(len(given.y)), test) if train is None else train
            weights = None if given.weights is None else given.weights[kept]
            yield recipe.fit(self.rows(kept), given.y[kept], weights).at(self.rows(test))

    def rows(self, which: Integers) -> Any:
        """Return some rows as they were given."""
        some = self.X[which]
        return some if not self.shift.any() else _shifted(some.tocsc(), -self.shift).tocsr()


def by_products(stored: Stored, given: Observations, scale: bool, split: Split) -> Operator:
    """Leave rows out by products with the others."""
    return RowOperator(stored, given.y, split, given.weights, scale=scale)
