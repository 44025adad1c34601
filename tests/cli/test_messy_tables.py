"""Tables as people have them: the right result, or one sentence with the option that helps."""

import io

import numpy as np
import openpyxl
import pandas as pd
import pytest
from _helpers.command_line import (
    eighty_columns,  # noqa: F401
    refused,
    run,
    run_json,
)

from plsdof import pls_path

RNG = np.random.default_rng(7)
N, WAVES = 24, tuple(range(1100, 1130, 2))
LATENT = RNG.normal(size=(N, 3))
SPECTRA = LATENT @ RNG.normal(size=(3, len(WAVES))) + 0.05 * RNG.normal(size=(N, len(WAVES))) + 2
FAT = LATENT[:, 0] + 0.1 * RNG.normal(size=N) + 10
IDS = [f"S{i + 1:02d}" for i in range(N)]
EXPECTED = pls_path(SPECTRA, FAT).dof


def rows(number=repr, *, ids=True):
    """Cells of the plain table: header, then a row for each sample."""
    header = [*(["sample"] * ids), "fat", *map(str, WAVES)]
    body = [
        [*([name] * ids), number(float(y)), *(number(float(v)) for v in values)]
        for name, y, values in zip(IDS, FAT, SPECTRA, strict=True)
    ]
    return [header, *body]


def text(cells, separator=",", end="\n"):
    return end.join(separator.join(row) for row in cells) + end


def comma(value):
    return repr(value).replace(".", ",")


def book(sheets, *, far=None):
    """An Excel file: cells that look like numbers are numbers."""
    made = openpyxl.Workbook()
    made.remove(made.active)
    for name, cells in sheets.items():
        sheet = made.create_sheet(name)
        for row in cells:
            sheet.append([_typed(cell) for cell in row])
        if far is not None:
            sheet[far] = "x"
    stream = io.BytesIO()
    made.save(stream)
    return stream.getvalue()


def _typed(cell):
    try:
        return float(cell)
    except (TypeError, ValueError):
        return cell or None


def with_cell(cells, row, column, value):
    changed = [list(one) for one in cells]
    changed[row][column] = value
    return changed


def with_column(cells, name, values, place=1):
    return [
        [*row[:place], cell, *row[place:]] for row, cell in zip(cells, [name, *values], strict=True)
    ]


UNITS = ["", "%", *["nm"] * len(WAVES)]
TURNED = [list(column) for column in zip(*rows(), strict=True)]

# name: content, options, part of a note (or None)
RIGHT = {
    "plain": (text(rows()), (), None),
    "semicolons and decimal commas": (text(rows(comma), ";"), (), None),
    "tabs in utf-16": (text(rows(), "\t").encode("utf-16"), (), None),
    "latin-1 with a title": (("Größe\n" + text(rows())).encode("latin-1"), (), "title: 'Größe'"),
    "title row": ("NIR of meat, May 2024\n" + text(rows()), (), "Line 1 was taken for a title"),
    "several titles and a blank line": (
        "Institute of Meat\nInstrument: 6500\n\n" + text(rows(comma), ";"),
        (),
        "Line 2 was taken for a title: 'Instrument: 6500'",
    ),
    "comment lines": ("# made by a program\n# version, 3\n" + text(rows()), (), "title"),
    "titles skipped": ("a,b\nc,d,e\n" + text(rows()), ("--skip-rows", 2), None),
    "header row told": ("a,b\nc,d,e\n" + text(rows()), ("--header-row", 3), None),
    "row of units": (
        text([rows()[0], UNITS, *rows()[1:]]),
        (),
        "Line 2 was taken for units: '%', 'nm'",
    ),
    "title and units": (
        "Meat\n" + text([rows()[0], UNITS, *rows()[1:]]),
        (),
        "Line 3 was taken for units",
    ),
    "names in two rows": (
        text(
            [
                ["sample", "fat", *[""] * len(WAVES)],
                ["", "", *map(str, WAVES)],
                *rows()[1:],
            ]
        ),
        (),
        "Lines 1 and 2 were taken for names together",
    ),
    "units in the cells": (
        text(
            [
                [*row[:1], row[1] if i == 0 else f"{row[1]} %", *row[2:]]
                for i, row in enumerate(rows())
            ]
        ),
        (),
        "without their unit: 'fat' (%)",
    ),
    "blanks that do not break": (
        text(
            [
                [cell.replace("-", "\u2212") + "\u00a0" if i else cell for cell in row]
                for i, row in enumerate(rows())
            ],
            ";",
        ),
        (),
        None,
    ),
    "other constituents": (
        text(with_column(rows(), "protein", [repr(float(2 * y + 1)) for y in FAT])),
        (),
        "Left out, not wavelengths: 'protein'",
    ),
    "dates and operators": (
        text(with_column(with_column(rows(), "date", ["2024-05-01"] * N), "who", ["ann"] * N)),
        (),
        "Left out, not numeric: 'sample' (such as 'S01'), 'who' (such as 'ann'), 'date'",
    ),
    "on its side": (text(TURNED), ("--transpose",), None),
    "on its side, with commas": (
        text([list(column) for column in zip(*rows(comma), strict=True)], ";"),
        ("--transpose",),
        None,
    ),
    "wavelengths with units and R's X": (
        text([["sample", "fat", *(f"X{w}" for w in WAVES)], *rows()[1:]]),
        (),
        None,
    ),
    "Excel": (book({"Data": rows()}), (), None),
    "Excel with a title and units": (
        book({"Data": [["Meat of May"], [], rows()[0], UNITS, *rows()[1:]]}),
        (),
        "Row 4 was taken for units",
    ),
    "Excel with a cell far out": (
        book({"Data": rows()}, far="XFD50000"),
        (),
        "Ignored, away from the table: cell XFD50000",
    ),
    "Excel with a remark below": (
        book({"Data": [*rows(), [], ["Measured by Ann"]]}),
        (),
        "Ignored, below the table from row 27 on: 'Measured by Ann'",
    ),
    "Excel on its side": (book({"Data": TURNED}), ("--transpose",), None),
    "Excel, second sheet": (
        book({"Read me": [["Hello"]], "Data": rows()}),
        ("--sheet", "Data"),
        None,
    ),
    "X and y on two sheets": (
        book(
            {
                "Spectra": [[row[0], *row[2:]] for row in rows()],
                "Reference": [["sample", "fat"], *[row[:2] for row in rows()[:0:-1]]],
            }
        ),
        ("--response-sheet", "Reference"),
        "Joined with",
    ),
    "failed formulas in a column that is not used": (
        text(with_column(rows(), "ratio", ["#DIV/0!", *["1.5"] * (N - 1)])),
        (),
        "Left out, not wavelengths: 'ratio'",
    ),
    "sep= line": ("sep=;\n" + text(rows(comma), ";"), (), None),
    "row names as R writes them": (
        text([rows(ids=False)[0], *[[f'"{row[0]}"', *row[1:]] for row in rows()[1:]]]),
        (),
        None,
    ),
}


def write(tmp_path, content):
    ending = "xlsx" if isinstance(content, bytes) and content.startswith(b"PK") else "csv"
    file = tmp_path / f"table.{ending}"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return file


@pytest.mark.parametrize("kind", RIGHT)
def test_the_right_result(tmp_path, kind):
    content, options, note = RIGHT[kind]
    found = run_json("fit", write(tmp_path, content), "-r", "fat", *options)
    assert (found["n"], found["p"]) == (N, len(WAVES))
    np.testing.assert_allclose([one["dof"] for one in found["path"]], EXPECTED, rtol=1e-9)
    if note is None:
        assert not any("taken for" in one or "Ignored" in one for one in found["notes"])
    else:
        assert any(note in one for one in found["notes"]), found["notes"]


BELOW = with_cell(rows(), 5, 1, "<0.05")
MISSING = with_cell(rows(), 5, 3, "")

# name: content, options, what the sentence says
REFUSED = {
    "below the limit of detection": (text(BELOW), (), "'<0.05' in row 5"),
    "the option for that": (text(BELOW), (), "add --na '<0.05'"),
    "missing values": (text(MISSING), (), "--drop-missing"),
    "two units": (
        text(with_cell(with_cell(rows(), 2, 1, "5 %"), 3, 1, "50 g/kg")),
        (),
        "column 'fat' is not numeric",
    ),
    "on its side, not told": (text(TURNED), (), "add --transpose"),
    "no header": (text(rows()[1:]), (), "no column 'fat'"),
    "other sheet": (
        book({"Cover": [["a", "b"], [1, 2], [3, 4]], "Data": rows()}),
        (),
        "It is in sheet 'Data': read that one with --sheet",
    ),
    "empty first sheet": (book({"Cover": [], "Data": rows()}), (), "with --sheet: 'Data'"),
    "header row below the end": (text(rows()), ("--header-row", 99), "the file has 25 lines"),
    "header row among those skipped": (
        text(rows()),
        ("--header-row", 2, "--skip-rows", 3),
        "is among the 3 lines",
    ),
    "a short row": (text([*rows(), ["S99", "3"]]), (), "line 26 has 2 field(s) instead of 17"),
    "a long row": (text([*rows(), [*rows()[1], "3"]]), (), "line 26 has 18 field(s)"),
    "repeated names": (
        text(with_cell(rows(), 0, 3, "1100")),
        (),
        "'1100' (2 times)",
    ),
    "points between thousands": (
        text(with_cell(rows(comma), 2, 1, "1.234,5"), ";"),
        (),
        "thousands without '.'",
    ),
    "old Excel": (b"\xd0\xcf\x11\xe0" + bytes(600), (), "save it as .xlsx or CSV"),
    "a sheet of a text file": (text(rows()), ("--sheet", "Data"), "Excel files only"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_one_clear_sentence(tmp_path, kind):
    content, options, sentence = REFUSED[kind]
    assert sentence in refused("fit", write(tmp_path, content), "-r", "fat", *options)


# what is suspicious is named, and the option that helps does


def test_codes_for_missing_values_are_named_and_understood(tmp_path):
    for code in ("-999", "-999.0"):
        cells = with_cell(with_cell(rows(), 5, 3, code), 9, 1, code)
        file = write(tmp_path, text(cells))
        (note,) = [n for n in run_json("fit", file, "-r", "fat")["notes"] if "occurs" in n]
        assert note.startswith("-999 occurs 2 times, in 'fat', '1102'")
        found = run_json("fit", file, "-r", "fat", "--na", "-999", "--drop-missing")
        kept = np.setdiff1d(np.arange(N), [4, 8])
        expected = pls_path(SPECTRA[kept], FAT[kept]).dof
        np.testing.assert_allclose([one["dof"] for one in found["path"]], expected, rtol=1e-9)
    file = write(tmp_path, text(with_cell(with_cell(rows(), 5, 3, "n.d."), 9, 1, "n.d.")))
    assert run_json("fit", file, "-r", "fat", "--na", "n.d.", "--drop-missing")["n"] == N - 2
    file = write(tmp_path, book({"Data": with_cell(rows(), 5, 3, "-999")}))
    assert run_json("fit", file, "-r", "fat", "--na", "-999", "--drop-missing")["n"] == N - 1


def test_numbers_that_may_be_measured_are_no_codes(tmp_path):
    frame = pd.DataFrame({"y": [1.0, 2.0, 4.0, 3.5, 2.5], "a": [-999.0, -500.0, 700.0, 3.0, 12.0]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert not any("occurs" in n for n in run_json("fit", tmp_path / "t.csv", "-r", "y")["notes"])


def test_rows_that_are_summaries_are_named(tmp_path):
    mean = ["Mean", repr(float(FAT.mean())), *map(repr, SPECTRA.mean(axis=0).tolist())]
    deviation = ["SD", repr(float(FAT.std())), *map(repr, SPECTRA.std(axis=0).tolist())]
    file = write(tmp_path, text([*rows(), mean, deviation]))
    notes = run_json("fit", file, "-r", "fat")["notes"]
    assert any("Rows 25 ('Mean'), 26 ('SD') look like summaries" in note for note in notes)
    found = run_json("fit", file, "-r", "fat", "--exclude-rows", "25,26")
    assert found["n"] == N
    np.testing.assert_allclose([one["dof"] for one in found["path"]], EXPECTED, rtol=1e-9)
    found = run_json("fit", file, "-r", "fat", "--exclude-rows", "sample=SD")
    assert found["n"] == N + 1


def test_a_predictor_that_is_nearly_the_response_is_named(tmp_path):
    frame = pd.DataFrame(LATENT, columns=["a", "b", "c"])
    frame.assign(fat=FAT, **{"fat 2": 2 * FAT + 1}).to_csv(tmp_path / "t.csv", index=False)
    notes = run_json("fit", tmp_path / "t.csv", "-r", "fat")["notes"]
    assert any("Nearly the same as 'fat'" in note and "'fat 2'" in note for note in notes)
    left = run_json("fit", tmp_path / "t.csv", "-r", "fat", "-x", "fat 2")["notes"]
    assert not any("Nearly" in note for note in left)


# responses in another file


def test_responses_are_joined_by_id(tmp_path):
    spectra = [[row[0], *row[2:]] for row in rows()]
    (tmp_path / "x.csv").write_text(text(spectra))
    order = np.random.default_rng(1).permutation(N)
    other = [["fat", "sample", "ash"], *[[rows()[i + 1][1], IDS[i], "1.5"] for i in order]]
    (tmp_path / "y.csv").write_text(text(other))
    options = ("fit", tmp_path / "x.csv", "-r", "fat", "--response-file", tmp_path / "y.csv")
    for more in ((), ("--id", "sample")):
        found = run_json(*options, *more)
        np.testing.assert_allclose([one["dof"] for one in found["path"]], EXPECTED, rtol=1e-9)
        assert [one["name"] for one in found["coefficients"]] == list(map(str, WAVES))
    # The id may be spelled with other letters, as long as they are the same.
    (tmp_path / "y.csv").write_text(text([["fat", "SAMPLE ", "ash"], *other[1:]]))
    found = run_json(*options)
    np.testing.assert_allclose([one["dof"] for one in found["path"]], EXPECTED, rtol=1e-9)
    assert any("by 'sample'" in note for note in found["notes"])
    (tmp_path / "y.csv").write_text(text(other))
    # Several spectra of a sample have the same response; a sample without one is said.
    (tmp_path / "x.csv").write_text(text([*spectra, spectra[1], ["S99", *spectra[1][1:]]]))
    assert "--drop-missing" in refused(*options)
    found = run_json(*options, "--drop-missing")
    assert found["n"] == N + 1
    assert any("1 row not found there" in note for note in found["notes"])
    (tmp_path / "y.csv").write_text(text([*other, other[1]]))
    assert "more than once" in refused(*options)


def test_responses_without_ids_are_joined_by_order_or_refused(tmp_path):
    (tmp_path / "x.csv").write_text(text([row[2:] for row in rows()]))
    (tmp_path / "y.csv").write_text(text([["fat", "ash"], *[[r[1], "1"] for r in rows()[1:]]]))
    options = ("fit", tmp_path / "x.csv", "-r", "fat", "--response-file", tmp_path / "y.csv")
    found = run_json(*options)
    np.testing.assert_allclose([one["dof"] for one in found["path"]], EXPECTED, rtol=1e-9)
    assert any("row by row, as no column in common names" in note for note in found["notes"])
    (tmp_path / "y.csv").write_text(text([["fat", "ash"], *[[r[1], "1"] for r in rows()[2:]]]))
    assert "name it with --id" in refused(*options)


def test_predict_reads_messy_tables_too(tmp_path):
    file = write(tmp_path, text(rows()))
    run("fit", file, "-r", "fat", "--model", tmp_path / "m.json")
    expected = run_json("predict", tmp_path / "m.json", file)["predictions"]
    for content, options in (
        ("Meat\n" + text([rows()[0], UNITS, *rows()[1:]]), ()),
        (text(TURNED), ("--transpose",)),
        ("a,b\nc,d,e\n" + text(rows()), ("--header-row", 3)),
    ):
        found = run_json("predict", tmp_path / "m.json", write(tmp_path, content), *options)
        for one, other in zip(found["predictions"], expected, strict=True):
            assert one["prediction"] == pytest.approx(other["prediction"], rel=1e-12)
            assert one["id"] == other["id"]


# names of rows without a name of their own


def test_summaries_are_noticed_in_a_first_column_without_a_name(tmp_path):
    cells = [["", *rows()[0][1:]], *rows()[1:]]
    means = ["mean", *(repr(float(v)) for v in (FAT.mean(), *SPECTRA.mean(axis=0)))]
    for content in (text([*cells, means]), book({"one": [*cells, means]})):
        file = write(tmp_path, content)
        found = run_json("fit", file, "-r", "fat")
        assert any(f"Row {N + 1} ('mean') looks like one" in note for note in found["notes"])
        left = run_json("fit", file, "-r", "fat", "--exclude-rows", N + 1)
        np.testing.assert_allclose([one["dof"] for one in left["path"]], EXPECTED, rtol=1e-9)


def test_a_table_on_its_side_is_recognised_without_a_name_in_its_corner(tmp_path):
    turned = [["", *TURNED[0][1:]], *TURNED[1:]]
    line = refused("fit", write(tmp_path, text(turned)), "-r", "fat")
    assert "It is in the first column, in row 1" in line
    assert "--transpose" in line


def test_a_response_by_number_or_letter_is_told_its_name(tmp_path):
    cells = [["", *rows()[0][1:]], *rows()[1:]]
    file = write(tmp_path, book({"one": cells}))
    for wrong in ("B", "2"):
        line = refused("fit", file, "-r", wrong)
        assert f"Columns are chosen by name; column {wrong} is 'fat'." in line
    assert "is 'fat'" not in refused("fit", file, "-r", "C")
    assert "chosen by name" not in refused("fit", write(tmp_path, text(rows())), "-r", "B")


def test_commas_between_thousands_do_not_make_a_table_of_tabs_one_of_commas(tmp_path):
    cells = [row[1:] for row in rows(lambda value: f"{1e4 * value:,.2f}")]
    line = refused("fit", write(tmp_path, "# one\n# two\n" + text(cells, "\t")), "-r", "fat")
    assert "not numeric" in line or "holds text" in line
    assert "no column 'fat'" not in line


def test_predict_says_what_the_columns_are_if_none_is_known(tmp_path):
    run("fit", write(tmp_path, text(rows())), "-r", "fat", "--model", tmp_path / "m.json")
    line = refused("predict", tmp_path / "m.json", write(tmp_path, text(TURNED)))
    assert "They are in the first column" in line
    assert "--transpose" in line
    numbers = [f"{1e7 / wave:.1f}" for wave in WAVES]
    other = [[row[0], *(numbers if i == 0 else row[2:])] for i, row in enumerate(rows())]
    line = refused("predict", tmp_path / "m.json", write(tmp_path, text(other)))
    assert "made for columns from 1100 to 1128; here they go from 8865.2 to 9090.9" in line
    assert "the same unit" in line
