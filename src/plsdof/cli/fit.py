"""``plsdof fit``: read, request, analyse, show."""

import io
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from plsdof.analysis import Analysis, Request, StreamedProblem, TableProblem, analyse
from plsdof.analysis.data import Folds
from plsdof.analysis.tables import all_tables, coefficient_columns, to_content
from plsdof.cli import _options as options
from plsdof.cli._data import (
    Asked,
    Held,
    is_streamed,
    read_problems,
    read_streamed,
    refuse_streamed,
)
from plsdof.cli._show import show_fit
from plsdof.cli._tables import Reading
from plsdof.cli._terminal import console, print_json, remark, waiting
from plsdof.errors import InvalidInputError
from plsdof.files.writing import (
    TABLE_ENDINGS,
    atomic_write,
    check_writable,
    require_ending,
    write_tables,
)

ENDINGS = {
    "--report": (".html", ".htm"),
    "--plot": (".png", ".svg", ".pdf"),
    "--model": (".json",),
    "--out": TABLE_ENDINGS,
}


def fit(
    file: options.FileOrFolder,
    response: options.Responses,
    features: options.Features = None,
    exclude: options.Exclude = None,
    groups: options.Groups = None,
    label: options.Label = None,
    drop_missing: options.DropMissing = False,
    exclude_rows: options.ExcludeRows = None,
    sheet: options.Sheet = None,
    header_row: options.HeaderRow = None,
    skip_rows: options.SkipRows = 0,
    transpose: options.Transpose = False,
    na: options.Na = None,
    response_file: options.ResponseFile = None,
    response_sheet: options.ResponseSheet = None,
    by_row_order: options.ByRowOrder = False,
    in_memory: options.InMemory = None,
    method: options.Method = "pls",
    criterion: options.Choice = None,
    rule: options.Rule = None,
    max_components: options.MaxComponents = None,
    components: options.Components = None,
    dof: options.DofKind = None,
    scale: options.Scale = None,
    preprocess: options.Preprocess = "none",
    cv: options.LeftOutText = None,
    seed: options.Seed = None,
    test: options.Test = None,
    test_rows: options.TestRows = None,
    test_fraction: options.TestFraction = None,
    level: options.Level = 0.95,
    intervals: options.Intervals = None,
    covariance: options.Covariance = "homoscedastic",
    permutations: options.Permutations = None,
    std_errors: options.StdErrors = None,
    select: options.Select = None,
    as_json: options.AsJson = False,
    report: options.Report = None,
    plot: options.Plot = None,
    model: options.ModelOut = None,
    tables: options.TablesOut = None,
    plain_csv: options.PlainCsv = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
) -> None:
    """Fit a table, choose the number of components, and print the model with intervals."""
    request = as_request(
        method=method,
        criterion=criterion,
        rule=rule,
        dof=dof,
        components=components,
        max_components=max_components,
        cv=as_folds(cv),
        seed=seed,
        scale=scale,
        level=level,
        intervals=intervals,
        covariance=covariance,
        preprocess=preprocess,
        select=select,
        std_errors=std_errors,
        permutations=permutations,
    )
    _check_outputs(file, {"--report": report, "--plot": plot, "--model": model, "--out": tables})
    held = Held(file=test, rows=test_rows, fraction=test_fraction)
    reading = Reading(
        sheet=sheet,
        header_row=header_row,
        skip_rows=skip_rows,
        transpose=transpose,
        na=tuple(na or ()),
        response_file=response_file,
        response_sheet=response_sheet,
        by_row_order=by_row_order,
    )
    columns: dict[str, Any] = {"features": features or (), "exclude": exclude or (), "label": label}
    rows: dict[str, Any] = {
        "groups": groups,
        "exclude_rows": exclude_rows,
        "drop_missing": drop_missing,
    }
    responses = list(dict.fromkeys(response))
    if is_streamed(file, in_memory):
        how = {name: value for name, value in vars(reading).items() if value}
        asked = Asked(
            steps=preprocess,
            held=held,
            sample=report is not None or plot is not None,
            **rows,
        )
        progress = not quiet and sys.stderr.isatty()
        data = _streamed(file, responses, columns, request, asked, how, progress)
    else:
        with waiting("Reading the table", quiet=quiet):
            found = read_problems(
                str(file), responses, **columns, **rows, reading=reading, held=held
            )
            data = [one.after(preprocess) for one in found]
    # A pass over the files has a bar of its own.
    passes = any(isinstance(one, StreamedProblem) and one.is_read_again for one in data)
    with waiting("Fitting", quiet=quiet or passes):
        analyses = [analyse(one, request) for one in data]
    with waiting("Writing", quiet=quiet):
        endings = file_endings([one.response for one in data])
        written = [
            _write(one, plot, model, label, ending)
            for one, ending in zip(analyses, endings, strict=True)
        ]
        everything = _write_together(analyses, report, tables, escape=not plain_csv)
    if as_json:
        contents = [
            to_content(made) | {"written": files}
            for made, files in zip(analyses, written, strict=True)
        ]
        contents[0]["written"] |= everything
        print_json("fit", contents[0] if len(contents) == 1 else {"responses": contents})
    elif not quiet:
        screen = console()
        for place, made in enumerate(analyses):
            screen.print(*(["\n"] if place else []), end="")
            show_fit(screen, made, verbose=verbose)
            _show_written(written[place])
        _show_written(everything)


def as_request(**asked: Any) -> Request:
    """Make a request; what is refused is called by its option."""
    try:
        return Request(**asked)
    except InvalidInputError as error:
        raise InvalidInputError(f"--{error}") from error


def as_folds(text: str | None) -> Folds | None:
    """Return what --cv asks for."""
    if text is None or text == "loo":
        return text  # type: ignore[return-value]
    if not text.isdecimal() or len(text) > 9 or int(text) < 2:
        raise InvalidInputError(f"--cv must be a number of folds >= 2, or loo; got {text[:40]!r}.")
    return int(text)


def _streamed(
    file: Path,
    responses: Sequence[str],
    columns: dict[str, Any],
    request: Request,
    asked: Asked,
    reading: dict[str, Any],
    progress: bool,
) -> Sequence[TableProblem | StreamedProblem]:
    """Refuse what needs the table in memory; then read it piece by piece."""
    refuse_streamed(
        file,
        {
            "--cv loo": request.cv == "loo",
            "--permutations": request.permutations is not None,
            "--intervals": request.intervals not in (None, "normal"),
            "--covariance": request.covariance != "homoscedastic",
            "--select": request.select is not None,
            # The leverage of a row in an average depends on the responses of all rows.
            "--report of an average": request.criterion == "average" and asked.sample,
            **{f"--{name.replace('_', '-')}": True for name in reading},
        },
    )
    columns = {**columns, "exclude": [*columns["exclude"], *responses]}
    return [
        read_streamed(file, one, **columns, scale=request.scale, asked=asked, progress=progress)
        for one in responses
    ]


# What is written
# ---------------


def _check_outputs(file: Path, outputs: dict[str, Path | None]) -> None:
    """Refuse output files that cannot be written, before a long computation."""
    wanted = {option: path for option, path in outputs.items() if path is not None}
    seen = {file.resolve(): "the table"}
    for option, path in wanted.items():
        check_writable(path)
        if file.is_dir() and path.resolve().parent == file.resolve():
            raise InvalidInputError(
                f"{option} {path} would become part of the table in {file}; choose another folder."
            )
        if path.resolve() in seen:
            raise InvalidInputError(
                f"{option} {path} would overwrite {seen[path.resolve()]}; choose another name."
            )
        seen[path.resolve()] = f"the file of {option}"
        require_ending(option, path, ENDINGS[option])


def _show_written(written: dict[str, str]) -> None:
    screen = console()
    if written:
        screen.print()
    for what, where in written.items():
        remark(screen, f"Wrote the {what}", where)


def _write(
    analysis: Analysis, plot: Path | None, model: Path | None, label: str | None, ending: str
) -> dict[str, str]:
    """Write the files that each response has of its own; return what was written where."""
    written = {}
    if plot is not None:
        _write_plot(analysis, named := _named(plot, ending))
        written["plot"] = str(named)
    if model is not None:
        _write_model(analysis, named := _named(model, ending), label)
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
    for number, name in enumerate(responses, start=1):
        plain = re.sub(r"[^\w.]+", "-", name).strip("-.")[:60] or "response"
        found.append(f"{plain}-{number}" if plain in found else plain)
    return found


def _write_together(
    analyses: Sequence[Analysis], report: Path | None, tables: Path | None, *, escape: bool
) -> dict[str, str]:
    """Write the files that hold all responses."""
    written = {}
    if report is not None:
        from plsdof.report import write_report

        write_report(analyses, report, command=shlex.join(["plsdof", *sys.argv[1:]]))
        written["report"] = str(report)
    if tables is not None:
        write_tables(_sheets(analyses, tables), tables, escape=escape)
        written["tables"] = str(tables)
    return written


def _sheets(analyses: Sequence[Analysis], file: Path) -> dict[str, dict[str, Any]]:
    """Return the tables to write: all of them to Excel, the coefficients to text."""
    if file.suffix.lower() == ".xlsx":
        return {
            f"{one.data.response if len(analyses) > 1 else ''} {name}".strip(): columns
            for one in analyses
            for name, columns in all_tables(one).items()
        }
    found = [coefficient_columns(one) for one in analyses]
    if len(found) == 1:
        return {"coefficients": found[0]}
    shared = [name for name in found[0] if all(name in one for one in found)]
    names = [one.data.response for one in analyses for _ in one.data.names]
    stacked = {name: np.concatenate([np.asarray(one[name]) for one in found]) for name in shared}
    return {"coefficients": {"response": names, **stacked}}


def _write_plot(analysis: Analysis, file: Path) -> None:
    from plsdof.plotting import overview_figure

    figure = overview_figure(
        analysis.model, response=analysis.data.response, level=analysis.request.level
    )
    image = io.BytesIO()
    figure.savefig(image, format=file.suffix.lower()[1:])
    with atomic_write(file) as stream:
        stream.write(image.getvalue())


def _write_model(analysis: Analysis, file: Path, label: str | None) -> None:
    from plsdof.files.models import portable_model, save_model

    data = analysis.data
    source = {"file": data.source, "rows": data.shape[0], "dropped": data.dropped}
    source |= {} if label is None else {"id": label}  # names the rows in predictions, too
    kept = data.has_intervals if isinstance(data, StreamedProblem) else True
    model = portable_model(
        analysis.model,
        names=data.names,
        response=data.response,
        source=source | {"recipe": analysis.recipe},
        noise=analysis.noise_kind,
        intervals=cast("Any", analysis.request.intervals or kept),
        preprocessing=data.preprocessing,
    )
    save_model(model, file)
