"""Tridiagonal matrices from a start, by Lanczos' recursion."""

import numpy as np
import pytest

from plsdof._core.compression import lanczos


def problem(d=30, seed=11):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(d, d))
    return A @ A.T, rng.normal(size=d)


@pytest.mark.parametrize("steps", [1, 2, 12, 30, 50])
def test_an_orthonormal_basis_and_a_tridiagonal_matrix(steps):
    G, start = problem()
    run = lanczos(G.__matmul__, start, steps)
    made = min(steps, 30)
    np.testing.assert_allclose(run.basis @ run.basis.T, np.eye(made), atol=1e-13)
    J = run.ritz_vectors * run.ritz_values @ run.ritz_vectors.T
    np.testing.assert_allclose(run.basis @ G @ run.basis.T, J, atol=1e-11)
    np.testing.assert_allclose(run.norm * run.basis[0], start, atol=1e-13)
    residual = G @ run.basis.T @ run.ritz_vectors - run.basis.T @ run.ritz_vectors * run.ritz_values
    np.testing.assert_allclose(np.linalg.norm(residual, axis=0), run.ritz_residuals, atol=1e-11)


def test_an_exhausted_space_ends_the_recursion():
    G = np.diag([5.0, 3.0, 3.0, 1.0, 1.0, 0.5])
    start = np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0])
    run = lanczos(G.__matmul__, start, 6)
    assert len(run.basis) == 2
    np.testing.assert_allclose(run.ritz_values, [5.0, 3.0], rtol=1e-14)
    assert run.ritz_residuals.max() <= 1e-14


def test_a_start_of_length_zero_weighs_nothing():
    run = lanczos(problem(d=6)[0].__matmul__, np.zeros(6), 3)
    assert run.norm == 0.0
    assert len(run.basis) == 1
