"""Estimators fitted to a y with columns: one model per column, shapes as in scikit-learn."""

import pickle
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from _helpers.responses import make_responses
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

from plsdof._core import routes
from plsdof.errors import InvalidInputError, NotAvailableError, RankExhaustedWarning
from plsdof.estimators.regressors import (
    KernelPLSRegressor,
    PCRegressor,
    PenalizedPLSRegressor,
    PLSRegressor,
    RidgeRegressor,
)
from plsdof.inference.intervals import name_predictions

Q, P = 3, 5
ESTIMATORS = {
    "pls": PLSRegressor(),
    "pls, fixed": PLSRegressor(2),
    "pls, folds": PLSRegressor("cv", cv=4),
    "pls, given noise": PLSRegressor("aic", noise=2.0),
    "pls, naive": PLSRegressor("bic", dof="naive"),
    "pcr": PCRegressor(),
    "ridge": RidgeRegressor(),
    "ridge, fixed": RidgeRegressor(3.0),
    "ridge, folds": RidgeRegressor("cv", cv=4),
    "kernel": KernelPLSRegressor(gamma=0.1),
    "kernel, widths": KernelPLSRegressor(gamma=[0.003, 0.01, 0.03]),
    "kernel, linear": KernelPLSRegressor(2, kernel="linear"),
    "penalised": PenalizedPLSRegressor(strength=3.0),
    "penalised, strengths": PenalizedPLSRegressor(strength=[0.0, 10.0]),
    "penalised, folds": PenalizedPLSRegressor("cv", cv=4),
}
LINEAR = [name for name in ESTIMATORS if not name.startswith("kernel")]
WEIGHTS = np.array([0.0, 1.0, 2.0, 3.5, 1.0] * 6)


@pytest.fixture
def data():
    return make_responses(30, P, Q)


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_column_is_fitted_as_if_it_came_alone(name, weights, data):
    X, Y = data
    model = clone(ESTIMATORS[name]).fit(X, Y, sample_weight=weights)
    alone = [clone(ESTIMATORS[name]).fit(X, y, sample_weight=weights) for y in Y.T]
    assert [one.path.dof.shape for one in model.models_] == [one.path_.dof.shape for one in alone]
    close = {"rtol": 1e-7, "atol": 1e-7}
    for attribute in ("dof_", "noise_std_", "intercept_"):
        expected = [getattr(one, attribute) for one in alone]
        assert getattr(model, attribute).shape == (Q,)
        np.testing.assert_allclose(getattr(model, attribute), expected, **close)
    assert [one.index for one in model.models_] == [one.model_.index for one in alone]
    expected = np.column_stack([one.predict(X) for one in alone])
    assert model.predict(X).shape == (30, Q)
    np.testing.assert_allclose(model.predict(X), expected, **close)
    limits = np.stack([one.predict_interval(X[:4]) for one in alone], axis=1)
    assert model.predict_interval(X[:4]).shape == (4, Q, 2)
    np.testing.assert_allclose(model.predict_interval(X[:4]), limits, **close)


@pytest.mark.parametrize("name", LINEAR)
def test_coefficients_have_one_row_per_response(name, data):
    X, Y = data
    model = clone(ESTIMATORS[name]).fit(X, Y)
    alone = [clone(ESTIMATORS[name]).fit(X, y) for y in Y.T]
    assert model.coef_.shape == LinearRegression().fit(X, Y).coef_.shape == (Q, P)
    np.testing.assert_allclose(model.coef_, [one.coef_ for one in alone], rtol=1e-7, atol=1e-9)
    assert model.conf_int().shape == (Q, P, 2)
    expected = [one.conf_int(0.9) for one in alone]
    np.testing.assert_allclose(model.conf_int(0.9), expected, rtol=1e-7, atol=1e-9)


def test_numbers_of_components_penalties_and_choices_are_those_of_each_column(data):
    X, Y = data
    pls = PLSRegressor("cv", cv=4).fit(X, Y)
    assert pls.n_components_.dtype.kind == "i"
    assert [one.n_components for one in pls.selection_] == pls.n_components_.tolist()
    assert len(pls.selection_) == len(pls.models_) == Q
    fixed = PLSRegressor(2).fit(X, Y)
    assert fixed.n_components_.tolist() == [2, 2, 2]
    assert fixed.selection_ is None
    ridge = RidgeRegressor("gcv", alphas=[30.0, 3.0, 0.3]).fit(X, Y)
    assert ridge.alpha_.tolist() == [one.parameter for one in ridge.selection_]
    kernel = KernelPLSRegressor(gamma=[0.01, 0.1]).fit(X, Y)
    assert [f"gamma = {g:g}" for g in kernel.gamma_] == [
        one.recipe_name for one in kernel.selection_
    ]
    assert KernelPLSRegressor(2, kernel="linear").fit(X, Y).gamma_ is None
    penalised = PenalizedPLSRegressor(strength=[0.0, 10.0]).fit(X, Y)
    names = [one.recipe_name for one in penalised.selection_]
    assert [f"strength = {s:g}" for s in penalised.strength_] == names


def test_x_is_decomposed_once(monkeypatch, data):
    calls, decompose_gram = [], routes.decompose_gram

    def counted(gram):
        calls.append(gram.side)
        return decompose_gram(gram)

    monkeypatch.setattr(routes, "decompose_gram", counted)
    X, Y = data
    for model in (PLSRegressor(2), PCRegressor(2), RidgeRegressor("gcv")):
        calls.clear()
        paths = [one.path for one in model.fit(X, Y).models_]
        assert len({id(path.exact.decomposition) for path in paths}) == 1
        assert calls == ["features"]


@pytest.mark.parametrize("name", ESTIMATORS)
def test_one_column_in_means_one_column_out(name, data):
    X, Y = data
    column = clone(ESTIMATORS[name]).fit(X, Y[:, :1])
    vector = clone(ESTIMATORS[name]).fit(X, Y[:, 0])
    assert column.predict(X).shape == LinearRegression().fit(X, Y[:, :1]).predict(X).shape
    assert vector.predict(X).shape == (30,)
    np.testing.assert_array_equal(column.predict(X)[:, 0], vector.predict(X))
    assert column.dof_.tolist() == [vector.dof_]
    assert isinstance(vector.dof_, float)
    assert isinstance(vector.intercept_, float)
    assert isinstance(vector.noise_std_, float)
    assert column.predict_interval(X).shape == (30, 1, 2)
    assert vector.predict_interval(X).shape == (30, 2)
    assert column.path_ is column.models_[0].path


def test_a_model_of_several_responses_says_where_its_paths_are(data):
    model = PLSRegressor(2).fit(*data)
    assert not hasattr(model, "path_")
    with pytest.raises(AttributeError, match=r"There are 3 responses.*see models_"):
        _ = model.path_
    assert not hasattr(PLSRegressor(), "path_")


def test_a_model_can_be_fitted_again_to_another_number_of_responses(data):
    X, Y = data
    model = PLSRegressor(2).fit(X, Y)
    model.fit(X, Y[:, 0])
    assert model.predict(X).shape == (30,)
    assert model.path_ is model.models_[0].path
    assert model.fit(X, Y[:, :2]).predict(X).shape == (30, 2)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_scores_are_those_of_scikit_learn_and_the_tag_says_so(name, data):
    X, Y = data
    model = clone(ESTIMATORS[name]).fit(X, Y)
    assert model.score(X, Y) == pytest.approx(r2_score(Y, model.predict(X)))
    tags = get_tags(model).target_tags
    assert tags.multi_output
    assert tags.single_output


def test_scores_of_the_components_stand_side_by_side(data):
    X, Y = data
    model = PLSRegressor("bic").fit(X, Y)
    alone = [PLSRegressor("bic").fit(X, y).transform(X) for y in Y.T]
    scores = model.transform(X)
    assert scores.shape == (30, model.n_components_.sum())
    np.testing.assert_allclose(np.abs(scores), np.abs(np.hstack(alone)), atol=1e-8)
    assert len(model.get_feature_names_out()) == scores.shape[1]


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_names_of_features_and_responses_are_kept(frame, data):
    X, Y = data
    table = frame(dict(zip("abcde", X.T, strict=True)))
    responses = frame(dict(zip(["fat", "flour", "water"], Y.T, strict=True)))
    model = PLSRegressor(2).fit(table, responses)
    assert model.response_names_ == ("fat", "flour", "water")
    limits, intervals = model.conf_int(), model.predict_interval(table)
    if frame is pl.DataFrame:
        limits = limits.to_pandas().set_index(["response", "feature"])
        intervals = intervals.to_pandas()
        intervals.columns = pd.MultiIndex.from_tuples(map(str.split, intervals.columns))
    assert list(limits.index[:2]) == [("fat", "a"), ("fat", "b")]
    assert limits.index.names == ["response", "feature"]
    plain = PLSRegressor(2).fit(X, Y)
    np.testing.assert_allclose(limits.loc[("water", "c")], plain.conf_int()[2, 2])
    np.testing.assert_allclose(intervals["flour", "upper"], plain.predict_interval(X)[:, 1, 1])
    assert isinstance(model.predict(table), np.ndarray)


def test_names_of_rows_are_kept_in_intervals(data):
    X, Y = data
    table = pd.DataFrame(X, index=[f"sample {i}" for i in range(30)])
    table.columns = list("abcde")
    model = RidgeRegressor(1.0).fit(
        table, pd.DataFrame(Y, columns=["u", "v", "w"], index=table.index)
    )
    assert list(model.predict_interval(table[:2]).index) == ["sample 0", "sample 1"]


def test_missing_names_are_numbers(data):
    X, Y = data
    only_x = PLSRegressor(2).fit(pd.DataFrame(X, columns=list("abcde")), Y)
    assert only_x.conf_int().index[-1] == ("y2", "e")
    assert only_x.predict_interval(pd.DataFrame(X, columns=list("abcde"))).shape == (30, Q, 2)
    only_y = PLSRegressor(2).fit(X, pd.DataFrame(Y, columns=["u", "v", "w"]))
    assert only_y.conf_int().index[0] == ("u", "x0")


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


def test_summaries_are_asked_for_by_name(data):
    X, Y = data
    model = PLSRegressor(2).fit(X, pd.DataFrame(Y, columns=["u", "v", "w"]))
    by_name = model.summary(response="v")
    assert by_name.facts["response"] == "v"
    np.testing.assert_allclose(
        by_name.table, PLSRegressor(2).fit(X, Y[:, 1]).summary().table, rtol=1e-7
    )
    for unknown in (None, "x"):
        with pytest.raises(InvalidInputError):
            model.summary(response=unknown)
    assert PLSRegressor(2).fit(X, Y).summary(response="y2").facts["response"] == "y2"


def test_kernel_models_have_dual_coefficients_as_kernel_ridge_does(data):
    X, Y = data
    model = KernelPLSRegressor(2, gamma=0.1).fit(X, Y)
    assert model.dual_coef_.shape == (30, Q)
    with pytest.raises(NotAvailableError, match="no coefficients per feature"):
        model.conf_int()
    K = rbf_kernel(X, gamma=0.1)
    given = KernelPLSRegressor(2, kernel="precomputed").fit(K, Y)
    plain = KernelPLSRegressor(2, gamma=0.1, scale=False).fit(X, Y)
    np.testing.assert_allclose(given.predict(K), plain.predict(X), rtol=1e-6, atol=1e-6)


def test_early_ends_are_reported_for_fixed_numbers_only(data):
    X, Y = data
    with pytest.warns(RankExhaustedWarning):
        assert PLSRegressor(9).fit(X, Y).n_components_.tolist() == [5, 5, 5]
    PLSRegressor(max_components=9).fit(X, Y)


@pytest.mark.parametrize(
    "y", [np.ones((30, 2, 2)), np.ones((29, 2)), np.full((30, 2), np.nan), np.ones((30, 0))]
)
def test_unusable_responses_are_refused(y, data):
    with pytest.raises(InvalidInputError):
        PLSRegressor().fit(data[0], y)


def test_sparse_responses_are_refused(data):
    import scipy.sparse

    with pytest.raises(InvalidInputError, match="y is sparse"):
        PLSRegressor().fit(data[0], scipy.sparse.csr_array(data[1]))


def test_models_work_in_the_tools_of_scikit_learn(data):
    X, Y = data
    pipeline = make_pipeline(StandardScaler(), PLSRegressor())
    assert cross_val_score(pipeline, X, Y, cv=3).shape == (3,)
    search = GridSearchCV(PLSRegressor(), {"n_components": [1, "bic"]}, cv=3).fit(X, Y)
    again = pickle.loads(pickle.dumps(search.best_estimator_))
    np.testing.assert_array_equal(again.predict(X), search.predict(X))


def test_without_pandas_limits_stay_arrays(monkeypatch, data):
    X, Y = data
    for frame, kind in ((pd.DataFrame, np.ndarray), (pl.DataFrame, pl.DataFrame)):
        table = frame(dict(zip("abcde", X.T, strict=True)))
        responses = frame(dict(zip("uvw", Y.T, strict=True)))
        several, one = PLSRegressor(2).fit(table, responses), PLSRegressor(2).fit(table, Y[:, 0])
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, "pandas", None)
            for found in (one.conf_int(), several.conf_int(), one.vip(), several.vip()):
                assert type(found) is kind
            limits = name_predictions(np.zeros((9, 3, 2)), X, ("u", "v", "w"), one_response=False)
            assert type(limits) is np.ndarray
