"""Tables from files: CSV and its relatives, Parquet, Excel; whole, or a folder of them."""

import io
import os
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from plsdof._core.inputs import Array
from plsdof.errors import InvalidInputError, MissingExtraError, PlsdofError
from plsdof.files.columns import find_column, shortened
from plsdof.files.text import (
    Layout,
    column_names,
    first_ragged_line,
    other_mark,
    sniff,
    value_beyond_header,
    with_plain_line_ends,
)

# A table as it was read from a file: names, numbers, and what is neither
# -----------------------------------------------------------------------

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


# Tables from files: CSV and its relatives, Parquet, Excel; always with a reason if it fails
# ------------------------------------------------------------------------------------------

# Files that are recognised by their first bytes, whatever they are called.
PARQUET, ZIP = b"PAR1", b"PK\x03\x04"
REFUSED = {
    b"\xd0\xcf\x11\xe0": "an old Excel file (.xls) or a protected one; save it as .xlsx or CSV.",
    b"\x1f\x8b": "compressed with gzip; decompress it first.",
    b"BZh": "compressed with bzip2; decompress it first.",
    b"\xfd7zXZ": "compressed with xz; decompress it first.",
    b"\x28\xb5\x2f\xfd": "compressed with zstd; decompress it first.",
    b"%PDF": "a PDF document, not a table.",
    b"\x89PNG": "a picture, not a table.",
    b"\x89HDF": "an HDF5 file; save the table as CSV or Parquet.",
}


def read_table(file: str | os.PathLike[str], *, sheet: str | None = None) -> Table:
    r"""Read a table with one line of column names.

    What the file is, its first bytes tell, not its name: Parquet, Excel (.xlsx), or text. For
    text see `files.text.sniff`: separator ``, ; tab |`` or white space, decimal point or
    comma, UTF-8, UTF-16, Latin-1 or Windows-1252. Columns of TRUE and FALSE are read as 1 and 0.

    Parameters
    ----------
    file : path
    sheet : str, optional
        Name of the sheet of an Excel file; the first one by default.

    Returns
    -------
    Table

    Raises
    ------
    InvalidInputError
        With the file and the reason in one line, whatever is wrong with the file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "fat.csv"
    ...     _ = file.write_text("fat;1100;1102\n1,5;0,25;0,5\n")
    ...     table = read_table(file)
    >>> table.names, table.numbers(("fat", "1102")).tolist()
    (('fat', '1100', '1102'), [[1.5, 0.5]])
    """
    source = os.fspath(file)
    content = _content(Path(source))
    try:
        table = _parsed(content, source, sheet)
        if not len(table):
            raise InvalidInputError("there is a header but no row below it.")
    except MissingExtraError:
        raise
    except PlsdofError as error:
        raise InvalidInputError(f"{shortened_path(source)}: {error}") from error
    return table


def shortened_path(source: str) -> str:
    """Return a file name for a message, cut at the front if it is long."""
    return source if len(source) <= 120 else "…" + source[-119:]


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        reason = "it is a folder" if path.is_dir() else (error.strerror or str(error)).lower()
        raise InvalidInputError(
            f"{shortened_path(str(path))}: the file could not be read: {reason}."
        ) from error
    except ValueError as error:  # a NUL byte in the name
        raise InvalidInputError(f"{str(path)!r} is not the name of a file.") from error


def _parsed(content: bytes, source: str, sheet: str | None) -> Table:
    for start, what in REFUSED.items():
        if content.startswith(start):
            raise InvalidInputError(f"the file is {what}")
    if content.startswith(ZIP):
        return _from_excel(content, source, sheet)
    if sheet is not None:
        raise InvalidInputError("a sheet can be chosen in Excel files only; this is none.")
    if content.startswith(PARQUET):
        return _from_parquet(content, source)
    return _from_text(content, source)


def _from_text(content: bytes, source: str) -> Table:
    layout = sniff(content)
    frame = _read_csv(content, layout)
    if len(frame) and frame.iloc[:, -1].isna().any():
        ragged = first_ragged_line(content, layout)
        if ragged:
            raise InvalidInputError(f"{ragged}; every row must have all columns.")
    table = Table(
        source=source,
        frame=frame,
        names=layout.names,
        described=layout.described,
        decimal=layout.decimal,
    )
    _require_empty(table, layout)
    return without_unnamed(table, layout.unnamed, row_names=layout.extra)


def _require_empty(table: Table, layout: Layout) -> None:
    """Refuse values in a last field that the header has no name for."""
    if not layout.extra or layout.extra == layout.names[0]:
        return
    filled = table.frame[layout.extra].notna().to_numpy()
    if filled.any():
        raise InvalidInputError(value_beyond_header(layout, int(filled.argmax()) + 1))


def _read_csv(content: bytes, layout: Layout) -> Any:
    pandas = require_pandas()
    content, encoding = with_plain_line_ends(content, layout.encoding)
    with warnings.catch_warnings():
        # Rows that are longer than the header are an error, not a reason to lose data.
        warnings.simplefilter("error", pandas.errors.ParserWarning)
        try:
            return pandas.read_csv(
                io.BytesIO(content),
                sep=layout.separator,
                decimal=layout.decimal,
                encoding=encoding,
                skiprows=layout.lines_above,
                header=0,
                names=list(layout.names),
                index_col=False,
                engine="c",
                low_memory=False,
                skipinitialspace=True,
                **_exact(pandas),
            )
        except pandas.errors.ParserWarning as error:
            raise InvalidInputError(
                f"rows have more fields than the header, which has {len(layout.names)}."
            ) from error
        except Exception as error:  # whatever a damaged file makes the parser raise
            raise _unreadable(error) from error


def _exact(pandas: Any) -> dict[str, str]:
    """Ask for correctly rounded numbers where that is not the default (pandas before 3.1)."""
    major, minor = map(int, pandas.__version__.split(".")[:2])
    return {"float_precision": "round_trip"} if (major, minor) < (3, 1) else {}


def _from_parquet(content: bytes, source: str) -> Table:
    pandas = require_pandas()
    try:
        frame = pandas.read_parquet(io.BytesIO(content))
    except ImportError as error:
        raise MissingExtraError("pyarrow", "files", "Reading Parquet files") from error
    except Exception as error:  # whatever a damaged file makes the parser raise
        raise _unreadable(error) from error
    names, _ = column_names([_spelled(name) for name in frame.columns])
    frame = frame.reset_index(drop=True).set_axis(list(names), axis=1)
    return Table(
        source=source,
        frame=frame,
        names=names,
        described="Parquet",
        declared_text=frozenset(name for name in names if _is_text(frame[name])),
    )


def _is_text(column: Any) -> bool:
    values = column.cat.categories if hasattr(column, "cat") else column
    return bool(require_pandas().api.types.infer_dtype(values) == "string")


def _from_excel(content: bytes, source: str, sheet: str | None) -> Table:
    pandas = require_pandas()
    _require_workbook(content)
    try:
        with pandas.ExcelFile(io.BytesIO(content), engine="openpyxl") as book:
            names = list(map(str, book.sheet_names))
            chosen = names[0] if sheet is None else find_column(sheet, names, "sheet")
            cells = pandas.read_excel(book, sheet_name=chosen, header=None)
    except ImportError as error:
        raise MissingExtraError("openpyxl", "files", "Reading Excel files") from error
    except PlsdofError:
        raise
    except Exception as error:  # whatever a damaged file makes the parser raise
        raise _unreadable(error) from error
    return _from_cells(cells, source, f"Excel, sheet {shortened(chosen)}")


def _require_workbook(content: bytes) -> None:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            if "xl/workbook.xml" in archive.namelist():
                return
    except (zipfile.BadZipFile, NotImplementedError, ValueError) as error:
        raise InvalidInputError("the file is a damaged Excel file or zip archive.") from error
    raise InvalidInputError(
        "the file is a zip archive without an Excel workbook; unpack it, or save the table as "
        ".xlsx or CSV."
    )


def _from_cells(cells: Any, source: str, described: str) -> Table:
    """Make a table of cells whose first row holds the names (pandas would rename repeated ones)."""
    if not len(cells):
        raise InvalidInputError("the sheet is empty.")
    header = [
        "" if missing else name
        for name, missing in zip(map(_spelled, cells.iloc[0]), cells.iloc[0].isna(), strict=True)
    ]
    names, unnamed = column_names(header)
    body = cells.iloc[1:].dropna(how="all").reset_index(drop=True).infer_objects()
    table = Table(
        source=source,
        frame=body.set_axis(list(names), axis=1),
        names=names,
        described=described,
    )
    return without_unnamed(table, unnamed)


def _spelled(name: Any) -> str:
    """Spell a column name that is a number (Excel) without a needless .0."""
    return f"{name:.0f}" if isinstance(name, float) and name.is_integer() else str(name)


def _unreadable(error: Exception) -> InvalidInputError:
    reason = " ".join(str(error).split()).removeprefix("Error tokenizing data. C error: ")
    return InvalidInputError(f"the file could not be read: {reason[:200] or type(error).__name__}.")


# A folder of files as one table: which files, and the same columns in all of them
# --------------------------------------------------------------------------------


def files_in(path: Path) -> list[Path]:
    """Return a file, or the files of a folder in the order of their names, without hidden ones.

    Names that start with an underscore are those of remarks that other programs leave behind.
    """
    if not path.is_dir():
        return [path]
    try:
        files = sorted(
            file for file in path.iterdir() if file.is_file() and file.name[0] not in "._"
        )
    except OSError as error:
        raise InvalidInputError(
            f"{shortened_path(str(path))}: the folder could not be read: {error.strerror}."
        ) from error
    if not files:
        raise InvalidInputError(
            f"{shortened_path(str(path))}: there is no file in this folder; give one that holds "
            "CSV or Parquet files, or a file."
        )
    return files


@contextmanager
def all_files_belong(path: Path) -> Iterator[None]:
    """Add to errors about a file of a folder what to do with files that are no part of it."""
    try:
        yield
    except InvalidInputError as error:
        if not path.is_dir():
            raise
        raise InvalidInputError(
            f"{error} All files of a folder are read; move what does not belong to the table "
            "elsewhere, or let its name begin with '_'."
        ) from error


def require_same_columns(
    first: str, names: Sequence[str], other: str, other_names: Sequence[str]
) -> None:
    """Refuse two files with different columns, by name."""
    missing = [name for name in names if name not in set(other_names)]
    added = [name for name in other_names if name not in set(names)]
    for different, what in ((missing, "lacks"), (added, "has the additional")):
        if different:
            raise InvalidInputError(
                f"{shortened_path(other)} {what} column {shortened(different[0])}, unlike "
                f"{shortened_path(first)}; all files must have the same columns."
            )


def read_folder(folder: str | os.PathLike[str], *, sheet: str | None = None) -> Table:
    r"""Read all files of a folder into memory and put their rows below each other.

    All files must have the same columns, in any order.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for day in ("monday", "tuesday"):
    ...         _ = (Path(folder) / f"{day}.csv").write_text("x,y\n1,2\n3,4\n")
    ...     len(read_folder(folder).frame)
    4
    """
    path = Path(folder)
    files = files_in(path)
    with all_files_belong(path):
        tables = [read_table(file, sheet=sheet) for file in files]
        first = tables[0]
        for other in tables[1:]:
            require_same_columns(first.source, first.names, other.source, other.names)
    import pandas  # read_table said what to install, if it is not there

    frames = [table.frame[list(first.names)] for table in tables]
    return replace(
        first,
        source=os.fspath(folder),
        frame=pandas.concat(frames, ignore_index=True),
        described=f"{len(tables)} file(s), the first one: {first.described}",
    )
