r"""A fitted model as a JSON file: all that predictions and their intervals need, and no code.

The file is one JSON object (UTF-8; numbers are decimals that read back to the same 64-bit float):

=================  ============================================================================
format, version    "plsdof-model", and 3; versions 1 and 2 are read, what is newer is refused
package, created   what wrote the file, and when (UTC, ISO 8601)
source             where the training data came from (file, rows, dropped, id)
names              names of the p predictors in order; x0, x1, ... if they had none
method             "pls", "pcr", "ridge", "pls2", ...
parameter_name     "n_components" or "alpha"
n                  number of observations
one_response       whether predictions have one dimension, as y had
x_mean, x_scale    p means and p scales; a scale is null where the column does not vary
kernel             null, or an object: name, degree and coef0 of a kernel, a matrix of training
                   rows (k, p), standardised, and mean (k), their mean kernel values
preprocessing      null, or an object: steps, a text such as "msc,savgol:15:2:1", and learned, for
                   every step an object of lists of p numbers
responses          a list of objects, one for each response:
response             its name
coef, intercept      p coefficients (k of a kernel) and the intercept, in original units
y_mean               mean of the response
parameter, dof       number of components or alpha; Degrees of Freedom, or null if not counted
choice               how the model was chosen (criterion, rule, label, message)
gamma                inverse width of a kernel, or null
scores               absolute errors of rows left out, where intervals come from
weights, groups      null, or weights of these rows; null, or the number of groups of rows that
                     were left out together
active               number of models with weight
noise_variance       sigma^2, or null if the data leave nothing to estimate it from
df                   degrees of freedom of the t distribution (Satterthwaite's nu), or null
factor               null, or a matrix G (k, p), rows (k), columns (p) and values, row after row, as
                     base64 of little-endian 64-bit floats
check                null, or an object: matrices rotations R and loadings L (m, p), a list
                     residual_variances, lists t2, q and weights of rows left out, and units, the
                     number of these rows, or of groups of them
sha256             checksum of everything else: of the object without this entry, keys sorted,
                   no white space, non-ASCII characters as \uXXXX
=================  ============================================================================

Preprocessing comes first: x is a row after it. With u = (x - x_mean) / x_scale, 0 where the scale
is null, the prediction for a new row x is

    y_mean + coef'(x - x_mean) = intercept + coef'x,     or     y_mean + coef'(k(u) - mean)

with the kernel values k(u) of u and the training rows. An interval for a new observation reaches as
far to both sides as `plsdof.Model.half_width` says: the ceil(level (n + 1))-th smallest of the
scores where there is one. Those of method "normal" have the variance sigma^2 (1/n + |G u|^2) of the
mean, sigma^2 (1 + 1/n + |G u|^2) of an observation, and t with ``df`` degrees of freedom.
G'G = D A A' D, where A is the factor d beta / d y and D the scales; rows of G that are zero up to
rounding are left out, so that it is never larger than the training data.

How far a row is from those of the training is (n - 1) |R u|^2, Hotelling's T^2, and
|u - L'R u|^2, its Q residual; where all scales are 1 or null, null counts as 1 in them.

*Versions 1 and 2* have one response, its entries among the others, and intervals of 0.2: "normal";
"conformal", the prediction plus and minus s sqrt(1 + 1/n + |G u|^2), s the ceil(level (n + 1))-th
of the list ``conformal``; or "jackknife+", from a quantile of m_i(x) - |r_i| to one of
m_i(x) + |r_i|, where the fit m_i without row i predicts level + coef'(x - x_mean), and r_i is the
residual it leaves there (``left_out``). ``interval_method`` says which.

Size: about 100 p bytes for each response, 10.7 (k + 2 m) p for its matrices, if they are kept.
"""

import base64
import binascii
import hashlib
import json
import math
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import numpy as np
import numpy.typing as npt

from plsdof._core.choice import LEFT_OUT
from plsdof._core.criteria import Noise
from plsdof._core.display import one_line, plural
from plsdof._core.inputs import (
    Array,
    as_choice,
    as_level,
    as_matrix,
    as_new_rows,
    as_weights,
    read_only,
    row_labels,
)
from plsdof._core.left_out import half_width
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
    LeftOutRows,
    has_left_out_limits,
    jackson_mudholkar,
    left_out_rows,
    limit_from_moments,
    residual_factor,
    residual_variances,
    row_units,
    t2_limit,
)
from plsdof.errors import InvalidInputError, NotAvailableError
from plsdof.files.writing import atomic_write
from plsdof.inference import satterthwaite
from plsdof.inference.intervals import (
    INTERVAL_METHODS,
    Interval,
    critical_value,
    left_out_words,
    name_predictions,
    name_rows,
    normal_words,
)
from plsdof.variants.kernel import GivenKernel, Kernel
from plsdof.variants.pls2 import PLS2Model

if TYPE_CHECKING:  # needs scikit-learn, which takes a second to import
    from pandas import DataFrame

    from plsdof.chemometrics.preprocessing import Preprocessor

_EPS = float(np.finfo(np.float64).eps)
# Intervals that files of 0.2 may name.
_OF_0_2 = ("conformal", "jackknife+")

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
            rows = LeftOutRows(t2=self.t2, q=self.q, weights=self.weights, units=int(self.units))
            return rows.limit(name, level)
        if len(moments) == 2:
            return limit_from_moments(moments[0], moments[1], level)
        if name == "t2":
            return t2_limit(n, len(self.rotations), level, training=False)
        if self.residual_variances.any():
            return jackson_mudholkar(self.residual_variances, level)
        text = "The components reproduce the training rows: Q has no limit."
        return Limit(value=np.nan, method="jackson-mudholkar", message=text)


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
    dof: Maybe
    choice: Annotated[Mapping[str, str], "mapping"]
    gamma: Maybe = math.nan
    scores: Sizes = field(default_factory=_none)
    weights: Sizes = field(default_factory=_none)
    groups: Maybe = math.nan
    active: Number = 1.0
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
            active=int(self.active),
        )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PortableModel:
    """A fitted model without its data: it predicts, and can be kept in a file.

    Made by `detach` and `load_model`. It has the methods of the estimators that answer questions
    about new rows, with the same results.

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
    >>> model = detach(PLSRegressor(2).fit(X, y))
    >>> model, round(model.score(X, y), 2), model.predict_interval(X[:1]).round(1)
    (PortableModel(pls, n_components=2, response='y', p=12), 0.69, array([[ 0.9, 19.5]]))
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
        if self._names is None:
            raise AttributeError("The model was fitted to predictors without names.")
        return np.array(self.names, dtype=object)

    @property
    def response_names_(self) -> tuple[str, ...]:
        """Names of the responses."""
        return tuple(one.response for one in self.parts)

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
        said = [one.in_words or self._parameter_in_words(one.parameter) for one in self.parts]
        return ", ".join(dict.fromkeys(said))

    def predict(self, X: Any) -> Array:
        """Predict new rows. Shape (n_new,), or (n_new, q) if y had columns."""
        centers = self._centers(self._deviation(X))
        return centers[:, 0] if self.one_response else centers

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the coefficient of determination R^2; of several responses their mean."""
        rows = len(y)
        observed = np.asarray(as_matrix(np.reshape(np.asarray(y), (rows, -1)), "y"))
        predicted = np.reshape(self.predict(X), (rows, -1))
        weights = as_weights(sample_weight, rows)
        mean = np.average(observed, axis=0, weights=weights)
        left, total = (
            np.average((observed - one) ** 2, axis=0, weights=weights) for one in (predicted, mean)
        )
        # As in scikit-learn: a response that does not vary scores 1 if it is met, else 0.
        ratio = np.divide(left, total, out=(left > 0).astype(np.float64), where=total > 0)
        return float(np.mean(1.0 - ratio))

    def predict_interval(
        self,
        X: Any,
        level: float = 0.95,
        *,
        method: str | None = None,
        kind: str = "observation",
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
            named = name_rows(limits[:, 0], row_labels(X))
        else:
            named = name_predictions(limits, self.response_names_, row_labels(X))
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
        as_choice(kind, "kind", ("observation", "mean"))
        level = as_level(level)
        known = part.interval_methods
        if kind == "mean":
            if method not in (None, "normal"):
                raise InvalidInputError(f"kind='mean' needs method='normal'; got {method!r:.60}.")
            method = "normal"
        if method is None:
            method = known[0] if known else "normal"
        as_choice(method, "method", (*INTERVAL_METHODS, *_OF_0_2))
        if method not in known:
            raise NotAvailableError(_not_kept(method, part, self.n))
        deviation = self._deviation(X)
        center = self._center(part, deviation)
        std_error, critical = np.full(len(center), np.nan), math.nan
        words = f"Errors of rows left out, as the model was kept ({method})."
        if method == LEFT_OUT:
            words = left_out_words(_Kept(part, self.in_words))
            half = np.full(len(center), part.half_width(level))
        elif method == "jackknife+":
            assert part.left_out is not None
            limits = part.left_out.limits(deviation, level)
            center, half = limits.mean(axis=1), np.ptp(limits, axis=1) / 2
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
            center=read_only(self._center(part, deviation)),
            std_error=read_only(std_error),
            lower=read_only(center - half),
            upper=read_only(center + half),
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
        save_model(self, file)

    def __repr__(self) -> str:
        if len(self.parts) != 1:
            return one_line(
                self, self.method, plural(len(self.parts), "response"), p=len(self.names)
            )
        return (
            f"PortableModel({self.method}, {self.parameter_name}={self.parameter:g}, "
            f"response={self.response[:60]!r}, p={len(self.names)})"
        )

    @property
    def _names(self) -> tuple[str, ...] | None:
        return None if self.names == _numbered(len(self.names)) else self.names

    def _deviation(self, X: Any) -> Array:
        """Return new rows, checked and preprocessed, minus the means of the training rows."""
        rows = as_new_rows(X, len(self.names), self._names)
        if self.preprocessing is not None:
            rows = np.asarray(self.preprocessing.transform(rows))
        return rows - self.x_mean

    def _center(self, part: PortableResponse, deviation: Array) -> Array:
        if self.kernel is not None:
            deviation = self.kernel.values(deviation / self.x_scale, part.gamma)
        return np.asarray(part.y_mean + deviation @ part.coef)

    def _centers(self, deviation: Array) -> Array:
        return np.column_stack([self._center(one, deviation) for one in self.parts])

    def _one_or_array(self, values: Sequence[Any]) -> Any:
        return values[0] if self.one_response else np.array(values)

    def _parameter_in_words(self, parameter: float) -> str:
        if self.parameter_name == "n_components":
            return plural(int(parameter), "component")
        return f"{self.parameter_name} = {parameter:g}"

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


@dataclass(frozen=True)
class _Kept:
    """A kept response as `left_out_words` wants a model."""

    left_out: PortableResponse
    label: str

    @property
    def _was_chosen(self) -> bool:
        return self.left_out.choice.get("rule") in ("best-model", "average")


def _not_kept(method: str, part: PortableResponse, n: float) -> str:
    if method == "normal" and part.factor is not None:
        return (
            f"The model has {part.dof:.1f} Degrees of Freedom for {n:g} observations, which leaves "
            "nothing to estimate the noise from; there are no intervals of method 'normal'."
        )
    known = ", ".join(map(repr, part.interval_methods)) or "none"
    return (
        f"Intervals of method {method!r} are not available: the model was kept without what they "
        f"need. It has: {known}. Fit and keep it again."
    )


def _numbered(p: int) -> tuple[str, ...]:
    return tuple(f"x{i}" for i in range(p))


# From a fitted model to a portable one
# -------------------------------------


def detach(
    model: Model | PLS2Model | Fitted,
    *,
    names: Sequence[str] | None = None,
    response: str | None = None,
    source: Mapping[str, Any] | None = None,
    noise: Noise = None,
    intervals: bool | str = True,
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
        Noise variance of intervals "normal", as `Model.noise_variance`.
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
    >>> model = detach(path[2], names=ozone.feature_names, response="ozone")
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
    preprocessing = preprocessing or opened.preprocessor()
    scaling = opened.scaling(preprocessing is not None)
    given = names or opened.names or _numbered(len(scaling.factor))
    responses = opened.responses(response)
    default = intervals if isinstance(intervals, str) else ""
    if isinstance(first, PLS2Model):
        parts = [_of_pls2(first, j, one, default) for j, one in enumerate(responses)]
        units, n, parameter_name = first.path.units, first.path.units.n, "n_components"
        x_mean, x_scale, kernel = units.x_mean, units.x_scale, None
    else:
        parts = [
            _of_model(one, name, default, bool(intervals), noise)
            for one, name in zip(opened.models, responses, strict=True)
        ]
        x_mean, x_scale, n = _units(first, bool(intervals))
        kernel, parameter_name = _kernel(first), first.path.parameter_name
    if kernel is None:
        # Coefficients of the columns as they are measured.
        parts = [_rescaled(one, scaling, x_mean) for one in parts]
    return PortableModel(
        names=tuple(map(str, given)),
        x_mean=read_only((x_mean - scaling.shift) / scaling.factor),
        x_scale=read_only(x_scale / scaling.factor),
        n=float(n),
        method=first.path.recipe.method.name,
        parameter_name=parameter_name,
        source=dict(source or {}),
        package=f"plsdof {__version__}",
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        one_response=opened.one_response,
        kernel=kernel,
        preprocessing=preprocessing,
        parts=tuple(parts),
    )


def _of_model(
    model: Model, response: str, default: str, intervals: bool, noise: Noise
) -> PortableResponse:
    """Keep one response."""
    path, has_rows = model.path, model.path._given is not None
    left = model.left_out if has_rows else None
    weights = None if left is None else left.sample_weight
    counted = intervals or path.is_counted
    usable = intervals and not path._is_dual and math.isfinite(model.dof)
    inputs = getattr(path, "inputs", None)
    coef = np.array(model.coef)
    if isinstance(inputs, GivenKernel):  # one coefficient for each row that was given
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
        scores=_none() if left is None else read_only(np.sort(model.scores)),
        **_left_out_entries(model.scores if weights is not None else None, weights),
        groups=_maybe(None if left is None else left.groups),
        active=1.0 if model.weights is None else float(np.count_nonzero(model.weights)),
        noise_variance=float(model.noise_variance(noise)) if counted else math.nan,
        df=satterthwaite(model) if usable else math.nan,
        factor=_factor(model) if usable else None,
        check=_row_check(model) if intervals else None,
        interval_method=default,
    )


def _of_pls2(model: PLS2Model, j: int, response: str, default: str) -> PortableResponse:
    path, weights = model.path, model.path._given.weights
    counted, scores = path.is_counted, model.scores[:, j]
    return PortableResponse(
        response=response,
        coef=read_only(model.coef[:, j].copy()),
        intercept=float(model.intercept[j]),
        y_mean=float(path.y_mean[j]),
        parameter=float(model.n_components),
        dof=float(model.dof_by_response[j]) if counted else math.nan,
        choice=_choice(model),
        scores=read_only(np.sort(scores)),
        **_left_out_entries(None if weights is None else scores, weights),
        groups=_maybe(model.left_out.groups),
        active=float(np.count_nonzero(model.weights)),
        noise_variance=float(model.noise_variance()[j]),
        interval_method=default,
    )


def _left_out_entries(scores: Array | None, weights: Array | None) -> dict[str, Array]:
    """Return weights in the order of the sorted scores."""
    if scores is None or weights is None:
        return {}
    return {"weights": read_only(weights[np.argsort(scores, kind="stable")])}


def _maybe(value: float | None) -> float:
    return math.nan if value is None else float(value)


def _choice(model: Model | PLS2Model) -> dict[str, str]:
    chosen = model.selection
    found = {"rule": "given", "label": model.label, "message": f"{model.label}: as asked for."}
    if chosen is None or chosen.rule == "given":
        return found
    return found | {
        "criterion": chosen.criterion,
        "rule": chosen.rule,
        "message": chosen.message,
    }


def _mean_response(model: Model) -> float:
    given = model.path._given
    if given is None:
        return float(model.exact.units.y_mean)
    return float(np.average(given.y, weights=given.weights))


def _units(model: Model, intervals: bool) -> tuple[Array, Array, float]:
    """Return means and scales of the predictors, and n; without a decomposition if possible."""
    path = model.path
    inputs = getattr(path, "inputs", None)
    if isinstance(inputs, GivenKernel):
        x_mean = np.zeros(len(inputs.gram))
        x_mean[inputs.kept] = _mean_kernel(model)
        return x_mean, np.ones(len(x_mean)), path._require_rows().n
    if inputs is not None:
        return inputs.mean, inputs.scale, path._require_rows().n
    if intervals or path._given is None:
        units = path.exact.units
        return units.x_mean, units.x_scale, units.n
    given = path._given
    mean = np.average(given.X, axis=0, weights=given.weights)
    return mean, np.ones(len(mean)), given.n


def _mean_kernel(model: Model) -> Array:
    values = model.path._training_features()
    return np.asarray(np.average(values, axis=0, weights=model.path._require_rows().weights))


def _kernel(model: Model) -> KernelRows | None:
    inputs = getattr(model.path, "inputs", None)
    if inputs is None or isinstance(inputs, GivenKernel):
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
        mean=read_only(_mean_kernel(model)),
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
    if not isinstance(path, PLSPath) or path._is_dual:
        return None
    exact = path.exact.complete()
    T = exact.filter.scores[:, :m]
    rotated = T / exact.decomposition.singular_values[:, None]
    variances = residual_variances(path, residual_factor(path, m))
    entries: dict[str, Any] = {}
    if has_left_out_limits(path):
        rows = left_out_rows(model)
        entries = {"weights": read_only(rows.weights), "units": float(rows.units)}
        entries |= {"t2": rows.t2} if m > 0 else {}
        entries |= {"q": rows.q} if rows.q is not None and variances.any() else {}
    return RowCheck(
        rotations=read_only(np.ascontiguousarray(exact.decomposition.to_features(rotated).T)),
        loadings=read_only(np.ascontiguousarray(times_predictors(path, T).T)),
        residual_variances=read_only(variances),
        **entries,
    )


# A fitted estimator, or a Pipeline
# ---------------------------------


@dataclass(frozen=True, kw_only=True)
class _Scaling:
    """What happens to each column before a path sees it: x * factor + shift."""

    factor: Array
    shift: Array


def _rescaled(part: PortableResponse, scaling: _Scaling, x_mean: Array) -> PortableResponse:
    from dataclasses import replace

    if np.all(scaling.factor == 1.0) and not scaling.shift.any():
        return part
    coef = part.coef * scaling.factor
    measured = (x_mean - scaling.shift) / scaling.factor
    return replace(part, coef=read_only(coef), intercept=float(part.y_mean - measured @ coef))


@dataclass(frozen=True, kw_only=True)
class _Opened:
    """The models of a fitted estimator, the steps before it, and names."""

    models: Sequence[Any]
    before: Any = None
    names: Sequence[str] | None = None
    response_names: tuple[str, ...] | None = None
    one_response: bool = True

    def responses(self, given: str | None) -> tuple[str, ...]:
        """Return the names of the responses."""
        first = self.models[0]
        if isinstance(first, PLS2Model) and self.response_names is None and not self.one_response:
            return first.path.names
        if len(self.models) == 1 and self.one_response:
            return (given or (self.response_names or ("y",))[0],)
        count = len(self.models)
        return self.response_names or tuple(f"y{i}" for i in range(count))

    def preprocessor(self) -> "Preprocessor | None":
        """Return the step before an estimator if it is the only one, and a file can hold it."""
        steps = getattr(self.before, "steps", [])
        if len(steps) != 1:
            return None
        from plsdof.chemometrics.preprocessing import Preprocessor

        step = steps[0][1]
        return step if isinstance(step, Preprocessor) else None

    def scaling(self, preprocessed: bool) -> _Scaling:
        """Return what the steps before an estimator do, if they only shift and scale columns."""
        path = self.models[0].path
        inputs = getattr(path, "inputs", None)
        p = path._given.X.shape[1] if path._given is not None else path._n_features
        p = len(inputs.gram) if isinstance(inputs, GivenKernel) else p
        if self.before is None or preprocessed:
            return _Scaling(factor=np.ones(p), shift=np.zeros(p))
        # Columns that are shifted and scaled are known by two rows; a third tells other steps.
        probe = np.random.default_rng(0).normal(size=(3, p))
        probe[:2] = [[0.0], [1.0]]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # these rows have no names
            try:
                rows = np.asarray(self.before.transform(probe), dtype=np.float64)
            except (TypeError, ValueError):
                rows = np.empty((0, 0))  # another number of columns, for one
        if rows.shape == probe.shape:
            shift, factor = rows[0], rows[1] - rows[0]
            size = np.abs(shift) + np.abs(factor * probe[2])
            off = np.abs(factor * probe[2] + shift - rows[2])
            if np.all(factor > 0) and np.all(off <= 1e-9 * size):
                return _Scaling(factor=factor, shift=shift)
        raise NotAvailableError(
            "A model file holds coefficients of the columns as they are measured, and the steps "
            "before the estimator do more than shift and scale columns; use one "
            "chemometrics.Preprocessor instead, or keep such a Pipeline with joblib.dump."
        )


def _opened(model: Any) -> _Opened:
    if isinstance(model, Model):
        before = getattr(model._prepare, "before", None)
        return _Opened(models=[model], before=before, names=model.path.feature_names)
    if isinstance(model, PLS2Model):
        return _Opened(models=[model], names=model.path.units.names, one_response=False)
    fitted = getattr(model, "best_estimator_", model)  # of a search
    is_pipeline = hasattr(fitted, "steps") and hasattr(fitted, "named_steps")
    estimator = fitted.steps[-1][1] if is_pipeline else fitted
    if not hasattr(estimator, "path_rows") or not hasattr(estimator, "index_"):
        as_model(model)  # says why not
    joint = getattr(estimator, "model_", None) if not hasattr(estimator, "models_") else None
    return _Opened(
        models=estimator.models_ if joint is None else [joint],
        before=fitted[:-1] if is_pipeline and len(fitted.steps) > 1 else None,
        names=getattr(fitted, "feature_names_in_", None),
        response_names=estimator.response_names_,
        one_response=estimator._one_response,
    )


# The file
# --------

FORMAT = "plsdof-model"
# Version 2 had preprocessing, version 3 has several responses, kernels and rows left out.
VERSION = 3
# Beyond these numbers, squares and quotients leave the range of 64-bit floats.
_LARGEST, _SMALLEST = 1e150, 1e-150


def save_model(model: PortableModel | Model | Fitted, file: str | os.PathLike[str]) -> None:
    """Write a model to a JSON file, complete or not at all.

    Parameters
    ----------
    model : PortableModel, Model, or a fitted estimator
        See `detach` for what else may be given.
    file : path

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from plsdof import load_model, pls_path, save_model
    >>> path = pls_path([[1.0], [2.0], [4.0], [5.0]], [1.0, 2.0, 3.0, 5.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(path[1], Path(folder) / "model.json")
    ...     load_model(Path(folder) / "model.json").predict([[3.0]]).round(2)
    array([2.75])
    """
    content = to_content(model if isinstance(model, PortableModel) else detach(model))
    content["sha256"] = checksum(content)
    lines = (f" {json.dumps(key)}: {json.dumps(content[key], allow_nan=False)}" for key in content)
    with atomic_write(file) as stream:
        stream.write(("{\n" + ",\n".join(lines) + "\n}\n").encode())


def load_model(file: str | os.PathLike[str]) -> PortableModel:
    """Read a model from a JSON file.

    Raises
    ------
    OSError
        The file cannot be read: FileNotFoundError and the like.
    InvalidInputError
        With the reason: this is not a model file, has an unknown version, is truncated, or was
        changed after it was written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from plsdof import load_model, pls_path, save_model
    >>> path = pls_path([[1.0], [2.0], [4.0], [5.0]], [1.0, 2.0, 3.0, 5.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(path[1], Path(folder) / "model.json")
    ...     load_model(Path(folder) / "model.json").predict([[3.0]]).round(2)
    array([2.75])
    """
    source = os.fspath(file)
    raw = Path(source).read_bytes()
    try:
        return from_content(_parsed(raw))
    except InvalidInputError as error:
        raise InvalidInputError(f"{source}: {error}") from error


def checksum(content: dict[str, Any]) -> str:
    """Return the SHA-256 of a model file's content without its entry "sha256".

    Examples
    --------
    >>> checksum({"b": 1.5, "a": "µ"}) == checksum({"a": "µ", "b": 1.5, "sha256": "old"})
    True
    """
    rest = {key: value for key, value in content.items() if key != "sha256"}
    canonical = json.dumps(rest, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()


def to_content(model: PortableModel) -> dict[str, Any]:
    """Return a model as the content of a model file, without checksum."""
    content = {"format": FORMAT, "version": VERSION, **_written(model)}
    content["responses"] = content.pop("parts")
    # What people look for comes first.
    return dict(sorted(content.items(), key=lambda entry: isinstance(entry[1], list | dict)))


def _written(value: Any) -> Any:
    """Return a value as JSON: numbers that are not finite are null, matrices are packed."""
    if is_dataclass(value):
        entries = {one.name: _written(getattr(value, one.name)) for one in fields(value)}
        # Entries of 0.2 are kept for models that came from there.
        return {key: one for key, one in entries.items() if one not in (None, [], "")}
    if isinstance(value, np.ndarray):
        if value.ndim == 2:
            values = base64.b64encode(value.astype("<f8").tobytes()).decode("ascii")
            return {"rows": value.shape[0], "columns": value.shape[1], "values": values}
        return [entry if math.isfinite(entry) else None for entry in value.tolist()]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, tuple):
        return [_written(one) for one in value]
    return value.to_content() if hasattr(value, "to_content") else value


def from_content(content: dict[str, Any]) -> PortableModel:
    """Check the content of a model file and return the model."""
    version = content.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        _refuse("version", f"a whole number up to {VERSION}")
    if version > VERSION:
        raise InvalidInputError(
            f"the model file has version {version}, this package reads up to {VERSION}; upgrade "
            "plsdof."
        )
    if content.get("sha256") != checksum(content):
        raise InvalidInputError(
            "the model file was changed after it was written (its checksum does not match); fit "
            "the model again."
        )
    if version < VERSION:  # one response, its entries among the others
        content = {**content, "responses": [{"interval_method": "normal"} | content]}
    responses = content.get("responses")
    if not isinstance(responses, list) or not responses:
        _refuse("responses", "a list of objects")
    names = content.get("names")
    p = len(names) if isinstance(names, list) else 0
    shared = _record(PortableModel, content, p)
    kernel: KernelRows | None = shared.get("kernel")
    if kernel is not None and len(kernel.mean) != len(kernel.rows):
        _refuse("mean", f"a list of {len(kernel.rows)} numbers")
    size = p if kernel is None else len(kernel.rows)
    parts = tuple(_response(one, p, size) for one in responses)
    if shared.get("one_response", True) and len(parts) != 1:
        _refuse("one_response", "false with several responses")
    return PortableModel(**shared, parts=parts)


def _response(content: Any, p: int, size: int) -> PortableResponse:
    """Check one response with ``size`` coefficients."""
    part = PortableResponse(**_record(PortableResponse, content, p))
    if len(part.coef) != size:
        _refuse("coef", f"a list of {size} numbers")
    if len(part.weights) not in (0, len(part.scores)):
        _refuse("weights", f"a list of {len(part.scores)} numbers")
    if part.interval_method not in ("", *INTERVAL_METHODS, *_OF_0_2):
        _refuse("interval_method", f"one of {', '.join((*INTERVAL_METHODS, *_OF_0_2))}")
    if (check := part.check) is not None:
        if check.rotations.shape != check.loadings.shape:
            _refuse("loadings", f"a matrix with {len(check.rotations)} rows")
        lengths = {len(one) for one in (check.t2, check.q) if len(one)}
        if lengths and lengths != {len(check.weights)}:
            _refuse("weights", "as many as there are rows left out")
    if (left := part.left_out) is not None:
        if len(left.level) != len(left.coef) or len(left.residuals) != len(left.fold_of):
            _refuse("left_out", "lists of matching lengths")
        if not np.isin(left.fold_of, np.arange(len(left.coef))).all():
            _refuse("fold_of", f"whole numbers from 0 to {len(left.coef) - 1}")
    return part


def _parsed(raw: bytes) -> dict[str, Any]:
    try:
        content = json.loads(
            raw.decode("utf-8"), parse_constant=_no_constant, parse_float=_in_range
        )
    except UnicodeDecodeError as error:
        raise InvalidInputError("this is not a model file (not even text).") from error
    except (ValueError, RecursionError) as error:
        started = raw.lstrip().startswith(b"{") and b'"format"' in raw[:200]
        kind = "the model file is truncated or damaged" if started else "this is not a model file"
        told = "" if started else " The model comes first, then the table."
        raise InvalidInputError(f"{kind}: no valid JSON ({error}).{told}") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise InvalidInputError(
            f"this is not a model file: it lacks the entry format = {FORMAT!r}. Make one with "
            "`plsdof fit ... --model FILE`."
        )
    return content


def _no_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a JSON number")


def _in_range(number: str) -> float:
    value = float(number)
    if not math.isfinite(value):
        raise ValueError(f"{number:.40} is out of the range of 64-bit floats")
    return value


# Entries, each checked by its kind
# ---------------------------------


def _record(kind: type, content: Any, p: int, key: str = "responses") -> dict[str, Any]:
    """Return the fields of a record, each checked; absent ones have their defaults."""
    if not isinstance(content, dict):
        _refuse(key, "an object")
    described = [one for one in fields(kind) if hasattr(one.type, "__metadata__")]
    absent = sorted(one.name for one in described if one.name not in content and _needed(one))
    if absent:
        raise InvalidInputError(f"the model file lacks {', '.join(absent)}.")
    return {
        one.name: _checked(content[one.name], one.name, _kind(one), p)
        for one in described
        if content.get(one.name) is not None or (one.name in content and _needed(one))
    }


def _kind(one: Field[Any]) -> str:
    """Return what an entry must be, in a word."""
    return str(getattr(one.type, "__metadata__", ("",))[0])


def _needed(one: Field[Any]) -> bool:
    may_be_absent = _kind(one).startswith("maybe")
    return one.default is MISSING and one.default_factory is MISSING and not may_be_absent


_RECORDS = {"check": RowCheck, "left_out": LeftOutFits, "kernel": KernelRows}


def _checked(value: Any, key: str, kind: str, p: int) -> Any:
    if kind in _RECORDS:
        return _RECORDS[kind](**_record(_RECORDS[kind], value, p, key))
    if kind in ("text", "flag", "mapping"):
        wanted, words = {
            "text": (str, "a text"),
            "flag": (bool, "true or false"),
            "mapping": (dict, "an object"),
        }[kind]
        return value if isinstance(value, wanted) else _refuse(key, words)
    if kind == "names":
        is_list = isinstance(value, list) and value and all(isinstance(one, str) for one in value)
        return tuple(value) if is_list else _refuse(key, "a list of names")
    if kind == "preprocessing":
        return _preprocessing(value, p)
    if kind == "matrix":
        return _matrix(value, key, p)
    if kind.endswith("list") or kind in ("vector", "scale"):
        return _numbers(value, key, kind, p)
    number = _finite(value, key)
    if "positive" in kind and not (number > 0 or (number == 0 and key == "noise_variance")):
        _refuse(key, "positive")
    return number


def _numbers(values: Any, key: str, kind: str, p: int) -> Array:
    fixed = kind in ("vector", "scale")
    if not isinstance(values, list) or (fixed and len(values) != p):
        _refuse(key, f"a list of {p} numbers" if fixed else "a list of numbers")
    # A column that does not vary has the scale null, which becomes infinity.
    missing = np.array([kind == "scale" and one is None for one in values], dtype=bool)
    array = np.array(
        [1.0 if gone else _finite(one, key) for one, gone in zip(values, missing, strict=True)]
    )
    if kind == "scale" and not np.all(array > 0):
        _refuse(key, "positive or null")
    if kind == "positive list" and not np.all(array >= 0):
        _refuse(key, "0 or more")
    return read_only(np.where(missing, np.inf, array) if kind == "scale" else array)


def _finite(value: Any, key: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= _LARGEST:
        _refuse(key, f"finite number(s) up to {_LARGEST:g}")
    if 0 < abs(value) < _SMALLEST:
        _refuse(key, f"0, or number(s) from {_SMALLEST:g} on")
    return float(value)


def _matrix(packed: Any, key: str, p: int) -> Array:
    try:
        shape = (int(packed["rows"]), int(packed["columns"]))
        raw = base64.b64decode(packed["values"], validate=True)
    except (TypeError, KeyError, ValueError, binascii.Error):
        _refuse(key, "rows, columns and base64 values")
    if shape[0] < 0 or shape[1] != p or len(raw) != 8 * shape[0] * p:
        _refuse(key, f"a matrix with {p} columns")
    matrix = np.frombuffer(raw, dtype="<f8").reshape(shape)
    if not np.all(np.abs(matrix) <= _LARGEST):
        _refuse(key, f"finite, up to {_LARGEST:g}")
    return read_only(matrix)


def _preprocessing(content: Any, p: int) -> "Preprocessor":
    if not isinstance(content, dict):
        _refuse("preprocessing", "an object or null")
    from plsdof.chemometrics.preprocessing import Preprocessor

    try:
        return Preprocessor.from_content(content, p)
    except InvalidInputError as error:
        raise InvalidInputError(f"the entry 'preprocessing' of the model file: {error}") from error


def _refuse(key: str, allowed: str) -> NoReturn:
    raise InvalidInputError(f"the entry {key!r} of the model file must be {allowed}.")
