"""What "unbiased" means, and the identities that docs/theory.md states: each is checked here.

The Monte Carlo numbers quoted on that page are printed by ``pytest -m slow -s`` on this file.
Tolerances are four standard errors of the mean over the draws.
"""

from types import SimpleNamespace

import numpy as np
import pytest

from plsdof import pls_path
from plsdof.paper import krylov

DRAWS = 4000
# Four standard errors: a test of this kind fails by chance once in 16,000 runs.
ERRORS = 4.0


def standardized(X):
    X = X - X.mean(axis=0)
    return X / X.std(axis=0, ddof=1)


def correlated(n, p, rho, seed):
    """Return n x p predictors with correlation rho^|i - j| in the population, standardised."""
    lags = np.abs(np.subtract.outer(np.arange(p), np.arange(p)))
    root = np.linalg.cholesky(rho**lags)
    return standardized(np.random.default_rng(seed).normal(size=(n, p)) @ root.T)


@pytest.fixture(params=[(40, 6), (20, 25)], ids=["tall", "wide"])
def problem(request):
    n, p = request.param
    X = correlated(n, p, 0.6, seed=1)
    y = X @ np.linspace(1, -1, p) + np.random.default_rng(2).normal(size=n)
    return SimpleNamespace(X=X, y=y - y.mean())


# Identities
# ----------


@pytest.mark.parametrize("m", [1, 2, 3])
def test_the_fit_is_its_own_first_order_expansion(problem, m):
    """The fit is homogeneous of degree one in y: beta = (d beta/dy) y is an identity."""
    path = pls_path(problem.X, problem.y, m)
    np.testing.assert_allclose(path.coef_jacobian(m) @ problem.y, path.coef[m], atol=1e-10)
    np.testing.assert_allclose(path.jacobian(m) @ problem.y, path.fitted[m], atol=1e-10)
    tripled = pls_path(problem.X, 3 * problem.y, m)
    np.testing.assert_allclose(tripled.coef, 3 * path.coef, atol=1e-10)
    np.testing.assert_allclose(tripled.dof, path.dof, rtol=1e-10)


@pytest.mark.parametrize("m", [1, 2, 3])
def test_the_sum_of_the_papers_proposition_is_a_projected_residual_filter(problem, m):
    """Check sum_j v_j (y - yhat)'K^j = TT'(I - f(K)), and that the closed form follows."""
    found = krylov(problem.X, problem.y, m)
    T, n = found.scores, len(problem.y)
    K = found.kernel_root @ found.kernel_root.T
    inverse = np.linalg.inv(found.basis)
    c, V = inverse @ (T.T @ problem.y), T @ inverse.T
    powers = [np.linalg.matrix_power(K, j) for j in range(1, m + 1)]
    f = sum(c_j * power for c_j, power in zip(c, powers, strict=True))
    residual = problem.y - f @ problem.y
    third = sum(np.outer(V[:, j], residual @ power) for j, power in enumerate(powers))
    np.testing.assert_allclose(third, T @ T.T @ (np.eye(n) - f), atol=1e-8)
    closed = 1 / n + f + 2 * T @ T.T @ (np.eye(n) - f)
    np.testing.assert_allclose(closed, found.jacobian(m), atol=1e-8)
    np.testing.assert_allclose(closed, pls_path(problem.X, problem.y, m).jacobian(m), atol=1e-8)


def lipschitz_bound(X, m):
    """Return 1 + max(1, kappa - 1)^m, kappa the ratio of extreme non-zero eigenvalues of K."""
    eigenvalues = np.linalg.svd(X, compute_uv=False) ** 2
    eigenvalues = eigenvalues[eigenvalues > 1e-10 * eigenvalues[0]]
    return 1 + max(1.0, eigenvalues[0] / eigenvalues[-1] - 1) ** m


@pytest.mark.parametrize("m", [1, 2, 3])
def test_the_derivative_is_bounded_whatever_y_is(m):
    X = correlated(12, 4, 0.9, seed=3)
    U, *_ = np.linalg.svd(X, full_matrices=False)
    rng, largest = np.random.default_rng(4), 0.0
    for _ in range(200):
        # Responses that hardly excite some eigenvalues: where the derivative is largest.
        z = rng.normal(size=4) * 10.0 ** rng.uniform(-4, 0, size=4)
        J = pls_path(X, U @ z, m).jacobian(m)
        largest = max(largest, np.linalg.norm(J, 2))
    assert 1.0 < largest <= lipschitz_bound(X, m)


def test_the_fit_is_continuous_where_the_krylov_space_degenerates():
    """With k < m excited eigenvalues the fit is the projection of y; so are limits towards it."""
    X = correlated(12, 4, 0.9, seed=3)
    U, *_ = np.linalg.svd(X, full_matrices=False)
    at = U @ [0.0, 1.0, 0.0, 1.0]
    direction = U @ [1.0, 0.0, 0.5, 0.0]
    for step in (1e-2, 1e-4, 1e-6):
        near = pls_path(X, at + step * direction, 3)
        gap = np.linalg.norm(near.fitted[3] - at)
        assert gap <= lipschitz_bound(X, 3) * step * np.linalg.norm(direction)


# Expectations, by Monte Carlo
# ----------------------------


def simulate(X, mean, sigma, seed):
    """Return traces (draws, M+1), what the noise does to the fits, and the choice by BIC.

    The covariance penalty of fits F is the mean of (F - mean F)'e / sigma^2 over the draws.
    """
    noise = sigma * np.random.default_rng(seed).normal(size=(DRAWS, len(X)))
    paths = [pls_path(X, mean + e) for e in noise]
    fitted = np.array([path.fitted for path in paths])
    chosen = np.array([np.argmin(path.criterion("bic", dof="exact")) for path in paths])
    dof = np.array([path.dof for path in paths])
    rows = np.arange(DRAWS)

    def penalty(fits):
        return np.sum((fits - fits.mean(axis=0)) * noise, axis=1) / sigma**2

    return SimpleNamespace(
        dof=dof,
        penalty=np.array([penalty(fitted[:, m]) for m in range(dof.shape[1])]).T,
        chosen_dof=dof[rows, chosen],
        chosen_penalty=penalty(fitted[rows, chosen]),
        chosen=chosen,
    )


def mean_and_error(values):
    return values.mean(), values.std(ddof=1) / np.sqrt(len(values))


def report(name, dof, penalty):
    (a, a_error), (b, b_error) = mean_and_error(dof), mean_and_error(penalty)
    print(
        f"{name}: mean trace {a:.2f} (se {a_error:.2f}, sd {dof.std():.2f}), "
        f"covariance penalty {b:.2f} (se {b_error:.2f})"
    )


@pytest.fixture(scope="module")
def weak_signal():
    """30 x 8, unit noise, three predictors with coefficients of 1/4."""
    X = correlated(30, 8, 0.5, seed=0)
    return simulate(X, X @ np.array([0.25, 0.25, 0, 0, 0, 0, 0, -0.25]), 1.0, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("m", [1, 2, 3])
def test_at_a_fixed_size_the_trace_is_unbiased_for_the_covariance_penalty(weak_signal, m):
    dof, penalty = weak_signal.dof[:, m], weak_signal.penalty[:, m]
    report(f"m = {m}", dof, penalty)
    gap, error = mean_and_error(dof - penalty)
    assert abs(gap) < ERRORS * error


@pytest.mark.slow
def test_after_a_choice_by_bic_the_penalty_is_larger_than_the_trace(weak_signal):
    report("m by BIC", weak_signal.chosen_dof, weak_signal.chosen_penalty)
    gap, error = mean_and_error(weak_signal.chosen_penalty - weak_signal.chosen_dof)
    assert gap > 1 + ERRORS * error
    assert 0.2 < np.mean(weak_signal.chosen > 0) < 0.9  # a choice that could go either way


@pytest.mark.slow
def test_one_estimate_has_a_spread_of_its_own(weak_signal):
    dof = weak_signal.dof[:, 1]
    print("one component: percentiles 1, 50, 99:", np.percentile(dof, [1, 50, 99]).round(2))
    assert 0.1 < dof.std() / dof.mean() < 0.4


@pytest.mark.slow
def test_expected_dof_can_be_far_below_the_number_of_components():
    """DoF(m) >= m + 1 fails in expectation, for scaled predictors and a believable response."""
    columns = np.random.default_rng(5).normal(size=(20, 2))
    common, difference = np.linalg.qr(columns - columns.mean(axis=0))[0].T
    # Two columns with correlation 0.98: eigenvalues in the ratio 1 : 0.0101.
    ratio = 0.02 / 1.98
    X = standardized(np.column_stack([common + s * np.sqrt(ratio) * difference for s in (1, -1)]))
    assert abs(np.corrcoef(X.T)[0, 1] - 0.98) < 1e-10
    # The response is the difference of the two columns, and a little of what they share.
    mean = difference + np.sqrt(3) * ratio * common
    found = simulate(X, mean, 0.2 * np.sqrt(3) * ratio, seed=6)
    dof, penalty = found.dof[:, 1], found.penalty[:, 1]
    report("two columns with correlation 0.98, m = 1", dof, penalty)
    value, error = mean_and_error(dof)
    assert value + ERRORS * error < 0 < 2
    gap, error = mean_and_error(dof - penalty)
    assert abs(gap) < ERRORS * error
