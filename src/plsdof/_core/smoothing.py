"""Smoothed Degrees of Freedom: the derivative's trace, averaged over responses like the observed.

Degrees of Freedom are an expectation over y. The trace of the derivative at the one y there is has
that expectation, but heavy tails: for n = 50 values such as -267 and 943 occur. Its average over
responses y_b = mu + s e_b drawn around a fit has not. A response enters through its coordinates
z = U'y alone, and the noise is standard normal in any orthonormal basis, so that the draws are
made where the spectrum is: no decomposition, no vector of length n.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from plsdof._core.criteria import gcv
from plsdof._core.filters import Filter, PLSFilter
from plsdof._core.inputs import Array, as_generator, read_only
from plsdof._core.krylov import dofs_of_responses
from plsdof._core.spectrum import Spectrum

DRAWS = 20
# Below this share of |y| the noise of the draws cannot be told from rounding.
_NOISELESS = 1e-10
# Models with more than this share of the n Degrees of Freedom have no part in mu.
_GUARD = 0.9
# Numbers held at once by the recursion: 32 MB.
_BLOCK_ENTRIES = 4_000_000


@dataclass(frozen=True, kw_only=True)
class _Nodes:
    """Where y or the noise of the draws lives. (g,) arrays."""

    eigenvalues: Array
    multiplicity: Array
    mean: Array
    noise: Array


def smoothed_dof(
    spectrum: Spectrum, fitted: Filter, rss: Array, *, draws: int = DRAWS, rng: Any = 0
) -> Array:
    r"""Average the Degrees of Freedom over responses drawn around a fit. Shape (K,).

        DoF_s(m) = mean over b = 0..B of DoF(m; y_b),     y_0 = y,     y_b = mu + s e_b,

    mu the average of the fits weighted by GCV^(-n/2), s^2 = |y - mu|^2 / (n - sum_m w_m DoF(m)),
    e_b standard normal; single values are clipped to [1, n]. Methods that are linear in y have the
    same Degrees of Freedom for every response.

    Notes
    -----
    Cost: O(B r M^2) time.

    Where the spectrum holds the Krylov space of y only (``spectrum.counted``), its Ritz nodes
    carry mu, exactly as far as any fit goes, and the noise is put on the eigenvalues that are
    counted. What this leaves out is how noise and mean interfere on eigenvalues that the Krylov
    space has not found, which has mean zero.
    """
    nodes = _drawn_from(spectrum, fitted, rss)
    if nodes is None:
        return fitted.dof
    steps, g = len(fitted.dof) - 1, len(nodes.noise)
    Z = nodes.mean + as_generator(rng).standard_normal((draws, g)) * nodes.noise
    size = max(1, _BLOCK_ENTRIES // (steps * g))
    dofs = np.concatenate(
        [
            dofs_of_responses(nodes.eigenvalues, Z[start : start + size], nodes.multiplicity, steps)
            for start in range(0, draws, size)
        ]
    )
    # Average what is defined; the observed response alone is not enough.
    values = np.clip(np.concatenate([fitted.dof[None], dofs]), 1.0, spectrum.n)
    count = np.isfinite(values[1:]).sum(axis=0)
    mean = np.nansum(values, axis=0) / (1 + count)
    return read_only(np.where(2 * count > draws, mean, np.nan))


def _drawn_from(spectrum: Spectrum, fitted: Filter, rss: Array) -> _Nodes | None:
    """Return where responses of a fit are drawn; None if they all have the same DoF."""
    if not isinstance(fitted, PLSFilter) or len(fitted.dof) < 2:
        return None
    weights = _weights(rss, fitted.dof, spectrum.n)
    if weights is None:
        return None
    # s^2 = |y - mu|^2 / (n - sum_m w_m DoF(m)).
    left_over = (weights @ fitted.residuals) * spectrum.z
    used = float(weights @ np.where(weights > 0, fitted.dof, 0.0))
    variance = (float(left_over @ left_over) + spectrum.outside) / (spectrum.n - used)
    if variance <= _NOISELESS**2 * spectrum.total:
        return None
    return _nodes(spectrum, weights @ fitted.factors, variance)


def _weights(rss: Array, dof: Array, n: float) -> Array | None:
    """Weigh models by GCV^(-n/2), the likelihood of normal noise at its maximum; None if none may.

    Those from the first one on with less than 1 or more than 0.9 n Degrees of Freedom have none.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        allowed = np.logical_and.accumulate((dof >= 1.0 - 1e-9) & (dof <= _GUARD * n))
        scores = np.where(allowed, np.log(gcv(rss, dof, n)), np.inf)
    if not allowed.any():
        return None
    best = scores.min()
    if np.isneginf(best):  # an exact fit: the simplest one
        return np.asarray(np.arange(len(dof)) == np.argmin(scores), dtype=np.float64)
    weights = np.exp(-n / 2 * (scores - best))
    return np.asarray(weights / weights.sum())


def _nodes(spectrum: Spectrum, factors: Array, variance: float) -> _Nodes:
    # Degrees of Freedom do not see the signs of z, which a decomposition chooses at will: without
    # them, the draws do not depend on the order of rows and columns either.
    counted, mean = spectrum.counted, np.abs(factors * spectrum.z)
    if counted is None:
        everywhere = np.full(len(mean), np.sqrt(variance))
        return _Nodes(
            eigenvalues=spectrum.eigenvalues,
            multiplicity=np.ones(len(mean)),
            mean=mean,
            noise=everywhere,
        )
    eigenvalues = np.concatenate([spectrum.eigenvalues, counted.eigenvalues])
    multiplicity = np.concatenate([spectrum.multiplicity, counted.weights])
    mean = np.concatenate([mean, np.zeros(len(counted.weights))])
    # A node that stands for several directions has the noise of all of them.
    noise = np.sqrt(variance * np.maximum(multiplicity, 0.0))
    alive = (noise > 0) | (np.abs(mean) > _NOISELESS * np.sqrt(variance))
    return _Nodes(
        eigenvalues=eigenvalues[alive],
        multiplicity=multiplicity[alive],
        mean=mean[alive],
        noise=noise[alive],
    )
