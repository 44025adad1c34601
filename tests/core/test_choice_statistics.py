"""The choice by cross-validation, its intervals and its noise level, over many draws."""

from dataclasses import replace

import numpy as np
import pytest

from plsdof import pls_path

pytestmark = pytest.mark.slow

FACTORS = 3


def _draw(rng, n, p, noise=0.5):
    """Return training and new rows that three factors explain; the noise has this deviation."""
    F = rng.standard_normal((n + 200, FACTORS))
    loadings = rng.standard_normal((FACTORS, p))
    X = F @ loadings + 0.5 * rng.standard_normal((n + 200, p))
    y = F.sum(axis=1) / np.sqrt(FACTORS) + noise * rng.standard_normal(n + 200)
    return X[:n], y[:n], X[n:], y[n:]


def _models(X, y):
    path = pls_path(X, y, min(10, X.shape[1]))
    chosen = path.select()
    return replace(path[chosen.index], selection=chosen), path.average()


def test_pure_noise_tempts_the_default_less_than_leave_one_out():
    differences = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((340, 60)), rng.standard_normal(40)
        path = pls_path(X[:40], y, 10)
        # The true mean is zero, so that squared predictions are the excess error.
        excess = np.mean(path.predict(X[40:]) ** 2, axis=1)
        single = int(np.argmin(path.left_out(cv="loo").press))
        differences.append(excess[single] - excess[path.select().index])
    spread = np.std(differences) / np.sqrt(len(differences))
    assert np.mean(differences) > spread


@pytest.mark.parametrize(("n", "p", "draws"), [(12, 5, 300), (12, 30, 300), (60, 100, 120)])
def test_intervals_of_new_observations_hold(n, p, draws):
    shares = []
    for seed in range(draws):
        X, y, X_new, y_new = _draw(np.random.default_rng([n, p, seed]), n, p)
        inside = [
            np.abs(y_new - one.predict(X_new)) <= one.predictor.half_widths(X_new)
            for one in _models(X, y)
        ]
        shares.append(np.mean(inside, axis=1))
    mean = np.mean(shares, axis=0)
    tolerance = 3 * np.std(shares, axis=0) / np.sqrt(draws)
    assert np.all(mean > 0.93 - tolerance)
    assert np.all(mean < 0.98 + tolerance)


def test_the_noise_level_is_right_in_the_middle_and_never_below_half():
    draws, noise = 150, 0.5
    found = np.array(
        [
            [one.noise_std / noise for one in _models(X, y)]
            for X, y, *_ in (_draw(np.random.default_rng([1, i]), 60, 100) for i in range(draws))
        ]
    )
    # The standard error of a median of normal values.
    tolerance = 0.05 + 3 * 1.25 * found.std(axis=0) / np.sqrt(draws)
    assert np.all(np.abs(np.median(found, axis=0) - 1.0) < tolerance)
    assert found.min() > 0.5
