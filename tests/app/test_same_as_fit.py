"""What the page shows is what `plsdof fit` gives with the command, and Python with the lines."""

import json

import numpy as np
import pandas as pd
import pytest
from _helpers.command_line import GASOLINE, OZONE, run, run_json

from plsdof.errors import InvalidInputError
from plsdof.models.writing import plain
from plsdof.workbench.analysis.classes import ClassAnalysis
from plsdof.workbench.analysis.result import in_number, in_text
from plsdof.workbench.analysis.tables import merit_table, result_of
from plsdof.workbench.app.session import Session, arguments
from plsdof.workbench.cli.browser import CommandLine

EXCLUDE = {"do": "exclude", "rows": [5, 6, 7, 40], "why": "typing error"}


def sets(**options):
    return {"do": "set", "options": options}


def steps(*chain):
    return {"do": "prepare", "chain": [list(one) for one in chain]}


RECIPES = {
    "as usual": [],
    "folds": [sets(cv="10")],
    "random folds": [sets(cv=7, seed=3)],
    "one by one": [sets(cv="loo", max_components=8)],
    "snv": [steps(("snv", True))],
    "derivative": [steps(("savgol:11:2:1", True), ("snv", True))],
    "switched off": [steps(("msc", True), ("detrend", False))],
    "learned": [steps(("msc", True)), sets(cv="5")],
    "range": [sets(features=["1100:1300", "1500:1600"])],
    "left out": [sets(exclude=["1600:1700"])],
    "excluded": [EXCLUDE],
    "excluded and back": [EXCLUDE, {"do": "include", "rows": [6]}],
    "undone": [EXCLUDE, {"do": "undo"}],
    "test rows": [sets(split="random:0.3")],
    "test by number": [sets(test_rows=["50:60"])],
    "bic": [sets(criterion="bic", rule="first-minimum", max_components=10)],
    "average": [sets(criterion="average")],
    "given": [sets(components=3, level=0.9)],
    "scaled": [sets(scale=True)],
    "ridge": [sets(method="ridge")],
    "pcr": [sets(method="pcr", cv="10")],
    "auto": [steps(("auto", True))],
    "hc3": [sets(covariance="hc3", intervals="normal")],
}


def command(desk):
    """Return the words of the command line that asks for the same."""
    return desk.session.tools.command(arguments(desk.options))


def python(desk):
    """Return the lines of Python that do the same."""
    return desk.session.tools.python(arguments(desk.options))


def same_in_python(desk):
    """Compare the coefficients at hand with what lines of Python give."""
    names = {}
    exec(python(desk), names)
    analysis = desk.worker.bench.analysis(desk.session.state.options)
    # Coefficients of one model and of all at once differ by rounding.
    close = {"rtol": 1e-10, "atol": 1e-12 * np.abs(analysis.model.coef).max()}
    np.testing.assert_allclose(names["found"].analysis.model.coef, analysis.model.coef, **close)
    return names["found"].analysis


def same(desk, command):
    """Compare the analysis at hand with what the command line gives in the same folder."""
    mine = plain(result_of(desk.worker.bench.analysis(desk.session.state.options)).to_dict())
    return assert_same(mine, command)


def assert_same(mine, command):
    """Compare content with what the command line prints; return this."""
    found = run_json(*command[1:])
    for one in (mine, found):
        one["recipe"].pop("made", None)
        one.pop("created", None)
    assert json.loads(json.dumps(mine)) == {name: found[name] for name in mine}
    return found


@pytest.mark.parametrize("events", RECIPES.values(), ids=RECIPES)
def test_the_page_shows_what_the_command_gives(desk, events):
    desk.add({"gasoline.csv": GASOLINE.read_bytes()}, "", "table")
    for event in events:
        desk.session.apply(event)
    found = same(desk, command(desk))
    shown = desk.view(None)["content"]
    for name in ("dof", "explained", "sigma", "rmsecv"):
        if name in found["models"][0]:
            values = [in_number(np.nan if v[name] is None else v[name]) for v in found["models"]]
            assert shown["models"][name][: len(values)] == values
    index = shown["chosen"]
    assert shown["models"]["dof"][index] == in_number(found["choice"]["dof"])
    summary = {one["key"]: one for one in desk.state()["trials"]}[desk.state()["trial"]]["summary"]
    rmse = {kind: merit["rmse"] for kind, merit in found["merit"].items()}
    assert summary["errors"] == rmse


@pytest.mark.parametrize("events", RECIPES.values(), ids=RECIPES)
def test_the_lines_of_python_give_the_same_coefficients(desk, events, capsys):
    desk.add({"gasoline.csv": GASOLINE.read_bytes()}, "", "table")
    for event in events:
        desk.session.apply(event)
    assert same_in_python(desk).choice in capsys.readouterr().out


KINDS = {
    "classes": [sets(response=["kind"], missing="drop")],
    "classes by folds": [sets(response=["kind"], cv="5", components=2, missing="drop")],
    "classes of prepared rows": [
        sets(response=["kind"], missing="drop"),
        steps(("snv", True)),
        EXCLUDE,
    ],
    "a response with holes": [sets(response=["fat"], missing="drop")],
    "holes filled": [sets(response=["ash"], missing="impute", max_components=6)],
    "names and a range": [sets(response=["ash"], features=["1100:1110", "ratio"], missing="drop")],
    "groups": [sets(response=["ash"], groups="batch", missing="drop")],
}


@pytest.mark.parametrize("events", KINDS.values(), ids=KINDS)
def test_classes_holes_and_groups_are_those_of_the_command_line(desk, events):
    rng = np.random.default_rng(3)
    kinds, X = np.repeat(["corn", "rye", "oat"], 16), rng.normal(size=(48, 9))
    frame = pd.DataFrame(X, columns=[str(1100 + 2 * j) for j in range(9)]).round(3)
    frame += 2.0 * np.repeat(np.eye(9)[:3], 16, axis=0)
    frame = frame.assign(
        ratio=X[:, 0].round(2), kind=kinds, batch=[f"b{i // 4}" for i in range(48)]
    )
    frame["fat"] = (X[:, 1] - X[:, 4] + 0.1 * rng.normal(size=48)).round(3)
    frame["ash"] = (X[:, 2] + 0.1 * rng.normal(size=48)).round(3)
    frame.loc[[3, 9], "fat"] = np.nan
    frame.loc[[11], "1104"] = np.nan if events[0]["options"]["response"] == ["ash"] else 0.0
    desk.add({"kinds.csv": frame.to_csv(index=False).encode()}, "", "table")
    for event in events:
        desk.session.apply(event)
    analysis = desk.worker.bench.analysis(desk.options)
    found = analysis.result if isinstance(analysis, ClassAnalysis) else result_of(analysis)
    printed = assert_same(plain(found.to_dict()), command(desk))
    shown = desk.view(None)
    said = dict(shown["answer"]["facts"])
    if isinstance(analysis, ClassAnalysis):
        assert shown["classes"]["matrix"] == np.asarray(analysis.errors["left-out"].matrix).tolist()
        assert said["misclassified"].startswith(
            in_text(100 * printed["error"]["left-out"], 5.0)[:1]
        )
    else:
        merit = merit_table(analysis.merit).columns["rmse"].texts()
        trial = next(one for one in desk.state()["trials"] if one["key"] == shown["trial"])
        assert list(trial["summary"]["shown"].values()) == merit


def test_every_step_of_a_session_replayed_by_the_command_line_gives_the_same(desk):
    desk.add({"gasoline.csv": GASOLINE.read_bytes()}, "", "table")
    events = [
        sets(cv="5"),
        steps(("snv", True)),
        EXCLUDE,
        sets(features=["1100:1500"]),
        {"do": "include", "rows": [40]},
        steps(("savgol:11:2:1", True), ("snv", False)),
    ]
    for event in events:
        desk.session.apply(event)
    desk.session.close()
    # What a new session reads from the journal alone.
    replayed = Session(desk.session.folder, CommandLine())
    replayed.close()
    fitted = [one.options for one in replayed.state.steps if one.options.get("response")]
    assert len(fitted) == len(events) + 1
    for options in fitted:
        mine = plain(result_of(desk.worker.bench.analysis(options)).to_dict())
        assert_same(mine, CommandLine().command(arguments(options)))


def test_a_table_of_many_kinds_of_columns_is_fitted_alike(desk):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(40, 6)), columns=["a", "b", "-c", "d e", "y", "z"])
    frame["Sample"] = [f"s{i // 2}" for i in range(40)]
    frame.loc[3, "a"] = np.nan
    desk.add({"messy table.csv": frame.to_csv(index=False).encode()}, "", "table")
    desk.session.apply(sets(response=["y"], groups="Sample", missing="drop", cv="5"))
    desk.session.apply(sets(exclude=["-c"], test_rows=["Sample=s3,s4"]))
    same(desk, command(desk))
    names = {}
    exec(python(desk), names)
    analysis = desk.worker.bench.analysis(desk.session.state.options)
    np.testing.assert_array_equal(names["found"].analysis.model.coef, analysis.model.coef)
    desk.session.apply(sets(features=["-c", "a"], exclude=None))
    same(desk, command(desk))


def test_python_joins_tables_and_leaves_columns_out_too(desk):
    desk.add({"ozone.csv": OZONE.read_bytes()}, "", "table")
    desk.session.apply(sets(response=["V4"], missing="drop", exclude=["V6"]))
    same_in_python(desk)
    rows = ["no,a,b"] + [f"c-{i},{i * i % 5},{i % 3}" for i in range(9)]
    lab = ["Sample,fat"] + [f"c{i if i < 2 else f'-{i}'},{i}" for i in range(9)]
    desk.add({"x.csv": "\n".join(rows).encode()}, "", "table")
    desk.add({"lab.csv": "\n".join(lab).encode()}, "", "response_file")
    desk.session.apply(sets(response=["fat"], ids_alike=True))
    same(desk, command(desk))
    same_in_python(desk)


def test_a_fit_needs_a_response(desk):
    desk.add({"ozone.csv": OZONE.read_bytes()}, "", "table")
    with pytest.raises(InvalidInputError):
        desk.view(None)


def test_tables_are_read_once(desk):
    desk.add({"gasoline.csv": GASOLINE.read_bytes()}, "", "table")
    tools, options = CommandLine(), desk.session.state.options
    assert tools.table(options) is tools.table(options)


def test_the_command_is_there_and_refuses_what_it_cannot_serve(tmp_path):
    assert "browser" in run("app", "--help").stdout
    run("app", "--port", "0", code=2)
    run("app", tmp_path / "nothing.csv", code=2)
