"""Events and the state they come to: refused or kept, undone, replayed, saved."""

import errno
import io
import json
import os
import stat
import sys
import zipfile

import pytest

from plsdof.errors import InvalidInputError
from plsdof.workbench.app.session import (
    JOURNAL,
    MOST_BYTES,
    Session,
    State,
    Trial,
    after,
    arguments,
    as_event,
    key_of,
    opened,
    plain_name,
    remove,
    sessions_in,
)
from plsdof.workbench.cli.browser import CommandLine

TABLE = b"id,fat,1100,1102\na,1,0.1,0.2\nb,2,0.2,0.1\nc,4,0.3,0.5\n"


@pytest.fixture
def session(tmp_path):
    found = Session(tmp_path / "s", CommandLine())
    name = found.add({"corn.csv": TABLE})
    found.apply({"do": "table", "file": name})
    yield found
    found.close()


def again(session):
    """Close a session, and return it as it is read from its journal."""
    session.close()
    return Session(session.folder, CommandLine())


def test_the_state_follows_from_the_events_and_is_the_same_when_they_are_replayed(session):
    session.apply({"do": "set", "options": {"response": ["fat"], "cv": "loo"}})
    session.apply({"do": "prepare", "chain": [["snv", True], ["detrend", False]]})
    session.apply({"do": "exclude", "rows": [3, 1, 2], "why": "typing error"})
    session.apply({"do": "include", "rows": [2]})
    session.apply({"do": "undo"})
    session.apply({"do": "redo"})
    trial = key_of(session.state.options)
    summary = {"response": "fat"}
    options = session.state.options
    session.apply({"do": "fitted", "trial": trial, "options": options, "summary": summary})
    session.apply({"do": "note", "trial": trial, "text": "good"})
    session.apply({"do": "release", "trial": trial})
    session.apply({"do": "predict", "file": "corn.csv"})
    assert arguments(session.state.options) == {
        "file": "corn.csv",
        "response": ["fat"],
        "cv": "loo",
        "preprocess": "snv",
        "exclude_rows": ["1,3"],
    }
    assert session.state.options["excluded"] == {"3": "typing error", "1": "typing error"}
    assert session.state.trials[trial].note == "good"
    assert session.state.trials[trial].released
    assert session.state.chosen == {"predict": "corn.csv"}
    state = session.state
    replayed = again(session)
    assert replayed.state == state
    replayed.close()


def test_a_new_step_after_undo_takes_the_place_of_what_was_undone(session):
    session.apply({"do": "set", "options": {"response": ["fat"]}})
    session.apply({"do": "set", "options": {"cv": "5"}})
    session.apply({"do": "undo"})
    session.apply({"do": "set", "options": {"cv": "10"}})
    assert session.state.options["cv"] == "10"
    assert [one.words for one in session.state.steps] == [
        "Table corn.csv",
        "Response: fat",
        "Cross-validation: 10 folds",
    ]
    with pytest.raises(InvalidInputError):
        session.apply({"do": "redo"})


def test_an_option_is_taken_back_by_nothing(session):
    session.apply({"do": "set", "options": {"cv": "5", "response": ["fat"]}})
    session.apply({"do": "set", "options": {"cv": None}})
    assert session.state.options == {"file": "corn.csv", "response": ["fat"]}


def test_going_back_to_a_trial_takes_its_options(session):
    session.apply({"do": "set", "options": {"response": ["fat"], "cv": "5"}})
    options = session.state.options
    event = {"do": "fitted", "trial": key_of(options), "options": options, "summary": {}}
    session.apply(event)
    session.apply({"do": "set", "options": {"cv": "10"}})
    session.apply({"do": "open", "trial": key_of(options)})
    assert session.state.options == options


def test_one_model_per_response_is_released(session):
    for cv in ("5", "10"):
        session.apply({"do": "set", "options": {"response": ["fat"], "cv": cv}})
        options = session.state.options
        trial = key_of(options)
        session.apply({"do": "fitted", "trial": trial, "options": options, "summary": {}})
        session.apply({"do": "release", "trial": trial})
    assert [one.released for one in session.state.trials.values()] == [False, True]
    session.apply({"do": "release", "trial": trial, "on": False})
    assert not any(one.released for one in session.state.trials.values())


REFUSED = [
    {},
    {"do": "shout"},
    {"do": ["set"]} | {"do": "nothing"},
    {"do": "table", "file": "/etc/passwd"},
    {"do": "table"},
    {"do": "set"},
    {"do": "set", "options": {}},
    {"do": "set", "options": ["cv"]},
    {"do": "set", "options": {"file": "other.csv"}},
    {"do": "set", "options": {"preprocess": "snv"}},
    {"do": "set", "options": {"wish": 3}},
    {"do": "set", "options": {"cv": 1}},
    {"do": "set", "options": {"transpose": "yes"}},
    {"do": "set", "options": {"level": "high"}},
    {"do": "set", "options": {"level": 2.0}},
    {"do": "set", "options": {"criterion": "luck"}},
    {"do": "set", "options": {"test": "missing.csv"}},
    {"do": "set", "options": {"response_file": "../lab.csv"}},
    {"do": "set", "options": {"cv": "5"}, "why": 7},
    {"do": "prepare", "chain": "snv"},
    {"do": "prepare", "chain": [["snv"]]},
    {"do": "prepare", "chain": [["snv", 1]]},
    {"do": "prepare", "chain": [[3, True]]},
    {"do": "prepare", "chain": [["magic", True]]},
    {"do": "prepare", "chain": [["snv", True]] * 21},
    {"do": "exclude", "rows": [1]},
    {"do": "exclude", "rows": [1], "why": "  "},
    {"do": "exclude", "rows": [1], "why": "x" * 501},
    {"do": "exclude", "rows": [], "why": "x"},
    {"do": "exclude", "rows": [0], "why": "x"},
    {"do": "exclude", "rows": [True], "why": "x"},
    {"do": "exclude", "rows": "1", "why": "x"},
    {"do": "undo"},
    {"do": "redo"},
    {"do": "open", "trial": "x"},
    {"do": "note", "trial": "x", "text": "y"},
    {"do": "release", "trial": None},
    {"do": "predict", "file": "x"},
    {"do": "check", "file": "x"},
    {"do": "adjust", "trial": "x", "kind": "bias", "why": "y"},
    {"do": "upload", "name": "../secret.csv", "sha256": ""},
    {"do": "upload", "name": "/etc/passwd", "sha256": ""},
    {"do": "upload", "name": JOURNAL, "sha256": ""},
    {"do": "upload", "name": "../" + "x" * 120, "sha256": ""},
    {"do": "fitted", "trial": "x"},
    {"do": "fitted", "options": {"file": "/etc/passwd"}, "trial": "x", "summary": None},
    {"do": "set", "options": {"response_file": ["corn.csv"]}},
    {"do": "set", "options": {"response": {"a": 1}}},
    {"do": "set", "options": {"level": float("nan")}},
    {"do": "set", "options": {"response": [["fat"]]}},
    {"do": "table", "file": ["corn.csv"]},
    {"do": "table", "file": "\ud800"},
    {"do": "set", "options": {"response": "\ud800"}},
    {"do": "exclude", "rows": [1], "why": "\udfff"},
    {"do": "exclude", "rows": [10**30], "why": "x"},
    {"do": "release", "trial": "x", "on": "yes"},
    {"do": "open", "trial": {}},
]


@pytest.mark.parametrize("event", REFUSED, ids=str)
def test_an_event_that_is_refused_changes_nothing(session, event):
    state, size = session.state, (session.folder / JOURNAL).stat().st_size
    with pytest.raises(InvalidInputError):
        session.apply(event)
    assert session.state is state
    assert (session.folder / JOURNAL).stat().st_size == size


def test_options_need_a_table():
    event = as_event({"do": "set", "options": {"cv": "5"}})
    with pytest.raises(InvalidInputError):
        after(State(), event, CommandLine())


def test_odd_json_is_refused_with_a_sentence():
    odd = (b"", b"{", b"[]", b'"undo"', b"1e999", b'{"do": NaN}', b'{"do": "\xff"}', b"[" * 10**5)
    for content in odd:
        with pytest.raises(InvalidInputError):
            as_event(content)


# What is applied is on disk, and what is on disk is applied
# ----------------------------------------------------------


class FullDisk:
    """A journal that takes a part of a line, or all of it, and fails."""

    def __init__(self, journal, fails, written):
        self.journal, self.fails, self.written = journal, fails, written

    def write(self, line):
        self.journal.write(line[: self.written])
        self.fail("write")
        return min(len(line), self.written)

    def flush(self):
        self.fail("flush")

    def truncate(self, size):
        self.fail("truncate")
        return self.journal.truncate(size)

    def fail(self, what):
        if what in self.fails:
            raise OSError(errno.ENOSPC, "No space left on device")

    def __getattr__(self, name):
        return getattr(self.journal, name)


@pytest.mark.parametrize("written", [0, 10, 10**6])
@pytest.mark.parametrize("fails", [["write"], ["flush"], ["flush", "truncate"], ["short"]])
def test_an_event_that_is_not_on_disk_is_not_applied_and_does_not_come_back(
    session, fails, written
):
    state, plain = session.state, session._journal
    lines = (session.folder / JOURNAL).read_bytes()
    session._journal = FullDisk(plain, fails, min(written, 20) if fails == ["short"] else written)
    for _ in range(2):
        with pytest.raises(InvalidInputError):
            session.apply({"do": "set", "options": {"cv": "5"}})
        assert session.state is state
    session._journal = plain
    session.apply({"do": "set", "options": {"cv": "10"}})
    added = (session.folder / JOURNAL).read_bytes().removeprefix(lines)
    assert added.count(b"\n") == 1
    replayed = again(session)
    assert replayed.state == session.state
    assert replayed.state.options["cv"] == "10"
    assert replayed.state.revision == state.revision + 1
    replayed.close()


def test_the_disk_has_a_line_before_it_counts(session, monkeypatch):
    def fails(_):
        raise OSError(errno.EIO, "Input/output error")

    state = session.state
    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(InvalidInputError):
        session.apply({"do": "set", "options": {"cv": "5"}})
    with pytest.raises(OSError, match="Input"):
        session.add({"more.csv": TABLE})
    assert session.state is state
    monkeypatch.undo()
    replayed = again(session)
    assert replayed.state == state
    replayed.close()
    assert not (session.folder / "more.csv").exists()


# A journal that somebody else wrote
# ----------------------------------


def written(folder, *events):
    """Write a journal of events as they are."""
    folder.mkdir()
    lines = [one if isinstance(one, str) else json.dumps(one) for one in events]
    (folder / JOURNAL).write_text("\n".join(lines) + "\n")
    (folder / "corn.csv").write_bytes(TABLE)
    return folder


UPLOADED = {"do": "upload", "name": "corn.csv", "sha256": "", "at": ""}
BEGUN = [UPLOADED, {"do": "table", "file": "corn.csv", "at": ""}]


@pytest.mark.parametrize("event", [one for one in REFUSED if one.get("do") != "undo"], ids=str)
def test_what_the_page_may_not_say_a_journal_may_not_say_either(event, tmp_path):
    folder = written(tmp_path / "s", *BEGUN, event)
    size = (folder / JOURNAL).stat().st_size
    with pytest.raises(InvalidInputError, match="line 3"):
        Session(folder, CommandLine())
    # It is left as it is.
    assert (folder / JOURNAL).stat().st_size == size


@pytest.mark.parametrize("line", ["", "nonsense", "[]", '{"do": "tab', "{}", "\x00"])
def test_a_damaged_line_is_named(line, tmp_path):
    folder = written(tmp_path / "s", UPLOADED, line, BEGUN[1])
    with pytest.raises(InvalidInputError, match="line 2"):
        Session(folder, CommandLine())


def test_results_in_a_journal_are_not_believed(tmp_path):
    step = {"do": "set", "options": {"response": ["fat"], "cv": "loo"}, "at": ""}
    options = {"file": "corn.csv", "response": ["fat"], "cv": "loo"}
    forged = {"file": "/etc/passwd", "response_file": "/etc/passwd", "response": ["fat"]}
    key = key_of(options)
    fitted = {"do": "fitted", "trial": key, "options": forged, "summary": None, "at": ""}
    found = Session(written(tmp_path / "s", *BEGUN, step, fitted), CommandLine())
    assert found.state.trials[key].options == options
    assert not hasattr(found.state.trials[key], "summary")
    found.close()


def test_a_session_of_0_4_is_read(tmp_path):
    options = {"file": "corn.csv", "response": ["fat"], "cv": "loo"}
    key = key_of(options)
    events = [
        *BEGUN,
        {"do": "set", "options": {"response": ["fat"]}, "why": "guessed", "at": "2026-11-01"},
        {"do": "set", "options": {"cv": "loo"}, "why": "", "at": "2026-11-01"},
        {
            "do": "fitted",
            "trial": key,
            "options": options,
            "summary": {"response": "fat", "model": "2 components", "errors": {}},
            "at": "2026-11-01",
        },
        {"do": "note", "trial": key, "text": "good", "at": "2026-11-01"},
        {"do": "release", "trial": key, "on": True, "at": "2026-11-01"},
        {"do": "prepare", "chain": [["snv", True]], "at": "2026-11-01"},
        {"do": "exclude", "rows": [2], "why": "typing error", "at": "2026-11-01"},
        {"do": "undo", "at": "2026-11-01"},
        {"do": "open", "trial": key, "at": "2026-11-01"},
    ]
    found = Session(written(tmp_path / "s", *events), CommandLine())
    assert found.state.options == options
    assert found.state.trials[key] == Trial(options=options, note="good", released=True)
    found.close()


# Who may read a session, and who removes it
# ------------------------------------------


@pytest.mark.skipif(os.name == "nt", reason="Windows has no modes of files")
def test_nobody_else_may_read_a_session(session, tmp_path):
    session.add({"a.csv": TABLE}, "more")
    found = opened(session.saved(), tmp_path / "t", CommandLine())
    for folder in (session.folder, found.folder):
        for one in [folder, *folder.rglob("*")]:
            assert stat.S_IMODE(one.stat().st_mode) == (0o700 if one.is_dir() else 0o600), one
    found.close()


def test_sessions_are_listed_by_their_last_use(tmp_path):
    for name, used in {"first": 3e8, "second": 2e8, "third": 1e8}.items():
        os.utime(written(tmp_path / name, *BEGUN) / JOURNAL, (used, used))
    (tmp_path / "0000-mynotes").mkdir()
    assert [one["name"] for one in sessions_in(tmp_path)] == ["first", "second", "third"]
    old = Session(tmp_path / "third", CommandLine())
    assert [one["name"] for one in sessions_in(tmp_path)][-1] == "third"
    old.apply({"do": "set", "options": {"response": ["fat"]}})
    old.close()
    newest, *_ = sessions_in(tmp_path)
    assert (newest["name"], newest["table"], newest["response"]) == ("third", "corn.csv", "fat")


def test_a_session_is_removed_with_its_own_files_only(session, tmp_path):
    session.add({"a.csv": TABLE, "b.csv": TABLE}, "more")
    (session.folder / "notes.txt").write_text("mine")
    with pytest.raises(InvalidInputError):  # it is open
        remove(session.folder)
    session.close()
    remove(session.folder)
    assert [one.name for one in session.folder.iterdir()] == ["notes.txt"]
    hostile = written(tmp_path / "h", {"do": "upload", "name": "../s/notes.txt", "sha256": ""})
    remove(hostile)
    assert (session.folder / "notes.txt").read_text() == "mine"


def test_files_of_others_in_the_folder_are_not_overwritten(session):
    (session.folder / "new.csv").write_text("mine")
    assert session.add({"new.csv": TABLE}) == "new-2.csv"
    assert (session.folder / "new.csv").read_text() == "mine"


def test_half_a_line_that_a_crash_left_is_forgotten(session):
    session.apply({"do": "set", "options": {"response": ["fat"]}})
    state = session.state
    session.close()
    with (session.folder / JOURNAL).open("ab") as journal:
        journal.write(b'{"do": "exclude", "ro')
    replayed = Session(session.folder, CommandLine())
    assert replayed.state == state
    replayed.apply({"do": "set", "options": {"cv": "5"}})
    last = again(replayed)
    assert last.state.options["cv"] == "5"
    last.close()


@pytest.mark.parametrize("text", ["dear diary", '{"do" : "', '{"do":"undo"}\nmore'])
def test_what_a_crash_did_not_leave_is_not_overwritten(text, tmp_path):
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / JOURNAL).write_text(text)
    with pytest.raises(InvalidInputError):
        Session(folder, CommandLine())
    assert (folder / JOURNAL).read_text() == text


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
@pytest.mark.parametrize("linked", [JOURNAL, "corn.csv", "folder/part.csv"])
def test_links_of_a_session_are_not_followed(linked, tmp_path):
    folder, secret = written(tmp_path / "s", *BEGUN, UPLOADED | {"name": "folder"}), tmp_path / "x"
    (folder / "folder").mkdir()
    target = folder / linked
    secret.write_bytes(target.read_bytes() if target.exists() else b"secret")
    target.unlink(missing_ok=True)
    target.symlink_to(secret)
    with pytest.raises(InvalidInputError, match="link to another place"):
        Session(folder, CommandLine())
    assert all(one["name"] != "s" for one in sessions_in(tmp_path)) == (linked == JOURNAL)


@pytest.mark.parametrize(
    ("given", "kept"), [("fat", ["fat"]), (5, ["5"]), ([1, "fat"], ["1", "fat"])]
)
def test_responses_are_names_of_columns(session, given, kept):
    session.apply({"do": "set", "options": {"response": given}})
    assert session.state.options["response"] == kept


def test_a_session_is_open_once(session):
    with pytest.raises(InvalidInputError, match="another process"):
        Session(session.folder, CommandLine())


def test_files_of_one_name_and_other_content_get_another_name(session):
    assert session.add({"corn.csv": TABLE}) == "corn.csv"
    assert session.add({"corn.csv": TABLE + b"d,5,1,2\n"}) == "corn-2.csv"
    assert session.add({"../x/corn.csv": TABLE}) == "corn.csv"
    assert session.add({JOURNAL: TABLE}) == "journal-2.jsonl"
    assert session.add({"a.csv": TABLE, "b.csv": TABLE}, "my folder") == "my folder"
    assert sorted(one.name for one in (session.folder / "my folder").iterdir()) == [
        "a.csv",
        "b.csv",
    ]
    assert len(session.state.files) == 4


def test_a_saved_session_is_the_same_when_it_is_opened(session, tmp_path):
    session.add({"a.csv": TABLE, "b.csv": TABLE}, "more")
    session.apply({"do": "set", "options": {"response": ["fat"]}})
    found = opened(session.saved(), tmp_path / "t", CommandLine())
    assert found.state == session.state
    assert (found.folder / "corn.csv").read_bytes() == TABLE
    assert (found.folder / "more" / "b.csv").read_bytes() == TABLE
    found.close()


def archive(**files):
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as made:
        for name, content in files.items():
            made.writestr(name, content)
    return target.getvalue()


UPLOAD = json.dumps({"do": "upload", "name": "x", "sha256": "", "at": ""}) + "\n"


def with_entry(**numbers):
    """Return an archive whose directory says something else of its first file."""
    content = bytearray(archive(**{JOURNAL: UPLOAD, "x": "1"}))
    entry = content.index(b"PK\1\2")
    for name, value in numbers.items():
        place = entry + {"flags": 8, "packed": 20, "size": 24}[name]
        content[place : place + 4] = value.to_bytes(4, "little")
    return bytes(content)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"PK\x03\x04 not a zip",
        archive(other="x"),
        archive(**{JOURNAL: "not json\n"}),
        archive(**{JOURNAL: "[]\n"}),
        archive(**{JOURNAL: '{"do": "upload"}\n'}),
        archive(**{JOURNAL: '{"do": "exclude", "rows": [1], "why": "x", "at": ""}\n'}),
        archive(**{JOURNAL: UPLOAD, "../evil": "x"}),
        archive(**{JOURNAL: UPLOAD, "/etc/evil": "x"}),
        archive(**{JOURNAL: UPLOAD, "a/b/c": "x"}),
        with_entry(packed=10**6, size=10**6),
        with_entry(flags=1),  # encrypted
    ],
)
def test_what_is_not_a_saved_session_is_refused_and_writes_nothing_outside(content, tmp_path):
    with pytest.raises(InvalidInputError):
        opened(content, tmp_path / "home" / "t", CommandLine())
    assert [one.name for one in tmp_path.iterdir()] in ([], ["home"])


def test_a_zip_that_would_fill_the_disk_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("plsdof.workbench.app.session.MOST_BYTES", 1000)
    assert MOST_BYTES > 1000
    with pytest.raises(InvalidInputError):
        opened(archive(**{JOURNAL: UPLOAD, "x": "0" * 10_000}), tmp_path / "t", CommandLine())


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("corn week 3.csv", "corn week 3.csv"),
        ("C:\\data\\corn.csv", "corn.csv"),
        ("/etc/passwd", "passwd"),
        ("..", "table"),
        ("", "table"),
        (".hidden", "hidden"),
        ("-o.csv", "o.csv"),
        ("<img src=x>.csv", "_img src_x_.csv"),
        ("a\x00b\nc.csv", "a_b_c.csv"),
        ("é" * 300 + ".csv", "é" * 96 + ".csv"),
    ],
)
def test_names_of_files_are_harmless(name, plain):
    assert plain_name(name) == plain
    assert plain_name(plain) == plain
