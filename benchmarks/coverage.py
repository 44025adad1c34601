"""How often intervals hold what they say: coverage in simulated designs, with standard errors.

Run with ``python benchmarks/coverage.py [--repeats 300] [--design NAME ...] [--out DIR]``. Every
design is written to ``coverage.json`` in the output folder when it is done, and a run that was
stopped goes on from there: what is in the file with as many repeats is not measured again
(``--again`` does). ``--page``, docs/coverage.md by default, shows all that is in the file.

Every design has rows (drawn anew in every repeat, or spectra that were measured), a true mean and
noise. What is measured, all at nominal 95 %:

observations    new responses at new rows, at the number of components that ``path.select()`` has
                chosen: normal, conformal and jackknife+ with the choice inside
coefficients    E[beta_m] over repeats, m the median choice: X random (jackknife, also the "safe"
                maximum with a bootstrap), or X fixed over repeats (homoscedastic, HC3, "safe")
true mean       at new rows, kind "mean" and kind "truth"
noise           the noise variance, robust to kurtosis and not
alarms          T^2 and Q of clean new rows, limits from rows left out and textbook limits
"""

import argparse
import json
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import scipy.stats

from plsdof import kernel_pls_path, pls_path
from plsdof.chemometrics import hotelling_t2, q_residuals
from plsdof.datasets import load_gasoline, load_ozone
from plsdof.inference import (
    coefficient_inference,
    leave_out,
    noise_interval,
    permutation_test,
    prediction_interval,
)
from plsdof.selection import left_out_predictions
from plsdof.variants import pls2_path

LEVEL = 0.95
COMPONENTS = 15
NEW = 50
NORMAL = 1.959963984540054
# What designs are called whose noise is not normal, or whose mean is not linear.
NOT_NORMAL = ("heteroscedastic", "t3", "Friedman", "quadratic")


# Designs
# -------


@dataclass(kw_only=True)
class Design:
    """Rows, true mean and noise; ``pool`` are measured rows that training and new rows share."""

    name: str
    n: int
    rows: Callable | None = None
    mean: Callable
    noise: str = "normal"
    ratio: float = 4.0
    pool: np.ndarray | None = None
    linear: bool = True
    m: int | None = None
    sigma: float = field(init=False, default=1.0)

    def __post_init__(self):
        many = self.pool if self.pool is not None else self.rows(np.random.default_rng(99), 4000)
        signal = self.mean(many)
        self.centre, self.spread = signal.mean(), signal.std()
        self.sigma = self.spread / np.sqrt(self.ratio)
        self.scale = np.sqrt(np.mean((0.3 + np.abs(signal - self.centre) / self.spread) ** 2))

    def draw(self, rng):
        """Return training rows and new rows."""
        if self.pool is None:
            rows = self.rows(rng, self.n + NEW)
        else:
            rows = self.pool[rng.permutation(len(self.pool))]
        return rows[: self.n], rows[self.n :]

    def deviations(self, rows):
        """Return the standard deviations of the noise at rows."""
        if self.noise != "heteroscedastic":
            return np.full(len(rows), self.sigma)
        far = 0.3 + np.abs(self.mean(rows) - self.centre) / self.spread
        return self.sigma * far / self.scale

    def respond(self, rng, rows):
        """Draw responses of rows."""
        if self.noise == "t3":
            unit = rng.standard_t(3, len(rows)) / np.sqrt(3.0)
        else:
            unit = rng.normal(size=len(rows))
        return self.mean(rows) + self.deviations(rows) * unit


def autoregressive(rho, p):
    index = np.arange(p)
    root = np.linalg.cholesky(rho ** np.abs(index[:, None] - index) if rho else np.eye(p))
    return lambda rng, n: rng.normal(size=(n, p)) @ root.T


def factors(p, k, *, noise=0.5, seed=3):
    loadings = np.random.default_rng(seed).normal(size=(k, p))
    return lambda rng, n: rng.normal(size=(n, k)) @ loadings + noise * rng.normal(size=(n, p))


def in_factors(p, k, *, seed=3):
    """Return a mean that depends on the factors: coefficients in the space of the loadings."""
    loadings = np.random.default_rng(seed).normal(size=(k, p))
    values = np.random.default_rng(11).normal(size=k)
    return linear(np.linalg.solve(loadings @ loadings.T, values) @ loadings)


def log_normal(p, k, seed=4):
    loadings = np.abs(np.random.default_rng(seed).normal(size=(k, p)))
    return lambda rng, n: (
        np.exp(0.5 * rng.normal(size=(n, k))) @ loadings * np.exp(0.1 * rng.normal(size=(n, p)))
    )


def linear(beta):
    return lambda rows: rows @ beta


def any_coefficients(p, seed=2):
    return np.random.default_rng(seed).normal(size=p)


def hump(p):
    return np.sin(np.pi * (np.arange(p) + 1) / p)


def few(p, k=5, seed=1):
    rng = np.random.default_rng(seed)
    beta = np.zeros(p)
    beta[rng.choice(p, k, replace=False)] = 1.0 + rng.normal(size=k)
    return beta


def friedman(rows):
    first, second, third, fourth, fifth = rows[:, :5].T
    curved = 10 * np.sin(np.pi * first * second) + 20 * (third - 0.5) ** 2
    return curved + 10 * fourth + 5 * fifth


def in_spectra(pool, k=6):
    """Return a mean that depends on the first principal components of measured spectra."""
    _, S, V = np.linalg.svd(pool - pool.mean(axis=0), full_matrices=False)
    return linear(V[:k].T @ (np.array([0.3, 1.0, 0.8, -1.0, 0.5, 1.0])[:k] / S[:k]))


def designs():
    """Return all designs by name."""
    gasoline = load_gasoline(return_X_y=True)[0]
    ozone = load_ozone(return_X_y=True)[0]
    found = [
        Design(name="factor 50 x 100", n=50, rows=factors(100, 5), mean=in_factors(100, 5)),
        Design(name="factor 100 x 20", n=100, rows=factors(20, 5), mean=in_factors(20, 5)),
        Design(
            name="factor, any beta 60 x 50",
            n=60,
            rows=factors(50, 4),
            mean=linear(any_coefficients(50)),
        ),
        Design(name="n < p 30 x 200", n=30, rows=factors(200, 4), mean=in_factors(200, 4), ratio=9),
        Design(
            name="independent 100 x 10",
            n=100,
            rows=autoregressive(0.0, 10),
            mean=linear(any_coefficients(10)),
        ),
        Design(
            name="AR .5 60 x 20", n=60, rows=autoregressive(0.5, 20), mean=linear(hump(20)), ratio=9
        ),
        Design(
            name="AR .9 60 x 20",
            n=60,
            rows=autoregressive(0.9, 20),
            mean=linear(any_coefficients(20)),
        ),
        Design(
            name="AR .99 60 x 20",
            n=60,
            rows=autoregressive(0.99, 20),
            mean=linear(hump(20)),
            ratio=9,
            m=2,  # where the response decides which of two nearly equal directions comes second
        ),
        Design(
            name="late m, AR .7 60 x 40",
            n=60,
            rows=autoregressive(0.7, 40),
            mean=linear(any_coefficients(40)),
            ratio=50,
        ),
        Design(name="sparse 60 x 100", n=60, rows=autoregressive(0.5, 100), mean=linear(few(100))),
        Design(
            name="gasoline spectra 45 x 401",
            n=45,
            pool=gasoline,
            mean=in_spectra(gasoline),
            ratio=25,
        ),
        Design(
            name="ozone rows 120 x 12",
            n=120,
            pool=ozone,
            mean=linear(any_coefficients(12, 5) / ozone.std(axis=0)),
            ratio=3,
        ),
        Design(
            name="heteroscedastic AR .5 100 x 10",
            n=100,
            rows=autoregressive(0.5, 10),
            mean=linear(any_coefficients(10)),
            noise="heteroscedastic",
        ),
        Design(
            name="heteroscedastic factor 60 x 50",
            n=60,
            rows=factors(50, 4),
            mean=in_factors(50, 4),
            noise="heteroscedastic",
        ),
        Design(
            name="t3 noise AR .5 100 x 10",
            n=100,
            rows=autoregressive(0.5, 10),
            mean=linear(any_coefficients(10)),
            noise="t3",
        ),
        Design(
            name="t3 noise factor 60 x 50",
            n=60,
            rows=factors(50, 4),
            mean=in_factors(50, 4),
            noise="t3",
        ),
        Design(
            name="Friedman 100 x 10",
            n=100,
            rows=lambda rng, n: rng.uniform(size=(n, 10)),
            mean=friedman,
            ratio=9,
            linear=False,
        ),
        Design(
            name="quadratic factor 80 x 30",
            n=80,
            rows=factors(30, 3),
            mean=lambda rows: rows[:, 0] + 0.1 * rows[:, 1] ** 2,
            ratio=9,
            linear=False,
        ),
        Design(
            name="log-normal rows 60 x 50",
            n=60,
            rows=log_normal(50, 3),
            mean=linear(any_coefficients(50)),
        ),
        # Where the choice weighs most: a flat spectrum, and a model that nearly interpolates.
        Design(
            name="independent, sparse 40 x 120",
            n=40,
            rows=autoregressive(0.0, 120),
            mean=linear(few(120, 12)),
            ratio=3,
        ),
        Design(
            name="nearly square, AR .5 35 x 30",
            n=35,
            rows=autoregressive(0.5, 30),
            mean=linear(any_coefficients(30)),
            ratio=8,
        ),
    ]
    return {one.name: one for one in found}


# Measurements
# ------------


def fit(X, y, components=COMPONENTS):
    return pls_path(X, y, min(components, len(X) - 2, X.shape[1]))


def chosen(path):
    return path.select().index


def share(values):
    """Return a mean over repeats and its standard error."""
    values = np.asarray(values, dtype=float)
    return [float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))]


def random_rows(design, repeats):
    """Measure observations, true mean, noise and alarms: everything drawn anew."""
    inside, width = {}, {}

    def note(name, covered, size=np.nan):
        inside.setdefault(name, []).append(np.mean(covered))
        width.setdefault(name, []).append(size)

    sizes = []
    for repeat in range(repeats):
        rng = np.random.default_rng([repeat, 1])
        X, X_new = design.draw(rng)
        y, y_new = design.respond(rng, X), design.respond(rng, X_new)
        path = fit(X, y)
        m = chosen(path)
        sizes.append(m)
        oracle = 2 * NORMAL * np.mean(design.deviations(X_new))
        for method in ("normal", "conformal", "jackknife+"):
            found = prediction_interval(path, m, X_new, method=method, choose=chosen)
            covered = (found.lower <= y_new) & (y_new <= found.upper)
            note(method, covered, np.mean(found.upper - found.lower) / oracle)
        if design.linear:
            for kind in ("mean", "truth"):
                found = prediction_interval(path, m, X_new, kind=kind)
                truth = design.mean(X_new)
                covered = (found.lower <= truth) & (truth <= found.upper)
                note(kind, covered, np.mean(found.upper - found.lower) / oracle)
            for robust in (True, False):
                found = noise_interval(path, m, robust=robust)
                covered = found.lower[0] <= design.sigma**2 <= found.upper[0]
                ratio = np.sqrt(found.upper[0] / found.lower[0])
                note("noise, robust" if robust else "noise, normal", covered, ratio)
        size = max(m, 1)
        note("T2", hotelling_t2(path[size], X_new).flags)
        note("Q", q_residuals(path[size], X_new).flags)
        note("T2, F", hotelling_t2(path[size], X_new, limit="distribution").flags)
        note("Q, Jackson", q_residuals(path[size], X_new, limit="jackson-mudholkar").flags)
    return {
        "components": float(np.mean(sizes)),
        "m": max(1, int(np.median(sizes))),
        "inside": {name: share(values) for name, values in inside.items()},
        "width": {
            name: float(np.median(values))
            for name, values in width.items()
            if np.isfinite(values[0])
        },
    }


def coefficients(design, m, repeats, *, fixed):
    """Measure intervals of the coefficients of m components, X fixed over repeats or not."""
    rng = np.random.default_rng([2, fixed])
    X, _ = design.draw(rng)
    draws = []
    for _ in range(repeats):
        rows = X if fixed else design.draw(rng)[0]
        draws.append((rows, design.respond(rng, rows)))
    m = min(m, COMPONENTS)
    paths = [fit(rows, y, m) for rows, y in draws]
    estimates = np.array([path.coef[min(m, len(path.dof) - 1)] for path in paths])
    target = estimates.mean(axis=0)
    options = {
        "jackknife": {"covariance": "jackknife"},
        "safe": {"covariance": "jackknife", "method": "safe"},
    }
    if fixed:
        options = {"homoscedastic": {}, "hc3": {"covariance": "hc3"}}
        if design.m is not None:
            options["safe"] = {"method": "safe"}
    covered = {name: [] for name in options}
    for path in paths:
        index = min(m, len(path.dof) - 1)
        left_out = None if fixed else leave_out(path, index)
        for name, option in options.items():
            result = coefficient_inference(path, index, left_out=left_out, **option)
            covered[name].append((result.lower <= target) & (target <= result.upper))
    return {
        name: [*share(np.mean(inside, axis=1)), float(np.mean(inside, axis=0).min())]
        for name, inside in covered.items()
    }


def measure(design, repeats):
    """Return all measurements of one design."""
    started = time.perf_counter()
    found = random_rows(design, repeats)
    found["m"] = m = found["m"] if design.m is None else design.m
    found["fixed X"] = coefficients(design, m, repeats, fixed=True)
    if design.pool is None:
        found["random X"] = coefficients(design, m, repeats, fixed=False)
    return found | {"repeats": repeats, "seconds": time.perf_counter() - started}


def kernel_curve(repeats, n=100):
    """Measure kernel PLS on a curve: observations, and the curve itself."""
    found = {}
    for repeat in range(repeats):
        rng = np.random.default_rng([repeat, 4])
        X, X_new = rng.uniform(-1, 1, size=(n, 1)), rng.uniform(-1, 1, size=(NEW, 1))
        curve, truth = np.sin(4 * X[:, 0]), np.sin(4 * X_new[:, 0])
        y_new = truth + 0.3 * rng.normal(size=NEW)
        path = kernel_pls_path(X, curve + 0.3 * rng.normal(size=n), "rbf", 15, gamma=1.0)
        m = chosen(path)
        for name, target, option in (
            ("mean", truth, {"kind": "mean"}),
            ("truth", truth, {"kind": "truth"}),
            ("normal", y_new, {}),
            ("conformal", y_new, {"method": "conformal"}),
        ):
            limits = prediction_interval(path, m, X_new, **option)
            inside = (limits.lower <= target) & (target <= limits.upper)
            found.setdefault(name, []).append(np.mean(inside))
    return {name: share(values) for name, values in found.items()} | {"repeats": repeats}


def several_responses(repeats, n=50, p=12):
    """Measure PLS2 on two responses with noise of heavy tails; the number of components is held."""
    found = {}
    mixing = np.random.default_rng(8).normal(size=(3, 2))
    for repeat in range(repeats):
        rng = np.random.default_rng([repeat, 5])
        X = factors(p, 3)(rng, n + NEW)
        Y = X[:, :3] @ mixing + 2.0 * rng.standard_t(3, size=(n + NEW, 2))
        path = pls2_path(X[:n], Y[:n], 6)
        m = max(1, path.select().index)
        for method in ("normal", "conformal", "jackknife+"):
            limits = path.prediction_interval(m, X[n:], method=method)
            inside = (limits[..., 0] <= Y[n:]) & (Y[n:] <= limits[..., 1])
            found.setdefault(method, []).append(np.mean(inside))
    return {name: share(values) for name, values in found.items()} | {"repeats": repeats}


def null_p_values(repeats, n=40, p=60):
    """Return p-values of the permutation test on data sets without a relation."""
    values = []
    for repeat in range(repeats):
        rng = np.random.default_rng([repeat, 3])
        X = rng.normal(size=(n, 5)) @ rng.normal(size=(5, p)) + rng.normal(size=(n, p))
        path = pls_path(X, rng.normal(size=n), 10)
        test = permutation_test(path, n_permutations=199, random_state=repeat)
        # Multiples of 1/200: moved into their cells.
        values.append(test.p_value - rng.uniform() / 200)
    return values


def spectra(n=70, p=700):
    rng = np.random.default_rng(0)
    X = np.cumsum(rng.normal(size=(n, p)), axis=1)
    return X, X[:, 300] + rng.normal(size=n)


def permutations(repeats):
    """Measure the level of the permutation test."""
    values = np.array(null_p_values(repeats))
    return {
        "repeats": repeats,
        "kolmogorov-smirnov p": float(scipy.stats.kstest(values, "uniform").pvalue),
        "rejected at 5 %": share(values <= 0.05),
    }


def seconds(function, repeats=5):
    """Return the shortest time of some runs."""
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        function()
        times.append(time.perf_counter() - started)
    return min(times)


def costs():
    """Measure what intervals and tests take, on this machine."""
    X, y = spectra()
    path, few = pls_path(X, y, 30), pls_path(X, y, 15)
    wide, answer = spectra(200, 3000)
    long = pls_path(wide, answer, 20)
    return {
        "999 permutations of 70 x 700, 30 components": seconds(
            lambda: permutation_test(path, n_permutations=999), 1
        ),
        "a path of 200 x 3000, 20 components": seconds(lambda: pls_path(wide, answer, 20)),
        "intervals of its 3000 coefficients": seconds(
            lambda: coefficient_inference(replace(long), 10, distribution="normal")
        ),
        "a path of 70 x 700, 15 components, and a choice": seconds(
            lambda: pls_path(X, y, 15).select()
        ),
        "all of its models without each row in turn": seconds(lambda: left_out_predictions(few)),
        "jackknife+ with the choice inside": seconds(
            lambda: prediction_interval(few, 3, X, method="jackknife+", choose=chosen), 2
        ),
    }


# The page
# --------


def percent(pair):
    return f"{100 * pair[0]:.1f} ± {100 * pair[1]:.1f}"


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def observations_table(results):
    rows = [
        [name, f"{one['components']:.1f}"]
        + [
            f"{percent(one['inside'][method])} ({one['width'][method]:.2f})"
            if method in one["inside"]
            else ""
            for method in ("normal", "conformal", "jackknife+")
        ]
        for name, one in results.items()
    ]
    return table(["design", "components", "normal", "conformal", "jackknife+"], rows)


def coefficients_table(results):
    rows = []
    for name, one in results.items():
        cells = [name, str(one["m"])]
        for where, kind in (
            ("random X", "jackknife"),
            ("random X", "safe"),
            ("fixed X", "homoscedastic"),
            ("fixed X", "hc3"),
            ("fixed X", "safe"),
        ):
            found = one.get(where, {}).get(kind)
            cells.append("" if found is None else f"{percent(found)} ({100 * found[2]:.0f})")
        rows.append(cells)
    names = ["rows random: jackknife", "jackknife, safe", "X fixed: homoscedastic", "HC3", "safe"]
    return table(["design", "m", *names], rows)


def others_table(results):
    rows = []
    for name, one in results.items():
        inside, width = one["inside"], one["width"]
        cells = [name]
        for kind in ("mean", "truth", "noise, robust", "noise, normal"):
            cells.append(f"{percent(inside[kind])} ({width[kind]:.2f})" if kind in inside else "")
        rows.append(cells)
    return table(["design", "mean", "truth", "noise, robust", "noise, normal"], rows)


def alarms_table(results):
    kinds = ("T2", "T2, F", "Q", "Q, Jackson")
    rows = [
        [name, *(percent(one["inside"][kind]) for kind in kinds)] for name, one in results.items()
    ]
    head = ["design", "T2, rows left out", "T2, F", "Q, rows left out", "Q, Jackson-Mudholkar"]
    return table(head, rows)


def claims_table(results):
    """Return what ought to hold in every design, and where it does not."""
    # The option that is recommended for the rows of a design: a sample, or rows that were set.
    advised = {
        name: one["random X"]["safe"] if "random X" in one else one["fixed X"]["homoscedastic"]
        for name, one in results.items()
    }
    inside = {name: one["inside"] for name, one in results.items()}
    gaussian = [name for name in results if not any(kind in name for kind in NOT_NORMAL)]
    checks = [
        ("new observations, conformal", 93, 98, inside, "conformal"),
        ("new observations, jackknife+", 93, 98, inside, "jackknife+"),
        (
            "new observations, normal (normal noise, linear mean)",
            92,
            98,
            {name: inside[name] for name in gaussian},
            "normal",
        ),
        ("coefficients, recommended option", 93, 98, advised, 0),
        ("coefficients, the worst single one", 90, 100, advised, 2),
        ('true mean, kind "truth"', 92, 100, inside, "truth"),
        (
            "noise variance, robust, t3 noise",
            85,
            100,
            {name: one for name, one in inside.items() if "t3" in name},
            "noise, robust",
        ),
        ("false alarms of T2", 3, 8, inside, "T2"),
        ("false alarms of Q", 3, 8, inside, "Q"),
    ]
    rows = []
    for what, low, high, values, key in checks:
        found = {}
        for name, one in values.items():
            if isinstance(key, str) and key not in one:
                continue
            value = one[key]
            found[name] = 100 * (value[0] if isinstance(value, list) else value)
        bad = {name: value for name, value in found.items() if not low <= value <= high}
        outside = "; ".join(f"{name} ({value:.1f})" for name, value in bad.items())
        rows.append([what, f"{low}-{high}", f"{len(found) - len(bad)} of {len(found)}", outside])
    return table(["what", "% wanted", "designs", "outside"], rows)


def page(content):
    """Return the page of all measurements."""
    results, test = content["designs"], content.get("permutations")
    repeats = sorted({one["repeats"] for one in results.values()})
    parts = [
        f"`make coverage`: {len(results)} designs, {' to '.join(map(str, repeats))} repeats each; "
        "everything in %, nominal 95, ± standard error over the repeats.",
        "What ought to hold in every design, and where it does not (standard errors are in the "
        "tables below):",
        claims_table(results),
        "**New observations**, at the number of components that `path.select()` has chosen; in "
        "brackets the width, relative to an interval that knows mean and noise. jackknife+ makes "
        "the choice again in every fit.",
        observations_table(results),
        "**Coefficients**, E[beta_m] at the median choice m; in brackets the worst single "
        "coefficient (the smallest of many shares, so lower by chance). Recommended: where rows "
        'are a sample, covariance "jackknife" with method "safe", which is the larger one of the '
        'jackknife and a bootstrap; for rows that were set, "homoscedastic", or "hc3" if the '
        "noise varies. The jackknife is too wide where the Degrees of Freedom come near n (late "
        "m). With X fixed, what the components leave out counts as noise, and intervals are too "
        "wide where that is much.",
        coefficients_table(results),
        '**True mean** of a new row, by kind "mean" (which is about the expected fit of m '
        'components) and kind "truth" (three more components); **noise variance**, robust to '
        "kurtosis and not. In brackets the width relative to the oracle's interval of an "
        "observation, and the ratio of the limits of sigma. What the components leave out of the "
        "mean counts as noise, which no interval of the noise can know (sparse, log-normal rows).",
        others_table(results),
        "**False alarms** on clean new rows, nominal 5 %.",
        alarms_table(results),
    ]
    kernel = content.get("kernel")
    if kernel is not None:
        parts.append(
            f"**Kernel PLS** on a sine curve, n = 100, {kernel['repeats']} repeats. The curve: "
            f'{percent(kernel["mean"])} with kind "mean", which leaves out the bias of few '
            f'components, {percent(kernel["truth"])} with kind "truth". New observations: '
            f"{percent(kernel['normal'])} normal, {percent(kernel['conformal'])} conformal."
        )
    several = content.get("several responses")
    if several is not None:
        shares = ", ".join(
            f"{percent(several[method])} {method}"
            for method in ("normal", "conformal", "jackknife+")
        )
        parts.append(
            f"**PLS2**, two responses with t3 noise, n = 50, {several['repeats']} repeats, the "
            f"number of components held fixed. New observations: {shares}."
        )
    if test is not None:
        parts.append(
            f"**Permutation test** without a relation, {test['repeats']} data sets: "
            f"{percent(test['rejected at 5 %'])} % rejected at level 5 %, Kolmogorov-Smirnov test "
            f"of uniform p-values p = {test['kolmogorov-smirnov p']:.2f}."
        )
    cost = content.get("costs")
    if cost is not None:
        parts.append("**Seconds**, one thread of a shared machine.")
        parts.append(table(["what", "s"], [[name, f"{one:.3f}"] for name, one in cost.items()]))
    return "\n\n".join(parts) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=300)
    parser.add_argument("--design", action="append", help="name, or part of it; all by default")
    parser.add_argument("--permutations", type=int, default=1000, help="data sets, 0 for none")
    parser.add_argument(
        "--kernel", type=int, default=300, help="data sets of kernel PLS and of PLS2, 0 for none"
    )
    parser.add_argument("--again", action="store_true", help="measure what is there already, too")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("results"))
    parser.add_argument("--page", type=Path, default=Path("docs/coverage.md"))
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    file = asked.out / "coverage.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    content = json.loads(file.read_text()) if file.exists() else {"designs": {}}
    known = designs()

    def keep():
        order = [name for name in known if name in content["designs"]]
        content["designs"] = {name: content["designs"][name] for name in order}
        file.write_text(json.dumps(content, indent=1) + "\n")
        asked.page.write_text(page(content))

    def is_there(found, repeats):
        return not asked.again and found is not None and found["repeats"] == repeats

    for name, design in known.items():
        wanted = asked.design is None or any(part in name for part in asked.design)
        if wanted and not is_there(content["designs"].get(name), asked.repeats):
            content["designs"][name] = measure(design, asked.repeats)
            print(name, json.dumps(content["designs"][name]), flush=True)
            keep()
    if asked.kernel and not is_there(content.get("kernel"), asked.kernel):
        content["kernel"] = kernel_curve(asked.kernel)
        keep()
    if asked.kernel and not is_there(content.get("several responses"), asked.kernel):
        content["several responses"] = several_responses(asked.kernel)
        keep()
    if asked.permutations and not is_there(content.get("permutations"), asked.permutations):
        content["permutations"] = permutations(asked.permutations)
    content["costs"] = costs()
    keep()


if __name__ == "__main__":
    main()
