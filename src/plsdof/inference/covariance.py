"""Covariances of coefficients and predictions as roots: B with cov = B B', never p x p.

Notation: K = d beta / d y (p x n), J = d yhat / d y (n x n), e the residuals, I - J on the space of
the rows. In rotated coordinates I - J is (I - 2TT') diag(phi), phi = 1 - f, and I - 2TT' is a
reflection, so that A = (I - J)'(I - J) has the eigenvalues phi_i^2, and 1 for each of the n - 1 - r
directions that X does not reach.
"""

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from plsdof._core.criteria import Noise
from plsdof._core.exact import row_norms
from plsdof._core.folds import Split
from plsdof._core.inputs import Array, as_choice
from plsdof._core.left_out import hold_out
from plsdof._core.model import Model, as_model, require_noise
from plsdof._core.warnings import quietly
from plsdof.errors import NotAvailableError

Covariance = Literal["homoscedastic", "hc3", "jackknife"]
COVARIANCES = get_args(Covariance)
# Leverages above this one are taken as this one: the expansion behind e_i / (1 - J_ii) fails there.
MOST_LEVERAGE = 0.7


def satterthwaite(model: Any) -> float:
    """Return the degrees of freedom of the chi-square that RSS / sigma^2 is close to.

        nu = (tr A)^2 / tr A^2 = (sum phi^2 + n - 1 - r)^2 / (sum phi^4 + n - 1 - r)

    A chi-square with nu degrees of freedom, times a constant, has the mean and the variance of the
    residual sum of squares (Satterthwaite 1946, Biometrics Bulletin 2, 110-114). It is positive
    wherever the noise variance of kind "jacobian" is defined, also where DoF >= n. For least
    squares it is n - DoF. Cost: O(r), O(r^3) for an average.

    Examples
    --------
    >>> from plsdof import pls_path
    >>> satterthwaite(pls_path([[1.0], [2.0], [4.0], [5.0]], [1.0, 2.0, 3.0, 5.0])[1])
    2.0
    """
    found = as_model(model)
    trace, squares = found.exact.residual_moments(found.row)
    return trace**2 / squares if min(trace, squares) > 0 else float("nan")


def reference_df(model: Model, noise: Noise) -> float:
    """Return the degrees of freedom of Student's t; infinite for a noise variance in numbers.

    Such a variance is known, and the normal distribution needs no allowance for an estimate.
    """
    return satterthwaite(model) if isinstance(model.noise_level(noise), str) else float("inf")


def residual_share(model: Model) -> Array:
    """Return var(e_i) / sigma^2 = |row i of I - J|^2 of the training rows. Shape (n_rows,).

    With weights the residuals are those times the roots of the weights. Cost: O(n r m).
    """
    exact = model.exact
    weight = exact.row_weight
    U, reach = exact.rows_of_jacobian(model.row)
    outside = 1.0 - weight / exact.n - weight * np.vecdot(U, U)
    inside = U - reach
    return np.asarray(np.maximum(outside, 0.0) + weight * np.vecdot(inside, inside))


def deleted_residuals(model: Model) -> Array:
    """Return e_i / (1 - J_ii), close to the residuals of fits without row i. Shape (n_rows,).

    Exact for least squares. For PLS it is a first-order expansion that fails where J_ii comes near
    one, so leverages above 0.7 count as 0.7. Cost: O(n r m).
    """
    return model.residuals / (1.0 - np.minimum(model.leverage(), MOST_LEVERAGE))


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
    """

    features: Array
    level: Array
    df: float
    noise_variance: float

    def std_error(self) -> Array:
        """Standard errors of the coefficients. Shape (p,)."""
        return row_norms(self.features)

    def intercept_std_error(self, model: Model) -> float:
        """Standard error of the intercept, the prediction at x = 0."""
        reach = self.level - model.exact.x_mean @ self.features
        return float(np.sqrt(reach @ reach))


def left_out_coefs(model: Any, cv: Any = None) -> tuple[Array, Array]:
    """Fit a model without each of g folds in turn, its size or weights held fixed.

    Returns the coefficients (g, p), and predictions at the mean row of all data (g,). Folds are
    single rows by default, or groups where rows were left out in groups.
    """
    model = as_model(model)
    path, known = model.path, getattr(model.selection, "left_out", None)
    if path.rows.is_dual:
        raise NotAvailableError(
            "The jackknife compares coefficients of fits without single rows, and kernel PLS has "
            "one coefficient per row; use covariance 'homoscedastic' or 'hc3'."
        )
    if cv is None and known is not None and known.groups is not None:
        fold = known.fold
    else:
        fold = path.store.folds("loo" if cv is None else cv, None)[0]
    split, mean = Split.of(fold), model.exact.x_mean
    weights = np.eye(model.index + 1)[-1] if model.weights is None else model.weights
    active = np.flatnonzero(weights)
    problem, largest = path.store.fold_problem(), int(active.max())
    if problem is not None and problem.kernel is None:
        run = hold_out(problem, split, largest, keep=True)
        if run is not None and len(run.rss) > largest:
            coef = np.zeros((len(run.y_means) - 1, len(mean)))
            for f in range(len(coef)):
                for m in active:
                    coef[f] += weights[m] * run.coef(int(m), f)
            return coef, run.y_means[:-1] + np.vecdot(mean - run.x_means[:-1], coef)
    fits, heights = [], []
    rows = np.arange(len(path.rows.require_in_memory().y))
    for test in split.tests:
        with quietly():
            part = path.store.fit_rows(np.setdiff1d(rows, test)).exact
        one = weights[active] @ part.coef[np.minimum(active, len(part.dof) - 1)]
        fits.append(one)
        heights.append(part.units.y_mean + float((mean - part.units.x_mean) @ one))
    return np.array(fits), np.array(heights)


def covariance_root(
    model: Model, covariance: str, *, noise: Noise = None, cv: Any = None
) -> CovarianceRoot:
    """Return the root of a covariance of a model.

    "homoscedastic" is sigma^2 K K', with X fixed and the same noise variance in all rows. "hc3" is
    K diag(e_i^2 / (1 - J_ii)^2) K', X fixed, any variances (MacKinnon & White 1985, Journal of
    Econometrics 29, 305-325). "jackknife" is (n-1)/n times the scatter of the coefficients of fits
    without row i, group i or fold i of ``cv``: rows are random, X included (Efron & Stein 1981).

    Cost: O(p r^2), O(p n r) and n fits.
    """
    as_choice(covariance, "covariance", COVARIANCES)
    variance, exact = require_noise(model, noise), model.exact
    n = exact.n
    if covariance == "homoscedastic":
        df = reference_df(model, noise)
        A = exact.coef_factor(model.row)
        features = np.sqrt(variance) * np.hstack([A, np.zeros((len(A), 1))])
        level = np.zeros(features.shape[1])
        level[-1] = np.sqrt(variance / n)
    elif covariance == "hc3":
        deleted = deleted_residuals(model)
        features, df = exact.coef_jacobian(model.row) * deleted, satterthwaite(model)
        level = deleted * exact.row_weight / n
    else:
        fits, heights = left_out_coefs(model, cv)
        df = len(fits) - 1.0
        spread = np.sqrt(df / len(fits))
        features = spread * (fits - fits.mean(axis=0)).T
        level = spread * (heights - heights.mean())
    return CovarianceRoot(features=features, level=level, df=df, noise_variance=variance)
