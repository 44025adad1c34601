"""A frozen model: what predicts new rows, without the data it was fitted to.

It is small, does not change, and can be kept in a file (`plsdof.files.models`). New rows go
through a transfer step, if there is one; through one preparation or several (preprocessing, means,
scales, a kernel); coefficients and a mean make them predictions, which adjustments correct.
"""

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

import numpy as np
import numpy.typing as npt

from plsdof._core.choice import LEFT_OUT
from plsdof._core.criteria import Noise
from plsdof._core.display import model_in_words, one_line, plural
from plsdof._core.inputs import (
    Array,
    as_choice,
    as_level,
    as_new_rows,
    feature_names,
    read_only,
    row_labels,
)
from plsdof._core.left_out import REACTION, half_width
from plsdof._core.model import Fitted, Mixture, Model, as_model, members_of
from plsdof._core.path import PLSPath
from plsdof.chemometrics import diagnostics
from plsdof.chemometrics import rows as distances
from plsdof.chemometrics.checks import (
    CalibrationErrors,
    SlopeTest,
    calibration_errors,
    correction,
    own_line,
    tails,
)
from plsdof.chemometrics.classes import ClassLimits
from plsdof.chemometrics.transfer import Transfer as Transfer
from plsdof.errors import InvalidInputError, NotAvailableError
from plsdof.inference import intervals as inference
from plsdof.inference.covariance import reference_df
from plsdof.variants.kernel import Kernel
from plsdof.variants.pls2 import PLS2Model

if TYPE_CHECKING:
    from pandas import DataFrame

_EPS = float(np.finfo(np.float64).eps)
Kind = Literal["observation", "mean"]
Method = Literal["left-out", "normal"]
_NONE = read_only(np.zeros(0))


def _none() -> Array:
    return _NONE


# What a frozen model consists of: each class is an object of the model file
# --------------------------------------------------------------------------


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


@dataclass(frozen=True, kw_only=True, eq=False)
class KernelRows:
    """A kernel with the standardised training rows (k, p) and their mean kernel values (k,)."""

    name: str
    degree: float
    coef0: float
    rows: Array
    mean: Array
    gamma: float = math.nan

    def values(self, rows: Array) -> Array:
        """Return centred kernel values of standardised rows. Shape (n_new, k)."""
        width = None if math.isnan(self.gamma) else self.gamma
        kernel = Kernel(name=self.name, gamma=width, degree=int(self.degree), coef0=self.coef0)
        return kernel(rows, self.rows) - self.mean


@dataclass(frozen=True, kw_only=True, eq=False)
class Preparation:
    """What happens to rows before coefficients: preprocessing, means, scales, a kernel.

    Attributes
    ----------
    x_mean, x_scale : (p,) arrays
        Of preprocessed rows. The scale is infinite where a column does not vary.
    preprocessing : Preprocessor or None
        Fitted.
    kernel : KernelRows or None
    """

    x_mean: Array
    x_scale: Array
    preprocessing: Any = None
    kernel: KernelRows | None = None

    @property
    def size(self) -> int:
        """Number of coefficients."""
        return len(self.x_mean) if self.kernel is None else len(self.kernel.rows)

    def deviation(self, rows: Array) -> Array:
        """Return preprocessed rows minus the means of the training rows. Shape (n_new, p)."""
        if self.preprocessing is not None:
            rows = np.asarray(self.preprocessing.transform(rows))
        return rows - self.x_mean

    def features(self, deviation: Array) -> Array:
        """Return what coefficients multiply. Shape (n_new, size)."""
        if self.kernel is None:
            return deviation
        return self.kernel.values(deviation / self.x_scale)

    def standardized(self, deviation: Array) -> Array:
        """Return what rotations multiply. Shape (n_new, size)."""
        if self.kernel is None:
            return np.asarray(deviation / distances.row_units(self.x_scale))
        return self.features(deviation)


@dataclass(frozen=True, kw_only=True, eq=False)
class Member:
    """One recipe of a model: coefficients for rows after one of the preparations.

    A model has one member, an average over recipes several, whose coefficients are multiplied by
    their weights already. An average over numbers of components is one member.

    Attributes
    ----------
    coef : (size,) array
    preparation : int
        Position among the preparations of the frozen model.
    weight : float
        Share of the member in the average.
    rotations : (m, size) array or None
        R with the scores R u of a standardised row u, in units where training scores are
        orthonormal.
    shares : (m,) array
        Weight of the models that have the component; empty if all have.
    """

    coef: Array
    preparation: int = 0
    weight: float = 1.0
    rotations: Array | None = None
    shares: Array = field(default_factory=_none)

    def leverage(self, rows: Array) -> Array:
        """Return the weighted sum of squared scores of standardised rows. Shape (n_new,)."""
        if self.rotations is None:
            return np.zeros(len(rows))
        squares = np.square(rows @ self.rotations.T)
        shares = self.shares if len(self.shares) else np.full(squares.shape[1], self.weight)
        return np.asarray(squares @ shares)


@dataclass(frozen=True, kw_only=True, eq=False)
class RowCheck:
    """What tells how far new rows are from those of the calibration; see `chemometrics.rows`.

    Attributes
    ----------
    loadings : (m, p) array
        L with the part L'R u of a standardised row u that the first m components reproduce, R the
        rotations of the member with most weight.
    residual_variances : (k,) array
        Eigenvalues of the covariance of what they do not reproduce.
    t2, q, weights : (n_rows,) arrays
        Of rows left out, where the limits come from; empty if there are none.
    units : float
        Number of these rows, or of groups of them.
    """

    loadings: Array
    residual_variances: Array
    t2: Array = field(default_factory=_none)
    q: Array = field(default_factory=_none)
    weights: Array = field(default_factory=_none)
    units: float = 0.0

    def limit(self, name: str, n: float, level: float) -> diagnostics.Limit:
        """Return the limit of "t2" or "q" of new rows."""
        values = getattr(self, name)
        if len(values):
            rows = distances.LeftOutValues(
                values=values, weights=self.weights, units=int(self.units)
            )
            return rows.limit(level)
        if name == "t2":
            return distances.t2_limit(n, len(self.loadings), level, training=False)
        return distances.q_limit(self.residual_variances, level)


@dataclass(frozen=True, kw_only=True, eq=False)
class FrozenResponse:
    """What a `FrozenModel` keeps of one response; see `plsdof.files.models`."""

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
    df: float = math.nan
    factor: Array | None = None
    check: RowCheck | None = None
    interval_method: str = ""
    adjustments: tuple[Adjustment, ...] = ()

    @property
    def main(self) -> Member:
        """The member with most weight."""
        return max(self.members, key=lambda one: one.weight)

    @property
    def interval_methods(self) -> tuple[str, ...]:
        """How observations can be covered, the default first."""
        known = {LEFT_OUT: len(self.scores) > 0, "normal": self.has_intervals}
        first = [name for name in (self.interval_method,) if name in known]
        return tuple(name for name in dict.fromkeys([*first, *known]) if known[name])

    @property
    def has_intervals(self) -> bool:
        """Whether there is a noise level, and all that intervals of the mean need."""
        return self.factor is not None and math.isfinite(self.noise_variance + self.df)

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
        """Return half the width of intervals from rows left out, at a row with leverage 0.

        Models of 0.3, whose intervals have one width, take the next larger score, as they did.
        """
        n = len(self.scores)
        rank = math.ceil(round(as_level(level) * (n + 1), 9))
        if self.reach == 0.0 and rank <= n and math.isnan(self.groups) and not len(self.weights):
            level = rank / (n + 1)
        return half_width(
            self.scores,
            level,
            weights=self.weights if len(self.weights) else None,
            groups=None if math.isnan(self.groups) else int(self.groups),
            spent=self.spent,
        )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class FrozenModel:
    """A fitted model without its data: it predicts, and can be kept in a file.

    Made by `frozen_model` and `load_model`. It has the methods of the estimators that answer
    questions about new rows, with the same results.

    Attributes
    ----------
    responses : tuple of FrozenResponse
        What is kept of every response. With one response its entries are attributes here, too,
        such as ``response``, ``dof`` and ``choice``.
    preparations : tuple of Preparation
        What happens to rows before coefficients: one, or one for each recipe of an average.
    names : tuple of str
        Predictors in the order of the coefficients.
    n : float
        Number of observations.
    method, parameter_name : str
        "pls", "pcr", ...; "n_components" or "alpha".
    one_response : bool
        Whether y had one dimension.
    named, responses_named : bool
        Whether predictors and responses had names.
    source : mapping
        What it was fitted to.
    package, created : str
        Who made it, and when (UTC).
    transfer : Transfer or None
        A step in front of the model, for rows of another instrument.
    class_limits : ClassLimits or None
        Of a classifier that was fitted with ``novelty``.
    parent : str
        Checksum of the model file that this model was made from; empty if it was fitted.
    sha256 : str
        Checksum of the file that it was read from; empty if it was not.

    Examples
    --------
    >>> from plsdof import PLSRegressor
    >>> from plsdof.datasets import load_ozone
    >>> X, y = load_ozone(return_X_y=True)
    >>> model = frozen_model(PLSRegressor(2).fit(X, y))
    >>> model, round(model.score(X, y), 2), model.predict_interval(X[:1]).round(1)
    (FrozenModel(pls, n_components=2, response='y', p=12), 0.7, array([[ 1.4, 19.1]]))
    """

    names: tuple[str, ...]
    n: float
    method: str
    parameter_name: str
    source: Mapping[str, Any]
    package: str
    created: str
    one_response: bool = True
    named: bool = True
    responses_named: bool = True
    preparations: tuple[Preparation, ...]
    responses: tuple[FrozenResponse, ...]
    transfer: Transfer | None = None
    class_limits: ClassLimits | None = None
    parent: str = ""
    sha256: str = ""

    def __getattr__(self, name: str) -> Any:
        """Return what is kept of the only response."""
        known = {*dir(FrozenResponse), *FrozenResponse.__dataclass_fields__}
        if name.startswith("_") or name not in known or len(self.responses) != 1:
            raise AttributeError(f"no attribute {name!r}; with several responses see responses.")
        return getattr(self.responses[0], name)

    @property
    def n_features_in_(self) -> int:
        """Number of predictors."""
        return len(self.columns)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns of new rows: those of the model, or of its transfer step."""
        return self.names if self.transfer is None else self.transfer.names or self.names

    @property
    def feature_names_in_(self) -> npt.NDArray[np.object_]:
        """Names of the predictors, if they had names."""
        if not self.named:
            raise AttributeError("The model was fitted to predictors without names.")
        return np.array(self.columns, dtype=object)

    @property
    def response_names_(self) -> tuple[str, ...] | None:
        """Names of the responses; None if they had none."""
        return tuple(one.response for one in self.responses) if self.responses_named else None

    @property
    def coef_(self) -> Array:
        """Coefficients of the preprocessed columns. Shape (p,), or (q, p) if y had columns."""
        kernels = any(one.kernel is not None for one in self.preparations)
        if kernels or self.transfer is not None or len(self.preparations) > 1:
            raise AttributeError("Kernels, transfers and averages over recipes have no coef_.")
        return np.asarray(
            self._one_or_array([one.correction[0] * one.main.coef for one in self.responses])
        )

    @property
    def intercept_(self) -> Any:
        """Intercept; (q,) array if y had columns."""
        x_mean, found = self.preparations[0].x_mean, []
        for one, coef in zip(self.responses, np.atleast_2d(self.coef_), strict=True):
            slope, shift = one.correction
            found.append(float(slope * one.y_mean + shift - coef @ x_mean))
        return self._one_or_array(found)

    @property
    def dof_(self) -> Any:
        """Degrees of Freedom; (q,) array if y had columns, nan where they were not counted."""
        return self._one_or_array([one.dof for one in self.responses])

    @property
    def noise_std_(self) -> Any:
        """Noise standard deviation; (q,) array if y had columns."""
        return self._one_or_array([math.sqrt(one.noise_variance) for one in self.responses])

    @property
    def in_words(self) -> str:
        """What the model is, such as "3 components"."""
        name = self.parameter_name
        said = [one.in_words or model_in_words(one.parameter, name) for one in self.responses]
        return ", ".join(dict.fromkeys(said))

    def predict(self, X: Any) -> Array:
        """Predict new rows. Shape (n_new,), or (n_new, q) if y had columns."""
        deviations = self._deviations(X)
        centers = [self._center(one, deviations) for one in self.responses]
        return centers[0] if self.one_response else np.column_stack(centers)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the coefficient of determination R^2; of several responses their mean."""
        from sklearn.metrics import r2_score

        return float(r2_score(y, self.predict(X), sample_weight=sample_weight))

    def predict_interval(
        self,
        X: Any,
        level: float = 0.95,
        *,
        method: Method | None = None,
        kind: Kind = "observation",
    ) -> "Array | DataFrame":
        """Lower and upper limits for new observations, or for the mean, at each row. (n_new, 2).

        As the method of the estimators: a data frame where X is one, (n_new, q, 2) or a data frame
        with columns (name, "lower") and (name, "upper") if y had columns. Methods: see
        `interval_methods`. Cost: O(n_new p), of "normal" O(n_new k p).
        """
        options: dict[str, Any] = {"level": level, "kind": kind, "method": method}
        found = [
            self.prediction_interval(X, response=i, **options) for i in range(len(self.responses))
        ]
        limits = np.stack([np.column_stack([one.lower, one.upper]) for one in found], axis=1)
        named: Array | DataFrame = inference.name_predictions(
            limits, X, self.response_names_, one_response=self.one_response
        )
        return named

    def prediction_interval(
        self,
        X: Any,
        *,
        level: float = 0.95,
        kind: str = "observation",
        method: str | None = None,
        response: int | None = None,
    ) -> inference.Interval:
        """Return the same of one response as `plsdof.inference.prediction_interval` does."""
        one = self._only() if response is None else self.responses[response]
        as_choice(kind, "kind", get_args(Kind))
        level, known, is_default = as_level(level), one.interval_methods, method is None
        if method is None:
            method = "normal" if kind == "mean" or not known else known[0]
        as_choice(method, "method", get_args(Method))
        if kind == "mean" and method != "normal":
            raise InvalidInputError(f"kind='mean' needs method='normal'; got {method!r}.")
        if method not in known:
            raise NotAvailableError(
                f"Intervals of method {method!r} are not available: the model was saved without "
                "what they need, or its Degrees of Freedom leave nothing to estimate the noise "
                f"from. It has: {', '.join(map(repr, known)) or 'none'}."
            )
        deviations = self._deviations(X)
        center, slope = self._center(one, deviations), abs(one.correction[0])
        std_error, critical = np.full(len(center), np.nan), math.nan
        words = one.choice.get("intervals", f"Errors of rows left out ({method}).")
        half: Any = math.inf
        if LEFT_OUT in known:
            spread = np.sqrt(1.0 + one.reach * self._leverage(one, deviations))
            half = slope * one.half_width(level) * spread
        if method == "normal":
            assert one.factor is not None
            u = deviations[one.main.preparation] / self._prepared(one.main).x_scale
            mean = 1.0 / self.n + diagnostics.squared_rows(u @ one.factor.T)
            std_error = slope * np.sqrt(one.noise_variance * (mean + (kind == "observation")))
            critical = inference.critical_value(level, one.df)
            # That of a mean is never wider than that of an observation; 0.3 (reach 0) did not mind.
            is_cut = kind == "mean" and is_default and one.reach > 0.0
            half = np.minimum(critical * std_error, half if is_cut else math.inf)
            words = inference.normal_words(self.in_words, kind)
        facts = {"level": level, "critical": critical, "assumptions": words}
        facts |= {"names": row_labels(X), "std_error": read_only(std_error)}
        return inference.interval_around(center, half, **facts)

    def hotelling_t2(self, X: Any, *, level: float = 0.95) -> diagnostics.Diagnostic:
        """Return Hotelling's T^2 of new rows with its limit: `plsdof.chemometrics.hotelling_t2`."""
        check, level = self._require_check(), as_level(level)
        _, scores = self._scores(X)
        values = (self.n - 1.0) * diagnostics.squared_rows(scores)
        return diagnostics.diagnose("t2", values, check.limit("t2", self.n, level), level)

    def q_residuals(self, X: Any, *, level: float = 0.95) -> diagnostics.Diagnostic:
        """Return Q residuals of new rows with their limit: `plsdof.chemometrics.q_residuals`."""
        check, level = self._require_check(), as_level(level)
        rows, scores = self._scores(X)
        values = diagnostics.squared_rows(rows - scores @ check.loadings)
        return diagnostics.diagnose("q", values, check.limit("q", self.n, level), level)

    def belongs(self, X: Any) -> npt.NDArray[np.bool_]:
        """Whether new rows look like members of each class: `plsdof.PLSClassifier.belongs`."""
        if self.class_limits is None:
            raise NotAvailableError("The model has no limits of classes: PLSClassifier(novelty=).")
        return self.class_limits.belongs(self._deviations(X)[0])

    @property
    def calibration_errors(self) -> CalibrationErrors:
        """Errors of the calibration that later ones are compared with, adjusted as predictions."""
        one = self._only()
        slope = abs(one.correction[0])
        is_turned = any(each.kind == "slope" for each in one.adjustments)
        # A file of version 3 has no rmsecv.
        rmsecv = math.sqrt(one.mean_square) if math.isnan(one.rmsecv) else one.rmsecv
        return CalibrationErrors(
            rmsecv=slope * rmsecv,
            units=self.n if math.isnan(one.groups) else one.groups,
            spent=one.spent,
            sec=slope * one.sec,
            df=self.n - one.parameter - 1.0,
            # A slope that was adjusted is 1, as well as is known.
            slope=math.nan if is_turned else one.slope,
            slope_std_error=math.nan if is_turned else one.slope_std_error,
            tails=tails(one.scores, one.weights if len(one.weights) else None),
        )

    def expected_errors(self, X: Any) -> Array:
        """Return how large errors of new rows are expected, by rows left out. Shape (n_new,)."""
        one, deviations = self._only(), self._deviations(X)
        spread = np.ones(len(deviations[0])) + one.reach * self._leverage(one, deviations)
        return np.asarray(abs(one.correction[0]) * np.sqrt(one.mean_square * spread))

    def adjusted(
        self,
        X: Any,
        y: Any,
        kind: Literal["bias", "slope"] = "bias",
        *,
        reason: str,
        force: bool = False,
    ) -> "FrozenModel":
        """Return a model whose predictions are corrected by control samples.

        See `plsdof.chemometrics.checks.correction`. The correction, its reason and the checksum of
        this model are kept with the new one.

        Examples
        --------
        >>> from plsdof import pls_path
        >>> model = frozen_model(pls_path([[1.0], [2.0], [4.0], [5.0]], [1.0, 2.0, 3.0, 5.0])[1])
        >>> new = model.adjusted([[2.0], [3.0], [4.0]], [2.55, 3.45, 4.35], reason="new lamp")
        >>> new.responses[0].adjustments[0].reason, (new.predict([[2.0]]) - model.predict([[2.0]]))
        ('new lamp', array([0.7]))
        """
        if not reason.strip():
            raise InvalidInputError("An adjustment needs a reason, which is kept with the model.")
        from plsdof.files.models import model_checksum

        one, errors = self._only(), self.calibration_errors
        made = correction(y, self.predict(X), kind, calibration=errors, force=force)
        forced = "" if made.significant else " (not significant)"
        kept = Adjustment(
            kind=kind,
            slope=made.slope,
            intercept=made.intercept,
            date=_now(),
            reason=" ".join(reason.split()) + forced,
            rows=float(made.rows),
            parent=model_checksum(self),
        )
        return self.derived(responses=(replace(one, adjustments=(*one.adjustments, kept)),))

    @property
    def history(self) -> tuple[str, ...]:
        """What was done to the model after it was fitted, a sentence each."""
        found = []
        if (step := self.transfer) is not None:
            pairs = f"by {step.rows:.0f} pairs" if step.rows else ""
            found.append(f"Spectra are transferred ({step.kind}) {pairs}. {step.reason}".strip())
        for one in (one for each in self.responses for one in each.adjustments):
            change = (
                f"{one.intercept:+.3g}"
                if one.kind == "bias"
                else (f"{one.intercept:.3g} + {one.slope:.3g} times the prediction")
            )
            found.append(
                f"Predictions are adjusted ({one.kind}: {change}) by {one.rows:.0f} control "
                f"samples, {one.date[:10]}: {one.reason}."
            )
        return tuple(found)

    def save(self, file: str | os.PathLike[str]) -> None:
        """Write the model to a JSON file, complete or not at all; `load_model` reads it."""
        from plsdof.files.models import save_model

        save_model(self, file)

    def derived(self, **changes: Any) -> "FrozenModel":
        """Return a model with other fields, which knows that it was made from this one.

        Examples
        --------
        >>> from plsdof import pls_path
        >>> model = frozen_model(pls_path([[1.0], [2.0], [4.0], [5.0]], [1.0, 2.0, 3.0, 5.0])[1])
        >>> shifted = model.derived(transfer=Transfer(kind="bias", offset=np.ones(1)))
        >>> shifted
        FrozenModel(pls, n_components=1, response='y', p=1, transfer='bias')
        >>> bool(np.allclose(shifted.predict([[3.0]]), model.predict([[4.0]])))
        True
        """
        from plsdof.files.models import model_checksum

        return replace(self, parent=model_checksum(self), created=_now(), sha256="", **changes)

    def unadjusted(self) -> "FrozenModel":
        """Return a model without the last adjustment."""
        one = self._only()
        if not one.adjustments:
            raise InvalidInputError("The model has no adjustment to undo.")
        return self.derived(responses=(replace(one, adjustments=one.adjustments[:-1]),))

    def __repr__(self) -> str:
        values: dict[str, Any] = {"p": len(self.columns)}
        if self.transfer is not None:
            values["transfer"] = self.transfer.kind
        kinds = [each.kind for one in self.responses for each in one.adjustments]
        values |= {"adjusted": ", ".join(kinds)} if kinds else {}
        if len(self.responses) != 1:
            return one_line(self, self.method, plural(len(self.responses), "response"), **values)
        first = {self.parameter_name: self.parameter, "response": self.response[:60]}
        return one_line(self, self.method, **first, **values)

    @property
    def fills_holes(self) -> bool:
        """Whether values of new rows may be missing: all preparations begin with filling them."""
        chains = [one.preprocessing for one in self.preparations]
        filled = all(one is not None and one.fills_holes for one in chains)
        return filled and self.transfer is None

    def _deviations(self, X: Any) -> list[Array]:
        """Return new rows, checked, transferred and prepared in every way."""
        # Numbers in the place of names do not forbid others, but have an order.
        columns, given = self.columns, None if self.named else feature_names(X)
        known = self.named or (given is not None and set(given) == set(columns))
        rows = as_new_rows(X, len(columns), columns if known else None, holes=self.fills_holes)
        if self.transfer is not None:
            rows = self.transfer.apply(rows)
        return [one.deviation(rows) for one in self.preparations]

    def _prepared(self, member: Member) -> Preparation:
        return self.preparations[member.preparation]

    def _center(self, one: FrozenResponse, deviations: Sequence[Array]) -> Array:
        """Return predictions of a response, adjusted."""
        slope, shift = one.correction
        sums = sum(
            self._prepared(each).features(deviations[each.preparation]) @ each.coef
            for each in one.members
        )
        return np.asarray(slope * (one.y_mean + sums) + shift)

    def _leverage(self, one: FrozenResponse, deviations: Sequence[Array]) -> Array | float:
        """Return h = 1/n + the weighted mean of squared scores."""
        if one.reach == 0.0:
            return 0.0
        parts = [
            each.leverage(self._prepared(each).standardized(deviations[each.preparation]))
            for each in one.members
        ]
        return np.asarray(1.0 / self.n + np.sum(parts, axis=0))

    def _scores(self, X: Any) -> tuple[Array, Array]:
        """Return standardised rows, and their scores, of the member with most weight."""
        main, check = self._only().main, self._require_check()
        assert main.rotations is not None
        rows = self._prepared(main).standardized(self._deviations(X)[main.preparation])
        return rows, rows @ main.rotations[: len(check.loadings)].T

    def _one_or_array(self, values: Sequence[Any]) -> Any:
        return values[0] if self.one_response else np.array(values)

    def _only(self) -> FrozenResponse:
        if len(self.responses) != 1:
            raise NotAvailableError(
                f"There are {len(self.responses)} responses, each with a model of its own; fit and "
                "keep one of them, or use predict_interval."
            )
        return self.responses[0]

    def _require_check(self) -> RowCheck:
        check = self._only().check
        if check is None:
            raise NotAvailableError(
                f"T^2 and Q of new rows need a PLS model that was kept with intervals; this "
                f"{self.method} model was not. Fit and keep it again."
            )
        return check


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _numbered(count: int, letter: str = "x") -> tuple[str, ...]:
    """Return names for what has none."""
    return tuple(f"{letter}{i}" for i in range(count))


def about(names: Sequence[str] | None, p: int, source: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return what any frozen model says about itself: names, where it comes from, who made it."""
    from plsdof import __version__

    if names is not None and len(names) != p:
        raise InvalidInputError(f"There are {len(names)} names for {p} predictors.")
    return {
        "names": _numbered(p) if names is None else tuple(map(str, names)),
        "named": names is not None,
        "source": dict(source or {}),
        "package": f"plsdof {__version__}",
        "created": _now(),
    }


# From a fitted model to a frozen one
# -----------------------------------


def frozen_model(
    model: Model | PLS2Model | Fitted,
    *,
    names: Sequence[str] | None = None,
    response: str | None = None,
    source: Mapping[str, Any] | None = None,
    noise: Noise = None,
    intervals: bool | Literal["left-out", "normal"] = True,
    preprocessing: Any = None,
) -> FrozenModel:
    """Take a model out of its path: what is left predicts, is small, and can be kept in a file.

    Parameters
    ----------
    model : Model, or a fitted estimator
        Also one of several responses, or a Pipeline that ends in one, if the steps before it are
        `plsdof.chemometrics.Preprocessor` or StandardScaler; they become part of the model.
    names : sequence of str, optional
        Names of the predictors; by default those of the data frame that was fitted, or x0, x1, ...
    response : str, optional
        Name of a single response; by default that of the series that was fitted, or y.
    source : mapping, optional
        What the model was fitted to, for the record.
    noise : {"left-out", "jacobian", "dof", "naive"} or float, optional
        Noise variance of intervals "normal", as `Model.noise_variance`; by default that of the
        estimator.
    intervals : bool or {"left-out", "normal"}
        Whether to keep what intervals "normal", T^2 and Q need, next to the errors of rows left
        out: as much as the training data, and a decomposition of X. A word says which intervals
        the frozen model gives by default.
    preprocessing : Preprocessor, optional
        Fitted; what made the rows of the path from those that people have.

    Notes
    -----
    Cost: that of rows left out, if these did not choose the model; with intervals O(p r^2) time.

    Examples
    --------
    >>> from plsdof import pls_path
    >>> from plsdof.datasets import load_ozone
    >>> ozone = load_ozone()
    >>> path = pls_path(ozone.data, ozone.target)
    >>> model = frozen_model(path[2], names=ozone.feature_names, response="ozone")
    >>> model
    FrozenModel(pls, n_components=2, response='ozone', p=12)
    >>> bool(np.allclose(model.predict(ozone.data), path.fitted[2], rtol=1e-12, atol=0))
    True
    """
    if isinstance(intervals, str):
        as_choice(intervals, "intervals", inference.INTERVAL_METHODS)
    opened = _opened(model)
    noise = opened.noise if noise is None else noise
    first, keep = opened.models[0], bool(intervals)
    default = intervals if isinstance(intervals, str) else ""
    responses: list[FrozenResponse] = []
    made: list[Preparation] = []
    for one, name in zip(opened.models, opened.responses(response), strict=True):
        start = len(made) if opened.own_preparations else 0
        responses.append(_of_model(one, name, default, keep, noise, start))
        if start == len(made):
            made += [_preparation(each, opened, preprocessing, keep) for each in members_of(one)]
    return FrozenModel(
        **about(opened.names if names is None else names, len(made[0].x_mean), source),
        n=float(_units(members_of(first)[0], keep)[2]),
        method=first.path.recipe.method.name.rpartition(",")[2],
        parameter_name=first.path.parameter_name,
        one_response=opened.one_response,
        responses_named=response is not None or opened.response_names is not None,
        preparations=tuple(made),
        responses=tuple(responses),
    )


def _preparation(
    model: Model, opened: "_Opened", preprocessing: Any, intervals: bool
) -> Preparation:
    """Keep what happens to rows before the coefficients of a model."""
    x_mean, x_scale, _ = _units(model, intervals)
    return Preparation(
        x_mean=read_only(x_mean),
        x_scale=read_only(x_scale),
        kernel=_kernel(model),
        # A path whose recipe prepares has a chain of its own, which comes last.
        preprocessing=_chain([preprocessing, *opened.before, model.path.before], len(x_mean)),
    )


def _member(model: Model, weight: float, preparation: int, intervals: bool) -> Member:
    """Keep one recipe of a model, with its share of an average."""
    path, coef, rotations, shares = model.path, np.array(model.coef), None, _none()
    if path.given is not None or (intervals and not path.is_dual):
        has_scores = intervals and isinstance(path, PLSPath) and not path.is_dual
        if has_scores:
            _ = path.exact  # scores with the signs of the loadings
            model = replace(model)
        found = model.distance
        _, x_scale, _ = _units(model, intervals)
        unit = np.ones(1) if path.is_dual else distances.row_units(x_scale)
        # A column that did not vary is divided by infinity, and has no part.
        unit = np.where(np.isfinite(unit), unit, 0.0)
        rotations, shares = found.rotations * unit, weight * found.shares
    return Member(
        coef=read_only(weight * coef),
        preparation=preparation,
        weight=weight,
        rotations=None if rotations is None else read_only(np.ascontiguousarray(rotations)),
        shares=read_only(shares),
    )


def _of_model(
    model: Model, response: str, default: str, intervals: bool, noise: Noise, start: int
) -> FrozenResponse:
    """Keep one response; its preparations begin at ``start``."""
    path, given, members = model.path, model.path.given, members_of(model)
    left = None if given is None else model.left_out
    mean = model.exact.units.y_mean if given is None else np.average(given.y, weights=given.weights)
    counted = intervals or path.is_counted
    single = len(members) == 1
    usable = single and intervals and not path.is_dual and math.isfinite(model.dof)
    has_scores = intervals and isinstance(path, PLSPath) and not path.is_dual
    weights = model.shares if isinstance(model, Mixture) else np.ones(1)
    errors = calibration_errors(model) if left is not None and counted and single else None
    line = SlopeTest() if left is None else own_line(model)
    return FrozenResponse(
        response=response,
        members=tuple(
            _member(one, float(weight), start + i, intervals)
            for i, (one, weight) in enumerate(zip(members, weights, strict=True))
        ),
        reach=0.0 if left is None else REACTION / left.fitted_share,
        y_mean=float(mean),
        parameter=float(model.parameter),
        dof=float(model.dof) if counted else math.nan,
        choice=_choice(model),
        scores=_none() if left is None else model.scores,
        weights=_none() if left is None or left.sample_weight is None else left.sample_weight,
        groups=_maybe(None if left is None else left.groups),
        spent=1.0 if left is None else model.spent,
        rmsecv=math.nan if left is None else model.rmse,
        sec=math.nan if errors is None else errors.sec,
        slope=line.slope,
        slope_std_error=line.std_error,
        noise_variance=float(model.noise_variance(noise)) if counted else math.nan,
        # A file has no infinity; so many are as good to 12 digits.
        df=min(reference_df(model, noise), 1e12) if usable else math.nan,
        factor=_factor(model) if usable else None,
        check=_row_check(model) if has_scores else None,
        interval_method=default,
    )


def _maybe(value: float | None) -> float:
    return math.nan if value is None else float(value)


def _choice(model: Model) -> dict[str, str]:
    chosen = model.selection
    found = {"rule": "given", "label": model.label, "message": f"{model.label}: as asked for."}
    if model.path.given is not None:
        found["intervals"] = inference.left_out_words(model)
    if chosen is not None and chosen.rule != "given":
        found |= {key: getattr(chosen, key) for key in ("criterion", "rule", "message")}
    return found


def _units(model: Model, intervals: bool) -> tuple[Array, Array, float]:
    """Return means and scales of the predictors, and n; without a decomposition if possible."""
    path = model.path
    inputs = getattr(path, "_inputs", None)
    if inputs is not None:
        return inputs.mean, inputs.scale, path.require_rows().n
    if intervals or not path.in_memory:
        units = path.exact.units
        return units.x_mean, units.x_scale, units.n
    mean = _mean_features(model)
    return mean, np.ones(len(mean)), path.require_rows().n


def _mean_features(model: Model) -> Array:
    """Return the means of what coefficients multiply."""
    values = model.path.features()
    return np.asarray(np.average(values, axis=0, weights=model.path.require_rows().weights))


def _kernel(model: Model) -> KernelRows | None:
    inputs = getattr(model.path, "_inputs", None)
    if inputs is None:
        return None
    if inputs.kernel.function is not None:
        raise NotAvailableError(
            "A model file holds no code, and the kernel is a function or a matrix that was given; "
            "use one of the kernels by name, or keep the model with joblib.dump."
        )
    return KernelRows(
        name=inputs.kernel.name,
        degree=float(inputs.kernel.degree),
        coef0=inputs.kernel.coef0,
        rows=read_only(np.array(inputs.rows)),
        mean=read_only(_mean_features(model)),
        gamma=_maybe(inputs.kernel.gamma),
    )


def _factor(model: Model) -> Array:
    """Return G (k, p): the columns of D A that are not zero up to rounding, as rows."""
    varies = np.isfinite(model.exact.units.x_scale)
    scaled = model.exact.standardized_coef_factor(model.row) * varies[:, None]
    size = np.linalg.norm(scaled, axis=0)
    keep = size > _EPS * size.max(initial=0.0)
    return read_only(np.ascontiguousarray(scaled[:, keep].T))


def _row_check(model: Model) -> RowCheck:
    path, m = cast("PLSPath", model.path), model.index
    T = path.exact.complete().filter.scores[:, :m]
    variances = distances.residual_variances(path, distances.residual_factor(path, m))
    entries: dict[str, Any] = {}
    if distances.has_left_out_limits(path):
        rows = distances.left_out_rows(model)
        entries = {"weights": read_only(rows.t2.weights), "units": float(rows.t2.units)}
        entries |= {"t2": rows.t2.values} if m > 0 else {}
        entries |= {"q": rows.q.values} if rows.q is not None and variances.any() else {}
    return RowCheck(
        loadings=read_only(np.ascontiguousarray(diagnostics.times_predictors(path, T).T)),
        residual_variances=read_only(variances),
        **entries,
    )


# A fitted estimator, or a Pipeline
# ---------------------------------


@dataclass(frozen=True, kw_only=True)
class _Opened:
    """The models of a fitted estimator, the steps before it, and names."""

    models: Sequence[Any]
    before: Sequence[Any] = ()
    names: Sequence[str] | None = None
    response_names: tuple[str, ...] | None = None
    one_response: bool = True
    noise: Noise = None

    @property
    def own_preparations(self) -> bool:
        """Whether every response was prepared in a way of its own, or by a kernel of its own."""
        return any(
            isinstance(one, Mixture) or one.path.is_dual or one.path.before is not None
            for one in self.models
        )

    def responses(self, given: str | None) -> tuple[str, ...]:
        """Return the names of the responses."""
        if self.one_response:
            return (given or (self.response_names or ("y",))[0],)
        return self.response_names or _numbered(len(self.models), "y")


def _chain(steps: Sequence[Any], p: int) -> Any:
    """Return steps, one after the other, as one chain, if a file can hold them."""
    from sklearn.preprocessing import StandardScaler

    from plsdof.chemometrics.preprocessing import Preprocessor

    steps = [step for step in steps if step is not None]
    if len(steps) < 2 and all(isinstance(step, Preprocessor) for step in steps):
        return steps[0] if steps else None
    words: list[str] = []
    learned: list[Any] = []
    for step in steps:
        if isinstance(step, StandardScaler):
            mean = step.mean_ if step.with_mean else np.zeros(p)
            scale = step.scale_ if step.with_std else np.ones(p)
            content: dict[str, Any] = {"steps": "autoscale"}
            content["learned"] = [{"mean_": mean, "scale_": scale}]
        elif isinstance(step, Preprocessor):
            content = step.to_content()
        else:
            raise NotAvailableError(
                f"A model file cannot hold the step {type(step).__name__}; use "
                "chemometrics.Preprocessor or StandardScaler before the estimator, or keep such a "
                "Pipeline with joblib.dump."
            )
        words += [content["steps"]] if content["learned"] else []  # none is not a step
        learned += content["learned"]
    return Preprocessor.from_content({"steps": ",".join(words) or "none", "learned": learned}, p)


def _opened(model: Any) -> _Opened:
    if isinstance(model, Model):
        before = getattr(model.prepare, "before", ())
        return _Opened(models=[model], before=list(before), names=model.path.feature_names)
    if isinstance(model, PLS2Model):
        path = model.path
        named = None if path.names == tuple(map(str, range(len(path.names)))) else path.names
        return _Opened(
            models=model.responses,
            names=path.units.names,
            response_names=named,
            one_response=False,
        )
    fitted = getattr(model, "best_estimator_", model)  # of a search
    is_pipeline = hasattr(fitted, "steps") and hasattr(fitted, "named_steps")
    estimator = fitted.steps[-1][1] if is_pipeline else fitted
    if not hasattr(estimator, "path_rows") or not hasattr(estimator, "models_"):
        as_model(model)  # says why not
    return _Opened(
        models=estimator.models_,
        before=list(fitted)[:-1] if is_pipeline else (),
        names=getattr(fitted, "feature_names_in_", None),
        response_names=estimator.response_names_,
        one_response=estimator.one_response,
        noise=getattr(estimator, "noise", None),
    )
