r"""A fitted model as a JSON file: all that predictions and their intervals need, and no code.

A model of PLS also keeps what Hotelling's T^2 and the Q residuals of new rows need.

The file is one JSON object (UTF-8; numbers are decimals that read back to the same 64-bit float):

=================  ============================================================================
format, version    "plsdof-model", and 1, or 2 with preprocessing or intervals that are not
                   "normal"; a reader refuses what it does not know
package, created   what wrote the file, and when (UTC, ISO 8601)
source             where the training data came from (file, rows, dropped, id)
response, names    name of the response; names of the p predictors in order
method             "pls", "pcr" or "ridge"
parameter_name     "n_components" or "alpha"
parameter          its value
choice             how the model was chosen (criterion, rule, dof, message)
n, dof             number of observations; Degrees of Freedom of the model
coef, intercept    p coefficients and the intercept, in original units
x_mean, x_scale    p means and p scales; a scale is null where the column does not vary
y_mean             mean of the response
noise_variance     sigma^2, or null if the data leave nothing to estimate it from
df                 degrees of freedom of the t distribution (Satterthwaite's nu), or null
interval_method    "normal", "conformal" or "jackknife+": how predictions are covered; absent from
                   older files, as the next two are
conformal          null, or a list: studentised leave-one-out residuals, sorted
left_out           null, or an object: a matrix coef (g, p), packed like the factor, of fits without
                   some rows each, with lists level and index (g), residuals and fold_of (n)
factor             rows (k), columns (p) and values: a matrix G, row after row, as base64 of
                   little-endian 64-bit floats
check              null, or an object: matrices rotations R and loadings L (m, p), packed like
                   the factor, a list residual_variances, and t2_moments and q_moments, mean and
                   variance over rows left out, or null; absent from older files
preprocessing      null, or an object: steps, a text such as "msc,savgol:15:2:1", and learned, for
                   every step an object of lists of p numbers; absent from older files
sha256             checksum of everything else: of the object without this entry, keys sorted,
                   no white space, non-ASCII characters as \uXXXX
=================  ============================================================================

Preprocessing comes first: x is a row after it. With u = (x - x_mean) / x_scale, 0 where the scale
is null, the prediction for a new row x is

    y_mean + coef'(x - x_mean) = intercept + coef'x

Its variance is sigma^2 (1/n + |G u|^2), that of a new observation sigma^2 (1 + 1/n + |G u|^2), and
the intervals use t with ``df`` degrees of freedom. G'G = D A A' D, where A is `Path.coef_factor`
and D the scales, so these are the intervals of `plsdof.inference.prediction_interval`. The rows
of G that are zero up to rounding are left out: k = m for PCR, k <= min(n - 1, p) in general, so
that the factor is never larger than the training data. A conformal interval is the prediction
plus and minus s sqrt(1 + 1/n + |G u|^2), s the ceil(level (n + 1))-th of ``conformal``. One of
jackknife+ reaches from a quantile of m_i(x) - |r_i| to one of m_i(x) + |r_i|, where the fit m_i
without row i predicts level + coef'(x - x_mean) and r_i is the residual it leaves there.

How far a row is from those of the training is (n - 1) |R u|^2, Hotelling's T^2, and
|u - L'R u|^2, its Q residual; where all scales are 1 or null, null counts as 1 in them. Their
limits are the quantiles of g chi^2(h) with the moments, or, without them, those of `hotelling_t2`
and, with the residual_variances, `q_residuals` in `plsdof.chemometrics`.

Size: 10.7 (k + 2 m) p bytes for the matrices and about 100 p for the rest; 0.3 MB for 60 rows of
401 wavelengths, 64 MB for 2,000 x 3,000.
"""

import base64
import binascii
import hashlib
import json
import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from plsdof._core.criteria import CRITERIA, RULES, Noise, Selection
from plsdof._core.display import plural
from plsdof._core.filters import PLSFilter
from plsdof._core.inputs import Array, as_choice, as_fraction, as_matrix, read_only, require_type
from plsdof._core.path import Fitted, ModelOfPath, PathLike, PLSPath, as_model
from plsdof._core.path import Path as ModelPath
from plsdof.chemometrics.diagnostics import (
    Diagnostic,
    Limit,
    as_predictor_path,
    diagnose,
    squared_rows,
    times_predictors,
)
from plsdof.chemometrics.rows import (
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
from plsdof.inference.conformal import conformal_critical, conformal_scores, jackknife_plus
from plsdof.inference.intervals import (
    INTERVAL_METHODS,
    Interval,
    conformal_words,
    critical_value,
    jackknife_plus_words,
    normal_words,
)
from plsdof.inference.resampling import LeftOut, leave_out

if TYPE_CHECKING:  # needs scikit-learn, which takes a second to import
    from plsdof.chemometrics.preprocessing import Preprocessor

# One model of a path, detached from its data: what predictions and their intervals need
# --------------------------------------------------------------------------------------

_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
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
    t2_moments, q_moments : tuple of two floats, or None
        Mean and variance of T^2 and Q over rows left out, where the limits come from.
    """

    rotations: Array
    loadings: Array
    residual_variances: Array
    t2_moments: tuple[float, float] | None = None
    q_moments: tuple[float, float] | None = None


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PortableModel:
    """A chosen model that can be kept in a file (`save_model`) and predicts new rows.

    Attributes
    ----------
    response : str
    names : tuple of str
        Predictors in the order of ``coef``.
    coef : (p,) array
        In original units.
    intercept, y_mean : float
    x_mean, x_scale : (p,) arrays
        The scale is infinite where a column does not vary.
    factor : (k, p) array
        G with var(coef'u) = sigma^2 |G u|^2 for a row u in units of ``x_scale``.
    noise_variance, df : float
        sigma^2 and the degrees of freedom of the t distribution; nan where they are not defined,
        and then there are no intervals.
    n, dof, parameter : float
    method, parameter_name : str
        "pls", "pcr" or "ridge"; "n_components" or "alpha".
    choice, source : mapping
        How the model was chosen, and what it was fitted to.
    package, created : str
        Who made it, and when (UTC).
    check : RowCheck or None
        What T^2 and Q of new rows need, if it was kept and the method has scores.
    interval_method : str
        How observations are covered unless asked otherwise: "normal", "conformal", "jackknife+".
    conformal : (n,) array
        Sorted scores of conformal intervals; empty if they were not kept.
    left_out : LeftOut or None
        Fits without single rows, for jackknife+ intervals.
    preprocessing : Preprocessor or None
        Fitted; applied to new rows before anything else. ``coef`` is for preprocessed rows.
    """

    response: str
    names: tuple[str, ...]
    coef: Array
    intercept: float
    y_mean: float
    x_mean: Array
    x_scale: Array
    factor: Array
    noise_variance: float
    df: float
    n: float
    dof: float
    method: str
    parameter_name: str
    parameter: float
    choice: Mapping[str, str] = field(default_factory=dict)
    source: Mapping[str, Any] = field(default_factory=dict)
    package: str = ""
    created: str = ""
    check: RowCheck | None = None
    interval_method: str = "normal"
    conformal: Array = field(default_factory=lambda: read_only(np.zeros(0)))
    left_out: LeftOut | None = None
    preprocessing: "Preprocessor | None" = None

    @property
    def has_intervals(self) -> bool:
        """Whether there is a noise level and a t distribution to build intervals with."""
        return bool(np.isfinite(self.noise_variance) and np.isfinite(self.df))

    def preprocess(self, X_new: Any) -> Array:
        """Return new rows as the model sees them. Shape (n_new, p)."""
        if self.preprocessing is None:
            return as_matrix(X_new, "X_new")
        return np.asarray(self.preprocessing.transform(as_matrix(X_new, "X_new")))

    def predict(self, X_new: Any) -> Array:
        """Predict new rows, y_mean + coef'(x - x_mean). Shape (n_new,)."""
        return self.y_mean + self._deviation(X_new) @ self.coef

    def predict_interval(
        self,
        X_new: Any,
        *,
        level: float = 0.95,
        kind: str = "observation",
        method: str | None = None,
    ) -> Interval:
        """Interval for the mean response, or for a new observation, at each new row.

        The same as `plsdof.inference.prediction_interval`; by default with the method that the
        model was kept with. Cost: O(n_new k p) time.
        """
        as_choice(kind, "kind", ("observation", "mean"))
        level = as_fraction(level, "level")
        how = self.interval_method if method is None else method
        as_choice(how, "method", INTERVAL_METHODS)
        how = "normal" if kind == "mean" else how
        deviation = self._deviation(X_new)
        center = self.y_mean + deviation @ self.coef
        if how == "jackknife+":
            return self._jackknife_plus(center, deviation, level)
        self._require_intervals()
        reach = (deviation / self.x_scale) @ self.factor.T
        spread = 1.0 / self.n + np.vecdot(reach, reach) + float(kind == "observation")
        if how == "conformal":
            if not len(self.conformal):
                self._refuse_method("conformal")
            std_error, critical = np.sqrt(spread), conformal_critical(self.conformal, level)
            words = conformal_words(self.in_words)
        else:
            std_error = np.sqrt(self.noise_variance * spread)
            critical = critical_value(level, self.df)
            words = normal_words(self.in_words, kind)
        return Interval(
            center=read_only(center),
            std_error=read_only(std_error),
            lower=read_only(center - critical * std_error),
            upper=read_only(center + critical * std_error),
            level=level,
            critical=critical,
            assumptions=words,
        )

    @property
    def in_words(self) -> str:
        """What the model is, such as "3 components"."""
        if self.choice.get("rule") == "average":
            return str(self.choice["message"]).partition(" (")[0]
        if self.parameter_name == "n_components":
            return plural(int(self.parameter), "component")
        return f"{self.parameter_name} = {self.parameter:g}"

    def _jackknife_plus(self, center: Array, deviation: Array, level: float) -> Interval:
        if self.left_out is None:
            self._refuse_method("jackknife+")
        limits = jackknife_plus(self.left_out, deviation + self.x_mean, level)
        return Interval(
            center=read_only(center),
            std_error=read_only(np.full(len(center), np.nan)),
            lower=read_only(limits[:, 0]),
            upper=read_only(limits[:, 1]),
            level=level,
            critical=float("nan"),
            assumptions=jackknife_plus_words(self.in_words, choice_inside=True),
        )

    def _refuse_method(self, method: str) -> NoReturn:
        raise NotAvailableError(
            f"Intervals by {method!r} are not available: the model was kept without what they "
            f"need. Fit and keep it again with `plsdof fit ... --intervals {method} --model FILE`."
        )

    def hotelling_t2(self, X_new: Any, *, level: float = 0.95) -> Diagnostic:
        """Return Hotelling's T^2 of new rows with its limit: `plsdof.chemometrics.hotelling_t2`."""
        level, check = as_fraction(level, "level"), self._require_check()
        values = (self.n - 1.0) * squared_rows(self._standardized(X_new) @ check.rotations.T)
        limit = t2_limit(self.n, len(check.rotations), level, training=False)
        if check.t2_moments is not None:
            limit = limit_from_moments(*check.t2_moments, level)
        return diagnose("t2", values, limit, level)

    def q_residuals(self, X_new: Any, *, level: float = 0.95) -> Diagnostic:
        """Return Q residuals of new rows with their limit: `plsdof.chemometrics.q_residuals`."""
        level, check = as_fraction(level, "level"), self._require_check()
        rows = self._standardized(X_new)
        values = squared_rows(rows - (rows @ check.rotations.T) @ check.loadings)
        if check.q_moments is not None:
            limit = limit_from_moments(*check.q_moments, level)
        elif check.residual_variances.any():
            limit = jackson_mudholkar(check.residual_variances, level)
        else:
            text = "The components reproduce the training rows: Q has no limit."
            limit = Limit(value=np.nan, method="jackson-mudholkar", message=text)
        return diagnose("q", values, limit, level)

    def __repr__(self) -> str:
        return (
            f"PortableModel({self.method}, {self.parameter_name}={self.parameter:g}, "
            f"response={self.response[:60]!r}, p={len(self.coef)})"
        )

    def _deviation(self, X_new: Any) -> Array:
        X = as_matrix(X_new, "X_new")
        if X.shape[1] != len(self.coef):
            raise InvalidInputError(
                f"X_new has {X.shape[1]} column(s), but the model needs {len(self.coef)}."
            )
        return self.preprocess(X) - self.x_mean

    def _standardized(self, X_new: Any) -> Array:
        """Return rows in the units of T^2 and Q."""
        return self._deviation(X_new) / row_units(self.x_scale)

    def _require_check(self) -> RowCheck:
        if self.check is None:
            raise NotAvailableError(
                f"T^2 and Q of new rows are not available: this {self.method} model was kept "
                "without what they need. They are there for PLS models that were kept with "
                "intervals; fit and keep it again."
            )
        return self.check

    def _require_intervals(self) -> None:
        if not self.has_intervals:
            raise NotAvailableError(
                f"The model has {self.dof:.1f} Degrees of Freedom for {self.n:g} observations, "
                "which leaves nothing to estimate the noise from; there are no intervals."
            )


def detach(
    path: PathLike,
    selection: Selection | None = None,
    *,
    names: tuple[str, ...] | None = None,
    response: str = "y",
    source: Mapping[str, Any] | None = None,
    noise: Noise = None,
    intervals: bool | str = True,
    left_out: LeftOut | None = None,
    preprocessing: "Preprocessor | None" = None,
) -> PortableModel:
    """Take the chosen model out of a path. Cost: O(p r^2) time, O(p r) memory.

    Parameters
    ----------
    path : Path or fitted estimator
        Or a Pipeline that ends in one, if the step before it is a
        `plsdof.chemometrics.Preprocessor`, or steps only shift and scale columns, as
        StandardScaler does; they become part of the model.
    selection : Selection, optional
        The choice on a path; an estimator has made its own.
    names : tuple of str, optional
        Names of the predictors; by default those of the data frame that was fitted, or x0, x1, ...
    response : str
    source : mapping, optional
        What the path was fitted to, for the record.
    noise : {"jacobian", "dof", "naive"} or float, optional
        Noise variance; "jacobian" by default.
    intervals : bool or {"normal", "conformal", "jackknife+"}
        Whether to keep what intervals, T^2 and Q need: all directions of X, which must fit in
        memory. A word says which intervals the kept model gives by default; "jackknife+" also
        keeps a fit without each row, which takes as much room as the data.
    left_out : LeftOut, optional
        Fits without single rows for "jackknife+", if they are there already; by default the choice
        is made again in each of them by ``selection``'s criterion.
    preprocessing : Preprocessor, optional
        Fitted; what made the rows of the path from those that people have.

    Examples
    --------
    >>> from plsdof import pls_path
    >>> from plsdof.datasets import load_ozone
    >>> ozone = load_ozone()
    >>> path = pls_path(ozone.data, ozone.target)
    >>> choice = path.select("bic", rule="first-minimum")
    >>> model = detach(path, choice, names=tuple(ozone.feature_names), response="ozone")
    >>> model
    PortableModel(pls, n_components=2, response='ozone', p=12)
    >>> bool(np.allclose(model.predict(ozone.data), path.fitted[2], rtol=1e-12, atol=0))
    True
    """
    from plsdof import __version__

    if selection is not None:
        require_type(selection, Selection, "selection", "path.select()")
    if left_out is not None:
        require_type(left_out, LeftOut, "left_out", "leave_out")
    model = as_model(path, None if selection is None else selection.index)
    path, index = model.path, model.index
    selection = model.choice() if selection is None else selection
    names = path.feature_names if names is None else tuple(names)
    if names is None:
        names = tuple(f"x{i}" for i in range(len(path.units.x_mean)))
    if preprocessing is None:
        preprocessing = _preprocessor_before(model)
    scaling = _scaling_before(model, preprocessing is not None)
    method = "normal"
    if isinstance(intervals, str):
        method = as_choice(intervals, "intervals", INTERVAL_METHODS)
    df, variance = satterthwaite(path, index) if intervals else np.nan, path.noise_at(index, noise)
    has_rows = bool(intervals) and path.response is not None and not np.isnan(path.dof[index])
    if method == "jackknife+" and left_out is None:
        left_out = leave_out(path, partial(_choose_again, selection=selection, noise=noise))
    if left_out is not None and left_out.coef is not None:
        # Of the columns as they are measured, as everything in the file.
        left_out = replace(
            left_out,
            coef=read_only(left_out.coef * scaling.factor),
            x_mean=read_only((path.units.x_mean - scaling.shift) / scaling.factor),
        )
    factor = _factor(path, index) if intervals else np.zeros((0, len(path.units.x_mean)))
    check = None
    if intervals and isinstance(path, PLSPath) and isinstance(path.filter, PLSFilter):
        check = _row_check(path, index)
    return PortableModel(
        response=response,
        names=names,
        coef=read_only(path.coef[index] * scaling.factor),
        intercept=float(path.intercept[index] + path.coef[index] @ scaling.shift),
        y_mean=float(path.units.y_mean),
        x_mean=read_only((path.units.x_mean - scaling.shift) / scaling.factor),
        x_scale=read_only(path.units.x_scale / scaling.factor),
        factor=read_only(factor),
        noise_variance=variance,
        df=df if np.isfinite(path.dof[index]) else float("nan"),
        n=float(path.spectrum.n),
        dof=float(path.dof[index]),
        method=type(path).__name__.removesuffix("Path").lower(),
        parameter_name=selection.parameter_name,
        parameter=float(selection.parameter),
        choice={
            "criterion": selection.criterion,
            "rule": selection.rule,
            "dof": selection.dof,
            "message": selection.message,
        },
        source=dict(source or {}),
        package=f"plsdof {__version__}",
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        check=check,
        interval_method=method,
        conformal=conformal_scores(path, index) if has_rows else read_only(np.zeros(0)),
        left_out=left_out if method == "jackknife+" else None,
        preprocessing=preprocessing,
    )


def _choose_again(path: ModelPath, selection: Selection, noise: Noise) -> int:
    if selection.rule == "given" or selection.criterion not in CRITERIA:
        return min(selection.index, len(path.dof) - 1)
    rule = selection.rule if selection.rule in RULES else None
    return path.select(selection.criterion, selection.dof, noise, rule).index


@dataclass(frozen=True, kw_only=True)
class _Scaling:
    """What happens to each column before a path sees it: x * factor + shift."""

    factor: Array
    shift: Array


def _preprocessor_before(model: ModelOfPath) -> "Preprocessor | None":
    """Return the step before an estimator if it is the only one, and one that a file can hold."""
    steps = getattr(model.before, "steps", [])
    if len(steps) != 1:
        return None
    from plsdof.chemometrics.preprocessing import Preprocessor

    step = steps[0][1]
    return step if isinstance(step, Preprocessor) else None


def _scaling_before(model: ModelOfPath, preprocessed: bool) -> _Scaling:
    """Return what the steps before an estimator do, if they only shift and scale columns."""
    p = len(model.path.units.x_mean)
    if model.before is None or preprocessed:
        return _Scaling(factor=np.ones(p), shift=np.zeros(p))
    # Columns that are shifted and scaled are known by two rows; a third tells other steps.
    probe = np.random.default_rng(0).normal(size=(3, p))
    probe[:2] = [[0.0], [1.0]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # these rows have no names
        try:
            rows = np.asarray(model.before.transform(probe), dtype=np.float64)
        except (TypeError, ValueError):
            rows = np.empty((0, 0))  # another number of columns, for one
    if rows.shape == probe.shape:
        shift, factor = rows[0], rows[1] - rows[0]
        size = np.abs(shift) + np.abs(factor * probe[2])
        if np.all(factor > 0) and np.all(
            np.abs(factor * probe[2] + shift - rows[2]) <= 1e-9 * size
        ):
            return _Scaling(factor=factor, shift=shift)
    raise NotAvailableError(
        "A model file holds coefficients of the columns as they are measured, and the steps before "
        "the estimator do more than shift and scale columns; use one chemometrics.Preprocessor "
        "instead, or keep such a Pipeline with joblib.dump."
    )


def _factor(path: ModelPath, index: int) -> Array:
    """Return G (k, p): the columns of D A that are not zero up to rounding, as rows."""
    varies = np.isfinite(path.units.x_scale)
    scaled = path.standardized_coef_factor(index) * varies[:, None]
    size = np.linalg.norm(scaled, axis=0)
    keep = size > _EPS * size.max(initial=0.0)
    return np.ascontiguousarray(scaled[:, keep].T)


def _row_check(path: PLSPath, m: int) -> RowCheck:
    path = as_predictor_path(path, "Q").complete()
    T = path.filter.scores[:, :m]
    rotated = T / path.decomposition.singular_values[:, None]
    left_out = left_out_rows(path, m) if has_left_out_limits(path) else None
    variances = residual_variances(path, residual_factor(path, m))
    return RowCheck(
        rotations=read_only(np.ascontiguousarray(path.decomposition.to_features(rotated).T)),
        loadings=read_only(np.ascontiguousarray(times_predictors(path, T).T)),
        residual_variances=read_only(variances),
        t2_moments=None if left_out is None or m == 0 else left_out.moments("t2"),
        q_moments=None if left_out is None or not variances.any() else left_out.moments("q"),
    )


# A fitted model as a JSON file: all that predictions and their intervals need, and no code
# -----------------------------------------------------------------------------------------

FORMAT = "plsdof-model"
# Version 2 has preprocessing: what does not know it must not predict without it.
VERSION = 2
_TEXTS = ("response", "method", "parameter_name", "package", "created")
# Beyond these numbers, squares and quotients leave the range of 64-bit floats.
_LARGEST, _SMALLEST = 1e150, 1e-150
# What others are divided by.
_DIVISORS = {"x_scale", "n", "df", "t2_moments", "q_moments"}
_NUMBERS = ("intercept", "y_mean", "n", "dof", "parameter")
_MAYBE_NUMBERS = ("noise_variance", "df")
_VECTORS = ("coef", "x_mean")
_MAPPINGS = ("choice", "source")
_LATER = {"check", "interval_method", "conformal", "left_out", "preprocessing"}


def save_model(model: PortableModel | Fitted, file: str | os.PathLike[str]) -> None:
    """Write a model to a JSON file, complete or not at all.

    Parameters
    ----------
    model : PortableModel, or a fitted estimator
        See `detach` for what else may be given.
    file : path

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from plsdof import load_model, pls_path, save_model
    >>> from plsdof.files import detach
    >>> path = pls_path([[1.0], [2.0], [4.0], [5.0]], [1.0, 2.0, 3.0, 5.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "model.json"
    ...     save_model(detach(path, path.select("bic"), names=("x",)), file)
    ...     load_model(file).predict([[3.0]]).round(2)
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
    InvalidInputError
        With the reason: the file cannot be read, is not a model file, has an unknown version, is
        truncated, or was changed after it was written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from plsdof import load_model, pls_path, save_model
    >>> from plsdof.files import detach
    >>> path = pls_path([[1.0], [2.0], [4.0], [5.0]], [1.0, 2.0, 3.0, 5.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "model.json"
    ...     save_model(detach(path, path.select("bic"), names=("x",)), file)
    ...     load_model(file).predict([[3.0]]).round(2)
    array([2.75])
    """
    source = os.fspath(file)
    try:
        return from_content(_parsed(_raw(Path(source))))
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
    chain = model.preprocessing
    version = 1 if chain is None and model.interval_method == "normal" else 2
    content: dict[str, Any] = {"format": FORMAT, "version": version, **vars(model)}
    for key, value in content.items():
        if isinstance(value, float) and not np.isfinite(value):
            content[key] = None
        elif isinstance(value, np.ndarray) and value.ndim == 1:
            content[key] = [entry if np.isfinite(entry) else None for entry in value.tolist()]
    content["names"] = list(model.names)
    content["factor"] = _packed(model.factor)
    content["check"] = None if model.check is None else _packed_check(model.check)
    content["left_out"] = None if model.left_out is None else _packed_left_out(model.left_out)
    content["conformal"] = model.conformal.tolist() if len(model.conformal) else None
    content["preprocessing"] = None if chain is None else chain.to_content()
    # What people look for comes first.
    return dict(sorted(content.items(), key=lambda entry: isinstance(entry[1], list | dict)))


def from_content(content: dict[str, Any]) -> PortableModel:
    """Check the content of a model file and return the model."""
    _require_format(content)
    _require_checksum(content)
    known = {"format", "version", "sha256", *PortableModel.__dataclass_fields__}
    absent = sorted(known - set(content) - _LATER)  # older files have none
    if absent:
        raise InvalidInputError(f"the model file lacks {', '.join(absent)}.")
    names = content["names"]
    if not (isinstance(names, list) and names and all(isinstance(one, str) for one in names)):
        _refuse("names", "a list of names")
    return PortableModel(names=tuple(names), **_fields(content, len(names)))


def _fields(content: dict[str, Any], p: int) -> dict[str, Any]:
    fields: dict[str, Any] = {key: _text(content, key) for key in _TEXTS}
    fields |= {key: _mapping(content, key) for key in _MAPPINGS}
    fields |= {key: _vector(content, key, p) for key in _VECTORS}
    fields |= {key: _number(content, key) for key in _NUMBERS}
    for key in _MAYBE_NUMBERS:
        fields[key] = np.nan if content[key] is None else _number(content, key)
    fields["x_scale"] = _scale(content, p)
    fields["factor"] = _unpacked(content, "factor", p)
    fields["check"] = _check(content.get("check"), p)
    fields["interval_method"] = content.get("interval_method", "normal")
    if fields["interval_method"] not in INTERVAL_METHODS:
        _refuse("interval_method", f"one of {', '.join(INTERVAL_METHODS)}")
    fields["conformal"] = _numbers(content, "conformal")
    fields["left_out"] = _left_out(content.get("left_out"), fields["x_mean"])
    fields["preprocessing"] = _preprocessing(content.get("preprocessing"), p)
    for key in ("n", "noise_variance", "df"):
        if fields[key] < 0 or (key != "noise_variance" and fields[key] == 0):
            _refuse(key, "positive")
    return fields


def _raw(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except (OSError, ValueError) as error:
        reason = "it is a folder" if path.is_dir() else getattr(error, "strerror", None) or error
        raise InvalidInputError(f"the model file could not be read: {reason}.") from error


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
    if not np.isfinite(value):
        raise ValueError(f"{number:.40} is out of the range of 64-bit floats")
    return value


def _require_format(content: dict[str, Any]) -> None:
    version = content.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        _refuse("version", f"a whole number up to {VERSION}")
    if version > VERSION:
        raise InvalidInputError(
            f"the model file has version {version}, this package reads up to {VERSION}; upgrade "
            "plsdof."
        )


def _require_checksum(content: dict[str, Any]) -> None:
    if content.get("sha256") != checksum(content):
        raise InvalidInputError(
            "the model file was changed after it was written (its checksum does not match); fit "
            "the model again."
        )


def _packed(matrix: Array) -> dict[str, Any]:
    values = base64.b64encode(matrix.astype("<f8").tobytes()).decode("ascii")
    return {"rows": matrix.shape[0], "columns": matrix.shape[1], "values": values}


def _unpacked(content: dict[str, Any], key: str, p: int) -> Array:
    try:
        packed = content[key]
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


def _packed_left_out(left_out: LeftOut) -> dict[str, Any]:
    assert left_out.coef is not None
    return {
        "coef": _packed(left_out.coef),
        "level": left_out.level.tolist(),
        "index": left_out.index.tolist(),
        "residuals": left_out.residuals.tolist(),
        "fold_of": left_out.fold_of.tolist(),
    }


def _left_out(content: Any, x_mean: Array) -> LeftOut | None:
    if content is None:
        return None
    if not isinstance(content, dict):
        _refuse("left_out", "an object or null")
    coef = _unpacked(content, "coef", len(x_mean))
    level, index = (_numbers(content, key) for key in ("level", "index"))
    residuals, fold_of = (_numbers(content, key) for key in ("residuals", "fold_of"))
    known = np.isin(fold_of, np.arange(len(coef)))
    if not len(level) == len(index) == len(coef) or len(residuals) != len(fold_of):
        _refuse("left_out", "lists of matching lengths")
    if not known.all():
        _refuse("fold_of", f"whole numbers from 0 to {len(coef) - 1}")
    if not np.all(np.abs(index) < 2**31):
        _refuse("index", "positions of models")
    return LeftOut(
        residuals=residuals,
        fold_of=fold_of.astype(np.intp),
        index=index.astype(np.intp),
        coef=coef,
        level=level,
        x_mean=x_mean,
    )


def _numbers(content: dict[str, Any], key: str) -> Array:
    """Return a list of numbers of any length; empty for null."""
    values = content.get(key)
    size = len(values) if isinstance(values, list) else 0
    return _vector({key: [] if values is None else values}, key, size)


def _moments(content: dict[str, Any], key: str) -> tuple[float, float] | None:
    if content.get(key) is None:
        return None
    mean, variance = _vector(content, key, 2).tolist()
    return mean, variance


def _packed_check(check: RowCheck) -> dict[str, Any]:
    return {
        "rotations": _packed(check.rotations),
        "loadings": _packed(check.loadings),
        "residual_variances": check.residual_variances.tolist(),
        "t2_moments": check.t2_moments,
        "q_moments": check.q_moments,
    }


def _check(content: Any, p: int) -> RowCheck | None:
    if content is None:
        return None
    if not isinstance(content, dict):
        _refuse("check", "an object or null")
    rotations, loadings = (_unpacked(content, key, p) for key in ("rotations", "loadings"))
    if rotations.shape != loadings.shape:
        _refuse("loadings", f"a matrix with {len(rotations)} rows")
    key = "residual_variances"
    size = len(content[key]) if isinstance(content.get(key), list) else 0
    variances = _vector({key: content.get(key)}, key, size)
    if not np.all(variances >= 0):
        _refuse(key, "0 or more")
    return RowCheck(
        rotations=rotations,
        loadings=loadings,
        residual_variances=variances,
        t2_moments=_moments(content, "t2_moments"),
        q_moments=_moments(content, "q_moments"),
    )


def _preprocessing(content: Any, p: int) -> "Preprocessor | None":
    if content is None:
        return None
    if not isinstance(content, dict):
        _refuse("preprocessing", "an object or null")
    from plsdof.chemometrics.preprocessing import Preprocessor

    try:
        return Preprocessor.from_content(content, p)
    except InvalidInputError as error:
        raise InvalidInputError(f"the entry 'preprocessing' of the model file: {error}") from error


def _scale(content: dict[str, Any], p: int) -> Array:
    """Return the scales; null, a column that does not vary, becomes infinity."""
    values = content["x_scale"]
    if not isinstance(values, list):
        _refuse("x_scale", f"a list of {p} numbers or nulls")
    given = [1.0 if entry is None else entry for entry in values]
    scale = _vector({"x_scale": given}, "x_scale", p)
    if not np.all(scale > 0):
        _refuse("x_scale", "positive or null")
    return read_only(np.where([entry is None for entry in values], np.inf, scale))


def _vector(content: dict[str, Any], key: str, p: int) -> Array:
    values = content[key]
    if not isinstance(values, list) or len(values) != p:
        _refuse(key, f"a list of {p} numbers")
    return read_only(np.array([_finite(value, key) for value in values]))


def _number(content: dict[str, Any], key: str) -> float:
    return _finite(content[key], key)


def _finite(value: Any, key: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= _LARGEST:
        _refuse(key, f"finite number(s) up to {_LARGEST:g}")
    if key in _DIVISORS and 0 < abs(value) < _SMALLEST:
        _refuse(key, f"number(s) from {_SMALLEST:g} on")
    return float(value)


def _text(content: dict[str, Any], key: str) -> str:
    if not isinstance(content[key], str):
        _refuse(key, "a text")
    return str(content[key])


def _mapping(content: dict[str, Any], key: str) -> dict[str, Any]:
    if not isinstance(content[key], dict):
        _refuse(key, "an object")
    return dict(content[key])


def _refuse(key: str, allowed: str) -> NoReturn:
    raise InvalidInputError(f"the entry {key!r} of the model file must be {allowed}.")
