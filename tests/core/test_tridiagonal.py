"""Krylov spaces of symmetric matrices, by Lanczos' recursion."""

import numpy as np
import pytest

from plsdof._core.compression import lanczos


def problem(d=30, seed=11):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(d, d))
    return A @ A.T, rng.normal(size=d)


@pytest.mark.parametrize("steps", [1, 2, 12, 30, 50])
def test_ritz_vectors_are_orthonormal_and_hold_the_start(steps):
    G, start = problem()
    space = lanczos(G, start, steps)
    made = min(steps, 30)
    np.testing.assert_allclose(space.basis @ space.basis.T, np.eye(made), atol=1e-13)
    inside = space.basis @ G @ space.basis.T
    np.testing.assert_allclose(inside, np.diag(space.values), atol=1e-11)
    np.testing.assert_allclose(space.first @ space.basis, start, atol=1e-13)
    residual = G @ space.basis.T - space.basis.T * space.values
    np.testing.assert_allclose(np.linalg.norm(residual, axis=0), space.residuals, atol=1e-11)


def test_an_exhausted_space_ends_the_recursion():
    G = np.diag([5.0, 3.0, 3.0, 1.0, 1.0, 0.5])
    space = lanczos(G, np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0]), 6)
    np.testing.assert_allclose(space.values, [5.0, 3.0], rtol=1e-14)
    assert space.residuals.max() <= 1e-14


def test_a_start_of_length_zero_weighs_nothing():
    space = lanczos(problem(d=6)[0], np.zeros(6), 3)
    assert len(space.basis) == 1
    np.testing.assert_array_equal(space.first, [0.0])
