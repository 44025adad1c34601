"""Reported errors against true ones, on problems of many kinds.

The truth is the singular value decomposition, whose own reported error is allowed for.
"""

import numpy as np
import pytest

from plsdof import pls_path
from plsdof.datasets import make_spectra


def latent(rng, n, p):
    k = int(rng.integers(2, 12))
    loadings = rng.normal(size=(k, p)) * 10.0 ** rng.uniform(-2, 1, (k, 1))
    noise = 10.0 ** rng.uniform(-8, 0)
    return rng.normal(size=(n, k)) @ loadings + noise * rng.normal(size=(n, p))


def decay(rng, n, p):
    d = min(n, p)
    U, V = (np.linalg.qr(rng.normal(size=(size, d)))[0] for size in (n, p))
    return (U * np.logspace(0, -rng.uniform(0.5, 8), d)) @ V.T


def outlier(rng, n, p):
    X = rng.normal(size=(n, p))
    X[rng.integers(n)] *= 10.0 ** rng.uniform(1, 5)
    return X


def blocks(rng, n, p):
    common = rng.normal(size=(n, 4)) * 10.0 ** rng.uniform(-3, 2, 4)
    noise = 10.0 ** rng.uniform(-6, -1, 4)
    member = np.arange(p) % 4
    return common[:, member] + noise[member] * rng.normal(size=(n, p))


def integers(rng, n, p):
    return rng.integers(0, 5, (n, p)).astype(float)


def powers(rng, n, p):
    X = np.linspace(-1, 1, n)[:, None] ** np.arange(1, min(p, 15) + 1)
    return X + 10.0 ** rng.uniform(-9, -4) * rng.normal(size=X.shape)


def correlated(rng, n, p):
    share = rng.uniform(0.5, 0.9999)
    return np.sqrt(share) * rng.normal(size=(n, 1)) + np.sqrt(1 - share) * rng.normal(size=(n, p))


def other_units(rng, n, p):
    return rng.normal(size=(n, p)) * 10.0 ** rng.uniform(-4, 4, p)


def spectra(rng, n, p):
    return make_spectra(max(n, 20), max(p, 40), random_state=rng).data


KINDS = (
    latent,
    decay,
    outlier,
    blocks,
    integers,
    powers,
    correlated,
    other_units,
    spectra,
)


def problem(kind, rng):
    """Return data with a response in the leading directions, and options of a fit."""
    n = int(rng.choice([12, 20, 40, 70, 100, 200]))
    X = kind(rng, n, int(rng.choice([8, 15, 40, 90, 200])))
    U = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[0][:, :6]
    signal = U @ (rng.normal(size=U.shape[1]) * rng.uniform(0.2, 1, U.shape[1]))
    y = np.sqrt(len(X)) * signal + rng.uniform(0, 0.5) * rng.normal(size=len(X))
    M = int(rng.choice([3, 6, 10, 20, 40]))
    return X, y, {"max_components": M, "scale": bool(rng.random() < 0.5)}


def compare(kind, seed, solver):
    """Return true errors over reported ones, of Degrees of Freedom and coefficients."""
    X, y, options = problem(kind, np.random.default_rng([KINDS.index(kind), seed]))
    tried = pls_path(X, y, solver=solver, **options)
    truth = pls_path(X, y, solver="svd", **options)
    both = slice(1, min(len(tried.dof), len(truth.dof)))
    scale = np.where(np.isfinite(truth.exact.units.x_scale), truth.exact.units.x_scale, 1.0)
    coef = truth.coef[both] * scale
    away = np.linalg.norm(tried.coef[both] * scale - coef, axis=1)
    dof = np.abs(tried.dof[both] - truth.dof[both])
    return (
        dof / (tried.dof_error[both] + truth.dof_error[both]),
        away / np.linalg.norm(coef, axis=1) / (tried.coef_error[both] + truth.coef_error[both]),
        dof / np.maximum(1.0, np.abs(truth.dof[both])),
    )


def check(kind, seeds, solver):
    runs = [compare(kind, seed, solver) for seed in seeds]
    found = [np.concatenate(parts) for parts in zip(*runs, strict=True)]
    of_dof, of_coef, relative = found
    assert len(of_dof) > len(seeds)
    assert of_dof.max() <= 1.0
    assert of_coef.max() <= 1.0
    if solver == "auto":
        # What solver="auto" promises: ways with fewer digits are kept up to estimates of 1e-5.
        assert relative.max() <= 1e-5


@pytest.mark.filterwarnings("ignore::plsdof.errors.PlsdofWarning")
@pytest.mark.parametrize("solver", ["auto", "gram"])
@pytest.mark.parametrize("kind", KINDS)
def test_true_errors_are_within_reported_ones(kind, solver):
    check(kind, range(8), solver)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::plsdof.errors.PlsdofWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_true_errors_are_within_reported_ones_many_times(kind):
    check(kind, range(100, 600), "auto")


@pytest.mark.filterwarnings("ignore::plsdof.errors.PlsdofWarning")
def test_directions_below_the_resolution_that_hold_part_of_y_are_allowed_for():
    """Seven large directions, and y has a part along others 1e-7 times as large."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(100, 7)) @ rng.normal(size=(7, 200)) + 3e-7 * rng.normal(size=(100, 200))
    y = X[:, 0] + rng.normal(size=100)
    gram = pls_path(X, y, 7, scale=False, solver="gram")
    truth = pls_path(X, y, 7, scale=False, solver="svd")
    assert gram.exact.spectrum.unresolved
    difference = np.abs(gram.dof - truth.dof[: len(gram.dof)])
    assert difference[7] > 1e-10
    assert np.all(difference <= gram.dof_error)
    np.testing.assert_allclose(pls_path(X, y, 7, scale=False).dof, truth.dof, rtol=1e-10)


@pytest.mark.filterwarnings("ignore::plsdof.errors.PlsdofWarning")
def test_small_eigenvalues_that_only_seem_to_be_equal_are_not_taken_for_equal():
    """Merged into one, they would end the path with certainty, and a wrong value."""
    rng = np.random.default_rng(3)
    U, V = (np.linalg.qr(rng.normal(size=(size, 6)))[0] for size in (50, 6))
    U -= U.mean(axis=0)
    X = (np.linalg.qr(U)[0] * np.array([1.0, 0.3, 0.1, 0.03, 2.0e-7, 1.9e-7])) @ V.T
    y = U @ np.ones(6) + 0.1 * rng.normal(size=50)
    gram = pls_path(X, y, scale=False, solver="gram")
    truth = pls_path(X, y, scale=False, solver="svd")
    assert len(truth.dof) == 7
    size = len(gram.dof)
    assert np.all(np.abs(gram.dof - truth.dof[:size]) <= gram.dof_error + truth.dof_error[:size])
    np.testing.assert_allclose(pls_path(X, y, scale=False).dof, truth.dof, rtol=1e-9)


def test_coefficients_are_off_by_more_than_the_way_back_through_x():
    """Both terms count: errors of the filter, and what is lost from samples to features."""
    rng = np.random.default_rng(1)
    scores = rng.normal(size=(60, 4))
    X = scores @ rng.normal(size=(4, 300)) + 1e-3 * rng.normal(size=(60, 300))
    y = scores[:, 0] + 0.1 * rng.normal(size=60)
    path, truth = (pls_path(X, y, 10, solver=solver) for solver in ("gram", "svd"))
    size = min(len(path.dof), len(truth.dof))
    found, exact = path.exact, truth.exact
    assert found.decomposition.right is None
    apart = np.linalg.norm(found.standardized_coef[:size] - exact.standardized_coef[:size], axis=1)
    relative = apart[1:] / np.linalg.norm(exact.standardized_coef[1:size], axis=1)
    assert np.all(relative <= found.coef_error[1:size])
    on_the_way = found.coef_error - found.filter.coef_error
    assert np.all(on_the_way[1:] > 0)
    assert np.any(relative > on_the_way[1:size])


@pytest.mark.parametrize("shape", [(100, 160), (160, 100)])
def test_spectra_with_little_noise_need_no_singular_vectors(shape):
    """Small eigenvalues of a Gram matrix are off by roundings of its diagonal only."""
    rng = np.random.default_rng(5)
    shares = rng.uniform(size=(shape[0], 6))
    bands = np.exp(-(((np.linspace(0, 1, shape[1]) - rng.uniform(size=(6, 1))) / 0.1) ** 2))
    X = shares @ bands + 3e-4 * rng.normal(size=shape)
    y = shares @ rng.normal(size=6) + 0.05 * rng.normal(size=shape[0])
    path, truth = pls_path(X, y, 10), pls_path(X, y, 10, solver="svd")
    assert path.exact.decomposition.solver == "gram"
    assert np.all(np.abs(path.dof - truth.dof) <= path.dof_error)
    assert np.all(path.dof_error <= 1e-5 * path.dof)
