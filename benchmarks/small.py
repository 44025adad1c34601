"""How long small problems take, of which simulations and bootstraps solve millions.

    OPENBLAS_NUM_THREADS=1 python benchmarks/small.py [--seconds 2]

Calls take turns. The smallest time and the median are shown, in milliseconds. "Cold" are calls
between which other work has emptied the caches of the processor.
"""

import argparse
import time
from collections.abc import Callable, Mapping

import numpy as np
from regimes import Regime, make_problem

from plsdof import PLSRegressor, pls_path

SMALL = (
    Regime(name="small", n=30, p=10, max_components=10),
    Regime(name="nir-noise-100", n=100, p=200, kind="noisy spectra"),
)


def timed(calls: Mapping[str, Callable[[], object]], seconds: float, other: np.ndarray | None):
    """Return the times of all calls, by name; ``other`` is gone through before each of them."""
    found: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        call()
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for name, call in calls.items():
            if other is not None:
                other += 1.0
            start = time.perf_counter()
            call()
            found[name].append(time.perf_counter() - start)
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=2.0, help="for each table")
    seconds = parser.parse_args().seconds
    for regime in SMALL:
        problem = make_problem(regime)
        X, y, M = problem.X, problem.y, problem.max_components
        calls = {
            "pls_path": lambda X=X, y=y, M=M: pls_path(X, y, M),
            "PLSRegressor(2).fit": lambda X=X, y=y: PLSRegressor(2).fit(X, y),
            "PLSRegressor().fit": lambda X=X, y=y, M=M: PLSRegressor(max_components=M).fit(X, y),
        }
        for label, other in (("", None), (", cold", np.zeros(8_000_000))):
            print(f"{regime.title}{label}")
            for name, times in timed(calls, seconds, other).items():
                smallest, median = 1e3 * min(times), 1e3 * float(np.median(times))
                print(f"  {name:20s} {smallest:8.2f} {median:8.2f}  ({len(times)} calls)")


if __name__ == "__main__":
    main()
