"""Scores, loadings and what else scikit-learn's PLSRegression and PCA have on their estimators."""

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from _helpers.problems import make_problem
from sklearn import config_context
from sklearn.cross_decomposition import PLSRegression
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from plsdof import (
    KernelPLSRegressor,
    PCRegressor,
    PenalizedPLSRegressor,
    PLS2Regressor,
    PLSRegressor,
    pcr_path,
    pls_path,
)
from plsdof.chemometrics import explained_variance
from plsdof.errors import InvalidInputError, NotAvailableError

X, Y = make_problem(40, 6, seed=5, decay=1)
NEW = make_problem(9, 6, seed=6, decay=1)[0]


def aligned(values, like):
    """Return columns with the signs of those of another matrix."""
    return values * np.sign(np.sum(values * like, axis=0))


def test_attributes_of_pls_regression():
    ours, theirs = PLSRegressor(3).fit(X, Y), PLSRegression(3).fit(X, Y)
    for name in ("x_scores_", "x_weights_", "x_loadings_", "x_rotations_"):
        expected = getattr(theirs, name)
        found = getattr(ours, name)
        assert found.shape == expected.shape
        np.testing.assert_allclose(aligned(found, expected), expected, atol=1e-10)
    np.testing.assert_allclose(ours.coef_, theirs.coef_[0], rtol=1e-9)
    np.testing.assert_allclose(
        aligned(ours.transform(NEW), theirs.transform(NEW)), theirs.transform(NEW), atol=1e-10
    )
    np.testing.assert_allclose(
        ours.inverse_transform(ours.transform(NEW)),
        theirs.inverse_transform(theirs.transform(NEW)),
        atol=1e-10,
    )
    np.testing.assert_allclose(ours.fit_transform(X, Y), ours.x_scores_, atol=1e-10)
    assert ours.score(X, Y) == pytest.approx(theirs.score(X, Y))
    # The response is in units of its own here.
    signs = np.sign(np.sum(ours.x_scores_ * theirs.x_scores_, axis=0))
    expected = theirs.y_loadings_ * Y.std(ddof=1)
    np.testing.assert_allclose(ours.y_loadings_ * signs, expected, rtol=1e-9)
    np.testing.assert_allclose(ours.y_scores_ * signs, theirs.y_scores_, rtol=1e-8)


def test_attributes_of_pls_regression_with_shared_components():
    Y2 = np.column_stack([Y, X[:, 0] - Y, X[:, 1] ** 2])
    ours = PLS2Regressor(3, scale_response=True).fit(X, Y2)
    theirs = PLSRegression(3, tol=1e-14, max_iter=10_000).fit(X, Y2)
    names = ("x_scores_", "x_weights_", "x_loadings_", "x_rotations_", "y_loadings_", "y_scores_")
    signs = np.sign(np.sum(ours.x_scores_ * theirs.x_scores_, axis=0))
    for name in names:
        expected = getattr(theirs, name)
        assert getattr(ours, name).shape == expected.shape
        np.testing.assert_allclose(getattr(ours, name) * signs, expected, atol=1e-6)
    np.testing.assert_allclose(
        ours.inverse_transform(ours.transform(NEW)),
        theirs.inverse_transform(theirs.transform(NEW)),
        atol=1e-6,
    )


def test_scores_of_principal_components_are_those_of_pca():
    scaled = StandardScaler().fit(X)
    unit = np.sqrt(len(X) / (len(X) - 1))  # the paper's divisor is n - 1
    theirs = PCA(4).fit(scaled.transform(X) / unit)
    ours = PCRegressor(4).fit(X, Y)
    expected = theirs.transform(scaled.transform(X) / unit)
    np.testing.assert_allclose(aligned(ours.x_scores_, expected), expected, atol=1e-10)
    np.testing.assert_allclose(aligned(ours.transform(X), expected), expected, atol=1e-10)
    np.testing.assert_allclose(
        aligned(ours.x_loadings_, theirs.components_.T), theirs.components_.T, atol=1e-10
    )
    np.testing.assert_allclose(explained_variance(ours).x, theirs.explained_variance_ratio_)
    rebuilt = (ours.inverse_transform(ours.transform(NEW)) - scaled.mean_) / scaled.scale_ / unit
    expected = theirs.inverse_transform(theirs.transform(scaled.transform(NEW) / unit))
    np.testing.assert_allclose(rebuilt, expected, atol=1e-10)
    shares = explained_variance(pcr_path(X, Y))
    path = pcr_path(X, Y)
    np.testing.assert_allclose(shares.y_cumulative, 1 - path.rss[1:] / path.rss[0], atol=1e-12)


@pytest.mark.parametrize("weights", [None, np.random.default_rng(7).integers(1, 4, 40)])
@pytest.mark.parametrize("scale", [True, False])
def test_shares_of_the_variance_are_those_of_the_fits(scale, weights):
    w = np.ones(40) if weights is None else weights
    mean = w @ X / w.sum()
    spread = np.sqrt(w @ (X - mean) ** 2 / (w.sum() - 1)) if scale else 1.0
    rows = (X - mean) / spread
    two = np.column_stack([Y, X[:, 0] - Y])
    models = [PLSRegressor(3, scale=scale), PCRegressor(3, scale=scale)]
    models = [model.fit(X, Y, weights) for model in models]
    for model in [*models, PLS2Regressor(3, scale=scale).fit(X, two, weights)]:
        left = rows - model.x_scores_ @ model.x_loadings_.T
        expected = 1 - np.sum(w @ left**2) / np.sum(w @ rows**2)
        assert model.explained_variance_ratio_.sum() == pytest.approx(expected)
        rss = model.path_.rss[:4]
        np.testing.assert_allclose(
            model.y_explained_variance_ratio_.cumsum(axis=0), 1 - rss[1:] / rss[0]
        )
    pca = PCA(3).fit(np.repeat(rows, w.astype(int), axis=0))
    np.testing.assert_allclose(models[1].explained_variance_ratio_, pca.explained_variance_ratio_)


@pytest.mark.parametrize("order", ["variance", "correlation"])
def test_scores_of_any_order_of_components_make_the_fit(order):
    path = pcr_path(X, Y, order=order)
    expected = path.exact.units.y_mean + np.cumsum(path.x_scores * path.y_loadings, axis=1).T
    np.testing.assert_allclose(path.fitted[1:], expected, atol=1e-10)
    np.testing.assert_allclose(path.transform(X), path.x_scores, atol=1e-10)


@pytest.mark.parametrize("make", [pls_path, pcr_path])
def test_components_predict_on_their_own(make):
    path = make(X, Y)
    parts = [path.predict_components(NEW, [j]) - Y.mean() for j in range(1, 7)]
    for m in range(1, 7):
        np.testing.assert_allclose(Y.mean() + sum(parts[:m]), path.predict(NEW)[m], atol=1e-9)
    both = path.predict_components(NEW, [2, 4])
    # As R's predict(comps = c(2, 4)): the increments of the coefficients, and the mean of y.
    steps = np.diff(path.coef, axis=0)
    expected = Y.mean() + (NEW - X.mean(axis=0)) @ (steps[1] + steps[3])
    np.testing.assert_allclose(both, expected, atol=1e-9)
    for wrong in ([0], [7], [1, 1]):
        with pytest.raises(InvalidInputError, match=r"components must be"):
            path.predict_components(NEW, wrong)


def test_all_components_give_the_predictors_back():
    for model in (PLSRegressor(6), PCRegressor(6), PenalizedPLSRegressor(6, strength=2.0)):
        rebuilt = model.fit(X, Y).inverse_transform(model.transform(NEW))
        np.testing.assert_allclose(rebuilt, NEW, atol=1e-8)


def test_scores_that_do_not_go_back_say_why():
    with pytest.raises(InvalidInputError):
        PLSRegressor(2).fit(X, Y).inverse_transform(np.ones((4, 3)))
    kernel = KernelPLSRegressor(2).fit(X, Y)
    assert not hasattr(kernel, "inverse_transform")
    with pytest.raises(NotAvailableError, match="features of the kernel"):
        kernel.path_.inverse_transform(np.ones((4, 2)))


def test_a_column_that_does_not_vary_gets_its_mean_back():
    constant = X.copy()
    constant[:, 2] = 7.0
    with pytest.warns(UserWarning, match="do not vary"):
        model = PLSRegressor(2).fit(constant, Y)
    rebuilt = model.inverse_transform(model.transform(constant))
    np.testing.assert_array_equal(rebuilt[:, 2], 7.0)


def test_scores_are_frames_on_request():
    table = pd.DataFrame(X, index=[f"s{i}" for i in range(40)])
    scores = PLSRegressor(2).set_output(transform="pandas").fit(table, Y).transform(table)
    assert scores.columns.tolist() == ["plsregressor0", "plsregressor1"]
    assert scores.index.tolist() == table.index.tolist()
    assert PCRegressor(2).fit(table, Y).get_feature_names_out().tolist() == [
        "pcregressor0",
        "pcregressor1",
    ]


def test_weights_and_groups_are_routed():
    weights, groups = np.arange(40) % 3 + 1.0, np.arange(40) // 4
    with config_context(enable_metadata_routing=True):
        model = PLSRegressor("cv", cv=5).set_fit_request(sample_weight=True, groups=True)
        model = model.set_score_request(sample_weight=True)
        pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), model)
        fitted = pipeline.fit(X, Y, sample_weight=weights, groups=groups)
        search = GridSearchCV(pipeline, {"plsregressor__cv": [3, 5]}, cv=GroupKFold(4))
        search.fit(X, Y, sample_weight=weights, groups=groups)
        scores = cross_validate(
            pipeline, X, Y, cv=GroupKFold(4), params={"sample_weight": weights, "groups": groups}
        )
    scaled = StandardScaler().fit_transform(X)
    expected = PLSRegressor("cv", cv=5).fit(scaled, Y, sample_weight=weights, groups=groups)
    np.testing.assert_allclose(fitted[-1].coef_, expected.coef_)
    assert search.best_params_["plsregressor__cv"] in (3, 5)
    assert scores["test_score"].shape == (4,)


ARRAY_API = """
import warnings
warnings.simplefilter("ignore")
from sklearn.utils.estimator_checks import estimator_checks_generator
from plsdof import KernelPLSRegressor, PCRegressor, PLS2Regressor, PLSRegressor, RidgeRegressor
count = 0
for model in (PLSRegressor(), PCRegressor(), RidgeRegressor(), PLS2Regressor(1),
              KernelPLSRegressor(1)):
    for estimator, check in estimator_checks_generator(model):
        if "array_api" in check.func.__name__:
            check(estimator)
            count += 1
print(count)
"""


def test_the_check_that_needs_another_environment_passes_too():
    """scikit-learn skips its check of arrays by the standard unless scipy knows them."""
    environment = os.environ | {"SCIPY_ARRAY_API": "1"}
    done = subprocess.run(
        [sys.executable, "-c", ARRAY_API],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == 5


class OtherArray:
    """An array of another library, in memory that numpy can read, or cannot."""

    def __init__(self, values, device="cpu"):
        self.values, self.device, self.shape = values, device, values.shape

    def __array_namespace__(self, api_version=None):
        return np

    def __dlpack__(self, **options):
        if self.device != "cpu":
            raise BufferError("memory of another processor")
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()


def test_arrays_of_other_libraries_are_taken_where_no_copy_is_needed():
    expected = pls_path(X, Y).coef
    np.testing.assert_array_equal(pls_path(OtherArray(X), OtherArray(Y)).coef, expected)
    model = PLSRegressor(2).fit(OtherArray(X), OtherArray(Y))
    np.testing.assert_array_equal(model.predict(OtherArray(X)), model.predict(X))
    for fit in (pls_path, PLSRegressor(2).fit):
        with pytest.raises(InvalidInputError, match=r"on the device cuda:0 .*as a numpy array"):
            fit(OtherArray(X, "cuda:0"), Y)
