"""Reading tables: layouts, encodings, formats, choice of columns; and files written whole."""

import importlib.util
import os
import stat
import zipfile
from pathlib import Path

import hypothesis
import numpy as np
import openpyxl
import pandas as pd
import pytest
from hypothesis import strategies

from plsdof._core.axes import header_number, wavelengths
from plsdof.errors import InvalidInputError
from plsdof.models.writing import atomic_write, check_writable
from plsdof.workbench.tables.blocks import file_blocks
from plsdof.workbench.tables.columns import choose_columns, find_column
from plsdof.workbench.tables.reading import read_table
from plsdof.workbench.tables.text import sniff

NAMES = ("fat", "1100,5", "Größe µ")
VALUES = np.array([[1.5, -0.25, 3e-7], [2.0, 1234.125, 0.1], [-1.0, 0.0, 7.0]])


def as_text(separator, decimal, names=NAMES):
    rows = [[repr(float(value)).replace(".", decimal) for value in row] for row in VALUES]
    return "\n".join(separator.join(row) for row in [names, *rows]) + "\n"


def write(folder, content, name="table.csv"):
    file = folder / name
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return file


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "utf-16"])
@pytest.mark.parametrize(
    ("separator", "decimal"),
    [(";", ","), (";", "."), ("\t", ","), ("\t", "."), ("|", ","), ("|", ".")],
)
def test_every_layout_and_encoding_gives_the_same_numbers(tmp_path, separator, decimal, encoding):
    file = write(tmp_path, as_text(separator, decimal).encode(encoding))
    table = read_table(file)
    assert table.names == NAMES
    np.testing.assert_array_equal(table.numbers(NAMES), VALUES)


def test_comma_separated_values_are_read_exactly(tmp_path):
    rng = np.random.default_rng(0)
    values = rng.normal(size=(50, 3)) * 10.0 ** rng.integers(-9, 9, size=(50, 3))
    lines = ["a,b,c", *(",".join(map(repr, row)) for row in values.tolist())]
    table = read_table(write(tmp_path, "\n".join(lines)))
    np.testing.assert_array_equal(table.numbers(("a", "b", "c")), values)


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_line_ends_of_all_systems_are_understood(tmp_path, line_end):
    table = read_table(write(tmp_path, line_end.join(["a;b", "1,5;2", "3;4,5", ""])))
    assert table.numbers(("a", "b")).tolist() == [[1.5, 2.0], [3.0, 4.5]]


def test_mixed_line_ends_are_understood(tmp_path):
    table = read_table(write(tmp_path, b"a;b\n1;2\r\n3;4\r\r5;6"))
    assert table.numbers(("a", "b")).tolist() == [[1, 2], [3, 4], [5, 6]]


def test_white_space_separates_columns_if_nothing_else_does(tmp_path):
    table = read_table(write(tmp_path, "a  b   c\n 1  2   3\n4.5 5 6\n"))
    assert table.numbers(("a", "b", "c")).tolist() == [[1, 2, 3], [4.5, 5, 6]]


def test_decimal_commas_in_a_header_of_wavelengths_do_not_look_like_separators():
    layout = sniff(b"y;1100,5;1101,5\n1,5;2,5;3,5\n1,0;2,0;3,0\n")
    assert layout.separator == ";"
    assert layout.decimal == ","
    assert layout.names == ("y", "1100,5", "1101,5")


def test_two_columns_with_decimal_commas_are_no_table_of_commas(tmp_path):
    table = read_table(write(tmp_path, "Sample;fat\ns-1;3,398\ns-2;4,125\ns-3;5,250\n"))
    assert table.names == ("Sample", "fat")
    assert table.numbers(("fat",))[:, 0].tolist() == [3.398, 4.125, 5.25]


def test_quoted_names_may_contain_separators_and_line_ends(tmp_path):
    table = read_table(write(tmp_path, '"a,b","c\nd",e\n1,2,3\n4,5,6\n'))
    assert table.names == ("a,b", "c d", "e")
    assert table.numbers(("c d",)).tolist() == [[2.0], [5.0]]


def test_the_encoding_is_found_beyond_the_first_lines(tmp_path):
    lines = ["id,x", *["a,1.5"] * 100_000, "Gr\xf6\xdfe,2.5"]
    table = read_table(write(tmp_path, "\n".join(lines).encode("latin-1")))
    assert table.frame["id"].iloc[-1] == "Größe"


def test_row_names_as_r_writes_them_are_left_out(tmp_path):
    for text in ("a,b\nr1,1,2\nr2,3,4\n", ",a,b\nr1,1,2\nr2,3,4\n", ",a,b\n1,1,2\n2,3,4\n"):
        table = read_table(write(tmp_path, text))
        assert table.names == ("a", "b")
        assert table.left_out == ("unnamed 1",)
        assert table.numbers(("a", "b")).tolist() == [[1, 2], [3, 4]]


def test_a_separator_at_the_end_of_lines_makes_no_column(tmp_path):
    for text in ("a;b;\n1;2;\n3;4;\n", "a;b\n1;2;\n3;4;\n"):
        table = read_table(write(tmp_path, text))
        assert table.names == ("a", "b")
        assert table.numbers(("a", "b")).tolist() == [[1, 2], [3, 4]]


def test_a_value_after_the_separator_at_the_end_is_refused(tmp_path):
    text = "a,b\n" + "1,2,\n" * 40 + "3,4,5\n"
    with pytest.raises(InvalidInputError, match=r"'5' in row 41 .*without a name"):
        read_table(write(tmp_path, text))


@pytest.mark.parametrize("first", ["1.5 2.5 0.5", "1 2 4", "3 7 9", "0 1 1", "a 2 b"])
def test_a_field_more_than_names_is_a_row_name_only_if_it_is_text_or_counts(tmp_path, first):
    """Anything else would shift the columns."""
    rows = [f"{value},1,2,3" for value in first.split()]
    text = "\n".join(["y,a,b", *rows])
    with pytest.raises(InvalidInputError, match=r"header has 3 names, but rows have 4 fields"):
        read_table(write(tmp_path, text))


def test_row_numbers_may_start_at_zero_and_have_gaps_far_below(tmp_path):
    rows = [f"{number},{number + 5},2" for number in [*range(40), 47, 50]]
    table = read_table(write(tmp_path, "\n".join(["y,a", *rows])))
    assert table.names == ("y", "a")
    assert table.numbers(("y",))[:3, 0].tolist() == [5, 6, 7]


def test_row_names_as_r_writes_them_with_white_space(tmp_path):
    table = read_table(write(tmp_path, '"y" "a b"\n"r 1" 1.5 2\n"r 2" 2.5  3\n'))
    assert table.names == ("y", "a b")
    assert table.numbers(table.names).tolist() == [[1.5, 2], [2.5, 3]]


def test_points_between_thousands_are_not_taken_for_decimal_points(tmp_path):
    table = read_table(write(tmp_path, "y;a\n1,5;999\n2,5;1.234\n3,1;1.001\n"))
    with pytest.raises(InvalidInputError, match=r"'a' .*'1\.234' in row 2.*with decimal commas"):
        table.numbers(("y", "a"))
    assert not table.is_text("a")


def test_values_that_are_no_numbers_are_found_among_decimal_commas(tmp_path):
    table = read_table(write(tmp_path, "y;a\n1,5;1,5\n2,5;oops\n"))
    with pytest.raises(InvalidInputError, match=r"1 of 2 values .*'oops' in row 2\. Correct"):
        table.numbers(("a",))


def test_commas_that_may_stand_between_thousands_are_refused(tmp_path):
    for text in ("y;a\n15;999\n25;1,234\n", "y\ta\n15\t12\n25\t-1,234\n"):
        with pytest.raises(InvalidInputError, match=r"column 'a' has '-?1,234' and '(999|12)'"):
            read_table(write(tmp_path, text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("y;a\n1,5;999\n25;1,234\n", [[1.5, 999], [25, 1.234]]),
        ("y;a\n0,125;999\n25;1,234\n", [[0.125, 999], [25, 1.234]]),
        ("y;a\n15;9,250\n25;1,234\n", [[15, 9.25], [25, 1.234]]),
    ],
)
def test_commas_before_three_digits_are_decimal_where_that_is_clear(tmp_path, text, expected):
    assert read_table(write(tmp_path, text)).numbers(("y", "a")).tolist() == expected


def test_true_and_false_are_numbers_with_or_without_gaps(tmp_path):
    table = read_table(write(tmp_path, "a,b,c\nTRUE,True,1\nFALSE,,2\ntrue,false,3\n"))
    assert not any(map(table.is_text, table.names))
    np.testing.assert_array_equal(table.numbers(("a", "b")), [[1, 1], [0, np.nan], [1, 0]])


def test_signs_of_windows_are_read(tmp_path):
    file = write(tmp_path, "y;Preis €\n1,5;2\n".encode("cp1252"))
    assert read_table(file).names == ("y", "Preis €")


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("separator", [";", ",", "\t"])
def test_a_first_line_that_names_the_separator_is_no_header(tmp_path, separator, line_end):
    lines = [f"sep={separator}", *(separator.join(row) for row in ("ya", "12", "34"))]
    table = read_table(write(tmp_path, line_end.join(lines)))
    assert table.names == ("y", "a")
    assert table.numbers(table.names).tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    ("above", "line"), [("My results", 1), ("# a, b", 1), ("\n\nOf\ntoday", 3), ("sep=,\nMine", 2)]
)
def test_a_title_above_the_header_is_recognised_and_named(tmp_path, above, line):
    text = f"{above}\ny,a,b\n" + "1,2,3\n" * 4
    table = read_table(write(tmp_path, text))
    assert table.names == ("y", "a", "b")
    assert table.numbers(table.names).tolist() == [[1, 2, 3]] * 4
    assert table.notes[0].startswith(f"Line {line} was taken for a title: ")


def test_groups_of_columns_above_the_names_are_no_names(tmp_path):
    """Merged cells of a sheet: a word above the first of some columns."""
    table = read_table(write(tmp_path, "Lab,,NIR,\nfat,water,a,b\n" + "1,2,3,4\n" * 3))
    assert table.names == ("fat", "water", "a", "b")
    assert len(table.notes) == 1
    # Names with a gap above units are names: units repeat.
    table = read_table(write(tmp_path, "fat,water,,b\n%,%,AU,AU\n" + "1,2,3,4\n" * 3))
    assert table.names == ("fat", "water", "unnamed 3", "b")


def test_row_numbers_with_gaps_are_no_measurements(tmp_path):
    frame = pd.DataFrame(np.arange(20.0).reshape(10, 2) ** 2, columns=["a", "b"])
    frame.drop(index=[0, 4, 5]).to_csv(tmp_path / "gaps.csv")
    table = read_table(tmp_path / "gaps.csv")
    assert table.names == ("a", "b")
    assert table.left_out == ("unnamed 1",)
    assert file_blocks(tmp_path / "gaps.csv", "a").names == ("b",)


def test_an_unnamed_column_of_measurements_is_kept(tmp_path):
    table = read_table(write(tmp_path, "a,,b\n1,0.5,2\n3,7.5,4\n"))
    assert table.names == ("a", "unnamed 2", "b")


def test_blanks_around_names_and_numbers_do_not_matter(tmp_path):
    table = read_table(write(tmp_path, "fat , x\n1.5, 2\n2.5, 3\n"))
    assert table.names == ("fat", "x")
    assert table.numbers(("fat", "x")).tolist() == [[1.5, 2.0], [2.5, 3.0]]


def test_missing_values_become_nan(tmp_path):
    table = read_table(write(tmp_path, "a,b,c\n1,,x\n,n/a,y\nNA,2,z\n"))
    np.testing.assert_array_equal(
        table.numbers(("a", "b")), [[1, np.nan], [np.nan, np.nan], [np.nan, 2]]
    )


def test_rows_without_any_value_are_left_out_and_named_but_count(tmp_path):
    table = read_table(write(tmp_path, "a;b\n1;2\n;\n\n3;4\n;\n;\n"))
    assert table.numbers(("a", "b")).tolist() == [[1, 2], [3, 4]]
    assert table.row_numbers.tolist() == [1, 4]
    assert table.notes == ("Left out, but numbered: blank rows 2, 3.",)
    # Through the files of a folder only rows with values are counted.
    folder = tmp_path / "folder"
    folder.mkdir()
    for name in ("one.csv", "two.csv"):
        write(folder, "a;b\n1;2\n;\n3;4\n", name)
    table = read_table(folder)
    assert (table.row_numbers.tolist(), table.notes) == ([1, 2, 3, 4], ())
    # Empty lines at the end are nothing to speak of.
    table = read_table(write(tmp_path, "a b\n1 2\n\n3 4\n\n\n"))
    assert table.row_numbers.tolist() == [1, 3]
    assert table.notes == ("Left out, but numbered: blank row 2.",)
    with pytest.raises(InvalidInputError, match="'x' in row 3"):
        read_table(write(tmp_path, "a,b\n1,2\n\n3,x\n4,5\n")).numbers(("b",))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('y,a\n"16,004.81",1\n950.5,2\n"1,234",3\n', [16004.81, 950.5, 1234]),
        ("y\ta\n1,234,567\t1.5\n2,000\t2.5\n", [1234567, 2000]),
        ("y;a\n16.004,81;1,5\n-1.234,5;2\n", [16004.81, -1234.5]),
    ],
)
def test_marks_between_thousands_are_understood_where_they_are_certain(tmp_path, text, expected):
    table = read_table(write(tmp_path, text))
    assert not table.is_text("y")
    np.testing.assert_array_equal(table.numbers(("y",))[:, 0], expected)


@pytest.mark.parametrize("values", ["1,234;999", "16,04.81;2", "1,234.5;12,34"])
def test_other_commas_are_not_taken_for_thousands(tmp_path, values):
    one, other = values.split(";")
    table = read_table(write(tmp_path, f'y,a\n"{one}",1.5\n"{other}",2.5\n'))
    with pytest.raises(InvalidInputError, match=r"decimal points.*thousands without ','"):
        table.numbers(("y",))


def test_blanks_before_quotes_do_not_matter(tmp_path):
    table = read_table(write(tmp_path, '"y"; "a b"\n"1,5"; "2"\n"2,5"; "3"\n'))
    np.testing.assert_array_equal(table.numbers(("y", "a b")), [[1.5, 2], [2.5, 3]])


def test_infinite_values_are_named_by_row_and_column(tmp_path):
    table = read_table(write(tmp_path, "a,b\n1,2\n3,1e999\n"))
    with pytest.raises(InvalidInputError, match=r"row 2 of column 'b' is infinite") as found:
        table.numbers(("a", "b"))
    assert found.value.mend == {"na": ["inf"], "missing": "drop"}


MALFORMED = {
    "web page": (b"\n<!DOCTYPE html><html><table>", "web page.*save .xlsx"),
    "JCAMP": (b"##TITLE=water\n##JCAMP-DX=4.24\n", "no XYDATA"),
    "JSON": (b'[{"y": 1.5, "a": 2}]', "is JSON"),
    "empty": (b"", "the file is empty"),
    "blank": (b" \n\n", "the file is empty"),
    "bom only": (b"\xef\xbb\xbf", "the file is empty"),
    "header only": (b"a,b,c\n", "no row below"),
    "one column": (b"a\n1\n2\n", "only one column"),
    "long row": (b"a,b\n1,2\n3,4,5\n", r"line 3 has 3 field\(s\) instead of 2"),
    "long rows from line 40 on": (b"a,b\n" + b"1,2\n" * 40 + b"3,4,5\n", "line 42 has 3 field"),
    "short row": (b"a,b,c\n1,2,3\n4,5\n6,7,8\n", r"line 3 has 2 field\(s\) instead of 3"),
    "long first row": (b"a,b\n1,2,3,4\n5,6\n", r"line 2 has 4 field\(s\) instead of 2"),
    "open quote": (b'a,b\n1,2\n"3,4\n', "line 3 has 1 field"),
    "nul": (b"a,b\n1,\x002\n", "NUL bytes .* at byte 6"),
    "binary": (bytes(range(1, 32)) * 100, "binary"),
    "random": (np.random.default_rng(0).bytes(5000), "NUL bytes|binary"),
    "odd utf-16": (b"\xff\xfea\x00,\x00b", "damaged or binary"),
    "repeated names": (b"a,b, a\n1,2,3\n", r"must differ; found 'a' \(2 times\)"),
    "old excel": (b"\xd0\xcf\x11\xe0" + b"\0" * 600, "old Excel"),
    "gzip": (b"\x1f\x8b\x08\0" + b"\0" * 20, "compressed"),
    "broken zip": (b"PK\x03\x04" + b"\0" * 20, "damaged Excel file"),
    "broken parquet": (b"PAR1" + b"\0" * 40, "could not be read|pyarrow"),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_files_are_refused_in_one_line(tmp_path, name):
    content, reason = MALFORMED[name]
    with pytest.raises((InvalidInputError, ImportError), match=reason) as caught:
        read_table(write(tmp_path, content))
    assert "\n" not in str(caught.value)


def test_short_rows_are_told_from_empty_cells(tmp_path):
    table = read_table(write(tmp_path, "a,b,c\n1,2,3\n4,5,\n"))
    assert np.isnan(table.numbers(("c",))[1, 0])


def test_folders_and_absent_files_are_refused(tmp_path):
    with pytest.raises(InvalidInputError, match="no file in this folder"):
        read_table(tmp_path)
    with pytest.raises(InvalidInputError, match="no such file"):
        read_table(tmp_path / "absent.csv")
    with pytest.raises(InvalidInputError):
        read_table("a\0b")


def test_files_without_permission_are_refused(tmp_path, monkeypatch):
    file = write(tmp_path, "a,b\n1,2\n")

    def refuse(path, *_):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(type(file), "open", refuse)  # root may read everything
    with pytest.raises(InvalidInputError, match="permission denied"):
        read_table(file)


def test_text_is_told_from_numbers_and_the_first_wrong_value_is_named(tmp_path):
    table = read_table(write(tmp_path, "id,x,y\nA,1,2\nB,oops,3\n"))
    assert [table.is_text(name) for name in table.names] == [True, False, False]
    with pytest.raises(InvalidInputError, match=r"'x' is not numeric: 1 of 2 .* 'oops' in row 2"):
        table.numbers(("x",))


def test_dates_are_text(tmp_path):
    table = read_table(write(tmp_path, "day,x\n2024-01-01,1\n2024-01-02,2\n"))
    assert table.is_text("day")


def test_any_bytes_give_a_table_or_a_reason(tmp_path):
    pieces = strategies.sampled_from(
        [b"a", b"1", b".5", b",", b";", b"\t", b"|", b'"', b"\n", b"\r", b" ", b"\xff", b"\0", b"-"]
    )

    @hypothesis.settings(max_examples=300, deadline=None, derandomize=True)
    @hypothesis.given(strategies.lists(pieces, max_size=40).map(b"".join))
    def check(content):
        reason, table = "", None
        try:
            table = read_table(write(tmp_path, content))
        except InvalidInputError as error:
            reason = str(error)
        assert "\n" not in reason
        assert reason or len(table.names) == table.frame.shape[1]

    check()


needs_parquet = pytest.mark.skipif(
    importlib.util.find_spec("pyarrow") is None, reason="pyarrow (extra files) is not installed"
)
needs_excel = pytest.mark.skipif(
    importlib.util.find_spec("openpyxl") is None, reason="openpyxl (extra files) is not installed"
)


@needs_parquet
def test_parquet_columns_of_lists_are_left_out_and_named(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1.5, 2.5], "spectrum": [[1, 2], [3, 4]], "b": [3, 4]})
    frame.assign(facts=[{"by": "x"}] * 2).to_parquet(tmp_path / "table.parquet")
    table = read_table(tmp_path / "table.parquet")
    assert table.names == ("a", "b")
    assert table.numbers(table.names).tolist() == [[1.5, 3.0], [2.5, 4.0]]
    assert "'spectrum', 'facts'" in table.notes[0]


@needs_parquet
def test_parquet_is_read_whatever_it_is_called(tmp_path):
    frame = pd.DataFrame({"id": ["a", "b"], "1100": [1.5, np.nan], "n": pd.array([1, None])})
    frame.to_parquet(tmp_path / "table.csv")
    table = read_table(tmp_path / "table.csv")
    assert table.described == "Parquet"
    np.testing.assert_array_equal(table.numbers(("1100", "n")), [[1.5, 1], [np.nan, np.nan]])
    assert table.is_text("id")


@needs_excel
def test_excel_sheets_are_chosen_by_name(tmp_path):
    file = tmp_path / "book.xlsx"
    with pd.ExcelWriter(file) as writer:
        pd.DataFrame({"fat": [1.5, 2.5], 1100: [3, 4], 1102.5: [5.0, None]}).to_excel(
            writer, sheet_name="NIR", index=False
        )
        pd.DataFrame({"other": [1], "x": [2]}).to_excel(writer, sheet_name="Notes", index=False)
    table = read_table(file)
    assert table.names == ("fat", "1100", "1102.5")
    np.testing.assert_array_equal(table.numbers(table.names), [[1.5, 3, 5], [2.5, 4, np.nan]])
    assert read_table(file, sheet="Notes").names == ("other", "x")
    with pytest.raises(InvalidInputError, match="no sheet 'Note'; did you mean 'Notes'"):
        read_table(file, sheet="Note")


@needs_excel
def test_excel_with_repeated_names_is_refused(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["a", "b", "a"], [1, 2, 3]):
        book.active.append(row)
    book.save(tmp_path / "book.xlsx")
    with pytest.raises(InvalidInputError, match="must differ"):
        read_table(tmp_path / "book.xlsx")


def test_other_zip_archives_are_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "table.zip", "w") as archive:
        archive.writestr("table.csv", "a,b\n1,2\n")
    with pytest.raises(InvalidInputError, match="without an Excel workbook"):
        read_table(tmp_path / "table.zip")


def test_a_sheet_is_for_excel_only(tmp_path):
    with pytest.raises(InvalidInputError, match="a sheet can be chosen in Excel files only"):
        read_table(write(tmp_path, "a,b\n1,2\n"), sheet="NIR")


SPECTRUM = ["id", "900", "902.5", "X905", "907 nm", "temp", "band_1", "band_2"]


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ("temp", ["temp"]),
        ("900:905", ["900", "902.5", "X905"]),
        ("905:901", ["902.5", "X905"]),
        ("903:", ["X905", "907 nm"]),
        (":902.5", ["900", "902.5"]),
        ("temp:band_2", ["temp", "band_1", "band_2"]),
        ("band_2:temp", ["temp", "band_1", "band_2"]),
        ("band_*", ["band_1", "band_2"]),
        ("band_[2-9]", ["band_2"]),
    ],
)
def test_columns_are_chosen_by_name_range_and_pattern(choice, expected):
    assert list(choose_columns(SPECTRUM, [choice])) == expected
    left = [name for name in SPECTRUM if name not in expected]
    assert list(choose_columns(SPECTRUM, exclude=[choice])) == left


def test_choices_add_up_in_the_order_of_the_file():
    assert choose_columns(SPECTRUM, ["band_1", "900"], ["id"]) == ("900", "band_1")


def test_an_exact_name_wins_over_its_meaning_as_a_pattern():
    assert choose_columns(["a*", "ab", "x:y", "x", "y"], ["a*", "x:y"]) == ("a*", "x:y")


@pytest.mark.parametrize(
    ("choice", "reason"),
    [
        ("tmp", "no column 'tmp'; did you mean 'temp'"),
        ("temp ", "no column 'temp '; did you mean 'temp'"),
        ("BAND_1", "did you mean 'band_1'"),
        ("1200:1300", "between 1200 and 1300; they go from 900 to 907"),
        ("temp:band_9", "no column 'band_9' for the range"),
        ("zzz*", "no column matches the pattern 'zzz"),
    ],
)
def test_choices_that_select_nothing_are_refused_with_advice(choice, reason):
    with pytest.raises(InvalidInputError, match=reason):
        choose_columns(SPECTRUM, [choice])


def test_messages_about_very_long_names_stay_short():
    with pytest.raises(InvalidInputError, match="no column") as caught:
        find_column("x" * 10_000, ["y" * 10_000] * 50)
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize(
    ("name", "number"),
    [("1100", 1100), ("-5", -5), ("1e3", 1000), ("4000 cm-1", 4000), ("V1", None), ("1100a", None)],
)
def test_header_numbers(name, number):
    assert header_number(name) == number


def test_wavelengths_need_numbers_in_order():
    assert wavelengths(["3", "2", "1"]).tolist() == [3, 2, 1]
    assert wavelengths(["1", "3", "2"]) is None
    assert wavelengths(["1", "1.0"]) is None
    assert wavelengths(["1"]) is None


def test_interrupted_writes_leave_the_old_file_and_nothing_else(tmp_path):
    file = tmp_path / "out.txt"
    file.write_text("old")

    def interrupted():
        with atomic_write(file) as stream:
            stream.write(b"new")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert file.read_text() == "old"
    assert [one.name for one in tmp_path.iterdir()] == ["out.txt"]
    with atomic_write(file) as stream:
        stream.write(b"new")
        assert file.read_text() == "old"
    assert file.read_text() == "new"
    assert [one.name for one in tmp_path.iterdir()] == ["out.txt"]


@pytest.mark.skipif(os.name != "posix", reason="links, modes and devices of POSIX")
def test_links_modes_and_devices_are_respected(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("old")
    link.symlink_to(target)
    with atomic_write(link) as stream:
        stream.write(b"new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    usual = tmp_path / "usual"
    usual.write_text("")
    assert stat.S_IMODE(target.stat().st_mode) == stat.S_IMODE(usual.stat().st_mode)
    with atomic_write("/dev/null") as stream:
        stream.write(b"gone")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_places_that_cannot_be_written_are_refused_early_and_late(tmp_path):
    with pytest.raises(InvalidInputError, match="is a folder"):
        check_writable(tmp_path)
    absent = tmp_path / "absent" / "file"
    with pytest.raises(InvalidInputError, match="does not exist"):
        check_writable(absent)
    with pytest.raises(InvalidInputError, match="could not be written"), atomic_write(absent):
        pass


# what a file does not show, or shows in two ways


def workbook(tmp_path, cells, change=None):
    book = openpyxl.Workbook()
    for row in cells:
        book.active.append(row)
    if change is not None:
        change(book.active)
    book.save(tmp_path / "table.xlsx")
    return tmp_path / "table.xlsx"


CELLS = [["Meat"], ["fat", "1100", "1102"], *[[i + 0.5, i, i * i] for i in range(12)]]


def hide(sheet):
    for row in (4, 9):
        sheet.row_dimensions[row].hidden = True
    sheet.column_dimensions["B"].hidden = True


def test_rows_and_columns_that_a_sheet_hides_are_read_and_named(tmp_path):
    plain = read_table(workbook(tmp_path, CELLS))
    hidden = read_table(workbook(tmp_path, CELLS, hide))
    assert hidden.numbers(hidden.names).tolist() == plain.numbers(plain.names).tolist()
    found = [note for note in hidden.notes if note not in plain.notes]
    assert len(found) == 2
    # By the numbers of the rows: 1 is the first row below the names.
    assert "2 rows" in str(found[0])
    assert found[0].mend == {"exclude_rows": [2, 7]}
    assert "column B" in found[1]


def test_columns_hidden_in_a_sheet_on_its_side_are_rows(tmp_path):
    cells = [list(column) for column in zip(*CELLS[1:], strict=True)]
    hidden = read_table(workbook(tmp_path, cells, hide), transpose=True)
    assert any(getattr(note, "mend", {}) == {"exclude_rows": [1]} for note in hidden.notes)


def test_rows_that_a_filter_hides_are_named_too(tmp_path):
    def filtered(sheet):
        sheet.auto_filter.ref = "A2:C14"
        sheet.auto_filter.add_filter_column(0, ["0.5"])
        for row in range(4, 15):
            sheet.row_dimensions[row].hidden = True

    notes = map(str, read_table(workbook(tmp_path, CELLS, filtered)).notes)
    (note,) = [one for one in notes if "idden" in one]
    assert "11 rows" in note


def test_workbooks_that_unpack_to_too_much_are_refused_before_they_are_unpacked(
    tmp_path, monkeypatch
):
    monkeypatch.setattr("plsdof.workbench.tables.workbooks._MOST_UNPACKED", 1 << 20)
    file = workbook(tmp_path, CELLS)
    assert len(read_table(file)) == 12
    with zipfile.ZipFile(file, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet2.xml", b" " * (1 << 21))
    assert file.stat().st_size < 1 << 14
    monkeypatch.setattr("zipfile.ZipFile.open", None)
    with pytest.raises(InvalidInputError, match="unpacks to"):
        read_table(file)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_last_line_without_an_end_is_noted(tmp_path, encoding, end):
    file = tmp_path / "table.csv"
    lines = ["fat,a,b", "1.5,2,3", "2.5,1,4", "3.5,2,5"]
    file.write_bytes((end.join(lines) + end).encode(encoding))
    assert read_table(file).notes == ()
    file.write_bytes(end.join(lines).encode(encoding))
    assert len(read_table(file).notes) == 1


@pytest.mark.parametrize(
    ("cells", "count"),
    [
        (["1,234", "5,678", "2,345"], 1),
        (["1,234", "5,6", "2,345"], 0),
        (["0,234", "5,678", "2,345"], 0),
        (["1.234", "5.678", "2.345"], 0),
    ],
)
def test_a_comma_that_may_stand_between_thousands_is_noted(tmp_path, cells, count):
    file = tmp_path / "table.csv"
    file.write_text("fat;1100\n" + "".join(f"{cell};{i}\n" for i, cell in enumerate(cells)))
    table = read_table(file)
    assert len(table.notes) == count
    assert table.numbers(("fat",))[0, 0] == float(cells[0].replace(",", "."))


def test_notes_on_other_files_of_a_folder_are_told_with_their_names(tmp_path):
    for name, end in (("a", "\n"), ("b", ""), ("c", "\n"), ("d", "")):
        (tmp_path / f"{name}.csv").write_text(f"y,a\n1,2\n2,3{end}")
    notes = read_table(tmp_path).notes
    assert [note.partition(":")[0] for note in notes] == ["b.csv", "d.csv"]
    assert file_blocks(tmp_path, "y").notes == notes


def test_values_that_cannot_be_read_are_named_by_their_rows(tmp_path):
    file = tmp_path / "table.csv"
    file.write_text("fat,a\n1.5,1\nn.d.,2\n,3\n-999,4\ninf,5\n2.5 ,6\n")
    found, wrong = read_table(file, na=["-999"]).readable("fat")
    np.testing.assert_array_equal(found, [1.5, np.nan, np.nan, np.nan, np.nan, 2.5])
    assert wrong == {2: "n.d.", 5: "inf"}


def test_the_index_of_a_data_frame_is_left_out_with_a_word(tmp_path):
    plain = pd.DataFrame({"y": [1.0, 2.0], "x": [3.0, 4.0]})
    indexed = plain.set_axis(pd.Index(["a", "b"], name="sample"))
    for frame, count in ((plain, 0), (indexed, 1)):
        frame.to_parquet(tmp_path / "table.parquet")
        table = read_table(tmp_path / "table.parquet")
        assert table.names == ("y", "x")
        assert sum("'sample'" in note for note in table.notes) == len(table.notes) == count
        assert file_blocks(tmp_path / "table.parquet", "y").notes == table.notes


def test_marks_that_are_taken_off_numbers_are_known(tmp_path):
    file = tmp_path / "table.csv"
    file.write_text('y;a;b;c\n1 234,5;"1.234.567,5";2,5;3 %\n0,5;2,5;3,5;4 %\n')
    table = read_table(file)
    assert [table.grouped(name) for name in "yabc"] == ["'1 234,5'", "'1.234.567,5'", "", ""]


@needs_excel
def test_decimal_commas_in_a_sheet_are_told(tmp_path):
    cells = [["fat", "a"], ["1,5", 1], ["2,25", 2]]
    assert "comma" in read_table(workbook(tmp_path, cells)).described
    assert "comma" not in read_table(workbook(tmp_path, CELLS)).described
