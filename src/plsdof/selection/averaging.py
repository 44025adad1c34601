"""Averages of all models of a path, as `Path.average` makes them."""

from plsdof._core.averaging import Average, AverageFilter

__all__ = ["Average", "AverageFilter"]
