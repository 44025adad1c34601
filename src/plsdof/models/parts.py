"""What a predictor consists of: each class here is an object of the model file."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse

from plsdof._core.choice import LEFT_OUT
from plsdof._core.inputs import Array, as_choice, read_only
from plsdof._core.left_out import half_width
from plsdof.chemometrics import distances
from plsdof.chemometrics.diagnostics import Limit, squared_rows
from plsdof.errors import NotAvailableError
from plsdof.variants.kernel import Kernel

_NONE = read_only(np.zeros(0))


def _none() -> Array:
    return _NONE


@dataclass(frozen=True, kw_only=True, eq=False)
class Adjustment:
    """A correction of predictions: they become intercept + slope * prediction.

    ``kind`` is "bias" or "slope", ``rows`` the number of control samples, and ``parent`` the
    checksum of the model file that was adjusted.
    """

    kind: str
    slope: float = 1.0
    intercept: float = 0.0
    date: str = ""
    reason: str = ""
    rows: float = 0.0
    parent: str = ""


class CentredRows:
    """New rows minus the mean of the training rows; sparse rows are not filled."""

    def __init__(self, rows: Any, mean: Array) -> None:
        self.is_sparse = bool(scipy.sparse.issparse(rows))
        self.rows, self.mean = (rows, mean) if self.is_sparse else (rows - mean, mean)

    def times(self, B: Array) -> Array:
        """Return the product with B."""
        if self.is_sparse:
            return np.asarray(self.rows @ B - self.mean @ B)
        return np.asarray(self.rows @ B)

    def dense(self) -> Array:
        """Return the rows. Shape (n_new, p)."""
        return np.asarray(self.rows.toarray() - self.mean if self.is_sparse else self.rows)


@dataclass(frozen=True, kw_only=True, eq=False)
class KeptKernel(Kernel):
    """A kernel with the standardised training rows (k, p) and their mean kernel values (k,).

    ``scale`` (p,) are the scales of the columns. No file holds a kernel that is a ``function``.
    """

    scale: Array
    rows: Array
    mean: Array

    def of(self, rows: Array) -> CentredRows:
        """Return kernel values of centred rows. Shape (n_new, k)."""
        return CentredRows(self(rows / self.scale, self.rows), self.mean)


@dataclass(frozen=True, kw_only=True, eq=False)
class Preparation:
    """What happens to rows before coefficients: preprocessing, means, a kernel.

    Attributes
    ----------
    x_mean : (p,) array
        Of preprocessed rows.
    preprocessing : Chain or None
        Fitted.
    kernel : KeptKernel or None
    """

    x_mean: Array
    preprocessing: Any = None
    kernel: KeptKernel | None = None

    def of(self, rows: Array) -> CentredRows:
        """Return what coefficients multiply."""
        if self.preprocessing is not None:
            rows = np.asarray(self.preprocessing.transform(rows))
        if self.kernel is None:
            return CentredRows(rows, self.x_mean)
        return self.kernel.of(rows - self.x_mean)


@dataclass(frozen=True, kw_only=True, eq=False)
class Member:
    """One recipe of a model: coefficients for rows after one of the preparations.

    A model has one member, an average over recipes several, whose coefficients are multiplied by
    their weights already. An average over numbers of components is one member.

    Attributes
    ----------
    coef : (size,) array
    preparation : int
        Position among the preparations of the predictor.
    weight : float
        Share of the member in the average.
    rotations : (m, size) array or None
        R with the scores R x of a centred row x, in units where training scores are orthonormal.
    shares : (m,) array
        Weight of the models that have the component; empty if all have.
    models : (k, m) array or None
        Of an average: what scores are multiplied by to give the predictions of its models, less
        that at the mean row.
    weights : (k,) array
        Their weights.
    """

    coef: Array
    preparation: int = 0
    weight: float = 1.0
    rotations: Array | None = None
    shares: Array = field(default_factory=_none)
    models: Array | None = None
    weights: Array = field(default_factory=_none)

    def disagreement(self, rows: CentredRows, mean: Array) -> Array:
        """Return the weighted squares of predictions of models less ``mean``. Shape (n_new,)."""
        if self.models is None or self.rotations is None:
            return np.zeros(len(mean))
        values = rows.times(self.rotations.T) @ self.models.T
        return np.asarray(np.square(values - mean[:, None]) @ self.weights)

    def leverage(self, rows: CentredRows) -> Array:
        """Return the weighted sum of squared scores. Shape (n_new,)."""
        if self.rotations is None:
            return np.zeros(rows.rows.shape[0])
        squares = np.square(rows.times(self.rotations.T))
        shares = self.shares if len(self.shares) else np.full(squares.shape[1], self.weight)
        return np.asarray(squares @ shares)


@dataclass(frozen=True, kw_only=True, eq=False)
class Normal:
    """What intervals of method "normal" need: the mean at a centred row x has |level + G x|^2.

    Attributes
    ----------
    factor : (k, size) array
        G.
    level : (k,) array
    df : float
        Degrees of freedom of the t distribution.
    """

    factor: Array
    level: Array
    df: float

    @np.errstate(over="ignore")  # of a row beyond all measure it is infinite
    def std_error(self, rows: CentredRows) -> Array:
        """Return standard errors of the mean at rows. Shape (n_new,)."""
        return np.sqrt(squared_rows(self.level + rows.times(self.factor.T)))


@dataclass(frozen=True, kw_only=True, eq=False)
class RowCheck:
    """What tells how far new rows are from those of the calibration; see `chemometrics.distances`.

    Attributes
    ----------
    components : int
        Their number, by the rotations R of the member with most weight.
    scale : (p,) array
        What columns are divided by.
    loadings : (m, p) array or None
        L with the part L'R x of a standardised row that the components reproduce; None for
        kernels.
    residual_variances : (k,) array
        Eigenvalues of the covariance of what they do not reproduce.
    t2, q, weights : (n_rows,) arrays
        Of held-out rows, where the limits come from; empty if there are none.
    units : float
        Number of these rows, or of groups of them.
    """

    components: int
    scale: Array
    loadings: Array | None = None
    residual_variances: Array = field(default_factory=_none)
    t2: Array = field(default_factory=_none)
    q: Array = field(default_factory=_none)
    weights: Array = field(default_factory=_none)
    units: float = 0.0

    def limit(self, name: str, n: float, level: float, kind: str | None = None) -> Limit:
        """Return the limit of "t2" or "q" of new rows."""
        values = getattr(self, name)
        if kind is not None:
            as_choice(kind, "limit", distances.LIMITS)
        if len(values) and kind != "distribution":
            rows = distances.LeftOutValues(
                values=values, weights=self.weights, units=int(self.units)
            )
            return rows.limit(level)
        if name == "t2":
            return distances.t2_limit(n, self.components, level, training=False)
        found = distances.q_limit(self.residual_variances, level)
        if not self.residual_variances.any():
            return found
        note = "New rows exceed a limit made from training rows too often if n is small."
        return replace(found, message=" ".join(filter(None, [found.message, note])))


@dataclass(frozen=True, kw_only=True, eq=False)
class Response:
    """What a `Predictor` has for one response; see `plsdof.models.files`."""

    response: str
    y_mean: float
    parameter: float
    members: tuple[Member, ...]
    choice: Mapping[str, Any]
    dof: float = math.nan
    scores: Array = field(default_factory=_none)
    weights: Array = field(default_factory=_none)
    groups: float = math.nan
    spent: float = 1.0
    reach: float = 0.0
    rmsecv: float = math.nan
    sec: float = math.nan
    slope: float = math.nan
    slope_std_error: float = math.nan
    noise_variance: float = math.nan
    normal: Normal | None = None
    check: RowCheck | None = None
    interval_method: str = ""
    adjustments: tuple[Adjustment, ...] = ()

    @property
    def main(self) -> Member:
        """The member that T^2 and Q belong to: of an average that with most weight of a pool."""
        return self.members[0]

    @property
    def interval_methods(self) -> tuple[str, ...]:
        """How observations can be covered, the default first."""
        known = {LEFT_OUT: len(self.scores) > 0, "normal": self.has_intervals}
        first = [name for name in (self.interval_method,) if name in known]
        return tuple(name for name in dict.fromkeys([*first, *known]) if known[name])

    @property
    def usual_method(self) -> str:
        """How observations are covered by default."""
        return LEFT_OUT if len(self.scores) and not self.is_normal else "normal"

    @property
    def is_normal(self) -> bool:
        """Whether observations are covered by method "normal" by default, and can be."""
        wanted = not len(self.scores) or self.interval_method == "normal"
        return wanted and self.has_intervals

    @property
    def has_intervals(self) -> bool:
        """Whether there is a noise level, and all that intervals of the mean need."""
        return self.normal is not None and math.isfinite(self.noise_variance + self.normal.df)

    @property
    def in_words(self) -> str:
        """What the model is, such as "3 components"."""
        if "label" in self.choice:
            return str(self.choice["label"])
        if self.choice.get("rule") == "average":
            return str(self.choice["message"]).partition(" (")[0]
        return ""

    @property
    def mean_square(self) -> float:
        """Mean of the squared scores."""
        weights = self.weights if len(self.weights) else None
        return float(np.average(self.scores**2, weights=weights)) if len(self.scores) else math.nan

    @property
    def correction(self) -> tuple[float, float]:
        """Slope and intercept of all adjustments together."""
        slope, intercept = 1.0, 0.0
        for one in self.adjustments:
            slope, intercept = one.slope * slope, one.slope * intercept + one.intercept
        return slope, intercept

    def half_width(self, level: float) -> float:
        """Return half the width of intervals from cross-validation, at a row with leverage 0."""
        if not len(self.scores):
            return math.nan
        return half_width(
            self.scores,
            level,
            weights=self.weights if len(self.weights) else None,
            groups=None if math.isnan(self.groups) else int(self.groups),
            spent=self.spent,
        )

    def require_normal(self) -> Normal:
        """Return what intervals of method "normal" need, or say why there are none."""
        if self.normal is None or not self.has_intervals:
            raise NotAvailableError(
                "Intervals of method 'normal' are not available: the model was saved without what "
                "they need, or its Degrees of Freedom leave nothing to estimate the noise from. It "
                f"has: {', '.join(map(repr, self.interval_methods)) or 'none'}."
            )
        return self.normal

    def require_check(self) -> RowCheck:
        """Return what T^2 and Q need, or say why there is none."""
        if self.check is None:
            raise NotAvailableError(
                "T^2 and Q of new rows need a PLS model that was kept with intervals; this one was "
                "not. Fit and keep it again."
            )
        return self.check
