r"""The held-out matrix: residuals of rows by the fits without them, of all models.

E (K x n): row m, column i is y_i minus the prediction of row i by model m *without the fold of i*,
with means, scales and components of its own. Cross-validation, the choice of a model, averages,
noise levels and intervals read it, and none of them needs a decomposition.

`Path.left_out` makes it, through `hold_out`. For Partial Least Squares all folds advance in one
recursion (`plsdof._core.recursion`) with the operator that costs least; where its error estimate
is too large the next more accurate one takes over, and at last a fit of its own for each fold.
Methods without a recursion are fitted fold by fold.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from plsdof._core.display import as_html, data_frame, one_line, parameter_column
from plsdof._core.folds import Integers, Split, evenly_spaced, group_codes, make_folds
from plsdof._core.inputs import Array, as_level, read_only
from plsdof._core.moments import Moments, moments_of
from plsdof._core.operators import (
    FoldMoments,
    GramFolds,
    Mask,
    Operator,
    RowFolds,
    SingleRows,
)
from plsdof._core.recursion import FIRST_COMPONENTS, Run, run
from plsdof._core.rows import centred_times
from plsdof._core.spectrum import COUNTED
from plsdof._core.standardize import LARGE, Observations
from plsdof._core.threads import cached_property, threads_for_products
from plsdof.errors import InvalidInputError

if TYPE_CHECKING:
    from pandas import DataFrame

# Leave-one-out up to this many rows, beyond that ten folds of every tenth row: the model chosen
# predicts as well within a percent, at a fraction of the cost.
LEAVE_ONE_OUT_UP_TO = 30
USUAL_FOLDS = 10
# Stop after this many components without a smaller error, but not before the first 20
# (`recursion.FIRST_COMPONENTS`), and after at most 30 unless more are asked for.
PATIENCE = 7
MOST_COMPONENTS = 30
# Up to so many rows intervals have Student's t alone: coverage and Winkler scores of quantiles are
# the same from 30 to 80 rows, and coverage at 19 is 91 %.
_T_UP_TO = 60
# At least this many degrees of freedom: with one, the 97.5 % point of Student's t is 12.7.
_LEAST_DF = 2
# An average may include this many models beyond the best one.
MODELS_AHEAD = 2
# A model whose predictions may be off by this share of its cross-validated error has digits
# enough for a choice and for that error. Those behind the best one need fewer: that they are worse
# has to be certain (estimates are upper bounds, on tall spectra 10^4 times what is lost).
_TOLERANCE = 1e-6
_ROUGH = 1e-4
# Cross-validated errors that are smaller than this share of the spread of y are rounding.
_NOTHING = 1e-3
# The median of the absolute value of a normal variable.
_MEDIAN = 0.6745
# Coefficients from the recursion are kept if the fit is off by at most this share of that spread,
# and the closed form makes them otherwise.
_ALL_DIGITS = 1e-10
# Partial Least Squares reacts to y up to twice along its scores, d yhat / d y = f + 2TT'(1 - f), so
# that the variance of a prediction grows by 2^2 times the leverage of its row.
REACTION = 4.0
# Numbers that the recursion may hold at once (256 MB): more folds are worked on in parts.
_AT_ONCE = 2**25


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class LeftOut:
    """Cross-validated residuals, of every model; made by `Path.left_out`.

    Attributes
    ----------
    parameters : (K,) array
        Numbers of components, or alphas.
    parameter_name : str
        "n_components" or "alpha".
    order : (K,) array of int
        Rows from the simplest model to the richest.
    residuals : (K, n) array
        Response minus prediction by the fit without the fold of the row.
    rss : (K,) array
        (Weighted) residual sums of squares of the fits to all rows.
    fold : (n,) array of int
        Which fold leaves a row out.
    y : (n,) array
        The response.
    sample_weight : (n,) array or None
    groups : int or None
        Number of groups, where rows that belong together were held out together.
    repeats : int
        How often the rows were split into folds.
    leverage : (K, n) array
        h = 1/n_f + sum_j t_j^2, with the orthonormal scores t of the fit without the fold.
    exhausted : (K, F) array of bool
        Where a fold does not have the model, so that residuals are those of a smaller one.
    rounding : (K,) array
        Estimated rounding error of the residuals.
    joint : LeftOut or None
        Of one of several responses that are fitted together: all of them, which choose together.

    Examples
    --------
    >>> from plsdof import pls_path
    >>> from plsdof.datasets import load_ozone
    >>> left = pls_path(*load_ozone(return_X_y=True), 4).left_out()
    >>> left.rmse.round(2), left.q2.round(2)
    (array([8.19, 4.84, 4.62, 4.62, 4.57]), array([-0.  ,  0.65,  0.68,  0.68,  0.69]))
    """

    parameters: Array
    parameter_name: str
    order: Integers
    residuals: Array
    rss: Array
    fold: Integers
    y: Array
    sample_weight: Array | None = None
    groups: int | None = None
    repeats: int = 1
    leverage: Array
    exhausted: Mask
    rounding: Array
    joint: "LeftOut | None" = None

    @property
    def error(self) -> Array:
        """Estimated error of the residuals; infinite where a fold does not have the model. (K,)."""
        return np.asarray(np.where(self.exhausted.any(axis=1), np.inf, self.rounding))

    @cached_property
    def weights(self) -> Array:
        """Weights of the rows; ones where none were given. Shape (n,)."""
        return np.ones(len(self.y)) if self.sample_weight is None else self.sample_weight

    @cached_property
    def n(self) -> float:
        """Number of rows, or the sum of their weights."""
        return float(self.weights.sum())

    @cached_property
    def fitted_share(self) -> float:
        """Share of the rows that the fits without a fold have, the smallest of them."""
        largest = np.bincount(self.fold, self.weights).max()
        return float(1.0 - largest / self.n)

    def root_mean_square(self, residuals: Array) -> float:
        """Return the root of the (weighted) mean of squared residuals (n,)."""
        return float(np.sqrt(np.square(residuals) @ self.weights / self.n))

    @cached_property
    def press(self) -> Array:
        """(Weighted) sums of squared residuals. Shape (K,)."""
        if self.sample_weight is None:
            return read_only(np.vecdot(self.residuals, self.residuals))
        return read_only(np.square(self.residuals) @ self.sample_weight)

    @property
    def best(self) -> int:
        """Row of the model with the smallest error."""
        return int(np.argmin(self.press))

    @property
    def mean_error(self) -> Array:
        """(Weighted) mean squared residual, PRESS / n. Shape (K,).

        Folds count by their rows, as in R's pls: the mean of `fold_errors` if all folds have the
        same size.
        """
        return np.asarray(self.press / self.n)

    @property
    def fold_errors(self) -> Array:
        """(Weighted) mean squared residuals of each fold; nan where no row counts. Shape (F, K)."""
        size = self.fold_sums(np.ones((1, len(self.y))))
        return read_only((self.fold_sums(self.residuals**2) / np.where(size > 0, size, np.nan)).T)

    @property
    def std_error(self) -> Array:
        """Standard error of `mean_error` over folds. Shape (K,).

            sqrt( sum_f s_f (e_f - mean)^2 / (F - 1) ),     s_f the share of the rows in fold f,

        which is the standard deviation of the fold errors e_f over sqrt(F) if all folds have the
        same size (Breiman et al. 1984). With repeats, F - 1 is that of one repeat: repeats split
        the same rows again and so do not make the data larger. nan for a single fold.
        """
        share = self.fold_sums(np.ones((1, len(self.y))))[0] / self.n
        used = share > 0
        squares = share[used] @ np.square(self.fold_errors[used] - self.mean_error)
        spare = np.count_nonzero(used) - 1
        return np.asarray(np.sqrt(squares * self.repeats / (spare if spare > 0 else np.nan)))

    @property
    def rmse(self) -> Array:
        """RMSECV, the root of `mean_error`, over the residuals of all rows. Shape (K,)."""
        return np.asarray(np.sqrt(self.mean_error))

    @property
    def rmse_std_error(self) -> Array:
        """Standard error of `rmse`, `std_error` / (2 RMSE) by the delta method. Shape (K,)."""
        rmse = self.rmse
        return np.divide(self.std_error, 2.0 * rmse, out=np.zeros_like(rmse), where=rmse > 0)

    @property
    def q2(self) -> Array:
        """Q^2 = 1 - PRESS / TSS, the predicted share of the variance of y. Shape (K,).

            PRESS = sum w_i (y_i - yhat_i)^2,      TSS = sum w_i (y_i - ybar)^2

        over the held-out rows, with yhat_i predicted without the fold of row i. That of the empty
        model is slightly negative, as folds do not know ybar. nan if y is constant.
        """
        w = self.weights
        total = float(w @ (self.y - w @ self.y / w.sum()) ** 2)
        return np.asarray(1.0 - self.press / (total if total > 0 else np.nan))

    @cached_property
    def dof(self) -> Array:
        """Cross-validated Degrees of Freedom, n (1 - sqrt(RSS / PRESS)), in [0, n]. Shape (K,).

        0 where both vanish.
        """
        return np.asarray(self.n * (1.0 - _root_ratio(self.rss, self.press)))

    @property
    def noise_variance(self) -> Array:
        """Noise variance (PRESS / n) / (2 - sqrt(RSS / PRESS)). Shape (K,).

        It is PRESS / (n + `dof`), and always between the mean squares of fitted and cross-validated
        residuals.
        """
        return noise_from_left_out(self.rss, self.press, self.n)

    def considered(self) -> "LeftOut":
        """Return the models that a choice considers by default: 20, then more while errors fall.

        It stops after `PATIENCE` models without a smaller error.
        """
        if self.parameter_name != "n_components":
            return self
        size = _looked_at(self.press, PATIENCE)
        names = ("parameters", "order", "residuals", "rss", "leverage", "exhausted", "rounding")
        return replace(self, **{name: getattr(self, name)[:size] for name in names})

    def to_frame(self) -> "DataFrame":
        """Return a pandas data frame with one row per model."""
        return data_frame(self._columns("press", "mean_error", "std_error", "rmse", "q2"))

    def _columns(self, *names: str) -> dict[str, Any]:
        parameters = parameter_column(self.parameters, self.parameter_name)
        return {self.parameter_name: parameters} | {name: getattr(self, name) for name in names}

    def _repr_html_(self) -> str:
        columns = self._columns("rmse", "rmse_std_error", "q2")
        error = np.where(np.isnan(self.press), np.inf, self.press)[self.order]
        ordered = {name: values[self.order] for name, values in columns.items()}
        return as_html(repr(self), ordered, chosen=int(np.argmin(error)))

    def __repr__(self) -> str:
        folds = f"{int(self.fold.max()) + 1} folds"
        return one_line(self, f"{len(self.parameters)} models", f"{len(self.y)} rows", folds)

    @property
    def independent(self) -> int:
        """How many rows, or groups of them, are independent."""
        return len(self.y) if self.groups is None else self.groups

    def spent(self, weights: Array, units: float, *, chosen: bool) -> float:
        """Return the degrees of freedom that a model has spent, of so many rows or groups.

        The (weighted mean of) cross-validated Degrees of Freedom, as a share of the units, plus the
        cumulative sums of the weights but the last, which are what weights cost, plus one for a
        choice.
        """
        d = np.maximum(self.dof / self.n * units, 1.0)
        kept = np.flatnonzero(weights[: len(d)])
        w = weights[kept]
        return float(w @ d[kept] + np.cumsum(w)[:-1].sum() + chosen)

    def fold_sums(self, values: Array) -> Array:
        """Add up (weighted) values (K, n) over the rows of each fold. Shape (K, F)."""
        weighted, folds = values * self.weights, self.exhausted.shape[1]
        return np.array([np.bincount(self.fold, row, folds) for row in weighted])


def noise_from_left_out(rss: Array, press: Array, n: float) -> Array:
    """Return (P / n) / (2 - sqrt(RSS / P)): a noise variance from cross-validation.

    Examples
    --------
    >>> noise_from_left_out(np.array([64.0]), np.array([100.0]), 50)
    array([1.66666667])
    """
    return np.asarray(press / n / (2.0 - _root_ratio(rss, press)))


def _root_ratio(rss: Array, press: Array) -> Array:
    """Return sqrt(RSS / PRESS), at most one; one where both vanish."""
    ratio = np.divide(rss, press, out=np.ones_like(press), where=press > 0)
    return np.asarray(np.sqrt(np.clip(ratio, 0.0, 1.0)))


# Which rows are held out together by default
# -------------------------------------------


def usual_folds(n: int, codes: Integers | None = None) -> Integers:
    """Return the fold of every row: single rows up to 30 of them, else every tenth row together.

    ``codes`` number groups, which are then dealt out as rows are.

    Examples
    --------
    >>> usual_folds(4), usual_folds(31)[:12]
    (array([0, 1, 2, 3]), array([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1]))
    """
    units = n if codes is None else int(codes.max()) + 1
    number = units if units <= LEAVE_ONE_OUT_UP_TO else USUAL_FOLDS
    dealt = np.arange(units) % number
    return dealt if codes is None else dealt[codes]


def folds_of(given: Observations, cv: Any, groups: Any) -> tuple[Integers, int | None]:
    """Return the fold of every row, and the number of groups; see `Path.left_out`."""
    n, kept = given.n_given, slice(None) if given.kept is None else given.kept
    codes = None if groups is None else group_codes(groups, n)
    if cv is None:
        codes = None if codes is None else np.unique(codes[kept], return_inverse=True)[1]
        fold = usual_folds(len(given.y), codes)
    elif type(cv) is int and 2 <= cv <= n and codes is None and given.kept is None:
        fold = np.arange(n) % cv
    else:
        y = np.zeros(n)
        y[kept] = given.y
        folds = make_folds(np.zeros((n, 1)), y, cv, codes)
        fold, times = np.zeros(n, dtype=np.intp), np.zeros(n, dtype=np.intp)
        for number, one in enumerate(folds):
            fold[one.test], times[one.test] = number, times[one.test] + 1
        if len(folds) < 2 or np.any(times != 1):
            raise InvalidInputError(
                "Folds must leave every row out exactly once, in at least 2 folds; got "
                f"{len(folds)} fold(s) for {n} rows."
            )
        if given.kept is not None:  # rows without weight leave nothing out
            fold = np.unique(fold[kept], return_inverse=True)[1]
    if fold.max() == 0:
        raise InvalidInputError("Held-out rows need at least two folds, or groups; got one.")
    return fold, None if groups is None else len(np.unique(np.asarray(groups)[kept]))


@dataclass(frozen=True, kw_only=True, eq=False)
class Leverage:
    """How far new rows are from the training rows: h(x) = 1/n + sum_j c_j (r_j'(x - mean))^2.

    Attributes
    ----------
    rotations : (k, p) array
        r_j turn rows into orthonormal scores.
    shares : (k,) or (K, k) array
        c_j, the weights of the models that have the score: ones for a single model; of K models a
        row each.
    mean : (p,) array
        Of the training rows.
    n : float
        Number of training rows, or the sum of their weights.

    Examples
    --------
    >>> one = Leverage(
    ...     rotations=np.array([[0.5]]), shares=np.ones(1), mean=np.array([2.0]), n=4.0
    ... )
    >>> one.at(np.array([[4.0]]))
    array([1.25])
    """

    rotations: Array
    shares: Array
    mean: Array
    n: float

    @np.errstate(over="ignore")  # a row beyond all measure has an infinite leverage
    def at(self, rows: Any) -> Array:
        """Return the leverages of new rows, dense or sparse. Shape (n_new,), or (n_new, K)."""
        scores = centred_times(rows, self.mean, self.rotations.T)
        return np.asarray(1.0 / self.n + np.square(scores) @ self.shares.T)


def unit_scores(residuals: Array, leverage: Array, disagreement: Array | float = 0.0) -> Array:
    """Return |e| / sqrt(1 + 4 h + 4 v): cross-validated errors, comparable whatever their distance.

    v is how far the models of an average disagree about the row: the variance of their predictions
    over the mean squared error.
    """
    spread = 1.0 + REACTION * (leverage + disagreement)
    return np.asarray(np.abs(residuals) / np.sqrt(spread))


def conformal_quantile(
    values: Array, level: float, weights: Array | None = None, units: int | None = None
) -> float | None:
    """Return what a new value stays below with probability ``level``; None if too few.

    The level (n + 1)-th smallest of n values, between two of them the line through both (split
    conformal: no distribution is assumed). Intervals and limits of T^2 and Q have it in common.

    Parameters
    ----------
    values : (n,) array
    level : float
    weights : (n,) array, optional
        Of the values.
    units : int, optional
        How many of them are independent; all unless they come in groups.

    Examples
    --------
    >>> conformal_quantile(np.arange(1.0, 40.0), 0.95)
    38.0
    >>> conformal_quantile(np.arange(1.0, 11.0), 0.95) is None
    True
    """
    order, units = np.argsort(values, kind="stable"), len(values) if units is None else units
    place = round(level * (units + 1), 9)  # rounding must not push it up
    if place > units:
        return None
    # A value that weighs as much as three stands in three places.
    share = np.ones(len(order)) if weights is None else weights[order]
    share = share * (units / share.sum())
    last = np.cumsum(share)
    places = np.column_stack([last - np.maximum(share - 1.0, 0.0), last])
    return float(np.interp(place, places.ravel(), np.repeat(values[order], 2)))


def half_width(
    scores: Array,
    level: float,
    *,
    weights: Array | None = None,
    groups: int | None = None,
    spent: float = 1.0,
) -> float:
    """Return half the width of an interval for a new observation from cross-validated errors.

        t^a q^(1 - a),      a = min(1, 60 / u),     u rows, or groups of them,

    t the root mean square of the scores times Student's t with u - ``spent`` degrees of freedom, q
    the level (u + 1)-th smallest score (`conformal_quantile`). A quantile of few scores is that of
    one or two of them; that of many takes no distribution for granted.

    Parameters
    ----------
    scores : (n,) array
        Cross-validated errors, see `unit_scores`.
    level : float
    weights : (n,) array, optional
    groups : int, optional
        Number of groups that were held out together.
    spent : float
        See `LeftOut.spent`.

    Examples
    --------
    >>> round(half_width(np.full(20, 3.0), 0.95), 2)
    6.28
    >>> round(half_width(np.arange(1.0, 240.0), 0.95), 1)
    238.5
    """
    from scipy.special import stdtrit

    units, level = len(scores) if groups is None else groups, as_level(level)
    df = max(units - spent, _LEAST_DF)
    size = np.sqrt(np.average(scores**2, weights=weights))
    half, share = float(stdtrit(df, (1.0 + level) / 2.0) * size), min(1.0, _T_UP_TO / units)
    within = conformal_quantile(scores, level, weights, units) if share < 1.0 else None
    return half if within is None else half**share * within ** (1.0 - share)


# From data and a split to cross-validated predictions
# ---------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Way:
    """How to make the operator of a split, and whether it works in the space of the features."""

    make: Callable[[Split], Operator]
    features: bool = False

    def __call__(self, split: Split) -> Operator:
        return self.make(split)


@dataclass(frozen=True, kw_only=True, eq=False)
class Problem:
    """Partial Least Squares as the recursion needs it.

    Attributes
    ----------
    given : Observations
        Rows with positive weight.
    scale : bool
        Scale the columns of every fold.
    kernel : (n, n) array or None
        Kernel matrix to use instead of the rows; then nothing is scaled.
    size : float
        Of the kernel matrix before it was centred, which its rounding is relative to.
    inverse_metric, scales : callable or None
        Of penalised PLS, and of columns with weights that every fold learns: see `RowFolds`.
    """

    given: Observations
    scale: bool
    kernel: Array | None = None
    size: float = 0.0
    inverse_metric: Callable[[Array], Array] | None = None
    scales: Callable[[Array], Array] | None = None

    def operators(self, split: Split, n_components: int) -> list["Way"]:
        """Return ways to make the products of a split, the fastest one first, then safer ones."""
        X, y, weights = self.given.X, self.given.y, self.given.weights
        if self.kernel is not None:
            return [Way(partial(GramFolds, self.kernel, y, weights=weights, size=self.size))]
        columns = self.given.columns if self.given.in_memory else None
        by_rows = partial(RowFolds, X, y, columns=columns, weights=weights, scale=self.scale)
        safe = Way(partial(by_rows, inverse_metric=self.inverse_metric, scales=self.scales))
        if not self.given.in_memory:
            return [*X.faster_ways(self.given, split, n_components, self.scale), safe]
        if self.inverse_metric is not None or self.scales is not None:
            return [safe]
        fast = _cheapest(X.shape, split, n_components, self.scale)
        if fast == "moments":
            return [Way(partial(_moments, self.given, self.scale), features=True), safe]
        if fast == "gram":
            return [Way(partial(_gram_of_rows, self.given)), safe]
        return [safe]


def _cheapest(shape: tuple[int, ...], split: Split, n_components: int, scale: bool) -> str:
    """Return the cheapest operator, by times in ns that were measured on one machine."""
    n, p = shape
    folds, m = split.count, min(n_components, FIRST_COMPONENTS)
    # A product with X is bound by memory for few folds, and more so once X leaves the cache.
    per_entry = 0.048 * folds + 0.25 + (0.35 if n * p > 2e6 else 0.0)
    per_fold = 0.048 * m * p**2 if split.is_single else 5e4 + p**2 * (2.5 + 0.45 * m)
    costs = {
        "rows": 2 * m * n * p * per_entry + 4 * n * p,
        "moments": 0.022 * n * p**2 + folds * per_fold + 2 * n * p,
    }
    if not scale:
        costs["gram"] = 0.022 * n**2 * p + 2 * m * n**2 * (0.048 * folds + 0.25)
    return min(costs, key=lambda name: costs[name])


def _gram_of_rows(given: Observations, split: Split) -> Operator:
    columns = given.columns
    rows = given.X - columns.centre
    rows[:, columns.constant] = 0.0
    # Products of rows about their centre would be large where that is not the mean.
    return GramFolds(rows @ rows.T, given.y, split, given.weights, rows=rows, x_mean=columns.centre)


def _moments(given: Observations, scale: bool, split: Split) -> Operator:
    X, y, weights, centre = given.X, given.y, given.weights, given.columns.centre
    n = len(X)

    def of(rows: Any) -> Moments:
        return moments_of(X[rows], y[rows], None if weights is None else weights[rows], centre)

    def fitted(rows: Integers | None, left: Moments) -> Moments:
        if rows is None:
            return whole.without(left)
        times = np.bincount(rows, minlength=n)
        kept = times > 0
        repeated = times[kept] if weights is None else times[kept] * weights[kept]
        return moments_of(X[kept], y[kept], repeated.astype(np.float64), centre)

    if split.is_single:
        return SingleRows(of(slice(None)), split, given, scale=scale)
    tests = [evenly_spaced(test) for test in split.tests]
    left = [of(rows) for rows in tests]
    whole = reduce(Moments.merge, left) if split.is_partition(n) else of(slice(None))
    trains = split.trains or [None] * split.count
    fits = [fitted(rows, one) for rows, one in zip(trains, left, strict=True)]

    def project(A: Array, mean: Array) -> Array:
        made = [a @ (X[rows] - m).T for a, m, rows in zip(A, mean, tests, strict=True)]
        return np.concatenate(made, axis=1) if made else np.empty((A.shape[1], 0))

    return FoldMoments(
        whole,
        fits,
        split,
        given,
        scale=scale,
        project=project,
        take=lambda columns: X[:, columns],
    )


def hold_out(
    problem: Problem,
    split: Split,
    n_components: int,
    *,
    patience: int | None = None,
    keep: bool = False,
) -> Run | None:
    """Leave out all folds of a split in one recursion, with the fastest operator that is certain.

    None if no operator has digits enough.

    Parameters
    ----------
    problem : Problem
    split : Split
    n_components : int
    patience : int, optional
        Stop after ``patience`` components without a smaller cross-validated error, but not before
        the first 20.
    keep : bool
        As for `run`.

    Notes
    -----
    Cost: O(F n p k) time for k components of F folds, or O(n p^2 + F p^2 k) for tall data; memory
    bounded.
    """
    given, (n, p) = problem.given, problem.given.X.shape
    width = p if problem.kernel is None else n
    n_components = min(n_components, n - 1, width)
    if np.abs(given.y).max() > LARGE:  # y is constant, or it would have been refused
        return None
    # A large offset of y would cost digits in every sum.
    level = float(given.y[0])
    problem = replace(problem, given=given.less(level))
    weights = None if given.weights is None else given.weights[split.rows]

    def rmse(residuals: Array) -> Array:
        if weights is None:
            squares = np.vecdot(residuals, residuals) / max(len(split.rows), 1)
        else:
            squares = np.square(residuals) @ weights / max(weights.sum(), 1e-300)
        return np.asarray(np.sqrt(squares))

    def enough(residuals: Array) -> bool:
        return int(np.argmin(rmse(residuals))) + (patience or 0) < len(residuals)

    watch = None if patience is None else enough
    with threads_for_products(split.count + 1, (n, width)):
        for make in problem.operators(split, n_components):
            # A look at the first errors would be one more pass over rows that are not in memory.
            look = None if make.features and not given.in_memory else watch
            found = _attempt((n, p), make, split, n_components, look, keep)
            errors = rmse(found.residuals)
            if patience is not None:
                errors = errors[: _looked_at(errors, patience)]
            if _is_usable(found, errors, given):
                return replace(found.first(len(errors)), y_means=found.y_means + level)
    return None


def _looked_at(errors: Array, patience: int) -> int:
    """Return how many models to look at: until ``patience`` of them are without a smaller error."""
    k = min(FIRST_COMPONENTS, len(errors) - 1)
    while k < len(errors) - 1 and k - int(np.argmin(errors[: k + 1])) < patience:
        k += 1
    return k + 1


def is_countable(given: Observations) -> bool:
    """Whether there is a closed form: a Gram matrix that is not too large to decompose."""
    return bool((min(given.X.shape) if given.in_memory else given.X.order) <= COUNTED)


def fit_tolerance(given: Observations) -> float:
    """Return by how much a fit by the recursion may be off if its coefficients are to be kept.

    Where there is no closed form to fall back on, digits that are enough for a choice are enough.
    """
    return (_ALL_DIGITS if is_countable(given) else _TOLERANCE) * given.spread


def _is_usable(found: Run, rmse: Array, given: Observations) -> bool:
    """Whether the models have digits enough; those behind the best one need fewer.

    Errors are compared with the residual of the row, or with those of most rows: one row far away
    may be all that there is of an RMSE.
    """
    spread = given.spread
    if not found.exhausted.shape[1]:  # nothing but the fit to all rows
        return bool(found.fit_error.max() <= fit_tolerance(given))
    if np.max(found.error[: len(rmse)]) <= _TOLERANCE * _NOTHING * spread:
        return True  # less than is allowed for any residual
    tolerance = np.full(len(rmse), _TOLERANCE)
    tolerance[int(np.argmin(rmse)) + 1 :] = _ROUGH
    sizes = np.abs(found.residuals[: len(rmse)])
    middle = sizes.shape[1] // 2
    usual = np.partition(sizes, middle, axis=1)[:, middle] / _MEDIAN
    least = np.maximum(np.minimum(usual, rmse), _NOTHING * spread)
    allowed = tolerance[:, None] * np.maximum(sizes, least[:, None])
    return bool(np.all(found.error[: len(rmse)] <= allowed))


def _attempt(
    shape: tuple[int, int],
    make: Way,
    split: Split,
    n_components: int,
    enough: Callable[[Array], bool] | None,
    keep: bool,
) -> Run:
    """Run the recursion on all folds, in parts if memory asks for it."""
    # Moments of every fold, or scores and their duals.
    n, p = shape
    by_matrix = make.features and not split.is_single
    each = p * p if by_matrix else 2 * (p if make.features else n) * n_components
    size = max(1, _AT_ONCE // max(each, 1) - 1)
    if split.count <= size:
        return run(make(split), n_components, enough=enough, keep=keep)
    # No part knows the errors of all folds, so all go to the same limit before anybody looks.
    parts = [split.part(start, start + size) for start in range(0, split.count, size)]
    first = n_components if enough is None else min(FIRST_COMPONENTS, n_components)
    for limit in dict.fromkeys((first, n_components)):
        found = _joined([run(make(part), limit, keep=keep) for part in parts], keep)
        if enough is None or len(found.rss) <= limit or enough(found.residuals):
            break
    return found


def _joined(runs: Sequence[Run], keep: bool) -> Run:
    """Join what parts hold for each of their folds; the fit to all rows, last in each, once."""
    k = min(len(one.rss) for one in runs)
    runs = [one.first(k) for one in runs]

    def joined(name: str, axis: int = 1, *, every: bool = True) -> Array:
        parts = [getattr(one, name) for one in runs]
        own = [np.delete(one, -1, axis=axis) for one in parts[:-1]] if every else []
        return np.concatenate([*own, parts[-1]], axis=axis)

    of_folds = ("residuals", "leverage", "error", "exhausted")
    whole: dict[str, Any] = {
        name: np.concatenate([getattr(one, name) for one in runs], axis=1) for name in of_folds
    }
    return replace(
        runs[-1],
        **whole,
        directions=joined("directions", every=keep),
        triangle=joined("triangle", every=keep),
        loadings=joined("loadings"),
        x_means=joined("x_means", 0, every=keep),
        y_means=joined("y_means", 0, every=keep),
    )
