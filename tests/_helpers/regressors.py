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

from plsdof.estimators.flexible import KernelPLSRegressor, PenalizedPLSRegressor
from plsdof.estimators.linear import PCRegressor, PLSRegressor, RidgeRegressor
from plsdof.estimators.several import PLS2Regressor

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

# Those whose fit takes weights, with one entry for every rule that may see them.
WEIGHTED = {
    name: ALL[name]
    for name in (
        "least squares",
        "least squares without intercept",
        "ridge",
        "ridge without intercept",
        "principal components",
        "union of transformers",
        "lasso",
        "lasso without intercept",
        "positive lasso",
        "elastic net",
        "positive least squares",
        "positive ridge",
        "our PLS",
        "our PCR",
        "our ridge",
        "our kernel PLS",
        "our penalised PLS",
        "our PLS2",
    )
}


CHOOSING = {
    "our PLS": (PLSRegressor("bic"), "component"),
    "scaled PLS": (scaled(PLSRegressor("bic")), "component"),
    "our ridge": (RidgeRegressor("gcv"), "alpha ="),
    "our PLS2": (PLS2Regressor("gcv"), "component"),
}
FIXED_BY_CHOICE = {
    "our PLS": lambda m: PLSRegressor(m.n_components_),
    "scaled PLS": lambda m: scaled(PLSRegressor(m[-1].n_components_)),
    "our ridge": lambda m: RidgeRegressor(m.alpha_),
    "our PLS2": lambda m: PLS2Regressor(m.n_components_),
}


def trace_by_central_differences(estimator, X, y, step=1e-5, **options):
    """The sum of d yhat_i / d y_i, one row at a time; knows nothing about formulas."""
    total = 0.0
    for i in range(len(y)):
        bump = np.zeros(len(y))
        bump[i] = step
        up = clone(estimator).fit(X, y + bump, **options).predict(X).ravel()[i]
        down = clone(estimator).fit(X, y - bump, **options).predict(X).ravel()[i]
        total += (up - down) / (2 * step)
    return total
