"""The randomization test against full enumeration and under the null hypothesis."""

import itertools
import tracemalloc

import numpy as np
import pytest
from _helpers.made_results import made_result
from numpy.testing import assert_allclose, assert_array_equal

from plsdof.errors import InvalidInputError
from plsdof.selection import cross_validation as cross_validated
from plsdof.selection.cross_validation import cross_validate


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
    p_values = result.p_values(n_permutations=20_000, rng=1)
    assert p_values[2] == 1.0
    assert 0.002 < exact[1] < 0.3  # the comparison says something
    tolerance = 4 * np.sqrt(exact * (1 - exact) / 20_000) + 1e-4
    assert np.all(np.abs(p_values - exact) <= tolerance)
    assert_allclose(result.row_losses().sum(axis=0), errors.mean(axis=0), atol=1e-12)


def test_smallest_p_value_counts_the_data_themselves():
    result = made_result(np.repeat([[100.0, 1.0]], 40, axis=0))
    assert_allclose(result.p_values(n_permutations=99), [0.01, 1.0])


def test_models_equal_up_to_rounding_are_not_worse():
    errors = np.random.default_rng(0).uniform(1, 2, size=(30, 1))
    result = made_result(np.hstack([errors * (1 + 1e-15), errors]))
    assert result.select(rule="randomization").index == 0


def test_randomization_rule_takes_the_simplest_model_that_is_not_worse():
    rng = np.random.default_rng(0)
    noise = rng.uniform(-0.5, 0.5, size=(60, 4))
    result = made_result(5 + noise - noise.mean(axis=0) + np.array([3.0, 0.02, 0.0, 0.5]))
    p = result.p_values()
    assert p[0] < 0.01
    assert p[1] > 0.1
    assert result.select(rule="minimum").index == 2
    assert result.select(rule="randomization").index == 1
    assert result.select(rule="randomization", level=0.99).index == 2


def test_randomization_test_is_reproducible_and_bounded_in_memory(monkeypatch, problem):
    result = cross_validate(*problem, cv=5)
    first, again = result.p_values(), result.p_values()
    assert_array_equal(first, again)
    assert not np.array_equal(first, result.p_values(rng=1))
    monkeypatch.setattr(cross_validated, "_SIGNS_AT_ONCE", 10_000)
    tracemalloc.start()
    small = result.p_values(n_permutations=20_000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1e6  # all signs at once would be 7.5 MB
    assert_allclose(small, first, atol=0.06)


@pytest.mark.slow
def test_randomization_test_keeps_its_level_for_equally_good_models():
    rng = np.random.default_rng(11)
    draws, rejected = 1000, 0
    for _ in range(draws):
        result = made_result(rng.normal(size=(30, 2)) ** 2)
        rejected += result.p_values(n_permutations=199, rng=rng).min() <= 0.05
    # The better of the two is the reference, so either of two one-sided tests may reject.
    assert abs(rejected / draws - 0.10) <= 4 * np.sqrt(0.1 * 0.9 / draws)


def test_p_values_do_not_depend_on_how_many_signs_are_drawn_at_once(monkeypatch, problem):
    result = cross_validate(*problem, cv=5)
    at_once = result.p_values()
    monkeypatch.setattr(cross_validated, "_SIGNS_AT_ONCE", 300)
    assert_array_equal(result.p_values(), at_once)


def test_rule_and_test_give_the_same_p_values(problem):
    result = cross_validate(*problem, "ridge", 5, alphas=np.logspace(-3, 3, 7))
    p_values = result.p_values()
    assert p_values[result.select().index] == 1.0
    for level in (0.05, 0.3):
        chosen = result.select(rule="randomization", level=level)
        simplest = next(k for k in result.order if p_values[k] > level)
        assert chosen.index == simplest


@pytest.mark.parametrize("options", [{"n_permutations": 0}, {"rng": "a"}])
def test_options_of_the_test_are_checked(problem, options):
    with pytest.raises(InvalidInputError):
        cross_validate(*problem, cv=5).p_values(**options)


def test_equal_sums_in_another_order_count_when_the_best_model_is_perfect():
    # Only four rows differ, so one pattern in 16 reaches the sum, up to rounding; the best model
    # has no error that could be a measure of rounding.
    rng = np.random.default_rng(0)
    for _ in range(40):
        losses = np.zeros((400, 2))
        losses[rng.choice(400, 4, replace=False), 0] = rng.uniform(size=4)
        p = cross_validated.sign_flip_p_values(losses, 1, 500, rng)[0]
        assert abs(p - 1 / 16) <= 5 * np.sqrt(15 / 16**2 / 500)


def test_models_without_prediction_for_some_rows_are_never_chosen():
    errors = np.random.default_rng(0).uniform(1, 2, size=(30, 3))
    errors[:, 0] += 1.0
    errors[4, 0] = np.nan
    p_values = made_result(errors).p_values()
    assert np.isnan(p_values[0])
    assert np.all(p_values[1:] > 0)
    assert made_result(errors).select(rule="randomization", level=1e-4).index == 1
    errors[4] = [2.0, np.nan, 2.0]
    errors[:, 1] -= 1.0
    assert made_result(errors).select().index == 2
    assert np.isnan(made_result(errors).p_values()[1])
