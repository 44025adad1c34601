"""Decomposition of a centred kernel matrix."""

import numpy as np
import numpy.typing as npt

from plsdof._validation import Array, read_only
from plsdof.decomposition import BACKWARD, Decomposition
from plsdof.errors import InvalidInputError

_EPS = float(np.finfo(np.float64).eps)
# A matrix with eigenvalues below minus this share of the largest is no Gram matrix.
_INDEFINITE = 1e-6
_SAFETY = 4.0
# Eigenvalues that may be zero are at least this share of their error, to divide by.
_TINY = 1e-3


def from_gram(
    gram: Array, *, error: float = 0.0, max_rank: int | None = None, row_scale: Array | None = None
) -> Decomposition:
    """Decompose a centred Gram (kernel) matrix G = U diag(lambda) U' that comes without X.

    The features are then the columns of the kernel itself: with ``right = row_scale * U / S`` the
    coefficients ``right (f z / S)`` multiply the centred kernel values between a new row and the
    training rows (dual coefficients).

    Parameters
    ----------
    gram : (n_rows, n_rows) array
        Symmetric, positive semi-definite, rows and columns centred, both multiplied by
        ``row_scale``.
    error : float
        How far ``gram`` may be off, as a spectral norm. Negative eigenvalues tell as well, and the
        larger of the two counts.
    max_rank : int, optional
        What the rank is known not to exceed; n_rows - 1 by default.
    row_scale : (n_rows,) array, optional
        Square roots of the weights.

    Notes
    -----
    Eigenvalues that cannot be told from zero are kept, with their mean as common value and an
    unknown share of y (``z_amplification``): they do not take part in the choice of components,
    but dual coefficients f z / lambda do not vanish with lambda, and new rows see that.

    Cost: O(n^3) time, O(n^2) memory.

    Examples
    --------
    >>> rows = np.array([[-1.0, 0.0], [1.0, 0.0], [0.0, 2.0], [0.0, -2.0]])
    >>> from_gram(rows @ rows.T, max_rank=2).eigenvalues.round(12)
    array([8., 2.])
    """
    n_rows = len(gram)
    limit = n_rows - 1 if max_rank is None else min(max_rank, n_rows - 1)
    # Centring left the mean with eigenvalue zero; lift it out, or it mixes with the small ones.
    mean = np.ones(n_rows) if row_scale is None else row_scale
    lift = 2 * float(np.linalg.norm(gram)) / float(mean @ mean)
    eigenvalues, vectors = np.linalg.eigh(gram + lift * np.outer(mean, mean))
    eigenvalues, vectors = eigenvalues[-2::-1], vectors[:, -2::-1]
    largest, lowest = max(float(eigenvalues[0]), 0.0), float(eigenvalues[-1])
    if -lowest > max(_INDEFINITE * largest, _SAFETY * error):
        raise InvalidInputError(
            f"The kernel matrix must be positive semi-definite; after centring its eigenvalues "
            f"run from {lowest:.3g} to {largest:.3g}. Use another kernel or other parameters."
        )
    error = max(error, -lowest) + 2 * BACKWARD * _EPS * largest
    eigenvalues, left = eigenvalues[:limit], vectors[:, :limit]
    resolved = _resolved(eigenvalues, max(n_rows * _EPS * largest, 2 * _SAFETY * error), error)
    r = int(np.count_nonzero(resolved))
    eigenvalues = _pooled(eigenvalues, resolved, error)
    right = left / np.sqrt(eigenvalues)
    return Decomposition(
        eigenvalues=read_only(eigenvalues),
        # Errors of the unresolved eigenvalues do not add up in their mean.
        eigenvalue_error=read_only(np.where(resolved, error, error / np.sqrt(limit - r or 1))),
        z_amplification=read_only(np.where(resolved, 1.0, 1.0 / (BACKWARD * _EPS))),
        left=read_only(left),
        right=read_only(right if row_scale is None else right * row_scale[:, None]),
        X=None,
        unresolved=0,
        floor=0.0,
        solver="gram",
    )


def _resolved(eigenvalues: Array, floor: float, error: float) -> npt.NDArray[np.bool_]:
    """Return which eigenvalues lie above the floor, and clearly above the mean of the others."""
    resolved = eigenvalues > floor
    while not resolved.all():
        mean = eigenvalues[~resolved].mean()
        above = resolved & (eigenvalues > mean + 2 * _SAFETY * error)
        if np.array_equal(above, resolved):
            break
        resolved = above
    return resolved


def _pooled(eigenvalues: Array, resolved: npt.NDArray[np.bool_], error: float) -> Array:
    """Give eigenvalues that cannot be told apart, or from zero, their mean."""
    if error <= 0:  # nothing but zeros
        return np.ones_like(eigenvalues)
    separate = -np.diff(eigenvalues, prepend=np.inf) > 2 * _SAFETY * error
    separate = np.where(resolved, separate, np.diff(resolved, prepend=True))
    member = np.cumsum(separate) - 1
    mean: Array = np.bincount(member, weights=eigenvalues) / np.bincount(member)
    return np.maximum(mean, _TINY * error).take(member)
