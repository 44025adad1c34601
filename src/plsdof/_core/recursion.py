r"""Partial Least Squares on many training sets at once: one recursion, four operators.

F folds, each with training weights of its own (zero for the rows that it leaves out), advance
together; the fit to all rows is one more of them, the last. No decomposition, no loop over folds.

A score t of a fold is held by coordinates a and their dual a*, so that t_i't_k = a_i* a_k:

                 a                      dual a*            forward(r*)        held-out rows
    RowFolds     scores of all rows     w_f a              X D_f^-2 X'r*      entries of a
    GramFolds    scores of all rows     w_f a              K r*               entries of a
    FoldMoments  direction, t = X a     X'W_f X a          D_f^-2 r*          X a, at the end
    SingleRows   the same, for folds of one row: X'W_f X is never formed

X is centred by the means of the fold, D_f holds the scales of its columns. With the dual of the
residual, r* = W_f (y - ybar_f) or X'W_f (y - ybar_f), one step of every fold is

    a = forward(r*);   a -= sum_i (a_i* a) a_i  (twice);   a /= |a|;   q = r* a;   r* -= q a*

`RowFolds` needs products with X only and keeps all digits. The others square the condition number,
and are faster: `GramFolds` where there are many columns, the moments where there are many rows.
`run` estimates the error of its predictions; `plsdof._core.left_out` decides what to do about it.
"""

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from plsdof._core.inputs import Array, read_only
from plsdof._core.moments import Moments
from plsdof._core.standardize import SMALLEST_SPREAD, Columns, constant_between, tiles
from plsdof._core.threads import cached_property

Integers = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]
_EPS = float(np.finfo(np.float64).eps)
# Rounding may be this share of a new score; beyond, nothing but rounding is left of it.
_CERTAIN = 0.1
# Estimates add up the rounding of single steps to first order; this covers the rest.
_SAFETY = 20.0
# A sum of squares that centring makes smaller than this share of what it was has lost digits.
_CANCELLED = 1e-2
# Beyond this share of the mean squares of shifted columns, squared means lose digits of products.
_APART = 1e-2
# Rows whose squared distance from the mean is within so many times the average are like all others:
# `_SAFETY` covers them.
_LIKE_OTHERS = 2.0
# Cross-validation looks at this many components, if there are as many, before it may stop early: on
# some spectra errors rise from 3 to 10 components before they fall.
FIRST_COMPONENTS = 20


@dataclass(frozen=True, kw_only=True, eq=False)
class Split:
    """Which rows each fold leaves out, and which it fits.

    Attributes
    ----------
    rows, fold : (N,) arrays of int
        Rows that are left out and predicted, fold after fold, and the fold of each.
    count : int
        Number of folds.
    trains : sequence of (s,) arrays of int or None, optional
        Rows to fit on, where these are not all others.
    """

    rows: Integers
    fold: Integers
    count: int
    trains: Sequence[Integers | None] | None = None

    @classmethod
    def of(cls, fold: Integers) -> "Split":
        """Leave out every row once, with the rows of its fold (n,)."""
        rows = np.argsort(fold, kind="stable")
        return cls(rows=rows, fold=fold[rows], count=int(fold.max()) + 1)

    @classmethod
    def given(
        cls, tests: Sequence[Integers], trains: Sequence[Integers | None] | None = None
    ) -> "Split":
        """Leave out given rows, fold by fold; those fitted may be given, too."""
        if trains is not None and all(train is None for train in trains):
            trains = None
        rows = np.concatenate([np.zeros(0, dtype=np.intp), *tests])
        fold = np.repeat(np.arange(len(tests)), [len(test) for test in tests])
        return cls(rows=rows, fold=fold, count=len(tests), trains=trains)

    @cached_property
    def tests(self) -> list[Integers]:
        """The rows that each fold leaves out."""
        ends = np.searchsorted(self.fold, np.arange(1, self.count))
        return np.split(self.rows, ends) if self.count else []

    def fitted(self, fold: int, n: int) -> Integers:
        """Return the rows that a fold fits, of n rows."""
        given = None if self.trains is None else self.trains[fold]
        return np.setdiff1d(np.arange(n), self.tests[fold]) if given is None else given

    @cached_property
    def is_single(self) -> bool:
        """Whether each fold leaves out one row, and fits all others."""
        return self.trains is None and np.array_equal(self.fold, np.arange(self.count))

    def is_partition(self, n: int) -> bool:
        """Whether every one of n rows is left out once, and all others are fitted."""
        if self.trains is not None or len(self.rows) != n:
            return False
        return bool(np.all(np.bincount(self.rows, minlength=n) == 1))

    def training_weights(self, n: int, weights: Array | None) -> Array:
        """Return the weights of all rows in each fold and, last, in the fit to all. (F + 1, n)."""
        kept = np.ones((self.count + 1, n))
        kept.reshape(-1)[self.places(n)] = 0.0
        for row, train in zip(kept, self.trains or (), strict=False):
            if train is not None:
                row[:] = np.bincount(train, minlength=n)
        return kept if weights is None else kept * weights

    def places(self, n: int) -> Integers:
        """Where the held-out rows stand in an (F, n) array. Shape (N,)."""
        return self.fold * n + self.rows

    def part(self, first: int, last: int) -> "Split":
        """Return some of the folds."""
        here = (self.fold >= first) & (self.fold < last)
        trains = None if self.trains is None else self.trains[first:last]
        return Split(
            rows=self.rows[here],
            fold=self.fold[here] - first,
            count=min(last, self.count) - first,
            trains=trains,
        )


def evenly_spaced(rows: Integers) -> Any:
    """Return rows as a slice where they are evenly spaced: its rows need not be copied."""
    if len(rows) < 2:
        return rows
    step = int(rows[1] - rows[0])
    even = step > 0 and bool(np.all(np.diff(rows) == step))
    return slice(int(rows[0]), int(rows[-1]) + 1, step) if even else rows


@dataclass(frozen=True, kw_only=True, eq=False)
class Run:
    """What the recursion has found with k components.

    Attributes
    ----------
    residuals : (k + 1, N) array
        Responses of the held-out rows minus predictions with 0..k components, fold after fold. An
        exhausted fold repeats its last prediction.
    leverage : (k + 1, N) array
        h = 1/n_f + sum_j t_j^2 of the held-out rows, with the orthonormal scores t of their fold.
    error : (k + 1, N) array
        Estimated rounding errors of the predictions, in units of y.
    exhausted : (k + 1, F) array of bool
        Where a fold does not have the model, so that its predictions are those of a smaller one.
    rss, fit_error : (k + 1,) arrays
        (Weighted) residual sum of squares of the fit to all rows, and the estimated rounding error
        of its fitted values.
    loadings : (k, F + 1) array
        Coefficients of y on the scores.
    directions, triangle : (k, 1 or F + 1, d) and (k, 1 or F + 1, k) arrays
        Of the fit to all rows or, if they were kept, of all folds. Coefficients are the directions
        combined by the solution x of ``L'x = loadings``, with the lower triangle L of a fold.
    lift : callable or None
        From (d,) combined directions to coefficients of the columns of X.
    x_means, y_means : (1 or F + 1, p) and (1 or F + 1,) arrays
        Means of the training rows and of their responses, of the same folds.
    metric : (p,) array or float
        Weights of columns in the squared distance of a row from the mean of all rows, in units of
        all of these together.
    """

    residuals: Array
    leverage: Array
    error: Array
    exhausted: Mask
    rss: Array
    fit_error: Array
    directions: Array
    triangle: Array
    loadings: Array
    lift: Callable[[Array], Array] | None
    x_means: Array
    y_means: Array
    metric: Array | float

    @property
    def centre(self) -> tuple[Array, float]:
        """Means of all rows (p,) and of their responses."""
        return self.x_means[-1], float(self.y_means[-1])

    def coef(self, m: int, fold: int = -1) -> Array:
        """Return coefficients of the columns of X of m components; of all rows by default."""
        if not m:
            return np.zeros(self.x_means.shape[1])
        shares = np.linalg.solve(self.triangle[:m, fold, :m].T, self.loadings[:m, fold])
        combined = np.asarray(shares @ self.directions[:m, fold])
        return combined if self.lift is None else self.lift(combined)

    def coefs(self) -> Array:
        """Return coefficients of the columns of X of all models, fitted to all rows. (k + 1, p)."""
        k = len(self.loadings)
        shares = np.zeros((k + 1, k))
        for m in range(1, k + 1):
            shares[m, :m] = np.linalg.solve(self.triangle[:m, -1, :m].T, self.loadings[:m, -1])
        combined = shares @ self.directions[:, -1]
        return np.asarray(combined if self.lift is None else self.lift(combined))

    def rotations(self, m: int) -> Array:
        """Return R (m, p): scores of a row x are R (x - mean), orthonormal over all rows."""
        if not m:
            return np.zeros((0, self.x_means.shape[1]))
        solved = np.linalg.solve(self.triangle[:m, -1, :m], self.directions[:m, -1])
        combined = np.asarray(solved, dtype=np.float64)
        return combined if self.lift is None else self.lift(combined)

    def weights(self, m: int) -> Array:
        """Return weight vectors in standardised units, of length one. Shape (m, p)."""
        found = self.directions[:m, -1]
        if self.lift is not None:
            found = self.lift(found)
        if isinstance(self.metric, np.ndarray):
            root = np.sqrt(self.metric)  # zero where a column is constant
            found = np.divide(found, root, out=np.zeros_like(found), where=root > 0)
        return np.asarray(found / np.sqrt(np.vecdot(found, found))[:, None])

    def first(self, models: int) -> "Run":
        """Return what was found with fewer components."""
        k = models - 1
        if k == len(self.rss) - 1:
            return self
        return replace(
            self,
            **{name: getattr(self, name)[:models] for name in _OVER_MODELS},
            directions=self.directions[:k],
            triangle=self.triangle[:k, :, :k],
            loadings=self.loadings[:k],
        )


_OVER_MODELS = ("residuals", "leverage", "error", "exhausted", "rss", "fit_error")


@np.errstate(all="ignore")  # an exhausted fold divides by zero
def run(
    op: "Operator",
    n_components: int,
    *,
    enough: Callable[[Array], bool] | None = None,
    keep: bool = False,
) -> Run:
    """Run the recursion for up to ``n_components`` components.

    Parameters
    ----------
    op : Operator
    n_components : int
    enough : callable, optional
        Whether to stop early, given the residuals of the first 20 components.
    keep : bool
        Keep directions and triangles of all folds, not of the fit to all rows alone.

    Notes
    -----
    Cost: one product ``forward`` per component, and O(F N k^2) time and O(F N k) memory for
    coordinates of length N.
    """
    r = op.residual.copy()
    (F1, N), M = r.shape, n_components
    pairs, pair, part = np.empty((M, 2, F1, N)), np.empty((2, F1, N)), np.empty((F1, N))
    A, D, a, d = pairs[:, 0], pairs[:, 1], pair[0], pair[1]  # scores and duals; the next ones
    earlier, duals = A.transpose(1, 0, 2), D.transpose(1, 0, 2)
    Q, noise = np.empty((2, M, F1))
    ended = np.zeros((M, F1), dtype=bool)
    kept = slice(None) if keep else slice(-1, None)  # folds whose coefficients may be asked for
    triangle, directions = np.zeros((M, F1 if keep else 1, M)), np.empty((M, 1, 0))
    k, T = 0, None
    for j in range(M):
        if j == FIRST_COMPONENTS and enough is not None:
            T = op.scores(A[:j])
            if enough(_residuals(op, T, Q[:j])):
                break
        direction = op.forward(r, a)
        if not j:
            directions = np.empty((M, *direction[kept].shape))
        directions[j] = direction[kept]
        if not op.squares_condition:
            gradient = np.vecdot(r, a)  # |D^-1 X'W r|^2
        if j:
            # But for rounding a new score has a share of the last one only (Lanczos). What rounding
            # adds is small once that is off, so that the earlier ones need to come off but once.
            share = np.vecdot(D[j - 1], a)
            a -= np.multiply(share[:, None], A[j - 1], out=part)
            shares = np.matvec(duals[:, :j], a)
            a -= np.vecmat(shares, earlier[:, :j], out=part)
        op.dual(a, d)
        squares = np.vecdot(a, d)
        if j:
            # Beside rows that are very far away it is not small: then once more.
            if np.any(np.vecdot(shares, shares) > squares):
                again = np.matvec(duals[:, :j], a)
                a -= np.vecmat(again, earlier[:, :j], out=part)
                shares += again
                op.dual(a, d)
                squares = np.vecdot(a, d)
            shares[:, -1] += share
            triangle[j, :, :j] = shares[kept]
        # Rounding of new scores, relative to them: eps |X|^2 |y| / |t| for products that square
        # the condition number, eps |X| (1 / alpha + |y| / |X'r|) for the two products with X.
        if op.squares_condition:
            rounding = op.reach / squares
        else:
            rounding = op.unit * gradient / squares + op.reach / gradient
        np.sqrt(rounding, out=noise[j])
        length = np.sqrt(squares)
        inverse = 1.0 / length
        if not np.maximum.reduce(noise[j]) < _CERTAIN:  # or nan, where squares are negative
            if not noise[j, -1] < _CERTAIN:
                break  # the fit to all rows is complete
            over = ~(noise[j] < _CERTAIN)
            length[over], inverse[over], noise[j, over], ended[j, over] = 1.0, 0.0, 0.0, True
        triangle[j, :, j] = length[kept]
        np.multiply(pair, inverse[:, None], out=pairs[j])
        # What the component explains.
        q = np.vecdot(A[j], r, out=Q[j])
        r -= np.multiply(q[:, None], D[j], out=part)
        k = j + 1
    Q, A, noise, ended = Q[:k], A[:k], noise[:k], ended[:k]
    T, fold = op.scores(A) if T is None or len(T) < k else T, op.fold
    sums = np.zeros((2, k + 1, len(fold)))
    np.divide(1.0, op.n.take(fold), out=sums[0, 0])
    squared = np.square(T, out=sums[0, 1:])
    # Rounding of a score moves its loading, and with it the predictions by the size of the score;
    # and the direction of the score, by as much as the row is far away.
    lost, away = noise * np.abs(Q), sums[0, 0] + op.away.take(fold)
    np.multiply(lost.take(fold, axis=1), np.sqrt(squared + away), out=sums[1, 1:])
    fit_error = np.zeros(k + 1)
    np.add.accumulate(lost[:, -1] * (_SAFETY / math.sqrt(op.n[-1])), out=fit_error[1:])
    leverage, error = _running(sums)
    error *= _SAFETY
    if op.squares_condition and ended.any():
        # With more digits there might be further components, of all that is left of y.
        left = np.sqrt(op.remaining(r, Q) / op.n)
        error[1:] += (ended * left).take(fold, axis=1)
    exhausted = np.zeros((k + 1, F1 - 1), dtype=bool)
    np.logical_or.accumulate(ended[:, :-1], axis=0, out=exhausted[1:])
    return Run(
        residuals=_residuals(op, T, Q),
        leverage=leverage,
        error=error,
        exhausted=exhausted,
        rss=op.rss(Q[:, -1], A),
        fit_error=fit_error,
        directions=directions[:k],
        triangle=triangle[:k, :, :k],
        loadings=Q,
        lift=op.lift,
        x_means=op.means(kept),
        y_means=op.ybar[kept],
        metric=op.metric,
    )


def _residuals(op: "Operator", T: Array, Q: Array) -> Array:
    """Return responses of the held-out rows minus predictions with 0..k components. (k + 1, N)."""
    found = np.empty((len(Q) + 1, len(op.fold)))
    op.ybar.take(op.fold, out=found[0])
    np.multiply(T, Q.take(op.fold, axis=1), out=found[1:])
    return np.subtract(op.y, _running(found), out=found)


def _running(values: Array) -> Array:
    """Return sums of the first rows, as a product: np.cumsum along rows takes longer."""
    return np.asarray(_lower(values.shape[-2]) @ values)


@functools.cache
def _lower(size: int) -> Array:
    return read_only(np.tri(size))


# Operators in the space of the samples: products with X, or with a Gram matrix
# -----------------------------------------------------------------------------


class _Samples:
    """What `RowFolds` and `GramFolds` have in common: a score is one number per row."""

    squares_condition = True
    unit: Array
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
        left = _running(left)
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
        if scale:
            squares = gross - nf * self.mean**2
            low = squares <= np.maximum(_CANCELLED * gross, _smallest(nf, self.shift + self.mean))
            constant = None
            if low.any():
                take = X.columns if self._stored is not None else lambda k: X[:, k]
                constant = constant_columns(low, take, W.__getitem__, squares)
            self._inverse = _inverse(squares, constant, nf)
        else:
            self._inverse = np.full((1, X.shape[1]), _common_unit(gross[-1], self.n[-1]))
        extent = np.vecdot(gross, self._inverse)
        self.away = _away(np.vecdot(gross[-1], self._inverse), extent, self.n, weights)
        self.metric = self._inverse[-1] / (extent[-1] or 1.0)
        self.unit = 2.0 * _EPS**2 * extent
        self.reach = self.unit * self.total
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
        self.reach = np.square(_EPS * extent) * self.total

    def forward(self, r: Array, out: Array) -> Array:
        r = self._unit * r
        np.matmul(r, self.K, out=out)
        out -= (np.vecdot(out, self.weights) / self.n)[:, None]
        return r

    def means(self, folds: slice) -> Array:
        return np.asarray(self._mean + self.weights[folds] @ self._rows / self.n[folds, None])

    def _to_columns(self, combined: Array) -> Array:
        return np.asarray(combined @ self._rows)


# The operator in the space of the features: moments of the training rows
# -----------------------------------------------------------------------


class _Features:
    """What `FoldMoments` and `SingleRows` have in common: a score is a direction.

    ``n`` (F + 1,), ``mean`` (F + 1, p + 1), ``residual`` (F + 1, p), ``total`` (F + 1,) and
    ``squares`` (F + 1, p), the diagonal alone, are the moments of the training rows of every fold
    and, last, of all rows; ``whole`` are the latter.
    """

    squares_condition = True
    unit: Array
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
        look: Callable[[Mask], Mask],
        fold: Integers,
        y: Array,
        weights: Array | None,
    ) -> None:
        self.fold, self.y = fold, y
        self.n, self.residual, self.total = n, residual, np.maximum(total, 0.0)
        self.mean, self.ybar = mean[:, :-1], mean[:, -1]
        # Downdating loses digits relative to the moments of all rows.
        size = np.broadcast_to(whole.squares, squares.shape)
        low = squares <= np.maximum(_CANCELLED * size, _smallest(n[:, None], whole.mean[:-1]))
        constant = look(low) if low.any() else None
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
        self.away = _away(extent, np.vecdot(squares, self._inverse), n, weights)
        self.reach = np.square(_EPS * extent) * self.total

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
    scale : bool
    project : callable
        From directions (F, k, p) and centres (F, p), fold by fold, to the scores (k, N) of the
        held-out rows.
    look : callable
        Tells which columns (F + 1, p) that may be constant in the training rows are.
    fold, y, weights : (N,) arrays
        The fold of every held-out row, fold after fold, its response and its weight, if any.

    Notes
    -----
    Cost: O(F p^2) operations per component.
    """

    def __init__(
        self,
        whole: Moments,
        fitted: Sequence[Moments],
        *,
        scale: bool,
        project: Callable[[Array, Array], Array],
        look: Callable[[Mask], Mask],
        fold: Integers,
        y: Array,
        weights: Array | None,
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
            look,
            fold,
            y,
            weights,
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
    whole, scale, look
        As for `FoldMoments`.
    rows, y : (F, p) and (F,) arrays
        What the folds leave out.
    weights : (F,) array or None

    Notes
    -----
    Cost: 2 F p^2 operations per component.
    """

    def __init__(
        self,
        whole: Moments,
        rows: Array,
        y: Array,
        weights: Array | None,
        *,
        scale: bool,
        look: Callable[[Mask], Mask],
    ) -> None:
        self._S = whole.xx
        centred = np.column_stack([rows, y]) - whole.mean
        centred -= whole.rest
        w = np.ones(len(y)) if weights is None else weights
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
            look,
            np.arange(len(y)),
            y,
            weights,
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
