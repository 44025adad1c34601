"""Exact Degrees of Freedom, model selection and inference for Partial Least Squares.

The names that most people need are here; everything else is in a package of its own: `selection`,
`inference`, `variants`, `large`, `complexity`, `chemometrics`, `models`, `estimators`, `datasets`,
`plotting` and `paper`. That is the library; `workbench` is on the floor above: tables, analyses,
reports, the app and the command line. Nothing is imported before it is used.
"""

from importlib import import_module

import lazy_loader as lazy

from plsdof._core.plugins import announce, register

__version__ = "0.5.0"

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)

# The core takes arrays; other containers are read by this package.
register(lambda: import_module("plsdof.large.sources"))
# Paths and models draw themselves with this one, and answer for new rows with the other.
announce("pictures", lambda: import_module("plsdof.plotting"))
announce("models", lambda: import_module("plsdof.models.fitted"))
