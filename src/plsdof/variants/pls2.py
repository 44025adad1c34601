"""PLS2: one set of components for several responses, with exact Degrees of Freedom.

PLS2 chooses its components for all responses together, so that the fit of one response depends
on the others. No spectral filter describes it for q > 1, because its components are not in one
Krylov space; the derivative is carried along instead, when somebody asks for it. `Path.refit`
fits every response alone.

A choice and intervals come from rows left out, as for one response: the residuals of
all responses, each over its scale, are one left-out matrix.
"""

from collections.abc import Iterator
from functools import partial
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt

from plsdof._core import choice, criteria
from plsdof._core.choice import LEFT_OUT, Loss, Rule, Selection
from plsdof._core.criteria import Fits
from plsdof._core.display import one_line, plural
from plsdof._core.exact import row_norms
from plsdof._core.fit import optional_count, report_end
from plsdof._core.inputs import (
    Array,
    Observations,
    Units,
    as_choice,
    as_float,
    as_matrix,
    as_new_rows,
    as_observations,
    centre_response,
    feature_names,
    opened_table,
    read_only,
    require_flag,
    standardize_observations,
)
from plsdof._core.left_out import LeftOut, folds_of, half_width, noise_from_left_out
from plsdof._core.path import predictors_of
from plsdof._core.recipe import Method, Recipe
from plsdof._core.recursion import Split
from plsdof._core.rounding import SUPPORTED_ERROR
from plsdof._core.spectrum import Decomposition, Spectrum, decompose
from plsdof._core.threads import cached_property
from plsdof._core.warnings import quietly, warn_caller
from plsdof.errors import InvalidInputError, NotAvailableError, RankExhaustedWarning
from plsdof.inference.intervals import INTERVAL_METHODS, critical_value
from plsdof.variants._pls2 import (
    ALGORITHMS,
    JointFit,
    joint_fit,
    joint_jacobian,
    joint_traces,
)

Algorithm = Literal["nipals", "simpls"]
JointCriterion = Literal["left-out", "aic", "bic", "gcv", "hqc"]
# Criteria whose sum over responses estimates one number, the total squared error of prediction.
JOINT_CRITERIA = tuple(name for name, one in criteria.CRITERIA.items() if one.additive)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PLS2Path:
    """PLS2 for 0..M components; arrays over models start at the empty model.

    ``path[m]`` is the model with m components. Fits, coefficients and scores are there at once;
    Degrees of Freedom are made when they are needed for the first time.

    Attributes
    ----------
    recipe : Recipe
        How the path was fitted: ``path.recipe.fit(X, Y)`` fits the same to other rows.
    names : tuple of str
        Column names of Y; "0", "1", ... if it had none.
    units : Units
        Means, scales and weights of the rows and columns of X.
    decomposition : Decomposition
        Singular vectors of the standardised predictors.
    fit : JointFit
        Fits in rotated coordinates.
    y_mean, y_scale : (q,) arrays
        ``(y - y_mean) / y_scale`` is what was fitted.
    outside : (q, q) array
        Cross-products of what no linear function of X reaches.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(30, 4))
    >>> path = pls2_path(X, X[:, :2] + rng.normal(size=(30, 2)), 2)
    >>> path, path.coef.shape
    (PLS2Path(3 models, n=30, p=4, 2 responses, algorithm='nipals'), (3, 4, 2))
    """

    recipe: Recipe
    names: tuple[str, ...]
    units: Units
    decomposition: Decomposition
    fit: JointFit
    y_mean: Array
    y_scale: Array
    outside: Array
    given: Observations
    _responses: Array
    _spectra: tuple[Spectrum, ...]

    def __len__(self) -> int:
        return len(self.fit.fitted)

    def __getitem__(self, m: int) -> "PLS2Model":
        """Return the model with m components; -1 is the last one."""
        if not isinstance(m, int | np.integer) or isinstance(m, bool):
            raise InvalidInputError(f"path[m] takes a number of components; got {m!r:.60}.")
        if not -len(self) <= m < len(self):
            raise IndexError(
                f"The path has models 0..{len(self) - 1}; got {m}. {self.message}".rstrip()
            )
        return PLS2Model(path=self, index=int(m) % len(self))

    def __iter__(self) -> Iterator["PLS2Model"]:
        return (self[m] for m in range(len(self)))

    @property
    def n_components(self) -> npt.NDArray[np.intp]:
        """Numbers of components 0, 1, ..., M."""
        return np.arange(len(self))

    @property
    def parameter_name(self) -> str:
        """Models differ in "n_components"."""
        return "n_components"

    @property
    def message(self) -> str:
        """Why the path is shorter than wanted; empty if it is not."""
        return self.fit.message

    # Fits
    # ----

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
        return self.y_mean + self._deviation(X_new) @ self.coef

    # Scores and loadings
    # -------------------

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

    @cached_property
    def y_loadings(self) -> Array:
        """Coefficients of the (scaled) responses on the scores, Y't / (t't). Shape (q, M)."""
        along = np.einsum("im,mij->jm", self.fit.scores, self.fit.residuals[:-1])
        return read_only(along / self.fit.lengths)

    def transform(self, X_new: Any) -> Array:
        """Return the scores of new rows on all components. Shape (n_new, M)."""
        return self._deviation(X_new) / self.units.x_scale @ self.x_rotations

    def inverse_transform(self, scores: Any) -> Array:
        """Return the predictors that scores stand for; see `ComponentPath.inverse_transform`."""
        return predictors_of(as_matrix(scores, "scores"), self.x_loadings, self.units)

    # Degrees of Freedom
    # ------------------

    @property
    def dof(self) -> Array:
        """Trace of d vec(Yhat) / d vec(Y), with one for each of the q intercepts. (M + 1,)."""
        return read_only(self.dof_by_response.sum(axis=1))

    @cached_property
    def dof_by_response(self) -> Array:
        """Sums of d yhat_ij / d y_ij over rows i, one column per response. (M + 1, q).

        nan where rounding leaves them uncertain, which is said once.
        """
        traces, error = self._traces
        found = 1.0 + traces
        bad = np.logical_not(error <= SUPPORTED_ERROR * np.maximum(1.0, np.abs(found.sum(axis=1))))
        if bad.any():
            first = int(np.argmax(bad))
            found[first:] = np.nan
            warn_caller(
                f"Degrees of Freedom are known up to {self.label(first - 1)}: beyond, rounding in "
                f"the data's decomposition changes them by more than {SUPPORTED_ERROR:g} relative.",
                RankExhaustedWarning,
            )
        return read_only(found)

    @property
    def dof_error(self) -> Array:
        """Estimated absolute rounding error of `dof`. Shape (M + 1,)."""
        return self._traces[1]

    @property
    def naive_dof(self) -> Array:
        """What counting parameters gives, q (m + 1). Shape (M + 1,)."""
        return read_only(len(self.names) * (1.0 + self.n_components))

    @property
    def is_counted(self) -> bool:
        """Whether Degrees of Freedom are there already."""
        return "_traces" in self.__dict__

    @cached_property
    def _traces(self) -> tuple[Array, Array]:
        return joint_traces(self._spectra, self.fit, self.recipe.algorithm, self._n_scaled)

    # Rows left out, and choice
    # -------------------------

    def left_out(self, cv: Any = None, groups: Any = None) -> LeftOut:
        """Leave rows out: residuals of every model by fits without them, made once.

        Parameters
        ----------
        cv, groups
            As for `Path.left_out`.

        Returns
        -------
        LeftOut
            The residuals of all responses in one row per model, (M + 1, n_rows q): those of the
            first training row, then those of the second. All are in units of ``y_scale``, and so
            is ``y``, without its mean.

        Notes
        -----
        Cost: one decomposition per fold, no derivatives.

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(30, 4))
        >>> path = pls2_path(X, X[:, :2] + rng.normal(size=(30, 2)), 2)
        >>> path.left_out().residuals.shape
        (3, 60)
        """
        fold, count = folds_of(self.given, cv, groups)
        key = fold.tobytes(), count is None
        if key not in self._known_left_out:
            self._known_left_out[key] = self.leave_out(fold, count)
        return self._known_left_out[key]

    @cached_property
    def _known_left_out(self) -> dict[Any, LeftOut]:
        return {}

    def leave_out(self, fold: npt.NDArray[np.intp], count: int | None) -> LeftOut:
        X, Y, weights = self.given.X, self._responses, self.given.weights
        residuals = np.empty((len(self), *Y.shape))
        split, leverage = Split.of(fold), np.empty((len(self), len(Y)))
        exhausted = np.zeros((len(self), split.count), dtype=bool)
        for f, test in enumerate(split.tests):
            kept = np.ones(len(Y), dtype=bool)
            kept[test] = False
            with quietly():
                part = self.recipe.fit(X[kept], Y[kept], None if weights is None else weights[kept])
                predicted = part.predict(X[test])
            # A fit that has fewer models repeats its last one.
            last = np.minimum(self.n_components, len(predicted) - 1)
            residuals[:, test] = Y[test] - predicted[last]
            exhausted[len(predicted) :, f] = True
            assert isinstance(part, PLS2Path)
            T = part.transform(X[test]) / np.sqrt(np.sum(part.x_scores**2, axis=0))
            squares = np.vstack([np.zeros(len(T)), np.cumsum(T.T**2, axis=0)])
            leverage[:, test] = 1.0 / np.count_nonzero(kept) + squares[last]
        q = len(self.names)
        return LeftOut(
            parameters=read_only(self.n_components.astype(np.float64)),
            parameter_name=self.parameter_name,
            order=self.n_components,
            residuals=read_only((residuals / self.y_scale).reshape(len(self), -1)),
            rss=read_only((self.rss / self.y_scale**2).sum(axis=1)),
            fold=np.repeat(fold, q),
            y=read_only(((Y - self.y_mean) / self.y_scale).ravel()),
            sample_weight=None if weights is None else read_only(np.repeat(weights, q)),
            groups=count,
            leverage=read_only(np.repeat(leverage, q, axis=1)),
            exhausted=exhausted,
            rounding=read_only(np.zeros(len(self))),
        )

    def _unstacked(self, residuals: Array) -> Array:
        """Return residuals of `left_out` in original units. Shape (..., n_rows, q)."""
        return residuals.reshape(*residuals.shape[:-1], -1, len(self.names)) * self.y_scale

    def select(
        self,
        criterion: JointCriterion | None = None,
        *,
        rule: Rule | None = None,
        groups: Any = None,
        cv: Any = None,
        loss: Loss = "squared",
    ) -> Selection:
        """Choose one number of components for all responses.

        Parameters
        ----------
        criterion : {"left-out", "aic", "bic", "gcv", "hqc"}, optional
            By default the errors of rows left out, added up over the responses (in units of
            ``y_scale``), with a small price for complexity; or a criterion, see `criterion`.
        rule, groups, cv, loss
            As for `Path.select`.

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(30, 4))
        >>> pls2_path(X, X[:, :2] * [3.0, 1.0] + rng.normal(size=(30, 2))).select()
        Selection(n_components=..., criterion='left-out', rule='best-model', score=...)
        """
        name = as_choice(
            LEFT_OUT if criterion is None else criterion, "criterion", (LEFT_OUT, *JOINT_CRITERIA)
        )
        refused = {"rule": rule} if name == LEFT_OUT else {"groups": groups, "cv": cv}
        for option, value in refused.items():
            if value is not None:
                raise InvalidInputError(
                    f"{option} does not belong to a choice by {name!r}; leave it out."
                )
        longer = not self.message and len(self) - 1 < len(self.decomposition.eigenvalues)
        if name == LEFT_OUT:
            left = self.left_out(cv, groups)
            return choice.select_left_out(
                [left], loss, label=self._label_of, longer=partial(_constant, longer)
            )
        scores, used = self.criterion(name), rule or "paper"
        index, q = choice.choose(scores, used, self.dof), len(self.names)
        label = f"{self.label(index)} for {plural(q, 'response')}"
        return Selection(
            index=index,
            parameter=float(index),
            parameter_name=self.parameter_name,
            scores=read_only(scores),
            criterion=name,
            rule=used,
            summary=choice.choice_in_words(label, float(self.dof[index]), used, name),
            # Each response by itself: that one intercept is one Degree of Freedom is said there.
            _remarks=choice.criterion_remarks(
                scores, self.dof / q, index, self.units.n, label=self.label, longer=longer
            ),
        )

    def criterion(self, name: str) -> Array:
        """Evaluate a criterion for all responses together. Shape (M + 1,).

        With W_j one over the squared ``y_scale`` (1 unless responses were scaled) and sigma_j^2 =
        RSS_j / (n - DoF_j),

            aic = sum_j W_j (RSS_j / n + 2 / n sigma_j^2 DoF_j),       bic: log(n) for 2,
            gcv = sum_j W_j (RSS_j / n) / (1 - DoF_j / n)^2,

        estimates of the total squared error of prediction, sum_j W_j |mu_j - muhat_j|^2 / n plus
        noise, for noise that is independent between responses. For one response they are the
        criteria of `Path.criterion` with noise "dof".

        Parameters
        ----------
        name : {"aic", "bic", "gcv", "hqc"}
        """
        as_choice(name, "criterion", JOINT_CRITERIA)
        n, dof = self.units.n, self.dof_by_response
        noise = criteria.noise_from_dof(self.rss, dof, n)
        fits = Fits(rss=self.rss, dof=dof, noise=noise, n=n, total=np.nan)
        return np.asarray(np.sum(criteria.score(name, fits) / self.y_scale**2, axis=1))

    # What rooms that read a path need
    # --------------------------------

    @property
    def _n_scaled(self) -> float | None:
        """Number of rows, if the scales of the responses depend on them."""
        return self.units.n if self.recipe.scale_response else None

    @cached_property
    def _weights(self) -> Array:
        weights = self.given.weights
        return np.ones(len(self._responses)) if weights is None else weights

    @cached_property
    def _residual_products(self) -> Array:
        inside: Array = np.einsum("mij,mik->mjk", self.fit.residuals, self.fit.residuals)
        return inside * np.outer(self.y_scale, self.y_scale) + self.outside

    def _label_of(self, recipe: int, index: int) -> str:  # noqa: ARG002
        return self.label(index)

    def response(self) -> Array:
        """Return the responses. Shape (n_rows, q)."""
        return self._responses

    def _deviation(self, X_new: Any) -> Array:
        """Return new rows minus the means of the training rows, after checking their columns."""
        return as_new_rows(X_new, len(self.units.x_mean), self.units.names) - self.units.x_mean

    def label(self, index: int) -> str:
        """Return what a row of the path is, in words."""
        return plural(index, "component")

    def __repr__(self) -> str:
        return (
            f"PLS2Path({len(self)} models, n={self.units.n:g}, p={len(self.units.x_mean)}, "
            f"{len(self.names)} responses, algorithm={self.recipe.algorithm!r})"
        )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PLS2Model:
    """One model of a `PLS2Path`, ``path[m]``.

    Attributes
    ----------
    path : PLS2Path
        All models.
    index : int
        Number of components.
    selection : Selection or None
        How it was chosen; None for a model taken from a path.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(30, 4))
    >>> model = pls2_path(X, X[:, :2] + rng.normal(size=(30, 2)))[2]
    >>> model, model.coef.shape, model.prediction_interval(X[:5]).shape
    (PLS2Model(2 components, 2 responses, p=4), (4, 2), (5, 2, 2))
    """

    path: PLS2Path
    index: int
    selection: Selection | None = None

    @property
    def label(self) -> str:
        """What it is, in words."""
        return self.path.label(self.index)

    @property
    def n_components(self) -> int:
        """Number of components."""
        return self.index

    @property
    def is_average(self) -> bool:
        """Whether it averages models: PLS2 does not."""
        return False

    @property
    def coef(self) -> Array:
        """Coefficients in original units. Shape (p, q)."""
        return read_only(self.path.coef[self.index])

    @property
    def intercept(self) -> Array:
        """Intercepts. Shape (q,)."""
        return read_only(self.path.intercept[self.index])

    @property
    def fitted(self) -> Array:
        """Fitted values of the training rows with positive weight. Shape (n_rows, q)."""
        return read_only(self.path.fitted[self.index])

    @property
    def dof(self) -> float:
        """Sum of `dof_by_response`."""
        return float(self.path.dof[self.index])

    @property
    def dof_by_response(self) -> Array:
        """Traces of d yhat_j / d y_j, X and the model held fixed. Shape (q,)."""
        return read_only(self.path.dof_by_response[self.index])

    @property
    def rss(self) -> Array:
        """(Weighted) residual sums of squares. Shape (q,)."""
        return read_only(self.path.rss[self.index])

    def predict(self, X_new: Any) -> Array:
        """Predict new rows. Shape (n_new, q)."""
        return np.asarray(self.path.y_mean + self.path._deviation(X_new) @ self.coef)

    def vip(self) -> Array:
        """Return the importance of every variable for all responses together. Shape (p,).

            sqrt( p sum_k SSY_k w_jk^2 / sum_k SSY_k )

        with SSY_k what component k adds to the explained sums of squares of all (scaled)
        responses, and orthonormal weights w; the squares average to one, as for one response.
        """
        m, path = self.index, self.path
        if m == 0:
            raise NotAvailableError(
                "Importance belongs to 1 or more components, and this model has none; ask path[m]."
            )
        left = np.einsum("mij,mij->m", path.fit.residuals, path.fit.residuals)
        added = left[:m] - left[1 : m + 1]
        weights = path.x_weights[:, :m] ** 2
        return np.asarray(np.sqrt(len(weights) * (weights @ added) / added.sum()))

    # Rows left out
    # -------------

    @property
    def left_out(self) -> LeftOut:
        """The left-out matrix: that behind the choice, or that of the usual folds."""
        known = None if self.selection is None else self.selection.left_out
        return self.path.left_out() if known is None else known

    @property
    def left_out_residuals(self) -> Array:
        """Residuals of rows by the fits without them. Shape (n_rows, q)."""
        return read_only(self.path._unstacked(self.left_out.residuals[self.index]))

    @property
    def rmse(self) -> Array:
        """Roots of the mean squared left-out residuals, RMSECV. Shape (q,)."""
        press = np.diagonal(self._products(self.left_out_residuals))
        return np.asarray(np.sqrt(press / self.path.units.n))

    @cached_property
    def scores(self) -> Array:
        """Absolute left-out residuals behind intervals, see `Model.scores`. Shape (n_rows, q)."""
        if not self.was_chosen:
            return read_only(np.abs(self.left_out_residuals))
        assert self.selection is not None
        made, _ = choice.chosen_without([self.left_out], self.selection.loss)
        return read_only(np.abs(self.path._unstacked(made)))

    @property
    def was_chosen(self) -> bool:
        """Whether rows left out have chosen it, and choose again without each fold."""
        return self.selection is not None and self.selection.rule == "best-model"

    def half_width(self, level: float = 0.95) -> Array:
        """Return half the widths of intervals for a new observation, see `Model.half_width`. (q,).

        Each response is covered by itself.
        """
        left, weights = self.left_out, self.path.given.weights
        widths = [
            half_width(column, level, weights=weights, groups=left.groups, spent=self.spent)
            for column in self.scores.T
        ]
        return np.array(widths)

    @property
    def spent(self) -> float:
        """Degrees of freedom that are lost for intervals, see `LeftOut.spent`."""
        left = self.left_out
        units = len(self.scores) if left.groups is None else left.groups
        weights = (self.path.n_components == self.index).astype(np.float64)
        return left.spent(weights, units, chosen=self.was_chosen)

    # Noise, standard errors, intervals
    # ---------------------------------

    def noise_variance(self) -> Array:
        """Estimate the noise variances, see `PLS2Path.noise_variance`. Shape (q,)."""
        n = self.path.units.n
        return noise_from_left_out(self.rss, n * self.rmse**2, n)

    @property
    def noise_std(self) -> Array:
        """Roots of `noise_variance`. Shape (q,)."""
        return np.sqrt(self.noise_variance())

    def noise_covariance(self) -> Array:
        """Return `noise_variance` with the correlations of left-out residuals. Shape (q, q)."""
        products = self._products(self.left_out_residuals)
        size = np.sqrt(np.diagonal(products))
        # A response that does not vary has no noise, and no correlation.
        ratio = np.divide(self.noise_std, size, out=np.zeros_like(size), where=size > 0)
        return np.asarray(products * np.outer(ratio, ratio))

    def _coef_root(self) -> Array:
        """Return B with cov(b_j) = B_j B_j', b_j the coefficients of response j. (p, q, r q).

        To first order, with the derivative d beta / d y of all responses and the covariance of
        their noise (`noise_covariance`); X and the model held fixed. Cost: that of Degrees of
        Freedom.
        """
        path = self.path
        S, Z = path.decomposition.singular_values, path.fit.residuals[0]
        moved = joint_jacobian(S, Z, self.index, path.recipe.algorithm, path._n_scaled)
        r, q = Z.shape
        # From rotated coordinates to coefficients in original units.
        rotated = moved.reshape(r * q, r, q).transpose(1, 2, 0).reshape(r, q * r * q) / S[:, None]
        p = len(path.units.x_mean)
        features = path.decomposition.to_features(rotated).reshape(p, q, r, q)
        features *= path.y_scale[:, None, None] / path.y_scale
        features /= path.units.x_scale[:, None, None, None]
        values, vectors = np.linalg.eigh(self.noise_covariance())
        half = vectors * np.sqrt(np.maximum(values, 0.0))
        return np.asarray(features @ half).reshape(p, q, r * q)

    def coef_std_error(self) -> Array:
        """Standard errors of the coefficients. Shape (p, q)."""
        root = self._coef_root()
        p, q, k = root.shape
        return row_norms(root.reshape(p * q, k)).reshape(p, q)

    def coef_interval(self, level: float = 0.95) -> Array:
        """Confidence intervals of the expected coefficients. Shape (p, q, 2).

        t with n - DoF_j degrees of freedom for response j.
        """
        half = self._critical(level) * self.coef_std_error()
        return np.stack([self.coef - half, self.coef + half], axis=2)

    def prediction_interval(
        self,
        X_new: Any,
        level: float = 0.95,
        kind: Literal["observation", "mean"] = "observation",
        method: Literal["left-out", "normal"] | None = None,
    ) -> Array:
        """Intervals of new observations, or of the expected fit, one by one. Shape (n_new, q, 2).

        Parameters
        ----------
        X_new : (n_new, p) array or data frame
        level : float
        kind : {"observation", "mean"}
        method : {"left-out", "normal"}, optional
            For observations "left-out", the default: by the errors of rows left out
            (`half_width`). "normal":

                var(mean) = Sigma_jj / n + |(x - xbar)' B_j|^2,    plus Sigma_jj for an observation;

            normal noise with covariance Sigma between the responses of a row, B a root of the
            covariance of the coefficients.
        """
        as_choice(kind, "kind", ("observation", "mean"))
        usual = LEFT_OUT if kind == "observation" else "normal"
        method_used = as_choice(usual if method is None else method, "method", INTERVAL_METHODS)
        if method_used == LEFT_OUT and kind != "observation":
            raise InvalidInputError(
                "method='left-out' is for kind='observation': errors of rows left out are those of "
                f"observations. For kind={kind!r} use method='normal'."
            )
        center = self.predict(X_new)
        if method_used == LEFT_OUT:
            half = np.broadcast_to(self.half_width(level), center.shape)
        else:
            new, root = self.path._deviation(X_new), self._coef_root()
            reach = (new @ root.reshape(len(root), -1)).reshape(len(new), *root.shape[1:])
            noise = self.noise_variance()
            variance = noise * (1.0 / self.path.units.n + (kind == "observation"))
            half = self._critical(level) * np.sqrt(variance + np.vecdot(reach, reach))
        return np.stack([center - half, center + half], axis=2)

    def _critical(self, level: float) -> Array:
        """Return the t quantile of every response. Shape (q,)."""
        spare = self.path.units.n - self.dof_by_response
        return np.array([critical_value(level, float(max(df, 1.0))) for df in spare])

    def _products(self, residuals: Array) -> Array:
        """Return (weighted) cross-products of residuals (n_rows, q) of the training rows."""
        return np.asarray(residuals.T @ (self.path._weights[:, None] * residuals))

    def __repr__(self) -> str:
        q = plural(len(self.path.names), "response")
        return one_line(self, self.label, q, p=len(self.path.units.x_mean))


def pls2_path(
    X: Any,
    Y: Any,
    max_components: int | None = None,
    *,
    algorithm: Algorithm = "nipals",
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
    The fits cost one decomposition of X and O(r q M (q + M)). For Degrees of Freedom there is no
    closed form as for one response, so one derivative per direction is needed:
    O(r^2 q M (q + M)) time, in blocks of bounded memory, three times over to estimate the
    rounding error, when they are needed. For q = 1 `pls_path` gives the same numbers in
    O(r M^2). Where the two largest singular values of the deflated cross-product coincide, the fit
    is not differentiable and the path ends.

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
    for name, flag in {"scale": scale, "scale_response": scale_response, "strict": strict}.items():
        require_flag(flag, name)
    wanted = optional_count(max_components)
    recipe = PLS2.recipe(
        max_components=wanted, algorithm=algorithm, scale=scale, scale_response=scale_response
    )
    X, Y, sample_weight = opened_table(X, Y, sample_weight)
    names, responses = _as_responses(Y)
    given = as_observations(X, responses[:, 0], sample_weight)
    given.own()
    data = standardize_observations(given, scale=scale)
    kept = responses if given.kept is None else responses[given.kept]
    # Centred responses in units of their scales, in the coordinates of the singular vectors.
    centred = [centre_response(y, data.units.row_scale) for y in kept.T]
    values = np.column_stack([one.values for one in centred])
    spread = np.sqrt(np.einsum("ij,ij->j", values, values) / (data.units.n - 1.0))
    y_scale = np.where(spread > 0, spread, 1.0) if scale_response else np.ones(len(names))
    decomposition = decompose(data, "svd")
    spectra = tuple(decomposition.spectrum(column, data.units.n) for column in (values / y_scale).T)
    beyond = _outside(decomposition, values)
    path = PLS2Path(
        recipe=recipe,
        names=names,
        units=data.units,
        decomposition=decomposition,
        fit=joint_fit(spectra, wanted, algorithm),
        y_mean=read_only([one.mean for one in centred]),
        y_scale=read_only(y_scale),
        outside=read_only(beyond.T @ beyond),
        given=given,
        _responses=read_only(kept.copy()),
        _spectra=spectra,
    )
    report_end(path.message, len(path) - 1, wanted, strict)
    return path


def _as_responses(Y: Any) -> tuple[tuple[str, ...], Array]:
    """Return names and values of the responses, (n, q)."""
    names = feature_names(Y)
    if names is None and as_float(Y, "Y").ndim == 1:
        Y = as_float(Y, "Y")[:, None]
    values = as_matrix(Y, "Y", min_rows=2)
    return names or tuple(map(str, range(values.shape[1]))), values


PLS2 = Method(
    name="pls2",
    label="PLS2",
    path=cast("Any", pls2_path),  # its path has several responses
    size="max_components",
    check=optional_count,
)


def _outside(decomposition: Decomposition, values: Array) -> Array:
    """Return what of the centred responses no linear function of X reaches. Shape (n_rows, q)."""
    if len(values) - 1 <= len(decomposition.eigenvalues):  # X reaches all, up to rounding
        return np.zeros_like(values)
    rotated = np.column_stack([decomposition.rotate(column) for column in values.T])
    return values - decomposition.to_samples(rotated)


def _constant(value: bool, _: int) -> bool:
    return value
