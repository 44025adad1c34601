from .coefficients import CoefficientDisplay as CoefficientDisplay
from .curves import ComparisonDisplay as ComparisonDisplay
from .curves import CriterionDisplay as CriterionDisplay
from .curves import DoFDisplay as DoFDisplay
from .overview import overview_figure as overview_figure
