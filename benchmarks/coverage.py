"""Coverage of 95% intervals for the expected coefficients, in three designs.

Run with ``python benchmarks/coverage.py [draws [picture.png]]``. Design: n = 60 rows, p = 20
Gaussian predictors with correlation rho^|i-j| (low 0, medium 0.7, high 0.99), fixed over draws;
smooth coefficients; noise with var(X beta) / sigma^2 = 9. What is covered is E[beta_m], the mean of
the estimate with m components, which the draws themselves supply; coverage is averaged over the 20
coefficients.
"""

import sys
from dataclasses import dataclass

import numpy as np

from plsdof import pls_path
from plsdof._core.path import Path
from plsdof.inference.resampling import residual_bootstrap

N, P, RATIO = 60, 20, 9.0
DESIGNS = {"low": 0.0, "medium": 0.7, "high": 0.99}
COMPONENTS = (1, 2, 3, 5)
NORMAL = 1.959963984540054


@dataclass(frozen=True, kw_only=True)
class Design:
    """Fixed predictors, true mean and noise level."""

    X: np.ndarray
    mean: np.ndarray
    sigma: float


def make_design(rho: float, seed: int = 0) -> Design:
    """Draw the predictors once."""
    rng = np.random.default_rng(seed)
    index = np.arange(P)
    covariance = rho ** np.abs(index[:, None] - index) if rho else np.eye(P)
    X = rng.normal(size=(N, P)) @ np.linalg.cholesky(covariance).T
    beta = np.sin(np.pi * (index + 1) / P)
    mean = X @ beta
    return Design(X=X, mean=mean, sigma=float(mean.std() / np.sqrt(RATIO)))


def naive_std_error(path: Path, m: int) -> np.ndarray:
    """Return the textbook standard error that takes the scores as given: sigma |V S^-1 T T'|."""
    T = path.filter.scores[:, :m]
    A = path.decomposition.to_features((T @ T.T) / path.decomposition.singular_values[:, None])
    A = A / path.units.x_scale[:, None]
    return np.sqrt(path.noise_variance("naive")[m] * np.sum(A**2, axis=1))


def simulate(design: Design, draws: int, *, bootstrap: int = 0, seed: int = 1) -> dict:
    """Return estimates, standard errors and Degrees of Freedom over draws, per component."""
    rng = np.random.default_rng(seed)
    largest = max(COMPONENTS)
    first = pls_path(design.X, design.mean, largest, solver="svd")
    kinds = ("coef", "true", "estimated", "naive", "bootstrap")
    out = {kind: np.full((len(COMPONENTS), draws, P), np.nan) for kind in kinds}
    out["dof"] = np.empty((len(COMPONENTS), draws))
    out["covariance"] = np.empty((len(COMPONENTS), draws))
    for d in range(draws):
        noise = design.sigma * rng.normal(size=N)
        y = design.mean + noise
        path = first.refit(y)
        for k, m in enumerate(COMPONENTS):
            out["coef"][k, d] = path.coef[m]
            out["true"][k, d] = path.coef_std_error(m, noise=design.sigma**2)
            out["estimated"][k, d] = path.coef_std_error(m)
            out["naive"][k, d] = naive_std_error(path, m)
            if bootstrap and d < draws // 10:  # a tenth of the draws: it is the slow one
                boot = residual_bootstrap(path, y, m, n_draws=bootstrap, random_state=d)
                out["bootstrap"][k, d] = boot.std_error
            out["dof"][k, d] = path.dof[m]
            out["covariance"][k, d] = path.fitted[m] @ noise / design.sigma**2
    return out


def coverage(result: dict, kind: str) -> np.ndarray:
    """Return the share of intervals that contain the mean estimate, per component."""
    error = np.abs(result["coef"] - result["coef"].mean(axis=1, keepdims=True))
    inside = np.where(np.isnan(result[kind]), np.nan, error <= NORMAL * result[kind])
    return np.nanmean(inside, axis=(1, 2))


def draw(shares: dict[str, dict[str, np.ndarray]], file: str) -> None:
    """Plot coverage against the number of components, one panel per design."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    looks = {
        "true": ("true sigma", "#000000", "o-"),
        "estimated": ("estimated sigma", "#0072B2", "s-"),
        "bootstrap": ("residual bootstrap", "#E69F00", "^--"),
        "naive": ("scores taken as given", "#D55E00", "x:"),
    }
    figure, axes = plt.subplots(1, 3, figsize=(10, 3.4), sharey=True, layout="constrained")
    for ax, (name, by_kind) in zip(axes, shares.items(), strict=True):
        ax.axhspan(0.93, 0.97, color="0.9", zorder=0)
        for kind, (label, colour, style) in looks.items():
            ax.plot(COMPONENTS, by_kind[kind], style, color=colour, label=label)
        ax.set(title=f"{name} collinearity", xlabel="components", ylim=(0, 1.02))
        ax.set_xticks(COMPONENTS)
    axes[0].set_ylabel("coverage of nominal 95% intervals")
    axes[0].legend(loc="lower left", bbox_to_anchor=(0.25, 0.05), fontsize=8)
    figure.savefig(file, dpi=120)


def main() -> None:
    draws = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    by_design = {}
    print(f"{draws} draws; bootstrap: 100 resamples on a tenth of them\n")
    print(
        f"{'collinearity':<13}{'m':>3}  {'true sigma':>10}  {'estimated':>9}  "
        f"{'bootstrap':>9}  {'naive':>6}   DoF"
    )
    for name, rho in DESIGNS.items():
        result = simulate(make_design(rho), draws, bootstrap=100)
        shares = {
            kind: coverage(result, kind) for kind in ("true", "estimated", "bootstrap", "naive")
        }
        by_design[name] = shares
        for k, m in enumerate(COMPONENTS):
            print(
                f"{name:<13}{m:>3}  {shares['true'][k]:>10.3f}  {shares['estimated'][k]:>9.3f}  "
                f"{shares['bootstrap'][k]:>9.3f}  {shares['naive'][k]:>6.3f}  "
                f"{result['dof'][k].mean():5.2f}"
            )
    if len(sys.argv) > 2:
        draw(by_design, sys.argv[2])


if __name__ == "__main__":
    main()
