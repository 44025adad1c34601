"""Simulated spectra, a stand-in for measured ones; every result says that they are simulated."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from plsdof._core.inputs import Array, as_choice, as_draws, as_generator, as_positive
from plsdof.datasets.real import CONSTITUENTS, Constituent, make_bunch, shipped

if TYPE_CHECKING:  # takes a second to import
    from sklearn.utils import Bunch

_FAT_RANGE, _SUCROSE_RANGE, _SOLIDS = (15.0, 21.7), (10.0, 23.0), 98.0
_FLOUR_SHARE = (0.775, 0.008)

# Chosen so that correlations, eigenvalues and Degrees of Freedom resemble those of cookie.
_SCATTER, _SCATTER_FROM_FAT = 0.052, -0.7
_OFFSET, _SLOPE, _RIPPLE, _N_RIPPLES = 0.018, 0.014, 0.010, 40
_WHITE_NOISE = 1e-4


def make_spectra(
    n_samples: int = 70,
    n_features: int = 700,
    *,
    response: Constituent = "fat",
    noise: float = 0.2,
    random_state: Any = None,
    as_frame: bool = False,
) -> "Bunch":
    """Simulate a stand-in for the data set cookie: near-infrared spectra of mixtures.

    A spectrum is scatter * (continuum + sum_k c_k s_k) + baseline + noise with c_k the share of
    constituent k and s_k its bands; the response is 100 c_k of one constituent plus an error.

    Parameters
    ----------
    n_samples, n_features : int
        Number of mixtures, and of wavelengths, equally spaced on 1100..2498 nm.
    response : {"fat", "sucrose", "dry_flour", "water"}
        Constituent to predict, in percent.
    noise : float
        Standard deviation of the error in the response, in percentage points.
    random_state : int, numpy.random.Generator or None
        Seed, or source of random numbers.
    as_frame : bool
        Give pandas objects.

    Returns
    -------
    Bunch
        As `load_ozone` does, with data (n_samples, n_features), target (n_samples,), ``simulated``
        True, and ``wavelengths``, ``constituents`` (n_samples, 4) with ``constituent_names``, and
        ``expected_target`` (n_samples,), the response without error.

    Notes
    -----
    Cost: O(n_samples n_features) time.

    Examples
    --------
    >>> spectra = make_spectra(50, 200, response="water", random_state=0)
    >>> spectra.data.shape, spectra.target_names, spectra.simulated
    ((50, 200), ['water'], True)
    """
    p = as_draws(n_features, "n_features", minimum=1)
    n = as_draws(n_samples, "n_samples", minimum=1, kept=p)
    as_choice(response, "response", CONSTITUENTS)
    deviation = float(as_positive(noise, "noise", or_zero=True)[0])
    rng = as_generator(random_state, "random_state")
    wavelengths = np.linspace(1100.0, 2498.0, p)
    constituents = _mixtures(n, rng)
    spectra = _spectra(wavelengths, constituents, rng)
    expected = constituents[:, CONSTITUENTS.index(response)].copy()
    return make_bunch(
        None,
        spectra,
        expected + deviation * rng.standard_normal(n),
        names=wavelengths,
        target=response,
        as_frame=as_frame,
        constituents=constituents,
        constituent_names=list(CONSTITUENTS),
        expected_target=expected,
    )


def _mixtures(n: int, rng: np.random.Generator) -> Array:
    """Percentages of fat, sucrose, flour, water: what is not fat or sugar is flour and water."""
    fat, sucrose = rng.uniform(*_FAT_RANGE, n), rng.uniform(*_SUCROSE_RANGE, n)
    flour_share = rng.normal(*_FLOUR_SHARE, n)
    dough = _SOLIDS - fat - sucrose
    return np.column_stack([fat, sucrose, flour_share * dough, (1.0 - flour_share) * dough])


def _spectra(wavelengths: Array, constituents: Array, rng: np.random.Generator) -> Array:
    n, position = len(constituents), (wavelengths - 1799.0) / 699.0
    absorption = 0.55 + 0.35 * position + constituents / 100.0 @ _bands(wavelengths)
    fat = constituents[:, 0]
    low, high = _FAT_RANGE
    standardised = (fat - (low + high) / 2) / ((high - low) / math.sqrt(12.0))
    unrelated = math.sqrt(1.0 - _SCATTER_FROM_FAT**2) * rng.standard_normal(n)
    scatter = 1.0 + _SCATTER * (_SCATTER_FROM_FAT * standardised + unrelated)
    white = _WHITE_NOISE * rng.standard_normal(absorption.shape)
    return scatter[:, None] * absorption + _baseline(n, position, rng) + white


def _bands(wavelengths: Array) -> Array:
    """Absorption of the pure constituents, near the known overtones of their bonds. (4, p)."""
    pure = np.zeros((len(CONSTITUENTS), len(wavelengths)))
    for line in shipped("bands.csv").read_text(encoding="ascii").splitlines()[1:]:
        name, *shape = line.split(",")
        centre, width, height = map(float, shape)
        band = height * np.exp(-0.5 * ((wavelengths - centre) / width) ** 2)
        pure[CONSTITUENTS.index(name)] += band
    return pure


def _baseline(n: int, position: Array, rng: np.random.Generator) -> Array:
    """Offset, slope, and cosines of frequency k = 2, 3, ... with amplitude k^-1.5."""
    k = np.arange(2, _N_RIPPLES + 1)
    cosines = np.cos(np.pi / 2 * np.outer(k, position + 1.0))
    shapes = np.vstack([np.ones_like(position), position, cosines])
    sizes = np.concatenate([[_OFFSET, _SLOPE], _RIPPLE * k**-1.5])
    drift: Array = (sizes * rng.standard_normal((n, len(sizes)))) @ shapes
    return drift
