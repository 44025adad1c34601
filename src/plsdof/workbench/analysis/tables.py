"""An analysis as a `Result`: every number, column and sentence that doors show of it."""

from dataclasses import replace
from pathlib import Path as File
from typing import Any

import numpy as np

from plsdof._core.choice import LEFT_OUT
from plsdof._core.criteria import criterion_label
from plsdof._core.display import parameter_column, plural
from plsdof._core.inputs import Array
from plsdof._core.paths import PLSPath
from plsdof.chemometrics.diagnostics import explained_variance, selectivity_ratio, vip
from plsdof.chemometrics.distances import standardized_rows
from plsdof.chemometrics.merit import HEADINGS, RMSE_NAMES, FiguresOfMerit
from plsdof.chemometrics.unusual import OutlierTable
from plsdof.inference.summary import JACKKNIFE
from plsdof.workbench.analysis.analysis import Analysis, has_scores
from plsdof.workbench.analysis.data import Rows, TableProblem
from plsdof.workbench.analysis.remarks import is_empty, percent, recipe_errors, scaling_in_words
from plsdof.workbench.analysis.result import (
    TWO_DECIMALS,
    Column,
    Fact,
    Result,
    Table,
    as_column,
    as_measured,
    named,
)

Columns = dict[str, Column]
# What flags are called, in the order of their bits where rows are drawn.
FLAGS = {"t2": "T²", "q": "Q", "leverage": "leverage", "studentized": "residual"}
# p-values have two digits, and smaller ones than this say more than their assumptions hold.
P_VALUE: dict[str, Any] = {"digits": 2, "least": 1e-4}
# Rows of short tables.
_MOST_MODELS, _MOST_COEFFICIENTS, _FEW_COEFFICIENTS = 16, 10, 15


def result_of(analysis: Analysis) -> Result:
    """Return everything that there is to say about a fit."""
    tables = {
        "coefficients": _coefficients(analysis),
        "components": _components(analysis),
        "models": models_table(analysis),
        "recipes": _recipes(analysis),
        "merit": merit_table(analysis.merit),
        "rows": _rows(analysis),
        "scores": _scores(analysis),
        "test.rows": _test(analysis),
        "search.sets": _searched(analysis),
    }
    return Result(
        title=title(analysis.data, analysis.request.scales),
        facts=facts_of(analysis),
        tables={name: table for name, table in tables.items() if table.columns},
        remarks=analysis.remarks,
        pictures=_pictures(analysis),
        record=analysis.recipe,
        main="coefficients",
    )


def title(data: TableProblem, scale: bool | None = None) -> str:
    """Say what is predicted from what, and how the columns are treated."""
    (n, p), axis = data.shape, data.wavelengths
    what = plural(p, "predictor")
    if axis is not None:
        what = f"{plural(p, 'wavelength')} ({axis[0]:g} to {axis[-1]:g})"
    if scale is not None:
        what += f", {scaling_in_words(scale)}"
    source = File(data.source).name or data.source
    return f"{data.response:.40} from {what}; {plural(n, 'row')} of {source[-40:]}"


# Numbers and sentences
# ---------------------


def shared_facts(found: Any, size: float, dof: float) -> dict[str, Fact]:
    """Return the facts of every fit, of numbers or classes: data, choice, permutations."""
    data, permuted, counts = found.data, found.permutation, found.request.counts_components
    facts = {
        "file": data.source,
        "response": data.response,
        "method": found.request.method,
        "n": data.shape[0],
        "p": data.shape[1],
        "rows_dropped": data.dropped,
        "streamed": data.is_streamed,
        "choice.parameter_name": "n_components" if counts else "alpha",
        "permutations": None,
    }
    shown = {name: Fact(value=value) for name, value in facts.items()}
    shown |= sentences({"choice.words": ("Choice", found.choice)})
    size, label = (int(size), "components") if counts else (size, "alpha")
    shown["choice.parameter"] = Fact(value=size, label=label)
    shown["choice.dof"] = Fact(value=dof, label="Degrees of Freedom", error=TWO_DECIMALS)
    if permuted is None:
        return shown
    del shown["permutations"]
    words = f"{permuted.message} {permuted.assumptions}"
    shown |= sentences({"permutations.words": ("Permutations", words)})
    p = permuted.p_value
    error = float(np.sqrt(p * (1 - p) / len(permuted.permuted)))
    shown["permutations.p_value"] = Fact(value=p, label="p of permutations", error=error)
    return shown | {"permutations.score": Fact(value=permuted.score)}


def sentences(said: dict[str, tuple[str, str]]) -> dict[str, Fact]:
    """Return texts as facts, by their labels; nothing of those that are empty."""
    return {name: Fact(value=text, label=label) for name, (label, text) in said.items() if text}


def facts_of(analysis: Analysis) -> dict[str, Fact]:
    """Return numbers and sentences of a fit."""
    chosen, model, test = analysis.selection, analysis.model, analysis.test
    spread, path = analysis.dof_range, analysis.path
    found = sentences({"test.words": ("Test", analysis.tested)})
    found |= shared_facts(analysis, chosen.parameter, model.dof)
    found |= sentences(
        {
            "errors.words": ("Cross-validation", analysis.errors),
            "sigma.words": ("Noise", analysis.noise),
            "unusual": ("Look at", unusual_in_words(analysis)),
        }
    )
    facts = {
        "rank": path.exact.rank,
        "assumptions": analysis.inference and analysis.inference.assumptions,
        "r_squared": analysis.r_squared,
        "recipe.scale": analysis.request.scales,
        "choice.index": chosen.index,
        "choice.criterion": chosen.criterion,
        "choice.rule": chosen.rule,
        "sigma.kind": analysis.noise_kind,
        "sigma.level": analysis.request.level,
    }
    found |= {name: Fact(value=value) for name, value in facts.items()}
    if spread is not None:
        half = (spread.upper - spread.lower) / 2
        found["choice.dof"] = replace(found["choice.dof"], words=str(spread), error=half)
    part = 100 * analysis.r_squared
    found["explained"] = Fact(value=part, label="explained", unit="%", error=1.0)
    if analysis.average is not None:
        errors, known = {"chosen": model, "average": analysis.average}, analysis.errors_known_to
        found |= {f"errors.{k}": Fact(value=m.rmse, error=known) for k, m in errors.items()}
        found["errors.chosen"] = replace(found["errors.chosen"], label="typical error")
    if test is not None:
        found |= named("test", {"source": test.rows.source, "inside": test.inside})
        known = test.merit.std_errors["rmse"]
        found["test.rmse"] = Fact(value=test.merit.rmse, label="error of the test", error=known)
    found |= _noise(analysis) | _intercept(analysis)
    if (search := analysis.search) is not None:
        inside = search.found
        cost = {"dof": search.dof.value, "dof_std_error": search.dof.std_error}
        cost |= {"chosen": inside.labels[inside.chosen], "words": search.words}
        cost["dof_of_fixed_columns"] = inside.path.dof[inside.index]
        found |= named("search", cost)
    absent = {"test": test, "search": search, "errors": analysis.average}
    return found | {name: Fact(value=None) for name, one in absent.items() if one is None}


def _noise(analysis: Analysis) -> dict[str, Fact]:
    """Return the noise level and the ends of its interval, which round it."""
    middle, low, high, half = None, None, None, None
    if analysis.sigma_limits is not None:
        middle, low, high = map(float, analysis.sigma_limits)
        half = (high - low) / 2
    limit = f"{percent(analysis.request.level)} limit of sigma"
    return {
        "sigma.value": Fact(value=analysis.noise_std, label="sigma", error=half),
        "sigma.by_residuals": Fact(value=middle, error=half),
        "sigma.lower": Fact(value=low, label=f"lower {limit}", error=half),
        "sigma.upper": Fact(value=high, label=f"upper {limit}", error=half),
    }


def _intercept(analysis: Analysis) -> dict[str, Fact]:
    result, value = analysis.inference, analysis.leading.intercept
    error = None if result is None else result.intercept_std_error
    return {
        "intercept.value": Fact(value=value, label="intercept", error=error),
        "intercept.std_error": Fact(value=error),
    }


def _pictures(analysis: Analysis) -> dict[str, Any]:
    """Return arrays that are not columns of a table."""
    chosen, model, data = analysis.selection, analysis.model, analysis.data
    spread = analysis.dof_range
    found: dict[str, Any] = {
        "choice.dof_range": spread and [spread.lower, spread.upper],
        "wavelengths": data.wavelengths,
        "choice.weights": chosen.weights if len(chosen.weights or ()) > 1 else model.weights,
    }
    if analysis.permutation is not None:
        found["permutations.permuted"] = analysis.permutation.permuted
    if analysis.search is not None:
        support = analysis.search.found.support
        found["search.columns"] = [
            name for name, one in zip(data.names, support, strict=True) if one
        ]
    return found


# Models
# ------


def models_table(analysis: Analysis) -> Table:
    """Return one row per model, simplest first."""
    path, chosen, n = analysis.path, analysis.selection, analysis.path.exact.n
    explained = 100 * (1 - path.rss / (path.exact.total or np.nan))
    # The empty model explains nothing, up to rounding.
    explained = np.where(np.abs(explained) < 1e-10, 0.0, explained)
    counted, error = path.parameter_name != "alpha", analysis.rmsecv_std_error
    size = parameter_column(path.parameters, path.parameter_name)
    columns: Columns = {
        path.parameter_name: as_column(size, "m" if counted else "alpha"),
        "dof": as_column(path.dof, "DoF", error=TWO_DECIMALS),
        "dof_error": as_column(path.dof_error),
        "naive_dof": as_column(path.naive_dof, "naive DoF", error=TWO_DECIMALS, brief=False),
        "rss": as_column(path.rss, "RSS"),
        "explained": as_column(explained, "explained", unit="%", error=TWO_DECIMALS, brief=False),
        "sigma": as_column(analysis.sigmas, "sigma"),
        "rmsec": as_column(np.sqrt(path.rss / n), "RMSEC", brief=False),
    }
    if has_scores(path):
        assert isinstance(path, PLSPath)
        # The empty model uses nothing of X.
        of_x = np.append(0.0, 100 * explained_variance(path).x_cumulative)
        columns["x_explained"] = as_column(
            of_x, "explained of X", unit="%", error=TWO_DECIMALS, brief=False
        )
    if chosen.criterion != LEFT_OUT:
        columns[chosen.criterion] = as_column(chosen.scores, criterion_label(chosen.criterion))
    if analysis.left_out is not None:
        q2 = 100 * (1 - analysis.rmsecv**2 / (np.var(analysis.data.y) or np.nan))
        columns |= {
            "rmsecv": as_column(analysis.rmsecv, "RMSECV", error=error),
            "rmsecv_std_error": as_column(error, "± se", error=error),
            "q2": as_column(q2, "Q²", unit="%", error=TWO_DECIMALS, brief=False),
            "weight_in_average": as_column(_weights(analysis), "weight", digits=2, brief=False),
        }
    if analysis.test is not None:
        wrong = path.predict(analysis.test.X) - analysis.test.rows.y
        columns["rmsep"] = as_column(np.sqrt(np.mean(wrong**2, axis=1)), "RMSEP", brief=False)
    place = int(np.flatnonzero(analysis.order == analysis.selection.index)[0])
    more = ""
    if len(analysis.order) < len(path):
        more = f" Larger models, up to {len(path) - 1}, do not lower RMSECV."
    return Table(
        columns={name: one.take(analysis.order) for name, one in columns.items()},
        title=f"{path.recipe.method.label}, model by model",
        caption=f"sigma includes what a model misses.{more}",
        chosen=place,
        mark="most weight" if analysis.model.is_average else "chosen",
        short=short_path(len(analysis.order), place, evenly=not counted),
    )


def _weights(analysis: Analysis) -> Array:
    """Return the weights of the models in an average."""
    weights, average = np.zeros(len(analysis.path)), analysis.average
    if average is not None and average.weights is not None:
        found = average.weights[: len(weights)]
        weights[: len(found)] = found
    return weights


def short_path(size: int, place: int, *, evenly: bool) -> list[int] | None:
    """Return the places in the path that a short table shows: the start, the choice, the end."""
    if size <= _MOST_MODELS:
        return None
    most = _MOST_MODELS - 4
    start = np.linspace(0, size - 1, most).round().astype(int) if evenly else np.arange(most)
    near = range(max(0, place - 2), min(size, place + 3))
    return sorted({*start.tolist(), *near, size - 1})


def _recipes(analysis: Analysis) -> Table:
    """Return one row per recipe that was compared: its best model, and its weight in an average."""
    found, weights = recipe_errors(analysis.selection), analysis.selection.weights
    best = [int(np.argmin(left.press)) for left in found.values()]
    pairs = list(zip(best, found.values(), strict=True))
    columns = {
        "recipe": as_column(list(found), "recipe"),
        "best_n_components": as_column(best, "best m"),
        "rmsecv": as_column(
            [float(left.rmse[m]) for m, left in pairs],
            "RMSECV",
            error=np.array([float(left.rmse_std_error[m]) for m, left in pairs]),
        ),
    }
    if weights is not None:
        shares = [float(weights[name].sum()) for name in found]
        columns["weight"] = as_column(shares, "weight", error=TWO_DECIMALS)
    return Table(
        columns=columns if found else {},
        title="Recipes, by cross-validation",
        caption="The best size of each recipe, in the same folds.",
    )


def merit_table(merit: dict[str, FiguresOfMerit]) -> Table:
    """Return figures of merit, one row per kind of rows: calibration, cross-validation, test.

    They are rounded by their standard errors.
    """
    names, found = ", ".join(RMSE_NAMES[one] for one in merit), list(merit.values())
    columns = {
        "rows": as_column(list(merit), "rows"),
        "n": as_column([one.n for one in found], "n"),
    }
    for name, label, _ in HEADINGS:
        errors = np.array([one.std_errors[name] for one in found])
        columns[name] = as_column([getattr(one, name) for one in found], label, error=errors)
    caption = (
        f"RMSE: {names}. RPD and RPIQ: standard deviation and interquartile range of the measured "
        "values, divided by SEP."
    )
    return Table(columns=columns, title="Figures of merit", caption=caption, by="rows")


# Predictors
# ----------


def _coefficients(analysis: Analysis) -> Table:
    """Return one row per predictor."""
    result, coef = analysis.inference, analysis.leading.coef
    error = None if result is None else result.std_error
    columns: Columns = {
        "name": as_column(analysis.data.names, "predictor"),
        "coef": as_column(coef, "coef", error=error),
    }
    if result is None:
        return Table(columns=columns, title="Coefficients", brief=False)
    columns |= {
        "std_error": as_column(error, "std error", error=error),
        "t": as_column(result.statistic, "t", error=TWO_DECIMALS),
        "p_value": as_column(result.p_value, "p", **P_VALUE),
        "lower": as_column(result.lower, "lower", error=error),
        "upper": as_column(result.upper, "upper", error=error),
    }
    apart = ""
    if analysis.jackknife is not None:
        columns["jackknife_std_error"] = as_column(
            analysis.jackknife, "jackknife", error=analysis.jackknife
        )
        apart = f" {JACKKNIFE}"
    p = len(coef)
    most = p if p <= _FEW_COEFFICIENTS else _MOST_COEFFICIENTS
    largest = np.argsort(-np.abs(result.statistic), kind="stable")
    # Columns that are constant, or not selected, have no part in the model.
    shown = largest[result.std_error[largest] > 0][:most].tolist()
    return Table(
        columns=columns,
        title=f"Coefficients with {percent(result.level)} intervals, largest |t| first",
        brief=not is_empty(analysis.model),
        caption=f"{result.assumptions}{apart}",
        short=shown,
    )


def _components(analysis: Analysis) -> Table:
    """Return importances, loadings and weights of the components of plain PLS by predictor."""
    path, m = analysis.path, analysis.index
    if not has_scores(path) or m == 0:
        return Table(columns={})
    assert isinstance(path, PLSPath)
    single = path[m]
    columns: Columns = {"name": as_column(analysis.data.names), "vip": as_column(vip(single))}
    columns["selectivity_ratio"] = as_column(selectivity_ratio(single).values)
    for word, values in {"loading": path.x_loadings, "weight": path.x_weights}.items():
        columns |= _numbered(word, values[:, :m])
    return Table(columns=columns)


def _numbered(word: str, values: Array) -> Columns:
    return {f"{word}_{j + 1}": as_column(one) for j, one in enumerate(values.T)}


def _searched(analysis: Analysis) -> Table:
    """Return the sets of columns that a search compared."""
    search = analysis.search
    if search is None:
        return Table(columns={})
    found = search.found
    return Table(columns={"set": as_column(found.labels), "score": as_column(found.scores)})


# Rows
# ----


def _rows(analysis: Analysis) -> Table:
    """Return the rows of the fit, the most unusual ones first, and what is unusual about them."""
    table, rows = analysis.unusual, analysis.data.rows
    if table is None:
        return Table(columns={})
    columns = _row_names(rows) | {
        "observed": as_column(rows.y, "observed", error=as_measured(rows.y)),
        "fitted": as_column(analysis.model.fitted, "fitted"),
    }
    if analysis.left_out is not None:
        left = rows.y - analysis.model.left_out_residuals
        columns["left_out"] = as_column(left, "cross-validated")
    columns |= {name: as_column(getattr(table, name).values, word) for name, word in FLAGS.items()}
    columns["p_value"] = as_column(table.p_value, "p", **P_VALUE)
    words = [flags_in_words(table, i) for i in range(len(rows.y))]
    columns["beyond"] = as_column(words, "beyond the limit of")
    taken = {name: one.take(table.order) for name, one in columns.items()}
    return Table(
        columns=taken,
        title="Rows, the most unusual ones first",
        caption="p is that of the residual, under normal errors and adjusted for the number of "
        "rows. T² and Q see the shape of a row, not whether its response is right.",
        brief=False,
    )


def _test(analysis: Analysis) -> Table:
    """Return the rows of a test, measured and predicted, and how far they are from the model."""
    test, table = analysis.test, analysis.test_unusual
    if test is None:
        return Table(columns={})
    columns = _row_names(test.rows) | {
        "observed": as_column(test.rows.y, "observed", error=as_measured(test.rows.y)),
        "prediction": as_column(test.predicted, "predicted"),
    }
    if table is not None:
        columns |= {
            name: as_column(getattr(table, name).values, FLAGS[name]) for name in ("t2", "q")
        }
    return Table(
        columns=columns,
        title="Rows of the test",
        caption="These rows took no part in the fit.",
        brief=False,
    )


def _scores(analysis: Analysis) -> Table:
    """Return the scores of the rows of the fit on the components of plain PLS."""
    path, m = analysis.path, analysis.index
    if not has_scores(path) or m == 0 or analysis.data.is_streamed:
        return Table(columns={})
    assert isinstance(path, PLSPath)
    scores = standardized_rows(path, analysis.data.drawn) @ path.x_rotations[:, :m]
    return Table(columns=_row_names(analysis.data.rows) | _numbered("score", scores))


def _row_names(rows: Rows) -> Columns:
    names = {} if rows.labels is None else {"id": as_column(rows.labels, "name")}
    return {"row": as_column(rows.numbers, "row")} | names


def flags_in_words(table: OutlierTable, row: int) -> str:
    """Say which limits a row is beyond; empty if none."""
    return ", ".join(word for name, word in FLAGS.items() if getattr(table, name).flags[row])


def unusual_in_words(analysis: Analysis, most: int = 5) -> str:
    """Name the most unusual rows; empty if there is none."""
    table = analysis.unusual
    if table is None or not table.n_flags.any():
        return ""
    rows = analysis.data.rows
    first = [int(i) for i in table.order if table.n_flags[i]]
    shown = [f"{rows.row_name(i)}: {flags_in_words(table, i)}" for i in first[:most]]
    more = f"; {len(first) - most} more" if len(first) > most else ""
    return f"Row {'; row '.join(shown)}{more}."
