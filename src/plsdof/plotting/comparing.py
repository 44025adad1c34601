"""Several methods in one picture, on the scale of Degrees of Freedom."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from plsdof._validation import Array, as_choice
from plsdof.comparison import Comparison
from plsdof.plotting.style import (
    LINES,
    axes_or_new,
    criterion_title,
    plain,
    show_legend,
    spans_decades,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

TITLES = {
    "cv_error": "cross-validated error (response²)",
    "train_error": "RSS / n (response²)",
}


@dataclass(kw_only=True, eq=False)
class ComparisonDisplay:
    """An error or criterion of several methods against their Degrees of Freedom.

    Attributes
    ----------
    method : (K,) array of str
    dof, values : (K,) arrays
    by : str
        What ``values`` are: "cv_error", "train_error" or the name of a criterion.
    ax_, figure_ : matplotlib objects
    lines_ : dict of matplotlib lines by method

    Examples
    --------
    >>> from plsdof import compare_paths
    >>> from plsdof.datasets import load_ozone
    >>> table = compare_paths(*load_ozone(return_X_y=True))
    >>> sorted(ComparisonDisplay.from_comparison(table, by="bic").lines_)
    ['pcr', 'pls', 'ridge']
    """

    method: npt.NDArray[np.str_]
    dof: Array
    values: Array
    by: str = "cv_error"
    ax_: "Axes" = field(init=False, repr=False)
    figure_: "Figure" = field(init=False, repr=False)
    lines_: "dict[str, Line2D]" = field(init=False, repr=False)

    @classmethod
    def from_comparison(
        cls, comparison: Comparison, *, by: str | None = None, ax: Any = None, **kwargs: Any
    ) -> Self:
        """Draw a comparison; ``by`` is the cross-validated error if there is one, else RSS / n."""
        by = default_quantity(comparison) if by is None else by
        as_choice(by, "by", ("cv_error", "train_error", *comparison.criteria))
        values = comparison.columns()[by]
        display = cls(method=comparison.method, dof=comparison.dof, values=values, by=by)
        return display.plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw on ``ax``, or on new axes; ``kwargs`` go to all lines."""
        self.ax_ = axes_or_new(ax)
        self.figure_ = self.ax_.figure  # type: ignore[assignment]
        names = list(dict.fromkeys(self.method.tolist()))
        self.lines_ = {name: self._draw(name, i, kwargs) for i, name in enumerate(names)}
        self.ax_.set_xlabel("Degrees of Freedom")
        self.ax_.set_ylabel(TITLES.get(self.by) or criterion_title(self.by))
        if spans_decades(self.values):
            self.ax_.set_yscale("log")
        show_legend(self.ax_)
        return self

    def _draw(self, name: str, number: int, kwargs: dict[str, Any]) -> "Line2D":
        color, dash, marker = LINES[number % len(LINES)]
        style = {"color": color, "linestyle": dash, "marker": marker, "markersize": 4} | kwargs
        rows = self.method == name
        label = method_name(name)
        (line,) = self.ax_.plot(self.dof[rows], self.values[rows], label=plain(label), **style)
        return line


def default_quantity(comparison: Comparison) -> str:
    """Return "cv_error" if there is one, else "train_error"."""
    return "train_error" if np.all(np.isnan(comparison.cv_error)) else "cv_error"


def method_name(name: str) -> str:
    """Return a method's name as people write it.

    Examples
    --------
    >>> method_name("pls"), method_name("my method")
    ('PLS', 'my method')
    """
    return name.upper() if name in ("pls", "pcr") else name
