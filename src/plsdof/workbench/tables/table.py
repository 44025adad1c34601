"""A table, or a batch of its rows: names, numbers, what is neither, and what was guessed."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from plsdof._core.inputs import Array
from plsdof._core.remarks import Remark
from plsdof._core.threads import cached_property
from plsdof.errors import InvalidInputError
from plsdof.workbench.tables import numbers as written
from plsdof.workbench.tables.columns import listed, shortened, shortened_path
from plsdof.workbench.tables.text import require_pandas

# A table as it was read from a file: names, numbers, and what is neither
# -----------------------------------------------------------------------

# Below or above a limit of detection.
_LIMITED = re.compile(r"[<>≤≥] ?[\d.,]+.*")
# What spreadsheets call rows that sum up those above.
SUMMARY = re.compile(
    r"(mean|average|avg|median|s\.?d|std\.?( ?dev)?|st(d|andard)? ?dev(iation)?|rsd|c\.?v|"
    r"min(imum)?|max(imum)?|sum|total|count|n|mittelwert|summe|moyenne|media|promedio)"
    r"( value)?[.:]*",
    re.IGNORECASE,
)
_INFINITE = "infinite, or too large for a number; correct the file, or drop such rows."
_MISSING = "missing; drop such rows, fill the values in, or leave the column out."
# What was recognised in a file: words, or a remark that says what to do about it.
Note = str | Remark


@dataclass(frozen=True, kw_only=True, eq=False)
class Table:
    """A table read from a file.

    Attributes
    ----------
    source : str
        Name of the file as given.
    frame : pandas.DataFrame
        One column per entry of ``names``.
    names : tuple of str
    described : str
        How it was read, in words.
    decimal : str
        Decimal mark of numbers that are written as text.
    declared_text : frozenset of str
        Columns that the file says are text, even if it looks like numbers.
    left_out : tuple of str
        Columns that were left out because they are empty and have no name, or number the rows.
    notes : tuple of str or Remark
        What was recognised in the file: titles, units, cells beside the table.
    sheets : tuple of str
        Other sheets of the file.
    na : frozenset of float
        Numbers that stand for a missing value.
    row_names : tuple of str
        Texts of a first column without a name, which was left out; empty if there is none.
    blank : tuple of int
        Rows without any value, which were left out, by their numbers.
    percent : dict of bool
        Columns that a sheet shows as percent, but stores as fractions; whether it does in all rows.
    counts : tuple of int
        How many rows of the file each row is the mean of; empty if they were not averaged.
    first_row : int
        Number of the first row in the file; more than 1 in later batches.
    """

    source: str
    frame: Any
    names: tuple[str, ...]
    described: str
    decimal: str = "."
    declared_text: frozenset[str] = frozenset()
    left_out: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()
    sheets: tuple[str, ...] = ()
    na: frozenset[float] = frozenset()
    row_names: tuple[str, ...] = ()
    blank: tuple[int, ...] = ()
    percent: Mapping[str, bool] = field(default_factory=dict)
    counts: tuple[int, ...] = ()
    first_row: int = 1

    def __len__(self) -> int:
        return len(self.frame)

    @cached_property
    def row_numbers(self) -> npt.NDArray[np.intp]:
        """Numbers of the rows in the file: 1 is the first one below the names, blank ones count."""
        rows = np.arange(len(self) + len(self.blank)) + self.first_row
        return np.setdiff1d(rows, self.blank)

    def select(self, names: Sequence[str]) -> "Table":
        """Return the table with these columns; all of them without any."""
        if not names or tuple(names) == self.names:
            return self
        return replace(self, frame=self.frame[list(names)], names=tuple(names))

    @cached_property
    def numeric(self) -> frozenset[str]:
        """Columns that were read as numbers throughout."""
        is_numeric = require_pandas().api.types.is_numeric_dtype
        dtypes = zip(self.names, self.frame.dtypes, strict=True)
        return frozenset(name for name, one in dtypes if is_numeric(one) and one.kind != "c")

    def is_text(self, name: str) -> bool:
        """Whether a column has values and none of them is a number, by either decimal mark."""
        if name in self.numeric or name in self.declared_text:
            return name in self.declared_text
        values = self.frame[name].dropna().tolist()
        return len(values) > 0 and all(
            np.isnan(written.as_numbers(values, one)[0]).all() for one in ".,"
        )

    def example(self, name: str) -> str:
        """Return the first value of a column, for a message; nothing where there is none."""
        values = self.frame[name].dropna()
        return f" (such as {shortened(str(values.iloc[0]))})" if len(values) else ""

    def numbers(self, names: tuple[str, ...], *, gaps: bool = True) -> Array:
        """Return some columns as an array, nan where a value is missing. Shape (rows, columns).

        Missing values are refused unless there may be ``gaps``.
        """
        if self.numeric.issuperset(names):
            chosen = self.frame[list(names)].to_numpy(dtype=np.float64, na_value=np.nan)
            found = np.array(chosen, order="C", copy=bool(self.na) or None)
        else:
            found = np.column_stack([self._converted(name) for name in names])
        if self.na:
            found[np.isin(found, list(self.na))] = np.nan
        for wrong, what, codes in (
            (np.isinf(found), _INFINITE, ["inf"]),
            (np.zeros(0) if gaps else np.isnan(found), _MISSING, []),
        ):
            if wrong.any():
                place, column = np.argwhere(wrong)[0].tolist()
                where = f"row {self.row_numbers[place]} of column {shortened(names[column])}"
                raise InvalidInputError(f"the value in {where} is {what}", mend=_dropped(*codes))
        return found

    def readable(self, name: str) -> tuple[Array, dict[int, str]]:
        """Return a column with nan where a value cannot be read, and these values by their rows."""
        column, found = self.frame[name], self._read(name)[0]
        wrong = np.isinf(found) | (np.isnan(found) & column.notna().to_numpy(dtype=bool))
        found[wrong | np.isin(found, list(self.na))] = np.nan
        places = np.flatnonzero(wrong).tolist()
        return found, {int(self.row_numbers[i]): str(column.iloc[i]) for i in places}

    def _read(self, name: str) -> tuple[Array, str]:
        """Return a column as numbers, nan where it has none, and their unit."""
        column = self.frame[name]
        if name in self.numeric:
            return np.array(column.to_numpy(dtype=np.float64, na_value=np.nan)), ""
        return written.as_numbers(column.tolist(), self.decimal)

    def unit(self, name: str) -> str:
        """Return the unit that numbers of a column are written with, all of them or some; or ""."""
        if name in self.numeric or name in self.declared_text:
            return ""
        unit, known = self._read(name)[1], self.frame[name].dropna().map(str)
        is_whole = known.map(lambda value: value.rstrip().endswith(unit)).all()
        return unit if is_whole else f"{unit}, in some values"

    def grouped(self, name: str) -> str:
        """Return the first number of a column that is read without marks in it, or ""."""
        if name in self.numeric or name in self.declared_text:
            return ""
        known = self.frame[name][~np.isnan(self._read(name)[0])].map(str)
        marks = re.compile(rf"\d[^\w{self.decimal}+-]\d")
        return next((shortened(one) for one in known if marks.search(one)), "")

    def with_names(self, X: Array, names: tuple[str, ...]) -> Any:
        """Return an array as a data frame with the names of its columns (no copy)."""
        return require_pandas().DataFrame(X, columns=list(names), copy=False)

    def _converted(self, name: str) -> Array:
        if name in self.declared_text:
            raise InvalidInputError(
                f"column {shortened(name)} is not numeric but text{self.example(name)}; "
                "leave it out, or store it as numbers.",
                mend={"exclude": [name]},
            )
        column, (numbers, unit) = self.frame[name], self._read(name)
        wrong = np.flatnonzero(column.notna().to_numpy() & np.isnan(numbers))
        if len(wrong):
            value = str(column.iloc[wrong[0]])
            advice, mend = written.other_mark(value, self.decimal), dict[str, Any]()
            if not advice:
                advice, mend = _advice(value, name, len(wrong) == len(column))
            if unit:
                advice = f"Others have the unit {unit!r}. {advice}"
            raise InvalidInputError(
                f"column {shortened(name)} is not numeric: {len(wrong)} of {len(column)} values "
                f"cannot be read as numbers, the first one is {shortened(value)} in row "
                f"{self.row_numbers[wrong[0]]}. {advice}",
                mend=mend,
            )
        return numbers


def _dropped(*codes: str) -> dict[str, Any]:
    """Return what drops the rows with a missing value, or with a text that stands for one."""
    return ({"na": list(codes)} if codes else {}) | {"missing": "drop"}


def _advice(value: str, name: str, always: bool) -> tuple[str, dict[str, Any]]:
    """Say what to do about a value that is not a number, the first one of some or of all."""
    if SUMMARY.fullmatch(written.tidy(value)):
        words = "That row looks like a summary, not a sample: delete it, or leave it out."
        return words, _dropped(value)
    if _LIMITED.fullmatch(written.tidy(value)):
        words = (
            "It is beyond what could be measured: write a number, such as half the limit of "
            "detection, or drop such rows."
        )
        return words, _dropped(value)
    if always:
        return "Leave the column out.", {"exclude": [name]}
    words = "Correct the file or leave the column out, unless it stands for a missing value."
    return words, {"na": [value]}


def margins(table: Table, unnamed: Sequence[str]) -> tuple[str, ...]:
    """Return the columns without a name that are empty, or hold row numbers or row names."""
    return tuple(name for name in unnamed if _is_margin(table, name))


def without(table: Table, margin: tuple[str, ...]) -> Table:
    """Leave columns without a name out; texts of the first one name the rows."""
    if not margin:
        return table
    names = tuple(name for name in table.names if name not in margin)
    first = table.names[0]
    texts: tuple[str, ...] = ()
    if first in margin and table.is_text(first):
        texts = tuple(written.tidy(str(one)) for one in table.frame[first].fillna(""))
    return replace(table.select(names), left_out=margin, row_names=texts)


def _is_margin(table: Table, name: str) -> bool:
    column = table.frame[name]
    if column.isna().all():
        return True
    if name != table.names[0] or name not in table.numeric:
        return name == table.names[0] and table.is_text(name)
    # Whole numbers that increase from row to row number the rows, even with gaps.
    values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    return bool(np.all(values % 1.0 == 0.0) and np.all(np.diff(values) > 0.0))


def blank_notes(rows: Sequence[int]) -> tuple[str, ...]:
    """Say which rows of a file are blank."""
    if not rows:
        return ()
    return (f"Left out, but numbered: blank row{'s' * (len(rows) > 1)} {listed(rows)}.",)


def require_empty(column: Any, first_row: int = 1) -> None:
    """Refuse a value in a column without a name that is empty in the first rows."""
    for place in np.flatnonzero(column.notna().to_numpy())[:1]:
        raise InvalidInputError(
            f"{shortened(spelled(column.iloc[place]))} in row {first_row + place} of column "
            f"{shortened(column.name)} is the first value of a column without a name; give it one."
        )


def spelled(name: Any) -> str:
    """Spell a column name that is a number (Excel) without a needless .0."""
    return f"{name:.0f}" if isinstance(name, float) and name.is_integer() else str(name)


# Files of a folder are mostly alike, and so is what there is to say of them.
_NOTES_OF_OTHERS = 3


def require_same_columns(files: Sequence[tuple[str, Sequence[str]]]) -> None:
    """Refuse files with different columns; each is given by its name and those of its columns."""
    (first, names), *others = files
    for other, other_names in others:
        missing = [name for name in names if name not in set(other_names)]
        added = [name for name in other_names if name not in set(names)]
        for different, what in ((missing, "lacks"), (added, "has the additional")):
            if different:
                raise InvalidInputError(
                    f"{shortened_path(other)} {what} column {shortened(different[0])}, unlike "
                    f"{shortened_path(first)}; all files must have the same columns. Of a folder "
                    "all files are read, but for names that begin with '_' or '.'."
                )


def notes_of_files(notes: Sequence[tuple[str, Sequence[Note]]]) -> tuple[Note, ...]:
    """Return what was recognised in the first of some files, and in others, with their names."""
    (_, first), *others = notes
    found = [f"{name}: {note}" for name, those in others for note in those if note not in first]
    if len(found) > _NOTES_OF_OTHERS:
        more = f"{len(found) - _NOTES_OF_OTHERS} more notes on other files."
        found = [*found[:_NOTES_OF_OTHERS], more]
    return (*first, *found)


def stacked(tables: Sequence[Table], source: str) -> Table:
    """Put the rows of tables below each other; they must have the same columns.

    Rows are counted through all of them; blank ones, too, if the tables are batches of one.
    """
    require_same_columns([(one.source, one.names) for one in tables])
    first, blank = tables[0], list[int]()
    if len(tables) == 1 or tables[-1].first_row > 1:  # batches of one table
        last = max((int(row) for one in tables for row in one.row_numbers[-1:]), default=0)
        blank = [row for table in tables for row in table.blank if row < last]
    notes = [
        (Path(table.source).name, [n for n in table.notes if n not in blank_notes(table.blank)])
        for table in tables
    ]
    frames = [table.frame[list(first.names)] for table in tables]
    return replace(
        first,
        source=source,
        frame=require_pandas().concat(frames, ignore_index=True),
        row_names=tuple(one for table in tables for one in table.row_names),
        blank=tuple(blank),
        notes=(*notes_of_files(notes), *blank_notes(blank)),
        # A decimal comma in one of them is one in all.
        decimal="," if any(table.decimal == "," for table in tables) else ".",
    )


class _LocatedError(InvalidInputError):
    """An error whose message begins with a file."""


@contextmanager
def located(source: str | Path) -> Iterator[None]:
    """Begin the messages of errors with a file, unless they begin with one already."""
    try:
        yield
    except _LocatedError:
        raise
    except InvalidInputError as error:
        message, file = str(error), shortened_path(str(source))
        words = message if file in message else f"{file}: {message}"
        raise _LocatedError(words, mend=error.mend) from error
