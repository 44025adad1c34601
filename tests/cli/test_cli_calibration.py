"""From spectra to a validated calibration: preprocessing, figures of merit, test rows, Excel."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
import openpyxl
import pandas as pd
import pytest
from _helpers.command_line import (
    GASOLINE,
    eighty_columns,  # noqa: F401
    made,
    refused,
    run,
    run_json,
    said,
    write,
)
from chemotools.derivative import SavitzkyGolay
from chemotools.scatter import MultiplicativeScatterCorrection, StandardNormalVariate
from scipy.stats import linregress
from sklearn.cross_decomposition import PLSRegression
from sklearn.metrics import r2_score, root_mean_squared_error
from sklearn.model_selection import cross_val_predict, train_test_split
from sklearn.pipeline import make_pipeline

import plsdof
from plsdof import chemometrics, cross_validate, pls_path
from plsdof.chemometrics import Preprocessor, figures_of_merit
from plsdof.datasets import load_gasoline
from plsdof.workbench.analysis.result import in_text

CHAIN = "savgol:15:2:1,snv"


def blinds(n, k):
    """The folds of plsdof: row i in fold i mod k."""
    return [(np.flatnonzero(np.arange(n) % k != i), np.arange(i, n, k)) for i in range(k)]


def test_the_whole_way_agrees_with_chemotools_and_scikit_learn(tmp_path):
    X, y = load_gasoline(return_X_y=True)
    report, model, out = (tmp_path / name for name in ("r.html", "m.json", "p.xlsx"))
    found = run_json(
        "fit", GASOLINE, "-r", "octane", "--preprocess", CHAIN, "--split", "random:0.3",
        "--cv", 10, "--report", report, "--model", model,
    )  # fmt: skip
    fitted, tested = train_test_split(np.arange(60), test_size=0.3, random_state=0)
    fitted, tested = np.sort(fitted), np.sort(tested)
    assert [one["row"] for one in found["test"]["rows"]] == (tested + 1).tolist()
    chain = make_pipeline(
        SavitzkyGolay(window_length=15, polyorder=2, deriv=1),
        StandardNormalVariate(),
        PLSRegression(found["choice"]["parameter"]),
    )
    crossed = cross_val_predict(chain, X[fitted], y[fitted], cv=blinds(len(fitted), 10)).ravel()
    chain.fit(X[fitted], y[fitted])
    expected = {
        "calibration": (y[fitted], chain.predict(X[fitted]).ravel()),
        "cross-validation": (y[fitted], crossed),
        "test": (y[tested], chain.predict(X[tested]).ravel()),
    }
    # The size is chosen again without each fold, unless it is given.
    size = found["choice"]["parameter"]
    given = run_json(
        "fit", GASOLINE, "-r", "octane", "--preprocess", CHAIN, "--split", "random:0.3",
        "--cv", 10, "--components", size,
    )  # fmt: skip
    chosen = found["merit"].pop("cross-validation")
    assert chosen["rmse"] == pytest.approx(found["errors"]["chosen"])
    found["merit"]["cross-validation"] = given["merit"]["cross-validation"]
    assert found["merit"].keys() == expected.keys()
    for name, (observed, predicted) in expected.items():
        merit = found["merit"][name]
        assert merit["rmse"] == pytest.approx(
            root_mean_squared_error(observed, predicted), rel=1e-8
        )
        assert merit["r2"] == pytest.approx(r2_score(observed, predicted), rel=1e-8)
        assert merit["sep"] == pytest.approx(np.std(predicted - observed, ddof=1), rel=1e-8)
    # New rows: others than those of the fit, in another order of columns.
    new = pd.read_csv(GASOLINE).iloc[tested].drop(columns="octane")
    new[new.columns[::-1]].to_csv(tmp_path / "new.csv", index=False)
    run("predict", model, tmp_path / "new.csv", "--out", out)
    table = pd.read_excel(out, engine="openpyxl")
    np.testing.assert_allclose(table["prediction"], expected["test"][1], rtol=1e-8)
    np.testing.assert_allclose(
        [one["prediction"] for one in found["test"]["rows"]], table["prediction"], rtol=1e-12
    )
    assert "octane" in report.read_text(encoding="utf-8")
    # What is exact stays exact: the Degrees of Freedom are those of the preprocessed rows.
    path = pls_path(Preprocessor(CHAIN).fit_transform(X[fitted]), y[fitted], 30)
    dof = [one["dof"] for one in found["models"]]
    np.testing.assert_allclose(dof, path.dof[: len(dof)], rtol=1e-9)
    assert found["choice"]["parameter"] == path.select(cv=10).n_components


def test_what_learns_from_rows_is_fitted_in_every_fold(tmp_path):
    X, y = load_gasoline(return_X_y=True)
    found = run_json(
        "fit", GASOLINE, "-r", "octane", "--preprocess", "msc", "--cv", 6, "--components", 4,
        "--model", tmp_path / "m.json",
    )  # fmt: skip
    chain = make_pipeline(MultiplicativeScatterCorrection(), PLSRegression(4))
    crossed = cross_val_predict(chain, X, y, cv=blinds(60, 6)).ravel()
    assert found["merit"]["cross-validation"]["rmse"] == pytest.approx(
        root_mean_squared_error(y, crossed), rel=1e-9
    )
    assert "preprocessing" in [one["key"] for one in found["remarks"]]
    # The reference is in the file, and new rows are corrected by it, not by their own mean.
    (kept,) = json.loads((tmp_path / "m.json").read_text())["preparations"]
    np.testing.assert_allclose(
        kept["preprocessing"]["learned"][0]["reference_"], X.mean(axis=0), rtol=1e-12
    )
    predicted = plsdof.load_model(tmp_path / "m.json").predict(X[:3])
    np.testing.assert_allclose(predicted, chain.fit(X, y).predict(X[:3]).ravel(), rtol=1e-9)


@pytest.mark.parametrize("method", ["pcr", "ridge"])
def test_other_methods_are_preprocessed_too(method):
    X, y = load_gasoline(return_X_y=True)
    found = run_json("fit", GASOLINE, "-r", "octane", "--preprocess", "snv", "--method", method)
    fit = {
        "pcr": lambda X: plsdof.pcr_path(X, y, 30),
        "ridge": lambda X: plsdof.ridge_path(X, y),
    }
    path = fit[method](Preprocessor("snv").fit_transform(X))
    np.testing.assert_allclose([one["dof"] for one in found["models"]], path.dof, rtol=1e-9)
    crossed = run_json(
        "fit", GASOLINE, "-r", "octane", "--preprocess", "autoscale,snv", "--method", method,
        "--cv", 5,
    )  # fmt: skip
    assert np.isfinite([one["rmsecv"] for one in crossed["models"] if one["rmsecv"]]).all()


def test_figures_of_merit_are_shown():
    words = said("fit", GASOLINE, "-r", "octane", "--cv", 10)
    X, y = load_gasoline(return_X_y=True)
    path = pls_path(X, y, 30)
    chosen = path.select(cv=10)
    for predicted in (path[chosen.index].fitted, y - chosen.held_out.residuals):
        merit = figures_of_merit(y, predicted)
        # Two digits of the standard error that 60 normal errors give.
        for value in (merit.rmse, merit.sep, merit.rpd, merit.rpiq):
            assert in_text(value, value / np.sqrt(120)) in words
        line = linregress(y, predicted)
        assert in_text(merit.slope, line.stderr) in words
        assert in_text(merit.intercept, line.intercept_stderr) in words
    assert "calibration cross-validation" in words
    assert "RMSE: RMSEC, RMSECV." in words


# rows to test on


def test_a_test_table_is_read_and_predicted(tmp_path):
    file, X, y = made(tmp_path)
    other, X_new, y_new = made(tmp_path, n=12, seed=5, name="other.csv")
    frame = pd.read_csv(other)
    frame[frame.columns[::-1]].to_csv(other, index=False)
    found = run_json("fit", file, "-r", "y", "--components", 2, "--test", other)
    path = pls_path(X, y)
    predicted = path.predict(X_new)[2]
    np.testing.assert_allclose(
        [one["prediction"] for one in found["test"]["rows"]], predicted, rtol=1e-8
    )
    assert found["merit"]["test"]["rmse"] == pytest.approx(
        figures_of_merit(y_new, predicted).rmse, rel=1e-8
    )
    assert found["n"] == 30


def test_test_rows_are_those_of_the_file_even_if_others_are_dropped(tmp_path):
    file, X, y = made(tmp_path)
    frame = pd.read_csv(file)
    frame.loc[3, "x2"] = np.nan
    frame.insert(0, "sample", [f"s{i + 1}" for i in range(30)])
    frame.insert(1, "set", ["test" if i in (0, 9, 10) else "fit" for i in range(30)])
    frame.to_csv(file, index=False)
    by_number = run_json(
        "fit", file, "-r", "y", "--missing", "drop", "--test-rows", "1,10:11", "--id", "sample"
    )
    by_value = run_json(
        "fit", file, "-r", "y", "--missing", "drop", "--test-rows", "set=test", "--id", "sample"
    )
    for found in (by_number, by_value):
        rows = found["test"]["rows"]
        assert [one["row"] for one in rows] == [1, 10, 11]
        assert [one["id"] for one in rows] == ["s1", "s10", "s11"]
        np.testing.assert_allclose([one["observed"] for one in rows], y[[0, 9, 10]], rtol=1e-12)
        assert found["n"] == 26
    kept = np.setdiff1d(np.arange(30), [0, 3, 9, 10])
    path = pls_path(X[kept], y[kept])
    dof = [one["dof"] for one in by_number["models"]]
    np.testing.assert_allclose(dof, path.dof[: len(dof)], rtol=1e-9)


def test_groups_stay_together_in_a_random_test_set(tmp_path):
    file, _, _ = made(tmp_path)
    frame = pd.read_csv(file)
    frame.insert(0, "batch", [f"b{i // 3}" for i in range(30)])
    frame.to_csv(file, index=False)
    found = run_json(
        "fit", file, "-r", "y", "--groups", "batch", "--cv", 3, "--split", "random:0.4"
    )
    batches = {(one["row"] - 1) // 3 for one in found["test"]["rows"]}
    assert len(found["test"]["rows"]) == 3 * len(batches) == 12
    mixed = run_json("fit", file, "-r", "y", "--groups", "batch", "--cv", 3, "--test-rows", "1:4")
    assert any("'b1'" in note for note in mixed["notes"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--test-rows", "1:3", "--split", "random:0.2"), "exclude each other"),
        (("--test-rows", "0"), "numbers from 1 to 30"),
        (("--test-rows", "28:31"), "numbers from 1 to 30"),
        (("--test-rows", "a"), "numbers from 1 to 30"),
        (("--test-rows", "1:29"), "29 of 30 rows would be kept apart"),
        (("--test-rows", "set=test"), "no column 'set'"),
        (("--test-rows", "x0=7"), "no row has the value '7' in 'x0'"),
        (("--split", "random:1.5"), "--split"),
        (("--split", "random:0.001"), "kept apart"),
        (("--test", "no.csv"), "could not be read"),
        (("--preprocess", "snvv"), "--preprocess snvv: 'snvv' is not a step"),
        (("--preprocess", "savgol:15:2:1"), "savgol needs at least 15 columns"),
    ],
)
def test_what_cannot_be_tested_or_preprocessed_is_refused(tmp_path, options, message):
    file, _, _ = made(tmp_path)
    if options == ("--split", "random:0.001"):
        assert "1 of 30 rows" in " ".join(run_json("fit", file, "-r", "y", *options)["notes"])
        return
    assert message in refused("fit", file, "-r", "y", *options)


def test_a_flat_row_is_named_by_its_number_in_the_file(tmp_path):
    file, _, _ = made(tmp_path)
    frame = pd.read_csv(file)
    frame.loc[1, "x0"] = np.nan
    frame.iloc[6, 1:] = 0.1
    frame.to_csv(file, index=False)
    message = refused("fit", file, "-r", "y", "--missing", "drop", "--preprocess", "snv")
    assert "table.csv: snv is not defined for row 7: all values there are equal" in message


def test_a_test_table_without_the_response_is_refused(tmp_path):
    file, _, _ = made(tmp_path)
    other = write(tmp_path, "x0,x1,x2,x3,x4,x5\n1,2,3,4,5,6\n", "other.csv")
    assert "test needs the response 'y'" in refused("fit", file, "-r", "y", "--test", other)
    other = write(tmp_path, "y,x0,x1,x2,x3,x4\n1,2,3,4,5,6\n", "other.csv")
    assert "'x5'" in refused("fit", file, "-r", "y", "--test", other)


# comparing chains


def test_methods_are_compared_after_preprocessing():
    X, y = load_gasoline(return_X_y=True)
    options = ("compare", GASOLINE, "-r", "octane", "--cv", 10, "--max-components", 6)
    found = run_json(*options, "--preprocess", CHAIN)
    assert set(found["chosen"]) == {"pls", "pcr", "ridge"}
    values = Preprocessor(CHAIN).fit_transform(X)
    path = pls_path(values, y, 6)
    model, m = found["models"][found["chosen"]["pls"]], path.select(cv=10).index
    assert (model["method"], model["parameter"]) == ("pls", m)
    assert model["dof"] == pytest.approx(path.dof[m], rel=1e-9)
    errors = cross_validate(values, y, max_components=6).rmse
    assert model["rmsecv"] == pytest.approx(errors[m], rel=1e-8)


# tables out


def test_tables_are_written_as_excel_and_csv(tmp_path):
    book, text = tmp_path / "t.xlsx", tmp_path / "t.csv"
    options = ("fit", GASOLINE, "-r", "octane", "--split", "random:0.3", "--cv", 5)
    found = run_json(*options, "--out", book)
    run(*options, "--out", text)
    sheets = pd.read_excel(book, sheet_name=None, engine="openpyxl")
    wanted = ["coefficients", "components", "models", "merit", "rows", "scores", "test rows"]
    assert list(sheets) == [*wanted, "facts", "remarks", "recipe"]
    m = found["choice"]["index"]
    parts = [f"{word}_{j}" for word in ("loading", "weight") for j in range(1, m + 1)]
    assert list(sheets["components"]) == ["name", "vip", "selectivity_ratio", *parts]
    np.testing.assert_allclose(np.mean(sheets["components"]["vip"] ** 2), 1)
    scores = sheets["scores"].filter(like="score_").to_numpy()
    np.testing.assert_allclose(scores.T @ scores, np.diag(np.sum(scores**2, axis=0)), atol=1e-8)
    assert {"t2", "q"} <= set(sheets["test rows"])
    coef = [one["coef"] for one in found["coefficients"]]
    np.testing.assert_allclose(sheets["coefficients"]["coef"], coef, rtol=1e-15)
    np.testing.assert_array_equal(pd.read_csv(text)["coef"], coef)
    dof = [one["dof"] for one in found["models"]]
    np.testing.assert_allclose(sheets["models"]["dof"], dof, rtol=1e-15)
    rmsep = sheets["merit"]["rmse"][2]
    assert rmsep == pytest.approx(found["merit"]["test"]["rmse"], rel=1e-15)
    assert found["written"]["tables"] == str(book)


def test_names_that_look_like_formulas_stay_text(tmp_path):
    file, _, _ = made(tmp_path)
    model, out = tmp_path / "m.json", tmp_path / "p.xlsx"
    run("fit", file, "-r", "y", "--model", model)
    frame = pd.read_csv(file).head(2)
    frame.insert(0, "id", ["=1+1", "a\x07b"])
    frame.to_csv(file, index=False)
    run("predict", model, file, "--out", out, "--id", "id")
    sheet = openpyxl.load_workbook(out).active
    column = [cell.value for cell in next(sheet.iter_rows(max_row=1))].index("id") + 1
    assert sheet.cell(2, column).value == "=1+1"
    assert sheet.cell(2, column).data_type == "s"
    assert sheet.cell(3, column).value == "ab"


@pytest.mark.parametrize(
    ("option", "name", "endings"),
    [
        ("--report", "r.pdf", ".html or .htm"),
        ("--plot", "p.jpg", ".png, .svg or .pdf"),
        ("--model", "m.pkl", ".json"),
        ("--model", "m", ".json"),
        ("--out", "t.xls", ".csv, .tsv or .xlsx"),
    ],
)
def test_unknown_endings_are_refused(tmp_path, option, name, endings):
    file, _, _ = made(tmp_path)
    message = refused("fit", file, "-r", "y", option, tmp_path / name)
    assert f"{option} {tmp_path / name}: the name must end in {endings}" in message
    assert not (tmp_path / name).exists()
    run("fit", file, "-r", "y", "--model", tmp_path / "m.json", "-q")
    if option == "--out":
        assert endings in refused("predict", tmp_path / "m.json", file, "--out", tmp_path / name)


# several responses


def two_responses(folder):
    frame = pd.read_csv(GASOLINE).copy()
    noise = np.random.default_rng(0).normal(size=60)
    frame.insert(1, "density / %", frame["1200"] * 3 + 0.01 * noise)
    frame.loc[4, "density / %"] = np.nan
    frame.to_csv(folder / "two.csv", index=False)
    return folder / "two.csv"


def test_several_responses_have_a_model_each(tmp_path):
    file = two_responses(tmp_path)
    model, out, report = (tmp_path / name for name in ("m.json", "t.xlsx", "r.html"))
    options = ("fit", file, "-r", "octane", "-r", "density / %", "--missing", "drop")
    found = run_json(*options, "--model", model, "--out", out, "--report", report)
    first, second = found["responses"]
    assert (first["response"], first["n"]) == ("octane", 60)
    assert (second["response"], second["n"]) == ("density / %", 59)
    for one, name in ((first, "octane"), (second, "density / %")):
        alone = run_json(
            "fit", file, "-r", name, "--missing", "drop", "-x", "octane", "-x", "density / %"
        ) if name != "octane" else run_json("fit", GASOLINE, "-r", name)  # fmt: skip
        np.testing.assert_allclose(
            [row["dof"] for row in one["models"]],
            [row["dof"] for row in alone["models"]],
            rtol=1e-9,
        )
        assert one["p"] == 401
    assert first["written"]["model"] == str(tmp_path / "m-octane.json")
    assert second["written"]["model"] == str(tmp_path / "m-density.json")
    assert plsdof.load_model(tmp_path / "m-density.json").response == "density / %"
    sheets = pd.read_excel(out, sheet_name=None, engine="openpyxl")
    assert "octane coefficients" in sheets
    assert "density  % coefficients" in sheets
    page = report.read_text(encoding="utf-8")
    assert page.count("<button type=") == page.count("<iframe title=") == 2
    assert sorted(one.name for one in tmp_path.iterdir()) == [
        "m-density.json", "m-octane.json", "r.html", "t.xlsx", "two.csv",
    ]  # fmt: skip
    run(*options, "--out", tmp_path / "t.csv", "-q")
    table = pd.read_csv(tmp_path / "t.csv")
    assert table["response"].value_counts().to_dict() == {"octane": 401, "density / %": 401}
    words = said(*options)
    assert "octane from 401 wavelengths" in words
    assert "density / % from 401 wavelengths" in words


# selection of columns


@pytest.mark.parametrize("search", ["intervals:6", "forward:6"])
def test_a_search_of_columns_counts_its_cost(tmp_path, search):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 30))
    y = X[:, 20:25].sum(axis=1) + rng.normal(size=40)
    names = ["y", *map(str, range(1000, 1030))]
    file = tmp_path / "t.csv"
    pd.DataFrame(np.column_stack([y, X]), columns=names).to_csv(file, index=False)
    model = tmp_path / "m.json"
    found = run_json("fit", file, "-r", "y", "--select", search, "--cv", 5, "--model", model)
    told = found["search"]
    assert told["chosen"] == "columns 21 to 25"
    assert told["columns"] == list(map(str, range(1020, 1025)))
    searched = chemometrics.SelectedPLSRegressor(search, max_components=10)
    counted = plsdof.degrees_of_freedom(searched, X, y, n_draws=50)
    assert told["dof"] == pytest.approx(counted.value, rel=1e-9)
    assert told["dof_std_error"] == pytest.approx(counted.std_error, rel=1e-9)
    path = pls_path(X[:, 20:25], y)
    np.testing.assert_allclose([one["dof"] for one in found["models"]], path.dof, rtol=1e-9)
    coef = {one["name"]: one["coef"] for one in found["coefficients"]}
    assert [name for name, value in coef.items() if value] == told["columns"]
    # The cross-validation is that of the whole search, and what it costs is said.
    crossed = cross_val_predict(searched, X, y, cv=blinds(len(y), 5))
    expected = figures_of_merit(y, crossed).rmse
    assert found["merit"]["cross-validation"]["rmse"] == pytest.approx(expected, rel=1e-9)
    kinds = [one["key"] for one in found["remarks"]]
    assert "search" in kinds
    assert "constant-columns" not in kinds
    index = found["choice"]["index"]
    np.testing.assert_allclose(
        plsdof.load_model(model).predict(X), path.predict(X[:, 20:25])[index], rtol=1e-9
    )
    assert "must be intervals" in refused("fit", file, "-r", "y", "--select", "all")
    assert "does not go with" in refused(
        "fit", file, "-r", "y", "--select", "vip", "--permutations", 99
    )


def test_a_search_in_noise_does_not_look_good(tmp_path):
    rng = np.random.default_rng(5)
    names = ["y", *map(str, range(900, 1020))]
    file, page = tmp_path / "noise.csv", tmp_path / "noise.html"
    values = rng.normal(size=(50, 121))
    pd.DataFrame(values, columns=names).to_csv(file, index=False)
    found = run_json("fit", file, "-r", "y", "--select", "vip", "--report", page)
    # Taken as given, the selected columns explain half of what is noise.
    assert found["merit"]["calibration"]["r2"] > 0.5
    told = found["search"]["words"]
    y, n = values[:, 0], 50
    rss = n * found["merit"]["calibration"]["rmse"] ** 2
    left = n - found["search"]["dof"]
    assert f"sigma is {np.sqrt(rss / left):.4g}" in told
    assert f"without predictors GCV is {y.var(ddof=1) * n / (n - 1):.4g}" in told
    assert "Nothing was found that predicts" in told
    # Two digits of its error are said.
    assert f"Q2 {found['merit']['cross-validation']['r2']:.2f}" in told
    # The report says so, and compares nothing on columns that were chosen by the same rows.
    text = page.read_text(encoding="utf-8")
    data = json.loads(re.search(r'id="data"[^>]*>(.*?)</script>', text, re.DOTALL)[1])
    assert told in data["notes"] + data["doubts"]
    assert told.split(". All numbers")[0].replace(">=", "&gt;=") in text
    assert not any("do not vary" in note for note in data["notes"])
    # It draws the spectra as they are, and what is left of them.
    assert [table["kind"] for table in data["spectra"]["tables"]] == ["raw", "preprocessed"]
    assert "No step looks at" not in text


def test_a_dead_spectrum_keeps_no_other_row_from_its_prediction(tmp_path):
    model, new = tmp_path / "m.json", tmp_path / "new.csv"
    run("fit", GASOLINE, "-r", "octane", "--preprocess", "snv", "--components", 3, "--model", model)
    frame = pd.read_csv(GASOLINE).head(5)
    names = [name for name in frame if name.isdecimal()]
    whole = run_json("predict", model, GASOLINE)["predictions"]
    frame.loc[2, names] = 0.5
    frame.to_csv(new, index=False)
    line = refused("predict", model, new)
    assert f"{new}: snv is not defined for row 3: all values there are equal" in line
    assert line.endswith("Try --missing drop.")
    found = run_json("predict", model, new, "--missing", "drop")
    predicted = [one["prediction"] for one in found["predictions"]]
    assert predicted[2] is None
    kept = [0, 1, 3, 4]
    expected = [whole[i]["prediction"] for i in kept]
    np.testing.assert_allclose([predicted[i] for i in kept], expected, rtol=1e-12)
    assert any("Not predicted: snv is not defined for row 3" in note for note in found["notes"])


def test_a_table_of_new_rows_on_its_side_is_recognised_without_a_name_in_its_corner(tmp_path):
    model, new = tmp_path / "m.json", tmp_path / "new.csv"
    run("fit", GASOLINE, "-r", "octane", "--components", 3, "--model", model)
    pd.read_csv(GASOLINE).drop(columns="octane").head(4).T.to_csv(new)
    assert "Try --transpose." in refused("predict", model, new)
    assert len(run_json("predict", model, new, "--transpose")["predictions"]) == 4


def test_the_page_about_a_calibration_shows_what_the_commands_print(tmp_path, monkeypatch):
    page = Path(__file__).parents[2] / "docs" / "howto" / "nir-calibration.md"
    if not page.exists():
        pytest.skip("the pages are not here")
    monkeypatch.chdir(tmp_path)
    text, _ = page.read_text(encoding="utf-8").split("## In Python")
    shell, *tables = re.findall(r"^```\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    printed = ""
    commands = [line.split()[1:] for line in shell.splitlines()]
    for command in commands[:3]:
        printed += run(*command).stdout
    assert Path("tables.xlsx").exists()
    shutil.copy("gasoline.csv", "new.csv")
    run(*commands[3])
    lines = [line.split() for line in printed.splitlines()]
    for line in "\n".join(tables).splitlines():
        words = line.split()
        assert any(_same_words(words, other) for other in lines), line


def _same_words(words, others):
    """Whether two lines have the same words, and numbers that agree but for rounding."""
    if len(words) != len(others):
        return False
    for word, other in zip(words, others, strict=True):
        try:
            same = float(word) == pytest.approx(float(other), rel=2e-3)
        except ValueError:
            same = word == other
        if not same:
            return False
    return True
