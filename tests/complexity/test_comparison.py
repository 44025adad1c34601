"""Methods side by side on the scale of Degrees of Freedom."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from _helpers.problems import make_problem
from sklearn.linear_model import LinearRegression

from plsdof import compare_paths, cross_validate, pcr_path, pls_path, ridge_path
from plsdof.errors import InvalidInputError, NotAvailableError


@pytest.fixture
def problem():
    return make_problem(40, 6, seed=1, decay=1)


def test_rows_are_those_of_the_paths(problem):
    X, y = problem
    table = compare_paths(X, y, alphas=[1.0, 10.0], criteria=["bic", "gcv"])
    for name, path in [
        ("pls", pls_path(X, y)),
        ("pcr", pcr_path(X, y)),
        ("ridge", ridge_path(X, y, [1.0, 10.0])),
    ]:
        rows = table.method == name
        np.testing.assert_allclose(table.dof[rows], path.dof)
        np.testing.assert_allclose(table.parameter[rows], path.parameters)
        np.testing.assert_allclose(table.train_error[rows], path.rss / 40)
        np.testing.assert_allclose(table.criteria["gcv"][rows], path.criterion("gcv"))
    assert np.isnan(table.cv_error).all()


def test_cross_validated_errors_are_those_of_cross_validate(problem):
    X, y = problem
    table = compare_paths(X, y, ["pls", "ridge"], cv=5)
    expected = cross_validate(X, y, "pls", cv=5).mean_error
    np.testing.assert_allclose(table.cv_error[table.method == "pls"], expected)
    expected = cross_validate(X, y, "ridge", cv=5).mean_error
    np.testing.assert_allclose(table.cv_error[table.method == "ridge"], expected)
    best = table.best("cv_error")
    for name, row in best.items():
        assert table.cv_error[row] == np.nanmin(table.cv_error[table.method == name])


def test_nearest_finds_models_of_equal_complexity(problem):
    X, y = problem
    table = compare_paths(X, y, alphas=np.logspace(-6, 6, 200))
    rows = table.nearest(5.0)
    assert table.dof[rows["pcr"]] == 5.0
    assert abs(table.dof[rows["ridge"]] - 5.0) < 0.1
    for name, row in rows.items():
        assert table.method[row] == name


def test_any_path_can_take_part(problem):
    X, y = problem
    methods = {"three": partial(pls_path, max_components=3), "raw": partial(pls_path, scale=False)}
    table = compare_paths(X, y, methods, cv=4)
    assert list(table.paths) == ["three", "raw"]
    assert np.sum(table.method == "three") == 4
    assert table.to_frame().shape == (11, 7)


def test_what_is_not_known_is_said(problem):
    X, y = problem
    with pytest.raises(InvalidInputError):
        compare_paths(X, y, ["pls", "lasso"])
    with pytest.raises(InvalidInputError):
        compare_paths(X, y, criteria=["dic"])
    with pytest.raises(InvalidInputError, match="degrees_of_freedom"):
        compare_paths(X, y, {"ols": LinearRegression()})
    with pytest.raises(NotAvailableError, match="cv="):
        compare_paths(X, y).best("cv_error")
    unknown = compare_paths(X, y, {"s": partial(pcr_path, max_components=3, order="correlation")})
    assert unknown.nearest(9.0) == {"s": 0}


def test_integer_weights_compare_like_repeated_rows(problem):
    X, y = problem
    weights = np.random.default_rng(0).integers(1, 4, len(y))
    methods = {"pls": partial(pls_path, max_components=3), "pcr": pcr_path}
    ours = compare_paths(X, y, methods, sample_weight=weights)
    theirs = compare_paths(np.repeat(X, weights, axis=0), np.repeat(y, weights), methods)
    np.testing.assert_allclose(ours.dof, theirs.dof, rtol=1e-9)
    np.testing.assert_allclose(ours.train_error, theirs.train_error, rtol=1e-9)
    np.testing.assert_allclose(ours.criteria["bic"], theirs.criteria["bic"], rtol=1e-9)
    scored = compare_paths(X, y, methods, sample_weight=weights, cv=4)
    assert np.all(np.isfinite(scored.cv_error))


def test_paths_keep_the_names_of_the_columns():
    X, y = make_problem(20, 3)
    table = compare_paths(pd.DataFrame(X, columns=list("abc")), y, ["pls"])
    assert table.paths["pls"].feature_names == ("a", "b", "c")
