"""Regressors with exact Degrees of Freedom, by name: every rule has an entry, most have several."""

import numpy as np
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.cross_decomposition import PLSRegression
from sklearn.decomposition import PCA
from sklearn.linear_model import ElasticNet, Lasso, LinearRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import PolynomialFeatures, SplineTransformer, StandardScaler

from plsdof.complexity.regressors import monte_carlo_dof
from plsdof.estimators import (
    KernelPLSRegressor,
    PCRegressor,
    PenalizedPLSRegressor,
    PLS2Regressor,
    PLSRegressor,
    RidgeRegressor,
)

N, P = 24, 5


def make_data():
    """Correlated predictors and a response that is not quite linear."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(N, P)) + rng.normal(size=(N, 1))
    y = 3.0 + X @ [1.0, 0.5, 0.0, 0.0, -1.0] + np.sin(2 * X[:, 0]) + 0.4 * rng.normal(size=N)
    return X, y


def nearness(distances):
    return 1.0 / (1.0 + distances)


def scaled(*steps):
    return make_pipeline(StandardScaler(), *steps)


TIGHT = {"tol": 1e-12, "max_iter": 200_000}
LINEAR = {
    "least squares": LinearRegression(),
    "least squares without intercept": LinearRegression(fit_intercept=False),
    "ridge": Ridge(3.0),
    "ridge without intercept": Ridge(3.0, fit_intercept=False),
    "ridge without penalty": Ridge(0.0),
    "nearest neighbours": KNeighborsRegressor(4),
    "nearest neighbours by callable": KNeighborsRegressor(4, weights=nearness),
    "principal components": scaled(PCA(3), LinearRegression()),
    "splines": make_pipeline(SplineTransformer(3, degree=1), LinearRegression()),
    "splines with ridge": make_pipeline(SplineTransformer(6), Ridge(0.5)),
    "union of transformers": make_pipeline(
        make_union(StandardScaler(), PCA(2)), "passthrough", Ridge(1.0)
    ),
    "columns apart": make_pipeline(
        ColumnTransformer([("curve", SplineTransformer(3), [0]), ("rest", "passthrough", [1, 2])]),
        LinearRegression(),
    ),
}
SMOOTH = {
    "lasso": Lasso(0.1, **TIGHT),
    "lasso without intercept": Lasso(0.2, fit_intercept=False, **TIGHT),
    "positive lasso": Lasso(0.1, positive=True, **TIGHT),
    "elastic net": ElasticNet(0.3, l1_ratio=0.4, **TIGHT),
    "elastic net without intercept": ElasticNet(0.3, fit_intercept=False, **TIGHT),
    "scaled lasso": scaled(Lasso(0.1, **TIGHT)),
    "positive least squares": LinearRegression(positive=True),
    "positive ridge": Ridge(1.0, positive=True, **TIGHT),
    "PLS of scikit-learn": PLSRegression(2),
    "PLS of scikit-learn, not scaled": PLSRegression(3, scale=False),
    "PLS in a pipeline": make_pipeline(PolynomialFeatures(2), PLSRegression(2)),
    "our PLS": PLSRegressor(2),
    "our PCR": PCRegressor(3),
    "our ridge": RidgeRegressor(4.0),
    "our kernel PLS": KernelPLSRegressor(2, gamma=0.1),
    "our penalised PLS": PenalizedPLSRegressor(2, strength=3.0),
    "our PLS2": PLS2Regressor(2),
    "distance weights": KNeighborsRegressor(4, weights="distance"),
}
ALL = {**LINEAR, **SMOOTH}

CHOOSING = {
    "our PLS": (PLSRegressor("bic"), "component"),
    "scaled PLS": (scaled(PLSRegressor("bic")), "component"),
    "our ridge": (RidgeRegressor("gcv"), "alpha ="),
    "our PLS2": (PLS2Regressor(), "component"),
}
FIXED_BY_CHOICE = {
    "our PLS": lambda m: PLSRegressor(m.n_components_),
    "scaled PLS": lambda m: scaled(PLSRegressor(m[-1].n_components_)),
    "our ridge": lambda m: RidgeRegressor(m.alpha_),
    "our PLS2": lambda m: PLS2Regressor(m.n_components_),
}


def drawn_dof(path, y, index, *, step, n_draws, weights=None):
    """Degrees of Freedom of one model of a path by Monte Carlo, in units of equal noise."""
    root = np.ones(len(y)) if weights is None else np.sqrt(weights)

    def fit(scaled, seed):  # noqa: ARG001
        fitted = path.refit(scaled / root).fitted
        # Another response may support fewer components; the last fit is then least squares.
        return root * fitted[min(index, len(fitted) - 1)]

    rng = np.random.default_rng(0)
    return monte_carlo_dof(fit, root * y, step=step, n_draws=n_draws, rng=rng)


def trace_by_central_differences(estimator, X, y, step=1e-5):
    """The sum of d yhat_i / d y_i, one row at a time; knows nothing about formulas."""
    total = 0.0
    for i in range(len(y)):
        bump = np.zeros(len(y))
        bump[i] = step
        up = clone(estimator).fit(X, y + bump).predict(X).ravel()[i]
        down = clone(estimator).fit(X, y - bump).predict(X).ravel()[i]
        total += (up - down) / (2 * step)
    return total
