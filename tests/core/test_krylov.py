"""Golub-Kahan in the rotated basis, and the Degrees of Freedom built on it."""

import numpy as np
import pytest
from _helpers.oracle import exact_dof, random_spectrum

from plsdof._core.filters import pls_filter
from plsdof._core.krylov import golub_kahan
from plsdof._core.spectrum import Spectrum


def run(eigenvalues, z, steps):
    eigenvalues, z = np.atleast_2d(eigenvalues), np.atleast_2d(z)
    return golub_kahan(eigenvalues, z, z[0] != 0, steps)


def test_bases_are_orthonormal_and_satisfy_the_defining_recurrence():
    rng = np.random.default_rng(1)
    lam, z = np.sort(rng.uniform(0.01, 1, 40))[::-1], rng.normal(size=40)
    result = run(lam, z, 25)
    T, W = result.scores[0].T, result.weights[0].T
    L = np.diag(result.diagonal[0]) + np.diag(result.superdiagonal[0, :-1], 1)
    np.testing.assert_allclose(T.T @ T, np.eye(25), atol=1e-13)
    np.testing.assert_allclose(W.T @ W, np.eye(25), atol=1e-13)
    np.testing.assert_allclose(np.sqrt(lam)[:, None] * W, T @ L, atol=1e-13)


def test_loadings_are_the_coordinates_of_the_response_in_the_scores():
    rng = np.random.default_rng(2)
    lam, z = np.sort(rng.uniform(0.1, 1, 12))[::-1], rng.normal(size=12)
    result = run(lam, z, 8)
    np.testing.assert_allclose(result.loadings[0], result.scores[0] @ z, atol=1e-13)


def test_residual_filter_equals_the_product_over_ritz_values():
    rng = np.random.default_rng(3)
    lam, z = np.sort(rng.uniform(0.1, 1, 10))[::-1], rng.normal(size=10)
    result = run(lam, z, 4)
    for m in range(1, 5):
        L = np.diag(result.diagonal[0, :m]) + np.diag(result.superdiagonal[0, : m - 1], 1)
        theta = np.linalg.svd(L, compute_uv=False) ** 2
        product = np.prod(1 - lam[:, None] / theta, axis=1)
        np.testing.assert_allclose(result.residuals[0, m], product, atol=1e-12)
        np.testing.assert_allclose(result.factors[0, m], 1 - product, atol=1e-12)


def test_small_filter_factors_keep_their_relative_accuracy():
    lam = np.array([1.0, 0.5, 1e-14])
    result = run(lam, np.array([1.0, 1.0, 1.0]), 2)
    L = np.diag(result.diagonal[0]) + np.diag(result.superdiagonal[0, :-1], 1)
    theta = np.linalg.svd(L, compute_uv=False) ** 2
    assert result.factors[0, 2, 2] == pytest.approx(1e-14 * np.sum(1 / theta), rel=1e-10)


@pytest.mark.parametrize("seed", range(8))
def test_dof_equals_the_oracle_on_hard_spectra(seed):
    rng = np.random.default_rng(seed)
    for _ in range(30):
        lam, z = random_spectrum(rng)
        result = pls_filter(Spectrum.exact(lam, z, n=len(lam) + 2))
        assert len(result.dof) - 1 == len(np.unique(lam[z != 0]))
        expected = exact_dof(lam, z, len(result.dof) - 1)
        error = np.abs(result.dof - expected)
        assert np.all(error <= 1e-8 * np.maximum(1, np.abs(expected)))
        assert np.all(error <= result.dof_error)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 150))
def test_dof_equals_the_oracle_on_many_larger_spectra(seed):
    rng = np.random.default_rng(seed)
    for _ in range(40):
        lam, z = random_spectrum(rng, largest=30)
        result = pls_filter(Spectrum.exact(lam, z, n=len(lam) + 2))
        expected = exact_dof(lam, z, len(result.dof) - 1, bits=12000)
        error = np.abs(result.dof - expected)
        assert np.all(error <= 1e-8 * np.maximum(1, np.abs(expected)))
        assert np.all(error <= result.dof_error)


def test_genuine_negative_dof_is_returned_as_such():
    # theory: lambda = (1, 1e-4), z^2 = (1e-6, 1), m = 1
    result = pls_filter(Spectrum.exact([1.0, 1e-4], [1e-3, 1.0], n=10))
    assert result.dof[1] == pytest.approx(exact_dof([1.0, 1e-4], [1e-3, 1.0], 1)[1], rel=1e-12)
    assert round(result.dof[1], 2) == -95.01


def test_repeated_eigenvalues_end_together_but_count_each():
    result = pls_filter(Spectrum.exact([2.0, 2.0, 2.0, 1.0], [1.0, -2.0, 0.5, 1.0], n=10))
    assert len(result.dof) - 1 == 2
    assert result.dof[2] == pytest.approx(5.0, abs=1e-12)
    np.testing.assert_allclose(result.scores.T @ result.scores, np.eye(2), atol=1e-14)


def test_unexcited_directions_count_through_the_polynomial():
    lam, z = np.array([3.0, 2.0, 1.0]), np.array([1.0, 0.0, 1.0])
    result = pls_filter(Spectrum.exact(lam, z, n=10))
    assert len(result.dof) - 1 == 2
    # With two components the filter is 1 - (1 - x/3)(1 - x/1), whatever y is.
    f = 1 - (1 - 2.0 / 3.0) * (1 - 2.0)
    assert result.dof[2] == pytest.approx(1 + 2 + f, rel=1e-12)
    assert np.all(result.scores[1] == 0)


def test_no_component_without_excitation():
    result = pls_filter(Spectrum.exact([2.0, 1.0], [0.0, 0.0], n=5), 2)
    np.testing.assert_array_equal(result.dof, [1.0])
    assert "no component" in result.message


def test_the_sum_of_leverages_is_the_number_of_components():
    rng = np.random.default_rng(5)
    lam, z = random_spectrum(rng, z_decades=3)
    result = pls_filter(Spectrum.exact(lam, z, n=30))
    np.testing.assert_allclose((result.scores**2).sum(axis=0), 1.0, atol=1e-12)


def test_overflowing_polynomials_are_cut_off_not_returned():
    # An unexcited eigenvalue 1e40 times the others: its filter factor overflows at some m.
    lam = np.concatenate([[1e40], np.linspace(1, 2, 30)[::-1]])
    z = np.concatenate([[0.0], np.ones(30)])
    result = pls_filter(Spectrum.exact(lam, z, n=50), 20)
    assert np.all(np.isfinite(result.dof))
    assert len(result.dof) - 1 < 20
    assert "rounding" in result.message
