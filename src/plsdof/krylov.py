"""Golub-Kahan bidiagonalisation in the rotated basis.

In the basis of singular vectors, X is diag(S), so the Lanczos decomposition of the paper,
X W = T L, runs on vectors of length r, and every step but the inner products acts on each
eigenvalue by itself. That makes the recursion accurate *componentwise*: an entry of T or W as
small as 1e-30 still has most of its digits.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plsdof._validation import Array

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
    eigenvalues: Array, z: Array, excited: Mask, n_components: int
) -> Bidiagonalization:
    r"""Run the paper's Lanczos decomposition on distinct eigenvalues, with its residual filter.

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
        Distinct positive eigenvalues and coordinates; both should be of order one at most.
    excited : (g,) bool array
        Where z counts. The Krylov space has dimension ``excited.sum()``.
    n_components : int
        Number of steps wanted; fewer are made if the space is exhausted.

    Notes
    -----
    Cost: O(B g k^2) time, O(B g k) memory.
    """
    batch, g = z.shape
    dimension = int(np.count_nonzero(excited))
    steps = min(n_components, dimension)
    S = np.sqrt(eigenvalues)
    start = np.where(excited, z, 1.0)
    inner_weight = None if dimension == g else excited.astype(np.float64)
    gradient = S * start
    T = np.empty((batch, steps, g))
    W = np.empty((batch, steps + 1, g))
    bidiagonal: list[Array] = []
    # Running into exact zeros or overflow leaves non-finite entries, which are cut off below.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        first_gamma = _norm(gradient, inner_weight)
        W[:, 0] = gradient / first_gamma
        beta = np.zeros((batch, 1))
        for j in range(steps):
            t = S * W[:, j]
            if j:
                t -= beta * T[:, j - 1]
                _orthogonalize(t, T[:, :j], inner_weight)
            alpha = _norm(t, inner_weight)
            t = np.divide(t, alpha, out=T[:, j])
            w = S * t
            w -= alpha * W[:, j]
            _orthogonalize(w, W[:, : j + 1], inner_weight)
            beta = _norm(w, inner_weight)
            np.divide(w, beta, out=W[:, j + 1])
            bidiagonal += alpha, beta
        entries = np.concatenate([*bidiagonal, np.empty((batch, 0))], axis=1)
        alphas, betas = entries[:, 0::2], entries[:, 1::2]
        gammas = first_gamma * np.cumprod(-betas / alphas, axis=1)
        loadings = np.concatenate([first_gamma, gammas[:, :-1]], axis=1) / alphas
        f = np.cumsum(loadings[:, :, None] * T / start[:, None], axis=1)
        phi = gammas[:, :, None] * W[:, 1:] / gradient[:, None]
        done = _steps_made(alphas, betas)
        if done and (done == dimension or done < steps):  # nothing is left on excited nodes
            phi[:, done - 1] = np.where(excited, 0.0, 1.0 - f[:, done - 1])
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

    They need no orthogonalisation, but are no good at eigenvalues that the recursion has found:
    these take part in it. Cost: O(B c k).
    """
    batch, steps = run.diagonal.shape
    phi = np.ones((batch, steps + 1, eigenvalues.shape[1]))
    added = np.zeros_like(eigenvalues)
    with np.errstate(over="ignore", invalid="ignore"):
        for j in range(steps):
            if j:
                added *= run.superdiagonal[:, j - 1, None] ** 2
            added += eigenvalues * phi[:, j]
            added /= run.diagonal[:, j, None] ** 2
            np.subtract(phi[:, j], added, out=phi[:, j + 1])
    return phi


def _steps_made(alphas: Array, betas: Array) -> int:
    """Return the number of steps before a zero on the bidiagonal ends the recursion."""
    usable = np.all(alphas > 0, axis=0)
    usable[1:] &= np.all(betas[:, :-1] > 0, axis=0)
    return int(np.argmin(usable)) if not usable.all() else len(usable)


def _norm(v: Array, inner_weight: Array | None) -> Array:
    """Norm over the excited nodes, shape (B, 1)."""
    weighted = v if inner_weight is None else v * inner_weight
    norm: Array = np.sqrt(np.vecdot(weighted, v))
    return norm[:, None]


def _orthogonalize(v: Array, basis: Array, inner_weight: Array | None) -> None:
    """Remove from v, in place, what it has along the rows of basis."""
    weighted = v if inner_weight is None else v * inner_weight
    v -= np.vecmat(np.matvec(basis, weighted), basis)
