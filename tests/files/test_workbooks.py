"""Workbooks that are made to be too much, or hold nothing; lines that never end."""

import zipfile

import pytest

from plsdof.errors import InvalidInputError
from plsdof.workbench.tables import workbooks
from plsdof.workbench.tables.instruments import is_spectra
from plsdof.workbench.tables.reading import read_table

openpyxl = pytest.importorskip("openpyxl")
pytest.importorskip("python_calamine")

SPACE = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
NAMES = "".join(f'<c r="{one}1" t="inlineStr"><is><t>{one}</t></is></c>' for one in ("A", "B"))
VALUES = '<row r="2"><c r="A2"><v>1.5</v></c><c r="B2"><v>2</v></c></row>'


def packed(tmp_path, rows="", **parts):
    """A workbook whose sheet has these rows below two names, and other parts as given."""
    parts["xl/worksheets/sheet1.xml"] = (
        f'<worksheet xmlns="{SPACE}"><sheetData><row r="1">{NAMES}</row>{rows}</sheetData>'
        "</worksheet>"
    )
    plain, file = tmp_path / "plain.xlsx", tmp_path / "packed.xlsx"
    openpyxl.Workbook().save(plain)
    with zipfile.ZipFile(plain) as old, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as new:
        for name in sorted({*old.namelist(), *parts}):
            new.writestr(name, parts[name] if name in parts else old.read(name))
    return file


@pytest.mark.parametrize("rows", ["", '<row r="2"/>', '<row r="3"><c r="A3" s="0"/></row>'])
def test_a_sheet_with_names_and_nothing_below_is_refused(tmp_path, rows):
    with pytest.raises(InvalidInputError, match="no row below"):
        read_table(packed(tmp_path, rows))


@pytest.mark.parametrize(
    "row",
    [
        '<row r="2000000000"><c r="A2000000000"><v>1</v></c></row>',
        '<row r="3"><c r="ZZZZ3"/></row>',
    ],
)
def test_cells_that_no_sheet_can_have_are_refused(tmp_path, row):
    with pytest.raises(InvalidInputError, match="damaged"):
        read_table(packed(tmp_path, VALUES + row))


def test_cells_far_apart_cost_what_they_are(tmp_path):
    # In a grid they would be 17,179,869,184 cells.
    far = '<row r="1048576"><c r="XFD1048576"><v>7</v></c></row>'
    table = read_table(packed(tmp_path, VALUES + far))
    assert table.numbers(table.names).tolist() == [[1.5, 2.0]]
    assert table.notes == ("Ignored, away from the table: cell XFD1048576.",)
    # A second table there is one of more columns.
    row = "".join(f'<c r="{c}1048576"><v>{i}</v></c>' for i, c in enumerate(("XFB", "XFC", "XFD")))
    table = read_table(packed(tmp_path, VALUES + f'<row r="1048576">{row}</row>'))
    assert len(table) == 2
    assert table.row_numbers.tolist() == [1, 1048575]


def test_numbers_below_a_blank_row_are_no_remark(tmp_path):
    rows = "".join(f'<row r="{i}"><c r="B{i}"><v>{i}.5</v></c></row>' for i in (3, 4, 6, 7))
    table = read_table(packed(tmp_path, VALUES + rows))
    assert table.numbers(("B",))[:, 0].tolist() == [2.0, 3.5, 4.5, 6.5, 7.5]
    remark = '<row r="9"><c r="A9" t="inlineStr"><is><t>by Ann</t></is></c></row>'
    assert "by Ann" in read_table(packed(tmp_path, VALUES + rows + remark)).notes[-1]


def test_cells_without_an_address_follow_each_other(tmp_path):
    plain = "<row><c><v>1.5</v></c><c><v>2</v></c></row>" * 3
    table = read_table(packed(tmp_path, plain))
    assert table.numbers(table.names).tolist() == [[1.5, 2.0]] * 3


def test_only_so_many_styles_and_cells_are_looked_at(tmp_path, monkeypatch):
    """What a small file may hold without end is counted or passed over, not looked at in Python."""
    styles = f'<styleSheet xmlns="{SPACE}"><cellXfs>{"<xf/>" * 100_000}</cellXfs></styleSheet>'
    looked, given = [], workbooks._given
    monkeypatch.setattr(workbooks, "_given", lambda one: looked.append(one) or given(one))
    many = f'<row r="3">{"<c/>" * 100_000}</row>'
    with pytest.raises(InvalidInputError, match="no sheet can have"):
        read_table(packed(tmp_path, VALUES + many, **{"xl/styles.xml": styles}))
    assert len(looked) < 65_536 + 16_384 + 100


def test_what_is_packed_to_next_to_nothing_is_not_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr(workbooks, "_ALWAYS_UNPACKED", 1 << 20)
    file = packed(tmp_path, VALUES, **{"xl/sharedStrings.xml": " " * (1 << 21)})
    monkeypatch.setattr("zipfile.ZipFile.open", None)
    with pytest.raises(InvalidInputError, match="unpacks to"):
        read_table(file)


@pytest.mark.parametrize("part", [b" ", b"1", b"1 ", b",", b"1e", b";"])
def test_a_line_of_two_columns_is_looked_at_once(part):
    """If anything were tried again from every place, these two million would never end."""
    points = b"".join(b"%d;0.5\n" % i for i in range(1100, 1120))
    assert is_spectra(points)
    assert not is_spectra(points + b"7" + part * 2_000_000 + b"x\n")
