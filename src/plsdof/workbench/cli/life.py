"""``plsdof check``, ``adjust`` and ``transfer``: the life of a calibration after the fit."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from plsdof import workbench
from plsdof._core.display import plural
from plsdof._core.inputs import as_choice
from plsdof.chemometrics.transfer import Method, TransferFit
from plsdof.errors import InvalidInputError
from plsdof.models.files import load_model, save_model
from plsdof.models.predictor import Predictor
from plsdof.workbench.checking import Checked, read_log
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
    printing: Printing,
    log: Path | None = None,
    report: Path | None = None,
    level: float = 0.95,
    missing: str | None = None,
    label: str | None = None,
    average_by: str | None = None,
) -> None:
    """Check a calibration with control samples, and keep control charts.

    Bias, error, slope, moving average, coverage of intervals and unusual rows are tested; without
    reference values only the last. A log keeps the errors for the chart and the average. Exit code
    3 is an alarm: some test fails at one level for all of them together.
    """
    check_outputs({"--log": (log, (".csv",)), "--report": (report, PAGE)}, file, model)
    written = {"log": log, "report": report}
    with show.waiting("Checking", quiet=printing.quiet):
        fitted = load_model(model)
        table = reading.with_response([file], [fitted.response], label)
        how: dict[str, Any] = {"level": level, "missing": missing, "label": label}
        how["average_by"] = average_by
        found = workbench.check(fitted, table, read_log(log), **how)
        content = found.to_content() | {
            "model": str(model),
            "file": str(file),
            "written": {key: str(value) for key, value in written.items() if value is not None},
        }
        if log is not None:
            append_table(found.lines, log)
        if report is not None:
            from plsdof.workbench.report.document import write_check

            write_check(content, report)
    if printing.as_json:
        show.print_json("check", content)
    elif not printing.quiet:
        _show_check(found)
    if not found.passed:
        raise typer.Exit(LIMIT_CROSSED)


def _show_check(checked: Checked) -> None:
    screen, found, name = show.console(), checked.found, show.safe(checked.model.response, 40)
    rows = plural(len(found.columns["predicted"]), "row")
    title = f"Check of {name}: {rows}, {found.n} with a reference value\n"
    screen.print(title, style="bold")
    words = {True: "passed", False: "FAILED", None: "-"}
    cells = [
        (v.name, words[v.passed], *map(show.number, (v.p, v.value, v.limit, v.standard)))
        for v in found.verdicts
    ]
    headings = ("test", "on its own", "p", "value", "limit", "standards' limit")
    screen.print(show.table("Tests", headings, cells, texts=[True] * 2))
    screen.print()
    show.remark(screen, "Check", found.message, style="" if found.is_good else "red")
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
    for text in found.chart.sentences:
        show.remark(screen, "Chart", text)
    show.note(screen, checked.notes)


def adjust(
    model: ModelFile,
    reading: JoinedReading,
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
    fitted = load_model(model)
    if file is None:
        _finish("adjust", fitted.unadjusted(), out, printing, {"notes": ()})
        return
    table = reading.with_response([file], [fitted.response], label)
    how: dict[str, Any] = {"reason": reason, "force": force, "missing": missing, "label": label}
    made = workbench.adjust(fitted, table, "slope" if slope else "bias", **how)
    _finish("adjust", made.model, out, printing, made.to_content())


def _finish(
    command: str, new: Predictor, out: Path, printing: Printing, content: Mapping[str, Any]
) -> None:
    """Save a model, and show what became of it, and where it is."""
    save_model(new, out)
    if printing.as_json:
        about = {"history": new.history, "parent": new.parent, "written": {"model": str(out)}}
        show.print_json(command, {**content, **about})
    elif not printing.quiet:
        screen = show.console()
        for text in new.history or ("Nothing is adjusted.",):
            show.remark(screen, "Model", text)
        show.note(screen, content["notes"])
        show.remark(screen, "Wrote the model", str(out))


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
    are compared by pairs left out: how near predictions of both instruments are.
    """
    method: Method = as_choice(transfer_method, "--method", get_args(Method))
    if primary is None or secondary is None or out is None:
        raise InvalidInputError("A transfer needs --primary, --secondary and --out.")
    check_outputs({"--out": (out, JSON)}, model, primary, secondary)
    with show.waiting("Transferring", quiet=printing.quiet):
        tables = reading.table(primary), reading.table(secondary)
        how: dict[str, Any] = {"interpolate": interpolate, "reason": reason, "label": label}
        made = workbench.transfer(load_model(model), *tables, method, **how)
    if not printing.as_json and not printing.quiet:
        _show_transfer(made.found)
    _finish("transfer", made.model, out, printing, made.to_content())


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
    made = show.table("Transfer", headings, rows, texts=[True] * 1, caption=caption, chosen=place)
    show.console().print(made)
