"""Exact Degrees of Freedom of fitted regressors: one rule per class, also inside pipelines.

A rule takes a fitted model with what it was fitted on, and gives an `Exact`. Weights w enter a
least-squares fit as the roots of w that multiply the rows; the trace of d yhat / d y does not
change by that.

A rule is found by the exact class of a model, never by its behaviour: a subclass may do anything,
and a fit that looks linear in y on one data set need not be.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg

from plsdof._core.fit import pls_path
from plsdof._core.inputs import Array
from plsdof._core.path import Path
from plsdof.errors import NotAvailableError, PlsdofWarning
from plsdof.variants.pls2 import PLS2Path

# Exact Degrees of Freedom of fitted regressors: one rule per scikit-learn class
# ------------------------------------------------------------------------------

_LINEAR = "The fit is linear in y and the Degrees of Freedom are the trace of its smoother matrix: "
_STEIN = "Trace of the derivative of the fit at this y, unbiased under Gaussian noise: "


@dataclass(frozen=True, kw_only=True)
class Exact:
    """Degrees of Freedom from a formula.

    Attributes
    ----------
    value : float
    how : str
        The formula and what it assumes.
    chosen : str
        What the model has chosen by looking at y, which the formula takes as given; empty if
        nothing.
    """

    value: float
    how: str
    chosen: str = ""


@dataclass(frozen=True, kw_only=True, eq=False)
class Training:
    """What a model was fitted on; ``weights`` is None if every row has weight one."""

    X: Any
    y: Array
    weights: Array | None = None

    def predictors(self) -> Array:
        """Return X as a dense array."""
        X = self.X
        return np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)


Rule = Callable[[Any, Training], Exact]


def exact_dof_of_path(path: Path | PLS2Path, index: int) -> Exact:
    """Return the Degrees of Freedom of one model of a path."""
    value = float(path.dof[index])
    name = type(path).__name__
    if not np.isfinite(value):
        raise NotAvailableError(
            f"the components of this {name} were ordered by looking at y, for which no exact rule "
            "is known"
        )
    return Exact(value=value, how=f"{_STEIN}closed form of {name} for {path.label(index)}.")


def _least_squares(model: Any, data: Training) -> Exact:
    if model.positive:
        return _active_set(model, data, penalty=0.0)
    intercept = int(model.fit_intercept)
    rank = getattr(model, "rank_", None)
    if rank is None:  # sparse X
        rank = _shrunken_rank(data.predictors(), 0.0, model.fit_intercept, data.weights)
    return Exact(
        value=float(rank + intercept),
        how=f"{_LINEAR}rank {int(rank)} of the predictors{_plus_intercept(model)}.",
    )


def _ridge(model: Any, data: Training) -> Exact:
    alpha = _one_number(model.alpha)
    if model.positive:
        return _active_set(model, data, penalty=alpha)
    return _ridge_with(alpha, model, data)


def _ridge_cv(model: Any, data: Training) -> Exact:
    alpha = _one_number(model.alpha_)
    return replace(_ridge_with(alpha, model, data), chosen=f"alpha = {alpha:g}")


def _ridge_with(alpha: float, model: Any, data: Training) -> Exact:
    shrunken = _shrunken_rank(data.predictors(), alpha, model.fit_intercept, data.weights)
    return Exact(
        value=shrunken + int(model.fit_intercept),
        how=f"{_LINEAR}sum of s^2 / (s^2 + {alpha:g}) over the singular values s of the "
        f"predictors{_plus_intercept(model)}.",
    )


def _lasso(model: Any, data: Training) -> Exact:
    """Zou, Hastie & Tibshirani (2007), Tibshirani & Taylor (2012): the active set as if fixed."""
    alpha = float(getattr(model, "alpha_", getattr(model, "alpha", np.nan)))
    l1_ratio = float(getattr(model, "l1_ratio_", getattr(model, "l1_ratio", 1.0)))
    # scikit-learn divides the squared error by 2 n, n the sum of the weights, so its ridge part
    # is n times as strong.
    n = len(data.y) if data.weights is None else float(data.weights.sum())
    penalty = 0.0 if l1_ratio == 1.0 else n * alpha * (1.0 - l1_ratio)
    return _active_set(model, data, penalty=penalty)


def _lasso_cv(model: Any, data: Training) -> Exact:
    chosen = f"alpha = {float(model.alpha_):g}"
    if hasattr(model, "l1_ratio_"):
        chosen += f", l1_ratio = {float(model.l1_ratio_):g}"
    return replace(_lasso(model, data), chosen=chosen)


def _lasso_lars(model: Any, data: Training) -> Exact:
    _require_complete_lars(model)
    return _lasso(model, data)


def _lasso_lars_chosen(model: Any, data: Training) -> Exact:
    _require_complete_lars(model)
    return _lasso_cv(model, data)


def _require_complete_lars(model: Any) -> None:
    # A path that was cut off ends at a knot whose place depends on y; with positive=True it is
    # not the lasso's for small penalties; jitter changes y.
    cut_off = int(np.max(model.n_iter_)) >= model.max_iter
    if cut_off or model.positive or getattr(model, "jitter", None) is not None:
        raise NotAvailableError(
            f"the exact rule for {type(model).__name__} holds with positive=False, jitter=None "
            "and a path that was not cut off by max_iter"
        )


def _active_set(model: Any, data: Training, *, penalty: float) -> Exact:
    active = np.ravel(model.coef_) != 0
    columns = data.predictors()[:, active]
    value = _shrunken_rank(columns, penalty, model.fit_intercept, data.weights)
    what = "rank" if penalty == 0 else f"sum of s^2 / (s^2 + {penalty:g}), s the singular values,"
    return Exact(
        value=value + int(model.fit_intercept),
        how=f"{_STEIN}{what} of the {int(active.sum())} predictors with a non-zero coefficient"
        f"{_plus_intercept(model)}. The set of non-zeros is as accurate as the solver.",
    )


def _kernel_ridge(model: Any, data: Training) -> Exact:
    from sklearn.metrics.pairwise import pairwise_kernels

    options = model.kernel_params or {}
    if not callable(model.kernel):
        options = {"gamma": model.gamma, "degree": model.degree, "coef0": model.coef0}
    K = pairwise_kernels(data.X, metric=model.kernel, filter_params=True, **options)
    if data.weights is not None:
        K = K * np.sqrt(np.outer(data.weights, data.weights))
    alpha = _one_number(model.alpha)
    eigenvalues = np.linalg.eigvalsh(K)
    if alpha == 0:
        value = float(np.linalg.matrix_rank(K, hermitian=True))
    else:
        value = float(np.sum(eigenvalues / (eigenvalues + alpha)))
    return Exact(value=value, how=f"{_LINEAR}trace of K (K + {alpha:g} I)^-1, without intercept.")


def _gaussian_process(model: Any, data: Training) -> Exact:
    # Between two samples a white-noise kernel is zero, so this is not the matrix of the fit.
    K = model.kernel_(model.X_train_, model.X_train_)
    H = scipy.linalg.cho_solve((model.L_, True), K)
    value = float(np.trace(H))
    how = "trace of K (K + noise)^-1"
    if model.normalize_y:
        # yhat = ybar + H (y - ybar); the scale of y cancels.
        value += 1.0 - float(H.sum()) / len(data.y)
        how += " with the mean of y put back"
    fixed = model.optimizer is None or model.kernel_.n_dims == 0
    return Exact(value=value, how=f"{_LINEAR}{how}.", chosen="" if fixed else f"{model.kernel_}")


def _nearest_neighbours(model: Any, data: Training) -> Exact:
    distances, rows = model.kneighbors(data.X)
    return _own_weights(model.weights, distances, rows, len(data.y))


def _radius_neighbours(model: Any, data: Training) -> Exact:
    distances, rows = model.radius_neighbors(data.X)
    return _own_weights(model.weights, distances, rows, len(data.y))


def _own_weights(kind: Any, distances: Any, rows: Any, n: int) -> Exact:
    """Sum over i of the share that row i has among the weights of its neighbours.

    Both arguments have one entry per row: a vector of its own length, or a row of a matrix.
    """
    given = kind(distances) if callable(kind) else None
    predicted = np.repeat(np.arange(n), [len(one) for one in rows])
    far, neighbour = np.concatenate(list(distances)), np.concatenate(list(rows))
    if given is not None:
        weights = np.concatenate(list(given))
    elif kind == "distance":
        # Where some neighbours coincide with the row, they alone count.
        coincident = far == 0
        alone = np.bincount(predicted, coincident, n)[predicted] > 0
        weights = np.where(alone, coincident, 1.0 / np.where(coincident, 1.0, far))
    else:
        weights = np.ones(len(far))
    own = np.bincount(predicted, weights * (neighbour == predicted), n)
    value = float(np.sum(own / np.bincount(predicted, weights, n)))
    return Exact(value=value, how=f"{_LINEAR}the weights of the rows in their own predictions.")


def _constant(model: Any, data: Training) -> Exact:  # noqa: ARG001
    if model.strategy == "constant":
        return Exact(value=0.0, how="The fit is a constant that does not depend on y.")
    return Exact(
        value=1.0,
        how=f"The {model.strategy} of y as fit: it moves with y, so its derivatives add up to 1.",
    )


def _partial_least_squares(model: Any, data: Training) -> Exact:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PlsdofWarning)  # the fit itself has warned
        path = pls_path(data.predictors(), data.y, model.n_components, scale=model.scale)
    return exact_dof_of_path(path, len(path.dof) - 1)


def _shrunken_rank(X: Array, penalty: float, centre: bool, weights: Array | None) -> float:
    """Sum of s^2 / (s^2 + penalty) over the singular values s of X; the rank without penalty."""
    if X.shape[1] == 0:
        return 0.0
    if centre:
        X = X - np.average(X, axis=0, weights=weights)
    if weights is not None:
        X = X * np.sqrt(weights)[:, None]
    if penalty == 0:
        return float(np.linalg.matrix_rank(X))
    squares = np.linalg.svd(X, compute_uv=False) ** 2
    return float(np.sum(squares / (squares + penalty)))


def _one_number(value: Any) -> float:
    return float(np.ravel(value)[0])


def _plus_intercept(model: Any) -> str:
    return ", and 1 for the intercept" if model.fit_intercept else ", without intercept"


RULES: dict[str, Rule] = {
    "DummyRegressor": _constant,
    "ElasticNet": _lasso,
    "ElasticNetCV": _lasso_cv,
    "GaussianProcessRegressor": _gaussian_process,
    "KNeighborsRegressor": _nearest_neighbours,
    "KernelRidge": _kernel_ridge,
    "Lasso": _lasso,
    "LassoCV": _lasso_cv,
    "LassoLars": _lasso_lars,
    "LassoLarsCV": _lasso_lars_chosen,
    "LassoLarsIC": _lasso_lars_chosen,
    "LinearRegression": _least_squares,
    "PLSRegression": _partial_least_squares,
    "RadiusNeighborsRegressor": _radius_neighbours,
    "Ridge": _ridge,
    "RidgeCV": _ridge_cv,
}


# Exact Degrees of Freedom of fitted regressors: which rule holds, also in pipelines and searches
# -----------------------------------------------------------------------------------------------

# Transformers that never look at y and treat the training rows as any others. Those that draw
# random numbers are fixed once they have been fitted.
_RANDOM_TRANSFORMERS = {
    "GaussianRandomProjection",
    "Nystroem",
    "PolynomialCountSketch",
    "RBFSampler",
    "SkewedChi2Sampler",
    "SparseRandomProjection",
}
_BLIND_TRANSFORMERS = _RANDOM_TRANSFORMERS | {
    "AdditiveChi2Sampler",
    "Binarizer",
    "FunctionTransformer",
    "KBinsDiscretizer",
    "KNNImputer",
    "KernelCenterer",
    "KernelPCA",
    "MaxAbsScaler",
    "MinMaxScaler",
    "MissingIndicator",
    "Normalizer",
    "OneHotEncoder",
    "OrdinalEncoder",
    "PCA",
    "PolynomialFeatures",
    "PowerTransformer",
    "QuantileTransformer",
    "RobustScaler",
    "SimpleImputer",
    "SplineTransformer",
    "StandardScaler",
    "TruncatedSVD",
    "VarianceThreshold",
}


def exact_dof(model: Any, X: Any, y: Array, weights: Array | None = None) -> Exact:
    """Return the exact Degrees of Freedom of a model fitted to (X, y).

    Parameters
    ----------
    model : fitted regressor
    X : (n, p) array, sparse matrix or data frame
        What the model was fitted on.
    y : (n,) array
    weights : (n,) array, optional
        The ``sample_weight`` it was fitted with; of the last step, for a pipeline.

    Raises
    ------
    NotAvailableError
        If no rule is known for this class of models with these options.

    Notes
    -----
    Cost: a singular value decomposition of X, or of the n x n kernel matrix.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsRegressor
    >>> X, y = [[i] for i in range(12)], list(range(12))
    >>> exact_dof(KNeighborsRegressor(3).fit(X, y), X, y).value
    4.0
    """
    return _exact(model, Training(X=X, y=y, weights=weights))


def _exact(model: Any, data: Training) -> Exact:
    package, name = _class_of(model)
    if package == "plsdof" and isinstance(getattr(model, "path_", None), Path | PLS2Path):
        return _our_estimator(model)
    rule = _ALL_RULES.get(name) if package == "sklearn" else None
    if rule is None:
        raise NotAvailableError(f"no exact rule is known for {name}")
    return rule(model, data)


def _class_of(model: Any) -> tuple[str, str]:
    return type(model).__module__.partition(".")[0], type(model).__name__


def _our_estimator(model: Any) -> Exact:
    if (average := getattr(model, "average_", None)) is not None:
        return Exact(
            value=average.dof,
            how=f"{_STEIN}average of {len(average.weights)} models, with the derivative of their "
            "weights at fixed Degrees of Freedom.",
            chosen="the models with weight and the Degrees of Freedom in the weights",
        )
    exact = exact_dof_of_path(model.path_, model.index_)
    if getattr(model, "selection_", None) is None:
        return exact
    return replace(exact, chosen=model.path_.label(model.index_))


def _pipeline(model: Any, data: Training) -> Exact:
    transformers = [step for _, step in model.steps[:-1]]
    random = _require_blind(transformers)
    features = model[:-1].transform(data.X) if transformers else data.X
    exact = _exact(model.steps[-1][1], replace(data, X=features))
    how = "The transformers do not look at y" + (", given what they drew at random" * random)
    return replace(exact, how=f"{how}. {exact.how}")


def _require_blind(transformers: list[Any]) -> bool:
    """Refuse transformers that may look at y; return whether one of them is random."""
    return max(map(_is_random, transformers), default=False)


def _is_random(transformer: Any) -> bool:
    if transformer is None or isinstance(transformer, str):  # "passthrough", "drop"
        return False
    package, name = _class_of(transformer)
    if package == "sklearn" and name in _CONTAINERS:
        return _require_blind([part[1] for part in getattr(transformer, _CONTAINERS[name])])
    if package == "sklearn" and name in _BLIND_TRANSFORMERS:
        return name in _RANDOM_TRANSFORMERS
    if (package, name) == ("plsdof", "Preprocessor"):
        return False
    if package == "chemotools" and type(transformer).__module__.split(".")[1] in _BLIND_SPECTRAL:
        return False
    raise NotAvailableError(f"the transformer {name} is not known to ignore y")


# Modules of chemotools in which no transformer looks at y; others, such as projection, do.
_BLIND_SPECTRAL = {"baseline", "derivative", "scale", "scatter", "smooth"}
_CONTAINERS = {
    "ColumnTransformer": "transformers",
    "FeatureUnion": "transformer_list",
    "Pipeline": "steps",
}


def _search(model: Any, data: Training) -> Exact:
    exact = _exact(model.best_estimator_, data)
    chosen = ", ".join(f"{name} = {value}" for name, value in model.best_params_.items())
    return replace(exact, chosen="; ".join(filter(None, (chosen, exact.chosen))))


_ALL_RULES: dict[str, Rule] = {
    **RULES,
    "GridSearchCV": _search,
    "HalvingGridSearchCV": _search,
    "HalvingRandomSearchCV": _search,
    "Pipeline": _pipeline,
    "RandomizedSearchCV": _search,
}
