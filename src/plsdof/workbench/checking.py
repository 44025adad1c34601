"""The life of a calibration after the fit: checks by control samples, and corrections."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np

from plsdof._core.display import plural
from plsdof._core.inputs import Array, as_fraction
from plsdof._core.threads import cached_property
from plsdof.chemometrics.checks import (
    CalibrationCheck,
    Correction,
    Kind,
    check_calibration,
    correction,
)
from plsdof.errors import InvalidInputError
from plsdof.models.files import model_checksum
from plsdof.models.fitted import CLASSES
from plsdof.models.predictor import Predictor
from plsdof.workbench.analysis.request import check_missing
from plsdof.workbench.analysis.result import significant
from plsdof.workbench.choosing import as_table
from plsdof.workbench.predicting import NewRows, new_rows, row_name
from plsdof.workbench.tables.columns import shortened
from plsdof.workbench.tables.joining import averaged_table
from plsdof.workbench.tables.table import Table, located
from plsdof.workbench.tables.text import require_pandas

# Columns of a log that later checks look at.
_NUMBERS = ("predicted", "error", "expected")
_OF_LOG = dict.fromkeys(("time", "model", "table"), str) | dict.fromkeys(_NUMBERS, float)
_OF_LOG |= {"unlike": float}


# Check
# -----


@dataclass(frozen=True, kw_only=True, eq=False)
class Checked:
    """What control samples say about a model, and what earlier ones said.

    Attributes
    ----------
    model : Predictor
    rows : NewRows
    table : str
        Name of the table.
    found : CalibrationCheck
    before : pandas.DataFrame
        Lines of the log of earlier checks, also of other models.
    time : str
    """

    model: Predictor
    rows: NewRows
    table: str
    found: CalibrationCheck
    before: Any
    time: str

    @cached_property
    def _past(self) -> Any:
        return of_model(self.before, self.model)

    @property
    def passed(self) -> bool:
        """Whether there is no alarm, at one level for all tests together."""
        return self.found.is_good

    @property
    def notes(self) -> tuple[str, ...]:
        """What is worth knowing about the rows and about the log."""
        found, others = list(self.rows.notes), len(self.before) - len(self._past)
        if others:
            lines = plural(others, "line")
            found.append(f"Of other models, and so not in the charts: {lines} of the log.")
        if set(map(str, self.lines["error"])) <= set(map(str, self._past["error"])):
            found.append("These rows are in the log already.")
        return tuple(found)

    @cached_property
    def lines(self) -> dict[str, Any]:
        """What is added to the log: one line for each row."""
        size, columns, limits = len(self.rows.X), self.found.columns, self.found.limits
        name = model_checksum(self.model)[:12]
        lines: dict[str, Any] = {"time": [self.time] * size, "model": [name] * size}
        lines |= {"table": [self.table] * size, "row": self.rows.columns["row"]}
        lines["id"] = self.rows.columns.get("id", [""] * size)
        for column in ("reference", *_NUMBERS, "lower", "upper", "t2", "q"):
            lines[column] = columns.get(column, np.full(size, np.nan))
        lines |= {f"{one}_limit": [limits.get(one, np.nan)] * size for one in ("t2", "q")}
        return lines | {"unlike": columns["unlike"].astype(int)}

    @property
    def checks(self) -> list[dict[str, Any]]:
        """For every check of the log, this one last: rows, mean error, share of unusual rows."""
        pd = require_pandas()
        own = pd.DataFrame(dict(self.lines))[list(self._past.columns)]
        by = pd.concat([self._past, own]).groupby(["time", "table"], sort=False)
        means = by[["error", "unlike"]].mean().rename(columns={"error": "bias"})
        found: list[dict[str, Any]] = means.assign(rows=by.size()).reset_index().to_dict("records")
        return found

    def to_content(self) -> dict[str, Any]:
        """Return everything there is to say, for machines."""
        return asdict(self.found) | {
            "response": self.model.response,
            "message": self.found.message,
            "passed": self.passed,
            "alarms": self.found.chart.sentences,
            "checks": self.checks,
            "notes": self.notes,
        }


def check(
    model: Predictor,
    table: Any,
    log: Any = None,
    *,
    level: float = 0.95,
    missing: str | None = None,
    label: str | None = None,
    average_by: str | None = None,
) -> Checked:
    """Check a model by control samples.

    Parameters
    ----------
    model : Predictor
    table : Table or data frame
        Control samples; without reference values only their distances are looked at.
    log : pandas.DataFrame, optional
        Lines of earlier checks, see `Checked.lines`.
    level : float
        Of all tests together.
    missing, label, average_by : str, optional
        As for `predict`: replicates are averaged, and count as one sample.

    Returns
    -------
    Checked

    Examples
    --------
    >>> from plsdof import workbench
    >>> from plsdof.workbench.analysis import Request
    >>> from plsdof.datasets import load_gasoline
    >>> X, y = load_gasoline(return_X_y=True, as_frame=True)
    >>> (made,) = workbench.fit(X.assign(octane=y), Request(response="octane", components=3))
    >>> workbench.check(made.predictor, X.assign(octane=y + 1.0).iloc[:15]).passed
    False
    """
    table = as_table(table)
    as_fraction(level, "level")
    if average_by is not None:
        table, label = averaged_table(table, average_by, [model.response]), label or average_by
    rows = control_rows(model, table, missing=missing, label=label)
    before = empty_log() if log is None else log
    past = of_model(before, model)
    found = check_calibration(
        model,
        rows.X,
        rows.columns.get("observed"),
        level,
        before=(past["error"] / past["expected"]).dropna().to_numpy(),
        names=[row_name(rows.columns, i) for i in range(len(rows.X))],
    )
    name = table.source.replace("\\", "/").rpartition("/")[2]
    return Checked(model=model, rows=rows, table=name, found=found, before=before, time=now())


def of_model(log: Any, model: Predictor) -> Any:
    """Return the lines of a log that are of a model."""
    return log[log["model"] == model_checksum(model)[:12]]


def empty_log() -> Any:
    """Return the log before the first check."""
    pd = require_pandas()
    return pd.DataFrame({name: np.array([], dtype=kind) for name, kind in _OF_LOG.items()})


def read_log(file: Any) -> Any:
    """Read the log of earlier checks as a data frame, empty if there is none yet."""
    if file is None or not file.exists():
        return empty_log()
    try:
        return require_pandas().read_csv(file, usecols=list(_OF_LOG), dtype=_OF_LOG)
    except ValueError as error:
        raise InvalidInputError(f"{file} is not a log of plsdof check; choose another.") from error


def control_rows(
    model: Predictor, table: Table, *, missing: str | None = None, label: str | None = None
) -> NewRows:
    """Return the complete rows of a table, with reference values if it has them."""
    if model.method == CLASSES or len(model.responses) > 1:
        kind = "classes" if model.method == CLASSES else f"{len(model.responses)} responses"
        raise InvalidInputError(f"This takes a model of one number; this one predicts {kind}.")
    check_missing(missing)
    with located(table.source):
        found = new_rows(model, table, missing=missing, label=label).kept
    return replace(found, notes=(*model.history, *found.notes))


def now() -> str:
    """Return the time (UTC, ISO 8601)."""
    return datetime.now(UTC).isoformat(timespec="seconds")


# Adjust
# ------


@dataclass(frozen=True, kw_only=True, eq=False)
class Adjusted:
    """A model with bias or slope corrected.

    Attributes
    ----------
    model : Predictor
        The corrected one.
    kind : str
    made : Correction
    notes : tuple of str
    """

    model: Predictor
    kind: Kind
    made: Correction
    notes: tuple[str, ...]

    def to_content(self) -> Mapping[str, Any]:
        """Return everything there is to say, for machines."""
        return {"kind": self.kind, **asdict(self.made), "notes": self.notes}


def adjust(
    model: Predictor,
    table: Any,
    kind: Kind,
    *,
    reason: str = "",
    force: bool = False,
    missing: str | None = None,
    label: str | None = None,
) -> Adjusted:
    """Correct bias or slope of a model by control samples with reference values.

    Parameters
    ----------
    model : Predictor
    table : Table or data frame
    kind : {"bias", "slope"}
    reason : str
        Why; it is kept with the model.
    force : bool
        Correct what is not significant, too.
    missing, label : str, optional
        As for `predict`.

    Returns
    -------
    Adjusted

    Examples
    --------
    >>> from plsdof import workbench
    >>> from plsdof.workbench.analysis import Request
    >>> from plsdof.datasets import load_gasoline
    >>> X, y = load_gasoline(return_X_y=True, as_frame=True)
    >>> (made,) = workbench.fit(X.assign(octane=y), Request(response="octane", components=3))
    >>> samples = X.assign(octane=y + 1.0).iloc[:15]
    >>> workbench.adjust(made.predictor, samples, "bias", reason="new lamp").made.significant
    True
    """
    table = as_table(table)
    rows = control_rows(model, table, missing=missing, label=label)
    X, y = _referenced(model, rows)
    known = model.calibration_errors
    made = correction(y, model.predict(X), kind, calibration=known, force=force)
    new = model.adjusted(X, y, kind, reason=reason, force=force)
    errors = (
        f"RMSEP {significant(made.before)} before, {significant(made.after)} after (each of "
        f"{plural(made.rows, 'control sample')} left out of the correction)."
    )
    more = [] if made.significant else [f"The {kind} is not significant."]
    more.append(
        "If the rows of the calibration are at hand, an update with these samples (fit OLD NEW "
        "--parent MODEL) is compared with adjusting; on real shifts it mostly predicts better."
    )
    return Adjusted(model=new, kind=kind, made=made, notes=(errors, *more, *rows.notes))


def _referenced(model: Predictor, rows: NewRows) -> tuple[Array, Array]:
    """Return the rows with reference values, and these."""
    if "observed" not in rows.columns:
        raise InvalidInputError(f"the table has no column {shortened(model.response)}.")
    known = np.isfinite(rows.columns["observed"])
    return rows.X[known], rows.columns["observed"][known]
