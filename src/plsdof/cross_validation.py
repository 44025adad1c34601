"""Cross-validation of any path: one fit per fold, fits on the rows left out.

For every fold the path is fitted once to the training rows, which standardises them anew, and
all its models predict the test rows. The error of a model is the mean over folds of the fold's
mean squared error.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from plsdof._validation import (
    Array,
    as_count,
    as_matrix,
    as_positive,
    as_response,
    as_weights,
    read_only,
)
from plsdof.cross_validated import CrossValidation
from plsdof.errors import InvalidInputError
from plsdof.fold_fits import FoldFit
from plsdof.fold_fitters import FastPLS, Predictor, Refit
from plsdof.fold_scores import score_folds
from plsdof.folds import Fold, Integers, group_codes, make_folds
from plsdof.methods import default_alphas, pcr_path, pls_path, ridge_path
from plsdof.parallel import run_each
from plsdof.threads import threads_for

PATHS = ("pls", "pcr", "ridge")


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
        Number of processes (needs joblib) for folds that are fitted one by one; None or 1 for a
        plain loop.
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
    Cost: one fit and O(K p t) for the predictions of t test rows, per fold. With "pls" all folds
    are fitted together, without a decomposition: O(F M n p) time for M components of F folds, or
    O(n p^2 + F M p^2) for tall data. That gives predictions only where rounding errors leave them
    certain to about 1e-10; other folds are fitted one by one.

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
    fitter = _fitter(path, X, y, weights, max_components=max_components, alphas=alphas, scale=scale)
    folds = make_folds(X, y, cv, groups, repeats=repeats, random_state=random_state)
    with threads_for(X.shape):
        fits = run_each(
            fitter.fit,
            folds,
            done=fitter.fit_together(folds),
            n_jobs=n_jobs,
            progress=progress,
            description="Cross-validation",
        )
    size = _common_size(fits)
    order = fits[0].simplest_first
    rows = np.concatenate([fold.test for fold in folds])
    sizes = np.array([len(fold.test) for fold in folds])
    predictions = np.concatenate([fit.predictions[:size] for fit in fits], axis=1)
    scores = score_folds(predictions, y[rows], None if weights is None else weights[rows], sizes)
    return CrossValidation(
        parameters=read_only(fits[0].parameters[:size]),
        parameter_name=fits[0].parameter_name,
        simplest_first=_frozen(order[order < size]),
        folds=folds,
        fold_sizes=_frozen(sizes),
        fold_errors=read_only(scores.errors),
        fold_correlations=read_only(scores.correlations),
        fold_rank_correlations=read_only(scores.rank_correlations),
        y=read_only(y.copy()),
        predictions=_by_row(folds, predictions, rows) if keep_predictions else None,
        sample_weight=None if weights is None else read_only(weights.copy()),
        groups=None if groups is None else _frozen(group_codes(groups, len(X))),
        message=_why_cut(fits, size, max_components),
    )


def _fitter(
    path: str | Callable[..., Predictor],
    X: Array,
    y: Array,
    weights: Array | None,
    *,
    max_components: Any,
    alphas: Any,
    scale: bool,
) -> Refit:
    refit = partial(Refit, X=X, y=y, weights=weights)
    if callable(path):
        _refuse(path, max_components=max_components, alphas=alphas, scale=None if scale else False)
        options = _plain_pls(path)
        return refit(path=path) if options is None else _fitter("pls", X, y, weights, **options)
    if not isinstance(path, str) or path not in PATHS:
        words = ", ".join(map(repr, PATHS))
        raise InvalidInputError(
            f"path must be one of {words} or a callable (X, y) -> path; got {path!r:.80}."
        )
    if path == "ridge":
        _refuse(path, max_components=max_components)
        # The default of ridge_path, on the n of all rows so that the folds have it in common.
        n = float(len(X)) if weights is None else float(weights.sum())
        alphas = default_alphas(n) if alphas is None else as_positive(alphas, "alphas")
        return refit(path=partial(ridge_path, alphas=alphas, scale=scale))
    _refuse(path, alphas=alphas)
    if max_components is not None:
        max_components = as_count(max_components, "max_components")
    if path == "pcr":
        return refit(path=partial(pcr_path, max_components=max_components, scale=scale))
    return FastPLS(
        X=X,
        y=y,
        weights=weights,
        path=partial(pls_path, max_components=max_components, scale=scale),
        max_components=max_components,
        scale=scale,
    )


def _plain_pls(path: Callable[..., Predictor]) -> dict[str, Any] | None:
    """Return the options of ``partial(pls_path, ...)`` that is the same as "pls", else None."""
    if not isinstance(path, partial) or path.func is not pls_path or path.args:
        return None
    options = {"max_components": None, "scale": True, **path.keywords}
    if options.pop("solver", "auto") != "auto" or set(options) != {"max_components", "scale"}:
        return None
    return {**options, "alphas": None}


def _refuse(path: Any, **options: Any) -> None:
    for name, value in options.items():
        if value is not None:
            where = f"path={path!r}" if isinstance(path, str) else "a callable path"
            raise InvalidInputError(
                f"{name} does not apply to {where}; got {name}={value!r:.80}. Leave it out, or "
                "give a callable path that sets its own options (functools.partial)."
            )


def _common_size(fits: Sequence[FoldFit]) -> int:
    size = min(len(one.parameters) for one in fits)
    first = fits[0].parameters[:size]
    for number, one in enumerate(fits):
        if not np.array_equal(one.parameters[:size], first):
            raise InvalidInputError(
                f"The path has other parameters in fold {number} than in fold 0; all folds must "
                "have the same models in the same order to be averaged."
            )
    return size


def _why_cut(fits: Sequence[FoldFit], size: int, max_components: int | None) -> str:
    wanted = max(len(one.parameters) for one in fits)
    if max_components is not None:
        wanted = max_components + 1
    if size == wanted:
        return ""
    number = next(i for i, one in enumerate(fits) if len(one.parameters) == size)
    return (
        f"{wanted - size} of {wanted} models are left out because fold {number} supports {size} "
        f"only. {fits[number].message}"
    ).rstrip()


def _by_row(folds: Sequence[Fold], predictions: Array, rows: Integers) -> Array:
    """Put predictions of test rows, fold after fold, where their rows are. (repeats, K, n)."""
    repeat = np.repeat([fold.repeat for fold in folds], [len(fold.test) for fold in folds])
    result = np.full((folds[-1].repeat + 1, len(predictions), folds[0].n_rows), np.nan)
    result[repeat, :, rows] = predictions.T
    return read_only(result)


def _frozen(integers: Integers) -> Integers:
    integers.flags.writeable = False
    return integers
