"""``plsdof app``: the command, and what a session in the browser takes from the command line."""

import sys
from collections.abc import Iterator
from dataclasses import asdict, fields
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

import typer

from plsdof._core.inputs import as_count
from plsdof.analysis import Analysis, Request
from plsdof.analysis.classes import ClassAnalysis
from plsdof.chemometrics.checks import Kind, check_calibration, correction
from plsdof.cli._data import Part, TestRows, is_streamed
from plsdof.cli._options import OPTIONS, parse
from plsdof.cli._tables import JoinedReading, Reading
from plsdof.cli.fit import Output, fit
from plsdof.cli.life import control_rows, referenced
from plsdof.cli.predict import predict_table
from plsdof.errors import InvalidInputError, MissingExtraError
from plsdof.files.models import load_model, save_model
from plsdof.files.tables import Table


def app(
    file: Annotated[
        Path | None,
        typer.Argument(metavar="TABLE", help="Table to begin with; the last session without it."),
    ] = None,
    port: int | None = None,
    browser: bool = True,
) -> None:
    """Calibrate in the browser; the page stays on this machine."""
    if port is not None:
        as_count(port, "--port", minimum=1)
    try:
        from plsdof.app.server import serve
    except ImportError as error:
        raise MissingExtraError("starlette", "app", "plsdof app") from error
    if file is not None and is_streamed(file, None):
        raise InvalidInputError(f"{file} is too large for the browser; use plsdof fit.")
    serve(CommandLine(), file, port=port, browser=browser, say=typer.echo)


class CommandLine:
    """The options and the work of ``plsdof fit`` and ``plsdof predict`` for a session."""

    def check(self, options: dict[str, Any]) -> None:
        """Refuse options that contradict each other or do not exist."""
        _groups(options)

    def command(self, options: dict[str, Any]) -> list[str]:
        """Return the words of the command line that does the same."""
        _groups(options)
        return ["plsdof", "fit", *_words(options)]

    def table(self, options: dict[str, Any]) -> Table:
        """Return the table that is read, joined if that is asked for."""
        groups = _groups(options)
        reading, part = groups["reading"], groups["part"]
        with_response: Table = reading.with_response(groups["file"], part.response, part.label)
        return with_response

    def fit(self, options: dict[str, Any], **files: Path) -> Analysis | ClassAnalysis:
        """Return the analysis, and write files such as ``report`` or ``model``."""
        # A report quotes the command that gives it.
        ends = [word for name, path in files.items() for word in (f"--{name}", path.name)]
        sys.argv = [*self.command(options), *ends]
        given: dict[str, Any] = {"quiet": True, **files}
        found: Analysis | ClassAnalysis
        (found, *_) = fit(**_groups(options), output=Output(**given))
        return found

    def predict(self, model: Path, table: Path) -> dict[str, Any]:
        """Return predictions of the rows of a table: columns, limits, notes."""
        rows = _read(Reading(), table, Path.cwd())
        return asdict(predict_table(load_model(model), rows, missing="drop"))

    def check_calibration(self, model: Path, table: Path) -> dict[str, Any]:
        """Return tests of a model by rows with reference values, and a control chart."""
        fitted = load_model(model)
        rows = control_rows(fitted, table, _Remembered(), missing="drop")
        found = check_calibration(fitted, rows.X, rows.columns.get("observed"))
        chart = found.chart()
        return {
            "tests": [asdict(one) for one in found.verdicts],
            "chart": asdict(chart),
            "rows": rows.columns,
            "notes": (*chart.sentences(), *rows.notes),
        }

    def adjust(self, model: Path, table: Path, kind: Kind, reason: str) -> None:
        """Correct bias or slope of a model by such rows, in its file."""
        fitted = load_model(model)
        X, y = referenced(fitted, control_rows(fitted, table, _Remembered(), missing="drop"))
        made = correction(y, fitted.predict(X), kind, units=fitted.calibration_errors.units)
        if not made.significant:
            raise InvalidInputError(
                f"The {kind} is not significant by these {made.rows} control samples: to adjust it "
                "would add their noise to every prediction. The model stays as it is."
            )
        save_model(fitted.adjusted(X, y, kind, reason=reason), model)


# Tables are read once: every click of a session asks for the same one.


@lru_cache(maxsize=8)
def _read(reading: Reading, file: Path, folder: Path) -> Table:  # noqa: ARG001
    """Read a file of the folder that the session works in."""
    return reading.table(file)


class _Remembered(JoinedReading):
    """As it is asked for, but without reading a file twice."""

    def table(self, file: str | Path) -> Table:
        """Return a table that may have been read before."""
        plain = {one.name: getattr(self, one.name) for one in fields(Reading)}
        return _read(Reading(**plain), Path(file), Path.cwd())


# Options by name, as JSON has them, become words, which the command line understands
# -----------------------------------------------------------------------------------


def _asked(
    file: Path, part: Part, reading: JoinedReading, request: Request, test: TestRows
) -> dict[str, Any]:
    """Return the groups of options that ``plsdof fit`` takes."""
    remembered = _Remembered(**vars(reading))
    return {"file": file, "part": part, "reading": remembered, "request": request, "test": test}


def _groups(options: dict[str, Any]) -> dict[str, Any]:
    """Return the groups of options that ``plsdof fit`` takes."""
    found: dict[str, Any] = parse(_asked, list(_words(options)))
    return found


def _words(options: dict[str, Any]) -> Iterator[str]:
    """Return the words of a command line."""
    yield str(options["file"])
    for name, value in options.items():
        if name == "file":
            continue
        if name not in OPTIONS:
            raise InvalidInputError(f"plsdof fit has no option {name[:40]!r}.")
        # Typer takes the first name of an option for its default.
        yes, _, no = str(OPTIONS[name].default).partition("/")
        if isinstance(value, bool):
            yield from [yes] if value else [no] if no else []
            continue
        for part in value if isinstance(value, list) else [value]:
            if not isinstance(part, str | int | float):
                raise InvalidInputError(f"{name} cannot be {str(part)[:60]!r}.")
            # What begins with a dash would be taken for an option.
            yield from [f"{yes}={part}"] if str(part).startswith("-") else [yes, str(part)]
