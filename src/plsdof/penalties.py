"""Quadratic penalties P on coefficients, through a factor of the metric A = I + P.

With A = C'C, C upper triangular, the map R = C^{-1} satisfies R R' = (I + P)^{-1}. Differences of
order d couple d neighbours only, so that A is banded and nothing of size p x p is needed.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
import scipy.linalg
from scipy.linalg import lapack

from plsdof._validation import Array, as_count, as_matrix, read_only
from plsdof.errors import InvalidInputError, MissingExtraError

_EPS = float(np.finfo(np.float64).eps)
# A given matrix is treated as banded if its bands take less than this share of it.
_WORTH_BANDS = 1 / 8
# Negative eigenvalues up to this share of the largest one are rounding.
_INDEFINITE = 1e-10


class Metric(Protocol):
    """The matrix A = I + P = C'C, seen through what has to be done with it."""

    @property
    def rounding(self) -> float:
        """By how much rounding of C may change X C^{-1}, relatively."""

    def apply(self, vectors: Array) -> Array:
        """Return A @ vectors. Shape (p, k)."""

    def whiten(self, X: Array) -> Array:
        """Return X @ C^{-1}. Shape (n, p)."""

    def unwhiten(self, vectors: Array) -> Array:
        """Return C^{-1} @ vectors. Shape (p, k)."""


@dataclass(frozen=True, kw_only=True, eq=False)
class BandedMetric:
    """A and its factor C in LAPACK's upper banded storage, (b + 1, p) each."""

    bands: Array
    factor: Array
    rounding: float

    def apply(self, vectors: Array) -> Array:
        """Return A @ vectors. Cost: O(b p k)."""
        return _banded_product(self.bands, vectors)

    def whiten(self, X: Array) -> Array:
        """Return X @ C^{-1}. Cost: O(b p n)."""
        return np.ascontiguousarray(self._solve(X.T, "T").T)

    def unwhiten(self, vectors: Array) -> Array:
        """Return C^{-1} @ vectors. Cost: O(b p k)."""
        return self._solve(vectors, "N")

    def _solve(self, right_side: Array, transposed: str) -> Array:
        if right_side.size == 0:
            return right_side
        solution, _ = lapack.dtbtrs(self.factor, right_side, uplo="U", trans=transposed)
        return np.asarray(solution)


@dataclass(frozen=True, kw_only=True, eq=False)
class DenseMetric:
    """A and its upper Cholesky factor, (p, p) each."""

    matrix: Array
    factor: Array
    rounding: float

    def apply(self, vectors: Array) -> Array:
        """Return A @ vectors. Cost: O(p^2 k)."""
        return self.matrix @ vectors

    def whiten(self, X: Array) -> Array:
        """Return X @ C^{-1}. Cost: O(p^2 n)."""
        solved = scipy.linalg.solve_triangular(self.factor, X.T, trans="T", check_finite=False)
        return np.ascontiguousarray(solved.T)

    def unwhiten(self, vectors: Array) -> Array:
        """Return C^{-1} @ vectors. Cost: O(p^2 k)."""
        return np.asarray(scipy.linalg.solve_triangular(self.factor, vectors, check_finite=False))


@lru_cache(maxsize=32)
def difference_metric(sizes: tuple[int, ...], order: int, strength: float) -> BandedMetric:
    """Return A = I + strength D'D, D the differences of given order within blocks of columns.

    C comes from rotations of the rows of sqrt(strength) D into the identity, so that A is never
    rounded: the error is eps |A|^(1/2) instead of the eps |A| of a Cholesky factor, which
    matters because smoothing over k columns takes a strength of about k^(2 order).

    Cost: O(order^2 p) time, O(order p) memory.
    """
    bands = strength * _difference_bands(sizes, order)
    bands[-1] += 1.0
    factor = _rotated_factor(sizes, order, math.sqrt(strength))
    kept = min(factor.shape)  # fewer columns than bands leave bands without entries
    return BandedMetric(
        bands=read_only(bands),
        factor=read_only(factor[-kept:]),
        rounding=_EPS * math.sqrt(_row_sum(bands)),
    )


def matrix_metric(penalty: Array, strength: float) -> BandedMetric | DenseMetric:
    """Return A = I + strength P for a given matrix, banded if P has few bands.

    Cost: O(p^3) time for a dense matrix, O(b^2 p) for one with b bands.
    """
    p = len(penalty)
    _, width = scipy.linalg.bandwidth(penalty)
    if width < _WORTH_BANDS * p:
        bands = np.zeros((width + 1, p))
        for k in range(width + 1):
            bands[width - k, k:] = strength * np.diagonal(penalty, k)
        bands[-1] += 1.0
        factor = scipy.linalg.cholesky_banded(bands, check_finite=False)
        rounding = _EPS * _row_sum(bands)
        return BandedMetric(bands=read_only(bands), factor=read_only(factor), rounding=rounding)
    matrix = strength * penalty + np.eye(p)
    return DenseMetric(
        matrix=read_only(matrix),
        factor=read_only(np.linalg.cholesky(matrix).T),
        rounding=_EPS * float(np.abs(matrix).sum(axis=1).max()),
    )


def difference_penalty(sizes: int | Sequence[int], order: int = 2) -> Array:
    """Return P = D'D, the squared differences of neighbouring coefficients, as a matrix.

    b'Pb is the sum of squared differences of the given order within each block of coefficients.

    Parameters
    ----------
    sizes : int or sequence of int
        Number of coefficients, or of coefficients in each block (one block per variable).
    order : int
        1 penalises steps, 2 bends, 3 changes of curvature. Blocks with no more coefficients than
        that are not penalised.

    Returns
    -------
    (p, p) array
        With p the sum of the sizes; dense. `penalized_pls_path` makes its own, banded.

    Examples
    --------
    >>> difference_penalty(4, order=1)
    array([[ 1., -1.,  0.,  0.],
           [-1.,  2., -1.,  0.],
           [ 0., -1.,  2., -1.],
           [ 0.,  0., -1.,  1.]])
    """
    order = as_count(order, "order", minimum=1)
    listed = [sizes] if isinstance(sizes, int | np.integer) else list(sizes)
    bands = _difference_bands([as_count(one, "sizes", minimum=1) for one in listed], order)
    return _banded_product(bands, np.eye(bands.shape[1]))


def as_penalty(penalty: Any, n_features: int) -> Array:
    """Return a symmetric positive semi-definite matrix with one row per feature."""
    matrix = as_matrix(penalty, "penalty")
    if matrix.shape != (n_features, n_features):
        raise InvalidInputError(
            f"penalty must have one row and one column per feature, shape "
            f"{(n_features, n_features)}; got shape {matrix.shape}."
        )
    largest = float(np.abs(matrix).max())
    if float(np.abs(matrix - matrix.T).max()) > _INDEFINITE * largest:
        raise InvalidInputError("penalty must be symmetric; use (P + P.T) / 2 if b'Pb is meant.")
    lowest = float(np.linalg.eigvalsh(matrix)[0])
    if lowest < -_INDEFINITE * n_features * largest:
        raise InvalidInputError(
            f"penalty must be positive semi-definite, so that b'Pb is never negative; its smallest "
            f"eigenvalue is {lowest:.3g}."
        )
    return matrix


def as_block_sizes(blocks: Any, n_features: int) -> tuple[int, ...]:
    """Return the sizes of the blocks of columns; an int is the size of every block."""
    if blocks is None:
        return (n_features,)
    if isinstance(blocks, int | np.integer):
        size = as_count(blocks, "blocks", minimum=1)
        sizes = (size,) * (n_features // size)
    else:
        sizes = tuple(as_count(one, "blocks", minimum=1) for one in blocks)
    if sum(sizes) != n_features:
        raise InvalidInputError(
            f"blocks must cover the {n_features} column(s) of X; got {blocks!r:.80}, which covers "
            f"{sum(sizes)}. Give the number of columns of each variable, or one number for all."
        )
    return sizes


@dataclass(frozen=True, kw_only=True, eq=False)
class SplineBasis:
    """B-splines of every variable side by side, for an additive model.

    Attributes
    ----------
    features : (n, q) array
        Basis functions at the training rows, those of the first variable first.
    blocks : tuple of int
        Number of basis functions of each variable.
    names : tuple of str
        Names of the basis functions.
    transformer : sklearn.preprocessing.SplineTransformer
    """

    features: Array
    blocks: tuple[int, ...]
    names: tuple[str, ...]
    transformer: Any

    def transform(self, X_new: Any) -> Array:
        """Return the basis functions at new rows. Shape (n_new, q)."""
        return np.asarray(self.transformer.transform(X_new), dtype=np.float64)

    def penalty(self, order: int = 2) -> Array:
        """Return the (q, q) difference penalty, within the blocks."""
        return difference_penalty(self.blocks, order)


def spline_basis(
    X: Any,
    *,
    n_knots: int = 10,
    degree: int = 3,
    knots: str = "uniform",
    extrapolation: str = "linear",
) -> SplineBasis:
    """Replace every column of X by B-splines (needs scikit-learn).

    The additive model of the references: sums of smooth functions, one per variable, whose
    coefficients `penalized_pls_path` smooths with ``blocks=basis.blocks``.

    Parameters
    ----------
    X : (n, p) array or data frame
    n_knots, degree, knots, extrapolation
        Of scikit-learn's SplineTransformer. Difference penalties mean smoothness of the function
        for equidistant knots ("uniform").

    References
    ----------
    P. H. C. Eilers and B. D. Marx (1996), Flexible smoothing with B-splines and penalties,
    Statistical Science 11, 89-121.

    Examples
    --------
    >>> basis = spline_basis(np.linspace(0, 1, 20).reshape(-1, 2), n_knots=4)
    >>> basis.features.shape, basis.blocks
    ((10, 12), (6, 6))
    """
    try:
        from sklearn.preprocessing import SplineTransformer
    except ImportError as error:
        raise MissingExtraError("scikit-learn", "sklearn", "A B-spline basis") from error
    p = as_matrix(X, min_rows=2).shape[1]
    transformer = SplineTransformer(
        n_knots=as_count(n_knots, "n_knots", minimum=2),
        degree=as_count(degree, "degree"),
        knots=knots,
        extrapolation=extrapolation,
    ).fit(X)
    features = np.asarray(transformer.transform(X), dtype=np.float64)
    return SplineBasis(
        features=read_only(features),
        blocks=(features.shape[1] // p,) * p,
        names=tuple(map(str, transformer.get_feature_names_out())),
        transformer=transformer,
    )


def _difference_bands(sizes: Sequence[int], order: int) -> Array:
    """Return D'D in upper banded storage, (order + 1, p)."""
    weights = [(-1.0) ** k * math.comb(order, k) for k in range(order + 1)]
    bands = np.zeros((order + 1, sum(sizes)))
    start = 0
    for size in sizes:
        n_differences = max(size - order, 0)
        for k in range(order + 1):
            for a in range(order + 1 - k):
                first = start + a + k
                bands[order - k, first : first + n_differences] += weights[a] * weights[a + k]
        start += size
    return bands


def _banded_product(bands: Array, vectors: Array) -> Array:
    """Multiply a symmetric matrix in upper banded storage with (p, k) vectors."""
    product: Array = bands[-1][:, None] * vectors
    for k in range(1, min(bands.shape)):
        band = bands[-1 - k, k:][:, None]
        product[:-k] += band * vectors[k:]
        product[k:] += band * vectors[:-k]
    return product


def _row_sum(bands: Array) -> float:
    """Return the largest absolute row sum, an upper bound of the largest eigenvalue."""
    ones = np.ones((bands.shape[1], 1))
    return float(_banded_product(np.abs(bands), ones).max())


def _rotated_factor(sizes: Sequence[int], order: int, root: float) -> Array:
    """Return C with C'C = I + root^2 D'D in upper banded storage, by Givens rotations."""
    difference = [root * (-1.0) ** k * math.comb(order, k) for k in range(order + 1)]
    # Row i of C, from its diagonal to the right. Plain numbers: rows have order + 1 entries.
    rows = [[1.0] + [0.0] * order for _ in range(sum(sizes))]
    start = 0
    for size in sizes:
        for first in range(start, start + size - order):
            moved = difference
            for i in range(first, first + order + 1):
                kept = rows[i]
                length = math.hypot(kept[0], moved[0])
                c, s = kept[0] / length, moved[0] / length
                rows[i] = [c * a + s * b for a, b in zip(kept, moved, strict=True)]
                moved = [c * b - s * a for a, b in zip(kept[1:], moved[1:], strict=True)] + [0.0]
        start += size
    factor = np.zeros((order + 1, len(rows)))
    for k, diagonal in enumerate(np.array(rows).T):
        factor[order - k, k:] = diagonal[: len(rows) - k]
    return factor
