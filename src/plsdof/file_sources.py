"""Text and Parquet files, or folders of them, as sources of rows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from plsdof.arrow_tables import arrow_module, short
from plsdof.columns import shortened
from plsdof.errors import InvalidInputError
from plsdof.folders import all_files_belong, files_in, require_same_columns
from plsdof.sniffing import column_names
from plsdof.tables import PARQUET, REFUSED, ZIP
from plsdof.text_files import Text

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
        with arrow_module("pyarrow.parquet").ParquetFile(
            self.path, metadata=self.metadata, pre_buffer=False, buffer_size=_BUFFER
        ) as file:
            for batch in file.iter_batches(_BATCH, columns=columns):
                yield batch.select(columns)


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
    arrow = arrow_module("pyarrow")
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
