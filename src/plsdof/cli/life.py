"""``plsdof check``, ``adjust`` and ``transfer``: the life of a calibration after the fit."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, get_args

import numpy as np
import typer

from plsdof._core.display import plural
from plsdof._core.inputs import Array, as_choice, as_fraction
from plsdof.chemometrics.checks import CalibrationCheck, Kind, check_calibration, correction
from plsdof.chemometrics.transfer import Method, TransferFit, fit_transfer, interpolation
from plsdof.cli import _show as show
from plsdof.cli import _tables as tables
from plsdof.cli._options import JSON, LIMIT_CROSSED, PAGE, File, Printing, check_outputs
from plsdof.cli.predict import NewRows, new_rows, observed
from plsdof.errors import InvalidInputError
from plsdof.files.classes import CLASSES
from plsdof.files.columns import header_number, shortened
from plsdof.files.models import FrozenModel, load_model, model_checksum, save_model
from plsdof.files.tables import Table
from plsdof.files.text import require_pandas
from plsdof.files.writing import append_table

ModelFile = Annotated[
    Path, typer.Argument(metavar="MODEL", help="File written by `plsdof fit --model`.")
]


# Check
# -----


def check(
    model: ModelFile,
    file: File,
    reading: tables.JoinedReading,
    printing: Printing,
    log: Path | None = None,
    report: Path | None = None,
    level: float = 0.95,
    missing: str | None = None,
    label: str | None = None,
) -> None:
    """Check a calibration with control samples, and keep control charts.

    Bias, error, slope, coverage of intervals and unusual rows are tested; without reference values
    only the last. A log keeps the errors for control charts: warning, action, runs, moving average.
    Exit code 3 says that a limit is crossed.
    """
    as_fraction(level, "--level")
    check_outputs({"--log": (log, (".csv",)), "--report": (report, PAGE)}, file, model)
    written = {"log": log, "report": report}
    with show.waiting("Checking", quiet=printing.quiet):
        fitted = load_model(model)
        rows = control_rows(fitted, file, reading, missing=missing, label=label)
        found = check_calibration(fitted, rows.X, rows.columns.get("observed"), level)
        name = model_checksum(fitted)[:12]
        lines, before = _log_lines(found, rows, name, file.name), read_log(log)
        past = before[before["model"] == name]
        errors = past["error"].dropna().to_numpy()
        chart = found.chart(errors)
        alarms, notes = chart.sentences(start=len(errors)), list(rows.notes)
        if len(past) < len(before):
            others = plural(len(before) - len(past), "line")
            notes.append(f"Of other models, and so not in the charts: {others} of the log.")
        if set(map(str, lines["error"])) <= set(map(str, past["error"])):
            notes.append("These rows are in the log already.")
        content = asdict(found) | {
            "model": str(model),
            "file": str(file),
            "response": fitted.response,
            "passed": found.is_good and not alarms,
            "alarms": alarms,
            "chart": asdict(chart),
            "checks": _by_check(past, lines),
            "notes": notes,
            "written": {key: str(value) for key, value in written.items() if value is not None},
        }
        if log is not None:
            append_table(lines, log)
        if report is not None:
            from plsdof.report.document import write_check

            write_check(content, report)
    if printing.as_json:
        show.print_json("check", content)
    elif not printing.quiet:
        _show_check(fitted, found, alarms, notes)
    if not content["passed"]:
        raise typer.Exit(LIMIT_CROSSED)


def control_rows(
    model: FrozenModel,
    file: Path,
    reading: tables.JoinedReading,
    *,
    missing: str | None = None,
    label: str | None = None,
) -> NewRows:
    """Read the complete rows of a table, with reference values if it has them."""
    if model.method == CLASSES or len(model.responses) > 1:
        kind = "classes" if model.method == CLASSES else f"{len(model.responses)} responses"
        raise InvalidInputError(f"This takes a model of one number; this one predicts {kind}.")
    tables.check_missing(missing)
    rows = reading.with_response(file, [model.response], label)
    with tables.located(rows.source):
        found = new_rows(model, rows, missing=missing, label=label).kept
    return replace(found, notes=(*model.history, *found.notes))


def _log_lines(found: CalibrationCheck, rows: NewRows, model: str, file: str) -> dict[str, Any]:
    """Return what a check adds to its log: one line for each row."""
    size, columns = len(rows.X), found.columns
    lines: dict[str, Any] = {"time": [_now()] * size, "model": [model] * size}
    lines |= {"table": [file] * size, "row": rows.columns["row"]}
    lines["id"] = rows.columns.get("id", [""] * size)
    for name in ("reference", "predicted", "error", "lower", "upper", "t2", "q"):
        lines[name] = columns.get(name, np.full(size, np.nan))
    limits = {f"{name}_limit": [found.limits.get(name, np.nan)] * size for name in ("t2", "q")}
    return lines | limits | {"unlike": columns["unlike"].astype(int)}


def read_log(file: Path | None) -> Any:
    """Read the log of earlier checks as a data frame, empty if there is none yet."""
    pd = require_pandas()
    columns = ["time", "model", "table", "predicted", "error", "unlike"]
    if file is None or not file.exists():
        return pd.DataFrame({name: [] for name in columns})
    numbers = dict.fromkeys(columns[3:], float)
    try:
        kinds = numbers | dict.fromkeys(columns[:3], str)
        return pd.read_csv(file, usecols=columns, dtype=kinds, keep_default_na=True)
    except ValueError as error:
        raise InvalidInputError(f"{file} is not a log of plsdof check; choose another.") from error


def _by_check(past: Any, lines: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return for every check its rows, mean error and share of unusual rows."""
    pd = require_pandas()
    everything = pd.concat([past, pd.DataFrame(dict(lines))[list(past.columns)]])
    by = everything.groupby(["time", "table"], sort=False)
    means = by[["error", "unlike"]].mean().rename(columns={"error": "bias"})
    found: list[dict[str, Any]] = means.assign(rows=by.size()).reset_index().to_dict("records")
    return found


def _show_check(
    model: FrozenModel, found: CalibrationCheck, alarms: Sequence[str], notes: Sequence[str]
) -> None:
    screen, rows = show.console(), plural(len(found.columns["predicted"]), "row")
    name = show.safe(model.response, 40)
    title = f"Check of {name}: {rows}, {found.n} with a reference value\n"
    screen.print(title, style="bold")
    words = {True: "passed", False: "FAILED", None: "-"}
    cells = [
        (v.name, words[v.passed], v.formula, show.number(v.value), show.number(v.limit))
        for v in found.verdicts
    ]
    headings = ("test", "", "limit is", "value", "limit")
    screen.print(show.table("Tests", headings, cells, text_columns=2))
    screen.print()
    for one in found.verdicts:
        show.remark(screen, one.name, one.text)
    if found.n:
        known, number = found.calibration, show.number
        text = (
            f"RMSEP {number(found.rmsep)}, RMSECV {number(known.rmsecv)}, SEC {number(known.sec)}; "
            f"limit of SEP after the standards {number(found.sep_limit_standard)}; slope of "
            f"reference on predicted {number(found.slope)}, of predicted on reference "
            f"{number(found.slope_predicted)}."
        )
        show.remark(screen, "Errors", text)
    for alarm in alarms:
        show.remark(screen, "Alarm", alarm, style="red")
    show.note(screen, notes)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


# Adjust
# ------


def adjust(
    model: ModelFile,
    reading: tables.JoinedReading,
    printing: Printing,
    file: Annotated[
        Path | None, typer.Argument(metavar="TABLE", help="Control samples; not with --undo.")
    ] = None,
    out: Path | None = None,
    bias: bool = False,
    slope: bool = False,
    undo: bool = False,
    reason: str = "",
    force: bool = False,
    missing: str | None = None,
    label: str | None = None,
) -> None:
    """Correct bias or slope of a model by control samples, or undo that.

    The new model keeps the correction, its reason, its date and the checksum of the old model, and
    plsdof predict says that it is applied.
    """
    if bias + slope + undo != 1:
        raise InvalidInputError("Say what to do: --bias, --slope or --undo, one of them.")
    if undo is (file is not None) or out is None:
        raise InvalidInputError(
            "--bias and --slope need a table of control samples, --undo none; all need --out."
        )
    check_outputs({"--out": (out, JSON)}, model, *([] if file is None else [file]))
    fitted, content = load_model(model), dict[str, Any](notes=())
    if file is None:
        new = fitted.unadjusted()
    else:
        rows = control_rows(fitted, file, reading, missing=missing, label=label)
        X, y = referenced(fitted, rows)
        kind: Kind = "slope" if slope else "bias"
        units = fitted.calibration_errors.units
        made = correction(y, fitted.predict(X), kind, units=units, force=force)
        new = fitted.adjusted(X, y, kind, reason=reason, force=force)
        content |= {"kind": kind, **asdict(made)}
        rmsep = (
            f"RMSEP {show.number(made.before)} before, {show.number(made.after)} after (each of "
            f"{plural(made.rows, 'control sample')} left out of the correction)."
        )
        more = () if made.significant else (f"The {kind} is not significant.",)
        content["notes"] = (rmsep, *more, *rows.notes)
    save_model(new, out)
    _finish("adjust", new, out, printing, content)


def referenced(model: FrozenModel, rows: NewRows) -> tuple[Array, Array]:
    """Return the rows with reference values, and these."""
    if "observed" not in rows.columns:
        raise InvalidInputError(f"the table has no column {shortened(model.response)}.")
    known = np.isfinite(rows.columns["observed"])
    return rows.X[known], rows.columns["observed"][known]


def _finish(
    command: str, new: FrozenModel, out: Path, printing: Printing, content: dict[str, Any]
) -> None:
    """Show what became of a model, and where it is."""
    if printing.as_json:
        about = {"history": new.history, "parent": new.parent, "written": {"model": str(out)}}
        show.print_json(command, content | about)
    elif not printing.quiet:
        screen = show.console()
        for text in new.history or ("Nothing is adjusted.",):
            show.remark(screen, "Model", text)
        show.note(screen, content["notes"])
        show.remark(screen, "Wrote the model", str(out))


# Transfer
# --------


def transfer(
    model: ModelFile,
    reading: tables.Reading,
    printing: Printing,
    primary: Path | None = None,
    secondary: Path | None = None,
    out: Path | None = None,
    transfer_method: str = "auto",
    interpolate: bool = False,
    reason: str = "",
    label: str | None = None,
) -> None:
    """Make a model for another instrument, by samples measured on both.

    Samples are paired by their names. Bias, direct (ds) and piecewise direct standardisation (pds)
    are compared by pairs left out: how near predictions of both instruments are.
    """
    method: Method = as_choice(transfer_method, "--method", get_args(Method))
    if primary is None or secondary is None or out is None:
        raise InvalidInputError("A transfer needs --primary, --secondary and --out.")
    check_outputs({"--out": (out, JSON)}, model, primary, secondary)
    with show.waiting("Transferring", quiet=printing.quiet):
        fitted = load_model(model)
        if fitted.transfer is not None:
            raise InvalidInputError(f"{model} has a transfer step; start from the model before it.")
        ours, theirs = reading.table(primary), reading.table(secondary)
        A, _, _ = _spectra(fitted, ours, interpolate=False)
        B, W, names = _spectra(fitted, theirs, interpolate=interpolate)
        first, second = _pairs(ours, theirs, label)
        y, _ = observed(fitted, ours)
        known = None if y is None else y[first]
        if known is not None and not np.isfinite(known).all():
            known = None
        found = fit_transfer(fitted.predict, A[first], B[second], method, y=known)
        step = found.step if W is None else found.step.after(W, names)
        new = fitted.derived(transfer=replace(step, date=_now(), reason=reason))
        save_model(new, out)
    notes = (*ours.notes, *theirs.notes)
    if found.errors["none"] <= found.errors[found.chosen]:
        notes += ("Without a step, predictions of both instruments are as near: none is needed.",)
    content = {"pairs": len(first), "chosen": found.chosen, "errors": found.errors, "notes": notes}
    if not printing.as_json and not printing.quiet:
        _show_transfer(found)
    _finish("transfer", new, out, printing, content | {"rmsep": found.rmsep})


def _spectra(
    model: FrozenModel, table: Table, *, interpolate: bool
) -> tuple[Array, Array | None, tuple[str, ...]]:
    """Return spectra on the axis of a model; if interpolated, by which matrix and from where."""
    W = None
    with tables.located(table.source):
        if interpolate:
            axis = {name: header_number(name) for name in table.names}
            names = tuple(name for name, value in axis.items() if value is not None)
            W = interpolation([axis[one] for one in names], map(header_number, model.columns))
        else:
            try:
                names, _ = tables.match_columns(model.columns, table)
            except InvalidInputError as error:
                hint = "For another wavelength axis, add --interpolate."
                raise InvalidInputError(f"{error} {hint}") from error
        X = table.numbers(names)
        if np.isnan(X).any():
            raise InvalidInputError("a transfer needs spectra without missing values.")
    return (X if W is None else X @ W), W, names


def _pairs(ours: Table, theirs: Table, label: str | None) -> tuple[list[int], list[int]]:
    """Return the rows of both tables that are the same sample."""
    names: list[list[str]] = []
    for table in (ours, theirs):
        with tables.located(table.source):
            found = tables.row_labels(table, label)
            if found is None or len(set(found.tolist())) < len(found):
                raise InvalidInputError(
                    "no column names the samples, each once; say which one with --id."
                )
            names.append(found.tolist())
    both = [one for one in names[0] if one in set(names[1])]
    if not both:
        shown = " and ".join(shortened(one[0]) for one in names)
        raise InvalidInputError(f"No sample is in both tables: they begin with {shown}.")
    return [names[0].index(one) for one in both], [names[1].index(one) for one in both]


def _show_transfer(found: TransferFit) -> None:
    rows = [
        [way, show.number(error), *([show.number(found.rmsep[way])] if found.rmsep else [])]
        for way, error in found.errors.items()
    ]
    caption = (
        "Difference: root mean square between predictions of both instruments, pairs left out."
    )
    headings = ["way", "difference", *(["RMSEP"] if found.rmsep else [])]
    place = list(found.errors).index(found.chosen)
    made = show.table("Transfer", headings, rows, text_columns=1, caption=caption, chosen=place)
    show.console().print(made)
