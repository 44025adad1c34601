"""Tables in CSV and Parquet files, or folders of them, that are read block by block."""

import operator
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from plsdof._core.inputs import Array, as_count, as_weights
from plsdof._core.work import cached_property
from plsdof.errors import InvalidInputError, MissingExtraError
from plsdof.files.columns import choose_columns, find_column, shortened
from plsdof.files.tables import (
    PARQUET,
    ZIP,
    Table,
    all_files_belong,
    files_in,
    notes_of_files,
    parquet_table,
    require_same_columns,
    require_table,
    shortened_path,
    stacked,
    table_of,
)
from plsdof.files.text import (
    Layout,
    column_names,
    cut_note,
    first_ragged_line,
    read_frames,
    sniff,
    value_beyond_header,
)
from plsdof.large.blocks import MEMORY, Block, Part, ahead, as_axis, block_length, reduce_in_order

# Rows of a file, copied to arrays and checked
# --------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Piece:
    """Some rows of a file, the first of which is number ``row``; ``known`` to be finite or not.

    ``columns`` holds (rows,) arrays, one for each name, or is an array (columns, rows). Missing
    values are refused unless there may be ``gaps``.
    """

    columns: Sequence[Array] | Array
    path: Path
    names: Sequence[str]
    row: int
    known: bool
    gaps: bool = False

    def __len__(self) -> int:
        return len(self.columns[0])

    def fill(self, out: Array, start: int) -> None:
        """Copy rows from ``start`` on to the columns of an array, as many as it has."""
        stop = start + out.shape[1]
        if isinstance(self.columns, np.ndarray):
            out[:] = self.columns[:, start:stop]
        else:
            for values, column in zip(out, self.columns, strict=True):
                values[:] = column[start:stop]
        if self.known:
            return
        with np.errstate(over="ignore", invalid="ignore"):
            finite = np.isfinite(out.sum()) or np.isfinite(out).all()
        if not finite:
            self._refuse(out, start)

    def _refuse(self, out: Array, start: int) -> None:
        bad = np.isinf(out) if self.gaps else ~np.isfinite(out)
        if not bad.any():
            return
        row = int(np.flatnonzero(bad.any(axis=0))[0])
        column = int(np.flatnonzero(bad[:, row])[0])
        what = "missing" if np.isnan(out[column, row]) else "infinite"
        raise InvalidInputError(
            f"{short(self.path)}: the value in row {self.row + start + row + 1} of column "
            f"{shortened(self.names[column])} is {what}; remove such rows (--drop-missing), fill "
            "the values in, or leave the column out."
        )


def short(path: Path) -> str:
    """Return a path for a message."""
    return shortened_path(str(path))


def arrow_module(name: str) -> Any:
    """Import pyarrow, or a part of it, or say which extra is missing."""
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingExtraError("pyarrow", "large", "Reading files piece by piece") from error


# Files of separated values as sources of rows
# --------------------------------------------

# Bytes of text that are parsed at a time.
_PARSED = 4 << 20

# Bytes that hold the end of the last line.
_LAST = 64

# Rows that show which columns hold text.
_FIRST_ROWS = 25


@contextmanager
def unchanged(path: Path, mark: tuple[int, int]) -> Iterator[None]:
    """Refuse a file that is not what it was, before and after its rows are read."""
    try:
        if file_mark(path) != mark:
            raise changed(path)
        yield
        if file_mark(path) != mark:
            raise changed(path)
    except OSError as error:
        raise _unreadable(path, error) from error


def file_mark(path: Path) -> tuple[int, int]:
    """Return size and time of a file, by which a change is noticed."""
    found = path.stat()
    return found.st_size, found.st_mtime_ns


def changed(path: Path) -> InvalidInputError:
    """Return the error for a file that was changed between two looks at it."""
    return InvalidInputError(
        f"{short(path)}: the file was changed while it was read; wait until it is complete, or "
        "copy it first."
    )


@dataclass(frozen=True, kw_only=True)
class Text:
    """A file of separated values, read as `read_table` reads it, some rows at a time."""

    path: Path
    layout: Layout
    longest: int
    n_rows: None = None

    @classmethod
    def opened(cls, path: Path, head: bytes) -> "Text":
        """Find out from its first bytes how a file is written."""
        return cls(path=path, layout=sniff(head), longest=max(map(len, head.splitlines())))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return self.layout.names

    @cached_property
    def _first(self) -> Table:
        """The first rows."""
        with closing(read_frames(self.path, self.layout, rows_at_once=_FIRST_ROWS)) as frames:
            frame = next(frames)
        return table_of(frame, self.layout, str(self.path))

    @cached_property
    def _nameless(self) -> tuple[str, ...]:
        """Columns without a name that are empty in the first rows, and so are left out."""
        with closing(read_frames(self.path, self.layout, rows_at_once=_FIRST_ROWS)) as frames:
            empty = next(frames).isna().all()
        return tuple(name for name in self._first.left_out if empty[name])

    @cached_property
    def unfit(self) -> set[str]:
        """Columns with text in the first rows and no number, and what `without_unnamed` drops."""
        text = {name for name in self._first.names if self._first.is_text(name)}
        return text.union(self._first.left_out)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was recognised in the first lines, and at the end."""
        with self.path.open("rb") as file:
            file.seek(max(0, self.path.stat().st_size - _LAST))
            return (*self.layout.notes, *cut_note(file.read()))

    @property
    def likely_rows(self) -> int:
        """How many rows there are if all are as long as the longest one of the first."""
        return max(1, self.path.stat().st_size // max(1, self.longest))

    def batches(self, names: Sequence[str]) -> Iterator[Array]:
        """Yield some rows of these columns at a time, (columns, rows)."""
        at_once = max(1, _PARSED // max(1, self.longest))
        kinds: dict[str, str] = {}
        row = 1
        with self._located():
            for frame in read_frames(self.path, self.layout, rows_at_once=at_once):
                table = Table(
                    source=str(self.path),
                    frame=frame,
                    names=self.names,
                    described=self.layout.described,
                    decimal=self.layout.decimal,
                )
                self._require_no_values(frame, row)
                values = table.numbers(tuple(names), row)
                self._require_same_kinds(kinds, frame[list(names)])
                if frame.iloc[:, -1].isna().any():
                    self._require_even()
                yield values.T
                row += len(values)

    def table(self, names: Sequence[str]) -> Table:
        """Read all rows of a few columns into memory."""
        with self._located():
            (frame,) = read_frames(self.path, self.layout, columns=names)
        return Table(
            source=str(self.path),
            frame=frame[list(names)],
            names=tuple(names),
            described=self.layout.described,
            decimal=self.layout.decimal,
        )

    @contextmanager
    def _located(self) -> Iterator[None]:
        """Begin the messages of errors with the file."""
        try:
            yield
        except InvalidInputError as error:
            raise InvalidInputError(f"{short(self.path)}: {error}") from error

    def _require_no_values(self, frame: Any, row: int) -> None:
        """Refuse a value in a column without a name that was empty in the first rows."""
        for name in self._nameless:
            filled = np.flatnonzero(frame[name].notna().to_numpy())
            if len(filled):
                place = row + int(filled[0])
                if name == self.layout.extra:
                    raise InvalidInputError(value_beyond_header(self.layout, place))
                raise InvalidInputError(
                    f"{shortened(f'{frame[name].iloc[filled[0]]:g}')} in row {place} of column "
                    f"{shortened(name)} is the first value of a column without a name; give it one."
                )

    def _require_same_kinds(self, kinds: dict[str, str], frame: Any) -> None:
        """Refuse columns with TRUE and FALSE in some rows, and numbers in others."""
        for name, dtype in zip(frame.columns, frame.dtypes, strict=True):
            kind = "logical" if dtype.kind == "b" else "number" if dtype.kind in "fiu" else ""
            if kind and kinds.setdefault(name, kind) != kind:
                raise InvalidInputError(
                    f"column {shortened(name)} has TRUE or FALSE in some rows and numbers in "
                    "others; write 1 and 0."
                )

    def _require_even(self) -> None:
        """Say where a row is too short, if that is why a value is missing."""
        ragged = first_ragged_line(self.path, self.layout)
        if ragged:
            raise InvalidInputError(f"{ragged}; every row must have all columns.")


# Text and Parquet files, or folders of them, as sources of rows
# --------------------------------------------------------------

# Bytes of a text file that show how it is written; more only if its lines are longer.
_HEAD = 1 << 20

_LONGEST_LINE = 1 << 26

# Rows that are taken from Parquet at a time.
_BATCH = 4096

# Bytes of a Parquet file that are read ahead in every column.
_BUFFER = 1 << 14


@dataclass(frozen=True)
class Parquet:
    """A Parquet file, of which only the description has been read."""

    path: Path

    @cached_property
    def metadata(self) -> Any:
        """What the end of the file says about it."""
        return arrow_module("pyarrow.parquet").read_metadata(self.path)

    @cached_property
    def fields(self) -> dict[str, Any]:
        """Columns by their names without surrounding blanks; not the index of a data frame."""
        schema = self.metadata.schema.to_arrow_schema()
        index = {str(name) for name in (schema.pandas_metadata or {}).get("index_columns", ())}
        columns = [field for field in schema if field.name not in index]
        names, _ = column_names([field.name for field in columns])
        return dict(zip(names, columns, strict=True))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self.fields)

    @cached_property
    def unfit(self) -> set[str]:
        """Columns that do not hold numbers."""
        return {name for name, field in self.fields.items() if not _is_numeric(field.type)}

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.metadata.num_rows)

    @property
    def likely_rows(self) -> int:
        """Number of rows, known here."""
        return self.n_rows

    @property
    def notes(self) -> tuple[str, ...]:
        """Nothing has to be guessed."""
        return ()

    def batches(self, names: Sequence[str]) -> Iterator[list[Array]]:
        """Yield some rows of these columns at a time, one array for each column."""
        for name in self.unfit.intersection(names):
            raise InvalidInputError(
                f"{short(self.path)}: column {shortened(name)} is not numeric but "
                f"{self.fields[name].type}; leave it out."
            )
        columns = [self.fields[name].name for name in names]
        # Without a buffer the reader holds whole row groups, which may be the whole file.
        with arrow_module("pyarrow.parquet").ParquetFile(
            self.path, metadata=self.metadata, pre_buffer=False, buffer_size=_BUFFER
        ) as file:
            for batch in file.iter_batches(_BATCH, columns=columns):
                yield [_as_floats(column) for column in batch.select(columns).columns]

    def table(self, names: Sequence[str]) -> Table:
        """Read all rows of a few columns into memory."""
        columns = [self.fields[name].name for name in names]
        found = arrow_module("pyarrow.parquet").read_table(self.path, columns=columns)
        frame = found.select(columns).to_pandas(ignore_metadata=True)
        return parquet_table(frame.set_axis(list(names), axis=1), str(self.path))


def _as_floats(column: Any) -> Array:
    """Return a column of Arrow as an array, without a copy if it holds such numbers."""
    float64 = arrow_module("pyarrow").float64()
    numbers = column if column.type == float64 else column.cast(float64, safe=False)
    return np.asarray(numbers.to_numpy(zero_copy_only=False))


def _is_numeric(kind: Any) -> bool:
    types = arrow_module("pyarrow").types
    # A column of nothing is one of missing values.
    tests = (types.is_floating, types.is_integer, types.is_boolean, types.is_decimal, types.is_null)
    return any(test(kind) for test in tests)


def open_sources(path: Path) -> list[Text | Parquet]:
    """Open a file, or all tables of a folder, which must have the same columns."""
    files = files_in(path)
    with all_files_belong(path):
        sources = [_open_source(file) for file in files]
        first = sources[0]
        for other in sources[1:]:
            require_same_columns(str(first.path), first.names, str(other.path), other.names)
    return _with_one_decimal_mark(sources)


def _open_source(path: Path) -> Text | Parquet:
    """Find out what kind of table a file is."""
    try:
        head = _head(path)
        require_table(head)
        if head.startswith(ZIP):
            raise InvalidInputError(
                "an Excel file or zip archive cannot be read piece by piece; save the table as "
                "CSV or Parquet."
            )
        if not head.startswith(PARQUET):
            return Text.opened(path, head)
    except InvalidInputError as error:
        raise InvalidInputError(f"{short(path)}: {error}") from error
    except OSError as error:
        raise _unreadable(path, error) from error
    arrow, source = arrow_module("pyarrow"), Parquet(path)
    try:
        _ = source.fields
    except (OSError, arrow.ArrowException) as error:
        raise _unreadable(path, error) from error
    return source


def _unreadable(path: Path, error: Exception) -> InvalidInputError:
    reason = getattr(error, "strerror", None) or str(error)[:200]
    return InvalidInputError(f"{short(path)}: the file could not be read: {reason}.")


def _head(path: Path) -> bytes:
    """Return the first lines of a file, complete ones if it is text."""
    with path.open("rb") as file:
        head = file.read(_HEAD)
        if head.startswith(PARQUET):
            return head
        while (
            len(head.splitlines()) < 3 and len(head) < _LONGEST_LINE and (more := file.read(_HEAD))
        ):
            head += more
        if not file.read(1):
            return head
    if b"\0" in head:  # UTF-16 or UTF-32, cut between two characters
        return head[: len(head) - len(head) % 4]
    return head[: max(head.rfind(b"\n"), head.rfind(b"\r")) + 1] or head


def _with_one_decimal_mark(sources: list[Text | Parquet]) -> list[Text | Parquet]:
    """Read a decimal comma in all files if it shows in the first lines of one."""
    layouts = [source.layout for source in sources if isinstance(source, Text)]
    if not any(layout.decimal == "," for layout in layouts):
        return sources
    return [
        replace(source, layout=replace(source.layout, decimal=","))
        if isinstance(source, Text) and source.layout.separator != ","
        else source
        for source in sources
    ]


# Tables in CSV and Parquet files, or folders of them, that are read block by block
# ---------------------------------------------------------------------------------


def file_blocks(
    path: str | os.PathLike[str],
    target: str,
    *,
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
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
        Predictors: names, ranges or patterns as for `files.columns.choose_columns`. By default
        all numeric columns but ``target`` and ``weights``; see ``left_out`` of the result. Columns
        with numbers in some files and text in others are refused.
    exclude : sequence of str
        Columns that are not predictors, chosen in the same way.
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
    >>> from plsdof.large.moments import block_sums, merge_sums
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
    columns = (columns,) if isinstance(columns, str) else columns
    chosen = choose_columns(known, columns or (), exclude)
    wanted = [name for name in chosen if name not in (target, weights)]
    unfit: set[str] = set()
    if columns is None:
        _require_one_kind(sources, wanted)
        unfit = unfit.union(*(source.unfit for source in sources))
    names = tuple(name for name in wanted if name not in unfit)
    if not names:
        raise InvalidInputError(
            f"{short(sources[0].path)}: no predictor is left, there is no column of predictors."
        )
    left_out = tuple(name for name in wanted if name in unfit)
    return FileBlocks(
        sources, names, target, weights, left_out, axis=axis, memory=memory, progress=progress
    )


def _require_one_kind(sources: Sequence[Text | Parquet], names: Sequence[str]) -> None:
    """Refuse a column with text in some files and numbers in others, which is a mistake."""
    for name in names:
        text = [source for source in sources if name in source.unfit]
        numbers = [source for source in sources if name not in source.unfit]
        if text and numbers and not name.startswith("unnamed "):
            raise InvalidInputError(
                f"{short(text[0].path)}: column {shortened(name)} holds text, but numbers in "
                f"{numbers[0].path.name}; correct the file, or leave the column out (--exclude)."
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
        self.step = block_length(
            self.n_rows or 1 if self.axis else self.n_columns, as_count(memory, "memory", minimum=1)
        )
        self._read_before = self._gaps = False
        self._known_rows = self.n_rows
        self._marks = {source.path: file_mark(source.path) for source in sources}

    def complete_rows(self) -> npt.NDArray[np.bool_]:
        """Return which rows have all values, by one pass over blocks of rows. Shape (n_rows,).

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
        blocks = ahead(self._row_blocks() if self.axis == 0 else self._column_blocks())
        result = reduce_in_order(blocks, work, merge, description, self._count())
        self._read_before = True
        return result

    @property
    def known(self) -> tuple[str, ...]:
        """The names of all columns of the files."""
        return self._sources[0].names

    def table(self, names: Sequence[str], source: str) -> Table:
        """Return the response and other columns of all rows as a table in memory.

        Cost: one pass over text, of which only these columns are read as numbers.
        """
        wanted = tuple(dict.fromkeys([self.target, *names]))
        tables = []
        for one in self._sources:
            with unchanged(one.path, self._marks[one.path]):
                tables.append(one.table(wanted))
        self._known_rows = sum(map(len, tables))
        return stacked(tables, source)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was recognised in the files: titles, units, unclear commas, a missing line end."""
        first, *others = [(one.path.name, one.notes) for one in self._sources]
        return notes_of_files(first[1], others)

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
        self.n_rows = self._known_rows = number * self.step + filled
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
        total = 0
        for source in self._sources:
            row = 0
            with unchanged(source.path, self._marks[source.path]):
                for columns in source.batches(names):
                    piece = Piece(
                        columns=columns,
                        path=source.path,
                        names=names,
                        row=row,
                        known=self._read_before,
                        gaps=self._gaps,
                    )
                    row += len(piece)
                    # Whoever chose rows before counts on as many.
                    if self._known_rows is not None and total + row > self._known_rows:
                        raise changed(source.path)
                    yield piece
            total += row


def _complete(block: Block) -> list[npt.NDArray[np.bool_]]:
    return [~(np.isnan(block.X).any(axis=1) | np.isnan(block.y))]


def _block(X: Array, ends: Array, first: int) -> Block:
    weights = as_weights(ends[1], len(X)) if len(ends) > 1 else None
    return Block(X=X, y=ends[0], weights=weights, first=first)
