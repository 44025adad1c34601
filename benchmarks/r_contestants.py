"""R's packages plsdof and pls, where `Rscript` finds them.

Only documented functions are called: pls.ic and coef of plsdof; plsr, MSEP and predict of pls. The
clock runs inside R, around the model selection alone. Coefficients are read off predictions for
the origin and the unit vectors, which needs no knowledge of how a package stores them.
"""

import functools
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from regimes import Choice, Problem

_READ = """
folder <- commandArgs(trailingOnly = TRUE)[1]
shape <- scan(file.path(folder, "shape.txt"), quiet = TRUE)
n <- shape[1]; p <- shape[2]; M <- shape[3]
numbers <- function(name, size) readBin(file.path(folder, name), "double", size)
X <- matrix(numbers("X.bin", n * p), n, p)
y <- numbers("y.bin", n)
fold <- numbers("folds.bin", n)
"""

_WRITE = """
writeBin(as.double(c(m, seconds, intercept, slopes)), file.path(folder, "result.bin"))
"""

_PLSDOF = """
suppressPackageStartupMessages(library(plsdof))
started <- Sys.time()
fit <- pls.ic(X, y, m = M, criterion = "bic", verbose = FALSE)
seconds <- as.numeric(Sys.time() - started, units = "secs")
# As its answers show: coefficients have one component less than m.opt, and for 0 there are none.
m <- max(fit$m.opt - 1, 0)
intercept <- if (fit$m.opt > 0) fit$intercept else mean(y)
slopes <- if (fit$m.opt > 0) coef(fit) else numeric(p)
stopifnot(length(m) == 1, length(intercept) == 1, length(slopes) == p)
"""

_PLS = """
suppressPackageStartupMessages(library(pls))
started <- Sys.time()
fit <- plsr(y ~ X, ncomp = M, scale = TRUE, validation = "CV",
            segments = unname(split(seq_len(n), fold)))
m <- which.min(as.vector(MSEP(fit, estimate = "CV", intercept = FALSE)$val))
seconds <- as.numeric(Sys.time() - started, units = "secs")
points <- data.frame(X = I(rbind(0, diag(p))))
heights <- as.vector(predict(fit, newdata = points, ncomp = m))
intercept <- heights[1]
slopes <- heights[-1] - intercept
stopifnot(length(m) == 1, length(slopes) == p)
"""


@functools.cache
def r_version(package: str) -> str | None:
    """Return the version of an R package, None without Rscript or without the package."""
    if shutil.which("Rscript") is None:
        return None
    done = subprocess.run(
        ["Rscript", "-e", f'cat(as.character(packageVersion("{package}")))'],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip() or None if done.returncode == 0 else None


def r_plsdof(problem: Problem, _: int) -> Choice:
    return _choice(_PLSDOF, problem)


def r_pls(problem: Problem, _: int) -> Choice:
    return _choice(_PLS, problem)


def _choice(body: str, problem: Problem) -> Choice:
    m, seconds, intercept, *slopes = run_script(_READ + body + _WRITE, problem)
    coef = np.array(slopes)
    return Choice(
        n_components=int(m), predict=lambda X: X @ coef + intercept, seconds=float(seconds)
    )


def run_script(script: str, problem: Problem) -> np.ndarray:
    """Hand a problem to R in files, and return the numbers it writes."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        n, p = problem.X.shape
        (folder / "shape.txt").write_text(f"{n} {p} {problem.max_components}\n")
        np.ravel(problem.X, order="F").tofile(folder / "X.bin")
        problem.y.tofile(folder / "y.bin")
        problem.folds.astype(np.float64).tofile(folder / "folds.bin")
        (folder / "run.R").write_text(script)
        done = subprocess.run(
            ["Rscript", str(folder / "run.R"), name],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise RuntimeError(f"Rscript failed: {done.stderr.strip()[-400:]}")
        return np.fromfile(folder / "result.bin")
