"""How well rules choose: error on new rows, relative to 10-fold cross-validation's choice.

Run with ``python benchmarks/choice.py [--repeats 20] [--random 600]``. For every design and repeat
one path is fitted (at most 30 components), every rule takes a model of it, and the mean squared
error of that model on new rows (against true means if they are simulated) is compared with the
best model's and with that of cross-validation's choice; means over repeats and designs are
geometric. Results are kept in ``results/choice.json``: a run that was stopped goes on from there.
"""

import argparse
import json
import time
import warnings
from pathlib import Path as File
from typing import Any

import numpy as np
from choice_designs import Sample, random_design, real, simulated

from plsdof import cross_validate, kernel_pls_path, penalized_pls_path, pls_path

RESULTS = File(__file__).with_name("results") / "choice.json"
MOST = 30
# Random designs have a seed of their own, taken after the last change of the rule.
SEED, RANDOM_SEED = 24, 27
PURE_NOISE, REAL, RANDOM = "pure noise", "real data", "random"
# Beyond so many rows, leave-one-out would cost more than all the rest, and has so many folds.
SINGLE_ROWS = 60
DEFAULT, AVERAGE, BASE, BEST = "default", "average", "10-fold cross-validation", "best"
RULES = (
    DEFAULT,
    AVERAGE,
    BASE,
    "leave-one-out",
    "BIC, first minimum",
    "BIC, paper's rule",
    "GCV",
    BEST,
)


def fit_path(sample: Sample) -> Any:
    """Fit the path of a sample."""
    if sample.method == "kernel":
        return kernel_pls_path(sample.X, sample.y, max_components=MOST)
    if sample.method == "penalised":
        return penalized_pls_path(sample.X, sample.y, max_components=MOST, strength=1.0)
    return pls_path(sample.X, sample.y, max_components=MOST)


def errors_of(sample: Sample) -> dict[str, float]:
    """Return the mean squared error on new rows of the model that every rule takes."""
    path = fit_path(sample)
    taken = {
        DEFAULT: path[path.select().index],
        AVERAGE: path.average(),
        BASE: path[cross_validate(sample.X, sample.y, path.recipe, cv=10).select().index],
        # After the default, which would look at models that it has not asked for.
        "leave-one-out": path[int(np.argmin(_single_rows(path, len(sample.y)).press))],
        "BIC, first minimum": path[path.select("bic").index],
        "BIC, paper's rule": path[path.select("bic", rule="paper").index],
        "GCV": path[path.select("gcv", rule="paper").index],
    }
    every = path.predict(sample.X_new)
    found = {}
    for rule, model in taken.items():
        predicted = model.predict(sample.X_new) if model.is_average else every[model.index]
        found[rule] = float(np.mean((predicted - sample.target) ** 2))
    found[BEST] = float(np.mean((every - sample.target) ** 2, axis=1).min())
    return found


def _single_rows(path: Any, n: int) -> Any:
    return path.left_out(cv=min(n, SINGLE_ROWS))


def run(repeats: int, count: int, out: File) -> dict[str, dict[str, Any]]:
    """Run what is not in ``out`` yet: family -> design -> rule -> errors of the repeats."""
    known = json.loads(out.read_text(encoding="utf-8")) if out.exists() else {}

    def keep(family: str, name: str, results: list[dict[str, float]]) -> None:
        design = known.setdefault(family, {}).setdefault(name, {})
        for rule in RULES:
            values = [float(f"{one[rule]:.5g}") for one in results]
            design[rule] = [*design.get(rule, []), *values]

    for family, some in {**simulated(), REAL: real()}.items():
        for name, draw in some.items():
            if name in known.get(family, {}):
                continue
            start = time.perf_counter()
            number = [SEED, *map(ord, f"{family}: {name}")]
            rngs = [np.random.default_rng([*number, repeat]) for repeat in range(repeats)]
            keep(family, name, [errors_of(draw(rng)) for rng in rngs])
            _write(known, out)
            print(f"{family}, {name}: {time.perf_counter() - start:.0f} s", flush=True)
    done = sum(len(one[BEST]) for one in known.get(RANDOM, {}).values())
    for number in range(done, count):
        family, sample = random_design(np.random.default_rng([RANDOM_SEED, number]))
        keep(RANDOM, family, [errors_of(sample)])
        if number % 50 == 49 or number + 1 == count:
            _write(known, out)
            print(f"{number + 1} random designs", flush=True)
    return known


def _write(known: dict[str, Any], out: File) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(known), encoding="utf-8")


# Tables
# ------


def _gains(designs: dict[str, Any], rule: str) -> dict[str, Any]:
    """Return log errors relative to cross-validation's, by design."""
    return {name: np.log(np.divide(one[rule], one[BASE])) for name, one in designs.items()}


def summary(designs: dict[str, Any], *, pooled: bool = False) -> list[str]:
    """Return one row per rule; pooled: every repeat is a design of its own."""
    lines = [
        "| rule | error / cross-validation | beyond twice the best | worst design |",
        "|---|---|---|---|",
    ]
    for rule in RULES:
        gains = _gains(designs, rule)
        means = {name: float(np.mean(one)) for name, one in gains.items()}
        far = {
            name: np.mean(np.greater(one[rule], 2 * np.asarray(one[BEST])))
            for name, one in designs.items()
        }
        if pooled:
            every = np.concatenate(list(gains.values()))
            mean, spread = every.mean(), every.std() / np.sqrt(len(every))
            share = np.average(list(far.values()), weights=[len(one) for one in gains.values()])
        else:
            mean, share = np.mean(list(means.values())), np.mean(list(far.values()))
            parts = [np.var(one) / len(one) for one in gains.values()]
            spread = np.sqrt(np.sum(parts)) / len(parts)
        worst = max(means, key=lambda name: means[name])
        lines.append(
            f"| {rule} | {np.exp(mean):.3f} ± {spread:.3f} | {100 * share:.1f} % | "
            f"{np.exp(means[worst]):.2f} ({worst}) |"
        )
    return lines


def by_design(designs: dict[str, Any]) -> list[str]:
    """Return errors relative to cross-validation's, one row per design or family."""
    rules = [rule for rule in RULES if rule != BASE]
    lines = ["| design | " + " | ".join(rules) + " |", "|---" * (len(rules) + 1) + "|"]
    for name in designs:
        cells = [np.exp(np.mean(_gains({name: designs[name]}, rule)[name])) for rule in rules]
        lines.append(f"| {name} | " + " | ".join(f"{one:.2f}" for one in cells) + " |")
    return lines


def by_family(known: dict[str, Any]) -> list[str]:
    """Return geometric means over the designs of each family."""
    pooled = {}
    for family, designs in known.items():
        if family in (PURE_NOISE, RANDOM):
            continue
        pooled[f"{family} ({len(designs)})"] = {
            rule: [float(np.exp(np.mean(np.log(one[rule])))) for one in designs.values()]
            for rule in RULES
        }
    return by_design(pooled)


def pure_noise(designs: dict[str, Any]) -> list[str]:
    """Return mean excess errors, in variances of the noise."""
    lines = ["| design | " + " | ".join(RULES) + " |", "|---" * (len(RULES) + 1) + "|"]
    for name, one in designs.items():
        cells = " | ".join(f"{np.mean(one[rule]):.3f}" for rule in RULES)
        lines.append(f"| {name} | {cells} |")
    return lines


def tables(known: dict[str, Any]) -> list[str]:
    """Return everything, in Markdown."""
    usual = {
        f"{family}, {name}": one
        for family, designs in known.items()
        if family not in (PURE_NOISE, REAL, RANDOM)
        for name, one in designs.items()
    }
    lines = [f"## {len(usual)} simulated designs", "", *summary(usual), ""]
    if REAL in known:
        lines += [f"## {len(known[REAL])} real designs", "", *summary(known[REAL]), ""]
    if RANDOM in known:
        count = sum(len(one[BEST]) for one in known[RANDOM].values())
        lines += [f"## {count} random designs", "", *summary(known[RANDOM], pooled=True), ""]
        lines += [*by_design(known[RANDOM]), ""]
    lines += ["## By family", "", *by_family(known), ""]
    if PURE_NOISE in known:
        lines += ["## Pure noise: excess error", "", *pure_noise(known[PURE_NOISE]), ""]
    return [*lines, "## By design", "", *by_design(usual | known.get(REAL, {}))]


def main() -> None:
    """Run, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--random", type=int, default=600, help="number of random designs")
    parser.add_argument("--out", type=File, default=RESULTS)
    options = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        print("real data at hand:", ", ".join(real()), flush=True)
        known = run(options.repeats, options.random, options.out)
    print("\n".join(["", *tables(known)]))


if __name__ == "__main__":
    main()
