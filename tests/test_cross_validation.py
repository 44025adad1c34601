"""Cross-validation: folds, errors and correlations, rules of choice, parallel runs."""

import itertools
import pickle
import sys
import tracemalloc
import warnings
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from conftest import make_problem
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from plsdof import cross_validation, pcr_path, pls_path, ridge_path
from plsdof.cross_validation import CrossValidation, cross_validate, randomization_test
from plsdof.errors import (
    ConstantColumnWarning,
    InvalidInputError,
    MissingExtraError,
    NotAvailableError,
    PlsdofWarning,
    RankExhaustedWarning,
)
from plsdof.folds import Fold, for_each_fold, make_folds


@pytest.fixture
def problem():
    return make_problem(47, 8, seed=3, decay=1.0, noise=1.0)


def made_result(fold_errors, **changes):
    """Build a result with given fold errors, one test row per fold."""
    errors = np.array(fold_errors, dtype=float)
    F, K = errors.shape
    fields = {
        "parameters": np.arange(K, dtype=float),
        "parameter_name": "n_components",
        "simplest_first": np.arange(K),
        "folds": tuple(Fold(test=np.array([i]), n_rows=F) for i in range(F)),
        "fold_sizes": np.ones(F, dtype=int),
        "fold_errors": errors,
        "fold_correlations": np.full((F, K), np.nan),
        "fold_rank_correlations": np.full((F, K), np.nan),
        "y": np.zeros(F),
        "predictions": np.sqrt(errors).T[None],
        "sample_weight": None,
        "groups": None,
        "message": "",
    }
    return CrossValidation(**{**fields, **changes})


# Agreement with independent computations


def test_every_fold_equals_a_dense_loop_with_scikit_learn(problem):
    from scipy.stats import pearsonr, spearmanr
    from sklearn.cross_decomposition import PLSRegression

    X, y = problem
    result = cross_validate(X, y, cv=5, max_components=6)
    for i in range(5):
        test = np.arange(47) % 5 == i
        for m in range(1, 7):
            model = PLSRegression(m, scale=True).fit(X[~test], y[~test])
            yhat = np.ravel(model.predict(X[test]))
            assert_allclose(result.predictions[0, m, test], yhat, rtol=1e-9)
            assert_allclose(result.fold_errors[i, m], np.mean((y[test] - yhat) ** 2), rtol=1e-9)
            assert_allclose(result.fold_correlations[i, m], pearsonr(yhat, y[test])[0], rtol=1e-9)
            assert_allclose(
                result.fold_rank_correlations[i, m], spearmanr(yhat, y[test])[0], rtol=1e-9
            )
        assert_allclose(result.predictions[0, 0, test], y[~test].mean(), rtol=1e-12)


def test_means_are_taken_over_folds(problem):
    result = cross_validate(*problem, cv=5, max_components=4)
    assert_allclose(result.mean_error, result.fold_errors.mean(axis=0))
    assert_allclose(result.std_error, result.fold_errors.std(axis=0, ddof=1) / np.sqrt(5))
    assert_allclose(result.mean_correlation[1:], result.fold_correlations[:, 1:].mean(axis=0))
    assert_allclose(
        result.mean_rank_correlation[1:], result.fold_rank_correlations[:, 1:].mean(axis=0)
    )
    assert_array_equal(result.fold_sizes, [10, 10, 9, 9, 9])


@pytest.mark.parametrize(("path", "block"), [("pls", "cv"), ("pcr", "pcr_cv")])
def test_errors_and_choices_equal_those_of_r(reference, path, block):
    expected = getattr(reference, block)
    size = len(expected["error"])
    result = cross_validate(reference.X, reference.y, path, max_components=size - 1)
    assert_allclose(result.mean_error, expected["error"], rtol=1e-11)
    assert result.select().n_components == expected["m_opt"]
    if "m_opt_cor" in expected:
        assert result.select("pearson").n_components == expected["m_opt_cor"]


class RidgeWithDivisorN:
    """Ridge on predictors scaled with divisor n: X'X is n/(n-1) times ours, and so is alpha."""

    def __init__(self, X, y, *, penalties):
        n = len(y)
        self.parameters = penalties
        self.path = ridge_path(X, y, penalties * (n - 1) / n)
        self.predict = self.path.predict


def test_ridge_errors_and_choice_equal_those_of_r(reference):
    penalties = np.array(reference.ridge_cv["lambda"])
    fit = partial(RidgeWithDivisorN, penalties=penalties)
    result = cross_validate(reference.X, reference.y, fit)
    assert_allclose(result.mean_error, reference.ridge_cv["error"], rtol=1e-11)
    chosen = result.select()
    assert chosen.parameter == reference.ridge_cv["lambda_opt"]
    path = fit(reference.X, reference.y).path
    assert_allclose(path.coef[chosen.index], reference.ridge_cv["coefficients"], rtol=1e-9)


def test_ridge_equals_scikit_learn(problem):
    from sklearn.linear_model import Ridge
    from sklearn.model_selection import KFold, cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X, y = problem[0][:45], problem[1][:45]
    # StandardScaler divides by n; every training part has 36 rows.
    models = [make_pipeline(StandardScaler(), Ridge(a * 36 / 35)) for a in (10.0, 1.0)]
    folds = KFold(5)
    expected = [
        cross_val_score(m, X, y, cv=folds, scoring="neg_mean_squared_error") for m in models
    ]
    result = cross_validate(X, y, "ridge", folds, alphas=[10.0, 1.0])
    assert_allclose(result.fold_errors, -np.array(expected).T, rtol=1e-10)


def test_scale_is_passed_on(problem):
    X, y = problem
    result = cross_validate(X, y, cv=4, max_components=2, scale=False)
    test = np.arange(47) % 4 == 1
    path = pls_path(X[~test], y[~test], 2, scale=False)
    assert_allclose(result.predictions[0][:, test], path.predict(X[test]), rtol=1e-12)
    other = cross_validate(X, y, cv=4, max_components=2)
    assert not np.allclose(result.mean_error[1:], other.mean_error[1:], rtol=1e-3)


def test_sample_weights_enter_fits_and_errors(problem):
    X, y = problem
    w = np.random.default_rng(1).uniform(0.5, 3.0, size=47)
    result = cross_validate(X, y, cv=4, max_components=3, sample_weight=w)
    for i in range(4):
        test = np.arange(47) % 4 == i
        path = pls_path(X[~test], y[~test], 3, sample_weight=w[~test])
        squares = (path.predict(X[test]) - y[test]) ** 2
        assert_allclose(result.fold_errors[i], np.average(squares, axis=1, weights=w[test]))
        moments = np.cov(path.predict(X[test])[2], y[test], aweights=w[test])
        correlation = moments[0, 1] / np.sqrt(moments[0, 0] * moments[1, 1])
        assert_allclose(result.fold_correlations[i, 2], correlation)


def test_rows_of_weight_zero_count_for_nothing(problem):
    X, y = problem
    kept = np.arange(47) % 3 > 0
    w = np.where(kept, 1.5, 0.0)
    junk = np.where(kept, y, 1e6)
    folds = [(np.arange(47) % 4 != i, np.arange(47) % 4 == i) for i in range(4)]
    full = cross_validate(X, junk, cv=folds, max_components=3, sample_weight=w)
    fewer = [(train[kept], test[kept]) for train, test in folds]
    part = cross_validate(X[kept], y[kept], cv=fewer, max_components=3, sample_weight=w[kept])
    assert_allclose(full.fold_errors, part.fold_errors, rtol=1e-10)
    assert_allclose(full.fold_correlations, part.fold_correlations, rtol=1e-10)
    assert_allclose(full.fold_rank_correlations, part.fold_rank_correlations, rtol=1e-10)
    assert_allclose(full.pooled_correlation, part.pooled_correlation, rtol=1e-10)
    assert_allclose(
        randomization_test(full).differences, randomization_test(part).differences, rtol=1e-9
    )


def test_a_fold_without_weight_is_left_out_of_the_means():
    X, y = make_problem(12, 2, seed=5)
    w = np.ones(12)
    w[0] = 0.0
    result = cross_validate(X, y, cv=12, sample_weight=w)
    assert np.isnan(result.fold_errors[0]).all()
    assert_allclose(result.mean_error, result.fold_errors[1:].mean(axis=0))
    assert_allclose(result.std_error, result.fold_errors[1:].std(axis=0, ddof=1) / np.sqrt(11))


def test_callable_path_is_fitted_to_the_training_rows_with_their_weights(problem):
    X, y = problem
    calls = []

    def fit(X_train, y_train, sample_weight):
        calls.append((len(X_train), sample_weight))
        return pcr_path(X_train, y_train, 2, sample_weight=sample_weight)

    w = np.linspace(1, 2, 47)
    result = cross_validate(X, y, fit, 5, sample_weight=w)
    assert [size for size, _ in calls] == [37, 37, 38, 38, 38]
    assert_array_equal(calls[0][1], w[np.arange(47) % 5 != 0])
    named = cross_validate(X, y, "pcr", 5, max_components=2, sample_weight=w)
    assert_array_equal(result.fold_errors, named.fold_errors)


def test_data_frames_give_the_same_result(problem):
    import pandas as pd
    import polars as pl

    X, y = problem
    names = [f"x{i}" for i in range(8)]
    expected = cross_validate(X, y, cv=3).fold_errors
    as_pandas = cross_validate(pd.DataFrame(X, columns=names), pd.Series(y), cv=3)
    as_polars = cross_validate(pl.DataFrame(X, schema=names), pl.Series(y), cv=3)
    assert_array_equal(as_pandas.fold_errors, expected)
    assert_array_equal(as_polars.fold_errors, expected)


# Folds


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
    split = partial(make_folds, *data, k, groups, repeats=repeats, random_state=seed)
    if k > len(np.unique(groups)):
        with pytest.raises(InvalidInputError, match="groups; there are"):
            split()
        return
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
        folds = make_folds(np.zeros((22, 1)), np.zeros(22), 4, random_state=seed)
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
    assert_allclose(result.std_error, expected)


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
    assert np.isfinite(result.pooled_correlation[1:]).all()


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


# Leave-one-out, undefined correlations, common sizes, warnings


def test_leave_one_out_errors_equal_the_hat_matrix_shortcut():
    X, y = make_problem(20, 3, seed=2)
    result = cross_validate(X, y, cv=20)
    path = pls_path(X, y)
    residuals = y - path.fitted[3]  # least squares: PLS with all components
    assert_allclose(result.mean_error[3], np.mean((residuals / (1 - path.leverage(3))) ** 2))
    assert_allclose(result.mean_error[0], np.var(y) * (20 / 19) ** 2)


def test_leave_one_out_correlation_is_pooled():
    X, y = make_problem(20, 3, seed=2)
    result = cross_validate(X, y, cv=20)
    assert np.isnan(result.fold_correlations).all()
    assert np.isnan(result.fold_rank_correlations).all()
    assert_allclose(result.pooled_correlation[2], np.corrcoef(result.predictions[0, 2], y)[0, 1])
    assert_allclose(result.pooled_correlation[0], -1.0)
    for by in ("pearson", "spearman"):
        with pytest.raises(NotAvailableError, match=f"by='pooled-{by}'"):
            result.select(by)
        scores = result.scores(f"pooled-{by}")
        assert result.select(f"pooled-{by}").index == np.argmax(scores)


def test_pooled_correlation_averages_repeats(problem):
    from scipy.stats import spearmanr

    X, y = problem
    result = cross_validate(X, y, cv=4, repeats=2, max_components=2)
    each = [spearmanr(result.predictions[r, 2], y)[0] for r in range(2)]
    assert_allclose(result.pooled_rank_correlation[2], np.mean(each))


def test_empty_model_has_no_correlation_and_the_best_other_is_chosen(problem):
    result = cross_validate(*problem, cv=5)
    assert np.isnan(result.fold_correlations[:, 0]).all()
    assert np.isnan(result.mean_rank_correlation[0])
    for by, values in (
        ("pearson", result.mean_correlation),
        ("spearman", result.mean_rank_correlation),
    ):
        assert result.select(by).index == np.nanargmax(values)
        assert result.select(by, "one-standard-error").index <= result.select(by).index


def test_sizes_are_cut_to_what_all_folds_support():
    X, y = make_problem(12, 30, seed=0)
    result = cross_validate(X, y, cv=[(range(6), range(6, 12)), (range(4, 12), range(4))])
    assert_array_equal(result.parameters, np.arange(6))  # 6 rows support 5 components
    assert "2 of 8 models are left out because fold 0 supports 6 only" in result.message
    assert cross_validate(X, y, cv=3).message == ""


def test_exhausted_folds_give_one_warning():
    X, y = make_problem(12, 30, seed=0)
    with pytest.warns(RankExhaustedWarning, match="In 4 of 4 folds: 20 components") as record:
        result = cross_validate(X, y, cv=4, max_components=20)
    assert len(record) == 1
    assert record[0].filename == __file__
    assert "13 of 21 models" not in result.message
    assert result.message.startswith("12 of 21 models are left out because fold 0 supports 9 only")


def test_constant_columns_of_single_folds_give_one_warning(problem):
    X, y = problem
    X = np.column_stack([X, np.arange(47) == 3, np.arange(47) == 4])
    with pytest.warns(ConstantColumnWarning, match="In 2 of 5 folds: 1 column") as record:
        cross_validate(X, y, cv=5, max_components=2)
    assert len(record) == 1


def test_warnings_turned_into_errors_still_speak_for_all_folds(problem):
    X, y = problem
    X = np.column_stack([X, np.arange(47) == 3, np.arange(47) == 4])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ConstantColumnWarning, match="In 2 of 5 folds: 1 column"):
            cross_validate(X, y, cv=5, max_components=2)


def test_warnings_of_two_kinds_become_one():
    X, y = make_problem(12, 30, seed=0)
    X[:, 0] = 1.0
    with pytest.warns(PlsdofWarning, match="20 components.*1 column|1 column.*20 comp") as record:
        cross_validate(X, y, cv=4, max_components=20)
    assert len(record) == 1


def test_other_warnings_of_a_callable_are_passed_on_once(problem):
    def fit(X, y):
        warnings.warn("this is slow", UserWarning, stacklevel=2)
        return pls_path(X, y, 1)

    with pytest.warns(UserWarning, match="^this is slow$") as record:
        cross_validate(*problem, fit, 5)
    assert len(record) == 1


def test_constant_response_works_without_warnings():
    X, _ = make_problem(15, 3, seed=0)
    result = cross_validate(X, np.full(15, 0.1), "ridge", 3, alphas=[1.0])
    assert_allclose(result.mean_error, 0.0, atol=1e-30)
    assert np.isnan(result.mean_correlation).all()
    with pytest.raises(NotAvailableError, match="pearson is undefined for every model"):
        result.select("pearson")


# Rules of choice


def test_minimum_prefers_the_simplest_among_equals():
    assert made_result([[3, 1, 2, 1], [3, 1, 2, 1]]).select().index == 1


def test_undefined_errors_are_never_chosen():
    result = made_result([[np.nan, 3, 2.5, 4], [np.nan, 3, 2, 4]])
    assert result.select().index == 2
    assert result.select(rule="one-standard-error").index == 2
    with pytest.raises(NotAvailableError, match="error is undefined for every model"):
        made_result([[np.nan, np.nan]]).select()


def test_one_standard_error_rule_takes_the_simplest_model_close_to_the_best():
    # The best model is 3 with mean 2 and standard error 0.5.
    errors = [[9, 2.51, 2.4, 1.5], [9, 2.51, 2.4, 2.5]]
    assert made_result(errors).select(rule="one-standard-error").index == 2
    assert made_result(errors).select().index == 3


def test_one_standard_error_rule_needs_two_folds():
    with pytest.raises(NotAvailableError, match="at least two folds"):
        made_result([[2, 1]]).select(rule="one-standard-error")
    once = np.array([[0.1, 0.2, 0.9], [0.2, 0.3, np.nan]])
    result = made_result(np.ones((2, 3)), fold_correlations=once)
    assert result.select("pearson").index == 2
    with pytest.raises(NotAvailableError, match="two folds in which pearson is defined"):
        result.select("pearson", "one-standard-error")


def test_correlation_of_one_weighted_row_is_undefined():
    predictions, observed = np.array([[0.1, 0.7, 0.2]]), np.array([0.3, 0.1, 0.2])
    for ranks in (False, True):
        weights = np.array([0.0, 0.0, 1.0])
        assert np.isnan(cross_validation.correlations(predictions, observed, weights, ranks=ranks))


def test_ridge_rules_take_a_large_penalty_for_the_simpler_model(problem):
    X, y = problem
    alphas = np.logspace(-4, 3, 15)
    rising = cross_validate(X, y, "ridge", 5, alphas=alphas)
    falling = cross_validate(X, y, "ridge", 5, alphas=alphas[::-1])
    for rule in ("minimum", "one-standard-error", "randomization"):
        one, other = rising.select(rule=rule), falling.select(rule=rule)
        assert one.parameter == other.parameter == alphas[one.index]
    best = rising.select().parameter
    assert rising.select(rule="one-standard-error").parameter > best
    assert rising.select(rule="randomization").parameter > best


def test_ridge_default_penalties_are_common_to_all_folds(problem):
    X, y = problem
    result = cross_validate(X, y, "ridge", 5)
    assert_allclose(result.parameters, ridge_path(X, y).alphas)


def test_selection_says_how_it_was_made(problem):
    result = cross_validate(*problem, cv=5)
    chosen = result.select("error", "randomization", level=0.2)
    assert (chosen.criterion, chosen.rule) == ("cv-error", "randomization")
    assert_array_equal(chosen.scores, result.mean_error)
    assert f"at parameter {chosen.n_components} " in chosen.message
    assert "at level 0.2" in chosen.message


def exact_p_values(losses, best):
    d = losses - losses[:, [best]]
    signs = np.array(list(itertools.product([-1.0, 1.0], repeat=len(d))))
    return np.mean(signs @ d >= d.sum(axis=0) - 1e-9, axis=0)


@pytest.mark.parametrize("groups", [None, np.repeat(np.arange(12), 2)])
def test_randomization_p_values_equal_full_enumeration(groups):
    n = 12 if groups is None else 24
    rng = np.random.default_rng(4)
    errors = rng.uniform(0.5, 1.5, size=(n, 4)) + np.array([0.5, 0.3, 0.0, 0.1])
    result = made_result(errors, groups=groups)
    units = errors if groups is None else errors[::2] + errors[1::2]
    exact = exact_p_values(units, 2)
    test = randomization_test(result, n_permutations=20_000, random_state=1)
    assert test.reference == 2
    assert test.p_values[2] == 1.0
    assert 0.002 < exact[1] < 0.3  # the comparison says something
    tolerance = 4 * np.sqrt(exact * (1 - exact) / 20_000) + 1e-4
    assert np.all(np.abs(test.p_values - exact) <= tolerance)
    assert_allclose(test.differences, errors.mean(axis=0) - errors[:, 2].mean(), atol=1e-12)


def test_smallest_p_value_counts_the_data_themselves():
    result = made_result(np.repeat([[100.0, 1.0]], 40, axis=0))
    assert_allclose(randomization_test(result, n_permutations=99).p_values, [0.01, 1.0])


def test_models_equal_up_to_rounding_are_not_worse():
    errors = np.random.default_rng(0).uniform(1, 2, size=(30, 1))
    result = made_result(np.hstack([errors * (1 + 1e-15), errors]))
    assert result.select(rule="randomization").index == 0


def test_randomization_rule_takes_the_simplest_model_that_is_not_worse():
    rng = np.random.default_rng(0)
    noise = rng.uniform(-0.5, 0.5, size=(60, 4))
    result = made_result(5 + noise - noise.mean(axis=0) + np.array([3.0, 0.02, 0.0, 0.5]))
    p = randomization_test(result).p_values
    assert p[0] < 0.01
    assert p[1] > 0.1
    assert result.select(rule="minimum").index == 2
    assert result.select(rule="randomization").index == 1
    assert result.select(rule="randomization", level=0.99).index == 2


def test_randomization_test_is_reproducible_and_bounded_in_memory(monkeypatch, problem):
    result = cross_validate(*problem, cv=5)
    first, again = randomization_test(result), randomization_test(result)
    assert_array_equal(first.p_values, again.p_values)
    other = randomization_test(result, random_state=1)
    assert not np.array_equal(first.p_values, other.p_values)
    monkeypatch.setattr(cross_validation, "_SIGNS_AT_ONCE", 10_000)
    tracemalloc.start()
    small = randomization_test(result, n_permutations=20_000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1e6  # all signs at once would be 7.5 MB
    assert_allclose(small.p_values, first.p_values, atol=0.06)


@pytest.mark.slow
def test_randomization_test_keeps_its_level_for_equally_good_models():
    rng = np.random.default_rng(11)
    draws, rejected = 1000, 0
    for _ in range(draws):
        result = made_result(rng.normal(size=(30, 2)) ** 2)
        test = randomization_test(result, n_permutations=199, random_state=rng)
        rejected += test.p_values[1 - test.reference] <= 0.05
    # The better of the two is the reference, so either of two one-sided tests may reject.
    assert abs(rejected / draws - 0.10) <= 4 * np.sqrt(0.1 * 0.9 / draws)


def test_pooled_measures_and_test_need_the_predictions(problem):
    result = cross_validate(*problem, cv=5, keep_predictions=False)
    assert result.predictions is None
    assert result.select().index == cross_validate(*problem, cv=5).select().index
    with pytest.raises(NotAvailableError, match="keep_predictions=True"):
        result.select("pooled-pearson")
    with pytest.raises(NotAvailableError, match="keep_predictions=True"):
        randomization_test(result)


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"by": "rmse"}, InvalidInputError, "by must be one of 'error', 'pearson'"),
        ({"rule": "first"}, InvalidInputError, "rule must be one of 'minimum'"),
        ({"rule": "randomization", "level": 5}, InvalidInputError, "level must be a number betw"),
        ({"rule": "randomization", "by": "pearson"}, NotAvailableError, "squared errors, not pea"),
        ({"rule": "one-standard-error", "by": "pooled-pearson"}, NotAvailableError, "not defined"),
        ({"rule": "randomization", "n_permutations": 0}, InvalidInputError, "n_permutations must"),
        ({"rule": "randomization", "random_state": "a"}, InvalidInputError, "random_state must"),
    ],
)
def test_select_explains_what_it_cannot_do(problem, options, error, match):
    result = cross_validate(*problem, cv=5)
    with pytest.raises(error, match=match):
        result.select(**options)


# Parallel runs and progress


@pytest.mark.parametrize("path", ["pls", partial(pcr_path, max_components=3)])
def test_parallel_run_equals_the_plain_loop(problem, path):
    pytest.importorskip("joblib")
    plain = cross_validate(*problem, path, 4, random_state=0, repeats=2)
    parallel = cross_validate(*problem, path, 4, random_state=0, repeats=2, n_jobs=2)
    assert_allclose(parallel.predictions, plain.predictions, rtol=1e-12)
    assert_allclose(parallel.fold_errors, plain.fold_errors, rtol=1e-12)


def test_parallel_run_hands_warnings_over():
    pytest.importorskip("joblib")
    X, y = make_problem(12, 30, seed=0)
    with pytest.warns(RankExhaustedWarning, match="In 4 of 4 folds") as record:
        cross_validate(X, y, cv=4, max_components=20, n_jobs=2)
    assert len(record) == 1


def threads_of_worker(_fold):
    from threadpoolctl import threadpool_info

    np.ones((3, 3)) @ np.ones((3, 3))
    return [pool["num_threads"] for pool in threadpool_info()]


def test_workers_use_one_thread_each_whatever_the_environment_says(monkeypatch):
    pytest.importorskip("joblib")
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "2")
    folds = make_folds(np.zeros((6, 1)), np.zeros(6), 3)
    found = for_each_fold(threads_of_worker, folds, n_jobs=2)
    assert all(pools and set(pools) == {1} for pools in found)


def test_results_keep_the_order_of_the_folds():
    folds = make_folds(np.zeros((9, 1)), np.zeros(9), 9)
    assert for_each_fold(lambda fold: int(fold.test[0]), folds) == list(range(9))


def test_progress_bar_goes_to_stderr_only(problem, capsys, monkeypatch):
    pytest.importorskip("rich")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    shown = cross_validate(*problem, cv=3, progress=True)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Cross-validation" in captured.err
    assert_array_equal(shown.fold_errors, cross_validate(*problem, cv=3).fold_errors)


@pytest.mark.parametrize(
    ("package", "options", "extra"),
    [("joblib", {"n_jobs": 2}, "sklearn"), ("rich.progress", {"progress": True}, "cli")],
)
def test_missing_packages_are_named_with_their_extra(monkeypatch, problem, package, options, extra):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf"plsdof\[{extra}\]"):
        cross_validate(*problem, cv=3, **options)


# Input and result


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"cv": 1}, "cv must be >= 2; got 1"),
        ({"cv": 48}, "cv = 48 folds need at least 48 rows; there are 47"),
        (
            {"cv": 4, "groups": np.arange(47) % 3},
            "cv = 4 folds need at least 4 groups; there are 3",
        ),
        ({"cv": True}, "cv must be a whole number"),
        ({"cv": "loo"}, "cv must be a number of folds >= 2, a scikit-learn splitter"),
        ({"cv": 2.5}, "cv must be a number of folds"),
        ({"cv": []}, "cv gives no folds"),
        ({"cv": np.arange(47) % 3}, "item 0 is .*PredefinedSplit"),
        ({"cv": [([0], [1])]}, r"fold 0 leaves 1 row\(s\) to fit on"),
        ({"cv": [([0, 0, 0], [1])]}, r"fold 0 leaves 1 row\(s\) to fit on"),
        ({"cv": [(range(9), [])]}, "the test part of fold 0 has no rows"),
        ({"cv": [(range(9), [8])]}, "fold 0 has 1 row.* in both parts, such as row 8"),
        ({"cv": [(range(9), [9, 9])]}, "fold 0 tests a row twice"),
        ({"cv": [(range(9), [47])]}, r"the test part of fold 0 must be row numbers in 0\.\.46"),
        ({"cv": [(range(9), [-1])]}, "the test part of fold 0 must be row numbers"),
        ({"cv": [([0.5, 1.5], [9])]}, "the training part of fold 0 must be row numbers"),
        ({"groups": [1, 2]}, r"groups must have one label per row, shape \(47,\)"),
        ({"groups": [np.nan] * 47}, "groups contains NaN"),
        ({"groups": np.array([1, "a"] * 23 + [None], object)}, "groups mixes labels"),
        ({"cv": 3, "repeats": 0}, "repeats must be >= 1"),
        ({"cv": 3, "random_state": -1}, "random_state must be a whole number >= 0"),
        ({"cv": [(range(9), [9])], "repeats": 2}, "repeats and random_state apply when cv is"),
        ({"path": "lasso"}, "path must be one of 'pls', 'pcr', 'ridge' or a callable"),
        ({"path": 3}, "path must be one of 'pls', 'pcr', 'ridge' or a callable"),
        ({"alphas": [1.0]}, "alphas does not apply to path='pls'"),
        ({"path": "ridge", "max_components": 3}, "max_components does not apply to path='ridge'"),
        ({"path": "ridge", "alphas": [-1.0]}, "alphas must be finite and > 0"),
        ({"path": pls_path, "max_components": 3}, "max_components does not apply to a callable"),
        ({"path": pls_path, "scale": False}, "scale does not apply to a callable path"),
        ({"n_jobs": 0}, "n_jobs must be None, a number of processes"),
        ({"n_jobs": 1.5}, "n_jobs must be None, a number of processes"),
        ({"sample_weight": [1.0]}, "sample_weight must have one entry per row"),
    ],
)
def test_input_errors_say_what_is_allowed(problem, options, match):
    with pytest.raises(InvalidInputError, match=match):
        cross_validate(*problem, **options)


def test_a_splitter_that_fails_is_named(problem):
    from sklearn.model_selection import GroupKFold

    with pytest.raises(InvalidInputError, match=r"GroupKFold.*could not split the rows: The 'gr"):
        cross_validate(*problem, cv=GroupKFold(3))


def test_two_rows_are_too_few():
    with pytest.raises(InvalidInputError, match=r"fold 0 leaves 1 row\(s\)"):
        cross_validate([[1.0], [2.0]], [1.0, 2.0], cv=2)


def test_callable_must_have_the_same_models_in_every_fold(problem):
    with pytest.raises(InvalidInputError, match="other parameters in fold 2 than in fold 0"):
        cross_validate(*problem, lambda X, y: ridge_path(X, y, [float(len(y))]), 5)


def test_callable_must_predict_one_row_per_model(problem):
    def fit(_X, _y):
        return SimpleNamespace(parameters=[0, 1], predict=lambda rows: np.zeros(len(rows)))

    with pytest.raises(InvalidInputError, match=r"shape \(2, 16\); got shape \(16,\)"):
        cross_validate(*problem, fit, 3)


def test_result_is_frozen_and_detached_from_the_input(problem):
    X, y = problem
    y = y.copy()
    w = np.linspace(1, 2, 47)
    result = cross_validate(X, y, cv=4, groups=np.arange(47), sample_weight=w)
    before = result.pooled_correlation
    y[:], w[:] = 0.0, 5.0
    assert_array_equal(result.pooled_correlation, before)
    with pytest.raises(AttributeError, match="cannot assign"):
        result.message = "other"
    for name in ("parameters", "fold_errors", "predictions", "simplest_first", "y", "groups"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(result, name)[0] = 0


def test_result_survives_pickling_and_describes_itself(problem):
    result = cross_validate(*problem, cv=4, repeats=2, max_components=3)
    copy = pickle.loads(pickle.dumps(result))
    assert_array_equal(copy.fold_errors, result.fold_errors)
    assert copy.select("spearman").index == result.select("spearman").index
    assert repr(result) == "CrossValidation(4 models, 8 folds, n=47, repeats=2)"
