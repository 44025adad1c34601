"""Pictures of Figures 1 to 3."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from plsdof.experiments.style import LOOKS, boxes, panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from plsdof.experiments.comparison import Comparison
    from plsdof.experiments.curves import Curve


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
