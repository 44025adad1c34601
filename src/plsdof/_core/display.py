"""How results show themselves: in one line, as a data frame, and in a notebook."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from plsdof.errors import MissingExtraError

if TYPE_CHECKING:
    from pandas import DataFrame


def one_line(result: object, *facts: str, **values: object) -> str:
    """Return the class of a result with what matters about it, for its ``repr``.

    Examples
    --------
    >>> one_line(1.5, "3 models", n=20.0, solver="svd")
    "float(3 models, n=20, solver='svd')"
    """
    named = (f"{name}={_shown(value)}" for name, value in values.items())
    return f"{type(result).__name__}({', '.join([*facts, *named])})"


def plural(count: int, noun: str) -> str:
    """Return a number of things in words.

    Examples
    --------
    >>> plural(1, "component"), plural(2, "component")
    ('1 component', '2 components')
    """
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def model_in_words(parameter: float, name: str) -> str:
    """Return what a model is called by its parameter.

    Examples
    --------
    >>> model_in_words(2.0, "n_components"), model_in_words(0.5, "alpha")
    ('2 components', 'alpha = 0.5')
    """
    return (
        plural(int(parameter), "component") if name == "n_components" else f"{name} = {parameter:g}"
    )


def data_frame(columns: Mapping[str, Any], names: Sequence[Any] | None = None) -> "DataFrame":
    """Return columns as a pandas data frame, with the names of the rows where they are known.

    Examples
    --------
    >>> data_frame({"coef": [1.0, 2.0]}, ["fat", "water"])
           coef
    fat     1.0
    water   2.0
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingExtraError("pandas", "frame", "A data frame") from error
    # A copy: results are read-only, frames are not.
    index = None if names is None else list(names)
    return pd.DataFrame(dict(columns), index=index, copy=True)


def parameter_column(values: npt.NDArray[Any], name: str) -> npt.NDArray[Any]:
    """Return the parameters of models as they are shown: whole numbers of components, or alphas."""
    return values.astype(np.intp) if name == "n_components" else values


def _shown(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else repr(value)


# How results show themselves in a notebook: a table and a small curve, in HTML of their own
# ------------------------------------------------------------------------------------------

# Rows of a table that are shown around the one that matters.
_MOST_ROWS = 16
# Colours that can be told apart by everybody (Okabe & Ito), and how lines are dashed.
_LINES = (("#0072B2", ""), ("#D55E00", "5 3"), ("#009E73", "2 2"), ("#CC79A7", "7 2 2 2"))
_WIDTH, _HEIGHT, _MARGIN = 300, 150, 34


@dataclass(frozen=True, kw_only=True)
class Curve:
    """Lines over a common axis, for `as_html`.

    Attributes
    ----------
    lines : mapping
        For every label, x and y of a line; points that are not finite are left out.
    x_label, y_label : str
    marked : tuple of float, optional
        x and y of the chosen model.
    logarithmic : bool
        Whether x is drawn on a logarithmic scale.
    """

    lines: Mapping[str, tuple[npt.NDArray[Any], npt.NDArray[Any]]]
    x_label: str
    y_label: str
    marked: tuple[float, float] | None = None
    logarithmic: bool = False


def as_html(
    title: str,
    columns: Mapping[str, Sequence[Any] | npt.NDArray[Any]],
    *,
    notes: Sequence[str] = (),
    chosen: int | None = None,
    curve: Curve | None = None,
) -> str:
    """Return a result as HTML that needs nothing else: a title, a table, a curve, remarks.

    Parameters
    ----------
    title : str
    columns : mapping from headings to values
        Long tables show the rows around the chosen one.
    notes : texts below the table
    chosen : int, optional
        Row in bold.
    curve : Curve, optional

    Examples
    --------
    >>> "<td>0.5</td>" in as_html("a model", {"name": ["<x>"], "coef": [0.5]})
    True
    >>> "<x>" in as_html("a model", {"name": ["<x>"], "coef": [0.5]})
    False
    """
    size = max((len(values) for values in columns.values()), default=0)
    first = 0
    if size > _MOST_ROWS and chosen is not None:
        first = max(0, min(chosen - _MOST_ROWS // 2, size - _MOST_ROWS))
    shown = range(first, min(first + _MOST_ROWS, size))
    head = "".join(f"<th>{escape(str(name))}</th>" for name in columns)
    rows = []
    for i in shown:
        cells = "".join(f"<td>{_cell(values[i])}</td>" for values in columns.values())
        rows.append(f"<tr{' style=font-weight:bold' if i == chosen else ''}>{cells}</tr>")
    remarks = list(notes)
    if len(shown) < size:
        remarks.append(f"Rows {shown.start + 1} to {shown.stop} of {size}.")
    below = "".join(f"<p style='margin:4px 0'>{escape(note)}</p>" for note in remarks)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    picture = "" if curve is None else _svg(curve)
    return (
        f"<div><p style='margin:4px 0'><b>{escape(title)}</b></p>"
        "<div style='display:flex;flex-wrap:wrap;gap:16px;align-items:flex-start'>"
        f"{table if columns else ''}{picture}</div>{below}</div>"
    )


def _cell(value: Any) -> str:
    if isinstance(value, float | np.floating):
        return "" if np.isnan(value) else f"{value:.4g}"
    return escape(str(value))


def _svg(curve: Curve) -> str:
    """Draw the lines of a curve, with the ends of both axes as numbers."""
    lines = {}
    for label, (x, y) in curve.lines.items():
        x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
        fine = np.isfinite(x) & np.isfinite(y) & ((x > 0) | (not curve.logarithmic))
        lines[label] = (np.log10(x[fine]) if curve.logarithmic else x[fine], y[fine])
    xs = np.concatenate([x for x, _ in lines.values()] or [np.zeros(0)])
    ys = np.concatenate([y for _, y in lines.values()] or [np.zeros(0)])
    if not len(xs):
        return ""
    to_x = _scale(xs, _MARGIN, _WIDTH - 8)
    to_y = _scale(ys, _HEIGHT - _MARGIN, 20)
    parts = [
        f'<path d="M{_MARGIN} 20V{_HEIGHT - _MARGIN}H{_WIDTH - 8}" fill="none" stroke="#888"/>'
    ]
    for number, (label, (x, y)) in enumerate(lines.items()):
        color, dash = _LINES[number % len(_LINES)]
        points = " ".join(f"{to_x(a):.1f},{to_y(b):.1f}" for a, b in zip(x, y, strict=True))
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="1.6" '
            f'stroke-dasharray="{dash}"/>'
        )
        if len(lines) > 1:
            place = _MARGIN + 6 + number * (_WIDTH - _MARGIN) / len(lines)
            parts.append(_text(place, 13, label, color))
    if curve.marked is not None and np.all(np.isfinite(curve.marked)):
        a, b = curve.marked
        a = float(np.log10(a)) if curve.logarithmic else a
        parts.append(f'<circle cx="{to_x(a):.1f}" cy="{to_y(b):.1f}" r="4" fill="#D55E00"/>')
    low, high = (10 ** float(end) if curve.logarithmic else float(end) for end in _ends(xs))
    bottom = _HEIGHT - _MARGIN + 14
    parts += [
        _text(_MARGIN, bottom, f"{low:.3g}"),
        _text(_WIDTH - 8, bottom, f"{high:.3g}", anchor="end"),
        _text(_MARGIN - 3, _HEIGHT - _MARGIN, f"{ys.min():.2g}", anchor="end"),
        _text(_MARGIN - 3, 28, f"{ys.max():.2g}", anchor="end"),
        _text((_MARGIN + _WIDTH) / 2, bottom + 13, curve.x_label, anchor="middle"),
    ]
    about = escape(f"{curve.y_label} against {curve.x_label}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}" role="img" '
        f'aria-label="{about}" font-family="sans-serif" font-size="10" fill="currentColor">'
        f"<title>{about}</title>{''.join(parts)}</svg>"
    )


def _ends(values: npt.NDArray[Any]) -> tuple[float, float]:
    return float(values.min()), float(values.max())


def _scale(values: npt.NDArray[Any], start: float, end: float) -> Callable[[float], float]:
    """Return the map that brings the values between two positions."""
    low, high = _ends(values)
    step = (end - start) / (high - low) if high > low else 0.0
    return lambda value: start + (float(value) - low) * step


def _text(x: float, y: float, words: str, color: str = "", anchor: str = "start") -> str:
    fill = f' fill="{color}"' if color else ""
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}"{fill}>{escape(words)}</text>'
