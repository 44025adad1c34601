"""What the pictures share: colours, axes, names of predictors, and what can be drawn.

Colours are those of Okabe & Ito (2008), which people with any kind of colour vision can tell
apart; because some of them are equally dark, lines also differ in dash and marker.
"""

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from plsdof._core.axes import header_number, header_unit
from plsdof._core.criteria import criterion_label, is_squared
from plsdof._core.inputs import Array, as_count, read_only
from plsdof._core.model import ModelLike
from plsdof._core.path import Path
from plsdof.errors import InvalidInputError, MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
# Characters that turn the direction of the text around them and could disguise a name.
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
    is_named : bool
        Whether some name is more than a number.
    """

    positions: Array
    names: tuple[str, ...]
    is_numeric: bool
    title: str
    order: npt.NDArray[np.intp]
    is_named: bool = True


def feature_axis(names: Sequence[str] | None, n_features: int) -> FeatureAxis:
    """Place predictors by the numbers in their names, or in the given order.

    Names are numbers if all are (`header_number`), with the same unit or none, and
    no two are equal. The numbers 0, 1, 2, ... or 1, 2, 3, ... only count the columns.

    Examples
    --------
    >>> axis = feature_axis(["1100 nm", "1102 nm", "1104 nm"], 3)
    >>> axis.positions, axis.title
    (array([1100., 1102., 1104.]), 'wavelength (nm)')
    >>> feature_axis(["age", "1102"], 2).is_numeric
    False
    """
    given = names is not None and len(names) == n_features
    known = list(names or ()) if given else [f"x{i + 1}" for i in range(n_features)]
    numbers, units = [header_number(name) for name in known], sorted(set(map(header_unit, known)))
    values = np.array([np.nan if one is None else one for one in numbers])
    is_axis = n_features > 1 and bool(np.isfinite(values).all()) and len(units) == 1
    is_axis = is_axis and len(set(numbers)) == n_features
    if is_axis and values[0] in (0, 1) and np.all(np.diff(values) == 1):
        is_axis = False
    title = "predictor (in the order of the columns)"
    if is_axis:
        title = _AXIS_TITLES.get(units[0], f"position ({units[0]})")
    positions = values if is_axis else np.arange(1.0, n_features + 1)
    return FeatureAxis(
        positions=read_only(positions),
        names=tuple(readable(name) for name in known),
        is_numeric=is_axis,
        title=title,
        order=np.argsort(positions, kind="stable"),
        is_named=given and None in numbers,
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
# Up to this many predictors without a name are drawn one by one.
MOST_NAMED = 40
# So many bars are drawn, of the largest values.
MOST_BARS = 20
# A quantity that spans more than this ratio is drawn on a logarithmic axis.
_WIDE_RATIO = 20.0
# From the axes down to a legend below them, in heights of a line of text.
_LINES_BELOW = 3.9
# Labels of more characters do not fit side by side.
_LONG_LABEL = 34
# Mean squared errors of prediction are drawn as their roots, in units of the response.
ROOTED = {"left-out": "RMSECV", "cv-error": "RMSECV", "cv_error": "RMSECV", "train_error": "RMSEC"}


def matplotlib(module: str) -> Any:
    """Return a module of matplotlib, which is imported when something is drawn."""
    try:
        return import_module(f"matplotlib.{module}")
    except ImportError as error:
        raise MissingExtraError("matplotlib", "plot", "Drawing") from error


def show_legend(ax: "Axes") -> None:
    """Show a legend below the axes, under ticks and title, where it hides nothing.

    A figure without a layout engine makes no room there: it has the legend inside, readable where
    lines pass behind it.
    """
    if ax.figure.get_layout_engine() is None:
        ax.legend(framealpha=0.85, edgecolor="none")
        return
    inches = _LINES_BELOW * matplotlib("pyplot").rcParams["font.size"] / 72
    longest = max(len(label) for label in ax.get_legend_handles_labels()[1])
    drop = matplotlib("transforms").ScaledTranslation(0, -inches, ax.figure.dpi_scale_trans)
    ax.legend(
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        bbox_transform=ax.transAxes + drop,
        ncols=1 if longest > _LONG_LABEL else 2,
        frameon=False,
        borderaxespad=0.0,
        fontsize="small",
    )


def show_positions(ax: "Axes", features: FeatureAxis, title: str) -> None:
    """Write the axes of curves over the predictors."""
    ax.set_xlabel(features.title)
    ax.set_ylabel(title)
    ax.margins(x=0.01)
    # 12000, neither 1.2e4 nor 2 + 1.2e4: a wavelength is a name.
    ax.ticklabel_format(axis="x", style="plain", useOffset=False)


def is_spectrum(features: FeatureAxis) -> bool:
    """Whether predictors are drawn as a curve: wavelengths, or many columns without names."""
    many = len(features.names) > MOST_NAMED
    return features.is_numeric or (many and not features.is_named)


def spans_decades(values: Array) -> bool:
    """Whether positive values differ so much that a linear axis would hide the small ones.

    Examples
    --------
    >>> spans_decades(np.array([100.0, 1.0, np.nan])), spans_decades(np.array([2.0, 1.0]))
    (True, False)
    """
    known = values[np.isfinite(values)]
    return bool(known.size and known.min() > 0 and known.max() > _WIDE_RATIO * known.min())


def criterion_title(name: str, response: str = "response") -> str:
    """Return the name of a criterion with its unit, for an axis; errors are their square roots.

    Examples
    --------
    >>> criterion_title("bic"), criterion_title("left-out", "octane")
    ('BIC (response²)', 'RMSECV (octane)')
    """
    unit = plain(response)
    if name in ROOTED:
        return f"{ROOTED[name]} ({unit})"
    label = criterion_label(name)
    return f"{label} ({unit}²)" if is_squared(name) else label


def write_names(ax: "Axes", names: Sequence[str], points: Iterable[Any], dots: Array) -> None:
    """Write names of at most 16 characters beside points, in order, where they find room.

    A name goes to one of four corners of its point, inside of the frame and away from all dots and
    from the names before it; one that finds no room is left out.
    """
    if names:
        ax.figure.draw_without_rendering()  # type: ignore[union-attr]
    taken: list[Any] = []
    paper = {"facecolor": "white", "alpha": 0.7, "edgecolor": "none", "pad": 0}
    places = ax.transData.transform(dots)
    for name, point in zip(names, points, strict=True):
        for x, y in ((4, 3), (-4, 3), (4, -3), (-4, -3)):
            sides: dict[str, Any] = {"ha": "left" if x > 0 else "right"}
            sides |= {"va": "bottom" if y > 0 else "top", "fontsize": "small", "bbox": paper}
            text = ax.annotate(
                plain(name, 16), tuple(point), xytext=(x, y), textcoords="offset points", **sides
            )
            box = text.get_window_extent()
            inside = np.all(box.min >= ax.bbox.min) and np.all(box.max <= ax.bbox.max)
            free = not box.count_contains(places) and not box.count_overlaps(taken)
            if inside and free:
                taken.append(box.padded(1))
                break
            text.remove()


def plain(text: str, most: int = 24) -> str:
    """Return a readable text that matplotlib does not take for mathematics.

    Names of one table often differ at their ends: what is too much is left out of the middle.

    Examples
    --------
    >>> plain("molecular descriptor 17", 12)
    'molecu…or 17'
    """
    whole = readable(text)
    start = most // 2
    cut = whole if len(whole) <= most else f"{whole[:start]}…{whole[start + 1 - most :]}"
    return cut.replace("$", r"\$")


# What the displays share: axes, points, names and a colour bar
# -------------------------------------------------------------

# What pictures of all models take.
PathLike = Path | ModelLike


@dataclass(kw_only=True, eq=False)
class Display:
    """A picture in scikit-learn's convention: made by ``from_...``, drawn by ``plot``.

    Attributes
    ----------
    response : str
        What was measured, for the labels.
    names : tuple of str or None
        Of the rows, where points have names.
    ax_, figure_ : matplotlib objects
        What was drawn on. Lines, points and bars that were drawn are attributes, too.
    """

    response: str = "response"
    names: tuple[str, ...] | None = None
    ax_: Any = field(init=False, repr=False)
    figure_: Any = field(init=False, repr=False)

    @classmethod
    def from_estimator(cls, estimator: Any, *args: Any, **kwargs: Any) -> Self:
        """Draw a fitted estimator, or a Pipeline that ends in one, like its path or model."""
        make = getattr(cls, "from_model", None) or cls.from_path  # type: ignore[attr-defined]
        display: Self = make(estimator, *args, **kwargs)
        return display

    def plot(self, ax: Any = None, *, response: Any = None, names: Any = None, **look: Any) -> Self:
        """Draw on ``ax``, or on new axes.

        What ``from_...`` does not know goes here: ``response``, what was measured, for the labels;
        ``names``, what to call the rows; what lines or points take.
        """
        self.response = self.response if response is None else str(response)
        self.names = self.names if names is None else tuple(str(one) for one in names)
        if ax is None:
            _, ax = matplotlib("pyplot").subplots(layout="constrained")
        if not hasattr(ax, "figure"):
            raise InvalidInputError(f"ax must be matplotlib axes or None; got {type(ax).__name__}.")
        self.ax_, self.figure_ = ax, ax.figure
        self._named: tuple[Sequence[str], Iterable[Any]] = [], []
        self._dots = np.empty((0, 2))
        self._draw(look)
        if self.ax_.get_legend_handles_labels()[0]:
            show_legend(self.ax_)
        # Names find room once everything else has its place.
        write_names(self.ax_, *self._named, self._dots)
        return self

    def _draw(self, look: dict[str, Any]) -> None:
        """Draw on ``ax_``, with the user's look; note the names of points and where they are."""
        raise NotImplementedError

    def _points(self, xy: Array, **look: Any) -> Any:
        """Draw points (n, 2): open circles, if nothing else is asked for."""
        usual = {"color": BLUE, "marker": "o", "markersize": 5, "markerfacecolor": "none"}
        (points,) = self.ax_.plot(*xy.T, **{"linestyle": "none"} | usual | look)
        self._dots = np.vstack([self._dots, xy])
        return points

    def _color_bar(self, drawn: Any, title: str) -> Any:
        return self.figure_.colorbar(drawn, ax=self.ax_, label=plain(title))


def component_numbers(components: Any, available: int, least: int, most: int) -> tuple[int, ...]:
    """Return different numbers of components, counted from 1, that a path has."""
    given = (components,) if isinstance(components, int) else tuple(components)
    found = tuple(as_count(one, "components", minimum=1) for one in given)
    if not least <= len(found) == len(set(found)) <= most or max(found) > available:
        count = f"{least} to {most}" if least < most else "two"
        raise InvalidInputError(
            f"components must be {count} different numbers in 1..{available}, what the path has; "
            f"got {components!r}."
        )
    return found
