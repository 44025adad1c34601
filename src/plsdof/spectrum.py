"""Decomposition of the predictors, and the spectrum of a regression problem.

Notation: X = U S V' (thin, on the numerical rank r), lambda = S^2, z = U'y.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.linalg

from plsdof._validation import Array, as_choice, read_only
from plsdof.errors import InvalidInputError, NotAvailableError
from plsdof.standardize import Standardized

SOLVERS = ("auto", "svd", "gram")
_EPS = float(np.finfo(np.float64).eps)
# A QR (LQ) step before the SVD pays off from this ratio of rows to columns (columns to rows) on.
_QR_RATIO = 2.0
# Backward errors of LAPACK's decompositions, in units of eps times the largest value.
_BACKWARD = 2.0
# A matrix with eigenvalues below minus this share of the largest is no Gram matrix.
_INDEFINITE = 1e-6
_SAFETY = 4.0
# Eigenvalues that may be zero are at least this share of their error, to divide by.
_TINY = 1e-3


@dataclass(frozen=True, kw_only=True)
class Spectrum:
    """The numbers through which X and y enter everything else.

    Attributes
    ----------
    eigenvalues : (r,) array
        Positive eigenvalues of K = XX', largest first.
    z : (r,) array
        Coordinates U'y of the centred response.
    n : float
        Number of observations (sum of the weights, if weighted).
    outside : float
        ``|y|^2 - |z|^2``, the part of y that no linear function of X reaches.
    eigenvalue_error, z_error : (r,) arrays
        How far the decomposition may be off, elementwise and in absolute value.
    unresolved : int
        Number of further eigenvalues that may be non-zero but lie below ``floor``.
    floor : float
        Eigenvalues below this one cannot be told from zero.
    computed_basis : bool
        Whether the basis comes from a decomposition in floating point, which mixes directions
        whose eigenvalues are close; False if the numbers above are taken as given.
    """

    eigenvalues: Array
    z: Array
    n: float
    outside: float
    eigenvalue_error: Array
    z_error: Array
    unresolved: int = 0
    floor: float = 0.0
    computed_basis: bool = True

    @classmethod
    def exact(cls, eigenvalues: Array, z: Array, *, n: float, outside: float = 0.0) -> "Spectrum":
        """Return a spectrum whose numbers are taken as exact up to their own rounding."""
        eigenvalues = np.asarray(eigenvalues, dtype=np.float64)
        z = np.asarray(z, dtype=np.float64)
        order = np.argsort(-eigenvalues, kind="stable")
        return cls(
            eigenvalues=read_only(eigenvalues[order]),
            z=read_only(z[order]),
            n=float(n),
            outside=float(outside),
            eigenvalue_error=read_only(_EPS * eigenvalues[order]),
            z_error=read_only(_EPS * np.abs(z[order])),
            computed_basis=False,
        )

    @property
    def rank(self) -> int:
        """Number r of non-zero eigenvalues."""
        return len(self.eigenvalues)

    @property
    def total(self) -> float:
        """Sum of squares of the centred response, ``|y|^2``."""
        return float(self.z @ self.z) + self.outside

    @property
    def residual_dimension(self) -> float:
        """Dimension n - 1 - r of the space that no linear function of X reaches."""
        return max(self.n - 1.0 - self.rank, 0.0)


@dataclass(frozen=True, kw_only=True)
class Decomposition:
    """Singular value decomposition of the standardised predictors, as far as it is needed.

    At least one of ``left`` and ``right`` is there; the other one is reached through X.
    It needs X only, so that several responses can share it.

    Attributes
    ----------
    eigenvalues, eigenvalue_error : (r,) arrays
        Squared singular values, and the error of the decomposition in them.
    z_amplification : (r,) array
        ``z_error = eps * |y| * z_amplification``.
    left : (n_rows, r) array or None
    right : (p, r) array or None
    X : (n_rows, p) array or None
        The standardised predictors, kept when one side was not computed.
    unresolved : int
    floor : float
        See `Spectrum`.
    solver : str
        "svd" or "gram": how it was made.
    """

    eigenvalues: Array
    eigenvalue_error: Array
    z_amplification: Array
    left: Array | None
    right: Array | None
    X: Array | None
    unresolved: int
    floor: float
    solver: str

    @property
    def singular_values(self) -> Array:
        """Square roots of the eigenvalues."""
        return np.sqrt(self.eigenvalues)

    def to_samples(self, rotated: Array) -> Array:
        """Return U @ rotated: from rotated coordinates (r, k) to one row per sample."""
        if self.left is not None:
            return self.left @ rotated
        if self.X is None or self.right is None:
            raise NotAvailableError(
                "The rows of the data were not kept, so values per training row are not "
                "available; use predict() on the rows of interest."
            )
        return self.X @ (self.right @ _divided(rotated, self.singular_values))

    def to_features(self, rotated: Array) -> Array:
        """Return V @ rotated: from rotated coordinates (r, k) to one row per feature."""
        if self.right is not None:
            return self.right @ rotated
        assert self.X is not None
        assert self.left is not None
        return self.X.T @ (self.left @ _divided(rotated, self.singular_values))

    def rotate(self, y: Array) -> Array:
        """Return z = U'y."""
        if self.left is not None:
            return self.left.T @ y
        assert self.X is not None
        assert self.right is not None
        return _divided(self.right.T @ (self.X.T @ y), self.singular_values)

    def spectrum(self, y: Array, n: float) -> Spectrum:
        """Combine the decomposition of X with a centred response."""
        z = self.rotate(y)
        norm = float(np.linalg.norm(y))
        outside = 0.0
        if n - 1.0 > len(z):
            perpendicular = y - self.to_samples(z[:, None])[:, 0]
            outside = float(perpendicular @ perpendicular)
        return Spectrum(
            eigenvalues=self.eigenvalues,
            z=read_only(z),
            n=n,
            outside=outside,
            eigenvalue_error=self.eigenvalue_error,
            z_error=read_only(_BACKWARD * _EPS * norm * self.z_amplification),
            unresolved=self.unresolved,
            floor=self.floor,
        )


def decompose(data: Standardized, solver: str = "svd") -> Decomposition:
    """Decompose the standardised predictors.

    The numerical rank is the number of singular values above ``max(n, p) * eps * S_1`` with
    solver "svd", and the number of eigenvalues above ``max(n, p) * eps * lambda_1`` with
    solver "gram", but never more than min(rows - 1, p). What "gram" cannot resolve is counted
    in ``unresolved``.

    Cost: O(n p min(n, p)) time for both, with a far smaller constant for "gram", which forms
    the smaller of X'X and XX'. The error of its eigenvalues is eps * lambda_1 instead of
    eps * S_1 * S_i.
    """
    as_choice(solver, "solver", ("svd", "gram"))
    return _by_svd(data.X) if solver == "svd" else _by_gram(data.X)


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
    error = max(error, -lowest) + 2 * _BACKWARD * _EPS * largest
    eigenvalues, left = eigenvalues[:limit], vectors[:, :limit]
    resolved = _resolved(eigenvalues, max(n_rows * _EPS * largest, 2 * _SAFETY * error), error)
    r = int(np.count_nonzero(resolved))
    eigenvalues = _pooled(eigenvalues, resolved, error)
    right = left / np.sqrt(eigenvalues)
    return Decomposition(
        eigenvalues=read_only(eigenvalues),
        # Errors of the unresolved eigenvalues do not add up in their mean.
        eigenvalue_error=read_only(np.where(resolved, error, error / np.sqrt(limit - r or 1))),
        z_amplification=read_only(np.where(resolved, 1.0, 1.0 / (_BACKWARD * _EPS))),
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


def _by_svd(X: Array) -> Decomposition:
    left, S, right_t = _thin_svd(X)
    r = _numerical_rank(S, X.shape)
    S = S[:r]
    largest = S[0] if r else 0.0
    return Decomposition(
        eigenvalues=read_only(S**2),
        eigenvalue_error=read_only(2 * _BACKWARD * _EPS * largest * S),
        z_amplification=read_only(np.ones(r)),
        left=read_only(left[:, :r]),
        right=read_only(right_t[:r].T),
        X=None,
        unresolved=0,
        floor=0.0,
        solver="svd",
    )


def _thin_svd(X: Array) -> tuple[Array, Array, Array]:
    n_rows, p = X.shape
    if n_rows >= _QR_RATIO * p:
        Q, R = np.linalg.qr(X)
        left, S, right_t = _lapack_svd(R)
        return Q @ left, S, right_t
    if p >= _QR_RATIO * n_rows:
        Q, R = np.linalg.qr(X.T)
        right, S, left_t = _lapack_svd(R)
        return left_t.T, S, (Q @ right).T
    return _lapack_svd(X)


def _lapack_svd(X: Array) -> tuple[Array, Array, Array]:
    try:
        return np.linalg.svd(X, full_matrices=False)
    except np.linalg.LinAlgError:  # divide and conquer may fail where QR iteration does not
        return scipy.linalg.svd(X, full_matrices=False, check_finite=False, lapack_driver="gesvd")


def _by_gram(X: Array) -> Decomposition:
    n_rows, p = X.shape
    wide = n_rows <= p
    gram = X @ X.T if wide else X.T @ X
    eigenvalues, vectors = np.linalg.eigh(gram)
    eigenvalues, vectors = np.maximum(eigenvalues[::-1], 0.0), vectors[:, ::-1]
    r = _numerical_rank(eigenvalues, X.shape)
    largest = eigenvalues[0] if r else 0.0
    eigenvalues, vectors = eigenvalues[:r], read_only(vectors[:, :r])
    amplification = np.ones(r) if wide else np.sqrt(largest / eigenvalues)
    return Decomposition(
        eigenvalues=read_only(eigenvalues),
        eigenvalue_error=read_only(np.full(r, _BACKWARD * _EPS * largest)),
        z_amplification=read_only(amplification),
        left=vectors if wide else None,
        right=None if wide else vectors,
        X=X,
        unresolved=min(n_rows - 1, p) - r,
        floor=max(X.shape) * _EPS * float(largest),
        solver="gram",
    )


def _numerical_rank(values: Array, shape: tuple[int, int]) -> int:
    """Count values above max(shape) * eps * largest; centring takes one dimension of the rows."""
    above = int(np.count_nonzero(values > max(shape) * _EPS * values[0]))
    return min(above, shape[0] - 1, shape[1])


def _divided(rotated: Array, singular_values: Array) -> Array:
    """Divide row i of (r,) or (r, k) coordinates by the i-th singular value."""
    return (rotated.T / singular_values).T
