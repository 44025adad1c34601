"""Several responses: shared decompositions, and PLS2 with its derivative."""

from dataclasses import FrozenInstanceError

import numpy as np
import pandas as pd
import pytest
from conftest import make_problem
from sklearn.cross_decomposition import PLSRegression

from plsdof import joint_derivative, multiresponse, pls_path
from plsdof.errors import InvalidInputError, RankExhaustedError, RankExhaustedWarning
from plsdof.multiresponse import pls2_path, pls_paths

STEP = 1e-5


def make_responses(n, p, q, seed=0, decay=0.3):
    rng = np.random.default_rng(seed)
    X, _ = make_problem(n, p, seed=seed, decay=decay)
    return X, X @ rng.normal(size=(p, q)) * np.arange(1, q + 1) + rng.normal(size=(n, q)) + 5.0


def nipals(X, Y, m):
    """Fit of PLS2 with deflation of X and Y by the scores, in original coordinates."""
    left, residual = X - X.mean(axis=0), Y - Y.mean(axis=0)
    for _ in range(m):
        w = np.linalg.svd(left.T @ residual)[0][:, 0]
        t = left @ w
        t /= np.linalg.norm(t)
        left, residual = left - np.outer(t, t @ left), residual - np.outer(t, t @ residual)
    return Y - residual


def simpls(X, Y, m):
    """Fit of de Jong's SIMPLS: deflation of X'Y by the loadings."""
    centred, response = X - X.mean(axis=0), Y - Y.mean(axis=0)
    cross, V, fitted = centred.T @ response, [], np.zeros_like(Y) + Y.mean(axis=0)
    for _ in range(m):
        r = np.linalg.svd(cross)[0][:, 0]
        t = centred @ r
        t /= np.linalg.norm(t)
        v = centred.T @ t
        for other in V:
            v -= other * (other @ v)
        v /= np.linalg.norm(v)
        V.append(v)
        cross = cross - np.outer(v, v @ cross)
        fitted += np.outer(t, t @ response)
    return fitted


ALGORITHMS = {"nipals": nipals, "simpls": simpls}


def traces(fit, Y):
    """Sums of d yhat_ij / d y_ij over i by central differences, one per response."""
    total = np.zeros(Y.shape[1])
    for i, j in np.ndindex(Y.shape):
        step = np.zeros_like(Y)
        step[i, j] = STEP
        total[j] += (fit(Y + step) - fit(Y - step))[i, j] / (2 * STEP)
    return total


def scaled(X):
    return (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("solver", ["auto", "svd", "gram"])
def test_columns_equal_single_paths_and_share_one_decomposition(weighted, solver):
    X, Y = make_responses(20, 5, 3)
    weights = np.array([0.0, 1.0, 2.0, 3.5] * 5) if weighted else None
    paths = pls_paths(X, Y, sample_weight=weights, solver=solver)
    assert len(paths) == 3
    for j, path in enumerate(paths):
        single = pls_path(X, Y[:, j], sample_weight=weights, solver=solver)
        np.testing.assert_allclose(path.dof, single.dof, rtol=1e-10)
        np.testing.assert_allclose(path.coef, single.coef, rtol=1e-8, atol=1e-9)
        np.testing.assert_allclose(path.intercept, single.intercept, rtol=1e-8)
        assert path.decomposition is paths[0].decomposition


def test_x_is_decomposed_once_for_many_responses(monkeypatch):
    calls = []

    def counted(data, solver):
        calls.append(solver)
        return decompose(data, solver)

    decompose = multiresponse.decompose
    monkeypatch.setattr(multiresponse, "decompose", counted)
    X, Y = make_responses(30, 5, 40)
    assert len(pls_paths(X, Y)) == 40
    assert calls == ["gram"]


def test_one_response_that_needs_the_svd_takes_all_of_them_there():
    X, Y = make_responses(30, 8, 2, decay=0.0)
    hard, _ = make_responses(30, 8, 2, decay=6.0)
    assert {path.solver for path in pls_paths(X, Y)} == {"gram"}
    # The first response lives on the leading direction and would be content with "gram".
    leading = np.linalg.svd(scaled(hard))[0][:, 0]
    easy = pls_paths(hard, leading, 1)
    assert [path.solver for path in easy] == ["gram"]
    both = np.column_stack([leading, Y[:, 0]])
    with pytest.warns(RankExhaustedWarning):
        assert {path.solver for path in pls_paths(hard, both, 8)} == {"svd"}


def test_names_of_responses_are_kept():
    X, Y = make_responses(20, 4, 2)
    paths = pls_paths(X, pd.DataFrame(Y, columns=["fat", "water"]), 2)
    assert paths.names == ("fat", "water")
    assert paths["water"] is paths[1]
    assert "'fat', 'water'" in repr(paths)
    with pytest.raises(KeyError, match="'sugar' is no response; there are 'fat', 'water'"):
        paths["sugar"]
    assert pls_paths(X, Y, 2).names == ("0", "1")
    assert pls_paths(X, Y[:, 0], 2).names == ("0",)


def test_every_response_reports_that_it_ends_early():
    X, Y = make_responses(20, 4, 2)
    with pytest.warns(RankExhaustedWarning, match="9 components asked for, 4 supported"):
        pls_paths(X, Y, 9)
    with pytest.raises(RankExhaustedError, match="4 supported"):
        pls_paths(X, Y, 9, strict=True)


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
    np.testing.assert_allclose(path.noise_variance()[:, 0], single.noise_variance("dof"), rtol=1e-6)


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
    with pytest.raises(InvalidInputError, match="other columns than the training data"):
        path.predict(frame[list("abdc")])


def test_results_cannot_be_changed():
    X, Y = make_responses(12, 4, 2, seed=7)
    path = pls2_path(X, Y, 2)
    with pytest.raises(FrozenInstanceError, match="algorithm"):
        path.algorithm = "simpls"
    for array in (path.dof, path.coef, path.intercept, path.fitted, path.rss, path.dof_error):
        assert not array.flags.writeable


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_blocks_of_directions_change_nothing(monkeypatch, algorithm):
    X, Y = make_responses(12, 4, 3, seed=8)
    whole = pls2_path(X, Y, algorithm=algorithm, scale_response=True)
    monkeypatch.setattr(joint_derivative, "_BLOCK_ENTRIES", 200)
    blocks = pls2_path(X, Y, algorithm=algorithm, scale_response=True)
    np.testing.assert_allclose(blocks.dof_by_response, whole.dof_by_response, rtol=1e-12)


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
        path = pls2_path(X, X[:, :2], 2)
    assert len(path.dof) == 1


def test_the_path_ends_with_the_covariance_or_the_rank():
    X, Y = make_responses(12, 4, 2, seed=11)
    with pytest.warns(
        RankExhaustedWarning, match="6 components asked for, 4 supported: X has rank"
    ):
        assert len(pls2_path(X, Y, 6).dof) == 5
    with pytest.raises(RankExhaustedError, match="4 supported"):
        pls2_path(X, Y, 6, strict=True)
    with pytest.warns(RankExhaustedWarning, match="no covariance with X left"):
        assert len(pls2_path(X, np.ones((12, 2)), scale_response=True).dof) == 1
    assert pls2_path(X, Y, 4).message == ""


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"algorithm": "svd"}, "algorithm must be one of 'nipals', 'simpls'"),
        ({"Y": np.ones((5, 2))}, "y has 5 entries but X has 12 rows"),
        ({"Y": np.full((12, 2), np.nan)}, "Y contains 24 value"),
        ({"Y": np.ones((12, 2, 2))}, "Y must be a table of two dimensions"),
        ({"max_components": -1}, "max_components must be >= 0"),
    ],
)
def test_unusable_input_is_refused(change, message):
    X, Y = make_responses(12, 4, 2)
    with pytest.raises(InvalidInputError, match=message):
        pls2_path(**{"X": X, "Y": Y, **change})
