"""Data in the one form that everything else takes: centred, scaled and weighted.

The paper's convention: columns of X centred and scaled to unit variance with divisor n - 1,
y centred. With sample weights w the mean is weighted, n becomes sum(w), and the rows of the
centred data are multiplied by sqrt(w), so that ordinary inner products become weighted ones.
Integer weights then mean the same as repeated rows.
"""

import math
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from plsdof._core.inputs import (
    Array,
    as_matrix,
    as_response,
    as_weights,
    feature_names,
    opened_table,
    read_only,
    require_flag,
    require_response_outside,
    shortened,
)
from plsdof._core.threads import cached_property
from plsdof._core.warnings import warn_caller
from plsdof.errors import ConstantColumnWarning, InvalidInputError, RelativeWeightsWarning

# A column whose spread is within this share of its largest entry does not vary: a millionth of what
# is left of it is how its entries were rounded when they were made.
SMALLEST_SPREAD = 1e-10
# The same of a response, whose signal may be small: what is left are roundings of a few operations.
CONSTANT_ULPS = 32 * float(np.finfo(np.float64).eps)
# Numbers that fit the cache of one core, with room for a result.
_CACHED = 2**17
# Rows of a matrix that lies column after column are read at least this many at a time.
_SEGMENT = 64
# Where fewer rows than this fit the cache, columns are cut.
_FEW_ROWS = 16
# So many rows show where most of them are; a mean beyond four times their spread was moved by rows
# that are far from all others.
_SHOWN, _MOVED = 9, 4.0
# The mean of weights that are meant as numbers of repeated rows, but not whole, is within these.
_FAR_FROM_ONE = 0.5, 2.0
# Arrays of up to this many bytes (256 MB) are copied by what keeps them.
_COPIED = 2**28
# Up to this magnitude, and down to its inverse, squares of products of X and y stay in the range of
# float64; squares of columns that are to be scaled do up to the second one.
LARGE, _LARGE_SCALED = 1e70, 1e151


@dataclass(frozen=True, kw_only=True)
class Units:
    """What is needed to go from standardised data back to the original units.

    Attributes
    ----------
    n : float
        Number of observations: rows, or the sum of the weights.
    n_rows : int
        Number of rows with positive weight.
    x_mean, x_scale : (p,) arrays
        ``(x - x_mean) / x_scale`` is the standardised predictor. The scale of a constant column is
        infinite, which makes it and its coefficient zero.
    y_mean : float
    row_scale : (n_rows,) array or None
        Square roots of the weights; None without weights.
    names : tuple of str or None
        Column names, when X came as a data frame.
    """

    n: float
    n_rows: int
    x_mean: Array
    x_scale: Array
    y_mean: float
    row_scale: Array | None = None
    names: tuple[str, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class Standardized:
    """Centred and scaled ``X`` and centred ``y``, rows multiplied by ``units.row_scale``.

    Or a factor of these: other rows with the same products X'X, X'y and y'y, which are not
    centred and whose number says nothing about that of the observations, ``units.n_rows``.

    Attributes
    ----------
    X : (k, p) array
    y : (k,) array
    units : Units
    rounding : float
        Bound of the norm of what rounding the given entries of X did to it.
    """

    X: Array
    y: Array
    units: Units
    rounding: float = 0.0

    @property
    def max_rank(self) -> int:
        """What the rank of X cannot exceed: centring takes one dimension of the observations."""
        varying = int(np.count_nonzero(np.isfinite(self.units.x_scale)))
        return min(self.units.n_rows - 1, len(self.X), varying)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Observations:
    """Checked data, as they were given, without the rows that have no weight.

    Attributes
    ----------
    X : (n_rows, p) array, or `rows.Stored`
    y : (n_rows,) array
    weights : (n_rows,) array or None
    n : float
        Number of rows, or the sum of the weights.
    names : tuple of str or None
    kept : (n_given,) bool array or None
        Which of the given rows have a positive weight; None for all.
    is_owned : bool
        Whether nobody else can change X.
    checksum : int or None
        Of the entries of X and their order, where X is too large to be copied.
    """

    X: Any
    y: Array
    weights: Array | None
    n: float
    names: tuple[str, ...] | None
    kept: npt.NDArray[np.bool_] | None = None
    is_owned: bool = False
    checksum: int | None = None

    @cached_property
    def columns(self) -> "Columns":
        """Which columns of X in memory vary, and where most of their entries are."""
        return Columns.of(self.X)

    @property
    def in_memory(self) -> bool:
        """Whether X is one array in memory."""
        return isinstance(self.X, np.ndarray)

    @property
    def n_given(self) -> int:
        """Number of rows that were given."""
        return len(self.y) if self.kept is None else len(self.kept)

    @cached_property
    def spread(self) -> float:
        """Root of the (weighted) mean square of y about its mean."""
        total = self.y.sum() if self.weights is None else self.weights @ self.y
        e = self.y - total / self.n
        return math.sqrt(float(e @ e if self.weights is None else self.weights @ e**2) / self.n)

    @property
    def row_scale(self) -> Array | None:
        """Square roots of the weights; None without weights."""
        return None if self.weights is None else read_only(np.sqrt(self.weights))

    def units(self, x_mean: Array, x_scale: Array, y_mean: float) -> Units:
        """Return what leads back from rows that were standardised like that."""
        return Units(
            n=self.n,
            n_rows=len(self.y),
            x_mean=read_only(x_mean),
            x_scale=read_only(x_scale),
            y_mean=y_mean,
            row_scale=self.row_scale,
            names=self.names,
        )

    def some(self, rows: npt.NDArray[np.intp]) -> "Observations":
        """Return some of the rows, in memory."""
        weights = None if self.weights is None else self.weights[rows]
        n = float(len(rows) if weights is None else weights.sum())
        X, y = self.X[rows], self.y[rows]
        return replace(self, X=X, y=y, weights=weights, n=n, kept=None, checksum=None)

    def less(self, level: float) -> "Observations":
        """Return the same rows with a constant taken off the response."""
        found = replace(self, y=self.y - level)
        if self.in_memory:
            found.__dict__["columns"] = self.columns
        return found

    def own(self) -> None:
        """Copy X, so that no later change of the caller's array reaches it, unless it is large.

        To be called before the data are handed on. It is a method of its own, because a copy that
        is made after a choice takes the place in memory that the choice has left.
        """
        if self.is_owned or self.checksum is not None or not self.in_memory:
            return
        if self.X.nbytes > _COPIED:
            object.__setattr__(self, "checksum", _checksum(self.X))
        else:
            object.__setattr__(self, "X", read_only(self.X.copy(order="K")))
            object.__setattr__(self, "is_owned", True)

    def require_unchanged(self) -> None:
        """Refuse to go on with a large X that has been changed since it was given."""
        if self.checksum is not None and _checksum(self.X) != self.checksum:
            raise InvalidInputError(
                "X has been changed since it was given. An array of this size is not copied: leave "
                "it as it is while the path is in use, or fit again."
            )


def _checksum(X: Array) -> int:
    """Return a number that depends on all bits of the entries and on where they are.

    Sums of rows and of columns, modulo 2^64, cost one pass over X.
    """
    bits, down = X.view(np.uint64), np.zeros(X.shape[1], dtype=np.uint64)
    across = np.empty(len(X), dtype=np.uint64)
    for rows in row_blocks(X):
        np.add.reduce(bits[rows], axis=1, out=across[rows])
        down += np.add.reduce(bits[rows], axis=0)
    return zlib.crc32(across.tobytes(), zlib.crc32(down.tobytes()))


def as_observations(X: Any, y: Any, sample_weight: Any = None) -> Observations:
    """Check data, unless that was done.

    Cost: one pass over X, no copy unless it is of another type or has weights.
    """
    if isinstance(X, Observations):
        return X
    X, y, sample_weight = opened_table(X, y, sample_weight)
    names, label = feature_names(X), getattr(y, "name", None)
    X = as_matrix(X, min_rows=2)
    y = as_response(y, len(X)).copy()
    require_response_outside(X, y, names, label)
    return observe(X, y, as_weights(sample_weight, len(X)), names)


def observe(X: Any, y: Array, weights: Array | None, names: tuple[str, ...] | None) -> Observations:
    """Put together data that have been checked, without rows that have no weight."""
    kept = None
    if weights is not None:
        kept = weights > 0
        X, y, weights = X[kept], y[kept], weights[kept]
        require_enough(len(weights), float(weights.sum()))
        notice_relative(weights)
        kept = None if kept.all() else kept
    n = float(len(y)) if weights is None else float(weights.sum())
    owned = weights is not None  # rows with a weight were copied
    return Observations(X=X, y=y, weights=weights, n=n, names=names, kept=kept, is_owned=owned)


def standardize(X: Any, y: Any, *, scale: bool = True, sample_weight: Any = None) -> Standardized:
    """Centre X and y, scale X to unit variance (divisor n - 1), apply weights.

    Rows with zero weight are left out. Cost: O(np) time, one copy of X.

    Examples
    --------
    >>> data = standardize([[1.0, 10.0], [2.0, 30.0], [3.0, 20.0]], [1.0, 2.0, 6.0])
    >>> data.units.x_mean, data.units.x_scale, data.units.y_mean
    (array([ 2., 20.]), array([ 1., 10.]), 3.0)
    """
    require_flag(scale)
    return standardize_observations(as_observations(X, y, sample_weight), scale=scale)


def standardize_observations(given: Observations, *, scale: bool = True) -> Standardized:
    """Do the same with data that have been checked."""
    columns = given.columns
    warn_constant_columns(columns.constant, given.names)
    found = centre_columns(given.X, columns, given.weights, given.n, scale)
    row_scale = given.row_scale
    if row_scale is not None:
        found.values[...] *= row_scale[:, None]
    response = centre_response(given.y, row_scale)
    units = given.units(found.mean, found.scale, response.mean)
    largest = 1.0 if row_scale is None else float(row_scale.max())
    rounding = largest * rounding_of_entries(columns.magnitude, found.scale, len(given.X))
    return Standardized(
        X=read_only(found.values), y=response.values, units=units, rounding=rounding
    )


def rounding_of_entries(magnitude: Array, x_scale: Array, n: int) -> float:
    """Return how far X may be off as entries were rounded when they were made, as a norm.

    Each is off by eps of the largest one of its column, about.
    """
    return float(np.finfo(np.float64).eps * np.linalg.norm(magnitude / x_scale) * math.sqrt(n))


def require_enough(n_rows: int, total: float) -> None:
    """Refuse too few rows with a positive weight, or weights whose sum leaves too little to fit."""
    if n_rows < 2:
        raise InvalidInputError(
            f"{n_rows} row(s) have a weight other than zero; at least 2 are needed. Check that "
            "rows are observations and columns are variables."
        )
    if total <= 1:
        raise InvalidInputError(
            f"sample_weight sums to {total:.3g}; weights count as repeated rows, so the "
            "sum plays the role of n and must exceed 1. For relative weights use "
            "sample_weight / sample_weight.mean()."
        )


def notice_relative(weights: Array) -> None:
    """Warn of weights that are not counts and whose sum is far from the number of rows."""
    share = float(weights.sum()) / len(weights)
    if not _FAR_FROM_ONE[0] <= share <= _FAR_FROM_ONE[1] and np.any(weights != np.round(weights)):
        warn_caller(
            f"sample_weight sums to {weights.sum():.4g} for {len(weights)} rows, and weights count "
            "as numbers of repeated rows: n, noise level and intervals follow their sum. For "
            "relative weights use sample_weight / sample_weight.mean().",
            RelativeWeightsWarning,
        )


# Columns: which of them vary, where their centres are, and their scales
# ---------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class Columns:
    """What is known of columns before anything is computed.

    Attributes
    ----------
    lowest, highest : (p,) arrays
        Smallest and largest values.
    centre : (p,) array
        What is taken off before anything is multiplied, so that squares lose no digits: means, but
        where most rows are if a few others, far away, have moved the mean; zeros if zero is close
        enough for all columns.
    """

    lowest: Array
    highest: Array
    centre: Array

    @classmethod
    def of(cls, X: Array) -> "Columns":
        """Look at rows in memory, in one pass."""
        highest, lowest, total = X[0].copy(), X[0].copy(), np.zeros(X.shape[1])
        with np.errstate(over="ignore", invalid="ignore"):  # of extremes, which are refused
            for rows, here in tiles(X):
                part = X[rows, here]
                highest[here] = np.maximum(highest[here], np.maximum.reduce(part))
                lowest[here] = np.minimum(lowest[here], np.minimum.reduce(part))
                total[here] += np.add.reduce(part)
            return cls(lowest=lowest, highest=highest, centre=_centre(X, total / len(X)))

    @cached_property
    def constant(self) -> npt.NDArray[np.bool_]:
        """Columns that do not vary; they have no part in any fit. Shape (p,)."""
        return constant_between(self.lowest, self.highest)

    @property
    def magnitude(self) -> Array:
        """Largest absolute values. Shape (p,)."""
        return np.maximum(np.abs(self.highest), np.abs(self.lowest))


def constant_between(
    lowest: Any, highest: Any, name: str = "X", *, scale: bool = True
) -> npt.NDArray[np.bool_]:
    """Return which columns of X, or whether y, with such extremes do not vary.

    Those whose squares leave the range of floats are refused, where they are not scaled sooner.
    """
    largest = _LARGE_SCALED if scale and name == "X" else LARGE
    magnitude = np.maximum(np.abs(highest), np.abs(lowest))
    share = SMALLEST_SPREAD if name == "X" else CONSTANT_ULPS
    constant = highest / 2 - lowest / 2 <= share / 2 * magnitude  # these halves are finite
    extreme = (magnitude > largest) | ((magnitude < 1.0 / largest) & ~constant)
    if extreme.any():
        raise InvalidInputError(
            f"{name} has entries of magnitude {np.max(magnitude, where=extreme, initial=0.0):.1e}, "
            "whose squares leave the range of 64-bit floats; change the unit (multiply "
            f"{name} by a constant)."
        )
    return np.asarray(constant)


def _centre(X: Array, mean: Array) -> Array:
    """Return the centre of `Columns` from the means of columns and some of the rows."""
    shown = np.sort(X[:: -(-len(X) // _SHOWN)], axis=0)
    middle, quarter = shown[len(shown) // 2], len(shown) // 4
    spread = shown[-1 - quarter] - shown[quarter]
    centre = np.where(np.abs(mean - middle) <= _MOVED * spread, mean, middle)
    # Rounding of X'X is relative to its largest eigenvalue, which may be that of the centres.
    relative = np.divide(centre, spread, out=np.where(centre == 0, 0.0, np.inf), where=spread > 0)
    close = relative @ relative <= 1.0 and centre @ centre <= np.square(spread).max()
    return np.zeros_like(centre) if close else centre


@dataclass(frozen=True, kw_only=True)
class Centred:
    """Centred (and scaled) columns, their means and their scales."""

    values: Array
    mean: Array
    scale: Array


def centre_columns(
    X: Array, columns: Columns, weights: Array | None, n: float, scale: bool
) -> Centred:
    """Centre the columns and, if asked, scale them to unit variance (divisor n - 1)."""
    centred, mean, x_scale = np.empty_like(X), np.empty(X.shape[1]), np.ones(X.shape[1])
    for here in column_blocks(X):
        found = centre_some(X, here, columns, weights, n, scale, centred[:, here])
        mean[here], x_scale[here] = columns.centre[here] + found.mean, found.scale
    return Centred(values=centred, mean=mean, scale=x_scale)


def centre_some(
    X: Array,
    here: slice,
    columns: Columns,
    weights: Array | None,
    n: float,
    scale: bool,
    values: Array,
) -> Centred:
    """Centre some columns, in a given place; the mean is what is left of it beyond their centre."""
    centre, constant = columns.centre[here], columns.constant[here]
    remainder, squares = np.zeros((2, len(centre)))
    blocks = row_blocks(values)
    for rows in blocks:
        part = np.subtract(X[rows, here], centre, out=values[rows])
        remainder += _weighted_sum(part, weights, rows)
        squares += _weighted_squares(part, weights, rows)
    remainder /= n
    squares -= n * remainder**2
    x_scale = scales_of(squares, constant, n, scale=scale)
    for rows in blocks:
        part = values[rows]
        part -= remainder
        if scale or constant.any():
            part /= x_scale
    return Centred(values=values, mean=remainder, scale=x_scale)


def scales_of(squares: Array, constant: npt.NDArray[np.bool_], n: float, *, scale: bool) -> Array:
    """Return what columns are divided by, from their sums of squares (divisor n - 1), or ones.

    Infinity takes a constant column out, whatever is divided by it.
    """
    spread = np.sqrt(np.maximum(squares, 0.0) / (n - 1.0)) if scale else np.ones(len(squares))
    return np.where(constant, np.inf, spread)


def tiles(X: Array) -> Iterator[tuple[slice, slice]]:
    """Cut a matrix into rows and columns that fit the cache."""
    for columns in column_blocks(X):
        for rows in row_blocks(X[:, columns]):
            yield rows, columns


def column_blocks(X: Array) -> list[slice]:
    """Cut columns where hardly a row fits the cache, so that many rows of some of them do."""
    n, p = X.shape
    step = p if p * _FEW_ROWS <= _CACHED else max(_CACHED // n, _SEGMENT)
    return [slice(start, min(start + step, p)) for start in range(0, p, step)]


def row_blocks(X: Array, times: int = 1) -> list[slice]:
    """Cut rows into blocks that fit the cache, or are so many times as large."""
    least = 1 if X.flags.c_contiguous else _SEGMENT
    step = min(max(times * _CACHED // X.shape[1], least), len(X))
    return [slice(start, min(start + step, len(X))) for start in range(0, len(X), step)]


def _weighted_sum(part: Array, weights: Array | None, rows: slice) -> Array:
    return np.asarray(part.sum(axis=0) if weights is None else weights[rows] @ part)


def _weighted_squares(part: Array, weights: Array | None, rows: slice) -> Array:
    if weights is None:
        return np.asarray(np.einsum("ij,ij->j", part, part))
    return np.asarray(np.einsum("i,ij,ij->j", weights[rows], part, part))


@dataclass(frozen=True, kw_only=True)
class Response:
    """Centred response, multiplied by the square roots of the weights, and its mean."""

    values: Array
    mean: float


def response_varies(y: Array) -> bool:
    """Return whether a response varies; refuse one whose squares leave the range of floats."""
    return not constant_between(y.min(), y.max(), "y")


def about_mean(y: Array, weights: Array | None) -> tuple[Array, float, float]:
    """Return y less its (weighted) mean, the mean, and what rounding of it leaves."""
    mean = _mean(y, weights)
    centred = y - mean
    rest = _mean(centred, weights)
    centred -= rest
    return centred, mean, rest


def _mean(y: Array, weights: Array | None) -> float:
    return float(y.mean() if weights is None else weights @ y / weights.sum())


def centre_response(y: Array, row_scale: Array | None = None) -> Response:
    """Centre a response by its (weighted) mean and weight its rows."""
    if not response_varies(y):
        return Response(values=read_only(np.zeros_like(y)), mean=float(y[0]))
    centred, mean, rest = about_mean(y, None if row_scale is None else row_scale**2)
    values = centred if row_scale is None else centred * row_scale
    return Response(values=read_only(values), mean=mean + rest)


def warn_constant_columns(constant: npt.NDArray[np.bool_], names: tuple[str, ...] | None) -> None:
    """Name the columns that do not vary, in one warning."""
    if not constant.any():
        return
    labels = [names[i] if names else str(i) for i in np.flatnonzero(constant)]
    warn_caller(constant_columns_text(labels), ConstantColumnWarning)


def constant_columns_text(labels: list[str]) -> str:
    """Say which columns do not vary."""
    return (
        f"In X these columns do not vary: {shortened(labels)}. "
        "They are kept with a zero coefficient."
    )
