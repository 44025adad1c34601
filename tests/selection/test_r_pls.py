"""Agreement with R's package pls on the gasoline data, number by number."""

import numpy as np
import pytest
from _helpers.problems import reference_numbers

from plsdof import PCRegressor, PLSRegressor, cross_validate, pcr_path, pls_path
from plsdof.chemometrics import explained_variance
from plsdof.datasets import load_gasoline
from plsdof.inference import jackknife
from plsdof.inference.covariance import left_out_coefs

X, Y = load_gasoline(return_X_y=True)
# Row i is in fold i mod 10, as by default.
FOLDS = 10


@pytest.fixture(scope="module")
def numbers():
    return reference_numbers("pls-gasoline")


@pytest.fixture(params=["unscaled", "scaled"])
def run(request, numbers):
    return numbers[request.param]


def like(values, expected):
    """Return columns with the signs of others, which are arbitrary."""
    return values * np.sign(np.sum(values * expected, axis=0))


def test_errors_of_training_and_validation(run):
    options = {"max_components": 10, "scale": run["scale"]}
    path = pls_path(X, Y, **options)
    np.testing.assert_allclose(np.sqrt(path.rss / 60), run["rmse_train"], rtol=1e-8)
    np.testing.assert_allclose(1 - path.rss / path.rss[0], run["r2_train"], atol=1e-9)
    # At 0 components R reports another definition.
    one_out = path.left_out("loo")
    np.testing.assert_allclose(one_out.rmse[1:], run["rmse_loo"][1:], rtol=1e-7)


def test_validation_and_its_one_sigma_choice(run):
    result = cross_validate(X, Y, cv=FOLDS, max_components=10, scale=run["scale"])
    np.testing.assert_allclose(result.rmse[1:], run["rmse_cv"][1:], rtol=1e-7)
    predicted = result.predictions[0].T[:, 1:]
    np.testing.assert_allclose(predicted, run["cv_predictions"], rtol=1e-7)


def test_coefficients_scores_and_loadings(run):
    model = PLSRegressor(3, scale=run["scale"]).fit(X, Y)
    richer = PLSRegressor(5, scale=run["scale"]).fit(X, Y)
    # R's coefficients are those of the scaled columns.
    unit = X.std(axis=0, ddof=1) if run["scale"] else 1.0
    np.testing.assert_allclose(unit * model.coef_, run["coef_3"], rtol=1e-6)
    np.testing.assert_allclose(unit * richer.coef_, run["coef_5"], rtol=1e-6, atol=1e-9)
    for name, key in (
        ("x_scores_", "scores_3"),
        ("x_loadings_", "loadings_3"),
        ("x_weights_", "loading_weights_3"),
    ):
        expected = np.array(run[key])
        np.testing.assert_allclose(like(getattr(model, name), expected), expected, atol=1e-6)
    loadings = np.abs(model.path_.y_loadings[:3])
    np.testing.assert_allclose(loadings, np.abs(run["y_loadings_3"]), rtol=1e-7)


def test_explained_variance(run):
    shares = explained_variance(pls_path(X, Y, 10, scale=run["scale"])).x
    np.testing.assert_allclose(100 * shares, run["explained_x_percent"], rtol=1e-6, atol=1e-7)


def test_components_that_predict_on_their_own(run):
    found = pls_path(X, Y, 3, scale=run["scale"]).predict_components(X, [2, 3])
    np.testing.assert_allclose(found, run["fitted_comps_2_3"], rtol=1e-9)


def test_jackknife_errors_of_coefficients(run):
    expected = run["jack_3"]
    path = pls_path(X, Y, 3, scale=run["scale"])
    if not run["scale"]:
        found = jackknife(path[3], cv=FOLDS)
        np.testing.assert_allclose(found.std_error, expected["sd"], rtol=1e-6)
        return
    # R scales every fold by itself and compares coefficients of scaled columns.
    fold = np.arange(60) % FOLDS
    units = [X[fold != k].std(axis=0, ddof=1) for k in range(FOLDS)]
    spread = np.var(left_out_coefs(path[3], FOLDS)[0] * units, axis=0) * (FOLDS - 1)
    np.testing.assert_allclose(np.sqrt(spread), expected["sd"], rtol=1e-6)


def test_principal_components(numbers):
    run = numbers["pcr"]
    path = pcr_path(X, Y, 10, scale=False)
    for name, key in (("x_scores", "scores_3"), ("x_loadings", "loadings_3")):
        expected = np.array(run[key])
        np.testing.assert_allclose(like(getattr(path, name)[:, :3], expected), expected, atol=1e-8)
    shares = 100 * explained_variance(path).x
    np.testing.assert_allclose(shares, run["explained_x_percent"], rtol=1e-8)
    model = PCRegressor(5, scale=False).fit(X, Y)
    np.testing.assert_allclose(model.coef_, run["coef_5"], rtol=1e-6)
    found = cross_validate(X, Y, "pcr", cv=FOLDS, max_components=10, scale=False)
    np.testing.assert_allclose(found.rmse[1:], run["rmse_cv"][1:], rtol=1e-8)


def test_supervised_principal_components_among_the_first_ten(numbers):
    run = numbers["supervised_pcr"]
    path = pcr_path(X[:, ::20], Y, order="correlation", among=10)
    assert len(path) == 11
    np.testing.assert_allclose(path.coef.T, run["coefficients"], rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(path.intercept, np.ravel(run["intercept"]), rtol=1e-9)
