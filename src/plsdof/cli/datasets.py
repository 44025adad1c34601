"""``plsdof datasets``."""

import shlex
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from plsdof._validation import as_choice
from plsdof.atomic import atomic_write, check_writable
from plsdof.cli.machine import print_json
from plsdof.cli.terminal import add_row, console, remark, table

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
    from plsdof.datasets.published import GASOLINE, OZONE, read_shipped

    name = as_choice(file.stem, "The name of the file of --export", tuple(_TRIALS))
    check_writable(file)
    with atomic_write(file) as stream:
        stream.write(read_shipped({"gasoline": GASOLINE, "ozone": OZONE}[name]).encode())
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
