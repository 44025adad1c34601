"""Tables from files: CSV, Parquet, Excel, spectra of instruments; whole, or a folder of them."""

import codecs
import os
import re
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from plsdof._core.display import plural
from plsdof._core.inputs import Array, as_count
from plsdof._core.threads import cached_property
from plsdof.errors import InvalidInputError
from plsdof.files import text, workbooks
from plsdof.files.columns import listed, shortened, shortened_path
from plsdof.files.instruments import Spectra, is_spectra, joined, read_spectra
from plsdof.files.workbooks import Percent, Row, Sheet

# A table as it was read from a file: names, numbers, and what is neither
# -----------------------------------------------------------------------

# Below or above a limit of detection.
_LIMITED = re.compile(r"[<>≤≥] ?[\d.,]+.*")
# What spreadsheets call rows that sum up those above.
SUMMARY = re.compile(
    r"(mean|average|avg|median|s\.?d|std\.?( ?dev)?|st(d|andard)? ?dev(iation)?|rsd|c\.?v|"
    r"min(imum)?|max(imum)?|sum|total|count|n|mittelwert|summe|moyenne|media|promedio)"
    r"( value)?[.:]*",
    re.IGNORECASE,
)
_INFINITE = (
    "infinite, or too large for a number; correct the file, or leave the row out with --na inf "
    "--missing drop."
)
_MISSING = (
    "missing; remove such rows (--missing drop), fill the values in, or leave the column out."
)
# Rows of a sheet that are looked at for titles, names and units.
_SAMPLE_ROWS = 40


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
    notes : tuple of str
        What was recognised in the file: titles, units, cells beside the table.
    sheets : tuple of str
        Other sheets of the file.
    na : frozenset of float
        Numbers that stand for a missing value.
    row_names : tuple of str
        Texts of a first column without a name, which was left out; empty if there is none.
    blank : tuple of int
        Rows without any value, which were left out, by their numbers.
    percent : frozenset of str
        Columns that a sheet shows as percent, but stores as fractions.
    counts : tuple of int
        How many rows of the file each row is the mean of; empty if they were not averaged.
    """

    source: str
    frame: Any
    names: tuple[str, ...]
    described: str
    decimal: str = "."
    declared_text: frozenset[str] = frozenset()
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    sheets: tuple[str, ...] = ()
    na: frozenset[float] = frozenset()
    row_names: tuple[str, ...] = ()
    blank: tuple[int, ...] = ()
    percent: frozenset[str] = frozenset()
    counts: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.frame)

    @cached_property
    def row_numbers(self) -> npt.NDArray[np.intp]:
        """Numbers of the rows in the file: 1 is the first one below the names, blank ones count."""
        return np.setdiff1d(np.arange(1, len(self) + len(self.blank) + 1), self.blank)

    @cached_property
    def numeric(self) -> frozenset[str]:
        """Columns that were read as numbers throughout."""
        is_numeric = text.require_pandas().api.types.is_numeric_dtype
        dtypes = zip(self.names, self.frame.dtypes, strict=True)
        return frozenset(name for name, one in dtypes if is_numeric(one) and one.kind != "c")

    def is_text(self, name: str) -> bool:
        """Whether a column has values and none of them is a number, by either decimal mark."""
        if name in self.numeric or name in self.declared_text:
            return name in self.declared_text
        values = self.frame[name].dropna().tolist()
        return len(values) > 0 and all(
            np.isnan(text.as_numbers(values, one)[0]).all() for one in ".,"
        )

    def example(self, name: str) -> str:
        """Return the first value of a column, for a message."""
        values = self.frame[name].dropna()
        return shortened(str(values.iloc[0])) if len(values) else "nothing"

    def numbers(self, names: tuple[str, ...], first_row: int = 1, *, gaps: bool = True) -> Array:
        """Return some columns as an array, nan where a value is missing. Shape (rows, columns).

        The first row of the table is number ``first_row`` of the file, for messages. Missing
        values are refused unless there may be ``gaps``.
        """
        if self.numeric.issuperset(names):
            chosen = self.frame[list(names)].to_numpy(dtype=np.float64, na_value=np.nan)
            found = np.array(chosen, order="C", copy=bool(self.na) or None)
        else:
            found = np.column_stack([self._converted(name, first_row) for name in names])
        if self.na:
            found[np.isin(found, list(self.na))] = np.nan
        for wrong, what in (
            (np.isinf(found), _INFINITE),
            (np.zeros(0) if gaps else np.isnan(found), _MISSING),
        ):
            if wrong.any():
                place, column = np.argwhere(wrong)[0].tolist()
                row = self.row_numbers[place] + first_row - 1
                raise InvalidInputError(
                    f"the value in row {row} of column {shortened(names[column])} is {what}"
                )
        return found

    def readable(self, name: str) -> tuple[Array, dict[int, str]]:
        """Return a column with nan where a value cannot be read, and these values by their rows."""
        column, found = self.frame[name], self._read(name)[0]
        wrong = np.isinf(found) | (np.isnan(found) & column.notna().to_numpy(dtype=bool))
        found[wrong | np.isin(found, list(self.na))] = np.nan
        places = np.flatnonzero(wrong).tolist()
        return found, {int(self.row_numbers[i]): str(column.iloc[i]) for i in places}

    def _read(self, name: str) -> tuple[Array, str]:
        """Return a column as numbers, nan where it has none, and their unit."""
        column = self.frame[name]
        if name in self.numeric:
            return np.array(column.to_numpy(dtype=np.float64, na_value=np.nan)), ""
        return text.as_numbers(column.tolist(), self.decimal)

    def unit(self, name: str) -> str:
        """Return the unit that numbers of a column are written with, and how many; or ""."""
        if name in self.numeric or name in self.declared_text:
            return ""
        unit, known = self._read(name)[1], self.frame[name].dropna().map(str)
        count = int(known.map(lambda value: value.rstrip().endswith(unit)).sum())
        return unit if count == len(known) else f"{unit}, in {count} of {len(known)} values"

    def grouped(self, name: str) -> str:
        """Return the first number of a column that is read without marks in it, or ""."""
        if name in self.numeric or name in self.declared_text:
            return ""
        known = self.frame[name][~np.isnan(self._read(name)[0])].map(str)
        marks = re.compile(rf"\d[^\w{self.decimal}+-]\d")
        return next((shortened(one) for one in known if marks.search(one)), "")

    def with_names(self, X: Array, names: tuple[str, ...]) -> Any:
        """Return an array as a data frame with the names of its columns (no copy)."""
        return text.require_pandas().DataFrame(X, columns=list(names), copy=False)

    def _converted(self, name: str, first_row: int) -> Array:
        if name in self.declared_text:
            raise InvalidInputError(
                f"column {shortened(name)} is not numeric but text, such as {self.example(name)}; "
                "leave it out, or store it as numbers."
            )
        column, (numbers, unit) = self.frame[name], self._read(name)
        wrong = np.flatnonzero(column.notna().to_numpy() & np.isnan(numbers))
        if len(wrong):
            value = str(column.iloc[wrong[0]])
            advice = text.other_mark(value, self.decimal) or _advice(
                value, len(wrong) == len(column)
            )
            if unit:
                advice = f"Others have the unit {unit!r}. {advice}"
            raise InvalidInputError(
                f"column {shortened(name)} is not numeric: {len(wrong)} of {len(column)} values "
                f"cannot be read as numbers, the first one is {shortened(value)} in row "
                f"{self.row_numbers[wrong[0]] + first_row - 1}. {advice}"
            )
        return numbers


def _advice(value: str, always: bool) -> str:
    """Say what to do about a value that is not a number, the first one of some or of all."""
    code = shlex.quote(value[:20])
    if SUMMARY.fullmatch(text.tidy(value)):
        return (
            "That row looks like a summary, not a sample: delete it, or leave it out with --na "
            f"{code} --missing drop."
        )
    if _LIMITED.fullmatch(text.tidy(value)):
        return (
            "It is beyond what could be measured: write a number, such as half the limit of "
            f"detection, or leave such rows out with --na {code} --missing drop."
        )
    if always:
        return "Leave the column out."
    return (
        f"Correct the file or leave the column out; if it means a missing value, add --na {code}."
    )


def without_unnamed(table: Table, unnamed: tuple[str, ...], row_names: str = "") -> Table:
    """Leave out columns without a name that are empty, or hold row numbers or row names."""
    gone = tuple(name for name in unnamed if name == row_names or _is_margin(table, name))
    if not gone:
        return table
    names = tuple(name for name in table.names if name not in gone)
    first = table.names[0]
    texts: tuple[str, ...] = ()
    if first in gone and table.is_text(first):
        texts = tuple(text.tidy(str(one)) for one in table.frame[first].fillna(""))
    frame = table.frame[list(names)]
    return replace(table, frame=frame, names=names, left_out=gone, row_names=texts)


def _is_margin(table: Table, name: str) -> bool:
    column = table.frame[name]
    if column.isna().all():
        return True
    if name != table.names[0] or name not in table.numeric:
        return name == table.names[0] and table.is_text(name)
    # Whole numbers that increase from row to row number the rows, even with gaps.
    values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    return bool(np.all(values % 1.0 == 0.0) and np.all(np.diff(values) > 0.0))


# Tables from files: CSV and its relatives, Parquet, Excel; always with a reason if it fails
# ------------------------------------------------------------------------------------------

# Files that are recognised by their first bytes, whatever they are called.
PARQUET, ZIP = b"PAR1", b"PK\x03\x04"
_PACKED = "compressed; decompress it first."
_PAGE = "a web page (HTML or XML), whatever it is called; open it in a spreadsheet and save .xlsx."
_DATA = "JSON, not a table; save the table as CSV."
_REFUSED = {
    (b"\xd0\xcf\x11\xe0",): "an old Excel file (.xls) or a protected one; save it as .xlsx or CSV.",
    (b"\x1f\x8b", b"bzh", b"\xfd7zxz", b"\x28\xb5\x2f\xfd"): _PACKED,
    (b"%pdf", b"\x89png", b"\x89hdf"): "a document, a picture or HDF5; save the table as CSV.",
    # Text that is not a table, below blank lines.
    (b"<!doctype", b"<html", b"<table", b"<?xml"): _PAGE,
    (b"##title",): "a spectrum in JCAMP-DX, which is read as a whole; leave out --streamed.",
    (b'{"', b"[{"): _DATA,
}
_BLANKS_ABOVE = 1000
# Rows of a Parquet file that are taken at a time, and bytes that are read ahead in every column.
_BATCH, _BUFFER = 4096, 1 << 14
# Bytes that hold the end of the last line of a text.
_END = 64


def read_table(
    file: str | os.PathLike[str],
    *,
    sheet: str | None = None,
    header_row: int | None = None,
    skip_rows: int = 0,
    transpose: bool = False,
    na: Sequence[str] = (),
    one_column: bool = False,
) -> Table:
    r"""Read a table with one line of column names from a file, or from all files of a folder.

    What the file is, its first bytes tell, not its name: Parquet, Excel (.xlsx), spectra of an
    instrument (JCAMP-DX, SPC, OPUS, MATLAB, two columns of text; `files.instruments`), or text. For
    text see `files.text.sniff`: separator ``, ; tab |`` or white space, decimal point or
    comma, UTF-8, UTF-16, Latin-1 or Windows-1252. Columns of TRUE and FALSE are read as 1 and 0.
    Titles above the names and a line of units below them are recognised, see ``notes`` of the
    result, and so are numbers with one known unit, blanks between thousands, and what spreadsheets
    write for formulas that fail.

    Parameters
    ----------
    file : path
        Files of a folder must have the same columns, in any order; their rows are put below each
        other in the order of the names of the files. Names that begin with a dot or an underscore
        are passed over. Files of spectra must have one axis; a file may hold one spectrum.
    sheet : str, optional
        Name of the sheet of an Excel file; the first one by default. Or of the matrix of spectra
        in a MATLAB file.
    header_row : int, optional
        The line (or row of the sheet) that holds the names, counted from 1; found by default.
    skip_rows : int
        Number of lines at the top that do not count.
    transpose : bool
        The names are in the first column, and every other column is a row of the table.
    na : sequence of str
        What stands for a missing value, such as "-999" or "n.d.".
    one_column : bool
        Whether a text without any separator is a table of one column; refused by default.

    Returns
    -------
    Table
        With the names of the columns, a pandas ``frame``, ``numbers(names)`` of some columns as an
        array, and ``notes`` on what was recognised.

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
    path = Path(file)
    how = _How(
        sheet=sheet,
        header_row=None if header_row is None else as_count(header_row, "header_row", minimum=1),
        skip_rows=as_count(skip_rows, "skip_rows"),
        transpose=transpose,
        na=(str(na),) if isinstance(na, str | float | int) else tuple(map(str, na)),
        one_column=one_column,
    )
    if not path.is_dir():
        return _read_file(os.fspath(file), how)
    files = files_in(path)
    if holds_spectra(files[0]):
        parts = []
        for one in files:
            with reading(str(one)):
                parts.append((str(one), _spectra(one.read_bytes(), how)))
        return _from_spectra(parts, os.fspath(file), how)
    table = stacked([_read_file(str(one), how) for one in files], os.fspath(file))
    described = f"{len(files)} file(s), the first one: {table.described}"
    return replace(table, described=described)


def _read_file(source: str, how: "_How") -> Table:
    with reading(source):
        table = _parsed(Path(source).read_bytes(), source, how)
        if not len(table):
            raise InvalidInputError("there is a header but no row below it.")
    return table


def holds_spectra(file: Path) -> bool:
    """Whether a file is one of spectra of an instrument."""
    with reading(str(file)):
        return is_spectra(file.read_bytes())


@contextmanager
def reading(source: str) -> Iterator[None]:
    """Begin the messages of errors with the file, and say in a line why it cannot be read."""
    try:
        yield
    except InvalidInputError as error:
        raise InvalidInputError(f"{shortened_path(source)}: {error}") from error
    except (OSError, ValueError, NotImplementedError) as error:  # of the system, or of a parser
        raise InvalidInputError(f"{shortened_path(source)}: {text.unreadable(error)}") from error


@dataclass(frozen=True, kw_only=True)
class _How:
    """How a table is to be read: the options of `read_table`."""

    sheet: str | None
    header_row: int | None
    skip_rows: int
    transpose: bool
    na: tuple[str, ...]
    one_column: bool

    @property
    def numbers(self) -> frozenset[float]:
        """The numbers among what stands for a missing value."""
        found = (text.as_number(code.strip().replace(",", "."), ".") for code in self.na)
        return frozenset(number for number in found if not np.isnan(number))

    def require_plain(self, what: str) -> None:
        """Refuse options for lines of text and rows of sheets."""
        if self.header_row or self.skip_rows or self.transpose:
            raise InvalidInputError(f"{what}; leave out --header-row, --skip-rows and --transpose.")


def require_table(content: bytes) -> None:
    """Refuse files that are known not to be tables, by how they begin."""
    start = content[:_BLANKS_ABOVE].removeprefix(codecs.BOM_UTF8).lstrip().lower()
    for marks, what in _REFUSED.items():
        if start.startswith(marks):
            raise InvalidInputError(f"the file is {what}")


def _spectra(content: bytes, how: _How) -> Spectra:
    how.require_plain("spectra of an instrument have no line of names")
    return read_spectra(content, how.sheet)


def _from_spectra(parts: Sequence[tuple[str, Spectra]], source: str, how: _How) -> Table:
    """Return a row for each spectrum: what names it, and a column for each point of the axis."""
    found = joined(parts)
    texts: dict[str, Any] = {"id": list(found.ids)}
    texts |= {"title": list(found.titles)} if any(found.titles) else {}
    frame = text.require_pandas().DataFrame(found.values, columns=found.names)
    for place, (name, values) in enumerate({**texts, **found.columns}.items()):
        frame.insert(place, name, values)
    unit = f" over {found.unit}" if found.unit else ""
    return Table(
        source=source,
        frame=frame,
        names=tuple(frame.columns),
        described=f"{found.format}{unit}, {plural(len(parts), 'file')}",
        declared_text=frozenset(texts),
        notes=found.notes,
        na=how.numbers,
    )


def _parsed(content: bytes, source: str, how: _How) -> Table:
    if is_spectra(content):
        return _from_spectra([(source, _spectra(content, how))], source, how)
    require_table(content)
    if content.startswith(ZIP):
        return _from_excel(content, source, how)
    if how.sheet is not None:
        raise InvalidInputError("a sheet can be chosen in Excel files only; this is none.")
    if content.startswith(PARQUET):
        how.require_plain("a Parquet file has names of its own")
        return replace(Parquet(path=Path(source)).table(), na=how.numbers)
    if how.transpose:
        cells, decimal, described = text.read_cells(content, skip_rows=how.skip_rows)
        rows = [[cell if text.tidy(cell) else None for cell in row] for row in cells]
        turned = workbooks.turned(list(enumerate(rows, start=1)))
        return replace(_from_rows(turned, source, described, how), decimal=decimal)
    return _from_text(content, source, how)


def _from_text(content: bytes, source: str, how: _How) -> Table:
    layout = text.sniff(
        content,
        header_row=how.header_row,
        skip_rows=how.skip_rows,
        fewest=1 if how.one_column else 2,
    )
    (frame,) = text.read_frames(content, layout, na=how.na)
    blank: list[int] = []
    if len(frame) and frame.iloc[:, -1].isna().any():
        known = np.flatnonzero(frame.notna().any(axis=1))
        blank = (np.setdiff1d(np.arange(known.max(initial=-1)), known) + 1).tolist()
        frame = frame.iloc[known].reset_index(drop=True)
    if layout.extra and layout.extra != layout.names[0]:
        require_empty(frame[layout.extra])
    notes = (*layout.notes, *_blank_notes(blank), *text.cut_note(content[-_END:]))
    table = replace(text_table(frame, layout, source, how.numbers), notes=notes, blank=tuple(blank))
    return without_unnamed(table, layout.unnamed, row_names=layout.extra)


def _blank_notes(rows: Sequence[int]) -> tuple[str, ...]:
    if not rows:
        return ()
    return (f"Left out, but counted: blank row{'s' * (len(rows) > 1)} {listed(rows)}.",)


def text_table(
    frame: Any, layout: text.Layout, source: str, na: frozenset[float] = frozenset()
) -> Table:
    """Return rows of a text file as a table with the columns of the frame."""
    return Table(
        source=source,
        frame=frame,
        names=tuple(frame.columns),
        described=layout.described,
        decimal=layout.decimal,
        notes=layout.notes,
        na=na,
    )


def require_empty(column: Any, first_row: int = 1) -> None:
    """Refuse a value in a column without a name that is empty in the first rows."""
    for place in np.flatnonzero(column.notna().to_numpy())[:1]:
        raise InvalidInputError(
            f"{shortened(_spelled(column.iloc[place]))} in row {first_row + place} of column "
            f"{shortened(column.name)} is the first value of a column without a name; give it one."
        )


@dataclass(frozen=True, kw_only=True)
class Parquet:
    """A Parquet file, of which only the description has been read."""

    path: Path

    @property
    def notes(self) -> tuple[str, ...]:
        """That the index of a data frame is left out."""
        if not self._index:
            return ()
        named = [name for name in self._index if not name.startswith("__")]
        which = f" ({listed(named, 3, shortened)})" if named else ""
        return (f"Left out, the index of the data frame{which}: write it as a column to use it.",)

    @cached_property
    def metadata(self) -> Any:
        """What the end of the file says about it."""
        return _arrow("pyarrow.parquet").read_metadata(self.path)

    @cached_property
    def _index(self) -> list[str]:
        """Columns that are the index of a data frame; numbers of rows are not stored as one."""
        known = self.metadata.schema.to_arrow_schema().pandas_metadata or {}
        return [name for name in known.get("index_columns", ()) if isinstance(name, str)]

    @cached_property
    def fields(self) -> dict[str, Any]:
        """Columns by their names without surrounding blanks; not the index of a data frame."""
        schema = self.metadata.schema.to_arrow_schema()
        columns = [field for field in schema if field.name not in self._index]
        names, _ = text.column_names([field.name for field in columns])
        return dict(zip(names, columns, strict=True))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self.fields)

    @cached_property
    def unfit(self) -> set[str]:
        """Columns that do not hold numbers; one of nothing is one of missing values."""
        types = _arrow("pyarrow").types
        kinds = ("floating", "integer", "boolean", "decimal", "null")
        tests = [getattr(types, f"is_{kind}") for kind in kinds]
        return {
            name for name, one in self.fields.items() if not any(test(one.type) for test in tests)
        }

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.metadata.num_rows)

    likely_rows = n_rows

    def pieces(self, names: Sequence[str]) -> Iterator[Table]:
        """Yield these columns, some rows at a time."""
        columns = [self.fields[name].name for name in names]
        # Without a buffer the reader holds whole row groups, which may be the whole file.
        with _arrow("pyarrow.parquet").ParquetFile(
            self.path, metadata=self.metadata, pre_buffer=False, buffer_size=_BUFFER
        ) as file:
            for batch in file.iter_batches(_BATCH, columns=columns):
                yield self._named(batch.select(columns), names)

    def table(self, names: Sequence[str] = ()) -> Table:
        """Read all rows into memory, with these columns or all of them."""
        names = names or self.names
        columns = [self.fields[name].name for name in names]
        found = _arrow("pyarrow.parquet").read_table(self.path, columns=columns)
        return self._named(found.select(columns), names)

    def _named(self, rows: Any, names: Sequence[str]) -> Table:
        frame = rows.to_pandas(ignore_metadata=True).set_axis(list(names), axis=1)
        return Table(
            source=str(self.path),
            frame=frame,
            names=tuple(names),
            described="Parquet",
            declared_text=frozenset(name for name in names if _is_text(frame[name])),
            notes=self.notes,
        )


def _arrow(name: str) -> Any:
    return text.extra_module(name, "pyarrow", "files", "Reading Parquet files")


def _is_text(column: Any) -> bool:
    values = column.cat.categories if hasattr(column, "cat") else column
    return bool(text.require_pandas().api.types.infer_dtype(values) == "string")


# Sheets of Excel, and rows of cells
# ----------------------------------


def _from_excel(content: bytes, source: str, how: _How) -> Table:
    first = max(how.skip_rows + 1, how.header_row or 1)
    sheet = workbooks.read_sheet(content, how.sheet, first)
    rows = workbooks.turned(sheet.rows) if how.transpose else sheet.rows
    table = _from_rows(rows, source, f"Excel, sheet {shortened(sheet.name)}", how)
    notes = (*table.notes, *sheet.notes, *_hidden_notes(sheet, rows, table, how))
    if sheet.others and how.sheet is None:
        there = listed(sheet.others, 6, shortened)
        notes = (*notes, f"Sheet {shortened(sheet.name)} was read; there are also {there}.")
    described = table.described + ", texts with decimal comma" * (table.decimal == ",")
    return replace(table, described=described, sheets=sheet.others, notes=notes)


def _hidden_notes(sheet: Sheet, rows: list[Row], table: Table, how: _How) -> tuple[str, ...]:
    """Say which rows and columns are read although the sheet hides them."""
    along, across = sheet.hidden_rows, sheet.hidden_columns
    if how.transpose:
        across, along = along, across
    first = rows[-1][0] - int(table.row_numbers[-1]) if len(table) else 0
    numbers = [str(row) for row in table.row_numbers.tolist() if row + first in along]
    width = max(len(cells) for _, cells in rows)
    columns = [
        f"row {one}" if how.transpose else f"column {workbooks.column_letters(one)}"
        for one in sorted(across)
        if one <= width
    ]
    said = "Hidden in the sheet, but read:"
    notes = [f"{said} {listed(columns)}."] if columns else []
    if numbers:
        option = ",".join(numbers[:8]) + ",..." * (len(numbers) > 8)
        rows_said = f"{said} {plural(len(numbers), 'row')}. To leave rows out, add "
        notes.insert(0, f"{rows_said}--exclude-rows {option}.")
    return tuple(notes)


def _from_rows(rows: list[Row], source: str, described: str, how: _How) -> Table:
    """Make a table of rows of cells: titles, names, units, values."""
    pandas, word = text.require_pandas(), "Column" if how.transpose else "Row"
    top = [["" if v is None else _spelled(v) for v in cells] for _, cells in rows[:_SAMPLE_ROWS]]
    given = how.header_row is not None and not how.transpose
    place = text.find_header(top, given=given)
    width = max(len(cells) for _, cells in rows[place.header :])
    header = text.names_of(top, place.header)
    units = [] if place.units is None else top[place.units]
    names, unnamed = text.column_names([*header, *[""] * (width - len(header))][:width], units)
    values = [[*cells, *[None] * (width - len(cells))] for _, cells in rows[place.body :]]
    frame = pandas.DataFrame(values, columns=list(names), dtype=object)
    if how.na:
        frame = frame.mask(frame.isin([*how.na, *how.numbers]))
    # Numbers that are texts may have decimal commas.
    body = rows[place.body : _SAMPLE_ROWS]
    written = [[value for value in cells if isinstance(value, str)] for _, cells in body]
    # Blank rows among those below the names, which count.
    first = rows[place.body - 1][0]
    numbers = [number - first for number, _ in rows[place.body :]]
    blank = sorted(set(range(1, max(numbers, default=0))) - set(numbers))
    table = Table(
        source=source,
        frame=frame.infer_objects(),
        names=names,
        described=described,
        notes=(*place.notes([number for number, _ in rows], top, word), *_blank_notes(blank)),
        decimal=text.decimal_mark(written, certain=True),
        na=how.numbers,
        blank=tuple(blank),
        percent=frozenset(
            name
            for row in values[:1]
            for name, value in zip(names, row, strict=True)
            if isinstance(value, Percent)
        ),
    )
    return without_unnamed(table, unnamed)


def _spelled(name: Any) -> str:
    """Spell a column name that is a number (Excel) without a needless .0."""
    return f"{name:.0f}" if isinstance(name, float) and name.is_integer() else str(name)


# A folder of files as one table: which files, and the same columns in all of them
# --------------------------------------------------------------------------------


# Files of a folder are mostly alike, and so is what there is to say of them.
_NOTES_OF_OTHERS = 3


def files_in(path: Path) -> list[Path]:
    """Return a file, or the files of a folder in the order of their names, without hidden ones.

    Names that start with an underscore are those of remarks that other programs leave behind.
    """
    if not path.is_dir():
        return [path]
    with reading(str(path)):
        files = sorted(one for one in path.iterdir() if one.is_file() and one.name[0] not in "._")
        if not files:
            raise InvalidInputError(
                "no file in this folder; give one that holds CSV or Parquet files, or a file."
            )
    return files


def require_same_columns(files: Sequence[tuple[str, Sequence[str]]]) -> None:
    """Refuse files with different columns; each is given by its name and those of its columns."""
    (first, names), *others = files
    for other, other_names in others:
        missing = [name for name in names if name not in set(other_names)]
        added = [name for name in other_names if name not in set(names)]
        for different, what in ((missing, "lacks"), (added, "has the additional")):
            if different:
                raise InvalidInputError(
                    f"{shortened_path(other)} {what} column {shortened(different[0])}, unlike "
                    f"{shortened_path(first)}; all files must have the same columns. Of a folder "
                    "all files are read, but for names that begin with '_' or '.'."
                )


def notes_of_files(notes: Sequence[tuple[str, Sequence[str]]]) -> tuple[str, ...]:
    """Return what was recognised in the first of some files, and in others, with their names."""
    (_, first), *others = notes
    found = [f"{name}: {note}" for name, those in others for note in those if note not in first]
    if len(found) > _NOTES_OF_OTHERS:
        more = f"{len(found) - _NOTES_OF_OTHERS} more notes on other files."
        found = [*found[:_NOTES_OF_OTHERS], more]
    return (*first, *found)


def stacked(tables: Sequence[Table], source: str) -> Table:
    """Put the rows of tables below each other; they must have the same columns.

    Rows are counted through all of them, as they are when they are read piece by piece.
    """
    require_same_columns([(one.source, one.names) for one in tables])
    first = tables[0]
    frames = [table.frame[list(first.names)] for table in tables]
    notes = [
        (Path(table.source).name, [n for n in table.notes if n not in _blank_notes(table.blank)])
        for table in tables
    ]
    return replace(
        first,
        source=source,
        frame=text.require_pandas().concat(frames, ignore_index=True)
        if len(tables) > 1
        else frames[0],
        row_names=tuple(one for table in tables for one in table.row_names),
        blank=(),
        notes=notes_of_files(notes),
        # A decimal comma in one of them is one in all.
        decimal="," if any(table.decimal == "," for table in tables) else ".",
    )
