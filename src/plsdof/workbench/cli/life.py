"""``plsdof check``, ``adjust`` and ``transfer``: the life of a calibration after the fit."""

from pathlib import Path
from typing import Annotated, get_args

import typer

from plsdof import workbench
from plsdof._core.inputs import as_choice
from plsdof.chemometrics.checks import Kind
from plsdof.chemometrics.transfer import Method
from plsdof.errors import InvalidInputError
from plsdof.models.files import load_model, save_model
from plsdof.workbench.analysis import Request
from plsdof.workbench.checking import Changed, changed, read_log, require_number
from plsdof.workbench.cli import _show as show
from plsdof.workbench.cli._options import JSON, LIMIT_CROSSED, PAGE, File, Printing, check_outputs
from plsdof.workbench.tables.joining import JoinedReading
from plsdof.workbench.tables.reading import Reading
from plsdof.workbench.tables.writing import append_table

ModelFile = Annotated[
    Path, typer.Argument(metavar="MODEL", help="File written by `plsdof fit --model`.")
]


def check(
    model: ModelFile,
    file: File,
    reading: JoinedReading,
    request: Annotated[Request, ("level", "missing", "label", "average_by")],
    printing: Printing,
    log: Path | None = None,
    report: Path | None = None,
) -> None:
    """Check a calibration with control samples, and keep control charts.

    Bias, error, slope, moving average, coverage of intervals and unusual rows are tested; without
    reference values only the last. A log keeps the errors for the chart and the average. Exit code
    3 is an alarm: some test fails at one level for all of them together.
    """
    check_outputs({"--log": (log, (".csv",)), "--report": (report, PAGE)}, file, model)
    files = {"log": log, "report": report}
    written = {key: str(value) for key, value in files.items() if value is not None}
    about = {"model": str(model), "file": str(file), "written": written}
    with show.waiting("Checking", quiet=printing.quiet):
        fitted = load_model(model)
        require_number(fitted)
        table = reading.with_response([file], [fitted.response], request.label)
        found = workbench.check(fitted, table, read_log(log), request)
        if log is not None:
            append_table(found.main_table.values(), log)
        if report is not None:
            from plsdof.workbench.report.document import write_check

            write_check(found.to_dict() | about, report)
    show.give("check", [found], [about], printing)
    if not found.facts["passed"].value:
        raise typer.Exit(LIMIT_CROSSED)


def adjust(
    model: ModelFile,
    reading: JoinedReading,
    request: Annotated[Request, ("missing", "label")],
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
    fitted = load_model(model)
    if file is None:
        _finish("adjust", changed(fitted.unadjusted(), {}), out, printing)
        return
    require_number(fitted)
    table = reading.with_response([file], [fitted.response], request.label)
    kind: Kind = "slope" if slope else "bias"
    made = workbench.adjust(fitted, table, kind, request, reason=reason, force=force)
    _finish("adjust", made, out, printing)


def _finish(command: str, made: Changed, out: Path, printing: Printing) -> None:
    """Save a model, and show what became of it, and where it is."""
    save_model(made.predictor, out)
    show.give(command, [made.result], [{"written": {"model": str(out)}}], printing)


def transfer(
    model: ModelFile,
    reading: Reading,
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
    are compared on held-out pairs: how close the predictions of both instruments are.
    """
    method: Method = as_choice(transfer_method, "--method", get_args(Method))
    if primary is None or secondary is None or out is None:
        raise InvalidInputError("A transfer needs --primary, --secondary and --out.")
    check_outputs({"--out": (out, JSON)}, model, primary, secondary)
    with show.waiting("Transferring", quiet=printing.quiet):
        tables = reading.table(primary), reading.table(secondary)
        made = workbench.transfer(
            load_model(model), *tables, method, interpolate=interpolate, reason=reason, label=label
        )
    _finish("transfer", made, out, printing)
