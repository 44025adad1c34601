"""Spectra of instruments: files as their specifications say, not as a library writes them."""

import io

import numpy as np
import pytest
import scipy.io
import scipy.sparse
from _helpers.command_line import eighty_columns, run, run_json  # noqa: F401
from _helpers.instruments import jcamp_text, mat_bytes, opus_bytes, spc_bytes

from plsdof.errors import InvalidInputError
from plsdof.workbench.tables.instruments import is_spectra, read_spectra
from plsdof.workbench.tables.reading import read_table

AXIS = np.linspace(1100, 1122, 12)
SPECTRUM = np.linspace(0.125, 1.5, 12)


def put(folder, name, content):
    file = folder / name
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return file


def two_columns(x=AXIS, y=SPECTRUM, separator="\t", mark=".", heading=""):
    lines = [f"{a:.4f}{separator}{b:.6f}".replace(".", mark) for a, b in zip(x, y, strict=True)]
    return heading + "\n".join(lines) + "\n"


# JCAMP-DX: the forms of the standard's own example, McDonald and Wilks (1988), section 5.9
# ------------------------------------------------------------------------------------------

EXAMPLE = [1, 2, 3, 3, 2, 1, 0, -1, -2, -3]
FORMS = {
    "fixed": "1 1 2 3 3 2 1 0 -1 -2 -3",
    "commas": "1, 1, 2, 3, 3, 2, 1, 0, -1, -2, -3",
    "packed": "1+1+2+3+3+2+1+0-1-2-3",
    "squeezed": "1ABCCBA@abc",
    "differences": "1AJJ%jjjjjj",
    "duplicates": "1AJJ%jX",
    "exponents": "1 1.0E+00 2.0E+00 3E+00 3 2 1 0 -1.0E+00 -2 -30E-01",
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_the_jcamp_example_gives_its_numbers(form):
    found = read_spectra(jcamp_text([FORMS[form]], 1, 10, 10).encode())
    np.testing.assert_allclose(found.values, [EXAMPLE], rtol=1e-15)
    np.testing.assert_array_equal(found.axis, np.arange(1, 11))
    assert (found.unit, found.quantity, found.titles) == ("cm-1", "absorbance", ("sample",))


def test_jcamp_repeats_plain_values_and_counts_beyond_nine():
    found = read_spectra(jcamp_text(["1@T", "3B1S2"], 1, 14, 14).encode())
    np.testing.assert_array_equal(found.values, [[0, 0] + [21] * 12])


def test_jcamp_lines_after_differences_repeat_a_value_that_is_checked():
    lines = ["1A0KL", "3A5%J"]
    found = read_spectra(jcamp_text(lines, 1, 5, 5, y_factor="0.5").encode())
    np.testing.assert_array_equal(found.values, [[5, 6, 7.5, 7.5, 8]])
    with pytest.raises(InvalidInputError):
        read_spectra(jcamp_text(["1A0KL", "3A6%J"], 1, 5, 5).encode())


def test_jcamp_unknown_values_are_missing_and_wrong_counts_are_refused():
    found = read_spectra(jcamp_text(["1 5 ? 7"], 1, 3, 3).encode())
    np.testing.assert_array_equal(found.values, [[5, np.nan, 7]])
    with pytest.raises(InvalidInputError):
        read_spectra(jcamp_text(["1 5 6 7"], 1, 4, 4).encode())


def test_jcamp_lines_begin_where_the_header_says():
    # Ends of the axis in the other order: the spectrum would be read backwards.
    with pytest.raises(InvalidInputError, match="FIRSTX"):
        read_spectra(jcamp_text(["1 5 6", "3 7 8"], 4, 1, 4).encode())


def test_jcamp_pairs_and_several_blocks():
    pairs = jcamp_text(["1, 5; 2.5, 6;", "4, 7;"], 1, 4, 3, form="(XY..XY)", unit="NANOMETERS")
    found = read_spectra(pairs.encode())
    np.testing.assert_array_equal(found.axis, [1, 2.5, 4])
    assert found.names == ["1 nm", "2.5 nm", "4 nm"]
    both = [jcamp_text([line], 1, 3, 3, title=line) for line in ("1 5 6 7", "1 8 9 6")]
    link = "##TITLE=all\n##DATA TYPE=LINK\n##BLOCKS=2\n" + "".join(both) + "##END=\n"
    found = read_spectra(link.encode())
    np.testing.assert_array_equal(found.values, [[5, 6, 7], [8, 9, 6]])
    assert found.titles == ("1 5 6 7", "1 8 9 6")


# SPC
# ---


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("own_axis", ["even", "common", "each"])
@pytest.mark.parametrize("count", [1, 3])
def test_spc_with_every_kind_of_axis(order, own_axis, count):
    rows = np.outer(np.arange(1, count + 1), SPECTRUM)
    content = spc_bytes(rows, AXIS, order=order, own_axis=own_axis, title="oats")
    found = read_spectra(content)
    np.testing.assert_allclose(found.values, rows, rtol=1e-7)
    np.testing.assert_allclose(found.axis, AXIS, rtol=1e-7)
    assert (found.unit, found.quantity, found.titles) == ("nm", "absorbance", ("oats",) * count)


@pytest.mark.parametrize(("stored", "step"), [("int16", 2.0**-12), ("int32", 2.0**-28)])
@pytest.mark.parametrize(("count", "place"), [(1, "main"), (3, "sub")])
def test_spc_with_integers_takes_the_exponent_of_the_right_header(stored, step, count, place):
    rows = np.outer(np.arange(1, count + 1), SPECTRUM)
    content = spc_bytes(rows, AXIS, stored=stored, exponent=4, exponent_in=place)
    assert np.abs(read_spectra(content).values - rows).max() <= step


def test_spc_of_the_old_format_and_cut_files_are_refused():
    content = spc_bytes([SPECTRUM], AXIS)
    with pytest.raises(InvalidInputError):
        read_spectra(content[:1] + b"\x4d" + content[2:])
    with pytest.raises(InvalidInputError):
        read_spectra(content[:-5])


# OPUS and MATLAB
# ---------------


def test_opus_gives_absorbance_over_wavenumbers(tmp_path):
    file = put(tmp_path, "oats.0", opus_bytes(SPECTRUM, 4000, 3890, name="Oats 7", factor=2.0))
    table = read_table(file)
    np.testing.assert_allclose(table.numbers(table.names[2:]), [2 * SPECTRUM], rtol=1e-6)
    assert table.names[:4] == ("id", "title", "4000 cm-1", "3990 cm-1")
    assert table.frame["title"].tolist() == ["Oats 7"]


def test_opus_without_a_spectrum_is_refused():
    with pytest.raises(InvalidInputError):  # an interferogram is not a spectrum
        read_spectra(opus_bytes(SPECTRUM, 1, 12, kinds=[(3, 2)]))


def test_a_series_in_an_opus_file_has_a_row_for_each_spectrum():
    rows = np.outer(np.arange(1, 4), SPECTRUM)
    found = read_spectra(opus_bytes(rows, 4000, 3890, series=True))
    np.testing.assert_allclose(found.values, rows, rtol=1e-7)
    np.testing.assert_array_equal(found.axis, np.linspace(4000, 3890, 12))


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("packed", [False, True])
def test_matlab_files_of_both_orders_of_bytes(order, packed):
    rows = np.outer(np.arange(1, 4), SPECTRUM)
    names = np.array([list("ab"), list("cd"), list("ef")])
    found = read_spectra(
        mat_bytes({"X": rows, "nm": AXIS[None, :], "id": names}, order, packed=packed)
    )
    np.testing.assert_array_equal(found.values, rows)
    np.testing.assert_array_equal(found.axis, AXIS)
    assert found.columns["id"].tolist() == ["ab", "cd", "ef"]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("kind", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8", "?"])
def test_matlab_numbers_are_those_that_scipy_wrote(kind, packed):
    rows = np.arange(24).reshape(2, 12).astype(kind)
    content = {
        "X": rows,
        "z": rows * 1j,
        "fields": {"a": 1, "b": np.eye(3)},
        "lists": [[1.0, "a"], [np.eye(2)]],
        "cells": np.array(["å", "bc"], dtype=object),
        "mixed": np.array(["a", rows, {}], dtype=object),
        "sparse": scipy.sparse.eye_array(3),
        "letters": np.array(["ab", "ö"]),
        "none": np.zeros((0, 0)),
    }
    stream = io.BytesIO()
    scipy.io.savemat(stream, content, do_compression=packed)
    found = read_spectra(stream.getvalue(), "X")
    np.testing.assert_array_equal(found.values, rows)
    assert found.columns["cells"].tolist() == ["å", "bc"]
    assert found.columns["letters"].tolist() == ["ab", "ö"]
    assert set(found.columns) >= {"cells", "letters"}


def test_matlab_takes_matrix_axis_texts_and_columns(tmp_path):
    rows = np.outer(np.arange(1, 5), SPECTRUM)
    ids = np.array(["a", "b", "c", "d"], dtype=object)
    content = {"X": rows, "nm": AXIS, "fat": np.arange(4.0)[:, None], "sample": ids}
    scipy.io.savemat(tmp_path / "oats.mat", content)
    table = read_table(tmp_path / "oats.mat")
    assert set(table.names[:3]) == {"id", "sample", "fat"}
    np.testing.assert_array_equal(table.numbers(table.names[3:]), rows)
    assert table.names[3:5] == ("1100", "1102")
    assert table.frame["sample"].tolist() == list("abcd")


def test_matlab_with_several_matrices_needs_a_choice(tmp_path):
    file = tmp_path / "oats.mat"
    scipy.io.savemat(file, {"a": np.eye(3, 4), "b": np.ones((3, 5)) * np.arange(5)})
    with pytest.raises(InvalidInputError, match="by its name"):
        read_table(file)
    assert read_table(file, sheet="b").names == ("id", "1", "2", "3", "4", "5")
    put(tmp_path, "oats.mat", b"MATLAB 7.3 MAT-file" + b"\0" * 600)
    with pytest.raises(InvalidInputError):
        read_table(file)


def test_matlab_files_of_a_folder_need_the_same_columns(tmp_path):
    rows = np.outer(np.arange(1, 5), SPECTRUM)
    scipy.io.savemat(tmp_path / "a.mat", {"X": rows, "fat": np.arange(4.0)[:, None]})
    scipy.io.savemat(tmp_path / "b.mat", {"X": rows})
    with pytest.raises(InvalidInputError, match=r"b\.mat"):
        read_table(tmp_path)


def test_what_is_not_a_spectrum_is_refused():
    with pytest.raises(InvalidInputError):
        read_spectra(b"y,x\n1,2\n")
    with pytest.raises(InvalidInputError):
        read_spectra(spc_bytes([SPECTRUM], AXIS[::-1] * 0))


def test_a_matrix_may_be_chosen_in_matlab_files_only(tmp_path):
    with pytest.raises(InvalidInputError):
        read_table(put(tmp_path, "a.spc", spc_bytes([SPECTRUM], AXIS)), sheet="X")


# Two columns of text
# -------------------


@pytest.mark.parametrize(
    ("separator", "mark"), [("\t", "."), (",", "."), (";", ","), ("  ", "."), ("\t", ",")]
)
def test_two_columns_with_any_separator(separator, mark):
    found = read_spectra(two_columns(separator=separator, mark=mark).encode())
    np.testing.assert_allclose(found.values, [SPECTRUM], atol=1e-6)
    np.testing.assert_array_equal(found.axis, AXIS)


@pytest.mark.parametrize(
    ("heading", "unit"),
    [("Wavelength [nm]\tA\n", "nm"), ("Wavenumber (cm^-1)\tA\n", "cm-1"), ("wavelength\tA\n", "")],
)
def test_a_heading_may_give_the_unit(heading, unit):
    assert read_spectra(two_columns(heading=heading).encode()).unit == unit


@pytest.mark.parametrize(
    "text",
    [
        "y,x\n" + two_columns(separator=","),  # a table with names
        two_columns(AXIS[:5], SPECTRUM[:5]),
        two_columns(np.append(AXIS[:-1], 0)),
        two_columns() + "end\n",
        "1.2.3 4\n" * 12,
        "1,2,3\n" * 12,
        "",
    ],
)
def test_tables_are_not_taken_for_spectra(text):
    assert not is_spectra(text.encode())


def test_workbooks_are_not_taken_for_spc():
    openpyxl = pytest.importorskip("openpyxl")
    stream = io.BytesIO()
    openpyxl.Workbook().save(stream)
    assert stream.getvalue()[1] == 0x4B
    assert not is_spectra(stream.getvalue())


# Folders: one axis, one unit, names of files, and a table with the response
# --------------------------------------------------------------------------


def test_files_of_a_folder_are_rows_named_by_files(tmp_path):
    for name, factor in (("b.0", 2), ("a.0", 1), ("b.1", 3)):
        put(tmp_path, name, opus_bytes(factor * SPECTRUM, 4000, 3890, name=name[0]))
    table = read_table(tmp_path)
    assert table.frame["id"].tolist() == ["a", "b.0", "b.1"]
    assert table.frame["title"].tolist() == ["a", "b", "b"]
    np.testing.assert_allclose(table.numbers(("4000 cm-1",))[:, 0], SPECTRUM[0] * np.arange(1, 4))


def test_several_spectra_of_a_file_are_numbered(tmp_path):
    put(tmp_path, "a.spc", spc_bytes([SPECTRUM, SPECTRUM], AXIS))
    assert read_table(tmp_path / "a.spc").frame["id"].tolist() == ["a-1", "a-2"]


OTHERS = {
    "axis": spc_bytes([SPECTRUM], AXIS + 1),
    "points": spc_bytes([SPECTRUM[:-1]], AXIS[:-1]),
    "unit": spc_bytes([SPECTRUM], AXIS, unit=1),
    "format": b"y,x\n1,2\n2,3\n",
    "damaged": spc_bytes([SPECTRUM], AXIS)[:550],
}


@pytest.mark.parametrize("other", OTHERS)
def test_a_file_that_differs_is_named(tmp_path, other):
    put(tmp_path, "a.spc", spc_bytes([SPECTRUM], AXIS))
    put(tmp_path, "b.spc", OTHERS[other])
    with pytest.raises(InvalidInputError, match=r"b\.spc"):
        read_table(tmp_path)


def test_rounded_axes_are_the_same_axis(tmp_path):
    put(tmp_path, "a.spc", spc_bytes([SPECTRUM], AXIS))
    put(tmp_path, "b.spc", spc_bytes([SPECTRUM], AXIS + 1e-3))
    assert len(read_table(tmp_path)) == 2


def test_names_are_as_long_as_tells_points_apart(tmp_path):
    axis = 12000 + 0.001 * np.arange(12)
    file = put(tmp_path, "a.spc", spc_bytes([SPECTRUM], axis))
    assert read_table(file).names[2] == "12000.001 nm"


def test_options_of_text_tables_are_refused(tmp_path):
    file = put(tmp_path, "a.spc", spc_bytes([SPECTRUM], AXIS))
    with pytest.raises(InvalidInputError, match="transpose"):
        read_table(file, transpose=True)


def made_folder(tmp_path, count=14):
    rng = np.random.default_rng(0)
    bands = np.exp(-(((AXIS - 1108) / 6) ** 2)), np.exp(-(((AXIS - 1116) / 5) ** 2))
    amounts = rng.uniform(1, 2, size=(count, 2))
    spectra = amounts @ np.array(bands) + 0.001 * rng.normal(size=(count, len(AXIS)))
    folder = tmp_path / "spectra"
    folder.mkdir()
    for number, row in enumerate(spectra):
        put(folder, f"S{number:02d}.spc", spc_bytes([row], AXIS))
    lines = [f"S{number:02d},{one:.5f}" for number, one in enumerate(amounts[:, 0])]
    lab = put(tmp_path, "lab.csv", "\n".join(["Sample,fat", *lines[::-1]]) + "\n")
    return folder, lab, amounts[:, 0], spectra


def test_fit_and_predict_a_folder_with_the_response_in_another_table(tmp_path):
    folder, lab, y, spectra = made_folder(tmp_path)
    model = tmp_path / "model.json"
    content = run_json("fit", folder, "-r", "fat", "--response-file", lab, "--model", model)
    assert (content["n"], content["p"]) == (14, 12)
    new = tmp_path / "new"
    new.mkdir()
    put(new, "N1.spc", spc_bytes([spectra[3]], AXIS))
    found = run_json("predict", model, new)["predictions"]
    assert found[0]["id"] == "N1"
    assert abs(found[0]["prediction"] - y[3]) < 0.02
    alone = run_json("predict", model, new / "N1.spc")["predictions"]
    assert alone[0]["prediction"] == found[0]["prediction"]


def test_bad_folders_are_one_sentence_and_write_nothing(tmp_path):
    folder, lab, _, _ = made_folder(tmp_path)
    put(folder, "S99.spc", OTHERS["axis"])
    model = tmp_path / "model.json"
    command = ("fit", folder, "-r", "fat", "--response-file", lab, "--model", model)
    result = run(*command, code=2)
    assert "S99.spc" in result.output
    assert not model.exists()
    put(folder, "S99.spc", OTHERS["damaged"])
    run(*command, code=2)
    run(*command, "--streamed", code=2)


# What is guessed is said
# -----------------------


def test_an_axis_that_is_not_known_and_what_is_not_read_are_told(tmp_path):
    rows = np.outer(np.arange(1, 5), SPECTRUM)
    file = tmp_path / "oats.mat"
    scipy.io.savemat(file, {"X": rows, "nm": AXIS})
    assert read_table(file).notes == ()
    scipy.io.savemat(file, {"X": rows, "nm": AXIS, "smooth": AXIS**2, "lot": np.arange(3.0)})
    table = read_table(file)
    assert table.names[1:3] == ("1", "2")
    axis, unused = table.notes
    assert "'nm', 'smooth'" in axis
    assert "'lot'" in unused


def test_blocks_without_a_spectrum_are_counted():
    spectrum = jcamp_text(["1 5 6 7"], 1, 3, 3)
    peaks = "##TITLE=peaks\n##PEAK TABLE=(XY..XY)\n1, 5\n##END=\n"
    for text, count in ((spectrum, 0), (spectrum + peaks, 1)):
        link = f"##TITLE=all\n##DATA TYPE=LINK\n##BLOCKS=2\n{text}##END=\n"
        assert len(read_spectra(link.encode()).notes) == count


def test_files_that_do_not_say_their_unit_are_named(tmp_path):
    put(tmp_path, "a.spc", spc_bytes([SPECTRUM], AXIS, unit=0))
    put(tmp_path, "b.spc", spc_bytes([SPECTRUM], AXIS))
    table = read_table(tmp_path)
    assert table.names[-1].endswith(" nm")
    (note,) = table.notes
    assert "'a'" in note
    # Two that contradict each other are refused, whatever the first one says.
    put(tmp_path, "c.spc", spc_bytes([SPECTRUM], AXIS, unit=1))
    with pytest.raises(InvalidInputError, match=r"c\.spc"):
        read_table(tmp_path)


@pytest.mark.parametrize("kinds", [[(3, 4)], [(1, 1), (3, 4)]])
def test_what_else_an_opus_file_holds_is_told(kinds):
    notes = read_spectra(opus_bytes(SPECTRUM, 4000, 3890, kinds=kinds)).notes
    assert [("absorbance" in note, "sample spectrum" in note) for note in notes] == [
        (True, True)
    ] * (len(kinds) - 1)
