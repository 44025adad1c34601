"""Leave-one-out residuals from the derivative, against refits."""

import numpy as np
import pytest
from _helpers.latent import latent_data
from _helpers.problems import make_problem

from plsdof import pcr_path, pls_path, ridge_path
from plsdof.datasets import load_gasoline, load_ozone
from plsdof.errors import NotAvailableError


def refits(X, y, m):
    """Leave-one-out residuals of m components, by n refits."""
    rows = np.arange(len(y))
    left_out = [pls_path(X[rows != i], y[rows != i], m).predict(X[[i]])[m, 0] for i in rows]
    return y - left_out


@pytest.mark.parametrize(
    ("load", "m", "correlation", "ratio"),
    [
        (load_ozone, 2, 0.9999, 1.002),
        (load_ozone, 5, 0.999, 1.005),
        (load_gasoline, 3, 0.985, 1.03),
    ],
)
def test_residuals_are_close_to_those_of_refits(load, m, correlation, ratio):
    X, y = load(return_X_y=True)
    path = pls_path(X, y, m)
    assert path.leave_one_out().reliable[m]
    approximate, exact = path.loo_residuals(m), refits(X, y, m)
    assert np.corrcoef(approximate, exact)[0, 1] > correlation
    rmse = np.sqrt(np.mean(approximate**2) / np.mean(exact**2))
    assert 1 / ratio < rmse < ratio


def test_large_leverages_are_flagged():
    path = pls_path(*load_gasoline(return_X_y=True), 8)
    result = path.leave_one_out()
    assert result.reliable[:6].all()
    assert not result.reliable[7:].any()
    assert result.largest_leverage[7] > 0.7


def test_least_squares_is_exact():
    X, y = make_problem(25, 4, seed=1)
    rows = np.arange(25)
    A = np.column_stack([np.ones(25), X])
    exact = [y[i] - A[i] @ np.linalg.lstsq(A[rows != i], y[rows != i], rcond=None)[0] for i in rows]
    for path, index in ((pls_path(X, y), 4), (pcr_path(X, y), 4)):
        np.testing.assert_allclose(path.loo_residuals(index), exact, rtol=1e-7)


def test_sums_and_shares_belong_to_the_residuals():
    X, y = latent_data(40, 6, 0, noise=1.0)
    path = pls_path(X, y, 4)
    result = path.leave_one_out()
    squares = [np.sum(path.loo_residuals(m) ** 2) for m in range(5)]
    np.testing.assert_allclose(path.press(), squares)
    np.testing.assert_allclose(result.rmse**2, path.press() / 40)
    np.testing.assert_allclose(result.q2, 1 - path.press() / np.sum((y - y.mean()) ** 2))
    np.testing.assert_allclose(path.criterion("press"), path.press() / 40)
    assert path.select("press").criterion == "press"
    # The empty model leaves y_i - mean of the others.
    np.testing.assert_allclose(path.loo_residuals(0), (y - y.mean()) * 40 / 39)


def test_weights_count_as_repeated_rows_in_the_sums():
    X, y = latent_data(30, 5, 1, noise=1.0)
    path = ridge_path(X, y, [10.0], sample_weight=np.full(30, 2.0))
    residuals = path.loo_residuals(0)
    assert path.press()[0] == pytest.approx(2 * np.sum(residuals**2))


def test_rows_that_fit_themselves_are_no_candidates():
    X, y = make_problem(20, 60, seed=3, decay=0.5)
    path = pls_path(X, y)
    scores = path.criterion("press")
    own = path.leave_one_out().largest_leverage >= 1
    assert own.any()
    assert np.isnan(scores[own]).all()


def test_paths_without_rows_say_so():
    from dataclasses import replace

    path = replace(pls_path(*make_problem(20, 4)), response=None)
    with pytest.raises(NotAvailableError, match="needs the response"):
        path.loo_residuals(1)
