"""Estimators for kernel and penalised PLS: scikit-learn's conventions, and what they hand on."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics import pairwise
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer, StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from plsdof.errors import InvalidInputError, NotAvailableError, RankExhaustedWarning
from plsdof.estimators import KernelPLSRegressor, PenalizedPLSRegressor
from plsdof.variants.kernel import kernel_pls_path
from plsdof.variants.penalized import penalized_pls_path

ESTIMATORS = [
    KernelPLSRegressor(),
    KernelPLSRegressor(1, kernel="linear"),
    KernelPLSRegressor(kernel="poly", gamma=[0.1, 1.0]),
    KernelPLSRegressor("cv", cv=3, gamma=0.5),
    KernelPLSRegressor("average", gamma=[0.1, 1.0]),
    KernelPLSRegressor(kernel="laplacian"),
    KernelPLSRegressor(kernel="precomputed"),
    PenalizedPLSRegressor(),
    PenalizedPLSRegressor(2),
    PenalizedPLSRegressor(scale=True),
    PenalizedPLSRegressor(strength=[0.0, 10.0]),
    PenalizedPLSRegressor("cv", cv=3),
]


def make_curve(n=60, p=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, p))
    return X, np.sin(3 * X[:, 0]) + X[:, -1] ** 2 + 0.2 * rng.normal(size=n)


def make_spectra(n=40, p=30, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)).cumsum(axis=1)
    return X, X[:, 8:15].mean(axis=1) + 0.5 * rng.normal(size=n)


# One check rounds a kernel matrix to whole numbers, which is not a kernel any more.
NOT_A_KERNEL = {"check_estimators_dtypes": "the rounded matrix is not positive semi-definite"}


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_scikit_learn_has_no_complaints(estimator):
    given = getattr(estimator, "kernel", None) == "precomputed"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(
            estimator, expected_failed_checks=NOT_A_KERNEL if given else None, on_fail=None
        )
    assert len(results) > 50
    failed = [one["check_name"] for one in results if one["status"] == "failed"]
    assert failed == []


def test_kernel_attributes_describe_the_chosen_model():
    X, y = make_curve()
    model = KernelPLSRegressor("gcv", gamma=0.5).fit(X, y)
    path = kernel_pls_path(X, y, gamma=0.5, max_components=30)
    m = path.select("gcv").n_components
    assert model.n_components_ == m
    assert model.gamma_ == 0.5
    assert model.dof_ == pytest.approx(path.dof[m])
    assert model.noise_std_ == pytest.approx(np.sqrt(path.noise_variance()[m]))
    np.testing.assert_allclose(model.dual_coef_, path.coef[m])
    assert not hasattr(model, "coef_")
    np.testing.assert_allclose(model.predict(X), path.fitted[m], atol=1e-9)
    np.testing.assert_allclose(model.transform(X), path.x_scores[:, :m], atol=1e-8)
    assert model.get_feature_names_out()[0] == "kernelplsregressor0"
    assert KernelPLSRegressor(2, kernel="linear").fit(X, y).gamma_ is None


def test_penalised_attributes_describe_the_chosen_model():
    X, y = make_spectra()
    model = PenalizedPLSRegressor("bic", strength=10.0, penalty=1).fit(X, y)
    path = penalized_pls_path(X, y, 1, strength=10.0, max_components=30)
    m = path.select("bic").n_components
    assert (model.n_components_, model.strength_) == (m, 10.0)
    assert model.dof_ == pytest.approx(path.dof[m])
    np.testing.assert_allclose(model.coef_, path.coef[m])
    np.testing.assert_allclose(model.predict(X), path.fitted[m], atol=1e-9)
    limits = model.conf_int()
    assert np.all(limits[:, 0] < model.coef_)
    assert "penalised PLS" in str(model.summary())


def test_a_fixed_number_of_components_is_kept_while_a_value_is_chosen():
    X, y = make_curve()
    model = KernelPLSRegressor(3, gamma=[0.05, 0.5, 5.0]).fit(X, y)
    scores = [kernel_pls_path(X, y, gamma=g).left_out().press[3] for g in (0.05, 0.5, 5.0)]
    assert model.n_components_ == 3
    assert model.gamma_ == [0.05, 0.5, 5.0][int(np.argmin(scores))]


def test_intervals_for_the_fit_cover_the_curve_nearly_as_often_as_they_say():
    # They know neither the bias of the fit nor the choice of components: 95% becomes about 87%.
    grid = np.linspace(-0.9, 0.9, 50)[:, None]
    truth = np.sin(3 * grid[:, 0]) + grid[:, 0] ** 2
    covered = []
    for seed in range(20):
        model = KernelPLSRegressor(gamma=1.0).fit(*make_curve(100, 1, seed=seed))
        lower, upper = model.predict_interval(grid, kind="mean").T
        covered.append(np.mean((lower <= truth) & (truth <= upper)))
    assert 0.8 < np.mean(covered) < 0.97


@pytest.mark.parametrize("method", ["conf_int", "summary"])
def test_kernel_models_have_no_intervals_per_feature(method):
    model = KernelPLSRegressor(2).fit(*make_curve())
    with pytest.raises(NotAvailableError, match="no coefficients per feature"):
        getattr(model, method)()


def test_precomputed_kernels_work_in_cross_validation_inside_and_outside():
    X, y = make_curve(seed=2)
    K = pairwise.rbf_kernel(X, gamma=0.5)
    plain = KernelPLSRegressor("cv", gamma=0.5, scale=False, cv=5).fit(X, y)
    given = KernelPLSRegressor("cv", kernel="precomputed", cv=5).fit(K, y)
    assert given.n_components_ == plain.n_components_
    np.testing.assert_allclose(given.selection_.scores[:5], plain.selection_.scores[:5], rtol=1e-7)
    np.testing.assert_allclose(given.predict(K[:4]), plain.predict(X[:4]), rtol=1e-6)
    fixed = KernelPLSRegressor(3, kernel="precomputed")
    scores = cross_val_score(fixed, K, y, cv=4)
    expected = cross_val_score(KernelPLSRegressor(3, gamma=0.5, scale=False), X, y, cv=4)
    np.testing.assert_allclose(scores, expected, rtol=1e-7)


def test_models_are_cloned_pickled_searched_and_put_into_pipelines():
    X, y = make_curve(seed=3)
    search = GridSearchCV(KernelPLSRegressor(), {"gamma": [0.1, 1.0]}, cv=3).fit(X, y)
    assert search.best_params_["gamma"] in (0.1, 1.0)
    for model in (KernelPLSRegressor(gamma=[0.1, 1.0]), PenalizedPLSRegressor()):
        pipeline = make_pipeline(StandardScaler(), clone(model)).fit(X, y)
        again = pickle.loads(pickle.dumps(pipeline))
        np.testing.assert_allclose(again.predict(X), pipeline.predict(X), rtol=1e-12)


def test_names_of_a_data_frame_are_checked():
    X, y = make_curve()
    frame = pd.DataFrame(X, columns=["a", "b"])
    model = KernelPLSRegressor(2).fit(frame, y)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame.rename(columns={"b": "c"}))
    assert list(PenalizedPLSRegressor(2).fit(frame, y).conf_int().index) == ["a", "b"]


def test_additive_splines_in_a_pipeline_follow_the_curve():
    X, y = make_curve(200, 3, seed=4)
    splines = SplineTransformer(8, degree=2, extrapolation="linear")
    smooth = PenalizedPLSRegressor(strength=[0.1, 1.0, 10.0], blocks=9)
    model = make_pipeline(splines, smooth).fit(X, y)
    rng = np.random.default_rng(5)
    X_new = rng.uniform(-1, 1, (500, 3))
    truth = np.sin(3 * X_new[:, 0]) + X_new[:, -1] ** 2
    assert np.mean((model.predict(X_new) - truth) ** 2) < 0.05 * np.var(truth)
    assert model[-1].path_.coef.shape[1] == 3 * 9
    assert len(model[-1].selection_.pool) == 3


def test_the_pipeline_cross_validates_like_its_parts():
    X, y = make_curve(60, 2, seed=6)
    splines = SplineTransformer(5, extrapolation="linear")
    model = make_pipeline(splines, PenalizedPLSRegressor(3, strength=1.0, blocks=7))
    errors = -cross_val_score(model, X, y, cv=5, scoring="neg_mean_squared_error")
    folds = [(np.setdiff1d(np.arange(60), test), test) for test in np.split(np.arange(60), 5)]
    expected = []
    for train, test in folds:
        basis = clone(splines).fit(X[train])
        path = penalized_pls_path(
            basis.transform(X[train]), y[train], strength=1.0, blocks=7, max_components=3
        )
        predicted = path.predict(basis.transform(X[test]))[3]
        expected.append(np.mean((predicted - y[test]) ** 2))
    np.testing.assert_allclose(errors, expected, rtol=1e-8)


@pytest.mark.parametrize(
    "model",
    [
        KernelPLSRegressor("best"),
        KernelPLSRegressor("best", gamma=[1.0]),
        KernelPLSRegressor(gamma=[]),
        KernelPLSRegressor(gamma=[[1.0]]),
        KernelPLSRegressor(gamma=[-1.0]),
        KernelPLSRegressor(gamma=[0.0, 1.0]),
        KernelPLSRegressor(kernel="linear", gamma=[1.0]),
        PenalizedPLSRegressor(strength=[-1.0]),
    ],
    ids=str,
)
def test_unusable_parameters_are_refused(model):
    with pytest.raises(InvalidInputError):
        model.fit(*make_curve())


def test_a_fixed_number_that_the_data_do_not_support_is_reported():
    X, y = make_curve(10)
    with pytest.warns(RankExhaustedWarning, match="20 components asked for, at most 9 supported"):
        assert KernelPLSRegressor(20, gamma=1.0).fit(X, y).n_components_ == 9
