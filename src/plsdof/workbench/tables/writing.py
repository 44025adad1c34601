"""Tables written as CSV or Excel, by the ending of the name."""

import codecs
import csv
import io
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from plsdof.errors import InvalidInputError
from plsdof.models.writing import atomic_write, lock
from plsdof.workbench.tables.text import extra_module

TABLE_ENDINGS = (".csv", ".tsv", ".xlsx")
# A text that a spreadsheet takes for a number.
_NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?")
# What a sheet of Excel can hold.
_MOST_ROWS, _MOST_COLUMNS = 1_048_576, 16_384


def require_ending(option: str, file: Path, endings: Sequence[str]) -> None:
    """Refuse a file name whose ending does not say what is to be written.

    Examples
    --------
    >>> require_ending("--out", Path("p.xlsx"), TABLE_ENDINGS)
    """
    if file.suffix.lower() in endings or (file.exists() and not file.is_file()):  # a device
        return
    words = f"{', '.join(endings[:-1])} or {endings[-1]}" if len(endings) > 1 else endings[0]
    raise InvalidInputError(f"{option} {file}: the name must end in {words}.")


def write_tables(
    tables: Mapping[str, Mapping[str, Any]],
    file: str | os.PathLike[str],
    *,
    escape: bool = True,
) -> None:
    r"""Write tables, each a mapping from names of columns to their values.

    An .xlsx file gets one sheet for each table; other files hold one table: .tsv with tabs, others
    with commas. Numbers in text read back to the same 64-bit float, those in Excel have 16 digits;
    nan is an empty cell. In .csv and .tsv files, texts that a spreadsheet would take for formulas
    (they begin with = + - @ and are not numbers) get an apostrophe in front, unless ``escape`` is
    False; in Excel files they are marked as text.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "p.csv"
    ...     write_tables({"predictions": {"row": [1, 2], "prediction": [0.5, float("nan")]}}, file)
    ...     file.read_text()
    'row,prediction\n1,0.5\n2,\n'
    """
    ending = Path(file).suffix.lower()
    if ending == ".xlsx":
        content = _workbook(tables)
    else:
        if len(tables) != 1:
            raise InvalidInputError(
                f"{os.fspath(file)!r} can hold one table, and there are {len(tables)}; write an "
                ".xlsx file instead."
            )
        separator = "\t" if ending == ".tsv" else ","
        content = _separated(next(iter(tables.values())), separator, escape=escape)
    with atomic_write(file) as stream:
        stream.write(content)


def append_table(columns: Mapping[str, Any], file: str | os.PathLike[str]) -> None:
    """Append rows to a CSV file, with a header if it is new: all of them or none.

    Processes that append at the same time wait for each other, so that no line is lost, and a
    process that is killed leaves the old file: the whole is written to a temporary file, which
    takes its place in one step. Cost: that of writing the file again.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for value in (1.5, 2.5):
    ...         append_table({"error": [value]}, Path(folder) / "log.csv")
    ...     Path(folder, "log.csv").read_text().split()
    ['error', '1.5', '2.5']
    """
    target = Path(os.path.realpath(file))
    header, _, body = _separated(columns, ",", escape=True).partition(b"\n")
    with target.with_name(f".{target.name}.lock").open("ab") as stream:
        lock(stream)
        old = target.read_bytes() if target.exists() else b""
        # Excel's "CSV UTF-8" has a mark in front, which stays.
        if old and old.removeprefix(codecs.BOM_UTF8).partition(b"\n")[0].strip() != header:
            raise InvalidInputError(
                f"{os.fspath(file)!r} has other columns than this log; choose another file."
            )
        old = old if not old or old.endswith(b"\n") else old + b"\n"
        with atomic_write(target) as written:
            written.write((old or header + b"\n") + body)


def _rows(columns: Mapping[str, Any]) -> Iterator[list[Any]]:
    """Return the rows of a table; None where a value is missing."""
    lists = [np.asarray(values).tolist() for values in columns.values()]
    for row in zip(*lists, strict=True):
        yield [None if isinstance(one, float) and not math.isfinite(one) else one for one in row]


def _separated(columns: Mapping[str, Any], separator: str, *, escape: bool) -> bytes:
    stream = io.StringIO()
    writer = csv.writer(stream, delimiter=separator, lineterminator="\n")
    for row in chain([list(columns)], _rows(columns)):
        cells = ["" if cell is None else cell for cell in row]
        writer.writerow([_harmless(cell) for cell in cells] if escape else cells)
    return stream.getvalue().encode()


def _harmless(cell: Any) -> Any:
    """Return a cell that no spreadsheet takes for a formula.

    Examples
    --------
    >>> [_harmless(cell) for cell in ("=1+1", "-1.5e3", "-x", -2.5, "a=b")]
    ["'=1+1", '-1.5e3', "'-x", -2.5, 'a=b']
    """
    if not isinstance(cell, str) or not cell.lstrip().startswith(("=", "+", "-", "@")):
        return cell
    return cell if _NUMBER.fullmatch(cell) else f"'{cell}"


def _workbook(tables: Mapping[str, Mapping[str, Any]]) -> bytes:
    openpyxl = extra_module("openpyxl", "openpyxl", "files", "Writing Excel files")
    book, cells = openpyxl.Workbook(write_only=True), openpyxl.cell.cell

    def cell(sheet: Any, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        # Text stays text, even if it begins with "=" and looks like a formula.
        made = cells.WriteOnlyCell(sheet, cells.ILLEGAL_CHARACTERS_RE.sub("", value)[:32_767])
        made.data_type = "s"
        return made

    for title, columns in tables.items():
        size = max((len(np.asarray(values)) for values in columns.values()), default=0)
        if size >= _MOST_ROWS or len(columns) > _MOST_COLUMNS:
            raise InvalidInputError(
                f"{size:,} rows and {len(columns):,} columns are too many for an Excel sheet; "
                "write a .csv file instead."
            )
        sheet = book.create_sheet(_sheet_title(title, book.sheetnames))
        sheet.append([cell(sheet, name) for name in columns])
        for row in _rows(columns):
            sheet.append([cell(sheet, value) for value in row])
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


def _sheet_title(title: str, taken: Sequence[str]) -> str:
    r"""Return a title that Excel takes: at most 31 characters, none of []:*?/\, no repeats."""
    plain = "".join(one for one in title if one not in "[]:*?/\\" and one.isprintable())
    plain = plain.strip("' ")[:31] or "table"
    number = 2
    found = plain
    while found.casefold() in {one.casefold() for one in taken}:
        found, number = f"{plain[:27]} {number}", number + 1
    return found
