"""``plsdof predict``."""

import csv
import io
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import typer
from rich.table import Table as RichTable

from plsdof._validation import as_fraction
from plsdof.atomic import atomic_write, check_writable
from plsdof.cli import options
from plsdof.cli.machine import plain, print_json, records
from plsdof.cli.predictions import CHECK_LEVEL, Predictions, predict_table
from plsdof.cli.terminal import (
    add_row,
    console,
    fixed,
    note,
    number,
    percent,
    plural,
    remark,
    safe,
    table,
    waiting,
)
from plsdof.errors import InvalidInputError
from plsdof.model_file import load_model
from plsdof.portable_model import PortableModel
from plsdof.table_content import Table
from plsdof.tables import read_table

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
            metavar="FILE.csv", help="Write all predictions to a CSV file.", show_default=False
        ),
    ] = None,
    level: Annotated[float, typer.Option(metavar="P", help="Level of the intervals.")] = 0.95,
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
    sheet: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Sheet of an Excel file.", show_default="first"),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Print all rows.")] = False,
) -> None:
    """Predict the rows of a table with a model: with intervals, and marks where rows are unusual.

    A row is unusual if it is unlike those that the model was fitted to: Hotelling's T^2 or the Q
    residual is above its 95% limit. The CSV file and JSON also have the intervals of the mean.
    """
    as_fraction(level, "--level")
    if out is not None:
        check_writable(out)
        if out.resolve() in (file.resolve(), model.resolve()):
            raise InvalidInputError(f"--out {out} would overwrite the input; choose another name.")
    with waiting("Reading", quiet=quiet):
        fitted = load_model(model)
        rows = read_table(file, sheet=sheet)
    with waiting("Predicting", quiet=quiet):
        predicted = predict_table(fitted, rows, level=level, drop_missing=drop_missing, label=label)
    if out is not None:
        with atomic_write(out) as stream:
            stream.write(_csv(predicted.columns).encode())
    if as_json:
        print_json("predict", _content(predicted, fitted, model, rows, level, out))
    elif not quiet:
        _show(predicted, fitted, rows, level, out, verbose=verbose)


def _csv(columns: dict[str, npt.NDArray[Any]]) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    lists = [plain(values) for values in columns.values()]
    writer.writerows(
        ["" if cell is None else cell for cell in row] for row in zip(*lists, strict=True)
    )
    return stream.getvalue()


def _content(
    predicted: Predictions,
    model: PortableModel,
    model_file: Path,
    rows: Table,
    level: float,
    out: Path | None,
) -> dict[str, Any]:
    return {
        "model": str(model_file),
        "file": rows.source,
        "response": model.response,
        "level": level,
        "predictions": records(predicted.columns),
        "limits": {**predicted.limits, "level": CHECK_LEVEL} if predicted.limits else None,
        "rmse": predicted.rmse,
        "bias": predicted.bias,
        "compared": predicted.compared,
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
    if predicted.compared:
        remark(screen, "Accuracy", _accuracy(predicted))
    note(screen, predicted.notes)
    if out is not None:
        remark(screen, "Wrote the predictions", str(out))


def _described(model: PortableModel) -> str:
    if model.parameter_name == "n_components":
        return f"{model.method.upper()} with {plural(int(model.parameter), 'component')}"
    return f"{model.method} with {model.parameter_name} = {model.parameter:.4g}"


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
    if most < size:
        made.caption = f"{most} of {size} rows; --verbose shows all, --out writes all"
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


def _accuracy(predicted: Predictions) -> str:
    bias = 0.0 if abs(predicted.bias) < 1e-10 * predicted.rmse else predicted.bias
    return (
        f"root mean squared error {number(predicted.rmse)}, bias {number(bias)}, over "
        f"{plural(predicted.compared, 'row')} with a known response."
    )
