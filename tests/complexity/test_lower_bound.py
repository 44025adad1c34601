"""Lower bound of the theorem."""

import numpy as np
import pytest
from _helpers.problems import make_problem

from plsdof import dof_lower_bound, pls_path
from plsdof.errors import InvalidInputError

FACTORIAL = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])


def textbook_bound(X, scale):
    S = np.corrcoef(X, rowvar=False) if scale else np.cov(X, rowvar=False)
    largest = np.linalg.eigvalsh(S)[-1]
    return 1 + np.trace(S) / largest if largest <= np.trace(S) / 2 else None


@pytest.mark.parametrize(("n", "p"), [(40, 6), (10, 25)])
@pytest.mark.parametrize("scale", [True, False])
def test_bound_is_one_plus_trace_over_the_largest_eigenvalue(n, p, scale):
    X, _ = make_problem(n, p, seed=1)
    expected = textbook_bound(X, scale)
    assert expected is not None
    assert dof_lower_bound(X, scale=scale) == pytest.approx(expected, rel=1e-12)


def test_bound_is_none_for_collinear_predictors():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(30, 1)) + 0.1 * rng.normal(size=(30, 5))
    assert textbook_bound(X, scale=True) is None
    assert dof_lower_bound(X) is None


def test_scaling_decides_whether_the_condition_holds():
    X = np.random.default_rng(3).normal(size=(30, 5)) * [100.0, 1.0, 1.0, 1.0, 1.0]
    assert dof_lower_bound(X) is not None
    assert dof_lower_bound(X, scale=False) is None


@pytest.mark.parametrize("seed", range(5))
def test_bound_holds_for_random_responses(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(25, 8)) @ rng.normal(size=(8, 8)) + 2 * rng.normal(size=(25, 8))
    bound = dof_lower_bound(X)
    assert bound is not None
    dofs = [pls_path(X, rng.normal(size=25), 1).dof[1] for _ in range(100)]
    assert min(dofs) >= bound


def test_bound_is_attained_by_the_leading_principal_component():
    X, _ = make_problem(25, 8, seed=4, decay=0.2)
    Z = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    y = np.linalg.svd(Z)[0][:, 0]
    assert pls_path(X, y, 1).dof[1] == pytest.approx(dof_lower_bound(X), rel=1e-9)


def test_bound_fails_to_hold_where_none_is_given():
    # Why the condition is there: DoF(1) may then be far below 1 + trace / largest eigenvalue.
    U = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]]) / 2
    X, y = U * [1.0, 1e-2], U @ [1e-3, 1.0]
    assert dof_lower_bound(X, scale=False) is None
    assert pls_path(X, y, 1, scale=False).dof[1] < 0


def test_bound_equals_that_of_r(reference):
    expected = reference.lower_bound
    bound = dof_lower_bound(reference.X)
    if expected["bound"]:
        assert bound == pytest.approx(expected["lower.bound"], rel=1e-10)
    else:
        assert bound is None


@pytest.mark.parametrize("angle", [0.0, 0.3, 1.0, 2.0])
def test_equality_in_the_condition_counts_as_fulfilled(angle):
    # Any rotation of two uncorrelated columns of equal variance has lambda_max = trace / 2.
    rotation = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    X = FACTORIAL @ rotation * 0.1 + 0.7
    assert dof_lower_bound(X) == pytest.approx(3.0, rel=1e-12)


def test_bound_ignores_constant_columns():
    X, _ = make_problem(20, 5, seed=5)
    padded = np.column_stack([np.full(20, 0.1), X, np.zeros(20)])
    assert dof_lower_bound(padded) == pytest.approx(dof_lower_bound(X), rel=1e-12)


@pytest.mark.parametrize(
    "X",
    [[[1.0], [2.0], [4.0]], [[1.0, 5.0], [2.0, 3.0]], [[1.0, 2.0], [1.0, 2.0], [1.0, 2.0]]],
    ids=["one column", "two rows", "nothing varies"],
)
def test_bound_is_none_for_degenerate_predictors(X):
    assert dof_lower_bound(X) is None


def test_unusable_predictors_are_refused():
    with pytest.raises(InvalidInputError, match="at least 2 are needed"):
        dof_lower_bound([[1.0, 2.0, 3.0]])
    with pytest.raises(InvalidInputError, match="NaN or infinity"):
        dof_lower_bound([[1.0, np.nan], [2.0, 3.0], [0.0, 1.0]])
