"""Folds, choices and rows left out, as the core makes them."""

from plsdof._core.choice import Remark, Selection
from plsdof._core.folds import Fold, make_folds
from plsdof._core.left_out import LeftOut

__all__ = ["Fold", "LeftOut", "Remark", "Selection", "make_folds"]
