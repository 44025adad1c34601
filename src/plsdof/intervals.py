"""What inference returns: coefficients with their tests, and centres with limits."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from plsdof._validation import Array
from plsdof.readable import data_frame, one_line


@dataclass(frozen=True, kw_only=True, repr=False)
class CoefficientInference:
    """Coefficients of one model with standard errors, tests and intervals.

    Attributes
    ----------
    coef, std_error, statistic, p_value, lower, upper : (p,) arrays
        A coefficient that cannot vary (constant column) has standard error 0 and p-value 1.
    critical : float
        Multiple of the standard error between a coefficient and its limits.
    intercept, intercept_std_error : float
    level : float
    distribution : str
        "t" or "normal".
    degrees_of_freedom : float
        Of the reference distribution, n - DoF; infinite for "normal".
    noise_variance : float
    adjustment : str
        How ``p_value`` was adjusted for the number of tests.
    names : tuple of str or None

    Examples
    --------
    >>> from plsdof import pls_path
    >>> from plsdof.inference import coefficient_inference
    >>> path = pls_path([[1.0], [2.0], [4.0], [5.0]], [1.0, 2.0, 3.0, 5.0])
    >>> coefficient_inference(path, 1).to_frame().round(2)
       coef  std_error  statistic  p_value  lower  upper
    0   0.9       0.18        4.99     0.04   0.12   1.68
    """

    coef: Array
    std_error: Array
    statistic: Array
    p_value: Array
    lower: Array
    upper: Array
    critical: float
    intercept: float
    intercept_std_error: float
    level: float
    distribution: str
    degrees_of_freedom: float
    noise_variance: float
    adjustment: str
    names: tuple[str, ...] | None

    def to_frame(self) -> Any:
        """Return a pandas data frame with one row per coefficient, named if the features are.

        The intercept, which is not tested, is left out.
        """
        columns = ("coef", "std_error", "statistic", "p_value", "lower", "upper")
        return data_frame({name: getattr(self, name) for name in columns}, self.names)

    def __repr__(self) -> str:
        small = np.count_nonzero(self.p_value < 1 - self.level)
        return one_line(
            self,
            f"{len(self.coef)} coefficients",
            f"{small} with p < {1 - self.level:g}",
            level=self.level,
            distribution=self.distribution,
            adjustment=self.adjustment,
        )


@dataclass(frozen=True, kw_only=True, repr=False)
class Interval:
    """A centre with lower and upper limits, elementwise.

    Attributes
    ----------
    center, std_error, lower, upper : (k,) arrays
    level : float
    critical : float
        Multiple of ``std_error`` between the centre and a limit; nan where limits are not
        symmetric.
    names : tuple or None
        Names of the k entries: features, or labels of the rows of a data frame.

    Examples
    --------
    >>> from plsdof import pls_path
    >>> from plsdof.inference import prediction_interval
    >>> path = pls_path([[1.0], [2.0], [4.0], [5.0]], [1.0, 2.0, 3.0, 5.0])
    >>> prediction_interval(path, 1, [[3.0], [6.0]]).to_frame().round(1)
       center  std_error  lower  upper
    0     2.8        0.6    0.0    5.5
    1     5.4        0.8    1.9    9.0
    """

    center: Array
    std_error: Array
    lower: Array
    upper: Array
    level: float
    critical: float
    names: tuple[Any, ...] | None = None

    def to_frame(self) -> Any:
        """Return a pandas data frame with one row per entry, named if the entries are."""
        columns = ("center", "std_error", "lower", "upper")
        return data_frame({name: getattr(self, name) for name in columns}, self.names)

    def __repr__(self) -> str:
        if len(self.center) == 1:
            only = {name: float(getattr(self, name)[0]) for name in ("center", "lower", "upper")}
            return one_line(self, **only, level=self.level)
        return one_line(
            self, f"{len(self.center)} values", level=self.level, critical=self.critical
        )
