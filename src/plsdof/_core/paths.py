"""The paths of the methods: PLS with its scores and loadings, principal components, ridge."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.linalg

from plsdof._core.choice import Rule
from plsdof._core.display import plural
from plsdof._core.filters import PLSFilter
from plsdof._core.inputs import Array, as_count, as_matrix, read_only
from plsdof._core.left_out import Leverage, Problem
from plsdof._core.opls import OPLS, rotated
from plsdof._core.path import Integers, Path
from plsdof._core.standardize import Units
from plsdof._core.threads import cached_property
from plsdof.errors import InvalidInputError


def predictors_of(scores: Array, loadings: Array, units: Units) -> Array:
    """Return ``mean + scale * T P'`` for scores of the first components. Shape (n_new, p)."""
    size = scores.shape[1]
    if size > loadings.shape[1]:
        raise InvalidInputError(
            f"scores have {plural(size, 'column')}, but the path has "
            f"{plural(loadings.shape[1], 'component')}; "
            "give one column per component, as transform returns them."
        )
    scale = np.where(np.isfinite(units.x_scale), units.x_scale, 0.0)
    return np.asarray(scores @ (loadings[:, :size] * scale[:, None]).T + units.x_mean)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ComponentPath(Path):
    """A path over the number of components 0, 1, ..., M, with scores and loadings."""

    @property
    def rotated_scores(self) -> Array:
        """Orthonormal scores in rotated coordinates. Shape (r, M)."""
        raise NotImplementedError

    @property
    def score_lengths(self) -> Array:
        """(Weighted) lengths of the columns of `x_scores`. Shape (M,)."""
        raise NotImplementedError

    @property
    def rotated_rotations(self) -> Array:
        """Directions of `x_rotations`, in rotated coordinates. Shape (r, M)."""
        raise NotImplementedError

    @cached_property
    def x_scores(self) -> Array:
        """Orthogonal scores of the training rows, ``X @ x_rotations``. Shape (n_rows, M)."""
        return read_only(self.exact.to_rows(self.rotated_scores * self.score_lengths))

    @cached_property
    def x_loadings(self) -> Array:
        """Loadings P = X't / (t't), standardised units. Shape (p, M)."""
        S = self.exact.decomposition.singular_values[:, None]
        return read_only(
            self.exact.decomposition.to_features(S * self.rotated_scores / self.score_lengths)
        )

    @cached_property
    def x_rotations(self) -> Array:
        """Scores are standardised predictors times these. Shape (p, M)."""
        return read_only(self.exact.decomposition.to_features(self.rotated_rotations))

    @property
    def y_loadings(self) -> Array:
        """Coefficients of y on the scores. Shape (M,)."""
        return read_only(self.rotated_scores.T @ self.exact.spectrum.z / self.score_lengths)

    @property
    def n_components(self) -> Integers:
        """Numbers of components 0, 1, ..., M."""
        return np.arange(len(self))

    def leverage_of(self, weights: Array | None = None) -> Leverage:
        """Return what the leverages of new rows come from: of all models, or of an average."""
        size = len(self) - 1 if weights is None else int(np.flatnonzero(weights)[-1])
        run = None if self.rows.is_dual or weights is None else self.store.run(size)
        if run is None:
            R, mean, n = self._rotations(), self.exact.units.x_mean, self.exact.spectrum.n
        else:
            R, mean, n = run.rotations(size), run.centre[0], self.rows.require().n
        # A score is in all models with at least as many components.
        size = min(size, len(R))
        shares = np.tri(size + 1, size, -1)
        if weights is not None:
            shares = np.cumsum(weights[::-1])[::-1][1 : size + 1]
        return Leverage(rotations=R[:size], shares=shares, mean=mean, n=float(n))

    def _rotations(self) -> Array:
        """Return what turns centred rows into orthonormal scores, original units. (M, p)."""
        return (self.x_rotations / self.exact.units.x_scale[:, None] / self.score_lengths).T

    def transform(self, X_new: Any) -> Array:
        """Return the scores of new rows, dense or sparse, on all components. Shape (n_new, M)."""
        return self.exact.standardized_times(self.rows.new(X_new), self.x_rotations)

    def inverse_transform(self, scores: Any) -> Array:
        """Return the predictors that scores stand for, ``mean + scale * T P'``. (n_new, p).

        Scores of the first k components are enough; columns that do not vary get their mean.
        """
        return predictors_of(as_matrix(scores, "scores"), self.x_loadings, self.exact.units)

    def predict_components(self, X_new: Any, components: Sequence[int]) -> Array:
        """Predict new rows from some components alone, such as [2, 3]. Shape (n_new,).

            yhat = ybar + sum_j t_j q_j,      j in components (counted from 1)

        with scores t_j and y-loadings q_j. All of 1..m together are the model with m components.

        Examples
        --------
        >>> from plsdof import pls_path
        >>> X = [[1.0, 2.0], [2.0, 1.0], [3.0, 5.0], [4.0, 4.0]]
        >>> path = pls_path(X, [1.0, 2.0, 3.0, 5.0])
        >>> path.predict_components(X, [1]).round(2), path.predict_components(X, [2]).round(2)
        (array([1.2 , 1.63, 3.87, 4.3 ]), array([2.3 , 3.37, 2.13, 3.2 ]))
        """
        M = len(self) - 1
        numbers = [as_count(one, "components", minimum=1) for one in _listed(components)]
        if len(set(numbers)) < len(numbers) or max(numbers, default=0) > M:
            raise InvalidInputError(
                f"components must be different numbers in 1..{M}; got {components!r}. The first "
                "component is 1."
            )
        kept = np.array(numbers, dtype=np.intp) - 1
        q: Array = self.y_loadings
        return np.asarray(self.exact.units.y_mean + self.transform(X_new)[:, kept] @ q[kept])


def _listed(values: Any) -> list[Any]:
    return list(values) if isinstance(values, Iterable) else [values]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PCRPath(ComponentPath):
    """Principal components regression for 0..M components, as `pcr_path` makes it.

    Examples
    --------
    >>> from plsdof import pcr_path
    >>> len(pcr_path([[1.0, 2.0], [2.0, 1.0], [3.0, 5.0], [4.0, 4.0]], [1.0, 2.0, 3.0, 5.0]))
    3
    """

    _usual_rule: ClassVar[Rule] = "global-minimum"

    @property
    def directions(self) -> Integers:
        """Which eigenvalue of X'X belongs to which component, largest 0. Shape (M,)."""
        added = np.diff(self.exact.filter.factors, axis=0)
        return np.asarray(np.argmax(added, axis=1), dtype=np.intp)

    @property
    def score_lengths(self) -> Array:
        """Singular values of the chosen directions. Shape (M,)."""
        return np.asarray(np.abs(self.rotated_scores).T @ self.exact.decomposition.singular_values)

    @property
    def rotated_rotations(self) -> Array:
        """Principal directions V: scores are standardised X times V, and V has the loadings."""
        return self.rotated_scores

    @cached_property
    def rotated_scores(self) -> Array:
        """The chosen directions, in rotated coordinates. Shape (r, M).

        The largest entry of each in the predictors is positive, as in scikit-learn's PCA.
        """
        columns = np.zeros((len(self.exact.spectrum.z), len(self) - 1))
        columns[self.directions, np.arange(columns.shape[1])] = 1.0
        V = self.exact.decomposition.to_features(columns)
        largest = np.argmax(np.abs(V), axis=0)
        return columns * np.where(V[largest, np.arange(V.shape[1])] < 0, -1.0, 1.0)


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

    @property
    def filter(self) -> PLSFilter:
        found = self.exact.filter
        assert isinstance(found, PLSFilter)
        return found

    @cached_property
    def x_weights(self) -> Array:
        """Orthonormal weight vectors W in standardised units. Shape (p, M)."""
        return read_only(self.exact.decomposition.to_features(self.filter.weights))

    @property
    def rotated_scores(self) -> Array:
        """Orthonormal scores in rotated coordinates. Shape (r, M)."""
        return self.filter.scores

    @property
    def score_lengths(self) -> Array:
        """The diagonal of the bidiagonal matrix L. Shape (M,)."""
        return self.filter.diagonal

    @property
    def y_loadings(self) -> Array:
        """Coefficients of y on the scores. Shape (M,)."""
        return read_only(self.filter.loadings / self.filter.diagonal)

    def opls(self, m: int) -> OPLS:
        """Rotate m components: one that predicts, and m - 1 that are orthogonal to y.

        O-PLS (Trygg & Wold 2002, Journal of Chemometrics 16, 119-128) with m - 1 orthogonal
        components has the same fit, coefficients and Degrees of Freedom as PLS with m.

        Examples
        --------
        >>> from plsdof import pls_path
        >>> from plsdof.datasets import load_ozone
        >>> X, y = load_ozone(return_X_y=True)
        >>> path = pls_path(X, y, 4)
        >>> found = path.opls(3)
        >>> found, bool(found.dof == path.dof[3])
        (OPLS(1 + 2 components, p=12), True)
        >>> bool(np.allclose(found.predict(X), path.fitted[3]))
        True
        """
        return rotated(self, m)

    @property
    def rotated_rotations(self) -> Array:
        """R = W (P'W)^{-1} in rotated coordinates. Shape (r, M)."""
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

    def problem(self) -> Problem | None:
        if self.given is None:
            return None
        scale = bool(self.recipe.options.get("scale", True))
        return Problem(given=self.rows.seen(), scale=scale)


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

    _usual_rule: ClassVar[Rule] = "global-minimum"

    @property
    def alphas(self) -> Array:
        """The penalties. Shape (K,)."""
        found = self.exact.filter.parameters
        assert found is not None
        return found

    @property
    def parameters(self) -> Array:
        """The penalties, in the order given."""
        return self.alphas

    @property
    def parameter_name(self) -> str:
        """Models differ in "alpha"."""
        return "alpha"

    def leverage_of(self, weights: Array | None = None) -> Leverage:
        """Return what the leverages 1/n + sum_i f_i u_i^2 of new rows come from, u = V'x / S."""
        exact = self.exact.complete()
        basis, factors = exact.decomposition.feature_basis, exact.filter.factors
        return Leverage(
            rotations=(basis / exact.decomposition.singular_values).T / exact.units.x_scale,
            shares=factors if weights is None else weights @ factors[: len(weights)],
            mean=exact.units.x_mean,
            n=float(exact.spectrum.n),
        )

    def simplest_first(self) -> Integers:
        return np.argsort(-self.alphas, kind="stable")

    def label(self, index: int) -> str:
        return f"alpha = {self.alphas[index]:g}"
