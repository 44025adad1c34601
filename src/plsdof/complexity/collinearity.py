"""How collinear the predictors are, and what that says about the Degrees of Freedom."""

from typing import Any

import numpy as np

from plsdof._core.inputs import (
    Columns,
    as_matrix,
    centre_columns,
    feature_names,
    require_flag,
    shortened,
)
from plsdof._core.quiet import warn_caller
from plsdof.errors import ConstantColumnWarning, InvalidInputError

_EPS = float(np.finfo(np.float64).eps)


def dof_lower_bound(X: Any, *, scale: bool = True) -> float | None:
    """Bound the Degrees of Freedom of PLS with one component from below, whatever y is.

    If the largest eigenvalue of S = X'X/(n-1) is at most half of its trace,

        DoF(m = 1) >= 1 + trace(S) / lambda_max

    for every response that the predictors explain at all (X'y not zero). The less collinear the
    predictors, the higher the bound.

    Parameters
    ----------
    X : (n, p) array
        Predictors. Constant columns neither help nor hurt.
    scale : bool
        Scale the columns to unit variance, so that S is the correlation matrix.

    Returns
    -------
    float or None
        None if the condition fails (collinear predictors, or a single one): the theorem then says
        nothing.

    Notes
    -----
    Cost: O(n p min(n, p)) time, O(np + min(n, p)^2) memory.

    References
    ----------
    Kraemer & Sugiyama (2011), Theorem with eqs. (lambdamax) and (low).

    Examples
    --------
    >>> dof_lower_bound([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    3.0
    >>> dof_lower_bound([[1.0, 1.1], [2.0, 1.9], [3.0, 3.2]]) is None
    True
    """
    require_flag(scale)
    columns = _standardized_columns(X, scale).values
    n_rows, p = columns.shape
    gram = columns.T @ columns if p <= n_rows else columns @ columns.T
    largest, trace = float(np.linalg.eigvalsh(gram)[-1]), float(np.trace(gram))
    # Uncorrelated pairs of predictors meet the condition with equality; rounding must not decide.
    if largest <= 0 or largest > 0.5 * trace * (1.0 + max(n_rows, p) * _EPS):
        return None
    return 1.0 + trace / largest


def mean_absolute_correlation(X: Any) -> float:
    """Return the mean absolute correlation between the predictors (Table 1 of the paper).

    With the correlations s_ij of the columns, this is 2 / (p^2 - p) sum_{i<j} |s_ij|: 0 for
    uncorrelated predictors, 1 if each is a multiple of every other.

    Parameters
    ----------
    X : (n, p) array
        Predictors, at least two of which vary. A constant column has no correlation with
        anything; it is left out, with a `ConstantColumnWarning`.

    Notes
    -----
    Cost: O(n p^2) time, O(np + p^2) memory.

    References
    ----------
    Kraemer & Sugiyama (2011), section "Illustration and a Lower Bound", Table 1.

    Examples
    --------
    >>> round(mean_absolute_correlation([[1.0, -1.0, 1.0], [2.0, -2.0, 5.0], [3.0, -3.0, 0.0]]), 4)
    0.4593
    """
    columns = _standardized_columns(X, scale=True)
    varying = columns.values[:, ~columns.constant]
    p = varying.shape[1]
    if p < 2:
        raise InvalidInputError(
            f"X has {p} column(s) that vary; the mean correlation between columns needs at least 2."
        )
    if columns.constant.any():
        names = feature_names(X)
        labels = [names[i] if names else str(i) for i in np.flatnonzero(columns.constant)]
        warn_caller(
            f"{len(labels)} column(s) of X do not vary: {shortened(labels)}. They have no "
            "correlation with the others and are left out of the mean.",
            ConstantColumnWarning,
        )
    correlations = varying.T @ varying / (len(varying) - 1)
    return float(np.abs(correlations[np.triu_indices(p, 1)]).mean())


def _standardized_columns(X: Any, scale: bool) -> Columns:
    matrix = as_matrix(X, min_rows=2)
    return centre_columns(matrix, None, float(len(matrix)), scale)
