"""Paths: agreement with independent fits, invariances, edge cases."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from _helpers.oracle import exact_dof
from _helpers.problems import counted, make_problem
from sklearn.cross_decomposition import PLSRegression
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression, Ridge

from plsdof import pcr_path, pls_path, ridge_path
from plsdof.errors import (
    ConstantColumnWarning,
    InvalidInputError,
    RankExhaustedWarning,
)
from plsdof.large import Moments

SOLVERS = ("svd", "gram", "auto")
SHAPES = [(30, 6), (10, 40), (8, 8), (200, 5), (5, 300)]


@pytest.mark.parametrize(("n", "p"), SHAPES)
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("scale", [True, False])
def test_fit_equals_scikit_learn(n, p, solver, scale):
    X, y = make_problem(n, p, seed=n * p)
    path = pls_path(X, y, 3, solver=solver, scale=scale)
    for m in range(1, 4):
        other = PLSRegression(n_components=m, scale=scale).fit(X, y)
        np.testing.assert_allclose(path.coef[m], other.coef_.ravel(), rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(path.fitted[m], other.predict(X).ravel(), rtol=1e-8)
        np.testing.assert_allclose(path.predict(X)[m], path.fitted[m], rtol=1e-8)
        assert path.rss[m] == pytest.approx(np.sum((y - path.fitted[m]) ** 2), rel=1e-7)


@pytest.mark.parametrize("solver", SOLVERS)
def test_scores_weights_loadings_rotations_equal_scikit_learn_up_to_sign(solver):
    X, y = make_problem(25, 10, seed=1)
    path = pls_path(X, y, 4, solver=solver)
    other = PLSRegression(n_components=4).fit(X, y)
    signs = np.sign(np.sum(path.x_weights * other.x_weights_, axis=0))
    for ours, theirs in [
        (path.x_weights, other.x_weights_),
        (path.x_scores, other.x_scores_),
        (path.x_loadings, other.x_loadings_),
        (path.x_rotations, other.x_rotations_),
        (path.transform(X), other.transform(X)),
        # scikit-learn leaves y in its own units but flips the sign with the component
        (path.y_loadings[None], other.y_loadings_ * other._y_std),
    ]:
        np.testing.assert_allclose(ours * signs, theirs, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize(("n", "p"), [(30, 6), (10, 40), (8, 8)])
def test_last_component_is_least_squares_with_rank_plus_one_dof(n, p):
    X, y = make_problem(n, p, seed=2)
    path = pls_path(X, y)
    rank = min(n - 1, p)
    assert path.n_components[-1] == rank
    assert path.dof[-1] == pytest.approx(rank + 1, abs=1e-9)
    np.testing.assert_allclose(
        path.fitted[-1], LinearRegression().fit(X, y).predict(X), rtol=1e-7, atol=1e-9
    )


def test_empty_model_is_the_mean():
    X, y = make_problem(12, 3)
    path = pls_path(X, y)
    assert path.dof[0] == 1
    assert np.all(path.coef[0] == 0)
    assert path.intercept[0] == pytest.approx(y.mean())
    assert path.rss[0] == pytest.approx(np.sum((y - y.mean()) ** 2))


def test_directions_that_y_does_not_excite_are_found_in_data():
    rng = np.random.default_rng(0)
    for trial in range(40):
        U, _ = np.linalg.qr(np.column_stack([np.ones(30), rng.normal(size=(30, 6))]))
        V, _ = np.linalg.qr(rng.normal(size=(6, 6)))
        S = np.sort(10 ** rng.uniform(-3, 0, 6))[::-1]
        if trial % 2:
            S[2] = S[1]
        z = rng.normal(size=6)
        z[rng.integers(0, 6, 2)] = 0.0
        path = pls_path((U[:, 1:] * S) @ V.T, U[:, 1:] @ z, scale=False, solver="svd")
        assert len(path.dof) - 1 <= len(np.unique(S[z != 0]))
        expected = exact_dof(S**2, z, len(path.dof) - 1)
        error = np.abs(path.dof - expected)
        assert np.all(error <= path.dof_error + 1e-6 * np.maximum(1, np.abs(expected)))


@pytest.mark.parametrize(("n", "p"), SHAPES)
def test_solvers_agree_within_their_own_error_estimates(n, p):
    X, y = make_problem(n, p, seed=n + p, decay=3)
    paths = [pls_path(X, y, 4, solver=s) for s in ("svd", "gram")]
    difference = np.abs(paths[0].dof - paths[1].dof)
    assert np.all(difference <= paths[0].dof_error + paths[1].dof_error)


def test_auto_falls_back_to_svd_when_the_gram_matrix_is_not_accurate():
    X, y = make_problem(40, 60, seed=3, decay=6)
    assert pls_path(X, y, 1, solver="auto").exact.decomposition.solver == "gram"
    path = pls_path(X, y, 30, solver="auto")
    assert path.exact.decomposition.solver == "svd"
    gram = pls_path(X, y, 20, solver="gram")
    assert max(gram.dof_error.max(), gram.coef_error.max()) > 1e-10
    assert path.dof_error.max() < gram.dof_error.max()


def test_gram_stops_where_it_cannot_support_the_result():
    X, y = make_problem(40, 60, seed=3, decay=12)
    with pytest.warns(RankExhaustedWarning, match="rounding"):
        path = counted(pls_path(X, y, 30, solver="gram"))
    full = pls_path(X, y, path.n_components[-1], solver="svd")
    np.testing.assert_allclose(path.dof, full.dof, rtol=1e-6)


@pytest.mark.parametrize("solver", SOLVERS)
def test_more_components_than_rank_gives_the_supported_path_and_one_warning(solver):
    X, y = make_problem(20, 3)
    X = np.column_stack([X, X[:, 0]])
    with pytest.warns(RankExhaustedWarning, match="10 components asked for, at most 4") as record:
        path = counted(pls_path(X, y, 10, solver=solver))
    assert len(record) == 1
    assert path.n_components[-1] == 3
    assert path.dof[-1] == pytest.approx(4, abs=1e-9)


def test_orthogonal_design_has_one_component():
    X = np.array([[1.0, 1], [1, -1], [-1, 1], [-1, -1]])
    with pytest.warns(RankExhaustedWarning, match="1 distinct eigenvalue"):
        path = counted(pls_path(X, np.array([1.0, 2.0, 3.0, 5.0]), 2))
    np.testing.assert_allclose(path.dof, [1, 3], atol=1e-12)


def test_pcr_equals_regression_on_principal_components():
    X, y = make_problem(30, 6, seed=4)
    Z = (X - X.mean(0)) / X.std(0, ddof=1)
    path = pcr_path(X, y)
    for m in range(1, 7):
        scores = PCA(m).fit_transform(Z)
        fitted = LinearRegression().fit(scores, y).predict(scores)
        np.testing.assert_allclose(path.fitted[m], fitted, rtol=1e-8)
    np.testing.assert_allclose(path.dof, np.arange(7) + 1)


def test_pcr_ordered_by_correlation_is_honest_about_its_dof():
    X, y = make_problem(30, 6, seed=4)
    path = pcr_path(X, y, order="correlation")
    assert np.all(np.diff(path.rss) <= 1e-9)
    gains = -np.diff(path.rss)
    assert np.all(np.diff(gains) <= 1e-9), "the most correlated component comes first"
    assert np.isnan(path.dof[1:-1]).all()
    assert path.dof[-1] == 7
    assert np.isnan(path.criterion("bic")[1:-1]).all()
    np.testing.assert_allclose(path.fitted[-1], pcr_path(X, y).fitted[-1], rtol=1e-9)


def test_ridge_equals_scikit_learn():
    X, y = make_problem(30, 6, seed=5)
    Z = (X - X.mean(0)) / X.std(0, ddof=1)
    alphas = np.array([3.0, 100.0, 0.01])
    path = ridge_path(X, y, alphas)
    lam = np.linalg.eigvalsh(Z.T @ Z)
    for k, alpha in enumerate(alphas):
        np.testing.assert_allclose(
            path.fitted[k], Ridge(alpha=alpha).fit(Z, y).predict(Z), rtol=1e-8
        )
        assert path.dof[k] == pytest.approx(1 + np.sum(lam / (lam + alpha)), rel=1e-10)


def test_ridge_selection_walks_from_the_simplest_model():
    X, y = make_problem(40, 5, seed=6)
    alphas = np.logspace(-4, 6, 30)
    up, down = (ridge_path(X, y, a).select("bic") for a in (alphas, alphas[::-1]))
    assert up.parameter == down.parameter
    with pytest.raises(AttributeError, match="not a number of components"):
        _ = ridge_path(X, y, [0.123]).select("bic").n_components


# --- invariances ---------------------------------------------------------------------------


def test_dof_is_invariant_under_units_order_and_rotation():
    X, y = make_problem(20, 5, seed=7)
    base = pls_path(X, y)
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(20), rng.permutation(5)
    units = 10.0 ** rng.integers(-3, 4, 5)
    rotation, _ = np.linalg.qr(rng.normal(size=(5, 5)))
    unscaled = pls_path(X, y, scale=False)
    for path, expected in [
        (pls_path(X, 1000 * y - 5), base),
        (pls_path(X[rows], y[rows]), base),
        (pls_path(X[:, columns], y), base),
        (pls_path(X * units + 3, y), base),
        (pls_path(X @ rotation, y, scale=False), unscaled),
        (pls_path(7 * X, y, scale=False), unscaled),
    ]:
        np.testing.assert_allclose(path.dof, expected.dof, rtol=1e-9)


def test_duplicated_columns_share_the_coefficient():
    X, y = make_problem(20, 4, seed=8)
    doubled = np.hstack([X, X])
    path, base = pls_path(doubled, y), pls_path(X, y)
    np.testing.assert_allclose(path.dof, base.dof, rtol=1e-8)
    np.testing.assert_allclose(path.coef[:, :4], base.coef / 2, rtol=1e-6, atol=1e-12)


def test_integer_weights_equal_repeated_rows():
    X, y = make_problem(15, 4, seed=9)
    weights = np.random.default_rng(1).integers(0, 4, 15)
    repeated = np.repeat(np.arange(15), weights)
    for make in (pls_path, pcr_path, lambda *a, **k: ridge_path(*a, alphas=[1.0, 2.0], **k)):
        weighted, expanded = make(X, y, sample_weight=weights), make(X[repeated], y[repeated])
        for name in ("dof", "rss", "coef", "intercept"):
            np.testing.assert_allclose(
                getattr(weighted, name), getattr(expanded, name), rtol=1e-8, atol=1e-10
            )
        np.testing.assert_allclose(
            weighted.noise_variance("jacobian"), expanded.noise_variance("jacobian"), rtol=1e-8
        )
        np.testing.assert_allclose(weighted.criterion("bic"), expanded.criterion("bic"), rtol=1e-8)


# --- kinds of input ------------------------------------------------------------------------


def test_dtype_order_and_writability_do_not_matter():
    rng = np.random.default_rng(2)
    X = rng.integers(-50, 50, (20, 4))
    y = rng.integers(-9, 9, 20)
    base = pls_path(X.astype(float), y.astype(float))
    frozen = X.astype(float)
    frozen.flags.writeable = False
    for variant in (X, X.astype(np.float32), np.asfortranarray(X, dtype=float), frozen, X.tolist()):
        path = pls_path(variant, y)
        np.testing.assert_allclose(path.dof, base.dof, rtol=1e-12)
        assert path.coef.dtype == np.float64


def test_input_is_never_changed():
    X, y = make_problem(10, 3)
    before = X.copy(), y.copy()
    pls_path(X, y, sample_weight=np.arange(10))
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(y, before[1])


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_give_names_and_check_them(frame):
    X, y = make_problem(10, 3)
    table = frame(dict(zip("abc", X.T, strict=True)))
    path = pls_path(table, y)
    assert path.feature_names == ("a", "b", "c")
    np.testing.assert_allclose(path.predict(table), path.predict(X))
    np.testing.assert_array_equal(path.predict(table[["c", "b", "a"]]), path.predict(table))
    with pytest.raises(InvalidInputError):
        path.predict(table[["a", "b"]])


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("exponent", [60, 150])
@pytest.mark.parametrize("shape", [(20, 4), (20, 60), (200, 4)])
def test_extreme_units_of_columns_do_not_matter(shape, exponent, solver):
    X, y = make_problem(*shape, seed=10)
    units = 10.0 ** np.linspace(-exponent, exponent, shape[1]).round()
    path, base = (pls_path(table, y, 3, solver=solver) for table in (X * units, X))
    np.testing.assert_allclose(path.dof, base.dof, rtol=1e-10)
    np.testing.assert_allclose(path.coef * units, base.coef, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(path.predict(X * units), base.predict(X), rtol=1e-8)
    std_error = path.coef_std_error(2) * units
    np.testing.assert_allclose(std_error, base.coef_std_error(2), rtol=1e-8)
    for cv in (5, "loo"):
        left, expected = path.left_out(cv), base.left_out(cv)
        np.testing.assert_allclose(left.residuals, expected.residuals, atol=1e-9)
        np.testing.assert_allclose(left.leverage, expected.leverage, atol=1e-9)
    halves = path[2].predictor.half_widths(X * units)
    np.testing.assert_allclose(halves, base[2].predictor.half_widths(X), rtol=1e-8)


def test_extreme_units_of_columns_do_not_matter_in_blocks():
    X, y = make_problem(60, 4, seed=10)
    units = 10.0 ** np.array([-150.0, -60.0, 60.0, 150.0])
    moments = Moments.of(X[:25] * units, y[:25]).partial_fit(X[25:] * units, y[25:])
    np.testing.assert_allclose(pls_path(moments).dof, pls_path(X, y).dof, rtol=1e-8)


def test_extreme_magnitudes_that_cannot_work_are_refused():
    X, y = make_problem(20, 4)
    for factor in (1e80, 1e-80):
        with pytest.raises(InvalidInputError, match="change the unit"):
            pls_path(X * factor, y, scale=False)
        with pytest.raises(InvalidInputError, match="change the unit"):
            pls_path(X * factor**2, y)
        with pytest.raises(InvalidInputError, match=r"change the unit \(multiply y"):
            pls_path(X, y * factor)


def test_large_offset_keeps_the_accuracy_the_data_have():
    X, y = make_problem(30, 4, seed=11)
    shifted = pls_path(X + 1e6, y + 1e6)
    np.testing.assert_allclose(shifted.dof, pls_path(X, y).dof, rtol=1e-7)


def test_constant_columns_are_kept_with_zero_coefficient_and_named():
    X, y = make_problem(12, 3)
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    table.insert(1, "flat", 0.1)
    with pytest.warns(ConstantColumnWarning, match="do not vary: 'flat'") as record:
        path = pls_path(table, y)
    assert len(record) == 1
    assert np.all(path.coef[:, 1] == 0)
    np.testing.assert_allclose(path.dof, pls_path(X, y).dof, rtol=1e-10)


def test_constant_response_leaves_the_mean_only():
    X, _ = make_problem(10, 3)
    with pytest.warns(RankExhaustedWarning):
        path = counted(pls_path(X, np.full(10, 0.1)))
    assert path.dof.tolist() == [1.0]
    assert path.predict(X)[0] == pytest.approx(0.1)
    assert path.rss[0] == 0


@pytest.mark.filterwarnings("ignore::plsdof.errors.ConstantColumnWarning")
def test_all_columns_constant_leaves_the_mean_only():
    with pytest.warns(RankExhaustedWarning):
        path = counted(pls_path(np.ones((5, 2)), np.arange(5.0)))
    assert path.dof.tolist() == [1.0]
    assert path.coef.shape == (1, 2)


def test_smallest_problems():
    path = pls_path([[1.0], [3.0]], [1.0, 2.0])
    np.testing.assert_allclose(path.dof, [1, 2])
    np.testing.assert_allclose(path.coef[1], [0.5])
    one = pls_path(np.arange(5.0)[:, None], [1.0, 2, 2, 3, 7])
    np.testing.assert_allclose(one.dof, [1, 2])
    wide = pls_path([[1.0, 2, 3], [4, 5, 7]], [1.0, 2.0])
    np.testing.assert_allclose(wide.dof, [1, 2])


def test_saturated_model_has_no_noise_level():
    X, y = make_problem(6, 10)
    path = pls_path(X, y)
    assert np.isnan(path.noise_variance("jacobian")[-1])
    assert np.isnan(path.noise_variance("naive")[-1])
    assert np.isnan(path.criterion("bic")[-1])
    assert path.select("bic").index < len(path.dof) - 1


def test_index_out_of_range_says_what_is_there():
    X, y = make_problem(10, 3)
    with pytest.raises(InvalidInputError):
        pls_path(X, y).jacobian(4)
    with pytest.raises(InvalidInputError):
        pls_path(X, y).jacobian(1.0)


def test_results_are_frozen_and_survive_pickling():
    X, y = make_problem(10, 3)
    path = pls_path(X, y)
    with pytest.raises(ValueError, match="read-only"):
        path.coef[0, 0] = 1.0
    with pytest.raises(AttributeError):
        path.exact.spectrum = None
    clone = pickle.loads(pickle.dumps(path))
    np.testing.assert_array_equal(clone.coef, path.coef)
    assert repr(path).startswith("PLSPath(4 models, n=10, p=3, rank=3")


def test_no_large_square_matrix_is_formed_on_wide_data():
    import tracemalloc

    X, y = make_problem(20, 4000, seed=12)
    tracemalloc.start()
    path = pls_path(X, y, 5, solver="svd")
    path.coef_std_error(3, noise="jacobian")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * X.nbytes  # p x p would be 200 times X


def test_default_penalties_are_the_same_wherever_the_data_are():
    X, y = make_problem(40, 3)
    names = ["a", "b", "c"]
    frame = pd.DataFrame(X, columns=names).assign(resp=y)
    dataframe = pytest.importorskip("dask.dataframe", reason="dask is not installed")
    distributed = dataframe.from_pandas(frame, npartitions=2)
    alphas = ridge_path(distributed, "resp").alphas
    np.testing.assert_allclose(alphas, ridge_path(X, y).alphas, rtol=1e-12)
    with pytest.raises(InvalidInputError):
        ridge_path(X, None)


@pytest.mark.parametrize(("n", "p"), [(30, 5), (10, 25)])
def test_ridge_without_a_penalty_is_least_squares(n, p):
    X, y = make_problem(n, p, seed=8)
    path = ridge_path(X, y, [1.0, 0.0])
    centred = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    expected = np.linalg.lstsq(centred, y - y.mean(), rcond=None)[0] / X.std(axis=0, ddof=1)
    np.testing.assert_allclose(path.coef[1], expected, rtol=1e-7, atol=1e-10)
    assert path.dof[1] == pytest.approx(1 + min(n - 1, p))
    assert path.dof_error[1] < 1e-8
    with pytest.raises(InvalidInputError):
        ridge_path(X, y, [-1.0])


@pytest.mark.parametrize("m", [-1, 5, 10**69])
@pytest.mark.parametrize("name", ["jacobian", "leverage", "coef_covariance", "coef_std_error"])
def test_methods_refuse_models_that_the_path_does_not_have(name, m):
    path = pls_path(*make_problem(20, 4, seed=0))
    with pytest.raises(InvalidInputError):
        getattr(path, name)(m)
