"""PLS2: held-out rows, choice."""

from dataclasses import replace

import numpy as np
import pytest
from _helpers.responses import limits_of, make_responses

from plsdof import pls_path
from plsdof._core.objective import objective
from plsdof.errors import NotAvailableError
from plsdof.inference import coefficient_inference, prediction_interval, residual_bootstrap
from plsdof.selection import make_folds
from plsdof.variants.pls2 import pls2_path

WEIGHTS = np.random.default_rng(1).uniform(0.3, 2.0, size=35)


@pytest.mark.parametrize("algorithm", ["nipals", "simpls"])
@pytest.mark.parametrize("scale_response", [False, True])
@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_rows_left_out_are_predicted_by_fits_without_them(algorithm, scale_response, weights):
    X, Y = make_responses(35, 5, 2, seed=3)
    options = {"algorithm": algorithm, "scale_response": scale_response}
    path = pls2_path(X, Y, 3, sample_weight=weights, **options)
    left = path.left_out(cv=5)
    residuals = left.residuals.reshape(4, 35, 2) * path.y_scale
    for number, fold in enumerate(make_folds(X, Y, 5)):
        part = None if weights is None else weights[fold.train]
        alone = pls2_path(X[fold.train], Y[fold.train], 3, sample_weight=part, **options)
        expected = Y[fold.test] - alone.predict(X[fold.test])
        np.testing.assert_allclose(residuals[:, fold.test], expected, atol=1e-9)
        assert np.all(left.fold.reshape(35, 2)[fold.test] == number)
    w = np.ones(35) if weights is None else weights
    press = np.einsum("kij,i,j->k", residuals**2, w, path.y_scale**-2.0)
    np.testing.assert_allclose(left.press, press, rtol=1e-9)
    rss = np.einsum("kij,i,j->k", (Y - path.fitted) ** 2, w, path.y_scale**-2.0)
    np.testing.assert_allclose(left.rss, rss, rtol=1e-8)
    np.testing.assert_allclose(left.q2, 1.0 - press / left.rss[0], rtol=1e-9)


def test_groups_are_left_out_together():
    X, Y = make_responses(30, 5, 2, seed=4)
    groups = np.repeat(np.arange(10), 3)
    left = pls2_path(X, Y, 3).left_out(groups=groups)
    assert left.groups == 10
    for group in range(10):
        assert len(set(left.fold.reshape(30, 2)[groups == group].ravel())) == 1
    chosen = pls2_path(X, Y, 3).select(groups=groups)
    assert chosen.left_out.groups == 10


def test_one_response_is_a_path_of_pls():
    X, Y = make_responses(40, 6, 1, seed=14)
    joint, path = pls2_path(X, Y), pls_path(X, Y[:, 0])
    left, expected = joint.left_out(), path.left_out()
    np.testing.assert_allclose(left.residuals, expected.residuals[: len(joint)], atol=1e-8)
    assert joint.select().index == path.select().index
    ours, theirs = (
        replace(one[one.select().index], selection=one.select()) for one in (joint, path)
    )
    np.testing.assert_allclose(ours.responses[0].scores, theirs.scores, atol=1e-8)
    for level in (0.5, 0.95, 0.999):
        assert ours.responses[0].half_width(level) == pytest.approx(
            theirs.half_width(level), rel=1e-7
        )
    for m in (0, 2):
        one, other = joint[m], path[m]
        assert one.noise_std[0] ** 2 == pytest.approx(other.noise_variance(), rel=1e-7)
        assert one.rmse[0] == pytest.approx(other.rmse, rel=1e-8)
        assert one.responses[0].half_width() == pytest.approx(other.half_width(), rel=1e-8)


def test_a_model_is_a_row_of_the_path():
    X, Y = make_responses(30, 5, 3, seed=6)
    path = pls2_path(X, Y, scale_response=True)
    model = path[2]
    np.testing.assert_array_equal(model.coef, path.coef[2])
    np.testing.assert_array_equal(model.fitted, path.fitted[2])
    np.testing.assert_allclose(model.predict(X), path.predict(X)[2])
    np.testing.assert_allclose(model.intercept + X @ model.coef, model.predict(X))
    np.testing.assert_allclose(model.rss, np.sum((Y - model.fitted) ** 2, axis=0))
    assert model.dof == pytest.approx(model.dof_by_response.sum())
    np.testing.assert_array_equal(model.dof_by_response, path.dof_by_response[2])
    press = np.sum(model.left_out_residuals**2, axis=0)
    expected = press / 30 / (2 - np.sqrt(model.rss / press))
    np.testing.assert_allclose(model.noise_std**2, expected)


def test_units_of_the_responses_do_not_matter_for_scaled_ones():
    X, Y = make_responses(30, 5, 2, seed=8)
    one = pls2_path(X, Y, scale_response=True)
    two = pls2_path(X, Y * [1.0, 1000.0], scale_response=True)
    assert one.select().index == two.select().index
    ours, theirs = ([part.half_width() for part in path[2].responses] for path in (one, two))
    np.testing.assert_allclose(ours * np.array([1.0, 1000.0]), theirs, rtol=1e-8)


@pytest.mark.parametrize("scale_response", [False, True])
def test_a_response_is_an_ordinary_path(scale_response):
    X, Y = make_responses(20, 4, 2, seed=9)
    path = pls2_path(X, Y, 3, scale_response=scale_response)
    one, step = path.responses[1], 1e-5
    np.testing.assert_array_equal(one.coef, path.coef[..., 1])
    np.testing.assert_allclose(one[2].predict(X), path.fitted[2, :, 1])
    np.testing.assert_array_equal(one.left_out().fold, path.left_out().fold[::2])
    np.testing.assert_allclose(
        one.left_out().residuals, path.left_out().residuals[:, 1::2] * path.y_scale[1]
    )
    # The derivative by the response itself, the other one held fixed.
    J = np.empty((20, 20))
    for i in range(20):
        moved = []
        for sign in (1, -1):
            shifted = Y.copy()
            shifted[i, 1] += sign * step
            again = pls2_path(X, shifted, 3, scale_response=scale_response)
            moved.append(again.fitted[2, :, 1])
        J[:, i] = (moved[0] - moved[1]) / (2 * step)
    assert one.dof[2] == pytest.approx(np.trace(J), rel=1e-6)
    # That the scale depends on what X does not reach is left out of what noise is divided by.
    spare, tolerance = np.sum((np.eye(20) - J) ** 2), 1e-2 if scale_response else 1e-6
    assert one.noise_variance("jacobian")[2] == pytest.approx(one.rss[2] / spare, rel=tolerance)


def test_intervals_of_a_response_that_only_paths_have():
    X, Y = make_responses(25, 5, 2, seed=10)
    one = pls2_path(X, Y, 4).responses[0][2]
    found = prediction_interval(one, X[:3])
    np.testing.assert_allclose(found.center, pls2_path(X, Y).predict(X[:3])[2, :, 0])
    rows = [np.delete(np.arange(25), i) for i in range(25)]
    fits = np.array([pls2_path(X[kept], Y[kept], 4).coef[2, :, 0] for kept in rows])
    expected = np.sqrt(24 / 25 * np.sum((fits - fits.mean(axis=0)) ** 2, axis=0))
    found = coefficient_inference(one, covariance="jackknife")
    np.testing.assert_allclose(found.std_error, expected, rtol=1e-8)
    for refused in (
        lambda: coefficient_inference(one, covariance="hc3"),
        lambda: residual_bootstrap(one),
    ):
        with pytest.raises(NotAvailableError):
            refused()


def test_an_average_has_the_weighted_fits_of_its_models():
    X, Y = make_responses(30, 6, 2, seed=11)
    path = pls2_path(X, Y)
    average = path.average()
    w, k = average.weights, np.count_nonzero(average.weights)
    assert k > 1
    np.testing.assert_allclose(average.coef, np.tensordot(w, path.coef, axes=1))
    np.testing.assert_allclose(average.predict(X), average.fitted)
    price = np.cumsum(w[w > 0])[:-1].sum()
    np.testing.assert_allclose(average.dof_by_response, w @ path.dof_by_response + price)
    np.testing.assert_allclose(average.fitted, np.tensordot(w, path.fitted, axes=1))
    left = path.left_out()
    # Errors, and those behind intervals: the weights made again without each fold, for all. Where
    # the models of the average disagree, an error counts for less.
    unit = np.repeat(average.rmse[None] ** 2, 30, axis=0).ravel()
    for fold in (0, 3):
        (weights,) = objective([left], without=fold).best_point()
        rows, found = left.fold == fold, average.left_out_residuals.ravel()
        errors = weights @ left.residuals
        np.testing.assert_allclose(found[rows], errors[rows])
        apart = (weights @ left.residuals**2 - errors**2) / unit
        again = errors / np.sqrt(1 + 4 * weights @ left.leverage + 4 * apart)
        np.testing.assert_allclose(
            np.column_stack([part.scores for part in average.responses]).ravel()[rows],
            np.abs(again[rows]),
        )


@pytest.mark.slow
def test_heavy_tails_are_covered():
    inside = []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(90, 5)) + rng.normal(size=(90, 1))
        Y = X[:, :2] * [2.0, 1.0] + rng.standard_t(3, size=(90, 2))
        path = pls2_path(X[:40], Y[:40], 3)
        limits = limits_of(prediction_interval(one, X[40:]) for one in path[2].responses)
        inside.append(np.mean((limits[..., 0] <= Y[40:]) & (Y[40:] <= limits[..., 1])))
    # The standard error over 100 data sets is about 0.4 %; ranks of 40 rows round up.
    assert 0.935 <= np.mean(inside) <= 0.98
