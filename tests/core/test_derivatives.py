"""Jacobians against central differences of an independent fit."""

import numpy as np
import pytest
from _helpers.problems import make_problem
from sklearn.cross_decomposition import PLSRegression

from plsdof import pcr_path, pls_path, ridge_path

STEP = 1e-5


def sklearn_fit(X, y, m):
    model = PLSRegression(n_components=m, scale=True).fit(X, y)
    return model.predict(X).ravel(), model.coef_.ravel()


def central_differences(function, y):
    columns = []
    for i in range(len(y)):
        step = np.zeros_like(y)
        step[i] = STEP
        columns.append((function(y + step) - function(y - step)) / (2 * STEP))
    return np.column_stack(columns)


@pytest.mark.parametrize(("n", "p"), [(15, 5), (8, 20), (6, 6)])
@pytest.mark.parametrize("m", [1, 2, 4])
@pytest.mark.parametrize("solver", ["svd", "gram"])
def test_jacobians_equal_central_differences_through_scikit_learn(n, p, m, solver):
    X, y = make_problem(n, p, seed=n + p, decay=0.5)
    path = pls_path(X, y, m, solver=solver)
    fit = central_differences(lambda v: sklearn_fit(X, v, m)[0], y)
    coef = central_differences(lambda v: sklearn_fit(X, v, m)[1], y)
    np.testing.assert_allclose(path.jacobian(m), fit, atol=1e-6)
    np.testing.assert_allclose(path.coef_jacobian(m), coef, atol=1e-6)
    np.testing.assert_allclose(path.leverage(m), np.diag(fit), atol=1e-6)
    assert path.dof[m] == pytest.approx(np.trace(fit), abs=1e-5)


def test_weighted_jacobian_equals_central_differences():
    X, y = make_problem(12, 4, seed=3)
    weights = np.random.default_rng(0).uniform(0.5, 3, 12)
    path = pls_path(X, y, 2, sample_weight=weights)
    fit = central_differences(lambda v: pls_path(X, v, 2, sample_weight=weights).fitted[2], y)
    coef = central_differences(lambda v: pls_path(X, v, 2, sample_weight=weights).coef[2], y)
    np.testing.assert_allclose(path.jacobian(2), fit, atol=1e-6)
    np.testing.assert_allclose(path.coef_jacobian(2), coef, atol=1e-6)
    np.testing.assert_allclose(path.leverage(2), np.diag(fit), atol=1e-6)
    assert path.dof[2] == pytest.approx(np.trace(fit), abs=1e-5)


@pytest.mark.parametrize("make", [pcr_path, lambda X, y: ridge_path(X, y, [0.1, 10.0, 3.0])])
def test_linear_methods_have_the_hat_matrix_as_jacobian(make):
    X, y = make_problem(10, 4, seed=5)
    path = make(X, y)
    for k in range(len(path.dof)):
        H = path.jacobian(k)
        np.testing.assert_allclose(H @ y, path.fitted[k], atol=1e-10)
        assert np.trace(H) == pytest.approx(path.dof[k], abs=1e-10)


def test_noise_identity_trace_of_residual_jacobian():
    X, y = make_problem(20, 6, seed=7)
    path = pls_path(X, y)
    for m in range(6):
        R = np.eye(20) - path.jacobian(m)
        assert path.noise_variance("jacobian")[m] == pytest.approx(
            path.rss[m] / np.sum(R**2), rel=1e-10
        )
