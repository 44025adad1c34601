"""``plsdof predict``: predictions, their intervals, and which rows are unusual."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import typer
from rich.table import Table as RichTable

from plsdof._core.display import plural
from plsdof._core.inputs import Array, as_choice, as_fraction
from plsdof.analysis.tables import records
from plsdof.chemometrics.merit import HEADINGS, RMSE_NAMES, FiguresOfMerit, figures_of_merit
from plsdof.cli import _show as show
from plsdof.cli import _tables as tables
from plsdof.cli._options import File, Printing
from plsdof.errors import InvalidInputError
from plsdof.files.columns import listed, shortened
from plsdof.files.models import FrozenModel, load_model
from plsdof.files.tables import Table
from plsdof.files.writing import TABLE_ENDINGS, check_writable, require_ending, write_tables
from plsdof.inference.intervals import INTERVAL_METHODS

# Level of the limits of T^2 and Q.
CHECK_LEVEL = 0.95

Columns = dict[str, npt.NDArray[Any]]


def predict(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="File written by `plsdof fit --model`.")
    ],
    file: File,
    reading: tables.Reading,
    printing: Printing,
    out: Path | None = None,
    plain_csv: bool = False,
    level: float = 0.95,
    intervals: str | None = None,
    drop_missing: bool = False,
    missing: str | None = None,
    label: str | None = None,
) -> None:
    """Predict the rows of a table with a model, and mark unusual ones.

    A row is unusual if it is unlike those that the model was fitted to: Hotelling's T^2 or the Q
    residual is above its 95% limit. The CSV file and JSON also have the intervals of the mean.
    """
    as_fraction(level, "--level")
    tables.check_missing(missing, drop_missing=drop_missing)
    if intervals is not None:
        as_choice(intervals, "--intervals", INTERVAL_METHODS)
    if out is not None:
        check_writable(out)
        require_ending("--out", out, TABLE_ENDINGS)
        if out.resolve() in (file.resolve(), model.resolve()):
            raise InvalidInputError(f"--out {out} would overwrite the input; choose another name.")
    with show.waiting("Reading", quiet=printing.quiet):
        fitted, rows = load_model(model), reading.table(file)
    with show.waiting("Predicting", quiet=printing.quiet), tables.located(rows.source):
        predicted = predict_table(
            fitted,
            rows,
            level=level,
            drop_missing=drop_missing,
            missing=missing,
            label=label,
            method=intervals,
        )
    if out is not None:
        write_tables({"predictions": predicted.columns}, out, escape=not plain_csv)
    merit = predicted.merit
    if printing.as_json:
        content = {
            "model": str(model),
            "file": rows.source,
            "response": fitted.response,
            "level": level,
            "assumptions": predicted.assumptions,
            "predictions": records(predicted.columns),
            "limits": {**predicted.limits, "level": CHECK_LEVEL} if predicted.limits else None,
            "rmse": None if merit is None else merit.rmse,
            "bias": None if merit is None else merit.bias,
            "compared": 0 if merit is None else merit.n,
            "merit": None if merit is None else asdict(merit),
            "notes": predicted.notes,
            "written": {} if out is None else {"predictions": str(out)},
        }
        show.print_json("predict", content)
    elif not printing.quiet:
        screen = show.console()
        screen.print(
            f"{show.safe(fitted.response, 40)} for {plural(len(rows), 'row')} of "
            f"{show.safe(Path(rows.source).name, 40)}, by {_described(fitted)}\n",
            style="bold",
        )
        screen.print(_prediction_table(predicted, level, screen.width, verbose=printing.verbose))
        screen.print()
        if merit is not None:
            show.remark(screen, "Accuracy", _merit_sentence(merit))
        show.note(screen, predicted.notes)
        if out is not None:
            show.remark(screen, "Wrote the predictions", str(out))


# What is computed: predictions, their intervals, and which rows are unusual
# --------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Predictions:
    """Predictions of the rows of a table.

    Attributes
    ----------
    columns : dict of (n,) arrays
        row, id (if a column names the rows), observed (if the table has the response),
        prediction, mean_lower, mean_upper, lower, upper; t2, q and unusual if the model can tell;
        nan where there is none.
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


def predict_table(
    model: FrozenModel,
    rows: Table,
    *,
    level: float,
    drop_missing: bool,
    missing: str | None = None,
    label: str | None = None,
    method: str | None = None,
) -> Predictions:
    """Predict the rows of a table; extra columns are ignored, the order does not matter.

    ``method`` says how observations are covered; by default as the model was kept.
    """
    of_fit = model.source.get("id")
    labels = tables.row_labels(rows, of_fit if label is None and of_fit in rows.names else label)
    names, notes = tables.match_columns(model.columns, rows)
    X, notes = rows.numbers(names), (*rows.notes, *notes)
    columns: Columns = {"row": rows.row_numbers}
    columns |= {} if labels is None else {"id": labels}
    notes += tuple(tables.repeated_labels(labels, rows.row_numbers))
    X, holes, filled = _without_holes(model, X, names, missing)
    notes, drop_missing = (*notes, *filled), drop_missing or missing == "drop"
    complete = tables.without_any(holes)
    if not complete.all():
        if not drop_missing:
            raise InvalidInputError(tables.missing_values(holes, names, "to predict the others"))
        gone = listed([_row_name(columns, i) for i in np.flatnonzero(~complete).tolist()], 40)
        count = f"{(~complete).sum()} of {len(X)} rows"
        notes += (f"{count} with missing values not predicted: {gone}.",)
    undefined = _undefined(model, X, complete)
    if undefined is not None:
        told = undefined.renamed([_row_name(columns, i) for i in np.flatnonzero(complete).tolist()])
        if not drop_missing:
            raise InvalidInputError(f"{told} --drop-missing gives them no prediction.")
        complete[np.flatnonzero(complete)[list(undefined.rows)]] = False
        notes += (f"Not predicted: {told}",)
    if not complete.any():
        raise InvalidInputError("all rows have missing values among the predictors.")
    observed, reasons = _observed(model, rows)
    columns |= {} if observed is None else {"observed": observed}
    notes += reasons
    # Predictions and intervals of the complete rows, nan elsewhere.
    used, assumptions = X[complete], ""
    found = {"prediction": model.predict(used)}
    if model.has_intervals:
        mean = model.prediction_interval(used, level=level, kind="mean")
        found |= {"mean_lower": mean.lower, "mean_upper": mean.upper}
    if model.interval_methods:
        single = model.prediction_interval(used, level=level, method=method)
        found |= {"lower": single.lower, "upper": single.upper}
        assumptions = single.assumptions
    else:
        notes += ("Intervals are missing: the model was kept without what they need.",)
    # How far these rows are from those of the calibration.
    limits = {}
    if model.check is not None:
        for one in (
            model.hotelling_t2(used, level=CHECK_LEVEL),
            model.q_residuals(used, level=CHECK_LEVEL),
        ):
            found[one.name], limits[one.name] = one.values, one.limit
            notes += (one.message,) if np.isnan(one.limit) else ()
    for name, values in found.items():
        columns[name] = np.full(len(X), np.nan)
        columns[name][complete] = values
    if limits:
        unusual = np.any([columns[name] > limits[name] for name in limits], axis=0)
        columns["unusual"] = np.asarray(np.where(complete, unusual, None))
    notes += _unusual(columns) if limits else (_why_no_check(model),)
    return Predictions(
        columns=columns,
        limits=limits,
        merit=_merit(columns),
        notes=notes,
        assumptions=assumptions,
    )


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
    if not complete.any():
        return None
    try:
        model.predict(X[complete])
    except InvalidInputError as error:
        if not hasattr(error, "renamed"):
            raise
        return error
    return None


def _merit(columns: Columns) -> FiguresOfMerit | None:
    if "observed" not in columns:
        return None
    known = ~np.isnan(columns["observed"]) & ~np.isnan(columns["prediction"])
    if not known.any():
        return None
    return figures_of_merit(columns["observed"][known], columns["prediction"][known])


def _unusual(columns: Columns) -> tuple[str, ...]:
    """Say which rows are unlike those of the calibration."""
    unusual = [i for i, is_unusual in enumerate(columns["unusual"]) if is_unusual]
    if not unusual:
        return ()
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
    reason = "the model was kept without what T^2 and Q need"
    if model.method != "pls":
        reason = f"T^2 and Q are for PLS, and the model is one of {model.method}"
    return f"Rows unlike the calibration rows are not marked: {reason}."


def _observed(model: FrozenModel, rows: Table) -> tuple[Array | None, tuple[str, ...]]:
    """Return the response if the table has it, and what of it cannot be compared with."""
    name = model.response
    if name not in rows.names:
        return None, ()
    if rows.is_text(name):
        text = f"{shortened(name)} holds text, such as {rows.example(name)}"
        return None, (f"Not compared with the predictions: {text}.",)
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
_GAP = 3  # characters between two columns
_SHORTEST_LABEL, _LONGEST_LABEL = 8, 24


def _described(model: FrozenModel) -> str:
    name = model.method.upper() if model.parameter_name == "n_components" else model.method
    average = model.choice.get("rule") == "average"
    return f"{name}{', ' if average else ' with '}{model.in_words}"


def _merit_sentence(merit: FiguresOfMerit) -> str:
    """Return figures of merit as a sentence."""
    names = {"rmse": RMSE_NAMES["test"]}
    shown = [
        f"{names.get(name, label)} {show.number(getattr(merit, name))}"
        for name, label, _ in HEADINGS
    ]
    return f"{', '.join(shown)}, over {plural(merit.n, 'row')} with a known response."


def _prediction_table(
    predicted: Predictions, level: float, width: int, *, verbose: bool
) -> RichTable:
    columns = predicted.columns
    size, named = len(columns["row"]), "id" if "id" in columns else "row"
    most = size if verbose else min(size, _MOST_ROWS)
    decimals, cells = _decimals(columns), {}
    for name, heading in _HEADINGS.items():
        if name in columns:
            values = [float(value) for value in columns[name][:most]]
            cells[heading] = [
                show.number(value, 3) if name in predicted.limits else show.fixed(value, decimals)
                for value in values
            ]
    if "unusual" in columns:
        cells["unusual"] = ["yes" if one else "" for one in columns["unusual"][:most]]
    others = sum(max(map(len, (heading, *texts))) + _GAP for heading, texts in cells.items())
    room = int(np.clip(width - others, _SHORTEST_LABEL, _LONGEST_LABEL))
    labels = [_shortened(show.safe(str(label)), room) for label in columns[named][:most]]
    more = f"{most} of {size} rows; --verbose shows all, --out writes all. " if most < size else ""
    covered = (
        f" with {show.percent(level)} intervals of one observation" if "upper" in columns else ""
    )
    return show.table(
        f"Predictions{covered}",
        [named, *cells],
        zip(labels, *cells.values(), strict=True),
        text_columns=int(named == "id"),
        caption=(more + predicted.assumptions).strip(),
    )


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
    spread = columns["prediction"]
    widths = columns["upper"] - columns["lower"] if "upper" in columns else np.abs(spread)
    typical = float(np.nanmedian(widths))
    return int(np.clip(2 - np.floor(np.log10(typical)), 0, 9)) if 0 < typical < np.inf else 4
