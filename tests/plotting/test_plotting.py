"""Pictures: what is drawn is what the path says, labelled, and legible for everybody."""

import itertools
import sys

import matplotlib
import numpy as np
import pandas as pd
import pytest
from _helpers.problems import make_problem

from plsdof import (
    PCRegressor,
    PLSRegressor,
    RidgeRegressor,
    compare_paths,
    cross_validate,
    pcr_path,
    pls_path,
    ridge_path,
)
from plsdof._core.criteria import CRITERIA
from plsdof.datasets import load_ozone, make_spectra
from plsdof.errors import InvalidInputError, MissingExtraError
from plsdof.inference.intervals import coefficient_inference
from plsdof.large import Moments
from plsdof.plotting import (
    CoefficientDisplay,
    ComparisonDisplay,
    CriterionDisplay,
    DoFDisplay,
    overview_figure,
)
from plsdof.plotting.style import LINES, feature_axis, readable

matplotlib.use("Agg")


@pytest.fixture(scope="module")
def ozone():
    return load_ozone(return_X_y=True, as_frame=True)


@pytest.fixture(scope="module")
def spectra():
    made = make_spectra(40, 60, random_state=1, as_frame=True)
    return made.data, made.target


def drawn(line):
    return np.array(line.get_xdata()), np.array(line.get_ydata())


def test_dof_display_draws_the_path_and_the_naive_count(ozone):
    path = pls_path(*ozone)
    display = DoFDisplay.from_path(path, path.select("bic"))
    np.testing.assert_array_equal(drawn(display.line_), (path.n_components, path.dof))
    np.testing.assert_array_equal(drawn(display.naive_line_)[1], path.n_components + 1)
    assert set(display.chosen_line_.get_xdata()) == {path.select("bic").n_components}
    assert display.figure_ is display.ax_.figure
    assert display.ax_.get_xlabel() == "number of components"


def test_dof_display_omits_a_naive_line_that_says_nothing_new(ozone):
    assert DoFDisplay.from_path(pcr_path(*ozone)).naive_line_ is None
    assert DoFDisplay.from_path(ridge_path(*ozone)).naive_line_ is None


def test_dof_display_marks_the_number_of_rows_only_when_it_is_near(spectra, ozone):
    def texts(path):
        return [t.get_text() for t in DoFDisplay.from_path(path).ax_.get_legend().get_texts()]

    assert "n = 40 (no intervals above)" in texts(pls_path(*spectra))
    assert not any(text.startswith("n = ") for text in texts(pls_path(*ozone)))


def test_ridge_goes_from_large_to_small_penalties_also_when_drawn_twice(ozone):
    path = ridge_path(*ozone, alphas=[1.0, 100.0, 0.1])
    display = DoFDisplay.from_path(path)
    assert display.ax_.get_xscale() == "log"
    assert display.ax_.xaxis_inverted()
    np.testing.assert_array_equal(drawn(display.line_)[0], [100.0, 1.0, 0.1])
    np.testing.assert_array_equal(drawn(display.line_)[1], path.dof[[1, 0, 2]])
    again = DoFDisplay.from_path(path, ax=display.ax_)
    assert again.ax_ is display.ax_
    assert again.ax_.xaxis_inverted()


@pytest.mark.parametrize("criterion", ["aic", "gmdl"])
def test_criterion_display_draws_the_scores_of_a_selection(ozone, criterion):
    path = pls_path(*ozone)
    selection = path.select(criterion)
    display = CriterionDisplay.from_path(path, selection)
    np.testing.assert_array_equal(drawn(display.line_)[1], selection.scores)
    assert CRITERIA[criterion].label in display.ax_.get_ylabel()
    assert ("response²" in display.ax_.get_ylabel()) == (criterion == "aic")


def test_criterion_display_of_a_cross_validation_has_a_band_of_one_standard_error(ozone):
    cv = cross_validate(*ozone)
    display = CriterionDisplay.from_cross_validation(cv)
    np.testing.assert_allclose(drawn(display.line_)[1], cv.rmse)
    outline = display.band_.get_paths()[0].vertices
    at_three = outline[outline[:, 0] == 3][:, 1]
    # The delta method: half the standard error of the square, over the root.
    half = cv.std_error[3] / (2 * cv.rmse[3])
    np.testing.assert_allclose([at_three.min(), at_three.max()], cv.rmse[3] + [-half, half])


def test_scores_of_a_shorter_cross_validation_are_drawn_where_they_exist():
    X, y = make_problem(20, 30, seed=3)
    path, cv = pls_path(X, y), cross_validate(X, y, cv=4)
    assert len(cv.parameters) < len(path.dof)
    display = CriterionDisplay.from_path(path, cv.select())
    values = drawn(display.line_)[1]
    np.testing.assert_allclose(values[: len(cv.parameters)], np.sqrt(cv.mean_error))
    assert np.isnan(values[len(cv.parameters) :]).all()


def test_displays_of_an_estimator_equal_those_of_its_path(ozone):
    X, y = ozone
    model = PLSRegressor().fit(X, y)
    dof = DoFDisplay.from_estimator(model)
    np.testing.assert_array_equal(dof.dof, model.path_.dof)
    assert dof.chosen == model.n_components_
    errors = CriterionDisplay.from_estimator(model).scores
    left = model.selection_.left_out
    np.testing.assert_array_equal(errors[: len(left.rmse)], left.rmse)
    scores = PLSRegressor("bic").fit(X, y)
    np.testing.assert_array_equal(
        CriterionDisplay.from_estimator(scores).scores, scores.selection_.scores
    )
    coefficients = CoefficientDisplay.from_estimator(model, level=0.9)
    np.testing.assert_array_equal(coefficients.lower, model.conf_int(0.9)["lower"])
    largest = X.columns[np.argsort(-np.abs(model.coef_))]
    assert [t.get_text() for t in coefficients.ax_.get_yticklabels()] == list(largest)


def test_estimators_with_fixed_size_or_cross_validation_can_be_drawn(ozone):
    fixed = CriterionDisplay.from_estimator(PCRegressor(1).fit(*ozone))
    assert (fixed.chosen, fixed.model) == (1, None)
    path = pcr_path(*ozone)
    fixed = CriterionDisplay.from_path(path[1])
    assert set(fixed.model_line_.get_xdata()) == {1}
    assert fixed.chosen == path.select().n_components != 1
    model = RidgeRegressor("cv", alphas=[1.0, 10.0], cv=4).fit(*ozone)
    display = CriterionDisplay.from_estimator(model)
    np.testing.assert_allclose(display.scores, np.sqrt(model.selection_.scores[::-1]))
    assert display.chosen == model.alpha_


def test_an_estimator_that_is_not_fitted_is_refused():
    with pytest.raises(InvalidInputError):
        DoFDisplay.from_estimator(PLSRegressor())


def test_coefficient_band_over_wavelengths_is_the_interval_of_the_library(spectra):
    path = pls_path(*spectra, 6)
    display = CoefficientDisplay.from_model(path[3], level=0.8)
    expected = coefficient_inference(path[3], level=0.8)
    assert display.ax_.get_xlabel() == "wavelength (nm)"
    np.testing.assert_array_equal(drawn(display.line_)[1], expected.coef)
    outline = display.band_.get_paths()[0].vertices
    at_start = outline[outline[:, 0] == 1100.0][:, 1]
    assert at_start.min() == pytest.approx(expected.lower[0])
    assert at_start.max() == pytest.approx(expected.upper[0])


def test_wavelengths_in_any_order_are_drawn_from_left_to_right(spectra):
    X, y = spectra
    shuffled = X[np.random.default_rng(0).permutation(X.columns)]
    straight = CoefficientDisplay.from_model(pls_path(X, y, 3)[2])
    display = CoefficientDisplay.from_model(pls_path(shuffled, y, 3)[2])
    np.testing.assert_allclose(drawn(display.line_), drawn(straight.line_), rtol=1e-6)
    outlines = [one.band_.get_paths()[0].vertices for one in (display, straight)]
    np.testing.assert_allclose(*outlines, rtol=1e-6)


def test_coefficients_per_standard_deviation_are_comparable(ozone):
    X, y = ozone
    path = pls_path(X, y)
    display = CoefficientDisplay.from_model(path[2], per="standard-deviation")
    np.testing.assert_allclose(display.values, path.coef[2] * X.std(), rtol=1e-12)
    other_units = CoefficientDisplay.from_model(pls_path(X * 10, y)[2], per="standard-deviation")
    np.testing.assert_allclose(other_units.upper, display.upper, rtol=1e-8)
    unscaled = pls_path(X, y, scale=False)
    display = CoefficientDisplay.from_model(unscaled[2], per="standard-deviation")
    np.testing.assert_allclose(display.values, unscaled.coef[2] * X.std(), rtol=1e-9)
    with pytest.raises(InvalidInputError):
        CoefficientDisplay.from_model(path[2], per="inch")


def test_a_model_without_spare_observations_says_why_it_has_no_band(spectra):
    path = pls_path(*spectra)
    size = len(path.dof) - 1
    display = CoefficientDisplay.from_model(path[size])
    assert display.band_ is None
    assert display.lower is None
    assert "40.0 Degrees of Freedom of 40 observations" in display.ax_.get_title()


def test_comparison_display_puts_every_method_on_the_scale_of_dof(ozone):
    table = compare_paths(*ozone, cv=5)
    display = ComparisonDisplay.from_comparison(table)
    assert list(display.lines_) == ["pls", "pcr", "ridge"]
    rows = table.method == "pcr"
    np.testing.assert_array_equal(
        drawn(display.lines_["pcr"]), (table.dof[rows], np.sqrt(table.cv_error[rows]))
    )
    assert ComparisonDisplay.from_comparison(compare_paths(*ozone)).by == "train_error"
    with pytest.raises(InvalidInputError):
        ComparisonDisplay.from_comparison(table, by="gmdl")


def make_overview(kind, ozone, spectra):
    if kind == "pls":
        return overview_figure(PLSRegressor().fit(*ozone), response="ozone $ppm")
    if kind == "gmdl":
        return overview_figure(PLSRegressor("gmdl", max_components=10).fit(*spectra))
    if kind == "ridge":
        return overview_figure(RidgeRegressor("cv").fit(*spectra))
    return overview_figure(pcr_path(*spectra, 10)[4])


@pytest.mark.parametrize("kind", ["pls", "gmdl", "ridge", "pcr"])
def test_overview_has_four_labelled_panels_that_do_not_overlap(kind, ozone, spectra):
    figure = make_overview(kind, ozone, spectra)
    figure.draw_without_rendering()
    panels = figure.axes[:4]
    for ax in figure.axes:
        assert ax.get_ylabel() or ax.get_yticklabels()
        assert ax.get_title() or ax not in panels
        assert ax.get_xlabel() or ax not in panels
    boxes = [ax.get_tightbbox() for ax in panels]
    for one, other in itertools.combinations(boxes, 2):
        assert not one.overlaps(other)
    whole = figure.bbox
    for ax in figure.axes:
        box = ax.get_tightbbox()
        assert whole.x0 <= box.x0
        assert box.x1 <= whole.x1 + 1
        assert whole.y0 <= box.y0
        assert box.y1 <= whole.y1 + 1
    assert_legends_hide_nothing(figure)


def assert_legends_hide_nothing(figure):
    figure.draw_without_rendering()
    for ax in figure.axes:
        if ax.get_legend() is not None:
            box = ax.get_legend().get_window_extent()
            assert not box.overlaps(ax.bbox)
            assert not box.overlaps(ax.xaxis.get_tightbbox())
            assert not any(box.overlaps(one.bbox) for one in figure.axes)


def test_legends_of_single_pictures_hide_nothing(ozone, spectra):
    path, cv = pls_path(*spectra), cross_validate(*ozone)
    with matplotlib.rc_context({"font.size": 14}):
        for display in (
            DoFDisplay.from_path(path, path.select("bic")),
            CriterionDisplay.from_cross_validation(cv),
            CoefficientDisplay.from_model(path[3]),
            ComparisonDisplay.from_comparison(compare_paths(*ozone)),
        ):
            assert display.ax_.get_legend().get_texts()
            assert_legends_hide_nothing(display.figure_)


def test_a_figure_that_makes_no_room_has_its_legend_inside(ozone):
    import matplotlib.pyplot as plt

    _, ax = plt.subplots()
    display = DoFDisplay.from_path(pls_path(*ozone), ax=ax)
    display.figure_.draw_without_rendering()
    box = ax.get_legend().get_window_extent()
    assert ax.bbox.x0 <= box.x0 < box.x1 <= ax.bbox.x1
    assert ax.bbox.y0 <= box.y0 < box.y1 <= ax.bbox.y1


def test_overview_draws_predicted_against_measured(ozone):
    X, y = ozone
    path = pls_path(X, y)
    panel = overview_figure(path[2]).axes[3]
    measured, predicted = drawn(panel.lines[1])
    np.testing.assert_array_equal(measured, y)
    np.testing.assert_allclose(predicted, path.predict(X)[2], rtol=1e-9)
    np.testing.assert_allclose(drawn(panel.lines[2])[1], y - path.left_out().residuals[2])


def test_overview_of_an_estimator_is_that_of_its_model(ozone):
    model = PLSRegressor("cv", cv=4).fit(*ozone)
    mine, other = overview_figure(model), overview_figure(model.model_)
    for one, same in zip(mine.axes, other.axes, strict=True):
        assert len(one.lines) == len(same.lines) > 0
        for line, twin in zip(one.lines, same.lines, strict=True):
            np.testing.assert_allclose(drawn(line), drawn(twin), rtol=1e-10)
    fixed = overview_figure(RidgeRegressor(10.0).fit(*ozone))
    texts = [text.get_text() for text in fixed.axes[0].get_legend().get_texts()]
    assert "chosen: alpha = 10" in texts


def test_overview_shows_what_chose_the_model(ozone):
    path = pls_path(*ozone)
    chosen = PLSRegressor("bic").fit(*ozone)
    scores = drawn(overview_figure(chosen).axes[1].lines[0])[1]
    np.testing.assert_array_equal(scores, path.criterion("bic"))
    errors = drawn(overview_figure(PLSRegressor().fit(*ozone)).axes[1].lines[0])[1]
    np.testing.assert_allclose(errors, path.left_out().rmse[: len(errors)], rtol=1e-9)


def test_a_criterion_can_be_named_in_the_place_of_a_selection(ozone):
    path = pls_path(*ozone)
    display = CriterionDisplay.from_path(path, "aic")
    np.testing.assert_array_equal(drawn(display.line_)[1], path.criterion("aic"))
    # The mark is the choice of the criterion that is drawn, whatever chose the model.
    assert display.chosen == path.select("aic").n_components
    model = PLSRegressor().fit(*ozone)
    display = CriterionDisplay.from_estimator(model, "bic")
    assert set(display.chosen_line_.get_xdata()) == {path.select("bic").n_components}
    assert set(display.model_line_.get_xdata()) == {model.n_components_}
    assert CriterionDisplay.from_estimator(model).model is None
    with pytest.raises(InvalidInputError):
        CriterionDisplay.from_path(path, "abc")


def test_what_cannot_be_drawn_is_named(ozone):
    path = pls_path(*ozone)
    for draw, reason in (
        (lambda: overview_figure(path), "say which one: path"),
        (lambda: overview_figure(PLSRegressor()), "not fitted yet; call its method fit"),
        (lambda: overview_figure(7), "or a fitted estimator .*; got int"),
        (lambda: DoFDisplay.from_path(7), "or a fitted estimator .*; got int"),
        (lambda: CoefficientDisplay.from_model(path), "say which one: path"),
    ):
        with pytest.raises(InvalidInputError, match=reason):
            draw()


def test_overview_without_rows_shows_a_criterion_and_no_rows(ozone):
    X, y = (np.asarray(one) for one in ozone)
    path = pls_path(Moments.of(X, y), max_components=4)
    axes = overview_figure(path[2]).axes
    known = pls_path(X, y, 4)
    assert len(axes) == 3
    np.testing.assert_allclose(drawn(axes[1].lines[0])[1], known.criterion("gcv"), rtol=1e-6)


def test_lines_can_be_told_apart_without_colour():
    for (_, dash, marker), (_, other_dash, other_marker) in itertools.combinations(LINES, 2):
        assert dash != other_dash
        assert marker != other_marker


def test_hostile_names_are_drawn_as_plain_text():
    X, y = make_problem(15, 4, seed=5)
    names = ["$\\frac{", "a\x00b\nc", "x" * 10_000, "\u202etxt"]
    path = pls_path(pd.DataFrame(X, columns=names), y)
    display = CoefficientDisplay.from_model(path[2])
    display.figure_.draw_without_rendering()
    labels = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert max(map(len, labels)) <= 23
    assert not any(c in "".join(labels) for c in "\x00\n\u202e")


@pytest.mark.parametrize(
    ("names", "positions", "title"),
    [
        (["1100", "1102.5"], [1100, 1102.5], "wavelength (number in the column name)"),
        (["4000 cm-1", "3998 cm-1"], [4000, 3998], "wavenumber (1/cm)"),
        (["X900nm", "X902nm"], [900, 902], "wavelength (nm)"),
    ],
)
def test_names_that_are_numbers_become_positions(names, positions, title):
    axis = feature_axis(names, 2)
    assert axis.is_numeric
    np.testing.assert_array_equal(axis.positions, positions)
    assert axis.title == title


@pytest.mark.parametrize(
    "names",
    [
        None,
        ["0", "1", "2"],
        ["1", "2", "3"],
        ["900", "900", "902"],
        ["900 nm", "902", "904"],
        ["900", "9" * 400, "904"],
        ["900", "902", "fat"],
    ],
)
def test_names_that_only_count_repeat_or_mix_are_no_axis(names):
    axis = feature_axis(names, 3)
    assert not axis.is_numeric
    np.testing.assert_array_equal(axis.positions, [1, 2, 3])


def test_readable_bounds_and_cleans():
    assert readable("a\x00b") == "a\ufffdb"
    assert readable("\ud800") == "\ufffd"
    assert readable("") == "(no name)"
    assert len(readable("y" * 100_000)) == 60
    assert readable("äöü 日本 שלום") == "äöü 日本 שלום"


def test_without_matplotlib_the_extra_is_named(monkeypatch, ozone):
    path = pls_path(*ozone)
    for name in ("matplotlib", "matplotlib.pyplot", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtraError):
        DoFDisplay.from_path(path)
    with pytest.raises(MissingExtraError):
        overview_figure(path[2])


def test_the_overview_of_an_average_shows_its_own_coefficients_and_fit():
    X, y = load_ozone(return_X_y=True, as_frame=True)
    model = PLSRegressor("average", max_components=4).fit(X, y)
    axes = overview_figure(model).axes
    expected = model.coef_ * X.std().to_numpy()
    widths = [bar.get_width() for bar in axes[2].patches]
    np.testing.assert_allclose(widths, expected[np.argsort(-np.abs(expected))])
    points = [line.get_ydata() for line in axes[3].lines if len(line.get_xdata()) == len(y)]
    assert any(np.allclose(np.sort(values), np.sort(model.predict(X))) for values in points)


@pytest.mark.parametrize("display", [CoefficientDisplay, CriterionDisplay, DoFDisplay])
def test_an_average_is_drawn_like_an_estimator_that_has_chosen_it(display):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 4))
    average = pls_path(X, X[:, 0] + rng.normal(size=20)).average()
    assert display.from_estimator(average).ax_ is not None
