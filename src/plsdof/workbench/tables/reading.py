"""One reader of tables: text, Parquet, sheets of Excel and spectra of instruments, in batches.

A `Source` is a file of which it is known what kind it is, how it is written and which columns it
has. Its rows come in batches, each a `Table`; a table in memory is one batch.
"""

import codecs
import os
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from plsdof._core.display import plural
from plsdof._core.inputs import as_count
from plsdof._core.remarks import Remark
from plsdof.errors import InvalidInputError
from plsdof.workbench.tables import numbers, text, workbooks
from plsdof.workbench.tables.columns import listed, shortened, shortened_path
from plsdof.workbench.tables.header import column_names, find_header, names_of
from plsdof.workbench.tables.instruments import Spectra, is_spectra, joined, read_spectra
from plsdof.workbench.tables.table import (
    Note,
    Table,
    blank_notes,
    located,
    margins,
    require_empty,
    require_same_columns,
    spelled,
    stacked,
    without,
)
from plsdof.workbench.tables.workbooks import Percent, Row, Sheet

# How a table is to be read
# -------------------------


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How tables are to be read.

    Attributes
    ----------
    sheet : str or None
        Name of the sheet of an Excel file; the first one by default. Or of the matrix of spectra
        in a MATLAB file.
    header_row : int or None
        The line (or row of the sheet) that holds the names, counted from 1; found by default.
    skip_rows : int
        Lines at the top that do not count.
    transpose : bool
        The names are in the first column, and every other column is a row of the table.
    na : tuple of str
        What stands for a missing value, such as "-999" or "n.d.".
    """

    sheet: str | None = None
    header_row: int | None = None
    skip_rows: int = 0
    transpose: bool = False
    na: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what cannot be meant, before a table is read."""
        if self.header_row is not None:
            as_count(self.header_row, "header_row", minimum=1)
        as_count(self.skip_rows, "skip_rows")
        if self.header_row is not None and self.header_row <= self.skip_rows:
            raise InvalidInputError(
                f"header_row {self.header_row} is among the {self.skip_rows} lines that are left "
                "out; give one of them."
            )

    @property
    def missing_numbers(self) -> frozenset[float]:
        """The numbers among what stands for a missing value."""
        found = (numbers.as_number(code.strip().replace(",", "."), ".") for code in self.na)
        return frozenset(number for number in found if not np.isnan(number))

    @property
    def first_row(self) -> int:
        """The first line that counts."""
        return max(self.skip_rows + 1, self.header_row or 1)

    def require_plain(self, what: str) -> None:
        """Refuse options for lines of text and rows of sheets."""
        if self.header_row or self.skip_rows or self.transpose:
            raise InvalidInputError(
                f"{what}; there is no row of names to choose, and nothing to skip or transpose."
            )

    def table(self, file: str | os.PathLike[str], *, one_column: bool = False) -> Table:
        """Read a file, or all files of a folder, into memory; see `read_table`."""
        sources = open_sources(Path(file), self, whole=True, one_column=one_column)
        for source in sources:
            if not len(source.head):
                raise InvalidInputError(
                    f"{shortened_path(str(source.path))}: there is a header but no row below it."
                )
        if len(sources) == 1 and sources[0].path == Path(file):
            return sources[0].head
        found = stacked([one.head for one in sources], os.fspath(file))
        return replace(found, described=f"{len(sources)} file(s), the first one: {found.described}")


def read_table(
    file: str | os.PathLike[str],
    *,
    sheet: str | None = None,
    header_row: int | None = None,
    skip_rows: int = 0,
    transpose: bool = False,
    na: Sequence[str] | str | float = (),
    one_column: bool = False,
) -> Table:
    r"""Read a table with one line of column names from a file, or from all files of a folder.

    What the file is, its first bytes tell, not its name: Parquet, Excel (.xlsx), spectra of an
    instrument (JCAMP-DX, SPC, OPUS, MATLAB, two columns of text; `tables.instruments`), or text.
    For text see `tables.text.sniff`: separator ``, ; tab |`` or white space, decimal point or
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
    sheet, header_row, skip_rows, transpose, na
        See `Reading`.
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
    codes = (str(na),) if isinstance(na, str | float | int) else tuple(map(str, na))
    how = Reading(
        sheet=sheet, header_row=header_row, skip_rows=skip_rows, transpose=transpose, na=codes
    )
    return how.table(file, one_column=one_column)


# Files as sources of rows
# ------------------------

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
    (b'{"', b"[{"): _DATA,
}
_BLANKS_ABOVE = 1000
# Bytes at the beginning that tell what a file is, and at the end that hold the end of a line.
_START, _END = 1 << 12, 64
# Bytes of text that are parsed at a time.
_PARSED = 4 << 20
# Rows of a sheet that are looked at for titles, names and units.
_SAMPLE_ROWS = 40
# Rows that show which columns of a text hold no numbers.
_FIRST_ROWS = 25
# Rows of a Parquet file that are taken at a time, and bytes that are read ahead in every column.
_BATCH, _BUFFER = 4096, 1 << 14


@dataclass(frozen=True, kw_only=True)
class Source:
    """A file, and its table as far as it is in memory: here all of it.

    Attributes
    ----------
    path : Path
    head : Table
        The first rows at least, with what was recognised.
    n_rows : int or None
        Number of rows, if it is known.
    likely_rows : int
        How many rows there may be.
    """

    path: Path
    head: Table
    n_rows: int | None
    likely_rows: int

    def batches(self, names: Sequence[str] = ()) -> Iterator[Table]:
        """Yield the rows some at a time, with these columns or all."""
        yield self.head.select(names)

    def table(self, names: Sequence[str] = ()) -> Table:
        """Return all rows, with these columns or all."""
        return stacked(list(self.batches(names)), str(self.path))


@dataclass(frozen=True, kw_only=True)
class _Text(Source):
    """A file of separated values, of which the first lines were read."""

    layout: text.Layout
    empty: tuple[str, ...]  # columns without a name and, in the first rows, without a value
    na: tuple[str, ...]

    def batches(self, names: Sequence[str] = ()) -> Iterator[Table]:
        first = 1
        for frame in self._frames(rows_at_once=max(1, _PARSED // max(1, self.layout.longest))):
            for name in self.empty:
                require_empty(frame[name], first)
            # The first rows have decided which columns count.
            yield without(self._rows(frame, first), self.head.left_out).select(names)
            first += len(frame)

    def table(self, names: Sequence[str] = ()) -> Table:
        if names:  # only these are parsed, unless others tell whether a row is blank
            (frame,) = self._frames(columns=names)
            if not frame.isna().all(axis=1).any():
                return self._rows(frame[list(names)], 1)
        return super().table(names)

    def _frames(self, **some: Any) -> Iterator[Any]:
        return text.read_frames(self.path, self.layout, na=self.na, **some)

    def _rows(self, frame: Any, first_row: int) -> Table:
        return _with_rows(self.head, frame, first_row)


def _with_rows(table: Table, frame: Any, first_row: int = 1, *, is_last: bool = False) -> Table:
    """Return a table with other rows, without those that are blank, which count but at the end."""
    blank: tuple[int, ...] = ()
    if len(frame) and frame.iloc[:, -1].isna().any():
        known = np.flatnonzero(frame.notna().any(axis=1))
        count = known.max(initial=-1) if is_last else len(frame)
        blank = tuple((np.setdiff1d(np.arange(count), known) + first_row).tolist())
        frame = frame.iloc[known].reset_index(drop=True)
    names = tuple(frame.columns)
    return replace(table, frame=frame, names=names, blank=blank, first_row=first_row)


def _open_text(path: Path, content: bytes | None, how: Reading, fewest: int) -> Source:
    """Read the first lines of a text, or all of them if the content is given."""
    source = path if content is None else content
    layout = text.sniff(source, header_row=how.header_row, skip_rows=how.skip_rows, fewest=fewest)
    rows, end, whole = None, b"" if content is None else content[-_END:], content is not None
    if not whole:
        rows = _FIRST_ROWS
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _END))
            end = file.read()
    with closing(text.read_frames(source, layout, na=how.na, rows_at_once=rows)) as frames:
        frame = next(frames)
    about = Table(
        source=str(path),
        frame=frame,
        names=layout.names,
        described=layout.described,
        decimal=layout.decimal,
        notes=(*layout.notes, *text.cut_note(end)),
        na=how.missing_numbers,
    )
    table, extra = _with_rows(about, frame, is_last=True), layout.extra
    if extra and extra != layout.names[0]:
        require_empty(table.frame[extra])
    found = {extra, *margins(table, [name for name in layout.unnamed if name != extra])}
    head = without(table, tuple(name for name in layout.unnamed if name in found))
    if whole:
        head = replace(head, notes=(*head.notes, *blank_notes(head.blank)))
        return _held(path, head)
    return _Text(
        path=path,
        head=head,
        n_rows=None,
        likely_rows=max(1, path.stat().st_size // max(1, layout.longest)),
        layout=layout,
        empty=tuple(name for name in head.left_out if table.frame[name].isna().all()),
        na=how.na,
    )


@dataclass(frozen=True, kw_only=True)
class _Parquet(Source):
    """A Parquet file, of which the description has been read, and its columns by their names."""

    metadata: Any
    fields: dict[str, Any]

    def batches(self, names: Sequence[str] = ()) -> Iterator[Table]:
        names = names or self.head.names
        columns, first = [self.fields[name].name for name in names], 1
        # Without a buffer the reader holds whole row groups, which may be the whole file.
        with _arrow("pyarrow.parquet").ParquetFile(
            self.path, metadata=self.metadata, pre_buffer=False, buffer_size=_BUFFER
        ) as file:
            for batch in file.iter_batches(_BATCH, columns=columns):
                yield self._named(batch.select(columns), names, first)
                first += len(batch)

    def table(self, names: Sequence[str] = ()) -> Table:
        names = names or self.head.names
        columns = [self.fields[name].name for name in names]
        found = _arrow("pyarrow.parquet").read_table(self.path, columns=columns)
        return self._named(found.select(columns), names)

    def _named(self, rows: Any, names: Sequence[str], first_row: int = 1) -> Table:
        frame = rows.to_pandas(ignore_metadata=True).set_axis(list(names), axis=1)
        return replace(self.head, frame=frame, names=tuple(names), first_row=first_row)


def _open_parquet(path: Path, how: Reading) -> _Parquet:
    """Read the description of a Parquet file."""
    how.require_plain("a Parquet file has names of its own")
    metadata = _arrow("pyarrow.parquet").read_metadata(path)
    schema = metadata.schema.to_arrow_schema()
    # Columns that are the index of a data frame; numbers of rows are not stored as one.
    known = (schema.pandas_metadata or {}).get("index_columns", ())
    index = [name for name in known if isinstance(name, str)]
    notes: tuple[str, ...] = ()
    if index:
        named = [name for name in index if not name.startswith("__")]
        which = f" ({listed(named, 3, shortened)})" if named else ""
        notes = (f"Left out, the index of the data frame{which}: write it as a column to use it.",)
    nested = _arrow("pyarrow").types.is_nested
    columns = [one for one in schema if one.name not in index and not nested(one.type)]
    if several := [one.name for one in schema if nested(one.type)]:
        shown = listed(several, 3, shortened)
        notes = (*notes, f"Left out, with several values in each cell: {shown}.")
    names, _ = column_names([field.name for field in columns])
    head = Table(
        source=str(path),
        frame=text.require_pandas().DataFrame(columns=list(names)),
        names=names,
        described="Parquet",
        declared_text=frozenset(
            name for name, one in zip(names, columns, strict=True) if not _holds_numbers(one.type)
        ),
        notes=notes,
        na=how.missing_numbers,
    )
    return _Parquet(
        path=path,
        head=head,
        n_rows=int(metadata.num_rows),
        likely_rows=int(metadata.num_rows),
        metadata=metadata,
        fields=dict(zip(names, columns, strict=True)),
    )


def _arrow(name: str) -> Any:
    return text.extra_module(name, "pyarrow", "files", "Reading Parquet files")


def _holds_numbers(kind: Any) -> bool:
    """Whether a column of Parquet holds numbers; one of nothing is one of missing values."""
    types = _arrow("pyarrow").types
    kind = kind.value_type if types.is_dictionary(kind) else kind
    kinds = ("floating", "integer", "boolean", "decimal", "null")
    return any(getattr(types, f"is_{one}")(kind) for one in kinds)


def open_sources(
    path: Path, how: Reading | None = None, *, whole: bool = False, one_column: bool = False
) -> list[Source]:
    """Open a file, or all tables of a folder, which must have the same columns.

    If they are to be read as a ``whole``, each file is read once, as pipes need it.
    """
    how, files = how or Reading(), files_in(path)
    spectra, sources = path.is_dir() and holds_spectra(files[0]), list[Source]()
    parts = list[tuple[str, Spectra]]()
    for one in files:
        with unreadable(one):
            if spectra:
                parts.append((str(one), _spectra(one.read_bytes(), how)))
            else:
                fewest = 1 if one_column else 2
                sources.append(_open_source(one, how, whole=whole, fewest=fewest))
    if parts:
        return [_held(path, _from_spectra(parts, str(path), how))]
    if len(sources) > 1:
        require_same_columns([(str(one.path), one.head.names) for one in sources])
    # A decimal comma in the first lines of one file is one in all of them.
    decimal = "," if any(one.head.decimal == "," for one in sources) else "."
    return [replace(one, head=replace(one.head, decimal=decimal)) for one in sources]


def _open_source(path: Path, how: Reading, *, whole: bool, fewest: int) -> Source:
    """Find out what kind of table a file is."""
    with path.open("rb") as file:
        content = file.read() if whole else file.read(_START)
        is_held = is_spectra(content) or content.startswith(ZIP) or how.transpose
        if is_held and not whole:
            content += file.read()
    if is_spectra(content):
        return _held(path, _from_spectra([(str(path), _spectra(content, how))], str(path), how))
    start = content[:_BLANKS_ABOVE].removeprefix(codecs.BOM_UTF8).lstrip().lower()
    for marks, what in _REFUSED.items():
        if start.startswith(marks):
            raise InvalidInputError(f"the file is {what}")
    if content.startswith(ZIP):
        return _held(path, _from_excel(content, str(path), how))
    if how.sheet is not None:
        raise InvalidInputError("a sheet can be chosen in Excel files only; this is none.")
    if content.startswith(PARQUET):
        source = _open_parquet(path, how)
        return _held(path, source.table()) if whole else source
    if how.transpose:
        return _held(path, _from_turned_text(content, str(path), how))
    return _open_text(path, content if whole else None, how, fewest)


def _held(path: Path, table: Table) -> Source:
    return Source(path=path, head=table, n_rows=len(table), likely_rows=len(table))


@contextmanager
def unreadable(source: Path) -> Iterator[None]:
    """Begin the messages of errors with the file, and say in a line why it cannot be read."""
    with located(source):
        try:
            yield
        except InvalidInputError:
            raise
        except (OSError, ValueError, NotImplementedError) as error:  # of the system, of a parser
            raise text.unreadable(error) from error


def files_in(path: Path) -> list[Path]:
    """Return a file, or the files of a folder in the order of their names, without hidden ones.

    Names that start with an underscore are those of remarks that other programs leave behind.
    """
    if not path.is_dir():
        return [path]
    with unreadable(path):
        files = sorted(one for one in path.iterdir() if one.is_file() and one.name[0] not in "._")
        if not files:
            raise InvalidInputError(
                "no file in this folder; give one that holds CSV or Parquet files, or a file."
            )
    return files


def holds_spectra(file: Path) -> bool:
    """Whether a file is one of spectra of an instrument."""
    with unreadable(file):
        return is_spectra(file.read_bytes())


# Cells of sheets and of texts on their side, and spectra
# -------------------------------------------------------


def _spectra(content: bytes, how: Reading) -> Spectra:
    how.require_plain("spectra of an instrument have no line of names")
    return read_spectra(content, how.sheet)


def _from_spectra(parts: Sequence[tuple[str, Spectra]], source: str, how: Reading) -> Table:
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
        na=how.missing_numbers,
    )


def _from_turned_text(content: bytes, source: str, how: Reading) -> Table:
    cells, decimal, described = text.read_cells(content, skip_rows=how.skip_rows)
    rows = [[cell if numbers.tidy(cell) else None for cell in row] for row in cells]
    turned = workbooks.turned(list(enumerate(rows, start=1)))
    return replace(_from_rows(turned, source, described, how), decimal=decimal)


def _from_excel(content: bytes, source: str, how: Reading) -> Table:
    sheet = workbooks.read_sheet(content, how.sheet, how.first_row)
    rows = workbooks.turned(sheet.rows) if how.transpose else sheet.rows
    table = _from_rows(rows, source, f"Excel, sheet {shortened(sheet.name)}", how)
    notes = (*table.notes, *sheet.notes, *_hidden_notes(sheet, rows, table, how))
    if sheet.others and how.sheet is None:
        there = listed(sheet.others, 6, shortened)
        notes = (*notes, f"Sheet {shortened(sheet.name)} was read; there are also {there}.")
    described = table.described + ", texts with decimal comma" * (table.decimal == ",")
    return replace(table, described=described, sheets=sheet.others, notes=notes)


def _hidden_notes(sheet: Sheet, rows: list[Row], table: Table, how: Reading) -> tuple[Note, ...]:
    """Say which rows and columns are read although the sheet hides them."""
    along, across = sheet.hidden_rows, sheet.hidden_columns
    if how.transpose:
        across, along = along, across
    first = rows[-1][0] - int(table.row_numbers[-1]) if len(table) else 0
    hidden = [row for row in table.row_numbers.tolist() if row + first in along]
    width = max(len(cells) for _, cells in rows)
    columns = [
        f"row {one}" if how.transpose else f"column {workbooks.column_letters(one)}"
        for one in sorted(across)
        if one <= width
    ]
    said = "Hidden in the sheet, but read:"
    notes: list[Note] = [f"{said} {listed(columns)}."] if columns else []
    if hidden:
        words = f"{said} {plural(len(hidden), 'row')}."
        notes.insert(0, Remark(key="data", words=words, mend={"exclude_rows": hidden}))
    return tuple(notes)


def _from_rows(rows: list[Row], source: str, described: str, how: Reading) -> Table:
    """Make a table of rows of cells: titles, names, units, values."""
    pandas, word = text.require_pandas(), "Column" if how.transpose else "Row"
    top = [["" if v is None else spelled(v) for v in cells] for _, cells in rows[:_SAMPLE_ROWS]]
    given = how.header_row is not None and not how.transpose
    place = find_header(top, given=given)
    width = max(len(cells) for _, cells in rows[place.header :])
    header = names_of(top, place.header)
    units = [] if place.units is None else top[place.units]
    names, unnamed = column_names([*header, *[""] * (width - len(header))][:width], units)
    values = [[*cells, *[None] * (width - len(cells))] for _, cells in rows[place.body :]]
    frame = pandas.DataFrame(values, columns=list(names), dtype=object)
    if how.na:
        frame = frame.mask(frame.isin([*how.na, *how.missing_numbers]))
    # Numbers that are texts may have decimal commas.
    body = rows[place.body : _SAMPLE_ROWS]
    written = [[value for value in cells if isinstance(value, str)] for _, cells in body]
    # Which columns are shown as percent, in some of these rows or in all.
    columns = list(zip(*values[: len(body)], strict=True)) or [()] * len(names)
    shown = {
        name: {isinstance(one, Percent) for one in column if isinstance(one, int | float)}
        for name, column in zip(names, columns, strict=True)
    }
    # Blank rows among those below the names, which count.
    first = rows[place.body - 1][0]
    found = {number - first for number, _ in rows[place.body :]}
    blank = sorted(set(range(1, max(found, default=0))) - found)
    table = Table(
        source=source,
        frame=frame.infer_objects(),
        names=names,
        described=described,
        notes=(*place.notes([number for number, _ in rows], top, word), *blank_notes(blank)),
        decimal=numbers.decimal_mark(written, certain=True),
        na=how.missing_numbers,
        blank=tuple(blank),
        percent={name: len(kinds) == 1 for name, kinds in shown.items() if True in kinds},
    )
    return without(table, margins(table, unnamed))
