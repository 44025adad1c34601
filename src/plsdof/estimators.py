"""scikit-learn estimators: thin shells around the paths."""

import warnings
from functools import partial
from typing import Any, Self

import numpy as np

try:
    from sklearn.base import (
        BaseEstimator,
        ClassNamePrefixFeaturesOutMixin,
        RegressorMixin,
        TransformerMixin,
    )
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as error:
    from plsdof.errors import MissingExtraError

    raise MissingExtraError("scikit-learn", "sklearn", "The estimators") from error

from plsdof import inference
from plsdof._validation import Array, as_choice, as_count, as_weights
from plsdof.criteria import CRITERIA, Selection
from plsdof.cross_validation import cross_validate
from plsdof.errors import RankExhaustedWarning
from plsdof.methods import default_alphas, pcr_path, pls_path, ridge_path
from plsdof.path import Noise, Path
from plsdof.summary import Summary, summarize


class _PathRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Fit a path, choose a model on it, answer questions about that model.

    A subclass says how to fit (`_path_function`), which parameter is chosen (`_choice`) and how a
    fixed value of it becomes a row of the path (`_fixed_index`).
    """

    path_: Any

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit all models and choose one.

        Parameters
        ----------
        X : (n, p) array or data frame
        y : (n,) array
        sample_weight : (n,) array, optional
            Weights; integer weights mean repeated rows, with exact Degrees of Freedom.
        """
        X, y = validate_data(
            self, X, y, y_numeric=True, dtype=np.float64, ensure_min_samples=2, copy=False
        )
        weights = as_weights(sample_weight, len(X))
        make = self._path_function(y, weights)
        with warnings.catch_warnings():
            if isinstance(self._choice(), str):
                # The largest size is then only a limit to the search.
                warnings.simplefilter("ignore", RankExhaustedWarning)
            self.path_ = make(X, y, sample_weight=weights)
            self.selection_ = self._select(X, y, weights, make)
        index = self._fixed_index() if self.selection_ is None else self.selection_.index
        self.index_ = index
        self.coef_: Array = np.array(self.path_.coef[index])
        self.intercept_ = float(self.path_.intercept[index])
        self.dof_ = float(self.path_.dof[index])
        self.noise_std_ = float(np.sqrt(self.path_.noise_at(index, self._noise())))
        return self

    def predict(self, X: Any) -> Array:
        """Predict with the chosen model. Shape (n_new,)."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        return np.asarray(self.path_.check_new_rows(X) @ self.coef_ + self.intercept_)

    def predict_interval(
        self,
        X: Any,
        level: float = 0.95,
        *,
        kind: str = "observation",
        distribution: str = "t",
    ) -> Array:
        """Lower and upper limits for a new observation, or the mean, at each row. (n_new, 2)."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        interval = inference.prediction_interval(
            self.path_,
            self.index_,
            X,
            level=level,
            kind=kind,
            noise=self._noise(),
            distribution=distribution,
        )
        return np.column_stack([interval.lower, interval.upper])

    def conf_int(self, level: float = 0.95, *, distribution: str = "t") -> Any:
        """Confidence intervals of the coefficients, (p, 2).

        A pandas data frame with one named row per feature if the model was fitted on a data frame
        (and pandas is installed), an array otherwise.
        """
        result = self._inference(level, distribution, "none")
        limits = np.column_stack([result.lower, result.upper])
        names = getattr(self, "feature_names_in_", None)
        return limits if names is None else _named(limits, names)

    def summary(
        self, level: float = 0.95, *, distribution: str = "t", adjust: str = "none"
    ) -> Summary:
        """Return a table of coefficients, standard errors, tests and intervals; print it."""
        result = self._inference(level, distribution, adjust)
        names = getattr(self, "feature_names_in_", None)
        return summarize(self.path_, self.index_, result, self.selection_, names)

    def _inference(
        self, level: float, distribution: str, adjust: str
    ) -> inference.CoefficientInference:
        check_is_fitted(self)
        return inference.coefficient_inference(
            self.path_,
            self.index_,
            level=level,
            noise=self._noise(),
            distribution=distribution,
            adjust=adjust,
        )

    def _select(self, X: Array, y: Array, weights: Array | None, make: Any) -> Selection | None:
        choice = self._choice()
        if not isinstance(choice, str):
            return None
        as_choice(choice, self._choice_name, (*CRITERIA, "cv"))
        if choice == "cv":
            self.cv_results_ = cross_validate(
                X,
                y,
                make,
                cv=self.cv,
                sample_weight=weights,
                random_state=self.random_state if isinstance(self.cv, int) else None,
                n_jobs=self.n_jobs,
            )
            return self.cv_results_.select(rule=self.rule or "minimum")
        path: Path = self.path_
        return path.select(choice, self.dof, self.noise, self.rule or self._default_rule)

    def _noise(self) -> Noise:
        if self.noise is None:
            return "naive" if self.dof == "naive" else "jacobian"
        noise: Noise = self.noise
        return noise

    # What a subclass provides.
    _choice_name = "n_components"
    _default_rule = "first-minimum"

    def _choice(self) -> Any:
        return getattr(self, self._choice_name)

    def _fixed_index(self) -> int:
        raise NotImplementedError

    def _path_function(self, y: Array, weights: Array | None) -> Any:
        raise NotImplementedError


class _ComponentRegressor(_PathRegressor):
    """A regressor that chooses a number of components."""

    def __init__(
        self,
        n_components: int | str = "bic",
        *,
        max_components: int = 30,
        scale: bool = True,
        dof: str = "exact",
        noise: Noise = None,
        rule: str | None = None,
        cv: Any = 10,
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

    @property
    def n_components_(self) -> int:
        """Number of components of the chosen model."""
        check_is_fitted(self)
        return self.index_

    def _fixed_index(self) -> int:
        # Fewer than asked for where the data support no more (with a warning).
        return len(self.path_.dof) - 1

    def _path_function(self, y: Array, weights: Array | None) -> Any:  # noqa: ARG002
        name = "max_components" if isinstance(self.n_components, str) else "n_components"
        largest = as_count(getattr(self, name), name)
        return partial(self._fit_path, max_components=largest, scale=self.scale, solver=self.solver)

    # What a subclass provides.
    _fit_path: Any


class _ScoresMixin(ClassNamePrefixFeaturesOutMixin, TransformerMixin):  # type: ignore[misc]
    """Scores of the chosen components, with names, for pipelines."""

    path_: Any
    index_: int

    def transform(self, X: Any) -> Array:
        """Return the scores of the chosen components. Shape (n_new, n_components_)."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        return np.asarray(self.path_.transform(X)[:, : self.index_])

    @property
    def _n_features_out(self) -> int:
        return self.index_


class PLSRegressor(_ScoresMixin, _ComponentRegressor):
    """Partial Least Squares with the number of components chosen by exact Degrees of Freedom.

    Parameters
    ----------
    n_components : int or {"bic", "aic", "gmdl", "aicc", "cp", "gcv", "cv"}
        A fixed number, or how to choose it.
    max_components : int
        Limit of the search when the number is chosen.
    scale : bool
        Scale the columns to unit variance.
    dof : {"exact", "naive", "clipped"}
        Degrees of Freedom in the criterion.
    noise : {"jacobian", "dof", "naive"} or float, optional
        Noise variance in the criterion and in the intervals; by default "jacobian" with exact and
        "naive" with naive Degrees of Freedom.
    rule : str, optional
        "first-minimum" (default) or "global-minimum" for a criterion; "minimum" (default),
        "one-standard-error" or "randomization" for "cv".
    cv : int, splitter or iterable
        Folds for "cv".
    solver : {"auto", "svd", "gram"}
    random_state : int, optional
        Random folds for "cv" with a number of folds; by default row i is in fold i mod cv. A
        splitter brings its own.
    n_jobs : int, optional
        Parallel folds for "cv".

    Attributes
    ----------
    n_components_ : int
    dof_, noise_std_ : float
        Degrees of Freedom and noise standard deviation of the chosen model.
    coef_ : (p,) array
        In original units.
    intercept_ : float
    path_ : PLSPath
        All models.
    selection_ : Selection or None
        The choice in words and numbers; None for a fixed number.

    Examples
    --------
    >>> from plsdof.datasets import load_ozone
    >>> X, y = load_ozone(return_X_y=True)
    >>> model = PLSRegressor().fit(X, y)
    >>> model.n_components_, round(model.dof_, 2), round(model.noise_std_, 2)
    (2, 6.46, 4.6)
    """

    _fit_path = staticmethod(pls_path)


class PCRegressor(_ComponentRegressor):
    """Principal components regression; parameters and attributes as `PLSRegressor`.

    The order of principal components does not look at y, so that the useful ones need not come
    first; the default rule for a criterion is therefore "global-minimum".

    Examples
    --------
    >>> from plsdof.datasets import load_ozone
    >>> X, y = load_ozone(return_X_y=True)
    >>> model = PCRegressor().fit(X, y)
    >>> model.n_components_, model.dof_
    (2, 3.0)
    """

    _fit_path = staticmethod(pcr_path)
    _default_rule = "global-minimum"


class RidgeRegressor(_PathRegressor):
    """Ridge regression with the penalty chosen by its Degrees of Freedom.

    Parameters
    ----------
    alpha : float or {"bic", "aic", "gmdl", "aicc", "cp", "gcv", "cv"}
        A penalty > 0 on the paper's scale (X scaled with divisor n - 1), or how to choose it.
    alphas : array of float, optional
        Penalties to choose from; by default 50 values from 1e4 n down to 1e-4 n.
    scale, dof, noise, rule, cv, solver, random_state, n_jobs
        As for `PLSRegressor`.

    Attributes
    ----------
    alpha_ : float
        The penalty of the chosen model. Others as for `PLSRegressor`.

    Examples
    --------
    >>> from plsdof.datasets import load_ozone
    >>> X, y = load_ozone(return_X_y=True)
    >>> model = RidgeRegressor("gcv").fit(X, y)
    >>> round(model.dof_, 1)
    12.4
    """

    _choice_name = "alpha"

    def __init__(
        self,
        alpha: float | str = "bic",
        *,
        alphas: Any = None,
        scale: bool = True,
        dof: str = "exact",
        noise: Noise = None,
        rule: str | None = None,
        cv: Any = 10,
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
    def alpha_(self) -> float:
        """Penalty of the chosen model."""
        check_is_fitted(self)
        return float(self.path_.parameters[self.index_])

    def _fixed_index(self) -> int:
        return 0

    def _path_function(self, y: Array, weights: Array | None) -> Any:
        alphas = self.alphas if isinstance(self.alpha, str) else [self.alpha]
        if alphas is None:
            # One list for the whole fit: the folds of a cross-validation must not differ.
            n = len(y) if weights is None else weights.sum()
            alphas = default_alphas(n or 1.0)  # no weight at all is refused later
        return partial(ridge_path, alphas=alphas, scale=self.scale, solver=self.solver)


def _named(limits: Array, names: Any) -> Any:
    try:
        import pandas as pd
    except ImportError:
        return limits
    return pd.DataFrame(limits, index=list(names), columns=["lower", "upper"])
