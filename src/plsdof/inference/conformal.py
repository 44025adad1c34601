"""Prediction intervals from left-out residuals, without a distribution of the noise.

*Conformal*: leave-one-out residuals, each divided by the root of 1 + |row i of J|^2, the spread of
a prediction there over that of one observation. Their quantile times the same root at a new row is
half an interval; the model size is held fixed. The residuals are e_i / (1 - J_ii), no refits. This
first-order expansion fails where a leverage J_ii comes near one; from 0.7 on they are those of the
fits without each row.

*Jackknife+* (Barber, Candes, Ramdas & Tibshirani 2021, Annals of Statistics 49, 486-507): with
predictions mu_(i)(x) and residuals R_i of the fits without row i, the interval reaches from a
quantile of mu_(i)(x) - R_i to one of mu_(i)(x) + R_i. The choice of the model is made again in
every fit.
"""

import math

import numpy as np

from plsdof._core.inputs import Array, as_fraction, read_only
from plsdof._core.path import Path, PathLike, as_model
from plsdof.errors import NotAvailableError
from plsdof.inference._covariance import MOST_LEVERAGE as MOST_LEVERAGE
from plsdof.inference._covariance import deleted_residuals, prediction_share
from plsdof.inference.resampling import LeftOut, leave_out

# Numbers held at once by predictions of all fits: 32 MB.
_AT_ONCE = 4_000_000
# With more rows, residuals stay in closed form.
_MOST_ROWS = 1000


def conformal_scores(path: PathLike, m: int | None = None) -> Array:
    """Return the studentised leave-one-out residuals of the training rows, sorted. (n_rows,).

        |e_i| / (1 - J_ii) / sqrt(1 + |row i of J|^2)

    Where a leverage J_ii exceeds 0.7, the numerators are the residuals of the fits without each
    row (`leave_out`) of up to 1000 rows; of more, leverages above 0.7 count as 0.7. With weights w
    the scores are those of a row of weight one: the noise variance of row i is taken as
    sigma^2 / w_i. Cost: O(n r m) time, O(n r) memory, and that of `leave_out`.

    Examples
    --------
    >>> from plsdof import pls_path
    >>> from plsdof.datasets import load_ozone
    >>> scores = conformal_scores(pls_path(*load_ozone(return_X_y=True)), 2)
    >>> scores[[0, 100, -1]].round(2)
    array([ 0.04,  3.13, 14.27])
    """
    model = as_model(path, m)
    path, m = model.path, model.index
    weight = 1.0 if path.units.row_scale is None else path.units.row_scale**2
    # An observation of row i has the variance sigma^2 / w_i, the prediction there sigma^2 share.
    spread = np.sqrt(1.0 / weight + prediction_share(path, m))
    few = path.units.n_rows <= _MOST_ROWS and path.fit_again is not None
    if few and high_leverages(path, m):
        residuals = leave_out(path, m).residuals
    else:
        residuals = deleted_residuals(path, m)
    return read_only(np.sort(np.abs(residuals) / spread))


def high_leverages(path: Path, m: int) -> int:
    """Return the number of rows where the expansion behind the closed form is in doubt."""
    return int(np.count_nonzero(path.leverage(m) > MOST_LEVERAGE))


def conformal_critical(scores: Array, level: float) -> float:
    """Return the ceil(level (n + 1))-th smallest of n sorted scores."""
    return float(scores[_rank(len(scores), level) - 1])


def jackknife_plus(left_out: LeftOut, X_new: Array, level: float) -> Array:
    """Return the limits of jackknife+ (CV+ if folds were left out) at dense new rows. (n_new, 2).

    Cost: O(n_new n (p + log n)) time, in blocks of bounded memory.
    """
    size, folds = np.abs(left_out.residuals), left_out.fold_of
    n = len(size)
    rank = _rank(n, level)
    limits = np.empty((len(X_new), 2))
    block = max(1, _AT_ONCE // n)
    for start in range(0, len(X_new), block):
        rows = slice(start, start + block)
        predicted = left_out.predict(X_new[rows])[folds]
        low, high = predicted - size[:, None], predicted + size[:, None]
        limits[rows, 0] = np.partition(low, n - rank, axis=0)[n - rank]
        limits[rows, 1] = np.partition(high, rank - 1, axis=0)[rank - 1]
    return limits


def _rank(n: int, level: float) -> int:
    # Rounding must not push a whole number up to the next one.
    rank = math.ceil(round(as_fraction(level, "level") * (n + 1), 9))
    if rank > n:
        needed = math.ceil(round(level / (1.0 - level), 9))
        raise NotAvailableError(
            f"Intervals from left-out residuals at level {level:g} need at least {needed} rows; "
            f"there are {n}. Use a lower level, or the intervals 'normal'."
        )
    return rank
