r"""Traces of matrix functions from random probes, with honest standard errors.

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
"""

from dataclasses import dataclass

import numpy as np
import scipy.special

from plsdof._validation import Array, read_only
from plsdof.gram import Map
from plsdof.quadrature import Deflation, inner, lanczos_quadrature, projected

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
