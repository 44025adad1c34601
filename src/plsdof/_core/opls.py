"""OPLS, a rotation of Partial Least Squares: one component predicts, the others do not see y.

With X W = T L, T orthonormal scores and L upper bidiagonal, the orthogonal weights of Trygg & Wold
are w_2..w_m up to their signs. Their scores come from X w_2, ..., X w_m one after the other, each
without the earlier ones: with L_2..L_m = Q R they are T Q diag(R). What is left of X w_1 without
them is the predictive score. The fit, and with it the Degrees of Freedom, are those of PLS.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from plsdof._core.display import one_line
from plsdof._core.inputs import Array, as_count, read_only
from plsdof.errors import InvalidInputError, NotAvailableError

if TYPE_CHECKING:
    from plsdof._core.paths import PLSPath


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class OPLS:
    """One predictive and m - 1 orthogonal components; made by `PLSPath.opls`.

    Attributes
    ----------
    path : PLSPath
        The models that it rotates.
    scores : (n_rows,) array
        Predictive scores of the training rows, X_o w with X_o = X - T_o P_o'.
    weights, loadings : (p,) arrays
        Of the predictive component, standardised units; the weights have length one.
    orthogonal_scores : (n_rows, m - 1) array
        Scores T_o without covariance with y.
    orthogonal_weights, orthogonal_loadings : (p, m - 1) arrays
    y_loading : float
        Coefficient of y on the predictive scores: yhat = ybar + y_loading * scores.
    rotations : (p, m) array
        Standardised predictors times these are the scores, the predictive one first.
    covariance, correlation : (p,) arrays
        Of the standardised predictors with the predictive scores: the axes of an S-plot.
    """

    path: "PLSPath"
    scores: Array
    weights: Array
    loadings: Array
    orthogonal_scores: Array
    orthogonal_weights: Array
    orthogonal_loadings: Array
    y_loading: float
    rotations: Array
    covariance: Array
    correlation: Array

    @property
    def n_components(self) -> int:
        """Number m of components, the predictive one among them."""
        return len(self.rotations.T)

    @property
    def dof(self) -> float:
        """Degrees of Freedom: those of PLS with m components, whose fit it is."""
        return float(self.path.dof[self.n_components])

    def transform(self, X_new: Any) -> Array:
        """Return the scores of new rows, the predictive one first. Shape (n_new, m)."""
        return self.path.exact.standardized_times(self.path.rows.new(X_new), self.rotations)

    def predict(self, X_new: Any) -> Array:
        """Predict new rows by the predictive score alone. Shape (n_new,)."""
        return np.asarray(
            self.path.exact.units.y_mean + self.y_loading * self.transform(X_new)[:, 0]
        )

    def __repr__(self) -> str:
        return one_line(self, f"1 + {self.n_components - 1} components", p=len(self.weights))


def rotated(path: "PLSPath", m: int) -> OPLS:
    """Rotate m components, see `PLSPath.opls`. Cost: O((n + p) m^2) time."""
    if path.recipe.method.name != "pls":
        raise NotAvailableError("OPLS is a rotation of plain PLS; use pls_path.")
    size = as_count(m, "m", minimum=1)
    if size >= len(path):
        raise InvalidInputError(
            f"m must be in 1..{len(path) - 1}; got {m}. {path.message}".rstrip()
        )
    diagonal = path.filter.diagonal[:size]
    L = np.diag(diagonal) + np.diag(path.filter.superdiagonal[: size - 1], 1)
    Q, R = np.linalg.qr(L[:, 1:], mode="complete")
    # Orthogonal directions have the sign of what they take from X w_1; the last one is left.
    Q = np.roll(Q * np.where(L[0, 0] * Q[0] < 0, -1.0, 1.0), 1, axis=1)
    lengths = np.concatenate([[Q[0, 0] * L[0, 0]], np.abs(np.diagonal(R))])
    signs = np.sign(np.vecdot(Q[:, 1:].T, L[:, 1:].T))
    # From the scores of PLS of length one to these, and their dual.
    turn, back = Q * lengths / diagonal[:, None], Q / lengths * diagonal[:, None]
    rows, loadings = path.x_scores[:, :size] @ turn, path.x_loadings[:, :size] @ back
    exact = path.exact.complete()
    spread = np.linalg.norm(
        exact.decomposition.feature_basis * exact.decomposition.singular_values, axis=1
    )
    covariance = loadings[:, 0] * lengths[0] ** 2 / (exact.spectrum.n - 1.0)
    size_of_t = spread * lengths[0] / (exact.spectrum.n - 1.0)
    correlation = np.divide(covariance, size_of_t, out=np.zeros_like(spread), where=spread > 0)
    weights = path.x_weights[:, :size]
    return OPLS(
        path=path,
        scores=read_only(rows[:, 0]),
        weights=read_only(weights[:, 0]),
        loadings=read_only(loadings[:, 0]),
        orthogonal_scores=read_only(rows[:, 1:]),
        orthogonal_weights=read_only(weights[:, 1:] * signs),
        orthogonal_loadings=read_only(loadings[:, 1:]),
        y_loading=float(path.y_loadings[:size] @ back[:, 0]),
        rotations=read_only(path.x_rotations[:, :size] @ turn),
        covariance=read_only(covariance),
        correlation=read_only(correlation),
    )
