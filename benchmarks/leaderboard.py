"""Which method predicts best on real data: the page docs/leaderboard.md.

Run with ``python benchmarks/leaderboard.py [--repeats 10] [--page docs/leaderboard.md]``. The data
are those of `choice_designs.real` (random splits) and of the package LimeSoDa (the folds of its
authors, ``--repeats`` of them); what is not installed is left out and the page says what was there.
Every contestant is given the same training rows. Results are kept in ``results/leaderboard.json``
after every set, and a run that was stopped, or ended after ``--minutes``, goes on from there.

The contestants are those of `choice.py`, and a kernel ridge regression. Ours have intervals as
well: how many new rows lie in them (nominal 95 %), and how wide they are relative to those of the
single choice.
"""

import argparse
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path as File
from typing import Any

import numpy as np
from choice import (
    AVERAGE,
    BASE,
    BEST,
    DEFAULT,
    GRID,
    KERNEL,
    MOST,
    ONE,
    POOL,
    UNSCALED,
    by_design,
    into_page,
    mean_square,
    of_scikit_learn,
    searched,
    summary,
)
from choice_designs import Sample, by_folds, real, soils
from sklearn.compose import TransformedTargetRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from plsdof import PLSRegressor, RecipeRegressor, cross_validate, pls_path
from plsdof.errors import InvalidInputError

RESULTS = File(__file__).with_name("results") / "leaderboard.json"
SEED = 45
# They come from files beside the packages, which few people have.
_FETCHED = ("cookie", "kin32fh")


def boards() -> dict[str, Callable[[int], Sample | None]]:
    """Return the data sets: name -> sample of a repeat, None where there are no more of them."""

    def split(name: str, draw: Any) -> Callable[[int], Sample]:
        return lambda number: draw(np.random.default_rng([SEED, *map(ord, name), number]))

    found: dict[str, Any] = {
        name: split(name, draw) for name, draw in real().items() if not name.startswith(_FETCHED)
    }
    for name, rows in soils().items():
        found[name] = dict(enumerate(by_folds(rows))).get
    return found


def ours(kind: str) -> dict[str, Any]:
    """Return our contestants for a kind of columns."""
    return {
        DEFAULT: PLSRegressor(),
        AVERAGE: PLSRegressor("average"),
        ONE: RecipeRegressor(recipes=kind),
        POOL: RecipeRegressor("average", recipes=kind),
        KERNEL: RecipeRegressor("average", recipes=f"{kind}+kernel"),
    }


def kernel_ridge(sample: Sample) -> Any:
    """Return predictions of ridge regression with a Gaussian kernel, tuned by five folds."""
    width = 1.0 / sample.X.shape[1]
    grid = {
        "kernelridge__alpha": np.logspace(-9, 0, 10),
        "kernelridge__gamma": [0.01 * width, 0.1 * width, width],
    }
    search = GridSearchCV(make_pipeline(StandardScaler(), KernelRidge(kernel="rbf")), grid, cv=5)
    centred = TransformedTargetRegressor(search, transformer=StandardScaler())
    return centred.fit(sample.X, sample.y).predict(sample.X_new)


def of_others(sample: Sample) -> dict[str, dict[str, float]]:
    """Return the mean squared error of every other rule, and of the best size in hindsight."""
    X, y, X_new = sample.X, sample.y, sample.X_new
    path = pls_path(X, y, max_components=MOST)
    best = min(mean_square(values, sample.y_new) for values in path.predict(X_new))
    predicted = {BASE: path[cross_validate(X, y, path.recipe, cv=10).select().index].predict(X_new)}
    predicted |= searched(sample) | of_scikit_learn(sample)
    predicted["kernel ridge"] = kernel_ridge(sample)
    found = {rule: mean_square(values, sample.y_new) for rule, values in predicted.items()}
    return {rule: {"error": error} for rule, error in (found | {BEST: best}).items()}


def of_ours(sample: Sample) -> dict[str, dict[str, float]]:
    """Return for ours the mean squared error, and coverage and mean width of intervals."""
    X, y, X_new, found = sample.X, sample.y, sample.X_new, {}
    for rule, model in ours(sample.kind).items():
        try:
            values = model.fit(X, y).predict(X_new)
        except InvalidInputError:
            if rule == KERNEL:  # a pool that this version does not have
                continue
            raise
        lower, upper = np.asarray(model.predict_interval(X_new)).T
        found[rule] = {
            "error": mean_square(values, sample.y_new),
            "inside": float(np.mean((lower <= sample.y_new) & (sample.y_new <= upper))),
            "width": float(np.mean(upper - lower)),
        }
    return found


PARTS = {"others": (of_others, BASE), "ours": (of_ours, DEFAULT)}


def run(
    repeats: int, only: str, out: File, parts: list[str], minutes: float = np.inf
) -> dict[str, Any]:
    """Run what is not in ``out`` yet: kind -> set -> what -> rule -> values of the repeats.

    In an order drawn at random, so that a run that ends early has a random sample of the sets.
    """
    known = json.loads(out.read_text(encoding="utf-8")) if out.exists() else {}
    known.setdefault("n", {})
    sets = boards()
    order = np.random.default_rng(SEED).permutation(sorted(sets)).tolist()
    end = time.monotonic() + 60.0 * minutes
    for number in range(repeats):
        for name in order:
            sample = sets[name](number)
            if sample is None or only not in name or time.monotonic() > end:
                continue
            here = known.setdefault(sample.kind, {}).setdefault(name, {})
            known["n"][name] = sample.X.shape
            for measure, first in map(PARTS.get, parts):
                if len(here.get("error", {}).get(first, ())) > number:
                    continue
                for rule, values in measure(sample).items():
                    for what, value in values.items():
                        place = here.setdefault(what, {}).setdefault(rule, [])
                        place.append(float(f"{value:.5g}"))
            out.parent.mkdir(parents=True, exist_ok=True)
            out.write_text(json.dumps(known), encoding="utf-8")
        print(f"round {number + 1}", flush=True)
    return known


# Tables
# ------


def intervals(sets: dict[str, Any]) -> list[str]:
    """Return coverage over all sets, by their numbers of rows, and relative width."""
    sizes = {"all": (0, 10**9), "up to 30 rows": (0, 30), "31 to 60": (31, 60)}
    sizes["more"] = (61, 10**9)
    lines = ["| rule | " + " | ".join(sizes) + " | width |", "|---" * (len(sizes) + 2) + "|"]
    rules = {rule: None for one in sets.values() for rule in one["inside"]}
    for rule in rules:
        cells = []
        for low, high in sizes.values():
            some = [
                np.mean(one["inside"][rule])
                for one in sets.values()
                if low <= one["n"][0] <= high and rule in one["inside"]
            ]
            if len(some) < 2:
                cells.append("")
                continue
            error = np.std(some, ddof=1) / np.sqrt(len(some))
            cells.append(f"{100 * np.mean(some):.1f} ± {100 * error:.1f} ({len(some)})")
        ratios = [
            np.log(np.divide(one["width"][rule], one["width"][DEFAULT])).mean()
            for one in sets.values()
            if rule in one["width"]
        ]
        lines.append(f"| {rule} | " + " | ".join(cells) + f" | {np.exp(np.mean(ratios)):.2f} |")
    return lines


def tables(known: dict[str, Any]) -> dict[str, list[str]]:
    """Return everything: title -> lines of Markdown."""
    found = {}
    for kind, bases in (("spectra", (UNSCALED, GRID)), ("table", (BASE,))):
        sets = {name: one | {"n": known["n"][name]} for name, one in known.get(kind, {}).items()}
        if not sets:
            continue
        errors = {
            f"{name}, {one['n'][0]} x {one['n'][1]}": one["error"] for name, one in sets.items()
        }
        repeats = [len(one["error"][DEFAULT]) for one in sets.values()]
        title = f"({len(sets)} sets, {min(repeats)} to {max(repeats)} repeats)"
        # Folds of LimeSoDa have few rows, so errors of the repeats are pooled.
        found[f"{kind}: error {title}"] = summary(errors, bases, pooled=True)
        found[f"{kind}: coverage"] = intervals(sets)
        found[f"{kind}: by set"] = by_design(errors, bases[0], pooled=True)
    return found


def against_published(known: dict[str, Any], file: File) -> list[str]:
    """Compare with the errors that the authors of LimeSoDa published: ours over theirs, squared."""
    import rdata

    warnings.simplefilter("ignore")
    table = rdata.read_rds(file)
    columns: dict[str, dict[str, list[float]]] = {}
    for kind in ("spectra", "table"):
        for name, rows in soils().items():
            one = known.get(kind, {}).get(name, {}).get("error", {})
            data, response = name.removesuffix(" (LimeSoDa)").split(", ")
            here = table[(table["Dataset"] == data) & (table["Property"] == response)]
            sizes = [np.sum(rows.folds == fold) for fold in np.unique(rows.folds)]
            for rule in (DEFAULT, AVERAGE, ONE, POOL, KERNEL):
                if len(one.get(rule, ())) < len(sizes):
                    continue
                ours = np.average(one[rule], weights=sizes)
                for theirs, error in zip(here["learning_algorithm"], here["RMSE"], strict=True):
                    column = columns.setdefault(f"{kind}: {theirs}", {})
                    column.setdefault(rule, []).append(float(np.log(ours / error**2)))
    lines = ["| | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for rule in (DEFAULT, AVERAGE, ONE, POOL, KERNEL):
        cells = []
        for column in columns.values():
            log = column.get(rule, [])
            if len(log) < 2:
                cells.append("")
                continue
            mean, error = np.exp(np.mean(log)), np.std(log, ddof=1) / np.sqrt(len(log))
            cells.append(f"{mean:.2f} ± {mean * error:.2f} ({len(log)})")
        lines.append(f"| {rule} | " + " | ".join(cells) + " |")
    return lines


def main() -> None:
    """Run, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--minutes", type=float, default=np.inf, help="stop after so many")
    parser.add_argument("--parts", nargs="+", choices=[*PARTS], default=[*PARTS])
    parser.add_argument("--only", default="", help="only sets with this text in their names")
    parser.add_argument("--out", type=File, default=RESULTS)
    parser.add_argument("--page", type=File, help="write the tables into this page")
    parser.add_argument("--published", type=File, help="errors that the authors of LimeSoDa found")
    options = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        known = run(options.repeats, options.only, options.out, options.parts, options.minutes)
    found = tables(known) if len(options.parts) == len(PARTS) else {}
    if options.published:
        found["published"] = against_published(known, options.published)
    for title, lines in found.items():
        print("\n".join(["", f"## {title}", "", *lines]))
    if options.page:
        into_page(options.page, found)


if __name__ == "__main__":
    main()
