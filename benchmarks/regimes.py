"""The problems of the benchmark: shapes, populations they are drawn from, and folds.

Every number of a problem follows from (regime, draw, split), so that processes that never speak to
each other work on the same data and the same folds.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

FOLDS = 10
TEST_ROWS = 2000
FACTORS = 10
_TEST_DRAW = 1_000_000
_RECUT = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Regime:
    """A shape, and the kind of population: "factors", "spectra", "noisy" or "clean spectra"."""

    name: str
    n: int
    p: int
    kind: str = "factors"
    max_components: int = 20

    @property
    def title(self) -> str:
        return f"{self.name}, {self.n:,} x {self.p:,}, at most {self.max_components} components"


@dataclass(frozen=True, kw_only=True)
class Problem:
    """What a contestant is given; ``folds`` holds the fold of every row, 0 to 9."""

    X: np.ndarray
    y: np.ndarray
    folds: np.ndarray
    max_components: int
    seed: int


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A chosen model. ``seconds`` replaces the time measured from outside (R's start-up)."""

    n_components: int
    predict: Callable[[np.ndarray], np.ndarray]
    seconds: float | None = None


REGIMES = (
    Regime(name="tiny", n=30, p=10, max_components=10),
    Regime(name="nir-small", n=60, p=400, kind="spectra"),
    Regime(name="nir", n=70, p=700, kind="spectra"),
    Regime(name="nir-noise-100", n=100, p=200, kind="noisy spectra"),
    Regime(name="nir-noise-300", n=300, p=1000, kind="noisy spectra"),
    Regime(name="nir-clean-300", n=300, p=1000, kind="clean spectra"),
    Regime(name="nir-large", n=500, p=3000, kind="spectra"),
    Regime(name="square", n=500, p=500),
    Regime(name="tall", n=1000, p=500),
    Regime(name="nir-noise-2000", n=2000, p=2000, kind="noisy spectra"),
    Regime(name="huge-tall", n=10_000, p=500),
    Regime(name="nir-noise-tall", n=10_000, p=500, kind="noisy spectra"),
    Regime(name="tallest", n=100_000, p=200),
)


def shrunk(regime: Regime, factor: int) -> Regime:
    """Return the regime with ``factor`` times fewer rows and columns, and half the components."""
    n, p = max(regime.n // factor, 30), max(regime.p // factor, 30)
    return replace(regime, n=n, p=p, max_components=max(regime.max_components // 2, 2))


def make_problem(regime: Regime, draw: int = 0) -> Problem:
    """Return training data number ``draw``."""
    X, y = _POPULATIONS[regime.kind](regime.n, regime.p, draw)
    M = regime.max_components
    return Problem(X=X, y=y, folds=_folds(regime.n, draw), max_components=M, seed=draw)


def recut(problem: Problem, split: int) -> Problem:
    """Return the same data cut into folds in another way, number ``split``."""
    seed = _RECUT + split
    return replace(problem, folds=_folds(len(problem.y), seed), seed=seed)


def _folds(n: int, seed: int) -> np.ndarray:
    return np.random.default_rng([7, seed]).permutation(np.arange(n) % FOLDS)


def make_test_rows(regime: Regime, rows: int = TEST_ROWS) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of the same population that no training data hold."""
    return _POPULATIONS[regime.kind](rows, regime.p, _TEST_DRAW)


def _factors(n: int, p: int, draw: int) -> tuple[np.ndarray, np.ndarray]:
    """Ten latent factors of falling size, all of them of use for the response."""
    population = np.random.default_rng([1, p])
    size = 1 / np.sqrt(np.arange(1, FACTORS + 1))
    loadings = size[:, None] * population.normal(size=(FACTORS, p))
    means, weights = population.normal(size=p), population.normal(size=FACTORS)
    rng = np.random.default_rng([2, draw])
    scores = rng.normal(size=(n, FACTORS))
    X = rng.normal(size=(n, p))
    X += scores @ loadings
    X += means
    return X, 3.0 + scores @ weights + rng.normal(size=n)


def _spectra(n: int, p: int, draw: int) -> tuple[np.ndarray, np.ndarray]:
    """Smooth, strongly collinear near-infrared spectra of mixtures."""
    # Imported here: processes that need no spectra start faster without the package.
    from plsdof.datasets import make_spectra

    made = make_spectra(n, p, random_state=np.random.default_rng([3, draw]))
    return made.data, made.target


def _noisy_spectra(n: int, p: int, draw: int, noise: float = 1e-3) -> tuple[np.ndarray, np.ndarray]:
    """Mixtures of twelve smooth spectra on a drifting base line, with noise in every channel."""
    population = np.random.default_rng([4, p])
    k, grid = 12, np.linspace(0, 1, p)
    shape = (k, 4, 1)
    centre, width = population.uniform(0, 1, shape), population.uniform(0.02, 0.2, shape)
    pure = population.uniform(0.2, 1, shape) * np.exp(-(((grid - centre) / width) ** 2))
    weights = population.normal(size=k)
    rng = np.random.default_rng([5, draw])
    shares = rng.dirichlet(np.ones(k), n)
    drift = 0.05 * rng.normal(size=(n, 2))
    X = shares @ pure.sum(axis=1) + drift[:, :1] + drift[:, 1:] * grid
    X += noise * rng.normal(size=(n, p))
    return X, shares @ weights + 0.02 * rng.normal(size=n)


_POPULATIONS: dict[str, Callable[[int, int, int], tuple[np.ndarray, np.ndarray]]] = {
    "factors": _factors,
    "spectra": _spectra,
    "noisy spectra": _noisy_spectra,
    "clean spectra": partial(_noisy_spectra, noise=1e-4),
}


def reference_predictions(problem: Problem, X_new: np.ndarray) -> np.ndarray:
    """Predict new rows with 0..M components by the textbook algorithm. Shape (M+1, n_new).

    Wold's PLS1 with deflation (Hastie, Tibshirani and Friedman, Elements of Statistical Learning,
    algorithm 3.3). It shares no code with any contestant and tells whether they fit the same model.
    """
    centre, scale = problem.X.mean(axis=0), problem.X.std(axis=0, ddof=1)
    X, new = (problem.X - centre) / scale, (X_new - centre) / scale
    y = problem.y - problem.y.mean()
    weights, loadings, slopes = [], [], []
    for _ in range(problem.max_components):
        weights.append(X.T @ y)
        scores = X @ weights[-1]
        square = scores @ scores
        loadings.append(X.T @ scores / square)
        slopes.append(scores @ y / square)
        X -= np.outer(scores, loadings[-1])
    W, P = np.array(weights).T, np.array(loadings).T
    new_scores = new @ W @ np.linalg.inv(P.T @ W)
    steps = np.cumsum(new_scores * slopes, axis=1).T
    return problem.y.mean() + np.vstack([np.zeros(len(new)), steps])
