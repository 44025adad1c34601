"""Searches of columns: what they choose, and what they cost."""

import math

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_predict
from sklearn.utils.estimator_checks import check_estimator

from plsdof import cross_validate, degrees_of_freedom, pls_path
from plsdof.chemometrics import SelectedPLSRegressor, vip
from plsdof.errors import InvalidInputError


def search_columns(X, y, search, **options):
    return SelectedPLSRegressor(search, **options).fit(X, y).search_


def noise(seed, n=30, p=40):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, p)), rng.normal(size=n)


def signal(seed, n=30, p=40):
    X, e = noise(seed, n, p)
    return X, X[:, 8:12].sum(axis=1) + 0.3 * e


@pytest.mark.parametrize("search", ["intervals:10", "vip", "forward:10", "backward:10"])
def test_the_set_with_the_smallest_criterion_wins(search):
    X, y = signal(0)
    found = search_columns(X, y, search, criterion="bic", max_components=3)
    for mask, score in zip(found.masks, found.scores, strict=True):
        path = pls_path(X[:, mask], y, min(3, int(mask.sum())))
        chosen = path.select("bic")
        # Which one of so many sets costs Degrees of Freedom, too.
        sets = 5 if search == "vip" else math.comb(10, int(mask.sum()) // 4)
        spent = 0.0 if mask.all() else np.log(sets)
        expected = path.criterion("bic", spent=spent)[chosen.index]
        assert score == pytest.approx(expected, rel=1e-9)
    assert found.chosen == np.argmin(found.scores)
    assert found.masks[0].all()
    if search == "intervals:10":
        assert found.masks[1:].sum(axis=0).tolist() == [1] * 40
        assert found.labels[found.chosen] == "columns 9 to 12"


def test_intervals_are_added_and_left_out_as_long_as_that_helps():
    X, e = noise(5, n=60)
    y = X[:, 8:12].sum(axis=1) + X[:, 24:28].sum(axis=1) + 0.3 * e
    found = search_columns(X, y, "forward:10", max_components=3)
    assert found.labels[found.chosen] == "columns 9 to 12 and 25 to 28"
    # Ten with one interval, nine with two, eight with three of which none is better.
    assert found.masks.sum(axis=1).tolist() == [40, *[4] * 10, *[8] * 9, *[12] * 8]
    assert found.scores[11:20].min() < found.scores[1:11].min()
    assert found.scores[20:].min() > found.scores[found.chosen]
    back = search_columns(X, y, "backward:10", max_components=3)
    sizes = back.masks.sum(axis=1)
    assert sizes.tolist() == sorted(sizes, reverse=True)
    assert back.support[8:12].all()
    assert back.support[24:28].all()
    assert back.scores[back.chosen] < back.scores[0]


def test_without_anything_to_find_intervals_are_not_collected():
    sizes = [search_columns(*noise(seed), "forward:10").support.sum() for seed in range(5)]
    assert np.median(sizes) in (4, 40)


def test_important_variables_are_those_of_the_whole_model():
    X, y = signal(1)
    found = search_columns(X, y, "vip", max_components=3)
    whole = pls_path(X, y, 3)
    values = vip(whole[max(1, whole.select().index)])
    assert found.labels[1:] == tuple(f"VIP >= {t:g}" for t in (0.5, 0.75, 1, 1.25, 1.5))
    np.testing.assert_array_equal(found.masks[3], values >= 1)


def test_the_regressor_predicts_with_the_chosen_columns():
    X, y = signal(2)
    model = SelectedPLSRegressor("intervals:10", max_components=3).fit(X, y)
    path = pls_path(X[:, model.support_], y, 3)
    expected = path.predict(X[:5, model.support_])[model.n_components_]
    np.testing.assert_allclose(model.predict(X[:5]), expected, rtol=1e-10)
    assert not model.coef_[~model.support_].any()


def test_sets_are_compared_by_errors_of_rows_left_out_with_the_price_of_the_search():
    X, y = signal(0)
    found = search_columns(X, y, "intervals:10", max_components=3)
    assert found.labels[found.chosen] == "columns 9 to 12"
    for mask, score in zip(found.masks, found.scores, strict=True):
        left = pls_path(X[:, mask], y, 3).select().left_out
        price = 0.0 if mask.all() else 2 * np.log(10) / 30
        chosen = pls_path(X[:, mask], y, 3).select()
        expected = chosen.scores[chosen.index] + price * left.press.min() / 30
        assert score == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("search", ["intervals", "vip"])
def test_it_is_a_scikit_learn_regressor(search):
    found = check_estimator(
        SelectedPLSRegressor(search, max_components=2), on_skip=None, on_fail=None
    )
    failed = {one["check_name"] for one in found if one["status"] == "failed"}
    assert failed == set()


@pytest.mark.slow
def test_degrees_of_freedom_count_the_search():
    """By the definition, sum of cov(yhat_i, y_i) / sigma^2 over simulated responses."""
    X, _ = noise(3, 25, 24)
    model = SelectedPLSRegressor("intervals:8", max_components=1)
    rng = np.random.default_rng(0)
    responses = rng.normal(size=(200, 25))
    fits = np.array([clone(model).fit(X, y).predict(X) for y in responses])
    centred = responses - responses.mean(axis=0)
    products = (centred * fits).sum(axis=1) * 200 / 199
    expected, spread = products.mean(), products.std() / np.sqrt(200)
    counted = [degrees_of_freedom(model, X, y, n_draws=10, noise=1.0).value for y in responses[:8]]
    error = np.hypot(spread, np.std(counted, ddof=1) / np.sqrt(8))
    assert abs(np.mean(counted) - expected) < 4 * error
    winners = [search_columns(X, y, "intervals:8", max_components=1) for y in responses[:60]]
    fixed = np.mean([one.path.dof[one.index] for one in winners])
    assert expected > fixed + 0.5


def test_cross_validation_repeats_the_search():
    fooled, honest = [], []
    for seed in range(6):
        X, y = noise(100 + seed, p=24)
        found = search_columns(X, y, "intervals:12", max_components=1)
        fooled.append(cross_validate(X[:, found.support], y, max_components=1).q2.max())
        model = SelectedPLSRegressor("intervals:12", max_components=1)
        predicted = cross_val_predict(model, X, y, cv=10)
        honest.append(1 - np.sum((y - predicted) ** 2) / np.sum((y - y.mean()) ** 2))
    assert np.mean(fooled) > np.mean(honest) + 0.05
    assert np.mean(honest) < 0


@pytest.mark.parametrize("search", ["interval", "intervals:1", "forward:x", "vip:2", ""])
def test_other_searches_are_refused(search):
    with pytest.raises(InvalidInputError):
        search_columns(*noise(0), search)


def test_more_intervals_than_columns_are_refused():
    with pytest.raises(InvalidInputError):
        search_columns(*noise(0), "intervals:50")
