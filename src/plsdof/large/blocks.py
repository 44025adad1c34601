"""Data cut into blocks: what a source of blocks is, arrays on disk, and some rows of a table."""

import mmap
import operator
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from plsdof._core.inputs import Array, as_count, as_response, as_weights, require_finite_columns
from plsdof._core.rows import Block
from plsdof._core.spectrum import FORMED
from plsdof.errors import InvalidInputError

Change = Callable[[Array], Array]
Mask = npt.NDArray[np.bool_]
Part = TypeVar("Part")

# What a source of blocks is
# --------------------------
#
# Everything that is computed of rows is a sum over blocks: moments, kernels, and products with the
# data. `Rows.reduce` is the only way in which they are read.


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
        found = self.rows.reduce(partial(_listed, work=work), operator.add, "Products")
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


# Blocks of arrays that need not fit in memory: memory maps, zarr arrays, and the like
# ------------------------------------------------------------------------------------

Item = TypeVar("Item")

# The most memory that a block may take; there are two, one being read while the other is used.
MEMORY = 64 * 2**20
# A block of this size stays in the cache while it is centred and multiplied.
_CACHED = 16 * 2**20
# So many rows make adding up p x p products cheap next to forming them.
_LONG = 4096
# Libraries whose arrays are read piece by piece.
_SLICED = ("zarr", "h5py")


def checked_shape(X: Any) -> tuple[int, int]:
    """Return the shape of a table that is not to be made an array, after looking at it."""
    if not hasattr(X, "shape") or not hasattr(X, "dtype"):
        raise InvalidInputError(f"X must be an array of numbers; got {type(X).__name__}.")
    if len(X.shape) != 2 or X.shape[0] < 2 or X.shape[1] < 1:
        raise InvalidInputError(
            "X must have two dimensions (rows, columns), at least 2 rows and 1 column; got a "
            f"{type(X).__name__} of shape {tuple(X.shape)}. Check that rows are observations and "
            "columns are variables."
        )
    if np.dtype(X.dtype).kind not in "biuf":
        raise InvalidInputError(f"X must hold real numbers; got {X.dtype}.")
    return int(X.shape[0]), int(X.shape[1])


def is_dask(values: Any) -> bool:
    """Whether something is a dask array or data frame; refuse what only wraps one."""
    if not hasattr(values, "__dask_graph__"):
        return False
    if hasattr(values, "to_delayed"):
        return True
    if values.__dask_graph__() is None:  # an xarray in memory
        return False
    raise InvalidInputError(
        f"X is a {type(values).__name__} with dask inside; pass the dask array (X.data of an "
        "xarray), or X.compute() if it fits in memory."
    )


def is_sliced(values: Any) -> bool:
    """Whether an array is on disk, to be read by slices."""
    if isinstance(values, np.memmap):
        return getattr(values, "_mmap", None) is not None  # a copy of a map is in memory
    library = type(values).__module__.partition(".")[0]
    return library in _SLICED and hasattr(values, "shape") and hasattr(values, "dtype")


class ArrayBlocks:
    """A two-dimensional array cut into blocks of rows or columns.

    Every block is copied to a buffer of its own as float64; nothing else of the array is touched
    at that time. The next block is read while one is worked on. Two buffers are used in turn, so
    results of the work must not refer to the block.

    Parameters
    ----------
    X : array
        Anything with ``shape``, ``dtype`` and two-dimensional slicing.
    y, sample_weight : array-like
        One entry per row; what is on disk is read into memory.
    axis : {0, 1}, optional
        Blocks of rows or of columns; by default columns if there are more
        of them than rows, and XX' can be formed.
    memory : int
        The most bytes that one block may take.
    names : tuple of str, optional
        Names of the columns.
    progress : bool
        Show a bar on stderr for every pass. Needs rich.

    Examples
    --------
    >>> import operator
    >>> blocks = ArrayBlocks(np.arange(6.0).reshape(3, 2), [0.0, 1.0, 2.0], memory=16)
    >>> blocks.reduce(lambda block: block.X.sum(), operator.add)
    np.float64(15.0)
    >>> blocks.reduce(lambda block: [block.first], operator.add)
    [0, 1, 2]
    """

    def __init__(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        axis: int | None = None,
        memory: int = MEMORY,
        names: tuple[str, ...] | None = None,
        progress: bool = False,
    ) -> None:
        self.n_rows, self.n_columns = checked_shape(X)
        self.axis = as_axis(axis, self.n_rows, self.n_columns)
        self.names = names
        self.step = _aligned(
            block_length(X.shape[1 - self.axis], as_count(memory, "memory", minimum=1)),
            X,
            self.axis,
        )
        self.progress = progress
        self._X = X
        y, sample_weight = (np.array(v[:]) if is_sliced(v) else v for v in (y, sample_weight))
        self._y = as_response(y, self.n_rows)
        self._weights = as_weights(sample_weight, self.n_rows)
        self._checked = False

    def reduce(
        self,
        work: Callable[[Block], Part],
        merge: Callable[[Part, Part], Part],
        description: str = "",
    ) -> Part:
        """Return the merged results of ``work`` on every block; see `Rows`."""
        blocks = cut(
            self._X,
            self._y,
            self._weights,
            axis=self.axis,
            step=self.step,
            names=None if self._checked else self.names or (),
            release=release,
        )
        total = -(-self._X.shape[self.axis] // self.step) if self.progress else None
        result = reduce_in_order(ahead(blocks), work, merge, description, total)
        self._checked = True
        return result


def reduce_in_order(
    blocks: Iterable[Block],
    work: Callable[[Block], Part],
    merge: Callable[[Part, Part], Part],
    description: str,
    total: int | None,
) -> Part:
    """Merge the results of all blocks; with a bar on stderr if their number ``total`` is given."""
    if total is not None:
        from plsdof._core.parallel import with_progress

        blocks = with_progress(blocks, total, description)
    return reduce(merge, map(work, blocks))


def ahead(items: Iterator[Item]) -> Iterator[Item]:
    """Yield items in order while the next one is being made in another thread.

    Examples
    --------
    >>> list(ahead(iter("abc")))
    ['a', 'b', 'c']
    """
    end: Any = object()
    with ThreadPoolExecutor(max_workers=1) as reader:
        item = reader.submit(next, items, end).result()
        while item is not end:
            following = reader.submit(next, items, end)
            yield item
            item = following.result()


def as_axis(axis: int | None, n_rows: int, n_columns: int) -> int:
    """Return along which axis data are cut: columns where they are more, and XX' can be formed."""
    if axis is None:
        return 1 if n_rows < n_columns and n_rows <= FORMED else 0
    if isinstance(axis, bool) or not isinstance(axis, int | np.integer) or axis not in (0, 1):
        raise InvalidInputError(
            f"axis must be 0 (blocks of rows), 1 (blocks of columns) or None; got {axis!r}."
        )
    return int(axis)


def block_length(width: int, memory: int = MEMORY) -> int:
    """Return how many rows of this width (or columns of this height) to take at a time.

    What fits in the cache, but not so few that adding up the results costs more than they do,
    and not more than ``memory`` bytes allow.

    Examples
    --------
    >>> block_length(500), block_length(5000), block_length(10**9)
    (4194, 1677, 1)
    """
    wanted = max(_CACHED // (8 * width), _LONG)
    return max(1, min(wanted, memory // (8 * width)))


def release(X: Any) -> None:
    """Let go of the pages of a memory map that were read, which count as memory in use."""
    if not isinstance(X, np.memmap) or X.mode == "c":  # a private copy would be lost
        return
    pages: Any = getattr(X, "_mmap", None)
    if hasattr(pages, "madvise") and hasattr(mmap, "MADV_DONTNEED"):
        pages.madvise(mmap.MADV_DONTNEED)


def is_blocks(source: Any) -> bool:
    """Whether something can be read as `Rows`."""
    return hasattr(source, "reduce") and hasattr(source, "n_columns")


def _aligned(step: int, X: Any, axis: int) -> int:
    """Take whole chunks of the storage, so that none is decompressed twice."""
    chunks = getattr(X, "chunks", None)
    if chunks is None:
        return step
    chunk = int(chunks[axis])
    if step >= chunk:
        return step - step % chunk
    fits = 8 * chunk * int(X.shape[1 - axis]) <= 2 * MEMORY
    return chunk if fits else step


# Some rows of a table in blocks
# ------------------------------


class RowBlocks:
    """Some rows of a table in blocks, after a change that treats each row by itself.

    Parameters
    ----------
    blocks : Rows
    keep : (n,) array of bool, optional
        Which rows there are; all by default.
    change : callable, optional
        For blocks of rows: from (rows, p) to (rows, p), such as ``Preprocessor.transform``. If it
        raises an error with a method ``renamed``, rows are called by their numbers in the whole
        table, from 1.

    Examples
    --------
    >>> import operator
    >>> blocks = ArrayBlocks(np.arange(6.0).reshape(3, 2), [0.0, 1.0, 2.0], memory=16)
    >>> some = RowBlocks(blocks, np.array([True, False, True]), np.negative)
    >>> some.reduce(lambda block: [(block.first, block.X.tolist())], operator.add)
    [(0, [[-0.0, -1.0]]), (1, []), (1, [[-4.0, -5.0]])]
    """

    def __init__(
        self, blocks: Rows, keep: Mask | None = None, change: Change | None = None
    ) -> None:
        if blocks.axis != 0 and change is not None:
            raise InvalidInputError("Rows can be changed in blocks of rows only; use axis=0.")
        self.blocks, self.keep, self.change = blocks, keep, change
        self.axis, self.n_columns, self.names = blocks.axis, blocks.n_columns, blocks.names

    @property
    def n_rows(self) -> int | None:
        """Number of rows, None if it is not known before reading."""
        return self.blocks.n_rows if self.keep is None else int(np.count_nonzero(self.keep))

    def reduce(
        self,
        work: Callable[[Block], Part],
        merge: Callable[[Part, Part], Part],
        description: str = "",
    ) -> Part:
        """Return the merged results of ``work`` on every block, some maybe empty; see `Rows`."""
        some: Callable[[Block], Part] = partial(
            _on_rows, work=work, keep=self.keep, change=self.change, axis=self.axis
        )
        return self.blocks.reduce(some, merge, description)


def _on_rows(
    block: Block,
    *,
    work: Callable[[Block], Part],
    keep: Mask | None,
    change: Change | None,
    axis: int,
) -> Part:
    """Return what work makes of some rows."""
    X, y, weights, first = block.X, block.y, block.weights, block.first
    start = 0 if axis else first
    places = np.arange(start, start + len(X))
    if keep is not None:
        kept = keep[places]
        first = first if axis else int(np.count_nonzero(keep[:first]))
        if not kept.all():
            X, y, places = X[kept], y[kept], places[kept]
            weights = None if weights is None else weights[kept]
    if change is not None and len(X):
        X = changed(change, X, places)
    return work(Block(X=X, y=y, weights=weights, first=first))


def paired(
    a: tuple[Part, list[Item]],
    b: tuple[Part, list[Item]],
    *,
    merge: Callable[[Part, Part], Part],
) -> tuple[Part, list[Item]]:
    """Merge results that come with a list each."""
    return merge(a[0], b[0]), a[1] + b[1]


def changed(change: Change, X: Array, places: npt.NDArray[np.intp]) -> Array:
    """Apply a change to rows, which messages call by their numbers from 1."""
    try:
        return change(np.ascontiguousarray(X))
    except InvalidInputError as error:
        if not hasattr(error, "renamed"):
            raise
        raise error.renamed([str(place + 1) for place in places]) from error


def take_rows(blocks: Rows) -> Array:
    """Return the predictors of all rows as one array, by one pass. Shape (rows, p)."""
    parts = blocks.reduce(_copied, operator.add, "Rows")
    return np.concatenate(parts, axis=blocks.axis)


def _copied(block: Block) -> list[Array]:
    return [np.array(block.X, order="C")]
