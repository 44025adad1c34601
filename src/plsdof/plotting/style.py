"""What the pictures share: colours, line styles, axes over models, and the way to matplotlib.

Colours are those of Okabe & Ito (2008), which people with any kind of colour vision can tell
apart; because some of them are equally dark, lines also differ in dash and marker.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from plsdof._validation import Array
from plsdof.errors import MissingExtraError
from plsdof.plotting.features import readable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLUE, VERMILLION, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
BLACK, GREY = "#000000", "#595959"
# Colour, dash and marker of the first, second, ... line of a picture.
LINES = (
    (BLUE, "-", "o"),
    (VERMILLION, "--", "s"),
    (GREEN, "-.", "^"),
    (BLACK, ":", "D"),
    (PURPLE, (0, (5, 1)), "v"),
)
# A quantity that spans more than this ratio is drawn on a logarithmic axis.
_WIDE_RATIO = 20.0
# From the axes down to a legend below them, in heights of a line of text.
_LINES_BELOW = 3.9
_AXIS_TITLES = {"n_components": "number of components", "alpha": "penalty alpha"}
# Criteria on the scale of a mean squared error; others have no unit.
IN_SQUARED_UNITS = ("aic", "bic", "gcv", "cv-error")


def axes_or_new(ax: Any) -> "Axes":
    """Return ``ax``, or the axes of a new pyplot figure."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise MissingExtraError("matplotlib", "plot", "Drawing") from error
    if ax is None:
        _, ax = plt.subplots(layout="constrained")
    axes: Axes = ax
    return axes


def new_figure(width: float, height: float) -> Any:
    """Return a figure that pyplot does not keep, so that nothing has to close it."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("matplotlib", "plot", "Drawing") from error
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    roomy = ConstrainedLayoutEngine(h_pad=0.12, w_pad=0.12)
    return Figure(figsize=(width, height), layout=roomy)


def show_models(ax: "Axes", parameter_name: str) -> None:
    """Prepare the horizontal axis for models, simple ones on the left."""
    ax.set_xlabel(_AXIS_TITLES.get(parameter_name, parameter_name))
    if parameter_name == "alpha":
        ax.set_xlabel("penalty alpha (richer models to the right)")
        ax.set_xscale("log")
        if not ax.xaxis_inverted():
            ax.invert_xaxis()
        return
    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator(integer=True))


def mark_chosen(ax: "Axes", parameter: float | None, parameter_name: str) -> Any:
    """Draw a vertical line at the chosen model, if there is one."""
    if parameter is None:
        return None
    text = f"chosen: {model_words(parameter, parameter_name)}"
    return ax.axvline(parameter, color=GREY, linestyle=":", linewidth=1.5, label=text, zorder=1)


def model_words(parameter: float, parameter_name: str) -> str:
    """Say which model a parameter stands for.

    Examples
    --------
    >>> model_words(1.0, "n_components"), model_words(0.25, "alpha")
    ('1 component', 'alpha = 0.25')
    """
    if parameter_name != "n_components":
        return f"{parameter_name} = {parameter:.4g}"
    return f"{parameter:g} component{'' if parameter == 1 else 's'}"


def show_legend(ax: "Axes", **options: Any) -> None:
    """Show a legend below the axes, where it hides nothing.

    A figure without a layout engine makes no room there: it has the legend inside, readable where
    lines pass behind it.
    """
    style: dict[str, Any] = {"framealpha": 0.85, "edgecolor": "none"}
    if ax.figure.get_layout_engine() is not None:
        style = _below(ax)
    ax.legend(**style | options)


def _below(ax: "Axes") -> dict[str, Any]:
    """Return the place of a legend under ticks, their labels and the title of the axis."""
    from matplotlib import rcParams
    from matplotlib.transforms import ScaledTranslation

    inches = _LINES_BELOW * rcParams["font.size"] / 72
    drop = ScaledTranslation(0, -inches, ax.figure.dpi_scale_trans)
    return {
        "loc": "upper center",
        "bbox_to_anchor": (0.5, 0.0),
        "bbox_transform": ax.transAxes + drop,
        "ncols": 2,
        "frameon": False,
        "borderaxespad": 0.0,
        "fontsize": "small",
    }


def sparse_markers(values: Array) -> dict[str, Any]:
    """Return the spacing of markers that keeps a long line legible."""
    return {"marker": "o", "markersize": 4, "markevery": max(1, len(values) // 25)}


def spans_decades(values: Array) -> bool:
    """Whether positive values differ so much that a linear axis would hide the small ones.

    Examples
    --------
    >>> spans_decades(np.array([100.0, 1.0, np.nan])), spans_decades(np.array([2.0, 1.0]))
    (True, False)
    """
    known = values[np.isfinite(values)]
    return bool(known.size and known.min() > 0 and known.max() > _WIDE_RATIO * known.min())


def criterion_title(name: str) -> str:
    """Return the name of a criterion with its unit (that of the response, squared), for an axis.

    Examples
    --------
    >>> criterion_title("bic")
    'BIC (response²)'
    """
    words = f"cross-validated {name[3:]}" if name.startswith("cv-") else name.upper()
    return f"{words} (response²)" if name in IN_SQUARED_UNITS else words


def plain(text: str, most: int = 30) -> str:
    """Return a readable text that matplotlib does not take for mathematics."""
    return readable(text, most).replace("$", r"\$")
