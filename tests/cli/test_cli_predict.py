"""``plsdof predict``: what it finds, shows, writes, marks and refuses."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from _helpers.command_line import (
    GASOLINE,
    OZONE,
    eighty_columns,  # noqa: F401
    made,
    refused,
    run,
    run_json,
    said,
)

import plsdof
from plsdof import inference, pcr_path, pls_path, ridge_path
from plsdof.datasets import load_gasoline, load_ozone
from plsdof.models.files import checksum


@pytest.mark.parametrize("method", ["pls", "pcr", "ridge"])
@pytest.mark.parametrize(
    ("file", "response", "load"),
    [(OZONE, "V4", load_ozone), (GASOLINE, "octane", load_gasoline)],
)
def test_fit_then_predict_gives_the_fitted_values(tmp_path, file, response, load, method):
    model, out = tmp_path / "model.json", tmp_path / "out.csv"
    run(
        "fit", file, "-r", response, "--missing", "drop", "--model", model, "--method", method, "-q"
    )
    run("predict", model, file, "--missing", "drop", "--out", out, "--level", 0.8)
    X, y = load(return_X_y=True)
    most = min(30, X.shape[1])
    fit = {
        "pls": lambda: pls_path(X, y, most),
        "pcr": lambda: pcr_path(X, y, most),
        "ridge": lambda: ridge_path(X, y),
    }
    path = fit[method]()
    selection = path.select()
    model = replace(path[selection.index], selection=selection)
    table = pd.read_csv(out)
    assert len(table) == len(pd.read_csv(file))
    complete = pd.read_csv(file).notna().all(axis=1).to_numpy()
    table = table[complete]
    np.testing.assert_allclose(table["prediction"], model.fitted, rtol=1e-9)
    for kind, lower, upper in (
        ("mean", "mean_lower", "mean_upper"),
        ("observation", "lower", "upper"),
    ):
        limits = inference.prediction_interval(model, X, level=0.8, kind=kind)
        np.testing.assert_allclose(table[lower], limits.lower, rtol=1e-9)
        np.testing.assert_allclose(table[upper], limits.upper, rtol=1e-9)


@pytest.fixture
def model(tmp_path):
    file, _, _ = made(tmp_path)
    run("fit", file, "-r", "y", "--model", tmp_path / "model.json", "-q")
    return tmp_path / "model.json"


def test_predict_finds_columns_in_any_order_and_ignores_others(tmp_path, model):
    file, _, _ = made(tmp_path)
    frame = pd.read_csv(file)
    mixed = tmp_path / "mixed.csv"
    frame[frame.columns[::-1]].assign(note="text").drop(columns="y").to_csv(mixed, index=False)
    found = run_json("predict", model, mixed)
    expected = run_json("predict", model, file)
    np.testing.assert_allclose(
        [one["prediction"] for one in found["predictions"]],
        [one["prediction"] for one in expected["predictions"]],
        rtol=1e-9,
    )
    assert found["merit"] is None
    assert expected["merit"]["n"] == 30
    residuals = [one["prediction"] - one["observed"] for one in expected["predictions"]]
    assert expected["merit"]["rmse"] == pytest.approx(np.sqrt(np.mean(np.square(residuals))))


def test_predict_shows_a_table_within_80_columns(tmp_path, model):
    file, _, _ = made(tmp_path)
    result = run("predict", model, file)
    assert "20 of 30 rows" in result.stdout
    assert "Accuracy: RMSEP" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert run("predict", model, file, "--quiet").output == ""


def test_predict_marks_rows_unlike_those_of_the_calibration(tmp_path, model):
    file, X, y = made(tmp_path)
    frame = pd.read_csv(file)
    frame.loc[[1, 4], ["x0", "x3"]] += 40.0
    frame.to_csv(file, index=False)
    found = run_json("predict", model, file, "--level", 0.5)
    path = pls_path(X, y)
    chosen = path[path.select().index]
    new = frame.drop(columns="y").to_numpy()
    t2, q = (
        plsdof.chemometrics.hotelling_t2(chosen, new),
        plsdof.chemometrics.q_residuals(chosen, new),
    )
    rows = pd.DataFrame(found["predictions"])
    np.testing.assert_allclose(rows["t2"], t2.values, rtol=1e-9)
    np.testing.assert_allclose(rows["q"], q.values, rtol=1e-9)
    assert rows["unusual"].tolist() == (t2.flags | q.flags).tolist()
    assert rows["unusual"][[1, 4]].all()
    assert not rows["unusual"].all()
    assert found["limits"] == pytest.approx({"t2": t2.limit, "q": q.limit, "level": 0.95})
    marked = ", ".join(str(row) for row in rows["row"][rows["unusual"]])
    note = f"Rows {marked} are unlike the calibration rows (T² or Q above the 95% limit)"
    assert note in said("predict", model, file)
    shown = run("predict", model, file).stdout.splitlines()
    assert [line.endswith(("warn", "reject")) for line in shown if line.startswith("  2 ")] == [
        True
    ]
    frame.iloc[[4]].to_csv(file, index=False)
    assert "Row 1 is unlike the calibration rows" in said("predict", model, file)


def test_of_rows_that_are_not_predicted_nothing_is_said(tmp_path, model):
    file, _, _ = made(tmp_path)
    frame = pd.read_csv(file)
    frame.loc[3, "x4"] = np.nan
    frame.to_csv(file, index=False)
    row = run_json("predict", model, file, "--missing", "drop")["predictions"][3]
    assert (row["t2"], row["q"], row["unusual"]) == (None, None, None)


def test_a_model_that_reproduces_its_rows_says_that_q_has_no_limit(tmp_path):
    file, _, _ = made(tmp_path, n=8, p=12)
    model = tmp_path / "m.json"
    run("fit", file, "-r", "y", "--components", "7", "--model", model, "-q")
    found = run_json("predict", model, file)
    expected = "The components reproduce X: Q is 0 in all training rows and has no limit."
    assert expected in found["notes"]
    # Held-out rows know the error, although the fit leaves no residual.
    row = found["predictions"][0]
    assert row["upper"] - row["lower"] > 0.1


def test_models_that_cannot_tell_unusual_rows_say_so(tmp_path, model):
    file, _, _ = made(tmp_path)
    content = json.loads(model.read_text())
    del content["responses"][0]["check"]
    content["sha256"] = checksum(content)
    model.write_text(json.dumps(content))
    found = run_json("predict", model, file)
    assert found["notes"] == [
        "Rows unlike the calibration rows are not marked: the model was saved without what T² and "
        "Q need."
    ]
    assert not {"t2", "q", "unusual"} & set(found["predictions"][0])
    assert found["limits"] is None
    run("fit", file, "-r", "y", "--method", "ridge", "--model", model, "-q")
    assert "for PLS, and the model is one of ridge." in said("predict", model, file)


def test_predictions_are_named_by_a_column(tmp_path, model):
    file, _, _ = made(tmp_path)
    frame = pd.read_csv(file)
    frame.insert(0, "site", ["north", "south"] * 15)
    frame.insert(2, "sample", [f"sample of the second batch, number {i}" for i in range(30)])
    frame["code"] = np.arange(30) * 2.0
    frame.to_csv(file, index=False)
    out = tmp_path / "out.csv"
    result = run("predict", model, file, "--out", out)
    table = pd.read_csv(out)
    assert table["id"].tolist() == frame["sample"].tolist()
    assert table["row"].tolist() == list(range(1, 31))
    shown = [line.split("  ")[0] for line in result.stdout.splitlines() if "…" in line]
    assert len(shown) == 20
    assert shown[7].startswith("sample")
    assert shown[7].endswith("r 7")
    assert max(map(len, result.stdout.splitlines())) <= 80
    found = run_json("predict", model, file, "--id", "code")
    assert [one["id"] for one in found["predictions"][:3]] == ["0", "2", "4"]
    frame.loc[0, ["sample", "x0"]] = [None, 1000.0]
    frame.to_csv(file, index=False)
    found = run_json("predict", model, file)
    assert found["predictions"][0]["id"] == ""
    notes = said("predict", model, file, "--id", "sample")
    assert "Row 1 is unlike" in notes or "Rows 1, " in notes
    assert "no column 'cod'; did you mean 'code'?" in refused("predict", model, file, "--id", "cod")


def test_wavelengths_that_are_absent_suggest_only_near_ones(tmp_path):
    model, new = tmp_path / "model.json", tmp_path / "new.csv"
    run("fit", GASOLINE, "-r", "octane", "-f", "1100:1200", "--model", model, "-q")
    frame = pd.read_csv(GASOLINE)
    frame.drop(columns="1150").to_csv(new, index=False)
    assert refused("predict", model, new).endswith("not in the table: '1150'.")
    frame.rename(columns={"1150": "1150.5"}).to_csv(new, index=False)
    assert refused("predict", model, new).endswith("'1150'; did you mean '1150.5'?")
    assert refused("fit", GASOLINE, "-r", "1101").endswith("did you mean '1100' or '1102'?")
    assert refused("fit", GASOLINE, "-r", "octane", "-f", "1701").endswith("did you mean '1700'?")
    assert refused("fit", GASOLINE, "-r", "2000").endswith("no column '2000'.")


def test_wavelengths_are_recognised_in_another_spelling(tmp_path):
    model = tmp_path / "model.json"
    run("fit", GASOLINE, "-r", "octane", "-f", "1100:1200", "--model", model, "-q")
    frame = pd.read_csv(GASOLINE)
    respelled = tmp_path / "respelled.csv"
    frame.rename(columns=lambda name: f"X{name}.0" if name != "octane" else name).to_csv(
        respelled, index=False
    )
    found = run_json("predict", model, respelled)
    expected = run_json("predict", model, GASOLINE)
    assert found["predictions"] == expected["predictions"]
    assert "51 columns recognised by the number" in found["notes"][0]


def test_predict_refuses_tables_that_do_not_fit(tmp_path, model):
    file, _, _ = made(tmp_path)
    frame = pd.read_csv(file)
    frame.rename(columns={"x2": "x2 b"}).to_csv(tmp_path / "other.csv", index=False)
    line = refused("predict", model, tmp_path / "other.csv")
    assert "1 of 6 predictors of the model are not in the table: 'x2'" in line
    assert "did you mean" in line
    frame.loc[3, "x4"] = np.nan
    frame.to_csv(tmp_path / "gap.csv", index=False)
    assert "'x4' 1" in refused("predict", model, tmp_path / "gap.csv")
    found = run_json("predict", model, tmp_path / "gap.csv", "--missing", "drop")
    assert found["predictions"][3]["prediction"] is None
    assert found["predictions"][4]["prediction"] is not None


def test_predict_refuses_a_changed_model(tmp_path, model):
    file, _, _ = made(tmp_path)
    out = tmp_path / "out.csv"
    text = model.read_text()
    model.write_text(text.replace('"x3"', '"x9"'))
    assert "changed after" in refused("predict", model, file, "--out", out)
    model.write_text(text[:-100])
    assert "truncated" in refused("predict", model, file, "--out", out)
    assert "not a model file" in refused("predict", file, file, "--out", out)
    assert not out.exists()


@pytest.mark.parametrize("method", ["normal", "left-out"])
def test_a_kept_model_predicts_with_its_intervals(tmp_path, method):
    model = tmp_path / "model.json"
    run("fit", GASOLINE, "-r", "octane", "--components", 3, "--intervals", method,
        "--model", model, "-q")  # fmt: skip
    found = run_json("predict", model, GASOLINE)
    X, y = load_gasoline(return_X_y=True)
    chosen = pls_path(X, y, 30)[3]
    expected = inference.prediction_interval(chosen, X, method=method)
    limits = np.array([[row["lower"], row["upper"]] for row in found["predictions"]])
    np.testing.assert_allclose(limits, np.column_stack([expected.lower, expected.upper]), rtol=1e-7)
    assert "covers one new observation" in found["assumptions"]
    # The other method, as what it needs was kept as well.
    other = run_json("predict", model, GASOLINE, "--intervals", "normal")
    assert (other["predictions"] == found["predictions"]) == (method == "normal")


@pytest.mark.parametrize("value", ["n.d.", "<0.1", "inf", "1.2.3"])
def test_one_unreadable_reference_value_costs_one_row_and_is_named(tmp_path, model, value):
    file, _, _ = made(tmp_path)
    lines = file.read_text().splitlines()
    lines[5] = ",".join([value, *lines[5].split(",")[1:]])
    file.write_text("\n".join(lines) + "\n")
    found = run_json("predict", model, file)
    assert found["merit"]["n"] == 29
    assert found["merit"]["rmse"] > 0
    assert found["predictions"][4]["observed"] is None
    assert any(repr(value) in note and "row 5" in note for note in found["notes"])
    assert "Accuracy" in said("predict", model, file)


def test_a_reference_that_is_text_is_said(tmp_path, model):
    frame = pd.read_csv(made(tmp_path)[0]).assign(y="low")
    frame.to_csv(tmp_path / "new.csv", index=False)
    found = run_json("predict", model, tmp_path / "new.csv")
    assert found["merit"] is None
    assert any("'low'" in note for note in found["notes"])


@pytest.mark.parametrize("plain", [False, True])
def test_names_that_look_like_formulas_are_written_harmlessly(tmp_path, model, plain):
    frame = pd.read_csv(made(tmp_path)[0])
    frame.insert(0, "name", [f"=cmd{i}" for i in range(len(frame))])
    frame.to_csv(tmp_path / "new.csv", index=False)
    out = tmp_path / "out.csv"
    run("predict", model, tmp_path / "new.csv", "--out", out, *["--plain-csv"] * plain)
    written = pd.read_csv(out)
    assert written["id"][0] == ("=cmd0" if plain else "'=cmd0")
    assert written["prediction"].dtype == float
    assert (written["prediction"] < 0).any()
