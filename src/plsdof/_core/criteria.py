"""Noise level and information criteria: pure functions of arrays.

Arrays run over models, simplest first. ``rss`` is the residual sum of squares, ``dof`` the
Degrees of Freedom including the one of the intercept, ``n`` the number of observations, ``noise``
the noise variance, one number or one per model. A value that is not defined is nan, and nan never
wins a choice.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from plsdof._core.inputs import Array, as_choice
from plsdof.errors import InvalidInputError

# Which noise variance is meant: words for it, numbers, and what is usual
# -----------------------------------------------------------------------

NoiseKind = Literal["left-out", "jacobian", "dof", "naive"]
NOISE_KINDS: tuple[NoiseKind, ...] = get_args(NoiseKind)
# A kind of noise variance, a variance, or what is usual.
Noise = NoiseKind | float | None


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


def usual_noise(dof: str) -> NoiseKind:
    """Return the kind of noise variance that goes with a kind of Degrees of Freedom."""
    return "naive" if dof == "naive" else "jacobian"


# Noise level and information criteria: pure functions of arrays
# ---------------------------------------------------------------

DofKind = Literal["exact", "naive", "clipped"]
DOF_KINDS: tuple[DofKind, ...] = get_args(DofKind)


@dataclass(frozen=True, kw_only=True)
class Fits:
    """What the criteria look at: one entry per model, simplest model first."""

    rss: Array
    dof: Array
    noise: Array
    n: float
    total: float


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
    """

    name: str
    label: str
    formula: Callable[[Fits], Array]
    noise: str = "none"
    squared: bool = False
    additive: bool = False


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
    )
}


def criterion_label(name: str) -> str:
    """Return what a heading calls a criterion, or a score of a cross-validation ("cv-error").

    Examples
    --------
    >>> criterion_label("gmdl"), criterion_label("cv-error")
    ('gMDL', 'cross-validated error')
    """
    if name in CRITERIA:
        return CRITERIA[name].label
    if name == "left-out":
        return "error of rows left out"
    return f"cross-validated {name[3:]}" if name.startswith("cv-") else name


def is_squared(name: str) -> bool:
    """Whether a criterion, or a score of a cross-validation, has the unit of y squared."""
    return CRITERIA[name].squared if name in CRITERIA else name in ("cv-error", "left-out")


def score(name: str, fits: Fits) -> Array:
    """Evaluate a criterion by name; nan wherever its Degrees of Freedom or noise are."""
    as_choice(name, "criterion", tuple(CRITERIA))
    with np.errstate(invalid="ignore"):
        values = CRITERIA[name].formula(fits)
    return np.where(np.isfinite(fits.dof), values, np.nan)


def _ratio(numerator: Array, denominator: Array) -> Array:
    """Divide, nan where the denominator is not positive."""
    positive = np.asarray(denominator) > 0
    return np.asarray(numerator / np.where(positive, denominator, np.nan))


def _log(values: Array) -> Array:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(values))
