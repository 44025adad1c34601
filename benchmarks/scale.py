"""Data that do not fit, or only just: a large file, and a large sparse matrix.

    python benchmarks/scale.py --scratch DIR [--out DIR] [--quick] [--only file|sparse]

(a) A file of 1,000,000 x 500 float64 (4 GB, made in DIR and deleted at the end): `pls_path` on a
    memory map of it, against a bare chunked X'X over the same file that reads into one buffer.
    "cold" evicts the file from the page cache before each run, "warm" reads it from there. Ten
    folds and a choice on the memory map, and on a dask array of it, are run once.
(b) A sparse matrix of 1,000,000 x 10,000 with 10^7 stored values, made in memory: `pls_path` with
    10 components and its Degrees of Freedom.

Every run is a process of its own. Peak memory is VmHWM, which counts pages of a mapped file while
they are resident, although the system may take them back at any time; the peak of RssAnon, sampled
every 10 ms, leaves them out. The promise is held against VmHWM. ``--quick`` divides the numbers of
rows by 100 and the columns of the sparse matrix by 10. The exit status is 0 whatever the numbers
say, unless the harness itself fails.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import memory
import numpy as np
from findings import Check
from scale_tasks import FULL, QUICK, Size, make_file

import plsdof

FILE_MEMORY, FILE_RATIO = 1.5e9, 1.5
CHOICE_MEMORY = 0.3e9
SPARSE_MEMORY = 4e9
# Up to here the exact Degrees of Freedom of a dense copy are cheap.
DENSE_COLUMNS = 2000


def run_child(task: str, folder: Path, size: Size, limit: float) -> dict[str, Any]:
    """Run a task in a process of its own and return its answer, memory and error included."""
    order = json.dumps({"task": task, "folder": str(folder), "size": asdict(size)})
    child = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("scale_tasks.py")), order],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    anonymous, until = 0.0, time.monotonic() + limit
    while child.poll() is None:
        anonymous = max(anonymous, memory.status("RssAnon", str(child.pid)) or 0.0)
        try:
            child.wait(0.01)
        except subprocess.TimeoutExpired:
            if time.monotonic() > until:
                child.kill()
                child.communicate()
                return {"status": f"over the limit of {limit:g} s", "anonymous": anonymous}
    output, errors = child.communicate()
    if child.returncode != 0:
        last = (errors.strip().splitlines() or ["no message"])[-1]
        return {"status": f"failed: {last:.300}", "anonymous": anonymous}
    return {"status": "ok", "anonymous": anonymous, **json.loads(output.splitlines()[-1])}


def measure_file(folder: Path, size: Size, limit: float) -> dict[str, Any]:
    """Time both tasks on one file, in turns, cold and warm."""
    started = time.perf_counter()
    make_file(folder, size)
    print(
        f"made {size.rows:,} x {size.columns} in {time.perf_counter() - started:.1f} s", flush=True
    )
    found: dict[str, Any] = {}
    try:
        for state in ("cold", "warm"):
            for turn in range(size.repeats):
                # What a choice takes comes once, on top.
                more = ("choice", "dask") if state == "warm" and turn == 0 else ()
                for task in ("gram", "mapped", *more):
                    if state == "cold":
                        evict(folder / "X.bin")
                    answer = run_child(task, folder, size, limit)
                    found.setdefault(f"{task}, {state}", []).append(answer)
                    print(f"{task}, {state}: {_words(answer)}", flush=True)
    finally:
        (folder / "X.bin").unlink(missing_ok=True)
        (folder / "y.npy").unlink(missing_ok=True)
    return found


def measure_sparse(folder: Path, size: Size, limit: float) -> dict[str, Any]:
    """Run the sparse task, and its dense twin where there can be one."""
    tasks = ("sparse", "dense") if size.sparse_columns <= DENSE_COLUMNS else ("sparse",)
    found = {}
    for task in tasks:
        found[task] = [run_child(task, folder, size, limit)]
        print(f"{task}: {_words(found[task][0])}", flush=True)
    return found


def evict(file: Path) -> None:
    """Ask the system to forget what it holds of a file in memory."""
    if hasattr(os, "posix_fadvise"):
        descriptor = os.open(file, os.O_RDONLY)
        try:
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)


def check_file(found: dict[str, Any]) -> list[Check]:
    """Hold the promises about the file against the measurements."""
    mapped = [one for name, runs in found.items() if name.startswith("mapped") for one in runs]
    peaks = [one["peak"] for one in mapped if one["status"] == "ok"]
    failed = sorted({one["status"] for one in mapped if one["status"] != "ok"})
    ratios = {state: _file_ratio(found, state) for state in ("cold", "warm")}
    lines = [
        f"{state}: {'no time' if ratio is None else f'{ratio:.2f} x'}"
        for state, ratio in ratios.items()
    ]
    fast = all(ratio is not None and ratio <= FILE_RATIO for ratio in ratios.values())
    small = bool(peaks) and not failed and max(peaks) <= FILE_MEMORY
    shown = [f"VmHWM {max(peaks) / 1e9:.2f} GB"] if peaks else []
    chosen = {task: found.get(f"{task}, warm", [{}])[0] for task in ("choice", "dask")}
    peak = chosen["choice"].get("peak")
    told = [
        f"{task}: {_ratio(one, found)}, VmHWM {one['peak'] / 1e9:.2f} GB"
        if one.get("peak")
        else f"{task}: {one.get('status', 'not run')}"
        for task, one in chosen.items()
    ]
    return [
        Check(
            promise=f"file: at most {FILE_RATIO} x a bare chunked X'X",
            holds=fast,
            details=(*lines, *failed),
        ),
        Check(
            promise=f"file: at most {FILE_MEMORY / 1e9} GB resident",
            holds=small,
            details=(*shown, *failed),
        ),
        Check(
            promise=f"file, ten folds and a choice: at most {CHOICE_MEMORY / 1e9} GB resident",
            holds=None if peak is None else peak <= CHOICE_MEMORY,
            details=tuple(told),
        ),
    ]


def _ratio(one: dict[str, Any], found: dict[str, Any]) -> str:
    bare = [run["seconds"] for run in found["gram, warm"] if run["status"] == "ok"]
    return f"{one['seconds'] / statistics.median(bare):.2f} x X'X" if bare else "no time for X'X"


def _file_ratio(found: dict[str, Any], state: str) -> float | None:
    times = {}
    for task in ("gram", "mapped"):
        runs = [one["seconds"] for one in found[f"{task}, {state}"] if one["status"] == "ok"]
        if not runs:
            return None
        times[task] = statistics.median(runs)
    return times["mapped"] / times["gram"]


def check_sparse(found: dict[str, Any]) -> list[Check]:
    """Hold the promises about the sparse matrix against the measurements."""
    answer = found["sparse"][0]
    ok = answer["status"] == "ok"
    checks = [
        Check(
            promise=f"sparse: under {SPARSE_MEMORY / 1e9:g} GB resident",
            holds=ok and answer["peak"] < SPARSE_MEMORY,
            details=(f"VmHWM {answer['peak'] / 1e9:.2f} GB" if ok else answer["status"],),
        ),
    ]
    dense = found.get("dense", [{"status": "not run"}])[0]
    return [*checks, check_dense(answer, dense)] if ok and dense["status"] == "ok" else checks


def check_dense(answer: dict[str, Any], dense: dict[str, Any]) -> Check:
    """Compare the Degrees of Freedom with those of the dense copy."""
    dof, exact = np.array(answer["dof"]), np.array(dense["dof"])
    gap = np.abs(dof - exact)
    return Check(
        promise="sparse: DoF of the dense path within 1e-8",
        holds=bool(np.all(gap <= 1e-8 * np.abs(exact))),
        details=(f"largest gap {gap.max():.1e}",),
    )


def markdown(found: dict[str, Any], checks: Sequence[Check], size: Size) -> str:
    """Return two tables and the checks."""
    lines = [
        f"plsdof {plsdof.__version__}. File of {size.rows:,} x {size.columns} float64, "
        f"{size.max_components} components; "
        f"sparse {size.sparse_rows:,} x {size.sparse_columns:,}, {size.per_row} values a row, "
        f"{size.sparse_components} components."
        + ("" if size.rows == FULL.rows else " The promises below are about the full size."),
        "",
        "| run | median s | VmHWM, GB | RssAnon, GB | runs |",
        "|---|---|---|---|---|",
    ]
    lines += [_table_line(name, runs) for name, runs in found.items()]
    return "\n".join([*lines, "", "```text", *map(str, checks), "```", ""])


def _table_line(name: str, runs: Sequence[dict[str, Any]]) -> str:
    ok = [one for one in runs if one["status"] == "ok"]
    if not ok:
        return f"| {name} | {runs[0]['status'].replace('|', '/')} | - | - | {len(runs)} |"
    seconds = statistics.median(one["seconds"] for one in ok)
    peak, anonymous = (max(one[key] or 0 for one in ok) / 1e9 for key in ("peak", "anonymous"))
    return f"| {name} | {seconds:.2f} | {peak:.2f} | {anonymous:.2f} | {len(ok)} |"


def _words(answer: dict[str, Any]) -> str:
    if answer["status"] != "ok":
        return str(answer["status"])
    peak = "" if answer["peak"] is None else f", VmHWM {answer['peak'] / 1e9:.2f} GB"
    return f"{answer['seconds']:.2f} s{peak}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, and write scale.md and scale.json if a folder is named."""
    options = _options(arguments)
    size, found, checks = QUICK if options.quick else FULL, {}, []
    size = replace(size, repeats=options.repeats)
    if options.only in (None, "file"):
        options.scratch.mkdir(parents=True, exist_ok=True)
        found |= measure_file(options.scratch, size, options.limit)
        checks += check_file(found)
    if options.only in (None, "sparse"):
        found |= measure_sparse(options.scratch, size, options.limit)
        checks += check_sparse(found)
    text = markdown(found, checks, size)
    print(text)
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / "scale.md").write_text(text)
        content = {"size": asdict(size), "python": platform.python_version(), "runs": found}
        (options.out / "scale.json").write_text(json.dumps(content, indent=1) + "\n")


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scratch", type=Path, default=Path(), help="folder for the large file")
    parser.add_argument("--out", type=Path, help="folder for scale.md and scale.json")
    parser.add_argument("--quick", action="store_true", help="1/100 of the size")
    parser.add_argument("--only", choices=["file", "sparse"])
    parser.add_argument("--repeats", type=int, default=FULL.repeats)
    parser.add_argument("--limit", type=float, default=1800.0, help="seconds for one run")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
