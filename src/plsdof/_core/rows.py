"""Rows of a table, wherever they are, and products with them.

Rows in memory are worked on in blocks that fit the cache; `plsdof.large` reads others.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import scipy.sparse

from plsdof._core.inputs import Array
from plsdof._core.standardize import Observations, Units, tiles


@dataclass(frozen=True, kw_only=True)
class Block:
    """Some rows of the data, or some of its columns.

    Attributes
    ----------
    X : (rows, columns) array
        Finite float64, which the worker may overwrite.
    y : (rows,) array
    weights : (rows,) array or None
        None if all are one.
    first : int
        Number of the block's first row (blocks of rows) or first column (blocks of columns).
    """

    X: Array
    y: Array
    weights: Array | None
    first: int


def weighed(block: Block) -> tuple[Array, Array, Array | None]:
    """Return the rows that have a positive weight, of X, y and the weights."""
    if block.weights is None or np.all(block.weights > 0):
        return block.X, block.y, block.weights
    kept = block.weights > 0
    return block.X[kept], block.y[kept], block.weights[kept]


class Stored(Protocol):
    """Predictors that are not one array in memory, as a path keeps them: sparse, or in blocks.

    ``shape`` is (n_rows, p), without rows that have no weight. Products are those with X minus
    ``shift`` (p,), which is near the means where these are large.
    """

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""

    @property
    def order(self) -> int:
        """Order of the Gram matrix that can be formed of them."""

    @property
    def shift(self) -> Array:
        """What is taken off the columns in products. Shape (p,)."""

    def sums(self, weights: Array) -> tuple[Array, Array]:
        """Return sums and sums of squares of columns, for weights (F, n). (F, p) each."""

    def left(self, r: Array) -> Array:
        """Return r X for r (F, n). Shape (F, p)."""

    def right(self, C: Array) -> Array:
        """Return C X' for C (F, p). Shape (F, n)."""

    def columns(self, which: npt.NDArray[np.intp]) -> Array:
        """Return some columns as they were given. Shape (n, k)."""

    def faster_ways(self, given: Observations, split: Any, n_components: int, scale: bool) -> Any:
        """Return ways to leave rows out that are faster than products; see `left_out.Problem`."""

    def refitted(self, recipe: Any, given: Observations, split: Any) -> Iterator[Any]:
        """Fit the other rows of every fold; yield what the fits predict for its rows."""


# Products with rows
# ------------------


def centred_times(rows: Any, mean: Array, B: Array) -> Array:
    """Return (X_new - 1 mean') B for new rows, dense or sparse, which must not be filled."""
    is_sparse: bool = scipy.sparse.issparse(rows)
    return np.asarray(rows @ B - mean @ B if is_sparse else (rows - mean) @ B)


def squared_distances(rows: Any, mean: Array, metric: Array | float) -> Array:
    """Return ``sum_j metric_j (x_j - mean_j)^2`` of new rows, dense or sparse. Shape (n_new,)."""
    share = np.broadcast_to(metric, mean.shape)
    if isinstance(rows, np.ndarray):
        return np.asarray(np.square(rows - mean) @ share)
    # Sparse rows must not be filled.
    squares = np.asarray(rows.power(2) @ share) - 2.0 * np.asarray(rows @ (mean * share))
    return np.asarray(np.maximum(squares + mean**2 @ share, 0.0))


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class InMemory:
    """Products with X - 1 shift', of rows in memory.

    Products with means in them would lose the digits that matter.

    Attributes
    ----------
    X : (n, p) array
    shift : (p,) array
    """

    X: Array
    shift: Array

    def left(self, r: Array) -> Array:
        """Return r X for r (F, n). Shape (F, p)."""
        found = np.zeros((*r.shape[:-1], self.X.shape[1]))
        for rows, here in tiles(self.X):
            found[..., here] += r[..., rows] @ (self.X[rows, here] - self.shift[here])
        return found

    def right(self, C: Array) -> Array:
        """Return C X' for C (F, p). Shape (F, n)."""
        found = np.zeros((*C.shape[:-1], len(self.X)))
        for rows, here in tiles(self.X):
            found[..., rows] += C[..., here] @ (self.X[rows, here] - self.shift[here]).T
        return found


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class StandardProducts:
    """Products with the standardised data R (A - 1 rest') D, where A = X - 1 shift'.

    R holds the square roots of the weights, D the inverse scales, and shift + rest is the mean.

    Attributes
    ----------
    stored : Stored or InMemory
        Products with A.
    units : Units
    rest : (p,) array
    """

    stored: Any
    units: Units
    rest: Array

    def to_samples(self, v: Array) -> Array:
        """Return X v, whose (weighted) means are zero."""
        rows = self.stored.right(v.T / self.units.x_scale)
        rows -= (rows @ self._root**2 / self.units.n)[..., None]
        return np.asarray((rows * self._root).T)

    def to_features(self, u: Array) -> Array:
        """Return X'u. What u has along the weights does not count, as columns are centred."""
        r = u.T * self._root
        r = r - (r.sum(axis=-1) / self.units.n)[..., None] * self._root**2
        return np.asarray((self.stored.left(r) / self.units.x_scale).T)

    @property
    def _root(self) -> Array:
        scale = self.units.row_scale
        return np.ones(self.units.n_rows) if scale is None else scale
