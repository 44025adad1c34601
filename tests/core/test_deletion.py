"""Predictions of rows left out, from one decomposition, and what the choice makes of them."""

import numpy as np
import pytest
from _helpers.problems import make_problem

from plsdof import kernel_pls_path, penalized_pls_path, pls_path
from plsdof._core import criteria
from plsdof._core.deletion import deleted_predictions

X, Y = make_problem(25, 40, seed=1, decay=0.5)


def predicted(path, components, n_folds=None):
    return deleted_predictions(
        path._times_sample_gram(),
        path.response,
        path.units.row_scale,
        components,
        100,
        n_folds,
    )


@pytest.mark.parametrize("n_folds", [None, 7])
@pytest.mark.parametrize("p", [5, 40])
@pytest.mark.parametrize("weighted", [False, True])
def test_predictions_are_those_of_fits_without_each_row(p, weighted, n_folds):
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 25) if weighted else None
    path = pls_path(X[:, :p], Y, 4, scale=False, sample_weight=weights)
    found = predicted(path, 4, n_folds)
    for i in (0, 11, 24):
        kept = np.arange(25) % (n_folds or 25) != i % (n_folds or 25)
        part = None if weights is None else weights[kept]
        without = pls_path(X[kept][:, :p], Y[kept], 4, scale=False, sample_weight=part)
        np.testing.assert_allclose(found[:, i], without.predict(X[i : i + 1, :p])[:, 0], rtol=1e-8)


def test_kernels_and_penalties_are_left_out_alike():
    near = np.exp(-0.05 * np.sum((X[:, None, :5] - X[None, :, :5]) ** 2, axis=2))
    kernel = kernel_pls_path(near, Y, kernel="precomputed", max_components=3)
    penalised = penalized_pls_path(X[:, :6], Y, max_components=3, scale=False)
    kept = np.arange(25) != 7
    without = kernel_pls_path(
        near[np.ix_(kept, kept)], Y[kept], kernel="precomputed", max_components=3
    )
    expected = without.predict(near[7:8, kept])[:, 0]
    np.testing.assert_allclose(predicted(kernel, 3)[:, 7], expected, rtol=1e-8)
    without = penalized_pls_path(X[kept][:, :6], Y[kept], max_components=3, scale=False)
    expected = without.predict(X[7:8, :6])[:, 0]
    np.testing.assert_allclose(predicted(penalised, 3)[:, 7], expected, rtol=1e-8)


def test_it_ends_with_patience_and_with_what_rows_allow():
    path = pls_path(X, np.random.default_rng(2).normal(size=25), 20)
    short = deleted_predictions(path._times_sample_gram(), path.response, None, 20, 3)
    errors = np.sum((path.response - short) ** 2, axis=1)
    assert len(short) == np.argmin(errors) + 4
    # Two columns that do not differ: one component, and no second one.
    twice = np.repeat(X[:, :1] - X[:, :1].mean(), 2, axis=1)
    times = lambda v: twice @ (twice.T @ v)  # noqa: E731
    assert len(deleted_predictions(times, Y, None, 2, 10)) == 2


def flat(seed, signal=1.0):
    """More predictors than rows, a flat spectrum: one component has half of the rows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 100)) / np.arange(1, 101)
    return X, signal * X @ rng.normal(size=100) + 0.1 * rng.normal(size=60)


def test_rows_left_out_decide_where_models_have_many_degrees_of_freedom():
    path = pls_path(*flat(0), 20)
    plain, choice = path.select(confirm=False), path.select()
    smooth = path._dof("smoothed")
    assert smooth[choice.index] > 30
    assert choice.index > plain.index
    assert "the smallest error of rows left out, where GCV cannot tell. GCV takes" in choice.message
    assert (choice.criterion, choice.rule, choice.dof) == ("gcv", "left-out", "smoothed")
    np.testing.assert_array_equal(choice.scores, plain.scores)
    # A model that is chosen so is not shrunk.
    assert path.weights()[choice.index] == 1
    # What does not know its rows, or was not asked, goes by its scores alone.
    bic = path.select("bic")
    assert bic.index == path.select("bic", confirm=False).index


@pytest.mark.parametrize(("n", "p"), [(520, 700), (520, 400)])
def test_rows_left_out_decide_with_many_rows_without_a_decomposition(n, p, monkeypatch):
    # Independent columns: one component has more than 0.15 n Degrees of Freedom.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p))
    path = pls_path(X, X @ rng.normal(size=p) / 20 + rng.normal(size=n), 10)
    taken = path.select()
    expected = np.argmin(path._left_out_squares(10, 10).sum(axis=1))
    assert (taken.rule, taken.index) == ("left-out", expected)
    monkeypatch.setattr(type(path), "complete", None)
    assert path.select().index == taken.index


@pytest.mark.parametrize("expected", [0, 1])
def test_a_model_must_be_better_by_half_a_standard_error(expected):
    rng = np.random.default_rng(3)
    base = rng.uniform(1.0, 2.0, 50)
    noisy = rng.normal(size=50)
    noisy -= noisy.mean()
    lower = (0.45, 0.55)[expected] * noisy.std() / np.sqrt(50)
    squares = np.array([base, base + noisy - lower])
    assert criteria.confirmed(squares, 0) == expected


def test_few_degrees_of_freedom_need_no_confirmation(monkeypatch):
    tall = make_problem(80, 6, seed=4)
    path = pls_path(*tall)
    monkeypatch.setattr(type(path), "_left_out_squares", None)
    assert path.select().index == path.select(confirm=False).index


def test_models_with_much_larger_scores_need_no_confirmation(monkeypatch):
    # Three factors explain y; a fourth component fits the noise of 200 columns.
    rng = np.random.default_rng(5)
    F = rng.normal(size=(40, 3))
    X = F @ rng.normal(size=(3, 200)) + 0.01 * rng.normal(size=(40, 200))
    path = pls_path(X, F @ np.ones(3) + 0.1 * rng.normal(size=40), 8)
    used, scores = path._dof("smoothed"), path.select(confirm=False).scores
    doubted = (used > 6) & (used <= 36)
    assert not doubted[3]
    assert doubted.any()
    assert 2 < scores[doubted].min() / np.nanmin(scores) < criteria.RIVAL
    asked = []
    monkeypatch.setattr(type(path), "_left_out_squares", lambda *_: asked.append(1))
    path.select()
    assert asked
    asked.clear()
    monkeypatch.setattr(criteria, "RIVAL", 2.0)
    assert path.select().index == 3
    assert not asked


def test_pure_noise_keeps_less_than_one_component_on_average():
    sizes = []
    for seed in range(30):
        rng = np.random.default_rng([2, seed])
        path = pls_path(rng.normal(size=(30, 80)), rng.normal(size=30), 12)
        sizes.append(path.select().n_components)
    assert np.mean(sizes) < 0.5
