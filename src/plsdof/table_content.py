"""A table as it was read from a file: names, numbers, and what is neither."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from plsdof._validation import Array
from plsdof.columns import shortened
from plsdof.errors import InvalidInputError, MissingExtraError


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
    left_out : tuple of str
        Columns that were left out because they are empty and have no name, or number the rows.
    """

    source: str
    frame: Any
    names: tuple[str, ...]
    described: str
    left_out: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.frame)

    @cached_property
    def numeric(self) -> frozenset[str]:
        """Columns that were read as numbers throughout."""
        dtypes = zip(self.names, self.frame.dtypes, strict=True)
        return frozenset(name for name, dtype in dtypes if _is_numeric(dtype))

    def is_text(self, name: str) -> bool:
        """Whether a column has values and none of them is a number."""
        if name in self.numeric:
            return False
        column = self.frame[name]
        known = column.notna()
        return bool(known.any() and not (_as_numbers(column)[known].notna()).any())

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
        numbers = _as_numbers(column)
        wrong = np.flatnonzero((column.notna() & numbers.isna()).to_numpy())
        if len(wrong):
            value = shortened(str(column.iloc[wrong[0]]))
            raise InvalidInputError(
                f"column {shortened(name)} is not numeric: {len(wrong)} of {len(column)} values "
                f"cannot be read as numbers, the first one is {value} in row {wrong[0] + 1}. "
                "Correct the file or leave the column out."
            )
        return numbers


def without_unnamed(table: Table, unnamed: tuple[str, ...]) -> Table:
    """Leave out columns without a name that are empty, or hold row numbers or row names."""
    gone = tuple(name for name in unnamed if _is_margin(table, name))
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
    if column.isna().any():
        return False
    values: npt.NDArray[Any] = column.to_numpy(dtype=np.float64)
    return bool(values[0] in (0.0, 1.0) and np.all(np.diff(values) == 1.0))


def _is_numeric(dtype: Any) -> bool:
    return bool(require_pandas().api.types.is_numeric_dtype(dtype)) and dtype.kind != "c"


def _as_numbers(column: Any) -> Any:
    """Convert what looks like a number; dates and time spans do not."""
    pandas = require_pandas()
    if column.dtype.kind in "mM":
        return pandas.Series(np.nan, index=column.index)
    return pandas.to_numeric(column.astype("object").map(_undated), errors="coerce")


def _undated(value: Any) -> Any:
    return value if isinstance(value, str | int | float | np.number) else str(value)


def require_pandas() -> Any:
    """Return pandas, or say how to install it."""
    try:
        import pandas
    except ImportError as error:
        raise MissingExtraError("pandas", "files", "Reading tables") from error
    return pandas
