"""Folds fitted together: the same numbers as one full fit per fold, or none at all."""

from dataclasses import replace

import numpy as np
import pytest
from _helpers.problems import make_problem
from numpy.testing import assert_allclose, assert_array_equal

from plsdof import pls_path
from plsdof.errors import ConstantColumnWarning, RankExhaustedWarning
from plsdof.selection import _fold_moments as fold_moments
from plsdof.selection import _fold_products as fold_products
from plsdof.selection import cross_validation as fold_fitters
from plsdof.selection._fold_fits import (
    FoldProblem,
    Recursion,
    Scaling,
    TrainingMoments,
    guarded_fits,
)
from plsdof.selection._fold_moments import fits_from_moments
from plsdof.selection._fold_products import fits_from_kernel, fits_from_products
from plsdof.selection.cross_validation import cross_validate
from plsdof.selection.folds import Fold, make_folds

ROUTES = [fits_from_products, fits_from_kernel, fits_from_moments]
SCALED = [fits_from_products, fits_from_moments]


def problem_of(X, y, *, max_components=None, scale=True, weights=None):
    return FoldProblem(X=X, y=y, weights=weights, max_components=max_components, scale=scale)


def full_fit(problem, fold, **options):
    """Fit the training rows of a fold from scratch."""
    w = None if problem.weights is None else problem.weights[fold.train]
    return pls_path(
        problem.X[fold.train],
        problem.y[fold.train],
        problem.max_components,
        scale=problem.scale,
        sample_weight=w,
        **options,
    )


def assert_equal_to_full_fits(problem, folds, fits, tolerance=1e-9):
    """Compare all folds that were fitted, relative to the size of the predictions."""
    for fold, fit in zip(folds, fits, strict=True):
        if fit is None:
            continue
        expected = full_fit(problem, fold).predict(problem.X[fold.test])
        found = fit[0].predictions
        assert found.shape == expected.shape
        size = np.maximum(np.abs(expected - expected[0]), problem.y.std())
        assert np.max(np.abs(found - expected) / size) < tolerance


def spectra(n, p, *, noise, seed=0):
    """Smooth curves: a few broad bands, a sloping baseline, and little noise on top."""
    rng = np.random.default_rng(seed)
    x = np.linspace(0, 1, p)
    bands = np.exp(-(((x - rng.uniform(0, 1, (8, 1))) / rng.uniform(0.05, 0.3, (8, 1))) ** 2) / 2)
    amounts = rng.uniform(0, 1, (n, 8))
    X = 1 + amounts @ bands + 0.3 * rng.normal(size=(n, 1)) * x
    X += noise * np.cumsum(rng.normal(size=(n, p)), axis=1) / np.sqrt(p)
    return X, amounts[:, 0] + amounts[:, 1] / 2 + 0.05 * rng.normal(size=n)


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize(("n", "p"), [(60, 12), (30, 90), (40, 40)])
def test_every_route_equals_a_full_fit_of_each_fold(route, n, p):
    X, y = make_problem(n, p, seed=n + p, decay=1.5)
    problem = problem_of(X, y, max_components=10, scale=route is not fits_from_kernel)
    folds = make_folds(X, y, 7)
    fits = route(problem, folds)
    assert all(fit is not None for fit in fits)
    assert_equal_to_full_fits(problem, folds, fits, 1e-11)


def test_the_kernel_is_not_used_with_scaling():
    X, y = make_problem(20, 30, seed=0)
    assert fits_from_kernel(problem_of(X, y, max_components=2), make_folds(X, y, 2)) == [None, None]


@pytest.mark.parametrize("route", ROUTES)
def test_all_components_that_rows_or_columns_allow(route):
    X, y = make_problem(31, 5, seed=1)
    problem = problem_of(X, y, scale=False)
    folds = make_folds(X, y, 4)
    fits = route(problem, folds)
    assert [len(fit[0].parameters) for fit in fits] == [6] * 4
    assert_equal_to_full_fits(problem, folds, fits)
    wide = problem_of(*make_problem(11, 40, seed=1), scale=False)
    folds = make_folds(wide.X, wide.y, 4)
    fits = route(wide, folds)
    assert [len(fit[0].parameters) for fit in fits if fit] == [8, 8, 8, 9]
    assert_equal_to_full_fits(wide, folds, fits)


@pytest.mark.parametrize("route", ROUTES)
def test_weights_of_which_some_are_zero(route):
    X, y = make_problem(50, 9, seed=2)
    X[::5], y[::5] = 1e9, 1e6
    weights = np.random.default_rng(0).uniform(0.2, 3.0, 50)
    weights[::5] = 0.0
    problem = problem_of(X, y, max_components=6, weights=weights, scale=False)
    folds = make_folds(X, y, 4)
    fits = route(problem, folds)
    assert all(fit is not None for fit in fits)
    assert_equal_to_full_fits(problem, folds, fits)


def test_training_rows_of_their_own_may_repeat():
    X, y = make_problem(40, 6, seed=3)
    rng = np.random.default_rng(0)
    folds = [
        Fold(test=np.arange(5 * i, 5 * i + 5), n_rows=40, train_rows=rng.integers(20, 40, 30))
        for i in range(4)
    ]
    problem = problem_of(X, y, max_components=4)
    fits = fits_from_products(problem, folds)
    assert all(fit is not None for fit in fits)
    assert_equal_to_full_fits(problem, folds, fits)
    assert fits_from_moments(problem, folds) == [None] * 4


@pytest.mark.parametrize("route", ROUTES)
def test_folds_are_worked_on_in_batches(route, monkeypatch):
    X, y = make_problem(24, 5, seed=4)
    folds = make_folds(X, y, 24)
    problem = problem_of(X, y, max_components=3, scale=False)
    at_once = route(problem, folds)
    monkeypatch.setattr(fold_products, "_AT_ONCE", 500)
    monkeypatch.setattr(fold_moments, "_AT_ONCE", 500)
    in_batches = route(problem, folds)
    for one, other in zip(at_once, in_batches, strict=True):
        assert_allclose(one[0].predictions, other[0].predictions, rtol=1e-12)
    assert_equal_to_full_fits(problem, folds, in_batches)


def test_repeats_share_the_moments_of_all_rows(monkeypatch):
    X, y = make_problem(60, 5, seed=5)
    folds = make_folds(X, y, 6, repeats=3, random_state=0)
    summed = []
    moments = fold_moments._moments

    def counted(problem, rows, out=None):
        summed.append(len(rows))
        return moments(problem, rows, out)

    monkeypatch.setattr(fold_moments, "_moments", counted)
    problem = problem_of(X, y, max_components=3)
    # Three times the test rows of all folds, and all rows once.
    assert_equal_to_full_fits(problem, folds, fits_from_moments(problem, folds))
    assert sum(summed) == 3 * 60 + 60
    summed.clear()
    fits_from_moments(problem, folds[:6])
    assert sum(summed) == 60  # the rows of one repeat are all rows


@pytest.mark.parametrize("noise", [1e-4, 1e-7])
def test_smooth_spectra_are_handed_back_where_components_become_uncertain(noise):
    X, y = spectra(70, 200, noise=noise)
    folds = make_folds(X, y, 5)
    few, many = (problem_of(X, y, max_components=m) for m in (5, 30))
    for route in SCALED:
        fits = route(few, folds)
        assert all(fit is not None for fit in fits)
        assert_equal_to_full_fits(few, folds, fits)
        assert route(many, folds) == [None] * 5


def test_what_moments_cannot_resolve_products_with_the_data_may():
    X, y = spectra(400, 30, noise=3e-3)
    problem = problem_of(X, y, max_components=12)
    folds = make_folds(X, y, 5)
    assert fits_from_moments(problem, folds) == [None] * 5
    fits = fits_from_products(problem, folds)
    assert all(fit is not None for fit in fits)
    assert_equal_to_full_fits(problem, folds, fits)


@pytest.mark.parametrize("route", ROUTES)
def test_what_is_certain_is_right_over_a_range_of_conditions(route):
    certain = []
    for decay in np.linspace(0, 9, 19):
        X, y = make_problem(45, 15, seed=6, decay=decay, noise=1e-3)
        problem = problem_of(X, y, max_components=15, scale=False)
        folds = make_folds(X, y, 5)
        fits = route(problem, folds)
        certain.append(sum(fit is not None for fit in fits))
        for fold, fit in zip(folds, fits, strict=True):
            if fit is None:
                continue
            expected = full_fit(problem, fold, solver="svd").predict(X[fold.test])
            assert_allclose(fit[0].predictions, expected, rtol=1e-9, atol=1e-9 * y.std())
    assert certain[0] == 5
    assert certain[-1] == 0


@pytest.mark.parametrize("route", SCALED)
def test_what_is_certain_is_right_where_errors_build_up_slowly(route):
    """No step of these recursions loses many digits, but twenty of them do."""
    rng = np.random.default_rng(17)
    uncertain = 0
    for _ in range(4):
        x = rng.uniform(-1, 1, 64)
        powers = x[:, None] ** np.arange(1, 18)
        clusters = np.linalg.qr(rng.normal(size=(112, 112)))[0][:75] * rng.choice([1, 3, 10], 112)
        curve = np.sin(3 * x) + 0.1 * rng.normal(size=64)
        linear = clusters @ rng.normal(size=112) + rng.normal(size=75)
        for X, y, most in ((powers, curve, 17), (clusters, linear, 20)):
            problem = problem_of(X, y, max_components=most)
            folds = make_folds(X, y, 5)
            fits = route(problem, folds)
            assert_equal_to_full_fits(problem, folds, fits)
            uncertain += fits.count(None)
    assert uncertain > 0


@pytest.mark.parametrize("route", ROUTES)
def test_a_last_direction_that_only_rounding_excites_is_no_component(route):
    """Nothing else is left, so that a perturbation does not turn it."""
    signs = np.array(np.meshgrid(*[[-1.0, 1.0]] * 3)).reshape(3, -1).T
    design = np.repeat(signs, 2, axis=0)
    X = np.column_stack([design, design * design[:, [1, 2, 0]]])
    folds = make_folds(X, X[:, 0], 5)
    sizes = set()
    for seed in range(30):
        rng = np.random.default_rng(seed)
        y = X @ rng.normal(size=6) + rng.normal(size=16)
        problem = problem_of(X, y, max_components=6, scale=route is not fits_from_kernel)
        for fold, fit in zip(folds, route(problem, folds), strict=True):
            path = pls_path(X[fold.train], y[fold.train], scale=problem.scale)
            sizes.add(len(path.dof))
            assert fit is None or len(path.dof) == 7
    assert min(sizes) < 7


def test_each_sign_of_uncertainty_is_enough_to_hand_a_fold_back():
    folds = make_folds(np.zeros((4, 1)), np.zeros(4), 2)
    problem = problem_of(np.zeros((4, 1)), np.zeros(4), max_components=1)
    ones = np.ones(2)
    moments = TrainingMoments(
        n=2 * ones,
        n_rows=np.array([2, 2]),
        mean=ones[:, None],
        square=ones[:, None],
        gross=ones[:, None],
        y_mean=ones,
        y_square=ones,
        y_gross=ones,
    )
    scaled = Scaling(
        scale=ones[:, None],
        inverse=ones[:, None],
        constant=np.zeros((2, 1), dtype=bool),
        components=np.array([1, 1]),
        trusted=np.array([True, True]),
    )

    def fits(scores=0.0, change=0.0, noise=0.0, trusted=True):
        test_scores = np.ones((4, 2, 1))
        test_scores[3, 1] += scores
        run = Recursion(
            test_scores=test_scores,
            loadings=np.full((2, 2, 1), 0.5),
            change=np.array([[0.0], [change]]),
            noise=np.array([[0.0], [noise]]),
        )
        seen = replace(scaled, trusted=np.array([True, trusted]))
        return guarded_fits(problem, folds, moments, seen, run)

    for fit, _ in fits(scores=1e-12, change=1e-12, noise=1e-12):
        assert_allclose(fit.predictions, [[1.0, 1.0], [1.5, 1.5]])
    for name, value in (("scores", 1e-6), ("change", 1e-6), ("noise", 1e-6), ("trusted", False)):
        good, bad = fits(**{name: value})
        assert good is not None
        assert bad is None
    for name in ("scores", "change", "noise"):
        assert fits(**{name: np.nan})[1] is None


@pytest.mark.parametrize("route", ROUTES)
def test_a_large_mean_costs_no_digits(route):
    rng = np.random.default_rng(7)
    X = rng.integers(-1000, 1000, (40, 6)) / 64  # sums with 1e8 are exact
    y = X @ rng.normal(size=6) + rng.normal(size=40)
    folds = make_folds(X, y, 5)
    near = route(problem_of(X, y, max_components=5, scale=False), folds)
    far = route(problem_of(X + 1e8, y, max_components=5, scale=False), folds)
    for one, other in zip(near, far, strict=True):
        assert_allclose(other[0].predictions, one[0].predictions, rtol=1e-12)


@pytest.mark.parametrize("route", ROUTES)
def test_a_spread_that_is_lost_in_the_mean_is_handed_back(route):
    X, y = make_problem(30, 4, seed=8)
    X[:, 1] = 1e8 + 1e-6 * np.arange(30)
    folds = make_folds(X, y, 3)
    assert route(problem_of(X, y, max_components=2, scale=False), folds) == [None] * 3
    X, y = make_problem(30, 4, seed=8)
    y = 1e8 + 1e-6 * y
    assert route(problem_of(X, y, max_components=2, scale=False), folds) == [None] * 3


@pytest.mark.parametrize("route", SCALED)
@pytest.mark.parametrize("where", ["X", "y"])
def test_the_fold_without_an_outlier_that_carries_the_variance_is_handed_back(route, where):
    X, y = make_problem(40, 5, seed=9)
    if where == "X":
        X[13, 2] = 1e5
    else:
        y[13] = 1e5
    folds = make_folds(X, y, 4)
    problem = problem_of(X, y, max_components=3)
    fits = route(problem, folds)
    assert [fit is None for fit in fits] == [False, True, False, False]  # row 13 is in fold 1
    assert_equal_to_full_fits(problem, folds, fits)


@pytest.mark.parametrize("route", ROUTES)
def test_columns_that_are_constant_in_a_fold_have_no_coefficient(route):
    X, y = make_problem(40, 5, seed=10)
    X[:, 1] = 0.1
    X[:, 3] = np.arange(40) == 6
    folds = make_folds(X, y, 4)
    problem = problem_of(X, y, max_components=3, scale=False)
    fits = route(problem, folds)
    texts = [warned[0][1] for _, warned in fits]
    assert texts[2].startswith("2 column(s) of X do not vary: '1', '3'.")  # row 6 is in fold 2
    assert texts[0].startswith("1 column(s) of X do not vary: '1'.")
    with pytest.warns(ConstantColumnWarning, match="do not vary"):
        assert_equal_to_full_fits(problem, folds, fits)


@pytest.mark.parametrize("route", ROUTES)
def test_exhausted_spaces_are_handed_back(route):
    signs = np.array(np.meshgrid(*[[-1.0, 1.0]] * 4)).reshape(4, -1).T
    rng = np.random.default_rng(11)
    design = np.tile(signs, (4, 1))  # folds 0..3 leave out whole designs: one eigenvalue
    y = design @ [3.0, 2.0, 1.0, -1.0] + rng.normal(size=64)
    folds = [Fold(test=np.arange(16 * i, 16 * i + 16), n_rows=64) for i in range(4)]
    fits = route(problem_of(design, y, max_components=1, scale=False), folds)
    assert_equal_to_full_fits(problem_of(design, y, max_components=1, scale=False), folds, fits)
    assert all(fit is not None for fit in fits)
    assert route(problem_of(design, y, max_components=2, scale=False), folds) == [None] * 4
    low_rank = rng.integers(-3, 4, (30, 3)) @ rng.integers(-2, 3, (3, 10)) * 1.0
    problem = problem_of(low_rank, rng.normal(size=30), max_components=4, scale=False)
    assert route(problem, make_folds(low_rank, problem.y, 3)) == [None] * 3


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize(
    "change",
    [
        lambda X, y: (X, np.full_like(y, 0.1)),
        lambda X, y: (X * 1e200, y),
        lambda X, y: (X * 1e-200, y),
        lambda X, y: (X, y * 1e200),
        lambda X, y: (X * 1e145, y),
        lambda X, y: (X * 1e-145, y),
        lambda X, y: (X, y * 1e-145),
        lambda X, y: (np.sign(X) * 1e308, y),
    ],
)
def test_what_full_fits_refuse_or_rescue_is_handed_back_in_silence(route, change):
    X, y = change(*make_problem(20, 3, seed=12))
    problem = problem_of(X, y, max_components=2, scale=False)
    assert route(problem, make_folds(X, y, 2)) == [None, None]


@pytest.mark.parametrize("wanted", [0, 6, 61])
def test_sizes_out_of_reach_are_handed_back(wanted):
    X, y = make_problem(20, 5, seed=13) if wanted < 60 else make_problem(200, 80, seed=13)
    folds = make_folds(X, y, 2)
    for route in SCALED:
        assert route(problem_of(X, y, max_components=wanted), folds) == [None, None]


@pytest.mark.parametrize(
    ("n", "p", "scale", "expected"),
    [
        (200, 1000, True, []),
        (10_000, 500, True, [fits_from_moments]),
        (500, 3000, False, [fits_from_kernel]),
        (500, 3000, True, []),
    ],
)
def test_the_cheapest_route_comes_first(n, p, scale, expected):
    problem = problem_of(np.empty((n, p)), np.empty(n), max_components=20, scale=scale)
    assert fold_fitters._shortcuts(problem, 10) == expected


def refitted(X, y, **options):
    """Cross-validate by one full fit per fold."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fold_fitters.FastPLS, "fit_together", fold_fitters.Refit.fit_together)
        return cross_validate(X, y, **options)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"scale": False},
        {"cv": 60},
        {"cv": 4, "repeats": 3, "random_state": 1},
        {"cv": 5, "groups": np.arange(60) // 4},
        {"cv": 5, "sample_weight": np.linspace(0.5, 2.0, 60)},
        {"cv": [(range(20, 60), range(20)), (range(40), range(40, 60))]},
    ],
)
@pytest.mark.parametrize("p", [8, 150])
def test_cross_validation_equals_refitting_each_fold_without_a_refit(options, p, monkeypatch):
    X, y = make_problem(60, p, seed=14, decay=1.0)
    expected = refitted(X, y, max_components=6, **options)

    def refuse(*_args, **_kwargs):
        raise AssertionError("a fold was refitted")

    monkeypatch.setattr(fold_fitters.Refit, "fit", refuse)
    result = cross_validate(X, y, max_components=6, **options)
    assert_allclose(result.predictions, expected.predictions, rtol=1e-9, atol=1e-9 * y.std())
    assert_allclose(result.fold_errors, expected.fold_errors, rtol=1e-9)
    assert_allclose(result.fold_correlations, expected.fold_correlations, atol=1e-9)
    assert_allclose(result.fold_rank_correlations, expected.fold_rank_correlations, atol=1e-9)
    assert_array_equal(result.parameters, expected.parameters)
    assert result.select().n_components == expected.select().n_components


def test_uncertain_folds_are_cut_and_reported_as_by_full_fits():
    X, y = spectra(70, 100, noise=1e-7)
    with pytest.warns(RankExhaustedWarning) as expected_warning:
        expected = refitted(X, y, cv=5, max_components=30)
    with pytest.warns(RankExhaustedWarning) as warning:
        result = cross_validate(X, y, cv=5, max_components=30)
    assert len(expected.parameters) < 31
    assert_array_equal(result.parameters, expected.parameters)
    assert result.message == expected.message
    assert str(warning[0].message) == str(expected_warning[0].message)
    assert_array_equal(result.predictions, expected.predictions)


def test_constant_columns_are_reported_as_by_full_fits():
    X, y = make_problem(40, 5, seed=15)
    X = np.column_stack([X, np.arange(40) == 6, np.full(40, 3.0)])
    with pytest.warns(ConstantColumnWarning) as expected_warning:
        expected = refitted(X, y, cv=4, max_components=3)
    with pytest.warns(ConstantColumnWarning) as warning:
        result = cross_validate(X, y, cv=4, max_components=3)
    assert str(warning[0].message) == str(expected_warning[0].message)
    assert_allclose(result.predictions, expected.predictions, rtol=1e-10)


def test_fitted_and_refitted_folds_meet_in_one_result(capsys):
    pytest.importorskip("rich")
    X, y = make_problem(40, 5, seed=16)
    X[13, 2] = 1e5  # the fold that leaves this row out is refitted
    expected = refitted(X, y, cv=4, max_components=3)
    result = cross_validate(X, y, cv=4, max_components=3, n_jobs=2, progress=True)
    assert_allclose(result.predictions, expected.predictions, rtol=1e-9)
    assert capsys.readouterr().out == ""
