"""Rows of a table, wherever they are: in memory, on disk, sparse, on a cluster.

Everything that is computed of rows is a sum over blocks: moments, kernels, and products with the
data. `Rows.reduce` is the only way in which they are read. Blocks of an array in memory fit the
cache.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial, reduce
from operator import add
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from plsdof._core.inputs import Array, require_finite_columns
from plsdof._core.standardize import Observations, Units, column_blocks, row_blocks

Part = TypeVar("Part")
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class Block:
    """Some rows of the data, or some of its columns.

    Attributes
    ----------
    X : (rows, columns) array
        Finite float64, which the worker may overwrite.
    y : (rows,) array
    weights : (rows,) array or None
        None if all are one.
    first : int
        Number of the block's first row (blocks of rows) or first column (blocks of columns).
    """

    X: Array
    y: Array
    weights: Array | None
    first: int


def weighed(block: Block) -> tuple[Array, Array, Array | None]:
    """Return the rows that have a positive weight, of X, y and the weights."""
    if block.weights is None or np.all(block.weights > 0):
        return block.X, block.y, block.weights
    kept = block.weights > 0
    return block.X[kept], block.y[kept], block.weights[kept]


class Rows(Protocol):
    """A table and its response, cut along one axis."""

    @property
    def axis(self) -> int:
        """0 for blocks of rows, 1 for blocks of columns."""

    @property
    def n_columns(self) -> int:
        """Number p of predictors."""

    @property
    def n_rows(self) -> int | None:
        """Number of rows, None if it is not known before reading."""

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of the predictors, if they have any."""

    def reduce(
        self,
        work: Callable[[Block], Part],
        merge: Callable[[Part, Part], Part],
        description: str = "",
    ) -> Part:
        """Return the merged results of ``work`` on every block.

        ``merge`` must be associative; results are merged in the order of the blocks, so that a
        run can be repeated to the last digit. Both functions must be picklable.
        """


class Stored(Protocol):
    """Predictors that are not one array in memory, as a path keeps them: sparse, or in blocks.

    ``shape`` is (n_rows, p), without rows that have no weight. Products are those with X minus
    ``shift`` (p,), which is near the means where these are large.
    """

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""

    @property
    def shift(self) -> Array:
        """What is taken off the columns in products. Shape (p,)."""

    def sums(self, weights: Array) -> tuple[Array, Array]:
        """Return sums and sums of squares of columns, for weights (F, n). (F, p) each."""

    def left(self, r: Array) -> Array:
        """Return r X for r (F, n). Shape (F, p)."""

    def right(self, C: Array) -> Array:
        """Return C X' for C (F, p). Shape (F, n)."""

    def columns(self, which: npt.NDArray[np.intp]) -> Array:
        """Return some columns as they were given. Shape (n, k)."""

    def faster_ways(self, given: Observations, split: Any, n_components: int, scale: bool) -> Any:
        """Return ways to leave rows out that are faster than products; see `left_out.Problem`."""

    def refitted(self, recipe: Any, given: Observations, split: Any) -> Iterator[Any]:
        """Fit the other rows of every fold; yield what the fits predict for its rows."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class InMemory:
    """Rows in memory, in blocks of rows or columns that fit the cache."""

    given: Observations

    @property
    def axis(self) -> int:
        """Columns are cut where hardly a row fits the cache."""
        return int(len(column_blocks(self.given.X)) > 1)

    @property
    def n_columns(self) -> int:
        """Number of predictors."""
        return int(self.given.X.shape[1])

    @property
    def n_rows(self) -> int:
        """Number of rows with positive weight."""
        return len(self.given.y)

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of the predictors."""
        return self.given.names

    def reduce(
        self,
        work: Callable[[Block], Part],
        merge: Callable[[Part, Part], Part],
        description: str = "",  # noqa: ARG002
    ) -> Part:
        """Return the merged results of ``work`` on every block; see `Rows`."""
        X, y, weights = self.given.X, self.given.y, self.given.weights
        axis = self.axis
        step = (column_blocks(X) if axis else row_blocks(X))[0].stop
        return reduce(merge, map(work, cut(X, y, weights, axis=axis, step=step, names=None)))


def cut(
    X: Any,
    y: Array,
    weights: Array | None,
    *,
    axis: int,
    step: int,
    names: tuple[str, ...] | None = (),
    first: int = 0,
    release: Callable[[Any], None] | None = None,
) -> Iterator[Block]:
    """Yield blocks of ``step`` rows or columns, as float64, in two buffers that are used in turn.

    ``first`` is the number of the first row or column. With ``names`` (empty if there are none)
    values are checked to be finite. ``release`` is told when a block has been copied.
    """
    length, width = X.shape[axis], X.shape[1 - axis]
    buffers = [np.empty(min(step, length) * width) for _ in range(2)]
    for number, start in enumerate(range(0, length, step)):
        part = slice(start, min(start + step, length))
        rows, columns = (part, slice(None)) if axis == 0 else (slice(None), part)
        source = X[rows, columns]
        values = buffers[number % 2][: source.size].reshape(source.shape)
        with np.errstate(over="ignore"):  # of long doubles
            np.copyto(values, source, casting="unsafe")
        if release is not None:
            release(X)
        place = first + start
        if names is not None:
            row, column = (place, 0) if axis == 0 else (0, place)
            require_finite_columns(values, names, "X", row=row, column=column)
        some = None if weights is None else weights[rows]
        yield Block(X=values, y=y[rows], weights=some, first=place)


# Products with rows
# ------------------


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class InBlocks:
    """Products with X - 1 shift', which is formed block by block.

    Products with means in them would lose the digits that matter.

    Attributes
    ----------
    rows : Rows
    shift : (p,) array
    """

    rows: Rows
    shift: Array

    def left(self, r: Array) -> Array:
        """Return r X, by one pass. Shape (F, p)."""
        return self.collected(partial(_left, r=r, shift=self.shift, axis=self.rows.axis), 1)

    def right(self, C: Array) -> Array:
        """Return C X', by one pass. Shape (F, n)."""
        return self.collected(partial(_right, C=C, shift=self.shift, axis=self.rows.axis), 0)

    def collected(self, work: Callable[[Block], Array], axis: int) -> Array:
        """Return what work makes of blocks: joined where these are cut along an axis, or summed."""
        if self.rows.axis != axis:
            return self.rows.reduce(work, np.add, "Products")
        found = self.rows.reduce(partial(_listed, work=work), add, "Products")
        return np.concatenate(found, axis=-1)


def place_of(block: Block, axis: int) -> tuple[slice, slice]:
    """Return which rows and columns a block has."""
    here = slice(block.first, block.first + block.X.shape[axis])
    return (slice(None), here) if axis else (here, slice(None))


def _listed(block: Block, *, work: Callable[[Block], Array]) -> list[Array]:
    return [work(block)]


def _left(block: Block, *, r: Array, shift: Array, axis: int) -> Array:
    rows, columns = place_of(block, axis)
    return np.asarray(r[..., rows] @ np.subtract(block.X, shift[columns], out=block.X))


def _right(block: Block, *, C: Array, shift: Array, axis: int) -> Array:
    _, columns = place_of(block, axis)
    return np.asarray(C[..., columns] @ np.subtract(block.X, shift[columns], out=block.X).T)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class StandardProducts:
    """Products with the standardised data R (A - 1 rest') D, where A = X - 1 shift'.

    R holds the square roots of the weights, D the inverse scales, and shift + rest is the mean.

    Attributes
    ----------
    stored : Stored or InBlocks
        Products with A.
    units : Units
    rest : (p,) array
    """

    stored: Any
    units: Units
    rest: Array

    def to_samples(self, v: Array) -> Array:
        """Return X v, whose (weighted) means are zero."""
        rows = self.stored.right(v.T / self.units.x_scale)
        rows -= (rows @ self._root**2 / self.units.n)[..., None]
        return np.asarray((rows * self._root).T)

    def to_features(self, u: Array) -> Array:
        """Return X'u. What u has along the weights does not count, as columns are centred."""
        r = u.T * self._root
        r = r - (r.sum(axis=-1) / self.units.n)[..., None] * self._root**2
        return np.asarray((self.stored.left(r) / self.units.x_scale).T)

    @property
    def _root(self) -> Array:
        scale = self.units.row_scale
        return np.ones(self.units.n_rows) if scale is None else scale
