"""Intervals of PLS2 from rows left out: derivatives, fits one by one, coverage."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from plsdof import pls_path
from plsdof.errors import InvalidInputError
from plsdof.estimators import PLS2Regressor
from plsdof.inference import prediction_interval
from plsdof.variants import pls2_path


def data(n=40, p=6, seed=0, noise=0.5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) + rng.normal(size=(n, 1))
    mean = X @ rng.normal(size=(p, 2))
    return X, mean + noise * rng.normal(size=(n, 2))


WEIGHTS = np.random.default_rng(1).uniform(0.3, 2.0, size=40)


@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize("scale_response", [False, True])
def test_leverages_are_derivatives_of_the_fit(weights, scale_response):
    X, Y = data()
    options = {"scale_response": scale_response, "sample_weight": weights}
    path = pls2_path(X, Y, 3, **options)
    step, rtol = 1e-5, 5e-3 if scale_response else 1e-5
    for i, j in ((0, 0), (7, 1), (39, 0)):
        up, down = Y.copy(), Y.copy()
        up[i, j] += step
        down[i, j] -= step
        moved = pls2_path(X, up, 3, **options).fitted - pls2_path(X, down, 3, **options).fitted
        assert_allclose(path.leverage(2)[i, j], moved[2][i, j] / (2 * step), rtol=rtol)


def test_rows_come_back_from_the_path():
    X, Y = data()
    path = pls2_path(X, Y, 3, sample_weight=WEIGHTS)
    assert_allclose(path.training_rows(), X, atol=1e-12)
    assert_allclose(path.response, Y)


@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize("choose", [2, lambda path: path.select("bic", dof="exact").index])
def test_fits_without_rows_are_those_of_paths_one_by_one(choose, weights):
    X, Y = data()
    path = pls2_path(X, Y, 4, scale_response=True, sample_weight=weights)
    found = path.leave_out(choose, cv=8)
    for number in (0, 5):
        kept = found[0].fold_of != number
        part = None if weights is None else weights[kept]
        alone = pls2_path(X[kept], Y[kept], 4, scale_response=True, sample_weight=part)
        m = choose if isinstance(choose, int) else choose(alone)
        for j, one in enumerate(found):
            assert one.index[number] == m
            assert_allclose(one.coef[number], alone.coef[m][:, j], atol=1e-9)
            left = Y[~kept, j] - alone.predict(X[~kept])[m][:, j]
            assert_allclose(one.residuals[~kept], left, atol=1e-9)


def test_one_response_has_the_intervals_of_pls():
    X, Y = data()
    new = data(5, seed=3)[0]
    path, alone = pls2_path(X, Y[:, 0], 4), pls_path(X, Y[:, 0], 4)
    for method in ("conformal", "jackknife+"):
        expected = prediction_interval(alone, 2, new, method=method)
        limits = path.prediction_interval(2, new, method=method)[:, 0]
        # Noise levels, which the conformal scores cancel, are estimated in other ways.
        rtol = 1e-2 if method == "conformal" else 1e-8
        assert_allclose(limits[:, 0], expected.lower, rtol=rtol, atol=1e-2 * Y.std())
        assert_allclose(limits[:, 1], expected.upper, rtol=rtol, atol=1e-2 * Y.std())


def test_the_estimator_keeps_its_fits_without_rows():
    X, Y = data()
    model = PLS2Regressor(max_components=4).fit(X, Y)
    limits = model.predict_interval(X[:3], method="jackknife+")
    assert limits.shape == (3, 2, 2)
    chosen = model.path_.leave_out(lambda path: path.select().index)
    expected = model.path_.prediction_interval(
        model.index_, X[:3], method="jackknife+", left_out=chosen
    )
    assert_allclose(limits, expected)
    fits = model._fits_without_rows
    model.predict_interval(X[:3], 0.8, method="jackknife+")
    assert model._fits_without_rows is fits
    fixed = PLS2Regressor(2).fit(X, Y)
    assert_allclose(
        fixed.predict_interval(X[:3], method="jackknife+"),
        fixed.path_.prediction_interval(2, X[:3], method="jackknife+"),
    )


def test_the_mean_has_normal_intervals_only():
    X, Y = data()
    with pytest.raises(InvalidInputError, match="covers observations"):
        pls2_path(X, Y, 2).prediction_interval(1, X, kind="mean", method="conformal")


@pytest.mark.slow
@pytest.mark.parametrize("method", ["conformal", "jackknife+"])
def test_heavy_tails_are_covered(method):
    inside = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(90, 5)) + rng.normal(size=(90, 1))
        Y = X[:, :2] * [2.0, 1.0] + rng.standard_t(3, size=(90, 2))
        path = pls2_path(X[:40], Y[:40], 3)
        limits = path.prediction_interval(2, X[40:], method=method)
        inside.append(np.mean((limits[..., 0] <= Y[40:]) & (Y[40:] <= limits[..., 1])))
    # The standard error over 60 data sets is about 0.5 %.
    assert 0.93 <= np.mean(inside) <= 0.98
