"""``plsdof demo`` and ``plsdof datasets``."""

import shlex
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from plsdof._core.inputs import as_choice
from plsdof._core.path import Path as PathOfModels
from plsdof.analysis import Request, TableProblem, analyse
from plsdof.cli._show import show_fit
from plsdof.cli._terminal import add_row, console, number, print_json, remark, table
from plsdof.datasets import load_gasoline
from plsdof.files.writing import atomic_write, check_writable, require_ending
from plsdof.inference.intervals import prediction_interval

# ``plsdof demo``: a calibration of spectra that are shipped with the package
# ---------------------------------------------------------------------------

# So many rows of the picture of Degrees of Freedom.
_HEIGHT = 13


def demo(
    report: Annotated[
        Path | None,
        typer.Option(metavar="FILE.html", help="Write the report as well.", show_default=False),
    ] = None,
) -> None:
    """Calibrate octane numbers by 60 spectra that are shipped with the package."""
    if report is not None:
        require_ending("--report", report, (".html", ".htm"))
        check_writable(report)
    screen = console()
    spectra = load_gasoline(as_frame=True)
    data = TableProblem.of(
        spectra.data, spectra.target, response="octane", source="gasoline (Kalivas, 1997)"
    )
    screen.print("60 gasolines: which octane number has a near-infrared spectrum?\n")
    found = analyse(data, Request())
    show_fit(screen, found, verbose=False)
    screen.print(_dof_plot(found.path, len(found.order)))
    day = prediction_interval(found.model, spectra.data.mean().to_frame().T)
    remark(
        screen,
        "A prediction",
        f"the average spectrum has an octane number of {number(day.center[0])} (95% interval "
        f"{number(day.lower[0])} to {number(day.upper[0])}).",
    )
    if report is None:
        remark(screen, "Report", "plsdof demo --report demo.html writes all of it as a web page.")
    else:
        from plsdof.report import write_report

        write_report(found, report, command=shlex.join(["plsdof", *sys.argv[1:]]))
        remark(screen, "Report", f"{report}; open it in a browser, it needs no network.")
    remark(screen, "Your data", "plsdof fit FILE.csv --response COLUMN --report report.html")


def _dof_plot(path: PathOfModels, size: int) -> str:
    """Draw DoF (*) and the naive count (.) against the number of components."""
    top = float(max(path.dof[:size].max(), path.naive_dof[:size].max()))
    rows = [[" "] * (4 * size) for _ in range(_HEIGHT + 1)]
    for values, mark in ((path.naive_dof[:size], "."), (path.dof[:size], "*")):
        for m, value in enumerate(values):
            rows[_HEIGHT - round(float(value) / top * _HEIGHT)][4 * m + 1] = mark
    lines = [
        f"{top * (_HEIGHT - i) / _HEIGHT:5.1f} |{''.join(row)}".rstrip()
        for i, row in enumerate(rows)
    ]
    axis = "      +" + "-" * 4 * size
    ticks = "       " + "".join(f" {m:<3}" for m in range(size))
    title = "\nDegrees of Freedom: exact (*) and number of components + 1 (.)\n"
    return "\n".join([title, *lines, axis, ticks + " components\n"])


# ``plsdof datasets``
# -------------------

# What to try with the tables that are part of the package.
_TRIALS = {"gasoline": "--response octane --cv 10", "ozone": "--response V4 --drop-missing"}


def datasets(
    export: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.csv",
            help="Write a table to try the commands with, chosen by the name of the file: "
            f"{' or '.join(f'{name}.csv' for name in _TRIALS)}.",
            show_default=False,
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the data sets, say which are at hand, and verify their hashes."""
    if export is None:
        _list(as_json)
    else:
        _export(export, as_json)


def _export(file: Path, as_json: bool) -> None:
    from plsdof.datasets.real import GASOLINE, OZONE, read_file

    name = as_choice(file.stem, "The name of the file of --export", tuple(_TRIALS))
    require_ending("--export", file, (".csv",))
    check_writable(file)
    with atomic_write(file) as stream:
        stream.write(read_file({"gasoline": GASOLINE, "ozone": OZONE}[name]))
    trial = f"plsdof fit {shlex.quote(str(file))} {_TRIALS[name]}"
    if as_json:
        print_json("datasets", {"written": {name: str(file)}, "try": trial})
    else:
        remark(console(), "Wrote the table", f"{file}; try {trial}")


def _list(as_json: bool) -> None:
    from plsdof.datasets import dataset_status

    found = dataset_status()
    if as_json:
        print_json("datasets", {"datasets": [asdict(one) for one in found]})
    else:
        screen = console()
        headings = ("name", "function", "state", "hash", "rows x predictors")
        made = table("Data sets", headings, text_columns=4)
        for one in found:
            verdict = {True: "ok", False: "WRONG", None: "-"}[one.hash_ok]
            shape = " x ".join(map(str, one.shape))
            add_row(made, (one.name, one.function, one.state, verdict, shape))
        screen.print(made)
        for one in found:
            screen.print()
            remark(screen, one.name, f"{one.message} {one.location}")
    if any(one.hash_ok is False for one in found):
        raise typer.Exit(2)
