"""Text tables: how they are written, and their rows as data frames, whole or some at a time."""

import codecs
import csv
import io
import re
import warnings
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from plsdof.errors import InvalidInputError, MissingExtraError, PlsdofError
from plsdof.workbench.tables.columns import shortened
from plsdof.workbench.tables.header import HeaderPlace, column_names, find_header, names_of
from plsdof.workbench.tables.numbers import (
    FAILED_FORMULAS,
    NO_VALUE,
    NUMBER,
    UNCLEAR,
    WHOLE,
    Cells,
    decimal_mark,
    looks_numeric,
    numeric_share,
)

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
            "or white space. If there are many lines above the names, say which line holds them "
            "(header row)."
        )
    return start, best


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
                    "delete it; if the names are in another line, say which (header row)."
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
        fit=(round(even, 2), round(numeric_share(body, decimal), 2), len(header)),
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
    known = [cell.strip() for cell in cells if cell.strip().lower() not in NO_VALUE]
    if not any(map(looks_numeric, known)):
        return bool(known)
    return any(known == [str(first + i) for i in range(len(cells))] for first in (0, 1))


def _short_header(reading: _Reading, start: int) -> InvalidInputError:
    n, header = len(reading.header), reading.place.header
    line = start + reading.lines[header]
    shown = shortened(" ".join(cell.strip() for cell in reading.rows[header]))
    return InvalidInputError(
        f"the header has {n} name{'s' * (n != 1)}, but rows have {reading.width} fields; line "
        f"{line}, {shown}, must hold the names of all columns. If they are in another line, say "
        "which (header row); a column of row names needs a name, too."
    )


def _unclear_commas(reading: _Reading, names: tuple[str, ...]) -> tuple[str, ...]:
    """Say that 1,234 is read as 1.234, and refuse it beside 999, unless other numbers are clear."""
    rows = [
        [cell.strip() for cell in row]
        for row in reading.rows[reading.place.body :]
        if len(row) == len(names)
    ]
    commas = [cell for row in rows for cell in row if "," in cell and NUMBER[","].fullmatch(cell)]
    if reading.decimal != "," or not commas or not all(map(UNCLEAR.fullmatch, commas)):
        return ()
    for name, column in zip(names, zip(*rows, strict=True), strict=False):
        unclear = next(filter(UNCLEAR.fullmatch, column), None)
        whole = next(filter(WHOLE.fullmatch, column), None)
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
