"""``plsdof app``: the command, and what a session in the browser takes from the command line."""

import os
import shlex
import sys
from collections.abc import Iterator
from dataclasses import fields
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

import typer

from plsdof import workbench
from plsdof._core.inputs import as_count
from plsdof.chemometrics.checks import Kind
from plsdof.errors import InvalidInputError, MissingExtraError
from plsdof.models.files import load_model, save_model
from plsdof.models.predictor import Predictor
from plsdof.workbench.analysis import Analysis, Request
from plsdof.workbench.analysis.classes import ClassAnalysis
from plsdof.workbench.analysis.data import TableProblem
from plsdof.workbench.analysis.request import in_python, words_of
from plsdof.workbench.analysis.result import Result
from plsdof.workbench.app.session import sessions_in
from plsdof.workbench.cli._options import parse
from plsdof.workbench.cli.fit import Output, write
from plsdof.workbench.fitting import fit_problem
from plsdof.workbench.problems import is_streamed, read_problems
from plsdof.workbench.tables.joining import JoinedReading
from plsdof.workbench.tables.reading import Reading
from plsdof.workbench.tables.table import Table


def app(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="TABLE",
            help="Table to begin with, or a folder of sessions; the last session without it.",
        ),
    ] = None,
    port: int | None = None,
    browser: bool = True,
    shortcut: bool = False,
) -> None:
    """Calibrate in the browser; the page stays on this machine."""
    if shortcut:
        typer.echo(f"{write_shortcut(Path.home())}: open it to start the app.")
        return
    if port is not None:
        as_count(port, "--port", minimum=1)
    try:
        from plsdof.workbench.app.transport import HOME, serve
    except ImportError as error:
        raise MissingExtraError("starlette", "app", "plsdof app") from error
    home, sessions = HOME, sessions_in(file) if file is not None and file.is_dir() else []
    if file is not None and sessions:
        home, file = file, None
        for one in sessions:
            typer.echo(f"{one['used'][:16]}  {one['name']}  {one['table']}  {one['response']}")
    if file is not None and is_streamed(file, None):
        raise InvalidInputError(f"{file} is too large for the browser; use plsdof fit.")
    serve(CommandLine(), file, port=port, browser=browser, say=typer.echo, home=home)


# What a desktop starts a program by: where it belongs, and what is in it.
_SHORTCUTS = {
    "win32": ("Desktop/plsdof.cmd", "@{words}\r\n"),
    "darwin": ("Desktop/plsdof.command", "#!/bin/sh\nexec {words}\n"),
    "linux": (
        ".local/share/applications/plsdof.desktop",
        "[Desktop Entry]\nType=Application\nName=plsdof\nComment=Calibration in the browser\n"
        "Exec={words}\nTerminal=true\nCategories=Science;\n",
    ),
}


def write_shortcut(home: Path, system: str = sys.platform) -> Path:
    """Write the file that starts the app with the Python that runs now, and return it."""
    where, text = _SHORTCUTS.get(system, _SHORTCUTS["linux"])
    quoted = f'"{sys.executable}"' if system != "darwin" else shlex.quote(sys.executable)
    (file := home / where).parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text.format(words=f"{quoted} -m plsdof app"), encoding="utf-8", newline="")
    file.chmod(0o755)
    return file


class CommandLine:
    """The options and the work of ``plsdof fit`` and ``plsdof predict`` for a session."""

    def check(self, options: dict[str, Any]) -> None:
        """Refuse options that contradict each other or do not exist."""
        _asked_for(options)

    def command(self, options: dict[str, Any]) -> list[str]:
        """Return the words of the command line that does the same."""
        _asked_for(options)
        return ["plsdof", "fit", *_words(options)]

    def python(self, options: dict[str, Any]) -> str:
        """Return lines of Python that do the same."""
        file, reading, request = _asked_for(options)
        joined = in_python(JoinedReading(**vars(reading)))
        table = f"reading.with_response([Path({str(file)!r})], request.response, request.label)"
        lines = [
            "from pathlib import Path",
            "from plsdof import workbench",
            "from plsdof.workbench.analysis import Request",
            "from plsdof.workbench.tables.joining import JoinedReading",
            "",
            f"request = {request.python()}",
            f"reading = {joined}",
            f"table = {table}",
            "found = workbench.fit(table, request, reading)",
            'print(*found.result.sentences.values(), sep="\\n")',
        ]
        return "\n".join(lines)

    def table(self, options: dict[str, Any]) -> Table:
        """Return the table that is read, joined if that is asked for."""
        file, reading, request = _asked_for(options)
        return reading.with_response([file], request.response, request.label)

    def problem(self, options: dict[str, Any]) -> TableProblem:
        """Return the rows and columns that are fitted."""
        file, reading, request = _asked_for(options)
        return read_problems([file], request, reading)[0]

    def fit(self, options: dict[str, Any], **files: Path) -> Analysis | ClassAnalysis:
        """Return the analysis, and write files such as ``report`` or ``model``."""
        file, reading, request = _asked_for(options)
        found = [fit_problem(one, request) for one in read_problems([file], request, reading)]
        # A report quotes the command that gives it.
        ends = [word for name, path in files.items() for word in (f"--{name}", path.name)]
        given: dict[str, Any] = {"quiet": True, **files}
        write(found, Output(**given), shlex.join([*self.command(options), *ends]))
        return found[0].analysis

    def predict(self, model: Path, table: Path, level: float) -> Result:
        """Return predictions of the rows of a table."""
        rows, known = _read(Reading(), table, Path.cwd()), load_model(model)
        return workbench.predict(known, rows, _later(known, level))

    def check_calibration(self, model: Path, table: Path, level: float) -> Result:
        """Return tests of a model by rows with reference values, and a control chart."""
        rows, known = _Remembered().table(table), load_model(model)
        return workbench.check(known, rows, request=_later(known, level))

    def adjust(self, model: Path, table: Path, kind: Kind, reason: str) -> Result:
        """Correct bias or slope of a model by such rows, in its file; return what that changes."""
        rows, known = _Remembered().table(table), load_model(model)
        made = workbench.adjust(known, rows, kind, _later(known), reason=reason)
        if not made.result.facts["significant"].value:
            raise InvalidInputError(
                f"The {kind} is not significant by these {made.result.facts['rows'].text} control "
                "samples: to adjust it would add their noise to every prediction. The model stays "
                "as it is."
            )
        save_model(made.predictor, model)
        return made.result


def _later(model: Predictor, level: float = 0.95) -> Request:
    """Return what is asked of new rows: those with holes that a model cannot fill are left out."""
    return Request(level=level, missing=None if model.fills_holes else "drop")


# Tables are read once: every click of a session asks for the same one.


@lru_cache(maxsize=8)
def _read(reading: Reading, file: Path, folder: Path) -> Table:  # noqa: ARG001
    """Read a file of the folder that the session works in."""
    return reading.table(file)


class _Remembered(JoinedReading):
    """As it is asked for, but without reading a file twice."""

    def table(self, file: str | os.PathLike[str], *, one_column: bool = False) -> Table:
        """Return a table that may have been read before."""
        if one_column:
            return super().table(file, one_column=True)
        plain = {one.name: getattr(self, one.name) for one in fields(Reading)}
        return _read(Reading(**plain), Path(file), Path.cwd())


# Options by name, as JSON has them, become words, which the command line understands
# -----------------------------------------------------------------------------------


def _asked(file: Path, reading: JoinedReading, request: Request) -> Any:
    """Return what ``plsdof fit`` is asked, with a reading that reads nothing twice."""
    return file, _Remembered(**vars(reading)), request


def _asked_for(options: dict[str, Any]) -> tuple[Path, JoinedReading, Request]:
    """Return what options ask for."""
    found: tuple[Path, JoinedReading, Request] = parse(_asked, list(_words(options)))
    return found


def _words(options: dict[str, Any]) -> Iterator[str]:
    """Return the words of a command line."""
    yield str(options["file"])
    yield from words_of({name: value for name, value in options.items() if name != "file"})
