"""Smoothed Degrees of Freedom: the derivative's trace, averaged over responses like the observed.

Degrees of Freedom are an expectation over y. The trace of the derivative at the one y there is has
that expectation, but heavy tails: for n = 50 values such as -267 and 943 occur. Its average over
responses y_b = mu + s e_b drawn around a fit has not. A response enters through its coordinates
z = U'y alone, and the noise is standard normal in any orthonormal basis, so that the draws are
made where the spectrum is: no decomposition, no vector of length n.
"""

from collections.abc import Iterator, Sequence
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
class Smoothable:
    """A method on a spectrum, and its residual sums of squares (K,)."""

    spectrum: Spectrum
    fitted: Filter
    rss: Array


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
    one = Smoothable(spectrum=spectrum, fitted=fitted, rss=rss)
    return smoothed_dofs([one], draws=draws, random_state=random_state, limited=limited)[0]


def smoothed_dofs(
    fits: Sequence[Smoothable],
    *,
    draws: int = DRAWS,
    random_state: int = 0,
    limited: bool = False,
) -> list[SmoothedDof]:
    """Return `smoothed_dof` of many fits, in one recursion for those of the same size."""
    found = [
        SmoothedDof(value=one.fitted.dof, std_error=read_only(np.zeros(len(one.fitted.dof))))
        for one in fits
    ]
    groups: dict[tuple[int, int], list[tuple[int, _Nodes]]] = {}
    for number, one in enumerate(fits):
        if (nodes := _drawn_from(one)) is not None:
            size = len(nodes.noise), len(one.fitted.dof) - 1
            groups.setdefault(size, []).append((number, nodes))
    for (g, steps), members in groups.items():
        normal = as_generator(random_state).standard_normal((draws, g))
        for number, dofs in _in_blocks(members, normal, steps, fits, limited):
            value = np.concatenate([fits[number].fitted.dof[None], dofs])
            found[number] = _averaged(value, fits[number].spectrum.n)
    return found


def _in_blocks(
    members: list[tuple[int, _Nodes]],
    normal: Array,
    steps: int,
    fits: Sequence[Smoothable],
    limited: bool,
) -> Iterator[tuple[int, Array]]:
    """Yield the numbers of fits and the Degrees of Freedom of their draws, (draws, K)."""
    draws, g = normal.shape
    at_once = max(1, _BLOCK_ENTRIES // (steps * g * draws))
    for start in range(0, len(members), at_once):
        part = members[start : start + at_once]
        limits = [GUARD * fits[number].spectrum.n if limited else np.inf for number, _ in part]
        Z = np.concatenate([nodes.mean + normal * nodes.noise for _, nodes in part])
        lam, weights = (
            np.repeat([getattr(nodes, name) for _, nodes in part], draws, axis=0)
            for name in ("eigenvalues", "multiplicity")
        )
        size = max(1, _BLOCK_ENTRIES // (steps * g))
        blocks = [slice(first, first + size) for first in range(0, len(Z), size)]
        dofs = np.concatenate(
            [dofs_of_responses(lam[b], Z[b], weights[b], steps, max(limits)) for b in blocks]
        ).reshape(len(part), draws, -1)
        for (number, _), values, limit in zip(part, dofs, limits, strict=True):
            # Draws are not followed after all of them are beyond the limit.
            beyond = np.flatnonzero((values > limit).all(axis=0))
            if len(beyond):
                values[:, beyond[0] + 1 :] = np.inf
            yield number, values


def _drawn_from(one: Smoothable) -> _Nodes | None:
    """Return where responses of a fit are drawn; None if they all have the same DoF."""
    weights = _weights(one.rss, one.fitted, one.spectrum.n)
    if not isinstance(one.fitted, PLSFilter) or weights is None or len(one.fitted.dof) < 2:
        return None
    variance = _noise_variance(one.spectrum, one.fitted, weights)
    if variance <= _NOISELESS**2 * one.spectrum.total:
        return None
    return _nodes(one.spectrum, weights @ one.fitted.factors, variance)


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
