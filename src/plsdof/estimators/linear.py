"""scikit-learn estimators for PLS, PCR and ridge: thin shells around the paths."""

from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from plsdof._core.choice import LEFT_OUT, Rule
from plsdof._core.criteria import DofKind, Noise
from plsdof._core.fit import METHODS
from plsdof._core.inputs import Array, as_choice
from plsdof._core.path import Path, PCRPath, PLSPath, RidgePath
from plsdof._core.recipe import Recipe
from plsdof.chemometrics.diagnostics import vip
from plsdof.chemometrics.preprocessing import IMPUTE, Preprocessor
from plsdof.estimators.base import (
    Choice,
    ComponentRegressor,
    LinearScoresMixin,
    PathRegressor,
    PathType,
)
from plsdof.inference.intervals import name_features

if TYPE_CHECKING:
    from pandas import DataFrame, Series

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

    def predict(self, X: Any) -> Array:
        """Predict with the chosen model. Shape (n_new,), or (n_new, q) if y had columns."""
        if not self._takes_holes:
            return super().predict(X)
        rows = self.path_rows(X)
        predicted = [one.predict(rows) for one in self.models_]
        return np.asarray(predicted[0] if self._one_response else np.column_stack(predicted))

    @property
    def _takes_holes(self) -> bool:
        return isinstance(self.missing, str) and self.missing == "impute"

    @property
    def _takes_sparse(self) -> bool:
        return super()._takes_sparse and not self._takes_holes

    def _training_data(self, X: Any, y: Any) -> tuple[Any, Array]:
        as_choice(self.missing, "missing", ("raise", "impute"))
        values, responses = super()._training_data(X, y)
        self.__dict__.pop("n_imputed_", None)
        if self._takes_holes:
            self.n_imputed_ = int(np.count_nonzero(np.isnan(values)))
        return values, responses

    def _recipes(self, p: int) -> dict[str, Recipe]:
        recipes = super()._recipes(p)
        if not self._takes_holes:
            return recipes
        fill = partial(Preprocessor, IMPUTE)
        return {name: replace(one, prepare=fill) for name, one in recipes.items()}


class PLSRegressor(LinearScoresMixin, _LinearComponents[PLSPath]):
    """Partial Least Squares with the number of components chosen for you.

    Parameters
    ----------
    n_components : int or str
        A fixed number; or "left-out" for the smallest error of rows left out (`Path.select`);
        "average" for an average of all models by the same errors (`Path.average`); an information
        criterion such as "bic" (`Path.criterion`); or "cv" for cross-validation with a rule.
    max_components : int, optional
        The largest model to look at when the number is chosen: all of them are. By default the
        first 20, then up to 30 while errors fall.
    scale : bool or "auto"
        Scale the columns to unit variance. "auto" compares both by rows left out; it is for
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
        Folds of the rows that are left out, see `Path.left_out`; 10 for "cv".
    missing : {"raise", "impute"}
        "impute" fills missing values of X, also of new rows, by components of X alone
        (`plsdof.chemometrics.LowRankImputer`), which are learned anew wherever rows are left out.
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
    models_ : tuple of Model
        The chosen models of all responses.
    x_scores_, x_weights_, x_loadings_, x_rotations_, y_scores_, y_loadings_ : arrays
        Of the chosen components, one column each, as in scikit-learn's PLSRegression.
    explained_variance_ratio_, y_explained_variance_ratio_ : (m,) arrays, m chosen components
        Shares of the variance of X and y that each component explains.
    n_imputed_ : int
        Number of values of X that were filled; of ``missing="impute"`` only.
    n_features_in_, feature_names_in_
        Number of columns of X, and their names if it was a data frame.
    response_names_ : tuple of str or None
        Name of a series y, or of the columns of a data frame.

    Notes
    -----
    A y of shape (n, q) means q models, one per column, each with its own number of components and
    Degrees of Freedom, on one decomposition of X. `predict` then has shape (n_new, q), ``coef_``
    (q, p), the numbers above become (q,) arrays, ``selection_`` a tuple, and
    ``models_[j].path`` is the path of a response. For components shared by all responses see
    `PLS2Regressor`.

    Examples
    --------
    >>> from plsdof.datasets import load_ozone
    >>> X, y = load_ozone(return_X_y=True)
    >>> model = PLSRegressor("bic", noise="jacobian").fit(X, y)
    >>> model.n_components_, round(model.dof_, 2), round(model.noise_std_, 2)
    (2, 6.46, 4.6)
    >>> two = PLSRegressor().fit(X[:, 2:], X[:, :2])
    >>> two.coef_.shape, two.n_components_.shape
    ((2, 10), (2,))
    """

    _method = METHODS["pls"]

    def vip(self) -> "Array | Series[float] | DataFrame":
        """Return the variable importance of the chosen model, `chemometrics.vip`. Shape (p,).

        A pandas series with one named entry per feature if the model was fitted on a data frame
        (and pandas is installed), a frame with columns feature and value if that was one of polars.
        If y had columns (q, p), or a data frame with one named column per response.
        """
        values = self._one_or_array([vip(one) for one in self._fitted().models_])
        features = getattr(self, "feature_names_in_", None)
        return cast("Array", name_features(values, features, self.response_names_, self._frames))


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
    n_components_, dof_, noise_std_, coef_, intercept_, selection_, model_, models_
        As for `PLSRegressor`, also for several responses.
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
    dof_, noise_std_, coef_, intercept_, selection_, model_, models_
        As for `PLSRegressor`, also for several responses.
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
        """Penalty of the chosen model; (q,) array if y had columns."""
        alpha: float = self._one_or_array([one.parameter for one in self._fitted().models_])
        return alpha

    def _fixed_index(self, path: Path) -> int:  # noqa: ARG002
        return 0

    def _options(self) -> dict[str, Any]:
        alphas = self.alphas if isinstance(self.alpha, str) else [self.alpha]
        return {"alphas": alphas, **super()._options()}
