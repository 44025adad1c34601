"""What the fits of folds have in common: shared data, trusted columns, and a guarded verdict.

A fold needs predictions of its test rows, nothing else. `fold_products` and `fold_moments` make
them for many folds at once and without a decomposition, by the paper's Lanczos recursion. With X
centred on the training rows, D their standard deviations, t_0 = y / |y| and u_0 = 0,

    beta_j u_j  = X't_{j-1} - alpha_{j-1} u_{j-1}        |D^{-1} u_j| = 1
    alpha_j t_j = X D^{-2} u_j - T T' X D^{-2} u_j       |t_j| = 1

where the scores T are orthogonalised against all earlier ones and the fit is T T'y.

Each recursion carries a second copy that is perturbed in every product by as much as rounding may.
Where both copies agree to `TOLERANCE` the numbers are those of a full fit; where they do not, or
the data of a fold cancel, the fold is handed back.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from plsdof._core.inputs import (
    Array,
    centre_columns,
    constant_columns_text,
    read_only,
    varies_safely,
)
from plsdof._core.work import Outcome, cached_property
from plsdof.errors import ConstantColumnWarning
from plsdof.selection.folds import Fold, FoldFit, Integers

Mask = npt.NDArray[np.bool_]

EPS = float(np.finfo(np.float64).eps)
# Scores and predictions of the two copies may differ by this much, relative. A full fit gives up
# a component when its Degrees of Freedom are uncertain to 1e-6: the scores then differ by far more.
TOLERANCE = 1e-10
# Where rounding errors are a larger share of what a step leaves, there may be no further component.
_LARGEST_NOISE = 1e-8
# What keeps less than this share of its sum of squares in a fold has cancelled.
_SMALLEST_SHARE = 1e-2
# Beyond this many components a full fit is hardly slower, and much of it is out of reach here.
_MOST_COMPONENTS = 60


@dataclass(frozen=True, kw_only=True, eq=False)
class FoldProblem:
    """Data and options that all folds share.

    Attributes
    ----------
    X : (n, p) array
    y : (n,) array
    weights : (n,) array or None
    max_components : int or None
    scale : bool
    """

    X: Array
    y: Array
    weights: Array | None
    max_components: int | None
    scale: bool

    @cached_property
    def shift(self) -> Array:
        """Means of the columns. Folds are centred anew, from a place nearby."""
        return self._mean(self.X)

    @cached_property
    def shifted(self) -> Array:
        """X minus `shift`, the one copy of the data. Shape (n, p)."""
        return self.X - self.shift

    @cached_property
    def y_shift(self) -> float:
        """Mean of the response."""
        return float(self._mean(self.y))

    @cached_property
    def shifted_y(self) -> Array:
        """The response minus `y_shift`. Shape (n,)."""
        return self.y - self.y_shift

    def training_weights(self, folds: Sequence[Fold]) -> Array:
        """Return how often each row counts in the fit of each fold. Shape (F, n)."""
        counts = np.ones((len(folds), len(self.y)))
        for count, fold in zip(counts, folds, strict=True):
            if fold.train_rows is None:
                count[fold.test] = 0.0
            else:
                count[:] = np.bincount(fold.train_rows, minlength=len(count))
        return counts if self.weights is None else counts * self.weights

    def _mean(self, values: Array) -> Array:
        if self.weights is None:
            return np.asarray(values.mean(axis=0))
        return np.asarray(self.weights @ values / self.weights.sum())


@dataclass(frozen=True, kw_only=True)
class TrainingMoments:
    """First and second moments of the training rows of F folds, about the common shift.

    Attributes
    ----------
    n : (F,) array
        Sums of weights.
    n_rows : (F,) array of int
        Numbers of distinct rows with positive weight.
    mean, square : (F, p) arrays
        Means, and sums of squares about these means.
    gross : (F, p) array
        What ``square`` is a difference from.
    y_mean, y_square, y_gross : (F,) arrays
        The same for the response.
    """

    n: Array
    n_rows: Integers
    mean: Array
    square: Array
    gross: Array
    y_mean: Array
    y_square: Array
    y_gross: Array

    @property
    def y_norm(self) -> Array:
        """Norm of the centred response. Shape (F,)."""
        return np.sqrt(self.y_square)


@dataclass(frozen=True, kw_only=True)
class Scaling:
    """How the predictors of F folds are scaled, and which folds can be trusted.

    Attributes
    ----------
    scale, inverse : (F, p) arrays
        Scaling deviations, or ones, and 1 / scale^2; both zero for columns that do not vary.
    constant : (F, p) bool array
        Columns that do not vary over the training rows.
    components : (F,) array of int
        Components wanted: all that rows and columns allow, or as many as asked for.
    trusted : (F,) bool array
        Whether nothing has cancelled and the components wanted may exist.
    """

    scale: Array
    inverse: Array
    constant: Mask
    components: Integers
    trusted: Mask

    @property
    def steps(self) -> int:
        """Most components wanted in a trusted fold."""
        return int(self.components[self.trusted].max(initial=0))

    def certain(self, change: Array) -> Mask:
        """Return which trusted folds have kept all (F, M) scores that they want. Shape (F,)."""
        wanted = np.arange(change.shape[1]) < self.components[:, None]
        return np.asarray(self.trusted & ((change <= TOLERANCE) | ~wanted).all(axis=1))


def scale_columns(problem: FoldProblem, folds: Sequence[Fold], moments: TrainingMoments) -> Scaling:
    """Scale the columns of every fold, after a look at those that hardly vary in it."""
    n, square = moments.n[:, None], moments.square
    sound = _sound(square, moments.gross, n, problem.shift)
    constant = _constant(problem, folds, ~sound)
    trusted = _sound(moments.y_square, moments.y_gross, moments.n, problem.y_shift)
    trusted &= (sound | constant).all(axis=1) & (moments.n > 1)
    variance = square / (n - 1.0) if problem.scale else np.ones_like(square)
    possible = np.minimum(moments.n_rows - 1, np.count_nonzero(~constant, axis=1))
    asked = problem.max_components
    wanted = possible if asked is None else np.full(len(folds), asked)
    return Scaling(
        scale=np.where(constant, 0.0, np.sqrt(variance)),
        inverse=np.where(constant, 0.0, 1.0 / variance),
        constant=constant,
        components=wanted,
        trusted=trusted & (wanted <= possible) & (wanted <= _MOST_COMPONENTS) & (wanted > 0),
    )


def _sound(square: Array, gross: Array, n: Array, shift: Array | float) -> Mask:
    """Return where sums of squares have not cancelled; not where they are nan."""
    return (square > _SMALLEST_SHARE * gross) & varies_safely(square, n * np.square(shift))


def _constant(problem: FoldProblem, folds: Sequence[Fold], doubtful: Mask) -> Mask:
    """Return which of the doubtful columns do not vary, by the same test as a full fit."""
    constant = np.zeros_like(doubtful)
    for number in np.flatnonzero(doubtful.any(axis=1)).tolist():
        rows = folds[number].train
        if problem.weights is not None:
            rows = rows[problem.weights[rows] > 0]
        columns = np.flatnonzero(doubtful[number])
        if len(rows):
            part = problem.X[np.ix_(rows, columns)]
            constant[number, columns] = centre_columns(part, None, 2.0, True).constant
    return constant


@dataclass(frozen=True, kw_only=True)
class Recursion:
    """Result of the PLS recursion on F folds with N test rows in all, and of its perturbed copy.

    Attributes
    ----------
    test_scores : (N, 2, M) array
        Scores of the test rows, fold after fold, of both copies.
    loadings : (F, 2, M) array
        Coefficients t'y of the fits in the scores.
    change : (F, M) array
        Norms of what the perturbation changes in the scores of the training rows, which are one.
    noise : (F, M) array
        Rounding errors of a step, relative to what is left after it (alpha and beta).
    """

    test_scores: Array
    loadings: Array
    change: Array
    noise: Array


def guarded_fits(
    problem: FoldProblem,
    folds: Sequence[Fold],
    moments: TrainingMoments,
    scaled: Scaling,
    run: Recursion,
) -> list[Outcome[FoldFit] | None]:
    """Turn scores into predictions; None for folds where they are not certain."""
    sizes = [len(fold.test) for fold in folds]
    fold_of = np.repeat(np.arange(len(folds)), sizes)
    fitted = np.cumsum(run.loadings[fold_of] * run.test_scores, axis=2)
    spread = moments.y_norm / np.sqrt(moments.n)
    size = np.maximum(np.abs(fitted[:, 0]), spread[fold_of, None])
    moved = np.abs(fitted[:, 1] - fitted[:, 0]) / size
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    moved = np.maximum.reduceat(moved, starts, axis=0)
    safe = scaled.certain(np.where(run.noise <= _LARGEST_NOISE, run.change, np.inf))
    safe &= scaled.certain(moved)
    means = problem.y_shift + moments.y_mean
    return [
        _outcome(fitted[start : start + size, 0], mean, components, constant) if good else None
        for good, start, size, mean, components, constant in zip(
            safe, starts, sizes, means, scaled.components, scaled.constant, strict=True
        )
    ]


def _outcome(fitted: Array, mean: float, components: int, constant: Mask) -> Outcome[FoldFit]:
    predictions = np.full((components + 1, len(fitted)), mean)
    predictions[1:] += fitted[:, :components].T
    fit = FoldFit(
        predictions=predictions,
        parameters=read_only(np.arange(components + 1.0)),
        parameter_name="n_components",
        simplest_first=np.arange(components + 1),
    )
    return fit, _notes(constant)


def _notes(constant: Mask) -> list[tuple[type[Warning], str]]:
    """Return the warning that standardising the rows of the fold would give."""
    labels = [str(column) for column in np.flatnonzero(constant)]
    if not labels:
        return []
    return [(ConstantColumnWarning, constant_columns_text(labels))]


@lru_cache(maxsize=8)
def random_signs(size: int) -> Array:
    """Return the same random signs for every fold and every run."""
    return read_only(np.random.default_rng(2011).choice([-1.0, 1.0], size))
