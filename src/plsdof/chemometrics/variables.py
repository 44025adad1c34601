"""Chemometrics: what the components explain and which variables matter.

Notation: X are the standardised predictors (rows times the square roots of the weights), T the
rotated orthonormal scores of m components. With weights, n is their sum, as if every row were
repeated that often. Rows that stand out: `chemometrics.rows` and `plsdof.chemometrics.outliers`.

Paths of penalised PLS are taken as well: they have weights, scores and loadings of the same
predictors. Kernel PLS has no predictors to speak of; only `explained_variance` takes its paths.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import fdtri

from plsdof._core.display import data_frame, one_line
from plsdof._core.inputs import Array, as_level, read_only
from plsdof._core.model import as_model, as_path
from plsdof._core.path import PCRPath
from plsdof.chemometrics.diagnostics import (
    Diagnostic,
    Limit,
    as_predictor_path,
    as_score_path,
    at_least_one,
    diagnose,
    row_factor,
    squared_rows,
    times_predictors,
)

if TYPE_CHECKING:
    from pandas import DataFrame

_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, kw_only=True, repr=False)
class ExplainedVariance:
    """Fractions of the variance of X and y, one entry per component: (M,) arrays.

    Examples
    --------
    >>> from plsdof import pls_path
    >>> explained_variance(pls_path([[1.0], [2.0], [4.0], [5.0]], [1.0, 2.0, 3.0, 5.0]))
    ExplainedVariance(n_components=1, x=1, y=0.926)
    """

    x: Array
    y: Array
    x_cumulative: Array
    y_cumulative: Array

    def to_frame(self) -> "DataFrame":
        """Return a pandas data frame with one row per component, named 1, 2, ..., M."""
        columns = ("x", "y", "x_cumulative", "y_cumulative")
        components = range(1, len(self.x) + 1)
        return data_frame({name: getattr(self, name) for name in columns}, components)

    def __repr__(self) -> str:
        whole = {"x": self.x, "y": self.y}
        shares = {name: round(float(share.sum()), 3) for name, share in whole.items()}
        return one_line(self, n_components=len(self.x), **shares)


def explained_variance(path: Any) -> ExplainedVariance:
    """Return which fractions of the variance of X and y each component explains.

    With orthonormal scores t_j, component j explains |X't_j|^2 / |X|^2 of X and
    (y't_j)^2 / |y|^2 of y. The fractions of X need not decrease. For kernel PLS X are the
    features of the kernel. Takes paths of PLS in all its variants and of principal components,
    and fitted estimators. Cost: O(r^2 M) time, for penalised PLS O(p r^2).

    Examples
    --------
    >>> from plsdof import pls_path
    >>> path = pls_path([[1.0, 2.0], [2.0, 1.0], [3.0, 5.0], [4.0, 4.0]], [1.0, 2.0, 3.0, 5.0])
    >>> explained_variance(path).x.round(3), explained_variance(path).y_cumulative.round(3)
    (array([0.848, 0.152]), array([0.836, 0.971]))
    """
    path = as_path(path)
    exact = path.exact.complete()
    if isinstance(path, PCRPath):
        x, y = exact.spectrum.eigenvalues, exact.spectrum.z**2
        x, y = x[path.directions] / (x.sum() or 1.0), y[path.directions]
    else:
        path = as_score_path(path)
        F = row_factor(path)
        x = squared_rows(exact.filter.scores.T @ F) / (np.sum(F**2) or 1.0)
        y = path._filter.loadings**2
    y = y / (exact.spectrum.total or 1.0)
    return ExplainedVariance(
        x=read_only(x),
        y=read_only(y),
        x_cumulative=read_only(np.cumsum(x)),
        y_cumulative=read_only(np.cumsum(y)),
    )


def vip(model: Any) -> Array:
    """Return the Variable Importance in Projection of every variable. Shape (p,).

        VIP_k = sqrt( p sum_j s_j w_kj^2 / sum_j s_j ),    s_j = (y't_j)^2,  j = 1..m,

    with weight vectors w_j of length one (those of penalised PLS, of length one in the metric of
    the penalty, are brought to it). The mean of the squares over all p columns (constant ones
    included, with VIP 0) is 1, hence the rule of thumb "important if above 1".

    Parameters
    ----------
    model : Model, or a fitted estimator
        Of PLS or penalised PLS, with at least one component; of an average the model with the
        largest weight.

    Notes
    -----
    Cost: O(p m) time once the weights are there.

    References
    ----------
    Wold, Johansson & Cocchi (1993), in: 3D QSAR in Drug Design, 523-550; Chong & Jun (2005),
    Chemometrics and Intelligent Laboratory Systems 78, 103-112.

    Examples
    --------
    >>> from plsdof import pls_path
    >>> path = pls_path([[1.0, 2.0], [2.0, 1.0], [3.0, 5.0], [4.0, 4.0]], [1.0, 2.0, 3.0, 5.0])
    >>> vip(path[1]).round(3)
    array([1.184, 0.773])
    """
    model = as_model(model)
    path = as_predictor_path(model.path, "Variable importance")
    m = at_least_one(model.index)
    explained = path._filter.loadings[:m] ** 2
    squares = path.x_weights[:, :m] ** 2
    shares = squares / squares.sum(axis=0)
    return np.asarray(np.sqrt(len(shares) * (shares @ (explained / explained.sum()))))


def selectivity_ratio(model: Any) -> Array:
    """Return explained over residual variance of every variable on the target component. (p,).

    The target component is t = X b / |b|, proportional to the fitted values; variable k has

        SR_k = |x_k'u|^2 / |x_k - (x_k'u) u|^2,     u = t / |t|.

    inf (or huge, by rounding) where the target component explains a variable completely, as it
    always does with p = 1; nan for constant columns. Cost: O(p r^2) time.

    References
    ----------
    Kvalheim (2010), Journal of Chemometrics 24, 496-504.

    Examples
    --------
    >>> from plsdof import pls_path
    >>> path = pls_path([[1.0, 2.0], [2.0, 1.0], [3.0, 5.0], [4.0, 4.0]], [1.0, 2.0, 3.0, 5.0])
    >>> selectivity_ratio(path[1]).round(3)
    array([10.028,  3.698])
    """
    model = as_model(model)
    path = as_predictor_path(model.path, "The selectivity ratio")
    exact = path.exact.complete()
    fit = exact.filter.factors[at_least_one(model.index)] * exact.spectrum.z
    u = fit / np.linalg.norm(fit)
    explained = times_predictors(path, u[:, None])[:, 0] ** 2
    rest = times_predictors(path, np.eye(len(u)) - np.outer(u, u))
    residual = squared_rows(rest)
    # Subtracting u leaves rounding of size eps |x_k| where nothing should be left.
    residual[residual <= (len(u) * _EPS) ** 2 * (explained + residual)] = 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        return explained / residual


def selectivity_ratio_test(model: Any, *, level: float = 0.95) -> Diagnostic:
    """Flag the variables whose selectivity ratio exceeds the F quantile with n-2, n-3 df.

    The test asks whether the explained variance of a variable is *larger* than the residual one,
    a much stronger demand than some relation with y. `selectivity_ratio` gives the values.

    References
    ----------
    Rajalahti et al. (2009), Chemometrics and Intelligent Laboratory Systems 95, 35-48.

    Examples
    --------
    >>> from plsdof import pls_path
    >>> path = pls_path([[1.0, 2.0], [2.0, 1.0], [3.0, 5.0], [4.0, 4.0]], [1.0, 2.0, 3.0, 5.0])
    >>> round(selectivity_ratio_test(path[1]).limit, 1)
    199.5
    """
    values, level = selectivity_ratio(model), as_level(level)
    n = as_model(model).exact.spectrum.n
    method = "F distribution, n - 2 and n - 3 degrees of freedom"
    limit = Limit(value=np.nan, method=method, message=f"The F-test needs n > 3; n is {n:g}.")
    if n > 3:
        limit = Limit(value=float(fdtri(n - 2.0, n - 3.0, level)), method=method)
    return diagnose("selectivity ratio", values, limit, level)
