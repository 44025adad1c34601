"""T^2 and Q against dense textbook formulas and simulation."""

import numpy as np
import pandas as pd
import pytest
from _helpers.latent import DATA, PROBLEMS, Textbook, new_rows
from scipy import stats

from plsdof import pls_path
from plsdof.chemometrics import distances as monitoring
from plsdof.chemometrics.distances import LIMITS
from plsdof.errors import ConstantColumnWarning, InvalidInputError


@pytest.fixture(params=PROBLEMS, ids="-".join)
def problem(request):
    name, solver = request.param
    X, y = DATA[name]
    return X, y, pls_path(X, y, 5, solver=solver)


@pytest.mark.parametrize("m", [1, 3, 5])
def test_t2_is_the_mahalanobis_distance_of_scikit_learns_scores(problem, m):
    X, y, path = problem
    book = Textbook(X, y, m)
    precision = np.linalg.inv(np.atleast_2d(np.cov(book.T.T)))
    expected = np.einsum("ij,jk,ik->i", book.T, precision, book.T)
    np.testing.assert_allclose(monitoring.hotelling_t2(path[m]).values, expected, rtol=1e-7)
    other = new_rows(X)
    t = book.model.transform(other)
    expected = np.einsum("ij,jk,ik->i", t, precision, t)
    np.testing.assert_allclose(monitoring.hotelling_t2(path[m], other).values, expected, rtol=1e-6)


@pytest.mark.parametrize("m", [1, 3, 5])
def test_q_is_the_squared_residual_of_scikit_learns_reconstruction(problem, m):
    X, y, path = problem
    book = Textbook(X, y, m)
    np.testing.assert_allclose(
        monitoring.q_residuals(path[m]).values, np.sum(book.E**2, axis=1), rtol=1e-7
    )
    other = new_rows(X)
    residual = (other - book.mean) / book.std - book.model.transform(other) @ book.P.T
    np.testing.assert_allclose(
        monitoring.q_residuals(path[m], other).values, np.sum(residual**2, axis=1), rtol=1e-6
    )


@pytest.mark.parametrize("level", [0.95, 0.99])
def test_the_limit_of_q_is_boxs_on_the_dense_residual_covariance(problem, level):
    X, y, path = problem
    E = Textbook(X, y, 2).E
    covariance = E.T @ E / (len(X) - 1)
    mean, variance = np.trace(covariance), 2 * np.sum(covariance**2)
    value = variance / (2 * mean) * stats.chi2.ppf(level, 2 * mean**2 / variance)
    result = monitoring.q_residuals(path[2], level=level, limit="distribution")
    assert result.limit == pytest.approx(value, rel=1e-7)
    np.testing.assert_array_equal(result.flags, np.sum(E**2, axis=1) > value)


def test_t2_limits_are_the_beta_and_f_quantiles_of_tracy_young_and_mason():
    X, y = DATA["tall"]
    path = pls_path(X, y, 3)
    n, m = 40, 3
    training = (n - 1) ** 2 / n * stats.beta.ppf(0.99, m / 2, (n - m - 1) / 2)
    new = m * (n + 1) * (n - 1) / (n * (n - m)) * stats.f.ppf(0.99, m, n - m)
    assert monitoring.hotelling_t2(path[m], level=0.99).limit == pytest.approx(training)
    textbook = monitoring.hotelling_t2(path[m], X, level=0.99, limit="distribution")
    assert textbook.limit == pytest.approx(new)


def test_training_rows_given_as_new_rows_have_the_same_values(problem):
    X, _, path = problem
    for function in (monitoring.hotelling_t2, monitoring.q_residuals):
        np.testing.assert_allclose(
            function(path[3], X).values, function(path[3]).values, rtol=1e-6, atol=1e-10
        )


@pytest.mark.parametrize("level", [0, 1, 1.5, np.nan, "high", True, None])
def test_level_outside_the_unit_interval_is_refused(level):
    path = pls_path(*DATA["tall"], 2)
    with pytest.raises(InvalidInputError):
        monitoring.hotelling_t2(path[1], level=level)


def test_a_level_in_percent_is_answered_with_the_fraction():
    path = pls_path(*DATA["tall"], 2)
    with pytest.raises(InvalidInputError):
        monitoring.hotelling_t2(path[1], level=90)


def test_new_data_frames_are_checked_against_the_training_columns():
    X, y = DATA["tall"]
    frame = pd.DataFrame(X, columns=list("abcdef"))
    path = pls_path(frame, y, 2)
    same = monitoring.hotelling_t2(path[2], frame).values
    np.testing.assert_allclose(same, monitoring.hotelling_t2(path[2], X).values)
    for function in (monitoring.hotelling_t2, monitoring.q_residuals):
        other = function(path[2], frame[list("fedcba")]).values
        np.testing.assert_array_equal(other, function(path[2], frame).values)
        with pytest.raises(InvalidInputError):
            function(path[2], frame[list("abcde")])


@pytest.mark.parametrize(
    "eigenvalues", [np.ones(5), np.ones(1), np.array([1.0, 0.5, 0.2]), np.arange(1.0, 40.0) ** -2]
)
def test_the_limit_of_q_approximates_the_quantile_of_a_weighted_chi_square_sum(eigenvalues):
    rng = np.random.default_rng(6)
    q = rng.chisquare(1, size=(40_000, len(eigenvalues))) @ eigenvalues
    rate = np.mean(q > monitoring.q_limit(eigenvalues, 0.95).limit)
    # Standard error 0.0011; the approximation itself is good to half a percent here.
    assert 0.041 < rate < 0.059
    tiny = monitoring.q_limit(1e-200 * eigenvalues, 0.95).limit
    assert tiny == pytest.approx(1e-200 * monitoring.q_limit(eigenvalues, 0.95).limit)


def test_residuals_below_the_resolution_of_the_gram_matrix_are_reported():
    rng = np.random.default_rng(8)
    left, _ = np.linalg.qr(rng.normal(size=(30, 8)) - 0.1)
    right, _ = np.linalg.qr(rng.normal(size=(8, 8)))
    size = np.append([1.0, 0.5, 0.3], np.full(5, 1e-8))
    X = (left - left.mean(axis=0)) * size @ right.T
    y = left[:, :3] @ [1.0, 0.5, 0.3]
    coarse, fine = (pls_path(X, y, 3, solver=solver, scale=False) for solver in ("gram", "svd"))
    assert "solver='svd'" in monitoring.q_residuals(coarse[3]).message
    assert "solver='svd'" not in monitoring.q_residuals(coarse[2]).message
    q = monitoring.q_residuals(fine[3])
    assert q.message == ""
    assert 1e-17 < q.values.sum() < 1e-14
    assert q.limit > q.values.mean()


def false_alarms(n, p, m, repetitions, *, method):
    rng = np.random.default_rng(2024)
    loadings = rng.normal(size=(3, p))

    def draw(rows):
        T = rng.normal(size=(rows, 3)) * [1.5, 1.1, 0.7]
        return T @ loadings + rng.normal(size=(rows, p)), T.sum(axis=1) + rng.normal(size=rows)

    rates = []
    for _ in range(repetitions):
        path = pls_path(*draw(n), m)
        new, _ = draw(200)
        results = [monitoring.hotelling_t2(path[m]), monitoring.hotelling_t2(path[m], new)]
        results.append(monitoring.q_residuals(path[m], limit=method))
        results.append(monitoring.q_residuals(path[m], new, limit=method))
        rates.append([result.flags.mean() for result in results])
    mean, error = np.mean(rates, axis=0), np.std(rates, axis=0) / np.sqrt(repetitions)
    return mean, error


@pytest.mark.slow
@pytest.mark.parametrize("method", LIMITS)
def test_five_percent_of_ordinary_rows_exceed_the_limits_in_large_samples(method):
    mean, error = false_alarms(600, 10, 3, 150, method=method)
    # A tenth of the nominal rate is allowed for the approximations, beside chance.
    assert np.all(np.abs(mean - 0.05) < 0.005 + 4 * error)


def test_a_column_that_starts_to_vary_counts_in_q_of_unscaled_data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 5))
    y = X[:, 0] + rng.normal(size=50)
    X[:, 4] = 3.0
    new = X[:3].copy()
    new[0, 4] = 50.0
    with pytest.warns(ConstantColumnWarning):
        path = pls_path(X, y, 2, scale=False)
    values, before = (monitoring.q_residuals(path[2], rows).values for rows in (new, X[:3]))
    assert values[0] - before[0] == pytest.approx(47.0**2, rel=1e-9)
    np.testing.assert_allclose(values[1:], before[1:], rtol=1e-9)
