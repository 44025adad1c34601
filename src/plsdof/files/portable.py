"""A fitted model without its data: it predicts new rows, is small, and can be kept in a file."""

import math
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast, get_args

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
from plsdof._core.left_out import half_width, spread_at
from plsdof._core.model import Fitted, Model, as_model
from plsdof._core.path import PLSPath
from plsdof.chemometrics.diagnostics import (
    Diagnostic,
    Limit,
    diagnose,
    squared_rows,
    times_predictors,
)
from plsdof.chemometrics.rows import (
    LeftOutValues,
    has_left_out_limits,
    left_out_rows,
    limit_from_moments,
    q_limit,
    residual_factor,
    residual_variances,
    row_units,
    t2_limit,
)
from plsdof.errors import InvalidInputError, NotAvailableError
from plsdof.inference.covariance import reference_df
from plsdof.inference.intervals import (
    INTERVAL_METHODS,
    Interval,
    critical_value,
    frame_rows,
    left_out_words,
    name_predictions,
    name_rows,
    normal_words,
)
from plsdof.variants.kernel import Kernel
from plsdof.variants.pls2 import PLS2Model

if TYPE_CHECKING:  # needs scikit-learn, which takes a second to import
    from pandas import DataFrame

    from plsdof.chemometrics.preprocessing import Preprocessor

_EPS = float(np.finfo(np.float64).eps)
Kind = Literal["observation", "mean"]
# The last two are those that files of 0.2 may name.
Method = Literal["left-out", "normal", "conformal", "jackknife+"]

# What a model is without its data. The metadata of a field say what an entry of a file must be.
# ------------------------------------------------------------------------------------------------


Text = Annotated[str, "text"]
Number = Annotated[float, "number"]
Positive = Annotated[float, "positive"]
Maybe = Annotated[float, "maybe"]
MaybePositive = Annotated[float, "maybe positive"]
Numbers = Annotated[Array, "list"]
Sizes = Annotated[Array, "positive list"]
Matrix = Annotated[Array, "matrix"]
_NONE = read_only(np.zeros(0))


def _none() -> Array:
    return _NONE


@dataclass(frozen=True, kw_only=True, eq=False)
class RowCheck:
    """What tells how far new rows are from those of the calibration; see `chemometrics.rows`.

    Attributes
    ----------
    rotations : (m, p) array
        R with the scores R u of a standardised row u, in units where training scores are
        orthonormal.
    loadings : (m, p) array
        L with the part L'R u of a row that the components reproduce.
    residual_variances : (k,) array
        Eigenvalues of the covariance of what they do not reproduce.
    t2, q, weights : (n_rows,) arrays
        Of rows left out, where the limits come from; empty if there are none.
    units : float
        Number of these rows, or of groups of them.
    t2_moments, q_moments : (2,) arrays
        Mean and variance over rows left out, in files of 0.2.
    """

    rotations: Matrix
    loadings: Matrix
    residual_variances: Sizes
    t2: Numbers = field(default_factory=_none)
    q: Numbers = field(default_factory=_none)
    weights: Numbers = field(default_factory=_none)
    units: Number = 0.0
    t2_moments: Numbers = field(default_factory=_none)
    q_moments: Numbers = field(default_factory=_none)

    def limit(self, name: str, n: float, level: float) -> Limit:
        """Return the limit of "t2" or "q" of new rows."""
        values, moments = getattr(self, name), getattr(self, f"{name}_moments")
        if len(values):
            rows = LeftOutValues(values=values, weights=self.weights, units=int(self.units))
            return rows.limit(level)
        if len(moments) == 2:
            return limit_from_moments(moments[0], moments[1], level)
        if name == "t2":
            return t2_limit(n, len(self.rotations), level, training=False)
        return q_limit(self.residual_variances, level)


@dataclass(frozen=True, kw_only=True, eq=False)
class LeftOutFits:
    """Fits without some rows each, which "jackknife+" of 0.2 kept."""

    coef: Matrix
    level: Numbers
    residuals: Numbers
    fold_of: Numbers

    def limits(self, deviation: Array, level: float) -> Array:
        """Return limits at rows, given as deviations from the mean. Shape (n_new, 2)."""
        folds, size = self.fold_of.astype(np.intp), np.abs(self.residuals)
        predicted = (self.level[:, None] + self.coef @ deviation.T)[folds]
        place, n = _place(len(size), level), len(size)
        low = np.partition(predicted - size[:, None], n - 1 - place, axis=0)[n - 1 - place]
        high = np.partition(predicted + size[:, None], place, axis=0)[place]
        return np.column_stack([low, high])


def _place(n: int, level: float) -> int:
    """Return where the ceil(level (n + 1))-th of n sorted numbers is."""
    rank = math.ceil(round(level * (n + 1), 9))
    if rank > n:
        raise NotAvailableError(
            f"Intervals of this file at level {level:g} need more than its {n} rows. Use a lower "
            "level, or method='normal'."
        )
    return rank - 1


@dataclass(frozen=True, kw_only=True, eq=False)
class KernelRows:
    """A kernel with the standardised training rows (k, p) and their mean kernel values (k,)."""

    name: Text
    degree: Number
    coef0: Number
    rows: Matrix
    mean: Numbers

    def values(self, rows: Array, gamma: float) -> Array:
        """Return centred kernel values of standardised rows. Shape (n_new, k)."""
        width = None if math.isnan(gamma) else gamma
        kernel = Kernel(name=self.name, gamma=width, degree=int(self.degree), coef0=self.coef0)
        return kernel(rows, self.rows) - self.mean


@dataclass(frozen=True, kw_only=True, eq=False)
class PortableResponse:
    """What a `PortableModel` keeps of one response; see `plsdof.files.models`."""

    response: Text
    coef: Numbers
    intercept: Number
    y_mean: Number
    parameter: Number
    choice: Annotated[Mapping[str, str], "mapping"]
    dof: Maybe = math.nan
    gamma: Maybe = math.nan
    scores: Sizes = field(default_factory=_none)
    weights: Sizes = field(default_factory=_none)
    groups: Maybe = math.nan
    spent: Number = 1.0
    leverage: Annotated[Array | None, "matrix"] = None
    fitted_share: Number = 1.0
    noise_variance: MaybePositive = math.nan
    df: MaybePositive = math.nan
    factor: Annotated[Array | None, "matrix"] = None
    check: Annotated[RowCheck | None, "check"] = None
    # Of files of 0.2.
    interval_method: Text = ""
    conformal: Numbers = field(default_factory=_none)
    left_out: Annotated[LeftOutFits | None, "left_out"] = None

    @property
    def interval_methods(self) -> tuple[str, ...]:
        """How observations can be covered, what is usual first."""
        known = {
            LEFT_OUT: len(self.scores) > 0,
            "normal": self.has_intervals,
            "conformal": len(self.conformal) > 0 and self.has_intervals,
            "jackknife+": self.left_out is not None,
        }
        if self.interval_method in known:
            known = {self.interval_method: known[self.interval_method]} | known
        return tuple(name for name, is_there in known.items() if is_there)

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

    def half_width(self, level: float) -> float:
        """Return half the width of intervals from rows left out."""
        return half_width(
            self.scores,
            level,
            weights=self.weights if len(self.weights) else None,
            groups=None if math.isnan(self.groups) else int(self.groups),
            spent=self.spent,
        )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PortableModel:
    """A fitted model without its data: it predicts, and can be kept in a file.

    Made by `portable_model` and `load_model`. It has the methods of the estimators that answer
    questions about new rows, with the same results.

    Attributes
    ----------
    parts : tuple of PortableResponse
        What is kept of every response. With one response its entries are attributes here, too,
        such as ``response``, ``dof`` and ``choice``.
    names : tuple of str
        Predictors in the order of the coefficients.
    x_mean, x_scale : (p,) arrays
        The scale is infinite where a column does not vary.
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
    kernel : KernelRows or None
    preprocessing : Preprocessor or None
        Fitted; applied to new rows before anything else.

    Examples
    --------
    >>> from plsdof import PLSRegressor
    >>> from plsdof.datasets import load_ozone
    >>> X, y = load_ozone(return_X_y=True)
    >>> model = portable_model(PLSRegressor(2).fit(X, y))
    >>> model, round(model.score(X, y), 2), model.predict_interval(X[:1]).round(1)
    (PortableModel(pls, n_components=2, response='y', p=12), 0.7, array([[ 1.1, 19.4]]))
    """

    names: Annotated[tuple[str, ...], "names"]
    x_mean: Annotated[Array, "vector"]
    x_scale: Annotated[Array, "scale"]
    n: Positive
    method: Text
    parameter_name: Text
    source: Annotated[Mapping[str, Any], "mapping"]
    package: Text
    created: Text
    one_response: Annotated[bool, "flag"] = True
    named: Annotated[bool, "flag"] = True
    responses_named: Annotated[bool, "flag"] = True
    kernel: Annotated[KernelRows | None, "kernel"] = None
    preprocessing: Annotated["Preprocessor | None", "preprocessing"] = None
    parts: tuple[PortableResponse, ...] = ()

    def __getattr__(self, name: str) -> Any:
        """Return what is kept of the only response."""
        parts = self.__dict__.get("parts", ())
        if name.startswith("_") or name not in {
            *dir(PortableResponse),
            *PortableResponse.__dataclass_fields__,
        }:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        if len(parts) != 1:
            raise AttributeError(f"There are {len(parts)} responses: see {name} of each of parts.")
        return getattr(parts[0], name)

    @property
    def n_features_in_(self) -> int:
        """Number of predictors."""
        return len(self.names)

    @property
    def feature_names_in_(self) -> npt.NDArray[np.object_]:
        """Names of the predictors, if they had names."""
        if not self.named:
            raise AttributeError("The model was fitted to predictors without names.")
        return np.array(self.names, dtype=object)

    @property
    def response_names_(self) -> tuple[str, ...] | None:
        """Names of the responses; None if they had none."""
        return tuple(one.response for one in self.parts) if self.responses_named else None

    @property
    def coef_(self) -> Array:
        """Coefficients in original units. Shape (p,), or (q, p) if y had columns."""
        if self.kernel is not None:
            raise AttributeError("A kernel model has no coefficients per feature.")
        return np.asarray(self._one_or_array([np.array(one.coef) for one in self.parts]))

    @property
    def intercept_(self) -> Any:
        """Intercept; (q,) array if y had columns."""
        return self._one_or_array([one.intercept for one in self.parts])

    @property
    def dof_(self) -> Any:
        """Degrees of Freedom; (q,) array if y had columns, nan where they were not counted."""
        return self._one_or_array([one.dof for one in self.parts])

    @property
    def noise_std_(self) -> Any:
        """Noise standard deviation; (q,) array if y had columns."""
        return self._one_or_array([math.sqrt(one.noise_variance) for one in self.parts])

    @property
    def in_words(self) -> str:
        """What the model is, such as "3 components"."""
        name = self.parameter_name
        said = [one.in_words or model_in_words(one.parameter, name) for one in self.parts]
        return ", ".join(dict.fromkeys(said))

    def predict(self, X: Any) -> Array:
        """Predict new rows. Shape (n_new,), or (n_new, q) if y had columns."""
        deviation = self._deviation(X)
        centers = [self._center(one, deviation) for one in self.parts]
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
        found = [self._interval(one, X, level, kind, method) for one in self.parts]
        limits = np.stack([np.column_stack([one.lower, one.upper]) for one in found], axis=1)
        named: Array | DataFrame
        if self.one_response:
            named = name_rows(limits[:, 0], frame_rows(X))
        else:
            named = name_predictions(limits, self.response_names_, frame_rows(X))
        return named

    def prediction_interval(
        self,
        X: Any,
        *,
        level: float = 0.95,
        kind: str = "observation",
        method: str | None = None,
    ) -> Interval:
        """Return the same of the only response as `plsdof.inference.prediction_interval` does."""
        return self._interval(self._only(), X, level, kind, method)

    def _interval(
        self, part: PortableResponse, X: Any, level: float, kind: str, method: str | None
    ) -> Interval:
        as_choice(kind, "kind", get_args(Kind))
        level = as_level(level)
        known = part.interval_methods
        if method is None:
            method = "normal" if kind == "mean" or not known else known[0]
        as_choice(method, "method", get_args(Method))
        if kind == "mean" and method != "normal":
            raise InvalidInputError(f"kind='mean' needs method='normal'; got {method!r}.")
        if method not in known:
            raise NotAvailableError(_not_kept(method, part, self.n))
        deviation = self._deviation(X)
        center = low = high = self._center(part, deviation)
        std_error, critical = np.full(len(center), np.nan), math.nan
        words = part.choice.get("intervals", f"Errors of rows left out ({method}).")
        half: Any = 0.0
        if method == LEFT_OUT:
            half = part.half_width(level)
            if part.leverage is not None and self.kernel is None:
                h = 1.0 / self.n + squared_rows(deviation @ part.leverage.T)
                half = half * spread_at(h, part.fitted_share)
        elif method == "jackknife+":
            assert part.left_out is not None
            low, high = part.left_out.limits(deviation, level).T
        else:
            assert part.factor is not None
            reach = (deviation / self.x_scale) @ part.factor.T
            spread = 1.0 / self.n + np.vecdot(reach, reach) + float(kind == "observation")
            if method == "conformal":
                std_error = np.sqrt(spread)
                critical = float(part.conformal[_place(len(part.conformal), level)])
            else:
                std_error = np.sqrt(part.noise_variance * spread)
                critical = critical_value(level, part.df)
                words = normal_words(self.in_words, kind)
            half = critical * std_error
        labels = row_labels(X)
        return Interval(
            center=read_only(center),
            std_error=read_only(std_error),
            lower=read_only(low - half),
            upper=read_only(high + half),
            level=level,
            critical=critical,
            names=None if labels is None else tuple(labels),
            assumptions=words,
        )

    def hotelling_t2(self, X: Any, *, level: float = 0.95) -> Diagnostic:
        """Return Hotelling's T^2 of new rows with its limit: `plsdof.chemometrics.hotelling_t2`."""
        check, level = self._require_check(), as_level(level)
        scores = (self._deviation(X) / row_units(self.x_scale)) @ check.rotations.T
        values = (self.n - 1.0) * squared_rows(scores)
        return diagnose("t2", values, check.limit("t2", self.n, level), level)

    def q_residuals(self, X: Any, *, level: float = 0.95) -> Diagnostic:
        """Return Q residuals of new rows with their limit: `plsdof.chemometrics.q_residuals`."""
        check, level = self._require_check(), as_level(level)
        rows = self._deviation(X) / row_units(self.x_scale)
        values = squared_rows(rows - (rows @ check.rotations.T) @ check.loadings)
        return diagnose("q", values, check.limit("q", self.n, level), level)

    def save(self, file: str | os.PathLike[str]) -> None:
        """Write the model to a JSON file, complete or not at all; `load_model` reads it."""
        from plsdof.files.models import save_model

        save_model(self, file)

    def __repr__(self) -> str:
        p = len(self.names)
        if len(self.parts) != 1:
            return one_line(self, self.method, plural(len(self.parts), "response"), p=p)
        values = {self.parameter_name: self.parameter, "response": self.response[:60]}
        return one_line(self, self.method, **values, p=p)

    def _deviation(self, X: Any) -> Array:
        """Return new rows, checked and preprocessed, minus the means of the training rows."""
        # Numbers in the place of names do not forbid others, but have an order.
        given = None if self.named else feature_names(X)
        known = self.named or (given is not None and set(given) == set(self.names))
        rows = as_new_rows(X, len(self.names), self.names if known else None)
        if self.preprocessing is not None:
            rows = np.asarray(self.preprocessing.transform(rows))
        return rows - self.x_mean

    def _center(self, part: PortableResponse, deviation: Array) -> Array:
        if self.kernel is not None:
            deviation = self.kernel.values(deviation / self.x_scale, part.gamma)
        return np.asarray(part.y_mean + deviation @ part.coef)

    def _one_or_array(self, values: Sequence[Any]) -> Any:
        return values[0] if self.one_response else np.array(values)

    def _only(self) -> PortableResponse:
        if len(self.parts) != 1:
            raise NotAvailableError(
                f"There are {len(self.parts)} responses, each with a model of its own; fit and "
                "keep one of them, or use predict_interval."
            )
        return self.parts[0]

    def _require_check(self) -> RowCheck:
        check = self._only().check
        if check is None:
            raise NotAvailableError(
                f"T^2 and Q of new rows are not available: this {self.method} model was kept "
                "without what they need. They are there for PLS models that were kept with "
                "intervals; fit and keep it again."
            )
        return check


def _not_kept(method: str, part: PortableResponse, n: float) -> str:
    if method == "normal" and part.factor is not None:
        return (
            f"The model has {part.dof:.1f} Degrees of Freedom for {n:g} observations, which leaves "
            "nothing to estimate the noise from, so that intervals of method 'normal' are missing."
        )
    known = ", ".join(map(repr, part.interval_methods)) or "none"
    return (
        f"Intervals of method {method!r} are not available: the model was kept without what they "
        f"need. It has: {known}. Fit and keep it again."
    )


def numbered(count: int, letter: str = "x") -> tuple[str, ...]:
    """Return names for what has none."""
    return tuple(f"{letter}{i}" for i in range(count))


# From a fitted model to a portable one
# -------------------------------------


def portable_model(
    model: Model | PLS2Model | Fitted,
    *,
    names: Sequence[str] | None = None,
    response: str | None = None,
    source: Mapping[str, Any] | None = None,
    noise: Noise = None,
    intervals: bool | Literal["left-out", "normal"] = True,
    preprocessing: "Preprocessor | None" = None,
) -> PortableModel:
    """Take a model out of its path: what is left predicts, is small, and can be kept in a file.

    Parameters
    ----------
    model : Model, or a fitted estimator
        Also one of several responses, or a Pipeline that ends in one, if the step before it is a
        `plsdof.chemometrics.Preprocessor`, or steps only shift and scale columns, as
        StandardScaler does; they become part of the model.
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
        the kept model gives by default. False makes a lean model.
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
    >>> model = portable_model(path[2], names=ozone.feature_names, response="ozone")
    >>> model
    PortableModel(pls, n_components=2, response='ozone', p=12)
    >>> bool(np.allclose(model.predict(ozone.data), path.fitted[2], rtol=1e-12, atol=0))
    True
    """
    from plsdof import __version__

    if isinstance(intervals, str):
        as_choice(intervals, "intervals", INTERVAL_METHODS)
    opened = _opened(model)
    first = opened.models[0]
    default = intervals if isinstance(intervals, str) else ""
    # A path of `chemometrics.preprocessed` has a chain of its own.
    preprocessing = preprocessing or getattr(first.path, "before", None)
    preprocessing = preprocessing or _preprocessor(opened.before)
    if isinstance(first, PLS2Model):
        responses = opened.responses(len(first.path.names), response)
        parts = [_of_pls2(first, j, one, default) for j, one in enumerate(responses)]
        units, parameter_name, kernel = first.path.units, "n_components", None
        x_mean, x_scale, n = units.x_mean, units.x_scale, units.n
    else:
        responses = opened.responses(len(opened.models), response)
        parts = [
            _of_model(one, name, default, bool(intervals), noise or opened.noise)
            for one, name in zip(opened.models, responses, strict=True)
        ]
        x_mean, x_scale, n = _units(first, bool(intervals))
        kernel, parameter_name = _kernel(first), first.path.parameter_name
    if opened.before is not None and preprocessing is None:
        # Coefficients of the columns as they are measured.
        factor, shift = _scaling(opened.before, len(x_mean))
        x_mean, x_scale = (x_mean - shift) / factor, x_scale / factor
        if kernel is None:
            parts = [_rescaled(one, factor, x_mean) for one in parts]
    given = opened.names if names is None else names
    return PortableModel(
        names=numbered(len(x_mean)) if given is None else tuple(map(str, given)),
        x_mean=read_only(x_mean),
        x_scale=read_only(x_scale),
        n=float(n),
        method=first.path.recipe.method.name.rpartition(",")[2],
        parameter_name=parameter_name,
        source=dict(source or {}),
        package=f"plsdof {__version__}",
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        one_response=opened.one_response,
        named=given is not None,
        responses_named=response is not None or opened.response_names is not None,
        kernel=kernel,
        preprocessing=preprocessing,
        parts=tuple(parts),
    )


def _of_model(
    model: Model, response: str, default: str, intervals: bool, noise: Noise
) -> PortableResponse:
    """Keep one response."""
    path, has_rows = model.path, model.path.given is not None
    left = model.left_out if has_rows else None
    counted = intervals or path.is_counted
    usable = intervals and not path.is_dual and math.isfinite(model.dof)
    inputs = getattr(path, "_inputs", None)
    coef = np.array(model.coef)
    if inputs is not None and inputs.gram is not None:  # one coefficient per row that was given
        coef = np.zeros(len(inputs.gram))
        coef[inputs.kept] = model.coef
    return PortableResponse(
        response=response,
        coef=read_only(coef),
        intercept=float(model.intercept),
        y_mean=_mean_response(model),
        parameter=float(model.parameter),
        dof=float(model.dof) if counted else math.nan,
        choice=_choice(model),
        gamma=_maybe(getattr(getattr(inputs, "kernel", None), "gamma", None)),
        scores=_none() if left is None else model.scores,
        weights=_none() if left is None or left.sample_weight is None else left.sample_weight,
        groups=_maybe(None if left is None else left.groups),
        spent=1.0 if left is None else model.spent,
        leverage=None if left is None or path.is_dual else model.distance.factor,
        fitted_share=1.0 if left is None else left.fitted_share,
        noise_variance=float(model.noise_variance(noise)) if counted else math.nan,
        # A file has no infinity; so many are as good to 12 digits.
        df=min(reference_df(model, noise), 1e12) if usable else math.nan,
        factor=_factor(model) if usable else None,
        check=_row_check(model) if intervals else None,
        interval_method=default,
    )


def _of_pls2(model: PLS2Model, j: int, response: str, default: str) -> PortableResponse:
    path, weights = model.path, model.path.given.weights
    return PortableResponse(
        response=response,
        coef=read_only(model.coef[:, j].copy()),
        intercept=float(model.intercept[j]),
        y_mean=float(path.y_mean[j]),
        parameter=float(model.n_components),
        dof=float(model.dof_by_response[j]) if path.is_counted else math.nan,
        choice=_choice(model),
        scores=read_only(model.scores[:, j].copy()),
        weights=_none() if weights is None else weights,
        groups=_maybe(model.left_out.groups),
        spent=model.spent,
        noise_variance=float(model.noise_variance()[j]),
        interval_method=default,
    )


def _maybe(value: float | None) -> float:
    return math.nan if value is None else float(value)


def _choice(model: Model | PLS2Model) -> dict[str, str]:
    chosen = model.selection
    found = {"rule": "given", "label": model.label, "message": f"{model.label}: as asked for."}
    if isinstance(model, PLS2Model) or model.path.given is not None:
        found["intervals"] = left_out_words(cast("Any", model))
    if chosen is None or chosen.rule == "given":
        return found
    return found | {
        "criterion": chosen.criterion,
        "rule": chosen.rule,
        "message": chosen.message,
    }


def _mean_response(model: Model) -> float:
    given = model.path.given
    if given is None:
        return float(model.exact.units.y_mean)
    return float(np.average(given.y, weights=given.weights))


def _units(model: Model, intervals: bool) -> tuple[Array, Array, float]:
    """Return means and scales of the predictors, and n; without a decomposition if possible."""
    path = model.path
    inputs = getattr(path, "_inputs", None)
    if inputs is not None and inputs.gram is not None:
        x_mean = np.zeros(len(inputs.gram))
        x_mean[inputs.kept] = _mean_features(model)
        return x_mean, np.ones(len(x_mean)), path.require_rows().n
    if inputs is not None:
        return inputs.mean, inputs.scale, path.require_rows().n
    if intervals or path.given is None:
        units = path.exact.units
        return units.x_mean, units.x_scale, units.n
    mean = _mean_features(model)
    return mean, np.ones(len(mean)), path.given.n


def _mean_features(model: Model) -> Array:
    """Return the means of what coefficients multiply."""
    values = model.path.features()
    return np.asarray(np.average(values, axis=0, weights=model.path.require_rows().weights))


def _kernel(model: Model) -> KernelRows | None:
    inputs = getattr(model.path, "_inputs", None)
    if inputs is None or inputs.gram is not None:
        return None
    if inputs.kernel.function is not None:
        raise NotAvailableError(
            "A model file holds no code, and the kernel is a function; use one of the kernels by "
            "name, or keep the model with joblib.dump."
        )
    return KernelRows(
        name=inputs.kernel.name,
        degree=float(inputs.kernel.degree),
        coef0=inputs.kernel.coef0,
        rows=read_only(np.array(inputs.rows)),
        mean=read_only(_mean_features(model)),
    )


def _factor(model: Model) -> Array:
    """Return G (k, p): the columns of D A that are not zero up to rounding, as rows."""
    varies = np.isfinite(model.exact.units.x_scale)
    scaled = model.exact.standardized_coef_factor(model.row) * varies[:, None]
    size = np.linalg.norm(scaled, axis=0)
    keep = size > _EPS * size.max(initial=0.0)
    return read_only(np.ascontiguousarray(scaled[:, keep].T))


def _row_check(model: Model) -> RowCheck | None:
    path, m = model.path, model.index
    if not isinstance(path, PLSPath) or path.is_dual:
        return None
    exact = path.exact.complete()
    T = exact.filter.scores[:, :m]
    rotated = T / exact.decomposition.singular_values[:, None]
    variances = residual_variances(path, residual_factor(path, m))
    entries: dict[str, Any] = {}
    if has_left_out_limits(path):
        rows = left_out_rows(model)
        entries = {"weights": read_only(rows.t2.weights), "units": float(rows.t2.units)}
        entries |= {"t2": rows.t2.values} if m > 0 else {}
        entries |= {"q": rows.q.values} if rows.q is not None and variances.any() else {}
    return RowCheck(
        rotations=read_only(np.ascontiguousarray(exact.decomposition.to_features(rotated).T)),
        loadings=read_only(np.ascontiguousarray(times_predictors(path, T).T)),
        residual_variances=read_only(variances),
        **entries,
    )


# A fitted estimator, or a Pipeline
# ---------------------------------


@dataclass(frozen=True, kw_only=True)
class _Opened:
    """The models of a fitted estimator, the steps before it, and names."""

    models: Sequence[Any]
    before: Any = None
    names: Sequence[str] | None = None
    response_names: tuple[str, ...] | None = None
    one_response: bool = True
    noise: Noise = None

    def responses(self, count: int, given: str | None) -> tuple[str, ...]:
        """Return the names of the responses."""
        if self.one_response:
            return (given or (self.response_names or ("y",))[0],)
        return self.response_names or numbered(count, "y")


def _preprocessor(before: Any) -> "Preprocessor | None":
    """Return the step before an estimator if it is the only one, and a file can hold it."""
    steps = getattr(before, "steps", [])
    if len(steps) != 1:
        return None
    from plsdof.chemometrics.preprocessing import Preprocessor

    step = steps[0][1]
    return step if isinstance(step, Preprocessor) else None


def _scaling(before: Any, p: int) -> tuple[Array, Array]:
    """Return factor and shift of every column, if all that steps do is x * factor + shift."""
    # These are known by two rows; a third tells other steps.
    probe = np.vstack([np.zeros(p), np.ones(p), np.random.default_rng(0).normal(size=p)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # these rows have no names
        try:
            rows = np.asarray(before.transform(probe), dtype=np.float64)
        except (TypeError, ValueError):
            rows = np.empty((0, 0))  # another number of columns, for one
    if rows.shape == probe.shape:
        shift, factor = rows[0], rows[1] - rows[0]
        off = np.abs(factor * probe[2] + shift - rows[2])
        if np.all(factor > 0) and np.all(off <= 1e-9 * (np.abs(shift) + np.abs(rows[2] - shift))):
            return factor, shift
    raise NotAvailableError(
        "A model file holds coefficients of the columns as they are measured, and the steps "
        "before the estimator do more than shift and scale columns; use one "
        "chemometrics.Preprocessor instead, or keep such a Pipeline with joblib.dump."
    )


def _rescaled(part: PortableResponse, factor: Array, x_mean: Array) -> PortableResponse:
    coef = part.coef * factor
    leverage = None if part.leverage is None else part.leverage * factor
    level = float(part.y_mean - x_mean @ coef)
    return replace(part, coef=read_only(coef), leverage=leverage, intercept=level)


def _opened(model: Any) -> _Opened:
    if isinstance(model, Model):
        before = getattr(model.prepare, "before", None)
        return _Opened(models=[model], before=before, names=model.path.feature_names)
    if isinstance(model, PLS2Model):
        path = model.path
        named = None if path.names == tuple(map(str, range(len(path.names)))) else path.names
        return _Opened(
            models=[model], names=path.units.names, response_names=named, one_response=False
        )
    fitted = getattr(model, "best_estimator_", model)  # of a search
    is_pipeline = hasattr(fitted, "steps") and hasattr(fitted, "named_steps")
    estimator = fitted.steps[-1][1] if is_pipeline else fitted
    if not hasattr(estimator, "path_rows") or not hasattr(estimator, "intercept_"):
        as_model(model)  # says why not
    joint = getattr(estimator, "model_", None) if not hasattr(estimator, "models_") else None
    return _Opened(
        models=estimator.models_ if joint is None else [joint],
        before=fitted[:-1] if is_pipeline and len(fitted.steps) > 1 else None,
        names=getattr(fitted, "feature_names_in_", None),
        response_names=estimator.response_names_,
        one_response=estimator._one_response,
        noise=getattr(estimator, "noise", None),
    )
