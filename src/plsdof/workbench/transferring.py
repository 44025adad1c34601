"""A model for another instrument, by samples that were measured on both."""

from dataclasses import replace
from typing import Any

import numpy as np

from plsdof._core.axes import header_number
from plsdof._core.inputs import Array
from plsdof.chemometrics.transfer import Method, TransferFit, fit_transfer, interpolation
from plsdof.errors import InvalidInputError
from plsdof.models.calibration import now
from plsdof.models.predictor import Predictor
from plsdof.workbench.analysis.result import Fact, Table, as_column, named
from plsdof.workbench.checking import Changed, changed
from plsdof.workbench.choosing import as_table, match_columns, row_labels
from plsdof.workbench.predicting import observed, remarked
from plsdof.workbench.tables.columns import shortened
from plsdof.workbench.tables.table import Table as TableOfRows
from plsdof.workbench.tables.table import located


def transfer(
    model: Predictor,
    primary: Any,
    secondary: Any,
    method: Method = "auto",
    *,
    interpolate: bool = False,
    reason: str = "",
    label: str | None = None,
) -> Changed:
    """Make a model for another instrument.

    Parameters
    ----------
    model : Predictor
    primary, secondary : Table or data frame
        Samples on the instrument of the model and on the other one, paired by their names.
    method : {"auto", "bias", "ds", "pds"}
        "auto" takes the best for held-out pairs.
    interpolate : bool
        The spectra of the other instrument have another wavelength axis.
    reason : str
        Why; it is kept with the model.
    label : str, optional
        Column that names the samples.

    Returns
    -------
    Changed

    Examples
    --------
    >>> from plsdof import workbench
    >>> from plsdof.workbench.analysis import Request
    >>> from plsdof.datasets import load_gasoline
    >>> X, y = load_gasoline(return_X_y=True, as_frame=True)
    >>> made = workbench.fit(X.assign(octane=y), Request(response="octane", components=3))
    >>> ours = X.assign(name=[f"s{i}" for i in range(60)]).iloc[:12]
    >>> theirs = ours.assign(**{one: 1.02 * ours[one] for one in X.columns})
    >>> workbench.transfer(made.predictor, ours, theirs).result.facts["pairs"].value
    12
    """
    primary, secondary = as_table(primary), as_table(secondary)
    if model.transfer is not None:
        raise InvalidInputError("The model has a transfer step; start from the model before it.")
    A, _, _ = _spectra(model, primary, interpolate=False)
    B, W, names = _spectra(model, secondary, interpolate=interpolate)
    first, second = _pairs(primary, secondary, label)
    y, _ = observed(model, primary)
    known = None if y is None else y[first]
    if known is not None and not np.isfinite(known).all():
        known = None
    found = fit_transfer(model.predict, A[first], B[second], method, y=known)
    step = found.step if W is None else found.step.after(W, names)
    new = model.derived(transfer=replace(step, date=now(), reason=reason))
    notes = [*primary.notes, *secondary.notes]
    if found.errors["none"] <= found.errors[found.chosen]:
        notes.append("Predictions of both instruments are as near without a step: none is needed.")
    facts = {"pairs": Fact(value=len(first), label="pairs"), "chosen": Fact(value=found.chosen)}
    facts |= named("errors", found.errors)
    facts |= named("rmsep", found.rmsep) or {"rmsep": Fact(value=None)}
    return changed(new, facts, remarked("data", notes), {"ways": _ways(found)})


def _ways(found: TransferFit) -> Table:
    """Return the ways that were compared."""
    columns = {
        "way": as_column(list(found.errors), "way"),
        "difference": as_column(list(found.errors.values()), "difference"),
    }
    if found.rmsep:
        columns["rmsep"] = as_column([found.rmsep[way] for way in found.errors], "RMSEP")
    return Table(
        columns=columns,
        title="Transfer",
        caption="Difference: root mean square between predictions of both instruments, each pair "
        "held out.",
        chosen=list(found.errors).index(found.chosen),
    )


def _spectra(
    model: Predictor, table: TableOfRows, *, interpolate: bool
) -> tuple[Array, Array | None, tuple[str, ...]]:
    """Return spectra on the axis of a model; if interpolated, by which matrix and from where."""
    W = None
    with located(table.source):
        if interpolate:
            axis = {name: header_number(name) for name in table.names}
            names = tuple(name for name, value in axis.items() if value is not None)
            W = interpolation([axis[one] for one in names], map(header_number, model.columns))
        else:
            try:
                names, _ = match_columns(model.columns, table)
            except InvalidInputError as error:
                hint = "Spectra on another wavelength axis can be interpolated."
                raise InvalidInputError(f"{error} {hint}", mend={"interpolate": True}) from error
        X = table.numbers(names)
        if np.isnan(X).any():
            raise InvalidInputError("a transfer needs spectra without missing values.")
    return (X if W is None else X @ W), W, names


def _pairs(
    ours: TableOfRows, theirs: TableOfRows, label: str | None
) -> tuple[list[int], list[int]]:
    """Return the rows of both tables that are the same sample."""
    names: list[list[str]] = []
    for table in (ours, theirs):
        with located(table.source):
            found = row_labels(table, label)
            if found is None or len(set(found.tolist())) < len(found):
                raise InvalidInputError(
                    "no column names the samples, each once; say which one with label."
                )
            names.append(found.tolist())
    both = [one for one in names[0] if one in set(names[1])]
    if not both:
        shown = " and ".join(shortened(one[0]) for one in names)
        raise InvalidInputError(f"No sample is in both tables: they begin with {shown}.")
    return [names[0].index(one) for one in both], [names[1].index(one) for one in both]
