"""The numbers behind pictures of many curves: spectra, components, importance of variables.

Tables of numbers that are drawn but not read are packed: 16-bit steps between the smallest and the
largest value are finer than a screen, and take a third of the space of digits. Scores, loadings
and predictors, of which the page computes contributions, are 32-bit floats.
"""

import base64
from typing import Any

import numpy as np
import numpy.typing as npt

from plsdof._core.inputs import Array
from plsdof._core.model import Model
from plsdof._core.path import PLSPath
from plsdof.chemometrics.diagnostics import explained_variance, selectivity_ratio, vip
from plsdof.chemometrics.rows import row_units, t2_limit
from plsdof.plotting.style import FeatureAxis, is_curve, readable
from plsdof.report._numbers import evenly_spaced, rounded, rounded_one
from plsdof.report.content import View

# How much of large tables is drawn.
_MOST_SPECTRA = 80
_MOST_POINTS = 500
_MOST_COMPONENTS = 20
_MOST_VARIABLES = 1000
_MOST_ENTRIES = 120_000
_CLASSES = 5
_MOST_GROUPS = 12
# The largest 16-bit number stands for what is not defined.
_STEPS = 65_534
_MISSING = 65_535

Places = npt.NDArray[np.intp]


def packed(values: Array) -> dict[str, Any]:
    """Pack numbers into 16 bits each: row by row, missing where they are not finite.

    Examples
    --------
    >>> packed(np.array([[0.0, 1.0], [np.nan, 0.5]]))
    {'columns': 2, 'low': 0.0, 'high': 1.0, 'data': 'AAD+/////38='}
    """
    array = np.atleast_2d(values)
    known = np.isfinite(array)
    low, high = (
        (float(array[known].min()), float(array[known].max())) if known.any() else (0.0, 0.0)
    )
    width = high - low if high > low else 1.0
    steps = np.rint((np.where(known, array, low) - low) / width * _STEPS)
    codes = np.where(known, steps, _MISSING).astype("<u2")
    return {"columns": array.shape[1], "low": low, "high": high, "data": _text(codes)}


def floats(values: Array) -> dict[str, Any]:
    """Keep numbers as 32-bit floats, row by row.

    Examples
    --------
    >>> floats(np.array([[1.0, 2.0]]))
    {'columns': 2, 'data': 'AACAPwAAAEA='}
    """
    array = np.atleast_2d(values)
    return {"columns": array.shape[1], "data": _text(array.astype("<f4"))}


def _text(array: npt.NDArray[Any]) -> str:
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode("ascii")


# Spectra: raw and preprocessed, coloured by classes of the response
# ------------------------------------------------------------------


def spectra(view: View) -> dict[str, Any] | None:
    """Return rows as curves, before and after preprocessing; None if they are not curves.

    They are rows of the other pictures; of many, some with evenly spread responses are taken.
    """
    analysis, rows = view.analysis, view.places
    chain, searched, tables = analysis.data.preprocessing, analysis.search is not None, []
    if chain is not None or searched:
        raw = np.asarray(analysis.drawn.rows.X, dtype=np.float64)
        tables.append(("raw", raw, view.axis))
    tables.append(("preprocessed" if tables else "raw", view.rows, view.axis))
    drawn = [(kind, X, axis) for kind, X, axis in tables if is_curve(axis)]
    if not drawn:
        return None
    order = np.argsort(view.y[rows], kind="stable")
    taken = np.sort(order[evenly_spaced(len(rows), _MOST_SPECTRA)])
    classes, edges = _classes(view.y)
    return {
        "tables": [_spectra_table(kind, X, axis, rows[taken]) for kind, X, axis in drawn],
        "row": taken.tolist(),
        "preprocessing": "" if chain is None else chain.steps,
        "selected": searched,
        "classes": [[rounded_one(a), rounded_one(b)] for a, b in edges],
        "class_of": classes[rows[taken]].tolist(),
        "total": len(view.y),
    }


def _spectra_table(kind: str, X: Array, axis: FeatureAxis, rows: Places) -> dict[str, Any]:
    points = axis.order[evenly_spaced(len(axis.order), _MOST_POINTS)]
    return {
        "kind": kind,
        "title": axis.title,
        "positions": _positions(axis, points),
        "total": len(axis.order),
        "values": packed(X[np.ix_(rows, points)]),
    }


def _classes(y: Array) -> tuple[Places, list[tuple[float, float]]]:
    """Divide rows into classes of equal size by their responses; return smallest and largest."""
    inner = np.unique(np.quantile(y, np.linspace(0, 1, _CLASSES + 1)[1:-1]))
    _, classes = np.unique(np.searchsorted(inner, y, side="left"), return_inverse=True)
    ends = [(y[classes == k].min(), y[classes == k].max()) for k in range(classes.max() + 1)]
    return classes, [(float(low), float(high)) for low, high in ends]


def _positions(axis: FeatureAxis, places: Places) -> list[float]:
    return [float(f"{axis.positions[j]:.10g}") for j in places]


# Components: scores, loadings and weights, and what contributions of a row are computed from
# -------------------------------------------------------------------------------------------


def components(view: View) -> dict[str, Any] | None:
    """Return what the components of plain PLS are made of; None for other methods.

    The page computes contributions from it as `plsdof.chemometrics.contributions` does:
    e = x - P t for Q, and x_k sum_j R_kj t_j / s_j^2 for T^2.
    """
    path, rows = view.pls, view.places
    if path is None or len(path) < 2:
        return None
    count = min(len(path) - 1, max(_MOST_COMPONENTS, view.analysis.index))
    shown = view.shown_features
    most = min(_MOST_VARIABLES, max(2, _MOST_ENTRIES // max(1, len(rows))))
    picked = evenly_spaced(len(shown), most)
    columns = shown[picked]
    shares, groups = explained_variance(path), _groups(view)
    n = path.exact.spectrum.n
    # Standard deviations of the scores, and half axes of the ellipse of T^2 of two components.
    spread = np.abs(path._filter.diagonal[:count]) / np.sqrt(n - 1.0)
    half_axes = np.sqrt(t2_limit(n, 2, view.level, True).value) * spread
    x = _standardized(view, path)[rows]
    return {
        "count": count,
        "x_share": rounded(100 * shares.x[:count], 3),
        "y_share": rounded(100 * shares.y[:count], 3),
        "half_axes": [rounded_one(one) for one in half_axes],
        "spread": [rounded_one(one, 7) for one in spread],
        "picked": picked.tolist(),
        "scores": floats(x @ path.x_rotations[:, :count]),
        "loadings": floats(path.x_loadings[columns, :count]),
        "weights": floats(path.x_weights[columns, :count]),
        "rotations": floats(path.x_rotations[columns, :count]),
        "x": floats(x[:, columns]),
        "groups": list(dict.fromkeys(groups)),
        "group_of": [list(dict.fromkeys(groups)).index(one) for one in groups[rows]]
        if len(groups)
        else None,
    }


def _standardized(view: View, path: PLSPath) -> Array:
    """Return the rows in the units of the fit."""
    units = path.exact.units
    return np.asarray((view.rows - units.x_mean) / row_units(units.x_scale))


def _groups(view: View) -> npt.NDArray[Any]:
    """Return the group of every row; from a dozen on the rest are "other"."""
    groups = view.analysis.drawn.groups
    if groups is None:
        return np.zeros(0, dtype=object)
    names = np.array([readable(one, 40) for one in groups.tolist()], dtype=object)
    known = list(dict.fromkeys(names))
    if len(known) > _MOST_GROUPS:
        names[~np.isin(names, known[: _MOST_GROUPS - 1])] = "other"
    return names


# Importance of variables in one model
# ------------------------------------


def importance(view: View, model: Model) -> dict[str, Any]:
    """Return VIP and selectivity ratio of the drawn predictors; None for other methods.

    Of an average those of the model with the largest weight.
    """
    if view.pls is None or model.index == 0:
        return {"vip": None, "selectivity": None, "selectivity_limit": None}
    drawn, single = view.shown_features, view.pls[model.index]
    ratio = selectivity_ratio(single, level=view.level)
    return {
        "vip": packed(vip(single)[drawn]),
        "selectivity": packed(ratio.values[drawn]),
        "selectivity_limit": rounded_one(ratio.limit),
    }
