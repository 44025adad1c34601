"""Rows far away from all others: residuals left out are within their errors (ball arithmetic)."""

import numpy as np
import pytest
from _helpers.oracle_left_out import exact_left_out, with_far_rows

from plsdof import pls_path
from plsdof._core.standardize import Columns, column_blocks, standardize

pytestmark = pytest.mark.filterwarnings("ignore::plsdof.errors.PlsdofWarning")
EPS = np.finfo(float).eps


def draw(seed, most_rows, most_columns):
    """Return X with far rows, y, whether to scale, and the fold of every row."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(8, most_rows)), int(rng.integers(2, most_columns))
    X = rng.normal(size=(n, p))
    if rng.random() < 0.4:
        decay = 10.0 ** -np.linspace(0, rng.uniform(0, 6), p)
        X = X * decay @ np.linalg.qr(rng.normal(size=(p, p)))[0]
    if rng.random() < 0.3:
        X += 10.0 ** rng.uniform(0, 4)
    y = X @ rng.normal(size=p) + rng.choice([1e-3, 0.3, 1.0]) * rng.normal(size=n)
    return with_far_rows(X, rng), y, bool(rng.random() < 0.6), np.arange(n) % rng.choice([3, 5, n])


def assert_residuals_are_within_their_error(seed, components, **sizes):
    X, y, scale, fold = draw(seed, **sizes)
    left = pls_path(X, y, components, scale=scale).left_out(int(fold.max()) + 1)
    known = min(int(np.count_nonzero(np.isfinite(left.error))) - 1, components)
    exact = exact_left_out(lambda rows: rows @ rows.T, X, y, fold, known, scale=scale)
    found = left.residuals[: known + 1]
    off = np.abs(found - exact).max(axis=1)
    assert np.all(off <= left.error[: known + 1] + 8 * EPS * np.abs(y).max()), seed
    rmse = np.sqrt(np.mean(exact**2, axis=1))
    np.testing.assert_allclose(left.rmse[: known + 1], rmse, rtol=1e-3)


@pytest.mark.parametrize("seed", [*range(30), 314])
def test_rows_left_out(seed):
    assert_residuals_are_within_their_error(seed, 4, most_rows=23, most_columns=7)


def test_a_far_row_beside_equal_eigenvalues():
    # Without row 4, three columns have one eigenvalue and three are 1e-8 of the far row: rounding
    # of X'r, taken along by the former, is all that there is of a third component.
    turn = 2.0 * np.pi * np.arange(8)[:, None] * np.arange(1, 4) / 8
    X = np.hstack([np.cos(turn), np.sin(turn)])
    y = np.array([3.1, 0.6, 1.5, 2.3, 1.7, 2.3, 2.0, 3.1])
    X[0] = [1.02e8, 5.2e7, 3.5e7, 0.0, 0.0, 0.0]
    fold = np.arange(8) % 5
    left = pls_path(X, y, 5).left_out(5)
    known = int(np.count_nonzero(np.isfinite(left.error))) - 1
    exact = exact_left_out(lambda rows: rows @ rows.T, X, y, fold, known, scale=True)
    off = np.abs(left.residuals[: known + 1] - exact).max(axis=1)
    assert np.all(off <= left.error[: known + 1] + 8 * EPS * np.abs(y).max())


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_many_rows_left_out(part):
    for seed in range(1000 + 50 * part, 1050 + 50 * part):
        assert_residuals_are_within_their_error(seed, 6, most_rows=40, most_columns=12)


@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("folds", [5, 60])
def test_a_code_for_missing_values_among_sixty_rows(scale, folds):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5))
    y = X.sum(axis=1) + 0.3 * rng.normal(size=60)
    X[3, 2] = 1e8
    left, fold = pls_path(X, y, 5, scale=scale).left_out(folds), np.arange(60) % folds
    others = np.flatnonzero(fold != fold[3])
    for f in (fold[3], fold[4]):
        test, train = np.flatnonzero(fold == f), np.flatnonzero(fold != f)
        refit = pls_path(X[train], y[train], 5, scale=scale, solver="svd")
        known = min(len(refit), len(left.rmse))
        off = np.abs(left.residuals[:known, test] - (y[test] - refit.predict(X[test])[:known]))
        assert np.all(off.max(axis=1) <= left.error[:known] + 1e-8 * np.abs(refit.coef).max())
    # Rows beside the far one have all their digits.
    usual = np.median(np.abs(left.residuals[:, others]), axis=1)
    assert np.all(usual < 10.0)


def test_the_centre_of_columns_is_where_most_rows_are():
    rng = np.random.default_rng(0)
    X = rng.normal(loc=[0.0, 100.0, 100.0, 0.0], size=(50, 4))
    X[7, 2:] = 1e9
    columns = Columns.of(X)
    np.testing.assert_allclose(columns.centre, [0.0, 100.0, 100.0, 0.0], atol=3.0)
    assert columns.centre[1] == pytest.approx(X[:, 1].mean(), rel=1e-15)
    assert not Columns.of(X[:, :1]).centre.any()  # zero is close enough


@pytest.mark.parametrize("scale", [True, False])
def test_wide_rows_are_cut_by_columns(scale, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(loc=5.0, size=(20, 300))
    X[:, 7], weights = 3.0, rng.uniform(0.5, 2.0, 20)
    expected = standardize(X, X[:, 0], scale=scale, sample_weight=weights)
    monkeypatch.setattr("plsdof._core.standardize._CACHED", 1000)
    assert len(column_blocks(X)) > 3
    found = standardize(X, X[:, 0], scale=scale, sample_weight=weights)
    np.testing.assert_allclose(found.X, expected.X, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(found.units.x_scale, expected.units.x_scale, rtol=1e-12)
    whole = pls_path(X, X[:, 0], 3, scale=scale).left_out(5).residuals
    monkeypatch.undo()
    np.testing.assert_allclose(
        whole, pls_path(X, X[:, 0], 3, scale=scale).left_out(5).residuals, atol=1e-12
    )
