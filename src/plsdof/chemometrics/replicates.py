"""Replicates: repeated measurements of a sample, their means, and how far they may differ."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from plsdof._core.folds import group_codes
from plsdof._core.inputs import Array, as_float, as_response, read_only


@dataclass(frozen=True, kw_only=True, eq=False)
class Repeatability:
    """How far predictions of replicates are apart.

    Attributes
    ----------
    std : float
        Standard deviation within samples, pooled: the root of
        sum_g sum_i (yhat_gi - mean_g)^2 / sum_g (n_g - 1). nan if no sample has two.
    dof : int
        sum_g (n_g - 1).
    spread : (G,) array
        Standard deviation of the replicates of every sample; nan for single ones.
    counts : (G,) array of int
        n_g.

    References
    ----------
    ISO 5725-2:2019, Accuracy of measurement methods and results, part 2.
    """

    std: float
    dof: int
    spread: Array
    counts: Array


def averaged(values: Any, samples: Any, *, known: bool = False) -> Array:
    """Return means over the rows of each sample, in the order in which samples appear.

    With ``known`` missing values do not count; without, they make the mean missing.

    Examples
    --------
    >>> averaged([[1.0], [2.0], [4.0]], ["a", "b", "b"])
    array([[1.],
           [3.]])
    """
    rows = as_float(values, "values")
    codes = group_codes(samples, len(rows))
    there = ~np.isnan(rows) if known else np.ones(rows.shape, dtype=bool)
    sums, counts = np.zeros((2, codes.max() + 1, *rows.shape[1:]))
    np.add.at(sums, codes, np.where(there, rows, 0.0))
    np.add.at(counts, codes, there)
    with np.errstate(invalid="ignore"):
        return np.asarray(sums / counts)


def repeatability(predictions: Any, samples: Any) -> Repeatability:
    """Compare predictions of the replicates of each sample.

    Examples
    --------
    >>> found = repeatability([1.0, 3.0, 5.0, 5.0, 7.0], ["a", "a", "b", "b", "c"])
    >>> found.std, found.dof, found.spread.round(3)
    (1.0, 2, array([1.414, 0.   ,   nan]))
    """
    values = as_response(predictions, len(predictions))
    codes = group_codes(samples, len(values))
    counts = np.bincount(codes)
    squares = np.bincount(codes, (values - averaged(values, codes)[codes]) ** 2)
    dof = int((counts - 1).sum())
    with np.errstate(invalid="ignore"):
        spread = np.sqrt(squares / np.where(counts > 1, counts - 1, np.nan))
    std = float(np.sqrt(squares.sum() / dof)) if dof else float("nan")
    return Repeatability(std=std, dof=dof, spread=read_only(spread), counts=read_only(counts))


def spread_limit(std: float, dof: int, counts: Any, level: float = 0.95) -> Array:
    """Return what the standard deviation of n replicates exceeds with probability 1 - level.

    std sqrt(F(level; n - 1, dof)), as both are variances of the same noise; nan for n = 1.

    Examples
    --------
    >>> spread_limit(1.0, 30, [1, 2, 5]).round(3)
    array([  nan, 2.042, 1.64 ])
    """
    from scipy.stats import f

    n = np.asarray(counts, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        return np.asarray(std * np.sqrt(f.ppf(level, np.where(n > 1, n - 1, np.nan), dof)))
