"""A response of text is a classification: fit, report, model file, predict."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from _helpers.command_line import (
    eighty_columns,  # noqa: F401
    refused,
    run,
    run_json,
)
from sklearn.datasets import load_iris

from plsdof import PLSClassifier, PLSRegressor, load_model
from plsdof.errors import ConstantColumnWarning, NotAvailableError


@pytest.fixture(scope="module")
def iris():
    data = load_iris(as_frame=True)
    return data.data, data.target_names[data.target]


@pytest.fixture
def file(iris, tmp_path):
    X, labels = iris
    table = X.assign(origin=labels, sample=[f"s{i}" for i in range(150)])
    table.to_csv(tmp_path / "iris.csv", index=False)
    return tmp_path / "iris.csv"


def test_fit_prints_and_writes_a_classification(file, tmp_path):
    names = {"--report": "r.html", "--model": "m.json", "--plot": "p.png", "--out": "t.xlsx"}
    options = [text for key, name in names.items() for text in (key, tmp_path / name)]
    shown = run("fit", file, "-r", "origin", "--split", "random:0.3", *options).output
    assert max(map(len, shown.splitlines())) <= 80
    assert "versicolor" in shown
    assert all((tmp_path / name).stat().st_size > 1000 for name in names.values())
    sheets = pd.read_excel(tmp_path / "t.xlsx", sheet_name=None, engine="calamine")
    kinds = [f"{what} {rows}" for rows in ("left-out", "calibration", "test")
             for what in ("counts", "errors")]  # fmt: skip
    assert list(sheets) == ["models", *kinds, "facts", "remarks", "recipe"]
    page = (tmp_path / "r.html").read_text()
    assert "<svg" in page
    assert "<script>" not in page
    assert page.count("<table>") == 7
    # The confusion matrix is an image of the picture, which the page has to allow.
    assert 'href="data:image/png' in page
    assert re.search("img-src[^;]*data:", page)
    assert 'name="color-scheme" content="light dark"' in page
    assert "ClassErrors" not in page
    # One cross-validated error: that of the table, with the choice made again.
    printed = run_json("fit", file, "-r", "origin", "--split", "random:0.3")
    assert f"Classes of held-out rows, error {printed['error']['left-out']:.3f}" in page
    assert printed["choice"]["words"] in page
    assert "error" not in printed["choice"]["words"]


def test_numbers_are_those_of_the_estimator(file, iris):
    X, labels = iris
    model = PLSClassifier().fit(X, labels)
    found = run_json("fit", file, "-r", "origin", "--permutations", 19)
    assert found["choice"]["parameter"] == model.n_components_
    assert found["classes"] == model.classes_.tolist()
    assert found["choice"]["dof"] == pytest.approx(model.dof_)
    assert found["recipe"]["scaling"].endswith("(by default)")
    assert found["recipe"]["held-out rows to validate"] == (
        "10 folds, row i in fold i modulo 10 (by default)"
    )
    models = pd.DataFrame(found["models"])
    np.testing.assert_allclose(models["log_loss"], model.left_out_.log_loss)
    np.testing.assert_allclose(models["error"], model.left_out_.error)
    assert models["dof"][model.n_components_] == pytest.approx(model.dof_)
    np.testing.assert_array_equal(found["confusions"]["left-out"], model.errors().matrix)
    assert found["permutations"]["p_value"] == 0.05
    fixed = run_json("fit", file, "-r", "origin", "--components", 2, "--no-scale", "--cv", 5)
    model = PLSClassifier(2, scale=False, cv=5).fit(X, labels)
    np.testing.assert_array_equal(fixed["confusions"]["left-out"], model.errors().matrix)


def test_groups_preprocessing_and_a_test_table(file, iris, tmp_path):
    X, labels = iris
    table = pd.read_csv(file).assign(plant=np.arange(150) // 5)
    table[::2].to_csv(file, index=False)
    table[1::2].to_csv(tmp_path / "test.csv", index=False)
    options = ["-r", "origin", "--groups", "plant", "--preprocess", "snv"]
    found = run_json("fit", file, *options, "--test", tmp_path / "test.csv")
    assert found["recipe"]["held-out rows to validate"].startswith("one of 30 groups at a time")
    assert any(one["key"] == "preprocessing" for one in found["remarks"])
    rows = X[::2].sub(X[::2].mean(axis=1), axis=0).div(X[::2].std(axis=1, ddof=1), axis=0)
    model = PLSClassifier().fit(rows, labels[::2], groups=np.arange(150)[::2] // 5)
    assert found["choice"]["parameter"] == model.n_components_
    new = X[1::2].sub(X[1::2].mean(axis=1), axis=0).div(X[1::2].std(axis=1, ddof=1), axis=0)
    expected = model.errors(new, labels[1::2]).matrix
    np.testing.assert_array_equal(found["confusions"]["test"], expected)


def test_replicates_are_averaged_and_counted(file, iris):
    X, labels = iris
    samples = np.sort(np.arange(150) // 2 * 2 % 149)  # one sample has more measurements
    table = pd.read_csv(file).assign(plant=[f"p{i}" for i in samples])
    table["origin"] = labels[samples]
    table.to_csv(file, index=False)
    found = run_json("fit", file, "-r", "origin", "--average-by", "plant")
    means = X.groupby(samples).mean()
    count = np.bincount(samples)[means.index]
    model = PLSClassifier().fit(means, labels[means.index], count / count.mean())
    assert found["choice"]["dof"] == pytest.approx(model.dof_)
    np.testing.assert_allclose(found["confusions"]["left-out"], model.errors().matrix)
    table["plant"] = "p0"
    table.loc[:9, "plant"] = "p1"
    table.to_csv(file, index=False)
    refused("fit", file, "-r", "origin", "--average-by", "plant")


def test_predictions_of_a_file_are_those_of_the_estimator(file, iris, tmp_path):
    X, labels = iris
    run("fit", file, "-r", "origin", "--model", tmp_path / "m.json", "-q")
    out = tmp_path / "out.csv"
    shown = run("predict", tmp_path / "m.json", file, "--out", out).output
    assert max(map(len, shown.splitlines())) <= 80
    model, written = PLSClassifier().fit(X, labels), pd.read_csv(out)
    assert written["prediction"].tolist() == model.predict(X).tolist()
    proba = written[[f"P({name})" for name in model.classes_]]
    np.testing.assert_allclose(proba, model.predict_proba(X), atol=1e-9)
    found = run_json("predict", tmp_path / "m.json", file)
    assert found["predictions"][3]["observed"] == "setosa"
    table = pd.read_csv(file)
    table.loc[4, table.columns[0]] = np.nan
    table.to_csv(file, index=False)
    refused("predict", tmp_path / "m.json", file)
    refused("predict", tmp_path / "m.json", file, "--intervals", "normal")
    found = run_json("predict", tmp_path / "m.json", file, "--missing", "drop")
    assert found["predictions"][4]["prediction"] == ""
    assert len(found["predictions"]) == 150


@pytest.mark.parametrize("classes", [2, 3])
def test_a_classifier_can_be_kept_in_a_file(iris, tmp_path, classes):
    X, labels = (one[: 50 * classes] for one in iris)
    model = PLSClassifier(2).fit(X, labels)
    model.save(tmp_path / "m.json")
    loaded = load_model(tmp_path / "m.json")
    np.testing.assert_allclose(loaded.predict_proba(X), model.predict_proba(X), atol=1e-12)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    np.testing.assert_array_equal(loaded.classes_, model.classes_)
    assert [one.response for one in loaded.responses] == model.classes_.tolist()
    assert json.loads((tmp_path / "m.json").read_text())["method"] == "pls-classes"


@pytest.mark.parametrize("classes", [2, 3])
def test_none_of_these_is_kept_in_files(iris, tmp_path, classes):
    X, labels = (one[: 50 * classes] for one in iris)
    X = X.assign(constant=1.0)
    with pytest.warns(ConstantColumnWarning):
        model = PLSClassifier(2, novelty=0.99).fit(X, labels)
    model.save(tmp_path / "m.json")
    loaded = load_model(tmp_path / "m.json")
    new = pd.concat([X, X[:1] + 100.0], ignore_index=True)
    np.testing.assert_array_equal(loaded.belongs(new), model.belongs(new))
    new.to_csv(tmp_path / "new.csv", index=False)
    found = run_json("predict", tmp_path / "m.json", tmp_path / "new.csv")["predictions"]
    said = [one["prediction"] == "none of these" for one in found]
    assert said == (~model.belongs(new).any(axis=1)).tolist()
    assert said[-1]
    with pytest.raises(NotAvailableError):
        PLSRegressor(1).fit(X.iloc[:, :3], X.iloc[:, 3]).without_data().belongs(X.iloc[:, :3])


def test_the_command_line_asks_for_models_of_the_classes(file, iris, tmp_path):
    X, labels = iris
    run("fit", file, "-r", "origin", "--novelty", "0.9", "--model", tmp_path / "m.json", "-q")
    expected = PLSClassifier(novelty=0.9).fit(X, labels).belongs(X)
    np.testing.assert_array_equal(load_model(tmp_path / "m.json").belongs(X), expected)
    found = run_json("predict", tmp_path / "m.json", file)["predictions"]
    strangers = [one["prediction"] == "none of these" for one in found]
    assert strangers == (~expected.any(axis=1)).tolist()
    refused("fit", file, "-r", "origin", "--novelty", "95")
    refused("fit", file, "-r", X.columns[0], "-x", "origin", "-x", "sample", "--novelty", "0.9")


@pytest.mark.parametrize(
    "options",
    [
        ["--criterion", "bic"],
        ["--method", "ridge"],
        ["--covariance", "hc3"],
        ["--std-errors"],
        ["-r", "sample"],
    ],
)
def test_what_is_for_numbers_is_refused(file, options):
    refused("fit", file, "-r", "origin", *options)


def test_labels_that_cannot_be_learned_are_refused(file, tmp_path):
    refused("compare", file, "-r", "origin")
    refused("fit", file, "-r", "sample")
    table = pd.read_csv(file)
    table.loc[3, "origin"] = "elsewhere"
    table.to_csv(tmp_path / "test.csv", index=False)
    assert "elsewhere" in refused("fit", file, "-r", "origin", "--test", tmp_path / "test.csv")
    refused("fit", tmp_path / "test.csv", "-r", "origin")


def test_recipes_are_not_chosen_for_classes_without_a_word(file):
    refused("fit", file, "-r", "origin", "--preprocess", "auto")
