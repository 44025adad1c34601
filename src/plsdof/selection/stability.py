"""How sure one can be of a choice: made again and again on simulated responses."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from plsdof._core.choice import Selection
from plsdof._core.criteria import Noise, as_variance
from plsdof._core.display import model_in_words
from plsdof._core.folds import Integers
from plsdof._core.inputs import Array, as_count, as_generator, read_only
from plsdof._core.model import as_path
from plsdof._core.path import Path
from plsdof.errors import NotAvailableError

# So many other models are named.
_MOST_NAMED = 3


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SelectionFrequency:
    """How often each model was chosen.

    Attributes
    ----------
    selection : Selection
        The choice on the data themselves.
    parameters : (K,) array
        Number of components, or alpha, of every model.
    counts : (K,) array
        Number of simulated responses on which it was chosen.

    Examples
    --------
    >>> from plsdof import pls_path
    >>> from plsdof.datasets import load_ozone
    >>> X, y = load_ozone(return_X_y=True)
    >>> selection_frequency(pls_path(X, y, 4), n_draws=20).frequency
    array([...])
    """

    selection: Selection
    parameters: Array
    counts: Integers

    @property
    def frequency(self) -> Array:
        """Share of the simulated responses on which each model was chosen. Shape (K,)."""
        return np.asarray(self.counts / self.counts.sum())

    @property
    def message(self) -> str:
        """The counts in words."""
        chosen = self.selection.index
        text = f"chosen again on {self.counts[chosen]} of {self.counts.sum()} simulated responses"
        others = [i for i in np.argsort(-self.counts, kind="stable") if self.counts[i]]
        others = [i for i in others if i != chosen]
        named = [f"{self._label(i)} on {self.counts[i]}" for i in others[:_MOST_NAMED]]
        rest = int(self.counts[others[_MOST_NAMED:]].sum())
        return "; ".join([text, *named, *([f"others on {rest}"] if rest else [])])

    def _label(self, index: int) -> str:
        value, name = float(self.parameters[index]), self.selection.parameter_name
        if name != "n_components":
            return f"{name} = {value:.3g}"
        return f"{value:g} component{'s' * (value != 1)}"

    def __repr__(self) -> str:
        chosen = np.flatnonzero(self.counts)
        parts = ", ".join(f"{self.parameters[i]:g}: {self.counts[i]}" for i in chosen)
        chosen_model = model_in_words(self.selection.parameter, self.selection.parameter_name)
        return (
            f"SelectionFrequency({self.selection.criterion} chose {chosen_model}; "
            f"{self.counts.sum()} times again: {{{parts}}})"
        )


def selection_frequency(
    path: Any,
    criterion: str | None = None,
    *,
    n_draws: int = 200,
    dof: str | None = None,
    noise: Noise = None,
    rule: str | None = None,
    rng: Any = 0,
) -> SelectionFrequency:
    """Count how often each model is chosen, on responses simulated from the models.

        y* = yhat_m + e,     e_i ~ N(0, sigma_m^2),     m drawn with the weights of the average

    A choice that is hardly ever made again is not one to rely on: the data do not tell the models
    apart. Responses from the chosen model alone would overstate the certainty, because they take
    for granted what is in doubt.

    Parameters
    ----------
    path : Path
        Weights w of its rows are read as precisions: noise of variance sigma_m^2 / w_i is added.
        A fitted estimator stands for its path; how it has chosen is not looked at.
    criterion, dof, noise, rule
        How a model is chosen, see `Path.select`.
    n_draws : int
    rng : int or numpy Generator, optional

    Notes
    -----
    Cost: O(n r + r M^2) per draw; X is not decomposed again.

    Examples
    --------
    >>> from plsdof import pls_path
    >>> from plsdof.datasets import load_ozone
    >>> X, y = load_ozone(return_X_y=True)
    >>> selection_frequency(pls_path(X, y), "aic", n_draws=50)
    SelectionFrequency(aic chose ...)
    """
    n_draws = as_count(n_draws, "n_draws", minimum=1)
    path = as_path(path)
    selection = path.select(criterion, dof, noise, rule)
    choices, longest = [], path
    for y in _simulated(path, noise, n_draws, rng):
        again = path.refit(y)
        choices.append(again.select(criterion, dof, noise, rule).index)
        if choices[-1] >= len(longest):
            longest = again
    return SelectionFrequency(
        selection=selection,
        parameters=read_only(longest.parameters),
        counts=np.bincount(choices, minlength=len(longest)),
    )


def _simulated(path: Path, noise: Noise, n_draws: int, rng: Any) -> Iterator[Array]:
    """Draw responses from models that are drawn with the weights of the average."""
    # Weights of rows are read as precisions: the noise variance of row i is sigma^2 / w_i.
    root = path.exact.units.row_scale
    row_scale = 1.0 if root is None else root
    found = path.average().weights
    assert found is not None
    weights = np.zeros(len(path))
    weights[: len(found)] = found[: len(weights)]
    if noise is None or isinstance(noise, str):
        variance = path.noise_variance(noise)
    else:
        variance = np.full(len(path), as_variance(noise))
    if not np.all(np.isfinite(variance[weights > 0])):
        worst = int(np.flatnonzero((weights > 0) & ~np.isfinite(variance))[0])
        raise NotAvailableError(
            f"{path[worst].label} leave no residual to estimate the noise from; give "
            "noise=<variance>."
        )
    drawn, fitted = as_generator(rng), path.fitted
    for model in drawn.choice(len(weights), size=n_draws, p=weights / weights.sum()):
        noise_std = np.sqrt(variance[model])
        yield fitted[model] + noise_std * drawn.standard_normal(fitted.shape[1]) / row_scale
