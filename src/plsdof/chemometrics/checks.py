r"""Is a calibration still good? Checks with control samples, control charts, and corrections.

With e = predicted - reference of n control samples, ebar their mean, z = e over the size that is
expected of it (`Predictor.half_widths`), a = 1 - level, and a calibration of n_c rows (or groups)
that has d degrees of freedom (`LeftOut.spent`):

==================  ======================================================================
bias                ebar; significant if |ebar| > t(1 - a/2; n - 1) SEP sqrt(1/n + 1/n_c)
sep                 unexplained error: SEP, SEP^2 = sum (e - ebar)^2 / (n - 1); too large if
                    sd(z) > sqrt(F(1 - a; f, f_c)), with 2/f = k/n + 2/(n - 1), 2/f_c = k/n_c +
                    2/(n_c - d), k the excess kurtosis of cross-validated errors: heavy tails
                    leave a standard deviation less certain (for normal errors k = 0)
slope               b of reference = c + b predicted, against the line b_c of the calibration's own
                    cross-validated predictions, as a regularised fit has a slope of its own:
                    |b - b_c| / sqrt(s_b^2 + s_c^2) > t(1 - a/2; n - 2), HC3 standard errors
coverage            how many prediction intervals hold the reference value; too few if the
                    probability of so few is below a
unlike              how many rows have T^2 or Q above their limits; too many if the probability of
                    so many is below a. They cannot see what does not change the spectrum's shape
moving average      of the errors in time order (`control_chart`), earlier ones before; too far
                    from zero if 2 n P(t > |EWMA| / its standard deviation) < a at its farthest
==================  ======================================================================

Every test has a verdict of its own. Tests at 95 % each would fail in a fifth of stable weeks:
whether there is an *alarm* is judged at one level for all of them, a over the number of tests.

The limits after the standards are shown beside the first three: they take the calibration for
exact, t(1 - a/2; n - 1) SEP / sqrt(n), SEC sqrt(F(1 - a; n - 1, n_c - m - 1)), and compare the
slope with 1. But a calibration's own line is known from n_c rows only, and SEC, from the rows of
the fit, does not hold the error of the model, as SEP does.

Coverage and unlike rows are counted with the beta-binomial distribution: limits that come from n_c
rows are crossed by a share of new rows that itself varies, as Beta(p (n_c + 1), (1 - p)(n_c + 1)).

The formulas are after ISO 12099 and ASTM E1655 as the literature gives them; this is not a claim
of conformity.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
from scipy.special import fdtrc, stdtr, stdtrit

from plsdof._core.display import as_html, one_line, p_in_words, plural
from plsdof._core.inputs import Array, as_choice, as_float, as_level, as_response, read_only
from plsdof._core.model import Model
from plsdof._core.plugins import predictor_of
from plsdof.chemometrics.charts import EWMA_SPREAD, ControlChart, control_chart
from plsdof.chemometrics.merit import UNDEFINED, figures_of_merit
from plsdof.chemometrics.samples import averaged, spread_limit
from plsdof.errors import InvalidInputError

Columns = Mapping[str, npt.NDArray[Any]]
# The fewest degrees of freedom of a calibration, as for intervals from cross-validation.
_LEAST_DF = 2.0

# One check
# ---------


@dataclass(frozen=True, kw_only=True)
class CalibrationErrors:
    """Errors of a calibration that later ones are compared with.

    Attributes
    ----------
    rmsecv : float
        Root mean squared cross-validated error.
    units : float
        Number of rows, or of groups of rows, that were held out.
    spent : float
        Degrees of freedom of the model (`LeftOut.spent`).
    sec, df : float
        Standard error of calibration, sqrt(RSS / df), and df = n - m - 1; nan if unknown.
    slope, slope_std_error : float
        Of reference on cross-validated predictions, with its HC3 standard error; nan if unknown.
    tails : float
        Excess kurtosis of cross-validated errors, at least 0.
    """

    rmsecv: float
    units: float
    spent: float = 1.0
    sec: float = math.nan
    df: float = math.nan
    slope: float = math.nan
    slope_std_error: float = math.nan
    tails: float = 0.0

    @property
    def left(self) -> float:
        """Degrees of freedom that are left for the errors."""
        return max(self.units - self.spent, _LEAST_DF)


def own_line(model: Model) -> "SlopeTest":
    """Return the line of the response on cross-validated predictions."""
    left = model.left_out
    # Rows of one group, which are in one fold, err together.
    together = None if left.groups is None else left.fold
    return slope_test(left.y, left.y - model.left_out_residuals, together)


def tails(scores: Array, weights: Array | None = None) -> float:
    """Return the excess kurtosis of errors around zero, at least 0.

    Examples
    --------
    >>> tails(np.array([1.0, -1.0, 1.0, -1.0])), round(tails(np.array([1.0] * 9 + [4.0])), 2)
    (0.0, 1.24)
    """
    square = float(np.average(scores**2, weights=weights))
    fourth = float(np.average(scores**4, weights=weights))
    return max(fourth / square**2 - 3.0, 0.0) if square > 0 else 0.0


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """One test.

    Attributes
    ----------
    name : str
    value, limit : float
    standard : float
        The limit after the standards; nan where they have none.
    passed : bool or None
        Whether the value is within its limit; None if it could not be tested.
    p : float
        Probability of a value so far off with a stable instrument.
    alarm : bool
        Whether it is an alarm at the level of all tests together.
    formula, text : str
        What the limit is, and a sentence.
    """

    name: str
    value: float
    limit: float
    standard: float = math.nan
    passed: bool | None
    p: float
    alarm: bool = False
    formula: str
    text: str


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CalibrationCheck:
    """What control samples say about a calibration; see `check_calibration`.

    Attributes
    ----------
    n : int
        Samples with a reference value.
    level : float
        Of every verdict, and of all tests together.
    bias, bias_limit, sep, sep_limit, rmsep : float
        With the definitions at the top of `plsdof.chemometrics.checks`; nan where not defined.
    slope, intercept, slope_t, slope_limit : float
        Of reference on predicted, with the test against the calibration's own slope.
    bias_limit_standard, sep_limit_standard, slope_t_standard, slope_limit_standard : float
        After the standards, for comparison; their test of the slope is one of slope 1.
    slope_predicted : float
        Of predicted on reference, the slope of `figures_of_merit`.
    covered, unlike : int
        Number of rows whose interval holds the reference value, and of rows with T^2 or Q above
        the limit.
    verdicts : tuple of Verdict
    columns : mapping from names to (n_rows,) arrays
        reference, predicted, error, expected (size of the error), lower, upper, t2, q, unlike of
        every sample; nan where missing.
    limits : mapping
        Of t2 and q.
    calibration : CalibrationErrors
    chart : ControlChart
        Of these errors, after earlier ones.
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
    slope_t_standard: float
    slope_limit_standard: float
    slope_predicted: float
    covered: int
    unlike: int
    verdicts: tuple[Verdict, ...]
    columns: Columns
    limits: Mapping[str, float]
    calibration: CalibrationErrors
    chart: ControlChart

    @property
    def passed(self) -> dict[str, bool | None]:
        """The verdict of each test on its own, by name; None where it could not be made."""
        return {one.name: one.passed for one in self.verdicts}

    @property
    def is_good(self) -> bool:
        """Whether there is no alarm, at one level for all tests together."""
        return not any(one.alarm for one in self.verdicts)

    @property
    def message(self) -> str:
        """The result in a sentence."""
        made = [one for one in self.verdicts if one.passed is not None]
        if not made:
            return "Nothing could be tested."
        share = 100 * (1 - self.level)
        alarms = [f"{one.name} ({p_in_words(one.p)})" for one in made if one.alarm]
        tests = f"{plural(len(made), 'test')} at {share:.3g}% together"
        return f"Alarm: {', '.join(alarms)}; {tests}." if alarms else f"No alarm: {tests}."

    def __repr__(self) -> str:
        failed = [name for name, passed in self.passed.items() if passed is False]
        return one_line(self, plural(self.n, "row"), f"failed: {', '.join(failed) or 'none'}")

    def _repr_html_(self) -> str:
        names = ("name", "value", "limit", "p", "alarm", "text")
        return as_html(repr(self), {one: [getattr(v, one) for v in self.verdicts] for one in names})


def check_calibration(
    model: Any,
    X: Any,
    y: Any = None,
    level: float = 0.95,
    *,
    groups: Any = None,
    before: Any = (),
    names: Sequence[Any] | None = None,
) -> CalibrationCheck:
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
        A stable instrument passes all tests together with about this probability, and each of them
        with more.
    groups : (n_rows,) array, optional
        Sample of each row: replicates are averaged first, and count as one.
    before : (k,) array, optional
        Earlier errors over their expected sizes, which the control chart begins with.
    names : sequence, optional
        What sentences call the rows, or samples; numbers from 1, or the groups, unless given.

    Returns
    -------
    CalibrationCheck

    Notes
    -----
    Measured rates of false alarms are in docs/howto/life-of-a-calibration.md. Cost: that of
    predictions, O(n_rows p m).

    Examples
    --------
    >>> from plsdof import PLSRegressor
    >>> from plsdof.datasets import load_ozone
    >>> X, y = load_ozone(return_X_y=True)
    >>> model = PLSRegressor().fit(X[::2], y[::2])
    >>> check = check_calibration(model, X[1::2], y[1::2] - 2.0)
    >>> check.verdicts[0].text, check.passed["sep"], check.is_good
    ('Bias significant: 2.19, limit 1.36.', True, False)
    """
    asked = predictor_of(model)
    level = as_level(level)
    if groups is not None:
        labels = np.asarray(groups)
        X, y = averaged(X, labels), None if y is None else averaged(y, labels, known=True)
        names = list(dict.fromkeys(labels.tolist())) if names is None else names
    found = asked.at(X, level=level)
    predicted = found.value
    if predicted.ndim != 1:
        raise InvalidInputError(
            f"One response is checked at a time; the model has {predicted.shape[1]}."
        )
    reference = np.full(len(predicted), np.nan)
    if y is not None:
        given = as_float(y, "y")
        as_response(np.where(np.isnan(given), 0.0, given), len(predicted))
        reference = given.reshape(-1)
    columns = {"reference": reference, "predicted": predicted, "error": predicted - reference}
    columns |= {"lower": predicted - found.half, "upper": predicted + found.half}
    columns |= {"expected": found.expected, "unlike": found.unlike}
    # Methods other than PLS have neither, and a model may be kept without.
    distances = [one for one in (found.t2, found.q) if one is not None]
    columns |= {one.name: one.values for one in distances}
    limits = {one.name: one.limit for one in distances}
    read = {name: read_only(values) for name, values in columns.items()}
    called = range(1, len(predicted) + 1) if names is None else names
    return judge(read, limits, asked.calibration_errors, level, before, list(map(str, called)))


def judge(
    columns: Columns,
    limits: Mapping[str, float],
    calibration: CalibrationErrors,
    level: float,
    before: Any = (),
    names: Sequence[str] = (),
) -> CalibrationCheck:
    """Make all tests; the arguments are those of `CalibrationCheck` and `check_calibration`."""
    known = np.isfinite(columns["error"])
    y, yhat, lower, upper, expected = (
        columns[name][known] for name in ("reference", "predicted", "lower", "upper", "expected")
    )
    n, line, rows = len(y), slope_test(y, yhat), len(known)
    merit = figures_of_merit(y, yhat) if n else UNDEFINED
    called = [name for name, one in zip(names, known, strict=bool(names)) if one]
    chart = control_chart(
        np.concatenate([before, yhat - y]),
        np.concatenate([np.ones(len(before)), expected]),
        calibration.left,
        start=len(before),
        names=called,
    )
    covered = int(np.count_nonzero((lower <= y) & (y <= upper)))
    unlike = int(np.count_nonzero(columns["unlike"]))
    verdicts = []
    if n:
        verdicts = [
            _bias_verdict(merit.bias, merit.sep, n, calibration, level),
            _sep_verdict(yhat - y, expected, calibration, level, called),
            _slope_verdict(line, n, calibration, level),
            _average_verdict(chart, calibration, level),
        ]
    if n and np.isfinite(lower).any():
        verdicts.append(_count_verdict("coverage", n - covered, n, level, calibration, level))
    if limits:
        # T^2 and Q, each at this level: as if they were independent
        within = level ** len(limits)
        verdicts.append(_count_verdict("unlike", unlike, rows, within, calibration, level))
    if 1 < rows == unlike:
        verdicts[-1] = replace(verdicts[-1], text=ALL_UNLIKE.format(count=rows))
    made = [one for one in verdicts if one.passed is not None]
    by_name = {one.name: one for one in verdicts}
    limit = {name: by_name[name].limit if n else math.nan for name in _STANDARD}
    standard = {name: by_name[name].standard if n else math.nan for name in _STANDARD}
    return CalibrationCheck(
        n=n,
        level=level,
        bias=merit.bias,
        sep=merit.sep,
        rmsep=merit.rmse,
        slope=line.slope,
        intercept=line.intercept,
        slope_t=by_name["slope"].value if n else math.nan,
        slope_t_standard=line.t,
        slope_predicted=merit.slope,
        **{f"{name}_limit": value for name, value in limit.items()},
        **{f"{name}_limit_standard": value for name, value in standard.items()},
        covered=covered,
        unlike=unlike,
        verdicts=tuple(
            replace(one, alarm=one in made and one.p < (1 - level) / len(made)) for one in verdicts
        ),
        columns=columns,
        limits=limits,
        calibration=calibration,
        chart=chart,
    )


# The tests whose limits the standards have, too.
_STANDARD = ("bias", "sep", "slope")


def _bias_verdict(
    bias: float, sep: float, n: int, calibration: CalibrationErrors, level: float
) -> Verdict:
    """Judge a mean error: what the standards take for exact is known from n_c rows."""
    size = sep / math.sqrt(n)
    wider, t = math.sqrt(1.0 + n / calibration.units) * size, _t(n - 1, level)
    p = _two_sided(bias / wider if wider > 0 else math.inf * abs(bias), n - 1)
    return _verdict("bias", bias, t * wider, p, standard=t * size)


def _sep_verdict(
    e: Array, expected: Array, calibration: CalibrationErrors, level: float, names: Sequence[str]
) -> Verdict:
    """Judge the spread of errors, each over its expected size, by a ratio of variances."""
    n, z = len(e), e / expected
    if n < 2:
        return _verdict("sep", math.nan, math.nan, math.nan)
    sep, ratio = float(e.std(ddof=1)), float(z.var(ddof=1))
    df = 2 / (calibration.tails / n + 2 / (n - 1))
    df_own = 2 / (calibration.tails / calibration.units + 2 / calibration.left)
    # The size that is expected of the spread, at these rows.
    usual = sep / math.sqrt(ratio) if ratio > 0 else float(np.sqrt(np.mean(expected**2)))
    limit = usual * float(spread_limit(1.0, df_own, df + 1, level))
    standard = float(spread_limit(calibration.sec, calibration.df, n, level))
    more = ""
    if standard < sep <= limit:
        more = (
            f" It is above the limit from SEC, {standard:.3g}, which leaves out the error of the "
            "model and is crossed too often."
        )
    if sep > limit and n > 2:
        worst = int(np.argmax(np.abs(z - z.mean())))
        rest = float(np.delete(e, worst).std(ddof=1))
        called = names[worst] if names else str(worst + 1)
        more = f" Without row {called} it is {rest:.3g}."
    p = float(fdtrc(df, df_own, ratio))
    return _verdict("sep", sep, limit, p, more, standard=standard)


def _slope_verdict(
    line: "SlopeTest", n: int, calibration: CalibrationErrors, level: float
) -> Verdict:
    """Judge a slope by the one that cross-validated predictions of the calibration have."""
    own, std_error = calibration.slope, calibration.slope_std_error
    if math.isnan(own):  # not known: 1, as well as n_c rows tell
        own, std_error = 1.0, line.std_error * math.sqrt(n / calibration.units)
    off, size = abs(line.slope - own), math.hypot(line.std_error, std_error)
    t = off / size if size > 0 else (math.inf if off > 0 else 0.0 * off)
    limit = _t(n - 2, level)
    more = f" Slope {line.slope:.3g}, of the calibration {own:.3g}."
    return _verdict("slope", t, limit, _two_sided(t, n - 2), more, standard=limit)


def _count_verdict(
    name: str, count: int, n: int, share: float, calibration: CalibrationErrors, level: float
) -> Verdict:
    """Judge how many of n rows cross limits, made from other rows, that a share of rows keeps."""
    from scipy.stats import betabinom  # importing it takes half a second

    units = calibration.units
    counts = betabinom(n, (1 - share) * (units + 1), share * (units + 1))
    return _verdict(name, count, int(counts.ppf(level)), float(counts.sf(count - 1)), of=n)


def _average_verdict(chart: ControlChart, calibration: CalibrationErrors, level: float) -> Verdict:
    """Judge the farthest moving average of these errors; they are as many chances to be far."""
    new = np.abs(chart.ewma[chart.start :])
    farthest, chances, df = float(new.max()) / EWMA_SPREAD, len(new), calibration.left
    p = min(1.0, chances * _two_sided(farthest, df))
    limit = EWMA_SPREAD * _t(df, 1 - (1 - level) / chances)
    return _verdict("moving average", float(new.max()), limit, p)


def _two_sided(t: float, df: float) -> float:
    """Return the probability of a Student's t so far from zero; nan without degrees of freedom."""
    return 2.0 * float(stdtr(df, -abs(t))) if df > 0 else math.nan


def _t(df: float, level: float) -> float:
    """Return the two-sided limit of Student's t; nan without degrees of freedom."""
    return float(stdtrit(df, (1 + level) / 2)) if df > 0 else math.nan


@dataclass(frozen=True, kw_only=True)
class SlopeTest:
    """The line reference = intercept + slope * predicted.

    ``s`` is the residual deviation, ``t`` the test of slope 1 after the standards, ``std_error``
    the standard error HC3 of the slope, without equal variances. All nan for fewer than
    three rows, or predictions that do not vary.
    """

    slope: float = math.nan
    intercept: float = math.nan
    s: float = math.nan
    t: float = math.nan
    std_error: float = math.nan


def slope_test(
    y: Array, predicted: Array, together: npt.NDArray[np.intp] | None = None
) -> SlopeTest:
    """Return the least squares line of reference on predicted values, and tests of its slope.

    Rows with the same number in ``together`` err together.

    Examples
    --------
    >>> found = slope_test(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 4.0]))
    >>> round(found.slope, 3), round(found.s, 3), round(found.t, 3)
    (0.643, 0.267, 2.887)
    """
    if len(y) < 3 or not np.ptp(predicted) > 0:
        return SlopeTest()
    dx, dy = predicted - predicted.mean(), y - y.mean()
    square = float(dx @ dx)
    slope = float(dx @ dy) / square
    s = float(np.linalg.norm(dy - slope * dx)) / math.sqrt(len(y) - 2)
    off = abs(slope - 1.0) * math.sqrt(square)
    # HC3: how far the slope moves without each row, or without those that err together.
    each = np.arange(len(y)) if together is None else together
    sums = [np.bincount(each, one) for one in (np.ones(len(y)), dx, dy, dx * dx, dx * dy)]
    n, x, z, xx, xy = (part.sum() - part for part in sums)
    with np.errstate(divide="ignore", invalid="ignore"):
        moved = slope - (xy - x * z / n) / (xx - x * x / n)
    return SlopeTest(
        slope=slope,
        intercept=float(y.mean() - slope * predicted.mean()),
        s=s,
        t=off / s if s > 0 else (math.inf if off > 0 else 0.0),
        std_error=float(np.linalg.norm(np.nan_to_num(moved, nan=np.inf))),
    )


# Limit of each test, and its sentence, with or without "not ".
_TESTS = {
    "bias": ("t(1 - a/2; n - 1) SEP sqrt(1/n + 1/n_c)", "Bias {}significant"),
    "sep": ("E sqrt(F(1 - a; f, f_c))", "SEP {}larger than cross-validated errors explain"),
    "slope": (
        "t(1 - a/2; n - 2), slope against the calibration's own",
        "t of the slope {}significant",
    ),
    "coverage": ("beta-binomial, 1 - a", "Reference values {}too often outside of their intervals"),
    "unlike": ("beta-binomial, 1 - a", "Rows {}too often unlike the calibration rows (T² or Q)"),
    "moving average": (
        "sd t(1 - a/2n; n_c - d)",
        "Moving average of errors over their expected sizes {}too far from zero",
    ),
}
ALL_UNLIKE = (
    "All {count} rows are unlike the calibration rows (T² or Q above the limit): check "
    "instrument, units and wavelength axis."
)


def _verdict(
    name: str,
    value: float,
    limit: float,
    p: float,
    more: str = "",
    *,
    of: int | None = None,
    standard: float = math.nan,
) -> Verdict:
    formula, text = _TESTS[name]
    passed = None if math.isnan(value) or math.isnan(limit) else bool(abs(value) <= limit)
    rows = "" if of is None else f" of {of}"
    text = f"{text.format('not ' if passed else '')}: {value:.3g}{rows}, limit {limit:.3g}.{more}"
    if passed is None:
        text = f"Not tested ({name}): too few reference values, or predictions that do not differ."
    return Verdict(
        name=name,
        value=value,
        limit=limit,
        standard=standard,
        passed=passed,
        p=p,
        formula=formula,
        text=text,
    )


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
    calibration: CalibrationErrors = CalibrationErrors(rmsecv=math.nan, units=math.inf),
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
    calibration : CalibrationErrors
        What `check_calibration` compares with; by default a calibration without error.
    level : float
        Of the test.
    force : bool
        Correct a slope although it does not differ significantly from the calibration's own.

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
    test = _bias_verdict(-intercept, float(e.std(ddof=1)), n, calibration, level)
    if kind == "slope":
        test, dx = _slope_verdict(line, n, calibration, level), yhat - yhat.mean()
        if not line.slope > 0:
            raise InvalidInputError(
                f"The slope of reference on predicted is {line.slope:.3g}, not positive: the "
                "reference values may belong to other samples or another constituent."
            )
        if test.passed and not force:
            raise InvalidInputError(f"{test.text} Adjust the bias only, or force it.")
        slope, intercept, leverage = line.slope, line.intercept, 1 / n + dx**2 / float(dx @ dx)
    left_out = (y - intercept - slope * yhat) / (1 - leverage)
    return Correction(
        slope=slope,
        intercept=intercept,
        rows=n,
        before=float(np.sqrt(np.mean(e**2))),
        after=float(np.sqrt(np.mean(left_out**2))),
        significant=test.passed is False,
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
