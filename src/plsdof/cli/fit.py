"""``plsdof fit``."""

import io
import re
import shlex
import sys
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from plsdof._core.path import Path as PathOfModels
from plsdof.chemometrics.merit import TestSet
from plsdof.cli import _options as options
from plsdof.cli._analysis import Analysis, Plan, analyse, as_folds, noise_sentence, show_fit, why
from plsdof.cli._data import (
    LEAVE_ONE_OUT,
    Asked,
    Held,
    Problem,
    Rows,
    StreamedProblem,
    TableProblem,
    is_streamed,
    read_problems,
    read_streamed,
    refuse_streamed,
)
from plsdof.cli._tables import Reading
from plsdof.cli._terminal import console, print_json, records, remark, waiting
from plsdof.errors import InvalidInputError
from plsdof.files.writing import (
    TABLE_ENDINGS,
    atomic_write,
    check_writable,
    require_ending,
    write_tables,
)
from plsdof.large.rows import at_rows

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
    criterion: options.Criterion = "gcv",
    rule: options.Rule = None,
    max_components: options.MaxComponents = None,
    components: options.Components = None,
    dof: options.DofKind = None,
    no_scale: options.NoScale = False,
    preprocess: options.Preprocess = "none",
    cv: options.FoldsText = None,
    repeats: options.Repeats = 1,
    seed: options.Seed = None,
    test: options.Test = None,
    test_rows: options.TestRows = None,
    test_fraction: options.TestFraction = None,
    level: options.Level = 0.95,
    intervals: options.Intervals = "normal",
    covariance: options.Covariance = "homoscedastic",
    permutations: options.Permutations = None,
    std_errors: options.StdErrors = None,
    select: options.Select = None,
    stability: options.Stability = False,
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
    # Criteria take rows as independent, which those of one group are not.
    criterion = "cv" if groups is not None and criterion == "gcv" else criterion
    plan = Plan(
        method=method,
        criterion=criterion,
        rule=rule,
        dof=dof,
        components=components,
        max_components=max_components,
        folds=as_folds(cv, criterion, groups),
        repeats=repeats,
        seed=seed,
        scale=not no_scale,
        level=level,
        stability=stability,
        preprocess=preprocess,
        intervals=intervals,
        covariance=covariance,
        permutations=permutations,
        std_errors=std_errors,
        select=select,
    ).checked()
    held = Held(file=test, rows=test_rows, fraction=test_fraction).checked()
    _check_outputs(file, {"--report": report, "--plot": plot, "--model": model, "--out": tables})
    columns: dict[str, Any] = {"features": features or (), "exclude": exclude or (), "label": label}
    reading = Reading(
        sheet=sheet,
        header_row=header_row,
        skip_rows=skip_rows,
        transpose=transpose,
        na=tuple(na or ()),
        response_file=response_file,
        response_sheet=response_sheet,
        by_row_order=by_row_order,
    ).checked()
    rows: dict[str, Any] = {
        "drop_missing": drop_missing,
        "groups": groups,
        "exclude_rows": exclude_rows,
    }
    responses = list(dict.fromkeys(response))
    problems: Sequence[TableProblem | StreamedProblem]
    if is_streamed(file, in_memory):
        how = {name: value for name, value in vars(reading).items() if value}
        # The leverage of a row in an average depends on the responses of all rows.
        drawn = plan.criterion == "average" and (report is not None or plot is not None)
        _refuse_streamed(file, plan, {"report of an average": drawn, **how})
        shown = not quiet and sys.stderr.isatty()
        asked = Asked(
            steps=plan.preprocess,
            held=held,
            groups=groups,
            exclude_rows=exclude_rows,
            drop_missing=drop_missing,
            folds=plan.folds is not None,
            sample=report is not None or plot is not None,
        )
        problems = [
            read_streamed(
                file,
                one,
                **{**columns, "exclude": [*columns["exclude"], *responses]},
                scale=plan.scale,
                asked=asked,
                progress=shown,
            )
            for one in responses
        ]
    else:
        with waiting("Reading the table", quiet=quiet):
            found = read_problems(
                str(file), responses, **columns, **rows, reading=reading, held=held
            )
            problems = [one.after(plan.preprocess) for one in found]
    outputs = {"report": report, "plot": plot, "model": model}
    endings = _file_endings([problem.response for problem in problems])
    contents, sheets, pages = [], {}, {}
    for problem in problems:
        several = problem.response if len(problems) > 1 else ""
        ending = endings[problem.response] if several else ""
        # A pass over the files has a bar of its own.
        passes = isinstance(problem, StreamedProblem) and problem.is_read_again
        with waiting("Fitting", quiet=quiet or passes):
            analysis = analyse(problem, plan)
            if analysis.search is not None and isinstance(problem, TableProblem):
                problem = problem.only(analysis.search.found.support)
        files = {what: path and _named(path, ending) for what, path in outputs.items()}
        # So has a report.
        busy = waiting("Writing", quiet=quiet or passes or report is not None)
        with busy, warnings.catch_warnings():
            # About the models it compares with, and characters a font lacks: the fit has notes.
            warnings.simplefilter("ignore")
            written = _write(problem, analysis, **files, label=label, quiet=quiet)
            if several and files["report"] is not None:
                pages[problem.response] = files["report"].read_text(encoding="utf-8")
                files["report"].unlink()
                del written["report"]
            if tables is not None:
                for name, table in _tables(problem, analysis, tables).items():
                    sheets[f"{several} {name}".strip()] = table
        contents.append({**to_content(problem, analysis), "written": written})
        if not as_json and not quiet:
            screen = console()
            screen.print(*(["\n"] if len(contents) > 1 else []), end="")
            show_fit(screen, problem, analysis, verbose=verbose)
            _show_written(written)
    everything: dict[str, str] = {}
    if tables is not None:
        written_tables = sheets if tables.suffix.lower() == ".xlsx" else _stacked(sheets)
        write_tables(written_tables, tables, escape=not plain_csv)
        everything["tables"] = str(tables)
    if pages and report is not None:
        from plsdof.report import combine_reports

        combine_reports(report, pages)
        everything["report"] = str(report)
    if as_json:
        contents[0]["written"] |= everything
        print_json("fit", contents[0] if len(contents) == 1 else {"responses": contents})
    elif not quiet:
        _show_written(everything)


def _show_written(written: dict[str, str]) -> None:
    screen = console()
    if written:
        screen.print()
    for what, where in written.items():
        remark(screen, f"Wrote the {what}", where)


def _named(file: Path, ending: str) -> Path:
    """Return the name of the file of one of several responses."""
    return file.with_name(f"{file.stem}-{ending}{file.suffix}") if ending else file


def _file_endings(responses: Sequence[str]) -> dict[str, str]:
    """Return what tells files of several responses apart.

    Examples
    --------
    >>> _file_endings(["fat (%)", "ash", "fat / %"])
    {'fat (%)': 'fat', 'ash': 'ash', 'fat / %': 'fat-3'}
    """
    found: dict[str, str] = {}
    for number, name in enumerate(responses, start=1):
        plain = re.sub(r"[^\w.]+", "-", name).strip("-.")[:60] or "response"
        found[name] = f"{plain}-{number}" if plain in found.values() else plain
    return found


def _stacked(sheets: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Put the coefficients of several responses below each other, the response before them."""
    if len(sheets) == 1:
        return sheets
    shared = [
        name for name in next(iter(sheets.values())) if all(name in t for t in sheets.values())
    ]
    sizes = {title: len(table["name"]) for title, table in sheets.items()}
    names = [title.removesuffix(" coefficients") for title, n in sizes.items() for _ in range(n)]
    columns = {
        name: np.concatenate([np.asarray(table[name]) for table in sheets.values()])
        for name in shared
    }
    return {"coefficients": {"response": names, **columns}}


def to_content(problem: Problem, analysis: Analysis) -> dict[str, Any]:
    """Return everything that the tables give, and more, for machines."""
    plan, path, chosen = analysis.plan, analysis.path, analysis.selection
    rows, p = problem.shape
    return {
        "file": problem.source,
        "response": problem.response,
        "method": plan.method,
        "scale": plan.scale,
        "n": rows,
        "p": p,
        "rank": path.spectrum.rank,
        "rows_dropped": problem.dropped,
        "streamed": isinstance(problem, StreamedProblem),
        "wavelengths": problem.wavelengths,
        "path": records(_path_columns(analysis)),
        "choice": {
            "index": chosen.index,
            "parameter_name": chosen.parameter_name,
            "parameter": _parameters(analysis)[chosen.index],
            "criterion": chosen.criterion,
            "rule": chosen.rule,
            "dof_kind": chosen.dof,
            "dof": analysis.answering[0].dof[analysis.answering[1]],
            "weights": None if analysis.average is None else analysis.average.weights,
            "remarks": list(chosen.remarks),
            "message": chosen.message,
            "words": f"{why(analysis)} {noise_sentence(analysis)}",
        },
        "search": _search(problem, analysis),
        "stability": _stability(analysis),
        "permutations": _permutations(analysis),
        "intervals": plan.intervals,
        "covariance": plan.covariance,
        "assumptions": None if analysis.inference is None else analysis.inference.assumptions,
        "preprocessing": None if plan.preprocess == "none" else plan.preprocess,
        "r_squared": analysis.r_squared,
        "merit": {name: asdict(figures) for name, figures in analysis.merit.items()},
        "test": _test(analysis),
        "sigma": _sigma(analysis),
        "intercept": _intercept(analysis),
        "coefficients": records(_coefficients(problem, analysis)),
        "notes": [*problem.notes, *analysis.notes],
    }


def _test(analysis: Analysis) -> dict[str, Any] | None:
    test = analysis.test
    if test is None:
        return None
    return {"source": test.source, "rows": records(_test_columns(test))}


def _search(problem: Problem, analysis: Analysis) -> dict[str, Any] | None:
    search = analysis.search
    if search is None:
        return None
    found = search.found
    return {
        "sets": records({"set": found.labels, "score": found.scores}),
        "chosen": found.labels[found.chosen],
        "columns": [name for name, one in zip(problem.names, found.support, strict=True) if one],
        "dof_of_fixed_columns": found.path.dof[found.index],
        "dof": search.dof.value,
        "dof_std_error": search.dof.std_error,
        "words": search.words,
    }


def _test_columns(test: TestSet) -> dict[str, Any]:
    columns: dict[str, Any] = {"row": test.row_numbers}
    columns |= {} if test.labels is None else {"id": test.labels}
    return columns | {"observed": test.observed, "prediction": test.predicted}


def _tables(problem: Problem, analysis: Analysis, file: Path) -> dict[str, dict[str, Any]]:
    """Return the tables to write: all of them to Excel, the coefficients to text."""
    found = {"coefficients": _coefficients(problem, analysis)}
    if file.suffix.lower() != ".xlsx":
        return found
    found["models"] = _path_columns(analysis)
    if analysis.merit:
        figures = [asdict(one) for one in analysis.merit.values()]
        found["figures of merit"] = {"rows": list(analysis.merit)} | {
            name: [one[name] for one in figures] for name in figures[0]
        }
    if analysis.test is not None:
        found["test"] = _test_columns(analysis.test)
    return found


def _stability(analysis: Analysis) -> dict[str, Any] | None:
    frequency = analysis.frequency
    if frequency is None:
        return None
    return {"counts": frequency.counts, "words": frequency.message}


def _permutations(analysis: Analysis) -> dict[str, Any] | None:
    test = analysis.permutation
    if test is None:
        return None
    return {
        "p_value": test.p_value,
        "score": test.score,
        "permuted": test.permuted,
        "words": f"{test.message} {test.assumptions}",
    }


def _path_columns(analysis: Analysis) -> dict[str, Any]:
    path, chosen = analysis.path, analysis.selection
    columns: dict[str, Any] = {
        path.parameter_name: _parameters(analysis),
        "dof": path.dof,
        "dof_error": path.dof_error,
        **({"dof_std_error": path.dof_std_error} if path.dof_std_error.any() else {}),
        "naive_dof": path.naive_dof,
        "rss": path.rss,
        "sigma": np.sqrt(path.noise_variance(analysis.plan.noise)),
        chosen.criterion: chosen.scores,
    }
    if analysis.cv_error is not None:
        columns |= {"cv_error": analysis.cv_error, "cv_std_error": analysis.cv_std_error}
        columns |= {"rmsecv": analysis.rmsecv}
    return columns


def _parameters(analysis: Analysis) -> Any:
    """Return numbers of components as whole numbers, penalties as they are."""
    values = analysis.path.parameters
    return values if analysis.path.parameter_name == "alpha" else values.astype(int)


def _sigma(analysis: Analysis) -> dict[str, Any]:
    path, index = analysis.answering
    variance = path.noise_at(index, analysis.plan.noise)
    limits: Any = (None, None)
    if analysis.sigma is not None:
        limits = np.sqrt([analysis.sigma.lower[0], analysis.sigma.upper[0]])
    return {
        "value": float(np.sqrt(variance)),
        "lower": limits[0],
        "upper": limits[1],
        "level": analysis.plan.level,
        "kind": analysis.plan.noise,
    }


def _intercept(analysis: Analysis) -> dict[str, Any]:
    result, (path, index) = analysis.inference, analysis.answering
    return {
        "value": float(path.intercept[index]),
        "std_error": None if result is None else result.intercept_std_error,
    }


def _coefficients(problem: Problem, analysis: Analysis) -> dict[str, Any]:
    path, index = analysis.answering
    columns: dict[str, Any] = {"name": problem.names, "coef": path.coef[index]}
    result = analysis.inference
    if result is not None:
        columns |= {
            "std_error": result.std_error,
            "t": result.statistic,
            "p_value": result.p_value,
            "lower": result.lower,
            "upper": result.upper,
        }
    return columns


def _refuse_streamed(file: Path, plan: Plan, wanted: dict[str, Any]) -> None:
    """Refuse what needs the table in memory, before it is read."""
    refuse_streamed(
        file,
        {
            "--cv loo": plan.folds == LEAVE_ONE_OUT,
            "--stability": plan.stability,
            "--permutations": plan.permutations is not None,
            "--intervals": plan.intervals != "normal",
            "--covariance": plan.covariance != "homoscedastic",
            "--select": plan.select is not None,
            **{f"--{name.replace('_', '-')}": bool(value) for name, value in wanted.items()},
        },
    )


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


def _write(
    problem: TableProblem | StreamedProblem,
    analysis: Analysis,
    *,
    report: Path | None,
    plot: Path | None,
    model: Path | None,
    label: str | None,
    quiet: bool,
) -> dict[str, str]:
    """Write what is asked for; return what was written where."""
    if report is not None:
        _write_report(problem, analysis, report, quiet)
    if plot is not None:
        _write_plot(problem, analysis, plot)
    if model is not None:
        _write_model(problem, analysis, model, label)
    files = {"report": report, "plot": plot, "model": model}
    return {what: str(path) for what, path in files.items() if path is not None}


@dataclass(frozen=True, kw_only=True, eq=False)
class _Drawn:
    """What pictures show: the path and its rows, all or a sample, before and after preprocessing.

    ``places`` says which of all rows a sample has; None if there are all.
    """

    path: PathOfModels
    rows: Rows
    X: Any
    places: Any = None
    groups: Any = None
    notes: tuple[str, ...] = ()


def _drawn(problem: TableProblem | StreamedProblem, analysis: Analysis) -> _Drawn:
    if isinstance(problem, TableProblem):
        return _Drawn(path=analysis.path, rows=problem.rows, X=problem.X, groups=problem.groups)
    rows, places, chain = problem.sample, problem.places, problem.preprocessing
    assert rows is not None
    X = rows.X if chain is None else rows.preprocessed(chain, fit=False)
    note = (
        f"The table was read piece by piece: rows in pictures and tables of this page, and figures "
        f"of merit of calibration and cross-validation, are those of {len(rows.y):,} of "
        f"{problem.shape[0]:,} rows, drawn at random."
    )
    return _Drawn(
        path=at_rows(analysis.path, X.to_numpy()),
        rows=rows,
        X=X,
        places=places,
        groups=None if problem.groups is None else problem.groups[places],
        notes=(note,) if len(rows.y) < problem.shape[0] else (),
    )


def _write_report(
    problem: TableProblem | StreamedProblem, analysis: Analysis, file: Path, quiet: bool
) -> None:
    from plsdof.cli.compare import compare_methods
    from plsdof.report import write_report

    plan = analysis.plan
    drawn = _drawn(problem, analysis)
    search, comparison = analysis.search, None
    # Columns that were selected for PLS, by these rows, would make every method look too good.
    if search is None:
        with waiting("Comparing methods", quiet=quiet):
            comparison = compare_methods(
                problem,
                scale=plan.scale,
                folds=plan.folds,
                max_components=plan.max_components,
                known=analysis,
            )
    write_report(
        file,
        drawn.path,
        analysis.selection,
        X=drawn.X,
        y=drawn.rows.y,
        response=problem.response,
        source=problem.source,
        command=shlex.join(["plsdof", *sys.argv[1:]]),
        cv=analysis.cv,
        comparison=comparison,
        level=plan.level,
        notes=(*drawn.notes, *problem.notes),
        stability=analysis.frequency,
        row_labels=drawn.rows.labels,
        row_numbers=drawn.rows.numbers,
        groups=drawn.groups,
        raw=None if problem.preprocessing is None and search is None else drawn.rows.X,
        preprocessing="" if problem.preprocessing is None else problem.preprocessing.steps,
        search="" if search is None else search.words,
        test=analysis.test,
        intervals=plan.intervals,
        sample=drawn.places,
        covariance=plan.covariance,
        permutation=analysis.permutation,
        progress=not quiet and sys.stderr.isatty(),
    )


def _write_plot(problem: TableProblem | StreamedProblem, analysis: Analysis, file: Path) -> None:
    from plsdof.plotting import overview_figure

    drawn = _drawn(problem, analysis)
    figure = overview_figure(
        drawn.path,
        analysis.selection,
        y=drawn.rows.y,
        cv=analysis.cv,
        response=problem.response,
        level=analysis.plan.level,
    )
    image = io.BytesIO()
    figure.savefig(image, format=file.suffix.lower()[1:])
    with atomic_write(file) as stream:
        stream.write(image.getvalue())


def _write_model(
    problem: TableProblem | StreamedProblem, analysis: Analysis, file: Path, label: str | None
) -> None:
    from plsdof.files.models import detach, save_model

    source = {"file": problem.source, "rows": problem.shape[0], "dropped": problem.dropped}
    source |= {} if label is None else {"id": label}  # names the rows in predictions, too
    path, index = analysis.answering
    kept = detach(
        path,
        replace(analysis.selection, index=index, parameter=float(path.parameters[index])),
        names=problem.names,
        response=problem.response,
        source=source,
        noise=analysis.plan.noise,
        intervals=_kept_intervals(problem, analysis),
        preprocessing=problem.preprocessing,
    )
    save_model(kept, file)


def _kept_intervals(problem: TableProblem | StreamedProblem, analysis: Analysis) -> bool | str:
    if isinstance(problem, StreamedProblem):
        return problem.has_intervals
    # A model without noise level predicts without intervals, unless they come from other fits.
    needs_noise = analysis.plan.intervals != "jackknife+"
    return analysis.plan.intervals if analysis.inference is not None or not needs_noise else True
