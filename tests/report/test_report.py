"""The report: its numbers are the library's, it loads nothing, and no name gets out of hand."""

import base64
import hashlib
import json
import re
import sys
from dataclasses import replace
from html.parser import HTMLParser
from importlib import resources

import numpy as np
import pandas as pd
import pytest
from _helpers.colors import contrast, palettes, styles
from _helpers.problems import make_problem
from hypothesis import given
from hypothesis import strategies as st

import plsdof.report.content as rows
import plsdof.report.document as document
from plsdof import (
    PCRegressor,
    PLSRegressor,
    compare_paths,
    cross_validate,
    pcr_path,
    pls_path,
    ridge_path,
)
from plsdof.chemometrics import TestSet, explained_variance
from plsdof.chemometrics.rows import outliers
from plsdof.datasets import load_ozone, make_spectra
from plsdof.errors import InvalidInputError, MissingExtraError
from plsdof.inference.intervals import (
    coefficient_inference,
    noise_interval,
    prediction_interval,
    simultaneous_band,
)
from plsdof.report import write_report
from plsdof.report._subject import rounded, shown
from plsdof.report.document import as_embedded_json, only_scatter
from plsdof.variants.kernel import kernel_pls_path

HOSTILE = [
    "<script>window.hacked = 1</script>",
    '"\' onmouseover="window.hacked = 1',
    "</script><script>window.hacked = 1</script>",
    "<!--<script>",
    "<img src=x onerror=window.hacked=1>",
    "{{ 7 * 7 }}{% for %}",
    "\u202etxt.exe\u2066",
    "x" * 10_000,
    "two\nlines\x00and nul",
    '<a href="javascript:window.hacked=1">b</a>',
    "\ud800 lone surrogate",
    "",
]


class Page(HTMLParser):
    """What a browser's parser would see: elements, attributes and text."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.scripts, self.numbers = [], [], []
        self.text, self._open = [], []
        self.feed(text)
        self.data = json.loads(self.scripts[0][1])

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self._open.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append((dict(attrs), ""))

    def handle_endtag(self, tag):
        while self._open and self._open.pop()[0] != tag:
            pass

    def handle_data(self, data):
        tag, attrs = self._open[-1] if self._open else ("", {})
        if tag == "script":
            self.scripts[-1] = (self.scripts[-1][0], self.scripts[-1][1] + data)
        elif tag != "style":
            self.text.append(data)
        if "data-number" in attrs:
            self.numbers.append((attrs["data-number"], data))

    def number(self, where):
        value = self.data
        for key in where.split("."):
            value = value[int(key)] if isinstance(value, list) else value[key]
        return value

    def words(self):
        return " ".join(" ".join(self.text).split())


@pytest.fixture(scope="module")
def plotly():
    """A stand-in for the library, which is 5 MB and the same in every report."""
    return 'window.Plotly = {}; "plotly.js v9.9.9 "'


@pytest.fixture(autouse=True)
def _small_plotly(request, monkeypatch, plotly):
    if "real_plotly" not in request.keywords and "real_plotly" not in request.fixturenames:
        monkeypatch.setattr(document, "plotly_script", lambda: plotly)


@pytest.fixture
def real_plotly():
    """Ask for the library itself."""


@pytest.fixture(scope="module")
def ozone():
    return load_ozone(return_X_y=True, as_frame=True)


def report(folder, path, selection=None, **options):
    file = folder / "report.html"
    write_report(file, path, selection, **options)
    return Page(file.read_text(encoding="utf-8"))


def close(found, expected, digits=4):
    expected = np.asarray(expected, dtype=float)
    found = np.array([np.nan if v is None else v for v in found], dtype=float)
    np.testing.assert_allclose(found, expected, rtol=0.51 * 10.0 ** (1 - digits), atol=1e-15)


@pytest.fixture(scope="module")
def ozone_page(ozone, tmp_path_factory, plotly):
    X, y = ozone
    path, cv = pls_path(X, y), cross_validate(X, y)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(document, "plotly_script", lambda: plotly)
        return report(
            tmp_path_factory.mktemp("ozone"),
            path,
            path.select("bic", rule="first-minimum"),
            X=X,
            y=y,
            response="ozone",
            source="ozone.csv",
            command="plsdof fit 'ozone.csv' --response ozone",
            cv=cv,
            comparison=compare_paths(X, y, cv=5),
        )


def test_curves_are_those_of_the_path_and_the_cross_validation(ozone, ozone_page):
    X, y = ozone
    path, cv = pls_path(X, y), cross_validate(X, y)
    models = ozone_page.data["models"]
    close(models["dof"], path.dof)
    close(models["naive_dof"], path.naive_dof)
    close(models["rss"], path.rss)
    close(models["score"], path.criterion("bic"))
    close(models["sigma"], np.sqrt(path.noise_variance()))
    close(models["cv_error"], cv.mean_error)
    close(models["cv_std_error"], cv.std_error)
    correlation = np.array([np.corrcoef(y, fitted)[0, 1] ** 2 for fitted in path.fitted[1:]])
    close(models["explained"][1:], 100 * correlation)
    close(models["x_explained"], [0, *100 * explained_variance(path).x_cumulative])
    words = ozone_page.words()
    assert (
        "RSS R² of X, % R², % Noise sd BIC CV error its standard error its root (RMSECV)" in words
    )
    shown_models = {where for where, _ in ozone_page.numbers if where.startswith("models.")}
    for name in ("x_explained", "cv_rmse"):
        assert {f"models.{name}.{place}" for place in range(13)} <= shown_models


@pytest.mark.parametrize("m", [0, 2, 7])
def test_details_of_a_model_are_those_of_the_library(ozone, ozone_page, m):
    X, y = ozone
    path = pls_path(X, y)
    one = ozone_page.data["details"][m]
    inference = coefficient_inference(path, m)
    deviation = X.std().to_numpy()
    close(one["coef"], inference.coef * deviation)
    close(one["lower"], inference.lower * deviation)
    close(one["upper"], inference.upper * deviation)
    assert one["distinct"] == np.sum((inference.lower > 0) | (inference.upper < 0))
    band = simultaneous_band(path, m)
    assert one["distinct_at_once"] == np.sum((band.lower > 0) | (band.upper < 0))
    wide = np.array(one["coef"]) + one["widening"] * np.subtract(one["upper"], one["coef"])
    np.testing.assert_allclose(wide, band.upper * deviation, rtol=2e-3)
    interval = noise_interval(path, m)
    close([one["sigma_low"], one["sigma_high"]], np.sqrt([interval.lower[0], interval.upper[0]]))
    table = outliers(path, m, y, q_limit="cross-validated")
    for kind, diagnostic in table.diagnostics.items():
        close(one["rows"][kind], diagnostic.values)
        close([one["rows"]["limits"][kind]], [diagnostic.limit])
        assert one["rows"]["counts"][kind] == diagnostic.flags.sum()
    close(one["rows"]["fitted"], path.predict(X)[m])
    np.testing.assert_allclose(one["rows"]["residual"], y - path.fitted[m], rtol=1e-3, atol=1e-9)


def test_strongest_coefficients_lead_by_their_statistic(ozone, ozone_page):
    X, y = ozone
    inference = coefficient_inference(pls_path(X, y), 2)
    best = int(np.argmax(np.abs(inference.statistic)))
    first = ozone_page.data["details"][2]["strongest"][0]
    assert first["name"] == X.columns[best]
    close([first["coef"], first["lower"]], [inference.coef[best], inference.lower[best]])
    close([first["p"]], [inference.p_value[best]], digits=2)


def test_flags_of_rows_are_the_bits_of_the_diagnostics(ozone, ozone_page):
    X, y = ozone
    table = outliers(pls_path(X, y), 2, y, q_limit="cross-validated")
    expected = sum(
        (1 << bit) * diagnostic.flags.astype(int)
        for bit, diagnostic in enumerate(table.diagnostics.values())
    )
    rows = ozone_page.data["details"][2]["rows"]
    np.testing.assert_array_equal(rows["flags"], expected)
    first = rows["suspects"][0]
    assert table.n_flags[first["row"] - 1] == table.n_flags.max()
    assert len(first["why"].split(", ")) == table.n_flags.max()


def test_every_number_in_the_text_is_the_number_of_the_data(ozone_page):
    assert len(ozone_page.numbers) > 100
    for where, text in ozone_page.numbers:
        value = ozone_page.number(where)
        assert text == "not defined" if value is None else float(text) == value


def test_the_text_says_what_was_found_how_to_cite_and_how_it_was_made(ozone_page):
    words = ozone_page.words()
    assert "PLS with 2 components was chosen" in words
    assert "the first minimum of BIC with exact Degrees of Freedom" in words
    assert "10.1198/jasa.2011.tm10107" in words
    assert "plsdof fit 'ozone.csv' --response ozone" in words
    for name in ("numpy", "scipy", "plotly", "Python", "plotly.js 9.9.9"):
        assert name in words
    assert f"plsdof {sys.modules['plsdof'].__version__}" in words


def test_intervals_of_single_coefficients_are_not_called_a_band(tmp_path, ozone_page):
    words = ozone_page.words()
    assert "95 % intervals, one predictor at a time. Thin: 95 % band, for all of them" in words
    # With 2 components ten of twelve intervals are free of zero; one fewer for all at once.
    assert "Taken one at a time, 10 of 12 coefficients have a 95 % interval" in words
    assert "zero; allowing for all of them at once, 9 do" in words
    X, y = make_spectra(20, 30, random_state=0, as_frame=True, return_X_y=True)
    path = pls_path(X, y, 4)
    words = report(tmp_path, path, path.select("bic"), X=X, y=y, level=0.9).words()
    assert "Dark: 90 % intervals, one wavelength at a time. Light: 90 % band, for all" in words


def test_the_page_says_where_the_limit_of_q_comes_from(tmp_path, ozone, ozone_page, monkeypatch):
    assert "The limit of Q comes from rows left out in ten folds" in ozone_page.words()
    # Where ten more fits of every model would take long, from the rows of the fit.
    monkeypatch.setattr("plsdof.report._subject._MOST_WORK_OF_FOLDS", 0)
    X, y = ozone
    path = pls_path(X, y, 3)
    page = report(tmp_path, path, path.select("bic"), X=X, y=y)
    assert "That of Q comes from its mean and variance over these rows." in page.words()
    limit = outliers(path, 2, y, q_limit="moments").q.limit
    close([page.data["details"][2]["rows"]["limits"]["q"]], [limit])


@pytest.fixture(scope="module")
def average_page(ozone, tmp_path_factory, plotly):
    X, y = ozone
    path = pls_path(X[10:], y[10:], 6)
    test = TestSet(
        source="",
        X=X[:10].to_numpy(),
        observed=y[:10].to_numpy(),
        predicted=path.average().predict(X[:10]),
        row_numbers=np.arange(1, 11),
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(document, "plotly_script", lambda: plotly)
        page = report(
            tmp_path_factory.mktemp("average"),
            path,
            path.average().selection,
            X=X[10:],
            y=y[10:],
            cv=cross_validate(X[10:], y[10:], max_components=6),
            test=test,
        )
    return path.average(), page


def test_an_average_is_the_chosen_model_and_comes_after_all_others(average_page):
    average, page = average_page
    data = page.data
    assert data["chosen"] == data["average"] == 7
    assert len(data["details"]) == 8
    assert data["heaviest"] == average.selection.index
    models = data["models"]
    assert models["words"][-1] == "weighted average"
    for name, value in (
        ("parameter", average.n_components),
        ("dof", average.dof),
        ("rss", average.rss),
        ("sigma", average.noise_std),
        ("loo_rmse", average.path.leave_one_out().rmse[0]),
    ):
        close([models[name][-1]], [value])
    # Neither a criterion nor cross-validation judges an average.
    assert models["score"][-1] is None
    assert models["cv_error"][-1] is None
    assert f"A{average.selection.message[1:]}" in page.words()
    for where, text in page.numbers:
        value = page.number(where)
        assert text == "not defined" if value is None else float(text) == value


def test_details_of_an_average_are_its_own(average_page, ozone):
    (average, page), (X, _) = average_page, ozone
    one = page.data["details"][-1]
    inference = coefficient_inference(average.path, 0)
    deviation = X[10:].std().to_numpy()
    close(one["coef"], average.coef * deviation)
    close(one["lower"], inference.lower * deviation)
    interval = noise_interval(average.path, 0)
    close([one["sigma_low"], one["sigma_high"]], np.sqrt([interval.lower[0], interval.upper[0]]))
    close(one["rows"]["fitted"], average.fitted)
    close(one["rows"]["leverage"], average.path.leverage(0))
    close(one["test"], average.predict(X[:10]))
    bars = prediction_interval(average.path, 0, X[:10])
    close(page.data["test"]["lower"], bars.lower)
    # What needs components comes from the model with most weight, and the page says so.
    heaviest = page.data["details"][average.selection.index]
    assert one["rows"]["t2"] == heaviest["rows"]["t2"]
    assert one["vip"] == heaviest["vip"]
    assert "An average has no components of its own" in page.words()


def test_the_average_on_the_page_is_the_one_that_was_chosen(tmp_path, ozone):
    X, y = ozone
    path = pls_path(X, y, 4)
    other = path.average(by="gcv")
    assert other.dof != pytest.approx(path.average().dof)
    page = report(tmp_path, path, other.selection, X=X, y=y)
    close([page.data["models"]["dof"][-1]], [other.dof])
    foreign = replace(other.selection, message="average of something else.")
    with pytest.raises(InvalidInputError, match="not one of this path"):
        report(tmp_path, path, foreign, X=X, y=y)


def test_an_estimator_that_averages_is_shown_as_an_average(tmp_path, ozone):
    X, y = ozone
    model = PLSRegressor("average", max_components=4).fit(X, y)
    page = report(tmp_path, model, X=X, y=y)
    close([page.data["models"]["dof"][-1]], [model.average_.dof])
    assert page.data["chosen"] == 5


def test_the_covariance_of_robust_intervals_reaches_the_page(tmp_path, ozone):
    X, y = ozone
    path = pls_path(X, y, 3)
    page = report(tmp_path, path, path.select("bic"), X=X, y=y, covariance="hc3")
    one, deviation = page.data["details"][2], X.std().to_numpy()
    robust = coefficient_inference(path, 2, covariance="hc3")
    close(one["lower"], robust.lower * deviation)
    assert one["assumes"] == robust.assumptions
    assert not np.allclose(robust.lower, coefficient_inference(path, 2).lower, rtol=0.01)
    with pytest.raises(InvalidInputError, match="covariance must be one of"):
        report(tmp_path, path, path.select("bic"), X=X, y=y, covariance="hc9")


def test_flagged_rows_beyond_the_listed_ones_are_counted(ozone, ozone_page):
    X, y = ozone
    rows = ozone_page.data["details"][2]["rows"]
    table = outliers(pls_path(X, y), 2, y, q_limit="cross-validated")
    flagged = np.count_nonzero(table.n_flags)
    assert rows["flagged"] == flagged
    assert len(rows["suspects"]) == 10
    assert f" and {flagged - 5} more (see “Unusual rows”); row 1 is the first" in ozone_page.words()


def test_rows_are_called_by_their_labels(ozone, tmp_path):
    X, y = ozone
    path = pls_path(X, y)
    options = {"X": X, "y": y, "row_labels": [f"day <{i}>" for i in range(len(y))]}
    page = report(tmp_path, path, path.select("bic"), **options)
    assert page.data["rows"]["labels"][:2] == ["day <0>", "day <1>"]
    suspects = page.data["details"][2]["rows"]["suspects"]
    assert [one["label"] for one in suspects] == [f"day <{one['row'] - 1}>" for one in suspects]
    first = f"Which rows to look at? {suspects[0]['label']} ({suspects[0]['why']})"
    assert first in page.words()
    assert "row 1 is the first row" not in page.words()
    with pytest.raises(InvalidInputError, match="row_labels has 2 entries for 203 rows"):
        report(tmp_path, path, path.select("bic"), X=X, y=y, row_labels=["a", "b"])


def test_a_sample_of_rows_keeps_their_labels(tmp_path):
    X, y = make_problem(600, 3, seed=3)
    path = pls_path(X, y)
    page = report(tmp_path, path, path.select("bic"), X=X, y=y, row_labels=range(1000, 1600))
    rows = page.data["rows"]
    assert len(rows["number"]) < 600
    assert rows["labels"] == [str(999 + number) for number in rows["number"]]


def test_comparison_describes_all_methods_at_equal_freedom(ozone, ozone_page):
    table = compare_paths(*ozone, cv=5)
    dof = pls_path(*ozone).dof[2]
    for method, (name, row) in zip(
        ozone_page.data["comparison"]["methods"], table.nearest(dof).items(), strict=True
    ):
        assert method["name"].lower() == name
        close([method["dof"][method["near"]]], [table.dof[row]])
        close([method["value"][method["best"]]], [np.nanmin(table.cv_error[table.method == name])])


def test_the_page_refers_to_nothing_outside(ozone_page):
    for tag, attrs in ozone_page.elements:
        assert "src" not in attrs, tag
        if "href" in attrs:
            allowed = ("data:,", "#models", "https://doi.org/10.1198/jasa.2011.tm10107")
            assert attrs["href"] in allowed
    style = resources.files("plsdof.report").joinpath("templates", "report.css").read_text("utf-8")
    assert "url(" not in style
    assert "@import" not in style


def test_the_policy_allows_exactly_the_scripts_of_the_page(ozone_page):
    policy = next(
        attrs["content"]
        for tag, attrs in ozone_page.elements
        if attrs.get("http-equiv") == "Content-Security-Policy"
    )
    assert "default-src 'none'" in policy
    hashes = {
        base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        for attrs, text in ozone_page.scripts
        if "type" not in attrs
    }
    assert set(re.findall(r"'sha256-([^']+)'", policy)) == hashes
    assert len(hashes) == 2
    assert "unsafe-inline" not in policy.partition("script-src")[2]


def test_slider_is_labelled_and_its_summary_is_announced(ozone_page):
    by_id = {attrs["id"]: (tag, attrs) for tag, attrs in ozone_page.elements if "id" in attrs}
    tag, slider = by_id["model"]
    assert (tag, slider["type"], slider["max"], slider["value"]) == ("input", "range", "12", "2")
    assert by_id[slider["aria-describedby"]][1]["aria-live"] == "polite"
    assert any(attrs.get("for") == "model" for tag, attrs in ozone_page.elements if tag == "label")
    for _, attrs in ozone_page.elements:
        if attrs.get("class") == "chart":
            assert attrs["role"] == "img"
            assert attrs["aria-label"]


def hostile_problem():
    X, y = make_problem(24, len(HOSTILE), seed=7)
    # dtype object: strings of the Arrow kind cannot hold a lone surrogate.
    return pd.DataFrame(X, columns=pd.Index(HOSTILE, dtype=object)), y


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_stay_text(tmp_path, name):
    X, y = hostile_problem()
    path = pls_path(X, y)
    page = report(
        tmp_path,
        path,
        path.select("bic"),
        X=X,
        y=y,
        row_labels=HOSTILE * 2,
        response=name,
        source=name,
        command=f"plsdof fit {name}",
        comparison=compare_paths(X, y, {name: pls_path}),
    )
    assert len(page.scripts) == 3
    assert not any("hacked" in text for attrs, text in page.scripts if "type" not in attrs)
    tags = {tag for tag, _ in page.elements}
    assert not tags & {"img", "iframe", "object", "svg", "base", "form"}
    for _, attrs in page.elements:
        assert not any(key.startswith("on") for key in attrs)
        assert not str(attrs.get("href", "")).startswith("javascript")
    assert max(map(len, page.data["features"]["names"])) <= 40
    assert max(map(len, page.data["rows"]["labels"])) <= 40
    assert not any("\u202e" in label or "\x00" in label for label in page.data["rows"]["labels"])
    assert len(page.data["response"]) <= 60
    whole = (tmp_path / "report.html").read_bytes()
    assert b"\x00" not in whole
    assert "\u202e" not in page.data["response"]


def test_the_command_is_quoted_in_full(tmp_path):
    X, y = make_problem(12, 3, seed=1)
    path = pls_path(X, y)
    command = "plsdof fit '" + "<&>" * 2000 + "'"
    assert command in "".join(
        report(tmp_path, path, path.select("bic"), X=X, y=y, command=command).text
    )


def test_the_command_spells_out_what_would_turn_the_text_around(tmp_path):
    X, y = make_problem(12, 3, seed=1)
    path = pls_path(X, y)
    page = report(tmp_path, path, path.select("bic"), X=X, y=y, command="fit \u202etxt\x00.csv")
    assert "fit \\u202etxt\\u0000.csv" in page.words()


@given(st.recursive(st.text() | st.none() | st.integers(), lambda c: st.lists(c, max_size=4)))
def test_embedded_json_has_no_angle_bracket_and_reads_back(content):
    text = as_embedded_json({"content": content})
    assert "<" not in text
    assert text.isascii()
    assert json.loads(text) == {"content": content}


@given(st.lists(st.floats(), max_size=5), st.integers(2, 8))
def test_rounded_numbers_survive_being_shown_and_read(values, digits):
    for value, exact in zip(rounded(values, digits), values, strict=True):
        if value is None:
            assert not np.isfinite(exact)
            continue
        assert float(shown(value)) == value
        assert json.loads(json.dumps(value)) == value
        assert abs(value - exact) <= 10.0 ** (1 - digits) * abs(exact)


def test_rounding_keeps_differences_of_large_numbers():
    values = 1e6 + np.linspace(0, 1, 7)
    np.testing.assert_allclose(np.diff(rounded(values)), np.diff(values), rtol=5e-3)


@pytest.mark.usefixtures("real_plotly")
def test_a_report_of_70_spectra_of_700_wavelengths_is_below_8_megabytes(tmp_path):
    X, y = make_spectra(random_state=0, as_frame=True, return_X_y=True)
    path = pls_path(X, y)
    options = {"cv": cross_validate(X, y), "comparison": compare_paths(X, y)}
    page = report(tmp_path, path, path.select("gmdl"), X=X, y=y, **options)
    assert (tmp_path / "report.html").stat().st_size < 8_000_000
    assert page.data["features"]["title"] == "wavelength (nm)"
    np.testing.assert_array_equal(page.data["features"]["positions"], np.arange(1100, 2499, 2))
    assert "Plotly" in page.scripts[2][1]


def test_wavelengths_are_drawn_in_original_units_and_in_order(tmp_path):
    X, y = make_spectra(20, 30, random_state=0, as_frame=True, return_X_y=True)
    X = X[X.columns[::-1]]
    path = pls_path(X, y, 4)
    page = report(tmp_path, path, path.select("bic"), X=X, y=y)
    close(page.data["details"][2]["coef"], path.coef[2][::-1])
    assert page.data["features"]["layout"] == "curve"


def test_a_model_without_spare_observations_says_why_it_has_no_intervals(tmp_path):
    X, y = make_problem(15, 40, seed=2)
    path = pls_path(X, y)
    last = len(path.dof) - 1
    chosen = replace(path.select("bic"), index=last, parameter=float(last))
    page = report(tmp_path, path, chosen, X=X, y=y)
    one = page.data["details"][last]
    assert one["lower"] is None
    assert one["distinct"] is None
    assert "nothing is left to judge the uncertainty by" in one["reason"]
    assert "15.0 Degrees of Freedom and there are 15 observations" in page.words()
    assert "The richest model tried was chosen" not in page.words()  # there is no richer one
    cut = pls_path(X, y, 3)
    chosen = replace(cut.select("bic"), index=3, parameter=3.0)
    assert "The richest model tried was chosen" in report(tmp_path, cut, chosen, X=X, y=y).words()


@pytest.mark.parametrize("kind", ["pcr", "ridge", "kernel", "supervised", "weighted", "by cv"])
def test_every_kind_of_path_has_a_report(tmp_path, kind):
    X, y = make_problem(30, 5, seed=4)
    cv = None
    if kind == "pcr":
        path = pcr_path(X, y)
    elif kind == "ridge":
        path = ridge_path(X, y, alphas=[0.1, 1000.0, 10.0])
    elif kind == "kernel":
        path = kernel_pls_path(X, y, max_components=4)
    elif kind == "supervised":
        path = pcr_path(X, y, order="correlation")
        cv = cross_validate(X, y, lambda X, y: pcr_path(X, y, order="correlation"), cv=5)
    elif kind == "weighted":
        path = pls_path(X, y, sample_weight=np.linspace(0.5, 2, 30))
    else:
        path, cv = pls_path(X, y), cross_validate(X, y, cv=5)
    selection = path.select("bic") if cv is None else cv.select(rule="one-standard-error")
    page = report(tmp_path, path, selection, X=X, y=y, cv=cv)
    data = page.data
    order = path.simplest_first()
    close(data["models"]["parameter"], path.parameters[order])
    assert data["models"]["parameter"][data["chosen"]] == pytest.approx(
        selection.parameter, rel=1e-3
    )
    close(data["details"][1]["rows"]["fitted"], path.fitted[order[1]])
    close(data["details"][1]["rows"]["leverage"], path.leverage(int(order[1])))
    assert ("t2" in data["rows"]["kinds"]) == (kind in ("weighted", "by cv"))
    assert ("R² of X" in page.words()) == (kind in ("weighted", "by cv", "kernel"))
    if kind == "supervised":
        assert "Degrees of Freedom of this model are not known" in page.words()
    if kind == "by cv":
        assert "within one standard error of the smallest cross-validated error" in page.words()


def test_the_empty_model_and_a_constant_response_have_a_report(tmp_path):
    X, y = make_problem(12, 3, seed=6)
    path = pls_path(X, y)
    empty = replace(path.select("bic"), index=0, parameter=0.0)
    words = report(tmp_path, path, empty, X=X, y=y).words()
    assert "The model without predictors was chosen" in words
    assert "This model uses no predictor" in words
    with pytest.warns(match="supported"):
        flat = pls_path(X, np.ones(12))
    page = report(tmp_path, flat, flat.select("bic"), X=X, y=np.ones(12))
    assert page.data["models"]["explained"] == [None]


def test_notes_about_the_data_are_on_the_page_as_text(tmp_path):
    X, y = make_problem(12, 3, seed=6)
    X[:, 1] = 4.0
    with pytest.warns(match="do not vary"):
        path = pls_path(pd.DataFrame(X, columns=["a", "<b>", "c"]), y, 2)
    notes = ["Left out, not numeric: '<script>'.", "", "Left out, not numeric: '<script>'."]
    page = report(tmp_path, path, path.select("bic"), X=X, y=y, notes=notes)
    assert page.words().count("Left out, not numeric: '<script>'.") == 1
    assert "1 column(s) of X do not vary: '<b>'" in page.words()


def test_a_fitted_estimator_brings_its_path_choice_and_cross_validation(ozone, tmp_path):
    X, y = ozone
    model = PLSRegressor("cv", cv=4).fit(X, y)
    found = report(tmp_path, model, X=X, y=y).data
    options = {"X": X, "y": y, "cv": model.cv_results_}
    assert found == report(tmp_path, model.path_, model.selection_, **options).data
    assert found["models"]["cv_error"][1] is not None
    other = report(
        tmp_path, model, model.path_.select("aic", rule="first-minimum"), X=X, y=y
    ).words()
    assert "the first minimum of AIC" in other


def test_a_size_that_was_given_is_not_called_a_minimum(ozone, tmp_path):
    X, y = ozone
    page = report(tmp_path, PCRegressor(3).fit(X, y), X=X, y=y)
    assert "PCR with 3 components was chosen: its size was given." in page.words()
    assert "The richest model tried was chosen" not in page.words()
    assert page.data["models"]["parameter"][page.data["chosen"]] == 3


def test_what_is_neither_path_nor_fitted_estimator_is_refused(ozone, tmp_path):
    X, y = ozone
    both = PLSRegressor(2).fit(X, np.column_stack([y, y**2]))
    for model, reason in (
        (X, "path must be a path, .* or a fitted estimator .*; got DataFrame"),
        (PLSRegressor(), "not fitted yet; call its method fit"),
        (both, "was fitted to 2 responses"),
        (pls_path(X, y), "A path needs a selection, such as path.select"),
    ):
        with pytest.raises(InvalidInputError, match=reason):
            report(tmp_path, model, X=X, y=y)


def test_large_problems_are_thinned_and_the_page_says_so(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 80))
    y = X @ rng.normal(size=80) + rng.normal(size=700)
    path = pls_path(X, y)
    chosen = replace(path.select("bic"), index=75, parameter=75.0)
    page = report(tmp_path, path, chosen, X=X, y=y)
    data = page.data
    assert len(data["details"]) == 60
    assert data["first"] <= 75 < data["first"] + 60
    assert [one["place"] for one in data["details"]] == list(range(21, 81))
    assert len(data["rows"]["number"]) <= 500
    assert f"{len(data['rows']['number'])} of 700 rows are drawn" in page.words()
    assert "60 of 81 models" in page.words()
    suspects = outliers(path, 75, y, q_limit="moments").n_flags
    worst = int(np.argmax(suspects)) + 1
    assert worst in data["rows"]["number"]
    assert "predictors are drawn" not in page.words()


def test_the_rows_of_each_model_are_diagnosed_once(tmp_path, monkeypatch):
    X, y = make_problem(600, 4, seed=3)
    path = pls_path(X, y)
    asked, leverages = [], []

    def counted(path, index, *arguments, **options):
        asked.append(index)
        return outliers(path, index, *arguments, **options)

    monkeypatch.setattr(rows, "outliers", counted)
    monkeypatch.setattr(rows, "_leverage", lambda *_: leverages.append(1))
    report(tmp_path, path, path.select("bic"), X=X, y=y)
    assert sorted(asked) == [0, 1, 2, 3, 4]
    assert not leverages


def test_progress_counts_the_models_on_stderr(tmp_path, capsys, monkeypatch):
    pytest.importorskip("rich")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    X, y = make_problem(20, 4, seed=3)
    path = pls_path(X, y)
    report(tmp_path, path, path.select("bic"), X=X, y=y)
    assert capsys.readouterr().err == ""
    report(tmp_path, path, path.select("bic"), X=X, y=y, progress=True)
    assert "Models of the report" in capsys.readouterr().err


def test_the_band_of_the_chosen_model_has_all_its_draws_in_large_problems_too(tmp_path):
    X, y = make_spectra(40, 3000, random_state=0, return_X_y=True)
    path = pls_path(X, y, 3)
    chosen = replace(path.select("bic"), index=1, parameter=1.0)
    details = report(tmp_path, path, chosen, X=X, y=y).data["details"]
    for m, draws in ((1, 2000), (2, 500)):
        band = simultaneous_band(path, m, n_draws=draws)
        expected = band.critical / coefficient_inference(path, m).critical
        assert details[m]["widening"] == pytest.approx(expected, rel=1e-3)


def test_many_predictors_are_thinned_evenly(tmp_path):
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(size=(12, 5000)), columns=[f"{1000 + i}" for i in range(5000)])
    y = rng.normal(size=12)
    path = pls_path(X, y, 3)
    page = report(tmp_path, path, path.select("bic"), X=X, y=y)
    assert len(page.data["features"]["positions"]) == 2000
    assert page.data["features"]["positions"][-1] == 5999
    assert "2000 of 5000 predictors are drawn" in page.words()


def test_data_that_do_not_belong_to_the_path_are_refused(tmp_path):
    X, y = make_problem(20, 4, seed=8)
    path = pls_path(X, y)
    file, chosen = tmp_path / "report.html", path.select("bic")
    cases = [
        ({"X": X, "y": y + np.arange(20)}, "y is not the data"),
        ({"X": X[::-1], "y": y}, "X is not the data"),
        ({"X": X[:15], "y": y[:15]}, "fitted on 20"),
        ({"X": X, "y": y, "cv": cross_validate(X, y, "ridge")}, "other models"),
        ({"X": X, "y": y, "level": 95}, "level must be between 0 and 1"),
    ]
    for options, reason in cases:
        with pytest.raises(InvalidInputError, match=reason):
            write_report(file, path, chosen, **options)
    other = ridge_path(X, y).select("bic")
    with pytest.raises(InvalidInputError, match="give a selection made from this path"):
        write_report(file, path, replace(other, index=1), X=X, y=y)
    assert not list(tmp_path.iterdir())


def test_a_failed_report_leaves_the_old_file_alone(tmp_path, monkeypatch):
    X, y = make_problem(20, 4, seed=8)
    path = pls_path(X, y)
    file = tmp_path / "report.html"
    file.write_text("old")

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(document, "render", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_report(file, path, path.select("bic"), X=X, y=y)
    assert file.read_text() == "old"
    assert [one.name for one in tmp_path.iterdir()] == ["report.html"]


def test_a_missing_folder_is_reported_before_any_work(tmp_path):
    with pytest.raises(InvalidInputError, match=r"folder of .* does not exist"):
        write_report(tmp_path / "no" / "r.html", None, None, X=None, y=None)


def test_the_same_input_gives_the_same_bytes(tmp_path):
    X, y = make_problem(20, 4, seed=9)
    path = pls_path(X, y)
    for name in ("a", "b"):
        write_report(tmp_path / name, path, path.select("bic"), X=X, y=y)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.usefixtures("real_plotly")
@pytest.mark.parametrize("package", ["plotly", "jinja2"])
def test_without_its_packages_the_report_names_the_extra(tmp_path, monkeypatch, package):
    X, y = make_problem(12, 3, seed=1)
    path = pls_path(X, y)
    for name in [one for one in sys.modules if one.split(".")[0] == package]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, f"{package}.offline", None)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf"'{package}'.*plsdof\[report\]"):
        write_report(tmp_path / "r.html", path, path.select("bic"), X=X, y=y)


def test_an_unknown_bundle_of_plotly_is_used_as_it_is():
    text = "var a=core();a.register([bar(1)]);x.exports=a});return b()"
    assert only_scatter(text) == text


def test_contrast_formula_gives_the_textbook_values():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)


@pytest.mark.parametrize("colors", palettes(), ids=["light", "dark"])
def test_text_has_the_contrast_of_wcag_aa(colors):
    rules = re.findall(r"([^{}]+)\{([^{}]*)\}", styles())
    pairs = []
    for selector, body in rules:
        ink = re.search(r"(?<![\w-])color: var\(--([\w-]+)\)", body)
        paper = re.search(r"background: var\(--([\w-]+)\)", body)
        if "color-" not in body and (ink or paper):
            assert ink, f"{selector} has a background without a text colour"
            assert paper, f"{selector} has a text colour without its background"
            pairs.append((selector.strip(), colors[ink[1]], colors[paper[1]]))
    assert len(pairs) >= 8
    for selector, ink, paper in pairs:
        assert contrast(ink, paper) >= 4.5, selector


@pytest.mark.parametrize("colors", palettes(), ids=["light", "dark"])
def test_lines_of_the_pictures_have_the_contrast_of_graphics(colors):
    graphics = [name for name in colors if name.startswith(("line-", "class-"))]
    assert len(graphics) == 10
    for name in (*graphics, "reference", "rule"):
        assert contrast(colors[name], colors["paper"]) >= 3, name


def test_assumptions_of_p_values_are_said(ozone_page):
    assert "p-values test E[coef] = 0, not that the true coefficient is 0" in ozone_page.words()
    assert "Is there anything at all?" not in ozone_page.words()


@pytest.mark.parametrize("covariance", ["hc3", "jackknife"])
def test_standard_errors_of_the_coefficients_are_those_asked_for(ozone, tmp_path, covariance):
    X, y = ozone[0][:60], ozone[1][:60]
    path = pls_path(X, y, 3)
    selection = path.select()
    page = report(tmp_path, path, selection, X=X, y=y, covariance=covariance)
    for m in (1, selection.index):
        found = coefficient_inference(path, m, covariance=covariance)
        close(page.data["details"][m]["lower"], found.lower * X.std().to_numpy())
        assert page.data["details"][m]["assumes"] == found.assumptions
