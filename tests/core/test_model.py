"""Models: points of a simplex over the models of a path, whatever the path."""

import copy
import pickle
import threading

import numpy as np
import pytest
from _helpers.problems import make_problem

from plsdof import (
    PLSRegressor,
    kernel_pls_path,
    pcr_path,
    penalized_pls_path,
    pls_path,
    ridge_path,
)
from plsdof._core.filters import pls_filter
from plsdof._core.model import Model, as_model, as_path
from plsdof.errors import InvalidInputError, NotAvailableError
from plsdof.inference import prediction_interval
from plsdof.large import ArrayBlocks

X, Y = make_problem(45, 7, seed=1, decay=0.5, noise=1.0)
NEW, _ = make_problem(6, 7, seed=2)
W = np.random.default_rng(0).uniform(0.5, 2.0, 45)
PATHS = {
    "pls": lambda: pls_path(X, Y, 5),
    "pls, not scaled": lambda: pls_path(X, Y, 5, scale=False),
    "wide pls": lambda: pls_path(X[:6], Y[:6], 3),
    "weighted pls": lambda: pls_path(X, Y, 5, sample_weight=W),
    "pcr": lambda: pcr_path(X, Y, 5),
    "ridge": lambda: ridge_path(X, Y, [100.0, 10.0, 1.0]),
    "kernel": lambda: kernel_pls_path(X, Y, max_components=4, gamma=0.05),
    "penalised": lambda: penalized_pls_path(X, Y, strength=2.0, max_components=4),
}
LAZY = ("pls", "pls, not scaled", "wide pls", "weighted pls", "penalised")


@pytest.mark.parametrize("name", PATHS)
def test_a_model_is_a_row_of_its_path_before_and_after_counting(name):
    path = PATHS[name]()
    quick = [(path[m].coef, path[m].intercept, path[m].predict(NEW)) for m in range(3)]
    assert path.is_counted == (name not in LAZY)
    for m, (coef, intercept, predicted) in enumerate(quick):
        size = np.abs(path.coef).max()
        np.testing.assert_allclose(coef, path.coef[m], atol=1e-9 * size)
        assert intercept == pytest.approx(path.intercept[m], rel=1e-8)
        np.testing.assert_allclose(predicted, path.predict(NEW)[m], rtol=1e-8)
        model = path[m]
        assert model.dof == path.dof[m]
        assert model.rss == path.rss[m]
        np.testing.assert_array_equal(model.fitted, path.fitted[m])
        np.testing.assert_allclose(model.residuals, path[m].residuals)
        np.testing.assert_array_equal(model.leverage(), path.leverage(m))
        np.testing.assert_array_equal(model.jacobian(), path.jacobian(m))
        assert model.parameter == path.parameters[m]
        assert model.noise_variance("jacobian") == path.noise_variance("jacobian")[m]
        np.testing.assert_allclose(model.noise_variance(), path.noise_variance()[m], rtol=1e-7)
        assert not model.is_average


@pytest.mark.parametrize("name", PATHS)
def test_an_average_is_the_weighted_sum_of_its_models(name):
    path = PATHS[name]()
    average = path.average()
    w = average.weights
    assert w.sum() == pytest.approx(1.0)
    assert np.all(w >= 0)
    K = len(w)
    coef, predicted = average.coef, average.predict(NEW)
    assert path.is_counted == (name not in LAZY)
    size = np.abs(path.coef[:K]).max()
    np.testing.assert_allclose(coef, w @ path.coef[:K], atol=1e-9 * size)
    assert average.intercept == pytest.approx(w @ path.intercept[:K], rel=1e-8)
    np.testing.assert_allclose(predicted, w @ path.predict(NEW)[:K], rtol=1e-8)
    np.testing.assert_allclose(average.predict(NEW), predicted, rtol=1e-8)
    np.testing.assert_allclose(average.fitted, w @ path.fitted[:K], rtol=1e-8)
    left = average.left_out
    held = average.selection.held_out  # the weights made again without each fold
    np.testing.assert_array_equal(average.left_out_residuals, held.residuals)
    assert np.abs(held.residuals - w @ left.residuals[:K]).max() < left.residuals.std()
    residual = path.response() - average.fitted
    weights = 1.0 if path.given.weights is None else path.given.weights
    assert average.rss == pytest.approx(np.sum(weights * residual**2), rel=1e-7)
    jacobian = sum(share * path.jacobian(m) for m, share in enumerate(w) if share)
    np.testing.assert_allclose(average.jacobian(), jacobian, atol=1e-9)
    np.testing.assert_allclose(average.leverage(), np.diag(jacobian), atol=1e-9)
    assert average.is_average


def test_degrees_of_freedom_of_an_average_include_the_price_of_its_weights():
    path = pls_path(X, Y, 5)
    average = path.average()
    w = np.zeros(len(path))
    w[: len(average.weights)] = average.weights
    mean = w @ path.dof
    assert average.dof >= mean - 1e-9
    assert average.dof == pytest.approx(np.trace(average.jacobian()) + average.dof - mean)
    assert np.trace(average.jacobian()) == pytest.approx(mean)


@pytest.mark.parametrize("name", PATHS)
def test_every_model_has_intervals(name):
    path = PATHS[name]()
    for model in (path[1], path.average()):
        interval = prediction_interval(model, NEW)
        share = 1 - np.bincount(model.left_out.fold, path.given.weights).max() / path.given.n
        w = np.eye(len(path))[1] if model.weights is None else model.weights
        apart = w @ (path.predict(NEW)[: len(w)] - model.predict(NEW)) ** 2
        wider = 1 + 4 * model.predictor.leverage(NEW) / share + 4 * apart / model.rmse**2
        half = model.half_width(0.95) * np.sqrt(wider)
        np.testing.assert_allclose(interval.center, model.predict(NEW))
        np.testing.assert_allclose(interval.upper - interval.center, half)
        assert np.all(half > model.half_width(0.95))
        normal = prediction_interval(model, NEW, method="normal")
        assert np.all(normal.lower < normal.center)
        assert model.rmse == pytest.approx(
            np.sqrt(np.average(model.left_out_residuals**2, weights=path.given.weights))
        )


@pytest.mark.parametrize("counted", [False, True])
@pytest.mark.parametrize("name", [*PATHS, "blocks"])
@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, "pickle"])
def test_models_and_paths_can_be_copied_before_and_after_counting(name, counted, again):
    if again == "pickle":
        again = lambda one: pickle.loads(pickle.dumps(one))  # noqa: E731
    path = pls_path(ArrayBlocks(X, Y), max_components=4) if name == "blocks" else PATHS[name]()
    model = path[2] if name == "blocks" else path.average()
    if counted:
        _ = path.dof
    other_path, other = again(path), again(model)
    assert other_path.is_counted == path.is_counted
    np.testing.assert_array_equal(other_path.dof, path.dof)
    np.testing.assert_allclose(other.coef, model.coef, rtol=1e-12)
    np.testing.assert_allclose(other.predict(NEW), model.predict(NEW), rtol=1e-12)
    if name != "blocks":
        assert other.half_width() == pytest.approx(model.half_width(), rel=1e-12)
        assert other_path.select().index == path.select().index


def test_two_threads_that_count_at_once_get_the_same(monkeypatch):
    entered = threading.Barrier(2, timeout=20)
    waited = []

    def slowly(*arguments, **options):
        if not waited:
            try:
                entered.wait(timeout=0.5)
            except threading.BrokenBarrierError:
                waited.append(True)  # the other thread is kept outside
        return pls_filter(*arguments, **options)

    monkeypatch.setattr("plsdof._core.fit.pls_filter", slowly)
    path = pls_path(X, Y, 5)
    found, threads = [], []
    for _ in range(2):
        threads.append(threading.Thread(target=lambda: found.append(path.exact)))
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(found) == 2
    np.testing.assert_array_equal(found[0].dof, found[1].dof)
    np.testing.assert_array_equal(path.dof, pls_path(X, Y, 5).dof)


def test_choice_average_and_predictions_need_no_decomposition():
    path = pls_path(X, Y, 5)
    assert path.select().index > 0
    average = path.average()
    average.predict(NEW)
    path[2].predict(NEW)
    _ = average.coef, path[2].coef, path.left_out().rmse, average.half_width()
    path.select(loss="huber")
    path.select(groups=np.arange(45) // 3)
    assert not path.is_counted
    _ = path.dof
    assert path.is_counted


@pytest.mark.parametrize("options", [{}, {"n_components": 2}, {"n_components": "average"}])
def test_an_estimator_does_not_count_before_somebody_asks(options):
    fitted = PLSRegressor(**options).fit(X, Y)
    fitted.predict(NEW)
    assert not fitted.path_.is_counted
    assert fitted.dof_ > 1
    assert fitted.path_.is_counted


def test_models_of_streamed_data_have_what_needs_rows_left_out_too():
    path = pls_path(ArrayBlocks(X, Y), max_components=4)
    whole = pls_path(X, Y, 4)
    np.testing.assert_allclose(path[2].coef, whole[2].coef, rtol=1e-7)
    np.testing.assert_allclose(path[2].predict(NEW), whole[2].predict(NEW), rtol=1e-8)
    assert path[2].noise_variance() == pytest.approx(whole[2].noise_variance())
    assert path[2].half_width() == pytest.approx(whole[2].half_width())
    assert path.select().index == whole.select().index
    with pytest.raises(NotAvailableError):
        path.rows.require_in_memory()


def test_rows_of_a_path():
    path = pls_path(X, Y, 4)
    assert path[-1].index == 4
    assert [model.index for model in path] == [0, 1, 2, 3, 4]
    for beyond in (5, -6):
        with pytest.raises(IndexError):
            path[beyond]
    for wrong in (1.5, True, "1", None):
        with pytest.raises(InvalidInputError):
            path[wrong]


def test_criteria_refuse_what_belongs_to_rows_left_out():
    path = pls_path(X, Y, 4)
    for option in ({"loss": "huber"}, {"groups": np.arange(len(Y)) // 2}, {"cv": 5}):
        with pytest.raises(InvalidInputError):
            path.select("bic", **option)


def test_the_parameter_of_an_average_with_a_penalty_of_zero():
    path = ridge_path(X, Y, alphas=[10.0, 1.0, 0.0])
    model = Model(path=path, index=0, weights=np.array([0.5, 0.5, 0.0]))
    assert model.parameter == pytest.approx(np.sqrt(10.0))


def test_what_has_a_model():
    path = pls_path(X, Y, 4)
    fitted = PLSRegressor(2).fit(X, Y)
    model = path[1]
    assert as_model(model) is model
    assert isinstance(as_model(fitted), Model)
    assert as_path(path) is path
    assert as_path(path[2]) is path
    for wrong in (path, PLSRegressor(2), 3, None):
        with pytest.raises(InvalidInputError):
            as_model(wrong)
