r"""The closed form: a spectrum, a filter on it, and the basis that leads back to rows and columns.

Notation: X = U S V' (standardised predictors), z = U'y, filter factors f and scores T of a model.

    yhat = ybar + U (f z),     beta = V (f z / S),     d zhat / dz = diag(f) + 2 TT' diag(1 - f)

An `Exact` holds all models of a method on one data set. A path builds it on first use of what needs
it: Degrees of Freedom, their errors, derivatives, covariances.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse

from plsdof._core.filters import Filter, averaged
from plsdof._core.inputs import Array, as_new_rows, as_sparse_rows, read_only
from plsdof._core.rows import centred_times
from plsdof._core.spectrum import BACKWARD, Decomposition, Spectrum
from plsdof._core.standardize import Standardized, Units, centre_response
from plsdof._core.threads import cached_property

_EPS = float(np.finfo(np.float64).eps)
# Margin of first-order error estimates, as in `recursion`.
_SAFETY = 20.0


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Decomposed:
    """Standardised rows and their response in the basis of the singular vectors of X.

    Attributes
    ----------
    units : Units
        Means and scales.
    decomposition : Decomposition
        Singular vectors of the standardised predictors.
    spectrum : Spectrum
        Eigenvalues and rotated response.
    """

    units: Units
    decomposition: Decomposition
    spectrum: Spectrum

    @property
    def n(self) -> float:
        """Number of rows, or the sum of their weights."""
        return self.spectrum.n

    @property
    def rank(self) -> int:
        """Number of directions of X."""
        return self.spectrum.rank

    @property
    def trace(self) -> float:
        """Sum of squares of the standardised predictors."""
        return self.spectrum.trace

    @property
    def total(self) -> float:
        """Sum of squares of the centred response."""
        return self.spectrum.total

    @property
    def x_mean(self) -> Array:
        """Means of the predictors. Shape (p,)."""
        return self.units.x_mean

    @property
    def x_scale(self) -> Array:
        """What the predictors are divided by; inf where they do not vary. Shape (p,)."""
        return self.units.x_scale

    @property
    def y_mean(self) -> float:
        """Mean of the response."""
        return self.units.y_mean

    @property
    def solver(self) -> str:
        """How X was decomposed."""
        return self.decomposition.solver

    # From and to rows
    # ----------------

    @property
    def row_weight(self) -> Array | float:
        """Weights of the rows, (n_rows,); 1.0 where there are none."""
        return 1.0 if self.units.row_scale is None else self.units.row_scale**2

    def to_rows(self, rotated: Array) -> Array:
        """Go from rotated coordinates (r, k) to training rows (n_rows, k), weights removed."""
        rows = self.decomposition.to_samples(rotated)
        return rows if self.units.row_scale is None else rows / self.units.row_scale[:, None]

    def standardized_times(self, rows: Any, B: Array) -> Array:
        """Return standardised new rows, dense or sparse, times B."""
        return centred_times(rows, self.units.x_mean, (B.T / self.units.x_scale).T)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Exact(Decomposed):
    """All models of one method in closed form. Arrays over models have one row per model.

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
    full : callable or None
        Makes the same in a basis of all directions of X, if ``decomposition`` does not hold them
        all; see `complete`.
    """

    filter: Filter
    make_filter: Callable[[Spectrum], Filter]
    full: Callable[[], "Exact"] | None = None

    @classmethod
    def build(
        cls,
        data: Standardized,
        decomposition: Decomposition,
        make_filter: Callable[[Spectrum], Filter],
    ) -> "Exact":
        """Combine standardised data, a decomposition of its predictors and a method."""
        spectrum = decomposition.spectrum(data.y, data.units.n)
        return cls.assemble(data.units, decomposition, spectrum, make_filter)

    @classmethod
    def assemble(
        cls,
        units: Units,
        decomposition: Decomposition,
        spectrum: Spectrum,
        make_filter: Callable[[Spectrum], Filter],
        full: Callable[[], "Exact"] | None = None,
    ) -> "Exact":
        """Combine the spectrum of a problem and the basis it refers to with a method."""
        return cls(
            units=units,
            decomposition=decomposition,
            spectrum=spectrum,
            filter=make_filter(spectrum),
            make_filter=make_filter,
            full=full,
        )

    def complete(self) -> "Exact":
        """Return the same in a basis of all directions of X, in which Jacobians can be formed.

        Numbers that both have agree within their errors. Cost: one decomposition, the first time.
        """
        return self if self.full is None else self._complete

    @cached_property
    def _complete(self) -> "Exact":
        assert self.full is not None
        return self.full()

    # Coefficients and fits
    # ---------------------

    @property
    def dof(self) -> Array:
        """Trace of d yhat / d y. Shape (K,)."""
        return self.filter.dof

    @property
    def naive_dof(self) -> Array:
        """Number of components + 1. Shape (K,)."""
        return self.filter.naive_dof

    @cached_property
    def rotated_fit(self) -> Array:
        """Fitted values in rotated coordinates, f z. Shape (K, r)."""
        return read_only(self.filter.factors * self.spectrum.z)

    def slope(self, m: int) -> float:
        """Return the slope of fitted values on responses, z'(f z) / |y|^2."""
        return float(self.rotated_fit[m] @ self.spectrum.z) / self.spectrum.total

    def scores(self, m: int) -> Array:
        """Return orthonormal scores of m components in rotated coordinates. Shape (r, m)."""
        return self.filter.scores[:, :m]

    def rotations(self, m: int) -> Array:
        """Return what turns standardised rows into these scores. Shape (p, m)."""
        S = self.decomposition.singular_values
        return self.decomposition.to_features(self.scores(m) / S[:, None])

    @cached_property
    def rss(self) -> Array:
        """Residual sums of squares ``|phi * z|^2 + |y_perp|^2``. Shape (K,)."""
        return read_only(
            np.maximum(self.spectrum.rss(self.filter.factors, self.filter.residuals), 0.0)
        )

    @cached_property
    def standardized_coef(self) -> Array:
        """Coefficients of standardised predictors, ``V (f z / S)``. Shape (K, p)."""
        rotated = self.rotated_fit / self.decomposition.singular_values
        return read_only(self.decomposition.to_features(rotated.T).T)

    @cached_property
    def coef(self) -> Array:
        """Coefficients in original units, ``V (f z / S) / scale``. Shape (K, p)."""
        return read_only(self.standardized_coef / self.units.x_scale)

    @cached_property
    def intercept(self) -> Array:
        """Intercepts ``ybar - xbar' beta``. Shape (K,)."""
        return read_only(
            self.units.y_mean - self.standardized_coef @ (self.units.x_mean / self.units.x_scale)
        )

    @cached_property
    def fitted(self) -> Array:
        """Fitted values of the training rows with positive weight. Shape (K, n_rows)."""
        return read_only(self.units.y_mean + self.to_rows(self.rotated_fit.T).T)

    @cached_property
    def coef_error(self) -> Array:
        """Estimated relative error of the coefficients of standardised predictors. Shape (K,).

        What the decomposition may be off by, and what is lost where features are only reached
        through X, by the quotient of the singular values.
        """
        S = self.decomposition.singular_values
        if self.decomposition.right is not None or not len(S):
            return self.filter.coef_error
        rotated = self.rotated_fit / S
        size, lost = row_norms(rotated), BACKWARD * _EPS * row_norms(rotated * (S[0] / S))
        share = np.divide(lost, size, out=np.zeros_like(size), where=size > 0)
        return read_only(self.filter.coef_error + _SAFETY * share)

    # From and to rows
    # ----------------

    def rows_of_basis(self) -> Array:
        """Return U, an orthonormal basis of what X reaches, weights removed. Shape (n_rows, r)."""
        basis = self.complete().decomposition.sample_basis
        return basis if self.units.row_scale is None else basis / self.units.row_scale[:, None]

    def predict(self, rows: Any) -> Array:
        """Predict new rows, dense or sparse, with every model. Shape (K, n_new)."""
        # Not intercept + coef @ X, which loses digits where means are large.
        return self.units.y_mean + self.standardized_times(rows, self.standardized_coef.T).T

    # Derivatives
    # -----------

    def rows_of_jacobian(self, m: int) -> tuple[Array, Array]:
        """Return U and U (d zhat / d z), one row per sample, weights removed."""
        U = self.rows_of_basis()
        return U, self.complete().filter.times_jacobian(U, m)

    def jacobian(self, m: int) -> Array:
        """Return d yhat_m / d y = 11'/n + U (diag(f) + 2TT' diag(1-f)) U'. Shape (n, n).

        With sample weights w the first term is 1w'/sum(w).
        """
        U, inner = self.rows_of_jacobian(m)
        return np.asarray(self.row_weight / self.spectrum.n + inner @ (U.T * self.row_weight))

    def leverage(self, m: int) -> Array:
        """Return the diagonal of `jacobian`, without forming it. Shape (n_rows,)."""
        U, inner = self.rows_of_jacobian(m)
        return np.asarray(
            self.row_weight * (1.0 / self.spectrum.n + np.einsum("ij,ij->i", inner, U))
        )

    def residual_moments(self, m: int) -> tuple[float, float]:
        """Return the traces of B'B and (B'B)^2 with B = I - J, of the rows less their mean."""
        exact = self.complete()
        spare = exact.spectrum.residual_dimension
        if exact.filter.reflects:
            squares = exact.filter.residuals[m] ** 2
            return float(squares.sum()) + spare, float(np.sum(squares**2)) + spare
        eye = np.eye(len(exact.spectrum.eigenvalues))
        B = eye - exact.filter.times_jacobian(eye, m)
        return float(np.sum(B**2)) + spare, float(np.sum((B.T @ B) ** 2)) + spare

    def standardized_coef_factor(self, m: int) -> Array:
        """Return A (p, r) with cov(beta_m) = sigma^2 A A', of standardised predictors."""
        exact = self.complete()
        basis = exact.decomposition.feature_basis / exact.decomposition.singular_values
        return exact.filter.times_jacobian(basis, m)

    def coef_factor(self, m: int) -> Array:
        """Return the same in original units."""
        return self.standardized_coef_factor(m) / self.units.x_scale[:, None]

    def coef_jacobian(self, m: int) -> Array:
        """Return d beta_m / d y in original units. Shape (p, n)."""
        return self.coef_factor(m) @ (self.rows_of_basis().T * self.row_weight)

    # Other responses, averages, names
    # --------------------------------

    def refit(self, y: Array) -> "Exact":
        """Fit another response of the same rows. Cost: O(n r + r M^2) time."""
        exact = self.complete()
        response = centre_response(y, exact.units.row_scale)
        spectrum = exact.decomposition.spectrum(response.values, exact.units.n)
        return replace(
            exact,
            units=replace(self.units, y_mean=response.mean),
            spectrum=spectrum,
            filter=exact.make_filter(spectrum),
        )

    def averaged(self, weights: Array) -> "Exact":
        """Return the average of the models with given weights, as the only model."""
        whole = None if self.full is None else partial(_averaged_whole, self, weights)
        return replace(self, filter=averaged(self.spectrum, self.filter, weights), full=whole)

    def with_names(self, names: tuple[str, ...]) -> "Exact":
        """Return the same with names for the columns of X."""
        whole = None if self.full is None else partial(_named, self.full, names)
        return replace(self, units=replace(self.units, names=names), full=whole)


def _averaged_whole(exact: Exact, weights: Array) -> Exact:
    return exact.complete().averaged(weights)


def _named(full: Callable[[], Exact], names: tuple[str, ...]) -> Exact:
    return full().with_names(names)


def checked_rows(X_new: Any, p: int, names: tuple[str, ...] | None, *, sparse: bool = True) -> Any:
    """Return new rows as the matrix that coefficients multiply; they stay sparse if they may."""
    if sparse and scipy.sparse.issparse(X_new):
        return as_sparse_rows(X_new, p)
    return as_new_rows(X_new, p, names)


def row_norms(rows: Array) -> Array:
    """Return the lengths of rows."""
    return np.asarray(np.sqrt(np.vecdot(rows, rows)))
