"""PLS on many folds at once, by products with a matrix that all folds share.

A fold differs from the others in the rows that count, in its means and in its scales. All three
can be applied to vectors instead of the data, so that one matrix product with X' and one with X
per component serve every fold; without scaling a product with the kernel XX' does it too. Test rows
are carried along with weight zero: what the recursion does to a row is linear in the row, so their
scores come out without any coefficients.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from plsdof._core.inputs import Array
from plsdof._core.work import Outcome, cached_property
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
from plsdof.selection.folds import Fold, FoldFit

# Numbers held in memory at once for the scores: 64 MB, or as much as the data.
_AT_ONCE = 8_000_000
# Squares of the data are made in parts that stay in a processor's cache: 1 MB.
_CACHED = 125_000


def fits_from_products(
    problem: FoldProblem, folds: Sequence[Fold]
) -> list[Outcome[FoldFit] | None]:
    """Fit PLS to every fold by products with X; None where the result is not certain.

    Cost: O(F M n (p + M)) time for M components of F folds, in products of X with 2 F vectors;
    one copy of X, and O(F M n) memory for a limited number of folds at a time.

    Examples
    --------
    >>> from plsdof.selection.folds import make_folds
    >>> X, y = np.eye(6)[:, :2] + 1.0, np.arange(6.0)
    >>> problem = FoldProblem(X=X, y=y, weights=None, max_components=1, scale=False)
    >>> fit, warned = fits_from_products(problem, make_folds(X, y, 2))[0]
    >>> fit.predictions.round(6)
    array([[3., 3., 3.],
           [4., 4., 4.]])
    """
    with np.errstate(all="ignore"):  # what is not finite is not certain
        return _in_batches(problem, folds, None)


def fits_from_kernel(problem: FoldProblem, folds: Sequence[Fold]) -> list[Outcome[FoldFit] | None]:
    """Fit PLS without scaling to every fold by products with XX'; None where not certain.

    Rounding errors of XX' count for more the smaller the directions that a component needs, so
    that not all that is certain from products with X is certain here.

    Cost: O(n^2 p) time for the kernel and O(F M n (n + M)) for M components of F folds.

    Examples
    --------
    >>> from plsdof.selection.folds import make_folds
    >>> X, y = np.eye(6)[:, :2] + 1.0, np.arange(6.0)
    >>> problem = FoldProblem(X=X, y=y, weights=None, max_components=1, scale=False)
    >>> fit, warned = fits_from_kernel(problem, make_folds(X, y, 2))[0]
    >>> fit.predictions.round(6)
    array([[3., 3., 3.],
           [4., 4., 4.]])
    """
    if problem.scale:
        return [None] * len(folds)
    with np.errstate(all="ignore"):
        return _in_batches(problem, folds, problem.shifted @ problem.shifted.T)


def _in_batches(
    problem: FoldProblem, folds: Sequence[Fold], kernel: Array | None
) -> list[Outcome[FoldFit] | None]:
    n, p = problem.X.shape
    most = min(n - 1, p) if problem.max_components is None else problem.max_components
    size = max(1, max(_AT_ONCE, n * p) // (2 * n * max(1, most) + 2 * p))
    results: list[Outcome[FoldFit] | None] = []
    for start in range(0, len(folds), size):
        results += _fit_batch(problem, folds[start : start + size], kernel)
    return results


def _fit_batch(
    problem: FoldProblem, folds: Sequence[Fold], kernel: Array | None
) -> list[Outcome[FoldFit] | None]:
    weights = problem.training_weights(folds)
    moments = _moments(problem, weights)
    scaled = scale_columns(problem, folds, moments)
    if not scaled.trusted.any():
        return [None] * len(folds)
    norm = np.sqrt(np.vecdot(moments.square, scaled.inverse))[:, None]
    steps: _Steps = _FeatureSteps(problem.shifted, scaled, norm)
    if kernel is not None:
        steps = _KernelSteps(kernel, norm)
    run = _recursion(problem, folds, weights, moments, scaled, steps)
    return guarded_fits(problem, folds, moments, scaled, run)


def _moments(problem: FoldProblem, weights: Array) -> TrainingMoments:
    X, y = problem.shifted, problem.shifted_y
    n = weights.sum(axis=1)
    mean, gross = weights @ X / n[:, None], _sums_of_squares(X, weights)
    y_mean = weights @ y / n
    return TrainingMoments(
        n=n,
        n_rows=np.count_nonzero(weights, axis=1),
        mean=mean,
        square=gross - n[:, None] * mean**2,
        gross=gross,
        y_mean=y_mean,
        y_square=np.vecdot(weights, (y - y_mean[:, None]) ** 2),
        y_gross=weights @ y**2,
    )


def _sums_of_squares(X: Array, weights: Array) -> Array:
    """Return weights @ X**2 without a second array of the size of X. Shape (F, p)."""
    step = max(1, _CACHED // X.shape[1])
    squares = np.empty((min(step, len(X)), X.shape[1]))
    sums = np.zeros((len(weights), X.shape[1]))
    for i in range(0, len(X), step):
        rows = X[i : i + step]
        sums += weights[:, i : i + step] @ np.multiply(rows, rows, out=squares[: len(rows)])
    return sums


@dataclass(frozen=True)
class _Stepped:
    """u_j, beta_j (F, 2, 1), and X D^{-2} u_j (F, 2, n), not yet centred."""

    u: Array
    beta: Array
    score: Array


class _Steps(Protocol):
    """How a step of the recursion multiplies; the second of the two copies is perturbed."""

    def start(self) -> Array:
        """Return u_0 = 0."""

    def step(self, t: Array, alpha: Array, u: Array) -> _Stepped:
        """Go from weighted scores t_{j-1} to u_j."""

    def noise(self, alpha: Array, beta: Array) -> Array:
        """Return rounding errors relative to what the steps leave."""


@dataclass(frozen=True)
class _FeatureSteps:
    """Steps by products with X (n, p)."""

    X: Array
    scaled: Scaling
    norm: Array

    def start(self) -> Array:
        F, p = self.scaled.scale.shape
        return np.zeros((F, 2, p))

    def step(self, t: Array, alpha: Array, u: Array) -> _Stepped:
        (F, _, n), p = t.shape, self.X.shape[1]
        # One product with X' for all folds and copies, then one with X.
        gradient = (t.reshape(-1, n) @ self.X).reshape(F, 2, p)
        gradient[:, 1] += self._shake_gradient
        gradient -= alpha * u
        direction = gradient * self.scaled.inverse[:, None]
        beta = np.sqrt(np.vecdot(gradient, direction))[:, :, None]
        direction /= beta
        score = (direction.reshape(-1, p) @ self.X.T).reshape(F, 2, n)
        score[:, 1] += self._shake_score
        return _Stepped(np.divide(gradient, beta, out=gradient), beta, score)

    def noise(self, alpha: Array, beta: Array) -> Array:
        return np.asarray(EPS * self.norm / np.minimum(alpha, beta))

    # How far rounding may turn products with vectors of unit length: eps times the norm of X.

    @cached_property
    def _shake_gradient(self) -> Array:
        p = self.X.shape[1]
        return np.asarray(EPS * self.norm / np.sqrt(p) * self.scaled.scale * random_signs(p))

    @cached_property
    def _shake_score(self) -> Array:
        n = len(self.X)
        return np.asarray(EPS * self.norm / np.sqrt(n) * random_signs(n))


@dataclass(frozen=True)
class _KernelSteps:
    """Steps by products with XX' (n, n); u_j is held as a_j with u_j = X'a_j."""

    kernel: Array
    norm: Array

    def start(self) -> Array:
        return np.zeros((len(self.norm), 2, len(self.kernel)))

    def step(self, t: Array, alpha: Array, u: Array) -> _Stepped:
        F, _, n = t.shape
        # beta u = X'g, so beta^2 = g'XX'g.
        g = t - alpha * u
        score = (g.reshape(-1, n) @ self.kernel).reshape(F, 2, n)
        length = np.linalg.norm(g[:, 1], axis=1, keepdims=True)
        score[:, 1] += EPS * self.norm**2 / np.sqrt(n) * length * random_signs(n)
        beta = np.sqrt(np.vecdot(g, score))[:, :, None]
        return _Stepped(g / beta, beta, np.divide(score, beta, out=score))

    def noise(self, alpha: Array, beta: Array) -> Array:
        return np.asarray(EPS * self.norm**2 / (alpha * beta))


def _recursion(
    problem: FoldProblem,
    folds: Sequence[Fold],
    weights: Array,
    moments: TrainingMoments,
    scaled: Scaling,
    steps: _Steps,
) -> Recursion:
    # Notation: arrays (F, 2, ...), the second axis for the copy and the perturbed one.
    (F, n), M = weights.shape, scaled.steps
    # Inner products count training rows only; test rows are carried along.
    inner, total = weights[:, None], moments.n[:, None, None]
    r = np.repeat((problem.shifted_y - moments.y_mean[:, None])[:, None], 2, axis=1)
    t = r / moments.y_norm[:, None, None]
    t[:, 1] += EPS / np.sqrt(n) * random_signs(n)
    T, c = np.zeros((F, 2, M, n)), np.zeros((F, 2, M))
    alphas, betas, change = np.zeros((F, M)), np.zeros((F, M)), np.zeros((F, M))
    u, alpha, weighted = steps.start(), np.zeros((F, 2, 1)), inner * t
    for j in range(M):
        made = steps.step(weighted, alpha, u)
        u, t = made.u, made.score
        # The score of centred rows, orthogonal to the earlier scores, of unit length.
        t -= np.vecdot(inner, t)[:, :, None] / total
        _orthogonalize(t, T[:, :, :j], inner)
        alpha = np.sqrt(np.vecdot(inner * t, t))[:, :, None]
        t = np.divide(t, alpha, out=T[:, :, j])
        weighted = inner * t
        # What the component explains of y, and what is left.
        c[:, :, j] = np.vecdot(weighted, r)
        r -= c[:, :, j, None] * t
        alphas[:, j], betas[:, j] = alpha[:, 0, 0], made.beta[:, 0, 0]
        # The perturbed copy tells how far rounding may have turned the score.
        change[:, j] = np.sqrt(np.vecdot((t[:, 1] - t[:, 0]) ** 2, weights))
        if not scaled.certain(change).any():
            break
    fold_of = np.repeat(np.arange(F), [len(fold.test) for fold in folds])
    return Recursion(
        test_scores=T[fold_of, :, :, np.concatenate([fold.test for fold in folds])],
        loadings=c,
        change=change,
        noise=steps.noise(alphas, betas),
    )


def _orthogonalize(t: Array, T: Array, inner: Array) -> None:
    """Remove from t what it has along the earlier scores, in place.

    In exact arithmetic that is a multiple of the last one. Taking this out first makes the second
    pass a correction of rounding errors, so that one such pass is enough.
    """
    if T.shape[2]:
        last = T[:, :, -1]
        t -= np.vecdot(inner * t, last)[:, :, None] * last
        t -= np.vecmat(np.matvec(T, inner * t), T)
