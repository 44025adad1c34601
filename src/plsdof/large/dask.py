"""Dask arrays and data frames as blocks: on threads, or on the workers of a cluster."""

import operator
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial, reduce
from importlib import import_module
from typing import Any

import numpy as np

from plsdof._core.inputs import (
    Array,
    as_response,
    as_weights,
    named_column,
    require_finite_columns,
    shortened,
    unmasked,
)
from plsdof._core.rows import Block
from plsdof.errors import InvalidInputError, MissingExtraError
from plsdof.large.blocks import Part, as_axis, block_length, checked_shape, cut, is_dask

_SETTINGS = {
    # Partitions are counted one by one, so dask must not merge them.
    "optimization.tune.active": False,
    # Tasks can be repeated one by one when a worker is lost; a shuffle would start all over.
    "array.rechunk.method": "tasks",
}
# What work carries is in the graph once, as it should be, and is not to be warned of. It could be
# scattered instead, but what is scattered is lost with the worker that has it.
_ON_CLUSTER = {"distributed.admin.large-graph-warning-threshold": "1TB"}
# Number, first row or column, declared shape, delayed (X, y, weights).
_Piece = tuple[int, int, tuple[int, int], Any]


def dask_module(name: str = "dask") -> Any:
    """Import dask, or a part of it, or say which extra is missing."""
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingExtraError("dask", "large", "Work on dask arrays and dataframes") from error


@dataclass(frozen=True, kw_only=True)
class DaskBlocks:
    """A dask table and its response, cut into `Block` objects; made by `dask_blocks`.

    Attributes
    ----------
    axis : int
        0 for blocks of rows, 1 for blocks of columns.
    n_columns, n_rows : int
    names : tuple of str or None
        Column names, for data frames.
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
        each = partial(_on_chunk, work=work, merge=merge, axis=self.axis, names=self.names)
        job = delayed(each, pure=False, traverse=False)
        run, join = delayed(operator.call, pure=False), delayed(merge, pure=False)
        parts = [run(job, *piece) for piece in self.pieces]
        while len(parts) > 1:
            pairs = [join(*pair) for pair in zip(parts[::2], parts[1::2], strict=False)]
            parts = pairs + parts[2 * len(pairs) :]
        with dask_module().config.set(_ON_CLUSTER if "distributed" in sys.modules else {}):
            result: Part = _watched(parts[0], description) if self.progress else parts[0].compute()
        return result


def dask_blocks(
    X: Any, y: Any, sample_weight: Any = None, axis: int | None = None, *, progress: bool = False
) -> DaskBlocks:
    """Cut dask arrays or data frames into blocks of rows or of columns.

    Everything runs on the scheduler that is current in dask: the active client of a cluster, or
    that of ``dask.config.set(scheduler=...)``, threads by default. Rows whose number is not known
    are counted first: those of a data frame from its index, those of a filtered array by a pass.

    Parameters
    ----------
    X : dask array (n, p) or dask data frame
        Real numbers of any type; every block is converted to float64.
    y : dask array or series, array (n,), or str
        Response; a str names a column of the data frame, which then is not a predictor.
    sample_weight : dask array or series, array (n,), or str, optional
        Frequencies of the rows.
    axis : {0, 1}, optional
        0 for blocks of rows, 1 for blocks of columns; by default as for `ArrayBlocks`. Chunks
        along the other axis are merged; where that makes blocks larger than dask's
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
    names: tuple[str, ...] | None = None
    with dask_module().config.set(_SETTINGS):
        if is_dask(X) and hasattr(X, "columns"):
            # Columns that are named come from the same array, so that they are read once.
            labels = [named_column(value, X) for value in (y, sample_weight)]
            order = list(X.columns)
            kept = [i for i, label in enumerate(order) if label not in labels]
            names = tuple(str(order[i]) for i in kept)
            whole = _as_array(X, "X")
            y, sample_weight = (
                value if label is None else whole[:, order.index(label)]
                for value, label in zip((y, sample_weight), labels, strict=True)
            )
            X = whole if len(kept) == len(order) else whole[:, kept]
        X = _as_array(X, "X")
        n_rows, n_columns = checked_shape(X)
        axis = as_axis(axis, n_rows, n_columns)
        X = _merged_chunks(X, axis)
        y = _like_rows(y, X, "y", as_response)
        sample_weight = _like_rows(sample_weight, X, "sample_weight", as_weights)
        return DaskBlocks(
            axis=axis,
            n_columns=n_columns,
            n_rows=n_rows,
            names=names,
            progress=progress,
            pieces=_pieces(X, y, sample_weight, axis),
        )


# Arrays whose chunks match by rows
# ---------------------------------


def _as_array(values: Any, name: str) -> Any:
    """Return a dask collection as an array of numbers with known sizes of all chunks."""
    if not is_dask(values):
        raise InvalidInputError(
            f"{name} must be a dask array or data frame; got {type(values).__name__}. Cut an array "
            "in memory with dask.array.from_array(X, chunks=...); a memory map needs no dask."
        )
    if hasattr(values, "to_dask_array"):
        frame = values.to_frame() if values.ndim == 1 else values
        _require_numeric({str(label): kind for label, kind in frame.dtypes.items()})
        # The index is enough to count, which spares dask most of the reading.
        lengths = tuple(frame.index.map_partitions(len).compute())
        if not any(lengths):
            raise InvalidInputError(f"{name} has no rows; check how it was filtered.")
        return frame.astype(np.float64).to_dask_array(lengths=lengths)
    _require_numeric({name: values.dtype})
    return values.copy().compute_chunk_sizes() if np.isnan(values.shape).any() else values


def _require_numeric(types: dict[str, Any]) -> None:
    text = [label for label, kind in types.items() if kind.kind not in "biuf"]
    if text:
        found = ", ".join(sorted({str(types[label]) for label in text}))
        raise InvalidInputError(
            f"The data must be numeric; {shortened(text)} is of type {found}. Drop such columns or "
            "turn them into numbers first."
        )


def _merged_chunks(X: Any, axis: int) -> Any:
    """Merge what is cut along the other axis as well."""
    if X.numblocks[1 - axis] == 1:
        return X
    limit = dask_module("dask.utils").parse_bytes(dask_module().config.get("array.chunk-size"))
    most = max(1, limit // (8 * X.shape[1 - axis]))
    fits = max(X.chunks[axis]) <= most
    return X.rechunk({1 - axis: -1} if fits else {axis: most, 1 - axis: -1})


def _like_rows(values: Any, X: Any, name: str, check: Callable[[Any, int], Any]) -> Any:
    """Return y or the weights as a dask array that is cut like the rows of X."""
    n, rows = X.shape[0], X.chunks[0]
    if not is_dask(values):
        values = check(values, n)
        if values is None:
            return None
        return dask_module("dask.array").from_array(values, chunks=(rows,), name=False)
    values = _as_array(values, name)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.shape != (n,):
        raise InvalidInputError(
            f"{name} must have one value per row of X, {n} in all; got shape {values.shape}. "
            "Several responses: one column at a time, or PLSRegressor and pls2_path if the data "
            "fit in memory."
        )
    return values.rechunk((rows,))


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


# On the workers
# --------------


def _on_chunk(
    number: int,
    first: int,
    declared: tuple[int, int],
    chunks: tuple[Any, Any, Any],
    *,
    work: Callable[[Block], Part],
    merge: Callable[[Part, Part], Part],
    axis: int,
    names: tuple[str, ...] | None,
) -> Part:
    """Make blocks of a chunk, small enough for the cache, and work on them."""
    X, row = unmasked(chunks[0]), 0 if axis else first
    if np.shape(X) != declared:
        raise InvalidInputError(
            f"X in chunk {number} has shape {np.shape(X)}, where dask was told {declared}. A "
            "function given to map_blocks that changes the shape needs its chunks argument."
        )
    try:
        y = _vector(chunks[1], "y", row)
        weights = None if chunks[2] is None else _vector(chunks[2], "sample_weight", row)
        blocks = cut(
            X,
            y,
            as_weights(weights, len(y)),
            axis=axis,
            step=block_length(X.shape[1 - axis]),
            names=names or (),
            first=first,
        )
        return reduce(merge, map(work, blocks))
    except InvalidInputError as error:
        raise InvalidInputError(f"In chunk {number}: {error}") from error


def _vector(values: Any, name: str, row: int) -> Array:
    numbers = np.asarray(unmasked(values), dtype=np.float64)
    require_finite_columns(numbers[:, None], (name,), name, row=row)
    return numbers


def _watched(total: Any, description: str) -> Any:
    """Compute with a bar on stderr; on a cluster its own page shows what is going on."""
    sys.stderr.write(f"{description}\n" if description else "")
    with dask_module("dask.diagnostics").ProgressBar(out=sys.stderr):
        return total.compute()
