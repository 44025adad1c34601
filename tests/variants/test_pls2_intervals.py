"""Intervals of PLS2: one response as a special case, coverage, names."""

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


def test_one_response_is_the_special_case():
    X, y = make_problem(30, 6, seed=1)
    joint, single = pls2_path(X, y, 3), pls_path(X, y, 3)
    ours, expected = (
        coefficient_inference(one, covariance="jackknife")
        for one in (joint[2].responses[0], single[2])
    )
    np.testing.assert_allclose(ours.std_error, expected.std_error, rtol=1e-7)
    np.testing.assert_allclose(vip(joint[2]), vip(single[2]), rtol=1e-8)
    np.testing.assert_allclose(vip(joint[2].responses[0]), vip(single[2]), rtol=1e-8)
    ours, expected = (prediction_interval(one, X) for one in (joint[2].responses[0], single[2]))
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
    limits = limits_of(
        coefficient_inference(one, covariance="jackknife") for one in model.model_.responses
    )
    np.testing.assert_allclose(limits.mean(axis=2), model.coef_.T)
    np.testing.assert_allclose(model.predict_interval(X).mean(axis=2), model.predict(X))


def test_what_has_no_intervals_says_why():
    X, Y = two_responses()
    path = pls2_path(X, Y, 2)
    with pytest.raises(NotAvailableError):
        vip(path[0])
    model = PLS2Regressor(1).fit(X, Y)
    one = model.model_.responses[0]
    for ask in (
        model.conf_int,
        model.summary,
        lambda: model.predict_interval(X, kind="mean"),
        lambda: model.predict_interval(X, method="normal"),
        lambda: coefficient_inference(one),
        lambda: coefficient_inference(one, covariance="hc3"),
        lambda: one.dof_range(),
        lambda: one.path.refit(Y[:, 1]).dof,
        lambda: one.path.jacobian(1),
    ):
        with pytest.raises(NotAvailableError):
            ask()
    with pytest.raises(InvalidInputError, match="kind"):
        PLS2Regressor(1).fit(X, Y).predict_interval(X, kind="true")
    with pytest.raises(InvalidInputError, match="kind"):
        PLS2Regressor(1).fit(X, Y).predict_interval(X, kind="mean", method="left-out")


@pytest.mark.slow
def test_coverage_of_new_observations_of_two_responses():
    inside = []
    for seed in range(200):
        X, Y = two_responses(60, 6, seed=seed)
        train, new = slice(0, 40), slice(40, 60)
        model = pls2_path(X[train], Y[train], 4)[4]
        found = (prediction_interval(one, X[new]) for one in model.responses)
        limits = limits_of(found)
        inside.append(np.mean((limits[..., 0] <= Y[new]) & (Y[new] <= limits[..., 1]), axis=0))
    # The standard error of each mean is about 0.004.
    assert np.all(np.abs(np.mean(inside, axis=0) - 0.95) < 0.02)
