"""How a text table is written: encoding, separator, decimal mark and header."""

import codecs
import csv
import io
import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

from plsdof.columns import shortened
from plsdof.errors import InvalidInputError

SEPARATORS = (",", ";", "\t", "|")
# Runs of white space; looked at only if no other separator explains the file.
WHITE_SPACE = r"\s+"
_SAMPLE_LINES = 25
_BLOCK = 1 << 20
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_NO_VALUE = {"", "na", "n/a", "nan", "null", "none", "#n/a"}
_NUMBER = {
    mark: re.compile(rf"[+-]?(\d+([{mark}]\d*)?|[{mark}]\d+)([eE][+-]?\d+)?") for mark in ".,"
}
# A text file has hardly any control characters besides tab and line ends.
_CONTROL = bytes(set(range(32)) - set(b"\t\n\v\f\r"))
_MOST_CONTROL = 0.02


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
    """

    encoding: str
    separator: str
    decimal: str
    names: tuple[str, ...]
    unnamed: tuple[str, ...]

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
    and most fields that are numbers. Lines with one field more than the header start with a row
    name, as R writes them. Cost: one pass over the bytes for the encoding, no other.

    Examples
    --------
    >>> sniff(b"fat;1100,5;1102\n1,5;0,25;0,5\n").described
    "separator ';', decimal comma, utf-8"
    """
    encoding = find_encoding(content)
    text = _sample(content, encoding)
    if not text.strip("\ufeff\0 \t\r\n"):
        raise InvalidInputError("the file is empty.")
    best = max(
        (one for one in (_reading(text, mark) for mark in SEPARATORS) if one is not None),
        key=lambda one: one.fit,
        default=None,
    ) or _reading_of_white_space(text)
    if best is None:
        raise InvalidInputError(
            "only one column was found; columns must be separated by comma, semicolon, tab, |, "
            "or white space."
        )
    names, unnamed = column_names(best.header)
    return Layout(
        encoding=encoding,
        separator=best.separator,
        decimal=best.decimal,
        names=names,
        unnamed=unnamed,
    )


def find_encoding(content: bytes) -> str:
    """Return utf-8, utf-8-sig, utf-16 or latin-1; refuse what is not text."""
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            return _checked(content, encoding)
    if b"\0" in content:
        return _without_mark(content)
    head = content[:_BLOCK]
    if len(head) - len(head.translate(None, _CONTROL)) > _MOST_CONTROL * len(head):
        raise InvalidInputError("the file is binary, not a text table.")
    return "utf-8" if _decodes(content, "utf-8") else "latin-1"


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
    next(written, None)  # the header, which has no name for R's row names
    for line, fields in written:
        if fields < len(layout.names):
            return f"line {line} has {fields} field(s) instead of {len(layout.names)}"
    return None


@dataclass(frozen=True, kw_only=True)
class _Reading:
    """The first lines, read with one separator, and how well that explains them."""

    separator: str
    decimal: str
    header: list[str]
    fit: tuple[float, float, int]


def _reading(text: str, separator: str) -> _Reading | None:
    try:
        rows = list(csv.reader(io.StringIO(text, newline=None), delimiter=separator))
    except csv.Error:  # a "field" of more than 131,072 characters: not this separator
        return None
    return _judged([row for row in rows if any(cell.strip() for cell in row)], separator)


def _reading_of_white_space(text: str) -> _Reading | None:
    rows = [line.split() for line in text.splitlines() if line.strip()]
    found = _judged(rows, WHITE_SPACE)
    # A single column whose name has a blank in it is no table.
    return found if found is not None and found.fit[0] == 1.0 else None


def _judged(rows: list[list[str]], separator: str) -> _Reading | None:
    if not rows or max(map(len, rows)) < 2:
        return None
    header, body = rows[0], rows[1:]
    if body and all(len(row) == len(header) + 1 for row in body):
        header = ["", *header]
    if len(header) < 2:
        return None
    even = sum(len(row) == len(header) for row in body) / max(1, len(body))
    shares = {mark: _numeric_share(body, mark) for mark in (".,", ".")[separator == ","]}
    decimal = max(shares, key=lambda mark: shares[mark])
    fit = (round(even, 2), round(shares[decimal], 2), len(header))
    return _Reading(separator=separator, decimal=decimal, header=header, fit=fit)


def _numeric_share(body: list[list[str]], mark: str) -> float:
    cells = [cell.strip() for row in body for cell in row]
    cells = [cell for cell in cells if cell.lower() not in _NO_VALUE]
    numeric = sum(_NUMBER[mark].fullmatch(cell) is not None for cell in cells)
    return numeric / max(1, len(cells))


def _sample(content: bytes, encoding: str) -> str:
    line_end = b"\n" if b"\n" in content[:_BLOCK] or b"\r" not in content[:_BLOCK] else b"\r"
    end = -1
    for _ in range(_SAMPLE_LINES):
        following = content.find(line_end, end + 1)
        if following < 0:
            end = len(content)
            break
        end = following
    # In UTF-16 and UTF-32 the line end may be cut; what is incomplete is ignored.
    return content[: end + 1].decode(encoding, errors="ignore")


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
