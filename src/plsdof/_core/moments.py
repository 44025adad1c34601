"""Moments of rows: count, means, centred squares and products, which merge and come off again.

Gram matrices of tall data, the folds of held-out rows, tables that are read in blocks, steps of
preprocessing and `Moments.partial_fit` all come down to them. Pieces are merged by the rule of
Chan, Golub and LeVeque (1983): with means m_a, m_b of pieces of sizes n_a, n_b, and d = m_b - m_a,

    S = S_a + S_b + (n_a n_b / n) d d',        m = m_a + (n_b / n) d,

and a piece b comes off the whole, n = n_a + n_b, by the same rule read backwards,

    S_a = S - S_b - (n n_b / n_a) d d',        m_a = m - (n_b / n_a) d,        d = m_b - m.

Every piece is centred while it is in the cache, so that nothing but pieces is ever subtracted from
a sum of squares: one pass over the data is enough, whatever their means are. Means are unevaluated
sums of two floats, because the rule needs their difference to the precision of the standard
deviation, which may be 10^8 times smaller than the mean.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
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
from plsdof._core.rows import Block, InMemory, StandardProducts, weighed
from plsdof._core.spectrum import Gram, formed
from plsdof._core.standardize import (
    Columns,
    Observations,
    Units,
    about_mean,
    centre_response,
    centre_some,
    column_blocks,
    constant_between,
    require_enough,
    row_blocks,
    scales_of,
    warn_constant_columns,
)
from plsdof.errors import InvalidInputError, NotAvailableError

# Blocks of rows whose products are added up are so many times as large as the cache.
_PRODUCTS = 4


def _nothing() -> Array:
    return np.zeros(0)


@dataclass(kw_only=True, eq=False, repr=False)
class Moments:
    """Count, means, and centred squares and products of data that come in pieces.

    The state does not grow with the number of rows: O(p^2) memory. However the rows are grouped
    and merged, the result is the same to rounding, also if means are 10^8 standard deviations.

    Attributes
    ----------
    n, n_rows : float, int
        Sum of the weights, number of rows with positive weight.
    mean, rest : (p + 1,) arrays
        Of the columns [X y]: the mean is ``mean + rest``, where ``rest`` is below its rounding.
    xx : (p, p) or (p,) array
        ``sum_i w_i (x_i - x_mean)(x_i - x_mean)'``; only its diagonal in the second case.
    xy : (p,) array
    yy : float
    lowest, highest : (p + 1,) arrays
        Of the columns [X y]; empty if they were not asked for.
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
    >>> moments.without(Moments.of(X[3:], y[3:])).x_mean
    array([2., 5.])
    >>> gram = moments.gram()
    >>> gram.side, gram.matrix.shape, gram.total
    ('features', (2, 2), 5.0)
    """

    n: float = 0.0
    n_rows: int = 0
    mean: Array = field(default_factory=_nothing)
    rest: Array = field(default_factory=_nothing)
    xx: Array = field(default_factory=_nothing)
    xy: Array = field(default_factory=_nothing)
    yy: float = 0.0
    lowest: Array = field(default_factory=_nothing)
    highest: Array = field(default_factory=_nothing)
    names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        for name in ("mean", "rest", "xx", "xy"):
            setattr(self, name, read_only(getattr(self, name)))

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
        block = Block(X=X, y=y, weights=weights, first=0)
        merged = self.merge(replace(block_moments(block), names=names), X.shape[1])
        self.__dict__.update(vars(merged))
        return self

    def merge(self, other: "Moments", p: int | None = None) -> "Moments":
        """Return the moments of the rows of both; neither is changed. Cost: O(p^2)."""
        p = len(other.xy) if p is None else p
        if self.n_rows and len(self.xy) != p and (other.n_rows or p):
            raise InvalidInputError(
                f"the rows to add have {p} column(s), those before had {len(self.xy)}; all rows "
                "must have the same columns."
            )
        require_same_columns(other.names, self.names, "the block of rows")
        names = self.names or other.names
        if not (self.n_rows and other.n_rows):
            return replace(self if self.n_rows else other, names=names)
        return replace(
            self._with(other, 1),
            lowest=np.minimum(self.lowest, other.lowest),
            highest=np.maximum(self.highest, other.highest),
            names=names,
        )

    def without(self, other: "Moments") -> "Moments":
        """Return the moments of the rows that are not among those of the other; no extrema.

        Digits are lost relative to the moments of all rows. Cost: O(p^2).
        """
        if not other.n_rows:
            return replace(self, lowest=_nothing(), highest=_nothing())
        return self._with(other, -1)

    def _with(self, other: "Moments", sign: int) -> "Moments":
        """Return the moments with rows added, or taken off; no extrema."""
        n, combined = self.n + sign * other.n, np.add if sign > 0 else np.subtract
        step = (other.mean - self.mean) + (other.rest - self.rest)
        root = np.sqrt(self.n * (other.n / n)) * step
        mean, rest = _two_sum(self.mean, self.rest + sign * step * (other.n / n))
        d, only_squares = root[:-1], self.xx.ndim == 1
        xx = d * d if only_squares else np.multiply.outer(d, d)  # the only new matrix
        xx += other.xx
        return Moments(
            n=n,
            n_rows=self.n_rows + sign * other.n_rows,
            mean=mean,
            rest=rest,
            xx=combined(self.xx, xx, out=xx),
            xy=combined(self.xy, other.xy + root[-1] * d),
            yy=max(float(combined(self.yy, other.yy + float(root[-1]) ** 2)), 0.0),
            names=self.names,
        )

    def lowered(self, level: float) -> "Moments":
        """Return the moments with a constant taken off the response; no extrema."""
        mean, rest = self.mean.copy(), self.rest.copy()
        mean[-1], rest[-1] = (mean[-1] - level) + rest[-1], 0.0
        return replace(self, mean=mean, rest=rest, lowest=_nothing(), highest=_nothing())

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
        gram = self.standardized(self.units(scale))
        warn_constant_columns(np.isinf(gram.units.x_scale), gram.units.names)
        return gram

    @property
    def x_mean(self) -> Array:
        """Means of the predictors."""
        if not self.n_rows:
            raise NotAvailableError("no rows have been added yet; call partial_fit first.")
        return self.mean[:-1]

    @property
    def y_mean(self) -> float:
        """Mean of the response."""
        return float(self.mean[-1]) if len(self.x_mean) else np.nan

    @property
    def squares(self) -> Array:
        """Sums of squares of the centred columns of X. Shape (p,)."""
        # Those of a constant column are rounding errors of either sign.
        return np.maximum(self.xx if self.xx.ndim == 1 else self.xx.diagonal(), 0.0)

    @property
    def magnitude(self) -> Array:
        """Largest absolute values of [X y]. Shape (p + 1,)."""
        return np.maximum(np.abs(self.lowest), np.abs(self.highest))

    @property
    def constant(self) -> npt.NDArray[np.bool_]:
        """Which columns of X do not vary. Shape (p,)."""
        return constant_between(self.lowest[:-1], self.highest[:-1])

    @property
    def y_varies(self) -> bool:
        """Whether the response varies."""
        return not constant_between(self.lowest[-1], self.highest[-1], "y")

    def units(
        self,
        scale: bool,
        names: tuple[str, ...] | None = None,
        row_scale: Array | None = None,
    ) -> Units:
        """Return how to standardise by the rules of `standardize`, with the same errors."""
        require_enough(self.n_rows, self.n)
        constant = constant_between(self.lowest[:-1], self.highest[:-1], scale=scale)
        y_varies = self.y_varies
        return Units(
            n=self.n,
            n_rows=self.n_rows,
            x_mean=read_only(self.mean[:-1]),
            x_scale=read_only(scales_of(self.squares, constant, self.n, scale=scale)),
            y_mean=float(self.mean[-1] if y_varies else self.lowest[-1]),
            row_scale=row_scale,
            names=names or self.names,
        )

    def response(self, units: Units) -> tuple[Array, float]:
        """Return X'y and |y|^2 of the standardised data; both zero if y does not vary."""
        varies = float(not len(self.lowest) or self.y_varies)
        return read_only(varies * self.xy / units.x_scale), varies * self.yy

    def standardized(self, units: Units, **maps: Any) -> Gram:
        """Return the Gram matrix X'X of standardised data."""
        factor = 1.0 / units.x_scale
        # The product of the factors first: it keeps the matrix symmetric to the last digit.
        matrix = np.multiply.outer(factor, factor)
        matrix *= self.xx
        response, total = self.response(units)
        matrix, side = read_only(matrix), "features"
        return formed(matrix, side=side, units=units, response=response, total=total, **maps)

    def __repr__(self) -> str:
        return one_line(self, f"{self.n_rows} rows", n=float(self.n), p=len(self.xy))


# The moments of rows in memory
# -----------------------------
#
# Columns are shifted by their `Columns.centre` c, in blocks that fit the cache; not at all if that
# is zero. With A = X - 1c', d = A'1 / n and the mean c + d,
#
#     (X - 1 mean')'(X - 1 mean') = A'A - n dd',
#
# where nothing cancels, as d is small.


def moments_of(
    X: Array,
    y: Array,
    weights: Array | None,
    centre: Array,
    *,
    products: bool = True,
    names: tuple[str, ...] | None = None,
) -> Moments:
    """Return the moments of rows in memory with positive weights, without extrema.

    Cost: one pass over X and O(n p^2) time; memory O(p^2).
    """
    root = None if weights is None else np.sqrt(weights)
    ones = np.ones(len(X)) if root is None else root
    n = float(len(X)) if weights is None else float(weights.sum())
    centred, y_mean, y_rest = about_mean(y, weights)
    sides = np.stack([ones, centred if root is None else centred * root])
    xx, first = _sums(X, sides, root, centre, products)
    d = first[0] / n
    if d.any():
        xx -= n * (d * d if xx.ndim == 1 else np.multiply.outer(d, d))
    mean, rest = _two_sum(np.append(centre, y_mean), np.append(d, y_rest))
    return Moments(
        n=n,
        n_rows=len(X),
        mean=mean,
        rest=rest,
        xx=xx,
        xy=first[1],  # the other side is centred
        yy=float(sides[1] @ sides[1]),
        names=names,
    )


def block_moments(block: Block, *, products: bool = True) -> Moments:
    """Return the moments of a block of rows, with extrema; empty if its weights are zero."""
    X, y, weights = weighed(block)
    if not len(X):
        return Moments()
    columns = Columns.of(X)
    # Whether a column is too small, only all rows can tell.
    constant_between(columns.lowest, np.maximum(columns.highest, 1.0))
    constant_between(y.min(), max(y.max(), 1.0), "y")
    found = moments_of(X, y, weights, columns.centre, products=products)
    return replace(
        found,
        lowest=np.append(columns.lowest, y.min()),
        highest=np.append(columns.highest, y.max()),
    )


def _sums(
    X: Array, sides: Array, root: Array | None, shift: Array, products: bool
) -> tuple[Array, Array]:
    """Return A'A (or its diagonal) and ``sides`` times A, with A the shifted, weighted rows."""
    xx, first = _nothing(), np.zeros((2, X.shape[1]))
    for rows, part in shifted_blocks(X, shift, root):
        squares = part.T @ part if products else np.einsum("ij,ij->j", part, part)
        xx = np.add(xx, squares, out=xx) if xx.size else squares
        first += sides[:, rows] @ part
    return xx, first


def shifted_blocks(
    X: Array, shift: Array, row_scale: Array | None
) -> Iterator[tuple[slice, Array]]:
    """Go through R (X - 1 shift') in blocks of rows that fit the cache, each in the same place.

    X itself is the only block if there is nothing to do.
    """
    if row_scale is None and not shift.any():
        yield slice(0, len(X)), X
        return
    blocks = row_blocks(X, _PRODUCTS)
    place = np.empty((blocks[0].stop, X.shape[1]))
    for rows in blocks:
        part = np.subtract(X[rows], shift, out=place[: rows.stop - rows.start])
        if row_scale is not None:
            part *= row_scale[rows, None]
        yield rows, part


def _two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """Return fl(a + b) and its rounding error (Knuth)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


# Gram matrices of tall and of very wide data in memory, in one pass and without a copy
# --------------------------------------------------------------------------------------


def gram_in_blocks(given: Observations, *, scale: bool = True) -> Gram | None:
    """Return the Gram matrix of standardised data in memory, which are never made as a whole.

    X'X where there are more rows than columns, XX' where rows are so long that columns are cut;
    None between them.
    """
    X, columns = given.X, given.columns
    response = centre_response(given.y, given.row_scale)
    wide = len(X) <= X.shape[1]
    if wide:
        if len(column_blocks(X)) == 1:
            return None
        matrix, mean, rest, x_scale = _kernel(given, scale)
    else:
        found = moments_of(X, given.y, given.weights, columns.centre, names=given.names)
        mean, rest = found.x_mean, found.rest[:-1]
        x_scale = scales_of(found.squares, columns.constant, given.n, scale=scale)
    units = given.units(mean, x_scale, response.mean)
    rows = InMemory(X=X, shift=units.x_mean)
    products = StandardProducts(stored=rows, units=units, rest=rest)
    maps: dict[str, Any] = {
        "to_samples": products.to_samples,
        "to_features": products.to_features,
        "y": response.values,
    }
    if not wide:
        return found.standardized(units, **maps)
    y = response.values
    return formed(matrix, side="samples", units=units, response=y, total=float(y @ y), **maps)


def _kernel(given: Observations, scale: bool) -> tuple[Array, Array, Array, Array]:
    """Return XX' of standardised data, block by block, and means, their rests and scales."""
    X, columns, root = given.X, given.columns, given.row_scale
    matrix, (rest, x_scale) = np.zeros((len(X), len(X))), np.empty((2, X.shape[1]))
    blocks = column_blocks(X)
    place = np.empty((len(X), blocks[0].stop))
    for here in blocks:
        values = place[:, : here.stop - here.start]
        part = centre_some(X, here, columns, given.weights, given.n, scale, values)
        rest[here], x_scale[here] = part.mean, part.scale
        if root is not None:
            values *= root[:, None]
        matrix += values @ values.T
    return matrix, *_two_sum(columns.centre, rest), x_scale
