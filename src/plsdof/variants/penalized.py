"""Penalised Partial Least Squares: smooth coefficient curves and additive spline models.

With A = C'C, C upper triangular, the map R = C^{-1} satisfies R R' = (I + P)^{-1}. Differences of
order d couple d neighbours only, so that A is banded and nothing of size p x p is needed.

The weight vectors maximise the covariance of X w with y under w'w + w'Pw = 1, which leads to
w = (I + P)^{-1} X'y (Kraemer, Boulesteix & Tutz 2008). With R R' = (I + P)^{-1} this is PLS on
X R, that is, on the spectrum of K = X (I + P)^{-1} X'.
"""

import math
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse
from scipy.linalg import lapack

from plsdof._core.exact import Exact, row_norms
from plsdof._core.filters import pls_filter
from plsdof._core.fit import checked, finished, optional_count
from plsdof._core.inputs import (
    Array,
    as_choice,
    as_count,
    as_one_positive,
    read_only,
    require_flag,
)
from plsdof._core.left_out import Problem
from plsdof._core.paths import PLSPath
from plsdof._core.recipe import Method, Recipe
from plsdof._core.routes import is_accurate
from plsdof._core.spectrum import SOLVERS, Decomposition, Solver, decompose
from plsdof._core.standardize import Observations, standardize_observations
from plsdof._core.threads import cached_property, threads_for
from plsdof._core.warnings import quietly
from plsdof.errors import InvalidInputError

# Quadratic penalties P on coefficients, through a factor of the metric A = I + P
# -------------------------------------------------------------------------------

_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, kw_only=True, eq=False)
class Metric:
    """The matrix A = I + P through its factor, A = C'C.

    Attributes
    ----------
    factor : (b + 1, p) array
        C in LAPACK's upper banded storage.
    rounding : float
        By how much rounding of C may change X C^{-1}, relatively.
    """

    factor: Array
    rounding: float

    def apply(self, vectors: Array) -> Array:
        """Return A @ vectors, (p, k). Cost: O(b p k)."""
        C = _upper(self.factor)
        return np.asarray(C.T @ (C @ vectors))

    def whiten(self, X: Array) -> Array:
        """Return X @ C^{-1}, (n, p). Cost: O(b p n)."""
        return np.ascontiguousarray(self._solve(X.T, "T").T)

    def unwhiten(self, vectors: Array) -> Array:
        """Return C^{-1} @ vectors, (p, k). Cost: O(b p k)."""
        return self._solve(vectors, "N")

    def _solve(self, right_side: Array, transposed: str) -> Array:
        if right_side.size == 0:
            return right_side
        solution, _ = lapack.dtbtrs(self.factor, right_side, uplo="U", trans=transposed)
        return np.asarray(solution)


@lru_cache(maxsize=32)
def difference_metric(sizes: tuple[int, ...], order: int, strength: float) -> Metric:
    """Return A = I + strength D'D, D the differences of given order within blocks of columns.

    C comes from rotations of the rows of sqrt(strength) D into the identity, so that A is never
    rounded: the error is eps |A|^(1/2) instead of the eps |A| of a Cholesky factor, which
    matters because smoothing over k columns takes a strength of about k^(2 order).

    Cost: O(order^2 p) time, O(order p) memory.
    """
    factor = _rotated_factor(sizes, order, math.sqrt(strength))
    factor = factor[-min(factor.shape) :]  # fewer columns than bands leave bands without entries
    return Metric(factor=read_only(factor), rounding=_EPS * _norm(factor))


def _upper(factor: Array) -> Any:
    """Return C as a sparse matrix, (p, p)."""
    diagonals = [factor[-1 - k, k:] for k in range(len(factor))]
    return scipy.sparse.diags_array(diagonals, offsets=range(len(factor)))


def _norm(factor: Array) -> float:
    """Return an upper bound of the spectral norm of C, sqrt(|C|_1 |C|_inf)."""
    C = abs(_upper(factor))
    return math.sqrt(float(C.sum(axis=0).max()) * float(C.sum(axis=1).max()))


def as_block_sizes(blocks: Any, n_features: int) -> tuple[int, ...]:
    """Return the sizes of the blocks of columns; an int is the size of every block."""
    if blocks is None:
        return (n_features,)
    if isinstance(blocks, int | np.integer):
        size = as_count(blocks, "blocks", minimum=1)
        sizes = (size,) * (n_features // size)
    elif isinstance(blocks, Iterable) and getattr(blocks, "ndim", 1) == 1:
        sizes = tuple(as_count(one, "blocks", minimum=1) for one in blocks)
    else:
        raise InvalidInputError(
            f"blocks must be a whole number or a list of them; got {type(blocks).__name__}."
        )
    if sum(sizes) != n_features:
        raise InvalidInputError(
            f"blocks must cover the {n_features} column(s) of X; got {blocks!r:.80}, which covers "
            f"{sum(sizes)}. Give the number of columns of each variable, or one number for all."
        )
    return sizes


def _rotated_factor(sizes: Sequence[int], order: int, root: float) -> Array:
    """Return C with C'C = I + root^2 D'D in upper banded storage, by Givens rotations."""
    difference = [root * (-1.0) ** k * math.comb(order, k) for k in range(order + 1)]
    # Row i of C, from its diagonal to the right. Plain numbers: rows have order + 1 entries.
    rows = [[1.0] + [0.0] * order for _ in range(sum(sizes))]
    start = 0
    for size in sizes:
        for first in range(start, start + size - order):
            # Rotate one row of D into the rows of C that it touches, from left to right.
            moved = difference
            for i in range(first, first + order + 1):
                kept = rows[i]
                length = math.hypot(kept[0], moved[0])
                c, s = kept[0] / length, moved[0] / length
                rows[i] = [c * a + s * b for a, b in zip(kept, moved, strict=True)]
                moved = [c * b - s * a for a, b in zip(kept[1:], moved[1:], strict=True)] + [0.0]
        start += size
    factor = np.zeros((order + 1, len(rows)))
    for k, diagonal in enumerate(np.array(rows).T):
        factor[order - k, k:] = diagonal[: len(rows) - k]
    return factor


# Penalised Partial Least Squares: smooth coefficient curves and additive spline models
# -------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PenalizedPLSPath(PLSPath):
    """Penalised Partial Least Squares for 0..M components.

    The weight vectors are orthonormal in the metric I + P.

    Attributes
    ----------
    metric : Metric
        I + P, with what has to be done with it.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(30, 20)).cumsum(axis=1)
    >>> penalized_pls_path(X, X[:, 5] + rng.normal(size=30), max_components=3, strength=5.0)
    PenalizedPLSPath(n=30, p=20)
    """

    metric: Metric

    @cached_property
    def x_loadings(self) -> Array:
        """Loadings X't / (t't), standardised units. Shape (p, M)."""
        # What the parent maps from rotated coordinates is (I + P)^{-1} X't / (t't).
        return read_only(self.metric.apply(super().x_loadings))

    def problem(self) -> Problem | None:
        """Return the path as the recursion takes it: with the inverse metric between X and X'."""
        if self.given is None:
            return None
        scale = bool(self.recipe.options["scale"])
        return Problem(given=self.given, scale=scale, inverse_metric=self._times_inverse_metric)

    def _times_inverse_metric(self, rows: Array) -> Array:
        """Return (I + P)^{-1} of every row of an (F, p) array."""
        return np.asarray(self.metric.unwhiten(self.metric.whiten(rows).T).T)


def penalized_pls_path(
    X: Any,
    y: Any,
    penalty: int = 2,
    *,
    strength: float = 1.0,
    blocks: Any = None,
    max_components: int | None = None,
    scale: bool = False,
    sample_weight: Any = None,
    solver: Solver = "auto",
) -> PenalizedPLSPath:
    r"""Fit penalised Partial Least Squares with 0..M components, with exact Degrees of Freedom.

    PLS on the spectrum of K = X (I + strength P)^{-1} X'; DoF(m) = 1 + sum f + 2 sum (1 - f) h as
    for `pls_path`, which is the case of strength 0.

    Parameters
    ----------
    X : (n, p) array or data frame
        Predictors: a spectrum whose neighbouring columns belong together, or B-splines (of
        scikit-learn's SplineTransformer, see `PenalizedPLSRegressor`).
    y : (n,) array
    penalty : int
        Order of the differences of neighbouring coefficients: 1 penalises steps, 2 bends, 3 changes
        of curvature. Blocks with no more columns than that are not penalised.
    strength : float
        Factor >= 0 of the penalty. It has no unit: I + strength P. `PenalizedPLSRegressor` chooses
        among several.
    blocks : int or sequence of int, optional
        Number of columns of each variable (one number if it is the same for all); differences are
        taken within blocks only. By default all columns are one block.
    max_components : int, optional
        Largest model wanted; by default all that the data support.
    scale : bool
        Scale the columns to unit variance first. The penalty then smooths the coefficients of the
        scaled columns; False, the default, smooths ``coef`` itself.
    sample_weight : (n,) array, optional
        Weights; integer weights mean repeated rows.
    solver : {"auto", "svd", "gram"}
        As for `pls_path`.

    Returns
    -------
    PenalizedPLSPath

    Notes
    -----
    Without scaling, a column that does not vary in the data may still have a coefficient, the one
    that its neighbours suggest; it acts on new rows only.

    Another penalty matrix P: ``pls_path(X @ R, y, scale=False)`` with R R' = (I + strength P)^{-1}.

    Cost: that of `pls_path`, plus O(n p order). The error of the eigenvalues grows with the square
    root of the strength; ``dof_error`` shows it.

    References
    ----------
    N. Kraemer, A.-L. Boulesteix and G. Tutz (2008), Penalized partial least squares with
    applications to B-spline transformations and functional data, Chemometrics and Intelligent
    Laboratory Systems 94, 60-69.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(40, 100)).cumsum(axis=1)
    >>> y = X[:, 40:60].mean(axis=1) + rng.normal(size=40)
    >>> rough, smooth = (penalized_pls_path(X, y, strength=s).coef[3] for s in (0.0, 1e3))
    >>> bool(np.abs(np.diff(smooth, 2)).sum() < 0.1 * np.abs(np.diff(rough, 2)).sum())
    True
    """
    require_flag(scale)
    as_choice(solver, "solver", SOLVERS)
    with nullcontext() if scale else quietly():  # a constant column may get a coefficient
        given = checked(X, y, sample_weight, scale)
    strength = as_one_positive(strength, "strength", or_zero=True)
    sizes = as_block_sizes(blocks, given.X.shape[1])
    # No block has differences of an order beyond its size, so that all of them are one case.
    order = min(as_count(penalty, "penalty", minimum=1), max(sizes))
    metric = difference_metric(sizes, order, strength)
    recipe = PENALIZED_PLS.recipe(
        penalty=penalty,
        strength=strength,
        blocks=blocks,
        max_components=max_components,
        scale=scale,
        solver=solver,
    )
    count = partial(_count, metric)
    return finished(PenalizedPLSPath, recipe, given, count, metric=metric)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class _Penalized(Exact):
    """The closed form of coefficients b = C^{-1} w, w those of the whitened predictors."""

    @cached_property
    def coef_error(self) -> Array:
        """Estimated relative error of the coefficients of standardised predictors. Shape (K,).

        What is known is the error of w relative to its norm: C^{-1} keeps it where it is smooth,
        however rough, and small, b may be.
        """
        rotated = self.filter.factors * self.spectrum.z / self.decomposition.singular_values
        metric_norm, norm = row_norms(rotated), row_norms(self.standardized_coef)
        rough = np.divide(metric_norm, norm, out=np.ones_like(norm), where=norm > 0)
        return read_only(super().coef_error * np.maximum(rough, 1.0))


def _count(metric: Metric, given: Observations, recipe: Recipe) -> Exact:
    size, scale = recipe.options["max_components"], recipe.options["scale"]
    data = standardize_observations(given, scale=scale)
    if not scale:
        # A constant column may get a coefficient from its neighbours.
        ones = read_only(np.ones_like(data.units.x_scale))
        data = replace(data, units=replace(data.units, x_scale=ones))
    make = partial(pls_filter, max_components=size)
    # Penalised PLS is PLS of X C^{-1}, whose kernel is X (I + P)^{-1} X'.
    whitened = replace(data, X=read_only(metric.whiten(data.X)))
    solver = recipe.options["solver"]
    with threads_for(data.X.shape):
        for attempt in ("gram", "svd") if solver == "auto" else (solver,):
            found = _penalized(decompose(whitened, attempt), data.X, metric)
            exact = _Penalized.build(data, found, make)
            if is_accurate(exact, size):
                break
    return exact


def _penalized(whitened: Decomposition, X: Array, metric: Metric) -> Decomposition:
    """Turn the decomposition of X R into one whose features are the columns of X."""
    # A relative perturbation of A is one of K, in the order of positive semi-definite matrices.
    error = 2 * metric.rounding * whitened.eigenvalues
    return replace(
        whitened,
        right=read_only(metric.unwhiten(whitened.feature_basis)),
        X=X if whitened.left is None else None,
        eigenvalue_error=read_only(whitened.eigenvalue_error + error),
    )


PENALIZED_PLS = Method(
    name="penalized",
    label="penalised PLS",
    path=penalized_pls_path,
    size="max_components",
    check=optional_count,
)
