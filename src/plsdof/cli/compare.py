"""``plsdof compare``."""

import sys
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from rich.table import Table

from plsdof._core.choice import LEFT_OUT
from plsdof._core.criteria import CRITERIA, criterion_label
from plsdof._core.display import plural
from plsdof._core.fit import METHODS, method_label
from plsdof._core.inputs import as_choice
from plsdof._core.left_out import MOST_COMPONENTS
from plsdof._core.warnings import quietly
from plsdof.analysis import Request
from plsdof.analysis.analysis import chosen, fitted, left_out, scales
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


def compare(
    file: File,
    part: Part,
    reading: JoinedReading,
    printing: Printing,
    criterion: str | None = None,
    max_components: int | None = None,
    scale: bool | None = None,
    preprocess: str = "none",
    cv: str | None = None,
    splits: int | None = None,
    test_fraction: float = 0.2,
    seed: int = 0,
) -> None:
    """Compare PLS, PCR and ridge regression by Degrees of Freedom.

    With --splits 50, compare ways to choose a model instead, by their errors on rows left out, as
    the paper does.
    """
    criterion = as_choice(criterion or LEFT_OUT, "--criterion", (LEFT_OUT, *CRITERIA))
    steps = part.steps(preprocess)
    request = as_group(Request, criterion=criterion, cv=cv, scale=scale, preprocess=steps)
    if splits is not None and cv is not None:
        raise InvalidInputError("--splits leaves rows out by itself; leave out --cv.")
    if len(part.response) > 1 or steps == "auto":
        raise InvalidInputError("a comparison is about one --response and one --preprocess.")
    with show.waiting("Reading the table", quiet=printing.quiet):
        (problem,) = read_problems(file, part, reading=reading, request=request)
    if problem.rows.classes:
        raise InvalidInputError(
            f"{problem.response!r:.40} holds text; a comparison is about numbers."
        )
    notes = [*problem.doubts, *problem.notes]
    remarks = (*group_remarks(problem), *preprocessing_remarks(problem, left_out=True))
    notes += [show.with_hint(one) for one in remarks]
    words = ""
    if splits is None:
        with show.waiting("Comparing", quiet=printing.quiet), quietly():
            found = compare_methods(problem, request, max_components)
        columns = found.models.columns()
        columns |= {"rmsec": found.rmsec, "rmsecv": found.rmsecv}
        content: dict[str, Any] = {
            "criterion": criterion,
            "models": records(columns),
            "chosen": found.rows,
        }
        tables = [_best_table(found, criterion), _scale_table(found, printing.verbose)]
        words = _in_words(found)
    else:
        wanted = [] if criterion == LEFT_OUT else [f"pls-{criterion}"]
        tested = compare_splits(
            problem.X.to_numpy(),
            problem.y,
            [*CONTESTANTS, *wanted],
            groups=problem.groups,
            n_splits=splits,
            test_size=test_fraction,
            rng=seed,
            max_components=max_components or MOST_COMPONENTS,
            scale=scales(request, problem),
            progress=not printing.quiet and sys.stderr.isatty(),
        )
        if problem.preprocessing is not None and problem.preprocessing.learns_from_rows:
            notes.append("The preprocessing has seen the predictors of the test rows, too.")
        content = {"splits": tested.n_splits, "n_train": tested.n_train, "n_test": tested.n_test}
        content |= {"contestants": records(tested.columns()), "values": tested.values}
        tables = [_split_table(tested)]
    if printing.as_json:
        facts = {"file": problem.source, "response": problem.response, "n": len(problem.y)}
        facts |= {"p": len(problem.names), "rows_dropped": problem.dropped}
        show.print_json("compare", facts | content | {"notes": notes})
    elif not printing.quiet:
        screen = show.console()
        screen.print(show.heading(problem), style="bold")
        for one in tables:
            screen.print()
            screen.print(one)
        screen.print()
        if words:
            show.remark(screen, "In words", words)
        show.note(screen, notes)


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


@dataclass(frozen=True, kw_only=True)
class Compared:
    """All models; of each method the row chosen, and its score."""

    models: Comparison
    rows: dict[str, int]
    scores: dict[str, float]

    @property
    def rmsec(self) -> Any:
        """Root mean squared errors of the fitted rows, of all models."""
        return np.sqrt(self.models.train_error)

    @property
    def rmsecv(self) -> Any:
        """Root mean squared errors of rows left out, of all models."""
        return np.sqrt(self.models.cv_error)


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
        selection, _ = chosen(path, left, one)
        rows[name] = start + selection.index
        scores[name] = float(selection.scores[selection.index])
        errors[name] = left.rmse**2
        start += len(path)
    models = Comparison.of(paths, errors, criteria=tuple(CRITERIA))
    return Compared(models=models, rows=rows, scores=scores)


def _best_table(found: Compared, criterion: str) -> Table:
    """Return the chosen model of every method."""
    by, compared = criterion_label(criterion), found.models
    scored = [by] * (criterion != LEFT_OUT)
    rows = []
    for name, row in found.rows.items():
        model = compared.paths[name][row - int(np.argmax(compared.method == name))].label
        cells = [method_label(name), model, show.fixed(compared.dof[row])]
        cells += [show.number(found.rmsec[row]), *([show.number(found.scores[name])] * len(scored))]
        rows.append([*cells, show.number(found.rmsecv[row])])
    caption = "RMSEC: root mean squared error of the fitted rows; RMSECV: of rows left out"
    headings = ["method", "model", "DoF", "RMSEC", *scored, "RMSECV"]
    return show.table(f"Chosen by {by}", headings, rows, text_columns=2, caption=caption)


def _scale_table(found: Compared, verbose: bool) -> Table:
    """For each PLS model, the PCR and ridge models that cost about as much."""
    compared, taken = found.models, found.rows["pls"]
    error, of_pls = found.rmsecv, np.flatnonzero(compared.method == "pls")
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


def _in_words(found: Compared) -> str:
    """Say what the chosen models cost, and whose error is smallest."""
    costs = {method_label(name): found.models.dof[row] for name, row in found.rows.items()}
    best = min(found.rows, key=lambda name: found.rmsecv[found.rows[name]])
    words = ", ".join(f"{label} {value:.1f}" for label, value in costs.items())
    # The mean has one.
    if min(costs.values()) >= 1.0 - 1e-9:
        words += f"; {min(costs, key=lambda one: costs[one])} is the most economical."
    else:
        words += ". Fewer than 1: small changes of the response would change the components."
    return (
        f"Degrees of Freedom used: {words} The smallest cross-validated error is that of "
        f"{method_label(best)}."
    )
