"""Gram matrices of sparse predictors against dense standardised data."""

import tracemalloc
import warnings

import numpy as np
import pytest
import scipy.sparse

from plsdof import pls_path
from plsdof._core.standardize import standardize
from plsdof.errors import ConstantColumnWarning, InvalidInputError, RelativeWeightsWarning
from plsdof.large.sparse import read_sparse

FORMATS = ("csr", "csc", "coo", "lil", "dok", "bsr", "dia")
SHAPES = {
    "tall": (60, 17),
    "wide": (17, 60),
    "even": (31, 30),
}  # even: wide without the rows of zero weight


def sparse_gram(X, y, sample_weight=None, *, scale=True):
    return read_sparse(X, y, sample_weight, scale=scale)[0]


def sparse_table(n, p, seed=0, density=0.3):
    """Columns of every kind: sparse, full, far from zero, tiny, huge."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * (rng.random((n, p)) < density)
    X[:, 0] = rng.normal(size=n) + 3.0
    X[:, 1] = rng.normal(size=n) + 1e6
    X[:, 2] *= 1e-9
    X[:, 3] *= 1e9
    X[:, 4] = 1e4 + 0.1 * rng.normal(size=n)
    X[n // 2, 4] = 0.0
    y = X[:, 0] + X[:, 5:].sum(axis=1) + rng.normal(size=n)
    return X, y


def weights_of(n, seed=1):
    rng = np.random.default_rng(seed)
    weights = rng.uniform(0.2, 3.0, n)
    weights[[2, n - 1]] = 0.0
    return weights


def assert_same(gram, dense, tolerance=1e-10):
    """Compare everything that a Gram has with products of dense standardised data."""
    X, y, units = dense.X, dense.y, dense.units
    wide = X.shape[0] <= X.shape[1]
    G, size = (X @ X.T if wide else X.T @ X), np.linalg.norm(X, 2)
    assert gram.side == ("samples" if wide else "features")
    assert gram.total == pytest.approx(y @ y, rel=tolerance)
    assert gram.units.n == pytest.approx(units.n)
    assert gram.units.n_rows == units.n_rows
    assert gram.units.y_mean == pytest.approx(units.y_mean, rel=tolerance)
    np.testing.assert_allclose(gram.units.x_mean, units.x_mean, rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(gram.units.x_scale, units.x_scale, rtol=tolerance)
    if units.row_scale is None:
        assert gram.units.row_scale is None
    else:
        np.testing.assert_allclose(gram.units.row_scale, units.row_scale, rtol=1e-15)
    rng = np.random.default_rng(5)
    f, u = (rng.normal(size=(k, 3)) for k in (X.shape[1], X.shape[0]))
    response = y if wide else X.T @ y
    for ours, theirs, scale in (
        (gram.response, response, np.linalg.norm(response)),
        (gram.to_samples(f), X @ f, size),
        (gram.to_features(u), X.T @ u, size),
    ):
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(ours, theirs, atol=tolerance * scale, rtol=0)
    np.testing.assert_allclose(gram.matrix, G, atol=tolerance * size**2, rtol=0)
    np.testing.assert_array_equal(gram.matrix, gram.matrix.T)


@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_sparse_gram_is_that_of_dense_data(shape, weighted, scale):
    X, y = sparse_table(*SHAPES[shape])
    weights = weights_of(len(X)) if weighted else None
    gram = sparse_gram(scipy.sparse.csr_array(X), y, scale=scale, sample_weight=weights)
    dense = standardize(X, y, scale=scale, sample_weight=weights)
    assert_same(gram, dense)


@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("fmt", FORMATS)
def test_every_sparse_format_gives_the_same(fmt, kind):
    X, y = sparse_table(40, 12)
    make = scipy.sparse.csr_array if kind == "array" else scipy.sparse.csr_matrix
    given = make(X).asformat(fmt)
    assert_same(sparse_gram(given, y), standardize(X, y))
    np.testing.assert_array_equal(given.toarray(), X)


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int64, np.float32, bool])
def test_other_types_are_read_as_numbers(dtype):
    rng = np.random.default_rng(0)
    X = (rng.integers(0, 4, (30, 6)) * (rng.random((30, 6)) < 0.5)).astype(dtype)
    y = rng.normal(size=30)
    assert_same(sparse_gram(scipy.sparse.coo_array(X), y), standardize(X, y))


@pytest.mark.parametrize("make", [scipy.sparse.coo_array, scipy.sparse.coo_matrix])
@pytest.mark.parametrize("fmt", ["coo", "csr", "csc"])
def test_duplicates_add_up_and_stored_zeros_are_zeros(fmt, make):
    X, y = sparse_table(40, 12)
    i, j = np.nonzero(X)
    rows, columns = np.concatenate([i, i, [0, 1]]), np.concatenate([j, j, [5, 5]])
    values = np.concatenate([0.25 * X[i, j], 0.75 * X[i, j], [0.0, 0.0]])
    given = make((values, (rows, columns)), shape=X.shape)
    if fmt != "coo":  # the constructor of compressed formats keeps duplicates
        order = np.argsort(rows if fmt == "csr" else columns, kind="stable")
        major, minor = (rows, columns) if fmt == "csr" else (columns, rows)
        counts = np.bincount(major, minlength=X.shape[fmt == "csc"])
        compressed = scipy.sparse.csr_array if fmt == "csr" else scipy.sparse.csc_array
        indptr = np.concatenate([[0], np.cumsum(counts)])
        given = compressed((values[order], minor[order], indptr), shape=X.shape)
        assert given.nnz == len(values)
    stored = given.nnz
    assert_same(sparse_gram(given, y), standardize(X, y))
    assert given.nnz == stored


def test_columns_far_from_zero_keep_their_digits():
    # mean^2 / variance = 1e16: nothing would be left of the difference of the two terms
    rng = np.random.default_rng(3)
    X = rng.normal(size=(50, 8)) + 1e8 * np.arange(8)
    X[:, 7] *= rng.random(50) < 0.3
    y = rng.normal(size=50)
    assert_same(sparse_gram(scipy.sparse.csr_array(X), y), standardize(X, y), tolerance=1e-12)


def test_shifting_columns_stores_at_most_a_quarter_more():
    rng = np.random.default_rng(3)
    share = rng.uniform(0.3, 1.0, 200)
    X = scipy.sparse.csc_array(
        (10 + rng.normal(size=(500, 200))) * (rng.random((500, 200)) < share)
    )
    gram = sparse_gram(X, rng.normal(size=500))
    held = gram.to_samples.__self__.stored.X.nnz
    assert X.nnz < held <= 1.25 * X.nnz


def test_extreme_weights_do_not_fill_the_zeros_of_a_column():
    rng = np.random.default_rng(3)
    X = np.zeros((100, 20))
    X[:10] = 10 + rng.normal(size=(10, 20))
    weights = np.where(np.arange(100) < 10, 1.0, 1e-6)
    given = scipy.sparse.csr_array(X)
    with pytest.warns(RelativeWeightsWarning):
        gram = sparse_gram(given, rng.normal(size=100), sample_weight=weights)
    assert gram.to_samples.__self__.stored.X.nnz == given.nnz


def test_constant_columns_are_kept_with_infinite_scale():
    X, y = sparse_table(40, 12)
    X[:, [1, 4]] -= X[:, [1, 4]].mean(axis=0)
    X[:, 6], X[:, 8] = 0.0, 1.0 / 3.0
    with pytest.warns(ConstantColumnWarning, match="'6', '8'"):
        gram = sparse_gram(scipy.sparse.csr_array(X), y)
    with pytest.warns(ConstantColumnWarning):
        dense = standardize(X, y)
    assert_same(gram, dense)
    assert np.flatnonzero(np.isinf(gram.units.x_scale)).tolist() == [6, 8]
    assert np.trace(gram.matrix) == pytest.approx(10 * 39)


@pytest.mark.parametrize("scale", [True, False])
def test_columns_that_hardly_vary_have_no_coefficient_by_the_recursion(scale):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(61, 5)) * [0.02, 20.0, 1.0, 90.0, 0.5] + [4.0, -9.0, 0.0, 2.0, 15.0]
    X[:, 2] = -1e5 * (1 + 1e-13 * rng.normal(size=61))
    given, y = scipy.sparse.csr_array(X), X @ [1.0, 0.3, 0.0, -1.0, 2.0] + rng.normal(size=61)
    with pytest.warns(ConstantColumnWarning, match="'2'"):
        path = pls_path(given, y, 3, scale=scale)
    assert path.coef[:, 0].any()
    assert not path.coef[:, 2].any()


def test_constant_columns_far_from_zero_stay_constant_with_weights():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(1000, 3)), np.full((1000, 1), 1e8 / 3)], axis=1)
    weights = rng.uniform(0.1, 2.0, 1000)
    with pytest.warns(ConstantColumnWarning, match="'3'"):
        gram = sparse_gram(scipy.sparse.csr_array(X), X[:, 0], sample_weight=weights)
    assert gram.units.x_mean[3] == pytest.approx(1e8 / 3, rel=1e-15)
    assert not gram.matrix[3].any()


def test_a_column_that_varies_only_in_rows_without_weight_is_constant():
    X, y = sparse_table(40, 12)
    weights = weights_of(40)
    X[:, 6] = 0.0
    X[2, 6] = 5.0
    with pytest.warns(ConstantColumnWarning, match="'6'"):
        gram = sparse_gram(scipy.sparse.csr_array(X), y, sample_weight=weights)
    assert np.isinf(gram.units.x_scale[6])


def test_integer_weights_mean_repeated_rows():
    X, y = sparse_table(30, 8)
    weights = np.random.default_rng(0).integers(0, 4, 30)
    weighted = sparse_gram(scipy.sparse.csr_array(X), y, sample_weight=weights)
    repeated = sparse_gram(
        scipy.sparse.csr_array(np.repeat(X, weights, axis=0)), np.repeat(y, weights)
    )
    np.testing.assert_allclose(
        weighted.matrix, repeated.matrix, atol=1e-12 * np.trace(weighted.matrix), rtol=0
    )
    np.testing.assert_allclose(weighted.units.x_scale, repeated.units.x_scale, rtol=1e-12)


@pytest.mark.parametrize("size", [1e200, 1e-200])
@pytest.mark.parametrize("scale", [True, False])
def test_columns_whose_squares_leave_the_range_are_refused(size, scale):
    X, y = sparse_table(40, 12)
    X[:, 6] *= size
    with pytest.raises(InvalidInputError, match="squares leave the range"):
        sparse_gram(scipy.sparse.csr_array(X), y, scale=scale)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nan_and_infinity_are_refused_with_row_and_column(bad):
    X, y = sparse_table(40, 12)
    X[7, 9] = bad
    with pytest.raises(InvalidInputError, match=r"1 value.*first in row 7, column 9.*drop"):
        sparse_gram(scipy.sparse.csr_array(X), y)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scale": np.ones(12)}, "scale must be True or False"),
        ({"y": np.ones(3)}, "y has 3 entries but X has 40 rows"),
        ({"sample_weight": np.eye(40)[0]}, "at least 2 are needed"),
        ({"X": scipy.sparse.csr_array((1, 12))}, r"at least 2 rows and 1 column.*\(1, 12\)"),
        ({"X": scipy.sparse.csr_array((40, 0))}, r"at least 2 rows and 1 column.*\(40, 0\)"),
        ({"X": scipy.sparse.csr_array(np.ones((40, 12)) * 1j)}, "real numbers; got complex128"),
    ],
)
def test_bad_input_is_refused(change, message):
    X, y = sparse_table(40, 12)
    with pytest.raises(InvalidInputError, match=message):
        sparse_gram(**{"X": scipy.sparse.csr_array(X), "y": y, **change})


@pytest.mark.parametrize("shape", [(40_000, 500), (500, 40_000)], ids=["tall", "wide"])
def test_nothing_dense_is_made(shape):
    # 160 MB if it were dense; it has 2.4 MB of entries, and G takes 2 MB
    rng = np.random.default_rng(0)
    X = scipy.sparse.random_array(shape, density=0.01, format="coo", rng=rng)
    y = rng.normal(size=shape[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConstantColumnWarning)
        tracemalloc.start()
        gram = sparse_gram(X, y)
        trace = np.trace(gram.matrix)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 40e6
    assert trace == pytest.approx((shape[0] - 1) * np.isfinite(gram.units.x_scale).sum())
