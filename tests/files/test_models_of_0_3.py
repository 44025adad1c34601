"""Model files that version 0.3 wrote are read, and give the numbers that they gave then.

`models_0_3` holds one file per kind of model, written by `plsdof.save_model` of 0.3.0, and
`expected.json` with rows, their predictions, limits at level 0.9, T^2 and Q, and their limits. The
files are never written again: what reads them may change, they do not.
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import plsdof
from plsdof.errors import InvalidInputError, NotAvailableError

FOLDER = Path(__file__).parent / "models_0_3"
EXPECTED = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))
# The same decimals on any machine: the order of a sum may differ, nothing else.
CLOSE = {"rtol": 1e-10, "atol": 1e-10}


def load(name):
    if name == "chain":
        pytest.importorskip("chemotools", reason="preprocessing needs plsdof[spectra]")
    return plsdof.load_model(FOLDER / f"{name}.json"), EXPECTED[name]


def answers(model, rows):
    yield "predictions", lambda: model.predict(rows)
    yield "limits", lambda: model.predict_interval(rows, 0.9)
    yield "mean", lambda: model.predict_interval(rows, 0.9, kind="mean")
    yield "t2", lambda: model.hotelling_t2(rows).values
    yield "q", lambda: model.q_residuals(rows).values
    yield "coef", lambda: model.coef_


@pytest.mark.parametrize("again", [False, True], ids=["read", "written again"])
@pytest.mark.parametrize("name", EXPECTED)
def test_a_file_of_0_3_gives_the_numbers_of_0_3(name, again, tmp_path):
    model, expected = load(name)
    if again:
        model.save(tmp_path / "again.json")
        model = plsdof.load_model(tmp_path / "again.json")
        assert json.loads((tmp_path / "again.json").read_text(encoding="utf-8"))["version"] == 4
    for key, ask in answers(model, expected["rows"]):
        if expected[key] is None:
            with pytest.raises((NotAvailableError, AttributeError)):
                ask()
        else:
            np.testing.assert_allclose(np.asarray(ask()), expected[key], **CLOSE)


def test_every_file_is_of_0_3_and_has_its_numbers():
    assert {file.stem for file in FOLDER.glob("*.json")} == {*EXPECTED, "expected"}
    for name in EXPECTED:
        assert json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))["version"] == 3


def test_names_of_any_kind_are_kept_checked_and_put_in_order():
    model, expected = load("pls_frame")
    assert model.names == ("900 nm", "µ", "<b>", "", "x\n")
    assert (model.response, model.source["id"]) == ("fat", "sample")
    rows = pd.DataFrame(expected["rows"], columns=list(model.names))
    np.testing.assert_allclose(model.predict(rows.iloc[:, ::-1]), expected["predictions"], **CLOSE)
    with pytest.raises(InvalidInputError):
        model.predict(rows.rename(columns={"µ": "m"}))


@pytest.mark.parametrize("version", [1, 2])
def test_older_files_are_refused(version, tmp_path):
    content = json.loads((FOLDER / "pls.json").read_text(encoding="utf-8"))
    (tmp_path / "old.json").write_text(json.dumps(content | {"version": version}))
    with pytest.raises(InvalidInputError):
        plsdof.load_model(tmp_path / "old.json")
