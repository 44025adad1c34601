"""What diagnostics share: one number per row or variable, its limit, and the predictors behind it.

Notation: X are the standardised predictors (rows times the square roots of the weights), U the
basis of rotated coordinates in the space of the rows. Plain PLS has X = U S V'. Penalised PLS has
X R = U S V' with R R' = (I + P)^{-1}, so that X'U = (I + P) R V S. Kernel PLS has features instead
of predictors, and their inner products only.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from plsdof._core.display import one_line
from plsdof._core.inputs import Array, read_only
from plsdof._core.path import PLSPath
from plsdof.errors import InvalidInputError, NotAvailableError
from plsdof.variants.kernel import KernelPLSPath

# One number per row or variable and the limit that flags it: what all diagnostics share
# --------------------------------------------------------------------------------------

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True, repr=False)
class Diagnostic:
    """One number per row (or variable), with the limit above which it is flagged.

    Attributes
    ----------
    name : str
    values : (k,) array
    limit : float
        nan where no limit is defined; ``message`` says why, and nothing is flagged.
    flags : (k,) bool array
        Whether the value (for studentised residuals its size) is above the limit.
    level : float or None
        Probability of staying below the limit, None for a rule of thumb.
    method : str
        How the limit was made.
    message : str
        Why something is undefined, or what to be careful about; empty if nothing is.

    Examples
    --------
    >>> from plsdof import pls_path
    >>> from plsdof.chemometrics import hotelling_t2
    >>> hotelling_t2(pls_path([[1.0], [2.0], [4.0], [5.0]], [1.0, 2.0, 3.0, 5.0])[1])
    Diagnostic('t2', 0 of 4 flagged, limit=2.0306..., level=0.95)
    """

    name: str
    values: Array
    limit: float
    flags: Flags
    level: float | None
    method: str
    message: str = ""

    def __repr__(self) -> str:
        flagged = f"{np.count_nonzero(self.flags)} of {len(self.values)} flagged"
        return one_line(self, repr(self.name), flagged, limit=self.limit, level=self.level)


@dataclass(frozen=True, kw_only=True)
class Limit:
    """Where values become unusual, and how that was found; nan with a reason if it was not."""

    value: float
    method: str
    message: str = ""


def diagnose(
    name: str,
    values: Array,
    limit: Limit,
    level: float | None,
    *,
    note: str = "",
    two_sided: bool = False,
) -> Diagnostic:
    """Compare values, or their sizes if ``two_sided``, with their limit."""
    flags = (np.abs(values) if two_sided else values) > limit.value
    flags.flags.writeable = False
    return Diagnostic(
        name=name,
        values=read_only(values),
        limit=float(limit.value),
        flags=flags,
        level=level,
        method=limit.method,
        message=f"{limit.message} {note}".strip(),
    )


def as_pls_path(path: Any) -> PLSPath:
    """Return ``path`` if it is one of plain PLS.

    Penalised and kernel PLS are refused: their weights are not orthonormal in the predictors, and
    what is defined through the singular vectors of X would silently be something else.
    """
    if not isinstance(path, PLSPath) or path._is_dual or hasattr(path, "metric"):
        raise InvalidInputError(
            f"path must be a PLSPath, as made by pls_path, or a fitted PLSRegressor; got "
            f"{type(path).__name__}."
        )
    return path


def squared_rows(rows: Array) -> Array:
    """Return the squared length of every row."""
    squares: Array = np.einsum("ij,ij->i", rows, rows)
    return squares


# The predictors as the components of a path see them: PLS, penalised PLS, kernel PLS
# -----------------------------------------------------------------------------------


def as_score_path(path: Any) -> PLSPath:
    """Return ``path`` if it has scores: PLS, penalised or kernel PLS."""
    if not isinstance(path, PLSPath):
        raise InvalidInputError(
            f"path must be a PLSPath, as made by pls_path, or a fitted PLSRegressor; got "
            f"{type(path).__name__}."
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


def at_least_one(m: int) -> int:
    """Return ``m`` if it is the number of components of a model that has any."""
    if m == 0:
        raise NotAvailableError(
            "The model without components (m = 0) uses no variable, so variables have no "
            "importance in it; ask for m >= 1."
        )
    return m


def times_predictors(path: PLSPath, rotated: Array) -> Array:
    """Return X'U @ rotated, from rotated coordinates (r, k) to one row per predictor."""
    decomposition = path.exact.complete().decomposition
    S = decomposition.singular_values
    features = decomposition.to_features(S[:, None] * rotated)
    metric = getattr(path, "metric", None)
    return features if metric is None else np.asarray(metric.apply(features))


def row_factor(path: PLSPath) -> Array:
    """Return F (r, r) with F F' = U'XX'U: rows of X in r coordinates, up to a rotation.

    The diagonal matrix of singular values for plain PLS, and for kernel PLS, whose X are features.
    """
    S = path.exact.complete().decomposition.singular_values
    if not hasattr(path, "metric"):
        return np.diag(S)
    triangle = np.asarray(np.linalg.qr(times_predictors(path, np.eye(len(S))), mode="r"))
    return triangle.T
