"""OPLS against plain NIPALS: scores, loadings and fit; the Degrees of Freedom are those of PLS."""

from dataclasses import dataclass

import numpy as np
import pytest
from _helpers.problems import make_problem

from plsdof import kernel_pls_path, penalized_pls_path, pls_path
from plsdof.errors import InvalidInputError, NotAvailableError


@dataclass
class Plain:
    t: np.ndarray
    p: np.ndarray
    w: np.ndarray
    T_o: np.ndarray
    P_o: np.ndarray
    W_o: np.ndarray
    fitted: np.ndarray


def nipals_opls(X, y, orthogonal):
    """O-PLS of Trygg & Wold (2002), step by step, for X and y centred."""
    left, T_o, P_o, W_o = X.copy(), [], [], []
    w = X.T @ y / np.linalg.norm(X.T @ y)
    for _ in range(orthogonal):
        t = left @ w
        p = left.T @ t / (t @ t)
        w_o = p - w * (w @ p)
        w_o /= np.linalg.norm(w_o)
        t_o = left @ w_o
        p_o = left.T @ t_o / (t_o @ t_o)
        left = left - np.outer(t_o, p_o)
        T_o.append(t_o)
        P_o.append(p_o)
        W_o.append(w_o)
    t = left @ w
    found = (
        np.reshape(one, (orthogonal, size)).T
        for one, size in zip((T_o, P_o, W_o), (len(y), len(w), len(w)), strict=True)
    )
    return Plain(t, left.T @ t / (t @ t), w, *found, t * (y @ t) / (t @ t))


def standardized(X, y):
    return (X - X.mean(axis=0)) / X.std(axis=0, ddof=1), y - y.mean()


@pytest.mark.parametrize("m", [1, 2, 5])
@pytest.mark.parametrize(("n", "p"), [(30, 7), (15, 40)])
def test_it_is_plain_nipals(n, p, m):
    X, y = make_problem(n, p, seed=m)
    Z, response = standardized(X, y)
    path = pls_path(X, y, m, solver="svd")
    found, plain = path.opls(m), nipals_opls(Z, response, m - 1)
    np.testing.assert_allclose(path.fitted[m], y.mean() + plain.fitted, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(found.scores, plain.t, atol=1e-9)
    np.testing.assert_allclose(found.loadings, plain.p, atol=1e-9)
    np.testing.assert_allclose(found.weights, plain.w, atol=1e-10)
    np.testing.assert_allclose(found.orthogonal_scores, plain.T_o, atol=1e-8)
    np.testing.assert_allclose(found.orthogonal_loadings, plain.P_o, atol=1e-8)
    np.testing.assert_allclose(found.orthogonal_weights, plain.W_o, atol=1e-8)
    np.testing.assert_allclose(found.orthogonal_scores.T @ response, 0.0, atol=1e-8)
    np.testing.assert_allclose(found.predict(X), path.fitted[m], atol=1e-9)
    np.testing.assert_allclose(
        found.transform(X), np.column_stack([found.scores, found.orthogonal_scores]), atol=1e-9
    )
    covariance = Z.T @ plain.t / (n - 1)
    np.testing.assert_allclose(found.covariance, covariance, atol=1e-9)
    np.testing.assert_allclose(
        found.correlation, covariance / plain.t.std(ddof=1), atol=1e-9
    )  # the columns have unit variance
    assert found.n_components == m


def test_the_degrees_of_freedom_are_those_of_its_own_derivative():
    X, y = make_problem(20, 6, seed=3)
    Z, step, trace = standardized(X, y)[0], 1e-5, 0.0
    for i in range(20):
        moved = []
        for sign in (1, -1):
            shifted = y.copy()
            shifted[i] += sign * step
            moved.append(shifted.mean() + nipals_opls(Z, shifted - shifted.mean(), 2).fitted[i])
        trace += (moved[0] - moved[1]) / (2 * step)
    assert pls_path(X, y).opls(3).dof == pytest.approx(trace, abs=1e-6)


def test_weighted_rows_are_repeated_rows():
    X, y = make_problem(15, 5, seed=4)
    counts = np.array([1, 2, 3] * 5)
    weighted = pls_path(X, y, 3, sample_weight=counts).opls(3)
    repeated = pls_path(X.repeat(counts, axis=0), y.repeat(counts), 3).opls(3)
    np.testing.assert_allclose(weighted.scores.repeat(counts), repeated.scores, atol=1e-8)
    np.testing.assert_allclose(weighted.correlation, repeated.correlation, atol=1e-8)


def test_what_it_cannot_rotate_is_refused():
    X, y = make_problem(15, 5, seed=5)
    path = pls_path(X, y, 3)
    for m in (0, 4, 1.5):
        with pytest.raises(InvalidInputError):
            path.opls(m)
    for other in (kernel_pls_path(X, y), penalized_pls_path(X, y)):
        with pytest.raises(NotAvailableError):
            other.opls(1)
    assert "1 + 2" in repr(path.opls(3))
