"""An analysis in tables: columns by name, as JSON, workbooks and screens show them."""

from dataclasses import asdict
from typing import Any

import numpy as np

from plsdof._core.choice import LEFT_OUT
from plsdof._core.display import parameter_column
from plsdof._core.inputs import Array
from plsdof._core.path import PLSPath
from plsdof.chemometrics.diagnostics import selectivity_ratio, vip
from plsdof.chemometrics.rows import OutlierTable, standardized_rows
from plsdof.inference.resampling import PermutationTest
from plsdof.workbench.analysis.analysis import Analysis, has_scores
from plsdof.workbench.analysis.data import Rows
from plsdof.workbench.analysis.remarks import recipe_errors

Columns = dict[str, Any]
# What flags are called, in the order of their bits where rows are drawn.
FLAGS = {"t2": "T²", "q": "Q", "leverage": "leverage", "studentized": "residual"}


def model_columns(analysis: Analysis) -> Columns:
    """Return one row per model, simplest first."""
    path, chosen, exact = analysis.path, analysis.selection, analysis.path.exact
    explained = 100 * (1 - path.rss / (exact.spectrum.total or np.nan))
    columns: Columns = {
        path.parameter_name: parameter_column(path.parameters, path.parameter_name),
        "dof": path.dof,
        "dof_error": path.dof_error,
        "naive_dof": path.naive_dof,
        "rss": path.rss,
        # The empty model explains nothing, up to rounding.
        "explained": np.where(np.abs(explained) < 1e-10, 0.0, explained),
        "sigma": analysis.sigmas,
        "rmsec": np.sqrt(path.rss / exact.spectrum.n),
    }
    if chosen.criterion != LEFT_OUT:
        columns[chosen.criterion] = chosen.scores
    if analysis.left_out is not None:
        columns |= {"rmsecv": analysis.rmsecv, "rmsecv_std_error": analysis.rmsecv_std_error}
        columns["q2"] = 100 * (1 - analysis.rmsecv**2 / (np.var(analysis.data.y) or np.nan))
        weights = np.zeros(len(path))
        if analysis.average is not None and analysis.average.weights is not None:
            found = analysis.average.weights[: len(path)]
            weights[: len(found)] = found
        columns["weight_in_average"] = weights
    if analysis.test is not None:
        errors = path.intercept[:, None] + path.coef @ analysis.test.X.T - analysis.test.rows.y
        columns["rmsep"] = np.sqrt(np.mean(errors**2, axis=1))
    return {name: np.asarray(values)[analysis.order] for name, values in columns.items()}


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


def component_columns(analysis: Analysis) -> Columns:
    """Return importances, loadings and weights of the components of plain PLS by predictor."""
    path, m = analysis.path, analysis.index
    if not has_scores(path) or m == 0:
        return {}
    assert isinstance(path, PLSPath)
    single = path[m]
    columns: Columns = {"name": analysis.data.names, "vip": vip(single)}
    columns["selectivity_ratio"] = selectivity_ratio(single).values
    for word, values in {"loading": path.x_loadings, "weight": path.x_weights}.items():
        columns |= _numbered(word, values[:, :m])
    return columns


def _numbered(word: str, values: Array) -> Columns:
    return {f"{word}_{j + 1}": one for j, one in enumerate(values.T)}


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


def test_columns(analysis: Analysis) -> Columns:
    """Return the rows of a test, measured and predicted, and how far they are from the model."""
    test = analysis.test
    if test is None:
        return {}
    columns = _row_names(test.rows) | {"observed": test.rows.y, "prediction": test.predicted}
    if analysis.test_unusual is not None:
        columns |= {name: getattr(analysis.test_unusual, name).values for name in ("t2", "q")}
    return columns


def row_columns(analysis: Analysis) -> Columns:
    """Return the rows of the fit, the most unusual ones first, and what is unusual about them."""
    table, rows = analysis.unusual, analysis.data.rows
    if table is None:
        return {}
    columns = _row_names(rows) | {"observed": rows.y, "fitted": analysis.model.fitted}
    if analysis.left_out is not None:
        columns["left_out"] = rows.y - analysis.model.left_out_residuals
    columns |= {name: getattr(table, name).values for name in FLAGS} | {"p_value": table.p_value}
    columns["beyond"] = np.array([flags_in_words(table, i) for i in range(len(rows.y))])
    return {name: values[table.order] for name, values in columns.items()}


def score_columns(analysis: Analysis) -> Columns:
    """Return the scores of the rows of the fit on the components of plain PLS."""
    path, m = analysis.path, analysis.index
    if not has_scores(path) or m == 0 or analysis.data.is_streamed:
        return {}
    assert isinstance(path, PLSPath)
    scores = standardized_rows(path, analysis.data.drawn) @ path.x_rotations[:, :m]
    return _row_names(analysis.data.rows) | _numbered("score", scores)


def _row_names(rows: Rows) -> Columns:
    return {"row": rows.numbers} | ({} if rows.labels is None else {"id": rows.labels})


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


def all_tables(analysis: Analysis) -> dict[str, Columns]:
    """Return every table there is, by the name of its sheet."""
    recipe = analysis.recipe
    found = {
        "coefficients": coefficient_columns(analysis),
        "components": component_columns(analysis),
        "models": model_columns(analysis),
        "recipes": pool_columns(analysis),
        "figures of merit": merit_columns(analysis),
        "rows": row_columns(analysis),
        "scores": score_columns(analysis),
        "test": test_columns(analysis),
        "recipe": {"fact": list(recipe), "value": list(recipe.values())},
    }
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
    inference, limits, test = analysis.inference, analysis.sigma_limits, analysis.test
    spread = analysis.dof_range
    counts = chosen.parameter_name != "alpha"
    return {
        "file": data.source,
        "response": data.response,
        "method": analysis.request.method,
        "n": data.shape[0],
        "p": data.shape[1],
        "rank": analysis.path.exact.spectrum.rank,
        "rows_dropped": data.dropped,
        "streamed": data.is_streamed,
        "wavelengths": data.wavelengths,
        "recipe": analysis.recipe | {"scale": analysis.scale},
        "path": records(model_columns(analysis)),
        "choice": {
            "index": chosen.index,
            "parameter_name": chosen.parameter_name,
            "parameter": int(chosen.parameter) if counts else chosen.parameter,
            "criterion": chosen.criterion,
            "rule": chosen.rule,
            "dof": model.dof,
            "dof_range": spread and [spread.lower, spread.upper],
            "weights": chosen.weights if len(chosen.weights or ()) > 1 else model.weights,
            "words": f"{analysis.choice} {analysis.noise}",
        },
        "errors": analysis.average
        and {"chosen": model.rmse, "average": analysis.average.rmse, "words": analysis.errors},
        "recipes": records(pool_columns(analysis)),
        "search": _search(analysis),
        "permutations": analysis.permutation and _permutations(analysis.permutation),
        "assumptions": inference and inference.assumptions,
        "r_squared": analysis.r_squared,
        "merit": {name: asdict(figures) for name, figures in analysis.merit.items()},
        "unusual": [one for one in records(row_columns(analysis)) if one["beyond"]],
        "test": test
        and {
            "source": test.rows.source,
            "inside": test.inside,
            "rows": records(test_columns(analysis)),
            "words": analysis.tested,
        },
        "sigma": {
            "value": analysis.noise_std,
            "kind": analysis.noise_kind,
            "level": analysis.request.level,
            **dict(
                zip(
                    ("by_residuals", "lower", "upper"),
                    [None] * 3 if limits is None else limits,
                    strict=True,
                )
            ),
        },
        "intercept": {
            "value": analysis.leading.intercept,
            "std_error": inference and inference.intercept_std_error,
        },
        "coefficients": records(coefficient_columns(analysis)),
        "remarks": [asdict(one) for one in analysis.remarks],
        "warnings": [one.words for one in analysis.remarks if one.severity == "severe"],
        "notes": [one.words for one in analysis.remarks],
    }


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


def _permutations(test: PermutationTest) -> dict[str, Any]:
    found = {name: getattr(test, name) for name in ("p_value", "score", "permuted")}
    return found | {"words": f"{test.message} {test.assumptions}"}
