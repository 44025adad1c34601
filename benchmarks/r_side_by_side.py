"""Call R's pls and this package side by side; print the largest relative difference of each call.

    python benchmarks/r_side_by_side.py [--reference FOLDER]

R with its package pls has to be installed (on Debian: r-base-core and r-cran-pls). R's packages
plsdof and ppls are not called: numbers made by running plsdof 0.3-2 can be given as a folder of
JSON files, one per data set. Nothing here is part of the test suite.

Data go to R and results come back as binary doubles, so that no digit is lost on the way. The
difference of a call is max |ours - R's| / max |R's|; scores and loadings are compared up to signs.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from plsdof import cross_validate, dof_lower_bound, pcr_path, pls2_path, pls_path, ridge_path
from plsdof.chemometrics import Preprocessor, explained_variance, vip
from plsdof.datasets import load_gasoline
from plsdof.inference import jackknife

ROWS, MOST = 60, 10
TRAIN = slice(0, 40)

SETUP = r"""
suppressMessages(library(pls))
folder <- commandArgs(TRUE)[1]
read <- function(name, columns) {
  values <- readBin(file.path(folder, paste0(name, ".bin")), "double", 1e7)
  matrix(values, ncol = columns, byrow = TRUE)
}
emit <- function(name, values) {
  values <- as.double(unclass(values))
  writeBin(values, file.path(folder, paste0(name, ".out")))
}
X <- read("X", 401); y <- drop(read("y", 1))
folds <- cvsegments(60, 10, type = "interleaved")
plain <- plsr(y ~ X, 10, validation = "CV", segments = folds, jackknife = TRUE)
scaled <- plsr(y ~ X, 10, scale = TRUE, validation = "CV", segments = folds)
loo <- plsr(y ~ X, 10, validation = "LOO")
pc <- pcr(y ~ X, 10, validation = "CV", segments = folds)
some <- data.frame(y = y[1:40]); some$X <- X[1:40, ]
others <- data.frame(y = y[41:60]); others$X <- X[41:60, ]
part <- plsr(y ~ X, 6, data = some)
sim <- plsr(y ~ X, 5, method = "simpls")
wide <- plsr(y ~ X, 5, method = "widekernelpls")
nipals <- plsr(y ~ X, 5, method = "oscorespls")
data(oliveoil)
oil <- plsr(sensory ~ chemical, 4, scale = TRUE, data = oliveoil, method = "oscorespls")
oil_simpls <- plsr(sensory ~ chemical, 4, scale = TRUE, data = oliveoil, method = "simpls")
emit("oil_x", t(unclass(oliveoil$chemical))); emit("oil_y", t(unclass(oliveoil$sensory)))
importance <- function(fit, m) {
  explained <- (drop(Yloadings(fit))[1:m])^2 * colSums(scores(fit)[, 1:m]^2)
  W <- loading.weights(fit)[, 1:m]
  share <- sweep(W^2, 2, colSums(W^2), "/") %*% explained
  sqrt(nrow(W) * share / sum(explained))
}
"""


@dataclass(frozen=True)
class Call:
    """One call in R and here. ``shape`` is that of R's array, filled column by column."""

    name: str
    r: str
    ours: Callable[[Any], Any]
    shape: tuple[int, ...] = (-1,)
    signs: bool = False


class Fits:
    """Our fits to the same data, made once."""

    def __init__(self) -> None:
        self.X, self.y = load_gasoline(return_X_y=True)
        self.sd = self.X.std(axis=0, ddof=1)
        self.plain = pls_path(self.X, self.y, MOST, scale=False)
        self.scaled = pls_path(self.X, self.y, MOST)
        self.pc = pcr_path(self.X, self.y, MOST, scale=False)
        options: dict[str, Any] = {"cv": 10, "max_components": MOST}
        self.cv = cross_validate(self.X, self.y, scale=False, **options)
        self.cv_scaled = cross_validate(self.X, self.y, **options)
        self.cv_pc = cross_validate(self.X, self.y, "pcr", scale=False, **options)
        self.loo = cross_validate(self.X, self.y, cv=ROWS, max_components=MOST, scale=False)
        self.part = pls_path(self.X[TRAIN], self.y[TRAIN], 6, scale=False)
        self.jack = jackknife(self.plain[3], cv=10)
        self.oil_x = self.oil_y = np.empty(0)

    def oil(self, algorithm: str = "nipals") -> Any:
        return pls2_path(self.oil_x, self.oil_y, 4, algorithm=algorithm)

    def test_error(self) -> Any:
        error = self.part.predict(self.X[40:]) - self.y[40:]
        return np.mean(error**2, axis=1)


def calls() -> list[Call]:
    """Return all calls, R's name first."""
    per_row, per_column = (ROWS, MOST), (401, MOST)
    return [
        Call("coef(fit, 3)", "coef(plain, ncomp = 3)", lambda f: f.plain.coef[3]),
        Call(
            "coef(fit), all sizes", "plain$coefficients", lambda f: f.plain.coef[1:].T, per_column
        ),
        Call(
            "coef(fit, intercept = TRUE)",
            "coef(plain, 3, intercept = TRUE)[1]",
            lambda f: f.plain.intercept[3],
        ),
        Call("coef, scale = TRUE", "coef(scaled, ncomp = 3)", lambda f: f.scaled.coef[3] * f.sd),
        Call("predict(fit)", "predict(plain)", lambda f: f.plain.predict(f.X)[1:].T, per_row),
        Call(
            "predict, scale = TRUE",
            "predict(scaled)",
            lambda f: f.scaled.predict(f.X)[1:].T,
            per_row,
        ),
        Call(
            "predict(fit, newdata)",
            "predict(part, newdata = others)",
            lambda f: f.part.predict(f.X[40:])[1:].T,
            (20, 6),
        ),
        Call(
            "predict(fit, comps = 2:3)",
            "predict(plain, comps = 2:3)",
            lambda f: f.plain.predict_components(f.X, [2, 3]),
        ),
        Call(
            'predict(type = "scores")',
            'predict(part, newdata = others, type = "scores")',
            lambda f: f.part.transform(f.X[40:]),
            (20, 6),
            True,
        ),
        Call("fitted(fit)", "fitted(plain)", lambda f: f.plain.fitted[1:].T, per_row),
        Call("residuals(fit)", "residuals(plain)", lambda f: (f.y - f.plain.fitted[1:]).T, per_row),
        Call("scores(fit)", "scores(plain)", lambda f: f.plain.x_scores, per_row, True),
        Call("loadings(fit)", "loadings(plain)", lambda f: f.plain.x_loadings, per_column, True),
        Call(
            "loading.weights(fit)",
            "loading.weights(plain)",
            lambda f: f.plain.x_weights,
            per_column,
            True,
        ),
        Call("fit$projection", "plain$projection", lambda f: f.plain.x_rotations, per_column, True),
        Call(
            "Yloadings(fit)",
            "Yloadings(plain)",
            lambda f: f.plain.y_loadings[None],
            (1, MOST),
            True,
        ),
        Call("scores, scale = TRUE", "scores(scaled)", lambda f: f.scaled.x_scores, per_row, True),
        Call(
            "loadings, scale = TRUE",
            "loadings(scaled)",
            lambda f: f.scaled.x_loadings,
            per_column,
            True,
        ),
        Call("explvar(fit)", "explvar(plain)", lambda f: 100 * explained_variance(f.plain).x),
        Call("fit$Xmeans", "plain$Xmeans", lambda f: f.X.mean(axis=0)),
        Call("fit$scale", "scaled$scale", lambda f: f.sd),
        Call(
            'RMSEP(fit, "train")',
            'RMSEP(plain, "train")$val',
            lambda f: np.sqrt(f.plain.rss / ROWS),
        ),
        Call('MSEP(fit, "train")', 'MSEP(plain, "train")$val', lambda f: f.plain.rss / ROWS),
        Call(
            'R2(fit, "train")', 'R2(plain, "train")$val', lambda f: 1 - f.plain.rss / f.plain.rss[0]
        ),
        Call(
            "RMSEP, train, scale = TRUE",
            'RMSEP(scaled, "train")$val',
            lambda f: np.sqrt(f.scaled.rss / ROWS),
        ),
        Call("RMSEP(fit), CV", 'RMSEP(plain, "CV")$val[-1]', lambda f: f.cv.rmse[1:]),
        Call("MSEP(fit), CV", 'MSEP(plain, "CV")$val[-1]', lambda f: f.cv.rmse[1:] ** 2),
        Call(
            "RMSEP, CV, scale = TRUE", 'RMSEP(scaled, "CV")$val[-1]', lambda f: f.cv_scaled.rmse[1:]
        ),
        Call(
            "fit$validation$pred",
            "plain$validation$pred",
            lambda f: f.cv.predictions[0, 1:].T,
            per_row,
        ),
        Call("fit$validation$PRESS", "plain$validation$PRESS", lambda f: ROWS * f.cv.rmse[1:] ** 2),
        Call(
            "R2(fit), CV",
            'R2(plain, "CV")$val[-1]',
            lambda f: 1 - ROWS * f.cv.rmse[1:] ** 2 / f.plain.rss[0],
        ),
        Call('validation = "LOO"', 'RMSEP(loo, "CV")$val[-1]', lambda f: f.loo.rmse[1:]),
        Call(
            "cvsegments, interleaved",
            "rep(1:10, each = 6)[order(unlist(folds))]",
            lambda _: np.arange(ROWS) % 10 + 1,
        ),
        Call("MSEP(fit, newdata)", "MSEP(part, newdata = others)$val", Fits.test_error),
        Call(
            "RMSEP(fit, newdata)",
            "RMSEP(part, newdata = others)$val",
            lambda f: np.sqrt(f.test_error()),
        ),
        Call(
            "jack.test, coefficients", "jack.test(plain, 3)$coefficients", lambda f: f.plain.coef[3]
        ),
        Call("jack.test, sd", "jack.test(plain, 3)$sd", lambda f: f.jack.std_error),
        Call(
            "jack.test, t",
            "jack.test(plain, 3)$tvalues",
            lambda f: f.plain.coef[3] / f.jack.std_error,
        ),
        Call("var.jack(fit)", "var.jack(plain, 3)", lambda f: f.jack.std_error**2),
        Call("pcr, coef", "pc$coefficients", lambda f: f.pc.coef[1:].T, per_column),
        Call("pcr, scores", "scores(pc)", lambda f: f.pc.x_scores[:, :MOST], per_row, True),
        Call(
            "pcr, loadings", "loadings(pc)", lambda f: f.pc.x_loadings[:, :MOST], per_column, True
        ),
        Call("pcr, explvar", "explvar(pc)", lambda f: 100 * explained_variance(f.pc).x[:MOST]),
        Call("pcr, RMSEP CV", 'RMSEP(pc, "CV")$val[-1]', lambda f: f.cv_pc.rmse[1:]),
        Call("simpls, coef", "coef(sim, ncomp = 5)", lambda f: f.plain.coef[5]),
        Call(
            "simpls, scores",
            "scores(sim)",
            lambda f: f.plain.x_scores[:, :5] / np.linalg.norm(f.plain.x_scores[:, :5], axis=0),
            (ROWS, 5),
            True,
        ),
        Call("widekernelpls, coef", "coef(wide, ncomp = 5)", lambda f: f.plain.coef[5]),
        Call("oscorespls, coef", "coef(nipals, ncomp = 5)", lambda f: f.plain.coef[5]),
        Call("VIP of three components", "importance(plain, 3)", lambda f: vip(f.plain[3])),
        Call(
            "corrplot(fit)",
            "cor(X, scores(plain)[, 1:2])",
            lambda f: np.corrcoef(f.X.T, f.plain.x_scores[:, :2].T)[:401, 401:],
            (401, 2),
            True,
        ),
        Call("msc(X)", "msc(X)", lambda f: Preprocessor("msc").fit_transform(f.X), (ROWS, 401)),
        Call(
            "plsr, six responses, coef",
            "coef(oil, ncomp = 3)",
            lambda f: f.oil().coef[3] * f.oil_x.std(axis=0, ddof=1)[:, None],
            (5, 6),
        ),
        Call(
            "plsr, six responses, fitted",
            "fitted(oil)[, , 3]",
            lambda f: f.oil().fitted[3],
            (16, 6),
        ),
        Call(
            "plsr, six responses, scores", "scores(oil)", lambda f: f.oil().x_scores, (16, 4), True
        ),
        Call(
            "simpls, six responses, fitted",
            "fitted(oil_simpls)[, , 3]",
            lambda f: f.oil("simpls").fitted[3],
            (16, 6),
        ),
    ]


def run_r(found: list[Call], fits: Fits, folder: Path) -> dict[str, Any]:
    """Run all calls in one process of R; return its arrays by the name of the call."""
    fits.X.astype(float).tofile(folder / "X.bin")
    fits.y.astype(float).tofile(folder / "y.bin")
    lines = [SETUP, *(f'emit("{i}", {call.r})' for i, call in enumerate(found))]
    (folder / "calls.R").write_text("\n".join(lines))
    subprocess.run(["Rscript", str(folder / "calls.R"), str(folder)], check=True)
    fits.oil_x = np.fromfile(folder / "oil_x.out").reshape(16, 5)
    fits.oil_y = np.fromfile(folder / "oil_y.out").reshape(16, 6)
    return {
        call.name: np.fromfile(folder / f"{i}.out").reshape(call.shape, order="F")
        for i, call in enumerate(found)
    }


def difference(ours: Any, theirs: Any, *, signs: bool = False) -> float:
    """Return max |ours - theirs| / max |theirs|, columns up to sign if wished."""
    ours, theirs = np.asarray(ours, dtype=float), np.asarray(theirs, dtype=float)
    if signs:
        ours = ours * np.sign(np.sum(ours * theirs, axis=0))
    return float(np.max(np.abs(ours.reshape(theirs.shape) - theirs)) / np.max(np.abs(theirs)))


# Numbers that R's plsdof 0.3-2 returned, from files
# --------------------------------------------------


def stored(folder: Path) -> Iterator[tuple[str, float]]:
    """Yield what was called in R's plsdof, and the difference, for every file in a folder."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    from _helpers import problems

    problems.DATA = folder.parent / "data"
    for case in ("small", "ozone", "kin32fh-300", "cookie-fat"):
        numbers = json.loads((folder / f"{case}.json").read_text())
        X, y = problems.load_case(case, numbers)
        n, most = len(y), len(numbers["RSS"]) - 1
        path, limit = pls_path(X, y, most), min(n - 1, X.shape[1] + 1)
        yield f"{case}: pls.model()$RSS", difference(path.rss, numbers["RSS"])
        yield f"{case}: $coefficients", difference(path.coef, numbers["coefficients"])
        yield f"{case}: $intercept", difference(path.intercept, numbers["intercept"])
        yield (
            f"{case}: $DoF, Lanczos, clipped",
            difference(np.minimum(path.dof, limit), numbers["lanczos"]["DoF"]),
        )
        sigma = np.sqrt(path.noise_variance("jacobian"))
        yield f"{case}: $sigmahat, Lanczos", difference(sigma, numbers["lanczos"]["sigmahat"])
        bound = dof_lower_bound(X)
        if bound is not None:
            theirs = [numbers["lower_bound"]["lower.bound"]]
            yield f"{case}: compute.lower.bound", difference([bound], theirs)
        for method, key in (("pls", "cv"), ("pcr", "pcr_cv")):
            error = numbers[key]["error"]
            found = cross_validate(X, y, method, cv=10, max_components=len(error) - 1)
            yield (
                f"{case}: {method}.cv()$cv.error",
                difference(found.fold_errors.mean(axis=0), error),
            )
        ridge = numbers["ridge_cv"]
        alpha = ridge["lambda_opt"] * (n - 1) / n
        found = ridge_path(X, y, alphas=[alpha])
        yield f"{case}: ridge.cv()$coefficients", difference(found.coef[-1], ridge["coefficients"])
        for m, theirs in enumerate(numbers.get("covariance", []), start=1):
            yield (
                f"{case}: $covariance, m = {m}",
                difference(path.coef_covariance(m, noise="jacobian"), theirs),
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--reference", type=Path, help="folder with numbers of R's plsdof")
    options = parser.parse_args()
    if shutil.which("Rscript") is None:
        sys.exit("Rscript was not found; install R and its package pls.")
    found, fits, results = calls(), Fits(), []
    with tempfile.TemporaryDirectory() as folder:
        theirs = run_r(found, fits, Path(folder))
    for call in found:
        results.append(
            (call.name, difference(call.ours(fits), theirs[call.name], signs=call.signs))
        )
    print(f"| {len(results)} calls of R's pls | largest relative difference |\n|---|---|")
    for name, value in results:
        print(f"| {name} | {value:.1e} |")
    if options.reference is not None:
        results = list(stored(options.reference))
        print(
            f"\n| {len(results)} numbers of R's plsdof | largest relative difference |\n|---|---|"
        )
        for name, value in results:
            print(f"| {name} | {value:.1e} |")


if __name__ == "__main__":
    main()
