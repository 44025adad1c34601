"""Smoothed Degrees of Freedom: averages over responses drawn around a fit."""

import numpy as np
import pytest
from _helpers.latent import latent_data
from _helpers.problems import make_problem

from plsdof import kernel_pls_path, pcr_path, penalized_pls_path, pls_path, ridge_path
from plsdof._core.criteria import gcv
from plsdof._core.krylov import dofs_of_responses
from plsdof._core.smoothing import smoothed_dof
from plsdof.errors import InvalidInputError


def centre_of_draws(path):
    """Return mu and s of the definition, in original units."""
    n = path.exact.spectrum.n
    weights = gcv(path.rss, path.dof, n) ** (-n / 2)
    weights /= weights.sum()
    mu = weights @ path.fitted
    spare = n - weights @ path.dof
    return mu, np.sqrt(np.sum((path[0].residuals + path.fitted[0] - mu) ** 2) / spare)


def repeated(exact, draws, first=0, times=10):
    """Return the mean over seeds of averages, and its standard error."""
    found = [
        smoothed_dof(exact.spectrum, exact.filter, exact.rss, draws=draws, rng=first + seed)
        for seed in range(times)
    ]
    return np.mean(found, axis=0), np.std(found, axis=0, ddof=1) / np.sqrt(times)


@pytest.mark.parametrize("shape", [(40, 8), (20, 50)])
def test_batch_equals_one_fit_per_response(shape):
    X, y = latent_data(*shape, 0)
    path = pls_path(X, y, 6, solver="svd")
    rng = np.random.default_rng(1)
    Y = y + rng.normal(size=(5, len(y)))
    U, S, _ = np.linalg.svd((X - X.mean(0)) / X.std(0, ddof=1), full_matrices=False)
    kept = 1e-9 * S[0] < S
    Z = (Y - Y.mean(axis=1, keepdims=True)) @ U[:, kept]
    dofs = dofs_of_responses(S[kept] ** 2, Z, np.ones(kept.sum()), 6)
    for row, response in zip(dofs, Y, strict=True):
        np.testing.assert_allclose(row, path.refit(response).dof, rtol=1e-7)


def test_average_equals_refits_to_drawn_responses():
    X, y = latent_data(30, 8, 3, noise=1.0)
    path = pls_path(X, y, 5)
    mu, s = centre_of_draws(path)
    rng = np.random.default_rng(2)
    dofs = [path.refit(mu + s * rng.normal(size=30)).dof for _ in range(600)]
    dofs = np.clip(dofs, 1, 30)
    smooth, own_error = repeated(path.exact, 600)
    error = np.hypot(dofs.std(axis=0) / np.sqrt(600), own_error)
    # The observed response is one of the 601 that are averaged.
    shift = np.abs(path.dof - smooth) / 600
    assert np.all(np.abs(smooth - dofs.mean(axis=0)) <= 4 * error + shift + 1e-12)
    assert np.abs(smooth - path.dof).max() > 0.3


@pytest.mark.parametrize(("n", "p", "components"), [(120, 60, 4), (140, 200, 5), (150, 250, 9)])
def test_krylov_space_alone_gives_the_same_average(n, p, components):
    X, y = latent_data(n, p, 4, noise=1.0)
    path = pls_path(X, y, components)
    assert path.exact.spectrum.counted is not None
    one, error = repeated(path.exact, 100)
    other, other_error = repeated(path.exact.complete(), 100, first=50)
    error = np.hypot(error, other_error)
    assert np.all(np.abs(one - other) <= 4 * error + 0.02 * other)


def test_same_data_and_seed_give_the_same_numbers():
    path = pls_path(*make_problem(30, 40, seed=1, decay=1), 8)
    again = pls_path(*make_problem(30, 40, seed=1, decay=1), 8)
    np.testing.assert_array_equal(path.smoothed_dof(), again.smoothed_dof())
    assert np.any(path.smoothed_dof() != path.smoothed_dof(rng=1))


def test_errors_fall_with_the_root_of_the_draws():
    path = pls_path(*make_problem(30, 40, seed=1, decay=1), 6)
    few, many = (repeated(path.exact, draws, times=60)[1] for draws in (20, 500))
    np.testing.assert_allclose(few[2:] / many[2:], 5.0, rtol=0.5)


def test_values_of_single_draws_are_clipped():
    path = pls_path(*make_problem(20, 60, seed=3, decay=0.5))
    assert path.dof.max() > 20
    smooth = path.smoothed_dof()
    assert np.all((smooth >= 1) & (smooth <= 20))


def test_empty_and_least_squares_model_are_exact():
    path = pls_path(*make_problem(40, 5, seed=2))
    smooth = path.smoothed_dof()
    assert smooth[0] == 1
    assert smooth[-1] == pytest.approx(6, abs=1e-6)


def test_methods_linear_in_y_are_not_smoothed():
    X, y = make_problem(30, 6, seed=5)
    for path in (pcr_path(X, y), ridge_path(X, y)):
        np.testing.assert_array_equal(path.smoothed_dof(), path.dof)


def test_exact_fits_are_not_smoothed():
    X, _ = make_problem(20, 3, seed=7)
    path = pls_path(X, X @ [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(path.smoothed_dof(), path.dof)


def test_kernel_penalised_and_weighted_paths_have_them():
    X, y = latent_data(40, 6, 0, noise=1.0)
    weights = np.repeat([1.0, 2.0], 20)
    weighted = pls_path(X, y, 4, sample_weight=weights)
    repeated = pls_path(np.vstack([X, X[20:]]), np.append(y, y[20:]), 4)
    np.testing.assert_allclose(weighted.smoothed_dof(), repeated.smoothed_dof(), rtol=1e-6)
    for path in (
        kernel_pls_path(X, y, max_components=4),
        penalized_pls_path(X, y, max_components=4),
    ):
        smooth = path.smoothed_dof(100)
        assert smooth.shape == path.dof.shape
        assert np.all(smooth[1:] != path.dof[1:])


def test_blocks_of_draws_change_nothing(monkeypatch):
    path = pls_path(*make_problem(25, 60, seed=8, decay=0.3), 8)
    whole = path.smoothed_dof()
    monkeypatch.setattr("plsdof._core.smoothing._BLOCK_ENTRIES", 600)
    np.testing.assert_allclose(path.smoothed_dof(), whole, rtol=1e-12)


def test_draws_must_be_a_count():
    path = pls_path(*make_problem(20, 4))
    with pytest.raises(InvalidInputError):
        path.smoothed_dof(0)


def test_order_of_rows_and_columns_and_the_unit_of_y_do_not_matter():
    X, y = latent_data(30, 12, 5, noise=1.0)
    smooth = pls_path(X, y, 6, solver="svd").smoothed_dof()
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(30), rng.permutation(12)
    moved = pls_path(X[rows][:, columns], 1000.0 * y[rows] - 7.0, 6, solver="svd")
    np.testing.assert_allclose(moved.smoothed_dof(), smooth, rtol=1e-6)
    gram = pls_path(X, y, 6, solver="gram")
    np.testing.assert_allclose(gram.smoothed_dof(), smooth, rtol=1e-5)
