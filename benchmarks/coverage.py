"""How often intervals hold what they say, and how good the noise level is; nominal 95 %.

Run with ``python benchmarks/coverage.py [--repeats 200] [--only TEXT]``. Results are kept in
``results/coverage.json``: a run that was stopped goes on from there; ``--page docs/coverage.md``
writes the tables into that page. Measured are

observations    new responses at new rows, by the intervals of held-out rows of the single choice
                and of the average, of spectra of the average over recipes, too: simulated designs
                with 8 to 400 rows. Beside it the tenth of the new rows with the largest leverages,
                the mean width, and the Winkler score (width, and 40 times by how much a new
                response lies outside), both relative to intervals of +-1.96 RMSEP
real            the same in random splits of all real data sets (`choice_designs.real_data`, and the
                package LimeSoDa), by the number of rows to fit: a tenth of the repeats each
groups          new responses of new groups, with groups left out together and with groups ignored
noise           the noise level of the single choice and of the average over the true one
thirds          under heteroscedastic noise, rows with little, medium and much of it
coefficients    E[beta_m], m the median choice: X fixed (noise from cross-validation or the
                Jacobian, HC3), and X random (jackknife)
others          new observations by the normal distribution; the true mean by kind "mean";
                false alarms of T^2 and Q on new rows, nominal 5 %
"""

import argparse
import json
import time
import warnings
from dataclasses import replace
from functools import partial
from pathlib import Path as File
from typing import Any

import numpy as np
from choice import into_page
from choice_designs import (
    DESIGNS,
    autoregressive,
    coefficients,
    draw,
    factors,
    quadratic,
    real_data,
    soils,
    spectra,
    split,
)

from plsdof import RecipeRegressor, pls_path
from plsdof.chemometrics import hotelling_t2, q_residuals
from plsdof.inference import coefficient_inference, prediction_interval

RESULTS = File(__file__).with_name("results") / "coverage.json"
MOST = 30
ROWS = (8, 10, 12, 15, 20, 30, 50, 100, 200, 400)
REAL_ROWS = (15, 19, 20, 22, 24, 30, 40, 60, 100)
# A set takes part if so many rows are left.
LEAST_NEW = 15
WANTED = (0.93, 0.97)
POOL = "recipes"
NORMAL = 1.96
OTHERS = ("normal", "mean", "T2", "Q")
MODELS = {"single": "single choice", "average": "average", POOL: "average over recipes"}


def kinds(n: int) -> dict[str, dict[str, Any]]:
    """Return designs with n exchangeable rows: what `draw` takes."""
    few, many = max(3, n // 4), min(2 * n, 200)
    three = {"n": n, "p": few, "rows": autoregressive, "coef": "smooth", "r2": 0.8}
    return {
        "p < n": {"n": n, "p": few, "r2": 0.7},
        "p > n": {"n": n, "p": many, "rows": factors, "coef": "ones", "r2": 0.8},
        "spectra": {"n": n, "p": 100, "rows": spectra, "coef": "sparse1", "r2": 0.95},
        "t3 noise": {**three, "noise": "t3"},
        "heteroscedastic": {**three, "noise": "heteroscedastic"},
        "nonlinear": {**three, "mean": quadratic},
    }


def models_of(X: Any, y: Any, groups: Any = None) -> dict[str, Any]:
    """Return the single choice and the average."""
    path = pls_path(X, y, min(MOST, X.shape[1]))
    chosen = path.select(groups=groups)
    single = replace(path[chosen.index], selection=chosen)
    return {"single": single, "average": path.average(groups=groups)}


def of_sample(sample: Any) -> dict[str, dict[str, float]]:
    """Return what intervals of a sample's models do: what -> model -> number."""
    models = models_of(sample.X, sample.y)
    if sample.kind == "spectra":
        pool = RecipeRegressor("average", recipes="spectra").fit(sample.X, sample.y)
        models[POOL] = pool.model_
    usual = (
        2
        * NORMAL
        * float(np.sqrt(np.mean((sample.y_new - models["single"].predict(sample.X_new)) ** 2)))
    )
    found: dict[str, dict[str, float]] = {}
    for name, model in models.items():
        half = model.half_widths(sample.X_new)
        beyond = np.abs(sample.y_new - model.predict(sample.X_new)) - half
        farthest = np.argsort(model.leverage_at(sample.X_new))[-max(1, len(half) // 10) :]
        scores = 2 * half + 2 / 0.05 * np.maximum(beyond, 0)
        for what, value in {
            "inside": np.mean(beyond <= 0),
            "far": np.mean(beyond[farthest] <= 0),
            "width": 2 * np.mean(half) / usual,
            "winkler": np.mean(scores) / usual,
            "noise": model.noise_std / sample.sigma,
        }.items():
            found.setdefault(what, {})[name] = float(value)
    return found


def together(found: list[dict[str, dict[str, float]]]) -> dict[str, Any]:
    """Return means over samples with standard errors; of noise the median and how often it is low.

    Widths and scores are ratios: their means are geometric.
    """
    means: dict[str, Any] = {}
    for what in ("inside", "far", "width", "winkler", "noise"):
        for name in MODELS:
            values = [one[what][name] for one in found if name in one[what]]
            if len(values) < 2:
                continue
            if what == "noise":
                value = [float(np.median(values)), float(np.mean(np.less(values, 0.5)))]
            elif what in ("width", "winkler"):
                value = np.exp(share(np.log(values))[0]), share(np.log(values))[1]
            else:
                value = share(values)
            means.setdefault(what, {})[name] = list(map(float, value))
    if not np.isfinite(found[0]["noise"]["single"]):
        del means["noise"]
    return means.pop("inside") | means


def observations(make: Any, seed: list[int], repeats: int) -> dict[str, Any]:
    """Measure a simulated design."""
    rngs = [np.random.default_rng([*seed, repeat]) for repeat in range(repeats)]
    return together([of_sample(make(rng)) for rng in rngs])


def of_real(n: int, seed: list[int], repeats: int) -> dict[str, Any]:
    """Measure random splits of all real sets that are large enough; errors are between sets."""
    found = []
    sets = {
        name: one for name, one in (real_data() | soils()).items() if n + LEAST_NEW <= len(one.y)
    }
    for name, rows in sets.items():
        rngs = [np.random.default_rng([*seed, *map(ord, name), i]) for i in range(repeats)]
        each = [of_sample(split(rng, rows, n)) for rng in rngs]
        found.append(
            {
                what: {name: float(np.mean([one[what][name] for one in each])) for name in values}
                for what, values in each[0].items()
            }
        )
    return together(found) | {"sets": len(found)}


def grouped(seed: list[int], repeats: int, *, count: int, size: int) -> dict[str, Any]:
    """Measure new groups: rows of a group share half of the noise and lie close together."""
    inside: dict[str, list[float]] = {}
    for repeat in range(repeats):
        rng = np.random.default_rng([*seed, repeat])
        p, new = 30, 60
        X, F = factors(rng, count + new, p)
        mean = F @ coefficients(rng, F.shape[1], "ones")
        sd = 0.5 * np.std(mean)
        effect = sd * rng.standard_normal(count + new)
        groups = np.repeat(np.arange(count + new), size)
        X = X[groups] + 0.1 * rng.standard_normal((len(groups), p))
        y = (mean + effect)[groups] + sd * rng.standard_normal(len(groups))
        fitted = groups < count
        for name, labels in (("", groups[fitted]), (", groups ignored", None)):
            for kind, model in models_of(X[fitted], y[fitted], labels).items():
                error = np.abs(y[~fitted] - model.predict(X[~fitted]))
                half = model.half_widths(X[~fitted])
                inside.setdefault(kind + name, []).append(np.mean(error <= half))
    return {name: share(values) for name, values in inside.items()}


def thirds(seed: list[int], repeats: int, n: int = 100) -> dict[str, Any]:
    """Measure rows with little, medium and much noise."""
    inside: dict[str, list[float]] = {"least": [], "medium": [], "most": []}
    for repeat in range(repeats):
        rng = np.random.default_rng([*seed, repeat])
        sample = draw(rng, **kinds(n)["heteroscedastic"])
        model = models_of(sample.X, sample.y)["average"]
        error = np.abs(sample.y_new - model.predict(sample.X_new))
        held = error <= model.half_widths(sample.X_new)
        order = np.argsort(np.abs(sample.target - sample.target.mean()))
        for name, rows in zip(inside, np.array_split(order, 3), strict=True):
            inside[name].append(float(np.mean(held[rows])))
    return {name: share(values) for name, values in inside.items()}


COEFFICIENTS = {
    "left-out noise": {},
    "Jacobian noise": {"noise": "jacobian"},
    "HC3": {"covariance": "hc3"},
    "jackknife": {"covariance": "jackknife"},
}


def of_coefficients(options: dict[str, Any], seed: list[int], repeats: int) -> dict[str, Any]:
    """Measure intervals of E[beta_m]: X fixed, or drawn anew for the jackknife."""
    rng = np.random.default_rng(seed)
    beta = coefficients(rng, options["p"], options["coef"])
    pilot = [draw(rng, **{**options, "coef": beta}) for _ in range(repeats)]
    first = pilot[0]
    fixed = []
    for sample in pilot:
        mean = first.X @ beta
        # Noise of other rows of the same design, in the order of their means.
        order = np.argsort(np.argsort(mean))
        own = np.argsort(sample.X @ beta)
        fixed.append((first.X, mean + (sample.y - sample.X @ beta)[own][order]))
    anew = [(sample.X, sample.y) for sample in pilot]
    sizes = [models_of(X, y)["single"].index for X, y in fixed[:30]]
    m, found = max(1, int(np.median(sizes))), {}
    for name, how in COEFFICIENTS.items():
        models = [pls_path(X, y, m)[m] for X, y in (anew if name == "jackknife" else fixed)]
        target = np.mean([model.coef for model in models], axis=0)
        results = [coefficient_inference(model, **how) for model in models]
        found[name] = share([np.mean((r.lower <= target) & (target <= r.upper)) for r in results])
    return {"m": m, **found}


def others(options: dict[str, Any], seed: list[int], repeats: int) -> dict[str, Any]:
    """Measure normal intervals, intervals of the mean, and alarms."""
    found: dict[str, list[float]] = {}
    for repeat in range(repeats):
        sample = draw(np.random.default_rng([*seed, repeat]), **options)
        single = models_of(sample.X, sample.y)["single"]
        model = single.path[max(single.index, 1)]
        X_new, y_new, mean = sample.X_new[:100], sample.y_new[:100], sample.target[:100]
        for kind, target in (("observation", y_new), ("mean", mean)):
            limits = prediction_interval(model, X_new, kind=kind, method="normal")
            inside = (limits.lower <= target) & (target <= limits.upper)
            name = "normal" if kind == "observation" else kind
            found.setdefault(name, []).append(np.mean(inside))
        found.setdefault("T2", []).append(np.mean(hotelling_t2(model, X_new).flags))
        found.setdefault("Q", []).append(np.mean(q_residuals(model, X_new).flags))
    return {name: share(values) for name, values in found.items()}


def share(values: Any) -> list[float]:
    """Return a mean over repeats and its standard error."""
    return [float(np.mean(values)), float(np.std(values, ddof=1) / np.sqrt(len(values)))]


def tasks(repeats: int) -> dict[str, Any]:
    """Return everything to measure: name -> function of a seed."""
    found: dict[str, Any] = {}
    for n in ROWS:
        # Few rows make widths vary; many take long.
        times = 2 * repeats if n <= 15 else repeats if n <= 100 else repeats // 2
        for kind, options in kinds(n).items():
            make = partial(draw, **options)
            found[f"observations: n = {n}, {kind}"] = partial(observations, make, repeats=times)
    for n in REAL_ROWS:
        found[f"real: n = {n}"] = partial(of_real, n, repeats=max(1, repeats // 10))
    for count, size in ((10, 3), (15, 4), (25, 3), (40, 5)):
        found[f"groups: {count} of {size} rows"] = partial(
            grouped, repeats=repeats, count=count, size=size
        )
    found["thirds"] = partial(thirds, repeats=repeats)
    linear = {
        "independent 100 x 10": {"n": 100, "p": 10, "coef": "dense"},
        "AR .9, 60 x 20": {"n": 60, "p": 20, "rows": autoregressive, "coef": "smooth"},
        "blocks 100 x 40": DESIGNS["correlated"]["blocks, contrast, n>p"],
        "heteroscedastic 100 x 10": {
            "n": 100,
            "p": 10,
            "coef": "dense",
            "noise": "heteroscedastic",
        },
    }
    for name, options in linear.items():
        found[f"coefficients: {name}"] = partial(of_coefficients, options, repeats=repeats)
    linear["factors 50 x 100"] = kinds(50)["p > n"]
    linear["spectra 50 x 100"] = kinds(50)["spectra"]
    for name, options in linear.items():
        found[f"others: {name}"] = partial(others, options, repeats=repeats)
    return found


def run(repeats: int, only: str, out: File) -> dict[str, Any]:
    """Run what is not in ``out`` yet."""
    known = json.loads(out.read_text(encoding="utf-8")) if out.exists() else {}
    for name, measure in tasks(repeats).items():
        if only not in name or name in known:
            continue
        start = time.perf_counter()
        known[name] = rounded(measure([14, *map(ord, name)]))
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(json.dumps(known), encoding="utf-8")
        print(f"{name}: {time.perf_counter() - start:.0f} s, {known[name]}", flush=True)
    return known


def rounded(value: Any) -> Any:
    """Return numbers with four decimals."""
    if isinstance(value, dict):
        return {name: rounded(one) for name, one in value.items()}
    return [round(one, 4) for one in value] if isinstance(value, list) else value


# Tables
# ------


def percent(value: list[float]) -> str:
    mark = "" if WANTED[0] <= value[0] <= WANTED[1] else " !"
    return f"{100 * value[0]:.1f} ± {100 * value[1]:.1f}{mark}"


def table(known: dict[str, Any], start: str, columns: dict[str, str]) -> list[str]:
    """Return a table of what begins with a word; columns: key -> title."""
    lines = ["| | " + " | ".join(columns.values()) + " |", "|---" * (len(columns) + 1) + "|"]
    for name, found in known.items():
        if name.startswith(start):
            cells = [percent(found[key]) if key in found else "" for key in columns]
            lines.append(f"| {name.partition(': ')[2] or name} | " + " | ".join(cells) + " |")
    return lines


def by_rows(known: dict[str, Any], part: str | None = None) -> list[str]:
    """Return a row per n and a column per kind: single choice / average / average over recipes.

    In %: coverage, or "far", that of the farthest tenth, or "width" relative to one width.
    """
    lines = ["| n | " + " | ".join(kinds(50)) + " |", "|---" * (len(kinds(50)) + 1) + "|"]
    for n in ROWS:
        cells = []
        for kind in kinds(n):
            found = known.get(f"observations: n = {n}, {kind}", {})
            shown = found if part is None else found.get(part, {})
            values = [100 * shown[one][0] for one in MODELS if one in shown]
            cells.append(" / ".join(f"{one:.1f}" for one in values))
        lines.append(f"| {n} | " + " | ".join(cells) + " |")
    return lines


def of_bars(known: dict[str, Any]) -> list[str]:
    """Return how many simulated designs are within 93-97 %, and means over designs."""
    lines = ["| | designs | 93 to 97 | mean | lowest | farthest tenth: mean | lowest | width |"]
    lines.append("|---" * 8 + "|")
    for model, title in MODELS.items():
        of = [v for k, v in known.items() if k.startswith("observations") and model in v]
        if not of:
            continue
        all_rows = np.array([100 * one[model][0] for one in of])
        far = np.array([100 * one["far"][model][0] for one in of])
        width = np.exp(np.mean([np.log(one["width"][model][0]) for one in of]))
        # Rounded, as they are shown.
        within = np.sum((all_rows.round(1) >= 93) & (all_rows.round(1) <= 97))
        lines.append(
            f"| {title} | {len(of)} | {within} | {all_rows.mean():.1f} | {all_rows.min():.1f} | "
            f"{far.mean():.1f} | {far.min():.1f} | {width:.2f} |"
        )
    return lines


def real_rows(known: dict[str, Any]) -> list[str]:
    """Return a row per n: single choice / average / average over recipes."""
    lines = ["| n | sets | inside | farthest tenth | width | Winkler score |", "|---" * 6 + "|"]
    for n in REAL_ROWS:
        one = known.get(f"real: n = {n}")
        if one is None:
            continue
        cells = [" / ".join(percent(one[model]) for model in MODELS if model in one)]
        cells.append(" / ".join(f"{100 * v[0]:.1f}" for v in one["far"].values()))
        for what in ("width", "winkler"):
            cells.append(" / ".join(f"{v[0]:.2f}" for v in one[what].values()))
        lines.append(f"| {n} | {one['sets']} | " + " | ".join(cells) + " |")
    return lines


def noise(known: dict[str, Any]) -> list[str]:
    """Return noise level / true one: median and share below half, over kinds but nonlinear."""
    lines = ["| n | single: median | below half, % | average: median | below half, % |"]
    lines.append("|---" * 5 + "|")
    for n in ROWS:
        names = [f"observations: n = {n}, {kind}" for kind in kinds(n) if kind != "nonlinear"]
        some = [known[name]["noise"] for name in names if name in known]
        if some:
            cells = []
            for one in ("single", "average"):
                middle = [item[one][0] for item in some]
                cells.append(f"{np.mean(middle):.2f} ({min(middle):.2f}-{max(middle):.2f})")
                cells.append(f"{100 * np.mean([item[one][1] for item in some]):.1f}")
            lines.append(f"| {n} | " + " | ".join(cells) + " |")
    return lines


def tables(known: dict[str, Any]) -> dict[str, list[str]]:
    """Return everything: title -> lines of Markdown; "!" is outside of 93-97 %."""
    both = {name: title for name, title in MODELS.items() if name != POOL}
    ignored = {f"{one}, groups ignored": f"{title}, groups ignored" for one, title in both.items()}
    return {
        "summary": of_bars(known),
        "new observations": by_rows(known),
        "farthest tenth": by_rows(known, "far"),
        "widths": by_rows(known, "width"),
        "real data": real_rows(known),
        "new groups": table(known, "groups", both | ignored),
        "noise level": noise(known),
        "thirds": table(known, "thirds", {name: name for name in ("least", "medium", "most")}),
        "coefficients": table(known, "coefficients", {name: name for name in COEFFICIENTS}),
        "others": table(known, "others", {name: name for name in OTHERS}),
    }


def main() -> None:
    """Run, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=200)
    parser.add_argument("--only", default="", help="measure what has this in its name")
    parser.add_argument("--out", type=File, default=RESULTS)
    parser.add_argument("--page", type=File, help="write the tables into this page")
    options = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        known = run(options.repeats, options.only, options.out)
    found = tables(known)
    for title, lines in found.items():
        print("\n".join(["", f"## {title}, %", "", *lines]))
    if options.page:
        into_page(options.page, found)


if __name__ == "__main__":
    main()
