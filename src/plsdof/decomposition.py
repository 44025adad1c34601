"""Decomposition of the predictors.

Notation: X = U S V' (thin, on the numerical rank r), lambda = S^2, z = U'y.
"""

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from plsdof._validation import Array, as_choice, read_only
from plsdof.gram import Gram, Reached, dense_gram
from plsdof.spectrum import Counted, Spectrum
from plsdof.standardize import Standardized

SOLVERS = ("auto", "svd", "gram")
_EPS = float(np.finfo(np.float64).eps)
# A QR (LQ) step before the SVD pays off from this ratio of rows to columns (columns to rows) on.
_QR_RATIO = 2.0
# Backward errors of LAPACK's decompositions, in units of eps times the largest value.
BACKWARD = 2.0


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
    X : (n_rows, p) array, `Reached` or None
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
    X: Array | Reached | None
    unresolved: int
    floor: float
    solver: str

    @property
    def singular_values(self) -> Array:
        """Square roots of the eigenvalues."""
        return np.sqrt(self.eigenvalues)

    @property
    def sample_basis(self) -> Array:
        """U, one row per sample. Shape (n_rows, r)."""
        if self.left is not None:
            return self.left
        assert self.X is not None
        assert self.right is not None
        return self.X @ (self.right / self.singular_values)

    @property
    def feature_basis(self) -> Array:
        """V, one row per feature. Shape (p, r)."""
        if self.right is not None:
            return self.right
        assert self.X is not None
        assert self.left is not None
        return self.X.T @ (self.left / self.singular_values)

    def to_samples(self, rotated: Array) -> Array:
        """Return U @ rotated: from rotated coordinates (r, k) to one row per sample."""
        if self.left is not None:
            return self.left @ rotated
        assert self.X is not None
        assert self.right is not None
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
        outside = 0.0
        if n - 1.0 > len(z):
            perpendicular = y - self.to_samples(z[:, None])[:, 0]
            outside = float(perpendicular @ perpendicular)
        return self.spectrum_of(z, n=n, norm=float(np.linalg.norm(y)), outside=outside)

    def spectrum_of(
        self, z: Array, *, n: float, norm: float, outside: float, counted: Counted | None = None
    ) -> Spectrum:
        """Combine the decomposition of X with the coordinates z = U'y of a response of norm |y|."""
        return Spectrum(
            eigenvalues=self.eigenvalues,
            z=read_only(z),
            n=n,
            outside=outside,
            eigenvalue_error=self.eigenvalue_error,
            z_error=read_only(BACKWARD * _EPS * norm * self.z_amplification),
            unresolved=self.unresolved,
            floor=self.floor,
            counted=counted,
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
    return _by_svd(data.X) if solver == "svd" else decompose_gram(dense_gram(data), data.X)


def _by_svd(X: Array) -> Decomposition:
    left, S, right_t = _thin_svd(X)
    r = _numerical_rank(S, X.shape)
    S = S[:r]
    largest = S[0] if r else 0.0
    return Decomposition(
        eigenvalues=read_only(S**2),
        eigenvalue_error=read_only(2 * BACKWARD * _EPS * largest * S),
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
        left, S, right_t = lapack_svd(R)
        return Q @ left, S, right_t
    if p >= _QR_RATIO * n_rows:
        Q, R = np.linalg.qr(X.T)
        right, S, left_t = lapack_svd(R)
        return left_t.T, S, (Q @ right).T
    return lapack_svd(X)


def lapack_svd(X: Array) -> tuple[Array, Array, Array]:
    """Return U, S and V' of X = U diag(S) V', with min(n, p) columns of U and rows of V'."""
    try:
        return np.linalg.svd(X, full_matrices=False)
    except np.linalg.LinAlgError:  # divide and conquer may fail where QR iteration does not
        return scipy.linalg.svd(X, full_matrices=False, check_finite=False, lapack_driver="gesvd")


def decompose_gram(gram: Gram, X: Array | None = None) -> Decomposition:
    """Decompose a formed Gram matrix; X, if at hand, spares products through ``gram``."""
    assert gram.matrix is not None
    eigenvalues, vectors = np.linalg.eigh(gram.matrix)
    r, floor = resolved_rank(gram, eigenvalues[::-1])
    basis = read_only(vectors[:, ::-1][:, :r])
    return on_gram(gram, eigenvalues[::-1][:r], basis, X, gram.max_rank - r, floor)


def spectrum_on_gram(gram: Gram, decomposition: Decomposition) -> Spectrum:
    """Combine a decomposition of ``gram`` with the response that belongs to it."""
    if decomposition.left is not None:
        return decomposition.spectrum(gram.response, gram.units.n)
    assert decomposition.right is not None
    z = decomposition.right.T @ gram.response / decomposition.singular_values
    return decomposition.spectrum_of(
        z, n=gram.units.n, norm=np.sqrt(gram.total), outside=max(gram.total - float(z @ z), 0.0)
    )


def on_gram(
    gram: Gram,
    eigenvalues: Array,
    basis: Array,
    X: Array | None,
    unresolved: int,
    floor: float,
) -> Decomposition:
    """Put together eigenvalues and orthonormal (d, r) eigenvectors in the space of ``gram``."""
    wide = gram.side == "samples"
    largest = eigenvalues[0] if len(eigenvalues) else 0.0
    amplification = np.ones_like(eigenvalues) if wide else np.sqrt(largest / eigenvalues)
    return Decomposition(
        eigenvalues=read_only(eigenvalues),
        eigenvalue_error=read_only(np.full_like(eigenvalues, BACKWARD * _EPS * largest)),
        z_amplification=read_only(amplification),
        left=basis if wide else None,
        right=None if wide else basis,
        X=gram.X if X is None else X,
        unresolved=unresolved,
        floor=floor,
        solver="gram",
    )


def resolved_rank(gram: Gram, eigenvalues: Array) -> tuple[int, float]:
    """Return the numerical rank, from all eigenvalues, largest first, and the floor behind it."""
    longest = max(gram.units.n_rows, len(gram.units.x_mean))
    floor = longest * _EPS * max(float(eigenvalues[0]), 0.0)
    return min(int(np.count_nonzero(eigenvalues > floor)), gram.max_rank), floor


def _numerical_rank(values: Array, shape: tuple[int, int]) -> int:
    """Count values above max(shape) * eps * largest; centring takes one dimension of the rows."""
    above = int(np.count_nonzero(values > max(shape) * _EPS * values[0]))
    return min(above, shape[0] - 1, shape[1])


def _divided(rotated: Array, singular_values: Array) -> Array:
    """Divide row i of (r,) or (r, k) coordinates by the i-th singular value."""
    return (rotated.T / singular_values).T
