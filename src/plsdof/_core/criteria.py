"""Noise level and information criteria: pure functions of arrays.

Arrays run over models, simplest first. ``rss`` is the residual sum of squares, ``dof`` the
Degrees of Freedom including the one of the intercept, ``n`` the number of observations, ``noise``
the noise variance, one number or one per model. A value that is not defined is nan, and nan never
wins a choice.
"""

import sys
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
    number = isinstance(noise, int | float | np.integer | np.floating) and noise is not True
    if not number or not 0 < noise <= sys.float_info.max:
        raise InvalidInputError(
            f"noise must be one of {', '.join(map(repr, NOISE_KINDS))}, a finite variance > 0, or "
            f"None; got {noise!r:.80}."
        )
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


def counted_noise(exact: Any, kind: str) -> Array:
    """Return the noise variance of the models of a closed form: "jacobian", "dof" or "naive"."""
    as_choice(kind, "kind", NOISE_KINDS)
    if kind == "jacobian":
        return noise_from_jacobian(exact.rss, exact.filter.residual_trace)
    used = exact.filter.dof if kind == "dof" else exact.filter.naive_dof
    return noise_from_dof(exact.rss, used, exact.spectrum.n)


def aic(fits: Fits) -> Array:
    """Akaike's criterion on the paper's scale, RSS/n + 2 DoF/n sigma^2."""
    return np.asarray(fits.rss / fits.n + 2.0 * fits.dof / fits.n * fits.noise)


def bic(fits: Fits) -> Array:
    """Schwarz's criterion on the paper's scale, RSS/n + log(n) DoF/n sigma^2.

    Examples
    --------
    >>> some = {"rss": np.array([100.0, 10.0]), "dof": np.array([1.0, 3.0]), "noise": np.ones(2)}
    >>> bic(Fits(**some, n=10, total=100.0)).round(3)
    array([10.23 ,  1.691])
    """
    return np.asarray(fits.rss / fits.n + np.log(fits.n) * fits.dof / fits.n * fits.noise)


def hqc(fits: Fits) -> Array:
    """Hannan and Quinn's criterion (1979), RSS/n + 2 log(log n) DoF/n sigma^2.

    Its penalty lies between those of `aic` and `bic`. nan where n <= e, as log(log n) < 0 there.
    """
    price = 2.0 * np.log(np.log(fits.n)) if fits.n > np.e else np.nan
    return np.asarray(fits.rss / fits.n + price * fits.dof / fits.n * fits.noise)


def cp(fits: Fits) -> Array:
    """Mallows' C_p = RSS/sigma^2 - n + 2 DoF, with one sigma^2 > 0 for all models."""
    return _ratio(fits.rss, fits.noise) - fits.n + 2.0 * fits.dof


def gcv(fits: Fits) -> Array:
    """Return (RSS/n) / (1 - DoF/n)^2, generalised cross-validation; nan where DoF >= n."""
    share = np.where(fits.dof < fits.n, 1.0 - fits.dof / fits.n, np.nan)
    return np.asarray(fits.rss / fits.n / share**2)


def aicc(fits: Fits) -> Array:
    """Corrected AIC, log(RSS/n) + 1 + 2 (DoF + 1) / (n - DoF - 2).

    Hurvich, Simonoff & Tsai (1998); nan where DoF >= n - 2.
    """
    spare = fits.n - fits.dof - 2.0
    spare = np.where(spare > 0, spare, np.nan)
    return _log(fits.rss / fits.n) + 1.0 + 2.0 * (fits.dof + 1.0) / spare


def gmdl(fits: Fits) -> Array:
    """Generalised minimum description length of Hansen & Yu (2001).

    The intercept is in every model and is coded out: n' = n - 1, k = DoF - 1, ``total`` is the
    sum of squares of the centred response. With S = RSS/(n' - k) and F = (total - RSS)/(k S),

        gmdl = n'/2 log S + k/2 log F + log n'          if R^2 >= k/n'
        gmdl = n'/2 log(total/n') + 1/2 log n'          otherwise (also for the empty model)

    It needs no noise variance. nan where DoF >= n or DoF < 1.
    """
    rss, total, n_left, k = fits.rss, fits.total, fits.n - 1.0, fits.dof - 1.0
    S = _ratio(rss, n_left - k)
    with np.errstate(divide="ignore", invalid="ignore"):
        F = (total - rss) / (k * S)
        coded = n_left / 2 * _log(S) + k / 2 * np.log(F) + np.log(n_left)
        null = n_left / 2 * _log(np.asarray(total / n_left)) + 0.5 * np.log(n_left)
        explains = (total - rss) * n_left >= k * total
        score = np.where((k > 0) & explains, coded, null)
    return np.where((k >= 0) & (k < n_left), score, np.nan)


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
        Whether it has the unit of the response, squared: its sum over several responses then
        estimates one number, the total squared error of prediction.
    """

    name: str
    label: str
    formula: Callable[[Fits], Array]
    noise: str = "none"
    squared: bool = False


# Every list of criteria, in options, tables, reports and pictures, is derived from this one.
CRITERIA: dict[str, Criterion] = {
    criterion.name: criterion
    for criterion in (
        Criterion(name="aic", label="AIC", formula=aic, noise="each", squared=True),
        Criterion(name="bic", label="BIC", formula=bic, noise="each", squared=True),
        Criterion(name="gmdl", label="gMDL", formula=gmdl),
        Criterion(name="aicc", label="AICc", formula=aicc),
        Criterion(name="cp", label="Cp", formula=cp, noise="common"),
        Criterion(name="gcv", label="GCV", formula=gcv, squared=True),
        Criterion(name="hqc", label="HQC", formula=hqc, noise="each", squared=True),
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
        return "cross-validated error"
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
