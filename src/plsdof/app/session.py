"""A session is a list of events; everything the page shows follows from them.

Each event is one line of a journal next to the uploaded files, and the state is the fold of all
events: nothing else is stored. Undo is a pointer into the list of steps, a crash loses nothing that
was answered, and a saved session is a zip of the journal and the files.
"""

import hashlib
import io
import json
import os
import re
import sys
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from plsdof.analysis import Analysis
from plsdof.analysis.classes import ClassAnalysis
from plsdof.analysis.remarks import in_ranges
from plsdof.chemometrics.checks import Kind
from plsdof.errors import InvalidInputError
from plsdof.files.tables import Table

Options = dict[str, Any]
Event = dict[str, Any]

JOURNAL = "journal.jsonl"
# Text that a person writes: a reason, a note. Rows and steps of one event.
_MOST_TEXT, _MOST_ITEMS = 500, 100_000
# A session that is opened again holds at most so many bytes: twice what one upload may have.
MOST_BYTES = 400_000_000


class Tools(Protocol):
    """What a session needs of the command line, whose options it sets and whose work it shows."""

    def check(self, options: Options) -> None:
        """Refuse options that contradict each other or do not exist."""

    def command(self, options: Options) -> list[str]:
        """Return the words of the command line that does the same."""

    def table(self, options: Options) -> Table:
        """Return the table that is read, joined if that is asked for."""

    def fit(self, options: Options, **files: Path) -> Analysis | ClassAnalysis:
        """Return the analysis, and write files such as ``report`` or ``model``."""

    def predict(self, model: Path, table: Path) -> dict[str, Any]:
        """Return predictions of the rows of a table: columns, limits, notes."""

    def check_calibration(self, model: Path, table: Path) -> dict[str, Any]:
        """Return tests of a model by rows with reference values, and a control chart."""

    def adjust(self, model: Path, table: Path, kind: Kind, reason: str) -> None:
        """Correct bias or slope of a model by such rows, in its file."""


# The state
# ---------


@dataclass(frozen=True, kw_only=True)
class Step:
    """One step of the work: what was done, when and why, and the options after it."""

    words: str
    at: str
    why: str
    options: Options


@dataclass(frozen=True, kw_only=True)
class State:
    """What all events come to.

    Attributes
    ----------
    files : dict
        Uploaded files and folders, and their SHA-256.
    steps : tuple of Step
        All steps of the current line of work; those after ``place`` can be redone.
    place : int
        How many of them are done.
    trials : dict
        Every fit that was made, by the hash of its options: ``options``, ``summary``, ``note``,
        ``released``.
    chosen : dict
        Names of the files that are predicted ("predict") and checked by ("check").
    adjusted : dict
        Corrections of models by the key of their trial: ``file``, ``kind`` and ``why``.
    revision : int
        Number of events so far, without results: a page that knows an older one is behind.
    """

    files: dict[str, str] = field(default_factory=dict)
    steps: tuple[Step, ...] = ()
    place: int = 0
    trials: dict[str, dict[str, Any]] = field(default_factory=dict)
    chosen: dict[str, str] = field(default_factory=dict)
    adjusted: dict[str, dict[str, Any]] = field(default_factory=dict)
    revision: int = 0

    @property
    def options(self) -> Options:
        """What is asked for now: options of ``plsdof fit`` by name, ``chain`` and ``excluded``."""
        return self.steps[self.place - 1].options if self.place else {}


def key_of(options: Options) -> str:
    """Return what tells options apart: the same ones in another order have the same key."""
    text = json.dumps(options, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def arguments(options: Options) -> Options:
    """Return the options of the command line: without steps that are switched off, and reasons."""
    found = {name: value for name, value in options.items() if name not in ("chain", "excluded")}
    steps = [text for text, is_on in options.get("chain", ()) if is_on]
    if steps:
        found["preprocess"] = ",".join(steps)
    rows = sorted(map(int, options.get("excluded", ())))
    if rows:
        found["exclude_rows"] = [in_ranges(rows)]
    return found


# Events
# ------


def _text(value: Any, what: str) -> str:
    if not isinstance(value, str) or len(value) > _MOST_TEXT:
        raise InvalidInputError(f"{what} must be text of at most {_MOST_TEXT} characters.")
    return value


def _reason(event: Event) -> str:
    why = _text(event.get("why", ""), "a reason").strip()
    if not why:
        raise InvalidInputError("a reason is needed; say why in a few words.")
    return why


def _rows(event: Event) -> list[str]:
    rows = event.get("rows")
    if not isinstance(rows, list) or not 0 < len(rows) <= _MOST_ITEMS:
        raise InvalidInputError("rows must be a list of row numbers.")
    if any(type(row) is not int or row < 1 for row in rows):
        raise InvalidInputError("rows are given by their numbers in the table, from 1.")
    return [str(row) for row in rows]


def _known(state: State, name: Any) -> str:
    if name not in state.files:
        raise InvalidInputError(f"no uploaded file is called {str(name)[:80]!r}; upload it first.")
    return str(name)


def _table(state: State, event: Event) -> tuple[Options, str]:
    name = _known(state, event.get("file"))
    return {"file": name}, f"Table {name}"


def _set(state: State, event: Event) -> tuple[Options, str]:
    given = event.get("options")
    if not isinstance(given, dict) or not given:
        raise InvalidInputError("options must name at least one option of plsdof fit.")
    if {"file", "chain", "excluded", "preprocess", "exclude_rows"} & set(given):
        raise InvalidInputError("the table, steps and rows have events of their own.")
    for name in ("response_file", "test"):
        if given.get(name) is not None:
            _known(state, given[name])
    merged = {**state.options, **given}
    found = {name: value for name, value in merged.items() if value not in (None, [], "")}
    said = ", ".join(f"{name.replace('_', ' ')} {_shown(value)}" for name, value in given.items())
    return found, said[:1].upper() + said[1:]


def _shown(value: Any) -> str:
    if value in (None, [], ""):
        return "default"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _prepare(state: State, event: Event) -> tuple[Options, str]:
    chain = event.get("chain")
    if not isinstance(chain, list) or len(chain) > 20:
        raise InvalidInputError("chain must be a list of at most 20 steps.")
    for one in chain:
        if not (isinstance(one, list) and len(one) == 2 and type(one[1]) is bool):
            raise InvalidInputError('a step is a pair such as ["snv", true].')
        _text(one[0], "a step")
    on = ", ".join(text for text, is_on in chain if is_on) or "none"
    return {**state.options, "chain": chain}, f"Preprocessing: {on}"


def _exclude(state: State, event: Event) -> tuple[Options, str]:
    rows, why = _rows(event), _reason(event)
    found = {**state.options.get("excluded", {}), **dict.fromkeys(rows, why)}
    return {**state.options, "excluded": found}, f"Excluded {_counted(rows)}"


def _include(state: State, event: Event) -> tuple[Options, str]:
    rows = _rows(event)
    before = state.options.get("excluded", {})
    found = {row: why for row, why in before.items() if row not in rows}
    return {**state.options, "excluded": found}, f"Brought back {_counted(rows)}"


def _counted(rows: Sequence[str]) -> str:
    shown = in_ranges(sorted(map(int, rows)))
    return f"row {shown}" if len(rows) == 1 else f"{len(rows)} rows: {shown[:80]}"


def _open(state: State, event: Event) -> tuple[Options, str]:
    trial = state.trials.get(str(event.get("trial")))
    if trial is None:
        raise InvalidInputError("this trial does not exist.")
    return dict(trial["options"]), f"Back to trial {list(state.trials).index(event['trial']) + 1}"


# Events that change the options: each is a step, which can be undone.
_STEPS: dict[str, Callable[[State, Event], tuple[Options, str]]] = {
    "table": _table,
    "set": _set,
    "prepare": _prepare,
    "exclude": _exclude,
    "include": _include,
    "open": _open,
}


def _uploaded(state: State, event: Event) -> State:
    return replace(state, files={**state.files, _text(event["name"], "a name"): event["sha256"]})


def _fitted(state: State, event: Event) -> State:
    known = state.trials.get(event["trial"], {"note": "", "released": False})
    made = {**known, "options": event["options"], "summary": event["summary"], "at": event["at"]}
    return replace(state, trials={**state.trials, event["trial"]: made})


def _about_trial(state: State, event: Event) -> State:
    key = str(event.get("trial"))
    if key not in state.trials:
        raise InvalidInputError("this trial does not exist.")
    trials = {name: dict(trial) for name, trial in state.trials.items()}
    if event["do"] == "note":
        trials[key]["note"] = _text(event.get("text", ""), "a note")
    else:
        response = trials[key]["options"].get("response")
        for name, trial in trials.items():  # one model per response is released
            if name == key or trial["options"].get("response") == response:
                trial["released"] = name == key and bool(event.get("on", True))
    return replace(state, trials=trials)


def _moved(state: State, event: Event) -> State:
    place = state.place + {"undo": -1, "redo": 1}[event["do"]]
    if not 1 <= place <= len(state.steps):
        raise InvalidInputError(f"there is nothing to {event['do']}.")
    return replace(state, place=place)


def _choose(state: State, event: Event) -> State:
    return replace(state, chosen={**state.chosen, event["do"]: _known(state, event.get("file"))})


def _adjust(state: State, event: Event) -> State:
    trial, kind = str(event.get("trial")), event.get("kind")
    if trial not in state.trials or kind not in ("bias", "slope", "none"):
        raise InvalidInputError("bias or slope of a trial is adjusted, or none.")
    adjusted = {name: one for name, one in state.adjusted.items() if name != trial}
    if kind != "none":
        file = _known(state, state.chosen.get("check"))
        adjusted[trial] = {"file": file, "kind": kind, "why": _reason(event)}
    return replace(state, adjusted=adjusted)


_OTHERS: dict[str, Callable[[State, Event], State]] = {
    "upload": _uploaded,
    "fitted": _fitted,
    "note": _about_trial,
    "release": _about_trial,
    "undo": _moved,
    "redo": _moved,
    "predict": _choose,
    "check": _choose,
    "adjust": _adjust,
}
# What only the server says: the page cannot name a file that it did not upload, nor a result.
INTERNAL = frozenset({"upload", "fitted"})


def after(state: State, event: Event, tools: Tools) -> State:
    """Return the state after an event; one that is refused raises and changes nothing."""
    kind = event.get("do") if isinstance(event, dict) else None
    state = replace(state, revision=state.revision + (kind != "fitted"))
    if kind in _OTHERS:
        return _OTHERS[kind](state, event)
    if kind not in _STEPS:
        raise InvalidInputError(
            f"no event {str(kind)[:40]!r}; there are {', '.join([*_STEPS, *_OTHERS])}."
        )
    options, words = _STEPS[kind](state, event)
    if "file" not in options:
        raise InvalidInputError("choose a table first.")
    tools.check(arguments(options))
    why = _text(event.get("why", ""), "a reason")
    step = Step(words=words, at=event["at"], why=why, options=options)
    return replace(state, steps=(*state.steps[: state.place], step), place=state.place + 1)


# The journal
# -----------


class Session:
    """Events in a journal, and the state that they come to.

    Parameters
    ----------
    folder : Path
        Where the journal and the uploaded files are; what is there already is read again.
    tools : Tools
    """

    def __init__(self, folder: Path, tools: Tools) -> None:
        self.folder, self.tools = folder, tools
        self.state = State()
        folder.mkdir(parents=True, exist_ok=True)
        self._journal = (folder / JOURNAL).open("ab")
        try:
            _lock(self._journal)
            whole = 0
            for line in (folder / JOURNAL).read_bytes().splitlines(keepends=True):
                if not line.endswith(b"\n"):  # a crash may leave half a line at the end
                    break
                self.state = after(self.state, json.loads(line), tools)
                whole += len(line)
            self._journal.truncate(whole)
        except BaseException:
            self._journal.close()
            raise

    def apply(self, event: Event) -> State:
        """Check an event, write it to the journal, and return the new state."""
        dated = {**event, "at": datetime.now(UTC).isoformat(timespec="seconds")}
        state = after(self.state, dated, self.tools)
        self._journal.write(json.dumps(dated).encode() + b"\n")
        self._journal.flush()
        os.fsync(self._journal.fileno())
        self.state = state
        return state

    def close(self) -> None:
        """Close the journal."""
        self._journal.close()

    # Files
    # -----

    def add(self, files: Mapping[str, bytes], folder: str = "") -> str:
        """Keep a file, or the files of a folder, under a harmless name, and return this."""
        parts = {plain_name(name): content for name, content in files.items()}
        digest = hashlib.sha256(b"".join(parts[name] for name in sorted(parts))).hexdigest()
        wanted = plain_name(folder) if folder else next(iter(parts))
        name, number = wanted, 1
        while self.state.files.get(name, digest) != digest or name == JOURNAL:
            number += 1
            name = f"{Path(wanted).stem}-{number}{Path(wanted).suffix}"
        if name not in self.state.files:
            target = self.folder / name
            if folder:
                target.mkdir(exist_ok=True)
            for part, content in parts.items():
                (target / part if folder else target).write_bytes(content)
            self.apply({"do": "upload", "name": name, "sha256": digest})
        return name

    # A session in one file
    # ---------------------

    def saved(self) -> bytes:
        """Return the journal and all files as one zip."""
        self._journal.flush()
        target = io.BytesIO()
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.write(self.folder / JOURNAL, JOURNAL)
            for name in self.state.files:
                file = self.folder / name
                for part in sorted(file.iterdir()) if file.is_dir() else [file]:
                    archive.write(part, part.relative_to(self.folder).as_posix())
        return target.getvalue()


def _lock(journal: BinaryIO) -> None:
    """Keep other processes from a journal as long as it is open."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(journal.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(journal, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise InvalidInputError("the session is open in another process.") from error


def opened(content: bytes, folder: Path, tools: Tools) -> Session:
    """Unpack a saved session into an empty folder; what is not one is refused."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = archive.infolist()
            names = [one.filename for one in entries]
            if JOURNAL not in names or sum(one.file_size for one in entries) > MOST_BYTES:
                raise InvalidInputError("the file is not a saved session, or it is too large.")
            for name in names:
                parts = name.split("/")
                if len(parts) > 2 or any(part != plain_name(part) for part in parts):
                    raise InvalidInputError(f"a saved session has no file {name[:80]!r}.")
            folder.mkdir(parents=True)
            archive.extractall(folder)
        return Session(folder, tools)
    except (zipfile.BadZipFile, ValueError, KeyError, TypeError, NotImplementedError) as error:
        if isinstance(error, InvalidInputError):
            raise
        raise InvalidInputError("the file is not a saved session of plsdof app.") from error


def plain_name(name: str) -> str:
    """Return a file name without folders, control characters and what shells or systems read.

    Examples
    --------
    >>> plain_name("../../etc/passwd"), plain_name("-rf <b>.csv"), plain_name("..")
    ('passwd', 'rf _b_.csv', 'table')
    """
    last = re.split(r"[/\\]", name)[-1]
    return re.sub(r"[^\w.() +-]", "_", last)[-100:].lstrip(".- ").rstrip(". ") or "table"
