"""PLS2 as an estimator: components that several responses share."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from plsdof._core.choice import LEFT_OUT, global_minimum
from plsdof._core.inputs import Array, as_choice, as_float, as_matrix, as_response
from plsdof._core.model import Model
from plsdof.chemometrics.diagnostics import vip
from plsdof.errors import InvalidInputError, NotAvailableError
from plsdof.estimators.base import ComponentRegressor, LinearScoresMixin, given_selection
from plsdof.variants.pls2 import PLS2, Algorithm, PLS2Model, PLS2Path, ResponsePath

JointChoice = Literal["left-out", "average", "cv"]


@dataclass(eq=False, repr=False)
class PLS2Regressor(LinearScoresMixin, ComponentRegressor[ResponsePath]):
    """Partial Least Squares with components shared by all responses (PLS2).

    A component maximises the covariance with all columns of y together, so that responses that
    hang together help each other; the price is one number of components for all of them.

    Parameters
    ----------
    n_components : int or {"left-out", "average", "cv"}
        A fixed number, or how to choose it: by the cross-validated errors, with a small price for
        complexity ("left-out", `PLS2Path.select`) or without ("cv"); or an average of models
        instead of one of them.
    max_components : int
        Limit of the search when the number is chosen.
    algorithm : {"nipals", "simpls"}
        See `pls2_path`; the first is that of scikit-learn's PLSRegression.
    scale : bool
        Scale the columns of X to unit variance.
    scale_response : bool
        Scale the columns of y likewise, which gives every response the same say, in the
        components and in the choice.
    cv : int, splitter or iterable, optional
        Folds of held-out rows, see `Path.left_out`; 10 for "cv".

    Attributes
    ----------
    n_components_ : int
        Of the chosen model.
    dof_ : float
        Degrees of Freedom of all responses together, the trace of d vec(Yhat) / d vec(Y).
    dof_by_response_, noise_std_ : (q,) arrays
        Their parts, and the noise standard deviations; floats if y has one dimension.
    coef_ : (q, p) array
        In original units; (p,) if y has one dimension.
    intercept_ : (q,) array or float
    path_ : PLS2Path
        All models.
    model_ : PLS2Model
        The chosen model, or average; ``model_.responses`` are those of the responses, with
        coefficients, errors and intervals, the other responses held fixed.
    selection_ : Selection or None
        The choice in words and numbers; None for a fixed number.
    x_scores_, x_weights_, x_loadings_, x_rotations_, y_scores_, y_loadings_ : arrays
        Of the chosen components, one column each, as in scikit-learn's PLSRegression.
    explained_variance_ratio_ : (m,) array, m chosen components
        Share of the variance of X that each component explains.
    y_explained_variance_ratio_ : (m, q) array
        Share of the variance of every response.
    n_features_in_, feature_names_in_
        Number of columns of X, and their names if it was a data frame.
    response_names_ : tuple of str or None
        Column names of y, if it was a data frame.

    Notes
    -----
    Cost: see `pls2_path`. A choice by cross-validation, and predictions with intervals, take no
    derivatives.

    Examples
    --------
    >>> from plsdof.datasets import load_ozone
    >>> X, y = load_ozone(return_X_y=True)
    >>> temperatures, others = X[:, 6:8], X[:, 8:]
    >>> model = PLS2Regressor(scale_response=True).fit(others, temperatures)
    >>> model.n_components_, model.coef_.shape, model.dof_by_response_.round(2)
    (4, (2, 4), array([5., 5.]))
    """

    n_components: int | JointChoice = LEFT_OUT
    _: KW_ONLY
    max_components: int = 30
    algorithm: Algorithm = "nipals"
    scale: bool = True
    scale_response: bool = False
    cv: Any = None

    _method = PLS2
    _passed_on = ("algorithm", "scale", "scale_response")

    def _check_options(self, groups: Any) -> None:
        if isinstance(self.n_components, str):
            as_choice(self.n_components, "n_components", get_args(JointChoice))
        super()._check_options(groups)

    def _training_data(self, X: Any, y: Any) -> tuple[Any, Array]:
        rows = self._rows(X, reset=True)
        if y is None:
            raise InvalidInputError(
                "PLS2Regressor requires y to be passed, but the target y is None."
            )
        self._one_response = as_float(y, "y").ndim == 1
        if self._one_response:
            return rows, as_response(y, len(rows))[:, None]
        columns = as_matrix(y, "y").T
        return rows, np.column_stack([as_response(one, len(rows)) for one in columns])

    def _fit_model(self, X: Any, y: Any, weights: Any, groups: Any) -> PLS2Model:
        rows, _ = self._observed(X, y[:, 0], weights)
        path: Any = self._method.recipe(**self._options()).fit(rows, y)
        return self._chosen_together(path, groups)

    def _chosen_together(self, path: PLS2Path, groups: Any) -> PLS2Model:
        how, cv = self.n_components, self._cv
        if how == "average":
            return path.average(groups=groups, cv=cv)
        if how == "cv":
            left = path.left_out(10 if cv is None else cv, groups)
            smallest = path[global_minimum(left.press)]
            selection = given_selection(smallest, left, "minimum", "cv-error")
        elif isinstance(how, str):
            selection = path.select(groups=groups, cv=cv)
        elif groups is None and cv is None:
            return path[-1]  # fewer than wanted where the data support no more (with a warning)
        else:
            selection = given_selection(path[-1], path.left_out(cv, groups))
        return replace(path[selection.index], selection=selection)

    def _publish(self, model: PLS2Model) -> None:
        self._joint = model
        self.coef_ = self._of_responses(model.coef.T)
        self.intercept_ = self._of_responses(model.intercept)
        self._publish_selection(model.selection)

    def _of_responses(self, values: Array, axis: int = 0) -> Any:
        """Return values with an axis of responses, without it if y had one dimension."""
        if not self._one_response:
            return np.array(values)
        only = np.take(values, 0, axis)
        return only if only.ndim else float(only)

    @property
    def model_(self) -> PLS2Model:  # type: ignore[override]
        """The chosen model of all responses, or an average."""
        return self._fitted()._joint

    @property
    def dof_by_response_(self) -> Any:
        """Degrees of Freedom of every response."""
        return self._of_responses(self.model_.dof_by_response)

    @property
    def noise_std_(self) -> Any:
        """Noise standard deviation of every response."""
        return self._of_responses(self.model_.noise_std)

    def predict(self, X: Any) -> Array:
        """Predict with the chosen model. Shape (n_new, q), (n_new,) if y had one dimension."""
        rows = self.path_rows(X)
        return np.asarray(self._of_responses(self.model_.predict(rows), axis=1))

    def _models(self) -> Sequence[Model]:
        return self.model_.responses

    def _inference(self, *_: Any) -> Any:
        raise NotAvailableError(
            "Coefficients belong to several responses; use those of one of them, such as plsdof."
            "inference.coefficient_inference(model.model_.responses[0], covariance='jackknife')."
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def vip(self) -> Any:
        """Return the importance of every variable for all responses together. Shape (p,)."""
        return self._named(vip(self.model_))
