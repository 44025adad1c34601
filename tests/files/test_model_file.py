"""The model as a JSON file: nothing is lost, and nothing but an intact file is taken."""

import base64
import json
from dataclasses import replace

import numpy as np
import pytest
from _helpers.problems import make_problem

from plsdof import inference, pcr_path, pls_path, ridge_path
from plsdof.chemometrics import hotelling_t2, q_residuals
from plsdof.datasets import load_gasoline
from plsdof.errors import ConstantColumnWarning, InvalidInputError, NotAvailableError
from plsdof.files.models import (
    FORMAT,
    checksum,
    detach,
    load_model,
    save_model,
    to_content,
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


def names_of(path):
    return tuple(f"x{i}" for i in range(len(path.units.x_mean)))


def kept(path, tmp_path, **options):
    model = detach(path, path.select("gcv"), names=names_of(path), **options)
    save_model(model, tmp_path / "model.json")
    return load_model(tmp_path / "model.json")


@pytest.fixture
def file(tmp_path):
    X, y = make_problem(20, 5)
    path = pls_path(X, y)
    kept(path, tmp_path, response="fat", source={"file": "fat.csv", "rows": 20})
    return tmp_path / "model.json"


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("method", METHODS)
def test_predictions_and_intervals_are_those_of_the_library(tmp_path, shape, method):
    # Columns of very different units: none may be lost to another one's rounding.
    X, y = make_problem(*SHAPES[shape], seed=1, noise=2.0)
    X = X * 10.0 ** np.linspace(-5, 5, X.shape[1]) if method != "unscaled" else X
    path = METHODS[method](X, y)
    model = kept(path, tmp_path)
    index = path.select("gcv").index
    np.testing.assert_allclose(model.predict(X), path.fitted[index], rtol=1e-12, atol=1e-12)
    new = X[:7] + np.random.default_rng(2).normal(size=X[:7].shape) * X.std(axis=0)
    for kind in ("mean", "observation"):
        for level in (0.5, 0.99):
            ours = model.predict_interval(new, level=level, kind=kind)
            theirs = inference.prediction_interval(path, index, new, level=level, kind=kind)
            for name in ("center", "std_error", "lower", "upper"):
                expected = getattr(theirs, name)
                np.testing.assert_allclose(
                    getattr(ours, name), expected, rtol=1e-9, atol=1e-11 * np.abs(expected).max()
                )


def test_a_model_can_be_kept_without_what_intervals_need(tmp_path):
    path = pls_path(*make_problem(20, 5))
    model = kept(path, tmp_path, intervals=False)
    assert model.factor.shape == (0, 5)
    assert model.check is None
    assert not model.has_intervals
    assert np.isfinite(model.noise_variance)
    np.testing.assert_allclose(
        model.predict(np.eye(5)), path.predict(np.eye(5))[path.select("gcv").index], rtol=1e-12
    )


def test_every_number_survives_the_file(tmp_path):
    X, y = make_problem(20, 5)
    path = pls_path(X, y)
    model = detach(path, path.select(), names=names_of(path), response="µ\x1b[31m", source={"a": 1})
    save_model(model, tmp_path / "model.json")
    again = load_model(tmp_path / "model.json")
    for name, value in vars(model).items():
        if name != "check":
            np.testing.assert_array_equal(getattr(again, name), value)
    for name, value in vars(model.check).items():
        np.testing.assert_array_equal(getattr(again.check, name), value)


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
        selection = replace(path.select(), index=m, parameter=float(m))
        save_model(detach(path, selection, names=names_of(path)), tmp_path / "model.json")
        model = load_model(tmp_path / "model.json")
        for level in (0.5, 0.95):
            for ours, theirs in (
                (model.hotelling_t2(new, level=level), hotelling_t2(path, m, new, level)),
                (model.q_residuals(new, level=level), q_residuals(path, m, new, level)),
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
    path = pls_path(X, y)
    selection = replace(path.select(), index=3, parameter=3.0)
    save_model(detach(path, selection, names=names_of(path)), tmp_path / "model.json")
    q = load_model(tmp_path / "model.json").q_residuals(X + 1)
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
        model = kept(path, tmp_path)
        more = model.q_residuals(new).values - model.q_residuals(X[:3]).values
        np.testing.assert_allclose(more, [expected, 0, 0], atol=1e-12)
        t2 = model.hotelling_t2(new).values
        np.testing.assert_allclose(t2, model.hotelling_t2(X[:3]).values, rtol=1e-12)


@pytest.mark.parametrize("method", ["pcr", "ridge"])
def test_methods_without_scores_have_no_distances(tmp_path, method):
    model = kept(METHODS[method](*make_problem(20, 5)), tmp_path)
    assert model.check is None
    for ask in (model.hotelling_t2, model.q_residuals):
        with pytest.raises(NotAvailableError, match=f"this {method} model was kept without"):
            ask(np.eye(5))


def test_older_files_without_distances_predict(file):
    content = json.loads(file.read_text())
    del content["check"]
    content["sha256"] = checksum(content)
    expected = load_model(file).predict_interval(np.eye(5))
    file.write_text(json.dumps(content))
    model = load_model(file)
    np.testing.assert_array_equal(model.predict_interval(np.eye(5)).upper, expected.upper)
    assert model.check is None


def test_constant_columns_take_no_part(tmp_path):
    X, y = make_problem(20, 5)
    X[:, 2] = 7.0
    with pytest.warns(ConstantColumnWarning):
        path = pls_path(X, y)
    model = kept(path, tmp_path)
    assert model.x_scale[2] == np.inf
    other = X.copy()
    other[:, 2] = -100.0
    np.testing.assert_array_equal(model.predict(other), model.predict(X))
    np.testing.assert_array_equal(
        model.predict_interval(other).lower, model.predict_interval(X).lower
    )


def test_the_factor_of_pcr_has_one_row_per_component():
    X, y = make_problem(15, 60)
    path = pcr_path(X, y, 6)
    selection = path.select("gcv", rule="global-minimum")
    model = detach(path, selection, names=names_of(path))
    assert model.factor.shape == (selection.n_components, 60)


def test_models_without_a_noise_level_predict_without_intervals(tmp_path):
    # A model that interpolates the response.
    X, y = make_problem(8, 20, seed=8)
    path = pls_path(X, y)
    last = len(path.dof) - 1
    selection = replace(path.select(), index=last, parameter=float(last))
    model = detach(path, selection, names=names_of(path))
    assert np.isnan(model.noise_variance)
    save_model(model, tmp_path / "model.json")
    again = load_model(tmp_path / "model.json")
    assert not again.has_intervals
    assert np.isfinite(again.predict(X)).all()
    with pytest.raises(NotAvailableError, match="no intervals"):
        again.predict_interval(X)


def test_rows_of_another_width_are_refused(file):
    with pytest.raises(InvalidInputError, match=r"3 column\(s\), but the model needs 5"):
        load_model(file).predict(np.zeros((2, 3)))


def test_the_file_is_json_and_says_what_it_is(file):
    content = json.loads(file.read_text())
    assert (content["format"], content["version"]) == (FORMAT, 1)
    assert content["names"] == [f"x{i}" for i in range(5)]
    assert content["source"] == {"file": "fat.csv", "rows": 20}


def test_the_documented_recipe_gives_the_prediction_and_its_variance(file):
    # What a reader in another language would do with the file, from its documentation alone.
    import base64

    content = json.loads(file.read_text())
    model = load_model(file)
    x = np.linspace(-1, 1, 5)
    packed = content["factor"]
    G = np.frombuffer(base64.b64decode(packed["values"]), "<f8")
    G = G.reshape(packed["rows"], packed["columns"])
    u = (x - content["x_mean"]) / content["x_scale"]
    prediction = content["intercept"] + np.dot(content["coef"], x)
    variance = content["noise_variance"] * (1 + 1 / content["n"] + np.sum((G @ u) ** 2))
    interval = model.predict_interval(x[None])
    R, L = (
        np.frombuffer(base64.b64decode(one["values"]), "<f8").reshape(one["rows"], one["columns"])
        for one in (content["check"]["rotations"], content["check"]["loadings"])
    )
    t2, q = (content["n"] - 1) * np.sum((R @ u) ** 2), np.sum((u - L.T @ (R @ u)) ** 2)
    np.testing.assert_allclose(model.hotelling_t2(x[None]).values, t2, rtol=1e-12)
    np.testing.assert_allclose(model.q_residuals(x[None]).values, q, rtol=1e-12)
    np.testing.assert_allclose(interval.center, prediction, rtol=1e-12)
    np.testing.assert_allclose(interval.std_error**2, variance, rtol=1e-12)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace('"intercept": ', '"intercept": 1'),
        lambda text: text.replace('"x3"', '"x9"'),
        lambda text: text.replace('"fat"', '"sugar"'),
        lambda text: text.replace('"version": 1,', '"version": 1, "more": 2,'),
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


def test_absent_files_and_folders_are_refused(tmp_path):
    with pytest.raises(InvalidInputError, match="could not be read: No such file"):
        load_model(tmp_path / "absent.json")
    with pytest.raises(InvalidInputError, match="it is a folder"):
        load_model(tmp_path)


@pytest.mark.parametrize(
    ("entry", "value", "reason"),
    [
        ("version", 3, "version 3, this package reads up to 2; upgrade"),
        ("preprocessing", 3, "'preprocessing' .* object"),
        ("preprocessing", {"steps": "snvv"}, "'preprocessing' .* 'snvv' is not a step"),
        ("version", "1", "'version' .* must be"),
        ("names", ["x0", 3], "'names' .* must be"),
        ("names", [], "'names' .* must be"),
        ("coef", [1.0], "'coef' .* list of 5 numbers"),
        ("coef", [1.0, 2.0, 3.0, 4.0, "5"], "'coef' .* finite"),
        ("coef", [1.0, 2.0, 3.0, 4.0, None], "'coef' .* finite"),
        ("x_scale", [1.0, 2.0, 3.0, 4.0, -1.0], "'x_scale' .* positive"),
        ("x_scale", None, "'x_scale' .* list"),
        ("intercept", True, "'intercept' .* finite"),
        ("intercept", 10**400, "'intercept' .* finite"),
        ("n", 0, "'n' .* positive"),
        ("response", 3, "'response' .* text"),
        ("choice", [], "'choice' .* object"),
        ("factor", {"rows": 1, "columns": 5, "values": "AAAA"}, "'factor' .* 5 columns"),
        ("factor", {"rows": 1, "columns": 5, "values": "*"}, "'factor' .* base64"),
        ("factor", 3, "'factor' .* base64"),
        ("x_scale", 3, "'x_scale' .* list of 5"),
        ("check", 3, "'check' .* object"),
        ("check", {}, "'rotations' .* base64"),
        ("check", {"rotations": EMPTY, "loadings": ONE_ROW}, "'loadings' .* 0 rows"),
        ("check", {"rotations": EMPTY, "loadings": EMPTY}, "'residual_variances' .* list"),
        (
            "check",
            {"rotations": EMPTY, "loadings": EMPTY, "residual_variances": [-1.0]},
            "'residual_variances' .* 0 or more",
        ),
    ],
)
def test_wrong_content_is_refused_even_with_a_right_checksum(file, entry, value, reason):
    content = json.loads(file.read_text()) | {entry: value}
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
    del content["coef"], content["df"]
    content["sha256"] = checksum(content)
    file.write_text(json.dumps(content))
    with pytest.raises(InvalidInputError, match="lacks coef, df"):
        load_model(file)


def test_more_degrees_of_freedom_than_rows_still_leave_intervals(tmp_path):
    # Components that the response excites hardly at all.
    X, y = load_gasoline(return_X_y=True)
    path = pls_path(X, y, 30)
    assert path.dof[30] > 60
    selection = replace(path.select(), index=30, parameter=30.0)
    save_model(detach(path, selection, names=names_of(path)), tmp_path / "model.json")
    limits = load_model(tmp_path / "model.json").predict_interval(X)
    expected = inference.prediction_interval(path, 30, X)
    np.testing.assert_allclose(limits.upper, expected.upper, rtol=1e-9)


@pytest.mark.parametrize("method", ["normal", "conformal", "jackknife+"])
def test_a_kept_model_predicts_with_the_intervals_it_was_kept_with(tmp_path, method):
    X, y = make_problem(25, 6, seed=3, noise=2.0)
    path = pls_path(X, y)
    selection = path.select("gcv", "exact")
    save_model(
        detach(path, selection, names=names_of(path), intervals=method), tmp_path / "model.json"
    )
    ours = load_model(tmp_path / "model.json").predict_interval(X + 0.5, level=0.9)
    theirs = inference.prediction_interval(
        path,
        selection.index,
        X + 0.5,
        level=0.9,
        method=method,
        choose=lambda part: part.select("gcv", "exact").index,
    )
    np.testing.assert_allclose(ours.lower, theirs.lower, rtol=1e-9)
    np.testing.assert_allclose(ours.upper, theirs.upper, rtol=1e-9)
    assert ours.assumptions == theirs.assumptions
    # The mean is always covered by the normal distribution.
    mean = load_model(tmp_path / "model.json").predict_interval(X, kind="mean")
    assert mean.critical > 1.9


def test_intervals_that_were_not_kept_say_how_to_get_them(file):
    with pytest.raises(NotAvailableError, match=r"--intervals jackknife\+"):
        load_model(file).predict_interval(np.zeros((1, 5)), method="jackknife+")
    # Those in closed form are always there.
    assert load_model(file).predict_interval(np.zeros((1, 5)), method="conformal").critical > 0


def test_a_damaged_list_of_left_out_fits_is_refused(tmp_path):
    path = pls_path(*make_problem(25, 4, seed=4))
    model = detach(path, path.select(), names=names_of(path), intervals="jackknife+")
    for key, value, reason in (
        ("fold_of", [0.5] * 25, "whole numbers"),
        ("level", [1.0], "matching lengths"),
        ("residuals", "many", "list"),
    ):
        content = to_content(model)
        content["left_out"] = {**content["left_out"], key: value}
        content["sha256"] = checksum(content)
        (tmp_path / "model.json").write_text(json.dumps(content))
        with pytest.raises(InvalidInputError, match=reason):
            load_model(tmp_path / "model.json")


def entries(content, above=()):
    """Where the numbers of a model file are; one of each list."""
    for key, value in content.items() if isinstance(content, dict) else [(0, content[0])]:
        where = (*above, key)
        if key in ("format", "version", "sha256", "source", "choice", "rows", "columns"):
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


@pytest.mark.parametrize("intervals", ["normal", "conformal", "jackknife+"])
def test_numbers_that_lead_out_of_the_range_of_floats_are_refused(tmp_path, intervals):
    """Signed files, too: every number they hold, very large and very small."""
    X, y = make_problem(20, 5)
    path, file = pls_path(X, y), tmp_path / "model.json"
    save_model(detach(path, path.select("gcv"), names=names_of(path), intervals=intervals), file)
    content = json.loads(file.read_text())
    for where in entries(content):
        for number in (1e300, -1e300, 1e200, 1e-200, 1e-320):
            file.write_text(json.dumps(with_number(content, where, number)))
            try:
                model = load_model(file)
                answers = [model.predict(X), model.predict_interval(X).lower]
                answers += [one.values for one in (model.hotelling_t2(X), model.q_residuals(X))]
            except InvalidInputError:
                continue
            assert np.all(np.isfinite(answers)), (where, number)
            assert abs(number) < 1, (where, number)
