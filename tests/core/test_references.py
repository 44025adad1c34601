"""Agreement with published numbers: R's plsdof, and high-precision values."""

import numpy as np
import pytest

from plsdof import pls_path
from plsdof._core import criteria

SOLVERS = ("auto", "svd", "gram")


@pytest.fixture(params=SOLVERS)
def path(request, reference):
    return pls_path(reference.X, reference.y, reference.m, solver=request.param)


def test_dof_equals_high_precision_values(path, reference):
    assert np.max(np.abs(path.dof - reference.exact["DoF"])) <= 1e-9


def test_dof_error_estimate_covers_the_true_error(path, reference):
    assert np.all(np.abs(path.dof - reference.exact["DoF"]) <= path.dof_error)


def test_rss_equals_high_precision_values(path, reference):
    np.testing.assert_allclose(path.rss, reference.exact["RSS"], rtol=1e-9)


def test_coefficients_equal_those_of_r(path, reference):
    expected = np.array(reference.coefficients)
    error = np.linalg.norm(path.coef - expected, axis=1)
    assert np.all(error <= 1e-8 * np.linalg.norm(expected, axis=1))
    np.testing.assert_allclose(path.intercept, reference.intercept, rtol=1e-8)


def test_jacobian_noise_equals_sigmahat_of_r_lanczos(path, reference):
    sigma = np.sqrt(path.noise_variance("jacobian"))
    np.testing.assert_allclose(sigma, reference.lanczos["sigmahat"], rtol=1e-8)


def numbers(values):
    """Return floats; null where R's Degrees of Freedom are useless becomes nan."""
    return np.array(values, dtype=float)


def noise_of_r_krylov(path):
    """R divides by n - DoF + 1 for m >= 1 (the paper: n - DoF), with its clipped DoF."""
    noise = path.noise_variance("dof")
    dof = np.minimum(path.dof, min(path.exact.spectrum.n - 1, path.coef.shape[1] + 1))[1:]
    noise[1:] = path.rss[1:] / (path.exact.spectrum.n - dof + 1)
    return noise


def where_r_krylov_is_right(reference):
    exact = np.minimum(reference.exact["DoF"], min(reference.n - 1, reference.p + 1))
    return np.abs(np.array(reference.krylov["DoF"]) - exact) < 1e-6


def test_dof_noise_equals_sigmahat_of_r_krylov_but_for_its_denominator(path, reference):
    right = where_r_krylov_is_right(reference)
    expected = numbers(reference.krylov["sigmahat"])[right]
    np.testing.assert_allclose(np.sqrt(noise_of_r_krylov(path))[right], expected, rtol=1e-7)
    assert right.sum() >= 6


def test_naive_noise_equals_sigmahat_of_r(path, reference):
    sigma = np.sqrt(path.noise_variance("naive"))
    np.testing.assert_allclose(sigma, reference.naive["sigmahat"], rtol=1e-8)


def test_coefficient_covariance_equals_that_of_r(path, reference):
    if not hasattr(reference, "covariance"):
        pytest.skip("no covariance was recorded for this case")
    for m, expected in enumerate(reference.covariance, start=1):
        scale = np.abs(expected).max()
        np.testing.assert_allclose(
            path.coef_covariance(m, noise="jacobian"), expected, atol=1e-9 * scale
        )
        variances = path.coef_std_error(m, noise="jacobian") ** 2
        np.testing.assert_allclose(variances, np.diag(expected), rtol=1e-8)


@pytest.mark.parametrize(
    ("criterion", "dof", "noise", "block"),
    [
        ("bic", "clipped", "dof", "bic_krylov"),
        ("aic", "clipped", "dof", "aic_krylov"),
        ("bic", "naive", None, "bic_naive"),
        ("bic", "clipped", "jacobian", "bic_lanczos"),
    ],
)
def test_selections_equal_those_of_r(path, reference, criterion, dof, noise, block):
    selection = path.select(criterion, dof=dof, noise=noise, rule="first-minimum")
    assert selection.n_components == reference.ic[block]["m_opt"]
    if noise != "dof":
        np.testing.assert_allclose(selection.scores, reference.ic[block]["score"], rtol=1e-8)


@pytest.mark.parametrize("criterion", ["aic", "bic"])
def test_krylov_criteria_equal_those_of_r_with_its_noise(path, reference, criterion):
    right = where_r_krylov_is_right(reference)
    dof = np.minimum(path.dof, min(reference.n - 1, reference.p + 1))
    noise = noise_of_r_krylov(path)
    fits = criteria.Fits(rss=path.rss, dof=dof, noise=noise, n=reference.n, total=path.rss[0])
    scores = getattr(criteria, criterion)(fits)
    expected = numbers(reference.ic[f"{criterion}_krylov"]["score"])[right]
    np.testing.assert_allclose(scores[right], expected, rtol=1e-7)


def test_sums_of_squares_of_fitted_values_equal_those_of_r(path, reference):
    np.testing.assert_allclose(np.sum(path.fitted**2, axis=1), reference.yhat, rtol=1e-8)


def test_naive_degrees_of_freedom_and_noise_equal_those_of_r(path, reference):
    np.testing.assert_array_equal(path.naive_dof, reference.naive["DoF"])
    sigma = np.sqrt(path.noise_variance("naive"))
    np.testing.assert_allclose(sigma, reference.naive["sigmahat"], rtol=1e-8)
