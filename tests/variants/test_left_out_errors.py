"""Held-out rows by kernel and penalised PLS, against refits in ball arithmetic."""

import numpy as np
import pytest
from _helpers.oracle_left_out import exact_left_out, penalized, rbf, with_far_rows

from plsdof import kernel_pls_path, penalized_pls_path

pytestmark = pytest.mark.filterwarnings("ignore::plsdof.errors.PlsdofWarning")
EPS = np.finfo(float).eps
FOLD = np.arange(15) % 5
FOLDS = [(np.flatnonzero(f != FOLD), np.flatnonzero(f == FOLD)) for f in range(5)]


def make(kind, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(15, 3))
    if kind == "collinear":
        X[:, 2] = X[:, 0] * (1.0 + 1e-8 * rng.normal(size=15))
    if kind == "heavy":
        X = rng.standard_t(1.2, size=(15, 3))
    if kind == "smooth":
        X = rng.normal(size=(15, 3)).cumsum(axis=1) * [1.0, 1e-3, 1e-6]
    return X, X @ [1.0, -1.0, 0.5] + rng.normal(size=15)


def assert_within_error(left, exact):
    usable = min(len(left.residuals), len(exact))
    off = np.abs(left.residuals[:usable] - exact[:usable]).max(axis=1)
    assert np.all(off <= left.error[:usable] + 8 * EPS * np.abs(left.y).max())
    # Small models are known, and close to rounding.
    assert np.all(left.error[:2] < 1e-5)


@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("gamma", [1e-4, 0.3])
@pytest.mark.parametrize("kind", ["plain", "collinear", "heavy", "smooth"])
def test_kernel_values(kind, gamma, scale):
    X, y = make(kind, 1)
    left = kernel_pls_path(X, y, gamma=gamma, scale=scale, max_components=8).left_out(FOLDS)
    exact = exact_left_out(rbf(gamma), X, y, FOLD, len(left.residuals) - 1, scale=scale)
    assert_within_error(left, exact)


@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("strength", [0.1, 1e6])
@pytest.mark.parametrize("kind", ["plain", "collinear", "heavy", "smooth"])
def test_penalties(kind, strength, scale):
    X, y = make(kind, 2)
    left = penalized_pls_path(X, y, 1, strength=strength, scale=scale).left_out(FOLDS)
    D = np.diff(np.eye(3), axis=0)
    gram = penalized(D.T @ D, strength)
    exact = exact_left_out(gram, X, y, FOLD, len(left.residuals) - 1, scale=scale)
    assert_within_error(left, exact)


@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_kernel_values_beside_far_rows(seed, scale):
    # About the mean, which a row at 1e14 moves, the other rows would have two digits.
    rng = np.random.default_rng(seed)
    X = with_far_rows(rng.normal(size=(15, 3)), rng)
    X[0] *= [1.0, 1e5, 1.0]
    y = rng.normal(size=15)
    left = kernel_pls_path(X, y, gamma=0.1, scale=scale, max_components=4).left_out(FOLDS)
    exact = exact_left_out(rbf(0.1), X, y, FOLD, len(left.residuals) - 1, scale=scale)
    assert_within_error(left, exact)
