"""Weights reach every step that learns from rows: integer weights are repeated rows."""

from functools import partial

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from plsdof import PLSRegressor, RecipeRegressor, pls_path
from plsdof.chemometrics import Preprocessor, SelectedPLSRegressor, preprocessed
from plsdof.errors import InvalidInputError
from plsdof.large import ArrayBlocks

LEARNING = [
    "msc",
    "msc:median",
    "center",
    "autoscale",
    "blocks:7+5",
    "adaptive",
    "impute",
    "impute:2",
]
CHAINS = [*LEARNING, "snv", "savgol:5:2:1", "impute,msc,autoscale", "snv,adaptive,blocks:7+5"]
SHAPES = [(40, 12), (9, 12)]


def weighted_and_repeated(chain, shape=(40, 12), seed=0):
    """Rows with weights 0 to 3, and the same rows that many times."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=shape).cumsum(axis=1) + np.linspace(5.0, 9.0, shape[1])
    y = X[:, 3] - X[:, 8] + rng.normal(size=len(X))
    if chain.startswith("impute"):
        X[rng.uniform(size=X.shape) < 0.1] = np.nan
    weights = rng.integers(0, 4, len(X)).astype(float)
    times = weights.astype(int)
    return X, y, weights, np.repeat(np.arange(len(X)), times)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("chain", CHAINS)
def test_a_step_alone(chain, shape):
    X, y, weights, times = weighted_and_repeated(chain, shape)
    found = Preprocessor(chain).fit(X, y, sample_weight=weights).transform(X)
    expected = Preprocessor(chain).fit(X[times], y[times]).transform(X)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("chain", CHAINS)
def test_a_path_and_rows_left_out_of_it(chain):
    X, y, weights, times = weighted_and_repeated(chain)
    recipe = preprocessed(chain, partial(pls_path, max_components=4))
    found, expected = recipe.fit(X, y, weights), recipe.fit(X[times], y[times])
    np.testing.assert_allclose(found.coef[:5], expected.coef[:5], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(found.dof[:5], expected.dof[:5], rtol=1e-9)
    fold = np.arange(len(y)) % 5
    folds, again = (
        [(np.flatnonzero(one != k), np.flatnonzero(one == k)) for k in range(5)]
        for one in (fold, fold[times])
    )
    first = np.unique(times, return_index=True)[1]
    np.testing.assert_allclose(
        found.left_out(folds).residuals,
        expected.left_out(again).residuals[:, first],
        rtol=1e-9,
        atol=1e-10,
    )


@pytest.mark.parametrize("n_components", ["average", "left-out", 3])
def test_pools(n_components):
    X, y, weights, times = weighted_and_repeated("none")
    fold = np.arange(len(y)) % 5
    folds, again = (
        [(np.flatnonzero(one != k), np.flatnonzero(one == k)) for k in range(5)]
        for one in (fold, fold[times])
    )
    options = {"recipes": ["none", "scale", "msc", "autoscale", "adaptive"], "max_components": 4}
    found = RecipeRegressor(n_components, cv=folds, **options).fit(X, y, weights)
    expected = RecipeRegressor(n_components, cv=again, **options).fit(X[times], y[times])
    assert found.recipe_ == expected.recipe_
    np.testing.assert_allclose(found.predict(X), expected.predict(X), rtol=1e-9)


def test_an_estimator_that_fills_holes():
    X, y, weights, times = weighted_and_repeated("impute")
    model = PLSRegressor(2, missing="impute")
    found = model.fit(X, y, weights).predict(X)
    np.testing.assert_allclose(found, model.fit(X[times], y[times]).predict(X), rtol=1e-9)


def test_a_pipeline_passes_weights_to_both_steps():
    X, y, weights, times = weighted_and_repeated("msc")
    model = make_pipeline(Preprocessor("msc,autoscale"), PLSRegressor(2))
    given = {"preprocessor__sample_weight": weights, "plsregressor__sample_weight": weights}
    found = model.fit(X, y, **given).predict(X)
    np.testing.assert_allclose(found, model.fit(X[times], y[times]).predict(X), rtol=1e-10)


def test_blocks_of_rows():
    X, y, weights, times = weighted_and_repeated("msc")
    found = Preprocessor("msc,autoscale").fit_blocks(ArrayBlocks(X, y, weights, axis=0))
    expected = Preprocessor("msc,autoscale").fit(X[times], y[times])
    np.testing.assert_allclose(found.transform(X), expected.transform(X), rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("step", [Preprocessor("msc"), Preprocessor("impute")])
@pytest.mark.parametrize("weights", [[-1.0] * 40, [1.0] * 39, [np.nan] * 40])
def test_wrong_weights_are_refused(step, weights):
    X, y, *_ = weighted_and_repeated("none")
    with pytest.raises(InvalidInputError, match="sample_weight"):
        step.fit(X, y, sample_weight=weights)


# A search among columns
# ----------------------


@pytest.mark.parametrize("criterion", ["left-out", "bic"])
@pytest.mark.parametrize("search", ["intervals:4", "forward:4", "vip"])
def test_a_search_takes_weights(search, criterion):
    X, y, weights, times = weighted_and_repeated("none")
    model = SelectedPLSRegressor(search, criterion, max_components=3)
    own = {"groups": np.arange(len(y))} if criterion == "left-out" else {}
    again = {"groups": times} if criterion == "left-out" else {}
    found = model.fit(X, y, sample_weight=weights, **own).search_
    expected = model.fit(X[times], y[times], **again).search_
    np.testing.assert_array_equal(found.masks, expected.masks)
    if criterion == "bic":
        np.testing.assert_allclose(found.scores, expected.scores, rtol=1e-8)
    assert found.chosen == expected.chosen


def test_a_search_leaves_groups_out_together():
    X, y, *_ = weighted_and_repeated("none")
    groups = np.repeat(np.arange(8), 5)
    y = y + 5 * np.random.default_rng(1).normal(size=8)[groups]
    found = SelectedPLSRegressor("intervals:4", max_components=3).fit(X, y, groups=groups).search_
    assert found.path[found.index].left_out is not None
    left = found.path.select(groups=groups).left_out
    np.testing.assert_allclose(found.scores[found.chosen], left.press.min() / left.n, rtol=0.2)
    alone = SelectedPLSRegressor("intervals:4", max_components=3).fit(X, y).search_
    assert found.scores[0] > 1.05 * alone.scores[0]


def test_a_criterion_that_takes_rows_as_independent_refuses_groups():
    X, y, *_ = weighted_and_repeated("none")
    with pytest.raises(InvalidInputError, match="groups"):
        SelectedPLSRegressor(criterion="bic").fit(X, y, groups=np.arange(len(y)))
