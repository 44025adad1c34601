"""Averages of all models: weights, Degrees of Freedom, derivatives."""

import numpy as np
import pytest
from _helpers.latent import latent_data, new_rows
from _helpers.problems import make_problem

from plsdof import kernel_pls_path, pcr_path, penalized_pls_path, pls_path, ridge_path
from plsdof._core.criteria import average_weights, gcv, mallows_weights, model_weights
from plsdof.errors import NotAvailableError
from plsdof.inference.intervals import coefficient_inference, prediction_interval

WIDE = latent_data(30, 60, 2, noise=1.0)
TALL = latent_data(50, 6, 3, noise=1.0)
PATHS = {
    "wide": lambda y=None: pls_path(WIDE[0], WIDE[1] if y is None else y, 6),
    "tall": lambda y=None: pls_path(TALL[0], TALL[1] if y is None else y, 5),
    "svd": lambda y=None: pls_path(TALL[0], TALL[1] if y is None else y, solver="svd"),
    "pcr": lambda y=None: pcr_path(TALL[0], TALL[1] if y is None else y),
    "ridge": lambda y=None: ridge_path(
        TALL[0], TALL[1] if y is None else y, [1.0, 1000.0, 30.0, 200.0]
    ),
    "kernel": lambda y=None: kernel_pls_path(
        TALL[0], TALL[1] if y is None else y, max_components=5
    ),
    "penalised": lambda y=None: penalized_pls_path(
        TALL[0], TALL[1] if y is None else y, max_components=4
    ),
}


def test_weights_are_powers_of_gcv_within_the_guard():
    path = PATHS["wide"]()
    scores = gcv(path.rss, path.dof, 30)
    weights = path.weights("exact", by="gcv")
    assert weights.sum() == pytest.approx(1)
    ratio = weights[2] / weights[1]
    assert ratio == pytest.approx((scores[2] / scores[1]) ** (-15))
    long = pls_path(*make_problem(20, 60, seed=3, decay=0.5))
    smooth = long.smoothed_dof()
    beyond = int(np.argmax(smooth > 18))
    assert beyond > 0
    assert np.all(long.weights(by="gcv")[beyond:] == 0)
    assert np.all(long.weights(by="gcv")[:beyond] > 0)


def error_of_average(weights, residuals, dof, noise):
    """Mallows' criterion of an average, from its residuals."""
    left_over = weights @ residuals
    return left_over @ left_over + 2 * noise * weights @ dof


@pytest.mark.parametrize("name", [one for one in PATHS if one != "ridge"])
def test_weights_minimise_the_estimated_error_of_the_average(name):
    path = PATHS[name]()
    chosen, dof, n = path.select().index, path._dof("smoothed"), len(path.response)
    residuals = path.response - path.fitted
    noise = path.rss[chosen] / (n - dof[chosen])
    weights = path.weights()
    assert weights.sum() == pytest.approx(1)
    assert np.all(weights >= 0)
    assert np.all(weights[chosen + 1 :] == 0)
    least = error_of_average(weights, residuals, dof, noise)
    # A convex function: no step towards any model up to the chosen one goes down.
    for m in range(chosen + 1):
        step = weights + 1e-4 * (np.eye(len(weights))[m] - weights)
        assert error_of_average(step, residuals, dof, noise) >= least * (1 - 1e-12)


def test_ridge_regression_is_weighed_by_gcv():
    path = PATHS["ridge"]()
    np.testing.assert_array_equal(path.weights(), path.weights(by="gcv"))
    with pytest.raises(NotAvailableError, match="nested models"):
        path.weights(by="mallows")


def test_components_are_pooled_or_left_out_but_never_negative():
    # The second component gains more per Degree of Freedom than the first: one share for both.
    weights = mallows_weights(np.array([50.0, 48.0, 10.0]), np.array([1.0, 3.0, 4.0]), 2)
    np.testing.assert_allclose(weights, [3 / 40, 0, 37 / 40])
    # A component that gains less than noise would, and one that gains nothing at all.
    weights = mallows_weights(np.array([50.0, 10.0, 9.5, 9.5]), np.array([1.0, 3.0, 4.0, 5.0]), 3)
    np.testing.assert_allclose(weights, [2 / 40, 38 / 40, 0, 0])
    np.testing.assert_array_equal(mallows_weights(np.ones(2), np.arange(2.0), 0), [1, 0])


def test_an_exact_fit_gets_all_weight():
    weights = model_weights(np.array([5.0, 0.0, 0.0]), np.array([1.0, 3.0, 4.0]), 10)
    np.testing.assert_array_equal(weights, [0, 1, 0])
    weights = average_weights(np.array([5.0, 0.0, 0.0]), np.array([1.0, 3.0, 4.0]), 10, 1)
    np.testing.assert_array_equal(weights, [0, 1, 0])
    for refused in (model_weights, lambda *data: average_weights(*data, 0)):
        with pytest.raises(NotAvailableError, match="nothing to average"):
            refused(np.array([5.0]), np.array([9.5]), 10)


@pytest.mark.parametrize("name", PATHS)
def test_an_average_is_the_weighted_sum_of_the_models(name):
    path = PATHS[name]()
    average = path.average()
    np.testing.assert_allclose(average.coef, average.weights @ path.coef, rtol=1e-9, atol=1e-12)
    assert average.intercept == pytest.approx(average.weights @ path.intercept)
    X_new = new_rows(WIDE[0] if name == "wide" else TALL[0])
    np.testing.assert_allclose(
        average.predict(X_new), average.weights @ path.predict(X_new), rtol=1e-9
    )
    np.testing.assert_allclose(average.fitted, average.weights @ path.fitted, rtol=1e-9)
    residual = path.response - average.fitted
    assert average.rss == pytest.approx(residual @ residual)


@pytest.mark.parametrize("by", ["mallows", "gcv"])
@pytest.mark.parametrize("name", PATHS)
def test_derivative_against_central_differences(name, by):
    path = PATHS[name]()
    by = "gcv" if name == "ridge" else by
    order, chosen = path.simplest_first(), path.select().index
    dof = np.empty(len(order))
    dof[:] = path._dof("smoothed")
    n = len(path.response)

    def fitted(y):
        again = path.refit(y)
        if by == "mallows":
            return average_weights(again.rss, dof, n, chosen) @ again.fitted
        weights = np.empty(len(order))
        weights[order] = model_weights(again.rss[order], dof[order], n)
        return weights @ again.fitted

    jacobian = path.average(by=by).jacobian()
    step = 1e-5 * path.response.std()
    for i in (0, 7, n - 1):
        move = np.zeros(n)
        move[i] = step
        difference = (fitted(path.response + move) - fitted(path.response - move)) / (2 * step)
        np.testing.assert_allclose(jacobian[:, i], difference, atol=2e-6)


@pytest.mark.parametrize("by", [None, "gcv"])
@pytest.mark.parametrize("name", PATHS)
def test_traces_are_those_of_the_derivative(name, by):
    average = PATHS[name]().average(by=by)
    J = average.jacobian()
    assert average.dof == pytest.approx(np.trace(J), rel=1e-8)
    np.testing.assert_allclose(average.path.leverage(0), np.diagonal(J), atol=1e-9)
    left_over = np.eye(len(J)) - J
    assert average.path.filter.residual_trace[0] == pytest.approx(np.sum(left_over**2), rel=1e-7)
    assert average.noise_variance == pytest.approx(average.rss / np.sum(left_over**2), rel=1e-7)


@pytest.mark.parametrize("name", ["wide", "tall", "ridge"])
def test_derivative_of_the_coefficients_leads_to_that_of_the_fit(name):
    path = PATHS[name]().average().path
    X = WIDE[0] if name == "wide" else TALL[0]
    J = path.coef_jacobian(0)
    expected = (X - X.mean(axis=0)) @ J + 1.0 / len(X)
    np.testing.assert_allclose(path.jacobian(0), expected, atol=1e-8)
    np.testing.assert_allclose(
        path.coef_covariance(0, noise=2.0), 2.0 * J @ J.T, rtol=1e-6, atol=1e-10
    )


def test_weights_that_move_cost_degrees_of_freedom():
    path = PATHS["tall"]()
    average = path.average()
    assert average.dof > average.weights @ path.dof


def test_weighted_rows_equal_repeated_ones():
    X, y = TALL
    weights = np.repeat([1.0, 2.0], 25)
    one = pls_path(X, y, 4, sample_weight=weights).average()
    two = pls_path(np.vstack([X, X[25:]]), np.append(y, y[25:]), 4).average()
    np.testing.assert_allclose(one.weights, two.weights, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(one.coef, two.coef, rtol=1e-7)
    assert one.dof == pytest.approx(two.dof, rel=1e-7)
    assert one.noise_variance == pytest.approx(two.noise_variance, rel=1e-7)


def test_a_refit_averages_anew():
    path = PATHS["tall"]()
    y = path.response[::-1].copy()
    again = path.average().path.refit(y)
    np.testing.assert_allclose(again.coef, PATHS["tall"](y).complete().average().path.coef)


def test_inference_takes_an_average():
    path = PATHS["tall"]()
    average = path.average()
    interval = prediction_interval(average.path, 0, TALL[0][:3])
    np.testing.assert_allclose(interval.center, average.predict(TALL[0][:3]))
    assert np.all(interval.lower < interval.upper)
    assert coefficient_inference(average.path, 0).coef.shape == (6,)


def test_an_average_has_no_average():
    with pytest.raises(NotAvailableError, match="average already"):
        PATHS["tall"]().average().path.average()


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_degrees_of_freedom_are_nearly_those_of_monte_carlo(seed):
    """cov(yhat, y) / sigma^2; the gradient of smoothed Degrees of Freedom is left out."""
    X, y = latent_data(40, 10, seed, noise=1.0)
    base = pls_path(X, y, 6, solver="svd")
    mu, sigma, rng = base.fitted[3], 1.0, np.random.default_rng(seed)
    true, said = [], []
    for _ in range(800):
        noise = sigma * rng.normal(size=40)
        average = base.refit(mu + noise).average()
        true.append((average.fitted - mu) @ noise / sigma**2)
        said.append(average.dof)
    error = np.hypot(np.std(true), np.std(said)) / np.sqrt(800)
    assert abs(np.mean(true) - np.mean(said)) < 4 * error + 0.06 * np.mean(true)
