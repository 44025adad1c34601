"""Dask arrays and dataframes as blocks: on threads, or on the workers of a cluster."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np

from plsdof._validation import Array, as_response, as_weights
from plsdof.block_sources import as_axis, block_length, require_finite
from plsdof.blocks import Block, Part
from plsdof.dask_tables import (
    dask_module,
    is_frame,
    like_rows,
    merged_chunks,
    numbers_of,
    opened_frame,
    opened_vector,
    require_table,
    row_counts,
    settled,
)
from plsdof.errors import InvalidInputError

_LARGE_GRAPH = "distributed.admin.large-graph-warning-threshold"
_Piece = tuple[int, int, Any]  # number, first row or column, delayed (X, y, weights)


@dataclass(frozen=True, kw_only=True)
class DaskBlocks:
    """A dask table and its response, cut into `Block` objects; made by `dask_blocks`.

    Attributes
    ----------
    axis : int
        0 for blocks of rows, 1 for blocks of columns.
    n_columns, n_rows : int
    names : tuple of str or None
        Column names, for dataframes.
    progress : bool
        Show a bar on stderr for every pass over the data.
    """

    axis: int
    n_columns: int
    n_rows: int
    names: tuple[str, ...] | None
    progress: bool
    pieces: tuple[_Piece, ...] = field(repr=False)

    def reduce(
        self,
        work: Callable[[Block], Part],
        merge: Callable[[Part, Part], Part],
        description: str = "",
    ) -> Part:
        """Return the merged results of ``work`` on every block, computed where the blocks are.

        Results are merged on the workers: neighbours in pairs, the pairs in pairs, and so on, in
        an order that depends on the number of blocks alone. Nothing is kept between two calls:
        data that were not persisted are read again. A task whose worker is lost is run again
        elsewhere, so neither function may change anything but the block.

        Cost: one pass over the data; about log2(number of blocks) results in memory at a time.

        Parameters
        ----------
        work : callable
            Takes a `Block`. What it carries (such as the vectors of a product) enters the graph
            once, not once per block.
        merge : callable
            Takes the results of neighbours.
        description : str
            Shown above the progress bar.
        """
        delayed = dask_module().delayed
        job = delayed(_Job(work, merge, self.axis, self.names), pure=False, traverse=False)
        run = delayed(work_on_chunk, pure=False)
        parts = [run(job, *piece) for piece in self.pieces]
        total = _merged_in_pairs(parts, delayed(merge, pure=False))
        with _room_in_graph(work):
            result: Part = _watched(total, description) if self.progress else total.compute()
        return result


def dask_blocks(
    X: Any, y: Any, sample_weight: Any = None, axis: int | None = None, *, progress: bool = False
) -> DaskBlocks:
    """Cut dask arrays or dataframes into blocks of rows or of columns.

    Everything runs on the scheduler that is current in dask: the active client of a cluster, or
    that of ``dask.config.set(scheduler=...)``, threads by default. If the number of rows is not
    known (dataframes, filtered arrays), neither from X nor from a y of as many partitions, the
    rows are counted first, from as little of the data as dask can read.

    Parameters
    ----------
    X : dask array (n, p) or dask dataframe
        Real numbers of any type; every block is converted to float64.
    y : dask array or series, array (n,), or str
        Response; a str names a column of the dataframe, which then is no predictor.
    sample_weight : dask array or series, array (n,), or str, optional
        Frequencies of the rows.
    axis : {0, 1}, optional
        0 for blocks of rows, 1 for blocks of columns; by default rows if n >= p. Chunks along
        the other axis are merged; where that makes blocks larger than dask's
        ``array.chunk-size``, they are cut smaller along ``axis``.
    progress : bool
        Show a bar on stderr for every pass over the data.

    Examples
    --------
    >>> import dask.array as da
    >>> X = da.arange(12, chunks=4).reshape(6, 2)
    >>> blocks = dask_blocks(X, np.ones(6))
    >>> blocks.axis, blocks.n_rows, blocks.n_columns
    (0, 6, 2)
    >>> blocks.reduce(lambda block: block.X.sum(axis=0), np.add)
    array([30., 36.])
    """
    names, given = None, X
    if is_frame(X):
        X, y, sample_weight, names = opened_frame(X, y, sample_weight)
    require_table(X)
    y, sample_weight = opened_vector(y, "y"), opened_vector(sample_weight, "sample_weight")
    rows = row_counts(X, (y, sample_weight), given)
    X, axis = settled(X, rows, "X"), as_axis(axis, sum(rows), X.shape[1])
    X = merged_chunks(X, axis)
    y = like_rows(settled(y, rows, "y"), X, "y", as_response)
    sample_weight = settled(sample_weight, rows, "sample_weight")
    sample_weight = like_rows(sample_weight, X, "sample_weight", as_weights)
    return DaskBlocks(
        axis=axis,
        n_columns=X.shape[1],
        n_rows=X.shape[0],
        names=names,
        progress=progress,
        pieces=_pieces(X, y, sample_weight, axis),
    )


@dataclass(frozen=True)
class _Job:
    """What is done on every block, and what it takes to describe a fault in it."""

    work: Callable[[Block], Any]
    merge: Callable[[Any, Any], Any]
    axis: int
    names: tuple[str, ...] | None


def work_on_chunk(job: _Job, number: int, first: int, chunks: tuple[Any, Any, Any]) -> Any:
    """Make blocks of a chunk, small enough for the cache, and work on them; runs on a worker."""
    X = chunks[0]
    step = block_length(X.shape[1 - job.axis])
    starts = range(0, X.shape[job.axis], step)
    blocks = (_block(job, number, first, chunks, slice(start, start + step)) for start in starts)
    return reduce(job.merge, map(job.work, blocks))


def _block(job: _Job, number: int, first: int, chunks: tuple[Any, ...], cut: slice) -> Block:
    rows, columns = (slice(None), cut) if job.axis else (cut, slice(None))
    first += cut.start
    row, column = (0, first) if job.axis else (first, 0)
    table = numbers_of(chunks[0][rows, columns], f"X in chunk {number}", job.names, column)
    require_finite(table, job.names, row, column, f"X in chunk {number}")
    y = _vector_numbers(chunks[1][rows], f"y in chunk {number}", row)
    weights = chunks[2]
    if weights is not None:
        weights = _vector_numbers(weights[rows], f"sample_weight in chunk {number}", row)
        if weights.min() < 0:
            raise InvalidInputError(
                f"sample_weight must not be negative; it is {weights.min()} in row "
                f"{row + int(np.argmin(weights))} (counted from 0)."
            )
    return Block(X=table, y=y, weights=weights, first=first)


def _vector_numbers(values: Any, source: str, row: int) -> Array:
    vector = numbers_of(values, source)
    require_finite(vector[:, None], (source.split()[0],), row, source=source)
    return vector


def _pieces(X: Any, y: Any, weights: Any, axis: int) -> tuple[_Piece, ...]:
    """Tie together what belongs to a block, so that what X and y share is read once per pass."""
    vectors = [argument for array in (y, weights) if array is not None for argument in (array, "i")]
    tied = dask_module("dask.array").blockwise(
        _tied, "ij", X, "ij", *vectors, dtype=X.dtype, align_arrays=False, meta=np.empty((0, 0))
    )
    sizes = X.chunks[axis]
    firsts = np.cumsum([0, *sizes[:-1]]).tolist()
    pieces = zip(range(len(sizes)), firsts, tied.to_delayed().ravel(), strict=True)
    return tuple(piece for piece, size in zip(pieces, sizes, strict=True) if size)


def _tied(X: Any, y: Any, weights: Any = None) -> tuple[Any, Any, Any]:
    return X, y, weights


def _merged_in_pairs(parts: list[Any], merge: Callable[[Any, Any], Any]) -> Any:
    while len(parts) > 1:
        pairs = [merge(*pair) for pair in zip(parts[::2], parts[1::2], strict=False)]
        parts = pairs + parts[2 * len(pairs) :]
    return parts[0]


def _on_cluster() -> bool:
    """Tell whether dask would run on a client of dask.distributed now."""
    get = dask_module("dask.base").get_scheduler()
    return "Client" in type(getattr(get, "__self__", None)).__name__


@contextmanager
def _room_in_graph(work: Any) -> Iterator[None]:
    """Keep dask from warning of the data that ``work`` carries: once per graph is as it should be.

    They could be scattered instead, but what is scattered is lost with the worker that holds it.
    """
    if not _on_cluster():
        yield
        return
    config, buffers = dask_module().config, list[Any]()
    dask_module("cloudpickle").dumps(work, protocol=5, buffer_callback=buffers.append)
    usual = dask_module("dask.utils").parse_bytes(config.get(_LARGE_GRAPH, "10MB"))
    carried = sum(buffer.raw().nbytes for buffer in buffers)
    with config.set({_LARGE_GRAPH: usual + carried}):
        yield


def _watched(total: Any, description: str) -> Any:
    """Compute with a bar on stderr."""
    sys.stderr.write(f"{description}\n" if description else "")
    if not _on_cluster():
        with dask_module("dask.diagnostics").ProgressBar(out=sys.stderr):
            return total.compute()
    (running,) = dask_module().persist(total)
    with redirect_stdout(sys.stderr):
        dask_module("distributed").progress(running, notebook=False)
    return running.compute()
