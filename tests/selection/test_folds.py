"""Folds: which rows are fitted and which are predicted."""

import tracemalloc
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from plsdof import pls_path
from plsdof.errors import InvalidInputError
from plsdof.selection import cross_validate, make_folds


def every_row_once(folds, n):
    return np.array_equal(np.sort(np.concatenate([fold.test for fold in folds])), np.arange(n))


def test_a_number_of_folds_without_seed_deals_rows_out_in_turn():
    folds = make_folds(np.zeros((23, 1)), np.zeros(23), 4)
    for i, fold in enumerate(folds):
        assert_array_equal(fold.test, np.arange(i, 23, 4))
        assert_array_equal(fold.train, np.setdiff1d(np.arange(23), fold.test))


@given(
    labels=st.lists(st.integers(0, 8), min_size=6, max_size=40),
    k=st.integers(2, 6),
    repeats=st.integers(1, 3),
    seed=st.none() | st.integers(0, 9),
)
def test_groups_stay_together_and_every_row_is_tested_once_per_repeat(labels, k, repeats, seed):
    n, groups = len(labels), np.array(labels)
    data = np.zeros((n, 1)), np.zeros(n)
    split = partial(make_folds, *data, k, groups, repeats=repeats, rng=seed)
    if len(np.unique(groups)) == 1:
        with pytest.raises(InvalidInputError):
            split()
        return
    k = min(k, len(np.unique(groups)))
    try:
        folds = split()
    except InvalidInputError:
        sizes = np.unique(groups, return_counts=True)[1]
        assert n - sizes.max() < 2  # one group has all rows but one
        return
    assert len(folds) == k * repeats
    for repeat in range(repeats):
        assert every_row_once([fold for fold in folds if fold.repeat == repeat], n)
    for fold in folds:
        assert not np.intersect1d(groups[fold.train], groups[fold.test]).size


def test_groups_fill_folds_evenly():
    groups = np.repeat(list("abcdefg"), [9, 8, 7, 3, 3, 2, 1])
    folds = make_folds(np.zeros((33, 1)), np.zeros(33), 3, groups)
    assert sorted(len(fold.test) for fold in folds) == [11, 11, 11]


def test_single_row_groups_are_dealt_like_rows():
    data = np.zeros((10, 1)), np.zeros(10)
    plain, grouped = make_folds(*data, 3), make_folds(*data, 3, np.arange(10)[::-1])
    assert [f.test.tolist() for f in plain] == [f.test.tolist() for f in grouped]


def test_random_folds_are_reproducible_balanced_and_differ_by_seed():
    def tests(seed):
        folds = make_folds(np.zeros((22, 1)), np.zeros(22), 4, rng=seed)
        return [fold.test.tolist() for fold in folds]

    assert tests(7) == tests(7)
    assert tests(7) != tests(8)
    assert tests(7) != [list(range(i, 22, 4)) for i in range(4)]
    assert sorted(map(len, tests(7))) == [5, 5, 6, 6]


def test_repeats_use_different_folds_and_are_reproducible_without_seed(problem):
    X, y = problem
    first, second = (cross_validate(X, y, cv=4, repeats=3, max_components=2) for _ in range(2))
    assert_array_equal(first.fold_errors, second.fold_errors)
    assert first.fold_errors.shape == (12, 3)
    assert first.predictions.shape == (3, 3, 47)
    assert not np.isnan(first.predictions).any()
    assert not np.array_equal(first.predictions[0], first.predictions[1])
    assert [fold.repeat for fold in first.folds] == [0] * 4 + [1] * 4 + [2] * 4


def test_repeats_do_not_shrink_the_standard_error(problem):
    result = cross_validate(*problem, cv=4, repeats=25, max_components=1)
    expected = result.fold_errors.std(axis=0, ddof=1) / np.sqrt(4)
    assert_allclose(result.std_error, expected, rtol=0.02)  # folds differ by one row


def test_leave_one_out_is_a_word(problem):
    folds = make_folds(*problem, "loo")
    assert [fold.test.tolist() for fold in folds] == [[i] for i in range(len(problem[1]))]
    groups = np.arange(len(problem[1])) % 7
    assert len(make_folds(*problem, "loo", groups)) == 7
    one = cross_validate(*problem, cv="loo", max_components=2)
    two = cross_validate(*problem, cv=len(problem[1]), max_components=2)
    assert_allclose(one.mean_error, two.mean_error)


def test_scikit_learn_splitters_are_accepted(problem):
    from sklearn.model_selection import (
        GroupKFold,
        KFold,
        LeaveOneGroupOut,
        PredefinedSplit,
        RepeatedKFold,
        ShuffleSplit,
    )

    X, y = problem
    groups = np.repeat(np.arange(10), 5)[:47]
    for splitter, labels, repeats in (
        (KFold(4), None, 1),
        (PredefinedSplit(np.arange(47) % 3), None, 1),
        (GroupKFold(4), groups, 1),
        (LeaveOneGroupOut(), groups, 1),
        (RepeatedKFold(n_splits=4, n_repeats=2, random_state=0), None, 2),
    ):
        result = cross_validate(X, y, cv=splitter, groups=labels, max_components=2)
        pairs = list(splitter.split(X, y, labels))
        for fold, (train, test) in zip(result.folds, pairs, strict=True):
            assert_array_equal(fold.train, train)
            assert_array_equal(fold.test, test)
        assert result.predictions.shape == (repeats, 3, 47)
        assert not np.isnan(result.predictions).any()
    result = cross_validate(
        X, y, cv=ShuffleSplit(3, test_size=0.4, train_size=0.3, random_state=0), max_components=2
    )
    assert_array_equal([len(fold.train) for fold in result.folds], [14, 14, 14])
    tested = ~np.isnan(result.predictions[:, 0])
    assert_array_equal(tested.sum(axis=1), [19, 19, 19])
    assert np.isfinite(result.mean_correlation[1:]).all()


def test_pairs_of_numbers_and_of_masks_are_accepted(problem):
    X, y = problem
    test = np.arange(47) < 10
    masks = cross_validate(X, y, cv=[(~test, test)], max_components=2)
    numbers = cross_validate(X, y, cv=iter([(np.arange(10, 47), range(10))]), max_components=2)
    assert_array_equal(masks.fold_errors, numbers.fold_errors)


def test_bootstrap_folds_may_repeat_training_rows(problem):
    X, y = problem
    train = np.repeat(np.arange(30), 2)
    result = cross_validate(X, y, cv=[(train, np.arange(30, 47))], max_components=2)
    path = pls_path(X[train], y[train], 2)
    assert_allclose(result.predictions[0][:, 30:], path.predict(X[30:]))


def test_leave_one_out_keeps_little_memory():
    tracemalloc.start()
    folds = make_folds(np.zeros((2000, 1)), np.zeros(2000), 2000)
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(folds) == 2000
    assert len(folds[5].train) == 1999
    assert size < 4e6  # all training rows would be 32 MB


def test_blocks_are_consecutive_rows_or_groups():
    rows = np.zeros((11, 1))
    folds = make_folds(rows, rows[:, 0], "blocks:4")
    assert [fold.test.tolist() for fold in folds] == [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10]]
    assert len(make_folds(rows, rows[:, 0], "blocks")) == 10
    groups = [0, 0, 1, 1, 0, 2, 2, 3, 3, 3, 3]
    folds = make_folds(rows, rows[:, 0], "blocks:2", groups)
    assert [fold.test.tolist() for fold in folds] == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9, 10]]


@pytest.mark.parametrize("cv", ["blocks:1", "blocks:x", "blocks:", "blocks:-3", "block"])
def test_other_words_for_blocks_are_refused(cv):
    with pytest.raises(InvalidInputError):
        make_folds(np.zeros((11, 1)), np.zeros(11), cv)


def test_blocks_are_not_random():
    with pytest.raises(InvalidInputError):
        make_folds(np.zeros((11, 1)), np.zeros(11), "blocks:3", rng=0)


def test_estimators_and_paths_take_blocks():
    from sklearn.model_selection import KFold

    from plsdof import PLSRegressor, cross_validate, pls_path
    from plsdof.datasets import load_gasoline

    X, y = load_gasoline(return_X_y=True)
    by_word = pls_path(X, y, 5).left_out("blocks:6")
    np.testing.assert_array_equal(by_word.residuals, pls_path(X, y, 5).left_out(KFold(6)).residuals)
    np.testing.assert_allclose(
        cross_validate(X, y, "pls", "blocks:6", max_components=5).rmse, by_word.rmse
    )
    left = PLSRegressor(cv="blocks:6").fit(X, y).selection_.left_out
    assert left.fold.tolist() == np.repeat(range(6), 10).tolist()
