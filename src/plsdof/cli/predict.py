"""``plsdof predict``: predictions, their intervals, and which rows are unusual."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import typer
from rich.table import Table as RichTable

from plsdof._core.display import plural
from plsdof._core.inputs import Array, as_choice, as_fraction
from plsdof.analysis.tables import records
from plsdof.chemometrics.checks import ALL_UNLIKE, doubtful_references
from plsdof.chemometrics.merit import HEADINGS, RMSE_NAMES, FiguresOfMerit, figures_of_merit
from plsdof.cli import _show as show
from plsdof.cli import _tables as tables
from plsdof.cli._options import File, Printing, check_outputs
from plsdof.errors import InvalidInputError
from plsdof.files.classes import CLASSES, class_probabilities
from plsdof.files.columns import labels_of, listed, shortened
from plsdof.files.models import FrozenModel, load_model
from plsdof.files.tables import Table
from plsdof.files.writing import TABLE_ENDINGS, write_tables
from plsdof.inference.intervals import INTERVAL_METHODS

# Levels of the limits of T^2 and Q: a row beyond the first is unusual, and one beyond the second,
# which one of a thousand ordinary rows would be, is not to be predicted.
CHECK_LEVEL, REJECT_LEVEL = 0.95, 0.999

Columns = dict[str, npt.NDArray[Any]]


def predict(
    models: Annotated[
        list[Path],
        typer.Argument(metavar="MODEL...", help="Files written by `plsdof fit --model`."),
    ],
    file: File,
    reading: tables.Reading,
    printing: Printing,
    out: Path | None = None,
    plain_csv: bool = False,
    level: float = 0.95,
    intervals: str | None = None,
    missing: str | None = None,
    average_by: str | None = None,
    label: str | None = None,
) -> None:
    """Predict the rows of a table with a model, and mark unusual ones.

    A row is unusual if it is unlike those that the model was fitted to: Hotelling's T^2 or the Q
    residual is above its 95% limit (warn), or above its 99.9% limit (reject). The CSV file and
    JSON also have the intervals of the mean. Several models, one for each constituent, give one
    table.
    """
    as_fraction(level, "--level")
    tables.check_missing(missing)
    if intervals is not None:
        as_choice(intervals, "--intervals", INTERVAL_METHODS)
    check_outputs({"--out": (out, TABLE_ENDINGS)}, file, *models)
    with show.waiting("Reading", quiet=printing.quiet):
        fitted, rows = [load_model(one) for one in models], reading.table(file)
    if any(one.method == CLASSES for one in fitted) and (intervals or average_by):
        raise InvalidInputError("--intervals and --average-by are for models of numbers.")
    single = rows
    with show.waiting("Predicting", quiet=printing.quiet), tables.located(rows.source):
        if average_by is not None:
            rows = tables.averaged_table(rows, average_by, [one.response for one in fitted])
            label = label or average_by
        options: dict[str, Any] = {
            "level": level,
            "missing": missing,
            "label": label,
            "method": intervals,
        }
        found = [predict_table(one, rows, **options) for one in fitted]
        if average_by is not None:
            pairs = zip(found, fitted, strict=True)
            found = [with_spread(*pair, single, average_by) for pair in pairs]
    names = _names(fitted, models)
    columns = found[0].columns if len(found) == 1 else _side_by_side(found, names)
    if out is not None:
        write_tables({"predictions": columns}, out, escape=not plain_csv)
    written = {} if out is None else {"predictions": str(out)}
    if printing.as_json:
        contents = [
            {"model": str(path), "file": rows.source, "written": written, "level": level}
            | one.to_content(model)
            for path, model, one in zip(models, fitted, found, strict=True)
        ]
        show.print_json("predict", contents[0] if len(found) == 1 else {"responses": contents})
    elif not printing.quiet:
        screen = show.console()
        for name, model in zip(names, fitted, strict=True):
            screen.print(
                f"{show.safe(name, 40)} for {plural(len(rows), 'row')} of "
                f"{show.safe(Path(rows.source).name, 40)}, by {_described(model)}",
                style="bold",
            )
        screen.print()
        screen.print(_shown(found, names, level, screen.width, verbose=printing.verbose))
        screen.print()
        for name, one in zip(names, found, strict=True):
            of = f" of {name}" if len(found) > 1 else ""
            if one.merit is not None:
                show.remark(screen, f"Accuracy{of}", _merit_sentence(one.merit))
        show.note(screen, dict.fromkeys(note for one in found for note in one.notes))
        for what, where in written.items():
            show.remark(screen, f"Wrote the {what}", where)


def _response(model: FrozenModel) -> str:
    """Return what a model predicts, a measured response or classes."""
    return str(model.source["classes_of"]) if model.method == CLASSES else model.response


def _names(models: Sequence[FrozenModel], files: Sequence[Path]) -> list[str]:
    """Return what tells models apart: their responses, or the names of their files, or numbers."""
    names = [_response(one) for one in models]
    if len(set(names)) < len(names):
        names = [one.stem for one in files]
    return [f"{one} {i + 1}" if one in names[:i] else one for i, one in enumerate(names)]


def _side_by_side(found: Sequence["Predictions"], names: Sequence[str]) -> "Columns":
    """Return one row per sample, with the columns of every constituent."""
    first = found[0].columns
    shared = {name: values for name, values in first.items() if name in ("row", "id")}
    for prefix, one in zip(names, found, strict=True):
        rest = {name: values for name, values in one.columns.items() if name not in shared}
        shared |= {f"{prefix} {name}": values for name, values in rest.items()}
    return shared


# What is computed: predictions, their intervals, and which rows are unusual
# --------------------------------------------------------------------------


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

    def to_content(self, model: FrozenModel) -> dict[str, Any]:
        """Return them as JSON has them."""
        return {
            "response": _response(model),
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
    complete: tables.Mask
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
    model: FrozenModel, rows: Table, *, missing: str | None = None, label: str | None = None
) -> NewRows:
    """Find the columns of a model in a table; extra ones are ignored, the order does not matter."""
    of_fit = model.source.get("id")
    label = of_fit if label is None and of_fit in rows.names else label
    labels = tables.row_labels(rows, label, repeats=True)
    names, notes = tables.match_columns(model.columns, rows)
    X, notes = rows.numbers(names), (*rows.notes, *notes)
    columns: Columns = {"row": rows.row_numbers}
    columns |= {} if labels is None else {"id": labels}
    notes += tuple(tables.repeated_labels(labels, rows.row_numbers))
    X, holes, filled = _without_holes(model, X, names, missing)
    notes += filled
    complete = tables.without_any(holes)
    if not complete.all():
        if missing != "drop":
            raise InvalidInputError(tables.missing_values(holes, names, "to predict the others"))
        gone = listed([_row_name(columns, i) for i in np.flatnonzero(~complete).tolist()], 40)
        count = f"{(~complete).sum()} of {len(X)} rows"
        notes += (f"{count} with missing values not predicted: {gone}.",)
    undefined = _undefined(model, X, complete)
    if undefined is not None:
        told = undefined.renamed([_row_name(columns, i) for i in np.flatnonzero(complete).tolist()])
        if missing != "drop":
            raise InvalidInputError(f"{told} --missing drop gives them no prediction.")
        complete[np.flatnonzero(complete)[list(undefined.rows)]] = False
        notes += (f"Not predicted: {told}",)
    if not complete.any():
        raise InvalidInputError("all rows have missing values among the predictors.")
    known, reasons = observed(model, rows)
    columns |= {} if known is None else {"observed": known}
    return NewRows(X=X, complete=complete, columns=columns, notes=notes + reasons)


def predict_table(
    model: FrozenModel,
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
        for ask in (model.hotelling_t2, model.q_residuals):
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
        names = [_row_name(columns, i) for i in known.tolist()]
        notes += doubtful_references(y, predicted, model.calibration_errors.rmsecv, names)
        merit = figures_of_merit(y, predicted) if len(known) else None
    return Predictions(
        columns=columns, limits=limits, merit=merit, notes=notes, assumptions=assumptions
    )


def _predicted_classes(model: FrozenModel, new: NewRows) -> Predictions:
    """Return predicted classes and their probabilities."""
    classes = np.array([one.response for one in model.responses])
    proba, columns, notes = class_probabilities(model, new.X[new.complete]), new.columns, new.notes
    best = classes[np.argmax(proba, axis=1)].astype(object)
    if model.class_limits is not None:
        best[~model.belongs(new.X[new.complete]).any(axis=1)] = "none of these"
    found = new.spread(best, "")
    if "observed" in columns:
        told = (columns["observed"] != "") & new.complete
        right = int(np.sum((columns["observed"] == found) & told))
        notes += (f"{right} of {plural(int(told.sum()), 'row')} as observed.",)
    columns |= {"prediction": found}
    columns |= {f"P({name})": new.spread(one) for name, one in zip(classes, proba.T, strict=True)}
    return Predictions(columns=columns, limits={}, merit=None, notes=notes)


def _without_holes(
    model: FrozenModel, X: Array, names: tuple[str, ...], missing: str | None
) -> tuple[Array, tables.Mask, tuple[str, ...]]:
    """Return rows, which values forbid a prediction, and what was filled."""
    notes: tuple[str, ...] = ()
    if missing is not None and missing.startswith("interpolate"):
        X, notes = tables.interpolate(X, names, missing)
    holes = np.isnan(X)
    if model.fills_holes and missing != "drop":
        # A row needs some value.
        empty = holes.all(axis=1, keepdims=True)
        notes += tables.filled_in_words(holes & ~empty, "imputed by the model")
        holes = holes & empty
    elif missing == "impute":
        raise InvalidInputError(
            "--missing impute: the model does not impute; fit it with --missing impute, or use "
            "interpolate or drop."
        )
    return X, holes, notes


def _undefined(model: FrozenModel, X: Array, complete: tables.Mask) -> Any:
    """Return the error about rows that preprocessing is not defined for, None if there are none."""
    try:
        model.predict(X[complete]) if complete.any() else None
    except InvalidInputError as error:
        if not hasattr(error, "renamed"):
            raise
        return error
    return None


def with_spread(predicted: Predictions, model: FrozenModel, single: Table, by: str) -> Predictions:
    """Add how far predictions of the replicates of each sample are apart, and how far they may be.

    Columns replicates, spread (a standard deviation) and, if the model knows what is usual,
    spread_limit.
    """
    from plsdof.chemometrics.samples import repeatability, spread_limit

    X = single.numbers(tables.match_columns(model.columns, single)[0])
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
            shown = listed([_row_name(columns, i) for i in far], 8)
            notes = (
                f"Replicates further apart than those of the calibration (standard deviation of "
                f"predictions above its {show.percent(CHECK_LEVEL)} limit): {shown}.",
            )
    return replace(predicted, columns=columns, notes=(*predicted.notes, *notes))


def _status(columns: Columns, limits: Mapping[str, float], farther: Mapping[str, float]) -> Columns:
    """Return ok, warn or reject for every row, and why."""
    status, reasons = [], []
    for i, value in enumerate(columns["prediction"]):
        beyond = [name for name in limits if columns[name][i] > limits[name]]
        far = [name for name in beyond if columns[name][i] > farther[name]]
        levels = {name: REJECT_LEVEL if name in far else CHECK_LEVEL for name in beyond}
        why = [f"{_HEADINGS[one]} above {show.percent(levels[one])} limit" for one in beyond]
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
    shown = listed([_row_name(columns, i) for i in unusual])
    which, whose = ("Rows", "are") if len(unusual) > 1 else ("Row", "is")
    return (
        f"{which} {shown} {whose} unlike the calibration rows (T^2 or Q above the "
        f"{show.percent(CHECK_LEVEL)} limit): predictions there are extrapolations.",
    )


def _row_name(columns: Columns, i: int) -> str:
    label = str(columns["id"][i]) if "id" in columns else ""
    return shortened(label) if label else str(columns["row"][i])


def _why_no_check(model: FrozenModel) -> str:
    reason = "the model was saved without what T^2 and Q need"
    if model.method != "pls":
        reason = f"T^2 and Q are for PLS, and the model is one of {model.method}"
    return f"Rows unlike the calibration rows are not marked: {reason}."


def observed(model: FrozenModel, rows: Table) -> tuple[Any, tuple[str, ...]]:
    """Return the response if the table has it, and what of it cannot be compared with."""
    name = _response(model)
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


# What is shown
# -------------

_MOST_ROWS = 20
_HEADINGS = {
    "observed": "observed",
    "prediction": "prediction",
    "lower": "from",
    "upper": "to",
    "t2": "T^2",
    "q": "Q",
}
# Of several constituents these.
_OF_EACH = ("prediction", "lower", "upper")
_GAP = 3  # characters between two columns
_SHORTEST_LABEL, _LONGEST_LABEL = 8, 24


def _described(model: FrozenModel) -> str:
    name = model.method.upper() if model.parameter_name == "n_components" else model.method
    average = model.responses[0].choice.get("rule") == "average"
    return f"{name}{', ' if average else ' with '}{model.in_words}"


def _merit_sentence(merit: FiguresOfMerit) -> str:
    """Return figures of merit as a sentence."""
    names = {"rmse": RMSE_NAMES["test"]}
    shown = [
        f"{names.get(name, label)} {show.number(getattr(merit, name))}"
        for name, label, _ in HEADINGS
    ]
    return f"{', '.join(shown)}, over {plural(merit.n, 'row')} with a known response."


def _shown(
    found: Sequence[Predictions], names: Sequence[str], level: float, width: int, *, verbose: bool
) -> RichTable:
    """Return predictions as a table: all about one constituent, or value and interval of each."""
    first, several = found[0].columns, len(found) > 1
    named, size = "id" if "id" in first else "row", len(first["row"])
    most = size if verbose else min(size, _MOST_ROWS)
    cells: list[list[str]] = []
    for name, one in zip(names, found, strict=True):
        decimals = _decimals(one.columns)
        parts = _OF_EACH if several else [*_HEADINGS, *(p for p in one.columns if p[:2] == "P(")]
        for part in (part for part in parts if part in one.columns):
            shown = partial(show.fixed, decimals=decimals)
            if part in one.limits or part not in _HEADINGS:
                shown = partial(show.number, digits=3)
            heading = show.safe(name, 12) if several and part == "prediction" else part
            values = one.columns[part][:most].tolist()
            texts = [value if isinstance(value, str) else shown(value) for value in values]
            cells.append([_HEADINGS.get(heading, heading), *texts])
    if any(one.limits for one in found):
        cells.append(["status", *(_worst(names, found, i) for i in range(most))])
    others = sum(max(map(len, column)) + _GAP for column in cells)
    room = int(np.clip(width - others, _SHORTEST_LABEL, _LONGEST_LABEL))
    labels = [_shortened(show.safe(str(label)), room) for label in first[named][:most]]
    limits = (_limits_in_words(one, several * name) for one, name in zip(found, names, strict=True))
    more = f"{most} of {size} rows; --verbose shows all, --out writes all." if most < size else ""
    assumed = "" if several else found[0].assumptions
    covered = f" with {show.percent(level)} intervals of one observation"
    return show.table(
        f"Predictions{covered if any('upper' in one.columns for one in found) else ''}",
        [named, *(column[0] for column in cells)],
        zip(labels, *(column[1:] for column in cells), strict=True),
        text_columns=int(named == "id"),
        caption=" ".join(text for text in (more, *limits, assumed) if text),
    )


def _worst(names: Sequence[str], found: Sequence[Predictions], i: int) -> str:
    """Return the status of a row; of several constituents those that are not ok."""
    if len(found) == 1:
        return str(found[0].columns["status"][i])
    states = {
        name: str(one.columns["status"][i])
        for name, one in zip(names, found, strict=True)
        if "status" in one.columns
    }
    bad = [f"{show.safe(name, 12)} {state}" for name, state in states.items() if state != "ok"]
    return ", ".join(bad) or "ok"


def _limits_in_words(predicted: Predictions, name: str = "") -> str:
    """Return the limits of T^2 and Q as a sentence."""
    shown = [f"{_HEADINGS[key]} {show.number(value, 3)}" for key, value in predicted.limits.items()]
    of = f" of {show.safe(name, 24)}" if name else ""
    return f"Limits{of}: {', '.join(shown)}." if shown else ""


def _shortened(label: str, most: int) -> str:
    """Cut a name in the middle: names of samples differ at the end.

    Examples
    --------
    >>> _shortened("gasoline sample no 41", 12)
    'gasol… no 41'
    """
    if len(label) <= most:
        return label
    end = most // 2
    return f"{label[: most - end - 1]}…{label[-end:]}"


def _decimals(columns: Columns) -> int:
    """Return how many decimals show two to three digits of the intervals' width."""
    values = columns["prediction"]
    if values.dtype == object:  # classes
        return 0
    widths = columns["upper"] - columns["lower"] if "upper" in columns else np.abs(values)
    typical = float(np.nanmedian(widths))
    return int(np.clip(2 - np.floor(np.log10(typical)), 0, 9)) if 0 < typical < np.inf else 4
