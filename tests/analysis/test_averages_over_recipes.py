"""Preprocessing, scaling and size averaged at once: from the command line to new predictions."""

import json

import numpy as np
import pandas as pd
import pytest
from _helpers.analyses import analyse
from _helpers.command_line import run

from plsdof import RecipeRegressor
from plsdof.chemometrics import window_weights
from plsdof.datasets import load_gasoline
from plsdof.errors import InvalidInputError
from plsdof.plotting import ImportanceDisplay
from plsdof.workbench.analysis import Request, analysis_of
from plsdof.workbench.report.content import report_content

AVERAGE = Request(preprocess="auto", criterion="average")


@pytest.fixture(scope="module")
def gasoline():
    return load_gasoline(return_X_y=True, as_frame=True)


@pytest.fixture(scope="module")
def found(gasoline):
    return analyse(*gasoline, AVERAGE, response="octane")


@pytest.fixture(scope="module")
def model(gasoline):
    return RecipeRegressor("average").fit(*gasoline)


def test_the_average_is_that_of_the_estimator(gasoline, found, model):
    X, y = gasoline
    np.testing.assert_allclose(found.model.fitted, model.predict(X), rtol=1e-9)
    np.testing.assert_allclose(found.model.rmse, model.model_.rmse)
    np.testing.assert_allclose(found.model.dof, model.dof_, rtol=1e-6)
    assert found.data.recipe == model.recipe_
    assert found.remark("recipes") is not None
    left = y.to_numpy() - found.model.left_out_residuals
    assert found.merit["cross-validation"].rmse == pytest.approx(
        np.sqrt(np.mean((y.to_numpy() - left) ** 2))
    )


def test_coefficients_are_those_of_the_recipe_with_most_weight(found):
    heaviest = found.model.members[int(np.argmax(found.model.shares))]
    np.testing.assert_allclose(found.leading.coef, heaviest.coef, rtol=1e-6)
    np.testing.assert_allclose(found.inference.coef, heaviest.coef, rtol=1e-6)


def test_the_picture_has_weights_and_the_best_model_of_every_recipe(found, model):
    drawn = report_content(found)["recipes"]
    assert drawn["average"]
    assert drawn["names"] == list(model.weights_.index)
    np.testing.assert_allclose(sum(map(sum, drawn["weights"])), 1.0, atol=0.01)
    for own, weights in zip(drawn["weights"], model.weights_.to_numpy(), strict=True):
        np.testing.assert_allclose(own, weights[: len(own)], atol=1e-3)
    for errors, best in zip(drawn["rmsecv"], drawn["best"], strict=True):
        assert errors[best] == min(errors)


def test_the_picture_of_wavelengths_has_the_weight_of_their_windows(found, model):
    expected = np.zeros(401)
    for name, weights in model.weights_.iterrows():
        first, end = 0, 401
        if "columns" in name:
            first, end = map(int, name.split(":")[-2:])
        expected[first:end] += weights.sum() * 401 / (end - first)
    assert np.ptp(expected) > 0.1
    np.testing.assert_allclose(window_weights(model), expected, rtol=1e-9)
    drawn = report_content(found)["recipes"]["windows"]
    np.testing.assert_allclose(drawn, expected[found_order(found)], rtol=1e-2)
    display = ImportanceDisplay.from_estimator(model, kind="windows")
    np.testing.assert_array_equal(np.sort(display.line_.get_ydata()), np.sort(expected))


def found_order(found):
    return np.argsort([float(name.split()[0]) for name in found.data.names])


def test_without_windows_all_wavelengths_have_the_same_weight(gasoline):
    X, y = gasoline
    single = RecipeRegressor(recipes="spectra").fit(X, y)
    assert set(window_weights(single)) == {1.0}
    drawn = report_content(analyse(X, y, Request(preprocess="auto")))["recipes"]
    assert drawn["windows"] is None


def test_the_picture_of_one_model_marks_it(gasoline):
    found = analyse(*gasoline, Request(preprocess="auto"))
    drawn = report_content(found)["recipes"]
    assert not drawn["average"]
    row = drawn["names"].index(found.data.recipe)
    assert drawn["weights"][row][found.index] == 1
    assert sum(map(sum, drawn["weights"])) == 1
    assert report_content(analyse(*gasoline))["recipes"] is None


def test_an_estimator_has_the_same_report(gasoline, model):
    again = analysis_of(model)
    drawn = report_content(again)
    np.testing.assert_allclose(again.model.fitted, model.predict(gasoline[0]), rtol=1e-9)
    assert drawn["recipes"]["average"]


def test_an_estimator_whose_recipe_prepares_rows_is_described_after_that(gasoline):
    X, y = gasoline
    made = RecipeRegressor(recipes=["snv"]).fit(X, y)
    again = analysis_of(made)
    expected = analyse(X, y, Request(preprocess="snv", scale=False))
    np.testing.assert_allclose(again.data.drawn, expected.data.drawn, rtol=1e-10)
    np.testing.assert_allclose(again.model.rmse, made.model_.rmse)
    scores = [report_content(one)["components"]["x_share"] for one in (again, expected)]
    np.testing.assert_allclose(scores[0], scores[1][: len(scores[0])], atol=0.01)


def test_rows_of_a_test_and_of_files_are_predicted_by_the_average(tmp_path, gasoline):
    X, y = gasoline
    table = pd.concat([y.rename("octane"), X], axis=1)
    table.to_csv(file := tmp_path / "g.csv", index=False)
    kept, report = tmp_path / "m.json", tmp_path / "r.html"
    options = ["--preprocess", "auto", "--criterion", "average", "--test-rows", "41:60"]
    out = ["--model", kept, "--report", report, "--plot", tmp_path / "p.svg", "--json"]
    fitted = json.loads(run("fit", file, "-r", "octane", *options, *out).stdout)
    expected = RecipeRegressor("average").fit(X[:40], y[:40]).predict(X[40:])
    predicted = [one["prediction"] for one in fitted["test"]["rows"]]
    np.testing.assert_allclose(predicted, expected, rtol=1e-8)
    assert sum(one["weight"] for one in fitted["recipes"]) == pytest.approx(1)
    again = json.loads(run("predict", kept, file, "--json").stdout)["predictions"][40:]
    np.testing.assert_allclose([one["prediction"] for one in again], expected, rtol=1e-8)
    inside = sum(one["lower"] <= one["observed"] <= one["upper"] for one in again)
    assert inside == fitted["test"]["inside"]
    assert 'id="chart-recipes"' in report.read_text(encoding="utf-8")
    shown = run("fit", file, "-r", "octane", *options).stdout
    assert "Recipes, by cross-validation" in shown
    assert "most weight" in shown


@pytest.mark.parametrize("option", [{"components": 3}, {"scale": True}, {"intervals": "normal"}])
def test_what_does_not_go_with_an_average_over_recipes_is_refused(option):
    with pytest.raises(InvalidInputError):
        Request(preprocess="auto", criterion="average", **option)


def test_an_average_of_penalties_has_no_components_to_count(gasoline):
    found = analyse(*gasoline, Request(method="ridge", criterion="average"))
    assert found.model.is_average
    assert "components" not in found.choice
