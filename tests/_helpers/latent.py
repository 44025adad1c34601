"""Data with latent variables, and the textbook's PLS of them."""

import dataclasses

import numpy as np
from sklearn.cross_decomposition import PLSRegression


def latent_data(n, p, seed, *, noise=0.5, rank=3):
    rng = np.random.default_rng(seed)
    T = rng.normal(size=(n, rank)) * [1.5, 1.0, 0.7][:rank]
    X = 3.0 + T @ rng.normal(size=(rank, p)) + noise * rng.normal(size=(n, p))
    return X, T.sum(axis=1) + noise * rng.normal(size=n)


DATA = {
    "tall": latent_data(40, 6, 0, noise=1.0),
    "collinear": latent_data(60, 12, 1, noise=0.05),
    "wide": latent_data(20, 50, 2),
}
PROBLEMS = [(name, solver) for name in DATA for solver in ("svd", "gram")]


@dataclasses.dataclass
class Textbook:
    """Scores, weights and loadings of scikit-learn, on dense standardised data."""

    X: np.ndarray
    y: np.ndarray
    m: int

    def __post_init__(self):
        self.model = PLSRegression(self.m).fit(self.X, self.y)
        self.mean, self.std = self.X.mean(axis=0), self.X.std(axis=0, ddof=1)
        self.Z = (self.X - self.mean) / self.std
        self.T, self.P = self.model.x_scores_, self.model.x_loadings_
        self.W, self.q = self.model.x_weights_, self.model.y_loadings_[0]
        self.E = self.Z - self.T @ self.P.T


def new_rows(X, seed=9, n=7):
    rng = np.random.default_rng(seed)
    return X.mean(axis=0) + 2.0 * rng.normal(size=(n, X.shape[1]))
