"""Designs of `choice.py`: training rows, new rows, and what is to be predicted there.

Simulated designs are judged by the distance to the true mean, real data by their own responses.
Every design is drawn anew for every repeat, coefficients and loadings included.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

N_NEW = 400


@dataclass(frozen=True, kw_only=True)
class Sample:
    """Rows to fit, and new rows; ``target`` are true means of simulated rows, y of real ones."""

    X: Any
    y: Any
    X_new: Any
    target: Any
    method: str = "pls"


def _sample(rng, rows, mean, n, noise, method="pls"):
    """rows(rng, n) -> X; mean(X) -> mu; noise: R2 or callable(rng, mu)."""
    X_all = rows(rng, n + N_NEW)
    mu = mean(X_all)
    if callable(noise):
        y = mu[:n] + noise(rng, mu[:n])
    else:
        sd = np.std(mu[n:]) * np.sqrt(1 / noise - 1) if np.std(mu) > 0 else 1.0
        y = mu[:n] + sd * rng.standard_normal(n)
    return Sample(X=X_all[:n], y=y, X_new=X_all[n:], target=mu[n:], method=method)


# ---- rows -------------------------------------------------------------
def factor_rows(rng, p, sd, noise=1.0):
    loadings = rng.standard_normal((len(sd), p)) * np.asarray(sd)[:, None]

    def rows(rng, n):
        F = rng.standard_normal((n, len(sd)))
        return np.column_stack([F @ loadings + noise * rng.standard_normal((n, p)), F])

    return rows


def factors(rng, *, n, p, sd, coef, r2, noise=1.0, heavy=None, hetero=False):
    make = factor_rows(rng, p, sd, noise)
    both = make(rng, n + N_NEW)
    X, F = both[:, :p], both[:, p:]
    mu = F @ np.asarray(coef, float)
    s = np.std(mu) * np.sqrt(1 / r2 - 1)
    e = rng.standard_normal(n)
    if heavy:
        e = rng.standard_t(heavy, n) / np.sqrt(heavy / (heavy - 2))
    if hetero:
        e = e * (0.3 + np.abs(F[:n, 0])) / np.sqrt(0.09 + 0.6 * 0.798 + 1)
    return Sample(X=X[:n], y=mu[:n] + s * e, X_new=X[n:], target=mu[n:])


def linear(rng, *, n, p, rows, coef, r2):
    beta = coef(rng, p)
    return _sample(rng, lambda g, k: rows(g, k, p), lambda X: X @ beta, n, r2)


def iid(rng, n, p):
    return rng.standard_normal((n, p))


def ar(rng, n, p, rho=0.9):
    Z = rng.standard_normal((n, p))
    X = np.empty_like(Z)
    X[:, 0] = Z[:, 0]
    for j in range(1, p):
        X[:, j] = rho * X[:, j - 1] + np.sqrt(1 - rho**2) * Z[:, j]
    return X


def equi(rng, n, p, rho=0.7):
    return np.sqrt(rho) * rng.standard_normal((n, 1)) + np.sqrt(1 - rho) * rng.standard_normal(
        (n, p)
    )


def blocks(rng, n, p, size=10, rho=0.9):
    g = -(-p // size)
    B = np.repeat(rng.standard_normal((n, g)), size, axis=1)[:, :p]
    return np.sqrt(rho) * B + np.sqrt(1 - rho) * rng.standard_normal((n, p))


def clusters(rng, n, p, k=4):
    centres = 3 * np.random.default_rng(p).standard_normal((k, p))
    return centres[rng.integers(k, size=n)] + rng.standard_normal((n, p))


def decay(rng, n, p, power=1.0):
    return rng.standard_normal((n, p)) * np.arange(1, p + 1) ** -power


def duplicated(rng, n, p):
    half = rng.standard_normal((n, p // 2))
    return np.column_stack([half, half + 1e-3 * rng.standard_normal(half.shape)])


def binary(rng, n, p):
    return (ar(rng, n, p, 0.6) > 0).astype(float)


def heavy_rows(rng, n, p):
    return rng.standard_t(3, (n, p))


def spectra(rng, n, p, peaks=6, noise=0.002, baseline=True):
    """Overlapping peaks with random concentrations, a drifting baseline and small noise."""
    g = np.random.default_rng(100 + peaks)
    x = np.linspace(0, 1, p)
    centre, width = g.uniform(0.1, 0.9, peaks), g.uniform(0.05, 0.15, peaks)
    pure = np.exp(-0.5 * ((x - centre[:, None]) / width[:, None]) ** 2)
    C = rng.uniform(0.2, 1.0, (n, peaks))
    X = C @ pure + noise * rng.standard_normal((n, p))
    if baseline:
        X += 0.3 * rng.standard_normal((n, 1)) + 0.3 * rng.standard_normal((n, 1)) * x
    return np.column_stack([X, C])


def nir(rng, *, n, p, peaks, which, r2, noise=0.002, method="pls"):
    both = spectra(rng, n + N_NEW, p, peaks, noise)
    X, C = both[:, :p], both[:, p:]
    mu = C @ np.bincount(which, minlength=peaks).astype(float)
    s = np.std(mu) * np.sqrt(1 / r2 - 1)
    return Sample(
        X=X[:n], y=mu[:n] + s * rng.standard_normal(n), X_new=X[n:], target=mu[n:], method=method
    )


# ---- coefficients -------------------------------------------------------
def dense(rng, p):
    return rng.standard_normal(p)


def sparse(rng, p, k=5):
    beta = np.zeros(p)
    beta[rng.choice(p, k, replace=False)] = rng.choice([-1.0, 1.0], k) * rng.uniform(0.5, 1.5, k)
    return beta


def contrast(rng, p, size=10):  # noqa: ARG001
    """Differences between neighbouring blocks: nothing along the leading direction."""
    signs = np.resize([1.0, -1.0], -(-p // size))
    return np.repeat(signs, size)[:p]


def smooth(rng, p):
    x = np.linspace(0, 1, p)
    return np.sin(2 * np.pi * (x * rng.uniform(0.5, 2) + rng.uniform()))


def ones(rng, p):  # noqa: ARG001
    return np.ones(p)


def late(rng, p):
    """Everything in the directions of small variance."""
    beta = np.zeros(p)
    beta[p // 3 :] = rng.standard_normal(p - p // 3) * np.arange(p // 3 + 1, p + 1)
    return beta


# ---- other means ----------------------------------------------------------
def friedman(X):
    return (
        10 * np.sin(np.pi * X[:, 0] * X[:, 1])
        + 20 * (X[:, 2] - 0.5) ** 2
        + 10 * X[:, 3]
        + 5 * X[:, 4]
    )


def uniform(rng, n, p):
    return rng.uniform(size=(n, p))


def nonlinear(rng, *, n, p, rows, mean, r2, method="pls"):
    return _sample(rng, lambda g, k: rows(g, k, p), mean, n, r2, method)


def pure_noise(rng, *, n, p, rows=iid):
    X = rows(rng, n + N_NEW, p)
    return Sample(X=X[:n], y=rng.standard_normal(n), X_new=X[n:], target=np.zeros(N_NEW))


F8 = np.array([5, 4, 3, 2, 1.5, 1, 0.7, 0.5])
DESIGNS: dict[str, Callable[[np.random.Generator], Sample]] = {
    "factors, signal in the first, n<p": partial(
        factors, n=50, p=100, sd=[3, 2, 1], coef=[1, 0, 0], r2=0.8
    ),
    "factors, signal in the last, n<p": partial(
        factors, n=50, p=100, sd=[3, 2, 1], coef=[0, 0, 1], r2=0.8
    ),
    "factors, signal in all, n<p": partial(factors, n=50, p=200, sd=F8, coef=np.ones(8), r2=0.7),
    "factors, signal in all, n>p": partial(factors, n=200, p=40, sd=F8, coef=np.ones(8), r2=0.7),
    "factors, late and strong": partial(
        factors, n=80, p=60, sd=F8, coef=[0, 0, 0, 0, 1, 1, 1, 1], r2=0.9
    ),
    "factors, one weak": partial(factors, n=60, p=300, sd=[4, 1], coef=[0.2, 1], r2=0.5),
    "factors, R2 .2": partial(factors, n=100, p=50, sd=[3, 2, 1], coef=[1, 1, 1], r2=0.2),
    "factors, heavy tails": partial(
        factors, n=80, p=100, sd=[3, 2, 1, 1], coef=[1, -1, 1, 1], r2=0.7, heavy=3
    ),
    "factors, heteroscedastic": partial(
        factors, n=80, p=100, sd=[3, 2, 1, 1], coef=[1, -1, 1, 1], r2=0.7, hetero=True
    ),
    "factors, tiny n": partial(factors, n=20, p=50, sd=[3, 2, 1], coef=[1, 1, 0], r2=0.8),
    "factors, nearly noiseless": partial(
        factors, n=60, p=100, sd=[3, 2, 1], coef=[1, 1, 1], r2=0.9999, noise=0.1
    ),
    "factors, clean X": partial(
        factors, n=40, p=80, sd=F8, coef=[1, 1, 1, 0, 0, 1, 1, 1], r2=0.9, noise=0.05
    ),
    "iid, dense, n>p": partial(linear, n=200, p=30, rows=iid, coef=dense, r2=0.6),
    "iid, dense, n<p": partial(linear, n=60, p=120, rows=iid, coef=dense, r2=0.8),
    "iid, sparse, n<p": partial(linear, n=60, p=100, rows=iid, coef=sparse, r2=0.8),
    "iid, sparse, n>p": partial(linear, n=150, p=50, rows=iid, coef=sparse, r2=0.5),
    "iid, large n": partial(linear, n=1000, p=50, rows=iid, coef=dense, r2=0.3),
    "AR .9, sparse": partial(linear, n=100, p=100, rows=ar, coef=sparse, r2=0.7),
    "AR .9, smooth": partial(linear, n=60, p=150, rows=ar, coef=smooth, r2=0.8),
    "AR .99, dense": partial(linear, n=80, p=40, rows=partial(ar, rho=0.99), coef=dense, r2=0.8),
    "equicorrelated, dense": partial(linear, n=80, p=40, rows=equi, coef=dense, r2=0.7),
    "equicorrelated, mean": partial(linear, n=50, p=80, rows=equi, coef=ones, r2=0.5),
    "equicorrelated, contrast, n<p": partial(linear, n=60, p=80, rows=equi, coef=contrast, r2=0.8),
    "blocks, contrast, n>p": partial(linear, n=100, p=40, rows=blocks, coef=contrast, r2=0.8),
    "blocks, contrast, n<p": partial(linear, n=50, p=100, rows=blocks, coef=contrast, r2=0.8),
    "blocks, sparse": partial(linear, n=80, p=100, rows=blocks, coef=sparse, r2=0.6),
    "clusters, dense": partial(linear, n=80, p=40, rows=clusters, coef=dense, r2=0.7),
    "decay 1, dense, unscaled information": partial(
        linear, n=60, p=100, rows=decay, coef=dense, r2=0.9
    ),
    "decay, late": partial(linear, n=100, p=50, rows=partial(decay, power=0.5), coef=late, r2=0.8),
    "duplicated columns": partial(linear, n=60, p=60, rows=duplicated, coef=dense, r2=0.7),
    "binary markers, sparse": partial(
        linear, n=120, p=200, rows=binary, coef=partial(sparse, k=10), r2=0.5
    ),
    "heavy-tailed rows": partial(linear, n=80, p=40, rows=heavy_rows, coef=dense, r2=0.6),
    "spectra, one analyte, R2 .99": partial(nir, n=60, p=200, peaks=6, which=[1], r2=0.99),
    "spectra, one analyte, R2 .8": partial(nir, n=60, p=200, peaks=6, which=[1], r2=0.8),
    "spectra, two of ten, R2 .95": partial(nir, n=40, p=300, peaks=10, which=[2, 7], r2=0.95),
    "spectra, nearly noiseless": partial(
        nir, n=50, p=150, peaks=5, which=[3], r2=0.99999, noise=1e-4
    ),
    "spectra, n>p": partial(nir, n=300, p=50, peaks=8, which=[0, 4], r2=0.9),
    "Friedman, linear PLS": partial(nonlinear, n=100, p=20, rows=uniform, mean=friedman, r2=0.8),
    "Friedman, kernel PLS": partial(
        nonlinear, n=80, p=5, rows=uniform, mean=friedman, r2=0.9, method="kernel"
    ),
    "sine, kernel PLS": partial(
        nonlinear,
        n=60,
        p=1,
        rows=uniform,
        mean=lambda X: np.sin(6 * X[:, 0]),
        r2=0.8,
        method="kernel",
    ),
    "quadratic, linear PLS": partial(
        nonlinear, n=80, p=30, rows=ar, mean=lambda X: X[:, 0] + X[:, 5] ** 2, r2=0.8
    ),
    "pure noise, n<p": partial(pure_noise, n=40, p=100),
    "pure noise, n>p": partial(pure_noise, n=100, p=20),
    "pure noise, AR": partial(pure_noise, n=60, p=60, rows=ar),
    "spectra, penalised PLS": partial(
        nir, n=50, p=60, peaks=6, which=[1, 4], r2=0.9, method="penalised"
    ),
}


def real_designs() -> dict[str, Callable[[np.random.Generator], Sample]]:
    """Return the data sets at hand, split at random."""
    from sklearn.datasets import load_diabetes, load_linnerud

    from plsdof.datasets import load_gasoline, load_ozone

    sets = {
        "gasoline": (load_gasoline(return_X_y=True), (40,)),
        "ozone": (load_ozone(return_X_y=True), (40, 120)),
        "diabetes": (load_diabetes(return_X_y=True), (60, 200)),
    }
    exercises = load_linnerud()
    sets["linnerud weight"] = ((exercises.data, exercises.target[:, 0]), (14,))
    return {
        f"real: {name}, {n} rows": partial(_split, X=X, y=y, n=n)
        for name, ((X, y), sizes) in sets.items()
        for n in sizes
    }


def _split(rng, *, X, y, n):
    order = rng.permutation(len(y))
    fitted, new = order[:n], order[n:]
    return Sample(X=X[fitted], y=y[fitted], X_new=X[new], target=y[new])
