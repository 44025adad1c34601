"""Contributions of variables to T^2 and Q: they sum to what they explain."""

import numpy as np
import pandas as pd
import pytest
from _helpers.latent import DATA, PROBLEMS, Textbook, new_rows

from plsdof import kernel_pls_path, penalized_pls_path, pls_path
from plsdof.chemometrics import contributions, hotelling_t2, q_residuals
from plsdof.errors import InvalidInputError, NotAvailableError


@pytest.fixture(params=PROBLEMS, ids="-".join)
def problem(request):
    name, solver = request.param
    X, y = DATA[name]
    return X, y, pls_path(X, y, 5, solver=solver)


@pytest.mark.parametrize("m", [0, 1, 3, 5])
def test_contributions_sum_to_t2_and_q(problem, m):
    X, _, path = problem
    for rows in (None, new_rows(X)):
        found = contributions(path[m], rows)
        t2, q = hotelling_t2(path[m], rows).values, q_residuals(path[m], rows).values
        np.testing.assert_allclose(found.t2.sum(axis=1), t2, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(np.abs(found.q).sum(axis=1), q, rtol=1e-6, atol=1e-12)


def test_contributions_to_q_are_the_residuals_of_scikit_learns_reconstruction(problem):
    X, y, path = problem
    E = Textbook(X, y, 3).E
    largest = np.abs(E).max()
    found = contributions(path[3]).q
    np.testing.assert_allclose(found, E * np.abs(E), rtol=1e-6, atol=1e-9 * largest**2)


def test_contributions_to_t2_are_those_of_scikit_learns_rotations(problem):
    X, y, path = problem
    book = Textbook(X, y, 3)
    Z = (X - book.mean) / book.std
    variance = book.T.var(axis=0, ddof=1)
    expected = Z * ((book.T / variance) @ book.model.x_rotations_.T)
    found = contributions(path[3]).t2
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8 * np.abs(expected).max())


def test_a_variable_that_is_disturbed_contributes_most():
    X, y = DATA["tall"] if "tall" in DATA else next(iter(DATA.values()))
    path = pls_path(X, y, 3)
    odd = X[:1].copy()
    odd[0, 4] += 30 * X[:, 4].std()
    found = contributions(path[2], odd)
    assert np.argmax(np.abs(found.q[0])) == 4
    assert found.q[0, 4] > 0


def test_weights_count_like_repeated_rows():
    X, y = next(iter(DATA.values()))
    weight = np.random.default_rng(0).integers(1, 4, size=len(y))
    one = contributions(pls_path(X, y, 3, sample_weight=weight)[2])
    rows = np.repeat(np.arange(len(y)), weight)
    other = contributions(pls_path(X[rows], y[rows], 3)[2])
    first = np.searchsorted(rows, np.arange(len(y)))
    np.testing.assert_allclose(one.t2, other.t2[first], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(one.q, other.q[first], rtol=1e-6, atol=1e-9)


def test_penalised_paths_have_contributions_and_kernel_paths_say_why_not():
    X, y = next(iter(DATA.values()))
    path = penalized_pls_path(X, y, strength=0.5, max_components=3)
    found = contributions(path[2])
    np.testing.assert_allclose(found.t2.sum(axis=1), hotelling_t2(path[2]).values, rtol=1e-6)
    np.testing.assert_allclose(np.abs(found.q).sum(axis=1), q_residuals(path[2]).values, rtol=1e-6)
    with pytest.raises(NotAvailableError):
        contributions(kernel_pls_path(X, y, max_components=3)[2])


def test_a_model_that_reproduces_x_leaves_no_contribution_to_q():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 3)), rng.normal(size=12)
    assert not contributions(pls_path(X, y)[3]).q.any()


def test_names_of_variables_and_rows_are_kept():
    X, y = next(iter(DATA.values()))
    frame = pd.DataFrame(X).add_prefix("v")
    path = pls_path(frame, y, 3)
    found = contributions(path[2], frame.rename(index="row {}".format).iloc[:2])
    assert found.row_names == ("row 0", "row 1")
    table = found.to_frame(1)
    assert list(table.index) == list(frame.columns)
    np.testing.assert_array_equal(table["q"], found.q[1])
    with pytest.raises(InvalidInputError):
        found.to_frame(2)
