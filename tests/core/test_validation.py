"""Bad input gets a documented error; nothing else leaves the library."""

import contextlib
import warnings

import numpy as np
import pandas as pd
import pytest
from _helpers.problems import counted
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from plsdof import PLSRegressor, pls_path, ridge_path
from plsdof.errors import InvalidInputError, PlsdofError, PlsdofWarning
from plsdof.variants import pls2_path

GOOD = np.arange(12.0).reshape(6, 2) ** 1.5
Y = np.array([1.0, 3, 2, 5, 4, 9])


@pytest.mark.parametrize(
    ("X", "y", "match"),
    [
        (np.arange(6.0), Y, "Reshape"),
        (np.zeros((2, 2, 2)), Y, "3 dimension"),
        (np.zeros((1, 3)), [1.0], "1 row"),
        (np.zeros((6, 0)), Y, "0 feature"),
        (np.where(GOOD > 35, np.nan, GOOD), Y, r"1 value\(s\) that are NaN or infinity.*'1'"),
        (np.where(GOOD > 30, np.inf, GOOD), Y, "NaN or infinity"),
        (GOOD, Y[:5], "5 entries but X has 6 rows"),
        (GOOD, np.column_stack([Y, Y]), "several responses use pls2_path .* once per column"),
        (GOOD, [1.0, 2, 3, 4, 5, np.nan], "y contains 1 value"),
        (GOOD + 1j, Y, "complex"),
        ([["a", "b"]] * 6, Y, "must be numeric"),
        ([[1.0, 2.0], [1.0]], [1.0, 2.0], "numeric table"),
        (GOOD, list("abcdef"), "y must be numeric"),
        (None, Y, "X must be"),
        (GOOD.astype("datetime64[s]"), Y, "dates"),
        (np.ma.masked_equal(GOOD, GOOD[2, 1]), Y, r"X contains 1 value\(s\) that are NaN.*'1'"),
        (np.ma.masked_equal([["a", "b"]] * 6, "a"), Y, "X must be numeric"),
        (GOOD, np.ma.masked_equal(Y, 5), "y contains 1 value"),
    ],
)
def test_unusable_data_say_what_is_wrong(X, y, match):
    with pytest.raises(InvalidInputError, match=match):
        pls_path(X, y)


def test_arrays_with_a_mask_that_hides_nothing_are_fitted():
    expected = pls_path(GOOD, Y).dof
    np.testing.assert_array_equal(pls_path(np.ma.array(GOOD), np.ma.array(Y)).dof, expected)
    whole = pls_path((np.arange(12).reshape(6, 2) ** 2) + 2**36, Y)
    assert len(whole.dof) == 3


def test_masks_of_responses_and_new_rows_are_seen():
    hidden = np.ma.masked_equal(Y, 5)
    with pytest.raises(InvalidInputError, match="Y contains 1 value"):
        pls2_path(GOOD, hidden)
    with pytest.raises(InvalidInputError, match="X_new contains 1 value"):
        pls_path(GOOD, Y).predict(np.ma.masked_equal(GOOD, GOOD[2, 1]))
    with pytest.raises(InvalidInputError, match="sample_weight must be finite"):
        pls_path(GOOD, Y, sample_weight=hidden)


def test_masks_are_seen_by_the_estimators():
    hidden = np.ma.masked_equal(GOOD, GOOD[2, 1])
    with pytest.raises(InvalidInputError, match=r"X contains 1 value.* in row 2"):
        PLSRegressor(1).fit(hidden, Y)
    with pytest.raises(InvalidInputError, match=r"y contains 1 value.* in row 3"):
        PLSRegressor(1).fit(GOOD, np.ma.masked_equal(Y, 5))
    with pytest.raises(InvalidInputError, match=r"X contains 1 value.* in row 2"):
        PLSRegressor(1).fit(GOOD, Y).predict(hidden)


DATES = np.arange("2024-01-01", "2024-01-07", dtype="datetime64[D]")


def polars_frame(kind):
    polars = pytest.importorskip("polars")
    when = polars.Series(DATES.astype("datetime64[us]"))
    columns = {"dates": when, "spans": when - when[0], "days": when.cast(polars.Date)}
    return polars.DataFrame({"a": Y, "when": columns[kind]})


FRAMES_WITH_DATES = {
    "pandas": lambda: pd.DataFrame({"a": Y, "when": DATES}),
    "pandas, spans": lambda: pd.DataFrame({"a": Y, "when": DATES - DATES[0]}),
    "pandas, zone": lambda: pd.DataFrame({"a": Y, "when": pd.to_datetime(DATES, utc=True)}),
    "pandas, alone": lambda: pd.DataFrame({"when": DATES}),
    "polars": lambda: polars_frame("dates"),
    "polars, spans": lambda: polars_frame("spans"),
    "polars, days": lambda: polars_frame("days"),
    "polars, alone": lambda: polars_frame("dates")[["when"]],
}


@pytest.mark.parametrize("kind", FRAMES_WITH_DATES)
@pytest.mark.parametrize("fit", [pls_path, PLSRegressor(1).fit], ids=["path", "estimator"])
def test_columns_of_dates_are_named(kind, fit):
    """Next to numbers, polars would give microseconds."""
    message = r"X holds dates or time spans in column\(s\) 'when'; convert them to numbers"
    with pytest.raises(InvalidInputError, match=message):
        fit(FRAMES_WITH_DATES[kind](), Y)


def test_missing_values_of_nullable_columns_are_named():
    frame = pd.DataFrame(GOOD, columns=["a", "b"]).convert_dtypes()
    np.testing.assert_array_equal(pls_path(frame, Y).dof, pls_path(GOOD, Y).dof)
    message = r"1 value\(s\) that are NaN or infinity, in column\(s\) 'b'"
    for dtype in ("Float64", "Int64", "boolean"):
        frame["b"] = pd.array([None, 1, 0, 1, 0, 0], dtype=dtype)
        with pytest.raises(InvalidInputError, match=message):
            pls_path(frame, Y)
    frame["c"] = list("uvwxyz")
    with pytest.raises(InvalidInputError, match=r"column\(s\) 'c' could not be read .* string"):
        pls_path(frame, Y)


class DataArray:
    """As much of an xarray as matters: it may wrap a dask array, or not."""

    def __init__(self, values, graph=None):
        self.values, self.graph = values, graph

    def __array__(self, dtype=None, copy=None):
        return self.values

    def __dask_graph__(self):
        return self.graph


def test_arrays_of_xarray_are_arrays():
    path = pls_path(DataArray(GOOD), DataArray(Y))
    np.testing.assert_array_equal(path.dof, pls_path(GOOD, Y).dof)
    with pytest.raises(InvalidInputError, match=r"DataArray with dask inside; .*X\.data .*compute"):
        pls_path(DataArray(GOOD, {"task": 1}), Y)


@pytest.mark.parametrize("fit", [pls_path, PLSRegressor(1).fit], ids=["path", "estimator"])
def test_lazy_frames_are_to_be_collected(fit):
    polars = pytest.importorskip("polars")
    lazy = polars.DataFrame(GOOD).lazy()
    with pytest.raises(InvalidInputError, match=r"X is a LazyFrame.*\.collect\(\)"):
        fit(lazy, Y)
    with pytest.raises(InvalidInputError, match=r"y is a LazyFrame.*\.collect\(\)"):
        fit(GOOD, lazy)


def test_tables_of_arrow_have_names():
    pyarrow = pytest.importorskip("pyarrow")
    path = pls_path(pyarrow.table({"a": GOOD[:, 0], "b": GOOD[:, 1]}), Y)
    assert path.exact.units.names == ("a", "b")
    np.testing.assert_array_equal(path.coef, pls_path(GOOD, Y).coef)


def test_text_columns_of_a_frame_are_named():
    frame = pd.DataFrame({"a": Y, "label <b>": list("uvwxyz")})
    with pytest.raises(InvalidInputError, match=r"column.*'label <b>'.*Drop text columns"):
        pls_path(frame, Y)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"max_components": -1}, "max_components must be >= 0"),
        ({"max_components": 2.5}, "whole number"),
        ({"max_components": True}, "whole number"),
        ({"solver": "qr"}, "'auto', 'svd', 'gram'; got 'qr'"),
        ({"sample_weight": [1, 2]}, "one entry per row"),
        ({"sample_weight": -np.ones(6)}, "not negative"),
        ({"sample_weight": np.zeros(6)}, r"0 row\(s\)"),
        ({"sample_weight": np.full(6, 0.1)}, "sums to 0.6"),
    ],
)
def test_unusable_options_say_what_is_allowed(options, match):
    with pytest.raises(InvalidInputError, match=match):
        pls_path(GOOD, Y, **options)


@pytest.mark.parametrize("alphas", [[], [-1.0], [np.nan], ["a"], [[1.0]]])
def test_unusable_penalties_are_refused(alphas):
    with pytest.raises(InvalidInputError, match="alphas must be"):
        ridge_path(GOOD, Y, alphas)


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda p: p.noise_variance("magic"), "'jacobian', 'dof', 'naive'"),
        (lambda p: p.criterion("dic"), "'bic'"),
        (lambda p: p.criterion("bic", dof="none"), "'exact', 'naive', 'clipped'"),
        (lambda p: p.criterion("bic", noise=-1.0), "variance > 0"),
        (lambda p: p.criterion("bic", noise=[1.0]), "variance > 0"),
        (lambda p: p.select("bic", rule="best"), "'first-minimum', 'paper', 'global-minimum'"),
    ],
)
def test_unusable_options_of_a_path_say_what_is_allowed(call, match):
    with pytest.raises(InvalidInputError, match=match):
        call(pls_path(GOOD, Y))


numbers = st.floats(allow_nan=True, allow_infinity=True, width=64)


@settings(max_examples=300, deadline=None)
@given(
    X=arrays(np.float64, array_shapes(min_dims=2, max_dims=2, max_side=6), elements=numbers),
    data=st.data(),
)
def test_only_documented_errors_leave_the_library(X, data):
    y = data.draw(arrays(np.float64, X.shape[0], elements=numbers))
    scale = data.draw(st.booleans())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", PlsdofWarning)
        try:
            path = pls_path(X, y, scale=scale)
        except PlsdofError:
            return
        path = counted(path)
        # Without some rows the squares of X or y may leave the range of floats: that is refused.
        with contextlib.suppress(PlsdofError):
            assert np.all(np.isfinite(path.left_out().residuals))
    assert np.all(np.isfinite(path.dof))
    assert np.all(np.isfinite(path.rss))
    assert np.all(path.rss >= 0)
    assert path.dof[0] == 1


def test_divisors_are_refused_for_data_in_memory():
    with pytest.raises(InvalidInputError, match="scale must be True or False; got ndarray"):
        pls_path(GOOD, Y, scale=np.ones(GOOD.shape[1]))
