"""``plsdof compare``."""

from typing import Annotated

import numpy as np
from rich.table import Table

from plsdof import workbench
from plsdof._core.choice import LEFT_OUT
from plsdof._core.criteria import criterion_label
from plsdof._core.fit import METHODS, method_label
from plsdof.errors import NotAvailableError
from plsdof.workbench.analysis import Request
from plsdof.workbench.analysis.tables import title
from plsdof.workbench.cli import _show as show
from plsdof.workbench.cli._options import File, Printing
from plsdof.workbench.comparing import Compared
from plsdof.workbench.tables.joining import JoinedReading

# Rows of the table at equal Degrees of Freedom, unless more are needed or asked for.
_MOST_COMPONENTS = 10
# What can be asked of a comparison.
_ASKED = (
    *("response", "features", "exclude", "groups", "average_by", "label", "missing"),
    *("exclude_rows", "criterion", "max_components", "scale", "preprocess", "cv"),
)


def compare(
    file: File,
    reading: JoinedReading,
    request: Annotated[Request, _ASKED],
    printing: Printing,
) -> None:
    """Compare PLS, PCR and ridge regression by Degrees of Freedom."""
    with show.waiting("Comparing", quiet=printing.quiet):
        table = reading.with_response([file], request.response, request.label)
        found = workbench.compare(table, request)
    if printing.as_json:
        show.print_json("compare", found.to_content())
    elif not printing.quiet:
        screen = show.console()
        screen.print(title(found.data), style="bold")
        for one in (_best_table(found), _scale_table(found, printing.verbose)):
            screen.print()
            screen.print(one)
        screen.print()
        show.remark(screen, "In words", found.words)
        show.note(screen, map(show.with_mend, found.remarks))


def _best_table(found: Compared) -> Table:
    """Return the chosen model of every method."""
    by, compared = criterion_label(found.criterion), found.models
    scored = [by] * (found.criterion != LEFT_OUT)
    rows = []
    for name, row in found.rows.items():
        model = compared.paths[name][row - int(np.argmax(compared.method == name))].label
        cells = [method_label(name), model, show.fixed(compared.dof[row])]
        cells += [show.number(found.rmsec[row]), *([show.number(found.scores[name])] * len(scored))]
        rows.append([*cells, show.number(found.rmsecv[row])])
    caption = "RMSEC: root mean squared error of the fitted rows; RMSECV: of held-out rows"
    headings = ["method", "model", "DoF", "RMSEC", *scored, "RMSECV"]
    return show.table(f"Chosen by {by}", headings, rows, texts=[True] * 2, caption=caption)


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
