"""Simulated data: stand-ins for data sets that may be out of reach, and the paper's simulation.

They say in every result that they are simulated.
"""

import math
from typing import Any, Literal, overload

import numpy as np

from plsdof._core.inputs import Array, as_choice, as_count, as_generator
from plsdof.datasets.catalogue import XY, Bunch, make_bunch
from plsdof.datasets.real import CONSTITUENTS, KIN_FEATURES, load_ozone
from plsdof.errors import InvalidInputError

_LINKS = 8
_TARGET_POINT = 0.2

_KIN_DESCR = """SIMULATED STAND-IN for kin-32fh, not the published data

A chain of eight links in the standard convention of Denavit and Hartenberg. Its distributions were
inferred from the published data, which do not document them: angles theta uniform on +-pi/10;
twists alpha -pi/8, 0 or pi/8 with equal probability; lengths a zero with probability 0.3, offsets
d zero with probability 0.5, otherwise normal with mean 0.3 and standard deviation 0.0141.
Response: D U + E, D the distance of the end of the arm from (0.2, 0.2, 0.2), U uniform on
(0.8, 1.2), E normal with standard deviation 0.094.

Mean, standard deviation and linear R^2 of the response: 1.801, 0.450, 0.695 here (mean of forty
draws of 8192 rows), 1.797, 0.448, 0.690 in the published data.
"""

_SPECTRA_DESCR = """SIMULATED STAND-IN for near-infrared spectra of dough, not measured data

Spectra of mixtures of fat, sucrose, dry flour and water: overlapping Gaussian absorption bands
weighted by the composition, multiplied by a scatter factor that falls with the fat content, plus a
drifting baseline (offset, slope, smooth ripples) and white noise. The response is the percentage
of one constituent, measured with an error. Neighbouring wavelengths are almost the same: the mean
absolute correlation of the predictors is about 0.885, as in the data set cookie.
"""

_RBF_DESCR = """SIMULATION of section 4 of Kraemer & Sugiyama (2011), not measured data

The 12 predictors of the 203 complete rows of ozone, scaled to [-1, 1], are turned into radial basis
functions with centres uniform on the cube; the response is a linear model in them plus noise.
"""

# Bands (centre in nm, width in nm, height) near the known overtones of C-H, O-H and N-H bonds.
_BANDS = {
    "fat": (
        (1210, 30, 0.33),
        (1390, 40, 0.20),
        (1726, 18, 0.59),
        (1762, 18, 0.46),
        (2308, 18, 0.85),
        (2348, 18, 0.72),
    ),
    "sucrose": ((1440, 30, 0.39), (1580, 70, 0.26), (2080, 40, 0.59), (2275, 40, 0.52)),
    "dry_flour": (
        (1200, 40, 0.16),
        (1490, 60, 0.39),
        (1930, 40, 0.33),
        (2100, 60, 0.78),
        (2280, 30, 0.39),
        (2490, 40, 0.52),
    ),
    "water": (
        (1190, 30, 0.20),
        (1455, 45, 1.17),
        (1780, 60, 0.26),
        (1935, 40, 2.08),
        (2450, 120, 1.30),
    ),
}
_FAT_RANGE, _SUCROSE_RANGE, _SOLIDS = (15.0, 21.7), (10.0, 23.0), 98.0
_FLOUR_SHARE = (0.775, 0.008)

# Chosen so that correlations, eigenvalues and Degrees of Freedom resemble those of cookie.
_SCATTER, _SCATTER_FROM_FAT = 0.052, -0.7
_OFFSET, _SLOPE, _RIPPLE, _N_RIPPLES = 0.018, 0.014, 0.010, 40
_WHITE_NOISE = 1e-4


@overload
def make_kin(
    n_samples: int = ...,
    *,
    random_state: Any = ...,
    as_frame: bool = ...,
    return_X_y: Literal[False] = ...,
) -> Bunch: ...
@overload
def make_kin(
    n_samples: int = ...,
    *,
    random_state: Any = ...,
    as_frame: bool = ...,
    return_X_y: Literal[True],
) -> XY: ...
def make_kin(
    n_samples: int = 8192,
    *,
    random_state: Any = None,
    as_frame: bool = False,
    return_X_y: bool = False,
) -> Bunch | XY:
    """Simulate a stand-in for kin-32fh: the reach of a robot arm with eight links.

    y = D U + E, where D is the distance of the end of a Denavit-Hartenberg chain from
    (0.2, 0.2, 0.2), U ~ uniform(0.8, 1.2) and E ~ normal(0, 0.094^2), so E(y | X) = D. The
    distributions were inferred from the published data; they are listed in ``DESCR``.

    Parameters
    ----------
    n_samples : int
        Number of rows.
    random_state : int, numpy.random.Generator or None
        Seed, or source of random numbers.
    as_frame : bool
        Give pandas objects.
    return_X_y : bool
        Give only predictors and response.

    Returns
    -------
    Bunch or (data, target)
        `Bunch` with data (n_samples, 32), target (n_samples,), ``simulated`` True, and
        ``expected_target`` (n_samples,), the response without noise.

    Notes
    -----
    Cost: O(n_samples) time, no loop over rows.

    Examples
    --------
    >>> kin = make_kin(300, random_state=0)
    >>> kin.data.shape, kin.simulated
    ((300, 32), True)
    """
    n = as_count(n_samples, "n_samples", minimum=1)
    rng = as_generator(random_state, "random_state")
    X = _kin_predictors(n, rng)
    distance = kin_distance(X)
    y = distance * rng.uniform(0.8, 1.2, n) + rng.normal(0.0, 0.094, n)
    bunch = make_bunch(
        name="kin32fh stand-in",
        data=X,
        target=y,
        feature_names=KIN_FEATURES,
        target_name="distance",
        expected_target=distance,
        DESCR=_KIN_DESCR,
        provenance="simulated by plsdof.datasets.make_kin, a stand-in for kin-32fh",
        simulated=True,
        as_frame=as_frame,
    )
    return (bunch.data, bunch.target) if return_X_y else bunch


def kin_distance(X: Array) -> Array:
    """Return the distance of the end of the arm from (0.2, 0.2, 0.2) for each row. Shape (n,).

    The end point is T_1 ... T_8 0 with T_i = Rot_z(theta_i) Trans_z(d_i) Trans_x(a_i)
    Rot_x(alpha_i), worked out from the last link to the first.
    """
    theta, alpha, a, d = (X[:, start : start + _LINKS].T for start in range(0, 4 * _LINKS, _LINKS))
    x, y, z = np.zeros((3, len(X)))
    for link in reversed(range(_LINKS)):
        cosine, sine = np.cos(alpha[link]), np.sin(alpha[link])
        y, z = cosine * y - sine * z, sine * y + cosine * z
        x, z = x + a[link], z + d[link]
        cosine, sine = np.cos(theta[link]), np.sin(theta[link])
        x, y = cosine * x - sine * y, sine * x + cosine * y
    return np.sqrt(sum((axis - _TARGET_POINT) ** 2 for axis in (x, y, z)))


@overload
def make_spectra(
    n_samples: int = ...,
    n_features: int = ...,
    *,
    response: str = ...,
    noise: float = ...,
    random_state: Any = ...,
    as_frame: bool = ...,
    return_X_y: Literal[False] = ...,
) -> Bunch: ...
@overload
def make_spectra(
    n_samples: int = ...,
    n_features: int = ...,
    *,
    response: str = ...,
    noise: float = ...,
    random_state: Any = ...,
    as_frame: bool = ...,
    return_X_y: Literal[True],
) -> XY: ...
def make_spectra(
    n_samples: int = 70,
    n_features: int = 700,
    *,
    response: str = "fat",
    noise: float = 0.2,
    random_state: Any = None,
    as_frame: bool = False,
    return_X_y: bool = False,
) -> Bunch | XY:
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
    return_X_y : bool
        Give only predictors and response.

    Returns
    -------
    Bunch or (data, target)
        `Bunch` with data (n_samples, n_features), target (n_samples,), ``simulated`` True, and
        ``wavelengths``, ``constituents`` (n_samples, 4) with ``constituent_names``, and
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
    n = as_count(n_samples, "n_samples", minimum=1)
    p = as_count(n_features, "n_features", minimum=1)
    as_choice(response, "response", CONSTITUENTS)
    rng, error = as_generator(random_state, "random_state"), _as_deviation(noise)
    wavelengths = np.linspace(1100.0, 2498.0, p)
    constituents = _mixtures(n, rng)
    spectra = _spectra(wavelengths, constituents, rng)
    expected = constituents[:, CONSTITUENTS.index(response)].copy()
    bunch = make_bunch(
        name="cookie stand-in",
        data=spectra,
        target=expected + error * rng.standard_normal(n),
        feature_names=[f"{wavelength:.10g} nm" for wavelength in wavelengths],
        target_name=response,
        wavelengths=wavelengths,
        constituents=constituents,
        constituent_names=list(CONSTITUENTS),
        expected_target=expected,
        DESCR=_SPECTRA_DESCR,
        provenance="simulated by plsdof.datasets.make_spectra, a stand-in for cookie",
        simulated=True,
        as_frame=as_frame,
    )
    return (bunch.data, bunch.target) if return_X_y else bunch


@overload
def make_rbf_ozone(
    n_basis: int = ...,
    *,
    signal_to_noise: float = ...,
    distance: str = ...,
    basis_state: Any = ...,
    random_state: Any = ...,
    as_frame: bool = ...,
    return_X_y: Literal[False] = ...,
) -> Bunch: ...
@overload
def make_rbf_ozone(
    n_basis: int = ...,
    *,
    signal_to_noise: float = ...,
    distance: str = ...,
    basis_state: Any = ...,
    random_state: Any = ...,
    as_frame: bool = ...,
    return_X_y: Literal[True],
) -> XY: ...
def make_rbf_ozone(
    n_basis: int = 50,
    *,
    signal_to_noise: float = 9.0,
    distance: str = "squared",
    basis_state: Any = 0,
    random_state: Any = None,
    as_frame: bool = False,
    return_X_y: bool = False,
) -> Bunch | XY:
    """Simulate as in section 4 of the paper: a linear model in radial basis functions of ozone.

    With the rows x of ozone scaled to [-1, 1] and centres c_j uniform on that cube,

        y = f(x) + sigma e,    f(x) = sum_j beta_j phi_j(x),    phi_j(x) = exp(-|x - c_j|^2),

    beta_j uniform on [1, 3], e standard normal, and sigma^2 = var(f) / signal_to_noise with the
    variance over all rows (divisor n).

    Parameters
    ----------
    n_basis : int
        Number d of basis functions, the predictors; the paper has 10, 50, ..., 210.
    signal_to_noise : float
        var(f) / sigma^2.
    distance : {"squared", "plain"}
        Whether the basis functions take the squared distance, as printed, or the distance.
    basis_state : int, numpy.random.Generator or None
        Draws the centres. An integer gives the same basis in each call: the paper fixes its basis
        functions before any response is drawn.
    random_state : int, numpy.random.Generator or None
        Draws the coefficients, then the noise.
    as_frame : bool
        Give pandas objects.
    return_X_y : bool
        Give only predictors and response.

    Returns
    -------
    Bunch or (data, target)
        `Bunch` with data (203, d), target (203,), ``simulated`` True, and ``expected_target``
        (203,), f without noise, ``coef`` (d,), ``centers`` (d, 12) and ``noise_std``.

    Notes
    -----
    Cost: O(d) time for 203 rows.

    References
    ----------
    Kraemer & Sugiyama (2011), section 4.

    Examples
    --------
    >>> first = make_rbf_ozone(90, random_state=1)
    >>> first.data.shape, first.simulated
    ((203, 90), True)
    >>> again = make_rbf_ozone(90, random_state=2)  # another response to the same predictors
    >>> bool((again.data == first.data).all()), bool((again.target == first.target).any())
    (True, False)
    """
    d = as_count(n_basis, "n_basis", minimum=1)
    as_choice(distance, "distance", ("squared", "plain"))
    rng, ratio = as_generator(random_state, "random_state"), _as_ratio(signal_to_noise)
    X = load_ozone().data
    low, high = X.min(axis=0), X.max(axis=0)
    scaled = 2.0 * (X - low) / (high - low) - 1.0
    centers = as_generator(basis_state, "basis_state").uniform(-1.0, 1.0, (d, X.shape[1]))
    squares = np.sum((scaled[:, None] - centers) ** 2, axis=2)
    features = np.exp(-squares if distance == "squared" else -np.sqrt(squares))
    coef = rng.uniform(1.0, 3.0, d)
    signal = features @ coef
    sigma = float(np.sqrt(np.var(signal) / ratio))
    bunch = make_bunch(
        name="radial basis functions of ozone",
        data=features,
        target=signal + sigma * rng.standard_normal(len(signal)),
        feature_names=[f"phi{j + 1}" for j in range(d)],
        target_name="y",
        expected_target=signal,
        coef=coef,
        centers=centers,
        noise_std=sigma,
        DESCR=_RBF_DESCR,
        provenance="simulated by plsdof.datasets.make_rbf_ozone from the predictors of ozone",
        simulated=True,
        as_frame=as_frame,
    )
    return (bunch.data, bunch.target) if return_X_y else bunch


def _kin_predictors(n: int, rng: np.random.Generator) -> Array:
    shape = (n, _LINKS)
    theta = rng.uniform(-np.pi / 10, np.pi / 10, shape)
    alpha = rng.integers(-1, 2, shape) * (np.pi / 8)
    lengths = [
        np.where(rng.random(shape) < zero, 0.0, rng.normal(0.3, 0.0141, shape))
        for zero in (0.3, 0.5)
    ]
    return np.hstack([theta, alpha, *lengths])


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
    """Absorption of the pure constituents. Shape (4, p)."""
    rows = []
    for name in CONSTITUENTS:
        centre, width, height = np.array(_BANDS[name], dtype=float).T[:, :, None]
        rows.append(np.sum(height * np.exp(-0.5 * ((wavelengths - centre) / width) ** 2), axis=0))
    return np.array(rows)


def _baseline(n: int, position: Array, rng: np.random.Generator) -> Array:
    """Offset, slope, and cosines of frequency k = 2, 3, ... with amplitude k^-1.5."""
    k = np.arange(2, _N_RIPPLES + 1)
    cosines = np.cos(np.pi / 2 * np.outer(k, position + 1.0))
    shapes = np.vstack([np.ones_like(position), position, cosines])
    sizes = np.concatenate([[_OFFSET, _SLOPE], _RIPPLE * k**-1.5])
    drift: Array = (sizes * rng.standard_normal((n, len(sizes)))) @ shapes
    return drift


def _as_ratio(value: Any) -> float:
    if not _is_finite_number(value) or value <= 0:
        raise InvalidInputError(f"signal_to_noise must be a finite number > 0; got {value!r}.")
    return float(value)


def _is_finite_number(value: Any) -> bool:
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    return number and math.isfinite(value)


def _as_deviation(noise: Any) -> float:
    if not _is_finite_number(noise) or noise < 0:
        raise InvalidInputError(f"noise must be a finite standard deviation >= 0; got {noise!r}.")
    return float(noise)
