"""The predictors as the components of a path see them: PLS, penalised PLS, kernel PLS.

Notation: X are the standardised predictors (rows times the square roots of the weights), U the
basis of rotated coordinates in the space of the rows. Plain PLS has X = U S V'. Penalised PLS has
X R = U S V' with R R' = (I + P)^{-1}, so that X'U = (I + P) R V S. Kernel PLS has features instead
of predictors, and their inner products only.
"""

from typing import Any

import numpy as np

from plsdof._validation import Array
from plsdof.errors import InvalidInputError, NotAvailableError
from plsdof.kernel import KernelPLSPath
from plsdof.path_types import PLSPath


def as_score_path(path: Any) -> PLSPath:
    """Return ``path`` if it has scores: PLS, penalised or kernel PLS."""
    if not isinstance(path, PLSPath):
        raise InvalidInputError(
            f"path must be a PLSPath, as made by pls_path; got {type(path).__name__}. Of a fitted "
            "estimator give path_ and n_components_."
        )
    return path


def as_predictor_path(path: Any, what: str) -> PLSPath:
    """Return ``path`` if it has scores and predictors: PLS and penalised PLS.

    ``what`` names the quantity asked for, to say why a kernel path does not have it.
    """
    if isinstance(path, KernelPLSPath):
        raise NotAvailableError(
            f"{what} is about the predictors, and kernel PLS has only inner products of features "
            "that are not the predictors; use the permutation importance of a KernelPLSRegressor "
            "(sklearn.inspection) for variables, and hotelling_t2 for rows."
        )
    return as_score_path(path)


def at_least_one(path: PLSPath, m: int) -> int:
    """Return ``m`` if the path has a model of that size, with a component."""
    index = path.index(m)
    if index == 0:
        raise NotAvailableError(
            "The model without components (m = 0) uses no variable, so variables have no "
            "importance in it; ask for m >= 1."
        )
    return index


def times_predictors(path: PLSPath, rotated: Array) -> Array:
    """Return X'U @ rotated, from rotated coordinates (r, k) to one row per predictor."""
    S = path.decomposition.singular_values
    features = path.decomposition.to_features(S[:, None] * rotated)
    metric = getattr(path, "metric", None)
    return features if metric is None else np.asarray(metric.apply(features))


def row_factor(path: PLSPath) -> Array:
    """Return F (r, r) with F F' = U'XX'U: rows of X in r coordinates, up to a rotation.

    The diagonal matrix of singular values for plain PLS, and for kernel PLS, whose X are features.
    ``path`` must hold all directions of X.
    """
    S = path.decomposition.singular_values
    if not hasattr(path, "metric"):
        return np.diag(S)
    triangle = np.asarray(np.linalg.qr(times_predictors(path, np.eye(len(S))), mode="r"))
    return triangle.T
