"""A table as it was read from a file: names, numbers, and what is neither."""

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from plsdof._validation import Array
from plsdof.columns import shortened
from plsdof.errors import InvalidInputError, MissingExtraError
from plsdof.sniffing import other_mark

# A point between thousands, turned into a comma, makes the text no number.
_COMMA_TO_POINT = str.maketrans(",.", ".,")


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
    """

    source: str
    frame: Any
    names: tuple[str, ...]
    described: str
    decimal: str = "."
    declared_text: frozenset[str] = frozenset()
    left_out: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.frame)

    @cached_property
    def numeric(self) -> frozenset[str]:
        """Columns that were read as numbers throughout."""
        dtypes = zip(self.names, self.frame.dtypes, strict=True)
        return frozenset(name for name, dtype in dtypes if _is_numeric(dtype))

    def is_text(self, name: str) -> bool:
        """Whether a column has values and none of them is a number, by either decimal mark."""
        if name in self.numeric or name in self.declared_text:
            return name in self.declared_text
        column = self.frame[name]
        known = column.notna()
        if not known.any():
            return False
        return not any((_as_numbers(column, mark)[known].notna()).any() for mark in ".,")

    def example(self, name: str) -> str:
        """Return the first value of a column, for a message."""
        values = self.frame[name].dropna()
        return shortened(str(values.iloc[0])) if len(values) else "nothing"

    def numbers(self, names: tuple[str, ...]) -> Array:
        """Return some columns as an array, nan where a value is missing. Shape (rows, columns)."""
        chosen = self.frame[list(names)]
        if not self.numeric.issuperset(names):
            pandas = require_pandas()
            chosen = pandas.DataFrame({name: self._converted(name) for name in names})
        # Missing values of nullable columns (Parquet) become nan as well.
        return np.ascontiguousarray(chosen.to_numpy(dtype=np.float64, na_value=np.nan))

    def with_names(self, X: Array, names: tuple[str, ...]) -> Any:
        """Return an array as a data frame with the names of its columns (no copy)."""
        return require_pandas().DataFrame(X, columns=list(names), copy=False)

    def _converted(self, name: str) -> Any:
        column = self.frame[name]
        if name in self.numeric:
            return column
        if name in self.declared_text:
            raise InvalidInputError(
                f"column {shortened(name)} is not numeric but text, such as {self.example(name)}; "
                "leave it out, or store it as numbers."
            )
        numbers = _as_numbers(column, self.decimal)
        wrong = np.flatnonzero((column.notna() & numbers.isna()).to_numpy())
        if len(wrong):
            value = str(column.iloc[wrong[0]])
            advice = other_mark(value, self.decimal) or "Correct the file or leave the column out."
            raise InvalidInputError(
                f"column {shortened(name)} is not numeric: {len(wrong)} of {len(column)} values "
                f"cannot be read as numbers, the first one is {shortened(value)} in row "
                f"{wrong[0] + 1}. {advice}"
            )
        return numbers


def without_unnamed(table: Table, unnamed: tuple[str, ...], row_names: str = "") -> Table:
    """Leave out columns without a name that are empty, or hold row numbers or row names."""
    gone = tuple(name for name in unnamed if name == row_names or _is_margin(table, name))
    if not gone:
        return table
    names = tuple(name for name in table.names if name not in gone)
    return replace(table, frame=table.frame[list(names)], names=names, left_out=gone)


def _is_margin(table: Table, name: str) -> bool:
    column = table.frame[name]
    if column.isna().all():
        return True
    if name != table.names[0]:
        return False
    return table.is_text(name) or (name in table.numeric and _counts_rows(column))


def _counts_rows(column: Any) -> bool:
    """Whether whole numbers increase from row to row, as numbers of rows do, even with gaps."""
    if column.isna().any():
        return False
    values: npt.NDArray[Any] = column.to_numpy(dtype=np.float64)
    return bool(np.all(values % 1.0 == 0.0) and np.all(np.diff(values) > 0.0))


def _is_numeric(dtype: Any) -> bool:
    return bool(require_pandas().api.types.is_numeric_dtype(dtype)) and dtype.kind != "c"


def _as_numbers(column: Any, decimal: str) -> Any:
    """Convert what looks like a number; dates and time spans do not."""
    pandas = require_pandas()
    if column.dtype.kind in "mM":
        return pandas.Series(np.nan, index=column.index)
    plain = column.astype("object").map(partial(_plain, decimal=decimal))
    return pandas.to_numeric(plain, errors="coerce")


def _plain(value: Any, decimal: str) -> Any:
    """Return a number, or a text with a decimal point; it is no number with another mark."""
    if isinstance(value, str):
        return value if decimal == "." else value.translate(_COMMA_TO_POINT)
    if isinstance(value, bool | np.bool_):
        return float(value)
    return value if isinstance(value, int | float | np.number) else str(value)


def require_pandas() -> Any:
    """Return pandas, or say how to install it."""
    try:
        import pandas
    except ImportError as error:
        raise MissingExtraError("pandas", "files", "Reading tables") from error
    return pandas
