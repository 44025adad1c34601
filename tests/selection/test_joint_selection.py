"""The joint choice of components and another parameter, whatever the method."""

import numpy as np
import pytest
from _helpers.problems import make_problem

from plsdof.errors import NotAvailableError
from plsdof.selection.tuning import tune
from plsdof.variants.penalized import penalized_pls_path, select_strength


@pytest.mark.parametrize("seed", range(4))
def test_errors_that_differ_by_rounding_only_go_to_the_first_value(seed):
    # Three columns predict without error whatever the penalty, once all are used.
    X, y = make_problem(30, 3, seed=seed, noise=0.0)
    joint = select_strength(X, y, [0.0, 0.1, 1.0, 10.0], by="cv", cv=3)
    assert np.all(joint.scores[:, 3] < 1e-20)
    assert (joint.value, joint.n_components) == (0.0, 3)


def test_models_that_the_whole_data_do_not_support_are_not_chosen():
    X, y = make_problem(30, 5, seed=1, noise=0.1)

    def make(X, y, *, sample_weight, strength):
        most = 1 if strength == 1.0 and len(y) == 30 else 5
        return penalized_pls_path(
            X, y, strength=0.0, max_components=most, sample_weight=sample_weight
        )

    joint = tune(X, y, make, np.array([1.0]), parameter_name="strength", by="cv", cv=3)
    assert joint.scores.shape == (1, 2)
    values = np.array([1.0, 2.0])
    joint = tune(X, y, make, values, parameter_name="strength", by="cv", cv=3)
    assert np.isnan(joint.scores[0, 2:]).all()
    assert joint.value == 2.0


def test_largest_models_are_compared_at_a_fixed_number_of_components():
    X, y = make_problem(40, 6, seed=2)
    values = np.array([0.0, 1.0, 100.0])

    def make(X, y, **options):
        return penalized_pls_path(X, y, max_components=2, **options)

    joint = tune(X, y, make, values, parameter_name="strength", by="gcv", fixed=True)
    scores = [make(X, y, strength=s).criterion("gcv")[2] for s in values]
    assert joint.n_components == 2
    assert joint.value == values[int(np.argmin(scores))]
    assert joint.selection.rule == "fixed"


def test_one_standard_error_needs_two_folds():
    X, y = make_problem(20, 3, seed=3)
    fold = [(np.arange(10), np.arange(10, 20))]
    with pytest.raises(NotAvailableError):
        select_strength(X, y, [0.0, 1.0], by="cv", cv=fold, rule="one-standard-error")
    assert select_strength(X, y, [0.0, 1.0], by="cv", cv=fold).selection.rule == "minimum"


def test_groups_stay_together():
    X, y = make_problem(24, 3, seed=4)
    groups = np.repeat(np.arange(6), 4)
    joint = select_strength(X, y, [1.0], by="cv", cv=6, groups=groups)
    errors = []
    for group in range(6):
        test = groups == group
        path = penalized_pls_path(X[~test], y[~test], strength=1.0)
        errors.append(np.mean((path.predict(X[test]) - y[test]) ** 2, axis=1))
    np.testing.assert_allclose(joint.scores[0], np.mean(errors, axis=0), rtol=1e-9)


@pytest.mark.parametrize("unit", [1e-85, 1e75])
def test_one_standard_error_does_not_depend_on_the_unit_of_y(unit):
    X, y = make_problem(30, 8, seed=4)
    options = {"by": "cv", "cv": 5, "rule": "one-standard-error"}
    plain, scaled = (select_strength(X, one, [0.0, 1.0, 10.0], **options) for one in (y, y * unit))
    assert scaled.selection.index == plain.selection.index
    assert scaled.value == plain.value
