"""``plsdof benchmark``."""

import io
import sys
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from plsdof.cli import _options as options
from plsdof.cli._analysis import heading
from plsdof.cli._data import read_problem
from plsdof.cli._tables import Reading
from plsdof.cli._terminal import (
    add_row,
    console,
    fixed,
    note,
    number,
    print_json,
    records,
    remark,
    table,
    waiting,
)
from plsdof.complexity.benchmark import Benchmark
from plsdof.complexity.benchmark import benchmark as run_benchmark
from plsdof.files.writing import atomic_write, check_writable, require_ending

_LABELS = {
    "pls": "PLS, default choice",
    "pls-average": "PLS, average",
    "pls-bic": "PLS, BIC (paper)",
    "pls-cv": "PLS, cross-validation",
    "pcr": "PCR",
    "ridge": "ridge",
    "mean": "mean",
}
Splits = Annotated[
    int, typer.Option("--splits", metavar="N", help="Number of random splits of the rows.")
]
Train = Annotated[
    float, typer.Option("--train", metavar="SHARE", help="Share of the rows to fit on.")
]
Methods = Annotated[
    list[str] | None,
    typer.Option(
        "--method",
        "-m",
        metavar="NAME",
        help=f"One of {', '.join(_LABELS)}. May be repeated.",
        show_default="all of them",
    ),
]
SeedOfSplits = Annotated[
    int, typer.Option("--seed", metavar="N", help="Makes the splits reproducible.")
]
Resume = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE.json",
        help="Keep finished splits here, and go on from them.",
        show_default=False,
    ),
]


def benchmark(
    file: options.File,
    response: options.Response,
    features: options.Features = None,
    exclude: options.Exclude = None,
    label: options.Label = None,
    drop_missing: options.DropMissing = False,
    sheet: options.Sheet = None,
    methods: Methods = None,
    splits: Splits = 20,
    train: Train = 0.8,
    seed: SeedOfSplits = 0,
    max_components: options.MaxComponents = None,
    resume: Resume = None,
    plot: options.Plot = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Compare rules and methods on a table in random splits of its rows."""
    for option, written in (("--plot", plot), ("--resume", resume)):
        if written is not None and not (option == "--resume" and written.exists()):
            check_writable(written)
    if plot is not None:
        require_ending("--plot", plot, (".png", ".svg", ".pdf"))
    with waiting("Reading the table", quiet=quiet):
        problem = read_problem(
            str(file),
            response,
            features=features or (),
            exclude=exclude or (),
            label=label,
            drop_missing=drop_missing,
            reading=Reading(sheet=sheet),
        )
    found = run_benchmark(
        problem.X.to_numpy(),
        problem.y,
        methods or None,
        n_splits=splits,
        train_size=train,
        max_components=max_components or options.DEFAULT_COMPONENTS,
        random_state=seed,
        resume=resume,
        progress=not quiet and sys.stderr.isatty(),
    )
    if plot is not None:
        _draw(found, plot)
    if as_json:
        print_json("benchmark", _content(problem, found))
    elif not quiet:
        screen = console()
        screen.print(heading(problem), style="bold")
        screen.print()
        screen.print(_table(found))
        note(screen, problem.notes)
        if plot is not None:
            remark(screen, "Wrote the plot", str(plot))


def _medians(values: Any) -> Any:
    """Return medians over splits of what is known, nan where nothing is."""
    known = [column[~np.isnan(column)] for column in values.T]
    return np.array([np.median(one) if len(one) else np.nan for one in known])


def _content(problem: Any, found: Benchmark) -> dict[str, Any]:
    rows, p = problem.shape
    return {
        "file": problem.source,
        "response": problem.response,
        "n": rows,
        "p": p,
        "n_train": found.n_train,
        "n_test": found.n_test,
        "splits": len(found.error),
        "methods": records(
            {
                "method": list(found.names),
                "rmse": found.rmse,
                "error_ratio": found.ratio,
                "dof": _medians(found.dof),
                "size": _medians(found.size),
                "seconds": _medians(found.seconds),
            }
        ),
        "errors": found.error.tolist(),
        "notes": list(problem.notes),
    }


def _table(found: Benchmark) -> Any:
    title = f"{len(found.error)} random splits, {found.n_train} rows to fit, {found.n_test} to test"
    made = table(title, ("method", "RMSE", "error / best", "DoF", "size", "ms"), text_columns=1)
    dof, size, seconds = (_medians(one) for one in (found.dof, found.size, found.seconds))
    for k in np.argsort(found.rmse, kind="stable"):
        cells = [number(found.rmse[k]), fixed(found.ratio[k]), fixed(dof[k]), number(size[k], 3)]
        name = _LABELS.get(found.names[k], found.names[k])
        add_row(made, [name, *cells, number(1000 * seconds[k], 3)])
    made.caption = (
        "RMSE: of the rows left out, all splits. error / best: squared error over the smallest in "
        "the same split, geometric mean. DoF, size (components, or penalty) and time: medians."
    )
    made.caption_justify = "left"
    return made


def _draw(found: Benchmark, file: Path) -> None:
    from plsdof.plotting import BenchmarkDisplay
    from plsdof.plotting.style import new_figure

    figure = new_figure(7.0, 1.5 + 0.4 * len(found.names))
    BenchmarkDisplay.from_benchmark(found, labels=_LABELS, ax=figure.subplots())
    drawn = io.BytesIO()
    figure.savefig(drawn, format=file.suffix.lower()[1:])
    with atomic_write(file) as stream:
        stream.write(drawn.getvalue())
