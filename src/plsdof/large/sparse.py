"""Sparse predictors, standardised without being filled, and their rows as a path keeps them.

Standardised predictors are a sparse matrix minus one of rank one,

    X_std = A - r m',    A = diag(r) (X - 1 c') diag(1/s),    m_j = (mean_j - c_j) / s_j,

with r the square roots of the weights and s the column scales. The shifts c are zero except where
a mean is large against the standard deviation: there, the difference of the two terms would lose
digits, so the column itself is shifted and its zeros become stored values. A column with mean^2
above ``_SHIFT`` variances has fewer than one zero in ``_SHIFT + 1`` entries (by weight), so that
this adds at most a quarter to what is stored.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse
from scipy.sparse import csc_array, csr_array

from plsdof._core.folds import Integers, Split
from plsdof._core.inputs import Array, as_response, as_weights, read_only, require_flag
from plsdof._core.left_out import Way
from plsdof._core.recipe import Recipe
from plsdof._core.rows import StandardProducts
from plsdof._core.spectrum import Gram
from plsdof._core.standardize import (
    Observations,
    Units,
    centre_response,
    constant_between,
    observe,
    scales_of,
    warn_constant_columns,
)
from plsdof._core.store import Predicted
from plsdof.errors import InvalidInputError
from plsdof.large.blocks import checked_shape

# Columns whose squared mean exceeds this many variances are shifted.
_SHIFT = 4.0


def read_sparse(X: Any, y: Any, sample_weight: Any, *, scale: bool) -> tuple[Gram, Observations]:
    """Return the Gram matrix of sparse predictors, on the smaller side, and their rows.

    Cost: O(nnz) time and three copies of X; a sparse product and d^2 numbers of memory to form a
    matrix of order d, when it is asked for.
    """
    n_rows, p = checked_shape(X)
    y = as_response(y, n_rows).copy()
    require_flag(scale)
    given = observe(_in_columns(X), read_only(y), as_weights(sample_weight, n_rows), None)
    each = np.ones(len(given.y)) if given.weights is None else given.weights
    columns = _standard_columns(given.X, each, given.n, scale)
    response = centre_response(given.y, given.row_scale)
    units = given.units(columns.shift + columns.offset, columns.scale, response.mean)
    warn_constant_columns(np.isinf(units.x_scale), None)
    rows = SparseRows(X=columns.values.tocsr(), shift=columns.shift, weights=given.weights)
    products = StandardProducts(stored=rows, units=units, rest=columns.offset)
    # On the side of the smaller matrix.
    wide = len(given.y) <= p
    facts: dict[str, Any] = {
        "side": "samples" if wide else "features",
        "units": units,
        "response": response.values if wide else products.to_features(response.values),
        "total": float(response.values @ response.values),
        "to_features": products.to_features,
        "to_samples": products.to_samples,
    }
    gram = Gram(form=partial(_matrix, rows.X, units, columns.offset, wide), **facts)
    return gram, replace(given, X=rows)


def _matrix(X: Any, units: Units, offset: Array, wide: bool) -> Array:
    """Return C'C of C = B - left right', the standardised X or its transpose, by a sparse product.

    B'B - h right' - right h' with h = B'left - |left|^2 / 2 right.
    """
    root = np.ones(X.shape[0]) if units.row_scale is None else units.row_scale
    B = scipy.sparse.diags_array(root) @ X @ scipy.sparse.diags_array(1.0 / units.x_scale)
    left, right = root, offset / units.x_scale
    if wide:
        B, left, right = B.T, right, left
    transposed = B.T.tocsr()
    h = transposed @ left - (left @ left) / 2 * right
    result: Array = (transposed @ B.tocsr()).toarray()
    result -= np.multiply.outer(h, right) + np.multiply.outer(right, h)
    return result


def _in_columns(X: Any) -> "csc_array[Any]":
    """Return X in columns, without duplicates, after looking for NaN and infinity."""
    matrix = csc_array(X)
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    bad = np.flatnonzero(~np.isfinite(matrix.data))
    if len(bad):
        column = np.searchsorted(matrix.indptr, bad[0], side="right") - 1
        raise InvalidInputError(
            f"X contains {len(bad)} value(s) that are NaN or infinity, the first in row "
            f"{matrix.indices[bad[0]]}, column {column}; drop these rows or columns, or fill the "
            "values in before fitting."
        )
    return matrix


@dataclass(frozen=True, kw_only=True)
class _Columns:
    """Columns minus ``shift``, the mean they still have (``offset``), and scales."""

    values: "csc_array[np.float64]"
    shift: Array
    offset: Array
    scale: Array


def _standard_columns(given: Any, weights: Array, n: float, scale: bool) -> _Columns:
    """Shift the columns that need it, and find their scales."""
    values = given.astype(np.float64)
    highest, lowest = (np.ravel(end.toarray()) for end in (values.max(axis=0), values.min(axis=0)))
    constant = constant_between(lowest, highest, scale=scale)
    mean, squares = _moments(values, weights, n)
    # With extreme weights there may be many zeros; shifting may not double what is stored.
    far = ~constant & (n * mean**2 > _SHIFT * squares)
    far &= 2 * np.diff(values.indptr) >= values.shape[0]
    shift = np.where(far, mean, 0.0)
    if far.any():
        values = _shifted(values, shift)
        mean, squares = _moments(values, weights, n)
    x_scale = scales_of(squares, constant, n, scale=scale)
    return _Columns(values=values, shift=shift, offset=mean, scale=x_scale)


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
    weights : (n,) array or None
    """

    X: "csr_array[np.float64]"
    shift: Array
    weights: Array | None

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        n, p = self.X.shape
        return int(n), int(p)

    @property
    def order(self) -> int:
        """Order of the Gram matrix that can be formed of them."""
        return min(self.shape)

    def sums(self, weights: Array) -> tuple[Array, Array]:
        """Return sums and sums of squares of columns, for weights (F, n). (F, p) each."""
        return np.asarray(weights @ self.X), np.asarray(weights @ self.X.power(2))

    def left(self, r: Array) -> Array:
        """Return r X."""
        return np.asarray(r @ self.X)

    def right(self, C: Array) -> Array:
        """Return C X'."""
        return np.asarray((self.X @ C.T).T)

    def columns(self, which: Integers) -> Array:
        """Return some columns as they were given. Shape (n, k)."""
        return np.asarray(self.X[:, which].toarray() + self.shift[which])

    def faster_ways(self, *_: Any) -> list[Way]:
        """Return nothing: products with sparse rows are fast."""
        return []

    def refitted(self, recipe: Recipe, given: Observations, split: Split) -> Iterator[Predicted]:
        """Fit the other rows of every fold; yield what the fits predict for its rows."""
        for fold, test in enumerate(split.tests):
            kept = split.fitted(fold, len(given.y))
            weights = None if given.weights is None else given.weights[kept]
            yield recipe.fit(self.rows(kept), given.y[kept], weights).at(self.rows(test))

    def rows(self, which: Integers) -> Any:
        """Return some rows as they were given."""
        some = self.X[which]
        return some if not self.shift.any() else _shifted(some.tocsc(), -self.shift).tocsr()
