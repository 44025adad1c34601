"""Degrees of Freedom from random probes, where eigenvalues are too many to compute."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from plsdof import pls_path
from plsdof._core.spectrum import dense_gram
from plsdof._core.standardize import standardize
from plsdof.errors import NotAvailableError
from plsdof.large.probes import count_by_probes


def sampled_path(X, y, m, *, sample_weight=None, tolerance=0.01, seed=0, maximum=1000):
    """Fit as if the Gram matrix could only be multiplied with."""
    gram = dense_gram(standardize(X, y, sample_weight=sample_weight))
    gram = replace(gram, matrix=None, count=partial(count_by_probes, maximum=maximum))
    return pls_path(gram, max_components=m, tolerance=tolerance, rng=seed)


def noisy(seed, n, p, rank=40):
    rng = np.random.default_rng(seed)
    T = rng.normal(size=(n, rank))
    X = T @ rng.normal(size=(rank, p)) / np.sqrt(rank) + rng.normal(size=(n, p))
    return X, T[:, 0] + rng.normal(size=n)


@pytest.mark.parametrize("shape", [(400, 150), (150, 400)])
@pytest.mark.parametrize("weighted", [False, True])
def test_estimates_are_within_four_standard_errors_and_the_rest_is_exact(shape, weighted):
    X, y = noisy(1, *shape)
    weights = np.random.default_rng(2).integers(1, 4, len(y)) if weighted else None
    exact = pls_path(X, y, 6, solver="svd", sample_weight=weights)
    path = sampled_path(X, y, 6, sample_weight=weights)
    assert np.all(path.dof_std_error[1:] > 0)
    assert np.all(path.dof_std_error <= 0.01 * path.dof)
    assert np.all(np.abs(path.dof - exact.dof) <= 4 * path.dof_std_error)
    np.testing.assert_allclose(path.rss, exact.rss, rtol=1e-10)
    np.testing.assert_allclose(path.coef, exact.coef, atol=1e-9 * np.abs(exact.coef).max())
    np.testing.assert_allclose(
        path.noise_variance("jacobian"), exact.noise_variance("jacobian"), rtol=0.1
    )


def test_exact_paths_report_no_standard_error():
    X, y = noisy(3, 80, 60)
    np.testing.assert_array_equal(pls_path(X, y, 4).dof_std_error, np.zeros(5))


def test_a_smaller_tolerance_takes_more_probes_and_keeps_its_word():
    X, y = noisy(4, 300, 200)
    rough, fine = sampled_path(X, y, 5, tolerance=0.02), sampled_path(X, y, 5, tolerance=0.004)
    assert fine.exact.spectrum.counted.probes.count > rough.exact.spectrum.counted.probes.count
    assert np.all(fine.dof_std_error <= 0.004 * fine.dof)


def test_probes_end_at_their_maximum_with_the_standard_error_they_have():
    X, y = noisy(4, 300, 200)
    path = sampled_path(X, y, 5, tolerance=1e-6, maximum=16)
    assert path.exact.spectrum.counted.probes.count == 16
    assert np.any(path.dof_std_error > 1e-6 * path.dof)


def test_the_same_seed_gives_the_same_numbers_and_another_one_others():
    X, y = noisy(5, 200, 150)
    one, two, other = (sampled_path(X, y, 4, seed=seed) for seed in (7, 7, 8))
    np.testing.assert_array_equal(one.dof, two.dof)
    assert np.all(one.dof[2:] != other.dof[2:])


def test_dominating_eigenvalues_are_counted_and_not_sampled():
    rng = np.random.default_rng(6)
    X, y = noisy(6, 200, 150)
    X += 1e3 * np.outer(rng.normal(size=200), rng.normal(size=150))
    exact = pls_path(X, y, 6, solver="svd")
    path = sampled_path(X, y, 6)
    assert path.exact.spectrum.counted.basis_weights.sum() >= 1
    assert np.all(np.abs(path.dof - exact.dof) <= 4 * path.dof_std_error)


def test_what_needs_every_direction_says_that_it_is_not_available():
    X, y = noisy(7, 120, 100)
    path = sampled_path(X, y, 3)
    with pytest.raises(NotAvailableError, match="every direction of X"):
        path.coef_std_error(2)
    with pytest.raises(NotAvailableError, match="every direction of X"):
        path.jacobian(2)


@pytest.mark.slow
def test_standard_errors_are_honest():
    """Errors of 200 runs over their standard errors: of unit size, and rarely beyond two."""
    X, y = noisy(8, 250, 200)
    exact = pls_path(X, y, 6, solver="svd").dof
    paths = [sampled_path(X, y, 6, tolerance=0.02, seed=seed) for seed in range(200)]
    ratio = np.array([(path.dof - exact)[2:] / path.dof_std_error[2:] for path in paths])
    inside = np.mean(np.abs(ratio) <= 2, axis=0)
    assert np.all(inside > 0.95 - 4 * np.sqrt(0.95 * 0.05 / 200))
    assert np.all(np.sqrt(np.mean(ratio**2, axis=0)) < 1.2)
