"""Tridiagonal matrices from a start: by Lanczos' recursion and by Householder's reflections."""

import numpy as np
import pytest

from plsdof.tridiagonal import householder, lanczos


def problem(d=30, rank=None, seed=11):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(d, rank or d))
    return A @ A.T, rng.normal(size=d)


def by_lanczos(G, start, steps):
    return lanczos(G.__matmul__, start, steps)


def by_householder(G, start, steps):
    return householder(G, start, steps)[0]


@pytest.mark.parametrize("reduce", [by_lanczos, by_householder])
@pytest.mark.parametrize("steps", [1, 2, 12, 30, 50])
def test_an_orthonormal_basis_and_a_tridiagonal_matrix(reduce, steps):
    G, start = problem()
    run = reduce(G, start, steps)
    made = min(steps, 30)
    np.testing.assert_allclose(run.basis @ run.basis.T, np.eye(made), atol=1e-13)
    np.testing.assert_allclose(run.basis @ G @ run.basis.T, run.tridiagonal, atol=1e-11)
    np.testing.assert_allclose(run.norm * run.basis[0], start, atol=1e-13)
    residual = G @ run.basis.T @ run.ritz_vectors - run.basis.T @ run.ritz_vectors * run.ritz_values
    np.testing.assert_allclose(np.linalg.norm(residual, axis=0), run.ritz_residuals, atol=1e-11)


def test_both_give_the_same_nodes_and_weights():
    G, start = problem()
    one, other = by_lanczos(G, start, 8), by_householder(G, start, 8)
    np.testing.assert_allclose(one.ritz_values, other.ritz_values, rtol=1e-12)
    np.testing.assert_allclose(
        np.abs(one.ritz_vectors[0]), np.abs(other.ritz_vectors[0]), rtol=1e-9
    )
    np.testing.assert_allclose(np.abs(one.beside), np.abs(other.beside), rtol=1e-11)


def test_householder_returns_all_eigenvalues_and_leaves_the_matrix_alone():
    G, start = problem()
    before = G.copy()
    _, eigenvalues = householder(G, start, 5)
    np.testing.assert_allclose(eigenvalues, np.linalg.eigvalsh(G)[::-1], atol=1e-13 * G.max())
    np.testing.assert_array_equal(G, before)


@pytest.mark.parametrize("order", ["C", "F"])
def test_householder_looks_at_the_lower_triangle_only(order):
    G, start = problem()
    half = np.array(np.tril(G), order=order)
    whole, of_half = householder(G, start, 6), householder(half, start, 6)
    np.testing.assert_allclose(of_half[1], whole[1], rtol=1e-10)
    np.testing.assert_allclose(of_half[0].tridiagonal, whole[0].tridiagonal, atol=1e-11)


@pytest.mark.parametrize("reduce", [by_lanczos, by_householder])
def test_an_exhausted_space_ends_the_recursion(reduce):
    G = np.diag([5.0, 3.0, 3.0, 1.0, 1.0, 0.5])
    start = np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0])
    run = reduce(G, start, 6)
    assert len(run.basis) == 2
    np.testing.assert_allclose(run.ritz_values, [5.0, 3.0], rtol=1e-14)
    assert abs(run.beside[-1]) <= 1e-14


@pytest.mark.parametrize("first", [1.0, -1.0, 0.0])
def test_a_start_on_any_side_of_the_first_axis(first):
    G, start = problem(d=6)
    start[0] = first
    for begin in (start, np.eye(6)[0] * (first or 1.0)):
        run = by_householder(G, begin, 3)
        np.testing.assert_allclose(run.norm * run.basis[0], begin, atol=1e-14)
        np.testing.assert_allclose(run.basis @ G @ run.basis.T, run.tridiagonal, atol=1e-12)


def test_a_start_of_length_zero_weighs_nothing():
    run, eigenvalues = householder(*(problem(d=6)[0], np.zeros(6)), 3)
    assert run.norm == 0.0
    np.testing.assert_allclose(eigenvalues.sum(), np.trace(problem(d=6)[0]))


@pytest.mark.parametrize("unit", [1e-280, 1e280])
def test_extreme_magnitudes(unit):
    G, start = problem(d=10)
    eigenvalues = householder(G, start, 4)[1]
    run, scaled = householder(G * unit, start, 4)
    np.testing.assert_allclose(scaled / unit, eigenvalues, rtol=1e-9)
    assert np.all(np.isfinite(run.ritz_values))
