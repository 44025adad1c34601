"""Penalised PLS against a dense implementation of the published algorithm."""

import tracemalloc

import flint
import numpy as np
import pytest
from _helpers.oracle import dof_from_moments, exact_penalized
from _helpers.problems import DATA, difference_penalty, load_case, make_problem
from sklearn.linear_model import LinearRegression
from sklearn.preprocessing import SplineTransformer

from plsdof import PenalizedPLSRegressor, cross_validate, inference, pls_path
from plsdof.errors import InvalidInputError, RankExhaustedWarning
from plsdof.variants.penalized import difference_metric, penalized_pls_path

STEP = 1e-5


def make_spectra(n, p, seed=0):
    """Smooth predictors along p channels; a few neighbouring ones matter."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)).cumsum(axis=1) + 20.0
    return X, X[:, p // 3 : p // 2].mean(axis=1) + 0.5 * rng.normal(size=n)


def published_algorithm(X, y, P, m):
    """Kraemer, Boulesteix & Tutz (2008): w = (I + P)^{-1} X'y, deflate X by t = Xw, repeat.

    Returns coefficients, intercept and fitted values of m components.
    """
    A = np.eye(X.shape[1]) + P
    centred, response = X - X.mean(axis=0), y - y.mean()
    left, W, loadings, q = centred.copy(), [], [], []
    for _ in range(m):
        w = np.linalg.solve(A, left.T @ response)
        t = left @ w
        loading = left.T @ t / (t @ t)
        q.append(response @ t / (t @ t))
        left = left - np.outer(t, loading)
        W.append(w)
        loadings.append(loading)
    W, loadings = np.array(W).T, np.array(loadings).T
    coef = W @ np.linalg.solve(loadings.T @ W, np.array(q))
    intercept = y.mean() - X.mean(axis=0) @ coef
    return coef, intercept, intercept + X @ coef


PENALTIES = {
    "differences": lambda p: (2, {}, difference_penalty(p)),
    "first differences": lambda p: (1, {}, difference_penalty(p, 1)),
    "blocks": lambda p: (2, {"blocks": p // 3}, difference_penalty([p // 3] * 3)),
}


@pytest.mark.parametrize("kind", PENALTIES)
@pytest.mark.parametrize(("n", "p"), [(25, 12), (12, 30)])
@pytest.mark.parametrize("solver", ["svd", "gram", "auto"])
def test_path_equals_the_published_algorithm(kind, n, p, solver):
    X, y = make_spectra(n, p, seed=n)
    penalty, options, P = PENALTIES[kind](p)
    path = penalized_pls_path(
        X, y, penalty, strength=3.0, max_components=5, solver=solver, **options
    )
    for m in range(1, 6):
        coef, intercept, fitted = published_algorithm(X, y, 3.0 * P, m)
        np.testing.assert_allclose(path.coef[m], coef, rtol=1e-8, atol=1e-8)
        assert path.intercept[m] == pytest.approx(intercept, rel=1e-8, abs=1e-8)
        np.testing.assert_allclose(path.fitted[m], fitted, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("kind", ["differences", "blocks"])
@pytest.mark.parametrize("m", [1, 3])
def test_degrees_of_freedom_equal_central_differences_of_the_published_algorithm(kind, m):
    X, y = make_spectra(14, 9, seed=1)
    penalty, options, P = PENALTIES[kind](9)
    path = penalized_pls_path(X, y, penalty, strength=5.0, max_components=m, **options)
    steps = STEP * np.eye(len(y))
    columns = [
        [
            (ahead - behind) / (2 * STEP)
            for ahead, behind in zip(
                published_algorithm(X, y + step, 5.0 * P, m),
                published_algorithm(X, y - step, 5.0 * P, m),
                strict=True,
            )
        ]
        for step in steps
    ]
    coef = np.column_stack([one[0] for one in columns])
    fit = np.column_stack([one[2] for one in columns])
    np.testing.assert_allclose(path.jacobian(m), fit, atol=1e-6)
    np.testing.assert_allclose(path.coef_jacobian(m), coef, atol=1e-6)
    assert path.dof[m] == pytest.approx(np.trace(fit), abs=1e-5)
    expected = np.sqrt(0.25 * np.sum(coef**2, axis=1))
    np.testing.assert_allclose(path.coef_std_error(m, noise=0.25), expected, atol=1e-6)


@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize(("n", "p"), [(20, 6), (8, 15)])
def test_strength_zero_is_the_unpenalised_path(scale, n, p):
    X, y = make_problem(n, p, seed=2, decay=0.5)
    weights = np.random.default_rng(0).uniform(0.5, 2, n)
    options = {"scale": scale, "sample_weight": weights, "solver": "svd"}
    path, plain = penalized_pls_path(X, y, strength=0, **options), pls_path(X, y, **options)
    np.testing.assert_allclose(path.dof, plain.dof, rtol=1e-12)
    np.testing.assert_allclose(path.coef, plain.coef, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(path.fitted, plain.fitted, rtol=1e-10)


def exact_penalized_dof(X, y, P, m):
    """Degrees of Freedom from the raw data in ball arithmetic."""
    arb, (n, p) = flint.arb, X.shape
    centre = flint.arb_mat([[arb(int(i == j)) - arb(1) / n for j in range(n)] for i in range(n)])
    rows = centre * flint.arb_mat([[arb(float(v)) for v in row] for row in X])
    A = flint.arb_mat([[arb(float(P[i, j])) + int(i == j) for j in range(p)] for i in range(p)])
    K = rows * A.solve(rows.transpose())
    response = centre * flint.arb_mat([[arb(float(v))] for v in y])
    power, moments, traces = centre, [], []
    for _ in range(3 * m + 1):
        moments.append((response.transpose() * power * response)[0, 0])
        traces.append(sum((power[i, i] for i in range(n)), arb(0)))
        power = power * K
    return np.array([1.0] + [dof_from_moments(moments, traces, k) for k in range(1, m + 1)])


@pytest.mark.parametrize("strength", [1.0, 2.0**20, 2.0**33])
def test_degrees_of_freedom_are_exact_within_their_error_estimate(strength):
    X, y = make_spectra(12, 20, seed=3)
    P = difference_penalty(20)
    path = penalized_pls_path(X, y, strength=strength)
    m = min(len(path.dof) - 1, 6)
    before, flint.ctx.prec = flint.ctx.prec, 3000
    try:
        exact = exact_penalized_dof(X, y, strength * P, m)
    finally:
        flint.ctx.prec = before
    assert np.all(np.abs(path.dof[: m + 1] - exact) <= path.dof_error[: m + 1])
    # Rotations keep what forming I + strength P would lose.
    assert len(path.dof) == 12


@pytest.mark.parametrize("blocks", [np.array(20.0), np.full((4, 5), 1)])
def test_sizes_of_blocks_are_one_number_or_a_list(blocks):
    X, y = make_spectra(12, 20, seed=3)
    with pytest.raises(InvalidInputError, match="blocks must be a whole number or a list"):
        penalized_pls_path(X, y, blocks=blocks)


@pytest.mark.parametrize("order", [6, 7, 99, 10**6])
def test_blocks_too_small_for_a_difference_are_not_penalised(order):
    X, y = make_spectra(20, 6)
    np.testing.assert_allclose(
        penalized_pls_path(X, y, order).coef, penalized_pls_path(X, y, strength=0.0).coef
    )


def test_degrees_of_freedom_agree_with_their_monte_carlo_estimate():
    X, y = make_spectra(40, 60, seed=4)
    path = penalized_pls_path(X, y, strength=100.0, max_components=4)
    rng = np.random.default_rng(0)
    draws = []
    for _ in range(200):
        e = rng.normal(size=40)
        ahead, behind = path.refit(y + 1e-4 * e), path.refit(y - 1e-4 * e)
        draws.append((ahead.fitted - behind.fitted) @ e / 2e-4)
    draws = np.array(draws)
    std_error = draws.std(axis=0, ddof=1) / np.sqrt(len(draws))
    assert np.all(np.abs(draws.mean(axis=0) - path.dof) < 3 * std_error)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_coefficients_become_smoother_with_strength(order):
    X, y = make_spectra(40, 80, seed=5)
    roughness = [
        np.sum(np.diff(path.coef[4], order) ** 2) / np.sum(path.coef[4] ** 2)
        for path in (
            penalized_pls_path(X, y, order, strength=s, max_components=4)
            for s in (0.0, 1.0, 1e2, 1e4, 1e6)
        )
    ]
    assert np.all(np.diff(roughness) < 0)
    assert roughness[-1] < 0.2 * roughness[0]


def test_integer_weights_mean_repeated_rows():
    X, y = make_spectra(12, 8, seed=6)
    counts = np.array([0, 1, 2, 3] * 3)
    weighted = penalized_pls_path(X, y, strength=10.0, sample_weight=counts)
    repeated = penalized_pls_path(X.repeat(counts, axis=0), y.repeat(counts), strength=10.0)
    np.testing.assert_allclose(weighted.dof, repeated.dof, rtol=1e-8)
    np.testing.assert_allclose(weighted.coef, repeated.coef, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(weighted.rss, repeated.rss, rtol=1e-8, atol=1e-20)


def test_scores_loadings_and_rotations_keep_their_meaning():
    X, y = make_spectra(20, 10, seed=7)
    path = penalized_pls_path(X, y, strength=10.0, max_components=4)
    centred, T = X - X.mean(axis=0), path.x_scores
    np.testing.assert_allclose(path.transform(X), T, atol=1e-8)
    np.testing.assert_allclose(centred @ path.x_rotations, T, atol=1e-8)
    np.testing.assert_allclose(path.x_loadings, centred.T @ T / np.sum(T**2, axis=0), atol=1e-8)
    A = np.eye(10) + 10.0 * difference_penalty(10)
    np.testing.assert_allclose(path.x_weights.T @ A @ path.x_weights, np.eye(4), atol=1e-8)
    np.testing.assert_allclose(path.x_rotations @ path.y_loadings, path.coef[4], atol=1e-8)


def test_inference_and_cross_validation_take_penalised_paths_as_they_are():
    X, y = make_spectra(30, 20, seed=8)
    model = PenalizedPLSRegressor("cv", strength=[10.0], cv=5, max_components=4).fit(X, y)

    def fit(X, y):
        return penalized_pls_path(X, y, strength=10.0, max_components=4)

    result = cross_validate(X, y, fit(X, y).recipe, cv=5)
    np.testing.assert_allclose(model.selection_.scores, result.mean_error, rtol=1e-10)
    interval = inference.prediction_interval(fit(X, y)[2], X[:3])
    np.testing.assert_allclose(interval.center, fit(X, y).fitted[2, :3], atol=1e-9)


def test_a_constant_column_gets_the_coefficient_its_neighbours_suggest():
    X, y = make_spectra(25, 12, seed=9)
    X[:, 5] = 1.0
    path = penalized_pls_path(X, y, strength=50.0, max_components=3)
    coef, _, fitted = published_algorithm(X, y, 50.0 * difference_penalty(12), 3)
    np.testing.assert_allclose(path.coef[3], coef, atol=1e-8)
    np.testing.assert_allclose(path.fitted[3], fitted, atol=1e-8)
    assert abs(path.coef[3, 5]) > 0.1 * np.abs(path.coef[3]).max()


@pytest.mark.parametrize("sizes", [(9,), (5, 2, 6), (1,), (2,)])
@pytest.mark.parametrize("order", [1, 2, 4])
def test_banded_metric_is_i_plus_the_penalty_and_its_factor_fits(sizes, order):
    p = sum(sizes)
    metric = difference_metric(sizes, order, 7.0)
    A = np.eye(p) + 7.0 * difference_penalty(sizes, order)
    R = metric.unwhiten(np.eye(p))
    np.testing.assert_allclose(metric.apply(np.eye(p)), A, atol=1e-12)
    np.testing.assert_allclose(R @ R.T, np.linalg.inv(A), atol=1e-12)
    X = np.random.default_rng(0).normal(size=(3, p))
    np.testing.assert_allclose(metric.whiten(X), X @ R, atol=1e-12)


def test_many_channels_need_no_matrix_of_their_square():
    X, y = make_spectra(15, 20_000, seed=10)
    tracemalloc.start()
    path = penalized_pls_path(X, y, strength=1e4, max_components=3)
    assert path.coef.shape == (4, 20_000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20 * X.nbytes  # p x p would be 1,300 times X


def test_additive_splines_find_the_functions_and_become_lines_under_a_strong_penalty():
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, (200, 2))
    signal = np.sin(4 * X[:, 0]) + X[:, 1] ** 2
    y = signal + 0.1 * rng.normal(size=200)
    features = SplineTransformer(10, extrapolation="linear").fit_transform(X)
    model = PenalizedPLSRegressor(strength=[0.1, 1.0, 10.0], blocks=12).fit(features, y)
    assert np.mean((model.predict(features) - signal) ** 2) < 0.05 * np.var(signal)
    assert 5 < model.dof_ < 25
    lines = penalized_pls_path(features, y, blocks=12, strength=1e10, max_components=2)
    expected = LinearRegression().fit(X, y).predict(X)
    np.testing.assert_allclose(lines.fitted[2], expected, atol=1e-4)
    assert lines.dof[2] == pytest.approx(3, abs=1e-3)


def test_smooth_coefficients_on_near_infrared_spectra():
    if not (DATA / "cookie.rda").exists():
        pytest.skip("the near-infrared data are not part of the package")
    X, y = load_case("cookie-fat", None)
    model = PenalizedPLSRegressor(strength=[0.0, 1e2, 1e4, 1e6], max_components=12)
    rough, *smooth = (left.press.min() for left in model.fit(X, y).selection_.pool)
    assert min(smooth) < rough
    first, last = (penalized_pls_path(X, y, strength=s, max_components=8) for s in (0.0, 1e6))
    assert np.sum(np.diff(last.coef[8], 2) ** 2) < 1e-3 * np.sum(np.diff(first.coef[8], 2) ** 2)
    assert last.dof_error[8] < 1e-7


def test_more_components_than_supported_are_reported():
    X, y = make_spectra(8, 20, seed=12)
    with pytest.warns(RankExhaustedWarning, match="9 components asked for, at most 7 supported"):
        penalized_pls_path(X, y, max_components=9)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"penalty": np.eye(5)}, "penalty"),
        ({"strength": -1.0}, "strength must be finite and >= 0"),
        ({"strength": [1.0, 2.0]}, "strength must be one number"),
        ({"strength": np.inf}, "strength"),
        ({"penalty": 0}, "penalty must be >= 1"),
        ({"blocks": 2}, r"must cover the 5 column\(s\) of X; got 2, which covers 4"),
        ({"blocks": [2, 2]}, "which covers 4"),
        ({"solver": "qr"}, "solver must be one of"),
    ],
)
def test_unusable_options_are_refused(options, message):
    X, y = make_spectra(10, 5)
    with pytest.raises(InvalidInputError, match=message):
        penalized_pls_path(X, y, **options)


def rough(n, p, rng):
    """Predictors without a smooth part: third differences that vanish at both ends."""
    return np.diff(np.pad(rng.normal(size=(n, p - 3)), ((0, 0), (3, 3))), 3, axis=1)


def smooth(n, p, rng):
    return rng.normal(size=(n, p)).cumsum(axis=1)


@pytest.mark.filterwarnings("ignore::plsdof.errors.RankExhaustedWarning")
@pytest.mark.parametrize("strength", [1.0, 5e4, 1e8])
@pytest.mark.parametrize("make", [rough, smooth])
def test_errors_are_within_their_estimates_whatever_the_strength(make, strength):
    for seed in range(2):
        rng = np.random.default_rng(seed)
        X = make(15, 8 + 6 * seed, rng)
        y = X[:, 4] + 0.1 * X.std() * rng.normal(size=15)
        P = difference_penalty(X.shape[1])
        path = penalized_pls_path(X, y, strength=strength, max_components=3)
        M = len(path.dof) - 1
        if M == 0:
            continue
        truth = exact_penalized(X, y, M, P, strength)
        off = np.linalg.norm(path.exact.standardized_coef[1:] - truth.coef, axis=1)
        size = np.linalg.norm(truth.coef, axis=1)
        assert np.all(off <= (path.coef_error[1:] + 1e-14) * size)
        assert np.all(np.abs(path.dof[1:] - truth.dof) <= path.dof_error[1:])
        assert np.all(np.abs(path.rss[1:] - truth.rss) <= path.rss_error[1:])
