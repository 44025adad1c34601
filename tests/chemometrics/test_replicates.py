"""Replicates: what is exact about means with weights, and how far measurements may differ."""

import numpy as np
import pytest

from plsdof import pls_path
from plsdof.chemometrics.samples import averaged, repeatability, spread_limit

rng = np.random.default_rng(5)
COUNTS = np.array([1, 2, 3, 4, 2, 1, 3, 2, 5, 1, 2, 3])
SAMPLES = np.repeat(np.arange(12), COUNTS)
X = rng.normal(size=(12, 5))
Y = X @ rng.normal(size=5) + 0.3 * rng.normal(size=12)


@pytest.mark.parametrize("scale", [True, False])
def test_weighted_means_are_all_rows_with_each_row_replaced_by_its_mean(scale):
    """The exact statement: coefficients and Degrees of Freedom of every model agree."""
    rows = X[SAMPLES] + 0.1 * rng.normal(size=(len(SAMPLES), 5))
    y = Y[SAMPLES] + 0.1 * rng.normal(size=len(SAMPLES))
    means, of_y = averaged(rows, SAMPLES), averaged(y, SAMPLES)
    weighted = pls_path(means, of_y, 4, scale=scale, sample_weight=COUNTS / COUNTS.mean())
    repeated = pls_path(means[SAMPLES], of_y[SAMPLES], 4, scale=scale)
    np.testing.assert_allclose(weighted.coef, repeated.coef, rtol=1e-9)
    np.testing.assert_allclose(weighted.dof, repeated.dof, rtol=1e-9)
    assert weighted.exact.spectrum.n == pytest.approx(12)


def test_with_equal_spectra_they_are_all_rows_whatever_their_responses():
    y = Y[SAMPLES] + 0.1 * rng.normal(size=len(SAMPLES))
    weighted = pls_path(X, averaged(y, SAMPLES), 4, sample_weight=COUNTS / COUNTS.mean())
    every = pls_path(X[SAMPLES], y, 4)
    np.testing.assert_allclose(weighted.coef, every.coef, rtol=1e-9)
    # The rest is what replicates differ by, which no model explains.
    within = np.sum((y - averaged(y, SAMPLES)[SAMPLES]) ** 2)
    np.testing.assert_allclose(weighted.rss * COUNTS.mean(), every.rss - within, rtol=1e-9)


def test_with_equal_responses_the_first_component_has_the_direction_of_all_rows():
    rows = X[SAMPLES] + 0.3 * rng.normal(size=(len(SAMPLES), 5))
    weights = COUNTS / COUNTS.mean()
    weighted = pls_path(averaged(rows, SAMPLES), Y, 2, scale=False, sample_weight=weights)
    every = pls_path(rows, Y[SAMPLES], 2, scale=False)
    cosine = weighted.x_weights[:, 0] @ every.x_weights[:, 0]
    assert abs(cosine) == pytest.approx(1, abs=1e-12)
    # But it is not the same fit: replicates differ, which shrinks the coefficients of all rows.
    assert not np.allclose(weighted.coef[1], every.coef[1], rtol=1e-3)


def test_means_with_holes():
    values = np.array([[1.0, np.nan], [3.0, 4.0], [np.nan, np.nan]])
    np.testing.assert_array_equal(averaged(values, [0, 0, 1]), [[2, np.nan], [np.nan, np.nan]])
    known = averaged(values, [0, 0, 1], known=True)
    np.testing.assert_array_equal(known, [[2, 4], [np.nan, np.nan]])


def test_limits_are_exceeded_as_often_as_they_say():
    draws = np.random.default_rng(1)
    alarms = []
    for _ in range(2000):
        past = repeatability(draws.normal(size=40), np.repeat(np.arange(20), 2))
        new = repeatability(draws.normal(size=4), [0, 0, 0, 0])
        alarms.append(new.spread[0] > spread_limit(past.std, past.dof, new.counts)[0])
    assert np.mean(alarms) == pytest.approx(0.05, abs=3 * np.sqrt(0.05 * 0.95 / 2000))


def test_single_measurements_have_no_spread():
    found = repeatability([1.0, 2.0], ["a", "b"])
    assert np.isnan(found.std)
    assert found.dof == 0
    assert np.isnan(found.spread).all()
    assert np.isnan(spread_limit(1.0, 5, [1])).all()
