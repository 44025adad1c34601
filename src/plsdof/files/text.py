"""How a text table is written: encoding, separator, decimal mark and header."""

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from plsdof.errors import InvalidInputError
from plsdof.files.columns import shortened

# How a text file is encoded
# --------------------------

_BLOCK = 1 << 20
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# A text file has hardly any control characters besides tab and line ends.
_CONTROL = bytes(set(range(32)) - set(b"\t\n\v\f\r"))
_MOST_CONTROL = 0.02
# Signs such as the euro in Windows' encoding, control characters in Latin-1.
_WINDOWS = re.compile(rb"[\x80-\x9f]")


def find_encoding(content: bytes) -> str:
    """Return utf-8, utf-8-sig, utf-16, cp1252 or latin-1; refuse what is not text."""
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            return _checked(content, encoding)
    if b"\0" in content:
        return _without_mark(content)
    head = content[:_BLOCK]
    if len(head) - len(head.translate(None, _CONTROL)) > _MOST_CONTROL * len(head):
        raise InvalidInputError("the file is binary, not a text table.")
    if _decodes(content, "utf-8"):
        return "utf-8"
    return "cp1252" if _WINDOWS.search(content) and _decodes(content, "cp1252") else "latin-1"


def _without_mark(content: bytes) -> str:
    """Tell UTF-16 without its mark (every second byte is NUL) from a binary file."""
    head = content[:4096]
    for encoding, zero in (("utf-16-le", head[1::2]), ("utf-16-be", head[::2])):
        if zero.count(0) > 0.9 * len(zero) and head.count(0) == zero.count(0):
            return _checked(content, encoding)
    raise InvalidInputError(
        f"the file contains NUL bytes (the first one at byte {content.index(0)}); it is binary or "
        "damaged. Save the table as CSV in UTF-8."
    )


def _checked(content: bytes, encoding: str) -> str:
    if not _decodes(content, encoding):
        raise InvalidInputError(
            f"the file starts like {encoding} text but is not; it is damaged or binary."
        )
    return encoding


def _decodes(content: bytes, encoding: str) -> bool:
    """Whether all bytes are valid, block by block so that no second copy is held."""
    decoder = codecs.getincrementaldecoder(encoding)()
    view = memoryview(content)
    try:
        for start in range(0, len(content), _BLOCK):
            decoder.decode(view[start : start + _BLOCK])
        decoder.decode(b"", final=True)
    except UnicodeError:
        return False
    return True


# How a text table is written: encoding, separator, decimal mark and header
# -------------------------------------------------------------------------

SEPARATORS = (",", ";", "\t", "|")
# Runs of white space; looked at only if no other separator explains the file.
WHITE_SPACE = r"\s+"
_SAMPLE_LINES = 25
_HEAD = 1 << 20
# The first line of files that are written for Excel.
_SEPARATOR_LINE = re.compile(r'"?sep=([,;\t|])"?[ \t]*(\r\n|\r|\n|$)', re.IGNORECASE)
_NO_VALUE = {"", "na", "n/a", "nan", "null", "none", "#n/a"}
_NUMBER = {
    mark: re.compile(rf"[+-]?(\d+([{mark}]\d*)?|[{mark}]\d+)([eE][+-]?\d+)?") for mark in ".,"
}
_INFINITY = re.compile(r"[+-]?inf(inity)?", re.IGNORECASE)
# 1,234 is more than a thousand, or a bit more than one.
_UNCLEAR, _WHOLE = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}"), re.compile(r"[+-]?\d{1,3}")


@dataclass(frozen=True, kw_only=True)
class Layout:
    """How a text table is written.

    Attributes
    ----------
    encoding, separator, decimal : str
    names : tuple of str
        Column names, without surrounding blanks; "unnamed 3" where the third one has none.
    unnamed : tuple of str
        Those names that were made up.
    extra : str
        The one of them that the header has no field for: R's row names if it comes first, a
        separator at the end of lines if it comes last. Empty if there is none.
    lines_above : int
        Number of lines above the header that say how the file is written.
    """

    encoding: str
    separator: str
    decimal: str
    names: tuple[str, ...]
    unnamed: tuple[str, ...]
    extra: str
    lines_above: int

    @property
    def described(self) -> str:
        """The layout in words."""
        words = {"\t": "tab", WHITE_SPACE: "white space"}
        separator = words.get(self.separator, repr(self.separator))
        mark = "comma" if self.decimal == "," else "point"
        return f"separator {separator}, decimal {mark}, {self.encoding}"


def sniff(content: bytes) -> Layout:
    r"""Find out how a text table is written, from its first lines.

    The separator is the one of ``, ; tab |`` that gives every line as many fields as the header
    and most fields that are numbers, or the one that a first line ``sep=;`` names. Lines with one
    field more than the header end with a separator if all last fields are empty, or start with a
    row name, as R writes them, if all first ones are text or count the rows; otherwise the file
    is refused. Cost: one pass over the bytes for the encoding, no other.

    Examples
    --------
    >>> sniff(b"fat;1100,5;1102\n1,5;0,25;0,5\n").described
    "separator ';', decimal comma, utf-8"
    """
    encoding = find_encoding(content)
    text = _sample(content, encoding)
    if not text.strip("\ufeff\0 \t\r\n"):
        raise InvalidInputError("the file is empty.")
    told = _SEPARATOR_LINE.match(text)
    text = text[told.end() :] if told else text
    best = _best_reading(text, told[1] if told else SEPARATORS)
    if best is None:
        raise InvalidInputError(
            "only one column was found; columns must be separated by comma, semicolon, tab, |, "
            "or white space."
        )
    if best.lacks_names:
        raise _short_header(best, text, 2 if told else 1)
    names, unnamed = column_names(best.header)
    _require_clear_commas(best, names)
    return Layout(
        encoding=encoding,
        separator=best.separator,
        decimal=best.decimal,
        names=names,
        unnamed=unnamed,
        extra="" if best.extra is None else names[best.extra],
        lines_above=1 if told else 0,
    )


def column_names(header: list[Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return names without surrounding blanks, and those made up for columns without one."""
    names, unnamed = [], []
    for position, entry in enumerate(header, start=1):
        name = str(entry).strip()
        if not name:
            name = f"unnamed {position}"
            unnamed.append(name)
        names.append(name)
    repeated = [(name, count) for name, count in Counter(names).items() if count > 1]
    if repeated:
        shown = ", ".join(f"{shortened(name)} ({count} times)" for name, count in repeated[:3])
        more = f" and {len(repeated) - 3} more" if len(repeated) > 3 else ""
        raise InvalidInputError(f"column names must differ; found {shown}{more}.")
    return tuple(names), tuple(unnamed)


def with_plain_line_ends(content: bytes, encoding: str) -> tuple[bytes, str]:
    """Spell line ends as pandas wants them: mixed ones make older versions use all memory."""
    if encoding.startswith(("utf-16", "utf-32")):
        content, encoding = content.decode(encoding).encode("utf-8"), "utf-8"
    if b"\r" in content:
        content = content.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return content, encoding


def first_ragged_line(content: bytes, layout: Layout) -> str | None:
    """Describe the first row that has fewer fields than the header; None if there is none."""
    if layout.separator == WHITE_SPACE:
        return None
    stream = io.TextIOWrapper(io.BytesIO(content), encoding=layout.encoding, newline="")
    rows = csv.reader(stream, delimiter=layout.separator)
    written = ((rows.line_num, len(row)) for row in rows if any(cell.strip() for cell in row))
    for _ in range(layout.lines_above + 1):  # the header has no name for R's row names
        next(written, None)
    for line, fields in written:
        if fields < len(layout.names):
            return f"line {line} has {fields} field(s) instead of {len(layout.names)}"
    return None


def looks_numeric(cell: str) -> bool:
    """Whether a text without surrounding blanks is a number, by either decimal mark."""
    return any(pattern.fullmatch(cell) for pattern in (*_NUMBER.values(), _INFINITY))


def other_mark(value: str, decimal: str) -> str:
    """Say what to do about a number with the mark that is not the decimal one; "" for others.

    Examples
    --------
    >>> other_mark("1.234,5", ",")
    "The file is read with decimal commas: write all decimals so, and thousands without '.'."
    >>> other_mark("12 mg", ",")
    ''
    """
    other, word = (".", "comma") if decimal == "," else (",", "point")
    if other not in value or not re.fullmatch(r"[+-]?[\d.,]*\d[\d.,]*", value.strip()):
        return ""
    return (
        f"The file is read with decimal {word}s: write all decimals so, and thousands without "
        f"{other!r}."
    )


def value_beyond_header(layout: Layout, row: int) -> str:
    """Describe a row with a value in its last field, which was empty in the first lines."""
    n = len(layout.names)
    return f"the header has {n - 1} names, but row {row} has {n} fields."


@dataclass(frozen=True, kw_only=True)
class _Reading:
    """The first lines, read with one separator, and how well that explains them.

    ``extra`` is the position of the name that was added to the header; ``width`` the number of
    fields of most lines below it, 0 if they have different ones.
    """

    separator: str
    decimal: str
    header: list[str]
    extra: int | None
    body: list[list[str]]
    width: int
    fit: tuple[float, float, int]

    @property
    def lacks_names(self) -> bool:
        """Whether the header has fewer fields than most lines below it."""
        return self.width > len(self.header)


def _best_reading(text: str, separators: Sequence[str]) -> _Reading | None:
    found = [one for one in (_reading(text, mark) for mark in separators) if one is not None]
    whole = max((one for one in found if not one.lacks_names), key=_fit, default=None)
    if whole is not None and whole.fit[0] > 0:
        return whole
    lacking = max((one for one in found if one.lacks_names), key=_fit, default=None)
    return _reading_of_white_space(text) or lacking or whole


def _fit(reading: _Reading) -> tuple[float, float, int]:
    return reading.fit


def _reading(text: str, separator: str) -> _Reading | None:
    try:
        rows = list(csv.reader(io.StringIO(text, newline=None), delimiter=separator))
    except csv.Error:  # a "field" of more than 131,072 characters: not this separator
        return None
    return _judged([row for row in rows if any(cell.strip() for cell in row)], separator)


def _reading_of_white_space(text: str) -> _Reading | None:
    lines = (line.expandtabs(1).strip() for line in text.splitlines() if line.strip())
    try:
        rows = list(csv.reader(lines, delimiter=" ", skipinitialspace=True))
    except csv.Error:
        return None
    found = _judged(rows, WHITE_SPACE)
    # A single column whose name has a blank in it is no table.
    return found if found is not None and found.fit[0] == 1.0 else None


def _judged(rows: list[list[str]], separator: str) -> _Reading | None:
    if not rows or max(map(len, rows)) < 2:
        return None
    body = rows[1:]
    header, extra = _completed(rows[0], body)
    width, count = Counter(map(len, body)).most_common(1)[0] if body else (0, 0)
    if 2 * count <= len(body):
        width = 0
    if max(len(header), width) < 2:
        return None
    even = sum(len(row) == len(header) for row in body) / max(1, len(body))
    shares = {mark: _numeric_share(body, mark) for mark in (".,", ".")[separator == ","]}
    decimal = max(shares, key=lambda mark: shares[mark])
    return _Reading(
        separator=separator,
        decimal=decimal,
        header=header,
        extra=extra,
        body=body,
        width=width,
        fit=(round(even, 2), round(shares[decimal], 2), len(header)),
    )


def _completed(header: list[str], body: list[list[str]]) -> tuple[list[str], int | None]:
    """Add the field that a header lacks for row names, or for a separator at the end of lines."""
    if not body or any(len(row) != len(header) + 1 for row in body):
        return header, None
    if not any(row[-1].strip() for row in body):
        return [*header, ""], len(header)
    if are_row_names([row[0] for row in body]):
        return ["", *header], 0
    return header, None


def are_row_names(cells: Sequence[str]) -> bool:
    """Whether the first fields of all rows, from the first row on, are text or count the rows."""
    known = [cell.strip() for cell in cells if cell.strip().lower() not in _NO_VALUE]
    if not any(map(looks_numeric, known)):
        return bool(known)
    return any(known == [str(first + i) for i in range(len(cells))] for first in (0, 1))


def number_rows(cells: Sequence[str]) -> bool:
    """Whether whole numbers increase from row to row, as numbers of rows do, even with gaps.

    Examples
    --------
    >>> number_rows(["0", "1", "4"]), number_rows(["2", "2", "3"]), number_rows(["0.5", "1"])
    (True, False, False)
    """
    known = [cell.strip() for cell in cells]
    if not all(cell.isascii() and cell.isdecimal() for cell in known):
        return False
    return all(int(one) < int(other) for one, other in pairwise(known))


def _short_header(reading: _Reading, text: str, line: int) -> InvalidInputError:
    blank = text[: len(text) - len(text.lstrip())]
    line += len((blank + "|").splitlines()) - 1
    n = len(reading.header)
    return InvalidInputError(
        f"the header has {n} name{'s' * (n != 1)}, but rows have {reading.width} fields; line "
        f"{line}, {shortened(text.strip().splitlines()[0])}, must hold the names of all columns. "
        "Remove titles and comments above them; a column of row names needs a name, too."
    )


def _require_clear_commas(reading: _Reading, names: tuple[str, ...]) -> None:
    """Refuse 999 and 1,234 in one column, unless other numbers show what the comma means."""
    rows = [[cell.strip() for cell in row] for row in reading.body if len(row) == len(names)]
    commas = [cell for row in rows for cell in row if "," in cell and _NUMBER[","].fullmatch(cell)]
    if reading.decimal != "," or not all(map(_UNCLEAR.fullmatch, commas)):
        return
    for name, column in zip(names, zip(*rows, strict=True), strict=False):
        unclear = next(filter(_UNCLEAR.fullmatch, column), None)
        whole = next(filter(_WHOLE.fullmatch, column), None)
        if unclear and whole:
            raise InvalidInputError(
                f"column {shortened(name)} has {shortened(unclear)} and {shortened(whole)}: the "
                "comma may stand between thousands or before decimals. Write thousands without a "
                "comma, and decimals with a point."
            )


def _numeric_share(body: list[list[str]], mark: str) -> float:
    cells = [cell.strip() for row in body for cell in row]
    cells = [cell for cell in cells if cell.lower() not in _NO_VALUE]
    numeric = sum(_NUMBER[mark].fullmatch(cell) is not None for cell in cells)
    return numeric / max(1, len(cells))


def _sample(content: bytes, encoding: str) -> str:
    line_end = b"\n" if b"\n" in content[:_HEAD] or b"\r" not in content[:_HEAD] else b"\r"
    end = -1
    for _ in range(_SAMPLE_LINES):
        following = content.find(line_end, end + 1)
        if following < 0:
            end = len(content)
            break
        end = following
    # In UTF-16 and UTF-32 the line end may be cut; what is incomplete is ignored.
    return content[: end + 1].decode(encoding, errors="ignore")
