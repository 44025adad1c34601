"""How long the command line takes, from a warm start.

    python benchmarks/cli.py [--rounds 5]

Each round runs all commands once, one after the other, so that a busy machine slows all of them
alike; the smallest time of each is shown, on the clock and of the processor, which other
programs do not change much. A warm start has run once before: files are in the
cache of the operating system and Python's bytecode is written.

- ``fit --report`` on 70 rows and 700 columns, as people have it in a spreadsheet: 3 s at most.
- ``fit`` on a CSV of 2,000 rows and 3,000 columns: 1.5 times `pandas.read_csv` plus one fit at
  most, both in a process of their own, which imports what it needs, too.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

BY_HAND = """
import sys
import pandas
from plsdof import pls_path
table = pandas.read_csv(sys.argv[1])
path = pls_path(table.drop(columns="y"), table["y"].to_numpy(), 30)
path.select()
"""


def spectra(n: int, p: int, seed: int = 0) -> pd.DataFrame:
    """Return smooth spectra with a response y, as text files hold them."""
    rng = np.random.default_rng(seed)
    axis = np.linspace(0, 1, p)
    peaks = np.exp(-((axis - rng.uniform(size=(12, 1))) ** 2) / 0.01)
    amounts = rng.uniform(size=(n, 12))
    X = amounts @ peaks + 0.002 * rng.normal(size=(n, p))
    table = pd.DataFrame(X.round(6), columns=[f"{1100 + 0.5 * i:g}" for i in range(p)])
    table.insert(0, "y", (amounts @ rng.normal(size=12) + 0.1 * rng.normal(size=n)).round(4))
    return table


def with_bytecode() -> dict[str, str]:
    """Return the environment without the wish to compile Python anew in every process."""
    return {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}


def timed(command: Sequence[str]) -> tuple[float, float]:
    """Return the seconds that a command takes, on the clock and of the processor."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=with_bytecode())
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - start, used


def measured(commands: Mapping[str, Sequence[str]], rounds: int) -> dict[str, tuple[float, ...]]:
    """Return the smallest times of every command, in seconds; see `timed`."""
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    for _ in range(rounds + 1):
        for name, command in commands.items():
            found[name].append(timed(command))
    # The first round warms up.
    return {name: tuple(np.min(times[1:], axis=0)) for name, times in found.items()}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        small, large = Path(folder, "small.csv"), Path(folder, "large.csv")
        spectra(70, 700).to_csv(small, index=False)
        spectra(2000, 3000).to_csv(large, index=False)
        plsdof = [sys.executable, "-m", "plsdof"]
        report = str(Path(folder, "r.html"))
        found = measured(
            {
                "plsdof --version": [*plsdof, "--version"],
                "fit --report, 70 x 700": [
                    *plsdof,
                    "fit",
                    str(small),
                    "-r",
                    "y",
                    "--report",
                    report,
                ],
                "fit --report --cv 10, 70 x 700": [
                    *[*plsdof, "fit", str(small), "-r", "y", "--report", report, "--cv", "10"]
                ],
                "read_csv + pls_path, 2,000 x 3,000": [sys.executable, "-c", BY_HAND, str(large)],
                "fit, 2,000 x 3,000": [*plsdof, "fit", str(large), "-r", "y"],
            },
            rounds,
        )
    print(f"{'':40s}{'clock':>8s}{'processor':>12s}")
    for name, (clock, processor) in found.items():
        print(f"{name:40s}{clock:7.2f}s{processor:11.2f}s")
    both = found["fit, 2,000 x 3,000"], found["read_csv + pls_path, 2,000 x 3,000"]
    clock, processor = np.divide(*both)
    print(f"{'fit / (read_csv + pls_path), at most 1.5':40s}{clock:8.2f}{processor:12.2f}")


if __name__ == "__main__":
    main()
