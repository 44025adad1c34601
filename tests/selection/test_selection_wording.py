"""What this room says: errors that name what came in and what is allowed, and choices in words."""

import numpy as np
import pytest
from _helpers.made_results import made_from_predictions, made_result
from _helpers.problems import make_problem
from sklearn.model_selection import GroupKFold

from plsdof import pls_path
from plsdof._core.display import plural
from plsdof.errors import InvalidInputError, NotAvailableError
from plsdof.selection import cross_validate

PROBLEM = make_problem(47, 8, seed=3, decay=1.0, noise=1.0)

INVALID = [
    ({"cv": 1}, "cv must be >= 2; got 1"),
    ({"cv": 48}, "cv = 48 folds need at least 48 rows; there are 47"),
    ({"groups": np.zeros(47)}, "cv = 2 folds need at least 2 groups; there are 1"),
    ({"cv": True}, "cv must be a whole number"),
    (
        {"cv": "lou"},
        'cv must be a number of folds >= 2, "loo", "blocks:5", a scikit-learn splitter',
    ),
    ({"cv": 2.5}, "cv must be a number of folds"),
    ({"cv": []}, "cv gives no folds"),
    ({"cv": np.arange(47) % 3}, "item 0 is .*PredefinedSplit"),
    ({"cv": [([0], [1])]}, r"fold 0 leaves 1 row\(s\) to fit on"),
    ({"cv": [([0, 0, 0], [1])]}, r"fold 0 leaves 1 row\(s\) to fit on"),
    ({"cv": [(range(9), [])]}, "the test part of fold 0 must be row numbers"),
    ({"cv": [(range(9), [8])]}, "fold 0 has 1 row.* in both parts, such as row 8"),
    ({"cv": [(range(9), [9, 9])]}, "fold 0 tests a row twice"),
    ({"cv": [(range(9), [47])]}, r"the test part of fold 0 must be row numbers in 0\.\.46"),
    ({"cv": [(range(9), [-1])]}, "the test part of fold 0 must be row numbers"),
    ({"cv": [([0.5, 1.5], [9])]}, "the training part of fold 0 must be row numbers"),
    ({"groups": [1, 2]}, r"groups must have one label per row, shape \(47,\)"),
    ({"groups": [np.nan] * 47}, "and no NaN"),
    ({"groups": np.array([1, "a"] * 23 + [None], object)}, "groups mixes labels"),
    ({"cv": 3, "repeats": 0}, "repeats must be >= 1"),
    ({"cv": 3, "rng": -1}, "rng must be a whole number >= 0"),
    ({"cv": [(range(9), [9])], "repeats": 2}, "repeats and rng apply when cv is"),
    ({"path": "lasso"}, "path must be one of 'pls', 'pcr', 'ridge', or a recipe"),
    ({"path": 3}, "path must be one of 'pls', 'pcr', 'ridge', or a recipe"),
    ({"alphas": [1.0]}, "alphas does not apply to 'pls'"),
    ({"max_components": -1}, "max_components must be >= 0; got -1"),
    ({"path": "ridge", "max_components": 3}, "max_components does not apply to 'ridge'"),
    ({"path": "ridge", "alphas": [-1.0]}, "alphas must be finite and >= 0"),
    ({"path": pls_path}, "path must be one of 'pls', 'pcr', 'ridge', or a recipe"),
    ({"n_jobs": 0}, "n_jobs must be None, a number of processes"),
    ({"n_jobs": 1.5}, "n_jobs must be None, a number of processes"),
    ({"sample_weight": [1.0]}, "sample_weight must have one entry per row"),
    ({"cv": GroupKFold(3)}, r"GroupKFold.*could not split the rows: The 'gr"),
]


@pytest.mark.parametrize(("options", "words"), INVALID)
def test_input_errors_say_what_is_allowed(options, words):
    with pytest.raises(InvalidInputError, match=words):
        cross_validate(*PROBLEM, **options)


def test_two_rows_are_too_few():
    with pytest.raises(InvalidInputError, match=r"fold 0 leaves 1 row\(s\)"):
        cross_validate([[1.0], [2.0]], [1.0, 2.0], cv=2)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"by": "rmse"}, InvalidInputError, "by must be one of 'error', 'pearson'"),
        ({"rule": "first"}, InvalidInputError, "rule must be one of 'minimum'"),
        ({"rule": "randomization", "level": 5}, InvalidInputError, "level must be between 0 and"),
        ({"rule": "randomization", "by": "pearson"}, NotAvailableError, "squared errors, not pea"),
    ],
)
def test_select_explains_what_it_cannot_do(options, error, words):
    with pytest.raises(error, match=words):
        cross_validate(*PROBLEM, cv=5).select(**options)


UNAVAILABLE = {
    "error is undefined for every model": lambda: made_result([[np.nan, np.nan]]).select(),
    "pearson is undefined for every model": lambda: made_result([[2, 1]]).select("pearson"),
    "best model has no standard error": lambda: made_result([[2, 1]]).select(
        rule="one-standard-error"
    ),
    "no standard error .a single fold": lambda: made_from_predictions(
        [[1.0, 0.0, 2.0, 3.0, 5.0]], [0.0, 1.0, 2.0, 4.0, 4.0], [3, 2]
    ).select("pearson", "one-standard-error"),
}


@pytest.mark.parametrize("words", UNAVAILABLE)
def test_what_is_not_available_says_why(words):
    with pytest.raises(NotAvailableError, match=words):
        UNAVAILABLE[words]()


def test_a_choice_says_how_it_was_made():
    result = cross_validate(*PROBLEM, cv=5)
    chosen = result.select("error", "randomization", level=0.2)
    assert chosen.message.startswith(plural(chosen.n_components, "component"))
    assert "randomization test" in chosen.message
    assert f"p = {result.p_values()[chosen.index]:.3g} at level 0.2" in chosen.message
