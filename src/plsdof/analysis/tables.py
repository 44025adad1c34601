"""An analysis in tables: columns by name, as JSON, workbooks and screens show them."""

from dataclasses import asdict
from typing import Any

import numpy as np

from plsdof._core.choice import LEFT_OUT
from plsdof._core.display import parameter_column
from plsdof.analysis.analysis import Analysis
from plsdof.analysis.data import Rows, TestSet
from plsdof.analysis.remarks import SEVERE, recipe_errors
from plsdof.chemometrics.rows import OutlierTable

Columns = dict[str, Any]
# What flags are called.
FLAGS = {"studentized": "residual", "q": "Q", "t2": "T²", "leverage": "leverage"}


def model_columns(analysis: Analysis) -> Columns:
    """Return one row per model, simplest first."""
    path, chosen, order = analysis.path, analysis.selection, analysis.order
    columns: Columns = {
        path.parameter_name: parameter_column(path.parameters, path.parameter_name),
        "dof": path.dof,
        "dof_error": path.dof_error,
        **({"dof_std_error": path.dof_std_error} if path.dof_std_error.any() else {}),
        "naive_dof": path.naive_dof,
        "rss": path.rss,
        "sigma": analysis.sigmas,
    }
    if chosen.criterion != LEFT_OUT:
        columns[chosen.criterion] = chosen.scores
    if analysis.left_out is not None:
        columns |= {"rmsecv": analysis.rmsecv, "rmsecv_std_error": analysis.rmsecv_std_error}
        weights = np.zeros(len(path))
        if analysis.average is not None and analysis.average.weights is not None:
            found = analysis.average.weights[: len(path)]
            weights[: len(found)] = found
        columns["weight_in_average"] = weights
    return {name: np.asarray(values)[order] for name, values in columns.items()}


def coefficient_columns(analysis: Analysis) -> Columns:
    """Return one row per predictor."""
    columns: Columns = {"name": analysis.data.names, "coef": analysis.leading.coef}
    result = analysis.inference
    if result is not None:
        columns |= {
            "std_error": result.std_error,
            "t": result.statistic,
            "p_value": result.p_value,
            "lower": result.lower,
            "upper": result.upper,
        }
        if analysis.jackknife is not None:
            columns["jackknife_std_error"] = analysis.jackknife
    return columns


def pool_columns(analysis: Analysis) -> Columns:
    """Return one row per recipe that was compared: its best model, and its weight in an average."""
    found, weights = recipe_errors(analysis.selection), analysis.selection.weights
    if not found:
        return {}
    best = [int(np.argmin(left.press)) for left in found.values()]
    columns: Columns = {
        "recipe": list(found),
        "best_n_components": best,
        "rmsecv": [float(left.rmse[m]) for m, left in zip(best, found.values(), strict=True)],
    }
    if weights is not None:
        columns["weight"] = [float(weights[name].sum()) for name in found]
    return columns


def merit_columns(analysis: Analysis) -> Columns:
    """Return one row per kind of rows: calibration, cross-validation, test."""
    figures = [asdict(one) for one in analysis.merit.values()]
    return {"rows": list(analysis.merit)} | {
        name: [one[name] for one in figures] for name in figures[0]
    }


def test_columns(test: TestSet) -> Columns:
    """Return the rows of a test, measured and predicted."""
    rows = test.rows
    columns: Columns = {"row": rows.numbers}
    columns |= {} if rows.labels is None else {"id": rows.labels}
    return columns | {"observed": rows.y, "prediction": test.predicted}


def row_columns(analysis: Analysis) -> Columns:
    """Return the rows of the fit, the most unusual ones first, and what is unusual about them."""
    table = analysis.unusual
    if table is None:
        return {}
    rows, order = analysis.drawn.rows, table.order
    columns: Columns = {"row": rows.numbers[order]}
    columns |= {} if rows.labels is None else {"id": rows.labels[order]}
    columns |= {"observed": rows.y[order], "fitted": analysis.model.fitted[order]}
    if analysis.left_out is not None:
        columns["left_out"] = (rows.y - analysis.model.left_out_residuals)[order]
    columns |= {name: getattr(table, name).values[order] for name in FLAGS}
    columns["p_value"] = table.p_value[order]
    columns["beyond"] = [flags_in_words(table, int(i)) for i in order]
    return columns


def flags_in_words(table: OutlierTable, row: int) -> str:
    """Say which limits a row is beyond; empty if none."""
    return ", ".join(word for name, word in FLAGS.items() if getattr(table, name).flags[row])


def unusual_in_words(analysis: Analysis, most: int = 5) -> str:
    """Name the most unusual rows; empty if there is none."""
    table = analysis.unusual
    if table is None or not table.n_flags.any():
        return ""
    rows: Rows = analysis.drawn.rows
    first = [int(i) for i in table.order if table.n_flags[i]]
    shown = [f"{rows.row_name(i)}: {flags_in_words(table, i)}" for i in first[:most]]
    more = f"; {len(first) - most} more" if len(first) > most else ""
    return f"Row {'; row '.join(shown)}{more}."


def recipe_columns(analysis: Analysis) -> Columns:
    """Return how the analysis was made, one row per fact."""
    return {"fact": list(analysis.recipe), "value": list(analysis.recipe.values())}


def all_tables(analysis: Analysis) -> dict[str, Columns]:
    """Return every table there is, by the name of its sheet."""
    found = {
        "coefficients": coefficient_columns(analysis),
        "models": model_columns(analysis),
        "recipes": pool_columns(analysis),
        "figures of merit": merit_columns(analysis),
        "rows": row_columns(analysis),
    }
    if analysis.test is not None:
        found["test"] = test_columns(analysis.test)
    found["recipe"] = recipe_columns(analysis)
    return {name: columns for name, columns in found.items() if columns}


def records(columns: Columns) -> list[dict[str, Any]]:
    """Turn a dictionary of columns into a list of rows.

    Examples
    --------
    >>> records({"m": [0, 1], "dof": np.array([1.0, 4.5])})
    [{'m': 0, 'dof': 1.0}, {'m': 1, 'dof': 4.5}]
    """
    lists = [np.asarray(values).tolist() for values in columns.values()]
    return [dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True)]


def to_content(analysis: Analysis) -> dict[str, Any]:
    """Return everything that there is to say, for machines: numbers, lists and words."""
    data, chosen, model = analysis.data, analysis.selection, analysis.model
    rows, p = data.shape
    limits = analysis.sigma_limits
    left, average = analysis.left_out, analysis.average
    return {
        "file": data.source,
        "response": data.response,
        "method": analysis.request.method,
        "n": rows,
        "p": p,
        "rank": analysis.path.exact.spectrum.rank,
        "rows_dropped": data.dropped,
        "streamed": data.is_streamed,
        "wavelengths": data.wavelengths,
        "recipe": analysis.recipe | {"scale": analysis.scale},
        "path": records(model_columns(analysis)),
        "choice": {
            "index": chosen.index,
            "parameter_name": chosen.parameter_name,
            "parameter": _whole(chosen.parameter, chosen.parameter_name),
            "criterion": chosen.criterion,
            "rule": chosen.rule,
            "dof": model.dof,
            "weights": chosen.weights or model.weights,
            "words": f"{analysis.choice} {analysis.noise}",
        },
        "errors": None
        if left is None
        else {
            "chosen": model.rmse,
            "average": None if average is None else average.rmse,
            "words": analysis.errors,
        },
        "recipes": records(pool_columns(analysis)),
        "search": _search(analysis),
        "permutations": _permutations(analysis),
        "assumptions": None if analysis.inference is None else analysis.inference.assumptions,
        "r_squared": analysis.r_squared,
        "merit": {name: asdict(figures) for name, figures in analysis.merit.items()},
        "unusual": [one for one in records(row_columns(analysis)) if one["beyond"]],
        "test": None
        if analysis.test is None
        else {
            "source": analysis.test.rows.source,
            "inside": analysis.test.inside,
            "rows": records(test_columns(analysis.test)),
            "words": analysis.tested,
        },
        "sigma": {
            "value": analysis.noise_std,
            "kind": analysis.noise_kind,
            "by_residuals": None if limits is None else limits[0],
            "lower": None if limits is None else limits[1],
            "upper": None if limits is None else limits[2],
            "level": analysis.request.level,
        },
        "intercept": {
            "value": analysis.leading.intercept,
            "std_error": None
            if analysis.inference is None
            else analysis.inference.intercept_std_error,
        },
        "coefficients": records(coefficient_columns(analysis)),
        "remarks": [asdict(one) for one in analysis.remarks],
        "warnings": [one.text for one in analysis.remarks if one.kind in SEVERE],
        "notes": [one.text for one in analysis.remarks],
    }


def _whole(parameter: float, name: str) -> float:
    return parameter if name == "alpha" else int(parameter)


def _search(analysis: Analysis) -> dict[str, Any] | None:
    search = analysis.search
    if search is None:
        return None
    found, names = search.found, analysis.data.names
    return {
        "sets": records({"set": found.labels, "score": found.scores}),
        "chosen": found.labels[found.chosen],
        "columns": [name for name, one in zip(names, found.support, strict=True) if one],
        "dof_of_fixed_columns": found.path.dof[found.index],
        "dof": search.dof.value,
        "dof_std_error": search.dof.std_error,
        "words": search.words,
    }


def _permutations(analysis: Analysis) -> dict[str, Any] | None:
    test = analysis.permutation
    if test is None:
        return None
    return {
        "p_value": test.p_value,
        "score": test.score,
        "permuted": test.permuted,
        "words": f"{test.message} {test.assumptions}",
    }
