"""scikit-learn estimator for PLS2: one set of components for several responses."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal, get_args

from plsdof._core.choice import LEFT_OUT, global_minimum
from plsdof._core.inputs import Array, as_choice
from plsdof._core.model import Model
from plsdof.estimators.base import ComponentRegressor, LinearScoresMixin, given_selection
from plsdof.inference.intervals import name_features
from plsdof.variants.pls2 import PLS2, Algorithm, PLS2Model, PLS2Path, ResponsePath

JointChoice = Literal["left-out", "average", "cv"]
CHOICES = get_args(JointChoice)


@dataclass(eq=False, repr=False)
class PLS2Regressor(LinearScoresMixin, ComponentRegressor[ResponsePath]):
    """Partial Least Squares with components shared by all responses (PLS2).

    A component maximises the covariance with all columns of y together, so that responses that
    hang together help each other; the price is one number of components for all of them.
    `PLSRegressor` fits the columns one by one.

    Parameters
    ----------
    n_components : int or {"left-out", "average", "cv"}
        A fixed number, or how to choose it: by the errors of rows left out, with a small price for
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
        Folds of the rows that are left out, see `Path.left_out`; 10 for "cv".

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
        The chosen model, or average.
    models_ : tuple of Model
        The same for each response, the others held fixed.
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
    Cost: see `pls2_path`. A choice by rows left out, and predictions with intervals, take no
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
            as_choice(self.n_components, "n_components", CHOICES)
        super()._check_options(groups)

    def _fit_models(self, X: Any, Y: Array, weights: Array | None, groups: Any) -> list[Model]:
        path: Any = self._method.recipe(**self._options()).fit(self._observed(X, Y, weights), Y)
        self._joint = self._chosen_together(path, groups)
        return list(self._joint.responses)

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

    def _publish(self, models: Sequence[Model]) -> None:
        super()._publish(models)
        chosen = self._joint.selection  # one for all responses
        self.selection_ = None if chosen is None or chosen.rule == "given" else chosen

    @property
    def model_(self) -> Any:
        """The chosen model of all responses, a `PLS2Model`."""
        return self._fitted()._joint

    @property
    def path_(self) -> Any:
        """All models, a `PLS2Path`."""
        return self.model_.path

    @property
    def n_components_(self) -> int:
        """Number of components of the chosen model."""
        number: int = self.model_.n_components
        return number

    @property
    def dof_(self) -> float:
        """Degrees of Freedom of all responses together."""
        return float(self.model_.dof)

    @property
    def dof_by_response_(self) -> Any:
        """Degrees of Freedom of every response."""
        return self._one_or_array(self.model_.dof_by_response.tolist())

    def _on_paths(self) -> list[tuple[Any, int]]:
        return [(self.path_, self.model_.index)]

    def vip(self) -> Any:
        """Return the importance of every variable for all responses together. Shape (p,)."""
        features = getattr(self, "feature_names_in_", None)
        return name_features(self.model_.vip(), features, None, self._frames)
