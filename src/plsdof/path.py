"""Regression paths: every model size of one method on one data set, at once."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.sparse

from plsdof._validation import (
    Array,
    as_new_rows,
    as_response,
    as_sparse_rows,
    read_only,
)
from plsdof.decomposition import BACKWARD, Decomposition
from plsdof.errors import InvalidInputError
from plsdof.filters import Filter
from plsdof.models import Models
from plsdof.noise import Noise
from plsdof.readable import one_line
from plsdof.spectrum import Spectrum
from plsdof.standardize import Standardized, Units, centre_response

_EPS = float(np.finfo(np.float64).eps)
# First-order estimates of errors are multiplied by this factor.
_SAFETY = 20.0


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Path(Models):
    """All models of one regression method, with coefficients, predictions and derivatives.

    Arrays over models have one row per model. Made by `pls_path`, `pcr_path` and `ridge_path`; the
    attributes are those of `Models`.

    Examples
    --------
    >>> from plsdof import ridge_path
    >>> path = ridge_path([[1.0], [2.0], [4.0]], [1.0, 2.0, 3.0], alphas=[2.0, 1e-9])
    >>> isinstance(path, Path), path.coef.round(2)
    (True, array([[0.32],
           [0.64]]))
    """

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
        return cls.assemble(data.units, decomposition, spectrum, make_filter, **further)

    @classmethod
    def assemble(
        cls,
        units: Units,
        decomposition: Decomposition,
        spectrum: Spectrum,
        make_filter: Callable[[Spectrum], Filter],
        **further: Any,
    ) -> Self:
        """Combine the spectrum of a problem and the basis it refers to with a method."""
        return cls(
            units=units,
            decomposition=decomposition,
            spectrum=spectrum,
            filter=make_filter(spectrum),
            make_filter=make_filter,
            **further,
        )

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

        What singular values and z contribute directly; what is lost where features are only
        reached through X, by the quotient of the singular values; and what eigenvalues below the
        resolution of a Gram matrix could contribute.
        """
        spectrum, S = self.spectrum, self.decomposition.singular_values
        if not len(S):
            return read_only(np.zeros(len(self.dof)))
        rotated = self.filter.factors / S
        relative = spectrum.eigenvalue_error / (2 * spectrum.eigenvalues)
        error = _norms(rotated * (np.abs(spectrum.z) * relative + spectrum.z_error))
        if self.decomposition.right is None:
            error += BACKWARD * _EPS * S[0] * _norms(rotated * spectrum.z / S)
        if spectrum.unresolved:
            slope = np.abs(self.filter.factors[:, -1]) / spectrum.eigenvalues[-1]
            error += slope * np.sqrt(spectrum.floor * spectrum.outside)
        size = _norms(rotated * spectrum.z)
        share = np.divide(error, size, out=np.zeros_like(size), where=size > 0)
        return read_only(_SAFETY * share)

    def predict(self, X_new: Any) -> Array:
        """Predict new rows, dense or sparse, with every model. Shape (K, n_new)."""
        # Not intercept + coef @ X, which loses digits where means are large.
        return self.units.y_mean + self.centred_times(X_new, self.coef.T).T

    def centred_times(self, X_new: Any, B: Array) -> Array:
        """Return (X_new - 1 mean') B for new rows, dense or sparse."""
        rows = self.check_new_rows(X_new, sparse=True)
        is_sparse: bool = scipy.sparse.issparse(rows)
        if is_sparse:
            return np.asarray(rows @ B - self.units.x_mean @ B)
        return np.asarray((rows - self.units.x_mean) @ B)

    def check_new_rows(self, X_new: Any, *, sparse: bool = False) -> Any:
        """Return new rows as the matrix that `coef` multiplies, after checking their columns.

        They stay ``sparse`` if they may.
        """
        if sparse and scipy.sparse.issparse(X_new):
            return as_sparse_rows(X_new, len(self.units.x_mean))
        return as_new_rows(X_new, len(self.units.x_mean), self.units.names)

    def refit(self, y: Any) -> Self:
        """Fit the same method to another response of the same rows, without decomposing X again.

        Zero-weight rows have no place in ``y``. Cost: O(n r + r M^2) time.
        """
        path = self.complete()
        response = centre_response(as_response(y, path.units.n_rows), path.units.row_scale)
        spectrum = path.decomposition.spectrum(response.values, path.units.n)
        return replace(
            path,
            units=replace(self.units, y_mean=response.mean),
            spectrum=spectrum,
            filter=path.make_filter(spectrum),
        )

    def jacobian(self, m: int) -> Array:
        """Return d yhat_m / d y = 11'/n + U (diag(f) + 2TT' diag(1-f)) U'. Shape (n, n).

        With sample weights w the first term is 1w'/sum(w).
        """
        U, inner = self._rows_of_jacobian(m)
        weight = self.units.row_scale
        if weight is None:
            return 1.0 / self.spectrum.n + inner @ U.T
        return weight**2 / self.spectrum.n + inner @ (U * weight[:, None] ** 2).T

    def leverage(self, m: int) -> Array:
        """Return the diagonal of `jacobian`, without forming it. Shape (n_rows,)."""
        U, inner = self._rows_of_jacobian(m)
        diagonal: Array = 1.0 / self.spectrum.n + np.einsum("ij,ij->i", inner, U)
        weight = self.units.row_scale
        return diagonal if weight is None else weight**2 * diagonal

    def coef_jacobian(self, m: int) -> Array:
        """Return d beta_m / d y in original units. Shape (p, n)."""
        weight = 1.0 if self.units.row_scale is None else self.units.row_scale[:, None] ** 2
        return self.coef_factor(m) @ (weight * self.rows_of_basis()).T

    def coef_factor(self, m: int) -> Array:
        """Return A (p, r) with cov(beta_m) = sigma^2 A A', in original units."""
        path = self.complete()
        basis = path.decomposition.feature_basis / path.decomposition.singular_values
        return path.filter.times_jacobian(basis, path.index(m)) / path.units.x_scale[:, None]

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

    def rows_of_basis(self) -> Array:
        """Return U, an orthonormal basis of what X reaches, weights removed. Shape (n_rows, r)."""
        basis = self.complete().decomposition.sample_basis
        return basis if self.units.row_scale is None else basis / self.units.row_scale[:, None]

    def __repr__(self) -> str:
        return one_line(
            self,
            f"{len(self.dof)} models",
            n=float(self.spectrum.n),
            p=len(self.units.x_mean),
            rank=self.spectrum.rank,
            solver=self.solver,
        )

    def _rows_of_jacobian(self, m: int) -> tuple[Array, Array]:
        """Return U and U (d zhat / d z), one row per sample, weights removed."""
        path, U = self.complete(), self.rows_of_basis()
        return U, path.filter.times_jacobian(U, path.index(m))


def as_path(path: Any) -> Path:
    """Return ``path`` if it is one."""
    if not isinstance(path, Path):
        raise InvalidInputError(
            f"path must be a path, such as pls_path(X, y) returns; got {type(path).__name__}. Of a "
            "fitted estimator give path_."
        )
    return path


def _norms(rows: Array) -> Array:
    """Return the lengths of rows whose squares may leave the range of floats."""
    largest = np.abs(rows).max(axis=1, initial=0.0)
    unit = np.where(largest > 0, largest, 1.0)
    return np.asarray(largest * np.linalg.norm(rows / unit[:, None], axis=1))
