"""Time of a whole path relative to the bare decomposition it rests on.

Run with ``python benchmarks/core.py [table.md]``. Every ratio comes from one run: the two sides are
timed in turn, round after round, and the medians are compared.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy.linalg

import plsdof
from plsdof import pls_path

SHAPES = [(70, 700, 20), (200, 1000, 20), (1000, 500, 20), (500, 3000, 20), (2000, 100, 20)]
ROUNDS = 30


def data(n: int, p: int) -> tuple[np.ndarray, np.ndarray]:
    """Smooth, collinear predictors like spectra, and a linear response with noise."""
    rng = np.random.default_rng(0)
    X = np.cumsum(rng.normal(size=(n, p)), axis=1) / np.sqrt(p)
    return X, X @ rng.normal(size=p) / p + 0.1 * rng.normal(size=n)


def medians(*functions: Callable[[], object]) -> list[float]:
    """Median seconds of each function, timed in turn."""
    times = np.empty((ROUNDS, len(functions)))
    for function in functions:
        function()
    for row in times:
        for k, function in enumerate(functions):
            start = time.perf_counter()
            function()
            row[k] = time.perf_counter() - start
    return np.median(times, axis=0).tolist()


def whole_path(X: np.ndarray, y: np.ndarray, m: int, solver: str) -> None:
    path = pls_path(X, y, m, solver=solver)
    _ = path.coef, path.intercept, path.rss, path.dof, path.noise_variance("jacobian")


def gram(X: np.ndarray) -> None:
    scipy.linalg.eigh(X @ X.T if len(X) <= X.shape[1] else X.T @ X)


def main() -> None:
    """Print a Markdown table; write it to a file if one is named."""
    lines = [
        f"plsdof {plsdof.__version__}, numpy {np.__version__}, scipy {scipy.__version__}.\n",
        "| n x p | m | bare SVD, ms | path / SVD | bare Gram + eigh, ms | path / Gram |",
        "|---|---|---|---|---|---|",
    ]
    for n, p, m in SHAPES:
        X, y = data(n, p)
        Z = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
        svd, by_svd = medians(
            lambda Z=Z: scipy.linalg.svd(Z, full_matrices=False),
            lambda X=X, y=y, m=m: whole_path(X, y, m, "svd"),
        )
        bare, by_gram = medians(
            lambda Z=Z: gram(Z), lambda X=X, y=y, m=m: whole_path(X, y, m, "gram")
        )
        lines.append(
            f"| {n} x {p} | {m} | {1e3 * svd:.2f} | {by_svd / svd:.2f} | {1e3 * bare:.2f} | "
            f"{by_gram / bare:.2f} |"
        )
        print(lines[-1], flush=True)
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
