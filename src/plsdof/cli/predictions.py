"""What ``plsdof predict`` computes: predictions, their intervals, and which rows are unusual."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from plsdof._validation import Array
from plsdof.cli.problem import listed, located, row_labels
from plsdof.cli.terminal import percent, plural
from plsdof.columns import header_number, shortened, suggestion
from plsdof.errors import InvalidInputError
from plsdof.portable_model import PortableModel
from plsdof.table_content import Table
from plsdof.tables import shortened_path

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
    rmse, bias : float
        Root mean squared error and mean of prediction - observed; nan without observed values.
    compared : int
        Number of rows with an observed value and a prediction.
    notes : tuple of str
    """

    columns: dict[str, npt.NDArray[Any]]
    limits: dict[str, float]
    rmse: float
    bias: float
    compared: int
    notes: tuple[str, ...]


def predict_table(
    model: PortableModel,
    rows: Table,
    *,
    level: float,
    drop_missing: bool,
    label: str | None = None,
) -> Predictions:
    """Predict the rows of a table; extra columns are ignored, the order does not matter."""
    with located(rows):
        labels = _labels(model, rows, label)
        names, notes = _matched(model, rows)
        X = rows.numbers(names)
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
    columns |= {} if labels is None else {"id": labels}
    observed = _observed(model, rows)
    if observed is not None:
        columns["observed"] = observed
    columns |= _spread(_predicted(model, X[complete], level), complete)
    if not model.has_intervals:
        left_out = np.isfinite(model.noise_variance) and model.n - model.dof >= 1.0
        reason = "was kept without what they need" if left_out else "leaves no noise level"
        notes += (f"There are no intervals: the model {reason}.",)
    distances, limits, reasons = _distances(model, X[complete])
    notes += reasons
    columns |= _spread(distances, complete)
    if limits:
        unusual = np.any([columns[name] > limits[name] for name in limits], axis=0)
        columns["unusual"] = np.asarray(np.where(complete, unusual, None))
    notes += _warning(columns) if limits else (_why_no_check(model),)
    difference = columns["prediction"] - (np.nan if observed is None else observed)
    difference = difference[~np.isnan(difference)]
    known = len(difference) > 0
    return Predictions(
        columns=columns,
        limits=limits,
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
            f"{len(lost)} of {len(model.names)} predictors of the model are not in the table: "
            f"{listed([shortened(name) for name in lost])}"
            f"{suggestion(lost[0], rows.names)}"
        )
    names = tuple(found[name][0] if name in found else name for name in model.names)
    note_ = f"{plural(len(absent), 'column')} recognised by the number in the name."
    return names, (note_,)


def _key(name: str) -> float:
    value = header_number(name)
    return float("nan") if value is None else value


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
