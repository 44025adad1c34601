"""PLS2: smoothed Degrees of Freedom, choice and averages."""

import numpy as np
import pytest
from _helpers.responses import make_responses

from plsdof import pls_path
from plsdof._core import criteria
from plsdof.errors import InvalidInputError
from plsdof.variants.pls2 import pls2_path


def weights_with(path, dof, by, chosen):
    if by == "mallows":
        noise = path.rss[chosen] / (path.units.n - dof[chosen])
        return criteria.mallows_weights((path.rss / noise).sum(axis=1), dof.sum(axis=1), chosen)
    logs = np.log(criteria.gcv(path.rss, dof, path.units.n)).sum(axis=1)
    logs[~criteria.candidates(dof.mean(axis=1), path.units.n)] = np.inf
    weights = np.exp(-path.units.n / 2 * (logs - logs.min()))
    return weights / weights.sum()


@pytest.mark.parametrize("algorithm", ["nipals", "simpls"])
@pytest.mark.parametrize("scale_response", [False, True])
def test_smoothed_values_equal_the_mean_over_drawn_responses(algorithm, scale_response):
    X, Y = make_responses(25, 6, 2, seed=3)
    options = {"algorithm": algorithm, "scale_response": scale_response}
    path = pls2_path(X, Y, 3, **options)
    weights = path.weights("exact", by="gcv")
    mu = np.tensordot(weights, path.fitted, axes=1)
    spare = 25 - weights @ path.dof_by_response
    noise = np.sqrt(np.sum((Y - mu) ** 2, axis=0) / spare)
    rng = np.random.default_rng(0)
    drawn = [
        pls2_path(X, mu + noise * rng.normal(size=Y.shape), 3, **options).dof_by_response
        for _ in range(150)
    ]
    drawn = np.clip(drawn, 1, 25)
    smooth = path.smoothed_dof_by_response(300)
    error = drawn.std(axis=0) / np.sqrt(150)
    # Random directions add sqrt(2 |J|^2 / probes) to a draw; |J|^2 is at most about the trace.
    sampling = np.sqrt(2 * smooth / 4 / 300)
    assert np.all(np.abs(smooth - drawn.mean(axis=0)) <= 4 * np.hypot(error, sampling) + 0.03)


def test_for_one_response_the_choice_is_that_of_a_path():
    X, Y = make_responses(40, 6, 1, seed=14)
    joint, path = pls2_path(X, Y), pls_path(X, Y[:, 0])
    np.testing.assert_allclose(joint.weights("exact"), path.weights("exact"), rtol=1e-6, atol=1e-12)
    assert joint.average("exact").dof == pytest.approx(path.average("exact").dof, rel=1e-6)
    np.testing.assert_allclose(
        joint.average("exact").coef[:, 0], path.average("exact").coef, rtol=1e-6
    )
    assert (joint.select().criterion, joint.select().dof) == ("gcv", "smoothed")


@pytest.mark.parametrize("by", ["mallows", "gcv"])
@pytest.mark.parametrize("scale_response", [False, True])
def test_degrees_of_freedom_of_an_average_equal_central_differences(scale_response, by):
    X, Y = make_responses(20, 5, 2, seed=5)
    path = pls2_path(X, Y, 4, scale_response=scale_response)
    dof, chosen = path.smoothed_dof_by_response(), path.select().index
    np.testing.assert_allclose(path.weights(by=by), weights_with(path, dof, by, chosen))
    assert np.count_nonzero(path.weights(by=by)) > 2

    def fitted(values):
        again = pls2_path(X, values, 4, scale_response=scale_response)
        return np.tensordot(weights_with(again, dof, by, chosen), again.fitted, axes=1)

    step, traces = 1e-5, np.zeros(2)
    for i in range(20):
        for j in range(2):
            move = np.zeros_like(Y)
            move[i, j] = step
            traces[j] += (fitted(Y + move) - fitted(Y - move))[i, j] / (2 * step)
    np.testing.assert_allclose(path.average(by=by).dof_by_response, traces, rtol=1e-5)


def test_an_average_is_the_weighted_sum_of_the_models():
    X, Y = make_responses(30, 5, 3, seed=6)
    path = pls2_path(X, Y, scale_response=True)
    average = path.average()
    np.testing.assert_allclose(
        average.predict(X), np.tensordot(average.weights, path.predict(X), axes=1)
    )
    np.testing.assert_allclose(average.fitted, average.predict(X))
    np.testing.assert_allclose(average.rss, np.sum((Y - average.fitted) ** 2, axis=0))
    np.testing.assert_allclose(average.intercept + X @ average.coef, average.predict(X))
    assert average.dof == pytest.approx(average.dof_by_response.sum())
    assert "average of" in average.selection.message


def test_one_model_is_an_average_of_itself():
    X, Y = make_responses(30, 5, 3, seed=6)
    path = pls2_path(X, Y)
    np.testing.assert_allclose(path.model(2).coef, path.coef[2])
    np.testing.assert_allclose(path.model(2).noise_variance, path.noise_variance()[2])


def test_units_of_the_responses_do_not_matter_for_scaled_ones():
    X, Y = make_responses(30, 5, 2, seed=8)
    one = pls2_path(X, Y, scale_response=True)
    two = pls2_path(X, Y * [1.0, 1000.0], scale_response=True)
    np.testing.assert_allclose(one.weights(), two.weights(), rtol=1e-6, atol=1e-9)


def test_unknown_degrees_of_freedom_are_refused():
    X, Y = make_responses(20, 4, 2, seed=1)
    with pytest.raises(InvalidInputError, match="'exact', 'smoothed', 'naive'"):
        pls2_path(X, Y).criterion("gcv", dof="clipped")
