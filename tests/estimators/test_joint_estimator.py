"""PLS2 as a scikit-learn estimator."""

import pickle

import numpy as np
import pandas as pd
import pytest
from _helpers.responses import limits_of, make_responses
from sklearn.base import clone
from sklearn.cross_decomposition import PLSRegression
from sklearn.exceptions import NotFittedError
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import estimator_checks_generator

from plsdof.errors import InvalidInputError, RankExhaustedWarning
from plsdof.estimators import PLS2Regressor, PLSRegressor
from plsdof.inference import prediction_interval
from plsdof.variants.pls2 import pls2_path

ESTIMATORS = [
    PLS2Regressor(),
    PLS2Regressor(2),
    PLS2Regressor("cv", algorithm="simpls", scale_response=True),
    PLS2Regressor("average"),
    PLS2Regressor("cv", cv=3),
]
CHECKS = [
    pytest.param(estimator, check, id=f"{estimator}-{check.func.__name__}")
    for each in ESTIMATORS
    for estimator, check in estimator_checks_generator(each)
    # Needs an environment variable set before scipy is imported; scikit-learn skips it otherwise.
    if "array_api" not in check.func.__name__
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("estimator", "check"), CHECKS)
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.mark.parametrize("choice", ["left-out", "average", "cv", 2])
def test_attributes_describe_the_chosen_model(choice):
    X, Y = make_responses(40, 6, 3, seed=1)
    model = PLS2Regressor(choice, max_components=5).fit(X, Y)
    path = pls2_path(X, Y, 2 if choice == 2 else 5)
    expected = path[2]
    if choice == "average":
        expected = path.average()
    elif choice == "cv":
        expected = path[int(np.argmin(path.left_out(10).press))]
    elif choice != 2:
        expected = path[path.select().index]
    assert model.n_components_ == expected.n_components
    assert model.dof_ == pytest.approx(expected.dof)
    np.testing.assert_allclose(model.dof_by_response_, expected.dof_by_response)
    np.testing.assert_allclose(model.noise_std_, expected.noise_std)
    assert model.coef_.shape == (3, 6)
    np.testing.assert_allclose(model.predict(X), expected.fitted, atol=1e-9)
    assert model.score(X, Y) == pytest.approx(r2_score(Y, expected.fitted))
    m = expected.index
    np.testing.assert_allclose(model.transform(X), path.x_scores[:, :m], atol=1e-9)
    assert len(model.get_feature_names_out()) == m
    assert (model.selection_ is None) == (choice == 2)
    limits = model.predict_interval(X[:3])
    # Residuals of a choice that was made are those of the choice made again.
    again = expected if model.selection_ is None else model.model_
    found = limits_of(prediction_interval(one, X[:3]) for one in again.responses)
    np.testing.assert_allclose(limits, found, atol=1e-9)


@pytest.mark.parametrize("choice", ["left-out", "cv", 2])
def test_groups_reach_the_choice_and_the_intervals(choice):
    X, Y = make_responses(40, 5, 2, seed=8)
    groups = np.repeat(np.arange(8), 5)
    model = PLS2Regressor(choice, max_components=4).fit(X, Y, groups=groups)
    left = model.model_.left_out
    assert left.groups == 8
    folds = left.fold.reshape(40, 2)
    assert all(len(np.unique(folds[groups == group])) == 1 for group in range(8))
    alone = PLS2Regressor(choice, max_components=4).fit(X, Y)
    width, single = (np.ptp(one.predict_interval(X[:1]), axis=2) for one in (model, alone))
    assert not np.allclose(width, single)


@pytest.mark.parametrize("scaled", [False, True])
def test_the_fit_is_that_of_scikit_learn(scaled):
    X, Y = make_responses(25, 6, 3, seed=2)
    ours = PLS2Regressor(3, scale_response=scaled, scale=scaled).fit(X, Y)
    book = PLSRegression(3, scale=scaled, tol=1e-15, max_iter=5000).fit(X, Y)
    np.testing.assert_allclose(ours.predict(X), book.predict(X), atol=1e-6)
    np.testing.assert_allclose(ours.coef_, book.coef_, atol=1e-6)


def test_one_response_is_pls1():
    X, Y = make_responses(30, 6, 1, seed=3)
    vector, single = PLS2Regressor(3).fit(X, Y[:, 0]), PLSRegressor(3).fit(X, Y[:, 0])
    assert vector.dof_ == pytest.approx(single.dof_, rel=1e-8)
    assert isinstance(vector.noise_std_, float)
    assert isinstance(vector.dof_by_response_, float)
    np.testing.assert_allclose(vector.coef_, single.coef_, rtol=1e-7)
    np.testing.assert_allclose(vector.predict(X), single.predict(X), rtol=1e-8)
    column = PLS2Regressor(3).fit(X, Y)
    assert column.predict(X).shape == (30, 1)
    assert column.coef_.shape == (1, 6)


def test_integer_weights_mean_repeated_rows():
    X, Y = make_responses(25, 5, 2, seed=4)
    weights = np.random.default_rng(0).integers(0, 4, 25)
    rows = np.repeat(np.arange(25), weights)
    weighted = PLS2Regressor(2).fit(X, Y, sample_weight=weights)
    repeated = PLS2Regressor(2).fit(X[rows], Y[rows])
    assert weighted.n_components_ == repeated.n_components_
    assert weighted.dof_ == pytest.approx(repeated.dof_, rel=1e-8)
    np.testing.assert_allclose(weighted.model_.rss, repeated.model_.rss, rtol=1e-8)
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-7)


def test_names_tools_and_copies():
    X, Y = make_responses(30, 4, 2, seed=5)
    frame, responses = pd.DataFrame(X, columns=list("abcd")), pd.DataFrame(Y, columns=["u", "v"])
    model = PLS2Regressor().fit(frame, responses)
    assert model.response_names_ == ("u", "v")
    assert list(model.feature_names_in_) == list("abcd")
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[list("abdc")])
    search = GridSearchCV(PLS2Regressor(), {"n_components": [1, 2, 3]}, cv=3).fit(X, Y)
    copy = pickle.loads(pickle.dumps(search.best_estimator_))
    np.testing.assert_array_equal(copy.predict(X), search.predict(X))
    assert clone(model).get_params() == model.get_params()


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (PLS2Regressor("gmdl"), "n_components must be one of 'left-out', 'average', 'cv'"),
        (PLS2Regressor(1.5), "n_components must be a whole number"),
        (PLS2Regressor(max_components=-1), "max_components must be >= 0"),
        (PLS2Regressor(algorithm="kernel"), "algorithm must be one of"),
    ],
    ids=str,
)
def test_unusable_parameters_are_refused(model, message):
    with pytest.raises(InvalidInputError, match=message):
        model.fit(*make_responses(12, 4, 2))


@pytest.mark.parametrize("name", ["x_scores_", "x_loadings_", "n_components_"])
def test_an_unfitted_model_says_so(name):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        getattr(PLS2Regressor(), name)


def test_a_fixed_number_that_the_data_do_not_support_is_reported():
    X, Y = make_responses(20, 4, 2)
    with pytest.warns(RankExhaustedWarning, match="9 components asked for, 4 supported"):
        assert PLS2Regressor(9).fit(X, Y).n_components_ == 4
    PLS2Regressor(max_components=9).fit(X, Y)
