"""Kernel and penalised PLS as scikit-learn estimators."""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from plsdof._core.choice import LEFT_OUT
from plsdof._core.inputs import Array, as_float
from plsdof._core.model import Mixture, Model
from plsdof._core.path import Path
from plsdof._core.recipe import Recipe
from plsdof.errors import InvalidInputError, NotAvailableError
from plsdof.estimators.base import (
    Choice,
    ComponentRegressor,
    LinearScoresMixin,
    PathType,
    ScoresMixin,
)
from plsdof.variants.kernel import KERNEL_PLS, KernelFunction, KernelName, KernelPLSPath
from plsdof.variants.penalized import PENALIZED_PLS, PenalizedPLSPath

# Regressors that choose one more parameter together with the number of components
# --------------------------------------------------------------------------------


class TunedRegressor(ScoresMixin, ComponentRegressor[PathType]):
    """A regressor with one more parameter, which may be a list of values to choose from.

    Every value is a recipe of one pool. A subclass says which parameter that is (`_joint_name`).
    """

    def _recipes(self, p: int) -> dict[str, Recipe]:
        try:
            several = np.ndim(getattr(self, self._joint_name)) > 0
        except ValueError:  # lists of different lengths
            several = True
        if not several:
            return super()._recipes(p)
        values = as_float(getattr(self, self._joint_name), self._joint_name)
        if values.ndim != 1 or not len(values):
            raise InvalidInputError(
                f"The values of {self._joint_name} to choose from must be a list of numbers; got "
                f"{values!r:.80}."
            )
        recipe = self._method.recipe(**self._options())
        name = self._joint_name
        return {f"{name} = {value:g}": recipe.but(**{name: value}) for value in values.tolist()}

    def _options(self) -> dict[str, Any]:
        return {**super()._options(), self._joint_name: getattr(self, self._joint_name)}

    # What a subclass provides.
    _joint_name: str


# scikit-learn estimators for kernel and penalised PLS: thin shells around the paths
# ----------------------------------------------------------------------------------


@dataclass(eq=False, repr=False)
class KernelPLSRegressor(TunedRegressor[KernelPLSPath]):
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
        of components, such as ``np.logspace(-2, 1, 7) / p``.
    degree, coef0 : int and float
        Of the polynomial kernel.
    max_components : int, optional
        The largest model to look at when the number is chosen: all of them are. By default the
        first 20, then up to 30 while errors fall.
    scale : bool
        Standardise the columns before the kernel.
    cv : int, splitter or iterable, optional
        Folds of the rows that are left out, as for `PLSRegressor`.

    Attributes
    ----------
    n_components_ : int
    gamma_ : float or None
        None for kernels without a width.
    dof_, noise_std_ : float
        Degrees of Freedom and noise standard deviation of the chosen model.
    dual_coef_ : (n_rows,) array
        One coefficient per training row with positive weight, for kernel values. Shape
        (n_rows, q), as in scikit-learn's KernelRidge, if y had columns. Not of an average over
        several widths.
    intercept_ : float
    path_ : KernelPLSPath
    selection_ : Selection or None
    model_, models_, x_scores_, n_features_in_, feature_names_in_, response_names_
        As for `PLSRegressor`.

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

    n_components: int | Choice = LEFT_OUT
    _: KW_ONLY
    kernel: KernelName | KernelFunction = "rbf"
    gamma: Any = None
    degree: int = 3
    coef0: float = 1.0
    max_components: int | None = None
    scale: bool = True
    cv: Any = None

    _joint_name = "gamma"
    _method = KERNEL_PLS
    _passed_on = ("kernel", "degree", "coef0", "scale")

    def _publish_coef(self, models: Any) -> None:
        # A kernel has no coefficients per feature, and an average over widths none per row.
        if not any(isinstance(one, Mixture) for one in models):
            super()._publish_coef(models)
            self.dual_coef_ = self.coef_.T
            del self.coef_

    def predict(self, X: Any) -> Array:
        """Predict with the chosen model. Shape (n_new,), or (n_new, q) if y had columns."""
        rows = self.path_rows(X)
        first, *others = self.models_
        several = any(isinstance(one, Mixture) for one in self.models_)
        if others and not several and len({one.path.recipe.gamma for one in self.models_}) == 1:
            # One width for all responses: kernel values are computed once.
            values = first.path.new_rows(rows)
            columns = [values @ one.coef + one.intercept for one in self.models_]
        else:
            columns = [one.predict(rows) for one in self.models_]
        return np.asarray(columns[0] if self._one_response else np.column_stack(columns))

    @property
    def gamma_(self) -> float | None:
        """Inverse width of the chosen model; (q,) array if y had columns."""
        widths = [path.recipe.gamma for path, _ in self._on_paths()]
        gamma: float | None = None if widths[0] is None else self._one_or_array(widths)
        return gamma

    @property
    def _precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        return tags

    def _chosen_on(self, path: Path, X: Any, y: Array, weights: Array | None, groups: Any) -> Model:
        if self._precomputed and self._choice() == "cv":
            # Folds cut rows only; as numbers of rows they still find their kernel values.
            X = np.arange(len(X), dtype=np.float64)[:, None]
        found: Model = super()._chosen_on(path, X, y, weights, groups)
        return found

    def _inferences(self, *_: Any) -> Any:
        raise NotAvailableError(
            "A kernel model has no coefficients per feature, so it has no intervals or tests "
            "for them; use predict_interval for the fit."
        )


@dataclass(eq=False, repr=False)
class PenalizedPLSRegressor(LinearScoresMixin, TunedRegressor[PenalizedPLSPath]):
    """Penalised Partial Least Squares: smooth coefficients, and additive spline models.

    Parameters
    ----------
    n_components : int or str
        A fixed number, or how to choose it.
    penalty : int or (p, p) array
        Order of the differences of neighbouring coefficients, or a positive semi-definite matrix.
    strength : float or array of float
        Factor >= 0 of the penalty; several values to choose from, together with the number of
        components.
    blocks : int or sequence of int, optional
        Number of columns of each variable; differences are taken within these blocks. After
        scikit-learn's ``SplineTransformer(n_knots, degree)`` it is n_knots + degree - 1.
    scale : bool
        Scale the columns first; the coefficients of the scaled columns are then smooth.
    max_components, cv
        As for `PLSRegressor`.

    Attributes
    ----------
    n_components_ : int
    strength_ : float
    path_ : PenalizedPLSPath
    dof_, noise_std_, coef_, intercept_, selection_, model_, models_
        As for `PLSRegressor`, also for several responses, each with a strength of its own.
    x_scores_, x_weights_, x_loadings_, x_rotations_, y_scores_, y_loadings_
        Of the chosen components, one column each; weights are orthonormal in the metric I + P.
    explained_variance_ratio_, y_explained_variance_ratio_
        Shares of the variance of X and y that each component explains.
    n_features_in_, feature_names_in_, response_names_
        As for `PLSRegressor`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(40, 100)).cumsum(axis=1)
    >>> y = X[:, 40:60].mean(axis=1) + rng.normal(size=40)
    >>> model = PenalizedPLSRegressor(strength=[0.0, 1e2, 1e4]).fit(X, y)
    >>> model.strength_, model.n_components_
    (0.0, 4)

    An additive model, a smooth function of every variable:

    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import SplineTransformer
    >>> X = rng.uniform(-1, 1, size=(100, 2))
    >>> y = np.sin(4 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.normal(size=100)
    >>> splines = SplineTransformer(10, degree=3, extrapolation="linear")
    >>> model = make_pipeline(splines, PenalizedPLSRegressor(strength=[0.1, 1.0], blocks=12))
    >>> round(model.fit(X, y).score(X, y), 2)
    0.98
    """

    n_components: int | Choice = LEFT_OUT
    _: KW_ONLY
    penalty: Any = 2
    strength: Any = 1.0
    blocks: Any = None
    max_components: int | None = None
    scale: bool = False
    cv: Any = None

    _joint_name = "strength"
    _method = PENALIZED_PLS
    _passed_on = ("penalty", "blocks", "scale")

    @property
    def strength_(self) -> float:
        """Strength of the chosen model; (q,) array if y had columns."""
        strength: float = self._one_or_array([path.recipe.strength for path, _ in self._on_paths()])
        return strength
