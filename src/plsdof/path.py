"""Regression paths: every model size of one method on one data set, at once."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from plsdof import criteria
from plsdof._validation import (
    Array,
    as_choice,
    as_count,
    as_new_rows,
    as_response,
    read_only,
)
from plsdof.criteria import DOF_KINDS, NOISE_KINDS, Fits, Selection
from plsdof.errors import InvalidInputError, NotAvailableError
from plsdof.filters import Filter
from plsdof.spectrum import Decomposition, Spectrum
from plsdof.standardize import Standardized, Units, centre_response

Noise = str | float | None
Integers = npt.NDArray[np.intp]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Path:
    """All models of one regression method, from the simplest to the richest.

    Arrays over models have one row per model. Made by `pls_path`, `pcr_path` and `ridge_path`.

    Attributes
    ----------
    units : Units
        Means, scales and weights that lead back to the original units.
    decomposition : Decomposition
        Singular vectors of the standardised predictors.
    spectrum : Spectrum
        Eigenvalues and rotated response.
    filter : Filter
        Filter factors, Degrees of Freedom and their errors.
    make_filter : callable
        The method: from a spectrum to a filter.
    """

    units: Units
    decomposition: Decomposition
    spectrum: Spectrum
    filter: Filter
    make_filter: Callable[[Spectrum], Filter]

    @classmethod
    def build(
        cls,
        data: Standardized,
        decomposition: Decomposition,
        make_filter: Callable[[Spectrum], Filter],
        **further: Any,
    ) -> Self:
        """Combine standardised data, a decomposition of its predictors and a method."""
        spectrum = decomposition.spectrum(data.y, data.units.n)
        return cls(
            units=data.units,
            decomposition=decomposition,
            spectrum=spectrum,
            filter=make_filter(spectrum),
            make_filter=make_filter,
            **further,
        )

    @property
    def parameters(self) -> Array:
        """What tells the models apart: numbers of components, or alphas. Shape (K,)."""
        return read_only(np.arange(len(self.dof)))

    @property
    def parameter_name(self) -> str:
        """What `parameters` holds: "n_components" or "alpha"."""
        return "n_components"

    @property
    def solver(self) -> str:
        """How X was decomposed: "svd" or "gram"."""
        return self.decomposition.solver

    @property
    def message(self) -> str:
        """Why the path is shorter than asked for; empty if it is not."""
        return self.filter.message

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Column names of X, if it was a data frame."""
        return self.units.names

    @property
    def dof(self) -> Array:
        """Degrees of Freedom, trace of d yhat / d y; exact and never clipped. Shape (K,)."""
        return self.filter.dof

    @property
    def dof_error(self) -> Array:
        """Estimated absolute rounding error of `dof`. Shape (K,)."""
        return self.filter.dof_error

    @property
    def naive_dof(self) -> Array:
        """Number of components + 1 (for ridge the same as `dof`). Shape (K,)."""
        return self.filter.naive_dof

    @cached_property
    def rss(self) -> Array:
        """Residual sums of squares ``|phi * z|^2 + |y_perp|^2``. Shape (K,)."""
        left_over = self.filter.residuals * self.spectrum.z
        return read_only(np.einsum("ki,ki->k", left_over, left_over) + self.spectrum.outside)

    @cached_property
    def coef(self) -> Array:
        """Coefficients in original units, ``V (f z / S) / scale``. Shape (K, p)."""
        rotated = self.filter.factors * self.spectrum.z / self.decomposition.singular_values
        return read_only(self.decomposition.to_features(rotated.T).T / self.units.x_scale)

    @cached_property
    def intercept(self) -> Array:
        """Intercepts ``ybar - xbar' beta``. Shape (K,)."""
        return read_only(self.units.y_mean - self.coef @ self.units.x_mean)

    @cached_property
    def fitted(self) -> Array:
        """Fitted values of the training rows with positive weight. Shape (K, n_rows)."""
        rotated = self.filter.factors * self.spectrum.z
        return read_only(self.units.y_mean + self.to_rows(rotated.T).T)

    @cached_property
    def coef_error(self) -> Array:
        """Estimated relative error of `coef` due to the decomposition, to first order. (K,).

        Only the part that the singular values and z contribute directly.
        """
        spectrum, factors = self.spectrum, self.filter.factors / self.decomposition.singular_values
        relative = spectrum.eigenvalue_error / (2 * spectrum.eigenvalues)
        error = np.linalg.norm(factors * (np.abs(spectrum.z) * relative + spectrum.z_error), axis=1)
        size = np.linalg.norm(factors * spectrum.z, axis=1)
        return read_only(np.divide(error, size, out=np.zeros_like(size), where=size > 0))

    def label(self, index: int) -> str:
        """Return what a row of the path is, in words."""
        return f"{int(self.parameters[index])} component(s)"

    def predict(self, X_new: Any) -> Array:
        """Predict new rows with every model. Shape (K, n_new)."""
        return self.intercept[:, None] + self.coef @ self.check_new_rows(X_new).T

    def check_new_rows(self, X_new: Any) -> Array:
        """Return new rows as the matrix that `coef` multiplies, after checking their columns."""
        return as_new_rows(X_new, len(self.units.x_mean), self.units.names)

    def noise_variance(self, kind: str = "jacobian", *, dof: str = "exact") -> Array:
        """Estimate the noise variance from every model. Shape (K,).

        Parameters
        ----------
        kind : {"jacobian", "dof", "naive"}
            RSS / (sum (1-f)^2 + n - 1 - r), RSS / (n - DoF), or RSS / (n - m - 1); theory in the
            documentation of `criteria`. nan where the denominator is not positive.
        dof : {"exact", "clipped"}
            Degrees of Freedom for kind "dof".
        """
        as_choice(kind, "noise", NOISE_KINDS)
        if kind == "jacobian":
            trace = np.sum(self.filter.residuals**2, axis=1) + self.spectrum.residual_dimension
            return criteria.noise_from_jacobian(self.rss, trace)
        values = self._dof(dof if kind == "dof" else "naive")
        return criteria.noise_from_dof(self.rss, values, self.spectrum.n)

    def noise_at(self, m: int, noise: Noise = None) -> float:
        """Return the noise variance of one model, by kind ("jacobian" by default) or as given."""
        if noise is None or isinstance(noise, str):
            return float(self.noise_variance(noise or "jacobian")[self.index(m)])
        return _as_variance(noise)

    def criterion(self, name: str, dof: str = "exact", noise: Noise = None) -> Array:
        """Evaluate an information criterion for every model. Shape (K,).

        Parameters
        ----------
        name : {"bic", "aic", "gmdl", "aicc", "cp", "gcv"}
        dof : {"exact", "naive", "clipped"}
            "clipped" limits the exact value to min(n - 1, p + 1), as the R package does.
        noise : {"jacobian", "dof", "naive"} or float, optional
            Noise variance for aic, bic and cp. None means "jacobian" with exact and "naive" with
            naive Degrees of Freedom, evaluated at each model; for cp, which needs one value for
            all models, the variance left by least squares. A float is used as given.
        """
        as_choice(dof, "dof", DOF_KINDS)
        as_choice(name, "criterion", tuple(criteria.CRITERIA))
        values = self._noise_for(name, dof, noise)
        fits = Fits(
            rss=self.rss,
            dof=self._dof(dof),
            noise=values,
            n=self.spectrum.n,
            total=self.spectrum.total,
        )
        return criteria.score(name, fits)

    def select(
        self,
        criterion: str = "bic",
        dof: str = "exact",
        noise: Noise = None,
        rule: str = "first-minimum",
    ) -> Selection:
        """Choose a model by an information criterion.

        The default rule takes the first local minimum, going from the simplest model to richer
        ones; the global minimum is misled by models that nearly interpolate the data. Models
        with fewer Degrees of Freedom than the intercept alone (a genuine value of an unbiased
        estimate, but no basis for a penalty) and undefined scores are never chosen.
        """
        scores = self.criterion(criterion, dof, noise)
        order = self.simplest_first()
        implausible = self._dof(dof) < 1.0 - 1e-9
        eligible = np.where(implausible, np.nan, scores)
        index = int(order[criteria.choose(eligible[order], rule)])
        return Selection(
            index=index,
            parameter=float(self.parameters[index]),
            parameter_name=self.parameter_name,
            scores=read_only(scores),
            criterion=criterion,
            rule=rule,
            dof=dof,
            noise=_noise_label(dof, noise),
            message=self._explain(index, scores, implausible, f"{rule} of {criterion}"),
        )

    def refit(self, y: Any) -> Self:
        """Fit the same method to another response of the same rows, without decomposing X again.

        Zero-weight rows have no place in ``y``. Cost: O(n r + r M^2) time.
        """
        response = centre_response(as_response(y, self.units.n_rows), self.units.row_scale)
        spectrum = self.decomposition.spectrum(response.values, self.units.n)
        return replace(
            self,
            units=replace(self.units, y_mean=response.mean),
            spectrum=spectrum,
            filter=self.make_filter(spectrum),
        )

    def jacobian(self, m: int) -> Array:
        """Return d yhat_m / d y = 11'/n + U (diag(f) + 2TT' diag(1-f)) U'. Shape (n, n).

        With sample weights w the first term is 1w'/sum(w).
        """
        U = self._rows_of_basis()
        inner = self.to_rows(self.filter.jacobian(self.index(m)))
        weight = self.units.row_scale
        if weight is None:
            return 1.0 / self.spectrum.n + inner @ U.T
        return weight**2 / self.spectrum.n + inner @ (U * weight[:, None] ** 2).T

    def leverage(self, m: int) -> Array:
        """Return the diagonal of `jacobian`, without forming it. Shape (n_rows,)."""
        U = self._rows_of_basis()
        inner = self.to_rows(self.filter.jacobian(self.index(m)))
        diagonal: Array = 1.0 / self.spectrum.n + np.einsum("ij,ij->i", inner, U)
        weight = self.units.row_scale
        return diagonal if weight is None else weight**2 * diagonal

    def coef_jacobian(self, m: int) -> Array:
        """Return d beta_m / d y in original units. Shape (p, n)."""
        weight = 1.0 if self.units.row_scale is None else self.units.row_scale[:, None] ** 2
        return self.coef_factor(m) @ (weight * self._rows_of_basis()).T

    def coef_factor(self, m: int) -> Array:
        """Return A (p, r) with cov(beta_m) = sigma^2 A A', in original units."""
        inner = self.filter.jacobian(self.index(m))
        rotated = inner / self.decomposition.singular_values[:, None]
        return self.decomposition.to_features(rotated) / self.units.x_scale[:, None]

    def coef_covariance(self, m: int, *, noise: Noise = None) -> Array:
        """Estimate the covariance of the coefficients, sigma^2 (d beta/dy)(d beta/dy)'. (p, p)."""
        A = self.coef_factor(m)
        return self.noise_at(m, noise) * (A @ A.T)

    def coef_std_error(self, m: int, *, noise: Noise = None) -> Array:
        """Standard errors of the coefficients, without a p x p matrix. Shape (p,)."""
        A = self.coef_factor(m)
        squares: Array = np.einsum("ij,ij->i", A, A)
        return np.sqrt(self.noise_at(m, noise) * squares)

    def to_rows(self, rotated: Array) -> Array:
        """Go from rotated coordinates (r, k) to training rows (n_rows, k), weights removed."""
        rows = self.decomposition.to_samples(rotated)
        return rows if self.units.row_scale is None else rows / self.units.row_scale[:, None]

    def simplest_first(self) -> Integers:
        """Return the rows of the path from the simplest model to the richest."""
        return np.arange(len(self.dof))

    def index(self, m: int) -> int:
        """Check a row of the path and return it."""
        index = as_count(m, "m")
        if index >= len(self.dof):
            raise InvalidInputError(
                f"m must be in 0..{len(self.dof) - 1}; got {m}. {self.message}".rstrip()
            )
        return index

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({len(self.dof)} models, n={self.spectrum.n:g}, "
            f"p={len(self.units.x_mean)}, rank={self.spectrum.rank}, solver={self.solver!r})"
        )

    def _explain(
        self, index: int, scores: Array, implausible: npt.NDArray[np.bool_], how: str
    ) -> str:
        text = f"{how} at {self.label(index)} ({self.dof[index]:.2f} Degrees of Freedom)."
        undefined = int(np.isnan(scores).sum())
        if undefined:
            text += f" Not defined for {undefined} model(s) with too many Degrees of Freedom."
        if implausible.any():
            text += (
                f" {int(implausible.sum())} model(s) with less than 1 Degree of Freedom skipped."
            )
        return text

    def _rows_of_basis(self) -> Array:
        return self.to_rows(np.eye(self.spectrum.rank))

    def _dof(self, kind: str) -> Array:
        if kind == "naive":
            return self.naive_dof
        if kind == "exact":
            return self.dof
        limit = min(self.spectrum.n - 1.0, len(self.units.x_mean) + 1.0)
        return np.minimum(self.dof, limit)

    def _noise_for(self, name: str, dof: str, noise: Noise) -> Array:
        if name == "cp" and noise is None:
            return np.full(len(self.rss), self._least_squares_noise())
        if noise is None:
            noise = "naive" if dof == "naive" else "jacobian"
        if isinstance(noise, str):
            values = self.noise_variance(noise, dof="clipped" if dof == "clipped" else "exact")
            return np.full_like(values, values[-1]) if name == "cp" else values
        return np.full(len(self.rss), _as_variance(noise))

    def _least_squares_noise(self) -> float:
        spare = self.spectrum.residual_dimension
        if spare <= 0:
            raise NotAvailableError(
                "cp needs a noise variance that does not depend on the model; with as many "
                "directions in X as observations least squares leaves none. Give noise=<variance>."
            )
        return self.spectrum.outside / spare


def _as_variance(noise: Any) -> float:
    if isinstance(noise, bool) or not isinstance(noise, int | float | np.number):
        raise InvalidInputError(
            f"noise must be one of {', '.join(map(repr, NOISE_KINDS))}, a variance > 0, or None; "
            f"got {noise!r}."
        )
    if not (np.isfinite(noise) and noise > 0):
        raise InvalidInputError(f"noise must be a finite variance > 0; got {noise!r}.")
    return float(noise)


def _noise_label(dof: str, noise: Noise) -> str:
    if noise is None:
        return "naive" if dof == "naive" else "jacobian"
    return noise if isinstance(noise, str) else f"{float(noise):g}"
