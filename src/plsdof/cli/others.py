"""``plsdof demo``, ``plsdof datasets`` and ``plsdof reproduce``."""

import shlex
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from plsdof._core.criteria import Selection
from plsdof._core.fit import pls_path
from plsdof._core.inputs import as_choice
from plsdof._core.path import PLSPath
from plsdof.cli._terminal import add_row, console, print_json, remark, table
from plsdof.datasets import load_ozone
from plsdof.files.writing import atomic_write, check_writable, require_ending
from plsdof.inference.intervals import coefficient_inference, noise_interval
from plsdof.selection.cross_validation import cross_validate

# The main job on a data set shipped with the package, told in the terminal
# -------------------------------------------------------------------------


def show_demo(console: Any) -> None:
    """Fit, count, choose and infer on the ozone data; print to a rich console."""
    data = load_ozone()
    path = pls_path(data.data, data.target)
    exact = path.select("bic", rule="first-minimum")
    naive = path.select("bic", dof="naive", rule="first-minimum")
    by_cv = cross_validate(data.data, data.target).select()
    console.print(
        f"[bold]Los Angeles ozone, 1976[/bold]: {len(data.target)} days, "
        f"{data.data.shape[1]} predictors. How many components should PLS keep?\n"
    )
    console.print(_path_table(path, exact))
    console.print(_dof_plot(path))
    console.print(
        f"BIC with exact Degrees of Freedom keeps [bold]{exact.n_components}[/bold] components, "
        f"BIC that counts components keeps {naive.n_components}, 10-fold cross-validation "
        f"{by_cv.n_components}.\n"
    )
    console.print(_coefficient_table(path, exact.n_components, data.feature_names))
    console.print(_noise_sentence(path, exact.n_components))


def _path_table(path: PLSPath, chosen: Selection) -> Any:
    from rich.table import Table

    table = Table(title="Every model size at once", title_justify="left")
    for name in ("m", "DoF", "naive DoF", "RSS", "sigma", "BIC", ""):
        table.add_column(name, justify="right")
    sigma = np.sqrt(path.noise_variance())
    for m in path.n_components:
        table.add_row(
            str(m),
            f"{path.dof[m]:.2f}",
            f"{path.naive_dof[m]:.0f}",
            f"{path.rss[m]:.0f}",
            f"{sigma[m]:.3f}",
            f"{chosen.scores[m]:.2f}",
            "<- first minimum" if m == chosen.n_components else "",
        )
    return table


def _dof_plot(path: PLSPath, height: int = 13) -> str:
    """Draw DoF (*) and the naive count (.) against the number of components."""
    top = float(max(path.dof.max(), path.naive_dof.max()))
    rows = [[" "] * (4 * len(path.dof)) for _ in range(height + 1)]
    for values, mark in ((path.naive_dof, "."), (path.dof, "*")):
        for m, value in enumerate(values):
            rows[height - round(float(value) / top * height)][4 * m + 1] = mark
    lines = [
        f"{top * (height - i) / height:5.1f} |{''.join(row)}".rstrip() for i, row in enumerate(rows)
    ]
    axis = "      +" + "-" * 4 * len(path.dof)
    ticks = "       " + "".join(f" {m:<3}" for m in range(len(path.dof)))
    title = "\nDegrees of Freedom: exact (*) and number of components + 1 (.)\n"
    return "\n".join([title, *lines, axis, ticks + " components\n"])


def _coefficient_table(path: PLSPath, m: int, names: Any) -> Any:
    from rich.table import Table

    result = coefficient_inference(path, m)
    table = Table(title=f"Coefficients of {m} components with 95% intervals", title_justify="left")
    table.add_column("predictor")
    for name in ("coef", "std error", "lower", "upper", "p"):
        table.add_column(name, justify="right")
    for i in np.argsort(-np.abs(result.statistic)):
        table.add_row(
            str(names[i]),
            f"{result.coef[i]:.4g}",
            f"{result.std_error[i]:.2g}",
            f"{result.lower[i]:.4g}",
            f"{result.upper[i]:.4g}",
            f"{result.p_value[i]:.1e}",
        )
    return table


def _noise_sentence(path: PLSPath, m: int) -> str:
    interval = noise_interval(path, m)
    low, mid, high = np.sqrt([interval.lower[0], interval.center[0], interval.upper[0]])
    return f"Noise level: {mid:.2f} (95% interval {low:.2f} to {high:.2f})."


# ``plsdof demo``
# ---------------


def demo() -> None:
    """Run the main job on the ozone data shipped with the package."""
    show_demo(Console(highlight=False))


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
    from plsdof.datasets.catalogue import GASOLINE, OZONE, read_shipped

    name = as_choice(file.stem, "The name of the file of --export", tuple(_TRIALS))
    require_ending("--export", file, (".csv",))
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


# ``plsdof reproduce``
# --------------------


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
    distance: Annotated[
        str,
        typer.Option(
            metavar="squared|plain",
            help="Distance in the radial basis functions of the simulation: squared, as printed.",
        ),
    ] = "squared",
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing.")] = False,
) -> None:
    """Reproduce the table and figures of Kraemer and Sugiyama (2011).

    A run that was interrupted goes on where it was when the same command is given again.
    """
    from plsdof import paper

    try:
        paper.reproduce(
            targets or "all",
            out,
            repeats=repeats,
            seed=seed,
            jobs=jobs,
            data_home=data,
            distance=distance,
            console=None if quiet else Console(highlight=False),
        )
    except KeyboardInterrupt as error:
        again = shlex.join(["plsdof", *sys.argv[1:]])
        raise KeyboardInterrupt(f"Finished repeats are kept; resume with: {again}") from error
