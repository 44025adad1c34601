"""Roots of covariances against explicit matrices, and Satterthwaite's degrees of freedom."""

import numpy as np
import pytest
import statsmodels.api as sm
from _helpers.problems import make_problem, reference_numbers

from plsdof import pls_path
from plsdof.datasets import load_gasoline
from plsdof.inference import (
    coefficient_inference,
    jackknife,
    prediction_interval,
)
from plsdof.inference.covariance import (
    deleted_residuals,
    left_out_coefs,
    residual_share,
    satterthwaite,
)


@pytest.mark.parametrize(("n", "p", "m"), [(30, 6, 2), (20, 40, 3), (12, 30, 9)])
def test_satterthwaite_is_the_ratio_of_traces(n, p, m):
    path = pls_path(*make_problem(n, p, seed=1))
    R = np.eye(n) - path.jacobian(m)
    A = R.T @ R
    assert satterthwaite(path[m]) == pytest.approx(np.trace(A) ** 2 / np.trace(A @ A), rel=1e-9)
    np.testing.assert_allclose(residual_share(path[m]), np.diag(R @ R.T), rtol=1e-8, atol=1e-12)


def test_satterthwaite_counts_integer_weights_as_repeated_rows():
    X, y = make_problem(20, 4, seed=2)
    weights = np.random.default_rng(0).integers(1, 4, 20)
    rows = np.repeat(np.arange(20), weights)
    weighted = satterthwaite(pls_path(X, y, sample_weight=weights)[2])
    assert weighted == pytest.approx(satterthwaite(pls_path(X[rows], y[rows])[2]), rel=1e-9)


def test_residual_share_with_weights_is_that_of_the_scaled_residuals():
    X, y = make_problem(15, 4, seed=3)
    path = pls_path(X, y, sample_weight=np.linspace(0.5, 2.0, 15))
    root = path.exact.units.row_scale
    R = np.eye(15) - root[:, None] * path.jacobian(2) / root
    np.testing.assert_allclose(residual_share(path[2]), np.sum(R**2, axis=1), rtol=1e-9)


@pytest.mark.parametrize(("n", "p"), [(30, 6), (20, 40)])
@pytest.mark.parametrize("weighted", [False, True])
def test_averages_have_the_shares_of_their_jacobian(n, p, weighted):
    X, y = make_problem(n, p, seed=10, noise=1.0)
    weights = np.linspace(0.5, 2.0, n) if weighted else None
    model = pls_path(X, y, 5, sample_weight=weights).average()
    root = np.ones(n) if weights is None else np.sqrt(weights)
    J = root[:, None] * model.jacobian() / root  # of responses with equal noise
    R = np.eye(n) - J
    A = R.T @ R
    np.testing.assert_allclose(residual_share(model), np.sum(R**2, axis=1), rtol=1e-7)
    if not weighted:
        expected = np.trace(A) ** 2 / np.trace(A @ A)
        assert satterthwaite(model) == pytest.approx(expected, rel=1e-7)
        assert model.noise_variance("jacobian") == pytest.approx(model.rss / np.trace(A), rel=1e-7)


def test_hc3_of_the_full_model_is_that_of_least_squares():
    X, y = make_problem(40, 4, seed=4)
    ols = sm.OLS(y, sm.add_constant(X)).fit(cov_type="HC3")
    result = coefficient_inference(pls_path(X, y)[4], covariance="hc3")
    np.testing.assert_allclose(result.std_error, ols.bse[1:], rtol=1e-8)
    assert result.intercept_std_error == pytest.approx(ols.bse[0], rel=1e-8)


def test_hc3_of_a_prediction_is_the_sandwich_with_the_jacobian():
    X, y = make_problem(25, 7, seed=5)
    path = pls_path(X, y)
    found = prediction_interval(path[3], X, kind="mean", covariance="hc3").std_error
    sandwich = path.jacobian(3) ** 2 @ deleted_residuals(path[3]) ** 2
    np.testing.assert_allclose(found, np.sqrt(sandwich), rtol=1e-9)


def test_deleted_residuals_of_the_full_model_are_exact_and_leverages_are_limited():
    X, y = make_problem(30, 3, seed=6)
    path = pls_path(X, y)
    expected = sm.OLS(y, sm.add_constant(X)).fit().get_influence().resid_press
    np.testing.assert_allclose(deleted_residuals(path[3]), expected, rtol=1e-9)
    X[0] += 100.0  # a row that the fit follows wherever it goes
    path = pls_path(X, y)
    assert path.leverage(3)[0] > 0.99
    assert deleted_residuals(path[3])[0] == pytest.approx(path[3].residuals[0] / 0.3)


def test_jackknife_covariance_is_the_scatter_of_fits_without_one_row():
    X, y = make_problem(18, 5, seed=7)
    path = pls_path(X, y)
    result = coefficient_inference(path[2], covariance="jackknife")
    np.testing.assert_allclose(result.std_error, jackknife(path[2]).std_error, rtol=1e-8)
    assert result.degrees_of_freedom == 17
    X_new = X[:4] + 0.1
    fits = [pls_path(np.delete(X, i, 0), np.delete(y, i), 2).predict(X_new)[2] for i in range(18)]
    spread = np.sqrt(17 / 18 * np.sum((fits - np.mean(fits, axis=0)) ** 2, axis=0))
    mean = prediction_interval(path[2], X_new, kind="mean", covariance="jackknife")
    np.testing.assert_allclose(mean.std_error, spread, rtol=1e-8)


def test_jackknife_agrees_with_the_test_of_r():
    expected = reference_numbers("pls-gasoline")["unscaled"]["jack_3"]
    path = pls_path(*load_gasoline(return_X_y=True), 3, scale=False)
    found = jackknife(path[3], cv=10)
    np.testing.assert_allclose(found.coef, expected["coef"], rtol=1e-8)
    np.testing.assert_allclose(found.std_error, expected["sd"], rtol=1e-8)
    np.testing.assert_allclose(found.statistic, expected["t"], rtol=1e-8)
    np.testing.assert_allclose(found.p_value, expected["p"], rtol=1e-7)
    assert found.degrees_of_freedom == expected["df"]


@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("shape", [(20, 50), (40, 5)])
def test_fits_without_a_fold_know_their_coefficients_and_means(shape, scale):
    X, y = make_problem(*shape, seed=4, noise=1.0)
    X = X + 50.0
    coef, level = left_out_coefs(pls_path(X, y, 3, scale=scale)[2], 5)
    for fold in range(5):
        rows = np.arange(len(y)) % 5 != fold
        part = pls_path(X[rows], y[rows], 3, scale=scale)[2]
        np.testing.assert_allclose(coef[fold], part.coef, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(level[fold], part.predict(X.mean(axis=0)[None])[0], rtol=1e-10)
