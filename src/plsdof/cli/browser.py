"""``plsdof app``: the command, and what a session in the browser takes from the command line."""

import dataclasses
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import numpy as np
import typer

from plsdof._core.inputs import as_count
from plsdof.analysis import Analysis, Request
from plsdof.analysis.classes import ClassAnalysis
from plsdof.chemometrics.checks import Kind, check_calibration
from plsdof.cli._classes import predicted_classes
from plsdof.cli._data import Part, TestRows, is_streamed
from plsdof.cli._options import OPTIONS, as_group
from plsdof.cli._tables import JoinedReading, Reading
from plsdof.cli.fit import Output, fit
from plsdof.cli.predict import NewRows, new_rows, predict_table
from plsdof.errors import InvalidInputError, MissingExtraError
from plsdof.files.classes import CLASSES
from plsdof.files.models import FrozenModel, load_model, save_model
from plsdof.files.tables import Table

_GROUPS = {"part": Part, "reading": JoinedReading, "request": Request, "test": TestRows}


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
        return ["plsdof", "fit", str(options["file"]), *_words(_groups(options))]

    def table(self, options: dict[str, Any]) -> Table:
        """Return the table that is read, joined if that is asked for."""
        groups = _groups(options)
        reading, part = groups["reading"], groups["part"]
        with_response: Table = reading.with_response(_file(options), part.response, part.label)
        return with_response

    def fit(self, options: dict[str, Any], **files: Path) -> Analysis | ClassAnalysis:
        """Return the analysis, and write files such as ``report`` or ``model``."""
        if not options.get("response"):
            raise InvalidInputError("choose the column to predict.")
        # A report quotes the command that gives it.
        ends = [word for name, path in files.items() for word in (f"--{name}", path.name)]
        sys.argv = [*self.command(options), *ends]
        given: dict[str, Any] = {"quiet": True, **files}
        found: Analysis | ClassAnalysis
        (found, *_) = fit(_file(options), **_groups(options), output=Output(**given))
        return found

    def predict(self, model: Path, table: Path) -> dict[str, Any]:
        """Return predictions of the rows of a table: columns, limits, notes."""
        fitted, rows = load_model(model), _read(Reading(), table, Path.cwd())
        if fitted.method == CLASSES:
            columns, notes = predicted_classes(fitted, rows, drop_missing=True, label=None)
            return {"columns": columns, "notes": notes}
        return dataclasses.asdict(predict_table(fitted, rows, level=0.95, drop_missing=True))

    def check_calibration(self, model: Path, table: Path) -> dict[str, Any]:
        """Return tests of a model by rows with reference values, and a control chart."""
        fitted, rows = _control(model, table)
        found = check_calibration(fitted, rows.X, rows.columns.get("observed"))
        chart = found.chart()
        return {
            "tests": [dataclasses.asdict(one) for one in found.verdicts],
            "chart": dataclasses.asdict(chart),
            "rows": rows.columns,
            "notes": (*chart.sentences(), *rows.notes),
        }

    def adjust(self, model: Path, table: Path, kind: Kind, reason: str) -> None:
        """Correct bias or slope of a model by such rows, in its file."""
        fitted, rows = _control(model, table)
        y = rows.columns["observed"] if "observed" in rows.columns else np.full(len(rows.X), np.nan)
        known = np.isfinite(y)
        save_model(fitted.adjusted(rows.X[known], y[known], kind, reason=reason), model)


def _control(model: Path, table: Path) -> tuple[FrozenModel, NewRows]:
    """Read a model, and the complete rows of a table."""
    fitted = load_model(model)
    if fitted.method == CLASSES:
        raise InvalidInputError("checks are for measured responses, not for classes.")
    found = new_rows(fitted, _read(Reading(), table, Path.cwd()), drop_missing=True)
    keep = found.complete
    columns = {name: values[keep] for name, values in found.columns.items()}
    return fitted, dataclasses.replace(found, X=found.X[keep], complete=keep[keep], columns=columns)


def _file(options: dict[str, Any]) -> Path:
    return Path(str(options["file"]))


# Tables are read once: every click of a session asks for the same one.


@lru_cache(maxsize=8)
def _read(reading: Reading, file: Path, folder: Path) -> Table:  # noqa: ARG001
    """Read a file of the folder that the session works in."""
    return reading.table(file)


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Remembered(JoinedReading):
    """As it is asked for, but without reading a file twice."""

    def table(self, file: str | Path) -> Table:
        """Return a table that may have been read before."""
        plain = {one.name: getattr(self, one.name) for one in dataclasses.fields(Reading)}
        return _read(Reading(**plain), Path(file), Path.cwd())


# Options by name, as JSON has them, and as words
# -----------------------------------------------


def _groups(options: dict[str, Any]) -> dict[str, Any]:
    """Return the groups of options that ``plsdof fit`` takes."""
    left = {name: value for name, value in options.items() if name != "file"}
    found = {}
    for group, kind in _GROUPS.items():
        hints = get_type_hints(kind)
        given = {
            one.name: _converted(one.name, str(hints[one.name]), left.pop(one.name))
            if one.name in left
            else ()
            if one.default is dataclasses.MISSING
            else one.default
            for one in dataclasses.fields(kind)
        }
        if kind is Request:
            given["cv"] = None if given["cv"] is None else str(given["cv"])
        found[group] = as_group(_Remembered if kind is JoinedReading else kind, **given)
    if left:
        raise InvalidInputError(f"plsdof fit has no option {str(next(iter(left)))[:40]!r}.")
    return found


def _converted(name: str, kind: str, value: Any) -> Any:
    """Return a value of JSON as the type of an option, or say what is needed."""
    if "tuple" in kind:
        texts = value if isinstance(value, list) else [value]
        if all(isinstance(one, str) for one in texts):
            return tuple(texts)
    elif name == "cv" or "Literal" in kind:
        if isinstance(value, str | int):
            return value
    elif "Path" in kind:
        if isinstance(value, str):
            return Path(value)
    elif "bool" in kind:
        if isinstance(value, bool):
            return value
    elif "float" in kind or "int" in kind:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return value
    elif isinstance(value, str):
        return value
    raise InvalidInputError(f"{name} cannot be {str(value)[:60]!r}.")


def _words(groups: dict[str, Any]) -> Iterator[str]:
    """Return the options that differ from what they are by default."""
    for group in groups.values():
        for one in dataclasses.fields(group):
            value = getattr(group, one.name)
            if value == one.default:
                continue
            # Typer takes the first name of an option for its default.
            yes, _, no = str(OPTIONS[one.name].default).partition("/")
            if isinstance(value, bool):
                yield yes if value else no
                continue
            for part in value if isinstance(value, tuple) else [value]:
                # What begins with a dash would be taken for an option.
                yield from [f"{yes}={part}"] if str(part).startswith("-") else [yes, str(part)]
