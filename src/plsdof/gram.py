"""The Gram matrix of a problem, formed or not: what data of any kind and size come down to.

With standardised predictors X (centred, scaled, rows weighted) there are two of them, G = X'X in
the space of features and G = XX' in the space of samples. They share their non-zero eigenvalues,
so either one gives everything; large data take the smaller one.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from plsdof._validation import Array
from plsdof.errors import NotAvailableError
from plsdof.standardize import Standardized, Units

Map = Callable[[Array], Array]
# Matrices up to this order are formed, and their eigenvalues computed.
FORMED = 5000


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Gram:
    """A symmetric positive semi-definite G of order d, and the response in its space.

    Attributes
    ----------
    side : str
        "features" (G = X'X, d = p) or "samples" (G = XX', d = n_rows).
    units : Units
        Means, scales and weights of the data.
    response : (d,) array
        X'y in the space of features, y in the space of samples; y centred and weighted.
    total : float
        ``|y|^2``.
    trace : float
        tr G, the sum of squares of X.
    times : callable
        G @ v for a (d, k) array v.
    matrix : (d, d) array or None
        G, if it was formed.
    to_features, to_samples : callables or None
        X' @ u for u of shape (n_rows, k), needed in the space of samples; X @ v for v of shape
        (p, k), in the space of features, None where the rows cannot be reached again.
    """

    side: str
    units: Units
    response: Array
    total: float
    trace: float
    times: Map
    matrix: Array | None = None
    to_features: Map | None = None
    to_samples: Map | None = None

    @property
    def order(self) -> int:
        """Number d of rows of G."""
        return len(self.response)

    @property
    def X(self) -> "Reached":  # noqa: N802 (the symbol of the field)
        """The standardised predictors, as far as they can be reached."""
        return Reached(forward=self.to_samples, backward=self.to_features)

    @property
    def max_rank(self) -> int:
        """What the rank of centred data cannot exceed: min(n_rows - 1, p)."""
        return min(self.units.n_rows - 1, len(self.units.x_mean))


def formed(
    matrix: Array, *, side: str, units: Units, response: Array, total: float, **maps: Map | None
) -> Gram:
    """Return a `Gram` for a matrix that is there as an array."""
    return Gram(
        side=side,
        units=units,
        response=response,
        total=total,
        trace=float(np.trace(matrix)),
        times=partial(np.matmul, matrix),
        matrix=matrix,
        **maps,
    )


def dense_gram(data: Standardized) -> Gram:
    """Form the smaller of XX' and X'X. Cost: O(n p min(n, p)) time, O(min(n, p)^2) memory."""
    X, wide = data.X, data.X.shape[0] <= data.X.shape[1]
    return formed(
        X @ X.T if wide else X.T @ X,
        side="samples" if wide else "features",
        units=data.units,
        response=data.y if wide else X.T @ data.y,
        total=float(data.y @ data.y),
        to_features=partial(np.matmul, X.T),
        to_samples=partial(np.matmul, X),
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Reached:
    """A matrix that is there only through its products: ``X @ v`` and ``X.T @ u``."""

    forward: Map | None
    backward: Map | None

    @property
    def T(self) -> "Reached":  # noqa: N802 (numpy's name)
        """The transpose."""
        return Reached(forward=self.backward, backward=self.forward)

    def __matmul__(self, columns: Array) -> Array:
        if self.forward is None:
            raise NotAvailableError(
                "The rows of the data were not kept, so values per training row are not "
                "available; use predict() on the rows of interest."
            )
        if columns.ndim == 1:
            return self.forward(columns[:, None])[:, 0]
        return self.forward(columns)
