"""Sparse, implicit, mapped, chunked and incremental data give what dense data in memory give."""

from functools import partial

import numpy as np
import pytest
import scipy.sparse

from plsdof import PLSRegressor, load_model, pcr_path, pls_path, ridge_path, save_model
from plsdof._core import fit as fits
from plsdof._core import left_out, spectrum
from plsdof.errors import InvalidInputError, NotAvailableError
from plsdof.large import ArrayBlocks, Moments, blocks, sources
from plsdof.large.sources import open_source

SHAPES = {"tall": (400, 80), "wide": (80, 400)}
COMPONENTS = 6


@pytest.fixture(params=SHAPES, scope="module")
def data(request):
    n, p = SHAPES[request.param]
    rng = np.random.default_rng(n)
    X = scipy.sparse.random_array((n, p), density=0.2, rng=rng).toarray()
    X[:, :5] += rng.normal(size=(n, 5))
    y = X[:, :10] @ rng.normal(size=10) + 0.3 * rng.normal(size=n)
    return X, y


def mapped(X, tmp_path):
    file = tmp_path / "X.bin"
    X.tofile(file)
    return np.memmap(file, dtype=np.float64, mode="r", shape=X.shape)


def zarred(X, tmp_path):
    zarr = pytest.importorskip("zarr", reason="zarr is not installed")
    array = zarr.create_array(
        store=str(tmp_path / "X.zarr"), shape=X.shape, chunks=(50, 50), dtype="f8"
    )
    array[:] = X
    return array


def dasked(X, _, chunks=(37, 41)):
    array = pytest.importorskip("dask.array", reason="dask is not installed")
    return array.from_array(X, chunks=chunks)


SOURCES = {
    "csr": lambda X, _: scipy.sparse.csr_array(X),
    "csc": lambda X, _: scipy.sparse.csc_matrix(X),
    "coo": lambda X, _: scipy.sparse.coo_array(X),
    "memmap": mapped,
    "zarr": zarred,
    "dask": dasked,
}


@pytest.fixture(params=SOURCES)
def source(request, data, tmp_path):
    return SOURCES[request.param](data[0], tmp_path)


def agree(path, exact, tolerance=1e-8):
    np.testing.assert_allclose(path.dof, exact.dof, rtol=tolerance)
    np.testing.assert_allclose(path.rss, exact.rss, rtol=tolerance)
    np.testing.assert_allclose(
        path.noise_variance("jacobian"), exact.noise_variance("jacobian"), rtol=tolerance
    )
    np.testing.assert_allclose(path.coef, exact.coef, atol=tolerance * np.abs(exact.coef).max())
    np.testing.assert_allclose(path.intercept, exact.intercept, rtol=1e-7)
    assert path.select("bic").n_components == exact.select("bic").n_components


@pytest.mark.parametrize("scale", [True, False])
def test_results_agree_with_those_of_dense_data_to_1e_8(source, data, scale):
    exact = pls_path(*data, COMPONENTS, solver="svd", scale=scale)
    path = pls_path(source, data[1], COMPONENTS, scale=scale)
    agree(path, exact)


def test_standard_errors_of_coefficients_agree_too(source, data):
    exact = pls_path(*data, COMPONENTS, solver="svd")
    path = pls_path(source, data[1], COMPONENTS)
    for m in (1, 4):
        np.testing.assert_allclose(path.coef_std_error(m), exact.coef_std_error(m), rtol=1e-6)


def test_all_components_of_large_data(source, data):
    exact = pls_path(*data, solver="svd")
    path = pls_path(source, data[1])
    size = min(len(path.dof), len(exact.dof), 20)
    assert size == 20
    np.testing.assert_allclose(path.dof[:size], exact.dof[:size], rtol=1e-6)


def test_principal_components_and_ridge_too(source, data):
    agree(pcr_path(source, data[1], 5), pcr_path(*data, 5, solver="svd"))
    alphas = [100.0, 1.0]
    ours = ridge_path(source, data[1], alphas)
    theirs = ridge_path(*data, alphas, solver="svd")
    np.testing.assert_allclose(ours.dof, theirs.dof, rtol=1e-10)
    np.testing.assert_allclose(ours.coef, theirs.coef, rtol=1e-8)


def test_weights(source, data):
    weights = np.random.default_rng(0).integers(0, 4, len(data[1]))
    exact = pls_path(*data, COMPONENTS, solver="svd", sample_weight=weights)
    agree(pls_path(source, data[1], COMPONENTS, sample_weight=weights), exact)


def test_beyond_what_can_be_counted_everything_else_works(source, data, monkeypatch, tmp_path):
    exact = pls_path(*data, COMPONENTS)
    expected = {name: getattr(exact, name) for name in ("coef", "n_components")}
    predicted, variances = exact.predict(data[0]), exact.noise_variance()
    monkeypatch.setattr(sources, "open_source", partial(open_source, limit=10))
    monkeypatch.setattr(blocks, "FORMED", 10)
    monkeypatch.setattr(spectrum, "COUNTED", 10)
    monkeypatch.setattr(fits, "COUNTED", 10)
    monkeypatch.setattr(left_out, "COUNTED", 10)
    # Of 20,000 rows and columns the estimate is above what a closed form would take over from.
    monkeypatch.setattr(left_out, "_ALL_DIGITS", 1e-20)
    path = pls_path(source, data[1], COMPONENTS)
    with pytest.raises(NotAvailableError):
        _ = path.dof
    with pytest.raises(NotAvailableError):
        pcr_path(source, data[1], 5)
    with pytest.raises(InvalidInputError):
        pls_path(source, data[1])
    assert path.select(cv=5).n_components == exact.select(cv=5).n_components
    for ours, theirs in ((path[3], exact[3]), (path.average(cv=5), exact.average(cv=5))):
        size = np.abs(theirs.coef).max()
        np.testing.assert_allclose(ours.coef, theirs.coef, atol=1e-8 * size)
        np.testing.assert_allclose(ours.predict(data[0]), theirs.predict(data[0]), rtol=1e-7)
        np.testing.assert_allclose(
            ours.predictor.half_widths(data[0]), theirs.predictor.half_widths(data[0]), rtol=1e-6
        )
    for name, values in expected.items():
        size = np.abs(values).max()
        np.testing.assert_allclose(getattr(path, name), values, atol=1e-8 * size)
    np.testing.assert_allclose(path.predict(data[0]), predicted, rtol=1e-7)
    np.testing.assert_allclose(path.noise_variance(), variances, rtol=1e-7)
    save_model(path[3], tmp_path / "model.json")
    again = load_model(tmp_path / "model.json")
    np.testing.assert_allclose(again.predict(data[0]), predicted[3], rtol=1e-7)


def test_moments_collected_piece_by_piece_agree(data):
    X, y = data
    pieces = np.array_split(np.arange(len(y)), 7)
    half = Moments.empty()
    for rows in pieces[:3]:
        half.partial_fit(X[rows], y[rows])
    other = Moments.empty()
    for rows in pieces[3:]:
        other.partial_fit(X[rows], y[rows])
    path = pls_path(half.merge(other), max_components=COMPONENTS)
    agree(path, pls_path(X, y, COMPONENTS, solver="svd"))
    with pytest.raises(NotAvailableError, match="rows of the data were not kept"):
        path.fitted  # noqa: B018


def test_sparse_rows_are_predicted_without_being_filled(data):
    X, y = data
    path = pls_path(scipy.sparse.csr_array(X), y, COMPONENTS)
    new = scipy.sparse.coo_array(X[:7])
    np.testing.assert_allclose(path.predict(new), path.predict(X[:7]), rtol=1e-12)
    with pytest.raises(InvalidInputError, match="column"):
        path.predict(scipy.sparse.csr_array(X[:7, 1:]))


def test_fitted_values_of_data_that_can_be_read_again(source, data):
    exact = pls_path(*data, COMPONENTS, solver="svd")
    path = pls_path(source, data[1], COMPONENTS)
    np.testing.assert_allclose(path.fitted, exact.fitted, atol=1e-8)


def test_a_singular_value_decomposition_is_refused(source, data):
    with pytest.raises(NotAvailableError, match="solver='svd'"):
        pls_path(source, data[1], 3, solver="svd")


def test_scaling_comes_too_late_for_a_gram(data):
    X, y = data
    scaled = Moments.of(X, y).gram()
    for fit in (pls_path, pcr_path, ridge_path):
        with pytest.raises(InvalidInputError, match=r"scale=False comes too late.* Moments.gram"):
            fit(scaled, scale=False)
    gram = Moments.of(X, y).gram(scale=False)
    expected = pls_path(X, y, 3, scale=False).coef
    np.testing.assert_allclose(
        pls_path(gram, max_components=3, scale=False).coef, expected, atol=1e-8
    )


@pytest.mark.parametrize("wrap", [scipy.sparse.csr_array, scipy.sparse.csc_array])
def test_a_path_of_products_takes_another_response(wrap, data):
    X, y = data
    other = y + X[:, 0]
    refitted = pls_path(wrap(X), y, COMPONENTS).refit(other)
    exact = pls_path(X, other, COMPONENTS, solver="svd")
    np.testing.assert_allclose(refitted.coef, exact.coef, atol=1e-8)
    np.testing.assert_allclose(refitted.dof, exact.dof, rtol=1e-6)


def test_a_response_is_given_once():
    X, y = np.ones((3, 2)), np.arange(3.0)
    for table in (X, scipy.sparse.csr_array(X)):
        with pytest.raises(InvalidInputError, match="y is missing"):
            pls_path(table)
    with pytest.raises(InvalidInputError, match="y was given, but a Moments has its own"):
        pls_path(Moments.of(X, y), y)
    with pytest.raises(InvalidInputError, match="sample_weight was given, but a ArrayBlocks"):
        pls_path(ArrayBlocks(X, y), sample_weight=y)


def test_what_has_no_rows_leaves_none_out(data):
    X, y = data
    for path in (
        pls_path(Moments.of(X, y), max_components=4),
        pls_path(Moments.of(X, y).gram(), max_components=4),
    ):
        selection = path.select()
        assert selection.criterion == "gcv"
        assert selection.remark("no-rows") is not None
        for options in ({"cv": 5}, {"groups": np.arange(len(y)) // 2}):
            with pytest.raises(NotAvailableError, match="needs the rows"):
                path.select(**options)
        with pytest.raises(NotAvailableError, match="needs the rows"):
            path.left_out()
    with pytest.raises(NotAvailableError, match="needs the rows"):
        PLSRegressor(cv=5).fit(Moments.of(X, y))


def test_streamed_predictors_of_low_rank_do_not_cost_digits(tmp_path):
    rng = np.random.default_rng(1)
    X = rng.integers(-3, 4, (64, 26)) @ rng.integers(-2, 3, (26, 304)).astype(float)
    y = rng.normal(size=64)
    exact = pls_path(X, y, 12, solver="svd")
    path = pls_path(mapped(X, tmp_path), y, 12)
    np.testing.assert_allclose(path.predict(X), exact.predict(X), atol=1e-9 * np.std(y))


def few_spectra(p):
    """Return 20 spectra with a baseline that is far above everything else."""
    rng = np.random.default_rng(174)
    n, grid = 20, np.linspace(0, 1, p)
    shares = rng.dirichlet(np.ones(4), n)
    X = shares @ np.exp(-(((grid - rng.uniform(size=(4, 1))) / 0.15) ** 2))
    X += rng.normal(size=(n, 1)) + 1e-4 * rng.normal(size=(n, p))
    return X, shares[:, 0] + 0.01 * rng.normal(size=n)


@pytest.mark.parametrize("memory", [8 * 40 * 5, 8 * 40 * 100], ids=["many", "one"])
@pytest.mark.parametrize("p", [19, 20, 40])
def test_rows_that_come_in_blocks_may_be_fewer_than_columns(p, memory):
    X, y = few_spectra(p)
    exact = pls_path(X, y, 4, scale=False, solver="svd")
    path = pls_path(ArrayBlocks(X, y, axis=0, memory=memory), max_components=4, scale=False)
    assert path.exact.spectrum.rank == exact.exact.spectrum.rank
    assert path.exact.spectrum.collinear == 0
    np.testing.assert_allclose(path.dof, exact.dof, rtol=1e-7)
    np.testing.assert_allclose(path.coef, exact.coef, atol=1e-6 * np.abs(exact.coef).max())
    variances = (one.noise_variance("jacobian") for one in (path, exact))
    np.testing.assert_allclose(*variances, rtol=1e-6)


def test_all_components_of_few_rows_in_blocks():
    X, y = few_spectra(40)
    exact = pls_path(X, y, solver="svd")
    path = pls_path(ArrayBlocks(X, y, axis=0, memory=8 * 40 * 5))
    assert len(path.dof) == len(exact.dof)
    np.testing.assert_allclose(path.dof, exact.dof, rtol=1e-6)


def test_columns_may_come_in_blocks_where_rows_are_more_than_columns():
    k, t = np.arange(1, 13), 2 * np.pi * np.arange(48)[:, None] / 48
    X = np.hstack([np.cos(k * t), np.sin(k * t)]) / np.tile(k, 2) ** 0.03
    y = np.random.default_rng(3).normal(size=48)
    exact = pls_path(X, y, 3, scale=False, solver="svd")
    path = pls_path(ArrayBlocks(X, y, axis=1), max_components=3, scale=False)
    # Half of y is out of reach of the columns, which must not cost digits of what is not.
    np.testing.assert_allclose(path.coef, exact.coef, atol=1e-12 * np.abs(exact.coef).max())
