"""An analysis on a terminal: tables within 80 columns, sentences, remarks with hints."""

from collections.abc import Mapping, Sequence
from pathlib import Path as FilePath

import numpy as np
from rich.console import Console
from rich.table import Table

from plsdof._core.choice import LEFT_OUT, Remark
from plsdof._core.criteria import criterion_label
from plsdof.analysis import Analysis
from plsdof.analysis.data import Problem
from plsdof.analysis.remarks import is_empty, scaling_in_words
from plsdof.analysis.tables import unusual_in_words
from plsdof.chemometrics.merit import HEADINGS, RMSE_NAMES, FiguresOfMerit
from plsdof.cli._terminal import (
    add_row,
    fixed,
    note,
    number,
    p_value,
    percent,
    plural,
    remark,
    safe,
    table,
)

_MOST_MODELS = 16
_MOST_COEFFICIENTS = 10
_FEW_COEFFICIENTS = 15
# What helps, by the kind of a remark.
_HINTS = {
    "last-model": "Allow larger ones with --max-components.",
    "replicates": "Add --groups.",
    "no-std-errors": "Add --std-errors.",
    "intervals-memory": "Use --in-memory if it fits.",
}
# What the errors of rows left out say already.
_SAID = ("average",)


def show_fit(screen: Console, analysis: Analysis, *, verbose: bool) -> None:
    """Print path, choice, errors, noise level, remarks, figures of merit and coefficients."""
    screen.print(heading(analysis.data, analysis.scale), style="bold")
    if verbose:
        solver = analysis.path.exact.decomposition.solver
        screen.print(f"Read as {safe(analysis.data.described)}; solver {solver}.")
    screen.print()
    screen.print(_path_table(analysis, verbose))
    screen.print()
    for title, text in _sentences(analysis).items():
        if text:
            remark(screen, title, text)
    note(screen, [with_hint(one) for one in analysis.remarks if one.kind not in _SAID])
    screen.print()
    screen.print(merit_table(analysis.merit))
    if analysis.inference is not None and not is_empty(analysis.model):
        screen.print()
        screen.print(_coefficient_table(analysis, verbose))
    screen.print()
    remark(screen, "Recipe", "; ".join(f"{k}: {v}" for k, v in analysis.recipe.items()))


def _sentences(analysis: Analysis) -> dict[str, str]:
    permutation = analysis.permutation
    return {
        "Choice": analysis.choice,
        "Rows left out": analysis.errors,
        "Permutations": "" if permutation is None else permutation.message,
        "Noise": analysis.noise,
        "Look at": unusual_in_words(analysis),
    }


def with_hint(one: Remark) -> str:
    """Return the text of a remark, and the option that helps."""
    return f"{one.text} {_HINTS.get(one.kind, '')}".rstrip()


def heading(data: Problem, scale: bool | None = None) -> str:
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


def merit_table(merit: Mapping[str, FiguresOfMerit]) -> Table:
    """Return figures of merit as a table: one column for each set of rows."""
    made = table("Figures of merit", ("", *merit), text_columns=1)
    add_row(made, ["rows", *(str(one.n) for one in merit.values())])
    for name, label, _ in HEADINGS:
        add_row(made, [label, *(number(getattr(one, name)) for one in merit.values())])
    names = ", ".join(RMSE_NAMES[one] for one in merit)
    made.caption = f"RMSE: {names}. RPD and RPIQ are spreads of the measured values by SEP."
    made.caption_justify = "left"
    return made


def merit_sentence(rows: str, merit: FiguresOfMerit) -> str:
    """Return figures of merit as a sentence."""
    names = {"rmse": RMSE_NAMES[rows]}
    shown = [
        f"{names.get(name, label)} {number(getattr(merit, name))}" for name, label, _ in HEADINGS
    ]
    return f"{', '.join(shown)}, over {plural(merit.n, 'row')} with a known response."


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


def _path_table(analysis: Analysis, verbose: bool) -> Table:
    path, chosen, order = analysis.path, analysis.selection, analysis.order.tolist()
    columns: dict[str, list[str]] = {"DoF": [fixed(one) for one in path.dof]}
    if path.dof_std_error.any():
        columns["+- se"] = _numbers(path.dof_std_error, 2)
    columns |= {"RSS": _numbers(path.rss), "sigma": _numbers(analysis.sigmas)}
    if chosen.criterion != LEFT_OUT:
        columns[criterion_label(chosen.criterion)] = _numbers(chosen.scores)
    if analysis.left_out is not None:
        columns["RMSECV"] = _numbers(analysis.rmsecv)
        columns["+- se "] = _numbers(analysis.rmsecv_std_error, 2)
    ridge = path.parameter_name == "alpha"
    title = f"{path.recipe.method.label}, model by model"
    made = table(title, ["alpha" if ridge else "m", *(name.strip() for name in columns), ""])
    places = shown_rows(len(order), order.index(chosen.index), evenly=ridge, verbose=verbose)
    for position, place in enumerate(places):
        if position and place > places[position - 1] + 1 and not ridge:
            add_row(made, ["..."])
        row = order[place]
        mark = "<- chosen" if row == chosen.index else ""
        cells = [f"{path.parameters[row]:.4g}", *(one[row] for one in columns.values()), mark]
        add_row(made, cells, chosen=bool(mark))
    remarks = []
    if len(places) < len(order):
        remarks.append(f"{len(places)} of {len(order)} models; --verbose shows all.")
    if analysis.left_out is not None:
        remarks.append("RMSECV: root mean squared error of rows left out.")
    if len(order) < len(path):
        remarks.append(f"Larger models, up to {len(path) - 1}, do not lower it.")
    made.caption = " ".join([*remarks, "sigma counts what a model leaves out as noise."])
    made.caption_justify = "left"
    return made


def _numbers(values: Sequence[float] | np.ndarray, digits: int = 4) -> list[str]:
    return [number(float(value), digits) for value in values]


def _coefficient_table(analysis: Analysis, verbose: bool) -> Table:
    result, names = analysis.inference, analysis.data.names
    assert result is not None
    p = len(result.coef)
    most = p if verbose or p <= _FEW_COEFFICIENTS else _MOST_COEFFICIENTS
    title = f"Coefficients with {percent(result.level)} intervals, largest |t| first"
    made = table(
        title, ("predictor", "coef", "std error", "lower", "upper", "t", "p"), text_columns=1
    )
    for i in np.argsort(-np.abs(result.statistic), kind="stable")[:most]:
        values = (result.coef[i], result.std_error[i], result.lower[i], result.upper[i])
        cells = [number(float(value)) for value in values]
        tested = [fixed(float(result.statistic[i])), p_value(float(result.p_value[i]))]
        add_row(made, [safe(names[i], 24), *cells, *tested])
    more = f"{most} of {p} predictors; --verbose shows all. " if most < p else ""
    made.caption = more + result.assumptions
    made.caption_justify = "left"
    return made
