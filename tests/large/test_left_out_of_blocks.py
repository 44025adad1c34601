"""Cross-validation and preprocessing of tables in blocks, and factors with all their digits."""

import numpy as np
import pytest
from _helpers.problems import make_problem

from plsdof import cross_validate, pcr_path, pls_path, ridge_path
from plsdof.chemometrics.preprocessor import Preprocessor
from plsdof.errors import InvalidInputError, NotAvailableError
from plsdof.large import ArrayBlocks, Moments
from plsdof.large import sources as module
from plsdof.large.blocks import RowBlocks, take_rows
from plsdof.large.sources import block_factor, merge_factors, standardized_factor

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
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"scale": False, "cv": 4, "rng": 4},
        {"groups": np.arange(N) // 4, "cv": 6},
        {"cv": 3, "repeats": 2},
        {"cv": [(np.arange(100), np.array([150, 120])), (np.arange(50, 203), np.arange(9))]},
    ],
)
def test_folds_of_blocks_give_what_those_in_memory_give(method, axis, options):
    X, y = data()
    blocks = ArrayBlocks(X, y, memory=5 * 8 * X.shape[1 - axis], axis=axis)
    found = cross_validate(blocks, path=method, **options)
    # Test rows are in the order of the table.
    cv = [(fold.train, fold.test) for fold in found.folds]
    expected = cross_validate(
        X, y, method, cv, options.get("groups"), scale=options.get("scale", True)
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
    with pytest.raises(InvalidInputError, match="needs all rows at once"):
        Preprocessor("msc:median").fit_blocks(in_blocks(*data()))


def test_single_rows_are_left_out_if_the_table_fits():
    X, y = data()
    found, expected = pls_path(in_blocks(X, y), max_components=4), pls_path(X, y, 4)
    np.testing.assert_allclose(
        found.left_out("loo").residuals, expected.left_out("loo").residuals, atol=1e-9
    )


def test_more_rows_than_memory_are_refused(monkeypatch):
    monkeypatch.setattr(module, "_MOST_NUMBERS", 2000)
    path = pls_path(in_blocks(*data()))
    with pytest.raises(InvalidInputError, match="number of folds such as cv=10"):
        path.left_out("loo")
    with pytest.raises(NotAvailableError, match="12 predictions for each of 203 rows"):
        path.left_out()


def test_rows_of_another_response_are_left_out_of_its_own_path():
    X, y = data()
    other = y + X[:, 0]
    found, expected = pls_path(in_blocks(X, y)).refit(other), pls_path(X, other)
    np.testing.assert_allclose(
        found.left_out().residuals[:5], expected.left_out().residuals[:5], atol=1e-9
    )
    with pytest.raises(NotAvailableError, match="another response"):
        ridge_path(in_blocks(X, y)).refit(other).left_out()


def test_weights_count_in_the_folds_of_blocks():
    X, y = data()
    weights = np.random.default_rng(0).uniform(0.5, 2.0, N)
    blocks = ArrayBlocks(X, y, weights, axis=0, memory=4000)
    for method in ("pls", "ridge"):
        found = cross_validate(blocks, path=method)
        assert_same(found, cross_validate(X, y, method, sample_weight=weights))
    some = np.arange(N) % 3.0
    found = cross_validate(ArrayBlocks(X, y, some, axis=0), groups=np.arange(N) // 5)
    expected = cross_validate(X, y, sample_weight=some, groups=np.arange(N) // 5)
    np.testing.assert_allclose(found.rmse[:8], expected.rmse[:8], rtol=1e-9)
    np.testing.assert_allclose(found.predictions[..., 2], expected.predictions[..., 2], rtol=1e-9)


def test_what_has_no_rows_and_what_needs_them_in_memory_is_refused():
    X, y = data()
    with pytest.raises(NotAvailableError, match="needs the rows"):
        cross_validate(Moments.of(X, y))
    repeated = [(np.repeat(np.arange(50), 2), np.arange(100, 120))]
    with pytest.raises(InvalidInputError, match="more than once"):
        cross_validate(in_blocks(X, y), path="ridge", cv=repeated)


# rows


def test_chosen_rows_are_those_of_the_table():
    X, y = data()
    keep = np.random.default_rng(0).random(N) < 0.3
    rows = RowBlocks(in_blocks(X, y), keep, np.negative)
    assert rows.n_rows == keep.sum()
    np.testing.assert_array_equal(take_rows(rows), -X[keep])
    columns = RowBlocks(ArrayBlocks(X, y, axis=1, memory=4000), keep)
    np.testing.assert_array_equal(take_rows(columns), X[keep])
    found, expected = pls_path(rows, max_components=4), pls_path(-X[keep], y[keep], 4)
    np.testing.assert_allclose(found.coef, expected.coef, rtol=1e-9)
    np.testing.assert_allclose(found.fitted, expected.fitted, rtol=1e-9)


def test_rows_cannot_be_changed_in_blocks_of_columns():
    X, y = data()
    with pytest.raises(InvalidInputError, match="use axis=0"):
        RowBlocks(ArrayBlocks(X, y, axis=1), None, np.negative)


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
    found = pls_path(blocks, max_components=12, scale=False)
    np.testing.assert_allclose(found.dof, expected.dof, rtol=1e-6)
    np.testing.assert_allclose(found.rss, expected.rss, rtol=1e-9)
    np.testing.assert_allclose(found.fitted, expected.fitted, rtol=1e-7, atol=1e-9)
    assert found.exact.decomposition.solver == "svd"


@pytest.mark.parametrize("method", ["pls", "pcr", "ridge"])
def test_cross_validation_of_blocks_has_them_too(method):
    X, y = steep()
    options = {} if method == "ridge" else {"max_components": 10}
    found = cross_validate(in_blocks(X, y), None, method, 5, scale=False, **options)
    expected = cross_validate(X, y, method, 5, scale=False, **options)
    assert_same(found, expected, rtol=1e-5)


def test_other_methods_use_factors_as_well():
    X, y = steep()
    pcr = pcr_path(in_blocks(X, y), max_components=20, scale=False)
    assert len(pcr.dof) == 21
    assert pcr.exact.decomposition.solver == "svd"
    ridge = ridge_path(in_blocks(X, y), alphas=[1e-16, 1e-18], scale=False)
    assert ridge.exact.decomposition.solver == "svd"


def test_well_conditioned_data_are_read_once():
    X, y = data(decay=0.5)
    blocks = in_blocks(X, y)
    passes = []
    reduce = blocks.reduce
    blocks.reduce = lambda *given: passes.append(given[-1]) or reduce(*given)
    assert pls_path(blocks, max_components=5).exact.decomposition.solver == "gram"
    assert passes == ["Means and products"]


@pytest.mark.parametrize("fit", [pls_path, pcr_path, ridge_path])
@pytest.mark.parametrize("size", [1e65, 1e-65])
@pytest.mark.parametrize("scale", [True, False])
def test_units_far_from_one_overflow_nowhere(fit, size, scale):
    X, y = make_problem(8, 30)
    found = fit(ArrayBlocks(X * size, y, axis=0, memory=900), scale=scale)
    if fit is ridge_path and not scale:
        assert np.all(np.isfinite(found.dof))  # penalties follow from the eigenvalues
    else:
        np.testing.assert_allclose(found.dof[:4], fit(X, y, scale=scale).dof[:4], rtol=1e-5)


@pytest.mark.parametrize("size", [1e151, 1e-151])
def test_units_whose_squares_leave_the_range_are_refused(size):
    X, y = make_problem(8, 30)
    with pytest.raises(InvalidInputError, match="change the unit"):
        pls_path(ArrayBlocks(X * size, y, axis=0, memory=900))
