"""Regression methods as filters on the spectrum.

A method is a function that takes a `Spectrum` and returns a `Filter`. With rotated coordinates
z = U'y the fit is zhat = f * z; a method that looks at y also returns rotated scores T, and the
Jacobian of every method is

    d zhat / d z = diag(f) + 2 T T' diag(1 - f)

with an empty T for methods that are linear in y (ridge, principal components, least squares).
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plsdof._core.inputs import Array, read_only
from plsdof._core.krylov import (
    Bidiagonalization,
    Nodes,
    distinct_nodes,
    golub_kahan,
    perturbed_copies,
    residuals_at,
)
from plsdof._core.spectrum import Spectrum

_EPS = float(np.finfo(np.float64).eps)
# The largest deviation over this many perturbed copies, times the safety factor, estimates
# the error of the Degrees of Freedom.
_COPIES = 3
_SAFETY = 12.0
# Components whose Degrees of Freedom are less certain than this are not returned.
SUPPORTED_ERROR = 1e-6


@dataclass(frozen=True, kw_only=True)
class Filter:
    """One regression method on one spectrum, for all model sizes at once.

    Attributes
    ----------
    factors : (K, r) array
        f, one row per model.
    residuals : (K, r) array
        phi = 1 - f, kept apart because each loses digits where the other does not.
    scores : (r, k) array
        Orthonormal rotated scores; model number m uses the first m columns. (r, 0) for methods
        that are linear in y.
    dof : (K,) array
        1 + sum f + 2 sum (1 - f) h with h_i = sum_j T_ij^2 (trace of the Jacobian of the fit).
    dof_error : (K,) array
        Estimated absolute error of ``dof``.
    dof_std_error : (K,) array
        Standard error of ``dof`` where the trace was estimated by random probes, else zero.
    residual_trace : (K,) array
        trace (I - H)(I - H)' = n - 1 - sum f (2 - f), which the residual sum of squares is
        divided by to estimate the noise variance.
    naive_dof : (K,) array
        What counting parameters gives: number of components + 1.
    message : str
        Why the path ends where it does; empty if it has all models asked for.
    label : str
        What the only model is, in words, if it is not a number of components.
    """

    factors: Array
    residuals: Array
    scores: Array
    dof: Array
    dof_error: Array
    dof_std_error: Array
    residual_trace: Array
    naive_dof: Array
    message: str = ""
    label: str = ""

    def jacobian(self, index: int) -> Array:
        """Return d zhat / d z in rotated coordinates, (r, r)."""
        return self.times_jacobian(np.eye(self.factors.shape[1]), index)

    def times_jacobian(self, rows: Array, index: int) -> Array:
        """Return rows @ (d zhat / d z) for (k, r) rows. Cost: O(k r m)."""
        T = self.scores[:, :index]
        feedback: Array = (rows @ T) @ (T.T * self.residuals[index])
        direct: Array = rows * self.factors[index]
        return direct + 2 * feedback


@dataclass(frozen=True, kw_only=True)
class PLSFilter(Filter):
    """Filter of Partial Least Squares, with its Lanczos decomposition.

    ``weights`` (r, k) are W, ``diagonal`` and ``superdiagonal`` (k,) are those of L, and
    ``loadings`` (k,) are T'z.
    """

    weights: Array
    diagonal: Array
    superdiagonal: Array
    loadings: Array


def pls_filter(spectrum: Spectrum, max_components: int | None = None) -> PLSFilter:
    """Partial Least Squares, 0..M components.

    M is the smallest of ``max_components``, the number of distinct eigenvalues that y excites
    (the dimension of the Krylov space), and the last size whose Degrees of Freedom are certain
    to about six digits. The error estimate is the largest change over copies of the spectrum
    that are perturbed by as much as the decomposition may be off, times a safety factor, plus
    what eigenvalues below the resolution of the solver could contribute.

    Cost: O(r M^2) time, O(r M) memory.
    """
    nodes = distinct_nodes(spectrum)
    dimension = int(np.count_nonzero(nodes.excited))
    wanted = dimension if max_components is None else min(max_components, dimension)
    copies = perturbed_copies(nodes, _COPIES)
    run = golub_kahan(copies.eigenvalues, copies.z, nodes.excited, wanted)
    outer = residuals_at(run, copies.outer)
    h = _running_leverage(run, nodes.excited)
    sums = _outer_sums(run.residuals[0], outer, nodes, spectrum)
    dofs = _trace(run, h, nodes.multiplicity) + sums.factors
    error = _dof_error(run, h, dofs, nodes)
    if nodes.blur.any():
        error += _blurred(run, h[0], nodes)
    if spectrum.unresolved:
        error += _missed(run, h[0], outer[0, :, -1], nodes, spectrum)
    size = 1 + _supported(dofs[0], error)
    expand = nodes.member
    largest = np.sqrt(spectrum.eigenvalues[0]) if len(spectrum.eigenvalues) else 1.0
    return PLSFilter(
        factors=read_only(run.factors[0, :size].take(expand, axis=1)),
        residuals=read_only(run.residuals[0, :size].take(expand, axis=1)),
        scores=read_only((run.scores[0, : size - 1].take(expand, axis=1) * nodes.share).T),
        dof=read_only(dofs[0, :size]),
        dof_error=read_only(error[:size]),
        dof_std_error=read_only(_with_rounding(sums.std_error, error)[:size]),
        residual_trace=read_only(sums.squares[:size]),
        naive_dof=read_only(1.0 + np.arange(size)),
        weights=read_only((run.weights[0, : size - 1].take(expand, axis=1) * nodes.share).T),
        diagonal=read_only(run.diagonal[0, : size - 1] * largest),
        superdiagonal=read_only(run.superdiagonal[0, : size - 1] * largest),
        loadings=read_only(run.loadings[0, : size - 1] * np.linalg.norm(spectrum.z)),
        message=_why_ended(size - 1, dimension, max_components),
    )


def factors_at(spectrum: Spectrum, eigenvalues: Array, max_components: int) -> Array:
    """Evaluate the filter of Partial Least Squares anywhere: (K, c) factors at c eigenvalues.

    K - 1 is ``max_components``, or less where the Krylov space is exhausted. Cost: O(c M).
    """
    nodes = distinct_nodes(spectrum)
    run = golub_kahan(nodes.eigenvalues[None], nodes.z[None], nodes.excited, max_components)
    residuals: Array = residuals_at(run, eigenvalues[None] / spectrum.eigenvalues[0])[0]
    return 1.0 - residuals


def pcr_filter(spectrum: Spectrum, max_components: int | None = None) -> Filter:
    """Principal components regression: f_i = 1 for the m largest eigenvalues, DoF = m + 1."""
    r = spectrum.rank
    size = 1 + (r if max_components is None else min(max_components, r))
    kept = np.arange(r) < np.arange(size)[:, None]
    ended = max_components is not None and max_components > r
    message = f"X has rank {r}, so there are only {r} principal components." if ended else ""
    naive = 1.0 + np.arange(size, dtype=np.float64)
    return _linear_filter(spectrum, kept.astype(np.float64), np.zeros(size), naive, message)


def supervised_pcr_filter(spectrum: Spectrum, max_components: int | None = None) -> Filter:
    """Principal components in the order of their squared correlation with y.

    Which components are kept then depends on y, and the fit jumps where the order changes, so
    the trace of its derivative is no longer unbiased for the Degrees of Freedom: they exceed
    m + 1 by an amount that depends on the unknown mean. They are reported as nan.
    """
    plain = pcr_filter(spectrum, max_components)
    rank_of = np.empty(spectrum.rank, dtype=np.intp)
    rank_of[np.argsort(-np.abs(spectrum.z), kind="stable")] = np.arange(spectrum.rank)
    factors = plain.factors[:, rank_of]
    unknown = np.full(len(factors), np.nan)
    unknown[0] = 1.0
    # With every component kept there is no choice left, and the fit is least squares.
    if len(factors) == spectrum.rank + 1:
        unknown[-1] = spectrum.rank + 1.0
    return Filter(
        factors=read_only(factors),
        residuals=read_only(1.0 - factors),
        scores=plain.scores,
        dof=read_only(unknown),
        dof_error=read_only(np.where(np.isnan(unknown), np.nan, 0.0)),
        dof_std_error=plain.dof_std_error,
        residual_trace=_residual_trace(spectrum, 1.0 - factors),
        naive_dof=plain.naive_dof,
        message=plain.message,
    )


def ridge_filter(spectrum: Spectrum, alphas: Array) -> Filter:
    """Ridge regression: f_i = lambda_i / (lambda_i + alpha), DoF = 1 + sum f."""
    lam = spectrum.eigenvalues
    denominator = lam + alphas[:, None]
    factors = lam / denominator
    slope = alphas[:, None] / denominator**2
    # Eigenvalues below the floor of the solver could add at most floor / alpha each.
    error = slope @ spectrum.eigenvalue_error
    error += spectrum.unresolved * spectrum.floor / (spectrum.floor + alphas)
    return _linear_filter(spectrum, factors, error, 1.0 + factors.sum(axis=1), "")


def _linear_filter(
    spectrum: Spectrum, factors: Array, error: Array, naive: Array, message: str
) -> Filter:
    return Filter(
        factors=read_only(factors),
        residuals=read_only(1.0 - factors),
        scores=read_only(np.zeros((factors.shape[1], 0))),
        dof=read_only(1.0 + factors.sum(axis=1)),
        dof_error=read_only(error + _EPS * (1.0 + factors.sum(axis=1))),
        dof_std_error=read_only(np.zeros(len(factors))),
        residual_trace=_residual_trace(spectrum, 1.0 - factors),
        naive_dof=read_only(naive),
        message=message,
    )


def _residual_trace(spectrum: Spectrum, residuals: Array) -> Array:
    return read_only(np.sum(residuals**2, axis=1) + spectrum.residual_dimension)


def _running_leverage(run: Bidiagonalization, excited: npt.NDArray[np.bool_]) -> Array:
    """Return h for m = 0..k, zero on nodes that y does not excite: (B, k + 1, g)."""
    squares = np.where(excited, run.scores, 0.0) ** 2
    return np.concatenate([np.zeros_like(run.residuals[:, :1]), np.cumsum(squares, axis=1)], axis=1)


def _trace(run: Bidiagonalization, h: Array, multiplicity: Array) -> Array:
    with np.errstate(invalid="ignore", over="ignore"):
        weighted = (1.0 - run.residuals) * multiplicity + 2.0 * run.residuals * h
        return np.asarray(1.0 + weighted.sum(axis=2))


@dataclass(frozen=True, kw_only=True)
class _OuterSums:
    """Sums of f over what is counted beyond the basis (B, K), with standard errors (K,).

    ``squares`` (K,) is trace (I - H)(I - H)', the sum of phi^2 over all directions of the samples.
    """

    factors: Array
    squares: Array
    std_error: Array


def _outer_sums(inner: Array, phi: Array, nodes: Nodes, spectrum: Spectrum) -> _OuterSums:
    counted, weights = spectrum.counted, nodes.outer.weights
    with np.errstate(invalid="ignore", over="ignore"):
        factors = np.vecdot(1.0 - phi, weights)
        squares = np.vecdot(inner**2, nodes.multiplicity) + np.vecdot(phi[0] ** 2, weights)
        squares += spectrum.residual_dimension
        std_error = np.zeros(len(squares))
        if counted is not None:
            # Estimates are more than plain weighted sums.
            f = 1.0 - phi[0, :, : len(counted.weights)]
            estimate, std_error = counted.total(f)
            factors = factors + (estimate - np.vecdot(f, counted.weights))
            explained = f * (2.0 - f)
            squares -= counted.total(explained)[0] - np.vecdot(explained, counted.weights)
            squares += counted.dimension - weights.sum() - nodes.multiplicity.sum()
    return _OuterSums(factors=factors, squares=squares, std_error=std_error)


def _with_rounding(std_error: Array, error: Array) -> Array:
    """Add the error of rounding, which is what is left where a trace needs no sampling."""
    return np.where(std_error > 0, np.hypot(std_error, error), 0.0)


def _dof_error(run: Bidiagonalization, h: Array, dofs: Array, nodes: Nodes) -> Array:
    phi = np.abs(run.residuals[0])
    with np.errstate(invalid="ignore", over="ignore"):
        deviation = np.abs(dofs[1:] - dofs[0]).max(axis=0)
        size = 1.0 + (nodes.multiplicity + phi * (1 + 2 * h[0])).sum(axis=1)
        size += np.abs(nodes.outer.weights).sum()
        doubted = _doubt(run, phi, size, nodes) if not nodes.excited.all() else 0.0
        return np.asarray(_SAFETY * (deviation + doubted + _EPS * size))


def _blurred(run: Bidiagonalization, h: Array, nodes: Nodes) -> Array:
    """Return what it may change that merged eigenvalues are not equal, (K,)."""
    merged = np.flatnonzero(nodes.blur * nodes.excited)
    lam, blur = nodes.eigenvalues[merged], nodes.blur[merged]
    beside = np.concatenate([lam + blur, np.maximum(lam - blur, 0.0)])
    phi = residuals_at(run, np.broadcast_to(beside, (len(run.diagonal), len(beside))))[0]
    with np.errstate(invalid="ignore", over="ignore"):
        change = np.abs(phi.reshape(len(phi), 2, -1) - run.residuals[0][:, None, merged])
        weight = nodes.multiplicity[merged] + 2.0 * h[:, merged]
        return np.asarray((weight * change.max(axis=1)).sum(axis=1))


def _missed(
    run: Bidiagonalization, h: Array, phi: Array, nodes: Nodes, spectrum: Spectrum
) -> Array:
    r"""Return what eigenvalues below the floor may change, from phi at the floor, (K,).

    They add up to f(floor) each. And they may hold all of y that is outside: a direction with
    z_i has scores t_j = z_i s_j / c_j, s_j = phi_{j-1} - phi_j, and what the residual has along
    them, z_i t_j, must be made up for by the others, where phi changes by

        delta phi_i = sum_{j <= m} (outside / |z|^2) (s_j / c_j) t_ij / z_i.
    """
    share = spectrum.outside / (float(spectrum.z @ spectrum.z) or 1.0)
    with np.errstate(invalid="ignore", over="ignore"):
        change = share * (phi[:-1] - phi[1:]) / run.loadings[0]
        scores = np.where(nodes.excited, run.scores[0] / np.where(nodes.excited, nodes.z, 1.0), 0.0)
        moved = np.zeros_like(h)
        np.cumsum(change[:, None] * scores, axis=0, out=moved[1:])
        beside = np.abs(moved) * (nodes.multiplicity + 2.0 * h)
    return np.asarray(spectrum.unresolved * np.abs(1.0 - phi) + beside.sum(axis=1))


def _doubt(run: Bidiagonalization, phi: Array, size: Array, nodes: Nodes) -> Array:
    """Return what a z below its error would change, were it not zero: it would have leverage."""
    leak = np.zeros_like(phi)
    possible = np.where(nodes.excited, 0.0, nodes.z_doubt) ** 2
    np.cumsum(run.scores[0] ** 2 * possible, axis=0, out=leak[1:])
    return np.asarray(leak.sum(axis=1) * size + 2 * (phi * leak).sum(axis=1))


def _supported(dof: Array, error: Array) -> int:
    """Return the last model size before the first one that is too uncertain."""
    with np.errstate(invalid="ignore"):
        bad = ~(error <= SUPPORTED_ERROR * np.maximum(1.0, np.abs(dof)))
    return int(np.argmax(bad)) - 1 if bad.any() else len(dof) - 1


def _why_ended(size: int, dimension: int, max_components: int | None) -> str:
    if dimension == 0 and max_components != 0:
        return "y does not vary along any direction of X, so there is no component."
    wanted = dimension if max_components is None else max_components
    if size >= wanted:
        return ""
    if size >= dimension:
        return (
            f"y excites {dimension} distinct eigenvalue(s) of XX', so component {dimension} "
            "completes the least-squares fit and there is no further one."
        )
    return (
        f"from component {size + 1} on, rounding in the data's decomposition changes the Degrees "
        f"of Freedom by more than {SUPPORTED_ERROR:g} relative."
    )
