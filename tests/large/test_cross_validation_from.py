"""Cross-validation and preprocessing of tables in blocks, and factors with all their digits."""

import numpy as np
import pytest
from _helpers.problems import make_problem

from plsdof import cross_validate, pls_path, pls_path_from, ridge_path
from plsdof.chemometrics.preprocessing import Preprocessor, preprocessed
from plsdof.errors import InvalidInputError
from plsdof.large import ArrayBlocks, cross_validate_from, pcr_path_from, ridge_path_from
from plsdof.large import cross_validation as module
from plsdof.large.blocks import RowBlocks, take_rows
from plsdof.large.factors import block_factor, merge_factors, standardized_factor

N, P = 203, 12


def data(seed=0, decay=1.5):
    X, y = make_problem(N, P, seed, decay=decay)
    return X + 5.0, y


def in_blocks(X, y, rows=37):
    return ArrayBlocks(X, y, memory=rows * 8 * X.shape[1], axis=0)


def assert_same(found, expected, rtol=1e-9):
    assert found.message == expected.message
    for name in ("parameters", "fold_errors", "fold_correlations", "predictions", "q2"):
        np.testing.assert_allclose(
            getattr(found, name), getattr(expected, name), rtol=rtol, atol=1e-9, err_msg=name
        )


@pytest.mark.parametrize("method", ["pls", "pcr", "ridge"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"scale": False, "cv": 4, "rng": 4},
        {"groups": np.arange(N) // 4, "cv": 6},
        {"cv": [(np.arange(100), np.array([150, 120])), (np.arange(50, 203), np.arange(9))]},
    ],
)
def test_folds_of_blocks_give_what_those_in_memory_give(method, options):
    X, y = data()
    found = cross_validate_from(in_blocks(X, y), method, **options)
    # The penalties of ridge regression are those of all rows, in every fold.
    scale = options.get("scale", True)
    alphas = ridge_path(X, y, scale=scale).alphas if method == "ridge" else None
    expected = cross_validate(X, y, method, alphas=alphas, **options)
    order = np.argsort(np.argsort(expected.folds[0].test))
    assert len(order) == len(found.folds[0].test)
    assert_same(found, expected)


@pytest.mark.parametrize("most", [None, 0])
def test_moments_of_all_folds_and_passes_for_each_agree(monkeypatch, most):
    X, y = data()
    if most is not None:
        monkeypatch.setattr(module, "_in_memory", lambda *_: False)
    assert_same(cross_validate_from(in_blocks(X, y), cv=5), cross_validate(X, y, cv=5))


@pytest.mark.parametrize("steps", ["msc", "savgol:5:2:1,msc", "baseline,autoscale", "center,snv"])
def test_what_steps_learn_is_learned_from_the_training_rows_of_each_fold(steps):
    X, y = data()
    fit = preprocessed(steps, lambda X, y: pls_path(X, y, 5))
    expected = cross_validate(X, y, fit, 7)
    found = cross_validate_from(
        in_blocks(X, y),
        cv=7,
        max_components=5,
        prepare=lambda rows: Preprocessor(steps).fit_blocks(rows).transform,
    )
    assert_same(found, expected)


@pytest.mark.parametrize("steps", ["snv", "msc", "detrend,center", "baseline", "snv,autoscale"])
def test_chains_fitted_to_blocks_are_those_fitted_to_arrays(steps):
    X, y = data()
    X[:, 3] = 2.0  # does not vary
    chain = Preprocessor(steps).fit_blocks(in_blocks(X, y))
    whole = Preprocessor(steps).fit(X)
    np.testing.assert_allclose(chain.transform(X), whole.transform(X), rtol=1e-10, atol=1e-12)


def test_a_median_needs_all_rows():
    with pytest.raises(InvalidInputError, match="msc:median needs all rows at once"):
        Preprocessor("msc:median").fit_blocks(in_blocks(*data()))


def test_leave_one_out_and_weights_are_refused():
    X, y = data()
    with pytest.raises(InvalidInputError, match="number of folds such as cv=10"):
        cross_validate_from(in_blocks(X, y), cv="loo")
    weighted = ArrayBlocks(X, y, np.full(N, 2.0), axis=0)
    with pytest.raises(InvalidInputError, match="does not take weights"):
        cross_validate_from(weighted)


def test_more_predictions_than_memory_are_refused(monkeypatch):
    monkeypatch.setattr(module, "_MOST_NUMBERS", 2000)
    with pytest.raises(InvalidInputError, match="13 predictions for each of 203 rows"):
        cross_validate_from(in_blocks(*data()))


# rows


def test_chosen_rows_are_those_of_the_table():
    X, y = data()
    keep = np.random.default_rng(0).random(N) < 0.3
    rows = RowBlocks(in_blocks(X, y), keep, np.negative)
    assert rows.n_rows == keep.sum()
    assert rows.y is None
    np.testing.assert_array_equal(take_rows(rows), -X[keep])
    np.testing.assert_array_equal(rows.y, y[keep])
    found, expected = pls_path_from(rows, 4), pls_path(-X[keep], y[keep], 4)
    np.testing.assert_allclose(found.coef, expected.coef, rtol=1e-9)
    np.testing.assert_allclose(found.fitted, expected.fitted, rtol=1e-9)


def test_rows_cannot_be_chosen_from_blocks_of_columns():
    X, y = data()
    with pytest.raises(InvalidInputError, match="use axis=0"):
        RowBlocks(ArrayBlocks(X, y, axis=1))


# factors


def steep(n=300, p=30, seed=1):
    """Return data whose singular values fall to 1e-10 of the first."""
    rng = np.random.default_rng(seed)
    U, V = (np.linalg.qr(rng.normal(size=(size, p)))[0] for size in (n, p))
    X = 3.0 + (U * np.logspace(0, -10, p)) @ V.T
    return X, U[:, :12] @ rng.normal(size=12) + 0.01 * rng.normal(size=n)


@pytest.mark.parametrize("scale", [True, False])
def test_a_factor_has_the_products_and_the_singular_values_of_all_rows(scale):
    X, y = steep()
    factor = in_blocks(X, y).reduce(block_factor, merge_factors)
    made = standardized_factor(factor, scale, None)
    centred = X - X.mean(axis=0)
    centred /= centred.std(axis=0, ddof=1) if scale else 1.0
    assert len(made.X) <= X.shape[1] + 1
    values = np.linalg.svd(centred, compute_uv=False)
    np.testing.assert_allclose(
        np.linalg.svd(made.X, compute_uv=False), values, rtol=1e-6, atol=1e-14 * values[0]
    )
    np.testing.assert_allclose(made.X.T @ made.y, centred.T @ (y - y.mean()), atol=1e-12)
    np.testing.assert_allclose(made.y @ made.y, np.sum((y - y.mean()) ** 2), rtol=1e-12)


def test_paths_of_blocks_have_the_digits_that_products_lose():
    X, y = steep()
    blocks = in_blocks(X, y)
    expected = pls_path(X, y, 12, solver="svd", scale=False)
    assert len(expected.dof) == 13
    found = pls_path_from(blocks, 12, scale=False)
    np.testing.assert_allclose(found.dof, expected.dof, rtol=1e-6)
    np.testing.assert_allclose(found.rss, expected.rss, rtol=1e-9)
    np.testing.assert_allclose(found.fitted, expected.fitted, rtol=1e-7, atol=1e-9)
    assert found.exact.decomposition.solver == "svd"


@pytest.mark.parametrize("method", ["pls", "pcr", "ridge"])
def test_cross_validation_of_blocks_has_them_too(method):
    X, y = steep()
    options = {} if method == "ridge" else {"max_components": 10}
    found = cross_validate_from(in_blocks(X, y), method, 5, scale=False, **options)
    expected = cross_validate(X, y, method, 5, scale=False, **options)
    assert_same(found, expected, rtol=1e-5)


def test_other_methods_use_factors_as_well():
    X, y = steep()
    pcr = pcr_path_from(in_blocks(X, y), 20, scale=False)
    assert len(pcr.dof) == 21
    assert pcr.exact.decomposition.solver == "svd"
    ridge = ridge_path_from(in_blocks(X, y), [1e-16, 1e-18], scale=False)
    assert ridge.exact.decomposition.solver == "svd"


def test_well_conditioned_data_are_read_once():
    X, y = data(decay=0.5)
    blocks = in_blocks(X, y)
    passes = []
    reduce = blocks.reduce
    blocks.reduce = lambda *given: passes.append(given[-1]) or reduce(*given)
    assert pls_path_from(blocks, 5).exact.decomposition.solver == "gram"
    assert passes == ["Means and products"]
