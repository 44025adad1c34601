"""The model as a JSON file: nothing is lost, and nothing but an intact file is taken."""

import base64
import json
import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from _helpers.problems import make_problem
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from plsdof import (
    KernelPLSRegressor,
    PCRegressor,
    PLS2Regressor,
    PLSRegressor,
    RecipeRegressor,
    RidgeRegressor,
    inference,
    pcr_path,
    pls2_path,
    pls_path,
    predictor,
    ridge_path,
)
from plsdof.chemometrics import Preprocessor, hotelling_t2, q_residuals
from plsdof.datasets import load_gasoline
from plsdof.errors import ConstantColumnWarning, InvalidInputError, NotAvailableError
from plsdof.models.files import FORMAT, checksum, load_model, save_model, to_content
from plsdof.models.predictor import Adjustment, Transfer

SHAPES = {"tall": (40, 6), "wide": (15, 60), "square": (12, 12)}
METHODS = {
    "pls": lambda X, y: pls_path(X, y, 4),
    "pcr": lambda X, y: pcr_path(X, y, 4),
    "ridge": lambda X, y: ridge_path(X, y, alphas=[1.0, 30.0]),
    "unscaled": lambda X, y: pls_path(X, y, 4, scale=False),
}
SIX_ROWS = {"rows": 6, "columns": 5, "values": "A" * 320}
ONE_ROW = {"rows": 1, "columns": 5, "values": "A" * 54 + "=="}


def frozen_model(model, *, intervals=True, **options):
    default = intervals if isinstance(intervals, str) else None
    return predictor(model, intervals=default, **options).frozen(intervals=bool(intervals))


def kept(model, tmp_path, **options):
    frozen_model(model, **options).save(tmp_path / "model.json")
    return load_model(tmp_path / "model.json")


def by_gcv(path):
    return path[path.select("gcv").index]


@pytest.fixture
def file(tmp_path):
    X, y = make_problem(20, 5)
    kept(by_gcv(pls_path(X, y)), tmp_path, response="fat", source={"file": "fat.csv", "rows": 20})
    return tmp_path / "model.json"


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("method", METHODS)
def test_predictions_and_intervals_are_those_of_the_library(tmp_path, shape, method):
    # Columns of very different units: none may be lost to another one's rounding.
    X, y = make_problem(*SHAPES[shape], seed=1, noise=2.0)
    X = X * 10.0 ** np.linspace(-5, 5, X.shape[1]) if method != "unscaled" else X
    chosen = by_gcv(METHODS[method](X, y))
    model = kept(chosen, tmp_path)
    np.testing.assert_allclose(model.predict(X), chosen.fitted, rtol=1e-12, atol=1e-12)
    new = X[:7] + np.random.default_rng(2).normal(size=X[:7].shape) * X.std(axis=0)
    cases = [("mean", "normal"), ("observation", "normal"), ("observation", "left-out")]
    for kind, how in cases:
        for level in (0.5, 0.99):
            options = {"level": level, "kind": kind, "method": how}
            ours = model.prediction_interval(new, **options)
            theirs = inference.prediction_interval(chosen, new, **options)
            for name in ("center", "std_error", "lower", "upper"):
                expected = getattr(theirs, name)
                np.testing.assert_allclose(
                    getattr(ours, name),
                    expected,
                    rtol=1e-9,
                    atol=1e-11 * np.abs(theirs.upper).max(),
                )
            assert ours.assumptions == theirs.assumptions
            limits = model.predict_interval(new, **options)
            np.testing.assert_array_equal(limits, np.column_stack([ours.lower, ours.upper]))


def test_a_model_without_data_predicts_with_intervals_from_rows_left_out(tmp_path):
    fitted = PLSRegressor(2).fit(*make_problem(40, 5))
    model = kept(fitted, tmp_path, intervals=False)
    assert not fitted.path_.is_counted
    chosen = fitted.model_
    assert model.normal is None
    assert model.check is None
    assert not model.has_intervals
    assert model.interval_methods == ("left-out",)
    rows = np.eye(5)
    np.testing.assert_allclose(model.predict(rows), chosen.predict(rows), rtol=1e-10)
    expected = inference.prediction_interval(chosen, rows)
    np.testing.assert_allclose(model.predict_interval(rows)[:, 1], expected.upper, rtol=1e-10)
    for ask in (
        lambda: model.predict_interval(rows, method="normal"),
        lambda: model.predict_interval(rows, kind="mean"),
        lambda: model.t2(rows),
    ):
        with pytest.raises(NotAvailableError):
            ask()
    large = len(pickle.dumps(frozen_model(PLSRegressor(2).fit(*make_problem(100, 400)))))
    small = len(
        pickle.dumps(frozen_model(PLSRegressor(2).fit(*make_problem(100, 400)), intervals=False))
    )
    assert small < large / 5


def test_fitted_estimators_are_saved_and_freed_of_their_data(tmp_path):
    rows, y = make_problem(60, 300)
    for fitted in (PLSRegressor(2).fit(rows, y), PLS2Regressor(2).fit(rows, np.c_[y, rows[:, 0]])):
        fitted.save(tmp_path / "model.json")
        small = fitted.without_data()
        assert len(pickle.dumps(small)) < len(pickle.dumps(fitted)) / 5
        for model in (load_model(tmp_path / "model.json"), small):
            np.testing.assert_allclose(model.predict(rows), fitted.predict(rows), rtol=1e-10)
            limits = model.predict_interval(rows, 0.9)
            np.testing.assert_allclose(limits, fitted.predict_interval(rows, 0.9), rtol=1e-9)


def same(one, other):
    if one is None or not hasattr(one, "__dataclass_fields__"):
        np.testing.assert_array_equal(one, other)
        return
    for name in set(one.__dataclass_fields__) - {"sha256"}:
        pairs = getattr(one, name), getattr(other, name)
        several = name in ("responses", "preparations", "members")
        for ours, theirs in zip(*pairs, strict=True) if several else [pairs]:
            same(ours, theirs)


@pytest.mark.parametrize("groups", [None, np.repeat(np.arange(10), 4)])
@pytest.mark.parametrize("weights", [None, np.random.default_rng(0).uniform(0.5, 2.0, 40)])
def test_every_number_survives_the_file(tmp_path, weights, groups):
    X, y = make_problem(40, 5)
    fitted = PLSRegressor("average").fit(X, y, weights, groups)
    model = frozen_model(fitted, response="µ\x1b[31m", source={"a": 1})
    model.save(tmp_path / "model.json")
    again = load_model(tmp_path / "model.json")
    same(model, again)
    for level in (0.8, 0.95):
        expected = fitted.predict_interval(X, level)
        np.testing.assert_allclose(again.predict_interval(X, level), expected, rtol=1e-9)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_distances_of_new_rows_are_those_of_the_library(tmp_path, shape, scale, weighted):
    n, p = SHAPES[shape]
    X, y = make_problem(n, p, seed=1, noise=2.0)
    rng = np.random.default_rng(2)
    weight = rng.uniform(0.5, 2, n) if weighted else None
    path = pls_path(X, y, 4, scale=scale, sample_weight=weight)
    new = np.vstack([X[:5], X[:5] + rng.normal(size=(5, p)), 10 * X[:2], X.mean(axis=0)[None]])
    flagged = []
    for m in (0, 1, 3):
        model = kept(path[m], tmp_path)
        for level in (0.5, 0.95):
            for ours, theirs in (
                (model.t2(new, level=level), hotelling_t2(path[m], new, level=level)),
                (model.q(new, level=level), q_residuals(path[m], new, level=level)),
            ):
                np.testing.assert_allclose(ours.values, theirs.values, rtol=1e-9, atol=1e-12)
                np.testing.assert_allclose(ours.limit, theirs.limit, rtol=1e-9)
                np.testing.assert_array_equal(ours.flags, theirs.flags)
                assert (ours.name, ours.method) == (theirs.name, theirs.method)
                flagged += ours.flags.tolist()
    assert any(flagged)
    assert not all(flagged)


def test_components_that_reproduce_the_predictors_leave_no_limit_of_q(tmp_path):
    X, y = make_problem(20, 3)
    q = kept(pls_path(X, y)[3], tmp_path).q(X + 1)
    assert np.isnan(q.limit)
    assert not q.flags.any()
    assert "no limit" in q.message


def test_as_many_components_as_columns_leave_nothing_of_rows_near_the_mean():
    X, y = make_problem(40, 3, seed=4)
    X = X + np.array([7.0, 60.0, 300.0])
    model = PLSRegressor(3).fit(X, y)
    new = X.mean(axis=0) + 1e-3 * (X - X.mean(axis=0))
    np.testing.assert_array_equal(predictor(model).at(new).q.values, 0.0)


def test_columns_that_did_not_vary_count_in_q_where_nothing_is_scaled(tmp_path):
    X, y = make_problem(20, 5)
    X[:, 2] = 7.0
    new = X[:3].copy()
    new[0, 2] += 2.0
    for scale, expected in ((False, 4.0), (True, 0.0)):
        with pytest.warns(ConstantColumnWarning):
            path = pls_path(X, y, scale=scale)
        model = kept(by_gcv(path), tmp_path)
        more = model.q(new).values - model.q(X[:3]).values
        np.testing.assert_allclose(more, [expected, 0, 0], atol=1e-12)
        t2 = model.t2(new).values
        np.testing.assert_allclose(t2, model.t2(X[:3]).values, rtol=1e-12)


@pytest.mark.parametrize("method", ["pcr", "ridge"])
def test_methods_without_scores_have_no_distances(tmp_path, method):
    model = kept(METHODS[method](*make_problem(20, 5))[1], tmp_path)
    assert model.check is None
    for ask in (model.t2, model.q):
        with pytest.raises(NotAvailableError):
            ask(np.eye(5))


def test_constant_columns_take_no_part(tmp_path):
    X, y = make_problem(20, 5)
    X[:, 2] = 7.0
    with pytest.warns(ConstantColumnWarning):
        path = pls_path(X, y)
    model = kept(by_gcv(path), tmp_path)
    assert model.check.scale[2] == np.inf
    other = X.copy()
    other[:, 2] = -100.0
    np.testing.assert_array_equal(model.predict(other), model.predict(X))
    np.testing.assert_array_equal(model.predict_interval(other), model.predict_interval(X))


def test_the_factor_of_pcr_has_one_row_per_component_and_one_for_the_mean():
    X, y = make_problem(15, 60)
    assert frozen_model(pcr_path(X, y, 6)[4]).normal.factor.shape == (5, 60)


def test_models_that_interpolate_have_no_normal_intervals(tmp_path):
    X, y = make_problem(8, 20, seed=8)
    model = kept(pls_path(X, y)[-1], tmp_path, noise="jacobian")
    assert np.isnan(model.noise_variance)
    assert not model.has_intervals
    assert np.isfinite(model.predict(X)).all()
    assert np.isfinite(model.predict_interval(X)).all()
    with pytest.raises(NotAvailableError):
        model.predict_interval(X, method="normal")


def test_rows_of_another_width_are_refused(file):
    with pytest.raises(InvalidInputError):
        load_model(file).predict(np.zeros((2, 3)))


def test_the_file_is_json_and_says_what_it_is(file):
    content = json.loads(file.read_text())
    assert (content["format"], content["version"]) == (FORMAT, 5)
    assert content["names"] == [f"x{i}" for i in range(5)]
    assert content["source"] == {"file": "fat.csv", "rows": 20}


def test_the_documented_recipe_gives_the_prediction_and_its_variance(file):
    # What a reader in another language would do with the file, from its documentation alone.
    content = json.loads(file.read_text())
    model = load_model(file)
    (part,), (prepared,) = content["responses"], content["preparations"]
    (member,) = part["members"]
    row = np.linspace(-1, 1, 5)
    G, R, L = (
        np.frombuffer(base64.b64decode(one["values"]), "<f8").reshape(one["rows"], one["columns"])
        for one in (part["normal"]["factor"], member["rotations"], part["check"]["loadings"])
    )
    x = row - np.array(prepared["x_mean"])
    prediction = part["y_mean"] + np.dot(member["coef"], x)
    variance = part["noise_variance"] + np.sum((part["normal"]["level"] + G @ x) ** 2)
    u = x / part["check"]["scale"]
    interval = model.prediction_interval(row[None], method="normal")
    t2, q = (content["n"] - 1) * np.sum((R @ x) ** 2), np.sum((u - L.T @ (R @ x)) ** 2)
    np.testing.assert_allclose(model.t2(row[None]).values, t2, rtol=1e-12)
    np.testing.assert_allclose(model.q(row[None]).values, q, rtol=1e-12)
    np.testing.assert_allclose(interval.center, prediction, rtol=1e-12)
    np.testing.assert_allclose(interval.std_error**2, variance, rtol=1e-12)
    # Student's t times the root mean square of the scores, wider with the leverage h of the row.
    size = np.sqrt(np.mean(np.square(part["scores"])))
    h = 1 / content["n"] + np.sum(member["shares"] * (R @ x) ** 2)
    half = scipy.stats.t.ppf(0.95, 20 - part["spent"]) * size * np.sqrt(1 + part["reach"] * h)
    expected = [[prediction - half, prediction + half]]
    np.testing.assert_allclose(model.predict_interval(row[None], 0.9), expected, rtol=1e-12)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace('"n": ', '"n": 1'),
        lambda text: text.replace('"x3"', '"x9"'),
        lambda text: text.replace('"fat"', '"sugar"'),
        lambda text: text.replace('"version": 5,', '"version": 5, "more": 2,'),
        lambda text: text[: text.index('"sha256"')] + '"sha256": ""}',
    ],
)
def test_edited_files_are_refused(file, change):
    changed = change(file.read_text())
    assert changed != file.read_text()
    file.write_text(changed)
    with pytest.raises(InvalidInputError):
        load_model(file)


def test_another_layout_of_the_same_content_is_no_edit(file):
    content = json.loads(file.read_text())
    file.write_text(json.dumps(dict(reversed(content.items())), indent=4, ensure_ascii=False))
    assert load_model(file).response == "fat"


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.999])
def test_truncated_files_are_refused(file, share):
    raw = file.read_bytes()
    file.write_bytes(raw[: int(share * len(raw))])
    with pytest.raises(InvalidInputError):
        load_model(file)


@pytest.mark.parametrize(
    "content", [b"", b"\x80\x04\x95pickle", b"[1, 2]", b'{"a": NaN}', b"[" * 100_000]
)
def test_other_files_are_refused(file, content):
    file.write_bytes(content)
    with pytest.raises(InvalidInputError):
        load_model(file)


def test_files_that_cannot_be_read_are_errors_of_the_system(tmp_path):
    with pytest.raises(FileNotFoundError):
        load_model(tmp_path / "absent.json")
    with pytest.raises(IsADirectoryError):
        load_model(tmp_path)


@pytest.mark.parametrize(
    ("entry", "value"),
    [
        ("version", 3),
        ("version", 6),
        ("version", "1"),
        ("preprocessing", 3),
        ("preprocessing", {"steps": "snvv"}),
        ("names", ["x0", 3]),
        ("names", []),
        ("coef", [1.0]),
        ("coef", [1.0, 2.0, 3.0, 4.0, "5"]),
        ("coef", [1.0, 2.0, 3.0, 4.0, True]),
        ("coef", [1.0, 2.0, 3.0, 4.0, None]),
        ("coef", None),
        ("scale", None),
        ("scale", 3),
        ("x_mean", [1.0, 2.0]),
        ("y_mean", 10**400),
        ("n", 0),
        ("choice", []),
        ("responses", []),
        ("responses", [3]),
        ("one_response", 1),
        ("weights", [1.0]),
        ("kernel", {"name": "rbf"}),
        ("factor", {"rows": 1, "columns": 5, "values": "AAAA"}),
        ("factor", {"rows": 1, "columns": 5, "values": "*"}),
        ("factor", {"rows": 0, "columns": 4, "values": ""}),
        ("preparation", 1),
        ("members", []),
        ("shares", [1.0, 2.0]),
        ("rotations", ONE_ROW | {"columns": 1, "rows": 5}),
        ("check", {}),
        ("check", {"loadings": SIX_ROWS, "residual_variances": []}),
        ("transfer", {"kind": "ds", "offset": [0.0] * 5, "matrix": ONE_ROW}),
        ("adjustments", [{"slope": 1.0}]),
    ],
)
def test_wrong_content_is_refused_even_with_a_right_checksum(file, entry, value):
    content = json.loads(file.read_text())
    (response,), (prepared,) = content["responses"], content["preparations"]
    (member,) = response["members"]
    places = {
        "preparation": member,
        "shares": member,
        "weights": response,
        "adjustments": response,
        "interval_method": response,
        "kernel": prepared,
        "preprocessing": prepared,
    }
    for place in (content, prepared, response, member, response["normal"], response["check"]):
        places |= dict.fromkeys(set(place) - {"weight"}, place)
    places.get(entry, content)[entry] = value
    content["sha256"] = checksum(content)
    file.write_text(json.dumps(content))
    with pytest.raises(InvalidInputError):
        load_model(file)


def test_numbers_out_of_range_are_refused(file):
    text = file.read_text()
    assert '"dof": ' in text
    file.write_text(text.replace('"dof": ', '"dof": 1e999, "was": ', 1))
    with pytest.raises(InvalidInputError):
        load_model(file)


def test_missing_entries_are_named(file):
    content = json.loads(file.read_text())
    del content["responses"][0]["y_mean"]
    content["sha256"] = checksum(content)
    file.write_text(json.dumps(content))
    with pytest.raises(InvalidInputError, match="missing required field `y_mean`"):
        load_model(file)


def test_more_degrees_of_freedom_than_rows_still_leave_intervals(tmp_path):
    # Components that the response excites hardly at all.
    X, y = load_gasoline(return_X_y=True)
    model = pls_path(X, y, 30)[30]
    assert model.dof > 60
    limits = kept(model, tmp_path).predict_interval(X, method="normal")
    expected = inference.prediction_interval(model, X, method="normal")
    np.testing.assert_allclose(limits[:, 1], expected.upper, rtol=1e-9)


@pytest.mark.parametrize("method", ["normal", "left-out"])
def test_a_kept_model_predicts_with_the_intervals_it_was_kept_with(tmp_path, method):
    X, y = make_problem(25, 6, seed=3, noise=2.0)
    chosen = by_gcv(pls_path(X, y))
    limits = kept(chosen, tmp_path, intervals=method).predict_interval(X + 0.5, 0.9)
    theirs = inference.prediction_interval(chosen, X + 0.5, level=0.9, method=method)
    np.testing.assert_allclose(limits, np.column_stack([theirs.lower, theirs.upper]), rtol=1e-9)
    with pytest.raises(InvalidInputError):
        frozen_model(chosen, intervals="conformal")


# A loaded model is a regressor
# -----------------------------

X, Y = make_problem(40, 5, seed=9)
TWO = np.column_stack([Y, X[:, 0] - 2 * Y])
FRAME = pd.DataFrame(X, columns=list("abcde"), index=[f"s{i}" for i in range(40)])
ESTIMATORS = {
    "pls": (PLSRegressor(2), Y),
    "average": (PLSRegressor("average"), Y),
    "pcr": (PCRegressor(3), Y),
    "ridge": (RidgeRegressor(), Y),
    "pls2": (PLS2Regressor(), TWO),
    "pls2, scaled": (PLS2Regressor("cv", scale_response=True), TWO),
    "pls2 of one": (PLS2Regressor(2), Y),
    "rbf": (KernelPLSRegressor(3), Y),
    "laplacian": (KernelPLSRegressor(2, kernel="laplacian"), Y),
    "poly": (KernelPLSRegressor(2, kernel="poly", degree=2, scale=False), Y),
    "kernels": (KernelPLSRegressor(2, gamma=[0.05, 0.2]), Y),
    "pls2, one column": (PLS2Regressor(2), TWO[:, :1]),
}


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("frame", [False, True])
def test_a_loaded_model_answers_as_the_estimator_does(name, frame, tmp_path):
    estimator, y = ESTIMATORS[name]
    rows = FRAME if frame else X
    if frame:
        y = pd.Series(y, name="u") if y.ndim == 1 else pd.DataFrame(y).add_prefix("y")
    fitted = estimator.fit(rows, y)
    save_model(fitted, tmp_path / "model.json")
    model = load_model(tmp_path / "model.json")
    close = {"rtol": 1e-9, "atol": 1e-9}
    predicted = fitted.predict(rows)
    assert model.predict(rows).shape == predicted.shape
    np.testing.assert_allclose(model.predict(rows), predicted, **close)
    assert model.score(rows, y) == pytest.approx(fitted.score(rows, y))
    weights = np.arange(40.0)
    assert model.score(rows, y, weights) == pytest.approx(fitted.score(rows, y, weights))
    assert model.n_features_in_ == 5
    limits, expected = model.predict_interval(rows[:5], 0.9), fitted.predict_interval(rows[:5], 0.9)
    assert type(limits) is type(expected)
    np.testing.assert_allclose(np.asarray(limits), np.asarray(expected), **close)
    if frame:
        assert list(model.feature_names_in_) == list("abcde")
        assert model.response_names_ == fitted.response_names_
        assert list(limits.columns) == list(expected.columns)
        assert list(limits.index) == list(expected.index)
        # Names are checked, columns put in order.
        backwards = rows[list("edcba")]
        np.testing.assert_allclose(model.predict(backwards), model.predict(rows), rtol=1e-12)
        with pytest.raises(InvalidInputError):
            model.predict(rows.rename(columns={"a": "z"}))
    else:
        assert not hasattr(model, "feature_names_in_")
    if hasattr(fitted, "coef_"):
        np.testing.assert_allclose(model.coef_, fitted.coef_, **close)
        np.testing.assert_allclose(model.intercept_, fitted.intercept_, **close)
    else:
        assert not hasattr(model, "coef_")
    assert pickle.loads(pickle.dumps(model)).predict(rows).shape == predicted.shape


@pytest.mark.parametrize("noise", [None, "jacobian", 4.0])
def test_normal_intervals_take_the_noise_of_the_estimator(noise, tmp_path):
    fitted = PLSRegressor(2, noise=noise).fit(X, Y)
    for kind in ("observation", "mean"):
        ours, theirs = (
            one.predict_interval(X, method="normal", kind=kind)
            for one in (kept(fitted, tmp_path), fitted)
        )
        np.testing.assert_allclose(ours, theirs, rtol=1e-9)


def test_names_like_numbers_are_names(tmp_path):
    frame = pd.DataFrame(X).add_prefix("x")
    backwards = frame[frame.columns[::-1]]
    for rows in (frame, X):
        model = kept(PLSRegressor(2).fit(rows, Y), tmp_path)
        np.testing.assert_allclose(model.predict(backwards), model.predict(X), rtol=1e-12)


def test_kernels_of_several_widths_are_kept(tmp_path):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 2))
    y = rows[:, 0] + np.sin(4 * rows[:, 0]) + np.cos(5 * rows[:, 1]) + 0.1 * rng.normal(size=60)
    fitted = KernelPLSRegressor("average", gamma=[0.01, 2.0]).fit(rows, y)
    model = kept(fitted, tmp_path)
    assert len({one.kernel.gamma for one in model.preparations}) == 2
    new = rows + 0.1
    np.testing.assert_allclose(model.predict(new), fitted.predict(new), rtol=1e-9, atol=1e-9)
    limits = model.predict_interval(new)
    np.testing.assert_allclose(limits, fitted.predict_interval(new), rtol=1e-9, atol=1e-9)


def test_kernels_that_have_no_name_are_not_kept():
    for fitted in (
        KernelPLSRegressor(2, kernel="precomputed").fit(X @ X.T, Y),
        KernelPLSRegressor(2, kernel=lambda A, B: A @ B.T).fit(X, Y),
    ):
        with pytest.raises(NotAvailableError):
            frozen_model(fitted)


def test_models_of_paths_with_several_responses_are_kept(tmp_path):
    path = pls2_path(FRAME, pd.DataFrame(TWO, columns=["u", "v"]), 3)
    model = kept(path[2], tmp_path)
    assert model.response_names_ == ("u", "v")
    np.testing.assert_allclose(model.predict(FRAME), path.fitted[2], rtol=1e-10, atol=1e-10)
    for ask in (model.prediction_interval, model.t2):
        with pytest.raises(NotAvailableError):
            ask(FRAME)
    with pytest.raises(AttributeError):
        model.dof  # noqa: B018
    with pytest.raises(AttributeError):
        model.anything  # noqa: B018


# Steps before and after a model, and averages over recipes
# ---------------------------------------------------------


def whole(model):
    """Return all that a model says about rows, as functions of the rows."""
    return {
        "prediction": model.predict,
        "limits": lambda rows: model.predict_interval(rows, 0.9),
        "normal": lambda rows: model.predict_interval(rows, 0.9, method="normal"),
        "mean": lambda rows: model.predict_interval(rows, 0.9, kind="mean"),
        "t2": lambda rows: model.t2(rows).values,
        "q": lambda rows: model.q(rows).values,
    }


BANDS = np.random.default_rng(3).normal(size=(3, 5))
BANDED = np.array(
    [[BANDS[i - j + 1, j] if abs(i - j) < 2 else 0.0 for j in range(5)] for i in range(5)]
)
TRANSFERS = {
    "bias": (Transfer(kind="bias", offset=np.arange(5.0)), lambda rows: rows + np.arange(5.0)),
    "ds": (Transfer(kind="ds", offset=np.ones(5), matrix=BANDED), lambda rows: rows @ BANDED + 1),
    "pds": (Transfer(kind="pds", offset=np.ones(5), bands=BANDS), lambda rows: rows @ BANDED + 1),
}


@pytest.mark.parametrize("name", TRANSFERS)
def test_a_transfer_step_comes_before_all_else(name, tmp_path):
    step, by_hand = TRANSFERS[name]
    model = frozen_model(PLSRegressor(2).fit(X, Y))
    moved = kept_again(model.derived(transfer=step), tmp_path)
    for key, ask in whole(moved).items():
        np.testing.assert_allclose(ask(X), whole(model)[key](by_hand(X)), rtol=1e-9, err_msg=key)
    assert moved.parent == checksum(to_content(model))
    assert f"transfer={name!r}" in repr(moved)
    assert not hasattr(moved, "coef_")


def test_a_transfer_step_may_take_other_columns(tmp_path):
    # From seven columns, each column of the model between two of them.
    matrix = np.eye(7, 5) / 2 + np.eye(7, 5, -1) / 2
    step = Transfer(kind="ds", offset=np.zeros(5), matrix=matrix, names=tuple("tuvwxyz"))
    model = frozen_model(PLSRegressor(2).fit(FRAME, Y))
    moved = kept_again(model.derived(transfer=step), tmp_path)
    rows = pd.DataFrame(np.random.default_rng(5).normal(size=(4, 7)), columns=list("tuvwxyz"))
    np.testing.assert_allclose(moved.predict(rows), model.predict(rows.to_numpy() @ matrix))
    np.testing.assert_allclose(moved.predict(rows.iloc[:, ::-1]), moved.predict(rows))
    assert (moved.n_features_in_, list(moved.feature_names_in_)) == (7, list("tuvwxyz"))
    with pytest.raises(InvalidInputError):
        moved.predict(FRAME)


def adjusted_by(model, adjustment):
    (one,) = model.responses
    return model.derived(responses=(replace(one, adjustments=(*one.adjustments, adjustment)),))


def test_adjustments_correct_predictions_and_widen_intervals(tmp_path):
    model = kept(PLSRegressor(2).fit(X, Y), tmp_path)
    first = adjusted_by(model, Adjustment(kind="slope", slope=-2.0, intercept=1.0, rows=12.0))
    bias = Adjustment(kind="bias", intercept=0.5, reason="lamp", date="2026-11-18", parent="a")
    first.save(tmp_path / "first.json")
    again = adjusted_by(load_model(tmp_path / "first.json"), bias)
    both = kept_again(again, tmp_path)
    for key, ask in whole(model).items():
        expected = ask(X)
        if key not in ("t2", "q"):
            expected = -2.0 * expected + 1.5
            expected = expected[:, ::-1] if expected.ndim == 2 else expected
        np.testing.assert_allclose(whole(both)[key](X), expected, rtol=1e-9, err_msg=key)
    old, new = (one.prediction_interval(X, method="normal") for one in (model, both))
    np.testing.assert_allclose(new.std_error, 2.0 * old.std_error, rtol=1e-12)
    np.testing.assert_allclose(X @ both.coef_ + both.intercept_, both.predict(X), rtol=1e-9)
    assert "adjusted='slope, bias'" in repr(both)
    assert both.adjustments[1].reason == "lamp"
    # Each file knows the one before it.
    assert (first.parent, both.parent) == (model.sha256, load_model(tmp_path / "first.json").sha256)


def kept_again(model, tmp_path):
    model.save(tmp_path / "again.json")
    return load_model(tmp_path / "again.json")


def test_an_average_over_recipes_predicts_the_weighted_mean(tmp_path):
    rows, weights = X + 20.0, (0.3, 0.7)
    models = [
        frozen_model(PLSRegressor(2).fit(rows, Y)),
        frozen_model(
            make_pipeline(
                StandardScaler(), Preprocessor("center"), PLSRegressor(3, scale=False)
            ).fit(rows, Y)
        ),
    ]
    members = tuple(
        replace(
            one.main,
            preparation=i,
            weight=w,
            coef=w * one.main.coef,
            shares=w * one.main.shares,
        )
        for i, (one, w) in enumerate(zip(models, weights, strict=True))
    )
    # The first member is that of T^2 and Q.
    response = replace(models[1].responses[0], members=members[::-1], normal=None, reach=4.0)
    pool = kept_again(
        replace(
            models[1],
            preparations=tuple(one.preparations[0] for one in models),
            responses=(response,),
        ),
        tmp_path,
    )
    expected = sum(w * one.predict(rows) for w, one in zip(weights, models, strict=True))
    np.testing.assert_allclose(pool.predict(rows), expected, rtol=1e-10)
    # T^2 and Q are those of the member with most weight.
    for ask in ("t2", "q"):
        ours, theirs = (getattr(one, ask)(rows).values for one in (pool, models[1]))
        np.testing.assert_allclose(ours, theirs, rtol=1e-10)
    # Intervals widen with the leverage, the weighted mean of those of the members.
    t2 = [one.t2(rows).values / 39 for one in models]
    h = 1 / 40 + weights[0] * t2[0] + weights[1] * t2[1]
    half = models[1].half_width(0.9) * np.sqrt(1 + 4 * h)
    expected = np.column_stack([expected - half, expected + half])
    np.testing.assert_allclose(pool.predict_interval(rows, 0.9), expected, rtol=1e-10)
    assert not hasattr(pool, "coef_")


def test_shares_weight_components_in_the_leverage(tmp_path):
    model = frozen_model(PLSRegressor(3).fit(X, Y))
    member = replace(model.main, shares=np.array([1.0, 0.5, 0.25]))
    changed = kept_again(
        replace(model, responses=(replace(model.responses[0], members=(member,), reach=2.0),)),
        tmp_path,
    )
    u = X - model.preparations[0].x_mean
    h = 1 / 40 + ((u @ member.rotations.T) ** 2) @ [1.0, 0.5, 0.25]
    upper = model.predict(X) + model.half_width(0.9) * np.sqrt(1 + 2 * h)
    np.testing.assert_allclose(changed.predict_interval(X, 0.9)[:, 1], upper, rtol=1e-10)


def test_scalers_of_a_pipeline_become_a_chain(tmp_path):
    options = ({}, {"with_mean": False}, {"with_std": False})
    for one in options:
        fitted = make_pipeline(StandardScaler(**one), PLSRegressor(2, scale=False)).fit(FRAME, Y)
        model = kept(fitted, tmp_path)
        np.testing.assert_allclose(model.predict(FRAME), fitted.predict(FRAME), rtol=1e-10)


def test_steps_of_a_pipeline_and_of_a_recipe_are_both_kept(tmp_path):
    rows = X + 10.0
    fitted = make_pipeline(StandardScaler(), RecipeRegressor(recipes=["snv"])).fit(rows, Y)
    model = kept(fitted, tmp_path)
    np.testing.assert_allclose(model.predict(rows), fitted.predict(rows), rtol=1e-9)
    # So is a chain that is given, in front of that of the recipe.
    given = Preprocessor("center").fit(rows)
    recipe = RecipeRegressor(recipes=["snv"]).fit(given.transform(rows), Y)
    model = frozen_model(recipe, preprocessing=given)
    expected = recipe.predict(given.transform(rows))
    np.testing.assert_allclose(model.predict(rows), expected, rtol=1e-9)


def test_names_that_do_not_fit_and_a_noise_of_zero_are_not_passed_over():
    model = pls_path(X, Y, 3)[2]
    with pytest.raises(InvalidInputError):
        frozen_model(model, names=["a", "b"])
    with pytest.raises(InvalidInputError):
        frozen_model(PLSRegressor(2, noise=4.0).fit(X, Y), noise=0.0)


def test_a_model_without_components_is_kept(tmp_path):
    fitted = PLSRegressor(0).fit(X, Y)
    model = kept(fitted, tmp_path)
    np.testing.assert_allclose(model.predict(X), Y.mean(), rtol=1e-12)
    np.testing.assert_allclose(model.predict_interval(X), fitted.predict_interval(X), rtol=1e-9)
    assert not model.t2(X).values.any()
    np.testing.assert_allclose(model.q(X).limit, q_residuals(fitted, X).limit, rtol=1e-9)
