"""Kernel and penalised PLS as scikit-learn estimators."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import SplineTransformer

from plsdof._core.choice import LEFT_OUT
from plsdof._core.criteria import CRITERIA, Noise
from plsdof._core.inputs import Array, as_count, as_float
from plsdof._core.model import Model
from plsdof._core.path import Path
from plsdof.errors import NotAvailableError
from plsdof.estimators.base import ComponentRegressor, LinearScoresMixin, ScoresMixin
from plsdof.selection.tuning import Tuning, tune
from plsdof.variants.kernel import KERNEL_PLS, KernelFunction, KernelPLSPath
from plsdof.variants.penalized import PENALIZED_PLS, PenalizedPLSPath

# Regressors that choose one more parameter together with the number of components
# --------------------------------------------------------------------------------


class TunedRegressor(ScoresMixin, ComponentRegressor):
    """A regressor with one more parameter, which may be a list of values to choose from.

    A subclass says which parameter that is (`_joint_name`) and which further options there are
    (`_method_options`).
    """

    joint_selection_: Tuning | None

    def _options(self) -> dict[str, Any]:
        given = {} if self._several() else {self._joint_name: getattr(self, self._joint_name)}
        return {**super()._options(), **self._method_options(), **given}

    def _several(self) -> bool:
        """Whether there are several values to choose from."""
        try:
            return np.ndim(getattr(self, self._joint_name)) > 0
        except ValueError:  # lists of different lengths
            return True

    def _fit_models(self, X: Any, Y: Array, weights: Array | None, groups: Any) -> list[Model]:
        self._tunings: list[Tuning | None] = [None] * Y.shape[1]
        if not self._several():
            models: list[Model] = super()._fit_models(X, Y, weights, groups)
            return models
        self._cv_results = [None] * Y.shape[1]
        make = partial(self._method.path, **self._options())
        values = as_float(getattr(self, self._joint_name), self._joint_name)
        return [
            self._chosen_jointly(X, y, weights, make, values, groups, number)
            for number, y in enumerate(Y.T)
        ]

    def _chosen_jointly(
        self,
        X: Array,
        y: Array,
        weights: Array | None,
        make: Any,
        values: Array,
        groups: Any,
        number: int,
    ) -> Model:
        choice = self.n_components
        named = isinstance(choice, str) and choice in (*CRITERIA, "cv")
        found = tune(
            X,
            y,
            make,
            values,
            parameter_name=self._joint_name,
            by=choice if named else LEFT_OUT,
            fixed=not isinstance(choice, str),
            dof=self.dof,
            noise=self.noise if named else None,
            rule=self.rule,
            cv=self._cv,
            groups=groups,
            sample_weight=weights,
            n_jobs=self.n_jobs,
        )
        self._tunings[number] = found
        if choice == "average":
            return found.path.average(groups=groups, cv=self._cv)
        chosen = None if not isinstance(choice, str) else found.selection
        return replace(found.path[found.selection.index], selection=chosen)

    def _publish(self, models: Any) -> None:
        super()._publish(models)
        self.joint_selection_ = self._one_or_tuple(self._tunings)

    def fixed_parameters(self, index: int) -> dict[str, Any]:
        """Return the parameters with which a fit has this model, and chooses nothing."""
        joint = getattr(self, f"{self._joint_name}_")
        return {**super().fixed_parameters(index), self._joint_name: joint}

    # What a subclass provides.
    _joint_name: str

    def _method_options(self) -> dict[str, Any]:
        raise NotImplementedError


# scikit-learn estimators for kernel and penalised PLS: thin shells around the paths
# ----------------------------------------------------------------------------------


class KernelPLSRegressor(TunedRegressor):
    """Kernel Partial Least Squares; components and width chosen by exact Degrees of Freedom.

    Parameters
    ----------
    n_components : int or str
        A fixed number, or how to choose it.
    kernel : {"rbf", "laplacian", "poly", "linear", "precomputed"} or callable
        See `kernel_pls_path`. With "precomputed" X is the kernel matrix, in `fit` of the training
        rows and in `predict` between new and training rows.
    gamma : float or array of float, optional
        Inverse width, 1 / p by default; several values to choose from, together with the number
        of components.
    degree, coef0 : int and float
        Of the polynomial kernel.
    max_components : int
        Limit of the search when the number is chosen.
    scale : bool
        Standardise the columns before the kernel.
    dof, noise, rule, cv, random_state, n_jobs
        As for `PLSRegressor`.

    Attributes
    ----------
    n_components_ : int
    gamma_ : float or None
        None for kernels without a width.
    dof_, noise_std_ : float
        Degrees of Freedom and noise standard deviation of the chosen model.
    dual_coef_ : (n_rows,) array
        One coefficient per training row with positive weight, for kernel values. Shape
        (n_rows, q), as in scikit-learn's KernelRidge, if y had columns.
    intercept_ : float
    path_ : KernelPLSPath
    selection_ : Selection or None
    joint_selection_ : Tuning or None
        Scores of all widths and numbers of components, when several widths were given.

    Notes
    -----
    Several responses as for `PLSRegressor`; each has its own width if several were given.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(60, 1))
    >>> y = np.sin(4 * X[:, 0]) + 0.1 * rng.normal(size=60)
    >>> model = KernelPLSRegressor(gamma=[0.1, 1.0, 10.0]).fit(X, y)
    >>> model.gamma_, model.n_components_, round(model.noise_std_, 2)
    (0.1, 5, 0.1)
    """

    _joint_name = "gamma"
    _method = KERNEL_PLS

    def __init__(
        self,
        n_components: int | str = LEFT_OUT,
        *,
        kernel: str | KernelFunction = "rbf",
        gamma: Any = None,
        degree: int = 3,
        coef0: float = 1.0,
        max_components: int = 30,
        scale: bool = True,
        dof: str | None = None,
        noise: Noise = None,
        rule: str | None = None,
        cv: Any = None,
        random_state: int | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.max_components = max_components
        self.scale = scale
        self.dof = dof
        self.noise = noise
        self.rule = rule
        self.cv = cv
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Fit all models and choose one.

        Parameters
        ----------
        X : (n, p) array or data frame
            Or the (n, n) kernel matrix for kernel "precomputed".
        y : (n,) or (n, q) array, series or data frame
        sample_weight : (n,) array, optional
            Weights; integer weights mean repeated rows, with exact Degrees of Freedom.
        groups : (n,) array, optional
            Rows that cross-validation keeps together.
        """
        super().fit(X, y, sample_weight, groups)
        # There are no coefficients per feature.
        self.dual_coef_ = self.coef_.T
        del self.coef_
        return self

    def predict(self, X: Any) -> Array:
        """Predict with the chosen model. Shape (n_new,), or (n_new, q) if y had columns."""
        rows = self._new_rows(X)
        paths: tuple[Any, ...] = self.paths_
        if len(paths) > 1 and len({path.kernel for path in paths}) == 1:
            # One width for all responses: kernel values are computed once.
            values = paths[0]._rows_of(rows)
            columns = [values @ one.coef + one.intercept for one in self.models_]
        else:
            columns = [one.predict(rows) for one in self.models_]
        return np.asarray(columns[0] if self._one_response else np.column_stack(columns))

    @property
    def path_(self) -> KernelPLSPath:
        """All models of the only response; with several responses see ``paths_``."""
        path: KernelPLSPath = self._only_path()
        return path

    @property
    def gamma_(self) -> float | None:
        """Inverse width of the chosen model; (q,) array if y had columns."""
        widths = [path.kernel.gamma for path, _ in self._on_paths()]
        gamma: float | None = None if widths[0] is None else self._one_or_array(widths)
        return gamma

    @property
    def _precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        return tags

    def _method_options(self) -> dict[str, Any]:
        return {
            "kernel": self.kernel,
            "degree": self.degree,
            "coef0": self.coef0,
            "scale": self.scale,
        }

    def _chosen_on(
        self, path: Path, X: Any, y: Array, weights: Array | None, groups: Any, number: int
    ) -> Model:
        if self._precomputed and self._choice() == "cv":
            # Folds cut rows only; as numbers of rows they still find their kernel values.
            recipe = path.recipe.but(kernel=_Lookup(gram=X), gamma=None, scale=False)
            path = replace(path, recipe=recipe)
            X = np.arange(len(X), dtype=np.float64)[:, None]
        found: Model = super()._chosen_on(path, X, y, weights, groups, number)
        return found

    def _inferences(self, *_: Any) -> Any:
        raise NotAvailableError(
            "A kernel model has no coefficients per feature, so there are no intervals or tests "
            "for them; use predict_interval for the fit."
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class _Lookup:
    """Kernel values of rows given by their numbers."""

    gram: Array

    def __call__(self, A: Array, B: Array) -> Array:
        return self.gram[np.ix_(A[:, 0].astype(np.intp), B[:, 0].astype(np.intp))]


class PenalizedPLSRegressor(LinearScoresMixin, TunedRegressor):
    """Penalised Partial Least Squares: smooth coefficients, and additive spline models.

    Parameters
    ----------
    n_components : int or str
        A fixed number, or how to choose it.
    penalty : (p, p) array, optional
        Positive semi-definite matrix; by default differences of neighbouring coefficients.
    order : int
        Order of the differences.
    strength : float or array of float
        Factor >= 0 of the penalty; several values to choose from, together with the number of
        components.
    blocks : int or sequence of int, optional
        Number of columns of each variable; differences are taken within these blocks. See
        `make_spline_pls`.
    scale : bool
        Scale the columns first; the coefficients of the scaled columns are then smooth.
    max_components, dof, noise, rule, cv, solver, random_state, n_jobs
        As for `PLSRegressor`.

    Attributes
    ----------
    n_components_ : int
    strength_ : float
    path_ : PenalizedPLSPath
    joint_selection_ : Tuning or None
        Scores of all strengths and numbers of components, when several strengths were given.
    dof_, noise_std_, coef_, intercept_, selection_
        As for `PLSRegressor`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(40, 100)).cumsum(axis=1)
    >>> y = X[:, 40:60].mean(axis=1) + rng.normal(size=40)
    >>> model = PenalizedPLSRegressor(strength=[0.0, 1e2, 1e4]).fit(X, y)
    >>> model.strength_, model.n_components_
    (0.0, 4)
    """

    _joint_name = "strength"
    _method = PENALIZED_PLS

    def __init__(
        self,
        n_components: int | str = LEFT_OUT,
        *,
        penalty: Any = None,
        order: int = 2,
        strength: Any = 1.0,
        blocks: Any = None,
        max_components: int = 30,
        scale: bool = False,
        dof: str | None = None,
        noise: Noise = None,
        rule: str | None = None,
        cv: Any = None,
        solver: str = "auto",
        random_state: int | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.penalty = penalty
        self.order = order
        self.strength = strength
        self.blocks = blocks
        self.max_components = max_components
        self.scale = scale
        self.dof = dof
        self.noise = noise
        self.rule = rule
        self.cv = cv
        self.solver = solver
        self.random_state = random_state
        self.n_jobs = n_jobs

    @property
    def path_(self) -> PenalizedPLSPath:
        """All models of the only response; with several responses see ``paths_``."""
        path: PenalizedPLSPath = self._only_path()
        return path

    @property
    def strength_(self) -> float:
        """Strength of the chosen model; (q,) array if y had columns."""
        strength: float = self._one_or_array([float(path.strength) for path, _ in self._on_paths()])
        return strength

    def _method_options(self) -> dict[str, Any]:
        return {
            "penalty": self.penalty,
            "order": self.order,
            "blocks": self.blocks,
            "scale": self.scale,
            "solver": self.solver,
        }


def make_spline_pls(
    *,
    n_knots: int = 10,
    degree: int = 3,
    knots: str = "uniform",
    extrapolation: str = "linear",
    **options: Any,
) -> Pipeline:
    """Return a pipeline for an additive model: B-splines of every variable, then penalised PLS.

    Parameters
    ----------
    n_knots, degree, knots, extrapolation
        Of scikit-learn's SplineTransformer.
    **options
        Of `PenalizedPLSRegressor`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(100, 2))
    >>> y = np.sin(4 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.normal(size=100)
    >>> model = make_spline_pls(strength=[0.1, 1.0, 10.0]).fit(X, y)
    >>> round(model.score(X, y), 2)
    0.98
    """
    splines = SplineTransformer(
        n_knots=n_knots, degree=degree, knots=knots, extrapolation=extrapolation
    )
    size = as_count(n_knots, "n_knots", minimum=2) + as_count(degree, "degree") - 1
    return make_pipeline(splines, PenalizedPLSRegressor(blocks=size, **options))
