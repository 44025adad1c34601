"""What the estimators share: responses, a path per response, a chosen model, answers about it."""

import numbers
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    RegressorMixin,
    TransformerMixin,
)
from sklearn.utils.validation import check_array, check_is_fitted, check_X_y, validate_data

try:
    from sklearn.utils._repr_html.estimator import _VisualBlock
except ImportError:  # scikit-learn before 1.8
    from sklearn.utils._estimator_html_repr import _VisualBlock

from plsdof._core.averaging import Average
from plsdof._core.criteria import CRITERIA, DOF_KINDS, Noise, Selection, usual_noise
from plsdof._core.inputs import (
    Array,
    as_choice,
    as_count,
    as_float,
    as_matrix,
    as_measured,
    as_response,
    as_sparse_rows,
    as_weights,
    feature_names,
    require_finite_columns,
    require_response_outside,
    row_labels,
    shortened,
)
from plsdof._core.path import Path
from plsdof.errors import (
    EmptyModelWarning,
    InvalidInputError,
    NotAvailableError,
    RankExhaustedWarning,
    warn_caller,
)
from plsdof.inference import intervals as inference
from plsdof.inference.intervals import (
    name_coefficients,
    name_predictions,
    name_rows,
    response_names,
)
from plsdof.inference.resampling import leave_out
from plsdof.inference.summary import Summary, summarize
from plsdof.selection.agreement import GROUPS_REMARK
from plsdof.selection.cross_validation import CrossValidation, cross_validate
from plsdof.selection.folds import group_codes, make_folds

if TYPE_CHECKING:
    from pandas import DataFrame

# What all estimators share: one response or several columns of them, and linear prediction
# -----------------------------------------------------------------------------------------

_SPARSE = ["csr", "csc"]


class ResponseRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A regressor for y of shape (n,) or (n, q).

    As in scikit-learn's linear models, attributes and predictions of a y with columns have one
    entry per column, also if there is one column only.
    """

    # As they are for one response; those of several columns of y are arrays or tuples.
    coef_: Array
    intercept_: float
    index_: int
    dof_: float
    noise_std_: float
    selection_: Selection | None
    response_names_: tuple[str, ...] | None
    n_features_in_: int
    feature_names_in_: npt.NDArray[np.object_]
    _path_takes_sparse = False

    def predict(self, X: Any) -> Array:
        """Predict with the chosen model. Shape (n_new,), or (n_new, q) if y had columns."""
        rows = self._new_rows(X, sparse=self._path_takes_sparse)
        return np.asarray(rows @ self.coef_.T + self.intercept_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.input_tags.sparse = self._takes_sparse
        return tags

    def path_rows(self, X: Any) -> Any:
        """Return new rows, checked, as the path of this model takes them. Shape (n_new, p)."""
        return self._new_rows(X, sparse=self._path_takes_sparse)

    def _training_data(self, X: Any, y: Any) -> tuple[Any, Array]:
        """Check the data, note what y looks like, and return X (n, p) and Y (n, q)."""
        names = response_names(y)
        # Our own checks come first: they name columns and rows.
        table = _numbers(X, "X")
        responses: Any = None if y is None else _responses(y)
        values = table
        if not _is_plain(table, responses):
            values, responses = check_X_y(
                table,
                responses,
                estimator=self,
                accept_sparse=_SPARSE if self._takes_sparse else False,
                dtype=np.float64,
                ensure_all_finite=False,
                ensure_min_samples=2,
                multi_output=True,
                y_numeric=True,
            )
        validate_data(self, _header(X, values), skip_check_array=True)
        _require_finite(values, X)
        if not scipy.sparse.issparse(values) and responses.ndim == 1:
            require_response_outside(values, responses, feature_names(X), getattr(y, "name", None))
        self._one_response = responses.ndim == 1
        self.response_names_ = names
        return values, as_matrix(responses[:, None] if responses.ndim == 1 else responses, "y")

    @property
    def _takes_sparse(self) -> bool:
        """Whether X may be a scipy sparse matrix in `fit`."""
        return self._path_takes_sparse

    def _require_fitted(self) -> None:
        check_is_fitted(self)

    def _sk_visual_block_(self) -> Any:
        """Return the box of scikit-learn's diagram, with the model that was chosen."""
        name = type(self).__name__
        if hasattr(self, "index_"):
            name = f"{name}: {self._chosen_in_words()}"
        return _VisualBlock("single", self, names=name, name_details=str(self))

    def _chosen_in_words(self) -> str:
        """Return the size of the chosen model, or models, and their Degrees of Freedom."""
        labels = [path.label(index) for path, index in self._on_paths()]
        numbers = [f"{value:.1f}" for value in np.atleast_1d(self.dof_)]
        return f"{', '.join(dict.fromkeys(labels))}, {', '.join(numbers)} Degrees of Freedom"

    def _new_rows(self, X: Any, *, sparse: bool = False) -> Any:
        self._require_fitted()
        rows = check_array(
            _numbers(X, "X"),
            estimator=self,
            accept_sparse=_SPARSE if sparse else False,
            dtype=np.float64,
            ensure_all_finite=False,
            input_name="X",
        )
        _require_finite(rows, X)
        try:
            validate_data(self, _header(X, rows), reset=False, skip_check_array=True)
        except ValueError as error:
            where = " (feature_names_in_)" if hasattr(self, "feature_names_in_") else ""
            raise InvalidInputError(
                f"{str(error).rstrip()}\nGive the columns of the training data{where} in their "
                "order."
            ) from error
        return rows

    def _one_or_array(self, values: Sequence[Any]) -> Any:
        """Return the only value of a single response, an array of all otherwise."""
        return values[0] if self._one_response else np.array(values)

    def _one_or_tuple(self, values: Sequence[Any]) -> Any:
        """Return the only value, or all; None if there are none."""
        if all(value is None for value in values):
            return None
        return values[0] if self._one_response else tuple(values)


def _numbers(X: Any, name: str) -> Any:
    """Return the numbers of a list or a table with named columns.

    scikit-learn sees to everything else. Lists may hold whole numbers beyond the range of floats,
    or rows of unequal length, of which it does not say what is wrong.
    """
    measured = as_measured(X, name)
    ours = isinstance(measured, int | list | tuple) or feature_names(measured, name) is not None
    return as_float(measured, name) if ours else measured


def _is_plain(table: Any, responses: Array | None) -> bool:
    """Whether scikit-learn's checks, which take longer than a small fit, have nothing to find."""
    return (
        type(table) is np.ndarray
        and table.dtype == np.float64
        and table.ndim == 2
        and table.shape[0] >= 2
        and table.shape[1] >= 1
        and responses is not None
        and responses.shape == table.shape[:1]
    )


def _responses(y: Any) -> Array:
    """Return one or several responses as numbers, which are all there."""
    values = as_float(y, "y")
    if values.ndim == 1:
        return as_response(y, len(values))
    return as_matrix(y, "y") if values.ndim == 2 and values.shape[1] else values


def _header(X: Any, values: Any) -> Any:
    """Return something with as many columns as X, and their names as text if they have names.

    scikit-learn knows names that are text only; wavelengths are often numbers.
    """
    names = feature_names(X)
    if names is None:
        return values
    return X.iloc[:0].set_axis(list(names), axis=1) if hasattr(X, "iloc") else X[:0]


def _require_finite(values: Any, X: Any) -> None:
    is_sparse: bool = scipy.sparse.issparse(values)
    if is_sparse:
        as_sparse_rows(values, values.shape[1])
    else:
        require_finite_columns(values, feature_names(X), "X", row_labels(X))


class ScoresMixin(ClassNamePrefixFeaturesOutMixin, TransformerMixin):  # type: ignore[misc]
    """Scores of the chosen components, with names, for pipelines."""

    def transform(self, X: Any) -> Array:
        """Return the scores of the chosen components. Shape (n_new, n_components_).

        With a model per response those of the first one come first. Of an average those of the
        model with the largest weight.
        """
        rows = self._new_rows(X, sparse=self._path_takes_sparse)
        return np.hstack([path.transform(rows)[:, :index] for path, index in self._on_paths()])

    @property
    def x_scores_(self) -> Array:
        """Scores of the training rows on the chosen components. Shape (n_rows, n_components_)."""
        return self._of_components("x_scores")

    def _of_components(self, name: str) -> Array:
        """Return what a path has for each component; with several responses side by side."""
        return np.hstack([getattr(path, name)[:, :index] for path, index in self._on_paths()])

    @property
    def _n_features_out(self) -> int:
        return int(np.sum(self.index_))


class LinearScoresMixin(ScoresMixin):
    """Scores that are linear in the predictors, with weights and loadings, and a way back."""

    def inverse_transform(self, X: Any) -> Array:
        """Return the predictors that scores, as of `transform`, stand for. Shape (n_new, p).

        With all components this is X itself, if it was among the training rows or n > p.
        """
        chosen = self._on_paths()
        if len(chosen) > 1:
            raise NotAvailableError(
                f"There are {len(chosen)} responses with components of their own, each with "
                "another approximation of X; call inverse_transform of one of paths_."
            )
        path, index = chosen[0]
        scores = check_array(_numbers(X, "X"), dtype=np.float64, input_name="X")
        if scores.shape[1] != index:
            raise InvalidInputError(
                f"X has {scores.shape[1]} column(s), but the chosen model has {index} "
                "components; give scores as transform returns them."
            )
        return np.asarray(path.inverse_transform(scores))

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


# What the estimators share: one path per response, a model chosen on it, answers about it
# ----------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class Splits:
    """Folds (pairs of training and test rows), and the groups they keep together."""

    cv: list[Any]
    groups: Any


@dataclass(frozen=True, kw_only=True, eq=False)
class ChosenModel:
    """The model of one response: a row of a path, and how it was chosen.

    ``average``, if there is one, is what answers questions instead of the row.
    """

    path: Any
    index: int
    selection: Selection | None = None
    average: Average | None = None
    joint_selection: Any = None
    cv_results: Any = None


def warn_of_empty_models(selections: Sequence[Selection | None]) -> None:
    """Warn where the empty model was chosen although a later score is lower."""
    for remark in {one.empty_remark for one in selections if one is not None}:
        if remark:
            warn_caller(remark, EmptyModelWarning)


def _chosen_by_criterion(
    path: Path, criterion: str, dof: str, noise: Noise, rule: str | None
) -> int:
    return path.select(criterion, dof, noise, rule).index


def _chosen_by_folds(path: Path, cv: Any, rule: str) -> int:
    assert path.fit_again is not None
    weights = None if path.units.row_scale is None else path.units.row_scale**2
    results = cross_validate(
        path.training_rows(),
        path.require_response(),
        path.fit_again,
        cv=cv,
        sample_weight=weights,
    )
    return results.select(rule=rule).index


class PathRegressor(ResponseRegressor):
    """Fit a path, choose a model on it, answer questions about that model.

    With several responses every column of y has a path and a choice of its own, and attributes
    have one entry per column. A subclass says how to fit one response (`_fit_path`) and several
    (`_fit_paths`), with which `_options`, which parameter is chosen (`_choice_name`) and how a
    fixed value of it becomes a row of the path (`_fixed_index`).
    """

    paths_: tuple[Any, ...]
    cv_results_: CrossValidation | None
    average_: Average | None

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Fit all models and choose one.

        Parameters
        ----------
        X : (n, p) array or data frame
            PLS, PCR and ridge also take scipy sparse matrices, and never make them dense, unless
            the choice is "cv"; so do `predict`, `transform` and `predict_interval`.
        y : (n,) or (n, q) array, series or data frame
            Several columns are fitted one by one, on one decomposition of a dense X.
        sample_weight : (n,) array, optional
            Weights; integer weights mean repeated rows, with exact Degrees of Freedom.
        groups : (n,) array, optional
            Rows that belong together, such as replicates of a sample. Criteria take rows as
            independent and are overconfident then, so that the default choice ("gcv") is made by
            cross-validation that never splits a group between training and test rows.
        """
        self._grouped = groups is not None and not scipy.sparse.issparse(X)
        is_sparse: bool = scipy.sparse.issparse(X)
        if is_sparse and self._path_takes_sparse and self._is_cross_validated():
            raise InvalidInputError(
                f"{self._choice_name}='cv' needs a dense X; got a sparse one of shape {X.shape}. "
                "Choose by a criterion such as 'bic', or pass X.toarray() if it fits in memory."
            )
        if self.dof is not None:
            as_choice(self.dof, "dof", DOF_KINDS)
        X, Y = self._training_data(X, y)
        self._noise_used = self._noise()
        with warnings.catch_warnings():
            if isinstance(self._choice(), str):
                # The largest size is then only a limit to the search.
                warnings.simplefilter("ignore", RankExhaustedWarning)
            splits = self._splits(X, Y, groups)
            models = self._fit_models(X, Y, as_weights(sample_weight, X.shape[0]), splits)
        names = getattr(self, "feature_names_in_", None)
        if names is not None:
            models = [replace(one, path=one.path.with_names(tuple(names))) for one in models]
        self._publish(models)
        return self

    @property
    def path_(self) -> Path:
        """The path of the only response; with several responses see ``paths_``."""
        path: Path = self._only_path()
        return path

    def _only_path(self) -> Any:
        paths = self._on_paths()
        if len(paths) > 1:
            raise AttributeError(
                f"There are {len(paths)} responses, each with a path of its own: see paths_."
            )
        return paths[0][0]

    def fixed_parameters(self, index: int) -> dict[str, Any]:
        """Return the parameters with which a fit has row ``index`` of the path and no choice.

        Examples
        --------
        >>> from plsdof import PLSRegressor
        >>> from plsdof.datasets import load_ozone
        >>> PLSRegressor("bic").fit(*load_ozone(return_X_y=True)).fixed_parameters(2)
        {'n_components': 2}
        """
        return {self._choice_name: self.path_.parameters[index].item()}

    def predict_interval(
        self,
        X: Any,
        level: float = 0.95,
        *,
        method: str = "normal",
        kind: str = "observation",
        distribution: str = "t",
        covariance: str = "homoscedastic",
        progress: bool = False,
    ) -> "Array | DataFrame":
        """Lower and upper limits for a new observation, or for the mean, at each row. (n_new, 2).

        Parameters
        ----------
        X : (n_new, p) array, data frame or sparse matrix
        level : float
            Confidence level of each interval.
        method : {"normal", "conformal", "jackknife+"}
            "normal" is for normal noise of constant variance. "conformal" takes the quantile of
            studentised leave-one-out residuals. "jackknife+" fits n times without
            one row, makes the choice again in each fit, and keeps these fits for the next call;
            kernel and penalty strengths stay as they are. The first two take the chosen model as
            given. The last two need no distribution of the noise, but exchangeable rows, and at
            least 19 of them for level 0.95.
        kind : {"observation", "mean", "truth"}
            "observation" is for one new measurement of the response, with its own noise. "mean" is
            for the expected fit of the chosen number of components, which differs from the true
            mean by the bias of the fit. "truth" is for the true mean: more components, and wider.
        distribution : {"t", "normal"}
            Student's t with Satterthwaite's degrees of freedom, which allows for the estimated
            noise, or the normal distribution, for a noise variance that is known.
        covariance : {"homoscedastic", "hc3", "jackknife"}
            Of the coefficients, see `plsdof.inference.coefficient_inference`; for method "normal".
        progress : bool
            Show a bar on stderr while "jackknife+" fits (needs rich).

        Returns
        -------
        (n_new, 2) array
            A data frame with the same index if X is one of pandas. If y had columns (n_new, q, 2),
            or, if these had names (and pandas is installed), a data frame with columns
            (name, "lower") and (name, "upper").

        Notes
        -----
        Of a scikit-learn Pipeline: ``plsdof.inference.prediction_interval(pipeline, X_new=X)``.
        Measured coverage of all of them: docs/coverage.md.

        Examples
        --------
        >>> from plsdof import PLSRegressor
        >>> from plsdof.datasets import load_ozone
        >>> X, y = load_ozone(return_X_y=True)
        >>> model = PLSRegressor(2).fit(X, y)
        >>> model.predict_interval(X[:1]).round(1)
        array([[ 1.1, 19.4]])
        >>> model.predict_interval(X[:1], method="jackknife+").round(1)
        array([[ 1. , 19.4]])
        >>> model.predict_interval(X[:1], kind="mean").round(1)
        array([[ 8.9, 11.5]])
        """
        rows = self._new_rows(X, sparse=self._path_takes_sparse)
        chosen = self._chosen()
        as_choice(method, "method", inference.INTERVAL_METHODS)
        as_choice(covariance, "covariance", inference.COVARIANCES)
        left_out = self._left_out(method == "jackknife+", covariance == "jackknife", progress)
        intervals = [
            inference.prediction_interval(
                path,
                index,
                rows,
                level=level,
                kind=kind,
                method=method,
                noise=self._noise_used,
                distribution=distribution,
                covariance=covariance,
                choose=self.choose_again(),
                left_out=left,
            )
            for (path, index), left in zip(chosen, left_out, strict=True)
        ]
        limits = np.stack([np.column_stack([one.lower, one.upper]) for one in intervals], axis=1)
        index = row_labels(X)
        if self._one_response:
            return name_rows(limits[:, 0], index)
        return name_predictions(limits, self.response_names_, index)

    def conf_int(
        self,
        level: float = 0.95,
        *,
        distribution: str = "t",
        covariance: str = "homoscedastic",
        kind: str = "expected",
        method: str = "analytic",
    ) -> "Array | DataFrame":
        """Confidence intervals of the coefficients, (p, 2).

        Parameters
        ----------
        level : float
        distribution : {"t", "normal"}
        covariance : {"homoscedastic", "hc3", "jackknife"}
            X fixed and constant noise variance; X fixed and any noise variances; rows random.
        kind : {"expected", "truth"}
            The expected coefficients of the chosen number of components, or the true ones.
        method : {"analytic", "safe"}
            "safe" takes the larger one of analytic and bootstrap standard errors.

        Returns
        -------
        (p, 2) array
            A pandas data frame with one named row per feature if the model was fitted on a data
            frame (and pandas is installed). If y had columns (q, p, 2), or a data frame with rows
            (response, feature).

        Notes
        -----
        See `plsdof.inference.coefficient_inference`.
        """
        results = self._inferences(level, distribution, "none", covariance, kind, method)
        limits = np.stack([np.column_stack([one.lower, one.upper]) for one in results])
        features = getattr(self, "feature_names_in_", None)
        if self._one_response:
            return name_rows(limits[0], features)
        return name_coefficients(limits, self.response_names_, features)

    def summary(
        self,
        level: float = 0.95,
        *,
        distribution: str = "t",
        adjust: str = "none",
        response: int | str | None = None,
        covariance: str = "homoscedastic",
        kind: str = "expected",
        method: str = "analytic",
    ) -> Summary:
        """Return a table of coefficients, standard errors, tests and intervals; print it.

        Its last line says what is held fixed and what the p-values test. With several responses
        ``response`` says which, by number or name. Other options as for `conf_int`.
        """
        chosen = self._chosen()
        number = self._response_number(response, len(chosen))
        path, index = chosen[number]
        result = self._inferences(level, distribution, adjust, covariance, kind, method)[number]
        names = getattr(self, "feature_names_in_", None)
        summary = summarize(path, index, result, self._selections[number], names)
        if self.response_names_ is None and self._one_response:
            return summary
        label = self.response_names_[number] if self.response_names_ else f"y{number}"
        return replace(summary, facts={"response": label, **summary.facts})

    def _splits(self, X: Any, Y: Array, groups: Any) -> Splits | None:
        """Return the folds of all responses, None if there is nothing to cross-validate."""
        if groups is not None:
            group_codes(groups, len(Y))  # checked even where there is nothing to split
        if not self._is_cross_validated():
            return None
        seed = self.random_state if isinstance(self.cv, numbers.Integral) else None
        folds = make_folds(X, Y, self.cv, groups, random_state=seed)
        return Splits(cv=[(fold.train, fold.test) for fold in folds], groups=groups)

    def _fit_models(
        self, X: Any, Y: Array, weights: Array | None, splits: Splits | None
    ) -> list[ChosenModel]:
        """Fit the paths of all responses and choose a model on each."""
        options = self._options(float(X.shape[0] if weights is None else weights.sum()))
        make = partial(self._fit_path, **options)
        if Y.shape[1] == 1 or scipy.sparse.issparse(X):
            paths = tuple(make(X, y, sample_weight=weights) for y in Y.T)
        else:
            paths = self._fit_paths(X, Y, sample_weight=weights, **options)
        return [
            self._choose(X, y, weights, make, path, splits)
            for path, y in zip(paths, Y.T, strict=True)
        ]

    def _choose(
        self,
        X: Any,
        y: Array,
        weights: Array | None,
        make: Any,
        path: Path,
        splits: Splits | None,
    ) -> ChosenModel:
        choice = self._choice()
        if not isinstance(choice, str):
            return ChosenModel(path=path, index=self._fixed_index(path))
        as_choice(choice, self._choice_name, (*CRITERIA, "cv", "average"))
        if choice == "average":
            average = path.average(self.dof or "smoothed")
            selection = average.selection
            return ChosenModel(
                path=path, index=selection.index, selection=selection, average=average
            )
        if splits is not None:
            results = self._cross_validated(X, y, weights, make, splits)
            selection = results.select(rule=self._cv_rule())
        else:
            results = None
            selection = path.select(choice, self.dof, self.noise, self.rule)
        return ChosenModel(
            path=path, index=selection.index, selection=selection, cv_results=results
        )

    def _cross_validated(
        self, X: Any, y: Array, weights: Array | None, make: Any, splits: Splits
    ) -> Any:
        return cross_validate(
            X,
            y,
            make,
            cv=splits.cv,
            groups=splits.groups,
            sample_weight=weights,
            n_jobs=self.n_jobs,
        )

    def _publish(self, models: Sequence[ChosenModel]) -> None:
        """Set the attributes: values for one response, one entry per column for several."""
        self.paths_ = tuple(one.path for one in models)
        self._selections = tuple(self._with_remark(one.selection) for one in models)
        self.index_ = self._one_or_array([one.index for one in models])
        self.average_ = self._one_or_tuple([one.average for one in models])
        pairs = [
            (one.path, one.index) if one.average is None else (one.average.path, 0)
            for one in models
        ]
        self._answering = tuple(pairs)
        self.coef_ = self._one_or_array([np.array(path.coef[i]) for path, i in pairs])
        self.intercept_ = self._one_or_array([float(path.intercept[i]) for path, i in pairs])
        self.dof_ = self._one_or_array([float(path.dof[i]) for path, i in pairs])
        variances = [path.noise_at(i, self._noise_used) for path, i in pairs]
        self.noise_std_ = self._one_or_array([float(np.sqrt(value)) for value in variances])
        warn_of_empty_models(self._selections)
        self.selection_ = self._one_or_tuple(self._selections)
        self.cv_results_ = self._one_or_tuple([one.cv_results for one in models])
        self._fits_without_rows: dict[str, Any] = {}

    def _with_remark(self, selection: Selection | None) -> Selection | None:
        """Say about rows in groups what noise level and intervals do not know."""
        if selection is None or not getattr(self, "_grouped", False):
            return selection
        return replace(selection, message=f"{selection.message} {GROUPS_REMARK}")

    def _chosen(self) -> list[tuple[Any, int]]:
        """Return what answers questions: a path and a row of it for every response."""
        self._require_fitted()
        return list(self._answering)

    def _on_paths(self) -> list[tuple[Any, int]]:
        """Return the paths of all models, and the row of the chosen one on each."""
        self._require_fitted()
        indices = np.atleast_1d(self.index_).tolist()
        return list(zip(self.paths_, indices, strict=True))

    def _response_number(self, response: int | str | None, count: int) -> int:
        if response is None and count == 1:
            return 0
        names = self.response_names_ or tuple(f"y{i}" for i in range(count))
        if isinstance(response, str) and response in names:
            return names.index(response)
        if isinstance(response, numbers.Integral) and 0 <= response < count:
            return int(response)
        raise InvalidInputError(
            f"response must be a number in 0..{count - 1} or one of {shortened(names, 10)}; got "
            f"{response!r}."
        )

    def _inferences(
        self,
        level: float,
        distribution: str,
        adjust: str,
        covariance: str,
        kind: str,
        method: str,
    ) -> list[inference.CoefficientInference]:
        """Return what is known about the coefficients of every response."""
        chosen = self._chosen()
        # More components than the chosen ones were not in the fits without single rows.
        as_choice(covariance, "covariance", inference.COVARIANCES)
        jackknife = covariance == "jackknife" and kind == "expected"
        return [
            inference.coefficient_inference(
                path,
                index,
                level=level,
                noise=self._noise_used,
                distribution=distribution,
                adjust=adjust,
                covariance=covariance,
                kind=kind,
                method=method,
                left_out=left,
            )
            for (path, index), left in zip(
                chosen, self._left_out(False, jackknife, False), strict=True
            )
        ]

    def _left_out(self, choosing: bool, fixed: bool, progress: bool) -> list[Any]:
        """Return the fits without single rows, made once; None where they are not needed."""
        chosen = self._chosen()
        if not (choosing or fixed):
            return [None] * len(chosen)
        again = self.choose_again() if choosing else None
        key = "chosen" if again is not None else "fixed"
        if key not in self._fits_without_rows:
            self._fits_without_rows[key] = [
                leave_out(
                    path, index if again is None else again, n_jobs=self.n_jobs, progress=progress
                )
                for path, index in chosen
            ]
        return list(self._fits_without_rows[key])

    def choose_again(self) -> Any:
        """Return how a model is chosen on another path; None where its size is given."""
        choice = self._choice()
        if not isinstance(choice, str) or choice == "average":  # which is made anew in any case
            return None
        if choice != "cv":
            return partial(
                _chosen_by_criterion,
                criterion=choice,
                dof=self.dof,
                noise=self.noise,
                rule=self.rule,
            )
        # Folds given as pairs of rows belong to the whole data.
        cv = self.cv if isinstance(self.cv, numbers.Integral) or hasattr(self.cv, "split") else 10
        return partial(_chosen_by_folds, cv=cv, rule=self.rule or "minimum")

    def _noise(self) -> Noise:
        if self.noise is None:
            return usual_noise(self.dof or "smoothed")
        noise: Noise = self.noise
        return noise

    def _choice(self) -> Any:
        return getattr(self, self._choice_name)

    def _is_cross_validated(self) -> bool:
        """Whether the choice is made by cross-validation, as it is by default with groups."""
        choice = self._choice()
        if not isinstance(choice, str):
            return False
        return choice == "cv" or (choice == "gcv" and getattr(self, "_grouped", False))

    def _cv_rule(self) -> str:
        """Return the rule for cross-validation; rules for criteria do not apply to it."""
        return "minimum" if self.rule is None or self._choice() != "cv" else self.rule

    @property
    def _takes_sparse(self) -> bool:
        return self._path_takes_sparse and not self._is_cross_validated()

    # What a subclass provides.
    _choice_name = "n_components"
    _fit_path: Any
    _fit_paths: Any

    def _fixed_index(self, path: Path) -> int:
        raise NotImplementedError

    def _options(self, n: float) -> dict[str, Any]:
        raise NotImplementedError


class ComponentRegressor(PathRegressor):
    """A regressor that chooses a number of components."""

    @property
    def n_components_(self) -> int:
        """Number of components of the chosen model; (q,) array if y had columns.

        Of an average the weighted mean.
        """
        self._require_fitted()
        if self.average_ is None:
            return self.index_
        means: int = self._one_or_array([float(path.parameters[i]) for path, i in self._chosen()])
        return means

    def fixed_parameters(self, index: int) -> dict[str, Any]:
        """Return the parameters with which a fit has so many components, and chooses nothing."""
        return {self._choice_name: int(index)}

    def _fixed_index(self, path: Path) -> int:
        # Fewer than asked for where the data support no more (with a warning).
        return len(path.dof) - 1

    def _options(self, n: float) -> dict[str, Any]:  # noqa: ARG002
        name = "max_components" if isinstance(self.n_components, str) else "n_components"
        return {"max_components": as_count(getattr(self, name), name)}
