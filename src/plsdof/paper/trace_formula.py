"""The paper's last proposition: the Degrees of Freedom as a trace over Krylov vectors.

Notation and reference: see `plsdof.paper`.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from plsdof import criteria
from plsdof._validation import Array, read_only
from plsdof.paper.problem import as_size, prepare, report_end
from plsdof.readable import one_line


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class KrylovResult:
    """Result of `krylov`, for m = 0..M components.

    Attributes
    ----------
    dof : (M+1,) array
        Degrees of Freedom by the trace formula, never clipped. nan where B has no inverse.
    rss : (M+1,) array
        Residual sums of squares.
    noise_variance : (M+1,) array
        RSS / (n - DoF), eq. (sigma); nan where DoF >= n.
    condition : (M+1,) array
        Condition number of B with its columns scaled to unit length. About
        ``16 - log10(condition)`` digits of ``dof`` can be trusted, none from 1e16 on.
    scores : (n, M) array
        Orthonormal scores T.
    basis : (M, M) array
        B = (t_i'K^j y); m components use its leading m x m block.
    kernel_root : (n, p) array
        Standardised X divided by its largest singular value, so that K = XX' has norm one. A
        multiple of K gives the same fit, and its powers neither overflow nor vanish.
    y : (n,) array
        Centred response.
    message : str
        Why there are fewer components than asked for; empty if there are not.
    """

    dof: Array
    rss: Array
    noise_variance: Array
    condition: Array
    scores: Array
    basis: Array
    kernel_root: Array
    y: Array
    message: str

    def jacobian(self, m: int) -> Array:
        """Return d yhat_m/dy by the proposition before the trace formula. Shape (n, n).

        11'/n + sum_j c_j (I - TT') K^j + sum_j v_j (y - yhat_m)' K^j + TT'.
        Cost: O(m n^3) time. It breaks down with ``dof``.
        """
        m = as_size(m, self.dof, self.message)
        T = self.scores[:, :m]
        inverse = _inverse(self.basis[:m, :m])
        c = inverse @ (T.T @ self.y)
        V = T @ inverse.T
        residual = self.y - T @ (T.T @ self.y)
        H = 1.0 / len(T) + T @ T.T
        K = self.kernel_root @ self.kernel_root.T
        power = np.eye(len(T))
        for j in range(m):
            power = K @ power
            H += c[j] * (power - T @ (T.T @ power)) + np.outer(V[:, j], residual @ power)
        return H

    def __repr__(self) -> str:
        n, p = self.kernel_root.shape
        worst = float(np.max(self.condition))
        return one_line(self, f"{len(self.dof)} models", n=n, p=p, condition=worst)


def krylov(X: Any, y: Any, max_components: int, *, scale: bool = True) -> KrylovResult:
    """Trace the derivative of the PLS fit: Kraemer & Sugiyama (2011), last proposition.

    With B = (t_i'K^j y), c = B^{-1} T'y and V = T (B^{-1})',

        DoF(m) = 1 + sum_j c_j trace(K^j) - sum_{j,l} c_j t_l'K^j t_l
                   + (y - yhat_m)' sum_j K^j v_j + m.

    Parameters
    ----------
    X, y, max_components, scale
        As for `lanczos`.

    Notes
    -----
    Cost: O(n p m^2 + n m^3) time, O(np + n m^2) memory.

    Where it breaks: K y, K^2 y, ... all turn towards the leading eigenvectors of K and become
    parallel, so that the condition number of B grows with every component, the faster the more
    collinear the predictors are. Near infrared spectra cost two or three
    digits per component: all are lost after about seven, and what follows is wrong without
    looking so. The scores T themselves stay accurate. Read ``condition``, and use
    `plsdof.pls_path` for results.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(30, 4))
    >>> y = X @ [1.0, 2.0, 0.0, -1.0] + rng.normal(size=30)
    >>> result = krylov(X, y, 4)
    >>> result.dof.round(2)
    array([1.  , 5.12, 4.76, 4.96, 5.  ])
    >>> bool(result.condition[4] > 100 * result.condition[2])
    True
    """
    problem = prepare(X, y, max_components, scale)
    y, M = problem.data.y, problem.size
    root = problem.data.X / np.sqrt(problem.largest)
    T = _scores(root, y, M)
    KT, Ky = _powers(root, T, M), _powers(root, y, M)
    B = T.T @ Ky.T
    traces = np.sum((problem.eigenvalues / problem.largest) ** np.arange(1, M + 1)[:, None], axis=1)
    residuals = y - np.vstack([np.zeros_like(y), np.cumsum((T.T @ y)[:, None] * T.T, axis=0)])
    dof = [1.0] + [
        _trace_formula(KT[:m, :, :m], B[:m, :m], T[:, :m], y, residuals[m], traces[:m])
        for m in range(1, M + 1)
    ]
    rss = np.sum(residuals**2, axis=1)
    n = float(len(y))
    return KrylovResult(
        dof=read_only(dof),
        rss=read_only(rss),
        noise_variance=read_only(criteria.noise_from_dof(rss, np.array(dof), n)),
        condition=read_only([_condition(B[:m, :m]) for m in range(M + 1)]),
        scores=read_only(T),
        basis=read_only(B),
        kernel_root=read_only(root),
        y=y,
        message=report_end(M, max_components, problem),
    )


def _scores(X: Array, y: Array, n_components: int) -> Array:
    """Return T (n, M) of the Lanczos decomposition X W = T L, eq. (L), re-orthogonalised."""
    T = np.zeros((len(y), n_components))
    W = np.zeros((X.shape[1], n_components))
    w = X.T @ y
    for i in range(n_components):
        w = _orthogonalized(w, W[:, :i])
        W[:, i] = w / np.linalg.norm(w)
        t = _orthogonalized(X @ W[:, i], T[:, :i])
        T[:, i] = t / np.linalg.norm(t)
        w = X.T @ T[:, i]
    return T


def _orthogonalized(a: Array, basis: Array) -> Array:
    for _ in range(2):  # twice is enough
        a = a - basis @ (basis.T @ a)
    return a


def _powers(root: Array, a: Array, highest: int) -> Array:
    """Return K a, K^2 a, ..., stacked along a new first axis."""
    powers = np.zeros((highest, *a.shape))
    for j in range(highest):
        a = root @ (root.T @ a)
        powers[j] = a
    return powers


def _trace_formula(
    KT: Array, B: Array, T: Array, y: Array, residual: Array, traces: Array
) -> float:
    """Evaluate the last proposition for one m; ``KT[j - 1]`` is K^j T."""
    inverse = _inverse(B)
    c = inverse @ (T.T @ y)
    third = np.einsum("j,jil,il->", c, KT, T)
    # K^j v_j = K^j T (row j of the inverse)', since V = T (B^{-1})'.
    fourth = np.einsum("i,jil,jl->", residual, KT, inverse)
    return float(1.0 + c @ traces - third + fourth + T.shape[1])


def _inverse(B: Array) -> Array:
    try:
        return np.asarray(np.linalg.inv(B))
    except np.linalg.LinAlgError:  # no number is better than a wrong one
        return np.full(B.shape, np.nan)


def _condition(B: Array) -> float:
    if B.size == 0:
        return 1.0
    return float(np.linalg.cond(B / np.linalg.norm(B, axis=0)))
