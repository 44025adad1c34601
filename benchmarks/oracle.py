"""Numbers against ball arithmetic on fresh problems: paths, held-out rows, PLS2, kernels.

Run with ``python benchmarks/oracle.py [--problems 200] [--seed 1] [--doors TEXT ...]`` (needs
python-flint). Problems are those of tests/core/test_against_the_oracle.py, most of them at the edge
of what 64-bit floats can tell apart, with seeds of their own. A number is right if it is within the
error that is reported with it; it is *told* if it is outside, but a warning was raised or the error
is infinite; what is outside without a word is a mistake, and is printed with its seed.
"""

import argparse
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "core"))
import test_against_the_oracle as problems
from _helpers.oracle import exact_fit
from _helpers.oracle_left_out import exact_left_out, penalized, rbf, with_far_rows
from _helpers.oracle_pls2 import exact_dof_by_response

from plsdof import cross_validate, kernel_pls_path, penalized_pls_path, pls2_path, pls_path

EPS = np.finfo(float).eps
FOLDS = 5
# What cross-validated predictions may be off by, relative to their root mean square error.
DIGITS = 1e-6
# Ball arithmetic in Python: larger models take minutes.
MOST = 6


def whole_path(X: Any, y: Any, options: dict[str, Any]) -> Iterator[tuple[Any, Any]]:
    """Yield errors and their estimates: Degrees of Freedom, residual sums, coefficients."""
    path = pls_path(X, y, **options)
    weights = options["sample_weight"]
    truth = exact_fit(X, y, len(path) - 1, scale=options["scale"], sample_weight=weights)
    size = np.linalg.norm(truth.coef, axis=1)
    off = np.linalg.norm(path.exact.standardized_coef - truth.coef, axis=1)
    yield np.abs(path.dof - truth.dof), path.dof_error + 1e-15
    yield np.abs(path.rss - truth.rss), path.rss_error
    yield off / np.where(size > 0, size, 1), path.coef_error + 1e-14


def rows_left_out(X: Any, y: Any, options: dict[str, Any]) -> Iterator[tuple[Any, Any]]:
    """Yield errors of cross-validated residuals, and of cross-validated predictions."""
    scale, fold = options["scale"], np.arange(len(y)) % FOLDS
    if _degenerate(X, fold, scale):
        return
    path = pls_path(X, y, options["max_components"] or MOST, scale=scale)
    left = path.left_out(FOLDS)
    exact = exact_left_out(lambda rows: rows @ rows.T, X, y, fold, _known(left), scale=scale)
    rounding = 8 * EPS * np.abs(y).max()
    yield _largest(left.residuals, exact), left.error[: len(exact)] + rounding
    found = cross_validate(X, y, cv=FOLDS, max_components=len(left.residuals) - 1, scale=scale)
    residuals = y - found.predictions[0]
    known = min(len(residuals), len(exact))
    # It may have taken a faster way, and promises digits for a choice only.
    bound = np.maximum(left.error, DIGITS * left.rmse)[:known]
    yield _largest(residuals[:known], exact[:known]), bound + rounding


def far_rows_left_out(X: Any, y: Any, options: dict[str, Any]) -> Iterator[tuple[Any, Any]]:
    """Yield the same with rows that are 1e2 to 1e9 away."""
    seed = int(np.abs(y).view(np.uint64).sum() % 2**32)
    yield from rows_left_out(with_far_rows(X, np.random.default_rng(seed)), y, options)


def of_kernel(X: Any, y: Any, options: dict[str, Any]) -> Iterator[tuple[Any, Any]]:
    """Yield errors of residuals left out by kernel PLS."""
    scale, fold = options["scale"], np.arange(len(y)) % FOLDS
    if _degenerate(X, fold, scale) or not scale:
        return
    gamma = 1.0 / X.shape[1]
    left = kernel_pls_path(X, y, max_components=MOST, gamma=gamma, scale=scale).left_out(FOLDS)
    exact = exact_left_out(rbf(gamma), X, y, fold, _known(left), scale=scale)
    yield _largest(left.residuals, exact), left.error[: len(exact)] + 8 * EPS * np.abs(y).max()


def of_penalised(X: Any, y: Any, options: dict[str, Any]) -> Iterator[tuple[Any, Any]]:
    """Yield errors of residuals left out by penalised PLS, with first differences."""
    scale, fold = options["scale"], np.arange(len(y)) % FOLDS
    if _degenerate(X, fold, scale) or X.shape[1] < 3:
        return
    path = penalized_pls_path(X, y, 1, strength=1.0, scale=scale, max_components=MOST)
    left = path.left_out(FOLDS)
    D = np.diff(np.eye(X.shape[1]), axis=0)
    gram = penalized(D.T @ D, 1.0)
    exact = exact_left_out(gram, X, y, fold, _known(left), scale=scale)
    yield _largest(left.residuals, exact), left.error[: len(exact)] + 8 * EPS * np.abs(y).max()


def of_pls2(X: Any, y: Any, options: dict[str, Any]) -> Iterator[tuple[Any, Any]]:
    """Yield errors of Degrees of Freedom of two responses."""
    if max(X.shape) > 16 or options["scale"] or options["sample_weight"] is not None:
        return
    Y = np.column_stack([y, np.roll(y, 1)])
    path = pls2_path(X, Y, scale=False, max_components=min(4, X.shape[1], len(y) - 1))
    exact = exact_dof_by_response(X, Y, len(path) - 1)
    off = np.abs(path.dof_by_response - exact).sum(axis=1)
    yield np.where(np.isfinite(path.dof), off, 0.0), path.dof_error


DOORS = {
    "pls_path": whole_path,
    "left_out, cross_validate": rows_left_out,
    "left_out, far rows": far_rows_left_out,
    "kernel left_out": of_kernel,
    "penalised left_out": of_penalised,
    "PLS2": of_pls2,
}


def _degenerate(X: Any, fold: Any, scale: bool) -> bool:
    """Whether a column is constant without some fold, or columns have units beyond 1e±20."""
    size = np.abs(X).max()
    if not 1e-20 < size < 1e20 or len(fold) <= FOLDS:
        return True
    return scale and any(
        np.any(np.ptp(X[fold != f], axis=0) <= 1e-9 * np.abs(X).max(axis=0)) for f in range(FOLDS)
    )


def _known(left: Any) -> int:
    """Return the largest model that every fold has, by what the library says."""
    return min(int(np.count_nonzero(np.isfinite(left.error))) - 1, MOST)


def _largest(found: Any, exact: Any) -> Any:
    return np.abs(found[: len(exact)] - exact).max(axis=1)


def judge(door: Any, kind: Any, seed: int) -> str:
    """Return "right", "told", "mistake", "oracle cannot tell" or "not for this door"."""
    X, y, options = problems.draw(kind, seed)
    if options["sample_weight"] is not None and door is not whole_path:
        return "not for this door"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            pairs = list(door(X, y, options))
        except (AssertionError, ZeroDivisionError):
            return "oracle cannot tell"
    if not pairs:
        return "not for this door"
    if all(np.all(off[: len(bound)] <= bound[: len(off)]) for off, bound in pairs):
        return "right"
    return "told" if caught else "mistake"


def main() -> None:
    """Judge as many problems of every kind as asked for, through every door."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--problems", type=int, default=200, help="of each kind, per door")
    parser.add_argument("--seed", type=int, default=1, help="another one gives other problems")
    parser.add_argument("--doors", nargs="*", default=[], help="only doors with these words")
    options = parser.parse_args()
    for name, door in DOORS.items():
        if options.doors and not any(word in name for word in options.doors):
            continue
        counts: Counter[str] = Counter()
        start = time.perf_counter()
        for kind in problems.KINDS:
            for number in range(options.problems):
                seed = 100_000 * options.seed + number
                verdict = judge(door, kind, seed)
                counts[verdict] += 1
                if verdict == "mistake":
                    print(f"MISTAKE: {name}, {kind.__name__}, seed {seed}", flush=True)
        print(f"{name}: {dict(counts)}, {time.perf_counter() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
