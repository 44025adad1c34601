"""plsdof check, adjust and transfer: the life of a calibration on the command line."""

import json
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from _helpers.command_line import eighty_columns, environment, refused, run, run_json, said  # noqa: F401

from plsdof import PLSRegressor, load_model, workbench
from plsdof.chemometrics import check_calibration, fit_transfer
from plsdof.chemometrics.checks import correction
from plsdof.datasets import make_spectra
from plsdof.workbench.analysis import Request
from plsdof.workbench.tables.writing import append_table


def table(file, X, y=None, names=None):
    """Write spectra, with a name for every sample and reference values."""
    frame = pd.DataFrame(X, columns=[f"{1100 + 20 * j}" for j in range(X.shape[1])])
    frame.insert(0, "sample", names or [f"s{i:03d}" for i in range(len(X))])
    if y is not None:
        frame.insert(1, "fat", y)
    frame.to_csv(file, index=False)
    return file


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a model, control samples, and a second instrument."""
    folder = tmp_path_factory.mktemp("life")
    made = make_spectra(140, 40, random_state=6)
    X, y = made.data, made.target
    table(folder / "cal.csv", X[:80], y[:80])
    table(folder / "good.csv", X[80:100], y[80:100])
    table(folder / "shifted.csv", X[80:100], y[80:100] - 0.4)
    table(folder / "plain.csv", X[80:100])
    table(folder / "second.csv", 1.03 * X[80:120] + 0.05)
    table(folder / "first.csv", X[80:120], y[80:120])
    run("fit", folder / "cal.csv", "-r", "fat", "--model", folder / "m.json", "-q")
    return folder


# Check
# -----


def test_check_gives_the_numbers_of_the_library(folder):
    found = run_json("check", folder / "m.json", folder / "good.csv")
    frame = pd.read_csv(folder / "good.csv")
    X, y = frame.iloc[:, 2:].to_numpy(), frame["fat"]
    expected = check_calibration(load_model(folder / "m.json"), X, y)
    for name in ("n", "bias", "bias_limit", "sep", "sep_limit", "rmsep", "slope_t", "covered"):
        assert found[name] == pytest.approx(getattr(expected, name), rel=1e-9), name
    assert found["passed"] is True
    cal = pd.read_csv(folder / "cal.csv")
    fitted = PLSRegressor().fit(cal.iloc[:, 2:].to_numpy(), cal["fat"])
    with_data = check_calibration(fitted, X, y)
    assert found["sep_limit"] == pytest.approx(with_data.sep_limit, rel=1e-6)
    assert found["sep_limit_standard"] == pytest.approx(with_data.sep_limit_standard, rel=1e-6)


def test_a_crossed_limit_is_exit_code_3(folder, tmp_path):
    page = tmp_path / "check.html"
    arguments = ("check", folder / "m.json", folder / "shifted.csv", "--report", page)
    result = run(*arguments, code=3)
    assert "Bias significant" in " ".join(result.stdout.split())
    text = page.read_text(encoding="utf-8")
    assert "Alarm: bias" in text
    assert "Bias significant" in text
    assert run(*arguments, "-q", code=3).stdout == ""


def test_a_log_continues_the_charts(folder, tmp_path):
    log = tmp_path / "log.csv"
    arguments = (folder / "m.json", folder / "shifted.csv", "--log", log)
    first = json.loads(run("check", *arguments, "--json", code=3).stdout)
    second = json.loads(run("check", *arguments, "--json", code=3).stdout)
    assert len(first["chart"]["errors"]) == 20
    assert len(second["chart"]["errors"]) == 40
    assert second["chart"]["errors"][:20] == pytest.approx(first["chart"]["errors"], rel=1e-12)
    assert any("already" in note for note in second["notes"])
    lines = pd.read_csv(log)
    assert len(lines) == 40
    assert lines["id"][0] == "s000"
    assert sum(one["rows"] for one in second["checks"]) == 40
    assert (lines["error"] - (lines["predicted"] - lines["reference"])).abs().max() < 1e-12
    # Another model does not continue the chart of this one.
    run("adjust", folder / "m.json", folder / "shifted.csv", "--bias", "--reason", "lamp", "-o",
        tmp_path / "new.json")  # fmt: skip
    other = run_json("check", tmp_path / "new.json", folder / "shifted.csv", "--log", log)
    assert len(other["chart"]["errors"]) == 20
    assert any("40 lines" in note for note in other["notes"])


def test_replicates_of_control_samples_count_as_one(folder, tmp_path):
    frame = pd.read_csv(folder / "good.csv")
    noisy = pd.concat([frame, frame, frame], ignore_index=True)
    noisy.to_csv(tmp_path / "thrice.csv", index=False)
    once = run_json("check", folder / "m.json", folder / "good.csv")
    how = ("check", folder / "m.json", tmp_path / "thrice.csv", "--average-by", "sample")
    thrice = run_json(*how)
    for name in ("n", "bias", "bias_limit", "sep", "sep_limit", "slope_t", "covered", "unlike"):
        assert thrice[name] == pytest.approx(once[name], rel=1e-9), name
    predicted = [[row["predicted"] for row in one["rows"]] for one in (thrice, once)]
    assert predicted[0] == pytest.approx(predicted[1], rel=1e-9)


def test_check_without_reference_values(folder, tmp_path):
    page, log = tmp_path / "c.html", tmp_path / "log.csv"
    found = run_json(
        "check", folder / "m.json", folder / "plain.csv", "--report", page, "--log", log
    )
    assert found["n"] == 0
    assert found["bias"] is None
    assert [one["name"] for one in found["verdicts"]] == ["unlike"]
    assert "chart-distance" in page.read_text(encoding="utf-8")
    assert found["checks"][0]["unlike"] <= 0.15
    assert found["written"] == {"log": str(log), "report": str(page)}


def test_rows_of_another_unit_are_all_unlike(folder, tmp_path):
    frame = pd.read_csv(folder / "plain.csv")
    frame.iloc[:, 1:] *= 100
    frame.to_csv(tmp_path / "percent.csv", index=False)
    result = run("check", folder / "m.json", tmp_path / "percent.csv", code=3)
    assert "wavelength axis" in " ".join(result.stdout.split())
    assert "wavelength axis" in " ".join(
        run("predict", folder / "m.json", tmp_path / "percent.csv").stdout.split()
    )


def test_bad_input_writes_nothing(folder, tmp_path):
    before = sorted(one.name for one in folder.iterdir())
    model, good = folder / "m.json", folder / "good.csv"
    new = tmp_path / "new.json"
    other = tmp_path / "other.csv"
    other.write_text("a,b\n1,2\n")
    for arguments in (
        ("check", model, good, "--log", tmp_path / "log.txt"),
        ("check", model, good, "--log", good),
        ("check", model, good, "--report", tmp_path / "none" / "c.html"),
        ("check", model, good, "--level", "95"),
        ("check", model, good, "--log", other, "--report", tmp_path / "c.html"),
        ("check", good, model),
        ("adjust", model, good, "-o", new),
        ("adjust", model, good, "--bias", "--slope", "-o", new),
        ("adjust", model, good, "--bias", "-o", new),
        ("adjust", model, good, "--slope", "--reason", "x", "-o", new),
        ("adjust", model, folder / "plain.csv", "--bias", "--reason", "x", "-o", new),
        ("adjust", model, good, "--undo", "-o", new),
        ("adjust", model, "--undo", "-o", new),
        ("adjust", model, "--bias", "--reason", "x", "-o", new),
        ("adjust", model, good, "--bias", "--reason", "x", "-o", model),
        ("transfer", model, "--primary", good, "--secondary", good, "--method", "osc", "-o", new),
        ("transfer", model, "--primary", good, "--secondary", other, "-o", new),
        ("transfer", model, "--primary", good, "--secondary", other, "--interpolate", "-o", new),
        ("transfer", model, "--primary", good, "--secondary", folder / "cal.csv", "-o",
         tmp_path / "new.txt"),
    ):  # fmt: skip
        refused(*arguments)
        assert sorted(one.name for one in folder.iterdir()) == before, arguments
        assert {one.name for one in tmp_path.iterdir()} <= {"other.csv", ".other.csv.lock"}, (
            arguments
        )
    assert other.read_text() == "a,b\n1,2\n"


# The log and other processes
# ---------------------------

APPEND = """
import sys
from plsdof.workbench.tables.writing import append_table
for i in range(int(sys.argv[2])):
    append_table({"who": [sys.argv[3]], "i": [i]}, sys.argv[1])
"""


def append(file, count, name):
    return subprocess.Popen(
        [sys.executable, "-c", APPEND, str(file), str(count), name], env=environment()
    )


def test_processes_that_append_at_once_lose_no_line(tmp_path):
    log = tmp_path / "log.csv"
    working = [append(log, 15, name) for name in "abc"]
    assert [one.wait(120) for one in working] == [0, 0, 0]
    lines = pd.read_csv(log)
    assert sorted(zip(lines["who"], lines["i"], strict=True)) == [
        (who, i) for who in "abc" for i in range(15)
    ]


def test_a_killed_process_leaves_a_whole_log(tmp_path):
    log = tmp_path / "log.csv"
    append_table({"who": ["first"], "i": [0]}, log)
    working = append(log, 100_000, "killed")
    end = time.monotonic() + 60
    while log.read_text().count("\n") < 5 and time.monotonic() < end:
        time.sleep(0.01)
    working.send_signal(signal.SIGKILL)
    working.wait()
    text = log.read_text()
    assert text.endswith("\n")
    assert text.splitlines()[:2] == ["who,i", "first,0"]
    assert [one.split(",")[1] for one in text.splitlines()[2:]] == [
        str(i) for i in range(text.count("\n") - 2)
    ]
    # The lock died with it.
    append_table({"who": ["last"], "i": [1]}, log)
    assert log.read_text() == text + "last,1\n"


# Adjust
# ------


def test_adjusting_the_bias(folder, tmp_path):
    new = tmp_path / "new.json"
    arguments = ("adjust", folder / "m.json", folder / "shifted.csv", "--bias")
    found = run_json(*arguments, "--reason", "new  lamp", "-o", new)
    old, model = load_model(folder / "m.json"), load_model(new)
    X = pd.read_csv(folder / "shifted.csv").iloc[:, 2:].to_numpy()
    y = pd.read_csv(folder / "shifted.csv")["fat"].to_numpy()
    shift = np.mean(y - old.predict(X))
    assert np.allclose(model.predict(X), old.predict(X) + shift, rtol=0, atol=1e-12)
    assert np.allclose(model.predict_interval(X), old.predict_interval(X) + shift, atol=1e-9)
    assert (found["kind"], found["rows"], found["parent"]) == ("bias", 20, old.sha256)
    assert found["after"] < found["before"]
    (kept,) = model.responses[0].adjustments
    assert (kept.reason, kept.rows, kept.parent) == ("new lamp", 20, old.sha256)
    assert "new lamp" in " ".join(run("predict", new, folder / "plain.csv").stdout.split())
    assert "new lamp" in str(run_json("predict", new, folder / "plain.csv")["history"])
    run("check", new, folder / "shifted.csv")
    # Undone, it predicts as before.
    undone = tmp_path / "undone.json"
    run("adjust", new, "--undo", "-o", undone)
    assert np.array_equal(load_model(undone).predict(X), old.predict(X))
    assert "No adjustment" not in run("adjust", new, "--undo", "-o", undone, "-q").stdout


def test_adjusting_the_slope(folder, tmp_path):
    frame = pd.read_csv(folder / "good.csv")
    model, new = load_model(folder / "m.json"), tmp_path / "new.json"
    refused("adjust", folder / "m.json", folder / "good.csv", "--slope", "--reason", "x", "-o", new)
    said = run(
        *("adjust", folder / "m.json", folder / "good.csv", "--slope", "--force"),
        *("--reason", "to see", "-o", new),
    ).stdout
    assert "not significant" in " ".join(said.split())
    assert "(not significant)" in load_model(new).responses[0].adjustments[0].reason
    frame["fat"] = 3.0 + 0.8 * frame["fat"]
    frame.to_csv(tmp_path / "slope.csv", index=False)
    run("adjust", folder / "m.json", tmp_path / "slope.csv", "--slope", "--reason", "x", "-o", new)
    X = frame.iloc[:, 2:].to_numpy()
    b, a = np.polyfit(model.predict(X), frame["fat"], 1)
    assert np.allclose(load_model(new).predict(X), a + b * model.predict(X), rtol=1e-10)


def test_estimators_are_adjusted(folder):
    frame = pd.read_csv(folder / "cal.csv")
    X, y = frame.iloc[:, 2:].to_numpy(), frame["fat"].to_numpy()
    model = PLSRegressor(3).fit(X, y)
    found = model.adjusted(X[:10], y[:10] + 1.0, reason="test")
    error = np.mean(found.predict(X[:10]) - y[:10])
    assert error == pytest.approx(1.0, abs=1e-12)
    with pytest.raises(ValueError, match="reason"):
        model.adjusted(X[:10], y[:10], reason=" ")


# Transfer
# --------


@pytest.mark.parametrize("method", ["auto", "bias", "ds"])
def test_transfer(folder, tmp_path, method):
    new = tmp_path / "new.json"
    arguments = (folder / "m.json", "--primary", folder / "first.csv", "--secondary")
    found = run_json("transfer", *arguments, folder / "second.csv", "--method", method, "-o", new)
    old, model = load_model(folder / "m.json"), load_model(new)
    A = pd.read_csv(folder / "first.csv")
    B = pd.read_csv(folder / "second.csv").iloc[:, 1:].to_numpy()
    expected = fit_transfer(old.predict, A.iloc[:, 2:].to_numpy(), B, method, y=A["fat"])
    assert found["errors"] == pytest.approx(expected.errors, rel=1e-6)
    assert found["rmsep"] == pytest.approx(expected.rmsep, rel=1e-6)
    assert np.allclose(model.predict(B), old.predict(expected.step.apply(B)), rtol=1e-9)
    assert (found["pairs"], model.parent) == (40, old.sha256)
    shown = " ".join(run("predict", new, folder / "second.csv").stdout.split())
    assert "transferred" in shown
    refused("transfer", new, *arguments[1:], folder / "second.csv", "-o", tmp_path / "x.json")


def test_pairs_are_found_by_name(folder, tmp_path):
    frame = pd.read_csv(folder / "second.csv").sample(frac=1, random_state=0)
    frame.iloc[:30].to_csv(tmp_path / "some.csv", index=False)
    arguments = ("transfer", folder / "m.json", "--primary", folder / "first.csv", "--secondary")
    end = ("--method", "bias", "-o", tmp_path / "new.json")
    assert run_json(*arguments, tmp_path / "some.csv", *end)["pairs"] == 30
    frame["sample"] = [f"other{i}" for i in range(40)]
    frame.to_csv(tmp_path / "others.csv", index=False)
    refused(*arguments, tmp_path / "others.csv", *end)
    frame["sample"] = "same"
    frame.to_csv(tmp_path / "others.csv", index=False)
    refused(*arguments, tmp_path / "others.csv", *end, "--id", "sample")
    frame.iloc[3, 4] = np.nan
    frame.to_csv(tmp_path / "others.csv", index=False)
    refused(*arguments, tmp_path / "others.csv", *end, "--id", "sample")


def test_another_wavelength_axis_is_interpolated(folder, tmp_path):
    frame = pd.read_csv(folder / "second.csv")
    values, axis = frame.iloc[:, 1:].to_numpy(), np.arange(1100.0, 1900.0, 20.0)
    finer = np.arange(1100.0, 1881.0, 10.0)
    made = np.array([np.interp(finer, axis, row) for row in values])
    other = pd.DataFrame(made, columns=[f"{one:g}" for one in finer])
    other.insert(0, "sample", frame["sample"])
    other.drop(columns="1200").to_csv(tmp_path / "fine.csv", index=False)
    new = tmp_path / "new.json"
    arguments = (folder / "m.json", "--primary", folder / "first.csv", "--secondary")
    end = (tmp_path / "fine.csv", "--method", "bias", "-o", new)
    assert "--interpolate" in refused("transfer", *arguments, *end)
    found = run_json("transfer", *arguments, *end, "--interpolate")
    assert found["errors"]["bias"] < found["errors"]["none"]
    model = load_model(new)
    assert model.columns == tuple(f"{one:g}" for one in finer if one != 1200)
    predicted = run_json("predict", new, tmp_path / "fine.csv")["predictions"]
    first = pd.read_csv(folder / "first.csv").iloc[:, 2:].to_numpy()
    target = load_model(folder / "m.json").predict(first)
    off = np.array([one["prediction"] for one in predicted]) - target
    assert np.sqrt(np.mean(off**2)) < 1.2 * found["errors"]["bias"]


def test_a_step_that_is_not_needed_is_said(folder, tmp_path):
    found = run_json(
        *("transfer", folder / "m.json", "--primary", folder / "first.csv"),
        *("--secondary", folder / "first.csv", "--method", "bias", "-o", tmp_path / "new.json"),
    )
    assert any("none is needed" in note for note in found["notes"])


# Several constituents, and doubtful references, in predict
# ---------------------------------------------------------


@pytest.fixture(scope="module")
def several(tmp_path_factory):
    folder = tmp_path_factory.mktemp("several")
    made = make_spectra(90, 40, random_state=5)
    cal = pd.read_csv(table(folder / "cal.csv", made.data[:60], made.constituents[:60, 0]))
    cal.insert(2, "water", made.constituents[:60, 3])
    cal.to_csv(folder / "cal.csv", index=False)
    for name in ("fat", "water"):
        other = "water" if name == "fat" else "fat"
        run("fit", folder / "cal.csv", "-r", name, "-x", other, "--model", folder / f"{name}.json",
            "-q")  # fmt: skip
    X = made.data[60:].copy()
    X[3] *= 1.5
    table(folder / "new.csv", X, made.constituents[60:, 0])
    return folder


def test_several_models_give_one_row_per_sample(several, tmp_path):
    models = (several / "fat.json", several / "water.json")
    out = tmp_path / "p.csv"
    shown = run("predict", *models, several / "new.csv", "--out", out).stdout
    found = pd.read_csv(out)
    assert len(found) == 30
    for name in ("fat", "water"):
        alone = pd.DataFrame(
            run_json("predict", several / f"{name}.json", several / "new.csv")["predictions"]
        )
        for column in ("prediction", "lower", "upper", "t2", "t2_limit", "q", "q_limit"):
            assert np.allclose(found[f"{name} {column}"], alone[column], rtol=1e-12), column
        assert found[f"{name} status"].tolist() == alone["status"].tolist()
    assert found["fat status"][3] == "reject"
    assert "99.9%" in found["fat reason"][3]
    assert "fat reject" in shown
    assert "Accuracy of fat" in shown
    content = run_json("predict", *models, several / "new.csv")
    assert [one["response"] for one in content["responses"]] == ["fat", "water"]
    # The same response twice is told apart by the files.
    run("predict", several / "fat.json", several / "fat.json", several / "new.csv", "--out",
        tmp_path / "q.xlsx")  # fmt: skip
    columns = pd.read_excel(tmp_path / "q.xlsx", engine="openpyxl").columns
    assert {"fat prediction", "fat 2 prediction"} <= set(columns)


def test_status_follows_the_limits(several):
    found = run_json("predict", several / "fat.json", several / "new.csv")
    rows = pd.DataFrame(found["predictions"])
    beyond = (rows["t2"] > rows["t2_limit"]) | (rows["q"] > rows["q_limit"])
    assert ((rows["status"] != "ok") == beyond).all()
    assert (rows["t2_limit"] == found["limits"]["t2"]).all()
    assert (rows["reason"] == "").tolist() == (rows["status"] == "ok").tolist()


def test_a_row_without_prediction_is_rejected(several, tmp_path):
    frame = pd.read_csv(several / "new.csv")
    frame.iloc[0, 5] = np.nan
    frame.to_csv(tmp_path / "holes.csv", index=False)
    found = run_json("predict", several / "fat.json", tmp_path / "holes.csv", "--missing", "drop")
    assert found["predictions"][0]["status"] == "reject"
    assert found["predictions"][0]["reason"] == "no prediction"


@pytest.mark.parametrize(("factor", "kind"), [(10, "unit"), (0.01, "unit"), (-1, "constituent")])
def test_doubtful_references_are_said(several, tmp_path, factor, kind):
    frame = pd.read_csv(several / "new.csv").drop(index=3)
    frame["fat"] = frame["fat"] * factor if factor > 0 else 40 - frame["fat"]
    frame.to_csv(tmp_path / "wrong.csv", index=False)
    found = run_json("predict", several / "fat.json", tmp_path / "wrong.csv")
    assert sum(kind in note for note in found["notes"]) == 1


# Update
# ------


def test_an_update_says_what_changed(folder, tmp_path):
    new = tmp_path / "new.json"
    page = tmp_path / "r.html"
    arguments = ("fit", folder / "cal.csv", folder / "first.csv", "-r", "fat")
    end = ("--parent", folder / "m.json", "--model", new, "--report", page)
    found = run_json(*arguments, *end)
    assert found["n"] == 120
    parent, model = load_model(folder / "m.json"), load_model(new)
    assert model.parent == parent.sha256
    texts = [one for one in found["notes"] if "by the parent" in one or "Update of" in one]
    assert len(texts) == 4
    assert "80 rows of the first table, 40 new rows" in texts[0]
    frame = pd.read_csv(folder / "first.csv")
    error = frame["fat"].to_numpy() - parent.predict(frame.iloc[:, 2:].to_numpy())
    assert f"{np.sqrt(np.mean(error**2)):.4g}" in texts[2]
    # Rows of the parent are held out of it, too.
    assert f"{parent.calibration_errors.rmsecv:.4g} by the parent, held out of it" in texts[1]
    assert "by the parent" in page.read_text(encoding="utf-8")
    # The rows are those of both tables.
    both = pd.concat([pd.read_csv(folder / "cal.csv"), frame])
    fitted = PLSRegressor().fit(both.iloc[:, 2:].to_numpy(), both["fat"])
    X = frame.iloc[:, 2:].to_numpy()
    assert np.allclose(model.predict(X), fitted.predict(X), rtol=1e-6)


def test_a_changed_recipe_is_said(folder):
    found = run_json(
        *("fit", folder / "cal.csv", folder / "first.csv", "-r", "fat", "--scale"),
        *("--parent", folder / "m.json"),
    )
    assert any("recipe changed" in one and "scal" in one for one in found["notes"])
    other = run_json(
        *("fit", folder / "cal.csv", "-r", "fat", "-f", "1100:1500"),
        *("--parent", folder / "m.json"),
    )
    assert any("not compared" in one for one in other["notes"])


def test_the_rows_of_the_parent_are_known_by_their_checksum(folder, tmp_path):
    cal, new, end = folder / "cal.csv", folder / "first.csv", ("-r", "fat", "--parent")
    refused("fit", new, cal, *end, folder / "m.json")
    # Those of a model of two tables are in both.
    run("fit", cal, new, "-r", "fat", "--model", tmp_path / "both.json", "-q")
    third = tmp_path / "third.csv"
    third.write_bytes((folder / "good.csv").read_bytes())
    found = run_json("fit", cal, new, third, *end, tmp_path / "both.json")
    assert any("120 rows of the first table, 20 new rows" in one for one in found["notes"])
    # A table that was changed is not the same.
    changed = tmp_path / "changed.csv"
    changed.write_text("".join(cal.read_text().splitlines(keepends=True)[:-1]))
    found = run_json("fit", changed, *end, folder / "m.json")
    assert any("SHA-256 differ" in one for one in found["notes"])
    refused("fit", changed, new, *end, folder / "m.json")


def test_bad_updates_are_refused(folder, tmp_path):
    cal, other = folder / "cal.csv", tmp_path / "other.csv"
    other.write_text("sample,fat,1\na,1,2\nb,2,3\n")
    refused("fit", cal, other, "-r", "fat")
    refused("fit", cal, "-r", "1100", "--parent", folder / "m.json")
    refused("fit", cal, "-r", "fat", "--parent", folder / "m.json", "--streamed")
    refused("fit", cal, "-r", "fat", "--parent", folder / "none.json")


@pytest.mark.parametrize("change", ["bias", "season"])
def test_an_update_is_compared_with_adjusting(change):
    """A constant shift is best mended by a bias; another relation needs the new rows."""
    made = make_spectra(140, 40, random_state=6)
    X, y, new = made.data.copy(), made.target.copy(), slice(80, 130)
    if change == "bias":
        y[new] += 1.0
    else:  # a constituent that the calibration has not seen
        amount = np.random.default_rng(0).normal(size=50)
        X[new] += 0.2 * np.outer(amount, np.exp(-(((np.arange(40) - 12) / 4) ** 2)))
    parent = workbench.fit(frame_of(X[:80], y[:80]), Request(response="fat"))
    whole = frame_of(X[:130], y[:130])
    found = workbench.update(parent.predictor, whole, Request(response="fat"), first=80)
    remark = found.analysis.remark("update-or-adjust")
    predicted = parent.predictor.predict(X[new])
    bias = correction(y[new], predicted).after
    update = np.sqrt(np.mean(found.analysis.model.left_out_residuals[80:] ** 2))
    for error in (bias, update, np.sqrt(np.mean((predicted - y[new]) ** 2))):
        assert f"{error:.4g}"[:5] in remark.words
    assert (bias < update) == (change == "bias")
    assert remark.mend == ({"kind": "bias"} if change == "bias" else {})


@pytest.mark.parametrize("shift", [0.0, 1.0])
def test_the_advice_is_printed_whichever_way_is_best(folder, tmp_path, shift):
    new = pd.read_csv(folder / "first.csv")
    new["fat"] += shift * new["fat"].std()
    new.to_csv(tmp_path / "new.csv", index=False)
    arguments = ("fit", folder / "cal.csv", tmp_path / "new.csv", "-r", "fat")
    text = said(*arguments, "--parent", folder / "m.json")
    assert "Root mean squared error of the new rows" in text
    assert ("Adjust the bias" in text) == (shift > 0)


def frame_of(X, y):
    return pd.DataFrame(X, columns=[f"{1100 + 20 * j}" for j in range(X.shape[1])]).assign(fat=y)
