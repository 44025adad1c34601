"""Held-out rows: one recursion for all folds against plain refits, one by one."""

import warnings

import numpy as np
import pytest
from _helpers.oracle import exact_fit
from _helpers.problems import make_problem
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.cross_decomposition import PLSRegression

from plsdof import kernel_pls_path, pcr_path, penalized_pls_path, pls_path, ridge_path
from plsdof._core import choice, left_out, recursion
from plsdof._core.folds import Split
from plsdof._core.left_out import Problem, hold_out, usual_folds
from plsdof._core.operators import FoldMoments
from plsdof._core.recursion import run
from plsdof._core.standardize import as_observations, observe
from plsdof.errors import PlsdofWarning

SHAPES = {"n < p": (20, 50), "n = p": (24, 24), "n > p": (60, 8), "tall": (400, 12)}


def textbook(X, y, train, test, m, scale):
    """Predictions of 0..m components by scikit-learn, means and scales of the training rows."""
    made = [np.full(len(test), y[train].mean())]
    constant = np.ptp(X[train], axis=0) == 0
    for k in range(1, m + 1):
        model = PLSRegression(k, scale=scale).fit(X[train][:, ~constant], y[train])
        made.append(model.predict(X[test][:, ~constant]).ravel())
    return np.array(made)


def others(test, n):
    return np.setdiff1d(np.arange(n), test)


def refitted(X, y, split, m, scale):
    trains = split.trains or [None] * len(split.tests)
    parts = [
        textbook(X, y, others(test, len(y)) if train is None else train, test, m, scale)
        for test, train in zip(split.tests, trains, strict=True)
    ]
    return np.concatenate(parts, axis=1)


def close(found, expected, y, tolerance=1e-9):
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * np.std(y))


def predicted(op, m):
    return op.y - run(op, m).residuals


def operators(X, y, split, scale, weights=None):
    """Return every operator that applies, by name."""
    data = observe(X, y, weights, None)
    makers = {
        "rows": left_out.RowFolds(X, y, split, data.columns, weights, scale=scale),
        "moments": left_out._moments(data, scale, split),
    }
    if not scale:
        makers["gram"] = left_out._gram_of_rows(data, split)
    return makers


SPLITS = {
    "single rows": lambda n: Split.of(np.arange(n)),
    "every tenth row": lambda n: Split.of(usual_folds(max(n, 31))[:n]),
    "unequal folds": lambda n: Split.of(np.repeat(np.arange(4), [1, 2, n // 3, n - n // 3 - 3])),
    "groups": lambda n: Split.of(np.arange(n) // 4),
    "rows tested twice": lambda _: Split.given(
        tests=[np.arange(6), np.arange(3, 9), np.array([1, 0])]
    ),
    "given training rows": lambda n: Split.given(
        tests=[np.arange(5), np.arange(5, 9)], trains=[np.arange(7, n), None]
    ),
    "training rows drawn twice": lambda n: Split.given(
        tests=[np.arange(4)], trains=[np.r_[np.arange(4, n), np.arange(6, 12)]]
    ),
}


@pytest.mark.parametrize("kind", SPLITS)
@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("shape", SHAPES)
def test_every_operator_gives_what_scikit_learn_gives(shape, scale, kind):
    n, p = SHAPES[shape]
    if n > 100 and kind == "single rows":
        pytest.skip("400 fits of scikit-learn have nothing to add")
    X, y = make_problem(n, p, seed=n + p, decay=0.5, noise=1.0)
    split = SPLITS[kind](n)
    expected = refitted(X, y, split, 4, scale)
    for op in operators(X, y, split, scale).values():
        close(predicted(op, 4), expected, y)
    held = hold_out(Problem(given=as_observations(X, y), scale=scale), split, 4)
    close(y[split.rows] - held.residuals, expected, y)


@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("shape", [(40, 6), (15, 30)])
def test_integer_weights_are_repeated_rows(shape, scale):
    X, y = make_problem(*shape, seed=2, noise=1.0)
    n = len(y)
    weights = np.random.default_rng(0).integers(1, 4, n)
    fold = np.arange(n) % 5
    many = np.repeat(np.arange(n), weights)
    path = pls_path(X, y, 4, scale=scale, sample_weight=weights)
    longer = pls_path(X[many], y[many], 4, scale=scale)
    cv = [(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in range(5)]
    left = path.left_out(cv)
    long = [(np.flatnonzero(fold[many] != f), np.flatnonzero(fold[many] == f)) for f in range(5)]
    expected = longer.left_out(long)
    close(left.residuals[:, many], expected.residuals, y)
    for name in ("press", "rmse", "q2", "dof", "noise_variance", "rss"):
        np.testing.assert_allclose(getattr(left, name), getattr(expected, name), rtol=1e-8)
    weights = as_observations(X, y, weights).weights
    for op in operators(X, y, Split.of(fold), scale, weights).values():
        close(run(op, 4).residuals, left.residuals[:, Split.of(fold).rows], y)
    singly = [run(op, 4) for op in operators(X, y, Split.of(np.arange(n)), scale, weights).values()]
    for one in singly[1:]:
        close(one.residuals, singly[0].residuals, y)
        close(one.coef(3, -1), singly[0].coef(3, -1), y)


def with_rare_columns(n):
    """Columns that do not vary without a fold, a rare dummy, duplicates of rows and columns."""
    X, y = make_problem(n, 5, seed=3, noise=1.0)
    one, two = np.zeros(n), np.zeros(n)
    one[3], two[[4, n - 1]] = 1.0, 1e3
    X = np.column_stack([X, one, two, X[:, 0], 1e6 + one])
    X[7] = X[8]
    return X, y


@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("n", [30, 120])
def test_rare_and_repeated_columns_and_rows(n, scale):
    X, y = with_rare_columns(n)
    split = Split.of(usual_folds(n))
    expected = refitted(X, y, split, 4, scale)
    found = operators(X, y, split, scale)
    close(predicted(found["rows"], 4), expected, y)
    held = hold_out(Problem(given=as_observations(X, y), scale=scale), split, 4)
    close(y[split.rows] - held.residuals, expected, y)


def spectra(n, p, seed):
    """Smooth, nearly collinear rows, and a response that needs many directions."""
    rng = np.random.default_rng(seed)
    grid = np.linspace(0, 1, p)
    peaks = np.exp(-((grid - rng.uniform(0, 1, (60, 1))) ** 2) / 0.01)
    scores = rng.normal(size=(n, 60)) * 0.9 ** np.arange(60)
    X = scores @ peaks + 1e-4 * rng.normal(size=(n, p))
    return X, scores[:, :8] @ rng.normal(size=8) + 0.3 * rng.normal(size=n)


@pytest.mark.parametrize("shape", [(90, 150), (200, 60)])
@pytest.mark.parametrize("scale", [True, False])
def test_thirty_components_of_collinear_spectra_keep_their_digits(shape, scale):
    X, y = spectra(*shape, seed=1)
    path = pls_path(X, y, 30, scale=scale)
    left = path.left_out(3)
    for fold in range(3):
        test, train = np.flatnonzero(left.fold == fold), np.flatnonzero(left.fold != fold)
        exact = pls_path(X[train], y[train], 30, scale=scale, solver="svd").predict(X[test])
        assert len(exact) == len(left.rmse) == 31
        close(y[test] - left.residuals[:, test], exact, y, 1e-8)


@pytest.mark.parametrize("seed", range(6))
def test_errors_against_ball_arithmetic_are_within_their_estimates(seed):
    X, y = spectra(24, 12 + 3 * seed, seed)
    split = Split.of(np.arange(24) % 3)
    for op in operators(X, y, split, scale=False).values():
        found = run(op, 9)
        start = 0
        for fold, test in enumerate(split.tests):
            train = others(test, 24)
            truth = exact_fit(X[train], y[train], len(found.rss) - 1, scale=False)
            mean = X[train].mean(axis=0)
            predicted = y[train].mean() + truth.coef @ (X[test] - mean).T
            part = (op.y - found.residuals)[:, start : start + len(test)]
            away = np.abs(part[: len(predicted)] - predicted).max(axis=1)
            exhausted = found.exhausted[: len(predicted), fold]
            error = found.error[: len(predicted), start : start + len(test)].max(axis=1)
            allowed = error + 1e-14 * np.abs(y).max()
            assert np.all((away <= allowed) | exhausted)
            start += len(test)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    decay=st.floats(0.0, 7.0),
    shape=st.sampled_from([(20, 10), (16, 40), (60, 15)]),
    scale=st.booleans(),
)
@example(seed=10**6, decay=7.0, shape=(20, 10), scale=False)  # rounding ends a fold too early
def test_estimated_errors_are_not_too_small(seed, decay, shape, scale):
    X, y = make_problem(*shape, seed=seed, decay=decay, noise=0.3)
    split = Split.of(np.arange(len(y)) % 4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PlsdofWarning)
        exact = [
            pls_path(X[others(t, len(y))], y[others(t, len(y))], 8, scale=scale, solver="svd")
            for t in split.tests
        ]
        sizes = [len(one.dof) for one in exact]  # counted here: it may warn
    for op in operators(X, y, split, scale).values():
        found = run(op, 8)
        size = min(len(found.rss), *sizes)
        predicted = [
            one.predict(X[test])[:size] for one, test in zip(exact, split.tests, strict=True)
        ]
        parts = op.y - found.residuals[:size]
        parts = np.split(parts, np.cumsum([len(t) for t in split.tests])[:-1], 1)
        error = found.error[:size].max(axis=1)
        for fold, (part, truth) in enumerate(zip(parts, predicted, strict=True)):
            away = np.abs(part - truth).max(axis=1)
            allowed = error + 1e-11 * np.std(y)
            assert np.all((away <= allowed) | found.exhausted[:size, fold])


@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("shape", [(40, 60), (300, 8)])
def test_parts_that_fit_the_memory_give_the_same(monkeypatch, shape, scale):
    X, y = make_problem(*shape, seed=5, noise=1.0)
    problem = Problem(given=as_observations(X, y), scale=scale)
    split = Split.of(np.arange(len(y)) % 20)
    whole = hold_out(problem, split, 5, keep=True)
    made = []

    def watched(op, *arguments, **options):
        made.append(len(op.n) - 1)
        return run(op, *arguments, **options)

    monkeypatch.setattr(left_out, "run", watched)
    moments = isinstance(problem.operators(split, 5)[0](split), FoldMoments)
    each = shape[1] ** 2 if moments else 2 * 5 * shape[0]
    monkeypatch.setattr(left_out, "_AT_ONCE", 4 * each)
    parts = hold_out(problem, split, 5, keep=True)
    assert made == [3, 3, 3, 3, 3, 3, 2]
    close(parts.residuals, whole.residuals, y, 1e-12)
    close(parts.leverage, whole.leverage, y, 1e-12)
    for name in ("error", "rss", "fit_error"):
        np.testing.assert_allclose(getattr(parts, name), getattr(whole, name), rtol=1e-6)
    for fold in (0, 7, -1):
        close(parts.coef(3, fold), whole.coef(3, fold), y, 1e-12)
    for name in ("x_means", "y_means"):
        one, other = getattr(parts, name), getattr(whole, name)
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)


def test_the_fit_to_all_rows_comes_with_it():
    for n, p in SHAPES.values():
        for scale in (True, False):
            X, y = make_problem(n, p, seed=n, noise=1.0)
            path = pls_path(X, y, 4, scale=scale, solver="svd")
            split = Split.of(np.arange(n) % 5)
            for op in operators(X, y, split, scale).values():
                found = run(op, 4)
                np.testing.assert_allclose(found.rss, path.rss, rtol=1e-8)
                for m in range(5):
                    np.testing.assert_allclose(found.coef(m), path.coef[m], atol=1e-8)


def walked(monkeypatch, first):
    """A walk that looks at so many models before its patience counts."""
    for module in (recursion, left_out):
        monkeypatch.setattr(module, "FIRST_COMPONENTS", first)


def test_patience_ends_the_walk_and_changes_nothing_before(monkeypatch):
    X, y = make_problem(60, 40, seed=8, noise=2.0)
    problem = Problem(given=as_observations(X, y), scale=True)
    split = Split.of(np.arange(60) % 10)
    all_of_it = hold_out(problem, split, 30)
    for first, patience in [(1, 3), (12, 3), (20, 7)]:
        walked(monkeypatch, first)
        short = hold_out(problem, split, 30, patience=patience)
        size = len(short.residuals)
        close(short.residuals, all_of_it.residuals[:size], y, 1e-12)
        press = np.sum(all_of_it.residuals**2, axis=1)
        assert size - 1 == max(first, np.argmin(press[:size]) + patience) < 30


@pytest.mark.parametrize(("noise", "fewest", "most"), [(0.0, 10, 30), (3.0, 0, 2)])
def test_a_walk_has_room_and_goes_as_far_as_it_must_in_parts(monkeypatch, noise, fewest, most):
    """Parts see no errors of others: they go to a limit first, and on if it is too low."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 40)) * np.geomspace(1.0, 0.05, 40)
    y = X @ rng.normal(size=40) + noise * rng.normal(size=80)
    problem = Problem(given=as_observations(X, y), scale=False)
    split = Split.of(np.arange(80) % 10)
    walked(monkeypatch, 4)
    once, whole = hold_out(problem, split, 30), hold_out(problem, split, 30, patience=2)
    monkeypatch.setattr(left_out, "_AT_ONCE", 2 * 80 * 4 * 4)
    parts = hold_out(problem, split, 30, patience=2)
    press = np.sum(once.residuals**2, axis=1)
    assert fewest <= np.argmin(press) <= most
    for one in (whole, parts):
        size = len(one.residuals)
        assert size == 31 if noise == 0 else size < 10
        close(one.residuals, once.residuals[:size], y, 1e-10)


def errors_that_rise_first(n=60, p=40):
    """Two strong directions predict a little, many weak ones all of it."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, p)) * np.r_[[8.0, 6.0], np.full(p - 2, 0.3)]
    b = np.r_[[0.05, 0.05], np.where(np.arange(p - 2) < 18, 4.0, 0.0)]
    return X, X @ b + 0.3 * rng.normal(size=n)


def test_the_first_twenty_models_are_looked_at_whatever_their_errors():
    path = pls_path(*errors_that_rise_first(), scale=False)
    chosen = path.select()
    assert len(chosen.scores) >= 21
    press = path.left_out().press
    assert np.argmin(press[: len(chosen.scores)]) == np.argmin(chosen.left_out.press)


@pytest.mark.parametrize("asked", [1, 12, 25])
def test_the_largest_model_that_is_asked_for_is_looked_at(asked):
    X, y = make_problem(60, 40, seed=8, noise=2.0)
    assert len(pls_path(X, y, asked).select().scores) == asked + 1


# Leverages, exhausted folds, offsets
# -----------------------------------


@pytest.mark.parametrize("weights", [None, np.linspace(0.5, 2.0, 36)])
@pytest.mark.parametrize("name", ["pls", "pcr", "ridge", "penalised", "kernel, not scaled"])
def test_leverages_of_rows_left_out_are_those_of_plain_refits(name, weights):
    """1/n + |P t(x)|^2 with the projector on the scores, from the scores of a refit."""
    fits = {
        "pls": lambda X, y, w: pls_path(X, y, 4, sample_weight=w),
        "pcr": lambda X, y, w: pcr_path(X, y, 4, sample_weight=w),
        "ridge": lambda X, y, w: ridge_path(X, y, [50.0, 1.0], sample_weight=w),
        "penalised": lambda X, y, w: penalized_pls_path(
            X, y, strength=5.0, max_components=4, sample_weight=w
        ),
        "kernel, not scaled": lambda X, y, w: kernel_pls_path(
            X, y, max_components=4, scale=False, sample_weight=w
        ),
    }
    path = fits[name](X, Y, weights)
    left = path.left_out(4)
    for fold in range(4):
        test, train = np.flatnonzero(left.fold == fold), np.flatnonzero(left.fold != fold)
        w = np.ones(len(train)) if weights is None else weights[train]
        again = fits[name](X[train], Y[train], None if weights is None else w)
        for m in range(len(again)):
            if name == "ridge":
                scale = np.sqrt(np.average((X[train] - (w @ X[train]) / w.sum()) ** 2, 0, w))
                scale *= np.sqrt(w.sum() / (w.sum() - 1))
                Z = (X[train] - (w @ X[train]) / w.sum()) / scale
                z = (X[test] - (w @ X[train]) / w.sum()) / scale
                inverse = np.linalg.inv((Z.T * w) @ Z + again.alphas[m] * np.eye(7))
                expected = 1 / w.sum() + np.einsum("ij,jk,ik->i", z, inverse, z)
            else:
                T, t = again.transform(X[train])[:, :m], again.transform(X[test])[:, :m]
                inverse = np.linalg.inv((T.T * w) @ T)
                expected = 1 / w.sum() + np.einsum("ij,jk,ik->i", t, inverse, t)
            np.testing.assert_allclose(left.leverage[m, test], expected, rtol=1e-7)
            np.testing.assert_allclose(again[m].predictor.leverage(X[test]), expected, rtol=1e-7)


def test_leverages_of_an_average_are_weighted_means():
    path = pls_path(X, Y, 4)
    average = path.average()
    expected = average.weights @ np.array([path[m].predictor.leverage(X[:5]) for m in range(5)])
    np.testing.assert_allclose(average.predictor.leverage(X[:5]), expected, rtol=1e-10)


def test_a_fold_that_does_not_have_the_model_has_an_infinite_error():
    rng = np.random.default_rng(0)
    x = rng.normal(size=12)
    collinear = np.c_[x, x * (1 + 1e-9 * rng.normal(size=12))]
    y = x + rng.normal(size=12)
    left = pls_path(collinear, y, 2).left_out(4)
    for fold in range(4):
        test, train = np.flatnonzero(left.fold == fold), np.flatnonzero(left.fold != fold)
        truth = exact_fit(collinear[train], y[train], 2, scale=True)
        mean, scale = collinear[train].mean(axis=0), collinear[train].std(axis=0, ddof=1)
        predicted = y[train].mean() + truth.coef @ ((collinear[test] - mean) / scale).T
        away = np.abs(y[test] - left.residuals[:, test] - predicted).max(axis=1)
        assert np.all(away <= left.error + 1e-12)


def test_more_components_than_a_fold_has_rows_are_said():
    X, y = make_problem(8, 20, seed=3, noise=1.0)
    left = pls_path(X, y).left_out(2)
    assert np.isfinite(left.error[:4]).all()
    assert np.isinf(left.error[4:]).all()
    assert left.exhausted[4:].all()
    found = choice.left_out_remarks([left], 0, 5, label=lambda _, m: str(m), longer=False)
    assert "exhausted-folds" in {one.key for one in found}


@pytest.mark.parametrize("shape", [(40, 60), (400, 6)])
def test_an_offset_of_y_costs_no_digits(shape):
    X, y = make_problem(*shape, seed=4, noise=1.0)
    moved = np.round(y * 2.0**6) * 2.0**-26
    usual = pls_path(X, moved, 4).left_out(5).rmse
    offset = moved + 2.0**26  # whose sum is exact
    np.testing.assert_array_equal(offset - 2.0**26, moved)
    np.testing.assert_allclose(pls_path(X, offset, 4).left_out(5).rmse, usual, rtol=1e-9)


@pytest.mark.parametrize("unit", [1e60, 1e-60])
def test_units_of_the_columns_do_not_matter(unit):
    X, y = make_problem(40, 6, seed=9, noise=1.0)
    units = np.array([unit, 1.0, 1.0 / unit, 1.0, unit, 1.0])
    usual, path = pls_path(X, y, 4), pls_path(X * units, y, 4)
    close(path.left_out().residuals, usual.left_out().residuals, y, 1e-12)
    assert path.select().index == usual.select().index
    np.testing.assert_allclose(path.average().weights, usual.average().weights, atol=1e-8)


# Other methods: plain refits of their recipe
# -------------------------------------------

X, Y = make_problem(36, 7, seed=10, decay=0.5, noise=1.0)
PATHS = {
    "pls": pls_path(X, Y, 4),
    "pcr": pcr_path(X, Y, 4),
    "pcr by correlation": pcr_path(X, Y, 3, order="correlation", among=4),
    "ridge": ridge_path(X, Y),
    "kernel": kernel_pls_path(X, Y, max_components=4),
    "kernel, not scaled": kernel_pls_path(X, Y, max_components=4, scale=False),
    "polynomial kernel": kernel_pls_path(X, Y, "poly", 4, degree=2, scale=False),
    "penalised": penalized_pls_path(X, Y, strength=5.0, max_components=4),
    "penalised, scaled": penalized_pls_path(X, Y, strength=5.0, max_components=4, scale=True),
    "weighted kernel": kernel_pls_path(
        X, Y, max_components=4, scale=False, sample_weight=np.linspace(0.5, 2.0, 36)
    ),
    "weighted penalised": penalized_pls_path(
        X, Y, strength=5.0, max_components=4, sample_weight=np.linspace(0.5, 2.0, 36)
    ),
}


@pytest.mark.parametrize("cv", [None, 5, "loo"])
@pytest.mark.parametrize("name", PATHS)
def test_every_method_equals_plain_refits_of_its_recipe(name, cv):
    path = PATHS[name]
    left = path.left_out(cv)
    weights = path.given.weights
    recipe = path.recipe.with_options(alphas=path.alphas) if name == "ridge" else path.recipe
    for fold in range(int(left.fold.max()) + 1):
        test, train = np.flatnonzero(left.fold == fold), np.flatnonzero(left.fold != fold)
        again = recipe.fit(X[train], Y[train], None if weights is None else weights[train])
        close(Y[test] - left.residuals[:, test], again.predict(X[test]), Y)


def test_given_kernels_equal_kernels_of_rows():
    K = X @ X.T
    given, rows = (
        kernel_pls_path(K, Y, "precomputed", 4),
        kernel_pls_path(X, Y, "linear", 4, scale=False),
    )
    close(given.left_out().residuals, rows.left_out().residuals, Y)
    close(given.left_out().residuals, pls_path(X, Y, 4, scale=False).left_out().residuals, Y)


# What is read off the matrix
# ---------------------------


def test_measures_follow_their_definitions():
    left = PATHS["pls"].left_out(6)
    E = left.residuals
    np.testing.assert_allclose(left.press, np.sum(E**2, axis=1))
    np.testing.assert_allclose(left.rmse, np.sqrt(np.mean(E**2, axis=1)))
    np.testing.assert_allclose(left.q2, 1 - left.press / np.sum((Y - Y.mean()) ** 2))
    np.testing.assert_allclose(left.dof, 36 * (1 - np.sqrt(left.rss / left.press)))
    np.testing.assert_allclose(left.noise_variance, left.press / (36 + left.dof))
    np.testing.assert_allclose(left.rss, PATHS["pls"].rss, rtol=1e-8)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), noise=st.floats(0.0, 10.0), n=st.integers(6, 50))
def test_the_noise_level_is_between_errors_of_fit_and_of_rows_left_out(seed, noise, n):
    left = pls_path(*make_problem(n, 8, seed=seed, noise=noise)).left_out()
    low, high = np.minimum(left.rss, left.press) / n, left.press / n
    assert np.all(left.noise_variance >= low * (1 - 1e-9))
    assert np.all(left.noise_variance <= high * (1 + 1e-9))


def test_groups_are_left_out_together():
    groups = np.repeat(np.arange(9), 4)
    left = PATHS["pls"].left_out(groups=groups)
    assert left.groups == 9
    assert all(len(np.unique(left.fold[groups == one])) == 1 for one in range(9))
    assert pls_path(X, Y, 2).left_out(groups=np.arange(36)).groups == 36
