"""scikit-learn estimators for PLS, PCR and ridge: thin shells around the paths."""

from typing import TYPE_CHECKING, Any

from plsdof._core.choice import LEFT_OUT
from plsdof._core.criteria import Noise
from plsdof._core.fit import METHODS
from plsdof._core.inputs import Array
from plsdof._core.path import Path, PCRPath, PLSPath, RidgePath
from plsdof.chemometrics.diagnostics import vip
from plsdof.estimators.base import ComponentRegressor, LinearScoresMixin, PathRegressor
from plsdof.inference.intervals import name_features

if TYPE_CHECKING:
    from pandas import DataFrame, Series


class _LinearComponents(ComponentRegressor):
    """What PLS and PCR have in common."""

    _path_takes_sparse = True

    def __init__(
        self,
        n_components: int | str = LEFT_OUT,
        *,
        max_components: int = 30,
        scale: bool = True,
        dof: str | None = None,
        noise: Noise = None,
        rule: str | None = None,
        cv: Any = None,
        solver: str = "auto",
        random_state: int | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.max_components = max_components
        self.scale = scale
        self.dof = dof
        self.noise = noise
        self.rule = rule
        self.cv = cv
        self.solver = solver
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _options(self) -> dict[str, Any]:
        return {**super()._options(), "scale": self.scale, "solver": self.solver}


class PLSRegressor(LinearScoresMixin, _LinearComponents):
    """Partial Least Squares with the number of components chosen for you.

    Parameters
    ----------
    n_components : int or str
        A fixed number; or "left-out" for the smallest error of rows left out (`Path.select`);
        "average" for an average of all models by the same errors (`Path.average`); an information
        criterion such as "bic" (`Path.criterion`); or "cv" for cross-validation with a rule.
    max_components : int
        Limit of the search when the number is chosen.
    scale : bool
        Scale the columns to unit variance.
    dof : {"exact", "smoothed", "naive", "clipped"}, optional
        Degrees of Freedom in a criterion; "exact" by default.
    noise : {"left-out", "jacobian", "dof", "naive"} or float, optional
        Noise variance in a criterion, in standard errors and in intervals of method "normal", see
        `Path.noise_variance` and `Path.criterion`.
    rule : str, optional
        "paper" (default), "first-minimum" or "global-minimum" for a criterion (`Path.select`);
        "minimum" (default), "one-standard-error" or "randomization" for "cv".
    cv : int, splitter or iterable, optional
        Folds of the rows that are left out, see `Path.left_out`; 10 for "cv".
    solver : {"auto", "svd", "gram"}
    random_state : int, optional
        Random folds for "cv" with a number of folds; by default row i is in fold i mod cv. A
        splitter brings its own.
    n_jobs : int, optional
        Parallel folds for "cv".

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
    cv_results_ : CrossValidation or None
        Errors of all folds, for "cv".
    response_names_ : tuple of str or None
        Name of a series y, or of the columns of a data frame.

    Notes
    -----
    A y of shape (n, q) means q models, one per column, each with its own number of components and
    Degrees of Freedom, on one decomposition of X. `predict` then has shape (n_new, q), ``coef_``
    (q, p), the numbers above become (q,) arrays, ``selection_`` and ``cv_results_`` tuples, and
    ``paths_`` holds the paths. For components shared by all responses see `PLS2Regressor`.

    Examples
    --------
    >>> from plsdof.datasets import load_ozone
    >>> X, y = load_ozone(return_X_y=True)
    >>> model = PLSRegressor("bic", rule="first-minimum", noise="jacobian").fit(X, y)
    >>> model.n_components_, round(model.dof_, 2), round(model.noise_std_, 2)
    (2, 6.46, 4.6)
    >>> two = PLSRegressor().fit(X[:, 2:], X[:, :2])
    >>> two.coef_.shape, two.n_components_.shape
    ((2, 10), (2,))
    """

    _method = METHODS["pls"]

    @property
    def path_(self) -> PLSPath:
        """All models of the only response; with several responses see ``paths_``."""
        path: PLSPath = self._only_path()
        return path

    def vip(self) -> "Array | Series[float] | DataFrame":
        """Return the variable importance of the chosen model, `chemometrics.vip`. Shape (p,).

        A pandas series with one named entry per feature if the model was fitted on a data frame
        (and pandas is installed). If y had columns (q, p), or a data frame with one named column
        per response.
        """
        values = self._one_or_array([vip(one) for one in self.models_])
        features = getattr(self, "feature_names_in_", None)
        named: Array | Series[float] | DataFrame
        named = name_features(values, features, self.response_names_)
        return named


class PCRegressor(LinearScoresMixin, _LinearComponents):
    """Principal components regression; parameters and attributes as `PLSRegressor`.

    The order of principal components does not look at y, so that the useful ones need not come
    first.

    Examples
    --------
    >>> from plsdof.datasets import load_ozone
    >>> X, y = load_ozone(return_X_y=True)
    >>> model = PCRegressor("bic").fit(X, y)
    >>> model.n_components_, model.dof_
    (2, 3.0)
    """

    _method = METHODS["pcr"]

    @property
    def path_(self) -> PCRPath:
        """All models of the only response; with several responses see ``paths_``."""
        path: PCRPath = self._only_path()
        return path


class RidgeRegressor(PathRegressor):
    """Ridge regression with the penalty chosen for you.

    Parameters
    ----------
    alpha : float or str
        A penalty > 0 on the paper's scale (X scaled with divisor n - 1), or how to choose it, as
        for `PLSRegressor`.
    alphas : array of float, optional
        Penalties to choose from; by default 50 values from 1e4 n down to 1e-4 n.
    scale, dof, noise, rule, cv, solver, random_state, n_jobs
        As for `PLSRegressor`.

    Attributes
    ----------
    alpha_ : float
        The penalty of the chosen model. Others as for `PLSRegressor`, also for several responses.

    Examples
    --------
    >>> from plsdof.datasets import load_ozone
    >>> X, y = load_ozone(return_X_y=True)
    >>> model = RidgeRegressor("gcv").fit(X, y)
    >>> round(model.dof_, 1)
    12.5
    """

    _choice_name = "alpha"
    _path_takes_sparse = True
    _method = METHODS["ridge"]

    def __init__(
        self,
        alpha: float | str = LEFT_OUT,
        *,
        alphas: Any = None,
        scale: bool = True,
        dof: str | None = None,
        noise: Noise = None,
        rule: str | None = None,
        cv: Any = None,
        solver: str = "auto",
        random_state: int | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.alpha = alpha
        self.alphas = alphas
        self.scale = scale
        self.dof = dof
        self.noise = noise
        self.rule = rule
        self.cv = cv
        self.solver = solver
        self.random_state = random_state
        self.n_jobs = n_jobs

    @property
    def path_(self) -> RidgePath:
        """All models of the only response; with several responses see ``paths_``."""
        path: RidgePath = self._only_path()
        return path

    @property
    def alpha_(self) -> float:
        """Penalty of the chosen model; (q,) array if y had columns."""
        self._require_fitted()
        alpha: float = self._one_or_array([one.parameter for one in self.models_])
        return alpha

    def _fixed_index(self, path: Path) -> int:  # noqa: ARG002
        return 0

    def fixed_parameters(self, index: int) -> dict[str, Any]:
        """Return the parameters with which a fit has this penalty, and chooses nothing."""
        return {self._choice_name: self.path_.parameters[index].item()}

    def _options(self) -> dict[str, Any]:
        alphas = self.alphas if isinstance(self.alpha, str) else [self.alpha]
        return {"alphas": alphas, "scale": self.scale, "solver": self.solver}
