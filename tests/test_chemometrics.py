"""Chemometric diagnostics against dense textbook formulas, identities and simulation."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.cross_decomposition import PLSRegression

from plsdof import chemometrics, pcr_path, pls_path
from plsdof.errors import ConstantColumnWarning, InvalidInputError, NotAvailableError

METHODS = chemometrics.Q_LIMITS


def latent_data(n, p, seed, *, noise=0.5, rank=3):
    rng = np.random.default_rng(seed)
    T = rng.normal(size=(n, rank)) * [1.5, 1.0, 0.7][:rank]
    X = 3.0 + T @ rng.normal(size=(rank, p)) + noise * rng.normal(size=(n, p))
    return X, T.sum(axis=1) + noise * rng.normal(size=n)


DATA = {
    "tall": latent_data(40, 6, 0, noise=1.0),
    "collinear": latent_data(60, 12, 1, noise=0.05),
    "wide": latent_data(20, 50, 2),
}


@pytest.fixture(
    params=[(name, solver) for name in DATA for solver in ("svd", "gram")], ids="-".join
)
def problem(request):
    name, solver = request.param
    X, y = DATA[name]
    return X, y, pls_path(X, y, 5, solver=solver)


@dataclasses.dataclass
class Textbook:
    """Scores, weights and loadings of scikit-learn, on dense standardised data."""

    X: np.ndarray
    y: np.ndarray
    m: int

    def __post_init__(self):
        self.model = PLSRegression(self.m).fit(self.X, self.y)
        self.mean, self.std = self.X.mean(axis=0), self.X.std(axis=0, ddof=1)
        self.Z = (self.X - self.mean) / self.std
        self.T, self.P = self.model.x_scores_, self.model.x_loadings_
        self.W, self.q = self.model.x_weights_, self.model.y_loadings_[0]
        self.E = self.Z - self.T @ self.P.T


def new_rows(X, seed=9, n=7):
    rng = np.random.default_rng(seed)
    return X.mean(axis=0) + 2.0 * rng.normal(size=(n, X.shape[1]))


def test_explained_variance_agrees_with_rank_one_terms_of_scikit_learn(problem):
    X, y, path = problem
    book = Textbook(X, y, 5)
    y_standard = (y - y.mean()) / y.std(ddof=1)
    x, r2 = [], []
    for j in range(5):
        x.append(np.sum(np.outer(book.T[:, j], book.P[:, j]) ** 2) / np.sum(book.Z**2))
        r2.append(np.sum((book.T[:, j] * book.q[j]) ** 2) / np.sum(y_standard**2))
    result = chemometrics.explained_variance(path)
    np.testing.assert_allclose(result.x, x, rtol=1e-8)
    np.testing.assert_allclose(result.y, r2, rtol=1e-8)
    np.testing.assert_allclose(result.x_cumulative[2], sum(x[:3]), rtol=1e-8)
    np.testing.assert_allclose(result.y_cumulative, 1 - path.rss[1:] / path.rss[0], rtol=1e-8)


@pytest.mark.parametrize("m", [1, 3, 5])
def test_vip_agrees_with_its_definition_on_scikit_learn(problem, m):
    X, y, path = problem
    book = Textbook(X, y, m)
    ss = np.array([np.sum((book.T[:, j] * book.q[j]) ** 2) for j in range(m)])
    expected = [
        np.sqrt(X.shape[1] * sum(ss[j] * book.W[k, j] ** 2 for j in range(m)) / ss.sum())
        for k in range(X.shape[1])
    ]
    np.testing.assert_allclose(chemometrics.vip(path, m), expected, rtol=1e-8)


@pytest.mark.parametrize("m", [1, 3, 5])
def test_selectivity_ratio_agrees_with_target_projection_of_scikit_learn(problem, m):
    X, y, path = problem
    book = Textbook(X, y, m)
    b = book.model.coef_[0] * book.std
    t = book.Z @ b / np.linalg.norm(b)
    projected = np.outer(t, book.Z.T @ t / (t @ t))
    expected = projected.var(axis=0) / (book.Z - projected).var(axis=0)
    np.testing.assert_allclose(chemometrics.selectivity_ratio(path, m), expected, rtol=1e-7)


@pytest.mark.parametrize("m", [1, 3, 5])
def test_t2_is_the_mahalanobis_distance_of_scikit_learns_scores(problem, m):
    X, y, path = problem
    book = Textbook(X, y, m)
    precision = np.linalg.inv(np.atleast_2d(np.cov(book.T.T)))
    expected = np.einsum("ij,jk,ik->i", book.T, precision, book.T)
    np.testing.assert_allclose(chemometrics.hotelling_t2(path, m).values, expected, rtol=1e-7)
    other = new_rows(X)
    t = book.model.transform(other)
    expected = np.einsum("ij,jk,ik->i", t, precision, t)
    np.testing.assert_allclose(
        chemometrics.hotelling_t2(path, m, other).values, expected, rtol=1e-6
    )


@pytest.mark.parametrize("m", [1, 3, 5])
def test_q_is_the_squared_residual_of_scikit_learns_reconstruction(problem, m):
    X, y, path = problem
    book = Textbook(X, y, m)
    np.testing.assert_allclose(
        chemometrics.q_residuals(path, m).values, np.sum(book.E**2, axis=1), rtol=1e-7
    )
    other = new_rows(X)
    residual = (other - book.mean) / book.std - book.model.transform(other) @ book.P.T
    np.testing.assert_allclose(
        chemometrics.q_residuals(path, m, other).values, np.sum(residual**2, axis=1), rtol=1e-6
    )


@pytest.mark.parametrize("level", [0.95, 0.99])
def test_q_limits_agree_with_textbook_formulas_on_the_dense_residual_covariance(problem, level):
    X, y, path = problem
    E = Textbook(X, y, 2).E
    eigenvalues = np.linalg.eigvalsh(E.T @ E / (len(X) - 1))
    one, two, three = (np.sum(eigenvalues**k) for k in (1, 2, 3))
    h0 = 1 - 2 * one * three / (3 * two**2)
    c = stats.norm.ppf(level)
    power = c * np.sqrt(2 * two * h0**2) * np.sign(h0) / one + 1 + two * h0 * (h0 - 1) / one**2
    expected = {
        "jackson-mudholkar": one * power ** (1 / h0),
        "box": two / one * stats.chi2.ppf(level, one**2 / two),
    }
    q = np.sum(E**2, axis=1)
    g, h = q.var(ddof=1) / (2 * q.mean()), 2 * q.mean() ** 2 / q.var(ddof=1)
    expected["moments"] = g * stats.chi2.ppf(level, h)
    for method, value in expected.items():
        result = chemometrics.q_residuals(path, 2, level=level, limit=method)
        assert result.limit == pytest.approx(value, rel=1e-7)
        np.testing.assert_array_equal(result.flags, q > value)


def test_t2_limits_are_the_beta_and_f_quantiles_of_tracy_young_and_mason():
    X, y = DATA["tall"]
    path = pls_path(X, y, 3)
    n, m = 40, 3
    training = (n - 1) ** 2 / n * stats.beta.ppf(0.99, m / 2, (n - m - 1) / 2)
    new = m * (n + 1) * (n - 1) / (n * (n - m)) * stats.f.ppf(0.99, m, n - m)
    assert chemometrics.hotelling_t2(path, m, level=0.99).limit == pytest.approx(training)
    assert chemometrics.hotelling_t2(path, m, X, level=0.99).limit == pytest.approx(new)


def test_selectivity_ratio_test_flags_what_exceeds_the_f_quantile():
    X, y = DATA["tall"]
    path = pls_path(X, y, 3)
    result = chemometrics.selectivity_ratio_test(path, 2, level=0.9)
    assert result.limit == pytest.approx(stats.f.ppf(0.9, 38, 37))
    ratios = chemometrics.selectivity_ratio(path, 2)
    np.testing.assert_array_equal(result.flags, ratios > result.limit)
    assert 0 < result.flags.sum() < 6


@pytest.mark.parametrize("m", [1, 2, 5])
def test_identities_of_the_training_rows(problem, m):
    X, _, path = problem
    n, p = X.shape
    explained = chemometrics.explained_variance(path)
    assert np.mean(chemometrics.vip(path, m) ** 2) == pytest.approx(1.0)
    assert chemometrics.hotelling_t2(path, m).values.sum() == pytest.approx((n - 1) * m)
    total = (n - 1) * p
    assert chemometrics.q_residuals(path, m).values.sum() == pytest.approx(
        total * (1 - explained.x_cumulative[m - 1]), rel=1e-7
    )


def test_training_rows_given_as_new_rows_have_the_same_values(problem):
    X, _, path = problem
    for function in (chemometrics.hotelling_t2, chemometrics.q_residuals):
        np.testing.assert_allclose(
            function(path, 3, X).values, function(path, 3).values, rtol=1e-6, atol=1e-10
        )


@pytest.mark.parametrize("solver", ["svd", "gram"])
def test_with_as_many_components_as_the_rank_everything_of_x_is_explained(solver):
    X, y = DATA["tall"]
    path = pls_path(X, y, solver=solver)
    explained = chemometrics.explained_variance(path)
    assert explained.x_cumulative[-1] == pytest.approx(1.0)
    for method in METHODS:
        q = chemometrics.q_residuals(path, 6, limit=method)
        np.testing.assert_array_equal(q.values, np.zeros(40))
        assert np.isnan(q.limit)
        assert "reproduce X" in q.message
        assert not q.flags.any()
    assert chemometrics.q_residuals(path, 5).values.min() > 0
    np.testing.assert_allclose(chemometrics.q_residuals(path, 6, X + 1).values, 0, atol=1e-18)


def test_without_scaling_the_sums_refer_to_centred_columns():
    X, y = DATA["tall"]
    path = pls_path(X, y, 2, scale=False)
    centred = X - X.mean(axis=0)
    explained = chemometrics.explained_variance(path).x_cumulative[-1]
    left = chemometrics.q_residuals(path, 2).values.sum()
    assert left == pytest.approx((1 - explained) * np.sum(centred**2))
    b = path.coef[2]
    t = centred @ b
    r2 = (centred.T @ t) ** 2 / (t @ t) / np.sum(centred**2, axis=0)
    np.testing.assert_allclose(chemometrics.selectivity_ratio(path, 2), r2 / (1 - r2))


def by_variable(path, m):
    return chemometrics.vip(path, m), chemometrics.selectivity_ratio(path, m)


def by_row(path, m, X_new=None):
    results = [chemometrics.hotelling_t2(path, m, X_new)]
    results += [chemometrics.q_residuals(path, m, X_new, limit=method) for method in METHODS]
    return [np.append(result.values, result.limit) for result in results]


def test_column_order_permutes_variables_and_leaves_rows_alone(problem):
    X, y, path = problem
    order = np.random.default_rng(3).permutation(X.shape[1])
    shuffled = pls_path(X[:, order], y, 5)
    for after, before in zip(by_variable(shuffled, 3), by_variable(path, 3), strict=True):
        np.testing.assert_allclose(after, before[order], rtol=1e-7)
    for after, before in zip(by_row(shuffled, 3), by_row(path, 3), strict=True):
        np.testing.assert_allclose(after, before, rtol=1e-7)


def test_units_of_columns_do_not_matter_with_scaling(problem):
    X, y, path = problem
    factor = 10.0 ** np.random.default_rng(4).uniform(-3, 3, X.shape[1])
    other = pls_path(X * factor - 7.0, 5.0 * y + 1.0, 5)
    new = new_rows(X)
    for after, before in zip(by_variable(other, 3), by_variable(path, 3), strict=True):
        np.testing.assert_allclose(after, before, rtol=1e-6)
    for after, before in zip(by_row(other, 3), by_row(path, 3), strict=True):
        np.testing.assert_allclose(after, before, rtol=1e-6)
    for after, before in zip(
        by_row(other, 3, new * factor - 7.0), by_row(path, 3, new), strict=True
    ):
        np.testing.assert_allclose(after, before, rtol=1e-6)


def test_integer_weights_mean_repeated_rows():
    X, y = DATA["tall"]
    counts = np.random.default_rng(5).integers(1, 4, len(X))
    rows = np.repeat(np.arange(len(X)), counts)
    weighted = pls_path(X, y, 4, sample_weight=counts)
    repeated = pls_path(X[rows], y[rows], 4)
    for a, b in zip(by_variable(weighted, 3), by_variable(repeated, 3), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-8)
    for a, b in zip(by_row(weighted, 3), by_row(repeated, 3), strict=True):
        np.testing.assert_allclose(np.append(a[rows], a[-1]), b, rtol=1e-8)
    for a, b in zip(by_row(weighted, 3, X[:5]), by_row(repeated, 3, X[:5]), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-8)
    for name in ("x", "y_cumulative"):
        a = getattr(chemometrics.explained_variance(weighted), name)
        b = getattr(chemometrics.explained_variance(repeated), name)
        np.testing.assert_allclose(a, b, rtol=1e-8)


def test_the_empty_model_has_zero_t2_and_the_whole_row_as_residual():
    X, y = DATA["tall"]
    path = pls_path(X, y, 2)
    t2, q = chemometrics.hotelling_t2(path, 0), chemometrics.q_residuals(path, 0)
    np.testing.assert_array_equal(t2.values, np.zeros(40))
    assert np.isnan(t2.limit)
    assert "Without components" in t2.message
    Z = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    np.testing.assert_allclose(q.values, np.sum(Z**2, axis=1))
    assert q.limit > q.values.mean()
    for function in (chemometrics.vip, chemometrics.selectivity_ratio):
        with pytest.raises(NotAvailableError, match="ask for m >= 1"):
            function(path, 0)


@pytest.mark.parametrize("solver", ["svd", "gram"])
def test_selectivity_of_a_variable_that_is_the_target_component_is_infinite(solver):
    x = np.random.default_rng(12).normal(size=30)
    x -= x.mean()
    other = np.random.default_rng(13).normal(size=(30, 2))
    other -= other.mean(axis=0)
    other -= np.outer(x, x @ other) / (x @ x)
    path = pls_path(np.column_stack([other, x, -3 * x]), x + 0.5 * other[:, 0] ** 2, 1)
    target = pls_path(np.column_stack([other, x, -3 * x]), x, 1, solver=solver)
    ratio = chemometrics.selectivity_ratio(target, 1)
    assert np.all(ratio[2:] == np.inf)
    np.testing.assert_allclose(ratio[:2], 0, atol=1e-25)
    assert np.isfinite(chemometrics.selectivity_ratio(path, 1)).all()


def test_single_predictor_is_explained_completely():
    x = np.array([[1.0], [2.0], [4.0], [5.0], [9.0]])
    path = pls_path(x, [1.0, 2.5, 3.0, 6.0, 8.0])
    assert chemometrics.vip(path, 1) == pytest.approx([1.0])
    assert chemometrics.selectivity_ratio(path, 1) == pytest.approx([np.inf])
    assert chemometrics.explained_variance(path).x == pytest.approx([1.0])
    standard = (x[:, 0] - x.mean()) / x.std(ddof=1)
    np.testing.assert_allclose(chemometrics.hotelling_t2(path, 1).values, standard**2)


def test_limits_that_the_sample_size_does_not_support_are_nan_with_a_reason():
    X, y = DATA["wide"]
    path = pls_path(X[:4], y[:4])
    t2 = chemometrics.hotelling_t2(path, 3)
    np.testing.assert_allclose(t2.values, 9 / 4)
    assert np.isnan(t2.limit)
    assert "needs n > 4; n is 4" in t2.message
    assert not t2.flags.any()
    assert np.isfinite(chemometrics.hotelling_t2(path, 3, X[4:]).limit)
    short = pls_path(X[:3], y[:3])
    ratio = chemometrics.selectivity_ratio_test(short, 1)
    assert np.isnan(ratio.limit)
    assert "needs n > 3" in ratio.message
    pair = pls_path([[0.0, 1.0, 3.0], [1.0, 0.0, 5.0]], [0.0, 1.0])
    assert np.isnan(chemometrics.hotelling_t2(pair, 1).limit)
    moments = chemometrics.q_residuals(pair, 0, limit="moments")
    assert np.isnan(moments.limit)
    assert "same in all training rows" in moments.message


def test_constant_columns_have_no_importance_and_no_selectivity():
    X, y = DATA["tall"]
    X = np.column_stack([X, np.full(40, 2.0)])
    with pytest.warns(ConstantColumnWarning):
        path = pls_path(X, y, 2)
    assert chemometrics.vip(path, 2)[-1] == 0
    assert np.mean(chemometrics.vip(path, 2) ** 2) == pytest.approx(1)
    assert np.isnan(chemometrics.selectivity_ratio(path, 2)[-1])
    assert not chemometrics.selectivity_ratio_test(path, 2).flags[-1]


def test_results_are_frozen_and_read_only():
    path = pls_path(*DATA["tall"], 2)
    t2 = chemometrics.hotelling_t2(path, 2)
    for array in (t2.values, t2.flags, chemometrics.explained_variance(path).x):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    with pytest.raises(dataclasses.FrozenInstanceError, match="limit"):
        t2.limit = 3.0


@pytest.mark.parametrize("level", [0, 1, 1.5, np.nan, "high", True, None])
def test_level_outside_the_unit_interval_is_refused(level):
    path = pls_path(*DATA["tall"], 2)
    with pytest.raises(InvalidInputError, match="level must be between 0 and 1"):
        chemometrics.hotelling_t2(path, 1, level=level)


def test_unusable_arguments_are_refused():
    X, y = DATA["tall"]
    path = pls_path(X, y, 2)
    with pytest.raises(InvalidInputError, match=r"as made by pls_path; got PCRPath"):
        chemometrics.vip(pcr_path(X, y, 2), 1)
    with pytest.raises(InvalidInputError, match=r"m must be in 0\.\.2; got 3"):
        chemometrics.q_residuals(path, 3)
    with pytest.raises(InvalidInputError, match="limit must be one of 'jackson-mudholkar', 'box'"):
        chemometrics.q_residuals(path, 1, limit="chi2")
    with pytest.raises(InvalidInputError, match="X_new has 5 column"):
        chemometrics.hotelling_t2(path, 1, X[:, :5])
    with pytest.raises(InvalidInputError, match="studentize must be one of"):
        chemometrics.outliers(path, 1, y, studentize="no")
    with pytest.raises(InvalidInputError, match="leverage_factor must be finite and > 0"):
        chemometrics.outliers(path, 1, y, leverage_factor=-1)


def test_new_data_frames_are_checked_against_the_training_columns():
    X, y = DATA["tall"]
    frame = pd.DataFrame(X, columns=list("abcdef"))
    path = pls_path(frame, y, 2)
    same = chemometrics.hotelling_t2(path, 2, frame).values
    np.testing.assert_allclose(same, chemometrics.hotelling_t2(path, 2, X).values)
    with pytest.raises(InvalidInputError, match="other columns than the training data"):
        chemometrics.q_residuals(path, 2, frame[list("abcdfe")])


@pytest.mark.parametrize(
    "eigenvalues", [np.ones(5), np.ones(1), np.array([1.0, 0.5, 0.2]), np.arange(1.0, 40.0) ** -2]
)
def test_q_limits_approximate_the_quantile_of_a_weighted_chi_square_sum(eigenvalues):
    rng = np.random.default_rng(6)
    q = rng.chisquare(1, size=(40_000, len(eigenvalues))) @ eigenvalues
    for approximation in (chemometrics._jackson_mudholkar, chemometrics._box):
        rate = np.mean(q > approximation(eigenvalues, 0.95).value)
        # Standard error 0.0011; the approximations themselves are good to half a percent here.
        assert 0.041 < rate < 0.059


def test_jackson_mudholkar_is_continuous_where_its_exponent_vanishes():
    # With k small eigenvalues s beside a 1, h0 changes sign between these two values of s.
    def limit(s):
        return chemometrics._jackson_mudholkar(np.append(1.0, np.full(20, s)), 0.95).value

    def h0(s):
        one, two, three = (1 + 20 * s**k for k in (1, 2, 3))
        return 1 - 2 * one * three / (3 * two**2)

    low, high = 0.005, 0.05
    assert h0(low) > 0 > h0(high)
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if h0(middle) > 0 else (low, middle)
    assert limit(low) == pytest.approx(limit(high), rel=1e-9)
    assert limit(low) == pytest.approx(limit(low * (1 + 1e-4)), rel=1e-3)


def test_jackson_mudholkar_has_an_exponential_form_where_its_exponent_is_zero():
    eigenvalues = np.append(4.0, np.ones(8))  # theta = 12, 24, 72: h0 is exactly zero
    expected = 12 * np.exp(stats.norm.ppf(0.95) * np.sqrt(48) / 12 - 24 / 144)
    assert chemometrics._jackson_mudholkar(eigenvalues, 0.95).value == pytest.approx(expected)


def test_a_dominating_residual_direction_is_reported():
    eigenvalues = np.append(1.0, np.full(100, 0.02))
    caution = chemometrics._jackson_mudholkar(eigenvalues, 0.95)
    assert "h0 = -0.85 < 0" in caution.message
    assert caution.value > chemometrics._box(eigenvalues, 0.95).value
    undefined = chemometrics._jackson_mudholkar(eigenvalues, 0.999)
    assert np.isnan(undefined.value)
    assert "does not exist here" in undefined.message


def test_residuals_below_the_resolution_of_the_gram_matrix_are_reported():
    rng = np.random.default_rng(8)
    left, _ = np.linalg.qr(rng.normal(size=(30, 8)) - 0.1)
    right, _ = np.linalg.qr(rng.normal(size=(8, 8)))
    size = np.append([1.0, 0.5, 0.3], np.full(5, 1e-8))
    X = (left - left.mean(axis=0)) * size @ right.T
    y = left[:, :3] @ [1.0, 0.5, 0.3]
    coarse, fine = (pls_path(X, y, 3, solver=solver, scale=False) for solver in ("gram", "svd"))
    assert "solver='svd'" in chemometrics.q_residuals(coarse, 3).message
    assert "solver='svd'" not in chemometrics.q_residuals(coarse, 2).message
    q = chemometrics.q_residuals(fine, 3)
    assert q.message == ""
    assert 1e-17 < q.values.sum() < 1e-14
    assert q.limit > q.values.mean()


def test_each_kind_of_outlier_is_flagged_by_its_own_diagnostic():
    rng = np.random.default_rng(10)
    loadings = rng.normal(size=(2, 8))
    T = rng.normal(size=(60, 2))
    X = T @ loadings + 0.1 * rng.normal(size=(60, 8))
    y = T @ [1.0, 0.5] + 0.1 * rng.normal(size=60)
    path = pls_path(X, y, 2)
    new = np.array([[0.2, 0.1], [6.0, -6.0], [0.2, 0.1], [0.2, 0.1]]) @ loadings
    strange = rng.normal(size=8)
    strange -= np.linalg.lstsq(loadings.T, strange, rcond=None)[0] @ loadings
    new[2] += strange
    response = np.array([0.25, 3.0, 0.25, 2.0])
    table = chemometrics.outliers(path, 2, response, new, level=0.999)
    np.testing.assert_array_equal(np.flatnonzero(table.t2.flags), [1])
    np.testing.assert_array_equal(np.flatnonzero(table.q.flags), [2])
    np.testing.assert_array_equal(np.flatnonzero(table.leverage.flags), [1])
    np.testing.assert_array_equal(np.flatnonzero(table.studentized.flags), [3])
    np.testing.assert_array_equal(table.n_flags, [0, 2, 1, 1])


@pytest.mark.parametrize("sign", [-1, 1])
def test_responses_are_flagged_on_both_sides(sign):
    X, y = DATA["tall"]
    y = y.copy()
    y[17] += sign * 8.0
    result = chemometrics.outliers(pls_path(X, y, 3), 2, y, level=0.999).studentized
    np.testing.assert_array_equal(np.flatnonzero(result.flags), [17])
    assert np.sign(result.values[17]) == sign


def test_table_repeats_its_parts_and_explains_them():
    X, y = DATA["tall"]
    y = y.copy()
    y[17] += 8.0
    path = pls_path(X, y, 3)
    table = chemometrics.outliers(path, 2, y, level=0.99, q_limit="box")
    np.testing.assert_array_equal(table.t2.values, chemometrics.hotelling_t2(path, 2).values)
    assert table.q.limit == chemometrics.q_residuals(path, 2, level=0.99, limit="box").limit
    np.testing.assert_array_equal(table.leverage.values, path.leverage(2))
    assert table.leverage.limit == pytest.approx(3 * np.mean(path.leverage(2)))
    frame = pd.DataFrame(table.columns())
    assert list(frame) == [
        *("t2", "t2_flag", "q", "q_flag", "leverage", "leverage_flag"),
        *("studentized", "studentized_flag", "n_flags"),
    ]
    assert frame.loc[17, "studentized_flag"]
    lines = table.describe().splitlines()
    assert len(lines) == 4
    assert lines[0].startswith("t2: ")
    assert "within the components" in lines[0]
    assert f"above {table.q.limit:.4g} (box)" in lines[1]
    assert "1 of 40 row(s)" in lines[3]
    assert ": 17. Meaning: the response is further" in lines[3]


@pytest.mark.parametrize("studentize", ["leverage", "jacobian"])
def test_least_squares_gives_internally_studentised_residuals(studentize):
    X, y = DATA["tall"]
    path = pls_path(X, y)
    design = np.column_stack([np.ones(40), X])
    hat = design @ np.linalg.solve(design.T @ design, design.T)
    residual = y - hat @ y
    sigma = np.sqrt(residual @ residual / (40 - 7))
    table = chemometrics.outliers(path, 6, y, studentize=studentize)
    expected = residual / (sigma * np.sqrt(1 - np.diag(hat)))
    np.testing.assert_allclose(table.studentized.values, expected, rtol=1e-7)
    # r^2/33 ~ Beta(1/2, 16) is the same as t with 32 degrees of freedom, transformed.
    t = stats.t.ppf(0.975, 32)
    assert table.studentized.limit == pytest.approx(t * np.sqrt(33 / (32 + t**2)))


def test_least_squares_prediction_errors_of_new_rows_follow_students_t():
    X, y = DATA["tall"]
    path = pls_path(X[:30], y[:30])
    design = np.column_stack([np.ones(30), X[:30]])
    inverse = np.linalg.inv(design.T @ design)
    beta = inverse @ design.T @ y[:30]
    sigma = np.sqrt(np.sum((y[:30] - design @ beta) ** 2) / 23)
    new = np.column_stack([np.ones(10), X[30:]])
    leverage = np.einsum("ij,jk,ik->i", new, inverse, new)
    table = chemometrics.outliers(path, 6, y[30:], X[30:])
    np.testing.assert_allclose(table.leverage.values, leverage, rtol=1e-7)
    assert table.leverage.limit == pytest.approx(3 * 7 / 30)
    expected = (y[30:] - new @ beta) / (sigma * np.sqrt(1 + leverage))
    np.testing.assert_allclose(table.studentized.values, expected, rtol=1e-7)
    assert table.studentized.limit == pytest.approx(stats.t.ppf(0.975, 23))


def test_leverage_of_new_rows_is_the_squared_derivative_of_their_prediction():
    X, y = DATA["wide"]
    new, step = new_rows(X, n=3), 1e-5
    derivative = np.empty((3, len(y)))
    for i in range(len(y)):
        shift = step * np.eye(len(y))[i]
        ahead, behind = (PLSRegression(3).fit(X, y + s).predict(new) for s in (shift, -shift))
        derivative[:, i] = (ahead - behind).ravel() / (2 * step)
    table = chemometrics.outliers(pls_path(X, y, 3), 3, X_new=new)
    np.testing.assert_allclose(table.leverage.values, np.sum(derivative**2, axis=1), rtol=1e-5)


@pytest.mark.parametrize("weighted", [False, True])
def test_studentised_residuals_of_pls_agree_with_the_dense_jacobian(weighted):
    X, y = DATA["wide"]
    weights = np.random.default_rng(7).uniform(0.5, 2, len(y)) if weighted else np.ones(len(y))
    path = pls_path(X, y, 2, sample_weight=weights)
    J, root = path.jacobian(2), np.sqrt(weights)
    residual = root * (y - path.fitted[2])
    sigma = np.sqrt(path.noise_variance("dof")[2])
    # In units where the noise has variance sigma^2 in every row.
    left = np.eye(len(y)) - J * root[:, None] / root
    by_jacobian = chemometrics.outliers(path, 2, y, noise="dof", studentize="jacobian")
    by_leverage = chemometrics.outliers(path, 2, y, noise="dof")
    np.testing.assert_allclose(
        by_jacobian.studentized.values, residual / sigma / np.linalg.norm(left, axis=1), rtol=1e-8
    )
    np.testing.assert_allclose(
        by_leverage.studentized.values, residual / sigma / np.sqrt(1 - np.diag(J)), rtol=1e-8
    )
    nu = path.spectrum.n - path.dof[2]
    expected = np.sqrt(nu * stats.beta.ppf(0.95, 0.5, (nu - 1) / 2))
    assert by_jacobian.studentized.limit == pytest.approx(expected)


def test_given_noise_variance_leads_to_the_normal_limit():
    X, y = DATA["tall"]
    path = pls_path(X, y, 2)
    known = chemometrics.outliers(path, 2, y, noise=4.0, level=0.9).studentized
    assert known.limit == pytest.approx(stats.norm.ppf(0.95))
    expected = (y - path.fitted[2]) / (2 * np.sqrt(1 - path.leverage(2)))
    np.testing.assert_allclose(known.values, expected)


def test_rows_with_leverage_above_one_are_undefined_unless_the_jacobian_is_used():
    X, y = next(
        (X, y)
        for X, y in (latent_data(15, 60, seed, noise=1.5) for seed in range(100))
        if pls_path(X, y, 3).leverage(3).max() > 1
    )
    path = pls_path(X, y, 3)
    high = path.leverage(3) >= 1
    by_leverage = chemometrics.outliers(path, 3, y).studentized
    np.testing.assert_array_equal(np.isnan(by_leverage.values), high)
    assert f"Undefined for {high.sum()} row(s)" in by_leverage.message
    by_jacobian = chemometrics.outliers(path, 3, y, studentize="jacobian").studentized
    assert np.isfinite(by_jacobian.values).all()
    assert by_jacobian.message == ""


def test_interpolation_leaves_no_residual_to_judge():
    X, y = DATA["wide"]
    path = pls_path(X[:6], y[:6])
    for studentize in chemometrics.STUDENTIZE:
        table = chemometrics.outliers(path, 5, y[:6], studentize=studentize)
        assert np.isnan(table.studentized.values).all()
        assert "so residuals have no scale" in table.studentized.message
        assert np.isnan(table.studentized.limit)
        known = chemometrics.outliers(path, 5, y[:6], noise=1.0, studentize=studentize)
        assert "interpolates" in known.studentized.message
        assert np.isnan(known.studentized.values).all()


def test_negative_degrees_of_freedom_leave_no_limit_for_the_leverage():
    # Two eigenvalues far apart, y almost along the small one (theory: DoF is about -95).
    U = np.linalg.qr(np.column_stack([np.ones(5), np.eye(5)[:, :2]]))[0][:, 1:]
    X, y = U * [1.0, 1e-2], U @ [1e-3, 1.0]
    path = pls_path(X, y, 1, scale=False)
    assert path.dof[1] < 0
    leverage = chemometrics.outliers(path, 1, y).leverage
    assert np.isnan(leverage.limit)
    assert "average is no standard" in leverage.message
    assert not leverage.flags.any()


def test_the_empty_model_judges_responses_by_their_distance_from_the_mean():
    X, y = DATA["tall"]
    table = chemometrics.outliers(pls_path(X, y, 1), 0, y)
    expected = (y - y.mean()) / y.std(ddof=1) / np.sqrt(1 - 1 / 40)
    np.testing.assert_allclose(table.studentized.values, expected)
    np.testing.assert_allclose(table.leverage.values, 1 / 40)


def test_without_responses_the_other_diagnostics_remain():
    X, y = DATA["tall"]
    table = chemometrics.outliers(pls_path(X, y, 2), 2)
    assert np.isnan(table.studentized.values).all()
    assert "Without y there are no residuals" in table.studentized.message
    assert np.isfinite(table.t2.values).all()
    assert not table.studentized.flags.any()


def test_responses_of_other_rows_are_refused():
    X, y = DATA["tall"]
    path = pls_path(X, y, 2)
    with pytest.raises(InvalidInputError, match="give the responses the path was fitted on"):
        chemometrics.outliers(path, 2, y[::-1])
    with pytest.raises(InvalidInputError, match="y has 39 entries but X has 40 rows"):
        chemometrics.outliers(path, 2, y[1:])


def false_alarms(n, p, m, repetitions, *, method):
    rng = np.random.default_rng(2024)
    loadings = rng.normal(size=(3, p))

    def draw(rows):
        T = rng.normal(size=(rows, 3)) * [1.5, 1.1, 0.7]
        return T @ loadings + rng.normal(size=(rows, p)), T.sum(axis=1) + rng.normal(size=rows)

    rates = []
    for _ in range(repetitions):
        path = pls_path(*draw(n), m)
        new, _ = draw(200)
        results = [chemometrics.hotelling_t2(path, m), chemometrics.hotelling_t2(path, m, new)]
        results.append(chemometrics.q_residuals(path, m, limit=method))
        results.append(chemometrics.q_residuals(path, m, new, limit=method))
        rates.append([result.flags.mean() for result in results])
    mean, error = np.mean(rates, axis=0), np.std(rates, axis=0) / np.sqrt(repetitions)
    return mean, error


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_five_percent_of_ordinary_rows_exceed_the_limits_in_large_samples(method):
    mean, error = false_alarms(600, 10, 3, 150, method=method)
    # A tenth of the nominal rate is allowed for the approximations, beside chance.
    assert np.all(np.abs(mean - 0.05) < 0.005 + 4 * error)


@pytest.mark.slow
def test_moments_keep_the_level_on_training_rows_of_wide_data_where_eigenvalues_do_not():
    moments, error = false_alarms(50, 300, 3, 150, method="moments")
    eigenvalues, _ = false_alarms(50, 300, 3, 150, method="box")
    assert abs(moments[2] - 0.05) < 0.01 + 4 * error[2]
    assert eigenvalues[2] < 0.02
    # The reservation in the documentation: new rows look stranger than they are.
    assert moments[3] > 0.1


@pytest.mark.slow
def test_studentised_residuals_keep_their_level_under_the_jacobian():
    rng = np.random.default_rng(11)
    T = rng.normal(size=(60, 3))
    X = T @ rng.normal(size=(3, 12)) + rng.normal(size=(60, 12))
    rates = []
    for _ in range(300):
        y = T.sum(axis=1) + rng.normal(size=60)
        table = chemometrics.outliers(pls_path(X, y, 3), 3, y, studentize="jacobian")
        rates.append(table.studentized.flags.mean())
    error = np.std(rates) / np.sqrt(len(rates))
    assert abs(np.mean(rates) - 0.05) < 0.005 + 4 * error
