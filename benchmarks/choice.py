"""How well rules choose: error on new rows, relative to the best number of components.

Run with ``python benchmarks/choice.py [--repeats 40] [--out FILE.json]``. For every
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
from choice_random import FAMILIES, random_design

from plsdof import cross_validate, kernel_pls_path, penalized_pls_path, pls_path
from plsdof.datasets import load_gasoline, load_ozone
from plsdof.selection import selection_frequency

RESULTS = File(__file__).with_name("results")
MOST = 30
BASE = "10-fold cross-validation, minimum"
RULES = (
    "BIC, first minimum (paper)",
    "GCV smoothed, patience 3",
    "GCV smoothed, patience 10",
    "default: the same, confirmed by rows left out",
    "average, weights GCV^(-n/2)",
    "average: the default, components shrunk",
    BASE,
)
DEFAULT, AVERAGE = RULES[3], RULES[5]
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
        RULES[1]: path.select(patience=3, confirm=False).index,
        RULES[2]: path.select(confirm=False).index,
        DEFAULT: path.select().index,
        RULES[4]: path.weights(by="gcv"),
        AVERAGE: path.weights(),
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


def run_random(count: int, out: File, seed: int = 1) -> dict[str, Any]:
    """Run random designs, one sample each, grouped by family; from where ``out`` ends."""
    known = json.loads(out.read_text(encoding="utf-8")) if out.exists() else {}
    if known.get("seed") != seed:
        known = {"seed": seed, "count": 0, "designs": {one: {} for one in FAMILIES}}
    for number in range(known["count"], count):
        rng = np.random.default_rng([seed, number])
        family, sample = random_design(rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = compare_rules(sample, int(rng.integers(2**31)))
        for rule, (ratio, _) in found.items():
            kept = known["designs"][family].setdefault(rule, {"ratios": []})
            kept["ratios"].append(round(ratio, 6))
        known["count"] = number + 1
        if known["count"] % 50 == 0 or known["count"] == count:
            out.write_text(json.dumps(known), encoding="utf-8")
            print(f"{known['count']} random designs", flush=True)
    return known


def random_table(known: dict[str, Any]) -> list[str]:
    """Return errors over all random designs, and those relative to cross-validation by family."""

    def logs(rule: str, family: str) -> Any:
        return np.log(known["designs"][family][rule]["ratios"])

    lines = [
        "| rule | error / best | beyond 2 x the best | error / cross-validation | standard error |",
        "|---|---|---|---|---|",
    ]
    for rule in RULES:
        values = np.concatenate([logs(rule, one) for one in FAMILIES])
        gain = values - np.concatenate([logs(BASE, one) for one in FAMILIES])
        lines.append(
            f"| {rule} | {np.exp(values.mean()):.3f} | {100 * np.mean(values > np.log(2)):.1f} % | "
            f"{np.exp(gain.mean()):.3f} | {gain.std() / np.sqrt(len(gain)):.3f} |"
        )
    lines += ["", "| family | designs | default | average |", "|---|---|---|---|"]
    for family in FAMILIES:
        base = logs(BASE, family)
        against = [np.exp(np.mean(logs(rule, family) - base)) for rule in (DEFAULT, AVERAGE)]
        lines.append(f"| {family} | {len(base)} | {against[0]:.2f} | {against[1]:.2f} |")
    return lines


def summary(known: dict[str, Any], names: list[str]) -> list[str]:
    """Return the table of all rules over some designs, in Markdown."""
    lines = [
        "| rule | error / best | beyond 2 x the best | error / cross-validation | worst design |",
        "|---|---|---|---|---|",
    ]
    base = {name: np.log(known["designs"][name][BASE]["ratios"]) for name in names}
    for rule in RULES:
        logs = {name: np.log(known["designs"][name][rule]["ratios"]) for name in names}
        gains = {name: logs[name] - base[name] for name in names}
        against = {name: float(np.exp(np.mean(gains[name]))) for name in names}
        spread = np.sqrt(sum(np.var(one) / len(one) for one in gains.values())) / len(names)
        worst = max(against, key=lambda name: against[name])
        beyond = np.mean([np.mean(logs[name] > np.log(2)) for name in names])
        lines.append(
            f"| {rule} | {np.exp(np.mean([np.mean(one) for one in logs.values()])):.3f} | "
            f"{100 * beyond:.1f} % | {np.exp(np.mean(np.log(list(against.values())))):.3f} "
            f"+- {spread:.3f} | "
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


def leave_one_out_table() -> list[str]:
    """Compare `Path.leave_one_out` with n refits on ozone and gasoline, for every m."""
    lines = [
        "| data | m | correlation | RMSE / RMSE of refits | largest leverage | reliable |",
        "|---|---|---|---|---|---|",
    ]
    for name, load in (("ozone", load_ozone), ("gasoline", load_gasoline)):
        X, y = load(return_X_y=True)
        path = pls_path(X, y, 10)
        exact = y - cross_validate(X, y, cv="loo", max_components=10).predictions[0]
        found = path.leave_one_out()
        for m in range(1, 11):
            residuals = path.loo_residuals(m)
            ratio = np.sqrt(np.mean(residuals**2) / np.mean(exact[m] ** 2))
            lines.append(
                f"| {name} | {m} | {np.corrcoef(residuals, exact[m])[0, 1]:.4f} | {ratio:.3f} | "
                f"{found.largest_leverage[m]:.2f} | {'yes' if found.reliable[m] else 'no'} |"
            )
    return lines


def stability_table(repeats: int = 20, draws: int = 40) -> list[str]:
    """Compare what `selection_frequency` says with replications of the experiment.

    In each of three designs the mean is fixed; the choice of the first data set is made again on
    new data sets (the truth) and on simulated responses (what it says).
    """
    lines = [
        "| design | chosen again | said, models drawn by weight | said, chosen model only |",
        "|---|---|---|---|",
    ]
    for name in STABILITY:
        said, alone, truth = [], [], []
        for repeat in range(repeats):
            rng = np.random.default_rng([1, repeat])
            X, mean, noise = _fixed_design(name, rng)
            base = pls_path(X, mean + noise * rng.standard_normal(len(mean)), 12)
            chosen = base.select().index
            again = [
                base.refit(mean + noise * rng.standard_normal(len(mean))).select().index
                for _ in range(draws)
            ]
            truth.append(np.mean(np.array(again) == chosen))
            said.append(selection_frequency(base, n_draws=draws).frequency[chosen])
            alone.append(selection_frequency(base, m=chosen, n_draws=draws).frequency[chosen])
        lines.append(
            f"| {name} | {np.mean(truth):.2f} | {np.mean(said):.2f} | {np.mean(alone):.2f} |"
        )
    return lines


STABILITY = ("factors, n<p", "AR, n>p", "spectra")


def _fixed_design(name: str, rng: np.random.Generator) -> tuple[Any, Any, float]:
    key = {
        "factors, n<p": "factors, signal in all, n<p",
        "AR, n>p": "AR .9, sparse",
        "spectra": "spectra, one analyte, R2 .8",
    }[name]
    sample = DESIGNS[key](rng)
    path = pls_path(sample.X, sample.y, 12)
    m = path.select().index or 1
    return sample.X, path.fitted[m], float(np.sqrt(path.noise_at(m)))


def average_table(repeats: int = 300) -> list[str]:
    """Compare the Degrees of Freedom of an average with cov(yhat, y) / sigma^2."""
    lines = [
        "| data | Monte Carlo | said | without the term of the weights |",
        "|---|---|---|---|",
    ]
    for name, load, m, noise in (
        ("gasoline", load_gasoline, 4, 0.2),
        ("ozone", load_ozone, 3, 4.5),
    ):
        X, y = load(return_X_y=True)
        base = pls_path(X, y, 10, solver="svd")
        mean, rng = base.fitted[m], np.random.default_rng(0)
        true, said, fixed = [], [], []
        for _ in range(repeats):
            error = noise * rng.standard_normal(len(y))
            path = base.refit(mean + error)
            average = path.average()
            true.append((average.fitted - mean) @ error / noise**2)
            said.append(average.dof)
            fixed.append(average.weights @ path.dof)
        spread = np.std(true) / np.sqrt(repeats)
        lines.append(
            f"| {name} | {np.mean(true):.2f} +- {spread:.2f} | {np.mean(said):.2f} | "
            f"{np.mean(fixed):.2f} |"
        )
    return lines


def noise_table(repeats: int = 100) -> list[str]:
    """Return the mean number of components kept of pure noise."""
    lines = ["| data | gcv (default) | bic | gmdl | average |", "|---|---|---|---|---|"]
    for n, p in ((40, 100), (100, 20), (60, 60)):
        sizes = []
        for repeat in range(repeats):
            rng = np.random.default_rng([2, repeat])
            path = pls_path(rng.standard_normal((n, p)), rng.standard_normal(n), min(n, p) // 2)
            kept = [path.select(one).n_components for one in ("gcv", "bic", "gmdl")]
            sizes.append([*kept, path.average().n_components])
        cells = " | ".join(f"{one:.2f}" for one in np.mean(sizes, axis=0))
        lines.append(f"| {n} x {p} | {cells} |")
    return lines


def page(known: dict[str, Any], drawn: dict[str, Any], notes: str) -> str:
    """Return the page, text and tables."""
    signal = [name for name in known["designs"] if not name.startswith("pure noise")]
    tables = {
        "SUMMARY": summary(known, signal),
        "DESIGNS": table(known),
        "NOISE": noise_table(),
        "LOO": leave_one_out_table(),
        "STABILITY": stability_table(),
        "AVERAGE": average_table(),
        "RANDOM": random_table(drawn),
    }
    for name, lines in tables.items():
        notes = notes.replace(f"<!-- {name} -->", "\n".join(lines))
    notes = notes.replace("COUNT", str(len(signal))).replace("REPEATS", str(known["repeats"]))
    return notes.replace("DRAWN", str(drawn["count"]))


def main() -> None:
    """Run, print the tables, write the page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=File, default=RESULTS / "choice.json")
    parser.add_argument("--random", type=int, default=600, help="number of random designs")
    parser.add_argument("--page", type=File, help="write this Markdown page from choice_page.md")
    options = parser.parse_args()
    known = run(options.repeats, options.out, options.seed)
    drawn = run_random(options.random, options.out.with_name("choice_random.json"))
    signal = [name for name in known["designs"] if not name.startswith("pure noise")]
    print("\n".join(["", *summary(known, signal), "", *table(known)]))
    if options.page is not None:
        template = File(__file__).with_name("choice_page.md").read_text(encoding="utf-8")
        options.page.write_text(page(known, drawn, template), encoding="utf-8")


if __name__ == "__main__":
    main()
