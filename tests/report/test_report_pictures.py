"""The pictures of a calibration in the report: what is embedded is what the library says."""

import base64
import json
import re

import numpy as np
import pandas as pd
import pytest
from _helpers.calibration import Calibration
from _helpers.colors import contrast, palettes

from plsdof import PCRegressor, PLSRegressor, RidgeRegressor, pls_path
from plsdof.chemometrics import (
    contributions,
    explained_variance,
    figures_of_merit,
    selectivity_ratio,
    vip,
)
from plsdof.chemometrics.distances import t2_limit
from plsdof.datasets import load_ozone
from plsdof.errors import InvalidInputError
from plsdof.inference import coefficient_inference, noise_interval, prediction_interval
from plsdof.workbench.analysis import Request
from plsdof.workbench.analysis.analysis import analysed
from plsdof.workbench.analysis.data import TableProblem
from plsdof.workbench.analysis.result import in_text
from plsdof.workbench.report import write_report
from plsdof.workbench.report.content import report_content


@pytest.fixture(scope="module")
def gasoline():
    return Calibration()


def written(folder, analysis, **options):
    file = folder / "report.html"
    write_report(analysis, file, **options)
    text = file.read_text(encoding="utf-8")
    return json.loads(text.partition('id="data">')[2].partition("</script")[0]), text


@pytest.fixture(scope="module")
def page(gasoline, tmp_path_factory):
    return written(tmp_path_factory.mktemp("gasoline"), gasoline.analysis)


def unpacked(one):
    raw = base64.b64decode(one["data"])
    return np.frombuffer(raw, "<f4").reshape(-1, one["columns"]).astype(float)


def test_spectra_are_embedded_before_and_after_preprocessing(gasoline, page):
    spectra = page[0]["spectra"]
    assert [one["kind"] for one in spectra["tables"]] == ["raw", "preprocessed"]
    for table, X in zip(spectra["tables"], (gasoline.raw[gasoline.kept], gasoline.X), strict=True):
        expected = X.to_numpy()
        np.testing.assert_allclose(unpacked(table["values"]), expected, rtol=1e-6)
        np.testing.assert_array_equal(table["positions"], np.arange(900, 1701, 2))
    for value, kind in zip(gasoline.y, spectra["class_of"], strict=True):
        low, high = spectra["classes"][kind]
        assert low - 1e-9 <= value <= high + 1e-9
    assert len(spectra["classes"]) == 5
    assert "after <bdi>snv</bdi>" in page[1]


def test_without_preprocessing_there_is_one_picture_of_spectra_and_none_of_names(
    gasoline, tmp_path
):
    model = PLSRegressor(2).fit(gasoline.X, gasoline.y)
    assert [one["kind"] for one in written(tmp_path, model)[0]["spectra"]["tables"]] == ["raw"]
    X, y = load_ozone(return_X_y=True, as_frame=True)
    assert written(tmp_path, PLSRegressor(2).fit(X, y))[0]["spectra"] is None


def test_components_are_those_of_the_path(gasoline, page):
    components, path = page[0]["components"], gasoline.path
    assert components["count"] == 8
    for name in ("loadings", "weights", "rotations", "scores"):
        expected = getattr(path, f"x_{name}")
        largest = np.abs(expected).max()
        np.testing.assert_allclose(
            unpacked(components[name]), expected, rtol=1e-6, atol=1e-7 * largest
        )
    share = explained_variance(path)
    np.testing.assert_allclose(components["x_share"], 100 * share.x, rtol=6e-3)
    np.testing.assert_allclose(components["y_share"], 100 * share.y, rtol=6e-3)
    spread = path.x_scores.std(axis=0, ddof=1)
    np.testing.assert_allclose(components["spread"], spread, rtol=1e-6)
    limit = t2_limit(45, 2, 0.95, True).limit
    np.testing.assert_allclose(components["half_axes"], np.sqrt(limit) * spread, rtol=1e-3)
    assert components["groups"] == ["<old>", "new"]
    assert components["group_of"] == [0 if one == "<old>" else 1 for one in gasoline.groups]


@pytest.mark.parametrize("m", [0, 1, 3, 8])
def test_contributions_can_be_computed_from_what_is_embedded(gasoline, page, m):
    one = page[0]["components"]
    x, t = unpacked(one["x"]), unpacked(one["scores"])[:, :m]
    P, R = unpacked(one["loadings"])[:, :m], unpacked(one["rotations"])[:, :m]
    residual = x - t @ P.T
    t2 = x * ((t / np.square(one["spread"][:m])) @ R.T)
    expected = contributions(gasoline.path[m])
    for found, exact in ((t2, expected.t2), (residual * np.abs(residual), expected.q)):
        largest = np.abs(exact).max(axis=1, keepdims=True)
        assert np.all(np.abs(found - exact) <= 1e-3 * largest + 1e-12)


def test_weights_of_rows_do_not_change_what_contributions_are_computed_from(tmp_path):
    X, y = load_ozone(return_X_y=True, as_frame=True)
    model = PLSRegressor(3, max_components=None).fit(
        X, y, sample_weight=np.linspace(0.5, 2, len(y))
    )
    path = model.path_
    one = written(tmp_path, model)[0]["components"]
    x, t, R = (unpacked(one[name]) for name in ("x", "scores", "rotations"))
    found = x * ((t[:, :3] / np.square(one["spread"][:3])) @ R[:, :3].T)
    np.testing.assert_allclose(found, contributions(path[3]).t2, atol=1e-5)


@pytest.mark.parametrize("m", [1, 3, 8])
def test_importance_is_that_of_the_library(gasoline, page, m):
    one, path = page[0]["details"][m], gasoline.path
    ratio = selectivity_ratio(path[m])
    for name, expected in (("vip", vip(path[m])), ("selectivity", ratio.values)):
        step = np.ptp(expected) / 65534
        np.testing.assert_allclose(unpacked(one[name])[0], expected, rtol=0, atol=0.51 * step)
    assert one["selectivity_limit"] == pytest.approx(ratio.limit, rel=1e-3)
    assert page[0]["details"][0]["vip"] is None


@pytest.mark.parametrize("m", [0, 3, 8])
def test_predictions_and_figures_of_merit_are_those_of_the_library(gasoline, page, m):
    one, test = page[0]["details"][m], gasoline.test
    predicted = {
        "calibration": gasoline.path.fitted[m],
        "cross-validation": gasoline.y - gasoline.path.left_out(10).residuals[m],
        "test": gasoline.path.predict(test.X)[m],
    }
    observed = {"test": test.rows.y}
    np.testing.assert_allclose(one["rows"]["left_out"], predicted["cross-validation"], rtol=1e-4)
    np.testing.assert_allclose(one["test"]["predicted"], predicted["test"], rtol=1e-4)
    assert list(one["merit"]) == list(predicted)
    for name, row in one["merit"].items():
        exact = figures_of_merit(observed.get(name, gasoline.y), predicted[name])
        assert row["n"] == exact.n
        for key in ("rmse", "r2", "bias", "sep", "rpd", "rpiq", "slope", "intercept"):
            value = getattr(exact, key)
            found = np.nan if row[key] is None else row[key]
            # Rounded to two digits of the standard error.
            unsure = np.nan_to_num(0.0501 * exact.std_errors[key])
            np.testing.assert_allclose(found, value, rtol=1e-3, atol=unsure)


def test_a_permutation_test_is_on_the_page(gasoline, tmp_path):
    found = gasoline.analysed(permutations=99)
    test = found.permutation
    data, text = written(tmp_path, found)
    found = data["permutation"]
    assert (found["p"], sum(found["counts"]), found["count"]) == (test.p_value, 99, 99)
    edges = np.array(found["edges"])
    assert edges[0] == pytest.approx(test.permuted.min(), rel=1e-3)
    assert edges[-1] == pytest.approx(test.permuted.max(), rel=1e-3)
    assert test.message in text
    assert test.assumptions in text


@pytest.mark.parametrize("method", ["normal", "left-out"])
def test_intervals_of_the_test_set_are_those_asked_for(gasoline, tmp_path, method):
    found, test = gasoline.analysed(intervals=method), gasoline.test
    data, text = written(tmp_path, found)
    exact = prediction_interval(found.model, test.X, method=method)
    np.testing.assert_allclose(data["test"]["lower"], exact.lower, rtol=1e-3)
    np.testing.assert_allclose(data["test"]["upper"], exact.upper, rtol=1e-3)
    inside = np.sum((exact.lower <= test.rows.y) & (test.rows.y <= exact.upper))
    assert data["test"]["inside"] == inside
    assert exact.assumptions in text
    with pytest.raises(InvalidInputError):
        gasoline.analysed(intervals="wide")


def test_tables_say_what_they_assume(gasoline, page):
    for m in (1, 5):
        one = page[0]["details"][m]
        assert one["assumes"] == coefficient_inference(gasoline.path[m]).assumptions
        assert one["sigma_assumes"] == noise_interval(gasoline.path[m]).assumptions
        assert one["assumes"]
        assert one["sigma_assumes"]
    # One line stands before every table.
    body = page[1].partition('<section aria-labelledby="found-title"')[2].partition("<script")[0]
    for part in body.split("<table")[:-1]:
        assert 'class="assumes"' in part.rpartition("<h")[2]


def test_what_is_unusual_about_a_choice_is_on_the_page(tmp_path):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 60))
    found = analysed(TableProblem.of(X, X[:, :20].sum(axis=1)), Request(max_components=2))
    assert found.remark("last-model").words in written(tmp_path, found)[1]


def test_rows_are_called_by_their_numbers_in_the_file(gasoline, page):
    data = page[0]
    numbers = gasoline.data.rows.numbers.tolist()
    assert data["rows"]["number"] == numbers
    assert data["test"]["number"] == gasoline.test.rows.numbers.tolist()
    chosen = data["details"][data["chosen"]]["rows"]
    for one in data["rows"]["suspects"]:
        place = numbers.index(one["row"])
        assert one["name"] == f"row {one['row']}"
        assert bin(chosen["flags"][place]).count("1") == len(one["why"].split(", "))


def test_the_test_set_is_in_the_text(gasoline, page):
    words = " ".join(re.sub(r"<[^>]+>", "", page[1].partition("<main>")[2]).split())
    test = gasoline.test
    residuals = gasoline.path.predict(test.X)[page[0]["chosen"]] - test.rows.y
    error = np.sqrt(np.mean(residuals**2))
    assert gasoline.analysis.tested in words
    shown = dict(page[0]["numbers"])["error of the test"]
    assert shown == in_text(error, error / np.sqrt(30))
    assert "Test: 15 rows that took no part in the fit (every fourth row)." in words


@pytest.mark.parametrize("kind", ["pcr", "ridge", "one component", "empty"])
def test_methods_without_these_pictures_have_a_report(tmp_path, kind):
    X, y = load_ozone(return_X_y=True, as_frame=True)
    model = {
        "pcr": PCRegressor("bic"),
        "ridge": RidgeRegressor("bic"),
        "one component": PLSRegressor("bic", max_components=1),
        "empty": PLSRegressor(0),
    }[kind].fit(X, y)
    model = pls_path(X, y, 0)[0] if kind == "empty" else model
    data, text = written(tmp_path, model, groups=["a"] * 203)
    assert (data["components"] is None) == (kind != "one component")
    assert ('id="chart-scores"' in text) == (kind == "one component")
    assert ('id="chart-vip"' in text) == (kind == "one component")
    assert 'id="chart-errors"' in text
    assert ('id="chart-criterion"' in text) == (kind != "empty")


def test_many_groups_are_put_together(tmp_path):
    model = PLSRegressor(3).fit(*load_ozone(return_X_y=True, as_frame=True))
    data, _ = written(tmp_path, model, groups=[f"g{i % 40}" for i in range(203)])
    components = data["components"]
    assert components["groups"][-1] == "other"
    assert len(components["groups"]) == 12
    assert components["group_of"][:13] == [*range(11), 11, 11]


def test_large_tables_are_thinned_in_every_picture(tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(600, 1500)).cumsum(axis=1))
    X.columns = [f"{4000 + 4 * i} cm-1" for i in range(1500)]
    y = X.iloc[:, 700].to_numpy() + rng.normal(size=600)
    model = PLSRegressor(3, max_components=None).fit(X, y)
    path = model.path_
    data, text = written(tmp_path, model)
    rows, components, spectra = data["rows"]["number"], data["components"], data["spectra"]
    assert len(rows) <= 500
    assert len(spectra["row"]) == 80
    assert len(spectra["tables"][0]["positions"]) == 500
    drawn = unpacked(spectra["tables"][0]["values"])
    exact = X.to_numpy()[rows[spectra["row"][10]] - 1, [0, 1499]]
    np.testing.assert_allclose(drawn[10, [0, -1]], exact, atol=1e-2)
    assert len(components["picked"]) * len(rows) <= 120_000
    # The column behind a thinned place is the right one.
    column = components["picked"][7]
    name = data["features"]["names"][column]
    np.testing.assert_allclose(
        unpacked(components["loadings"])[7], path.x_loadings[list(X.columns).index(name)], rtol=1e-5
    )
    assert "80 of 600 rows are drawn" in text
    assert len(text) < 3_000_000


def test_light_and_dark_have_the_same_names():
    light, dark = palettes()
    assert set(light) == set(dark)
    assert contrast(dark["paper"], "#000000") < 1.5


def test_opls_is_drawn_if_it_is_asked_for(gasoline, page):
    assert page[0]["opls"] is None
    found = gasoline.analysed(opls=True)
    drawn, expected = report_content(found)["opls"], found.path.opls(found.index)
    assert drawn["orthogonal"] == found.index - 1
    np.testing.assert_allclose(drawn["predictive"], expected.scores, rtol=1e-3)
    np.testing.assert_allclose(drawn["beside"], expected.orthogonal_scores[:, 0], rtol=1e-3)
    for name in ("loadings", "covariance", "correlation"):
        np.testing.assert_allclose(drawn[name], getattr(expected, name), rtol=1e-3)
    with pytest.raises(InvalidInputError):
        Request(method="ridge", opls=True)
