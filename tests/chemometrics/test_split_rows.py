"""Splits by distances agree with their definitions, written out without a shortcut."""

import itertools

import numpy as np
import pytest

from plsdof.chemometrics.samples import SPLITS, parse_split, split_rows
from plsdof.errors import InvalidInputError

rng = np.random.default_rng(7)
X = rng.normal(size=(23, 4)) * [1, 2, 3, 50]
y = rng.normal(size=23)


def distance(i, j, points):
    return float(np.sqrt(np.sum((points[i] - points[j]) ** 2)))


def farthest_pair(among, far):
    return max(itertools.combinations(sorted(among), 2), key=lambda pair: far(*pair))


def farthest_from(among, chosen, far):
    return max(sorted(among), key=lambda i: min(far(i, j) for j in chosen))


def kennard_stone(n, count, far):
    """Kennard and Stone (1969), in words: two farthest, then the one farthest from its nearest."""
    chosen = list(farthest_pair(range(n), far))
    while len(chosen) < count:
        chosen.append(farthest_from(set(range(n)) - set(chosen), chosen, far))
    return set(chosen)


def test_kennard_stone_is_its_definition():
    expected = kennard_stone(23, 16, lambda i, j: distance(i, j, X))
    assert set(np.flatnonzero(~split_rows(X, y, "kennard-stone", 0.3))) == expected
    scaled = X / X.std(axis=0)
    expected = kennard_stone(23, 16, lambda i, j: distance(i, j, scaled))
    assert set(np.flatnonzero(~split_rows(X, y, "kennard-stone", 0.3, scale=True))) == expected


def test_spxy_adds_distances_in_y():
    pairs = list(itertools.combinations(range(23), 2))
    largest = [max(distance(i, j, points) for i, j in pairs) for points in (X, y[:, None])]

    def far(i, j):
        return distance(i, j, X) / largest[0] + distance(i, j, y[:, None]) / largest[1]

    expected = kennard_stone(23, 16, far)
    assert set(np.flatnonzero(~split_rows(X, y, "spxy", 0.3))) == expected
    assert expected != kennard_stone(23, 16, lambda i, j: distance(i, j, X))


def test_duplex_lets_both_sets_choose_in_turns():
    def far(i, j):
        return distance(i, j, X)

    rest = set(range(23))
    sets = []
    for _ in range(2):
        sets.append(list(farthest_pair(rest, far)))
        rest -= set(sets[-1])
    while len(sets[1]) < 7:
        for one in sets:
            one.append(farthest_from(rest, one, far))
            rest.remove(one[-1])
    assert set(np.flatnonzero(split_rows(X, y, "duplex", 0.3))) == set(sets[1])


def test_duplex_test_sets_may_be_the_larger_ones():
    assert split_rows(X, y, "duplex", 0.8).sum() == 19
    assert split_rows(X[:3], y[:3], "duplex", 0.3).sum() == 1


@pytest.mark.parametrize("method", SPLITS)
def test_groups_stay_together_and_are_split_by_their_means(method):
    groups = np.repeat(np.arange(8), [1, 2, 3, 4, 5, 3, 3, 2])
    tested = split_rows(X, y, method, 0.25, groups=groups)
    sides = [set(tested[groups == group].tolist()) for group in range(8)]
    assert all(len(side) == 1 for side in sides)
    assert sum(side == {True} for side in sides) == 2
    means = np.array([X[groups == group].mean(axis=0) for group in range(8)])
    means_of_y = np.array([y[groups == group].mean() for group in range(8)])
    assert [side == {True} for side in sides] == split_rows(
        means, means_of_y, method, 0.25
    ).tolist()


def test_last_rows_and_random_rows():
    np.testing.assert_array_equal(np.flatnonzero(split_rows(X, y, "last", 0.2)), range(18, 23))
    first, again = (split_rows(X, y, "random", 0.2) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert first.sum() == 5
    assert not np.array_equal(first, split_rows(X, y, "last", 0.2))


def test_equal_rows_are_split_all_the_same():
    assert split_rows(np.ones((6, 2)), np.ones(6), "spxy", 0.5).sum() == 3


@pytest.mark.parametrize("text", ["kennard-stone", "kennard-stone:x", "best:0.3", "last:1.5", ""])
def test_texts_that_are_not_splits_are_refused(text):
    with pytest.raises(InvalidInputError):
        parse_split(text)


def test_too_large_shares_and_tables_are_refused():
    with pytest.raises(InvalidInputError):
        split_rows(X, y, "random", 0.99)
    with pytest.raises(InvalidInputError):
        split_rows(np.zeros((10_001, 1)), np.zeros(10_001), "kennard-stone", 0.3)
    with pytest.raises(InvalidInputError):
        split_rows(X, y, "nearest", 0.3)
