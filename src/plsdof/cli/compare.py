"""``plsdof compare``."""

import sys
from dataclasses import replace
from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Table

from plsdof._core.choice import LEFT_OUT
from plsdof._core.criteria import CRITERIA, criterion_label
from plsdof._core.fit import METHODS, method_label
from plsdof._core.inputs import as_choice
from plsdof.analysis import Request, TableProblem
from plsdof.analysis.analysis import chosen as choose
from plsdof.analysis.analysis import fitted, left_out, scales
from plsdof.analysis.remarks import group_remarks, preprocessing_remarks
from plsdof.analysis.request import DEFAULT_COMPONENTS
from plsdof.cli import _options as options
from plsdof.cli._data import read_problem
from plsdof.cli._show import heading, with_hint
from plsdof.cli._tables import Reading
from plsdof.cli._terminal import (
    add_row,
    console,
    fixed,
    note,
    number,
    plural,
    print_json,
    records,
    remark,
    table,
    waiting,
)
from plsdof.cli.fit import as_folds, as_request
from plsdof.complexity.comparison import CONTESTANTS, Comparison, SplitComparison, compare_splits
from plsdof.errors import InvalidInputError, NotAvailableError, quietly

# Rows of the table at equal Degrees of Freedom, unless more are needed or asked for.
_MOST_COMPONENTS = 10
# By chain of preprocessing steps: all models, and of each method the row taken and its score.
Results = dict[str, Comparison]
Choices = dict[str, dict[str, tuple[int, float]]]

Splits = Annotated[
    int | None,
    typer.Option(
        "--splits",
        metavar="N",
        help="Test methods and ways to choose in N random splits of the rows.",
        show_default=False,
    ),
]
TestFraction = Annotated[
    float, typer.Option(metavar="P", help="Share of the rows to test on, in --splits.")
]
Seed = Annotated[int, typer.Option("--seed", metavar="N", help="Draws the --splits.")]


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
    criterion: options.Choice = None,
    max_components: options.MaxComponents = None,
    scale: options.Scale = None,
    preprocess: options.Preprocesses = None,
    cv: options.LeftOutText = None,
    splits: Splits = None,
    test_fraction: TestFraction = 0.2,
    seed: Seed = 0,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
) -> None:
    """Compare PLS, PCR and ridge regression on the scale of their Degrees of Freedom.

    With --preprocess more than once, compare these ways of preprocessing, too. With --splits 50,
    compare ways to choose a model instead, by their errors on rows left out, as the paper does.
    """
    criterion = as_choice(criterion or LEFT_OUT, "--criterion", (LEFT_OUT, *CRITERIA))
    chains = list(dict.fromkeys(preprocess or ["none"]))
    asked = {"criterion": criterion, "cv": as_folds(cv), "scale": scale}
    requests = {steps: as_request(**asked, preprocess=steps) for steps in chains}
    if splits is not None and (cv is not None or len(chains) > 1):
        raise InvalidInputError("--splits goes with one --preprocess at a time, and without --cv.")
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
    if splits is not None:
        _compare_splits(
            problem.after(chains[0]),
            criterion=criterion,
            n_splits=splits,
            test_size=test_fraction,
            rng=seed,
            max_components=max_components or DEFAULT_COMPONENTS,
            scale=scales(requests[chains[0]], problem),
            as_json=as_json,
            quiet=quiet,
        )
        return
    with waiting("Comparing", quiet=quiet), quietly():
        problems = {steps: problem.after(steps) for steps in chains}
        found = {
            steps: compare_methods(problems[steps], request, max_components)
            for steps, request in requests.items()
        }
    results = {steps: compared for steps, (compared, _) in found.items()}
    chosen = {steps: rows for steps, (_, rows) in found.items()}
    notes = [*problem.notes, *_notes(*problems.values())]
    if as_json:
        said = {"criterion": criterion, **_content(results, chosen), "notes": notes}
        print_json("compare", _facts(problem) | said)
    elif not quiet:
        screen = console()
        screen.print(heading(problem), style="bold")
        screen.print()
        screen.print(_best_table(results, chosen, criterion))
        if len(chains) == 1:
            screen.print()
            screen.print(_scale_table(results[chains[0]], chosen[chains[0]], verbose))
        screen.print()
        remark(screen, "In words", _in_words(results, chosen))
        note(screen, notes)


# In random splits of the rows
# ----------------------------


def _compare_splits(
    problem: TableProblem,
    *,
    criterion: str,
    n_splits: int,
    as_json: bool,
    quiet: bool,
    **how: Any,
) -> None:
    """Compare all contestants and PLS by the criterion."""
    wanted = [] if criterion == LEFT_OUT else [f"pls-{criterion}"]
    found = compare_splits(
        problem.X.to_numpy(),
        problem.y,
        [*CONTESTANTS, *wanted],
        n_splits=n_splits,
        groups=problem.groups,
        progress=not quiet and sys.stderr.isatty(),
        **how,
    )
    notes = [*problem.notes, *_notes(problem)]
    if problem.preprocessing is not None and problem.preprocessing.learns_from_rows:
        notes.append("The preprocessing has seen the predictors of the test rows, too.")
    if as_json:
        done = {"splits": found.n_splits, "n_train": found.n_train, "n_test": found.n_test}
        numbers = {"contestants": records(found.columns()), "values": found.values}
        print_json("compare", _facts(problem) | done | numbers | {"notes": notes})
    elif not quiet:
        screen = console()
        screen.print(heading(problem), style="bold")
        screen.print()
        screen.print(_split_table(found))
        note(screen, notes)


def _split_table(found: SplitComparison) -> Table:
    rows = f"{found.n_train} rows to fit, {found.n_test} to test"
    title = f"{plural(found.n_splits, 'random split')}, {rows}"
    made = table(title, ("", "RMSEP", "components", "DoF", "noise level"), text_columns=1)
    for row in sorted(records(found.columns()), key=lambda one: one["rmse"]):
        cells = [
            f"{shown(row[name], digits)} ({shown(row[f'{name}_std'], digits)})"
            for name, shown, digits in (
                ("rmse", number, 3),
                ("n_components", fixed, 1),
                ("dof", fixed, 1),
                ("noise_level", number, 3),
            )
        ]
        add_row(made, [row["contestant"], *(one.removesuffix(" (-)") for one in cells)])
    made.caption = (
        "Means over the splits (standard deviations). RMSEP: root mean squared error of the test "
        "rows. cv: 10-fold cross-validation; bic: its first minimum, with exact Degrees of "
        "Freedom, with the noise level of the paper's Krylov algorithm, with DoF = m + 1; one "
        "word: the default choice."
    )
    made.caption_justify = "left"
    return made


# On the scale of Degrees of Freedom
# ----------------------------------


def compare_methods(
    problem: TableProblem, request: Request, max_components: int | None
) -> tuple[Comparison, dict[str, tuple[int, float]]]:
    """Fit all methods with the same scaling and rows left out; and of each the row chosen.

    Returns the table, and for each method the row of the model chosen and its score.
    """
    paths, errors, chosen, start = {}, {}, {}, 0
    for name, method in METHODS.items():
        size = max_components if method.size == "max_components" else None
        one = replace(request, method=name, max_components=size)
        path = paths[name] = fitted(problem, one)
        left = left_out(problem, replace(one, criterion="bic"), path)  # of all models
        assert left is not None
        selection, _ = choose(path, left, one)
        chosen[name] = start + selection.index, float(selection.scores[selection.index])
        errors[name] = left.rmse**2
        start += len(path)
    return Comparison.of(paths, errors, criteria=tuple(CRITERIA)), chosen


def _notes(*problems: TableProblem) -> list[str]:
    """Return what is remarked of groups and preprocessing."""
    found = [
        with_hint(one)
        for problem in problems
        for one in (*group_remarks(problem), *preprocessing_remarks(problem, left_out=True))
    ]
    return list(dict.fromkeys(found))


def _best_table(results: Results, chosen: Choices, criterion: str) -> Table:
    by, several = criterion_label(criterion), len(results) > 1
    scored = [by] * (criterion != LEFT_OUT)
    headings = ["preprocessing"] * several + ["method", "model", "DoF", "RMSEC"]
    headings += [*scored, "RMSECV"]
    made = table(f"Chosen by {by}", headings, text_columns=2 + several)
    for steps, compared in results.items():
        for name, (row, score) in chosen[steps].items():
            model = compared.paths[name][row - int(np.argmax(compared.method == name))].label
            cells = [steps] * several + [method_label(name), model, fixed(compared.dof[row])]
            cells += [number(np.sqrt(compared.train_error[row]))] + [number(score)] * len(scored)
            cells.append(number(np.sqrt(compared.cv_error[row])))
            add_row(made, cells)
    made.caption = "RMSEC: root mean squared error of the fitted rows; RMSECV: of rows left out"
    made.caption_justify = "left"
    return made


def _scale_table(
    compared: Comparison, chosen: dict[str, tuple[int, float]], verbose: bool
) -> Table:
    """For each PLS model, the PCR and ridge models that cost about as much."""
    error = np.sqrt(compared.cv_error)
    headings = ("PLS m", "DoF", "error", "PCR m", "DoF", "error", "ridge alpha", "DoF", "error")
    made = table("RMSECV at equal Degrees of Freedom", headings)
    rows, taken = np.flatnonzero(compared.method == "pls"), chosen["pls"][0]
    last = max(_MOST_COMPONENTS, int(taken - rows[0]) + 2)
    shown = rows if verbose else rows[: last + 1]
    for row in shown:
        try:
            near = compared.nearest(float(compared.dof[row])) | {"pls": int(row)}
        except NotAvailableError:
            continue
        cells = []
        for one in (near[name] for name in METHODS):
            cells += [f"{compared.parameter[one]:.3g}", fixed(compared.dof[one], 1)]
            cells.append(number(error[one]))
        add_row(made, cells, chosen=row == taken)
    if len(shown) < len(rows):
        made.caption = f"{len(shown)} of {len(rows)} PLS models; --verbose shows all"
        made.caption_justify = "left"
    return made


def _in_words(results: Results, chosen: Choices) -> str:
    """Say what the chosen models cost, and whose error is smallest."""
    words, several = "", len(results) > 1
    if not several:
        ((steps, compared),) = results.items()
        costs = {name: compared.dof[row] for name, (row, _) in chosen[steps].items()}
        text = ", ".join(f"{method_label(name)} {value:.1f}" for name, value in costs.items())
        lean = method_label(min(costs, key=lambda name: costs[name]))
        words = f"Degrees of Freedom used: {text}"
        # The mean has one.
        if min(costs.values()) >= 1.0 - 1e-9:
            words += f"; {lean} is the most economical. "
        else:
            words += ". Fewer than 1: small changes of the response would change the components. "
    error, steps, name, row = min(
        (float(results[steps].cv_error[row]), steps, name, row)
        for steps, rows in chosen.items()
        for name, (row, _) in rows.items()
    )
    if not several:
        return f"{words}The smallest cross-validated error is that of {method_label(name)}."
    return (
        f"The smallest cross-validated error, {number(np.sqrt(error))}, is that of "
        f"{method_label(name)} with --preprocess {steps}; it uses {results[steps].dof[row]:.1f} "
        "Degrees of Freedom. The smallest of many errors is too small on average: plsdof fit "
        "--test-fraction 0.3 tells how much."
    )


def _content(results: Results, chosen: Choices) -> dict[str, Any]:
    models: list[dict[str, Any]] = []
    rows: dict[str, Any] = {}
    for steps, compared in results.items():
        roots = {"rmsec": np.sqrt(compared.train_error), "rmsecv": np.sqrt(compared.cv_error)}
        start, found = len(models), records(compared.columns() | roots)
        models += [{"preprocessing": steps, **one} for one in found]
        rows[steps] = {name: start + row for name, (row, _) in chosen[steps].items()}
    return {"models": models, "chosen": next(iter(rows.values())) if len(rows) == 1 else rows}


def _facts(problem: TableProblem) -> dict[str, Any]:
    return {
        "file": problem.source,
        "response": problem.response,
        "n": len(problem.y),
        "p": len(problem.names),
        "rows_dropped": problem.dropped,
    }
