"""Simulated data of the reproduction: a stand-in for kin-32fh, and the model of section 4."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from plsdof.datasets import load_ozone
from reproduction.work import Array


@dataclass(frozen=True, kw_only=True, eq=False)
class Simulated:
    """Predictors X (n, p), the response y (n,), what is expected of it, and its noise level.

    ``noise_std`` is nan where the noise depends on the row. ``coef`` (d,) and ``centers`` (d, 12)
    belong to radial basis functions.
    """

    X: Array
    y: Array
    expected: Array
    noise_std: float = np.nan
    coef: Array | None = None
    centers: Array | None = None


# A robot arm with eight links
# ----------------------------

_LINKS = 8
_TARGET_POINT = 0.2


def make_kin(n_samples: int = 8192, *, rng: Any = None) -> Simulated:
    """Simulate a stand-in for kin-32fh: the reach of a robot arm with eight links.

    y = D U + E, where D is the distance of the end of a Denavit-Hartenberg chain from
    (0.2, 0.2, 0.2), U ~ uniform(0.8, 1.2) and E ~ normal(0, 0.094^2), so E(y | X) = D. The
    distributions were inferred from the published data, which do not document them: angles theta
    uniform on +-pi/10; twists alpha -pi/8, 0 or pi/8 with equal probability; lengths a zero with
    probability 0.3, offsets d zero with probability 0.5, otherwise normal with mean 0.3 and
    standard deviation 0.0141.

    Mean, standard deviation and linear R^2 of the response: 1.801, 0.450, 0.695 here (mean of forty
    draws of 8192 rows), 1.797, 0.448, 0.690 in the published data.

    Examples
    --------
    >>> make_kin(300, rng=0).X.shape
    (300, 32)
    """
    rng = np.random.default_rng(rng)
    X = _kin_predictors(n_samples, rng)
    distance = kin_distance(X)
    y = distance * rng.uniform(0.8, 1.2, n_samples) + rng.normal(0.0, 0.094, n_samples)
    return Simulated(X=X, y=y, expected=distance)


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


def _kin_predictors(n: int, rng: np.random.Generator) -> Array:
    shape = (n, _LINKS)
    theta = rng.uniform(-np.pi / 10, np.pi / 10, shape)
    alpha = rng.integers(-1, 2, shape) * (np.pi / 8)
    lengths = [
        np.where(rng.random(shape) < zero, 0.0, rng.normal(0.3, 0.0141, shape))
        for zero in (0.3, 0.5)
    ]
    return np.hstack([theta, alpha, *lengths])


# Radial basis functions of ozone
# -------------------------------


def make_rbf_ozone(
    n_basis: int,
    *,
    signal_to_noise: float = 9.0,
    distance: str = "squared",
    basis: Any = 0,
    rng: Any = None,
) -> Simulated:
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
    basis : int or numpy.random.Generator
        Draws the centres. An integer gives the same basis in each call: the paper fixes its basis
        functions before any response is drawn.
    rng : int, numpy.random.Generator or None
        Draws the coefficients, then the noise.

    Examples
    --------
    >>> first = make_rbf_ozone(90, rng=1)
    >>> again = make_rbf_ozone(90, rng=2)  # another response to the same predictors
    >>> first.X.shape, bool((again.X == first.X).all()), bool((again.y == first.y).any())
    ((203, 90), True, False)
    """
    rng = np.random.default_rng(rng)
    X = load_ozone().data
    low, high = X.min(axis=0), X.max(axis=0)
    scaled = 2.0 * (X - low) / (high - low) - 1.0
    centers = np.random.default_rng(basis).uniform(-1.0, 1.0, (n_basis, X.shape[1]))
    squares = np.sum((scaled[:, None] - centers) ** 2, axis=2)
    features = np.exp(-squares if distance == "squared" else -np.sqrt(squares))
    coef = rng.uniform(1.0, 3.0, n_basis)
    signal = features @ coef
    sigma = float(np.sqrt(np.var(signal) / signal_to_noise))
    y = signal + sigma * rng.standard_normal(len(signal))
    return Simulated(X=features, y=y, expected=signal, noise_std=sigma, coef=coef, centers=centers)
