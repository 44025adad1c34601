"""Criteria and rules of choice."""

import inspect
import re

import numpy as np
import pytest
from _helpers.problems import make_problem

from plsdof import Path, pcr_path, pls_path
from plsdof._core import criteria
from plsdof.errors import InvalidInputError, NotAvailableError
from plsdof.estimators.linear import PCRegressor

RSS, DOF, N, NOISE = np.array([50.0, 20.0, 18.0]), np.array([1.0, 4.0, 9.5]), 20.0, 1.5


def test_formulas_on_plain_numbers():
    for k in range(3):
        rss, dof = float(RSS[k]), float(DOF[k])
        assert criteria.aic(RSS, DOF, N, NOISE)[k] == pytest.approx((rss + 2 * dof * NOISE) / N)
        assert criteria.bic(RSS, DOF, N, NOISE)[k] == pytest.approx(
            (rss + np.log(N) * dof * NOISE) / N
        )
        assert criteria.cp(RSS, DOF, N, NOISE)[k] == pytest.approx(rss / NOISE - N + 2 * dof)
        assert criteria.gcv(RSS, DOF, N)[k] == pytest.approx(N * rss / (N - dof) ** 2)
        assert criteria.aicc(RSS, DOF, N)[k] == pytest.approx(
            np.log(rss / N) + 1 + 2 * (dof + 1) / (N - dof - 2)
        )


def test_gmdl_equals_hansen_and_yu_with_the_intercept_coded_out():
    total, n, k = 50.0, 19.0, 3.0
    S = 20.0 / (n - k)
    F = (total - 20.0) / (k * S)
    expected = n / 2 * np.log(S) + k / 2 * np.log(F) + np.log(n)
    scores = criteria.gmdl(RSS, DOF, N, total)
    assert scores[1] == pytest.approx(expected)
    assert scores[0] == pytest.approx(n / 2 * np.log(total / n) + 0.5 * np.log(n))


def test_gmdl_codes_a_model_that_explains_too_little_as_the_empty_one():
    scores = criteria.gmdl(np.array([50.0, 49.0]), np.array([1.0, 8.0]), 20.0, 50.0)
    assert scores[0] == scores[1]


def test_undefined_scores_are_nan_and_never_win():
    dof = np.array([1.0, 19.0, 25.0])
    assert np.isnan(criteria.gcv(RSS, dof, N)[2])
    assert np.isnan(criteria.aicc(RSS, dof, N)[1:]).all()
    assert np.isnan(criteria.gmdl(RSS, dof, N, 50.0)[2])
    assert np.isnan(criteria.noise_from_dof(RSS, dof, N)[2])
    assert criteria.global_minimum([np.nan, 3.0, np.nan, 2.0]) == 3
    assert criteria.first_minimum([np.nan, 3.0, np.nan, 4.0, 1.0]) == 1
    with pytest.raises(NotAvailableError, match="not defined for any model"):
        criteria.first_minimum([np.nan])


def test_rules_of_choice():
    scores = [5.0, 3.0, 3.0, 4.0, 1.0]
    assert criteria.choose(scores, "first-minimum") == 1  # a tie is not an improvement
    assert criteria.choose(scores, "patient") == 4
    assert criteria.choose(scores, "patient", 2) == 1
    assert criteria.choose(scores, "global-minimum") == 4
    assert criteria.choose([3.0, 2.0, np.nan, 1.0], "patient") == 1
    assert criteria.first_minimum([3.0, 2.0, 1.0]) == 2
    assert criteria.first_minimum([1.0, 2.0]) == 0
    assert criteria.one_standard_error([9.0, 4.0, 3.5, 3.4], [1.0, 1.0, 1.0, 0.7]) == 1


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
    with pytest.raises(NotAvailableError, match="Give noise="):
        wide.criterion("cp")
    assert np.all(np.isfinite(wide.criterion("cp", noise=0.5)))


def test_a_given_noise_variance_is_used():
    path = pls_path(*make_problem(40, 4, seed=3))
    expected = path.rss / 40 + np.log(40) * path.dof / 40 * 0.25
    np.testing.assert_allclose(path.criterion("bic", noise=0.25), expected)


def test_models_below_one_degree_of_freedom_end_the_walk_and_are_explained():
    # Two predictors in the proportions of the negative example of the theory.
    rng = np.random.default_rng(5)
    U, _ = np.linalg.qr(np.column_stack([np.ones(12), rng.normal(size=(12, 3))]))
    X = U[:, 1:3] * [1.0, 1e-2]
    y = U[:, 1] * 1e-3 + U[:, 2] + 3.0 * U[:, 3]
    path = pls_path(X, y, scale=False)
    assert path.dof[1] < -90
    selection = path.select("bic", "exact", rule="global-minimum")
    assert np.argmin(selection.scores) == 1
    assert selection.n_components == 0
    assert "Not candidates: 2 models from 1 component on" in selection.message
    assert "This is the empty model, although 1 component would score lower" in selection.message


def test_models_near_interpolation_end_the_walk():
    assert criteria.candidates([1.0, 5.0, 17.9, 18.1, 12.0], 20).tolist() == [1, 1, 1, 0, 0]
    X, y = make_problem(20, 60, seed=3, decay=0.5)
    path = pls_path(X, y)
    for rule in criteria.RULES:
        chosen = path.select("bic", "exact", rule=rule)
        assert path.dof[: chosen.index + 1].max() <= 18
    assert path.select("bic", "exact", rule="global-minimum").scores.argmin() > chosen.index


def test_the_default_choice_is_the_one_of_the_contract():
    path = pls_path(*make_problem(60, 6, seed=1, decay=1))
    choice = path.select()
    assert (choice.criterion, choice.dof, choice.rule) == ("gcv", "smoothed", "patient")
    np.testing.assert_array_equal(choice.scores, path.criterion("gcv", dof="smoothed"))
    assert path.select("bic", rule="first-minimum").dof == "exact"


def test_constant_scores_do_not_lead_to_the_largest_model():
    """gMDL is constant where R^2 is below the share of the Degrees of Freedom."""
    sizes = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        path = pls_path(rng.normal(size=(60, 10)), rng.normal(size=60))
        sizes.append([path.select(name).n_components for name in ("gmdl", "gcv", "bic")])
    assert np.all(np.mean(sizes, axis=0) < 1)


def test_remarks_name_what_is_unusual():
    allowed = np.ones(5, dtype=bool)
    given = {"allowed": allowed, "criterion": "gcv", "n": 50.0, "label": "abcde".__getitem__}

    def said(scores, chosen, dof=(1.0, 4.0, 6.0, 8.0, 9.0), **other):
        options = {**given, "longer": True, **other}
        return " ".join(
            criteria.remarks(scores=np.array(scores), chosen=chosen, dof=np.array(dof), **options)
        )

    assert said([9.0, 5.0, 1.0, 5.0, 9.0], 2) == ""
    assert "empty model, although e would score lower" in said([5.0, 6.0, 7.0, 8.0, 1.0], 0)
    assert "last model of the path" in said([9.0, 5.0, 4.0, 3.0, 2.0], 4)
    assert "last model" not in said([9.0, 5.0, 4.0, 3.0, 2.0], 4, longer=False)
    assert "3 models, from b to d, score within one" in said([9.0, 2.1, 2.0, 2.2, 9.0], 2)
    near = (1.0, 20.0, 40.0, 41.0, 42.0)
    assert "close to n = 50" in said([9.0, 5.0, 1.0, 5.0, 9.0], 2, dof=near)
    beyond = np.array([True, True, False, False, False])
    text = said([2.0, 5.0, 1.0, 5.0, 9.0], 0, dof=(1.0, 5.0, 48.0, 49.0, 50.0), allowed=beyond)
    assert "c would score lower, with 48 Degrees of Freedom" in text
    assert "Not candidates: 3 models from c on" in text
    assert "Not defined for 1 model with" in said([9.0, 5.0, 1.0, 5.0, np.nan], 2)
    assert "all of them were compared" in said([9.0, 5.0, 1.0, 5.0, 9.0], 2, allowed=~allowed)


def test_a_derivative_unlike_that_of_similar_responses_is_remarked():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 6)) @ rng.normal(size=(6, 6))
    y = X @ rng.normal(size=6) + rng.normal(size=40)
    steady, unsteady = pls_path(X, y).select(), pls_path(X, y > 0).select()
    assert "very response" not in steady.message
    # The noise variance by the derivative at this y is a thirtieth of what the residuals say.
    path = pls_path(X, y > 0)
    index = unsteady.index
    residual = path.rss[index] / (40 - path.smoothed_dof()[index])
    assert path.noise_variance("jacobian")[index] < 0.05 * residual
    assert "(-27.86 Degrees of Freedom, 5.88 on average over them)" in unsteady.remarks[-1]


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


def test_a_selection_says_which_noise_it_used():
    X, y = make_problem(20, 4)
    path = pls_path(X, y)
    assert path.select("bic").noise == "jacobian"
    assert path.select("aic", "naive").noise == "naive"
    assert path.select("cp").noise == "least-squares"
    assert path.select("cp", noise=2.0).noise == "2"
    for name in ("gcv", "aicc", "gmdl", "press"):
        assert path.select(name).noise == "not used"


def test_unknown_words_are_refused():
    X, y = make_problem(20, 4)
    path = pls_path(X, y)
    with pytest.raises(
        InvalidInputError, match="dof must be one of 'exact', 'smoothed', 'clipped'"
    ):
        path.noise_variance("dof", dof="bogus")
    with pytest.raises(InvalidInputError, match="kind must be one of"):
        path.noise_variance("bogus")
    with pytest.raises(InvalidInputError, match="noise must be one of"):
        path.select("bic", noise="bogus")


def test_principal_components_are_chosen_by_the_global_minimum():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 5)) * [9.0, 5.0, 3.0, 2.0, 1.0]
    y = X[:, 3] + 0.1 * rng.normal(size=60)  # a late component
    path = pcr_path(X, y, scale=False)
    assert path.select().rule == "global-minimum"
    assert path.select().n_components == PCRegressor(scale=False).fit(X, y).n_components_ >= 4
    assert path.select(rule="first-minimum").n_components == 0


def test_one_docstring_names_every_criterion():
    """Others refer to it, so that a new criterion is documented once."""
    named = set(re.findall(r'"(\w+)"', inspect.getdoc(Path.criterion).partition("dof :")[0]))
    assert named == set(criteria.CRITERIA)
