"""Estimators of one response: a single column is taken, more are refused; names are kept."""

import sys

import dask.array as da
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from _helpers.responses import make_responses
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.multioutput import MultiOutputRegressor
from sklearn.utils import get_tags

from plsdof.errors import InvalidInputError, NotAvailableError
from plsdof.estimators import (
    KernelPLSRegressor,
    PCRegressor,
    PenalizedPLSRegressor,
    PLS2Regressor,
    PLSRegressor,
    RecipeRegressor,
    RidgeRegressor,
)
from plsdof.inference import prediction_interval
from plsdof.inference.intervals import limits_of

Q, P = 3, 5
ESTIMATORS = {
    "pls": PLSRegressor(),
    "pls, fixed": PLSRegressor(2),
    "pcr": PCRegressor(),
    "ridge": RidgeRegressor(),
    "kernel": KernelPLSRegressor(gamma=0.1),
    "penalised": PenalizedPLSRegressor(strength=3.0),
    "recipes": RecipeRegressor(recipes=["none", "scale"]),
}
COLUMNS = {
    "array": lambda y: y[:, None],
    "list": lambda y: y[:, None].tolist(),
    "pandas": lambda y: pd.DataFrame({"octane": y}),
    "polars": lambda y: pl.DataFrame({"octane": y}),
}


@pytest.fixture
def data():
    return make_responses(30, P, Q)


@pytest.mark.parametrize("container", COLUMNS)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_single_column_is_taken_with_a_warning(name, container, data):
    X, Y = data
    column = COLUMNS[container](Y[:, 0])
    with pytest.warns(DataConversionWarning):
        model = clone(ESTIMATORS[name]).fit(X, column)
    vector = clone(ESTIMATORS[name]).fit(X, Y[:, 0])
    np.testing.assert_array_equal(model.predict(X), vector.predict(X))
    assert model.response_names_ == (None if container in ("array", "list") else ("octane",))
    for attribute in ("dof_", "noise_std_", "intercept_"):
        assert type(getattr(model, attribute)) is float


def test_a_single_column_in_pieces_is_taken_with_a_warning(data):
    X, Y = data
    rows, column = da.from_array(X, chunks=(10, P)), da.from_array(Y[:, :1], chunks=(10, 1))
    with pytest.warns(DataConversionWarning):
        model = PLSRegressor(2).fit(rows, column)
    expected = PLSRegressor(2).fit(X, Y[:, 0])
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-9)
    with pytest.raises(InvalidInputError):
        PLSRegressor(2).fit(rows, da.from_array(Y, chunks=(10, Q)))


@pytest.mark.parametrize("name", ESTIMATORS)
def test_more_columns_are_refused_and_the_tag_says_so(name, data):
    X, Y = data
    model = clone(ESTIMATORS[name])
    for several in (Y, Y.tolist(), pd.DataFrame(Y, columns=["u", "v", "w"]), pl.DataFrame(Y)):
        with pytest.raises(InvalidInputError) as caught:
            model.fit(X, several)
        for one in ("3 columns", type(model).__name__, "PLS2Regressor", "MultiOutputRegressor"):
            assert one in str(caught.value)
    tags = get_tags(model).target_tags
    assert tags.single_output
    assert not tags.multi_output
    assert get_tags(PLS2Regressor()).target_tags.multi_output


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_model_of_each_response_is_made_by_scikit_learn(name, data):
    X, Y = data
    models = MultiOutputRegressor(clone(ESTIMATORS[name])).fit(X, Y)
    expected = [clone(ESTIMATORS[name]).fit(X, y).predict(X) for y in Y.T]
    np.testing.assert_array_equal(models.predict(X), np.column_stack(expected))
    assert [type(one.dof_) for one in models.estimators_] == [float] * Q


@pytest.mark.parametrize(
    "y",
    [
        np.ones((30, 2, 2)),
        np.ones((30, 1, 2)),
        np.ones((29, 2)),
        np.full((30, 2), np.nan),
        np.ones((30, 0)),
        np.ones(29),
        None,
    ],
)
@pytest.mark.parametrize("model", [PLSRegressor(), PLS2Regressor(1)], ids=repr)
def test_unusable_responses_are_refused(model, y, data):
    with pytest.raises(InvalidInputError):
        model.fit(data[0], y)


@pytest.mark.parametrize("columns", [1, 2])
def test_sparse_responses_are_refused(columns, data):
    with pytest.raises(InvalidInputError):
        PLSRegressor().fit(data[0], scipy.sparse.csr_array(data[1][:, :columns]))


@pytest.mark.parametrize(
    "series", [lambda y: pd.Series(y, name="octane"), lambda y: pl.Series("octane", y)]
)
def test_the_name_of_a_series_is_kept_and_nothing_else_changes(series, data):
    X, Y = data
    named, plain = PLSRegressor(2).fit(X, series(Y[:, 0])), PLSRegressor(2).fit(X, Y[:, 0])
    assert named.response_names_ == ("octane",)
    assert plain.response_names_ is None
    assert isinstance(named.conf_int(), np.ndarray)
    np.testing.assert_array_equal(named.predict(X), plain.predict(X))
    assert named.summary().facts["response"] == "octane"
    assert "response" not in plain.summary().facts
    assert PLSRegressor(2).fit(X, pd.Series(Y[:, 0])).response_names_ is None


def test_kernel_models_have_dual_coefficients_as_kernel_ridge_does(data):
    X, y = data[0], data[1][:, 0]
    model = KernelPLSRegressor(2, gamma=0.1).fit(X, y)
    assert model.dual_coef_.shape == (30,)
    with pytest.raises(NotAvailableError):
        model.conf_int()
    K = rbf_kernel(X, gamma=0.1)
    given = KernelPLSRegressor(2, kernel="precomputed").fit(K, y)
    plain = KernelPLSRegressor(2, gamma=0.1, scale=False).fit(X, y)
    np.testing.assert_allclose(given.predict(K), plain.predict(X), rtol=1e-6, atol=1e-6)


def test_without_pandas_limits_stay_arrays(monkeypatch, data):
    X, Y = data
    for frame, kind in ((pd.DataFrame, np.ndarray), (pl.DataFrame, pl.DataFrame)):
        table = frame(dict(zip("abcde", X.T, strict=True)))
        responses = frame(dict(zip("uvw", Y.T, strict=True)))
        joint, one = PLS2Regressor(2).fit(table, responses), PLSRegressor(2).fit(table, Y[:, 0])
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, "pandas", None)
            for found in (one.conf_int(), one.vip(), joint.vip()):
                assert type(found) is kind
            found = [prediction_interval(one, X) for one in joint.model_.responses]
            limits = limits_of(found, X, ("u", "v", "w"), one_response=False)
            assert type(limits) is np.ndarray


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_names_of_rows_and_responses_are_kept_in_intervals_of_pls2(frame, data):
    X, Y = data
    table = frame(dict(zip("abcde", X.T, strict=True)))
    responses = frame(dict(zip(["fat", "flour", "water"], Y.T, strict=True)))
    model = PLS2Regressor(2).fit(table, responses)
    assert model.response_names_ == ("fat", "flour", "water")
    intervals = model.predict_interval(table)
    if frame is pl.DataFrame:
        intervals = intervals.to_pandas()
        intervals.columns = pd.MultiIndex.from_tuples(map(str.split, intervals.columns))
    plain = PLS2Regressor(2).fit(X, Y)
    np.testing.assert_allclose(intervals["flour", "upper"], plain.predict_interval(X)[:, 1, 1])
    assert isinstance(model.predict(table), np.ndarray)
