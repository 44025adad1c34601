"""What takes a path takes a fitted estimator, and a Pipeline that ends in one."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from _helpers.problems import make_problem
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from plsdof import (
    KernelPLSRegressor,
    PCRegressor,
    PenalizedPLSRegressor,
    PLS2Regressor,
    PLSClassifier,
    PLSRegressor,
    RidgeRegressor,
    load_model,
    penalized_pls_path,
    pls_path,
    predictor,
    ridge_path,
    save_model,
    write_report,
)
from plsdof.chemometrics import (
    Preprocessor,
    explained_variance,
    hotelling_t2,
    outliers,
    q_residuals,
    selectivity_ratio,
    vip,
)
from plsdof.errors import InvalidInputError, NotAvailableError
from plsdof.inference import (
    coefficient_inference,
    jackknife,
    noise_interval,
    prediction_interval,
    residual_bootstrap,
    simultaneous_band,
)
from plsdof.inference.covariance import left_out_coefs
from plsdof.plotting import CoefficientDisplay, CriterionDisplay, DoFDisplay, overview_figure

X, Y = make_problem(40, 5, seed=3, decay=1)
TABLE = pd.DataFrame(X, columns=list("abcde"))
NEW = TABLE[:7] + 0.1
MODEL = PLSRegressor(2).fit(TABLE, Y)
PIPELINE = make_pipeline(StandardScaler(), PLSRegressor(2)).fit(TABLE, Y)

# Every function of a model, as a function of what comes first.
FUNCTIONS = {
    "vip": vip,
    "selectivity_ratio": lambda model: selectivity_ratio(model).values,
    "explained_variance": lambda model: explained_variance(model).y,
    "hotelling_t2": lambda model: hotelling_t2(model).values,
    "q_residuals": lambda model: q_residuals(model).values,
    "outliers": lambda model: outliers(model).studentized.values,
    "coefficient_inference": lambda model: coefficient_inference(model).p_value,
    "simultaneous_band": lambda model: simultaneous_band(model, n_draws=100).critical,
    "noise_interval": lambda model: noise_interval(model).upper,
    "jackknife": lambda model: jackknife(model, cv=5).statistic,
    "residual_bootstrap": lambda model: (
        residual_bootstrap(model, n_draws=5).center / residual_bootstrap(model, n_draws=5).std_error
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_of_a_model_takes_an_estimator_and_a_pipeline(name):
    expected = FUNCTIONS[name](pls_path(TABLE, Y, 2)[2])
    np.testing.assert_allclose(FUNCTIONS[name](MODEL), expected, rtol=1e-9)
    # These do not depend on the units of X, which PLS scales anyway.
    np.testing.assert_allclose(FUNCTIONS[name](PIPELINE), expected, rtol=1e-7)


@pytest.mark.parametrize("function", [prediction_interval, hotelling_t2, q_residuals])
def test_new_rows_go_through_the_steps_of_the_pipeline(function):
    expected = function(pls_path(TABLE, Y, 2)[2], NEW)
    for model in (MODEL, PIPELINE):
        found = function(model, NEW)
        for name in ("center", "lower", "values", "limit"):
            if hasattr(expected, name):
                one, other = getattr(found, name), getattr(expected, name)
                np.testing.assert_allclose(one, other, rtol=1e-7)
    names = getattr(function(PIPELINE, NEW), "names", tuple(NEW.index))
    assert names == tuple(NEW.index)


def test_new_rows_of_outliers_keep_their_labels():
    found = outliers(PIPELINE, NEW.set_axis([f"s{i}" for i in range(7)]), Y[:7])
    assert found.names == tuple(f"s{i}" for i in range(7))
    expected = outliers(pls_path(TABLE, Y, 2)[2], NEW, Y[:7])
    np.testing.assert_allclose(found.leverage.values, expected.leverage.values, rtol=1e-7)


@pytest.mark.parametrize("kind", ["estimator", "ridge", "tuned"])
def test_the_jackknife_fits_them_again_without_each_fold(kind):
    if kind == "ridge":
        model = RidgeRegressor("bic").fit(TABLE, Y)
        make, row = partial(ridge_path, alphas=[model.alpha_]), 0
    elif kind == "tuned":
        model = PenalizedPLSRegressor(2, strength=[0.1, 10.0]).fit(TABLE, Y)
        make, row = partial(penalized_pls_path, strength=model.strength_, max_components=2), 2
    else:
        model, make, row = MODEL, partial(pls_path, max_components=2), 2
    fold = np.arange(40) % 5
    expected = [make(X[fold != k], Y[fold != k]).coef[row] for k in range(5)]
    np.testing.assert_allclose(left_out_coefs(model, 5)[0], expected, rtol=1e-7)


def test_pictures_and_reports_take_them(tmp_path):
    for model in (MODEL, PIPELINE):
        assert CoefficientDisplay.from_estimator(model).features.names == tuple("abcde")
        assert DoFDisplay.from_estimator(model).ax_ is not None
        assert CriterionDisplay.from_estimator(model).ax_ is not None
        assert len(overview_figure(model).axes) == 4
        write_report(model, tmp_path / "report.html")
        assert "2 components" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_search_stands_for_its_best_estimator():
    search = GridSearchCV(PIPELINE, {"plsregressor__n_components": [1, 2]}, cv=3).fit(TABLE, Y)
    best = search.best_params_["plsregressor__n_components"]
    np.testing.assert_allclose(vip(search), vip(pls_path(TABLE, Y)[best]), rtol=1e-7)


@pytest.mark.parametrize("model", [MODEL, PIPELINE], ids=["estimator", "pipeline"])
def test_fitted_models_are_kept_in_files(model, tmp_path):
    save_model(model, tmp_path / "model.json")
    found = load_model(tmp_path / "model.json")
    assert found.names == tuple("abcde")
    np.testing.assert_allclose(found.predict(NEW), model.predict(NEW), rtol=1e-9)
    interval = prediction_interval(model, NEW)
    kept = found.predict_interval(NEW)
    np.testing.assert_allclose(kept.lower, interval.lower, rtol=1e-7)
    np.testing.assert_allclose(found.t2(NEW).values, hotelling_t2(model, NEW).values, rtol=1e-7)
    np.testing.assert_allclose(found.q(NEW).values, q_residuals(model, NEW).values, rtol=1e-7)


def test_preprocessing_of_spectra_is_kept_in_files(tmp_path):
    positive = TABLE + 10.0
    pipeline = make_pipeline(Preprocessor("snv"), PLSRegressor(2, scale=False)).fit(positive, Y)
    save_model(pipeline, tmp_path / "model.json")
    found = load_model(tmp_path / "model.json")
    np.testing.assert_allclose(found.predict(positive), pipeline.predict(positive), rtol=1e-8)


@pytest.mark.parametrize("step", [PCA(), FunctionTransformer(np.square), PCA(3)])
def test_steps_that_a_file_cannot_hold_are_refused(step, tmp_path):
    pipeline = make_pipeline(step, PLSRegressor(1)).fit(X, Y)
    with pytest.raises(NotAvailableError, match=r"cannot hold the step .*joblib\.dump"):
        save_model(pipeline, tmp_path / "model.json")
    assert list(tmp_path.iterdir()) == []


def test_names_of_a_model_without_a_frame_are_numbers():
    assert predictor(RidgeRegressor(1.0).fit(X, Y)).names == ("x0", "x1", "x2", "x3", "x4")


def test_what_has_no_model_is_refused():
    for model, reason in (
        (LinearRegression().fit(X, Y), "got LinearRegression"),
        (make_pipeline(PLSRegressor(1), LinearRegression()).fit(X, Y), "got LinearRegression"),
        (PLSRegressor(), "not fitted yet"),
        (PLS2Regressor(1).fit(X, 2 * X[:, :2]), "several"),
        (X, "got ndarray"),
        (pls_path(X, Y), "holds many models"),
    ):
        with pytest.raises(InvalidInputError, match=reason):
            vip(model)
    with pytest.raises(InvalidInputError, match="X_new is missing"):
        prediction_interval(MODEL)
    with pytest.raises(InvalidInputError, match="got PCRPath"):
        vip(PCRegressor(1).fit(X, Y))
    assert hotelling_t2(KernelPLSRegressor(2).fit(X, Y)).values.shape == (40,)


@pytest.mark.parametrize(
    "model",
    [PLSRegressor(), PLSRegressor("average"), PLSRegressor("bic"), PCRegressor(), RidgeRegressor()],
    ids=repr,
)
def test_skops_keeps_models(model):
    """Its files hold neither cycles nor keys that are tuples."""
    skops = pytest.importorskip("skops.io")
    model.fit(X, Y)
    for one in (model, model.without_data()):
        data = skops.dumps(one)
        again = skops.loads(data, trusted=skops.get_untrusted_types(data=data))
        np.testing.assert_allclose(again.predict(X), one.predict(X), rtol=1e-12)
        np.testing.assert_allclose(again.predict_interval(X), one.predict_interval(X), rtol=1e-9)


@pytest.mark.parametrize(
    "model", [PLS2Regressor(), PLS2Regressor(1), PLSClassifier(), PLSClassifier(2)], ids=repr
)
@pytest.mark.parametrize("classes", [2, 3])
def test_skops_keeps_components_of_several_responses(model, classes):
    skops = pytest.importorskip("skops.io")
    labels = np.array(list("abc"))[np.arange(len(Y)) % classes]
    model.fit(X, labels if isinstance(model, PLSClassifier) else np.column_stack([Y, X[:, 0]]))
    data = skops.dumps(model)
    again = skops.loads(data, trusted=skops.get_untrusted_types(data=data))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_allclose(again.dof_, model.dof_, rtol=1e-12)


@pytest.mark.parametrize("noise", ["dof", "naive", 2.5])
def test_functions_of_a_model_take_its_noise_level(noise):
    model = PLSRegressor(2, noise=noise).fit(X, Y)
    found = coefficient_inference(model)
    assert found.noise_variance == pytest.approx(model.noise_std_**2, rel=1e-12)
    assert model.noise_std_**2 == pytest.approx(model.path_[2].noise_variance(noise), rel=1e-12)
    np.testing.assert_allclose(
        found.std_error, coefficient_inference(model.path_[2], noise=noise).std_error, rtol=1e-12
    )
    interval = prediction_interval(model, X, method="normal")
    limits = np.column_stack([interval.lower, interval.upper])
    np.testing.assert_allclose(model.predict_interval(X, method="normal"), limits, rtol=1e-12)
    expected = prediction_interval(model.path_[2], X, method="normal", noise=noise)
    np.testing.assert_allclose(interval.upper, expected.upper, rtol=1e-12)
    assert model.summary().facts["noise estimated by"] == found.noise


@pytest.mark.parametrize("model", [PLS2Regressor(1), KernelPLSRegressor(1)], ids=repr)
def test_skops_keeps_any_model_without_its_data(model):
    skops = pytest.importorskip("skops.io")
    one = model.fit(X, Y).without_data()
    data = skops.dumps(one)
    again = skops.loads(data, trusted=skops.get_untrusted_types(data=data))
    np.testing.assert_allclose(again.predict(X), one.predict(X), rtol=1e-12)
