"""Predictions of the rows of a table: values, intervals, and which rows are unusual."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from plsdof._core.display import plural
from plsdof._core.inputs import Array, as_choice, as_fraction
from plsdof.chemometrics.checks import ALL_UNLIKE, doubtful_references
from plsdof.chemometrics.merit import FiguresOfMerit, figures_of_merit
from plsdof.errors import InvalidInputError
from plsdof.inference.intervals import INTERVAL_METHODS
from plsdof.models.fitted import CLASSES
from plsdof.models.predictor import Predictor
from plsdof.workbench import choosing
from plsdof.workbench.analysis.remarks import percent
from plsdof.workbench.analysis.request import check_missing
from plsdof.workbench.analysis.tables import records
from plsdof.workbench.choosing import Mask, as_table
from plsdof.workbench.doubts import repeated_labels
from plsdof.workbench.tables.columns import listed, shortened
from plsdof.workbench.tables.joining import averaged_table, labels_of
from plsdof.workbench.tables.table import Table, located

# Levels of the limits of T^2 and Q: a row beyond the first is unusual, and one beyond the second,
# which one of a thousand ordinary rows would be, is not to be predicted.
CHECK_LEVEL, REJECT_LEVEL = 0.95, 0.999
_DISTANCES = {"t2": "T^2", "q": "Q"}

Columns = dict[str, npt.NDArray[Any]]


def predict(
    models: Predictor | Sequence[Predictor],
    table: Any,
    *,
    level: float = 0.95,
    intervals: str | None = None,
    missing: str | None = None,
    label: str | None = None,
    average_by: str | None = None,
) -> "list[Predictions]":
    """Predict the rows of a table with models, one for each constituent.

    Parameters
    ----------
    models : Predictor or sequence of them
    table : Table or data frame
    level : float
        Of the intervals.
    intervals : str, optional
        How observations are covered; by default as the model was saved.
    missing : str, optional
        "drop" (no prediction), "interpolate" or "interpolate:5"; refused by default.
    label, average_by : str, optional
        Columns that name the rows, and samples whose means are predicted.

    Returns
    -------
    list of Predictions
        One for each model.

    Examples
    --------
    >>> from plsdof import workbench
    >>> from plsdof.workbench.analysis import Request
    >>> from plsdof.datasets import load_gasoline
    >>> X, y = load_gasoline(return_X_y=True, as_frame=True)
    >>> (made,) = workbench.fit(X.assign(octane=y), Request(response="octane", components=3))
    >>> (found,) = workbench.predict(made.predictor, X.iloc[:4])
    >>> found.columns["status"].tolist()
    ['ok', 'ok', 'ok', 'ok']
    """
    as_fraction(level, "level")
    check_missing(missing)
    if intervals is not None:
        as_choice(intervals, "intervals", INTERVAL_METHODS)
    table = as_table(table)
    several = [models] if isinstance(models, Predictor) else list(models)
    if any(one.method == CLASSES for one in several) and (intervals or average_by):
        raise InvalidInputError("--intervals and --average-by are for models of numbers.")
    with located(table.source):
        rows = table
        if average_by is not None:
            rows = averaged_table(table, average_by, [one.response for one in several])
            label = label or average_by
        how: dict[str, Any] = {"level": level, "missing": missing, "label": label}
        found = [_predicted(one, rows, method=intervals, **how) for one in several]
        if average_by is not None:
            pairs = zip(found, several, strict=True)
            found = [with_spread(*pair, table, average_by) for pair in pairs]
    return found


def response_of(model: Predictor) -> str:
    """Return what a model predicts, a measured response or classes."""
    return str(model.source["classes_of"]) if model.method == CLASSES else model.response


def side_by_side(found: Sequence["Predictions"], names: Sequence[str]) -> Columns:
    """Return one row per sample, with the columns of every constituent."""
    first = found[0].columns
    if len(found) == 1:
        return first
    shared = {name: values for name, values in first.items() if name in ("row", "id")}
    for prefix, one in zip(names, found, strict=True):
        rest = {name: values for name, values in one.columns.items() if name not in shared}
        shared |= {f"{prefix} {name}": values for name, values in rest.items()}
    return shared


@dataclass(frozen=True, kw_only=True)
class Predictions:
    """Predictions of the rows of a table.

    Attributes
    ----------
    columns : dict of (n,) arrays
        row, id (if a column names the rows), observed (if the table has the response), prediction.
        Of numbers mean_lower, mean_upper, lower, upper; t2, q, their limits and unusual if the
        model can tell; status (ok, warn, reject) and reason; nan where there is none. Of classes
        their probabilities.
    limits : dict of float
        Of t2 and q, above which a row is unusual.
    merit : FiguresOfMerit or None
        Of the rows with an observed value and a prediction; None if there are none.
    notes : tuple of str
    assumptions : str
        What the intervals assume, in one line; empty if there are none.
    """

    columns: Columns
    limits: dict[str, float]
    merit: FiguresOfMerit | None
    notes: tuple[str, ...]
    assumptions: str = ""

    def to_content(self, model: Predictor) -> dict[str, Any]:
        """Return them as JSON has them."""
        return {
            "response": response_of(model),
            "assumptions": self.assumptions,
            "predictions": records(self.columns),
            "limits": {**self.limits, "level": CHECK_LEVEL} if self.limits else None,
            "merit": None if self.merit is None else asdict(self.merit),
            "history": model.history,
            "notes": self.notes,
        }


@dataclass(frozen=True, kw_only=True)
class NewRows:
    """Rows of a table as a model takes them.

    ``X`` has the columns of the model, ``complete`` marks rows without missing values; ``columns``
    are row, id (if a column names the rows) and observed (if the table has the response).
    """

    X: Array
    complete: Mask
    columns: Columns
    notes: tuple[str, ...]

    @property
    def kept(self) -> "NewRows":
        """The complete rows."""
        keep = self.complete
        columns = {name: values[keep] for name, values in self.columns.items()}
        return replace(self, X=self.X[keep], complete=keep[keep], columns=columns)

    def spread(self, values: Array, fill: Any = np.nan) -> npt.NDArray[Any]:
        """Return a column with the values of complete rows in their places."""
        column = np.full(len(self.X), fill, dtype=values.dtype if fill != "" else object)
        column[self.complete] = values
        return column


def new_rows(
    model: Predictor, rows: Table, *, missing: str | None = None, label: str | None = None
) -> NewRows:
    """Find the columns of a model in a table; extra ones are ignored, the order does not matter."""
    of_fit = model.source.get("id")
    label = of_fit if label is None and of_fit in rows.names else label
    labels = choosing.row_labels(rows, label, repeats=True)
    names, notes = choosing.match_columns(model.columns, rows)
    imputes = model.fills_holes and missing != "drop"
    if missing == "impute" and not imputes:
        raise InvalidInputError(
            "--missing impute: the model does not impute; fit it with --missing impute, or use "
            "interpolate or drop."
        )
    imputed = "imputed by the model" if imputes else ""
    X, holes, about_holes = choosing.filled(rows.numbers(names), names, missing, imputed)
    columns: Columns = {"row": rows.row_numbers}
    columns |= {} if labels is None else {"id": labels}
    repeated = repeated_labels(labels, rows.row_numbers)
    notes = (*rows.notes, *notes, *repeated, *about_holes)
    complete = choosing.without_any(holes)
    if not complete.all():
        if missing != "drop":
            raise InvalidInputError(choosing.missing_values(holes, names, "to predict the others"))
        gone = listed([row_name(columns, i) for i in np.flatnonzero(~complete).tolist()], 40)
        count = f"{(~complete).sum()} of {len(X)} rows"
        notes += (f"{count} with missing values not predicted: {gone}.",)
    undefined = _undefined(model, X, complete)
    if undefined is not None:
        told = undefined.renamed([row_name(columns, i) for i in np.flatnonzero(complete).tolist()])
        if missing != "drop":
            raise InvalidInputError(f"{told} --missing drop gives them no prediction.")
        complete[np.flatnonzero(complete)[list(undefined.rows)]] = False
        notes += (f"Not predicted: {told}",)
    if not complete.any():
        raise InvalidInputError("all rows have missing values among the predictors.")
    known, reasons = observed(model, rows)
    columns |= {} if known is None else {"observed": known}
    return NewRows(X=X, complete=complete, columns=columns, notes=notes + reasons)


def _predicted(
    model: Predictor,
    rows: Table,
    *,
    level: float = 0.95,
    missing: str | None = None,
    label: str | None = None,
    method: str | None = None,
) -> Predictions:
    """Predict the rows of a table.

    ``method`` says how observations are covered; by default as the model was saved.
    """
    new = new_rows(model, rows, missing=missing, label=label)
    used, columns, notes = new.X[new.complete], new.columns, (*model.history, *new.notes)
    if model.method == CLASSES:
        return _predicted_classes(model, new)
    # Predictions and intervals of the complete rows, nan elsewhere.
    found, assumptions = {"prediction": model.predict(used)}, ""
    if model.has_intervals:
        mean = model.prediction_interval(used, level=level, kind="mean")
        found |= {"mean_lower": mean.lower, "mean_upper": mean.upper}
    if model.interval_methods:
        single = model.prediction_interval(used, level=level, method=method)
        found |= {"lower": single.lower, "upper": single.upper}
        assumptions = single.assumptions
    else:
        notes += ("Intervals are missing: the model was saved without what they need.",)
    # How far these rows are from those of the calibration.
    limits, farther = {}, {}
    if model.check is not None:
        of_kernel = model.check.loadings is None
        for ask in (model.hotelling_t2,) if of_kernel else (model.hotelling_t2, model.q_residuals):
            one = ask(used, level=CHECK_LEVEL)
            found[one.name], limits[one.name] = one.values, one.limit
            farther[one.name] = ask(used, level=REJECT_LEVEL).limit
            notes += (one.message,) if np.isnan(one.limit) else ()
    for name, values in found.items():
        columns[name] = new.spread(values)
        columns |= {f"{name}_limit": np.full(len(new.X), limits[name])} if name in limits else {}
    if limits:
        unusual = np.any([columns[name] > limits[name] for name in limits], axis=0)
        columns["unusual"] = np.asarray(np.where(new.complete, unusual, None))
    columns |= _status(columns, limits, farther)
    notes += _unusual(columns) if limits else (_why_no_check(model),)
    merit = None
    if "observed" in columns:
        known = np.flatnonzero(np.isfinite(columns["observed"] - columns["prediction"]))
        y, predicted = columns["observed"][known], columns["prediction"][known]
        names = [row_name(columns, i) for i in known.tolist()]
        notes += doubtful_references(y, predicted, model.calibration_errors.rmsecv, names)
        merit = figures_of_merit(y, predicted) if len(known) else None
    return Predictions(
        columns=columns, limits=limits, merit=merit, notes=notes, assumptions=assumptions
    )


def _predicted_classes(model: Predictor, new: NewRows) -> Predictions:
    """Return predicted classes and their probabilities."""
    classes = np.array([one.response for one in model.responses])
    proba, columns, notes = model.predict_proba(new.X[new.complete]), new.columns, new.notes
    best = classes[np.argmax(proba, axis=1)].astype(object)
    if model.class_models:
        best[~model.belongs(new.X[new.complete]).any(axis=1)] = "none of these"
    found = new.spread(best, "")
    if "observed" in columns:
        told = (columns["observed"] != "") & new.complete
        right = int(np.sum((columns["observed"] == found) & told))
        notes += (f"{right} of {plural(int(told.sum()), 'row')} as observed.",)
    columns |= {"prediction": found}
    columns |= {f"P({name})": new.spread(one) for name, one in zip(classes, proba.T, strict=True)}
    return Predictions(columns=columns, limits={}, merit=None, notes=notes)


def _undefined(model: Predictor, X: Array, complete: Mask) -> Any:
    """Return the error about rows that preprocessing is not defined for, None if there are none."""
    try:
        model.predict(X[complete]) if complete.any() else None
    except InvalidInputError as error:
        if not hasattr(error, "renamed"):
            raise
        return error
    return None


def with_spread(predicted: Predictions, model: Predictor, single: Table, by: str) -> Predictions:
    """Add how far predictions of the replicates of each sample are apart, and how far they may be.

    Columns replicates, spread (a standard deviation) and, if the model knows what is usual,
    spread_limit.
    """
    from plsdof.chemometrics.samples import repeatability, spread_limit

    X = single.numbers(choosing.match_columns(model.columns, single)[0])
    samples = labels_of(single, by)
    whole = ~np.isnan(X).any(axis=1)
    values = np.full(len(X), np.nan)
    values[whole] = model.predict(X[whole])
    # Samples keep their order, also those that have no prediction.
    found = repeatability(np.where(whole, values, 0.0), samples)
    unknown = np.isin(list(dict.fromkeys(samples.tolist())), samples[~whole])
    spread = np.where(unknown, np.nan, found.spread)
    columns = predicted.columns | {"replicates": found.counts, "spread": spread}
    columns |= {name: columns[name].astype(object) for name in ("status", "reason")}
    usual = model.source.get("replicates")
    notes: tuple[str, ...] = ()
    if usual is None:
        notes = ("Replicates have no limit: the model was not fitted with --average-by.",)
    else:
        columns["spread_limit"] = spread_limit(usual["std"], usual["dof"], found.counts)
        far = np.flatnonzero(spread > columns["spread_limit"]).tolist()
        for i in far:
            reasons = [columns["reason"][i], "replicates apart"]
            columns["reason"][i] = "; ".join(one for one in reasons if one)
            columns["status"][i] = "warn" if columns["status"][i] == "ok" else columns["status"][i]
        if far:
            shown = listed([row_name(columns, i) for i in far], 8)
            notes = (
                f"Replicates further apart than those of the calibration (standard deviation of "
                f"predictions above its {percent(CHECK_LEVEL)} limit): {shown}.",
            )
    return replace(predicted, columns=columns, notes=(*predicted.notes, *notes))


def _status(columns: Columns, limits: Mapping[str, float], farther: Mapping[str, float]) -> Columns:
    """Return ok, warn or reject for every row, and why."""
    status, reasons = [], []
    for i, value in enumerate(columns["prediction"]):
        beyond = [name for name in limits if columns[name][i] > limits[name]]
        far = [name for name in beyond if columns[name][i] > farther[name]]
        levels = {name: REJECT_LEVEL if name in far else CHECK_LEVEL for name in beyond}
        why = [f"{_DISTANCES[one]} above {percent(levels[one])} limit" for one in beyond]
        if np.isnan(value):
            why = ["no prediction"]
        status.append("reject" if far or np.isnan(value) else "warn" if beyond else "ok")
        reasons.append("; ".join(why))
    return {"status": np.array(status), "reason": np.array(reasons)}


def _unusual(columns: Columns) -> tuple[str, ...]:
    """Say which rows are unlike those of the calibration."""
    unusual = [i for i, is_unusual in enumerate(columns["unusual"]) if is_unusual]
    if not unusual:
        return ()
    predicted = int(np.count_nonzero(np.isfinite(columns["prediction"])))
    if 1 < predicted == len(unusual):
        return (ALL_UNLIKE.format(count=predicted),)
    shown = listed([row_name(columns, i) for i in unusual])
    which, whose = ("Rows", "are") if len(unusual) > 1 else ("Row", "is")
    return (
        f"{which} {shown} {whose} unlike the calibration rows (T^2 or Q above the "
        f"{percent(CHECK_LEVEL)} limit): predictions there are extrapolations.",
    )


def row_name(columns: Columns, i: int) -> str:
    """Return what sentences call a row: its name if it has one, or its number."""
    label = str(columns["id"][i]) if "id" in columns else ""
    return shortened(label) if label else str(columns["row"][i])


def _why_no_check(model: Predictor) -> str:
    reason = "the model was saved without what T^2 and Q need"
    if model.method != "pls":
        reason = f"T^2 and Q are for PLS, and the model is one of {model.method}"
    return f"Rows unlike the calibration rows are not marked: {reason}."


def observed(model: Predictor, rows: Table) -> tuple[Any, tuple[str, ...]]:
    """Return the response if the table has it, and what of it cannot be compared with."""
    name = response_of(model)
    if name not in rows.names:
        return None, ()
    if model.method == CLASSES:
        return labels_of(rows, name), ()
    found, wrong = rows.readable(name)
    if not wrong:
        return found, ()
    shown = listed([f"{row} ({shortened(value)})" for row, value in wrong.items()])
    what = f"{shortened(name)} in row{'s' * (len(wrong) > 1)} {shown}"
    return found, (f"Not a number, and so not compared with the prediction: {what}.",)
