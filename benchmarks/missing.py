"""Coverage of intervals with missing values that are imputed, against complete data; nominal 95 %.

Run with ``python benchmarks/missing.py [--repeats 20]``; results go to ``results/missing.json``.
In five designs a share of the cells of X, also of new rows, is missing at random.

observations   new responses by the intervals of held-out rows, imputation made anew without them
coefficients   E[beta_m] of complete data; X, its holes and m (the median choice) fixed, normal
               noise of constant variance in all designs, noise level of the Jacobian; the
               completed X is taken for measured
error          root mean squared error at new rows over that of complete data
"""

import argparse
import json
import warnings
from dataclasses import replace
from functools import partial
from pathlib import Path as File
from typing import Any

import numpy as np
from choice_designs import autoregressive, draw, factors, spectra

from plsdof import pls_path
from plsdof.chemometrics import preprocessed
from plsdof.inference import coefficient_inference, prediction_interval

RESULTS = File(__file__).with_name("results") / "missing.json"
SHARES = (0.0, 0.05, 0.2)
MOST, NEW = 10, 100
AR = {"rows": autoregressive, "coef": "smooth", "r2": 0.8}
DESIGNS: dict[str, dict[str, Any]] = {
    "independent, p < n": {"n": 50, "p": 12, "r2": 0.7},
    "correlated, p < n": {"n": 50, "p": 12, **AR},
    "factors, p > n": {"n": 50, "p": 80, "rows": factors, "coef": "ones", "r2": 0.8},
    "spectra": {"n": 50, "p": 80, "rows": spectra, "coef": "sparse1", "r2": 0.95},
    "heteroscedastic": {"n": 50, "p": 12, **AR, "noise": "heteroscedastic"},
}


def punched(rng: Any, X: Any, share: float) -> Any:
    """Return rows with holes."""
    return np.where(rng.uniform(size=X.shape) < share, np.nan, X)


def measured(options: dict[str, Any], seed: int, repeats: int) -> dict[str, Any]:
    """Measure one design: name -> share of missing cells -> mean and standard error."""
    held: dict[str, dict[float, list[float]]] = {
        name: {share: [] for share in SHARES} for name in ("observations", "error")
    }
    first = draw(np.random.default_rng([seed, 0]), **options)
    fits: dict[float, list[Any]] = {share: [] for share in SHARES}
    sizes, rows = [], {}
    for repeat in range(repeats):
        rng = np.random.default_rng([seed, repeat])
        sample = draw(rng, **options)
        X_new, y_new = sample.X_new[:NEW], sample.y_new[:NEW]
        for share in SHARES:
            fit = preprocessed("impute", partial(pls_path, max_components=MOST))
            path = fit(punched(rng, sample.X, share), sample.y)
            chosen = path.select(cv=5)
            model = replace(path[chosen.index], selection=chosen)
            limits = prediction_interval(model, punched(rng, X_new, share))
            inside = (limits.lower <= y_new) & (y_new <= limits.upper)
            held["observations"][share].append(float(np.mean(inside)))
            error = np.sqrt(np.mean((limits.center - sample.target[:NEW]) ** 2))
            held["error"][share].append(float(error))
            sizes += [chosen.index] * (share == 0)
    # X fixed, new noise: the mean of y is that of the first sample's best fit.
    m = max(1, int(np.median(sizes)))
    mean, sigma = pls_path(first.X, first.y, m).fitted[m], first.sigma
    for share in SHARES:
        holes = punched(np.random.default_rng([seed, 1]), first.X, share)
        rows[share] = holes
        for repeat in range(3 * repeats):
            y = mean + sigma * np.random.default_rng([seed, 2, repeat]).standard_normal(len(mean))
            fit = preprocessed("impute", partial(pls_path, max_components=m))
            fits[share].append(fit(holes, y)[m])
    target = np.mean([model.coef for model in fits[0.0]], axis=0)
    found: dict[str, Any] = {"m": m, "observations": {}, "coefficients": {}, "error": {}}
    for share in SHARES:
        found["observations"][share] = spread(held["observations"][share])
        ratio = np.mean(held["error"][share]) / np.mean(held["error"][0.0])
        found["error"][share] = round(float(ratio), 3)
        limits = [coefficient_inference(one, noise="jacobian") for one in fits[share]]
        inside = [np.mean((one.lower <= target) & (target <= one.upper)) for one in limits]
        found["coefficients"][share] = spread(inside)
    return found


def spread(values: Any) -> list[float]:
    """Return a mean over repeats and its standard error."""
    error = np.std(values, ddof=1) / np.sqrt(len(values))
    return [round(float(np.mean(values)), 3), round(float(error), 3)]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=20)
    repeats = parser.parse_args().repeats
    warnings.simplefilter("ignore")
    found = {}
    for seed, (name, options) in enumerate(DESIGNS.items()):
        found[name] = measured(options, seed, repeats)
        print(name, json.dumps(found[name]), flush=True)
    RESULTS.write_text(json.dumps({"repeats": repeats, "designs": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
