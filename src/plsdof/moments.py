"""Moments of data that come in pieces, collected as they come."""

from typing import Any

import numpy as np

from plsdof._validation import (
    Array,
    as_matrix,
    as_response,
    as_weights,
    feature_names,
    read_only,
)
from plsdof.blocks import Block
from plsdof.errors import InvalidInputError, NotAvailableError
from plsdof.gram import Gram
from plsdof.readable import one_line
from plsdof.standardize import warn_constant_columns
from plsdof.sums import Sums, block_sums, gram_from_sums, in_units, merge_sums


class Moments:
    """Count, means, and centred squares and products of data that come in pieces.

    The state does not grow with the number of rows: O(p^2) memory. However the rows are grouped
    and merged, the result is the same to rounding, also if means are 10^8 standard deviations.

    Attributes
    ----------
    n, n_rows : float, int
        Sum of the weights, number of rows with positive weight.
    x_mean, x_min, x_max : (p,) arrays
    y_mean, y_min, y_max : floats
    xx : (p, p) array
        ``sum_i w_i (x_i - x_mean)(x_i - x_mean)'``.
    xy : (p,) array
    yy : float
    names : tuple of str or None
        Names of the columns, if the data had any.

    References
    ----------
    Chan, Golub, LeVeque (1983). Algorithms for computing the sample variance. The American
    Statistician 37, 242-247, eq. (2.1).

    Examples
    --------
    >>> X, y = np.array([[1.0, 4.0], [2.0, 6.0], [3.0, 5.0], [6.0, 5.0]]), np.arange(4.0)
    >>> moments = Moments.empty().partial_fit(X[:3], y[:3]).partial_fit(X[3:], y[3:])
    >>> moments.n, moments.x_mean, moments.xy
    (4.0, array([3., 5.]), array([8., 1.]))
    >>> gram = moments.gram()
    >>> gram.side, gram.matrix.shape, gram.total
    ('features', (2, 2), 5.0)
    """

    def __init__(self, sums: Sums | None = None, names: tuple[str, ...] | None = None) -> None:
        self._sums = sums
        self.names = names

    @classmethod
    def empty(cls) -> "Moments":
        """Return the moments of no rows, to begin with."""
        return cls()

    @classmethod
    def of(cls, X: Any, y: Any, sample_weight: Any = None) -> "Moments":
        """Return the moments of a table X (rows, p) and its response y (rows,)."""
        return cls().partial_fit(X, y, sample_weight)

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> "Moments":
        """Add rows, and return self."""
        names = feature_names(X)
        X = as_matrix(X)
        y = as_response(y, len(X))
        weights = as_weights(sample_weight, len(X))
        self._require_same_columns(X.shape[1], names)
        sums = block_sums(Block(X=np.array(X), y=y, weights=weights, first=0))
        self._sums = merge_sums(self._sums, sums)
        self.names = self.names or names
        return self

    def merge(self, other: "Moments") -> "Moments":
        """Return the moments of the rows of both; neither is changed."""
        if other._sums is not None:
            self._require_same_columns(len(other._sums.xy), other.names)
        return Moments(merge_sums(self._sums, other._sums), self.names or other.names)

    def gram(self, scale: bool = True) -> Gram:
        """Return X'X, X'y and |y|^2 of the standardised data, as `standardize` would make them.

        Parameters
        ----------
        scale : bool
            Scale the predictors to unit variance (divisor n - 1).

        Warns
        -----
        ConstantColumnWarning
        """
        gram = gram_from_sums(self._sums, scale, self.names)
        warn_constant_columns(np.isinf(gram.units.x_scale), gram.units.names)
        return gram

    @property
    def n(self) -> float:
        """Sum of the weights."""
        return 0.0 if self._sums is None else self._sums.n

    @property
    def n_rows(self) -> int:
        """Number of rows with positive weight."""
        return 0 if self._sums is None else self._sums.n_rows

    @property
    def x_mean(self) -> Array:
        """Means of the predictors."""
        return read_only(self._plain().mean[:-1])

    @property
    def y_mean(self) -> float:
        """Mean of the response."""
        return float(self._plain().mean[-1])

    @property
    def x_min(self) -> Array:
        """Smallest value of every predictor."""
        return read_only(self._plain().lowest[:-1])

    @property
    def x_max(self) -> Array:
        """Largest value of every predictor."""
        return read_only(self._plain().highest[:-1])

    @property
    def y_min(self) -> float:
        """Smallest value of the response."""
        return float(self._plain().lowest[-1])

    @property
    def y_max(self) -> float:
        """Largest value of the response."""
        return float(self._plain().highest[-1])

    @property
    def xx(self) -> Array:
        """Sums of products of the centred predictors."""
        return read_only(self._plain().xx)

    @property
    def xy(self) -> Array:
        """Sums of products of the centred predictors and the centred response."""
        return read_only(self._plain().xy)

    @property
    def yy(self) -> float:
        """Sum of squares of the centred response."""
        return self._plain().yy

    def __repr__(self) -> str:
        p = 0 if self._sums is None else len(self._sums.xy)
        return one_line(self, f"{self.n_rows} rows", n=float(self.n), p=p)

    def _plain(self) -> Sums:
        """Return the sums in the units of the data; squares of extreme columns may be infinite."""
        if self._sums is None:
            raise NotAvailableError("no rows have been added yet; call partial_fit first.")
        with np.errstate(over="ignore"):
            return in_units(self._sums, np.zeros_like(self._sums.exponent))

    def _require_same_columns(self, p: int, names: tuple[str, ...] | None) -> None:
        if self._sums is not None and len(self._sums.xy) != p:
            raise InvalidInputError(
                f"the rows to add have {p} column(s), those before had {len(self._sums.xy)}; all "
                "rows must have the same columns."
            )
        if names and self.names and names != self.names:
            first = next(i for i, name in enumerate(names) if name != self.names[i])
            raise InvalidInputError(
                f"the rows to add have other columns than those before: column {first} is "
                f"{names[first][:60]!r} instead of {self.names[first][:60]!r}. Give the same "
                "columns in the same order."
            )
