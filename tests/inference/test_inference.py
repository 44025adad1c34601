"""Intervals, tests and bands against textbook formulas and simulation."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.stats
import statsmodels.api as sm
from _helpers.problems import make_problem

from plsdof import PLSRegressor, inference, load_model, pls_path
from plsdof.errors import (
    ConstantColumnWarning,
    InvalidInputError,
    LowLevelWarning,
    NotAvailableError,
    RankExhaustedWarning,
)
from plsdof.inference import jackknife, residual_bootstrap


def test_full_model_equals_ordinary_least_squares_inference():
    X, y = make_problem(40, 4, seed=1)
    ols = sm.OLS(y, sm.add_constant(X)).fit()
    # With all components every noise level but that of held-out rows is the unbiased one.
    result = inference.coefficient_inference(pls_path(X, y)[4], level=0.9, noise="jacobian")
    np.testing.assert_allclose(result.coef, ols.params[1:], rtol=1e-8)
    np.testing.assert_allclose(result.std_error, ols.bse[1:], rtol=1e-8)
    np.testing.assert_allclose(result.p_value, ols.pvalues[1:], rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(result.statistic, ols.tvalues[1:], rtol=1e-8)
    limits = ols.conf_int(0.1)
    np.testing.assert_allclose(np.column_stack([result.lower, result.upper]), limits[1:], rtol=1e-8)
    assert result.intercept == pytest.approx(ols.params[0])
    assert result.intercept_std_error == pytest.approx(ols.bse[0])
    assert result.degrees_of_freedom == pytest.approx(35)


def test_prediction_intervals_of_the_full_model_equal_ordinary_least_squares():
    X, y = make_problem(40, 4, seed=2)
    X_new = X[:5] + 0.3
    frame = sm.OLS(y, sm.add_constant(X)).fit().get_prediction(sm.add_constant(X_new))
    expected = frame.summary_frame(alpha=0.05)
    path = pls_path(X, y)
    mean = inference.prediction_interval(path[4], X_new, kind="mean", noise="jacobian")
    new = inference.prediction_interval(path[4], X_new, method="normal", noise="jacobian")
    np.testing.assert_allclose(mean.lower, expected["mean_ci_lower"], rtol=1e-8)
    np.testing.assert_allclose(mean.upper, expected["mean_ci_upper"], rtol=1e-8)
    np.testing.assert_allclose(new.lower, expected["obs_ci_lower"], rtol=1e-8)
    np.testing.assert_allclose(new.upper, expected["obs_ci_upper"], rtol=1e-8)


def test_normal_intervals_with_given_noise():
    path = pls_path(*make_problem(20, 5, seed=3))
    result = inference.coefficient_inference(path[2], noise=0.25)
    half = 1.959963984540054 * path.coef_std_error(2, noise=0.25)
    np.testing.assert_allclose(result.upper - result.coef, half, rtol=1e-10)
    assert result.degrees_of_freedom == np.inf
    covariance = path.coef_covariance(2, noise=0.25)
    np.testing.assert_allclose(result.std_error**2, np.diag(covariance), rtol=1e-10)


def test_mean_interval_at_training_rows_equals_the_jacobian():
    X, y = make_problem(15, 6, seed=4)
    path = pls_path(X, y)
    J = path.jacobian(2)
    spread = inference.prediction_interval(path[2], X, kind="mean", noise=1.0).std_error
    np.testing.assert_allclose(spread, np.linalg.norm(J, axis=1), rtol=1e-9)


def test_simultaneous_band_is_wider_than_pointwise_and_narrower_than_bonferroni():
    X, y = make_problem(30, 100, seed=6, decay=2)
    path = pls_path(X, y, 3)
    known = {"noise": path[3].noise_variance(), "n_draws": 4000}
    band = inference.simultaneous_band(path[3], **known)
    bonferroni = scipy.stats.norm.ppf(1 - 0.025 / 100)
    assert 1.96 < band.critical < bonferroni
    again = inference.simultaneous_band(path[3], **known)
    np.testing.assert_array_equal(band.lower, again.lower)
    # One coefficient: the band is the interval.
    single = pls_path(X[:, :1], y)
    one = inference.simultaneous_band(single[1], n_draws=200_000)
    assert one.critical == pytest.approx(scipy.stats.t.ppf(0.975, 28), rel=0.02)


def chi_square_interval(path, m, df):
    """Limits for the noise variance under normal noise."""
    return df * path.noise_variance("jacobian")[m] / scipy.stats.chi2.ppf([0.975, 0.025], df)


def test_noise_interval_of_the_full_model_is_the_chi_square_interval_without_kurtosis():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = X @ [1.0, 2.0, 0.0] + rng.choice([-1.0, 1.0], 60)  # less kurtosis than normal noise
    path = pls_path(X, y)
    interval = inference.noise_interval(path[3])
    lower, upper = chi_square_interval(path, 3, 56)
    assert interval.lower[0] == pytest.approx(lower, rel=1e-9)
    assert interval.upper[0] == pytest.approx(upper, rel=1e-9)
    assert interval.center[0] == pytest.approx(path.rss[3] / 56)


def test_noise_interval_follows_the_kurtosis():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = X @ [1.0, 2.0, 0.0] + rng.choice([-1.0, 1.0], 60)
    y[7] += 15.0
    path = pls_path(X, y)
    robust = inference.noise_interval(path[3])
    lower, upper = chi_square_interval(path, 3, 56)
    assert robust.upper[0] > 2 * upper
    assert robust.lower[0] < lower
    # Never less than a chi-square with 4 degrees of freedom tells.
    assert robust.upper[0] <= chi_square_interval(path, 3, 4)[1] * 1.001


def test_noise_interval_has_the_degrees_of_freedom_of_its_formula():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 3))
    path = pls_path(X, X @ [1.0, 2.0, 0.0] + rng.laplace(size=300))
    # Least squares: A = I - H, and the residuals of rows that are all alike.
    Z = np.column_stack([np.ones(300), X])
    A = np.eye(300) - Z @ np.linalg.pinv(Z)
    squares = (A @ path.response()) ** 2 / np.diag(A)
    kurtosis = scipy.stats.moment(np.sqrt(squares), 4, center=0) / np.mean(squares) ** 2
    without = [
        np.mean(np.delete(squares, i) ** 2) / np.mean(np.delete(squares, i)) ** 2
        for i in range(300)
    ]
    error = np.sqrt(299 * np.var(np.log(without)))
    excess = kurtosis * np.exp(3 * error) - 3
    nu = 2 / (2 / 296 + excess * np.sum(np.diag(A) ** 2) / 296**2)
    assert 5 < nu < 290
    found = inference.noise_interval(path[3])
    limits = chi_square_interval(path, 3, nu)
    np.testing.assert_allclose([found.lower[0], found.upper[0]], limits, rtol=1e-8)


def test_noise_interval_has_at_least_four_degrees_of_freedom_or_those_of_the_residuals():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = X @ [1.0, 2.0, 0.0] + rng.normal(size=200)
    y[7] += 1e4  # the kurtosis of one row
    path = pls_path(X, y)
    found = inference.noise_interval(path[3])
    limits = chi_square_interval(path, 3, 4)
    np.testing.assert_allclose([found.lower[0], found.upper[0]], limits, rtol=1e-9)
    # Two residual Degrees of Freedom are two, whatever the kurtosis.
    short = pls_path(X[5:11], y[5:11])
    found = inference.noise_interval(short[3])
    limits = chi_square_interval(short, 3, 2)
    np.testing.assert_allclose([found.lower[0], found.upper[0]], limits, rtol=1e-9)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_limits_of_the_noise_are_quantiles_at_any_level(level):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    path = pls_path(X, X @ [1.0, 2.0, 0.0] + rng.choice([-1.0, 1.0], 60))
    found = inference.noise_interval(path[3], level=level)
    below = scipy.stats.chi2.sf(56 * found.center[0] / found.lower[0], 56)
    above = scipy.stats.chi2.cdf(56 * found.center[0] / found.upper[0], 56)
    assert below == pytest.approx((1 - level) / 2)
    assert above == pytest.approx((1 - level) / 2)


def test_resamples_of_a_response_that_does_not_vary_do_not_vary():
    X, _ = make_problem(20, 3)
    with pytest.warns(RankExhaustedWarning):
        found = residual_bootstrap(pls_path(X, np.full(20, 3.0))[0], n_draws=5)
    assert not found.std_error.any()
    # A coefficient that cannot vary has no statistic.
    with pytest.warns(ConstantColumnWarning):
        path = pls_path(np.column_stack([X, np.ones(20)]), X[:, 0] ** 2, 2)
    assert jackknife(path[2]).statistic[3] == 0.0


def test_undefined_inference_says_what_to_do():
    X, y = make_problem(8, 20, seed=8)
    path = pls_path(X, y)
    last = len(path) - 1
    with pytest.raises(NotAvailableError):
        inference.coefficient_inference(path[last], noise="jacobian")
    crowded = int(np.argmax(path.dof >= 8))
    # More Degrees of Freedom than observations, and still an interval.
    result = inference.coefficient_inference(path[crowded])
    assert np.all(np.isfinite(result.upper))
    assert 1.0 <= result.degrees_of_freedom < 7.0
    with pytest.raises(InvalidInputError):
        inference.coefficient_inference(path[1], level=95)


def test_a_level_that_looks_like_its_complement_is_noticed():
    path = pls_path(*make_problem(20, 3))
    with pytest.warns(LowLevelWarning):
        inference.coefficient_inference(path[1], level=0.05)
    with pytest.warns(LowLevelWarning):
        path[1].half_width(0.05)


@pytest.mark.filterwarnings("ignore::plsdof.errors.ConstantColumnWarning")
def test_constant_columns_have_no_uncertainty():
    X, y = make_problem(20, 3, seed=9)
    X = np.column_stack([X, np.ones(20)])
    result = inference.coefficient_inference(pls_path(X, y)[2])
    assert result.coef[3] == 0
    assert result.std_error[3] == 0
    assert result.p_value[3] == 1


def test_bootstrap_and_analytic_standard_errors_agree():
    X, y = make_problem(80, 5, seed=10, noise=0.3)
    path = pls_path(X, y)
    boot = residual_bootstrap(path[2], n_draws=800)
    # Bootstrap standard errors have a relative error of about 1/sqrt(2 draws) = 2.5%.
    np.testing.assert_allclose(boot.std_error, path.coef_std_error(2), rtol=0.15)


def test_jackknife_of_the_full_model_agrees_with_its_definition():
    X, y = make_problem(25, 3, seed=11)
    result = jackknife(pls_path(X, y)[3])
    betas = []
    for i in range(25):
        keep = np.arange(25) != i
        A = np.column_stack([np.ones(24), X[keep]])
        betas.append(np.linalg.lstsq(A, y[keep])[0][1:])
    betas = np.array(betas)
    expected = np.sqrt(24 / 25 * np.sum((betas - betas.mean(0)) ** 2, axis=0))
    np.testing.assert_allclose(result.std_error, expected, rtol=1e-8)
    assert jackknife(pls_path(X, y)[3], cv=5).degrees_of_freedom == 4


def test_weighted_jackknife_leaves_out_repeated_rows_together():
    X, y = make_problem(15, 3, seed=12)
    weights = np.random.default_rng(1).integers(1, 4, 15)
    rows = np.repeat(np.arange(15), weights)
    pairs = [(np.flatnonzero(rows != i), np.flatnonzero(rows == i)) for i in range(15)]
    repeated = jackknife(pls_path(X[rows], y[rows])[2], cv=pairs)
    weighted = jackknife(pls_path(X, y, sample_weight=weights)[2])
    np.testing.assert_allclose(weighted.std_error, repeated.std_error, rtol=1e-8)


def test_weighted_bootstrap_has_the_analytic_standard_errors_of_a_linear_fit():
    # Least squares is linear in y: the bootstrap must reproduce sigma^2 K K' with noise / weights.
    X, y = make_problem(30, 3)
    path = pls_path(X, y, sample_weight=np.linspace(0.5, 3.0, 30))
    drawn = residual_bootstrap(path[3], n_draws=4000)
    # The relative standard error of a standard deviation over 4000 draws is 1.1 %.
    np.testing.assert_allclose(drawn.std_error, path.coef_std_error(3), rtol=0.05)


def test_bootstrap_of_many_responses_at_once_is_that_of_single_refits():
    X, y = make_problem(25, 8, seed=3)
    path = pls_path(X, y)
    many = residual_bootstrap(path[3], n_draws=20, level=0.8, rng=5)
    residuals = path[3].residuals - path[3].residuals.mean()
    residuals *= np.sqrt(path.noise_variance()[3] / np.mean(residuals**2))
    drawn = np.random.default_rng(5).choice(residuals, (20, 25))
    single = [path.refit(path.fitted[3] + one).coef[3] for one in drawn]
    np.testing.assert_allclose(many.std_error, np.std(single, axis=0, ddof=1), rtol=1e-9)
    limits = np.quantile(single, [0.1, 0.9], axis=0)
    np.testing.assert_allclose([many.lower, many.upper], limits, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(many.center, path[3].coef)


def test_rows_without_weight_are_no_folds_of_the_jackknife():
    X, y = make_problem(30, 3)
    weights = np.where(np.arange(30) < 12, 1.0, 0.0)
    result = jackknife(pls_path(X, y, sample_weight=weights)[2])
    expected = jackknife(pls_path(X[:12], y[:12])[2])
    np.testing.assert_allclose(result.std_error, expected.std_error, rtol=1e-9)


def test_what_is_not_a_model_or_a_seed_is_refused():
    X, y = make_problem(20, 3)
    for function in (residual_bootstrap, inference.coefficient_inference):
        with pytest.raises(InvalidInputError):
            function(X)
        with pytest.raises(InvalidInputError):
            function(pls_path(X, y))
    path = pls_path(X, y)
    with pytest.raises(InvalidInputError):
        residual_bootstrap(path[2], rng=-1)
    with pytest.raises(InvalidInputError):
        inference.simultaneous_band(path[2], rng="x")


@pytest.mark.parametrize("kind", ["single", "chosen", "average"])
def test_intervals_for_observations_are_those_of_rows_left_out(kind):
    X, y = make_problem(60, 6, seed=3, noise=1.0)
    path = pls_path(X, y)
    model = path[2] if kind == "single" else path.average()
    if kind == "chosen":
        choice = path.select()
        model = replace(path[choice.index], selection=choice)
    found = inference.prediction_interval(model, X[:3], level=0.9)
    np.testing.assert_allclose(found.center, model.predict(X[:3]))
    size = np.sqrt(np.mean(model.scores**2))
    wider = 1 + 4 * model.predictor.leverage(X[:3]) * 60 / 54
    if kind == "average":
        values = path.predict(X[:3])[: len(model.weights)]
        wider = wider + 4 * model.weights @ (values - found.center) ** 2 / model.rmse**2
    half = scipy.stats.t.ppf(0.95, 60 - model.spent) * size * np.sqrt(wider)
    np.testing.assert_allclose(found.upper - found.center, half)
    np.testing.assert_allclose(found.center - found.lower, half)
    if kind == "single":
        left = path.left_out()
        expected = np.abs(left.residuals[2]) / np.sqrt(1 + 4 * left.leverage[2])
        np.testing.assert_allclose(model.scores, expected)


def test_rows_in_groups_have_wider_intervals_than_rows_alone():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(12), 5)
    X = np.repeat(rng.normal(size=(12, 8)), 5, axis=0) + 0.01 * rng.normal(size=(60, 8))
    y = X[:, 0] + np.repeat(rng.normal(size=12), 5) + 0.01 * rng.normal(size=60)
    path = pls_path(X, y)
    alone, together = path.average(), path.average(groups=groups)
    assert together.left_out.groups == 12
    assert together.half_width() > 2 * alone.half_width()


def test_the_interval_of_the_mean_is_never_wider_than_that_of_an_observation(tmp_path):
    X, y = make_problem(20, 30, seed=22, decay=1)
    model, new = PLSRegressor(2).fit(X, y), 3 * X
    plain = np.diff(model.predict_interval(new, kind="mean", method="normal"))
    seen = np.diff(model.predict_interval(new))
    assert np.max(plain / seen) > 10
    np.testing.assert_allclose(
        np.diff(model.predict_interval(new, kind="mean")), np.minimum(plain, seen), rtol=1e-9
    )
    model.save(tmp_path / "model.json")
    kept = load_model(tmp_path / "model.json")
    for options in ({"kind": "mean"}, {"kind": "mean", "method": "normal"}):
        expected = model.predict_interval(new, **options)
        np.testing.assert_allclose(kept.predict_interval(new, **options), expected, rtol=1e-7)


def test_a_summary_has_the_jackknife_beside_where_it_is_far_away():
    X, y = make_problem(40, 3, seed=9)
    close = PLSRegressor(2).fit(X, y)
    assert close.summary().table.shape == (4, 6)
    X[0] *= 10  # a row that moves the fit
    far = PLSRegressor(2).fit(X, y)
    summary = far.summary()
    assert summary.columns[-1] == "jackknife"
    np.testing.assert_allclose(summary.table[1:, 6], jackknife(far).std_error)
    assert far.summary(covariance="jackknife").table.shape == (4, 6)


def test_small_p_values_are_not_printed_to_the_last_digit():
    X, y = make_problem(200, 3, seed=9, noise=0.01)
    summary = PLSRegressor(3).fit(X, y).summary()
    assert summary.table[1:, 3].max() < 1e-30
    assert str(summary).count("<0.0001") == 3
