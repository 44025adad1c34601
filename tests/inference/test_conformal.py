"""Intervals from left-out residuals: definitions, exactness, refusals, coverage."""

import numpy as np
import pytest
from _helpers.problems import make_problem
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from plsdof import KernelPLSRegressor, PLSRegressor, kernel_pls_path, pls_path, ridge_path
from plsdof.errors import InvalidInputError, NotAvailableError
from plsdof.estimators import PenalizedPLSRegressor
from plsdof.inference import conformal_scores, leave_out, prediction_interval
from plsdof.inference.conformal import conformal_critical, jackknife_plus
from plsdof.variants import penalized_pls_path


def by_hand(fit, X, y, X_new, level):
    """Jackknife+ as it is defined, with a loop."""
    n = len(y)
    low, high = [], []
    for i in range(n):
        predict = fit(np.delete(X, i, 0), np.delete(y, i))
        size = abs(y[i] - predict(X[i : i + 1])[0])
        low.append(predict(X_new) - size)
        high.append(predict(X_new) + size)
    k = int(np.ceil(level * (n + 1)))
    return np.sort(low, axis=0)[n - k], np.sort(high, axis=0)[k - 1]


@pytest.mark.parametrize(
    "make",
    [
        lambda X, y: pls_path(X, y, 4),
        lambda X, y: pls_path(X, y, 4, scale=False),
        lambda X, y: ridge_path(X, y, [1.0, 5.0, 3.0]),
        lambda X, y: kernel_pls_path(X, y, "rbf", 4, gamma=0.1),
        lambda X, y: penalized_pls_path(X, y, strength=2.0, max_components=4),
    ],
)
def test_jackknife_plus_follows_its_definition(make):
    X, y = make_problem(24, 6, seed=1)
    X_new = make_problem(5, 6, seed=2)[0]
    found = prediction_interval(make(X, y), 2, X_new, method="jackknife+", level=0.9)

    def fit(X, y):
        path = make(X, y)
        return lambda rows: path.predict(rows)[2]

    low, high = by_hand(fit, X, y, X_new, 0.9)
    np.testing.assert_allclose(found.lower, low, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(found.upper, high, rtol=1e-7, atol=1e-9)


def test_jackknife_plus_of_an_estimator_makes_the_choice_again():
    X, y = make_problem(30, 8, seed=3, noise=1.0)
    X_new = X[:4] + 0.2
    model = PLSRegressor("gcv", dof="exact").fit(X, y)

    def fit(X, y):
        return PLSRegressor("gcv", dof="exact").fit(X, y).predict

    low, high = by_hand(fit, X, y, X_new, 0.9)
    found = model.predict_interval(X_new, 0.9, method="jackknife+")
    np.testing.assert_allclose(found, np.column_stack([low, high]), rtol=1e-7)
    # The fits are made once.
    kept = model._fits_without_rows["chosen"][0]
    model.predict_interval(X, method="jackknife+")
    assert model._fits_without_rows["chosen"][0] is kept


def test_scores_are_of_exact_fits_where_the_closed_form_fails():
    X, y = make_problem(30, 16, seed=4, noise=1.0)
    path = pls_path(X, y)
    high = int(np.argmax([path.leverage(m).max() > 0.7 for m in range(13)]))
    assert high > 1
    for m in (high - 1, high):
        share = np.square(path.jacobian(m)).sum(axis=1)
        numerator = leave_out(path, m).residuals if m == high else path.loo_residuals(m)
        expected = np.sort(np.abs(numerator) / np.sqrt(1.0 + share))
        np.testing.assert_allclose(conformal_scores(path, m), expected, rtol=1e-8)


def test_jackknife_plus_of_an_average_averages_again():
    X, y = make_problem(24, 6, seed=9, noise=1.0)
    model = PLSRegressor("average").fit(X, y)

    def fit(X, y):
        return PLSRegressor("average").fit(X, y).predict

    low, high = by_hand(fit, X, y, X[:3], 0.9)
    found = model.predict_interval(X[:3], 0.9, method="jackknife+")
    np.testing.assert_allclose(found, np.column_stack([low, high]), rtol=1e-7)
    for method in ("normal", "conformal"):
        limits = model.predict_interval(X, method=method)
        inside = (limits[:, 0] < model.predict(X)) & (model.predict(X) < limits[:, 1])
        assert inside.all()


def test_rows_left_out_together_make_cv_plus():
    X, y = make_problem(20, 4, seed=4)
    left = leave_out(pls_path(X, y), 2, cv=5)
    assert left.coef.shape == (5, 4)
    test = np.arange(20) % 5 == 3
    path = pls_path(X[~test], y[~test], 2)
    np.testing.assert_allclose(left.residuals[test], y[test] - path.predict(X[test])[2], rtol=1e-9)
    assert set(left.fold_of[test]) == {3}
    assert jackknife_plus(left, X, 0.9).shape == (20, 2)


def test_conformal_scores_are_studentised_leave_one_out_residuals():
    X, y = make_problem(30, 6, seed=5)
    path = pls_path(X, y)
    J = path.jacobian(2)
    loo = np.abs(y - path.fitted[2]) / (1 - np.diag(J))
    expected = np.sort(loo / np.sqrt(1 + np.sum(J**2, axis=1)))
    np.testing.assert_allclose(conformal_scores(path, 2), expected, rtol=1e-9)
    found = prediction_interval(path, 2, X, method="conformal", level=0.8)
    k = int(np.ceil(0.8 * 31))
    half = expected[k - 1] * np.sqrt(1 + np.sum(J**2, axis=1))
    np.testing.assert_allclose(found.upper - found.center, half, rtol=1e-9)


def test_conformal_quantile_is_a_whole_rank():
    scores = np.arange(1.0, 20.0)
    assert conformal_critical(scores, 0.95) == 19.0  # 0.95 * 20 is 19, not the next number
    assert conformal_critical(scores, 0.9) == 18.0
    with pytest.raises(NotAvailableError, match="at least 19 rows"):
        conformal_critical(scores[:18], 0.95)


@pytest.mark.parametrize(
    ("choose", "message"),
    [
        (None, "choose must be the row of a model or a function path -> row; got None"),
        (1.5, "choose must be the row of a model or a function path -> row; got 1.5"),
        (lambda path: "two", r"choose\(path\) must be a whole number >= 0; got 'two'"),  # noqa: ARG005
        (lambda path: -1, r"choose\(path\) must be >= 0; got -1"),  # noqa: ARG005
    ],
)
def test_a_choice_that_is_not_a_row_is_refused(choose, message):
    path = pls_path(*make_problem(25, 4))
    with pytest.raises(InvalidInputError, match=message):
        leave_out(path, choose)


def test_intervals_of_observations_only():
    path = pls_path(*make_problem(25, 3, seed=6))
    with pytest.raises(InvalidInputError, match="kind='observation'"):
        prediction_interval(path, 1, np.zeros((1, 3)), method="conformal", kind="mean")
    with pytest.raises(InvalidInputError, match="method"):
        prediction_interval(path, 1, np.zeros((1, 3)), method="bayes")


@pytest.mark.parametrize("method", ["normal", "conformal", "jackknife+"])
def test_estimators_and_pipelines_give_the_same_intervals(method):
    X, y = make_problem(25, 5, seed=7)
    direct = PLSRegressor(2).fit(X, y)
    pipeline = make_pipeline(StandardScaler(), PLSRegressor(2)).fit(X, y)
    found = prediction_interval(pipeline, X_new=X, level=0.9, method=method)
    np.testing.assert_allclose(
        np.column_stack([found.lower, found.upper]),
        direct.predict_interval(X, 0.9, method=method),
        rtol=1e-8,
    )
    for other in (KernelPLSRegressor(2), PenalizedPLSRegressor(2)):
        limits = other.fit(X, y).predict_interval(X, method=method)
        assert np.all(limits[:, 0] < limits[:, 1])


def test_every_interval_says_what_it_assumes():
    path = pls_path(*make_problem(25, 4, seed=8))
    rows = np.zeros((1, 4))
    words = {
        prediction_interval(path, 2, rows, method=method).assumptions
        for method in ("normal", "conformal", "jackknife+")
    } | {
        prediction_interval(path, 2, rows, kind=kind, covariance=covariance).assumptions
        for kind in ("mean", "truth")
        for covariance in ("homoscedastic", "hc3", "jackknife")
    }
    assert len(words) == 9
    assert all(text.endswith(".") and "\n" not in text and text[0].isupper() for text in words)
    assert (
        "2 components held fixed" in PLSRegressor(2).fit(*make_problem(25, 4)).summary().assumptions
    )


@pytest.mark.slow
@pytest.mark.parametrize("method", ["conformal", "jackknife+"])
def test_coverage_of_new_observations_under_heteroscedastic_noise(method):
    rng = np.random.default_rng(0)
    inside = []
    for _ in range(200):
        X = rng.normal(size=(60, 8))
        X_new = rng.normal(size=(20, 8))
        y, y_new = (
            rows[:, 0] + (0.3 + np.abs(rows[:, 0])) * rng.normal(size=len(rows))
            for rows in (X, X_new)
        )
        limits = PLSRegressor(2).fit(X, y).predict_interval(X_new, method=method)
        inside.append(np.mean((limits[:, 0] <= y_new) & (y_new <= limits[:, 1])))
    # The standard error of the mean over 200 data sets is below 0.005.
    assert 0.93 <= np.mean(inside) <= 0.98
