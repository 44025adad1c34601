"""Outlier tables against least squares, dense Jacobians and simulation."""

import numpy as np
import pandas as pd
import pytest
from _helpers.latent import DATA, new_rows
from scipy import stats
from sklearn.cross_decomposition import PLSRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from plsdof import PLSRegressor, pls_path
from plsdof.chemometrics import distances as monitoring
from plsdof.chemometrics.unusual import outliers
from plsdof.errors import InvalidInputError
from plsdof.large import Moments


def test_each_kind_of_outlier_is_flagged_by_its_own_diagnostic():
    rng = np.random.default_rng(10)
    loadings = rng.normal(size=(2, 8))
    T = rng.normal(size=(60, 2))
    X = T @ loadings + 0.1 * rng.normal(size=(60, 8))
    y = T @ [1.0, 0.5] + 0.1 * rng.normal(size=60)
    path = pls_path(X, y, 2)
    new = np.array([[0.2, 0.1], [6.0, -6.0], [0.2, 0.1], [0.2, 0.1]]) @ loadings
    strange = rng.normal(size=8)
    strange -= np.linalg.lstsq(loadings.T, strange, rcond=None)[0] @ loadings
    new[2] += strange
    response = np.array([0.25, 3.0, 0.25, 2.0])
    table = outliers(path[2], new, response, level=0.999)
    np.testing.assert_array_equal(np.flatnonzero(table.t2.flags), [1])
    np.testing.assert_array_equal(np.flatnonzero(table.q.flags), [2])
    np.testing.assert_array_equal(np.flatnonzero(table.leverage.flags), [1])
    np.testing.assert_array_equal(np.flatnonzero(table.studentized.flags), [3])
    np.testing.assert_array_equal(table.n_flags, [0, 2, 1, 1])


@pytest.mark.parametrize("sign", [-1, 1])
def test_responses_are_flagged_on_both_sides(sign):
    X, y = DATA["tall"]
    y = y.copy()
    y[17] += sign * 8.0
    result = outliers(pls_path(X, y, 3)[2], y=y, level=0.999).studentized
    np.testing.assert_array_equal(np.flatnonzero(result.flags), [17])
    assert np.sign(result.values[17]) == sign


def test_the_table_repeats_its_parts():
    X, y = DATA["tall"]
    y = y.copy()
    y[17] += 8.0
    path = pls_path(X, y, 3)
    table = outliers(path[2], y=y, level=0.99, limit="cross-validated")
    np.testing.assert_array_equal(table.t2.values, monitoring.hotelling_t2(path[2]).values)
    assert table.q.limit == (
        monitoring.q_residuals(path[2], level=0.99, limit="cross-validated").limit
    )
    np.testing.assert_array_equal(table.leverage.values, path.leverage(2))
    assert table.leverage.limit == pytest.approx(3 * np.mean(path.leverage(2)))
    frame = pd.DataFrame(table.columns())
    assert list(frame) == [
        *("t2", "t2_flag", "q", "q_flag", "leverage", "leverage_flag"),
        *("studentized", "studentized_flag", "n_flags", "p_value"),
    ]
    assert frame.loc[17, "studentized_flag"]


def test_without_rows_to_leave_out_there_are_no_residuals():
    X, y = DATA["tall"]
    known, kept = pls_path(X[:30], y[:30])[3], pls_path(Moments.of(X[:30], y[:30]))[3]
    table, expected = (outliers(one, X[30:], y[30:], limit="distribution") for one in (kept, known))
    assert np.isnan(table.studentized.values).all()
    np.testing.assert_allclose(table.t2.values, expected.t2.values, rtol=1e-7)
    np.testing.assert_allclose(table.leverage.values, expected.leverage.values, rtol=1e-7)


def test_leverages_of_new_rows_are_those_of_least_squares():
    X, y = DATA["tall"]
    path = pls_path(X[:30], y[:30])
    design = np.column_stack([np.ones(30), X[:30]])
    inverse = np.linalg.inv(design.T @ design)
    new = np.column_stack([np.ones(10), X[30:]])
    leverage = np.einsum("ij,jk,ik->i", new, inverse, new)
    table = outliers(path[6], X[30:], y[30:])
    np.testing.assert_allclose(table.leverage.values, leverage, rtol=1e-7)
    assert table.leverage.limit == pytest.approx(3 * 7 / 30)


def test_leverage_of_new_rows_is_the_squared_derivative_of_their_prediction():
    X, y = DATA["wide"]
    new, step = new_rows(X, n=3), 1e-5
    derivative = np.empty((3, len(y)))
    for i in range(len(y)):
        shift = step * np.eye(len(y))[i]
        ahead, behind = (PLSRegression(3).fit(X, y + s).predict(new) for s in (shift, -shift))
        derivative[:, i] = (ahead - behind).ravel() / (2 * step)
    table = outliers(pls_path(X, y, 3)[3], X_new=new)
    np.testing.assert_allclose(table.leverage.values, np.sum(derivative**2, axis=1), rtol=1e-5)


def test_negative_degrees_of_freedom_leave_no_limit_for_the_leverage():
    # Two eigenvalues far apart, y almost along the small one (theory: DoF is about -95).
    U = np.linalg.qr(np.column_stack([np.ones(5), np.eye(5)[:, :2]]))[0][:, 1:]
    X, y = U * [1.0, 1e-2], U @ [1e-3, 1.0]
    path = pls_path(X, y, 1, scale=False)
    assert path.dof[1] < 0
    leverage = outliers(path[1]).leverage
    assert np.isnan(leverage.limit)
    assert leverage.message
    assert not leverage.flags.any()


def test_without_responses_the_other_diagnostics_remain():
    X, y = DATA["tall"]
    table = outliers(pls_path(X, y, 2)[2], X)
    assert np.isnan(table.studentized.values).all()
    assert table.studentized.message
    assert np.isfinite(table.t2.values).all()
    assert not table.studentized.flags.any()
    assert sorted(table.order) == list(range(40))
    # The rows of the fit are known with their responses.
    assert np.isfinite(outliers(pls_path(X, y, 2)[2]).studentized.values).all()


def test_responses_of_other_rows_are_refused():
    X, y = DATA["tall"]
    path = pls_path(X, y, 2)
    for other in (y[::-1], y[1:]):
        with pytest.raises(InvalidInputError):
            outliers(path[2], y=other)


@pytest.mark.slow
def test_studentised_residuals_keep_their_level():
    rng = np.random.default_rng(11)
    T = rng.normal(size=(60, 3))
    X = T @ rng.normal(size=(3, 12)) + rng.normal(size=(60, 12))
    rates = []
    for _ in range(300):
        y = T.sum(axis=1) + rng.normal(size=60)
        table = outliers(pls_path(X, y, 3)[3], y=y)
        rates.append(table.studentized.flags.mean())
    error = np.std(rates) / np.sqrt(len(rates))
    assert abs(np.mean(rates) - 0.05) < 0.005 + 4 * error


def calibration(n=60):
    rng = np.random.default_rng(3)
    T = rng.normal(size=(n, 2))
    X = T @ rng.normal(size=(2, 8)) + 0.1 * rng.normal(size=(n, 8))
    return X, T @ [1.0, 0.5] + 0.1 * rng.normal(size=n)


def test_rows_are_ranked_by_severity_with_residuals_first():
    X, y = calibration()
    y[[17, 40]] += [0.6, -0.9]
    X[5] *= 6.0  # far away within the components, and its response along
    y[5] *= 6.0
    table = outliers(pls_path(X, y, 2)[2])
    assert table.order[:2].tolist() == [40, 17]
    assert table.order[2] == 5
    assert sorted(table.order) == list(range(60))
    assert np.all(table.p_value[[17, 40]] < 0.05)
    assert table.studentized.values[40] < 0 < table.studentized.values[17]
    ranked = table.ranked()
    assert ranked.index[:3].tolist() == [40, 17, 5]
    assert len(ranked) == 60


def test_ranked_rows_keep_the_names_of_their_frame():
    X, y = calibration()
    y[17] += 0.8
    names = [f"T{i:03d}" for i in range(60)]
    response = pd.Series(y, index=names)
    table = outliers(pls_path(X, y, 2)[2], y=response)
    assert table.ranked().index[0] == "T017"
    new = outliers(pls_path(X, y, 2)[2], pd.DataFrame(X, index=names), response)
    assert new.ranked().index[0] == "T017"


def test_p_values_compare_a_row_with_all_others_left_out():
    X, y = calibration(30)
    model = pls_path(X, y, 2)[2]
    held = model.left_out_residuals
    others = np.array([np.sqrt(np.mean(np.delete(held, i) ** 2)) for i in range(30)])
    table = outliers(model)
    found = table.studentized
    np.testing.assert_allclose(found.values, held / others, rtol=1e-10)
    assert found.limit == pytest.approx(stats.t.ppf(0.975, 28))
    np.testing.assert_array_equal(found.flags, np.abs(held / others) > found.limit)
    raw = np.sort(2 * stats.t.sf(np.abs(found.values), 28))
    expected = np.minimum(np.maximum.accumulate(raw * np.arange(30, 0, -1)), 1.0)
    np.testing.assert_allclose(np.sort(table.p_value), expected, rtol=1e-9)


@pytest.mark.slow
def test_few_data_sets_have_a_row_that_is_called_sure_by_chance():
    rng = np.random.default_rng(0)
    found = []
    for _ in range(300):
        T = rng.normal(size=(40, 3))
        X = T @ rng.normal(size=(3, 15)) + rng.normal(size=(40, 15))
        table = outliers(pls_path(X, T.sum(axis=1) + rng.normal(size=40), 3)[3])
        found.append(table.p_value.min() < 0.05)
    # Standard error 1.3 %.
    assert np.mean(found) < 0.05 + 4 * 0.013


def test_an_average_is_judged_by_its_heaviest_model():
    X, y = calibration()
    y[17] += 0.8
    pipe = make_pipeline(StandardScaler(), PLSRegressor("average", max_components=4)).fit(X, y)
    model = pipe[-1].model_
    found = outliers(pipe, X[:9], y[:9])
    alone = outliers(model.path[model.index], pipe[0].transform(X[:9]), y[:9])
    for name in ("t2", "q", "leverage"):
        np.testing.assert_allclose(getattr(found, name).values, getattr(alone, name).values)
    assert outliers(pipe).order[0] == 17
