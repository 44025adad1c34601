"""The simulation behind Figures 4 to 8: radial basis functions of the ozone data.

The predictors of ozone are scaled to [-1, 1]; d centres c_j, drawn once for each d, give the
predictors phi_j(x) = exp(-|x - c_j|^2) of a linear model f = sum_j beta_j phi_j. Every repeat
draws the coefficients beta_j from [1, 3], the noise, and 50 training rows. The variance of the
noise is var(f)/9, with var(f) taken over all 203 rows.
"""

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from plsdof._core import criteria
from plsdof._core.fit import pls_path
from plsdof._core.inputs import Array, standardize
from plsdof.paper import algorithms as paper
from plsdof.paper._settings import Settings, Source, generator
from plsdof.paper._work import Values
from plsdof.selection.folds import make_folds

# The ways to choose the number of components that the simulation compares
# ------------------------------------------------------------------------

# What the paper compares, all with BIC, and the closed form (EXACT), which it does not have.
PAPER_METHODS = ("CV", "LANCZOS", "KRYLOV", "NAIVE")
SHOWN = (*PAPER_METHODS, "EXACT")
# The paper tried these as well and says that its main observations stay.
OTHER_CRITERIA = ("aic", "gmdl")
METHODS = (
    *SHOWN,
    *(f"{kind}-{name.upper()}" for name in OTHER_CRITERIA for kind in ("EXACT", "NAIVE")),
)


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
        Time it took the processor.
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

    Folds are fitted by a plain run of PLS, without Degrees of Freedom: that is what the paper
    timed. `cross_validate` knows a faster way, which would say nothing about it.
    """
    X, y, size = problem.X, problem.y, problem.max_components
    squares = np.zeros(size + 1)
    for fold in make_folds(X, y, problem.n_folds, random_state=problem.fold_seed):
        train, test = fold.train, fold.test
        coef, _ = plain_pls(X[train], y[train], size)
        predicted = y[train].mean() + coef @ (X[test] - X[train].mean(axis=0)).T
        squares += np.sum((y[test] - predicted) ** 2, axis=1)
    plain_pls(X, y, size)
    return Choice(
        components=criteria.global_minimum(squares),
        dof=float("nan"),
        noise_variance=float("nan"),
    )


def by_lanczos(problem: Problem) -> Choice:
    """Choose by BIC with Algorithm 1 and the noise level of eq. (sigmastar)."""
    result = paper.lanczos(problem.X, problem.y, problem.max_components)
    return _by_criterion("bic", result.rss, result.dof, result.noise_variance, len(problem.y))


def by_krylov(problem: Problem) -> Choice:
    """Choose by BIC with the trace formula and the noise level of eq. (sigma)."""
    result = paper.krylov(problem.X, problem.y, problem.max_components)
    return _by_criterion("bic", result.rss, result.dof, result.noise_variance, len(problem.y))


def by_naive_dof(problem: Problem, criterion: str = "bic") -> Choice:
    """Choose by BIC, or another criterion, with DoF = m + 1 after a plain run of PLS."""
    _, rss = plain_pls(problem.X, problem.y, problem.max_components)
    dof = np.arange(1.0, len(rss) + 1.0)
    noise = criteria.noise_from_dof(rss, dof, len(problem.y))
    return _by_criterion(criterion, rss, dof, noise, len(problem.y))


def by_closed_form(problem: Problem, criterion: str = "bic") -> Choice:
    """Choose by BIC, or another criterion, with `plsdof.pls_path` and eq. (sigmastar)."""
    path = pls_path(problem.X, problem.y, problem.max_components)
    chosen = path.select(criterion, rule="first-minimum")
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


def _by_criterion(criterion: str, rss: Array, dof: Array, noise: Array, n: int) -> Choice:
    """Take the first local minimum of a criterion among the models before a negative DoF."""
    end = first_negative(dof)
    fits = criteria.Fits(rss=rss, dof=dof, noise=noise, n=n, total=float(rss[0]))
    m = criteria.first_minimum(criteria.score(criterion, fits)[:end])
    return Choice(
        components=m, dof=float(dof[m]), noise_variance=float(noise[m]), first_negative=end
    )


def _orthogonalized(a: Array, basis: Array) -> Array:
    for _ in range(2):
        a = a - (basis @ a) @ basis
    return a


# Time of the processor, as what else the machine does does not count; Windows has it in steps of
# 16 milliseconds only.
_CLOCK = time.perf_counter if sys.platform == "win32" else time.process_time


def _timed(choose: Callable[[Problem], Choice], problem: Problem) -> Choice:
    start = _CLOCK()
    choice = choose(problem)
    return replace(choice, seconds=_CLOCK() - start)


_CHOOSERS: dict[str, Callable[[Problem], Choice]] = {
    "CV": by_cross_validation,
    "LANCZOS": by_lanczos,
    "KRYLOV": by_krylov,
    "NAIVE": by_naive_dof,
    "EXACT": by_closed_form,
}
for _name in OTHER_CRITERIA:
    _CHOOSERS[f"EXACT-{_name.upper()}"] = partial(by_closed_form, criterion=_name)
    _CHOOSERS[f"NAIVE-{_name.upper()}"] = partial(by_naive_dof, criterion=_name)


# The simulation behind Figures 4 to 8: radial basis functions of the ozone data
# ------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One repeat with d basis functions."""

    dimension: int
    repeat: int

    @property
    def name(self) -> str:
        """Name of its file."""
        return f"d{self.dimension:04d}-r{self.repeat:04d}"


@dataclass(frozen=True, kw_only=True, eq=False)
class Simulation:
    """All repeats together; R repeats, D dimensions, K methods in the order of `METHODS`.

    Attributes
    ----------
    dimensions : (D,) tuple
    components : (R, D, K) array
        Number of components chosen.
    dof : (R, D, K) array
        Exact Degrees of Freedom of the chosen model, whatever the method thinks of it.
    own_dof : (R, D, K) array
        What the method thinks; nan for CV.
    test_error : (R, D, K) array
        Test error divided by that of the empty model.
    noise_ratio : (R, D, K) array
        Estimated by true standard deviation of the noise; nan for CV.
    seconds : (R, D, K) array
        Time taken.
    first_negative : (R, D, K) array
        Smallest model with negative Degrees of Freedom by the method; nan if there is none.
    genuine : (R, D, K) array
        Exact Degrees of Freedom of that model.
    curves : (D,) tuple of (R, M+1) arrays
        Normalised test error for every number of components.
    settings : Settings
    """

    dimensions: tuple[int, ...]
    components: Array
    dof: Array
    own_dof: Array
    test_error: Array
    noise_ratio: Array
    seconds: Array
    first_negative: Array
    genuine: Array
    curves: tuple[Array, ...]
    settings: Settings

    def of(self, values: Array, method: str) -> Array:
        """Return the column of one method. Shape (R, D)."""
        return np.asarray(values[..., METHODS.index(method)])

    def mean_choice(self, method: str, d: int) -> int:
        """Return the mean number of components that a method chooses for d, rounded."""
        chosen = self.of(self.components, method)[:, self.dimensions.index(d)]
        return round(float(chosen.mean()))


def trials(settings: Settings) -> list[Trial]:
    """List all repeats; the first of every dimension come first."""
    return [
        Trial(dimension=d, repeat=r) for r in range(settings.repeats) for d in settings.dimensions
    ]


def basis_functions(X: Array, d: int, seed: int, distance: str = "squared") -> Array:
    """Return phi_j(x_i) for centres uniform on the cube [-1, 1]^p. Shape (n, d).

    exp(-|x - c|^2) as printed, or exp(-|x - c|) for the distance "plain".

    They depend on d and the seed alone: the basis is fixed before any response is drawn.
    """
    low, high = X.min(axis=0), X.max(axis=0)
    scaled = 2.0 * (X - low) / (high - low) - 1.0
    centres = generator(seed, "centres", d).uniform(-1.0, 1.0, (d, X.shape[1]))
    distances = np.sum((scaled[:, None] - centres) ** 2, axis=2)
    if distance == "plain":
        distances = np.sqrt(distances)
    return np.asarray(np.exp(-distances))


def simulate_once(trial: Trial, source: Source, settings: Settings) -> Values:
    """Draw a response, let all methods choose, and test what they chose."""
    d, seed = trial.dimension, settings.seed
    rng = generator(seed, "simulation", d, trial.repeat)
    features = basis_functions(source.X, d, seed, settings.distance)
    signal = features @ rng.uniform(1.0, 3.0, d)
    sigma = float(np.sqrt(np.var(signal) / settings.signal_to_noise))
    y = signal + sigma * rng.standard_normal(len(signal))
    order = rng.permutation(len(y))
    train, test = order[: settings.n_train], order[settings.n_train :]
    path = pls_path(features[train], y[train], _largest(settings, d))
    problem = Problem(
        X=features[train],
        y=y[train],
        max_components=len(path.dof) - 1,
        n_folds=settings.n_folds,
        fold_seed=int(rng.integers(2**31)),
    )
    errors = np.mean((path.predict(features[test]) - y[test]) ** 2, axis=1)
    choices = choose_all(problem)
    negative = [choice.first_negative for choice in choices.values()]
    return {
        "components": [choice.components for choice in choices.values()],
        "dof": [path.dof[choice.components] for choice in choices.values()],
        "own_dof": [choice.dof for choice in choices.values()],
        "test_error": [errors[c.components] / errors[0] for c in choices.values()],
        "noise_ratio": [np.sqrt(c.noise_variance) / sigma for c in choices.values()],
        "seconds": [choice.seconds for choice in choices.values()],
        "first_negative": negative,
        "genuine": [None if m is None else path.dof[m] for m in negative],
        "curve": errors / errors[0],
    }


def gather(values: Sequence[Values], settings: Settings) -> Simulation:
    """Put the repeats together, in the order of `trials`."""
    shape = (settings.repeats, len(settings.dimensions), len(METHODS))

    def table(name: str) -> Array:
        return np.array([one[name] for one in values], dtype=np.float64).reshape(shape)

    return Simulation(
        dimensions=settings.dimensions,
        components=table("components"),
        dof=table("dof"),
        own_dof=table("own_dof"),
        test_error=table("test_error"),
        noise_ratio=table("noise_ratio"),
        seconds=table("seconds"),
        first_negative=table("first_negative"),
        genuine=table("genuine"),
        curves=tuple(
            _common([one["curve"] for one in values[k :: len(settings.dimensions)]])
            for k in range(len(settings.dimensions))
        ),
        settings=settings,
    )


def design(results: Simulation) -> str:
    """Say in a sentence what was simulated."""
    s = results.settings
    return (
        f"{s.repeats} repeats for each number d of radial basis functions of ozone; "
        f"{s.n_train} training rows, the other rows for testing; "
        f"var(f)/sigma^2 = {s.signal_to_noise:g}; 0 to {s.max_components} components "
        "(fewer where d allows no more)."
    )


def _largest(settings: Settings, d: int) -> int:
    return min(settings.max_components, d, settings.n_train - 1)


def _common(curves: Sequence[Sequence[float]]) -> Array:
    """Stack the curves up to the largest model that all repeats have."""
    size = min(len(curve) for curve in curves)
    return np.array([curve[:size] for curve in curves], dtype=np.float64)
