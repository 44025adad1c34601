"""Tables from files: CSV and its relatives, Parquet, Excel; always with a reason if it fails."""

import io
import os
import warnings
import zipfile
from pathlib import Path
from typing import Any

from plsdof.columns import find_column, shortened
from plsdof.errors import InvalidInputError, MissingExtraError, PlsdofError
from plsdof.sniffing import (
    Layout,
    column_names,
    first_ragged_line,
    sniff,
    value_beyond_header,
    with_plain_line_ends,
)
from plsdof.table_content import Table, require_pandas, without_unnamed

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
    text see `plsdof.sniffing.sniff`: separator ``, ; tab |`` or white space, decimal point or
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
