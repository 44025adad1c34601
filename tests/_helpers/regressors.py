"""Regressors with exact Degrees of Freedom, by name: every rule has an entry, most have several."""

import numpy as np
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.cross_decomposition import PLSRegression
from sklearn.decomposition import PCA
from sklearn.dummy import DummyRegressor
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.kernel_approximation import Nystroem
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import (
    ElasticNet,
    ElasticNetCV,
    Lasso,
    LassoCV,
    LassoLars,
    LassoLarsCV,
    LassoLarsIC,
    LinearRegression,
    Ridge,
    RidgeCV,
)
from sklearn.model_selection import (
    GridSearchCV,
    HalvingGridSearchCV,
    HalvingRandomSearchCV,
    RandomizedSearchCV,
)
from sklearn.neighbors import KNeighborsRegressor, RadiusNeighborsRegressor
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


def triangle(distances):
    """Weights of a triangular kernel, for one array or an array of arrays."""
    if distances.dtype == object:
        return np.array([1.0 - d / 5 for d in distances], dtype=object)
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
    "kernel ridge, rbf": KernelRidge(alpha=0.3, kernel="rbf", gamma=0.1),
    "kernel ridge, linear": KernelRidge(alpha=2.0),
    "kernel ridge, polynomial": KernelRidge(alpha=2.0, kernel="poly", degree=2, coef0=0.5),
    "kernel ridge, callable": KernelRidge(alpha=0.5, kernel=np.dot),
    "nearest neighbours": KNeighborsRegressor(4),
    "nearest neighbours by callable": KNeighborsRegressor(4, weights=triangle),
    "radius neighbours": RadiusNeighborsRegressor(1.5),
    "radius neighbours by callable": RadiusNeighborsRegressor(1.5, weights=triangle),
    "Gaussian process": GaussianProcessRegressor(RBF(2.0), alpha=0.3, optimizer=None),
    "Gaussian process, one noise per row": GaussianProcessRegressor(
        RBF(2.0, "fixed"), alpha=np.linspace(0.1, 1, N)
    ),
    "Gaussian process with white kernel": GaussianProcessRegressor(
        RBF(2.0) + WhiteKernel(0.5), optimizer=None
    ),
    "Gaussian process of normalised y": GaussianProcessRegressor(
        RBF(2.0), alpha=0.3, optimizer=None, normalize_y=True
    ),
    "mean": DummyRegressor(),
    "constant": DummyRegressor(strategy="constant", constant=2.0),
    "principal components": scaled(PCA(3), LinearRegression()),
    "splines": make_pipeline(SplineTransformer(3, degree=1), LinearRegression()),
    "splines with ridge": make_pipeline(SplineTransformer(6), Ridge(0.5)),
    "polynomials with kernel ridge": scaled(PolynomialFeatures(2), KernelRidge(alpha=2.0)),
    "kernel approximation": scaled(Nystroem(n_components=8, random_state=1), Ridge(0.1)),
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
    "lasso by least angles": LassoLars(0.1),
    "elastic net": ElasticNet(0.3, l1_ratio=0.4, **TIGHT),
    "elastic net without intercept": ElasticNet(0.3, fit_intercept=False, **TIGHT),
    "scaled lasso": scaled(Lasso(0.1, **TIGHT)),
    "positive least squares": LinearRegression(positive=True),
    "positive ridge": Ridge(1.0, positive=True, **TIGHT),
    "median": DummyRegressor(strategy="median"),
    "quantile": DummyRegressor(strategy="quantile", quantile=0.3),
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
        "kernel ridge, rbf",
        "mean",
        "constant",
        "principal components",
        "union of transformers",
        "lasso",
        "lasso without intercept",
        "positive lasso",
        "elastic net",
        "positive least squares",
        "positive ridge",
        "median",
        "quantile",
        "our PLS",
        "our PCR",
        "our ridge",
        "our kernel PLS",
        "our penalised PLS",
        "our PLS2",
    )
}


CHOOSING = {
    "lasso": (LassoCV(cv=3, alphas=20), "alpha ="),
    "scaled lasso": (scaled(LassoCV(cv=3, alphas=20)), "alpha ="),
    "elastic net": (ElasticNetCV(cv=3, alphas=5, l1_ratio=[0.2, 0.8]), "l1_ratio ="),
    "ridge": (RidgeCV(np.logspace(-2, 3, 10)), "alpha ="),
    "least angles": (LassoLarsIC("bic"), "alpha ="),
    "search": (
        GridSearchCV(KNeighborsRegressor(), {"n_neighbors": [2, 5, 9]}, cv=3),
        "n_neighbors =",
    ),
    "least angles by folds": (LassoLarsCV(cv=3), "alpha ="),
    "random search": (
        RandomizedSearchCV(
            KNeighborsRegressor(), {"n_neighbors": [2, 5, 9]}, n_iter=2, cv=3, random_state=0
        ),
        "n_neighbors =",
    ),
    "halving search": (
        HalvingGridSearchCV(Ridge(), {"alpha": [0.1, 3.0]}, cv=3, random_state=0),
        "alpha =",
    ),
    "halving random search": (
        HalvingRandomSearchCV(Ridge(), {"alpha": [0.1, 3.0]}, n_candidates=2, cv=3, random_state=0),
        "alpha =",
    ),
    "Gaussian process": (
        GaussianProcessRegressor(RBF(2.0), alpha=0.3, normalize_y=True),
        "RBF(length_scale=",
    ),
    "our PLS": (PLSRegressor("bic"), "component"),
    "our ridge": (RidgeRegressor("gcv"), "alpha ="),
    "our PLS2": (PLS2Regressor("gcv"), "component"),
}
FIXED_BY_CHOICE = {
    "lasso": lambda m: Lasso(m.alpha_, **TIGHT),
    "scaled lasso": lambda m: scaled(Lasso(m[-1].alpha_, **TIGHT)),
    "elastic net": lambda m: ElasticNet(m.alpha_, l1_ratio=m.l1_ratio_, **TIGHT),
    "ridge": lambda m: Ridge(m.alpha_),
    "least angles": lambda m: LassoLars(m.alpha_),
    "least angles by folds": lambda m: LassoLars(m.alpha_),
    "search": lambda m: m.best_estimator_,
    "random search": lambda m: m.best_estimator_,
    "halving search": lambda m: m.best_estimator_,
    "halving random search": lambda m: m.best_estimator_,
    "our PLS": lambda m: PLSRegressor(m.n_components_),
    "our ridge": lambda m: RidgeRegressor(m.alpha_),
    "our PLS2": lambda m: PLS2Regressor(m.n_components_),
    "Gaussian process": lambda m: GaussianProcessRegressor(
        m.kernel_, alpha=0.3, optimizer=None, normalize_y=True
    ),
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
