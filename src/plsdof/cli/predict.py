"""``plsdof predict``: predictions, their intervals, and which rows are unusual."""

from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import typer
from rich.table import Table as RichTable

from plsdof._core.inputs import Array, as_choice, as_fraction
from plsdof.chemometrics.merit import FiguresOfMerit, figures_of_merit
from plsdof.cli import _options as options
from plsdof.cli._show import merit_sentence
from plsdof.cli._tables import Reading, listed, located, match_columns, row_labels
from plsdof.cli._terminal import (
    add_row,
    console,
    fixed,
    note,
    number,
    percent,
    plural,
    print_json,
    records,
    remark,
    safe,
    table,
    waiting,
)
from plsdof.errors import InvalidInputError
from plsdof.files.columns import shortened, shortened_path
from plsdof.files.models import PortableModel, load_model
from plsdof.files.tables import Table
from plsdof.files.writing import TABLE_ENDINGS, check_writable, require_ending, write_tables
from plsdof.inference.intervals import INTERVAL_METHODS

# What ``plsdof predict`` computes: predictions, their intervals, and which rows are unusual
# ------------------------------------------------------------------------------------------

# Level of the limits of T^2 and Q.
CHECK_LEVEL = 0.95


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

    columns: dict[str, npt.NDArray[Any]]
    limits: dict[str, float]
    merit: FiguresOfMerit | None
    notes: tuple[str, ...]
    assumptions: str = ""


def predict_table(
    model: PortableModel,
    rows: Table,
    *,
    level: float,
    drop_missing: bool,
    label: str | None = None,
    method: str | None = None,
) -> Predictions:
    """Predict the rows of a table; extra columns are ignored, the order does not matter.

    ``method`` says how observations are covered; by default as the model was kept.
    """
    with located(rows):
        labels = _labels(model, rows, label)
        names, notes = match_columns(model.names, rows)
        notes = (*rows.notes, *notes)
        X = rows.numbers(names)
    complete: npt.NDArray[np.bool_] = np.logical_not(np.isnan(X).any(axis=1))
    if not complete.all():
        if not drop_missing:
            raise InvalidInputError(_missing(rows, X, names))
        notes += (f"{(~complete).sum()} of {len(X)} rows with missing values not predicted.",)
    columns: dict[str, npt.NDArray[Any]] = {"row": rows.row_numbers}
    columns |= {} if labels is None else {"id": labels}
    undefined = _undefined(model, X, complete)
    if undefined is not None:
        told = undefined.renamed([_row_name(columns, i) for i in np.flatnonzero(complete).tolist()])
        if not drop_missing:
            raise InvalidInputError(
                f"{shortened_path(rows.source)}: {told} --drop-missing gives them no prediction."
            )
        complete[np.flatnonzero(complete)[list(undefined.rows)]] = False
        notes += (f"Not predicted: {told}",)
    if not complete.any():
        raise InvalidInputError(
            f"{shortened_path(rows.source)}: all rows have missing values among the predictors."
        )
    observed, reasons = _observed(model, rows)
    notes += reasons
    if observed is not None:
        columns["observed"] = observed
    predicted, assumptions = _predicted(model, X[complete], level, method)
    columns |= _spread(predicted, complete)
    if not model.interval_methods:
        notes += ("There are no intervals: the model was kept without what they need.",)
    distances, limits, reasons = _distances(model, X[complete])
    notes += reasons
    columns |= _spread(distances, complete)
    if limits:
        unusual = np.any([columns[name] > limits[name] for name in limits], axis=0)
        columns["unusual"] = np.asarray(np.where(complete, unusual, None))
    notes += _warning(columns) if limits else (_why_no_check(model),)
    return Predictions(
        columns=columns,
        limits=limits,
        merit=_merit(columns),
        notes=notes,
        assumptions=assumptions,
    )


def _undefined(model: PortableModel, X: Array, complete: Any) -> Any:
    """Return the error about rows that preprocessing is not defined for, None if there are none."""
    if model.preprocessing is None or not complete.any():
        return None
    try:
        model.preprocessing.transform(X[complete])
    except InvalidInputError as error:
        if not hasattr(error, "renamed"):
            raise
        return error
    return None


def _merit(columns: dict[str, npt.NDArray[Any]]) -> FiguresOfMerit | None:
    if "observed" not in columns:
        return None
    known = ~np.isnan(columns["observed"]) & ~np.isnan(columns["prediction"])
    if not known.any():
        return None
    return figures_of_merit(columns["observed"][known], columns["prediction"][known])


def _predicted(
    model: PortableModel, X: Array, level: float, method: str | None
) -> tuple[dict[str, Array], str]:
    """Return predictions with their intervals, and what these assume."""
    columns = {"prediction": model.predict(X)}
    if model.has_intervals:
        mean = model.prediction_interval(X, level=level, kind="mean")
        columns |= {"mean_lower": mean.lower, "mean_upper": mean.upper}
    if not model.interval_methods:
        return columns, ""
    single = model.prediction_interval(X, level=level, method=method)
    return columns | {"lower": single.lower, "upper": single.upper}, single.assumptions


def _distances(
    model: PortableModel, X: Array
) -> tuple[dict[str, Array], dict[str, float], tuple[str, ...]]:
    """Return T^2 and Q of the rows, their limits, and why one has none.

    Nothing at all if the model cannot tell.
    """
    if model.check is None:
        return {}, {}, ()
    found = (model.hotelling_t2(X, level=CHECK_LEVEL), model.q_residuals(X, level=CHECK_LEVEL))
    values = {one.name: one.values for one in found}
    limits = {one.name: one.limit for one in found}
    return values, limits, tuple(one.message for one in found if np.isnan(one.limit))


def _warning(columns: dict[str, npt.NDArray[Any]]) -> tuple[str, ...]:
    """Say which rows are unlike those of the calibration."""
    unusual = [i for i, is_unusual in enumerate(columns["unusual"]) if is_unusual]
    if not unusual:
        return ()
    shown = listed([_row_name(columns, i) for i in unusual])
    which, whose = ("Rows", "are") if len(unusual) > 1 else ("Row", "is")
    return (
        f"{which} {shown} {whose} unlike the calibration rows (T^2 or Q above the "
        f"{percent(CHECK_LEVEL)} limit): predictions there are extrapolations.",
    )


def _row_name(columns: dict[str, npt.NDArray[Any]], i: int) -> str:
    label = str(columns["id"][i]) if "id" in columns else ""
    return shortened(label) if label else str(columns["row"][i])


def _why_no_check(model: PortableModel) -> str:
    reason = "the model was kept without what T^2 and Q need"
    if model.method != "pls":
        reason = f"T^2 and Q are for PLS, and the model is one of {model.method}"
    return f"Rows unlike the calibration rows are not marked: {reason}."


def _labels(model: PortableModel, rows: Table, label: str | None) -> npt.NDArray[Any] | None:
    """Return what names the rows; the column that named those of the fit, if none is asked for."""
    of_fit = model.source.get("id")
    return row_labels(rows, of_fit if label is None and of_fit in rows.names else label)


def _spread(columns: dict[str, Array], complete: Any) -> dict[str, Array]:
    """Put values back to the rows they belong to, nan elsewhere."""
    placed = {}
    for name, values in columns.items():
        placed[name] = np.full(len(complete), np.nan)
        placed[name][complete] = values
    return placed


def _observed(model: PortableModel, rows: Table) -> tuple[Array | None, tuple[str, ...]]:
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


def _missing(rows: Table, X: Array, names: tuple[str, ...]) -> str:
    counts = np.isnan(X).sum(axis=0)
    shown = [f"{shortened(names[i])} {counts[i]}" for i in np.argsort(-counts) if counts[i]]
    return (
        f"{shortened_path(rows.source)}: {int(np.isnan(X).any(axis=1).sum())} of {len(X)} rows "
        f"have missing values, by column: {listed(shown)}. Use --drop-missing to predict the "
        "others."
    )


# ``plsdof predict``
# ------------------

_MOST_ROWS = 20
_NUMBERS = ("observed", "prediction", "lower", "upper")
_DISTANCES = ("t2", "q")
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


def predict(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="File written by `plsdof fit --model`.")
    ],
    file: options.File,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.csv|xlsx",
            help="Write all predictions to a CSV or Excel file.",
            show_default=False,
        ),
    ] = None,
    plain_csv: options.PlainCsv = False,
    level: Annotated[float, typer.Option(metavar="P", help="Level of the intervals.")] = 0.95,
    intervals: Annotated[
        str | None,
        typer.Option(
            metavar="METHOD",
            help=f"How predictions are covered: {', '.join(INTERVAL_METHODS)}.",
            show_default="as the model was kept",
        ),
    ] = None,
    drop_missing: Annotated[
        bool,
        typer.Option("--drop-missing", help="Give rows with missing values no prediction."),
    ] = False,
    label: Annotated[
        str | None,
        typer.Option(
            "--id",
            metavar="COLUMN",
            help="Column that names the rows.",
            show_default="that of the fit, or the first text column without repeats",
        ),
    ] = None,
    sheet: options.Sheet = None,
    header_row: options.HeaderRow = None,
    skip_rows: options.SkipRows = 0,
    transpose: options.Transpose = False,
    na: options.Na = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Print all rows.")] = False,
) -> None:
    """Predict the rows of a table with a model: with intervals, and marks where rows are unusual.

    A row is unusual if it is unlike those that the model was fitted to: Hotelling's T^2 or the Q
    residual is above its 95% limit. The CSV file and JSON also have the intervals of the mean.
    """
    as_fraction(level, "--level")
    if intervals is not None:
        as_choice(intervals, "--intervals", INTERVAL_METHODS)
    if out is not None:
        check_writable(out)
        require_ending("--out", out, TABLE_ENDINGS)
        if out.resolve() in (file.resolve(), model.resolve()):
            raise InvalidInputError(f"--out {out} would overwrite the input; choose another name.")
    with waiting("Reading", quiet=quiet):
        fitted = load_model(model)
        reading = Reading(
            sheet=sheet,
            header_row=header_row,
            skip_rows=skip_rows,
            transpose=transpose,
            na=tuple(na or ()),
        )
        rows = reading.table(file)
    with waiting("Predicting", quiet=quiet):
        predicted = predict_table(
            fitted,
            rows,
            level=level,
            drop_missing=drop_missing,
            label=label,
            method=intervals,
        )
    if out is not None:
        write_tables({"predictions": predicted.columns}, out, escape=not plain_csv)
    if as_json:
        print_json("predict", _content(predicted, fitted, model, rows, level, out))
    elif not quiet:
        _show(predicted, fitted, rows, level, out, verbose=verbose)


def _content(
    predicted: Predictions,
    model: PortableModel,
    model_file: Path,
    rows: Table,
    level: float,
    out: Path | None,
) -> dict[str, Any]:
    merit = predicted.merit
    return {
        "model": str(model_file),
        "file": rows.source,
        "response": model.response,
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


def _show(
    predicted: Predictions,
    model: PortableModel,
    rows: Table,
    level: float,
    out: Path | None,
    *,
    verbose: bool,
) -> None:
    screen = console()
    screen.print(
        f"{safe(model.response, 40)} for {plural(len(rows), 'row')} of "
        f"{safe(Path(rows.source).name, 40)}, by {_described(model)}",
        style="bold",
    )
    screen.print()
    screen.print(_prediction_table(predicted, level, screen.width, verbose=verbose))
    screen.print()
    if predicted.merit is not None:
        remark(screen, "Accuracy", merit_sentence("test", predicted.merit))
    note(screen, predicted.notes)
    if out is not None:
        remark(screen, "Wrote the predictions", str(out))


def _described(model: PortableModel) -> str:
    name = model.method.upper() if model.parameter_name == "n_components" else model.method
    average = model.choice.get("rule") == "average"
    return f"{name}{', ' if average else ' with '}{model.in_words}"


def _prediction_table(
    predicted: Predictions, level: float, width: int, *, verbose: bool
) -> RichTable:
    columns = predicted.columns
    named = "id" if "id" in columns else "row"
    size = len(columns["row"])
    most = size if verbose else min(size, _MOST_ROWS)
    cells = _cells(columns, most)
    others = sum(max(map(len, (heading, *texts))) + _GAP for heading, texts in cells)
    room = int(np.clip(width - others, _SHORTEST_LABEL, _LONGEST_LABEL))
    labels = [_shortened(safe(str(label)), room) for label in columns[named][:most]]
    headings = [named, *(heading for heading, _ in cells)]
    made = table(_title(predicted, level), headings, text_columns=int(named == "id"))
    for row in zip(labels, *(texts for _, texts in cells), strict=True):
        add_row(made, row)
    more = f"{most} of {size} rows; --verbose shows all, --out writes all. " if most < size else ""
    made.caption = (more + predicted.assumptions).strip() or None
    made.caption_justify = "left"
    return made


def _cells(columns: dict[str, npt.NDArray[Any]], most: int) -> list[tuple[str, list[str]]]:
    """Return the headings and texts of all columns but the first."""
    decimals = _decimals(columns)
    shown = {name: partial(fixed, decimals=decimals) for name in _NUMBERS}
    shown |= {name: partial(number, digits=3) for name in _DISTANCES}
    cells = [
        (_HEADINGS[name], [form(float(value)) for value in columns[name][:most]])
        for name, form in shown.items()
        if name in columns
    ]
    if "unusual" in columns:
        cells.append(("unusual", ["yes" if one else "" for one in columns["unusual"][:most]]))
    return cells


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


def _title(predicted: Predictions, level: float) -> str:
    if "upper" not in predicted.columns:
        return "Predictions"
    return f"Predictions with {percent(level)} intervals of one observation"


def _decimals(columns: dict[str, npt.NDArray[Any]]) -> int:
    """Return how many decimals show two to three digits of the intervals' width."""
    spread = columns["prediction"]
    widths = columns["upper"] - columns["lower"] if "upper" in columns else np.abs(spread)
    typical = float(np.nanmedian(widths))
    return int(np.clip(2 - np.floor(np.log10(typical)), 0, 9)) if 0 < typical < np.inf else 4
