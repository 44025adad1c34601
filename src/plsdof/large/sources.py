"""Data that are not one array: what their rows come down to, and held-out rows of them.

Tall data (p <= limit, blocks of rows): X'X from merged moments, one pass. Wide data (n <= limit,
blocks of columns): XX' as the sum of the kernels of all blocks, one pass. Both large: one pass for
means and scales, and one for every product with the matrix, which is never formed.

*Held-out rows* of tall data: one pass gives the moments of the rows of every fold, and one more
their scores in the fits without them. Of other data: one or two passes for every component of all
folds together.
"""

import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse

from plsdof._core.folds import Integers, Split
from plsdof._core.inputs import (
    Array,
    as_count,
    read_only,
    require_flag,
)
from plsdof._core.left_out import Problem, Way
from plsdof._core.moments import Moments as Moments
from plsdof._core.moments import block_moments, moments_of
from plsdof._core.operators import FoldMoments, Mask, Operator
from plsdof._core.recipe import Recipe
from plsdof._core.rows import Block, StandardProducts
from plsdof._core.spectrum import FORMED, Gram, formed
from plsdof._core.standardize import (
    Columns,
    Observations,
    Standardized,
    Units,
    notice_relative,
    observe,
    rounding_of_entries,
    standardize_observations,
    warn_constant_columns,
)
from plsdof._core.store import Predicted
from plsdof._core.warnings import quietly
from plsdof.errors import InvalidInputError, NotAvailableError
from plsdof.large.blocks import (
    ArrayBlocks,
    InBlocks,
    Part,
    RowBlocks,
    Rows,
    is_blocks,
    is_dask,
    is_sliced,
    paired,
    place_of,
    take_rows,
)
from plsdof.large.sparse import read_sparse

_EPS = float(np.finfo(np.float64).eps)
# Numbers of rows, predictions or models of folds that are in memory at once: 1 GB.
_MOST_NUMBERS = 2**27

# The Gram matrix of blocks
# -------------------------


def block_gram(blocks: Rows, *, scale: bool = True, limit: int = FORMED) -> Gram:
    """Return the Gram matrix of standardised data that come in blocks.

    Parameters
    ----------
    blocks : Rows
        Blocks of rows give X'X, blocks of columns give XX'.
    scale : bool
        Scale the predictors to unit variance (divisor n - 1).
    limit : int
        Largest order of a matrix that is formed by the same pass. Beyond it another pass forms it
        when it is asked for; blocks of columns are refused.

    Returns
    -------
    Gram
        Equal to what `standardize` and dense products give, up to rounding. ``to_samples``
        (blocks of rows) and ``to_features`` pass over the data.

    Warns
    -----
    ConstantColumnWarning

    Notes
    -----
    Cost: O(n p min(n, p)) time, one pass, one block and three matrices of memory.

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
    return read_blocks(blocks, scale, limit)[0]


def read_blocks(blocks: Rows, scale: bool, limit: int = FORMED) -> tuple[Gram, Observations]:
    """Return the Gram matrix of blocks, and the rows behind it, by one pass."""
    limit = as_count(limit, "limit")
    require_flag(scale)
    gram, given = (_from_rows if blocks.axis == 0 else _from_columns)(blocks, scale, limit)
    warn_constant_columns(np.isinf(gram.units.x_scale), gram.units.names)
    return gram, given


def _observed(blocks: Rows, table: Array, limit: int, **known: Any) -> Observations:
    """Return the rows of blocks, without those that have no weight; ``table`` is (y, weights)."""
    y, weights = table
    kept = weights > 0
    if kept.all():
        kept = None
    else:
        y, blocks = y[kept], RowBlocks(blocks, kept)
    weights = None if np.all(weights == 1.0) else weights[slice(None) if kept is None else kept]
    if weights is not None:
        notice_relative(weights)
    y = read_only(y)
    shape = len(y), blocks.n_columns
    return Observations(
        X=Streamed(rows=blocks, shape=shape, limit=limit, y=y, **known),
        y=y,
        weights=weights,
        n=float(len(y)) if weights is None else float(weights.sum()),
        names=blocks.names,
        kept=kept,
    )


def _table(block: Block) -> Array:
    """Return responses and weights. Shape (2, rows)."""
    return np.stack([block.y, np.ones(len(block.y)) if block.weights is None else block.weights])


def _from_rows(blocks: Rows, scale: bool, limit: int) -> tuple[Gram, Observations]:
    products = blocks.n_columns <= limit
    work = partial(_moments_and_rows, products=products)
    found: Moments
    found, rows = blocks.reduce(work, partial(paired, merge=Moments.merge), "Means and products")
    found.units(scale)  # refuses too few rows
    table = np.concatenate(rows, axis=1)
    given = _observed(blocks, table, limit, shift=found.x_mean, moments=found)
    units = found.units(scale, blocks.names, given.row_scale)
    passes = StandardProducts(stored=given.X, units=units, rest=found.rest[:-1])
    maps: dict[str, Any] = {"to_samples": passes.to_samples, "to_features": passes.to_features}
    if products:
        refine = None if given.weights is not None else partial(_factored, blocks, scale)
        return found.standardized(units, refine=refine, **maps), given
    response, total = found.response(units)
    form = partial(_products_of, blocks, units)
    gram = Gram(side="features", units=units, response=response, total=total, form=form, **maps)
    return gram, given


def _products_of(blocks: Rows, units: Units) -> Array:
    """Return X'X of standardised rows, by a pass of its own."""
    work = partial(block_moments, products=True)
    found: Moments = blocks.reduce(work, Moments.merge, "Products")
    return found.standardized(units).matrix


def _moments_and_rows(block: Block, *, products: bool) -> tuple[Moments, list[Array]]:
    return block_moments(block, products=products), [_table(block)]


def _from_columns(blocks: Rows, scale: bool, limit: int) -> tuple[Gram, Observations]:
    if (blocks.n_rows or 0) > limit:
        raise InvalidInputError(
            f"Blocks of columns are for at most {limit:,} rows, but there are {blocks.n_rows:,}; "
            "cut the table into blocks of rows, axis=0."
        )
    work = partial(_kernel_and_units, scale=scale)
    kernel, parts = blocks.reduce(work, partial(paired, merge=operator.add), "Kernel")
    data, table = parts[0]
    units = replace(
        data.units,
        x_mean=read_only(np.concatenate([one.units.x_mean for one, _ in parts])),
        x_scale=read_only(np.concatenate([one.units.x_scale for one, _ in parts])),
        names=blocks.names,
    )
    given = _observed(blocks, table, limit, shift=units.x_mean)
    products = StandardProducts(stored=given.X, units=units, rest=np.zeros_like(units.x_mean))
    gram = formed(
        read_only(kernel),
        side="samples",
        units=units,
        response=data.y,
        total=float(data.y @ data.y),
        to_features=products.to_features,
    )
    return gram, given


def _kernel_and_units(
    block: Block, *, scale: bool
) -> tuple[Array, list[tuple[Standardized, Array]]]:
    with quietly():  # what there is to say is said of all columns
        rows = observe(block.X, block.y, block.weights, None)
        data = standardize_observations(rows, scale=scale)
    return data.X @ data.X.T, [(replace(data, X=data.X[:0]), _table(block))]


# Triangular factors, where X'X has too few digits
# ------------------------------------------------
#
# X'X squares the singular values, so that directions below 1e-8 of the largest one drown in
# rounding: the rule for spectra. A triangular factor R with R'R = [X y]'[X y] keeps them all (a
# "tall and skinny QR", Demmel, Grigori, Hoemmen and Langou 2012, SIAM J. Sci. Comput. 34,
# A206-A239). By the rule for moments, the factor of two pieces is that of R_a, R_b and one more
# row. X'X costs less than half as much, and is tried first.

# Rows are collected up to this many times the number of columns: a decomposition of n rows costs
# n p^2, one of p rows and a few more p^3 each time.
_MOST_ROWS = 2


@dataclass(frozen=True, kw_only=True)
class Factor:
    """A triangular factor of the centred columns [X y] of some rows.

    Attributes
    ----------
    moments : Moments
        Means and squares of the same rows.
    matrix : (k, p + 1) array
        R, or more rows with the same products.
    """

    moments: Moments
    matrix: Array


def block_factor(block: Block) -> Factor | None:
    """Return the factor of a block of rows without weights. Cost: O(rows p^2)."""
    columns = np.column_stack([block.X, block.y])
    moments = block_moments(block, products=False)
    if not moments.n_rows:
        return None
    columns -= moments.mean
    columns -= moments.rest
    return Factor(moments=moments, matrix=_shortened(columns))


def merge_factors(a: Factor | None, b: Factor | None) -> Factor | None:
    """Return the factor of the rows of both. Cost: O(p^3) once in p rows or more."""
    if a is None or b is None:
        return b if a is None else a
    one, other, moments = a.moments, b.moments, a.moments.merge(b.moments)
    step = (other.mean - one.mean) + (other.rest - one.rest)
    root = np.sqrt(one.n * (other.n / moments.n)) * step
    return Factor(moments=moments, matrix=_shortened(np.vstack([a.matrix, b.matrix, root])))


def _shortened(rows: Array) -> Array:
    """Make a triangle of rows when there are enough of them to be worth it."""
    return _triangle(rows) if len(rows) > _MOST_ROWS * rows.shape[1] else rows


def _triangle(columns: Array) -> Array:
    found: Any = np.linalg.qr(columns, mode="r")
    return np.asarray(found)


def standardized_factor(
    factor: Factor | None, scale: bool, names: tuple[str, ...] | None
) -> Standardized:
    """Return standardised data that have the same products as all rows.

    There are at most p + 1 of them; ``units`` are those of all rows.
    """
    assert factor is not None
    units = factor.moments.units(scale, names)
    matrix = _triangle(factor.matrix)
    X = matrix[:, :-1] / units.x_scale
    n, largest = factor.moments.n_rows, float(np.linalg.norm(X, 2))
    # The same limits as for all rows in memory, see `numerical_rank`.
    entries = rounding_of_entries(factor.moments.magnitude[:-1], units.x_scale, n)
    return Standardized(
        X=read_only(X),
        y=read_only(matrix[:, -1].copy()),
        units=units,
        rounding=max(entries, max(n, X.shape[1]) * _EPS * largest),
    )


def _factored(blocks: Rows, scale: bool) -> Standardized:
    factor = blocks.reduce(block_factor, merge_factors, "Triangular factor")
    return standardized_factor(factor, scale, blocks.names)


# Rows in blocks, as a path keeps them
# ------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Streamed(InBlocks):
    """Rows with positive weight that are read block by block; see `_core.rows.Stored`.

    Attributes
    ----------
    rows : Rows
    shift : (p,) array
        Means of the columns.
    shape : tuple of int
    y : (n,) array
        The response that is in the blocks.
    limit : int
        Largest order of a matrix that is formed.
    moments : Moments or None
        Of all rows, for blocks of rows.
    """

    shape: tuple[int, int]
    y: Array
    limit: int
    moments: Moments | None = None

    @property
    def order(self) -> int:
        """Order of the Gram matrix that can be formed of them."""
        return self.shape[1 - self.rows.axis]

    def sums(self, weights: Array) -> tuple[Array, Array]:
        """Return sums and sums of squares of columns, for weights (F, n), by one pass."""
        axis = self.rows.axis
        work = partial(_weighted_sums, weights=weights, shift=self.shift, axis=axis)
        found = self.collected(work, 1)
        return found[0], found[1]

    def columns(self, which: Integers) -> Array:
        """Return some columns, by one pass. Shape (n, k)."""
        work = partial(_some_columns, which=which, axis=self.rows.axis)
        return np.concatenate(self.rows.reduce(work, operator.add, "Columns"), axis=self.rows.axis)

    def take(self, which: Mask) -> Rows:
        """Return some of the rows, as blocks."""
        return RowBlocks(self.rows, which)

    # Partial Least Squares without the rows of every fold
    # ----------------------------------------------------

    def faster_ways(
        self, given: Observations, split: Split, n_components: int, scale: bool
    ) -> list[Way]:
        """Return ways to leave rows out that are faster than passes: moments of tall data."""
        n, p = self.shape
        if split.count > 1 and split.is_single:
            if n * p > _MOST_NUMBERS:
                raise InvalidInputError(
                    f"Leave-one-out of {n:,} rows that are read block by block would need a fit "
                    "for every row; use a number of folds such as cv=10."
                )
            rows = replace(given, X=take_rows(self.rows))
            return Problem(given=rows, scale=scale).operators(split, n_components)
        if n_components * len(split.rows) > _MOST_NUMBERS:
            raise NotAvailableError(
                f"Held-out rows have {n_components} predictions for each of {len(split.rows):,} "
                f"rows, which takes {8e-9 * n_components * len(split.rows):.1f} GB; ask for fewer "
                "components, or choose by a criterion such as 'gcv'."
            )
        tall = self.moments is not None and p <= self.limit and split.trains is None
        if not tall or not self._has_response(given.y):
            return []
        return [Way(partial(_by_moments, self, given, scale), features=True)]

    def _has_response(self, y: Array) -> bool:
        """Whether y is the response that is in the blocks, but for a constant."""
        return bool(np.array_equal(y - y[0], self.y - self.y[0]))

    # Any method without the rows of every fold
    # -----------------------------------------

    def refitted(self, recipe: Recipe, given: Observations, split: Split) -> Iterator[Predicted]:
        """Fit the other rows of every fold; yield what the fits predict for its rows.

        The passes of one fit, and one for the predictions, for each fold.
        """
        if not self._has_response(given.y):
            raise NotAvailableError(
                "Rows of another response cannot be left out of a table that is read block by "
                "block; fit that response with the function that made the path."
            )
        n = self.shape[0]
        for fold, test in enumerate(split.tests):
            fitted = _mask(split.fitted(fold, n), n)
            path, rows = recipe.fit(self.take(fitted), None), self.take(_mask(test, n))
            if self.rows.axis == 1:
                yield path.at(take_rows(rows))
                continue
            parts = rows.reduce(partial(_at_rows, path=path), operator.add, "Test rows")
            yield Predicted(
                values=np.concatenate([one.values for one in parts], axis=1),
                leverage=np.concatenate([one.leverage for one in parts], axis=1),
                error=np.concatenate([one.error for one in parts], axis=1),
            )


def _mask(rows: Integers, n: int) -> Mask:
    if len(np.unique(rows)) < len(rows):
        raise InvalidInputError(
            "Rows that are fitted more than once need the table in memory; it is read block by "
            "block."
        )
    mask = np.zeros(n, dtype=bool)
    mask[rows] = True
    return mask


def _weighted_sums(block: Block, *, weights: Array, shift: Array, axis: int) -> Array:
    """Return sums and sums of squares. Shape (2, F, columns)."""
    rows, columns = place_of(block, axis)
    X, W = np.subtract(block.X, shift[columns], out=block.X), weights[:, rows]
    return np.stack([W @ X, W @ X**2])


def _some_columns(block: Block, *, which: Integers, axis: int) -> list[Array]:
    if axis == 0:
        return [block.X[:, which]]
    here = which[(which >= block.first) & (which < block.first + block.X.shape[1])]
    return [block.X[:, here - block.first]]


def _by_moments(stored: Streamed, given: Observations, scale: bool, split: Split) -> Operator:
    """Collect the moments of the rows that each fold leaves out, by one pass."""
    assert stored.moments is not None
    # The response may have lost a constant on the way here.
    level = float(stored.y[0] - given.y[0])
    left: list[Moments] = []
    if split.count:
        work = partial(_by_fold, tests=split.tests, work=_plain_moments)
        left = stored.rows.reduce(work, partial(_zipped, merge=Moments.merge), "Moments of folds")
    left = [one.lowered(level) for one in left]
    whole = stored.moments.lowered(level)

    return FoldMoments(
        whole,
        [whole.without(one) for one in left],
        split,
        given,
        scale=scale,
        project=partial(_projected, stored, split),
        take=stored.columns,
    )


def _plain_moments(block: Block) -> Moments:
    if not len(block.X):
        return Moments()
    return moments_of(block.X, block.y, block.weights, Columns.of(block.X).centre)


def _projected(stored: Streamed, split: Split, A: Array, means: Array) -> Array:
    """Return products of directions (F, k, p) with the centred held-out rows, by one pass."""
    made = np.empty((A.shape[1], len(split.rows)))
    if not split.count:
        return made
    work = partial(_block_products, tests=split.tests, A=A, means=means)
    parts = stored.rows.reduce(work, partial(_zipped, merge=operator.add), "Held-out rows")
    ends = np.searchsorted(split.fold, np.arange(split.count + 1))
    for f, found in enumerate(parts):
        made[:, ends[f] : ends[f + 1]] = np.concatenate(found, axis=1)
    return made


def _block_products(
    block: Block, *, tests: Sequence[Integers], A: Array, means: Array
) -> list[list[Array]]:
    return [
        [A[f] @ (block.X[rows] - means[f]).T] for f, rows in enumerate(_test_rows(block, tests))
    ]


def _test_rows(block: Block, tests: Sequence[Integers]) -> Iterator[Integers]:
    """Yield which rows of a block each fold leaves out, in order."""
    for test in tests:
        start, stop = np.searchsorted(test, [block.first, block.first + len(block.X)])
        yield test[start:stop] - block.first


def _by_fold(
    block: Block, *, tests: Sequence[Integers], work: Callable[[Block], Part]
) -> list[Part]:
    found = []
    for rows in _test_rows(block, tests):
        weights = None if block.weights is None else block.weights[rows]
        part = Block(X=block.X[rows], y=block.y[rows], weights=weights, first=block.first)
        found.append(work(part))
    return found


def _at_rows(block: Block, *, path: Any) -> list[Predicted]:
    return [path.at(block.X)] if len(block.X) else []


def _zipped(a: list[Part], b: list[Part], *, merge: Callable[[Part, Part], Part]) -> list[Part]:
    return [merge(one, other) for one, other in zip(a, b, strict=True)]


# Whatever comes in
# -----------------


def recognises(X: Any) -> bool:
    """Whether X is sparse, sums of rows, in blocks, on disk or on a cluster."""
    return (
        scipy.sparse.issparse(X)
        or isinstance(X, Moments | Gram)
        or is_dask(X)
        or is_sliced(X)
        or is_blocks(X)
        or isinstance(X, OtherData)
    )


def open_source(
    X: Any, y: Any, sample_weight: Any = None, *, progress: bool = False, limit: int = FORMED
) -> "OtherData":
    """Return data that `recognises` knows as something to be read.

    Up to the order ``limit`` the pass that reads blocks forms their Gram matrix, too.
    """
    own = isinstance(X, Moments | Gram | OtherData) or is_blocks(X)
    for name, value in {"y": y, "sample_weight": sample_weight}.items():
        if own and value is not None:
            raise InvalidInputError(
                f"{name} was given, but a {type(X).__name__} has its own; leave {name} out."
            )
    if isinstance(X, OtherData):
        return X
    if y is None and not own:
        raise InvalidInputError("y is missing; give one response per row of X.")
    if is_dask(X):
        from plsdof.large.dask import dask_blocks

        X = dask_blocks(X, y, sample_weight, progress=progress)
    elif is_sliced(X):
        X = ArrayBlocks(X, y, sample_weight, progress=progress)
    return OtherData(X=X, y=y, weights=sample_weight, limit=limit)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class OtherData:
    """Data that are not one array, to be read once the scaling is known."""

    X: Any
    y: Any = None
    weights: Any = None
    limit: int = FORMED

    def prepared(self, chain: Any) -> "OtherData":
        """Fit a preparation to all rows, and return them prepared."""
        if not is_blocks(self.X) or self.X.axis != 0:
            raise InvalidInputError(
                "Preprocessing needs rows: arrays in memory, or blocks of rows (axis=0); got "
                f"{type(self.X).__name__}."
            )
        rows = RowBlocks(self.X, None, chain.fit_blocks(self.X).transform)
        return replace(self, X=rows)

    def unprepared(self, given: Observations) -> "Streamed":
        """Return the rows of a path fitted to prepared ones, before that."""
        blocks = self.X if given.kept is None else RowBlocks(self.X, given.kept)
        stored: Streamed = given.X
        return replace(stored, rows=blocks, moments=None)

    def read(self, scale: bool) -> tuple[Gram, Observations | None]:
        """Return the Gram matrix, and the rows behind it if they can be reached."""
        if isinstance(self.X, Gram):
            divisors = self.X.units.x_scale
            if not scale and np.any((divisors != 1.0) & np.isfinite(divisors)):
                raise InvalidInputError(
                    "scale=False comes too late for a Gram of scaled columns; give it to the "
                    "function that makes the Gram, such as Moments.gram."
                )
            return self.X, None
        if isinstance(self.X, Moments):
            return self.X.gram(scale), None
        if is_blocks(self.X):
            return read_blocks(self.X, scale, self.limit)
        return read_sparse(self.X, self.y, self.weights, scale=scale)
