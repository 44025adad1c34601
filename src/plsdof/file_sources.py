"""Text and Parquet files as sources of rows: how they are written, and reading them in batches."""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from plsdof._validation import Array
from plsdof.columns import shortened
from plsdof.errors import InvalidInputError, MissingExtraError
from plsdof.sniffing import WHITE_SPACE, Layout, column_names, sniff
from plsdof.tables import PARQUET, REFUSED, ZIP, shortened_path

# Bytes of a text file that show how it is written; more only if its lines are longer.
_HEAD = 1 << 20

_LONGEST_LINE = 1 << 26

# Bytes of text that are parsed at a time.
_PARSED = 1 << 20

# Rows that are taken from Parquet at a time.
_BATCH = 4096

# Bytes of a Parquet file that are read ahead in every column.
_BUFFER = 1 << 14

_NOT_A_NUMBER = re.compile(r"column #(\d+): Row #(\d+): .*invalid value '(.*)'", re.DOTALL)

_RAGGED = re.compile(r"Row #(\d+): Expected (\d+) columns, got (\d+)")


@dataclass(frozen=True, kw_only=True)
class Piece:
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
            f"{short(self.path)}: the value in row {self.row + start + row + 1} of column "
            f"{shortened(self.names[column])} is {what}; remove such rows, fill the values in, or "
            "leave the column out."
        )


@dataclass(frozen=True, kw_only=True)
class Text:
    """A file of separated values, the first ``skipped`` lines of which are the header."""

    path: Path
    layout: Layout
    first_rows: list[list[str]]
    skipped: int
    longest: int
    quoted: bool
    n_rows: None = None

    @classmethod
    def opened(cls, path: Path, head: bytes) -> "Text":
        """Find out from its first bytes how a file is written."""
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
        """Names of the columns."""
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
        place = short(self.path)
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
class Parquet:
    """A Parquet file, of which only the description has been read."""

    path: Path

    @cached_property
    def metadata(self) -> Any:
        """What the end of the file says about it."""
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
        """Names of the columns."""
        return tuple(self.fields)

    @property
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

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        """Yield record batches of these columns, in this order."""
        for name in self.unfit.intersection(names):
            raise InvalidInputError(
                f"{short(self.path)}: column {shortened(name)} is not numeric but "
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


def files_in(path: Path) -> list[Path]:
    """Return a file, or the tables in a folder in the order of their names."""
    if not path.is_dir():
        return [path]
    files = sorted(
        file for file in path.iterdir() if file.is_file() and not file.name.startswith((".", "_"))
    )
    if not files:
        raise InvalidInputError(f"{short(path)}: there is no file in this folder.")
    return files


def open_source(path: Path) -> Text | Parquet:
    """Find out what kind of table a file is."""
    arrow = _arrow("pyarrow")
    try:
        head = _head(path)
        for start, what in REFUSED.items():
            if head.startswith(start):
                raise InvalidInputError(f"the file is {what}")
        if head.startswith(ZIP):
            raise InvalidInputError(
                "an Excel file or zip archive cannot be read piece by piece; save the table as "
                "CSV or Parquet."
            )
        if not head.startswith(PARQUET):
            return Text.opened(path, head)
        source = Parquet(path)
        _ = source.fields
    except InvalidInputError as error:
        raise InvalidInputError(f"{short(path)}: {error}") from error
    except (OSError, arrow.ArrowException) as error:
        reason = getattr(error, "strerror", None) or str(error)[:200]
        raise InvalidInputError(f"{short(path)}: the file could not be read: {reason}.") from error
    return source


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


def with_one_decimal_mark(sources: list[Text | Parquet]) -> list[Text | Parquet]:
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


def require_same_columns(first: Text | Parquet, other: Text | Parquet) -> None:
    """Refuse files with different columns, by name."""
    missing = [name for name in first.names if name not in set(other.names)]
    added = [name for name in other.names if name not in set(first.names)]
    for names, what in ((missing, "lacks"), (added, "has the additional")):
        if names:
            raise InvalidInputError(
                f"{short(other.path)} {what} column {shortened(names[0])}, unlike "
                f"{short(first.path)}; all files must have the same columns."
            )


def short(path: Path) -> str:
    """Return a path for a message."""
    return shortened_path(str(path))


def _arrow(module: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtraError("pyarrow", "large", "Reading files piece by piece") from error
