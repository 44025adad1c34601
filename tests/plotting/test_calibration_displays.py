"""Pictures of a calibration: spectra, predictions, scores, loadings, importance, distances."""

import itertools

import matplotlib
import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from plsdof import (
    KernelPLSRegressor,
    PLSClassifier,
    PLSRegressor,
    cross_validate,
    kernel_pls_path,
    pls_path,
    ridge_path,
)
from plsdof.chemometrics import (
    contributions,
    explained_variance,
    figures_of_merit,
    hotelling_t2,
    outliers,
    q_residuals,
    selectivity_ratio,
    vip,
)
from plsdof.datasets import load_ozone, make_spectra
from plsdof.errors import InvalidInputError, NotAvailableError
from plsdof.plotting import (
    CoefficientDisplay,
    CriterionDisplay,
    DistanceDisplay,
    DoFDisplay,
    ImportanceDisplay,
    LoadingsDisplay,
    PredictionDisplay,
    ScoresDisplay,
    SpectraDisplay,
    class_figure,
    overview_figure,
)

matplotlib.use("Agg")


@pytest.fixture(scope="module")
def spectra():
    made = make_spectra(40, 60, random_state=1, as_frame=True)
    return made.data, made.target


@pytest.fixture(scope="module")
def ozone():
    return load_ozone(return_X_y=True, as_frame=True)


def names_in(display):
    """Return the names written beside points; long ones end in an ellipsis."""
    return {text.get_text()[:21] for text in display.ax_.texts}


def drawn(line):
    return np.array([line.get_xdata(), line.get_ydata()])


def test_spectra_are_drawn_over_wavelength_and_coloured_by_the_response(spectra):
    X, y = spectra
    shuffled = X[np.random.default_rng(0).permutation(X.columns)]
    display = SpectraDisplay.from_spectra(shuffled, y, response="fat")
    segments = display.lines_.get_segments()
    assert len(segments) == 40
    np.testing.assert_array_equal(segments[7][:, 1], X.iloc[7])
    assert np.all(np.diff(segments[7][:, 0]) > 0)
    np.testing.assert_array_equal(display.lines_.get_array(), y)
    assert display.color_bar_.ax.get_ylabel() == "fat"
    assert SpectraDisplay.from_spectra(X).color_bar_ is None


def test_spectra_of_a_pipeline_are_those_its_last_step_sees(spectra):
    X, y = spectra
    centre = FunctionTransformer(lambda X: X.sub(X.mean(axis=1), axis=0))
    pipe = make_pipeline(centre, PLSRegressor(3)).fit(X, y)
    display = SpectraDisplay.from_estimator(pipe, X, y)
    np.testing.assert_allclose(display.spectra, X.sub(X.mean(axis=1), axis=0))
    assert display.ax_.get_ylabel() == "preprocessed value"
    # A step that returns an array does not take the wavelengths away.
    pipe = make_pipeline(StandardScaler(), PLSRegressor(3)).fit(X, y)
    assert SpectraDisplay.from_estimator(pipe, X).ax_.get_xlabel() == "wavelength (nm)"
    alone = SpectraDisplay.from_estimator(PLSRegressor(3).fit(X, y), X)
    np.testing.assert_array_equal(alone.spectra, X)


def test_wavelength_axes_have_plain_numbers():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(20, 30)))
    X.columns = [f"{120000 + 2 * i} nm" for i in range(30)]
    display = SpectraDisplay.from_spectra(X)
    display.figure_.draw_without_rendering()
    texts = [text.get_text() for text in display.ax_.get_xticklabels()]
    assert any(text.startswith("1200") for text in texts)
    assert not display.ax_.xaxis.get_offset_text().get_text()
    assert all(text.isdigit() for text in texts if text)


def test_predictions_are_those_of_fit_folds_and_test_rows(spectra):
    X, y = spectra
    path = pls_path(X[:30], y[:30], 5)
    display = PredictionDisplay.from_model(path[3], X[30:], y[30:])
    assert list(display.points_) == ["calibration", "cross-validation", "test"]
    points = {name: drawn(line) for name, line in display.points_.items()}
    np.testing.assert_allclose(points["calibration"], [y[:30], path.predict(X[:30])[3]])
    left_out = cross_validate(X[:30], y[:30], cv="loo", max_components=5).predictions[0, 3]
    np.testing.assert_allclose(points["cross-validation"], [y[:30], left_out])
    np.testing.assert_allclose(points["test"], [y[30:], path.predict(X[30:])[3]])
    merit = figures_of_merit(y[30:], path.predict(X[30:])[3])
    told = f"test: RMSE {merit.rmse:.4g}, R² {merit.r2:.3f}, bias {merit.bias:.2g}"
    assert told in [t.get_text() for t in display.ax_.get_legend().texts]
    x, fitted = drawn(display.line_)
    np.testing.assert_allclose(fitted, np.polyval(np.polyfit(*points["test"], 1), x))
    layers = [one.get_zorder() for one in display.points_.values()]
    assert layers == sorted(layers)  # later sets are drawn on top
    with pytest.raises(InvalidInputError):
        PredictionDisplay.from_model(path[3], X[30:])


def test_predictions_of_a_pipeline_are_its_own(spectra):
    X, y = spectra
    groups = np.repeat(np.arange(10), 3)
    pipe = make_pipeline(StandardScaler(), PLSRegressor(3))
    pipe.fit(X[:30], y[:30], plsregressor__groups=groups)
    display = PredictionDisplay.from_estimator(pipe, X[30:], y[30:])
    np.testing.assert_allclose(drawn(display.points_["test"])[1], pipe.predict(X[30:]))
    left = pipe[-1].model_.left_out
    assert left.groups == 10
    np.testing.assert_allclose(
        drawn(display.points_["cross-validation"])[1], y[:30] - left.residuals[3]
    )


def test_scores_are_those_of_the_path_with_shares_groups_and_names(spectra):
    X, y = spectra
    path = pls_path(X, y, 4)
    groups = np.where(np.arange(40) < 15, "old", "new")
    display = ScoresDisplay.from_path(
        path, (1, 3), groups=groups, names=[f"s{i}" for i in range(40)]
    )
    np.testing.assert_array_equal(drawn(display.points_["old"]), path.x_scores[:15, [0, 2]].T)
    share = explained_variance(path)
    assert display.ax_.get_xlabel() == (
        f"component 1 ({100 * share.x[0]:.0f}% of X, {100 * share.y[0]:.0f}% of y)"
    )
    names = {text.get_text() for text in display.ax_.texts}
    assert names == {f"s{i}" for i in np.flatnonzero(display.outside)}


def test_the_ellipse_is_where_t2_of_two_components_has_its_limit(spectra):
    path = pls_path(*spectra, 2)
    display = ScoresDisplay.from_path(path, level=0.9)
    legend = [one.get_text() for one in display.ax_.get_legend().get_texts()]
    assert legend == ["T² of these two, 90%"]
    t2 = hotelling_t2(path[2], level=0.9)
    np.testing.assert_array_equal(display.outside, t2.flags)
    x, y = drawn(display.ellipse_)
    spread = path.x_scores.std(axis=0, ddof=1)
    np.testing.assert_allclose((x / spread[0]) ** 2 + (y / spread[1]) ** 2, t2.limit, rtol=1e-9)
    expected = 39**2 / 40 * stats.beta.ppf(0.9, 1, 37 / 2)
    assert t2.limit == pytest.approx(expected)


@pytest.mark.parametrize("components", [(1,), (1, 1), (1, 9), (0, 1), (1, 2, 3)])
def test_components_that_are_not_there_are_refused(spectra, components):
    with pytest.raises(InvalidInputError):
        ScoresDisplay.from_path(pls_path(*spectra, 4), components)


@pytest.mark.parametrize(
    ("kind", "attribute"),
    [("loadings", "x_loadings"), ("weights", "x_weights"), ("rotations", "x_rotations")],
)
def test_loadings_are_those_of_the_path(spectra, kind, attribute):
    X, y = spectra
    model = PLSRegressor(4).fit(X, y)
    display = LoadingsDisplay.from_estimator(model, (2, 4), kind=kind)
    values = getattr(model.path_, attribute)
    for line, column in zip(display.lines_, (1, 3), strict=True):
        np.testing.assert_array_equal(drawn(line)[1], values[:, column])
    assert [t.get_text() for t in display.ax_.get_legend().texts] == ["component 2", "component 4"]


def test_named_predictors_stand_beside_their_names(ozone):
    path = pls_path(*ozone)
    display = LoadingsDisplay.from_path(path)
    loadings = path.x_loadings[:, :2]
    order = np.argsort(-np.abs(loadings).max(axis=1))
    for bars, values in zip(display.lines_, loadings.T, strict=True):
        np.testing.assert_array_equal([bar.get_width() for bar in bars], values[order])
    names = [t.get_text() for t in display.ax_.get_yticklabels()]
    assert names == list(ozone[0].columns[order])
    importance = ImportanceDisplay.from_model(path[2])
    widths = [bar.get_width() for bar in importance.line_]
    np.testing.assert_array_equal(widths, np.sort(vip(path[2]))[::-1])
    assert set(importance.limit_line_.get_xdata()) == {1.0}


def test_importance_is_vip_or_selectivity_ratio_with_its_limit(spectra):
    X, y = spectra
    model = PLSRegressor(3).fit(X, y)
    display = ImportanceDisplay.from_estimator(model)
    np.testing.assert_array_equal(drawn(display.line_)[1], vip(model.path_[3]))
    display = ImportanceDisplay.from_estimator(model, kind="selectivity-ratio", level=0.9)
    expected = selectivity_ratio(model, level=0.9)
    np.testing.assert_array_equal(drawn(display.line_)[1], expected.values)
    assert set(display.limit_line_.get_ydata()) == {expected.limit}


def test_distances_and_their_flags_are_those_of_the_library(spectra):
    X, y = spectra
    model = PLSRegressor(3).fit(X, y)
    display = DistanceDisplay.from_estimator(model, names=[f"s{i}" for i in range(40)])
    t2, q = (one(model, limit="cross-validated") for one in (hotelling_t2, q_residuals))
    beyond = t2.flags | q.flags
    np.testing.assert_array_equal(drawn(display.beyond_), [t2.values[beyond], q.values[beyond]])
    np.testing.assert_array_equal(drawn(display.points_), [t2.values[~beyond], q.values[~beyond]])
    assert {t.get_text() for t in display.ax_.texts} == {f"s{i}" for i in np.flatnonzero(beyond)}


def test_new_rows_pass_the_steps_of_a_pipeline(spectra):
    X, y = spectra
    pipe = make_pipeline(StandardScaler(), PLSRegressor(3)).fit(X, y)
    new = X[:5] + 0.1
    display = DistanceDisplay.from_estimator(pipe, new)
    rows = pipe[:-1].transform(new)
    expected = hotelling_t2(pipe[-1].path_[3], rows).values
    shown = sorted([*drawn(display.points_)[0], *drawn(display.beyond_)[0]])
    np.testing.assert_allclose(shown, sorted(expected), rtol=1e-9)
    display = ImportanceDisplay.from_estimator(pipe, new, row=2, kind="t2")
    np.testing.assert_array_equal(display.values, contributions(pipe[-1].path_[3], rows).t2[2])


def test_contributions_of_a_row_are_those_of_the_library(spectra):
    path = pls_path(*spectra, 4)
    found = contributions(path[3])
    for kind in ("q", "t2"):
        display = ImportanceDisplay.from_model(path[3], row=6, kind=kind)
        np.testing.assert_array_equal(drawn(display.line_)[1], getattr(found, kind)[6])
    assert display.ax_.get_ylabel() == "contribution to T² of row 6"
    with pytest.raises(InvalidInputError):
        ImportanceDisplay.from_model(path[3], row=40, kind="q")
    with pytest.raises(InvalidInputError):
        ImportanceDisplay.from_model(path[3], kind="t2")


def test_rows_are_positions_from_0_or_the_index_of_a_frame_everywhere(spectra):
    X, y = spectra
    odd = X.to_numpy().copy()
    odd[4, 30] += 5.0
    named = pd.DataFrame(odd, columns=X.columns, index=[f"s{i}" for i in range(len(odd))])
    for rows, expected in ((odd, "4"), (named, "s4")):
        model = PLSRegressor(3).fit(X if expected == "s4" else X.to_numpy(), y)
        distances = DistanceDisplay.from_estimator(model, rows)
        assert expected in {text.get_text() for text in distances.ax_.texts}
        contribution = ImportanceDisplay.from_estimator(model, rows, row=4, kind="q")
        assert contribution.ax_.get_ylabel() == f"contribution to Q of row {expected}"
        table = outliers(model, rows, y)
        assert str(table.to_frame().index[4]) == expected
        assert np.argmax(table.q.values) == 4


def wide_table():
    rng = np.random.default_rng(0)
    names = [f"descriptor {i}" for i in range(60)]
    X = pd.DataFrame(rng.normal(size=(80, 60)), columns=names)
    return X, X.iloc[:, :5].sum(axis=1) + rng.normal(size=80)


def test_columns_with_names_are_bars_of_the_twenty_largest():
    X, y = wide_table()
    path = pls_path(X, y, 4)
    for display, values in (
        (CoefficientDisplay.from_model(path[3]), path[3].coef),
        (ImportanceDisplay.from_model(path[3]), vip(path[3])),
        (
            ImportanceDisplay.from_model(path[3], kind="selectivity-ratio"),
            selectivity_ratio(path[3]).values,
        ),
    ):
        largest = np.argsort(-np.abs(values))[:20]
        assert len(display.line_) == len(display.ax_.patches) == 20
        np.testing.assert_array_equal([bar.get_width() for bar in display.line_], values[largest])
        names = [text.get_text() for text in display.ax_.get_yticklabels()]
        assert names == list(X.columns[largest])
        assert "20 of 60" in display.ax_.get_xlabel()
    # Many columns without names may be a spectrum.
    assert len(CoefficientDisplay.from_model(pls_path(X.to_numpy(), y, 4)[3]).ax_.patches) == 0


def assert_names_are_apart(ax):
    """Names are inside of the frame, and no two of them overlap."""
    boxes = [text.get_window_extent() for text in ax.texts if text.get_text()]
    assert boxes
    for box in boxes:
        assert ax.bbox.x0 <= box.x0 < box.x1 <= ax.bbox.x1
        assert ax.bbox.y0 <= box.y0 < box.y1 <= ax.bbox.y1
    assert not any(one.overlaps(two) for one, two in itertools.combinations(boxes, 2))


def test_names_do_not_overlap(spectra):
    X, y = spectra
    path, names = pls_path(X, y, 4), [f"sample {i}" for i in range(40)]
    wide = pls_path(*wide_table(), 4)
    for display in (
        DistanceDisplay.from_model(path[2], names=names, level=0.5),
        ScoresDisplay.from_path(path, names=names, level=0.5),
        ScoresDisplay.from_path(path, y=y, arrows=8),
        ScoresDisplay.from_path(wide, arrows=12),
    ):
        display.figure_.draw_without_rendering()
        assert_names_are_apart(display.ax_)


def test_names_hide_no_point(spectra):
    path, names = pls_path(*spectra, 4), [f"sample {i}" for i in range(40)]
    display = DistanceDisplay.from_model(path[2], names=names, level=0.5)
    display.figure_.draw_without_rendering()
    places = display.ax_.transData.transform(drawn(display.points_).T)
    boxes = [text.get_window_extent() for text in display.ax_.texts]
    assert boxes
    assert sum(box.count_contains(places) for box in boxes) == 0


def test_limits_and_rows_beyond_them_are_in_the_legend(spectra):
    display = DistanceDisplay.from_model(pls_path(*spectra, 3)[2], level=0.8)
    told = {text.get_text() for text in display.ax_.get_legend().texts}
    assert told == {"beyond a limit", "limit of T², 80%", "limit of Q, 80%"}


def test_scores_may_be_coloured_and_have_arrows(spectra):
    X, y = spectra
    path = pls_path(X, y, 3)
    display = ScoresDisplay.from_path(path, y=y, arrows=3, response="fat")
    np.testing.assert_array_equal(display.points_[""].get_array(), y)
    np.testing.assert_array_equal(display.points_[""].get_offsets(), path.x_scores[:, :2])
    assert display.color_bar_.ax.get_ylabel() == "fat"
    assert "of fat" in display.ax_.get_xlabel()
    longest = np.argsort(-np.sum(path.x_loadings[:, :2] ** 2, axis=1))[:3]
    assert list(display.arrows) == list(X.columns[longest])
    for end, i in zip(display.arrows.values(), longest, strict=True):
        np.testing.assert_array_equal(end, path.x_loadings[i, :2])


def test_a_classifier_is_drawn_with_confusions_and_scores_by_class(spectra):
    X, y = spectra
    labels = np.array(["low", "middle", "high"])[np.digitize(y, np.quantile(y, [0.3, 0.6]))]
    model = PLSClassifier(3).fit(X, labels)
    choice, confusion, scores, importance = class_figure(model).axes
    np.testing.assert_allclose(drawn(choice.lines[0])[1], model.left_out_.log_loss)
    counts = [float(text.get_text()) for text in confusion.texts]
    np.testing.assert_array_equal(counts, model.errors().matrix.ravel())
    groups = {line.get_label(): drawn(line) for line in scores.lines}
    for label in model.classes_:
        np.testing.assert_array_equal(groups[label].T, model.x_scores_[labels == label, :2])
    np.testing.assert_allclose(drawn(importance.lines[0])[1], model.vip())
    assert len(class_figure(PLSClassifier(1).fit(X, labels == "low")).axes) == 3
    assert len(class_figure(PLSClassifier(0).fit(X, labels)).axes) == 2


def test_errors_are_those_of_rows_left_out_with_the_chosen_model(ozone):
    X, y = ozone
    path, cv = pls_path(X, y), cross_validate(X, y)
    display = CriterionDisplay.from_path(path)
    known = np.isfinite(display.scores)
    assert known.sum() > path.select().n_components
    rmse, d = cv.rmse[known], display.std_error[known]
    np.testing.assert_allclose(drawn(display.line_)[1][known], rmse)
    # The delta method: (rmse + d)^2 - (rmse - d)^2 is four times rmse times d.
    np.testing.assert_allclose((rmse + d) ** 2 - (rmse - d) ** 2, 2 * cv.std_error[known])
    assert set(display.chosen_line_.get_xdata()) == {path.select().n_components}
    groups = np.arange(len(y)) // 7
    model = PLSRegressor().fit(X, y, groups=groups)
    display = CriterionDisplay.from_estimator(model)
    assert display.chosen == model.n_components_
    left = model.selection_.left_out
    np.testing.assert_array_equal(display.scores[: len(left.rmse)], left.rmse)
    ridge = CriterionDisplay.from_path(ridge_path(X, y, alphas=[1.0, 100.0]))
    np.testing.assert_array_equal(drawn(ridge.line_)[0], [100.0, 1.0])


def test_a_pipeline_is_drawn_like_its_last_step(spectra):
    X, y = spectra
    pipe = make_pipeline(StandardScaler(), PLSRegressor(3)).fit(X, y)
    np.testing.assert_array_equal(DoFDisplay.from_estimator(pipe).dof, pipe[-1].path_.dof)
    with pytest.raises(InvalidInputError):
        DoFDisplay.from_estimator(make_pipeline(StandardScaler()).fit(X, y))


def test_methods_without_scores_or_predictors_say_so(ozone):
    X, y = ozone
    with pytest.raises(InvalidInputError):
        ScoresDisplay.from_path(ridge_path(X, y))
    kernel = kernel_pls_path(X, y, max_components=3)
    assert ScoresDisplay.from_path(kernel).scores.shape == (203, 2)
    with pytest.raises(NotAvailableError):
        LoadingsDisplay.from_path(kernel)
    with pytest.raises(NotAvailableError):
        ImportanceDisplay.from_estimator(KernelPLSRegressor(2).fit(X, y))
    with pytest.raises(NotAvailableError):
        CoefficientDisplay.from_model(kernel[2])
    assert len(overview_figure(kernel[2]).axes) == 3


def test_hostile_names_are_plain_text(spectra):
    X, y = spectra
    names = ["$\\frac{", "a\x00b", "\u202etxt", "x" * 1000] * 10
    for display in (
        ScoresDisplay.from_path(pls_path(X, y, 3), names=names, groups=names, level=0.5),
        DistanceDisplay.from_model(pls_path(X, y, 3)[2], names=names, level=0.5),
    ):
        display.figure_.draw_without_rendering()
        for text in display.ax_.texts:
            assert len(text.get_text()) <= 17
            assert not set(text.get_text()) & set("\x00\u202e")
    with pytest.raises(InvalidInputError):
        ScoresDisplay.from_path(pls_path(X, y, 3), groups=["a"])
