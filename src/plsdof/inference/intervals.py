"""How sure one can be: intervals, tests and bands for coefficients, predictions and noise.

Most of it rests on the first-order expansion of the paper, cov(beta_m) = sigma^2 K K' with
K = d beta/dy in closed form. It describes the spread around the *expected* coefficients of m
components; the bias of a regularised fit and the choice of m are not in it, and every result says
so in one line (``assumptions``). Intervals for new observations are those of held-out rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from scipy.special import gammaincinv, stdtr, stdtrit  # scipy.stats takes a second

from plsdof._core.criteria import Noise
from plsdof._core.display import as_html, data_frame, one_line
from plsdof._core.inputs import (
    Array,
    as_draws,
    as_generator,
    as_level,
    feature_names,
    read_only,
    row_labels,
)
from plsdof._core.model import Model, as_model, require_noise
from plsdof._core.plugins import predictor_of
from plsdof.inference.covariance import COVARIANCES as COVARIANCES
from plsdof.inference.covariance import Covariance as Covariance
from plsdof.inference.covariance import covariance_root, residual_share, satterthwaite

if TYPE_CHECKING:
    from pandas import DataFrame

# Names of rows, responses and features on what the estimators return
# -------------------------------------------------------------------

_LIMITS = ("lower", "upper")


def response_names(y: Any) -> tuple[str, ...] | None:
    """Return the column names of a frame, or the name of a series; None if there is none.

    Examples
    --------
    >>> import pandas as pd
    >>> response_names(pd.Series([1.0, 2.0], name="octane"))
    ('octane',)
    """
    names = feature_names(y, "y")
    if names is not None:
        return names
    name = getattr(y, "name", None)
    is_series = name not in (None, "") and hasattr(y, "to_numpy")
    return (str(name),) if is_series else None


def frame_library(X: Any) -> str:
    """Return which library answers about X are frames of: polars for polars, else pandas."""
    return "polars" if type(X).__module__.startswith("polars") else "pandas"


def limits_of(
    found: "Sequence[Interval]", X: Any, responses: Sequence[str] | None, *, one_response: bool
) -> Any:
    """Return limits (n, 2), or (n, q, 2) of q responses, by what names rows and responses.

    In polars columns of several responses are "name lower" and "name upper".
    """
    limits = np.stack([np.column_stack([one.lower, one.upper]) for one in found], axis=1)
    rows, library, columns = row_labels(X), frame_library(X), list[Any](_LIMITS)
    named = rows is not None or feature_names(X) is not None
    if one_response:
        limits = limits[:, 0]
    else:
        named = responses is not None
        columns = [(name, limit) for name in responses or () for limit in _LIMITS]
    if not named or not find_spec(library):
        return limits
    values = limits.reshape(len(limits), -1)
    if library == "polars":
        names = [one if isinstance(one, str) else " ".join(one) for one in columns]
        return _polars(dict(zip(names, values.T, strict=True)))
    frame = data_frame(dict(zip(columns, values.T, strict=True)))
    return frame if rows is None else frame.set_axis(list(rows), axis=0)


def name_features(values: Array, features: Sequence[str] | None, library: str) -> Any:
    """Name (p,) values, or (p, 2) limits, by features; in polars these are a column."""
    if features is None or not find_spec(library):
        return values
    columns = dict(
        zip(
            _LIMITS if values.ndim == 2 else ["value"],
            values.T.reshape(-1, len(values)),
            strict=True,
        )
    )
    if library == "polars":
        return _polars({"feature": list(features)} | columns)
    found = data_frame(columns, features)
    return found if values.ndim == 2 else found["value"].rename(None)


def _polars(columns: dict[str, Any]) -> Any:
    import polars

    return polars.DataFrame(columns)


# What inference returns: coefficients with their tests, and centres with limits
# ------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, repr=False)
class CoefficientInference:
    """Coefficients of one model with standard errors, tests and intervals.

    Attributes
    ----------
    coef, std_error, statistic, p_value, lower, upper : (p,) arrays
        A coefficient that cannot vary (constant column) has standard error 0 and p-value 1.
    critical : float
        Multiple of the standard error between a coefficient and its limits.
    intercept, intercept_std_error : float
    level : float
    degrees_of_freedom : float
        Of Student's t: Satterthwaite's nu, or the number of folds - 1 for the jackknife; infinite,
        which is the normal distribution, for a noise variance that is known.
    noise_variance : float
    noise : str
        Where it comes from: "left-out", "jacobian", "dof", "naive" or "given".
    covariance : str
        "homoscedastic", "hc3" or "jackknife".
    null : str
        What the p-values test.
    assumptions : str
        What is held fixed and what is tested, in one line.
    names : tuple of str or None

    Examples
    --------
    >>> from plsdof import pls_path
    >>> from plsdof.inference import coefficient_inference
    >>> path = pls_path([[1.0], [2.0], [4.0], [5.0]], [1.0, 2.0, 3.0, 5.0])
    >>> result = coefficient_inference(path[1], noise="jacobian")
    >>> result.to_frame().round(2)
       coef  std_error  statistic  p_value  lower  upper         null
    0   0.9       0.18       4.99     0.04   0.12   1.68  E[coef] = 0
    >>> result.assumptions[:47]
    'X and the number of components (1) held fixed; '
    """

    coef: Array
    std_error: Array
    degrees_of_freedom: float
    critical: float
    intercept: float
    intercept_std_error: float
    level: float
    noise_variance: float
    noise: str
    covariance: str
    assumptions: str
    names: tuple[str, ...] | None = None

    @property
    def null(self) -> str:
        """What the p-values test."""
        return "E[coef] = 0"

    @property
    def statistic(self) -> Array:
        """Ratio t = coef / std_error, 0 where a coefficient cannot vary. Shape (p,)."""
        varies = self.std_error > 0
        return np.divide(self.coef, self.std_error, out=np.zeros_like(self.coef), where=varies)

    @property
    def p_value(self) -> Array:
        """Two-sided p-values of E[coef] = 0, the number of components held fixed. Shape (p,)."""
        return np.asarray(2.0 * stdtr(self.degrees_of_freedom, -np.abs(self.statistic)))

    @property
    def lower(self) -> Array:
        """Lower limits. Shape (p,)."""
        return read_only(self.coef - self.critical * self.std_error)

    @property
    def upper(self) -> Array:
        """Upper limits. Shape (p,)."""
        return read_only(self.coef + self.critical * self.std_error)

    def to_frame(self) -> "DataFrame":
        """Return a pandas data frame with one row per coefficient, named if the features are.

        The intercept, which is not tested, is left out; the column "null" says what is tested.
        """
        names = ("coef", "std_error", "statistic", "p_value", "lower", "upper")
        columns: dict[str, Any] = {name: getattr(self, name) for name in names}
        return data_frame(columns | {"null": [self.null] * len(self.coef)}, self.names)

    def __repr__(self) -> str:
        small = np.count_nonzero(self.p_value < 1 - self.level)
        counts = f"{len(self.coef)} coefficients", f"{small} with p < {1 - self.level:g}"
        return one_line(self, *counts, level=self.level, covariance=self.covariance)


@dataclass(frozen=True, kw_only=True, repr=False)
class Interval:
    """A centre with lower and upper limits, elementwise.

    Attributes
    ----------
    center, std_error, lower, upper : (k,) arrays
        ``std_error`` is nan where limits do not come from one.
    level : float
    critical : float
        Multiple of ``std_error`` between the centre and a limit; nan where limits are not
        symmetric.
    names : tuple or None
        Names of the k entries: features, or labels of the rows of a data frame.
    assumptions : str
        What is held fixed and what is covered, in one line.

    Examples
    --------
    >>> from plsdof import pls_path
    >>> from plsdof.inference import prediction_interval
    >>> path = pls_path([[1.0], [2.0], [4.0], [5.0]], [1.0, 2.0, 3.0, 5.0])
    >>> prediction_interval(path[1], [[3.0], [6.0]], noise="jacobian").to_frame().round(1)
       center  std_error  lower  upper
    0     2.8        0.6    0.0    5.5
    1     5.4        0.8    1.9    9.0
    """

    center: Array
    std_error: Array
    lower: Array
    upper: Array
    level: float
    critical: float
    names: tuple[Any, ...] | None = None
    assumptions: str = ""

    def to_frame(self) -> "DataFrame":
        """Return a pandas data frame with one row per entry, named if the entries are."""
        columns = ("center", "std_error", "lower", "upper")
        return data_frame({name: getattr(self, name) for name in columns}, self.names)

    def _repr_html_(self) -> str:
        columns = {name: getattr(self, name) for name in ("center", "lower", "upper")}
        return as_html(repr(self), columns, notes=[self.assumptions])

    def __repr__(self) -> str:
        if len(self.center) == 1:
            only = {name: float(getattr(self, name)[0]) for name in ("center", "lower", "upper")}
            return one_line(self, **only, level=self.level)
        return one_line(
            self, f"{len(self.center)} values", level=self.level, critical=self.critical
        )


# Coefficients
# ------------

_FIXED = {
    "homoscedastic": "X and {model} held fixed; constant noise variance",
    "hc3": "X and {model} held fixed; the noise variance may differ between rows (HC3)",
    "jackknife": "{model} held fixed, rows of X random (jackknife)",
}


def coefficient_inference(
    model: Any,
    *,
    level: float = 0.95,
    noise: Noise = None,
    covariance: Covariance = "homoscedastic",
    cv: Any = None,
) -> CoefficientInference:
    """Standard errors, tests of zero and confidence intervals for the coefficients of a model.

        beta_j +- q |b_j|,      b_j the j-th row of a root of the covariance

    with q the quantile of Student's t, or of the normal distribution. What is tested and covered
    are the *expected* coefficients of m components, E[beta_m]. ``path[m + 3]`` is a better guess of
    those of the true linear model: its bias is small compared to its standard errors.

    Parameters
    ----------
    model : Model, or a fitted estimator
        ``path[m]``, ``path.average()``, or what an estimator has chosen.
    level : float
        Confidence level of each interval.
    noise : str or float, optional
        Noise variance, see `Path.noise_variance`: "left-out" where rows are at hand. A number is
        known, so that the normal distribution takes the place of Student's t with Satterthwaite's
        degrees of freedom, which allows for an estimate.
    covariance : {"homoscedastic", "hc3", "jackknife"}
        sigma^2 K K' for fixed X and constant noise variance; K diag(e_i^2 / (1 - J_ii)^2) K' for
        fixed X and noise of any variances; the scatter of n fits without one row each, where rows
        are a random sample. On random rows the first two are too small by up to 30 %.
    cv : int, splitter or pairs, optional
        Folds of the jackknife as in `cross_validate`: by default single rows, or groups where there
        are any.

    Returns
    -------
    CoefficientInference

    Notes
    -----
    For strongly collinear predictors and few components the fit is far from linear in y: compare
    with `residual_bootstrap`. p-values are those of single tests; for many of them use
    ``scipy.stats.false_discovery_control(result.p_value)`` or `simultaneous_band`.

    Cost: O(p r^2) time, O(p r) memory; "hc3" O(p n r); "jackknife" that of `Path.left_out`.
    Reference: Kraemer & Sugiyama (2011), section 3.3; Denham (1997); Phatak, Reilly & Penlidis
    (2002). Measured coverage: docs/coverage.md.

    Examples
    --------
    >>> from plsdof import pls_path
    >>> from plsdof.datasets import load_ozone
    >>> path = pls_path(*load_ozone(return_X_y=True))
    >>> result = coefficient_inference(path[2], noise="jacobian")
    >>> result.coef[:2].round(3), result.std_error[:2].round(3)
    (array([-0.144,  0.006]), array([0.058, 0.023]))
    >>> coefficient_inference(path[2], covariance="hc3").std_error[:2].round(3)
    array([0.053, 0.023])
    """
    model = as_model(model)
    root = covariance_root(model, covariance, noise=noise, cv=cv)
    return CoefficientInference(
        coef=read_only(model.exact.coef[model.row]),
        std_error=read_only(root.std_error()),
        critical=critical_value(level, root.df),
        intercept=float(model.exact.intercept[model.row]),
        intercept_std_error=root.intercept_std_error(model),
        level=as_level(level),
        degrees_of_freedom=root.df,
        noise_variance=root.noise_variance,
        noise=known if isinstance(known := model.noise_level(noise), str) else "given",
        covariance=covariance,
        assumptions=f"{_held_fixed(model.label, covariance)}; p-values test E[coef] = 0, not that "
        "the true coefficient is 0.",
        names=model.path.feature_names,
    )


def jackknife(model: Any, *, cv: Any = None, level: float = 0.95) -> CoefficientInference:
    """Refit without each of g folds in turn; standard errors after Efron & Stein (1981).

        var = (g - 1)/g sum_k (beta_(k) - mean)^2       over g folds (grouped jackknife)

    `coefficient_inference` with the covariance "jackknife": standard errors, t, g - 1 degrees of
    freedom and p-values, as R's jack.test of the package pls computes them. Steps of a Pipeline
    before the estimator are held fixed.

    Notes
    -----
    Cost: one recursion for all folds of PLS, a fit per fold for other methods. Unlike the analytic
    errors it treats the rows of X as random. Reference: Martens & Martens (2000), Food Quality and
    Preference 11, 5-16.

    Examples
    --------
    >>> from plsdof import pls_path
    >>> from plsdof.datasets import load_ozone
    >>> found = jackknife(pls_path(*load_ozone(return_X_y=True))[2], cv=10)
    >>> found.std_error[:3].round(3), found.p_value[:3].round(3)
    (array([0.045, 0.012, 0.179]), array([0.011, 0.65 , 0.885]))
    """
    return coefficient_inference(model, level=level, covariance="jackknife", cv=cv)


def simultaneous_band(
    model: Any,
    *,
    level: float = 0.95,
    noise: Noise = None,
    covariance: Covariance = "homoscedastic",
    n_draws: int = 2000,
    rng: Any = 0,
) -> Interval:
    """Band that covers all expected coefficients at once, by simulation.

    The critical value is the ``level`` quantile of max_j |b_j' g| / |b_j| / s over Gaussian g,
    with s^2 ~ chi^2_df / df, and s = 1 for a noise variance that is known. On a spectrum of
    strongly correlated wavelengths it is far smaller than Bonferroni's.

    Parameters
    ----------
    model, noise, covariance
        As for `coefficient_inference`.
    level : float
        Probability that the band holds all coefficients at once.
    n_draws : int
        Number of simulated coefficient vectors, at least 100.
    rng : int or numpy Generator, optional
        The default makes it reproducible.

    Returns
    -------
    Interval
        One entry per feature.

    Notes
    -----
    Cost: O(p r n_draws) time, in blocks of bounded memory.

    Examples
    --------
    >>> from plsdof import pls_path
    >>> from plsdof.datasets import load_ozone
    >>> path = pls_path(*load_ozone(return_X_y=True))
    >>> simultaneous_band(path[2]).critical  # 1.97 for one coefficient alone
    2.8...
    """
    n_draws = as_draws(n_draws, "n_draws", minimum=100)
    model = as_model(model)
    root = covariance_root(model, covariance, noise=noise)
    df, std_error = root.df, root.std_error()
    varies = std_error > 0
    directions = root.features[varies] / std_error[varies, None]
    drawn = as_generator(rng)
    scale = np.sqrt(drawn.chisquare(df, n_draws) / df) if np.isfinite(df) else np.ones(n_draws)
    largest = _largest_projections(directions, drawn, n_draws) / scale
    critical = float(np.quantile(largest, as_level(level)))
    return interval_around(
        model.exact.coef[model.row],
        critical * std_error,
        level=level,
        std_error=read_only(std_error),
        critical=critical,
        names=model.path.feature_names,
        assumptions=f"{_held_fixed(model.label, covariance)}; covers all expected coefficients at "
        "once.",
    )


def _largest_projections(directions: Array, rng: np.random.Generator, n_draws: int) -> Array:
    largest = np.zeros(n_draws)
    if not len(directions):
        return largest
    block = max(1, int(2e7 // len(directions)))
    for start in range(0, n_draws, block):
        g = rng.standard_normal((directions.shape[1], min(block, n_draws - start)))
        largest[start : start + block] = np.abs(directions @ g).max(axis=0)
    return largest


# Predictions
# -----------

IntervalKind = Literal["observation", "mean"]
IntervalMethod = Literal["left-out", "normal"]
INTERVAL_METHODS = get_args(IntervalMethod)
_COVERED = {
    "observation": "covers one new observation",
    "mean": "covers the expected fit of the model, not the true mean",
}


def prediction_interval(
    model: Any,
    X_new: Any = None,
    *,
    level: float = 0.95,
    kind: IntervalKind = "observation",
    method: IntervalMethod | None = None,
    noise: Noise = None,
    covariance: Covariance = "homoscedastic",
) -> Interval:
    """Interval for a new observation, or for the mean of the fit, at each new row.

    Parameters
    ----------
    model, noise, covariance
        As for `coefficient_inference`; the last two belong to method "normal".
    X_new : (n_new, p) array, data frame or sparse matrix
        Rows to predict; the index of a data frame names the entries of the result.
    level : float
        Confidence level of each interval.
    kind : {"observation", "mean"}
        "observation" is for one new measurement of the response, with its own noise. "mean" is
        for the expected fit of m components, E[yhat_m(x)], which differs from the true mean by
        the bias of the fit: that of ``path[m + 3]`` has less bias, and is wider. It is never wider
        than that of an observation.
    method : {"left-out", "normal"}, optional
        How an observation is covered. "left-out", the default where rows are at hand: by the
        cross-validated errors, the choice of the model made again without them, whatever their
        distribution (`Model.half_width`). Rows far from the training rows have wider intervals;
        where the noise depends on the row they cover on average, not everywhere. "normal": by
        normal noise of constant variance, the model taken as given,

            var(mean) = sigma^2 (1/n + |(x - xbar)' A|^2),   var(observation) = sigma^2 + var(mean).

    Returns
    -------
    Interval
        One entry per row of X_new.

    Notes
    -----
    Cost: O(n_new p) after the first; of "normal" O(p r^2 + n_new p r). Measured coverage:
    docs/coverage.md.

    Examples
    --------
    >>> from plsdof import pls_path
    >>> from plsdof.datasets import load_ozone
    >>> X, y = load_ozone(return_X_y=True)
    >>> model = pls_path(X, y)[2]
    >>> interval = prediction_interval(model, X[:1])
    >>> interval.lower.round(1), interval.upper.round(1)
    (array([1.4]), array([19.1]))
    >>> prediction_interval(model, X[:1], kind="mean", noise="jacobian").upper.round(1)
    array([11.5])
    """
    by_normal = noise is not None or covariance != "homoscedastic"
    if method is None and by_normal:
        method = "normal"
    asked = model
    if not hasattr(model, "prediction_interval"):
        asked = as_model(model).predictor
    if by_normal:
        asked = predictor_of(as_model(model), noise=noise, covariance=covariance)
    found: Interval = asked.prediction_interval(X_new, level=level, kind=kind, method=method)
    return found


def normal_words(model: str, kind: str, covariance: str | None) -> str:
    """Say in one line what an interval of method "normal" assumes."""
    start = "Normal noise. " if kind == "observation" else ""
    return f"{start}{_held_fixed(model, covariance or 'homoscedastic')}; {_COVERED[kind]}."


def left_out_words(model: Model) -> str:
    """Say in one line what an interval from cross-validation assumes."""
    units = "groups" if model.left_out.groups is not None else "rows"
    choice = (
        "the choice made again without them"
        if model.was_chosen
        else f"{model_with_article(model.label)} held fixed"
    )
    return (
        f"New {units} come from where the training {units} came from; cross-validated errors, "
        f"{choice}; covers one new observation on average over rows (measured, not proved)."
    )


# Noise
# -----

# The kurtosis of the noise is taken at this many standard errors above its estimate: a sample
# from a heavy-tailed distribution that happens to have no outlier looks like a normal one.
_KURTOSIS_MARGIN = 3.0
# Fewer degrees of freedom would say nothing about the variance.
_LEAST_DF = 4.0


def noise_interval(model: Any, *, level: float = 0.95) -> Interval:
    """Interval for the noise variance, from the estimate of kind "jacobian".

    To first order the residual sum of squares is e'Ae with A = (I - J)'(I - J), and

        var(e'Ae) = sigma^4 (2 tr A^2 + kappa sum_i A_ii^2),

    kappa the excess kurtosis of the noise. A multiple of a chi-square with

        nu = 2 / ( 2 tr A^2 / (tr A)^2 + kappa sum_i A_ii^2 / (tr A)^2 )

    degrees of freedom has the same mean and variance (Satterthwaite). kappa is estimated from the
    studentised residuals, with three standard errors added on the log scale because it is
    underestimated under heavy tails; it is at least 0, and nu at least 4. Bias of the fit
    (components missing) makes the interval too high.

    Parameters
    ----------
    model : Model, or a fitted estimator
    level : float
        Confidence level.

    Returns
    -------
    Interval
        One entry: a variance, and its limits, which are not symmetric.

    Notes
    -----
    Under normal noise the interval is about 20 % wider than that with kappa = 0, which covers 49 to
    59 % instead of 95 under t noise with 3 degrees of freedom, where this one covers 86 to 88. A
    path without responses (made from moments) has no kurtosis: the noise is taken as normal there,
    and ``assumptions`` says so. Reference: Bonett (2006), Computational Statistics & Data
    Analysis 50, 775-782, for the sample variance.

    Examples
    --------
    >>> from plsdof import pls_path
    >>> from plsdof.datasets import load_ozone
    >>> noise_interval(pls_path(*load_ozone(return_X_y=True))[2])
    Interval(center=21.1684, lower=..., upper=..., level=0.95)
    """
    model = as_model(model)
    estimate = require_noise(model, "jacobian")
    nu = satterthwaite(model)
    has_rows = model.path.rows.in_memory
    if has_rows:
        share = residual_share(model)
        excess = _upper_excess_kurtosis(model, share)
        spread = 2.0 / nu + excess * float(np.sum(share**2)) / float(share.sum()) ** 2
        nu = max(2.0 / spread, min(nu, _LEAST_DF))
    tail = (1 - as_level(level)) / 2
    lower, upper = estimate * nu / (2 * gammaincinv(nu / 2, [1 - tail, tail]))
    noise = "noise of any kurtosis" if has_rows else "normal noise"
    return Interval(
        center=read_only([estimate]),
        std_error=read_only([estimate * np.sqrt(2 / nu)]),
        lower=read_only([lower]),
        upper=read_only([upper]),
        level=level,
        critical=float("nan"),
        assumptions=f"Independent {noise}; {model_with_article(model.label)} held fixed and "
        "without bias; covers the noise variance.",
    )


def _upper_excess_kurtosis(model: Model, share: Array) -> float:
    """Return the excess kurtosis of the noise, an upper limit, from studentised residuals."""
    scale = np.sqrt(model.exact.row_weight)
    usable = share > 1e-9 * share.max(initial=1.0)
    squares = (scale * model.residuals)[usable] ** 2 / share[usable]
    n = len(squares)
    if n < 4 or not squares.sum() > 0:
        return 0.0
    kurtosis = n * float(np.sum(squares**2)) / float(squares.sum()) ** 2
    # Jackknife of the logarithm: how much one row matters.
    without = (n - 1.0) * (np.sum(squares**2) - squares**2) / (squares.sum() - squares) ** 2
    logs = np.log(without)
    error = np.sqrt((n - 1.0) / n * np.sum((logs - logs.mean()) ** 2))
    return max(kurtosis * float(np.exp(_KURTOSIS_MARGIN * error)) - 3.0, 0.0)


# Words and quantiles
# -------------------


def model_with_article(label: str) -> str:
    """Return what a sentence calls a model.

    Examples
    --------
    >>> model_with_article("2 components"), model_with_article("alpha = 0.5")
    ('the 2 components', 'alpha = 0.5')
    """
    return label if " = " in label else f"the {label}"


def _held_fixed(model: str, covariance: str) -> str:
    """Say what does not vary: of components their number, not the components."""
    count, _, noun = model.partition(" ")
    held = model_with_article(model)
    if noun in ("component", "components"):
        held = f"the number of components ({count})"
    words = _FIXED[covariance].format(model=held)
    return words[0].upper() + words[1:]


def critical_value(level: float, df: float) -> float:
    """Return the two-sided quantile of Student's t; df may be infinite."""
    return float(stdtrit(df, (1 + as_level(level)) / 2))


def interval_around(
    center: Array, half: Array | float, *, names: Sequence[Any] | None, **facts: Any
) -> Interval:
    """Return an interval of half the width ``half``; ``facts`` are its other attributes."""
    lower, upper = read_only(center - half), read_only(center + half)
    names = None if names is None else tuple(names)
    return Interval(center=read_only(center), lower=lower, upper=upper, names=names, **facts)
