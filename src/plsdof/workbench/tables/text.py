"""Text tables: how they are written, and their rows as data frames, whole or some at a time."""

import codecs
import csv
import io
import math
import re
import warnings
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from itertools import zip_longest
from pathlib import Path
from typing import IO, Any

import numpy as np

from plsdof._core.axes import header_unit
from plsdof._core.inputs import Array
from plsdof.errors import InvalidInputError, MissingExtraError, PlsdofError
from plsdof.workbench.tables.columns import listed, shortened

Cells = Sequence[Sequence[str]]

# How a text file is encoded
# --------------------------

_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
# A text file has hardly any control characters besides tab and line ends.
_CONTROL = bytes(set(range(32)) - set(b"\t\n\v\f\r"))
_MOST_CONTROL = 0.02
# Signs such as the euro in Windows' encoding, control characters in Latin-1.
_WINDOWS = re.compile(rb"[\x80-\x9f]")


def find_encoding(content: bytes, *, whole: bool = True) -> str:
    """Return utf-8, utf-8-sig, utf-16, cp1252 or latin-1; refuse what is not text.

    The content is that of the whole file, or its beginning, which may end within a character.

    Tables are numbers with a few words, too few for detectors that judge by letters: these take
    Latin-1 with one umlaut for an encoding of Japanese or Urdu.
    """
    marked = next((encoding for mark, encoding in _MARKS.items() if content.startswith(mark)), "")
    head = content[:_HEAD]
    is_utf_16 = marked == "utf-16" and not content.startswith(codecs.BOM_UTF32_LE)
    if not is_utf_16 and b"\0" in content:
        raise InvalidInputError(
            f"the file contains NUL bytes (the first one at byte {content.index(0)}); it is "
            "binary or damaged. Save the table as CSV in UTF-8."
        )
    if not marked and len(head) - len(head.translate(None, _CONTROL)) > _MOST_CONTROL * len(head):
        raise InvalidInputError("the file is binary, not a text table.")
    likely = ("utf-8", "cp1252", "latin-1") if _WINDOWS.search(content) else ("utf-8", "latin-1")
    for encoding in (marked,) if marked else likely:
        try:
            codecs.getincrementaldecoder(encoding)().decode(content, final=whole)
        except UnicodeError:
            continue
        return encoding
    raise InvalidInputError(
        f"the file starts like {marked} text but is not; it is damaged or binary."
    )


# How a text table is written: separator, decimal mark, titles, header and units
# ------------------------------------------------------------------------------

SEPARATORS = (",", ";", "\t", "|")
# Runs of white space; looked at only if no other separator explains the file.
WHITE_SPACE = r"\s+"
_SAMPLE_LINES = 40
# Of wide tables fewer lines say enough.
_FEWEST_LINES, _SAMPLE_BYTES = 12, 1 << 18
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
# What spreadsheets write where a formula fails.
FAILED_FORMULAS = ("#DIV/0!", "#N/A", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!")


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
        Number of lines above the first row: titles, header, units, and blank lines among them.
    notes : tuple of str
        What was taken for a title or for units.
    longest : int
        Characters of the longest one of the first lines.
    """

    encoding: str
    separator: str
    decimal: str
    names: tuple[str, ...]
    unnamed: tuple[str, ...]
    extra: str
    lines_above: int
    notes: tuple[str, ...]
    longest: int

    @property
    def described(self) -> str:
        """The layout in words."""
        return _in_words(self.separator, self.decimal, self.encoding)


def _in_words(separator: str, decimal: str, encoding: str) -> str:
    shown = {"\t": "tab", WHITE_SPACE: "white space"}.get(separator, repr(separator))
    return f"separator {shown}, decimal {'comma' if decimal == ',' else 'point'}, {encoding}"


def sniff(
    source: bytes | Path, *, header_row: int | None = None, skip_rows: int = 0, fewest: int = 2
) -> Layout:
    r"""Find out how a text table is written, from its first lines.

    The separator is the one of ``, ; tab |`` that gives every line as many fields as the header
    and most fields that are numbers, or the one that a first line ``sep=;`` names. Lines above the
    header with few fields are titles, a line below it without a number is one of units; see
    `find_header`. Lines with one field more than the header end with a separator if all last
    fields are empty, or start with a row name, as R writes them, if all first ones are text or
    count the rows; otherwise the file is refused. Cost: one pass over the bytes for the encoding,
    no other.

    Parameters
    ----------
    source : bytes or Path
        The content of the file, or where it is: then its first lines are read.
    header_row : int, optional
        The line that holds the names, counted from 1; found by default.
    skip_rows : int
        Number of lines at the top that do not count.
    fewest : int
        Number of columns that a table has at least.

    Examples
    --------
    >>> sniff(b"fat;1100,5;1102\n1,5;0,25;0,5\n").described
    "separator ';', decimal comma, utf-8"
    >>> sniff(b"Meat of May\nfat;1100;1102\n%;nm;nm\n1,5;0,25;0,5\n").notes
    ("Line 1 was taken for a title: 'Meat of May'.", "Line 3 was taken for units: '%', 'nm'.")
    """
    if isinstance(source, bytes):
        encoding = find_encoding(source)
    else:
        with source.open("rb") as file:
            encoding = find_encoding(file.read(_HEAD), whole=False)
    above = max(skip_rows, 0 if header_row is None else header_row - 1)
    start, best = _first_lines(source, encoding, above, fewest, given=header_row is not None)
    place = best.place
    if best.lacks_names:
        raise _short_header(best, start)
    units = [] if place.units is None else best.rows[place.units]
    names, unnamed = column_names(best.header, units)
    unclear = _unclear_commas(best, names)
    return Layout(
        encoding=encoding,
        separator=best.separator,
        decimal=best.decimal,
        names=names,
        unnamed=unnamed,
        extra="" if best.extra is None else names[best.extra],
        lines_above=start + best.lines[place.body - 1],
        notes=(*place.notes([start + line for line in best.lines], best.rows, "Line"), *unclear),
        longest=best.longest,
    )


def _first_lines(
    source: bytes | Path, encoding: str, above: int, fewest: int = 2, *, given: bool
) -> tuple[int, "_Reading"]:
    """Return the number of lines that do not count, and the best reading of those below."""
    lines, size = list[str](), 0
    with _opened(source, encoding) as stream:
        for line in stream:
            lines.append(line)
            size += len(line)
            wide = len(lines) >= above + _FEWEST_LINES and size > _SAMPLE_BYTES
            if wide or len(lines) == above + _SAMPLE_LINES:
                break
    if not any(map(str.strip, lines)):
        raise InvalidInputError("the file is empty.")
    told = _SEPARATOR_LINE.match(lines[0]) if above == 0 else None
    start = 1 if told else above
    if start >= len(lines):
        raise InvalidInputError(f"the file has {len(lines)} lines; there is none below them.")
    body = "".join(lines[start:])
    best = _best_reading(body, told[1] if told else SEPARATORS, given=given)
    if fewest == 1 and not any(mark in lines[start] for mark in SEPARATORS):
        # A comma below such a name is a decimal mark.
        best = _reading(body, "\t", given, fewest) or best
    if best is None:
        raise InvalidInputError(
            "only one column was found; columns must be separated by comma, semicolon, tab, |, "
            "or white space. If there are many lines above the names, say where these are with "
            "--header-row."
        )
    return start, best


# Titles, header and units, in text and in spreadsheets alike
# -----------------------------------------------------------

_MOST_TITLES = 20
_LONGEST_UNIT = 15


@dataclass(frozen=True, kw_only=True)
class HeaderPlace:
    """Which rows of cells hold names and units; what is above them are titles.

    Attributes
    ----------
    header : int
        The row of the names.
    units : int or None
        The row below it, if it holds units.
    """

    header: int
    units: int | None

    @property
    def body(self) -> int:
        """The first row below names and units."""
        return (self.header if self.units is None else self.units) + 1

    def notes(self, numbers: Sequence[int], rows: Cells, word: str) -> tuple[str, ...]:
        """Say what was taken for titles and units, with the numbers of these rows in the file."""
        found = []
        titles = self.header
        if self.header and names_of(rows, self.header) != list(rows[self.header]):
            titles -= 1
            both = f"{word}s {numbers[titles]} and {numbers[self.header]}"
            found.append(f"{both} were taken for names together.")
        for i in range(titles):
            cells = [cell for cell in map(str.strip, rows[i]) if cell]
            if cells:
                shown = shortened(" ".join(cells))
                found.append(f"{word} {numbers[i]} was taken for a title: {shown}.")
        if self.units is not None:
            units = dict.fromkeys(cell.strip() for cell in rows[self.units] if cell.strip())
            shown = listed(list(units), 4, shortened)
            found.append(f"{word} {numbers[self.units]} was taken for units: {shown}.")
        return tuple(found)


def find_header(rows: Cells, *, given: bool = False) -> HeaderPlace:
    """Find names and units in the first rows of a table, which are texts of cells.

    Rows at the top with at most a third as many cells as most rows have are titles. The row below
    the names is one of units if there are numbers below it, but none in it.

    Parameters
    ----------
    rows : sequence of sequences of str
        Empty where there is nothing.
    given : bool
        The first row holds the names, whatever it looks like.

    Examples
    --------
    >>> find_header([["Meat"], ["fat", "1100", "1102"], ["1.5", "0.2", "0.3"]])
    HeaderPlace(header=1, units=None)
    >>> find_header([["fat", "1100", "1102"], ["%", "nm", "nm"], ["1.5", "0.2", "0.3"]])
    HeaderPlace(header=0, units=1)
    """
    counts = [sum(bool(cell.strip()) for cell in row) for row in rows]
    common = Counter(counts).most_common()
    width = max(count for count, often in common if often == common[0][1])
    header = 0
    if not given:
        few, last = max(1, width // 3), min(_MOST_TITLES, len(rows) - 1)
        while header < last and (
            counts[header] <= few < width
            or (counts[header] < width and rows[header][0].startswith("#"))
        ):
            header += 1
        header = 0 if header == last else header  # all are short: these are not titles
    below = header + 1
    has_units = below + 1 < len(rows) and _are_units(rows[below], rows[below + 1 :])
    return HeaderPlace(header=header, units=below if has_units else None)


def names_of(rows: Cells, header: int) -> list[str]:
    """Return the names in a row; where a cell is empty, that of the row above, if it has one."""
    names = list(rows[header])
    above = rows[header - 1] if header else []
    if sum(bool(cell.strip()) for cell in above) < 2:  # a title, not some of the names
        return names
    return [name if name.strip() or i >= len(above) else above[i] for i, name in enumerate(names)]


def _are_units(row: Sequence[str], below: Cells) -> bool:
    """Whether a row has text, and no number, where rows below have numbers."""
    texts = 0
    for i, cell in enumerate(map(str.strip, row)):
        values = [one[i].strip() for one in below if i < len(one)]
        values = [value for value in values if value.lower() not in _NO_VALUE]
        numeric = sum(map(looks_numeric, values))
        if not numeric or numeric < 0.8 * len(values):
            continue
        if looks_numeric(cell):
            return False
        if cell and (cell.lower() in _NO_VALUE or len(cell) > _LONGEST_UNIT):
            return False
        texts += bool(cell)
    return texts > 0


def column_names(
    header: Sequence[Any], units: Sequence[str] = ()
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return names with single plain blanks only, and those made up for columns without one.

    Line ends in names, and blanks that do not break a line, cannot be typed in a command. Names
    that are numbers get their unit, so that it is known wherever they are shown.

    Examples
    --------
    >>> column_names(["fat", "1100", ""], ["%", "nm", "nm"])
    (('fat', '1100 nm', 'unnamed 3'), ('unnamed 3',))
    """
    names, unnamed = [], []
    for position, (entry, unit) in enumerate(zip_longest(header, units[: len(header)]), start=1):
        name = " ".join(str(entry).split())
        if name and unit and not header_unit(name) and header_unit(f"{name} {unit.strip()}"):
            name = f"{name} {unit.strip()}"
        if not name:
            name = f"unnamed {position}"
            unnamed.append(name)
        names.append(name)
    counts = Counter(names).items()
    repeated = [f"{shortened(name)} ({count} times)" for name, count in counts if count > 1]
    if repeated:
        raise InvalidInputError(
            f"column names must differ; found {listed(repeated, 3)}. Rename or delete one of them; "
            "if the names are in another line, say so with --header-row."
        )
    return tuple(names), tuple(unnamed)


# Reading the rows: as a whole, or some at a time
# -----------------------------------------------


def read_frames(
    source: bytes | Path,
    layout: Layout,
    *,
    na: Sequence[str] = (),
    rows_at_once: int | None = None,
    columns: Sequence[str] | None = None,
) -> Generator[Any, None, None]:
    """Yield the rows of a text table as data frames: one, or some rows at a time.

    Blank lines are rows without any value.

    Parameters
    ----------
    source : bytes or Path
        The content of the file, or where it is.
    layout : Layout
    na : sequence of str
        What stands for a missing value, besides empty fields, NA, NaN and the like.
    rows_at_once : int, optional
        Rows of a frame; all by default.
    columns : sequence of str, optional
        Names of the columns to read; all by default.
    """
    pandas = require_pandas()
    opened = _opened(source, layout.encoding, layout.lines_above)
    with opened as stream, warnings.catch_warnings():
        # Rows that are longer than the header are an error, not a reason to lose data.
        warnings.simplefilter("error", pandas.errors.ParserWarning)
        try:
            found = pandas.read_csv(
                stream,
                sep=layout.separator,
                decimal=layout.decimal,
                header=None,
                names=list(layout.names),
                index_col=False,
                na_values=[*FAILED_FORMULAS, *na],
                engine="c",
                low_memory=False,
                skipinitialspace=True,
                chunksize=rows_at_once,
                # They are left out later, so that rows below them keep their numbers.
                skip_blank_lines=False,
                usecols=None if columns is None else list(columns),
                **_exact(pandas),
            )
            is_even = columns is not None
            for frame in [found] if rows_at_once is None else found:
                # A value is missing, or a field is.
                if not is_even and frame.iloc[:, -1].isna().any():
                    if ragged := ragged_line(source, layout):
                        raise InvalidInputError(ragged)
                    is_even = True
                yield frame
        except pandas.errors.EmptyDataError:
            yield pandas.DataFrame({name: [] for name in layout.names})
        except PlsdofError:
            raise
        except Exception as error:  # whatever a damaged file makes the parser raise
            with suppress(csv.Error):
                if ragged := ragged_line(source, layout):
                    raise InvalidInputError(ragged) from error
            raise unreadable(error) from error


@contextmanager
def _opened(source: bytes | Path, encoding: str, lines_above: int = 0) -> Iterator[IO[str]]:
    """Open text below some lines, with plain line ends: mixed ones make older pandas slow."""
    binary = io.BytesIO(source) if isinstance(source, bytes) else source.open("rb")
    with io.TextIOWrapper(binary, encoding=encoding, newline=None) as stream:
        for _ in range(lines_above):
            stream.readline()
        yield stream


def unreadable(error: Exception) -> InvalidInputError:
    """Return the error for a file that could not be read, with its reason in one line."""
    said = (getattr(error, "strerror", None) or "").lower() or " ".join(str(error).split())
    reason = said.removeprefix("Error tokenizing data. C error: ")[:200].rstrip(".")
    return InvalidInputError(f"the file could not be read: {reason or type(error).__name__}.")


def _exact(pandas: Any) -> dict[str, str]:
    """Ask for correctly rounded numbers where that is not the default (pandas before 3.1)."""
    major, minor = map(int, pandas.__version__.split(".")[:2])
    return {"float_precision": "round_trip"} if (major, minor) < (3, 1) else {}


def require_pandas() -> Any:
    """Return pandas, or say how to install it."""
    return extra_module("pandas", "pandas", "files", "Reading tables")


def extra_module(name: str, package: str, extra: str, purpose: str) -> Any:
    """Import a module of an optional package, or say which extra of ours has it."""
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingExtraError(package, extra, purpose) from error


def ragged_line(source: bytes | Path, layout: Layout) -> str:
    """Describe the first row that has another number of fields than the header; "" without one."""
    with _opened(source, layout.encoding, layout.lines_above) as stream:
        rows = _fields(stream, layout.separator)
        for row in rows:
            if any(cell.strip() for cell in row) and len(row) != len(layout.names):
                return (
                    f"line {layout.lines_above + rows.line_num} has {len(row)} field(s) instead of "
                    f"{len(layout.names)}; every row must have all columns. If it is a remark, "
                    "delete it; if the names are in another line, say so with --header-row."
                )
    return ""


def cut_note(end: bytes) -> tuple[str, ...]:
    r"""Say that the last line of a file has no end, from the last bytes of the file.

    Examples
    --------
    >>> cut_note(b"1.5,2.5\r\n"), len(cut_note(b"1.5,2."))
    ((), 1)
    """
    # In UTF-16 a line end has NUL bytes around it.
    if end.rstrip(b"\0 \t").endswith((b"\n", b"\r")):
        return ()
    return ("The last line has no line end: if the file was cut off, the last value may be wrong.",)


def read_cells(content: bytes, *, skip_rows: int = 0) -> tuple[list[list[str]], str, str]:
    """Return all cells of a text table as they are written, the decimal mark, and a description.

    The first field of every line may be the name of what follows it.
    """
    encoding = find_encoding(content)
    start, best = _first_lines(content, encoding, skip_rows, given=True)
    with _opened(content, encoding, start) as stream:
        rows = _fields(stream, best.separator)
        cells = [row for row in rows if any(cell.strip() for cell in row)]
    return cells, best.decimal, _in_words(best.separator, best.decimal, encoding)


# Numbers as people write them
# ----------------------------

# Blanks that do not break a line, and thin ones, are blanks; a minus sign is a hyphen.
_SIGNS = str.maketrans({"\u00a0": " ", "\u202f": " ", "\u2009": " ", "\u2212": "-"})
_GROUPED = re.compile(r"([+-]?\d{1,3})((?:[ ']\d{3})+)([.,]\d+)?")
# Only what is known for a unit: 12 A may be the name of a sample.
_SINGLE_UNIT = (
    r"(?:%|‰|ppm|ppb|[kcmµμn]?g|[mµμ]?[lL]|dl|hl|[mµμn]?mol|[mµμ]?M|nm|[µμ]m|[cm]m|cm-1|kg|°C?|°Brix|"
    r"°Bx|Brix|K|AU|a\.u\.|h|min|s|[kM]?Pa|bar|[kM]?J|kcal|[mkM]?V|wt ?%|vol ?%|(?:w/w|v/v|m/m))"
)
_WITH_UNIT = re.compile(
    rf"(?P<number>[+-]?[\d.,][\d.,' ]*(?:[eE][+-]?\d+)?) ?"
    rf"(?P<unit>{_SINGLE_UNIT}(?: ?[/·] ?(?:\d+ ?)?{_SINGLE_UNIT})*)"
)


def tidy(text: str) -> str:
    r"""Return a text with plain blanks and signs, without blanks around it and in a number.

    Examples
    --------
    >>> tidy("\u00a0\u22121\u202f234,5 "), tidy("a b")
    ('-1234,5', 'a b')
    """
    plain = text.translate(_SIGNS).strip()
    found = _GROUPED.fullmatch(plain)
    if found is None:
        return plain
    return found[1] + re.sub("[ ']", "", found[2]) + (found[3] or "")


def without_unit(text: str) -> tuple[str, str]:
    """Split a tidy text into a number and its unit, if it is known to be one.

    Examples
    --------
    >>> without_unit("12.5 %"), without_unit("3 g/100g"), without_unit("12 A")
    (('12.5', '%'), ('3', 'g/100g'), ('12 A', ''))
    """
    found = _WITH_UNIT.fullmatch(text)
    return (text, "") if found is None else (tidy(found["number"]), found["unit"])


def as_number(text: str, decimal: str) -> float:
    """Return the number that a tidy text stands for, nan if it is none."""
    if _NUMBER[decimal].fullmatch(text) or _INFINITY.fullmatch(text):
        return float(text.replace(",", "."))
    return math.nan


def looks_numeric(cell: str, marks: str = ".,") -> bool:
    """Whether a text is a number, by one of the decimal marks, with or without a unit."""
    if any(_NUMBER[mark].fullmatch(cell) for mark in marks):
        return True
    number, _ = without_unit(tidy(cell))
    return not all(math.isnan(as_number(number, mark)) for mark in marks)


def as_numbers(values: Sequence[Any], decimal: str) -> tuple[Array, str]:
    """Return values as numbers, nan where they are none, and the unit that all numbers have.

    Marks between thousands are left out where it is certain that they are that.

    Examples
    --------
    >>> as_numbers(["1,5", 2.5, True, "3 %", "2024-01-01"], ",")
    (array([1.5, 2.5, 1. , 3. , nan]), '%')
    """
    known = [isinstance(one, float | bool | np.number) for one in values]
    found = np.array([float(one) if k else math.nan for one, k in zip(values, known, strict=True)])
    texts = [tidy(str(one)) for one, k in zip(values, known, strict=True) if not k]
    split = [without_unit(text) for text in without_thousands(texts, decimal) or texts]
    units = {unit for _, unit in split if unit}
    found[~np.array(known, dtype=bool)] = [
        math.nan if unit and len(units) > 1 else as_number(number, decimal)
        for number, unit in split
    ]
    return found, units.pop() if len(units) == 1 else ""


def without_thousands(texts: Sequence[str], decimal: str) -> list[str] | None:
    """Return the numbers of a column without the marks between their thousands.

    None unless it is certain that the mark which is not the decimal one stands there: it is always
    followed by three digits, and some number has it twice, or the decimal mark after it.

    Examples
    --------
    >>> without_thousands(["16,004.81", "950.2", "1,234"], ".")
    ['16004.81', '950.2', '1234']
    >>> without_thousands(["1.234.567"], ",")
    ['1234567']
    >>> without_thousands(["1,234", "999"], "."), without_thousands(["16,4.81"], ".")
    (None, None)
    """
    other = "," if decimal == "." else "."
    marked = [text for text in texts if other in text]
    pattern = re.compile(rf"[+-]?[1-9]\d{{0,2}}(?:[{other}]\d{{3}})+(?:[{decimal}]\d*)?")
    if not marked or not all(map(pattern.fullmatch, marked)):
        return None
    if not any(text.count(other) > 1 or decimal in text for text in marked):
        return None
    return [text.replace(other, "") for text in texts]


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


# What separates the fields of the first lines
# --------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _Reading:
    """The first lines, read with one separator, and how well that explains them.

    ``rows`` are all of them, ``lines`` the number of the last line of each, ``place`` says which
    hold names and units. ``extra`` is the position of the name that was added to the header;
    ``width`` the number of fields of most lines below it, 0 if they have different ones.
    """

    separator: str
    decimal: str
    rows: Cells
    lines: Sequence[int]
    place: HeaderPlace
    header: list[str]
    extra: int | None
    width: int
    longest: int
    fit: tuple[float, float, int]

    @property
    def lacks_names(self) -> bool:
        """Whether the header has fewer fields than most lines below it."""
        return self.width > len(self.header)


def _best_reading(text: str, separators: Sequence[str], *, given: bool) -> _Reading | None:
    readings = (_reading(text, mark, given) for mark in separators)
    found = [one for one in readings if one is not None]
    # What takes the names of an even table for a title, and its first row for names, is wrong.
    found = [one for one in found if not any(_is_below(one, other) for other in found)]
    found.sort(key=lambda one: one.fit, reverse=True)  # the first one of the best stays first
    whole = next((one for one in found if not one.lacks_names), None)
    if whole is not None and whole.fit[0] > 0:
        return whole
    # A single column whose name has a blank in it is not a table.
    blanks = _reading(text, WHITE_SPACE, given)
    if blanks is not None and blanks.fit[0] == 1.0:
        return blanks
    return next((one for one in found if one.lacks_names), whole)


def _is_below(one: _Reading, other: _Reading) -> bool:
    """Whether a reading begins below the names of another one that has the same rows, all even."""
    first, names = one.lines[one.place.header], other.lines[other.place.header]
    return (
        other.fit[0] == 1.0
        and len(other.header) > 1
        and names < first <= other.lines[other.place.body]
    )


def _reading(text: str, separator: str, given: bool, fewest: int = 2) -> _Reading | None:
    """Read the first lines with a separator; None if that cannot be the one."""
    reader = _fields(io.StringIO(text, newline=None), separator)
    try:
        found = [(row, reader.line_num) for row in reader if any(map(str.strip, row))]
    except csv.Error:  # a "field" of more than 131,072 characters
        return None
    rows, lines = [row for row, _ in found], [line for _, line in found]
    if not rows or max(map(len, rows)) < fewest:
        return None
    place = find_header(rows, given=given)
    body = rows[place.body :]
    header, extra = _completed(names_of(rows, place.header), body)
    width, count = Counter(map(len, body)).most_common(1)[0] if body else (0, 0)
    width = width if 2 * count > len(body) else 0
    if max(len(header), width) < fewest:
        return None
    even = sum(len(row) == len(header) for row in body) / max(1, len(body))
    # Between commas, decimal commas are in quotes, and so are commas between thousands.
    decimal = decimal_mark(body, certain=separator == ",")
    return _Reading(
        separator=separator,
        decimal=decimal,
        rows=rows,
        lines=lines,
        place=place,
        header=header,
        extra=extra,
        width=width,
        longest=max(map(len, text.splitlines())),
        fit=(round(even, 2), round(_numeric_share(body, decimal), 2), len(header)),
    )


def _fields(lines: Iterable[str], separator: str) -> Any:
    """Return a reader of the fields of lines; blanks around them do not count."""
    if separator == WHITE_SPACE:
        lines, separator = (line.expandtabs(1).strip() for line in lines), " "
    return csv.reader(lines, delimiter=separator, skipinitialspace=True)


def _completed(header: list[str], body: Cells) -> tuple[list[str], int | None]:
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


def _short_header(reading: _Reading, start: int) -> InvalidInputError:
    n, header = len(reading.header), reading.place.header
    line = start + reading.lines[header]
    shown = shortened(" ".join(cell.strip() for cell in reading.rows[header]))
    return InvalidInputError(
        f"the header has {n} name{'s' * (n != 1)}, but rows have {reading.width} fields; line "
        f"{line}, {shown}, must hold the names of all columns. If they are in another line, say so "
        "with --header-row; a column of row names needs a name, too."
    )


def _unclear_commas(reading: _Reading, names: tuple[str, ...]) -> tuple[str, ...]:
    """Say that 1,234 is read as 1.234, and refuse it beside 999, unless other numbers are clear."""
    rows = [
        [cell.strip() for cell in row]
        for row in reading.rows[reading.place.body :]
        if len(row) == len(names)
    ]
    commas = [cell for row in rows for cell in row if "," in cell and _NUMBER[","].fullmatch(cell)]
    if reading.decimal != "," or not commas or not all(map(_UNCLEAR.fullmatch, commas)):
        return ()
    for name, column in zip(names, zip(*rows, strict=True), strict=False):
        unclear = next(filter(_UNCLEAR.fullmatch, column), None)
        whole = next(filter(_WHOLE.fullmatch, column), None)
        if unclear and whole:
            raise InvalidInputError(
                f"column {shortened(name)} has {shortened(unclear)} and {shortened(whole)}: the "
                "comma may stand between thousands or before decimals. Write thousands without a "
                "comma, and decimals with a point."
            )
    first = commas[0]
    return (
        f"{shortened(first)} was read as {first.replace(',', '.')}: the comma was taken for a "
        "decimal mark, as in all numbers of the first lines. If it stands between thousands, write "
        "them without it.",
    )


def decimal_mark(body: Cells, *, certain: bool = False) -> str:
    """Return the mark by which more cells are numbers: a point, or, to be certain, a clear comma.

    Examples
    --------
    >>> decimal_mark([["12,73", "7"]], certain=True), decimal_mark([["1,234", "7"]], certain=True)
    (',', '.')
    """
    cells = (cell.strip() for row in body for cell in row if "," in cell)
    clear = (_NUMBER[","].fullmatch(one) and not _UNCLEAR.fullmatch(one) for one in cells)
    if certain and not any(clear):
        return "."
    shares = {mark: _numeric_share(body, mark) for mark in ".,"}
    return max(shares, key=lambda mark: shares[mark])


def _numeric_share(body: Cells, mark: str) -> float:
    cells = [cell.strip() for row in body for cell in row]
    cells = [cell for cell in cells if cell.lower() not in _NO_VALUE]
    numeric = sum(looks_numeric(cell, mark) for cell in cells)
    return numeric / max(1, len(cells))
