"""The five ways to choose the number of components that the simulation compares."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from plsdof import criteria, paper
from plsdof._validation import Array
from plsdof.cross_validation import cross_validate
from plsdof.methods import pls_path
from plsdof.path_types import PLSPath
from plsdof.standardize import standardize

METHODS = ("CV", "LANCZOS", "KRYLOV", "NAIVE", "EXACT")
# What the paper compares; EXACT is the closed form, which it does not have.
PAPER_METHODS = METHODS[:4]


@dataclass(frozen=True, kw_only=True)
class Problem:
    """Training data, the largest model to consider, and folds for cross-validation."""

    X: Array
    y: Array
    max_components: int
    n_folds: int
    fold_seed: int


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A choice and what the method believes about it.

    Attributes
    ----------
    components : int
        Number of components chosen.
    dof, noise_variance : float
        The method's own Degrees of Freedom and noise variance of this model; nan for CV.
    first_negative : int or None
        Smallest model whose Degrees of Freedom by this method are negative; only models before it
        are considered.
    seconds : float
        Time it took.
    """

    components: int
    dof: float
    noise_variance: float
    first_negative: int | None = None
    seconds: float = float("nan")


def choose_all(problem: Problem) -> dict[str, Choice]:
    """Let every method choose, and take the time."""
    return {method: _timed(_CHOOSERS[method], problem) for method in METHODS}


def by_cross_validation(problem: Problem) -> Choice:
    """Choose by k-fold cross-validation as in the paper, one fit per fold and one to all rows.

    `cross_validate` knows a faster way by itself, which would say nothing about the paper's times.
    """
    result = cross_validate(
        problem.X,
        problem.y,
        partial(_one_fit, max_components=problem.max_components),
        cv=problem.n_folds,
        random_state=problem.fold_seed,
        keep_predictions=False,
    )
    pls_path(problem.X, problem.y, problem.max_components)
    return Choice(
        components=result.select().n_components,
        dof=float("nan"),
        noise_variance=float("nan"),
    )


def _one_fit(X: Array, y: Array, max_components: int) -> PLSPath:
    return pls_path(X, y, max_components)


def by_lanczos(problem: Problem) -> Choice:
    """Choose by BIC with Algorithm 1 and the noise level of eq. (sigmastar)."""
    result = paper.lanczos(problem.X, problem.y, problem.max_components)
    return _by_bic(result.rss, result.dof, result.noise_variance, len(problem.y))


def by_krylov(problem: Problem) -> Choice:
    """Choose by BIC with the trace formula and the noise level of eq. (sigma)."""
    result = paper.krylov(problem.X, problem.y, problem.max_components)
    return _by_bic(result.rss, result.dof, result.noise_variance, len(problem.y))


def by_naive_dof(problem: Problem) -> Choice:
    """Choose by BIC with DoF = m + 1 after a plain run of PLS."""
    _, rss = plain_pls(problem.X, problem.y, problem.max_components)
    dof = np.arange(1.0, len(rss) + 1.0)
    n = len(problem.y)
    return _by_bic(rss, dof, criteria.noise_from_dof(rss, dof, n), n)


def by_closed_form(problem: Problem) -> Choice:
    """Choose by BIC with `plsdof.pls_path`, its exact Degrees of Freedom and eq. (sigmastar)."""
    path = pls_path(problem.X, problem.y, problem.max_components)
    chosen = path.select("bic")
    return Choice(
        components=chosen.n_components,
        dof=float(path.dof[chosen.index]),
        noise_variance=path.noise_at(chosen.index),
        first_negative=first_negative(path.dof),
    )


def plain_pls(X: Array, y: Array, n_components: int) -> tuple[Array, Array]:
    """Fit PLS without Degrees of Freedom: coefficients (M+1, p), residual sums of squares (M+1,).

    The Lanczos decomposition X W = T L, eq. (L), both bases re-orthogonalised, with the
    coefficients by v_i = (w_i - L_{i-1,i} v_{i-1}) / L_ii, beta_i = beta_{i-1} + v_i t_i'y. The
    data must support that many components. Cost: O(n p M + (n + p) M^2) time.

    Examples
    --------
    >>> X = np.array([[1.0, 0.0], [2.0, 1.0], [3.0, 5.0], [4.0, 2.0]])
    >>> y = np.array([1.0, 2.0, 3.0, 5.0])
    >>> coef, rss = plain_pls(X, y, 2)
    >>> np.allclose(coef, pls_path(X, y).coef), np.allclose(rss, pls_path(X, y).rss)
    (True, True)
    """
    data = standardize(X, y)
    X, y = data.X, data.y
    T, W = np.zeros((n_components, len(y))), np.zeros((n_components, X.shape[1]))
    v, superdiagonal = np.zeros(X.shape[1]), 0.0
    beta = np.zeros((n_components + 1, X.shape[1]))
    fit = np.zeros((n_components + 1, len(y)))
    w = X.T @ y
    for i in range(n_components):
        w = _orthogonalized(w, W[:i])
        superdiagonal = float(np.linalg.norm(w)) if i else 0.0
        W[i] = w / np.linalg.norm(w)
        t = _orthogonalized(X @ W[i], T[:i])
        diagonal = np.linalg.norm(t)
        T[i] = t / diagonal
        v = (W[i] - superdiagonal * v) / diagonal
        loading = T[i] @ y
        beta[i + 1] = beta[i] + loading * v
        fit[i + 1] = fit[i] + loading * T[i]
        w = X.T @ T[i]
    return beta / data.units.x_scale, np.asarray(np.sum((y - fit) ** 2, axis=1))


def first_negative(dof: Array) -> int | None:
    """Return the first number of components with negative Degrees of Freedom, None without one.

    Examples
    --------
    >>> first_negative(np.array([1.0, 4.5, -2.0, 3.0]))
    2
    """
    negative = np.flatnonzero(dof < 0.0)
    return int(negative[0]) if len(negative) else None


def _by_bic(rss: Array, dof: Array, noise: Array, n: int) -> Choice:
    """Take the first local minimum of BIC among the models before a negative DoF."""
    end = first_negative(dof)
    m = criteria.first_minimum(criteria.bic(rss, dof, n, noise)[:end])
    return Choice(
        components=m, dof=float(dof[m]), noise_variance=float(noise[m]), first_negative=end
    )


def _orthogonalized(a: Array, basis: Array) -> Array:
    for _ in range(2):
        a = a - (basis @ a) @ basis
    return a


def _timed(choose: Callable[[Problem], Choice], problem: Problem) -> Choice:
    start = time.perf_counter()
    choice = choose(problem)
    return replace(choice, seconds=time.perf_counter() - start)


_CHOOSERS: dict[str, Callable[[Problem], Choice]] = {
    "CV": by_cross_validation,
    "LANCZOS": by_lanczos,
    "KRYLOV": by_krylov,
    "NAIVE": by_naive_dof,
    "EXACT": by_closed_form,
}
