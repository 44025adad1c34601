"""Results of cross-validation: correlations and rules of choice."""

import pickle

import numpy as np
import pytest
from _helpers.made_results import made_from_predictions, made_result
from _helpers.problems import make_problem
from numpy.testing import assert_allclose, assert_array_equal

from plsdof import pls_path
from plsdof.datasets import load_ozone
from plsdof.errors import NotAvailableError
from plsdof.selection.cross_validation import cross_validate


def test_leave_one_out_has_no_correlations_to_choose_by():
    result = cross_validate(*make_problem(20, 3, seed=2), cv=20)
    assert np.isnan(result.fold_correlations).all()
    with pytest.raises(NotAvailableError):
        result.select("pearson")


def test_empty_model_has_correlation_zero_and_the_best_is_chosen(problem):
    result = cross_validate(*problem, cv=5)
    assert np.all(result.fold_correlations[:, 0] == 0)
    assert result.select("pearson").index == np.nanargmax(result.mean_correlation)
    simpler = result.select("pearson", "one-standard-error")
    assert simpler.index <= result.select("pearson").index


def test_minimum_prefers_the_simplest_among_equals():
    assert made_result([[3, 1, 2, 1], [3, 1, 2, 1]]).select().index == 1


def test_undefined_errors_are_never_chosen():
    result = made_result([[np.nan, 3, 2.5, 4], [np.nan, 3, 2, 4]])
    assert result.select().index == 2
    assert result.select(rule="one-standard-error").index == 2
    with pytest.raises(NotAvailableError):
        made_result([[np.nan, np.nan]]).select()


def test_one_standard_error_rule_takes_the_simplest_model_close_to_the_best():
    # The best model is 3 with mean 2 and standard error 0.5.
    errors = [[9, 2.51, 2.4, 1.5], [9, 2.51, 2.4, 2.5]]
    assert made_result(errors).select(rule="one-standard-error").index == 2
    assert made_result(errors).select().index == 3


def test_one_standard_error_rule_needs_two_folds():
    with pytest.raises(NotAvailableError):
        made_result([[2, 1]]).select(rule="one-standard-error")
    # The response does not vary in the second fold.
    predictions = [[1.0, 0.0, 2.0, 3.0, 5.0], [0.0, 1.0, 2.0, 3.0, 5.0]]
    result = made_from_predictions(predictions, [0.0, 1.0, 2.0, 4.0, 4.0], [3, 2])
    assert result.select("pearson").index == 1
    with pytest.raises(NotAvailableError):
        result.select("pearson", "one-standard-error")


def test_correlation_of_one_weighted_row_is_undefined():
    predictions, observed = np.array([[0.1, 0.7, 0.2]]), np.array([0.3, 0.1, 0.2])
    weights = np.array([0.0, 0.0, 1.0])
    result = made_from_predictions(predictions, observed, [3], weights)
    assert np.isnan(result.fold_correlations)


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


def test_selection_says_how_it_was_made(problem):
    result = cross_validate(*problem, cv=5)
    chosen = result.select("error", "randomization", level=0.2)
    assert (chosen.criterion, chosen.rule) == ("cv-error", "randomization")
    assert_array_equal(chosen.scores, result.mean_error)


def test_result_is_frozen_and_detached_from_the_input(problem):
    X, y = problem
    y = y.copy()
    w = np.linspace(1, 2, 47)
    result = cross_validate(X, y, cv=4, groups=np.arange(47), sample_weight=w)
    before = result.mean_correlation
    y[:], w[:] = 0.0, 5.0
    assert_array_equal(result.mean_correlation, before)
    with pytest.raises(AttributeError, match="cannot assign"):
        result.message = "other"
    for name in ("parameters", "fold_errors", "predictions", "order", "y", "units"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(result, name)[0] = 0


def test_result_survives_pickling_and_describes_itself(problem):
    result = cross_validate(*problem, cv=4, repeats=2, max_components=3)
    copy = pickle.loads(pickle.dumps(result))
    assert_array_equal(copy.fold_errors, result.fold_errors)
    assert copy.select("pearson").index == result.select("pearson").index
    assert repr(result) == "CrossValidation(4 models, 8 folds, n=47, repeats=2)"


@pytest.mark.parametrize("unit", [1e-65, 1e65])
def test_scores_do_not_depend_on_the_unit_of_y(unit):
    X, y = make_problem(40, 6, seed=2)
    plain, scaled = cross_validate(X, y, cv=5), cross_validate(X, y * unit, cv=5)
    assert_allclose(scaled.mean_correlation[1:], plain.mean_correlation[1:], rtol=1e-9)
    assert_allclose(scaled.std_error / unit / unit, plain.std_error, rtol=1e-9)
    for rule in ("minimum", "one-standard-error"):
        assert scaled.select(rule=rule).index == plain.select(rule=rule).index


def test_rows_left_out_and_cross_validation_are_the_same_numbers():
    X, y = load_ozone(return_X_y=True)
    groups = np.repeat(np.arange(40), np.arange(1, 41))[: len(y)]  # unequal folds
    left = pls_path(X, y, 4).left_out(5, groups)
    result = cross_validate(X, y, cv=5, groups=groups, max_components=4)
    assert_array_equal(result.fold, left.fold)
    for name in ("residuals", "rmse", "rmse_std_error", "q2", "rss", "leverage"):
        assert_allclose(getattr(result, name), getattr(left, name), rtol=1e-9)
    expected = result.fold_errors - result.mean_error
    share = np.bincount(left.fold) / len(y)
    assert_allclose(result.rmse_std_error, np.sqrt(share @ expected**2 / 4) / 2 / left.rmse)
