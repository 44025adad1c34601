"""One object answers for new rows, whatever it was asked through; formulas written out here."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from _helpers.problems import make_problem
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from plsdof import (
    KernelPLSRegressor,
    PCRegressor,
    PenalizedPLSRegressor,
    PLS2Regressor,
    PLSClassifier,
    PLSRegressor,
    RecipeRegressor,
    RidgeRegressor,
    load_model,
    pls_path,
    predictor,
)
from plsdof.chemometrics import check_calibration, hotelling_t2, q_residuals
from plsdof.chemometrics.distances import left_out_rows
from plsdof.errors import NotAvailableError, PlsdofWarning
from plsdof.inference import prediction_interval

HERE = Path(__file__).parent
X, Y = make_problem(40, 6, seed=3, noise=2.0)
NEW = X[:9] + np.random.default_rng(1).normal(size=(9, 6))
WEIGHTS = np.arange(40) % 3 + 1.0


def doors(model, tmp_path):
    """Every way to ask a fitted estimator, or a model, about new rows."""
    asked = predictor(model)
    asked.save(tmp_path / "model.json")
    found = {
        "predictor": asked,
        "frozen": asked.frozen(),
        "file": load_model(tmp_path / "model.json"),
    }
    if hasattr(model, "model_"):
        found["model"] = predictor(model.model_)
    return found


MODELS = {
    "pls": (PLSRegressor(3), {}),
    "weights": (PLSRegressor(3), {"sample_weight": WEIGHTS}),
    "unscaled": (PLSRegressor(2, scale=False), {}),
    "chosen, groups": (PLSRegressor(), {"groups": np.arange(40) // 4}),
    "average": (PLSRegressor("average"), {}),
    "pcr": (PCRegressor(2), {}),
    "ridge": (RidgeRegressor(3.0), {}),
    "penalised": (PenalizedPLSRegressor(2, strength=5.0), {}),
    "kernel": (KernelPLSRegressor(2), {}),
    "pool": (RecipeRegressor("average", recipes=["none", "scale"]), {}),
}


@pytest.mark.parametrize("name", MODELS)
def test_every_door_gives_the_same_numbers(name, tmp_path):
    estimator, options = MODELS[name]
    fitted = clone(estimator).fit(X, Y, **options)
    interval = prediction_interval(fitted, NEW, level=0.9)
    close = {"rtol": 1e-9, "atol": 1e-9}
    for door in doors(fitted, tmp_path).values():
        answers = door.at(NEW, level=0.9)
        np.testing.assert_allclose(answers.value, fitted.predict(NEW), **close)
        np.testing.assert_allclose(door.predict(NEW), answers.value, **close)
        np.testing.assert_allclose(answers.value + answers.half, interval.upper, **close)
        limits = np.column_stack([interval.lower, interval.upper])
        np.testing.assert_allclose(door.predict_interval(NEW, 0.9), limits, **close)
        np.testing.assert_allclose(answers.leverage, fitted.model_.predictor.leverage(NEW), **close)
        checked = check_calibration(door, NEW, Y[:9], level=0.9).columns
        expected = check_calibration(fitted, NEW, Y[:9], level=0.9).columns
        for key in ("error", "expected", "lower", "unlike"):
            np.testing.assert_allclose(checked[key], expected[key], **close)
        if answers.t2 is not None:
            for ours, theirs in ((answers.t2, hotelling_t2), (answers.q, q_residuals)):
                if ours is not None:
                    known = theirs(fitted, NEW, level=0.9)
                    np.testing.assert_allclose(ours.values, known.values, **close)
                    np.testing.assert_allclose(ours.limit, known.limit, rtol=1e-9)


@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize("scale", [True, False])
def test_numbers_are_those_of_formulas_written_out(scale, weights, tmp_path):
    fitted = PLSRegressor(3, scale=scale).fit(X, Y, weights)
    w = np.ones(40) if weights is None else weights
    n, mean = w.sum(), w @ X / w.sum()
    unit = np.sqrt(w @ (X - mean) ** 2 / (n - 1)) if scale else np.ones(6)
    Z, new = np.sqrt(w)[:, None] * (X - mean) / unit, (NEW - mean) / unit
    # NIPALS, then orthonormal scores of new rows by regression on those of the training rows
    left, T, z = Z.copy(), [], np.sqrt(w) * (Y - w @ Y / n)
    for _ in range(3):
        t = left @ (left.T @ z)
        T.append(t / np.linalg.norm(t))
        left -= np.outer(T[-1], T[-1] @ left)
    T = np.array(T).T
    scores = new @ np.linalg.pinv(Z) @ T
    value = w @ Y / n + scores @ (T.T @ z)
    h = 1 / n + np.sum(scores**2, axis=1)
    for door in doors(fitted, tmp_path).values():
        answers = door.at(NEW)
        np.testing.assert_allclose(answers.value, value, rtol=1e-9)
        np.testing.assert_allclose(answers.leverage, h, rtol=1e-9)
        np.testing.assert_allclose(answers.t2.values, (n - 1) * (h - 1 / n), rtol=1e-9)
        beside = new - scores @ (Z.T @ T).T
        np.testing.assert_allclose(answers.q.values, np.sum(beside**2, axis=1), rtol=1e-8)
        np.testing.assert_array_equal(answers.unlike, answers.t2.flags | answers.q.flags)
        np.testing.assert_array_equal(answers.status != "ok", answers.unlike)
        np.testing.assert_array_equal(answers.reason != "", answers.unlike)
        # The mean, by a derivative of the prediction with respect to each response.
        normal = door.prediction_interval(NEW, kind="mean", method="normal")
        step = 1e-5
        slopes = np.array(
            [
                (
                    PLSRegressor(3, scale=scale).fit(X, Y + e, weights).predict(NEW)
                    - PLSRegressor(3, scale=scale).fit(X, Y - e, weights).predict(NEW)
                )
                / (2 * step)
                for e in step * np.eye(40)
            ]
        )
        error = fitted.noise_std_ * np.sqrt(np.sum(slopes**2 / w[:, None], axis=0))
        np.testing.assert_allclose(normal.std_error, error, rtol=1e-5)


@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize("make", [PLSRegressor, PenalizedPLSRegressor])
def test_distances_of_rows_left_out_are_those_of_fits_without_them(make, weights):
    model = make(2).fit(X, Y, weights, groups=np.arange(40) // 5)
    found, fold = left_out_rows(model), model.selection_ or model.model_.left_out
    fold = model.model_.left_out.fold
    for f in np.unique(fold):
        part = make(2).fit(
            X[fold != f], Y[fold != f], None if weights is None else weights[fold != f]
        )
        here = fold == f
        t2 = hotelling_t2(part, X[here], limit="distribution").values
        np.testing.assert_allclose(found.t2.values[here], t2, rtol=1e-8)
        q = q_residuals(part, X[here], limit="distribution").values
        np.testing.assert_allclose(found.q.values[here], q, rtol=1e-8, atol=1e-10)


def test_a_pipeline_answers_through_its_predictor(tmp_path):
    model = make_pipeline(StandardScaler(), PLSRegressor(2, scale=False)).fit(X, Y)
    expected = PLSRegressor(2).fit(X, Y)
    for door in doors(model, tmp_path).values():
        np.testing.assert_allclose(door.predict(NEW), expected.predict(NEW), rtol=1e-9)
        options = {"method": "left-out", "level": 0.5}
        half = predictor(model[-1]).half_width(0.5) * np.sqrt(
            1 + 4 * 40 / 36 * expected.model_.predictor.leverage(NEW)
        )
        limits = np.column_stack([expected.predict(NEW) - half, expected.predict(NEW) + half])
        np.testing.assert_allclose(door.predict_interval(NEW, **options), limits, rtol=1e-9)
    # Steps that a file cannot hold still answer; only a file says why not.
    model = make_pipeline(PCA(4), PLSRegressor(1)).fit(X, Y)
    asked = predictor(model)
    np.testing.assert_allclose(asked.predict(NEW), model.predict(NEW), rtol=1e-12)
    assert asked.predict_interval(NEW).shape == (9, 2)
    with pytest.raises(NotAvailableError):
        asked.save(tmp_path / "model.json")


def test_sparse_rows_stay_sparse():
    rows = scipy.sparse.random(60, 100, 0.3, random_state=0, format="csr")
    y = np.asarray(rows[:, :5].sum(axis=1)).ravel() + 0.1 * np.random.default_rng(0).normal(size=60)
    model = PLSRegressor(2).fit(rows, y)
    asked = predictor(model)
    expected = asked.at(rows.toarray())
    answers = asked.at(rows)
    np.testing.assert_allclose(answers.value, model.predict(rows), rtol=1e-10)
    np.testing.assert_allclose(answers.half, expected.half, rtol=1e-9)


def test_several_responses_answer_together(tmp_path):
    fitted = PLS2Regressor(2).fit(X, np.column_stack([Y, X[:, 0]]))
    for door in doors(fitted, tmp_path).values():
        np.testing.assert_allclose(door.at(NEW).value, fitted.predict(NEW), rtol=1e-9, atol=1e-9)
        limits, found = fitted.predict_interval(NEW), door.predict_interval(NEW)
        np.testing.assert_allclose(found, limits, rtol=1e-8, atol=1e-9)
        with pytest.raises(NotAvailableError):
            door.predict_interval(NEW, method="normal")


@pytest.mark.parametrize("labels", [Y > 0, np.digitize(Y, [-1, 1]), np.where(Y > 0, "up", "down")])
@pytest.mark.parametrize("wrapped", [False, True])
def test_a_saved_classifier_stays_one(labels, wrapped, tmp_path):
    model = PLSClassifier(2, novelty=None if wrapped else 0.9)
    model = make_pipeline(StandardScaler(), model) if wrapped else model
    model.fit(X, labels)
    for door in doors(model, tmp_path).values():
        np.testing.assert_array_equal(door.classes_, model.classes_)
        np.testing.assert_array_equal(door.predict(NEW), model.predict(NEW))
        proba = model.predict_proba(NEW)
        np.testing.assert_allclose(door.predict_proba(NEW), proba, rtol=1e-9)
        values = model.decision_function(NEW)
        np.testing.assert_allclose(door.decision_function(NEW), values, rtol=1e-8, atol=1e-9)
        assert door.score(X, labels) == model.score(X, labels)
        answers = door.at(NEW)
        np.testing.assert_array_equal(answers.label, door.predict(NEW))
        np.testing.assert_array_equal(answers.probability, door.predict_proba(NEW))
        if not wrapped:
            np.testing.assert_array_equal(answers.belongs, model.belongs(NEW))
            np.testing.assert_array_equal(answers.unlike, ~model.belongs(NEW).any(axis=1))
        assert f"P({model.classes_[0]})" in answers.frame()


def test_answers_are_a_frame_with_the_names_of_the_rows():
    frame = pd.DataFrame(NEW, columns=list("abcdef"), index=[f"s{i}" for i in range(9)])
    model = PLSRegressor(2).fit(pd.DataFrame(X, columns=list("abcdef")), Y)
    table = predictor(model).at(frame).frame()
    assert list(table.index) == list(frame.index)
    np.testing.assert_allclose(table["value"], model.predict(frame))
    assert {"lower", "upper", "leverage", "t2", "q", "status"} < set(table)


def test_parts_are_made_when_they_are_needed():
    model = PLSRegressor().fit(X, Y)
    asked = predictor(model)
    asked.predict(NEW)
    asked.predict_interval(NEW)
    assert not model.path_.is_counted
    asked.t2(NEW)
    assert model.path_.is_counted


def test_a_file_of_wide_spectra_is_small(tmp_path):
    """Scores, not rows: 300 x 400 would be 1.3 MB with a factor of one row for each."""
    rng = np.random.default_rng(0)
    bands = np.exp(-0.5 * ((np.arange(400) - rng.uniform(0, 400, 6)[:, None]) / 40) ** 2)
    parts = rng.uniform(size=(300, 6))
    rows = parts @ bands + 1e-4 * rng.normal(size=(300, 400))
    model = PLSRegressor(6).fit(rows, parts[:, 0] + 0.01 * rng.normal(size=300))
    model.save(tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    assert (tmp_path / "model.json").stat().st_size < 1000 * 400
    for kind in ("mean", "observation"):
        options = {"kind": kind, "method": "normal"}
        expected = prediction_interval(model, rows, **options)
        found = loaded.prediction_interval(rows, **options)
        np.testing.assert_allclose(found.std_error, expected.std_error, rtol=1e-5)


def test_a_file_of_many_wide_rows_has_a_limited_size(tmp_path):
    """Directions that are too many are what they add on average: no interval changes much."""
    rng = np.random.default_rng(0)
    bands = np.exp(-0.5 * ((np.arange(1600) - rng.uniform(0, 1600, 8)[:, None]) / 90) ** 2)
    parts = rng.uniform(size=(260, 8))
    rows = parts @ bands + 3e-3 * rng.normal(size=(260, 1600))
    model = PLSRegressor(8).fit(rows[:160], parts[:160, 0] + 0.01 * rng.normal(size=160))
    model.save(tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    assert len(loaded.normal.factor) == 57  # 90,000 numbers, and a constant
    assert (tmp_path / "model.json").stat().st_size < 1000 * 1600
    for kind, most in (("mean", 0.02), ("observation", 0.002)):
        options = {"kind": kind, "method": "normal"}
        for some in (rows[:160], rows[160:]):
            expected = prediction_interval(model, some, **options).std_error
            found = loaded.prediction_interval(some, **options).std_error
            np.testing.assert_allclose(found, expected, rtol=most)


def test_all_that_there_is_to_say_has_the_usual_intervals(tmp_path):
    asked = predictor(PLSRegressor(2).fit(X, Y), intervals="normal")
    asked.save(tmp_path / "model.json")
    for door in (asked, load_model(tmp_path / "model.json")):
        usual, answers = door.prediction_interval(NEW, level=0.8), door.at(NEW, level=0.8)
        assert not np.isnan(usual.std_error).any()
        np.testing.assert_allclose(answers.half, usual.upper - usual.center, rtol=1e-12)
        checked = check_calibration(door, NEW, Y[:9], level=0.8).columns
        np.testing.assert_allclose(checked["upper"], usual.upper, rtol=1e-12)


# Files of version 0.4
# --------------------

ANSWERS = json.loads((HERE / "answers_of_0_4.json").read_text())


@pytest.mark.parametrize("name", ANSWERS)
def test_files_of_0_4_say_what_they_said(name, tmp_path):
    known = ANSWERS[name]
    rows = np.array(known["rows"])
    file = HERE / "models_0_4" / f"{name}.json"
    if "belongs" in known:  # by limits that accepted too many strangers
        with pytest.warns(PlsdofWarning):
            old = load_model(file)
        with pytest.raises(NotAvailableError):
            old.belongs(rows)
    else:
        old = load_model(file)
    old.save(tmp_path / "new.json")
    for model in (old, load_model(tmp_path / "new.json")):
        asks = {
            "value": lambda model=model: model.predict(rows),
            "interval": lambda model=model: model.predict_interval(rows),
            "normal": lambda model=model: model.predict_interval(rows, method="normal"),
            "mean": lambda model=model: model.predict_interval(rows, kind="mean"),
            "expected": lambda model=model: model.at(rows).expected,
            "probability": lambda model=model: model.predict_proba(rows),
        }
        for key in known.keys() & asks.keys():
            found, expected = np.asarray(asks[key]()), np.array(known[key])
            if key in ("interval", "mean"):  # half-widths are those of today's formula
                assert np.all(found[..., 0] < found[..., 1])
                found, expected = found.mean(axis=-1), expected.mean(axis=-1)
            np.testing.assert_allclose(found, expected, rtol=1e-10, err_msg=key)
        for key, ask in {"t2": model.t2, "q": model.q}.items():
            if key in known:
                found = ask(rows)
                np.testing.assert_allclose(
                    [*found.values, found.limit], known[key], rtol=1e-9, atol=1e-12, err_msg=key
                )


def test_answers_do_not_depend_on_what_was_asked_before():
    """Signs of scores and loadings go together, whichever decomposition was there first."""
    model = RecipeRegressor("average", recipes=["none", "scale"]).fit(X, Y)
    asked = predictor(model)
    asked.leverage(NEW)  # by the recursion
    _ = [one.path.dof for one in model.model_.members]
    again = predictor(RecipeRegressor("average", recipes=["none", "scale"]).fit(X, Y))
    np.testing.assert_allclose(asked.at(NEW).q.values, again.at(NEW).q.values, rtol=1e-8)


def test_a_model_of_0_4_is_a_path_model_of_now():
    rng = np.random.default_rng(0)
    rows, y = rng.normal(size=(20, 3)), rng.normal(size=20)
    model = pls_path(rows, y)[1]
    np.testing.assert_allclose(predictor(model).predict(rows), model.fitted, rtol=1e-10)


@pytest.mark.parametrize("name", ["pls", "average", "pool"])
def test_each_answer_can_be_asked_for_alone(name):
    asked = predictor(clone(MODELS[name][0]).fit(X, Y))
    found = asked.at(NEW)
    np.testing.assert_array_equal(asked.leverage(NEW), found.leverage)
    np.testing.assert_array_equal(asked.t2(NEW).values, found.t2.values)
    np.testing.assert_array_equal(asked.q(NEW).values, found.q.values)
    np.testing.assert_array_equal(asked.unlike(NEW + 1e3), np.ones(len(NEW), dtype=bool))
    np.testing.assert_array_equal(asked.unlike(NEW), found.unlike)
