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
from plsdof._core.path import PLSPath
from plsdof.chemometrics.rows import row_units
from plsdof.chemometrics.variables import explained_variance, selectivity_ratio_test, vip
from plsdof.plotting.rows import ellipse
from plsdof.plotting.style import FeatureAxis, feature_axis, is_curve
from plsdof.report._subject import Subject, evenly_spaced, rounded, rounded_one

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


def spectra(subject: Subject, rows: Places) -> dict[str, Any] | None:
    """Return rows as curves, before and after preprocessing; None if they are not curves.

    ``rows`` are those of the other pictures; of many, some with evenly spread responses are taken.
    """
    tables = []
    if subject.raw is not None:
        tables.append(("raw", subject.raw, feature_axis(subject.raw_names, subject.raw.shape[1])))
    tables.append(("preprocessed" if tables else "raw", subject.features, subject.axis))
    drawn = [(kind, X, axis) for kind, X, axis in tables if is_curve(axis)]
    if not drawn:
        return None
    order = np.argsort(subject.y[rows], kind="stable")
    taken = np.sort(order[evenly_spaced(len(rows), _MOST_SPECTRA)])
    classes, edges = _classes(subject.y)
    return {
        "tables": [_spectra_table(kind, X, axis, rows[taken]) for kind, X, axis in drawn],
        "row": taken.tolist(),
        "preprocessing": subject.preprocessing,
        "selected": bool(subject.search),
        "classes": [[rounded_one(a), rounded_one(b)] for a, b in edges],
        "class_of": classes[rows[taken]].tolist(),
        "total": len(subject.y),
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


def components(subject: Subject, rows: Places) -> dict[str, Any] | None:
    """Return what the components of plain PLS are made of; None for other methods.

    The page computes contributions from it as `plsdof.chemometrics.contributions` does:
    e = x - P t for Q, and x_k sum_j R_kj t_j / s_j^2 for T^2.
    """
    path = subject.component_path
    if path is None or len(path.dof) < 2:
        return None
    path = path.complete()
    count = min(len(path.dof) - 1, max(_MOST_COMPONENTS, int(subject.selection.index)))
    shown = subject.shown_features
    most = min(_MOST_VARIABLES, max(2, _MOST_ENTRIES // max(1, len(rows))))
    picked = evenly_spaced(len(shown), most)
    columns = shown[picked]
    shares, names = explained_variance(path), _group_names(subject)
    return {
        "count": count,
        "x_share": rounded(100 * shares.x[:count], 3),
        "y_share": rounded(100 * shares.y[:count], 3),
        "half_axes": [rounded_one(one) for one in ellipse(path, subject.level)[:count]],
        # Standard deviations of the scores.
        "spread": [
            rounded_one(one, 7)
            for one in np.abs(path.filter.diagonal[:count]) / np.sqrt(path.spectrum.n - 1.0)
        ],
        "picked": picked.tolist(),
        "scores": floats(path.x_scores[rows, :count]),
        "loadings": floats(path.x_loadings[columns, :count]),
        "weights": floats(path.x_weights[columns, :count]),
        "rotations": floats(path.x_rotations[columns, :count]),
        "x": floats(_standardized(subject, path)[np.ix_(rows, columns)]),
        "groups": names,
        "group_of": None
        if subject.groups is None
        else [names.index(g) for g in _groups(subject, rows)],
    }


def _standardized(subject: Subject, path: PLSPath) -> Array:
    """Return the rows in the units of the fit."""
    return np.asarray((subject.features - path.units.x_mean) / row_units(path.units.x_scale))


def _group_names(subject: Subject) -> list[str]:
    """Return groups in order of appearance; from a dozen on the rest are "other"."""
    if subject.groups is None:
        return []
    found = list(dict.fromkeys(subject.groups))
    return found if len(found) <= _MOST_GROUPS else [*found[: _MOST_GROUPS - 1], "other"]


def _groups(subject: Subject, rows: Places) -> list[str]:
    names = _group_names(subject)
    assert subject.groups is not None
    return [subject.groups[i] if subject.groups[i] in names else names[-1] for i in rows]


# Importance of variables in one model
# ------------------------------------


def importance(subject: Subject, index: int) -> dict[str, Any]:
    """Return VIP and selectivity ratio of the drawn predictors; None for other methods."""
    if subject.component_path is None or index == 0:
        return {"vip": None, "selectivity": None, "selectivity_limit": None}
    drawn = subject.shown_features
    ratio = selectivity_ratio_test(subject.component_path, index, subject.level)
    return {
        "vip": packed(vip(subject.component_path, index)[drawn]),
        "selectivity": packed(ratio.values[drawn]),
        "selectivity_limit": rounded_one(ratio.limit),
    }
