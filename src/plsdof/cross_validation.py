"""Cross-validation of any path: errors and correlations of all model sizes, and a choice.

For every fold the path is fitted once to the training rows, which standardises them anew, and
all its models predict the test rows. The error of a model is the mean over folds of the fold's
mean squared error.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import scipy.stats

from plsdof._validation import (
    Array,
    as_choice,
    as_count,
    as_matrix,
    as_positive,
    as_response,
    as_weights,
    read_only,
)
from plsdof.criteria import Selection, global_minimum, one_standard_error
from plsdof.errors import InvalidInputError, NotAvailableError
from plsdof.folds import Fold, Integers, as_generator, for_each_fold, group_codes, make_folds
from plsdof.methods import default_alphas, pcr_path, pls_path, ridge_path
from plsdof.path import Path

PATHS = ("pls", "pcr", "ridge")
# What models can be compared by, and where it is kept.
MEASURES = {
    "error": "mean_error",
    "pearson": "mean_correlation",
    "spearman": "mean_rank_correlation",
    "pooled-pearson": "pooled_correlation",
    "pooled-spearman": "pooled_rank_correlation",
}
_FOLD_VALUES = {
    "error": "fold_errors",
    "pearson": "fold_correlations",
    "spearman": "fold_rank_correlations",
}
RULES = ("minimum", "one-standard-error", "randomization")
# Predictions whose spread is within this many roundings of their size do not vary.
_CONSTANT_ULPS = 4 * float(np.finfo(np.float64).eps)
# Mean squared errors closer than this, relative to the smallest, count as equal.
_EQUAL_ERRORS = 1e-10
# Random signs held in memory at once: 8 MB.
_SIGNS_AT_ONCE = 1_000_000


class Predictor(Protocol):
    """What a callable ``path`` has to return: all models of one fit."""

    @property
    def parameters(self) -> Array:
        """What tells the models apart, simplest model first. Shape (K,)."""

    def predict(self, X_new: Any) -> Array:
        """Predict new rows with every model. Shape (K, n_new)."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CrossValidation:
    """Errors, correlations and predictions of every model on rows it was not fitted to.

    F folds (those of all repeats), K models in the order of ``parameters``.

    Attributes
    ----------
    parameters : (K,) array
        Numbers of components, or alphas.
    parameter_name : str
        "n_components" or "alpha".
    simplest_first : (K,) array of int
        Rows of ``parameters`` from the simplest model to the richest.
    folds : tuple of Fold
        Which rows were fitted and which predicted.
    fold_sizes : (F,) array
        Number of test rows.
    fold_errors : (F, K) array
        (Weighted) mean squared error of the test rows.
    fold_correlations, fold_rank_correlations : (F, K) arrays
        Pearson's and Spearman's correlation of prediction and response over the test rows; nan
        where one of them does not vary, so always for the empty model and for leave-one-out.
    y : (n,) array
        The response.
    predictions : (repeats, K, n) array or None
        Out-of-fold predictions, nan for rows that were not tested; None if they were not kept.
    sample_weight : (n,) array or None
    groups : (n,) array of int or None
        Groups numbered in order of appearance.
    message : str
        Why there are fewer models than asked for; empty if there are not.
    """

    parameters: Array
    parameter_name: str
    simplest_first: Integers
    folds: tuple[Fold, ...]
    fold_sizes: Integers
    fold_errors: Array
    fold_correlations: Array
    fold_rank_correlations: Array
    y: Array
    predictions: Array | None
    sample_weight: Array | None
    groups: Integers | None
    message: str

    @property
    def mean_error(self) -> Array:
        """Mean over folds of `fold_errors`. Shape (K,)."""
        return _mean(self.fold_errors)

    @property
    def std_error(self) -> Array:
        """Standard error of `mean_error`: standard deviation over folds / sqrt(folds). (K,).

        With repeats, folds is the number of folds of one repeat: repeats split the same rows
        again and so do not make the data larger.
        """
        return self._standard_error(self.fold_errors)

    @property
    def mean_correlation(self) -> Array:
        """Mean over the folds where it is defined of `fold_correlations`. Shape (K,)."""
        return _mean(self.fold_correlations)

    @property
    def mean_rank_correlation(self) -> Array:
        """Mean over the folds where it is defined of `fold_rank_correlations`. Shape (K,)."""
        return _mean(self.fold_rank_correlations)

    @property
    def pooled_correlation(self) -> Array:
        """Pearson's correlation over all tested rows at once, averaged over repeats. (K,).

        Defined for leave-one-out too. That of the empty model is negative: leaving out a large
        response lowers the mean of the others.
        """
        return self._pooled(ranks=False)

    @property
    def pooled_rank_correlation(self) -> Array:
        """Spearman's correlation over all tested rows at once, averaged over repeats. (K,)."""
        return self._pooled(ranks=True)

    def scores(self, by: str = "error") -> Array:
        """Return what `select` compares: an error to minimise or a correlation to maximise."""
        return np.asarray(getattr(self, MEASURES[as_choice(by, "by", tuple(MEASURES))]))

    def select(
        self,
        by: str = "error",
        rule: str = "minimum",
        *,
        level: float = 0.1,
        n_permutations: int = 999,
        random_state: Any = 0,
    ) -> Selection:
        """Choose a model.

        Parameters
        ----------
        by : {"error", "pearson", "spearman", "pooled-pearson", "pooled-spearman"}
            Smallest mean squared error or largest correlation; the first three are means over
            folds, the others take all tested rows together (for leave-one-out).
        rule : {"minimum", "one-standard-error", "randomization"}
            The best model (the simplest among equals); the simplest one within one standard error
            of it (Breiman et al. 1984); or the simplest one that `randomization_test` does not
            find worse.
        level, n_permutations, random_state
            Of the randomization test. Software differs in its ``level``, from 0.01 to 0.1; a
            smaller one gives smaller models.

        Returns
        -------
        Selection
            ``scores`` is ``self.scores(by)``; ``dof`` and ``noise`` are "not used".
        """
        scores, order = self.scores(by), self.simplest_first
        _require_defined(scores, by)
        loss = (scores if by == "error" else -scores)[order]
        note = ""
        if as_choice(rule, "rule", RULES) == "minimum":
            position = global_minimum(loss)
        elif rule == "one-standard-error":
            position = one_standard_error(loss, self._spread(by, global_minimum(loss)))
        else:
            p_values = self._p_values(by, level, n_permutations, random_state)
            position = int(np.argmax(p_values > level))
            note = f" p = {p_values[position]:.3g} at level {level:g}."
        index = int(order[position])
        return Selection(
            index=index,
            parameter=float(self.parameters[index]),
            parameter_name=self.parameter_name,
            scores=read_only(scores),
            criterion=f"cv-{by}",
            rule=rule,
            dof="not used",
            noise="not used",
            message=f"{rule} of cross-validated {by} at parameter {self.parameters[index]:g} "
            f"(score {scores[index]:.4g}).{note}",
        )

    def row_losses(self) -> Array:
        """Return each row's share of the mean squared error, averaged over repeats. (rows, K).

        Rows that were never tested are left out; with groups there is one share per group.
        """
        losses: Array = _mean((self._kept_predictions() - self.y) ** 2).T
        tested = ~np.isnan(losses).all(axis=1)
        weights = np.ones(len(losses)) if self.sample_weight is None else self.sample_weight
        losses = losses[tested] * (weights[tested] / weights[tested].sum())[:, None]
        if self.groups is None:
            return losses
        _, member = np.unique(self.groups[tested], return_inverse=True)
        summed = np.zeros((int(member.max()) + 1, losses.shape[1]))
        np.add.at(summed, member, losses)
        return summed

    def __repr__(self) -> str:
        return (
            f"CrossValidation({len(self.parameters)} models, {len(self.folds)} folds, "
            f"n={len(self.y)}, repeats={self._repeats()})"
        )

    def _repeats(self) -> int:
        return self.folds[-1].repeat + 1

    def _standard_error(self, fold_values: Array) -> Array:
        counted = np.count_nonzero(~np.isnan(fold_values), axis=0)
        centred = fold_values - _mean(fold_values)
        spare = np.where(counted > 1, counted - 1.0, np.nan)
        variance = np.nansum(centred**2, axis=0) / spare
        return np.asarray(np.sqrt(variance * self._repeats() / np.maximum(counted, 1)))

    def _spread(self, by: str, best: int) -> Array:
        """Return standard errors over folds, simplest model first."""
        if by not in _FOLD_VALUES:
            raise NotAvailableError(
                f"A standard error over folds is not defined for by={by!r}; use by='error' with "
                "rule='one-standard-error', or another rule."
            )
        values = self._standard_error(getattr(self, _FOLD_VALUES[by]))[self.simplest_first]
        if np.isnan(values[best]):
            raise NotAvailableError(
                f"A standard error needs at least two folds in which {by} is defined; the best "
                "model has one. Use rule='minimum', or more folds."
            )
        return values

    def _p_values(self, by: str, level: float, n_permutations: int, random_state: Any) -> Array:
        """Return p-values against the best model, simplest model first."""
        if by != "error":
            raise NotAvailableError(
                f"The randomization test compares squared errors, not {by}; use by='error'."
            )
        if isinstance(level, bool) or not isinstance(level, int | float) or not 0 < level < 1:
            raise InvalidInputError(f"level must be a number between 0 and 1; got {level!r}.")
        test = randomization_test(self, n_permutations=n_permutations, random_state=random_state)
        return test.p_values[self.simplest_first]

    def _pooled(self, *, ranks: bool) -> Array:
        values = []
        for predictions in self._kept_predictions():
            rows = ~np.isnan(predictions).all(axis=0)
            weights = None if self.sample_weight is None else self.sample_weight[rows]
            values.append(correlations(predictions[:, rows], self.y[rows], weights, ranks=ranks))
        return _mean(np.array(values))

    def _kept_predictions(self) -> Array:
        if self.predictions is None:
            raise NotAvailableError(
                "Out-of-fold predictions were not kept; call cross_validate with "
                "keep_predictions=True."
            )
        return self.predictions


@dataclass(frozen=True, kw_only=True, eq=False)
class RandomizationTest:
    """Test of every model against the one with the smallest cross-validated error.

    ``differences`` (K,) are the mean differences of the squared errors, ``p_values`` (K,) the
    probabilities of one at least as large if both models were equally good, ``reference`` the
    row of the best model, ``n_permutations`` the number of random sign patterns.
    """

    differences: Array
    p_values: Array
    reference: int
    n_permutations: int


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


def randomization_test(
    result: CrossValidation, *, n_permutations: int = 999, random_state: Any = 0
) -> RandomizationTest:
    """Test whether models predict worse than the best one, after van der Voet (1994).

    With d_i the difference of the squared out-of-fold residuals of a model and of the model with
    the smallest error, the statistic is mean(d). If both predict equally well the two residuals
    of a row could be exchanged, which turns the sign of d_i; the p-value is the share

        (1 + #{mean(s * d) >= mean(d)}) / (1 + n_permutations)

    over random signs s, one-sided, the data themselves counted in.

    Parameters
    ----------
    result : CrossValidation
        With its predictions. Repeats are averaged within rows first; rows of one group share a
        sign, since they are not independent; weights multiply d.
    n_permutations : int
        Number of random sign patterns, shared by all models.
    random_state : int or numpy Generator
        The default makes the test reproducible.

    Notes
    -----
    Cost: O(n K) per pattern, in blocks of at most 8 MB.

    References
    ----------
    H. van der Voet (1994), Comparing the predictive accuracy of models using a simple
    randomization test, Chemometrics and Intelligent Laboratory Systems 25, 313-323.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(40, 5))
    >>> y = X @ [1.0, 2.0, 0.0, -1.0, 0.0] + rng.normal(size=40)
    >>> test = randomization_test(cross_validate(X, y, max_components=2))
    >>> test.reference, test.p_values.round(3)
    (2, array([0.001, 0.285, 1.   ]))
    """
    count = as_count(n_permutations, "n_permutations", minimum=1)
    rng = as_generator(random_state)
    best = result.select().index
    losses = result.row_losses()
    d = losses - losses[:, [best]]
    observed = d.sum(axis=0)
    bar = observed - _EQUAL_ERRORS * losses[:, best].sum()
    reached = np.ones(len(observed))
    block = max(1, _SIGNS_AT_ONCE // len(d))
    for start in range(0, count, block):
        shape = (min(block, count - start), len(d))
        signs = 2.0 * rng.integers(0, 2, size=shape, dtype=np.int8) - 1.0
        reached += np.count_nonzero(signs @ d >= bar, axis=0)
    return RandomizationTest(
        differences=read_only(observed),
        p_values=read_only(reached / (1.0 + count)),
        reference=best,
        n_permutations=count,
    )


def correlations(
    predictions: Array, observed: Array, weights: Array | None = None, *, ranks: bool = False
) -> Array:
    """Correlate each row of (K, t) predictions with (t,) observations. Shape (K,).

    Pearson's (weighted) correlation, or Spearman's, for which weights only tell which rows count.
    nan where predictions or observations do not vary.

    Examples
    --------
    >>> correlations(np.array([[1.0, 2.0, 9.0], [5.0, 5.0, 5.0]]), np.array([1.0, 3.0, 4.0]))
    array([0.82603319,        nan])
    """
    if weights is not None:
        counts = weights > 0
        predictions, observed, weights = predictions[:, counts], observed[counts], weights[counts]
    if len(observed) < 2:
        return np.full(len(predictions), np.nan)
    defined = _varies(predictions) & _varies(observed)
    if ranks:
        predictions = scipy.stats.rankdata(predictions, axis=1)
        observed, weights = scipy.stats.rankdata(observed), None
    share = np.ones(len(observed)) if weights is None else weights / weights.sum()
    centred = predictions - np.average(predictions, axis=1, weights=share)[:, None]
    target = observed - np.average(observed, weights=share)
    size = np.sqrt(centred**2 @ share) * np.sqrt(target**2 @ share)
    values = np.divide((centred * share) @ target, size, where=defined, out=np.zeros_like(size))
    return np.where(defined, np.clip(values, -1.0, 1.0), np.nan)


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


def _mean(values: Array) -> Array:
    """Average over the first axis what is defined; nan where nothing is."""
    defined = ~np.isnan(values)
    counted = defined.sum(axis=0)
    total = np.where(defined, values, 0.0).sum(axis=0)
    return np.asarray(total / np.where(counted > 0, counted, np.nan))


def _varies(values: Array) -> npt.NDArray[np.bool_]:
    """Whether entries along the last axis differ by more than rounding."""
    spread = values.max(axis=-1) - values.min(axis=-1)
    return np.asarray(spread > _CONSTANT_ULPS * np.abs(values).max(axis=-1))


def _require_defined(scores: Array, by: str) -> None:
    if np.isnan(scores).all():
        advice = "" if by.startswith("pooled") else f" Use fewer folds, or by='pooled-{by}'."
        raise NotAvailableError(
            f"{by} is undefined for every model: a correlation needs at least two test rows per "
            f"fold, and predictions that vary.{advice if by != 'error' else ''}"
        )
