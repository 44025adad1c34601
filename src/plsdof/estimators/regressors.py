"""scikit-learn estimators: thin shells around the paths."""

from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from plsdof._core.choice import LEFT_OUT, Rule
from plsdof._core.criteria import DofKind, Noise
from plsdof._core.fit import METHODS
from plsdof._core.inputs import Array, as_choice, as_positive
from plsdof._core.model import Mixture, Model
from plsdof._core.path import Path
from plsdof._core.paths import PCRPath, PLSPath, RidgePath
from plsdof._core.recipe import Recipe
from plsdof.chemometrics.diagnostics import vip
from plsdof.chemometrics.preprocessing import (
    IMPUTE,
    Chain,
)
from plsdof.errors import NotAvailableError
from plsdof.estimators.base import (
    Choice,
    ComponentRegressor,
    LinearScoresMixin,
    PathRegressor,
    PathType,
    ScoresMixin,
)
from plsdof.variants.kernel import KERNEL_PLS, KernelFunction, KernelName, KernelPLSPath
from plsdof.variants.penalized import PENALIZED_PLS, PenalizedPLSPath

if TYPE_CHECKING:
    from pandas import DataFrame, Series

# PLS, principal components and ridge regression
# ----------------------------------------------

CvRule = Literal["minimum", "one-standard-error", "randomization"]


@dataclass(eq=False, repr=False)
class _LinearComponents(ComponentRegressor[PathType]):
    """What PLS and PCR have in common."""

    n_components: int | Choice = LEFT_OUT
    _: KW_ONLY
    max_components: int | None = None
    scale: bool | Literal["auto"] = True
    dof: DofKind | None = None
    noise: Noise = None
    rule: Rule | CvRule | None = None
    cv: Any = None
    missing: Literal["raise", "impute"] = "raise"

    _path_takes_sparse = True

    def _training_data(self, X: Any, y: Any) -> tuple[Any, Array]:
        as_choice(self.missing, "missing", ("raise", "impute"))
        rows, response = super()._training_data(X, y)
        self.__dict__.pop("n_imputed_", None)
        if self._takes_holes:
            self.n_imputed_ = int(np.count_nonzero(np.isnan(rows)))
        return rows, response

    def _recipes(self) -> dict[str, Recipe]:
        recipes = super()._recipes()
        if not self._takes_holes:
            return recipes
        fill = partial(Chain, IMPUTE)
        return {name: replace(one, prepare=fill) for name, one in recipes.items()}


class PLSRegressor(LinearScoresMixin, _LinearComponents[PLSPath]):
    """Partial Least Squares with the number of components chosen for you.

    Parameters
    ----------
    n_components : int or str
        A fixed number; or "left-out" for the smallest cross-validated error (`Path.select`);
        "average" for an average of all models by the same errors (`Path.average`); an information
        criterion such as "bic" (`Path.criterion`); or "cv" for cross-validation with a rule.
    max_components : int, optional
        The largest model to look at when the number is chosen: all of them are. By default the
        first 20, then up to 30 while errors fall.
    scale : bool or "auto"
        Scale the columns to unit variance. "auto" compares both by cross-validation; it is for
        columns that share a unit, such as wavelengths.
    dof : {"exact", "naive", "clipped"}, optional
        Degrees of Freedom in a criterion; "exact" by default.
    noise : {"left-out", "jacobian", "dof", "naive"} or float, optional
        Noise variance in a criterion, in standard errors and in intervals of method "normal", see
        `Path.noise_variance` and `Path.criterion`.
    rule : str, optional
        "first-minimum", "paper" or "global-minimum" for a criterion (`Path.select`);
        "minimum" (default), "one-standard-error" or "randomization" for "cv".
    cv : int, "loo", "blocks:5", splitter or iterable, optional
        Folds of held-out rows, see `Path.left_out`; 10 for "cv".
    missing : {"raise", "impute"}
        "impute" fills missing values of X, also of new rows, by components of X alone
        (the step ``impute`` of `plsdof.chemometrics.Preprocessor`), learned without held-out rows.
        Degrees of Freedom are exact given the completed X.

    Attributes
    ----------
    n_components_ : int
        Of the chosen model; of an average the weighted mean, a float.
    dof_, noise_std_ : float
        Degrees of Freedom and noise standard deviation of the chosen model.
    coef_ : (p,) array
        In original units.
    intercept_ : float
    path_ : PLSPath
        All models.
    selection_ : Selection or None
        The choice in words and numbers; None for a fixed number.
    model_ : Model
        The chosen model, or average.
    x_scores_, x_weights_, x_loadings_, x_rotations_, y_scores_, y_loadings_ : arrays
        Of the chosen components, one column each, as in scikit-learn's PLSRegression.
    explained_variance_ratio_, y_explained_variance_ratio_ : (m,) arrays, m chosen components
        Shares of the variance of X and y that each component explains.
    n_imputed_ : int
        Number of values of X that were filled; of ``missing="impute"`` only.
    n_features_in_, feature_names_in_
        Number of columns of X, and their names if it was a data frame.
    response_names_ : tuple of str or None
        Name of a series y.

    Notes
    -----
    One response: for several see `PLS2Regressor` (components shared by all of them) and
    `sklearn.multioutput.MultiOutputRegressor` (a model of each).

    Examples
    --------
    >>> from plsdof.datasets import load_ozone
    >>> X, y = load_ozone(return_X_y=True)
    >>> model = PLSRegressor("bic", noise="jacobian").fit(X, y)
    >>> model.n_components_, round(model.dof_, 2), round(model.noise_std_, 2)
    (2, 6.46, 4.6)
    """

    _method = METHODS["pls"]

    def vip(self) -> "Array | Series[float] | DataFrame":
        """Return the variable importance of the chosen model, `chemometrics.vip`. Shape (p,).

        A pandas series with one named entry per feature if the model was fitted on a data frame
        (and pandas is installed), a frame with columns feature and value if that was one of polars.
        """
        return cast("Array", self._named(vip(self._fitted().model_)))


class PCRegressor(LinearScoresMixin, _LinearComponents[PCRPath]):
    """Principal components regression with the number of components chosen for you.

    The order of principal components does not look at y, so that the useful ones need not come
    first.

    Parameters
    ----------
    n_components, max_components, scale, dof, noise, rule, cv, missing
        As for `PLSRegressor`.

    Attributes
    ----------
    path_ : PCRPath
        All models.
    n_components_, dof_, noise_std_, coef_, intercept_, selection_, model_
        As for `PLSRegressor`.
    x_scores_, x_loadings_, x_rotations_, y_scores_, y_loadings_
        Of the chosen components, one column each; the loadings are the weights, too.
    explained_variance_ratio_, y_explained_variance_ratio_
        Shares of the variance of X and y that each component explains.
    n_features_in_, feature_names_in_, response_names_
        As for `PLSRegressor`.

    Examples
    --------
    >>> from plsdof.datasets import load_ozone
    >>> X, y = load_ozone(return_X_y=True)
    >>> model = PCRegressor("bic").fit(X, y)
    >>> model.n_components_, model.dof_
    (2, 3.0)
    """

    _method = METHODS["pcr"]


@dataclass(eq=False, repr=False)
class RidgeRegressor(PathRegressor[RidgePath]):
    """Ridge regression with the penalty chosen for you.

    Parameters
    ----------
    alpha : float or str
        A penalty > 0 on the paper's scale (X scaled with divisor n - 1), or how to choose it, as
        for `PLSRegressor`.
    alphas : array of float, optional
        Penalties to choose from; by default those of `ridge_path`.
    scale, dof, noise, rule, cv
        As for `PLSRegressor`.

    Attributes
    ----------
    alpha_ : float
        The penalty of the chosen model.
    path_ : RidgePath
        All models.
    dof_, noise_std_, coef_, intercept_, selection_, model_
        As for `PLSRegressor`.
    n_features_in_, feature_names_in_, response_names_
        As for `PLSRegressor`.

    Examples
    --------
    >>> from plsdof.datasets import load_ozone
    >>> X, y = load_ozone(return_X_y=True)
    >>> model = RidgeRegressor("gcv").fit(X, y)
    >>> round(model.dof_, 1)
    12.5
    """

    alpha: float | Choice = LEFT_OUT
    _: KW_ONLY
    alphas: Any = None
    scale: bool | Literal["auto"] = True
    dof: DofKind | None = None
    noise: Noise = None
    rule: Rule | CvRule | None = None
    cv: Any = None

    _choice_name = "alpha"
    _path_takes_sparse = True
    _method = METHODS["ridge"]

    @property
    def alpha_(self) -> float:
        """Penalty of the chosen model."""
        return float(self._fitted().model_.parameter)

    def _fixed_index(self, path: Path) -> int:  # noqa: ARG002
        return 0

    def _options(self) -> dict[str, Any]:
        alphas = self.alphas if isinstance(self.alpha, str) else [self.alpha]
        return {"alphas": alphas, **super()._options()}


# Kernel and penalised PLS: one more parameter, which may be a list of values
# ---------------------------------------------------------------------------


class TunedRegressor(ScoresMixin, ComponentRegressor[PathType]):
    """A regressor with one more parameter, which may be a list of values to choose from.

    Every value is a recipe of one pool. A subclass says which parameter that is (`_joint_name`).
    """

    def _recipes(self) -> dict[str, Recipe]:
        name, given = self._joint_name, getattr(self, self._joint_name)
        if given is None or np.isscalar(given):
            return super()._recipes()
        values, recipe = as_positive(given, name, or_zero=True), super()._recipes()[""]
        return {
            f"{name} = {value:g}": recipe.with_options(**{name: value}) for value in values.tolist()
        }

    def _options(self) -> dict[str, Any]:
        return {**super()._options(), self._joint_name: getattr(self, self._joint_name)}

    # What a subclass provides.
    _joint_name: str


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
    gamma : float, "median" or array of float, optional
        Inverse width, 1 / p by default, see `kernel_pls_path`; several values to choose from,
        together with the number of components, such as ``np.logspace(-2, 1, 7) / p``.
    degree, coef0 : int and float
        Of the polynomial kernel.
    max_components : int, optional
        The largest model to look at when the number is chosen: all of them are. By default the
        first 20, then up to 30 while errors fall.
    scale : bool
        Standardise the columns before the kernel.
    cv : int, splitter or iterable, optional
        Folds of held-out rows, as for `PLSRegressor`.

    Attributes
    ----------
    n_components_ : int
    gamma_ : float or None
        None for kernels without a width.
    dof_, noise_std_ : float
        Degrees of Freedom and noise standard deviation of the chosen model.
    dual_coef_ : (n_rows,) array
        One coefficient per training row with positive weight, for kernel values. Not of an average
        over several widths.
    intercept_ : float
    path_ : KernelPLSPath
    selection_ : Selection or None
    model_, x_scores_, n_features_in_, feature_names_in_, response_names_
        As for `PLSRegressor`.

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

    def _publish_coef(self, model: Any) -> None:
        # A kernel has no coefficients per feature, and an average over widths none per row.
        if not isinstance(model, Mixture):
            super()._publish_coef(model)
            self.dual_coef_ = self.coef_
            del self.coef_

    @property
    def gamma_(self) -> float | None:
        """Inverse width of the chosen model."""
        gamma: float | None = self._on_path()[0].recipe.gamma
        return gamma

    @property
    def _precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        return tags

    def _chosen_on(self, path: Path, X: Any, y: Any, weights: Any, groups: Any) -> Model:
        if self._precomputed and self._choice() == "cv":
            # Folds cut rows only; as numbers of rows they still find their kernel values.
            X = np.arange(len(X), dtype=np.float64)[:, None]
        found: Model = super()._chosen_on(path, X, y, weights, groups)
        return found

    def _inference(self, *_: Any) -> Any:
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
    penalty : int
        Order of the differences of neighbouring coefficients.
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
    dof_, noise_std_, coef_, intercept_, selection_, model_
        As for `PLSRegressor`.
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
    penalty: int = 2
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
        """Strength of the chosen model."""
        return float(self._on_path()[0].recipe.strength)
