"""One model of a path, detached from its data: what predictions and their intervals need.

A model of PLS also keeps what Hotelling's T^2 and the Q residuals of new rows need.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import numpy as np

from plsdof._validation import Array, as_choice, as_fraction, as_matrix, read_only
from plsdof.criteria import Selection
from plsdof.diagnostic import Diagnostic, Limit, diagnose, squared_rows
from plsdof.errors import InvalidInputError, NotAvailableError
from plsdof.inference import INTERVAL_KINDS, critical_value
from plsdof.intervals import Interval
from plsdof.monitoring import (
    jackson_mudholkar,
    residual_factor,
    residual_variances,
    row_units,
    t2_limit,
)
from plsdof.noise import Noise
from plsdof.path import Path
from plsdof.path_types import PLSPath
from plsdof.predictors import as_predictor_path, times_predictors

_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RowCheck:
    """What tells how far new rows are from those of the calibration; see `plsdof.monitoring`.

    Attributes
    ----------
    rotations : (m, p) array
        R with the scores R u of a standardised row u, in units where training scores are
        orthonormal.
    loadings : (m, p) array
        L with the part L'R u of a row that the components reproduce.
    residual_variances : (k,) array
        Eigenvalues of the covariance of what they do not reproduce.
    """

    rotations: Array
    loadings: Array
    residual_variances: Array


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PortableModel:
    """A chosen model that can be kept in a file (`plsdof.model_file`) and predicts new rows.

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
        sigma^2 and n - DoF; nan where they are not defined, and then there are no intervals.
    n, dof, parameter : float
    method, parameter_name : str
        "pls", "pcr" or "ridge"; "n_components" or "alpha".
    choice, source : mapping
        How the model was chosen, and what it was fitted to.
    package, created : str
        Who made it, and when (UTC).
    check : RowCheck or None
        What T^2 and Q of new rows need, if it was kept and the method has scores.
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

    @property
    def has_intervals(self) -> bool:
        """Whether there is a noise level and a t distribution to build intervals with."""
        return bool(np.isfinite(self.noise_variance) and np.isfinite(self.df))

    def predict(self, X_new: Any) -> Array:
        """Predict new rows, y_mean + coef'(x - x_mean). Shape (n_new,)."""
        return self.y_mean + self._deviation(X_new) @ self.coef

    def predict_interval(
        self, X_new: Any, *, level: float = 0.95, kind: str = "observation"
    ) -> Interval:
        """Interval for the mean response, or for a new observation, at each new row.

        The same as `plsdof.inference.prediction_interval`. Cost: O(n_new k p) time.
        """
        as_choice(kind, "kind", INTERVAL_KINDS)
        level = as_fraction(level, "level")
        self._require_intervals()
        deviation = self._deviation(X_new)
        reach = (deviation / self.x_scale) @ self.factor.T
        spread = 1.0 / self.n + np.vecdot(reach, reach) + float(kind == "observation")
        std_error = np.sqrt(self.noise_variance * spread)
        critical = critical_value(level, self.df)
        center = self.y_mean + deviation @ self.coef
        return Interval(
            center=read_only(center),
            std_error=read_only(std_error),
            lower=read_only(center - critical * std_error),
            upper=read_only(center + critical * std_error),
            level=level,
            critical=critical,
        )

    def hotelling_t2(self, X_new: Any, *, level: float = 0.95) -> Diagnostic:
        """Return Hotelling's T^2 of new rows with its limit, as `plsdof.hotelling_t2` does."""
        level, check = as_fraction(level, "level"), self._require_check()
        values = (self.n - 1.0) * squared_rows(self._standardized(X_new) @ check.rotations.T)
        limit = t2_limit(self.n, len(check.rotations), level, training=False)
        return diagnose("t2", values, limit, level)

    def q_residuals(self, X_new: Any, *, level: float = 0.95) -> Diagnostic:
        """Return the Q residuals of new rows with their limit, as `plsdof.q_residuals` does."""
        level, check = as_fraction(level, "level"), self._require_check()
        rows = self._standardized(X_new)
        values = squared_rows(rows - (rows @ check.rotations.T) @ check.loadings)
        if check.residual_variances.any():
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
        return X - self.x_mean

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
    path: Path,
    selection: Selection,
    *,
    names: tuple[str, ...],
    response: str = "y",
    source: Mapping[str, Any] | None = None,
    noise: Noise = None,
    intervals: bool = True,
) -> PortableModel:
    """Take the chosen model out of a path. Cost: O(p r^2) time, O(p r) memory.

    Parameters
    ----------
    path : Path
    selection : Selection
    names : tuple of str
        Names of the predictors.
    response : str
    source : mapping, optional
        What the path was fitted to, for the record.
    noise : {"jacobian", "dof", "naive"} or float, optional
        Noise variance; "jacobian" by default.
    intervals : bool
        Whether to keep what intervals, T^2 and Q need: all directions of X, which must fit in
        memory.

    Examples
    --------
    >>> from plsdof import pls_path
    >>> from plsdof.datasets import load_ozone
    >>> ozone = load_ozone()
    >>> path = pls_path(ozone.data, ozone.target)
    >>> model = detach(path, path.select(), names=tuple(ozone.feature_names), response="ozone")
    >>> model
    PortableModel(pls, n_components=2, response='ozone', p=12)
    >>> bool(np.allclose(model.predict(ozone.data), path.fitted[2], rtol=1e-12, atol=0))
    True
    """
    from plsdof import __version__

    index = selection.index
    df = path.spectrum.n - float(path.dof[index])
    factor = _factor(path, index) if intervals else np.zeros((0, len(path.units.x_mean)))
    check = _row_check(path, index) if intervals and isinstance(path, PLSPath) else None
    return PortableModel(
        response=response,
        names=names,
        coef=read_only(path.coef[index]),
        intercept=float(path.intercept[index]),
        y_mean=float(path.units.y_mean),
        x_mean=path.units.x_mean,
        x_scale=path.units.x_scale,
        factor=read_only(factor),
        noise_variance=path.noise_at(index, noise),
        df=df if df >= 1 and intervals else float("nan"),
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
    )


def _factor(path: Path, index: int) -> Array:
    """Return G (k, p): the columns of D A that are not zero up to rounding, as rows."""
    varies = np.isfinite(path.units.x_scale)
    scale = np.where(varies, path.units.x_scale, 0.0)
    scaled = path.coef_factor(index) * scale[:, None]
    size = np.linalg.norm(scaled, axis=0)
    keep = size > _EPS * size.max(initial=0.0)
    return np.ascontiguousarray(scaled[:, keep].T)


def _row_check(path: PLSPath, m: int) -> RowCheck:
    path = as_predictor_path(path, "Q").complete()
    T = path.filter.scores[:, :m]
    rotated = T / path.decomposition.singular_values[:, None]
    return RowCheck(
        rotations=read_only(np.ascontiguousarray(path.decomposition.to_features(rotated).T)),
        loadings=read_only(np.ascontiguousarray(times_predictors(path, T).T)),
        residual_variances=read_only(residual_variances(path, residual_factor(path, m))),
    )
