"""A problem compressed to its Krylov space: few components need no singular vectors.

m components live in span{g, Gg, ..., G^{m-1} g} with G = X'X and g = X'y. L orthonormal steps from
there lead to a small matrix, whose eigenvalues are nodes theta_l with weights that integrate
polynomials of degree 2L - 1 exactly against the measure that y puts on the eigenvalues (Gauss
quadrature). Fits and coefficients of m components need L > m. The second sum of the Degrees of
Freedom, sum_i phi_m(lambda_i) h_i, is the integral of a polynomial of degree 3m and needs 2L > 3m.
Only the first sum, tr f, runs over all eigenvalues, and their values are enough for it.

There are two ways into the space. `lanczos` works on a formed Gram matrix, whose eigenvalues are
those of X squared; `bidiagonalize` works on X itself and has all digits. And there are three to the
values: those of the Gram matrix, those of the Gram matrix of what X is without the singular vectors
that the space has found (`peeled_values`), and `singular_values` of X, which have all digits.

A filter can be so steep at a leading eigenvalue that rounding of the eigenvalue alone would ruin
f there. It is steep only where the recursion has found the eigenvalue, so such eigenvalues are
counted at the node itself, in which every step of the recursion agrees.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from plsdof._core.inputs import Array, read_only
from plsdof._core.spectrum import (
    RESOLUTION,
    Decomposition,
    Gram,
    Spectrum,
    dense_gram,
    numerical_rank,
    on_gram,
    resolved_rank,
    squaring_error,
)
from plsdof._core.standardize import Standardized, tiles

_EPS = float(np.finfo(np.float64).eps)
# The space is exhausted when a new direction is this share of the largest value.
_EXHAUSTED = 4 * _EPS
# Backward errors of products with X, which add up over the steps, against those of LAPACK.
_BY_PRODUCTS = 2.0
# What X does not reach of y is taken as |y|^2 - |z|^2 if that is known to this relative error.
_OUTSIDE_ERROR = 1e-11


def krylov_steps(n_components: int) -> int:
    """Return how many steps make everything about ``n_components`` components exact.

    Polynomials of degree 3 n_components are integrated exactly by half as many nodes.
    """
    return 3 * n_components // 2 + 2


@dataclass(frozen=True, kw_only=True)
class Krylov:
    """A Krylov space of G = X'X or XX', in the basis of its Ritz vectors.

    Attributes
    ----------
    values : (L,) array
        Ritz values, largest first.
    first : (L,) array
        Coordinates of the start.
    residuals : (L,) array
        Norms of G v - theta v for the Ritz pairs.
    basis : (L, d) array
        Orthonormal Ritz vectors, in rows.
    images : (L, n) array or None
        Their images X v, of unit length, where they were made.
    """

    values: Array
    first: Array
    residuals: Array
    basis: Array
    images: Array | None = None


def lanczos(matrix: Array, start: Array, steps: int) -> Krylov:
    """Tridiagonalise a symmetric matrix from a start, with full reorthogonalisation.

    Stops when the space is exhausted. Cost: ``steps`` products, O(d steps^2) time, O(d steps)
    memory.
    """
    steps = min(steps, len(start))
    norm = float(np.linalg.norm(start))
    basis = np.empty((steps, len(start)))
    basis[0] = start / (norm or 1.0)
    diagonal, beside = np.zeros(steps), np.zeros(steps)
    largest, beta = 0.0, 0.0
    for j in range(steps):
        last = basis[j]
        new = matrix @ last
        if j:
            new -= beta * basis[j - 1]
        diagonal[j] = alpha = float(last @ new)
        new -= alpha * last
        new -= (basis[: j + 1] @ new) @ basis[: j + 1]
        beside[j] = beta = math.sqrt(new @ new)
        largest = max(largest, alpha)
        if j + 1 == steps or beta <= _EXHAUSTED * largest:
            steps = j + 1
            break
        np.divide(new, beta, out=basis[j + 1])
    inside = beside[: steps - 1]
    J = np.diag(diagonal[:steps]) + np.diag(inside, 1) + np.diag(inside, -1)
    values, vectors = np.linalg.eigh(J)
    vectors = vectors[:, ::-1]
    return Krylov(
        values=values[::-1],
        first=norm * vectors[0],
        residuals=np.abs(beta * vectors[-1]),
        basis=vectors.T @ basis[:steps],
    )


def bidiagonalize(X: Array, y: Array, steps: int) -> Krylov:
    """Return the Krylov space of X'X and X'y by Golub-Kahan-Lanczos steps on X itself.

        X w_j = alpha_j t_j + beta_{j-1} t_{j-1},      X't_j = alpha_j w_j + beta_j w_{j+1}

    Both sides are re-orthogonalised twice. Cost: 2 ``steps`` products with X, O((n + p) steps^2).
    """
    n, p = X.shape
    steps = min(steps, n, p)
    T, W = np.empty((steps, n)), np.empty((steps + 1, p))
    alphas, betas = np.zeros(steps), np.zeros(steps)
    w = X.T @ y
    norm, residual = float(np.linalg.norm(w)), y
    W[0] = w / (norm or 1.0)
    made, largest = 0, 0.0
    for j in range(steps):
        t = X @ W[j]
        for _ in range(2):
            t -= (T[:j] @ t) @ T[:j]
        alphas[j] = math.sqrt(t @ t)
        largest = max(largest, float(alphas[j]))
        if not alphas[j] > _EXHAUSTED * largest:
            break
        made = j + 1
        np.divide(t, alphas[j], out=T[j])
        # X't and the gradient X'r have the same new direction; the longer one has more digits.
        residual = residual - (T[j] @ residual) * T[j]
        size = math.sqrt(residual @ residual) or 1.0
        pair = _times(np.stack([T[j], residual / size]), X)
        for _ in range(2):
            pair -= (pair @ W[:made].T) @ W[:made]
        lengths = np.sqrt(np.vecdot(pair, pair))
        betas[j] = lengths[0]
        if not betas[j] > _EXHAUSTED * largest:
            break
        if lengths[1] > lengths[0]:
            np.divide(pair[1], math.copysign(lengths[1], pair[0] @ pair[1]), out=W[made])
        else:
            np.divide(pair[0], lengths[0], out=W[made])
    if not made:
        return Krylov(
            values=np.zeros(0),
            first=np.zeros(0),
            residuals=np.zeros(0),
            basis=W[:0],
            images=T[:0],
        )
    # B = P S Q': right singular vectors in terms of W, left ones of T.
    B = np.diag(alphas[:made]) + np.diag(betas[: made - 1], 1)
    P, S, Qt = np.linalg.svd(B)
    return Krylov(
        values=S**2,
        first=norm * Qt[:, 0],
        residuals=S * np.abs(betas[made - 1] * P[-1]),
        basis=Qt @ W[:made],
        images=P.T @ T[:made],
    )


def _times(vectors: Array, X: Array) -> Array:
    """Return a few vectors (k, n) times X, one by one: a product of matrices would copy X."""
    made = np.zeros((len(vectors), X.shape[1]))
    for rows, columns in tiles(X):
        made[:, columns] += np.vecmat(vectors[:, rows], X[rows, columns])
    return made


@dataclass(frozen=True, kw_only=True)
class Eigenvalues:
    """All eigenvalues of XX' that can be told from zero, largest first.

    Attributes
    ----------
    values, error : (r,) arrays
    unresolved : int
        Number of further ones, below ``floor``.
    floor : float
    collinear : int
        How many of these are zero as far as the entries of X can tell.
    solver : {"gram", "svd"}
    """

    values: Array
    error: Array
    unresolved: int
    floor: float
    collinear: int
    solver: str


def eigenvalues_of(gram: Gram) -> Eigenvalues:
    """Return the eigenvalues of a Gram matrix. Cost: O(d^3), a fraction of what vectors cost."""
    values: Array = np.linalg.eigvalsh(gram.matrix)[::-1].astype(np.float64, copy=False)
    r, floor = resolved_rank(gram, values)
    return Eigenvalues(
        values=values[:r],
        error=gram.error(values[:r]),
        unresolved=gram.max_rank - r,
        floor=floor,
        collinear=0,
        solver="gram",
    )


def peeled_values(data: Standardized, space: Krylov) -> Eigenvalues | None:
    """Return the eigenvalues of XX' from a Gram matrix without the directions that are found.

    With singular triplets T, S, W that the space has converged to, XX' = T S^2 T' + X_2 X_2' for
    X_2 = X - T S W', and rounding of X_2 X_2' is relative to what is left. None if there are no
    such triplets. Cost: that of a Gram matrix and its eigenvalues.
    """
    assert space.images is not None
    S: Array = np.sqrt(space.values)
    floor = numerical_rank(data, S)[1]
    # X_2 keeps of t what X't - S w is, of norm residual / S.
    found = (floor < S) & (space.residuals <= floor * S)
    if not found.any():
        return None
    left = data.X - (space.images[found].T * S[found]) @ space.basis[found]
    rest = eigenvalues_of(dense_gram(replace(data, X=left)))
    lowest = max(rest.floor, floor**2)
    kept = rest.values > lowest
    small, largest = rest.values[kept], float(S[0])
    values: Array = np.concatenate([S[found] ** 2, small])
    # Products with X and what is taken off it are rounded relative to all of X.
    error: Array = _BY_PRODUCTS * squaring_error(np.sqrt(values), largest)
    error[len(values) - len(small) :] += rest.error[kept]
    order = np.argsort(-values, kind="stable")[: data.max_rank]
    return Eigenvalues(
        values=values[order],
        error=error[order],
        unresolved=data.max_rank - len(order),
        floor=lowest,
        collinear=0,
        solver="gram",
    )


def singular_values(data: Standardized) -> Eigenvalues:
    """Return the squared singular values of X. Cost: O(n p min(n, p))."""
    X = data.X if len(data.X) >= data.X.shape[1] else data.X.T
    S = np.asarray(np.linalg.svd(X, compute_uv=False), dtype=np.float64)
    r, floor = numerical_rank(data, S)
    return Eigenvalues(
        values=S[:r] ** 2,
        error=squaring_error(S[:r], S[0]),
        unresolved=data.max_rank - r,
        floor=floor**2,
        collinear=data.max_rank - r,
        solver="svd",
    )


# The problem in the basis of its nodes
# -------------------------------------


def compress_gram(gram: Gram, eigenvalues: Eigenvalues, steps: int) -> "Compressed":
    """Return the problem in a Krylov space of a formed Gram matrix.

    From a part of y that X does not reach, Lanczos would keep a node near zero, at the cost of
    digits: see `reaches_all`.
    """
    space = lanczos(gram.matrix, gram.response, steps)
    kept = space.values > eigenvalues.floor
    theta = space.values[kept]
    first, basis = space.first[kept], read_only(space.basis[kept].T)
    z = first if gram.side == "samples" else first / np.sqrt(theta)
    error = gram.error(theta)
    decomposition = on_gram(gram, theta, basis, eigenvalues.unresolved, eigenvalues.floor)
    spectrum = decomposition.spectrum_of(
        z,
        n=gram.units.n,
        norm=np.sqrt(gram.total),
        outside=max(gram.total - float(z @ z), 0.0),
    )
    y = gram.response if gram.side == "samples" else gram.y
    doubt = 2.0 * float(np.abs(z) @ spectrum.z_error)
    if y is not None and doubt > _OUTSIDE_ERROR * spectrum.outside:
        perpendicular = y - decomposition.to_samples(z[:, None])[:, 0]
        spectrum = replace(spectrum, outside=float(perpendicular @ perpendicular))
    return decomposition, _counted(spectrum, eigenvalues, error, space.residuals[kept])


def reaches_all(gram: Gram, eigenvalues: Eigenvalues) -> bool:
    """Whether X reaches everything that the response of a Gram matrix may hold."""
    return gram.side == "features" or len(eigenvalues.values) >= gram.order - 1


def compress_rows(data: Standardized, space: Krylov, eigenvalues: Eigenvalues) -> "Compressed":
    """Return the problem in a Krylov space of the rows themselves."""
    assert space.images is not None
    S = np.sqrt(space.values)
    kept = numerical_rank(data, S)[1] < S
    S = S[kept]
    error = _BY_PRODUCTS * squaring_error(S)
    decomposition = Decomposition(
        eigenvalues=read_only(S**2),
        eigenvalue_error=read_only(error),
        z_amplification=read_only(np.full(len(S), _BY_PRODUCTS)),
        left=read_only(space.images[kept].T),
        right=read_only(space.basis[kept].T),
        X=None,
        unresolved=eigenvalues.unresolved,
        floor=eigenvalues.floor,
        solver=eigenvalues.solver,
        collinear=eigenvalues.collinear,
    )
    spectrum = replace(decomposition.spectrum(data.y, data.units.n), hides_nothing=True)
    return decomposition, _counted(spectrum, eigenvalues, error, space.residuals[kept])


Compressed = tuple[Decomposition, Spectrum]


def _counted(
    spectrum: Spectrum, eigenvalues: Eigenvalues, node_error: Array, residuals: Array
) -> Spectrum:
    """Count every eigenvalue once, at a node where there is one that has converged to it.

    With residual norm rho, a node is within rho^2 / gap of an eigenvalue, gap the distance to the
    other ones.
    """
    nodes, values, error = spectrum.eigenvalues, eigenvalues.values, eigenvalues.error
    distance = np.abs(values - nodes[:, None])
    close = distance <= RESOLUTION * (error + node_error[:, None])
    gap = np.where(close, np.inf, distance).min(axis=1, initial=np.inf)
    # Roots, because squares of residuals may leave the range of float64.
    close &= (residuals <= np.sqrt(gap) * np.sqrt(node_error))[:, None]
    found = close.any(axis=0)
    nearest = (
        np.where(close, distance, np.inf)[:, found].argmin(axis=0)
        if found.any()
        else np.zeros(0, dtype=np.intp)
    )
    return replace(
        spectrum,
        counts=np.bincount(nearest, minlength=len(nodes)).astype(np.float64),
        others=read_only(values[~found]),
        others_error=read_only(error[~found]),
    )
