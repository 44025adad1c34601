"""scikit-learn's conventions, to the letter."""

import pickle
from typing import get_args

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from _helpers.problems import make_problem
from sklearn import config_context
from sklearn.base import clone
from sklearn.feature_selection import SelectFromModel
from sklearn.inspection import permutation_importance
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

import plsdof
from plsdof import cross_validate, pls_path
from plsdof.chemometrics import vip
from plsdof.datasets import make_spectra
from plsdof.errors import ConstantColumnWarning, InvalidInputError, RankExhaustedWarning
from plsdof.estimators import (
    KernelPLSRegressor,
    PCRegressor,
    PenalizedPLSRegressor,
    PLSRegressor,
    RidgeRegressor,
)
from plsdof.estimators.base import CHOICES, Choice
from plsdof.estimators.joint import JointChoice
from plsdof.estimators.recipe_regressor import RecipeRegressor
from plsdof.selection import make_folds

ESTIMATORS = [
    PLSRegressor(),
    PLSRegressor(n_components=1),
    PLSRegressor(n_components="cv", cv=3),
    PCRegressor(),
    RidgeRegressor(),
    RidgeRegressor(alpha=1.0),
    RidgeRegressor(alpha="cv", cv=3),
    PLSRegressor(scale="auto"),
    RecipeRegressor(),
    RecipeRegressor("average", recipes=["none", "scale"]),
]
CHECKS = [
    pytest.param(estimator, check, id=f"{estimator}-{check.func.__name__}")
    for each in ESTIMATORS
    for estimator, check in estimator_checks_generator(each)
    # Needs an environment variable set before scipy is imported; scikit-learn skips it otherwise.
    if "array_api" not in check.func.__name__
    # Rows that are there three times are interpolated by both recipes: rounding chooses one.
    and not (each.get_params().get("scale") == "auto" and "on_sparse_data" in check.func.__name__)
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("estimator", "check"), CHECKS)
def test_scikit_learn_check(estimator, check):
    check(estimator)


def test_every_public_class_with_fit_is_checked():
    # PLS2 in test_joint_estimator, kernel and penalised PLS in test_flexible_estimators, the others
    # in tests/chemometrics.
    rooms = [getattr(plsdof, name) for name in ("estimators", "chemometrics")]
    public = {name: getattr(room, name) for room in rooms for name in room.__all__}
    assert {name for name, one in public.items() if hasattr(one, "fit")} == {
        *(type(one).__name__ for one in ESTIMATORS),
        "PLS2Regressor",
        "KernelPLSRegressor",
        "PenalizedPLSRegressor",
        "SelectedPLSRegressor",
        "PLSClassifier",
        "Preprocessor",
    }


def test_types_of_options_list_what_is_accepted():
    assert get_args(Choice) == CHOICES
    assert set(get_args(JointChoice)) <= set(CHOICES)


def test_sparse_rows_may_have_no_weight():
    X, y = make_problem(30, 5, seed=4)
    weights = np.array([0.0, 1.0, 2.0] * 10)
    dense = PLSRegressor("bic").fit(X, y, sample_weight=weights)
    sparse = PLSRegressor("bic").fit(scipy.sparse.csr_array(X), y, sample_weight=weights)
    np.testing.assert_allclose(sparse.coef_, dense.coef_, rtol=1e-8)


def test_attributes_describe_the_chosen_model():
    X, y = make_problem(50, 6, seed=1, decay=1)
    model = PLSRegressor("bic").fit(X, y)
    path = pls_path(X, y)
    m = path.select("bic").n_components
    assert model.n_components_ == m
    assert model.dof_ == pytest.approx(path.dof[m])
    assert model.noise_std_ == pytest.approx(np.sqrt(path.noise_variance()[m]))
    np.testing.assert_allclose(model.coef_, path.coef[m], rtol=1e-9)
    assert model.coef_.shape == (6,)
    assert isinstance(model.intercept_, float)
    np.testing.assert_allclose(model.predict(X), path.fitted[m])
    assert model.score(X, y) == pytest.approx(1 - path.rss[m] / path.rss[0])


@pytest.mark.parametrize(
    "n_components", ["left-out", "aic", "gmdl", "aicc", "cp", "gcv", "cv", 0, 3]
)
def test_every_way_of_choosing(n_components):
    X, y = make_problem(50, 6, seed=2, decay=1)
    model = PLSRegressor(n_components).fit(X, y)
    assert 0 <= model.n_components_ <= 6
    if isinstance(n_components, int):
        assert model.n_components_ == n_components
        assert model.selection_ is None
    else:
        assert model.selection_.n_components == model.n_components_


def test_cross_validated_choice_uses_the_given_folds():
    X, y = make_problem(50, 6, seed=3, decay=1)
    folds = KFold(5, shuffle=True, random_state=0)
    model = PLSRegressor("cv", cv=folds).fit(X, y)
    expected = cross_validate(X, y, cv=folds)
    np.testing.assert_allclose(model.selection_.scores, expected.mean_error, rtol=1e-9)
    assert model.n_components_ == expected.select().n_components
    simple = PLSRegressor("cv", cv=5, rule="one-standard-error").fit(X, y)
    assert simple.n_components_ <= PLSRegressor("cv", cv=5).fit(X, y).n_components_


def test_wrong_options_are_refused():
    X, y = make_problem(20, 3)
    for estimator, match in [
        (PLSRegressor("dic"), "n_components must be one of"),
        (PLSRegressor(-1), "n_components must be >= 0"),
        (PLSRegressor(1.5), "whole number"),
        (PLSRegressor(max_components=0.5), "max_components must be a whole number"),
        (PLSRegressor("bic", rule="best"), "rule must be one of"),
        (PLSRegressor(rule="paper"), "rule belongs to"),
        (PLSRegressor(dof="exact"), "dof belongs to"),
        (RidgeRegressor("dic"), "alpha must be one of"),
        (RidgeRegressor(-1.0), "finite and >= 0"),
    ]:
        with pytest.raises(InvalidInputError, match=match):
            estimator.fit(X, y)


def test_more_components_than_supported_warns_once_and_uses_what_is_there():
    X, y = make_problem(20, 3)
    with pytest.warns(RankExhaustedWarning, match="5 components asked for, at most 3 supported"):
        model = PLSRegressor(5).fit(X, y)
    assert model.n_components_ == 3
    PLSRegressor("bic", max_components=50).fit(X, y)  # a limit of a search: no warning


@pytest.mark.parametrize("kind", [PLSRegressor, PCRegressor, RidgeRegressor])
def test_sample_weight_equals_repeated_rows_that_are_left_out_together(kind):
    X, y = make_problem(25, 4, seed=4)
    weights = np.random.default_rng(0).integers(0, 4, 25)
    rows = np.repeat(np.arange(25), weights)
    weighted = kind().fit(X, y, sample_weight=weights)
    repeated = kind().fit(X[rows], y[rows], groups=rows)
    assert weighted.model_.index == repeated.model_.index
    assert weighted.dof_ == pytest.approx(repeated.dof_, rel=1e-9)
    assert weighted.noise_std_ == pytest.approx(repeated.noise_std_, rel=1e-9)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-8)


@pytest.mark.parametrize("rule", ["minimum", "one-standard-error", "randomization"])
def test_intervals_of_a_choice_by_cross_validation_hold_groups_out_together(rule):
    X, y = make_problem(40, 4, seed=4)
    groups = np.arange(40) // 2
    model = PLSRegressor("cv", rule=rule).fit(X, y, groups=groups)
    left = model.model_.left_out
    assert left.groups == 20
    assert all(len(set(left.fold[groups == one])) == 1 for one in range(20))
    alone = PLSRegressor("cv", rule=rule).fit(X, y)
    assert np.any(model.predict_interval(X) != alone.predict_interval(X))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_in_names_out(frame):
    X, y = make_problem(30, 3, seed=5)
    table = frame(dict(zip(["a", "b", "c"], X.T, strict=True)))
    model = PLSRegressor(2).fit(table, y)
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    limits = model.conf_int()
    names = limits.index if frame is pd.DataFrame else limits["feature"]
    assert list(names) == ["a", "b", "c"]
    assert np.all(limits["lower"].to_numpy() < model.coef_)
    assert np.all(limits["upper"].to_numpy() > model.coef_)
    assert list(model.get_feature_names_out()) == ["plsregressor0", "plsregressor1"]
    kind = "pandas" if frame is pd.DataFrame else "polars"
    scores = model.set_output(transform=kind).transform(table)
    assert list(scores.columns) == ["plsregressor0", "plsregressor1"]
    assert "a " in str(model.summary())


def test_intervals_without_a_frame_are_arrays():
    X, y = make_problem(30, 3, seed=6)
    model = PLSRegressor(2).fit(X, y)
    limits = model.conf_int(0.8)
    assert limits.shape == (3, 2)
    assert np.all(np.diff(limits) < np.diff(model.conf_int(0.95)))
    new = model.predict_interval(X[:4])
    mean = model.predict_interval(X[:4], kind="mean")
    assert new.shape == (4, 2)
    assert np.all(np.diff(mean) < np.diff(new))
    inside = (new[:, 0] < model.predict(X[:4])) & (model.predict(X[:4]) < new[:, 1])
    assert inside.all()


def test_works_in_the_tools_of_scikit_learn():
    X, y = make_problem(40, 6, seed=7, decay=1)
    pipeline = make_pipeline(StandardScaler(), PLSRegressor())
    assert np.mean(cross_val_score(pipeline, X, y, cv=4)) > 0
    search = GridSearchCV(PLSRegressor(), {"n_components": [1, 2, "bic"]}, cv=3).fit(X, y)
    assert search.best_params_["n_components"] in (1, 2, "bic")
    assert SelectFromModel(PLSRegressor()).fit(X, y).transform(X).shape[1] < 6
    importance = permutation_importance(PLSRegressor().fit(X, y), X, y, n_repeats=2, random_state=0)
    assert importance.importances_mean.shape == (6,)
    as_features = make_pipeline(PLSRegressor(2), RidgeRegressor()).fit(X, y)
    assert as_features.score(X, y) > 0
    copy = pickle.loads(pickle.dumps(search.best_estimator_))
    np.testing.assert_array_equal(copy.predict(X), search.predict(X))


def test_transform_gives_the_scores_only():
    X, y = make_problem(30, 5, seed=8)
    model = PLSRegressor(3).fit(X, y)
    np.testing.assert_allclose(model.transform(X), model.path_.x_scores[:, :3], atol=1e-10)


def test_summary_shows_what_a_statistician_expects():
    X, y = make_problem(40, 3, seed=9)
    summary = PLSRegressor("bic").fit(X, y).summary()
    text = str(summary)
    for word in ("observations", "Degrees of Freedom", "noise std", "R^2", "BIC"):
        assert word in text
    for word in ("coef", "std err", "p", "lower", "upper", "intercept", "x2"):
        assert word in text
    assert summary.table.shape == (4, 6)
    wide = PLSRegressor(2).fit(*make_problem(30, 200, seed=9)).summary()
    assert "more features; these have the largest |t|" in str(wide)
    assert len(str(wide).splitlines()) < 60


def test_constant_response_predicts_the_constant():
    X, _ = make_problem(20, 3)
    model = PLSRegressor().fit(X, np.full(20, 3.0))
    assert model.n_components_ == 0
    np.testing.assert_array_equal(model.predict(X), 3.0)
    assert model.dof_ == 1.0


# sparse predictors


def sparse_problem(n=80, p=12):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(n, p)) * (rng.random((n, p)) < 0.3)
    return X, X @ rng.normal(size=p) + rng.normal(size=n)


@pytest.mark.parametrize("kind", [scipy.sparse.csr_array, scipy.sparse.csc_matrix])
@pytest.mark.parametrize(
    "model",
    [
        PLSRegressor("gcv", noise="jacobian"),
        PLSRegressor(2, noise="jacobian"),
        PCRegressor("gcv", noise="jacobian"),
        RidgeRegressor("gcv", noise="jacobian"),
    ],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_sparse_predictors_give_the_same_model(kind, model, weighted):
    X, y = sparse_problem()
    weights = np.random.default_rng(0).integers(0, 3, len(y)) if weighted else None
    dense = clone(model).fit(X, y, sample_weight=weights)
    sparse = clone(model).fit(kind(X), y, sample_weight=weights)
    assert sparse.model_.index == dense.model_.index
    assert sparse.dof_ == pytest.approx(dense.dof_, rel=1e-8)
    assert sparse.noise_std_ == pytest.approx(dense.noise_std_, rel=1e-8)
    np.testing.assert_allclose(sparse.coef_, dense.coef_, atol=1e-9)
    np.testing.assert_allclose(sparse.predict(kind(X)), dense.predict(X), atol=1e-9)
    np.testing.assert_allclose(sparse.conf_int(), dense.conf_int(), atol=1e-7)
    np.testing.assert_allclose(
        sparse.predict_interval(kind(X)), dense.predict_interval(X), atol=1e-7
    )


def test_a_constant_column_of_sparse_predictors_is_reported_at_the_callers_line():
    X, y = sparse_problem()
    X[:, 3] = 0.0
    with pytest.warns(ConstantColumnWarning, match="3") as log:
        PLSRegressor(2).fit(scipy.sparse.csr_array(X), y)
    assert log[0].filename == __file__


def test_what_needs_dense_rows_says_so():
    X, y = sparse_problem()
    rows = scipy.sparse.csr_array(X)
    with pytest.raises(InvalidInputError):
        KernelPLSRegressor(2).fit(X, y).predict_interval(rows)


def test_scores_and_predictions_of_sparse_rows():
    X, y = sparse_problem()
    rows = scipy.sparse.csr_array(X)
    np.testing.assert_allclose(
        PLSRegressor(2).fit_transform(rows, y), PLSRegressor(2).fit_transform(X, y), atol=1e-9
    )
    chosen = PLSRegressor("cv", cv=3).fit(X, y)
    np.testing.assert_allclose(chosen.predict(rows), chosen.predict(X), atol=1e-12)
    pipeline = make_pipeline(PLSRegressor(3), RidgeRegressor()).fit(rows, y)
    assert pipeline.predict(rows).shape == (80,)


# folds


def replicates():
    rng = np.random.default_rng(2)
    X = np.repeat(rng.normal(size=(20, 8)), 3, axis=0) + 0.01 * rng.normal(size=(60, 8))
    y = np.repeat(X[::3, 0] + rng.normal(size=20), 3) + 0.01 * rng.normal(size=60)
    return X, y, np.repeat(np.arange(20), 3)


@pytest.mark.parametrize(
    "model", [PLSRegressor("cv", cv=5), RidgeRegressor("cv", cv=5), KernelPLSRegressor("cv", cv=5)]
)
def test_replicates_are_kept_together(model):
    X, y, groups = replicates()
    found = clone(model).fit(X, y, groups=groups).selection_.scores
    folds = [(fold.train, fold.test) for fold in make_folds(X, y, 5, groups)]
    assert all(not set(groups[train]) & set(groups[test]) for train, test in folds)
    expected = clone(model).set_params(cv=folds).fit(X, y).selection_.scores
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    apart = clone(model).fit(X, y).selection_.scores
    assert np.nanmin(found) > 1.5 * np.nanmin(apart)


def test_groups_can_be_routed():
    X, y, groups = replicates()
    with config_context(enable_metadata_routing=True):
        model = PLSRegressor("cv", cv=5).set_fit_request(groups=True)
        pipeline = make_pipeline(StandardScaler(), model).fit(X, y, groups=groups)
    expected = PLSRegressor("cv", cv=5).fit(StandardScaler().fit_transform(X), y, groups=groups)
    np.testing.assert_allclose(pipeline[-1].selection_.scores, expected.selection_.scores)


def test_folds_are_drawn_once_whatever_cv_is():
    X, y, _ = replicates()
    seeded = PLSRegressor("cv", cv=np.int64(5)).fit(X, y)
    expected = PLSRegressor("cv", cv=5).fit(X, y)
    np.testing.assert_array_equal(seeded.selection_.scores, expected.selection_.scores)
    splitter = KFold(5, shuffle=True, random_state=0)
    once = PLSRegressor("cv", cv=iter(splitter.split(X))).fit(X, y)
    again = PLSRegressor("cv", cv=splitter).fit(X, y)
    np.testing.assert_array_equal(once.selection_.scores, again.selection_.scores)


# what changes after the fit, and what does not


def test_a_parameter_takes_effect_at_the_next_fit():
    X, y = make_problem(30, 4)
    model = PLSRegressor(2).fit(X, y)
    before = model.predict_interval(X, method="normal")
    model.set_params(noise=100.0)
    np.testing.assert_array_equal(model.predict_interval(X, method="normal"), before)
    assert model.fit(X, y).noise_std_ == 10.0


def test_intervals_keep_the_index_of_a_frame():
    X, y = make_problem(20, 3)
    frame = pd.DataFrame(X, columns=list("abc"), index=[f"s{i}" for i in range(20)])
    found = PLSRegressor(2).fit(frame, y).predict_interval(frame.iloc[5:8])
    assert found.index.tolist() == ["s5", "s6", "s7"]
    assert found.columns.tolist() == ["lower", "upper"]
    expected = PLSRegressor(2).fit(X, y).predict_interval(X[5:8])
    np.testing.assert_allclose(found.to_numpy(), expected)


def test_parameters_of_the_wrong_kind_are_refused():
    X, y = make_problem(20, 3)
    with pytest.raises(InvalidInputError, match="alphas must be"):
        RidgeRegressor(np.array([1.0, 2.0])).fit(X, y)
    with pytest.raises(InvalidInputError, match="dof must be one of"):
        PLSRegressor("bic", dof="bogus").fit(X, y)
    with pytest.raises(InvalidInputError, match="scale must be True or False"):
        PenalizedPLSRegressor(2, scale="no").fit(X, y)


def test_variable_importance_of_the_chosen_model_has_names():
    X, y = make_problem(30, 4)
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = PLSRegressor(2).fit(frame, y)
    expected = vip(pls_path(X, y)[2])
    assert model.vip().index.tolist() == list("abcd")
    np.testing.assert_allclose(model.vip(), expected)
    np.testing.assert_allclose(PLSRegressor(2).fit(X, y).vip(), expected)
    np.testing.assert_allclose(vip(model), expected)


def test_the_limit_of_the_search_is_no_warning_whatever_else_there_is_to_say():
    X, y = make_problem(30, 6)
    X[:, 2] = 1.0
    with pytest.warns(ConstantColumnWarning) as log:
        PLSRegressor("cv", cv=5).fit(X, y)
    assert {one.category for one in log} == {ConstantColumnWarning}


def test_folds_of_a_fixed_number_are_those_asked_for():
    X, y = make_problem(40, 4)
    model = PLSRegressor(2, cv=5).fit(X, y)
    np.testing.assert_array_equal(model.model_.left_out.fold, np.arange(40) % 5)
    assert model.selection_ is None
    expected = pls_path(X, y)[2].path.left_out(5)
    assert model.model_.rmse == pytest.approx(expected.rmse[2])


def test_groups_reach_the_end_or_are_refused():
    X, y = make_problem(30, 4)
    with pytest.raises(InvalidInputError, match="one label per row"):
        PLSRegressor(2).fit(X, y, groups=[1, 2, 3])
    groups = np.arange(30) // 3
    for choice in ("bic", "gcv"):
        with pytest.raises(InvalidInputError, match="cannot use groups"):
            PLSRegressor(choice).fit(X, y, groups=groups)
    for choice in (2, "left-out", "average"):
        model = PLSRegressor(choice).fit(X, y, groups=groups)
        assert model.model_.left_out.groups == 10
        np.testing.assert_array_equal(model.model_.left_out.fold, groups)


@pytest.mark.parametrize("rows", [[[1.0, 2.0], [3.0]], [[10**400, 1.0], [2.0, 3.0]]])
def test_lists_that_are_not_tables_of_floats_are_refused_in_words(rows):
    with pytest.raises(InvalidInputError, match="X must be"):
        PLSRegressor().fit(rows, [1.0, 2.0])
    fitted = PLSRegressor(1).fit([[1.0, 2.0], [3.0, 5.0], [4.0, 4.0]], [1.0, 2.0, 4.0])
    with pytest.raises(InvalidInputError, match="X must be"):
        fitted.predict(rows)


@pytest.mark.parametrize("choice", ["left-out", "average"])
def test_large_data_are_counted_as_far_as_a_choice_looks(choice):
    data = make_spectra(150, 120, random_state=0)
    path = pls_path(data.data, data.target)
    expected = path.average() if choice == "average" else path[path.select().index]
    model = PLSRegressor(choice).fit(data.data, data.target)
    assert len(path) == 121
    assert len(model.path_) == 31
    assert model.n_components_ == expected.n_components
    assert len(model.selection_.left_out.rmse) < 31  # it ended where errors did not fall any more
    np.testing.assert_array_equal(model.selection_.left_out.rmse, path.select().left_out.rmse)
    np.testing.assert_allclose(model.dof_, expected.dof, rtol=1e-6)
    np.testing.assert_allclose(model.coef_, expected.coef, rtol=1e-6, atol=1e-9)
    assert len(PLSRegressor(choice, max_components=40).fit(data.data, data.target).path_) == 41
