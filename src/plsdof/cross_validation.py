"""Cross-validation of any path: one fit per fold, scored on the rows left out.

For every fold the path is fitted once to the training rows, which standardises them anew, and
all its models predict the test rows. The error of a model is the mean over folds of the fold's
mean squared error.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np

from plsdof._validation import (
    Array,
    as_matrix,
    as_positive,
    as_response,
    as_weights,
    read_only,
)
from plsdof.cross_validated import CrossValidation, correlations
from plsdof.errors import InvalidInputError
from plsdof.folds import Fold, Integers, group_codes, make_folds
from plsdof.methods import default_alphas, pcr_path, pls_path, ridge_path
from plsdof.parallel import for_each_fold
from plsdof.path import Path

PATHS = ("pls", "pcr", "ridge")


class Predictor(Protocol):
    """What a callable ``path`` has to return: all models of one fit."""

    @property
    def parameters(self) -> Array:
        """What tells the models apart, simplest model first. Shape (K,)."""

    def predict(self, X_new: Any) -> Array:
        """Predict new rows with every model. Shape (K, n_new)."""


def cross_validate(
    X: Any,
    y: Any,
    path: str | Callable[..., Predictor] = "pls",
    cv: Any = 10,
    groups: Any = None,
    *,
    max_components: int | None = None,
    alphas: Any = None,
    scale: bool = True,
    sample_weight: Any = None,
    repeats: int = 1,
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: bool = False,
    keep_predictions: bool = True,
) -> CrossValidation:
    """Cross-validate all models of a path, with one fit per fold.

    The error of model k is the mean over folds of sum_i w_i (y_i - yhat_ik)^2 / sum_i w_i, where
    i runs over the test rows and yhat comes from a path fitted to the training rows alone,
    centring and scaling included.

    Parameters
    ----------
    X : (n, p) array or data frame
    y : (n,) array
    path : {"pls", "pcr", "ridge"} or callable
        A callable takes arrays ``(X_train, y_train)``, and ``sample_weight=`` if weights are
        given, and returns a path or anything with ``parameters`` (K,), simplest model first, and
        ``predict(X_new)`` (K, n_new): for example ``functools.partial(pls_path, solver="svd")``.
    cv, groups, repeats, random_state
        See `plsdof.folds.make_folds`. A number of folds without ``random_state`` puts row i into
        fold i mod cv; with it the folds are random; ``groups`` keeps rows together; ``cv=n`` is
        leave-one-out; scikit-learn splitters and lists of (train, test) are taken as they are.
    max_components : int, optional
        For "pls" and "pcr"; by default all that every fold supports.
    alphas : array of float, optional
        For "ridge", on the scale of `ridge_path` and the same in each fold; by default 50 values
        from 1e-4 to 1e4 times n.
    scale : bool
        Scale the columns to unit variance inside each fold; not for a callable.
    sample_weight : (n,) array, optional
        Used in the fits and in the errors. Rank correlations only leave out rows of weight zero.
    n_jobs : int, optional
        Number of processes (needs joblib); None or 1 for a plain loop.
    progress : bool
        Show a progress bar (needs rich).
    keep_predictions : bool
        Keep the out-of-fold predictions, repeats x K x n numbers. Pooled correlations and the
        randomization test need them.

    Returns
    -------
    CrossValidation
        Models that not all folds support are left out, and ``message`` says so.

    Notes
    -----
    Cost: one fit and O(K p t) for the predictions of t test rows, per fold.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(40, 5))
    >>> y = X @ [1.0, 2.0, 0.0, -1.0, 0.0] + rng.normal(size=40)
    >>> result = cross_validate(X, y)
    >>> result.mean_error.round(2)
    array([8.5 , 1.78, 1.66, 1.67, 1.67, 1.67])
    >>> result.select().n_components
    2
    >>> result.select(rule="one-standard-error").n_components
    1
    """
    X = as_matrix(X, min_rows=2)
    y = as_response(y, len(X))
    weights = as_weights(sample_weight, len(X))
    n = float(len(X)) if weights is None else float(weights.sum())
    fit = _fitter(path, n, max_components=max_components, alphas=alphas, scale=scale)
    folds = make_folds(X, y, cv, groups, repeats=repeats, random_state=random_state)
    work = partial(_fit_and_score, X=X, y=y, weights=weights, fit=fit)
    scored = for_each_fold(
        work, folds, n_jobs=n_jobs, progress=progress, description="Cross-validation"
    )
    size = _common_size(scored)
    order = scored[0].simplest_first
    return CrossValidation(
        parameters=read_only(scored[0].parameters[:size]),
        parameter_name=scored[0].parameter_name,
        simplest_first=_frozen(order[order < size]),
        folds=folds,
        fold_sizes=_frozen(np.array([len(fold.test) for fold in folds])),
        fold_errors=read_only([one.errors[:size] for one in scored]),
        fold_correlations=read_only([one.correlations[:size] for one in scored]),
        fold_rank_correlations=read_only([one.rank_correlations[:size] for one in scored]),
        y=read_only(y.copy()),
        predictions=_assemble(folds, scored, size) if keep_predictions else None,
        sample_weight=None if weights is None else read_only(weights.copy()),
        groups=None if groups is None else _frozen(group_codes(groups, len(X))),
        message=_why_cut(scored, size, max_components),
    )


@dataclass(frozen=True, kw_only=True)
class _FoldScores:
    parameters: Array
    parameter_name: str
    simplest_first: Integers
    predictions: Array
    errors: Array
    correlations: Array
    rank_correlations: Array
    message: str


def _fit_and_score(
    fold: Fold, *, X: Array, y: Array, weights: Array | None, fit: Callable[..., Predictor]
) -> _FoldScores:
    train, test = fold.train, fold.test
    weighted = {} if weights is None else {"sample_weight": weights[train]}
    path = fit(X[train], y[train], **weighted)
    parameters = np.asarray(path.parameters, dtype=np.float64)
    predictions = np.asarray(path.predict(X[test]), dtype=np.float64)
    if predictions.shape != (len(parameters), len(test)):
        raise InvalidInputError(
            f"path.predict must return one row per model and one column per new row, shape "
            f"{(len(parameters), len(test))}; got shape {predictions.shape}."
        )
    w = None if weights is None else weights[test]
    return _FoldScores(
        parameters=parameters,
        parameter_name=path.parameter_name if isinstance(path, Path) else "n_components",
        simplest_first=_simplest_first(path, len(parameters)),
        predictions=predictions,
        errors=_mean_square(predictions - y[test], w),
        correlations=correlations(predictions, y[test], w),
        rank_correlations=correlations(predictions, y[test], w, ranks=True),
        message=getattr(path, "message", ""),
    )


def _fitter(
    path: str | Callable[..., Predictor], n: float, max_components: Any, alphas: Any, scale: bool
) -> Callable[..., Predictor]:
    if callable(path):
        _refuse(path, max_components=max_components, alphas=alphas, scale=None if scale else False)
        return path
    if not isinstance(path, str) or path not in PATHS:
        words = ", ".join(map(repr, PATHS))
        raise InvalidInputError(
            f"path must be one of {words} or a callable (X, y) -> path; got {path!r:.80}."
        )
    if path == "ridge":
        _refuse(path, max_components=max_components)
        # The default of ridge_path, on the n of all rows so that the folds have it in common.
        alphas = default_alphas(n) if alphas is None else as_positive(alphas, "alphas")
        return partial(ridge_path, alphas=alphas, scale=scale)
    _refuse(path, alphas=alphas)
    fit = pls_path if path == "pls" else pcr_path
    return partial(fit, max_components=max_components, scale=scale)


def _refuse(path: Any, **options: Any) -> None:
    for name, value in options.items():
        if value is not None:
            where = f"path={path!r}" if isinstance(path, str) else "a callable path"
            raise InvalidInputError(
                f"{name} does not apply to {where}; got {name}={value!r:.80}. Leave it out, or "
                "give a callable path that sets its own options (functools.partial)."
            )


def _simplest_first(path: Predictor, size: int) -> Integers:
    order: Integers = path.simplest_first() if isinstance(path, Path) else np.arange(size)
    return order


def _common_size(scored: Sequence[_FoldScores]) -> int:
    size = min(len(one.parameters) for one in scored)
    first = scored[0].parameters[:size]
    for number, one in enumerate(scored):
        if not np.array_equal(one.parameters[:size], first):
            raise InvalidInputError(
                f"The path has other parameters in fold {number} than in fold 0; all folds must "
                "have the same models in the same order to be averaged."
            )
    return size


def _why_cut(scored: Sequence[_FoldScores], size: int, max_components: int | None) -> str:
    wanted = max(len(one.parameters) for one in scored)
    if max_components is not None:
        wanted = max_components + 1
    if size == wanted:
        return ""
    number = next(i for i, one in enumerate(scored) if len(one.parameters) == size)
    return (
        f"{wanted - size} of {wanted} models are left out because fold {number} supports {size} "
        f"only. {scored[number].message}"
    ).rstrip()


def _assemble(folds: Sequence[Fold], scored: Sequence[_FoldScores], size: int) -> Array:
    predictions = np.full((folds[-1].repeat + 1, size, folds[0].n_rows), np.nan)
    for fold, one in zip(folds, scored, strict=True):
        predictions[fold.repeat][:, fold.test] = one.predictions[:size]
    return read_only(predictions)


def _frozen(integers: Integers) -> Integers:
    integers.flags.writeable = False
    return integers


def _mean_square(residuals: Array, weights: Array | None) -> Array:
    if weights is None:
        return np.asarray(np.mean(residuals**2, axis=1))
    total = weights.sum()
    return np.asarray(residuals**2 @ weights / (total if total > 0 else np.nan))
