r"""Is a calibration still good? Checks with control samples, control charts, and corrections.

With e = predicted - reference of n control samples, ebar their mean and a = 1 - level:

==================  ======================================================================
bias                ebar; significant if |ebar| > t(1 - a/2; n - 1) SEP sqrt(1/n + 1/n_c), n_c the
                    calibration rows (or groups)
unexplained error   SEP, SEP^2 = sum (e - ebar)^2 / (n - 1); too large if
                    SEP > E sqrt(F(1 - a; n - 1, n_c - d)), E the root mean square of the errors to
                    expect at these rows, from rows left out with the choice made again without
                    them (`Model.half_widths`), d what the model has spent (`LeftOut.spent`)
slope               b of reference = c + b predicted, with residual variance
                    s^2 = sum (y - c - b yhat)^2 / (n - 2); significant if
                    |b - 1| sqrt((n - 1) s_yhat^2) / s > t(1 - a/2; n - 2) sqrt(1 + n / n_c)
coverage            how many prediction intervals hold the reference value; too few if the
                    probability of so few is below a
unlike rows         how many rows have T^2 or Q above their limits; too many if the probability of
                    so many is below a
==================  ======================================================================

The limits after the standards are shown beside the first three: they take the calibration for
exact, t(1 - a/2; n - 1) SEP / sqrt(n), SEC sqrt(F(1 - a; n - 1, n_c - m - 1)) and
t(1 - a/2; n - 2). But its own line is known from n_c rows only, which is what 1/n_c adds, and SEC,
from the rows of the fit, does not hold the error of the model, as SEP does.

The last two count with the beta-binomial distribution: limits that come from n_c rows are crossed
by a share of new rows that itself varies, as Beta(p (n_c + 1), (1 - p)(n_c + 1)).

The formulas are after ISO 12099 and ASTM E1655 as the literature gives them; this is not a claim
of conformity.
"""

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from types import SimpleNamespace
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from plsdof._core.display import as_html, one_line, plural
from plsdof._core.inputs import Array, as_choice, as_float, as_level, as_response, read_only
from plsdof._core.left_out import spread_at
from plsdof._core.model import Model, as_model
from plsdof.chemometrics.merit import UNDEFINED, figures_of_merit
from plsdof.chemometrics.rows import hotelling_t2, q_residuals
from plsdof.chemometrics.samples import spread_limit
from plsdof.errors import InvalidInputError, NotAvailableError
from plsdof.inference.intervals import prediction_interval

Columns = Mapping[str, npt.NDArray[Any]]
# The fewest degrees of freedom of a calibration, as for intervals from rows left out.
_LEAST_DF = 2.0

# One check
# ---------


@dataclass(frozen=True, kw_only=True)
class CalibrationErrors:
    """Errors of a calibration that later ones are compared with.

    Attributes
    ----------
    rmsecv : float
        Root mean squared error of rows left out.
    units : float
        Number of rows, or of groups of rows, that were left out.
    spent : float
        Degrees of freedom that the model has spent (`LeftOut.spent`).
    sec, df : float
        Standard error of calibration, sqrt(RSS / df), and df = n - m - 1; nan if unknown.
    """

    rmsecv: float
    units: float
    spent: float = 1.0
    sec: float = math.nan
    df: float = math.nan


def calibration_errors(model: Model) -> CalibrationErrors:
    """Return the errors of a model that has its data.

    Examples
    --------
    >>> from plsdof import pls_path
    >>> from plsdof.datasets import load_ozone
    >>> found = calibration_errors(pls_path(*load_ozone(return_X_y=True))[2])
    >>> round(found.rmsecv, 2), found.units, round(found.sec, 2), found.df
    (4.62, 203.0, 4.54, 200.0)
    """
    left = model.left_out
    units = float(len(left.y) if left.groups is None else left.groups)
    df = left.n - model.parameter - 1.0 if model.path.parameter_name == "n_components" else 0.0
    sec = math.sqrt(max(model.rss, 0.0) / df) if df > 0 else math.nan
    return CalibrationErrors(
        rmsecv=model.rmse, units=units, spent=model.spent, sec=sec, df=df or math.nan
    )


def _with_data(model: Model) -> SimpleNamespace:
    """Return a model that has its data, with the methods of one from a file."""
    left = model.left_out
    size = math.sqrt(np.average(model.scores**2, weights=left.sample_weight))
    return SimpleNamespace(
        calibration_errors=calibration_errors(model),
        predict=model.predict,
        expected_errors=lambda X: size * spread_at(model.leverage_at(X), left.fitted_share),
        prediction_interval=partial(prediction_interval, model),
        hotelling_t2=partial(hotelling_t2, model),
        q_residuals=partial(q_residuals, model),
    )


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """One test: a value, its limit, whether it passed (None: not tested), and a sentence."""

    name: str
    value: float
    limit: float
    passed: bool | None
    formula: str
    text: str


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CalibrationCheck:
    """What control samples say about a calibration; see `check_calibration`.

    Attributes
    ----------
    n : int
        Rows with a reference value.
    level : float
        Of every test.
    bias, bias_limit, sep, sep_limit, rmsep : float
        With the definitions at the top of `plsdof.chemometrics.checks`; nan where not defined.
    slope, intercept, slope_t, slope_limit : float
        Of reference on predicted, with the test of slope 1.
    bias_limit_standard, sep_limit_standard, slope_limit_standard : float
        After the standards, for comparison.
    slope_predicted : float
        Of predicted on reference, the slope of `figures_of_merit`.
    covered, unlike : int
        Number of rows whose interval holds the reference value, and of rows with T^2 or Q above
        the limit.
    verdicts : tuple of Verdict
    columns : mapping from names to (n_rows,) arrays
        reference, predicted, error, expected (size of the error), lower, upper, t2, q, unlike of
        every row; nan where missing.
    limits : mapping
        Of t2 and q.
    calibration : CalibrationErrors
    """

    n: int
    level: float
    bias: float
    bias_limit: float
    bias_limit_standard: float
    sep: float
    sep_limit: float
    sep_limit_standard: float
    rmsep: float
    slope: float
    intercept: float
    slope_t: float
    slope_limit: float
    slope_limit_standard: float
    slope_predicted: float
    covered: int
    unlike: int
    verdicts: tuple[Verdict, ...]
    columns: Columns
    limits: Mapping[str, float]
    calibration: CalibrationErrors

    @property
    def passed(self) -> dict[str, bool | None]:
        """Whether each test passed, by name; None where it could not be made."""
        return {one.name: one.passed for one in self.verdicts}

    @property
    def is_good(self) -> bool:
        """Whether no test failed."""
        return False not in self.passed.values()

    def chart(self, before: Any = ()) -> "ControlChart":
        """Return the control chart of these errors, after earlier ones."""
        errors = self.columns["error"]
        return control_chart([*before, *errors[np.isfinite(errors)]], self.calibration.rmsecv)

    def __repr__(self) -> str:
        failed = [name for name, passed in self.passed.items() if passed is False]
        return one_line(self, plural(self.n, "row"), f"failed: {', '.join(failed) or 'none'}")

    def _repr_html_(self) -> str:
        names = ("name", "value", "limit", "text")
        return as_html(repr(self), {one: [getattr(v, one) for v in self.verdicts] for one in names})


def check_calibration(model: Any, X: Any, y: Any = None, level: float = 0.95) -> CalibrationCheck:
    """Check a calibration with new rows whose reference values are known.

    Parameters
    ----------
    model : Model, fitted estimator, or a model from a file
        Of one response.
    X : (n_rows, p) array or data frame
    y : (n_rows,) array, optional
        Reference values; nan where a row has none. Without any, rows are only compared with those
        of the calibration.
    level : float
        Each of the tests passes a stable instrument with about this probability.

    Returns
    -------
    CalibrationCheck

    Notes
    -----
    Five tests at 95 % raise an alarm in more than 5 % of stable weeks; measured rates are in
    docs/howto/life-of-a-calibration.md. Cost: that of predictions, O(n_rows p m).

    Examples
    --------
    >>> from plsdof import PLSRegressor
    >>> from plsdof.datasets import load_ozone
    >>> X, y = load_ozone(return_X_y=True)
    >>> model = PLSRegressor().fit(X[::2], y[::2])
    >>> check = check_calibration(model, X[1::2], y[1::2] - 2.0)
    >>> check.verdicts[0].text, check.passed["sep"]
    ('Bias significant: 2.19, limit 1.36.', True)
    """
    asked = model if hasattr(type(model), "calibration_errors") else _with_data(as_model(model))
    level, predicted = as_level(level), np.asarray(asked.predict(X), dtype=np.float64)
    if predicted.ndim != 1:
        raise InvalidInputError(
            f"One response is checked at a time; the model has {predicted.shape[1]}."
        )
    reference = np.full(len(predicted), np.nan)
    if y is not None:
        given = as_float(y, "y")
        as_response(np.where(np.isnan(given), 0.0, given), len(predicted))
        reference = given.reshape(-1)
    columns: dict[str, npt.NDArray[Any]] = {"reference": reference, "predicted": predicted}
    columns |= {"error": predicted - reference, "lower": reference * np.nan}
    columns |= {"upper": columns["lower"], "unlike": np.zeros(len(predicted), dtype=bool)}
    columns["expected"] = asked.expected_errors(X)
    with suppress(NotAvailableError):
        found = asked.prediction_interval(X, level=level)
        columns |= {"lower": found.lower, "upper": found.upper}
    limits = {}
    # Methods other than PLS have neither, and a model may be kept without.
    with suppress(NotAvailableError, InvalidInputError):
        for one in (asked.hotelling_t2(X, level=level), asked.q_residuals(X, level=level)):
            columns |= {one.name: one.values, "unlike": columns["unlike"] | one.flags}
            limits[one.name] = one.limit
    read = {name: read_only(values) for name, values in columns.items()}
    return judge(read, limits, asked.calibration_errors, level)


def judge(
    columns: Columns, limits: Mapping[str, float], calibration: CalibrationErrors, level: float
) -> CalibrationCheck:
    """Make all tests; the arguments are those of `CalibrationCheck`."""
    known = np.isfinite(columns["error"])
    y, yhat, lower, upper, expected = (
        columns[name][known] for name in ("reference", "predicted", "lower", "upper", "expected")
    )
    n, line = len(y), slope_test(y, yhat)
    merit = figures_of_merit(y, yhat) if n else UNDEFINED
    # What the standards take for exact is known from the rows of the calibration.
    wider, df = math.sqrt(1.0 + n / calibration.units), calibration.units - calibration.spent
    usual = math.sqrt(np.mean(expected**2)) if n else math.nan
    bias_standard = _t(n - 1, level) * merit.sep / math.sqrt(max(n, 1))
    values = {
        "bias": merit.bias,
        "bias_limit": wider * bias_standard,
        "bias_limit_standard": bias_standard,
        "sep": merit.sep,
        "sep_limit": float(spread_limit(usual, max(df, _LEAST_DF), n, level)),
        "sep_limit_standard": float(spread_limit(calibration.sec, calibration.df, n, level)),
        "rmsep": merit.rmse,
        "slope": line.slope,
        "intercept": line.intercept,
        "slope_t": line.t,
        "slope_limit": wider * _t(n - 2, level),
        "slope_limit_standard": _t(n - 2, level),
        "slope_predicted": merit.slope,
    }
    beside = ""
    if values["sep_limit_standard"] < merit.sep <= values["sep_limit"]:
        beside = (
            f" It is above the limit from SEC, {values['sep_limit_standard']:.3g}, which leaves "
            "out the error of the model and is crossed too often."
        )
    covered = int(np.count_nonzero((lower <= y) & (y <= upper)))
    unlike, rows = int(np.count_nonzero(columns["unlike"])), len(known)
    verdicts = []
    if n:
        tests = {"bias": ("bias", ""), "sep": ("sep", beside)}
        tests["slope"] = ("slope_t", f" Slope {line.slope:.3g}.")
        for name, (key, more) in tests.items():
            verdicts.append(_verdict(name, values[key], values[f"{name}_limit"], more))
    if n and np.isfinite(lower).any():
        outside = _most_crossings(n, calibration.units, level, level)
        verdicts.append(_verdict("coverage", n - covered, outside, of=n))
    if limits:
        # T^2 and Q, each at this level: as if they were independent
        most = _most_crossings(rows, calibration.units, level ** len(limits), level)
        verdicts.append(_verdict("unlike", unlike, most, of=rows))
    if 1 < rows == unlike:
        verdicts[-1] = replace(verdicts[-1], text=ALL_UNLIKE.format(count=rows))
    return CalibrationCheck(
        n=n,
        level=level,
        **values,
        covered=covered,
        unlike=unlike,
        verdicts=tuple(verdicts),
        columns=columns,
        limits=limits,
        calibration=calibration,
    )


def _t(df: float, level: float) -> float:
    """Return the two-sided limit of Student's t; nan without degrees of freedom."""
    return float(stdtrit(df, (1 + level) / 2)) if df > 0 else math.nan


def _most_crossings(n: int, units: float, share: float, level: float) -> int:
    """Return how many of n rows cross limits made from other rows at most, at this level."""
    from scipy.stats import betabinom  # importing it takes half a second

    counts = betabinom(n, (1 - share) * (units + 1), share * (units + 1))
    return int(counts.ppf(level))


@dataclass(frozen=True, kw_only=True)
class SlopeTest:
    """The line reference = intercept + slope * predicted, residual deviation s, and t of slope 1.

    All nan for fewer than three rows, or predictions that do not vary.
    """

    slope: float = math.nan
    intercept: float = math.nan
    s: float = math.nan
    t: float = math.nan


def slope_test(y: Array, predicted: Array) -> SlopeTest:
    """Return the least squares line of reference on predicted values, and t of its slope.

    Examples
    --------
    >>> found = slope_test(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 4.0]))
    >>> round(found.slope, 3), round(found.s, 3), round(found.t, 3)
    (0.643, 0.267, 2.887)
    """
    if len(y) < 3 or not np.ptp(predicted) > 0:
        return SlopeTest()
    dx, dy = predicted - predicted.mean(), y - y.mean()
    slope = float(dx @ dy) / float(dx @ dx)
    s = float(np.linalg.norm(dy - slope * dx)) / math.sqrt(len(y) - 2)
    off = abs(slope - 1.0) * float(np.linalg.norm(dx))
    t = off / s if s > 0 else (math.inf if off > 0 else 0.0)
    return SlopeTest(slope=slope, intercept=float(y.mean() - slope * predicted.mean()), s=s, t=t)


# Limit of each test, and what is said of it, with or without "not ".
_TESTS = {
    "bias": ("t(1 - a/2; n - 1) SEP sqrt(1/n + 1/n_c)", "Bias {}significant"),
    "sep": (
        "E sqrt(F(1 - a; n - 1, n_c - d))",
        "SEP {}larger than the errors of rows left out explain",
    ),
    "slope": ("t(1 - a/2; n - 2) sqrt(1 + n / n_c)", "t of the slope {}significant"),
    "coverage": ("beta-binomial, 1 - a", "Reference values {}too often outside of their intervals"),
    "unlike": ("beta-binomial, 1 - a", "Rows {}too often unlike the calibration rows (T^2 or Q)"),
}
ALL_UNLIKE = (
    "All {count} rows are unlike the calibration rows (T^2 or Q above the limit): check "
    "instrument, units and wavelength axis."
)


def _verdict(
    name: str, value: float, limit: float, more: str = "", of: int | None = None
) -> Verdict:
    formula, text = _TESTS[name]
    passed = None if math.isnan(value) or math.isnan(limit) else bool(abs(value) <= limit)
    rows = "" if of is None else f" of {of}"
    text = f"{text.format('not ' if passed else '')}: {value:.3g}{rows}, limit {limit:.3g}.{more}"
    if passed is None:
        text = f"Not tested ({name}): too few reference values, or predictions that do not differ."
    return Verdict(name=name, value=value, limit=limit, passed=passed, formula=formula, text=text)


# Control charts
# --------------

# Weight of the latest error in the exponentially weighted moving average.
EWMA_WEIGHT = 0.4
# A run of so many errors on one side of zero is not chance (1 in 256).
_RUN = 9


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ControlChart:
    """Errors in time order with warning and action limits; see `control_chart`.

    Attributes
    ----------
    errors, ewma : (n,) arrays
    warning, action, ewma_limit : float
    alarms : mapping from a rule to an (n,) array of bool
        Where it was broken: "action", "two of three", "nine on one side", "ewma".
    """

    errors: Array
    ewma: Array
    warning: float
    action: float
    ewma_limit: float
    alarms: Mapping[str, npt.NDArray[np.bool_]]

    def sentences(self, start: int = 0) -> tuple[str, ...]:
        """Say which rules were broken since position ``start``, and first by which error."""
        found = []
        for rule, where in self.alarms.items():
            places = start + np.flatnonzero(where[start:])
            more = f", and {len(places) - 1} more" if len(places) > 1 else ""
            for first in places[:1].tolist():
                error = f"error {first + 1} of the chart, {self.errors[first]:.3g}"
                found.append(f"{_RULES[rule]}: {error}{more}.")
        return tuple(found)

    def __repr__(self) -> str:
        broken = [rule for rule, where in self.alarms.items() if where.any()]
        return one_line(
            self, f"{len(self.errors)} errors", f"alarms: {', '.join(broken) or 'none'}"
        )


_RULES = {
    "action": "Beyond the action limit",
    "two of three": "Two of three beyond the same warning limit",
    "nine on one side": "Nine in a row on one side of zero",
    "ewma": "Moving average (EWMA) beyond its limit",
}


def control_chart(errors: Any, sep: float) -> ControlChart:
    """Return the control chart of errors in time order.

    Warning limits are +-2 SEP, action limits +-3 SEP. Alarms: one error beyond an action limit;
    two of three beyond the same warning limit; nine in a row on one side of zero; the
    exponentially weighted moving average z_i = .4 e_i + .6 z_{i-1} beyond 3 SEP sqrt(.4 / 1.6).

    Parameters
    ----------
    errors : (n,) array
        Predicted minus reference.
    sep : float
        What errors usually are: RMSECV.

    References
    ----------
    Western Electric (1956), Statistical Quality Control Handbook; S. W. Roberts (1959),
    Technometrics 1, 239-250 (EWMA).

    Examples
    --------
    >>> control_chart([0.1, -0.2, 0.9, 0.1, 0.8], 0.35)
    ControlChart(5 errors, alarms: two of three)
    """
    e = as_float(errors, "errors").reshape(-1)
    from scipy.signal import lfilter  # importing it takes half a second

    ewma = np.asarray(lfilter([EWMA_WEIGHT], [1.0, EWMA_WEIGHT - 1.0], e)) if len(e) else e
    bound = 3.0 * sep * math.sqrt(EWMA_WEIGHT / (2.0 - EWMA_WEIGHT))
    sides = (e, -e)
    alarms = {
        "action": np.abs(e) > 3.0 * sep,
        "two of three": np.any([(v > 2.0 * sep) & _recent(v > 2.0 * sep, 3, 2) for v in sides], 0),
        "nine on one side": np.any([_recent(v > 0, _RUN, _RUN) for v in sides], axis=0),
        "ewma": np.abs(ewma) > bound,
    }
    return ControlChart(
        errors=read_only(e),
        ewma=read_only(ewma),
        warning=2.0 * sep,
        action=3.0 * sep,
        ewma_limit=bound,
        alarms=alarms,
    )


def _recent(hits: npt.NDArray[np.bool_], window: int, least: int) -> npt.NDArray[np.bool_]:
    """Return where at least so many of the last ``window`` entries are hits."""
    counts = np.cumsum(np.concatenate([np.zeros(window, dtype=int), hits]))
    return np.asarray(counts[window:] - counts[:-window] >= least)


# Corrections of predictions
# --------------------------

Kind = Literal["bias", "slope"]


@dataclass(frozen=True, kw_only=True)
class Correction:
    """Predictions become intercept + slope * prediction; what that gains on control samples.

    Attributes
    ----------
    slope, intercept : float
    rows : int
        Number of control samples.
    before, after : float
        RMSEP of them; after with the correction made without each of them.
    significant : bool
        Whether the test of bias or slope finds something to correct.
    """

    slope: float
    intercept: float
    rows: int
    before: float
    after: float
    significant: bool


def correction(
    y: Any,
    predicted: Any,
    kind: Kind = "bias",
    *,
    units: float = math.inf,
    level: float = 0.95,
    force: bool = False,
) -> Correction:
    """Return the correction of bias, or of slope and bias, by control samples.

    Parameters
    ----------
    y, predicted : (n,) arrays
        Reference values and predictions.
    kind : {"bias", "slope"}
        "bias" subtracts the mean error; "slope" takes the line of reference on predicted.
    units : float
        Rows (or groups) of the calibration, which widen the limits as in `check_calibration`.
    level : float
        Of the test.
    force : bool
        Correct a slope although it is not significantly different from 1.

    Examples
    --------
    >>> found = correction([1.0, 2.0, 3.5], [1.5, 2.4, 4.1])
    >>> round(found.intercept, 3), round(found.before, 3), round(found.after, 3)
    (-0.5, 0.507, 0.122)
    """
    as_choice(kind, "kind", get_args(Kind))
    yhat, level = as_response(predicted, np.size(predicted), "predicted"), as_level(level)
    y, least = as_response(y, len(yhat)), 2 if kind == "bias" else 4
    if len(y) < least:
        raise InvalidInputError(
            f"Adjusting the {kind} needs at least {least} control samples with a reference value; "
            f"got {len(y)}."
        )
    e, n, line = yhat - y, len(y), slope_test(y, yhat)
    slope, intercept, leverage = 1.0, -float(e.mean()), np.full(len(y), 1 / len(y))
    wider = math.sqrt(1.0 + n / units)
    significant = abs(intercept) > wider * _t(n - 1, level) * float(e.std(ddof=1)) / math.sqrt(n)
    if kind == "slope":
        limit, dx = wider * _t(n - 2, level), yhat - yhat.mean()
        significant = line.t > limit
        if not line.slope > 0:
            raise InvalidInputError(
                f"The slope of reference on predicted is {line.slope:.3g}, not positive: the "
                "reference values may belong to other samples or another constituent."
            )
        if not significant and not force:
            raise InvalidInputError(
                f"The slope {line.slope:.3g} is not significantly different from 1 (t = "
                f"{line.t:.3g}, limit {limit:.3g}): adjust the bias only, or force it."
            )
        slope, intercept, leverage = line.slope, line.intercept, 1 / n + dx**2 / float(dx @ dx)
    left_out = (y - intercept - slope * yhat) / (1 - leverage)
    return Correction(
        slope=slope,
        intercept=intercept,
        rows=n,
        before=float(np.sqrt(np.mean(e**2))),
        after=float(np.sqrt(np.mean(left_out**2))),
        significant=bool(significant),
    )


# Reference values that cannot be right
# -------------------------------------

# A value is off by a power of ten if the logarithm of value / prediction is as near to one (a
# factor of 1.4), and the error is so many times as large as errors usually are.
_NEAR, _FAR = 0.15, 5.0
# A correlation is negative if it is so at this level.
_SURE = 0.01


def doubtful_references(
    y: Any, predicted: Any, usual: float, names: Sequence[str]
) -> tuple[str, ...]:
    """Say which reference values are off by a power of ten, or are of another constituent.

    Parameters
    ----------
    y, predicted : (n,) arrays
    usual : float
        What errors usually are: RMSECV.
    names : sequence of str
        Of the rows.

    Examples
    --------
    >>> doubtful_references([1.0, 22.0, 3.0], [1.1, 2.1, 3.2], 0.2, ["1", "2", "3"])[0]
    'Reference values about 10 times the prediction in 1 of 3 rows (2): check the decimal ...'
    """
    y, yhat = np.asarray(y, dtype=np.float64), np.asarray(predicted, dtype=np.float64)
    found = []
    far = (np.abs(y - yhat) > _FAR * usual) & (y * yhat > 0)
    ratio = np.log10(np.where(far, y / np.where(far, yhat, 1.0), 1.0))
    powers = np.where(np.abs(ratio - ratio.round()) < _NEAR, ratio.round(), 0).astype(int)
    for power in np.unique(powers[powers != 0]).tolist():
        times = f"{10**power} times" if power > 0 else f"1/{10**-power} of"
        shown = [names[i] for i in np.flatnonzero(powers == power).tolist()]
        more = f" and {len(shown) - 8} more" if len(shown) > 8 else ""
        found.append(
            f"Reference values about {times} the prediction in {len(shown)} of {len(y)} rows "
            f"({', '.join(shown[:8])}{more}): check the decimal point or unit."
        )
    if not found and len(y) > 4 and np.ptp(y) > 0 and np.ptp(yhat) > 0:
        from scipy.stats import pearsonr

        r = pearsonr(y, yhat, alternative="less")
        if r.pvalue < _SURE:
            found.append(
                f"Reference values fall where predictions rise (correlation {r.statistic:.2f}): "
                "they may belong to another constituent or to other samples."
            )
    return tuple(found)
