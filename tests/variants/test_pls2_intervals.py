"""Intervals of PLS2: its derivative, one response as a special case, coverage, names."""

import numpy as np
import pandas as pd
import pytest
from _helpers.problems import make_problem
from _helpers.responses import limits_of

from plsdof import pls_path
from plsdof.chemometrics import hotelling_t2, q_residuals, vip
from plsdof.errors import InvalidInputError, NotAvailableError
from plsdof.estimators import PLS2Regressor
from plsdof.inference import coefficient_inference, prediction_interval
from plsdof.variants import pls2_path


def two_responses(n=30, p=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) @ rng.normal(size=(p, p))
    noise = rng.normal(size=(n, 2)) @ [[1.0, 0.5], [0.0, 0.8]]
    return X, X @ rng.normal(size=(p, 2)) + noise


@pytest.mark.parametrize("algorithm", ["nipals", "simpls"])
@pytest.mark.parametrize("scale_response", [False, True])
def test_the_root_follows_the_derivative_by_differences(algorithm, scale_response):
    X, Y = two_responses(12, 3)
    options = {"algorithm": algorithm, "scale_response": scale_response}
    path = pls2_path(X, Y, 2, **options)
    step, moved = 1e-5, np.zeros((12, 2, 3, 2))
    for i in range(12):
        for j in range(2):
            shifted = [Y.copy(), Y.copy()]
            shifted[0][i, j] += step
            shifted[1][i, j] -= step
            up, down = (pls2_path(X, one, 2, **options).coef[2] for one in shifted)
            moved[i, j] = (up - down) / (2 * step)
    covariance = path[2].noise_covariance()
    np.testing.assert_allclose(np.diagonal(covariance), path[2].noise_std ** 2)
    expected = np.einsum("ikaj,kl,ilaj->aj", moved, covariance, moved)
    # That the scale of a response depends on what X does not reach is left out.
    tolerance = 2e-2 if scale_response else 1e-6
    np.testing.assert_allclose(
        np.column_stack([one.coef_std_error() for one in path[2].responses]) ** 2,
        expected,
        rtol=tolerance,
    )


def test_one_response_is_the_special_case():
    X, y = make_problem(30, 6, seed=1)
    joint, single = pls2_path(X, y, 3), pls_path(X, y, 3)
    expected = single.coef_std_error(2)
    np.testing.assert_allclose(joint[2].responses[0].coef_std_error(), expected, rtol=1e-7)
    np.testing.assert_allclose(joint[2].vip(), vip(single[2]), rtol=1e-8)
    np.testing.assert_allclose(vip(joint[2].responses[0]), vip(single[2]), rtol=1e-8)
    for options in ({}, {"kind": "mean"}, {"method": "normal"}):
        ours, expected = (
            prediction_interval(one, X, **options) for one in (joint[2].responses[0], single[2])
        )
        np.testing.assert_allclose(ours.lower, expected.lower, rtol=1e-6)
        np.testing.assert_allclose(ours.upper, expected.upper, rtol=1e-6)
    for distance in (hotelling_t2, q_residuals):
        ours, expected = (distance(one, X[:4]) for one in (joint[2].responses[0], single[2]))
        np.testing.assert_allclose(ours.values, expected.values, rtol=1e-7)
        assert ours.limit == pytest.approx(expected.limit, rel=1e-6)


def test_names_and_shapes_of_the_estimator():
    X, Y = two_responses()
    frame = pd.DataFrame(X, columns=list("abcde"), index=[f"s{i}" for i in range(30)])
    model = PLS2Regressor(2).fit(frame, pd.DataFrame(Y, columns=["fat", "salt"]))
    limits = model.predict_interval(frame[:4])
    assert list(limits.columns) == [
        ("fat", "lower"),
        ("fat", "upper"),
        ("salt", "lower"),
        ("salt", "upper"),
    ]
    assert list(limits.index) == ["s0", "s1", "s2", "s3"]
    assert list(model.vip().index) == list("abcde")
    assert PLS2Regressor(2).fit(X, Y[:, 0]).predict_interval(X).shape == (30, 2)


def test_the_estimator_has_the_intervals_of_its_model():
    X, Y = two_responses()
    model = PLS2Regressor(2).fit(X, Y)
    limits = limits_of(coefficient_inference(one) for one in model.model_.responses)
    np.testing.assert_allclose(limits.mean(axis=2), model.coef_.T)
    np.testing.assert_allclose(model.predict_interval(X).mean(axis=2), model.predict(X))
    narrow, wide = (
        model.predict_interval(X, kind=one, method="normal") for one in ("mean", "observation")
    )
    assert np.all(np.ptp(narrow, axis=2) < np.ptp(wide, axis=2))


def test_what_has_no_intervals_says_why():
    X, Y = two_responses()
    path = pls2_path(X, Y, 2)
    with pytest.raises(NotAvailableError):
        path[0].vip()
    for ask in (PLS2Regressor(1).fit(X, Y).conf_int, PLS2Regressor(1).fit(X, Y).summary):
        with pytest.raises(NotAvailableError):
            ask()
    with pytest.raises(InvalidInputError, match="kind"):
        PLS2Regressor(1).fit(X, Y).predict_interval(X, kind="true")
    with pytest.raises(InvalidInputError, match="kind"):
        PLS2Regressor(1).fit(X, Y).predict_interval(X, kind="mean", method="left-out")


@pytest.mark.slow
@pytest.mark.parametrize("method", ["normal", "left-out"])
def test_coverage_of_new_observations_of_two_responses(method):
    inside = []
    for seed in range(200):
        X, Y = two_responses(60, 6, seed=seed)
        train, new = slice(0, 40), slice(40, 60)
        model = pls2_path(X[train], Y[train], 4)[4]
        found = (prediction_interval(one, X[new], method=method) for one in model.responses)
        limits = limits_of(found)
        inside.append(np.mean((limits[..., 0] <= Y[new]) & (Y[new] <= limits[..., 1]), axis=0))
    # The standard error of each mean is about 0.004.
    assert np.all(np.abs(np.mean(inside, axis=0) - 0.95) < 0.02)
