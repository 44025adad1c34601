"""Checks of a calibration, control charts, corrections: formulas by other routes, and edges."""

import math

import numpy as np
import pytest
from scipy import stats

from plsdof import PLSRegressor, RidgeRegressor, pls_path
from plsdof.chemometrics import check_calibration, control_chart, figures_of_merit
from plsdof.chemometrics.checks import (
    CalibrationErrors,
    calibration_errors,
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
        "slope_t": 0.506,
        "slope_limit_standard": 2.101,
    }
    for name, value in expected.items():
        digits = 3 if "slope_" in name else 4
        assert round(getattr(found, name), digits) == value, name
    assert round(slope_test(y, yhat).s, 4) == 0.2497
    assert found.passed == {"bias": False, "sep": True, "slope": True, "coverage": True}
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
    assert found.slope_t == pytest.approx(abs(line.slope - 1) / line.stderr, rel=1e-10)
    quantile = stats.t.isf((1 - level) / 2, n - 2)
    assert found.slope_limit_standard == pytest.approx(quantile, rel=1e-10)
    assert found.slope_limit == pytest.approx(own * quantile, rel=1e-10)
    assert found.slope_predicted == pytest.approx(stats.linregress(y, yhat).slope, rel=1e-10)
    # The limit of SEP: a ratio of variances has this probability.
    ratio = (found.sep_limit / 0.3) ** 2
    assert stats.f.cdf(ratio, n - 1, 94) == pytest.approx(level, rel=1e-10)
    assert found.sep_limit_standard == pytest.approx(
        0.28 * math.sqrt(stats.f.ppf(level, n - 1, 92)), rel=1e-10
    )


def test_errors_are_expected_as_intervals_are_wide(spectra):
    model, X, y = spectra
    found = check_calibration(model, X, y)
    expected, known = found.columns["expected"], model.model_
    width = found.columns["upper"] - found.columns["lower"]
    assert expected / width == pytest.approx(expected[0] / width[0], rel=1e-10)
    spread = np.sqrt(1 + 4 * known.leverage_at(X) / known.left_out.fitted_share)
    assert expected == pytest.approx(spread * np.linalg.norm(known.scores) / 60**0.5, rel=1e-10)
    ratio = found.sep_limit**2 / np.mean(expected**2)
    assert stats.f.cdf(ratio, len(y) - 1, 60 - known.spent) == pytest.approx(0.95, rel=1e-10)


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
    found = calibration_errors(model)
    assert found.rmsecv == pytest.approx(
        np.sqrt(np.mean(model.path.left_out().residuals[3] ** 2)), rel=1e-12
    )
    assert found.sec == pytest.approx(np.sqrt(np.sum(model.residuals**2) / 36), rel=1e-8)
    assert (found.units, found.df) == (40, 36)
    ridge = RidgeRegressor().fit(made.data, made.target)
    assert math.isnan(check_calibration(ridge, made.data, made.target).calibration.sec)


def test_models_and_estimators_agree(spectra):
    model, X, y = spectra
    first, second = check_calibration(model, X, y), check_calibration(model.models_[0], X, y)
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
    model = PLSRegressor(2).fit(made.data, made.constituents[:, :2])
    with pytest.raises(InvalidInputError):
        check_calibration(model, made.data, made.target)


# Control charts
# --------------


def rules_by_hand(e, sep):
    """Return the alarms of a chart, one error at a time."""
    found = {"action": [], "two of three": [], "nine on one side": [], "ewma": []}
    z = 0.0
    for i, value in enumerate(e):
        last, run = e[max(0, i - 2) : i + 1], e[max(0, i - 8) : i + 1]
        found["action"].append(abs(value) > 3 * sep)
        beyond = [sum(v > 2 * sep for v in last), sum(v < -2 * sep for v in last)]
        at = [value > 2 * sep, value < -2 * sep]
        found["two of three"].append(any(b >= 2 and now for b, now in zip(beyond, at, strict=True)))
        same = all(v > 0 for v in run) or all(v < 0 for v in run)
        found["nine on one side"].append(len(run) == 9 and same)
        z = 0.4 * value + 0.6 * z
        found["ewma"].append(abs(z) > 3 * sep * math.sqrt(0.4 / 1.6))
    return found


@pytest.mark.parametrize("seed", range(5))
def test_rules_of_the_chart(seed):
    rng = np.random.default_rng(seed)
    e = rng.standard_t(3, 200) + np.linspace(0, 1.5, 200)
    found = control_chart(e, 1.0)
    expected = rules_by_hand(e.tolist(), 1.0)
    assert {name: where.tolist() for name, where in found.alarms.items()} == expected
    assert all(any(where) for where in expected.values())
    assert (found.warning, found.action) == (2.0, 3.0)
    assert found.sentences()
    assert found.sentences(start=200) == ()


def test_an_empty_chart():
    found = control_chart([], 1.0)
    assert found.sentences() == ()
    assert repr(found) == "ControlChart(0 errors, alarms: none)"


def test_a_chart_goes_on(spectra):
    model, X, y = spectra
    check = check_calibration(model, X, y)
    assert len(check.chart([1.0, 2.0]).errors) == 42
    assert check.chart().warning == pytest.approx(2 * check.calibration.rmsecv)


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
    units = calibration_errors(model.model_).units
    for seed in range(20):
        rows = np.random.default_rng(seed).choice(len(y), 8, replace=False)
        check = check_calibration(model, X[rows], y[rows])
        for kind in ("bias", "slope"):
            found = correction(y[rows], model.predict(X[rows]), kind, units=units, force=True)
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
