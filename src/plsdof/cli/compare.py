"""``plsdof compare``."""

import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from rich.table import Table

from plsdof._core.choice import LEFT_OUT
from plsdof._core.criteria import CRITERIA, criterion_label
from plsdof._core.display import plural
from plsdof._core.fit import METHODS, method_label
from plsdof._core.inputs import as_choice
from plsdof._core.left_out import MOST
from plsdof._core.warnings import quietly
from plsdof.analysis import Request
from plsdof.analysis.analysis import chosen as choose
from plsdof.analysis.analysis import fitted, left_out, scales
from plsdof.analysis.data import TableProblem
from plsdof.analysis.remarks import group_remarks, preprocessing_remarks
from plsdof.analysis.tables import records
from plsdof.cli import _show as show
from plsdof.cli._data import Part, read_problems
from plsdof.cli._options import File, Printing, as_group
from plsdof.cli._tables import JoinedReading
from plsdof.complexity.comparison import CONTESTANTS, Comparison, SplitComparison, compare_splits
from plsdof.errors import InvalidInputError, NotAvailableError

# Rows of the table at equal Degrees of Freedom, unless more are needed or asked for.
_MOST_COMPONENTS = 10


@dataclass(frozen=True, kw_only=True)
class Compared:
    """All models after some preprocessing; of each method the row chosen, and its score."""

    models: Comparison
    rows: dict[str, int]
    scores: dict[str, float]


Results = dict[str, Compared]  # by the steps of preprocessing


def compare(
    file: File,
    part: Part,
    reading: JoinedReading,
    printing: Printing,
    criterion: str | None = None,
    max_components: int | None = None,
    scale: bool | None = None,
    preprocess: tuple[str, ...] = (),
    cv: str | None = None,
    splits: int | None = None,
    test_fraction: float = 0.2,
    seed: int = 0,
) -> None:
    """Compare PLS, PCR and ridge regression by Degrees of Freedom.

    With --preprocess more than once, compare these ways of preprocessing, too. With --splits 50,
    compare ways to choose a model instead, by their errors on rows left out, as the paper does.
    """
    criterion = as_choice(criterion or LEFT_OUT, "--criterion", (LEFT_OUT, *CRITERIA))
    chains = dict.fromkeys(part.steps(steps) for steps in preprocess or ["none"])
    asked = {"criterion": criterion, "cv": cv, "scale": scale}
    requests = {steps: as_group(Request, **asked, preprocess=steps) for steps in chains}
    if splits is not None and (cv is not None or len(chains) > 1):
        raise InvalidInputError("--splits goes with one --preprocess at a time, and without --cv.")
    if len(part.response) > 1:
        raise InvalidInputError("--response: a comparison is about one; give it once.")
    with show.waiting("Reading the table", quiet=printing.quiet):
        (problem,) = read_problems(file, part, reading=reading)
        if problem.rows.classes:
            raise InvalidInputError(
                f"{problem.response!r:.40} holds text; a comparison is about numbers."
            )
        problems = {steps: problem.after(steps) for steps in chains}
    if splits is None:
        with show.waiting("Comparing", quiet=printing.quiet), quietly():
            results = {
                steps: compare_methods(problems[steps], request, max_components)
                for steps, request in requests.items()
            }
        shown = _shown_models(results, criterion, printing.verbose)
    else:
        ((steps, request),) = requests.items()
        shown = _shown_splits(
            problems[steps],
            criterion,
            n_splits=splits,
            test_size=test_fraction,
            rng=seed,
            max_components=max_components or MOST,
            scale=scales(request, problem),
            progress=not printing.quiet and sys.stderr.isatty(),
        )
    notes = [*problem.doubts, *problem.notes, *shown.notes, *_notes(problems.values())]
    if printing.as_json:
        facts = {"file": problem.source, "response": problem.response, "n": len(problem.y)}
        facts |= {"p": len(problem.names), "rows_dropped": problem.dropped}
        show.print_json("compare", facts | shown.content | {"notes": notes})
    elif not printing.quiet:
        screen = show.console()
        screen.print(show.heading(problem), style="bold")
        for one in shown.tables:
            screen.print()
            screen.print(one)
        if shown.words:
            screen.print()
            show.remark(screen, "In words", shown.words)
        show.note(screen, notes)


@dataclass(frozen=True, kw_only=True)
class _Shown:
    """What a comparison prints: for machines, and for people."""

    content: dict[str, Any]
    tables: list[Table]
    words: str = ""
    notes: tuple[str, ...] = ()


def _notes(problems: Iterable[TableProblem]) -> list[str]:
    """Return what is remarked of groups and preprocessing."""
    found = [
        show.with_hint(one)
        for problem in problems
        for one in (*group_remarks(problem), *preprocessing_remarks(problem, left_out=True))
    ]
    return list(dict.fromkeys(found))


# In random splits of the rows
# ----------------------------


def _shown_splits(problem: TableProblem, criterion: str, *, n_splits: int, **how: Any) -> _Shown:
    """Compare all contestants, and PLS by the criterion."""
    wanted = [] if criterion == LEFT_OUT else [f"pls-{criterion}"]
    contestants = [*CONTESTANTS, *wanted]
    X, groups = problem.X.to_numpy(), problem.groups
    found = compare_splits(X, problem.y, contestants, n_splits=n_splits, groups=groups, **how)
    notes: tuple[str, ...] = ()
    if problem.preprocessing is not None and problem.preprocessing.learns_from_rows:
        notes = ("The preprocessing has seen the predictors of the test rows, too.",)
    done = {"splits": found.n_splits, "n_train": found.n_train, "n_test": found.n_test}
    return _Shown(
        content=done | {"contestants": records(found.columns()), "values": found.values},
        tables=[_split_table(found)],
        notes=notes,
    )


def _split_table(found: SplitComparison) -> Table:
    rows = []
    for row in sorted(records(found.columns()), key=lambda one: one["rmse"]):
        cells = [
            f"{shown(row[name], digits)} ({shown(row[f'{name}_std'], digits)})"
            for name, shown, digits in (
                ("rmse", show.number, 3),
                ("n_components", show.fixed, 1),
                ("dof", show.fixed, 1),
                ("noise_level", show.number, 3),
            )
        ]
        rows.append([row["contestant"], *(one.removesuffix(" (-)") for one in cells)])
    sizes = f"{found.n_train} rows to fit, {found.n_test} to test"
    return show.table(
        f"{plural(found.n_splits, 'random split')}, {sizes}",
        ("", "RMSEP", "components", "DoF", "noise level"),
        rows,
        text_columns=1,
        caption="Means over the splits (standard deviations). RMSEP: root mean squared error of "
        "the test rows. cv: 10-fold cross-validation; bic: its first minimum, with exact Degrees "
        "of Freedom, with the noise level of the paper's Krylov algorithm, with DoF = m + 1; one "
        "word: the default choice.",
    )


# On the scale of Degrees of Freedom
# ----------------------------------


def compare_methods(
    problem: TableProblem, request: Request, max_components: int | None
) -> Compared:
    """Fit all methods with the same scaling and rows left out, and choose a model of each."""
    paths, errors, rows, scores, start = {}, {}, {}, {}, 0
    for name, method in METHODS.items():
        size = max_components if method.size == "max_components" else None
        changes: dict[str, Any] = {"method": name, "max_components": size}
        one = replace(request, **changes)
        path = paths[name] = fitted(problem, one)
        left = left_out(problem, replace(one, criterion="bic"), path)  # of all models
        assert left is not None
        selection, _ = choose(path, left, one)
        rows[name] = start + selection.index
        scores[name] = float(selection.scores[selection.index])
        errors[name] = left.rmse**2
        start += len(path)
    models = Comparison.of(paths, errors, criteria=tuple(CRITERIA))
    return Compared(models=models, rows=rows, scores=scores)


def _shown_models(results: Results, criterion: str, verbose: bool) -> _Shown:
    models: list[dict[str, Any]] = []
    chosen: dict[str, Any] = {}
    for steps, found in results.items():
        compared = found.models
        roots = {"rmsec": np.sqrt(compared.train_error), "rmsecv": np.sqrt(compared.cv_error)}
        chosen[steps] = {name: len(models) + row for name, row in found.rows.items()}
        models += [{"preprocessing": steps, **one} for one in records(compared.columns() | roots)]
    rows = next(iter(chosen.values())) if len(chosen) == 1 else chosen
    tables = [_best_table(results, criterion)]
    if len(results) == 1:
        tables += [_scale_table(one, verbose) for one in results.values()]
    return _Shown(
        content={"criterion": criterion, "models": models, "chosen": rows},
        tables=tables,
        words=_in_words(results),
    )


def _best_table(results: Results, criterion: str) -> Table:
    by, several = criterion_label(criterion), len(results) > 1
    scored = [by] * (criterion != LEFT_OUT)
    headings = ["preprocessing"] * several + ["method", "model", "DoF", "RMSEC"]
    rows = []
    for steps, found in results.items():
        compared = found.models
        for name, row in found.rows.items():
            model = compared.paths[name][row - int(np.argmax(compared.method == name))].label
            cells = [steps] * several + [method_label(name), model, show.fixed(compared.dof[row])]
            cells.append(show.number(np.sqrt(compared.train_error[row])))
            cells += [show.number(found.scores[name])] * len(scored)
            rows.append([*cells, show.number(np.sqrt(compared.cv_error[row]))])
    caption = "RMSEC: root mean squared error of the fitted rows; RMSECV: of rows left out"
    headings += [*scored, "RMSECV"]
    return show.table(f"Chosen by {by}", headings, rows, text_columns=2 + several, caption=caption)


def _scale_table(found: Compared, verbose: bool) -> Table:
    """For each PLS model, the PCR and ridge models that cost about as much."""
    compared, taken = found.models, found.rows["pls"]
    error, of_pls = np.sqrt(compared.cv_error), np.flatnonzero(compared.method == "pls")
    last = max(_MOST_COMPONENTS, int(taken - of_pls[0]) + 2)
    shown = of_pls if verbose else of_pls[: last + 1]
    rows: list[list[str]] = []
    bold = None
    for row in shown:
        try:
            near = compared.nearest(float(compared.dof[row])) | {"pls": int(row)}
        except NotAvailableError:
            continue
        bold = len(rows) if row == taken else bold
        cells = []
        for one in (near[name] for name in METHODS):
            cells += [f"{compared.parameter[one]:.3g}", show.fixed(compared.dof[one], 1)]
            cells.append(show.number(error[one]))
        rows.append(cells)
    more = f"{len(shown)} of {len(of_pls)} PLS models; --verbose shows all"
    return show.table(
        "RMSECV at equal Degrees of Freedom",
        ("PLS m", "DoF", "error", "PCR m", "DoF", "error", "ridge alpha", "DoF", "error"),
        rows,
        caption=more if len(shown) < len(of_pls) else "",
        chosen=bold,
    )


def _in_words(results: Results) -> str:
    """Say what the chosen models cost, and whose error is smallest."""
    error, steps, name, row = min(
        (float(found.models.cv_error[row]), steps, name, row)
        for steps, found in results.items()
        for name, row in found.rows.items()
    )
    dof = results[steps].models.dof
    if len(results) > 1:
        return (
            f"The smallest cross-validated error, {show.number(np.sqrt(error))}, is that of "
            f"{method_label(name)} with --preprocess {steps}; it uses {dof[row]:.1f} "
            "Degrees of Freedom. The smallest of many errors is too small on average: plsdof fit "
            "--test-fraction 0.3 tells how much."
        )
    costs = {method_label(one): dof[row] for one, row in results[steps].rows.items()}
    words = ", ".join(f"{label} {value:.1f}" for label, value in costs.items())
    # The mean has one.
    if min(costs.values()) >= 1.0 - 1e-9:
        words += f"; {min(costs, key=lambda one: costs[one])} is the most economical."
    else:
        words += ". Fewer than 1: small changes of the response would change the components."
    return (
        f"Degrees of Freedom used: {words} The smallest cross-validated error is that of "
        f"{method_label(name)}."
    )
