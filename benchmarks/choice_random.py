"""Random designs of `choice.py`: sizes, spectra, signals, R2 and noise are all drawn at random."""

from typing import Any

import numpy as np
from choice_designs import N_NEW, Sample, friedman

FAMILIES = {
    "decaying spectrum": 0.14,
    "factors": 0.18,
    "autocorrelated": 0.09,
    "equicorrelated": 0.06,
    "blocks": 0.07,
    "clusters": 0.05,
    "binary": 0.05,
    "heavy-tailed rows": 0.05,
    "spectra": 0.18,
    "nonlinear": 0.08,
    "duplicated": 0.05,
}


def random_design(rng: np.random.Generator) -> tuple[str, Sample]:
    """Draw a family, a design of it, and a sample."""
    family = str(rng.choice(list(FAMILIES), p=list(FAMILIES.values())))
    n, p = round(_between(rng, 20, 300)), round(_between(rng, 5, 400))
    X, mean, method = _drawn(rng, family, n + N_NEW, p)
    # R2 from .18 to .993, and sometimes nearly no noise.
    r2 = 1.0 / (1.0 + np.exp(-rng.uniform(-1.5, 5.0)))
    if rng.random() < 0.06:
        r2 = 1.0 - 10.0 ** -rng.uniform(3, 5)
    noise = _noise(rng, mean[:n] - mean.mean())
    y = mean[:n] + np.std(mean) * np.sqrt(1.0 / r2 - 1.0) * noise
    return family, Sample(X=X[:n], y=y, X_new=X[n:], target=mean[n:], method=method)


def _between(rng: np.random.Generator, low: float, high: float) -> float:
    """Draw from a log-uniform distribution."""
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def _noise(rng: np.random.Generator, mean: Any) -> Any:
    """Return normal noise, that of a t distribution, or heteroscedastic noise; variance one."""
    kind = rng.choice(["normal", "t3", "heteroscedastic"], p=[0.75, 0.12, 0.13])
    if kind == "t3":
        return rng.standard_t(3, len(mean)) / np.sqrt(3)
    noise = rng.standard_normal(len(mean))
    if kind == "normal":
        return noise
    size = 0.4 + np.abs(mean) / np.std(mean)
    return noise * size / np.sqrt(np.mean(size**2))


def _coefficients(rng: np.random.Generator, p: int) -> Any:
    kind = rng.choice(["dense", "sparse", "first", "late", "smooth", "contrast"])
    beta = np.zeros(p)
    if kind == "dense":
        return rng.standard_normal(p)
    if kind == "sparse":
        k = min(p, int(rng.integers(1, 11)))
        beta[rng.choice(p, k, replace=False)] = rng.choice([-1.0, 1.0], k) * rng.uniform(
            0.5, 1.5, k
        )
        return beta
    if kind == "smooth":
        return np.sin(2 * np.pi * (np.linspace(0, 1, p) * rng.uniform(0.5, 3) + rng.random()))
    if kind == "contrast":
        size = int(rng.integers(1, max(2, p // 3) + 1))
        return np.repeat(np.resize([1.0, -1.0], -(-p // size)), size)[:p]
    k = max(1, int(p * (rng.uniform(0.02, 0.4) if kind == "first" else rng.uniform(0.2, 0.9))))
    beta[slice(k) if kind == "first" else slice(-k, None)] = rng.standard_normal(k)
    return beta


def _drawn(rng: np.random.Generator, family: str, n: int, p: int) -> tuple[Any, Any, str]:
    """Return rows, true means, and the method to fit."""
    if family == "nonlinear":
        return _nonlinear(rng, n)
    if family == "spectra":
        return _spectra(rng, n)
    if family == "factors":
        q = int(rng.integers(1, 13))
        size = np.sort([_between(rng, 0.3, 6) for _ in range(q)])[::-1]
        F = rng.standard_normal((n, q))
        loadings = rng.standard_normal((q, p)) * size[:, None]
        X = F @ loadings + _between(rng, 0.03, 1.5) * rng.standard_normal((n, p))
        return X, F @ _coefficients(rng, q), "pls"
    if family == "decaying spectrum":
        size = np.arange(1, p + 1.0) ** -rng.uniform(0, 1.5)
        X = rng.standard_normal((n, p)) * size
        beta = _coefficients(rng, p) / (size if rng.random() < 0.4 else 1.0)
        turned = X if rng.random() < 0.5 else X @ np.linalg.qr(rng.standard_normal((p, p)))[0].T
        return turned, X @ beta, "pls"
    X = _rows(rng, family, n, p)
    return X, X @ _coefficients(rng, X.shape[1]), "pls"


def _rows(rng: np.random.Generator, family: str, n: int, p: int) -> Any:
    Z = rng.standard_normal((n, p))
    if family == "equicorrelated":
        rho = rng.uniform(0.2, 0.95)
        return np.sqrt(rho) * rng.standard_normal((n, 1)) + np.sqrt(1 - rho) * Z
    if family == "blocks":
        size, rho = int(rng.integers(2, max(3, p // 2) + 1)), rng.uniform(0.5, 0.99)
        common = np.repeat(rng.standard_normal((n, -(-p // size))), size, axis=1)[:, :p]
        return np.sqrt(rho) * common + np.sqrt(1 - rho) * Z
    if family == "clusters":
        k = int(rng.integers(2, 8))
        centres = _between(rng, 0.5, 5) * rng.standard_normal((k, p))
        return centres[rng.integers(k, size=n)] + Z
    if family == "heavy-tailed rows":
        X = rng.standard_t(rng.integers(3, 6), (n, p))
        size = np.arange(1, p + 1.0) ** -rng.uniform(0, 1)
        return X if rng.random() < 0.5 else X @ (np.linalg.qr(Z.T @ Z)[0] * size)
    if family == "duplicated":
        half = Z[:, : max(p // 2, 2)]
        return np.hstack([half, half + _between(rng, 1e-4, 0.1) * rng.standard_normal(half.shape)])
    # Autocorrelated columns, or their signs.
    rho = rng.uniform(0, 0.9) if family == "binary" else 1.0 - _between(rng, 0.005, 0.7)
    X = Z.copy()
    for j in range(1, p):
        X[:, j] = rho * X[:, j - 1] + np.sqrt(1 - rho**2) * Z[:, j]
    return (rng.uniform(-0.8, 0.8, p) < X).astype(float) if family == "binary" else X


def _spectra(rng: np.random.Generator, n: int) -> tuple[Any, Any, str]:
    """Return k overlapping peaks with noise, often a baseline, sometimes scatter; 1 to 3 count."""
    p, k = int(_between(rng, 40, 400)), int(rng.integers(2, 13))
    x = np.linspace(0, 1, p)
    centre, width = rng.uniform(0.05, 0.95, k), rng.uniform(0.03, 0.2, k)
    C = rng.uniform(0.1, 1, (n, k)) * np.exp(rng.uniform(-1.5, 0, k))
    X = C @ np.exp(-0.5 * ((x - centre[:, None]) / width[:, None]) ** 2)
    X += _between(rng, 2e-4, 2e-2) * rng.standard_normal((n, p))
    if rng.random() < 0.6:
        X += 0.3 * rng.standard_normal((n, 1)) + 0.3 * rng.standard_normal((n, 1)) * x
    if rng.random() < 0.2:
        X *= np.exp(0.1 * rng.standard_normal((n, 1)))
    count = min(k, int(rng.integers(1, 4)))
    share = np.zeros(k)
    share[rng.choice(k, count, replace=False)] = rng.uniform(0.5, 1.5, count)
    mean = (C / C.std(axis=0)) @ share
    return (X[:, :120], mean, "penalised") if rng.random() < 0.15 else (X, mean, "pls")


def _nonlinear(rng: np.random.Generator, n: int) -> tuple[Any, Any, str]:
    X = rng.uniform(size=(n, int(rng.integers(1, 11))))
    kind = rng.integers(3)
    if kind == 0 and X.shape[1] >= 5:
        mean = friedman(X)
    elif kind == 1:
        mean = np.sin(rng.uniform(2, 8) * X[:, 0]) + (X[:, -1] - 0.5) ** 2
    else:
        mean = np.exp(-4 * np.mean((X - 0.5) ** 2, axis=1)) + X[:, 0] * X[:, -1]
    return X, mean, "kernel" if rng.random() < 0.75 else "pls"
