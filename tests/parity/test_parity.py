"""The same requests through every door: every number and every remark is compared."""

import pandas as pd
import pytest
from _helpers.doors import House, said
from _helpers.requests import REQUESTS, write_tables

from plsdof import PLSRegressor, workbench
from plsdof.workbench.analysis import Request

DOORS = {
    "fit": ("python", "terminal", "workbook", "report", "app"),
    "predict": ("python", "terminal", "workbook", "app"),
    "check": ("python", "terminal", "report", "app"),
    "adjust": ("python", "terminal", "app"),
    "transfer": ("python", "terminal"),
    "compare": ("python", "terminal"),
}
PARTS = ("answer", "tables", "remarks", "mends")


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    folder = tmp_path_factory.mktemp("house")
    write_tables(folder)
    return House(folder)


@pytest.fixture(autouse=True)
def inside(house, monkeypatch):
    monkeypatch.chdir(house.folder)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("TERMINAL_WIDTH", "200")


def questions():
    for name, asked in REQUESTS.items():
        for door in DOORS[asked.verb]:
            if asked.wrong and door in ("workbook", "report"):
                continue  # they are written where the command line does not refuse
            for part in PARTS:
                if (door, part) == ("report", "mends"):
                    continue  # a page that is kept has no buttons
                yield pytest.param(name, door, part, id=f"{name}-{door}-{part}")


def differences(expected, found, part):
    """Return what a door does not have, or has otherwise."""
    if found is None:
        return ["the door is closed"]
    if expected.refused or found.refused:
        same = bool(expected.refused) is bool(found.refused)
        if part == "remarks":
            same = said(expected.refused) == said(found.refused)
        return [] if same else [expected.refused, found.refused]
    if part == "mends":
        return [one for one in expected.mends.items() if found.mends.get(one[0]) != one[1]]
    if part == "remarks":
        known = {said(one) for one in found.remarks}
        return [one for one in expected.remarks if said(one) not in known]
    shown = found.one if part == "answer" else found.column
    known, different = getattr(found, part), []
    for name, value in getattr(found.expected or expected, part).items():
        of_texts = isinstance(value, str) or (isinstance(value, list) and str in map(type, value))
        exact = of_texts or value is None or known.get(name) is None
        pair = [one if exact else shown(one) for one in (value, known.get(name))]
        if name not in known or pair[0] != pair[1]:
            different.append((name, *pair))
    return different


@pytest.mark.parametrize(("name", "door", "part"), list(questions()))
def test_every_door_gives_the_same_answer(house, name, door, part):
    asked = REQUESTS[name]
    expected = house.ask("json", asked)
    assert bool(expected.refused) is asked.wrong, expected.refused
    assert not differences(expected, house.ask(door, asked), part)


@pytest.mark.parametrize(
    ("file", "key"),
    [
        ("repeated.csv", "repeated-rows"),
        ("leak.csv", "affine-copy"),
        ("codes.csv", "missing-code"),
    ],
)
@pytest.mark.usefixtures("house")
def test_estimators_remark_on_the_same_data(file, key):
    frame = pd.read_csv(file)
    found = workbench.fit(frame, Request(response="y", components=2)).remarks
    known = PLSRegressor(n_components=2).fit(frame.drop(columns="y"), frame["y"]).remarks_
    words = {one.key: (one.rows, one.columns) for one in known}
    wanted = {one.key: (one.rows, one.columns) for one in found if one.severity == "warning"}
    assert key in wanted
    assert words.items() >= wanted.items()
