"""Holes in X: along the axis, by components; made anew in every fold, Degrees of Freedom exact."""

from functools import partial

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from plsdof import pls_path
from plsdof.chemometrics import Preprocessor, preprocessed
from plsdof.chemometrics.missing import interpolated, low_rank
from plsdof.chemometrics.preprocessing import parse_chain
from plsdof.datasets import load_gasoline, load_ozone
from plsdof.errors import InvalidInputError
from plsdof.large import ArrayBlocks

nan = np.nan


@parametrize_with_checks([Preprocessor("impute"), Preprocessor("impute:2")])
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


def with_holes(X, share, seed=0):
    holes = X.copy()
    holes[np.random.default_rng(seed).uniform(size=X.shape) < share] = nan
    return holes


# Along the axis
# --------------


@pytest.mark.parametrize("sign", [1, -1])
def test_gaps_are_lines_along_the_axis(sign):
    axis = sign * np.array([0.0, 1, 3, 4, 8, 9, 10])
    row = np.array([0.0, nan, 6, nan, nan, nan, 20])
    expected = 2 * np.abs(axis)
    np.testing.assert_allclose(interpolated(row[None], axis)[0], expected)
    kept = interpolated(row[None], axis, widest=2)[0]
    np.testing.assert_array_equal(np.isnan(kept), [0, 0, 0, 1, 1, 1, 0])


def test_ends_and_empty_rows_stay_and_the_rows_given_are_not_changed():
    rows = np.array([[nan, 1.0, nan, 3.0, nan], [nan] * 5, [nan, nan, 7.0, nan, nan]])
    before = rows.copy()
    found = interpolated(rows, np.arange(5.0))
    np.testing.assert_array_equal(found[0], [nan, 1, 2, 3, nan])
    np.testing.assert_array_equal(found[1:], before[1:])
    np.testing.assert_array_equal(rows, before)


# By components
# -------------


def test_filled_values_are_expectations_of_the_model_it_learned():
    """Against the covariance W W' + I, without the shortcut of k equations."""
    X = with_holes(load_ozone(return_X_y=True)[0], 0.1)
    learned = low_rank(X)
    filled, W, mean, scale = (
        Preprocessor("impute").fit_transform(X),
        learned["loadings_"],
        learned["mean_"],
        learned["scale_"],
    )
    covariance = W @ W.T + np.eye(len(W))
    for i in np.flatnonzero(np.isnan(X).any(axis=1))[:20]:
        gone = np.isnan(X[i])
        r = ((X[i] - mean) / scale)[~gone]
        expected = covariance[np.ix_(gone, ~gone)] @ np.linalg.solve(
            covariance[np.ix_(~gone, ~gone)], r
        )
        expected = mean[gone] + scale[gone] * expected
        np.testing.assert_allclose(filled[i, gone], expected, rtol=1e-8)


def test_known_values_stay_and_low_rank_is_found():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 3)) @ rng.normal(size=(3, 30)) + 5 + 0.01 * rng.normal(size=(40, 30))
    holes = with_holes(X, 0.2)
    filled, gone = Preprocessor("impute").fit_transform(holes), np.isnan(holes)
    np.testing.assert_array_equal(filled[~gone], X[~gone])
    assert 3 <= low_rank(holes)["loadings_"].shape[1] <= 5
    assert np.sqrt(np.mean((filled - X)[gone] ** 2)) < 0.03
    assert low_rank(holes, 1)["loadings_"].shape == (30, 1)


def test_spectra_are_filled_far_better_than_by_means():
    X = load_gasoline(return_X_y=True)[0]
    for share in (0.05, 0.2):
        holes = with_holes(X, share, seed=4)
        gone = np.isnan(holes)
        error = ((Preprocessor("impute").fit_transform(holes) - X) / X.std(axis=0))[gone]
        assert np.sqrt(np.mean(error**2)) < 0.25


def test_rows_that_are_empty_get_means_and_columns_that_are_empty_are_refused():
    X = with_holes(load_ozone(return_X_y=True)[0], 0.05)
    imputer = Preprocessor("impute").fit(X)
    np.testing.assert_allclose(imputer.transform(np.full((1, 12), nan))[0], low_rank(X)["mean_"])
    X[:, 4] = nan
    with pytest.raises(InvalidInputError):
        Preprocessor("impute").fit(X)


def test_constant_columns_and_exact_low_rank_are_filled():
    X = np.outer(np.arange(1.0, 9), [1, 2, 3, 4])
    X[:, 3] = 7
    holes = X.copy()
    holes[2, 1] = holes[5, 3] = nan
    filled = Preprocessor("impute:1").fit_transform(holes)
    assert filled[5, 3] == pytest.approx(7)
    assert filled[2, 1] == pytest.approx(6, rel=1e-2)


# As the first step of a chain
# ----------------------------


def test_the_step_comes_first_and_is_kept_in_files():
    assert parse_chain("impute:3,snv")[0] == ("impute", {"rank": 3})
    with pytest.raises(InvalidInputError):
        parse_chain("snv,impute")
    X = with_holes(load_gasoline(return_X_y=True)[0], 0.05)
    chain = Preprocessor("impute,snv").fit(X)
    again = Preprocessor.from_content(chain.to_content(), X.shape[1])
    np.testing.assert_array_equal(again.transform(X), chain.transform(X))
    for bad in ([[1.0, nan]] * 401, [[[1.0]]] * 401, [1.0]):
        content = chain.to_content()
        content["learned"][0]["loadings_"] = bad
        with pytest.raises(InvalidInputError):
            Preprocessor.from_content(content, X.shape[1])


def test_other_chains_and_streams_refuse_holes():
    X = with_holes(load_ozone(return_X_y=True)[0], 0.05)
    with pytest.raises(ValueError, match="NaN"):
        Preprocessor("center").fit(X)
    with pytest.raises(InvalidInputError):
        Preprocessor("impute").fit_blocks(ArrayBlocks(np.eye(4), np.zeros(4), axis=0))
    assert Preprocessor("impute").__sklearn_tags__().input_tags.allow_nan
    assert not Preprocessor("center").__sklearn_tags__().input_tags.allow_nan


def test_it_is_made_anew_without_the_rows_left_out():
    X, y = load_ozone(return_X_y=True)
    X = with_holes(X[:40], 0.1, seed=2)
    y = y[:40]
    fit = preprocessed("impute", partial(pls_path, max_components=3))
    path = fit(X, y)
    residuals = path.left_out(5).residuals
    for fold in range(5):
        test = np.arange(40) % 5 == fold
        imputer = Preprocessor("impute").fit(X[~test])
        alone = pls_path(imputer.transform(X[~test]), y[~test], 3)
        expected = y[test] - alone.predict(imputer.transform(X[test]))
        np.testing.assert_allclose(residuals[:, test], expected, atol=1e-9)
    np.testing.assert_allclose(path.predict(X[:3]), fit(X, y).predict(X[:3]))
    with pytest.raises(InvalidInputError):
        path.predict(np.full((1, 12), np.inf))


def test_degrees_of_freedom_are_those_of_filling_and_fitting_together():
    X, y = load_ozone(return_X_y=True)
    X, y = with_holes(X[:25], 0.1, seed=2), y[:25]
    fit = preprocessed("impute", partial(pls_path, max_components=2))
    step = 1e-4
    trace = 0.0
    for i in range(25):
        e = step * (np.arange(25) == i)
        trace += (fit(X, y + e).fitted[2] - fit(X, y - e).fitted[2])[i] / (2 * step)
    assert fit(X, y).dof[2] == pytest.approx(trace, abs=1e-5)
