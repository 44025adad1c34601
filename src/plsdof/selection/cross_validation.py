"""Cross-validation of any path: errors of all models, and a choice by them.

Partial Least Squares takes all folds together (`plsdof._core.left_out`). Any other path is fitted
once to the training rows of each fold, which standardises them anew, and all its models predict
the test rows. The error of a model is its mean squared error over all rows tested.

Test rows lie one fold after the other, so that sums over folds are sums over stretches of one
array: (K, N) predictions for K models, with ``sizes`` (F,) rows per fold.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Protocol, get_args

import numpy as np
import numpy.typing as npt

from plsdof._core.choice import Selection as Selection
from plsdof._core.choice import global_minimum, one_standard_error, rule_in_words
from plsdof._core.display import (
    as_html,
    data_frame,
    model_in_words,
    one_line,
    parameter_column,
)
from plsdof._core.fit import METHODS
from plsdof._core.folds import Fold, Integers, group_codes
from plsdof._core.folds import make_folds as make_folds
from plsdof._core.inputs import (
    Array,
    as_choice,
    as_count,
    as_fraction,
    as_generator,
    as_matrix,
    as_response,
    as_weights,
    feature_names,
    opened_table,
    read_only,
    require_flag,
)
from plsdof._core.left_out import LeftOut as LeftOut
from plsdof._core.left_out import Problem, hold_out
from plsdof._core.parallel import as_jobs, run_each
from plsdof._core.plugins import Source, opened
from plsdof._core.recipe import Recipe
from plsdof._core.recursion import Split
from plsdof._core.standardize import (
    CONSTANT_ULPS,
    Observations,
    constant_columns,
    warn_constant_columns,
)
from plsdof._core.threads import threads_for
from plsdof.errors import InvalidInputError, NotAvailableError

if TYPE_CHECKING:
    from pandas import DataFrame

# Errors and correlations of predictions, fold by fold and for all models at once
# -------------------------------------------------------------------------------


def fold_correlations(
    predictions: Array, observed: Array, weights: Array | None, sizes: Integers
) -> Array:
    """Correlate (K, N) predictions with (N,) observations within each of F folds. Shape (F, K).

    Pearson's (weighted) correlation: zero where predictions do not vary, nan where observations do
    not, or where fewer than two rows count.

    Examples
    --------
    >>> yhat = np.array([[1.0, 2.0, 9.0], [5.0, 5.0, 5.0]])
    >>> fold_correlations(yhat, np.array([1.0, 3.0, 4.0]), None, np.array([3]))
    array([[0.82603319, 0.        ]])
    """
    # Rows that count, and folds with at least two of them.
    weights = np.ones(len(observed)) if weights is None else weights
    counts = weights > 0
    values = np.full((len(sizes), len(predictions)), np.nan)
    sizes = _sums(counts.astype(np.intp), sizes)
    enough = sizes > 1
    if not enough.any():
        return values
    counts[counts] = np.repeat(enough, sizes)
    predictions, observed, weights = predictions[:, counts], observed[counts], weights[counts]
    sizes = sizes[enough]
    # Deviations from the means of the folds.
    share = weights / np.repeat(_sums(weights, sizes), sizes)
    centred = predictions - np.repeat(_sums(predictions * share, sizes), sizes, axis=1)
    target = observed - np.repeat(_sums(observed * share, sizes), sizes)
    with np.errstate(invalid="ignore", divide="ignore"):
        # Two roots: the product of the sums may leave the range of floats.
        size = np.sqrt(_sums(centred**2 * share, sizes))
        found = _sums(centred / size.repeat(sizes, axis=-1) * (target * share), sizes)
        found /= np.sqrt(_sums(target**2 * share, sizes))
    # A prediction that is the same for all rows, such as the mean, has no correlation with y.
    found = np.where(_vary(predictions, sizes), np.clip(found, -1.0, 1.0), 0.0)
    values[enough] = np.where(_vary(observed, sizes), found, np.nan).T
    return values


def fold_errors(residuals: Array, weights: Array | None, sizes: Integers) -> Array:
    """Return (weighted) mean squares of (K, N) residuals within each of F folds. Shape (F, K).

    Examples
    --------
    >>> fold_errors(np.array([[1.0, 1.0, 2.0, -3.0, -3.0]]), None, np.array([3, 2]))
    array([[2.],
           [9.]])
    """
    if weights is None:
        return _sums(residuals**2, sizes).T / sizes[:, None]
    total = _sums(weights, sizes)
    return _sums(residuals**2 * weights, sizes).T / np.where(total > 0, total, np.nan)[:, None]


def _sums(values: npt.NDArray[Any], sizes: Integers) -> npt.NDArray[Any]:
    """Return sums over the folds, along the last axis. No fold may be empty."""
    return np.add.reduceat(values, _starts(sizes), axis=-1)


def _starts(sizes: Integers) -> Integers:
    return np.concatenate([[0], np.cumsum(sizes)[:-1]])


def _vary(values: Array, sizes: Integers) -> npt.NDArray[np.bool_]:
    """Whether values of a fold differ by more than rounding. Shape (..., F)."""
    highest = np.maximum.reduceat(values, _starts(sizes), axis=-1)
    lowest = np.minimum.reduceat(values, _starts(sizes), axis=-1)
    largest = np.maximum(np.abs(highest), np.abs(lowest))
    return np.asarray(highest - lowest > CONSTANT_ULPS * largest)


# What a cross-validation found: errors and correlations of all models, and a choice by them
# ------------------------------------------------------------------------------------------

# What models can be compared by, where it is kept, and where for each fold.
Measure = Literal["error", "pearson"]
MEASURES = {
    "error": ("mean_error", "fold_errors"),
    "pearson": ("mean_correlation", "fold_correlations"),
}
_COLUMNS = ("mean_error", "std_error", "rmse", "q2", "mean_correlation")
Rule = Literal["minimum", "one-standard-error", "randomization"]
RULES = get_args(Rule)
# Differences of two losses that are apart by less than this share of the losses are equal.
_EQUAL_LOSSES = 1e-10
# Random signs held in memory at once: 8 MB.
_SIGNS_AT_ONCE = 1_000_000


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
    fold_errors : (F, K) array
        (Weighted) mean squared error of the test rows.
    fold_correlations : (F, K) array
        Pearson's correlation of prediction and response over the test rows; zero where predictions
        do not vary, so always for the empty model; nan where responses do not, so always for
        leave-one-out.
    y : (n,) array
        The response.
    predictions : (repeats, K, n) array
        Out-of-fold predictions, nan for rows that were not tested.
    sample_weight : (n,) array or None
    groups : (n,) array of int or None
        Groups numbered in order of appearance.
    message : str
        Why there are fewer models than asked for; empty if there are not.

    Examples
    --------
    >>> from plsdof import cross_validate
    >>> from plsdof.datasets import load_ozone
    >>> result = cross_validate(*load_ozone(return_X_y=True), max_components=2)
    >>> result.rmse.round(2), result.q2.round(2)
    (array([8.19, 4.84, 4.62]), array([-0.  ,  0.65,  0.68]))
    """

    parameters: Array
    parameter_name: str
    simplest_first: Integers
    folds: tuple[Fold, ...]
    fold_errors: Array
    fold_correlations: Array
    y: Array
    predictions: Array
    sample_weight: Array | None
    groups: Integers | None
    message: str

    @property
    def mean_error(self) -> Array:
        """(Weighted) mean squared error of all tested rows, PRESS / n. Shape (K,).

        Folds count by their rows, as in R's pls: the mean of `fold_errors` if all folds have the
        same size.
        """
        return _mean(self.fold_errors, self._fold_weights())

    @property
    def std_error(self) -> Array:
        """Standard error of `mean_error`. Shape (K,).

            sqrt( sum_f s_f (e_f - mean)^2 / (F - 1) ),     s_f the share of the rows in fold f,

        which is the standard deviation of the fold errors e_f over sqrt(F) if all folds have the
        same size (Breiman et al. 1984). With repeats, F - 1 is that of one repeat: repeats split
        the same rows again and so do not make the data larger.
        """
        return self._standard_error(self.fold_errors, self._fold_weights())

    @property
    def rmse(self) -> Array:
        """RMSECV, the root of `mean_error`, over the residuals of all rows. Shape (K,)."""
        return np.sqrt(self.mean_error)

    @property
    def q2(self) -> Array:
        """Q^2 = 1 - PRESS / TSS, the predicted share of the variance of y. Shape (K,).

            PRESS = sum w_i (y_i - yhat_i)^2,      TSS = sum w_i (y_i - ybar)^2

        over all tested rows of all repeats, with yhat_i predicted without the fold of row i and
        ybar the (weighted) mean of all responses. That of the empty model is slightly negative, as
        folds do not know ybar. nan if y is constant.
        """
        weights = np.ones(len(self.y)) if self.sample_weight is None else self.sample_weight
        squares = weights * (self.y - np.average(self.y, weights=weights)) ** 2
        rows = np.concatenate([fold.test for fold in self.folds])
        total = float(squares[rows].sum() / weights[rows].sum())
        return 1.0 - self.mean_error / (total if total > 0 else np.nan)

    @property
    def mean_correlation(self) -> Array:
        """Mean over the folds where it is defined of `fold_correlations`. Shape (K,)."""
        return _mean(self.fold_correlations)

    def scores(self, by: Measure = "error") -> Array:
        """Return what `select` compares: an error to minimise or a correlation to maximise."""
        return np.asarray(getattr(self, MEASURES[as_choice(by, "by", tuple(MEASURES))][0]))

    def select(
        self, by: Measure = "error", rule: Rule = "minimum", *, level: float = 0.1
    ) -> Selection:
        """Choose a model.

        Parameters
        ----------
        by : {"error", "pearson"}
            Smallest mean squared error, or largest mean over folds of Pearson's correlation.
        rule : {"minimum", "one-standard-error", "randomization"}
            The best model (the simplest among equals); the simplest one within one standard error
            of it (Breiman et al. 1984); or the simplest one that is not significantly worse
            (`p_values`).
        level : float
            Of the randomization test. Software differs in it, from 0.01 to 0.1; a smaller one
            gives smaller models.

        Returns
        -------
        Selection
            ``scores`` is ``self.scores(by)``.
        """
        scores, order = self.scores(by), self.simplest_first
        _require_defined(scores, by)
        loss = (scores if by == "error" else -scores)[order]
        note = ""
        if as_choice(rule, "rule", RULES) == "minimum":
            position = global_minimum(loss)
        elif rule == "one-standard-error":
            position = one_standard_error(loss, self._spread(by, global_minimum(loss)))
        elif by != "error":
            raise NotAvailableError(
                f"The randomization test compares squared errors, not {by}; use by='error'."
            )
        else:
            p_values = self.p_values()[order]
            position = int(np.argmax(p_values > as_fraction(level, "level")))
            note = f" p = {p_values[position]:.3g} at level {level:g}."
        index = int(order[position])
        return Selection(
            index=index,
            parameter=float(self.parameters[index]),
            parameter_name=self.parameter_name,
            scores=read_only(scores),
            criterion=f"cv-{by}",
            rule=rule,
            summary=f"{model_in_words(self.parameters[index], self.parameter_name)} "
            f"(score {scores[index]:.4g}): {rule_in_words(rule, f'cross-validated {by}')}.{note}",
        )

    def p_values(self, *, n_permutations: int = 999, rng: Any = 0) -> Array:
        """Test whether models predict worse than the best one, after van der Voet (1994). (K,).

        With d_i the difference of the squared out-of-fold residuals of a model and of the model
        with the smallest error, the statistic is mean(d). If both predict equally well the two
        residuals of a row could be exchanged, which turns the sign of d_i; the p-value is the share

            (1 + #{mean(s * d) >= mean(d)}) / (1 + n_permutations)

        over random signs s, one-sided, the data themselves counted in.

        Parameters
        ----------
        n_permutations : int
            Number of random sign patterns, shared by all models.
        rng : int or numpy Generator
            The default makes the test reproducible.

        Returns
        -------
        (K,) array
            1 for the best model, nan where a model has no prediction for some row. Repeats are
            averaged within rows first; rows of one group share a sign, since they are not
            independent; weights multiply d.

        Notes
        -----
        Cost: O(n K) per pattern, in blocks of at most 8 MB.

        References
        ----------
        H. van der Voet (1994), Comparing the predictive accuracy of models using a simple
        randomization test, Chemometrics and Intelligent Laboratory Systems 25, 313-323.

        Examples
        --------
        >>> from plsdof import cross_validate
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(40, 5))
        >>> y = X @ [1.0, 2.0, 0.0, -1.0, 0.0] + rng.normal(size=40)
        >>> cross_validate(X, y, max_components=2).p_values().round(3)
        array([0.001, 0.275, 1.   ])
        """
        best = self.select().index
        return read_only(sign_flip_p_values(self.row_losses(), best, n_permutations, rng))

    def to_frame(self) -> "DataFrame":
        """Return a pandas data frame with one row per model, in the order of ``parameters``."""
        parameters = parameter_column(self.parameters, self.parameter_name)
        measures = {name: getattr(self, name) for name in _COLUMNS}
        return data_frame({self.parameter_name: parameters, **measures})

    def _repr_html_(self) -> str:
        """Return the errors of all models as a table, the smallest one in bold."""
        order, name = self.simplest_first, self.parameter_name
        parameters, error = parameter_column(self.parameters, name)[order], self.mean_error[order]
        best = int(np.argmin(np.where(np.isnan(error), np.inf, error)))
        return as_html(
            repr(self),
            {
                name: parameters,
                "mean error": error,
                "std error": self.std_error[order],
                "RMSE": self.rmse[order],
                "Q2": self.q2[order],
            },
            notes=[self.message] if self.message else [],
            chosen=best,
        )

    def row_losses(self) -> Array:
        """Return each row's share of the mean squared error, averaged over repeats. (rows, K).

        Rows that were never tested are left out; with groups there is one share per group.
        """
        losses: Array = _mean((self.predictions - self.y) ** 2).T
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
        sizes = f"{len(self.parameters)} models", f"{len(self.folds)} folds"
        return one_line(self, *sizes, n=len(self.y), repeats=self._repeats())

    def _repeats(self) -> int:
        return self.folds[-1].repeat + 1

    def _fold_weights(self) -> Array:
        """Return the share of the tested rows, or of their weights, in every fold. Shape (F,)."""
        weights = np.ones(len(self.y)) if self.sample_weight is None else self.sample_weight
        sums = np.array([weights[fold.test].sum() for fold in self.folds])
        return np.asarray(sums / sums.sum())

    def _standard_error(self, fold_values: Array, shares: Array | None = None) -> Array:
        """Return the standard error of a mean over folds, weighted by ``shares`` of the rows."""
        counted = np.count_nonzero(~np.isnan(fold_values), axis=0)
        centred = fold_values - _mean(fold_values, shares)
        spare = np.where(counted > 1, counted - 1.0, np.nan)
        # Errors are squares already, and their squares may leave the range of floats.
        unit = float(np.nanmax(np.abs(centred), initial=0.0)) or 1.0
        variance = _mean((centred / unit) ** 2, shares) / spare
        return np.asarray(unit * np.sqrt(variance * self._repeats()))

    def _spread(self, by: str, best: int) -> Array:
        """Return standard errors over folds, simplest model first."""
        shares = self._fold_weights() if by == "error" else None
        fold_values = getattr(self, MEASURES[by][1])
        values = self._standard_error(fold_values, shares)[self.simplest_first]
        if np.isnan(values[best]):
            raise NotAvailableError(
                f"A standard error needs at least two folds in which {by} is defined; the best "
                "model has one. Use rule='minimum', or more folds."
            )
        return values


def sign_flip_p_values(losses: Array, best: int, n_permutations: int, rng: Any) -> Array:
    """Test each column of (rows, K) losses against column ``best``, by random signs. (K,).

    The numbers behind `CrossValidation.p_values`; nan where losses are undefined.

    Examples
    --------
    >>> sign_flip_p_values(np.array([[3.0, 1.0]] * 20), 1, 99, 0)
    array([0.01, 1.  ])
    """
    flips, rng = as_count(n_permutations, "n_permutations", minimum=1), as_generator(rng)
    if np.isnan(losses[:, best]).any():
        raise NotAvailableError(
            "The best model has no prediction (nan) for some of the rows, so others cannot be "
            "compared with it row by row; use rule='minimum'."
        )
    d = losses - losses[:, [best]]
    # Sums in another order differ by rounding, and so do models that are the same.
    observed = d.sum(axis=0) - _EQUAL_LOSSES * (losses + losses[:, [best]]).sum(axis=0)
    reached = np.ones(d.shape[1])
    at_once = max(1, _SIGNS_AT_ONCE // max(d.shape))
    for done in range(0, flips, at_once):
        signs = _random_signs(rng, min(at_once, flips - done), len(d))
        reached += np.count_nonzero(signs @ d >= observed, axis=0)
    return np.where(np.isnan(observed), np.nan, reached / (1.0 + flips))


def _random_signs(rng: np.random.Generator, n_patterns: int, n_rows: int) -> Array:
    signs = rng.random((n_patterns, n_rows))
    signs -= 0.5
    np.copysign(1.0, signs, out=signs)
    return signs


def _mean(values: Array, shares: Array | None = None) -> Array:
    """Average over the first axis what is defined, weighted by ``shares``; nan where nothing is."""
    defined = ~np.isnan(values)
    shares = np.ones(len(values)) if shares is None else shares
    weights = defined * shares.reshape(-1, *[1] * (values.ndim - 1))
    counted = weights.sum(axis=0)
    total = np.sum(weights * np.where(defined, values, 0.0), axis=0)
    return np.asarray(total / np.where(counted > 0, counted, np.nan))


def _require_defined(scores: Array, by: str) -> None:
    if np.isnan(scores).all():
        advice = "" if by == "error" else " Use fewer folds, or by='error'."
        raise NotAvailableError(
            f"{by} is undefined for every model: a correlation needs at least two test rows per "
            f"fold, and predictions that vary.{advice}"
        )


# Fits of one fold after the other, for paths without a recursion
# ---------------------------------------------------------------


class Predictor(Protocol):
    """What a callable ``path`` has to return: all models of one fit."""

    @property
    def parameters(self) -> Array:
        """What tells the models apart, simplest model first. Shape (K,)."""

    def predict(self, X_new: Any) -> Array:
        """Predict new rows with every model. Shape (K, n_new)."""


@dataclass(frozen=True, kw_only=True)
class FoldFit:
    """All models of one fold, as far as cross-validation needs them.

    Attributes
    ----------
    predictions : (K, t) array
        Of the test rows, one row per model.
    parameters : (K,) array
        What tells the models apart.
    parameter_name : str
    simplest_first : (K,) array of int
        Rows of ``parameters`` from the simplest model to the richest.
    message : str
        Why there are fewer models than asked for; empty if there are not.
    """

    predictions: Array
    parameters: Array
    parameter_name: str
    simplest_first: Integers
    message: str = ""


def _fit_fold(
    fold: Fold, X: Array, y: Array, weights: Array | None, path: Callable[..., Predictor]
) -> FoldFit:
    """Fit one fold and predict its test rows."""
    train, test = fold.train, fold.test
    weighted = {} if weights is None else {"sample_weight": weights[train]}
    found = path(X[train], y[train], **weighted)
    if not (hasattr(found, "parameters") and hasattr(found, "predict")):
        raise InvalidInputError(
            "A callable path must return a path, with parameters and predict; got "
            f"{found!r:.80} of type {type(found).__name__}."
        )
    parameters = np.asarray(found.parameters, dtype=np.float64)
    predictions = np.asarray(found.predict(X[test]), dtype=np.float64)
    if predictions.shape != (len(parameters), len(test)):
        raise InvalidInputError(
            f"path.predict must return one row per model and one column per new row, shape "
            f"{(len(parameters), len(test))}; got shape {predictions.shape}."
        )
    order = getattr(found, "simplest_first", None)
    return FoldFit(
        predictions=predictions,
        parameters=parameters,
        parameter_name=getattr(found, "parameter_name", "n_components"),
        simplest_first=np.arange(len(parameters)) if order is None else order(),
        message=getattr(found, "message", ""),
    )


def _together(recipe: Recipe, given: Observations, folds: Sequence[Fold]) -> list[FoldFit] | None:
    """Fit Partial Least Squares to all folds in one recursion; None if that is not certain."""
    plain = recipe.method.name == "pls" and recipe.prepare is None
    if not plain or recipe.options.get("solver", "auto") != "auto":
        return None
    if given.weights is not None and not np.all(given.weights > 0):
        return None
    problem = Problem(given=given, scale=recipe.options.get("scale", True))
    split = _split_of(folds)
    smallest = min(fold.n_fitted for fold in folds)
    asked = recipe.options.get("max_components")
    size = smallest - 1 if asked is None else min(asked, smallest - 1)
    held = hold_out(problem, split, size)
    if not held.certain:
        return None
    K = int(np.argmax(np.append(held.run.exhausted.any(axis=1), True)))
    cut = (asked is not None and asked > K - 1) or len(held.residuals) > K
    ends = np.cumsum([len(test) for test in split.tests])[:-1]
    return [
        FoldFit(
            predictions=part,
            parameters=np.arange(K, dtype=np.float64),
            parameter_name="n_components",
            simplest_first=np.arange(K),
            message="The data support no more components." if cut else "",
        )
        for part in np.split(held.run.predictions[:K], ends, axis=1)
    ]


def _refitted(recipe: Recipe, given: Observations, folds: Sequence[Fold]) -> list[FoldFit]:
    """Fit every fold of rows that are not in memory by itself."""
    split, alphas = _split_of(folds), recipe.options.get("alphas")
    found = []
    for part in given.X.refitted(recipe, given, split):
        parameters = np.arange(len(part.values), dtype=np.float64) if alphas is None else alphas
        found.append(
            FoldFit(
                predictions=part.values,
                parameters=parameters,
                parameter_name="n_components" if alphas is None else "alpha",
                simplest_first=np.argsort(parameters if alphas is None else -alphas, kind="stable"),
            )
        )
    return found


def _split_of(folds: Sequence[Fold]) -> Split:
    return Split.given([fold.test for fold in folds], [fold.train_rows for fold in folds])


# Cross-validation of any path: one fit per fold, fits on the rows left out
# -------------------------------------------------------------------------


def cross_validate(
    X: Any,
    y: Any = None,
    path: Literal["pls", "pcr", "ridge"] | Recipe | Callable[..., Predictor] = "pls",
    cv: Any = 10,
    groups: Any = None,
    *,
    max_components: int | None = None,
    alphas: Any = None,
    scale: bool = True,
    sample_weight: Any = None,
    repeats: int = 1,
    rng: Any = None,
    n_jobs: int | None = None,
) -> CrossValidation:
    """Cross-validate all models of a path, with one fit per fold.

    The error of model k is sum_i w_i (y_i - yhat_ik)^2 / sum_i w_i, where i runs over all rows and
    yhat comes from a path fitted without the fold of row i, centring and scaling included.

    Parameters
    ----------
    X : (n, p) array or data frame
        Or any other container with rows that `pls_path` takes: sparse, on disk, in blocks. These
        are read block by block, and not for a callable ``path``.
    y : (n,) array
        Response; blocks have it already.
    path : {"pls", "pcr", "ridge"}, Recipe or callable
        A recipe is that of a path (``path.recipe``). A callable takes arrays
        ``(X_train, y_train)``, and ``sample_weight=`` if weights are given, and returns a path or
        anything with ``parameters`` (K,), simplest model first, and ``predict(X_new)`` (K, n_new).
    cv, groups, repeats, rng
        See `make_folds`. A number of folds without ``rng`` puts row i into
        fold i mod cv; with it the folds are random; ``groups`` keeps rows together; "loo" is
        leave-one-out; scikit-learn splitters and lists of (train, test) are taken as they are.
    max_components : int, optional
        For "pls" and "pcr"; by default all that every fold supports.
    alphas : array of float, optional
        For "ridge", on the scale of `ridge_path` and the same in each fold; by default those of
        all rows.
    scale : bool
        Scale the columns to unit variance inside each fold; not for a callable.
    sample_weight : (n,) array, optional
        Used in the fits, in the errors and in the correlations.
    n_jobs : int, optional
        Number of processes (needs joblib) for folds that are fitted one by one; None or 1 for a
        plain loop.

    Returns
    -------
    CrossValidation
        Models that not all folds support are left out, and ``message`` says so.

    Notes
    -----
    Cost: one fit and O(K p t) for the predictions of t test rows, per fold. With "pls" all folds
    are fitted together, without a decomposition: O(F M n p) time for M components of F folds, or
    O(n p^2 + F M p^2) for tall data. Where that is not certain to 1e-9 of the spread of y, folds
    are fitted one by one.

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
    as_jobs(n_jobs)
    options = {"max_components": max_components, "alphas": alphas, "scale": scale}
    recipe: Recipe | Callable[..., Predictor]
    if (source := opened(X, y, sample_weight)) is not None:
        recipe, given = _read(source, path, options)
        y, weights = np.zeros(given.n_given), given.weights
        y[slice(None) if given.kept is None else given.kept] = given.y
        X = y
    else:
        X, y, sample_weight = opened_table(X, y, sample_weight)
        names = feature_names(X)
        X = as_matrix(X, min_rows=2)
        y = as_response(y, len(X))
        weights = as_weights(sample_weight, len(X))
        require_flag(scale)
        recipe = _as_recipe(path, options)
        if isinstance(recipe, Recipe):
            recipe = _same_penalties(recipe, X, y, weights)
        n = float(len(X)) if weights is None else float(weights.sum())
        given = Observations(X=X, y=y, weights=weights, n=n, names=names)
    folds = make_folds(X, y, cv, groups, repeats=repeats, rng=rng)
    if not given.in_memory:  # which is read in the order of its rows, and has those with a weight
        kept = np.ones(given.n_given, dtype=bool) if given.kept is None else given.kept
        folds = tuple(_fold_among(fold, kept) for fold in folds)
        groups, y = None if groups is None else np.asarray(groups)[kept], given.y
    # Residuals of responses with a large offset would lose digits; our methods do not see it.
    level = float(y[0]) if isinstance(recipe, Recipe) and given.in_memory else 0.0
    moved, fits = y - level, None
    if isinstance(recipe, Recipe):
        fits = _together(recipe, replace(given, y=moved), folds)
        if fits is not None and given.in_memory:
            warn_constant_columns(constant_columns(X), given.names)
        if fits is None and not given.in_memory:
            fits = _refitted(recipe, given, folds)
    if fits is None:
        with threads_for(X.shape):
            work = partial(_fit_fold, X=X, y=moved, weights=weights, path=recipe)
            fits = run_each(work, folds, n_jobs=n_jobs)
    found = collected(
        folds, fits, moved, weights=weights, groups=groups, max_components=max_components
    )
    return replace(found, y=read_only(y.copy()), predictions=read_only(found.predictions + level))


def _fold_among(fold: Fold, kept: npt.NDArray[np.bool_]) -> Fold:
    """Return a fold of some of the rows, its test rows in their order."""
    place = np.cumsum(kept) - 1
    train = fold.train_rows
    return replace(
        fold,
        test=place[np.sort(fold.test[kept[fold.test]])],
        n_rows=int(kept.sum()),
        train_rows=None if train is None else place[train[kept[train]]],
    )


def _read(source: Source, path: Any, options: dict[str, Any]) -> tuple[Recipe, Observations]:
    """Read rows that are not in memory, and return how their folds are fitted."""
    recipe = _as_recipe(path, options)
    if not isinstance(recipe, Recipe):
        raise InvalidInputError(
            "A callable path is fitted to arrays in memory, and X is sparse or read block by "
            'block; name a method, such as "pls", or pass np.asarray(X) if it fits.'
        )
    gram, given = source.read(bool(recipe.options["scale"]))
    if given is None:
        raise NotAvailableError(
            "Cross-validation needs the rows of the data, and moments or a Gram matrix do "
            "not have them."
        )
    return _same_penalties(recipe, gram, None, None), given


def collected(
    folds: Sequence[Fold],
    fits: Sequence[FoldFit],
    y: Array,
    *,
    weights: Array | None = None,
    groups: Any = None,
    max_components: int | None = None,
) -> CrossValidation:
    """Score what the fits of all folds predict for their test rows."""
    size = _common_size(fits)
    simplest = fits[0].simplest_first
    rows = np.concatenate([fold.test for fold in folds])
    sizes = np.array([len(fold.test) for fold in folds])
    predictions = np.concatenate([fit.predictions[:size] for fit in fits], axis=1)
    observed, shares = y[rows], None if weights is None else weights[rows]
    return CrossValidation(
        parameters=read_only(fits[0].parameters[:size]),
        parameter_name=fits[0].parameter_name,
        simplest_first=_frozen(simplest[simplest < size]),
        folds=tuple(folds),
        fold_errors=read_only(fold_errors(predictions - observed, shares, sizes)),
        fold_correlations=read_only(fold_correlations(predictions, observed, shares, sizes)),
        y=read_only(y.copy()),
        predictions=_by_row(folds, predictions, rows),
        sample_weight=None if weights is None else read_only(weights.copy()),
        groups=None if groups is None else _frozen(group_codes(groups, len(y))),
        message=_why_cut(fits, size, max_components) or fits[0].message,
    )


def _as_recipe(
    path: str | Recipe | Callable[..., Predictor], options: dict[str, Any]
) -> Recipe | Callable[..., Predictor]:
    """Return how every fold is fitted."""
    if callable(path):
        for name, value in options.items():
            if value is not None and value is not True:
                raise InvalidInputError(
                    f"{name} does not apply to a callable path; got {name}={value!r:.80}. Leave it "
                    "out, or give a callable path that sets its own options (functools.partial)."
                )
        return path
    if not isinstance(path, str) or path not in METHODS:
        words = ", ".join(map(repr, METHODS))
        raise InvalidInputError(
            f"path must be one of {words}, a recipe or a callable (X, y) -> path; got {path!r:.80}."
        )
    return METHODS[path].recipe(**options)


def _same_penalties(recipe: Recipe, X: Any, y: Any, weights: Array | None) -> Recipe:
    """Return a recipe with one list of penalties for all folds, that of all rows."""
    if recipe.method.size != "alphas" or recipe.options["alphas"] is not None:
        return recipe
    return recipe.but(alphas=recipe.fit(X, y, weights).parameters)


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
