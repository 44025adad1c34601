"""Importance of variables and diagnostics of rows for penalised and kernel paths."""

import numpy as np
import pytest
from _helpers.problems import difference_penalty

from plsdof import kernel_pls_path, penalized_pls_path, pls_path
from plsdof.chemometrics import (
    explained_variance,
    hotelling_t2,
    q_residuals,
    selectivity_ratio,
    vip,
)
from plsdof.chemometrics.distances import q_limit
from plsdof.errors import NotAvailableError

M = 3
OPTIONS = {"svd": {"solver": "svd"}, "gram": {"solver": "gram"}, "scaled": {"scale": True}}


def make_spectra(n, p, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)).cumsum(axis=1) + rng.normal(size=p)
    return X, X[:, 3:6].mean(axis=1) + 0.5 * rng.normal(size=n)


class Dense:
    """Penalised PLS by its published algorithm: weights, scores, loadings, residuals of X."""

    def __init__(self, X, y, strength, m, scale):
        self.mean, spread = X.mean(axis=0), X.std(axis=0, ddof=1)
        self.spread = spread if scale else np.ones_like(spread)
        self.Z = left = (X - self.mean) / self.spread
        metric = np.eye(X.shape[1]) + strength * difference_penalty(X.shape[1])
        r, W, T, P = y - y.mean(), [], [], []
        for _ in range(m):
            w = np.linalg.solve(metric, left.T @ r)
            t = left @ w
            W.append(w)
            T.append(t)
            P.append(left.T @ t / (t @ t))
            left = left - np.outer(t, P[-1])
            r = r - t * (t @ r) / (t @ t)
        self.W, self.T, self.P, self.E = np.array(W).T, np.array(T).T, np.array(P).T, left
        self.fit = y - y.mean() - r
        self.explained = (self.T.T @ y) ** 2 / np.sum(self.T**2, axis=0)

    def residuals_of(self, X):
        Z = (X - self.mean) / self.spread
        scores = Z @ self.W @ np.linalg.inv(self.P.T @ self.W)
        return scores, Z - scores @ self.P.T


@pytest.fixture(params=[(30, 10), (12, 25)], ids=["tall", "wide"])
def shape(request):
    return request.param


@pytest.fixture(params=OPTIONS)
def case(request, shape):
    X, y = make_spectra(*shape)
    options = OPTIONS[request.param]
    path = penalized_pls_path(X, y, strength=10.0, max_components=5, **options)
    return X, y, path, Dense(X, y, 10.0, M, options.get("scale", False))


def test_vip_of_penalised_pls_uses_weights_of_length_one(case):
    X, _, path, dense = case
    shares = dense.W**2 / np.sum(dense.W**2, axis=0)
    expected = np.sqrt(X.shape[1] * shares @ dense.explained / dense.explained.sum())
    np.testing.assert_allclose(vip(path[M]), expected, rtol=1e-7)
    assert np.mean(vip(path[M]) ** 2) == pytest.approx(1)


def test_selectivity_of_penalised_pls_is_that_of_the_target_projection(case):
    *_, path, dense = case
    t = dense.fit
    projected = np.outer(t, dense.Z.T @ t / (t @ t))
    expected = projected.var(axis=0) / (dense.Z - projected).var(axis=0)
    test = selectivity_ratio(path[M])
    np.testing.assert_allclose(test.values, expected, rtol=1e-6)
    np.testing.assert_array_equal(test.flags, expected > test.limit)


def test_explained_variance_of_penalised_pls_is_that_of_the_rank_one_terms(case):
    _, y, path, dense = case
    result = explained_variance(path)
    x = np.sum(dense.T**2, axis=0) * np.sum(dense.P**2, axis=0) / np.sum(dense.Z**2)
    np.testing.assert_allclose(result.x[:M], x, rtol=1e-7)
    np.testing.assert_allclose(result.y[:M], dense.explained / np.sum((y - y.mean()) ** 2))


def test_q_and_t2_of_penalised_pls_equal_the_dense_residuals_and_scores(case):
    X, _, path, dense = case
    rng = np.random.default_rng(1)
    new = X[:6] + rng.normal(size=(6, X.shape[1]))
    for rows, given in ((X, None), (new, new)):
        scores, residuals = dense.residuals_of(rows)
        q = np.sum(residuals**2, axis=1)
        np.testing.assert_allclose(q_residuals(path[M], given).values, q, rtol=1e-6)
        t2 = np.sum(scores**2 / dense.T.var(axis=0, ddof=1), axis=1)
        np.testing.assert_allclose(hotelling_t2(path[M], given).values, t2, rtol=1e-6)


def test_q_limit_of_penalised_pls_uses_the_residual_covariance(case):
    X, _, path, dense = case
    eigenvalues = np.linalg.eigvalsh(dense.E.T @ dense.E / (len(X) - 1))
    expected = q_limit(eigenvalues, 0.95).limit
    assert q_residuals(path[M]).limit == pytest.approx(expected, rel=1e-7)


def test_strength_zero_gives_the_numbers_of_plain_pls(shape):
    X, y = make_spectra(*shape, seed=2)
    plain = pls_path(X, y, M, scale=False)
    path = penalized_pls_path(X, y, strength=0.0, max_components=M)
    np.testing.assert_allclose(vip(path[M]), vip(plain[M]), rtol=1e-7)
    for function in (q_residuals, hotelling_t2, selectivity_ratio):
        one, other = function(path[M]), function(plain[M])
        np.testing.assert_allclose(one.values, other.values, rtol=1e-7)
        assert one.limit == pytest.approx(other.limit)
    np.testing.assert_allclose(explained_variance(path).x, explained_variance(plain).x, rtol=1e-8)


def test_integer_weights_mean_repeated_rows_for_penalised_pls():
    X, y = make_spectra(20, 8, seed=3)
    weights = np.random.default_rng(0).integers(1, 4, 20)
    rows = np.repeat(np.arange(20), weights)
    weighted = penalized_pls_path(X, y, strength=5.0, max_components=M, sample_weight=weights)
    repeated = penalized_pls_path(X[rows], y[rows], strength=5.0, max_components=M)
    np.testing.assert_allclose(vip(weighted[M]), vip(repeated[M]), rtol=1e-8)
    np.testing.assert_allclose(
        selectivity_ratio(weighted[M]).values, selectivity_ratio(repeated[M]).values, rtol=1e-7
    )
    for function in (q_residuals, hotelling_t2):
        one, other = function(weighted[M]), function(repeated[M])
        np.testing.assert_allclose(one.values[np.repeat(np.arange(20), weights)], other.values)
        assert one.limit == pytest.approx(other.limit)


def test_a_linear_kernel_has_the_t2_and_explained_variance_of_plain_pls(shape):
    X, y = make_spectra(*shape, seed=4)
    plain, kernel = pls_path(X, y, M), kernel_pls_path(X, y, "linear", M)
    for rows in (None, X[:4] + 1.0):
        np.testing.assert_allclose(
            hotelling_t2(kernel[M], rows).values, hotelling_t2(plain[M], rows).values, rtol=1e-7
        )
    one, other = explained_variance(kernel), explained_variance(plain)
    np.testing.assert_allclose(one.x, other.x, rtol=1e-8)
    np.testing.assert_allclose(one.y, other.y, rtol=1e-8)


def test_t2_of_a_kernel_is_the_mahalanobis_distance_of_its_scores():
    X, y = make_spectra(25, 4, seed=5)
    path = kernel_pls_path(X, y, gamma=0.1, max_components=M)
    scores = path.transform(X[:7])
    expected = np.sum(scores**2 / path.x_scores.var(axis=0, ddof=1), axis=1)
    np.testing.assert_allclose(hotelling_t2(path[M], X[:7]).values, expected, rtol=1e-7)


@pytest.mark.parametrize("function", [vip, selectivity_ratio, q_residuals])
def test_what_needs_predictors_is_refused_for_kernels_with_an_alternative(function):
    X, y = make_spectra(20, 6)
    path = kernel_pls_path(X, y, max_components=M)
    with pytest.raises(NotAvailableError):
        function(path[M])
