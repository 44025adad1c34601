"""The plot of the benchmark: times relative to plsdof, readable without colour."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from contestants import BY_KEY, CONTESTANTS, FLOOR, OURS
from regimes import Regime

_MARKERS = "os^vDPX*<>hdp8H"


def plot(records: Sequence[dict[str, Any]], regimes: Sequence[Regime], file: Path) -> None:
    """Draw times relative to ours by regime, told apart by marker as well as by grey."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    threads = sorted({r["threads"] for r in records})
    figure, axes = plt.subplots(
        1, len(threads), figsize=(5.2 * len(threads), 4.4), sharey=True, squeeze=False
    )
    for axis, count in zip(axes[0], threads, strict=True):
        _panel(axis, [r for r in records if r["threads"] == count], regimes)
        axis.set_title(f"{count} thread{'s' if count > 1 else ''}")
    axes[0][0].set_ylabel("time relative to our default")
    found = {
        text: line
        for axis in axes[0]
        for line, text in zip(*axis.get_legend_handles_labels(), strict=True)
    }
    handles = {one.title: found[one.title] for one in CONTESTANTS if one.title in found}
    figure.legend(
        handles.values(), handles.keys(), loc="outside lower center", ncols=4, frameon=False
    )
    figure.set_layout_engine("constrained")
    figure.savefig(file, dpi=150)
    plt.close(figure)


def _panel(axis: Any, records: Sequence[dict[str, Any]], regimes: Sequence[Regime]) -> None:
    places = {regime.name: number for number, regime in enumerate(regimes)}
    axis.axhline(1.0, color="black", linewidth=1.2, label=BY_KEY[OURS].title)
    drawn = [one for one in CONTESTANTS if one.task == "choose" or one.key == FLOOR]
    for marker, one in zip(_MARKERS, drawn, strict=False):
        points = [
            (places[r["regime"]], r["ratio_to_ours"])
            for r in records
            if r["contestant"] == one.key and r["ratio_to_ours"] and one.key != OURS
        ]
        if points:
            floor = one.kind == "floor"
            axis.plot(
                *zip(*points, strict=True),
                marker,
                label=one.title,
                color="0.55" if floor else "0.15",
                markerfacecolor="none" if floor else "0.8" if one.kind == "ours" else "0.35",
                markersize=7,
            )
    labels = [f"{regime.name}\n{regime.n:,} x {regime.p:,}" for regime in regimes]
    axis.set_xticks(range(len(regimes)), labels, fontsize=7)
    axis.set_xlim(-0.5, len(regimes) - 0.5)
    axis.set_yscale("log")
    axis.grid(axis="y", color="0.9")
    axis.set_axisbelow(True)
