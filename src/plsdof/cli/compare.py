"""``plsdof compare``."""

import warnings
from typing import Any

import numpy as np
from rich.table import Table

from plsdof._core.criteria import INFORMATION_CRITERIA
from plsdof._core.fit import METHODS, method_label
from plsdof._core.inputs import as_choice
from plsdof.cli import _options as options
from plsdof.cli._analysis import (
    Analysis,
    as_folds,
    check_steps,
    criterion_name,
    cross_validate_problem,
    default_components,
    fit_problem,
    heading,
    preprocessing_notes,
    select_by,
)
from plsdof.cli._data import Folds, StreamedProblem, TableProblem, read_problem
from plsdof.cli._tables import Reading
from plsdof.cli._terminal import (
    add_row,
    console,
    fixed,
    note,
    number,
    print_json,
    records,
    remark,
    table,
    waiting,
)
from plsdof.complexity.comparison import Comparison
from plsdof.errors import NotAvailableError
from plsdof.selection.agreement import FEWEST_DOF, UNSTABLE_REMARK

_MOST_COMPONENTS = 10


def compare(
    file: options.File,
    response: options.Response,
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
    criterion: options.Criterion = "gcv",
    max_components: options.MaxComponents = None,
    no_scale: options.NoScale = False,
    preprocess: options.Preprocesses = None,
    cv: options.FoldsText = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
) -> None:
    """Compare PLS, PCR and ridge regression on the scale of their Degrees of Freedom.

    With --preprocess more than once, compare these ways of preprocessing, too.
    """
    as_choice(criterion, "--criterion", [one for one in options.CHOICES if one != "average"])
    chains = list(dict.fromkeys(preprocess or ["none"]))
    for steps in chains:
        check_steps(steps)
    folds = as_folds(cv, criterion, groups)
    reading = Reading(
        sheet=sheet,
        header_row=header_row,
        skip_rows=skip_rows,
        transpose=transpose,
        na=tuple(na or ()),
        response_file=response_file,
        response_sheet=response_sheet,
    )
    with waiting("Reading the table", quiet=quiet):
        problem = read_problem(
            str(file),
            response,
            features=features or (),
            exclude=exclude or (),
            groups=groups,
            label=label,
            drop_missing=drop_missing,
            exclude_rows=exclude_rows,
            reading=reading,
        )
    with waiting("Comparing", quiet=quiet), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        problems = {steps: problem.after(steps) for steps in chains}
        results = {
            steps: compare_methods(
                one, scale=not no_scale, folds=folds, max_components=max_components
            )
            for steps, one in problems.items()
        }
    notes = list(dict.fromkeys([*problem.notes, *(str(one.message) for one in caught)]))
    notes += [] if folds is None else problem.cross_validation_notes
    for one in problems.values():
        notes += preprocessing_notes(one, cross_validated=folds is not None)
    chosen = {steps: choose(result, criterion) for steps, result in results.items()}
    if as_json:
        print_json("compare", _content(problem, results, chosen, criterion, notes))
    elif not quiet:
        screen = console()
        screen.print(heading(problem), style="bold")
        screen.print()
        screen.print(_best_table(results, chosen, criterion))
        if len(chains) == 1:
            compared, best = results[chains[0]], chosen[chains[0]]
            screen.print()
            screen.print(_scale_table(compared, best, verbose))
            words = _in_words(compared, best)
        else:
            words = _best_in_words(results, chosen)
        screen.print()
        remark(screen, "In words", words)
        note(screen, notes)


def compare_methods(
    problem: TableProblem | StreamedProblem,
    *,
    scale: bool,
    folds: Folds | None,
    max_components: int | None,
    known: Analysis | None = None,
) -> Comparison:
    """Fit PLS, PCR and ridge to a problem, all with the same scaling and folds.

    What is ``known`` of one of them is not computed again.
    """
    rows, p = problem.shape
    usable = rows
    if folds is not None:
        usable = rows - max(len(fold.test) for fold in problem.split(folds))
    most = default_components(usable, p, max_components)
    sizes = {"max_components": most, "alphas": None}
    paths, validated = {}, {}
    for name, method in METHODS.items():
        limits = {method.size: sizes[method.size]}
        same = known if known is not None and known.plan.method == name else None
        if same is None:
            paths[name] = fit_problem(problem, name, scale=scale, **limits)
        else:
            paths[name] = same.path
        if same is not None and same.cv is not None:
            validated[name] = same.cv
        elif folds is not None:
            validated[name] = cross_validate_problem(
                problem, name, folds, limits=limits, scale=scale
            )
    return Comparison.of(paths, validated, criteria=INFORMATION_CRITERIA)


def choose(compared: Comparison, criterion: str) -> dict[str, int]:
    """Return the chosen row of each method."""
    if criterion == "cv":
        return compared.best("cv_error")
    chosen = {}
    for name, path in compared.paths.items():
        start = int(np.flatnonzero(compared.method == name)[0])
        chosen[name] = start + select_by(path, criterion).index
    return chosen


def _best_table(
    results: dict[str, Comparison], chosen: dict[str, dict[str, int]], criterion: str
) -> Table:
    with_cv = _has_cv(results)
    by = "" if criterion == "cv" else criterion
    several = len(results) > 1
    headings = ["preprocessing"] * several + ["method", "model", "DoF", "RMSEC"]
    headings += [criterion_name(by)] if by else []
    headings += ["RMSECV"] if with_cv else []
    made = table(f"Chosen by {criterion_name(criterion)}", headings, text_columns=2 + several)
    for steps, compared in results.items():
        for name, row in chosen[steps].items():
            cells = [steps] * several
            cells += [method_label(name), _label(compared, name, row), fixed(compared.dof[row])]
            cells.append(number(np.sqrt(compared.train_error)[row]))
            cells += [number(_score(compared, name, row, by))] if by else []
            cells += [number(np.sqrt(compared.cv_error)[row])] if with_cv else []
            add_row(made, cells)
    made.caption = "RMSEC: root mean squared error of the fitted rows" + (
        "; RMSECV: of rows left out, by cross-validation" if with_cv else ""
    )
    made.caption_justify = "left"
    return made


def _score(compared: Comparison, name: str, row: int, criterion: str) -> float:
    """Return the score that a model was chosen by, with the Degrees of Freedom of the choice."""
    start = int(np.flatnonzero(compared.method == name)[0])
    return float(select_by(compared.paths[name], criterion).scores[row - start])


def _has_cv(results: dict[str, Comparison]) -> bool:
    return not all(np.all(np.isnan(one.cv_error)) for one in results.values())


def _best_in_words(results: dict[str, Comparison], chosen: dict[str, dict[str, int]]) -> str:
    """Name the chain and method with the smallest error, and what they cost."""
    if not _has_cv(results):
        return "Add --cv 10 for errors on rows the models have not seen."
    error, steps, name, row = min(
        (float(results[steps].cv_error[row]), steps, name, row)
        for steps, rows in chosen.items()
        for name, row in rows.items()
    )
    dof, size = results[steps].dof[row], number(np.sqrt(error))
    return (
        f"The smallest cross-validated error, {size}, is that of {method_label(name)} with "
        f"--preprocess {steps}; it uses {dof:.1f} Degrees of Freedom. The smallest of many "
        "errors is too small on average: plsdof fit --test-fraction 0.3 tells how much."
    )


def _label(compared: Comparison, name: str, row: int) -> str:
    value = compared.parameter[row]
    if compared.paths[name].parameter_name == "alpha":
        return f"alpha = {value:.3g}"
    return f"{value:.0f} component{'' if value == 1 else 's'}"


def _scale_table(compared: Comparison, chosen: dict[str, int], verbose: bool) -> Table:
    """For each PLS model, the PCR and ridge models that cost about as much."""
    with_cv = not np.all(np.isnan(compared.cv_error))
    error = np.sqrt(compared.cv_error if with_cv else compared.train_error)
    made = table(
        f"{'RMSECV' if with_cv else 'RMSEC'} at equal Degrees of Freedom",
        ("PLS m", "DoF", "error", "PCR m", "DoF", "error", "ridge alpha", "DoF", "error"),
    )
    rows = np.flatnonzero(compared.method == "pls")
    last = max(_MOST_COMPONENTS, int(chosen["pls"] - rows[0]) + 2)
    shown = rows if verbose else rows[: last + 1]
    for row in shown:
        try:
            near = compared.nearest(float(compared.dof[row])) | {"pls": int(row)}
        except NotAvailableError:
            continue
        cells = [
            cell
            for name in METHODS
            for cell in (
                f"{compared.parameter[near[name]]:.3g}",
                fixed(compared.dof[near[name]], 1),
                number(error[near[name]]),
            )
        ]
        add_row(made, cells, chosen=row == chosen["pls"])
    if len(shown) < len(rows):
        made.caption = f"{len(shown)} of {len(rows)} PLS models; --verbose shows all"
        made.caption_justify = "left"
    return made


def _in_words(compared: Comparison, chosen: dict[str, int]) -> str:
    with_cv = not np.all(np.isnan(compared.cv_error))
    costs = {name: compared.dof[row] for name, row in chosen.items()}
    text = ", ".join(f"{method_label(name)} {value:.1f}" for name, value in costs.items())
    sentence = f"Degrees of Freedom used: {text}"
    if min(costs.values()) >= FEWEST_DOF:
        lean = min(costs, key=lambda name: costs[name])
        sentence += f"; {method_label(lean)} is the most economical."
    else:
        sentence += f". {UNSTABLE_REMARK}"
    if with_cv:
        errors = {name: compared.cv_error[row] for name, row in chosen.items()}
        best = min(errors, key=lambda name: errors[name])
        sentence += f" The smallest cross-validated error is that of {method_label(best)}."
    else:
        sentence += " Add --cv 10 for errors on rows the models have not seen."
    return sentence


def _content(
    problem: TableProblem,
    results: dict[str, Comparison],
    chosen: dict[str, dict[str, int]],
    criterion: str,
    notes: list[str],
) -> dict[str, Any]:
    models: list[dict[str, Any]] = []
    rows: dict[str, Any] = {}
    for steps, compared in results.items():
        roots = {"rmsec": np.sqrt(compared.train_error), "rmsecv": np.sqrt(compared.cv_error)}
        start = len(models)
        found = records(compared.columns() | roots)
        models += [{"preprocessing": steps, **one} for one in found]
        rows[steps] = {name: start + row for name, row in chosen[steps].items()}
    return {
        "file": problem.source,
        "response": problem.response,
        "n": len(problem.y),
        "p": len(problem.names),
        "rows_dropped": problem.dropped,
        "criterion": criterion,
        "models": models,
        "chosen": next(iter(rows.values())) if len(rows) == 1 else rows,
        "notes": notes,
    }
