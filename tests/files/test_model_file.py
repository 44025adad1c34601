"""The model as a JSON file: nothing is lost, and nothing but an intact file is taken."""

import base64
import json
import pickle

import numpy as np
import pandas as pd
import pytest
from _helpers.problems import make_problem

from plsdof import (
    KernelPLSRegressor,
    PCRegressor,
    PLS2Regressor,
    PLSRegressor,
    RidgeRegressor,
    inference,
    pcr_path,
    pls2_path,
    pls_path,
    ridge_path,
)
from plsdof.chemometrics import hotelling_t2, q_residuals
from plsdof.datasets import load_gasoline
from plsdof.errors import ConstantColumnWarning, InvalidInputError, NotAvailableError
from plsdof.files.models import (
    FORMAT,
    checksum,
    load_model,
    portable_model,
    save_model,
)

SHAPES = {"tall": (40, 6), "wide": (15, 60), "square": (12, 12)}
METHODS = {
    "pls": lambda X, y: pls_path(X, y, 4),
    "pcr": lambda X, y: pcr_path(X, y, 4),
    "ridge": lambda X, y: ridge_path(X, y, alphas=[1.0, 30.0]),
    "unscaled": lambda X, y: pls_path(X, y, 4, scale=False),
}
EMPTY = {"rows": 0, "columns": 5, "values": ""}
ONE_ROW = {"rows": 1, "columns": 5, "values": "A" * 54 + "=="}


def kept(model, tmp_path, **options):
    portable_model(model, **options).save(tmp_path / "model.json")
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


def test_a_lean_model_predicts_with_intervals_from_rows_left_out(tmp_path):
    fitted = PLSRegressor(2).fit(*make_problem(40, 5))
    model = kept(fitted, tmp_path, intervals=False)
    assert not fitted.path_.is_counted
    chosen = fitted.model_
    assert model.factor is None
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
        lambda: model.hotelling_t2(rows),
    ):
        with pytest.raises(NotAvailableError):
            ask()
    large = len(pickle.dumps(portable_model(PLSRegressor(2).fit(*make_problem(100, 400)))))
    lean = len(
        pickle.dumps(portable_model(PLSRegressor(2).fit(*make_problem(100, 400)), intervals=False))
    )
    assert lean < large / 5


def test_fitted_estimators_are_saved_and_made_lean(tmp_path):
    rows, y = make_problem(60, 300)
    for fitted in (PLSRegressor(2).fit(rows, y), PLS2Regressor(2).fit(rows, np.c_[y, rows[:, 0]])):
        fitted.save(tmp_path / "model.json")
        lean = fitted.lean()
        assert len(pickle.dumps(lean)) < len(pickle.dumps(fitted)) / 5
        for model in (load_model(tmp_path / "model.json"), lean):
            np.testing.assert_allclose(model.predict(rows), fitted.predict(rows), rtol=1e-10)
            limits = model.predict_interval(rows, 0.9)
            np.testing.assert_allclose(limits, fitted.predict_interval(rows, 0.9), rtol=1e-9)


def same(one, other):
    if one is None or not hasattr(one, "__dataclass_fields__"):
        np.testing.assert_array_equal(one, other)
        return
    for name in one.__dataclass_fields__:
        pairs = getattr(one, name), getattr(other, name)
        for ours, theirs in zip(*pairs, strict=True) if name == "parts" else [pairs]:
            same(ours, theirs)


@pytest.mark.parametrize("groups", [None, np.repeat(np.arange(10), 4)])
@pytest.mark.parametrize("weights", [None, np.random.default_rng(0).uniform(0.5, 2.0, 40)])
def test_every_number_survives_the_file(tmp_path, weights, groups):
    X, y = make_problem(40, 5)
    fitted = PLSRegressor("average").fit(X, y, weights, groups)
    model = portable_model(fitted, response="µ\x1b[31m", source={"a": 1})
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
                (model.hotelling_t2(new, level=level), hotelling_t2(path[m], new, level=level)),
                (model.q_residuals(new, level=level), q_residuals(path[m], new, level=level)),
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
    q = kept(pls_path(X, y)[3], tmp_path).q_residuals(X + 1)
    assert np.isnan(q.limit)
    assert not q.flags.any()
    assert "no limit" in q.message


def test_columns_that_did_not_vary_count_in_q_where_nothing_is_scaled(tmp_path):
    X, y = make_problem(20, 5)
    X[:, 2] = 7.0
    new = X[:3].copy()
    new[0, 2] += 2.0
    for scale, expected in ((False, 4.0), (True, 0.0)):
        with pytest.warns(ConstantColumnWarning):
            path = pls_path(X, y, scale=scale)
        model = kept(by_gcv(path), tmp_path)
        more = model.q_residuals(new).values - model.q_residuals(X[:3]).values
        np.testing.assert_allclose(more, [expected, 0, 0], atol=1e-12)
        t2 = model.hotelling_t2(new).values
        np.testing.assert_allclose(t2, model.hotelling_t2(X[:3]).values, rtol=1e-12)


@pytest.mark.parametrize("method", ["pcr", "ridge"])
def test_methods_without_scores_have_no_distances(tmp_path, method):
    model = kept(METHODS[method](*make_problem(20, 5))[1], tmp_path)
    assert model.check is None
    for ask in (model.hotelling_t2, model.q_residuals):
        with pytest.raises(NotAvailableError):
            ask(np.eye(5))


def test_constant_columns_take_no_part(tmp_path):
    X, y = make_problem(20, 5)
    X[:, 2] = 7.0
    with pytest.warns(ConstantColumnWarning):
        path = pls_path(X, y)
    model = kept(by_gcv(path), tmp_path)
    assert model.x_scale[2] == np.inf
    other = X.copy()
    other[:, 2] = -100.0
    np.testing.assert_array_equal(model.predict(other), model.predict(X))
    np.testing.assert_array_equal(model.predict_interval(other), model.predict_interval(X))


def test_the_factor_of_pcr_has_one_row_per_component():
    X, y = make_problem(15, 60)
    assert portable_model(pcr_path(X, y, 6)[4]).factor.shape == (4, 60)


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
    with pytest.raises(InvalidInputError, match="3 column"):
        load_model(file).predict(np.zeros((2, 3)))


def test_the_file_is_json_and_says_what_it_is(file):
    content = json.loads(file.read_text())
    assert (content["format"], content["version"]) == (FORMAT, 3)
    assert content["names"] == [f"x{i}" for i in range(5)]
    assert content["source"] == {"file": "fat.csv", "rows": 20}


def test_the_documented_recipe_gives_the_prediction_and_its_variance(file):
    # What a reader in another language would do with the file, from its documentation alone.
    import base64

    content = json.loads(file.read_text())
    model = load_model(file)
    (part,) = content["responses"]
    x = np.linspace(-1, 1, 5)
    G, R, L = (
        np.frombuffer(base64.b64decode(one["values"]), "<f8").reshape(one["rows"], one["columns"])
        for one in (part["factor"], part["check"]["rotations"], part["check"]["loadings"])
    )
    u = (x - content["x_mean"]) / content["x_scale"]
    prediction = part["intercept"] + np.dot(part["coef"], x)
    variance = part["noise_variance"] * (1 + 1 / content["n"] + np.sum((G @ u) ** 2))
    interval = model.prediction_interval(x[None], method="normal")
    t2, q = (content["n"] - 1) * np.sum((R @ u) ** 2), np.sum((u - L.T @ (R @ u)) ** 2)
    np.testing.assert_allclose(model.hotelling_t2(x[None]).values, t2, rtol=1e-12)
    np.testing.assert_allclose(model.q_residuals(x[None]).values, q, rtol=1e-12)
    np.testing.assert_allclose(interval.center, prediction, rtol=1e-12)
    np.testing.assert_allclose(interval.std_error**2, variance, rtol=1e-12)
    # The 19th of 20 scores is the ceil(0.9 * 21)-th.
    half = sorted(part["scores"])[18]
    expected = [[prediction - half, prediction + half]]
    np.testing.assert_allclose(model.predict_interval(x[None], 0.9), expected, rtol=1e-12)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace('"intercept": ', '"intercept": 1'),
        lambda text: text.replace('"x3"', '"x9"'),
        lambda text: text.replace('"fat"', '"sugar"'),
        lambda text: text.replace('"version": 3,', '"version": 3, "more": 2,'),
        lambda text: text[: text.index('"sha256"')] + '"sha256": ""}',
    ],
)
def test_edited_files_are_refused(file, change):
    changed = change(file.read_text())
    assert changed != file.read_text()
    file.write_text(changed)
    with pytest.raises(InvalidInputError, match="changed after it was written"):
        load_model(file)


def test_another_layout_of_the_same_content_is_no_edit(file):
    content = json.loads(file.read_text())
    file.write_text(json.dumps(dict(reversed(content.items())), indent=4, ensure_ascii=False))
    assert load_model(file).response == "fat"


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.999])
def test_truncated_files_are_refused(file, share):
    raw = file.read_bytes()
    file.write_bytes(raw[: int(share * len(raw))])
    with pytest.raises(InvalidInputError, match="truncated or damaged"):
        load_model(file)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "not a model file"),
        (b"\x80\x04\x95pickle", "not a model file"),
        (b"[1, 2]", "lacks the entry format"),
        (b'{"a": NaN}', "NaN is not a JSON number"),
        (b"[" * 100_000, "not a model file"),
    ],
)
def test_other_files_are_refused(file, content, reason):
    file.write_bytes(content)
    with pytest.raises(InvalidInputError, match=reason):
        load_model(file)


def test_files_that_cannot_be_read_are_errors_of_the_system(tmp_path):
    with pytest.raises(FileNotFoundError):
        load_model(tmp_path / "absent.json")
    with pytest.raises(IsADirectoryError):
        load_model(tmp_path)


@pytest.mark.parametrize(
    ("entry", "value", "reason"),
    [
        ("version", 4, "version 4, this package reads up to 3; upgrade"),
        ("preprocessing", 3, "'preprocessing' .* object"),
        ("preprocessing", {"steps": "snvv"}, "'preprocessing' .* 'snvv' is not a step"),
        ("version", "1", "'version' .* must be"),
        ("names", ["x0", 3], "'names' .* must be"),
        ("names", [], "'names' .* must be"),
        ("coef", [1.0], "'coef' .* list of 5 numbers"),
        ("coef", [1.0, 2.0, 3.0, 4.0, "5"], "'coef' .* finite"),
        ("coef", [1.0, 2.0, 3.0, 4.0, None], "'coef' .* finite"),
        ("coef", None, "'coef' .* list"),
        ("x_scale", [1.0, 2.0, 3.0, 4.0, -1.0], "'x_scale' .* positive"),
        ("x_scale", None, "'x_scale' .* list"),
        ("intercept", True, "'intercept' .* finite"),
        ("intercept", 10**400, "'intercept' .* finite"),
        ("n", 0, "'n' .* positive"),
        ("response", 3, "'response' .* text"),
        ("choice", [], "'choice' .* object"),
        ("responses", [], "'responses' .* list"),
        ("responses", [3], "'responses' .* object"),
        ("one_response", 1, "'one_response' .* true or false"),
        ("scores", [-1.0], "'scores' .* 0 or more"),
        ("weights", [1.0], "'weights' .* list of 20"),
        ("interval_method", "best", "'interval_method' .* one of"),
        ("kernel", {"name": "rbf"}, "lacks coef0, degree, mean, rows"),
        ("factor", {"rows": 1, "columns": 5, "values": "AAAA"}, "'factor' .* 5 columns"),
        ("factor", {"rows": 1, "columns": 5, "values": "*"}, "'factor' .* base64"),
        ("factor", 3, "'factor' .* base64"),
        ("x_scale", 3, "'x_scale' .* list of 5"),
        ("check", 3, "'check' .* object"),
        ("check", {}, "lacks loadings, residual_variances, rotations"),
        (
            "check",
            {"rotations": EMPTY, "loadings": ONE_ROW, "residual_variances": []},
            "'loadings' .* 0 rows",
        ),
        (
            "check",
            {"rotations": EMPTY, "loadings": EMPTY, "residual_variances": [-1.0]},
            "'residual_variances' .* 0 or more",
        ),
    ],
)
def test_wrong_content_is_refused_even_with_a_right_checksum(file, entry, value, reason):
    content = json.loads(file.read_text())
    inner = content["responses"][0]
    (inner if entry in {*inner, "weights", "interval_method"} else content)[entry] = value
    content["sha256"] = checksum(content)
    file.write_text(json.dumps(content))
    with pytest.raises(InvalidInputError, match=reason):
        load_model(file)


def test_numbers_out_of_range_are_refused(file):
    text = file.read_text()
    assert '"dof": ' in text
    file.write_text(text.replace('"dof": ', '"dof": 1e999, "was": ', 1))
    with pytest.raises(InvalidInputError, match="1e999 is out of the range"):
        load_model(file)


def test_missing_entries_are_named(file):
    content = json.loads(file.read_text())
    del content["responses"][0]["coef"], content["responses"][0]["intercept"]
    content["sha256"] = checksum(content)
    file.write_text(json.dumps(content))
    with pytest.raises(InvalidInputError, match="lacks coef, intercept"):
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
    with pytest.raises(InvalidInputError, match="intervals must be one of"):
        portable_model(chosen, intervals="conformal")


def entries(content, above=()):
    """Where the numbers of a model file are; one of each list."""
    for key, value in content.items() if isinstance(content, dict) else [(0, content[0])]:
        where = (*above, key)
        if key in ("format", "version", "sha256", "source", "choice", "rows", "columns", "spent"):
            continue
        if key == "values" or (isinstance(value, int | float) and not isinstance(value, bool)):
            yield where
        elif isinstance(value, dict | list) and value:
            yield from entries(value, where)


def with_number(content, where, number):
    """Return a model file with another number in one place, signed again."""
    changed = json.loads(json.dumps(content))
    inner = changed
    for key in where[:-1]:
        inner = inner[key]
    if where[-1] == "values":
        matrix = np.frombuffer(base64.b64decode(inner["values"])).copy()
        matrix[0] = number
        inner["values"] = base64.b64encode(matrix.tobytes()).decode()
    else:
        inner[where[-1]] = number
    changed["sha256"] = checksum(changed)
    return changed


@pytest.mark.parametrize("intervals", ["normal", "left-out"])
def test_numbers_that_lead_out_of_the_range_of_floats_are_refused(tmp_path, intervals):
    """Signed files, too: every number they hold, very large and very small."""
    X, y = make_problem(20, 5)
    file = tmp_path / "model.json"
    save_model(portable_model(by_gcv(pls_path(X, y)), intervals=intervals), file)
    content = json.loads(file.read_text())
    for where in entries(content):
        for number in (1e300, -1e300, 1e200, 1e-200, 1e-320):
            file.write_text(json.dumps(with_number(content, where, number)))
            try:
                model = load_model(file)
                answers = [model.predict(X), model.predict_interval(X)[:, 0]]
                answers += [one.values for one in (model.hotelling_t2(X), model.q_residuals(X))]
            except InvalidInputError:
                continue
            assert np.all(np.isfinite(answers)), (where, number)
            assert abs(number) < 1, (where, number)


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
    "several": (PLSRegressor(), TWO),
    "one column": (PLSRegressor(), TWO[:, :1]),
    "pls2": (PLS2Regressor(), TWO),
    "pls2, scaled": (PLS2Regressor("cv", scale_response=True), TWO),
    "pls2 of one": (PLS2Regressor(2), Y),
    "rbf": (KernelPLSRegressor(3), Y),
    "laplacian": (KernelPLSRegressor(2, kernel="laplacian"), Y),
    "poly": (KernelPLSRegressor(2, kernel="poly", degree=2, scale=False), Y),
    "kernels": (KernelPLSRegressor(2, gamma=[0.05, 0.2]), TWO),
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


def test_given_kernels_are_kept_as_what_they_are(tmp_path):
    K, weights = X @ X.T, np.tile([1.0, 0.0, 2.0, 1.0], 10)
    fitted = KernelPLSRegressor(2, kernel="precomputed").fit(K, Y, weights)
    save_model(fitted, tmp_path / "model.json")
    model = load_model(tmp_path / "model.json")
    np.testing.assert_allclose(model.predict(K), fitted.predict(K), rtol=1e-9)
    with pytest.raises(NotAvailableError):
        portable_model(KernelPLSRegressor(2, kernel=lambda A, B: A @ B.T).fit(X, Y))


def test_models_of_paths_with_several_responses_are_kept(tmp_path):
    path = pls2_path(FRAME, pd.DataFrame(TWO, columns=["u", "v"]), 3)
    model = kept(path[2], tmp_path)
    assert model.response_names_ == ("u", "v")
    np.testing.assert_allclose(model.predict(FRAME), path.fitted[2], rtol=1e-10, atol=1e-10)
    for ask in (model.prediction_interval, model.hotelling_t2):
        with pytest.raises(NotAvailableError):
            ask(FRAME)
    with pytest.raises(AttributeError):
        model.dof  # noqa: B018
    with pytest.raises(AttributeError):
        model.anything  # noqa: B018
