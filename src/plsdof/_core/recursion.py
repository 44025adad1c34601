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

The operators are in `plsdof._core.operators`. `run` estimates the error of its predictions;
`plsdof._core.left_out` decides what to do about it.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from plsdof._core.inputs import Array
from plsdof._core.operators import Operator, running

Mask = npt.NDArray[np.bool_]
_EPS = float(np.finfo(np.float64).eps)
# Rounding may be this share of a new score; beyond, nothing but rounding is left of it.
_CERTAIN = 0.1
# Estimates add up the rounding of single steps to first order; this covers the rest.
_SAFETY = 20.0
# Cross-validation looks at this many components, if there are as many, before it may stop early: on
# some spectra errors rise from 3 to 10 components before they fall.
FIRST_COMPONENTS = 20


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

    def rotations(self, m: int, fold: int = -1) -> Array:
        """Return R (m, p): scores R (x - mean) of rows x are orthonormal over those of a fit."""
        if not m:
            return np.zeros((0, self.x_means.shape[1]))
        solved = np.linalg.solve(self.triangle[:m, fold, :m], self.directions[:m, fold])
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
    op: Operator,
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
    Q, noise = np.empty((2, M, F1))  # loadings; squared rounding of scores, relative to them
    ended = np.zeros((M, F1), dtype=bool)
    kept = slice(None) if keep else slice(-1, None)  # folds whose coefficients may be asked for
    triangle, directions = np.zeros((M, F1 if keep else 1, M)), np.empty((M, 1, 0))
    missing = op.total  # squares of y, and of X, that are not explained yet
    rest = missing if op.squares_condition else op.trace
    squared = np.square(_EPS * op.extent) * op.total
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
                missing = np.maximum(missing - np.square(Q[j - 1]), _EPS * op.total)
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
            if (np.vecdot(shares, shares) > squares).any():
                again = np.matvec(duals[:, :j], a)
                a -= np.vecmat(again, earlier[:, :j], out=part)
                shares += again
                op.dual(a, d)
                squares = np.vecdot(a, d)
            shares[:, -1] += share
            triangle[j, :, :j] = shares[kept]
        # Rounding of new scores, relative to them: eps |X|^2 |y| / |t| for products that square
        # the condition number. Of two products with X, the first is off by eps |X| |r|, and r by
        # eps |y|; the second takes this to the scores by what is left of X, and adds eps |X| |X'r|.
        if op.squares_condition:
            np.divide(squared, squares, out=noise[j])
        else:
            first = (op.extent * missing + rest * op.total) * rest
            noise[j] = 2.0 * _EPS**2 * (first + op.extent * gradient) / squares
            taken = squares + np.vecdot(shares, shares) if j else squares
            rest = np.maximum(rest - taken / gradient, _EPS * op.extent)
        length = np.sqrt(squares)
        np.divide(pair, length[:, None], out=pairs[j])
        if not np.maximum.reduce(noise[j]) < _CERTAIN**2:  # or nan, where squares are negative
            if not noise[j, -1] < _CERTAIN**2:
                break  # the fit to all rows is complete
            over = ~(noise[j] < _CERTAIN**2)
            length[over], pairs[j, :, over], noise[j, over], ended[j, over] = 1.0, 0.0, 0.0, True
        triangle[j, :, j] = length[kept]
        # What the component explains.
        q = np.vecdot(A[j], r, out=Q[j])
        r -= np.multiply(q[:, None], D[j], out=part)
        k = j + 1
    Q, A, noise, ended = Q[:k], A[:k], np.sqrt(noise[:k]), ended[:k]
    T, fold = op.scores(A) if T is None or len(T) < k else T, op.fold
    sums = np.zeros((2, k + 1, len(fold)))
    np.divide(1.0, op.n.take(fold), out=sums[0, 0])
    squared = np.square(T, out=sums[0, 1:])
    # Rounding of a score moves its loading, and with it the predictions by the size of the score;
    # and the direction of the score, by as much as the row is far away.
    lost, away = noise * np.abs(Q), sums[0, 0] + op.away.take(fold)
    moved = np.add(squared, away, out=sums[1, 1:])
    np.sqrt(moved, out=moved)
    moved *= lost.take(fold, axis=1)
    fit_error = np.zeros(k + 1)
    np.add.accumulate(lost[:, -1] * (_SAFETY / math.sqrt(op.n[-1])), out=fit_error[1:])
    leverage, error = running(sums)
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


def _residuals(op: Operator, T: Array, Q: Array) -> Array:
    """Return responses of the held-out rows minus predictions with 0..k components. (k + 1, N)."""
    found = np.empty((len(Q) + 1, len(op.fold)))
    op.ybar.take(op.fold, out=found[0])
    np.multiply(Q.take(op.fold, axis=1, out=found[1:], mode="clip"), T, out=found[1:])
    return np.subtract(op.y, running(found), out=found)
