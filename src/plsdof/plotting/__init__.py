"""Pictures of paths: display objects in scikit-learn's convention, and one overview figure.

A display is made by ``from_path``, ``from_estimator`` or ``from_comparison``, draws itself with
``.plot(ax=)`` and then holds what it drew (``ax_``, ``figure_``, ``line_``, ...). Everything here
needs matplotlib (``pip install 'plsdof[plot]'``), which is imported when something is drawn.
"""

from plsdof.plotting.coefficients import CoefficientDisplay
from plsdof.plotting.comparing import ComparisonDisplay
from plsdof.plotting.curves import CriterionDisplay, DoFDisplay
from plsdof.plotting.overview import overview_figure

__all__ = [
    "CoefficientDisplay",
    "ComparisonDisplay",
    "CriterionDisplay",
    "DoFDisplay",
    "overview_figure",
]
