"""``plsdof demo`` and ``plsdof datasets``."""

import shlex
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from plsdof._core.criteria import Selection
from plsdof._core.fit import pls_path
from plsdof._core.inputs import as_choice
from plsdof._core.path import PLSPath
from plsdof.cli._terminal import (
    add_row,
    console,
    fixed,
    number,
    p_value,
    plural,
    print_json,
    remark,
    table,
)
from plsdof.datasets import load_ozone
from plsdof.files.writing import atomic_write, check_writable, require_ending
from plsdof.inference.intervals import (
    coefficient_inference,
    noise_interval,
    prediction_interval,
)
from plsdof.selection.cross_validation import CrossValidation, cross_validate

# ``plsdof demo``: the main job on a data set shipped with the package, told in the terminal
# ----------------------------------------------------------------------------------------


def demo(
    report: Annotated[
        Path | None,
        typer.Option(metavar="FILE.html", help="Write the report as well.", show_default=False),
    ] = None,
) -> None:
    """Run the main job on the ozone data shipped with the package."""
    if report is not None:
        require_ending("--report", report, (".html", ".htm"))
        check_writable(report)
    screen = console()
    data = load_ozone(as_frame=True)
    path = pls_path(data.data, data.target)
    chosen, cv = path.select(), cross_validate(data.data, data.target)
    screen.print(
        f"Los Angeles ozone, 1976: {len(data.target)} days, {data.data.shape[1]} predictors. "
        "How many components should PLS keep?\n"
    )
    screen.print(_path_table(path, chosen, cv))
    screen.print(_dof_plot(path))
    remark(screen, "Choice", chosen.message)
    remark(screen, "Cross-validation", _compared(path, chosen, cv))
    remark(screen, "Noise", _noise_sentence(path, chosen.n_components))
    remark(screen, "A prediction", _prediction_sentence(path, chosen.n_components, data))
    screen.print()
    screen.print(_coefficient_table(path, chosen.n_components))
    screen.print()
    if report is None:
        remark(screen, "Report", "plsdof demo --report demo.html writes all of it as a web page.")
    else:
        from plsdof.report import write_report

        write_report(
            report,
            path,
            chosen,
            X=data.data,
            y=data.target,
            response="ozone",
            source="Los Angeles ozone, 1976",
            command=shlex.join(["plsdof", *sys.argv[1:]]),
            cv=cv,
        )
        remark(screen, "Report", f"{report}; open it in a browser, it needs no network.")
    remark(
        screen,
        "Your data",
        "plsdof fit FILE.csv --response COLUMN --cv 10 --report report.html",
    )


def _path_table(path: PLSPath, chosen: Selection, cv: CrossValidation) -> Any:
    made = table("PLS, model by model", ("m", "m + 1", "DoF", "RSS", "sigma", "GCV", "RMSECV", ""))
    sigma, errors = np.sqrt(path.noise_variance()), np.sqrt(cv.mean_error)
    for m in path.n_components:
        cells = [str(m), str(m + 1), fixed(path.dof[m])]
        cells += [number(one[m]) for one in (path.rss, sigma, chosen.scores, errors)]
        is_chosen = bool(m == chosen.n_components)
        add_row(made, [*cells, "<- chosen" if is_chosen else ""], chosen=is_chosen)
    made.caption = (
        "DoF: Degrees of Freedom. GCV: generalised cross-validation, from one fit. RMSECV: error "
        "of rows left out, from ten fits."
    )
    made.caption_justify = "left"
    return made


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


def _compared(path: PLSPath, chosen: Selection, cv: CrossValidation) -> str:
    """Say what cross-validation takes, and what the rule of the R package plsdof does."""
    by_cv, errors = cv.select().n_components, np.sqrt(cv.mean_error)
    first = path.select("bic", rule="first-minimum").n_components
    return (
        f"ten folds take {plural(by_cv, 'component')} (RMSECV {number(errors[by_cv])}; the model "
        f"chosen here has {number(errors[chosen.index])}). R's rule, the first local "
        f"minimum of BIC, takes {plural(first, 'component')} (RMSECV {number(errors[first])})."
    )


def _noise_sentence(path: PLSPath, m: int) -> str:
    interval = noise_interval(path, m)
    low, mid, high = np.sqrt([interval.lower[0], interval.center[0], interval.upper[0]])
    return f"sigma = {number(mid)} (95% interval {number(low)} to {number(high)})."


def _prediction_sentence(path: PLSPath, m: int, data: Any) -> str:
    """Predict a day with average weather."""
    day = prediction_interval(path, m, data.data.mean().to_frame().T)
    return (
        f"a day with average weather has an ozone reading of {number(day.center[0])} "
        f"(95% interval {number(day.lower[0])} to {number(day.upper[0])})."
    )


def _coefficient_table(path: PLSPath, m: int) -> Any:
    result = coefficient_inference(path, m)
    made = table(
        f"Coefficients of {plural(m, 'component')} with 95% intervals, largest |t| first",
        ("predictor", "coef", "std error", "lower", "upper", "p"),
        text_columns=1,
    )
    assert path.feature_names is not None
    for i in np.argsort(-np.abs(result.statistic)):
        values = (result.coef[i], result.std_error[i], result.lower[i], result.upper[i])
        cells = [number(float(value)) for value in values]
        add_row(made, [path.feature_names[i], *cells, p_value(float(result.p_value[i]))])
    made.caption, made.caption_justify = result.assumptions, "left"
    return made


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
