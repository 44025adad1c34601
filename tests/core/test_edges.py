"""Numbers at the edge of what 64-bit floats can tell apart, one by one."""

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from _helpers.oracle import exact_fit, exact_ridge
from _helpers.problems import counted, make_problem
from scipy.signal import savgol_filter

from plsdof import PLSRegressor, compare_paths, cross_validate, pcr_path, pls_path, ridge_path
from plsdof._core.filters import ridge_grid
from plsdof.chemometrics import q_residuals
from plsdof.datasets import load_gasoline
from plsdof.errors import (
    ConstantColumnWarning,
    InvalidInputError,
    RankExhaustedWarning,
    RelativeWeightsWarning,
)
from plsdof.inference import coefficient_inference, prediction_interval, residual_bootstrap
from plsdof.inference.intervals import critical_value
from plsdof.large import Moments
from plsdof.large.blocks import ArrayBlocks
from plsdof.variants import kernel_pls_path, penalized_pls_path, pls2_path


def waves(n, highest):
    """Return cos kt / k^3 and sin kt / k^3, whose eigenvalues come in pairs, and noise."""
    k, t = np.arange(1, highest + 1), 2 * np.pi * np.arange(n)[:, None] / n
    X = np.hstack([np.cos(k * t), np.sin(k * t)]) / np.tile(k, 2) ** 3
    return X, np.random.default_rng(1).normal(size=n)


METHODS = {
    "pls": pls_path,
    "pcr": pcr_path,
    "ridge": lambda X, y, **options: ridge_path(X, y, alphas=[1.0], **options),
    "kernel": lambda X, y, **options: kernel_pls_path(X, y, max_components=3, **options),
    "penalized": lambda X, y, **options: penalized_pls_path(X, y, max_components=3, **options),
}


@pytest.mark.filterwarnings("ignore::plsdof.errors.RelativeWeightsWarning")
@pytest.mark.parametrize("method", METHODS)
def test_weights_whose_sum_is_below_the_rank_leave_all_of_the_residual(method):
    X, y = make_problem(20, 10, seed=1)
    weighted = METHODS[method](X, y, sample_weight=np.full(20, 0.25))
    if method != "ridge":  # which has no empty model
        assert weighted.rss[0] == pytest.approx(0.25 * np.sum((y - y.mean()) ** 2), rel=1e-12)
        # Five observations leave four for the variance of y, and none after ten directions.
        assert weighted.noise_variance("jacobian")[0] == pytest.approx(
            weighted.rss[0] / 4, rel=1e-12
        )
    if method in ("pls", "pcr"):
        assert np.isnan(weighted.noise_variance("jacobian")[-1])
    residual = y - weighted.predict(X)[-1]
    assert weighted.rss[-1] == pytest.approx(0.25 * residual @ residual, rel=1e-8)


def test_small_weights_leave_the_residual_of_several_responses():
    X, y = make_problem(20, 10, seed=1)
    Y = np.column_stack([y, y**2])
    with pytest.warns(RelativeWeightsWarning):
        path = pls2_path(X, Y, 2, sample_weight=np.full(20, 0.25))
    residual = Y - path.predict(X)[2]
    np.testing.assert_allclose(path.rss[2], 0.25 * np.sum(residual**2, axis=0), rtol=1e-8)


@pytest.mark.parametrize("seed", range(40))
def test_columns_that_are_collinear_in_other_units_end_the_path(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, 30))
    celsius = rng.normal(20, rng.uniform(0.5, 5), n)
    X = np.column_stack([celsius, celsius + 273.15, rng.normal(size=(n, 2))])
    y = celsius + rng.normal(size=n)
    for path in (pls_path(X, y), pcr_path(X, y)):
        assert len(path.dof) == 4
        assert np.abs(path.coef).max() < 1e3
        assert path.message
    assert "collinear" in pls_path(X, y).message


def test_coefficients_that_rounding_decides_are_not_returned():
    """Two columns that differ by 1e-12: a fourth component would have coefficients of 1e12."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 4))
    X[:, 1] = X[:, 0] + 3e-13 * rng.normal(size=40)
    path = pls_path(X, X[:, 0] + rng.normal(size=40), scale=False)
    assert np.all(path.coef_error <= 1e-3)
    assert "rounding" in path.message


@pytest.mark.parametrize("highest", [5, 10, 15])
@pytest.mark.parametrize("asked", [None, 6])
@pytest.mark.filterwarnings("ignore::plsdof.errors.RankExhaustedWarning")
def test_pairs_of_eigenvalues_that_rounding_tells_apart_are_flagged(highest, asked):
    X, y = waves(64, highest)
    path = pls_path(X, y, asked, scale=False)
    truth = exact_fit(X, y, len(path.dof) - 1, scale=False)
    assert np.all(np.abs(path.dof - truth.dof) <= path.dof_error)
    assert np.all(path.dof_error <= 1e-6 * path.dof)
    assert "rounding" in path.message


@pytest.mark.parametrize("seed", [10, 19, 30, 38])
def test_a_response_along_one_of_two_equal_directions_has_errors_within_their_estimates(seed):
    X, _ = waves(12, 4)
    X = X * np.tile(np.arange(1, 5), 2)
    y = X[:, 0] + 2 * X[:, 1] + 1e-8 * np.random.default_rng(seed).normal(size=12)
    path = pls_path(X, y, scale=False)
    truth = exact_fit(X, y, len(path.dof) - 1, scale=False)
    assert np.all(np.abs(path.dof - truth.dof) <= path.dof_error)


def test_directions_that_turn_towards_collinear_ones_are_in_the_error_of_the_coefficients():
    rng = np.random.default_rng(5)
    small, large = rng.normal(size=(20, 1)), 1e4 * rng.normal(size=(20, 2))
    X = np.hstack([small, small / 0.9, large])
    y = X @ [1.0, 1.0, 1e-4, 1e-4]
    path = pls_path(X, y, scale=False, solver="gram")
    truth = exact_fit(X, y, len(path.dof) - 1, scale=False).coef
    apart = np.linalg.norm(path.exact.standardized_coef - truth, axis=1)
    assert np.all(apart <= path.coef_error * np.linalg.norm(truth, axis=1))


def celsius_and_kelvin(rng):
    celsius = rng.normal(20, 5, 15)
    return np.column_stack([celsius, celsius + 273.15]), False


def one_far_row(rng):
    X = rng.normal(size=(23, 7))
    X[0] *= 1e7
    return X, False


def one_large_column(rng):
    return rng.normal(size=(23, 5)) * [1e8, 1, 1, 1, 1], False


@pytest.mark.parametrize("solver", ["auto", "gram", "svd"])
@pytest.mark.parametrize("make", [celsius_and_kelvin, one_far_row, one_large_column])
@pytest.mark.parametrize("seed", range(3))
def test_errors_of_ridge_are_within_their_estimates(make, solver, seed):
    rng = np.random.default_rng(seed)
    X, scale = make(rng)
    y = X[:, 1] / np.abs(X[:, 1]).max() + rng.normal(size=len(X))
    alphas = [1e-4, 1.0, 1e4]
    path = ridge_path(X, y, alphas=alphas, scale=scale, solver=solver)
    for index, alpha in enumerate(alphas):
        rss, coef = exact_ridge(X, y, alpha, scale=scale)
        assert abs(path.rss[index] - rss) <= path.rss_error[index]
        apart = np.linalg.norm(path.exact.standardized_coef[index] - coef)
        assert apart <= (path.coef_error[index] + 1e-14) * np.linalg.norm(coef)


def test_errors_of_ridge_stay_in_the_range_of_floats():
    X, y = make_problem(12, 6, seed=1)
    path = ridge_path(1e60 * X, 1e60 * y, alphas=[1.0], scale=False)
    assert np.all(path.coef_error < 1e-8)


@pytest.mark.parametrize("unit", [1e-100, 1e-3, 1.0, 1e100])
@pytest.mark.parametrize("decades", [0.0, 3.0, 12.0])
def test_penalties_lead_from_the_mean_to_least_squares_in_any_unit(unit, decades):
    lam = unit * np.logspace(0, -decades, 20)
    alphas = ridge_grid(lam)
    assert np.all(np.diff(alphas) < 0)
    explained = (lam / (lam + alphas[:, None])).sum(axis=1)
    assert 0.001 < explained[0] <= 0.01
    assert 0.001 < 20 - explained[-1] <= 0.01
    np.testing.assert_allclose(ridge_grid(lam / unit) * unit, alphas, rtol=1e-12)


def test_directions_of_rounding_do_not_stretch_the_penalties():
    lam = np.logspace(0, -10, 11)
    assert ridge_grid(np.append(lam, 1e-30))[-1] > 1e-19


def test_ridge_of_derivative_spectra_is_as_good_as_its_penalties_allow():
    X, y = load_gasoline(return_X_y=True)
    X = savgol_filter(X, 15, 2, 1, axis=1)
    path = ridge_path(X, y, scale=False)
    folds = cross_validate(X, y, path="ridge", alphas=path.alphas, scale=False, cv=10)
    assert folds.rmse.min() < 0.225
    # The best penalty is one of the middle, and so it can be told from the best of all.
    assert 0 < int(np.argmin(folds.rmse)) < len(path.alphas) - 1


def test_a_part_of_the_rows_has_the_penalties_of_all():
    X, y = make_problem(30, 6, seed=2)
    path = ridge_path(X, y)
    some = path.store.fit_rows(np.arange(20))
    np.testing.assert_array_equal(some.alphas, path.alphas)


def test_directions_that_a_gram_matrix_does_not_resolve_are_named_as_the_reason():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 3)) * [1e9, 1.0, 1.0]
    y = X[:, 1] + rng.normal(size=20)
    with pytest.warns(RankExhaustedWarning, match=r"2 further directions of X cannot be told"):
        assert len(pls_path(X, y, 3, scale=False, solver="gram").dof) == 2


def replicated_factorial(sizes):
    """Return all combinations of two levels, twice each, and a response."""
    X = np.array(list(itertools.product([-1.0, 1.0], repeat=len(sizes))) * 2) * sizes
    return X, X.sum(axis=1) + np.random.default_rng(3).normal(size=len(X))


@pytest.mark.parametrize("order", ["variance", "correlation"])
def test_principal_components_with_equal_eigenvalues_are_not_returned(order):
    X, y = replicated_factorial([3.0, 2.0, 2.0, 1.0])
    # The second and the third share an eigenvalue: one of them without the other is arbitrary.
    with pytest.warns(RankExhaustedWarning):
        path = counted(pcr_path(X, y, 4, order=order, scale=False))
    assert path.message
    assert np.all(path.coef_error < 1e-10)
    turned = X @ np.linalg.qr(np.random.default_rng(1).normal(size=(4, 4)))[0]
    again = pcr_path(turned, y, order=order, scale=False)
    np.testing.assert_allclose(again.predict(turned), path.predict(X), atol=1e-9)
    if order == "variance":
        assert len(path.dof) - 1 == 1
        assert not pcr_path(X, y, 1, scale=False).message


def test_principal_components_of_a_factorial_design_are_none():
    X, y = replicated_factorial([1.0, 1.0, 1.0])
    with pytest.warns(RankExhaustedWarning):
        assert len(pcr_path(X, y).dof) == 1


def test_asking_for_what_rounding_decides_warns():
    X, y = waves(64, 10)
    with pytest.warns(RankExhaustedWarning, match="rounding in the data's decomposition"):
        counted(pls_path(X, y, 6, scale=False))


@pytest.mark.parametrize("seed", [2, 34, 136, 391, 394, 397, 398])
def test_close_eigenvalues_still_count_as_excited(seed):
    """Eigenvalues about as far apart as their errors: any could be turned into the next."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(10, 40)), int(rng.integers(3, 9))
    U = rng.normal(size=(n, d))
    U = np.linalg.qr(U - U.mean(axis=0))[0]
    V = np.linalg.qr(rng.normal(size=(d, d)))[0]
    steps = 10 ** rng.uniform(-16, -12) * rng.normal(size=d) * np.arange(d)
    X, y = (U * (1 + steps)) @ V.T, U @ rng.normal(size=d)
    one = (X - X.mean(axis=0)).T @ (y - y.mean())
    one *= one @ one / np.sum((X @ one) ** 2)
    np.testing.assert_allclose(pls_path(X, y, scale=False).coef[1], one, rtol=1e-10)


def test_residuals_from_a_gram_matrix_have_an_error_estimate():
    rng = np.random.default_rng(2)
    U, V = (np.linalg.qr(rng.normal(size=(size, 6)))[0] for size in (60, 6))
    X = (U * np.logspace(0, -6.5, 6)) @ V.T
    y = U @ np.ones(6) + 1e-3 * rng.normal(size=60)
    gram = pls_path(X, y, scale=False, solver="gram")
    truth = exact_fit(X, y, len(gram.dof) - 1, scale=False)
    assert gram.rss[0] == pytest.approx(truth.rss[0], rel=1e-14)
    assert np.all(np.abs(gram.rss - truth.rss) <= gram.rss_error)
    auto = pls_path(X, y, scale=False)
    truth = exact_fit(X, y, len(auto.dof) - 1, scale=False)
    np.testing.assert_allclose(auto.rss, truth.rss, rtol=1e-8)


def test_the_noise_has_an_error_estimate():
    X, y = make_problem(30, 5)
    path = pls_path(X, y)
    truth = exact_fit(X, y, 5)
    noise, found = path.noise_variance("jacobian"), path.exact.filter
    share = path.rss_error / path.rss + found.residual_trace_error / found.residual_trace
    assert np.all(np.abs(noise - truth.rss / truth.residual_trace) <= share * noise)
    assert np.all(share <= 1e-10)


@pytest.mark.parametrize(
    ("x_exponent", "y_exponent"),
    [(60, 0), (-60, 10), (-55, -60), (60, 60)],
)
def test_standard_errors_hold_in_any_unit(x_exponent, y_exponent):
    X, y = make_problem(30, 5)
    usual = pls_path(X, y)
    path = pls_path(X * 10.0**x_exponent, y * 10.0**y_exponent)
    expected = usual.coef_std_error(2) * 10.0 ** (y_exponent - x_exponent)
    np.testing.assert_allclose(path.coef_std_error(2), expected, rtol=1e-8)
    np.testing.assert_allclose(path.coef[2], usual.coef[2] * 10.0 ** (y_exponent - x_exponent))


def test_cross_validation_of_collinear_columns_agrees_with_the_path():
    rng = np.random.default_rng(3)
    celsius = rng.normal(20, 3, 40)
    X = np.column_stack([celsius, celsius + 273.15, rng.normal(size=(40, 2))])
    y = celsius + rng.normal(size=40)
    assert len(cross_validate(X, y, cv=5).parameters) == 4


@pytest.mark.parametrize("fit", [pls_path, kernel_pls_path])
def test_weights_beyond_the_range_of_floats_are_refused(fit):
    X, y = make_problem(20, 3)
    with pytest.raises(InvalidInputError, match="sample_weight must be finite"):
        fit(X, y, sample_weight=np.full(20, 1e80))


@pytest.mark.parametrize("scale", [None, 0, "yes"])
def test_scaling_is_a_matter_of_true_or_false(scale):
    X, y = make_problem(20, 3)
    with pytest.raises(InvalidInputError):
        cross_validate(X, y, scale=scale)
    with pytest.raises(InvalidInputError):
        Moments.of(X, y).gram(scale)


def test_limits_of_q_hold_in_any_unit():
    X, y = make_problem(30, 6)
    usual = q_residuals(pls_path(X, y, scale=False)[2])
    small = q_residuals(pls_path(X * 1e-60, y, scale=False)[2])
    np.testing.assert_allclose(small.values, usual.values * 1e-120, rtol=1e-8)
    assert small.limit == pytest.approx(usual.limit * 1e-120, rel=1e-8)


@pytest.mark.parametrize("exponent", [-60, 60])
def test_tests_and_intervals_hold_in_any_unit(exponent):
    X, y = make_problem(30, 5)
    usual = coefficient_inference(pls_path(X, y)[2])
    model = pls_path(X * 10.0**exponent, y)[2]
    np.testing.assert_allclose(coefficient_inference(model).p_value, usual.p_value, rtol=1e-8)
    interval = prediction_interval(model, X * 10.0**exponent)
    expected = prediction_interval(pls_path(X, y)[2], X)
    np.testing.assert_allclose(interval.lower, expected.lower, rtol=1e-8)


@pytest.mark.parametrize("exponent", [-60, 60])
def test_rows_left_out_and_resamples_hold_in_any_unit(exponent):
    X, y = make_problem(30, 5)
    unit = 10.0**exponent
    usual, path = pls_path(X, y), pls_path(X * unit, y)
    left, expected = path.left_out(), usual.left_out()
    np.testing.assert_allclose(left.residuals, expected.residuals, rtol=0, atol=1e-9)
    drawn, wanted = (residual_bootstrap(one[2], n_draws=20).std_error for one in (path, usual))
    np.testing.assert_allclose(drawn * unit, wanted, rtol=1e-8)


@pytest.mark.parametrize("exponent", [-60, 60])
def test_intervals_of_several_responses_hold_in_any_unit(exponent):
    X, y = make_problem(30, 5)
    Y = np.column_stack([y, X[:, 0] + y[::-1]])
    unit = 10.0**exponent
    found, expected = (
        coefficient_inference(pls2_path(rows, Y)[2].responses[1], covariance="jackknife")
        for rows in (X * unit, X)
    )
    np.testing.assert_allclose(found.std_error * unit, expected.std_error, rtol=1e-8)


@pytest.mark.parametrize("method", ["pls", "pcr", "kernel", "penalized"])
def test_without_noise_the_interval_of_the_mean_is_a_point(method):
    X, _ = make_problem(30, 5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankExhaustedWarning)
        model = counted(METHODS[method](X, np.full(30, 3.0)))[0]
    interval = prediction_interval(model, X[:2], kind="mean")
    np.testing.assert_allclose([interval.lower, interval.upper], 3.0)
    assert not residual_bootstrap(model, n_draws=5).std_error.any()


def test_predictors_that_do_not_vary_leave_the_mean_without_each_row():
    y = np.random.default_rng(0).normal(size=25)
    with pytest.warns(ConstantColumnWarning):
        path = pls_path(np.ones((25, 3)), y, 0, scale=False)
    without = (y.sum() - y) / 24
    np.testing.assert_allclose(path[0].left_out_residuals, y - without)
    interval = prediction_interval(path[0], np.ones((1, 3)), level=0.9)
    # Every row has the leverage of a mean, so that the widths are those of the errors themselves.
    half = critical_value(0.9, 24) * np.sqrt(np.mean((y - without) ** 2))
    assert interval.lower[0] == pytest.approx(y.mean() - half)
    assert interval.upper[0] == pytest.approx(y.mean() + half)


def test_a_response_that_does_not_vary_is_predicted_without_doubt():
    X, y = make_problem(30, 5)
    path = pls2_path(X, np.column_stack([np.full(30, 3.0), y]))
    still, moving = (prediction_interval(one, X[:4]) for one in path[2].responses)
    np.testing.assert_allclose([still.lower, still.upper], 3.0)
    assert np.all(moving.lower < moving.upper)


def test_a_response_that_does_not_vary_changes_nothing_for_the_others():
    X, y = make_problem(30, 5)
    both, alone = pls2_path(X, np.column_stack([np.full(30, 3.0), y])), pls2_path(X, y)
    np.testing.assert_allclose(both.coef[:, :, 1:], alone.coef, atol=1e-9)
    np.testing.assert_allclose(both.left_out().press, alone.left_out().press)
    np.testing.assert_array_equal(both.predict(X)[:, :, 0], 3.0)


def test_predictors_that_do_not_vary_have_coefficients_without_doubt():
    Y = np.random.default_rng(0).normal(size=(20, 2))
    with pytest.warns(ConstantColumnWarning):
        path = pls2_path(np.ones((20, 3)), Y, 0)
    found = coefficient_inference(path[0].responses[0], covariance="jackknife")
    np.testing.assert_array_equal(found.std_error, np.zeros(3))


def test_a_model_that_does_not_exist_is_refused():
    X, y = make_problem(30, 5)
    with pytest.raises(IndexError):
        pls_path(X, y)[9]
    with pytest.raises(InvalidInputError):
        pls_path(X, y).jacobian(9)


def test_a_comparison_of_nothing_is_refused():
    X, y = make_problem(30, 5)
    with pytest.raises(InvalidInputError):
        compare_paths(X, y, ())


def test_a_response_that_does_not_vary_has_no_component_and_the_warning_is_a_sentence():
    X, _ = make_problem(20, 4, seed=0)
    with pytest.warns(RankExhaustedWarning, match="^No component supported: y does not vary"):
        path = counted(pls_path(X, np.ones(20)))
    assert len(path.dof) == 1


NEARLY = {
    "path": lambda X, y: counted(pls_path(X, y, 2)),
    "left out": lambda X, y: pls_path(X, y, 2).left_out(5),
    "cross-validation": lambda X, y: cross_validate(X, y, cv=5, max_components=2),
    "estimator": lambda X, y: PLSRegressor(2).fit(X, y),
    "stream": lambda X, y: Moments.of(X, y).gram(),
}


@pytest.mark.parametrize("noise", [1e-15, 1e-14, 1e-12])
@pytest.mark.parametrize("door", NEARLY)
def test_columns_that_vary_by_rounding_only_are_left_out_by_name(door, noise):
    X, y = make_problem(30, 3, seed=2)
    flat = 5 + noise * np.random.default_rng(0).normal(size=30)
    table = pd.DataFrame(np.column_stack([X, flat]), columns=["a", "b", "c", "flat"])
    with pytest.warns(ConstantColumnWarning, match="do not vary: 'flat'"):
        NEARLY[door](table, y)


COEFFICIENTS = METHODS | {
    "pls, counted": lambda X, y, **options: counted(pls_path(X, y, 3, **options)),
    "pls of a fold": lambda X, y, **options: pls_path(X, y, 3, **options).store.fit_rows(
        np.arange(30)
    ),
    "PLS2": lambda X, y, **options: pls2_path(X, y[:, None], max_components=3, **options),
    "sparse": lambda X, y, **options: pls_path(scipy.sparse.csr_array(X), y, 3, **options),
    "blocks": lambda X, y, **options: pls_path(ArrayBlocks(X, y, memory=64), None, 3, **options),
    "blocks of columns": lambda X, y, **options: pls_path(
        ArrayBlocks(X, y, axis=1, memory=240), None, 3, **options
    ),
}


@pytest.mark.filterwarnings("ignore::plsdof.errors.RankExhaustedWarning")
@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("noise", [1e-15, 1e-14, 1e-12])
@pytest.mark.parametrize("method", sorted(COEFFICIENTS.keys() - {"kernel"}))
def test_columns_that_vary_by_rounding_only_have_no_coefficient(method, noise, scale):
    X, y = make_problem(30, 3, seed=2)
    flat, fit = 5 + noise * np.random.default_rng(0).normal(size=30), COEFFICIENTS[method]
    if method == "penalized" and not scale:
        pytest.skip("smoothing gives every column a share of its neighbours")
    with pytest.warns(ConstantColumnWarning):
        coef = fit(np.column_stack([X, flat]), y, scale=scale).coef
    assert not coef[:, 3].any()
    if method != "penalized":  # whose penalty looks at neighbours
        np.testing.assert_allclose(coef[:, :3], fit(X, y, scale=scale).coef, rtol=1e-9)


def test_small_spreads_that_are_a_signal_have_a_coefficient():
    X, y = make_problem(30, 3, seed=2)
    small = 5 + 1e-8 * np.random.default_rng(0).normal(size=30)
    path = pls_path(np.column_stack([X, small]), y, 3)
    assert path.coef[1:, 3].all()
    assert counted(path).coef[1:, 3].all()


@pytest.mark.parametrize("noise", [0.0, 1e-15, 1e-12])
@pytest.mark.parametrize("columns", [3, 60])
def test_folds_leave_out_columns_that_vary_in_their_rows_only(columns, noise):
    X, y = make_problem(30, columns, seed=2)
    flat = 5 + noise * np.random.default_rng(0).normal(size=30)
    flat[::5] += 1.0
    left = pls_path(np.column_stack([X, flat]), y, 3).left_out(5)
    without = pls_path(X, y, 3).left_out(5)
    np.testing.assert_allclose(left.residuals[:, ::5], without.residuals[:, ::5], atol=1e-9)


@pytest.mark.parametrize("method", ["pls", "pcr", "ridge"])
@pytest.mark.parametrize(("offset", "signal"), [(1e8, 1e-6), (-1e6, 1e-9), (1e3, 1.0)])
def test_an_offset_of_the_response_costs_no_digits(method, offset, signal):
    X, y = make_problem(40, 6, seed=3)
    moved = offset + signal * y  # which rounds the signal
    plain, shifted = (cross_validate(X, one, method, cv=5) for one in (moved - offset, moved))
    np.testing.assert_allclose(shifted.rmse, plain.rmse, rtol=1e-6)
    np.testing.assert_allclose(shifted.predictions, plain.predictions + offset, rtol=1e-14)
    np.testing.assert_array_equal(shifted.y, moved)
    fit = {"pls": pls_path, "pcr": pcr_path, "ridge": ridge_path}[method]
    paths = [fit(X, one) for one in (moved - offset, moved)]
    left, expected = (path.left_out(5) for path in reversed(paths))
    np.testing.assert_allclose(left.rmse, expected.rmse, rtol=1e-6)
    np.testing.assert_allclose(paths[1].rss, paths[0].rss, rtol=1e-6)
    np.testing.assert_allclose(paths[1].dof, paths[0].dof, rtol=1e-6)
