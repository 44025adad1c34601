"""How sure Degrees of Freedom are: what they would be with other noise.

Degrees of Freedom are the derivative of the fit at one y. The paper's Definition 1 is its mean over
responses, and that mean may not exist: near responses where components swap, the derivative has
tails like a Cauchy variable's. Quantiles exist always. A dozen responses y + noise, of the level
that the model itself estimates, are fitted on the same decomposition of X.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from plsdof._core.inputs import Array, as_draws, as_generator, as_level, read_only

# A dozen tells 5 % of variation from 30 %; the quantiles lie inside the two outermost draws.
DRAWS, LEVEL = 12, 0.8
# A range wider than this share of the value is more honest than the value.
_WIDE = 1.0 / 3.0


@dataclass(frozen=True, kw_only=True)
class DofRange:
    """Degrees of Freedom with the range that they take for other noise.

    Attributes
    ----------
    value : float
        At the response itself.
    draws : (n_draws,) array
        At the response plus noise; one number for methods whose Degrees of Freedom ignore it.
    level : float
        Share of the draws between ``lower`` and ``upper``.

    Examples
    --------
    >>> found = DofRange(value=18.4, draws=np.array([9.0, 17.0, 19.0, 80.0]))
    >>> found.is_wide, str(found)
    (True, '11.4 to 61.7')
    """

    value: float
    draws: Array
    level: float = LEVEL

    @property
    def lower(self) -> float:
        """Lower quantile of the draws."""
        return float(np.quantile(self.draws, (1.0 - self.level) / 2.0))

    @property
    def upper(self) -> float:
        """Upper quantile of the draws."""
        return float(np.quantile(self.draws, (1.0 + self.level) / 2.0))

    @property
    def is_wide(self) -> bool:
        """Whether range and value together span more than a third of the value."""
        span = max(self.upper, self.value) - min(self.lower, self.value)
        return span > _WIDE * abs(self.value)

    def __str__(self) -> str:
        if self.is_wide:
            return f"{self.lower:.1f} to {self.upper:.1f}"
        return f"{self.value:.2f}"


def dof_range(model: Any, n_draws: int, level: float, rng: Any) -> DofRange:
    """Return the Degrees of Freedom of a model for ``n_draws`` responses with more noise."""
    draws, generator = as_draws(n_draws, "n_draws", minimum=2), as_generator(rng)
    y, level = model.path.response(), as_level(level)
    drawn = (y + model.noise_std * generator.standard_normal(len(y)) for _ in range(draws))
    return DofRange(value=model.dof, draws=read_only(model.dof_of(drawn) or [np.nan]), level=level)
