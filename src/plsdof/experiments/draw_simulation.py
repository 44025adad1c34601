"""Pictures of Figures 4 to 8."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from plsdof._validation import Array
from plsdof.experiments.choices import METHODS
from plsdof.experiments.style import LOOKS, boxes, panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from plsdof.experiments.simulation import Simulation

_DIMENSION = "number d of basis functions"
_WITHOUT_NAIVE = tuple(method for method in METHODS if method != "NAIVE")
_WITHOUT_CV = tuple(method for method in METHODS if method != "CV")
_WITHOUT_LANCZOS = tuple(method for method in METHODS if method != "LANCZOS")


def draw_errors(results: "Simulation") -> "Figure":
    """Draw medians and boxplots of the normalised test error."""
    figure, (left, right) = panels(2, width=9.0, height=3.8)
    _medians(left, results, results.test_error, METHODS)
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
        _means(ax, results, values, METHODS)
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
    for ax, methods in zip(axes, (METHODS, _WITHOUT_LANCZOS), strict=True):
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
        ncols=len(METHODS),
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
