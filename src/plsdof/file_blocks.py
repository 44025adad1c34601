"""Tables in CSV and Parquet files, or folders of them, that are read block by block."""

import csv
import io
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from plsdof._validation import Array, as_weights
from plsdof.block_sources import MEMORY, ahead, as_axis, block_length, reduce_in_order
from plsdof.blocks import Block, Part
from plsdof.columns import choose_columns, find_column, shortened
from plsdof.errors import InvalidInputError, MissingExtraError
from plsdof.sniffing import WHITE_SPACE, Layout, column_names, sniff
from plsdof.tables import _PARQUET, _REFUSED, _ZIP, shortened_path

# Bytes of a text file that show how it is written; more only if its lines are longer.
_HEAD, _LONGEST_LINE = 1 << 20, 1 << 26
# Bytes of text that are parsed at a time.
_PARSED = 1 << 20
# Rows that are taken from Parquet at a time, and bytes that are read ahead in every column.
_BATCH, _BUFFER = 4096, 1 << 14
_NOT_A_NUMBER = re.compile(r"column #(\d+): Row #(\d+): .*invalid value '(.*)'", re.DOTALL)
_RAGGED = re.compile(r"Row #(\d+): Expected (\d+) columns, got (\d+)")


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
        A file, or a folder whose files are taken in the order of their names. What a file is, its
        first bytes tell. All files must have the same columns, in any order.
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
    >>> from plsdof.moments import block_sums, merge_sums
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for month in ("1", "2"):
    ...         _ = (Path(folder) / f"{month}.csv").write_text(f"fat;1100\n{month},5;0,25\n")
    ...     blocks = file_blocks(folder, "fat")
    ...     sums = blocks.reduce(block_sums, merge_sums)
    >>> blocks.names, sums.mean
    (('1100',), array([0.25, 2.  ]))
    """
    sources = _with_one_decimal_mark([_source(file) for file in _files(Path(path))])
    for source in sources[1:]:
        _require_same_columns(sources[0], source)
    known = sources[0].names
    target = find_column(target, known)
    weights = None if weights is None else find_column(weights, known)
    unfit = set().union(*(source.unfit for source in sources)) if columns is None else set()
    wanted = [
        name for name in choose_columns(known, columns or ()) if name not in (target, weights)
    ]
    names = tuple(name for name in wanted if name not in unfit)
    if not names:
        raise InvalidInputError(f"{_short(sources[0].path)}: there is no column of predictors.")
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
        sources: "Sequence[_Text | _Parquet]",
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
                f"{_short(sources[0].path)}: there are {self.n_rows} row(s); at least 2 are needed."
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
                f"{_short(self._sources[0].path)}: there are column names but no rows below them."
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

    def _pieces(self, names: Sequence[str]) -> "Iterator[_Piece]":
        for source in self._sources:
            row = 0
            for batch in source.batches(names):
                yield _Piece(
                    batch=batch, path=source.path, names=names, row=row, known=self._read_before
                )
                row += batch.num_rows


def _block(X: Array, ends: Array, first: int) -> Block:
    weights = as_weights(ends[1], len(X)) if len(ends) > 1 else None
    return Block(X=X, y=ends[0], weights=weights, first=first)


@dataclass(frozen=True, kw_only=True)
class _Piece:
    """Some rows of a file, the first of which is number ``row``; ``known`` to be finite or not."""

    batch: Any
    path: Path
    names: Sequence[str]
    row: int
    known: bool

    def __len__(self) -> int:
        return int(self.batch.num_rows)

    def fill(self, out: Array, start: int) -> None:
        """Copy rows from ``start`` on to the columns of an array, as many as it has."""
        float64 = _arrow("pyarrow").float64()
        part = self.batch.slice(start, out.shape[1])
        for values, column in zip(out, part.columns, strict=True):
            numbers = column if column.type == float64 else column.cast(float64, safe=False)
            values[:] = numbers.to_numpy(zero_copy_only=False)
        if self.known:
            return
        with np.errstate(over="ignore", invalid="ignore"):
            finite = np.isfinite(out.sum()) or np.isfinite(out).all()
        if not finite:
            self._refuse(out, start)

    def _refuse(self, out: Array, start: int) -> None:
        bad = ~np.isfinite(out)
        row = int(np.flatnonzero(bad.any(axis=0))[0])
        column = int(np.flatnonzero(bad[:, row])[0])
        what = "missing" if np.isnan(out[column, row]) else "infinite"
        raise InvalidInputError(
            f"{_short(self.path)}: the value in row {self.row + start + row + 1} of column "
            f"{shortened(self.names[column])} is {what}; remove such rows, fill the values in, or "
            "leave the column out."
        )


@dataclass(frozen=True, kw_only=True)
class _Text:
    """A file of separated values, the first ``skipped`` lines of which are the header."""

    path: Path
    layout: Layout
    first_rows: list[list[str]]
    skipped: int
    longest: int
    quoted: bool
    n_rows: None = None

    @classmethod
    def opened(cls, path: Path, head: bytes) -> "_Text":
        layout = sniff(head)
        if layout.separator == WHITE_SPACE:
            raise InvalidInputError(
                "columns are separated by white space, which cannot be read piece by piece; save "
                "the table as CSV or Parquet."
            )
        text = head.decode(layout.encoding, errors="ignore")
        reader = csv.reader(io.StringIO(text, newline=None), delimiter=layout.separator)
        rows = (row for row in reader if any(cell.strip() for cell in row))
        next(rows)
        skipped = reader.line_num
        return cls(
            path=path,
            layout=layout,
            first_rows=[row for row in islice(rows, 25) if len(row) == len(layout.names)],
            skipped=skipped,
            longest=max(map(len, head.splitlines())),
            quoted='"' in text,
        )

    @property
    def names(self) -> tuple[str, ...]:
        return self.layout.names

    @property
    def unfit(self) -> set[str]:
        """Columns without a name, and those with text in the first rows and no number."""
        missing = set(_arrow("pyarrow.csv").ConvertOptions().null_values)
        columns = zip(self.names, zip(*self.first_rows, strict=True), strict=False)
        known = ((name, {cell.strip() for cell in cells} - missing) for name, cells in columns)
        text = {name for name, cells in known if cells and not any(map(self._is_number, cells))}
        return text.union(self.layout.unnamed)

    def _is_number(self, cell: str) -> bool:
        try:
            float(cell.replace(self.layout.decimal, "."))
        except ValueError:
            return False
        return True

    @property
    def likely_rows(self) -> int:
        """How many rows there are if all are as long as the longest one of the first."""
        return max(1, self.path.stat().st_size // max(1, self.longest))

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        """Yield record batches of these columns, in this order."""
        invalid = _arrow("pyarrow").ArrowInvalid
        try:
            yield from self._reader(names, True)
        except invalid as error:
            raise self._explained(names, error) from error

    def _reader(self, names: Sequence[str], use_threads: bool) -> Any:
        arrow, text = _arrow("pyarrow"), _arrow("pyarrow.csv")
        encoding = "utf8" if self.layout.encoding.startswith("utf-8") else self.layout.encoding
        return text.open_csv(
            self.path,
            read_options=text.ReadOptions(
                column_names=list(self.names),
                skip_rows=self.skipped,
                encoding=encoding,
                block_size=max(_PARSED, 3 * self.longest),
                use_threads=use_threads,
            ),
            parse_options=text.ParseOptions(
                delimiter=self.layout.separator, newlines_in_values=self.quoted
            ),
            convert_options=text.ConvertOptions(
                column_types={name: arrow.float64() for name in names},
                include_columns=list(names),
                decimal_point=self.layout.decimal,
            ),
        )

    def _explained(self, names: Sequence[str], error: Exception) -> InvalidInputError:
        """Find the row that could not be read, which is known only without threads."""
        try:
            for _ in self._reader(names, False):
                pass
        except _arrow("pyarrow").ArrowInvalid as found:
            error = found
        place = _short(self.path)
        if match := _NOT_A_NUMBER.search(str(error)):
            column, row = self.names[int(match[1])], int(match[2]) - self.skipped
            return InvalidInputError(
                f"{place}: {shortened(match[3])} in row {row} of column {shortened(column)} is "
                "not a number; correct the file or leave the column out."
            )
        if match := _RAGGED.search(str(error)):
            row = int(match[1]) - self.skipped
            return InvalidInputError(
                f"{place}: row {row} has {match[3]} field(s) instead of {match[2]}."
            )
        return InvalidInputError(f"{place}: the file could not be read: {str(error)[:200]}")


@dataclass(frozen=True)
class _Parquet:
    """A Parquet file, of which only the description has been read."""

    path: Path

    @cached_property
    def metadata(self) -> Any:
        return _arrow("pyarrow.parquet").read_metadata(self.path)

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
        return tuple(self.fields)

    @property
    def unfit(self) -> set[str]:
        """Columns that do not hold numbers."""
        return {name for name, field in self.fields.items() if not _is_numeric(field.type)}

    @property
    def n_rows(self) -> int:
        return int(self.metadata.num_rows)

    @property
    def likely_rows(self) -> int:
        return self.n_rows

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        """Yield record batches of these columns, in this order."""
        for name in self.unfit.intersection(names):
            raise InvalidInputError(
                f"{_short(self.path)}: column {shortened(name)} is not numeric but "
                f"{self.fields[name].type}; leave it out."
            )
        columns = [self.fields[name].name for name in names]
        # Without a buffer the reader holds whole row groups, which may be the whole file.
        with _arrow("pyarrow.parquet").ParquetFile(
            self.path, metadata=self.metadata, pre_buffer=False, buffer_size=_BUFFER
        ) as file:
            for batch in file.iter_batches(_BATCH, columns=columns):
                yield batch.select(columns)


def _is_numeric(kind: Any) -> bool:
    types = _arrow("pyarrow").types
    tests = (types.is_floating, types.is_integer, types.is_boolean, types.is_decimal)
    return any(test(kind) for test in tests)


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    files = sorted(
        file for file in path.iterdir() if file.is_file() and not file.name.startswith((".", "_"))
    )
    if not files:
        raise InvalidInputError(f"{_short(path)}: there is no file in this folder.")
    return files


def _source(path: Path) -> _Text | _Parquet:
    arrow = _arrow("pyarrow")
    try:
        head = _head(path)
        for start, what in _REFUSED.items():
            if head.startswith(start):
                raise InvalidInputError(f"the file is {what}")
        if head.startswith(_ZIP):
            raise InvalidInputError(
                "an Excel file or zip archive cannot be read piece by piece; save the table as "
                "CSV or Parquet."
            )
        if not head.startswith(_PARQUET):
            return _Text.opened(path, head)
        source = _Parquet(path)
        _ = source.fields
    except InvalidInputError as error:
        raise InvalidInputError(f"{_short(path)}: {error}") from error
    except (OSError, arrow.ArrowException) as error:
        reason = getattr(error, "strerror", None) or str(error)[:200]
        raise InvalidInputError(f"{_short(path)}: the file could not be read: {reason}.") from error
    return source


def _head(path: Path) -> bytes:
    """Return the first lines of a file, complete ones if it is text."""
    with path.open("rb") as file:
        head = file.read(_HEAD)
        if head.startswith(_PARQUET):
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


def _with_one_decimal_mark(sources: list[_Text | _Parquet]) -> list[_Text | _Parquet]:
    """Read a decimal comma in all files if it shows in the first lines of one."""
    layouts = [source.layout for source in sources if isinstance(source, _Text)]
    if not any(layout.decimal == "," for layout in layouts):
        return sources
    return [
        replace(source, layout=replace(source.layout, decimal=","))
        if isinstance(source, _Text) and source.layout.separator != ","
        else source
        for source in sources
    ]


def _require_same_columns(first: _Text | _Parquet, other: _Text | _Parquet) -> None:
    missing = [name for name in first.names if name not in set(other.names)]
    added = [name for name in other.names if name not in set(first.names)]
    for names, what in ((missing, "lacks"), (added, "has the additional")):
        if names:
            raise InvalidInputError(
                f"{_short(other.path)} {what} column {shortened(names[0])}, unlike "
                f"{_short(first.path)}; all files must have the same columns."
            )


def _short(path: Path) -> str:
    return shortened_path(str(path))


def _arrow(module: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtraError("pyarrow", "large", "Reading files piece by piece") from error
