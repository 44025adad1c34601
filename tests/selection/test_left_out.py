"""Fits without some rows, many at once: the numbers of as many fits, one by one."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from plsdof import kernel_pls_path, pls_path, ridge_path
from plsdof.errors import InvalidInputError
from plsdof.inference import leave_out
from plsdof.selection import left_out_predictions, make_folds
from plsdof.selection.left_out import left_out_paths, rows_of
from plsdof.variants import penalized_pls_path


def rows(n=30, p=12, seed=0):
    rng = np.random.default_rng(seed)
    X = 5 + rng.normal(size=(n, 3)) @ rng.normal(size=(3, p)) + 0.5 * rng.normal(size=(n, p))
    return X, 3 + X[:, :3].sum(axis=1) + rng.normal(size=n)


def kernel_of(X):
    return np.exp(-0.02 * ((X[:, None] - X) ** 2).sum(axis=2))


WEIGHTS = np.random.default_rng(1).uniform(0.2, 3.0, size=30)
FITS = {
    "tall": (12, lambda X, y, **o: pls_path(X, y, 6, **o)),
    "tall, no scaling": (12, lambda X, y, **o: pls_path(X, y, 6, scale=False, **o)),
    "wide": (50, lambda X, y, **o: pls_path(X, y, 6, **o)),
    "wide, no scaling": (50, lambda X, y, **o: pls_path(X, y, 6, scale=False, **o)),
    "all components": (7, lambda X, y, **o: pls_path(X, y, **o)),
    "penalised": (
        40,
        lambda X, y, **o: penalized_pls_path(X, y, strength=3.0, max_components=5, **o),
    ),
    "kernel": (
        4,
        lambda X, y, **o: kernel_pls_path(X, y, "rbf", 5, gamma=0.02, scale=False, **o),
    ),
    "kernel of scaled rows": (
        4,
        lambda X, y, **o: kernel_pls_path(X, y, "rbf", 5, gamma=0.2, **o),
    ),
    "linear kernel of scaled rows": (
        6,
        lambda X, y, **o: kernel_pls_path(X, y, "linear", 4, **o),
    ),
    "narrow kernel": (
        2,
        lambda X, y, **o: kernel_pls_path(X, y, "rbf", 5, gamma=0.3, scale=False, **o),
    ),
    "polynomial": (
        3,
        lambda X, y, **o: kernel_pls_path(X, y, "poly", 5, degree=2, scale=False, **o),
    ),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", FITS)
def test_paths_without_rows_are_those_of_fits_one_by_one(name, weighted):
    p, fit = FITS[name]
    X, y = rows(p=p)
    weights = {"sample_weight": WEIGHTS} if weighted else {}
    whole = fit(X, y, **weights)
    folds = make_folds(X, y, "loo")
    found = list(left_out_paths(rows_of(whole), folds))
    assert sum(one is not None for one in found) == len(folds)
    for fold, one in zip(folds, found, strict=True):
        part = {"sample_weight": WEIGHTS[fold.train]} if weighted else {}
        alone = fit(X[fold.train], y[fold.train], **part)
        assert_allclose(one.predict(X), alone.predict(X), rtol=1e-10, atol=1e-10)
        assert_allclose(one.coef, alone.coef, rtol=1e-8, atol=1e-10)
        assert_allclose(one.coef_of(3), one.coef[3], rtol=1e-9, atol=1e-12)
        assert_allclose(one.dof, alone.dof, rtol=1e-8)
        assert_allclose(one.rss, alone.rss, rtol=1e-9, atol=1e-9)
        assert_allclose(one.noise_variance(), alone.noise_variance(), rtol=1e-8)
        assert_allclose(one.fitted, alone.fitted, atol=1e-9)
        assert_allclose(one.response, alone.response)
        assert one.select(dof="exact").index == alone.select(dof="exact").index


def test_smoothed_degrees_of_freedom_do_not_depend_on_how_many_paths_there_are():
    X, y = rows()
    folds = make_folds(X, y, 10)
    together = list(left_out_paths(rows_of(pls_path(X, y, 9)), folds, smooth=True))
    for fold, one in zip(folds, together, strict=True):
        alone = pls_path(X[fold.train], y[fold.train], 9)
        assert_allclose(one.criterion("gcv", "smoothed"), alone.criterion("gcv", "smoothed"))
        assert one.select().index == alone.select().index


@pytest.mark.parametrize("p", [12, 50])
def test_chosen_models_without_rows_are_those_of_fits_one_by_one(p):
    X, y = rows(p=p)

    def choose(path):
        return path.select("bic", "exact").index

    found = leave_out(pls_path(X, y, 6), choose)
    for i in range(len(y)):
        kept = np.arange(len(y)) != i
        alone = pls_path(X[kept], y[kept], 6)
        m = choose(alone)
        assert found.index[i] == m
        assert_allclose(found.coef[i], alone.coef[m], rtol=1e-9, atol=1e-11)
        assert_allclose(found.residuals[i], y[i] - alone.predict(X[[i]])[m, 0], atol=1e-9)


@pytest.mark.parametrize("options", [{}, {"dof": "exact", "by": "gcv"}])
def test_an_average_is_made_again_without_each_row(options):
    X, y = rows()
    average = pls_path(X, y, 6).average(**options)
    found, predicted = leave_out(average.path, 0), left_out_predictions(average)
    assert predicted.predictions.shape == (1, 30)
    for i in (0, 7, 29):
        kept = np.arange(len(y)) != i
        alone = pls_path(X[kept], y[kept], 6).average(**options)
        assert_allclose(found.residuals[i], y[i] - alone.predict(X[[i]])[0], atol=1e-8)
        assert_allclose(predicted.residuals[0, i], found.residuals[i], atol=1e-10)


@pytest.mark.parametrize("weighted", [False, True])
def test_rows_of_a_given_kernel_are_left_out_of_both_sides(weighted):
    X, y = rows(p=4)
    weights = {"sample_weight": WEIGHTS} if weighted else {}
    given = kernel_pls_path(kernel_of(X), y, "precomputed", 5, **weights)
    named = kernel_pls_path(X, y, "rbf", 5, gamma=0.02, scale=False, **weights)
    expected = left_out_predictions(named)
    assert_allclose(left_out_predictions(given).predictions, expected.predictions, atol=1e-9)
    new = kernel_of(np.vstack([X, rows(5, 4, seed=3)[0]]))[30:, :30]
    fits = leave_out(given, 3)
    assert_allclose(
        fits.predict(new), leave_out(named, 3).predict(rows(5, 4, seed=3)[0]), atol=1e-9
    )


def test_zero_weights_keep_rows_of_a_given_kernel_out():
    X, y = rows(p=4)
    weights = np.where(np.arange(30) < 4, 0.0, 1.0)
    given = kernel_pls_path(kernel_of(X), y, "precomputed", 4, sample_weight=weights)
    fewer = kernel_pls_path(kernel_of(X[4:]), y[4:], "precomputed", 4)
    assert_allclose(
        left_out_predictions(given).predictions, left_out_predictions(fewer).predictions, atol=1e-9
    )


def test_what_is_not_certain_is_fitted_alone():
    X, y = rows(p=6)
    # One row alone makes a column vary: without it the column is constant.
    X[:, 5] = 0.0
    X[4, 5] = 1.0
    whole = pls_path(X, y, 3)
    found = list(left_out_paths(rows_of(whole), make_folds(X, y, "loo")))
    assert [number for number, one in enumerate(found) if one is None] == [4]
    with pytest.warns(UserWarning, match="In 1 of 30 folds"):
        fits = leave_out(whole, 2)
    kept = np.arange(30) != 4
    with pytest.warns(UserWarning, match="do not vary"):
        alone = pls_path(X[kept], y[kept], 2)
    assert_allclose(fits.coef[4], alone.coef[2], rtol=1e-9, atol=1e-12)
    with pytest.warns(UserWarning, match="In 1 of 30 folds"):
        predicted = left_out_predictions(whole).predictions
    assert_allclose(predicted[:3, 4], alone.predict(X[[4]])[:, 0], rtol=1e-9)


def test_spectra_that_a_gram_matrix_does_not_resolve_are_fitted_all_the_same():
    rng = np.random.default_rng(5)
    X = np.cumsum(np.cumsum(rng.normal(size=(25, 80)), axis=1), axis=1)
    y = X[:, 20] - X[:, 60] + 10 * rng.normal(size=25)
    found = list(left_out_paths(rows_of(pls_path(X, y, 9)), make_folds(X, y, "loo")))
    solvers = {None if one is None else one.solver for one in found}
    assert "svd" in solvers
    for i in (0, 12):
        kept = np.arange(25) != i
        alone = pls_path(X[kept], y[kept], 9, solver="svd").predict(X[[i]])[:, 0]
        predicted = left_out_predictions(pls_path(X, y, 9)).predictions[:, i]
        assert_allclose(predicted, alone, rtol=1e-8, atol=1e-8 * y.std())
        if found[i] is not None:
            assert_allclose(found[i].predict(X[[i]])[:, 0], alone, atol=1e-8 * y.std())


@pytest.mark.parametrize("name", ["tall", "wide, no scaling", "penalised", "kernel"])
def test_left_out_predictions_of_groups_are_those_of_fits_one_by_one(name):
    p, fit = FITS[name]
    X, y = rows(p=p)
    found = left_out_predictions(fit(X, y, sample_weight=WEIGHTS), cv=4)
    for fold in make_folds(X, y, 4):
        alone = fit(X[fold.train], y[fold.train], sample_weight=WEIGHTS[fold.train])
        assert_allclose(found.predictions[:, fold.test], alone.predict(X[fold.test]), atol=1e-9)
    residuals = y - found.predictions
    assert_allclose(found.press, (WEIGHTS * residuals**2).sum(axis=1))
    assert_allclose(found.residuals, residuals)


def test_other_methods_are_fitted_one_by_one():
    X, y = rows()
    path = ridge_path(X, y, [100.0, 1.0])
    found = left_out_predictions(path)
    kept = np.arange(30) != 3
    alone = ridge_path(X[kept], y[kept], [100.0, 1.0]).predict(X[[3]])[:, 0]
    assert_allclose(found.predictions[:, 3], alone, rtol=1e-10)
    assert_allclose(found.parameters, [100.0, 1.0])
    # In a method that is linear in y the closed form misses the new means and scales only.
    assert_allclose(found.press, path.press(), rtol=0.05)
    assert repr(found) == "LeftOutPredictions(2 models, 30 rows)"


def test_folds_that_overlap_are_refused():
    X, y = rows()
    pairs = [(np.arange(20), np.arange(20, 30)), (np.arange(10), np.arange(10, 25))]
    with pytest.raises(InvalidInputError, match="leave every row out exactly once"):
        leave_out(pls_path(X, y, 2), 1, cv=pairs)
