r"""The Krylov space of a problem: all that Partial Least Squares sees, without singular vectors.

m components live in span{g, Gg, ..., G^{m-1} g} with G = X'X and g = X'y. L steps of the Lanczos
(or Golub-Kahan) recursion started at g give L nodes theta_l and weights that integrate
polynomials of degree 2L - 1 exactly against the measure that y puts on the eigenvalues (Gauss
quadrature). Fits and coefficients of m components need L > m; the second sum of the Degrees of
Freedom, sum_i phi_m(lambda_i) h_i, is the integral of a polynomial of degree 3m and needs
2L > 3m. Only the first sum, tr f, runs over all eigenvalues, but over nothing else of them: their
values are enough.

A filter can be so steep at a leading eigenvalue that rounding of the eigenvalue alone would ruin
f there. It is steep only where the recursion has found the eigenvalue, though, so such
eigenvalues are counted at the node itself, in which every step of the recursion agrees.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from plsdof._validation import Array, read_only
from plsdof.decomposition import BACKWARD, Decomposition, lapack_svd, on_gram, resolved_rank
from plsdof.gram import Gram
from plsdof.spectrum import Counted, Spectrum
from plsdof.standardize import Standardized
from plsdof.tridiagonal import EXHAUSTED, Tridiagonalization, lanczos

_EPS = float(np.finfo(np.float64).eps)
# Values are told apart beyond this multiple of their errors.
_RESOLUTION = 4.0
# What X does not reach of y is taken as |y|^2 - |z|^2 if that is known to this relative error.
_OUTSIDE_ERROR = 1e-11
# How traces are counted: see `compress_gram`.
Count = Callable[[Gram, Tridiagonalization], tuple[Counted, int, float]]


@dataclass(frozen=True, kw_only=True)
class Compressed:
    """A basis of the Krylov space, and the spectrum of the problem in it.

    The ``decomposition`` belongs to one response; what needs every direction of X needs a
    complete one.
    """

    decomposition: Decomposition
    spectrum: Spectrum


def krylov_steps(n_components: int) -> int:
    """Return how many steps make everything about ``n_components`` components exact."""
    return 2 * n_components + 2


def compress_gram(
    gram: Gram, n_components: int, *, y: Array | None = None, count: Count | None = None
) -> Compressed:
    """Compress a problem through its Gram matrix.

    Parameters
    ----------
    gram : Gram
    n_components : int
        Largest model wanted.
    y : (n_rows,) array, optional
        The response, if the rows of X are in memory.
    count : callable, optional
        From ``gram`` and its `Tridiagonalization` to what traces add up, how many eigenvalues
        are not resolved, and the floor below which they are not; by default all eigenvalues of
        the formed matrix are counted, each once.

    Notes
    -----
    Cost: `krylov_steps` products with G; with a formed matrix of order d, its eigenvalues
    (O(d^3), a fraction of what vectors cost).
    """
    run = lanczos(gram.times, gram.response, krylov_steps(n_components))
    counted, unresolved, floor = (count or _all_eigenvalues)(gram, run)
    theta, z = krylov_nodes(gram, run, floor)
    basis = read_only((run.ritz_vectors[:, : len(theta)].T @ run.basis).T)
    decomposition = on_gram(gram, theta, basis, None, unresolved, floor)
    spectrum = decomposition.spectrum_of(
        z,
        n=gram.units.n,
        norm=np.sqrt(gram.total),
        outside=max(gram.total - float(z @ z), 0.0),
        counted=counted,
    )
    y = gram.response if gram.side == "samples" else y
    doubt = 2.0 * float(np.abs(z) @ spectrum.z_error)
    if y is not None and doubt > _OUTSIDE_ERROR * spectrum.outside:
        spectrum = replace(spectrum, outside=_outside(decomposition, y, z))
    return Compressed(decomposition=decomposition, spectrum=spectrum)


def krylov_nodes(gram: Gram, run: Tridiagonalization, floor: float) -> tuple[Array, Array]:
    """Return the nodes above ``floor``, largest first, and z at them.

    Nodes that cannot be told from zero have no part in any fit.
    """
    theta = run.ritz_values[run.ritz_values > floor]
    first = run.norm * run.ritz_vectors[0, : len(theta)]
    return theta, first if gram.side == "samples" else first / np.sqrt(theta)


def _all_eigenvalues(gram: Gram, run: Tridiagonalization) -> tuple[Counted, int, float]:
    """Count every eigenvalue of a formed Gram matrix once; also how many are below which floor."""
    assert gram.matrix is not None
    eigenvalues: Array = np.linalg.eigvalsh(gram.matrix)[::-1].astype(np.float64, copy=False)
    r, floor = resolved_rank(gram, eigenvalues)
    error = BACKWARD * _EPS * max(float(eigenvalues[0]), 0.0)
    nodes = krylov_nodes(gram, run, floor)[0]
    counted = _each_once(
        _Values(values=eigenvalues[:r], error=np.full(r, error)),
        _Values(values=nodes, error=np.full(len(nodes), error)),
        run.ritz_residuals[: len(nodes)],
    )
    return counted, gram.max_rank - r, floor


def compress_svd(data: Standardized, n_components: int) -> Compressed:
    """Compress a problem without squaring X: its triangular factor, and Golub-Kahan on that.

    Cost: a QR decomposition without Q, singular values without vectors, 4 n_components + 4
    products with a triangular matrix of order min(n, p).
    """
    X, y = data.X, data.y
    tall = X.shape[0] >= X.shape[1]
    R: Array = np.asarray(np.linalg.qr(X if tall else X.T, mode="r"))
    # R'R is the smaller one of X'X and XX'.
    run = bidiagonalize(R, X.T @ y if tall else y, krylov_steps(n_components))
    left, S, right_t = lapack_svd(run.bidiagonal)
    kept = max(X.shape) * _EPS * S[:1] < S
    left, S, right_t = left[:, kept], S[kept], right_t[kept]
    basis = read_only((right_t @ run.weights).T)
    first = run.norm * right_t[:, :1].sum(axis=1)  # empty if there is no direction at all
    values: Array = np.asarray(np.linalg.svd(R, compute_uv=False))
    above = int(np.count_nonzero(values > max(X.shape) * _EPS * values[0]))
    values = values[: min(above, X.shape[0] - 1)]
    largest = values[:1].sum()
    decomposition = Decomposition(
        eigenvalues=read_only(S**2),
        eigenvalue_error=read_only(2 * BACKWARD * _EPS * largest * S),
        z_amplification=read_only(largest / S if tall else np.ones_like(S)),
        left=None if tall else basis,
        right=basis if tall else None,
        X=X,
        unresolved=0,
        floor=0.0,
        solver="svd",
    )
    unit = 2 * BACKWARD * _EPS * largest
    counted = _each_once(
        _Values(values=values**2, error=unit * values),
        _Values(values=S**2, error=unit * S),
        S * run.remainder * np.abs(left[-1:]).sum(axis=0),
    )
    z = first / S if tall else first
    norm = float(np.linalg.norm(y))
    return Compressed(
        decomposition=decomposition,
        spectrum=decomposition.spectrum_of(
            z, n=data.units.n, norm=norm, outside=_outside(decomposition, y, z), counted=counted
        ),
    )


@dataclass(frozen=True, kw_only=True)
class _Bidiagonal:
    """Result of `bidiagonalize`: A weights' = T bidiagonal, weights with orthonormal rows."""

    weights: Array
    bidiagonal: Array
    norm: float
    remainder: float


def bidiagonalize(A: Array, start: Array, steps: int) -> _Bidiagonal:
    """Run the Golub-Kahan recursion on a matrix, from the right, with full reorthogonalisation."""
    steps = min(steps, len(start))
    norm = float(np.linalg.norm(start))
    T, W = np.empty((steps, A.shape[0])), np.empty((steps, A.shape[1]))
    W[0] = start / (norm or 1.0)
    B = np.zeros((steps, steps))
    beta = 0.0
    for j in range(steps):
        t = A @ W[j]
        if j:
            t -= beta * T[j - 1]
            t -= (T[:j] @ t) @ T[:j]
        B[j, j] = np.linalg.norm(t)
        if B[j, j] <= EXHAUSTED * B.max():
            steps, beta = j, 0.0
            break
        T[j] = t / B[j, j]
        w = A.T @ T[j]
        w -= B[j, j] * W[j]
        w -= (W[: j + 1] @ w) @ W[: j + 1]
        beta = float(np.linalg.norm(w))
        if j + 1 == steps or beta <= EXHAUSTED * B.max():
            steps = j + 1
            break
        B[j, j + 1] = beta
        W[j + 1] = w / beta
    return _Bidiagonal(
        weights=W[:steps],
        bidiagonal=B[:steps, :steps],
        norm=norm,
        remainder=beta,
    )


@dataclass(frozen=True, kw_only=True)
class _Values:
    """Eigenvalues, or approximations of them, and how far they may be off."""

    values: Array
    error: Array


def _each_once(eigenvalues: _Values, nodes: _Values, residual: Array) -> Counted:
    """Count every eigenvalue once, at a node where there is one that has converged to it.

    A node with residual norm rho is within rho^2 / gap of an eigenvalue, gap the distance to the
    other ones.
    """
    distance = np.abs(eigenvalues.values - nodes.values[:, None])
    close = distance <= _RESOLUTION * (eigenvalues.error + nodes.error[:, None])
    gap = np.where(close, np.inf, distance).min(axis=1, initial=np.inf)
    # Roots, because squares of residuals may leave the range of float64.
    close &= (residual <= np.sqrt(gap) * np.sqrt(nodes.error))[:, None]
    found: npt.NDArray[np.bool_] = np.asarray(close.any(axis=0))
    at_node = np.zeros(len(nodes.values))
    if found.any():
        nearest = np.where(close, distance, np.inf)[:, found].argmin(axis=0)
        at_node += np.bincount(nearest, minlength=len(at_node))
    return Counted(
        eigenvalues=read_only(eigenvalues.values[~found]),
        eigenvalue_error=read_only(eigenvalues.error[~found]),
        weights=np.ones(int(np.count_nonzero(~found))),
        dimension=float(len(found)),
        basis_weights=at_node,
    )


def _outside(decomposition: Decomposition, y: Array, z: Array) -> float:
    perpendicular = y - decomposition.to_samples(z[:, None])[:, 0]
    return float(perpendicular @ perpendicular)
