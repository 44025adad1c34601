"""``plsdof compare``."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from rich.table import Table

from plsdof._core.choice import LEFT_OUT
from plsdof._core.criteria import CRITERIA, criterion_label
from plsdof._core.fit import METHODS, method_label
from plsdof._core.inputs import as_choice
from plsdof._core.warnings import quietly
from plsdof.analysis import Request
from plsdof.analysis.analysis import chosen, fitted, left_out
from plsdof.analysis.data import TableProblem
from plsdof.analysis.remarks import group_remarks, preprocessing_remarks
from plsdof.analysis.tables import records
from plsdof.cli import _show as show
from plsdof.cli._data import Part, read_problems
from plsdof.cli._options import File, Printing, as_group
from plsdof.cli._tables import JoinedReading
from plsdof.complexity.comparison import Comparison
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
) -> None:
    """Compare PLS, PCR and ridge regression by Degrees of Freedom."""
    criterion = as_choice(criterion or LEFT_OUT, "--criterion", (LEFT_OUT, *CRITERIA))
    steps = part.steps(preprocess)
    request = as_group(Request, criterion=criterion, cv=cv, scale=scale, preprocess=steps)
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
    with show.waiting("Comparing", quiet=printing.quiet), quietly():
        found = compare_methods(problem, request, max_components)
    columns = found.models.columns() | {"rmsec": found.rmsec, "rmsecv": found.rmsecv}
    if printing.as_json:
        facts = {"file": problem.source, "response": problem.response, "n": len(problem.y)}
        facts |= {"p": len(problem.names), "rows_dropped": problem.dropped}
        facts |= {"criterion": criterion, "models": records(columns), "chosen": found.rows}
        show.print_json("compare", facts | {"notes": notes})
    elif not printing.quiet:
        screen = show.console()
        screen.print(show.heading(problem), style="bold")
        for one in (_best_table(found, criterion), _scale_table(found, printing.verbose)):
            screen.print()
            screen.print(one)
        screen.print()
        show.remark(screen, "In words", _in_words(found))
        show.note(screen, notes)


# All models, and the one chosen of each method
# ---------------------------------------------


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
