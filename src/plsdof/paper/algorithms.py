"""The two algorithms of the paper, to the letter but for its misprints.

Comments name lines, equations and propositions of

    N. Kraemer, M. Sugiyama (2011). The Degrees of Freedom of Partial Least Squares Regression.
    Journal of the American Statistical Association.

Notation: X is centred and scaled, y centred, S = X'X/(n-1), s = X'y/(n-1), K = XX', T are the
orthonormal scores. A name that starts with ``d_`` is a derivative with respect to y, with one
column per entry of y.

Corrections to the printed text: the derivative of v/|v|_S has v'Sv (not v'v) in the denominator
and I_p (not I_n); lines 10 and 11 of Algorithm 1 need no factor sqrt(n-1); the Jacobian of the fit
has 11'/n (not I/n); the third term of the trace formula is sum c_j t_l'K^j t_l.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from plsdof._core import criteria
from plsdof._core.display import one_line
from plsdof._core.filters import pls_filter
from plsdof._core.inputs import Array, as_choice, as_count, read_only
from plsdof._core.spectrum import decompose
from plsdof._core.standardize import Standardized, standardize
from plsdof._core.threads import cached_property
from plsdof._core.warnings import warn_caller
from plsdof.errors import InvalidInputError, RankExhaustedWarning

# What both algorithms start from: standardised data and how many components they support
# ---------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """Standardised data, eigenvalues of K, and the number of components they support."""

    data: Standardized
    eigenvalues: Array
    largest: float
    size: int
    message: str


def prepare(X: Any, y: Any, max_components: int, scale: bool) -> Prepared:
    """Standardise the data and find out how many components they support."""
    as_count(max_components, "max_components")
    data = standardize(X, y, scale=scale)
    spectrum = decompose(data).spectrum(data.y, data.units.n)
    # How far the data carry is decided in one place; the algorithms cannot see it themselves.
    supported = pls_filter(spectrum, max_components)
    return Prepared(
        data=data,
        eigenvalues=spectrum.eigenvalues,
        largest=float(np.max(spectrum.eigenvalues, initial=0.0)) or 1.0,
        size=len(supported.dof) - 1,
        message=supported.message,
    )


def as_size(m: int, dof: Array, message: str) -> int:
    """Return ``m`` if there is a model with that many components."""
    index = as_count(m, "m")
    if index >= len(dof):
        raise InvalidInputError(f"m must be in 0..{len(dof) - 1}; got {m}. {message}".rstrip())
    return index


def report_end(size: int, asked: int, problem: Prepared) -> str:
    """Return the message of the result, and warn if it is not empty."""
    if size == asked:
        return ""
    reason = problem.message
    if size < problem.size:
        reason = (
            f"component {size + 1} would be made of rounding errors in S; "
            "plsdof.pls_path goes further."
        )
    text = f"{asked} components asked for, {size} supported: {reason}"
    warn_caller(text, RankExhaustedWarning)
    return reason


# The three formulas Algorithm 1 is made of, for a vector v and its derivative dv = dv/dy
# --------------------------------------------------------------------------------------

# S itself, or a function that gives the product with it.
Scatter = Array | Callable[[Array], Array]


def normalize(v: Array, S: Scatter) -> Array:
    """Return v / |v|_S, so that v'Sv = 1: line 10 of Algorithm 1.

        |v|_S = sqrt(v'Sv)

    Erratum: the paper multiplies by sqrt(n-1), to give the scores Xv unit length; with
    S = X'X/(n-1) they get length n-1. Lines 8 and 12 need v'Sv = 1, so the factor has to go.

    Parameters
    ----------
    v : (p,) array
    S : (p, p) array, or function
        A symmetric matrix with v'Sv > 0, or a function that multiplies a vector with it.

    Returns
    -------
    (p,) array

    Notes
    -----
    Cost: O(p^2) time, or that of the function.

    Examples
    --------
    >>> S = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> v = normalize(np.array([3.0, -1.0]), S)
    >>> float(np.round(v @ S @ v, 12))
    1.0
    """
    unit: Array = v / np.sqrt(v @ _times(S, v))
    return unit


def dA(v: Array, S: Scatter, dv: Array) -> Array:  # noqa: N802
    """Differentiate `normalize`: line 11 of Algorithm 1.

        d(v / |v|_S)/dy = (I_p - v v'S / v'Sv) dv/dy / |v|_S

    Errata: the paper prints v'v in place of v'Sv, I_n in place of I_p, and the factor sqrt(n-1).

    Parameters
    ----------
    v : (p,) array
        The vector before it is normalised.
    S : (p, p) array, or function
        As for `normalize`.
    dv : (p, n) array
        dv/dy, one column per entry of y.

    Returns
    -------
    (p, n) array

    Notes
    -----
    Cost: O(p^2 + np) time.

    Examples
    --------
    The derivative of a unit vector is S-orthogonal to it.

    >>> S, v = np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([3.0, -1.0])
    >>> bool(np.allclose(v @ S @ dA(v, S, np.eye(2)), 0.0))
    True
    """
    Sv = _times(S, v)
    square = v @ Sv
    derivative: Array = (dv - np.outer(v, Sv @ dv) / square) / np.sqrt(square)
    return derivative


def dvvtz(v: Array, z: Array, dv: Array, dz: Array) -> Array:
    """Differentiate v v'z, the part of z along v: lines 9 and 13 of Algorithm 1.

        d(v v'z)/dy = (v z' + v'z I_p) dv/dy + v v' dz/dy

    Erratum: the paper prints I_n in place of I_p.

    Parameters
    ----------
    v, z : (p,) arrays
    dv, dz : (p, n) arrays
        dv/dy and dz/dy, one column per entry of y.

    Returns
    -------
    (p, n) array

    Notes
    -----
    Cost: O(np) time; the p x p matrices are not formed.

    Examples
    --------
    >>> v, z = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    >>> dvvtz(v, z, np.eye(2), np.zeros((2, 2)))  # v z' + 11 I
    array([[14.,  4.],
           [ 6., 19.]])
    """
    return np.outer(v, z @ dv + v @ dz) + (v @ z) * dv


def _times(S: Scatter, v: Array) -> Array:
    return S(v) if callable(S) else np.asarray(S @ v)


# Algorithm 1 of the paper: the coefficients and their derivative, step by step
# -----------------------------------------------------------------------------

_EPS = float(np.finfo(np.float64).eps)
RECURSIONS = ("full", "sparse")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class LanczosResult:
    """Result of `lanczos`, for m = 0..M components.

    Attributes
    ----------
    dof : (M+1,) array
        Degrees of Freedom, 1 + trace(X d beta_m/dy), never clipped.
    coef : (M+1, p) array
        Coefficients in original units.
    intercept : (M+1,) array
    coef_jacobian : (M+1, p, n) array
        d beta_m/dy in original units.
    rss : (M+1,) array
        Residual sums of squares.
    scores : (n, M) array
        T = X V / sqrt(n-1), orthonormal but for rounding.
    message : str
        Why there are fewer components than asked for; empty if there are not.
    data : Standardized
        The data the algorithm worked on.
    """

    dof: Array
    coef: Array
    intercept: Array
    coef_jacobian: Array
    rss: Array
    scores: Array
    message: str
    data: Standardized

    @property
    def orthogonality_loss(self) -> Array:
        """Largest entry of |T'T - I| over the first m scores: 1e-16 or so, up to 1. (M+1,)."""
        gaps = np.abs(self.scores.T @ self.scores - np.eye(self.scores.shape[1]))
        return read_only([float(np.max(gaps[:m, :m], initial=0.0)) for m in range(len(self.dof))])

    def jacobian(self, m: int) -> Array:
        """Return the approximate hat matrix d yhat_m/dy, eq. (hat_pls). Shape (n, n)."""
        X = self.data.X
        H: Array = 1.0 / len(X) + X @ self._d_beta(as_size(m, self.dof, self.message))
        return H

    @cached_property
    def noise_variance(self) -> Array:
        """Noise variance RSS / trace((I - H)(I - H)'), eq. (sigmastar). Shape (M+1,).

        H is `jacobian`, formed for one m after the other. nan where I - H is nothing but
        rounding (the fit interpolates). Cost: O(M n^2 p) time, O(n^2) memory.
        """
        traces = np.array([self._residual_trace(m) for m in range(len(self.dof))])
        return read_only(criteria.noise_from_jacobian(self.rss, traces))

    def coef_covariance(self, m: int) -> Array:
        """Return sigma^2 (d beta_m/dy)(d beta_m/dy)' with `noise_variance`. Shape (p, p)."""
        d_beta = self.coef_jacobian[as_size(m, self.dof, self.message)]
        covariance: Array = self.noise_variance[m] * (d_beta @ d_beta.T)
        return covariance

    def __repr__(self) -> str:
        n, p = self.data.X.shape
        return one_line(self, f"{len(self.dof)} models", n=n, p=p)

    def _d_beta(self, m: int) -> Array:
        """Return d beta_m/dy for standardised X; constant columns have an infinite scale."""
        scale = self.data.units.x_scale
        d_beta: Array = np.where(np.isfinite(scale), scale, 0.0)[:, None] * self.coef_jacobian[m]
        return d_beta

    def _residual_trace(self, m: int) -> float:
        H = self.jacobian(m)
        trace = float(np.sum((np.eye(len(H)) - H) ** 2))
        size = np.sqrt(len(H)) + np.linalg.norm(self.data.X) * np.linalg.norm(self._d_beta(m))
        return trace if trace > (max(self.data.X.shape) * _EPS * size) ** 2 else 0.0


def lanczos(
    X: Any, y: Any, max_components: int, *, scale: bool = True, recursion: str = "full"
) -> LanczosResult:
    """Differentiate the PLS coefficients step by step: Kraemer & Sugiyama (2011), Algorithm 1.

    With w_i = s - S beta_{i-1}, the pseudo-weights v_i are w_i made S-orthogonal to all earlier
    ones (the full sum of eq. (vi2), not only its first term) and scaled to v_i'S v_i = 1, and
    beta_i = beta_{i-1} + v_i v_i's. Every line is followed by its derivative with respect to y;
    the Degrees of Freedom are 1 + trace(X d beta_m/dy).

    Parameters
    ----------
    X : (n, p) array
        Predictors.
    y : (n,) array
        Response.
    max_components : int
        Largest model wanted. There are fewer, with a `RankExhaustedWarning` and a ``message``,
        if `plsdof.pls_path` finds that the data do not support that many, or if a vector that
        has to be normalised is nothing but rounding.
    scale : bool
        Scale the columns of X to unit variance (divisor n - 1).
    recursion : {"full", "sparse"}
        "sparse" keeps only the last term of the sum of eq. (vi2), which is all there is in exact
        arithmetic, since L of eq. (L) is bidiagonal. The scores lose their orthogonality after
        some components, and the Degrees of Freedom become implausible: that is what the paper
        reports in its section on numerical stability. Read ``orthogonality_loss``.

    Notes
    -----
    Cost: O(m^2 p n + m p n min(n, p)) time, and memory for a few times m p n numbers: every
    derivative of v and of beta is kept.

    Where it breaks: accurate to many digits on ordinary data, spectra included. But it works with
    S, so singular values of X below about 1e-8 of the largest are out of its reach, and it gets
    each w_i as a small difference of s and S beta, which is rounding once the fit is nearly that
    of least squares. It stops there instead of dividing by such a number.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(30, 4))
    >>> y = X @ [1.0, 2.0, 0.0, -1.0] + rng.normal(size=30)
    >>> result = lanczos(X, y, 4)
    >>> result.dof.round(2)
    array([1.  , 5.12, 4.76, 4.96, 5.  ])
    >>> result.coef_jacobian.shape
    (5, 4, 30)
    """
    as_choice(recursion, "recursion", RECURSIONS)
    problem = prepare(X, y, max_components, scale)
    beta, d_beta, v = _algorithm_1(problem, sparse=recursion == "sparse")
    data, units = problem.data, problem.data.units
    message = report_end(len(beta) - 1, max_components, problem)
    coef = beta / units.x_scale
    residuals = data.y - beta @ data.X.T
    return LanczosResult(
        dof=read_only(1.0 + np.einsum("ij,mji->m", data.X, d_beta)),  # line 15
        coef=read_only(coef),
        intercept=read_only(units.y_mean - coef @ units.x_mean),
        coef_jacobian=read_only(d_beta / units.x_scale[:, None]),
        rss=read_only(np.sum(residuals**2, axis=1)),
        scores=read_only(data.X @ v / np.sqrt(len(data.X) - 1)),
        message=message,
        data=data,
    )


def _algorithm_1(problem: Prepared, *, sparse: bool = False) -> tuple[Array, Array, Array]:
    """Return beta (M+1, p), d beta/dy (M+1, p, n) and V (p, M) for standardised data."""
    X, y = problem.data.X, problem.data.y
    n, p = X.shape
    S, s, d_s = _scatter(X), X.T @ y / (n - 1), X.T / (n - 1)  # line 3
    beta, d_beta = [np.zeros(p)], [np.zeros((p, n))]  # line 4
    v: list[Array] = []
    d_v: list[Array] = []
    for _ in range(problem.size):  # line 5
        w = s - S(beta[-1])  # line 6
        Sw = S(w)
        earlier = slice(-1 if sparse else 0, None)  # the last term only, or the full sum
        v_i = w.copy()
        for v_j in v[earlier]:
            v_i -= v_j * (v_j @ Sw)  # line 8, eq. (vi2)
        if _is_rounding(w, v_i, s, beta[-1], S, problem.largest / (n - 1)):
            break
        d_w = d_s - S(d_beta[-1])  # line 7
        d_Sw = S(d_w)
        d_v_i = d_w.copy()
        for v_j, d_v_j in zip(v[earlier], d_v[earlier], strict=True):
            d_v_i -= dvvtz(v_j, Sw, d_v_j, d_Sw)  # line 9
        v_i, d_v_i = normalize(v_i, S), dA(v_i, S, d_v_i)  # lines 10 and 11
        v.append(v_i)
        d_v.append(d_v_i)
        beta.append(beta[-1] + v_i * (v_i @ s))  # line 12
        d_beta.append(d_beta[-1] + dvvtz(v_i, s, d_v_i, d_s))  # line 13
    return np.array(beta), np.array(d_beta), np.array(v).reshape(-1, p).T


def _scatter(X: Array) -> Callable[[Array], Array]:
    """Return the product with S = X'X/(n-1), without a p x p matrix if p > n."""
    n, p = X.shape
    if p > n:
        return lambda a: X.T @ (X @ a) / (n - 1)
    S = X.T @ X / (n - 1)
    return lambda a: S @ a


def _is_rounding(
    w: Array, v: Array, s: Array, beta: Array, S: Callable[[Array], Array], largest: float
) -> bool:
    """Whether w = s - S beta or |v|_S is not larger than the rounding made in computing it."""
    w_error = _EPS * (np.linalg.norm(s) + largest * np.linalg.norm(beta))
    return bool(np.linalg.norm(w) <= w_error or v @ S(v) <= _EPS * largest * (v @ v))


# The paper's last proposition: the Degrees of Freedom as a trace over Krylov vectors
# -----------------------------------------------------------------------------------


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


def dof_of_one_component(X: Any, y: Any, *, scale: bool = True) -> float:
    """Return the Degrees of Freedom of one component in closed form, below the lower bound.

        DoF(1) = 3 + s's / s'Ss (trace(S) - 2 s'S^2 s / s'Ss),    S = X'X/(n-1), s = X'y/(n-1)

    Cost: O(np) time; no p x p matrix is formed.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(30, 4))
    >>> y = X @ [1.0, 2.0, 0.0, -1.0] + rng.normal(size=30)
    >>> round(dof_of_one_component(X, y), 2)  # as pls_path(X, y).dof[1]
    5.12
    """
    data = standardize(X, y, scale=scale)
    n = len(data.X)
    S, s = _scatter(data.X), data.X.T @ data.y / (n - 1)
    Ss = S(s)
    if not s @ Ss > 0:
        raise InvalidInputError("y is not correlated with any column of X, so it has no component.")
    trace = float(np.sum(data.X**2)) / (n - 1)
    return float(3.0 + (s @ s) / (s @ Ss) * (trace - 2.0 * (Ss @ Ss) / (s @ Ss)))


def _scores(X: Array, y: Array, n_components: int) -> Array:
    """Return T (n, M) of X W = T L, eq. (L), re-orthogonalised."""
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
