"""Turns that a table must not take in silence: each is said, refused with its reason, or works."""

import io
import zipfile
from pathlib import Path

import numpy as np
import openpyxl
import pandas as pd
import pytest
from _helpers.command_line import GASOLINE, run, run_json

from plsdof import PLSRegressor, load_model
from plsdof.errors import InvalidInputError
from plsdof.workbench.analysis import Request
from plsdof.workbench.cli._show import with_mend
from plsdof.workbench.problems import read_problems
from plsdof.workbench.tables.joining import JoinedReading
from plsdof.workbench.tables.reading import read_table

RNG = np.random.default_rng(5)
N = 30
WAVES = [str(wave) for wave in range(1100, 1124, 2)]
SPECTRA = RNG.normal(size=(N, len(WAVES))).cumsum(axis=1).round(4) + 20
FAT = (SPECTRA[:, 3] - SPECTRA[:, 7] + 10 + 0.1 * RNG.normal(size=N)).round(3)
FRAME = pd.DataFrame(SPECTRA, columns=WAVES)
FRAME.insert(0, "fat", FAT)
FRAME.insert(0, "id", [f"S-{i:02d}" for i in range(N)])


@pytest.fixture
def save(tmp_path):
    def write(frame, name="table.csv"):
        frame.to_csv(tmp_path / name, index=False)
        return tmp_path / name

    return write


def problem(file, response="fat", *, reading=None, **options):
    asked = Request(response=response, **options)
    (found,) = read_problems([file], asked, reading or JoinedReading())
    return found


def notes(file, response="fat", **options):
    found = problem(file, response, **options)
    return "\n".join([*(with_mend(one.words, one.mend) for one in found.doubts), *found.notes])


def told(file, *words, response="fat", **options):
    """Say whether one note, or one doubt, has all of these words."""
    found = problem(file, response, **options)
    texts = [*(with_mend(one.words, one.mend) for one in found.doubts), *found.notes]
    return any(all(word in note for word in words) for note in texts)


def joined(file, other, **options):
    reading = JoinedReading(response_file=Path(other), **options)
    return problem(file, reading=reading)


# Joining with the table of the laboratory
# ----------------------------------------


def test_the_order_of_rows_is_refused_if_ids_say_another_one(save):
    spectra = save(FRAME.drop(columns="fat"), "x.csv")
    other = save(FRAME[["id", "fat"]].iloc[RNG.permutation(N)], "y.csv")
    with pytest.raises(InvalidInputError, match=r"another order.*Join the rows by it"):
        joined(spectra, other, by_row_order=True)
    same = save(FRAME[["id", "fat"]], "z.csv")
    np.testing.assert_array_equal(joined(spectra, same, by_row_order=True).rows.y, FAT)


@pytest.mark.parametrize("decimal", [".", ","])
@pytest.mark.parametrize("end", ["\n", ""])
def test_a_response_file_may_have_one_column(save, tmp_path, decimal, end):
    spectra = save(FRAME.drop(columns=["fat", "id"]), "x.csv")
    lines = ["fat", *(str(value).replace(".", decimal) for value in FAT)]
    (tmp_path / "y.csv").write_text("\n".join(lines) + end)
    found = joined(spectra, tmp_path / "y.csv", by_row_order=True)
    np.testing.assert_array_equal(found.rows.y, FAT)
    if decimal == ".":
        with pytest.raises(InvalidInputError, match="only one column"):
            read_table(tmp_path / "y.csv")


@pytest.mark.parametrize("sign", [" ", "", "_", " - "])
def test_ids_that_differ_by_a_sign_are_shown_beside_each_other(save, sign):
    spectra = save(FRAME.drop(columns="fat"), "x.csv")
    other = FRAME[["id", "fat"]].copy()
    other.loc[:2, "id"] = [one.replace("-", sign) for one in other["id"][:3]]
    with pytest.raises(InvalidInputError) as refused:
        joined(spectra, save(other, "y.csv"))
    for place in range(3):
        assert f"'S-0{place}' here is 'S{sign}0{place}' there" in str(refused.value)


# What is chosen
# --------------


def test_a_response_that_is_a_wavelength_is_said(save):
    file = save(FRAME)
    assert told(file, "'1110'", "wavelength", response="1110")
    assert "wavelength, it seems" not in notes(file)


def test_groups_that_are_the_response_are_said(save):
    assert told(save(FRAME), "groups are those", f"{N} in {N} rows", groups="fat")
    pairs = FRAME.copy()
    pairs["fat"] = FAT[np.arange(N) // 2]
    assert told(save(pairs), "groups are those", f"{N // 2} in {N} rows", groups="fat")


def test_rows_are_excluded_by_their_ids(save):
    file = save(FRAME)
    found = problem(file, label="id", exclude_rows=("S-03,S-05", "7"))
    assert len(found.rows.y) == N - 3
    np.testing.assert_array_equal(found.rows.y, np.delete(FAT, [3, 5, 6]))
    with pytest.raises(InvalidInputError, match="'S-99'"):
        problem(file, label="id", exclude_rows=("S-03,S-99",))
    with pytest.raises(InvalidInputError, match="numbers from 1 to 30"):
        problem(file, exclude_rows=("S-03",))
    # Numbers stay numbers of rows, whatever the ids are.
    numbered = save(FRAME.assign(id=np.arange(N)[::-1] + 1), "numbered.csv")
    found = problem(numbered, label="id", exclude_rows=("1",))
    np.testing.assert_array_equal(found.rows.y, FAT[1:])


# Rows that are not samples, are twice in the table, or are left out
# ------------------------------------------------------------------


@pytest.mark.parametrize("word", ["Mittelwert", "mean", "Std. Dev."])
def test_rows_of_summaries_are_named(save, word):
    mean = FRAME.drop(columns="id").mean().to_frame().T.round(3)
    file = save(pd.concat([FRAME, mean.assign(id=word)]))
    assert told(file, f"31 ({word!r})", "--exclude-rows 31")
    wrong = save(pd.concat([FRAME.drop(columns="id"), mean.assign(fat=word)]), "wrong.csv")
    with pytest.raises(InvalidInputError, match=r"row 31.*summary") as found:
        problem(wrong)
    assert found.value.mend == {"na": [word], "missing": "drop"}
    advised = JoinedReading(na=(word,))
    assert len(problem(wrong, reading=advised, missing="drop").rows.y) == N


def test_rows_dropped_because_of_missing_values_are_listed(save):
    holes = FRAME.copy()
    holes.loc[[2, 5, 9], "1104"] = np.nan
    file = save(holes)
    found = notes(file, missing="drop", exclude_rows=("6",))
    assert "2 of 29 rows dropped because of missing values: 3 ('S-02'), 10 ('S-09')." in found


def test_all_repeated_rows_are_suggested(save):
    again = pd.concat([FRAME, FRAME.iloc[:22]])
    assert told(save(again), "--exclude-rows 31:52", "and 14 more")
    some = pd.concat([FRAME.iloc[[0, 0]], FRAME.iloc[1:], FRAME.iloc[[4, 5]]])
    assert told(save(some), "--exclude-rows 2,32:33")


def test_ids_that_several_new_rows_have_are_said(save, tmp_path):
    PLSRegressor(2).fit(FRAME[WAVES], FRAME["fat"]).save(tmp_path / "m.json")
    new = pd.concat([FRAME, FRAME.iloc[[3, 3, 7]]])
    new.iloc[5, 4] = np.nan
    found = run_json("predict", tmp_path / "m.json", save(new), "--id", "id", "--missing", "drop")
    assert any("'S-03' (rows 4, 31, 32), 'S-07' (rows 8, 33)" in note for note in found["notes"])
    assert any("not predicted: 'S-05'" in note for note in found["notes"])
    assert len(found["predictions"]) == N + 3


# Values and sheets
# -----------------


@pytest.mark.parametrize("value", ["1" * 400, "-" + "9" * 310])
def test_whole_numbers_that_no_float_holds_are_refused(save, value):
    huge = FRAME.astype(object)
    huge.loc[7, "1104"] = value
    with pytest.raises(InvalidInputError, match=r"row 8 of column '1104'.*too large"):
        problem(save(huge))
    huge["1104"] = value
    with pytest.raises(InvalidInputError, match=r"row 1 of column '1104'.*too large"):
        problem(save(huge))


def units_row():
    return pd.concat(
        [pd.DataFrame([["", "%", *["nm"] * len(WAVES)]], columns=FRAME.columns), FRAME]
    )


@pytest.mark.parametrize("ending", ["csv", "xlsx"])
def test_a_row_of_units_reaches_the_names_and_the_axis(save, tmp_path, ending):
    file = tmp_path / f"table.{ending}"
    if ending == "csv":
        units_row().to_csv(file, index=False)
    else:
        book = openpyxl.Workbook()
        for row in [list(FRAME.columns), ["", "%", *["nm"] * len(WAVES)], *FRAME.values.tolist()]:
            book.active.append(row)
        book.save(file)
    found = problem(file, exclude=("1104",), features=("1100:1120",))
    wanted = [wave for wave in WAVES if int(wave) <= 1120 and wave != "1104"]
    assert found.names == tuple(f"{wave} nm" for wave in wanted)
    model, report = tmp_path / "m.json", tmp_path / "r.html"
    run("fit", file, "-r", "fat", "--model", model, "--report", report)
    assert "wavelength (nm)" in report.read_text(encoding="utf-8")
    # New rows may come without units, or as a plain table.
    plain = save(FRAME.drop(columns="fat"), "new.csv")
    predicted = run_json("predict", model, plain)
    expected = load_model(model).predict(SPECTRA)
    values = [one["prediction"] for one in predicted["predictions"]]
    np.testing.assert_allclose(values, expected, rtol=1e-9)


def sheet_of(cells, rows):
    """A workbook whose only sheet has so many rows of so many cells, packed to next to nothing."""
    book = openpyxl.Workbook()
    book.active.append(["a", "b"])
    made = io.BytesIO()
    book.save(made)
    packed = io.BytesIO()
    with zipfile.ZipFile(made) as old, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            if name != "xl/worksheets/sheet1.xml":
                new.writestr(name, old.read(name))
        space = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
        row = f"<row>{''.join(f'<c><v>{i}</v></c>' for i in range(cells))}</row>"
        sheet = f"<worksheet xmlns='{space}'><sheetData>{row * rows}</sheetData></worksheet>"
        new.writestr("xl/worksheets/sheet1.xml", sheet)
    return packed.getvalue()


def test_a_workbook_with_too_many_cells_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("plsdof.workbench.tables.workbooks.MOST_CELLS", 1000)
    (tmp_path / "big.xlsx").write_bytes(sheet_of(10, 2000))
    with pytest.raises(InvalidInputError, match=r"20,000 cells.*CSV or Parquet"):
        read_table(tmp_path / "big.xlsx")
    (tmp_path / "small.xlsx").write_bytes(sheet_of(10, 90))
    assert len(read_table(tmp_path / "small.xlsx")) == 89


def test_asking_for_no_standard_errors_keeps_the_unusual_rows():
    found, plain = (
        run_json("fit", GASOLINE, "-r", "octane", *w) for w in (["--no-std-errors"], [])
    )
    assert found["unusual"] == plain["unusual"] != []
    assert "as-asked" in [one["key"] for one in found["remarks"]]


def test_names_of_new_rows_that_repeat_are_told(tmp_path):
    table = pd.read_csv(GASOLINE).head(6)
    table.insert(0, "name", ["a", "a", "b", "c", "d", "e"])
    table.to_csv(tmp_path / "new.csv", index=False)
    run_json("fit", GASOLINE, "-r", "octane", "--model", tmp_path / "m.json")
    found = run_json("predict", tmp_path / "m.json", tmp_path / "new.csv")
    assert any("'a' (rows 1, 2)" in note for note in found["notes"])
