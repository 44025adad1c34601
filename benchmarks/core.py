"""Time of a path with its Degrees of Freedom, relative to a bare Gram matrix and its eigenvalues.

    OPENBLAS_NUM_THREADS=1 python benchmarks/core.py [table.md] [--rounds 5]

Spectra of twelve constituents with noise of 1e-2 to 1e-5 of the signal: the less noise, the fewer
components the Gram matrix can tell apart, and the more of them are counted from X itself.
Both sides of a ratio are timed in turn, round after round, and the smallest times of the processor
are compared, which other work on the machine hardly changes.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import plsdof
from plsdof import pls_path

SHAPES = (
    (70, 700),
    (100, 200),
    (200, 1000),
    (300, 1000),
    (500, 500),
    (500, 3000),
    (1000, 500),
    (1500, 1500),
    (2000, 100),
    (5000, 300),
)
NOISE = (1e-2, 1e-3, 1e-4, 1e-5)
COMPONENTS = 15
# A pair that takes longer than this many seconds is timed three times only.
SLOW = 1.0


def spectra(n: int, p: int, noise: float) -> tuple[np.ndarray, np.ndarray]:
    """Mixtures of twelve bands, and a response of two of them."""
    rng = np.random.default_rng(1)
    place, width = rng.uniform(0, 1, (12, 1)), rng.uniform(0.02, 0.15, (12, 1))
    amount = rng.gamma(2, 1, (n, 12))
    X = amount @ np.exp(-((np.linspace(0, 1, p) - place) ** 2) / 2 / width**2)
    y = 2 * amount[:, 0] + amount[:, 3] + 0.1 * rng.standard_normal(n)
    return X + noise * rng.standard_normal((n, p)), y


def in_turn(rounds: int, *functions: Callable[[], object]) -> list[float]:
    """Return the least seconds of each function, after one call that is not counted."""
    times: list[list[float]] = [[] for _ in functions]
    for turn in range(rounds + 1):
        for seconds, function in zip(times, functions, strict=True):
            start = time.process_time()
            function()
            seconds.append(time.process_time() - start)
        if turn == 3 and sum(one[-1] for one in times) > SLOW:
            break
    return [min(one[1:]) for one in times]


def bare(X: np.ndarray) -> np.ndarray:
    Z = X - X.mean(axis=0)
    return np.linalg.eigvalsh(Z @ Z.T if len(Z) <= Z.shape[1] else Z.T @ Z)


def main() -> None:
    """Print a Markdown table; write it to a file if one is named."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("page", type=Path, nargs="?")
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    heads = ["n x p", "bare, ms", *(f"noise {noise:g}" for noise in NOISE)]
    lines = [
        f"plsdof {plsdof.__version__}, numpy {np.__version__}; {COMPONENTS} components. Times "
        'relative to the bare ones; "rows" were counted in a Krylov space of X itself.',
        "",
        f"| {' | '.join(heads)} |",
        "|---" * len(heads) + "|",
    ]
    for n, p in SHAPES:
        floors, cells = [], []
        for noise in NOISE:
            X, y = spectra(n, p, noise)
            floor, ours = in_turn(
                options.rounds,
                lambda X=X: bare(X),
                lambda X=X, y=y: pls_path(X, y, COMPONENTS).dof,
            )
            path = pls_path(X, y, COMPONENTS)
            _ = path.dof
            found = path.exact.decomposition
            by_rows = found.left is not None and found.right is not None
            route = " rows" if by_rows else ""
            floors.append(1e3 * floor)
            cells.append(f"{ours / floor:.2f}{route}")
        lines.append(f"| {n} x {p} | {statistics.median(floors):.2f} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    if options.page:
        options.page.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
