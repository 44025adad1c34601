"""PLS2: fit, derivative, criteria for all responses together, scores."""

from dataclasses import FrozenInstanceError

import numpy as np
import pandas as pd
import pytest
from _helpers.problems import make_problem
from _helpers.responses import ALGORITHMS, make_responses, nipals, scaled, traces
from sklearn.cross_decomposition import PLSRegression

from plsdof import pls_path
from plsdof.errors import InvalidInputError, PlsdofWarning, RankExhaustedWarning
from plsdof.inference import prediction_interval
from plsdof.variants import _pls2 as joint_derivative
from plsdof.variants.pls2 import pls2_path


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize(("n", "p", "q"), [(15, 5, 3), (8, 12, 2), (9, 3, 5)])
def test_fit_and_degrees_of_freedom_equal_an_independent_algorithm(algorithm, n, p, q):
    X, Y = make_responses(n, p, q, seed=n)
    path = pls2_path(X, Y, algorithm=algorithm)

    def fit(Y, m):
        return ALGORITHMS[algorithm](scaled(X), Y, m)

    for m in (1, 2, 3):
        np.testing.assert_allclose(path.fitted[m], fit(Y, m), atol=1e-8)
        expected = traces(lambda V, m=m: fit(V, m), Y)
        np.testing.assert_allclose(path.dof_by_response[m], expected, atol=2e-5)
        assert path.dof[m] == pytest.approx(expected.sum(), abs=5e-5)


@pytest.mark.parametrize("scale_response", [False, True])
def test_fit_and_degrees_of_freedom_equal_scikit_learn(scale_response):
    X, Y = make_responses(16, 5, 3, seed=1)

    def fit(Y, m):
        rows = X if scale_response else scaled(X)
        model = PLSRegression(m, scale=scale_response, tol=1e-15, max_iter=20_000)
        return model.fit(rows, Y).predict(rows)

    path = pls2_path(X, Y, scale_response=scale_response)
    for m in (1, 2, 4):
        # scikit-learn's power iteration stops at 1e-8.
        np.testing.assert_allclose(path.fitted[m], fit(Y, m), atol=1e-5)
        expected = traces(lambda V, m=m: fit(V, m), Y)
        np.testing.assert_allclose(path.dof_by_response[m], expected, atol=1e-4)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("scale_response", [False, True])
def test_weighted_derivative_equals_central_differences(algorithm, scale_response):
    X, Y = make_responses(12, 4, 2, seed=2)
    weights = np.random.default_rng(0).uniform(0.5, 3, 12)
    options = {
        "algorithm": algorithm,
        "scale_response": scale_response,
        "sample_weight": weights,
    }
    path = pls2_path(X, Y, 3, **options)
    for m in (1, 2, 3):
        expected = traces(lambda V, m=m: pls2_path(X, V, m, **options).fitted[m], Y)
        np.testing.assert_allclose(path.dof_by_response[m], expected, atol=1e-6)


def test_integer_weights_mean_repeated_rows():
    X, Y = make_responses(12, 4, 2, seed=3)
    counts = np.array([0, 1, 2, 3] * 3)
    weighted = pls2_path(X, Y, sample_weight=counts, scale_response=True)
    repeated = pls2_path(X.repeat(counts, axis=0), Y.repeat(counts, axis=0), scale_response=True)
    np.testing.assert_allclose(weighted.dof, repeated.dof, rtol=1e-9)
    np.testing.assert_allclose(weighted.coef, repeated.coef, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(weighted.rss, repeated.rss, rtol=1e-8)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("scale_response", [False, True])
@pytest.mark.parametrize("decay", [0.5, 4.0])
def test_one_response_is_pls1(algorithm, scale_response, decay):
    X, y = make_problem(25, 7, seed=4, decay=decay)
    path = pls2_path(X, y, 6, algorithm=algorithm, scale_response=scale_response)
    single = pls_path(X, y, 6)
    error = np.abs(path.dof - single.dof)
    assert np.all(error <= path.dof_error + single.dof_error)
    np.testing.assert_allclose(path.dof, single.dof, rtol=1e-7)
    np.testing.assert_allclose(path.fitted[:, :, 0], single.fitted, rtol=1e-8)
    np.testing.assert_allclose(path.coef[:, :, 0], single.coef, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(path.rss[:, 0], single.rss, rtol=1e-8)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_all_components_are_least_squares_with_rank_plus_one_each(algorithm):
    X, Y = make_responses(20, 4, 3, seed=5)
    path = pls2_path(X, Y, algorithm=algorithm)
    design = np.column_stack([np.ones(20), X])
    expected = design @ np.linalg.lstsq(design, Y, rcond=None)[0]
    np.testing.assert_allclose(path.fitted[-1], expected, atol=1e-9)
    np.testing.assert_allclose(path.dof_by_response[-1], 5.0, atol=1e-9)
    np.testing.assert_allclose(path.naive_dof, 3.0 * np.arange(1, 6))


def test_predictions_coefficients_and_residuals_belong_together():
    X, Y = make_responses(20, 4, 3, seed=6)
    frame = pd.DataFrame(X, columns=list("abcd"))
    path = pls2_path(frame, pd.DataFrame(Y, columns=list("uvw")), 3, scale_response=True)
    assert path.names == ("u", "v", "w")
    assert path.coef.shape == (4, 4, 3)
    np.testing.assert_array_equal(path.n_components, [0, 1, 2, 3])
    np.testing.assert_allclose(path.predict(frame), path.fitted, atol=1e-9)
    np.testing.assert_allclose(np.sum((Y - path.fitted) ** 2, axis=1), path.rss, rtol=1e-9)
    np.testing.assert_allclose(path.fitted[0], np.broadcast_to(Y.mean(axis=0), Y.shape))
    np.testing.assert_allclose(path.dof[0], 3.0)
    assert "3 responses" in repr(path)
    np.testing.assert_allclose(path.predict(frame[list("abdc")]), path.fitted, atol=1e-9)
    with pytest.raises(InvalidInputError):
        path.predict(frame.rename(columns={"d": "e"}))


def test_results_cannot_be_changed():
    X, Y = make_responses(12, 4, 2, seed=7)
    path = pls2_path(X, Y, 2)
    with pytest.raises(FrozenInstanceError, match="names"):
        path.names = ("a", "b")
    for array in (path.dof, path.coef, path.intercept, path.fitted, path.rss, path.dof_error):
        assert not array.flags.writeable


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_blocks_of_directions_change_nothing(monkeypatch, algorithm):
    X, Y = make_responses(12, 4, 3, seed=8)
    whole = pls2_path(X, Y, algorithm=algorithm, scale_response=True)
    expected = whole.dof_by_response  # made now, before blocks are small
    monkeypatch.setattr(joint_derivative, "_BLOCK_ENTRIES", 200)
    blocks = pls2_path(X, Y, algorithm=algorithm, scale_response=True)
    np.testing.assert_allclose(blocks.dof_by_response, expected, rtol=1e-12)


def test_degrees_of_freedom_agree_with_their_monte_carlo_estimate():
    X, Y = make_responses(30, 6, 3, seed=9)
    path = pls2_path(X, Y, 3)
    rng = np.random.default_rng(0)
    draws = []
    for _ in range(300):
        E = rng.normal(size=Y.shape)
        change = [nipals(scaled(X), Y + s * 1e-4 * E, 2) for s in (1, -1)]
        draws.append(np.sum((change[0] - change[1]) * E) / 2e-4)
    std_error = np.std(draws, ddof=1) / np.sqrt(len(draws))
    assert abs(np.mean(draws) - path.dof[2]) < 3 * std_error


def test_the_path_ends_where_the_next_component_is_not_unique():
    # Orthonormal predictors and responses along two of them, equally strong.
    rng = np.random.default_rng(10)
    Q, _ = np.linalg.qr(np.column_stack([np.ones(12), rng.normal(size=(12, 3))]))
    X = Q[:, 1:]
    with pytest.warns(RankExhaustedWarning, match="0 supported: two singular values .* coincide"):
        path = pls2_path(X, 2 * X[:, :2], 2)
    assert len(path.dof) == 1


def test_the_path_ends_with_the_covariance_or_the_rank():
    X, Y = make_responses(12, 4, 2, seed=11)
    with pytest.warns(
        RankExhaustedWarning, match="6 components asked for, 4 supported: X has rank"
    ):
        assert len(pls2_path(X, Y, 6).dof) == 5
    with pytest.warns(RankExhaustedWarning, match="no covariance with X left"):
        assert len(pls2_path(X, np.ones((12, 2)), 2, scale_response=True).dof) == 1
    assert pls2_path(X, Y, 4).message == ""


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"algorithm": "svd"}, "algorithm must be one of 'nipals', 'simpls'"),
        ({"Y": np.ones((5, 2))}, "y has 5 entries but X has 12 rows"),
        ({"Y": np.full((12, 2), np.nan)}, "Y contains 24 value"),
        ({"Y": np.ones((12, 2, 2))}, "Y must be a table of two dimensions"),
        ({"max_components": -1}, "max_components must be >= 0"),
        ({"scale_response": "yes"}, "scale_response must be True or False; got str"),
    ],
)
def test_unusable_input_is_refused(change, message):
    X, Y = make_responses(12, 4, 2)
    with pytest.raises(InvalidInputError, match=message):
        pls2_path(**{"X": X, "Y": Y, **change})


def test_units_of_scaled_responses_do_not_matter():
    X, Y = make_responses(30, 6, 3, seed=17)
    one = pls2_path(X, Y, scale_response=True)
    other = pls2_path(X, Y * [1.0, 1e3, 1e-2] + 7.0, scale_response=True)
    assert other.select().index == one.select().index
    np.testing.assert_allclose(other.dof, one.dof, rtol=1e-8)


def test_the_choice_is_near_the_best_number_of_components():
    rng = np.random.default_rng(19)
    latent = rng.normal(size=(300, 3))
    X = latent @ rng.normal(size=(3, 20)) + 0.3 * rng.normal(size=(300, 20))
    Y = latent @ rng.normal(size=(3, 4)) + 0.5 * rng.normal(size=(300, 4))
    path = pls2_path(X[:60], Y[:60], 10)
    errors = np.mean((path.predict(X[60:]) - Y[60:]) ** 2, axis=(1, 2))
    assert errors[path.select().index] < 1.05 * errors.min()


@pytest.mark.slow
def test_the_penalty_is_unbiased():
    X, Y = make_responses(30, 6, 3, seed=20)
    mean = X @ np.linalg.lstsq(X, Y, rcond=None)[0] / 3
    rng = np.random.default_rng(0)
    differences = []
    for _ in range(1500):
        E = rng.normal(size=Y.shape)
        path = pls2_path(X, mean + E, 3)
        differences.append(np.einsum("mij,ij->m", path.fitted - mean, E) - path.dof)
    std_error = np.std(differences, axis=0) / np.sqrt(len(differences))
    assert np.all(np.abs(np.mean(differences, axis=0)) < 3.5 * std_error)


def test_scores_are_those_of_scikit_learn():
    X, Y = make_responses(25, 6, 3, seed=21)
    path = pls2_path(X, Y, 4)
    book = PLSRegression(4, scale=False, tol=1e-15, max_iter=5000).fit(scaled(X), Y)
    signs = np.sign(np.sum(book.x_scores_ * path.x_scores, axis=0))
    np.testing.assert_allclose(path.x_scores * signs, book.x_scores_, atol=1e-5)
    new = (X[:5] + 1.0 - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    np.testing.assert_allclose(path.transform(X[:5] + 1.0) * signs, book.transform(new), atol=1e-5)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_new_rows_have_the_scores_that_training_rows_have(algorithm):
    X, Y = make_responses(20, 5, 2, seed=22)
    weights = np.random.default_rng(0).integers(1, 4, 20)
    path = pls2_path(X, Y, 3, algorithm=algorithm, sample_weight=weights)
    np.testing.assert_allclose(path.transform(X), path.x_scores, atol=1e-9)
    gram = path.x_scores.T @ (weights[:, None] * path.x_scores)
    np.testing.assert_allclose(gram, np.diag(np.diag(gram)), atol=1e-9)


def test_a_model_is_asked_for_by_its_row():
    with pytest.raises(InvalidInputError, match="row of a model"):
        pls2_path(*make_responses(12, 4, 2))["2"]


def test_a_path_is_a_sequence_of_models():
    path = pls2_path(*make_responses(12, 4, 2))
    assert [model.index for model in path] == [0, 1, 2, 3, 4]
    assert path[-1].index == 4
    for m in (9, -6):
        with pytest.raises(IndexError):
            path[m]


def test_fits_and_choices_count_nothing():
    X, Y = make_responses(40, 5, 2, seed=23)
    path = pls2_path(X, Y)
    chosen = path[path.select().index]
    prediction_interval(chosen.responses[0], X)
    assert path.coef.shape == (6, 5, 2)
    assert not path.is_counted
    assert chosen.dof > 2
    assert path.is_counted


def test_the_recipe_fits_the_same_again():
    X, Y = make_responses(20, 5, 2, seed=24)
    path = pls2_path(X, Y, 3, algorithm="simpls", scale=False, scale_response=True)
    assert path.recipe.method.name == "pls2"
    np.testing.assert_array_equal(path.recipe.fit(X, Y).coef, path.coef)


def test_the_path_ends_where_rounding_begins():
    # Spectra of four substances; beyond these X is noise close to rounding.
    rng = np.random.default_rng(4)
    grid, C = np.linspace(0, 1, 60), rng.dirichlet(np.ones(4), 30)
    bands = np.exp(-(((grid - rng.uniform(size=(4, 1))) / 0.15) ** 2))
    X = C @ bands + 1e-10 * rng.normal(size=(30, 60))
    Y = C[:, :2] + 0.01 * rng.normal(size=(30, 2))
    with pytest.warns(RankExhaustedWarning):
        path = pls2_path(X, Y, 10, scale=False)
    assert 3 <= len(path) < 10
    assert np.all(path.dof_error < 1e-6 * path.dof)
    # One response ends there, too.
    with pytest.warns(RankExhaustedWarning):
        assert len(pls_path(X, Y[:, 0], 10, scale=False).dof) == len(path)


def test_uncertain_degrees_of_freedom_are_not_given(monkeypatch):
    X, Y = make_responses(20, 5, 2, seed=25, decay=6.0)
    relative = pls2_path(X, Y).dof_error / pls2_path(X, Y).naive_dof
    path = pls2_path(X, Y)
    monkeypatch.setattr(joint_derivative, "SUPPORTED_ERROR", 2.0 * float(relative[0]))
    missing = np.isnan(path.dof)
    assert missing.any()
    np.testing.assert_array_equal(np.isinf(path.dof_error), missing)
    assert not missing[0]


def test_predictors_that_do_not_vary_leave_the_empty_model():
    _, Y = make_responses(12, 4, 2, seed=7)
    with pytest.warns(PlsdofWarning):
        path = pls2_path(np.ones((12, 4)), Y)
    np.testing.assert_array_equal(path.dof, [2.0])
    np.testing.assert_allclose(path.predict(np.ones((3, 4)))[0], np.tile(Y.mean(axis=0), (3, 1)))


def test_a_direction_that_one_response_does_not_have_is_fitted_for_the_other():
    # The columns of X are its singular vectors: coordinates of the responses are exactly zero.
    X = np.array([[1.0, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]]) * [3.0, 2.0, 1.0]
    Y = X @ [[1.0, 0.5], [0.0, 1.0], [0.5, 0.0]]
    path = pls2_path(X, Y, scale=False)
    for m in (1, 2, 3):
        np.testing.assert_allclose(path.fitted[m], nipals(X, Y, m), atol=1e-9)
        expected = traces(lambda V, m=m: nipals(X, V, m), Y)
        np.testing.assert_allclose(path.dof_by_response[m], expected, atol=1e-5)
