"""Tall and very wide data in memory: one pass, the same numbers, and rows that the path owns."""

import pickle

import numpy as np
import pytest
import scipy.sparse

from plsdof import pls_path
from plsdof._core.moments import gram_in_blocks, moments_of
from plsdof._core.standardize import Columns, as_observations, standardize
from plsdof.errors import ConstantColumnWarning, InvalidInputError


def table(n=300, p=40, seed=0, offset=3.0):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n, 5))
    X = scores @ rng.normal(size=(5, p)) + rng.normal(size=(n, p)) + offset
    return X, scores[:, 0] + rng.normal(size=n)


@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("offset", [0.0, 3.0, 1e6])
@pytest.mark.parametrize("order", ["C", "F"])
def test_gram_matrix_equals_that_of_standardised_data(scale, weighted, offset, order):
    X, y = table(n=4000, p=60, offset=offset)
    weights = np.random.default_rng(1).uniform(0.0, 3.0, len(X)) if weighted else None
    if weighted:
        weights[::7] = 0.0
    gram = gram_in_blocks(as_observations(np.array(X, order=order), y, weights), scale=scale)
    data = standardize(X, y, scale=scale, sample_weight=weights)
    dense = data.X.T @ data.X
    np.testing.assert_allclose(gram.matrix, dense, atol=1e-11 * dense.max())
    np.testing.assert_allclose(gram.response, data.X.T @ data.y, atol=1e-10 * dense.max())
    np.testing.assert_allclose(gram.units.x_mean, data.units.x_mean, rtol=1e-12)
    np.testing.assert_allclose(gram.units.x_scale, data.units.x_scale, rtol=1e-12)
    assert gram.units.y_mean == data.units.y_mean
    assert (gram.units.n, gram.units.n_rows) == (data.units.n, data.units.n_rows)
    assert gram.total == pytest.approx(data.y @ data.y, rel=1e-14)
    v = np.random.default_rng(2).normal(size=(60, 2))
    np.testing.assert_allclose(gram.to_samples(v), data.X @ v, atol=1e-8)
    np.testing.assert_allclose(gram.to_samples(v[:, 0]), data.X @ v[:, 0], atol=1e-8)


@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("order", ["C", "F"])
def test_very_wide_rows_are_read_by_columns(scale, weighted, order):
    X, y = table(n=30, p=20_000, offset=1e4)
    X[:, 7] = 2.0
    weights = np.random.default_rng(1).integers(0, 3, len(X)) * 1.0 if weighted else None
    given = as_observations(np.array(X, order=order), y, weights)
    with pytest.warns(ConstantColumnWarning):
        data = standardize(X, y, scale=scale, sample_weight=weights)
    gram = gram_in_blocks(given, scale=scale)
    dense = data.X @ data.X.T
    assert gram.side == "samples"
    np.testing.assert_allclose(gram.matrix, dense, atol=1e-12 * dense.max())
    np.testing.assert_array_equal(gram.response, data.y)
    np.testing.assert_allclose(gram.units.x_mean, data.units.x_mean, rtol=1e-15)
    np.testing.assert_allclose(gram.units.x_scale, data.units.x_scale, rtol=1e-14)
    rng = np.random.default_rng(0)
    u, v = rng.normal(size=(len(data.X), 2)), rng.normal(size=(20_000, 2))
    np.testing.assert_allclose(gram.to_samples(v), data.X @ v, atol=1e-8)
    np.testing.assert_allclose(gram.to_features(u), data.X.T @ u, atol=1e-10)


@pytest.mark.parametrize("solver", ["auto", "gram"])
def test_very_wide_rows_have_the_numbers_of_all_digits(solver):
    X, y = table(n=30, p=20_000)
    found, right = (pls_path(X, y, 6, solver=one) for one in (solver, "svd"))
    for name in ("dof", "rss", "coef"):
        np.testing.assert_allclose(getattr(found, name), getattr(right, name), rtol=1e-7, atol=1e-9)
    errors = [path.coef_std_error(2) for path in (found, right)]
    np.testing.assert_allclose(*errors, rtol=1e-7)


def with_column(X, values):
    return np.column_stack([X, values])


CONSTANT = {
    "constant": lambda X: with_column(X, np.full(len(X), 3.0)),
    "nearly constant": lambda X: with_column(X, 3.0 + 1e-12 * X[:, 0]),
}


def jumping(X):
    """Add a column whose first rows are no guide to the others."""
    return with_column(X, np.where(np.arange(len(X)) < 400, 0.0, 1e3) + X[:, 0])


@pytest.mark.parametrize("rows", [300, 400])
def test_rows_must_be_more_than_columns(rows):
    X, y = table(n=rows, p=400)
    assert gram_in_blocks(as_observations(X, y)) is None


@pytest.mark.parametrize("case", CONSTANT)
def test_columns_that_do_not_vary_take_no_part(case):
    X, y = table(n=5000, p=400)
    gram, without = (gram_in_blocks(as_observations(Z, y)) for Z in (CONSTANT[case](X), X))
    assert gram.units.x_scale[-1] == np.inf
    assert not gram.matrix[-1].any()
    np.testing.assert_allclose(gram.matrix[:-1, :-1], without.matrix, rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize("change", [*CONSTANT.values(), jumping])
@pytest.mark.filterwarnings("ignore::plsdof.errors.ConstantColumnWarning")
def test_doubtful_columns_are_fitted_all_the_same(change):
    X, y = table(n=5000, p=400)
    X = change(X)
    fast, slow = pls_path(X, y, 5), pls_path(X, y, 5, solver="svd")
    np.testing.assert_allclose(fast.dof, slow.dof, rtol=1e-9)
    np.testing.assert_allclose(fast.predict(X), slow.predict(X), atol=1e-9)


def test_a_shift_that_was_no_good_is_replaced_by_the_mean():
    X, y = table(n=5000, p=400)
    X = jumping(X)
    found, centred = moments_of(X, y, None, Columns.of(X).centre), X[:, -1] - X[:, -1].mean()
    assert found.xx[-1, -1] == pytest.approx(centred @ centred, rel=1e-13)
    assert found.mean[-2] == pytest.approx(X[:, -1].mean(), rel=1e-15)


CHANGES = {
    "one value": lambda X: X.__setitem__((5, 3), X[5, 3] + 1e-6),
    "another origin": lambda X: X.__iadd__(5.0),
    "another unit": lambda X: X.__imul__(2.0),
    "other rows": lambda X: X.__setitem__(slice(None), X[::-1].copy()),
    "nothing left": lambda X: X.fill(0.0),
    "not a number": lambda X: X.__setitem__((0, 0), np.nan),
    "infinities": lambda X: X.__setitem__((slice(2), 0), [np.inf, -np.inf]),
}
LATER = {
    "fitted": lambda path: path.fitted,
    "standard errors": lambda path: path.coef_std_error(2),
    "another response": lambda path: path.refit(np.arange(300.0)).coef,
}


@pytest.mark.parametrize("later", LATER)
@pytest.mark.parametrize("change", CHANGES)
def test_a_path_owns_its_rows(change, later):
    X, y = table()
    path, expected = pls_path(X, y, 5), LATER[later](pls_path(X.copy(), y, 5))
    CHANGES[change](X)
    np.testing.assert_array_equal(LATER[later](path), expected)


LARGE = LATER | {"held-out rows": lambda path: path.select().scores}


@pytest.mark.parametrize("later", LARGE)
def test_rows_that_are_too_large_to_copy_must_stay_as_they_are(later, monkeypatch):
    X, y = table()
    expected = LARGE[later](pls_path(X, y, 5))
    monkeypatch.setattr("plsdof._core.standardize._COPIED", 1000)
    same, path = pls_path(X, y, 5), pls_path(X, y, 5)
    np.testing.assert_array_equal(LARGE[later](same), expected)
    X[3, 2] += 1.0
    with pytest.raises(InvalidInputError, match="has been changed"):
        LARGE[later](path)


ORDERS = {
    "rows": lambda X: X[::-1].copy(),
    "columns": lambda X: X[:, ::-1].copy(),
    "both": lambda X: X[::-1, ::-1].copy(),
    "a swap": lambda X: np.where(np.isin(np.arange(X.size), [7, 90]).reshape(X.shape), X[2, 10], X),
    "a bit": lambda X: np.nextafter(X, np.where(np.arange(X.size).reshape(X.shape) == 5, 9.0, X)),
}


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("change", ORDERS)
def test_another_order_of_the_same_entries_is_a_change(change, order, monkeypatch):
    X, y = table()
    X = np.asarray(X, order=order)
    monkeypatch.setattr("plsdof._core.standardize._COPIED", 1000)
    path = pls_path(X, y, 5)
    X[:] = ORDERS[change](X)
    with pytest.raises(InvalidInputError):
        _ = path.coef


@pytest.mark.parametrize("weights", [None, np.linspace(0.1, 2.0, 300)])
def test_products_with_the_rows_are_those_of_standardised_ones(weights):
    X, y = table(offset=3.0)
    data = standardize(X, y, sample_weight=weights)
    rows = gram_in_blocks(as_observations(X, y, weights))
    rng = np.random.default_rng(0)
    u, v = rng.normal(size=(300, 2)), rng.normal(size=(40, 2))
    np.testing.assert_allclose(rows.to_samples(v), data.X @ v, atol=1e-10)
    np.testing.assert_allclose(rows.to_features(u), data.X.T @ u, atol=1e-10)


def test_what_was_made_before_a_change_stays():
    X, y = table()
    path = pls_path(X, y, 5)
    errors = path.coef_std_error(2)
    X *= 2.0
    np.testing.assert_array_equal(path.coef_std_error(2), errors)


def test_a_pickled_path_brings_its_rows():
    X, y = table()
    path = pickle.loads(pickle.dumps(pls_path(X, y, 5)))
    X *= 2.0
    np.testing.assert_allclose(path.coef_std_error(2), pls_path(X / 2.0, y, 5).coef_std_error(2))


def test_a_response_that_changed_after_the_fit_does_no_harm():
    X, y = table()
    path, expected = pls_path(X, y, 5), pls_path(X, y.copy(), 5)
    y *= 2.0
    np.testing.assert_array_equal(path.coef_std_error(2), expected.coef_std_error(2))
    np.testing.assert_array_equal(path.fitted, expected.fitted)


@pytest.mark.parametrize("offset", [0.5, 0.99, 1.2])
def test_a_common_offset_of_all_columns_costs_no_digits(offset):
    """The eigenvalue that centring removes would dwarf those that are left."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 400))
    X -= X.mean(axis=0)
    y = X[:, :5].sum(axis=1) + rng.normal(size=3000)
    truth, found = pls_path(X, y, 6, solver="svd"), pls_path(X + offset, y, 6)
    assert found.exact.decomposition.solver == "gram"
    away = np.linalg.norm(found.coef[1:] - truth.coef[1:], axis=1)
    assert np.all(away <= found.coef_error[1:] * np.linalg.norm(truth.coef[1:], axis=1) / 2)
    assert np.all(np.abs(found.dof - truth.dof) <= found.dof_error)


@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_array])
@pytest.mark.parametrize("unit", [1e-65, 1e-40, 1e40, 1e65])
def test_units_whose_fifth_powers_leave_the_range_of_floats(unit, kind):
    X, y = table(n=200, p=40)
    expected = pls_path(X, y, 6, scale=False)
    found = pls_path(kind(X * unit), y, 6, scale=False)
    np.testing.assert_allclose(found.dof, expected.dof, rtol=1e-9)
    np.testing.assert_allclose(found.coef * unit, expected.coef, atol=1e-10)


def test_huge_weights_and_responses():
    X, y = table(n=200, p=40)
    expected = pls_path(X, y, 6)
    weighted = pls_path(X, y, 6, sample_weight=np.full(200, 1e60))
    np.testing.assert_allclose(weighted.coef, expected.coef, atol=1e-9)
    large = pls_path(X * 1e60, y * 1e65, 6, scale=False)
    np.testing.assert_allclose(large.dof, pls_path(X, y, 6, scale=False).dof, rtol=1e-9)
