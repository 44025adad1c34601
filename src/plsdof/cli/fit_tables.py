"""What ``plsdof fit`` prints."""

from collections.abc import Sequence
from pathlib import Path as FilePath

import numpy as np
from rich.console import Console
from rich.table import Table

from plsdof._validation import Array
from plsdof.cli.analysis import Analysis
from plsdof.cli.problem import Problem
from plsdof.cli.terminal import (
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
from plsdof.path import Path

_MOST_MODELS = 16
_MOST_COEFFICIENTS = 10
_FEW_COEFFICIENTS = 15
_CAVEAT = "Intervals take the model size as given and leave out the bias of the fit."
_NAMES = {"pls": "PLS", "pcr": "PCR", "ridge": "Ridge"}


def show_fit(screen: Console, problem: Problem, analysis: Analysis, *, verbose: bool) -> None:
    """Print path, choice, noise level and coefficients."""
    screen.print(heading(problem), style="bold")
    if verbose:
        screen.print(f"Read as {safe(problem.described)}; solver {analysis.path.solver}.")
    screen.print()
    screen.print(_path_table(analysis, verbose))
    screen.print()
    remark(screen, "Choice", why(analysis))
    if analysis.frequency is not None:
        remark(screen, "Stability", f"{analysis.frequency.message}.")
    remark(screen, "Noise", noise_sentence(analysis))
    note(screen, (*problem.notes, *analysis.notes))
    if analysis.inference is not None and not _is_empty(analysis):
        screen.print()
        screen.print(_coefficient_table(problem, analysis, verbose))


def criterion_name(name: str) -> str:
    """Return a criterion as a heading shows it."""
    return "RMSECV" if name.startswith("cv") else name.upper()


def why(analysis: Analysis) -> str:
    """Say which model was chosen, why, and what it costs."""
    path, chosen = analysis.path, analysis.selection
    what = path.label(chosen.index).replace("component(s)", "components")
    what = "1 component" if what == "1 components" else what
    dof, naive = path.dof[chosen.index], path.naive_dof[chosen.index]
    cost = f" It uses {dof:.2f} Degrees of Freedom"
    std_error = path.dof_std_error[chosen.index]
    if std_error > 0:
        cost += f" (standard error {number(float(std_error), 2)})"
    if abs(dof - naive) > 0.01:
        cost += f", not the {naive:.0f} that counting components gives"
    if _is_empty(analysis):
        cost = " It is the mean of the response: no predictor is worth its cost"
    return f"{what}, {_reason(analysis)}.{cost}."


def _is_empty(analysis: Analysis) -> bool:
    return analysis.path.parameter_name == "n_components" and analysis.index == 0


def _reason(analysis: Analysis) -> str:
    chosen = analysis.selection
    name = criterion_name(chosen.criterion)
    if chosen.rule == "given":
        return "as asked for"
    rules = {
        "first-minimum": f"the first minimum of {name}",
        "global-minimum": f"the smallest {name}",
        "minimum": f"the smallest {name}",
        "one-standard-error": f"the simplest model within one standard error of the best {name}",
        "randomization": f"the simplest model that is not worse by {name} (randomization test)",
    }
    return rules[chosen.rule] + _neighbours(analysis)


def _neighbours(analysis: Analysis) -> str:
    order = analysis.path.simplest_first().tolist()
    place = order.index(analysis.index)
    scores = analysis.selection.scores[order]
    if analysis.selection.criterion.startswith("cv"):
        scores = np.sqrt(scores)  # squared errors become RMSECV
    around = []
    if place > 0:
        around.append(f"{number(scores[place - 1])} before")
    if place + 1 < len(order):
        around.append(f"{number(scores[place + 1])} after")
    return f" ({number(scores[place])}; {', '.join(around)})" if around else ""


def noise_sentence(analysis: Analysis) -> str:
    """Say how large the noise is, and how well the model fits."""
    variance = analysis.path.noise_at(analysis.index, analysis.plan.noise)
    text = f"sigma = {number(float(np.sqrt(variance)))}"
    if analysis.sigma is not None:
        low, high = np.sqrt([analysis.sigma.lower[0], analysis.sigma.upper[0]])
        text += f" ({percent(analysis.plan.level)} interval {number(low)} to {number(high)})"
    elif analysis.plan.noise == "naive":
        text += " (residual sum of squares by n - m - 1; no interval)"
    return f"{text}; the model explains {100 * analysis.r_squared:.1f}% of the variance."


def shown_rows(order: Sequence[int], chosen: int, *, evenly: bool, verbose: bool) -> list[int]:
    """Return the places in the path that a short table shows: the start, the choice, the end."""
    size = len(order)
    if verbose or size <= _MOST_MODELS:
        return list(range(size))
    place = list(order).index(chosen)
    if evenly:
        start = np.linspace(0, size - 1, _MOST_MODELS - 4).round().astype(int).tolist()
    else:
        start = list(range(max(4, _MOST_MODELS - 4)))
    near = range(max(0, place - 2), min(size, place + 3))
    return sorted({*start, *near, size - 1})


def heading(problem: Problem) -> str:
    """Say what is predicted from what."""
    rows, p = problem.shape
    axis = problem.wavelengths
    what = plural(p, "predictor")
    if axis is not None:
        what = f"{plural(p, 'wavelength')} ({axis[0]:g} to {axis[-1]:g})"
    source = safe(FilePath(problem.source).name or problem.source, 40)
    return f"{safe(problem.response, 40)} from {what}; {plural(rows, 'row')} of {source}"


def _path_table(analysis: Analysis, verbose: bool) -> Table:
    path, chosen = analysis.path, analysis.selection
    ridge = path.parameter_name == "alpha"
    headings = ["alpha" if ridge else "m", "DoF"]
    headings += ["+- se"] if path.dof_std_error.any() else []
    headings += ["RSS", "sigma"]
    by_cv = chosen.criterion.startswith("cv")
    headings += [] if by_cv else [criterion_name(chosen.criterion)]
    headings += [] if analysis.cv is None else ["RMSECV", "+- se"]
    made = table(f"{_NAMES[analysis.plan.method]}, model by model", [*headings, ""])
    order = path.simplest_first().tolist()
    places = shown_rows(order, chosen.index, evenly=ridge, verbose=verbose)
    columns = _path_columns(analysis, path, by_cv)
    for position, place in enumerate(places):
        if position and place > places[position - 1] + 1 and not ridge:
            add_row(made, ["..."])
        row = order[place]
        label = f"{path.parameters[row]:.4g}"
        mark = "<- chosen" if row == chosen.index else ""
        add_row(made, [label, *(one[row] for one in columns), mark], chosen=bool(mark))
    remarks = []
    if len(places) < len(order):
        remarks.append(f"{len(places)} of {len(order)} models; --verbose shows all.")
    if analysis.cv is not None:
        remarks.append("RMSECV: root mean squared error of rows left out, by cross-validation.")
    made.caption = " ".join(remarks) or None
    made.caption_justify = "left"
    return made


def _path_columns(analysis: Analysis, path: Path, by_cv: bool) -> list[list[str]]:
    sigma = np.sqrt(path.noise_variance(analysis.plan.noise))
    columns = [[fixed(one) for one in path.dof]]
    columns += [_numbers(path.dof_std_error, 2)] if path.dof_std_error.any() else []
    columns += [_numbers(values) for values in (path.rss, sigma)]
    if not by_cv:
        columns.append(_numbers(analysis.selection.scores))
    if analysis.rmsecv is not None and analysis.rmsecv_std_error is not None:
        columns += [_numbers(analysis.rmsecv), _numbers(analysis.rmsecv_std_error, 2)]
    return columns


def _numbers(values: Array, digits: int = 4) -> list[str]:
    return [number(float(value), digits) for value in values]


def _coefficient_table(problem: Problem, analysis: Analysis, verbose: bool) -> Table:
    result = analysis.inference
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
        add_row(made, [safe(problem.names[i], 24), *cells, *tested])
    more = f"{most} of {p} predictors; --verbose shows all. " if most < p else ""
    made.caption = more + _CAVEAT
    made.caption_justify = "left"
    return made
