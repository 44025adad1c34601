"""Model files that version 0.2 wrote are read, and give the numbers that they gave then.

`models_0_2` holds one file per kind of model, written by `plsdof.save_model` of 0.2.0, one of them
reduced to the entries that 0.1 knew, and `expected.json` with rows, their predictions, limits at
level 0.9, T^2 and Q. The files are never written again: what reads them may change, they do not.
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import plsdof
from plsdof.errors import InvalidInputError, NotAvailableError

FOLDER = Path(__file__).parent / "models_0_2"
EXPECTED = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))
# The same decimals on any machine: the order of a sum may differ, nothing else.
CLOSE = {"rtol": 1e-10, "atol": 1e-10}


def load(name):
    if name.startswith("chain"):
        pytest.importorskip("chemotools", reason="preprocessing needs plsdof[spectra]")
    return plsdof.load_model(FOLDER / f"{name}.json"), EXPECTED[name]


def limits(model, rows, **options):
    return np.asarray(model.predict_interval(rows, 0.9, **options))


def having(entry):
    return [name for name, expected in EXPECTED.items() if expected[entry] is not None]


def test_every_file_has_its_numbers():
    assert {file.stem for file in FOLDER.glob("*.json")} == {*EXPECTED, "expected"}
    versions = {
        json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))["version"]
        for name in EXPECTED
    }
    assert versions == {1, 2}


@pytest.mark.parametrize("name", EXPECTED)
def test_predictions(name):
    model, expected = load(name)
    np.testing.assert_allclose(model.predict(expected["rows"]), expected["predictions"], **CLOSE)


@pytest.mark.parametrize("kind", ["mean", "observation"])
@pytest.mark.parametrize("name", having("normal"))
def test_normal_intervals(name, kind):
    model, expected = load(name)
    ours = limits(model, expected["rows"], kind=kind, method="normal")
    np.testing.assert_allclose(ours, expected["normal"][kind], **CLOSE)


@pytest.mark.parametrize("name", sorted(set(EXPECTED) - set(having("normal"))))
def test_models_without_a_noise_level_still_have_no_intervals(name):
    model, expected = load(name)
    with pytest.raises(NotAvailableError):
        model.predict_interval(expected["rows"])


@pytest.mark.parametrize("name", having("kept"))
def test_intervals_of_the_method_that_the_file_names(name):
    model, expected = load(name)
    ours = limits(model, expected["rows"])
    np.testing.assert_allclose(ours, expected["kept"]["observation"], **CLOSE)


@pytest.mark.parametrize("name", having("t2"))
def test_distances_of_new_rows(name):
    model, expected = load(name)
    rows = expected["rows"]
    np.testing.assert_allclose(model.hotelling_t2(rows).values, expected["t2"], **CLOSE)
    np.testing.assert_allclose(model.q_residuals(rows).values, expected["q"], **CLOSE)


@pytest.mark.parametrize("name", ["pls_jackknife_plus", "average_conformal", "pls_weighted"])
def test_such_models_can_be_kept_again(name, tmp_path):
    model, expected = load(name)
    model.save(tmp_path / "again.json")
    again = plsdof.load_model(tmp_path / "again.json")
    assert json.loads((tmp_path / "again.json").read_text(encoding="utf-8"))["version"] == 3
    rows = expected["rows"]
    np.testing.assert_array_equal(again.predict(rows), model.predict(rows))
    np.testing.assert_array_equal(limits(again, rows), limits(model, rows))


def test_names_of_any_kind_are_kept():
    model, _ = load("pls_of_a_frame")
    assert tuple(model.names) == ("900 nm", "µ", "<b>", "", "x\n")


def test_names_are_checked_and_columns_put_in_order():
    model, expected = load("pls_of_a_frame")
    rows = pd.DataFrame(expected["rows"], columns=list(model.names))
    backwards = rows[rows.columns[::-1]]
    np.testing.assert_allclose(model.predict(backwards), expected["predictions"], **CLOSE)
    with pytest.raises(InvalidInputError):
        model.predict(rows.rename(columns={"µ": "m"}))
    # Numbers in the place of names have an order, too.
    model, expected = load("pls_conformal")
    rows = pd.DataFrame(expected["rows"]).add_prefix("x")
    backwards = rows[rows.columns[::-1]]
    np.testing.assert_allclose(model.predict(backwards), expected["predictions"], **CLOSE)
    assert not hasattr(model, "feature_names_in_")
