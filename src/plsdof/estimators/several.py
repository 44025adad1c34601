"""scikit-learn estimator for PLS2: one set of components for several responses."""

import warnings
from typing import Any, Self

import numpy as np

from plsdof._core.inputs import as_choice, as_count, as_weights, row_labels
from plsdof.errors import NotAvailableError, RankExhaustedWarning
from plsdof.estimators.base import (
    LinearScoresMixin,
    ResponseRegressor,
    warn_of_empty_models,
)
from plsdof.inference.intervals import (
    INTERVAL_METHODS,
    name_coefficients,
    name_features,
    name_predictions,
    name_rows,
)
from plsdof.variants.pls2 import JOINT_CRITERIA, NOISE_MODELS, PLS2Average, PLS2Path, pls2_path


class PLS2Regressor(LinearScoresMixin, ResponseRegressor):
    """Partial Least Squares with components shared by all responses (PLS2).

    A component maximises the covariance with all columns of y together, so that responses that
    hang together help each other; the price is one number of components for all of them.
    `PLSRegressor` fits the columns one by one.

    Parameters
    ----------
    n_components : int or {"gcv", "bic", "aic", "hqc", "average"}
        A fixed number, or how to choose it: by the sum of the criterion over the responses, see
        `PLS2Path.criterion`; or the average of all models, see `PLS2Path.average`.
    max_components : int
        Limit of the search when the number is chosen.
    algorithm : {"nipals", "simpls"}
        See `pls2_path`; the first is that of scikit-learn's PLSRegression.
    scale : bool
        Scale the columns of X to unit variance.
    scale_response : bool
        Scale the columns of y likewise, which gives every response the same say, in the
        components and in the criterion.
    noise : {"independent", "correlated"}
        Whether the criterion takes the noise of different responses in one row as independent.
    rule : {"patient", "first-minimum", "global-minimum"}
    dof : {"smoothed", "exact", "naive"}, optional
        Degrees of Freedom in the criterion; by default "smoothed", "exact" with the rule
        "first-minimum".

    Attributes
    ----------
    n_components_ : int
    dof_ : float
        Degrees of Freedom of all responses together, the trace of d vec(Yhat) / d vec(Y).
    dof_by_response_, noise_std_ : (q,) arrays
        Their parts, and the noise standard deviations; floats if y has one dimension.
    coef_ : (q, p) array
        In original units; (p,) if y has one dimension.
    intercept_ : (q,) array or float
    path_ : PLS2Path
        All models.
    selection_ : Selection or None
        The choice in words and numbers; None for a fixed number.
    response_names_ : tuple of str or None
        Column names of y, if it was a data frame.

    Notes
    -----
    Cost: see `pls2_path`; for cross-validation `plsdof.variants.cross_validate_pls2`.

    Examples
    --------
    >>> from plsdof.datasets import load_ozone
    >>> X, y = load_ozone(return_X_y=True)
    >>> temperatures, others = X[:, 6:8], X[:, 8:]
    >>> model = PLS2Regressor(scale_response=True).fit(others, temperatures)
    >>> model.n_components_, model.coef_.shape, model.dof_by_response_.round(2)
    (4, (2, 4), array([5., 5.]))
    """

    path_: PLS2Path
    _fits_without_rows: Any

    def __init__(
        self,
        n_components: int | str = "gcv",
        *,
        max_components: int = 30,
        algorithm: str = "nipals",
        scale: bool = True,
        scale_response: bool = False,
        noise: str = "independent",
        rule: str = "patient",
        dof: str | None = None,
    ) -> None:
        self.n_components = n_components
        self.max_components = max_components
        self.algorithm = algorithm
        self.scale = scale
        self.scale_response = scale_response
        self.noise = noise
        self.rule = rule
        self.dof = dof

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit all models and choose one.

        Parameters
        ----------
        X : (n, p) array or data frame
        y : (n,) or (n, q) array, series or data frame
        sample_weight : (n,) array, optional
            Weights; integer weights mean repeated rows, with exact Degrees of Freedom.
        """
        X, Y = self._training_data(X, y)
        choosing = isinstance(self.n_components, str)
        if choosing:
            as_choice(self.n_components, "n_components", (*JOINT_CRITERIA, "average"))
        as_choice(self.noise, "noise", NOISE_MODELS)
        name = "max_components" if choosing else "n_components"
        with warnings.catch_warnings():
            if choosing:  # the largest size is then only a limit to the search
                warnings.simplefilter("ignore", RankExhaustedWarning)
            self.path_ = pls2_path(
                X,
                Y,
                as_count(getattr(self, name), name),
                algorithm=self.algorithm,
                scale=self.scale,
                scale_response=self.scale_response,
                sample_weight=as_weights(sample_weight, len(X)),
            )
        self.average_, self.selection_ = None, None
        self._fits_without_rows = None
        if self.n_components == "average":
            self.average_ = self.path_.average(self.dof or "smoothed")
            self.selection_ = self.average_.selection
        elif choosing:
            self.selection_ = self.path_.select(
                str(self.n_components), self.noise, self.rule, dof=self.dof
            )
        warn_of_empty_models([self.selection_])
        self._publish(self.path_)
        return self

    @property
    def n_components_(self) -> float:
        """Number of components of the chosen model; of an average the weighted mean."""
        self._require_fitted()
        return int(self.index_) if self.average_ is None else self.average_.n_components

    def _publish(self, path: PLS2Path) -> None:
        # Fewer than asked for where the data support no more (with a warning).
        index = len(path.dof) - 1 if self.selection_ is None else self.selection_.index
        self.index_ = index
        model = path.model(index) if self.average_ is None else self.average_
        self.coef_ = self._one_or_array([np.array(column) for column in model.coef.T])
        self.intercept_ = self._one_or_array(model.intercept.tolist())
        self.dof_ = model.dof
        self.dof_by_response_ = self._one_or_array(model.dof_by_response.tolist())
        self.noise_std_ = self._one_or_array(np.sqrt(model.noise_variance).tolist())

    def _on_paths(self) -> list[tuple[PLS2Path, int]]:
        self._require_fitted()
        return [(self.path_, self.index_)]

    def predict_interval(
        self,
        X: Any,
        level: float = 0.95,
        *,
        kind: str = "observation",
        method: str = "normal",
        progress: bool = False,
    ) -> Any:
        """Lower and upper limits for new observations, or the expected fit. (n_new, q, 2).

        (n_new, 2) if y had one dimension; a data frame with columns (name, "lower") and
        (name, "upper") if the responses have names. See `PLS2Path.prediction_interval` for what
        is assumed. Each response is covered by itself. With method "jackknife+" a number of
        components that was chosen is chosen again without each row, which takes n fits the first
        time; ``progress`` shows a bar on stderr (needs rich).
        """
        as_choice(method, "method", INTERVAL_METHODS)
        if method == "normal":
            limits = self._model().prediction_interval(self._new_rows(X), level, kind)
        else:
            path, index = self._one_model()
            left_out = self._left_out(progress) if method == "jackknife+" else None
            limits = path.prediction_interval(
                index, self._new_rows(X), level, kind, method=method, left_out=left_out
            )
        if self._one_response:
            return name_rows(limits[:, 0], row_labels(X))
        return name_predictions(limits, self.response_names_, row_labels(X))

    def _left_out(self, progress: bool) -> Any:
        """Return the fits without single rows, made once."""
        if self._fits_without_rows is None:
            path, index = self._one_model()
            choose: Any = index if self.selection_ is None else self._choose_again
            self._fits_without_rows = path.leave_out(choose, progress=progress)
        return self._fits_without_rows

    def _choose_again(self, path: PLS2Path) -> int:
        chosen = path.select(str(self.n_components), self.noise, self.rule, dof=self.dof)
        return int(chosen.index)

    def conf_int(self, level: float = 0.95) -> Any:
        """Confidence intervals of the coefficients, (q, p, 2); (p, 2) if y had one dimension.

        A data frame with rows (response, feature) if either has names. X and the number of
        components are held fixed; the expected coefficients of that many components are covered.
        """
        limits = self._model().coef_interval(level).transpose(1, 0, 2)
        features = getattr(self, "feature_names_in_", None)
        if self._one_response:
            return name_rows(limits[0], features)
        return name_coefficients(limits, self.response_names_, features)

    def vip(self) -> Any:
        """Return the importance of every variable for all responses together. Shape (p,)."""
        self._require_fitted()
        if self.average_ is not None:
            raise NotAvailableError(
                "Importance belongs to one number of components, and this is an average; use "
                "path_.vip(m)."
            )
        vip = self.path_.vip(int(self.index_))
        return name_features(vip, getattr(self, "feature_names_in_", None), None)

    def _one_model(self) -> tuple[PLS2Path, int]:
        """Return the path and the chosen model; an average is not one."""
        self._require_fitted()
        if self.average_ is not None:
            raise NotAvailableError(
                "An average of PLS2 models has intervals of method 'normal' only; use that one, "
                "or one number of components."
            )
        return self.path_, int(self.index_)

    def _model(self) -> PLS2Average:
        """Return what answers: one model, or the average."""
        self._require_fitted()
        return self.path_.model(int(self.index_)) if self.average_ is None else self.average_
