"""What answers for new rows: one object with the arrays that a model file holds.

New rows go through a transfer step, if there is one; through one preparation or several
(preprocessing, means, scales, a kernel); coefficients and a mean make them predictions, which
adjustments correct. Cross-validated errors make intervals, scores and loadings tell how far a row
is from those of the calibration (T^2, Q), discriminant functions become probabilities.

`plsdof.models.predictor` gives the predictor of a model, an estimator or a pipeline, whose parts
are made when they are needed; `plsdof.load_model` reads one from a file.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import numpy.typing as npt
from scipy.special import log_softmax

from plsdof._core.choice import LEFT_OUT
from plsdof._core.display import data_frame, one_line, plural
from plsdof._core.inputs import (
    Array,
    as_choice,
    as_level,
    as_new_rows,
    feature_names,
    read_only,
    row_labels,
)
from plsdof._core.left_out import REACTION
from plsdof.chemometrics.checks import correction
from plsdof.chemometrics.diagnostics import Diagnostic, diagnose, squared_rows
from plsdof.chemometrics.discriminant import belongs
from plsdof.chemometrics.transfer import Transfer as Transfer
from plsdof.errors import InvalidInputError, NotAvailableError
from plsdof.inference import intervals as inference
from plsdof.models.calibration import Calibration, now
from plsdof.models.parts import Adjustment as Adjustment
from plsdof.models.parts import CentredRows, Response

if TYPE_CHECKING:
    from pandas import DataFrame

_EPS = float(np.finfo(np.float64).eps)
# A row whose T^2 or Q one of a thousand ordinary rows would exceed is not to be predicted.
REJECT_LEVEL = 0.999
_DISTANCES = {"t2": "T²", "q": "Q"}

# The answers
# -----------


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Predictions:
    """What a predictor says of new rows: `Predictor.at`. All arrays have one entry per row.

    Attributes
    ----------
    value : (n_new,) or (n_new, q) array
        Predictions; decision values, a column per class, of a classifier.
    leverage : (n_new,) or (n_new, q) array
        h = 1/n + the weighted sum of squared scores.
    half : (n_new,) or (n_new, q) array
        Half the width of intervals for observations at ``level``; nan where there are none.
    expected : (n_new,) or (n_new, q) array
        How large errors are expected, by cross-validation; nan where nothing says so.
    t2, q : Diagnostic or None
        Of one response, where the model can tell.
    farthest : mapping
        Limits of "t2" and "q" at the level 0.999.
    label, probability : (n_new,) and (n_new, K) arrays, or None
        Of classes.
    level : float
    names : tuple or None
        Of the rows, where X was a pandas object.
    """

    value: Array
    leverage: Array
    half: Array
    expected: Array
    t2: Diagnostic | None = None
    q: Diagnostic | None = None
    farthest: Mapping[str, float] = field(default_factory=dict)
    label: npt.NDArray[Any] | None = None
    probability: Array | None = None
    belongs: npt.NDArray[np.bool_] | None = None
    classes: npt.NDArray[Any] | None = None
    level: float = 0.95
    names: tuple[Any, ...] | None = None

    @property
    def unlike(self) -> npt.NDArray[np.bool_]:
        """Which rows are unlike those of the calibration: T^2 or Q above its limit, no class."""
        if self.belongs is not None:
            return np.asarray(~self.belongs.any(axis=1))
        found = np.zeros(len(self.value), dtype=bool)
        for one in self._distances:
            found |= one.flags
        return found

    @property
    def status(self) -> npt.NDArray[Any]:
        """What to make of each row: "ok", "warn" if it is `unlike` the calibration, or "reject".

        The last if T^2 or Q is above its limit at the level 0.999, or there is no prediction.
        """
        far = self._is_missing
        for one in self._distances:
            far = far | (one.values > self.farthest[one.name])
        return np.where(far, "reject", np.where(self.unlike, "warn", "ok")).astype(object)

    @property
    def reason(self) -> npt.NDArray[Any]:
        """What the `status` is for, in words; empty if it is "ok"."""
        found = {"no prediction": self._is_missing}
        if self.belongs is not None:
            found["none of the classes"] = self.unlike
        for one in self._distances:
            far = one.values > self.farthest[one.name]
            name = _DISTANCES[one.name]
            found[f"{name} above {100 * self.level:g}% limit"] = one.flags & ~far
            found[f"{name} above {100 * REJECT_LEVEL:g}% limit"] = far
        rows = zip(*found.values(), strict=True)
        words = ["; ".join(w for w, holds in zip(found, row, strict=True) if holds) for row in rows]
        return np.array(words, dtype=object)

    @property
    def _is_missing(self) -> npt.NDArray[np.bool_]:
        return np.asarray(np.isnan(self.value).reshape(len(self.value), -1).any(axis=1))

    @property
    def _distances(self) -> list[Diagnostic]:
        return [one for one in (self.t2, self.q) if one is not None]

    def columns(self) -> dict[str, Any]:
        """Return everything by column name."""
        found: dict[str, Any] = {}
        if self.probability is not None and self.classes is not None:
            found["label"] = self.label
            parts = zip(self.classes, self.probability.T, strict=True)
            found |= {f"P({name})": one for name, one in parts}
        elif self.value.ndim == 1:
            found = {"value": self.value, "lower": self.value - self.half}
            found |= {"upper": self.value + self.half, "leverage": self.leverage}
        else:
            found = {f"value_{j}": one for j, one in enumerate(self.value.T)}
        found |= {one.name: one.values for one in self._distances}
        return found | {"status": self.status, "reason": self.reason}

    def frame(self) -> "DataFrame":
        """Return a pandas data frame with one row per new row."""
        return data_frame(self.columns(), self.names)

    def __repr__(self) -> str:
        count = int(np.count_nonzero(self.unlike))
        return one_line(self, plural(len(self.value), "row"), unlike=count)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Predictor(Calibration):
    """What answers for new rows: predictions, intervals, distances, classes; no training data.

    Given by `plsdof.predictor` and `plsdof.load_model`. It has the methods of the estimators that
    answer questions about new rows, with the same results. What it consists of, and what was done
    to it, is that of `plsdof.models.Calibration`.

    Examples
    --------
    >>> from plsdof import PLSRegressor, predictor
    >>> from plsdof.datasets import load_ozone
    >>> X, y = load_ozone(return_X_y=True)
    >>> model = predictor(PLSRegressor(2).fit(X, y))
    >>> model, round(model.score(X, y), 2), model.predict_interval(X[:1]).round(1)
    (Predictor(pls, n_components=2, response='y', p=12), 0.7, array([[ 1.4, 19.1]]))
    >>> model.at(X)
    Predictions(203 rows, unlike=20)
    """

    # Predictions
    # -----------

    def at(self, X: Any, *, level: float = 0.95) -> Predictions:
        """Return all that there is to say of new rows, their columns checked once."""
        rows, level = self._rows(X), as_level(level)
        values = [self._value(one, rows) for one in self.responses]
        facts: dict[str, Any] = {"level": level}
        if (labels := row_labels(X)) is not None:
            facts["names"] = tuple(labels)
        if self.labels:
            probability = np.exp(log_softmax(np.column_stack(values), axis=1))
            facts |= {"classes": self.classes_, "probability": probability}
            facts["label"] = self.classes_[probability.argmax(axis=1)]
            if self.class_models:
                facts["belongs"] = belongs(self.class_models, rows[0].dense() + rows[0].mean)
        elif len(self.responses) == 1 and self.responses[0].check is not None:
            names = ("t2", "q") if self.check.loadings is not None else ("t2",)
            facts |= {name: self._distance(name, rows, level) for name in names}
            far = {name: self.check.limit(name, self.n, REJECT_LEVEL).limit for name in names}
            facts["farthest"] = far
        # Of neither kind: those from cross-validation, which are nan then.
        usual = ["normal" if one.is_normal else LEFT_OUT for one in self.responses]
        asked = zip(self.responses, usual, strict=True)
        sizes = [math.sqrt(one.mean_square) * self._widening(one, rows) for one in self.responses]
        return Predictions(
            value=self._stacked(values),
            leverage=self._stacked([self._leverage(one, rows) for one in self.responses]),
            half=self._stacked([self._half(one, rows, level, how) for one, how in asked]),
            expected=self._stacked(sizes),
            **facts,
        )

    def predict(self, X: Any) -> Any:
        """Predict new rows. Shape (n_new,), or (n_new, q) if y had columns; labels of classes."""
        values = self._values(X)
        if self.labels:
            return self.classes_[values.argmax(axis=1)]
        return values[:, 0] if self.one_response else values

    def decision_function(self, X: Any) -> Array:
        """Return discriminant functions of a classifier, as those of `plsdof.PLSClassifier`."""
        classes, values = self.classes_, self._values(X)
        return np.asarray(values[:, 1] - values[:, 0] if len(classes) == 2 else values)

    def predict_log_proba(self, X: Any) -> Array:
        """Return the logarithms of `predict_proba`. Shape (n_new, K)."""
        _ = self.classes_  # which numbers have not
        return np.asarray(log_softmax(self._values(X), axis=1))

    def predict_proba(self, X: Any) -> Array:
        """Return the probabilities of the classes. Shape (n_new, K)."""
        return np.exp(self.predict_log_proba(X))

    def leverage(self, X: Any) -> Array:
        """Return 1/n + the weighted sum of squared scores of new rows. Shape (n_new,)."""
        rows = self._rows(X)
        return self._stacked([self._leverage(one, rows) for one in self.responses])

    def half_widths(self, X: Any, level: float = 0.95) -> Array:
        """Return half the widths of intervals from cross-validation. Shape (n_new,)."""
        rows = self._rows(X)
        return self._stacked([self._half(one, rows, level, LEFT_OUT) for one in self.responses])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R^2, of several responses their mean; of a classifier the accuracy."""
        from sklearn.metrics import accuracy_score, r2_score

        measure = accuracy_score if self.labels else r2_score
        return float(measure(y, self.predict(X), sample_weight=sample_weight))

    def predict_interval(
        self,
        X: Any,
        level: float = 0.95,
        *,
        method: inference.IntervalMethod | None = None,
        kind: inference.IntervalKind = "observation",
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
        limits: Array | DataFrame = inference.limits_of(
            found, X, self.response_names_, one_response=self.one_response
        )
        return limits

    def prediction_interval(
        self,
        X: Any,
        *,
        level: float = 0.95,
        kind: str = "observation",
        method: str | None = None,
        response: int | None = None,
    ) -> inference.Interval:
        """Return intervals of one response; see `plsdof.inference.prediction_interval`."""
        one = self._only() if response is None else self.responses[response]
        as_choice(kind, "kind", get_args(inference.IntervalKind))
        level, is_default = as_level(level), method is None
        if method is None:
            method = "normal" if kind == "mean" else one.usual_method
        as_choice(method, "method", inference.INTERVAL_METHODS)
        if kind == "mean" and method != "normal":
            raise InvalidInputError(
                "method='left-out' is for kind='observation': cross-validated errors are those of "
                f"observations. For kind={kind!r} use method='normal'."
            )
        if method == LEFT_OUT and not len(one.scores):
            raise NotAvailableError(
                "Intervals from cross-validated errors need such errors, and this model has none."
            )
        rows = self._rows(X)
        center, critical = self._value(one, rows), math.nan
        std_error, half = np.full(len(center), np.nan), self._half(one, rows, level, method, kind)
        words = one.choice.get("intervals", f"Cross-validated errors ({method}).")
        if method == "normal":
            std_error = self._std_error(one, rows, kind)
            critical = inference.critical_value(level, one.require_normal().df)
            words = inference.normal_words(self.in_words, kind, one.choice.get("covariance"))
            if kind == "mean" and is_default and len(one.scores):
                # That of a mean is never wider than that of an observation.
                half = np.minimum(half, self._half(one, rows, level, LEFT_OUT))
        facts = {"level": level, "critical": critical, "assumptions": words}
        facts |= {"names": row_labels(X), "std_error": read_only(std_error)}
        return inference.interval_around(center, half, **facts)

    # How far rows are from those of the calibration
    # ----------------------------------------------

    def t2(self, X: Any, *, level: float = 0.95, limit: str | None = None) -> Diagnostic:
        """Return Hotelling's T^2 of new rows with its limit: `plsdof.chemometrics.hotelling_t2`."""
        self._only().require_check()
        return self._distance("t2", self._rows(X), as_level(level), limit)

    def q(self, X: Any, *, level: float = 0.95, limit: str | None = None) -> Diagnostic:
        """Return Q residuals of new rows with their limit: `plsdof.chemometrics.q_residuals`."""
        self._only().require_check()
        return self._distance("q", self._rows(X), as_level(level), limit)

    def unlike(self, X: Any, *, level: float = 0.95) -> npt.NDArray[np.bool_]:
        """Whether new rows are unlike the calibration: T^2 or Q above its limit, of no class."""
        return self.at(X, level=level).unlike

    def belongs(self, X: Any) -> npt.NDArray[np.bool_]:
        """Whether new rows look like members of each class: `plsdof.PLSClassifier.belongs`."""
        if not self.class_models:
            raise NotAvailableError(
                "There are no models of classes; fit PLSClassifier(novelty=0.95)."
            )
        rows = self._rows(X)[0]
        return belongs(self.class_models, rows.dense() + rows.mean)

    # The life of a calibration
    # -------------------------

    def adjusted(
        self,
        X: Any,
        y: Any,
        kind: Literal["bias", "slope"] = "bias",
        *,
        reason: str,
        force: bool = False,
    ) -> "Predictor":
        """Return a predictor whose predictions are corrected by control samples.

        See `plsdof.chemometrics.checks.correction`. The correction, its reason and the checksum of
        this model are kept with the new one.

        Examples
        --------
        >>> from plsdof import pls_path, predictor
        >>> model = predictor(pls_path([[1.0], [2.0], [4.0], [5.0]], [1.0, 2.0, 3.0, 5.0])[1])
        >>> new = model.adjusted([[2.0], [3.0], [4.0]], [2.55, 3.45, 4.35], reason="new lamp")
        >>> new.responses[0].adjustments[0].reason, (new.predict([[2.0]]) - model.predict([[2.0]]))
        ('new lamp', array([0.7]))
        """
        if not reason.strip():
            raise InvalidInputError("An adjustment needs a reason, which is kept with the model.")
        from plsdof.models.files import model_checksum

        kept, errors = self.frozen(), self.calibration_errors
        made = correction(y, self.predict(X), kind, calibration=errors, force=force)
        forced = "" if made.significant else " (not significant)"
        change = Adjustment(
            kind=kind,
            slope=made.slope,
            intercept=made.intercept,
            date=now(),
            reason=" ".join(reason.split()) + forced,
            rows=float(made.rows),
            parent=model_checksum(kept),
        )
        one = kept.responses[0]
        return kept.derived(responses=(replace(one, adjustments=(*one.adjustments, change)),))

    # The formulas
    # ------------

    def _rows(self, X: Any) -> tuple[CentredRows, ...]:
        """Return new rows, checked, transferred and prepared in every way."""
        # Numbers in the place of names do not forbid others, but have an order.
        columns, given = self.columns, None if self.named else feature_names(X)
        known = self.named or (given is not None and set(given) == set(columns))
        rows = as_new_rows(X, len(columns), columns if known else None, holes=self.fills_holes)
        if self.transfer is not None:
            rows = self.transfer.apply(rows)
        return tuple(one.of(rows) for one in self.preparations)

    def _values(self, X: Any) -> Array:
        """Return predictions of all responses. Shape (n_new, q)."""
        rows = self._rows(X)
        return np.column_stack([self._value(one, rows) for one in self.responses])

    def _value(self, one: Response, rows: Sequence[CentredRows]) -> Array:
        """Return predictions of a response, adjusted."""
        slope, shift = one.correction
        sums = sum(rows[each.preparation].times(each.coef) for each in one.members)
        return np.asarray(slope * (one.y_mean + sums) + shift)

    def _leverage(self, one: Response, rows: Sequence[CentredRows]) -> Array:
        """Return h = 1/n + the weighted sum of squared scores."""
        parts = [each.leverage(rows[each.preparation]) for each in one.members]
        return np.asarray(1.0 / self.n + np.sum(parts, axis=0))

    @np.errstate(over="ignore")  # of a row beyond all measure it is infinite
    def _widening(self, one: Response, rows: Sequence[CentredRows]) -> Array:
        """Return sqrt(1 + 4 h n / n_f + 4 v), v how far the models of an average disagree."""
        sums = np.sum([rows[each.preparation].times(each.coef) for each in one.members], axis=0)
        apart = [each.disagreement(rows[each.preparation], sums) for each in one.members]
        unit = one.rmsecv**2 / REACTION
        extra = np.sum(apart, axis=0) / unit if unit > 0 else 0.0
        spread = 1.0 + one.reach * self._leverage(one, rows) + extra
        return np.asarray(abs(one.correction[0]) * np.sqrt(spread))

    def _std_error(self, one: Response, rows: Sequence[CentredRows], kind: str) -> Array:
        """Return standard errors of the mean or of observations, by method "normal"."""
        error = one.require_normal().std_error(rows[one.main.preparation])
        error = np.hypot(error, math.sqrt(one.noise_variance)) if kind != "mean" else error
        return np.asarray(abs(one.correction[0]) * error)

    def _half(
        self,
        one: Response,
        rows: Sequence[CentredRows],
        level: float,
        method: str,
        kind: str = "observation",
    ) -> Array:
        """Return half the widths of intervals; nan where there are none."""
        if method == LEFT_OUT:
            return np.asarray(one.half_width(level) * self._widening(one, rows))
        critical = inference.critical_value(level, one.require_normal().df)
        return np.asarray(critical * self._std_error(one, rows, kind))

    def _distance(
        self, name: str, rows: Sequence[CentredRows], level: float, limit: str | None = None
    ) -> Diagnostic:
        """Return T^2 or Q of new rows, of the member with most weight."""
        one = self._only()
        check, main = one.require_check(), one.main
        assert main.rotations is not None
        x = rows[main.preparation]
        scores = x.times(main.rotations[: check.components].T)
        if name == "t2":
            values = (self.n - 1.0) * squared_rows(scores)
        elif check.loadings is None:
            raise NotAvailableError(
                "Q is about the predictors, and kernel PLS has only inner products of features "
                "that are not the predictors; use hotelling_t2 for rows."
            )
        else:
            u = x.dense() / check.scale
            values = squared_rows(u - scores @ check.loadings)
            # As many components as columns leave nothing of any row but rounding.
            everything = check.components >= u.shape[1]
            values[everything | (values <= (u.shape[1] * _EPS) ** 2 * squared_rows(u))] = 0.0
        return diagnose(name, values, check.limit(name, self.n, level, limit), level)

    def _stacked(self, values: Sequence[Array]) -> Array:
        return values[0] if self.one_response else np.column_stack(values)
