"""Preprocessing: that of chemotools, kept in files, fitted within folds, refused in words."""

import json
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from chemotools.baseline import AsLs, PolynomialCorrection
from chemotools.derivative import SavitzkyGolay
from chemotools.scatter import MultiplicativeScatterCorrection, StandardNormalVariate
from chemotools.smooth import SavitzkyGolayFilter
from sklearn.base import clone
from sklearn.cross_decomposition import PLSRegression
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import plsdof
from plsdof import cross_validate, degrees_of_freedom, pcr_path, pls_path, ridge_path
from plsdof._core.fit import METHODS
from plsdof.chemometrics import Preprocessor, preprocessed, q_residuals
from plsdof.chemometrics.distances import left_out_rows
from plsdof.chemometrics.preprocessing import STEPS
from plsdof.datasets import load_gasoline
from plsdof.errors import InvalidInputError
from plsdof.inference import prediction_interval

# With the divisor n - 1 of the 40 rows that chains are fitted to.
UNIT_VARIANCE = StandardScaler(), FunctionTransformer(partial(np.multiply, np.sqrt(39 / 40)))
CHAINS = {
    "snv": (StandardNormalVariate(),),
    "msc": (MultiplicativeScatterCorrection(),),
    "msc:median": (MultiplicativeScatterCorrection(method="median"),),
    "savgol:15:2:1": (SavitzkyGolay(window_length=15, polyorder=2, deriv=1),),
    "smooth": (SavitzkyGolayFilter(window_length=11, polyorder=2),),
    "detrend:2": (PolynomialCorrection(order=2),),
    "baseline:1e5:0.02": (AsLs(lam=1e5, penalty=0.02),),
    "center": (StandardScaler(with_std=False),),
    "autoscale": UNIT_VARIANCE,
    "savgol:15:2:1,snv": (
        SavitzkyGolay(window_length=15, polyorder=2, deriv=1),
        StandardNormalVariate(),
    ),
    "msc,detrend,autoscale": (
        MultiplicativeScatterCorrection(),
        PolynomialCorrection(order=1),
        *UNIT_VARIANCE,
    ),
}
SUPERVISED = {"adaptive"}


@pytest.fixture(scope="module")
def spectra():
    X, y = load_gasoline(return_X_y=True)
    return np.asarray(X), np.asarray(y)


@pytest.mark.parametrize("steps", CHAINS)
def test_a_chain_is_that_of_chemotools_on_new_rows_too(spectra, steps):
    X, _ = spectra
    theirs = make_pipeline(*map(clone, CHAINS[steps])).fit(X[:40])
    ours = Preprocessor(steps).fit(X[:40])
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X), rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(Preprocessor(steps).fit_transform(X), ours.fit(X).transform(X))


@pytest.mark.parametrize("steps", [*CHAINS, "none"])
def test_a_chain_survives_json(spectra, steps):
    X, _ = spectra
    chain = Preprocessor(steps).fit(X[:40])
    content = json.loads(json.dumps(chain.to_content()))
    again = Preprocessor.from_content(content, X.shape[1])
    np.testing.assert_array_equal(again.transform(X), chain.transform(X))


def test_every_step_is_tested():
    # Those that look at y, imputation, blocks and columns have tests of their own.
    tested = {step.split(":")[0] for chain in CHAINS for step in chain.split(",")}
    assert tested | SUPERVISED | {"impute", "blocks", "columns"} == set(STEPS)
    assert {name for name, step in STEPS.items() if step.supervised} == SUPERVISED


def test_unit_variance_divides_by_what_scale_divides_by(spectra):
    X, y = spectra
    chain = pls_path(Preprocessor("autoscale").fit_transform(X), y, 3, scale=False)
    scaled = pls_path(X, y, 3)
    np.testing.assert_allclose(chain.dof, scaled.dof, rtol=1e-8)
    np.testing.assert_allclose(
        np.std(Preprocessor("autoscale").fit_transform(X), axis=0, ddof=1), 1.0
    )
    constant = np.c_[X[:, :2], np.full(60, 7.0)]
    np.testing.assert_array_equal(Preprocessor("autoscale").fit_transform(constant)[:, 2], 0.0)


def test_adaptive_columns_are_a_ridge_regression_away_from_unit_variance(spectra):
    """Against the normal equations."""
    X, y = spectra
    X = X[:, ::50]
    Z = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    penalty = np.median(np.linalg.svd(Z, compute_uv=False) ** 2)
    b = np.linalg.solve(Z.T @ Z + penalty * np.eye(Z.shape[1]), Z.T @ (y - y.mean()))
    expected = Z * np.abs(b) / np.abs(b).max()
    chain = Preprocessor("adaptive").fit(X, y)
    np.testing.assert_allclose(chain.transform(X), expected, rtol=1e-7, atol=1e-9)
    again = Preprocessor.from_content(json.loads(json.dumps(chain.to_content())), X.shape[1])
    np.testing.assert_array_equal(again.transform(X), chain.transform(X))
    assert chain.learns_from_rows
    assert chain.looks_at_y


@pytest.mark.parametrize(
    ("steps", "learns"),
    [("snv", False), ("savgol:7:2:1,detrend,smooth", False), ("snv,msc", True), ("none", False)],
)
def test_it_is_known_which_steps_learn_from_rows(spectra, steps, learns):
    X, _ = spectra
    chain = Preprocessor(steps)
    assert chain.learns_from_rows == learns
    some = chain.fit(X[:20]).transform(X[:5])
    assert np.allclose(some, chain.fit(X[20:]).transform(X[:5]), rtol=1e-9) != learns


@pytest.mark.parametrize("steps", ["none", "center", "autoscale"])
def test_it_is_a_scikit_learn_transformer(steps):
    found = check_estimator(Preprocessor(steps), on_skip=None)
    assert {one["status"] for one in found} <= {"passed", "skipped"}


def test_chains_that_begin_alike_share_what_they_begin_with(spectra):
    X, y, made = *spectra, {}
    for steps in ("snv", "snv,columns:3:9", "msc,savgol:5:2:1", "msc,columns:0:9"):
        alone = Preprocessor(steps)
        values, chain = alone.fit_transform(X, y), Preprocessor(steps)
        np.testing.assert_array_equal(chain.learn(X, y, made=made), values)
        np.testing.assert_array_equal(chain.transform(X), values)
        assert chain.to_content() == alone.to_content()
    assert len(made) == 5  # snv and msc once


def test_cross_validation_fits_the_chain_in_every_fold(spectra):
    X, y = spectra
    found = cross_validate(X, y, preprocessed("msc,savgol:9:2:1", pls_at_most(3)), cv=KFold(6))
    chain = make_pipeline(
        MultiplicativeScatterCorrection(),
        SavitzkyGolay(window_length=9, polyorder=2, deriv=1),
        PLSRegression(3),
    )
    expected = cross_val_predict(chain, X, y, cv=KFold(6)).ravel()
    np.testing.assert_allclose(found.predictions[0, 3], expected, rtol=1e-8)
    outside = cross_validate(Preprocessor("msc,savgol:9:2:1").fit_transform(X), y, cv=KFold(6))
    assert np.abs(outside.predictions[0, 3] - expected).max() > 1e-6


@pytest.mark.parametrize("method", ["pls", "pcr", "ridge"])
def test_rows_left_out_are_left_out_of_the_chain_too(spectra, method):
    X, y = spectra
    options = {"alphas": [1.0, 100.0]} if method == "ridge" else {"max_components": 3}
    fit = preprocessed("msc,savgol:9:2:1", METHODS[method].recipe(**options))
    path = fit(X, y)
    assert path.rows.before.learns_from_rows
    left = path.left_out(cv=6)
    for fold in range(6):
        rows = left.fold != fold
        expected = y[~rows] - fit(X[rows], y[rows]).predict(X[~rows])
        np.testing.assert_allclose(left.residuals[:, ~rows], expected, rtol=1e-7, atol=1e-9)
    outside = METHODS[method].recipe(**options).fit(path.rows.seen().X, y)
    assert np.abs(outside.left_out(cv=6).residuals - left.residuals).max() > 1e-6
    np.testing.assert_allclose(path.predict(X), outside.predict(path.rows.seen().X))
    np.testing.assert_allclose(path.dof, outside.dof)
    again = path.recipe.fit(X, y)
    np.testing.assert_array_equal(again.coef, path.coef)
    # Choice, average and intervals come from these rows.
    assert path.select().left_out.q2.max() > 0.5
    assert path.average().predict(X[:3]).shape == (3,)
    model = path[path.select().index]
    half = prediction_interval(model, X[:3]).upper - model.predict(X[:3])
    np.testing.assert_allclose(half, model.predictor.half_widths(X[:3]))
    if method == "pls":
        found = left_out_rows(path[2])
        rows = np.arange(len(y)) % 10 != 4
        part = fit(X[rows], y[rows])[2]
        np.testing.assert_allclose(
            found.q.values[~rows], q_residuals(part, X[~rows]).values, rtol=1e-6
        )


def test_a_chain_that_learns_nothing_leaves_rows_out_in_one_recursion(spectra):
    X, y = spectra
    path = preprocessed("snv", pls_at_most(4))(X, y)
    plain = pls_path(Preprocessor("snv").fit_transform(X), y, 4)
    np.testing.assert_allclose(path.left_out().residuals, plain.left_out().residuals, rtol=1e-9)
    assert not path.is_counted
    np.testing.assert_allclose(path[3].coef, plain[3].coef, rtol=1e-9)
    one, other = left_out_rows(path[3]), left_out_rows(plain[3])
    np.testing.assert_allclose(one.t2.values, other.t2.values, rtol=1e-8)
    np.testing.assert_allclose(one.q.values, other.q.values, rtol=1e-8)
    named = preprocessed("snv", pls_at_most(4))(load_gasoline(as_frame=True)["data"], y)
    assert named.feature_names == replace(path, _names=named.feature_names).feature_names


def pls_at_most(m):
    return partial(pls_path, max_components=m)


@pytest.mark.parametrize("fit", [pcr_path, ridge_path])
def test_any_path_can_follow_a_chain(spectra, fit):
    X, y = spectra
    alphas = {"alphas": [1.0, 100.0]} if fit is ridge_path else {"max_components": 2}
    found = cross_validate(X, y, preprocessed("snv", partial(fit, **alphas)))
    prepared = Preprocessor("snv").fit_transform(X)
    expected = cross_validate(prepared, y, fit(prepared, y, **alphas).recipe)
    np.testing.assert_allclose(found.mean_error, expected.mean_error, rtol=1e-10)
    assert found.parameter_name == expected.parameter_name
    np.testing.assert_array_equal(found.order, expected.order)


def test_degrees_of_freedom_after_a_chain_are_those_of_the_preprocessed_rows():
    rng = np.random.default_rng(3)
    t = np.linspace(0, 1, 30)
    X = rng.normal(size=(18, 3)) @ np.array([np.sin(6 * t), t**2, np.cos(9 * t)]) + 2
    X += 0.05 * rng.normal(size=X.shape)
    y = X[:, 5] - X[:, 20] + 0.1 * rng.normal(size=18)
    chain = Preprocessor("msc,savgol:5:2:1")
    path = pls_path(chain.fit_transform(X), y, 3)
    # The derivative of the fitted values of the whole chain, by central differences.
    slopes, h = 0.0, 1e-5
    for i in range(len(y)):
        step = h * np.eye(len(y))[i]
        up, down = (
            pls_path(clone(chain).fit_transform(X), y + sign * step, 3).fitted[3][i]
            for sign in (1, -1)
        )
        slopes += (up - down) / (2 * h)
    assert path.dof[3] == pytest.approx(slopes, rel=1e-6)
    theirs = MultiplicativeScatterCorrection(), SavitzkyGolay(window_length=5, polyorder=2)
    for steps in ([clone(chain)], theirs):
        found = degrees_of_freedom(make_pipeline(*steps, plsdof.PLSRegressor(3)), X, y)
        assert found.method == "exact"
        assert found.value == pytest.approx(slopes, rel=1e-6)


def test_a_kept_model_preprocesses_new_rows(spectra, tmp_path):
    X, y = spectra
    chain = Preprocessor("msc,savgol:15:2:1")
    path = pls_path(chain.fit_transform(X[:40]), y[:40], 5)
    model = path[path.select("bic").index]
    names = tuple(f"{i}" for i in range(X.shape[1]))
    plsdof.predictor(model, names=names, preprocessing=chain).save(tmp_path / "m.json")
    again = plsdof.load_model(tmp_path / "m.json")
    expected = model.predict(chain.transform(X[40:]))
    np.testing.assert_allclose(again.predict(X[40:]), expected, rtol=1e-12)
    plain, rows = plsdof.predictor(model, names=names), chain.transform(X[40:])
    np.testing.assert_allclose(
        again.predict_interval(X[40:]), plain.predict_interval(rows), rtol=1e-12
    )
    np.testing.assert_allclose(again.t2(X[40:]).values, plain.t2(rows).values)
    # A path that preprocesses keeps its chain.
    whole = preprocessed(chain.steps, pls_at_most(5))(X[:40], y[:40])[model.index]
    plsdof.predictor(whole, names=names).save(tmp_path / "whole.json")
    kept = plsdof.load_model(tmp_path / "whole.json")
    assert kept.method == "pls"
    np.testing.assert_allclose(kept.predict(X[40:]), expected, rtol=1e-9)
    np.testing.assert_allclose(kept.q(X[40:]).values, again.q(X[40:]).values)


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ("", "a chain of steps such as savgol:15:2:1,snv is needed"),
        ("snv,", "'' is not a step"),
        ("snvv", "'snvv' is not a step of preprocessing; there are snv, msc"),
        ("none,snv", "'none' is not a step"),
        ("savgol", "wrong parameters; write savgol:15:2:1"),
        ("savgol:15:2", "wrong parameters; write savgol:15:2:1"),
        ("savgol:14:2:1", "the window must be odd"),
        ("savgol:5:5:1", "larger than the degree"),
        ("savgol:15:1:2", "not below the derivative"),
        ("savgol:a:2:1", "wrong parameters"),
        ("msc:mode", "write msc or msc:median"),
        ("baseline:-1", "wrong parameters"),
        ("baseline:1e4:1.5", "wrong parameters"),
        ("blocks:3+", "write blocks:700"),
    ],
)
def test_a_chain_that_is_none_is_refused(spectra, steps, message):
    with pytest.raises(InvalidInputError, match=message.replace("(", r"\(")):
        Preprocessor(steps).fit(spectra[0])


@pytest.mark.parametrize("steps", ["snv", "msc", "savgol:5:2:1,snv"])
def test_flat_rows_are_named(spectra, steps):
    X = spectra[0].copy()
    X[7] = 0.1  # its mean is not exactly 0.1, so that the deviation is not exactly 0
    with pytest.raises(InvalidInputError, match="is not defined for row 7: all values"):
        Preprocessor(steps).fit(X)
    chain = Preprocessor(steps).fit(spectra[0])
    with pytest.raises(InvalidInputError, match="is not defined for row 7"):
        chain.transform(X)


def test_what_needs_more_columns_or_a_reference_says_so(spectra):
    with pytest.raises(InvalidInputError, match="savgol needs at least 15 columns"):
        Preprocessor("savgol:15:2:1").fit(spectra[0][:, :9])
    with pytest.raises(InvalidInputError, match="msc is not defined"):
        Preprocessor("center,msc").fit(spectra[0])


@pytest.mark.parametrize(
    "content",
    [
        {"steps": "msc", "learned": []},
        {"steps": "msc", "learned": [{}]},
        {"steps": "msc", "learned": [{"reference_": [1.0, 2.0]}]},
        {"steps": "center", "learned": [{"mean_": [1.0, None, 2.0]}]},
        {"steps": "autoscale", "learned": [{"mean_": [1.0] * 3, "scale_": [0.0] * 3}]},
    ],
)
def test_damaged_content_is_refused(content):
    with pytest.raises(InvalidInputError):
        Preprocessor.from_content(content, 3)


@pytest.mark.parametrize(("window", "degree", "derivative"), [(11, 2, 1), (15, 3, 2), (101, 9, 1)])
def test_savitzky_golay_is_the_derivative_of_a_polynomial_in_each_window(
    window, degree, derivative
):
    """Also where powers of the places in a window leave float64."""
    rows, half, middle = (
        np.cumsum(np.random.default_rng(3).normal(size=(5, 300)), axis=1),
        window // 2,
        150,
    )
    found = Preprocessor(f"savgol:{window}:{degree}:{derivative}").fit_transform(rows)
    places = np.arange(-half, half + 1)
    for row, ours in zip(rows, found, strict=True):
        inside = row[middle - half : middle + half + 1]
        fitted = np.polynomial.Legendre.fit(places, inside, degree).deriv(derivative)
        assert ours[middle] == pytest.approx(fitted(0.0), rel=1e-8, abs=1e-12)
