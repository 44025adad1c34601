"""Sheets of Excel workbooks: calamine reads the cells, ours is what it does not tell.

That is what the sheet hides, what it shows as percent, and how far apart its cells are.
"""

import html
import io
import posixpath
import re
import zipfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import islice, zip_longest
from typing import Any

import numpy as np

from plsdof.errors import InvalidInputError, PlsdofError
from plsdof.workbench.tables import numbers, text
from plsdof.workbench.tables.columns import find_column, listed, shortened

Row = tuple[int, list[Any]]  # its number in the file, and its cells; None where there is nothing

# Cells of a sheet: 20,000 spectra of 500 points, a gigabyte of memory; and what they unpack to if
# each takes fifty bytes. A small file may hold very many.
MOST_CELLS = 10_000_000
_MOST_UNPACKED = 1 << 29
# Numbers are packed to a tenth; what is packed to less than a hundredth, and large, is not a table.
_USUALLY_PACKED, _ALWAYS_UNPACKED = 100, 1 << 25
# What a sheet of Excel can hold, and a workbook.
_MOST_ROWS, _MOST_COLUMNS, _MOST_STYLES = 1 << 20, 1 << 14, 1 << 16
# A block of so few cells beside or below the table is not part of it.
_FEW_CELLS = 2
# Formats are looked at in so many rows, which have the first values.
_FORMATTED_ROWS = 60

# Parts of a workbook's XML, whatever their namespace is called. No tag is searched beyond the next
# one, and nothing that was taken is given back, so that the cost is that of one pass.
_ROW, _COLUMN, _CELL, _SHEET, _RELATION, _FORMAT, _STYLE, _PROPERTIES = (
    re.compile(rb"<(?:[\w.-]++:)?%b(?=[\s/>])([^<>]*+)" % name)
    for name in (b"row", b"col", b"c", b"sheet", b"Relationship", b"numFmt", b"xf", b"workbookPr")
)
_STYLES = re.compile(rb"<(?:\w++:)?cellXfs\b.*", re.DOTALL)
_ATTRIBUTE = re.compile(rb"""\b(\w++)\s*+=\s*+(?:"([^"]*+)"|'([^']*+)')""")
_PLACE = re.compile(rb"""<(?:[\w.-]++:)?c(?=\s)[^<>]*?\sr=["']([A-Z]++)(\d++)""")
_ADDRESS = re.compile(rb"""(<(?:[\w.-]++:)?(?:row|c)(?=\s)[^<>]*?\sr=["'])([A-Z]*+)(\d++)""")
# What begins no tag as programs write them, with the address of a cell or a row as it has to be: a
# parser may see something else there than the patterns do.
_NAMED, _VALUE = rb"(?:[\w.-]++:)?", rb"""(?:"[^"'<>]*+"|'[^"'<>]*+')"""
_OTHERS = rb"(?:\s++(?!r=)[\w:.-]++=%b)*+" % _VALUE
_ODD = re.compile(
    rb"<(?!%(named)b(?:c%(others)b(?:\s++r=[\"'][A-Z]{1,3}\d{1,7}[\"'])?+%(others)b\s*+/?>"
    rb"|row%(others)b(?:\s++r=[\"']\d{1,7}[\"'])?+%(others)b\s*+/?>)"
    rb"|!(?:--|\[CDATA\[)[^<>]*+>|(?!%(named)b(?:c|row)\b)[/?]?%(named)b[\w.-]++(?=[\s/?>])"
    rb"(?:[^<>\"']++|\"[^\"<>]*+\"|'[^'<>]*+')*+>)" % {b"named": _NAMED, b"others": _OTHERS}
)
# Texts of cells that are kept once, and cells that hold one of them.
_TEXTS, _TEXT = "xl/sharedStrings.xml", re.compile(rb"""\st=(?:"s"|'s')""")
_FORMATS = "xl/styles.xml"
# A workbook of one sheet, and what leads to it.
_SPACE = "http://schemas.openxmlformats.org"
_WORKBOOK = (
    f'<workbook xmlns="{_SPACE}/spreadsheetml/2006/main" xmlns:r="{_SPACE}/officeDocument/2006/'
    'relationships"><workbookPr date1904="%d"/><sheets><sheet name="1" sheetId="1" r:id="r"/>'
    "</sheets></workbook>"
)
_RELATIONS = {
    f"{folder}_rels/{file}.rels": f'<Relationships xmlns="{_SPACE}/package/2006/relationships">'
    f'<Relationship Id="r" Type="{_SPACE}/officeDocument/2006/relationships/{kind}" '
    f'Target="{target}"/></Relationships>'
    for folder, file, kind, target in (
        ("", "", "officeDocument", "xl/workbook.xml"),
        ("xl/", "workbook.xml", "worksheet", "worksheets/sheet1.xml"),
    )
}
# Texts in a number format: a percent sign in them is only shown.
_LITERAL = re.compile(r'"[^"]*"|\\.')
# The formats 0% and 0.00%, which workbooks do not describe.
_PERCENT = {"9": "0%", "10": "0.00%"}


class Percent(float):
    """A fraction that the sheet shows as percent."""


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """The table of a sheet, without cells that stand apart.

    Attributes
    ----------
    name : str
    others : tuple of str
        The other sheets.
    rows : list of pairs
        The number of each row that holds something, and its cells.
    hidden_rows, hidden_columns : frozenset of int
        What the sheet does not show, by hand or by a filter, by their numbers from 1.
    notes : tuple of str
        What was ignored.
    """

    name: str
    others: tuple[str, ...]
    rows: list[Row]
    hidden_rows: frozenset[int]
    hidden_columns: frozenset[int]
    notes: tuple[str, ...]


def read_sheet(content: bytes, name: str | None = None, first: int = 1) -> Sheet:
    """Read a sheet of a workbook from a row on; the first sheet by default."""
    calamine = text.extra_module(
        "python_calamine", "python-calamine", "files", "Reading Excel files"
    )
    try:
        archive = _opened(content)
        files = _sheets(archive)
        chosen = next(iter(files)) if name is None else find_column(name, list(files), "sheet")
        xml = archive.read(files[chosen])
        _require_plain(archive, xml)
        marks = _marks(xml, _percent_styles(archive))
        is_sparse = marks.rows[-1] * marks.columns[-1] > MOST_CELLS
        if is_sparse:  # a cell far out costs a pass, not memory
            xml = _compacted(xml, marks)
        book = calamine.CalamineWorkbook.from_filelike(_packed(archive, xml))
        cells = book.get_sheet_by_index(0).to_python(skip_empty_area=False)
    except PlsdofError:
        raise
    except Exception as error:  # whatever a damaged file makes a parser raise
        raise text.unreadable(error) from error
    along = marks.rows if is_sparse else range(1, len(cells) + 1)
    across = marks.columns if is_sparse else range(1, max(map(len, cells), default=0) + 1)
    rows = _filled(dict(zip(along, cells, strict=False)), across, first, marks.percent)
    others = tuple(one for one in files if one != chosen)
    if not rows:
        there = f" There are other sheets: {listed(others, 6, shortened)}." if others else ""
        raise InvalidInputError(
            f"the sheet {shortened(chosen)} is empty from row {first} on.{there}"
        )
    rows, notes = _main_block(rows, across)
    return Sheet(
        name=chosen,
        others=others,
        rows=rows,
        hidden_rows=marks.hidden_rows,
        hidden_columns=marks.hidden_columns,
        notes=notes,
    )


# What calamine does not tell, from the parts of the archive
# ----------------------------------------------------------


def _opened(content: bytes) -> zipfile.ZipFile:
    """Open a workbook; refuse other archives, and those that unpack to very much."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
    except (zipfile.BadZipFile, NotImplementedError, ValueError) as error:
        raise InvalidInputError("the file is a damaged Excel file or zip archive.") from error
    if "xl/workbook.xml" not in archive.namelist():
        raise InvalidInputError(
            "the file is a zip archive without an Excel workbook; unpack it, or save the table as "
            ".xlsx or CSV."
        )
    size = sum(one.file_size for one in archive.infolist())
    if size > min(_MOST_UNPACKED, max(_ALWAYS_UNPACKED, _USUALLY_PACKED * len(content))):
        raise InvalidInputError(
            f"the Excel file unpacks to {size / 1e9:.2f} GB, which is too much; save the table as "
            "CSV or Parquet."
        )
    return archive


def _require_plain(archive: zipfile.ZipFile, xml: bytes) -> None:
    """Refuse a sheet that may be more than the patterns here see in it."""
    if odd := _ODD.search(xml):
        raise InvalidInputError(
            f"the Excel file is damaged: byte {odd.start()} of its sheet begins no tag."
        )
    size = max(map(len, _part(archive, _TEXTS).split(b"si>"))) * len(_TEXT.findall(xml))
    if size > 2 * _MOST_UNPACKED:
        raise InvalidInputError(
            f"the Excel file repeats long texts, up to {size / 1e9:.2f} GB, which is too much; "
            "save the table as CSV or Parquet."
        )


def _part(archive: zipfile.ZipFile, name: str) -> bytes:
    """Return a part of a workbook, nothing if it has none; upper case does not matter."""
    found = next((one for one in archive.namelist() if one.lower() == name.lower()), None)
    return b"" if found is None else archive.read(found)


def _packed(archive: zipfile.ZipFile, xml: bytes) -> io.BytesIO:
    """Return a workbook of one sheet, with parts that are as large as they say."""
    dates = any(
        one.get("date1904") in ("1", "true")
        for one in _tags(_PROPERTIES, archive.read("xl/workbook.xml"))
    )
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as made:
        parts: dict[str, bytes | str] = {"xl/workbook.xml": _WORKBOOK % dates}
        parts["xl/worksheets/sheet1.xml"] = xml
        own = {name: _part(archive, name) for name in (_TEXTS, _FORMATS)}
        for name, part in (parts | _RELATIONS | own).items():
            if part:
                made.writestr(name, part)
    packed.seek(0)
    return packed


def _given(attributes: bytes) -> dict[str, str]:
    """Return the attributes of an XML tag."""
    return {
        name.decode(): html.unescape((one or other).decode("utf-8", errors="replace"))
        for name, one, other in _ATTRIBUTE.findall(attributes)
    }


def _tags(pattern: re.Pattern[bytes], xml: bytes, most: int = _MOST_STYLES) -> list[dict[str, str]]:
    """Return the attributes of the first tags of a kind."""
    return [_given(found[1]) for found in islice(pattern.finditer(xml), most)]


def _sheets(archive: zipfile.ZipFile) -> dict[str, str]:
    """Return the files of the sheets in the archive, by their names."""
    relations = {
        one["Id"]: posixpath.normpath(posixpath.join("/xl", one["Target"]))[1:]
        for one in _tags(_RELATION, archive.read("xl/_rels/workbook.xml.rels"))
        if one["Type"].endswith("/worksheet")  # not a chart
    }
    sheets = _tags(_SHEET, archive.read("xl/workbook.xml"))
    return {one["name"]: relations[one["id"]] for one in sheets if one["id"] in relations}


def _percent_styles(archive: zipfile.ZipFile) -> set[str]:
    """Return the numbers of the styles that show a number as percent."""
    xml = _part(archive, _FORMATS)
    formats = {one["numFmtId"]: one.get("formatCode", "") for one in _tags(_FORMAT, xml)}
    shown = _PERCENT | {key: _LITERAL.sub("", code) for key, code in formats.items()}
    styles = _STYLES.search(xml)
    return {
        str(i)
        for i, one in enumerate(_tags(_STYLE, styles[0]) if styles else [])
        if "%" in shown.get(one.get("numFmtId", "0"), "")
    }


@dataclass(frozen=True, kw_only=True)
class _Marks:
    """What the XML of a sheet says: its rows and columns, those hidden, cells shown as percent."""

    rows: list[int]
    columns: list[int]
    hidden_rows: frozenset[int]
    hidden_columns: frozenset[int]
    percent: frozenset[tuple[int, int]]


def _marks(xml: bytes, percent_styles: set[str]) -> _Marks:
    """Look through the XML of a sheet once; refuse what no sheet can hold."""
    above, *parts = _ROW.split(xml)
    hidden, columns, percent = {1: False}, {1}, set[tuple[int, int]]()
    number = cells = 0
    elsewhere = _CELL.search(above) is not None
    for attributes, body in zip(parts[::2], parts[1::2], strict=True):
        row = _given(attributes)
        number = int(row.get("r", number + 1))
        hidden[number] = row.get("hidden") in ("1", "true")
        found, places = _CELL.findall(body), _PLACE.findall(body)
        cells += len(found)
        named = {_number(letters) for letters, _ in places}
        columns |= named
        elsewhere |= any(int(digits) != number for _, digits in places)
        if len(places) < len(found):  # cells without an address follow the one before
            columns.update(range(1, min(len(found) + max(named, default=0), _MOST_COLUMNS + 1) + 1))
        place = 0
        for cell in map(_given, found[:_MOST_COLUMNS] if len(hidden) <= _FORMATTED_ROWS else ()):
            address = cell.get("r", "").rstrip("0123456789")
            place = _number(address.encode()) if address else place + 1
            if cell.get("s") in percent_styles and cell.get("t", "n") == "n":
                percent.add((number, place))
    if cells > MOST_CELLS or len(parts) > 2 * _MOST_ROWS:
        raise InvalidInputError(
            f"the Excel file has a sheet of {cells:,} cells in {len(parts) // 2:,} rows, which is "
            "too much; save the table as CSV or Parquet."
        )
    if elsewhere or min(hidden) < 1 or max(hidden) > _MOST_ROWS or max(columns) > _MOST_COLUMNS:
        raise InvalidInputError("the Excel file is damaged: it has cells that no sheet can have.")
    return _Marks(
        rows=sorted(hidden),
        columns=sorted(columns),
        hidden_rows=frozenset(row for row, is_hidden in hidden.items() if is_hidden),
        hidden_columns=frozenset(
            column
            for one in _tags(_COLUMN, above)
            if one.get("hidden") in ("1", "true")
            for column in range(int(one["min"]), min(int(one["max"]), _MOST_COLUMNS) + 1)
        ),
        percent=frozenset(percent),
    )


def _number(letters: bytes) -> int:
    """Return the number from 1 of a column of a sheet."""
    return reduce(lambda number, letter: 26 * number + letter - 64, letters, 0)


def column_letters(number: int) -> str:
    """Return what a sheet calls a column, by its number from 1.

    Examples
    --------
    >>> column_letters(1), column_letters(28), column_letters(16384)
    ('A', 'AB', 'XFD')
    """
    letters = ""
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(65 + rest) + letters
    return letters


def _compacted(xml: bytes, marks: _Marks) -> bytes:
    """Return a sheet that has its rows and columns next to each other."""
    if len(marks.rows) * len(marks.columns) > MOST_CELLS:
        raise InvalidInputError(
            f"the Excel file has a sheet of {len(marks.rows):,} rows and {len(marks.columns):,} "
            "columns, which is too much; save the table as CSV or Parquet."
        )
    row_places = {b"%d" % number: b"%d" % i for i, number in enumerate(marks.rows, start=1)}
    letters = {b"": b""} | {
        column_letters(number).encode(): column_letters(i).encode()
        for i, number in enumerate(marks.columns, start=1)
    }
    return _ADDRESS.sub(lambda one: one[1] + letters[one[2]] + row_places[one[3]], xml)


# The cells that belong to the table, wherever they are in the sheet
# ------------------------------------------------------------------


def _filled(
    cells: Mapping[int, Sequence[Any]],
    across: Sequence[int],
    first: int,
    percent: frozenset[tuple[int, int]],
) -> list[Row]:
    """Return the rows that hold something, from the first one on, without blanks at their end."""
    places = {number: place for place, number in enumerate(across)}
    rows = [
        (number, [None if _is_nothing(one) else one for one in values])
        for number, values in cells.items()
        if number >= first
    ]
    found = dict(rows)
    for row, column in percent:
        value = found[row][places[column]] if row in found else None
        if isinstance(value, float | int):
            found[row][places[column]] = Percent(value)
    for _, values in rows:
        while values and values[-1] is None:
            values.pop()
    return [(number, values) for number, values in rows if values]


def _is_nothing(value: Any) -> bool:
    return value is None or (
        isinstance(value, str) and numbers.tidy(value) in ("", *numbers.FAILED_FORMULAS)
    )


def _main_block(rows: list[Row], across: Sequence[int]) -> tuple[list[Row], tuple[str, ...]]:
    """Leave out a few cells that stand apart from the table, and name them."""
    notes = []
    counts = Counter(i for _, cells in rows for i, value in enumerate(cells) if value is not None)
    places = {number: place for place, number in enumerate(across)}
    blocks = [[places[n] for n in run] for run in _runs([across[i] for i in sorted(counts)])]
    sizes = [sum(counts[i] for i in block) for block in blocks]
    small = [b for b, size in zip(blocks, sizes, strict=True) if size <= _FEW_CELLS < max(sizes)]
    stray = {i for block in small for i in block}
    if stray:
        cells = [
            f"{column_letters(across[i])}{number}"
            for number, values in rows
            for i in sorted(stray)
            if i < len(values) and values[i] is not None
        ]
        notes.append(f"Ignored, away from the table: cell {', '.join(cells)}.")
        kept = [i for i in range(max(set(counts) - stray) + 1) if i not in stray]
        rows = [(n, [v[i] if i < len(v) else None for i in kept]) for n, v in rows]
        rows = [(n, v) for n, v in rows if any(value is not None for value in v)]
    # Below the table: remarks after a blank row, which begin with a text.
    filled = {n: sum(value is not None for value in v) for n, v in rows}
    width = Counter(filled.values()).most_common(1)[0][0]
    last = set(_runs(list(filled))[-1])
    first = next(value for n, v in rows if n in last for value in v if value is not None)
    is_short = len(last) < len(rows) and max(filled[n] for n in last) <= max(1, width // 3)
    if is_short and isinstance(first, str) and not numbers.looks_numeric(first):
        notes.append(f"Ignored, below the table from row {min(last)} on: {shortened(first)}.")
        rows = [(n, v) for n, v in rows if n not in last]
    return rows, tuple(notes)


def _runs(numbers: Sequence[int]) -> list[list[int]]:
    """Split rising numbers where one is left out."""
    gaps = np.flatnonzero(np.diff(numbers) > 1) + 1
    return [part.tolist() for part in np.split(np.array(numbers), gaps)]


def turned(rows: list[Row]) -> list[Row]:
    """Make rows of columns."""
    columns = enumerate(map(list, zip_longest(*(cells for _, cells in rows))), start=1)
    return [(number, cells) for number, cells in columns if any(one is not None for one in cells)]
