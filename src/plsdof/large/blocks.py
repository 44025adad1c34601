"""Data cut into blocks: memory maps, zarr arrays, and their Gram matrix."""

import mmap
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import reduce
from typing import Any, Protocol, TypeVar

import numpy as np

from plsdof._core.inputs import Array, as_count, as_response, as_weights, shortened
from plsdof.errors import InvalidInputError

# Data cut into blocks, wherever they are: one after the other, or spread over machines
# -------------------------------------------------------------------------------------

Part = TypeVar("Part")


@dataclass(frozen=True, kw_only=True)
class Block:
    """Some rows of the data, or some of its columns.

    Attributes
    ----------
    X : (rows, columns) array
        Finite float64, for the worker to change as it likes.
    y : (rows,) array
    weights : (rows,) array or None
    first : int
        Number of the block's first row (blocks of rows) or first column (blocks of columns).
    """

    X: Array
    y: Array
    weights: Array | None
    first: int


class Blocks(Protocol):
    """A table and its response, cut along one axis.

    Everything that is computed of large data is a sum over blocks: moments, kernels, and products
    with the data. ``reduce`` is the only way in which it is read.
    """

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


# Blocks of arrays that need not fit in memory: memory maps, zarr arrays, and the like
# ------------------------------------------------------------------------------------

Item = TypeVar("Item")

# The most memory that a block may take; two are held, one being read while the other is used.
MEMORY = 64 * 2**20
# A block of this size stays in the cache while it is centred and multiplied.
_CACHED = 16 * 2**20
# So many rows make adding up p x p products cheap next to forming them.
_LONG = 4096
# Libraries whose arrays are read piece by piece.
_SLICED = ("zarr", "h5py")


def open_blocks(
    X: Any, y: Any, sample_weight: Any = None, axis: int | None = None, *, progress: bool = False
) -> Blocks | None:
    """Return the blocks of data that are to be read piece by piece, None if they are in memory.

    Parameters
    ----------
    X : array-like
        `numpy.memmap`, zarr array, h5py dataset, dask array or data frame; None is returned for
        anything else.
    y, sample_weight : array-like
        One entry per row, in memory or of the same kinds.
    axis : {0, 1}, optional
        Blocks of rows or of columns. By default rows if there are at least as many of them as
        columns.
    progress : bool
        Show a bar on stderr for every pass over the data. Needs rich.

    Examples
    --------
    >>> open_blocks([[1.0, 2.0], [3.0, 4.0]], [1.0, 2.0]) is None
    True
    """
    if is_dask(X):
        from plsdof.large.dask import dask_blocks

        blocks: Blocks = dask_blocks(X, y, sample_weight, axis, progress=progress)
        return blocks
    if not is_sliced(X):
        return None
    return ArrayBlocks(X, y, sample_weight, axis=axis, progress=progress)


def is_dask(values: Any) -> bool:
    """Whether something is a dask array or dataframe; refuse what only wraps one."""
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
        One entry per row, in memory or sliced as X is.
    axis : {0, 1}, optional
        Blocks of rows or of columns; by default rows if there are at least as many.
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
        self.n_rows, self.n_columns = _checked_shape(X)
        self.axis = as_axis(axis, self.n_rows, self.n_columns)
        self.names = names
        self.step = _aligned(
            block_length(X.shape[1 - self.axis], as_count(memory, "memory", minimum=1)),
            X,
            self.axis,
        )
        self.progress = progress
        self._X = X
        self._y = _vector(y, self.n_rows, as_response, "y", self.axis == 1)
        self._weights = _vector(
            sample_weight, self.n_rows, as_weights, "sample_weight", self.axis == 1
        )
        self._checked = False

    def reduce(
        self,
        work: Callable[[Block], Part],
        merge: Callable[[Part, Part], Part],
        description: str = "",
    ) -> Part:
        """Return the merged results of ``work`` on every block; see `Blocks`."""
        starts = range(0, self._X.shape[self.axis], self.step)
        blocks: Iterable[Block] = ahead(self._read(starts))
        result = reduce_in_order(
            blocks, work, merge, description, len(starts) if self.progress else None
        )
        self._checked = True
        return result

    def _read(self, starts: Iterable[int]) -> Iterator[Block]:
        length, width = self._X.shape[self.axis], self._X.shape[1 - self.axis]
        buffers = [np.empty(min(self.step, length) * width) for _ in range(2)]
        for number, start in enumerate(starts):
            cut = slice(start, min(start + self.step, length))
            yield self._copied(cut, buffers[number % 2])

    def _copied(self, cut: slice, buffer: Array) -> Block:
        rows, columns = (cut, slice(None)) if self.axis == 0 else (slice(None), cut)
        source = self._X[rows, columns]
        X = buffer[: source.size].reshape(source.shape)
        with np.errstate(over="ignore"):  # of long doubles
            np.copyto(X, source, casting="unsafe")
        release(self._X)
        if not self._checked:
            require_finite(X, self.names, rows.start or 0, columns.start or 0)
        return Block(
            X=X,
            y=_slice(self._y, rows, len(X), as_response),
            weights=_slice(self._weights, rows, len(X), as_weights),
            first=cut.start,
        )


def reduce_in_order(
    blocks: Iterable[Block],
    work: Callable[[Block], Part],
    merge: Callable[[Part, Part], Part],
    description: str,
    total: int | None,
) -> Part:
    """Merge the results of all blocks; with a bar on stderr if their number ``total`` is given."""
    if total is not None:
        from plsdof._core.work import with_progress

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
    """Return along which axis data are cut: the longer one, unless told otherwise."""
    if axis is None:
        return 0 if n_rows >= n_columns else 1
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


def require_finite(
    X: Array, names: tuple[str, ...] | None, row: int = 0, column: int = 0, source: str = "X"
) -> None:
    """Refuse a block that has NaN or infinite values; ``row`` and ``column`` are its first ones."""
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(X.sum()):
            return
    bad = ~np.isfinite(X)
    if not bad.any():
        return
    columns = np.flatnonzero(bad.any(axis=0))
    labels = [names[i] if names else str(i) for i in columns + column]
    first = int(np.flatnonzero(bad.any(axis=1))[0]) + row
    raise InvalidInputError(
        f"{source} contains NaN or infinity, first in row {first} (counted from 0), in column(s) "
        f"{shortened(labels)}; drop these rows or columns, or fill the values in before fitting."
    )


def release(X: Any) -> None:
    """Let go of the pages of a memory map that were read, which count as memory in use."""
    if not isinstance(X, np.memmap) or X.mode == "c":  # a private copy would be lost
        return
    pages: Any = getattr(X, "_mmap", None)
    if hasattr(pages, "madvise") and hasattr(mmap, "MADV_DONTNEED"):
        pages.madvise(mmap.MADV_DONTNEED)


def require_blocks(source: Any, name: str) -> None:
    """Refuse what is not `Blocks`."""
    if not (hasattr(source, "reduce") and hasattr(source, "n_columns")):
        raise InvalidInputError(
            f"{name} must be Blocks, as ArrayBlocks and file_blocks make them; got "
            f"{type(source).__name__}."
        )


def _checked_shape(X: Any) -> tuple[int, int]:
    if not hasattr(X, "shape") or not hasattr(X, "dtype"):
        raise InvalidInputError(f"X must be an array of numbers; got {type(X).__name__}.")
    if len(X.shape) != 2:
        raise InvalidInputError(
            "X must be a table of two dimensions (rows, columns); got an array of "
            f"{len(X.shape)} dimension(s) with shape {X.shape}."
        )
    if X.dtype.kind not in "fiub":
        raise InvalidInputError(f"X must hold real numbers; got an array of {X.dtype}.")
    n_rows, n_columns = map(int, X.shape)
    if n_rows < 2 or n_columns < 1:
        raise InvalidInputError(
            f"X has {n_rows} row(s) and {n_columns} column(s); at least 2 rows and one column are "
            "needed. Check that rows are observations and columns are variables."
        )
    return n_rows, n_columns


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


def _vector(values: Any, n_rows: int, check: Callable[..., Any], name: str, whole: bool) -> Any:
    """Check a vector that is in memory now; one that is not, when its slices are read."""
    if not is_sliced(values):
        return check(values, n_rows)
    if int(values.shape[0]) != n_rows:
        raise InvalidInputError(
            f"{name} has {values.shape[0]} entries but X has {n_rows} rows; both must describe the "
            "same observations."
        )
    return check(np.array(values[:]), n_rows) if whole else values


def _slice(values: Any, rows: slice, size: int, check: Callable[..., Any]) -> Any:
    if not is_sliced(values):
        return None if values is None else values[rows]
    part = check(np.array(values[rows]), size)
    release(values)
    return part
