"""CSV and Parquet files read block by block."""

import operator
import sys

import numpy as np
import pandas as pd
import pytest
from _helpers.problems import make_problem

from plsdof import pls_path
from plsdof._core.moments import Moments, block_moments
from plsdof._core.standardize import standardize
from plsdof.errors import ConstantColumnWarning, InvalidInputError, MissingExtraError
from plsdof.large.sources import block_gram
from plsdof.workbench.tables.blocks import file_blocks
from plsdof.workbench.tables.reading import read_table

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


def table(n, p, seed=0):
    """Columns x0, ..., y and w (weights) of a random problem."""
    X, y = make_problem(n, p, seed=seed)
    weights = np.random.default_rng(seed).integers(0, 4, n).astype(float)
    return {**{f"x{j}": X[:, j] for j in range(p)}, "y": y, "w": weights}


def matrix(columns):
    return np.column_stack([column for name, column in columns.items() if name[0] == "x"])


def write_csv(file, columns, separator=",", decimal=".", encoding="utf-8", end="\n"):
    lines = [separator.join(columns)]
    rows = zip(*columns.values(), strict=True)
    lines += [separator.join(repr(float(v)).replace(".", decimal) for v in row) for row in rows]
    file.write_bytes((end.join(lines) + end).encode(encoding))


def write_parquet(file, columns, **options):
    parquet.write_table(pyarrow.table(dict(columns)), file, **options)


def parts(columns, cuts):
    rows = np.split(np.arange(len(columns["y"])), cuts)
    return [{name: values[index] for name, values in columns.items()} for index in rows]


def gathered(blocks):
    """X, y, weights and first numbers of all blocks."""
    found = blocks.reduce(
        lambda b: [
            (b.X.copy(), b.y.copy(), None if b.weights is None else b.weights.copy(), b.first)
        ],
        operator.add,
    )
    X = np.concatenate([block[0] for block in found])
    y = np.concatenate([block[1] for block in found])
    return X, y, found


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("step", [1, 7, 1000])
def test_blocks_put_together_are_the_file(tmp_path, kind, step):
    columns = table(50, 4)
    file = tmp_path / f"data.{kind}"
    (write_csv if kind == "csv" else write_parquet)(file, columns)
    blocks = file_blocks(file, "y", weights="w", memory=8 * 4 * step)
    for _ in range(2):  # every pass starts from the beginning
        X, y, found = gathered(blocks)
        np.testing.assert_array_equal(X, matrix(columns))
        np.testing.assert_array_equal(y, columns["y"])
        weights = [np.ones(len(b[1])) if b[2] is None else b[2] for b in found]
        np.testing.assert_array_equal(np.concatenate(weights), columns["w"])
        assert [block[3] for block in found] == list(range(0, 50, step))
    assert blocks.names == ("x0", "x1", "x2", "x3")
    assert (blocks.n_rows, blocks.n_columns, blocks.axis) == (50, 4, 0)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("limit", [0, 5000])
def test_gram_of_files_is_that_of_the_table(tmp_path, kind, limit):
    columns = table(60, 5, seed=3)
    file = tmp_path / "data"
    (write_csv if kind == "csv" else write_parquet)(file, columns)
    gram = block_gram(file_blocks(file, "y", weights="w", memory=700), limit=limit)
    data = standardize(matrix(columns), columns["y"], sample_weight=columns["w"])
    dense = data.X.T @ data.X
    identity = np.eye(len(dense))
    np.testing.assert_allclose(gram.matrix, dense, rtol=1e-10, atol=1e-10)
    assert gram.total == pytest.approx(data.y @ data.y, rel=1e-12)
    np.testing.assert_allclose(gram.to_samples(identity), data.X, rtol=1e-10, atol=1e-10)
    assert gram.units.names == tuple(f"x{j}" for j in range(5))


def test_a_folder_is_read_in_the_order_of_names_whatever_its_files_are(tmp_path):
    columns = table(30, 3, seed=2)
    first, second, third = parts(columns, [4, 20])
    write_csv(tmp_path / "a.csv", first)
    write_parquet(tmp_path / "b.parquet", dict(reversed(second.items())))
    write_csv(tmp_path / "c.tsv", third, separator="\t")
    (tmp_path / "_SUCCESS").write_text("")
    (tmp_path / ".hidden").write_text("nothing")
    blocks = file_blocks(tmp_path, "y", weights="w", memory=8 * 3 * 6)
    assert blocks.n_rows is None
    X, y, _ = gathered(blocks)
    np.testing.assert_array_equal(X, matrix(columns))
    np.testing.assert_array_equal(y, columns["y"])
    assert blocks.n_rows == 30


@pytest.mark.parametrize(
    "options",
    [
        {"separator": ";", "decimal": ","},
        {"separator": "\t"},
        {"separator": "|", "end": "\r\n"},
        {"end": "\r"},
        {"encoding": "utf-8-sig"},
        {"encoding": "utf-16"},
        {"encoding": "latin-1"},
    ],
)
def test_text_is_read_as_it_is_written(tmp_path, options):
    columns = table(20, 3, seed=4)
    if options.get("encoding") != "utf-16":
        columns = {("xé" if name == "x1" else name): v for name, v in columns.items()}
    write_csv(tmp_path / "data.csv", columns, **options)
    blocks = file_blocks(tmp_path / "data.csv", "y", columns=["x*"])
    np.testing.assert_array_equal(gathered(blocks)[0], matrix(columns))
    assert blocks.names == tuple(columns)[:3]


def test_a_decimal_comma_is_known_from_other_files(tmp_path):
    (tmp_path / "a.csv").write_text("y;x\n1;2\n" + "3;4\n" * 60 + "5;6,5\n")
    with pytest.raises(InvalidInputError, match=r"a.csv: column 'x' .* '6,5' in row 62"):
        gathered(file_blocks(tmp_path, "y"))
    (tmp_path / "b.csv").write_text("y;x\n1,5;2,5\n")
    X, _, _ = gathered(file_blocks(tmp_path, "y"))
    assert X[-2:, 0].tolist() == [6.5, 2.5]


def test_blank_lines_row_names_and_quotes_are_understood(tmp_path):
    file = tmp_path / "r.csv"
    file.write_text('\n\n"y","x 1"\n"a",1,2\n\n"b",3,4\n"c",5,7\n')
    blocks = file_blocks(file, "y")
    X, y, _ = gathered(blocks)
    assert (X[:, 0].tolist(), y.tolist()) == ([2.0, 4.0, 7.0], [1.0, 3.0, 5.0])
    assert blocks.names == ("x 1",)
    assert blocks.left_out == ("unnamed 1",)


SAME_EITHER_WAY = {
    "separator at the end": "y,a\n1,2,\n3,4,\n",
    "row names": "y,a\nr,1,2\ns,3,4\n",
    "row numbers": "y,a\n1,1.5,2\n2,3,4\n",
    "numbers without a name": "y,,a\n1,0.5,2\n3,7.5,4\n",
    "nothing without a name": "y,,a\n1,,2\n3,NA,4\n",
    "logical": "y,a\n1,TRUE\n2,False\n3,true\n",
    "logical response": "a,y\n1,TRUE\n2, FALSE\n3, true\n",
    "euro": "y;Preis €\n1,5;2\n2,5;3\n".encode("cp1252"),
    "separator named": "sep=;\r\ny;a\r\n1,5;2\r\n2,5;3\r\n",
    "no number": "y,a,b\n1,1_0,2\n3,2_0,4\n",
    "white space": "y  a\n1  2\n3 4.5\n",
    "title and units": "Of May\n\ny,a\n%,nm\n1,2\n3,4\n",
    "unit in cells": "y,a\n1 %,2\n3 %,4\n",
    "blanks that do not break": "y;a\n1\u00a0234,5;2\n3,5;\u22124\n",
    "failed formula": "y,a,b\n1,2,x\n3,4,#REF!\n",
}


@pytest.mark.parametrize("kind", SAME_EITHER_WAY)
def test_files_give_the_same_table_in_memory_and_in_blocks(tmp_path, kind):
    file, content = tmp_path / "data.csv", SAME_EITHER_WAY[kind]
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    blocks, whole = file_blocks(file, "y"), read_table(file)
    assert blocks.names == tuple(n for n in whole.names if n != "y" and not whole.is_text(n))
    X, y, _ = gathered(blocks)
    np.testing.assert_array_equal(X, whole.numbers(blocks.names))
    np.testing.assert_array_equal(y, whole.numbers(("y",))[:, 0])


@pytest.mark.parametrize(
    "values",
    [
        pyarrow.array(["1.5", "2.5", "3"]),
        pyarrow.array(["1", "2", "1"]).dictionary_encode(),
        pyarrow.array([1, 2, 1]).dictionary_encode(),
        pyarrow.array([True, False, True]),
        pyarrow.array([0, 1, 2], pyarrow.timestamp("s")),
    ],
    ids=["digits", "codes", "numbers in a dictionary", "logical", "times"],
)
def test_parquet_gives_the_same_table_in_memory_and_in_blocks(tmp_path, values):
    file = tmp_path / "data.parquet"
    write_parquet(file, {"y": [1.0, 2.0, 4.0], "x": [1, 5, 3], "a": values})
    blocks, whole = file_blocks(file, "y"), read_table(file)
    assert blocks.names == tuple(n for n in whole.names if n != "y" and not whole.is_text(n))
    np.testing.assert_array_equal(gathered(blocks)[0], whole.numbers(blocks.names))


def test_columns_of_nothing_are_missing_and_text_is_no_number(tmp_path):
    file = tmp_path / "data.parquet"
    columns = {
        "y": [1.0, 2.0, 4.0],
        "a": pyarrow.nulls(3),
        "digits": pyarrow.array(["1", "2", "3"]),
    }
    write_parquet(file, columns)
    assert np.isnan(read_table(file).numbers(("a",))).all()
    with pytest.raises(InvalidInputError, match="row 1 of column 'a' is missing"):
        gathered(file_blocks(file, "y"))
    with pytest.raises(InvalidInputError, match=r"'digits' is not numeric but text \(such as"):
        read_table(file).numbers(("digits",))
    with pytest.raises(InvalidInputError, match="'digits' is not numeric but"):
        gathered(file_blocks(file, "y", columns=["digits"]))


REFUSED_EITHER_WAY = {
    "a field too many": ("y,a,b\n1.5,2,3,4\n2.5,3,4,5\n", "3 names, but rows have 4 fields"),
    "a late field too many": ("y,a\n" + "1,2,\n" * 40 + "1,2,3\n", "row 41 .*without a name"),
    "points between thousands": ("y;a\n1,5;999\n2,5;1.234\n", "decimal commas.*without '.'"),
    "commas between thousands": ("y;a\n15;999\n25;1,234\n", "'1,234' and '999'"),
    "both marks": ("y;a\n15.5;999\n25;1,23.45\n", "decimal points.*without ','"),
    "logical and number": ("y,a\n1,TRUE\n2,FALSE\n3,1\n", "'a'"),
}


@pytest.mark.parametrize("kind", REFUSED_EITHER_WAY)
def test_files_are_refused_alike_in_memory_and_in_blocks(tmp_path, kind):
    content, message = REFUSED_EITHER_WAY[kind]
    file = tmp_path / "data.csv"
    file.write_text(content)
    with pytest.raises(InvalidInputError, match=message):
        gathered(file_blocks(file, "y"))
    with pytest.raises(InvalidInputError, match=message):
        read_table(file).numbers(("y", "a"))


def test_missing_values_are_missing_however_they_are_spelled(tmp_path):
    for spelled in ("", " ", "NA", " NA", "None", "<NA>"):
        for known in ("TRUE", "1.5"):
            (tmp_path / "data.csv").write_text(f"y,a\n1,{known}\n2,{spelled}\n")
            with pytest.raises(InvalidInputError, match="row 2 of column 'a' is missing"):
                gathered(file_blocks(tmp_path / "data.csv", "y"))


def test_a_late_value_in_a_column_without_a_name_is_not_lost(tmp_path):
    (tmp_path / "data.csv").write_text("y,,a\n" + "1,,2\n" * 40 + "1,7,2\n")
    with pytest.raises(InvalidInputError, match=r"'7' in row 41 .*without a name; give it one"):
        gathered(file_blocks(tmp_path / "data.csv", "y"))


def test_columns_of_text_are_left_out_unless_asked_for(tmp_path):
    file = tmp_path / "data.csv"
    file.write_text('y,name,x,date\n1,"a,\nb",2,2020-01-01\n2,NA,4,2020-01-02\n')
    for target in (file, tmp_path / "data.parquet"):
        if target != file:
            columns = {"y": [1.0, 2.0], "name": ["a", "b"], "x": [2, 4], "date": ["1", "2"]}
            write_parquet(target, columns)
        blocks = file_blocks(target, "y")
        assert blocks.names == ("x",)
        assert blocks.left_out == ("name", "date")
        assert gathered(blocks)[0].tolist() == [[2.0], [4.0]]
        with pytest.raises(InvalidInputError, match=r"column 'date'"):
            gathered(file_blocks(target, "y", columns=["x", "date"]))
        with pytest.raises(InvalidInputError, match=r"column 'name'"):
            gathered(file_blocks(target, "name", columns=["x"]))


def test_predictors_are_chosen_by_name_range_or_pattern(tmp_path):
    columns = table(9, 5)
    write_parquet(tmp_path / "data.parquet", columns)
    blocks = file_blocks(tmp_path / "data.parquet", "y", columns=["x1:x2", "x4"])
    assert blocks.names == ("x1", "x2", "x4")
    np.testing.assert_array_equal(gathered(blocks)[0], matrix(columns)[:, [1, 2, 4]])
    with pytest.raises(InvalidInputError, match="no column 'z'; there are"):
        file_blocks(tmp_path / "data.parquet", "z")
    with pytest.raises(InvalidInputError, match="no column 'W'; did you mean 'w'"):
        file_blocks(tmp_path / "data.parquet", "y", weights="W")
    with pytest.raises(InvalidInputError, match="no column of predictors"):
        file_blocks(tmp_path / "data.parquet", "y", columns=["y"])


def test_numbers_of_any_type_are_taken_from_parquet(tmp_path):
    from decimal import Decimal

    columns = {
        "y": np.array([1.0, 2.0, 4.0], dtype="float32"),
        "1100": pyarrow.array([1, 2, 2**60 + 1]),
        "1100.5": pyarrow.array([True, False, True]),
        " b ": pyarrow.array([Decimal("1.50"), Decimal("2.25"), Decimal("3.00")]),
    }
    write_parquet(tmp_path / "data.parquet", columns)
    blocks = file_blocks(tmp_path / "data.parquet", "y")
    assert blocks.names == ("1100", "1100.5", "b")
    expected = [[1.0, 1.0, 1.5], [2.0, 0.0, 2.25], [2.0**60, 1.0, 3.0]]
    assert gathered(blocks)[0].tolist() == expected


def test_the_index_of_a_frame_is_no_predictor(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"y": [1.0, 2.0], "x": [3.0, 4.0]}, index=[7, 9])
    frame.to_parquet(tmp_path / "data.parquet")
    assert file_blocks(tmp_path / "data.parquet", "y").names == ("x",)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("name", ["x1", "y", "w"])
def test_missing_and_infinite_values_are_named_by_file_row_and_column(tmp_path, kind, bad, name):
    columns = table(40, 3)
    columns[name][33] = bad
    write = write_csv if kind == "csv" else write_parquet
    for number, part in enumerate(parts(columns, [25])):
        write(tmp_path / f"{number}.{kind}", part)
    what = "missing" if np.isnan(bad) else "infinite"
    blocks = file_blocks(tmp_path, "y", weights="w", memory=8 * 3 * 6)
    message = rf"1\.{kind}: the value in row 9 of column '{name}' is {what}"
    with pytest.raises(InvalidInputError, match=message):
        gathered(blocks)


def test_null_values_of_parquet_are_missing(tmp_path):
    columns = {"y": pyarrow.array([1.0, 2.0, 3.0]), "x": pyarrow.array([1, None, 3])}
    write_parquet(tmp_path / "data.parquet", columns)
    with pytest.raises(InvalidInputError, match="row 2 of column 'x' is missing"):
        gathered(file_blocks(tmp_path / "data.parquet", "y"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("y,x\n" + "1,2\n" * 500 + "3,abc\n", r"column 'x' is not numeric: .* 'abc' in row 501"),
        ("\n\ny,x\n" + "1,2\n" * 500 + "3,abc\n", r"column 'x' .* 'abc' in row 501"),
        ("y,x\n" + "1,2\n" * 500 + "3\n", r"line 502 has 1 field\(s\) instead of 2"),
        ("y,x\n" + "1,2\n" * 500 + "3,4,5\n", r"line 502 has 3 field\(s\) instead of 2"),
        ("y,x\n", "no rows below"),
        ("", "is empty"),
        ("only\n1\n2\n", "only one column"),
        ("y,x,x\n1,2,3\n", "column names must differ"),
    ],
)
def test_faults_of_text_are_told_with_the_file(tmp_path, text, message):
    file = tmp_path / "bad.csv"
    file.write_text(text)
    with pytest.raises(InvalidInputError, match=rf"bad\.csv: .*{message}"):
        gathered(file_blocks(file, "y"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"PK\x03\x04 and so on", "Excel file or zip archive"),
        (b"\x1f\x8b and so on", "compressed"),
        (b"PAR1 and so on", "could not be read"),
        (b"\x00\x01\x02\x03" * 10, "NUL bytes"),
    ],
)
def test_files_that_are_no_tables_are_refused(tmp_path, content, message):
    (tmp_path / "bad").write_bytes(content)
    with pytest.raises(InvalidInputError, match=rf"bad: .*{message}"):
        file_blocks(tmp_path / "bad", "y")


def test_missing_files_and_empty_folders_are_refused(tmp_path):
    with pytest.raises(InvalidInputError, match="no file in this folder"):
        file_blocks(tmp_path, "y")
    with pytest.raises(InvalidInputError, match=r"nowhere\.csv: .*not be read: no such"):
        file_blocks(tmp_path / "nowhere.csv", "y")


def test_a_file_without_rows_among_others_adds_none(tmp_path):
    columns = table(8, 3)
    for number, part in enumerate(parts(columns, [4, 4])):
        write_parquet(tmp_path / f"{number}.parquet", part)
    blocks = file_blocks(tmp_path, "y", weights="w", memory=8 * 3 * 3)
    assert len(blocks.table(["x0"], "all")) == 8
    np.testing.assert_array_equal(gathered(blocks)[0], matrix(columns))


def test_wide_parquet_gives_the_path_of_the_table(tmp_path):
    columns = table(12, 40, seed=1)
    for number, part in enumerate(parts(columns, [5])):
        write_parquet(tmp_path / f"{number}.parquet", part, row_group_size=2)
    blocks = file_blocks(tmp_path, "y", columns=["x*"], memory=8 * 40 * 5)
    path = pls_path(blocks, max_components=4)
    expected = pls_path(matrix(columns), columns["y"], 4)
    np.testing.assert_allclose(path.dof, expected.dof, rtol=1e-8)
    np.testing.assert_allclose(path.coef, expected.coef, rtol=1e-8, atol=1e-10)


def test_too_few_rows_are_refused(tmp_path):
    write_parquet(tmp_path / "one.parquet", {"y": [1.0], "x": [2.0]})
    with pytest.raises(InvalidInputError):
        block_gram(file_blocks(tmp_path / "one.parquet", "y"))


def test_the_file_with_other_columns_is_named(tmp_path):
    write_csv(tmp_path / "a.csv", {"y": [1.0, 2.0], "x": [3.0, 4.0]})
    write_csv(tmp_path / "b.csv", {"y": [1.0, 2.0], "z": [3.0, 4.0]})
    with pytest.raises(InvalidInputError, match=r"b.csv lacks column 'x', unlike .*a.csv"):
        file_blocks(tmp_path, "y")
    write_csv(tmp_path / "b.csv", {"y": [1.0, 2.0], "x": [1.0, 2.0], "z": [3.0, 4.0]})
    with pytest.raises(InvalidInputError, match=r"b.csv has the additional column 'z'"):
        file_blocks(tmp_path, "y")


@pytest.mark.parametrize("name", ["notes.txt", "a_notes.txt"])
@pytest.mark.parametrize(
    "text", ["Measured in May.\n", "Dear all,\nx, y, z\n1, 2, 3\n", "u,v\n1,2\n"]
)
def test_a_file_that_is_no_part_of_the_table_is_named(tmp_path, name, text):
    for month in "bc":
        write_csv(tmp_path / f"{month}.csv", {"y": [1.0, 2.0], "x": [3.0, 4.0]})
    (tmp_path / name).write_text(text)
    with pytest.raises(InvalidInputError, match=name):
        file_blocks(tmp_path, "y")
    (tmp_path / name).rename(tmp_path / f"_{name}")
    assert file_blocks(tmp_path, "y").names == ("x",)


def test_negative_weights_are_refused(tmp_path):
    write_parquet(tmp_path / "data.parquet", {"y": [1.0, 2.0], "x": [3.0, 4.0], "w": [1.0, -1.0]})
    with pytest.raises(InvalidInputError, match="not negative"):
        gathered(file_blocks(tmp_path / "data.parquet", "y", weights="w"))


def test_long_lines_are_read(tmp_path, monkeypatch):
    """A line of text that is longer than what is parsed at a time."""
    monkeypatch.setattr("plsdof.workbench.tables.reading._PARSED", 1000)
    p = 2000
    values = np.random.default_rng(0).normal(size=(3, p))
    lines = [",".join(["y", *(f"x{j}" for j in range(p - 1))])]
    lines += [",".join(map(repr, row.tolist())) for row in values]
    (tmp_path / "wide.csv").write_text("\n".join(lines))
    X, y, _ = gathered(file_blocks(tmp_path / "wide.csv", "y"))
    np.testing.assert_array_equal(X, values[:, 1:])
    np.testing.assert_array_equal(y, values[:, 0])


def test_constant_columns_are_named(tmp_path):
    columns = {**table(10, 2), "const": np.ones(10)}
    write_parquet(tmp_path / "data.parquet", columns)
    with pytest.warns(ConstantColumnWarning, match="'const'"):
        block_gram(file_blocks(tmp_path / "data.parquet", "y"))


def test_progress_is_shown_for_text_of_unknown_length(tmp_path, capsys, monkeypatch):
    pytest.importorskip("rich")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    write_csv(tmp_path / "data.csv", table(30, 3))
    block_gram(file_blocks(tmp_path / "data.csv", "y", progress=True, memory=100))
    captured = capsys.readouterr()
    assert "Means and products" in captured.err
    assert captured.out == ""


def test_the_missing_package_is_named(tmp_path, monkeypatch):
    write_parquet(tmp_path / "data.parquet", table(5, 2))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"plsdof\[files\]"):
        file_blocks(tmp_path / "data.parquet", "y")


# files that change while they are read


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("what", ["grows", "vanishes", "shrinks"])
def test_a_file_that_changes_between_two_passes_is_refused(tmp_path, kind, what):
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 3)), columns=["y", "a", "b"])

    def written(rows):
        if kind == "csv":
            rows.to_csv(tmp_path / "table.csv", index=False)
        else:
            rows.to_parquet(tmp_path / "table.parquet")

    written(frame)
    blocks = file_blocks(tmp_path / f"table.{kind}", "y")
    blocks.reduce(block_moments, Moments.merge)
    if what == "vanishes":
        (tmp_path / f"table.{kind}").unlink()
    else:
        written(frame[:20] if what == "shrinks" else pd.concat([frame, frame]))
    with pytest.raises(InvalidInputError, match=f"table.{kind}"):
        blocks.reduce(block_moments, Moments.merge)
    with pytest.raises(InvalidInputError, match=f"table.{kind}"):
        blocks.table(["a"], "table")


def test_a_file_that_grows_during_a_pass_is_refused_before_its_rows_are_used(tmp_path, monkeypatch):
    """Whoever chose rows by their numbers never sees more of them."""
    monkeypatch.setattr("plsdof.workbench.tables.reading._PARSED", 1)
    file = tmp_path / "table.csv"
    file.write_text("y,a\n" + "1.5,2.5\n2.5,3\n" * 10)
    blocks = file_blocks(file, "y", memory=64)
    blocks.table(["a"], "table")
    seen = []

    def grow(block):
        if not seen:
            with file.open("a") as stream:
                stream.write("9,9\n" * 1000)
        seen.append(len(block.X))
        return 0

    with pytest.raises(InvalidInputError, match=r"table\.csv"):
        blocks.reduce(grow, lambda one, other: one + other)
    assert sum(seen) <= 20
