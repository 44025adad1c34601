"""Predictions of the rows of a table: values, intervals, and which rows are unusual."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Any

import numpy as np
import numpy.typing as npt

from plsdof._core.display import plural
from plsdof._core.inputs import Array
from plsdof._core.remarks import Remark
from plsdof.chemometrics.checks import ALL_UNLIKE, doubtful_references
from plsdof.chemometrics.merit import HEADINGS, RMSE_NAMES, FiguresOfMerit, figures_of_merit
from plsdof.errors import InvalidInputError
from plsdof.models.fitted import CLASSES
from plsdof.models.predictor import Predictor
from plsdof.workbench import choosing
from plsdof.workbench.analysis import Request
from plsdof.workbench.analysis.remarks import percent, used
from plsdof.workbench.analysis.result import (
    TWO_DECIMALS,
    Column,
    Fact,
    Result,
    as_column,
    as_measured,
    named,
)
from plsdof.workbench.analysis.result import Table as ResultTable
from plsdof.workbench.analysis.tables import merit_table
from plsdof.workbench.choosing import Mask, as_table
from plsdof.workbench.doubts import repeated_labels
from plsdof.workbench.tables.columns import listed, shortened
from plsdof.workbench.tables.joining import averaged_table, labels_of
from plsdof.workbench.tables.table import Note, Table, located

# Level of the limits of T^2 and Q: a row beyond is unusual.
CHECK_LEVEL = 0.95
_DISTANCES = {"t2": "T²", "q": "Q"}
# Rows of a short table.
_MOST_ROWS = 20

Columns = dict[str, npt.NDArray[Any]]


def predict(
    models: Predictor | Sequence[Predictor], table: Any, request: Request | None = None
) -> Result:
    """Predict the rows of a table with a model, or with one for each constituent.

    Parameters
    ----------
    models : Predictor or sequence of them
    table : Table or data frame
    request : Request, optional
        Its level and intervals (by default as the model was saved), what to do with missing values
        ("drop" gives no prediction), and columns that name rows, or samples whose means are
        predicted.

    Returns
    -------
    Result
        One row per sample; of several models their columns side by side.

    Examples
    --------
    >>> from plsdof import workbench
    >>> from plsdof.datasets import load_gasoline
    >>> X, y = load_gasoline(return_X_y=True, as_frame=True)
    >>> made = workbench.fit(X.assign(octane=y), Request(response="octane", components=3))
    >>> found = workbench.predict(made.predictor, X.iloc[:4])
    >>> found.main_table.columns["status"].texts()
    ['ok', 'ok', 'ok', 'ok']
    """
    several = [models] if isinstance(models, Predictor) else list(models)
    return side_by_side(predict_each(several, table, request), distinct(several))


def predict_each(
    several: Sequence[Predictor], table: Any, request: Request | None = None
) -> list[Result]:
    """Predict the rows of a table with models, one result for each of them.

    Examples
    --------
    >>> from plsdof import workbench
    >>> from plsdof.datasets import load_ozone
    >>> X, y = load_ozone(return_X_y=True, as_frame=True)
    >>> made = workbench.fit(X.assign(ozone=y), Request(response="ozone", components=2))
    >>> [len(one.main_table) for one in predict_each([made.predictor], X.iloc[:3])]
    [3]
    """
    request, rows = request or Request(), as_table(table)
    by, single = request.average_by, rows
    if any(one.method == CLASSES for one in several) and (request.intervals or by):
        raise InvalidInputError("intervals and average_by are for models of numbers.")
    with located(rows.source):
        if by is not None:
            rows = averaged_table(rows, by, [one.response for one in several])
            request = replace(request, label=request.label or by)
        return [_predicted(one, rows, request, single) for one in several]


def response_of(model: Predictor) -> str:
    """Return what a model predicts, a measured response or classes."""
    return str(model.source["classes_of"]) if model.method == CLASSES else model.response


def distinct(models: Sequence[Predictor], otherwise: Sequence[str] = ()) -> list[str]:
    """Return what tells models apart: their responses, or other names if these repeat, numbered."""
    names = [response_of(one) for one in models]
    if otherwise and len(set(names)) < len(names):
        names = list(otherwise)
    return [f"{one} {i + 1}" if one in names[:i] else one for i, one in enumerate(names)]


def side_by_side(found: Sequence[Result], names: Sequence[str]) -> Result:
    """Return predictions of several constituents as one result, with one row per sample."""
    if len(found) == 1:
        return found[0]
    pairs, first = list(zip(names, found, strict=True)), found[0].main_table
    columns = {name: first.columns[name] for name in ("row", "id") if name in first.columns}
    facts, captions, states = dict[str, Fact](), list[str](), dict[str, list[str]]()
    for name, one in pairs:
        for key, column in one.main_table.columns.items():
            if key not in ("row", "id"):
                label = name if key == "prediction" else column.label
                brief = key in ("prediction", "lower", "upper")
                columns[f"{name} {key}"] = replace(column, label=label, brief=brief)
        for key, fact in one.facts.items():
            label = f"{fact.label} of {name}" if fact.label else ""
            facts[f"{name}.{key}"] = replace(fact, label=label)
        captions += [f"{name}: {text}" for text in _limits_in_words(one.facts)]
        if "status" in one.main_table.columns:
            states[name] = one.main_table.columns["status"].texts()
    if states:
        rows = [dict(zip(states, row, strict=True)) for row in zip(*states.values(), strict=True)]
        bad = [", ".join(f"{n} {one}" for n, one in row.items() if one != "ok") for row in rows]
        columns["status"] = as_column([one or "ok" for one in bad], "status")
    return Result(
        title="\n".join(one.title for one in found),
        facts=facts,
        tables={"predictions": replace(first, columns=columns, caption=" ".join(captions))},
        remarks=tuple({said.words: said for one in found for said in one.remarks}.values()),
        record={f"model of {name}": one.record["model"] for name, one in pairs}
        | {key: text for key, text in found[0].record.items() if key != "model"},
        main="predictions",
    )


# Rows as a model takes them
# --------------------------


@dataclass(frozen=True, kw_only=True)
class NewRows:
    """Rows of a table as a model takes them.

    ``X`` has the columns of the model, ``complete`` marks rows without missing values; ``columns``
    are row, id (if a column names the rows) and observed (if the table has the response).
    """

    X: Array
    complete: Mask
    columns: Columns = field(default_factory=dict)
    remarks: tuple[Remark, ...] = ()

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


def remarked(key: str, texts: Iterable[Note]) -> list[Remark]:
    """Return texts as remarks of a key; what is one already stays as it is."""
    return [one if isinstance(one, Remark) else Remark(key=key, words=one) for one in texts]


def new_rows(model: Predictor, rows: Table, request: Request) -> NewRows:
    """Find the columns of a model in a table; extra ones are ignored, the order does not matter."""
    of_fit, missing, label = model.source.get("id"), request.missing, request.label
    label = of_fit if label is None and of_fit in rows.names else label
    labels = choosing.row_labels(rows, label, repeats=True)
    names, matched = choosing.match_columns(model.columns, rows)
    imputes = model.fills_holes and missing != "drop"
    if missing == "impute" and not imputes:
        raise InvalidInputError(
            "missing impute: the model does not impute. Fit one that does, interpolate, or leave "
            "such rows without a prediction.",
            mend={"missing": "drop"},
        )
    imputed = "imputed by the model" if imputes else ""
    X, holes, about_holes = choosing.filled(rows.numbers(names), names, missing, imputed)
    columns: Columns = {"row": rows.row_numbers}
    columns |= {} if labels is None else {"id": labels}
    repeated = repeated_labels(labels, rows.row_numbers)
    notes = [*rows.notes, *matched, *repeated, *about_holes]
    complete = choosing.without_any(holes)
    if not complete.all():
        if missing != "drop":
            raise choosing.missing_values(holes, names, "Predict the others")
        gone = listed([row_name(columns, i) for i in np.flatnonzero(~complete).tolist()], 40)
        count = f"{(~complete).sum()} of {len(X)} rows"
        notes.append(f"{count} with missing values not predicted: {gone}.")
    undefined = _undefined(model, X, complete)
    if undefined is not None:
        told = undefined.renamed([row_name(columns, i) for i in np.flatnonzero(complete).tolist()])
        if missing != "drop":
            raise InvalidInputError(
                f"{told} Such rows can be left without a prediction.", mend={"missing": "drop"}
            )
        complete[np.flatnonzero(complete)[list(undefined.rows)]] = False
        notes.append(f"Not predicted: {told}")
    if not complete.any():
        raise InvalidInputError("all rows have missing values among the predictors.")
    known, reasons = observed(model, rows)
    columns |= {} if known is None else {"observed": known}
    remarks = remarked("data", [*notes, *reasons])
    return NewRows(X=X, complete=complete, columns=columns, remarks=tuple(remarks))


def _undefined(model: Predictor, X: Array, complete: Mask) -> Any:
    """Return the error about rows that preprocessing is not defined for, None if there are none."""
    try:
        model.predict(X[complete]) if complete.any() else None
    except InvalidInputError as error:
        if not hasattr(error, "renamed"):
            raise
        return error
    return None


def row_name(columns: Columns, i: int) -> str:
    """Return what sentences call a row: its name if it has one, or its number."""
    label = str(columns["id"][i]) if "id" in columns else ""
    return shortened(label) if label else str(columns["row"][i])


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


# Predictions
# -----------


def _predicted(model: Predictor, rows: Table, request: Request, single: Table) -> Result:
    """Predict the rows of a table; ``single`` has the measurements that they are means of."""
    new = new_rows(model, rows, request)
    facts = {"response": Fact(value=response_of(model)), "level": Fact(value=request.level)}
    remarks = [*remarked("history", model.history), *new.remarks]
    title, captions = "Predictions", list[str]()
    if model.method == CLASSES:
        columns, said = _classes(model, new)
        remarks += said
    else:
        columns, assumptions = _numbers(model, new, request)
        limits, said = _distances(model, new, columns)
        remarks += said
        if limits:
            facts |= named("limits", {**limits, "level": CHECK_LEVEL})
            captions += _limits_in_words(facts)
        if assumptions:
            captions.append(assumptions)
            title += f" with {percent(request.level)} intervals of one observation"
        else:
            text = "Intervals are missing: the model was saved without what they need."
            remarks += remarked("no-intervals", [text])
        merit, said = _compared(model, columns)
        facts |= {"assumptions": Fact(value=assumptions)} | _accuracy(merit)
        remarks += said
        if request.average_by is not None:
            remarks += _with_spread(model, columns, single, request.average_by)
    for name in ("limits", "merit"):
        if not any(one.startswith(f"{name}.") for one in facts):
            facts[name] = Fact(value=None)
    shown = ResultTable(
        columns=_labelled(columns),
        title=title,
        caption=" ".join(captions),
        short=range(_MOST_ROWS) if len(rows) > _MOST_ROWS else None,
    )
    file = PurePath(rows.source.replace("\\", "/")).name
    return Result(
        title=f"{response_of(model):.40} for {plural(len(rows), 'row')} of {file[-40:]}, by "
        f"{_described(model)}",
        facts=facts,
        tables={"predictions": shown},
        remarks=tuple(remarks),
        pictures={"history": model.history},
        record=used(model, rows.source),
        main="predictions",
    )


def _limits_in_words(facts: Mapping[str, Fact]) -> list[str]:
    """Return the limits of T^2 and Q as a sentence, if there are any."""
    known = {
        word: facts[f"limits.{key}"] for key, word in _DISTANCES.items() if f"limits.{key}" in facts
    }
    shown = ", ".join(f"{word} {one.text}" for word, one in known.items())
    return [f"{percent(CHECK_LEVEL)} limits: {shown}."] * bool(known)


def _described(model: Predictor) -> str:
    name = model.method.upper() if model.parameter_name == "n_components" else model.method
    if model.method == CLASSES:
        name = "a PLS classifier"
    average = model.responses[0].choice.get("rule") == "average"
    return f"{name}{', ' if average else ' with '}{model.in_words}"


def _classes(model: Predictor, new: NewRows) -> tuple[Columns, list[Remark]]:
    """Return predicted classes and their probabilities."""
    found, columns, remarks = model.at(new.X[new.complete]), dict(new.columns), list[Remark]()
    assert found.label is not None
    assert found.probability is not None
    best = found.label.astype(object)
    if found.belongs is not None:
        best[found.unlike] = "none of these"
    made = new.spread(best, "")
    if "observed" in columns:
        told = (columns["observed"] != "") & new.complete
        right = int(np.sum((columns["observed"] == made) & told))
        text = f"{right} of {plural(int(told.sum()), 'row')} as observed."
        remarks = remarked("accuracy", [text])
    parts = zip(model.classes_, found.probability.T, strict=True)
    columns |= {"prediction": made} | {f"P({name})": new.spread(one) for name, one in parts}
    return columns, remarks


def _numbers(model: Predictor, new: NewRows, request: Request) -> tuple[Columns, str]:
    """Return predictions with their intervals, nan where there are none, and what they assume."""
    used, level, words = new.X[new.complete], request.level, ""
    found = {"prediction": model.predict(used)}
    if model.has_intervals:
        mean = model.prediction_interval(used, level=level, kind="mean")
        found |= {"mean_lower": mean.lower, "mean_upper": mean.upper}
    if model.interval_methods:
        single = model.prediction_interval(used, level=level, method=request.intervals)
        found |= {"lower": single.lower, "upper": single.upper}
        words = single.assumptions
    return new.columns | {name: new.spread(one) for name, one in found.items()}, words


def _distances(
    model: Predictor, new: NewRows, columns: Columns
) -> tuple[dict[str, float], list[Remark]]:
    """Add how far rows are from those of the calibration; return the limits, and which are far."""
    limits, remarks = dict[str, float](), list[Remark]()
    made = model.at(new.X[new.complete], level=CHECK_LEVEL)
    for one in (one for one in (made.t2, made.q) if one is not None):
        columns[one.name], limits[one.name] = new.spread(one.values), one.limit
        columns[f"{one.name}_limit"] = np.full(len(new.X), one.limit)
        remarks += remarked("no-limit", [one.message] * bool(np.isnan(one.limit)))
    if limits:
        columns["unusual"] = new.spread(made.unlike.astype(object), None)
    columns |= {"status": new.spread(made.status, "reject")}
    columns |= {"reason": new.spread(made.reason, "no prediction")}
    said = _unusual(columns) if limits else _why_no_check(model)
    return limits, remarks + remarked("unusual" if limits else "no-check", filter(None, [said]))


def _unusual(columns: Columns) -> str:
    """Say which rows are unlike those of the calibration; empty if none."""
    unusual = [i for i, is_unusual in enumerate(columns["unusual"]) if is_unusual]
    if not unusual:
        return ""
    predicted = int(np.count_nonzero(np.isfinite(columns["prediction"])))
    if 1 < predicted == len(unusual):
        return ALL_UNLIKE.format(count=predicted)
    shown = listed([row_name(columns, i) for i in unusual])
    which, whose = ("Rows", "are") if len(unusual) > 1 else ("Row", "is")
    return (
        f"{which} {shown} {whose} unlike the calibration rows (T² or Q above the "
        f"{percent(CHECK_LEVEL)} limit): predictions there are extrapolations."
    )


def _why_no_check(model: Predictor) -> str:
    reason = "the model was saved without what T² and Q need"
    if model.method != "pls":
        reason = f"T² and Q are for PLS, and the model is one of {model.method}"
    return f"Rows unlike the calibration rows are not marked: {reason}."


def _compared(model: Predictor, columns: Columns) -> tuple[FiguresOfMerit | None, list[Remark]]:
    """Compare predictions with the values that were observed, and name doubtful ones."""
    known = np.flatnonzero(np.isfinite(columns.get("observed", np.nan) - columns["prediction"]))
    if not len(known):
        return None, []
    y, predicted = columns["observed"][known], columns["prediction"][known]
    names = [row_name(columns, i) for i in known.tolist()]
    doubtful = doubtful_references(y, predicted, model.calibration_errors.rmsecv, names)
    return figures_of_merit(y, predicted), remarked("references", doubtful)


def _accuracy(merit: FiguresOfMerit | None) -> dict[str, Fact]:
    """Return figures of merit, each with its error, and as a sentence."""
    if merit is None:
        return {}
    table = merit_table({"test": merit})
    facts = {
        name: Fact(value=column.exact()[0], error=None if column.error is None else column.error[0])
        for name, column in table.columns.items()
        if name != "rows"
    }
    labels = {name: label for name, label, _ in HEADINGS} | {"rmse": RMSE_NAMES["test"]}
    words = ", ".join(f"{label} {facts[name].text}" for name, label in labels.items())
    words += f", over {plural(merit.n, 'row')} with a known response."
    said = {"accuracy": Fact(value=words, label="Accuracy")}
    return {f"merit.{name}": one for name, one in facts.items()} | said


def _with_spread(model: Predictor, columns: Columns, single: Table, by: str) -> list[Remark]:
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
    columns |= {"replicates": found.counts, "spread": np.where(unknown, np.nan, found.spread)}
    usual = model.source.get("replicates")
    if usual is None:
        return remarked("replicates", ["The model knows no limit for the spread of replicates."])
    columns["spread_limit"] = spread_limit(usual["std"], usual["dof"], found.counts)
    far = np.flatnonzero(columns["spread"] > columns["spread_limit"]).tolist()
    for i in far:
        reasons = [columns["reason"][i], "replicates apart"]
        columns["reason"][i] = "; ".join(filter(None, reasons))
        columns["status"][i] = "warn" if columns["status"][i] == "ok" else columns["status"][i]
    if not far:
        return []
    shown = listed([row_name(columns, i) for i in far], 8)
    text = (
        "Replicates further apart than those of the calibration (standard deviation of predictions "
        f"above its {percent(CHECK_LEVEL)} limit): {shown}."
    )
    return remarked("replicates", [text])


_LABELS = {
    **{"row": "row", "id": "id", "observed": "observed", "prediction": "prediction"},
    **{"lower": "from", "upper": "to", "t2": "T²", "q": "Q", "status": "status"},
}


def _labelled(columns: Columns) -> dict[str, Column]:
    """Return columns with headings; two digits of the usual half width of intervals are shown."""
    half = np.nan
    if "upper" in columns:
        half = float(np.nanmedian(columns["upper"] - columns["lower"])) / 2
    rounded: dict[str, Any] = {"error": half, "digits": 5}
    how = dict.fromkeys(("observed", "prediction", "lower", "upper"), rounded)
    if "observed" in columns and columns["observed"].dtype.kind == "f":
        how["observed"] = {"error": as_measured(columns["observed"], half), "digits": 5}
    how |= {n: {"error": TWO_DECIMALS, "least": 0.01} for n in columns if n.startswith("P(")}
    return {
        name: Column(
            values=values,
            label=_LABELS.get(name, name if name.startswith("P(") else ""),
            brief=name != "row" or "id" not in columns,
            **how.get(name, {"digits": 3}),
        )
        for name, values in columns.items()
    }
