"""The recursion of Partial Least Squares, run on the eigenvalues of a spectrum.

In the basis of singular vectors X is diag(S), so the Lanczos decomposition of the paper,
X W = T L, runs on vectors of length r (`golub_kahan`), and every step but the inner products acts
on each eigenvalue by itself. That makes it accurate *componentwise*: an entry of T or W as small as
1e-30 still has most of its digits. The filters of PLS come from it.

`plsdof._core.compression` has the same Krylov space without singular vectors.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from plsdof._core.inputs import Array

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

    They need no orthogonalisation, but lose digits at eigenvalues that Ritz values have converged
    to: put those among the nodes of `golub_kahan` instead. Cost: O(B c k).
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

    Faster than ``cumsum`` along the first axis, which does not add whole rows.
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
