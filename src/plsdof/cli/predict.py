"""``plsdof predict``."""

import csv
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import typer
from rich.table import Table as RichTable

from plsdof._validation import Array, as_fraction
from plsdof.atomic import atomic_write, check_writable
from plsdof.cli import options
from plsdof.cli.machine import plain, print_json, records
from plsdof.cli.problem import listed
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
from plsdof.columns import header_number, shortened, suggestion
from plsdof.errors import InvalidInputError
from plsdof.model_file import load_model
from plsdof.portable_model import PortableModel
from plsdof.table_content import Table
from plsdof.tables import read_table, shortened_path

_MOST_ROWS = 20
_HEADINGS = {
    "row": "row",
    "observed": "observed",
    "prediction": "prediction",
    "mean_lower": "mean from",
    "mean_upper": "to",
    "lower": "one from",
    "upper": "to",
}


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
    sheet: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Sheet of an Excel file.", show_default="first"),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Print all rows.")] = False,
) -> None:
    """Predict the rows of a table with a model, with intervals for the mean and the observation."""
    as_fraction(level, "--level")
    if out is not None:
        check_writable(out)
        if out.resolve() in (file.resolve(), model.resolve()):
            raise InvalidInputError(f"--out {out} would overwrite the input; choose another name.")
    with waiting("Reading", quiet=quiet):
        fitted = load_model(model)
        rows = read_table(file, sheet=sheet)
    with waiting("Predicting", quiet=quiet):
        predicted = predict_table(fitted, rows, level=level, drop_missing=drop_missing)
    if out is not None:
        with atomic_write(out) as stream:
            stream.write(_csv(predicted.columns).encode())
    if as_json:
        print_json("predict", _content(predicted, fitted, model, rows, level, out))
    elif not quiet:
        _show(predicted, fitted, rows, level, out, verbose=verbose)


@dataclass(frozen=True, kw_only=True)
class Predictions:
    """Predictions of the rows of a table.

    Attributes
    ----------
    columns : dict of (n,) arrays
        row, observed (if the table has the response), prediction, mean_lower, mean_upper, lower,
        upper; nan where there is none.
    rmse, bias : float
        Root mean squared error and mean of prediction - observed; nan without observed values.
    compared : int
        Number of rows with an observed value and a prediction.
    notes : tuple of str
    """

    columns: dict[str, npt.NDArray[Any]]
    rmse: float
    bias: float
    compared: int
    notes: tuple[str, ...]


def predict_table(
    model: PortableModel, rows: Table, *, level: float, drop_missing: bool
) -> Predictions:
    """Predict the rows of a table; extra columns are ignored, the order does not matter."""
    names, notes = _matched(model, rows)
    X = _numbers(rows, names)
    complete = ~np.isnan(X).any(axis=1)
    if not complete.all():
        if not drop_missing:
            raise InvalidInputError(_missing(rows, X, names))
        notes += (f"{(~complete).sum()} of {len(X)} rows with missing values not predicted.",)
    if not complete.any():
        raise InvalidInputError(
            f"{shortened_path(rows.source)}: all rows have missing values among the predictors."
        )
    columns: dict[str, npt.NDArray[Any]] = {"row": np.arange(1, len(X) + 1)}
    observed = _observed(model, rows)
    if observed is not None:
        columns["observed"] = observed
    columns |= _spread(_predicted(model, X[complete], level), complete)
    if not model.has_intervals:
        left_out = np.isfinite(model.noise_variance) and model.n > model.dof
        reason = "was kept without what intervals need" if left_out else "has no noise level"
        notes += (f"The model {reason}; there are none.",)
    difference = columns["prediction"] - (np.nan if observed is None else observed)
    difference = difference[~np.isnan(difference)]
    known = len(difference) > 0
    return Predictions(
        columns=columns,
        rmse=float(np.sqrt(np.mean(difference**2))) if known else float("nan"),
        bias=float(np.mean(difference)) if known else float("nan"),
        compared=len(difference),
        notes=notes,
    )


def _predicted(model: PortableModel, X: Array, level: float) -> dict[str, Array]:
    columns = {"prediction": model.predict(X)}
    if model.has_intervals:
        mean = model.predict_interval(X, level=level, kind="mean")
        single = model.predict_interval(X, level=level, kind="observation")
        columns |= {"mean_lower": mean.lower, "mean_upper": mean.upper}
        columns |= {"lower": single.lower, "upper": single.upper}
    return columns


def _spread(columns: dict[str, Array], complete: Any) -> dict[str, Array]:
    """Put values back to the rows they belong to, nan elsewhere."""
    placed = {}
    for name, values in columns.items():
        placed[name] = np.full(len(complete), np.nan)
        placed[name][complete] = values
    return placed


def _matched(model: PortableModel, rows: Table) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Find the predictors in the table: by name, else by the number the name stands for."""
    known = set(rows.names)
    absent = [name for name in model.names if name not in known]
    if not absent:
        return model.names, ()
    by_number: dict[float, list[str]] = {}
    for name in rows.names:
        value = header_number(name)
        if value is not None:
            by_number.setdefault(value, []).append(name)
    found = {name: by_number.get(_key(name), []) for name in absent}
    lost = [name for name, candidates in found.items() if len(candidates) != 1]
    if lost:
        raise InvalidInputError(
            f"{shortened_path(rows.source)}: {len(lost)} of {len(model.names)} predictors of the "
            f"model are not in the table: {listed([shortened(name) for name in lost])}"
            f"{suggestion(lost[0], rows.names)}"
        )
    names = tuple(found[name][0] if name in found else name for name in model.names)
    note_ = f"{plural(len(absent), 'column')} recognised by the number in the name."
    return names, (note_,)


def _key(name: str) -> float:
    value = header_number(name)
    return float("nan") if value is None else value


def _numbers(rows: Table, names: tuple[str, ...]) -> Array:
    try:
        return rows.numbers(names)
    except InvalidInputError as error:
        raise InvalidInputError(f"{shortened_path(rows.source)}: {error}") from error


def _observed(model: PortableModel, rows: Table) -> Array | None:
    """Return the response if the table has it; a column of text is not it."""
    if model.response not in rows.names or rows.is_text(model.response):
        return None
    try:
        return rows.numbers((model.response,))[:, 0]
    except InvalidInputError:
        return None


def _missing(rows: Table, X: Array, names: tuple[str, ...]) -> str:
    counts = np.isnan(X).sum(axis=0)
    shown = [f"{shortened(names[i])} {counts[i]}" for i in np.argsort(-counts) if counts[i]]
    return (
        f"{shortened_path(rows.source)}: {int(np.isnan(X).any(axis=1).sum())} of {len(X)} rows "
        f"have missing values, by column: {listed(shown)}. Use --drop-missing to predict the "
        "others."
    )


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
    screen.print(_prediction_table(predicted, level, verbose))
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


def _prediction_table(predicted: Predictions, level: float, verbose: bool) -> RichTable:
    columns = predicted.columns
    size = len(columns["row"])
    most = size if verbose else min(size, _MOST_ROWS)
    made = table(
        f"Predictions with {percent(level)} intervals: of the mean, of one observation",
        [_HEADINGS[name] for name in columns],
    )
    decimals = _decimals(columns)
    for i in range(most):
        cells = [fixed(float(values[i]), decimals) for values in columns.values()]
        add_row(made, [str(columns["row"][i]), *cells[1:]])
    if most < size:
        made.caption = f"{most} of {size} rows; --verbose shows all, --out writes all"
        made.caption_justify = "left"
    return made


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
