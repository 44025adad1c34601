"""Smoothed Degrees of Freedom: the derivative's trace, averaged over responses like the observed.

Degrees of Freedom are an expectation over y. The trace of the derivative at the one y there is has
that expectation, but heavy tails: for n = 50 values such as -267 and 943 occur. Its average over
responses y_b = mu + s e_b drawn around a fit has not. A response enters through its coordinates
z = U'y alone, and the noise is standard normal in any orthonormal basis, so that the draws are
made where the spectrum is: no decomposition, no vector of length n.
"""

from dataclasses import dataclass

import numpy as np

from plsdof._core.criteria import GUARD, model_weights
from plsdof._core.filters import Filter, PLSFilter
from plsdof._core.inputs import Array, as_generator, read_only
from plsdof._core.krylov import dofs_of_responses
from plsdof._core.spectrum import Spectrum
from plsdof.errors import NotAvailableError

DRAWS = 20
# Below this share of |y| the noise of the draws cannot be told from rounding.
_NOISELESS = 1e-10
# Numbers held at once by the recursion: 32 MB.
_BLOCK_ENTRIES = 4_000_000


@dataclass(frozen=True, kw_only=True)
class SmoothedDof:
    """Mean Degrees of Freedom over responses, and the standard error of the mean. (K,) arrays."""

    value: Array
    std_error: Array


@dataclass(frozen=True, kw_only=True)
class _Nodes:
    """Where y or the noise of the draws lives. (g,) arrays."""

    eigenvalues: Array
    multiplicity: Array
    mean: Array
    noise: Array


def smoothed_dof(
    spectrum: Spectrum,
    fitted: Filter,
    rss: Array,
    *,
    draws: int = DRAWS,
    random_state: int = 0,
    limited: bool = False,
) -> SmoothedDof:
    r"""Average the Degrees of Freedom over responses drawn around a fit.

        DoF_s(m) = mean over b = 0..B of DoF(m; y_b),     y_0 = y,     y_b = mu + s e_b,

    mu the average of the fits weighted by GCV^(-n/2) (`model_weights`), s^2 = |y - mu|^2 /
    (n - sum_m w_m DoF(m)), e_b standard normal; single values are clipped to [1, n]. Methods that
    are linear in y have the same Degrees of Freedom for every response.

    Parameters
    ----------
    spectrum : Spectrum
    fitted : Filter
        The method on this spectrum.
    rss : (K,) array
    draws : int
        B.
    random_state : int
        Seed of the draws.
    limited : bool
        Do not follow draws after all of them have more than 0.9 n Degrees of Freedom, where no
        choice looks: they count as n from there on.

    Notes
    -----
    Cost: O(B r M^2) time.

    Where the spectrum holds the Krylov space of y only (``spectrum.counted``), its Ritz nodes
    carry mu, exactly as far as any fit goes, and the noise is put on the eigenvalues that are
    counted. What this leaves out is how noise and mean interfere on eigenvalues that the Krylov
    space has not found, which has mean zero.
    """
    weights = _weights(rss, fitted, spectrum.n)
    if not isinstance(fitted, PLSFilter) or weights is None or len(fitted.dof) < 2:
        return SmoothedDof(value=fitted.dof, std_error=read_only(np.zeros(len(fitted.dof))))
    variance = _noise_variance(spectrum, fitted, weights)
    if variance <= _NOISELESS**2 * spectrum.total:
        return SmoothedDof(value=fitted.dof, std_error=read_only(np.zeros(len(fitted.dof))))
    nodes = _nodes(spectrum, weights @ fitted.factors, variance)
    steps = len(fitted.dof) - 1
    limit = GUARD * spectrum.n if limited else np.inf
    noise = as_generator(random_state).standard_normal((draws, len(nodes.noise))) * nodes.noise
    size = max(1, _BLOCK_ENTRIES // (steps * len(nodes.noise)))
    values = [fitted.dof[None]] + [
        dofs_of_responses(nodes.eigenvalues, nodes.mean + block, nodes.multiplicity, steps, limit)
        for block in np.split(noise, range(size, draws, size))
    ]
    return _averaged(np.concatenate(values), spectrum.n)


def _averaged(dofs: Array, n: float) -> SmoothedDof:
    """Average clipped values over what is defined; the observed response alone is not enough."""
    clipped = np.clip(dofs, 1.0, n)
    defined = np.isfinite(clipped[1:])
    count = defined.sum(axis=0)
    enough = 2 * count > len(defined)
    total = np.nansum(clipped, axis=0)
    mean = np.where(enough, total / (1 + count), np.nan)
    squares = np.nansum((clipped - mean) ** 2, axis=0)
    spread = np.sqrt(squares / np.maximum(count, 1) / (1 + count))
    return SmoothedDof(value=read_only(mean), std_error=read_only(np.where(enough, spread, np.nan)))


def _weights(rss: Array, fitted: Filter, n: float) -> Array | None:
    try:
        return model_weights(rss, fitted.dof, n)
    except NotAvailableError:
        return None


def _noise_variance(spectrum: Spectrum, fitted: Filter, weights: Array) -> float:
    """Return s^2 = |y - mu|^2 / (n - sum_m w_m DoF(m))."""
    left_over = (weights @ fitted.residuals) * spectrum.z
    used = float(weights @ np.where(weights > 0, fitted.dof, 0.0))
    return (float(left_over @ left_over) + spectrum.outside) / (spectrum.n - used)


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
