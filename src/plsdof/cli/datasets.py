"""``plsdof datasets``."""

from dataclasses import asdict
from typing import Annotated

import typer

from plsdof.cli.machine import print_json
from plsdof.cli.terminal import add_row, console, remark, table


def datasets(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the data sets, say which are at hand, and verify their hashes."""
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
