"""Exact Degrees of Freedom of fitted regressors: which rule holds, also in pipelines and searches.

A rule is found by the exact class of a model, never by its behaviour: a subclass may do anything,
and a fit that looks linear in y on one data set need not be.
"""

from dataclasses import replace
from typing import Any

from plsdof._validation import Array
from plsdof.complexity_rules import RULES, Exact, Rule, Training, exact_dof_of_path
from plsdof.errors import NotAvailableError
from plsdof.multiresponse import PLS2Path
from plsdof.path import Path

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
    raise NotAvailableError(f"the transformer {name} is not known to ignore y")


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
