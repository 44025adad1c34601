"""Rows of a table, wherever they are: in memory, on disk, sparse, on a cluster.

Everything that is computed of rows is a sum over blocks: moments, kernels, and products with the
data. `Rows.reduce` is the only way in which they are read. An array in memory is one block.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial, reduce
from operator import add
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from plsdof._core.inputs import Array, require_finite_columns
from plsdof._core.standardize import Observations, Units, row_blocks

Part = TypeVar("Part")
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class Block:
    """Some rows of the data, or some of its columns.

    Attributes
    ----------
    X : (rows, columns) array
        Finite float64, for the worker to change as it likes.
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

    def through(self, r: Array, inverse: Array | None) -> tuple[Array, Array]:
        """Return C = r X, times ``inverse`` (F, p) if given, and C X'. (F, p) and (F, n)."""

    def columns(self, which: npt.NDArray[np.intp]) -> Array:
        """Return some columns as they were given. Shape (n, k)."""

    def operators(self, given: Observations, split: Any, n_components: int, scale: bool) -> Any:
        """Return ways to leave rows out, the fastest one first; see `left_out.Problem`."""

    def refitted(self, recipe: Any, given: Observations, split: Any) -> Iterator[Any]:
        """Fit the other rows of every fold; yield what the fits predict for its rows."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class InMemory:
    """Rows in memory, in blocks that fit the cache."""

    given: Observations
    axis: int = 0

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
        step = row_blocks(X)[0].stop
        return reduce(merge, map(work, cut(X, y, weights, axis=0, step=step, names=None)))


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


# Products with standardised rows
# -------------------------------


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RowProducts:
    """Products with the standardised data R (A - 1 rest') D, where A = X - 1 shift'.

    R holds the square roots of the weights, D the inverse scales, and shift + rest is the mean.
    A is formed block by block, because products with means in them would lose the digits that
    matter; what is left is a correction of rank one.

    Attributes
    ----------
    rows : Rows
        Blocks of rows (axis 0).
    units : Units
    shift, rest : (p,) arrays
    """

    rows: Rows
    units: Units
    shift: Array
    rest: Array

    def times(self, v: Array) -> Array:
        """Return X'X v, by one pass."""
        u = _divided(v, self.units.x_scale)
        product = self.rows.reduce(partial(_normal_product, u=u, shift=self.shift), add, "Product")
        product = product - np.multiply.outer(self.units.n * self.rest, self.rest @ u)
        return _divided(product, self.units.x_scale)

    def to_samples(self, v: Array) -> Array:
        """Return X v, by one pass."""
        u = _divided(v, self.units.x_scale)
        found = self.rows.reduce(partial(_row_product, u=u, shift=self.shift), add, "Fitted values")
        rows = np.concatenate(found) - self.rest @ u
        return rows if self.units.row_scale is None else _scaled(rows, self.units.row_scale)

    def to_features(self, u: Array) -> Array:
        """Return X'u, by one pass."""
        root = self.units.row_scale
        v = u if root is None else _scaled(u, root)
        work = partial(_column_product, v=v, shift=self.shift)
        product = self.rows.reduce(work, add, "Coefficients")
        return _divided(product - np.multiply.outer(self.rest, v.sum(axis=0)), self.units.x_scale)


def _normal_product(block: Block, *, u: Array, shift: Array) -> Array:
    X, _, weights = weighed(block)
    X -= shift
    rows = X @ u
    return np.asarray(X.T @ (rows if weights is None else _scaled(rows, weights)))


def _row_product(block: Block, *, u: Array, shift: Array) -> list[Array]:
    X, _, _ = weighed(block)
    X -= shift
    return [X @ u]


def _column_product(block: Block, *, v: Array, shift: Array) -> Array:
    X = block.X
    X -= shift
    return np.asarray(X.T @ v[block.first : block.first + len(X)])


def _scaled(values: Array, factor: Array) -> Array:
    """Multiply the rows of an array of one or two dimensions."""
    return np.asarray((values.T * factor).T)


def _divided(values: Array, divisor: Array) -> Array:
    """Divide the rows of an array of one or two dimensions."""
    return np.asarray((values.T / divisor).T)
