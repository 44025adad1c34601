"""The permutation test: its score by hand, its level, what it refuses."""

import numpy as np
import pytest
import scipy.stats
from _helpers.problems import make_problem

from plsdof import pcr_path, pls_path, ridge_path
from plsdof.errors import InvalidInputError, NotAvailableError
from plsdof.inference import permutation_test


@pytest.mark.parametrize("make", [pls_path, pcr_path])
def test_scores_of_permuted_responses_are_those_of_single_fits(make):
    X, y = make_problem(20, 6, seed=1)
    path = make(X, y, 4)
    found = permutation_test(path, n_permutations=19, rng=3)
    rng = np.random.default_rng(3)
    centred = y - y.mean()
    responses = [centred, *(rng.permutation(centred) for _ in range(19))]
    paths = [make(X, one, 4) for one in responses]
    dof = np.clip([one.dof for one in paths], 1, 20).mean(axis=0)
    scores = np.array([one.rss / 20 / (1 - dof / 20) ** 2 for one in paths])
    best = scores[:, 1:].min(axis=1)
    np.testing.assert_allclose(found.permuted, best[1:], rtol=1e-8)
    assert found.score == pytest.approx(best[0], rel=1e-8)
    assert found.p_value == (1 + np.sum(best[1:] <= best[0])) / 20


def test_wide_data_and_strong_signals():
    X, y = make_problem(15, 40, seed=2, decay=2.0)
    path = pls_path(X, y, scale=False)
    found = permutation_test(path, n_permutations=99)
    assert found.p_value <= 0.05
    assert found.index >= 1


def test_what_cannot_be_permuted_is_refused():
    X, y = make_problem(15, 3)
    with pytest.raises(NotAvailableError):
        permutation_test(pls_path(X, y, sample_weight=np.arange(1.0, 16.0)))
    with pytest.raises(InvalidInputError):
        permutation_test(pls_path(X, y), n_permutations=5)
    with pytest.raises(NotAvailableError):
        permutation_test(pls_path(X, y, 0))
    assert permutation_test(ridge_path(X, y), n_permutations=19).p_value <= 1.0


@pytest.mark.slow
@pytest.mark.parametrize(("n", "p"), [(30, 5), (20, 40)])
def test_p_values_are_uniform_without_a_relation(n, p):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p))
    path = pls_path(X, rng.normal(size=n), 5)
    values = []
    for seed in range(400):
        test = permutation_test(path.refit(rng.normal(size=n)), n_permutations=99, rng=seed)
        values.append(test.p_value)
    # Multiples of 1/100: moved into their cells before the test.
    spread = np.array(values) - rng.uniform(size=400) / 100
    assert scipy.stats.kstest(spread, "uniform").pvalue > 0.001
