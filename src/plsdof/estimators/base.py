"""What the estimators share: rows checked once, a path, a chosen model, answers."""

import numbers
import os
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, Literal, Self, TypeVar, cast

import numpy as np
import numpy.typing as npt
import scipy.sparse
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    RegressorMixin,
    TransformerMixin,
)
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from plsdof._core import inputs
from plsdof._core.choice import LEFT_OUT, Selection, rule_in_words
from plsdof._core.compression import krylov_steps
from plsdof._core.criteria import CRITERIA, criterion_label
from plsdof._core.folds import group_codes, make_folds
from plsdof._core.inputs import Array, feature_names
from plsdof._core.left_out import MOST_COMPONENTS, LeftOut
from plsdof._core.model import Model, members_of, pooled
from plsdof._core.path import Path
from plsdof._core.plugins import plugin_for, predictor_of
from plsdof._core.recipe import Method, Recipe
from plsdof._core.remarks import Remark
from plsdof._core.standardize import observe
from plsdof._core.warnings import quietly, warn_caller
from plsdof.errors import (
    EmptyModelWarning,
    InvalidInputError,
    RankExhaustedWarning,
)
from plsdof.inference import intervals as inference
from plsdof.inference.intervals import Covariance
from plsdof.inference.summary import Summary, summarize
from plsdof.selection.cross_validation import cross_validate

if TYPE_CHECKING:
    from pandas import DataFrame

    from plsdof.models import Predictor


# Rows, checked once
# ------------------


class Estimator(BaseEstimator):  # type: ignore[misc]
    """An estimator that checks rows, knows names of columns, and computes nothing when shown."""

    n_features_in_: int
    feature_names_in_: npt.NDArray[np.object_]
    _path_takes_sparse = False

    @property
    def _takes_holes(self) -> bool:
        """Whether values of X may be missing."""
        missing = getattr(self, "missing", None)
        return isinstance(missing, str) and missing == "impute"

    @property
    def _takes_sparse(self) -> bool:
        """Whether X may be a scipy sparse matrix."""
        return self._path_takes_sparse and not self._takes_holes

    def path_rows(self, X: Any) -> Any:
        """Return new rows, checked, as the path of this model takes them. Shape (n_new, p)."""
        return self._fitted()._rows(X, reset=False)

    def _rows(self, X: Any, *, reset: bool) -> Any:
        """Check rows; note the number and names of columns, or compare these with those noted."""
        names, is_sparse = feature_names(X), bool(scipy.sparse.issparse(X))
        rows: Any
        if is_sparse and self._takes_sparse:
            rows = inputs.as_sparse_rows(X, X.shape[1]).astype(np.float64, copy=False)
        else:
            rows = inputs.as_matrix(X, min_rows=1 + reset, holes=self._takes_holes)
        header = rows
        if names is not None:  # as text, which is what scikit-learn knows; wavelengths are numbers
            header = X.head(0) if hasattr(X, "head") else X[:0]
            header = header.set_axis(list(names), axis=1) if hasattr(X, "set_axis") else header
        p = rows.shape[1]
        nameless = names is None and not hasattr(self, "feature_names_in_")
        try:
            if nameless and (reset or p == self.n_features_in_):
                self.n_features_in_ = p  # all that there is to note, without a look at its type
            else:
                validate_data(self, header, reset=reset, skip_check_array=True)
        except ValueError as error:
            where = " (feature_names_in_)" if hasattr(self, "feature_names_in_") else ""
            raise InvalidInputError(
                f"{str(error).rstrip()}\nGive the columns of the training data{where} in their "
                "order."
            ) from error
        if reset:
            self._frames = inference.frame_library(X)
        return rows

    def save(self, file: str | os.PathLike[str]) -> None:
        """Write the fitted model to a JSON file without code; `plsdof.load_model` reads it."""
        from plsdof.models.files import save_model

        save_model(self._fitted(), file)

    def _fitted(self) -> Self:
        check_is_fitted(self)
        return self

    def _named(self, values: Array) -> Any:
        """Return (p,) values or (p, 2) limits with the names of the columns, if these have any."""
        return inference.name_features(
            values, getattr(self, "feature_names_in_", None), self._frames
        )

    def __dir__(self) -> list[str]:
        """List attributes; properties are not asked whether they have a value."""
        kind, names = type(self), object.__dir__(self)
        computed = {name for name in names if isinstance(getattr(kind, name, None), property)}
        return [name for name in names if name in computed or hasattr(self, name)]

    def _get_fitted_attr_html(self, doc_link: str = "") -> Any:
        """Return fitted attributes for scikit-learn's table, without those that are computed."""
        stored = BaseEstimator()
        vars(stored).update(vars(self))
        return BaseEstimator._get_fitted_attr_html(stored, doc_link)


# Scores of the chosen components
# -------------------------------


class ScoresMixin(ClassNamePrefixFeaturesOutMixin, TransformerMixin):  # type: ignore[misc]
    """Scores of the chosen components, with names, for pipelines."""

    def transform(self, X: Any) -> Array:
        """Return the scores of the chosen components. Shape (n_new, n_components_).

        Of an average those of the model with the largest weight.
        """
        rows, (path, m) = self.path_rows(X), self._on_path()
        return np.asarray(path.transform(rows)[:, :m])

    @property
    def x_scores_(self) -> Array:
        """Scores of the training rows on the chosen components. Shape (n_rows, n_components_)."""
        return self._of_components("x_scores")

    def _of_components(self, name: str) -> Array:
        """Return what a path has for each component, of those that were chosen."""
        path, m = self._on_path()
        return np.asarray(getattr(path, name)[:, :m])

    @property
    def _n_features_out(self) -> int:
        return self._on_path()[1]

    if TYPE_CHECKING:

        def _on_path(self) -> tuple[Any, int]:
            """Return the path, and the row of the chosen model, which an estimator has."""


class LinearScoresMixin(ScoresMixin):
    """Scores that are linear in the predictors, with weights and loadings, and a way back."""

    def inverse_transform(self, X: Any) -> Array:
        """Return the predictors that scores, as of `transform`, stand for. Shape (n_new, p).

        With all components this is X itself, if it was among the training rows or n > p.
        """
        return np.asarray(self._on_path()[0].inverse_transform(X))

    @property
    def x_weights_(self) -> Array:
        """Orthonormal weight vectors in standardised units. Shape (p, n_components_)."""
        return self._of_components("x_weights")

    @property
    def x_loadings_(self) -> Array:
        """Loadings in standardised units. Shape (p, n_components_)."""
        return self._of_components("x_loadings")

    @property
    def x_rotations_(self) -> Array:
        """Standardised X times these are the scores. Shape (p, n_components_)."""
        return self._of_components("x_rotations")

    @property
    def y_loadings_(self) -> Array:
        """Coefficients q of the responses on the scores, as fitted. Shape (q, n_components_).

        In units of the responses, or of their scales where these were scaled.
        """
        path, m = self._on_path()
        return np.atleast_2d(path.y_loadings)[:, :m]

    @property
    def y_scores_(self) -> Array:
        """Scores Y_k q_k / (q_k'q_k) of the training responses. Shape (n_rows, n_components_).

        Y_k is what the components before k leave of the responses.
        """
        path, m = self._on_path()
        loadings, Y = self.y_loadings_, path.response()
        left = (Y - path.fitted[:m]).reshape(m, len(Y), len(loadings))
        left = left / getattr(path, "y_scale", 1.0)
        return np.asarray(np.einsum("kij,jk->ik", left, loadings) / np.sum(loadings**2, axis=0))

    @property
    def explained_variance_ratio_(self) -> Array:
        """Share of the variance of X that each component explains. Shape (n_components_,)."""
        path, m = self._on_path()
        return _shares_of_x(path, m)

    @property
    def y_explained_variance_ratio_(self) -> Array:
        """Share of the variance of y that each component explains. Shape (n_components_,).

        (n_components_, q) if components are shared by q responses.
        """
        path, m = self._on_path()
        total = np.where(path.rss[0] > 0, path.rss[0], np.nan)
        return np.asarray(-np.diff(path.rss[: m + 1], axis=0) / total)


def _shares_of_x(path: Any, m: int) -> Array:
    """Return (t't) (p'p) of each component over the sum of squares of standardised X."""
    T, P = path.x_scores[:, :m], path.x_loadings[:, :m]
    squares = np.sum(path.exact.row_weight * T.T**2, axis=1) * np.sum(P**2, axis=0)
    return np.asarray(squares / path.exact.trace)


# A path, a model chosen on it, answers about it
# ----------------------------------------------

CHOICES = (LEFT_OUT, "average", *CRITERIA, "cv")
Choice = Literal["left-out", "average", "aic", "bic", "gmdl", "aicc", "cp", "gcv", "hqc", "cv"]
PathType = TypeVar("PathType", bound=Path)


def only_response(y: Any, kind: str) -> Any:
    """Return y, (n,); a single column is taken as scikit-learn takes it, with a warning."""
    shape: tuple[Any, ...] = getattr(y, "shape", ())
    if len(shape) != 2:
        return y
    if shape[1] != 1:
        raise InvalidInputError(
            f"y has {shape[1]} columns, and {kind} fits one response. Use PLS2Regressor for "
            "components that all of them share, or "
            f"sklearn.multioutput.MultiOutputRegressor({kind}()) for a model of each."
        )
    warn_caller(
        "A column-vector y was passed when a 1d array was expected; its column is taken. Give "
        "y.ravel(), or the column of the data frame.",
        DataConversionWarning,
    )
    return y[y.columns[0]] if hasattr(y, "columns") else y[:, 0]


class PathRegressor(RegressorMixin, Estimator, Generic[PathType]):  # type: ignore[misc]
    """Fit a path, choose a model on it, answer questions about that model.

    A subclass says which `_method` it fits with which `_options`, which parameter is chosen
    (`_choice_name`) and how a fixed value of it becomes a row of the path (`_fixed_index`).
    """

    model_: Model
    coef_: Array
    intercept_: float
    selection_: Selection | None
    response_names_: tuple[str, ...] | None
    _one_response = True

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None) -> Self:
        """Fit all models and choose one.

        Parameters
        ----------
        X : (n, p) array or data frame
            PLS, PCR and ridge also take the other containers of `pls_path`, such as scipy sparse
            matrices, dask arrays and data frames, and blocks, and never make them dense.
        y : (n,) array or series
            The response. For several see `PLS2Regressor`, which shares components between them, or
            `sklearn.multioutput.MultiOutputRegressor`, which fits a model of each.
        sample_weight : (n,) array, optional
            Weights; integer weights mean repeated rows, with exact Degrees of Freedom.
        groups : (n,) array, optional
            Rows that belong together, such as replicates of a sample: they are held out together,
            in the choice and in intervals. Criteria take rows as independent and refuse groups.
        """
        self._check_options(groups)
        # Memory maps and sparse matrices are checked like arrays.
        in_memory = isinstance(X, np.ndarray) or scipy.sparse.issparse(X)
        elsewhere = self._path_takes_sparse and not in_memory and plugin_for(X) is not None
        # With a choice the largest size is only a limit to the search.
        with quietly(RankExhaustedWarning) if isinstance(self._choice(), str) else nullcontext():
            if elsewhere:
                weights, self._cv = sample_weight, self.cv
                response = only_response(y, type(self).__name__)
            else:
                X, response = self._training_data(X, y)
                weights = inputs.as_weights(sample_weight, X.shape[0])
                self._cv = self._split(X, response, groups)
            model = self._fit_model(X, response, weights, groups)
        if elsewhere:
            path = model.path
            self.n_features_in_ = path.rows.n_features
            self.__dict__.pop("feature_names_in_", None)
            if path.feature_names is not None:
                self.feature_names_in_ = np.array(path.feature_names, dtype=object)
            self._frames = "pandas"
        self.response_names_ = inference.response_names(y)
        self._publish(model)
        return self

    def _training_data(self, X: Any, y: Any) -> tuple[Any, Array]:
        """Check the data and return X (n, p) and y (n,)."""
        rows = self._rows(X, reset=True)
        if y is None:
            raise InvalidInputError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        values = inputs.as_float(y, "y")
        given = only_response(y if hasattr(y, "shape") else values, type(self).__name__)
        response = inputs.as_response(given, rows.shape[0])
        if isinstance(rows, np.ndarray):
            label = getattr(given, "name", None)
            inputs.require_response_outside(rows, response, feature_names(X), label)
        return rows, response

    def _split(self, X: Any, y: Array, groups: Any) -> Any:
        """Return the folds: pairs of rows are drawn once."""
        if groups is not None:
            group_codes(groups, len(y))  # checked even where nothing is left out
        if self.cv is None or isinstance(self.cv, numbers.Integral | str):
            return self.cv
        return [(fold.train, fold.test) for fold in make_folds(X, y, self.cv, groups)]

    def _check_options(self, groups: Any) -> None:
        choice = self._choice()
        by_criterion = isinstance(choice, str) and choice in CRITERIA
        if isinstance(choice, str):
            inputs.as_choice(choice, self._choice_name, CHOICES)
        if groups is not None and by_criterion:
            raise InvalidInputError(
                f"{self._choice_name}={choice!r} takes rows as independent and cannot use groups; "
                f"use {LEFT_OUT!r}, 'average' or 'cv', which leave them out together."
            )
        for name in ("dof", "rule"):
            given = getattr(self, name, None)
            if given is None or by_criterion or (name == "rule" and choice == "cv"):
                continue
            raise InvalidInputError(
                f"{name} belongs to a choice by an information criterion, such as 'bic'; got "
                f"{name}={given!r:.60} with {self._choice_name}={choice!r:.60}."
            )

    def _fit_model(self, X: Any, y: Any, weights: Any, groups: Any) -> Any:
        """Fit the paths of all recipes, and choose a model."""
        model = self._chosen_of(self._by_recipe(X, y, weights), X, y, weights, groups)
        for one in members_of(model):
            if (given := one.path.given) is not None:
                given.own()
        return model

    def _by_recipe(self, X: Any, y: Any, weights: Any) -> dict[str, Path]:
        """Fit the paths of all recipes."""
        recipes = self._recipes().items()
        return {name: self._lazily(one, X, y, weights) for name, one in recipes}

    def _lazily(self, recipe: Recipe, X: Any, y: Any, weights: Any) -> Path:
        """Fit a path; of large data one that counts no more than a choice would consider."""
        path = recipe.fit(*self._observed(X, y, weights))
        by_held_out = self._choice() in (LEFT_OUT, "average")
        is_open = recipe.options.get("max_components", 0) is None
        if not (by_held_out and is_open and path.rows.in_memory):
            return path
        if path.store.most_components() < 2 * krylov_steps(MOST_COMPONENTS):
            return path
        short = recipe.with_options(max_components=MOST_COMPONENTS)
        return replace(short.fit(*self._observed(X, y, weights)), _is_open=True)

    def _recipes(self) -> dict[str, Recipe]:
        """Return what is compared, by name: one recipe, or several for a pool."""
        options = self._options()
        scale = options.get("scale")
        if isinstance(scale, str) and scale == "auto":
            of = {"as measured": False, "scaled": True}
            return {name: self._method.recipe(**options | {"scale": s}) for name, s in of.items()}
        return {"": self._method.recipe(**options)}

    @property
    def _precomputed(self) -> bool:
        """Whether X has kernel values in the place of predictors."""
        return False

    def _observed(self, X: Any, y: Any, weights: Any) -> tuple[Any, ...]:
        """Return what a recipe is fitted to: data that have been checked, with their names."""
        if not isinstance(X, np.ndarray) or self._precomputed:
            return X, y, weights
        names = getattr(self, "feature_names_in_", None)
        return observe(
            X, y.copy(), weights, None if names is None else tuple(map(str, names))
        ), None

    def _chosen_of(
        self, paths: dict[str, Path], X: Any, y: Any, weights: Any, groups: Any
    ) -> Model:
        """Choose a model of one recipe, or of several."""
        if len(paths) > 1:
            return self._pooled(paths, groups)
        return self._chosen_on(next(iter(paths.values())), X, y, weights, groups)

    def _pooled(self, paths: dict[str, Path], groups: Any) -> Model:
        """Choose one model of several recipes, or average them."""
        choice = self._choice()
        if choice in (LEFT_OUT, "average"):
            return pooled(paths, average=choice == "average", cv=self._cv, groups=groups)
        if isinstance(choice, str):
            raise InvalidInputError(
                f"{self._choice_name}={choice!r} chooses on one path, and there are "
                f"{len(paths)} recipes to choose from; use {LEFT_OUT!r} or 'average'."
            )
        # A number of components is given: the recipe with the smallest cross-validated error.
        models = [path[self._fixed_index(path)] for path in paths.values()]
        lefts = [one.path.left_out(self._cv, groups) for one in models]
        errors = [left.press[one.index] for one, left in zip(models, lefts, strict=True)]
        best = int(np.argmin(errors))
        chosen = given_selection(models[best], lefts[best])
        name = list(paths)[best]
        return replace(models[best], selection=replace(chosen, recipe=best, recipe_name=name))

    def _chosen_on(self, path: Path, X: Any, y: Any, weights: Any, groups: Any) -> Model:
        choice = self._choice()
        if not isinstance(choice, str):
            model = path[self._fixed_index(path)]
            if groups is None and self._cv is None:
                return model
            left = path.left_out(self._cv, groups)
            return replace(model, selection=given_selection(model, left))
        if choice == "average":
            return path.average(groups=groups, cv=self._cv)
        if choice == "cv":
            folds, recipe = 10 if self._cv is None else self._cv, path.rows.same_models()
            results = cross_validate(X, y, recipe, folds, groups, sample_weight=weights)
            selection = results.select(rule=getattr(self, "rule", None) or "minimum")
            if groups is not None:  # intervals hold them out together, too
                left = path.left_out(folds, groups)
                selection = replace(selection, left_out=left)
            if not path.store.has(
                selection.index
            ):  # folds may have models that all rows do not have
                selection = replace(selection, index=min(selection.index, len(path) - 1))
        elif choice == LEFT_OUT:
            selection = path.select(groups=groups, cv=self._cv)
        else:
            names = ("dof", "noise", "rule")
            options: dict[str, Any] = {name: getattr(self, name, None) for name in names}
            selection = path.select(choice, **options)
        return replace(path[selection.index], selection=selection)

    def _publish(self, model: Any) -> None:
        """Set the attributes."""
        self.model_ = replace(model, noise=getattr(self, "noise", None))
        self._publish_coef(self.model_)
        self._publish_selection(model.selection)

    def _publish_coef(self, model: Any) -> None:
        self.coef_, self.intercept_ = np.array(model.coef), float(model.intercept)

    def _publish_selection(self, selection: Selection | None) -> None:
        """Set the choice; warn where the empty model was chosen although a later score is lower."""
        self.selection_ = None if selection is None or selection.rule == "given" else selection
        empty = None if selection is None or selection.index else selection.remark("empty-model")
        if empty is not None:
            warn_caller(empty.words, EmptyModelWarning)

    @property
    def remarks_(self) -> tuple[Remark, ...]:
        """What is worth knowing about the choice and about the data, looked at when asked.

        Each is a `plsdof._core.remarks.Remark` with a key, words, a severity and what may mend it:
        rows that are not independent (replicates, time order) and copies of the response among
        the predictors are looked for with other folds, which costs two more cross-validations.
        """
        from plsdof.chemometrics.data_checks import data_remarks

        selection = self._fitted().selection_
        chosen = () if selection is None else selection.remarks
        found = [remark for one in self._models() for remark in data_remarks(one)]
        return tuple(dict.fromkeys((*chosen, *found)))

    @property
    def path_(self) -> PathType:
        """All models."""
        return cast("PathType", self._fitted().model_.path)

    @property
    def dof_(self) -> float:
        """Degrees of Freedom of the chosen model."""
        return float(self._fitted().model_.dof)

    @property
    def noise_std_(self) -> float:
        """Noise standard deviation of the chosen model."""
        return float(self._fitted().model_.noise_std)

    def predict_interval(
        self,
        X: Any,
        level: float = 0.95,
        *,
        method: inference.IntervalMethod | None = None,
        kind: inference.IntervalKind = "observation",
        covariance: Covariance = "homoscedastic",
    ) -> "Array | DataFrame":
        """Lower and upper limits for a new observation, or for the mean, at each row. (n_new, 2).

        Parameters
        ----------
        X : (n_new, p) array, data frame or sparse matrix
        level : float
            Confidence level of each interval.
        method : {"left-out", "normal"}, optional
            "left-out", the default: by the cross-validated errors, with the choice made again
            without them and groups held out together; no distribution is assumed. "normal": normal
            noise of constant variance, the chosen model taken as given.
        kind : {"observation", "mean"}
            "observation" is for one new measurement of the response, with its own noise. "mean" is
            for the expected fit of the chosen number of components, which differs from the true
            mean by the bias of the fit; it is never wider than that of an observation.
        covariance : {"homoscedastic", "hc3", "jackknife"}
            Of the coefficients, see `plsdof.inference.coefficient_inference`; for "normal".

        Returns
        -------
        (n_new, 2) array
            A data frame with the same index if X is one of pandas. Of several responses
            (`PLS2Regressor`) an array (n_new, q, 2), or, if they have names, a data frame with
            columns (name, "lower") and (name, "upper").

        Notes
        -----
        Of a scikit-learn Pipeline: ``plsdof.inference.prediction_interval(pipeline, X)``.
        Measured coverage: docs/coverage.md.

        Examples
        --------
        >>> from plsdof import PLSRegressor
        >>> from plsdof.datasets import load_ozone
        >>> X, y = load_ozone(return_X_y=True)
        >>> model = PLSRegressor(2).fit(X, y)
        >>> model.predict_interval(X[:1]).round(1)
        array([[ 1.4, 19.1]])
        >>> model.predict_interval(X[:1], method="normal").round(1)
        array([[ 1.1, 19.3]])
        """
        options: dict[str, Any] = {"level": level, "kind": kind, "method": method}
        rows, ask = self.path_rows(X), inference.prediction_interval
        found = [ask(one, rows, covariance=covariance, **options) for one in self._models()]
        limits: Array | DataFrame = inference.limits_of(
            found, X, self.response_names_, one_response=self.one_response
        )
        return limits

    def conf_int(
        self, level: float = 0.95, *, covariance: Covariance = "homoscedastic"
    ) -> "Array | DataFrame":
        """Confidence intervals of the coefficients, (p, 2).

        Parameters
        ----------
        level : float
        covariance : {"homoscedastic", "hc3", "jackknife"}
            X fixed and constant noise variance; X fixed and any noise variances; rows random.

        Returns
        -------
        (p, 2) array
            A pandas data frame with one named row per feature if the model was fitted on a data
            frame (and pandas is installed).

        Notes
        -----
        See `plsdof.inference.coefficient_inference`.
        """
        found = self._inference(level, covariance)
        limits: Array | DataFrame = self._named(np.column_stack([found.lower, found.upper]))
        return limits

    def summary(self, level: float = 0.95, *, covariance: Covariance = "homoscedastic") -> Summary:
        """Return a table of coefficients, standard errors, tests and intervals; print it.

        Its last line says what is held fixed and what the p-values test. Options as for `conf_int`.
        """
        found = self._inference(level, covariance)
        summary = summarize(self.model_, found, getattr(self, "feature_names_in_", None))
        if self.response_names_ is None:
            return summary
        return replace(summary, facts={"response": self.response_names_[0], **summary.facts})

    def predict(self, X: Any) -> Array:
        """Predict with the chosen model. Shape (n_new,)."""
        rows = self.path_rows(X)
        return np.asarray(self.model_.predict(rows))

    def without_data(self) -> "Predictor":
        """Return the model without its training data: small to pickle, quick to predict.

        It has predict, score and predict_interval by the cross-validated errors. A file that
        `save` writes has the other intervals, and the distances T^2 and Q, too.
        """
        found: Predictor = predictor_of(self).frozen(intervals=False)
        return found

    def adjusted(
        self,
        X: Any,
        y: Any,
        kind: Literal["bias", "slope"] = "bias",
        *,
        reason: str,
        force: bool = False,
    ) -> "Predictor":
        """Return a predictor whose predictions are corrected by control samples.

        See `plsdof.models.Predictor.adjusted`.
        """
        found: Predictor = predictor_of(self).adjusted(X, y, kind, reason=reason, force=force)
        return found

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._takes_sparse
        tags.input_tags.allow_nan = self._takes_holes
        return tags

    @property
    def one_response(self) -> bool:
        """Whether y had one dimension."""
        return self._one_response

    def _on_path(self) -> tuple[Any, int]:
        """Return the path, and the row of the chosen model on it."""
        model = self._fitted().model_
        return model.path, model.index

    def _models(self) -> Sequence[Model]:
        """Return the chosen model, of several responses that of each."""
        return (self._fitted().model_,)

    def _inference(self, level: float, covariance: Covariance) -> inference.CoefficientInference:
        """Return what is known about the coefficients."""
        model = self._fitted().model_
        return inference.coefficient_inference(model, level=level, covariance=covariance)

    def _choice(self) -> Any:
        return getattr(self, self._choice_name)

    # What a subclass provides, with the names of the parameters that the method takes as they are.
    _choice_name = "n_components"
    _method: Method
    _passed_on: tuple[str, ...] = ("scale",)

    def _fixed_index(self, path: Path) -> int:
        raise NotImplementedError

    def _options(self) -> dict[str, Any]:
        """Return the options of the method."""
        return {name: getattr(self, name) for name in self._passed_on}


def given_selection(
    model: Any, left: LeftOut, rule: str = "given", criterion: str = LEFT_OUT
) -> Selection:
    """Return the selection of a model by a rule, with the rows that were left out."""
    return Selection(
        index=model.index,
        parameter=float(left.parameters[min(model.index, len(left.parameters) - 1)]),
        parameter_name=left.parameter_name,
        scores=left.press / left.n,
        criterion=criterion,
        rule=rule,
        _summary=f"{model.label}: {rule_in_words(rule, criterion_label(criterion))}.",
        left_out=left,
    )


class ComponentRegressor(PathRegressor[PathType]):
    """A regressor that chooses a number of components."""

    @property
    def n_components_(self) -> int:
        """Number of components of the chosen model; of an average the weighted mean."""
        number: Any = self._fitted().model_.n_components
        return cast("int", number)

    def _fixed_index(self, path: Path) -> int:
        # Fewer than wanted where the data support no more (with a warning).
        wanted = inputs.as_count(self.n_components, "n_components")
        return wanted if path.store.has(wanted) else min(wanted, len(path) - 1)

    def _options(self) -> dict[str, Any]:
        chosen = isinstance(self.n_components, str)
        name = "max_components" if chosen else "n_components"
        size = getattr(self, name)
        if chosen and size is None:
            # Cross-validation knows where to end; criteria and folds look at all models.
            size = None if self.n_components in (LEFT_OUT, "average") else MOST_COMPONENTS
        else:
            size = inputs.as_count(size, name)
        return {"max_components": size, **super()._options()}
