"""Gauss quadrature of the measures that vectors put on the eigenvalues of a matrix."""

from dataclasses import dataclass

import numpy as np

from plsdof._validation import Array, read_only
from plsdof.gram import Map

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
