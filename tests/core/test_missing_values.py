"""Imputation in a pipeline, and what its Degrees of Freedom are."""

import numpy as np
import pytest
from _helpers.problems import make_problem
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from plsdof import PLSRegressor, pls_path
from plsdof.errors import InvalidInputError
from plsdof.estimators import KernelPLSRegressor

STEP = 1e-4
IMPUTERS = [
    IterativeImputer(Ridge(0.1), max_iter=20, tol=0.05, random_state=0),
    KNNImputer(n_neighbors=3),
]


@pytest.fixture
def holes():
    X, y = make_problem(16, 3, seed=0, decay=1.0)
    X[np.random.default_rng(1).uniform(size=X.shape) < 0.1] = np.nan
    return X, y


def trace(fit, y):
    steps = STEP * np.eye(len(y))
    return sum((fit(y + e) - fit(y - e))[i] / (2 * STEP) for i, e in enumerate(steps))


@pytest.mark.parametrize("imputer", IMPUTERS, ids=["iterative", "neighbours"])
@pytest.mark.parametrize("regressor", [PLSRegressor(2), KernelPLSRegressor(2, gamma=0.1)])
def test_degrees_of_freedom_are_those_of_the_whole_pipeline(holes, imputer, regressor):
    X, y = holes
    model = make_pipeline(imputer, regressor)

    def fit(response):
        return model.fit(X, response).predict(X)

    expected = trace(fit, y)
    assert model.fit(X, y)[-1].dof_ == pytest.approx(expected, abs=1e-5)
    assert np.isfinite(model.predict(X[:3])).all()


def test_imputation_that_looks_at_the_response_has_other_degrees_of_freedom(holes):
    X, y = holes

    def fit(response):
        joined = IMPUTERS[0].fit_transform(np.column_stack([X, response]))
        return pls_path(joined[:, :-1], response, 2).fitted[2]

    filled = IMPUTERS[0].fit_transform(np.column_stack([X, y]))[:, :-1]
    conditional = pls_path(filled, y, 2).dof[2]
    assert trace(fit, y) > conditional + 0.1


def test_components_can_be_chosen_with_the_imputation_inside_the_folds(holes):
    X, y = holes
    search = GridSearchCV(
        make_pipeline(IMPUTERS[1], PLSRegressor()), {"plsregressor__n_components": [1, 2, 3]}, cv=4
    ).fit(X, y)
    assert search.best_estimator_[-1].n_components_ in (1, 2, 3)


def test_missing_values_are_refused_with_the_columns_that_have_them(holes):
    X, y = holes
    column = int(np.flatnonzero(np.isnan(X).any(axis=0))[0])
    with pytest.raises(InvalidInputError, match=rf"NaN or infinity, in column\(s\) '{column}'"):
        pls_path(X, y)
