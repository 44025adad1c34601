"""Given kernel matrices that are not quite positive semi-definite."""

from dataclasses import dataclass

import numpy as np

from plsdof._validation import Array, as_matrix, as_weights, read_only
from plsdof.errors import InvalidInputError, PlsdofWarning, warn_caller
from plsdof.kernel_functions import require_symmetric

# Negative eigenvalues up to this share of the largest are rounding, and so are differences of
# this size, relative to the largest value, between an entry and its mirror image.
_ROUNDING = 1e-6


class IndefiniteKernelWarning(PlsdofWarning):
    """A given kernel matrix has negative eigenvalues, which are set to zero."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PositivePart:
    """A map from kernel values with the training rows to those of a positive kernel.

    Call it with one row of values per (training or new) sample.

    Attributes
    ----------
    mean : (n,) array
        Mean of the rows of the training matrix.
    into, back : (n, k) and (k, n) arrays
        To the coordinates of the k directions with negative eigenvalues, and from there.
    """

    mean: Array
    into: Array
    back: Array

    def __call__(self, values: Array) -> Array:
        """Return corrected kernel values. Cost: O(n k) per row."""
        return values - ((values - self.mean) @ self.into) @ self.back


def positive_kernel(
    K: Array, sample_weight: Array | None = None
) -> tuple[Array, PositivePart | None]:
    """Return a training matrix without negative eigenvalues, and what to do with new rows.

    See `positive_part`; without negative eigenvalues these are K, made symmetric, and None.
    """
    part = positive_part(K, sample_weight)
    K = _symmetric(as_matrix(K, "X"))
    if part is None:
        return K, None
    corrected = part(K)
    # Rows without weight have no part in the directions: their columns follow their rows.
    apart = ~part.into.any(axis=1)
    corrected[:, apart] = corrected[apart].T
    return _symmetric(corrected), part


def positive_part(K: Array, sample_weight: Array | None = None) -> PositivePart | None:
    r"""Return what takes the negative eigenvalues out of a kernel matrix; None if it has none.

    With the centred matrix C K C = U diag(lambda) U', C = I - 11'/n, and U_- its eigenvectors with
    lambda < 0, kernel values k of a row with the training rows, kbar their means, become

        k - (k - kbar) U_- U_-',

    so that K becomes K+ with C K+ C = (C K C)+, the nearest matrix whose centred version is
    positive semi-definite, and new rows are treated as training rows are. Fits and Degrees of
    Freedom of kernel PLS on K+ are exact for it.

    - Up to rounding (1e-6 of the largest eigenvalue) nothing is done.
    - Beyond, `IndefiniteKernelWarning` says how far the matrix was from a kernel.
    - Where the most negative eigenvalue is as large as the largest one, as for a matrix of
      distances, K is refused.

    Parameters
    ----------
    K : (n, n) array
        Symmetric, up to the rounding of 32-bit floats.
    sample_weight : (n,) array, optional
        Weights of the rows; those without weight do not matter.

    Notes
    -----
    Cost: a Cholesky decomposition; an eigendecomposition if it fails.

    References
    ----------
    Y. Chen, E. K. Garcia, M. R. Gupta, A. Rahimi and L. Cazzanti (2009), Similarity-based
    classification: concepts and algorithms, Journal of Machine Learning Research 10, 747-776,
    section 4 ("spectrum clip", and the consistent treatment of training and test samples).

    Examples
    --------
    >>> K = np.array([[2.0, 0.0, 1.4], [0.0, 2.0, 1.4], [1.4, 1.4, 1.0]])
    >>> C = np.eye(3) - 1 / 3
    >>> np.linalg.eigvalsh(C @ K @ C).round(3)
    array([-0.533,  0.   ,  2.   ])
    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     corrected = positive_part(K)(K)
    >>> np.abs(np.linalg.eigvalsh(C @ corrected @ C)).round(3)
    array([0., 0., 2.])
    """
    K = _symmetric(as_matrix(K, "X"))
    given = as_weights(sample_weight, len(K))
    weights = np.ones(len(K)) if given is None else given
    if not weights.any():
        return None  # refused later, with the other reasons that weights give
    share, root = weights / weights.sum(), np.sqrt(weights)
    mean = share @ K
    centred = K - mean
    centred -= (centred @ share)[:, None]
    gram = centred * np.outer(root, root)
    if _is_positive(gram):
        return None
    directions = _negative_directions(gram)
    if directions.shape[1] == 0:
        return None
    inverse = np.divide(1.0, root, out=np.zeros_like(root), where=root > 0)
    return PositivePart(
        mean=read_only(mean),
        into=read_only(root[:, None] * directions),
        back=read_only(inverse * directions.T),
    )


def _symmetric(K: Array) -> Array:
    """Average what rounding to 32-bit floats made different on both sides of the diagonal."""
    if K.shape[0] == K.shape[1]:
        off = float(np.abs(K - K.T).max())
        if 0 < off <= _ROUNDING * float(np.abs(K).max()):
            return (K + K.T) / 2
    require_symmetric(K)
    return K


def _is_positive(gram: Array) -> bool:
    # The largest diagonal entry is a lower bound of the largest eigenvalue.
    shift = _ROUNDING * float(gram.diagonal().max())
    if shift <= 0:
        return not gram.any()
    try:
        np.linalg.cholesky(gram + shift * np.eye(len(gram)))
    except np.linalg.LinAlgError:
        return False
    return True


def _negative_directions(gram: Array) -> Array:
    """Return eigenvectors with negative eigenvalues, none if these are rounding. (n, k)."""
    eigenvalues, vectors = np.linalg.eigh(gram)
    lowest, largest = float(eigenvalues[0]), float(eigenvalues[-1])
    if -lowest >= largest:
        raise InvalidInputError(
            f"The kernel matrix must be positive semi-definite; after centring its eigenvalues run "
            f"from {lowest:.3g} to {largest:.3g}. If X holds distances, turn them into a kernel, "
            "such as exp(-gamma * distance**2)."
        )
    # What is near zero stays: its directions are not known well enough to be told from others.
    below = eigenvalues < -_ROUNDING * largest
    share = -eigenvalues[below].sum() / np.abs(eigenvalues).sum()
    if below.any():
        warn_caller(
            f"The kernel matrix is not positive semi-definite: after centring its eigenvalues run "
            f"from {lowest:.3g} to {largest:.3g}. The negative ones, {100 * share:.2g}% of the sum "
            "of absolute values, are set to zero, and the model is that of the kernel left over.",
            IndefiniteKernelWarning,
        )
    return np.asarray(vectors[:, below])
