"""``plsdof fit``: read, request, analyse, show; and data to try it with."""

import io
import re
import shlex
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from plsdof._core.display import significant
from plsdof._core.inputs import as_choice
from plsdof.chemometrics.merit import Acceptance, accepted, parse_criterion
from plsdof.errors import InvalidInputError
from plsdof.inference.intervals import prediction_interval
from plsdof.models.files import load_model, save_model
from plsdof.models.predictor import Predictor
from plsdof.models.writing import atomic_write
from plsdof.workbench.analysis import Analysis, Request
from plsdof.workbench.analysis.classes import ClassAnalysis
from plsdof.workbench.analysis.data import sha256_of
from plsdof.workbench.analysis.result import Result, Table, as_column
from plsdof.workbench.cli import _show as show
from plsdof.workbench.cli._options import (
    JSON,
    LIMIT_CROSSED,
    PAGE,
    SHIPPED,
    File,
    Printing,
    check_outputs,
)
from plsdof.workbench.fitting import Fitted, fit_problem, refuse_other_responses, updated
from plsdof.workbench.problems import is_streamed, read_problems
from plsdof.workbench.tables.joining import JoinedReading
from plsdof.workbench.tables.writing import TABLE_ENDINGS, write_tables


@dataclass(frozen=True, kw_only=True)
class Output(Printing):
    """What a fit prints and writes."""

    report: Path | None = None
    plot: Path | None = None
    model: Path | None = None
    out: Path | None = None
    plain_csv: bool = False
    parent: Path | None = None
    accept: tuple[str, ...] = ()

    def check(self, *files: Path) -> None:
        """Refuse what cannot be written or judged, before a long computation."""
        for criterion in self.accept:
            parse_criterion(criterion)
        check_outputs(
            {
                "--report": (self.report, PAGE),
                "--plot": (self.plot, (".png", ".svg", ".pdf")),
                "--model": (self.model, JSON),
                "--out": (self.out, TABLE_ENDINGS),
            },
            *files,
        )


def fit(
    file: File,
    reading: JoinedReading,
    request: Request,
    output: Output,
    in_memory: bool | None = None,
    more: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[TABLE]...", help="Tables with the same columns, for more rows."),
    ] = None,
) -> None:
    """Fit a table, choose the number of components, and print the model."""
    files = (file, *(more or ()))
    output.check(*files)
    streamed = any(is_streamed(one, in_memory) for one in files)
    parent = None if output.parent is None else load_model(output.parent)
    if parent is not None:
        refuse_other_responses(parent, request)
    if streamed and (more or parent is not None):
        raise InvalidInputError("Several tables, and --parent, are for tables in memory.")
    found = _fitted(files, reading, request, output, parent, streamed=streamed)
    with show.waiting("Writing", quiet=output.quiet):
        written = write(found, output, shlex.join(["plsdof", *sys.argv[1:]]))
    judged = [_judged(one, output.accept) for one in found]
    show.give("fit", judged, [{"written": names} for names in written], output)
    if not all(all(one.tables["accepted"].columns["passed"].values) for one in judged):
        raise typer.Exit(LIMIT_CROSSED)


def _judged(found: Fitted, criteria: Sequence[str]) -> Result:
    """Return a result with what criteria of acceptance say of it."""
    result, merit = found.result, getattr(found.analysis, "merit", {})
    verdicts = [accepted(one, merit) for one in criteria]
    columns = {
        one.name: as_column([getattr(v, one.name) for v in verdicts], one.name)
        for one in fields(Acceptance)
    }
    words = ["Accepted" if one.passed else "Not accepted" for one in verdicts]
    columns |= {"passed": replace(columns["passed"], label=""), "verdict": as_column(words, " ")}
    table = Table(columns=columns, title="Acceptance" * bool(verdicts))
    return replace(result, tables={**result.tables, "accepted": table})


def _fitted(
    files: Sequence[Path],
    reading: JoinedReading,
    request: Request,
    output: Output,
    parent: Predictor | None,
    *,
    streamed: bool,
) -> list[Fitted]:
    """Read and fit, and say on a terminal that it takes a while."""
    quiet = output.quiet or streamed  # reading piece by piece has a bar of its own
    with show.waiting("Reading the table", quiet=quiet):
        data = read_problems(
            files,
            request,
            reading,
            streamed=streamed,
            drawn=output.report is not None or output.plot is not None,
            progress=streamed and not output.quiet and sys.stderr.isatty(),
        )
    classes = [one.response for one in data if one.rows.classes]
    if classes and (len(data) > 1 or output.accept or parent is not None):
        raise InvalidInputError(
            f"{classes[0]!r:.40} holds classes, which are fitted alone, without --accept and "
            "--parent."
        )
    with show.waiting("Fitting", quiet=quiet):
        found = [fit_problem(one, request) for one in data]
        if parent is not None:
            first = sum(len(reading.table(one)) for one in _tables_of(parent, files))
            found = [updated(found[0], parent, first)]
    return found


def _tables_of(parent: Predictor, files: Sequence[Path]) -> Sequence[Path]:
    """Return the first of the tables: those whose SHA-256 the parent has recorded.

    That is the first one if the parent has none, or if no other table could be meant.
    """
    known = parent.source.get("recipe", {}).get("sha256", "")
    for count in range(1, len(files) + 1):
        if not known or sha256_of(files[:count]) == known:
            return files[:count]
    if len(files) > 1:
        same = [str(one) for one in files if sha256_of([one]) == known]
        raise InvalidInputError(
            f"{files[0]} is not the table that the parent was fitted to: their SHA-256 differ. "
            + (f"Give {same[0]} first." if same else "Give that table first, as it was.")
        )
    return files


# What is written
# ---------------


def write(found: Sequence[Fitted], output: Output, command: str) -> list[dict[str, str]]:
    """Write what was asked for by a command; return what was written where, by response."""
    written: list[dict[str, str]] = []
    for one, ending in zip(found, file_endings([one.response for one in found]), strict=True):
        written.append({})
        if output.plot is not None:
            _write_plot(one.analysis, named := _named(output.plot, ending))
            written[-1]["plot"] = str(named)
        if output.model is not None:
            save_model(one.predictor, named := _named(output.model, ending))
            written[-1]["model"] = str(named)
    return [*written[:-1], written[-1] | _write_together(found, output, command)]


def _named(file: Path, ending: str) -> Path:
    """Return the name of the file of one of several responses."""
    return file.with_name(f"{file.stem}-{ending}{file.suffix}") if ending else file


def file_endings(responses: Sequence[str]) -> list[str]:
    """Return what tells files of several responses apart; nothing for one.

    Examples
    --------
    >>> file_endings(["fat (%)", "ash", "fat / %"]), file_endings(["fat"])
    (['fat', 'ash', 'fat-3'], [''])
    """
    if len(responses) == 1:
        return [""]
    found: list[str] = []
    for place, name in enumerate(responses, start=1):
        plain = re.sub(r"[^\w.]+", "-", name).strip("-.")[:60] or "response"
        found.append(f"{plain}-{place}" if plain in found else plain)
    return found


def _write_together(found: Sequence[Fitted], output: Output, command: str) -> dict[str, str]:
    """Write the files that hold all responses."""
    written, analyses = {}, [one.analysis for one in found]
    if output.report is not None:
        from plsdof.workbench.report.document import write_report, write_result

        if isinstance(analyses[0], ClassAnalysis):
            write_result(
                found[0].result, output.report, picture=analyses[0].picture(), command=command
            )
        else:
            write_report(analyses, output.report, command=command, accept=output.accept)
        written["report"] = str(output.report)
    if output.out is not None:
        write_tables(_sheets(found, output.out), output.out, escape=not output.plain_csv)
        written["tables"] = str(output.out)
    return written


def _sheets(found: Sequence[Fitted], file: Path) -> dict[str, dict[str, Any]]:
    """Return the tables to write: all of them to Excel, the first one to text."""
    if file.suffix.lower() == ".xlsx":
        return {
            f"{one.response} {name}" if len(found) > 1 else name: columns
            for one in found
            for name, columns in one.result.sheets().items()
        }
    name, columns = found[0].result.main, [one.result.main_table.values() for one in found]
    if len(found) == 1:
        return {name: columns[0]}
    shared = [key for key in columns[0] if all(key in one for one in columns)]
    names = [one.response for one in found for _ in one.analysis.data.names]
    stacked = {key: np.concatenate([np.asarray(one[key]) for one in columns]) for key in shared}
    return {name: {"response": names, **stacked}}


def _write_plot(analysis: Any, file: Path) -> None:
    if isinstance(analysis, ClassAnalysis):
        from plsdof.plotting.curves import class_figure

        figure = class_figure(analysis.model)
    else:
        from plsdof.plotting import overview_figure

        level = analysis.request.level
        figure = overview_figure(analysis.leading, response=analysis.data.response, level=level)
    image = io.BytesIO()
    figure.savefig(image, format=file.suffix.lower()[1:])
    with atomic_write(file) as stream:
        stream.write(image.getvalue())


# Data to try it with
# -------------------

_SHIPPED = resources.files("plsdof.datasets") / "data"


def demo(report: Path | None = None) -> None:
    """Calibrate octane numbers by spectra that are shipped with the package."""
    screen, output = show.console(), Output(report=report)
    with resources.as_file(_SHIPPED / "gasoline.csv") as file:
        output.check(file)
        screen.print("Predict octane from 60 near-infrared spectra of gasoline.\n")
        request = Request(response="octane", preprocess="auto")
        (fitted,) = _fitted([file], JoinedReading(), request, output, None, streamed=False)
        write([fitted], output, shlex.join(["plsdof", *sys.argv[1:]]))
    found = fitted.analysis
    assert isinstance(found, Analysis)
    show.show_result(screen, fitted.result)
    mean = prediction_interval(found.model, np.mean(found.data.drawn, axis=0, keepdims=True))
    show.remark(
        screen,
        "A prediction",
        f"the average spectrum has an octane number of {significant(mean.center[0])} (95% interval "
        f"{significant(mean.lower[0])} to {significant(mean.upper[0])}).",
    )
    if report is None:
        show.remark(
            screen, "Report", "plsdof demo --report demo.html writes all of it as a web page."
        )
    show.remark(screen, "Your data", "plsdof fit FILE.csv --response COLUMN --report report.html")


def datasets(export: Path | None = None, as_json: bool = False) -> None:
    """List the data sets, say which are at hand, and verify their hashes."""
    if export is not None:
        _export(export, as_json)
        return
    from plsdof.datasets import dataset_status

    found = dataset_status()
    if as_json:
        show.print_json("datasets", {"datasets": [asdict(one) for one in found]})
    else:
        screen, verdicts = show.console(), {True: "ok", False: "WRONG", None: "-"}
        headings = ("name", "function", "state", "hash", "rows x predictors")
        rows = [
            (one.name, one.function, one.state, verdicts[one.hash_ok], "{} x {}".format(*one.shape))
            for one in found
        ]
        cells = list(zip(*rows, strict=True))
        show.show_table(screen, "Data sets", headings, cells, texts=[True] * 4)
        for one in found:
            screen.print()
            show.remark(screen, one.name, f"{one.message} {one.location}")
    if any(one.hash_ok is False for one in found):
        raise typer.Exit(2)


def _export(file: Path, as_json: bool) -> None:
    name = as_choice(file.stem, "The name of the file of --export", tuple(SHIPPED))
    check_outputs({"--export": (file, (".csv",))})
    with atomic_write(file) as stream:
        stream.write((_SHIPPED / f"{name}.csv").read_bytes())
    trial = f"plsdof fit {shlex.quote(str(file))} {SHIPPED[name]}"
    if as_json:
        show.print_json("datasets", {"written": {name: str(file)}, "try": trial})
    else:
        show.remark(show.console(), "Wrote the table", f"{file}; try {trial}")
