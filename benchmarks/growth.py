"""How time and memory grow with rows, columns and components, against a cost model.

    python benchmarks/growth.py [--out DIR] [--quick] [--only ROUTE ...]

For every route from data to a path, sizes are doubled along n, p or M with the others held fixed.
The exponent is the slope of a least-squares line of log time on log size over the largest four
sizes; its standard error comes from the scatter about that line. The model adds up operations,
each divided by a rate that the same run measures on this machine; its exponent is the slope over
the same sizes. Peak memory is the growth of VmHWM over one call in a process of its own.

Every series runs in a child process with one thread (unless OPENBLAS_NUM_THREADS is set), and a
size counts with the fastest of its calls. ``--quick`` divides the sizes. ``--out`` gets
growth.md and growth.json.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import memory
import numpy as np
from growth_routes import PER_ROW, ROUTES, Axis, Size, sparse_data, standard_data

UPPER = 4
CALLS, SECONDS = 7, 0.5
# No further size is begun after so many times the seconds of one size.
LIMIT = 120.0
RATES_AT = Size(n=8000, p=400), Size(n=32_000, p=1000)


def quick(axis: Axis) -> Axis:
    """An eighth of the rows, half of the columns, a quarter of the components; four sizes."""
    cut = replace(axis.at, n=axis.at.n // 8, p=axis.at.p // 2)
    divisor = {"n": 8, "p": 2, "M": 4}[axis.name]
    return replace(axis, at=cut, largest=axis.largest // divisor, points=4)


def series(route: str, sizes: list[Size], seconds: float) -> dict[str, Any]:
    """Time a route at every size; in a child process."""
    way, times, started = ROUTES[route], list[float](), time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        way.fit(*way.data(Size(n=60, p=40, M=2), Path(folder)), 2)
        for size in sizes:
            if time.perf_counter() - started > LIMIT * max(seconds, SECONDS / 10):
                break
            X, y = way.data(size, Path(folder))
            times.append(fastest(lambda X=X, y=y, M=size.M: way.fit(X, y, M), seconds))
    return {"seconds": times}


def peak(route: str, sizes: list[Size], _: float) -> dict[str, Any]:
    """Return by how much resident memory grows during one call; in a child process."""
    way, (size,) = ROUTES[route], sizes
    with tempfile.TemporaryDirectory() as folder:
        way.fit(*way.data(Size(n=60, p=40, M=2), Path(folder)), 2)
        X, y = way.data(size, Path(folder))
        before = memory.forget_peak()
        way.fit(X, y, size.M)
        after = memory.status("VmHWM")
    return {"bytes": None if before is None or after is None else after - before}


def fastest(call: Callable[[], object], seconds: float = SECONDS) -> float:
    """Return the shortest time of up to seven calls; none is begun after ``seconds``."""
    times: list[float] = []
    while not times or (len(times) < CALLS and sum(times) < seconds):
        started = time.perf_counter()
        call()
        times.append(time.perf_counter() - started)
    return min(times)


def rates(_: str, sizes: list[Size], __: float) -> dict[str, Any]:
    """Return what this machine does per second of every kind of work; in a child process."""
    dense, sparse = sizes
    X, S = standard_data(dense, Path())[0], sparse_data(sparse, Path())[0]
    G, T = X.T @ X, S.T.tocsr()
    basis, v = np.ones((4, 40, 1000)), np.ones((4, 1000))
    large, row = np.ones((2**17, 256)), np.zeros(256)
    eleven = np.ones((11, dense.n))
    return {
        "product": X.size * dense.p / fastest(lambda: X.T @ X),
        "folds": 11 * X.size / fastest(lambda: eleven @ X),
        "eigenvalues": dense.p**3 / fastest(lambda: np.linalg.eigvalsh(G)),
        "vectors": dense.p**3 / fastest(lambda: np.linalg.eigh(G)),
        "memory": 24 * large.size / fastest(lambda: np.subtract(large, row, out=large).max(axis=0)),
        "recursion": 4 * basis.size / fastest(lambda: np.vecmat(np.matvec(basis, v), basis)),
        "transposed": S.nnz / fastest(S.tocsc),
        "squares": S.nnz * PER_ROW / fastest(lambda: (T @ S).toarray()),
    }


TASKS = {"series": series, "peak": peak, "rates": rates}


def run_child(
    task: str, route: str, sizes: Sequence[Size], seconds: float = SECONDS
) -> dict[str, Any]:
    """Run a task in a process of its own, with one thread unless told otherwise."""
    order = json.dumps([task, route, [asdict(size) for size in sizes], seconds])
    done = subprocess.run(
        [sys.executable, __file__, "--child", order],
        env={"OPENBLAS_NUM_THREADS": "1", **os.environ},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise RuntimeError(f"{task} of {route} failed: {last:.300}")
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def answer_child(order: str) -> None:
    """Do what `run_child` asked for."""
    task, route, sizes, seconds = json.loads(order)
    print(json.dumps(TASKS[task](route, [Size(**size) for size in sizes], seconds)))


@dataclass(frozen=True, kw_only=True)
class Slope:
    """A fitted exponent and its standard error (nan with fewer than three points)."""

    value: float
    std_error: float

    def __str__(self) -> str:
        return f"{self.value:.2f} ± {self.std_error:.2f}"


def exponent(sizes: Sequence[float], seconds: Sequence[float]) -> Slope:
    """Fit log(seconds) = a + b log(size) to the largest sizes by least squares, and return b."""
    x, y = np.log(sizes[-UPPER:]), np.log(seconds[-UPPER:])
    if len(x) < 2:
        return Slope(value=float("nan"), std_error=float("nan"))
    x = x - x.mean()
    b = x @ y / (x @ x)
    residual = y - y.mean() - b * x
    spare = len(x) - 2
    error = np.sqrt(residual @ residual / spare / (x @ x)) if spare else np.nan
    return Slope(value=float(b), std_error=float(error))


def predicted(route: str, size: Size, speed: dict[str, float]) -> float:
    """Return the seconds that the cost model expects."""
    return sum(amount / speed[kind] for kind, amount in ROUTES[route].cost(size).items())


def names_of(route: str) -> list[str]:
    """Return what the cost of a route depends on."""
    return ["n", "p", "M"] if len(ROUTES[route].axes) == 3 else ["n", "p"]


def measure_series(
    route: str, axis: Axis, speed: dict[str, float], seconds: float = SECONDS
) -> dict[str, Any]:
    """Time one route along one axis, and hold it against the model."""
    sizes = axis.sizes()
    times = run_child("series", route, sizes, seconds)["seconds"]
    sizes = sizes[: len(times)]
    values = [getattr(size, axis.name) for size in sizes]
    model = [predicted(route, size, speed) for size in sizes]
    return {
        "route": route,
        "along": axis.name,
        "values": values,
        "at": {name: getattr(axis.at, name) for name in names_of(route) if name != axis.name},
        "seconds": times,
        "model_seconds": model,
        "exponent": asdict(exponent(values, times)),
        "model_exponent": exponent(values, model).value,
    }


def measure_peak(route: str, size: Size) -> dict[str, Any]:
    """Measure the peak memory of a route at one size, and hold it against the model."""
    model = ROUTES[route].memory(size)
    return {"route": route, **asdict(size), **run_child("peak", route, [size]), "model": model}


def series_table(found: Sequence[dict[str, Any]]) -> list[str]:
    """Return a Markdown table of exponents."""
    lines = [
        "| route | along | range | held fixed | exponent | model's | s at the end | model's s |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for one in found:
        at = ", ".join(f"{name} = {value:,}" for name, value in one["at"].items())
        first, last = one["values"][-UPPER:][0], one["values"][-1]
        lines.append(
            f"| {ROUTES[one['route']].title} | {one['along']} | {first:,} to {last:,} | {at} | "
            f"{Slope(**one['exponent'])} | {one['model_exponent']:.2f} | "
            f"{one['seconds'][-1]:.3g} | {one['model_seconds'][-1]:.3g} |"
        )
    return lines


def peak_table(found: Sequence[dict[str, Any]]) -> list[str]:
    """Return a Markdown table of memory."""
    lines = [
        "| route | n | p | M | MB measured | MB model | ratio |",
        "|---|---|---|---|---|---|---|",
    ]
    for one in found:
        grown, model = one["bytes"], one["model"]
        shown = "- | " if grown is None else f"{grown / 1e6:.0f} | "
        ratio = "-" if grown is None else f"{grown / model:.2f}"
        lines.append(
            f"| {ROUTES[one['route']].title} | {one['n']:,} | {one['p']:,} | {one['M']} | "
            f"{shown}{model / 1e6:.0f} | {ratio} |"
        )
    return lines


def markdown(content: dict[str, Any]) -> str:
    """Return the tables with a word on where they come from."""
    speed = {kind: f"{rate / 1e9:.2g}" for kind, rate in content["rates"].items()}
    cut = " Sizes were cut (`--quick`)." if content["quick"] else ""
    head = (
        f"plsdof {content['plsdof']}, Python {content['python']}, numpy {content['numpy']}, "
        f"{content['threads']} thread(s) for linear algebra.{cut} Rates in 10⁹ per second: "
        f"{speed['product']} np² of X'X, {speed['folds']} np of a row times X, "
        f"{speed['eigenvalues']} d³ for eigenvalues, {speed['vectors']} d³ with vectors, "
        f"{speed['memory']} bytes of memory, {speed['recursion']} operations of the recursion; "
        f"sparse: {speed['transposed']} values reordered, {speed['squares']} multiply-adds of X'X."
    )
    times, peaks = series_table(content["series"]), peak_table(content["peaks"])
    return "\n".join(
        [head, "", *times, "", "Growth of resident memory in one call:", "", *peaks, ""]
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, and write the tables and numbers if a folder is named."""
    options = _options(arguments)
    if options.child:
        answer_child(options.child)
        return
    small = options.quick
    speed = run_child("rates", "", RATES_AT)
    found, peaks = [], []
    for route in options.only or ROUTES:
        axes = [quick(axis) if small else axis for axis in ROUTES[route].axes]
        for axis in axes:
            found.append(measure_series(route, axis, speed, options.seconds))
            print(series_table(found[-1:])[-1], flush=True)
        for axis in axes[: 1 if small else 2] if ROUTES[route].memory else ():
            peaks.append(measure_peak(route, axis.sizes()[-1]))
            print(peak_table(peaks[-1:])[-1], flush=True)
    content = {
        "plsdof": version("plsdof"),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "threads": os.environ.get("OPENBLAS_NUM_THREADS", "1"),
        "quick": small,
        "rates": speed,
        "series": found,
        "peaks": peaks,
    }
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / "growth.md").write_text(markdown(content))
        (options.out / "growth.json").write_text(json.dumps(content, indent=1) + "\n")


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="folder for the table and the numbers")
    parser.add_argument("--quick", action="store_true", help="small sizes, under a minute")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="for calls of one size")
    parser.add_argument("--only", nargs="+", choices=list(ROUTES), help="some routes only")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
