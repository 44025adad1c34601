"""A calibration with all that a report can show: preprocessing, a test set, groups."""

from dataclasses import replace

import numpy as np

from plsdof.datasets import load_gasoline
from plsdof.workbench.analysis import Request
from plsdof.workbench.analysis.analysis import analysed
from plsdof.workbench.analysis.data import Rows, TableProblem


class Calibration:
    """Gasoline, every fourth row kept for a test."""

    def __init__(self):
        self.raw, y = load_gasoline(return_X_y=True, as_frame=True)
        y = np.asarray(y)
        self.kept = np.arange(60) % 4 != 3
        self.groups = np.where(np.arange(45) % 3 == 0, "<old>", "new")
        numbers = np.arange(1, 61)
        fitted, tested = (
            Rows(
                X=self.raw[rows].reset_index(drop=True),
                y=y[rows],
                numbers=numbers[rows],
                labels=None,
                source="every fourth row",
            )
            for rows in (self.kept, ~self.kept)
        )
        of = {"response": "octane", "groups": self.groups}
        data = TableProblem.of(fitted.X, fitted.y, **of)
        self.data = replace(data, rows=fitted, test=tested, groups=None).after("snv")
        self.X, self.y = self.data.X, fitted.y
        self.analysis = self.analysed()
        self.path, self.test = self.analysis.path, self.analysis.test

    def analysed(self, **asked):
        asked = {"criterion": "bic", "max_components": 8, "preprocess": "snv", "cv": 10} | asked
        found = analysed(self.data, Request(**asked))
        # Groups of colours, which are not left out together.
        return replace(found, data=replace(found.data, groups=self.groups))
