"""What the pictures share: colours, axes, names of predictors, and what can be drawn.

Colours are those of Okabe & Ito (2008), which people with any kind of colour vision can tell
apart; because some of them are equally dark, lines also differ in dash and marker.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from plsdof._core.choice import Selection
from plsdof._core.criteria import criterion_label, is_squared
from plsdof._core.inputs import Array, read_only
from plsdof._core.model import ModelLike, as_model
from plsdof._core.path import Path
from plsdof.errors import InvalidInputError, MissingExtraError
from plsdof.files.columns import header_number, header_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# How predictors are named and placed on an axis: by the numbers in their names, if there are
# -------------------------------------------------------------------------------------------

# What the axis is called, by the unit in the names.
_AXIS_TITLES = {
    "": "wavelength (number in the column name)",
    "nm": "wavelength (nm)",
    "um": "wavelength (µm)",
    "µm": "wavelength (µm)",
    "cm-1": "wavenumber (1/cm)",
    "cm^-1": "wavenumber (1/cm)",
    "cm⁻¹": "wavenumber (1/cm)",
    "1/cm": "wavenumber (1/cm)",
    "ppm": "chemical shift (ppm)",
    "eV": "energy (eV)",
}
# Characters that turn the direction of the text around them: they hide what a name says.
_OVERRIDES = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


@dataclass(frozen=True, kw_only=True)
class FeatureAxis:
    """Positions and names of the predictors.

    Attributes
    ----------
    positions : (p,) array
        The numbers in the names, or 1..p.
    names : tuple of str
        Readable names, of bounded length and without control characters.
    is_numeric : bool
        Whether the names are numbers, such as wavelengths.
    title : str
        What the positions are, with their unit.
    order : (p,) array of int
        Predictors from left to right.
    """

    positions: Array
    names: tuple[str, ...]
    is_numeric: bool
    title: str
    order: npt.NDArray[np.intp]


def feature_axis(names: Sequence[str] | None, n_features: int) -> FeatureAxis:
    """Place predictors by the numbers in their names, or in the given order.

    Names are numbers if all are (`files.columns.header_number`), with the same unit or none, and
    no two are equal. The numbers 0, 1, 2, ... or 1, 2, 3, ... only count the columns.

    Examples
    --------
    >>> axis = feature_axis(["1100 nm", "1102 nm", "1104 nm"], 3)
    >>> axis.positions, axis.title
    (array([1100., 1102., 1104.]), 'wavelength (nm)')
    >>> feature_axis(["age", "1102"], 2).is_numeric
    False
    """
    if names is None or len(names) != n_features:
        names = [f"x{i + 1}" for i in range(n_features)]
    found = _numbers(names)
    if found is None:
        positions, title = np.arange(1.0, n_features + 1), "predictor (in the order of the columns)"
    else:
        positions, title = found
    return FeatureAxis(
        positions=read_only(positions),
        names=tuple(readable(name) for name in names),
        is_numeric=found is not None,
        title=title,
        order=np.argsort(positions, kind="stable"),
    )


def readable(text: str, most: int = 60) -> str:
    """Return text fit to be shown in one line: bounded, no control characters or overrides.

    Examples
    --------
    >>> readable(" two   words ")
    'two words'
    >>> readable("x" * 100, most=10)
    'xxxxxxxxx…'
    """
    text = str(text)
    line = " ".join(text[: 4 * most].split()) or "(no name)"
    clean = "".join(c if is_harmless(c) else "\ufffd" for c in line)
    return clean if len(clean) <= most and len(text) <= 4 * most else clean[: most - 1] + "…"


def is_harmless(character: str) -> bool:
    """Whether a character neither controls the output nor turns the text around it."""
    return character not in _OVERRIDES and unicodedata.category(character) not in ("Cc", "Cs")


def _numbers(names: Sequence[str]) -> tuple[Array, str] | None:
    found = [header_number(name) for name in names]
    values = np.array([number for number in found if number is not None])
    if len(values) < max(2, len(names)) or not np.all(np.isfinite(values)):
        return None
    units = set(map(header_unit, names))
    if len(units) > 1 or len(np.unique(values)) < len(values) or _only_counts(values):
        return None
    unit = units.pop()
    return values, _AXIS_TITLES.get(unit, f"position ({unit})")


def _only_counts(values: Array) -> bool:
    return bool(values[0] in (0, 1) and np.all(np.diff(values) == 1))


# What the pictures share: colours, line styles, axes over models, and the way to matplotlib
# ------------------------------------------------------------------------------------------

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
# Up to this many predictors each has a line of its own with its name.
MOST_NAMED = 40
# A quantity that spans more than this ratio is drawn on a logarithmic axis.
_WIDE_RATIO = 20.0
# From the axes down to a legend below them, in heights of a line of text.
_LINES_BELOW = 3.9
_MODEL_AXIS_TITLES = {"n_components": "number of components", "alpha": "penalty alpha"}


def matplotlib(module: str) -> Any:
    """Return a module of matplotlib, which is imported when something is drawn."""
    try:
        return import_module(f"matplotlib.{module}")
    except ImportError as error:
        raise MissingExtraError("matplotlib", "plot", "Drawing") from error


def axes_or_new(ax: Any) -> "Axes":
    """Return ``ax``, or the axes of a new pyplot figure."""
    pyplot = matplotlib("pyplot")
    if ax is None:
        _, ax = pyplot.subplots(layout="constrained")
    if not hasattr(ax, "figure"):
        raise InvalidInputError(f"ax must be matplotlib axes or None; got {type(ax).__name__}.")
    axes: Axes = ax
    return axes


def show_models(ax: "Axes", parameter_name: str) -> None:
    """Prepare the horizontal axis for models, simple ones on the left."""
    ax.set_xlabel(_MODEL_AXIS_TITLES.get(parameter_name, parameter_name))
    if parameter_name == "alpha":
        ax.set_xlabel("penalty alpha (richer models to the right)")
        ax.set_xscale("log")
        if not ax.xaxis_inverted():
            ax.invert_xaxis()
        return
    ax.xaxis.set_major_locator(matplotlib("ticker").MaxNLocator(integer=True))


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
    return f"{parameter:.3g} component{'' if parameter == 1 else 's'}"


def show_legend(ax: "Axes") -> None:
    """Show a legend below the axes, under ticks and title, where it hides nothing.

    A figure without a layout engine makes no room there: it has the legend inside, readable where
    lines pass behind it.
    """
    if ax.figure.get_layout_engine() is None:
        ax.legend(framealpha=0.85, edgecolor="none")
        return
    inches = _LINES_BELOW * matplotlib("pyplot").rcParams["font.size"] / 72
    drop = matplotlib("transforms").ScaledTranslation(0, -inches, ax.figure.dpi_scale_trans)
    ax.legend(
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        bbox_transform=ax.transAxes + drop,
        ncols=2,
        frameon=False,
        borderaxespad=0.0,
        fontsize="small",
    )


def draw_over_features(ax: "Axes", features: FeatureAxis, values: Array, **style: Any) -> Any:
    """Draw one value per predictor: a curve over positions, or a marker beside every name.

    Returns the line. `show_features` writes the axis.
    """
    if is_curve(features):
        order = features.order
        style = {"linewidth": 1.2} | style
        (line,) = ax.plot(features.positions[order], values[order], **style)
        return line
    defaults: dict[str, Any] = {"marker": "o", "linestyle": "none", "markersize": 4}
    (line,) = ax.plot(values, np.arange(len(values)), **defaults | style)
    return line


def show_features(ax: "Axes", features: FeatureAxis, title: str, *, spectra: bool = False) -> None:
    """Write names or positions of the predictors, with plain numbers, and what is drawn."""
    if spectra or is_curve(features):
        if not spectra:
            ax.axhline(0.0, color=GREY, linewidth=0.8, zorder=0)
        ax.set_xlabel(features.title)
        ax.set_ylabel(title)
        ax.margins(x=0.01)
        # 12000, neither 1.2e4 nor 2 + 1.2e4: a wavelength is a name.
        ax.ticklabel_format(axis="x", style="plain", useOffset=False)
        return
    names = [plain(name, 22) for name in features.names]
    ax.axvline(0.0, color=GREY, linewidth=0.8, zorder=0)
    ax.set_yticks(np.arange(len(names)), names, fontsize="small")
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.set_xlabel(title)


def is_curve(features: FeatureAxis) -> bool:
    """Whether predictors are drawn as a curve: wavelengths, or too many to name each."""
    return features.is_numeric or len(features.names) > MOST_NAMED


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
    label = criterion_label(name)
    return f"{label} (response²)" if is_squared(name) else label


def write_name(ax: "Axes", name: str, where: Array) -> None:
    """Write a name of at most 16 characters beside a point."""
    style: dict[str, Any] = {"textcoords": "offset points", "fontsize": "small"}
    ax.annotate(plain(name, 16), tuple(where), xytext=(4, 3), **style)


def plain(text: str, most: int = 30) -> str:
    """Return a readable text that matplotlib does not take for mathematics."""
    return readable(text, most).replace("$", r"\$")


# What the displays share: their axes, estimators in the place of models, and a choice to mark
# -------------------------------------------------------------------------------------------


@dataclass(kw_only=True, eq=False)
class Display:
    """A picture in scikit-learn's convention: made by ``from_...``, drawn by ``plot``.

    Attributes
    ----------
    ax_, figure_ : matplotlib objects
        What was drawn on.
    """

    ax_: "Axes" = field(init=False, repr=False)
    figure_: "Figure" = field(init=False, repr=False)

    @classmethod
    def from_estimator(cls, estimator: Any, *args: Any, **kwargs: Any) -> Self:
        """Draw a fitted estimator, or a Pipeline that ends in one, like its path or model."""
        make = getattr(cls, "from_model", None) or cls.from_path  # type: ignore[attr-defined]
        display: Self = make(estimator, *args, **kwargs)
        return display

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw on ``ax``, or on new axes; ``kwargs`` go to the lines or points."""
        self.ax_ = axes_or_new(ax)
        self.figure_ = self.ax_.figure  # type: ignore[assignment]
        self._draw(kwargs)
        if self.ax_.get_legend_handles_labels()[0]:
            show_legend(self.ax_)
        return self

    def _draw(self, style: dict[str, Any]) -> None:
        """Draw on ``ax_``, with the user's style of lines or points."""
        raise NotImplementedError


# What pictures of all models take.
PathLike = Path | ModelLike


def chosen_parameter(subject: Any, path: Path, selection: Any) -> float | None:
    """Return the parameter to mark: of a selection, or of a model that is drawn by its path."""
    if selection is None:
        return None if subject is path else as_model(subject).parameter
    if not isinstance(selection, Selection):
        kind = repr(selection) if isinstance(selection, str) else type(selection).__name__
        raise InvalidInputError(
            f"selection must be a Selection, as made by path.select(); got {kind}."
        )
    return selection.parameter
