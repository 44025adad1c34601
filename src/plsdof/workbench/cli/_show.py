"""What a command prints: text that is safe against hostile names, tables, an analysis, JSON."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path as FilePath
from typing import Any

import numpy as np
import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from plsdof import __version__
from plsdof._core.criteria import CRITERIA, criterion_label
from plsdof._core.display import plural
from plsdof._core.remarks import Remark
from plsdof.chemometrics.merit import HEADINGS, RMSE_NAMES, FiguresOfMerit
from plsdof.inference.summary import JACKKNIFE, p_value
from plsdof.models.writing import plain
from plsdof.workbench.analysis import Analysis
from plsdof.workbench.analysis.data import TableProblem
from plsdof.workbench.analysis.remarks import (
    is_empty,
    percent,
    scaling_in_words,
    significant,
)
from plsdof.workbench.analysis.tables import (
    coefficient_columns,
    model_columns,
    pool_columns,
    records,
    unusual_in_words,
)

# Text for a terminal: safe against hostile names, readable at 80 columns
# -----------------------------------------------------------------------

number = significant


def console() -> Console:
    """Return a console that takes text literally: no markup, no guessed colours."""
    return Console(highlight=False, markup=False, emoji=False, soft_wrap=False)


def waiting(text: str, *, quiet: bool = False) -> Any:
    """Return a context that shows what is going on, on a terminal and on stderr only."""
    errors = Console(stderr=True, highlight=False, markup=False, emoji=False, quiet=quiet)
    return errors.status(Text(text))


def safe(text: str, most: int | None = None) -> str:
    r"""Spell out control characters, and cut text that is longer than ``most``.

    Examples
    --------
    >>> safe("\x1b[31mred", 8)
    '\\x1b[31…'
    """
    start = text if most is None else text[: most + 1]
    spelled = "".join(
        one if one.isprintable() else one.encode("unicode_escape").decode() for one in start
    )
    return spelled if most is None or len(spelled) <= most else spelled[: most - 1] + "…"


def note(screen: Console, messages: Iterable[str]) -> None:
    """Print remarks, each with a hanging indent."""
    for message in messages:
        remark(screen, "Note", message)


def remark(screen: Console, title: str, message: str, style: str = "") -> None:
    """Print a title and a text that wraps beside it."""
    grid = Table.grid(padding=(0, 1))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    text = Text(safe(" ".join(message.split())), style=style)
    grid.add_row(Text(f"{title}:", style=f"bold {style}"), text)
    screen.print(grid)


def table(
    title: str,
    headings: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    text_columns: int = 0,
    caption: str = "",
    chosen: int | None = None,
) -> Table:
    """Return a table of literal text; all but the first ``text_columns`` columns are numbers.

    The row in place ``chosen`` is bold.
    """
    made = Table(
        title=Text(safe(title)),
        title_justify="left",
        title_style="bold",
        caption=caption or None,
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        show_edge=False,
    )
    text: dict[str, Any] = {"no_wrap": True, "overflow": "ellipsis", "max_width": 24}
    for position, heading in enumerate(headings):
        how = text if position < text_columns else {"no_wrap": True, "justify": "right"}
        made.add_column(Text(heading), **how)
    for place, cells in enumerate(rows):
        style = "bold" if place == chosen else None
        made.add_row(*(Text(safe(cell)) for cell in cells), style=style)
    return made


def fixed(value: float | None, decimals: int = 2) -> str:
    """Format a number with a fixed number of decimals, with a dash for no number."""
    return "-" if value is None or not np.isfinite(value) else f"{value:.{decimals}f}"


# An analysis on a terminal: tables within 80 columns, sentences, remarks with hints
# --------------------------------------------------------------------------------

_MOST_MODELS = 16
_MOST_COEFFICIENTS = 10
_FEW_COEFFICIENTS = 15
# What helps, by the kind of a remark.
_HINTS = {
    "last-model": "Allow larger ones with --max-components.",
    "replicates": "Add --groups.",
    "better-recipe": "Add --preprocess auto.",
    "drift": "Use --cv blocks:5.",
    "no-std-errors": "Add --std-errors.",
    "intervals-memory": "Use --in-memory if it fits.",
}
# What the cross-validated errors say already.
_SAID = ("average",)
# Of every class.
SHARES = ("sensitivity", "specificity", "precision")


def show_fit(screen: Console, analysis: Analysis, *, verbose: bool) -> None:
    """Print path, choice, errors, noise level, remarks, figures of merit and coefficients."""
    screen.print(heading(analysis.data, analysis.scale), style="bold")
    if verbose:
        solver = analysis.path.exact.decomposition.solver
        screen.print(f"Read as {safe(analysis.data.described)}; solver {solver}.")
    screen.print()
    screen.print(_path_table(analysis, verbose))
    screen.print()
    permutation = analysis.permutation
    for title, text in {
        "Test": analysis.tested,
        "Choice": analysis.choice,
        "Held-out rows": analysis.errors,
        "Permutations": "" if permutation is None else permutation.message,
        "Noise": analysis.noise,
        "Look at": unusual_in_words(analysis),
    }.items():
        if text:
            remark(screen, title, text)
    for one in sorted(analysis.remarks, key=lambda one: one.severity != "severe"):
        if one.severity == "severe":
            remark(screen, "Warning", with_hint(one), style="red")
        elif one.key not in _SAID:
            remark(screen, "Note", with_hint(one))
    screen.print()
    if recipes := pool_columns(analysis):
        screen.print(_recipe_table(recipes))
        screen.print()
    screen.print(_merit_table(analysis.merit))
    if analysis.inference is not None and not is_empty(analysis.model):
        screen.print()
        screen.print(_coefficient_table(analysis, verbose))
    screen.print()
    remark(screen, "Recipe", "; ".join(f"{k}: {v}" for k, v in analysis.recipe.items()))


def with_hint(one: Remark) -> str:
    """Return the words of a remark, and the option that helps."""
    return f"{one.words} {_HINTS.get(one.key, '')}".rstrip()


def heading(data: TableProblem, scale: bool | None = None) -> str:
    """Say what is predicted from what, and how the columns are treated."""
    rows, p = data.shape
    axis = data.wavelengths
    what = plural(p, "predictor")
    if axis is not None:
        what = f"{plural(p, 'wavelength')} ({axis[0]:g} to {axis[-1]:g})"
    if scale is not None:
        what += f", {scaling_in_words(scale)}"
    source = safe(FilePath(data.source).name or data.source, 40)
    return f"{safe(data.response, 40)} from {what}; {plural(rows, 'row')} of {source}"


def _merit_table(merit: Mapping[str, FiguresOfMerit]) -> Table:
    """Return figures of merit as a table: one column for each set of rows."""
    rows = [["rows", *(str(one.n) for one in merit.values())]]
    for name, label, _ in HEADINGS:
        rows.append([label, *(number(getattr(one, name)) for one in merit.values())])
    names = ", ".join(RMSE_NAMES[one] for one in merit)
    caption = f"RMSE: {names}. RPD and RPIQ are spreads of the measured values by SEP."
    return table("Figures of merit", ("", *merit), rows, text_columns=1, caption=caption)


def _recipe_table(columns: dict[str, Any]) -> Table:
    """Return the recipes that were compared, the best single model of each, and their weights."""
    rows = [
        [one["recipe"], str(one["best_n_components"]), number(one["rmsecv"])]
        + [fixed(weight) for name, weight in one.items() if name == "weight"]
        for one in records(columns)
    ]
    headings = ["recipe", "best m", "RMSECV", *(["weight"] if "weight" in columns else [])]
    return table("Recipes, by cross-validation", headings, rows, text_columns=1)


def shown_rows(size: int, place: int, *, evenly: bool, verbose: bool) -> list[int]:
    """Return the places in the path that a short table shows: the start, the choice, the end."""
    if verbose or size <= _MOST_MODELS:
        return list(range(size))
    if evenly:
        start = np.linspace(0, size - 1, _MOST_MODELS - 4).round().astype(int).tolist()
    else:
        start = list(range(_MOST_MODELS - 4))
    near = range(max(0, place - 2), min(size, place + 3))
    return sorted({*start, *near, size - 1})


# How columns of an analysis are called and shown.
_COLUMNS: dict[str, tuple[str, Callable[[float], str]]] = {
    "dof": ("DoF", fixed),
    "dof_std_error": ("+- se", partial(number, digits=2)),
    "rss": ("RSS", number),
    "sigma": ("sigma", number),
    **{name: (criterion_label(name), number) for name in CRITERIA},
    "rmsecv": ("RMSECV", number),
    "rmsecv_std_error": ("+- se", partial(number, digits=2)),
    "coef": ("coef", number),
    "std_error": ("std error", number),
    "lower": ("lower", number),
    "upper": ("upper", number),
    "t": ("t", fixed),
    "p_value": ("p", p_value),
    "jackknife_std_error": ("jackknife", partial(number, digits=3)),
}


def _path_table(analysis: Analysis, verbose: bool) -> Table:
    path, found = analysis.path, model_columns(analysis)
    ridge, size = path.parameter_name == "alpha", len(analysis.order)
    chosen = analysis.order.tolist().index(analysis.selection.index)
    columns = {name: how for name, how in _COLUMNS.items() if name in found}
    places = shown_rows(size, chosen, evenly=ridge, verbose=verbose)
    rows, bold = [], None
    word = "<- most weight" if analysis.model.is_average else "<- chosen"
    for position, place in enumerate(places):
        if position and place > places[position - 1] + 1 and not ridge:
            rows.append(["..."])
        bold = len(rows) if place == chosen else bold
        cells = [show(float(found[name][place])) for name, (_, show) in columns.items()]
        size_in_words = f"{found[path.parameter_name][place]:.4g}"
        rows.append([size_in_words, *cells, word if place == chosen else ""])
    remarks = []
    if len(places) < size:
        remarks.append(f"{len(places)} of {size} models; --verbose shows all.")
    if analysis.left_out is not None:
        remarks.append("RMSECV: root mean squared cross-validated error.")
    if size < len(path):
        remarks.append(f"Larger models, up to {len(path) - 1}, do not lower it.")
    return table(
        f"{path.recipe.method.label}, model by model",
        ["alpha" if ridge else "m", *(heading for heading, _ in columns.values()), ""],
        rows,
        caption=" ".join([*remarks, "sigma counts what a model leaves out as noise."]),
        chosen=bold,
    )


def _coefficient_table(analysis: Analysis, verbose: bool) -> Table:
    result, found = analysis.inference, coefficient_columns(analysis)
    assert result is not None
    p = len(result.coef)
    most = p if verbose or p <= _FEW_COEFFICIENTS else _MOST_COEFFICIENTS
    columns = {name: how for name, how in _COLUMNS.items() if name in found}
    rows = [
        [safe(found["name"][i], 24)]
        + [show(float(found[name][i])) for name, (_, show) in columns.items()]
        for i in np.argsort(-np.abs(result.statistic), kind="stable")[:most]
    ]
    apart = "" if analysis.jackknife is None else f" {JACKKNIFE}"
    more = f"{most} of {p} predictors; --verbose shows all. " if most < p else ""
    return table(
        f"Coefficients with {percent(result.level)} intervals, largest |t| first",
        ["predictor", *(heading for heading, _ in columns.values())],
        rows,
        text_columns=1,
        caption=f"{more}{result.assumptions}{apart}",
    )


def show_classes(screen: Console, analysis: Any) -> None:
    """Print a `ClassAnalysis`: confusions, errors by class, the choice."""
    n, p = analysis.data.shape
    name, classes = safe(analysis.data.response, 40), [str(one) for one in analysis.model.classes_]
    screen.print(f"{name}: {len(classes)} classes, {n} rows, {p} predictors\n", style="bold")
    for kind, found in analysis.errors.items():
        counts = [
            [name, *(f"{one:g}" for one in row)]
            for name, row in zip(classes, found.matrix, strict=True)
        ]
        title = f"{kind.capitalize()} rows, error {found.error:.3f}"
        screen.print(table(title, ["true, taken for", *classes], counts, text_columns=1))
        screen.print()
        shares = [[str(one)] for one in found.classes]
        for share in SHARES:
            limits = zip(shares, getattr(found, share), found.intervals(share), strict=True)
            for line, value, (low, high) in limits:
                line.append(f"{fixed(value)} ({fixed(low)}-{fixed(high)})")
        screen.print(table("", ["class", *SHARES], shares, text_columns=1))
        screen.print()
    remark(screen, "Model", analysis.summary)
    if analysis.permutation is not None:
        remark(screen, "Permutations", analysis.permutation.message)
    note(screen, (*analysis.data.doubts, *analysis.data.notes))


# What the tables give people, for machines: strict JSON, null where a number is missing
# -------------------------------------------------------------------------------------


def print_json(command: str, content: Mapping[str, Any]) -> None:
    """Print one JSON object to standard output: arrays are lists, and nan and infinity null."""
    everything = plain({"plsdof": __version__, "command": command, **content})
    typer.echo(json.dumps(everything, allow_nan=False, indent=1))
