"""PLS, principal components and ridge regression on the scale of Degrees of Freedom."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np

from plsdof._core.choice import LEFT_OUT
from plsdof._core.criteria import CRITERIA, criterion_label
from plsdof._core.display import parameter_column
from plsdof._core.fit import METHODS, method_label
from plsdof._core.inputs import Array, as_choice
from plsdof._core.warnings import quietly
from plsdof.complexity.comparison import Comparison
from plsdof.errors import InvalidInputError, NotAvailableError
from plsdof.workbench.analysis import Request
from plsdof.workbench.analysis.analysis import chosen, fitted, left_out
from plsdof.workbench.analysis.data import TableProblem
from plsdof.workbench.analysis.remarks import (
    ANEW,
    group_remarks,
    preprocessing_remarks,
    recorded,
    scheme_in_words,
)
from plsdof.workbench.analysis.request import AUTO
from plsdof.workbench.analysis.result import (
    TWO_DECIMALS,
    Column,
    Fact,
    Result,
    Table,
    as_column,
    named,
)
from plsdof.workbench.analysis.tables import title
from plsdof.workbench.choosing import as_table
from plsdof.workbench.problems import problems_of

# Rows of the short table at equal Degrees of Freedom, unless more are needed.
_MOST_COMPONENTS = 10


@dataclass(frozen=True, kw_only=True)
class _Methods:
    """All models of all methods: which are chosen, their scores, and their errors."""

    criterion: str
    models: Comparison
    rows: dict[str, int]
    scores: dict[str, float]
    rmsecv_std_error: Array
    held_out: str

    @property
    def rmsec(self) -> Any:
        """Root mean squared errors of the fitted rows, of all models."""
        return np.sqrt(self.models.train_error)

    @property
    def rmsecv(self) -> Any:
        """Root mean squared cross-validated errors, of all models."""
        return np.sqrt(self.models.cv_error)


def compare(table: Any, request: Request) -> Result:
    """Fit all methods with the same scaling and held-out rows, and choose a model of each.

    Parameters
    ----------
    table : Table or data frame
    request : Request
        Of one response; its method does not matter.

    Returns
    -------
    Result

    Examples
    --------
    >>> from plsdof.datasets import load_ozone
    >>> X, y = load_ozone(return_X_y=True, as_frame=True)
    >>> found = compare(X.assign(ozone=y), Request(response="ozone", cv=5))
    >>> found.facts["chosen.pls"].value
    12
    """
    known = as_table(table)
    criterion = as_choice(request.criterion or LEFT_OUT, "criterion", (LEFT_OUT, *CRITERIA))
    if len(request.response) > 1 or request.steps in AUTO:
        raise InvalidInputError("a comparison is about one response and one way to prepare it.")
    (data,) = problems_of(known, request)
    if data.rows.classes:
        raise InvalidInputError(f"{data.response!r:.40} holds text; a comparison is about numbers.")
    asked = replace(request, preprocess=request.steps, criterion=criterion, max_components=None)
    with quietly():
        found = _fitted(data, asked, request.max_components)
    facts: dict[str, Any] = {"file": data.source, "response": data.response, "n": data.shape[0]}
    facts |= {"p": data.shape[1], "rows_dropped": data.dropped, "criterion": criterion}
    return Result(
        title=title(data, asked.scales),
        facts={
            **{name: Fact(value=value) for name, value in facts.items()},
            **named("chosen", found.rows),
            "words": Fact(value=_in_words(found), label="In words"),
        },
        tables={"best": _best(found), "scale": _scale(found), "models": _models(found)},
        remarks=(
            *data.remarks,
            *group_remarks(data),
            *preprocessing_remarks(data, ANEW),
        ),
        record=recorded(
            data,
            asked,
            method=", ".join(map(method_label, METHODS)),
            held_out=found.held_out,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
        ),
        main="models",
    )


def _fitted(problem: TableProblem, request: Request, max_components: int | None) -> _Methods:
    paths, errors, rows, scores, std_errors, start = {}, {}, {}, {}, list[Array](), 0
    held_out = ""
    for name, method in METHODS.items():
        size = max_components if method.size == "max_components" else None
        changes: dict[str, Any] = {"method": name, "max_components": size}
        one = replace(request, **changes)
        path = paths[name] = fitted(problem, one)
        left = left_out(problem, replace(one, criterion="bic"), path)  # of all models
        assert left is not None
        held_out = scheme_in_words(left.fold, left.groups, request.seed)
        selection, _ = chosen(path, left, one)
        rows[name] = start + selection.index
        scores[name] = float(selection.scores[selection.index])
        errors[name] = left.rmse**2
        std_errors.append(np.append(left.rmse_std_error, np.full(len(path), np.nan))[: len(path)])
        start += len(path)
    return _Methods(
        criterion=str(request.criterion),
        models=Comparison.of(paths, errors, criteria=tuple(CRITERIA)),
        rows=rows,
        scores=scores,
        rmsecv_std_error=np.concatenate(std_errors),
        held_out=held_out,
    )


# What is said of it
# ------------------


def _in_words(found: _Methods) -> str:
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


def _models(found: _Methods) -> Table:
    """Return all models of all methods, for machines."""
    columns = {**found.models.columns(), "rmsec": found.rmsec, "rmsecv": found.rmsecv}
    return Table(columns={name: as_column(values) for name, values in columns.items()})


def _best(found: _Methods) -> Table:
    """Return the chosen model of every method."""
    by, compared, rows = criterion_label(found.criterion), found.models, [*found.rows.values()]
    labels = [
        compared.paths[name][row - int(np.argmax(compared.method == name))].label
        for name, row in found.rows.items()
    ]
    error = found.rmsecv_std_error[rows]
    columns = {
        "method": as_column([method_label(name) for name in found.rows], "method"),
        "model": as_column(labels, "model"),
        "dof": as_column(compared.dof[rows], "DoF", error=TWO_DECIMALS),
        "rmsec": as_column(found.rmsec[rows], "RMSEC"),
    }
    if found.criterion != LEFT_OUT:
        columns["score"] = as_column([*found.scores.values()], by)
    columns["rmsecv"] = as_column(found.rmsecv[rows], "RMSECV", error=error)
    caption = "RMSEC: root mean squared error of the fitted rows; RMSECV: of held-out rows"
    return Table(columns=columns, title=f"Chosen by {by}", caption=caption)


def _scale(found: _Methods) -> Table:
    """For each PLS model, the PCR and ridge models that cost about as much."""
    compared, taken = found.models, found.rows["pls"]
    rows: dict[str, list[int]] = {name: [] for name in METHODS}
    for row in np.flatnonzero(compared.method == "pls").tolist():
        try:
            near: Mapping[str, int] = compared.nearest(float(compared.dof[row])) | {"pls": row}
        except NotAvailableError:
            continue
        for name in METHODS:
            rows[name].append(near[name])
    place = rows["pls"].index(taken) if taken in rows["pls"] else None
    columns: dict[str, Column] = {}
    for name, own in rows.items():
        error = found.rmsecv_std_error[own]
        size = f"{method_label(name)} {'alpha' if name == 'ridge' else 'm'}"
        columns |= {
            f"{name}_parameter": as_column(
                parameter_column(compared.parameter[own], compared.paths[name].parameter_name),
                size,
                digits=3,
            ),
            f"{name}_dof": as_column(compared.dof[own], "DoF", error=1.0),
            f"{name}_rmsecv": as_column(found.rmsecv[own], "error", error=error),
        }
    shown, last = len(rows["pls"]), max(_MOST_COMPONENTS, 0 if place is None else place + 2)
    return Table(
        columns=columns,
        title="RMSECV at equal Degrees of Freedom",
        chosen=place,
        mark="",
        short=range(last + 1) if last + 1 < shown else None,
    )
