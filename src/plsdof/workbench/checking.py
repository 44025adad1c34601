"""The life of a calibration after the fit: checks by control samples, and corrections."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import numpy as np

from plsdof._core.display import plural, significant
from plsdof._core.inputs import Array
from plsdof._core.remarks import Remark
from plsdof.chemometrics.checks import (
    CalibrationCheck,
    Kind,
    Verdict,
    check_calibration,
    correction,
)
from plsdof.errors import InvalidInputError
from plsdof.models.calibration import now
from plsdof.models.files import model_checksum
from plsdof.models.fitted import CLASSES
from plsdof.models.predictor import Predictor
from plsdof.workbench.analysis import Request
from plsdof.workbench.analysis.remarks import used
from plsdof.workbench.analysis.result import Fact, Result, Table, as_column, as_measured, named
from plsdof.workbench.choosing import as_table
from plsdof.workbench.predicting import NewRows, new_rows, remarked, row_name
from plsdof.workbench.tables.columns import shortened
from plsdof.workbench.tables.joining import averaged_table
from plsdof.workbench.tables.table import Table as TableOfRows
from plsdof.workbench.tables.table import located
from plsdof.workbench.tables.text import require_pandas

# Columns of a log that later checks look at.
_NUMBERS = ("predicted", "error", "expected")
_OF_LOG = dict.fromkeys(("time", "model", "table"), str) | dict.fromkeys(_NUMBERS, float)
_OF_LOG |= {"unlike": float}


# Check
# -----


def check(model: Predictor, table: Any, log: Any = None, request: Request | None = None) -> Result:
    """Check a model by control samples.

    Parameters
    ----------
    model : Predictor
    table : Table or data frame
        Control samples; without reference values only their distances are looked at.
    log : pandas.DataFrame, optional
        Rows of earlier checks, also of other models.
    request : Request, optional
        Its level is that of all tests together; what to do with missing values, and columns that
        name rows, or samples: replicates are averaged, and count as one sample.

    Returns
    -------
    Result
        Its fact "passed" is whether there is no alarm; the table "rows" continues the log.

    Examples
    --------
    >>> from plsdof import workbench
    >>> from plsdof.datasets import load_gasoline
    >>> X, y = load_gasoline(return_X_y=True, as_frame=True)
    >>> made = workbench.fit(X.assign(octane=y), Request(response="octane", components=3))
    >>> found = workbench.check(made.predictor, X.assign(octane=y + 1.0).iloc[:15])
    >>> found.facts["passed"].value
    False
    """
    table, request = as_table(table), request or Request()
    if request.average_by is not None:
        table = averaged_table(table, request.average_by, [model.response])
        request = replace(request, label=request.label or request.average_by)
    rows = control_rows(model, table, request)
    before = empty_log() if log is None else log
    past = of_model(before, model)
    found = check_calibration(
        model,
        rows.X,
        rows.columns.get("observed"),
        request.level,
        before=(past["error"] / past["expected"]).dropna().to_numpy(),
        names=[row_name(rows.columns, i) for i in range(len(rows.X))],
    )
    name = table.source.replace("\\", "/").rpartition("/")[2]
    lines = _lines(model, rows, found, name)
    notes = list[str]()
    if others := len(before) - len(past):
        count = plural(others, "line")
        notes.append(f"Of other models, and so not in the charts: {count} of the log.")
    if set(map(str, lines["error"])) <= set(map(str, past["error"])):
        notes.append("These rows are in the log already.")
    alarm = Remark(key="alarm", words=found.message, severity="severe")
    remarks = [alarm] * (not found.is_good)
    remarks += [*remarked("chart", found.chart.sentences), *rows.remarks, *remarked("log", notes)]
    tables = {"verdicts": _verdicts(found), "rows": _rows(lines), "checks": _checks(past, lines)}
    return Result(
        title=f"Check of {model.response:.40}: {plural(len(rows.X), 'row')} of {name[-40:]}, "
        f"{found.n} with a reference value",
        facts={"response": Fact(value=model.response), **_facts(found)},
        tables=tables,
        remarks=tuple(remarks),
        pictures={"chart": asdict(found.chart), "alarms": found.chart.sentences},
        record=used(model, table.source),
        main="rows",
    )


def _facts(found: CalibrationCheck) -> dict[str, Fact]:
    """Return the numbers of a check, its verdict first, and what the tests say."""
    known, good = found.calibration, found.is_good
    numbers = {one.name: getattr(found, one.name) for one in fields(found)}
    said = " ".join(one.text for one in found.verdicts)
    facts = {
        "message": Fact(value=found.message, label="Check" * good),
        "passed": Fact(value=good),
        "words.tests": Fact(value=said, label="Tests"),
        **{name: Fact(value=one) for name, one in numbers.items() if np.isscalar(one)},
        **(named("limits", found.limits) or {"limits": Fact(value=None)}),
        **named("calibration", asdict(known)),
    }
    if found.n:
        shown = {
            "RMSEP": found.rmsep,
            "RMSECV": known.rmsecv,
            "SEC": known.sec,
            "limit of SEP after the standards": found.sep_limit_standard,
            "slope of reference on predicted": found.slope,
            "of predicted on reference": found.slope_predicted,
        }
        words = ", ".join(f"{label} {significant(one)}" for label, one in shown.items())
        facts["words.errors"] = Fact(value=f"{words}.", label="Errors")
    return facts


def _verdicts(found: CalibrationCheck) -> Table:
    """Return one row per test."""
    words = {True: "passed", False: "FAILED", None: "-"}
    columns = {
        one.name: as_column([getattr(v, one.name) for v in found.verdicts])
        for one in fields(Verdict)
    }
    labels = {"name": "test", "p": "p", "value": "value", "limit": "limit"}
    labels["standard"] = "standards' limit"
    shown = [words[one.passed] for one in found.verdicts]
    for name in ("value", "limit"):  # of some tests they are counts
        exact = columns[name].exact()
        values = [int(v) if v is not None and v % 1 == 0 else v for v in exact]
        columns[name] = as_column(np.array(values, dtype=object))
    columns = {
        "name": columns.pop("name"),
        "on_its_own": as_column(shown, "on its own"),
        **columns,
    }
    columns["p"] = replace(columns["p"], digits=2, least=1e-4)
    return Table(
        columns={n: replace(c, label=labels.get(n, c.label)) for n, c in columns.items()},
        title="Tests",
    )


def _lines(model: Predictor, rows: NewRows, found: CalibrationCheck, table: str) -> dict[str, Any]:
    """Return what is added to the log: one line for each row."""
    size, columns, limits = len(rows.X), found.columns, found.limits
    lines: dict[str, Any] = {"time": [now()] * size, "model": [model_checksum(model)[:12]] * size}
    lines |= {"table": [table] * size, "row": rows.columns["row"]}
    lines["id"] = rows.columns.get("id", [""] * size)
    for column in ("reference", *_NUMBERS, "lower", "upper", "t2", "q"):
        lines[column] = columns.get(column, np.full(size, np.nan))
    lines |= {f"{one}_limit": [limits.get(one, np.nan)] * size for one in ("t2", "q")}
    return lines | {"unlike": columns["unlike"].astype(int)}


def _rows(lines: dict[str, Any]) -> Table:
    """Return the control samples, measured and predicted."""
    half = float(np.nanmedian(np.append(lines["upper"] - lines["lower"], np.nan))) / 2
    labels = {"row": "row", "id": "id", "reference": "measured", "predicted": "predicted"}
    labels |= {"error": "error", "t2": "T²", "q": "Q"}
    values = ("reference", "predicted", "error", "lower", "upper")
    columns = {
        name: as_column(column, labels.get(name, ""), error=half if name in values else None)
        for name, column in lines.items()
    }
    known = as_measured(lines["reference"], half)
    columns["reference"] = replace(columns["reference"], error=known)
    return Table(columns=columns, title="Control samples", brief=False)


def _checks(past: Any, lines: dict[str, Any]) -> Table:
    """Return every check of the log, this one last: rows, mean error, share of unusual rows."""
    pd = require_pandas()
    own = pd.DataFrame(lines)[list(past.columns)]
    by = pd.concat([past, own]).groupby(["time", "table"], sort=False)
    means = by[["error", "unlike"]].mean().rename(columns={"error": "bias"})
    found = means.assign(rows=by.size()).reset_index()
    return Table(columns={name: as_column(found[name].to_numpy()) for name in found.columns})


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


def require_number(model: Predictor) -> None:
    """Refuse a model of classes or of several responses."""
    if model.method == CLASSES or len(model.responses) > 1:
        kind = "classes" if model.method == CLASSES else f"{len(model.responses)} responses"
        raise InvalidInputError(f"This takes a model of one number; this one predicts {kind}.")


def control_rows(model: Predictor, table: TableOfRows, request: Request) -> NewRows:
    """Return the complete rows of a table, with reference values if it has them."""
    require_number(model)
    with located(table.source):
        found = new_rows(model, table, request).kept
    history = remarked("history", model.history)
    return replace(found, remarks=(*history, *found.remarks))


# Adjust
# ------


@dataclass(frozen=True, kw_only=True, eq=False)
class Changed:
    """A model that another one became: corrected, or for another instrument.

    Attributes
    ----------
    predictor : Predictor
        The new one.
    result : Result
        What that changes.
    """

    predictor: Predictor
    result: Result


def changed(
    model: Predictor,
    facts: Mapping[str, Fact],
    remarks: Sequence[Remark] = (),
    tables: Mapping[str, Table] | None = None,
) -> Changed:
    """Return a changed model with what there is to say about the change, its history first."""
    history = model.history or ("Nothing is adjusted.",)
    said = {"words": Fact(value=" ".join(history), label="Model"), **facts}
    result = Result(
        facts=said | {"parent": Fact(value=model.parent)},
        tables=tables or {},
        remarks=tuple(remarks),
        pictures={"history": model.history},
    )
    return Changed(predictor=model, result=result)


def adjust(
    model: Predictor,
    table: Any,
    kind: Kind,
    request: Request | None = None,
    *,
    reason: str = "",
    force: bool = False,
) -> Changed:
    """Correct bias or slope of a model by control samples with reference values.

    Parameters
    ----------
    model : Predictor
    table : Table or data frame
    kind : {"bias", "slope"}
    request : Request, optional
        As for `check`.
    reason : str
        Why; it is kept with the model.
    force : bool
        Correct what is not significant, too.

    Returns
    -------
    Changed

    Examples
    --------
    >>> from plsdof import workbench
    >>> from plsdof.datasets import load_gasoline
    >>> X, y = load_gasoline(return_X_y=True, as_frame=True)
    >>> made = workbench.fit(X.assign(octane=y), Request(response="octane", components=3))
    >>> samples = X.assign(octane=y + 1.0).iloc[:15]
    >>> found = workbench.adjust(made.predictor, samples, "bias", reason="new lamp")
    >>> found.result.facts["significant"].value
    True
    """
    rows = control_rows(model, as_table(table), request or Request())
    X, y = _referenced(model, rows)
    known = model.calibration_errors
    made = correction(y, model.predict(X), kind, calibration=known, force=force)
    new = model.adjusted(X, y, kind, reason=reason, force=force)
    errors = (
        f"RMSEP {significant(made.before)} before, {significant(made.after)} after (each of "
        f"{plural(made.rows, 'control sample')} held out of the correction)."
    )
    said = [] if made.significant else [f"The {kind} is not significant."]
    said.append(
        "If the rows of the calibration are at hand, compare adjusting with an update, a fit to "
        "them and to these samples; on real shifts the update mostly predicts better."
    )
    labels = {"rows": "control samples", "slope": "slope", "intercept": "intercept"}
    labels |= {"significant": f"significant {kind}"}
    numbers = {
        name: Fact(value=value, label=labels.get(name, "")) for name, value in asdict(made).items()
    }
    facts = {"kind": Fact(value=kind), **numbers, "errors": Fact(value=errors, label="Errors")}
    return changed(new, facts, [*remarked("adjust", said), *rows.remarks])


def _referenced(model: Predictor, rows: NewRows) -> tuple[Array, Array]:
    """Return the rows with reference values, and these."""
    if "observed" not in rows.columns:
        raise InvalidInputError(f"the table has no column {shortened(model.response)}.")
    known = np.isfinite(rows.columns["observed"])
    return rows.X[known], rows.columns["observed"][known]
