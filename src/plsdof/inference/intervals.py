"""How sure one can be: intervals, tests and bands for coefficients, predictions and noise.

All of it rests on the first-order expansion of the paper, cov(beta_m) = sigma^2 A A' with
A A' = (d beta/dy)(d beta/dy)' in closed form (`Path.coef_factor`). It describes the spread around
the *expected* coefficients of m components; it does not know the bias of a regularised fit, nor
the choice of m.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import gammaincinv, ndtr, ndtri, stdtr, stdtrit  # scipy.stats takes a second

from plsdof._core.criteria import Noise
from plsdof._core.display import data_frame, one_line
from plsdof._core.inputs import (
    Array,
    as_choice,
    as_count,
    as_fraction,
    as_generator,
    feature_names,
    read_only,
    row_labels,
)
from plsdof._core.path import Path, PathLike, as_model
from plsdof.errors import InvalidInputError, MissingExtraError, NotAvailableError

# Names of responses and features on what the estimators return
# -------------------------------------------------------------

_LIMITS = ["lower", "upper"]


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


def name_rows(limits: Array, rows: Sequence[str] | None) -> Any:
    """Name the rows of (k, 2) limits; they stay an array without names, or without pandas."""
    if rows is None or (pandas := _pandas()) is None:
        return limits
    return pandas.DataFrame(limits, index=list(rows), columns=_LIMITS)


def name_features(
    values: Array, features: Sequence[str] | None, responses: Sequence[str] | None
) -> Any:
    """Name (p,) or (q, p) values by features and, if there are several, by responses."""
    if features is None or (pandas := _pandas()) is None:
        return values
    if values.ndim == 1:
        return pandas.Series(values, index=list(features))
    columns = _or_numbers(responses, len(values), "y")
    return pandas.DataFrame(values.T, index=list(features), columns=columns)


def name_coefficients(
    limits: Array, responses: Sequence[str] | None, features: Sequence[str] | None
) -> Any:
    """Name (q, p, 2) limits by rows (response, feature), if either kind has names."""
    named = responses is not None or features is not None
    if not named or (pandas := _pandas()) is None:
        return limits
    q, p, _ = limits.shape
    labels = [_or_numbers(responses, q, "y"), _or_numbers(features, p, "x")]
    index = pandas.MultiIndex.from_product(labels, names=["response", "feature"])
    return pandas.DataFrame(limits.reshape(q * p, 2), index=index, columns=_LIMITS)


def name_predictions(limits: Array, responses: Sequence[str] | None, index: Any) -> Any:
    """Name (n, q, 2) limits by columns (response, limit), if responses have names."""
    if responses is None or (pandas := _pandas()) is None:
        return limits
    columns = pandas.MultiIndex.from_product([list(responses), _LIMITS])
    return pandas.DataFrame(limits.reshape(len(limits), -1), index=index, columns=columns)


def _or_numbers(names: Sequence[str] | None, count: int, letter: str) -> list[str]:
    return [f"{letter}{i}" for i in range(count)] if names is None else [str(n) for n in names]


def _pandas() -> Any:
    try:
        import pandas
    except ImportError:
        return None
    return pandas


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
    distribution : str
        "t" or "normal".
    degrees_of_freedom : float
        Of the reference distribution, n - DoF; infinite for "normal".
    noise_variance : float
    adjustment : str
        How ``p_value`` was adjusted for the number of tests.
    names : tuple of str or None

    Examples
    --------
    >>> from plsdof import pls_path
    >>> from plsdof.inference.intervals import coefficient_inference
    >>> path = pls_path([[1.0], [2.0], [4.0], [5.0]], [1.0, 2.0, 3.0, 5.0])
    >>> coefficient_inference(path, 1).to_frame().round(2)
       coef  std_error  statistic  p_value  lower  upper
    0   0.9       0.18        4.99     0.04   0.12   1.68
    """

    coef: Array
    std_error: Array
    statistic: Array
    p_value: Array
    lower: Array
    upper: Array
    critical: float
    intercept: float
    intercept_std_error: float
    level: float
    distribution: str
    degrees_of_freedom: float
    noise_variance: float
    adjustment: str
    names: tuple[str, ...] | None

    def to_frame(self) -> Any:
        """Return a pandas data frame with one row per coefficient, named if the features are.

        The intercept, which is not tested, is left out.
        """
        columns = ("coef", "std_error", "statistic", "p_value", "lower", "upper")
        return data_frame({name: getattr(self, name) for name in columns}, self.names)

    def __repr__(self) -> str:
        small = np.count_nonzero(self.p_value < 1 - self.level)
        return one_line(
            self,
            f"{len(self.coef)} coefficients",
            f"{small} with p < {1 - self.level:g}",
            level=self.level,
            distribution=self.distribution,
            adjustment=self.adjustment,
        )


@dataclass(frozen=True, kw_only=True, repr=False)
class Interval:
    """A centre with lower and upper limits, elementwise.

    Attributes
    ----------
    center, std_error, lower, upper : (k,) arrays
    level : float
    critical : float
        Multiple of ``std_error`` between the centre and a limit; nan where limits are not
        symmetric.
    names : tuple or None
        Names of the k entries: features, or labels of the rows of a data frame.

    Examples
    --------
    >>> from plsdof import pls_path
    >>> from plsdof.inference.intervals import prediction_interval
    >>> path = pls_path([[1.0], [2.0], [4.0], [5.0]], [1.0, 2.0, 3.0, 5.0])
    >>> prediction_interval(path, 1, [[3.0], [6.0]]).to_frame().round(1)
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

    def to_frame(self) -> Any:
        """Return a pandas data frame with one row per entry, named if the entries are."""
        columns = ("center", "std_error", "lower", "upper")
        return data_frame({name: getattr(self, name) for name in columns}, self.names)

    def __repr__(self) -> str:
        if len(self.center) == 1:
            only = {name: float(getattr(self, name)[0]) for name in ("center", "lower", "upper")}
            return one_line(self, **only, level=self.level)
        return one_line(
            self, f"{len(self.center)} values", level=self.level, critical=self.critical
        )


# How sure one can be: intervals, tests and bands for coefficients, predictions and noise
# ---------------------------------------------------------------------------------------

__all__ = [
    "CoefficientInference",
    "Interval",
    "coefficient_inference",
    "noise_interval",
    "prediction_interval",
    "simultaneous_band",
]

DISTRIBUTIONS = ("t", "normal")
ADJUSTMENTS = ("none", "holm", "benjamini-hochberg")
INTERVAL_KINDS = ("observation", "mean")


def coefficient_inference(
    path: PathLike,
    m: int | None = None,
    *,
    level: float = 0.95,
    noise: Noise = None,
    distribution: str = "t",
    adjust: str = "none",
) -> CoefficientInference:
    """Standard errors, tests of zero and confidence intervals for the coefficients of model m.

        beta_j +- q sigma |a_j|,      a_j the j-th row of A

    with q the quantile of t with n - DoF degrees of freedom, or of the normal distribution.

    Parameters
    ----------
    path : Path
    m : int
        Row of the path (number of components).
    level : float
        Confidence level of each interval.
    noise : {"jacobian", "dof", "naive"} or float, optional
        Noise variance; "jacobian" by default.
    distribution : {"t", "normal"}
        Reference distribution: Student's t with n - DoF degrees of freedom, which allows for the
        estimated noise, or the normal one, for a noise variance that is known.
    adjust : {"none", "holm", "benjamini-hochberg"}
        Adjustment of the p-values (needs statsmodels).

    Returns
    -------
    CoefficientInference

    Notes
    -----
    Cost: O(p r^2) time, O(p r) memory. Reference: Kraemer & Sugiyama (2011), section 3.3; Denham
    (1997); Phatak, Reilly & Penlidis (2002).

    Examples
    --------
    >>> from plsdof import pls_path
    >>> from plsdof.datasets import load_ozone
    >>> X, y = load_ozone(return_X_y=True)
    >>> result = coefficient_inference(pls_path(X, y), 2)
    >>> result.coef[:2].round(3), result.std_error[:2].round(3)
    (array([-0.144,  0.006]), array([0.058, 0.023]))
    """
    as_choice(adjust, "adjust", ADJUSTMENTS)
    model = as_model(path, m)
    path, m = model.path, model.index
    variance = _variance(path, m, noise)
    df = _reference_df(path, m, distribution)
    A = path.coef_factor(m)
    coef = path.coef[m]
    std_error = np.sqrt(variance * np.vecdot(A, A))
    statistic = np.divide(coef, std_error, out=np.zeros_like(coef), where=std_error > 0)
    critical = critical_value(level, df)
    shift = path.units.x_mean @ A
    return CoefficientInference(
        coef=read_only(coef),
        std_error=read_only(std_error),
        statistic=read_only(statistic),
        p_value=read_only(_adjusted(2 * _survival(np.abs(statistic), df), adjust)),
        lower=read_only(coef - critical * std_error),
        upper=read_only(coef + critical * std_error),
        critical=critical,
        intercept=float(path.intercept[m]),
        intercept_std_error=float(np.sqrt(variance * (1 / path.spectrum.n + shift @ shift))),
        level=level,
        distribution=distribution,
        degrees_of_freedom=df,
        noise_variance=variance,
        adjustment=adjust,
        names=path.feature_names,
    )


def simultaneous_band(
    path: PathLike,
    m: int | None = None,
    *,
    level: float = 0.95,
    noise: Noise = None,
    distribution: str = "t",
    n_draws: int = 2000,
    random_state: int | None = 0,
) -> Interval:
    """Band that covers all expected coefficients at once, by simulation.

    The critical value is the ``level`` quantile of max_j |a_j' g| / |a_j| / s over Gaussian g,
    with s^2 ~ chi^2_df / df for distribution "t" and s = 1 for "normal". On a spectrum of
    strongly correlated wavelengths it is far smaller than Bonferroni's.

    Parameters
    ----------
    path, m, noise, distribution
        As for `coefficient_inference`.
    level : float
        Probability that the band holds all coefficients at once.
    n_draws : int
        Number of simulated coefficient vectors, at least 100.
    random_state : int, optional
        Seed of the simulation; the default makes it reproducible.

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
    >>> X, y = load_ozone(return_X_y=True)
    >>> simultaneous_band(pls_path(X, y), 2).critical  # 1.97 for one coefficient alone
    2.8...
    """
    n_draws = as_count(n_draws, "n_draws", minimum=100)
    model = as_model(path, m)
    path, m = model.path, model.index
    variance = _variance(path, m, noise)
    df = _reference_df(path, m, distribution)
    A = path.coef_factor(m)
    norm = np.sqrt(np.vecdot(A, A))
    directions = A[norm > 0] / norm[norm > 0, None]
    rng = as_generator(random_state)
    scale = np.sqrt(rng.chisquare(df, n_draws) / df) if np.isfinite(df) else np.ones(n_draws)
    largest = _largest_projections(directions, rng, n_draws) / scale
    critical = float(np.quantile(largest, as_fraction(level, "level")))
    std_error = np.sqrt(variance) * norm
    return _interval(path.coef[m], std_error, critical, level, path.feature_names)


def prediction_interval(
    path: PathLike,
    m: int | None = None,
    X_new: Any = None,
    *,
    level: float = 0.95,
    kind: str = "observation",
    noise: Noise = None,
    distribution: str = "t",
) -> Interval:
    """Interval for the mean response, or a new observation, at each new row.

        var(mean) = sigma^2 (1/n + |(x - xbar)' A|^2),      var(observation) = sigma^2 + var(mean)

    Parameters
    ----------
    path, m, noise, distribution
        As for `coefficient_inference`.
    X_new : (n_new, p) array, data frame or sparse matrix
        Rows to predict; the index of a data frame names the entries of the result.
    level : float
        Confidence level of each interval.
    kind : {"observation", "mean"}
        "observation" is for one new measurement of the response, with its own noise; "mean" for
        the expected prediction, the average of many measurements, and much narrower.

    Returns
    -------
    Interval
        One entry per row of X_new.

    Notes
    -----
    Cost: O(p r^2 + n_new p r) time.

    Examples
    --------
    >>> from plsdof import pls_path
    >>> from plsdof.datasets import load_ozone
    >>> X, y = load_ozone(return_X_y=True)
    >>> path = pls_path(X, y)
    >>> interval = prediction_interval(path, 2, X[:1])
    >>> interval.lower.round(1), interval.upper.round(1)
    (array([1.1]), array([19.4]))
    >>> prediction_interval(path, 2, X[:1], kind="mean").upper.round(1)
    array([11.5])
    """
    as_choice(kind, "kind", INTERVAL_KINDS)
    model = as_model(path, m)
    path, m, rows = model.path, model.index, model.rows(X_new)
    if rows is None:
        raise InvalidInputError("X_new is missing; give the rows to predict.")
    variance = _variance(path, m, noise)
    df = _reference_df(path, m, distribution)
    reach = path.centred_times(rows, path.coef_factor(m))
    spread = 1.0 / path.spectrum.n + np.vecdot(reach, reach)
    if kind == "observation":
        spread = spread + 1.0
    center = path.units.y_mean + path.centred_times(rows, path.coef[m])
    std_error = np.sqrt(variance * spread)
    return _interval(center, std_error, critical_value(level, df), level, row_labels(X_new))


def noise_interval(path: PathLike, m: int | None = None, *, level: float = 0.95) -> Interval:
    """Interval for the noise variance, from the estimate of kind "jacobian".

    To first order the residual sum of squares is sum_i phi_i^2 e_i^2 plus a chi-square with
    n - 1 - r degrees of freedom, because I - 2TT' is a reflection. A multiple of a chi-square with

        nu = (sum phi^2 + n - 1 - r)^2 / (sum phi^4 + n - 1 - r)

    degrees of freedom has the same mean and variance (Satterthwaite). Bias of the fit (components
    missing) makes the interval too high.

    Parameters
    ----------
    path : Path
    m : int
        Row of the path (number of components).
    level : float
        Confidence level.

    Returns
    -------
    Interval
        One entry: a variance, and its limits, which are not symmetric.

    Examples
    --------
    >>> from plsdof import pls_path
    >>> from plsdof.datasets import load_ozone
    >>> X, y = load_ozone(return_X_y=True)
    >>> noise_interval(pls_path(X, y), 2)
    Interval(center=21.1684, lower=17.5339, upper=26.0695, level=0.95)
    """
    model = as_model(path, m)
    path, m = model.path, model.index
    estimate = _variance(path, m, "jacobian")
    spare = path.complete().spectrum.residual_dimension
    weights = path.complete().filter.residuals[m] ** 2
    nu = (weights.sum() + spare) ** 2 / (np.sum(weights**2) + spare)
    tail = (1 - as_fraction(level, "level")) / 2
    lower, upper = estimate * nu / (2 * gammaincinv(nu / 2, [1 - tail, tail]))
    return Interval(
        center=read_only([estimate]),
        std_error=read_only([estimate * np.sqrt(2 / nu)]),
        lower=read_only([lower]),
        upper=read_only([upper]),
        level=level,
        critical=float("nan"),
    )


def _variance(path: Path, m: int, noise: Noise) -> float:
    variance = path.noise_at(m, noise)
    if not np.isfinite(variance):
        raise NotAvailableError(
            f"The model with {m} component(s) leaves no residual to estimate the noise from "
            f"(n = {path.spectrum.n:g}, {path.dof[m]:.1f} Degrees of Freedom); choose a smaller "
            "model or give noise=<variance>."
        )
    return variance


def _reference_df(path: Path, m: int, distribution: str) -> float:
    as_choice(distribution, "distribution", DISTRIBUTIONS)
    if distribution == "normal":
        return float("inf")
    df = path.spectrum.n - float(path.dof[m])
    if not df >= 1:
        raise NotAvailableError(
            f"The t distribution needs n - DoF >= 1; here n = {path.spectrum.n:g} and DoF = "
            f"{path.dof[m]:.1f}. Use distribution='normal' or a smaller model."
        )
    return df


def critical_value(level: float, df: float) -> float:
    """Return the two-sided quantile of Student's t, or of the normal distribution for df = inf."""
    upper = (1 + as_fraction(level, "level")) / 2
    return float(ndtri(upper) if np.isinf(df) else stdtrit(df, upper))


def _survival(statistic: Array, df: float) -> Array:
    return np.asarray(ndtr(-statistic) if np.isinf(df) else stdtr(df, -statistic))


def _adjusted(p_value: Array, adjust: str) -> Array:
    if adjust == "none":
        return p_value
    try:
        from statsmodels.stats.multitest import multipletests
    except ImportError as error:
        raise MissingExtraError("statsmodels", "stats", "adjusting p-values") from error
    method = "holm" if adjust == "holm" else "fdr_bh"
    return np.asarray(multipletests(p_value, method=method)[1])


def _largest_projections(directions: Array, rng: np.random.Generator, n_draws: int) -> Array:
    largest = np.zeros(n_draws)
    if not len(directions):
        return largest
    block = max(1, int(2e7 // len(directions)))
    for start in range(0, n_draws, block):
        g = rng.standard_normal((directions.shape[1], min(block, n_draws - start)))
        largest[start : start + block] = np.abs(directions @ g).max(axis=0)
    return largest


def _interval(
    center: Array,
    std_error: Array,
    critical: float,
    level: float,
    names: Sequence[Any] | None,
) -> Interval:
    half = critical * std_error
    return Interval(
        center=read_only(center),
        std_error=read_only(std_error),
        lower=read_only(center - half),
        upper=read_only(center + half),
        level=level,
        critical=critical,
        names=None if names is None else tuple(names),
    )
