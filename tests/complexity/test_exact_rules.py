"""Every exact rule and every path: against central differences, and against its own Monte Carlo."""

import numpy as np
import pytest
from _helpers.regressors import (
    ALL,
    CHOOSING,
    FIXED_BY_CHOICE,
    N,
    drawn_dof,
    make_data,
    trace_by_central_differences,
)
from sklearn.base import clone

from plsdof import kernel_pls_path, pcr_path, penalized_pls_path, pls2_path, pls_path, ridge_path
from plsdof.complexity.regressors import RULES, degrees_of_freedom, monte_carlo_dof

X, Y = make_data()
W = np.random.default_rng(5).integers(0, 4, N)
# A small step: what is not linear in y is then measured at y itself.
SMALL = {"noise": 0.1, "step": 1e-4, "n_draws": 16}


def names_of_rules(estimator):
    """Class names of an estimator and of the steps inside it."""
    yield type(estimator).__name__
    for _, inside in getattr(estimator, "steps", ()):
        yield from names_of_rules(inside)


def test_every_rule_has_an_entry_in_the_tables():
    models = [*ALL.values(), *(model for model, _ in CHOOSING.values())]
    tested = {name for model in models for name in names_of_rules(model)}
    assert set(RULES) <= tested
    assert set(CHOOSING) == set(FIXED_BY_CHOICE)


@pytest.mark.parametrize("name", ALL)
def test_a_formula_equals_central_differences_of_the_fit(name):
    result = degrees_of_freedom(ALL[name], X, Y)
    assert result.method == "exact"
    assert result.std_error == 0
    assert result.draws.size == 0
    expected = trace_by_central_differences(ALL[name], X, Y)
    assert result.value == pytest.approx(expected, abs=2e-5, rel=1e-5)


@pytest.mark.parametrize("name", ALL)
def test_a_formula_equals_its_monte_carlo_within_three_standard_errors(name):
    exact = degrees_of_freedom(ALL[name], X, Y).value
    drawn = degrees_of_freedom(ALL[name], X, Y, "monte-carlo", **SMALL)
    assert drawn.method == "monte-carlo"
    assert drawn.std_error < 2.0
    assert abs(drawn.value - exact) <= 3 * drawn.std_error + 1e-6


@pytest.mark.parametrize("name", CHOOSING)
def test_a_conditional_formula_equals_both_with_the_choice_held_fixed(name):
    model = CHOOSING[name][0]
    fixed = FIXED_BY_CHOICE[name](clone(model).fit(X, Y))
    conditional = degrees_of_freedom(model, X, Y, "exact").value
    expected = trace_by_central_differences(fixed, X, Y)
    assert conditional == pytest.approx(expected, abs=2e-5, rel=1e-5)
    drawn = degrees_of_freedom(fixed, X, Y, "monte-carlo", **SMALL)
    assert abs(drawn.value - conditional) <= 3 * drawn.std_error + 1e-6


def gram(A):
    return np.exp(-0.05 * np.sum((A[:, None] - A) ** 2, axis=2))


PATHS = {
    "PLS": lambda y, w: pls_path(X, y, sample_weight=w),
    "PLS, not scaled, svd": lambda y, w: pls_path(X, y, sample_weight=w, scale=False, solver="svd"),
    "PLS, few of many": lambda y, w: pls_path(WIDE, y, 3, sample_weight=w, solver="gram"),
    "PCR": lambda y, w: pcr_path(X, y, sample_weight=w),
    "ridge": lambda y, w: ridge_path(X, y, [300.0, 30.0, 3.0, 0.3], sample_weight=w),
    "kernel, rbf": lambda y, w: kernel_pls_path(X, y, gamma=0.1, max_components=3, sample_weight=w),
    "kernel, laplacian": lambda y, w: kernel_pls_path(X, y, "laplacian", 3, sample_weight=w),
    "kernel, polynomial": lambda y, w: kernel_pls_path(X, y, "poly", 3, degree=2, sample_weight=w),
    "kernel, linear": lambda y, w: kernel_pls_path(X, y, "linear", 3, sample_weight=w),
    "kernel, given": lambda y, w: kernel_pls_path(gram(X), y, "precomputed", 3, sample_weight=w),
    "kernel, callable": lambda y, w: kernel_pls_path(X, y, inner_products, 3, sample_weight=w),
    "penalised": lambda y, w: penalized_pls_path(X, y, strength=5.0, sample_weight=w),
    "penalised, first differences, scaled": lambda y, w: penalized_pls_path(
        X, y, 1, strength=2.0, scale=True, sample_weight=w
    ),
}
WIDE = np.random.default_rng(3).normal(size=(N, 40)) + X[:, :1]


def inner_products(A, B):
    return A @ B.T


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("name", PATHS)
@pytest.mark.parametrize("m", [1, 3])
def test_a_path_equals_central_differences_and_its_monte_carlo(name, m, weighted):
    w = W if weighted else None
    kept = W > 0 if weighted else np.full(N, True)
    path = PATHS[name](Y, w)
    total = 0.0
    for place, i in enumerate(np.flatnonzero(kept)):
        bump = 1e-5 * np.eye(N)[i]
        change = PATHS[name](Y + bump, w).fitted[m] - PATHS[name](Y - bump, w).fitted[m]
        total += change[place] / 2e-5
    assert path.dof[m] == pytest.approx(total, abs=2e-5, rel=1e-5)
    drawn = drawn_dof(
        path, Y[kept], m, step=3e-5, n_draws=16, weights=W[kept] if weighted else None
    )
    assert abs(drawn.value - path.dof[m]) <= 3 * drawn.std_error + 1e-5


def test_the_compressed_route_is_among_the_paths_tested():
    assert PATHS["PLS, few of many"](Y, None).exact.full is not None


@pytest.mark.slow
@pytest.mark.parametrize("name", PATHS)
def test_a_path_agrees_with_many_draws_at_every_size(name):
    path = PATHS[name](Y, None)
    for m in range(len(path.dof)):
        drawn = drawn_dof(path, Y, m, step=3e-5, n_draws=400)
        assert drawn.std_error < 0.5
        assert abs(drawn.value - path.dof[m]) <= 3 * drawn.std_error + 1e-5


JOINT = {
    f"{algorithm}{', scaled' * scaled}": {"algorithm": algorithm, "scale_response": scaled}
    for algorithm in ("nipals", "simpls")
    for scaled in (False, True)
}


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("options", JOINT.values(), ids=JOINT)
def test_pls2_equals_central_differences_and_its_monte_carlo(options, weighted):
    w = W if weighted else None
    kept = W > 0 if weighted else np.full(N, True)
    both = np.column_stack([Y, X[:, 0] * Y])
    rng = np.random.default_rng(0)

    def fit(response, seed=0):  # noqa: ARG001
        full = both.copy()
        full[kept] = response.reshape(-1, 2)
        return pls2_path(X, full, 3, sample_weight=w, **options).fitted[2].ravel()

    path, flat = pls2_path(X, both, 3, sample_weight=w, **options), both[kept].ravel()
    steps = 1e-5 * np.eye(len(flat))
    total = sum((fit(flat + e) - fit(flat - e))[i] for i, e in enumerate(steps)) / 2e-5
    assert path.dof[2] == pytest.approx(total, abs=2e-5, rel=1e-5)
    drawn = monte_carlo_dof(fit, flat, step=1e-4, n_draws=20, rng=rng)
    assert abs(drawn.value - path.dof[2]) <= 3 * drawn.std_error + 1e-5
