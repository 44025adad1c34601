"""Columns of a table, each divided by a number of its own.

*Unit variance* is what ``scale=True`` does, as a transformer. *Adaptive columns* are those times
the size of their coefficients in a ridge regression: columns that say nothing about y shrink, so
that components need not. They look at y, so Degrees of Freedom that take them for given are too
small; rows left out, which make them again, are right.
"""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin

from plsdof._core.inputs import Array
from plsdof._core.standardize import CONSTANT_ULPS


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
    >>> AdaptiveColumns().fit(X, 2 * X[:, 1]).transform(X).std(axis=0).round(1)
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
