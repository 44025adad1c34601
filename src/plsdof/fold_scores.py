"""Errors and correlations of predictions, fold by fold and for all models at once.

Test rows lie one fold after the other, so that sums over folds are sums over stretches of one
array: (K, N) predictions for K models, with ``sizes`` (F,) rows per fold.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from plsdof._validation import Array
from plsdof.folds import Integers
from plsdof.standardize import CONSTANT_ULPS


@dataclass(frozen=True, kw_only=True)
class FoldScores:
    """How well K models predict the test rows of F folds, (F, K) each."""

    errors: Array
    correlations: Array
    rank_correlations: Array


def score_folds(
    predictions: Array, observed: Array, weights: Array | None, sizes: Integers
) -> FoldScores:
    """Return mean squared errors and correlations of every fold and model.

    Cost: O(K N log N) time, for the ranks.

    Examples
    --------
    >>> yhat = np.array([[1.0, 2.0, 4.0, 0.0, 1.0]])
    >>> score_folds(yhat, np.arange(5.0), None, np.array([3, 2])).errors
    array([[2.],
           [9.]])
    """
    return FoldScores(
        errors=_mean_squares(predictions - observed, weights, sizes),
        correlations=fold_correlations(predictions, observed, weights, sizes),
        rank_correlations=fold_correlations(predictions, observed, weights, sizes, ranks=True),
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
    sizes = np.array([len(observed)])
    return np.asarray(fold_correlations(predictions, observed, weights, sizes, ranks=ranks)[0])


def fold_correlations(
    predictions: Array,
    observed: Array,
    weights: Array | None,
    sizes: Integers,
    *,
    ranks: bool = False,
) -> Array:
    """Return `correlations` within each of the folds. Shape (F, K)."""
    values = np.full((len(sizes), len(predictions)), np.nan)
    if weights is not None:
        counts = weights > 0
        sizes = _sums(counts.astype(np.intp), sizes)
        predictions, observed, weights = predictions[:, counts], observed[counts], weights[counts]
    enough = sizes > 1
    if not enough.all():
        kept = np.repeat(enough, sizes)
        predictions, observed, sizes = predictions[:, kept], observed[kept], sizes[enough]
        weights = None if weights is None else weights[kept]
    if len(sizes):
        values[enough] = _correlations(predictions, observed, weights, sizes, ranks)
    return values


def _correlations(
    predictions: Array, observed: Array, weights: Array | None, sizes: Integers, ranks: bool
) -> Array:
    defined = (_vary(predictions, sizes) & _vary(observed, sizes)).T
    if ranks:
        predictions, weights = _ranks(predictions, sizes), None
        observed = _ranks(observed[None], sizes)[0]
    share = np.ones(len(observed)) if weights is None else weights
    share = share / np.repeat(_sums(share, sizes), sizes)
    centred = predictions - np.repeat(_sums(predictions * share, sizes), sizes, axis=1)
    target = observed - np.repeat(_sums(observed * share, sizes), sizes)
    with np.errstate(invalid="ignore", divide="ignore"):
        # Two roots: the product of the sums may leave the range of floats.
        size = np.sqrt(_sums(centred**2 * share, sizes))
        values = _sums(centred / size.repeat(sizes, axis=-1) * (target * share), sizes)
        values /= np.sqrt(_sums(target**2 * share, sizes))
    return np.where(defined, np.clip(values, -1.0, 1.0).T, np.nan)


def _mean_squares(residuals: Array, weights: Array | None, sizes: Integers) -> Array:
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


def _ranks(values: Array, sizes: Integers) -> Array:
    """Rank (K, N) values within each fold, from zero; equal ones get the mean of their ranks."""
    ranks = np.empty_like(values)
    starts = _starts(sizes)
    for size in np.unique(sizes):  # folds of the same size are sorted together
        columns = starts[sizes == size, None] + np.arange(size)
        ranks[:, columns] = _mean_ranks(values[:, columns])
    return ranks


def _mean_ranks(values: Array) -> Array:
    """Rank along the last axis."""
    order = np.argsort(values, axis=-1)
    ordered = np.take_along_axis(values, order, axis=-1)
    position = np.broadcast_to(np.arange(values.shape[-1], dtype=np.float64), values.shape)
    begins = np.ones(values.shape, dtype=bool)
    begins[..., 1:] = ordered[..., 1:] != ordered[..., :-1]
    if not begins.all():
        ends = np.roll(begins, -1, axis=-1)
        first = np.maximum.accumulate(np.where(begins, position, 0.0), axis=-1)
        last = np.where(ends, position, np.inf)[..., ::-1]
        position = (first + np.minimum.accumulate(last, axis=-1)[..., ::-1]) / 2
    ranks = np.empty_like(values)
    np.put_along_axis(ranks, order, position, axis=-1)
    return ranks
