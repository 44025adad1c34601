"""Exact Degrees of Freedom of fitted regressors: a few rules, also inside pipelines.

A rule takes a fitted model with what it was fitted on, and gives an `Exact`. Weights w enter a
least-squares fit as the roots of w that multiply the rows; the trace of d yhat / d y does not
change by that.

A rule is found by the exact class of a model, never by its behaviour: a subclass may do anything,
and a fit that looks linear in y on one data set need not be. Monte Carlo serves all others.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from plsdof._core.fit import pls_path
from plsdof._core.inputs import Array
from plsdof.errors import NotAvailableError, PlsdofWarning

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
        If no rule is known for this class of models.

    Notes
    -----
    Cost: a singular value decomposition of X.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsRegressor
    >>> X, y = [[i] for i in range(12)], list(range(12))
    >>> exact_dof(KNeighborsRegressor(3).fit(X, y), X, y).value
    4.0
    """
    return _exact(model, Training(X=X, y=y, weights=weights))


def exact_dof_of_path(path: Any, index: int) -> Exact:
    """Return the Degrees of Freedom of one model of a path, or of PLS2's."""
    value = float(path.dof[index])
    name = type(path).__name__
    if not np.isfinite(value):
        raise NotAvailableError(
            f"the components of this {name} were ordered by looking at y, for which no exact rule "
            "is known"
        )
    return Exact(value=value, how=f"{_STEIN}closed form of {name} for {path[index].label}.")


def _exact(model: Any, data: Training) -> Exact:
    package, name = _class_of(model)
    if package == "plsdof" and hasattr(model, "path_"):
        return _our_estimator(model)
    rule = RULES.get(name) if package == "sklearn" else None
    if rule is None:
        raise NotAvailableError(f"no exact rule is known for {name}")
    return rule(model, data)


def _class_of(model: Any) -> tuple[str, str]:
    return type(model).__module__.partition(".")[0], type(model).__name__


def _our_estimator(model: Any) -> Exact:
    one = model.model_
    if one.is_average:
        return Exact(
            value=one.dof,
            how=f"Those of {len(one.weights)} models, averaged, plus what their weights cost.",
            chosen="the models with weight",
        )
    exact = exact_dof_of_path(one.path, one.index)
    return exact if model.selection_ is None else replace(exact, chosen=one.label)


# Linear models, nearest neighbours, PLS
# --------------------------------------


def _least_squares(model: Any, data: Training) -> Exact:
    exact = _linear(model, data, penalty=0.0, selects=model.positive)
    if model.positive or not hasattr(model, "rank_"):  # sparse X has none
        return exact
    # The solver's own: which small singular values it took for zero.
    return replace(exact, value=float(model.rank_ + int(model.fit_intercept)))


def _ridge(model: Any, data: Training) -> Exact:
    penalty = float(np.ravel(model.alpha)[0])
    return _linear(model, data, penalty=penalty, selects=model.positive)


def _lasso(model: Any, data: Training) -> Exact:
    # scikit-learn divides the squared error by 2 n, n the sum of the weights, so the ridge part of
    # an elastic net is n times as strong.
    n = len(data.y) if data.weights is None else float(data.weights.sum())
    penalty = 0.0 if model.l1_ratio == 1.0 else n * model.alpha * (1.0 - model.l1_ratio)
    return _linear(model, data, penalty=penalty, selects=True)


def _linear(model: Any, data: Training, *, penalty: float, selects: bool) -> Exact:
    """Sum of s^2 / (s^2 + penalty) over the singular values s of the predictors that take part.

    Those with a non-zero coefficient, where the method selects, as if they were fixed: Zou, Hastie
    & Tibshirani (2007), Tibshirani & Taylor (2012).
    """
    X = data.predictors()
    active = np.ravel(model.coef_) != 0 if selects else np.full(X.shape[1], True)
    intercept = ", and 1 for the intercept" if model.fit_intercept else ", without intercept"
    what = "rank" if penalty == 0 else f"sum of s^2 / (s^2 + {penalty:g}), s the singular values,"
    how = f"{_LINEAR}{what} of the predictors{intercept}."
    if selects:
        how = (
            f"{_STEIN}{what} of the {int(active.sum())} predictors with a non-zero coefficient"
            f"{intercept}. The set of non-zeros is as accurate as the solver."
        )
    value = _shrunken_rank(X[:, active], penalty, model.fit_intercept, data.weights)
    return Exact(value=value + int(model.fit_intercept), how=how)


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


def _nearest_neighbours(model: Any, data: Training) -> Exact:
    """Sum over i of the share that row i has among the weights of its neighbours."""
    distances, rows = model.kneighbors(data.X)
    if callable(model.weights):
        weights = model.weights(distances)
    elif model.weights == "distance":
        # Where some neighbours coincide with the row, they alone count.
        coincident = distances == 0
        nearness = 1.0 / np.where(coincident, 1.0, distances)
        weights = np.where(coincident.any(axis=1, keepdims=True), coincident, nearness)
    else:
        weights = np.ones(distances.shape)
    own = np.sum(weights * (rows == np.arange(len(rows))[:, None]), axis=1)
    value = float(np.sum(own / np.sum(weights, axis=1)))
    return Exact(value=value, how=f"{_LINEAR}the weights of the rows in their own predictions.")


def _partial_least_squares(model: Any, data: Training) -> Exact:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PlsdofWarning)  # the fit itself has warned
        path = pls_path(data.predictors(), data.y, model.n_components, scale=model.scale)
    return exact_dof_of_path(path, len(path.dof) - 1)


# Pipelines: principal components regression, preprocessing, imputation
# ---------------------------------------------------------------------

# Transformers that never look at y and treat the training rows as any others.
_BLIND_TRANSFORMERS = {
    "FunctionTransformer",
    "KNNImputer",
    "MaxAbsScaler",
    "MinMaxScaler",
    "Normalizer",
    "OneHotEncoder",
    "PCA",
    "PolynomialFeatures",
    "PowerTransformer",
    "QuantileTransformer",
    "RobustScaler",
    "SimpleImputer",
    "SplineTransformer",
    "StandardScaler",
    "VarianceThreshold",
}
# Modules of chemotools in which no transformer looks at y; others, such as projection, do.
_BLIND_SPECTRAL = {"baseline", "derivative", "scale", "scatter", "smooth"}
# Transformers that are made of others, and where these are.
_CONTAINERS = {
    "ColumnTransformer": "transformers",
    "FeatureUnion": "transformer_list",
    "Pipeline": "steps",
}


def _pipeline(model: Any, data: Training) -> Exact:
    transformers = [step for _, step in model.steps[:-1]]
    for one in transformers:
        _require_blind(one)
    features = model[:-1].transform(data.X) if transformers else data.X
    exact = _exact(model.steps[-1][1], replace(data, X=features))
    return replace(exact, how=f"The transformers do not look at y. {exact.how}")


def _require_blind(transformer: Any) -> None:
    """Refuse a transformer that may look at y."""
    if transformer is None or isinstance(transformer, str):  # "passthrough", "drop"
        return
    package, name = _class_of(transformer)
    if package == "sklearn" and name in _CONTAINERS:
        for part in getattr(transformer, _CONTAINERS[name]):
            _require_blind(part[1])
        return
    if package == "chemotools":
        blind = type(transformer).__module__.split(".")[1] in _BLIND_SPECTRAL
    else:
        blind = (package, name) == ("plsdof", "Preprocessor") or (
            package == "sklearn" and name in _BLIND_TRANSFORMERS
        )
    if not blind:
        raise NotAvailableError(f"the transformer {name} is not known to ignore y")


RULES: dict[str, Rule] = {
    "ElasticNet": _lasso,
    "KNeighborsRegressor": _nearest_neighbours,
    "Lasso": _lasso,
    "LinearRegression": _least_squares,
    "PLSRegression": _partial_least_squares,
    "Pipeline": _pipeline,
    "Ridge": _ridge,
}
