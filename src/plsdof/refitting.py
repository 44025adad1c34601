"""Fitting the same regressor again and again: what Monte Carlo needs of scikit-learn and paths."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from plsdof._validation import Array, as_matrix
from plsdof.errors import InvalidInputError, MissingExtraError
from plsdof.monte_carlo import Fit
from plsdof.path import Path

# Regressors that hand everything on to the one they hold, and where that is.
_HOLDERS = {
    "GridSearchCV": "estimator",
    "HalvingGridSearchCV": "estimator",
    "HalvingRandomSearchCV": "estimator",
    "RandomizedSearchCV": "estimator",
    "TransformedTargetRegressor": "regressor",
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Fitted:
    """A fitted regressor and its fitted values, shape (n,)."""

    model: Any
    values: Array


def fit_regressor(
    estimator: Any, X: Any, y: Array, seed: int, weights: Array | None = None
) -> Fitted:
    """Fit a clone of a regressor, with ``seed`` wherever it has ``random_state=None``.

    Raises
    ------
    InvalidInputError
        If it is not a regressor, cannot be fitted, takes no weights but is given some, or does
        not predict one number per row.
    """
    _require_regressor(estimator)
    model = _seeded_clone(estimator, seed)
    options = weight_options(estimator, weights)
    try:
        predicted = np.asarray(model.fit(X, y, **options).predict(X), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"{type(estimator).__name__} could not be fitted to X and y: {error}"
        ) from error
    if predicted.shape not in ((len(y),), (len(y), 1)) or not np.all(np.isfinite(predicted)):
        raise InvalidInputError(
            f"{type(estimator).__name__} must predict one finite number for each of {len(y)} rows; "
            f"got shape {predicted.shape} with {np.sum(~np.isfinite(predicted))} not finite."
        )
    return Fitted(model=model, values=predicted.reshape(len(y)))


@dataclass(frozen=True, kw_only=True, eq=False)
class Refit:
    """Fitted values (n,) of clones of a regressor, as a function of response and seed."""

    estimator: Any
    X: Any
    weights: Array | None = None

    def __call__(self, y: Array, seed: int) -> Array:
        """Fit a clone to ``y``."""
        return fit_regressor(self.estimator, self.X, y, seed, self.weights).values


@dataclass(frozen=True, kw_only=True, eq=False)
class Weighted:
    """A fit of responses with noise variances proportional to 1 / weight, in units where they are
    equal: both responses and fitted values are multiplied by the roots of the weights.

    Traces of d yhat / d y stay as they are. Rows without weight keep their response in ``y``.
    """

    fit: Fit
    y: Array
    weights: Array

    @property
    def response(self) -> Array:
        """The response in these units, without rows that have no weight."""
        return self._root * self.y[self.weights > 0]

    def __call__(self, scaled: Array, seed: int) -> Array:
        """Fit a response in these units."""
        y, kept = self.y.copy(), self.weights > 0
        y[kept] = scaled / self._root
        return self._root * self.fit(y, seed)[kept]

    @property
    def _root(self) -> Array:
        return np.sqrt(self.weights[self.weights > 0])


def weight_options(estimator: Any, weights: Array | None) -> dict[str, Array]:
    """Return what ``fit`` needs to be told to use weights, nothing without weights.

    A pipeline hands them to its last step, a search or a transformation of the response to its
    regressor.
    """
    return {} if weights is None else {_weight_name(estimator): weights}


def _weight_name(estimator: Any) -> str:
    from sklearn.utils.validation import has_fit_parameter

    if hasattr(estimator, "steps"):
        name, last = estimator.steps[-1]
        return f"{name}__{_weight_name(last)}"
    held = getattr(estimator, _HOLDERS.get(type(estimator).__name__, ""), None)
    if held is not None:
        return _weight_name(held)
    if not has_fit_parameter(estimator, "sample_weight"):
        raise InvalidInputError(
            f"{type(estimator).__name__}.fit takes no sample_weight, so that weights have no "
            "meaning for it; leave sample_weight out, or repeat rows instead."
        )
    return "sample_weight"


def refitted(path: Path, index: int, y: Array, seed: int) -> Array:  # noqa: ARG001
    """Return the fitted values of one model of a path for another response. Shape (n_rows,)."""
    fitted = path.refit(y).fitted
    # Another response may support fewer components; the last fit is then least squares.
    return np.asarray(fitted[min(index, len(fitted) - 1)])


def linear_basis(X: Any, weights: Array | None = None) -> Array | None:
    """Return an orthonormal basis of the intercept and the predictors. Shape (n, r).

    With weights the rows are multiplied by their roots, and those without weight are left out.

    None if they are not plain numbers, or span more than half of the space: there is then little
    to learn from how a fit treats them.
    """
    try:
        columns = as_matrix(X)
    except InvalidInputError:
        return None
    if weights is not None:
        columns = columns[weights > 0]
    n, p = columns.shape
    if 2 * p > n:
        return None
    scale = np.linalg.norm(columns, axis=0)
    design = np.column_stack([np.ones(n), columns / np.where(scale > 0, scale, 1.0)])
    if weights is not None:
        design *= np.sqrt(weights[weights > 0])[:, None]
    left, singular, _ = np.linalg.svd(design, full_matrices=False)
    return left[:, singular > 1e-10 * singular[0]]


def cross_validated_noise(
    estimator: Any, X: Any, y: Array, seed: int, weights: Array | None = None
) -> float:
    """Return the mean squared error of 5-fold cross-validation, an upper guess of the noise's."""
    from sklearn.model_selection import KFold, cross_val_predict

    try:
        folds = KFold(min(5, len(y)), shuffle=True, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the fit on all rows has warned already
            predicted = cross_val_predict(
                _seeded_clone(estimator, seed),
                X,
                y,
                cv=folds,
                params=weight_options(estimator, weights),
            )
    except ValueError as error:
        raise InvalidInputError(
            f"The noise could not be estimated by cross-validation of {type(estimator).__name__}: "
            f"{error} Give noise=<variance>."
        ) from error
    residuals = y - np.reshape(predicted, len(y))
    return float(np.average(residuals**2, weights=weights))


def _require_regressor(estimator: Any) -> None:
    try:
        from sklearn.base import is_regressor
    except ImportError as error:
        raise MissingExtraError(
            "scikit-learn", "sklearn", "degrees_of_freedom of an estimator"
        ) from error
    if isinstance(estimator, type):
        raise InvalidInputError(
            f"The estimator is the class {estimator.__name__}; give an instance, "
            f"{estimator.__name__}()."
        )
    complete = all(hasattr(estimator, name) for name in ("fit", "predict", "get_params"))
    if not (complete and hasattr(estimator, "__sklearn_tags__") and is_regressor(estimator)):
        raise InvalidInputError(
            f"Degrees of Freedom are defined for regressors; got {estimator!r:.80} of type "
            f"{type(estimator).__name__}. Give a scikit-learn regressor (a class of your own "
            "derives from RegressorMixin and BaseEstimator) or a path."
        )


def _seeded_clone(estimator: Any, seed: int) -> Any:
    from sklearn.base import clone

    model = clone(estimator)
    free = {
        name: seed
        for name, value in model.get_params(deep=True).items()
        if value is None and (name == "random_state" or name.endswith("__random_state"))
    }
    return model.set_params(**free)
