"""scikit-learn estimator for PLS2: one set of components for several responses."""

from contextlib import nullcontext
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal, Self, get_args

import numpy as np

from plsdof._core.choice import LEFT_OUT, global_minimum
from plsdof._core.inputs import as_choice, as_count, as_weights
from plsdof._core.warnings import quietly
from plsdof.estimators.base import (
    LinearScoresMixin,
    ResponseRegressor,
    given_selection,
    warn_of_empty_models,
)
from plsdof.inference.intervals import name_features
from plsdof.variants.pls2 import PLS2, Algorithm, PLS2Model, PLS2Path

JointChoice = Literal["left-out", "cv", "aic", "bic", "gcv", "hqc"]
CHOICES = get_args(JointChoice)


class _FittedPLS2(ResponseRegressor):
    """What a fit of PLS2 leaves behind."""

    model_: PLS2Model


@dataclass(eq=False, repr=False)
class PLS2Regressor(LinearScoresMixin, _FittedPLS2):
    """Partial Least Squares with components shared by all responses (PLS2).

    A component maximises the covariance with all columns of y together, so that responses that
    hang together help each other; the price is one number of components for all of them.
    `PLSRegressor` fits the columns one by one.

    Parameters
    ----------
    n_components : int or {"left-out", "cv", "gcv", "bic", "aic", "hqc"}
        A fixed number, or how to choose it: by the errors of rows left out, with a small price for
        complexity ("left-out", `PLS2Path.select`) or without ("cv"); or by the sum of a criterion
        over the responses (`PLS2Path.criterion`).
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
        The chosen model.
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

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Fit all models and choose one.

        Parameters
        ----------
        X : (n, p) array or data frame
        y : (n,) or (n, q) array, series or data frame
        sample_weight : (n,) array, optional
            Weights; integer weights mean repeated rows, with exact Degrees of Freedom.
        groups : (n,) array, optional
            Rows that belong together, such as replicates of a sample: they are left out together,
            in the choice and in intervals. Criteria take rows as independent and refuse groups.
        """
        X, Y = self._training_data(X, y)
        choosing = isinstance(self.n_components, str)
        if choosing:
            as_choice(self.n_components, "n_components", CHOICES)
        size = "max_components" if choosing else "n_components"
        recipe = PLS2.recipe(
            max_components=as_count(getattr(self, size), size),
            algorithm=self.algorithm,
            scale=self.scale,
            scale_response=self.scale_response,
        )
        # The largest size of a choice is only a limit to the search.
        with quietly() if choosing else nullcontext():
            path: Any = recipe.fit(X, Y, as_weights(sample_weight, len(X)))
            if hasattr(self, "feature_names_in_"):
                named = tuple(map(str, self.feature_names_in_))
                path = replace(path, units=replace(path.units, names=named))
            self.model_ = self._chosen_on(path, groups)
        chosen = self.model_.selection
        self.selection_ = None if chosen is None or chosen.rule == "given" else chosen
        self.coef_ = self._one_or_array([np.array(column) for column in self.model_.coef.T])
        self.intercept_ = self._one_or_array(self.model_.intercept.tolist())
        warn_of_empty_models([self.selection_])
        return self

    def _chosen_on(self, path: PLS2Path, groups: Any) -> PLS2Model:
        how = self.n_components
        if how == "cv":
            left = path.left_out(10 if self.cv is None else self.cv, groups)
            smallest = path[global_minimum(left.press)]
            selection = given_selection(smallest, left, "minimum", "cv-error")
        elif isinstance(how, str):
            cv = self.cv if how == LEFT_OUT else None
            selection = path.select(how, groups=groups, cv=cv)
        elif groups is None and self.cv is None:
            return path[-1]  # fewer than wanted where the data support no more (with a warning)
        else:
            selection = given_selection(path[-1], path.left_out(self.cv, groups))
        return replace(path[selection.index], selection=selection)

    @property
    def path_(self) -> PLS2Path:
        """All models."""
        return self._fitted().model_.path

    @property
    def n_components_(self) -> int:
        """Number of components of the chosen model."""
        return self._fitted().model_.n_components

    @property
    def dof_(self) -> float:
        """Degrees of Freedom of all responses together."""
        return self._fitted().model_.dof

    @property
    def dof_by_response_(self) -> Any:
        """Degrees of Freedom of every response."""
        return self._one_or_array(self._fitted().model_.dof_by_response.tolist())

    @property
    def noise_std_(self) -> Any:
        """Noise standard deviation of every response."""
        return self._one_or_array(self._fitted().model_.noise_std.tolist())

    def _on_paths(self) -> list[tuple[PLS2Path, int]]:
        return [(self._fitted().model_.path, self.model_.index)]

    def predict_interval(
        self,
        X: Any,
        level: float = 0.95,
        *,
        method: Literal["left-out", "normal"] | None = None,
        kind: Literal["observation", "mean"] = "observation",
    ) -> Any:
        """Lower and upper limits for new observations, or the expected fit. (n_new, q, 2).

        (n_new, 2) if y had one dimension; a data frame with columns (name, "lower") and
        (name, "upper") if the responses have names. Methods "left-out", the default, and "normal":
        see `PLS2Model.prediction_interval`. Each response is covered by itself.
        """
        rows = self._new_rows(X)
        limits = self.model_.prediction_interval(rows, level, kind, method)
        return self._named_predictions(limits, X)

    def conf_int(self, level: float = 0.95) -> Any:
        """Confidence intervals of the coefficients, (q, p, 2); (p, 2) if y had one dimension.

        A data frame with rows (response, feature) if either has names. X and the number of
        components are held fixed; the expected coefficients of that many components are covered.
        """
        return self._named_coefficients(
            self._fitted().model_.coef_interval(level).transpose(1, 0, 2)
        )

    def vip(self) -> Any:
        """Return the importance of every variable for all responses together. Shape (p,)."""
        return name_features(
            self._fitted().model_.vip(), getattr(self, "feature_names_in_", None), None
        )
