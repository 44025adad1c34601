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
    sheet = (
        f'<worksheet xmlns="{SPACE}"><sheetData><row r="1">{NAMES}</row>{rows}</sheetData>'
        "</worksheet>"
    )
    parts = {"xl/worksheets/sheet1.xml": sheet} | parts
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


@pytest.mark.parametrize(
    "row",
    [
        '<row r="3"><c r="XFD1048576"><v>1</v></c></row>',
        '<row r="1048576"><c r = "XFD1048576"><v>1</v></c></row>',
        '<row r="1048576"><c r="xfd1048576"><v>1</v></c></row>',
        '<row x="&gt;>" r="1048576"><c r="XFD1048576"><v>1</v></c></row>',
        '<row r="1048576" q:r="3"><c q:r="A3" r="XFD1048576"><v>1</v></c></row>',
        '<é:row r="1048576"><c r="XFD1048576"><v>1</v></c></é:row>',
        '<a-b:row r="1048576"><a-b:c r="XFD1"><v>1</v></a-b:c></a-b:row>',
        "<!-- <row \" --><row r='1048576'><c r='XFD1048576'><v>1</v></c></row>",
        '<v x="<row "/><row r="1048576"><c r="XFD1048576"><v>1</v></c></row>',
    ],
)
def test_cells_that_a_parser_sees_and_a_pattern_does_not_are_refused(tmp_path, row):
    # The grid of calamine would have 17,179,869,184 cells: the process ends.
    with pytest.raises(InvalidInputError, match="damaged"):
        read_table(packed(tmp_path, VALUES + row))


def test_remarks_and_quoted_texts_of_a_sheet_are_no_tags(tmp_path):
    text = '<row r="3"><c r="A3" t="inlineStr"><is><t><![CDATA[a & b]]></t></is></c></row>'
    table = read_table(packed(tmp_path, f"<!-- by a program -->{VALUES}{text}"))
    assert table.frame["A"].tolist() == [1.5, "a & b"]


def test_a_cell_above_all_rows_is_refused(tmp_path):
    cells = f'<sheetData><c r="XFD1048576"/>{VALUES}</sheetData>'
    sheet = f'<worksheet xmlns="{SPACE}">{cells}</worksheet>'
    with pytest.raises(InvalidInputError, match="damaged"):
        read_table(packed(tmp_path, **{"xl/worksheets/sheet1.xml": sheet}))


def test_long_texts_that_many_cells_hold_are_refused(tmp_path):
    texts = f'<sst xmlns="{SPACE}"><si><t>{"a" * 100_000}</t></si></sst>'
    cells = "".join(f'<row r="{i}"><c r="A{i}" t="s"><v>0</v></c></row>' for i in range(3, 20_000))
    with pytest.raises(InvalidInputError, match=r"repeats long texts, up to 2\.00 GB"):
        read_table(packed(tmp_path, VALUES + cells, **{"xl/sharedStrings.xml": texts}))


def test_a_part_that_is_larger_than_it_says_is_refused(tmp_path):
    file = packed(tmp_path, VALUES, **{"xl/sharedStrings.xml": " " * 5000})
    content = bytearray(file.read_bytes())
    place = content.rindex(b"xl/sharedStrings.xml")  # in the directory: the size is at 24 of 46
    content[place - 22 : place - 18] = (1000).to_bytes(4, "little")
    file.write_bytes(content)
    with pytest.raises(InvalidInputError, match="could not be read"):
        read_table(file)


@pytest.mark.parametrize("date", ["1900", "1904"])
@pytest.mark.parametrize("texts", ["xl/sharedStrings.xml", "xl/SharedStrings.xml"])
def test_texts_and_dates_are_those_of_the_workbook(tmp_path, date, texts):
    parts = {
        "xl/styles.xml": f'<styleSheet xmlns="{SPACE}"><cellXfs><xf/><xf numFmtId="14"/></cellXfs>'
        "</styleSheet>",
        texts: f'<sst xmlns="{SPACE}"><si><t>one</t></si></sst>',
    }
    file = packed(
        tmp_path,
        '<row r="2"><c r="A2" t="s"><v>0</v></c><c r="B2" s="1"><v>50000</v></c></row>',
        **parts,
    )
    with zipfile.ZipFile(file) as old:
        content = {name: old.read(name) for name in old.namelist()}
    book = content["xl/workbook.xml"]
    assert b"<workbookPr/>" in book or b"<workbookPr />" in book
    for empty in (b"<workbookPr/>", b"<workbookPr />"):
        book = book.replace(empty, b'<workbookPr date1904="%d"/>' % (date == "1904"))
    with zipfile.ZipFile(file, "w") as new:
        for name, part in (content | {"xl/workbook.xml": book}).items():
            new.writestr(name, part)
    frame = read_table(file).frame
    assert frame["A"].tolist() == ["one"]
    assert str(frame["B"].tolist()[0])[:10] == {"1900": "2036-11-21", "1904": "2040-11-22"}[date]


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
