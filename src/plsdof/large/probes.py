"""Traces from random probes, for matrices with too many eigenvalues to compute.

Notation: G symmetric positive semi-definite of order d, Q an orthonormal basis of q directions
that are treated exactly (deflation), u a random vector, uniform on the sphere of squared radius
D = d - q outside Q. For every function f,

    tr f(G) = tr Q'f(G)Q + E u'f(G)u.

*Quadrature.* L steps of the Lanczos recursion from u give nodes theta_l and weights w_l with
u'f(G)u = sum_l w_l f(theta_l), exact for polynomials of degree 2L - 1 (Golub and Meurant 2010,
Matrices, Moments and Quadrature, ch. 6). The same nodes serve all functions.

*Standard errors.* A quadratic form on the sphere has the variance

    var u'Au = 2D/(D + 2) (|A|_F^2 - (tr A)^2 / D)

and with A = f(G) both terms are integrals over the same nodes. Against the variance of B values,
this one is known far better (its relative error is that of a trace, not sqrt(2/B)), and it is
right for skew values as well: with one dominating eigenvalue and eight probes the classical t
interval covers 84 % of the time instead of 95 %, this one 94 %. Stopping early because the
standard error happens to look small is then hardly possible either.

*Control variate.* tr G is known, so the error of u'Gu, times the slope of f on lambda, is taken
off. Slope and remaining variance are those of the weighted least-squares fit of f(theta) on theta
over all nodes. That changes nothing but the weights of the nodes (`calibrated_weights`): they then
integrate 1 and lambda exactly.

What the Krylov space of y has found is counted exactly; the rest is sampled by random probes, one
set of them for models of all sizes.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt
import scipy.special

from plsdof._core.filters import factors_at, pls_filter
from plsdof._core.inputs import Array, read_only
from plsdof._core.krylov import Tridiagonalization, krylov_nodes
from plsdof._core.spectrum import Counted, Gram, Map, Spectrum

# Gauss quadrature of the measures that vectors put on the eigenvalues of a matrix
# --------------------------------------------------------------------------------

# The recursion has ended when a new direction is this share of the largest value.
_EXHAUSTED = 8 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True, kw_only=True)
class Quadrature:
    """Nodes and weights, both (B, L), of B starts: u'f(G)u = sum_l weights_l f(nodes_l)."""

    nodes: Array
    weights: Array


def lanczos_quadrature(
    times: Map, starts: Array, steps: int, *, outside: Array | None = None
) -> Quadrature:
    """Return Gauss quadratures of the measures that the columns of ``starts`` put on G.

    All columns take their steps together, one block product each. There is no
    reorthogonalisation: it is known (Knizhnerman 1996) that rounding does not spoil the
    quadrature of the plain recursion. Where the recursion ends early, weights are zero.

    Parameters
    ----------
    times : callable
        G @ v for v of shape (d, k).
    starts : (d, B) array
    steps : int
        L; degree 2L - 1 is exact.
    outside : (d, q) array, optional
        Orthonormal basis of an invariant subspace to stay out of: rounding would bring it back.

    Notes
    -----
    Cost: ``steps`` block products, O(d B steps) time, memory of four arrays like ``starts``.

    Examples
    --------
    >>> G = np.diag([3.0, 1.0, 0.0])
    >>> rule = lanczos_quadrature(G.__matmul__, np.ones((3, 1)), 3)
    >>> np.sum(rule.weights * rule.nodes**4, axis=1).round(12)
    array([82.])
    """
    length = np.linalg.norm(starts, axis=0)
    current = starts / np.where(length > 0, length, 1.0)
    previous = np.zeros_like(current)
    beta = np.zeros_like(length)
    largest = np.zeros_like(length)
    T = np.zeros((starts.shape[1], steps, steps))
    for j in range(steps):
        new = projected(times(current), outside)
        previous *= beta
        new = new - previous
        alpha = inner(current, new)
        np.multiply(current, alpha, out=previous)
        new -= previous
        T[:, j, j] = alpha
        largest = np.maximum(largest, np.abs(alpha) + beta)
        if j + 1 < steps:
            beta = np.sqrt(inner(new, new))
            going_on = beta > _EXHAUSTED * largest
            beta = np.where(going_on, beta, 0.0)
            T[:, j, j + 1] = T[:, j + 1, j] = beta
            # From a zero vector on, the rest of T is zero, and so is its weight.
            new /= np.where(going_on, beta, np.inf)
            previous, current = current, new
    nodes, vectors = np.linalg.eigh(T)
    weights = (length[:, None] * vectors[:, 0, :]) ** 2
    return Quadrature(nodes=read_only(nodes), weights=read_only(weights))


def inner(a: Array, b: Array) -> Array:
    """Inner products of matching columns."""
    return np.asarray(np.einsum("ij,ij->j", a, b))


def projected(v: Array, basis: Array | None) -> Array:
    """Return columns without what they have along an orthonormal basis."""
    return v if basis is None else v - basis @ (basis.T @ v)


@dataclass(frozen=True, kw_only=True)
class Deflation:
    """Eigenvectors whose part of every trace is known, so that it need not be sampled.

    Attributes
    ----------
    basis : (d, q) array
        Orthonormal columns that span an invariant subspace.
    nodes : (q,) array
        The eigenvalues in it.
    """

    basis: Array
    nodes: Array


# Traces of matrix functions from random probes, with honest standard errors
# --------------------------------------------------------------------------

_EPS = float(np.finfo(np.float64).eps)
# Sums over nodes are not better than this many roundings.
_ROUNDING = 16 * _EPS
MINIMUM = 8


@dataclass(frozen=True, kw_only=True)
class Probes:
    """Quadratures of B random probes.

    Attributes
    ----------
    nodes, weights : (B, L) arrays
        Every row of weights adds up to ``dimension``.
    dimension : int
        D, the number of directions that are sampled.
    trace : float
        tr G minus what deflation has taken out; nan if it is not known.
    """

    nodes: Array
    weights: Array
    dimension: int
    trace: float

    @property
    def count(self) -> int:
        """Number B of probes."""
        return len(self.nodes)

    @property
    def calibrated_weights(self) -> Array:
        """Weights with which all nodes together integrate 1 and, if tr G is known, lambda exactly.

        ``sum(calibrated_weights * f(nodes))`` is the estimate of the trace, for any f. Single
        weights may be negative. Shape (B, L).
        """
        mean = self.weights / max(self.count, 1)
        control = _control(self)
        return read_only(mean * (1.0 + control.gain * control.centred))


def random_probes(
    times: Map,
    order: int,
    steps: int,
    *,
    seed: int,
    count: int = MINIMUM,
    first: int = 0,
    batch: int = 16,
    deflation: Deflation | None = None,
    trace: float = np.nan,
) -> Probes:
    """Return the quadratures of probes number first, ..., first + count - 1.

    Every probe has a random generator of its own, so the numbers do not depend on ``batch``
    (beyond rounding), nor on whether probes are drawn at once or added later (`joined`).

    Parameters
    ----------
    times, steps
        See `lanczos_quadrature`. With ``steps`` above the degree of f, the standard error is
        exact quadrature too.
    order : int
        d.
    seed : int
    count, first : int
    batch : int
        How many probes are multiplied with G together: more are faster, and take more memory.
    deflation : Deflation, optional
    trace : float
        tr G, if it is known.

    Notes
    -----
    Cost: ``count * steps`` products with G, memory of about five (order, batch) arrays.
    """
    dimension = order - (0 if deflation is None else deflation.basis.shape[1])
    outside = None if deflation is None else deflation.basis
    parts = []
    for start in range(first, first + count, batch):
        numbers = range(start, min(start + batch, first + count))
        starts = _on_sphere(numbers, order, dimension, seed, deflation)
        parts.append(lanczos_quadrature(times, starts, steps, outside=outside))
    return Probes(
        nodes=read_only(np.concatenate([part.nodes for part in parts])),
        weights=read_only(np.concatenate([part.weights for part in parts])),
        dimension=dimension,
        trace=trace - (0.0 if deflation is None else float(deflation.nodes.sum())),
    )


def _on_sphere(
    numbers: range, order: int, dimension: int, seed: int, deflation: Deflation | None
) -> Array:
    """Return probes as columns, uniform on the sphere of radius sqrt(D) outside the basis."""
    probes = np.empty((order, len(numbers)))
    for column, number in enumerate(numbers):
        own = np.random.SeedSequence(seed, spawn_key=(number,))
        probes[:, column] = np.random.default_rng(own).standard_normal(order)
    if dimension == 0:
        return np.zeros_like(probes)
    if deflation is not None:
        probes = projected(probes, deflation.basis)
    probes *= np.sqrt(dimension / inner(probes, probes))
    return probes


def joined(one: Probes, other: Probes) -> Probes:
    """Return two sets of probes of the same problem as one."""
    return Probes(
        nodes=read_only(np.concatenate([one.nodes, other.nodes])),
        weights=read_only(np.concatenate([one.weights, other.weights])),
        dimension=one.dimension,
        trace=one.trace,
    )


@dataclass(frozen=True, kw_only=True)
class _Control:
    """Nodes about their mean, and what the known tr G says about the mean of others.

    ``slope = sum(share * f * centred) / spread``; the estimate moves by the error of the mean
    node, ``gain * spread``, times the slope.
    """

    share: Array
    centred: Array
    spread: float
    gain: float

    @property
    def used(self) -> bool:
        return self.spread > 0


def _control(probes: Probes) -> _Control:
    share = probes.weights / max(probes.count * probes.dimension, 1)
    mean = float(np.sum(share * probes.nodes))
    centred = probes.nodes - mean
    spread = float(np.sum(share * centred**2))
    largest = float(np.abs(probes.nodes).max(initial=0.0))
    if np.isnan(probes.trace) or spread <= (_ROUNDING * largest) ** 2:
        return _Control(share=share, centred=np.zeros_like(centred), spread=0.0, gain=0.0)
    gain = (probes.trace / probes.dimension - mean) / spread
    return _Control(share=share, centred=centred, spread=spread, gain=gain)


@dataclass(frozen=True, kw_only=True)
class TraceEstimate:
    """Estimated traces of K functions.

    Attributes
    ----------
    value, std_error : (K,) arrays
    degrees : (K,) array
        Degrees of freedom of the standard errors, for the t distribution.
    """

    value: Array
    std_error: Array
    degrees: Array

    def half_width(self, level: float = 0.95) -> Array:
        """Return half the width of confidence intervals around ``value``."""
        return np.asarray(scipy.special.stdtrit(self.degrees, (1 + level) / 2) * self.std_error)


def estimate_trace(probes: Probes, values: Array) -> TraceEstimate:
    """Estimate the traces of K functions outside the basis, with standard errors.

    Parameters
    ----------
    probes : Probes
        At least two.
    values : (K, B, L) array
        The functions at the nodes.

    Notes
    -----
    Degrees of freedom of a standard error follow from how much the B terms that make up its square
    vary between the probes: 2B / (their squared coefficient of variation). With control variate,
    the slope was fitted to the same probes, which the factor B/(B - 1) accounts for; its
    bias is of order 1/B and below a fifth of the standard error even with eight probes on a
    matrix of rank five.

    Cost: O(K B L).

    Examples
    --------
    >>> eigenvalues = np.linspace(0.0, 2.0, 500)
    >>> probes = random_probes(np.diag(eigenvalues).__matmul__, 500, 3, seed=0, trace=500.0)
    >>> found = estimate_trace(probes, np.stack([probes.nodes, probes.nodes**2]))
    >>> exact = np.array([500.0, np.sum(eigenvalues**2)])
    >>> bool(np.all(np.abs(found.value - exact) < found.half_width(0.999) + 1e-9))
    True
    """
    B, D = probes.count, probes.dimension
    control = _control(probes)
    mean = np.einsum("kbl,bl->k", values, control.share)
    residual = values - mean[:, None, None]
    value, factor = D * mean, 1.0
    if control.used:
        slope = np.einsum("kbl,bl->k", residual, control.share * control.centred) / control.spread
        residual -= slope[:, None, None] * control.centred
        value = value + D * slope * control.gain * control.spread
        factor = B / (B - 1.0)
    terms = np.einsum("kbl,bl->kb", residual**2, probes.weights)
    variance = factor * 2 * D / (D + 2) * terms.mean(axis=1)
    rounding = _ROUNDING * D * np.einsum("kbl,bl->k", np.abs(values), control.share)
    return TraceEstimate(
        value=read_only(value),
        std_error=read_only(np.sqrt(variance / B + rounding**2)),
        degrees=read_only(_degrees(terms)),
    )


def _degrees(terms: Array) -> Array:
    mean = terms.mean(axis=1)
    relative = terms.var(axis=1, ddof=1) / np.where(mean > 0, mean, 1.0) ** 2
    return np.asarray(2 * terms.shape[1] / np.maximum(relative, _EPS))


# How many random probes are enough: drawing them until a tolerance is met
# ------------------------------------------------------------------------

# From nodes (B, L) to values of K functions at them, (K, B, L).
Functions = Callable[[Array], Array]

# One look plans at most this many times the probes that it is based on.
_GROWTH = 4


def enough(estimate: TraceEstimate, tolerance: float, offset: Array | float = 0.0) -> bool:
    """Return whether every standard error is at most ``tolerance * |value + offset|``.

    ``offset`` is what is added to the traces and known exactly.
    """
    allowed = tolerance * np.abs(estimate.value + offset)
    return bool(np.all(estimate.std_error <= allowed))


def probes_wanted(
    estimate: TraceEstimate,
    count: int,
    tolerance: float,
    offset: Array | float = 0.0,
    *,
    batch: int = MINIMUM,
    maximum: int = 1000,
) -> int:
    """Return with how many probes in all the tolerance should be met, at most four times as many.

    ``count`` if it is met already, or if there are ``maximum`` probes. Full batches otherwise.

    Examples
    --------
    >>> known = TraceEstimate(
    ...     value=np.array([100.0]), std_error=np.array([1.5]), degrees=np.array([99.0])
    ... )
    >>> probes_wanted(known, 8, 0.01)
    24
    """
    if enough(estimate, tolerance, offset) or count >= maximum:
        return count
    allowed = tolerance * np.abs(estimate.value + offset)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = float(np.nanmax((estimate.std_error / allowed) ** 2))
    more = count * (min(ratio, float(_GROWTH)) - 1.0)
    return min(count + batch * max(int(np.ceil(more / batch)), 1), maximum)


def probe_until(
    times: Map,
    order: int,
    steps: int,
    functions: Functions,
    *,
    seed: int,
    tolerance: float = 0.01,
    offset: Array | float = 0.0,
    batch: int = MINIMUM,
    maximum: int = 1000,
    deflation: Deflation | None = None,
    trace: float = np.nan,
    progress: Callable[[int, int], object] | None = None,
) -> Probes:
    """Draw probes until the traces of all ``functions`` are known to a relative tolerance.

    Parameters
    ----------
    times, order, steps, seed, deflation, trace
        See `random_probes`.
    functions : callable
        From nodes (B, L) to values (K, B, L).
    tolerance, offset, batch, maximum
        See `enough` and `probes_wanted`. With ``maximum`` probes it ends, met or not: the
        standard errors tell.
    progress : callable, optional
        Called with the numbers of probes done and planned after every batch.

    Examples
    --------
    >>> eigenvalues = np.linspace(0.0, 2.0, 500)
    >>> found = probe_until(
    ...     np.diag(eigenvalues).__matmul__, 500, 2, lambda nodes: nodes[None] ** 2, seed=0
    ... )
    >>> found.count
    32
    """
    probes: Probes | None = None
    done, planned = 0, max(min(max(batch, MINIMUM), maximum), 2)
    while done < planned:
        new = random_probes(
            times,
            order,
            steps,
            seed=seed,
            first=done,
            count=min(batch, planned - done),
            batch=batch,
            deflation=deflation,
            trace=trace,
        )
        probes = new if probes is None else joined(probes, new)
        done = probes.count
        if progress is not None:
            progress(done, planned)
        if done == planned:
            found = estimate_trace(probes, functions(probes.nodes))
            planned = probes_wanted(found, done, tolerance, offset, batch=batch, maximum=maximum)
    assert probes is not None
    return probes


# Traces over all directions of data that are too large for their eigenvalues
# ---------------------------------------------------------------------------

_BATCH = 8


@dataclass(frozen=True, kw_only=True)
class Sampled(Counted):
    """Nodes of random probes, and those of the basis that have converged to eigenvalues."""

    probes: Probes

    def total(self, values: Array) -> tuple[Array, Array]:
        """Estimate the traces of K functions with values (K, c) at the nodes."""
        estimate = estimate_trace(self.probes, values.reshape(-1, *self.probes.nodes.shape))
        return estimate.value, estimate.std_error


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """How traces are sampled.

    Attributes
    ----------
    n_components : int
        Largest model wanted; filters are polynomials of that degree.
    tolerance : float
        Relative standard error of the Degrees of Freedom that is asked for.
    seed : int
    maximum : int
        Largest number of probes.
    progress : callable or None
        Told the numbers of probes done and planned.
    """

    n_components: int
    tolerance: float
    seed: int
    maximum: int = 1000
    progress: Callable[[int, int], object] | None = None


def count_by_probes(
    gram: Gram, run: Tridiagonalization, *, sampling: Sampling
) -> tuple[Counted, int, float]:
    """Count by random probes; to be used as ``count`` of `_core.krylov.compress_gram`.

    Cost: (n_components + 1) products with G per probe, in batches of eight.
    """
    floor = gram.floor(max(float(run.ritz_values[0]), 0.0))
    theta, z = krylov_nodes(gram, run, floor)
    converged = _converged(run)[: len(theta)]
    known = replace(
        Spectrum.exact(theta, z, n=gram.units.n),
        counted=Counted(
            eigenvalues=np.zeros(0),
            eigenvalue_error=np.zeros(0),
            weights=np.zeros(0),
            dimension=float(np.count_nonzero(converged)),
            basis_weights=converged.astype(np.float64),
        ),
    )
    exact = pls_filter(known, sampling.n_components).dof
    probes = probe_until(
        gram.times,
        gram.order,
        sampling.n_components + 1,
        partial(_factors, known, len(exact) - 1),
        seed=sampling.seed,
        tolerance=sampling.tolerance,
        offset=exact,
        batch=_BATCH,
        maximum=sampling.maximum,
        deflation=_deflation(gram, run, converged),
        trace=gram.trace,
        progress=sampling.progress,
    )
    return _sampled(probes, converged), 0, floor


def _converged(run: Tridiagonalization) -> npt.NDArray[np.bool_]:
    """Return which nodes are eigenvalues to working precision: residual^2 <= gap * error."""
    theta = run.ritz_values
    distance = np.abs(theta - theta[:, None])
    np.fill_diagonal(distance, np.inf)
    error = _EPS * max(float(theta[0]), 0.0)
    return np.asarray(run.ritz_residuals <= np.sqrt(distance.min(axis=1)) * np.sqrt(error))


def _deflation(
    gram: Gram, run: Tridiagonalization, converged: npt.NDArray[np.bool_]
) -> Deflation | None:
    """Keep probes out of what has converged, and off the mean, which centring took out."""
    found = np.flatnonzero(converged)
    basis, nodes = run.basis.T @ run.ritz_vectors[:, found], run.ritz_values[found]
    if gram.side == "samples":
        scale = gram.units.row_scale
        mean = np.ones(gram.order) if scale is None else scale
        basis = np.column_stack([basis, mean / np.linalg.norm(mean)])
        nodes = np.append(nodes, 0.0)
    if not len(nodes):
        return None
    return Deflation(basis=basis, nodes=nodes)


def _factors(known: Spectrum, n_components: int, nodes: Array) -> Array:
    return factors_at(known, nodes.ravel(), n_components).reshape(-1, *nodes.shape)


def _sampled(probes: Probes, converged: npt.NDArray[np.bool_]) -> Sampled:
    nodes = probes.nodes.ravel()
    return Sampled(
        eigenvalues=read_only(nodes),
        eigenvalue_error=read_only(np.zeros(len(nodes))),
        weights=read_only(probes.calibrated_weights.ravel()),
        dimension=float(probes.dimension + np.count_nonzero(converged)),
        basis_weights=converged.astype(np.float64),
        probes=probes,
    )
