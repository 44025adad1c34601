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

import plsdof.workbench.report.document as document
from plsdof import (
    KernelPLSRegressor,
    PCRegressor,
    PLS2Regressor,
    PLSRegressor,
    RidgeRegressor,
    pcr_path,
    pls_path,
)
from plsdof.chemometrics import explained_variance
from plsdof.chemometrics.unusual import outliers
from plsdof.datasets import load_ozone, make_spectra
from plsdof.errors import InvalidInputError, MissingExtraError, NotAvailableError
from plsdof.inference.intervals import (
    coefficient_inference,
    noise_interval,
    prediction_interval,
    simultaneous_band,
)
from plsdof.workbench.analysis import Request, analysis_of
from plsdof.workbench.analysis.analysis import analysed as analysis_from
from plsdof.workbench.analysis.data import Rows, TableProblem
from plsdof.workbench.report import write_report
from plsdof.workbench.report._numbers import rounded, shown
from plsdof.workbench.report.document import as_embedded_json

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
def ozone():
    return load_ozone(return_X_y=True, as_frame=True)


def analysed(X, y, *, test=None, notes=(), of=None, **asked):
    """Return the analysis of arrays, with rows to test on and notes."""
    data = replace(TableProblem.of(X, y, **(of or {})), test=test, notes=tuple(notes))
    request = Request(**asked)
    return analysis_from(data.after(request.preprocess), request)


def read(folder, analysis, **options):
    """Write a report; return what a browser sees."""
    file = folder / "report.html"
    write_report(analysis, file, **options)
    return Page(file.read_text(encoding="utf-8"))


def report(folder, X, y, **asked):
    return read(folder, analysed(X, y, **asked))


def close(found, expected, digits=4):
    expected = np.asarray(expected, dtype=float)
    found = np.array([np.nan if v is None else v for v in found], dtype=float)
    np.testing.assert_allclose(found, expected, rtol=0.51 * 10.0 ** (1 - digits), atol=1e-15)


@pytest.fixture(scope="module")
def ozone_analysis(ozone):
    X, y = ozone
    of = {"response": "ozone", "source": "ozone.csv"}
    return analysed(X, y, of=of, criterion="bic", rule="first-minimum", cv=10)


@pytest.fixture(scope="module")
def ozone_page(ozone_analysis, tmp_path_factory):
    command = "plsdof fit 'ozone.csv' --response ozone"
    return read(tmp_path_factory.mktemp("ozone"), ozone_analysis, command=command)


def test_curves_are_those_of_the_path_and_of_rows_left_out(ozone, ozone_page):
    X, y = ozone
    path = pls_path(X, y)
    left, models = path.left_out(10), ozone_page.data["models"]
    close(models["dof"], path.dof)
    close(models["naive_dof"], path.naive_dof)
    close(models["score"], path.criterion("bic"))
    close(models["sigma"], np.sqrt(left.noise_variance))
    close(models["rmsecv"], left.rmse)
    correlation = np.array([np.corrcoef(y, fitted)[0, 1] ** 2 for fitted in path.fitted[1:]])
    close(models["explained"][1:], 100 * correlation)
    close(models["x_explained"], [0, *100 * explained_variance(path).x_cumulative])
    shown_models = {where for where, _ in ozone_page.numbers if where.startswith("result.models.")}
    for name in ("x_explained", "rmsecv", "rmsecv_std_error"):
        assert {f"result.models.{place}.{name}" for place in range(13)} <= shown_models


@pytest.mark.parametrize("m", [0, 2, 7])
def test_details_of_a_model_are_those_of_the_library(ozone, ozone_page, ozone_analysis, m):
    X, y = ozone
    model, one = ozone_analysis.about(m).model, ozone_page.data["details"][m]
    inference = coefficient_inference(model)
    deviation = X.std().to_numpy()
    close(one["coef"], inference.coef * deviation)
    close(one["lower"], inference.lower * deviation)
    close(one["upper"], inference.upper * deviation)
    assert one["distinct"] == np.sum((inference.lower > 0) | (inference.upper < 0))
    band = simultaneous_band(model, n_draws=2000 if m == 2 else 500)
    assert one["distinct_at_once"] == np.sum((band.lower > 0) | (band.upper < 0))
    wide = np.array(one["coef"]) + one["widening"] * np.subtract(one["upper"], one["coef"])
    np.testing.assert_allclose(wide, band.upper * deviation, rtol=2e-3)
    assert one["sigma_assumes"] == noise_interval(model).assumptions
    table = outliers(model, limit="cross-validated")
    for kind, diagnostic in table.diagnostics.items():
        close(one["rows"][kind], diagnostic.values)
        close([one["rows"]["limits"][kind]], [diagnostic.limit])
    close(one["rows"]["fitted"], model.predict(X))
    close(one["rows"]["left_out"], y - model.left_out_residuals)
    np.testing.assert_allclose(one["rows"]["residual"], y - model.fitted, rtol=1e-3, atol=1e-9)


def test_strongest_coefficients_lead_by_their_statistic(ozone, ozone_page, ozone_analysis):
    inference = coefficient_inference(ozone_analysis.model)
    best = int(np.argmax(np.abs(inference.statistic)))
    assert f"The clearest belong to {ozone[0].columns[best]}" in ozone_page.words()


def test_flags_of_rows_are_bits_and_the_most_severe_come_first(ozone_page, ozone_analysis):
    table = ozone_analysis.unusual
    expected = sum(
        (1 << bit) * diagnostic.flags.astype(int)
        for bit, diagnostic in enumerate(table.diagnostics.values())
    )
    found = ozone_page.data["details"][2]["rows"]
    np.testing.assert_array_equal(found["flags"], expected)
    worst = [int(i) + 1 for i in table.order if expected[i]][:5]
    rows = ozone_page.data["rows"]
    assert [one["row"] for one in rows["suspects"]] == worst
    flagged = np.count_nonzero(table.n_flags)
    assert f"; {flagged - 5} more" in ozone_page.words()


def test_every_number_in_the_text_is_the_number_of_the_data(ozone_page):
    assert len(ozone_page.numbers) > 100
    for where, text in ozone_page.numbers:
        value = ozone_page.number(where)
        assert text == "not defined" if value is None else float(text) == value


def test_the_text_says_what_was_found_how_to_cite_and_how_it_was_made(ozone_page, ozone_analysis):
    words = ozone_page.words()
    assert ozone_analysis.reason in words
    assert ozone_analysis.errors in words
    assert "10.1198/jasa.2011.tm10107" in words
    assert "plsdof fit 'ozone.csv' --response ozone" in words
    for text in ozone_analysis.recipe.values():
        assert text in words
    for name in ("numpy", "scipy", "jinja2", "Python"):
        assert name in words


def test_a_report_fits_nothing(tmp_path, ozone_analysis, monkeypatch):
    """Every number of an analysis is there; the other models come from the same path."""
    for name in ("pls_path", "pcr_path", "ridge_path", "finished"):
        monkeypatch.setattr(f"plsdof._core.fit.{name}", None)
    monkeypatch.setattr("plsdof._core.recipe.Recipe.fit", None)
    assert len(read(tmp_path, ozone_analysis).data["details"]) == 13


@pytest.fixture(scope="module")
def average_page(ozone, tmp_path_factory):
    X, y = ozone
    test = Rows(
        X=X[:10],
        y=y[:10].to_numpy(),
        numbers=np.arange(1, 11),
        labels=None,
        source="",
    )
    found = analysed(X[10:], y[10:], test=test, criterion="average", max_components=6)
    return found.model, read(tmp_path_factory.mktemp("average"), found)


def test_an_average_is_the_chosen_model_and_comes_after_all_others(average_page):
    average, page = average_page
    data = page.data
    assert data["chosen"] == data["average"] == 7
    assert len(data["details"]) == 8
    assert data["heaviest"] == average.selection.index
    models = data["models"]
    for name, value in (
        ("parameter", average.n_components),
        ("dof", average.dof),
        ("sigma", average.noise_std),
        ("rmsecv", average.rmse),
    ):
        close([models[name][-1]], [value])
    assert f"A{average.selection.summary[1:]}" in page.words()
    for where, text in page.numbers:
        value = page.number(where)
        assert text == "not defined" if value is None else float(text) == value


def test_details_of_an_average_are_its_own(average_page, ozone):
    (average, page), (X, _) = average_page, ozone
    one = page.data["details"][-1]
    inference = coefficient_inference(average)
    deviation = X[10:].std().to_numpy()
    close(one["coef"], average.coef * deviation)
    close(one["lower"], inference.lower * deviation)
    close(one["rows"]["fitted"], average.fitted)
    close(one["test"]["predicted"], average.predict(X[:10]))
    bars = prediction_interval(average, X[:10])
    close(page.data["test"]["lower"], bars.lower)
    # What needs components comes from the model with most weight, and the page says so.
    heaviest = page.data["details"][average.selection.index]
    assert one["rows"]["t2"] == heaviest["rows"]["t2"]
    assert one["vip"] == heaviest["vip"]
    assert "An average has no components of its own" in page.words()


def test_a_fitted_estimator_brings_its_choice_and_the_rows_left_out(ozone, tmp_path):
    X, y = ozone
    for words in ("left-out", "average", "bic", 3):
        model = PLSRegressor(words, max_components=None if words == 3 else 6).fit(X, y)
        data = read(tmp_path, model, response="ozone").data
        close([data["models"]["dof"][data["chosen"]]], [model.dof_])
        assert data["models"]["rmsecv"][data["chosen"]] is not None
        assert (data["average"] is not None) == (words == "average")


@pytest.mark.parametrize("covariance", ["hc3", "jackknife"])
def test_standard_errors_of_the_coefficients_are_those_asked_for(ozone, tmp_path, covariance):
    X, y = ozone[0][:60], ozone[1][:60]
    found = analysed(X, y, covariance=covariance, max_components=3)
    page = read(tmp_path, found)
    expected = coefficient_inference(found.model, covariance=covariance)
    one = page.data["details"][page.data["chosen"]]
    close(one["lower"], expected.lower * X.std().to_numpy())
    assert one["assumes"] == expected.assumptions


def test_rows_are_called_by_their_labels(ozone, tmp_path):
    X, y = ozone
    labels = [f"day <{i}>" for i in range(len(y))]
    page = report(tmp_path, X, y, of={"labels": labels})
    assert page.data["rows"]["labels"][:2] == ["day <0>", "day <1>"]
    suspects = page.data["rows"]["suspects"]
    assert [one["name"] for one in suspects] == [f"day <{one['row'] - 1}>" for one in suspects]
    assert f"({suspects[0]['name']!r}): {suspects[0]['why']}" in page.words()
    with pytest.raises(InvalidInputError):
        report(tmp_path, X, y, of={"labels": ["a", "b"]})


def test_a_sample_of_rows_keeps_their_labels(tmp_path):
    X, y = make_problem(600, 3, seed=3)
    page = report(tmp_path, X, y, of={"labels": range(1000, 1600)})
    found = page.data["rows"]
    assert len(found["number"]) < 600
    assert found["labels"] == [str(999 + number) for number in found["number"]]


def test_the_page_refers_to_nothing_outside(ozone_page):
    for tag, attrs in ozone_page.elements:
        assert "src" not in attrs, tag
        if "href" in attrs:
            allowed = ("data:,", "#models", "https://doi.org/10.1198/jasa.2011.tm10107")
            assert attrs["href"] in allowed
    style = (
        resources.files("plsdof.workbench")
        .joinpath("report")
        .joinpath("templates", "report.css")
        .read_text("utf-8")
    )
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
    assert len(hashes) == 1
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
    of = {"labels": HOSTILE * 2, "groups": HOSTILE * 2, "response": name, "source": name}
    found = analysed(X, y, of=of, notes=[name])
    page = read(tmp_path, found, command=f"plsdof fit {name}")
    assert len(page.scripts) == 2
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
    found = analysed(*make_problem(12, 3, seed=1))
    command = "plsdof fit '" + "<&>" * 2000 + "'"
    assert command in "".join(read(tmp_path, found, command=command).text)
    page = read(tmp_path, found, command="fit \u202etxt\x00.csv")
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


def test_a_report_of_70_spectra_of_700_wavelengths_is_below_2_megabytes(tmp_path):
    made = make_spectra(random_state=0, as_frame=True)
    X, y = made.data, made.target
    page = report(tmp_path, X, y)
    assert (tmp_path / "report.html").stat().st_size < 2_000_000
    assert page.data["features"]["title"] == "wavelength (nm)"
    np.testing.assert_array_equal(page.data["features"]["positions"], np.arange(1100, 2499, 2))


def test_wavelengths_are_drawn_in_original_units_and_in_order(tmp_path):
    made = make_spectra(20, 30, random_state=0, as_frame=True)
    X, y = made.data, made.target
    X = X[X.columns[::-1]]
    page = report(tmp_path, X, y, max_components=4, level=0.9)
    close(page.data["details"][2]["coef"], pls_path(X, y, 4).coef[2][::-1])
    assert page.data["features"]["layout"] == "curve"
    assert "Dark: 90 % intervals, one wavelength at a time. Light: 90 % band" in page.words()


@pytest.mark.parametrize("kind", ["pcr", "ridge", "supervised", "weighted"])
def test_every_kind_of_path_has_a_report(tmp_path, kind):
    X, y = make_problem(30, 5, seed=4)
    fits = {
        "pcr": lambda: PCRegressor().fit(X, y),
        "ridge": lambda: RidgeRegressor(alphas=[0.1, 1000.0, 10.0]).fit(X, y),
        "weighted": lambda: PLSRegressor().fit(X, y, sample_weight=np.linspace(0.5, 2, 30)),
        "supervised": lambda: pcr_path(X, y, order="correlation")[2],
    }
    found = analysis_of(fits[kind]())
    page = read(tmp_path, found)
    data, path, order = page.data, found.path, found.order
    close(data["models"]["parameter"], path.parameters[order])
    close([data["models"]["parameter"][data["chosen"]]], [found.selection.parameter])
    close(data["details"][1]["rows"]["fitted"], path.fitted[order[1]])
    close(data["details"][1]["rows"]["leverage"], path.leverage(int(order[1])))
    assert ("t2" in data["rows"]["kinds"]) == (kind == "weighted")
    assert ("R² of X" in page.words()) == (kind == "weighted")


def test_the_empty_model_has_a_report(tmp_path):
    words = report(tmp_path, *make_problem(12, 3, seed=6), components=0).words()
    assert "This model uses no predictor" in words


def test_remarks_are_on_the_page_as_text(tmp_path):
    X, y = make_problem(12, 3, seed=6)
    X[:, 1] = 4.0
    notes = ["Left out, not numeric: '<script>'.", "Left out, not numeric: '<script>'."]
    frame = pd.DataFrame(X, columns=["a", "<b>", "c"])
    found = analysed(frame, y, notes=notes, max_components=2)
    words = read(tmp_path, found).words()
    assert words.count(notes[0]) == 1
    assert found.remark("constant-columns").words in words


def test_what_is_neither_analysis_nor_fitted_is_refused(ozone, tmp_path):
    X, y = ozone
    both = PLS2Regressor(2).fit(X, np.column_stack([y, y**2]))
    for model, reason in (
        (X, "model must be a model"),
        (PLSRegressor(), "not fitted yet"),
        (both, "several responses"),
        (pls_path(X, y), "say which one"),
    ):
        with pytest.raises(InvalidInputError, match=reason):
            read(tmp_path, model)
    with pytest.raises(NotAvailableError):
        read(tmp_path, KernelPLSRegressor(2).fit(X[:30], y[:30]))
    with pytest.raises(InvalidInputError):
        read(tmp_path, PLSRegressor(2).fit(X, y), level=95)


def test_large_problems_are_thinned_and_the_page_says_so(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 80))
    y = X @ rng.normal(size=80) + rng.normal(size=700)
    found = analysed(X, y, components=75, max_components=80)
    page = read(tmp_path, found)
    data = page.data
    assert len(data["details"]) == 60
    assert data["first"] <= 75 < data["first"] + 60
    assert len(data["rows"]["number"]) <= 500
    assert f"{len(data['rows']['number'])} of 700 rows are drawn" in page.words()
    assert f"60 of {len(found.order)} models" in page.words()
    assert int(found.unusual.order[0]) + 1 in data["rows"]["number"]
    assert "predictors are drawn" not in page.words()


@pytest.mark.parametrize("choice", ["bic", 2])
def test_the_slider_reaches_all_models_of_an_estimator(choice):
    found = analysis_of(PLSRegressor(choice).fit(*load_ozone(return_X_y=True)))
    assert len(found.order) == len(found.path)


def test_the_rows_of_each_model_are_diagnosed_once(tmp_path, monkeypatch):
    asked = []

    def counted(model, **options):
        asked.append(model.index)
        return outliers(model, **options)

    monkeypatch.setattr("plsdof.workbench.analysis.analysis.outliers", counted)
    found = analysed(*make_problem(600, 4, seed=3), criterion="bic")
    assert asked == []  # nobody has looked at rows yet
    read(tmp_path, found)
    assert sorted(asked) == [0, 1, 2, 3, 4]


def test_many_predictors_are_thinned_evenly(tmp_path):
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(size=(12, 5000)), columns=[f"{1000 + i}" for i in range(5000)])
    page = report(tmp_path, X, rng.normal(size=12), max_components=3)
    assert len(page.data["features"]["positions"]) == 2000
    assert page.data["features"]["positions"][-1] == 5999
    assert "2000 of 5000 predictors are drawn" in page.words()


def test_a_failed_report_leaves_the_old_file_alone(tmp_path, monkeypatch):
    found, file = analysed(*make_problem(20, 4, seed=8)), tmp_path / "report.html"
    file.write_text("old")

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(document, "render", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_report(found, file)
    assert file.read_text() == "old"
    assert [one.name for one in tmp_path.iterdir()] == ["report.html"]


def test_a_missing_folder_is_reported_before_any_work(tmp_path):
    with pytest.raises(InvalidInputError):
        write_report(None, tmp_path / "no" / "r.html")


def test_the_same_analysis_gives_the_same_bytes(tmp_path):
    found = analysed(*make_problem(20, 4, seed=9))
    for name in ("a", "b"):
        write_report(found, tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize("package", ["jinja2"])
def test_without_its_packages_the_report_names_the_extra(tmp_path, monkeypatch, package):
    found = analysed(*make_problem(12, 3, seed=1))
    for name in [one for one in sys.modules if one.split(".")[0] == package]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf"'{package}'.*plsdof\[report\]"):
        write_report(found, tmp_path / "r.html")


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
