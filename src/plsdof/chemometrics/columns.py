"""Columns of a table, each divided by a number of its own.

*Unit variance* is what ``scale=True`` does, as a transformer. *Adaptive columns* are those times
the size of their coefficients in a ridge regression: columns that say nothing about y shrink, so
that components need not. They look at y, so Degrees of Freedom that take them for given are too
small; rows left out, which make them again, are right. *Equal blocks* divide all columns of a block
by one number.
"""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin

from plsdof._core.inputs import Array
from plsdof._core.standardize import CONSTANT_ULPS
from plsdof.errors import InvalidInputError


class UnitVariance(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Columns minus their means, divided by their standard deviations with divisor n - 1.

    A column that does not vary is divided by one.

    Examples
    --------
    >>> UnitVariance().fit_transform(np.array([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0]]))
    array([[-1.,  0.],
           [ 0.,  0.],
           [ 1.,  0.]])
    """

    mean_: Array
    scale_: Array

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Learn means and standard deviations."""
        rows = np.asarray(X, dtype=np.float64)
        self.n_features_in_ = rows.shape[1]
        self.mean_ = rows.mean(axis=0)
        constant = np.ptp(rows, axis=0) <= CONSTANT_ULPS * np.abs(rows).max(axis=0)
        self.scale_ = np.where(constant, 1.0, rows.std(axis=0, ddof=1))
        return self

    def transform(self, X: Any) -> Array:
        """Return rows in units of the columns. Shape (n, p)."""
        return np.asarray((np.asarray(X, dtype=np.float64) - self.mean_) / self.scale_)


class AdaptiveColumns(UnitVariance):
    """Columns of unit variance times |b_j| / max |b|, b the coefficients of a ridge regression.

    Its penalty is the median of the squared singular values of the columns: half of the directions
    are kept, half of them shrink. A column without a coefficient gets next to no weight.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(50, 3))
    >>> AdaptiveColumns().fit(X, 2 * X[:, 1]).transform(X).std(axis=0).round()
    array([0., 1., 0.])
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn means, standard deviations and coefficients."""
        super().fit(X)
        rows, response = self.transform(X), np.asarray(y, dtype=np.float64)
        U, S, Vt = np.linalg.svd(rows, full_matrices=False)
        shrunk = S / (S**2 + np.median(S**2) + np.finfo(float).tiny)
        b = np.abs((shrunk * (U.T @ (response - response.mean()))) @ Vt)
        # A scale must be a number: a column of no use is divided by a large one.
        weight = np.maximum(b / max(b.max(), np.finfo(float).tiny), np.finfo(float).eps)
        self.scale_ = self.scale_ / weight
        return self


class EqualBlocks(UnitVariance):
    """Blocks of columns, each divided by the root of its total variance: all have the same say.

    PLS of such columns is multiblock PLS (MB-PLS with deflation by the super-scores; Westerhuis,
    Kourti & MacGregor 1998, Journal of Chemometrics 12, 301-321), with its Degrees of Freedom.

    Parameters
    ----------
    sizes : tuple of int
        Number of columns of each block.

    Examples
    --------
    >>> X = np.array([[1.0, 5.0, 10.0], [2.0, 5.0, 30.0], [3.0, 8.0, 50.0]])
    >>> EqualBlocks((2, 1)).fit_transform(X).var(axis=0, ddof=1).round(2)
    array([0.25, 0.75, 1.  ])
    """

    def __init__(self, sizes: tuple[int, ...] = ()) -> None:
        self.sizes = sizes

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn means and the total variances of the blocks."""
        super().fit(X, y)
        self.scale_ = block_scales(np.var(X, axis=0, ddof=1), self.sizes)
        return self


def block_scales(variances: Array, sizes: tuple[int, ...]) -> Array:
    """Return the root of the total variance of its block for each column, 1 for zero. (p,)."""
    if sum(sizes) != len(variances) or 0 in sizes:
        raise InvalidInputError(
            f"blocks must cover the {len(variances)} columns; got sizes {sizes}, which cover "
            f"{sum(sizes)}. Write blocks:700+12 for 700 columns, then 12."
        )
    roots = np.sqrt(np.add.reduceat(variances, np.cumsum((0, *sizes))[:-1]))
    return np.repeat(np.where(roots > 0, roots, 1.0), sizes)
