"""Pictures of paths and models: display objects in scikit-learn's convention, and one overview.

A display is made by ``from_path`` (all models) or ``from_model`` (one of them), which take fitted
estimators too, or by ``from_comparison`` and the like; it draws itself with
``.plot(ax=)`` and then holds what it drew (``ax_``, ``figure_``, ``line_``, ...). Everything here
needs matplotlib (``pip install 'plsdof[plot]'``), which is imported when something is drawn.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
