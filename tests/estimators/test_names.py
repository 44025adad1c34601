"""Names of columns: kept, compared with those of new rows, never mixed up."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from _helpers.problems import make_problem
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from plsdof import (
    KernelPLSRegressor,
    PCRegressor,
    PenalizedPLSRegressor,
    PLS2Regressor,
    PLSRegressor,
    RidgeRegressor,
    compare_paths,
    cross_validate,
    kernel_pls_path,
    load_model,
    pcr_path,
    penalized_pls_path,
    pls2_path,
    pls_path,
    ridge_path,
    save_model,
)
from plsdof.errors import InvalidInputError
from plsdof.large import Moments

WAVELENGTHS = [1100, 1102, 1104, 1106]
TEXT = ["1100", "1102", "1104", "1106"]
X, Y = make_problem(30, 4, seed=1, decay=1)
SPECTRA = pd.DataFrame(X, columns=WAVELENGTHS)

MODELS = [
    PLSRegressor(2),
    PCRegressor(2),
    RidgeRegressor(1.0),
    KernelPLSRegressor(2),
    PenalizedPLSRegressor(2),
    PLS2Regressor(2),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_numbers_as_column_names_are_names(model):
    model.fit(SPECTRA, Y)
    assert list(model.feature_names_in_) == TEXT
    expected = model.predict(SPECTRA)
    for moved in (SPECTRA[WAVELENGTHS[::-1]], SPECTRA.rename(columns={1100: 1099})):
        with pytest.raises(InvalidInputError, match=r"(?s)eature names.*\nGive .*names_in_"):
            model.predict(moved)
    with pytest.raises(InvalidInputError, match=r"yet now missing:\n- 1106"):
        model.predict(SPECTRA[WAVELENGTHS[:3]])
    # The same names as text are the same names.
    np.testing.assert_array_equal(model.predict(SPECTRA.set_axis(TEXT, axis=1)), expected)


@pytest.mark.parametrize("make", [pls_path, pcr_path, ridge_path, penalized_pls_path])
def test_paths_keep_numbers_as_names(make):
    path = make(SPECTRA, Y)
    assert path.feature_names == tuple(TEXT)
    # Another order of the same columns is the same table.
    found = path.predict(SPECTRA[WAVELENGTHS[::-1]])
    np.testing.assert_allclose(found, path.predict(SPECTRA))


def test_the_path_of_an_estimator_has_the_names():
    path = PLSRegressor(2).fit(SPECTRA, Y).path_
    assert path.feature_names == path.exact.complete().units.names == tuple(TEXT)
    kernel = KernelPLSRegressor(2).fit(SPECTRA, Y).path_
    found = kernel.predict(SPECTRA[WAVELENGTHS[::-1]])
    np.testing.assert_allclose(found, kernel.predict(SPECTRA))


def test_names_come_out_of_what_estimators_say():
    model = PLSRegressor(2).fit(SPECTRA, Y)
    assert model.conf_int().index.tolist() == TEXT
    assert model.vip().index.tolist() == TEXT
    assert model.summary().names[1:] == tuple(TEXT)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
def test_frames_in_are_frames_out(model, library, tmp_path):
    names = ["a", "b", "c", "d"]
    table = library.DataFrame(dict(zip(names, X.T, strict=True)))
    y = library.Series(Y)
    fitted = model.fit(table, y)
    save_model(fitted, tmp_path / "model.json")
    for each in (fitted, load_model(tmp_path / "model.json")):
        limits = each.predict_interval(table[:3])
        assert isinstance(limits, library.DataFrame)
        assert (limits.shape, list(limits.columns)) == ((3, 2), ["lower", "upper"])
        if library is pd:
            assert limits.index.tolist() == [0, 1, 2]
    if hasattr(model, "coef_") and not isinstance(model, PLS2Regressor):
        assert labels(fitted.conf_int(), "feature") == names
    if hasattr(model, "vip"):
        assert labels(fitted.vip(), "feature") == names


@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
def test_frames_of_several_responses_are_frames_out(library, tmp_path):
    table = library.DataFrame(dict(zip("abcd", X.T, strict=True)))
    expected = PLS2Regressor(2).fit(X, np.c_[Y, Y**2]).predict_interval(X[:3])
    two = PLS2Regressor(2).fit(table, library.DataFrame({"u": Y, "v": Y**2}))
    sides = [(y, side) for y in "uv" for side in ("lower", "upper")]
    joined = [f"{y} {side}" for y, side in sides]
    for each in (two, load_model_of(two, tmp_path)):
        limits = each.predict_interval(table[:3])
        assert list(limits.columns) == (sides if library is pd else joined)
        np.testing.assert_allclose(limits.to_numpy().ravel(), expected.ravel(), rtol=1e-9)


def labels(frame, heading):
    return frame.index.tolist() if hasattr(frame, "index") else frame[heading].to_list()


def load_model_of(model, tmp_path):
    save_model(model, tmp_path / "again.json")
    return load_model(tmp_path / "again.json")


@pytest.mark.parametrize("labels", [["a", "b", "a", "c"], [1, 2, 1, 3]])
def test_duplicated_names_get_one_clear_error(labels):
    table = pd.DataFrame(X, columns=labels)
    message = r"X has several columns called '(a|1)'; every column needs a name of its own"
    for fit in (pls_path, kernel_pls_path, cross_validate, PLSRegressor().fit):
        with pytest.raises(InvalidInputError, match=message):
            fit(table, Y)
    with pytest.raises(InvalidInputError, match=message.replace("X has", "y has")):
        PLS2Regressor().fit(X, table)
    with pytest.raises(InvalidInputError, match=message.replace("X has", "X_new has")):
        pls_path(SPECTRA, Y).predict(table)


def test_other_columns_are_listed():
    path = pls_path(SPECTRA, Y)
    with pytest.raises(InvalidInputError, match=r"3 column\(s\) instead of 4, without '1102'"):
        path.predict(SPECTRA.drop(columns=1102))
    more = SPECTRA.assign(humidity=1.0)
    with pytest.raises(InvalidInputError, match=r"5 column.* with 'humidity' in addition"):
        path.predict(more)
    with pytest.raises(InvalidInputError, match=r"the block of rows has the columns .* another"):
        Moments().partial_fit(SPECTRA, Y).partial_fit(SPECTRA[WAVELENGTHS[::-1]], Y)


# y as the name of a column


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_the_response_may_be_a_column_of_the_table(frame):
    table = frame({"a": X[:, 0], "fat": Y, "b": X[:, 1], "w": np.arange(30) % 3})
    alone = frame({"a": X[:, 0], "b": X[:, 1], "w": np.arange(30) % 3})
    for make in (pls_path, pcr_path, ridge_path, kernel_pls_path, penalized_pls_path):
        np.testing.assert_array_equal(make(table, "fat").dof, make(alone, Y).dof)
    path = pls_path(table, "fat", sample_weight="w")
    expected = pls_path(X[:, :2], Y, sample_weight=np.arange(30) % 3)
    assert path.feature_names == ("a", "b")
    np.testing.assert_array_equal(path.coef, expected.coef)
    found = cross_validate(table, "fat").mean_error
    np.testing.assert_array_equal(found, cross_validate(alone, Y).mean_error)
    found = compare_paths(table, "fat", ["pls"], cv=None).dof
    np.testing.assert_array_equal(found, compare_paths(alone, Y, ["pls"], cv=None).dof)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_several_responses_may_be_columns_of_the_table(frame):
    names = ["a", "b", "c", "fat"]
    table, pair = frame(dict(zip(names, X.T, strict=True))), ["fat", "b"]
    found = pls2_path(table, pair)
    assert found.names == ("fat", "b")
    np.testing.assert_array_equal(found.coef, pls2_path(X[:, [0, 2]], X[:, [3, 1]]).coef)
    assert found.units.names == ("a", "c")


def test_a_column_that_is_not_there_is_named():
    table = pd.DataFrame(X, columns=list("abcd"))
    with pytest.raises(InvalidInputError, match="'fat' must be the name of one column of X"):
        pls_path(table, "fat")
    with pytest.raises(InvalidInputError, match="'fat' names a column, but X is a ndarray"):
        pls_path(X, "fat")
    number = pls_path(SPECTRA, "1102")
    assert number.feature_names == ("1100", "1104", "1106")


# What is wrong, and where


def test_missing_values_are_found_by_column_and_row():
    table = pd.DataFrame(X, columns=list("abcd"), index=[f"s{i}" for i in range(30)])
    table.loc["s7", "c"] = np.nan
    message = r"1 value\(s\) that are NaN or infinity, in column\(s\) 'c', .* row 7 \('s7'\)"
    for fit in (pls_path, PLSRegressor().fit):
        with pytest.raises(InvalidInputError, match=message):
            fit(table, Y)
    with pytest.raises(InvalidInputError, match=message):
        PLSRegressor().fit(table.fillna(0.0), Y).predict(table)
    missing = pd.Series(Y, index=table.index, name="fat")
    missing.iloc[3] = np.nan
    for fit in (pls_path, PLSRegressor().fit):
        with pytest.raises(InvalidInputError, match=r"y contains 1 value.* row 3 \('s3'\)"):
            fit(X, missing)


def test_names_survive_steps_that_keep_them():
    table = pd.DataFrame(X, columns=list("abcd"))
    pipeline = make_pipeline(StandardScaler(), PLSRegressor(2)).set_output(transform="pandas")
    assert pipeline.fit(table, Y)[-1].conf_int().index.tolist() == list("abcd")


@pytest.mark.parametrize("fit", [pls_path, cross_validate, PLSRegressor().fit])
def test_text_and_numbers_as_names_are_refused_as_in_scikit_learn(fit):
    mixed = pd.DataFrame(X, columns=["a", 1, 2, 3])
    with pytest.raises(InvalidInputError, match="names are text and others"):
        fit(mixed, Y)
    with pytest.raises(TypeError):
        StandardScaler().fit(mixed)


def test_a_response_with_a_name_among_wavelengths_is_taken_out_first():
    table = SPECTRA.assign(fat=Y)
    assert pls_path(table, "fat", 2).feature_names == tuple(TEXT)


def test_an_arrow_table_is_a_table():
    arrow = pytest.importorskip("pyarrow")
    table = arrow.table({**dict(zip("abcd", X.T, strict=True)), "fat": Y})
    path = pls_path(table, "fat", 2)
    assert path.feature_names == tuple("abcd")
    np.testing.assert_allclose(path.coef, pls_path(X, Y, 2).coef)
    with pytest.raises(InvalidInputError, match="columns are 'a', 'b', 'c', 'd', 'fat'"):
        pls_path(table, "protein", 2)
    both = pls2_path(table, ["a", "fat"], 1)
    np.testing.assert_allclose(both.coef, pls2_path(X[:, 1:], np.c_[X[:, 0], Y], 1).coef)


@pytest.mark.parametrize("y", ["a", Y])
def test_a_plan_of_a_table_is_told_from_a_table(y):
    with pytest.raises(InvalidInputError, match="LazyFrame"):
        pls_path(pl.DataFrame(dict(zip("abcd", X.T, strict=True))).lazy(), y, 2)
