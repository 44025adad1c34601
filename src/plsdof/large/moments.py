"""What is collected of data that come in pieces: moments, and triangular factors.

Pieces are merged by the rule of Chan, Golub and LeVeque (1983): with means m_a, m_b of pieces of
sizes n_a, n_b, and d = m_b - m_a,

    S = S_a + S_b + (n_a n_b / n) d d',        m = m_a + (n_b / n) d.

Every piece is centred at its own mean while it is in the cache, so that nothing is ever
subtracted from a sum of squares: one pass over the data is enough, whatever their means are.
Means are unevaluated sums of two floats, because the rule needs their difference to the
precision of the standard deviation, which may be 10^8 times smaller than the mean.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from plsdof._core.display import one_line
from plsdof._core.inputs import (
    Array,
    as_matrix,
    as_response,
    as_weights,
    feature_names,
    read_only,
    require_flag,
    require_same_columns,
)
from plsdof._core.spectrum import Gram, formed
from plsdof._core.standardize import (
    CONSTANT_ULPS,
    LARGE,
    SMALL,
    Standardized,
    Units,
    warn_constant_columns,
)
from plsdof.errors import InvalidInputError, NotAvailableError
from plsdof.large.blocks import Block, weighed

# Means, squares and products
# ---------------------------

# Rows of a square matrix that are treated together, so that they stay in the cache.
_STRIP = 128

_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, kw_only=True)
class Sums:
    """Centred sums over some rows of the p + 1 columns [X y], the response last.

    Attributes
    ----------
    n, n_rows : float, int
        Sum of the weights, number of rows with positive weight.
    lowest, highest : (p + 1,) arrays
    mean, rest : (p + 1,) arrays
        The mean is ``mean + rest``, where ``rest`` is below the rounding of ``mean``.
    xx : (p, p) or (p,) array
        Sums of products of centred columns of X; only those of squares in the second case.
    xy : (p,) array
    yy : float
    """

    n: float
    n_rows: int
    lowest: Array
    highest: Array
    mean: Array
    rest: Array
    xx: Array
    xy: Array
    yy: float

    @property
    def squares(self) -> Array:
        """Sums of squares of the centred columns of X. Shape (p,)."""
        # Those of a constant column are rounding errors of either sign.
        return np.maximum(self.xx if self.xx.ndim == 1 else self.xx.diagonal(), 0.0)

    @property
    def magnitude(self) -> Array:
        """Largest absolute value of every column. Shape (p + 1,)."""
        return np.maximum(np.abs(self.lowest), np.abs(self.highest))

    @property
    def constant(self) -> npt.NDArray[np.bool_]:
        """Which columns do not vary, by the rule of `standardize`. Shape (p + 1,)."""
        half_spread = self.highest / 2 - self.lowest / 2
        return np.asarray(half_spread <= CONSTANT_ULPS / 2 * self.magnitude)

    def response(self, units: Units) -> tuple[Array, float]:
        """Return X'y and |y|^2 of the standardised data; both zero if y does not vary."""
        varies = float(not self.constant[-1])
        return read_only(varies * self.xy / units.x_scale), varies * self.yy


def block_sums(block: Block, *, products: bool = True) -> Sums | None:
    """Return the sums over a block of rows, which is overwritten; None if its weights are zero.

    Cost: one symmetric product (if ``products``) and six passes over a block that should fit in
    the cache: extrema, means, centring, X'y, and what rounding has left of the means.
    """
    X, y, weights = weighed(block)
    if not len(X):
        return None
    lowest, highest = np.append(X.min(axis=0), y.min()), np.append(X.max(axis=0), y.max())
    # Whether a column is too small, only all rows can tell.
    _require_squares(np.maximum(np.abs(lowest), np.abs(highest)).clip(min=1.0))
    # Centre at the mean, then see what its rounding has left.
    w = np.ones(len(X)) if weights is None else weights
    n = float(w.sum())
    mean = np.append(w @ X, w @ y) / n
    X -= mean[:-1]
    y = y - mean[-1]
    if weights is not None:
        w = np.sqrt(weights)
        X *= w[:, None]
        y *= w
    left = np.append(w @ X, w @ y) / n
    mean, rest = _two_sum(mean, left)
    xx = X.T @ X if products else np.einsum("ij,ij->j", X, X)
    return Sums(
        n=n,
        n_rows=len(X),
        lowest=lowest,
        highest=highest,
        mean=mean,
        rest=rest,
        xx=_recentred(xx, n, left[:-1]),
        xy=y @ X - n * left[-1] * left[:-1],
        yy=float(y @ y) - n * float(left[-1]) ** 2,
    )


def merge_sums(a: Sums | None, b: Sums | None) -> Sums | None:
    """Return the sums over the rows of both, leaving both as they are. Cost: O(p^2)."""
    if a is None or b is None:
        return b if a is None else a
    n = a.n + b.n
    step = (b.mean - a.mean) + (b.rest - a.rest)
    root = np.sqrt(a.n * (b.n / n)) * step
    mean, rest = _two_sum(a.mean, a.rest + step * (b.n / n))
    return Sums(
        n=n,
        n_rows=a.n_rows + b.n_rows,
        lowest=np.minimum(a.lowest, b.lowest),
        highest=np.maximum(a.highest, b.highest),
        mean=mean,
        rest=rest,
        xx=_sum_with_square(a.xx, b.xx, root[:-1]),
        xy=a.xy + b.xy + root[-1] * root[:-1],
        yy=a.yy + b.yy + float(root[-1]) ** 2,
    )


def _recentred(products: Array, n: float, rest: Array) -> Array:
    """Take out what the rounding of the means has added, where it can be seen at all."""
    squares = products if products.ndim == 1 else products.diagonal()
    if np.any(n * rest * rest > _EPS / 4 * squares):
        products -= n * (rest * rest if products.ndim == 1 else np.multiply.outer(rest, rest))
    return products


def _sum_with_square(a: Array, b: Array, d: Array) -> Array:
    """Return a + b + dd' (or its diagonal) in one pass over memory."""
    if a.ndim == 1:
        return a + b + d * d
    result = np.empty_like(a)
    for start in range(0, len(d), _STRIP):
        rows = slice(start, start + _STRIP)
        np.multiply(d[rows, None], d, out=result[rows])
        result[rows] += a[rows]
        result[rows] += b[rows]
    return result


def _two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """Return fl(a + b) and its rounding error (Knuth)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


# In the units of standardised data
# ---------------------------------


def units_of(
    sums: Sums | None,
    scale: bool,
    names: tuple[str, ...] | None = None,
    row_scale: Array | None = None,
) -> Units:
    """Return how to standardise by the rules of `standardize`, with the same errors."""
    sums = _require_rows(sums)
    constant = sums.constant
    _require_squares(np.where(constant, 0.0, sums.magnitude))
    spread = np.sqrt(sums.squares / (sums.n - 1.0)) if scale else np.ones(len(sums.xy))
    spread[constant[:-1]] = np.inf
    return Units(
        n=sums.n,
        n_rows=sums.n_rows,
        x_mean=read_only(sums.mean[:-1]),
        x_scale=read_only(spread),
        y_mean=float(sums.lowest[-1] if constant[-1] else sums.mean[-1]),
        row_scale=row_scale,
        names=names,
    )


def _require_rows(sums: Sums | None) -> Sums:
    n_rows = 0 if sums is None else sums.n_rows
    if sums is None or n_rows < 2:
        raise InvalidInputError(
            f"there are {n_rows} row(s) with a positive weight; at least 2 are needed. "
            "Check that rows are observations and columns are variables."
        )
    if sums.n <= 1:
        raise InvalidInputError(
            f"sample_weight sums to {sums.n:.3g}; weights count as repeated rows, so the sum "
            "plays the role of n and must exceed 1. For relative weights use "
            "sample_weight / sample_weight.mean()."
        )
    return sums


def _require_squares(magnitude: Array) -> None:
    """Refuse columns of [X y] whose squares leave the range of float64."""
    for name, sizes in (("X", magnitude[:-1]), ("y", magnitude[-1:])):
        extreme = sizes[(sizes > LARGE) | ((sizes < SMALL) & (sizes > 0))]
        if len(extreme):
            raise InvalidInputError(
                f"{name} has entries of magnitude {extreme[0]:.1e}, whose squares leave the range "
                f"of 64-bit floats; change the unit (multiply {name} by a constant)."
            )


def gram_from_sums(sums: Sums | None, units: Units) -> Gram:
    """Return the Gram matrix X'X of standardised data from sums that have all products."""
    assert sums is not None
    factor = 1.0 / units.x_scale
    matrix = np.empty_like(sums.xx)
    for start in range(0, len(matrix), _STRIP):
        rows = slice(start, start + _STRIP)
        # The product of the factors first: it keeps the matrix symmetric to the last digit.
        np.multiply(factor[rows, None], factor, out=matrix[rows])
        matrix[rows] *= sums.xx[rows]
    response, total = sums.response(units)
    return formed(read_only(matrix), side="features", units=units, response=response, total=total)


# Triangular factors, where X'X has too few digits
# ------------------------------------------------
# X'X squares the singular values, so that directions below 1e-8 of the largest one drown in
# rounding: the rule for spectra. A triangular factor R with R'R = [X y]'[X y] keeps them all (a
# "tall and skinny QR", Demmel, Grigori, Hoemmen and Langou 2012, SIAM J. Sci. Comput. 34,
# A206-A239). By the rule above, the factor of two pieces is that of R_a, R_b and one more row. X'X
# costs less than half as much, and is tried first.

_POWER_STEPS = 30
# Rows are collected up to this many times the number of columns: a decomposition of n rows costs
# n p^2, one of p rows and a few more p^3 each time.
_MOST_ROWS = 2


@dataclass(frozen=True, kw_only=True)
class Factor:
    """A triangular factor of the centred columns [X y] of some rows.

    Attributes
    ----------
    sums : Sums
        Means and squares of the same rows.
    matrix : (k, p + 1) array
        R, or more rows with the same products.
    """

    sums: Sums
    matrix: Array


def block_factor(block: Block) -> Factor | None:
    """Return the factor of a block of rows without weights. Cost: O(rows p^2)."""
    columns = np.column_stack([block.X, block.y])
    sums = block_sums(block, products=False)
    if sums is None:
        return None
    columns -= sums.mean
    columns -= sums.rest
    return Factor(sums=sums, matrix=_shortened(columns))


def merge_factors(a: Factor | None, b: Factor | None) -> Factor | None:
    """Return the factor of the rows of both. Cost: O(p^3) once in p rows or more."""
    if a is None or b is None:
        return b if a is None else a
    sums = merge_sums(a.sums, b.sums)
    assert sums is not None
    step = (b.sums.mean - a.sums.mean) + (b.sums.rest - a.sums.rest)
    root = np.sqrt(a.sums.n * (b.sums.n / sums.n)) * step
    return Factor(sums=sums, matrix=_shortened(np.vstack([a.matrix, b.matrix, root])))


def _shortened(rows: Array) -> Array:
    """Make a triangle of rows when there are enough of them to be worth it."""
    return _triangle(rows) if len(rows) > _MOST_ROWS * rows.shape[1] else rows


def _triangle(columns: Array) -> Array:
    found: Any = np.linalg.qr(columns, mode="r")
    return np.asarray(found)


def standardized_factor(
    factor: Factor | None, scale: bool, names: tuple[str, ...] | None
) -> Standardized:
    """Return standardised data that have the same products as all rows.

    There are at most p + 1 of them; ``units`` are those of all rows.
    """
    assert factor is not None
    units = units_of(factor.sums, scale, names)
    matrix = _triangle(factor.matrix)
    X = matrix[:, :-1] / units.x_scale
    size = factor.sums.magnitude[:-1] / units.x_scale
    n, largest = factor.sums.n_rows, _largest_singular_value(X)
    # The same limits as for all rows in memory, see `centre_columns` and `numerical_rank`.
    entries = _EPS * np.sqrt(n) * float(np.linalg.norm(size))
    return Standardized(
        X=read_only(X),
        y=read_only(matrix[:, -1].copy()),
        units=units,
        rounding=max(entries, max(n, X.shape[1]) * _EPS * largest),
    )


def _largest_singular_value(X: Array) -> float:
    v = np.ones(X.shape[1])
    for _ in range(_POWER_STEPS):
        length = float(np.linalg.norm(v))
        if length == 0:
            return 0.0
        v = X.T @ (X @ (v / length))
    return float(np.sqrt(np.linalg.norm(v)))


# Moments that are collected as the data come
# -------------------------------------------


class Moments:
    """Count, means, and centred squares and products of data that come in pieces.

    The state does not grow with the number of rows: O(p^2) memory. However the rows are grouped
    and merged, the result is the same to rounding, also if means are 10^8 standard deviations.

    Attributes
    ----------
    n, n_rows : float, int
        Sum of the weights, number of rows with positive weight.
    x_mean : (p,) array
    y_mean : float
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
        require_flag(scale)
        gram = gram_from_sums(self._sums, units_of(self._sums, scale, self.names))
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
        return read_only(self._collected().mean[:-1])

    @property
    def y_mean(self) -> float:
        """Mean of the response."""
        return float(self._collected().mean[-1])

    @property
    def xx(self) -> Array:
        """Sums of products of the centred predictors."""
        return read_only(self._collected().xx)

    @property
    def xy(self) -> Array:
        """Sums of products of the centred predictors and the centred response."""
        return read_only(self._collected().xy)

    @property
    def yy(self) -> float:
        """Sum of squares of the centred response."""
        return self._collected().yy

    def __repr__(self) -> str:
        p = 0 if self._sums is None else len(self._sums.xy)
        return one_line(self, f"{self.n_rows} rows", n=float(self.n), p=p)

    def _collected(self) -> Sums:
        if self._sums is None:
            raise NotAvailableError("no rows have been added yet; call partial_fit first.")
        return self._sums

    def _require_same_columns(self, p: int, names: tuple[str, ...] | None) -> None:
        if self._sums is not None and len(self._sums.xy) != p:
            raise InvalidInputError(
                f"the rows to add have {p} column(s), those before had {len(self._sums.xy)}; all "
                "rows must have the same columns."
            )
        require_same_columns(names, self.names, "the block of rows")
