"""PLS on many folds of tall data, from moments that leave out the test rows.

The moments of the training rows are those of all rows minus those of the test rows, so all folds
together cost little more than one product X'X. The recursion then runs on vectors over the
columns, with inner products taken in the scatter matrix.

Rows are extended to (x, y, 1), about a common shift. The q = p + 2 sums of squares and products of
extended rows hold every moment, and a vector (d, 0, -mean'd) multiplies *centred* rows by d.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from plsdof._core.inputs import Array
from plsdof._core.work import Outcome
from plsdof.selection._fold_fits import (
    EPS,
    FoldProblem,
    Recursion,
    Scaling,
    TrainingMoments,
    guarded_fits,
    random_signs,
    scale_columns,
)
from plsdof.selection.folds import Fold, FoldFit, Integers

# Moments held in memory at once: 64 MB, or as much as the data.
_AT_ONCE = 8_000_000


def fits_from_moments(problem: FoldProblem, folds: Sequence[Fold]) -> list[Outcome[FoldFit] | None]:
    """Fit PLS to every fold from its moments; None where the result is not certain.

    Rounding errors of X'X count for more the smaller the directions that a component needs, so
    that not all that is certain from products with X is certain here. Folds with training rows of
    their own, rather than all but the test rows, are not fitted.

    Cost: O(n p^2) time for the moments and O(F M p^2) for M components of F folds; memory for a
    limited number of p x p matrices.

    Examples
    --------
    >>> from plsdof.selection.folds import make_folds
    >>> X, y = np.eye(6)[:, :2] + 1.0, np.arange(6.0)
    >>> problem = FoldProblem(X=X, y=y, weights=None, max_components=1, scale=False)
    >>> fit, warned = fits_from_moments(problem, make_folds(X, y, 2))[0]
    >>> fit.predictions.round(6)
    array([[3., 3., 3.],
           [4., 4., 4.]])
    """
    possible = [i for i, fold in enumerate(folds) if fold.train_rows is None]
    results: list[Outcome[FoldFit] | None] = [None] * len(folds)
    with np.errstate(all="ignore"):  # what is not finite is not certain
        fits = _in_batches(problem, [folds[i] for i in possible])
    for i, fit in zip(possible, fits, strict=True):
        results[i] = fit
    return results


def _in_batches(problem: FoldProblem, folds: Sequence[Fold]) -> list[Outcome[FoldFit] | None]:
    n, p = problem.X.shape
    size = max(1, max(_AT_ONCE, n * p) // (p + 2) ** 2)
    results: list[Outcome[FoldFit] | None] = []
    whole: Array | None = None
    # Moments of the test rows of each fold; those of the training rows are all minus these.
    for start in range(0, len(folds), size):
        batch = folds[start : start + size]
        parts = np.empty((len(batch), p + 2, p + 2))
        for part, fold in zip(parts, batch, strict=True):
            _moments(problem, fold.test, out=part)
        if whole is None:
            whole = _whole(problem, batch, parts)
        scatter = np.subtract(whole, parts, out=parts)
        results += _fit_batch(problem, batch, whole, scatter)
    return results


def _extended_rows(problem: FoldProblem, rows: Integers) -> Array:
    """Return rows (x, y, 1) about the shift. Shape (t, p + 2)."""
    p = problem.X.shape[1]
    block = np.empty((len(rows), p + 2))
    np.subtract(problem.X[rows], problem.shift, out=block[:, :p])
    block[:, p] = problem.shifted_y[rows]
    block[:, p + 1] = 1.0
    return block


def _moments(problem: FoldProblem, rows: Integers, out: Array | None = None) -> Array:
    """Return sums of squares and products of extended rows. Shape (p + 2, p + 2)."""
    block = _extended_rows(problem, rows)
    if problem.weights is not None:
        block *= np.sqrt(problem.weights[rows])[:, None]
    return np.matmul(block.T, block, out=out)


def _whole(problem: FoldProblem, folds: Sequence[Fold], parts: Array) -> Array:
    """Return the moments of all rows: the sum of the parts if these are all there is."""
    n, p = problem.X.shape
    tested = np.concatenate([fold.test for fold in folds])
    if np.array_equal(np.bincount(tested, minlength=n), np.ones(n)):
        return np.asarray(parts.sum(axis=0))
    whole = np.zeros((p + 2, p + 2))
    for rows in np.array_split(np.arange(n), -(-n * p // _AT_ONCE)):
        whole += _moments(problem, rows)
    return whole


def _fit_batch(
    problem: FoldProblem,
    folds: Sequence[Fold],
    whole: Array,
    scatter: Array,
) -> list[Outcome[FoldFit] | None]:
    moments = _training_moments(problem, folds, whole, scatter)
    scaled = scale_columns(problem, folds, moments)
    if not scaled.trusted.any():
        return [None] * len(folds)
    run = _recursion(problem, folds, whole, scatter, moments, scaled)
    return guarded_fits(problem, folds, moments, scaled, run)


def _training_moments(
    problem: FoldProblem, folds: Sequence[Fold], whole: Array, scatter: Array
) -> TrainingMoments:
    p = scatter.shape[1] - 2
    n = scatter[:, -1, -1]
    # The last row and column of the moments are sums, because rows end in 1.
    mean = scatter[:, :-1, -1] / n[:, None]
    square = np.diagonal(scatter, axis1=1, axis2=2)[:, :-1] - n[:, None] * mean**2
    counted = np.ones(len(problem.y)) if problem.weights is None else problem.weights > 0
    tested = [np.count_nonzero(counted[fold.test]) for fold in folds]
    return TrainingMoments(
        n=n,
        n_rows=np.count_nonzero(counted) - np.array(tested),
        mean=mean[:, :p],
        square=square[:, :p],
        gross=np.broadcast_to(np.diagonal(whole)[:p], (len(folds), p)),
        y_mean=mean[:, p],
        y_square=square[:, p],
        y_gross=np.full(len(folds), whole[p, p]),
    )


@dataclass(frozen=True, kw_only=True)
class _Products:
    """Products with the scatter matrices of F folds, the second of two copies perturbed.

    Attributes
    ----------
    scatter : (F, q, q) array
    size : (F, q) array
        Norms of the columns over all rows, evened out over the predictors in standard units:
        products are off by eps times these.
    """

    scatter: Array
    size: Array

    def __call__(self, d: Array) -> Array:
        """Return scatter @ d for directions (F, 2, q)."""
        products: Array = np.matvec(self.scatter[:, None], d)
        length = np.linalg.norm(self.size * d[:, 1], axis=1, keepdims=True)
        p = d.shape[2] - 2
        products[:, 1, :p] += EPS * length * self.size[:, :p] * random_signs(p)
        return products


def _recursion(
    problem: FoldProblem,
    folds: Sequence[Fold],
    whole: Array,
    scatter: Array,
    moments: TrainingMoments,
    scaled: Scaling,
) -> Recursion:
    # Notation: arrays (F, 2, ...), the second axis for the copy and the perturbed one. Directions
    # r with scores t = X r, and loadings X't; number 0 is the response, of unit length.
    (F, q, _), M = scatter.shape, scaled.steps
    p = q - 2
    # Sizes of rounding errors: eps times the norms of columns over all rows.
    squares = np.diagonal(whole)
    norm = np.sqrt(scaled.inverse @ squares[:p])[:, None]
    others = np.broadcast_to(np.sqrt(squares[p:]), (F, 2))
    size = np.concatenate([norm / np.sqrt(p) * scaled.scale, others], axis=1)
    times = _Products(scatter=scatter, size=size)
    R, L = np.zeros((F, 2, M + 1, q)), np.zeros((F, 2, M + 1, q))
    # Number 0: y, centred and of unit length.
    R[:, :, 0, p], R[:, :, 0, p + 1] = 1.0, -moments.y_mean[:, None]
    R[:, :, 0] /= moments.y_norm[:, None, None]
    L[:, :, 0] = times(R[:, :, 0])
    alpha, beta, change = np.zeros((F, 2, M + 1, 1)), np.zeros((F, 2, M + 1, 1)), np.zeros((F, M))
    u = np.zeros((F, 2, p))
    for j in range(1, M + 1):
        # Bidiagonalisation: X't_{j-1} without its part along u_{j-1}.
        gradient = L[:, :, j - 1, :p] - alpha[:, :, j - 1] * u
        direction = gradient * scaled.inverse[:, None]
        beta[:, :, j] = np.sqrt(np.vecdot(gradient, direction))[:, :, None]
        u = gradient / beta[:, :, j]
        # The score X d, orthogonal to the earlier scores, scaled to unit length.
        d = _centring(direction / beta[:, :, j], moments.mean)
        for _ in range(2):  # orthogonal scores: t_i't = L_i'd
            d -= np.vecmat(np.matvec(L[:, :, 1:j], d), R[:, :, 1:j])
        load = times(d)
        alpha[:, :, j] = np.sqrt(np.vecdot(d, load))[:, :, None]
        np.divide(d, alpha[:, :, j], out=R[:, :, j])
        np.divide(load, alpha[:, :, j], out=L[:, :, j])
        # |t - t'|^2 between the score and its perturbed copy, in the scatter matrix.
        moved = np.vecdot(R[:, 1, j] - R[:, 0, j], L[:, 1, j] - L[:, 0, j])
        change[:, j - 1] = np.sqrt(np.abs(moved))
        if not scaled.certain(change).any():
            break
    # Scores of the test rows, from the directions.
    scores = [
        _extended_rows(problem, fold.test) @ r[:, 1:].reshape(-1, q).T
        for fold, r in zip(folds, R, strict=True)
    ]
    return Recursion(
        test_scores=np.concatenate(scores).reshape(-1, 2, M),
        loadings=L[:, :, 1:, p],
        change=change,
        noise=EPS * norm**2 / (alpha * beta)[:, 0, 1:, 0],
    )


def _centring(direction: Array, mean: Array) -> Array:
    """Extend directions d (F, 2, p) to (d, 0, -mean'd), which centres the rows it multiplies."""
    extended = np.pad(direction, ((0, 0), (0, 0), (0, 2)))
    extended[:, :, -1] = -np.vecdot(direction, mean[:, None])
    return extended
