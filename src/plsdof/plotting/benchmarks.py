"""Errors of several methods in random splits."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from plsdof._core.inputs import Array, require_type
from plsdof.complexity.benchmark import Benchmark
from plsdof.plotting.style import axes_or_new, plain


@dataclass(kw_only=True, repr=False)
class BenchmarkDisplay:
    """Boxes of the errors on rows left out, one per method, the smallest error on top.

    Attributes
    ----------
    names : tuple of str
    rmse : (R, K) array
        Root mean squared error of every split and method.

    Examples
    --------
    >>> from plsdof.complexity import benchmark
    >>> from plsdof.datasets import load_ozone
    >>> result = benchmark(*load_ozone(return_X_y=True), ["pls", "ridge"], n_splits=3)
    >>> display = BenchmarkDisplay.from_benchmark(result)
    >>> len(display.ax_.get_yticklabels())
    2
    """

    names: tuple[str, ...]
    rmse: Array

    @classmethod
    def from_benchmark(
        cls, result: Benchmark, *, labels: Mapping[str, str] | None = None, ax: Any = None
    ) -> Self:
        """Draw a `Benchmark`.

        Parameters
        ----------
        result : Benchmark
        labels : mapping, optional
            What to call the methods.
        ax : matplotlib axes, optional
        """
        require_type(result, Benchmark, "result", "benchmark")
        named = tuple((labels or {}).get(name, name) for name in result.names)
        return cls(names=named, rmse=np.sqrt(result.error)).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw into matplotlib axes, new ones by default."""
        self.ax_ = axes_or_new(ax)
        order = np.argsort(-np.sqrt(np.mean(self.rmse**2, axis=0)), kind="stable")
        self.ax_.boxplot(self.rmse[:, order], orientation="horizontal")
        self.ax_.set_yticks(np.arange(1, len(order) + 1), [plain(self.names[k]) for k in order])
        self.ax_.set_xlabel("RMSE of rows left out")
        self.ax_.set_title(f"{len(self.rmse)} random splits")
        self.figure_ = self.ax_.figure
        return self
