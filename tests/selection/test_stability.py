"""How often a choice is made again."""

import numpy as np
import pytest
from _helpers.problems import make_problem

from plsdof import pls_path, ridge_path
from plsdof.errors import InvalidInputError, NotAvailableError
from plsdof.selection import selection_frequency
from plsdof.selection.stability import _simulated


@pytest.mark.parametrize(("dof", "noise"), [("exact", "jacobian"), ("naive", "naive")])
@pytest.mark.parametrize("max_components", [2, None])
def test_choices_are_those_of_paths_fitted_to_the_simulated_responses(dof, noise, max_components):
    X, y = make_problem(40, 6, seed=5)
    path = pls_path(X, y, max_components)
    found = selection_frequency(path, "aic", n_draws=30, dof=dof, noise=noise, rng=7)
    rng, choices = np.random.default_rng(7), []
    sigma = np.sqrt(path.noise_variance(noise))
    weights = path.average().weights
    for m in rng.choice(len(path), size=30, p=np.resize(weights, len(path)) / weights.sum()):
        again = pls_path(X, path.fitted[m] + sigma[m] * rng.standard_normal(40), max_components)
        choices.append(again.select("aic", dof, noise).n_components)
    np.testing.assert_array_equal(found.counts, np.bincount(choices, minlength=len(path.dof)))
    assert found.frequency.sum() == pytest.approx(1.0)
    assert found.selection.index == path.select("aic", dof, noise).index


def test_a_clear_choice_is_made_again_and_a_vague_one_is_not():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(100, 8))
    signal = X @ np.linspace(0, 2, 8)
    share = [
        selection_frequency(
            pls_path(X, signal + sigma * rng.normal(size=100)), "aic", n_draws=60
        ).frequency.max()
        for sigma in (0.01, 3.0)
    ]
    assert share[0] > 0.95 > share[1]


def test_penalties_are_counted_too():
    X, y = make_problem(30, 4)
    found = selection_frequency(ridge_path(X, y, [100.0, 1.0, 0.01]), n_draws=20)
    assert found.parameters.tolist() == [100.0, 1.0, 0.01]
    assert found.counts.sum() == 20


def test_what_cannot_be_simulated_is_refused():
    X, y = make_problem(12, 20, seed=11, noise=1e-6)
    path = pls_path(X, y)
    with pytest.raises(NotAvailableError):
        selection_frequency(path, "aic", noise="dof")
    with pytest.raises(InvalidInputError):
        selection_frequency(X)
    with pytest.raises(InvalidInputError):
        selection_frequency(path, n_draws=0)


def test_weights_are_precisions_of_the_simulated_responses():
    X, y = make_problem(12, 3, seed=1)
    weights = np.linspace(0.01, 2.0, 12)
    path = pls_path(X, y, 0, sample_weight=weights)  # a single model to draw from
    responses = np.array(list(_simulated(path, "jacobian", 4000, 0)))
    spread = responses.std(axis=0) * path.exact.units.row_scale
    # The relative standard error of a standard deviation over 4000 draws is 1.1 %.
    np.testing.assert_allclose(spread, np.sqrt(path.noise_variance("jacobian")[0]), rtol=0.06)
    path = pls_path(X, y, 2, sample_weight=weights)
    assert selection_frequency(path, n_draws=20).counts.sum() == 20
