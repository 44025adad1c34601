"""A recipe fits the same path again, for every kind of path."""

import pickle

import numpy as np
import pytest
import scipy.sparse
from _helpers.problems import make_problem

from plsdof import kernel_pls_path, pcr_path, penalized_pls_path, pls_path, ridge_path
from plsdof._core.fit import METHODS
from plsdof.errors import InvalidInputError
from plsdof.large import ArrayBlocks, Moments

X, Y = make_problem(40, 8, seed=1, decay=0.5, noise=1.0)
W = np.random.default_rng(0).uniform(0.5, 2.0, 40)


def squares(A, B):
    """A kernel function of one's own."""
    return (1.0 + A @ B.T) ** 2


PATHS = {
    "pls": lambda X, y, w: pls_path(X, y, 4, sample_weight=w),
    "pls, all components": lambda X, y, w: pls_path(X, y, sample_weight=w),
    "pls, not scaled, svd": lambda X, y, w: pls_path(
        X, y, 3, scale=False, solver="svd", sample_weight=w
    ),
    "pcr": lambda X, y, w: pcr_path(X, y, 3, sample_weight=w),
    "pcr by correlation among few": lambda X, y, w: pcr_path(
        X, y, 3, order="correlation", among=3, sample_weight=w
    ),
    "ridge": lambda X, y, w: ridge_path(X, y, [10.0, 0.1], scale=False, sample_weight=w),
    "ridge, default penalties": lambda X, y, w: ridge_path(X, y, sample_weight=w),
    "kernel": lambda X, y, w: kernel_pls_path(X, y, max_components=3, sample_weight=w),
    "polynomial kernel": lambda X, y, w: kernel_pls_path(
        X, y, "poly", 3, gamma=0.2, degree=2, coef0=0.5, scale=False, sample_weight=w
    ),
    "own kernel": lambda X, y, w: kernel_pls_path(X, y, squares, 3, sample_weight=w),
    "penalised": lambda X, y, w: penalized_pls_path(
        X, y, strength=3.0, max_components=3, sample_weight=w
    ),
    "penalised in blocks, scaled": lambda X, y, w: penalized_pls_path(
        X, y, 1, blocks=[3, 5], strength=7.0, max_components=3, scale=True, sample_weight=w
    ),
}


@pytest.mark.parametrize("weights", [None, W], ids=["plain", "weighted"])
@pytest.mark.parametrize("name", PATHS)
def test_the_recipe_of_a_path_gives_the_same_path_again(name, weights):
    path = PATHS[name](X, Y, weights)
    again = path.recipe.fit(X, Y, weights)
    assert type(again) is type(path)
    assert repr(again.recipe) == repr(path.recipe)
    np.testing.assert_array_equal(again.coef, path.coef)
    np.testing.assert_array_equal(again.dof, path.dof)
    np.testing.assert_array_equal(path.recipe(X, Y, weights).rss, path.rss)


@pytest.mark.parametrize("name", PATHS)
def test_the_recipe_fits_other_rows_as_the_function_does(name):
    some = slice(0, 30)
    path = PATHS[name](X, Y, None)
    fitted = path.rows.same_models().fit(X[some], Y[some])
    if "default" in name:  # penalties of all rows
        expected = ridge_path(X[some], Y[some], path.alphas)
    else:
        expected = PATHS[name](X[some], Y[some], None)
    np.testing.assert_array_equal(fitted.coef, expected.coef)


def test_candidates_among_the_components_are_not_forgotten():
    few, all_of_them = (pcr_path(X, Y, 2, order="correlation", among=among) for among in (2, None))
    assert np.abs(few.coef - all_of_them.coef).max() > 1e-3
    assert few.recipe.among == 2
    np.testing.assert_array_equal(few.recipe.fit(X, Y).coef, few.coef)
    left = few.left_out(5)
    test, train = np.flatnonzero(left.fold == 2), np.flatnonzero(left.fold != 2)
    again = pcr_path(X[train], Y[train], 2, order="correlation", among=2).predict(X[test])
    np.testing.assert_allclose(Y[test] - left.residuals[:, test], again, atol=1e-10)


def test_a_refitted_path_carries_the_recipe_of_the_first():
    other = Y[::-1].copy()
    for name, make in PATHS.items():
        path = make(X, Y, None).refit(other)
        again = path.recipe.fit(X, other)
        np.testing.assert_allclose(
            again.coef, path.coef, atol=1e-7 * np.abs(path.coef).max(), err_msg=name
        )
        left, expected = path.left_out(4).residuals, again.left_out(4).residuals
        np.testing.assert_allclose(left, expected, atol=1e-8 * np.std(Y), err_msg=name)


def test_a_path_refitted_to_another_response_has_a_recipe():
    Z = np.column_stack([Y, X[:, 0] ** 2])
    first = pls_path(X, Y, 3)
    for path, y in zip((first, first.refit(Z[:, 1])), Z.T, strict=True):
        np.testing.assert_allclose(path.recipe.fit(X, y).coef, path.coef, atol=1e-9)


LARGE = {
    "blocks": lambda **o: pls_path(ArrayBlocks(X, Y), max_components=4, **o),
    "moments": lambda **o: pls_path(Moments.of(X, Y), max_components=4, **o),
    "sparse": lambda: pls_path(scipy.sparse.csr_array(X), Y, 4),
    "pcr from blocks": lambda: pcr_path(
        ArrayBlocks(X, Y), max_components=3, order="correlation", among=3
    ),
    "ridge from moments": lambda: ridge_path(Moments.of(X, Y), alphas=[3.0, 1.0]),
}


@pytest.mark.parametrize("name", LARGE)
def test_the_recipe_of_data_that_were_read_fits_rows_in_memory(name):
    path = LARGE[name]()
    again = path.recipe.fit(X, Y)
    assert type(again) is type(path)
    np.testing.assert_allclose(again.coef, path.coef, atol=1e-8 * np.abs(path.coef).max())
    np.testing.assert_allclose(again.dof, path.dof, rtol=1e-7)


def test_changes_leave_the_original_alone():
    recipe = pls_path(X, Y, 4).recipe
    shorter = recipe.with_options(max_components=2, scale=False)
    assert (recipe.max_components, recipe.scale) == (4, True)
    np.testing.assert_array_equal(shorter.fit(X, Y).coef, pls_path(X, Y, 2, scale=False).coef)
    assert recipe.method is METHODS["pls"]
    with pytest.raises(AttributeError):
        _ = recipe.alphas
    copy = pickle.loads(pickle.dumps(shorter))
    assert repr(copy) == repr(shorter)
    np.testing.assert_array_equal(copy.fit(X, Y).coef, shorter.fit(X, Y).coef)


def test_sizes_of_other_methods_are_refused():
    with pytest.raises(InvalidInputError):
        METHODS["pls"].recipe(alphas=[1.0])
    with pytest.raises(InvalidInputError):
        METHODS["ridge"].recipe(max_components=3)
    assert METHODS["ridge"].recipe(max_components=None, alphas=[2.0]).alphas.tolist() == [2.0]
