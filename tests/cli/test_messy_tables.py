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
    said,
)

from plsdof import pls_path
from plsdof.workbench.analysis.request import words_of
from plsdof.workbench.tables.reading import Reading, open_sources
from plsdof.workbench.tables.table import stacked

RNG = np.random.default_rng(7)
N, WAVES = 24, tuple(range(1100, 1130, 2))
LATENT = RNG.normal(size=(N, 3))
SPECTRA = LATENT @ RNG.normal(size=(3, len(WAVES))) + 0.05 * RNG.normal(size=(N, len(WAVES))) + 2
FAT = LATENT[:, 0] + 0.1 * RNG.normal(size=N) + 10
IDS = [f"S{i + 1:02d}" for i in range(N)]
EXPECTED = pls_path(SPECTRA, FAT).dof


def assert_dof(found, expected=EXPECTED):
    """Compare the models that held-out rows reach."""
    dof = [one["dof"] for one in found["models"]]
    assert len(dof) > 4
    np.testing.assert_allclose(dof, expected[: len(dof)], rtol=1e-9)


def mend(found, key):
    """Return what mends the remark of a key."""
    (one,) = [one for one in found["remarks"] if one["key"] == key]
    return one["mend"]


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
    "many titles, told": ("a line\n" * 30 + text(rows()), ("--header-row", 31), None),
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
    "decimal commas in quotes": (
        text([rows()[0], *[[f'"{cell}"' for cell in row] for row in rows(comma)[1:]]]),
        (),
        None,
    ),
    "texts with decimal commas in Excel": (book({"Data": rows(comma)}), (), None),
    "one text with a decimal comma in Excel": (
        book({"Data": with_cell(rows(), 4, 1, comma(float(FAT[3])))}),
        (),
        None,
    ),
    "a name in two lines": (
        text(with_cell(rows(), 0, 1, '"crude\nfat\u00a0(%)"')),
        ("-r", "crude fat (%)"),
        None,
    ),
    "blank lines": (
        text([*rows()[:6], [], *rows()[6:12], [""] * (2 + len(WAVES)), *rows()[12:]]),
        (),
        "Left out, but numbered: blank rows 6, 13.",
    ),
    "blank rows in Excel": (
        book({"Data": [*rows()[:6], [], *rows()[6:]]}),
        (),
        "Left out, but numbered: blank row 6.",
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
    options = options if "-r" in options else ("-r", "fat", *options)
    found = run_json("fit", write(tmp_path, content), *options)
    assert (found["n"], found["p"]) == (N, len(WAVES))
    assert_dof(found)
    if note is None:
        assert not any("taken for" in one or "Ignored" in one for one in found["notes"])
    else:
        assert any(note in one for one in found["notes"]), found["notes"]


# one reader: batches are the table in memory


def in_batches(file, how):
    """Return the batches of a file as one table, as a stream has them."""
    (source,) = open_sources(file, how)
    assert set(source.head.names).isdisjoint(source.head.left_out)
    found = stacked(list(source.batches()), str(file))
    assert found.names == source.head.names
    assert set(source.head.notes) <= set(found.notes)
    return found


@pytest.mark.parametrize("size", [1, 400, 10**6])
@pytest.mark.parametrize("kind", RIGHT)
def test_batches_are_the_table_in_memory(tmp_path, monkeypatch, kind, size):
    monkeypatch.setattr("plsdof.workbench.tables.reading._PARSED", size)
    content, options, _ = RIGHT[kind]
    given = dict(zip(options[::2], options[1::2], strict=False)) if len(options) > 1 else {}
    how = Reading(
        sheet=given.get("--sheet"),
        header_row=given.get("--header-row"),
        skip_rows=given.get("--skip-rows", 0),
        transpose="--transpose" in options,
    )
    file = write(tmp_path, content)
    whole, found = how.table(file), in_batches(file, how)
    for name in ("names", "described", "decimal", "left_out", "blank", "row_names", "percent"):
        assert getattr(found, name) == getattr(whole, name), name
    assert sorted(found.notes) == sorted(whole.notes)
    assert found.row_numbers.tolist() == whole.row_numbers.tolist()
    assert [found.is_text(name) for name in found.names] == [
        whole.is_text(name) for name in whole.names
    ]
    for name in whole.names:
        (one, wrong), (two, strange) = whole.readable(name), found.readable(name)
        np.testing.assert_array_equal(one, two)
        assert wrong == strange
    # Some columns of all rows are the same rows.
    (source,) = open_sources(file, how)
    some = source.table(whole.names[:2])
    assert some.row_numbers.tolist() == whole.row_numbers.tolist()


BELOW = with_cell(rows(), 5, 1, "<0.05")
MISSING = with_cell(rows(), 5, 3, "")

# name: content, options, what the sentence says
REFUSED = {
    "below the limit of detection": (text(BELOW), (), "'<0.05' in row 5"),
    "the option for that": (
        text(BELOW),
        (),
        "such as half the limit of detection, or drop such rows. Try --na '<0.05' --missing drop.",
    ),
    "missing values": (text(MISSING), (), "--missing drop"),
    "two units": (
        text(with_cell(with_cell(rows(), 2, 1, "5 %"), 3, 1, "50 g/kg")),
        (),
        "column 'fat' is not numeric",
    ),
    "on its side, not told": (text(TURNED), (), "Try --transpose."),
    "no header": (text(rows()[1:]), (), "no column 'fat'"),
    "other sheet": (
        book({"Cover": [["a", "b"], [1, 2], [3, 4]], "Data": rows()}),
        (),
        "There are other sheets: 'Data'",
    ),
    "empty first sheet": (
        book({"Cover": [], "Data": rows()}),
        (),
        "There are other sheets: 'Data'",
    ),
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
        text(with_cell(rows(comma), 2, 1, "1.234"), ";"),
        (),
        "thousands without '.'",
    ),
    "many titles": ("a line\n" * 30 + text(rows()), (), "say which line holds them (header row)"),
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
        found = run_json("fit", file, "-r", "fat")
        (note,) = [n for n in found["notes"] if "occurs" in n]
        assert note.startswith("-999 occurs 2 times, in 'fat', '1102'")
        assert mend(found, "missing-code") == {"na": ["-999"], "missing": "drop"}
        found = run_json("fit", file, "-r", "fat", "--na", "-999", "--missing", "drop")
        kept = np.setdiff1d(np.arange(N), [4, 8])
        expected = pls_path(SPECTRA[kept], FAT[kept]).dof
        assert_dof(found, expected)
    file = write(tmp_path, text(with_cell(with_cell(rows(), 5, 3, "n.d."), 9, 1, "n.d.")))
    assert run_json("fit", file, "-r", "fat", "--na", "n.d.", "--missing", "drop")["n"] == N - 2
    file = write(tmp_path, book({"Data": with_cell(rows(), 5, 3, "-999")}))
    assert run_json("fit", file, "-r", "fat", "--na", "-999", "--missing", "drop")["n"] == N - 1


def test_numbers_that_may_be_measured_are_no_codes(tmp_path):
    frame = pd.DataFrame({"y": [1.0, 2.0, 4.0, 3.5, 2.5], "a": [-999.0, -500.0, 700.0, 3.0, 12.0]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert not any("occurs" in n for n in run_json("fit", tmp_path / "t.csv", "-r", "y")["notes"])


def shown_as(content, number_format, *cells):
    """An Excel file with a number format for some of its cells."""
    made = openpyxl.load_workbook(io.BytesIO(content))
    for cell in cells:
        made.active[cell].number_format = number_format
    stream = io.BytesIO()
    made.save(stream)
    return stream.getvalue()


def test_fractions_that_a_sheet_shows_as_percent_are_named(tmp_path):
    told = "formatted as percent in the sheet, so that 12.3 % is 0.123 here."
    plain, fat = book({"Data": rows()}), [f"B{i}" for i in range(2, N + 2)]

    def notes(content, *options):
        found = run_json("fit", write(tmp_path, content), "-r", "fat", *options)
        assert_dof(found)
        return [note for note in found["notes"] if "percent" in note]

    assert notes(shown_as(plain, "0.0%", *fat)) == [f"'fat' is {told}"]
    both = [*fat, *(cell.replace("B", "D") for cell in fat)]
    assert notes(shown_as(plain, "0%", *both)) == [f"'fat', '1102' are {told}"]
    # What is so in some rows only would be another number there.
    partly = told.replace("sheet, ", "sheet, in some rows only, ")
    assert notes(shown_as(plain, "0.0%", "B9")) == [f"'fat' is {partly}"]
    assert notes(shown_as(book({"Data": TURNED}), "0%", "B2"), "--transpose") == [
        f"'fat' is {partly}"
    ]
    titles = book({"Data": [["Meat"]] * 50 + rows()})
    assert notes(shown_as(titles, "0%", "B52"), "--header-row", 51) == [f"'fat' is {partly}"]
    # A sign that is only shown changes nothing.
    for only_shown in ('0.0"%"', r"0.0\%"):
        assert notes(shown_as(plain, only_shown, "B2")) == []
    responses = book({"Data": [row[:2] for row in rows()]})
    (tmp_path / "lab.xlsx").write_bytes(shown_as(responses, "0%", *fat))
    spectra = text([[row[0], *row[2:]] for row in rows()])
    assert notes(spectra, "--response-file", tmp_path / "lab.xlsx") == [f"'fat' is {told}"]


@pytest.mark.parametrize("predictor", [None, "0"])
def test_zeros_far_from_all_other_responses_are_named(tmp_path, predictor):
    cells = with_cell(with_cell(rows(), 5, 1, "0"), 9, 1, "0.0")
    advice = ("--na", "0", "--missing", "drop")
    if predictor is not None:  # which 0 as a code would make a missing value
        cells, advice = with_cell(cells, 12, 4, predictor), ("--exclude-rows", "5,9")
    file = write(tmp_path, text(cells))
    found = run_json("fit", file, "-r", "fat")
    (note,) = [n for n in found["notes"] if "nearest other" in n]
    assert note.startswith("'fat' is 0 in rows 5, 9, and the nearest other value is ")
    assert tuple(words_of(mend(found, "zero-response"))) == advice
    found = run_json("fit", file, "-r", "fat", *advice)
    assert found["n"] == N - 2
    assert not any("nearest other" in n for n in found["notes"])


@pytest.mark.parametrize(
    "others",
    [FAT - FAT.min() + 0.1, np.ones(N), np.where(np.arange(N) % 2, FAT, -FAT)],
    ids=["from next to 0 on", "two classes", "both signs"],
)
def test_zeros_that_may_be_measured_are_not_named(tmp_path, others):
    values = np.where(np.isin(np.arange(N), [4, 8]), 0.0, others)
    cells = [[row[0], repr(float(y)), *row[2:]] for row, y in zip(rows()[1:], values, strict=True)]
    notes = run_json("fit", write(tmp_path, text([rows()[0], *cells])), "-r", "fat")["notes"]
    assert not any("nearest other" in n for n in notes)


def test_spectra_without_a_signal_are_named(tmp_path):
    dead = [[f"D{v}", "9.5", *[v] * len(WAVES)] for v in ("0", "6.5")]
    cells = [*rows()[:4], dead[0], *rows()[4:], dead[1]]
    file = write(tmp_path, text(cells))
    found = run_json("fit", file, "-r", "fat")
    (note,) = [n for n in found["notes"] if "same value" in n]
    assert note.startswith("Rows 4 (0), 26 (6.5) have the same value in all predictors")
    assert mend(found, "flat-rows") == {"exclude_rows": [4, 26]}
    found = run_json("fit", file, "-r", "fat", "--exclude-rows", "4,26")
    assert_dof(found)
    assert not any("same value" in n for n in found["notes"])


def test_rows_of_zeros_among_counts_are_not_failed_measurements(tmp_path):
    counts = np.random.default_rng(3).poisson(1.0, size=(N, 6))
    counts[4] = 0
    frame = pd.DataFrame(counts, columns=list("abcdef")).assign(y=FAT)
    frame.to_csv(tmp_path / "t.csv", index=False)
    found = run_json("fit", tmp_path / "t.csv", "-r", "y")
    assert not any("same value" in n for n in found["notes"])


def test_rows_that_are_summaries_are_named(tmp_path):
    mean = ["Mean", repr(float(FAT.mean())), *map(repr, SPECTRA.mean(axis=0).tolist())]
    deviation = ["SD", repr(float(FAT.std())), *map(repr, SPECTRA.std(axis=0).tolist())]
    file = write(tmp_path, text([*rows(), mean, deviation]))
    found = run_json("fit", file, "-r", "fat")
    assert any("Rows 25 ('Mean'), 26 ('SD') look like summaries" in one for one in found["notes"])
    assert mend(found, "summary") == {"exclude_rows": [25, 26]}
    assert "Try --exclude-rows 25:26." in said("fit", file, "-r", "fat")
    found = run_json("fit", file, "-r", "fat", "--exclude-rows", "25,26")
    assert found["n"] == N
    assert_dof(found)
    found = run_json("fit", file, "-r", "fat", "--exclude-rows", "sample=SD")
    assert found["n"] == N + 1


def test_summaries_among_numbers_below_a_blank_row_are_named(tmp_path):
    cells = with_cell(rows(), 0, 0, "No")
    cells = [cells[0], *[[str(i), *row[1:]] for i, row in enumerate(cells[1:], start=1)]]
    mean = ["Mean value:", repr(float(FAT.mean())), *map(repr, SPECTRA.mean(axis=0).tolist())]
    file = write(tmp_path, book({"Data": [*cells, [], mean]}))
    notes = run_json("fit", file, "-r", "fat")["notes"]
    assert any("Row 26 ('Mean value:') looks like a summary" in note for note in notes)
    for option in (("--exclude-rows", 26), ("--test-rows", 26)):
        found = run_json("fit", file, "-r", "fat", *option)
        assert_dof(found)
    assert found["test"]["rows"][0]["row"] == 26
    assert "from 1 to 26 are needed" in refused("fit", file, "-r", "fat", "--test-rows", 27)


def test_a_predictor_that_is_named_unlike_many_others_is_named(tmp_path):
    cells = [["sample", "fat", *(f"A{w}" for w in WAVES)], *rows()[1:]]
    cells = with_column(cells, "protein", [repr(float(y)) for y in LATENT[:, 1]])
    file = write(tmp_path, text(cells))
    (found,) = [
        one
        for one in run_json("fit", file, "-r", "fat")["remarks"]
        if "unlike 'A1100': 'protein'" in one["words"]
    ]
    assert found["mend"] == {"exclude": ["protein"]}
    found = run_json("fit", file, "-r", "fat", "--exclude", "protein")
    assert not any("named unlike" in note for note in found["notes"])
    assert_dof(found, pls_path(SPECTRA, FAT).dof)  # such names are not wavelengths


def test_units_of_some_values_are_counted(tmp_path):
    cells = rows()
    for i in range(1, 9):
        cells = with_cell(cells, i, 1, f"{float(FAT[i - 1])!r} %")
    notes = run_json("fit", write(tmp_path, text(cells)), "-r", "fat")["notes"]
    assert "Read as numbers without their unit: 'fat' (%, in some values)." in notes


def test_a_predictor_that_is_nearly_the_response_is_named(tmp_path):
    frame = pd.DataFrame(LATENT, columns=["a", "b", "c"])
    frame.assign(fat=FAT, **{"fat 2": 2 * FAT + 1}).to_csv(tmp_path / "t.csv", index=False)
    notes = run_json("fit", tmp_path / "t.csv", "-r", "fat")["notes"]
    assert any("Nearly the same as the response" in note and "'fat 2'" in note for note in notes)
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
        assert_dof(found)
        assert [one["name"] for one in found["coefficients"]] == list(map(str, WAVES))
    # The id may be spelled with other letters, as long as they are the same.
    (tmp_path / "y.csv").write_text(text([["fat", "SAMPLE ", "ash"], *other[1:]]))
    found = run_json(*options)
    assert_dof(found)
    assert any("by 'sample'" in note for note in found["notes"])
    (tmp_path / "y.csv").write_text(text(other))
    # Several spectra of a sample have the same response; a sample without one is said.
    (tmp_path / "x.csv").write_text(text([*spectra, spectra[1], ["S99", *spectra[1][1:]]]))
    assert "--missing drop" in refused(*options)
    found = run_json(*options, "--missing", "drop")
    assert found["n"] == N + 1
    assert any("1 row not found there" in note for note in found["notes"])
    (tmp_path / "y.csv").write_text(text([*other, other[1]]))
    assert "more than once" in refused(*options)


def test_a_table_to_test_on_may_be_written_in_another_way(tmp_path):
    first, second = [rows()[0], *rows()[1:17]], [rows()[0], *rows()[17:]]
    file = tmp_path / "x.xlsx"
    file.write_bytes(book({"Cover": [["a", "b"]], "Data": [["a", "b", "c"], *first]}))
    (tmp_path / "test.csv").write_text(text(second))
    options = ("fit", file, "-r", "fat", "--sheet", "Data", "--header-row", 2)
    found = run_json(*options, "--test", tmp_path / "test.csv")
    path = pls_path(SPECTRA[:16], FAT[:16])
    expected = path.predict(SPECTRA[16:])[found["choice"]["index"]]
    predicted = [one["prediction"] for one in found["test"]["rows"]]
    np.testing.assert_allclose(predicted, expected, rtol=1e-9)
    # Its response may be in the same file as that of the others.
    for name, cells in (("x.csv", first), ("test.csv", second)):
        (tmp_path / name).write_text(text([[row[0], *row[2:]] for row in cells]))
    (tmp_path / "y.csv").write_text(text([row[:2] for row in rows()]))
    options = ("fit", tmp_path / "x.csv", "-r", "fat", "--response-file", tmp_path / "y.csv")
    found = run_json(*options, "--test", tmp_path / "test.csv")
    assert [one["observed"] for one in found["test"]["rows"]] == FAT[16:].tolist()
    # If nothing helps, the sentence is about what was asked for.
    (tmp_path / "test.xlsx").write_bytes(book({"Cover": [["a", "b"], [1, 2]], "Data": second}))
    line = refused("fit", tmp_path / "x.csv", *options[2:], "--test", tmp_path / "test.xlsx")
    assert "There are other sheets: 'Data'" in line


def test_a_gap_between_wavelengths_is_named_where_neighbours_matter(tmp_path):
    file = write(tmp_path, text(rows()))
    options = ("fit", file, "-r", "fat", "-f", "1100:1110", "-f", "1116:1128", "--preprocess")
    words = "There is a gap between 1110 and 1116"
    assert any(words in note for note in run_json(*options, "savgol:5:2:1")["notes"])
    assert not any("gap" in note for note in run_json(*options, "snv")["notes"])
    notes = run_json("fit", file, "-r", "fat", "--preprocess", "savgol:5:2:1")["notes"]
    assert not any("gap" in note for note in notes)


@pytest.mark.parametrize("ours", ["sample", ""])
@pytest.mark.parametrize("theirs", ["ID of the laboratory", ""])
def test_responses_are_joined_by_ids_of_other_names(tmp_path, ours, theirs):
    spectra = [[row[0], *row[2:]] for row in rows()]
    (tmp_path / "x.csv").write_text(text(with_cell(spectra, 0, 0, ours)))
    order = np.random.default_rng(1).permutation(N)
    other = [[theirs, "kind", "fat"], *[[IDS[i].lower(), "meat", rows()[i + 1][1]] for i in order]]
    (tmp_path / "y.csv").write_text(text(other))
    options = ("fit", tmp_path / "x.csv", "-r", "fat", "--response-file", tmp_path / "y.csv")
    found = run_json(*options)
    assert_dof(found)
    here, there = ours or "unnamed 1", theirs or "unnamed 1"
    words = f"by '{here}'" + (f" ('{there}' there)" if here != there else "")
    assert any(words in note for note in found["notes"])


def test_responses_without_ids_are_refused_unless_the_order_is_said_to_count(tmp_path):
    (tmp_path / "x.csv").write_text(text([row[2:] for row in rows()]))
    (tmp_path / "y.csv").write_text(text([["fat", "ash"], *[[r[1], "1.5"] for r in rows()[1:]]]))
    options = ("fit", tmp_path / "x.csv", "-r", "fat", "--response-file", tmp_path / "y.csv")
    assert "--by-row-order" in refused(*options)
    found = run_json(*options, "--by-row-order")
    assert_dof(found)
    (tmp_path / "y.csv").write_text(text([["fat", "ash"], *[[r[1], "1.5"] for r in rows()[2:]]]))
    assert "--by-row-order" not in refused(*options)
    refused(*options, "--by-row-order")
    refused(*options[:4], "--by-row-order")


def test_responses_under_another_header_are_not_joined_by_order(tmp_path):
    numbers = [str(7 * i + 3) for i in range(N)]
    spectra = [["no", *rows()[0][2:]]]
    spectra += [[one, *row[2:]] for one, row in zip(numbers, rows()[1:], strict=True)]
    (tmp_path / "x.csv").write_text(text(spectra))
    order = np.random.default_rng(1).permutation(N)
    other = [["Probennummer", "fat"], *[[numbers[i], rows()[i + 1][1]] for i in order]]
    (tmp_path / "y.csv").write_text(text(other))
    options = ("fit", tmp_path / "x.csv", "-r", "fat", "--response-file", tmp_path / "y.csv")
    found = run_json(*options, "-x", "no")
    assert_dof(found)
    (tmp_path / "y.csv").write_text(text([*other, other[3]]))
    assert repr(other[3][0]) in refused(*options)


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
        assert any(f"Row {N + 1} ('mean') looks like a summary" in note for note in found["notes"])
        left = run_json("fit", file, "-r", "fat", "--exclude-rows", N + 1)
        assert_dof(left)


def test_a_table_on_its_side_is_recognised_without_a_name_in_its_corner(tmp_path):
    turned = [["", *TURNED[0][1:]], *TURNED[1:]]
    line = refused("fit", write(tmp_path, text(turned)), "-r", "fat")
    assert "--transpose" in line
    assert "--transpose" in line


def test_commas_between_thousands_do_not_make_a_table_of_tabs_one_of_commas(tmp_path):
    cells = [row[1:] for row in rows(lambda value: f"{1e4 * value:,.2f}")]
    found = run_json("fit", write(tmp_path, "# one\n# two\n" + text(cells, "\t")), "-r", "fat")
    assert any("thousands" in note and "'fat'" in note for note in found["notes"])
    np.testing.assert_allclose([one["dof"] for one in found["models"]][:4], EXPECTED[:4], rtol=1e-3)


def test_predict_says_what_the_columns_are_if_none_is_known(tmp_path):
    run("fit", write(tmp_path, text(rows())), "-r", "fat", "--model", tmp_path / "m.json")
    line = refused("predict", tmp_path / "m.json", write(tmp_path, text(TURNED)))
    assert "--transpose" in line
    assert "--transpose" in line
    numbers = [f"{1e7 / wave:.1f}" for wave in WAVES]
    other = [[row[0], *(numbers if i == 0 else row[2:])] for i, row in enumerate(rows())]
    line = refused("predict", tmp_path / "m.json", write(tmp_path, text(other)))
    assert "made for columns from 1100 to 1128; here they go from 8865.2 to 9090.9" in line
    assert "the same unit" in line


def test_rows_that_are_in_the_table_twice_are_named(tmp_path):
    cells = [*rows()[:10], rows()[3], *rows()[10:], rows()[20]]
    found = run_json("fit", write(tmp_path, text(cells)), "-r", "fat")
    (told,) = [note for note in found["notes"] if "repeat others" in note]
    assert told.startswith("Rows 10 (as 3), 26 (as 21) repeat others in all numbers used.")
    assert mend(found, "repeated-rows") == {"exclude_rows": [10, 26]}
    left = run_json("fit", write(tmp_path, text(cells)), "-r", "fat", "--exclude-rows", "10,26")
    assert_dof(left)
    assert not any("repeat others" in note for note in left["notes"])


def test_rows_that_differ_in_one_number_are_not_the_same(tmp_path):
    changed = with_cell([rows()[3]], 0, 9, "1.5")[0]
    found = run_json("fit", write(tmp_path, text([*rows(), changed])), "-r", "fat")
    assert not any("repeat others" in note for note in found["notes"])


def test_test_rows_that_were_fitted_are_counted(tmp_path):
    file = write(tmp_path, text(rows()))
    same = tmp_path / "test.csv"
    same.write_text(text([*rows()[:4], with_cell(rows(), 5, 1, "9.5")[5]]))
    found = run_json("fit", file, "-r", "fat", "--test", same)
    assert any("Also in the calibration: 3 of 4 test rows" in note for note in found["notes"])
    same.write_text(text([rows()[0], with_cell(rows(), 5, 1, "9.5")[5]]))
    found = run_json("fit", file, "-r", "fat", "--test", same)
    assert not any("Also in the calibration" in note for note in found["notes"])
    assert found["merit"]["test"]["n"] == 1


def scans(order, repeats=3):
    """Several spectra of every sample, with the response of the sample and names of their own."""
    rng = np.random.default_rng(3)
    cells = [rows()[0]]
    for i in order:
        for k in range(repeats):
            values = SPECTRA[i] + 0.001 * rng.normal(size=len(WAVES))
            cells.append([f"{IDS[i]}-{k}", repr(float(FAT[i])), *map(repr, values.tolist())])
    return text(cells)


def test_spectra_of_the_same_sample_are_suspected_and_kept_together_by_their_response(tmp_path):
    file = write(tmp_path, scans(range(12)))
    options = ("fit", file, "-r", "fat", "--cv", 6, "--max-components", 8)
    alone, together = run_json(*options), run_json(*options, "--groups", "fat")
    (told,) = [note for note in alone["notes"] if "the same sample" in note]
    assert told.startswith("'fat' has 12 values in 36 rows")
    assert mend(alone, "same-sample") == {"groups": "fat"}
    assert not any("the same sample" in note for note in together["notes"])
    # What the note warns of: rows of the same sample predict each other.
    size = alone["choice"]["index"]
    assert together["models"][size]["rmsecv"] > 1.5 * alone["models"][size]["rmsecv"]
    streamed = run_json(*options, "--groups", "fat", "--streamed")
    assert streamed["models"][2]["rmsecv"] == pytest.approx(
        together["models"][2]["rmsecv"], rel=1e-9
    )


def test_sorted_responses_with_few_digits_are_not_replicates(tmp_path):
    order = np.argsort(FAT)
    cells = [rows()[0], *[rows()[i + 1] for i in order]]
    coarse = [f"{value:.0f}.0" for value in 5 * FAT[order]]
    cells = [cells[0], *[[row[0], y, *row[2:]] for row, y in zip(cells[1:], coarse, strict=True)]]
    found = run_json("fit", write(tmp_path, text(cells)), "-r", "fat")
    assert not any("the same sample" in note for note in found["notes"])
    # Three spectra of every sample are, in whatever order.
    found = run_json("fit", write(tmp_path, scans(order[:12])), "-r", "fat")
    assert any("the same sample" in note for note in found["notes"])


@pytest.mark.parametrize("numbers", [range(1, N + 1), range(1000, 1000 + 7 * N, 7)])
def test_numbers_of_the_rows_among_the_predictors_are_named(tmp_path, numbers):
    cells = [[row[0], row[1], row[2], row[9], row[14]] for row in rows()]
    cells[0] = ["sample", "fat", "red", "green", "blue"]
    cells = with_column(cells, "No", map(str, numbers))
    found = run_json("fit", write(tmp_path, text(cells)), "-r", "fat", "--exclude-rows", "5,9")
    assert any("Numbers of the rows, it seems" in note for note in found["notes"])
    assert mend(found, "row-numbers") == {"exclude": ["No"]}


def test_a_response_without_stored_values_of_its_formulas_is_told_so(tmp_path):
    cells = [[row[0], "" if i else row[1], *row[2:]] for i, row in enumerate(rows())]
    line = refused("fit", write(tmp_path, book({"Data": cells})), "-r", "fat")
    assert "no values at all in 'fat'; choose another response, or, if there are formulas" in line


@pytest.mark.parametrize(
    "spelled",
    [
        *("NIR.{} nm", "Abs_{}", "wl{}", "Wavelength {}", "{} (nm)", "[{}]", "nir_{}_nm"),
        *("log(1/R) {}", "λ={}", "{} cm⁻1"),
    ],
)
def test_words_for_spectra_before_wavelengths_are_understood(tmp_path, spelled):
    cells = [["sample", "fat", *(spelled.format(w) for w in WAVES)], *rows()[1:]]
    cells = with_column(cells, "protein", [repr(float(2 * y + 1)) for y in FAT])
    found = run_json("fit", write(tmp_path, text(cells)), "-r", "fat")
    assert any("Left out, not wavelengths: 'protein'" in note for note in found["notes"])
    assert_dof(found)
    assert "15 wavelengths (1100 to 1128)" in run("fit", tmp_path / "table.csv", "-r", "fat").stdout


def test_remarks_about_a_choice_are_not_those_of_a_given_size(tmp_path):
    file = write(tmp_path, text(rows()))
    found = run_json("fit", file, "-r", "fat", "--components", 0)
    assert "empty-model" not in [one["key"] for one in found["remarks"]]
    shown = " ".join(run("fit", file, "-r", "fat", "--components", 0).stdout.split())
    assert "0 components, as asked for. It is the mean of the response." in shown
    assert found["merit"]["calibration"]["r2"] == found["merit"]["calibration"]["slope"] == 0.0


def test_an_average_is_called_so_by_predict(tmp_path):
    file, model = write(tmp_path, text(rows())), tmp_path / "m.json"
    run("fit", file, "-r", "fat", "--criterion", "average", "--model", model)
    shown = " ".join(run("predict", model, file).stdout.split())
    assert "by PLS, average of" in shown


def test_fewer_than_one_degree_of_freedom_is_doubted(tmp_path):
    # The response has next to nothing to do with the first directions of the predictors.
    response = np.random.default_rng(1).normal(size=N)
    path = pls_path(SPECTRA, response)
    size = int(np.flatnonzero(path.dof < 1.0)[0])
    cells = [
        [row[0], repr(float(y)), *row[2:]] for row, y in zip(rows()[1:], response, strict=True)
    ]
    file = write(tmp_path, text([rows()[0], *cells]))
    found = run_json("fit", file, "-r", "fat", "--components", size, "--scale")
    assert "unstable" in [one["key"] for one in found["remarks"]]


def test_compare_shows_the_score_that_a_model_was_chosen_by(tmp_path):
    response = np.random.default_rng(48).normal(size=N)
    cells = [
        [row[0], repr(float(y)), *row[2:]] for row, y in zip(rows()[1:], response, strict=True)
    ]
    file = write(tmp_path, text([rows()[0], *cells]))
    path = pls_path(SPECTRA, response)
    chosen = path.select("gcv")
    shown = run("compare", file, "-r", "fat", "--criterion", "gcv").stdout
    (line,) = [one for one in shown.splitlines() if one.startswith("PLS ") and "component" in one]
    assert float(line.split()[-2]) == pytest.approx(chosen.scores[chosen.index], rel=1e-3)


def test_wavelengths_in_no_order_are_put_in_order_before_derivatives(tmp_path):
    order = np.random.default_rng(0).permutation(len(WAVES)) + 2
    mixed = [[*row[:2], *(row[i] for i in order)] for row in rows()]
    options = ("-r", "fat", "--preprocess", "savgol:5:2:1")
    model = tmp_path / "m.json"
    file = write(tmp_path, text(mixed))
    found = run_json("fit", file, *options, "--model", model)
    told = "The columns were put in the order of their numbers."
    assert told in found["notes"]
    plain = write(tmp_path, text(rows()))
    known = run_json("fit", plain, *options)
    assert told not in known["notes"]
    for one, other in zip(found["models"], known["models"], strict=True):
        assert one["dof"] == pytest.approx(other["dof"], rel=1e-9)
    file.write_text(text(mixed))
    by_mixed = run_json("predict", model, file)["predictions"]
    file.write_text(text(rows()))
    by_plain = run_json("predict", model, file)["predictions"]
    assert by_mixed[5]["prediction"] == pytest.approx(by_plain[5]["prediction"], rel=1e-12)
    file.write_text(text(mixed))
    streamed = run_json("fit", file, *options, "--streamed")
    assert told in streamed["notes"]
    for one, other in zip(streamed["models"], known["models"], strict=True):
        assert one["dof"] == pytest.approx(other["dof"], rel=1e-6)


def test_ranges_are_given_one_at_a_time(tmp_path):
    file = write(tmp_path, text(rows()))
    line = refused("fit", file, "-r", "fat", "-f", "1100:1106,1110:1120")
    assert "Give one range at a time." in line


@pytest.mark.parametrize(
    ("values", "is_said"),
    [
        ([0, 1], True),
        ([-1, 1], True),
        ([0.2, 0.8], True),
        ([1, 2, 3], True),
        ([1.5, 2.5, 3.5], False),
        (range(24), False),
    ],
)
@pytest.mark.parametrize("read", ["--in-memory", "--streamed"])
def test_classes_and_grades_as_a_response_are_said(tmp_path, values, is_said, read):
    y = np.resize(list(values), N)
    np.random.default_rng(0).shuffle(y)
    cells = [
        rows()[0],
        *[[row[0], str(one), *row[2:]] for row, one in zip(rows()[1:], y, strict=True)],
    ]
    (tmp_path / "t.csv").write_text(text(cells))
    notes = run_json("fit", tmp_path / "t.csv", "-r", "fat", read)["notes"]
    assert any("classes or grades" in note for note in notes) is is_said


def test_what_is_guessed_is_told_of_tables_that_are_read_piece_by_piece(tmp_path):
    """Blank rows, units, titles, columns of text: the same notes as of the table in memory."""
    cells = [["Study of May"], *rows()[:11], [""], *rows()[11:]]
    cells[3] = [*cells[3][:1], f"{cells[3][1]} mg/l", *cells[3][2:]]
    cells[4] = [*cells[4][:2], f"{cells[4][2]} nm", *cells[4][3:]]
    cells += [[f"again {row[0]}", *row[1:]] for row in cells[16:]]
    cells[-1][1] = f"{cells[-1][1]} mg/l"  # below what tells the kinds of columns
    file = write(tmp_path, text(cells))
    known = run_json("fit", file, "-r", "fat", "--components", 2)
    found = run_json("fit", file, "-r", "fat", "--components", 2, "--streamed")
    assert sum("blank row 11" in one for one in found["notes"]) == 1
    assert sum("'fat' (mg/l, in some values)" in one for one in found["notes"]) == 1
    guessed = [one for one in known["remarks"] if one["key"] == "data"]
    assert guessed
    assert [one for one in found["remarks"] if one["key"] == "data"] == guessed
