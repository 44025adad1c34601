"""A problem compressed to its Krylov space: few components need no singular vectors.

m components live in span{g, Gg, ..., G^{m-1} g} with G = X'X and g = X'y. L steps of `lanczos`
started at g, V'GV = J with an orthonormal V whose first column is the start, give L nodes theta_l
and weights that integrate polynomials of degree 2L - 1 exactly against the measure that y puts on
the eigenvalues (Gauss quadrature). It needs products with G only, which may not even be formed.
Fits and coefficients of m components need L > m. The second sum of the Degrees of Freedom,
sum_i phi_m(lambda_i) h_i, is the integral of a polynomial of degree 3m and needs 2L > 3m. Only the
first sum, tr f, runs over all eigenvalues, and their values are enough for it.

A filter can be so steep at a leading eigenvalue that rounding of the eigenvalue alone would ruin
f there. It is steep only where the recursion has found the eigenvalue, so such eigenvalues are
counted at the node itself, in which every step of the recursion agrees.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from plsdof._core.inputs import Array, read_only
from plsdof._core.spectrum import (
    RESOLUTION,
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

# The space is exhausted when a new direction is this share of the largest value.
_EXHAUSTED = 4 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True, kw_only=True)
class Tridiagonalization:
    """A Krylov space, and the matrix in it.

    Attributes
    ----------
    basis : (L, d) array
        Orthonormal rows; the first one is the start.
    norm : float
        Length of the start.
    ritz_values, ritz_vectors : (L,) and (L, L) arrays
        Eigenvalues, largest first, and eigenvectors of the tridiagonal matrix, as columns.
    ritz_residuals : (L,) array
        Norms of G v - theta v for the Ritz pairs.
    """

    basis: Array
    norm: float
    ritz_values: Array
    ritz_vectors: Array
    ritz_residuals: Array


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
        if j + 1 == steps or beta <= _EXHAUSTED * largest:
            steps = j + 1
            break
        np.divide(new, beta, out=basis[j + 1])
    inside = beside[: steps - 1]
    J = np.diag(diagonal[:steps]) + np.diag(inside, 1) + np.diag(inside, -1)
    values, vectors = np.linalg.eigh(J)
    return Tridiagonalization(
        basis=basis[:steps],
        norm=norm,
        ritz_values=values[::-1],
        ritz_vectors=vectors[:, ::-1],
        ritz_residuals=np.abs(beta * vectors[-1, ::-1]),
    )


# The Krylov space of a problem: all that Partial Least Squares sees, without singular vectors
# --------------------------------------------------------------------------------------------

# What X does not reach of y is taken as |y|^2 - |z|^2 if that is known to this relative error.
_OUTSIDE_ERROR = 1e-11
# How traces are counted: see `compress_gram`.
Count = Callable[[Gram, Tridiagonalization], tuple[TraceNodes, int, float]]


def krylov_steps(n_components: int) -> int:
    """Return how many steps make everything about ``n_components`` components exact.

    Polynomials of degree 3 n_components are integrated exactly by half as many nodes.
    """
    return 3 * n_components // 2 + 2


def compress_gram(
    gram: Gram, n_components: int, count: Count | None = None
) -> tuple[Decomposition, Spectrum]:
    """Return a basis of the Krylov space, and the spectrum of the problem in it.

    The decomposition belongs to one response; what needs every direction of X needs a complete
    one.

    Parameters
    ----------
    gram : Gram
    n_components : int
        Largest model wanted.
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
        return complete, spectrum_on_gram(gram, complete)
    theta, z = krylov_nodes(gram, run, floor)
    basis = read_only((run.ritz_vectors[:, : len(theta)].T @ run.basis).T)
    decomposition = on_gram(gram, theta, basis, unresolved, floor)
    spectrum = decomposition.spectrum_of(
        z,
        n=gram.units.n,
        norm=np.sqrt(gram.total),
        outside=max(gram.total - float(z @ z), 0.0),
        counted=counted,
    )
    y = gram.response if gram.side == "samples" else gram.y
    doubt = 2.0 * float(np.abs(z) @ spectrum.z_error)
    if y is not None and doubt > _OUTSIDE_ERROR * spectrum.outside:
        perpendicular = y - decomposition.to_samples(z[:, None])[:, 0]
        spectrum = replace(spectrum, outside=float(perpendicular @ perpendicular))
    return decomposition, spectrum


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
    eigenvalues, error = eigenvalues[:r], gram.error(eigenvalues[:r])
    # Each is counted once, at a node where there is one that has converged to it: with residual
    # norm rho, a node is within rho^2 / gap of an eigenvalue, gap the distance to the other ones.
    nodes = krylov_nodes(gram, run, floor)[0]
    node_error, residual = gram.error(nodes), run.ritz_residuals[: len(nodes)]
    distance = np.abs(eigenvalues - nodes[:, None])
    close = distance <= RESOLUTION * (error + node_error[:, None])
    gap = np.where(close, np.inf, distance).min(axis=1, initial=np.inf)
    # Roots, because squares of residuals may leave the range of float64.
    close &= (residual <= np.sqrt(gap) * np.sqrt(node_error))[:, None]
    found: npt.NDArray[np.bool_] = np.asarray(close.any(axis=0))
    at_node = np.zeros(len(nodes))
    if found.any():
        nearest = np.where(close, distance, np.inf)[:, found].argmin(axis=0)
        at_node += np.bincount(nearest, minlength=len(at_node))
    others = eigenvalues[~found]
    counted = TraceNodes(
        eigenvalues=read_only(others),
        eigenvalue_error=read_only(error[~found]),
        weights=np.ones(len(others)),
        dimension=float(len(found)),
        basis_weights=at_node,
    )
    return counted, gram.max_rank - r, floor
