"""``plsdof reproduce``."""

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console


def reproduce(
    targets: Annotated[
        list[str] | None,
        typer.Argument(help="table1, fig1, ..., fig8 or all.", show_default="all"),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("reproduced"),
    repeats: Annotated[int, typer.Option(help="Random splits per setting.")] = 50,
    seed: Annotated[int, typer.Option(help="All random numbers derive from it.")] = 0,
    jobs: Annotated[int, typer.Option(help="Processes to use.")] = 1,
    data: Annotated[Path | None, typer.Option(help="Folder with the published data sets.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing.")] = False,
) -> None:
    """Reproduce the table and figures of Kraemer and Sugiyama (2011).

    A run that was interrupted goes on where it was when the same command is given again.
    """
    from plsdof import experiments

    try:
        experiments.reproduce(
            targets or "all",
            out,
            repeats=repeats,
            seed=seed,
            jobs=jobs,
            data_home=data,
            console=None if quiet else Console(highlight=False),
        )
    except KeyboardInterrupt as error:
        again = shlex.join(["plsdof", *sys.argv[1:]])
        raise KeyboardInterrupt(f"Finished repeats are kept; resume with: {again}") from error
