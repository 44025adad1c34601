"""Pictures of paths: display objects in scikit-learn's convention, and one overview figure.

A display is made by ``from_path``, ``from_estimator`` or ``from_comparison``, draws itself with
``.plot(ax=)`` and then holds what it drew (``ax_``, ``figure_``, ``line_``, ...). Everything here
needs matplotlib (``pip install 'plsdof[plot]'``), which is imported when something is drawn.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
