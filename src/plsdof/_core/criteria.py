"""Noise level, information criteria and rules of choice: pure functions of arrays.

Arrays run over models, simplest first. ``rss`` is the residual sum of squares, ``dof`` the
Degrees of Freedom including the one of the intercept, ``n`` the number of observations, ``noise``
the noise variance, one number or one per model. A value that is not defined is nan, and nan never
wins a choice.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from plsdof._core.display import as_html, one_line, plural
from plsdof._core.inputs import Array, as_choice
from plsdof.errors import InvalidInputError, NotAvailableError

# Which noise variance is meant: words for it, numbers, and what is usual
# -----------------------------------------------------------------------

# A kind of noise variance, a variance, or what is usual.
Noise = str | float | None
NOISE_KINDS = ("jacobian", "dof", "naive")


def as_variance(noise: Any) -> float:
    """Return a noise variance given as a number."""
    no_number = bool | np.timedelta64 | np.complexfloating
    if isinstance(noise, no_number) or not isinstance(noise, int | float | np.number):
        raise InvalidInputError(
            f"noise must be one of {', '.join(map(repr, NOISE_KINDS))}, a variance > 0, or None; "
            f"got {noise!r}."
        )
    value = noise if isinstance(noise, int) else float(noise)  # whole numbers may be too large
    if not 0 < value <= float(np.finfo(np.float64).max):
        raise InvalidInputError(f"noise must be a finite variance > 0; got {noise!r:.80}.")
    return float(noise)


def usual_noise(dof: str) -> str:
    """Return the kind of noise variance that goes with a kind of Degrees of Freedom."""
    return "naive" if dof == "naive" else "jacobian"


# Noise level, information criteria and rules of choice: pure functions of arrays
# -------------------------------------------------------------------------------

DOF_KINDS = ("exact", "smoothed", "naive", "clipped")
RULES = ("patient", "first-minimum", "global-minimum")
# The walk from the simplest model to richer ones ends after so many without improvement. Scores of
# spectra with many analytes are flat for five or six components before they fall.
PATIENCE = 10
# How the models of an average are weighed: by the error of the average, or each by its own.
WEIGHINGS = ("mallows", "gcv")
# Models with a larger share of the n Degrees of Freedom than this are not candidates.
GUARD = 0.9
# GCV is an approximation for small DoF / n: from this share on rows left out have a say.
DOUBTED = 0.15
# GCV overstates the error of such models, by up to three times on random data sets. Where all
# scores are this many times as large, as where spectra end and noise begins, they are not asked.
RIVAL = 4.0
# How much better a model must do on them, in standard errors of the difference.
CLEARLY = 0.5
# With a larger share of the n Degrees of Freedom, RSS / (n - DoF) is not a reliable variance.
RELIABLE_VARIANCE = 0.5
# From this share on, Degrees of Freedom are close to n.
NEAR = 0.7
# A noise variance by the derivative at y that is this much smaller than the one by smoothed Degrees
# of Freedom is not reliable: in 6 of 800 random problems, where it was about half of the true one.
UNSTEADY = 0.8
# Where single leverages are larger, first-order leave-one-out residuals are not reliable.
RELIABLE_LEVERAGE = 0.7
# How the remark begins that estimators warn with.
_EMPTY = "This is the empty model"
# So many models of an average are named.
_MOST_NAMED = 4
# Scores that differ by less than this share of them are equal but for rounding.
_EQUAL = 1e-12


@dataclass(frozen=True, kw_only=True)
class Fits:
    """What the criteria look at: one entry per model, simplest model first.

    ``press`` are sums of squared leave-one-out residuals, for the criterion of that name.
    """

    rss: Array
    dof: Array
    noise: Array
    n: float
    total: float
    press: Array | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class Selection:
    """A chosen model and the scores behind the choice.

    Attributes
    ----------
    index : int
        Row of the path.
    parameter : float
        Number of components, or alpha for ridge regression.
    parameter_name : str
        "n_components" or "alpha".
    scores : (K,) array
        Criterion for every model; nan where it is not defined.
    criterion, rule, dof, noise : str
        How the choice was made.
    message : str
        The choice in words, with anything unusual about it.
    remarks : tuple of str
        The sentences of ``message`` about what is unusual.

    Examples
    --------
    >>> from plsdof import pls_path
    >>> choice = pls_path([[1.0], [2.0], [4.0], [5.0]], [1.0, 2.0, 3.0, 5.0]).select("bic")
    >>> choice.n_components, choice.message
    (1, '1 component (2.00 Degrees of Freedom): the smallest BIC before it stops improving.')
    """

    index: int
    parameter: float
    parameter_name: str
    scores: Array
    criterion: str
    rule: str
    dof: str
    noise: str
    message: str
    remarks: tuple[str, ...] = ()

    @property
    def empty_remark(self) -> str:
        """The remark that the empty model was chosen although a later score is lower, or ""."""
        return next((one for one in self.remarks if one.startswith(_EMPTY)), "")

    @property
    def n_components(self) -> int:
        """Number of components chosen."""
        if self.parameter_name != "n_components":
            raise NotAvailableError(
                f"This choice is {self.parameter_name} = {self.parameter:g}, not a number of "
                "components; read .parameter or .index."
            )
        return int(self.parameter)

    def _repr_html_(self) -> str:
        """Return the choice in words, and the scores behind it as a table."""
        models = np.arange(len(self.scores))
        known = self.parameter_name == "n_components"
        return as_html(
            repr(self),
            {"n_components" if known else "model": models, self.criterion: self.scores},
            notes=[self.message],
            chosen=self.index,
        )

    def __repr__(self) -> str:
        return one_line(
            self,
            f"{self.parameter_name}={self.parameter:g}",
            criterion=self.criterion,
            rule=self.rule,
            score=float(self.scores[self.index]),
        )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class LeaveOneOut:
    """Leave-one-out errors of every model, from the diagonal of the derivative.

    Attributes
    ----------
    press : (K,) array
        Sums of squared leave-one-out residuals.
    largest_leverage : (K,) array
        Largest d yhat_i / d y_i.
    n, total : float
        Number of observations, and the sum of squares of the centred response.

    Examples
    --------
    >>> from plsdof import pls_path
    >>> from plsdof.datasets import load_ozone
    >>> result = pls_path(*load_ozone(return_X_y=True), 2).leave_one_out()
    >>> result.rmse.round(2), result.q2.round(2), result.reliable
    (array([8.21, 4.87, 4.65]), array([-0.01,  0.64,  0.68]), array([ True,  True,  True]))
    """

    press: Array
    largest_leverage: Array
    n: float
    total: float

    @property
    def rmse(self) -> Array:
        """Root mean squared error of prediction. Shape (K,)."""
        return np.asarray(np.sqrt(self.press / self.n))

    @property
    def q2(self) -> Array:
        """Q^2 = 1 - PRESS / TSS. Shape (K,)."""
        return np.asarray(1.0 - self.press / (self.total if self.total > 0 else np.nan))

    @property
    def reliable(self) -> npt.NDArray[np.bool_]:
        """Whether no leverage exceeds 0.7, where the first-order formula fails. Shape (K,)."""
        return np.asarray(self.largest_leverage <= RELIABLE_LEVERAGE)

    def __repr__(self) -> str:
        return one_line(
            self, f"{len(self.press)} models", reliable=int(np.count_nonzero(self.reliable))
        )


def noise_from_jacobian(rss: Array, residual_trace: Array) -> Array:
    """Return sigma_*^2 = RSS / trace((I - H)(I - H)'), eq. (sigmastar) of the paper.

    ``residual_trace`` is sum (1 - f)^2 + n - 1 - r, which is exact for PLS because I - 2TT' is a
    reflection. nan where it is zero (no residual is left to estimate a variance from).
    """
    return _ratio(rss, residual_trace)


def noise_from_dof(rss: Array, dof: Array, n: float) -> Array:
    """Return sigma^2 = RSS / (n - DoF), eq. (sigma) of the paper; nan where DoF >= n."""
    return _ratio(rss, n - np.asarray(dof))


def aic(rss: Array, dof: Array, n: float, noise: Array) -> Array:
    """Akaike's criterion on the paper's scale, RSS/n + 2 DoF/n sigma^2.

    Parameters
    ----------
    rss, dof : (K,) arrays
        Residual sums of squares and Degrees of Freedom, simplest model first.
    n : float
        Number of observations, or sum of the weights.
    noise : float or (K,) array
        Noise variance.

    Returns
    -------
    (K,) array

    Examples
    --------
    >>> aic(np.array([100.0, 10.0]), np.array([1.0, 3.0]), 10, np.array([1.0, 1.0]))
    array([10.2,  1.6])
    """
    return np.asarray(rss / n + 2.0 * dof / n * noise)


def bic(rss: Array, dof: Array, n: float, noise: Array) -> Array:
    """Schwarz's criterion on the paper's scale, RSS/n + log(n) DoF/n sigma^2.

    Parameters
    ----------
    rss, dof, n, noise
        As for `aic`.

    Examples
    --------
    >>> bic(np.array([100.0, 10.0]), np.array([1.0, 3.0]), 10, np.array([1.0, 1.0])).round(3)
    array([10.23 ,  1.691])
    """
    return np.asarray(rss / n + np.log(n) * dof / n * noise)


def cp(rss: Array, dof: Array, n: float, noise: Array) -> Array:
    """Mallows' C_p = RSS/sigma^2 - n + 2 DoF, with one sigma^2 for all models.

    Parameters
    ----------
    rss, dof, n
        As for `aic`.
    noise : float or (K,) array
        Noise variance, the same for every model; nan where it is not positive.

    Examples
    --------
    >>> cp(np.array([100.0, 10.0]), np.array([1.0, 3.0]), 10, np.array([1.0, 1.0]))
    array([92.,  6.])
    """
    return _ratio(rss, noise) - n + 2.0 * dof


def gcv(rss: Array, dof: Array, n: float) -> Array:
    """Return (RSS/n) / (1 - DoF/n)^2, generalised cross-validation; nan where DoF >= n.

    Parameters
    ----------
    rss, dof, n
        As for `aic`.

    Examples
    --------
    >>> gcv(np.array([100.0, 10.0]), np.array([1.0, 3.0]), 10).round(2)
    array([12.35,  2.04])
    """
    share = np.where(dof < n, 1.0 - dof / n, np.nan)
    return np.asarray(rss / n / share**2)


def aicc(rss: Array, dof: Array, n: float) -> Array:
    """Corrected AIC, log(RSS/n) + 1 + 2 (DoF + 1) / (n - DoF - 2).

    Hurvich, Simonoff & Tsai (1998); nan where DoF >= n - 2.

    Parameters
    ----------
    rss, dof, n
        As for `aic`.

    Examples
    --------
    >>> aicc(np.array([100.0, 10.0]), np.array([1.0, 3.0]), 10).round(2)
    array([3.87, 2.6 ])
    """
    spare = np.where(dof < n - 2.0, n - dof - 2.0, np.nan)
    return _log(rss / n) + 1.0 + 2.0 * (dof + 1.0) / spare


def gmdl(rss: Array, dof: Array, n: float, total: float) -> Array:
    """Generalised minimum description length of Hansen & Yu (2001).

    The intercept is in every model and is coded out: n' = n - 1, k = DoF - 1, ``total`` is the
    sum of squares of the centred response. With S = RSS/(n' - k) and F = (total - RSS)/(k S),

        gmdl = n'/2 log S + k/2 log F + log n'          if R^2 >= k/n'
        gmdl = n'/2 log(total/n') + 1/2 log n'          otherwise (also for the empty model)

    It needs no noise variance. nan where DoF >= n or DoF < 1.

    Parameters
    ----------
    rss, dof, n
        As for `aic`.
    total : float
        Sum of squares of the centred response.

    Examples
    --------
    >>> gmdl(np.array([100.0, 10.0]), np.array([1.0, 3.0]), 10, 100.0).round(2)
    array([11.93,  7.25])
    """
    n_left, k = n - 1.0, np.asarray(dof) - 1.0
    S = _ratio(rss, n_left - k)
    with np.errstate(divide="ignore", invalid="ignore"):
        F = (total - rss) / (k * S)
        coded = n_left / 2 * _log(S) + k / 2 * np.log(F) + np.log(n_left)
        null = n_left / 2 * _log(np.asarray(total / n_left)) + 0.5 * np.log(n_left)
        explains = (total - rss) * n_left >= k * total
        score = np.where((k > 0) & explains, coded, null)
    return np.where((k >= 0) & (k < n_left), score, np.nan)


def hqc(rss: Array, dof: Array, n: float, noise: Array) -> Array:
    """Hannan and Quinn's criterion (1979), RSS/n + 2 log(log n) DoF/n sigma^2.

    Its penalty lies between those of `aic` and `bic`. nan where n <= e, as log(log n) < 0 there.

    Parameters
    ----------
    rss, dof, n, noise
        As for `aic`.

    Examples
    --------
    >>> hqc(np.array([100.0, 10.0]), np.array([1.0, 3.0]), 10, np.array([1.0, 1.0])).round(3)
    array([10.167,  1.5  ])
    """
    price = 2.0 * np.log(np.log(n)) if n > np.e else np.nan
    return np.asarray(rss / n + price * dof / n * noise)


def press(squares: Array | None, n: float) -> Array:
    """Return the mean squared leave-one-out residual, PRESS / n (Allen 1974).

    Parameters
    ----------
    squares : (K,) array
        Sums of squared leave-one-out residuals, see `Path.press`.
    n : float
        Number of observations, or sum of the weights.

    Examples
    --------
    >>> press(np.array([100.0, 30.0]), 10)
    array([10.,  3.])
    """
    if squares is None:
        raise NotAvailableError(
            'The criterion "press" needs leave-one-out residuals, which are not known here; use '
            '"gcv" or cross-validation.'
        )
    return np.asarray(squares / n)


@dataclass(frozen=True, kw_only=True)
class Criterion:
    """An information criterion: its formula, and all that others need to know about it.

    Attributes
    ----------
    name : str
        The word that chooses it, such as "bic".
    label : str
        What headings and axes call it.
    formula : callable
        From `Fits` to one score per model; the smallest one is the best.
    noise : {"each", "common", "none"}
        Whether it needs a noise variance: that of each model, or one for all models.
    squared : bool
        Whether it has the unit of the response, squared.
    additive : bool
        Whether its sum over several responses estimates one number, the total squared error of
        prediction.
    rows : bool
        Whether it looks at single rows, which costs more and is not known of streamed data.
    """

    name: str
    label: str
    formula: Callable[[Fits], Array]
    noise: str = "none"
    squared: bool = False
    additive: bool = False
    rows: bool = False


# Every list of criteria, in options, tables, reports and pictures, is derived from this one.
CRITERIA: dict[str, Criterion] = {
    criterion.name: criterion
    for criterion in (
        Criterion(
            name="aic",
            label="AIC",
            formula=lambda fits: aic(fits.rss, fits.dof, fits.n, fits.noise),
            noise="each",
            squared=True,
            additive=True,
        ),
        Criterion(
            name="bic",
            label="BIC",
            formula=lambda fits: bic(fits.rss, fits.dof, fits.n, fits.noise),
            noise="each",
            squared=True,
            additive=True,
        ),
        Criterion(
            name="gmdl",
            label="gMDL",
            formula=lambda fits: gmdl(fits.rss, fits.dof, fits.n, fits.total),
        ),
        Criterion(
            name="aicc",
            label="AICc",
            formula=lambda fits: aicc(fits.rss, fits.dof, fits.n),
        ),
        Criterion(
            name="cp",
            label="Cp",
            formula=lambda fits: cp(fits.rss, fits.dof, fits.n, fits.noise),
            noise="common",
        ),
        Criterion(
            name="gcv",
            label="GCV",
            formula=lambda fits: gcv(fits.rss, fits.dof, fits.n),
            squared=True,
            additive=True,
        ),
        Criterion(
            name="hqc",
            label="HQC",
            formula=lambda fits: hqc(fits.rss, fits.dof, fits.n, fits.noise),
            noise="each",
            squared=True,
            additive=True,
        ),
        Criterion(
            name="press",
            label="PRESS",
            formula=lambda fits: press(fits.press, fits.n),
            squared=True,
            rows=True,
        ),
    )
}
# Those that follow from residual sums of squares and Degrees of Freedom alone.
INFORMATION_CRITERIA = tuple(name for name, one in CRITERIA.items() if not one.rows)


def criterion_label(name: str) -> str:
    """Return what a heading calls a criterion, or a score of a cross-validation ("cv-error").

    Examples
    --------
    >>> criterion_label("gmdl"), criterion_label("cv-error")
    ('gMDL', 'cross-validated error')
    """
    if name in CRITERIA:
        return CRITERIA[name].label
    return f"cross-validated {name[3:]}" if name.startswith("cv-") else name


def is_squared(name: str) -> bool:
    """Whether a criterion, or a score of a cross-validation, has the unit of y squared."""
    return CRITERIA[name].squared if name in CRITERIA else name == "cv-error"


def noise_label(criterion: str, dof: str, noise: Noise) -> str:
    """Say which noise variance a criterion was evaluated with."""
    needs = CRITERIA[criterion].noise
    if needs == "none":
        return "not used"
    if noise is None:
        return "least-squares" if needs == "common" else usual_noise(dof)
    return noise if isinstance(noise, str) else f"{float(noise):g}"


def score(name: str, fits: Fits) -> Array:
    """Evaluate a criterion by name; nan wherever its Degrees of Freedom or noise are."""
    as_choice(name, "criterion", tuple(CRITERIA))
    with np.errstate(invalid="ignore"):
        values = CRITERIA[name].formula(fits)
    return np.where(np.isfinite(fits.dof), values, np.nan)


def candidates(dof: npt.ArrayLike, n: float) -> npt.NDArray[np.bool_]:
    """Return which models a choice may fall on: those before the first one beyond the guard.

    A model with fewer Degrees of Freedom than the intercept alone (a genuine value of an unbiased
    estimate, but not a basis for a penalty) or with more than 0.9 n of them ends the walk.

    Parameters
    ----------
    dof : (K,) array
        Degrees of Freedom, simplest model first.
    n : float
        Number of observations, or sum of the weights.

    Examples
    --------
    >>> candidates([1.0, 4.0, 9.5, 6.0], 10)
    array([ True,  True, False, False])
    """
    values = np.asarray(dof, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        inside = (values >= 1.0 - 1e-9) & (values <= GUARD * n)
    return np.logical_and.accumulate(inside)


def patient_minimum(scores: npt.ArrayLike, patience: int = PATIENCE) -> int:
    """Return the best model so far when ``patience`` models in a row have not improved on it.

    The walk goes from the simplest model to richer ones. Ties are not an improvement. It starts
    at the first score that is defined and ends at the next one that is not (nan).

    Examples
    --------
    >>> patient_minimum([5.0, 3.0, 4.0, 1.0, 2.0, 2.0, 2.0, 0.5], patience=3)
    3
    """
    array = np.asarray(scores, dtype=np.float64)
    best, values = int(_defined(array)[0]), array.tolist()
    for index in range(best + 1, len(values)):
        if math.isnan(values[index]) or index > best + patience:
            break
        if values[index] < values[best] - _EQUAL * abs(values[best]):
            best = index
    return best


def first_minimum(scores: npt.ArrayLike) -> int:
    """Return the first index whose successor is not lower: `patient_minimum` without patience.

    Examples
    --------
    >>> first_minimum([5.0, 3.0, 4.0, 1.0])
    1
    """
    return patient_minimum(scores, 1)


def global_minimum(scores: npt.ArrayLike) -> int:
    """Return the index of the smallest score, the first one among equals; nan are skipped."""
    values = np.asarray(scores, dtype=np.float64)
    defined = _defined(values)
    return int(defined[np.argmin(values[defined])])


def one_standard_error(mean: npt.ArrayLike, std_error: npt.ArrayLike) -> int:
    """Return the first model whose mean is within one standard error of the smallest mean.

    The standard error is that of the best model (Breiman et al., 1984).

    Parameters
    ----------
    mean, std_error : (K,) arrays
        Mean error of every model over folds, and its standard error; simplest model first.

    Returns
    -------
    int
        Index of the model.

    Examples
    --------
    >>> one_standard_error([5.0, 3.2, 3.0, 3.1], [0.5, 0.4, 0.3, 0.3])
    1
    """
    values = np.asarray(mean, dtype=np.float64)
    best = global_minimum(values)
    spread = float(np.asarray(std_error, dtype=np.float64)[best])
    if np.isnan(spread):
        raise NotAvailableError(
            "The best model has no standard error (a single fold?); use another rule or more folds."
        )
    with np.errstate(invalid="ignore"):
        return int(np.argmax(values <= values[best] + spread))


def choose(scores: npt.ArrayLike, rule: str, patience: int = PATIENCE) -> int:
    """Apply a rule of choice by name; ``patience`` belongs to "patient"."""
    as_choice(rule, "rule", RULES)
    if rule == "global-minimum":
        return global_minimum(scores)
    return patient_minimum(scores, patience if rule == "patient" else 1)


def remarks(
    *,
    scores: Array,
    allowed: npt.NDArray[np.bool_],
    chosen: int,
    criterion: str,
    n: float,
    dof: Array,
    label: Callable[[int], str],
    longer: bool,
) -> list[str]:
    """Return one plain sentence about each thing that is unusual about a choice.

    Arrays run over models, simplest first; ``chosen`` is a position in them.

    Parameters
    ----------
    allowed : (K,) bool array
        Which models were candidates.
    label : callable
        From a position to the model in words.
    longer : bool
        Whether there are further models behind the last one.
    """
    said, last = [], len(scores) - 1
    lowest = global_minimum(scores)
    if chosen == 0 and lowest > 0 and dof[0] <= 1.0 + 1e-9:
        where = "" if allowed[lowest] else f", with {dof[lowest]:.0f} Degrees of Freedom"
        said.append(
            f"{_EMPTY}, although {label(lowest)} would score lower{where}: "
            "compare with cross-validation before you conclude that there is nothing to predict."
        )
    if chosen == last and last > 0 and longer:
        said.append("This is the last model of the path: larger ones may do better.")
    near = _as_good(scores, allowed, chosen, criterion, n)
    if len(near) > 1:
        said.append(
            f"{len(near)} models, from {label(near[0])} to {label(near[-1])}, score within one "
            "standard error of it."
        )
    if dof[chosen] > NEAR * n:
        said.append(
            f"Its Degrees of Freedom are close to n = {n:g}: it nearly interpolates the data, and "
            "its noise level is not reliable."
        )
    undefined = int(np.isnan(scores).sum())
    if undefined:
        said.append(
            f"Not defined for {plural(undefined, 'model')} with too many Degrees of Freedom."
        )
    if not allowed.any():
        said.append(
            f"No model has between 1 and {GUARD:g} n Degrees of Freedom; all of them were compared."
        )
    elif not allowed.all():
        count = int(np.count_nonzero(~allowed))
        said.append(
            f"Not candidates: {plural(count, 'model')} from {label(int(np.argmin(allowed)))} on "
            f"(less than 1 or more than {GUARD:g} n Degrees of Freedom)."
        )
    return said


def _as_good(
    scores: Array, allowed: npt.NDArray[np.bool_], chosen: int, criterion: str, n: float
) -> npt.NDArray[np.intp]:
    """Return the candidates within one standard error of the chosen one.

    A mean of n squared Gaussian errors has a standard error of sqrt(2 / n) of itself.
    """
    if not is_squared(criterion):
        return np.array([chosen])
    with np.errstate(invalid="ignore"):
        return np.flatnonzero(allowed & (scores <= scores[chosen] * (1.0 + np.sqrt(2.0 / n))))


# What a rule takes, in the words of messages, tables and reports; "{}" is the score.
_RULE_WORDS = {
    "patient": "the smallest {} before it stops improving",
    "first-minimum": "the first minimum of {}",
    "global-minimum": "the smallest {} of all",
    "left-out": "the smallest error of rows left out, where {} cannot tell",
    "minimum": "the smallest {}",
    "one-standard-error": "the simplest model within one standard error of the smallest {}",
    "randomization": "the simplest model that is not worse by {} (randomization test)",
    "given": "as asked for",
    "fixed": "as asked for, judged by {}",
}


def rule_in_words(rule: str, score: str) -> str:
    """Say which model a rule takes.

    Examples
    --------
    >>> rule_in_words("first-minimum", "BIC")
    'the first minimum of BIC'
    """
    return _RULE_WORDS.get(rule, rule).format(score)


def choice_in_words(label: str, dof: float, rule: str, criterion: str) -> str:
    """Say what was chosen, and why.

    Examples
    --------
    >>> choice_in_words("2 components", 6.456, "minimum", "cv-error")
    '2 components (6.46 Degrees of Freedom): the smallest cross-validated error.'
    """
    why = rule_in_words(rule, criterion_label(criterion))
    return f"{label} ({dof:.2f} Degrees of Freedom): {why}."


def average_in_words(weights: Array, labels: Sequence[str], dof: float) -> str:
    """Say what an average consists of.

    Examples
    --------
    >>> average_in_words(np.array([0.0, 0.7, 0.3]), ["none", "one", "two"], 4.2)
    'average of 2 models (4.20 Degrees of Freedom): one .70, two .30.'
    """
    heaviest = [i for i in np.argsort(-weights, kind="stable") if weights[i] >= 0.01][:_MOST_NAMED]
    parts = ", ".join(f"{labels[i]} {weights[i]:.2f}".replace(" 0.", " .") for i in heaviest)
    count = plural(int(np.count_nonzero(weights)), "model")
    return f"average of {count} ({dof:.2f} Degrees of Freedom): {parts}."


def model_weights(rss: Array, dof: Array, n: float) -> Array:
    """Weigh models by GCV^(-n/2), within the guard. They sum to one.

    GCV^(-n/2) is the likelihood of Gaussian noise at its maximum, with generalised
    cross-validation for the residual variance, as weights exp(-AIC/2) are (Akaike 1978).

    Parameters
    ----------
    rss, dof : (K,) arrays
        Residual sums of squares and Degrees of Freedom, simplest model first.
    n : float
        Number of observations, or sum of the weights.

    Examples
    --------
    >>> model_weights(np.array([100.0, 10.0, 9.5]), np.array([1.0, 3.0, 4.0]), 10).round(2)
    array([0.  , 0.78, 0.22])
    """
    allowed = candidates(dof, n)
    require_candidates(allowed, n)
    log_gcv = np.where(allowed, _log(gcv(rss, dof, n)), np.inf)
    best = log_gcv.min()
    if np.isneginf(best):  # an exact fit: the simplest one
        return np.asarray(np.arange(len(dof)) == np.argmin(log_gcv), dtype=np.float64)
    weights = np.exp(-n / 2 * (log_gcv - best))
    return np.asarray(weights / weights.sum())


def mallows_weights(rss: Array, dof: Array, chosen: int) -> Array:
    r"""Weigh the models up to a chosen one so that their average has the least estimated error.

    The error of an average is estimated by Mallows' criterion (Hansen 2007), in units of the noise
    variance

        C(w) = |sum_m w_m e_m|^2 + 2 sum_m w_m DoF(m),     w >= 0,   sum_m w_m = 1.

    Fits of nested models are projections, so that e_m'e_k is the smaller of RSS_m and RSS_k, and
    with v_j = w_j + w_{j+1} + ... the share of component j that is kept

        C = RSS_0 + sum_j (RSS_{j-1} - RSS_j) ((1 - v_j)^2 - 1) + 2 v_j (DoF(j) - DoF(j - 1)).

    The minimum is v_j = 1 - (DoF(j) - DoF(j-1)) / (RSS_{j-1} - RSS_j), pooled over neighbours where
    it would increase with j and kept within [0, 1]: every component of the chosen model is shrunk
    by what noise alone would have gained.

    Parameters
    ----------
    rss : (K,) array
        Residual sums of squares of nested models, over the noise variance; simplest model first.
    dof : (K,) array
        Degrees of Freedom.
    chosen : int
        Richer models have no weight: a choice of the empty model stays what it is.

    References
    ----------
    Hansen, B. E. (2007). Least squares model averaging. Econometrica 75.

    Examples
    --------
    >>> mallows_weights(np.array([100.0, 10.0, 8.0, 7.9]), np.array([1.0, 3.0, 4.0, 5.0]), 2)
    array([0.02222222, 0.47777778, 0.5       , 0.        ])
    """
    weights = np.zeros(len(rss))
    # Models that fit no better than earlier ones take no part.
    lowest = np.minimum.accumulate(rss[: chosen + 1])
    better = np.append(True, -np.diff(lowest) > _EQUAL * lowest[:-1])
    kept = np.flatnonzero(better)
    gain, cost = -np.diff(lowest[kept]), np.diff(dof[kept])
    share = gain
    if len(gain):
        from scipy.optimize import isotonic_regression  # importing it takes 0.2 s

        share = isotonic_regression(1.0 - cost / gain, weights=gain, increasing=False).x
    bounded = np.concatenate([[1.0], np.clip(share, 0.0, 1.0), [0.0]])
    weights[kept] = bounded[:-1] - bounded[1:]
    return weights


def average_weights(rss: Array, dof: Array, n: float, chosen: int) -> Array:
    """Return `mallows_weights` up to a chosen model, with its noise variance, RSS / (n - DoF).

    With more than n / 2 Degrees of Freedom that variance is not reliable, and the chosen model is
    left as it is.

    Examples
    --------
    >>> rss, dof = np.array([100.0, 10.0, 8.0, 7.9]), np.array([1.0, 3.0, 4.0, 5.0])
    >>> average_weights(rss, dof, 12, 2).round(2), average_weights(rss, dof, 7, 2)
    (array([0.02, 0.48, 0.5 , 0.  ]), array([0., 0., 1., 0.]))
    """
    require_candidates(candidates(dof, n), n)
    noise = rss[chosen] / (n - dof[chosen]) if dof[chosen] <= RELIABLE_VARIANCE * n else 0.0
    if noise <= _EQUAL**2 * rss[0]:  # or an exact fit
        return np.asarray(np.arange(len(rss)) == chosen, dtype=np.float64)
    return mallows_weights(rss / noise, dof, chosen)


def confirmed(squares: Array, chosen: int) -> int:
    """Return the model that rows left out prefer, if they do so clearly, else the chosen one.

    Its mean squared error must be smaller by more than half a standard error of the difference.

    Parameters
    ----------
    squares : (k, n_rows) array
        (Weighted) squared errors of rows left out, of the first k models.
    chosen : int

    Examples
    --------
    >>> confirmed(np.array([[4.0, 5.0, 6.0], [1.0, 1.5, 2.0]]), 0)
    1
    """
    best = int(np.argmin(squares.sum(axis=1)))
    if chosen >= len(squares):
        return chosen
    gain = squares[chosen] - squares[best]
    return best if gain.sum() > CLEARLY * np.std(gain) * np.sqrt(len(gain)) else chosen


def require_candidates(allowed: npt.NDArray[np.bool_], n: float) -> None:
    if not allowed.any():
        raise NotAvailableError(
            f"No model has between 1 and {GUARD:g} n Degrees of Freedom, n = {n:g}, so that there "
            "is nothing to average; take one model of the path instead."
        )


def _defined(values: Array) -> npt.NDArray[np.intp]:
    defined = np.flatnonzero(~np.isnan(values))
    if not len(defined):
        raise NotAvailableError(
            "The criterion is not defined for any model (too many Degrees of Freedom for the "
            "number of observations, or no noise level); use cross-validation, or give noise=."
        )
    return defined


def _ratio(numerator: Array, denominator: Array) -> Array:
    """Divide, nan where the denominator is not positive."""
    positive = np.asarray(denominator) > 0
    return np.asarray(numerator / np.where(positive, denominator, np.nan))


def _log(values: Array) -> Array:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(values))
