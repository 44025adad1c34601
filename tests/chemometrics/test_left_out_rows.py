"""Limits of T^2 and Q from rows left out, and contributions of variables."""

import numpy as np
import pytest
from _helpers.problems import make_problem
from scipy import stats

from plsdof import kernel_pls_path, pls_path
from plsdof.chemometrics import hotelling_t2, left_out_rows, outliers, q_residuals
from plsdof.chemometrics.rows import left_out_rows_of
from plsdof.variants import penalized_pls_path


def factor_rows(rng, n, *, log_normal=False):
    loadings = np.random.default_rng(5).normal(size=(3, 20))
    scores = rng.normal(size=(n, 3))
    rows = scores @ loadings + 0.3 * rng.normal(size=(n, 20))
    return (np.exp(0.3 * rows) if log_normal else rows), scores[:, 0]


@pytest.mark.parametrize("make", [pls_path, penalized_pls_path])
def test_values_are_those_of_fits_without_the_fold(make):
    X, y = make_problem(24, 6, seed=1)
    found = left_out_rows(make(X, y, max_components=4), 2, cv=4)
    test = np.arange(24) % 4 == 1
    part = make(X[~test], y[~test], max_components=2)
    np.testing.assert_allclose(found.t2[test], hotelling_t2(part, 2, X[test]).values, rtol=1e-8)
    np.testing.assert_allclose(found.q[test], q_residuals(part, 2, X[test]).values, rtol=1e-8)
    mean, variance = found.t2.mean(), found.t2.var(ddof=1)
    df = 2 * mean**2 / variance
    expected = mean / df * stats.chi2.ppf(0.9, df)
    assert found.limit("t2", 0.9).value == pytest.approx(expected)


def test_new_rows_have_cross_validated_limits_and_training_rows_have_not():
    X, y = make_problem(30, 5, seed=2)
    path = pls_path(X, y)
    assert hotelling_t2(path, 2, X).method == "cross-validated"
    assert hotelling_t2(path, 2).method == "beta distribution"
    assert q_residuals(path, 2, X).method == "cross-validated"
    assert q_residuals(path, 2).method == "jackson-mudholkar"
    table = outliers(path, 2, y, X)
    assert table.t2.limit == hotelling_t2(path, 2, X).limit
    assert table.q.limit == q_residuals(path, 2, X).limit


def test_kernel_models_have_left_out_t2_but_no_q():
    X, y = make_problem(30, 3, seed=3)
    found = left_out_rows(kernel_pls_path(X, y), 2)
    assert found.q is None
    assert np.all(found.t2 > 0)


@pytest.mark.slow
@pytest.mark.parametrize("log_normal", [False, True])
def test_false_alarms_on_new_rows_are_near_the_level(log_normal):
    rng = np.random.default_rng(0)
    alarms = {"t2": [], "q": []}
    for _ in range(100):
        X, signal = factor_rows(rng, 60, log_normal=log_normal)
        X_new, _ = factor_rows(rng, 100, log_normal=log_normal)
        path = pls_path(X, signal + rng.normal(size=60), 3)
        for name, measure in (("t2", hotelling_t2), ("q", q_residuals)):
            alarms[name].append(measure(path, 3, X_new).flags.mean())
    # Standard errors are about 0.4 %.
    assert 0.03 <= np.mean(alarms["t2"]) <= 0.08
    assert 0.03 <= np.mean(alarms["q"]) <= 0.08


def test_a_row_far_from_all_others_does_not_hide_behind_its_own_limit():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(60, 3)) @ rng.normal(size=(3, 20)) + 0.3 * rng.normal(size=(60, 20))
    y = X[:, 0] + 0.1 * rng.normal(size=60)
    clean = left_out_rows(pls_path(X, y, 3), 3)
    assert clean.outlying("q") == clean.outlying("t2") == 0
    X[7, 5:9] += [8.0, -8.0, 8.0, -8.0]
    path = pls_path(X, y, 3)
    found = left_out_rows(path, 3)
    assert found.outlying("q") == 1
    limit = found.limit("q", 0.95)
    assert "1 row far from them left out" in limit.message
    # Among the other rows the limit is an ordinary one.
    others = np.delete(found.q, 7)
    assert np.mean(others > limit.value) < 0.1
    assert limit.value < 2.0 * np.quantile(others, 0.95)
    flagged = q_residuals(path, 3, X, left_out=found)
    assert flagged.flags[7]
    assert "far from them" in flagged.message


def test_rows_far_from_all_others_do_not_hide_each_other():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(60, 3)) @ rng.normal(size=(3, 20)) + 0.3 * rng.normal(size=(60, 20))
    y = X[:, 0] + 0.1 * rng.normal(size=60)
    for row in (7, 20, 33):
        X[row, 5:9] += [8.0, -8.0, 8.0, -8.0]
    found = left_out_rows(pls_path(X, y, 3), 3)
    assert found.outlying("q") == 3
    others = np.delete(found.q, [7, 20, 33])
    assert found.limit("q", 0.95).value < others.max() < found.q[[7, 20, 33]].min()


@pytest.mark.parametrize("make", [pls_path, penalized_pls_path, kernel_pls_path])
def test_one_pass_measures_with_all_numbers_of_components(make):
    X, y = make_problem(24, 6, seed=1)
    path = make(X, y, max_components=4)
    models = [3, 0, 4]
    for m, found in zip(models, left_out_rows_of(path, models, cv=4), strict=True):
        alone = left_out_rows(path, m, cv=4)
        np.testing.assert_allclose(found.t2, alone.t2, rtol=1e-9)
        if found.q is not None:
            np.testing.assert_allclose(found.q, alone.q, rtol=1e-9)
    # Without components nothing is described.
    np.testing.assert_array_equal(left_out_rows(path, 0, cv=4).t2, 0.0)


def test_a_table_of_outliers_takes_rows_left_out_before():
    X, y = make_problem(24, 6, seed=1)
    path = pls_path(X, y, max_components=4)
    found = outliers(path, 3, y, X, left_out=left_out_rows(path, 3, cv=4))
    assert found.q.limit == left_out_rows(path, 3, cv=4).limit("q", 0.95).value
    assert found.q.limit != outliers(path, 3, y, X).q.limit
