r"""What the recursion of many training sets needs of the data: four operators, one interface.

`RowFolds` needs products with X only and keeps all digits. The others square the condition number,
and are faster: `GramFolds` where there are many columns, the moments where there are many rows. See
the table in `plsdof._core.recursion`. X is centred by the means of every fold.
"""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from plsdof._core.folds import Integers, Split
from plsdof._core.inputs import Array, read_only
from plsdof._core.moments import Moments
from plsdof._core.standardize import (
    SMALLEST_SPREAD,
    Columns,
    Observations,
    constant_between,
    tiles,
)

Mask = npt.NDArray[np.bool_]
_EPS = float(np.finfo(np.float64).eps)
# A sum of squares that centring makes smaller than this share of what it was has lost digits.
_CANCELLED = 1e-2
# Beyond this share of the mean squares of shifted columns, squared means lose digits of products.
_APART = 1e-2
# Rows whose squared distance from the mean is within so many times the average are like all others:
# `_SAFETY` covers them.
_LIKE_OTHERS = 2.0
# Running sums of longer rows are made in place: memory counts, and calls do not.
_LONG_ROWS = 10_000


# In the space of the samples: products with X, or with a Gram matrix
# -------------------------------------------------------------------


class _Samples:
    """What `RowFolds` and `GramFolds` have in common: a score is one number per row."""

    squares_condition = True
    extent: Array
    trace: Array
    away: Array
    metric: Array | float
    lift: Callable[[Array], Array] | None = None

    def __init__(self, y: Array, split: Split, weights: Array | None) -> None:
        n = len(y)
        self.weights = W = split.training_weights(n, weights)
        self.n = np.add.reduce(W, axis=1)
        self.ybar = (W @ y) / self.n
        centred = y - self.ybar[:, None]
        self.residual = W * centred
        self.total = np.vecdot(self.residual, centred)
        self._places, self.fold, self.y = split.places(n), split.fold, y[split.rows]
        self._fits = centred[-1], weights

    def dual(self, a: Array, out: Array) -> None:
        np.multiply(a, self.weights, out=out)

    def remaining(self, r: Array, Q: Array) -> Array:  # noqa: ARG002
        left = np.divide(r, self.weights, out=np.zeros_like(r), where=self.weights > 0)
        return np.asarray(np.vecdot(r, left))

    def rss(self, q: Array, A: Array) -> Array:
        centred, weights = self._fits
        left = np.empty((len(q) + 1, len(centred)))
        left[0] = centred
        np.multiply(-q[:, None], A[:, -1], out=left[1:])
        left = running(left)
        return np.asarray(np.vecdot(left, left if weights is None else left * weights))

    def scores(self, A: Array) -> Array:
        return np.asarray(A.reshape(len(A), self.weights.size).take(self._places, axis=1))


class RowFolds(_Samples):
    """Products with X: means and scales are those of the training rows, all digits are kept.

    Parameters
    ----------
    X : (n, p) array or Stored
    y : (n,) array
    split : Split
    columns : Columns or None
        Of an array.
    weights : (n,) array or None
        All positive.
    scale : bool
        Scale the columns of every fold to unit variance.
    inverse_metric : callable, optional
        A symmetric positive definite (p, p) matrix between X and X', as a function of rows (F, p).
    scales : callable, optional
        What the columns of every fold are divided by, (F, p), of its training weights (F, n).

    Notes
    -----
    Cost: 4 F n p operations per component.
    """

    squares_condition = False

    def __init__(
        self,
        X: Any,
        y: Array,
        split: Split,
        columns: Columns | None,
        weights: Array | None = None,
        *,
        scale: bool = True,
        inverse_metric: Callable[[Array], Array] | None = None,
        scales: Callable[[Array], Array] | None = None,
    ) -> None:
        super().__init__(y, split, weights)
        W, nf = self.weights, self.n[:, None]
        self._stored = X if columns is None else None
        if columns is not None:
            self.shift = columns.centre
            first, gross = self._prepare(X, columns)
        else:
            self.shift = X.shift
            first, gross = X.sums(W)
        self.mean = first / nf
        # The sum of a residual is rounding, which a shift that is not the mean would make larger.
        self._is_apart = bool(np.any(nf * self.mean**2 > _APART * gross))
        self._inverse_metric = inverse_metric
        squares = gross - nf * self.mean**2
        low = squares <= np.maximum(_CANCELLED * gross, _smallest(nf, self.shift + self.mean))
        take = X.columns if self._stored is not None else lambda k: X[:, k]
        if scale:
            constant = constant_columns(low, take, W.__getitem__, squares) if low.any() else None
            self._inverse = _inverse(squares, constant, nf)
        elif scales is not None:
            self._inverse = scales(W) ** -2.0
        else:
            self._inverse = np.full((1, X.shape[1]), _common_unit(gross[-1], self.n[-1]))
            if self._stored is not None:  # in memory they are zero already
                self._inverse[constant_columns(low[-1:], take, lambda _: W[-1])] = 0.0
        self.extent = extent = np.vecdot(gross, self._inverse)
        self.trace = np.maximum(np.vecdot(squares, self._inverse), _EPS * extent)
        self.away = _away(np.vecdot(gross[-1], self._inverse), extent, self.n, weights)
        self.metric = self._inverse[-1] / (extent[-1] or 1.0)
        self._C = np.empty((len(W) if self._stored is None else 0, X.shape[1]))

    def _prepare(self, X: Array, columns: Columns) -> tuple[Array, Array]:
        """Centre rows in memory; return sums of training rows and of their squares."""
        W, (first, gross) = self.weights, np.zeros((2, len(self.weights), X.shape[1]))
        self.X, any_constant = np.empty(X.shape), columns.constant.any()
        for rows, here in tiles(X):
            part = np.subtract(X[rows, here], self.shift[here], out=self.X[rows, here])
            if any_constant:
                part[:, columns.constant[here]] = 0.0
            first[:, here] += W[:, rows] @ part
            gross[:, here] += W[:, rows] @ np.square(part)
        return first, gross

    def forward(self, r: Array, out: Array) -> Array:
        if self._is_apart:
            r = r - (np.add.reduce(r, axis=1) / self.n)[:, None] * self.weights
        if self._stored is not None:
            C = self._stored.left(r) * self._inverse
            out[...] = self._stored.right(C)
        else:
            C = np.matmul(r, self.X, out=self._C)
            if self._inverse_metric is not None:
                root = np.sqrt(self._inverse)
                C = self._inverse_metric(C * root) * root
            else:
                C *= self._inverse
            np.matmul(C, self.X.T, out=out)
        out -= np.vecdot(C, self.mean)[:, None]
        return np.asarray(C)

    def means(self, folds: slice) -> Array:
        return np.asarray(self.shift + self.mean[folds])


class GramFolds(_Samples):
    """Products with one (n, n) matrix K = XX' of rows that are not scaled, or of a kernel.

    Its digits are half those of X. ``size`` is that of K before it was centred, if larger; ``rows``
    (n, p) are X less ``x_mean`` (p,), if there are columns. Cost: 2 F n^2 operations per component.
    """

    def __init__(
        self,
        K: Array,
        y: Array,
        split: Split,
        weights: Array | None = None,
        *,
        rows: Array | None = None,
        x_mean: Array | None = None,
        size: float = 0.0,
    ) -> None:
        super().__init__(y, split, weights)
        self.K, self._rows = K, np.zeros((len(y), 0)) if rows is None else rows
        self.lift = None if rows is None else self._to_columns
        self._mean = np.zeros(0) if x_mean is None else x_mean
        gross = self.weights @ np.diagonal(K)
        self._unit = _common_unit(gross[-1:], self.n[-1])
        extent = self._unit * np.maximum(gross, size)
        self.metric = 1.0 / (gross[-1] or 1.0)
        self.away = _away(self._unit * gross[-1], self._unit * gross, self.n, weights)
        self.extent = extent

    def forward(self, r: Array, out: Array) -> Array:
        r = self._unit * r
        np.matmul(r, self.K, out=out)
        out -= (np.vecdot(out, self.weights) / self.n)[:, None]
        return r

    def means(self, folds: slice) -> Array:
        return np.asarray(self._mean + self.weights[folds] @ self._rows / self.n[folds, None])

    def _to_columns(self, combined: Array) -> Array:
        return np.asarray(combined @ self._rows)


# In the space of the features: moments of the training rows
# ----------------------------------------------------------


class _Features:
    """What `FoldMoments` and `SingleRows` have in common: a score is a direction.

    ``n`` (F + 1,), ``mean`` (F + 1, p + 1), ``residual`` (F + 1, p), ``total`` (F + 1,) and
    ``squares`` (F + 1, p), the diagonal alone, are the moments of the training rows of every fold
    and, last, of all rows; ``whole`` are the latter.
    """

    squares_condition = True
    extent: Array
    trace: Array
    away: Array
    metric: Array | float
    lift: Callable[[Array], Array] | None = None

    def __init__(
        self,
        whole: Moments,
        n: Array,
        mean: Array,
        residual: Array,
        total: Array,
        squares: Array,
        scale: bool,
        split: Split,
        given: Observations,
        take: Callable[[Integers], Array],
    ) -> None:
        held, weights = split.rows, given.weights
        self.fold, self.y = split.fold, given.y[held]
        self.n, self.residual, self.total = n, residual, np.maximum(total, 0.0)
        self.mean, self.ybar = mean[:, :-1], mean[:, -1]
        # Downdating loses digits relative to the moments of all rows.
        size = np.broadcast_to(whole.squares, squares.shape)
        low = squares <= np.maximum(_CANCELLED * size, _smallest(n[:, None], whole.mean[:-1]))
        constant = None
        if low.any():
            trained = split.training_weights(len(given.y), weights)
            constant = constant_columns(low, take, trained.__getitem__)
        # Nothing is known of the scale of a column that varies in the held-out rows only, almost.
        squares = np.maximum(squares, _EPS * size)
        if scale:
            self._inverse = _inverse(squares, constant, n[:, None])
        else:
            self._inverse = np.full(squares.shape, _common_unit(whole.squares, whole.n))
            if constant is not None:
                self._inverse[constant] = 0.0
        extent = np.vecdot(size, self._inverse)
        self.metric = self._inverse[-1] / (extent[-1] or 1.0)
        own = None if weights is None else weights[held]
        self.away = _away(extent, np.vecdot(squares, self._inverse), n, own)
        self.extent = extent

    def forward(self, r: Array, out: Array) -> Array:
        return np.multiply(r, self._inverse, out=out)

    def means(self, folds: slice) -> Array:
        return np.asarray(self.mean[folds])

    def remaining(self, r: Array, Q: Array) -> Array:  # noqa: ARG002
        return np.asarray(np.maximum(self.total - np.square(Q).sum(axis=0), 0.0))

    def rss(self, q: Array, A: Array) -> Array:  # noqa: ARG002
        taken = np.zeros(len(q) + 1)
        np.cumsum(np.square(q), out=taken[1:])
        return np.asarray(np.maximum(self.total[-1] - taken, 0.0))


class FoldMoments(_Features):
    """Moments of the training rows of every fold: those of all rows without the held-out rows.

    For tall data. Its digits are half those of X.

    Parameters
    ----------
    whole : Moments
        Of all rows.
    fitted : sequence of Moments
        Of the rows that each fold fits.
    split : Split
    given : Observations
        Responses and weights.
    scale : bool
    project : callable
        From directions (F, k, p) and centres (F, p), fold by fold, to the scores (k, N) of the
        held-out rows.
    take : callable
        From numbers of columns to these columns (n, k) of all rows.

    Notes
    -----
    Cost: O(F p^2) operations per component.
    """

    def __init__(
        self,
        whole: Moments,
        fitted: Sequence[Moments],
        split: Split,
        given: Observations,
        *,
        scale: bool,
        project: Callable[[Array, Array], Array],
        take: Callable[[Integers], Array],
    ) -> None:
        fitted = [*fitted, whole]
        self._project = project
        self._S = [one.xx for one in fitted]  # not stacked: new memory costs more than a loop
        super().__init__(
            whole,
            np.array([one.n for one in fitted]),
            np.array([one.mean for one in fitted]),
            np.array([one.xy for one in fitted]),
            np.array([one.yy for one in fitted]),
            np.array([one.squares for one in fitted]),
            scale,
            split,
            given,
            take,
        )

    def dual(self, a: Array, out: Array) -> None:
        for S, one, to in zip(self._S, a, out, strict=True):
            np.dot(S, one, out=to)

    def scores(self, A: Array) -> Array:
        return self._project(A[:, :-1].transpose(1, 0, 2), self.mean[:-1])


class SingleRows(_Features):
    """The same where every fold leaves out one row: its moments are never formed.

    Parameters
    ----------
    whole, split, given, scale
        As for `FoldMoments`, of rows in memory.

    Notes
    -----
    Cost: 2 F p^2 operations per component.
    """

    def __init__(
        self,
        whole: Moments,
        split: Split,
        given: Observations,
        *,
        scale: bool,
    ) -> None:
        self._S, X, held = whole.xx, given.X, split.rows
        centred = np.column_stack([X[held], given.y[held]]) - whole.mean
        centred -= whole.rest
        w = np.ones(len(held)) if given.weights is None else given.weights[held]
        n = whole.n - w
        # A row comes off by S - (n w / (n - w)) d d', with d the row less the means of all.
        self._rows, e = centred[:, :-1], centred[:, -1]
        self._along = (whole.n * w / n)[:, None] * self._rows
        mean = whole.mean - centred * (w / n)[:, None]
        super().__init__(
            whole,
            np.append(n, whole.n),
            np.vstack([mean, whole.mean]),
            np.vstack([whole.xy - self._along * e[:, None], whole.xy]),
            np.append(whole.yy - whole.n * w / n * e**2, whole.yy),
            np.vstack([whole.squares - self._along * self._rows, whole.squares]),
            scale,
            split,
            given,
            lambda columns: X[:, columns],
        )
        # The row less the means of the others.
        self._apart = centred * (whole.n / n)[:, None]

    def dual(self, a: Array, out: Array) -> None:
        np.matmul(a, self._S, out=out)
        out[:-1] -= np.vecdot(self._rows, a[:-1])[:, None] * self._along

    def scores(self, A: Array) -> Array:
        return np.asarray(np.vecdot(A[:, :-1], self._apart[:, :-1]))


Operator = RowFolds | GramFolds | FoldMoments | SingleRows


def constant_columns(
    low: Mask,
    take: Callable[[Integers], Array],
    weights: Callable[[int], Array],
    squares: Array | None = None,
) -> Mask:
    """Return which columns are constant in the training rows of which fold. Shape (F, p).

    Where centring has made a sum of squares much smaller, the rows themselves tell. With
    ``squares`` (F, p) the sums of the others are made again, in place.

    Parameters
    ----------
    low : (F, p) array of bool
        Where to look.
    take : callable
        From numbers of columns to these columns (n, k).
    weights : callable
        From a fold to training weights (n,), those of other rows zero.
    """
    constant = np.zeros(low.shape, dtype=bool)
    for f in np.flatnonzero(low.any(axis=1)):
        columns, w = np.flatnonzero(low[f]), weights(int(f))
        part, w = take(columns)[w > 0], w[w > 0]
        constant[f, columns] = constant_between(part.min(axis=0), part.max(axis=0))
        if squares is not None:
            part -= w @ part / w.sum()
            squares[f, columns] = w @ part**2
    return constant


def _inverse(squares: Array, constant: Mask | None, n: Array) -> Array:
    """Return inverse variances; zero takes a constant column out."""
    if constant is not None:
        squares = np.where(constant, np.inf, squares)
    # Without these rows a column may leave the range of floats.
    found = np.full(squares.shape, np.inf)
    return np.asarray(np.divide(n - 1.0, squares, out=found, where=squares > 0))


def _smallest(n: Any, mean: Array) -> Array:
    """Return the sum of squares below which a column may not vary; see `constant_between`."""
    return np.asarray(n * np.square(SMALLEST_SPREAD * mean))


def _common_unit(squares: Array, n: float) -> float:
    """Return the inverse of the mean size of rows that are not scaled, as a power of two.

    Powers of scores stay in range, and no digit changes.
    """
    size = float(squares.sum() / n)
    return math.ldexp(1.0, -math.frexp(size)[1]) if size > 0 else 1.0


def _away(whole: Array, fitted: Array, n: Array, weights: Array | None) -> Array:
    """Return squared distances of rows that are left out, in units of all that a fold fits. (F,).

    Beyond those of usual rows, and at most. ``whole`` and ``fitted`` (F + 1,) are the squares of
    all rows and of those that are fitted, in units of the fold, and ``n`` (F + 1,) their numbers.
    """
    out = np.maximum(whole - fitted - _LIKE_OTHERS * (n[-1] - n) / n * fitted, 0.0)[:-1]
    least = 1.0 if weights is None else min(float(weights.min(initial=1.0)), 1.0)
    fitted = least * fitted[:-1]
    return np.asarray(np.divide(out, fitted, out=np.zeros_like(out), where=fitted > 0))


def running(values: Array) -> Array:
    """Return sums of the first rows: in place if they are long, else as a product.

    np.cumsum along rows takes longer.
    """
    if values.shape[-1] > _LONG_ROWS:
        for i in range(1, values.shape[-2]):
            values[..., i, :] += values[..., i - 1, :]
        return values
    return np.asarray(_lower(values.shape[-2]) @ values)


@functools.cache
def _lower(size: int) -> Array:
    return read_only(np.tri(size))
