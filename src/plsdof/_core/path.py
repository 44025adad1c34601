"""Regression paths: every model size of one method on one data set, at once."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol, Self

import numpy as np
import scipy.linalg
import scipy.sparse

from plsdof._core import criteria
from plsdof._core.averaging import Average, AverageFilter, averaged
from plsdof._core.criteria import (
    LeaveOneOut,
    Noise,
    Selection,
)
from plsdof._core.deletion import deleted_predictions
from plsdof._core.display import one_line, plural
from plsdof._core.filters import Filter, PLSFilter
from plsdof._core.inputs import (
    Array,
    Standardized,
    Units,
    as_count,
    as_matrix,
    as_new_rows,
    as_response,
    as_sparse_rows,
    centre_response,
    read_only,
)
from plsdof._core.models import Integers, Models
from plsdof._core.spectrum import BACKWARD, Decomposition, Map, Reached, Spectrum
from plsdof._core.work import cached_property
from plsdof.errors import InvalidInputError, NotAvailableError

# Regression paths: every model size of one method on one data set, at once
# -------------------------------------------------------------------------

_EPS = float(np.finfo(np.float64).eps)
# First-order estimates of errors are multiplied by this factor.
_SAFETY = 20.0
# Folds of rows that are left out to confirm a choice; with fewer rows one by one.
_FOLDS = 30
# With more rows a choice is not confirmed: it would need an n x n matrix that nothing else needs.
_MOST_LEFT_OUT = 5000
# Columns of some training rows that differ by a smaller share of the range of all are constant.
ROUNDING_OF_ROWS = 1e-12


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
        units = data.units
        spectrum = decomposition.spectrum(data.y, units.n)
        centred = data.y if units.row_scale is None else data.y / units.row_scale
        response = read_only(units.y_mean + centred)
        return cls.assemble(
            units, decomposition, spectrum, make_filter, response=response, **further
        )

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
    def standardized_coef(self) -> Array:
        """Coefficients of standardised predictors, ``V (f z / S)``. Shape (K, p)."""
        rotated = self.filter.factors * self.spectrum.z / self.decomposition.singular_values
        return read_only(self.decomposition.to_features(rotated.T).T)

    @cached_property
    def coef(self) -> Array:
        """Coefficients in original units, ``V (f z / S) / scale``. Shape (K, p)."""
        with np.errstate(over="ignore"):  # units of 1e-200 may lead out of the range of floats
            return read_only(self.standardized_coef / self.units.x_scale)

    def coef_of(self, m: int) -> Array:
        """Return the coefficients of one model alone, in original units. Shape (p,)."""
        factors = self.filter.factors[self.index(m)]
        rotated = factors * self.spectrum.z / self.decomposition.singular_values
        with np.errstate(over="ignore"):
            return np.asarray(self.decomposition.to_features(rotated) / self.units.x_scale)

    @cached_property
    def intercept(self) -> Array:
        """Intercepts ``ybar - xbar' beta``. Shape (K,)."""
        return read_only(
            self.units.y_mean - self.standardized_coef @ (self.units.x_mean / self.units.x_scale)
        )

    @cached_property
    def fitted(self) -> Array:
        """Fitted values of the training rows with positive weight. Shape (K, n_rows)."""
        rotated = self.filter.factors * self.spectrum.z
        return read_only(self.units.y_mean + self.to_rows(rotated.T).T)

    @cached_property
    def coef_error(self) -> Array:
        """Estimated relative error of `coef` (standardised predictors). Shape (K,).

        What the decomposition may be off by, and what is lost where features are only reached
        through X, by the quotient of the singular values.
        """
        S = self.decomposition.singular_values
        if self.decomposition.right is not None or not len(S):
            return self.filter.coef_error
        rotated = self.filter.factors * self.spectrum.z / S
        size, lost = row_norms(rotated), BACKWARD * _EPS * S[0] * row_norms(rotated / S)
        share = np.divide(lost, size, out=np.zeros_like(size), where=size > 0)
        return read_only(self.filter.coef_error + _SAFETY * share)

    def predict(self, X_new: Any) -> Array:
        """Predict new rows, dense or sparse, with every model. Shape (K, n_new)."""
        # Not intercept + coef @ X, which loses digits where means are large.
        return self.units.y_mean + self.standardized_times(X_new, self.standardized_coef.T).T

    def standardized_times(self, X_new: Any, B: Array) -> Array:
        """Return the standardised rows of ``X_new``, dense or sparse, times B.

        This stays in the range of floats where coefficients in original units do not.
        """
        rows = self.check_new_rows(X_new, sparse=True)
        mean, scale = self.units.x_mean, self.units.x_scale
        is_sparse: bool = scipy.sparse.issparse(rows)
        if is_sparse:
            scaled = (B.T / scale).T
            return np.asarray(rows @ scaled - mean @ scaled)
        centred = rows - mean
        centred /= scale
        return np.asarray(centred @ B)

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
        if self.average_again is not None:
            average = self.average_again(y)
            assert isinstance(average, type(self))
            return average if self.units.names is None else average.with_names(self.units.names)
        path = self.complete()
        given = as_response(y, path.units.n_rows)
        response = centre_response(given, path.units.row_scale)
        spectrum = path.decomposition.spectrum(response.values, path.units.n)
        return replace(
            path,
            units=replace(self.units, y_mean=response.mean),
            spectrum=spectrum,
            filter=path.make_filter(spectrum),
            response=read_only(given.copy()),
        )

    def residuals(self, m: int) -> Array:
        """Return y minus the fitted values of model m. Shape (n_rows,)."""
        return np.asarray(self.require_response() - self.fitted[self.index(m)])

    def require_response(self) -> Array:
        """Return the response; say what to do where it was not kept."""
        if self.response is None:
            raise NotAvailableError(
                "This needs the response of every row, and a path made from moments, blocks or a "
                "file read piece by piece does not keep it. Fit arrays that are in memory."
            )
        return self.response

    def training_rows(self) -> Array:
        """Return X as it was given, rows with positive weight, from its decomposition. (n_rows, p).

        Exact up to rounding and what lies below the numerical rank. Cost: O(n p r).
        """
        path = self.complete()
        standardized = path.to_rows(np.diag(path.decomposition.singular_values))
        spread = np.where(np.isfinite(path.units.x_scale), path.units.x_scale, 0.0)
        rows: Array = standardized @ path.decomposition.feature_basis.T
        return path.units.x_mean + rows * spread

    def training_inputs(self) -> Array:
        """Return the training rows as `predict` takes them. Shape (n_rows, p)."""
        return self.training_rows()

    def training_features(self) -> Array:
        """Return what `coef` multiplies, of the training rows. Shape (n_rows, p)."""
        return self.training_rows()

    def fit_rows(self, rows: Integers, **options: Any) -> Self:
        """Fit the same method to some of the training rows, with ``options`` of its own."""
        assert self.fit_again is not None
        X, whole = self._rows
        part = X[rows]
        # The rows come out of a decomposition, and rounding is no variation.
        still = np.ptp(part, axis=0) <= ROUNDING_OF_ROWS * whole
        part[:, still] = part[0, still]
        found: Self = self.fit_again(part, self.require_response()[rows], **options)
        return found

    @cached_property
    def _rows(self) -> tuple[Array, Array]:
        """Training rows, and the range of their columns."""
        rows = self.training_rows()
        return rows, np.ptp(rows, axis=0)

    @property
    def only_means_change(self) -> bool:
        """Whether a fit without some rows differs from this one in its means alone.

        Scales, or a kernel of scaled rows, depend on which rows there are.
        """
        return False

    @property
    def is_dual(self) -> bool:
        """Whether `coef` has one entry per training row instead of one per feature."""
        return False

    def with_rows(self, rows: Integers) -> Self:  # noqa: ARG002
        """Return the path with what a class of its own keeps of some training rows."""
        return self

    def jacobian(self, m: int) -> Array:
        """Return d yhat_m / d y = 11'/n + U (diag(f) + 2TT' diag(1-f)) U'. Shape (n, n).

        With sample weights w the first term is 1w'/sum(w).
        """
        U, inner = self._rows_of_jacobian(m)
        weight, n = self.units.row_scale, self.spectrum.n
        if weight is None:
            derivative = 1.0 / n + inner @ U.T
        else:
            derivative = weight**2 / n + inner @ (U * weight[:, None] ** 2).T
        if (moved := self._moved_by_outside(U)) is not None:
            derivative += np.outer(moved, self._outside_of_response())
        return derivative

    def leverage(self, m: int) -> Array:
        """Return the diagonal of `jacobian`, without forming it. Shape (n_rows,)."""
        U, inner = self._rows_of_jacobian(m)
        diagonal: Array = 1.0 / self.spectrum.n + np.einsum("ij,ij->i", inner, U)
        if self.units.row_scale is not None:
            diagonal *= self.units.row_scale**2
        if (moved := self._moved_by_outside(U)) is not None:
            diagonal += moved * self._outside_of_response()
        return diagonal

    def loo_residuals(self, m: int) -> Array:
        """Approximate leave-one-out residuals without a refit, e_i / (1 - J_ii). Shape (n_rows,).

        J is the derivative of the fit (`leverage` its diagonal), which knows that a row also
        drives the choice of the components. It holds to first order: where leverages exceed 0.7
        do not rely on it (`leave_one_out` says where).

        Examples
        --------
        >>> from plsdof import pls_path
        >>> from plsdof.datasets import load_ozone
        >>> X, y = load_ozone(return_X_y=True)
        >>> without_first = pls_path(X[1:], y[1:], 2).predict(X[:1])[2, 0]
        >>> pls_path(X, y, 2).loo_residuals(2)[0].round(2), (y[0] - without_first).round(2)
        (..., ...)
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.residuals(m) / (1.0 - self.leverage(m)))

    def press(self) -> Array:
        """Return (weighted) sums of squared `loo_residuals` of every model. Shape (K,)."""
        return self.leave_one_out().press

    def _press_for_choice(self) -> Array:
        """Return `press`, nan where a row fits itself (a leverage of one or more)."""
        result = self.leave_one_out()
        return np.where(result.largest_leverage < 1.0, result.press, np.nan)

    def leave_one_out(self) -> LeaveOneOut:
        """Return leave-one-out errors of every model, without a refit.

        Notes
        -----
        Cost: O(n r M^2), and one decomposition if the path has only the Krylov space of y.
        """
        return self._leave_one_out

    @cached_property
    def _leave_one_out(self) -> LeaveOneOut:
        weight = 1.0 if self.units.row_scale is None else self.units.row_scale**2
        press, largest = np.empty(len(self.dof)), np.empty(len(self.dof))
        for m in range(len(self.dof)):
            leverage = self.leverage(m)
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                press[m] = np.sum(weight * (self.residuals(m) / (1.0 - leverage)) ** 2)
            largest[m] = leverage.max()
        return LeaveOneOut(
            press=read_only(press),
            largest_leverage=read_only(largest),
            n=self.spectrum.n,
            total=self.spectrum.total,
        )

    def _left_out_squares(self, n_components: int, patience: int) -> Array | None:
        """Return squared errors of rows left out, weighted, of the first PLS models."""
        n, root = self.units.n_rows, self.units.row_scale
        if self.response is None or n > _MOST_LEFT_OUT or not isinstance(self.filter, PLSFilter):
            return None
        asked = n_components, patience
        if asked not in self._left_out:
            times = self._times_sample_gram()
            if times is None:
                return None
            predicted = deleted_predictions(times, self.response, root, *asked, _FOLDS)
            errors = self.response - predicted
            self._left_out[asked] = (errors if root is None else errors * root) ** 2
        return self._left_out[asked]

    @cached_property
    def _left_out(self) -> dict[tuple[int, int], Array]:
        """What `_left_out_squares` has found, by its arguments: a choice is made more than once."""
        return {}

    def _times_sample_gram(self) -> Map | None:
        """Return v -> XX'v for (n_rows, k) arrays, without a decomposition that is not there yet.

        None where the rows were not kept.
        """
        found = self.decomposition
        X = found.X if self.full is not None else found.sample_basis * found.singular_values
        if isinstance(X, Reached):
            if X.gram is not None:
                return partial(np.matmul, X.gram)
            if X.forward is None:
                return None
        assert X is not None
        if isinstance(X, Reached) or 2 * X.shape[1] <= len(X):
            return lambda v: np.asarray(X @ (X.T @ v))
        return partial(np.matmul, X @ X.T)

    def average(self, dof: str = "smoothed", *, by: str | None = None) -> Average:
        r"""Average the models with `weights`: the chosen model, its components shrunk.

            beta = sum_m w_m beta_m,     DoF = sum_m w_m DoF(m) + sum_m yhat_m'(d w_m / dy),

        where the second sum is what the dependence of the weights on y adds (Degrees of Freedom
        held fixed in it).

        Parameters
        ----------
        dof : {"smoothed", "exact", "naive", "clipped"}
            Degrees of Freedom in the weights.
        by : {"mallows", "gcv"}, optional
            How models are weighed, see `weights`.

        Examples
        --------
        >>> from plsdof import pls_path
        >>> from plsdof.datasets import load_ozone
        >>> X, y = load_ozone(return_X_y=True)
        >>> average = pls_path(X, y).average()
        >>> average.predict(X[:2]).shape
        (2,)
        """
        weights, chosen = self._weighed(dof, by)
        path, heaviest = self._averaged(weights, chosen), int(np.argmax(weights))
        path = replace(path, average_again=partial(_average_of, self, dof, by))
        labels = [self.label(i) for i in range(len(weights))]
        words = criteria.average_in_words(weights, labels, float(path.dof[0]))
        empty = self.select(dof=dof).empty_remark if weights[0] == 1.0 else ""
        selection = Selection(
            index=heaviest,
            parameter=float(self.parameters[heaviest]),
            parameter_name=self.parameter_name,
            scores=read_only(self.criterion("gcv", dof)),
            criterion="gcv",
            rule="average",
            dof=dof,
            noise="not used",
            message=f"{words} {empty}".rstrip(),
            remarks=(empty,) if empty else (),
        )
        return Average(path=path, weights=weights, selection=selection)

    def _averaged(self, weights: Array, chosen: int | None) -> Self:
        if isinstance(self.filter, AverageFilter):
            raise NotAvailableError("This path is an average already.")
        one = averaged(self.spectrum, self.filter, self.rss, weights, chosen)
        whole = None if self.full is None else partial(_averaged_whole, self, weights, chosen)
        return replace(self, filter=one, full=whole)

    def _moved_by_outside(self, basis: Array) -> Array | None:
        """Return how rows of a (k, r) basis move per unit of y outside of X. Shape (k,).

        Only the weights of an average depend on that part of y; None for everything else.
        """
        one = self.complete().filter
        return one.times_outside(basis) if isinstance(one, AverageFilter) else None

    def _outside_of_response(self) -> Array:
        """Return what X does not reach of the centred response, rows weighted. Shape (n_rows,)."""
        if self.response is None:
            raise NotAvailableError(
                "The derivative of an average needs the response, which a path from moments or "
                "streamed data does not keep; fit an array in memory, or take one model."
            )
        path, centred = self.complete(), self.response - self.units.y_mean
        scale = 1.0 if self.units.row_scale is None else self.units.row_scale
        reached = path.decomposition.to_samples(path.spectrum.z[:, None])[:, 0]
        return (centred * scale - reached) * scale

    def coef_jacobian(self, m: int) -> Array:
        """Return d beta_m / d y in original units. Shape (p, n)."""
        weight = 1.0 if self.units.row_scale is None else self.units.row_scale[:, None] ** 2
        U = weight * self.rows_of_basis()
        if self._moved_by_outside(U) is not None:
            beyond = self._outside_of_response()
            length = np.sqrt(self.complete().spectrum.outside) or 1.0
            U = np.column_stack([U, beyond / length])
        return self.coef_factor(m) @ U.T

    def coef_factor(self, m: int) -> Array:
        """Return A (p, r) with cov(beta_m) = sigma^2 A A', in original units.

        An average has one more column, for what its weights owe to the part of y outside of X.
        """
        with np.errstate(over="ignore"):
            return self.standardized_coef_factor(m) / self.units.x_scale[:, None]

    def standardized_coef_factor(self, m: int) -> Array:
        """Return the same for the coefficients of standardised predictors."""
        path = self.complete()
        basis = path.decomposition.feature_basis / path.decomposition.singular_values
        factor = path.filter.times_jacobian(basis, path.index(m))
        if (moved := path._moved_by_outside(basis)) is not None:
            factor = np.column_stack([factor, moved * np.sqrt(path.spectrum.outside)])
        return factor

    def coef_covariance(self, m: int, *, noise: Noise = None) -> Array:
        """Estimate the covariance of the coefficients, sigma^2 (d beta/dy)(d beta/dy)'. (p, p)."""
        A, scale = self.standardized_coef_factor(m), self.units.x_scale
        covariance: Array = self.noise_at(m, noise) * (A @ A.T)
        with np.errstate(over="ignore"):
            return covariance / scale / scale[:, None]

    def coef_std_error(self, m: int, *, noise: Noise = None) -> Array:
        """Standard errors of the coefficients, without a p x p matrix. Shape (p,)."""
        A = self.standardized_coef_factor(m)
        squares: Array = np.einsum("ij,ij->i", A, A)
        with np.errstate(over="ignore"):
            return np.sqrt(self.noise_at(m, noise) * squares) / self.units.x_scale

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


def _average_of(path: Path, dof: str, by: str | None, y: Any) -> Path:
    """Average the models of a path for another response."""
    return path.refit(y).average(dof, by=by).path


def _averaged_whole(path: Path, weights: Array, chosen: int | None) -> Path:
    """Return the average of a path with the same weights, in a basis of all directions of X."""
    return path.complete()._averaged(weights, chosen)


# What has a path: a path itself, a fitted estimator, a Pipeline that ends in one
# ------------------------------------------------------------------------------


class Fitted(Protocol):
    """A fitted estimator of this package, a Pipeline that ends in one, or a search over them."""

    def fit(self, X: Any, y: Any) -> Any:
        """Fit, as in scikit-learn."""

    def predict(self, X: Any) -> Any:
        """Predict, as in scikit-learn."""


# What functions of a path take.
PathLike = Path | Fitted


@dataclass(frozen=True, kw_only=True, eq=False)
class ModelOfPath:
    """One model of a path, as a function that takes any `PathLike` sees it.

    Attributes
    ----------
    path : Path
    index : int
        Row of the path.
    estimator : object or None
        The fitted estimator, if one was given (that at the end of a Pipeline).
    before : transformer or None
        The steps before the estimator in a Pipeline, if there are any.
    """

    path: Path
    index: int
    estimator: Any = None
    before: Any = None

    def rows(self, X_new: Any) -> Any:
        """Return new rows as the path takes them; None stays None."""
        if X_new is None or self.estimator is None:
            return X_new
        return self.estimator.path_rows(
            X_new if self.before is None else self.before.transform(X_new)
        )

    def choice(self) -> Selection:
        """Return how an estimator chose the model; a size that was given goes with its GCV."""
        chosen: Selection | None = getattr(self.estimator, "selection_", None)
        mean = getattr(self.estimator, "average_", None)
        if chosen is not None and mean is not None and len(self.path.dof) == 1:
            return replace(chosen, index=0, scores=chosen.scores[[chosen.index]])
        if chosen is not None and chosen.index == self.index:
            return chosen
        parameter = float(self.path.parameters[self.index])
        return replace(
            self.path.select(),
            index=self.index,
            parameter=parameter,
            rule="given",
            message=f"{self.path.parameter_name} = {parameter:g} was given.",
        )


def as_path(path: Any) -> Path:
    """Return a path, that of a fitted estimator, or that at the end of a Pipeline.

    Examples
    --------
    >>> from plsdof import PLSRegressor
    >>> as_path(PLSRegressor(1).fit([[1.0], [2.0], [4.0]], [1.0, 2.0, 3.0]))
    PLSPath(2 models, n=3, p=1, rank=1, solver=...)
    """
    if isinstance(path, Average):
        return path.path
    return path if isinstance(path, Path) else _opened(path)[0]


def as_model(path: Any, m: int | None = None, *, average: bool = True) -> ModelOfPath:
    """Return one model of whatever has a path: row ``m``, by default what an estimator chose.

    An estimator may have chosen the average of all models, which has no components of its own;
    without ``average`` the model with the largest weight stands for it.

    Examples
    --------
    >>> from plsdof import PLSRegressor
    >>> model = PLSRegressor(2).fit([[1.0, 2.0], [2.0, 1.0], [4.0, 4.0]], [1.0, 2.0, 3.0])
    >>> as_model(model).index, as_model(model, 1).index
    (2, 1)
    """
    if isinstance(path, Average):
        return ModelOfPath(path=path.path, index=0)
    if isinstance(path, Path):
        if m is None:
            raise InvalidInputError(
                "A path holds many models, and m says which one; give m, such as "
                "m=path.select().index, or a fitted estimator, which has chosen."
            )
        return ModelOfPath(path=path, index=path.index(m))
    found, estimator, before = _opened(path)
    mean: Average | None = getattr(estimator, "average_", None)
    if m is None and average and mean is not None:
        answering = mean.path
        if found.feature_names is not None:
            answering = answering.with_names(found.feature_names)
        return ModelOfPath(path=answering, index=0, estimator=estimator, before=before)
    index = found.index(int(estimator.index_) if m is None else m)
    return ModelOfPath(path=found, index=index, estimator=estimator, before=before)


def _opened(fitted: Any) -> tuple[Path, Any, Any]:
    """Return the path of a fitted estimator, the estimator, and the steps before it, if any."""
    fitted = getattr(fitted, "best_estimator_", fitted)  # of a search
    is_pipeline = hasattr(fitted, "steps") and hasattr(fitted, "named_steps")
    estimator = fitted.steps[-1][1] if is_pipeline else fitted
    kind = type(estimator).__name__
    if not hasattr(estimator, "path_rows"):
        raise InvalidInputError(
            f"path must be a path, such as pls_path(X, y) returns, or a fitted estimator of this "
            f"package (PLSRegressor, PCRegressor, RidgeRegressor, ...), or a Pipeline that ends in "
            f"one; got {kind}."
        )
    if not hasattr(estimator, "index_"):
        raise InvalidInputError(f"This {kind} is not fitted yet; call its method fit first.")
    if len(getattr(estimator, "paths_", (1,))) > 1:
        raise InvalidInputError(
            f"This {kind} was fitted to {len(estimator.paths_)} responses, each with a path of its "
            "own; give one of its paths_ and the row m, or fit one response."
        )
    path = estimator.path_
    if not isinstance(path, Path):
        raise InvalidInputError(
            f"path must have one response; got {kind}, whose components several responses share."
        )
    if not is_pipeline or len(fitted.steps) == 1:
        return path, estimator, None
    before = fitted[:-1]
    if path.feature_names is None and hasattr(fitted, "feature_names_in_"):
        path = path.with_names(tuple(map(str, before.get_feature_names_out())))
    return path, estimator, before


def row_norms(rows: Array) -> Array:
    """Return the lengths of rows whose squares may leave the range of floats."""
    largest = np.abs(rows).max(axis=1, initial=0.0)
    unit = np.where(largest > 0, largest, 1.0)
    scaled = rows / unit[:, None]
    return np.asarray(largest * np.sqrt(np.vecdot(scaled, scaled)))


# The paths of the methods: PLS with its scores and loadings, principal components, ridge
# ---------------------------------------------------------------------------------------


def predictors_of(scores: Array, loadings: Array, units: Units) -> Array:
    """Return ``mean + scale * T P'`` for scores of the first components. Shape (n_new, p)."""
    size = scores.shape[1]
    if size > loadings.shape[1]:
        raise InvalidInputError(
            f"scores have {plural(size, 'column')}, but the path has "
            f"{plural(loadings.shape[1], 'component')}; "
            "give one column per component, as transform returns them."
        )
    scale = np.where(np.isfinite(units.x_scale), units.x_scale, 0.0)
    return np.asarray(scores @ (loadings[:, :size] * scale[:, None]).T + units.x_mean)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ComponentPath(Path):
    """A path over the number of components 0, 1, ..., M, with scores and loadings."""

    @property
    def x_scores(self) -> Array:
        """Orthogonal scores of the training rows. Shape (n_rows, M)."""
        raise NotImplementedError

    @property
    def x_loadings(self) -> Array:
        """What a unit of each score adds to the standardised predictors. Shape (p, M)."""
        raise NotImplementedError

    @property
    def x_rotations(self) -> Array:
        """Scores are standardised predictors times these. Shape (p, M)."""
        raise NotImplementedError

    @property
    def y_loadings(self) -> Array:
        """Coefficients of y on the scores. Shape (M,)."""
        raise NotImplementedError

    @property
    def n_components(self) -> Integers:
        """Numbers of components 0, 1, ..., M."""
        return np.arange(len(self.dof))

    def transform(self, X_new: Any) -> Array:
        """Return the scores of new rows, dense or sparse, on all components. Shape (n_new, M)."""
        return self.centred_times(X_new, self.x_rotations / self.units.x_scale[:, None])

    def inverse_transform(self, scores: Any) -> Array:
        """Return the predictors that scores stand for, ``mean + scale * T P'``. (n_new, p).

        Scores of the first k components are enough; columns that do not vary get their mean.
        """
        return predictors_of(as_matrix(scores, "scores"), self.x_loadings, self.units)

    def predict_components(self, X_new: Any, components: Sequence[int]) -> Array:
        """Predict new rows from some components alone, such as [2, 3]. Shape (n_new,).

            yhat = ybar + sum_j t_j q_j,      j in components (counted from 1)

        with scores t_j and y-loadings q_j. All of 1..m together are the model with m components.

        Examples
        --------
        >>> from plsdof import pls_path
        >>> X = [[1.0, 2.0], [2.0, 1.0], [3.0, 5.0], [4.0, 4.0]]
        >>> path = pls_path(X, [1.0, 2.0, 3.0, 5.0])
        >>> path.predict_components(X, [1]).round(2), path.predict_components(X, [2]).round(2)
        (array([1.2 , 1.63, 3.87, 4.3 ]), array([2.3 , 3.37, 2.13, 3.2 ]))
        """
        M = len(self.dof) - 1
        numbers = [as_count(one, "components", minimum=1) for one in _listed(components)]
        if len(set(numbers)) < len(numbers) or max(numbers, default=0) > M:
            raise InvalidInputError(
                f"components must be different numbers in 1..{M}; got {components!r}. The first "
                "component is 1."
            )
        kept = np.array(numbers, dtype=np.intp) - 1
        q: Array = self.y_loadings
        return np.asarray(self.units.y_mean + self.transform(X_new)[:, kept] @ q[kept])


def _listed(values: Any) -> list[Any]:
    return list(values) if isinstance(values, Iterable) else [values]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PCRPath(ComponentPath):
    """Principal components regression for 0..M components, as `pcr_path` makes it.

    Examples
    --------
    >>> from plsdof import pcr_path
    >>> pcr_path([[1.0, 2.0], [2.0, 1.0], [3.0, 5.0], [4.0, 4.0]], [1.0, 2.0, 3.0, 5.0])
    PCRPath(3 models, n=4, p=2, rank=2, solver=...)
    """

    @property
    def default_rule(self) -> str:
        """The order of the components ignores y, so that good ones may come after bad ones."""
        return "global-minimum"

    @property
    def directions(self) -> Integers:
        """Which eigenvalue of X'X belongs to which component, largest 0. Shape (M,)."""
        return np.asarray(np.argmax(np.diff(self.filter.factors, axis=0), axis=1), dtype=np.intp)

    @cached_property
    def x_loadings(self) -> Array:
        """Principal directions V in standardised units, orthonormal columns. Shape (p, M).

        The largest entry of each is positive, as in scikit-learn's PCA.
        """
        return read_only(self.decomposition.to_features(self._kept))

    @property
    def x_rotations(self) -> Array:
        """The same as `x_loadings`: scores are standardised X times V. Shape (p, M)."""
        return self.x_loadings

    @cached_property
    def x_scores(self) -> Array:
        """Principal component scores of the training rows, U S. Shape (n_rows, M)."""
        S = self.decomposition.singular_values
        return read_only(self.to_rows(self._kept * S[:, None]))

    @property
    def y_loadings(self) -> Array:
        """Coefficients of y on the scores, z / S. Shape (M,)."""
        return read_only(self._kept.T @ (self.spectrum.z / self.decomposition.singular_values))

    @cached_property
    def _kept(self) -> Array:
        """Return the chosen directions, with their signs, in rotated coordinates. Shape (r, M)."""
        columns = np.zeros((len(self.spectrum.z), len(self.dof) - 1))
        columns[self.directions, np.arange(columns.shape[1])] = 1.0
        V = self.decomposition.to_features(columns)
        largest = np.argmax(np.abs(V), axis=0)
        return columns * np.where(V[largest, np.arange(V.shape[1])] < 0, -1.0, 1.0)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PLSPath(ComponentPath):
    """Partial Least Squares for 0..M components, with scores, weights and loadings.

    Scores, weights, loadings and rotations follow scikit-learn's PLSRegression (signs aside).

    Examples
    --------
    >>> from plsdof import pls_path
    >>> path = pls_path([[1.0, 2.0], [2.0, 1.0], [3.0, 5.0], [4.0, 4.0]], [1.0, 2.0, 3.0, 5.0])
    >>> path.dof.round(2), path.x_scores.shape, path.x_weights.shape
    (array([1.  , 2.15, 3.  ]), (4, 2), (2, 2))
    """

    filter: PLSFilter

    @cached_property
    def x_weights(self) -> Array:
        """Orthonormal weight vectors W in standardised units. Shape (p, M)."""
        return read_only(self.decomposition.to_features(self.filter.weights))

    @cached_property
    def x_scores(self) -> Array:
        """Orthogonal scores of the training rows, ``X @ x_rotations``. Shape (n_rows, M)."""
        return read_only(self.to_rows(self.filter.scores * self.filter.diagonal))

    @cached_property
    def x_loadings(self) -> Array:
        """Loadings P = X't / (t't), standardised units. Shape (p, M)."""
        S = self.decomposition.singular_values[:, None]
        return read_only(
            self.decomposition.to_features(S * self.filter.scores / self.filter.diagonal)
        )

    @cached_property
    def x_rotations(self) -> Array:
        """R = W (P'W)^{-1}: scores are standardised X times R. Shape (p, M)."""
        return read_only(self.decomposition.to_features(self._rotated_rotations()))

    @cached_property
    def y_loadings(self) -> Array:
        """Coefficients of y on the scores. Shape (M,)."""
        return read_only(self.filter.loadings / self.filter.diagonal)

    def _rotated_rotations(self) -> Array:
        # X W = T L, so T diag(L) = X (W L^{-1} diag(L)); L is upper bidiagonal.
        f = self.filter
        M = len(f.diagonal)
        if M == 0:
            return f.weights
        banded = np.zeros((2, M))
        banded[0] = f.diagonal
        banded[1, :-1] = f.superdiagonal[:-1]
        solved: Array = scipy.linalg.solve_banded((1, 0), banded, f.weights.T, check_finite=False)
        return solved.T * f.diagonal


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RidgePath(Path):
    """Ridge regression, one model per penalty in ``alphas``, as `ridge_path` makes it.

    Examples
    --------
    >>> from plsdof import ridge_path
    >>> path = ridge_path([[1.0], [2.0], [4.0]], [1.0, 2.0, 3.0], alphas=[2.0, 1e-9])
    >>> path.alphas, path.dof.round(2)
    (array([2.e+00, 1.e-09]), array([1.5, 2. ]))
    """

    alphas: Array

    @property
    def parameters(self) -> Array:
        """The penalties, in the order given."""
        return self.alphas

    @property
    def parameter_name(self) -> str:
        """Models differ in "alpha"."""
        return "alpha"

    @property
    def default_rule(self) -> str:
        """Neighbouring penalties make a smooth curve, whose minimum is looked for."""
        return "global-minimum"

    @property
    def _weighing(self) -> str:
        """The fits are not projections, each contained in the next."""
        return "gcv"

    def _averaged(self, weights: Array, chosen: int | None) -> Self:
        """Return the average, whose penalty is the weighted geometric mean."""
        penalty = np.exp(weights @ np.log(self.alphas))
        return replace(super()._averaged(weights, chosen), alphas=read_only([penalty]))

    def simplest_first(self) -> Integers:
        """Return the rows from the largest penalty to the smallest."""
        return np.argsort(-self.alphas, kind="stable")

    def label(self, index: int) -> str:
        """Return the penalty of a row, in words."""
        return self.filter.label or f"alpha = {self.alphas[index]:g}"
