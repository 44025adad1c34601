"""A session is a list of events; everything the page shows follows from them.

Each event is one line of a journal next to the uploaded files, and the state is the fold of all
events: nothing else is stored. Undo is a pointer into the list of steps, a crash loses nothing that
was answered, and a saved session is a zip of the journal and the files. An event is checked by one
function, whether it comes from the page or is read again from a journal, which anybody may have
written; results are not stored but computed.
"""

import hashlib
import io
import json
import os
import re
import shutil
import sys
import threading
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import reduce
from io import FileIO
from operator import or_
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Protocol

import msgspec

from plsdof._core.display import plural
from plsdof.chemometrics.checks import Kind
from plsdof.errors import InvalidInputError
from plsdof.workbench.analysis import Analysis
from plsdof.workbench.analysis.classes import ClassAnalysis
from plsdof.workbench.analysis.data import TableProblem
from plsdof.workbench.analysis.result import Result
from plsdof.workbench.tables.columns import in_ranges
from plsdof.workbench.tables.table import Table

Options = dict[str, Any]

JOURNAL = "journal.jsonl"
# How every line of it begins.
_EVENT = b'{"do":'
# A session that is opened again holds at most so many bytes: twice what one upload may have.
MOST_BYTES = 400_000_000


class Tools(Protocol):
    """What a session needs of the command line, whose options it sets and whose work it shows."""

    def check(self, options: Options) -> None:
        """Refuse options that contradict each other or do not exist."""

    def command(self, options: Options) -> list[str]:
        """Return the words of the command line that does the same."""

    def python(self, options: Options) -> str:
        """Return lines of Python that do the same."""

    def table(self, options: Options) -> Table:
        """Return the table that is read, joined if that is asked for."""

    def problem(self, options: Options) -> TableProblem:
        """Return the rows and columns that are fitted."""

    def fit(self, options: Options, **files: Path) -> Analysis | ClassAnalysis:
        """Return the analysis, and write files such as ``report`` or ``model``."""

    def predict(self, model: Path, table: Path, level: float) -> Result:
        """Return predictions of the rows of a table."""

    def check_calibration(self, model: Path, table: Path, level: float) -> Result:
        """Return tests of a model by rows with reference values, and a control chart."""

    def adjust(self, model: Path, table: Path, kind: Kind, reason: str) -> Result:
        """Correct bias or slope of a model by such rows, in its file; return what that changes."""


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
class Trial:
    """A fit that was looked at: its options, a note on it, and whether it predicts."""

    options: Options
    note: str = ""
    released: bool = False


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
    known : dict
        All options that there ever were, by their key.
    trials : dict
        Every fit that was looked at, by the key of its options.
    chosen : dict
        Names of the files that are predicted ("predict") and checked by ("check").
    adjusted : dict
        Corrections of models by the key of their trial: ``file``, ``kind`` and ``why``.
    revision : int
        Number of events so far, without fits: a page that knows an older one is behind.
    """

    files: dict[str, str] = field(default_factory=dict)
    steps: tuple[Step, ...] = ()
    place: int = 0
    known: dict[str, Options] = field(default_factory=dict)
    trials: dict[str, Trial] = field(default_factory=dict)
    chosen: dict[str, str] = field(default_factory=dict)
    adjusted: dict[str, dict[str, Any]] = field(default_factory=dict)
    revision: int = 0

    @property
    def options(self) -> Options:
        """What is asked for now: options of ``plsdof fit`` by name, ``chain`` and ``excluded``."""
        return self.steps[self.place - 1].options if self.place else {}

    def trial(self, key: str) -> Trial:
        """Return a trial; one that does not exist is refused."""
        if key not in self.trials:
            raise InvalidInputError("this trial does not exist.")
        return self.trials[key]

    def file(self, name: str | None) -> str:
        """Return the name of an uploaded file; another one is refused."""
        if name is None or name not in self.files:
            raise InvalidInputError(f"no uploaded file is called {str(name)[:80]!r}; upload it.")
        return name


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


def in_words(options: Options) -> str:
    """Return what a model was made with, without its table and response.

    Examples
    --------
    >>> in_words({"file": "a.csv", "chain": [["snv", True]], "cv": "5", "excluded": {"3": "x"}})
    'snv, cross-validation: 5 folds, 1 row excluded'
    """
    own = ("file", "response", "chain", "excluded")
    said = _steps(options.get("chain", ()))
    said += [_said(name, value) for name, value in options.items() if name not in own]
    said += [f"{plural(len(rows), 'row')} excluded"] if (rows := options.get("excluded")) else []
    return ", ".join(said) or "as measured"


# What the page offers to set: its name, and values with the words for them, the default first.
SETTINGS: dict[str, tuple[str, tuple[tuple[Any, str], ...]]] = {
    "method": ("Method", ((None, "PLS"), ("pcr", "PCR"), ("ridge", "ridge"))),
    "criterion": (
        "Size chosen by",
        ((None, "cross-validation"), ("average", "weighted average of sizes"), ("bic", "BIC"),
         ("aic", "AIC"), ("gcv", "GCV"), ("gmdl", "gMDL")),
    ),
    "cv": (
        "Cross-validation",
        ((None, "default"), ("loo", "leave one out"), ("5", "5 folds"), ("10", "10 folds"),
         ("20", "20 folds")),
    ),
    "scale": ("Scaling", ((None, "default"), (True, "unit variance"), (False, "centred only"))),
    "split": (
        "Test set",
        ((None, "none"), ("random:0.3", "30 % at random"),
         ("kennard-stone:0.3", "30 % by Kennard-Stone"), ("spxy:0.3", "30 % by SPXY"),
         ("duplex:0.3", "30 % by DUPLEX"), ("last:0.3", "the last 30 %")),
    ),
    "missing": (
        "Missing values",
        ((None, "not allowed"), ("drop", "leave out the rows"), ("interpolate", "interpolate"),
         ("impute", "impute")),
    ),
    "components": ("Components", ((None, "recommended"),)),
    "max_components": (
        "Most components", ((None, "default"), (5, "5"), (10, "10"), (20, "20"), (40, "40")),
    ),
    "level": ("Interval level", ((None, "95 %"), (0.9, "90 %"), (0.99, "99 %"))),
}  # fmt: skip
# What other options are called in the history and in the list of trials.
_CALLED = {
    "groups": "kept together",
    "label": "samples named by",
    "features": "only columns",
    "exclude": "without columns",
    "na": "codes of missing values",
    "ids_alike": "names that differ by signs are the same",
    "response_file": "reference values",
    "test": "test set",
    "header_row": "line with the names",
    "transpose": "names in the first column",
}


def _said(name: str, value: Any) -> str:
    """Say what an option is set to."""
    called, values = SETTINGS.get(name, (_CALLED.get(name, name.replace("_", " ")), ()))
    words = next((words for known, words in values if known == value), _shown(value))
    return f"{called[:1].lower()}{called[1:]}: {words}"


def _steps(chain: Sequence[Sequence[Any]]) -> list[str]:
    """Name the steps of preprocessing that are switched on."""
    on = [text for text, is_on in chain if is_on]
    return ["preparation chosen automatically" if one == "auto" else one for one in on]


def plain_name(name: str, most: int = 100) -> str:
    """Return a file name without folders, control characters and what shells or systems read.

    Examples
    --------
    >>> plain_name("../../etc/passwd"), plain_name("-rf <b>.csv"), plain_name("..")
    ('passwd', 'rf _b_.csv', 'table')
    """
    last = re.split(r"[/\\]", name)[-1]
    return re.sub(r"[^\w.() +-]", "_", last)[-most:].lstrip(".- ").rstrip(". ") or "table"


# Events
# ------

# Text that a person writes, rows and steps of one event: not without end.
Text = Annotated[str, msgspec.Meta(max_length=500)]
Reason = Annotated[str, msgspec.Meta(max_length=500, pattern=r"\S")]
Row = Annotated[int, msgspec.Meta(ge=1, le=10**9)]
Rows = Annotated[list[Row], msgspec.Meta(min_length=1, max_length=100_000)]
Chain = Annotated[list[tuple[Text, bool]], msgspec.Meta(max_length=20)]
Value = str | int | float | bool | list[str | int | float] | None
# What has events of its own, and options that name a file.
_APART = frozenset({"file", "chain", "excluded", "preprocess", "exclude_rows"})
_FILES = ("response_file", "test")


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="do"):
    """Something that was done, and when."""

    at: Text = ""
    # What only the server says: the page names no file that it did not upload, and no result.
    internal: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Refuse names that lead out of the folder of the session."""
        for name in (getattr(self, "file", None), getattr(self, "name", None)):
            if name is not None and (name != plain_name(name, 120) or name == JOURNAL):
                raise ValueError(f"{name[:80]!r} is not a plain name of a file")

    def after(self, state: State, tools: Tools) -> State:
        """Return the state after this event; raise if it is refused."""
        raise NotImplementedError


class Stepping(Event, frozen=True, kw_only=True):
    """An event that changes the options: a step, which can be undone."""

    why: Text = ""

    def step(self, state: State) -> tuple[Options, str]:
        """Return the options after this step, and what was done in words."""
        raise NotImplementedError

    def after(self, state: State, tools: Tools) -> State:
        """Return the state after this step; options that contradict each other are refused."""
        options, words = self.step(state)
        if "file" not in options:
            raise InvalidInputError("choose a table first.")
        tools.check(arguments(options))
        step = Step(words=words, at=self.at, why=self.why.strip(), options=options)
        steps, known = (*state.steps[: state.place], step), {key_of(options): options}
        return replace(state, steps=steps, place=state.place + 1, known=state.known | known)


class Begin(Stepping, frozen=True, kw_only=True, tag="table"):
    """A table is taken."""

    file: Text

    def step(self, state: State) -> tuple[Options, str]:  # noqa: D102
        return {"file": state.file(self.file)}, f"Table {self.file}"


class Set(Stepping, frozen=True, kw_only=True, tag="set"):
    """Options of ``plsdof fit`` are set, or with null or nothing taken back."""

    options: Annotated[dict[Text, Value], msgspec.Meta(min_length=1, max_length=100)]

    def step(self, state: State) -> tuple[Options, str]:  # noqa: D102
        if _APART & set(self.options):
            raise InvalidInputError("the table, steps and rows have events of their own.")
        for name in _FILES:
            if self.options.get(name) is not None:
                state.file(str(self.options[name]))
        merged = {**state.options, **self.options}
        found = {name: value for name, value in merged.items() if not _is_nothing(value)}
        if "response" in found:  # columns, however they were named
            given = found["response"]
            found["response"] = [
                str(one) for one in (given if isinstance(given, list) else [given])
            ]
        words = ", ".join(_said(name, value) for name, value in self.options.items())
        return found, words[:1].upper() + words[1:]


def _is_nothing(value: Value) -> bool:
    return value is None or value in ("", [])


def _shown(value: Value) -> str:
    if _is_nothing(value):
        return "default"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


class Prepare(Stepping, frozen=True, kw_only=True, tag="prepare"):
    """The chain of preprocessing steps is replaced; each is on or off."""

    chain: Chain

    def step(self, state: State) -> tuple[Options, str]:  # noqa: D102
        on = ", ".join(_steps(self.chain)) or "none"
        chain = [list(one) for one in self.chain]
        return {**state.options, "chain": chain}, f"Preprocessing: {on}"


class Exclude(Stepping, frozen=True, kw_only=True, tag="exclude"):
    """Rows are left out, for a reason."""

    rows: Rows
    why: Reason

    def step(self, state: State) -> tuple[Options, str]:  # noqa: D102
        why = self.why.strip()
        found = state.options.get("excluded", {}) | dict.fromkeys(map(str, self.rows), why)
        return {**state.options, "excluded": found}, f"Excluded {_counted(self.rows)}"


class Include(Stepping, frozen=True, kw_only=True, tag="include"):
    """Rows are brought back."""

    rows: Rows

    def step(self, state: State) -> tuple[Options, str]:  # noqa: D102
        back, before = set(map(str, self.rows)), state.options.get("excluded", {})
        found = {row: why for row, why in before.items() if row not in back}
        return {**state.options, "excluded": found}, f"Brought back {_counted(self.rows)}"


def _counted(rows: Sequence[int]) -> str:
    shown = in_ranges(sorted(rows))
    return f"row {shown}" if len(rows) == 1 else f"{len(rows)} rows: {shown[:80]}"


class Open(Stepping, frozen=True, kw_only=True, tag="open"):
    """The options of a trial are taken."""

    trial: Text

    def step(self, state: State) -> tuple[Options, str]:  # noqa: D102
        options = dict(state.trial(self.trial).options)
        return options, f"Back to trial {list(state.trials).index(self.trial) + 1}"


class Undo(Event, frozen=True, tag="undo"):
    """The last step is undone."""

    by: ClassVar[int] = -1

    def after(self, state: State, tools: Tools) -> State:  # noqa: ARG002, D102
        place = state.place + self.by
        if not 1 <= place <= len(state.steps):
            raise InvalidInputError(f"there is nothing to {'undo' if self.by < 0 else 'redo'}.")
        return replace(state, place=place)


class Redo(Undo, frozen=True, tag="redo"):
    """What was undone is done again."""

    by: ClassVar[int] = 1


class Upload(Event, frozen=True, kw_only=True, tag="upload"):
    """A file, or a folder of files, is there."""

    name: Text
    sha256: Text
    internal: ClassVar[bool] = True

    def after(self, state: State, tools: Tools) -> State:  # noqa: ARG002, D102
        return replace(state, files={**state.files, self.name: self.sha256})


class Fitted(Event, frozen=True, kw_only=True, tag="fitted"):
    """A fit was looked at: which one, not what came out, which is computed when it is asked for."""

    trial: Text
    internal: ClassVar[bool] = True

    def after(self, state: State, tools: Tools) -> State:  # noqa: ARG002, D102
        if self.trial not in state.known:
            raise InvalidInputError("this fit belongs to no step of the session.")
        made = state.trials.get(self.trial, Trial(options=state.known[self.trial]))
        return replace(state, trials={**state.trials, self.trial: made})


class Note(Event, frozen=True, kw_only=True, tag="note"):
    """A trial gets a note."""

    trial: Text
    text: Text = ""

    def after(self, state: State, tools: Tools) -> State:  # noqa: ARG002, D102
        noted = replace(state.trial(self.trial), note=self.text)
        return replace(state, trials={**state.trials, self.trial: noted})


class Release(Event, frozen=True, kw_only=True, tag="release"):
    """A trial is to predict its response, and no other one; or not any more."""

    trial: Text
    on: bool = True

    def after(self, state: State, tools: Tools) -> State:  # noqa: ARG002, D102
        response = state.trial(self.trial).options.get("response")
        trials = {
            key: replace(one, released=key == self.trial and self.on)
            if one.options.get("response") == response
            else one
            for key, one in state.trials.items()
        }
        return replace(state, trials=trials)


class Predict(Event, frozen=True, kw_only=True, tag="predict"):
    """Rows of a file are predicted."""

    file: Text
    use: ClassVar[str] = "predict"

    def after(self, state: State, tools: Tools) -> State:  # noqa: ARG002, D102
        return replace(state, chosen={**state.chosen, self.use: state.file(self.file)})


class Check(Predict, frozen=True, tag="check"):
    """Models are checked by rows of a file."""

    use: ClassVar[str] = "check"


class Adjust(Event, frozen=True, kw_only=True, tag="adjust"):
    """A model is corrected by the rows that it is checked by, or is not any more."""

    trial: Text
    kind: Literal["bias", "slope", "none"]
    why: Text = ""

    def after(self, state: State, tools: Tools) -> State:  # noqa: ARG002, D102
        state.trial(self.trial)
        adjusted = {key: one for key, one in state.adjusted.items() if key != self.trial}
        if self.kind != "none":
            if not self.why.strip():
                raise InvalidInputError("a reason is needed; say why in a few words.")
            file = state.file(state.chosen.get("check"))
            adjusted[self.trial] = {"file": file, "kind": self.kind, "why": self.why.strip()}
        return replace(state, adjusted=adjusted)


_KINDS = (
    *(Begin, Set, Prepare, Exclude, Include, Open, Undo, Redo, Upload, Fitted),
    *(Note, Release, Predict, Check, Adjust),
)
_READER: msgspec.json.Decoder[Event] = msgspec.json.Decoder(reduce(or_, _KINDS))


def as_event(given: bytes | Mapping[str, Any]) -> Event:
    """Return an event that the page sends or a journal holds; what is not one is refused."""
    try:
        if isinstance(given, bytes):
            return _READER.decode(given)
        return _READER.decode(json.dumps(given, allow_nan=False))
    except (ValueError, TypeError, RecursionError) as error:
        raise InvalidInputError(f"this is not an event of a session: {error}.") from error


def after(state: State, event: Event, tools: Tools) -> State:
    """Return the state after an event; one that is refused raises and changes nothing."""
    state = replace(state, revision=state.revision + (not isinstance(event, Fitted)))
    return event.after(state, tools)


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
        self.state, self._size, self._lock = State(), 0, threading.Lock()
        private_folder(folder)
        self._journal = _journal_of(folder)
        try:
            lines = (folder / JOURNAL).read_bytes().split(b"\n")
            for number, line in enumerate(lines[:-1], 1):
                try:
                    self.state = after(self.state, as_event(line), tools)
                except InvalidInputError as error:
                    where = f"line {number} of {folder.name}/{JOURNAL}"
                    raise InvalidInputError(f"{where} cannot be read: {error}") from error
                self._size += len(line) + 1
            # A crash may leave half an event at the end: the next one is written over it.
            if not _EVENT.startswith(lines[-1].rstrip(b"\0")[: len(_EVENT)]):
                raise InvalidInputError(f"the end of {folder.name}/{JOURNAL} is not a session's.")
            _refuse_links(map(folder.joinpath, self.state.files))
        except BaseException:
            self._journal.close()
            raise

    def apply(self, given: Event | Mapping[str, Any]) -> State:
        """Check an event, write it to the journal, and then only return the new state."""
        event = given if isinstance(given, Event) else as_event(given)
        now = datetime.now(UTC).isoformat(timespec="seconds")
        dated = msgspec.structs.replace(event, at=now)
        with self._lock:  # a fit may end while the page sends something
            state = after(self.state, dated, self.tools)
            self._write(msgspec.json.encode(dated) + b"\n")
            self.state = state
        return state

    def _write(self, line: bytes) -> None:
        """Write a line to the disk, whole or not at all."""
        try:
            if os.fstat(self._journal.fileno()).st_size != self._size:
                self._journal.truncate(self._size)  # what could not be taken back then
            if self._journal.write(line) != len(line):
                raise OSError("the disk is full")
            self._journal.flush()
            os.fsync(self._journal.fileno())
        except OSError as error:
            with suppress(OSError):
                self._journal.truncate(self._size)
            raise InvalidInputError(
                f"this was not done, because it cannot be written to {self.folder} "
                f"({error.strerror or error}). Make room there, and do it again."
            ) from error
        self._size += len(line)

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
        while self._is_taken(name, digest):
            number += 1
            name = f"{Path(wanted).stem}-{number}{Path(wanted).suffix}"
        if name not in self.state.files:
            target = self.folder / name
            try:
                if folder:
                    target.mkdir(mode=0o700)
                for part, content in parts.items():
                    write_private(target / part if folder else target, content)
                self.apply(Upload(name=name, sha256=digest))
            except BaseException:
                _remove(target)
                raise
        return name

    def _is_taken(self, name: str, digest: str) -> bool:
        """Whether a name is that of other content, here or of somebody else."""
        if name in self.state.files:
            return self.state.files[name] != digest
        return (self.folder / name).exists()

    # A session in one file
    # ---------------------

    def saved(self) -> bytes:
        """Return the journal and all files as one zip."""
        target = io.BytesIO()
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.write(self.folder / JOURNAL, JOURNAL)
            for name in self.state.files:
                for part in _parts(self.folder / name):
                    archive.write(part, part.relative_to(self.folder).as_posix())
        return target.getvalue()


def _parts(file: Path) -> list[Path]:
    """Return an uploaded file, or the files of an uploaded folder."""
    return sorted(file.iterdir()) if file.is_dir() else [file]


def _refuse_links(files: Iterable[Path]) -> None:
    """Refuse files that are elsewhere: a folder that somebody handed over may point anywhere."""
    for file in files:
        for one in (file, *_parts(file)):
            if one.is_symlink():
                raise InvalidInputError(f"{one.name[:80]!r} is a link to another place.")


def private_folder(folder: Path) -> None:
    """Make a folder that only its owner may look into, or make it one."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.chmod(0o700)


def write_private(file: Path, content: bytes) -> None:
    """Write a new file that only its owner may read, to the disk."""
    with open(file, "xb", opener=_private) as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _journal_of(folder: Path) -> FileIO:
    """Open the journal of a session, which no other process has open.

    Nothing waits in a buffer: a line is on the disk, or it is not there.
    """
    _refuse_links([folder / JOURNAL])
    journal = FileIO(folder / JOURNAL, "ab", opener=_private)
    try:
        (folder / JOURNAL).chmod(0o600)
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(journal.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(journal, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        journal.close()
        raise InvalidInputError(f"the session {folder.name} is open in another process.") from error
    return journal


def opened(content: bytes, folder: Path, tools: Tools) -> Session:
    """Unpack a saved session into a new folder; what is not one is refused, and leaves nothing."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = archive.infolist()
            names = [one.filename for one in entries]
            if JOURNAL not in names or sum(one.file_size for one in entries) > MOST_BYTES:
                raise InvalidInputError("the file is not a saved session, or it is too large.")
            for name in names:
                parts = name.split("/")
                if len(parts) > 2 or any(part != plain_name(part, 120) for part in parts):
                    raise InvalidInputError(f"a saved session has no file {name[:80]!r}.")
            private_folder(folder)
            for one in entries:
                (target := folder / one.filename).parent.mkdir(mode=0o700, exist_ok=True)
                write_private(target, archive.read(one))
        return Session(folder, tools)
    except Exception as error:  # whatever a damaged file makes the reader of archives raise
        shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, InvalidInputError):
            raise
        raise InvalidInputError("the file is not a saved session of plsdof app.") from error


# Sessions that are there
# -----------------------


def sessions_in(home: Path) -> list[dict[str, Any]]:
    """Return what is known of the sessions in a folder, the one that was used last first."""
    found = [one for one in home.glob(f"*/{JOURNAL}") if one.is_file() and not one.is_symlink()]
    return [_about(one.parent) for one in sorted(found, key=_last_use, reverse=True)]


def _last_use(journal: Path) -> float:
    return journal.stat().st_mtime


def _about(folder: Path) -> dict[str, Any]:
    journal, table, response = folder / JOURNAL, "", ""
    for event in _readable(folder):
        if isinstance(event, Begin):
            table, response = event.file, ""
        elif isinstance(event, Set) and event.options.get("response"):
            response = _shown(event.options["response"])
    used = datetime.fromtimestamp(_last_use(journal), UTC).isoformat(timespec="seconds")
    return {"name": folder.name, "used": used, "table": table, "response": response}


def _readable(folder: Path) -> Iterator[Event]:
    """Return the events of a journal that may be damaged."""
    for line in (folder / JOURNAL).read_bytes().split(b"\n"):
        with suppress(InvalidInputError):
            yield as_event(line)


def remove(folder: Path) -> None:
    """Remove a session: its journal and the files that it names; other files stay."""
    with _journal_of(folder):
        for event in _readable(folder):
            if isinstance(event, Upload):
                _remove(folder / event.name)
        (folder / JOURNAL).unlink()
    with suppress(OSError):
        folder.rmdir()


def _remove(target: Path) -> None:
    """Remove a file, or the files of a folder, and the folder if nothing else is in it."""
    if target.is_dir() and not target.is_symlink():
        for part in target.iterdir():
            if not part.is_dir():
                part.unlink()
        with suppress(OSError):
            target.rmdir()
    else:
        target.unlink(missing_ok=True)
