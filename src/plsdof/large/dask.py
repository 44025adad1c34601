"""Dask arrays and data frames as blocks: on threads, or on the workers of a cluster."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from functools import reduce
from importlib import import_module
from typing import Any

import numpy as np

from plsdof._core.inputs import Array, as_response, as_weights, named_column, shortened
from plsdof.errors import InvalidInputError, MissingExtraError
from plsdof.large.blocks import Block, Part, as_axis, block_length, require_finite

# Dask arrays and dataframes brought into one form: arrays whose chunks match by rows
# -----------------------------------------------------------------------------------

# Partitions of X and y are matched by number, so dask must not merge those of either.
_KEEP_PARTITIONS = {"optimization.tune.active": False}
# Tasks can be repeated one by one when a worker is lost; a shuffle would start all over.
_RECHUNK_BY_TASKS = {"array.rechunk.method": "tasks"}


def dask_module(name: str = "dask") -> Any:
    """Import dask, or a part of it, or say which extra is missing."""
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingExtraError("dask", "large", "Work on dask arrays and dataframes") from error


def _is_dask(value: Any) -> bool:
    return hasattr(value, "__dask_graph__") and hasattr(value, "to_delayed")


def is_frame(value: Any) -> bool:
    """Whether something is a dask dataframe."""
    return _is_dask(value) and hasattr(value, "columns") and value.ndim == 2


def opened_frame(X: Any, y: Any, weights: Any) -> tuple[Any, Any, Any, tuple[str, ...]]:
    """Turn a dataframe into an array, and the columns named as y and weights into vectors."""
    labels = [named_column(value, X) for value in (y, weights)]
    dropped = [label for label in labels if label is not None]
    kept = [label for label in X.columns if label not in dropped]
    names = tuple(str(label) for label in kept)
    _require_numeric(dict(zip(map(str, X.columns), X.dtypes, strict=True)), "X")
    partitions = _partitions(X)
    y, weights = (
        value if label is None else _stacked([part[label] for part in partitions], str(label))
        for value, label in zip((y, weights), labels, strict=True)
    )
    tables = [part.drop(columns=dropped) for part in partitions] if dropped else partitions
    return _stacked(tables, "X", names), y, weights, names


def opened_vector(values: Any, name: str) -> Any:
    """Return a dask vector as an array; what is in memory has to wait until n is known."""
    if isinstance(values, str):
        raise InvalidInputError(
            f"{name} is {values!r}, but X is not a dataframe with such a column; give the values."
        )
    if not _is_dask(values):
        return values
    if is_frame(values) and len(values.columns) == 1:
        values = values[values.columns[0]]
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise InvalidInputError(
            f"{name} must have one value per row of X; got a {type(values).__name__} of "
            f"{values.ndim} dimensions. Several responses: one column at a time, or PLSRegressor "
            "and pls2_path if the data fit in memory."
        )
    _require_numeric({name: values.dtype}, name)
    return values if hasattr(values, "chunks") else _stacked(_partitions(values), name)


def _partitions(frame: Any) -> Sequence[Any]:
    with dask_module().config.set(_KEEP_PARTITIONS):
        partitions: Sequence[Any] = frame.to_delayed()
    if len(partitions) != frame.npartitions:  # older releases know no such setting
        partitions = [frame.partitions[i].to_delayed()[0] for i in range(frame.npartitions)]
    return partitions


def _stacked(partitions: Sequence[Any], name: str, names: tuple[str, ...] | None = None) -> Any:
    """Return pandas partitions of unknown length as one array."""
    array, delayed = dask_module("dask.array"), dask_module().delayed
    read, once = delayed(numbers_of), delayed(names, traverse=False)
    shape = (np.nan,) if names is None else (np.nan, len(names))
    blocks = [
        array.from_delayed(read(part, f"{name} in chunk {i}", once), shape, dtype=np.float64)
        for i, part in enumerate(partitions)
    ]
    return array.concatenate(blocks, allow_unknown_chunksizes=True)


def require_table(X: Any) -> None:
    """Refuse what is not a dask array of two dimensions."""
    if not _is_dask(X) or not hasattr(X, "chunks"):
        raise InvalidInputError(
            f"X must be a dask array or dataframe; got {type(X).__name__}. Cut an array that is "
            "in memory, or mapped into it, with dask.array.from_array(X, chunks=...)."
        )
    if X.ndim != 2 or np.isnan(X.shape[1]) or 0 in X.shape:
        raise InvalidInputError(
            "X must have two dimensions (rows, columns), at least one of each, and a known number "
            f"of columns; got shape {X.shape}. X.compute_chunk_sizes() finds unknown sizes."
        )
    _require_numeric({"X": X.dtype}, "X")


def _require_numeric(types: dict[str, Any], name: str) -> None:
    # Objects may be numbers: the workers will see.
    text = [
        label for label, kind in types.items() if kind.kind not in "biuf" and str(kind) != "object"
    ]
    if text:
        found = ", ".join(sorted({str(types[label]) for label in text}))
        raise InvalidInputError(
            f"{name} must be numeric; {shortened(text)} is of type {found}. Drop such columns or "
            "turn them into numbers first."
        )


def _has_rows(array: Any) -> bool:
    """Tell whether the number of rows of every chunk is known."""
    return not np.isnan(array.chunks[0]).any()


def row_counts(X: Any, vectors: Sequence[Any], given: Any) -> tuple[int, ...]:
    """Return the numbers of rows of the chunks of X, from whoever knows them."""
    for array in (X, *filter(_is_dask, vectors)):
        if _has_rows(array) and array.numblocks[0] == X.numblocks[0]:
            rows: tuple[int, ...] = array.chunks[0]
            return rows
    # Of a dataframe the index is enough, which spares dask most of the reading.
    chunks = _partitions(given.index) if is_frame(given) else X.to_delayed()[:, 0]
    counts = dask_module().compute(*map(dask_module().delayed(len), chunks))
    if not any(counts):
        raise InvalidInputError("X has no rows; check how it was filtered.")
    return tuple(counts)


def settled(array: Any, rows: tuple[int, ...], name: str) -> Any:
    """Return an array with the given numbers of rows, which are checked when it is read."""
    if not _is_dask(array) or _has_rows(array):
        return array
    if array.numblocks[0] != len(rows):
        raise InvalidInputError(
            f"{name} has {array.numblocks[0]} partitions of unknown length but X has {len(rows)} "
            "partitions; cut both alike, or find the lengths with compute_chunk_sizes()."
        )
    counts = dask_module("dask.array").from_array(np.array(rows), chunks=1)
    if array.ndim == 2:
        counts = counts[:, None]
    chunks = (rows, *array.chunks[1:])
    return array.map_blocks(_with_rows, counts, name, chunks=chunks, meta=array._meta)


def _with_rows(chunk: Any, expected: Any, name: str, block_id: tuple[int, ...]) -> Any:
    if len(chunk) != expected.item():
        raise InvalidInputError(
            f"{name} has {len(chunk)} rows in chunk {block_id[0]}, where {expected.item()} were "
            "expected: the chunks of X, y and sample_weight differ. Take all of them from one "
            "dataframe, or turn them into arrays by .values and compute_chunk_sizes()."
        )
    return chunk


def merged_chunks(X: Any, axis: int) -> Any:
    """Merge what is cut along the other axis as well."""
    if X.numblocks[1 - axis] == 1:
        return X
    limit = dask_module("dask.utils").parse_bytes(dask_module().config.get("array.chunk-size"))
    most = max(1, limit // (8 * X.shape[1 - axis]))
    with dask_module().config.set(_RECHUNK_BY_TASKS):
        fits = max(X.chunks[axis]) <= most
        return X.rechunk({1 - axis: -1} if fits else {axis: most, 1 - axis: -1})


def like_rows(values: Any, X: Any, name: str, check: Callable[[Any, int], Any]) -> Any:
    """Return y or the weights as a dask array that is cut like the rows of X."""
    n, rows = X.shape[0], X.chunks[0]
    if not _is_dask(values):
        values = check(values, n)
        if values is None:
            return None
        return dask_module("dask.array").from_array(values, chunks=(rows,), name=False)
    if values.shape[0] != n:
        raise InvalidInputError(
            f"{name} has {values.shape[0]} entries but X has {n} rows; both must describe the "
            "same observations."
        )
    return values.rechunk((rows,))


def numbers_of(
    chunk: Any, source: str, names: Sequence[str] | None = None, column: int = 0
) -> Array:
    """Return a copy as float64, with NaN for what is missing or masked."""
    try:
        if hasattr(chunk, "iloc"):
            return np.array(chunk.to_numpy(dtype=np.float64, na_value=np.nan))
        if isinstance(chunk, np.ma.MaskedArray):
            return np.asarray(np.ma.filled(chunk.astype(np.float64), np.nan))
        return np.array(chunk, dtype=np.float64)
    except (TypeError, ValueError) as error:
        text = [] if chunk.ndim < 2 else [j for j in range(chunk.shape[1]) if _is_text(chunk, j)]
        labels = [names[column + j] if names else str(column + j) for j in text]
        raise InvalidInputError(
            f"{source} must be numeric; {'column(s) ' if text else 'it'}{shortened(labels)} could "
            f"not be read as numbers ({error}). Drop text columns or encode them first."
        ) from error


def _is_text(chunk: Any, column: int) -> bool:
    values = chunk.iloc[:, column] if hasattr(chunk, "iloc") else chunk[:, column]
    try:
        np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        return True
    return False


# Dask arrays and dataframes as blocks: on threads, or on the workers of a cluster
# --------------------------------------------------------------------------------

_LARGE_GRAPH = "distributed.admin.large-graph-warning-threshold"
# Number, first row or column, declared shape, delayed (X, y, weights).
_Piece = tuple[int, int, tuple[int, int], Any]


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
        Response; a str names a column of the dataframe, which then is not a predictor.
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


def work_on_chunk(
    job: _Job, number: int, first: int, declared: tuple[int, int], chunks: tuple[Any, Any, Any]
) -> Any:
    """Make blocks of a chunk, small enough for the cache, and work on them; runs on a worker."""
    X = chunks[0]
    if np.shape(X) != declared:
        raise InvalidInputError(
            f"X in chunk {number} has shape {np.shape(X)}, where dask was told {declared}. A "
            "function given to map_blocks that changes the shape needs its chunks argument."
        )
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
    other = X.shape[1 - axis]
    shapes = [(other, int(size)) if axis else (int(size), other) for size in sizes]
    pieces = zip(range(len(sizes)), firsts, shapes, tied.to_delayed().ravel(), strict=True)
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
