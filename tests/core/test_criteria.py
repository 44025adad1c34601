"""Criteria and rules of choice."""

import inspect
import re

import numpy as np
import pytest
from _helpers.problems import make_problem

from plsdof import pcr_path, pls_path
from plsdof._core import choice, criteria
from plsdof._core.path import Path
from plsdof.errors import InvalidInputError, NotAvailableError
from plsdof.estimators import PCRegressor

RSS, DOF, N, NOISE = np.array([50.0, 20.0, 18.0]), np.array([1.0, 4.0, 9.5]), 20.0, 1.5


def fits(rss=RSS, dof=DOF):
    return criteria.Fits(rss=rss, dof=dof, n=N, noise=np.full(len(rss), NOISE), total=50.0)


def test_formulas_on_plain_numbers():
    for k in range(3):
        rss, dof = float(RSS[k]), float(DOF[k])
        assert criteria.aic(fits())[k] == pytest.approx((rss + 2 * dof * NOISE) / N)
        assert criteria.bic(fits())[k] == pytest.approx((rss + np.log(N) * dof * NOISE) / N)
        assert criteria.cp(fits())[k] == pytest.approx(rss / NOISE - N + 2 * dof)
        assert criteria.gcv(fits())[k] == pytest.approx(N * rss / (N - dof) ** 2)
        assert criteria.aicc(fits())[k] == pytest.approx(
            np.log(rss / N) + 1 + 2 * (dof + 1) / (N - dof - 2)
        )


def test_gmdl_equals_hansen_and_yu_with_the_intercept_coded_out():
    total, n, k = 50.0, 19.0, 3.0
    S = 20.0 / (n - k)
    F = (total - 20.0) / (k * S)
    expected = n / 2 * np.log(S) + k / 2 * np.log(F) + np.log(n)
    scores = criteria.gmdl(fits())
    assert scores[1] == pytest.approx(expected)
    assert scores[0] == pytest.approx(n / 2 * np.log(total / n) + 0.5 * np.log(n))


def test_gmdl_codes_a_model_that_explains_too_little_as_the_empty_one():
    scores = criteria.gmdl(fits(rss=np.array([50.0, 49.0]), dof=np.array([1.0, 8.0])))
    assert scores[0] == scores[1]


def test_undefined_scores_are_nan_and_never_win():
    dof = np.array([1.0, 19.0, 25.0])
    assert np.isnan(criteria.gcv(fits(dof=dof))[2])
    assert np.isnan(criteria.aicc(fits(dof=dof))[1:]).all()
    assert np.isnan(criteria.gmdl(fits(dof=dof))[2])
    assert np.isnan(criteria.noise_from_dof(RSS, dof, N)[2])
    assert choice.global_minimum([np.nan, 3.0, np.nan, 2.0]) == 3
    assert choice.first_minimum([np.nan, 3.0, np.nan, 4.0, 1.0]) == 1
    with pytest.raises(NotAvailableError):
        choice.first_minimum([np.nan])


def test_one_standard_error():
    assert choice.one_standard_error([9.0, 4.0, 3.5, 3.4], [1.0, 1.0, 1.0, 0.7]) == 1


@pytest.mark.parametrize("name", list(criteria.CRITERIA))
def test_every_criterion_chooses_from_a_path(name):
    X, y = make_problem(60, 6, seed=1, decay=1)
    selection = pls_path(X, y).select(name)
    assert 0 <= selection.n_components <= 6
    assert selection.criterion == name
    assert selection.message.startswith(f"{selection.n_components} component")


def test_the_empty_model_can_be_chosen():
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(50, 5)), rng.normal(size=50)
    path = pls_path(X, y)
    for name in ("bic", "gmdl"):
        selection = path.select(name)
        assert selection.n_components == 0
    assert np.all(path.coef[0] == 0)


def test_cp_uses_one_noise_level_for_all_models():
    X, y = make_problem(40, 4, seed=2)
    path = pls_path(X, y)
    sigma2 = path.rss[-1] / (40 - 5)
    np.testing.assert_allclose(
        path.criterion("cp"), path.rss / sigma2 - 40 + 2 * path.dof, rtol=1e-9
    )
    assert path.criterion("cp")[-1] == pytest.approx(5.0)
    wide = pls_path(*make_problem(10, 30, seed=2))
    with pytest.raises(NotAvailableError):
        wide.criterion("cp")
    assert np.all(np.isfinite(wide.criterion("cp", noise=0.5)))


def test_a_given_noise_variance_is_used():
    path = pls_path(*make_problem(40, 4, seed=3))
    expected = path.rss / 40 + np.log(40) * path.dof / 40 * 0.25
    np.testing.assert_allclose(path.criterion("bic", noise=0.25), expected)


def test_the_default_choice_is_the_one_of_the_contract():
    path = pls_path(*make_problem(60, 6, seed=1, decay=1))
    chosen = path.select()
    assert (chosen.criterion, chosen.rule) == ("left-out", "best-model")
    by_criterion = path.select("bic")
    assert (by_criterion.criterion, by_criterion.rule) == ("bic", "first-minimum")
    np.testing.assert_array_equal(by_criterion.scores, path.criterion("bic", dof="exact"))


def test_constant_scores_do_not_lead_to_the_largest_model():
    """gMDL is constant where R^2 is below the share of the Degrees of Freedom."""
    sizes = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        path = pls_path(rng.normal(size=(60, 10)), rng.normal(size=60))
        sizes.append([path.select(name).n_components for name in ("gmdl", "gcv", "bic")])
    assert np.all(np.mean(sizes, axis=0) < 1)


def test_remarks_have_kinds():
    def said(scores, chosen, dof=(1.0, 4.0, 6.0, 8.0, 9.0), longer=True):
        found = choice.criterion_remarks(
            np.array(scores), np.array(dof), chosen, 50.0, label=str, longer=longer
        )
        return {one.key for one in found}

    assert said([9.0, 5.0, 1.0, 5.0, 9.0], 2) == set()
    assert said([5.0, 6.0, 7.0, 8.0, 1.0], 0) == {"empty-model"}
    assert said([9.0, 5.0, 4.0, 3.0, 2.0], 4) == {"last-model"}
    assert said([9.0, 5.0, 4.0, 3.0, 2.0], 4, longer=False) == set()
    assert said([9.0, 5.0, 1.0, 5.0, 9.0], 2, (1.0, 20.0, 46.0, 47.0, 48.0)) == {"near-n"}
    assert said([9.0, 5.0, 1.0, 5.0, np.nan], 2) == {"undefined"}


def test_clipped_dof_is_limited_as_in_r():
    X, y = make_problem(12, 30, seed=6)
    path = pls_path(X, y)
    assert path.dof.max() > 11
    clipped = np.minimum(path.dof, 11)
    expected = path.rss / 12 + 2 * clipped / 12 * path.noise_variance("jacobian")
    np.testing.assert_allclose(path.criterion("aic", dof="clipped"), expected)


def test_perfect_fit_has_no_nan_winner():
    X, _ = make_problem(20, 3, seed=7)
    path = pls_path(X, X @ [1.0, 2.0, 3.0])
    for name in ("bic", "aicc", "gcv", "gmdl"):
        assert path.select(name).n_components == 3


def test_unknown_words_are_refused():
    X, y = make_problem(20, 4)
    path = pls_path(X, y)
    with pytest.raises(InvalidInputError):
        path.criterion("bic", dof="bogus")
    with pytest.raises(InvalidInputError):
        path.noise_variance("bogus")
    with pytest.raises(InvalidInputError):
        path.select("bic", noise="bogus")


def test_a_late_principal_component_is_found_by_all_but_the_first_minimum():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 5)) * [9.0, 5.0, 3.0, 2.0, 1.0]
    y = X[:, 3] + 0.1 * rng.normal(size=60)  # a late component
    path = pcr_path(X, y, scale=False)
    assert path.select().n_components == PCRegressor(scale=False).fit(X, y).n_components_ >= 4
    assert path.select("bic").n_components >= 4
    assert path.select("bic", rule="first-minimum").n_components == 0


def test_one_docstring_names_every_criterion():
    """Others refer to it, so that a new criterion is documented once."""
    named = set(re.findall(r'"(\w+)"', inspect.getdoc(Path.criterion).partition("dof :")[0]))
    assert named == set(criteria.CRITERIA)
