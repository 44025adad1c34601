"""Random regression problems, and where the reference numbers are."""

from pathlib import Path

import numpy as np
from scipy.linalg import block_diag

SHARED = Path(__file__).parents[3] / "shared"


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


def load_case(name, numbers):
    """Data of one reference case."""
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


def difference_penalty(sizes, order=2):
    """Return D'D, D the differences within blocks of coefficients, as a dense matrix."""
    sizes = [sizes] if np.ndim(sizes) == 0 else sizes
    blocks = [np.diff(np.eye(size), order, axis=0) for size in sizes]
    return block_diag(*[D.T @ D for D in blocks])
