"""One session with who works for it, and the answers to what the page asks.

It knows neither HTTP nor processes: `plsdof.workbench.app.transport` carries questions and answers.
"""

import hashlib
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from plsdof.errors import InvalidInputError
from plsdof.models.writing import plain
from plsdof.workbench.app.session import (
    SETTINGS,
    Adjust,
    Event,
    Fitted,
    Options,
    Session,
    after,
    arguments,
    in_words,
    key_of,
    sessions_in,
)
from plsdof.workbench.app.view import ENDINGS


class StoppedError(Exception):
    """The work was stopped, or is not wanted any more."""


class Works(Protocol):
    """Who does the work of a `Workbench`."""

    doing: str

    def ask(self, name: str, *given: Any, wanted: Callable[[], bool] = ...) -> Any:
        """Return what a method of the `Workbench` returns, if it is still wanted."""

    def overtake(self) -> None:
        """Stop what is not wanted any more."""

    def stop(self) -> None:
        """Stop what is being done."""

    def close(self) -> None:
        """End."""


class Desk:
    """One session with its worker, and the answers to what the page asks."""

    def __init__(self, session: Session, worker: Works, remark: str = "") -> None:
        self.session, self.worker, self.remark = session, worker, remark
        # What came out of the trials, as far as it was computed since the session was opened.
        self._summaries: dict[str, dict[str, Any]] = {}

    def close(self) -> None:
        """End the worker, close the journal."""
        self.worker.close()
        self.session.close()

    @property
    def options(self) -> Options:
        """What is asked for now."""
        return self.session.state.options

    def state(self) -> dict[str, Any]:
        """Return what the page needs to know of the session."""
        state, options = self.session.state, self.options
        trials = [
            {
                "key": key,
                "name": f"trial {number}",
                "response": ", ".join(trial.options.get("response", ())),
                "words": in_words(trial.options),
                "note": trial.note,
                "released": trial.released,
                "summary": self._summaries.get(key),
            }
            for number, (key, trial) in enumerate(state.trials.items(), 1)
        ]
        return {
            "revision": state.revision,
            "files": list(state.files),
            "options": options,
            "settings": SETTINGS,
            "steps": [
                {"words": one.words, "at": one.at, "why": one.why, "done": i < state.place}
                for i, one in enumerate(state.steps)
            ],
            "undo": state.place > 1,
            "redo": state.place < len(state.steps),
            "trial": key_of(options),
            "trials": trials,
            "released": [
                {name: one[name] for name in ("key", "name", "response", "words")}
                for one in trials
                if one["released"]
            ],
            "chosen": state.chosen,
            "remark": self.remark,
        }

    # What changes something

    def apply(self, event: Event) -> dict[str, Any]:
        """Take an event of the page; work that it makes needless ends."""
        if event.internal:
            raise InvalidInputError("the page cannot say this.")
        if isinstance(event, Adjust) and event.kind != "none":
            state = after(self.session.state, event, self.session.tools)
            options = state.trial(event.trial).options
            models = {options["response"][0]: options}
            chosen, adjusted = self._chosen("check"), state.adjusted
            self.worker.ask("predict", models, chosen, "check", adjusted)
        self.session.apply(event)
        self.worker.overtake()
        return self.state()

    def add(self, files: dict[str, bytes], folder: str, use: str) -> None:
        """Keep uploaded files, and use them as it was said."""
        name = self.session.add(files, folder)
        self.use(name, use)

    def use(self, name: str, use: str) -> None:
        """Use a file as the table, for its response, for a test, to predict or to check."""
        if use == "table":
            self.session.apply({"do": "table", "file": name})
            self.guess()
        elif use in ("response_file", "test"):
            self.session.apply({"do": "set", "options": {use: name}})
            if use == "response_file":
                self.guess()
        elif use in ("predict", "check"):
            self.session.apply({"do": use, "file": name})
        else:
            raise InvalidInputError(
                "a file is a table, or for a response, a test, a prediction, a check."
            )

    def guess(self) -> None:
        """Take the only column that can be the response; of several the person chooses."""
        with suppress(InvalidInputError):  # what is wrong with the table, the page will say
            found = self.worker.ask("guess", self.options)
            if found:
                why = "the only measured column that is not a wavelength"
                if "missing" in found:
                    why += "; its complete rows are used"
                self.session.apply({"do": "set", "options": found, "why": why})

    # What is looked at

    def view(
        self, most_models: int | None, have: Collection[str] = (), before: str = ""
    ) -> dict[str, Any]:
        """Return what is drawn, less the tables that the page has, and remember the trial."""
        options, trials = self.options, self.session.state.trials
        key = key_of(options)
        earlier = trials[before].options if before in trials and before != key else None
        found: dict[str, Any] = self._still_wanted("show", options, most_models, earlier)
        self._summaries[key] = found.pop("summary")
        _send_once(found["content"] or {}, have)
        if key not in self.session.state.trials:
            self.session.apply(Fitted(trial=key))
        return found | {"trial": key, "state": self.state()}

    def ask(self, name: str, *given: Any) -> Any:
        """Ask about the options of the session."""
        return self._still_wanted(name, self.options, *given)

    def _still_wanted(self, name: str, options: Options, *given: Any) -> Any:
        """Ask for what is wanted as long as the options stay."""
        key = key_of(options)
        return self.worker.ask(name, options, *given, wanted=lambda: key_of(self.options) == key)

    def trials(self) -> dict[str, Any]:
        """Return the session with what came out of all trials; what is not known is computed.

        A trial that cannot be computed any more says why.
        """
        for key, trial in self.session.state.trials.items():
            if key not in self._summaries:
                try:
                    self._summaries[key] = self.worker.ask("summary", trial.options)
                except InvalidInputError as error:
                    self._summaries[key] = {"error": str(error)}
        return self.state()

    def sessions(self) -> list[dict[str, Any]]:
        """Return the sessions that are there, the one that was used last first."""
        here = self.session.folder
        return [one | {"here": one["name"] == here.name} for one in sessions_in(here.parent)]

    def paired(self, before: str, trial: str) -> dict[str, Any]:
        """Compare two trials on the samples that both have."""
        state = self.session.state
        both = state.trial(before).options, state.trial(trial).options
        return {"words": self.worker.ask("paired", *both)}

    # What the released models do, and no others

    def released(self) -> dict[str, Options]:
        """Return what the released trials ask for, by their response; refuse if there are none."""
        trials = [one for one in self.session.state.trials.values() if one.released]
        if not trials:
            key = key_of(self.options)
            raise InvalidInputError(
                "nothing is released yet: a released model does not change any more, and only it "
                "predicts, is checked and is exported.",
                mend={"release": key} if key in self.session.state.trials else None,
            )
        return {one.options["response"][0]: one.options for one in trials}

    def predictions(self, kind: str) -> dict[str, Any]:
        """Predict or check by the released models."""
        models, name = self.released(), self._chosen(kind)
        adjusted = self.session.state.adjusted
        found: dict[str, Any] = self.worker.ask("predict", models, name, kind, adjusted)
        return {"file": name, "found": plain(found)}

    def export(self, response: str) -> dict[str, Any]:
        """Return what gives the model of a released response again: a command, and Python."""
        options = self._released(response)
        tools, asked = self.session.tools, arguments(options)
        return {"command": tools.command(asked), "python": tools.python(asked)}

    def file(self, kind: str, response: str) -> tuple[bytes, str]:
        """Return a file to keep, and what it is called."""
        stem = Path(self.options.get("file", "calibration")).stem
        if kind == "session":
            return self.session.saved(), f"{stem}.plsdof.zip"
        adjusted = self.session.state.adjusted
        if kind == "predictions":
            given = (self.released(), self._chosen("predict"), adjusted)
            return self.worker.ask("predictions", *given), f"{stem}-predictions.xlsx"
        if kind not in ENDINGS:
            allowed = ", ".join(["session", "predictions", *ENDINGS])
            raise InvalidInputError(f"kind must be one of {allowed}.")
        content = self.worker.ask("write", self._released(response), kind, adjusted)
        return content, f"{stem}{ENDINGS[kind]}"

    def _released(self, response: str) -> Options:
        models = self.released()
        return models.get(response) or next(iter(models.values()))

    def _chosen(self, kind: str) -> str:
        name = self.session.state.chosen.get(kind)
        if name is None:
            raise InvalidInputError("choose a file with new rows first.")
        return name


def _send_once(content: dict[str, Any], have: Collection[str]) -> None:
    """Name the tables of numbers by their content, and leave out those the page has."""
    blocks = [one["values"] for one in (content.get("spectra") or {"tables": ()})["tables"]]
    blocks += [one for one in (content.get("components") or {}).values() if isinstance(one, dict)]
    for one in blocks:
        one["key"] = hashlib.sha256(one["data"].encode()).hexdigest()[:16]
        if one["key"] in have:
            del one["data"]
