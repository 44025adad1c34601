"""T^2 and Q of held-out rows, and limits from them."""

from functools import partial

import numpy as np
import pytest
from _helpers.problems import make_problem

from plsdof import PLSRegressor, kernel_pls_path, pls_path
from plsdof._core.store import Store
from plsdof.chemometrics import hotelling_t2, outliers, preprocessed, q_residuals
from plsdof.chemometrics.distances import LeftOutValues, left_out_rows
from plsdof.errors import ConstantColumnWarning
from plsdof.variants import penalized_pls_path


def limit_from_left_out(values, level, *, weights=None, units=None):
    weights = np.ones(len(values)) if weights is None else weights
    return LeftOutValues(values=values, weights=weights, units=units or len(values)).limit(level)


def outlying(left):
    return len(left.values) - len(left.ordinary)


def factor_rows(rng, n, *, log_normal=False):
    loadings = np.random.default_rng(5).normal(size=(3, 20))
    scores = rng.normal(size=(n, 3))
    rows = scores @ loadings + 0.3 * rng.normal(size=(n, 20))
    return (np.exp(0.3 * rows) if log_normal else rows), scores[:, 0]


@pytest.mark.parametrize("make", [pls_path, penalized_pls_path])
def test_values_are_those_of_fits_without_the_fold(make):
    X, y = make_problem(24, 6, seed=1)
    found = left_out_rows(make(X, y, max_components=4)[2], cv=4)
    test = np.arange(24) % 4 == 1
    part = make(X[~test], y[~test], max_components=2)
    np.testing.assert_allclose(
        found.t2.values[test], hotelling_t2(part[2], X[test]).values, rtol=1e-8
    )
    np.testing.assert_allclose(
        found.q.values[test], q_residuals(part[2], X[test]).values, rtol=1e-8
    )
    # Of 24 values halfway from the 22nd to the 23rd, as 0.9 * 25 = 22.5.
    assert found.t2.limit(0.9).limit == pytest.approx(np.sort(found.t2.values)[21:23].mean())


def test_new_rows_have_cross_validated_limits_and_training_rows_have_not():
    X, y = make_problem(30, 5, seed=2)
    path = pls_path(X, y)
    assert hotelling_t2(path[2], X).method == "cross-validated"
    assert hotelling_t2(path[2]).method == "beta distribution"
    assert q_residuals(path[2], X).method == "cross-validated"
    assert q_residuals(path[2]).method == "chi-square distribution"
    table = outliers(path[2], X, y)
    assert table.t2.limit == hotelling_t2(path[2], X).limit
    assert table.q.limit == q_residuals(path[2], X).limit


def test_kernel_models_have_left_out_t2_but_no_q():
    X, y = make_problem(30, 3, seed=3)
    found = left_out_rows(kernel_pls_path(X, y)[2])
    assert found.q is None
    assert np.all(found.t2.values > 0)


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
            alarms[name].append(measure(path[3], X_new).flags.mean())
    # Standard errors are about 0.4 %. Folds do not always find the third factor: Q is larger then.
    assert 0.03 <= np.mean(alarms["t2"]) <= 0.07
    assert 0.02 <= np.mean(alarms["q"]) <= 0.07


def test_a_row_far_from_all_others_does_not_hide_behind_its_own_limit():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(60, 3)) @ rng.normal(size=(3, 20)) + 0.3 * rng.normal(size=(60, 20))
    y = X[:, 0] + 0.1 * rng.normal(size=60)
    clean = left_out_rows(pls_path(X, y, 3)[3])
    assert outlying(clean.q) == outlying(clean.t2) == 0
    X[7, 5:9] += [8.0, -8.0, 8.0, -8.0]
    path = pls_path(X, y, 3)
    found = left_out_rows(path[3])
    assert outlying(found.q) == 1
    limit = found.q.limit(0.95)
    assert "1 row far from them ignored" in limit.message
    # Among the other rows the limit is an ordinary one.
    others = np.delete(found.q.values, 7)
    assert np.mean(others > limit.limit) < 0.1
    assert limit.limit < 2.0 * np.quantile(others, 0.95)
    flagged = q_residuals(path[3], X)
    assert flagged.flags[7]
    assert "far from them" in flagged.message


def test_rows_far_from_all_others_do_not_hide_each_other():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(60, 3)) @ rng.normal(size=(3, 20)) + 0.3 * rng.normal(size=(60, 20))
    y = X[:, 0] + 0.1 * rng.normal(size=60)
    for row in (7, 20, 33):
        X[row, 5:9] += [8.0, -8.0, 8.0, -8.0]
    found = left_out_rows(pls_path(X, y, 3)[3])
    assert outlying(found.q) == 3
    others = np.delete(found.q.values, [7, 20, 33])
    assert found.q.limit(0.95).limit < others.max() < found.q.values[[7, 20, 33]].min()


@pytest.mark.parametrize("make", [pls_path, penalized_pls_path, kernel_pls_path])
def test_all_numbers_of_components_are_measured_as_in_fits_of_their_own(make):
    X, y = make_problem(24, 6, seed=1)
    path = make(X, y, max_components=4)
    test = np.arange(24) % 4 == 2
    for m in (3, 0, 4):
        found = left_out_rows(path[m], cv=4)
        part = make(X[~test], y[~test], max_components=4)
        np.testing.assert_allclose(
            found.t2.values[test], hotelling_t2(part[m], X[test]).values, rtol=1e-8
        )
        if found.q is not None:
            np.testing.assert_allclose(
                found.q.values[test], q_residuals(part[m], X[test]).values, rtol=1e-8
            )
    # Without components nothing is described.
    np.testing.assert_array_equal(left_out_rows(path[0], cv=4).t2.values, 0.0)


@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("shape", [(30, 60), (90, 5)])
def test_weights_scales_and_any_operator_give_the_same_as_fits_without_the_fold(shape, scale):
    X, y = make_problem(*shape, seed=4)
    X = X + 3.0
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    for sample_weight in (None, weights):
        path = pls_path(X, y, 4, scale=scale, sample_weight=sample_weight)
        found = left_out_rows(path[3], cv=5)
        test = np.arange(len(y)) % 5 == 3
        part_weight = None if sample_weight is None else weights[~test]
        part = pls_path(X[~test], y[~test], 4, scale=scale, sample_weight=part_weight)
        np.testing.assert_allclose(
            found.t2.values[test], hotelling_t2(part[3], X[test]).values, rtol=1e-7
        )
        np.testing.assert_allclose(
            found.q.values[test], q_residuals(part[3], X[test]).values, rtol=1e-7
        )


@pytest.mark.parametrize("kernel", ["linear", "precomputed"])
def test_kernels_that_are_not_scaled_are_left_out_in_the_recursion(kernel):
    X, y = make_problem(40, 3, seed=3)
    K = X @ X.T
    path = kernel_pls_path(K if kernel == "precomputed" else X, y, kernel, 3, scale=False)
    expected = left_out_rows(pls_path(X, y, 3, scale=False)[2])
    np.testing.assert_allclose(left_out_rows(path[2]).t2.values, expected.t2.values, rtol=1e-6)


def test_a_fold_that_supports_fewer_components_stands_still():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(20, 2)), np.zeros(20)])
    X[:5, 2] = rng.normal(size=5)  # varies in the first fold only
    y = X @ [1.0, 2.0, 3.0] + 0.1 * rng.normal(size=20)
    path = pls_path(X, y, scale=False)
    folds = [(np.setdiff1d(np.arange(20), test), test) for test in np.split(np.arange(20), 4)]
    two, three = (left_out_rows(path[m], cv=folds) for m in (2, 3))
    np.testing.assert_allclose(three.t2.values[:5], two.t2.values[:5], rtol=1e-9)
    assert np.all(three.t2.values[5:] > two.t2.values[5:])
    np.testing.assert_allclose(three.q.values[:5], two.q.values[:5], rtol=1e-9)
    with pytest.warns(ConstantColumnWarning):
        part = pls_path(X[5:], y[5:], 2, scale=False)
    np.testing.assert_allclose(two.q.values[:5], q_residuals(part[2], X[:5]).values, rtol=1e-9)


@pytest.mark.parametrize("steps", ["snv", "msc"])
def test_folds_are_fitted_one_by_one_only_where_a_step_learns_from_rows(steps, monkeypatch):
    X, y = make_problem(40, 12, seed=3)
    fit = preprocessed(steps, partial(pls_path, max_components=4))
    test, fitted = np.arange(40) % 10 == 6, []
    expected = q_residuals(fit(X[~test], y[~test])[3], X[test]).values
    refit = Store.fit_rows
    monkeypatch.setattr(Store, "fit_rows", lambda *how: fitted.append(how) or refit(*how))
    path = fit(X, y)
    path.store.left_out(np.arange(40) % 10, None, through=4)
    fitted.clear()
    found = left_out_rows(path[3], cv=10)
    np.testing.assert_allclose(found.q.values[test], expected, rtol=1e-8)
    assert len(fitted) == (10 if steps == "msc" else 0)


def test_groups_of_the_choice_are_left_out_together():
    X, y = make_problem(40, 5, seed=2)
    X, y, groups = np.repeat(X, 3, axis=0), np.repeat(y, 3), np.repeat(np.arange(40), 3)
    X = X + 1e-3 * np.random.default_rng(0).normal(size=X.shape)
    model = PLSRegressor().fit(X, y, groups=groups)
    found = left_out_rows(model)
    assert found.t2.units == 40
    fold = model.selection_.left_out.fold
    test = fold == 2
    part = pls_path(X[~test], y[~test], 5)[model.n_components_]
    np.testing.assert_allclose(found.t2.values[test], hotelling_t2(part, X[test]).values, rtol=1e-7)


def test_a_limit_is_the_conformal_quantile_where_there_is_one():
    values = np.random.default_rng(0).exponential(size=59)
    in_order = np.sort(values)
    assert limit_from_left_out(values, 0.95).limit == in_order[56]  # 0.95 * 60 = 57
    assert limit_from_left_out(values, 0.5).limit == in_order[29]
    beyond = limit_from_left_out(values, 0.999)
    assert beyond.limit >= in_order[-1]
    assert "needs 999 rows" in beyond.message
    assert limit_from_left_out(values[:19], 0.95).limit == values[:19].max()
    assert limit_from_left_out(values[:19], 0.95).message == ""
    assert "needs 19 rows" in limit_from_left_out(values[:18], 0.95).message
    # A row that weighs as much as three counts three times.
    weights = np.ones(59)
    weights[np.argsort(values)[-2:]] = 3.0
    repeated = np.repeat(values, weights.astype(int))
    weighted = limit_from_left_out(values, 0.95, weights=weights, units=63).limit
    assert weighted == pytest.approx(limit_from_left_out(repeated, 0.95).limit)
    assert in_order[-2] < weighted < in_order[-1]
    # Few groups say less than many rows.
    assert limit_from_left_out(values, 0.95, units=10).limit >= in_order[-1]
    assert np.isnan(limit_from_left_out(np.ones(20), 0.95).limit)


@pytest.mark.slow
@pytest.mark.parametrize("n", [20, 40])
def test_few_rows_of_skewed_predictors_alarm_at_most_half_as_often_again(n):
    """A plug-in quantile of g chi^2(h) alarms at 9% with 20 rows."""
    rng = np.random.default_rng(1)
    alarms = []
    for _ in range(200):
        X, signal = factor_rows(rng, n, log_normal=True)
        path = pls_path(X, signal + rng.normal(size=n), 2)
        X_new, _ = factor_rows(rng, 100, log_normal=True)
        alarms.append([one(path[2], X_new).flags.mean() for one in (hotelling_t2, q_residuals)])
    # Standard errors are about 0.4 %.
    assert np.all(np.mean(alarms, axis=0) < 0.075)
