"""Exact Degrees of Freedom, model selection and inference for Partial Least Squares.

The names that most people need are here; everything else is in a room of its own: `selection`,
`inference`, `variants`, `large`, `complexity`, `chemometrics`, `estimators`, `files`, `datasets`,
`plotting`, `paper` and `report`. Nothing is imported before it is used.
"""

from importlib import import_module

import lazy_loader as lazy

from plsdof._core.other_data import announce
from plsdof._core.pictures import announce_pictures

__version__ = "0.3.0"

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)

# The core takes arrays; whatever else comes in is read by this room.
announce(lambda: import_module("plsdof.large.sources"))
# Paths and models draw themselves with this one.
announce_pictures(lambda: import_module("plsdof.plotting"))
