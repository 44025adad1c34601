"""Requests: who is answered, what is refused, and what the page gets."""

import io
import json
import os
import stat
import subprocess
import sys

import numpy as np
import openpyxl
import pytest
from _helpers.app import HOST, PAGE, TOKEN
from _helpers.command_line import GASOLINE, run
from starlette.testclient import TestClient

from plsdof.errors import InvalidInputError
from plsdof.workbench.app import transport
from plsdof.workbench.app.desk import StoppedError
from plsdof.workbench.app.session import JOURNAL, Session
from plsdof.workbench.app.transport import begin, listening, make_app, new_folder
from plsdof.workbench.cli.browser import CommandLine, write_shortcut


def event(page, code=200, **given):
    return page.post("/event", code, content=json.dumps(given))


def upload(page, *files, code=200, **given):
    parts = [("files", (name, content)) for name, content in files]
    return page.post("/upload", code, files=parts, data=given)


def gasoline(page):
    return upload(page, ("gasoline.csv", GASOLINE.read_bytes()))


# Who is answered
# ---------------


@pytest.fixture
def stranger(page):
    """Return a client without the token."""
    app = make_app(page.pages, token=TOKEN, port=4321)
    return TestClient(app, base_url=f"http://{HOST}", follow_redirects=False)


def test_the_token_is_needed_once_and_then_kept_in_a_cookie(stranger):
    assert stranger.get("/").status_code == 403
    assert stranger.get("/", params={"token": "wrong"}).status_code == 403
    assert stranger.get("/state").status_code == 403
    assert stranger.get("/state", params={"token": TOKEN}).status_code == 403
    answer = stranger.get("/", params={"token": TOKEN})
    assert answer.status_code == 303
    assert answer.headers["location"] == "/"
    assert "httponly" in answer.headers["set-cookie"].lower()
    assert "samesite=strict" in answer.headers["set-cookie"].lower()
    assert stranger.get("/").status_code == 200
    assert stranger.get("/state").status_code == 200


@pytest.mark.parametrize("path", ["/", "/state", "/app.js", "/file", "/view"])
def test_no_path_is_open_without_the_token(stranger, path):
    answer = stranger.get(path)
    assert answer.status_code == 403
    assert TOKEN not in answer.text


@pytest.mark.parametrize("host", ["example.com", "127.0.0.1", "127.0.0.1:80", "evil.test:4321"])
def test_a_foreign_host_is_refused(page, host):
    assert page.client.get("/state", headers={"host": host}).status_code == 403


@pytest.mark.parametrize("origin", ["http://example.com", "null", "http://127.0.0.1:80"])
def test_a_foreign_origin_is_refused(page, origin):
    headers = {**PAGE, "origin": origin}
    content = json.dumps({"do": "undo"})
    assert page.client.post("/event", content=content, headers=headers).status_code == 403
    assert page.client.get("/state", headers={"origin": origin}).status_code == 403


def test_the_own_origin_is_answered(page):
    headers = {**PAGE, "origin": f"http://{HOST}"}
    assert page.client.post("/demo", headers=headers).status_code == 200


def test_a_form_of_another_page_cannot_post(page):
    assert page.client.post("/demo").status_code == 403


def test_answers_forbid_scripts_of_others_and_frames(page):
    for path in ("/", "/state", "/nothing"):
        headers = page.client.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self';" in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["cache-control"] == "no-store"
        assert headers["x-content-type-options"] == "nosniff"


def test_the_page_has_no_inline_script_and_names_no_other_machine(page):
    text = page.client.get("/").text
    assert text.count("<script") == text.count("<script src=") == 1
    assert "://" not in text
    assert "onclick" not in text
    for path, kind in {
        "/app.js": "javascript",
        "/app.css": "css",
    }.items():
        answer = page.client.get(path)
        assert kind in answer.headers["content-type"]
        assert len(answer.text) > 1000


# Bad input
# ---------


def test_events_must_be_events(page):
    for content in (b"", b"{", b"[]", b'"undo"', b'{"do": "upload"}', b'{"do": "fitted"}'):
        answer = page.client.post("/event", content=content, headers=PAGE)
        assert answer.status_code == 422
        assert answer.json()["error"]


def test_too_large_an_upload_or_event_is_refused(page, monkeypatch):
    monkeypatch.setattr(transport, "MOST_UPLOADED", 1000)
    upload(page, ("a.csv", b"x" * 2000), code=422)
    monkeypatch.setattr(transport, "MOST_EVENT", 10)
    event(page, 422, do="undo", why="a long story")
    assert page.client.get("/state").json()["files"] == []


def test_an_upload_without_files_or_purpose_is_refused(page):
    assert page.client.post("/upload", data={"use": "table"}, headers=PAGE).status_code == 422
    upload(page, ("a.csv", b"a,b\n1,2\n"), code=422, use="dance")


def test_a_file_has_to_be_a_table(page):
    upload(page, ("photo.png", b"\x89PNG\r\n\x1a\n" + bytes(100)))
    answer = page.client.get("/table")
    assert answer.status_code == 422


def test_the_page_cannot_name_a_path(page):
    for name in ("/etc/passwd", "../one/journal.jsonl", "journal.jsonl"):
        event(page, 422, do="table", file=name)
        event(page, 422, do="use", file=name, **{"as": "table"})


def test_unknown_kinds_and_columns_are_refused(page):
    gasoline(page)
    assert page.client.get("/file", params={"kind": "shadow"}).status_code == 422
    assert page.client.get("/colours", params={"column": "taste"}).status_code == 422
    assert page.client.get("/predictions").status_code == 422


def test_a_page_that_is_behind_is_told_and_changes_nothing(page):
    known = gasoline(page)["revision"]
    event(page, do="set", options={"cv": "5"}, revision=known)
    answer = event(page, 409, do="set", options={"cv": "10"}, revision=known)
    assert answer["changed"]
    assert page.client.get("/state").json()["options"]["cv"] == "5"


# What the page gets
# ------------------


def test_from_a_file_to_a_view(page):
    state = gasoline(page)
    assert state["options"] == {"file": "gasoline.csv", "response": ["octane"]}
    assert state["steps"][-1]["why"].startswith("the only")
    quick = page.client.get("/view", params={"models": "chosen"}).json()
    assert len(quick["content"]["details"]) == 1
    full = page.client.get("/view").json()
    assert len(full["content"]["details"]) > 5
    assert full["content"]["models"] == quick["content"]["models"]
    assert set(full["parts"]) == {"found", "spectra", "models"}
    (trial,) = full["state"]["trials"]
    assert trial["key"] == full["trial"] == full["state"]["trial"]
    assert trial["summary"]["n"] == 60


def test_excluded_rows_stay_visible_where_the_models_see_them(page):
    gasoline(page)
    before = page.client.get("/view").json()["content"]
    event(page, do="exclude", rows=[5, 7], why="<b>bad</b> spectrum")
    content = page.client.get("/view").json()["content"]
    assert content["n"] == 58
    away = content["excluded"]
    assert away["number"] == [5, 7]
    assert away["why"] == ["<b>bad</b> spectrum"] * 2
    assert away["observed"] == [before["rows"]["observed"][4], before["rows"]["observed"][6]]
    assert len(away["predicted"]) == len(content["details"])
    assert away["scores"]["columns"] == content["components"]["scores"]["columns"]
    error = np.subtract(away["predicted"][content["chosen"] - content["first"]], away["observed"])
    assert np.abs(error).max() < 1.5


def test_excluded_rows_without_values_are_not_drawn(page):
    upload(page, ("t.csv", b"y,a,b\n1,2,3\n2,,4\n3,4,2\n5,1,7\n2,3,9\n"))
    event(page, do="set", options={"response": ["y"]})
    event(page, do="exclude", rows=[2], why="hole")
    assert page.client.get("/view").json()["content"]["excluded"] is None


def test_methods_without_scores_show_excluded_rows_too(page):
    gasoline(page)
    event(page, do="set", options={"method": "ridge"})
    event(page, do="exclude", rows=[3], why="x")
    assert page.client.get("/view").json()["content"]["excluded"]["scores"] is None


def test_the_table_shows_roles_and_guesses(page):
    lines = ["Sample,Batch,Moisture,Fat," + ",".join(str(1100 + 2 * i) for i in range(12))]
    rng = np.random.default_rng(0)
    for i in range(15):
        values = rng.normal(size=13).round(4)
        lines.append(
            f"s{i},{'ab'[i % 2]},{values[12]},{i * 1.5}," + ",".join(map(str, values[:12]))
        )
    state = upload(page, ("corn.csv", "\n".join(lines).encode()))
    # There are two columns that may be the response: the person chooses.
    assert "response" not in state["options"]
    found = page.client.get("/table").json()
    assert found["proposed"] == ["Moisture"]
    assert found["spectra"]["positions"] == [1100 + 2 * i for i in range(12)]
    event(page, do="set", options={"groups": "Batch", "response": ["Moisture"]})
    found = page.client.get("/table").json()
    roles = {one["name"]: one["role"] for one in found["columns"]}
    assert roles["Sample"] == "id"
    assert roles["Batch"] == "groups"
    assert roles["Moisture"] == "response"
    assert roles["Fat"] == "left out"
    assert roles["1100"] == "predictor"
    assert found["predictors"] == 12
    assert found["notes"]
    colours = page.client.get("/colours", params={"column": "Batch"}).json()
    assert colours["classes"] == [["a", "a"], ["b", "b"]]
    assert colours["of"]["2"] == 1
    numbers = page.client.get("/colours", params={"column": "Fat"}).json()
    assert len(numbers["classes"]) == 5
    names = page.client.get("/colours", params={"column": "Sample"}).json()
    assert [one[0] for one in names["classes"]] == ["s0", "s1", "s2", "s3", "other"]


def test_a_table_without_spectra_waits_for_its_response(page):
    state = upload(page, ("t.csv", b"y,a,b\n1,2,3\n2,3,4\n3,4,2\n5,1,7\n"))
    assert "response" not in state["options"]
    found = page.client.get("/table").json()
    assert found["error"] == {}
    assert {one["role"] for one in found["columns"]} == {""}
    assert page.client.get("/view").status_code == 422
    assert page.client.get("/predictions").status_code == 422
    event(page, do="set", options={"response": ["nowhere"]})
    assert "nowhere" in page.client.get("/table").json()["error"]["words"]


def test_reference_values_are_joined_and_missing_ones_are_named(page):
    spectra = ["no," + ",".join(str(1100 + 2 * i) for i in range(12))]
    rng = np.random.default_rng(1)
    spectra += [f"c{i}," + ",".join(map(str, rng.normal(size=12).round(3))) for i in range(14)]
    lab = ["Sample,fat"] + [f"c{i},{i * i % 7 + 0.5}" for i in range(13)]
    upload(page, ("spectra.csv", "\n".join(spectra).encode()))
    state = upload(page, ("lab.csv", "\n".join(lab).encode()), use="response_file")
    assert state["options"]["response"] == ["fat"]
    found = page.client.get("/table").json()
    assert found["unmatched"] == [["c13"]]
    assert found["reference"] == ["fat"]
    event(page, do="set", options={"missing": "drop"})
    assert page.client.get("/view").json()["content"]["n"] == 13


def released(page):
    """Release the gasolines' model; return its trial."""
    gasoline(page)
    trial = page.client.get("/view", params={"models": "chosen"}).json()["trial"]
    event(page, do="release", trial=trial)
    return trial


def test_files_to_keep(page):
    released(page)
    for kind, start in {
        "report": b"<!DOCTYPE",
        "model": b"{",
        "out": b"PK",
        "plot": b"<?xml",
    }.items():
        answer = page.client.get("/file", params={"kind": kind})
        assert answer.content.startswith(start)
        assert "attachment" in answer.headers["content-disposition"]
    report = page.client.get("/file", params={"kind": "report"}).text
    assert "plsdof fit gasoline.csv --response octane --report" in report


def test_only_what_is_released_predicts_is_checked_and_exported(page):
    trial = released(page)
    event(page, do="release", trial=trial, on=False)
    upload(page, ("new.csv", GASOLINE.read_bytes()), use="predict")
    for path in ("/predictions", "/predictions?kind=check", "/file?kind=model", "/export"):
        answer = page.client.get(path)
        assert answer.status_code == 422
        assert answer.json()["mend"] == {"release": trial}
    event(page, do="release", trial=trial)
    before = page.client.get("/file?kind=model").json()
    event(page, do="set", options={"components": 2})
    page.client.get("/view")
    # Another trial is looked at; what is released stays as it is.
    again = page.client.get("/file?kind=model").json()
    assert again["source"]["recipe"]["sha256"] == before["source"]["recipe"]["sha256"]
    assert again["responses"] == before["responses"]
    assert page.client.get("/export").json()["command"][-2:] == ["--response", "octane"]
    (one,) = page.client.get("/state").json()["released"]
    assert (one["key"], one["name"], one["response"]) == (trial, "trial 1", "octane")


def test_predictions_with_status_and_as_a_workbook(page):
    trial = released(page)
    upload(page, ("new.csv", GASOLINE.read_bytes()), use="predict")
    rows = page.client.get("/predictions").json()["found"]["octane"]["predictions"]
    assert len(rows) == 60
    assert {"lower", "upper", "unusual", "observed"} <= set(rows[0])
    event(page, do="set", options={"components": 2})
    again = page.client.get("/predictions").json()["found"]["octane"]
    assert again["predictions"] == rows
    assert again["trial"] == trial
    book = openpyxl.load_workbook(
        io.BytesIO(page.client.get("/file", params={"kind": "predictions"}).content)
    )
    heads = [cell.value for cell in book["octane"][1]]
    place = heads.index("prediction")
    values = [row[place].value for row in book["octane"].iter_rows(min_row=2)]
    np.testing.assert_allclose(values, [row["prediction"] for row in rows], rtol=1e-12)


def test_predictions_are_shown_with_half_of_their_intervals(page):
    released(page)
    upload(page, ("new.csv", GASOLINE.read_bytes()), use="predict")
    found = page.client.get("/predictions").json()["found"]["octane"]
    assert len(found["samples"]) == len(found["shown"]["octane"]) == 60
    for row, text in zip(found["predictions"], found["shown"]["octane"], strict=True):
        value, half = map(float, text.split(" ± "))
        exact = (row["upper"] - row["lower"]) / 2
        assert half == pytest.approx(exact, rel=0.06)
        assert value == pytest.approx(row["prediction"], abs=0.06 * exact)


def test_a_value_below_zero_has_a_word_where_no_calibration_sample_is(page):
    rng = np.random.default_rng(0)
    amount = np.abs(rng.normal(size=30))
    X = amount[:, None] * np.linspace(1, 2, 12) + 0.01 * rng.normal(size=(30, 12))
    head = ",".join(["fat", *(str(1100 + 2 * j) for j in range(12))])

    def table(y, X):
        lines = [",".join(f"{one:.4f}" for one in (a, *row)) for a, row in zip(y, X, strict=True)]
        return "\n".join([head, *lines]).encode()

    upload(page, ("corn.csv", table(3 * amount, X)))
    trial = page.client.get("/view", params={"models": "chosen"}).json()["trial"]
    event(page, do="release", trial=trial)
    words = []
    for name, rows in {"more.csv": X, "less.csv": -X[:2]}.items():
        upload(page, (name, table(np.ones(len(rows)), rows)), use="predict")
        found = page.client.get("/predictions").json()["found"]["fat"]
        words.append([one for one in found["notes"] if "below zero" in one])
    assert [len(one) for one in words] == [0, 1]
    assert words[1][0].startswith("2 predictions")


def predicted(page):
    rows = page.client.get("/predictions").json()["found"]["octane"]["predictions"]
    return [row["prediction"] for row in rows]


def control_samples(shift):
    """Return the gasolines as control samples whose reference values are shifted."""
    rows = [line.split(",", 1) for line in GASOLINE.read_text().splitlines()]
    shifted = [f"{float(first) + shift:.4f},{rest}" for first, rest in rows[1:]]
    return "\n".join([",".join(rows[0]), *shifted]).encode()


def test_a_model_is_checked_and_adjusted_with_a_reason(page):
    trial = released(page)
    event(page, 422, do="adjust", trial=trial, kind="bias", why="no control samples yet")
    upload(page, ("control.csv", control_samples(2.0)), use="check")
    found = page.client.get("/predictions", params={"kind": "check"}).json()["found"]["octane"]
    verdicts = {one["name"]: one for one in found["verdicts"]}
    assert not verdicts["bias"]["passed"]
    assert abs(verdicts["bias"]["value"] + 2.0) < 0.1
    assert len(found["chart"]["errors"]) == 60
    assert found["adjusted"] is None
    upload(page, ("new.csv", GASOLINE.read_bytes()), use="predict")
    before = predicted(page)
    event(page, 422, do="adjust", trial=trial, kind="bias", why=" ")
    event(page, 422, do="adjust", trial=trial, kind="taste", why="x")
    event(page, 422, do="adjust", trial=trial, kind="slope", why="it is not significant")
    assert page.pages.desk.session.state.adjusted == {}
    event(page, do="adjust", trial=trial, kind="bias", why="new lamp")
    found = page.client.get("/predictions", params={"kind": "check"}).json()["found"]["octane"]
    assert found["adjusted"]["why"] == "new lamp"
    assert abs(next(one for one in found["verdicts"] if one["name"] == "bias")["value"]) < 1e-8
    shifted = predicted(page)
    move = -verdicts["bias"]["value"]
    np.testing.assert_allclose(np.subtract(shifted, before), move, rtol=1e-8)
    model = page.client.get("/file", params={"kind": "model"}).text
    assert "new lamp" in model
    event(page, do="adjust", trial=trial, kind="none")
    again = predicted(page)
    assert again == before


def test_control_samples_without_reference_values_adjust_nothing(page):
    trial = released(page)
    lines = [line.split(",", 1)[1] for line in GASOLINE.read_text().splitlines()]
    upload(page, ("control.csv", "\n".join(lines).encode()), use="check")
    found = page.client.get("/predictions", params={"kind": "check"}).json()["found"]["octane"]
    assert found["chart"]["errors"] == []
    event(page, 422, do="adjust", trial=trial, kind="bias", why="x")


def test_a_session_is_saved_and_opened_and_begun_anew(page):
    gasoline(page)
    event(page, do="exclude", rows=[5], why="typing error")
    saved = page.client.get("/file", params={"kind": "session"}).content
    state = page.client.get("/state").json()
    empty = page.post("/new")
    assert empty["steps"] == []
    opened = upload(page, ("s.zip", saved), use="session")
    assert opened["options"] == state["options"]
    assert [one["words"] for one in opened["steps"]] == [one["words"] for one in state["steps"]]
    upload(page, ("s.zip", b"nonsense"), use="session", code=422)
    assert page.client.get("/state").json()["options"] == state["options"]


def test_a_folder_is_one_table(page):
    part = GASOLINE.read_text().splitlines()
    files = [("a.csv", "\n".join(part[:31]).encode())]
    files += [("b.csv", "\n".join([part[0], *part[31:]]).encode())]
    state = upload(page, *files, folder="spectra")
    assert state["options"] == {"file": "spectra", "response": ["octane"]}
    assert page.client.get("/view").json()["content"]["n"] == 60


def test_a_file_that_was_uploaded_can_be_used_again(page):
    gasoline(page)
    state = event(page, do="use", file="gasoline.csv", **{"as": "predict"})
    assert state["chosen"] == {"predict": "gasoline.csv"}


def test_the_demo_and_what_is_being_done(page):
    assert page.post("/demo")["options"]["response"] == ["octane"]
    assert page.client.get("/progress").json() == {"doing": ""}
    page.post("/stop")
    assert page.client.get("/progress").json() == {"doing": "stopped"}


def test_what_was_stopped_says_so(page, monkeypatch):
    gasoline(page)

    def stopped(*_, **__):
        raise StoppedError

    monkeypatch.setattr(page.pages.desk.worker, "ask", stopped)
    answer = page.client.get("/view")
    assert answer.status_code == 409
    assert answer.json()["stopped"]


# Starting
# --------


class Silent:
    """A worker that is not asked anything."""

    def __init__(self, *_):
        pass

    def ask(self, *_, **__):
        raise InvalidInputError("nobody works here")

    def close(self):
        pass


@pytest.fixture
def silent(monkeypatch):
    monkeypatch.setattr(transport, "Worker", Silent)


@pytest.mark.usefixtures("silent")
def test_the_latest_session_goes_on_unless_it_is_open(tmp_path):
    home = tmp_path / "home"
    first = begin(CommandLine(), home, GASOLINE)
    assert first.session.state.options == {"file": "gasoline.csv"}
    second = begin(CommandLine(), home, None)
    assert second.session.folder != first.session.folder
    first.close()
    third = begin(CommandLine(), home, None)
    assert third.session.folder == first.session.folder
    assert third.session.state.options == {"file": "gasoline.csv"}
    for one in (second, third):
        one.close()


@pytest.mark.usefixtures("silent")
def test_what_is_not_a_session_is_passed_over(tmp_path):
    home = tmp_path / "home"
    (home / "zzz").mkdir(parents=True)
    (home / "zzz" / "notes.txt").write_text("mine")
    (home / "a file").write_text("x")
    desk = begin(CommandLine(), home, None)
    assert desk.session.folder.name not in ("zzz", "a file")
    assert desk.remark == ""
    desk.close()


@pytest.mark.usefixtures("silent")
def test_a_damaged_session_is_named_and_left_as_it_is(tmp_path):
    home = tmp_path / "home"
    Session(home / "good", CommandLine()).close()
    os.utime(home / "good" / JOURNAL, (1e8, 1e8))
    damaged = home / "damaged" / JOURNAL
    damaged.parent.mkdir()
    damaged.write_text("nonsense\n")
    desk = begin(CommandLine(), home, None)
    assert desk.session.folder.name == "good"
    assert damaged.relative_to(home).as_posix() in desk.remark
    assert desk.state()["remark"] == desk.remark
    assert damaged.read_text() == "nonsense\n"
    desk.close()


@pytest.mark.usefixtures("silent")
@pytest.mark.parametrize("file", [None, GASOLINE])
def test_nothing_is_deleted_when_a_session_begins(tmp_path, file):
    home = tmp_path / "home"
    for i in range(12):
        Session(home / f"{i:02d}", CommandLine()).close()
    (home / "0000-mynotes").mkdir()
    (home / "0000-mynotes" / "notes.txt").write_text("mine")
    before = {one.name for one in home.iterdir()}
    desk = begin(CommandLine(), home, file)
    assert before <= {one.name for one in home.iterdir()}
    assert (home / "0000-mynotes" / "notes.txt").read_text() == "mine"
    desk.close()


@pytest.mark.usefixtures("silent")
def test_the_session_that_was_used_last_goes_on(tmp_path):
    home = tmp_path / "home"
    for name, used in {"2026-11-01": 3e8, "2026-11-09": 2e8}.items():
        Session(home / name, CommandLine()).close()
        os.utime(home / name / JOURNAL, (used, used))
    desk = begin(CommandLine(), home, None)
    assert desk.session.folder.name == "2026-11-01"
    desk.close()


@pytest.mark.parametrize("system", ["linux", "darwin", "win32"])
def test_a_shortcut_starts_this_python(tmp_path, system):
    file = write_shortcut(tmp_path, system)
    assert file.is_relative_to(tmp_path)
    assert f"{sys.executable}" in file.read_text()
    assert "-m plsdof app" in file.read_text()
    assert os.access(file, os.X_OK)


def test_a_folder_of_sessions_is_listed_and_goes_on_there(tmp_path, monkeypatch):
    folder = tmp_path / "sessions"
    session = Session(folder / "one", CommandLine())
    session.add({"gasoline.csv": GASOLINE.read_bytes()})
    session.apply({"do": "table", "file": "gasoline.csv"})
    session.close()
    served = []
    monkeypatch.setattr(transport, "serve", lambda *one, **more: served.append((one, more)))
    said = run("app", folder).stdout
    assert "one  gasoline.csv" in said
    (((_, file), more),) = served
    assert (file, more["home"]) == (None, folder)


def test_the_session_knows_neither_http_nor_processes():
    code = (
        "import sys, plsdof.workbench.app.desk, plsdof.workbench.app.session\n"
        "import plsdof.workbench.app.view\n"
        "print([one for one in ('starlette', 'uvicorn', 'typer', 'multiprocessing')"
        " if one in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


# Other sessions
# --------------


def test_other_sessions_are_listed_opened_and_removed_by_their_owner(page):
    home = page.pages.desk.session.folder.parent
    gasoline(page)
    (home / "0000-mynotes").mkdir()
    page.post("/new")
    first, second = page.client.get("/sessions").json()
    assert (first["here"], second["here"]) == (True, False)
    assert (second["name"], second["table"], second["response"]) == (
        "one",
        "gasoline.csv",
        "octane",
    )
    for name in ("", "..", "0000-mynotes", first["name"], "../sessions/one"):
        for path in ("/reopen", "/remove"):
            page.post(f"{path}?name={name}", 422)
    assert page.post("/reopen?name=one")["options"]["response"] == ["octane"]
    left = page.post(f"/remove?name={first['name']}")
    assert [one["name"] for one in left] == ["one"]
    assert {one.name for one in home.iterdir()} == {"one", "0000-mynotes"}


def test_results_of_trials_are_computed_when_a_session_is_opened_again(page):
    gasoline(page)
    view = page.client.get("/view", params={"models": "chosen"}).json()
    (trial,) = view["state"]["trials"]
    page.post("/new")
    (again,) = page.post("/reopen?name=one")["trials"]
    assert again["summary"] is None
    assert page.client.get("/trials").json()["trials"] == [trial]


# Whatever fails becomes a sentence
# ---------------------------------


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InvalidInputError("no"), 422),
        (OSError(28, "No space left on device"), 422),
        (PermissionError(13, "Permission denied"), 422),
        (ValueError("a mistake of ours"), 500),
        (RecursionError("deep"), 500),
        (MemoryError(), 500),
    ],
    ids=repr,
)
def test_whatever_fails_becomes_a_sentence(page, monkeypatch, capsys, error, code):
    gasoline(page)

    def fails(*_, **__):
        raise error

    monkeypatch.setattr(page.pages.desk.worker, "ask", fails)
    for path in ("/view", "/table"):
        answer = page.client.get(path)
        assert answer.status_code == code
        assert answer.json()["error"].endswith((".", "no"))
        assert "Traceback" not in answer.text
    assert ("Traceback" in capsys.readouterr().err) is (code == 500)
    assert page.client.get("/state").status_code == 200


def test_a_full_disk_is_said_and_the_step_does_not_come_back(page, monkeypatch):
    before = gasoline(page)

    def fails(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fails)
    assert "No space left" in event(page, 422, do="set", options={"cv": "5"})["error"]
    assert "No space left" in upload(page, ("b.csv", b"a,b\n1,2\n"), code=422)["error"]
    monkeypatch.undo()
    state = page.client.get("/state").json()
    assert (state["revision"], state["files"]) == (before["revision"], before["files"])
    page.post("/new")
    assert page.post("/reopen?name=one")["revision"] == before["revision"]


# Two programs on one machine
# ---------------------------


def test_two_programs_in_one_browser_do_not_lock_each_other_out(page):
    jar, clients = {}, {}
    for port in (4321, 4322):
        app = make_app(page.pages, token=f"token of {port}", port=port)
        clients[port] = TestClient(app, base_url=f"http://127.0.0.1:{port}")
        clients[port].get("/", params={"token": f"token of {port}"})
        jar |= dict(clients[port].cookies)
    # A browser sends the cookies of all ports of a machine to each of them.
    assert len(jar) == 2
    for client in clients.values():
        client.cookies.clear()
        client.cookies.update(jar)
        assert client.get("/state").status_code == 200
    del jar["plsdof-4321"]
    clients[4321].cookies.clear()
    clients[4321].cookies.update(jar)
    assert clients[4321].get("/state").status_code == 403


def test_a_ticket_is_good_once(page):
    app = make_app(page.pages, token=TOKEN, port=4321, tickets=["ticket"])
    for code in (200, 403):
        client = TestClient(app, base_url=f"http://{HOST}")
        assert client.get("/", params={"ticket": "ticket"}).status_code == code
        assert client.get("/state").status_code == code
    assert client.get("/state", params={"ticket": "ticket"}).status_code == 403


def test_an_adjustment_that_is_not_significant_is_refused(page):
    trial = released(page)
    upload(page, ("control.csv", GASOLINE.read_bytes()), use="check")
    for kind in ("bias", "slope"):
        answer = event(page, 422, do="adjust", trial=trial, kind=kind, why="it looks like it")
        assert "significant" in answer["error"]
    assert page.pages.desk.session.state.adjusted == {}


@pytest.mark.usefixtures("silent")
def test_a_folder_can_be_the_first_table(tmp_path):
    part = GASOLINE.read_text().splitlines()
    folder = tmp_path / "spectra"
    folder.mkdir()
    (folder / "a.csv").write_text("\n".join(part[:31]))
    desk = begin(CommandLine(), tmp_path / "home", folder)
    assert desk.session.state.options == {"file": "spectra"}
    desk.close()


def test_only_the_loopback_address_listens_and_a_taken_port_is_passed_over():
    with listening(None) as first:
        host, port = first.getsockname()
        assert host == "127.0.0.1"
        first.listen()
        with listening(port) as second:
            assert second.getsockname()[0] == "127.0.0.1"
            assert second.getsockname()[1] != port


def test_folders_of_sessions_do_not_collide(tmp_path):
    assert len({new_folder(tmp_path) for _ in range(50)}) == 50


@pytest.mark.usefixtures("silent")
def test_serving_prints_the_address_first_and_ends_with_ctrl_c(tmp_path, monkeypatch):
    said, opened, ended = [], [], []

    class Server:
        def __init__(self, config):
            self.config = config

        def run(self, sockets):
            address, token = [one for one in said if "token=" in one][-1].split("/?token=")
            tickets = [] if ended else [{"ticket": one.split("=")[1]} for one in opened]
            for by in ({"token": token}, *tickets):
                client = TestClient(self.config.app, base_url=address)
                assert client.get("/", params=by).status_code == 200
            ended.append(sockets[0].getsockname())
            raise KeyboardInterrupt

    monkeypatch.setattr(transport.uvicorn, "Server", Server)
    monkeypatch.setattr(transport.webbrowser, "open", opened.append)
    with listening(None) as busy:
        busy.listen()
        port = busy.getsockname()[1]
        transport.serve(CommandLine(), None, port=port, say=said.append, home=tmp_path / "home")
    assert said[0].startswith("http://127.0.0.1:")
    assert len(said[0].split("token=")[1]) >= 32
    # Others on the machine may read what the browser is started with: that is good once.
    assert [one.split("?ticket=")[0] for one in opened] == [said[0].split("?")[0]]
    assert said[0].split("token=")[1] not in opened[0]
    assert "in use" in said[1]
    assert ended[0][1] != port
    transport.serve(CommandLine(), None, browser=False, say=said.append, home=tmp_path / "home")
    assert len(opened) == 1
    assert stat.S_IMODE((tmp_path / "home").stat().st_mode) == 0o700 or os.name == "nt"
    # A folder that was there may be shared: its modes are its owner's, those of the session ours.
    (shared := tmp_path / "shared").mkdir()
    shared.chmod(0o755)
    transport.serve(CommandLine(), None, browser=False, say=said.append, home=shared)
    if os.name != "nt":
        modes = [stat.S_IMODE(one.stat().st_mode) for one in (shared, *shared.iterdir())]
        assert modes == [0o755, 0o700]
    assert said[-2].split("token=")[1] != said[0].split("token=")[1]


def test_tables_of_numbers_are_sent_once(page):
    page.post("/demo")
    first = page.client.get("/view").json()["content"]
    sent = [one["values"] for one in first["spectra"]["tables"]] + [
        one for one in first["components"].values() if isinstance(one, dict)
    ]
    assert all(one["data"] for one in sent)
    keys = ",".join(one["key"] for one in sent)
    page.post("/event", json={"do": "prepare", "chain": [["snv", True]]})
    after = page.client.get(f"/view?have={keys}").json()["content"]["spectra"]["tables"]
    raw, prepared = after
    assert raw["values"]["key"] == sent[0]["key"]
    assert "data" not in raw["values"]
    assert prepared["values"]["data"]
