"""Results show themselves in one line, and as data frames."""

import builtins

import numpy as np
import pandas as pd
import pytest
from _helpers.made_results import made_result

import plsdof
from plsdof._core.criteria import CRITERIA
from plsdof.chemometrics.unusual import outliers
from plsdof.datasets import load_ozone
from plsdof.errors import MissingExtraError
from plsdof.inference.intervals import (
    coefficient_inference,
    noise_interval,
    prediction_interval,
    simultaneous_band,
)


@pytest.fixture(scope="module")
def ozone():
    X, y = load_ozone(return_X_y=True)
    names = [f"v{i}" for i in range(X.shape[1])]
    labels = [f"day {i}" for i in range(len(y))]
    return pd.DataFrame(X, index=labels, columns=names), pd.Series(y, index=labels)


@pytest.fixture(scope="module")
def path(ozone):
    return plsdof.pls_path(*ozone)


def everything(X, y, path):
    """Return one result of every kind that users receive."""
    cv = plsdof.cross_validate(X, y, cv=5)
    return [
        path,
        path.select("bic"),
        plsdof.ridge_path(X, y).select("gcv"),
        path[2],
        path.average(),
        path.left_out(),
        path.recipe,
        coefficient_inference(path[2]),
        simultaneous_band(path[2]),
        prediction_interval(path[2], X),
        noise_interval(path[2]),
        cv,
        cv.folds[0],
        plsdof.compare_paths(X, y),
        plsdof.chemometrics.explained_variance(path),
        plsdof.chemometrics.hotelling_t2(path[2]),
        outliers(path[2]),
        plsdof.inference.jackknife(path[2], cv=5),
        plsdof.inference.residual_bootstrap(path[2], n_draws=5),
        plsdof.paper.lanczos(X, y, 3),
        plsdof.paper.krylov(X, y, 3),
        plsdof.pls2_path(X, 2 * X.iloc[:, :2], 2),
        plsdof.large.Moments.of(X, y),
        plsdof.large.Moments.empty(),
    ]


def test_every_result_is_one_line_without_arrays(ozone, path):
    for result in everything(*ozone, path):
        shown = repr(result)
        assert shown.startswith(f"{type(result).__name__}("), shown
        assert "\n" not in shown, shown
        assert "array" not in shown, shown
        assert len(shown) < 140, shown


def test_lines_say_what_matters(ozone, path):
    X, y = ozone
    chosen = path.select("bic", rule="first-minimum")
    assert repr(chosen).startswith("Selection(n_components=2, criterion='bic', rule=")
    assert repr(plsdof.ridge_path(X, y, [3.5]).select()).startswith("Selection(alpha=3.5, ")
    result = coefficient_inference(path[2])
    count = np.count_nonzero(result.p_value < 0.05)
    assert f"12 coefficients, {count} with p < 0.05, level=0.95, covariance=" in repr(result)
    sigma = noise_interval(path[2])
    assert repr(sigma).startswith(f"Interval(center={sigma.center[0]:g}, lower={sigma.lower[0]:g}")
    assert "pls 13, pcr 13, ridge 50" in repr(plsdof.compare_paths(X, y))
    table = outliers(path[2])
    assert f"203 rows, flagged: {np.count_nonzero(table.t2.flags)} by t2, " in repr(table)
    assert "n_components=12, x=1, y=0.7" in repr(plsdof.chemometrics.explained_variance(path))
    assert "covariance='jackknife'" in repr(plsdof.inference.jackknife(path[2], cv=5))
    assert repr(plsdof.large.Moments.of(X, y)) == "Moments(203 rows, n=203, p=12)"


def test_a_summary_shows_itself(ozone):
    X, y = ozone
    summary = plsdof.PLSRegressor(2).fit(X, y).summary()
    assert repr(summary) == str(summary)


def test_frame_of_a_path_has_all_criteria(path):
    frame = path.to_frame()
    assert frame["n_components"].tolist() == list(range(13))
    assert frame["n_components"].dtype.kind == "i"
    np.testing.assert_array_equal(frame["dof"], path.dof)
    np.testing.assert_array_equal(frame["naive_dof"], path.naive_dof)
    np.testing.assert_array_equal(frame["rss"], path.rss)
    np.testing.assert_allclose(frame["noise_std"] ** 2, path.noise_variance())
    for name in CRITERIA:
        np.testing.assert_array_equal(frame[name], path.criterion(name))


def test_frame_of_a_path_without_spare_rows_has_no_cp():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(8, 12)), rng.normal(size=8)
    frame = plsdof.pls_path(X, y, 3).to_frame()
    assert frame["cp"].isna().all()
    assert not frame["bic"].isna().any()


def test_frame_of_ridge_has_penalties(ozone):
    frame = plsdof.ridge_path(*ozone, alphas=[10.0, 1.5]).to_frame()
    assert frame["alpha"].tolist() == [10.0, 1.5]


def test_frames_can_be_changed_and_results_not(path):
    frame = path.to_frame()
    frame.loc[0, "dof"] = 7.0
    assert path.dof[0] == 1.0


def test_frames_of_inference_have_names(ozone, path):
    X, _ = ozone
    result = coefficient_inference(path[2])
    frame = result.to_frame()
    numbers = ["coef", "std_error", "statistic", "p_value", "lower", "upper"]
    assert list(frame) == [*numbers, "null"]
    assert list(frame.index) == list(X.columns)
    np.testing.assert_array_equal(frame["upper"], result.upper)
    assert list(simultaneous_band(path[2]).to_frame().index) == list(X.columns)
    new = prediction_interval(path[2], X.iloc[5:8])
    assert list(new.to_frame().index) == ["day 5", "day 6", "day 7"]
    np.testing.assert_array_equal(new.to_frame()["lower"], new.lower)
    assert list(prediction_interval(path[2], X.to_numpy()[:2]).to_frame().index) == [0, 1]


def test_frames_of_outliers_have_the_names_of_rows(ozone, path):
    X, y = ozone
    found = outliers(path[2], X.iloc[3:5], y.iloc[3:5]).to_frame()
    assert list(found.index) == ["day 3", "day 4"]
    frame = outliers(path[2]).to_frame()
    assert len(frame) == 203
    assert frame["n_flags"].sum() == outliers(path[2]).n_flags.sum()


def test_frame_of_explained_variance_counts_from_one(path):
    frame = plsdof.chemometrics.explained_variance(path).to_frame()
    assert list(frame.index) == list(range(1, 13))
    assert frame["x_cumulative"].iloc[-1] == pytest.approx(1.0)


def test_frame_of_a_cross_validation(ozone):
    result = plsdof.cross_validate(*ozone, cv=5)
    frame = result.to_frame()
    assert frame["n_components"].tolist() == list(range(13))
    np.testing.assert_allclose(frame["rmse"] ** 2, result.mean_error)
    np.testing.assert_array_equal(frame["q2"], result.q2)


def pooled_q2(result, y, w):
    """Q^2 from the predictions, row by row."""
    mean = np.average(y, weights=w)
    press = total = 0.0
    for predictions in result.predictions:
        rows = ~np.isnan(predictions[0])
        press = press + ((predictions - y) ** 2)[:, rows] @ w[rows]
        total += w[rows] @ (y[rows] - mean) ** 2
    return 1 - press / total


@pytest.mark.parametrize("options", [{}, {"repeats": 2, "rng": 1}, {"weighted": True}])
def test_q2_pools_rows_of_unequal_folds(ozone, options):
    X, y = ozone[0].to_numpy()[:47], ozone[1].to_numpy()[:47]
    w = np.ones(47)
    if options.pop("weighted", False):
        w = np.arange(47) % 3.0
        options = {"sample_weight": w}
    result = plsdof.cross_validate(X, y, cv=4, **options)
    np.testing.assert_allclose(result.q2, pooled_q2(result, y, w), rtol=1e-10)
    assert result.q2[0] < 0 < result.q2[2]


def test_q2_leaves_out_folds_without_weight_and_constant_responses():
    errors = np.array([[4.0], [7.0]])
    weighted = made_result(errors, y=np.array([1.0, 5.0]), weights=np.array([2.0, 0.0]))
    assert np.isnan(weighted.q2).all()  # the one row with weight is its own mean
    half = made_result(
        np.array([[4.0], [1.0], [7.0]]),
        y=np.array([1.0, 5.0, 9.0]),
        weights=np.array([1.0, 1.0, 0.0]),
    )
    assert half.q2 == pytest.approx(1 - 5.0 / 8.0)


def test_frames_need_pandas(monkeypatch, path):
    real = builtins.__import__

    def without_pandas(name, *args, **kwargs):
        if name == "pandas":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_pandas)
    with pytest.raises(MissingExtraError, match=r"plsdof\[frame\]"):
        path.to_frame()
