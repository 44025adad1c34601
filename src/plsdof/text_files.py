"""Files of separated values as sources of rows: how they are written, and reading in batches."""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from plsdof.arrow_tables import arrow_module, short
from plsdof.columns import shortened
from plsdof.errors import InvalidInputError
from plsdof.sniffing import (
    WHITE_SPACE,
    Layout,
    are_row_names,
    looks_numeric,
    number_rows,
    other_mark,
    sniff,
    value_beyond_header,
)

# Bytes of text that are parsed at a time.
_PARSED = 1 << 20

# Words that pandas understands, so that a table is the same whichever way it is read.
_TRUE, _FALSE = frozenset({"True", "TRUE", "true"}), frozenset({"False", "FALSE", "false"})
_MISSING = frozenset(
    {"", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN"}
    | {"<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"}
)

_NOT_A_NUMBER = re.compile(r"column #(\d+): Row #(\d+): .*invalid value '(.*)'", re.DOTALL)

_RAGGED = re.compile(r"Row #(\d+): Expected (\d+) columns, got (\d+)")


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
        lines = islice(io.StringIO(text, newline=None), layout.lines_above, None)
        reader = csv.reader(lines, delimiter=layout.separator)
        rows = (row for row in reader if any(cell.strip() for cell in row))
        next(rows)
        skipped = layout.lines_above + reader.line_num
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

    @cached_property
    def _first_values(self) -> dict[str, set[str]]:
        """What is in the columns in the first rows, missing values aside."""
        columns = zip(*self.first_rows, strict=True) if self.first_rows else ((),) * len(self.names)
        return {
            name: {cell.strip() for cell in cells} - _MISSING
            for name, cells in zip(self.names, columns, strict=True)
        }

    @property
    def unfit(self) -> set[str]:
        """Columns with text in the first rows and no number, and what `without_unnamed` drops."""
        text = {
            name
            for name, cells in self._first_values.items()
            if cells and not cells <= _TRUE | _FALSE and not any(map(looks_numeric, cells))
        }
        return text.union(self._nameless, self._row_names)

    @property
    def _nameless(self) -> list[str]:
        """Columns without a name that are empty in the first rows."""
        return [name for name in self.layout.unnamed if not self._first_values[name]]

    @property
    def _row_names(self) -> set[str]:
        first = self.names[0]
        if first not in self.layout.unnamed:
            return set()
        cells = [row[0] for row in self.first_rows]
        is_name = first == self.layout.extra or are_row_names(cells) or number_rows(cells)
        return {first} if is_name else set()

    @property
    def likely_rows(self) -> int:
        """How many rows there are if all are as long as the longest one of the first."""
        return max(1, self.path.stat().st_size // max(1, self.longest))

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        """Yield record batches of these columns, in this order."""
        invalid = arrow_module("pyarrow").ArrowInvalid
        try:
            for batch in self._reader(names, True):
                yield batch.select(list(names))
        except invalid as error:
            raise self._explained(names, error) from error

    def _reader(self, names: Sequence[str], use_threads: bool) -> Any:
        arrow, text = arrow_module("pyarrow"), arrow_module("pyarrow.csv")
        is_logical = {
            name: len(v) > 0 and v <= _TRUE | _FALSE for name, v in self._first_values.items()
        }
        types = {name: arrow.bool_() if is_logical[name] else arrow.float64() for name in names}
        # A value that turns up in a column without a name must not get lost.
        types |= {name: arrow.null() for name in self._nameless}
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
                column_types=types,
                include_columns=list(types),
                decimal_point=self.layout.decimal,
                null_values=_with_blank(_MISSING),
                true_values=_with_blank(_TRUE),
                false_values=_with_blank(_FALSE),
            ),
        )

    def _explained(self, names: Sequence[str], error: Exception) -> InvalidInputError:
        """Find the row that could not be read, which is known only without threads."""
        try:
            for _ in self._reader(names, False):
                pass
        except arrow_module("pyarrow").ArrowInvalid as found:
            error = found
        place = short(self.path)
        if match := _NOT_A_NUMBER.search(str(error)):
            column, row = self.names[int(match[1])], int(match[2]) - self.skipped
            return InvalidInputError(f"{place}: {self._wrong_value(match[3], row, column)}")
        if match := _RAGGED.search(str(error)):
            row = int(match[1]) - self.skipped
            return InvalidInputError(
                f"{place}: row {row} has {match[3]} field(s) instead of {match[2]}."
            )
        return InvalidInputError(f"{place}: the file could not be read: {str(error)[:200]}")

    def _wrong_value(self, value: str, row: int, column: str) -> str:
        if column == self.layout.extra:
            return value_beyond_header(self.layout, row)
        where = f"{shortened(value)} in row {row} of column {shortened(column)} is"
        if column in self._nameless:
            return f"{where} the first value of a column without a name; give it one."
        advice = other_mark(value, self.layout.decimal)
        return f"{where} not a number. {advice or 'Correct the file or leave the column out.'}"


def _with_blank(words: Iterable[str]) -> list[str]:
    """Return words and the same after a blank, which may follow a separator."""
    return [blank + word for word in words for blank in ("", " ")]
