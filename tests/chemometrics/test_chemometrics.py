"""Explained variance and importance of variables; what they share with the diagnostics of rows."""

import dataclasses
import warnings

import numpy as np
import pytest
from _helpers.latent import DATA, PROBLEMS, Textbook, new_rows
from scipy import stats

from plsdof import pcr_path, pls_path
from plsdof.chemometrics import diagnostics as chemometrics
from plsdof.chemometrics import distances as monitoring
from plsdof.errors import ConstantColumnWarning, InvalidInputError, NotAvailableError


@pytest.fixture(params=PROBLEMS, ids="-".join)
def problem(request):
    name, solver = request.param
    X, y = DATA[name]
    return X, y, pls_path(X, y, 5, solver=solver)


def test_explained_variance_agrees_with_rank_one_terms_of_scikit_learn(problem):
    X, y, path = problem
    book = Textbook(X, y, 5)
    y_standard = (y - y.mean()) / y.std(ddof=1)
    x, r2 = [], []
    for j in range(5):
        x.append(np.sum(np.outer(book.T[:, j], book.P[:, j]) ** 2) / np.sum(book.Z**2))
        r2.append(np.sum((book.T[:, j] * book.q[j]) ** 2) / np.sum(y_standard**2))
    result = chemometrics.explained_variance(path)
    np.testing.assert_allclose(result.x, x, rtol=1e-8)
    np.testing.assert_allclose(result.y, r2, rtol=1e-8)
    np.testing.assert_allclose(result.x_cumulative[2], sum(x[:3]), rtol=1e-8)
    np.testing.assert_allclose(result.y_cumulative, 1 - path.rss[1:] / path.rss[0], rtol=1e-8)


@pytest.mark.parametrize("m", [1, 3, 5])
def test_vip_agrees_with_its_definition_on_scikit_learn(problem, m):
    X, y, path = problem
    book = Textbook(X, y, m)
    ss = np.array([np.sum((book.T[:, j] * book.q[j]) ** 2) for j in range(m)])
    expected = [
        np.sqrt(X.shape[1] * sum(ss[j] * book.W[k, j] ** 2 for j in range(m)) / ss.sum())
        for k in range(X.shape[1])
    ]
    np.testing.assert_allclose(chemometrics.vip(path[m]), expected, rtol=1e-8)


@pytest.mark.parametrize("m", [1, 3, 5])
def test_selectivity_ratio_agrees_with_target_projection_of_scikit_learn(problem, m):
    X, y, path = problem
    book = Textbook(X, y, m)
    b = book.model.coef_[0] * book.std
    t = book.Z @ b / np.linalg.norm(b)
    projected = np.outer(t, book.Z.T @ t / (t @ t))
    expected = projected.var(axis=0) / (book.Z - projected).var(axis=0)
    np.testing.assert_allclose(chemometrics.selectivity_ratio(path[m]).values, expected, rtol=1e-7)


def test_selectivity_ratio_test_flags_what_exceeds_the_f_quantile():
    X, y = DATA["tall"]
    path = pls_path(X, y, 3)
    result = chemometrics.selectivity_ratio(path[2], level=0.9)
    assert result.limit == pytest.approx(stats.f.ppf(0.9, 38, 37))
    ratios = chemometrics.selectivity_ratio(path[2]).values
    np.testing.assert_array_equal(result.flags, ratios > result.limit)
    assert 0 < result.flags.sum() < 6


@pytest.mark.parametrize("m", [1, 2, 5])
def test_identities_of_the_training_rows(problem, m):
    X, _, path = problem
    n, p = X.shape
    explained = chemometrics.explained_variance(path)
    assert np.mean(chemometrics.vip(path[m]) ** 2) == pytest.approx(1.0)
    assert monitoring.hotelling_t2(path[m]).values.sum() == pytest.approx((n - 1) * m)
    total = (n - 1) * p
    assert monitoring.q_residuals(path[m]).values.sum() == pytest.approx(
        total * (1 - explained.x_cumulative[m - 1]), rel=1e-7
    )


@pytest.mark.parametrize("solver", ["svd", "gram"])
def test_with_as_many_components_as_the_rank_everything_of_x_is_explained(solver):
    X, y = DATA["tall"]
    path = pls_path(X, y, solver=solver)
    explained = chemometrics.explained_variance(path)
    assert explained.x_cumulative[-1] == pytest.approx(1.0)
    for method in monitoring.LIMITS:
        q = monitoring.q_residuals(path[6], limit=method)
        np.testing.assert_array_equal(q.values, np.zeros(40))
        assert np.isnan(q.limit)
        assert "reproduce X" in q.message
        assert not q.flags.any()
    assert monitoring.q_residuals(path[5]).values.min() > 0
    np.testing.assert_allclose(monitoring.q_residuals(path[6], X + 1).values, 0, atol=1e-18)


def test_without_scaling_the_sums_refer_to_centred_columns():
    X, y = DATA["tall"]
    path = pls_path(X, y, 2, scale=False)
    centred = X - X.mean(axis=0)
    explained = chemometrics.explained_variance(path).x_cumulative[-1]
    left = monitoring.q_residuals(path[2]).values.sum()
    assert left == pytest.approx((1 - explained) * np.sum(centred**2))
    b = path.coef[2]
    t = centred @ b
    r2 = (centred.T @ t) ** 2 / (t @ t) / np.sum(centred**2, axis=0)
    np.testing.assert_allclose(chemometrics.selectivity_ratio(path[2]).values, r2 / (1 - r2))


def by_variable(path, m):
    return chemometrics.vip(path[m]), chemometrics.selectivity_ratio(path[m]).values


def by_row(path, m, X_new=None):
    results = [monitoring.hotelling_t2(path[m], X_new, limit="distribution")]
    # Folds of repeated rows are not those of weighted ones.
    results.append(monitoring.q_residuals(path[m], X_new, limit="distribution"))
    return [np.append(result.values, result.limit) for result in results]


def test_column_order_permutes_variables_and_leaves_rows_alone(problem):
    X, y, path = problem
    order = np.random.default_rng(3).permutation(X.shape[1])
    shuffled = pls_path(X[:, order], y, 5)
    for after, before in zip(by_variable(shuffled, 3), by_variable(path, 3), strict=True):
        np.testing.assert_allclose(after, before[order], rtol=1e-7)
    for after, before in zip(by_row(shuffled, 3), by_row(path, 3), strict=True):
        np.testing.assert_allclose(after, before, rtol=1e-7)


def test_units_of_columns_do_not_matter_with_scaling(problem):
    X, y, path = problem
    factor = 10.0 ** np.random.default_rng(4).uniform(-3, 3, X.shape[1])
    other = pls_path(X * factor - 7.0, 5.0 * y + 1.0, 5)
    new = new_rows(X)
    for after, before in zip(by_variable(other, 3), by_variable(path, 3), strict=True):
        np.testing.assert_allclose(after, before, rtol=1e-6)
    for after, before in zip(by_row(other, 3), by_row(path, 3), strict=True):
        np.testing.assert_allclose(after, before, rtol=1e-6)
    for after, before in zip(
        by_row(other, 3, new * factor - 7.0), by_row(path, 3, new), strict=True
    ):
        np.testing.assert_allclose(after, before, rtol=1e-6)


def test_integer_weights_mean_repeated_rows():
    X, y = DATA["tall"]
    counts = np.random.default_rng(5).integers(1, 4, len(X))
    rows = np.repeat(np.arange(len(X)), counts)
    weighted = pls_path(X, y, 4, sample_weight=counts)
    repeated = pls_path(X[rows], y[rows], 4)
    for a, b in zip(by_variable(weighted, 3), by_variable(repeated, 3), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-8)
    for a, b in zip(by_row(weighted, 3), by_row(repeated, 3), strict=True):
        np.testing.assert_allclose(np.append(a[rows], a[-1]), b, rtol=1e-8)
    for a, b in zip(by_row(weighted, 3, X[:5]), by_row(repeated, 3, X[:5]), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-8)
    for name in ("x", "y_cumulative"):
        a = getattr(chemometrics.explained_variance(weighted), name)
        b = getattr(chemometrics.explained_variance(repeated), name)
        np.testing.assert_allclose(a, b, rtol=1e-8)


def test_the_empty_model_has_zero_t2_and_the_whole_row_as_residual():
    X, y = DATA["tall"]
    path = pls_path(X, y, 2)
    t2, q = monitoring.hotelling_t2(path[0]), monitoring.q_residuals(path[0])
    np.testing.assert_array_equal(t2.values, np.zeros(40))
    assert np.isnan(t2.limit)
    assert t2.message
    Z = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    np.testing.assert_allclose(q.values, np.sum(Z**2, axis=1))
    assert q.limit > q.values.mean()
    for function in (chemometrics.vip, chemometrics.selectivity_ratio):
        with pytest.raises(NotAvailableError):
            function(path[0])


@pytest.mark.parametrize("solver", ["svd", "gram"])
def test_selectivity_of_a_variable_that_is_the_target_component_is_infinite(solver):
    x = np.random.default_rng(12).normal(size=30)
    x -= x.mean()
    other = np.random.default_rng(13).normal(size=(30, 2))
    other -= other.mean(axis=0)
    other -= np.outer(x, x @ other) / (x @ x)
    path = pls_path(np.column_stack([other, x, -3 * x]), x + 0.5 * other[:, 0] ** 2, 1)
    target = pls_path(np.column_stack([other, x, -3 * x]), 2 * x, 1, solver=solver)
    ratio = chemometrics.selectivity_ratio(target[1]).values
    assert np.all(ratio[2:] == np.inf)
    np.testing.assert_allclose(ratio[:2], 0, atol=1e-25)
    assert np.isfinite(chemometrics.selectivity_ratio(path[1]).values).all()


def test_single_predictor_is_explained_completely():
    x = np.array([[1.0], [2.0], [4.0], [5.0], [9.0]])
    path = pls_path(x, [1.0, 2.5, 3.0, 6.0, 8.0])
    assert chemometrics.vip(path[1]) == pytest.approx([1.0])
    assert chemometrics.selectivity_ratio(path[1]).values == pytest.approx([np.inf])
    assert chemometrics.explained_variance(path).x == pytest.approx([1.0])
    standard = (x[:, 0] - x.mean()) / x.std(ddof=1)
    np.testing.assert_allclose(monitoring.hotelling_t2(path[1]).values, standard**2)


def test_limits_that_the_sample_size_does_not_support_are_nan_with_a_reason():
    X, y = DATA["wide"]
    path = pls_path(X[:4], y[:4])
    t2 = monitoring.hotelling_t2(path[3])
    np.testing.assert_allclose(t2.values, 9 / 4)
    assert np.isnan(t2.limit)
    assert t2.message
    assert not t2.flags.any()
    assert np.isfinite(monitoring.hotelling_t2(path[3], X[4:]).limit)
    short = pls_path(X[:3], y[:3])
    ratio = chemometrics.selectivity_ratio(short[1])
    assert np.isnan(ratio.limit)
    assert "needs n > 3" in ratio.message
    pair = pls_path([[0.0, 1.0, 3.0], [1.0, 0.0, 5.0]], [0.0, 1.0])
    assert np.isnan(monitoring.hotelling_t2(pair[1]).limit)


def test_constant_columns_have_no_importance_and_no_selectivity():
    X, y = DATA["tall"]
    X = np.column_stack([X, np.full(40, 2.0)])
    with pytest.warns(ConstantColumnWarning):
        path = pls_path(X, y, 2)
    assert chemometrics.vip(path[2])[-1] == 0
    assert np.mean(chemometrics.vip(path[2]) ** 2) == pytest.approx(1)
    assert np.isnan(chemometrics.selectivity_ratio(path[2]).values[-1])
    assert not chemometrics.selectivity_ratio(path[2]).flags[-1]


def test_results_are_frozen_and_read_only():
    path = pls_path(*DATA["tall"], 2)
    t2 = monitoring.hotelling_t2(path[2])
    for array in (t2.values, t2.flags, chemometrics.explained_variance(path).x):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    with pytest.raises(dataclasses.FrozenInstanceError, match="limit"):
        t2.limit = 3.0


def test_unusable_arguments_are_refused():
    X, y = DATA["tall"]
    path = pls_path(X, y, 2)
    with pytest.raises(InvalidInputError):
        chemometrics.vip(pcr_path(X, y, 2)[1])
    with pytest.raises(InvalidInputError):
        monitoring.q_residuals(path)
    with pytest.raises(InvalidInputError):
        monitoring.q_residuals(path[1], limit="chi2")
    with pytest.raises(InvalidInputError):
        monitoring.hotelling_t2(path[1], X[:, :5])


@pytest.mark.parametrize("shape", [(300, 8), (40, 90)], ids=["tall", "wide"])
@pytest.mark.parametrize("scale", [True, False])
def test_vip_needs_no_decomposition(shape, scale):
    rng = np.random.default_rng(3)
    X = rng.normal(size=shape) * rng.uniform(1.0, 9.0, shape[1])
    X[:, 1] = 4.0
    y = X[:, 2] + X[:, 5] + rng.normal(size=len(X))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConstantColumnWarning)
        path, counted = (pls_path(X, y, 4, scale=scale) for _ in range(2))
    _ = counted.dof
    found = chemometrics.vip(path[3])
    assert not path.is_counted
    assert counted.is_counted
    np.testing.assert_allclose(found, chemometrics.vip(counted[3]), rtol=1e-9, atol=1e-12)
    assert found[1] == 0.0
