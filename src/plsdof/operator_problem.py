"""What sparse and implicit predictors have in common: standardised rows, and products with them."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from plsdof._validation import (
    Array,
    as_weights,
    read_only,
)
from plsdof.standardize import (
    require_enough,
)

Mask = npt.NDArray[np.bool_]

Integers = npt.NDArray[np.intp]


@dataclass(frozen=True, kw_only=True)
class Rows:
    """Rows of positive weight: which they are, their weights, n = sum of the weights."""

    total: int
    kept: Integers | slice
    weights: Array
    row_scale: Array | None

    @classmethod
    def of(cls, sample_weight: Any, total: int) -> "Rows":
        """Check weights of ``total`` rows."""
        weights = as_weights(sample_weight, total)
        if weights is None:
            return cls(total=total, kept=slice(None), weights=np.ones(total), row_scale=None)
        kept = np.flatnonzero(weights > 0)
        weights = weights[kept]
        require_enough(weights)
        row_scale = read_only(np.sqrt(weights))
        some = kept if len(kept) < total else slice(None)
        return cls(total=total, kept=some, weights=weights, row_scale=row_scale)

    @property
    def count(self) -> int:
        """Number of rows kept."""
        return len(self.weights)

    @property
    def n(self) -> float:
        """Sum of the weights."""
        return float(self.weights.sum())

    @property
    def root(self) -> Array:
        """Square roots of the weights."""
        return self.weights if self.row_scale is None else self.row_scale


class _Factor(Protocol):
    """C of a Gram matrix C'C: X_std on the side of features, X_std' on that of samples."""

    def product(self, v: Array) -> Array: ...
    def transposed(self, u: Array) -> Array: ...
    def times(self, v: Array) -> Array: ...
    def matrix(self) -> Array: ...


@dataclass(frozen=True, kw_only=True)
class Problem:
    """Products with standardised predictors, their means and scales, their sum of squares."""

    factor: _Factor
    x_mean: Array
    x_scale: Array
    trace: float
