"""Random probes: quadrature against exact quadratic forms, standard errors against coverage."""

import numpy as np
import pytest
from scipy.special import stdtrit

from plsdof.large.probes import (
    BATCH,
    Probes,
    Sampled,
    estimate_trace,
    lanczos_quadrature,
    probe_until,
    probes_wanted,
    random_probes,
)

ORDER = 300


def spectrum(name, order=ORDER):
    number = np.arange(order)
    if name == "few":
        return np.concatenate([[5.0, 3.0, 2.0, 1.0, 0.3], np.zeros(order - 5)])
    if name == "dominated":
        return np.concatenate([[1e3], np.linspace(0.5, 1.5, order - 1)])
    return {"flat": np.linspace(0.5, 1.5, order), "geometric": 0.8**number}[name]


SPECTRA = ("flat", "geometric", "dominated", "few")


def times_of(eigenvalues):
    """Multiply with the diagonal matrix: probes are isotropic, so it stands for all others."""
    return lambda v: eigenvalues[:, None] * v


def filters_of(eigenvalues):
    """Filters of 2, 3 and 4 components, 1 - prod (1 - x / theta)."""
    top = eigenvalues.max()
    ritz = [[0.9, 0.3], [0.95, 0.5, 0.1], [0.98, 0.7, 0.3, 0.05]]

    def filters(x):
        return np.stack([1 - np.prod([1 - x / (t * top) for t in row], axis=0) for row in ritz])

    return filters


def sampled(times, order, steps, *, seed=0, basis=None, known=(), trace=np.nan):
    return Sampled(
        times=times, order=order, steps=steps, seed=seed, basis=basis, known=known, trace=trace
    )


def drawn(times, order, steps, *, count=BATCH, **options):
    return random_probes(sampled(times, order, steps, **options), range(count))


def half_width(probes, values, std_error, level=0.95):
    """Half the width of a t interval.

    Degrees of freedom of a standard error follow from how much the B terms that make up its square
    vary between the probes: 2B / (their squared coefficient of variation).
    """
    B, weights = probes.count, probes.weights
    columns = [np.ones(weights.size)]
    if np.isfinite(probes.trace):
        columns.append(probes.nodes.ravel())
    root = np.sqrt(weights.ravel())[:, None]
    f = values.reshape(len(values), -1).T
    coef = np.linalg.lstsq(root * np.stack(columns, axis=1), root * f, rcond=None)[0]
    left = (f - np.stack(columns, axis=1) @ coef).T.reshape(values.shape)
    terms = np.einsum("kbl,bl->kb", left**2, weights)
    relative = terms.var(axis=1, ddof=1) / terms.mean(axis=1) ** 2
    return stdtrit(2 * B / np.maximum(relative, 1e-16), (1 + level) / 2) * std_error


def chebyshev(degree, top):
    """Polynomial of the given degree that stays within -1..1 on 0..top."""
    return lambda x: np.polynomial.chebyshev.Chebyshev.basis(degree, domain=[0, top])(x)


@pytest.mark.parametrize("steps", [1, 4, 11, 31])
@pytest.mark.parametrize("name", SPECTRA)
def test_quadrature_is_exact_up_to_degree_two_steps_minus_one(name, steps):
    lam = spectrum(name)
    starts = np.random.default_rng(0).normal(size=(ORDER, 5))
    nodes, weights = lanczos_quadrature(times_of(lam), starts, steps)
    assert nodes.shape == weights.shape == (5, steps)
    for degree in range(2 * steps):
        f = chebyshev(degree, lam.max())
        exact = (starts**2).T @ f(lam)
        size = (starts**2).T @ np.abs(f(lam))
        found = np.sum(weights * f(nodes), axis=1)
        np.testing.assert_allclose(found, exact, atol=1e-11 * size.max(), rtol=0)


def test_quadrature_is_not_exact_beyond_that_degree():
    lam = spectrum("flat")
    starts = np.random.default_rng(0).normal(size=(ORDER, 1))
    nodes, weights = lanczos_quadrature(times_of(lam), starts, 4)
    exact = (starts**2).T @ lam**8
    assert np.abs(np.sum(weights * nodes**8) / exact - 1) > 1e-6


def test_quadrature_of_a_dense_matrix():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 15))
    G, starts = X.T @ X, rng.normal(size=(15, 3))
    nodes, weights = lanczos_quadrature(G.__matmul__, starts, 6)
    exact = np.einsum("ij,ik,kj->j", starts, np.linalg.matrix_power(G, 7), starts)
    np.testing.assert_allclose(np.sum(weights * nodes**7, axis=1), exact, rtol=1e-11)


@pytest.mark.parametrize("steps", [3, 8])
def test_recursion_that_ends_early_leaves_weights_of_zero(steps):
    lam = np.array([4.0, 4.0, 1.0, 0.0, 0.0, 0.0])
    starts = np.array([[1.0, 2.0, 3.0, 0.0, 0.0, 0.0], [0.0] * 6, [0.0] * 3 + [1.0] * 3]).T
    nodes, weights = lanczos_quadrature(times_of(lam), starts, steps)
    assert np.all(np.isfinite(nodes))
    np.testing.assert_allclose(weights.sum(axis=1), [14.0, 0.0, 3.0], atol=1e-13)
    heavy = weights > 1e-12
    assert heavy[0].sum() == 2
    np.testing.assert_allclose(nodes[0, heavy[0]], [1.0, 4.0])
    np.testing.assert_allclose(np.sum(weights * nodes**2, axis=1), [89, 0, 0], atol=1e-11)


def test_neither_starts_nor_what_the_product_returns_are_written_to():
    lam = np.linspace(1, 2, 5)[:, None]
    starts, buffer = np.ones((5, 2)), np.empty((5, 2))
    nodes, weights = lanczos_quadrature(lambda v: np.multiply(lam, v, out=buffer), starts, 3)
    np.testing.assert_array_equal(starts, np.ones((5, 2)))
    np.testing.assert_allclose(np.sum(weights * nodes**5, axis=1), np.sum(lam**5))
    nodes, weights = lanczos_quadrature(lambda v: v, starts, 3)
    np.testing.assert_allclose(np.sum(weights * nodes, axis=1), [5.0, 5.0])


def test_probes_stay_outside_the_basis_on_a_sphere():
    rng = np.random.default_rng(3)
    basis = np.linalg.qr(rng.normal(size=(30, 4)))[0]
    seen = []

    def times(v):
        seen.append(v)
        return v

    probes = drawn(times, 30, 2, count=5, basis=basis, known=np.ones(4), trace=30.0)
    assert np.abs(basis.T @ seen[0]).max() < 1e-14
    np.testing.assert_allclose(probes.weights.sum(axis=1), 26.0)
    assert (probes.dimension, probes.trace) == (26, pytest.approx(26.0))


def test_steep_filters_are_kept_away_from_the_eigenvalues_that_are_deflated():
    # A filter of ten components that has found two large eigenvalues has a slope of 1e34 there,
    # so that a weight of 1e-20 would do; rounding brings it back if it is not kept out.
    lam = np.concatenate([[1e6, 1e4], np.linspace(0.5, 1.5, ORDER - 2)])
    ritz = np.concatenate([[1e6, 1e4], np.linspace(0.55, 1.45, 8)])
    mirror = np.random.default_rng(0).normal(size=(ORDER, 1))
    mirror /= np.linalg.norm(mirror)

    def reflect(v):
        return v - 2 * mirror @ (mirror.T @ v)

    def times(v):
        return reflect(lam[:, None] * reflect(v))

    def filters(x):
        return 1 - np.prod([1 - x / t for t in ritz], axis=0)[None]

    basis = reflect(np.eye(ORDER)[:, :2])
    probes = drawn(times, ORDER, 11, basis=basis, known=lam[:2], trace=lam.sum())
    value, std_error = estimate_trace(probes, filters(probes.nodes))
    exact = filters(lam[2:]).sum()
    assert np.abs(value[0] - exact) < 4 * std_error[0] + 1e-8
    assert std_error[0] < 1e-3 * exact


def test_same_seed_same_numbers_whatever_the_batches():
    lam = spectrum("geometric")
    matrix = sampled(times_of(lam), ORDER, 6, seed=5, trace=lam.sum())
    whole, again = random_probes(matrix, range(20)), random_probes(matrix, range(20))
    np.testing.assert_array_equal(whole.nodes, again.nodes)
    np.testing.assert_array_equal(whole.weights, again.weights)
    single = random_probes(matrix, range(1))
    for number in range(1, 20):
        single = single.joined(random_probes(matrix, range(number, number + 1)))
    for other in (
        single,
        random_probes(matrix, range(7)).joined(random_probes(matrix, range(7, 20))),
    ):
        np.testing.assert_allclose(other.nodes, whole.nodes, rtol=1e-9, atol=1e-14)
        np.testing.assert_allclose(other.weights, whole.weights, rtol=1e-9, atol=1e-9)
    different = drawn(times_of(lam), ORDER, 6, count=20, seed=6)
    assert not np.allclose(different.weights, whole.weights)


@pytest.mark.parametrize("trace", [True, False])
def test_calibrated_weights_give_the_estimate_and_integrate_what_is_known(trace):
    lam = spectrum("geometric")
    filters = filters_of(lam)
    known = lam.sum() if trace else np.nan
    probes = drawn(times_of(lam), ORDER, 6, trace=known)
    weights = probes.calibrated_weights
    value, _ = estimate_trace(probes, filters(probes.nodes))
    np.testing.assert_allclose(
        np.sum(weights * filters(probes.nodes), axis=(1, 2)), value, rtol=1e-12
    )
    assert weights.sum() == pytest.approx(ORDER)
    if trace:
        assert np.sum(weights * probes.nodes) == pytest.approx(lam.sum(), rel=1e-13)
    else:
        np.testing.assert_allclose(weights, probes.weights / BATCH)


@pytest.mark.parametrize("name", SPECTRA)
def test_standard_error_without_control_is_that_of_the_exact_variance(name):
    lam = spectrum(name)
    probes = drawn(times_of(lam), ORDER, 6, count=2000)
    values = filters_of(lam)(probes.nodes)
    f = filters_of(lam)(lam)
    exact = 2 * ORDER / (ORDER + 2) * (np.sum(f**2, axis=1) - f.sum(axis=1) ** 2 / ORDER)
    _, std_error = estimate_trace(probes, values)
    np.testing.assert_allclose(2000 * std_error**2, exact, rtol=0.15)
    # the same from the spread of the probes, which the formula does not use
    spread = np.sum(probes.weights * values, axis=2).var(axis=1, ddof=1)
    np.testing.assert_allclose(spread, exact, rtol=0.25)


@pytest.mark.parametrize("control", [True, False])
def test_estimate_is_a_weighted_regression_on_the_nodes(control):
    rng = np.random.default_rng(4)
    B, L, D = 5, 3, 7
    nodes, weights = rng.uniform(0, 2, (B, L)), rng.uniform(0.1, 1, (B, L))
    weights *= D / weights.sum(axis=1, keepdims=True)
    f = np.sin(nodes)
    trace = 8.0 if control else np.nan
    probes = Probes(nodes=nodes, weights=weights, dimension=D, trace=trace)
    value, std_error = estimate_trace(probes, f[None])
    columns = [np.ones(B * L), nodes.ravel()] if control else [np.ones(B * L)]
    design, root = np.stack(columns, axis=1), np.sqrt(weights.ravel())[:, None]
    coef = np.linalg.lstsq(root * design, root[:, 0] * f.ravel())[0]
    # the fitted line at the mean node that is known, tr G / D
    assert value[0] == pytest.approx(D * (coef @ [1.0, trace / D][: len(coef)]))
    squares = np.sum(weights * (f - (design @ coef).reshape(B, L)) ** 2, axis=1)
    variance = 2 * D / (D + 2) * squares.mean() * (B / (B - 1) if control else 1)
    assert std_error[0] == pytest.approx(np.sqrt(variance / B))


def test_linear_functions_are_exact_with_the_known_trace_up_to_the_rounding_reported():
    lam = spectrum("geometric")
    for seed in range(50):
        probes = drawn(times_of(lam), ORDER, 2, seed=seed, trace=lam.sum())
        value, std_error = estimate_trace(probes, 3 * probes.nodes[None])
        assert std_error[0] < 1e-12
        assert np.abs(value[0] - 3 * lam.sum()) < 2 * std_error[0]


def test_control_variate_and_deflation_reduce_the_standard_error():
    lam = spectrum("dominated")
    part = {"basis": np.eye(ORDER)[:, :1], "known": lam[:1]}
    errors = {}
    for name, options in {
        "plain": {},
        "control": {"trace": lam.sum()},
        "deflated": part,
        "both": {**part, "trace": lam.sum()},
    }.items():
        probes = drawn(times_of(lam), ORDER, 6, **options)
        errors[name] = estimate_trace(probes, filters_of(lam)(probes.nodes))[1].max()
    assert errors["control"] < errors["plain"] / 5
    assert errors["deflated"] < errors["plain"] / 5
    assert errors["both"] < errors["deflated"] / 100


@pytest.mark.parametrize("trace", [5.0, np.nan])
def test_nothing_is_left_to_sample_when_the_basis_is_complete(trace):
    probes = drawn(lambda v: v, 5, 3, basis=np.eye(5), known=np.ones(5), trace=trace)
    value, std_error = estimate_trace(probes, probes.nodes[None])
    assert value[0] == std_error[0] == 0.0
    assert not probes.calibrated_weights.any()


@pytest.mark.parametrize("level", [0.0, 2.5])
def test_multiples_of_the_identity_are_exact(level):
    rounded = level * (1 + np.finfo(float).eps * np.random.default_rng(0).integers(-3, 4, 50))
    probes = drawn(times_of(rounded), 50, 4, trace=50 * level)
    value, std_error = estimate_trace(probes, probes.nodes[None] ** 2)
    assert value[0] == pytest.approx(50 * level**2, abs=1e-12)
    assert std_error[0] < 1e-11
    np.testing.assert_allclose(probes.calibrated_weights, probes.weights / BATCH, rtol=1e-12)


def test_wanted_probes_follow_the_square_of_the_error():
    def wanted(std_error, allowed, count=8, **options):
        return probes_wanted(np.array(std_error), np.array(allowed), count, **options)

    assert wanted([0.2, 0.0], [0.2, 0.0]) == 8
    assert wanted([0.2, 0.0], [0.19, 0.0]) == 16
    assert wanted([0.15], [0.1]) == 24  # 2.25 * 8 = 18
    assert wanted([0.1001], [0.1]) == 16
    assert wanted([9.0], [0.1]) == 32
    assert wanted([9.0], [0.0]) == 32
    assert wanted([9.0], [0.1], maximum=20) == 20
    assert wanted([9.0], [0.1], 20, maximum=20) == 20


def test_probing_ends_when_the_tolerance_is_met_and_not_before():
    lam = spectrum("geometric")
    filters, calls = filters_of(lam), []
    matrix = sampled(times_of(lam), ORDER, 6, seed=1)
    probes = probe_until(
        matrix,
        filters,
        tolerance=0.05,
        progress=lambda done, planned: calls.append((done, planned)),
    )
    value, std_error = estimate_trace(probes, filters(probes.nodes))
    assert np.all(std_error <= 0.05 * value)
    assert [done for done, _ in calls] == list(range(8, probes.count + 1, 8))
    whole = random_probes(matrix, range(probes.count))
    np.testing.assert_allclose(probes.nodes, whole.nodes, rtol=1e-9, atol=1e-14)
    before = random_probes(matrix, range(8))
    value, std_error = estimate_trace(before, filters(before.nodes))
    assert np.any(std_error > 0.05 * value)
    # What is known exactly counts, too.
    lenient = probe_until(matrix, filters, tolerance=0.05, offset=1e4)
    assert lenient.count == 8
    assert probe_until(matrix, filters, tolerance=1e-9, maximum=20).count == 20


def run(name, seed, *, control, deflated, sequential):
    """Return the error of three traces, the half width of their intervals, and the exact values."""
    lam = spectrum(name)
    filters, offset = filters_of(lam), 0.0
    options = {"seed": seed, "trace": lam.sum() if control else np.nan}
    if deflated:
        options |= {"basis": np.eye(ORDER)[:, :2], "known": lam[:2]}
        offset = filters(lam[:2]).sum(axis=1)
    matrix = sampled(times_of(lam), ORDER, 5, **options)
    if sequential:
        probes = probe_until(matrix, filters, tolerance=0.05, offset=offset, maximum=200)
    else:
        probes = random_probes(matrix, range(BATCH))
    values = filters(probes.nodes)
    value, std_error = estimate_trace(probes, values)
    error = value + offset - filters(lam).sum(axis=1)
    return error, half_width(probes, values, std_error)


def coverage(repetitions, name, **how):
    results = [run(name, seed, **how) for seed in range(repetitions)]
    return np.mean([np.abs(error) <= width for error, width in results], axis=0)


@pytest.mark.slow
@pytest.mark.parametrize("sequential", [False, True], ids=["eight-probes", "sequential"])
@pytest.mark.parametrize("deflated", [False, True], ids=["whole", "deflated"])
@pytest.mark.parametrize("control", [False, True], ids=["plain", "control"])
@pytest.mark.parametrize("name", SPECTRA)
def test_intervals_cover_as_often_as_they_say(name, control, deflated, sequential):
    # 95 % nominal. Below: 3 binomial standard deviations (2.7 points at 600 repetitions), above:
    # intervals with control variate are up to 2.5 points too wide with eight probes.
    repetitions = 600
    noise = 3 * np.sqrt(0.95 * 0.05 / repetitions)
    found = coverage(repetitions, name, control=control, deflated=deflated, sequential=sequential)
    assert found.min() > 0.95 - noise
    assert found.max() < min(0.95 + noise + 0.025 * control, 0.999)


@pytest.mark.parametrize("name", ["geometric", "few"])
def test_intervals_cover_about_as_often_as_they_say(name):
    # 4 binomial standard deviations: 7.1 points at 150 repetitions
    found = coverage(150, name, control=True, deflated=False, sequential=False)
    assert found.min() > 0.95 - 4 * np.sqrt(0.95 * 0.05 / 150)


@pytest.mark.slow
@pytest.mark.parametrize("name", SPECTRA)
def test_bias_of_the_control_variate_is_a_fraction_of_the_standard_error(name):
    results = [
        run(name, seed, control=True, deflated=False, sequential=False)[0] for seed in range(1500)
    ]
    error = np.array(results)
    # a fifth of the standard error, and 3 standard deviations of the mean of 1500
    assert np.all(np.abs(error.mean(axis=0)) < (0.2 + 3 / np.sqrt(1500)) * error.std(axis=0))
