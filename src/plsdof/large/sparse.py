"""Sparse and implicit predictors, standardised without being filled.

Standardised predictors are a sparse matrix minus one of rank one,

    X_std = A - r m',    A = diag(r) (X - 1 c') diag(1/s),    m_j = (mean_j - c_j) / s_j,

with r the square roots of the weights and s the column scales. The shifts c are zero except where
a mean is large against the standard deviation: there, the difference of the two terms would lose
digits, so the column itself is shifted and its zeros become stored values. A column with mean^2
above ``_SHIFT`` variances has fewer than one zero in ``_SHIFT + 1`` entries (by weight), so that
this adds at most a quarter to what is stored.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse
from scipy.sparse import csc_array, csr_array
from scipy.sparse.linalg import LinearOperator, aslinearoperator

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
from plsdof._core.spectrum import FORMED, Gram, Map, formed
from plsdof._core.standardize import (
    CONSTANT_ULPS,
    LARGE,
    SMALL,
    Observations,
    Units,
    centre_columns,
    centre_response,
    require_enough,
    warn_constant_columns,
)
from plsdof._core.store import Predicted
from plsdof.errors import InvalidInputError
from plsdof.large.blocks import checked_shape
from plsdof.large.probes import count_by_probes

# What sparse and implicit predictors have in common
# --------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class RowWeights:
    """Weights of the rows, all positive, and their square roots."""

    weights: Array
    root: Array

    @property
    def n(self) -> float:
        """Sum of the weights."""
        return float(self.weights.sum())


@dataclass(frozen=True, kw_only=True)
class Problem:
    """Products with standardised predictors, their means and scales, their sum of squares.

    Attributes
    ----------
    forward, backward : callables
        X_std v and X_std'u for arrays of two dimensions.
    matrix : callable
        Forms the Gram matrix on the side that is wanted.
    x_mean, x_scale : (p,) arrays
    trace, rounding : float
        As in `Gram`.
    """

    forward: Map
    backward: Map
    matrix: Callable[[], Array]
    x_mean: Array
    x_scale: Array
    trace: float
    rounding: float = 0.0


def _composed(outer: Map, inner: Map, v: Array) -> Array:
    return outer(inner(v))


def _gram_product(forward: Map, backward: Map, side: str) -> Map:
    """Return the product with X_std'X_std, or with X_std X_std'."""
    maps = (backward, forward) if side == "features" else (forward, backward)
    return partial(_composed, *maps)


# Sparse predictors, standardised without being filled
# ----------------------------------------------------

# Columns whose squared mean exceeds this many variances are shifted.
_SHIFT = 4.0

# Sparse columns are standardised in blocks of about this many entries.
_ENTRIES = 2**22

# Dense blocks of rows have at most this many entries.
DENSE = 2**22

# A multiplication in a sparse product takes about as long as this many in a dense one.
_SPARSE_COST = 100.0


def sparse_problem(X: Any, rows: RowWeights, scale: bool, side: str) -> Problem:
    """Standardise a sparse matrix, block by block of its columns."""
    parts = [
        _standard_columns(X[:, chosen].astype(np.float64), rows, scale)
        for chosen in _column_blocks(X.indptr)
    ]
    A = scipy.sparse.hstack([part.values for part in parts], format="csc")
    offset = np.concatenate([part.offset for part in parts])
    if side == "features":
        factor = _Centred(B=A.tocsr(), left=rows.root, right=offset)
        forward: Map = factor.product
        backward: Map = factor.transposed
    else:
        factor = _Centred(B=A.T, left=offset, right=rows.root)
        forward, backward = factor.transposed, factor.product
    return Problem(
        forward=forward,
        backward=backward,
        matrix=factor.matrix,
        x_mean=np.concatenate([part.mean for part in parts]),
        x_scale=np.concatenate([part.scale for part in parts]),
        trace=float(sum(part.squares.sum() for part in parts)),
    )


def _column_blocks(indptr: Any) -> Iterator[slice]:
    """Cut the columns into blocks of about ``_ENTRIES`` entries; an empty column counts as one."""
    load = np.asarray(indptr[1:], dtype=np.int64) + np.arange(1, len(indptr))
    cuts = np.searchsorted(load, np.arange(_ENTRIES, load[-1], _ENTRIES))
    edges = np.unique(np.concatenate([[0], cuts, [len(load)]]))
    for first, last in pairwise(edges):
        yield slice(int(first), int(last))


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
    """Some columns of A, with the mean they still have (``offset``) and their sums of squares."""

    values: "csc_array[np.float64]"
    offset: Array
    mean: Array
    scale: Array
    squares: Array


def _standard_columns(block: Any, rows: RowWeights, scale: bool) -> _Columns:
    highest, lowest = (np.ravel(end.toarray()) for end in (block.max(axis=0), block.min(axis=0)))
    magnitude = np.maximum(np.abs(highest), np.abs(lowest))
    constant = highest / 2 - lowest / 2 <= CONSTANT_ULPS / 2 * magnitude
    extreme = (magnitude > LARGE) | (~constant & (magnitude < SMALL))
    if np.any(extreme):
        raise InvalidInputError(
            f"X has columns whose largest absolute value is {magnitude[extreme][0]:.1e}; their "
            "squares leave the range of 64-bit floats. Change the units."
        )
    mean, squares = _moments(block, rows)
    shift = _shift(block, np.where(constant, 0.0, mean), squares, rows.n)
    if shift.any():
        block = _shifted(block, shift)
        mean, squares = _moments(block, rows)
    divisor = np.sqrt(squares / (rows.n - 1.0)) if scale else np.ones(len(squares))
    divisor = np.where(constant, np.inf, divisor)
    block.data /= divisor[_column_of(block)]
    block.data *= rows.root[block.indices]
    return _Columns(
        values=block,
        offset=mean / divisor,
        mean=shift + mean,
        scale=divisor,
        squares=squares / divisor**2,
    )


def _column_of(block: Any) -> npt.NDArray[np.intp]:
    return np.repeat(np.arange(block.shape[1]), np.diff(block.indptr))


def _moments(block: Any, rows: RowWeights) -> tuple[Array, Array]:
    """Return weighted means and sums of squares about them, in two passes over what is stored.

    A mean is added up to some roundings of it; where that matters, the column gets shifted by it
    and comes here once more.
    """
    column, stored = _column_of(block), np.diff(block.indptr)
    weight = rows.weights[block.indices]
    add = partial(np.bincount, column, minlength=block.shape[1])
    zeros = np.where(stored == block.shape[0], 0.0, rows.n - add(weight))
    mean = add(weight * block.data) / rows.n
    squares = add(weight * (block.data - mean[column]) ** 2) + zeros * mean**2
    return mean, squares


def _shift(block: Any, mean: Array, squares: Array, n: float) -> Array:
    """Return the means of columns where these would cost digits, zero for the others. (p,).

    With extreme weights there may be many zeros; shifting may not double what is stored.
    """
    shifted = n * mean**2 > _SHIFT * squares
    shifted &= 2 * np.diff(block.indptr) >= block.shape[0]
    return np.where(shifted, mean, 0.0)


def _shifted(block: Any, shift: Array) -> Any:
    """Subtract ``shift`` from some columns, whose zeros are stored from then on."""
    some, others = np.flatnonzero(shift), np.flatnonzero(shift == 0)
    dense = csc_array(block[:, some].toarray() - shift[some])
    order = np.argsort(np.concatenate([others, some]))
    return scipy.sparse.hstack([block[:, others], dense], format="csc")[:, order]


@dataclass(frozen=True, kw_only=True)
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

    @classmethod
    def of(cls, X: Any, rows: RowWeights) -> "SparseRows":
        """Shift the columns of a matrix in columns that need it."""
        matrix = X.astype(np.float64)
        shift = _shift(matrix, *_moments(matrix, rows), rows.n)
        return cls(X=(_shifted(matrix, shift) if shift.any() else matrix).tocsr(), shift=shift)

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
        return [Way(partial(_by_products, self, given, scale))]

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


def _by_products(stored: SparseRows, given: Observations, scale: bool, split: Split) -> Operator:
    return RowOperator(stored, given.y, split, given.weights, scale=scale)


# Predictors that are only there through products: scipy linear operators
# -----------------------------------------------------------------------

_EPS = float(np.finfo(np.float64).eps)
# Results of block products have at most this many columns.
_WIDTH = 64
# Roundings of the size of the means in one product.
_PER_PRODUCT = 2.0


def operator_problem(X: Any, rows: RowWeights, scale: bool, side: str, *, limit: int) -> Problem:
    """Standardise a linear operator through its products."""
    p = X.shape[1]
    x_mean = _operator_mean(X, rows)
    width = max(min(DENSE // max(X.shape), _WIDTH), 1)
    if p <= limit:
        x_mean, x_scale = _seen_columns(X, rows, scale, width)
    elif not scale:
        x_scale = np.ones(p)
    else:
        raise InvalidInputError(
            f"X is a LinearOperator with {p} columns; their standard deviations would take one "
            f"product each, which is done up to {limit:,} columns. Pass scale=False, with an "
            "operator that divides by the standard deviations if you know them."
        )
    forward = partial(_forward, X, rows, x_scale)
    backward = partial(_backward, X, rows, x_scale)
    times = _gram_product(forward, backward, side)
    # Products of X itself have the means in them, and lose digits in proportion to their size.
    offset = float(np.linalg.norm(x_mean / x_scale))
    rounding = _PER_PRODUCT * _EPS * np.sqrt(rows.n) * offset
    return Problem(
        forward=forward,
        backward=backward,
        matrix=partial(_formed_by_products, times, min(X.shape), width),
        x_mean=x_mean,
        x_scale=x_scale,
        trace=np.nan,
        rounding=rounding,
    )


def _operator_mean(operator: "LinearOperator[Any]", rows: RowWeights) -> Array:
    try:
        mean = np.asarray(operator.rmatvec(rows.weights), dtype=np.float64) / rows.n
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
    operator: "LinearOperator[Any]", rows: RowWeights, scale: bool, width: int
) -> tuple[Array, Array]:
    """Return means and scales as `standardize` has them, from products with unit vectors."""
    parts = []
    for unit in _unit_blocks(operator.shape[1], width):
        seen = np.asarray(operator.matmat(unit), dtype=np.float64)
        parts.append(centre_columns(seen, rows.weights, rows.n, scale))
    mean = np.concatenate([part.mean for part in parts])
    return mean, np.concatenate([part.scale for part in parts])


def _unit_blocks(order: int, width: int) -> Iterator[Array]:
    for first in range(0, order, width):
        columns = np.arange(first, min(first + width, order))
        unit = np.zeros((order, len(columns)))
        unit[columns, columns - first] = 1.0
        yield unit


def _forward(operator: "LinearOperator[Any]", rows: RowWeights, x_scale: Array, v: Array) -> Array:
    """X_std v: the mean is that of the product, which is exactly centred then."""
    values = np.asarray(operator.matmat(v / x_scale[:, None]), dtype=np.float64)
    return (values - rows.weights @ values / rows.n) * rows.root[:, None]


def _backward(operator: "LinearOperator[Any]", rows: RowWeights, x_scale: Array, u: Array) -> Array:
    """X_std'u."""
    root = rows.root[:, None]
    balanced = root * (u - root * (root.T @ u) / rows.n)
    return np.asarray(operator.rmatmat(balanced), dtype=np.float64) / x_scale[:, None]


def _formed_by_products(times: Map, order: int, width: int) -> Array:
    parts = [times(unit) for unit in _unit_blocks(order, width)]
    result = np.concatenate(parts, axis=1)
    return (result + result.T) / 2


# Gram matrices of sparse and implicit predictors, which are never made dense
# ---------------------------------------------------------------------------


def operator_gram(
    X: Any,
    y: Any,
    *,
    scale: bool = True,
    sample_weight: Any = None,
    limit: int = FORMED,
) -> Gram:
    """Return the Gram matrix of sparse or implicit predictors, on the smaller side.

    Parameters
    ----------
    X : sparse matrix or array of any format, or LinearOperator, (n, p)
        An operator needs ``rmatvec`` (or ``rmatmat``) as well.
    y : (n,) array
    scale : bool
        Scale columns to unit variance. The variances of an operator take one product per column;
        with more columns than ``limit`` that is refused.
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
    return read_operator(X, y, sample_weight, scale=scale, limit=limit)[0]


def read_operator(
    X: Any, y: Any, sample_weight: Any, *, scale: bool, limit: int
) -> tuple[Gram, Observations | None]:
    """Return the Gram matrix of sparse or implicit predictors, and their rows if they have any."""
    n_rows, p = checked_shape(X)
    y = as_response(y, n_rows)
    limit = as_count(limit, "limit")
    require_flag(scale)
    is_sparse = scipy.sparse.issparse(X)
    X = _in_columns(X) if is_sparse else aslinearoperator(X)
    # Rows without weight are left out.
    weights, row_scale, kept = as_weights(sample_weight, n_rows), None, None
    if weights is not None:
        kept = weights > 0
        chosen = scipy.sparse.eye_array(n_rows, format="csr")[kept]
        y, weights = y[kept], weights[kept]
        require_enough(len(weights), float(weights.sum()))
        row_scale = read_only(np.sqrt(weights))
        X = csc_array(chosen @ X) if is_sparse else aslinearoperator(chosen) @ X
    ones = np.ones(len(y))
    rows = RowWeights(
        weights=ones if weights is None else weights, root=ones if row_scale is None else row_scale
    )
    side = "samples" if len(y) <= p else "features"
    make = sparse_problem if is_sparse else partial(operator_problem, limit=limit)
    problem = make(X, rows, scale, side)
    warn_constant_columns(np.isinf(problem.x_scale), None)
    response = centre_response(y, row_scale)
    units = Units(
        n=rows.n,
        n_rows=len(y),
        x_mean=read_only(problem.x_mean),
        x_scale=read_only(problem.x_scale),
        y_mean=response.mean,
        row_scale=row_scale,
    )
    vector = response.values
    if side == "features":
        vector = read_only(problem.backward(vector[:, None])[:, 0])
    facts: dict[str, Any] = {
        "side": side,
        "units": units,
        "response": vector,
        "total": float(response.values @ response.values),
        "to_features": problem.backward,
        "to_samples": problem.forward,
        "rounding": problem.rounding,
    }
    if len(vector) <= limit:
        gram = formed(problem.matrix(), **facts)
    else:
        times = _gram_product(problem.forward, problem.backward, side)
        gram = Gram(trace=problem.trace, times=times, count=count_by_probes, **facts)
    if not is_sparse:
        return gram, None
    given = Observations(
        X=SparseRows.of(X, rows),
        y=read_only(y.copy()),
        weights=weights,
        n=rows.n,
        names=None,
        kept=None if kept is None or kept.all() else kept,
    )
    return gram, given
