"""The Gram matrix of tall data in memory: one pass, no copy.

Columns are shifted by the mean c of the first rows, which is close to the mean of all of them
unless the rows are in some order; not at all (c = 0) if zero is close enough. With
A = X - 1c', d = A'1 / n and the mean c + d,

    (X - 1 mean')'(X - 1 mean') = A'A - n dd',

where nothing cancels as long as d is small enough; if it is not, c + d is a better shift. Where a
column hardly varies or leaves the range in which squares are safe, there is no answer here:
`standardize` takes a closer look.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from plsdof._validation import Array, read_only
from plsdof.errors import InvalidInputError
from plsdof.gram import Gram, formed
from plsdof.standardize import (
    Observations,
    Standardized,
    Units,
    centre_response,
    row_blocks,
    standardize_observations,
    varies_safely,
)

# A sum of squares that centring makes smaller than this share of what it was loses digits.
_SMALLEST_SHARE = 0.1
# What centring removes may be so many times the largest eigenvalue of what is left.
_REMOVED = 4.0
_POWER_STEPS = 4
# Means are taken for zero if they are at most this share of the squares: of all, of each.
_CLOSE, _CLOSEST = 0.5, 0.86
# Sums over the same numbers agree to this share of their size.
_SAME = 1e-11


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class TallRows:
    """Rows as they were given, and what is known of their columns.

    What is made of the rows later is refused if they have changed in the meantime.

    Attributes
    ----------
    given : Observations
    scale : bool
    y : (n_rows,) array
        Centred and weighted response.
    row_scale : (n_rows,) array or None
    shift, rest : (p,) arrays
        The means are ``shift + rest``.
    x_scale : (p,) array
    witness, tolerance : (p,) arrays
        A'u with a fixed u that tells rows apart, and how far it may be off when it is computed
        again.
    """

    given: Observations
    scale: bool
    y: Array
    row_scale: Array | None
    shift: Array
    rest: Array
    x_scale: Array
    witness: Array
    tolerance: Array

    def to_samples(self, v: Array) -> Array:
        """Return X @ v for the standardised X and v of shape (p,) or (p, k)."""
        self._require_unchanged()
        u = (v.T / self.x_scale).T
        values = np.empty((len(self.y), *v.shape[1:]))
        for rows, part in self._blocks():
            values[rows] = part @ u
        offset = self.rest @ u
        values -= offset if self.row_scale is None else np.multiply.outer(self.row_scale, offset)
        return values

    def standardized(self) -> Standardized:
        """Return the rows as `standardize` makes them."""
        self._require_unchanged()
        return standardize_observations(self.given, scale=self.scale)

    def _require_unchanged(self) -> None:
        marks, seen = _marks(len(self.y)), np.zeros(len(self.shift))
        with np.errstate(over="ignore", invalid="ignore"):
            for rows, part in self._blocks():
                seen += marks[rows] @ part
            same = np.all(np.abs(seen - self.witness) <= self.tolerance)
        if not same:
            raise InvalidInputError(
                "X was changed in place after the fit, so what needs its rows again cannot be "
                "computed; fit again, or fit a copy of it."
            )

    def _blocks(self) -> Iterator[tuple[slice, Array]]:
        return shifted_blocks(self.given.X, self.shift, self.row_scale)


def tall_gram(given: Observations, *, scale: bool = True) -> tuple[Gram, TallRows] | None:
    """Return X'X of the standardised data, and the rows behind it; None if in doubt.

    Cost: one pass over X (two if the first shift was no good) and O(n p^2) time, O(p^2) memory.
    """
    X, weights = given.X, given.weights
    n_rows, p = X.shape
    if n_rows <= p:
        return None
    row_scale = None if weights is None else read_only(np.sqrt(weights))
    response = centre_response(given.y, row_scale)
    shift = _typical(X[row_blocks(X)[0]])
    for _ in range(2):
        with np.errstate(over="ignore", invalid="ignore"):
            sums = _sums(X, shift, row_scale, response.values)
            matrix, rest, gross = sums.matrix, sums.first / given.n, sums.matrix.diagonal().copy()
            squares = gross - given.n * rest**2
            if not varies_safely(squares, given.n * shift**2).all():
                return None
        x_scale = np.sqrt(squares / (given.n - 1.0)) if scale else np.ones(p)
        _standardize(matrix, rest, x_scale, given.n)
        if _keeps_digits(squares, gross, matrix, given.n * np.sum((rest / x_scale) ** 2)):
            break
        shift = shift + rest
    else:
        return None
    tolerance = _SAME * np.sqrt(gross * n_rows)
    total = float(response.values @ response.values)
    units = Units(
        n=given.n,
        n_rows=n_rows,
        x_mean=read_only(shift + rest),
        x_scale=read_only(x_scale),
        y_mean=response.mean,
        row_scale=row_scale,
        names=given.names,
    )
    kept = TallRows(
        given=given,
        scale=scale,
        y=response.values,
        row_scale=row_scale,
        shift=shift,
        rest=rest,
        x_scale=x_scale,
        witness=sums.witness,
        tolerance=tolerance,
    )
    gram = formed(
        matrix,
        side="features",
        units=units,
        response=sums.xy / x_scale,
        total=total,
        to_samples=kept.to_samples,
    )
    return gram, kept


@dataclass(frozen=True, kw_only=True)
class _Sums:
    """A'A, A'R1, A'y and A'u for the shifted and weighted rows A."""

    matrix: Array
    first: Array
    xy: Array
    witness: Array


def _sums(X: Array, shift: Array, row_scale: Array | None, y: Array) -> _Sums:
    root = np.ones(len(X)) if row_scale is None else row_scale
    marks, matrix = _marks(len(X)), np.zeros((0, 0))
    first, xy, witness = np.zeros((3, X.shape[1]))
    for rows, part in shifted_blocks(X, shift, row_scale):
        products = part.T @ part
        matrix = np.add(matrix, products, out=matrix) if matrix.size else products
        first += root[rows] @ part
        xy += y[rows] @ part
        witness += marks[rows] @ part
    return _Sums(matrix=matrix, first=first, xy=xy, witness=witness)


def shifted_blocks(
    X: Array, shift: Array, row_scale: Array | None
) -> Iterator[tuple[slice, Array]]:
    """Go through R (X - 1 shift') in blocks of rows that fit the cache, each in the same place.

    X itself is the only block if there is nothing to do.
    """
    if row_scale is None and not shift.any():
        yield slice(0, len(X)), X
        return
    blocks = row_blocks(X)
    place = np.empty((blocks[0].stop, X.shape[1]))
    for rows in blocks:
        part = np.subtract(X[rows], shift, out=place[: rows.stop - rows.start])
        if row_scale is not None:
            part *= row_scale[rows, None]
        yield rows, part


def _typical(first: Array) -> Array:
    """Return the means of some rows; zeros if these are close enough.

    That is within one standard deviation on the whole, and nowhere beyond two and a half.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        mean = first.mean(axis=0)
        gross = np.einsum("ij,ij->j", first, first)
        offset = len(first) * mean**2
        close = np.all(offset <= _CLOSEST * gross) and offset.sum() <= _CLOSE * gross.sum()
    return np.zeros_like(mean) if close else mean


def _marks(n_rows: int) -> Array:
    """Return numbers of order one, different for every row."""
    return np.asarray(np.cos(np.arange(n_rows, dtype=np.float64)))


def _standardize(matrix: Array, rest: Array, x_scale: Array, n: float) -> None:
    """Take n dd' off A'A and divide by the scales, in place, in strips that fit the cache."""
    for rows in row_blocks(matrix):
        strip = matrix[rows]
        strip -= (n * rest[rows, None]) * rest
        strip /= x_scale[rows, None] * x_scale


def _keeps_digits(squares: Array, gross: Array, matrix: Array, removed: float) -> bool:
    """Whether little has cancelled: column by column, and in the direction n dd' of all.

    Rounding is relative to the largest eigenvalue of A'A, which may be the one that centring has
    ``removed``; some steps of the power method bound that of the centred ``matrix`` from below.
    """
    v = _marks(len(matrix))
    for _ in range(_POWER_STEPS):
        v = matrix @ (v / np.abs(v).max())
    v /= np.abs(v).max()
    largest = float(v @ (matrix @ v)) / float(v @ v)
    return bool(np.all(squares > _SMALLEST_SHARE * gross)) and removed <= _REMOVED * largest
