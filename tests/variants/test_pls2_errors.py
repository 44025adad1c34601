"""PLS2 against ball arithmetic: Degrees of Freedom are within their error, or not given."""

import numpy as np
import pytest
from _helpers.oracle_pls2 import exact_dof_by_response
from _helpers.responses import make_responses

from plsdof.variants import pls2_path

pytestmark = pytest.mark.filterwarnings("ignore::plsdof.errors.RankExhaustedWarning")


def graded(seed, n=10, p=6):
    """X = U diag(10^-k) V', and U."""
    rng = np.random.default_rng(seed)
    U = np.linalg.qr(np.column_stack([np.ones(n), rng.normal(size=(n, n - 1))]))[0][:, 1:]
    V = np.linalg.qr(rng.normal(size=(p, p)))[0]
    return rng, U, (U[:, :p] * 10.0 ** -np.arange(p)) @ V.T


def assert_within_error(X, Y, algorithm):
    """Compare with the exact numbers, and return how many models are known."""
    path = pls2_path(X, Y, algorithm=algorithm, scale=False)
    exact = exact_dof_by_response(X, Y, len(path) - 1, algorithm)
    known = np.isfinite(path.dof)
    assert known[0]
    assert np.all(np.isinf(path.dof_error[~known]))
    off = np.abs(path.dof_by_response - exact)[known]
    assert np.all(off.sum(axis=1) <= path.dof_error[known])
    for j, one in enumerate(path.responses):
        assert np.all(off[:, j] <= one.dof_error[known])
    return int(known.sum())


@pytest.mark.parametrize("algorithm", ["nipals", "simpls"])
@pytest.mark.parametrize("seed", range(6))
def test_responses_along_the_smallest_directions(algorithm, seed):
    rng, U, X = graded(seed)
    Y = U[:, 3:6] @ rng.normal(size=(3, 2))
    assert_within_error(X, Y, algorithm)


@pytest.mark.parametrize("algorithm", ["nipals", "simpls"])
@pytest.mark.parametrize("seed", range(4))
def test_responses_along_all_directions(algorithm, seed):
    rng, U, X = graded(seed)
    Y = U @ (rng.normal(size=(9, 2)) * 10.0 ** rng.uniform(-6, 0, size=(9, 1)))
    assert assert_within_error(X + rng.normal(size=6), Y, algorithm) > 1


@pytest.mark.parametrize("seed", [1, 5, 7, 8])
def test_dates_beside_small_columns(seed):
    """Directions below what rounding the dates may have changed are there, and matter."""
    rng = np.random.default_rng(seed)
    times = 1.7e12 + 3.6e6 * np.arange(9)
    X = np.column_stack([times, rng.normal(size=(9, 4)) * 10.0 ** rng.uniform(-4, 3, 4)])
    Y = rng.normal(size=(9, 1)) + X[:, 1:] @ rng.normal(size=(4, 1))
    assert_within_error(X, Y, "nipals")


def test_ordinary_data_have_all_digits():
    X, Y = make_responses(9, 4, 2, seed=3)
    path = pls2_path(X, Y, scale=False)
    np.testing.assert_allclose(path.dof_by_response, exact_dof_by_response(X, Y, 4), rtol=1e-12)
    assert np.all(path.dof_error < 1e-11)
    assert np.all(path.left_out().error < 1e-11)


def test_a_fold_without_a_model_has_an_infinite_error():
    # Without the first two rows, which are left out together, X has one direction only.
    X = np.array([[1.0, 0.0], [-1.0, 0.5], [1.0, 0.3], [2.0, 0.3], [3.0, 0.3], [5.0, 0.3]])
    Y = np.random.default_rng(0).normal(size=(6, 2))
    left = pls2_path(X, Y).left_out(cv=[([2, 3, 4, 5], [0, 1]), ([0, 1], [2, 3, 4, 5])])
    assert np.all(np.isfinite(left.error[:2]))
    assert np.isinf(left.error[2])
