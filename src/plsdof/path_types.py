"""The paths of the methods: PLS with its scores and loadings, principal components, ridge."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg

from plsdof._validation import Array, read_only
from plsdof.filters import (
    PLSFilter,
)
from plsdof.models import Integers
from plsdof.path import Path


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ComponentPath(Path):
    """A path over the number of components 0, 1, ..., M."""

    @property
    def n_components(self) -> Integers:
        """Numbers of components 0, 1, ..., M."""
        return np.arange(len(self.dof))


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PCRPath(ComponentPath):
    """Principal components regression for 0..M components, as `pcr_path` makes it.

    Examples
    --------
    >>> from plsdof import pcr_path
    >>> pcr_path([[1.0, 2.0], [2.0, 1.0], [3.0, 5.0], [4.0, 4.0]], [1.0, 2.0, 3.0, 5.0])
    PCRPath(3 models, n=4, p=2, rank=2, solver=...)
    """

    @property
    def default_rule(self) -> str:
        """The order of the components ignores y, so that good ones may come after bad ones."""
        return "global-minimum"


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PLSPath(ComponentPath):
    """Partial Least Squares for 0..M components, with scores, weights and loadings.

    Scores, weights, loadings and rotations follow scikit-learn's PLSRegression (signs aside).

    Examples
    --------
    >>> from plsdof import pls_path
    >>> path = pls_path([[1.0, 2.0], [2.0, 1.0], [3.0, 5.0], [4.0, 4.0]], [1.0, 2.0, 3.0, 5.0])
    >>> path.dof.round(2), path.x_scores.shape, path.x_weights.shape
    (array([1.  , 2.15, 3.  ]), (4, 2), (2, 2))
    """

    filter: PLSFilter

    @cached_property
    def x_weights(self) -> Array:
        """Orthonormal weight vectors W in standardised units. Shape (p, M)."""
        return read_only(self.decomposition.to_features(self.filter.weights))

    @cached_property
    def x_scores(self) -> Array:
        """Orthogonal scores of the training rows, ``X @ x_rotations``. Shape (n_rows, M)."""
        return read_only(self.to_rows(self.filter.scores * self.filter.diagonal))

    @cached_property
    def x_loadings(self) -> Array:
        """Loadings P = X't / (t't), standardised units. Shape (p, M)."""
        S = self.decomposition.singular_values[:, None]
        return read_only(
            self.decomposition.to_features(S * self.filter.scores / self.filter.diagonal)
        )

    @cached_property
    def x_rotations(self) -> Array:
        """R = W (P'W)^{-1}: scores are standardised X times R. Shape (p, M)."""
        return read_only(self.decomposition.to_features(self._rotated_rotations()))

    @cached_property
    def y_loadings(self) -> Array:
        """Coefficients of y on the scores. Shape (M,)."""
        return read_only(self.filter.loadings / self.filter.diagonal)

    def transform(self, X_new: Any) -> Array:
        """Return the scores of new rows, dense or sparse, on all components. Shape (n_new, M)."""
        return self.centred_times(X_new, self.x_rotations / self.units.x_scale[:, None])

    def _rotated_rotations(self) -> Array:
        # X W = T L, so T diag(L) = X (W L^{-1} diag(L)); L is upper bidiagonal.
        f = self.filter
        M = len(f.diagonal)
        if M == 0:
            return f.weights
        banded = np.zeros((2, M))
        banded[0] = f.diagonal
        banded[1, :-1] = f.superdiagonal[:-1]
        solved: Array = scipy.linalg.solve_banded((1, 0), banded, f.weights.T, check_finite=False)
        return solved.T * f.diagonal


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RidgePath(Path):
    """Ridge regression, one model per penalty in ``alphas``, as `ridge_path` makes it.

    Examples
    --------
    >>> from plsdof import ridge_path
    >>> path = ridge_path([[1.0], [2.0], [4.0]], [1.0, 2.0, 3.0], alphas=[2.0, 1e-9])
    >>> path.alphas, path.dof.round(2)
    (array([2.e+00, 1.e-09]), array([1.5, 2. ]))
    """

    alphas: Array

    @property
    def parameters(self) -> Array:
        """The penalties, in the order given."""
        return self.alphas

    @property
    def parameter_name(self) -> str:
        """Models differ in "alpha"."""
        return "alpha"

    def simplest_first(self) -> Integers:
        """Return the rows from the largest penalty to the smallest."""
        return np.argsort(-self.alphas, kind="stable")

    def label(self, index: int) -> str:
        """Return the penalty of a row, in words."""
        return f"alpha = {self.alphas[index]:g}"
