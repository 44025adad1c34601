"""The Krylov space instead of singular vectors: same numbers, less work."""

import pickle

import numpy as np
import pytest
from _helpers.problems import counted

from plsdof import pls_path
from plsdof._core.compression import (
    bidiagonalize,
    compress_gram,
    eigenvalues_of,
    krylov_steps,
    peeled_values,
    singular_values,
)
from plsdof._core.criteria import noise_from_jacobian
from plsdof._core.filters import pls_filter
from plsdof._core.spectrum import RESOLUTION, dense_gram
from plsdof._core.standardize import standardize
from plsdof.errors import ConstantColumnWarning, RankExhaustedWarning

SHAPES = [(60, 200), (200, 60), (120, 121), (100, 100), (300, 50)]


def collinear(rng, n, p, decay=0.7, noise=0.2):
    k = min(n, p, 15)
    scores = rng.normal(size=(n, k)) * decay ** np.arange(k)
    X = scores @ rng.normal(size=(k, p)) + noise * rng.normal(size=(n, p)) + 3.0
    return X, scores @ rng.normal(size=k) + 0.2 * rng.normal(size=n)


def agree(fast, slow, tolerance=1e-8):
    """Compare the closed forms of two paths."""
    fast, slow = getattr(fast, "exact", fast), getattr(slow, "exact", slow)
    assert len(fast.dof) == len(slow.dof)
    np.testing.assert_allclose(fast.dof, slow.dof, rtol=tolerance)
    np.testing.assert_allclose(fast.rss, slow.rss, rtol=tolerance)
    np.testing.assert_allclose(
        noise_from_jacobian(fast.rss, fast.filter.residual_trace),
        noise_from_jacobian(slow.rss, slow.filter.residual_trace),
        rtol=tolerance,
    )
    scale = np.linalg.norm(slow.coef, axis=1, keepdims=True) + 1e-300
    np.testing.assert_allclose(fast.coef / scale, slow.coef / scale, atol=tolerance)
    np.testing.assert_allclose(fast.intercept, slow.intercept, rtol=1e-6)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("solver", ["auto", "gram"])
@pytest.mark.parametrize("scale", [True, False])
def test_few_components_need_no_singular_vectors(shape, solver, scale):
    rng = np.random.default_rng(shape[0])
    X, y = collinear(rng, *shape)
    fast = pls_path(X, y, 10, solver=solver, scale=scale)
    assert fast.exact.full is not None
    assert len(fast.exact.decomposition.eigenvalues) <= krylov_steps(10)
    agree(fast, pls_path(X, y, 10, solver="svd", scale=scale))


def test_weighted_rows_too():
    rng = np.random.default_rng(5)
    X, y = collinear(rng, 90, 70)
    weights = rng.uniform(0.5, 2.0, 90)
    fast = pls_path(X, y, 6, sample_weight=weights)
    assert fast.exact.full is not None
    agree(fast, pls_path(X, y, 6, sample_weight=weights, solver="svd"))


@pytest.mark.parametrize("seed", range(6))
def test_reported_errors_cover_the_difference_to_the_singular_value_decomposition(seed):
    rng = np.random.default_rng(seed)
    n, p = rng.integers(60, 150, 2)
    X, y = collinear(rng, n, p, decay=rng.uniform(0.2, 0.9), noise=10.0 ** rng.uniform(-6, -1))
    gram = dense_gram(standardize(X, y))
    fast = pls_filter(compress_gram(gram, eigenvalues_of(gram), krylov_steps(12))[1], 12)
    slow = pls_path(X, y, 12, solver="svd")
    size = min(len(fast.dof), len(slow.dof))
    assert size > 4
    difference = np.abs(fast.dof[:size] - slow.dof[:size])
    assert np.all(difference <= fast.dof_error[:size] + slow.dof_error[:size])


@pytest.mark.parametrize("gap", [1e2, 1e4, 1e6])
def test_a_filter_that_is_steep_at_a_dominating_eigenvalue_is_counted_there_exactly(gap):
    """Rounding of the eigenvalue alone, times the slope, would be off by orders of magnitude."""
    rng = np.random.default_rng(1)
    n, p = 80, 60
    U = np.linalg.qr(rng.normal(size=(n, p)) - 0.0)[0]
    U -= U.mean(axis=0)
    V = np.linalg.qr(rng.normal(size=(p, p)))[0]
    S = np.linspace(1.0, 0.5, p)
    S[0] = np.sqrt(gap)
    X = (U * S) @ V.T
    y = rng.normal(size=n)
    fast = pls_path(X, y, 10, scale=False, solver="gram")
    assert fast.exact.full is not None
    assert fast.exact.spectrum.counts.sum() >= 1
    slow = pls_path(X, y, 10, scale=False, solver="svd")
    size = min(len(fast.dof), len(slow.dof))
    np.testing.assert_allclose(fast.dof[:size], slow.dof[:size], rtol=1e-7)


def test_every_eigenvalue_is_counted_once():
    rng = np.random.default_rng(2)
    X, y = collinear(rng, 100, 80)
    spectrum = pls_path(X, y, 8).exact.spectrum
    assert len(spectrum.others) + spectrum.counts.sum() == spectrum.rank == 80
    whole = pls_path(X, y, 8, solver="svd").exact.spectrum.eigenvalues
    assert spectrum.trace == pytest.approx(whole.sum(), rel=1e-12)


def near_infrared(rng, n, p, noise):
    """Twelve overlapping bands, with noise of this size beside signals of order one."""
    place, width = rng.uniform(0, 1, (12, 1)), rng.uniform(0.02, 0.15, (12, 1))
    bands = np.exp(-((np.linspace(0, 1, p) - place) ** 2) / 2 / width**2)
    amount = rng.gamma(2, 1, (n, 12))
    X = amount @ bands + noise * rng.standard_normal((n, p))
    return X, 2 * amount[:, 0] + amount[:, 3] + 0.1 * rng.standard_normal(n)


@pytest.mark.parametrize("shape", [(80, 300), (300, 80), (100, 100), (100, 101), (101, 100)])
@pytest.mark.parametrize("noise", [1e-2, 1e-3, 1e-4, 1e-5])
@pytest.mark.parametrize("scale", [True, False])
def test_spectra_with_little_noise_are_counted_without_singular_vectors(shape, noise, scale):
    X, y = near_infrared(np.random.default_rng(1), *shape, noise)
    fast, slow = pls_path(X, y, 15, scale=scale), pls_path(X, y, 15, scale=scale, solver="svd")
    assert fast.exact.full is not None
    assert len(fast.dof) == len(slow.dof) == 16
    difference = np.abs(fast.dof - slow.dof)
    assert np.all(difference <= fast.dof_error + slow.dof_error)
    assert np.all(difference <= 1e-5 * np.maximum(1, np.abs(slow.dof)))
    np.testing.assert_allclose(fast.rss, slow.rss, rtol=1e-4)
    size = np.linalg.norm(slow.coef[1:], axis=1)
    assert np.all(np.linalg.norm(fast.coef[1:] - slow.coef[1:], axis=1) <= 1e-6 * size)
    whole = fast.exact.complete()
    assert whole.full is None
    assert np.trace(fast.jacobian(15)) == pytest.approx(slow.dof[15], rel=1e-5)


@pytest.mark.parametrize("shape", [(60, 90), (90, 60), (70, 70)])
def test_the_bidiagonal_recursion_on_rows(shape):
    rng = np.random.default_rng(3)
    X = rng.normal(size=shape) * 0.8 ** np.arange(shape[1])
    y = rng.normal(size=shape[0])
    space = bidiagonalize(X, y, 11)
    S = np.sqrt(space.values)
    np.testing.assert_allclose(space.basis @ space.basis.T, np.eye(11), atol=1e-13)
    np.testing.assert_allclose(space.images @ space.images.T, np.eye(11), atol=1e-13)
    np.testing.assert_allclose(X @ space.basis.T, space.images.T * S, atol=1e-13)
    np.testing.assert_allclose(space.basis @ X.T @ y, space.first, atol=1e-12)
    residual = X.T @ X @ space.basis.T - space.basis.T * space.values
    np.testing.assert_allclose(np.linalg.norm(residual, axis=0), space.residuals, atol=1e-12)


@pytest.mark.parametrize("shape", [(60, 200), (200, 60), (80, 80)])
@pytest.mark.parametrize("noise", [1e-4, 1e-6])
def test_what_converged_triplets_leave_has_all_eigenvalues(shape, noise):
    data = standardize(*near_infrared(np.random.default_rng(5), *shape, noise))
    peeled = peeled_values(data, bidiagonalize(data.X, data.y, 20))
    whole = singular_values(data)
    assert len(peeled.values) == len(whole.values)
    allowed = RESOLUTION * (peeled.error + whole.error)
    assert np.all(np.abs(peeled.values - whole.values) <= allowed)
    assert np.all(peeled.error[-20:] <= 1e-6 * peeled.values[-20:])


def test_nothing_is_taken_off_where_nothing_has_converged():
    rng = np.random.default_rng(6)
    data = standardize(rng.normal(size=(80, 60)), rng.normal(size=80))
    assert peeled_values(data, bidiagonalize(data.X, data.y, 5)) is None


def test_coefficients_in_doubt_are_no_reason_to_count_again():
    """Rounding of the Gram matrix costs digits of coefficients, which the recursion has."""
    X, y = near_infrared(np.random.default_rng(1), 1000, 40, 1e-3)
    path = pls_path(X, y, 10, scale=False)
    slow = pls_path(X, y, 10, scale=False, solver="svd")
    size = np.linalg.norm(slow.coef[1:], axis=1)
    assert np.all(np.linalg.norm(path.coef[1:] - slow.coef[1:], axis=1) <= 1e-9 * size)
    np.testing.assert_allclose(path.predict(X), slow.predict(X), atol=1e-9)


def test_an_exhausted_krylov_space_ends_the_path_as_it_does_with_singular_vectors():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(100, 3)) @ rng.normal(size=(3, 90))
    y = X[:, 0] + rng.normal(size=100)
    with pytest.warns(RankExhaustedWarning):
        fast = counted(pls_path(X, y, 10, solver="gram"))
    with pytest.warns(RankExhaustedWarning):
        slow = counted(pls_path(X, y, 10, solver="svd"))
    agree(fast, slow)


def test_constant_response_and_constant_predictors():
    X = np.random.default_rng(0).normal(size=(80, 60))
    with pytest.warns(RankExhaustedWarning):
        path = counted(pls_path(X, np.ones(80), 5))
    np.testing.assert_array_equal(path.dof, [1.0])
    with pytest.warns(ConstantColumnWarning), pytest.warns(RankExhaustedWarning):
        path = counted(pls_path(np.ones((80, 60)), np.arange(80.0), 5))
    np.testing.assert_array_equal(path.dof, [1.0])


def test_the_complete_path_has_jacobians_and_the_same_numbers():
    rng = np.random.default_rng(6)
    X, y = collinear(rng, 90, 70)
    path = pls_path(X, y, 5)
    assert path.exact.full is not None
    whole = path.exact.complete()
    assert whole.full is None
    assert path.exact.complete() is whole
    assert whole.complete() is whole
    agree(path, whole)
    for m in range(6):
        assert np.trace(path.jacobian(m)) == pytest.approx(path.dof[m], rel=1e-9)
        assert path.leverage(m).sum() == pytest.approx(path.dof[m], rel=1e-9)
    np.testing.assert_allclose(path.coef_jacobian(3) @ y, path.coef[3], atol=1e-8)


def test_another_response_starts_from_the_complete_path():
    rng = np.random.default_rng(7)
    X, y = collinear(rng, 70, 90)
    other = rng.normal(size=70)
    agree(pls_path(X, y, 5).refit(other), pls_path(X, other, 5, solver="svd"))


def test_scores_and_loadings_do_not_depend_on_the_route():
    rng = np.random.default_rng(8)
    X, y = collinear(rng, 70, 90)
    fast, slow = pls_path(X, y, 5), pls_path(X, y, 5, solver="svd")
    for name in ("x_weights", "x_scores", "x_loadings", "x_rotations"):
        ours, theirs = getattr(fast, name), getattr(slow, name)
        sign = np.sign(np.sum(ours * theirs, axis=0))
        np.testing.assert_allclose(ours * sign, theirs, atol=1e-9 * np.abs(theirs).max())
    np.testing.assert_allclose(fast.fitted, slow.fitted, atol=1e-9)


def test_a_path_in_krylov_space_can_be_pickled():
    rng = np.random.default_rng(9)
    X, y = collinear(rng, 70, 90)
    path = pls_path(X, y, 5)
    copy = pickle.loads(pickle.dumps(path))
    np.testing.assert_array_equal(copy.dof, path.dof)
    np.testing.assert_array_equal(copy.coef_std_error(3), path.coef_std_error(3))


@pytest.mark.parametrize("seed", range(5))
def test_predictors_of_low_rank_do_not_cost_digits(seed):
    """y then has a part that no direction of X reaches, and Lanczos finds a node near zero."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, (64, 26)) @ rng.integers(-2, 3, (26, 104)).astype(float)
    y = rng.normal(size=64)
    fast, slow = pls_path(X, y, 12), pls_path(X, y, 12, solver="svd")
    spread = np.std(y)
    np.testing.assert_allclose(fast.predict(X), slow.predict(X), atol=1e-9 * spread)


@pytest.mark.parametrize("seed", range(5))
def test_tiny_singular_values_do_not_cost_digits_of_predictions(seed):
    rng = np.random.default_rng(seed)
    U, V = (np.linalg.qr(rng.normal(size=(size, 50)))[0] for size in (55, 65))
    X = (U * np.logspace(0, -9, 50)) @ V.T
    y = rng.normal(size=55)
    fast = pls_path(X, y, 12, scale=False)
    slow = pls_path(X, y, 12, scale=False, solver="svd")
    size = min(len(fast.dof), len(slow.dof))
    np.testing.assert_allclose(fast.predict(X)[:size], slow.predict(X)[:size], atol=1e-8)


def test_large_means_do_not_cost_digits_of_predictions():
    rng = np.random.default_rng(0)
    X = rng.integers(-1000, 1000, (60, 5)).astype(float)
    y = X @ np.arange(5.0) + rng.normal(size=60)
    moved = pls_path(X + 2.0**40, y).predict(X + 2.0**40)
    np.testing.assert_allclose(moved, pls_path(X, y).predict(X), atol=3e-7 * np.std(y))
