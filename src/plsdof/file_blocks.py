"""Tables in CSV and Parquet files, or folders of them, that are read block by block."""

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from plsdof._validation import Array, as_weights
from plsdof.arrow_tables import Piece, short
from plsdof.block_sources import MEMORY, ahead, as_axis, block_length, reduce_in_order
from plsdof.blocks import Block, Part
from plsdof.columns import choose_columns, find_column
from plsdof.errors import InvalidInputError
from plsdof.file_sources import Parquet, open_sources
from plsdof.text_files import Text


def file_blocks(
    path: str | os.PathLike[str],
    target: str,
    *,
    columns: Sequence[str] | None = None,
    weights: str | None = None,
    axis: int | None = None,
    memory: int = MEMORY,
    progress: bool = False,
) -> "FileBlocks":
    r"""Open a CSV or Parquet file, or a folder of them, to be read block by block.

    Parameters
    ----------
    path : path
        A file, or a folder whose files are taken in the order of their names, but for names that
        begin with a dot or an underscore. What a file is, its first bytes tell. All files must
        have the same columns, in any order.
    target : str
        Column of the response.
    columns : sequence of str, optional
        Predictors: names, ranges or patterns as for `plsdof.columns.choose_columns`. By default
        all numeric columns but ``target`` and ``weights``; see ``left_out`` of the result.
    weights : str, optional
        Column of sample weights.
    axis : {0, 1}, optional
        Blocks of rows or of columns. By default columns for Parquet with more columns than rows.
    memory : int
        The most bytes that one block may take.
    progress : bool
        Show a bar on stderr for every pass. Needs rich.

    Returns
    -------
    FileBlocks
        Every ``reduce`` starts from the beginning of the first file.

    Notes
    -----
    Memory: two blocks and, for text, some megabytes for the parser; for Parquet the pages that
    are open in every column, up to 3 MB each (0.5 MB if written without dictionaries).

    Examples
    --------
    >>> import tempfile
    >>> from plsdof.sums import block_sums, merge_sums
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for month in ("1", "2"):
    ...         _ = (Path(folder) / f"{month}.csv").write_text(f"fat;1100\n{month},5;0,25\n")
    ...     blocks = file_blocks(folder, "fat")
    ...     sums = blocks.reduce(block_sums, merge_sums)
    >>> blocks.names, sums.mean
    (('1100',), array([0.25, 2.  ]))
    """
    sources = open_sources(Path(path))
    known = sources[0].names
    target = find_column(target, known)
    weights = None if weights is None else find_column(weights, known)
    unfit = set().union(*(source.unfit for source in sources)) if columns is None else set()
    wanted = [
        name for name in choose_columns(known, columns or ()) if name not in (target, weights)
    ]
    names = tuple(name for name in wanted if name not in unfit)
    if not names:
        raise InvalidInputError(f"{short(sources[0].path)}: there is no column of predictors.")
    left_out = tuple(name for name in wanted if name in unfit)
    return FileBlocks(
        sources, names, target, weights, left_out, axis=axis, memory=memory, progress=progress
    )


class FileBlocks:
    """Blocks of tables in files; made by `file_blocks`.

    Attributes
    ----------
    axis : int
        0 for blocks of rows, 1 for blocks of columns.
    n_columns, n_rows : int
        ``n_rows`` is None for text until it was read once.
    names : tuple of str
        Predictors.
    target, weights : str
        Column of the response, and that of the weights or None.
    left_out : tuple of str
        Columns that were not asked for, and are not numeric or have no name.
    """

    def __init__(
        self,
        sources: "Sequence[Text | Parquet]",
        names: tuple[str, ...],
        target: str,
        weights: str | None,
        left_out: tuple[str, ...],
        *,
        axis: int | None,
        memory: int,
        progress: bool,
    ) -> None:
        self.names, self.n_columns = names, len(names)
        self.target, self.weights, self.left_out = target, weights, left_out
        self.progress = progress
        self._sources = sources
        counts = [source.n_rows for source in sources if source.n_rows is not None]
        self.n_rows = sum(counts) if len(counts) == len(sources) else None
        if self.n_rows is None and axis == 1:
            raise InvalidInputError(
                "text files can be read by rows only (axis=0); save the table as Parquet."
            )
        if self.n_rows is not None and self.n_rows < 2:
            raise InvalidInputError(
                f"{short(sources[0].path)}: there are {self.n_rows} row(s); at least 2 are needed."
            )
        self.axis = as_axis(
            axis, self.n_columns if self.n_rows is None else self.n_rows, len(names)
        )
        self.step = block_length(self.n_rows or 1 if self.axis else self.n_columns, memory)
        self._read_before = False

    def reduce(
        self,
        work: Callable[[Block], Part],
        merge: Callable[[Part, Part], Part],
        description: str = "",
    ) -> Part:
        """Return the merged results of ``work`` on every block; see `Blocks`."""
        blocks = ahead(self._row_blocks() if self.axis == 0 else self._column_blocks())
        result = reduce_in_order(blocks, work, merge, description, self._count())
        self._read_before = True
        return result

    def _count(self) -> int | None:
        if not self.progress:
            return None
        rows = self.n_rows or sum(source.likely_rows for source in self._sources)
        return -(-(self.n_columns if self.axis else rows) // self.step)

    @property
    def _ends(self) -> tuple[str, ...]:
        return (self.target,) if self.weights is None else (self.target, self.weights)

    def _row_blocks(self) -> Iterator[Block]:
        """Fill one of two buffers after the other; their rows are the columns of the table."""
        names = (*self.names, *self._ends)
        buffers = [np.empty((len(names), self.step)) for _ in range(2)]
        number = filled = 0
        for piece in self._pieces(names):
            done = 0
            while done < len(piece):
                size = min(len(piece) - done, self.step - filled)
                piece.fill(buffers[number % 2][:, filled : filled + size], done)
                done, filled = done + size, filled + size
                if filled == self.step:
                    yield self._row_block(buffers[number % 2], number)
                    number, filled = number + 1, 0
        if filled:
            yield self._row_block(buffers[number % 2][:, :filled], number)
        self.n_rows = number * self.step + filled
        if self.n_rows == 0:
            raise InvalidInputError(
                f"{short(self._sources[0].path)}: there are column names but no rows below them."
            )

    def _row_block(self, values: Array, number: int) -> Block:
        p = self.n_columns
        return _block(values[:p].T, values[p:], number * self.step)

    def _column_blocks(self) -> Iterator[Block]:
        ends = self._columns(self._ends)
        for start in range(0, self.n_columns, self.step):
            yield _block(self._columns(self.names[start : start + self.step]).T, ends, start)

    def _columns(self, names: Sequence[str]) -> Array:
        values = np.empty((len(names), self.n_rows or 0))
        row = 0
        for piece in self._pieces(names):
            piece.fill(values[:, row : row + len(piece)], 0)
            row += len(piece)
        return values

    def _pieces(self, names: Sequence[str]) -> "Iterator[Piece]":
        for source in self._sources:
            row = 0
            for batch in source.batches(names):
                yield Piece(
                    batch=batch, path=source.path, names=names, row=row, known=self._read_before
                )
                row += batch.num_rows


def _block(X: Array, ends: Array, first: int) -> Block:
    weights = as_weights(ends[1], len(X)) if len(ends) > 1 else None
    return Block(X=X, y=ends[0], weights=weights, first=first)
