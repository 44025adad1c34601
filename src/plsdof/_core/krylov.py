"""Krylov recursions: what Partial Least Squares sees of a spectrum.

There are three of them, each for what the others cannot do.

*Golub-Kahan in the rotated basis* (`golub_kahan`). In the basis of singular vectors X is diag(S),
so the Lanczos decomposition of the paper, X W = T L, runs on vectors of length r, and every step
but the inner products acts on each eigenvalue by itself. That makes it accurate *componentwise*:
an entry of T or W as small as 1e-30 still has most of its digits. The filters of PLS come from it.

*Lanczos on a Gram matrix* (`lanczos`). V'GV = J with an orthonormal V whose first column is the
start; the first L columns span the Krylov space, one product with G after the other. It needs no
singular vectors, and no matrix that is formed.

*Golub-Kahan on X or its triangular factor* (`bidiagonalize`). The same space without the squared
condition number of G, for spectra that a Gram matrix cannot resolve.

The last two *compress* a problem: m components live in span{g, Gg, ..., G^{m-1} g} with G = X'X
and g = X'y. L steps started at g give L nodes theta_l and weights that integrate polynomials of
degree 2L - 1 exactly against the measure that y puts on the eigenvalues (Gauss quadrature). Fits
and coefficients of m components need L > m. The second sum of the Degrees of Freedom,
sum_i phi_m(lambda_i) h_i, is the integral of a polynomial of degree 3m and needs 2L > 3m. Only the
first sum, tr f, runs over all eigenvalues, and their values are enough for it.

A filter can be so steep at a leading eigenvalue that rounding of the eigenvalue alone would ruin
f there. It is steep only where the recursion has found the eigenvalue, so such eigenvalues are
counted at the node itself, in which every step of the recursion agrees.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from plsdof._core.inputs import Array, read_only
from plsdof._core.spectrum import (
    Decomposition,
    Gram,
    Map,
    Spectrum,
    TraceNodes,
    decompose_gram,
    on_gram,
    resolved_rank,
    spectrum_on_gram,
)
from plsdof._core.threads import cached_property

# Golub-Kahan bidiagonalisation in the rotated basis
# --------------------------------------------------

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class Bidiagonalization:
    """Result of `golub_kahan`, for a batch of B spectra with g nodes and k components.

    Attributes
    ----------
    scores : (B, k, g) array
        Rows t_1, ..., t_k, orthonormal over the excited nodes.
    weights : (B, k, g) array
        Rows w_1, ..., w_k, likewise; w_1 is proportional to S z.
    diagonal : (B, k) array
        Diagonal of the upper bidiagonal L, all positive.
    superdiagonal : (B, k) array
        ``superdiagonal[j]`` couples t_j with w_{j+1}; the last one leads out of the space.
    loadings : (B, k) array
        c_j = t_j'z, the coefficients of the fit in the scores.
    residuals : (B, k + 1, g) array
        phi_m(lambda) for m = 0..k: what m components leave of each coordinate of z.
    factors : (B, k + 1, g) array
        f_m = 1 - phi_m, accurate also where it is tiny.
    """

    scores: Array
    weights: Array
    diagonal: Array
    superdiagonal: Array
    loadings: Array
    residuals: Array
    factors: Array


def golub_kahan(
    eigenvalues: Array,
    z: Array,
    excited: Mask,
    n_components: int,
    dimension: npt.NDArray[np.intp] | None = None,
) -> Bidiagonalization:
    r"""Run the paper's Lanczos decomposition on the eigenvalues, with its residual filter.

    With w_1 = S z / |S z|, the recursions are (eq. (L) of the paper, X = diag(S))

        alpha_j t_j     = S w_j - beta_{j-1} t_{j-1}
        beta_j  w_{j+1} = S t_j - alpha_j w_j

    both re-orthogonalised against all earlier vectors of their kind (on top of the recursion, so
    that every vector is orthogonalised twice). The gradient of the residual is a
    multiple of the next weight vector, S (z - zhat_m) = gamma_m w_{m+1} with
    gamma_0 = |S z| and gamma_m = -gamma_{m-1} beta_m / alpha_m, hence the residual filter

        phi_m(lambda_i) = gamma_m w_{m+1,i} / (S_i z_i),

    which needs no Ritz values and keeps its relative accuracy after convergence.

    Nodes that y does not excite (z_i = 0) are carried along with z_i = 1 but are left out of all
    inner products: since every entry is z_i times a polynomial in lambda_i, this evaluates the
    same polynomials there. These may overflow, far to the right of what is excited; the entries
    are then not finite.

    Parameters
    ----------
    eigenvalues, z : (B, g) arrays
        Positive eigenvalues and coordinates; both should be of order one at most.
    excited : (g,) or (B, g) bool array
        Where z counts.
    n_components : int
        Number of steps wanted; fewer are made if the space is exhausted.
    dimension : (B,) array of int, optional
        Dimension of each Krylov space, the number of distinct eigenvalues that are excited; by
        default all of them are distinct.

    Notes
    -----
    Cost: O(B g k^2) time, O(B g k) memory.
    """
    batch, g = z.shape
    excited = excited & np.ones(z.shape, dtype=bool)
    if dimension is None:
        dimension = excited.sum(axis=1)
    steps = min(n_components, int(dimension.min()))
    S = np.sqrt(eigenvalues)
    start = np.where(excited, z, 1.0)
    inner_weight = None if excited.all() else excited.astype(np.float64)
    gradient = S * start
    # One vector of every spectrum after the other, so that each step works on adjacent numbers.
    T, W = np.empty((steps, batch, g)), np.empty((steps + 1, batch, g))
    earlier_t, earlier_w = T.transpose(1, 0, 2), W.transpose(1, 0, 2)
    alphas, betas = np.empty((steps, batch, 1)), np.empty((steps, batch, 1))
    part = np.empty((batch, g))
    # Running into exact zeros or overflow leaves non-finite entries, which are cut off below.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        first_gamma = _norm(gradient, inner_weight)
        np.divide(gradient, first_gamma, out=W[0])
        for j in range(steps):
            t = np.multiply(S, W[j], out=T[j])
            if j:
                t -= np.multiply(betas[j - 1], T[j - 1], out=part)
                _orthogonalize(t, earlier_t[:, :j], inner_weight, part)
            t /= _norm(t, inner_weight, out=alphas[j])
            w = np.multiply(S, t, out=W[j + 1])
            w -= np.multiply(alphas[j], W[j], out=part)
            _orthogonalize(w, earlier_w[:, : j + 1], inner_weight, part)
            w /= _norm(w, inner_weight, out=betas[j])
        gammas = first_gamma * np.cumprod(-betas / alphas, axis=0)
        loadings = np.concatenate([first_gamma[None], gammas[:-1]]) / alphas
        f = running_sums(loadings * T / start).transpose(1, 0, 2)
        phi = (gammas * W[1:] / gradient).transpose(1, 0, 2)
        T, W, loadings = earlier_t, earlier_w, loadings[:, :, 0].T
        alphas, betas = alphas[:, :, 0].T, betas[:, :, 0].T
        done = _steps_made(alphas, betas)
        complete = (dimension == done) | (done < steps)
        if done:
            complete |= ~(betas[:, done - 1] > 0)
        if done and complete.any():  # nothing is left on excited nodes
            last = np.where(excited, 0.0, 1.0 - f[:, done - 1])
            phi[:, done - 1] = np.where(complete[:, None], last, phi[:, done - 1])
        # 1 - phi is the better f unless phi is near one.
        f = np.where(np.abs(f) < 0.5, f, 1.0 - phi)
    empty = np.zeros((batch, 1, g))
    return Bidiagonalization(
        scores=T[:, :done],
        weights=W[:, :done],
        diagonal=alphas[:, :done],
        superdiagonal=betas[:, :done],
        loadings=loadings[:, :done],
        residuals=np.concatenate([empty + 1.0, phi[:, :done]], axis=1),
        factors=np.concatenate([empty, f[:, :done]], axis=1),
    )


def residuals_at(run: Bidiagonalization, eigenvalues: Array) -> Array:
    r"""Evaluate the residual filter anywhere: (B, k + 1, c) values at (B, c) eigenvalues.

    With s_j = c_j t_j / z, what component j adds to the filter factor, the recursions above read

        s_j   = (lambda phi_{j-1} + beta_{j-1}^2 s_{j-1}) / alpha_j^2
        phi_j = phi_{j-1} - s_j

    They need no orthogonalisation, but are inaccurate at eigenvalues that the recursion has found:
    these take part in it. Cost: O(B c k).
    """
    batch, steps = run.diagonal.shape
    phi = np.ones((batch, steps + 1, eigenvalues.shape[1]))
    if not phi.size:
        return phi
    added = np.zeros_like(eigenvalues)
    with np.errstate(over="ignore", invalid="ignore"):
        for j in range(steps):
            if j:
                added *= run.superdiagonal[:, j - 1, None] ** 2
            added += eigenvalues * phi[:, j]
            added /= run.diagonal[:, j, None] ** 2
            np.subtract(phi[:, j], added, out=phi[:, j + 1])
    return phi


def running_sums(values: Array) -> Array:
    """Return sums over the first axis up to each entry, in place.

    Faster than ``cumsum``, which goes along the axis for one number after the other.
    """
    for before, here in pairwise(values):
        here += before
    return values


def slopes_at_zero(run: Bidiagonalization) -> Array:
    """Return f'_m(0) = sum_k 1 / theta_k for m = 0..k, by the same recursions. Shape (B, k + 1)."""
    batch, steps = run.diagonal.shape
    slopes, added = np.zeros((batch, steps + 1)), np.zeros(batch)
    for j in range(steps):
        if j:
            added = added * run.superdiagonal[:, j - 1] ** 2
        added = (1.0 + added) / run.diagonal[:, j] ** 2
        slopes[:, j + 1] = slopes[:, j] + added
    return slopes


def _steps_made(alphas: Array, betas: Array) -> int:
    """Return the number of steps before a zero on the bidiagonal ends the recursion."""
    if (alphas > 0).all() and (betas[:, :-1] > 0).all():
        return int(alphas.shape[1])
    usable: Mask = np.asarray((alphas > 0).all(axis=0))
    usable[1:] &= (betas[:, :-1] > 0).all(axis=0)
    return int(np.argmin(usable))


def _norm(v: Array, inner_weight: Array | None, out: Array | None = None) -> Array:
    """Norm over the excited nodes, shape (B, 1)."""
    squares: Array = np.vecdot(v if inner_weight is None else v * inner_weight, v)[:, None]
    return np.sqrt(squares, out=squares if out is None else out)


def _orthogonalize(v: Array, basis: Array, inner_weight: Array | None, part: Array) -> None:
    """Remove from v, in place, what it has along the rows of basis; ``part`` is overwritten."""
    weighted = v if inner_weight is None else v * inner_weight
    v -= np.vecmat(np.matvec(basis, weighted), basis, out=part)


# Symmetric matrices in tridiagonal form, started at a given vector (Lanczos)
# ---------------------------------------------------------------------------

_EPS = float(np.finfo(np.float64).eps)
# The space is exhausted when a new direction is this share of the largest value.
EXHAUSTED = 4 * _EPS


@dataclass(frozen=True, kw_only=True)
class Tridiagonalization:
    """A Krylov space, and the matrix in it.

    Attributes
    ----------
    basis : (L, d) array
        Orthonormal rows; the first one is the start.
    diagonal, beside : (L,) arrays
        Of the tridiagonal matrix; ``beside[j]`` couples rows j and j + 1 of the basis, and the
        last one leads out of the space.
    norm : float
        Length of the start.
    """

    basis: Array
    diagonal: Array
    beside: Array
    norm: float

    @property
    def tridiagonal(self) -> Array:
        """The tridiagonal matrix. Shape (L, L)."""
        inside = self.beside[:-1]
        return np.diag(self.diagonal) + np.diag(inside, 1) + np.diag(inside, -1)

    @property
    def ritz_values(self) -> Array:
        """Eigenvalues of the tridiagonal matrix, largest first. Shape (L,)."""
        return self._eigen[0]

    @property
    def ritz_vectors(self) -> Array:
        """Its eigenvectors, as columns. Shape (L, L)."""
        return self._eigen[1]

    @property
    def ritz_residuals(self) -> Array:
        """Norms of G v - theta v for the Ritz pairs. Shape (L,)."""
        return np.asarray(np.abs(self.beside[-1] * self.ritz_vectors[-1]))

    @cached_property
    def _eigen(self) -> tuple[Array, Array]:
        values, vectors = np.linalg.eigh(self.tridiagonal)
        return values[::-1], vectors[:, ::-1]


def lanczos(times: Map, start: Array, steps: int) -> Tridiagonalization:
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
        new = times(last[:, None])[:, 0]
        if j:
            new = new - beta * basis[j - 1]
        diagonal[j] = alpha = float(last @ new)
        new = new - alpha * last
        new -= (basis[: j + 1] @ new) @ basis[: j + 1]
        beside[j] = beta = math.sqrt(new @ new)
        largest = max(largest, alpha)
        if j + 1 == steps or beta <= EXHAUSTED * largest:
            steps = j + 1
            break
        np.divide(new, beta, out=basis[j + 1])
    return Tridiagonalization(
        basis=basis[:steps],
        diagonal=diagonal[:steps],
        beside=beside[:steps],
        norm=norm,
    )


# The Krylov space of a problem: all that Partial Least Squares sees, without singular vectors
# --------------------------------------------------------------------------------------------

# What X does not reach of y is taken as |y|^2 - |z|^2 if that is known to this relative error.
_OUTSIDE_ERROR = 1e-11
# Eigenvalues, and z from zero, are told apart beyond this multiple of their errors.
RESOLUTION = 4.0
# How traces are counted: see `compress_gram`.
Count = Callable[[Gram, Tridiagonalization], tuple[TraceNodes, int, float]]


@dataclass(frozen=True, kw_only=True)
class Compressed:
    """A basis of the Krylov space, and the spectrum of the problem in it.

    The ``decomposition`` belongs to one response; what needs every direction of X needs a
    complete one.
    """

    decomposition: Decomposition
    spectrum: Spectrum


def krylov_steps(n_components: int) -> int:
    """Return how many steps make everything about ``n_components`` components exact.

    Polynomials of degree 3 n_components are integrated exactly by half as many nodes.
    """
    return 3 * n_components // 2 + 2


def compress_gram(
    gram: Gram,
    n_components: int,
    *,
    y: Array | None = None,
    count: Count | None = None,
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
    if gram.side == "samples" and count is None and counted.dimension < gram.order - 1:
        # From y, which X does not reach, Lanczos keeps a node near zero, at the cost of digits.
        complete = decompose_gram(gram)
        return Compressed(decomposition=complete, spectrum=spectrum_on_gram(gram, complete))
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


def _all_eigenvalues(gram: Gram, run: Tridiagonalization) -> tuple[TraceNodes, int, float]:
    """Count every eigenvalue of a formed Gram matrix once; also how many are below which floor."""
    assert gram.matrix is not None
    eigenvalues: Array = np.linalg.eigvalsh(gram.matrix)[::-1].astype(np.float64, copy=False)
    r, floor = resolved_rank(gram, eigenvalues)
    error = gram.error(max(float(eigenvalues[0]), 0.0))
    nodes = krylov_nodes(gram, run, floor)[0]
    counted = _each_once(
        _Values(values=eigenvalues[:r], error=np.full(r, error)),
        _Values(values=nodes, error=np.full(len(nodes), error)),
        run.ritz_residuals[: len(nodes)],
    )
    return counted, gram.max_rank - r, floor


@dataclass(frozen=True, kw_only=True)
class _Values:
    """Eigenvalues, or approximations of them, and how far they may be off."""

    values: Array
    error: Array


def _each_once(eigenvalues: _Values, nodes: _Values, residual: Array) -> TraceNodes:
    """Count every eigenvalue once, at a node where there is one that has converged to it.

    A node with residual norm rho is within rho^2 / gap of an eigenvalue, gap the distance to the
    other ones.
    """
    distance = np.abs(eigenvalues.values - nodes.values[:, None])
    close = distance <= RESOLUTION * (eigenvalues.error + nodes.error[:, None])
    gap = np.where(close, np.inf, distance).min(axis=1, initial=np.inf)
    # Roots, because squares of residuals may leave the range of float64.
    close &= (residual <= np.sqrt(gap) * np.sqrt(nodes.error))[:, None]
    found: npt.NDArray[np.bool_] = np.asarray(close.any(axis=0))
    at_node = np.zeros(len(nodes.values))
    if found.any():
        nearest = np.where(close, distance, np.inf)[:, found].argmin(axis=0)
        at_node += np.bincount(nearest, minlength=len(at_node))
    return TraceNodes(
        eigenvalues=read_only(eigenvalues.values[~found]),
        eigenvalue_error=read_only(eigenvalues.error[~found]),
        weights=np.ones(int(np.count_nonzero(~found))),
        dimension=float(len(found)),
        basis_weights=at_node,
    )


def _outside(decomposition: Decomposition, y: Array, z: Array) -> float:
    perpendicular = y - decomposition.to_samples(z[:, None])[:, 0]
    return float(perpendicular @ perpendicular)
