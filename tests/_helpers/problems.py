"""Random regression problems, and where the reference numbers are."""

import json
import os
from functools import wraps
from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import block_diag

from plsdof.datasets import load_ozone

# Published files that may not be redistributed: cookie.rda, kin32fh.mat, Ozone.rda; beside their
# folder the source of the paper. Tests that need them are marked as published.
DATA = Path(os.environ.get("PLSDOF_DATA", "PLSDOF_DATA is not set"))
PAPER = DATA.parent / "paper.tex"
# Cases whose data travel with the package, and cases whose data do not.
SHIPPED, PUBLISHED = ("small", "ozone"), ("kin32fh-300", "cookie-fat")
REFERENCE = Path(__file__).parents[1] / "reference"


def make_problem(n, p, seed=0, *, decay=0.0, noise=0.5):
    """Gaussian predictors, correlated along a decaying spectrum, and a linear response."""
    rng = np.random.default_rng(seed)
    r = min(n, p)
    left, _ = np.linalg.qr(rng.normal(size=(n, r)))
    right, _ = np.linalg.qr(rng.normal(size=(p, r)))
    singular = 10 ** (-decay * np.linspace(0, 1, r)) * rng.uniform(0.5, 1.5, r)
    X = (left * singular) @ right.T * np.sqrt(n)
    X += rng.normal(size=p)
    y = 2.0 + X @ rng.normal(size=p) + noise * rng.normal(size=n)
    return X, y


def counted(path):
    """Return a path after its closed form was made: what there is to warn about comes then."""
    _ = path.exact
    return path


def reference_numbers(name):
    """Return the numbers of one reference case, which travel with the tests."""
    return json.loads((REFERENCE / f"{name}.json").read_text(encoding="utf-8"))


def load_case(name, numbers):
    """Return the data of one reference case; an error of its reader if they are not at hand."""
    if name == "small":
        return np.array(numbers["data"]["X"]), np.array(numbers["data"]["y"])
    if name == "kin32fh-300":
        from scipy.io import loadmat

        data = loadmat(DATA / "kin32fh.mat")
        return data["X"][:300], data["Y"][:300, 0]
    if name == "ozone":
        return load_ozone(return_X_y=True)
    import rdata

    data = rdata.read_rda(DATA / "cookie.rda")["cookie"]
    keep = np.setdiff1d(np.arange(72), [22, 60])
    fat = np.asarray(data["constituents"])[:, 0]
    return np.asarray(data["NIR"])[keep], np.asarray(fat, dtype=float)[keep]


def or_skipped(read):
    """Return a reader that skips the test where data are not at hand, whatever it raises then."""

    @wraps(read)
    def reader(*args, **options):
        try:
            return read(*args, **options)
        except Exception as error:
            pytest.skip(f"data that may not be redistributed are not at hand ({error!r:.200})")

    return reader


def difference_penalty(sizes, order=2):
    """Return D'D, D the differences within blocks of coefficients, as a dense matrix."""
    sizes = [sizes] if np.ndim(sizes) == 0 else sizes
    blocks = [np.diff(np.eye(size), order, axis=0) for size in sizes]
    return block_diag(*[D.T @ D for D in blocks])
