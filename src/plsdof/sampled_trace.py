"""Traces over all directions of data that are too large for their eigenvalues.

What the Krylov space of y has found is counted exactly; the rest is sampled by random probes, one
set of them for models of all sizes.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt

from plsdof._validation import Array, read_only
from plsdof.compression import krylov_nodes
from plsdof.filters import factors_at, pls_filter
from plsdof.gram import Gram
from plsdof.probes import Probes, estimate_trace
from plsdof.probing import probe_until
from plsdof.quadrature import Deflation
from plsdof.spectrum import Counted, Spectrum
from plsdof.tridiagonal import Tridiagonalization

_EPS = float(np.finfo(np.float64).eps)
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
    """Count by random probes; to be used as ``count`` of `compression.compress_gram`.

    Cost: (n_components + 1) products with G per probe, in batches of eight.
    """
    floor = gram.order * _EPS * max(float(run.ritz_values[0]), 0.0)
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
