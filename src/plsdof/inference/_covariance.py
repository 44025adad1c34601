"""Covariances of coefficients and predictions as roots: B with cov = B B', never p x p.

Notation: K = d beta / d y (p x n), J = d yhat / d y (n x n), e the residuals, I - J on the space of
the rows. In rotated coordinates I - J is (I - 2TT') diag(phi), phi = 1 - f, and I - 2TT' is a
reflection, so that A = (I - J)'(I - J) has the eigenvalues phi_i^2, and 1 for each of the n - 1 - r
directions that X does not reach.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from plsdof._core.averaging import AverageFilter
from plsdof._core.criteria import Noise
from plsdof._core.inputs import Array, as_choice
from plsdof._core.path import Path, PathLike, as_model, as_path, row_norms
from plsdof.errors import NotAvailableError
from plsdof.inference.resampling import LeftOut, leave_out

COVARIANCES = ("homoscedastic", "hc3", "jackknife")
# Leverages above this one are taken as this one: the expansion behind e_i / (1 - J_ii) fails there.
MOST_LEVERAGE = 0.7


def satterthwaite(path: PathLike, m: int | None = None) -> float:
    """Return the degrees of freedom of the chi-square that RSS / sigma^2 is close to.

        nu = (tr A)^2 / tr A^2 = (sum phi^2 + n - 1 - r)^2 / (sum phi^4 + n - 1 - r)

    A chi-square with nu degrees of freedom, times a constant, has the mean and the variance of the
    residual sum of squares (Satterthwaite 1946, Biometrics Bulletin 2, 110-114). It is positive
    wherever the noise variance of kind "jacobian" is defined, also where DoF >= n. For least
    squares it is n - DoF. Cost: O(r).

    Examples
    --------
    >>> from plsdof import pls_path
    >>> satterthwaite(pls_path([[1.0], [2.0], [4.0], [5.0]], [1.0, 2.0, 3.0, 5.0]), 1)
    2.0
    """
    model = as_model(path, m)
    complete, m = model.path.complete(), model.index
    spare = complete.spectrum.residual_dimension
    if isinstance(complete.filter, AverageFilter):
        trace, squares = _traces_of_average(complete, complete.filter)
    else:
        weights = complete.filter.residuals[m] ** 2
        trace, squares = float(weights.sum()) + spare, float(np.sum(weights**2)) + spare
    return trace**2 / squares if min(trace, squares) > 0 else float("nan")


def _traces_of_average(path: Path, average: AverageFilter) -> tuple[float, float]:
    """Return tr A and tr A^2 where I - J is not a reflection times a diagonal matrix.

    With B = I - d zhat/dz and the fit moving by v per unit of y_perp (length s), I - J is B inside,
    -v s along y_perp and the identity outside. Cost: O(r^3).
    """
    eye = np.eye(len(path.spectrum.eigenvalues))
    B = eye - average.times_jacobian(eye, 0)
    v = average.times_outside(eye) * np.sqrt(path.spectrum.outside)
    spare, moved = path.spectrum.residual_dimension, float(v @ v)
    along = B.T @ v
    trace = float(np.sum(B**2)) + spare + moved
    squares = float(np.sum((B.T @ B) ** 2)) + 2.0 * float(along @ along)
    return trace, squares + spare + 2.0 * moved + moved**2


def residual_share(path: Path, m: int) -> Array:
    """Return var(e_i) / sigma^2 = |row i of I - J|^2 of the training rows. Shape (n_rows,).

    With weights the residuals are those times the roots of the weights. Cost: O(n r m).
    """
    weight = 1.0 if path.units.row_scale is None else path.units.row_scale**2
    complete, U = path.complete(), path.rows_of_basis()
    outside = 1.0 - weight / path.spectrum.n - weight * np.vecdot(U, U)
    inside = U - complete.filter.times_jacobian(U, complete.index(m))
    share = np.maximum(outside, 0.0) + weight * np.vecdot(inside, inside)
    if isinstance(complete.filter, AverageFilter):
        # What the weights of the models owe to y_perp: the part of a row along it moves.
        root = 1.0 if path.units.row_scale is None else path.units.row_scale
        centred = root * (path.require_response() - path.units.y_mean)
        beyond = centred - root * (U @ complete.spectrum.z)
        moved = root * complete.filter.times_outside(U)
        share += moved**2 * complete.spectrum.outside - 2.0 * moved * beyond
    return np.asarray(share)


def prediction_share(path: Path, m: int) -> Array:
    """Return var(yhat_i) / sigma^2 of the training rows. Shape (n_rows,).

    |row i of J|^2 without weights; with them, the noise variance of row i is sigma^2 / w_i.
    """
    complete, U = path.complete(), path.rows_of_basis()
    reach = complete.filter.times_jacobian(U, complete.index(m))
    share = 1.0 / path.spectrum.n + np.vecdot(reach, reach)
    if isinstance(complete.filter, AverageFilter):
        share = share + complete.filter.times_outside(U) ** 2 * complete.spectrum.outside
    return np.asarray(share)


def deleted_residuals(path: Path, m: int) -> Array:
    """Return e_i / (1 - J_ii), close to the residuals of fits without row i. Shape (n_rows,).

    Exact for least squares. For PLS it is a first-order expansion that fails where J_ii comes near
    one, so leverages above 0.7 count as 0.7. Cost: O(n r m).
    """
    return path.residuals(m) / (1.0 - np.minimum(path.leverage(m), MOST_LEVERAGE))


@dataclass(frozen=True, kw_only=True, eq=False)
class CovarianceRoot:
    """A root of the covariance of coefficients and predictions.

    Attributes
    ----------
    features : (p, k) array
        B with cov(beta) = B B'.
    level : (k,) array
        The same for the prediction at the mean row, so that a prediction at x has the variance
        |level + (x - mean)' B|^2.
    df : float
        Degrees of freedom of the t distribution that goes with it.
    noise_variance : float
    kind : str
        One of `COVARIANCES`.
    """

    features: Array
    level: Array
    df: float
    noise_variance: float
    kind: str

    def std_error(self) -> Array:
        """Standard errors of the coefficients. Shape (p,)."""
        return row_norms(self.features)

    def std_error_at(self, path: Path, X_new: Any) -> Array:
        """Standard errors of the predictions of new rows. Shape (n_new,)."""
        reach = self.level + path.centred_times(X_new, self.features)
        return row_norms(reach)

    def intercept_std_error(self, path: Path) -> float:
        """Standard error of the intercept, the prediction at x = 0."""
        reach = self.level - path.units.x_mean @ self.features
        return float(np.sqrt(reach @ reach))


def covariance_root(
    path: Path,
    m: int,
    covariance: str = "homoscedastic",
    *,
    noise: Noise = None,
    left_out: LeftOut | None = None,
) -> CovarianceRoot:
    """Return the root of a covariance of model m.

    "homoscedastic" is sigma^2 K K', with X fixed and the same noise variance in all rows. "hc3" is
    K diag(e_i^2 / (1 - J_ii)^2) K', X fixed, any variances (MacKinnon & White 1985, Journal of
    Econometrics 29, 305-325). "jackknife" is (n-1)/n times the scatter of the coefficients of fits
    without row i: rows are random, X included.

    Cost: O(p r^2), O(p n r) and n fits.
    """
    as_choice(covariance, "covariance", COVARIANCES)
    m = as_path(path).index(m)
    variance, df = require_noise(path, m, noise), satterthwaite(path, m)
    n = path.spectrum.n
    if covariance == "homoscedastic":
        A = path.coef_factor(m)
        features = np.sqrt(variance) * np.hstack([A, np.zeros((len(A), 1))])
        level = np.zeros(features.shape[1])
        level[-1] = np.sqrt(variance / n)
    elif covariance == "hc3":
        deleted = deleted_residuals(path, m)
        weight = 1.0 if path.units.row_scale is None else path.units.row_scale**2
        features = path.coef_jacobian(m) * deleted
        level = deleted * weight / n
    else:
        fits = leave_out(path, m) if left_out is None else left_out
        if fits.coef is None:
            raise NotAvailableError(
                "covariance='jackknife' compares coefficients of fits without single rows, and "
                "kernel PLS has one coefficient per row; use 'homoscedastic' or 'hc3'."
            )
        g = len(fits.coef)
        spread = np.sqrt((g - 1.0) / g)
        features = spread * (fits.coef - fits.coef.mean(axis=0)).T
        level = spread * (fits.level - fits.level.mean())
        df = g - 1.0
    return CovarianceRoot(
        features=features, level=level, df=df, noise_variance=variance, kind=covariance
    )


def require_noise(path: Path, m: int, noise: Noise) -> float:
    """Return the noise variance; say what to do where there is nothing to estimate it from."""
    variance = as_path(path).noise_at(m, noise)
    if not np.isfinite(variance):
        raise NotAvailableError(
            f"The model with {path.label(m)} leaves no residual to estimate the noise from "
            f"(n = {path.spectrum.n:g}, {path.dof[m]:.1f} Degrees of Freedom); choose a smaller "
            "model or give noise=<variance>."
        )
    if np.isnan(path.dof[m]):
        raise NotAvailableError(
            "The fit of this method jumps with y, so it has no derivative to build intervals on "
            "(its Degrees of Freedom are nan)."
        )
    return variance
