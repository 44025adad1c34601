"""Checks of a calibration, control charts, corrections: formulas by other routes, and edges."""

import math

import numpy as np
import pytest
from scipy import stats

from plsdof import PLS2Regressor, PLSRegressor, RidgeRegressor, pls_path, predictor
from plsdof.chemometrics import check_calibration, control_chart, figures_of_merit
from plsdof.chemometrics.checks import (
    CalibrationErrors,
    correction,
    doubtful_references,
    judge,
    slope_test,
)
from plsdof.datasets import make_spectra
from plsdof.errors import InvalidInputError


def vector():
    """Return reference and predicted values of the test vector."""
    rng = np.random.default_rng(7)
    y = rng.uniform(10, 20, 20).round(2)
    return y, (0.15 + 0.97 * y + rng.normal(0, 0.3, 20)).round(2)


def judged(y, yhat, level=0.95, limits=None, **columns):
    given = {"reference": y, "predicted": yhat, "error": yhat - y}
    given |= {"lower": yhat - 1.0, "upper": yhat + 1.0, "unlike": np.zeros(len(y), bool)}
    given["expected"] = np.full(len(y), 0.3)
    known = CalibrationErrors(rmsecv=0.3, units=95, sec=0.28, df=92)
    return judge(given | columns, limits or {}, known, level)


def hc3(y, x):
    """Return the standard error HC3 of the slope, by the sandwich of the hat matrix."""
    A = np.column_stack([np.ones(len(x)), x])
    bread = np.linalg.inv(A.T @ A)
    hat = np.diag(A @ bread @ A.T)
    residuals = y - A @ bread @ A.T @ y
    meat = (A * ((residuals / (1 - hat)) ** 2)[:, None]).T @ A
    return np.sqrt((bread @ meat @ bread)[1, 1])


@pytest.fixture(scope="module")
def spectra():
    made = make_spectra(100, 60, random_state=1)
    return PLSRegressor().fit(made.data[:60], made.target[:60]), made.data[60:], made.target[60:]


def test_published_vector():
    y, yhat = vector()
    found = judged(y, yhat)
    expected = {
        "bias": -0.4655,
        "sep": 0.2447,
        "rmsep": 0.5231,
        "bias_limit_standard": 0.1145,
        "sep_limit_standard": 0.3652,
        "slope": 0.9900,
        "intercept": 0.6189,
        "slope_t_standard": 0.506,
        "slope_limit_standard": 2.101,
    }
    for name, value in expected.items():
        digits = 3 if "slope_" in name else 4
        assert round(getattr(found, name), digits) == value, name
    assert round(slope_test(y, yhat).s, 4) == 0.2497
    alone = {"bias": False, "sep": True, "slope": True, "moving average": False, "coverage": True}
    assert found.passed == alone
    assert not found.is_good


@pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
def test_formulas_by_other_routes(level):
    rng = np.random.default_rng(3)
    y = rng.normal(5, 2, 15)
    yhat = y + rng.normal(0.2, 0.4, 15)
    found = judged(y, yhat, level=level)
    n, e = len(y), yhat - y
    low, high = stats.ttest_1samp(e, 0).confidence_interval(level)
    assert found.bias_limit_standard == pytest.approx((high - low) / 2, rel=1e-10)
    own = math.sqrt(1 + n / 95)  # of the calibration, known from 95 rows
    assert found.bias_limit == pytest.approx(own * (high - low) / 2, rel=1e-10)
    assert found.bias == pytest.approx((high + low) / 2, rel=1e-10)
    assert found.rmsep**2 == pytest.approx(found.bias**2 + found.sep**2 * (n - 1) / n, rel=1e-10)
    line = stats.linregress(yhat, y)
    assert found.slope == pytest.approx(line.slope, rel=1e-10)
    assert found.intercept == pytest.approx(line.intercept, rel=1e-10)
    assert found.slope_t_standard == pytest.approx(abs(line.slope - 1) / line.stderr, rel=1e-10)
    quantile = stats.t.isf((1 - level) / 2, n - 2)
    assert found.slope_limit_standard == found.slope_limit == pytest.approx(quantile, rel=1e-10)
    # The slope of the calibration is not known here: 1, as well as 95 rows tell.
    assert found.slope_t == pytest.approx(abs(line.slope - 1) / (own * hc3(y, yhat)), rel=1e-10)
    assert found.slope_predicted == pytest.approx(stats.linregress(y, yhat).slope, rel=1e-10)
    # The limit of SEP: a ratio of variances has this probability.
    ratio = (found.sep_limit / 0.3) ** 2
    assert stats.f.cdf(ratio, n - 1, 94) == pytest.approx(level, rel=1e-10)
    p = {one.name: one.p for one in found.verdicts}
    t = abs(stats.ttest_1samp(e, 0).statistic) / own
    assert p["bias"] == pytest.approx(2 * stats.t.sf(t, n - 1), rel=1e-9)
    assert p["sep"] == pytest.approx(stats.f.sf((found.sep / 0.3) ** 2, n - 1, 94), rel=1e-9)
    assert p["slope"] == pytest.approx(2 * stats.t.sf(found.slope_t, n - 2), rel=1e-9)
    assert found.sep_limit_standard == pytest.approx(
        0.28 * math.sqrt(stats.f.ppf(level, n - 1, 92)), rel=1e-10
    )


def test_errors_are_expected_as_intervals_are_wide(spectra):
    model, X, y = spectra
    found = check_calibration(model, X, y)
    expected, known = found.columns["expected"], model.model_
    width = found.columns["upper"] - found.columns["lower"]
    assert expected / width == pytest.approx(expected[0] / width[0], rel=1e-10)
    spread = np.sqrt(1 + 4 * known.predictor.leverage(X) / known.left_out.fitted_share)
    assert expected == pytest.approx(spread * np.linalg.norm(known.scores) / 60**0.5, rel=1e-10)
    # Errors over their expected sizes have a ratio of variances with fewer degrees of freedom, as
    # the fourth moment of the calibration's own errors says.
    k = max(np.mean(known.scores**4) / np.mean(known.scores**2) ** 2 - 3, 0)
    assert k > 0
    df = 2 / (k / len(y) + 2 / (len(y) - 1)), 2 / (k / 60 + 2 / (60 - known.spent))
    z = found.columns["error"] / expected
    ratio = z.var(ddof=1) * (found.sep_limit / found.sep) ** 2
    assert stats.f.cdf(ratio, *df) == pytest.approx(0.95, rel=1e-10)


def test_the_slope_is_compared_with_that_of_the_calibration(spectra):
    model, X, y = spectra
    found, known = check_calibration(model, X, y), model.model_
    own = known.left_out.y - known.left_out_residuals
    line = stats.linregress(own, known.left_out.y)
    assert found.calibration.slope == pytest.approx(line.slope, rel=1e-10)
    error = hc3(known.left_out.y, own)
    assert found.calibration.slope_std_error == pytest.approx(error, rel=1e-8)
    off = abs(found.slope - line.slope) / np.hypot(error, hc3(y, model.predict(X)))
    assert found.slope_t == pytest.approx(off, rel=1e-8)


def test_rows_of_one_group_err_together():
    rng = np.random.default_rng(0)
    x = np.repeat(rng.normal(size=12), 5)
    groups = np.repeat(np.arange(12), 5)
    y = x + np.repeat(0.3 * rng.normal(size=12), 5)
    alone, together = slope_test(y, x), slope_test(y, x, groups)
    # Five copies of a row are one row.
    single = slope_test(y[::5], x[::5])
    assert together.slope == pytest.approx(single.slope, rel=1e-12)
    assert together.std_error == pytest.approx(single.std_error, rel=1e-12)
    assert alone.std_error < 0.6 * single.std_error


def test_an_alarm_is_at_one_level_for_all_tests(spectra):
    model, X, y = spectra
    one = check_calibration(model, X, y)
    size = one.sep / np.sqrt(len(y)) * np.sqrt(1 + len(y) / 60)
    tests = len(one.verdicts)
    assert tests == 6
    # A bias between the limit of one test and that of six.
    for level, alarm in ((1 - 0.01, False), (1 - 0.05 / tests + 1e-4, True)):
        t = stats.t.ppf((1 + level) / 2, len(y) - 1)
        shift = t * size * (1.0 if alarm else 0.99)
        moved = check_calibration(model, X, y - (shift - one.bias))
        bias = moved.verdicts[0]
        assert bias.passed is False
        assert bias.p == pytest.approx(1 - stats.t.cdf(t * shift / (t * size), len(y) - 1) * 2 + 1)
        assert bias.alarm == alarm
        assert ("bias" in moved.message) == alarm


def test_replicates_count_as_one_sample(spectra):
    model, X, y = spectra
    once = check_calibration(model, X, y)
    order = np.random.default_rng(0).permutation(np.repeat(np.arange(len(y)), 3))
    order = np.concatenate([np.arange(len(y)), order[: 2 * len(y)]])
    thrice = check_calibration(model, X[order], y[order], groups=[f"s{i}" for i in order])
    for name in ("n", "bias", "bias_limit", "sep", "sep_limit", "slope_t", "covered", "unlike"):
        assert getattr(thrice, name) == pytest.approx(getattr(once, name), rel=1e-9), name
    # A reference value may be given once for all replicates.
    given = np.where(np.arange(len(order)) < len(y), y[order], np.nan)
    found = check_calibration(model, X[order], given, groups=order)
    assert found.bias == pytest.approx(once.bias, rel=1e-9)


def test_a_row_that_makes_the_error_large_is_named(spectra):
    model, X, y = spectra
    wrong = y.copy()
    wrong[7] += 20
    found = check_calibration(model, X, wrong, names=[f"oats-{i}" for i in range(len(y))])
    text = found.verdicts[1].text
    assert found.passed["sep"] is False
    assert "oats-7" in text
    rest = np.delete(found.columns["error"], 7).std(ddof=1)
    assert f"{rest:.3g}" in text
    assert any("oats-7" in one for one in found.chart.sentences)


def test_counts_are_beta_binomial():
    y, yhat = vector()
    found = judged(y, yhat, limits={"t2": 1.0, "q": 1.0}, unlike=np.arange(20) < 5)
    by = {one.name: one for one in found.verdicts}
    # Draw the share first, then the count: the largest count with a probability of 5 % or more.
    for name, share in (("coverage", 0.05), ("unlike", 1 - 0.95**2)):
        counts = np.arange(21)
        mass = [stats.betabinom.pmf(k, 20, share * 96, (1 - share) * 96) for k in counts]
        above = np.cumsum(mass[::-1])[::-1]
        assert above[int(by[name].limit) + 1] <= 0.05 < above[int(by[name].limit)]
    assert (found.unlike, by["unlike"].passed, found.covered) == (5, True, 20)
    more = judged(y, yhat, limits={"t2": 1.0, "q": 1.0}, unlike=np.arange(20) < 9)
    assert more.passed["unlike"] is False
    wide = judged(y, yhat, lower=yhat + 0.4, upper=yhat + 0.5)
    assert wide.passed["coverage"] is False


def test_all_rows_unlike_point_at_the_instrument():
    y, yhat = vector()
    found = judged(y, yhat, limits={"t2": 1.0}, unlike=np.ones(20, bool))
    assert "instrument" in found.verdicts[-1].text
    assert not found.is_good


def test_limit_of_the_standard_is_shown_where_it_differs():
    y, yhat = vector()
    known = CalibrationErrors(rmsecv=0.3, units=95, sec=0.1, df=92)
    given = {"reference": y, "predicted": yhat, "error": yhat - y, "unlike": np.zeros(20, bool)}
    given["expected"] = np.full(20, 0.3)
    found = judge(given | {"lower": y, "upper": y}, {}, known, 0.95)
    assert found.passed["sep"]
    assert found.sep > found.sep_limit_standard
    assert "SEC" in found.verdicts[1].text


@pytest.mark.parametrize("n", [0, 1, 2])
def test_few_reference_values_are_not_tested(n):
    y, yhat = (one[:n] for one in vector())
    found = judged(y, yhat)
    assert found.n == n
    assert found.passed.get("slope") is None
    assert found.passed.get("bias") is (None if n < 2 else True)
    assert "Not tested" in found.verdicts[2].text if n else not found.verdicts


def test_equal_predictions_have_no_slope():
    assert math.isnan(slope_test(np.arange(4.0), np.ones(4)).t)
    exact = slope_test(np.arange(4.0), np.arange(4.0))
    assert (exact.slope, exact.t) == (1.0, 0.0)
    assert slope_test(2 * np.arange(4.0), np.arange(4.0)).t == math.inf


def test_errors_of_a_calibration_by_hand():
    made = make_spectra(40, 30, random_state=0)
    model = pls_path(made.data, made.target, 4)[3]
    found = predictor(model).calibration_errors
    assert found.rmsecv == pytest.approx(
        np.sqrt(np.mean(model.path.left_out().residuals[3] ** 2)), rel=1e-12
    )
    assert found.sec == pytest.approx(np.sqrt(np.sum(model.residuals**2) / 36), rel=1e-8)
    assert (found.units, found.df) == (40, 36)
    ridge = RidgeRegressor().fit(made.data, made.target)
    assert math.isnan(check_calibration(ridge, made.data, made.target).calibration.sec)


def test_models_and_estimators_agree(spectra):
    model, X, y = spectra
    first, second = check_calibration(model, X, y), check_calibration(model.model_, X, y)
    values = [[one.value for one in check.verdicts] for check in (first, second)]
    assert values[0] == pytest.approx(values[1], rel=1e-9)
    merit = figures_of_merit(y, model.predict(X))
    assert first.bias == pytest.approx(merit.bias, rel=1e-10)
    assert first.rmsep == pytest.approx(merit.rmse, rel=1e-10)
    assert set(first.limits) == {"t2", "q"}
    assert first.is_good
    assert repr(first) == "CalibrationCheck(40 rows, failed: none)"
    assert "<table" in first._repr_html_()
    with pytest.raises(ValueError, match="read-only"):
        first.columns["error"][0] = 0.0


def test_missing_references(spectra):
    model, X, y = spectra
    some = np.where(np.arange(len(y)) < 10, y, np.nan)
    found = check_calibration(model, X, some)
    assert found.n == 10
    assert len(found.columns["t2"]) == len(y)
    assert found.bias == pytest.approx(check_calibration(model, X[:10], y[:10]).bias, rel=1e-12)
    none = check_calibration(model, X)
    assert set(none.passed) == {"unlike"}
    assert math.isnan(none.bias)
    with pytest.raises(InvalidInputError):
        check_calibration(model, X, y[:-1])


def test_a_method_without_scores_is_checked_without_them():
    made = make_spectra(60, 30, random_state=2)
    ridge = RidgeRegressor().fit(made.data[:40], made.target[:40])
    found = check_calibration(ridge, made.data[40:], made.target[40:])
    assert "unlike" not in found.passed
    assert not found.limits


def test_several_responses_are_refused():
    made = make_spectra(30, 20, random_state=2)
    model = PLS2Regressor(2).fit(made.data, made.constituents[:, :2])
    with pytest.raises(InvalidInputError):
        check_calibration(model, made.data, made.target)


# Control charts
# --------------


def rules_by_hand(e, warning, action):
    """Return the alarms of a chart, one error at a time."""
    found = {"action": [], "two of three": [], "nine on one side": [], "ewma": []}
    z = 0.0
    for i, value in enumerate(e):
        last, run = e[max(0, i - 2) : i + 1], e[max(0, i - 8) : i + 1]
        found["action"].append(abs(value) > action)
        beyond = [sum(v > warning for v in last), sum(v < -warning for v in last)]
        at = [value > warning, value < -warning]
        found["two of three"].append(any(b >= 2 and now for b, now in zip(beyond, at, strict=True)))
        same = all(v > 0 for v in run) or all(v < 0 for v in run)
        found["nine on one side"].append(len(run) == 9 and same)
        z = 0.4 * min(max(value, -action), action) + 0.6 * z
        found["ewma"].append(abs(z) > action * math.sqrt(0.4 / 1.6))
    return found


@pytest.mark.parametrize("seed", range(5))
def test_rules_of_the_chart(seed):
    rng = np.random.default_rng(seed)
    e = rng.standard_t(3, 200) + np.linspace(0, 1.5, 200)
    sizes = rng.uniform(0.5, 2.0, 200)
    found = control_chart(e * sizes, sizes, 40.0)
    limits = stats.t.isf(stats.norm.sf([2.0, 3.0]), 40)
    assert [found.warning, found.action] == pytest.approx(limits, rel=1e-9)
    expected = rules_by_hand(found.errors.tolist(), found.warning, found.action)
    assert {name: where.tolist() for name, where in found.alarms.items()} == expected
    assert all(any(where) for where in expected.values())
    assert found.sentences
    assert control_chart(e, 1.0, start=200).sentences == ()
    normal = control_chart(e, 0.5)
    assert [normal.warning, normal.action] == pytest.approx([2.0, 3.0], rel=1e-6)
    np.testing.assert_allclose(normal.errors, e / 0.5, rtol=1e-15)


def test_an_empty_chart():
    found = control_chart([], 1.0)
    assert found.sentences == ()
    assert repr(found) == "ControlChart(0 errors, alarms: none)"


def test_a_chart_goes_on(spectra):
    model, X, y = spectra
    alone = check_calibration(model, X, y)
    after = check_calibration(model, X, y, before=[5.0, 1.5, 2.5])
    assert after.chart.errors[:3].tolist() == [5.0, 1.5, 2.5]
    z = alone.columns["error"] / alone.columns["expected"]
    np.testing.assert_allclose(after.chart.errors[3:], z, rtol=1e-12)
    assert (alone.chart.start, after.chart.start) == (0, 3)
    # Sentences are about these rows, and the average remembers the ones before.
    assert not any("5 times" in one for one in after.chart.sentences)
    assert after.chart.ewma[3] == pytest.approx(0.4 * z[0] + 0.6 * after.chart.ewma[2], rel=1e-12)
    farthest = np.abs(after.chart.ewma[3:]).max()
    p = 40 * 2 * stats.t.sf(2 * farthest, predictor(model).calibration_errors.left)
    (verdict,) = [one for one in after.verdicts if one.name == "moving average"]
    assert verdict.p == pytest.approx(min(p, 1.0), rel=1e-9)
    assert verdict.value == pytest.approx(farthest, rel=1e-12)


def test_one_sample_alone_is_not_a_drift():
    e = np.zeros(20)
    e[10] = 50.0
    found = control_chart(e, 1.0, 30.0)
    assert found.alarms["action"].sum() == 1
    assert not found.alarms["ewma"].any()
    assert control_chart(np.where(np.arange(20) > 10, 2.5, 0.0), 1.0, 30.0).alarms["ewma"].any()


# Corrections
# -----------


@pytest.mark.parametrize("kind", ["bias", "slope"])
def test_left_out_errors_of_a_correction_by_refits(kind):
    y, yhat = vector()
    yhat = 3.0 + 0.7 * yhat
    found = correction(y, yhat, kind)
    errors = []
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        degree = int(kind == "slope")
        line = np.polyfit(yhat[rest], y[rest], 1) if degree else [1.0, np.mean((y - yhat)[rest])]
        errors.append(y[i] - np.polyval(line, yhat[i]))
    assert found.after == pytest.approx(np.sqrt(np.mean(np.square(errors))), rel=1e-10)
    assert found.before == pytest.approx(np.sqrt(np.mean((y - yhat) ** 2)), rel=1e-12)
    assert found.significant
    assert found.rows == 20


def test_a_slope_that_is_not_significant_is_refused_unless_forced():
    y, yhat = vector()
    with pytest.raises(InvalidInputError):
        correction(y, yhat, "slope")
    assert not correction(y, yhat, "slope", force=True).significant
    with pytest.raises(InvalidInputError):
        correction(y, -yhat, "slope", force=True)
    with pytest.raises(InvalidInputError):
        correction(y, np.ones(20), "slope")
    with pytest.raises(InvalidInputError):
        correction(y[:3], yhat[:3], "slope")
    with pytest.raises(InvalidInputError):
        correction(y, yhat, "both")


def test_a_correction_is_significant_where_the_check_says_so(spectra):
    model, X, y = spectra
    known = predictor(model).calibration_errors
    for seed in range(20):
        rows = np.random.default_rng(seed).choice(len(y), 8, replace=False)
        check = check_calibration(model, X[rows], y[rows])
        for kind in ("bias", "slope"):
            how = {"calibration": known, "force": True}
            found = correction(y[rows], model.predict(X[rows]), kind, **how)
            assert found.significant is (check.passed[kind] is False)


# Reference values that cannot be right
# -------------------------------------


@pytest.mark.parametrize("power", [-2, -1, 1, 2, 3])
def test_a_wrong_unit_is_said(power):
    y, yhat = vector()
    (text,) = doubtful_references(y * 10.0**power, yhat, 0.3, [str(i) for i in range(20)])
    assert "unit" in text
    assert "20 of 20" in text
    assert (f"{10**power} times" if power > 0 else f"1/{10**-power} of") in text


def test_some_wrong_decimal_points_are_named():
    y, yhat = vector()
    names = [f"s{i}" for i in range(20)]
    y[[3, 8]] *= 10
    (text,) = doubtful_references(y, yhat, 0.3, names)
    assert "s3, s8" in text
    y[:12] = vector()[0][:12] * 10
    (text,) = doubtful_references(y, yhat, 0.3, names)
    assert "and 4 more" in text


def test_another_constituent_is_said():
    y, yhat = vector()
    (text,) = doubtful_references(30 - y, yhat, 0.3, [""] * 20)
    assert "constituent" in text
    assert doubtful_references(y, yhat, 0.3, [""] * 20) == ()
    assert doubtful_references(y[:3], yhat[2::-1], 5.0, [""] * 3) == ()
