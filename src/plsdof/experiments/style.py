"""The look of the pictures: distinguishable in colour, in grey, and by colour-blind readers."""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from plsdof._validation import Array
from plsdof.errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SETTINGS: dict[Any, Any] = {
    "font.size": 9.0,
    "axes.titlesize": 9.0,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "hatch.linewidth": 0.6,
    "lines.markersize": 5.0,
    "svg.hashsalt": "plsdof",  # the same picture gives the same bytes
    "svg.fonttype": "path",
}


@dataclass(frozen=True, kw_only=True)
class Look:
    """Colour of the palette of Okabe and Ito, line, marker and hatching of one method."""

    colour: str
    line: Any
    marker: str
    hatch: str

    @property
    def curve(self) -> dict[str, Any]:
        """Options for a line with markers."""
        return {
            "color": self.colour,
            "linestyle": self.line,
            "marker": self.marker,
            "markerfacecolor": "white",
            "markeredgewidth": 1.2,
            "linewidth": 1.4,
        }


LOOKS = {
    "CV": Look(colour="#0072B2", line="-", marker="o", hatch=""),
    "LANCZOS": Look(colour="#E69F00", line="--", marker="s", hatch="////"),
    "KRYLOV": Look(colour="#009E73", line="-.", marker="^", hatch="...."),
    "NAIVE": Look(colour="#D55E00", line=":", marker="D", hatch="xxxx"),
    "EXACT": Look(colour="#000000", line=(0, (6, 1.5)), marker="x", hatch="\\\\\\\\"),
    "PLS": Look(colour="#0072B2", line="-", marker="o", hatch=""),
    "PCR": Look(colour="#E69F00", line="--", marker="s", hatch="////"),
    "ridge": Look(colour="#009E73", line="-.", marker="^", hatch="...."),
}


def require_matplotlib() -> None:
    """Say what to install before any work is done."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("matplotlib", "plot", "Drawing the figures") from error


def panels(count: int, *, width: float = 8.0, height: float = 3.2) -> "tuple[Figure, list[Axes]]":
    """Return a figure with panels side by side, without the global state of pyplot."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots(1, count, squeeze=False)[0]
    return figure, list(axes)


def boxes(
    axes: "Axes", samples: Sequence[Array], positions: Sequence[float], look: Look, width: float
) -> None:
    """Draw boxplots in the look of one method; undefined numbers are left out."""
    drawn = axes.boxplot(
        [sample[~np.isnan(sample)] for sample in samples],
        positions=list(positions),
        widths=width,
        patch_artist=True,
        manage_ticks=False,
        flierprops={"marker": ".", "markersize": 3.0, "markeredgecolor": look.colour},
        medianprops={"color": "black", "linewidth": 1.4},
        whiskerprops={"color": look.colour},
        capprops={"color": look.colour},
    )
    for box in drawn["boxes"]:
        box.set(facecolor="white", edgecolor=look.colour, hatch=look.hatch, linewidth=1.2)


def render(draw: Any) -> dict[str, bytes]:
    """Draw a figure and return it as PNG and as SVG."""
    require_matplotlib()
    import matplotlib

    with matplotlib.rc_context(_SETTINGS):
        figure = draw()
        return {
            "png": _saved(figure, format="png", dpi=150),
            "svg": _saved(figure, format="svg", metadata={"Date": None}),
        }


def _saved(figure: "Figure", **options: Any) -> bytes:
    stream = io.BytesIO()
    figure.savefig(stream, **options)
    return stream.getvalue()
