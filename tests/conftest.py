"""Shared fixtures: random problems, and the reference cases when they are at hand."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

SHARED = Path(__file__).parents[2] / "shared"
CASES = ("small", "ozone", "kin32fh-300", "cookie-fat")


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


@pytest.fixture(params=CASES)
def reference(request):
    """Data and published numbers of one reference case."""
    file = SHARED / "reference" / f"{request.param}.json"
    if not file.exists():
        pytest.skip("the reference numbers are not part of the package")
    numbers = json.loads(file.read_text())
    X, y = _load(request.param, numbers)
    return SimpleNamespace(name=request.param, X=X, y=y, **numbers)


def _load(name, numbers):
    if name == "small":
        return np.array(numbers["data"]["X"]), np.array(numbers["data"]["y"])
    if name == "kin32fh-300":
        from scipy.io import loadmat

        data = loadmat(SHARED / "data" / "kin32fh.mat")
        return data["X"][:300], data["Y"][:300, 0]
    import rdata

    if name == "ozone":
        frame = rdata.read_rda(SHARED / "data" / "Ozone.rda")["Ozone"].dropna()
        return frame.drop(columns="V4").astype(float).to_numpy(), frame["V4"].to_numpy(float)
    data = rdata.read_rda(SHARED / "data" / "cookie.rda")["cookie"]
    keep = np.setdiff1d(np.arange(72), [22, 60])
    fat = np.asarray(data["constituents"])[:, 0]
    return np.asarray(data["NIR"])[keep], np.asarray(fat, dtype=float)[keep]
