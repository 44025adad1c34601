"""Data that are not one array: what their rows come down to, and rows left out of them.

Tall data (p <= limit, blocks of rows): X'X from merged moments, one pass. Wide data (n <= limit,
blocks of columns): XX' as the sum of the kernels of all blocks, one pass. Both large: one pass for
means and scales, and one for every product with the matrix, which is never formed.

*Rows left out* of tall data: one pass gives the moments of the rows of every fold, and one more
their scores in the fits without them. Of other data: one or two passes for every component of all
folds together.
"""

import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import accumulate
from typing import Any

import numpy as np
import scipy.sparse

from plsdof._core.inputs import Array, as_count, read_only, require_flag
from plsdof._core.left_out import Problem, Way
from plsdof._core.moments import Moments as Moments
from plsdof._core.moments import block_moments, moments_of
from plsdof._core.recipe import Recipe
from plsdof._core.recursion import (
    FoldMoments,
    Integers,
    Mask,
    Operator,
    Split,
    constant_columns,
)
from plsdof._core.rows import Block, Part, RowProducts, Rows, weighed
from plsdof._core.spectrum import FORMED, Gram, formed
from plsdof._core.standardize import (
    Observations,
    Standardized,
    Units,
    centre_columns,
    centre_response,
    require_enough,
    warn_constant_columns,
)
from plsdof._core.store import Predicted
from plsdof.errors import InvalidInputError, NotAvailableError
from plsdof.large.blocks import (
    RowBlocks,
    is_blocks,
    is_dask,
    is_sliced,
    open_blocks,
    paired,
    take_rows,
)
from plsdof.large.factors import block_factor, merge_factors, standardized_factor
from plsdof.large.probes import count_by_probes
from plsdof.large.sparse import by_products, read_sparse

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
        Largest order of a matrix that is formed. Beyond it ``times`` passes over blocks of rows;
        blocks of columns are refused.

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
    return read_blocks(blocks, scale, limit)[0]


def read_blocks(blocks: Rows, scale: bool, limit: int = FORMED) -> tuple[Gram, Observations]:
    """Return the Gram matrix of blocks, and the rows behind it, by one pass."""
    limit = as_count(limit, "limit")
    require_flag(scale)
    gram, given = (_from_rows if blocks.axis == 0 else _from_columns)(blocks, scale, limit)
    warn_constant_columns(np.isinf(gram.units.x_scale), gram.units.names)
    return gram, given


def _observed(
    blocks: Rows, y: Array, weights: Array | None, limit: int, **known: Any
) -> Observations:
    """Return the rows of a table in blocks, without those that have no weight."""
    kept = None
    if weights is not None and not np.all(weights > 0):
        kept = weights > 0
        y, weights, blocks = y[kept], weights[kept], RowBlocks(blocks, kept)
    return Observations(
        X=Streamed(
            blocks=blocks, shape=(len(y), blocks.n_columns), limit=limit, y=read_only(y), **known
        ),
        y=read_only(y),
        weights=weights,
        n=float(len(y)) if weights is None else float(weights.sum()),
        names=blocks.names,
        kept=kept,
    )


def _from_rows(blocks: Rows, scale: bool, limit: int) -> tuple[Gram, Observations]:
    products = blocks.n_columns <= limit
    work = partial(_moments_and_rows, products=products)
    found: Moments
    found, rows = blocks.reduce(work, partial(paired, merge=Moments.merge), "Means and products")
    y = np.concatenate([part[0] for part in rows])
    weights = None
    if any(part[1] is not None for part in rows):
        each = [np.ones(len(part[0])) if part[1] is None else part[1] for part in rows]
        weights = np.concatenate(each)
    found.units(scale)  # refuses too few rows
    given = _observed(blocks, y, weights, limit, shift=found.x_mean, moments=found)
    row_scale = None if given.weights is None else read_only(np.sqrt(given.weights))
    units = found.units(scale, blocks.names, row_scale)
    stored: Streamed = given.X
    passes = RowProducts(rows=stored.blocks, units=units, shift=units.x_mean, rest=found.rest[:-1])
    maps: dict[str, Any] = {"to_samples": passes.to_samples, "to_features": passes.to_features}
    if products:
        refine = None if row_scale is not None else partial(_factored, blocks, scale)
        return found.standardized(units, refine=refine, **maps), given
    response, total = found.response(units)
    gram = Gram(
        side="features",
        units=units,
        response=response,
        total=total,
        trace=float(np.sum(found.squares / units.x_scale**2)),
        times=passes.times,
        count=count_by_probes,
        **maps,
    )
    return gram, given


def _factored(blocks: Rows, scale: bool) -> Standardized:
    factor = blocks.reduce(block_factor, merge_factors, "Triangular factor")
    return standardized_factor(factor, scale, blocks.names)


def _moments_and_rows(
    block: Block, *, products: bool
) -> tuple[Moments, list[tuple[Array, Array | None]]]:
    """Return the moments of rows, and their responses and weights."""
    weights = None if block.weights is None else np.array(block.weights)
    return block_moments(block, products=products), [(np.array(block.y), weights)]


@dataclass(frozen=True, kw_only=True)
class _ColumnPart:
    """Means and scales of some columns, and what all blocks have in common."""

    mean: Array
    scale: Array
    y: Array
    weights: Array | None


def _from_columns(blocks: Rows, scale: bool, limit: int) -> tuple[Gram, Observations]:
    if (blocks.n_rows or 0) > limit:
        raise InvalidInputError(
            f"Blocks of columns are for at most {limit:,} rows, but there are {blocks.n_rows:,}; "
            "cut the table into blocks of rows, axis=0."
        )
    work = partial(_kernel_and_units, scale=scale)
    kernel, parts = blocks.reduce(work, partial(paired, merge=operator.add), "Kernel")
    x_mean = read_only(np.concatenate([part.mean for part in parts]))
    given = _observed(blocks, parts[0].y, parts[0].weights, limit, shift=x_mean)
    row_scale = None if given.weights is None else read_only(np.sqrt(given.weights))
    response = centre_response(given.y, row_scale)
    units = Units(
        n=given.n,
        n_rows=len(given.y),
        x_mean=x_mean,
        x_scale=read_only(np.concatenate([part.scale for part in parts])),
        y_mean=response.mean,
        row_scale=row_scale,
        names=blocks.names,
    )
    gram = formed(
        read_only(kernel),
        side="samples",
        units=units,
        response=response.values,
        total=float(response.values @ response.values),
        to_features=partial(_to_features, blocks, units),
    )
    return gram, given


def _kernel_and_units(block: Block, *, scale: bool) -> tuple[Array, list[_ColumnPart]]:
    X, _, weights = weighed(block)
    n = float(len(X)) if weights is None else float(weights.sum())
    if weights is not None:
        require_enough(len(weights), float(weights.sum()))
    columns = centre_columns(X, weights, n, scale)
    values = columns.values
    if weights is not None:
        values *= np.sqrt(weights)[:, None]
    part = _ColumnPart(
        mean=columns.mean, scale=columns.scale, y=np.array(block.y), weights=block.weights
    )
    return values @ values.T, [part]


def _to_features(blocks: Rows, units: Units, v: Array) -> Array:
    """Return X' v of the standardised data, by one pass.

    Means are known to their rounding only, which has no effect on vectors that are orthogonal to
    the roots of the weights.
    """
    root = np.ones(len(v)) if units.row_scale is None else units.row_scale
    balanced = v - np.multiply.outer(root, root @ v / units.n)
    work = partial(_column_product, u=balanced, units=units)
    return np.concatenate(blocks.reduce(work, operator.add, "Coefficients"))


def _column_product(block: Block, *, u: Array, units: Units) -> list[Array]:
    X, _, _ = weighed(block)
    columns = slice(block.first, block.first + X.shape[1])
    X -= units.x_mean[columns]
    if units.row_scale is not None:
        X *= units.row_scale[:, None]
    return [((X.T @ u).T / units.x_scale[columns]).T]


# Rows in blocks, as a path keeps them
# ------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Streamed:
    """Rows with positive weight that are read block by block; see `_core.rows.Stored`.

    Attributes
    ----------
    blocks : Rows
    shape : tuple of int
    shift : (p,) array
        Means of the columns.
    y : (n,) array
        The response that is in the blocks.
    limit : int
        Largest order of a matrix that is formed.
    moments : Moments or None
        Of all rows, for blocks of rows.
    """

    blocks: Rows
    shape: tuple[int, int]
    shift: Array
    y: Array
    limit: int
    moments: Moments | None = None

    def sums(self, weights: Array) -> tuple[Array, Array]:
        """Return sums and sums of squares of columns, for weights (F, n), by one pass."""
        work = partial(_weighted_sums, weights=weights, shift=self.shift, axis=self.blocks.axis)
        if self.blocks.axis == 0:
            found = self.blocks.reduce(work, np.add, "Means of folds")
        else:
            found = np.concatenate(
                self.blocks.reduce(partial(_listed, work=work), operator.add, "Means of folds"),
                axis=2,
            )
        return found[0], found[1]

    def through(self, r: Array, inverse: Array | None) -> tuple[Array, Array]:
        """Return C = r X, times ``inverse``, and C X': one pass over columns, two over rows."""
        if self.blocks.axis == 1:
            work = partial(_through_columns, r=r, inverse=inverse, shift=self.shift)
            a, parts = self.blocks.reduce(work, partial(paired, merge=operator.add), "Component")
            return np.concatenate(parts, axis=1), a
        C = self.blocks.reduce(partial(_left, r=r, shift=self.shift), np.add, "Component")
        C = C if inverse is None else C * inverse
        found = self.blocks.reduce(partial(_right, C=C, shift=self.shift), operator.add, "Scores")
        return C, np.concatenate(found, axis=1)

    def columns(self, which: Integers) -> Array:
        """Return some columns, by one pass. Shape (n, k)."""
        work = partial(_some_columns, which=which, axis=self.blocks.axis)
        found = self.blocks.reduce(work, operator.add, "Columns")
        return np.concatenate(found, axis=self.blocks.axis)

    def take(self, which: Mask) -> Rows:
        """Return some of the rows, as blocks."""
        return RowBlocks(self.blocks, which)

    # Partial Least Squares without the rows of every fold
    # ----------------------------------------------------

    def operators(
        self, given: Observations, split: Split, n_components: int, scale: bool
    ) -> list[Way]:
        """Return ways to leave rows out: by moments if the data are tall, by passes."""
        n, p = self.shape
        if split.count > 1 and split.is_single:
            if n * p > _MOST_NUMBERS:
                raise InvalidInputError(
                    f"Leave-one-out of {n:,} rows that are read block by block would need a fit "
                    "for every row; use a number of folds such as cv=10."
                )
            rows = replace(given, X=take_rows(self.blocks))
            return Problem(given=rows, scale=scale).operators(split, n_components)
        if n_components * len(split.rows) > _MOST_NUMBERS:
            raise NotAvailableError(
                f"Rows left out have {n_components} predictions for each of {len(split.rows):,} "
                f"rows, which takes {8e-9 * n_components * len(split.rows):.1f} GB; ask for fewer "
                "components, or choose by a criterion such as 'gcv'."
            )
        safe = Way(partial(by_products, self, given, scale))
        if self.moments is None or p > self.limit or split.trains is not None:
            return [safe]
        if not self._has_response(given.y):
            return [safe]
        return [Way(partial(_by_moments, self, given, scale), features=True), safe]

    def _has_response(self, y: Array) -> bool:
        """Whether y is the response that is in the blocks, but for a constant."""
        return bool(np.array_equal(y - y[0], self.y - self.y[0]))

    # Any method without the rows of every fold
    # -----------------------------------------

    def refitted(self, recipe: Recipe, given: Observations, split: Split) -> Iterator[Predicted]:
        """Fit the other rows of every fold; yield what the fits predict for its rows.

        One pass for the fits of all folds of tall data, or one for each of them; and one for the
        predictions of as many folds as memory has room for.
        """
        if not self._has_response(given.y):
            raise NotAvailableError(
                "Rows of another response cannot be left out of a table that is read block by "
                "block; fit that response with the function that made the path."
            )
        training: Iterator[Any] = (
            self._training_rows(split)
            if recipe.prepare is not None
            else self._training_grams(given, split, bool(recipe.options["scale"]))
        )
        at_once = max(1, _MOST_NUMBERS // self.shape[1] ** 2)
        for first in range(0, split.count, at_once):
            part = split.part(first, first + at_once)
            paths = [recipe.fit(next(training), None) for _ in range(part.count)]
            yield from self._predicted(paths, part)

    def _predicted(self, paths: Sequence[Any], split: Split) -> Iterator[Predicted]:
        """Predict the rows of every fold by a path each, by one pass."""
        if self.blocks.axis == 1:
            for path, test in zip(paths, split.tests, strict=True):
                yield path.at(take_rows(self.take(_mask(test, self.shape[0]))))
            return
        work = partial(_at_rows, paths=paths, tests=split.tests)
        parts = self.blocks.reduce(work, partial(_zipped, merge=operator.add), "Test rows")
        for found in parts:
            yield Predicted(
                values=np.concatenate([one.values for one in found], axis=1),
                leverage=np.concatenate([one.leverage for one in found], axis=1),
                error=np.concatenate([one.error for one in found], axis=1),
            )

    def _training_rows(self, split: Split) -> Iterator[Rows]:
        """Yield the training rows of each fold."""
        n = self.shape[0]
        for test, train in zip(split.tests, split.trains or [None] * split.count, strict=True):
            yield self.take(~_mask(test, n) if train is None else _mask(train, n))

    def _training_grams(self, given: Observations, split: Split, scale: bool) -> Iterator[Gram]:
        """Yield the Gram matrix of the training rows of each fold."""
        n, p = self.shape
        in_memory = 4 * split.count * (p + 1) ** 2 <= _MOST_NUMBERS
        if self.moments is None or p > self.limit or not in_memory or not split.is_partition(n):
            for rows in self._training_rows(split):
                yield read_blocks(rows, scale, self.limit)[0]
            return
        # If one fold needs more digits, all of them probably do: they are read together.
        others = partial(self._of_others, split)
        factors = cache(lambda: list(others(block_factor, merge_factors, "Factors of folds")))
        for number, found in enumerate(others(block_moments, Moments.merge, "Moments of folds")):
            units = found.units(scale, self.blocks.names)
            warn_constant_columns(np.isinf(units.x_scale), units.names)

            def refine(number: int = number) -> Standardized:
                return standardized_factor(factors()[number], scale, self.blocks.names)

            yield found.standardized(units, refine=None if given.weights is not None else refine)

    def _of_others(
        self,
        split: Split,
        work: Callable[[Block], Part],
        merge: Callable[[Part, Part], Part],
        description: str,
    ) -> Iterator[Part]:
        """Yield for each fold what work and merge make of the rows of all others, by one pass."""
        each: Callable[[Block], list[Part]] = partial(_by_fold, tests=split.tests, work=work)
        parts = self.blocks.reduce(each, partial(_zipped, merge=merge), description)
        # What is in front of each fold, and what is behind it.
        before = list(accumulate(parts[:-1], merge))
        behind = list(accumulate(parts[:0:-1], lambda later, part: merge(part, later)))[::-1]
        yield behind[0]
        for one, other in zip(before, behind[1:], strict=False):
            yield merge(one, other)
        yield before[-1]


def _mask(rows: Integers, n: int) -> Mask:
    if len(np.unique(rows)) < len(rows):
        raise InvalidInputError(
            "Rows that are fitted more than once need the table in memory; it is read block by "
            "block."
        )
    mask = np.zeros(n, dtype=bool)
    mask[rows] = True
    return mask


def _listed(block: Block, *, work: Callable[[Block], Part]) -> list[Part]:
    return [work(block)]


def _shifted(block: Block, shift: Array, axis: int) -> Array:
    X = block.X
    X -= shift[block.first : block.first + X.shape[1]] if axis else shift
    return X


def _rows_here(block: Block) -> slice:
    return slice(block.first, block.first + len(block.X))


def _weighted_sums(block: Block, *, weights: Array, shift: Array, axis: int) -> Array:
    """Return sums and sums of squares. Shape (2, F, columns)."""
    X = _shifted(block, shift, axis)
    W = weights if axis else weights[:, _rows_here(block)]
    first = W @ X
    return np.stack([first, W @ np.multiply(X, X, out=X)])


def _through_columns(
    block: Block, *, r: Array, inverse: Array | None, shift: Array
) -> tuple[Array, list[Array]]:
    X = _shifted(block, shift, 1)
    C = r @ X
    if inverse is not None:
        C *= inverse[:, block.first : block.first + X.shape[1]]
    return C @ X.T, [C]


def _left(block: Block, *, r: Array, shift: Array) -> Array:
    here = _rows_here(block)
    return np.asarray(r[:, here] @ _shifted(block, shift, 0))


def _right(block: Block, *, C: Array, shift: Array) -> list[Array]:
    return [C @ _shifted(block, shift, 0).T]


def _some_columns(block: Block, *, which: Integers, axis: int) -> list[Array]:
    if axis == 0:
        return [block.X[:, which]]
    here = which[(which >= block.first) & (which < block.first + block.X.shape[1])]
    return [block.X[:, here - block.first]]


def _by_moments(stored: Streamed, given: Observations, scale: bool, split: Split) -> Operator:
    """Collect the moments of the rows that each fold leaves out, by one pass."""
    assert stored.moments is not None
    n = stored.shape[0]
    # The response may have lost a constant on the way here.
    level = float(stored.y[0] - given.y[0])
    left: list[Moments] = []
    if split.count:
        work = partial(_by_fold, tests=split.tests, work=_plain_moments)
        left = stored.blocks.reduce(work, partial(_zipped, merge=Moments.merge), "Moments of folds")
    left = [one.lowered(level) for one in left]
    whole = stored.moments.lowered(level)
    tests = [np.sort(test) for test in split.tests]

    def look(low: Mask) -> Mask:
        return constant_columns(low, stored.columns, lambda f: _trained(tests, f, given, n))

    return FoldMoments(
        whole,
        [whole.without(one) for one in left],
        scale=scale,
        project=partial(_projected, stored, split),
        look=look,
        fold=split.fold,
        y=given.y[split.rows],
    )


def _trained(tests: Sequence[Integers], fold: int, given: Observations, n: int) -> Array:
    """Return the training weights of a fold, or of all rows."""
    weights = np.ones(n) if given.weights is None else given.weights.copy()
    if fold < len(tests):
        weights[tests[fold]] = 0.0
    return weights


def _plain_moments(block: Block) -> Moments:
    return moments_of(block.X, block.y, block.weights) if len(block.X) else Moments()


def _projected(stored: Streamed, split: Split, A: Array, means: Array) -> Array:
    """Return products of directions (F, k, p) with the centred rows left out, by one pass."""
    made = np.empty((A.shape[1], len(split.rows)))
    if not split.count:
        return made
    work = partial(_block_products, tests=split.tests, A=A, means=means)
    parts = stored.blocks.reduce(work, partial(_zipped, merge=operator.add), "Rows left out")
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


def _at_rows(
    block: Block, *, paths: Sequence[Any], tests: Sequence[Integers]
) -> list[list[Predicted]]:
    return [
        [path.at(block.X[rows])] if len(rows) else []
        for path, rows in zip(paths, _test_rows(block, tests), strict=True)
    ]


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

    Up to the order ``limit`` a Gram matrix is formed; beyond, it is only multiplied with.
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
    if is_dask(X) or is_sliced(X):
        blocks = open_blocks(X, y, sample_weight, progress=progress)
        return OtherData(X=blocks, limit=limit)
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
        return replace(stored, blocks=blocks, moments=None)

    def read(self, scale: bool) -> tuple[Gram, Observations | None]:
        """Return the Gram matrix, and the rows behind it if they can be reached."""
        if isinstance(self.X, Gram):
            divisors = self.X.units.x_scale
            if not scale and np.any((divisors != 1.0) & np.isfinite(divisors)):
                raise InvalidInputError(
                    "scale=False comes too late for a Gram of scaled columns; give it to the "
                    "function that makes the Gram, such as Moments.gram."
                )
            return replace(self.X, count=self.X.count or count_by_probes), None
        if isinstance(self.X, Moments):
            return self.X.gram(scale), None
        if is_blocks(self.X):
            return read_blocks(self.X, scale, self.limit)
        return read_sparse(self.X, self.y, self.weights, scale=scale, limit=self.limit)
