"""The Gram matrix in two parts: what is taken off, what is left, and the fits that come of it."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.linalg

from plsdof import pls_path
from plsdof._core.inputs import standardize
from plsdof._core.peeling import compress_peeled, peel, refine
from plsdof._core.spectrum import decompose

SHAPES = [(80, 200), (200, 80), (80, 80), (300, 230), (230, 300), (260, 260)]


def spectra(n, p, seed=0, noise=1e-3):
    """Mixtures of smooth spectra on a drifting base line, with noise in every channel."""
    rng = np.random.default_rng([seed, n, p])
    grid = np.linspace(0, 1, p)
    centre, width = rng.uniform(0, 1, (8, 3, 1)), rng.uniform(0.02, 0.2, (8, 3, 1))
    pure = np.exp(-(((grid - centre) / width) ** 2)).sum(axis=1)
    shares = rng.dirichlet(np.ones(8), n)
    X = shares @ pure + 0.05 * rng.normal(size=(n, 1)) * grid + 0.5
    X += noise * rng.normal(size=(n, p))
    return X, shares @ rng.normal(size=8) + 0.02 * rng.normal(size=n)


def matrix_of(data):
    return data.X if data.X.shape[0] <= data.X.shape[1] else data.X.T


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("noise", [1e-3, 1e-5])
def test_the_two_parts_are_orthogonal_and_add_up(shape, noise):
    X, y = spectra(*shape, noise=noise)
    data = standardize(X, y)
    A, peeled = matrix_of(data), peel(data, 12)
    Q, k = peeled.leading, len(peeled.values)
    np.testing.assert_allclose(Q.T @ Q, np.eye(k), atol=1e-14)
    np.testing.assert_allclose((Q * peeled.values**2) @ Q.T + peeled.rest, A @ A.T, atol=1e-10)
    rounding = 1e-14 * peeled.values[0] * np.sqrt(np.linalg.norm(peeled.rest, 2))
    assert np.abs(Q.T @ peeled.rest).max() < rounding
    # Eigenvectors: A A' takes Q to its multiples.
    residual = A @ (A.T @ Q) - Q * peeled.values**2
    assert np.abs(residual).max() < 1e-13 * peeled.values[0] ** 2


@pytest.mark.parametrize("shape", SHAPES)
def test_small_eigenvalues_keep_their_digits(shape):
    X, y = spectra(*shape)
    data = standardize(X, y)
    peeled, rank = peel(data, 12), min(shape[0] - 1, shape[1])
    left = np.linalg.eigvalsh(peeled.rest)[::-1][: rank - len(peeled.values)]
    found = np.sqrt(np.concatenate([peeled.values**2, left]))
    values = np.linalg.svd(data.X, compute_uv=False)[:rank]
    np.testing.assert_allclose(found, values, rtol=0, atol=20 * np.finfo(float).eps * values[0])


@pytest.mark.parametrize("shape", SHAPES)
def test_the_start_is_split_like_the_matrix(shape):
    X, y = spectra(*shape)
    data = standardize(X, y)
    A, peeled = matrix_of(data), peel(data, 12)
    vector = data.y if shape[0] <= shape[1] else A @ data.y
    inside, beyond = np.split(peeled.start, [len(peeled.values)])
    size = np.linalg.norm(vector)
    np.testing.assert_allclose(peeled.leading @ inside + beyond, vector, atol=1e-14 * size)
    np.testing.assert_allclose(peeled.leading.T @ beyond, 0.0, atol=1e-13 * size)
    np.testing.assert_allclose(peeled.lift(peeled.start[:, None])[:, 0], vector, atol=1e-14 * size)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("weighted", [False, True])
def test_fits_agree_with_the_singular_value_decomposition(shape, weighted):
    X, y = spectra(*shape)
    weights = np.random.default_rng(2).exponential(size=shape[0]) + 0.1 if weighted else None
    fast = pls_path(X, y, 12, sample_weight=weights)
    slow = pls_path(X, y, 12, sample_weight=weights, solver="svd")
    assert fast.exact.decomposition.solver == "gram"
    assert np.all(np.abs(fast.dof - slow.dof) <= fast.dof_error + slow.dof_error)
    np.testing.assert_allclose(fast.dof, slow.dof, rtol=1e-9)
    np.testing.assert_allclose(fast.rss, slow.rss, rtol=1e-9)
    size = np.abs(slow.coef).max()
    np.testing.assert_allclose(fast.coef, slow.coef, atol=1e-9 * size)


def test_collinear_columns_are_left_to_the_singular_value_decomposition():
    X, y = spectra(70, 60)
    X[:, 1] = X[:, 0]
    assert compress_peeled(standardize(X, y), 8) is None


@pytest.mark.parametrize("noise", [1e-1, 1e-3, 1e-4])
def test_a_step_gives_small_eigenvalues_their_digits_back(noise):
    data = standardize(*spectra(60, 150, noise=noise))
    better, truth = refine(data, decompose(data, "gram")), decompose(data, "svd")
    assert np.all(
        np.abs(better.eigenvalues - truth.eigenvalues)
        <= better.eigenvalue_error + truth.eigenvalue_error
    )
    np.testing.assert_allclose(better.left.T @ better.left, np.eye(59), atol=1e-13)
    # Directions agree where eigenvalues are apart.
    cosine = np.abs(np.vecdot(better.left, truth.left, axis=0))
    np.testing.assert_allclose(cosine, 1.0, rtol=1e-10)


def test_repeated_rows_are_left_to_the_singular_value_decomposition():
    X, y = spectra(40, 80)
    X[1] = X[0]
    data = standardize(X, y)
    assert refine(data, decompose(data, "gram")) is None


def test_directions_below_the_rounding_of_a_gram_matrix_are_not_refined():
    data = standardize(*spectra(40, 80, noise=1e-10))
    assert refine(data, decompose(data, "gram")) is None


@pytest.mark.filterwarnings("ignore::plsdof.errors.ConstantColumnWarning")
def test_nothing_is_taken_off_nothing():
    assert peel(standardize(np.ones((30, 40)), np.arange(30.0)), 5) is None


def test_equal_eigenvalues_are_not_taken_apart():
    X = np.linalg.qr(np.random.default_rng(0).normal(size=(60, 40)))[0]
    X -= X.mean(axis=0)
    y = np.random.default_rng(1).normal(size=60)
    peeled = peel(standardize(X, y, scale=False), 5)
    assert peeled is None or np.all(np.isfinite(peeled.rest))


def test_the_factor_is_not_left_to_the_threads_of_scipy(monkeypatch):
    """Two pools of threads wait for each other: numpy's has just formed the matrix."""

    def refuse(*_, **__):
        raise AssertionError("scipy has a pool of threads of its own")

    monkeypatch.setattr(scipy.linalg, "cholesky", refuse)
    assert compress_peeled(standardize(*spectra(80, 200)), 12) is not None


def test_a_factor_with_fewer_rows_than_columns_is_left_to_the_singular_value_decomposition():
    data = standardize(*spectra(80, 200))
    assert compress_peeled(replace(data, is_factor=True), 12) is None
    tall = standardize(*spectra(200, 80))
    assert compress_peeled(replace(tall, is_factor=True), 12) is not None
