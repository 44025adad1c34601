"""The simulation behind Figures 4 to 8: radial basis functions of the ozone data.

The predictors of ozone are scaled to [-1, 1]; d centres c_j, drawn once for each d, give the
predictors phi_j(x) = exp(-|x - c_j|^2) of a linear model f = sum_j beta_j phi_j. Every repeat
draws the coefficients beta_j from [1, 3], the noise, and 50 training rows. The variance of the
noise is var(f)/9, with var(f) taken over all 203 rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from plsdof._validation import Array
from plsdof.experiments.choices import METHODS, Problem, choose_all
from plsdof.experiments.settings import Settings, generator
from plsdof.experiments.sources import Source
from plsdof.experiments.work import Values
from plsdof.methods import pls_path


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
    """All repeats together; R repeats, D dimensions, methods in the order of `METHODS`.

    Attributes
    ----------
    dimensions : (D,) tuple
    components : (R, D, 5) array
        Number of components chosen.
    dof : (R, D, 5) array
        Exact Degrees of Freedom of the chosen model, whatever the method thinks of it.
    own_dof : (R, D, 5) array
        What the method thinks; nan for CV.
    test_error : (R, D, 5) array
        Test error divided by that of the empty model.
    noise_ratio : (R, D, 5) array
        Estimated by true standard deviation of the noise; nan for CV.
    seconds : (R, D, 5) array
        Time taken.
    first_negative : (R, D, 5) array
        Smallest model with negative Degrees of Freedom by the method; nan if there is none.
    genuine : (R, D, 5) array
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


def basis_functions(X: Array, d: int, seed: int) -> Array:
    """Return phi_j(x_i) for centres uniform on the cube [-1, 1]^p. Shape (n, d).

    They depend on d and the seed alone: the basis is fixed before any response is drawn.
    """
    low, high = X.min(axis=0), X.max(axis=0)
    scaled = 2.0 * (X - low) / (high - low) - 1.0
    centres = generator(seed, "centres", d).uniform(-1.0, 1.0, (d, X.shape[1]))
    distances = np.sum((scaled[:, None] - centres) ** 2, axis=2)
    return np.asarray(np.exp(-distances))


def simulate_once(trial: Trial, source: Source, settings: Settings) -> Values:
    """Draw a response, let all methods choose, and test what they chose."""
    d, seed = trial.dimension, settings.seed
    rng = generator(seed, "simulation", d, trial.repeat)
    features = basis_functions(source.X, d, seed)
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
