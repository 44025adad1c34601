"""``plsdof fit``: read, request, analyse, show; and data to try it with."""

import io
import re
import shlex
import sys
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from plsdof._core.display import plural
from plsdof._core.inputs import as_choice
from plsdof._core.model import members_of
from plsdof._core.remarks import Remark
from plsdof.analysis import Analysis, Request
from plsdof.analysis.analysis import analysed
from plsdof.analysis.data import TableProblem, sha256_of
from plsdof.analysis.tables import all_tables, coefficient_columns, to_content
from plsdof.chemometrics.merit import accepted, parse_criterion
from plsdof.cli import _show as show
from plsdof.cli._data import Part, TestRows, is_streamed, read_problems
from plsdof.cli._options import (
    JSON,
    LIMIT_CROSSED,
    PAGE,
    SHIPPED,
    File,
    Printing,
    check_outputs,
)
from plsdof.cli._tables import JoinedReading
from plsdof.errors import InvalidInputError
from plsdof.files.models import FrozenModel, load_model, save_model
from plsdof.files.writing import TABLE_ENDINGS, atomic_write, write_tables
from plsdof.inference.intervals import prediction_interval


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
    part: Part,
    reading: JoinedReading,
    request: Request,
    test: TestRows,
    output: Output,
    in_memory: bool | None = None,
    more: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[TABLE]...", help="Tables with the same columns, for more rows."),
    ] = None,
) -> list[Any]:
    """Fit a table, choose the number of components, and print the model."""
    files = (file, *(more or ()))
    output.check(*files)
    parent = _parent(output.parent, part.response)
    streamed = any(is_streamed(one, in_memory) for one in files)
    if streamed and (more or parent is not None):
        raise InvalidInputError("Several tables, and --parent, are for tables in memory.")
    request = replace(request, preprocess=part.steps(request.preprocess))
    drawn = output.report is not None or output.plot is not None
    with show.waiting("Reading the table", quiet=output.quiet or streamed):  # it has its own bar
        data = read_problems(
            files if more else file,
            part,
            reading=reading,
            test=test,
            request=request,
            streamed=streamed,
            drawn=drawn,
            progress=streamed and not output.quiet and sys.stderr.isatty(),
        )
    classes = [one for one in data if one.rows.classes]
    if classes and (len(data) > 1 or output.accept or parent is not None):
        raise InvalidInputError(
            f"{classes[0].response!r:.40} holds classes, which are fitted alone, without --accept "
            "and --parent."
        )
    with show.waiting("Fitting", quiet=output.quiet or streamed):
        analyses = [_analysed(one, request) for one in data]
        if parent is not None:
            first = _tables_of(parent, files)
            said = what_changed(analyses[0], parent, len(reading.stacked(first)))
            analyses = [replace(analyses[0], added=(*analyses[0].added, *said))]
    verdicts = [[accepted(one, made.merit) for one in output.accept] for made in analyses]
    with show.waiting("Writing", quiet=output.quiet):
        endings = file_endings([one.response for one in data])
        written = [
            _write(one, output, part.label or part.average_by, ending)
            for one, ending in zip(analyses, endings, strict=True)
        ]
        written[-1] |= _write_together(analyses, output)
    if output.as_json:
        contents = [
            (made.to_content() if classes else to_content(made))
            | {"written": names, "accepted": [asdict(one) for one in judged]}
            for made, names, judged in zip(analyses, written, verdicts, strict=True)
        ]
        show.print_json("fit", contents[0] if len(contents) == 1 else {"responses": contents})
    elif not output.quiet:
        screen = show.console()
        for place, (made, names) in enumerate(zip(analyses, written, strict=True)):
            screen.print(*(["\n"] if place else []), end="")
            if classes:
                show.show_classes(screen, made)
            else:
                show.show_fit(screen, made, verbose=output.verbose)
            for one in verdicts[place]:
                word = "Accepted" if one.passed else "Not accepted"
                show.remark(screen, word, f"{one.criterion}: {show.number(one.value)} ({one.rows})")
            screen.print(*(["\n"] if names else []), end="")
            for what, where in names.items():
                show.remark(screen, f"Wrote the {what}", where)
    if not all(one.passed for judged in verdicts for one in judged):
        raise typer.Exit(LIMIT_CROSSED)
    return analyses


def _analysed(data: TableProblem, request: Request) -> Any:
    """Return the analysis of a measured response, or of classes."""
    if not data.rows.classes:
        return analysed(data, request)
    from plsdof.analysis.classes import classified  # it needs scikit-learn

    return classified(data, request)


# What an update changes
# ----------------------


def _parent(file: Path | None, responses: Sequence[str]) -> FrozenModel | None:
    """Read the model that is updated; refuse one of another response."""
    if file is None:
        return None
    found = load_model(file)
    if [one.response for one in found.responses] != list(responses):
        raise InvalidInputError(f"--parent {file} is a model of another response.")
    return found


def _tables_of(parent: FrozenModel, files: Sequence[Path]) -> Sequence[Path]:
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


# Facts of a recipe that another table changes anyway.
_OF_ROWS = ("made", "data", "sha256", "test rows", "rows excluded")


def what_changed(analysis: Analysis, parent: FrozenModel, first: int) -> list[Remark]:
    """Say what a fit to more rows changes; the ``first`` rows are those of the parent."""
    data = analysis.data
    assert isinstance(data, TableProblem)
    old, y = data.rows.numbers <= first, data.rows.y
    new, kept = int(np.count_nonzero(~old)), int(np.count_nonzero(old))
    texts = [
        f"Update of a model of {parent.created[:10]} (fitted to {parent.n:g} rows): {kept} rows of "
        f"the first table, {plural(new, 'new row')}; {parent.in_words} before, "
        f"{analysis.model.label} now."
    ]
    before = dict(parent.source.get("recipe", {}))
    changed = [
        f"{key} {before[key]} before, {value} now"
        for key, value in analysis.recipe.items()
        if before.get(key, value) != value and key not in _OF_ROWS
    ]
    texts += [f"The recipe changed: {'; '.join(changed)}."] if changed else []
    if not new and before.get("sha256", analysis.recipe["sha256"]) != analysis.recipe["sha256"]:
        texts.append(
            "The table is not the one that the parent was fitted to: their SHA-256 differ."
        )
    left_out = analysis.model.left_out_residuals
    if set(parent.columns) <= set(data.rows.X.columns) and len(left_out) == len(y):
        error = y - parent.predict(data.rows.X[list(parent.columns)])
        # Rows that the parent was fitted to are compared held out of both calibrations.
        errors = {
            "Rows of the first table": (old, parent.calibration_errors.rmsecv, ", held out of it"),
            "New rows": (~old, float(np.sqrt(np.mean(error[~old] ** 2))) if new else 0.0, ""),
        }
        for name, (rows, by, how) in errors.items():
            if rows.any():
                now = float(np.sqrt(np.mean(left_out[rows] ** 2)))
                texts.append(
                    f"{name}: root mean squared error {show.number(by)} by the parent{how}, "
                    f"{show.number(now)} held out of the new calibration."
                )
    else:
        texts.append("Errors are not compared: the parent has other columns or rows.")
    return [Remark(key="update", words=text) for text in texts]


# What is written
# ---------------


def _write(analysis: Any, output: Output, label: str | None, ending: str) -> dict[str, str]:
    """Write the files that each response has of its own; return what was written where."""
    written = {}
    if output.plot is not None:
        _write_plot(analysis, named := _named(output.plot, ending))
        written["plot"] = str(named)
    if output.model is not None:
        _write_model(analysis, named := _named(output.model, ending), label, output.parent)
        written["model"] = str(named)
    return written


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


def _write_together(analyses: Sequence[Any], output: Output) -> dict[str, str]:
    """Write the files that hold all responses."""
    written, classes = {}, bool(analyses[0].data.rows.classes)
    if output.report is not None:
        from plsdof.report import write_report
        from plsdof.report.classes import write_class_report

        command = shlex.join(["plsdof", *sys.argv[1:]])
        if classes:
            write_class_report(analyses[0], output.report, command=command)
        else:
            write_report(analyses, output.report, command=command, accept=output.accept)
        written["report"] = str(output.report)
    if output.out is not None:
        sheets = analyses[0].tables() if classes else _sheets(analyses, output.out)
        if output.out.suffix.lower() != ".xlsx":
            sheets = dict(list(sheets.items())[:1])
        write_tables(sheets, output.out, escape=not output.plain_csv)
        written["tables"] = str(output.out)
    return written


def _sheets(analyses: Sequence[Analysis], file: Path) -> dict[str, dict[str, Any]]:
    """Return the tables to write: all of them to Excel, the coefficients to text."""
    if len(analyses) == 1:
        return all_tables(analyses[0])
    if file.suffix.lower() == ".xlsx":
        return {
            f"{one.data.response} {name}": columns
            for one in analyses
            for name, columns in all_tables(one).items()
        }
    found = [coefficient_columns(one) for one in analyses]
    shared = [name for name in found[0] if all(name in one for one in found)]
    names = [one.data.response for one in analyses for _ in one.data.names]
    stacked = {name: np.concatenate([np.asarray(one[name]) for one in found]) for name in shared}
    return {"coefficients": {"response": names, **stacked}}


def _write_plot(analysis: Any, file: Path) -> None:
    if analysis.data.rows.classes:
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


def _write_model(analysis: Any, file: Path, label: str | None, parent: Path | None) -> None:
    from plsdof.files.classes import frozen_classifier
    from plsdof.files.models import frozen_model

    data = analysis.data
    source = {"file": data.source, "rows": data.shape[0], "dropped": data.dropped}
    source |= {} if label is None else {"id": label}  # names the rows in predictions, too
    facts: dict[str, Any] = {"names": data.names, "response": data.response}
    if data.rows.classes:
        model = frozen_classifier(
            analysis.model, source=source, preprocessing=data.preprocessing, **facts
        )
    else:
        model = frozen_model(
            analysis.model,
            source=source | {"recipe": analysis.recipe},
            noise=analysis.noise_kind,
            intervals=analysis.request.intervals or data.has_intervals,
            # Each recipe of an average has its own.
            preprocessing=None if len(members_of(analysis.model)) > 1 else data.preprocessing,
            **facts,
        )
        model = replace(
            model,
            source={**model.source, **_repeatability(data, model)},
            parent="" if parent is None else load_model(parent).sha256,
        )
    save_model(model, file)


def _repeatability(data: TableProblem, model: FrozenModel) -> dict[str, Any]:
    """Return how far predictions of replicates are apart, for a file; nothing without them."""
    if data.measured is None:
        return {}
    from plsdof.chemometrics.samples import repeatability

    measured = data.measured
    complete = ~np.isnan(measured.X).any(axis=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a chain that knows names gets an array
        predicted = model.predict(measured.X[complete])
    found = repeatability(predicted, measured.samples[complete])
    usual = {"column": measured.column, "std": found.std, "dof": found.dof}
    return {"replicates": usual} if found.dof else {}


# Data to try it with
# -------------------

_SHIPPED = resources.files("plsdof.datasets") / "data"


def demo(report: Path | None = None) -> None:
    """Calibrate octane numbers by spectra that are shipped with the package."""
    screen, output = show.console(), Output(report=report)
    with resources.as_file(_SHIPPED / "gasoline.csv") as file:
        output.check(file)
        screen.print("Predict octane from 60 near-infrared spectra of gasoline.\n")
        part, request = Part(response=("octane",)), Request(preprocess="auto")
        (found,) = fit(file, part, JoinedReading(), request, TestRows(), output)
    mean = prediction_interval(found.model, np.mean(found.data.drawn, axis=0, keepdims=True))
    show.remark(
        screen,
        "A prediction",
        f"the average spectrum has an octane number of {show.number(mean.center[0])} (95% interval "
        f"{show.number(mean.lower[0])} to {show.number(mean.upper[0])}).",
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
        screen.print(show.table("Data sets", headings, rows, text_columns=4))
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
