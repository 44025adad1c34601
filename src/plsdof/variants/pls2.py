"""PLS2: one set of components for several responses, with exact Degrees of Freedom.

PLS2 chooses its components for all responses together, so that the fit of one response depends
on the others. No spectral filter describes it for q > 1, because its components are not in one
Krylov space; the derivative is carried along instead. `columnwise` fits every response alone.

Notation: X = U S V', Z = U'Y (r x q), T (k x r) orthonormal scores in rows, F = Z - T'TZ what the
components leave. A *tangent* is the derivative of a quantity in each of B directions, stacked
along a first axis.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from plsdof._core import criteria
from plsdof._core.criteria import Fits, Selection
from plsdof._core.display import one_line, plural
from plsdof._core.fit import (
    optional_count,
    report_end,
)
from plsdof._core.inputs import (
    Array,
    Units,
    as_choice,
    as_count,
    as_generator,
    as_matrix,
    as_new_rows,
    as_weights,
    centre_response,
    opened_table,
    read_only,
    require_flag,
    standardize,
)
from plsdof._core.models import as_row, default_dof
from plsdof._core.path import predictors_of, row_norms
from plsdof._core.smoothing import DRAWS
from plsdof._core.spectrum import Decomposition, decompose
from plsdof._core.work import cached_property, run_each
from plsdof.errors import InvalidInputError, NotAvailableError, PlsdofWarning
from plsdof.inference.conformal import MOST_LEVERAGE, conformal_critical, jackknife_plus
from plsdof.inference.intervals import INTERVAL_METHODS, critical_value
from plsdof.inference.resampling import LeftOut
from plsdof.selection.folds import Fold, make_folds
from plsdof.selection.left_out import complete_folds
from plsdof.variants._pls2 import (
    ALGORITHMS,
    JointFit,
    joint_fit,
    joint_jacobian,
    joint_values,
    residual_slopes,
    sampled_traces,
)
from plsdof.variants.columnwise import as_responses, kept_rows

# Criteria whose sum over responses estimates one number, the total squared error of prediction.
JOINT_CRITERIA = tuple(name for name, one in criteria.CRITERIA.items() if one.additive)
NOISE_MODELS = ("independent", "correlated")
# A residual sum of squares below this share of the total is an exact fit.
_EXACT = 1e-24


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PLS2Path:
    """PLS2 for 0..M components; arrays over models start at the empty model.

    Attributes
    ----------
    units : Units
        Means, scales and weights of the rows and columns of X.
    decomposition : Decomposition
        Singular vectors of the standardised predictors.
    fit : JointFit
        Fits in rotated coordinates and their derivatives.
    y_mean, y_scale : (q,) arrays
        ``(y - y_mean) / y_scale`` is what was fitted.
    outside : (q, q) array
        Cross-products of what no linear function of X reaches.
    names : tuple of str
        Column names of Y; "0", "1", ... if it had none.
    algorithm : str
        "nipals" or "simpls".
    scale_response : bool
        Whether ``y_scale`` are the standard deviations of the responses.
    response : (n_rows, q) array
        Y of the rows with positive weight.
    fit_again : callable
        ``fit_again(X, Y)`` fits the same method, with the same options, to other rows.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(30, 4))
    >>> path = pls2_path(X, X[:, :2] + rng.normal(size=(30, 2)), 2)
    >>> path, path.coef.shape
    (PLS2Path(3 models, n=30, p=4, 2 responses, algorithm='nipals'), (3, 4, 2))
    """

    units: Units
    decomposition: Decomposition
    fit: JointFit
    y_mean: Array
    y_scale: Array
    outside: Array
    names: tuple[str, ...]
    algorithm: str
    scale_response: bool
    response: Array
    fit_again: partial["PLS2Path"]

    @property
    def n_components(self) -> npt.NDArray[np.intp]:
        """Numbers of components 0, 1, ..., M."""
        return np.arange(len(self.dof))

    @property
    def dof(self) -> Array:
        """Trace of d vec(Yhat) / d vec(Y), with one for each of the q intercepts. (M + 1,)."""
        return read_only(self.dof_by_response.sum(axis=1))

    @property
    def dof_by_response(self) -> Array:
        """Sums of d yhat_ij / d y_ij over rows i, one column per response. (M + 1, q)."""
        return read_only(np.diagonal(self.dof_matrix, axis1=1, axis2=2))

    @property
    def dof_matrix(self) -> Array:
        """Sums of d yhat_ij / d y_ik over rows i, at [:, j, k]. Shape (M + 1, q, q)."""
        units = self.y_scale[:, None] / self.y_scale
        return read_only(np.eye(len(self.names)) + self.fit.traces * units)

    @property
    def dof_error(self) -> Array:
        """Estimated absolute rounding error of `dof`. Shape (M + 1,)."""
        return self.fit.error

    @property
    def naive_dof(self) -> Array:
        """What counting parameters gives, q (m + 1). Shape (M + 1,)."""
        return read_only(len(self.names) * (1.0 + self.n_components))

    @property
    def message(self) -> str:
        """Why the path is shorter than asked for; empty if it is not."""
        return self.fit.message

    @cached_property
    def rss(self) -> Array:
        """Residual sums of squares in original units. Shape (M + 1, q)."""
        return read_only(np.diagonal(self._residual_products, axis1=1, axis2=2))

    @cached_property
    def coef(self) -> Array:
        """Coefficients in original units. Shape (M + 1, p, q)."""
        rotated = self.fit.fitted / self.decomposition.singular_values[:, None]
        features = np.array([self.decomposition.to_features(one) for one in rotated])
        return read_only(features * self.y_scale / self.units.x_scale[:, None])

    @cached_property
    def intercept(self) -> Array:
        """Intercepts. Shape (M + 1, q)."""
        return read_only(self.y_mean - self.units.x_mean @ self.coef)

    @cached_property
    def fitted(self) -> Array:
        """Fitted values of the training rows with positive weight. Shape (M + 1, n_rows, q)."""
        rows = np.array([self.decomposition.to_samples(one) for one in self.fit.fitted])
        if self.units.row_scale is not None:
            rows /= self.units.row_scale[:, None]
        return read_only(self.y_mean + rows * self.y_scale)

    def predict(self, X_new: Any) -> Array:
        """Predict new rows with every model. Shape (M + 1, n_new, q)."""
        new = as_new_rows(X_new, len(self.units.x_mean), self.units.names)
        return self.y_mean + (new - self.units.x_mean) @ self.coef

    @cached_property
    def x_scores(self) -> Array:
        """Orthogonal scores of the training rows, ``X @ x_rotations``. Shape (n_rows, M)."""
        rows = self.decomposition.to_samples(self.fit.scores * self.fit.lengths)
        scale = self.units.row_scale
        return read_only(rows if scale is None else rows / scale[:, None])

    @cached_property
    def x_rotations(self) -> Array:
        """From standardised X to the scores. Shape (p, M)."""
        S = self.decomposition.singular_values[:, None]
        return read_only(self.decomposition.to_features(self.fit.scores * self.fit.lengths / S))

    @cached_property
    def x_weights(self) -> Array:
        """Orthonormal weight vectors that span `x_rotations`, in order. Shape (p, M).

        Those of NIPALS; the components of SIMPLS do not need them.
        """
        Q, R = np.linalg.qr(self.x_rotations)
        return read_only(Q * np.where(np.diagonal(R) < 0, -1.0, 1.0))

    @cached_property
    def x_loadings(self) -> Array:
        """Loadings P = X't / (t't), standardised units. Shape (p, M)."""
        S = self.decomposition.singular_values[:, None]
        return read_only(self.decomposition.to_features(S * self.fit.scores / self.fit.lengths))

    def inverse_transform(self, scores: Any) -> Array:
        """Return the predictors that scores stand for; see `ComponentPath.inverse_transform`."""
        return predictors_of(as_matrix(scores, "scores"), self.x_loadings, self.units)

    def transform(self, X_new: Any) -> Array:
        """Return the scores of new rows on all components. Shape (n_new, M)."""
        new = as_new_rows(X_new, len(self.units.x_mean), self.units.names)
        return ((new - self.units.x_mean) / self.units.x_scale) @ self.x_rotations

    def noise_variance(self) -> Array:
        """RSS_j / (n - DoF_j) of every response; nan where DoF_j >= n. Shape (M + 1, q)."""
        return criteria.noise_from_dof(self.rss, self.dof_by_response, self.units.n)

    def noise_covariance(self) -> Array:
        """Estimate the covariance of the noise of the responses. Shape (M + 1, q, q).

        E'E over the roots of (n - DoF_j) (n - DoF_k), E the residuals, which is never indefinite
        and has `noise_variance` on its diagonal; nan where that is.
        """
        spare = self.units.n - self.dof_by_response
        root = np.sqrt(np.where(spare > 0, spare, np.nan))
        return read_only(self._residual_products / (root[:, :, None] * root[:, None, :]))

    def coef_root(self, m: int) -> Array:
        """Return B with cov(b_j) = B_j B_j', b_j the coefficients of response j. Shape (p, q, r q).

        To first order, with the derivative d beta / d y of all responses and the covariance of
        their noise (`noise_covariance`); X and m held fixed. Cost: that of the path.
        """
        return self.model(m).coef_root()

    def weighted_coef_root(self, weights: Array, noise: Array) -> Array:
        """Return the same for an average of models with weights (M + 1,), held fixed.

        ``noise`` is the covariance (q, q) of the noise. Cost: that of the path, times the number
        of models with weight.
        """
        S, Z = self.decomposition.singular_values, self.fit.residuals[0]
        n_scaled = self.units.n if self.scale_response else None
        moved: Array = np.sum(
            [
                weights[m] * joint_jacobian(S, Z, m, self.algorithm, n_scaled)
                for m in np.flatnonzero(weights).tolist()
            ],
            axis=0,
        )
        r, q = Z.shape
        # From rotated coordinates to coefficients in original units.
        rotated = moved.reshape(r * q, r, q).transpose(1, 2, 0).reshape(r, q * r * q) / S[:, None]
        p = len(self.units.x_mean)
        features = self.decomposition.to_features(rotated).reshape(p, q, r, q)
        features *= self.y_scale[:, None, None] / self.y_scale
        features /= self.units.x_scale[:, None, None, None]
        values, vectors = np.linalg.eigh(noise)
        half = vectors * np.sqrt(np.maximum(values, 0.0))
        return np.asarray(features @ half).reshape(p, q, r * q)

    def coef_std_error(self, m: int) -> Array:
        """Standard errors of the coefficients. Shape (p, q)."""
        return self.model(m).coef_std_error()

    def coef_interval(self, m: int, level: float = 0.95) -> Array:
        """Confidence intervals of the expected coefficients of m components. Shape (p, q, 2).

        t with n - DoF_j degrees of freedom for response j.
        """
        return self.model(m).coef_interval(level)

    def prediction_interval(
        self,
        m: int,
        X_new: Any,
        level: float = 0.95,
        kind: str = "observation",
        *,
        method: str = "normal",
        left_out: Sequence[LeftOut] | None = None,
    ) -> Array:
        """Intervals of new observations, or of the expected fit, one by one. Shape (n_new, q, 2).

        var(mean) = Sigma_jj / n + |(x - xbar)' B_j|^2, plus Sigma_jj for an observation; normal
        noise with covariance Sigma between the responses of a row, X and m held fixed.

        Parameters
        ----------
        m : int
            Number of components.
        X_new : (n_new, p) array or data frame
        level : float
        kind : {"observation", "mean"}
        method : {"normal", "conformal", "jackknife+"}
            For observations, as in `plsdof.inference.prediction_interval`: leave-one-out residuals,
            over the standard deviation above; or fits without each row, which hold
            m fixed unless ``left_out`` says otherwise.
        left_out : sequence of LeftOut, optional
            What `leave_out` has found, for "jackknife+".

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(30, 4))
        >>> path = pls2_path(X, X[:, :2] + rng.normal(size=(30, 2)), 2)
        >>> path.prediction_interval(2, X[:5]).shape
        (5, 2, 2)
        """
        as_choice(kind, "kind", ("observation", "mean"))
        as_choice(method, "method", INTERVAL_METHODS)
        model = self.model(m)
        if method == "normal":
            return model.prediction_interval(X_new, level, kind)
        if kind != "observation":
            raise InvalidInputError(
                f"method={method!r} covers observations; kind='mean' needs method='normal'."
            )
        m = self.index(m)
        rows = as_new_rows(X_new, len(self.units.x_mean), self.units.names)
        if method == "jackknife+":
            fits = self.leave_out(m) if left_out is None else left_out
            return np.stack([jackknife_plus(one, rows, level) for one in fits], axis=1)
        new, root = rows - self.units.x_mean, self.coef_root(m)
        noise = np.diagonal(model.noise_covariance())
        half = np.sqrt(self._mean_variance(new, root, noise) + noise)
        half *= [conformal_critical(one, level) for one in self._scores(m, root, noise)]
        center = self.y_mean + new @ self.coef[m]
        return np.stack([center - half, center + half], axis=2)

    def _mean_variance(self, deviation: Array, root: Array, noise: Array) -> Array:
        """Return the variances of fits at rows, given as deviations from the mean. (n_new, q)."""
        reach = (deviation @ root.reshape(len(root), -1)).reshape(len(deviation), *root.shape[1:])
        return np.asarray(noise / self.units.n + np.vecdot(reach, reach))

    def _scores(self, m: int, root: Array, noise: Array) -> Array:
        """Return sorted leave-one-out residuals over their standard deviations. (q, n_rows)."""
        X, weight = self.training_rows(), self._row_weights()
        leverage = self.leverage(m)
        if leverage.max() > MOST_LEVERAGE:  # the closed form fails
            residuals = np.column_stack([one.residuals for one in self.leave_out(m)])
        else:
            residuals = self.response - self.y_mean - (X - self.units.x_mean) @ self.coef[m]
            residuals /= 1.0 - leverage
        mean = self._mean_variance(X - self.units.x_mean, root, noise)
        spread = np.sqrt(mean + noise / weight[:, None])
        # A response that does not vary has neither residuals nor a spread.
        scores = np.divide(
            np.abs(residuals), spread, out=np.zeros_like(residuals), where=spread > 0
        )
        return np.sort(scores, axis=0).T

    def leverage(self, m: int) -> Array:
        """Return d yhat_ij / d y_ij of every row i and response j. Shape (n_rows, q).

        But for what scales of the responses owe to the part of y that X does not reach: a share of
        about 1 / n.
        """
        S, Z = self.decomposition.singular_values, self.fit.residuals[0]
        n_scaled = self.units.n if self.scale_response else None
        r, q = Z.shape
        moved = joint_jacobian(S, Z, self.index(m), self.algorithm, n_scaled).reshape(r, q, r, q)
        own = np.einsum("ajbj->jab", moved)
        weight = self._row_weights()
        U = self.decomposition.sample_basis / np.sqrt(weight)[:, None]
        diagonal = np.einsum("ia,jab,ib->ij", U, own, U, optimize=True)
        return np.asarray(weight[:, None] * (1.0 / self.units.n + diagonal))

    def training_rows(self) -> Array:
        """Return X as it was given, rows with positive weight, from its decomposition. (n_rows, p).

        Exact up to rounding and what lies below the numerical rank. Cost: O(n p r).
        """
        rows = self.decomposition.to_samples(np.diag(self.decomposition.singular_values))
        rows = rows / np.sqrt(self._row_weights())[:, None]
        spread = np.where(np.isfinite(self.units.x_scale), self.units.x_scale, 0.0)
        return np.asarray(self.units.x_mean + (rows @ self.decomposition.feature_basis.T) * spread)

    def _row_weights(self) -> Array:
        scale = self.units.row_scale
        return np.ones(self.units.n_rows) if scale is None else scale**2

    def leave_out(
        self,
        choose: int | Callable[["PLS2Path"], int],
        *,
        cv: Any = None,
        n_jobs: int | None = None,
        progress: bool = False,
    ) -> tuple[LeftOut, ...]:
        """Fit without each row (or fold) in turn, and choose a model each time; one per response.

        Parameters
        ----------
        choose : int or callable
            Number of components, or ``choose(path)`` that returns one: the choice is then part of
            it, and every fit needs its Degrees of Freedom.
        cv : int, splitter or pairs, optional
            Folds as in `plsdof.selection.make_folds`; each row by itself by default.
        n_jobs, progress
            As in `plsdof.cross_validate`.

        Notes
        -----
        Cost: one decomposition per fold; with a choice one path, `pls2_path`, per fold.
        """
        X, Y, weights = self.training_rows(), self.response, self._row_weights()
        folds = complete_folds(X, Y[:, 0], cv)
        chosen = choose if callable(choose) else self.index(choose)
        work = partial(_chosen_without, path=self, X=X, weights=weights, choose=chosen)
        fits = run_each(work, folds, n_jobs=n_jobs, progress=progress, description="Rows left out")
        fold_of, residuals = np.empty(len(Y), dtype=np.intp), np.empty_like(Y)
        for number, (fold, one) in enumerate(zip(folds, fits, strict=True)):
            fold_of[fold.test] = number
            residuals[fold.test] = Y[fold.test] - one.predict(X[fold.test])[-1]
        mean = self.units.x_mean
        levels = np.array([one.predict(mean[None])[-1, 0] for one in fits])
        return tuple(
            LeftOut(
                residuals=read_only(residuals[:, j]),
                fold_of=fold_of,
                index=np.array([len(one.coef) - 1 for one in fits]),
                coef=read_only([one.coef[-1][:, j] for one in fits]),
                level=read_only(levels[:, j]),
                x_mean=mean,
            )
            for j in range(Y.shape[1])
        )

    def vip(self, m: int) -> Array:
        """Importance of every variable for all responses together. Shape (p,).

            sqrt( p sum_k SSY_k w_jk^2 / sum_k SSY_k )

        with SSY_k what component k adds to the explained sums of squares of all (scaled)
        responses, and orthonormal weights w; the squares average to one, as for one response.
        """
        m = as_row(m, len(self.dof), self.message)
        if m == 0:
            raise NotAvailableError(
                "The model without components uses no variable; ask for the importance with m >= 1."
            )
        left = np.einsum("mij,mij->m", self.fit.residuals, self.fit.residuals)
        added = left[:m] - left[1 : m + 1]
        weights = self.x_weights[:, :m] ** 2
        return np.asarray(np.sqrt(len(weights) * (weights @ added) / added.sum()))

    def smoothed_dof_by_response(self, draws: int = DRAWS, random_state: int = 0) -> Array:
        """Average `dof_by_response` over responses drawn around a fit. Shape (M + 1, q).

        As `Path.smoothed_dof`, with the derivative of a drawn response estimated by random
        directions, whose noise averages out over the draws.
        """
        weights = self.weights("exact", by="gcv")
        spare = self.units.n - weights @ self.dof_by_response
        mean = np.tensordot(weights, self.fit.fitted, axes=1)
        left_over = np.sum((self.fit.residuals[0] - mean) ** 2, axis=0)
        left_over += np.diagonal(self.outside) / self.y_scale**2
        noise = np.sqrt(left_over / spare)
        values = self.dof_by_response[None]
        if len(self.dof) > 1 and noise.any():
            rng = as_generator(random_state)
            traces = [
                sampled_traces(
                    self.decomposition.singular_values,
                    mean + noise * rng.standard_normal(mean.shape),
                    len(self.dof) - 1,
                    self.algorithm,
                    self.units.n if self.scale_response else None,
                    rng,
                )
                for _ in range(as_count(draws, "draws", minimum=1))
            ]
            values = np.concatenate([values, 1.0 + np.array(traces)])
        clipped = np.clip(values, 1.0, self.units.n)
        counted = np.isfinite(clipped)
        return read_only(np.nansum(clipped, axis=0) / counted.sum(axis=0))

    def smoothed_dof(self, draws: int = DRAWS, random_state: int = 0) -> Array:
        """Sum `smoothed_dof_by_response` over the responses. Shape (M + 1,)."""
        return read_only(self.smoothed_dof_by_response(draws, random_state).sum(axis=1))

    def weights(self, dof: str = "smoothed", *, by: str | None = None) -> Array:
        """Weigh models for their average. Shape (M + 1,), sum 1.

        By "mallows", the default, as `Path.weights`, with sums over the responses of residual sums
        of squares, over the noise variance, and of Degrees of Freedom. By "gcv":
        prod_j GCV_j^(-n/2) within the guard, one factor per response j. Neither depends on the
        units of the responses.
        """
        return self._weighed(dof, by)[0]

    def _weighed(self, dof: str, by: str | None) -> tuple[Array, int | None]:
        """Return weights, and the model whose noise variances are in them (none with "gcv")."""
        by = "mallows" if by is None else as_choice(by, "by", criteria.WEIGHINGS)
        values, n = self._dof_of(dof), self.units.n
        allowed = criteria.candidates(values.mean(axis=1), n)
        if not allowed.any():
            raise NotAvailableError("No model has between 1 and 0.9 n Degrees of Freedom.")
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(criteria.gcv(self.rss, values, n)).sum(axis=1)
        logs = np.where(allowed & ~np.isnan(logs), logs, np.inf)
        best = int(np.argmin(logs))
        if by == "mallows":
            chosen = self.select(dof=dof).index
            noise = self.rss[chosen] / (n - values[chosen])
            few = values[chosen].mean() <= criteria.RELIABLE_VARIANCE * n
            if few and np.all(noise > _EXACT * self.rss[0]):
                total, used = (self.rss / noise).sum(axis=1), values.sum(axis=1)
                return read_only(criteria.mallows_weights(total, used, chosen)), chosen
            best = chosen
        if by == "mallows" or not np.isfinite(logs[best]):  # an exact fit, or nearly
            return read_only(np.arange(len(logs)) == best), None
        weights = np.exp(-n / 2 * (logs - logs[best]))
        return read_only(weights / weights.sum()), None

    def average(self, dof: str = "smoothed", *, by: str | None = None) -> "PLS2Average":
        """Average the models with `weights`; see `Path.average`."""
        weights, chosen = self._weighed(dof, by)
        spare = None if chosen is None else self.units.n - self._dof_of(dof)[chosen]
        moved = weights @ self.dof_by_response + self._moved_by_weights(weights, chosen, spare)
        heaviest = int(np.argmax(weights))
        words = criteria.average_in_words(
            weights, [self.label(i) for i in self.n_components], float(moved.sum())
        )
        empty = self.select(dof=dof).empty_remark if weights[0] == 1.0 else ""
        return PLS2Average(
            path=self,
            weights=weights,
            dof_by_response=read_only(moved),
            selection=Selection(
                index=heaviest,
                parameter=float(heaviest),
                parameter_name="n_components",
                scores=read_only(self.criterion("gcv", dof=dof)),
                criterion="gcv",
                rule="average",
                dof=dof,
                noise="not used",
                message=f"{words} {empty}".rstrip(),
                remarks=(empty,) if empty else (),
            ),
        )

    def model(self, m: int) -> "PLS2Average":
        """Return one model, as an average with all weight on it."""
        index = self.index(m)
        return PLS2Average(
            path=self,
            weights=read_only(self.n_components == index),
            dof_by_response=read_only(self.dof_by_response[index]),
        )

    def _moved_by_weights(self, weights: Array, chosen: int | None, spare: Array | None) -> Array:
        """Return what the dependence of the weights on Y adds to `dof_by_response`. Shape (q,).

        As for one response (see `plsdof._core.averaging`) the average moves in the directions
        zhat_b - zhat_a, a and b neighbours among the models with weight, or zhat_m - zhat, and as
        far as residual sums of squares move in the part of that direction that belongs to one
        response. ``spare`` is n - DoF of the chosen model.
        """
        q, fitted = len(self.names), self.fit.fitted
        support = np.flatnonzero(weights)
        if len(support) == 1:  # one model, whose weight does not move
            return np.zeros(q)
        a, b = support[:-1], support[1:]
        if chosen is None:
            b = support
            spread = fitted[b] - np.tensordot(weights, fitted, axes=1)
        else:
            spread = fitted[b] - fitted[a]
        # One direction per response: what the fit of that response moves.
        directions = spread[:, None] * np.eye(q)[:, None]
        slopes = residual_slopes(
            self.decomposition.singular_values,
            self.fit.residuals[0],
            directions.reshape(len(b) * q, *spread.shape[1:]),
            len(self.dof) - 1,
            self.algorithm,
            self.units.n if self.scale_response else None,
            np.diagonal(self.outside) / self.y_scale**2,
        ).reshape(len(self.dof), len(b), q, q)
        own, rss = np.arange(len(b)), self.rss / self.y_scale**2
        if chosen is None or spare is None:
            relative = np.sum(slopes[b, own] / rss[b][:, None], axis=2)
            return np.asarray(-self.units.n / 2 * (weights[b] @ relative))
        # d v = (1 - v) sum_l (d (RSS_al - RSS_bl) / s_l^2 - (RSS_al - RSS_bl) / s_l^2 d log RSS_cl)
        # over the sum of (RSS_al - RSS_bl) / s_l^2, s_l^2 in proportion to RSS_cl.
        noise = rss[chosen] / spare
        gain = (rss[a] - rss[b]) / noise
        moved = (slopes[a, own] - slopes[b, own]) / noise
        moved -= gain[:, None] * slopes[chosen] / rss[chosen]
        lost = np.cumsum(weights[a]) / gain.sum(axis=1)
        return np.asarray(lost @ moved.sum(axis=2))

    def _dof_of(self, kind: str) -> Array:
        as_choice(kind, "dof", ("exact", "smoothed", "naive"))
        if kind == "naive":
            return np.repeat(1.0 + self.n_components[:, None], len(self.names), axis=1)
        return self._smoothed if kind == "smoothed" else self.dof_by_response

    @cached_property
    def _smoothed(self) -> Array:
        return self.smoothed_dof_by_response()

    def criterion(self, name: str, noise: str = "independent", dof: str = "exact") -> Array:
        """Evaluate a criterion for all responses together. Shape (M + 1,).

        With W_j one over the squared ``y_scale`` (1 unless responses were scaled),

            aic = sum_j W_j (RSS_j / n + 2 / n sigma_j^2 DoF_j),       bic: log(n) for 2,
            gcv = sum_j W_j (RSS_j / n) / (1 - DoF_j / n)^2,

        estimates of the total squared error of prediction, sum_j W_j |mu_j - muhat_j|^2 / n plus
        noise. For responses with the same noise variance the penalty of aic is
        2 / n sigma^2 DoF with the joint ``dof``. For one response they are the criteria of
        `Path.criterion` with noise "dof".

        Parameters
        ----------
        name : {"aic", "bic", "gcv"}
        noise : {"independent", "correlated"}
            Whether the noise of different responses in the same row is independent. If not,
            sigma_j^2 DoF_j, which stands for sum_i cov(yhat_ij, y_ij), is by Stein's lemma
            sum_k Sigma_jk D_jk with Sigma = `noise_covariance` and D = `dof_matrix`.
        dof : {"exact", "smoothed", "naive"}
            DoF_j: `dof_by_response`, `smoothed_dof_by_response`, or m + 1.
        """
        as_choice(name, "criterion", JOINT_CRITERIA)
        as_choice(noise, "noise", NOISE_MODELS)
        values = self._dof_of(dof)
        variance = criteria.noise_from_dof(self.rss, values, self.units.n)
        if noise == "correlated":
            others = self.dof_matrix * (1.0 - np.eye(len(self.names)))
            covariance = np.sum(self.noise_covariance() * others, axis=2)
            # Without any noise there is nothing that could be correlated.
            values = values + np.divide(
                covariance, variance, out=np.zeros_like(values), where=variance > 0
            )
        fits = Fits(rss=self.rss, dof=values, noise=variance, n=self.units.n, total=np.nan)
        return np.asarray(np.sum(criteria.score(name, fits) / self.y_scale**2, axis=1))

    def select(
        self,
        criterion: str = "gcv",
        noise: str = "independent",
        rule: str = "patient",
        *,
        dof: str | None = None,
        patience: int = criteria.PATIENCE,
    ) -> Selection:
        """Choose one number of components for all responses; see `criterion`.

        Rules, Degrees of Freedom and what is never chosen as for `Path.select`; the guard looks
        at the mean over the responses.
        """
        dof = default_dof(rule) if dof is None else dof
        scores = self.criterion(criterion, noise, dof)
        allowed = criteria.candidates(self._dof_of(dof).mean(axis=1), self.units.n)
        eligible = np.where(allowed, scores, np.nan) if allowed.any() else scores
        index = criteria.choose(eligible, rule, as_count(patience, "patience", minimum=1))
        count = len(self.names)
        words = criteria.choice_in_words(
            f"{self.label(index)} for {plural(count, 'response')}",
            float(self.dof[index]),
            rule,
            criterion,
        )
        remarks = criteria.remarks(
            scores=scores,
            allowed=allowed,
            chosen=index,
            criterion=criterion,
            n=self.units.n,
            dof=self.dof / count,
            label=self.label,
            longer=not self.message and len(self.dof) - 1 < len(self.decomposition.eigenvalues),
        )
        return Selection(
            index=index,
            parameter=float(index),
            parameter_name="n_components",
            scores=read_only(scores),
            criterion=criterion,
            rule=rule,
            dof=dof,
            noise=noise,
            message=" ".join([words, *remarks]),
            remarks=tuple(remarks),
        )

    def label(self, index: int) -> str:
        """Return what a row of the path is, in words."""
        return plural(index, "component")

    def index(self, m: int) -> int:
        """Check a row of the path and return it."""
        return as_row(m, len(self.dof), self.message)

    @cached_property
    def _residual_products(self) -> Array:
        inside: Array = np.einsum("mij,mik->mjk", self.fit.residuals, self.fit.residuals)
        return inside * np.outer(self.y_scale, self.y_scale) + self.outside

    def __repr__(self) -> str:
        return (
            f"PLS2Path({len(self.dof)} models, n={self.units.n:g}, p={len(self.units.x_mean)}, "
            f"{len(self.names)} responses, algorithm={self.algorithm!r})"
        )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PLS2Average:
    """The weighted average of all models of a `PLS2Path`.

    Attributes
    ----------
    path : PLS2Path
        The models.
    weights : (M + 1,) array
    dof_by_response : (q,) array
        Trace of d yhat_j / d y_j, with what the dependence of the weights on Y adds.
    selection : Selection or None
        The average in words; its index is the model with the largest weight.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(30, 4))
    >>> average = pls2_path(X, X[:, :2] + rng.normal(size=(30, 2))).average()
    >>> average.coef.shape, average.predict(X).shape
    ((4, 2), (30, 2))
    """

    path: PLS2Path
    weights: Array
    dof_by_response: Array
    selection: Selection | None = None

    @property
    def dof(self) -> float:
        """Sum of `dof_by_response`."""
        return float(self.dof_by_response.sum())

    @cached_property
    def coef(self) -> Array:
        """Coefficients in original units. Shape (p, q)."""
        return read_only(np.tensordot(self.weights, self.path.coef, axes=1))

    @cached_property
    def intercept(self) -> Array:
        """Intercepts. Shape (q,)."""
        return read_only(self.weights @ self.path.intercept)

    @cached_property
    def fitted(self) -> Array:
        """Fitted values of the training rows with positive weight. Shape (n_rows, q)."""
        return read_only(np.tensordot(self.weights, self.path.fitted, axes=1))

    @property
    def rss(self) -> Array:
        """Residual sums of squares. Shape (q,)."""
        scale = self.path.y_scale
        left_over = np.tensordot(self.weights, self.path.fit.residuals, axes=1) * scale
        return read_only(np.sum(left_over**2, axis=0) + np.diagonal(self.path.outside))

    @property
    def noise_variance(self) -> Array:
        """RSS_j / (n - DoF_j) of every response; nan where DoF_j >= n. Shape (q,)."""
        return criteria.noise_from_dof(self.rss, self.dof_by_response, self.path.units.n)

    @property
    def n_components(self) -> float:
        """Weighted mean of the numbers of components."""
        return float(self.weights @ self.path.n_components)

    def predict(self, X_new: Any) -> Array:
        """Predict new rows. Shape (n_new, q)."""
        return np.tensordot(self.weights, self.path.predict(X_new), axes=1)

    def noise_covariance(self) -> Array:
        """Estimate the covariance of the noise, as `PLS2Path.noise_covariance`. Shape (q, q)."""
        path, spare = self.path, self.path.units.n - self.dof_by_response
        if np.any(spare <= 0):
            used = ", ".join(f"{one:.1f}" for one in self.dof_by_response)
            raise NotAvailableError(
                f"Nothing is left to estimate the noise of some response from (n = "
                f"{path.units.n:g}, Degrees of Freedom {used}); choose a smaller model."
            )
        left_over = np.tensordot(self.weights, path.fit.residuals, axes=1) * path.y_scale
        products = left_over.T @ left_over + path.outside
        return np.asarray(products / np.sqrt(np.outer(spare, spare)))

    def coef_root(self) -> Array:
        """Return B with cov(beta_.j) = B_j B_j' for every response j. Shape (p, q, r q).

        As `PLS2Path.coef_root`, with the weights held fixed.
        """
        return self.path.weighted_coef_root(self.weights, self.noise_covariance())

    def coef_std_error(self) -> Array:
        """Standard errors of the coefficients. Shape (p, q)."""
        root = self.coef_root()
        p, q, k = root.shape
        return row_norms(root.reshape(p * q, k)).reshape(p, q)

    def coef_interval(self, level: float = 0.95) -> Array:
        """Confidence intervals of the expected coefficients. Shape (p, q, 2)."""
        half = self._critical(level) * self.coef_std_error()
        return np.stack([self.coef - half, self.coef + half], axis=2)

    def prediction_interval(
        self, X_new: Any, level: float = 0.95, kind: str = "observation"
    ) -> Array:
        """Intervals of new observations, or of the expected fit ("mean"). Shape (n_new, q, 2).

        As `PLS2Path.prediction_interval`, with the weights held fixed.
        """
        as_choice(kind, "kind", ("observation", "mean"))
        units = self.path.units
        new = as_new_rows(X_new, len(units.x_mean), units.names) - units.x_mean
        root = self.coef_root()
        reach = (new @ root.reshape(len(root), -1)).reshape(len(new), *root.shape[1:])
        noise = np.diagonal(self.noise_covariance())
        variance = noise * (1.0 / units.n + (kind == "observation"))
        half = self._critical(level) * np.sqrt(variance + np.vecdot(reach, reach))
        center = self.path.y_mean + new @ self.coef
        return np.stack([center - half, center + half], axis=2)

    def _critical(self, level: float) -> Array:
        """Return the t quantile of every response. Shape (q,)."""
        spare = self.path.units.n - self.dof_by_response
        return np.array([critical_value(level, float(max(df, 1.0))) for df in spare])

    def __repr__(self) -> str:
        return one_line(self, f"{len(self.weights)} models", dof=self.dof)


def pls2_path(
    X: Any,
    Y: Any,
    max_components: int | None = None,
    *,
    algorithm: str = "nipals",
    scale: bool = True,
    scale_response: bool = False,
    sample_weight: Any = None,
    strict: bool = False,
) -> PLS2Path:
    """Fit PLS2 with 0..M components for all responses, with exact Degrees of Freedom.

    Component m has the weight vector w that maximises |cov(X w, Y_m)|, Y_m what m - 1 components
    have left, and

        DoF(m) = q + trace( d vec(Yhat_m) / d vec(Y) )   of the centred data,

    by exact forward differentiation of the algorithm.

    Parameters
    ----------
    X : (n, p) array or data frame
    Y : (n, q) array or data frame, or (n,) array
    max_components : int, optional
        Largest model wanted; by default all that the data support.
    algorithm : {"nipals", "simpls"}
        Deflate X and Y by the scores (Wold; scikit-learn's PLSRegression), or the cross-product
        X'Y by the loadings (de Jong 1993). They agree for one response only.
    scale : bool
        Scale the columns of X to unit variance (divisor n - 1).
    scale_response : bool
        Scale the columns of Y likewise, which gives every response the same say; that the scale
        depends on Y is part of the derivative.
    sample_weight : (n,) array, optional
        Weights; integer weights mean repeated rows.
    strict : bool
        Raise `RankExhaustedError` instead of warning when ``max_components`` is not reached.

    Returns
    -------
    PLS2Path

    Notes
    -----
    There is no closed form as for one response, so one derivative per direction is needed:
    O(r^2 q M (q + M)) time, in blocks of bounded memory, three times over to estimate the
    rounding error. For q = 1 `pls_path` gives the same numbers in O(r M^2). Where the two largest
    singular values of the deflated cross-product coincide, the fit is not differentiable and the
    path ends.

    References
    ----------
    S. de Jong (1993), SIMPLS: an alternative approach to partial least squares regression,
    Chemometrics and Intelligent Laboratory Systems 18, 251-263.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(30, 4))
    >>> Y = X[:, :2] * [3.0, 1.0] + rng.normal(size=(30, 2))
    >>> path = pls2_path(X, Y)
    >>> path.dof.round(2)
    array([ 2.  ,  6.59,  9.5 ,  9.72, 10.  ])
    """
    as_choice(algorithm, "algorithm", ALGORITHMS)
    require_flag(scale_response, "scale_response")
    asked = optional_count(max_components)
    X, Y, sample_weight = opened_table(X, Y, sample_weight)
    names, responses = as_responses(Y)
    data = standardize(X, responses[:, 0], scale=scale, sample_weight=sample_weight)
    kept = kept_rows(responses, sample_weight)
    centred = [centre_response(y, data.units.row_scale) for y in kept.T]
    values = np.column_stack([one.values for one in centred])
    spread = np.sqrt(np.einsum("ij,ij->j", values, values) / (data.units.n - 1.0))
    y_scale = np.where(spread > 0, spread, 1.0) if scale_response else np.ones(len(names))
    decomposition = decompose(data, "svd")
    spectra = [decomposition.spectrum(column, data.units.n) for column in (values / y_scale).T]
    fit = joint_fit(spectra, asked, algorithm, scaled=scale_response)
    beyond = _outside(decomposition, values)
    path = PLS2Path(
        units=data.units,
        decomposition=decomposition,
        fit=fit,
        y_mean=read_only([one.mean for one in centred]),
        y_scale=read_only(y_scale),
        outside=read_only(beyond.T @ beyond),
        names=names,
        algorithm=algorithm,
        scale_response=scale_response,
        response=read_only(kept.copy()),
        fit_again=partial(
            pls2_path,
            max_components=asked,
            algorithm=algorithm,
            scale=scale,
            scale_response=scale_response,
        ),
    )
    report_end(path, strict, asked)
    return path


def _outside(decomposition: Decomposition, values: Array) -> Array:
    """Return what of the centred responses no linear function of X reaches. Shape (n_rows, q)."""
    if len(values) - 1 <= len(
        decomposition.eigenvalues
    ):  # then X reaches everything, up to rounding
        return np.zeros_like(values)
    rotated = np.column_stack([decomposition.rotate(column) for column in values.T])
    return values - decomposition.to_samples(rotated)


# Cross-validation
# ----------------


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PLS2CrossValidation:
    """Errors of PLS2 on rows that were left out; made by `cross_validate_pls2`.

    Attributes
    ----------
    mean_error, std_error : (M + 1, q) arrays
        Mean squared error of every model and response over the folds, and its standard error.
    y_scale : (q,) array
        What errors of different responses are divided by before they are added: standard
        deviations where responses were scaled, ones otherwise.
    names : tuple of str
    n_folds : int

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(40, 4))
    >>> cross_validate_pls2(X, X[:, :2] + 0.1 * rng.normal(size=(40, 2)), cv=5)
    PLS2CrossValidation(5 folds, 2 responses, best at 4 components)
    """

    mean_error: Array
    std_error: Array
    y_scale: Array
    names: tuple[str, ...]
    n_folds: int

    @property
    def total_error(self) -> Array:
        """Errors added over the responses. Shape (M + 1,)."""
        return np.asarray(np.sum(self.mean_error / self.y_scale**2, axis=1))

    @property
    def n_components(self) -> int:
        """Number of components with the smallest total error."""
        return int(np.argmin(self.total_error))

    def __repr__(self) -> str:
        return one_line(
            self,
            f"{self.n_folds} folds",
            f"{len(self.names)} responses",
            f"best at {self.n_components} components",
        )


def cross_validate_pls2(
    X: Any,
    Y: Any,
    max_components: int | None = None,
    *,
    cv: Any = 10,
    groups: Any = None,
    random_state: Any = None,
    algorithm: str = "nipals",
    scale: bool = True,
    scale_response: bool = False,
    sample_weight: Any = None,
) -> PLS2CrossValidation:
    """Cross-validate PLS2 for all responses and numbers of components at once.

    Parameters
    ----------
    X, Y, max_components, algorithm, scale, scale_response, sample_weight
        As for `pls2_path`; centring and scaling are done again in every fold.
    cv, groups, random_state
        Folds, as for `plsdof.selection.make_folds`; ``groups`` keeps rows together.

    Notes
    -----
    Cost: one decomposition per fold, no derivatives.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(40, 4))
    >>> Y = X[:, :2] * [3.0, 1.0] + rng.normal(size=(40, 2))
    >>> cross_validate_pls2(X, Y, 3).mean_error.shape
    (4, 2)
    """
    as_choice(algorithm, "algorithm", ALGORITHMS)
    X, Y, sample_weight = opened_table(X, Y, sample_weight)
    names, responses = as_responses(Y)
    rows = as_matrix(X, min_rows=3)
    weights = as_weights(sample_weight, len(rows))
    folds = make_folds(rows, responses, cv, groups, random_state=random_state)
    most = min(min(len(fold.train) for fold in folds) - 1, rows.shape[1])
    asked = optional_count(max_components)
    steps = most if asked is None else min(asked, most)
    errors, shares = [], []
    for fold in folds:
        kept = None if weights is None else weights[fold.train]
        fitted = _fit_values(
            rows[fold.train], responses[fold.train], steps, algorithm, scale, scale_response, kept
        )
        left = responses[fold.test] - fitted.predict(rows[fold.test])
        share = np.ones(len(fold.test)) if weights is None else weights[fold.test]
        if share.sum() > 0:
            errors.append(np.einsum("i,mij->mj", share, left**2) / share.sum())
            shares.append(share.sum())
    # Every row counts the same, also where folds differ in size.
    size, part = min(len(one) for one in errors), np.array(shares) / sum(shares)
    found = np.array([one[:size] for one in errors])
    mean = np.tensordot(part, found, axes=1)
    variance = np.tensordot(part, (found - mean) ** 2, axes=1) / (len(found) - 1.0)
    spread = responses.std(axis=0, ddof=1)
    return PLS2CrossValidation(
        mean_error=read_only(mean),
        std_error=read_only(np.sqrt(variance)),
        y_scale=read_only(np.where(spread > 0, spread, 1.0) if scale_response else 0 * spread + 1),
        names=names,
        n_folds=len(found),
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class _Fitted:
    """All models of PLS2 on some rows: coefficients (M + 1, p, q) of deviations, and means."""

    coef: Array
    x_mean: Array
    y_mean: Array

    def predict(self, X_new: Array) -> Array:
        """Predict new rows with every model. Shape (M + 1, n_new, q)."""
        return np.asarray(self.y_mean + (X_new - self.x_mean) @ self.coef)


def _chosen_without(
    fold: Fold,
    path: PLS2Path,
    X: Array,
    weights: Array,
    choose: int | Callable[[PLS2Path], int],
) -> _Fitted:
    """Fit without a fold; the chosen model is the last one."""
    part, Y, share = X[fold.train], path.response[fold.train], weights[fold.train]
    if isinstance(choose, int):
        scale = path.fit_again.keywords["scale"]
        return _fit_values(part, Y, choose, path.algorithm, scale, path.scale_response, share)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PlsdofWarning)  # the whole fit has reported
        again = path.fit_again(part, Y, sample_weight=share)
        m = choose(again)
    return _Fitted(coef=again.coef[: m + 1], x_mean=again.units.x_mean, y_mean=again.y_mean)


def _fit_values(
    X: Array,
    Y: Array,
    steps: int,
    algorithm: str,
    scale: bool,
    scale_response: bool,
    weights: Array | None,
) -> _Fitted:
    """Fit PLS2 without derivatives."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PlsdofWarning)  # constant columns of a fold
        data = standardize(X, Y[:, 0], scale=scale, sample_weight=weights)
    centred = [centre_response(y, data.units.row_scale) for y in kept_rows(Y, weights).T]
    values = np.column_stack([one.values for one in centred])
    spread = np.sqrt(np.sum(values**2, axis=0) / (data.units.n - 1.0))
    y_scale = np.where(spread > 0, spread, 1.0) if scale_response else np.ones(Y.shape[1])
    decomposition = decompose(data, "svd")
    S = decomposition.singular_values
    Z = np.column_stack([decomposition.rotate(column) for column in (values / y_scale).T])
    fitted = joint_values(S, Z, steps, algorithm) / S[:, None]
    features = np.array([decomposition.to_features(one) for one in fitted])
    coef = features * y_scale / data.units.x_scale[:, None]
    mean = np.array([one.mean for one in centred])
    return _Fitted(coef=coef, x_mean=data.units.x_mean, y_mean=mean)
