"""Time, memory and quality of a choice, against other packages on equal work; counting.

    python benchmarks/peers.py --out DIR                       all regimes, a quarter of an hour
    python benchmarks/peers.py --out DIR --seconds 300         in five minutes, slow packages cut
    python benchmarks/peers.py --out DIR --regimes nir tall    some regimes
    python benchmarks/peers.py --out DIR --quick               small versions of three, a minute

Writes peers.md, peers.json and peers.png to DIR. The exit status is 0 whatever the numbers say,
unless the harness itself fails; what holds and what does not is printed. Packages that are not
installed are reported as such: ``pip install ikpls plskit process-improve nirs4all-methods``, and
in R ``install.packages(c("plsdof", "pls"))``.
"""

import argparse
import json
import os
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import findings
from contestants import BY_KEY, CONTESTANTS, COUNTED, DEFAULT, FLOOR, OURS, SVD, VALIDATED
from measure import Effort, available_cores, measure
from ratio_plot import plot
from regimes import REGIMES, shrunk

QUICK_REGIMES = ("tall", "nir-noise-300", "nir")
QUICK = Effort(rounds=3, slow=0.3, limit=15.0, draws=4, quality=0.4, deadline=40.0)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, write the results and print the checks."""
    options = _options(arguments)
    started, load = time.monotonic(), os.getloadavg()[0]
    names = options.regimes or (QUICK_REGIMES if options.quick else [r.name for r in REGIMES])
    regimes = [one for one in REGIMES if one.name in names]
    effort = Effort()
    if options.quick:
        regimes, effort = [shrunk(one, options.shrink) for one in regimes], QUICK
    if options.seconds:
        effort = replace(effort, deadline=options.seconds, limit=max(options.seconds / 40, 5.0))
    wanted = {*options.contestants, OURS, DEFAULT, COUNTED, VALIDATED, FLOOR, SVD}
    contestants = [one for one in CONTESTANTS if one.key in wanted]
    threads = sorted({1, options.threads})
    rows = measure(regimes, contestants, threads, effort, lambda line: print(line, flush=True))
    records = findings.summarize(rows)
    checks = findings.check_all(records, regimes)
    about = findings.environment(contestants) | {"load_before": load}
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "peers.md").write_text(findings.markdown(records, regimes, checks, about))
    content = {
        "about": about | {"quick": options.quick, "effort": asdict(effort)},
        "regimes": [asdict(one) for one in regimes],
        "calls": {one.key: one.call for one in contestants},
        "checks": [asdict(one) for one in checks],
        "records": records,
    }
    (options.out / "peers.json").write_text(_one_line_each(content))
    plot(records, regimes, options.out / "peers.png")
    print(*checks, sep="\n")
    print(f"{time.monotonic() - started:.0f} s; written to {options.out}")


def _one_line_each(content: dict[str, Any]) -> str:
    """Return JSON with a line for every entry of a list."""
    parts = []
    for name, value in content.items():
        text = json.dumps(value)
        if isinstance(value, list):
            text = "[\n  " + ",\n  ".join(map(json.dumps, value)) + "\n ]"
        parts.append(f" {json.dumps(name)}: {text}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder for the results")
    parser.add_argument("--quick", action="store_true", help="small problems, few repeats")
    parser.add_argument("--shrink", type=int, default=5, help="how much smaller --quick is")
    parser.add_argument("--seconds", type=float, help="for everything, about")
    parser.add_argument("--regimes", nargs="+", choices=[one.name for one in REGIMES])
    parser.add_argument("--contestants", nargs="+", choices=[*BY_KEY], default=[*BY_KEY])
    parser.add_argument(
        "--threads", type=int, default=available_cores(), help="besides one; default: all cores"
    )
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
