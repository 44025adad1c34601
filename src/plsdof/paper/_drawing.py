"""Pictures of the paper's figures."""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from plsdof._core.inputs import Array
from plsdof.errors import MissingExtraError
from plsdof.paper.simulation import SHOWN

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from plsdof.paper.data_figures import Comparison, Curve
    from plsdof.paper.simulation import Simulation


# The look of the pictures: distinguishable in colour, in grey, and by colour-blind readers
# -----------------------------------------------------------------------------------------

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


# Pictures of Figures 1 to 3
# --------------------------


def draw_curves(curves: "Sequence[Curve]") -> "Figure":
    """Draw Degrees of Freedom against components, one panel per data set."""
    figure, axes = panels(len(curves), width=9.0, height=3.6)
    for ax, curve in zip(axes, curves, strict=True):
        _draw_curve(ax, curve)
    axes[0].set_ylabel("Degrees of Freedom")
    entries: dict[str, Any] = {}
    for ax in axes:
        handles, labels = ax.get_legend_handles_labels()
        entries |= dict(zip(labels, handles, strict=True))
    figure.legend(entries.values(), entries.keys(), loc="outside lower center", ncols=len(entries))
    return figure


def draw_comparison(results: "Comparison") -> "Figure":
    """Draw test error, components and Degrees of Freedom of PLS, PCR and ridge."""
    figure, (errors, components, dof) = panels(3)
    for ax, values, title, unit in (
        (errors, results.test_error, "Test error", "mean squared error (reading²)"),
        (components, results.parameter[:, :2], "Components", "number of components"),
        (dof, results.dof, "Degrees of Freedom", "Degrees of Freedom"),
    ):
        methods = ("PLS", "PCR", "ridge")[: values.shape[1]]
        for k, method in enumerate(methods):
            boxes(ax, [values[:, k]], [k], LOOKS[method], 0.6)
        ax.set_xticks(range(len(methods)), methods)
        ax.set_xlim(-0.6, len(methods) - 0.4)
        ax.set(title=title, ylabel=unit)
        ax.grid(visible=False, axis="x")
    return figure


def draw_training(results: "Comparison") -> "Figure":
    """Draw training error against components and against Degrees of Freedom."""
    figure, (left, right) = panels(2)
    mean = results.training.mean(axis=0)[:, :, 1:]
    for k, method in enumerate(("PLS", "PCR")):
        error, dof = mean[k]
        left.plot(np.arange(1, len(error) + 1), error, label=method, **LOOKS[method].curve)
        # The Degrees of Freedom of PLS do not always grow with m: points, not a line.
        options = LOOKS[method].curve | ({"linestyle": "none"} if method == "PLS" else {})
        right.plot(dof, error, label=method, **options)
    left.set(xlabel="number of components", ylabel="mean training error (reading²)")
    left.set_xticks(range(2, mean.shape[2] + 1, 2))
    right.set(xlabel="mean Degrees of Freedom", ylabel="mean training error (reading²)")
    for ax in (left, right):
        ax.legend()
    return figure


def _draw_curve(ax: "Axes", curve: "Curve") -> None:
    m = curve.components
    ax.plot(m, m + 1.0, "-", color="#0072B2", label="naive, m + 1")
    if curve.bound is not None:
        ax.axhline(curve.bound, linestyle="--", color="#009E73", label="lower bound, m = 1")
    if "cookie" in curve.source.name:
        _draw_krylov(ax, curve)
    ax.plot(m, curve.dof, "*", color="black", markersize=6.0, label="exact")
    n, p = curve.source.X.shape
    ax.set_title(f"{curve.source.label}\nn = {n}, p = {p}")
    ax.set_xlabel("number of components")
    ax.set_xticks(range(0, len(m), 4))


def _draw_krylov(ax: "Axes", curve: "Curve") -> None:
    """Draw what the Krylov algorithm returns, wild values at the edge of the panel."""
    low, high = -30.0, curve.dof.max() + 30.0
    shown = np.clip(curve.krylov, low, high)
    ax.plot(curve.components, shown, "x", color="#D55E00", label="paper's Krylov algorithm")
    if np.any(shown != curve.krylov):
        where = f"Krylov cut off at {low:.0f} and {high:.0f}"
        ax.text(0.02, 0.98, where, va="top", fontsize=7.5, transform=ax.transAxes)


# Pictures of Figures 4 to 8
# --------------------------

_DIMENSION = "number d of basis functions"
_WITHOUT_NAIVE = tuple(method for method in SHOWN if method != "NAIVE")
_WITHOUT_CV = tuple(method for method in SHOWN if method != "CV")
_WITHOUT_LANCZOS = tuple(method for method in SHOWN if method != "LANCZOS")


def draw_errors(results: "Simulation") -> "Figure":
    """Draw medians and boxplots of the normalised test error."""
    figure, (left, right) = panels(2, width=9.0, height=3.8)
    _medians(left, results, results.test_error, SHOWN)
    left.set_ylabel("median normalised test error")
    _grouped_boxes(right, results, results.test_error, _WITHOUT_NAIVE)
    right.set_ylabel("normalised test error")
    return figure


def draw_complexity(results: "Simulation") -> "Figure":
    """Draw mean components and mean Degrees of Freedom of the chosen models."""
    figure, axes = panels(2, width=9.0, height=3.8)
    for ax, values, label in zip(
        axes,
        (results.components, results.dof),
        ("mean number of components", "mean Degrees of Freedom"),
        strict=True,
    ):
        _means(ax, results, values, SHOWN)
        ax.set_ylabel(label)
        ax.set_ylim(bottom=0.0)
    axes[1].axhline(results.settings.n_train, color="black", linewidth=0.8, linestyle=(0, (1, 3)))
    axes[1].set_ylim(top=1.12 * results.settings.n_train)
    axes[1].annotate(
        f"{results.settings.n_train} training rows",
        (0.02, results.settings.n_train),
        xycoords=("axes fraction", "data"),
        xytext=(0, 3),
        textcoords="offset points",
        fontsize=7.5,
    )
    return figure


def draw_scaled(results: "Simulation", dimensions: Sequence[int]) -> "Figure":
    """Draw the scaled mean test error against the number of components."""
    figure, (ax,) = panels(1, width=5.0, height=3.6)
    for d, method in zip(dimensions, ("CV", "NAIVE"), strict=False):
        mean = results.curves[results.dimensions.index(d)].mean(axis=0)
        scaled = mean / mean.min()
        ax.plot(scaled, label=f"d = {d}", **LOOKS[method].curve)
        m = min(results.mean_choice("NAIVE", d), len(scaled) - 1)
        label = "mean choice of NAIVE" if d == dimensions[-1] else None
        ax.plot(m, scaled[m], "*", color="black", markersize=11, zorder=3, label=label)
    ax.set_yscale("log")
    _plain_ticks(ax)
    ax.set(xlabel="number of components", ylabel="scaled mean test error")
    ax.legend()
    return figure


def draw_noise(results: "Simulation") -> "Figure":
    """Draw boxplots of the estimated by the true noise level."""
    figure, (ax,) = panels(1, width=7.5, height=3.8)
    _grouped_boxes(ax, results, results.noise_ratio, _WITHOUT_CV)
    ax.axhline(1.0, color="black", linestyle="--", linewidth=1.0)
    ax.set_ylabel("estimated / true noise level")
    ax.set_ylim(bottom=0.0)
    return figure


def draw_runtime(results: "Simulation") -> "Figure":
    """Draw median times, with and without LANCZOS."""
    figure, axes = panels(2, width=9.0, height=3.8)
    for ax, methods in zip(axes, (SHOWN, _WITHOUT_LANCZOS), strict=True):
        _medians(ax, results, 1000.0 * results.seconds, methods)
        ax.set_ylabel("median time (ms)")
        ax.set_ylim(bottom=0.0)
    return figure


def _medians(ax: "Axes", results: "Simulation", values: Array, methods: Sequence[str]) -> None:
    for method in methods:
        middle = np.median(results.of(values, method), axis=0)
        ax.plot(results.dimensions, middle, label=method, **LOOKS[method].curve)
    _finish(ax, results)


def _means(ax: "Axes", results: "Simulation", values: Array, methods: Sequence[str]) -> None:
    for k, method in enumerate(methods):
        column = results.of(values, method)
        error = column.std(axis=0) / np.sqrt(len(column))
        # A little apart, so that bars and markers of equal values can be told apart.
        x = np.array(results.dimensions) + 2.0 * (k - (len(methods) - 1) / 2)
        ax.errorbar(
            x, column.mean(axis=0), yerr=error, label=method, capsize=2.0, **LOOKS[method].curve
        )
    _finish(ax, results)


def _grouped_boxes(
    ax: "Axes", results: "Simulation", values: Array, methods: Sequence[str]
) -> None:
    from matplotlib.patches import Patch

    width = 0.8 / len(methods)
    for k, method in enumerate(methods):
        column = results.of(values, method)
        offset = width * (k - (len(methods) - 1) / 2)
        positions = [place + offset for place in range(len(results.dimensions))]
        boxes(ax, list(column.T), positions, LOOKS[method], 0.85 * width)
    ax.set_xticks(range(len(results.dimensions)), [str(d) for d in results.dimensions])
    ax.set_xlabel(_DIMENSION)
    ax.grid(visible=False, axis="x")
    patches = [
        Patch(
            facecolor="white",
            edgecolor=LOOKS[method].colour,
            hatch=LOOKS[method].hatch,
            label=method,
        )
        for method in methods
    ]
    _legend(ax, handles=patches)


def _finish(ax: "Axes", results: "Simulation") -> None:
    ax.set_xticks(results.dimensions)
    ax.set_xlabel(_DIMENSION)
    _legend(ax)


def _legend(ax: "Axes", **options: Any) -> None:
    """Put the legend above the panel, where it covers no data."""
    ax.legend(
        loc="lower center",
        bbox_to_anchor=(0.5, 1.0),
        ncols=len(SHOWN),
        columnspacing=1.0,
        handletextpad=0.4,
        fontsize=7.5,
        **options,
    )


def _plain_ticks(ax: "Axes") -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator

    ax.yaxis.set_major_locator(LogLocator(base=10.0, subs=(1.0, 2.0, 5.0)))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.yaxis.set_minor_formatter(FuncFormatter(lambda *_: ""))
