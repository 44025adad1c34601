"""The Gram matrix of data that are read block by block.

Tall data (p <= limit, blocks of rows): X'X from merged moments, one pass. Wide data (n <= limit,
blocks of columns): XX' as the sum of the kernels of all blocks, one pass. Both large: one pass for
means and scales, and one for every product with the matrix, which is never formed.
"""

import operator
from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np

from plsdof._core.inputs import (
    Array,
    Response,
    Standardized,
    Units,
    as_count,
    centre_columns,
    centre_response,
    read_only,
    require_enough,
    require_flag,
    warn_constant_columns,
)
from plsdof._core.spectrum import FORMED, Gram
from plsdof.large.blocks import Block, Blocks, require_blocks
from plsdof.large.factors import factor_blocks, standardized_factor
from plsdof.large.moments import Sums, block_sums, gram_from_sums, merge_sums, scale_sums


def block_gram(blocks: Blocks, *, scale: bool = True, limit: int = FORMED) -> Gram:
    """Return the Gram matrix of standardised data that come in blocks.

    Parameters
    ----------
    blocks : Blocks
        Blocks of rows give X'X, blocks of columns give XX'.
    scale : bool
        Scale the predictors to unit variance (divisor n - 1).
    limit : int
        Largest order of a matrix that is formed; beyond it ``times`` passes over the data.

    Returns
    -------
    Gram
        Equal to what `standardize` and dense products give, up to rounding. ``to_samples``
        (blocks of rows) and ``to_features`` (blocks of columns) pass over the data.

    Warns
    -----
    ConstantColumnWarning

    Notes
    -----
    Cost of formed matrices: O(n p min(n, p)) time, one pass, one block and three matrices of
    memory. Otherwise O(n p) time and one pass for ``block_gram`` and for every call of ``times``,
    however many vectors it is given; O(n + p) memory for each of them.

    Examples
    --------
    >>> from plsdof.large.blocks import ArrayBlocks
    >>> X, y = np.array([[1.0, 4.0], [2.0, 6.0], [3.0, 5.0]]), np.arange(3.0)
    >>> gram = block_gram(ArrayBlocks(X, y, memory=16))
    >>> gram.matrix
    array([[2., 1.],
           [1., 2.]])
    >>> gram.to_samples(np.eye(2))
    array([[-1., -1.],
           [ 0.,  1.],
           [ 1.,  0.]])
    """
    limit = as_count(limit, "limit")
    require_flag(scale)
    require_blocks(blocks, "blocks")
    gram = (_from_rows if blocks.axis == 0 else _from_columns)(blocks, scale, limit)
    warn_constant_columns(np.isinf(gram.units.x_scale), gram.units.names)
    return gram


@dataclass(frozen=True, kw_only=True)
class _RowPart:
    """Sums over some rows, and the square roots of their weights (None where all are one)."""

    sums: Sums | None
    row_scale: list[tuple[int, Array | None]]


def _from_rows(blocks: Blocks, scale: bool, limit: int) -> Gram:
    products = blocks.n_columns <= limit
    work = partial(_row_part, products=products)
    part = blocks.reduce(work, _merge_row_parts, "Means and products")
    row_scale = _joined(part.row_scale)
    if products:
        gram = gram_from_sums(part.sums, scale, blocks.names, row_scale)
        return replace(
            gram,
            to_samples=_RowPasses.of(blocks, part.sums, gram.units).to_samples,
            refine=None if row_scale is not None else cache(partial(_factored, blocks, scale)),
        )
    scaled = scale_sums(part.sums, scale, blocks.names, row_scale)
    passes = _RowPasses.of(blocks, part.sums, scaled.units)
    return Gram(
        side="features",
        units=scaled.units,
        response=scaled.response,
        total=scaled.total,
        trace=scaled.trace,
        times=passes.times,
        to_samples=passes.to_samples,
    )


def _factored(blocks: Blocks, scale: bool) -> Standardized | None:
    return standardized_factor(factor_blocks(blocks), scale, blocks.names)


def _row_part(block: Block, *, products: bool) -> _RowPart:
    weights = block.weights
    row_scale = None if weights is None else np.sqrt(weights[weights > 0])
    rows = len(block.X) if row_scale is None else len(row_scale)
    return _RowPart(sums=block_sums(block, products=products), row_scale=[(rows, row_scale)])


def _merge_row_parts(a: _RowPart, b: _RowPart) -> _RowPart:
    return _RowPart(sums=merge_sums(a.sums, b.sums), row_scale=a.row_scale + b.row_scale)


def _joined(parts: list[tuple[int, Array | None]]) -> Array | None:
    if all(part is None for _, part in parts):
        return None
    return read_only(np.concatenate([np.ones(n) if part is None else part for n, part in parts]))


@dataclass(frozen=True, kw_only=True)
class _RowPasses:
    """Products with the standardised data R (A - 1 rest') D, where A = X - 1 x_mean'.

    R holds the square roots of the weights, D the inverse scales, and x_mean + rest is the mean.
    A is formed block by block, because its products with means in them would lose the digits that
    matter; what is left is a correction of rank one.
    """

    blocks: Blocks
    units: Units
    rest: Array

    @classmethod
    def of(cls, blocks: Blocks, sums: Sums | None, units: Units) -> "_RowPasses":
        assert sums is not None
        return cls(blocks=blocks, units=units, rest=np.ldexp(sums.rest[:-1], sums.exponent[:-1]))

    def times(self, v: Array) -> Array:
        """Return X'X v, by one pass."""
        u = _divided(v, self.units.x_scale)
        work = partial(_normal_product, u=u, mean=self.units.x_mean)
        product = self.blocks.reduce(work, operator.add, "Product")
        product = product - np.multiply.outer(self.units.n * self.rest, self.rest @ u)
        return _divided(product, self.units.x_scale)

    def to_samples(self, v: Array) -> Array:
        """Return X v, by one pass."""
        u = _divided(v, self.units.x_scale)
        work = partial(_row_product, u=u, mean=self.units.x_mean)
        rows = np.concatenate(self.blocks.reduce(work, operator.add, "Fitted values"))
        rows -= self.rest @ u
        return rows if self.units.row_scale is None else _scaled(rows, self.units.row_scale)


def _normal_product(block: Block, *, u: Array, mean: Array) -> Array:
    X, _, weights = _weighed(block)
    X -= mean
    rows = X @ u
    return np.asarray(X.T @ (rows if weights is None else _scaled(rows, weights)))


def _row_product(block: Block, *, u: Array, mean: Array) -> list[Array]:
    X, _, _ = _weighed(block)
    X -= mean
    return [X @ u]


@dataclass(frozen=True, kw_only=True)
class _ColumnPart:
    """What some columns add: the sum of their kernels, and their units.

    ``response`` is that of the first block; all have the same.
    """

    kernel: Array | None
    trace: float
    response: Response
    n: float
    row_scale: Array | None
    mean: list[Array]
    scale: list[Array]


def _from_columns(blocks: Blocks, scale: bool, limit: int) -> Gram:
    work = partial(_column_part, scale=scale, limit=limit)
    part = blocks.reduce(work, _merge_column_parts, "Kernel")
    units = Units(
        n=part.n,
        n_rows=len(part.response.values),
        x_mean=read_only(np.concatenate(part.mean)),
        x_scale=read_only(np.concatenate(part.scale)),
        y_mean=part.response.mean,
        row_scale=part.row_scale,
        names=blocks.names,
    )
    passes = _ColumnPasses(blocks=blocks, units=units)
    return Gram(
        side="samples",
        units=units,
        response=part.response.values,
        total=float(part.response.values @ part.response.values),
        trace=part.trace,
        times=passes.times if part.kernel is None else part.kernel.__matmul__,
        matrix=None if part.kernel is None else read_only(part.kernel),
        to_features=passes.to_features,
    )


def _column_part(block: Block, *, scale: bool, limit: int) -> _ColumnPart:
    X, y, weights = _weighed(block)
    n = float(len(X)) if weights is None else float(weights.sum())
    if weights is not None:
        require_enough(weights)
    columns = centre_columns(X, weights, n, scale)
    row_scale = None if weights is None else read_only(np.sqrt(weights))
    values = columns.values
    if row_scale is not None:
        values *= row_scale[:, None]
    return _ColumnPart(
        kernel=values @ values.T if len(X) <= limit else None,
        trace=float(np.vdot(values, values)),
        response=centre_response(y, row_scale),
        n=n,
        row_scale=row_scale,
        mean=[columns.mean],
        scale=[columns.scale],
    )


def _merge_column_parts(a: _ColumnPart, b: _ColumnPart) -> _ColumnPart:
    return replace(
        a,
        kernel=None if a.kernel is None or b.kernel is None else a.kernel + b.kernel,
        trace=a.trace + b.trace,
        mean=a.mean + b.mean,
        scale=a.scale + b.scale,
    )


@dataclass(frozen=True, kw_only=True)
class _ColumnPasses:
    """Products with the standardised data R A D, where A = X - 1 x_mean'.

    Means are known to their rounding only. That has no effect on the left, on vectors that are
    orthogonal to R1, and adds a multiple of R1 on the right, which is taken out.
    """

    blocks: Blocks
    units: Units

    def times(self, v: Array) -> Array:
        """Return XX' v, by one pass."""
        work = partial(_kernel_product, u=self._balanced(v), units=self.units)
        product = self.blocks.reduce(work, operator.add, "Product")
        return self._balanced(product)

    def to_features(self, v: Array) -> Array:
        """Return X' v, by one pass."""
        work = partial(_column_product, u=self._balanced(v), units=self.units)
        return np.concatenate(self.blocks.reduce(work, operator.add, "Coefficients"))

    def _balanced(self, v: Array) -> Array:
        """Return the part of v that is orthogonal to R1, which R 1 1' R / n projects out."""
        if self.units.row_scale is None:
            return np.asarray(v - v.mean(axis=0))
        return v - np.multiply.outer(self.units.row_scale, self.units.row_scale @ v / self.units.n)


def _kernel_product(block: Block, *, u: Array, units: Units) -> Array:
    A, scale = _centred(block, units)
    # One division after the other: the square of a scale may leave the range of float64.
    return np.asarray(A @ _divided(_divided(A.T @ u, scale), scale))


def _column_product(block: Block, *, u: Array, units: Units) -> list[Array]:
    A, scale = _centred(block, units)
    return [_divided(A.T @ u, scale)]


def _centred(block: Block, units: Units) -> tuple[Array, Array]:
    """Return R A of the columns of a block, and their scales."""
    X, _, _ = _weighed(block)
    columns = slice(block.first, block.first + X.shape[1])
    X -= units.x_mean[columns]
    if units.row_scale is not None:
        X *= units.row_scale[:, None]
    return X, units.x_scale[columns]


def _weighed(block: Block) -> tuple[Array, Array, Array | None]:
    """Return the rows that have a positive weight, of X, y and the weights."""
    if block.weights is None or np.all(block.weights > 0):
        return block.X, block.y, block.weights
    kept = block.weights > 0
    return block.X[kept], block.y[kept], block.weights[kept]


def _scaled(values: Array, factor: Array) -> Array:
    """Multiply the rows of an array of one or two dimensions."""
    return np.asarray((values.T * factor).T)


def _divided(values: Array, divisor: Array) -> Array:
    """Divide the rows of an array of one or two dimensions."""
    return np.asarray((values.T / divisor).T)
