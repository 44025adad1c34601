"""Kernel PLS against the linear path, an independent dual algorithm and exact arithmetic."""

from functools import partial

import flint
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from _helpers.oracle import dof_from_moments
from _helpers.problems import make_problem
from sklearn.metrics import pairwise

from plsdof import cross_validate, inference, pls_path
from plsdof.errors import (
    ConstantColumnWarning,
    InvalidInputError,
    RankExhaustedWarning,
)
from plsdof.estimators import KernelPLSRegressor
from plsdof.variants.kernel import as_kernel, from_gram, kernel_pls_path

STEP = 1e-5


def make_curve(n, p, seed=0):
    """A smooth function of the first two columns, and rows to predict."""
    rng = np.random.default_rng(seed)
    X, X_new = rng.uniform(-1, 1, (n, p)), rng.uniform(-1, 1, (5, p))
    return X, np.sin(3 * X[:, 0]) + X[:, -1] ** 2 + 0.2 * rng.normal(size=n), X_new


def dual_pls(K, K_new, y, m):
    """Rosipal & Trejo's algorithm for one response: deflate the centred kernel matrix.

    Returns fitted values and predictions.
    """
    n = len(y)
    centre = np.eye(n) - 1 / n
    centred = centre @ K @ centre
    centred_new = (K_new - K.mean(axis=0)) @ centre
    left, residual = centred.copy(), y - y.mean()
    T, U = [], []
    for _ in range(m):
        u = residual.copy()
        t = left @ u
        t /= np.linalg.norm(t)
        deflate = np.eye(n) - np.outer(t, t)
        left, residual = deflate @ left @ deflate, residual - t * (t @ residual)
        T.append(t)
        U.append(u)
    T, U = np.array(T).T, np.array(U).T
    dual = U @ np.linalg.solve(T.T @ centred @ U, T.T @ (y - y.mean()))
    return y.mean() + centred @ dual, y.mean() + centred_new @ dual


def standardized(X, like):
    return (X - like.mean(axis=0)) / like.std(axis=0, ddof=1)


def rbf_pair(X, X_new, gamma):
    rows = standardized(X, X)
    return (
        pairwise.rbf_kernel(rows, gamma=gamma),
        pairwise.rbf_kernel(standardized(X_new, X), rows, gamma=gamma),
    )


def central_differences(function, y):
    columns = []
    for step in STEP * np.eye(len(y)):
        columns.append((function(y + step) - function(y - step)) / (2 * STEP))
    return np.column_stack(columns)


@pytest.mark.parametrize(("n", "p"), [(20, 5), (8, 20)])
@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
def test_linear_kernel_equals_the_linear_path(n, p, scale, weighted):
    X, y = make_problem(n, p, seed=n, decay=0.5)
    X_new, _ = make_problem(6, p, seed=1)
    weights = np.random.default_rng(0).uniform(0.5, 3, n) if weighted else None
    linear = pls_path(X, y, 4, scale=scale, sample_weight=weights)
    kernel = kernel_pls_path(X, y, "linear", 4, scale=scale, sample_weight=weights)
    close = partial(np.testing.assert_allclose, rtol=1e-10, atol=1e-10)
    close(kernel.dof, linear.dof)
    close(kernel.rss, linear.rss)
    close(kernel.fitted, linear.fitted)
    close(kernel.predict(X_new), linear.predict(X_new))
    close(kernel.noise_variance("jacobian"), linear.noise_variance("jacobian"))
    close(kernel.jacobian(3), linear.jacobian(3))
    close(np.abs(kernel.transform(X_new)), np.abs(linear.transform(X_new)))
    for name in ("bic", "aic", "gmdl", "aicc", "gcv"):
        close(kernel.criterion(name), linear.criterion(name))
    ours, theirs = (
        inference.prediction_interval(one[2], X_new, noise="jacobian") for one in (kernel, linear)
    )
    close(ours.lower, theirs.lower)
    close(ours.std_error, theirs.std_error)


@pytest.mark.parametrize(
    ("name", "reference"),
    [
        ("rbf", partial(pairwise.rbf_kernel, gamma=0.3)),
        ("laplacian", partial(pairwise.laplacian_kernel, gamma=0.3)),
        ("poly", partial(pairwise.polynomial_kernel, gamma=0.3, degree=2, coef0=0.5)),
    ],
)
def test_kernel_values_equal_those_of_scikit_learn(name, reference):
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(7, 3)), rng.normal(size=(4, 3))
    np.testing.assert_allclose(as_kernel(name, 0.3, 2, 0.5)(A, B), reference(A, B), rtol=1e-12)


@pytest.mark.parametrize("gamma", [0.05, 0.5, 3.0])
@pytest.mark.parametrize("m", [1, 2, 4])
def test_fit_prediction_and_degrees_of_freedom_equal_the_dual_algorithm(gamma, m):
    X, y, X_new = make_curve(15, 3, seed=2)
    path = kernel_pls_path(X, y, gamma=gamma)
    K, K_new = rbf_pair(X, X_new, gamma)
    fitted, predicted = dual_pls(K, K_new, y, m)
    np.testing.assert_allclose(path.fitted[m], fitted, atol=1e-8)
    np.testing.assert_allclose(path.predict(X_new)[m], predicted, atol=1e-8)
    np.testing.assert_allclose(path.predict(X)[m], path.fitted[m], atol=1e-9)
    jacobian = central_differences(lambda v: dual_pls(K, K_new, v, m)[0], y)
    np.testing.assert_allclose(path.jacobian(m), jacobian, atol=1e-6)
    assert path.dof[m] == pytest.approx(np.trace(jacobian), abs=1e-5)


@pytest.mark.parametrize("m", [1, 3])
def test_interval_for_the_fit_rests_on_the_derivative_of_the_prediction(m):
    X, y, X_new = make_curve(15, 2, seed=3)
    path = kernel_pls_path(X, y, gamma=0.5)
    K, K_new = rbf_pair(X, X_new, 0.5)
    slopes = central_differences(lambda v: dual_pls(K, K_new, v, m)[1], y)
    interval = inference.prediction_interval(path[m], X_new, kind="mean", noise=0.09)
    np.testing.assert_allclose(interval.std_error, 0.3 * np.linalg.norm(slopes, axis=1), atol=1e-6)
    np.testing.assert_allclose(interval.center, path.predict(X_new)[m], atol=1e-12)


def test_sparse_new_rows_are_not_taken_for_kernel_values():
    X, y, X_new = make_curve(15, 15, seed=3)
    path = kernel_pls_path(X, y, max_components=2)
    with pytest.raises(InvalidInputError, match="sparse"):
        path.predict(scipy.sparse.csr_array(X_new))


def exact_kernel_dof(X, y, gamma, m):
    """Degrees of Freedom from the raw data in ball arithmetic, standardisation included."""
    arb, n = flint.arb, len(y)

    def total(values):
        return sum(values, arb(0))

    columns = []
    for column in X.T:
        values = [arb(float(v)) for v in column]
        mean = total(values) / n
        centred = [v - mean for v in values]
        scale = (total([v * v for v in centred]) / (n - 1)).sqrt()
        columns.append([v / scale for v in centred])
    rows = list(zip(*columns, strict=True))
    width = arb(float(gamma))
    K = flint.arb_mat(
        [
            [
                (-width * total([(a - b) * (a - b) for a, b in zip(u, v, strict=True)])).exp()
                for v in rows
            ]
            for u in rows
        ]
    )
    centre = flint.arb_mat([[arb(int(i == j)) - arb(1) / n for j in range(n)] for i in range(n)])
    K, power = centre * K * centre, centre
    response = centre * flint.arb_mat([[arb(float(v))] for v in y])
    moments, traces = [], []
    for _ in range(3 * m + 1):
        moments.append((response.transpose() * power * response)[0, 0])
        traces.append(total([power[i, i] for i in range(n)]))
        power = power * K
    return np.array([1.0] + [dof_from_moments(moments, traces, k) for k in range(1, m + 1)])


@pytest.mark.parametrize("n", [4, 14])
@pytest.mark.parametrize("gamma", [1e-6, 1e-3, 0.1, 10.0])
def test_degrees_of_freedom_are_exact_within_their_error_estimate(n, gamma):
    X, y, _ = make_curve(n, 2, seed=4)
    path = kernel_pls_path(X, y, gamma=gamma)
    m = min(len(path.dof) - 1, 6)
    before, flint.ctx.prec = flint.ctx.prec, 3000
    try:
        exact = exact_kernel_dof(X, y, gamma, m)
    finally:
        flint.ctx.prec = before
    error = np.abs(path.dof[: m + 1] - exact)
    assert np.all(error <= path.dof_error[: m + 1])
    assert m >= 1
    assert np.all(path.dof_error <= 1e-5 * np.maximum(1, np.abs(path.dof)))


def test_degrees_of_freedom_agree_with_their_monte_carlo_estimate():
    X, y, _ = make_curve(40, 2, seed=5)
    path = kernel_pls_path(X, y, max_components=3, gamma=0.5)
    rng = np.random.default_rng(0)
    draws = []
    for _ in range(200):
        e = rng.normal(size=40)
        ahead, behind = path.refit(y + 1e-4 * e), path.refit(y - 1e-4 * e)
        draws.append((ahead.fitted - behind.fitted) @ e / 2e-4)
    draws = np.array(draws)
    std_error = draws.std(axis=0, ddof=1) / np.sqrt(len(draws))
    assert np.all(np.abs(draws.mean(axis=0) - path.dof) < 3 * std_error)


def test_integer_weights_mean_repeated_rows():
    X, y, X_new = make_curve(12, 2, seed=6)
    counts = np.array([0, 1, 2, 3] * 3)
    weighted = kernel_pls_path(X, y, gamma=0.5, max_components=5, sample_weight=counts)
    # Scaling comes first and sees the repeated rows alike.
    repeated = kernel_pls_path(
        X.repeat(counts, axis=0), y.repeat(counts), gamma=0.5, max_components=5
    )
    np.testing.assert_allclose(weighted.dof, repeated.dof, rtol=1e-9)
    np.testing.assert_allclose(weighted.rss, repeated.rss, rtol=1e-9)
    np.testing.assert_allclose(weighted.predict(X_new), repeated.predict(X_new), rtol=1e-8)
    assert weighted.coef.shape == (6, np.count_nonzero(counts))


def dates(n=30, offset=0.0, seed=0):
    """Two columns of whole seconds since some time, and a response."""
    rng = np.random.default_rng(seed)
    T = np.round(rng.uniform(0, 1e3, (n, 2)))
    y = np.sin(T[:, 0] / 300) + (T[:, 1] / 500) ** 2 + 0.1 * rng.normal(size=n)
    return T + offset, y


@pytest.mark.parametrize("kernel", ["poly", "rbf", "linear"])
@pytest.mark.parametrize("offset", [1.7e9, 1e12])
@pytest.mark.parametrize("weighted", [False, True])
def test_large_means_do_not_cost_digits(kernel, offset, weighted):
    weights = np.random.default_rng(1).uniform(0.5, 1.5, 30) if weighted else None
    (near, y), (far, _) = dates(), dates(offset=offset)
    exact = kernel_pls_path(near, y, kernel, 2, sample_weight=weights)
    path = kernel_pls_path(far, y, kernel, 2, sample_weight=weights)
    assert np.all(np.abs(path.dof - exact.dof) <= path.dof_error + exact.dof_error)
    np.testing.assert_allclose(path.predict(far), exact.predict(near), atol=1e-9)
    # A fit to some rows, and the path seen through some rows, keep them as well.
    some = np.arange(20)
    few, fewer = (one.store.fit_rows(some).predict(X) for one, X in ((path, far), (exact, near)))
    np.testing.assert_allclose(few, fewer, atol=1e-9)


@pytest.mark.parametrize("through", ["path", "estimator"])
def test_a_matrix_that_is_not_a_kernel_is_refused_with_its_smallest_eigenvalue(through):
    rng = np.random.default_rng(0)
    X = 3 * rng.uniform(size=(20, 5))
    K, y = np.floor(X @ X.T), X[:, 0] + 0.1 * rng.normal(size=20)
    centred = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    lowest = f"{np.linalg.eigvalsh(centred)[0]:.3g}"
    model = KernelPLSRegressor(kernel="precomputed")
    fit = model.fit if through == "estimator" else partial(kernel_pls_path, kernel="precomputed")
    with pytest.raises(InvalidInputError, match=lowest):
        fit(K, y)


def test_values_of_single_precision_are_a_kernel():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 5))
    y = X[:, 0] + 0.1 * rng.normal(size=20)
    K = pairwise.rbf_kernel(X)
    rounded = K.astype(np.float32)
    # Rounding that differs on the two sides of the diagonal.
    rounded = np.triu(rounded) + np.tril(np.nextafter(rounded, np.float32(9e9)), -1)
    exact = kernel_pls_path(K, y, "precomputed", 3)
    path = kernel_pls_path(rounded, y, "precomputed", 3)
    np.testing.assert_allclose(path.dof, exact.dof, atol=1e-4)


@pytest.mark.parametrize("weights", [None, np.array([0.0, 1.0, 2.5] * 5)])
def test_precomputed_and_callable_kernels_equal_the_named_one(weights):
    X, y, X_new = make_curve(15, 3, seed=7)
    # Without scaling the kernel sees X as it is.
    values = partial(pairwise.rbf_kernel, gamma=0.4)
    options = {"max_components": 4, "scale": False, "sample_weight": weights}
    named = kernel_pls_path(X, y, "rbf", gamma=0.4, **options)
    given = kernel_pls_path(values(X), y, "precomputed", **options)
    called = kernel_pls_path(X, y, values, **options)
    for path, new in ((given, values(X_new, X)), (called, X_new)):
        np.testing.assert_allclose(path.dof, named.dof, rtol=1e-9)
        np.testing.assert_allclose(path.predict(new), named.predict(X_new), rtol=1e-8)


def test_polynomial_kernel_sees_the_data_as_they_are_without_scaling():
    X, y, X_new = make_curve(30, 2, seed=8)
    X, X_new = np.column_stack([X, np.full(30, 2.0)]), np.column_stack([X_new, np.full(5, 2.0)])
    path = kernel_pls_path(X, y, "poly", 4, gamma=0.5, degree=2, scale=False)
    values = partial(pairwise.polynomial_kernel, gamma=0.5, degree=2, coef0=1.0)
    fitted, predicted = dual_pls(values(X), values(X_new, X), y, 4)
    np.testing.assert_allclose(path.fitted[4], fitted, atol=1e-8)
    np.testing.assert_allclose(path.predict(X_new)[4], predicted, atol=1e-8)


@pytest.mark.parametrize(("coef0", "dimension"), [(1.0, 9), (0.0, 6)])
def test_rank_of_a_polynomial_kernel_is_its_number_of_monomials(coef0, dimension):
    # 3 variables, degree 2: 6 squares and products, 3 linear terms.
    X, y, _ = make_curve(40, 3, seed=9)
    path = kernel_pls_path(X, y, "poly", degree=2, coef0=coef0)
    assert path.exact.spectrum.rank == dimension
    assert path.exact.spectrum.unresolved == 0
    assert path.dof[-1] == pytest.approx(dimension + 1)


def test_the_last_component_interpolates_with_n_degrees_of_freedom():
    X, y, _ = make_curve(12, 2, seed=10)
    path = kernel_pls_path(X, y, gamma=2.0)
    assert len(path.dof) == 12
    assert path.dof[-1] == pytest.approx(12)
    np.testing.assert_allclose(path.fitted[-1], y, atol=1e-9)


def test_default_width_is_one_over_the_number_of_features():
    X, y, _ = make_curve(20, 4, seed=11)
    path = kernel_pls_path(X, y, max_components=2)
    assert path.recipe.gamma == 0.25
    assert "rbf(gamma=0.25)" in repr(path)
    assert "degree=3" in repr(kernel_pls_path(X, y, "poly", 2))
    assert "kernel=linear" in repr(kernel_pls_path(X, y, "linear", 2))


def test_cross_validation_takes_kernel_paths_as_they_are():
    X, y, _ = make_curve(30, 2, seed=12)
    fit = partial(kernel_pls_path, gamma=0.5, max_components=4)
    result = cross_validate(X, y, fit(X, y).recipe, cv=5)
    folds = [np.arange(i, 30, 5) for i in range(5)]
    errors = []
    for test in folds:
        train = np.setdiff1d(np.arange(30), test)
        K, K_new = rbf_pair(X[train], X[test], 0.5)
        predicted = [dual_pls(K, K_new, y[train], m)[1] for m in (1, 2, 3, 4)]
        errors.append(np.mean((np.array(predicted) - y[test]) ** 2, axis=1))
    np.testing.assert_allclose(result.mean_error[1:], np.mean(errors, axis=0), rtol=1e-7)


def test_columns_of_new_rows_are_compared_by_number_and_name():
    X, y, X_new = make_curve(20, 2, seed=19)
    frame = pd.DataFrame(X, columns=["a", "b"])
    path = kernel_pls_path(frame, y, max_components=2)
    np.testing.assert_allclose(
        path.predict(pd.DataFrame(X_new, columns=["a", "b"])), path.predict(X_new)
    )
    assert path.feature_names is None  # coefficients belong to rows
    with pytest.raises(InvalidInputError, match=r"X_new has 3 column\(s\), .* fitted on 2"):
        path.predict(np.ones((2, 3)))
    with pytest.raises(InvalidInputError, match="without 'b' and with 'c'"):
        path.predict(pd.DataFrame(X_new, columns=["a", "c"]))


def test_constant_columns_have_no_say():
    X, y, X_new = make_curve(20, 2, seed=20)
    plain = kernel_pls_path(X, y, gamma=0.5, max_components=3)
    with pytest.warns(ConstantColumnWarning, match="'2'"):
        path = kernel_pls_path(np.column_stack([X, np.ones(20)]), y, gamma=0.5, max_components=3)
    np.testing.assert_allclose(path.dof, plain.dof)
    shifted = np.column_stack([X_new, np.full(5, 7.0)])
    np.testing.assert_allclose(path.predict(shifted), plain.predict(X_new))


def test_more_components_than_supported_are_reported():
    X, y, _ = make_curve(10, 2, seed=21)
    with pytest.warns(RankExhaustedWarning, match="20 components asked for, at most 9 supported"):
        kernel_pls_path(X, y, max_components=20, gamma=1.0)


def test_float32_kernel_values_shorten_the_path_instead_of_spoiling_it():
    X, y, _ = make_curve(60, 2, seed=22)
    K = pairwise.rbf_kernel(standardized(X, X), gamma=0.1)
    exact = kernel_pls_path(K, y, "precomputed")
    rounded = kernel_pls_path(K.astype(np.float32), y, "precomputed")
    assert len(rounded.dof) < len(exact.dof)
    assert (
        rounded.exact.spectrum.eigenvalue_error[0] > 1e3 * exact.exact.spectrum.eigenvalue_error[0]
    )
    shared = slice(0, len(rounded.dof))
    # The matrix itself differs by 1e-8, which is the user's business.
    np.testing.assert_allclose(rounded.dof, exact.dof[shared], rtol=1e-2)


def test_from_gram_is_the_decomposition_of_the_rows_behind_it():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(9, 4))
    rows -= rows.mean(axis=0)
    decomposition = from_gram(rows @ rows.T, max_rank=4)
    S = np.linalg.svd(rows, compute_uv=False)
    np.testing.assert_allclose(decomposition.eigenvalues, S**2, rtol=1e-12)
    U = decomposition.to_samples(np.eye(4))
    np.testing.assert_allclose(U.T @ U, np.eye(4), atol=1e-12)
    np.testing.assert_allclose(
        rows @ rows.T @ decomposition.to_features(np.eye(4)), U * S, atol=1e-12
    )
    # Without a known rank the rest is kept, as one eigenvalue with an unknown share of y.
    whole = from_gram(rows @ rows.T)
    assert np.all(whole.z_amplification[4:] > 1e15)
    assert np.ptp(whole.eigenvalues[4:]) == 0 < whole.eigenvalues[4] < 1e-14
    np.testing.assert_allclose(whole.left.T @ np.ones(9), 0, atol=1e-12)
    assert np.all(from_gram(np.zeros((3, 3))).z_amplification > 1e15)


def test_predictions_do_not_depend_on_what_rounding_left_of_small_eigenvalues():
    # Half of the eigenvalues are below rounding, yet new rows have a part along them.
    X, y, X_new = make_curve(60, 2, seed=23)
    K, K_new = rbf_pair(X, X_new, 0.01)
    path = kernel_pls_path(X, y, gamma=0.01, max_components=4)
    assert np.count_nonzero(path.exact.decomposition.z_amplification > 1) > 20
    for m in (1, 2, 4):
        np.testing.assert_allclose(
            path.predict(X_new)[m], dual_pls(K, K_new, y, m)[1], rtol=0, atol=1e-9
        )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kernel": "sigmoid"}, "kernel must be one of 'rbf', 'laplacian'"),
        ({"gamma": -1.0}, "gamma must be finite and > 0"),
        ({"gamma": [0.1, 1.0]}, "gamma must be one number; got 2"),
        ({"kernel": "linear", "gamma": 1.0}, "gamma applies to the kernels"),
        ({"kernel": "poly", "coef0": -1.0}, "coef0 must be a number >= 0"),
        ({"kernel": "poly", "degree": 0}, "degree must be >= 1"),
        ({"kernel": "precomputed"}, r"square kernel matrix .* got shape \(10, 2\)"),
        ({"kernel": lambda A, B: -A @ B.T}, "must be positive semi-definite"),
        ({"kernel": lambda A, B: A[:, :1] + 0 * B[:, 0]}, "must be symmetric"),
        ({"kernel": lambda *_: np.ones(3)}, "result of the kernel function must be a table"),
        ({"kernel": lambda *_: np.ones((3, 3))}, r"here \(10, 10\); got shape \(3, 3\)"),
    ],
)
def test_unusable_kernels_are_refused(options, message):
    X, y, _ = make_curve(10, 2)
    with pytest.raises(InvalidInputError, match=message):
        kernel_pls_path(X, y, **options)


def test_new_rows_of_a_given_kernel_have_one_value_per_training_row():
    X, y, _ = make_curve(10, 2)
    given = kernel_pls_path(X @ X.T, y, "precomputed")
    with pytest.raises(InvalidInputError, match="kernel values of new rows with the 10 training"):
        given.predict(X)


def test_what_is_not_a_kernel_is_refused_when_it_comes_in():
    X, y, _ = make_curve(20, 2, seed=30)
    lopsided = X @ X.T
    lopsided[0, 1] += 1.0
    for K in (lopsided, np.abs(X[:, :1] - X[:, :1].T)):
        with pytest.raises(InvalidInputError, match=r"symmetric|semi-definite"):
            kernel_pls_path(K, y, "precomputed", 2)
    with pytest.raises(InvalidInputError, match="semi-definite"):
        kernel_pls_path(X, y, lambda A, B: -(A @ B.T), 2)
    for factor, kernel in ((1e200, "linear"), (1e120, "poly"), (1e60, "poly")):
        with pytest.raises(InvalidInputError, match="range of 64-bit floats"):
            kernel_pls_path(X * factor, y, kernel, 2, scale=False)
    X[3, 0] = np.nan
    with pytest.raises(InvalidInputError, match="NaN"):
        kernel_pls_path(X, y)


@pytest.mark.parametrize("unit", [1e60, 1e-60])
def test_rows_left_out_hold_in_any_unit(unit):
    X, y, _ = make_curve(25, 2, seed=31)
    usual, path = (kernel_pls_path(one, y, max_components=3) for one in (X, X * unit))
    np.testing.assert_allclose(path.left_out().residuals, usual.left_out().residuals, atol=1e-9)
