"""Tables in CSV and Parquet files, or folders of them, that are read block by block."""

import operator
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from plsdof._core.inputs import Array, as_count, as_weights
from plsdof._core.rows import Block
from plsdof.errors import InvalidInputError
from plsdof.large.blocks import MEMORY, Part, ahead, block_length, reduce_in_order
from plsdof.workbench.tables.columns import choose_columns, find_column, shortened, shortened_path
from plsdof.workbench.tables.reading import Reading, Source, open_sources, unreadable
from plsdof.workbench.tables.table import Note, Table, located, notes_of_files, stacked


def _mark(path: Path) -> tuple[int, int]:
    """Return size and time of a file, by which a change is noticed."""
    found = path.stat()
    return found.st_size, found.st_mtime_ns


# Blocks of rows
# --------------


def file_blocks(
    path: str | os.PathLike[str],
    target: str,
    *,
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    weights: str | None = None,
    memory: int = MEMORY,
    progress: bool = False,
    reading: Reading | None = None,
) -> "FileBlocks":
    r"""Open a CSV or Parquet file, or a folder of them, to be read block by block.

    Other tables that `read_table` knows are held in memory.

    Parameters
    ----------
    path : path
        A file, or a folder whose files are taken in the order of their names, but for names that
        begin with a dot or an underscore. What a file is, its first bytes tell. All files must
        have the same columns, in any order.
    target : str
        Column of the response.
    columns : sequence of str, optional
        Predictors: names, ranges or patterns as for `tables.columns.choose_columns`. By default
        all numeric columns but ``target`` and ``weights``; see ``left_out`` of the result. Columns
        with numbers in some files and text in others are refused.
    exclude : sequence of str
        Columns that are not predictors, chosen in the same way.
    weights : str, optional
        Column of sample weights.
    memory : int
        The most bytes that one block may take.
    progress : bool
        Show a bar on stderr for every pass. Needs rich.
    reading : Reading, optional
        How the files are to be read, as `read_table` takes it.

    Returns
    -------
    FileBlocks
        Blocks of rows for `plsdof.pls_path` and its relatives, with names of the predictors
        and ``left_out``, the numbers n_columns and, once text was read, n_rows. Every ``reduce``
        starts from the beginning of the first file.

    Notes
    -----
    Memory: a few blocks and, for text, some megabytes for the parser; for Parquet the pages that
    are open in every column, up to 3 MB each (0.5 MB if written without dictionaries).

    Examples
    --------
    >>> import tempfile
    >>> from plsdof._core.moments import Moments, block_moments
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for month in ("1", "2"):
    ...         _ = (Path(folder) / f"{month}.csv").write_text(f"fat;1100\n{month},5;0,25\n")
    ...     blocks = file_blocks(folder, "fat")
    ...     moments = blocks.reduce(block_moments, Moments.merge)
    >>> blocks.names, moments.mean
    (('1100',), array([0.25, 2.  ]))
    """
    sources = open_sources(Path(path), reading)
    known = sources[0].head.names
    target = find_column(target, known)
    weights = None if weights is None else find_column(weights, known)
    columns = (columns,) if isinstance(columns, str) else columns
    chosen = choose_columns(known, columns or (), exclude)
    wanted = [name for name in chosen if name not in (target, weights)]
    unfit: set[str] = set()
    if columns is None:
        _require_one_kind(sources, wanted)
        unfit = {name for name in wanted if any(one.head.is_text(name) for one in sources)}
    names = tuple(name for name in wanted if name not in unfit)
    with located(sources[0].path):
        if not names:
            raise InvalidInputError("no predictor is left: no column of predictors.")
    counts = [source.n_rows for source in sources if source.n_rows is not None]
    return FileBlocks(
        names=names,
        target=target,
        weights=weights,
        left_out=(*sources[0].head.left_out, *(name for name in wanted if name in unfit)),
        n_rows=sum(counts) if len(counts) == len(sources) else None,
        step=block_length(len(names), as_count(memory, "memory", minimum=1)),
        progress=progress,
        _sources=sources,
        _marks={source.path: _mark(source.path) for source in sources},
    )


def _require_one_kind(sources: Sequence[Source], names: Sequence[str]) -> None:
    """Refuse a column with text in some files and numbers in others, which is a mistake."""
    for name in names:
        texts = [source for source in sources if source.head.is_text(name)]
        numbers = [source for source in sources if not source.head.is_text(name)]
        if texts and numbers and not name.startswith("unnamed "):
            raise InvalidInputError(
                f"{shortened_path(str(texts[0].path))}: column {shortened(name)} holds text, but "
                f"numbers in {numbers[0].path.name}; correct the file, or leave the column out.",
                mend={"exclude": [name]},
            )


@dataclass(kw_only=True, eq=False)
class FileBlocks:
    """Blocks of rows of tables in files; made by `file_blocks`.

    Attributes
    ----------
    names : tuple of str
        Predictors.
    target, weights : str
        Column of the response, and that of the weights or None.
    left_out : tuple of str
        Columns that were not asked for, and are not numeric or have no name.
    n_rows : int or None
        None for text until it was read once.
    step : int
        Rows of a block.
    """

    names: tuple[str, ...]
    target: str
    weights: str | None
    left_out: tuple[str, ...]
    n_rows: int | None
    step: int
    progress: bool
    _sources: list[Source]
    _marks: dict[Path, tuple[int, int]]
    _gaps: bool = False
    axis: int = 0

    @property
    def n_columns(self) -> int:
        """Number of predictors."""
        return len(self.names)

    @property
    def head(self) -> Table:
        """The first file as far as it is in memory, with all its columns."""
        return self._sources[0].head

    @property
    def known(self) -> tuple[str, ...]:
        """The names of all columns of the files."""
        return self.head.names

    @property
    def notes(self) -> tuple[Note, ...]:
        """What was recognised in the files: titles, units, unclear commas, a missing line end."""
        return notes_of_files([(one.path.name, one.head.notes) for one in self._sources])

    def complete_rows(self) -> npt.NDArray[np.bool_]:
        """Return which rows have all values, by one pass. Shape (n_rows,).

        From now on blocks have nan where a value is missing.
        """
        self._gaps = True
        found: list[npt.NDArray[np.bool_]] = self.reduce(_complete, operator.add, "Missing values")
        return np.concatenate(found)

    def reduce(
        self,
        work: Callable[[Block], Part],
        merge: Callable[[Part, Part], Part],
        description: str = "",
    ) -> Part:
        """Return the merged results of ``work`` on every block; see `Blocks`."""
        total = None
        if self.progress:
            rows = self.n_rows or sum(source.likely_rows for source in self._sources)
            total = -(-rows // self.step)
        return reduce_in_order(ahead(self._blocks()), work, merge, description, total)

    def table(self, names: Sequence[str], source: str) -> Table:
        """Return the response and other columns of all rows as a table in memory.

        Cost: one pass over text, of which only these columns are read as numbers.
        """
        wanted = tuple(dict.fromkeys([self.target, *names]))
        found = []
        for one in self._sources:
            with unreadable(one.path):
                found.append(one.table(wanted))
                self._require_unchanged(one.path)
        return stacked(found, source)

    def _blocks(self) -> Iterator[Block]:
        """Cut what the files give into blocks of ``step`` rows."""
        waiting: list[Array] = []
        done = count = 0
        for values in self._values():
            waiting.append(values)
            count += len(values)
            if count >= self.step:
                joined = np.concatenate(waiting)
                for start in range(0, count - self.step + 1, self.step):
                    yield self._block(joined[start : start + self.step], done)
                    done += self.step
                waiting, count = [joined[count - count % self.step :]], count % self.step
        if count:
            yield self._block(np.concatenate(waiting), done)
        self.n_rows = done + count
        if self.n_rows == 0:
            raise InvalidInputError(
                f"{shortened_path(str(self._sources[0].path))}: there are column names but no rows "
                "below them."
            )

    def _block(self, values: Array, first: int) -> Block:
        p = self.n_columns
        weights = None if self.weights is None else as_weights(values[:, p + 1], len(values))
        return Block(X=values[:, :p], y=values[:, p], weights=weights, first=first)

    def _values(self) -> Iterator[Array]:
        """Yield rows of the predictors, the response, and the weights if there are some."""
        ends = (self.target,) if self.weights is None else (self.target, self.weights)
        names = (*self.names, *ends)
        for source in self._sources:
            with unreadable(source.path):
                for table in source.batches(names):
                    values = table.numbers(names, gaps=self._gaps)
                    # Whoever chose rows before counts on the same ones.
                    self._require_unchanged(source.path)
                    yield values

    def _require_unchanged(self, path: Path) -> None:
        if _mark(path) != self._marks[path]:
            raise InvalidInputError(
                "the file was changed while it was read; wait until it is complete, or copy it "
                "first."
            )


def _complete(block: Block) -> list[npt.NDArray[np.bool_]]:
    return [~(np.isnan(block.X).any(axis=1) | np.isnan(block.y))]
