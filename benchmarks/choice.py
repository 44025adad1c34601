"""How well rules choose: error on new rows, relative to 10-fold cross-validation's choice.

Run with ``python benchmarks/choice.py [--repeats 10] [--random 300] [--families TEXT ...]``. For
every design and repeat each rule is given the same training rows, and the mean squared error of
its answer on new rows (against true means if they are simulated) is divided by that of 10-fold
cross-validation's choice; means over repeats and designs are geometric. Results are kept in
``results/choice.json``: a run that was stopped goes on from there, and a larger ``--repeats`` adds
to what is there. ``--page docs/choice.md`` writes the tables into that page.

"default", "average"        `pls_path(X, y)`, its `select()` and `average()`
"all 30 models"             the same choice among all models up to 30 components
"recipes"                   `RecipeRegressor`, one model or the average: "spectra" for designs whose
                            columns are spectra, "table" for all others
"grid search"               the smallest error of ten folds among the same five recipes and sizes
"bagged PLS"                25 bootstrap samples at the size of cross-validation's choice
lasso, elastic net, ridge   scikit-learn's, ten folds, columns scaled; on spectra the lasso by LARS
                            and no elastic net, because coordinate descent takes up to 25 s a fit
"""

import argparse
import json
import time
import warnings
from pathlib import Path as File
from typing import Any

import numpy as np
from choice_designs import Sample, random_design, real, simulated
from sklearn.linear_model import ElasticNetCV, LassoCV, LassoLarsCV, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from plsdof import (
    RecipeRegressor,
    cross_validate,
    kernel_pls_path,
    penalized_pls_path,
    pls_path,
)
from plsdof.estimators.recipes import as_recipe, recipe_texts

RESULTS = File(__file__).with_name("results") / "choice.json"
MOST = 30
# Random designs have a seed of their own, taken after the last change of the rule.
SEED, RANDOM_SEED = 24, 27
PURE_NOISE, REAL, RANDOM = "pure noise", "real data", "random"
# Beyond so many rows, leave-one-out would cost more than all the rest, and has so many folds.
SINGLE_ROWS = 60
BAGS = 25
DEFAULT, AVERAGE, BASE, BEST = "default", "average", "10-fold cross-validation", "best"
WHOLE = "all 30 models"
UNSCALED, GRID = "10-fold cross-validation, not scaled", "grid search over recipes"
ONE, POOL, KERNEL = "recipes, one model", "recipes, average", "recipes and kernel, average"
RULES = (
    DEFAULT,
    AVERAGE,
    ONE,
    POOL,
    KERNEL,
    BASE,
    UNSCALED,
    GRID,
    WHOLE,
    "leave-one-out",
    "BIC, first minimum",
    "BIC, paper's rule",
    "GCV",
    "bagged PLS",
    "RidgeCV",
    "LassoCV",
    "ElasticNetCV",
    "kernel ridge",
    BEST,
)


def fit_path(sample: Sample, most: int | None = MOST) -> Any:
    """Fit the path of a sample."""
    if sample.method == "kernel":
        return kernel_pls_path(sample.X, sample.y, max_components=most)
    if sample.method == "penalised":
        return penalized_pls_path(sample.X, sample.y, max_components=most, strength=1.0)
    return pls_path(sample.X, sample.y, max_components=most)


def errors_of(sample: Sample) -> dict[str, float]:
    """Return the mean squared error on new rows of the answer of every rule."""
    X, y = sample.X, sample.y
    path, ours = fit_path(sample), fit_path(sample, None)
    base = cross_validate(X, y, path.recipe, cv=10).select().index
    taken = {
        DEFAULT: ours[ours.select().index],
        AVERAGE: ours.average(),
        WHOLE: path[path.select().index],
        BASE: path[base],
        "leave-one-out": path[int(np.argmin(_single_rows(path, len(y)).press))],
        "BIC, first minimum": path[path.select("bic").index],
        "BIC, paper's rule": path[path.select("bic", rule="paper").index],
        "GCV": path[path.select("gcv", rule="paper").index],
    }
    predicted = {rule: model.predict(sample.X_new) for rule, model in taken.items()}
    if sample.method == "pls":
        predicted["bagged PLS"] = bagged(sample, base)
        predicted |= of_recipes(sample) | of_scikit_learn(sample)
    found = {rule: mean_square(values, sample.target) for rule, values in predicted.items()}
    every = path.predict(sample.X_new)
    found[BEST] = min(mean_square(values, sample.target) for values in every)
    return found


def mean_square(predicted: Any, target: Any) -> float:
    """Return the mean squared error."""
    return float(np.mean((predicted - target) ** 2))


def bagged(sample: Sample, size: int) -> Any:
    """Return the mean prediction of PLS of one size on bootstrap samples."""
    rng, n = np.random.default_rng(SEED), len(sample.y)
    found = []
    for _ in range(BAGS):
        rows = rng.integers(n, size=n)
        path = pls_path(sample.X[rows], sample.y[rows], max_components=max(size, 1))
        found.append(path[min(size, len(path) - 1)].predict(sample.X_new))
    return np.mean(found, axis=0)


def of_recipes(sample: Sample) -> dict[str, Any]:
    """Return predictions of the pools, and for spectra of what people do instead."""
    pools = {ONE: RecipeRegressor(recipes=sample.kind)}
    pools[POOL] = RecipeRegressor("average", recipes=sample.kind)
    found = {rule: one.fit(sample.X, sample.y).predict(sample.X_new) for rule, one in pools.items()}
    return found | searched(sample)


def searched(sample: Sample) -> dict[str, Any]:
    """Return predictions for spectra of one cross-validated recipe, and of a search over five."""
    X, y, X_new, found = sample.X, sample.y, sample.X_new, {}
    if sample.kind == "spectra":
        texts = recipe_texts("spectra", X.shape[1])[0]
        recipes = {text: as_recipe(text, {"max_components": MOST}) for text in texts}
        folds = {text: cross_validate(X, y, one, cv=10) for text, one in recipes.items()}
        best = min(folds, key=lambda text: np.min(folds[text].mean_error))
        for rule, text in ((UNSCALED, texts[0]), (GRID, best)):
            size = folds[text].select().index
            found[rule] = recipes[text](X, y)[size].predict(X_new)
    return found


def of_scikit_learn(sample: Sample) -> dict[str, Any]:
    """Return predictions of ridge, lasso and elastic net, tuned by cross-validation."""
    regressors: dict[str, Any] = {"RidgeCV": RidgeCV(alphas=np.logspace(-4, 5, 46))}
    if sample.kind == "spectra":
        regressors["LassoCV"] = LassoLarsCV(cv=10)
    else:
        usual = {"cv": 10, "alphas": 50, "tol": 1e-3, "max_iter": 2000}
        regressors["LassoCV"] = LassoCV(**usual)
        regressors["ElasticNetCV"] = ElasticNetCV(l1_ratio=[0.1, 0.5, 0.9], **usual)
    return {
        rule: make_pipeline(StandardScaler(), one).fit(sample.X, sample.y).predict(sample.X_new)
        for rule, one in regressors.items()
    }


def _single_rows(path: Any, n: int) -> Any:
    return path.left_out(cv=min(n, SINGLE_ROWS))


def run(repeats: int, count: int, out: File, families: list[str]) -> dict[str, dict[str, Any]]:
    """Run what is not in ``out`` yet: family -> design -> rule -> errors of the repeats."""
    known = json.loads(out.read_text(encoding="utf-8")) if out.exists() else {}

    def keep(family: str, name: str, result: dict[str, float]) -> None:
        design = known.setdefault(family, {}).setdefault(name, {})
        for rule, value in result.items():
            design.setdefault(rule, []).append(float(f"{value:.5g}"))

    for family, some in {REAL: real(), **simulated()}.items():
        for name, draw in some.items():
            if families and not any(one in f"{family}: {name}" for one in families):
                continue
            start = time.perf_counter()
            done = len(known.get(family, {}).get(name, {}).get(BASE, ()))
            for repeat in range(done, repeats):
                number = [SEED, *map(ord, f"{family}: {name}"), repeat]
                keep(family, name, errors_of(draw(np.random.default_rng(number))))
            if done < repeats:
                _write(known, out)
                print(f"{family}, {name}: {time.perf_counter() - start:.0f} s", flush=True)
    done = sum(len(one[BEST]) for one in known.get(RANDOM, {}).values())
    for number in range(done, count):
        family, sample = random_design(np.random.default_rng([RANDOM_SEED, number]))
        keep(RANDOM, f"{family}, {sample.method}", errors_of(sample))
        if number % 50 == 49 or number + 1 == count:
            _write(known, out)
            print(f"{number + 1} random designs", flush=True)
    return known


def _write(known: dict[str, Any], out: File) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(known), encoding="utf-8")


# Tables
# ------


def _both(one: dict[str, Any], rule: str, base: str, pooled: bool) -> Any:
    """Return errors of two rules in the repeats that both have, or their means. Shape (2, k)."""
    k = min(len(one[rule]), len(one[base]))
    both = np.array([one[rule][:k], one[base][:k]])
    return both.mean(axis=1, keepdims=True) if pooled else both


def _gains(designs: dict[str, Any], rule: str, base: str, pooled: bool) -> dict[str, float]:
    """Return mean log errors relative to a rule's, by design."""
    both = {name: np.log(_both(one, rule, base, pooled)) for name, one in designs.items()}
    return {name: float(np.mean(log[0] - log[1])) for name, log in both.items()}


def _rules(designs: dict[str, Any]) -> list[str]:
    """Return the rules that took part in all designs."""
    return [rule for rule in RULES if all(rule in one for one in designs.values())]


def summary(
    designs: dict[str, Any], bases: tuple[str, ...] = (BASE,), *, pooled: bool = False
) -> list[str]:
    """Return one row per rule: relative to each base, with standard errors between designs.

    Errors of repeats are compared one by one, or, if ``pooled``, their means.
    """
    titles = [f"error / {base}" for base in bases]
    lines = [
        "| rule | " + " | ".join(titles) + " | beyond twice the best | worst design |",
        "|---" * (len(bases) + 3) + "|",
    ]
    for rule in _rules(designs):
        cells = []
        for base in bases:
            means = list(_gains(designs, rule, base, pooled).values())
            mean, error = np.exp(np.mean(means)), np.std(means, ddof=1) / np.sqrt(len(means))
            cells.append(f"{mean:.3f} ± {mean * error:.3f}")
        first = _gains(designs, rule, bases[0], pooled)
        worst, name = max((log, name) for name, log in first.items())
        with_best = [_both(one, rule, BEST, pooled) for one in designs.values()]
        far = [np.mean(ours > 2 * best) for ours, best in with_best]
        cells += [f"{100 * np.mean(far):.1f} %", f"{np.exp(worst):.2f} ({name})"]
        lines.append(f"| {rule} | " + " | ".join(cells) + " |")
    return lines


def by_design(designs: dict[str, Any], base: str = BASE, *, pooled: bool = False) -> list[str]:
    """Return errors relative to a base's, one row per design or family."""
    rules = [rule for rule in RULES if rule != base and any(rule in v for v in designs.values())]
    lines = ["| design | " + " | ".join(rules) + " |", "|---" * (len(rules) + 1) + "|"]
    for name, one in designs.items():
        found = {rule: one[rule] for rule in rules if rule in one}
        gains = {rule: _gains({name: one}, rule, base, pooled)[name] for rule in found}
        cells = [f"{np.exp(gains[rule]):.2f}" if rule in gains else "" for rule in rules]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines


def by_family(known: dict[str, Any]) -> list[str]:
    """Return geometric means over the designs of each family."""
    pooled = {}
    for family, designs in known.items():
        if family in (PURE_NOISE, RANDOM):
            continue
        pooled[f"{family} ({len(designs)})"] = {
            rule: [float(np.exp(np.mean(np.log(one[rule])))) for one in designs.values()]
            for rule in _rules(designs)
        }
    return by_design(pooled)


def pure_noise(designs: dict[str, Any]) -> list[str]:
    """Return mean excess errors, in variances of the noise."""
    rules = _rules(designs)
    lines = ["| design | " + " | ".join(rules) + " |", "|---" * (len(rules) + 1) + "|"]
    for name, one in designs.items():
        cells = " | ".join(f"{np.mean(one[rule]):.3f}" for rule in rules)
        lines.append(f"| {name} | {cells} |")
    return lines


def tables(known: dict[str, Any]) -> dict[str, list[str]]:
    """Return everything: title -> lines of Markdown."""
    usual = {
        f"{family}, {name}": one
        for family, designs in known.items()
        if family not in (PURE_NOISE, REAL, RANDOM)
        for name, one in designs.items()
    }
    found = {}
    for title, designs in (("simulated designs", usual), ("real designs", known.get(REAL, {}))):
        spectra = {name: one for name, one in designs.items() if UNSCALED in one}
        others = {name: one for name, one in designs.items() if UNSCALED not in one}
        pls = {name: one for name, one in others.items() if POOL in one}
        for part, bases in (
            ({f"all {title} ({len(designs)})": designs}, (BASE,)),
            ({f"spectra among the {title} ({len(spectra)})": spectra}, (UNSCALED, GRID, BASE)),
            ({f"tables among the {title} ({len(pls)})": pls}, (BASE,)),
        ):
            for name, some in part.items():
                if len(some) > 1:
                    found[name] = summary(some, bases)
    if RANDOM in known:
        # Every sample is a design of its own.
        every = {
            f"{family} {i}": {rule: [values[i]] for rule, values in one.items()}
            for family, one in known[RANDOM].items()
            for i in range(len(one[BEST]))
        }
        found[f"{len(every)} random designs"] = summary(every)
        found["random designs by family"] = by_design(known[RANDOM])
    found["by family"] = by_family(known)
    if PURE_NOISE in known:
        found["pure noise: excess error"] = pure_noise(known[PURE_NOISE])
    found["by design"] = by_design(usual | known.get(REAL, {}))
    return found


def into_page(page: File, found: dict[str, list[str]]) -> None:
    """Put tables between ``<!-- table: start of the title -->`` and ``<!-- end -->``.

    What was not made stays as it is.
    """
    first, *parts = page.read_text(encoding="utf-8").split("<!-- table: ")
    text = first
    for part in parts:
        start, _, rest = part.partition(" -->")
        before, end, after = rest.partition("<!-- end -->")
        made = (lines for title, lines in found.items() if title.startswith(start))
        table = "\n".join(next(made, [before.strip()]))
        text += f"<!-- table: {start} -->\n{table}\n{end}{after}"
    page.write_text(text, encoding="utf-8")


def main() -> None:
    """Run, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--random", type=int, default=300, help="number of random designs")
    parser.add_argument("--families", nargs="*", default=[], help="only designs with these words")
    parser.add_argument("--out", type=File, default=RESULTS)
    parser.add_argument("--page", type=File, help="write the tables into this page")
    options = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        print("real data at hand:", ", ".join(real()), flush=True)
        known = run(options.repeats, options.random, options.out, options.families)
    found = tables(known)
    for title, lines in found.items():
        print("\n".join(["", f"## {title}", "", *lines]))
    if options.page:
        into_page(options.page, found)


if __name__ == "__main__":
    main()
