"""Bad input gets a documented error; nothing else leaves the library."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from plsdof import pls_path, ridge_path
from plsdof.errors import InvalidInputError, PlsdofError, PlsdofWarning

GOOD = np.arange(12.0).reshape(6, 2) ** 1.5
Y = np.array([1.0, 3, 2, 5, 4, 9])


@pytest.mark.parametrize(
    ("X", "y", "match"),
    [
        (np.arange(6.0), Y, "Reshape"),
        (np.zeros((2, 2, 2)), Y, "3 dimension"),
        (np.zeros((1, 3)), [1.0], "1 row"),
        (np.zeros((6, 0)), Y, "no columns"),
        (np.where(GOOD > 35, np.nan, GOOD), Y, r"1 value\(s\) that are NaN or infinity.*'1'"),
        (np.where(GOOD > 30, np.inf, GOOD), Y, "NaN or infinity"),
        (GOOD, Y[:5], "5 entries but X has 6 rows"),
        (GOOD, np.column_stack([Y, Y]), "once per column"),
        (GOOD, [1.0, 2, 3, 4, 5, np.nan], "y contains 1 value"),
        (GOOD + 1j, Y, "complex"),
        ([["a", "b"]] * 6, Y, "must be numeric"),
        ([[1.0, 2.0], [1.0]], [1.0, 2.0], "numeric table"),
        (GOOD, list("abcdef"), "y must be numeric"),
        (None, Y, "X must be"),
        (GOOD.astype("datetime64[s]"), Y, "dates"),
    ],
)
def test_unusable_data_say_what_is_wrong(X, y, match):
    with pytest.raises(InvalidInputError, match=match):
        pls_path(X, y)


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
        ({"sample_weight": np.zeros(6)}, "zero for all but 0 row"),
        ({"sample_weight": np.full(6, 0.1)}, "sums to 0.6"),
    ],
)
def test_unusable_options_say_what_is_allowed(options, match):
    with pytest.raises(InvalidInputError, match=match):
        pls_path(GOOD, Y, **options)


@pytest.mark.parametrize("alphas", [[], [0.0], [-1.0], [np.nan], ["a"], [[1.0]]])
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
        (lambda p: p.select("bic", rule="best"), "'first-minimum', 'global-minimum'"),
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
    assert np.all(np.isfinite(path.dof))
    assert np.all(np.isfinite(path.rss))
    assert np.all(path.rss >= 0)
    assert path.dof[0] == 1


def test_divisors_are_refused_for_data_in_memory():
    with pytest.raises(InvalidInputError, match="scale must be True or False; got ndarray"):
        pls_path(GOOD, Y, scale=np.ones(GOOD.shape[1]))
