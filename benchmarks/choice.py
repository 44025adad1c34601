"""How well rules choose: error on new rows, relative to the best number of components.

Run with ``python benchmarks/choice.py [--repeats 40] [--out docs/measured/choice.json]``. For every
design and repeat all models of one path are fitted (at most 30 components) and tested on new rows.
The error of the model that a rule takes, over that of the best model for this very training set, is
what counts; means are geometric. An interrupted run goes on where it stopped.
"""

import argparse
import json
import time
import warnings
from functools import partial
from pathlib import Path as File
from typing import Any

import numpy as np
from choice_designs import DESIGNS, Sample, real_designs

from plsdof import cross_validate, kernel_pls_path, penalized_pls_path, pls_path

MOST = 30
BASE = "10-fold cross-validation, minimum"
RULES = (
    "BIC, first minimum (paper)",
    "GCV, patient",
    "GCV smoothed, patient (default)",
    "average, exact",
    "average, smoothed",
    BASE,
)
DEFAULT, AVERAGE = RULES[2], RULES[4]
FITS = {
    "pls": partial(pls_path, max_components=MOST),
    "kernel": partial(kernel_pls_path, max_components=MOST),
    "penalised": partial(penalized_pls_path, max_components=MOST, strength=1.0),
}


def compare_rules(sample: Sample, seed: int) -> dict[str, tuple[float, float]]:
    """Return error / best error, and the number of components, of every rule."""
    fit = FITS[sample.method]
    path = fit(sample.X, sample.y)
    predicted = path.predict(sample.X_new)
    folds = cross_validate(sample.X, sample.y, fit, random_state=seed, keep_predictions=False)
    taken: dict[str, Any] = {
        RULES[0]: path.select("bic", rule="first-minimum").index,
        RULES[1]: path.select("gcv", "exact").index,
        RULES[2]: path.select().index,
        RULES[3]: path.weights("exact"),
        RULES[4]: path.weights(),
        BASE: folds.select().index,
    }
    errors = np.mean((predicted - sample.target) ** 2, axis=1)
    found = {}
    for rule, what in taken.items():
        weights = what if np.ndim(what) else np.arange(len(errors)) == what
        error = np.mean((weights @ predicted - sample.target) ** 2)
        size = float(weights @ np.arange(len(errors)))
        found[rule] = (float(error / errors.min()), size)
    return found


def run(repeats: int, out: File, seed: int = 0) -> dict[str, Any]:
    """Run what is not in ``out`` yet."""
    known = json.loads(out.read_text(encoding="utf-8")) if out.exists() else {}
    if known.get("repeats") != repeats or known.get("seed") != seed:
        known = {"repeats": repeats, "seed": seed, "designs": {}}
    for number, (name, draw) in enumerate({**DESIGNS, **real_designs()}.items()):
        if name in known["designs"]:
            continue
        start, results = time.perf_counter(), []
        for repeat in range(repeats):
            rng = np.random.default_rng([seed, number, repeat])
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                results.append(compare_rules(draw(rng), int(rng.integers(2**31))))
        known["designs"][name] = {
            rule: {
                "ratios": [round(one[rule][0], 6) for one in results],
                "components": round(float(np.mean([one[rule][1] for one in results])), 2),
            }
            for rule in RULES
        }
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(json.dumps(known), encoding="utf-8")
        print(f"{name}: {time.perf_counter() - start:.1f} s", flush=True)
    return known


def summary(known: dict[str, Any], names: list[str]) -> list[str]:
    """Return the table of all rules over some designs, in Markdown."""
    lines = [
        "| rule | error / best | beyond 2 x the best | error / cross-validation | worst design |",
        "|---|---|---|---|---|",
    ]
    for rule in RULES:
        logs = {name: np.log(known["designs"][name][rule]["ratios"]) for name in names}
        base = {name: np.log(known["designs"][name][BASE]["ratios"]) for name in names}
        against = {name: float(np.exp(np.mean(logs[name] - base[name]))) for name in names}
        worst = max(against, key=lambda name: against[name])
        beyond = np.mean([np.mean(logs[name] > np.log(2)) for name in names])
        lines.append(
            f"| {rule} | {np.exp(np.mean([np.mean(one) for one in logs.values()])):.3f} | "
            f"{100 * beyond:.1f} % | {np.exp(np.mean(np.log(list(against.values())))):.3f} | "
            f"{against[worst]:.2f} ({worst}) |"
        )
    return lines


def table(known: dict[str, Any]) -> list[str]:
    """Return one row per design: error / best, and components, of the main rules."""
    shown = (RULES[0], DEFAULT, AVERAGE, BASE)
    lines = [
        "| design | " + " | ".join(shown) + " | default / cross-validation |",
        "|---" * (len(shown) + 2) + "|",
    ]
    for name, found in known["designs"].items():
        errors = [np.exp(np.mean(np.log(found[rule]["ratios"]))) for rule in shown]
        sizes = [found[rule]["components"] for rule in shown]
        cells = [f"{error:.2f} ({size:.1f})" for error, size in zip(errors, sizes, strict=True)]
        ratio = np.log(found[DEFAULT]["ratios"]) - np.log(found[BASE]["ratios"])
        lines.append(f"| {name} | " + " | ".join(cells) + f" | {np.exp(ratio.mean()):.2f} |")
    return lines


def main() -> None:
    """Run, print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=File, default=File("docs/measured/choice.json"))
    options = parser.parse_args()
    known = run(options.repeats, options.out, options.seed)
    signal = [name for name in known["designs"] if not name.startswith("pure noise")]
    print("\n".join(["", f"{len(signal)} designs, {options.repeats} repeats each:", ""]))
    print("\n".join([*summary(known, signal), "", *table(known)]))


if __name__ == "__main__":
    main()
