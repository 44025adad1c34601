r"""Figures of merit: how well predictions agree with what was measured.

With e_i = predicted_i - observed_i over n rows and ybar the mean of the observed values:

==========  ==============================================================================
RMSE        sqrt(sum e^2 / n): RMSEC of the rows of the fit, RMSECV of cross-validation,
            RMSEP of a test set
R2          1 - sum e^2 / sum (observed - ybar)^2; called Q2 for cross-validation
bias        mean of e
SEP         standard deviation of e around the bias, divisor n - 1
RPD         standard deviation of the observed values (divisor n - 1) / SEP
RPIQ        interquartile range of the observed values / SEP
slope,      of the least squares line predicted = intercept + slope * observed
intercept
==========  ==============================================================================

RMSE^2 = bias^2 + SEP^2 (n - 1) / n.
"""

import operator
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from plsdof._core.display import as_html
from plsdof._core.inputs import Array, as_float, as_response
from plsdof._core.model import as_model
from plsdof.errors import InvalidInputError

# Shares and slopes below this one are 0 up to rounding.
_ROUNDING = 1e-12
# The name of the error, by the rows it is computed from.
RMSE_NAMES: Mapping[str, str] = {
    "calibration": "RMSEC",
    "cross-validation": "RMSECV",
    "test": "RMSEP",
}
# Attribute, label, and what it means.
HEADINGS: tuple[tuple[str, str, str], ...] = (
    ("rmse", "RMSE", "root mean squared error"),
    ("r2", "R2", "share of the variance that is predicted; Q2 for cross-validation"),
    ("bias", "bias", "mean of predicted - measured"),
    ("sep", "SEP", "standard deviation of the errors around the bias"),
    ("rpd", "RPD", "standard deviation of the measured values / SEP"),
    ("rpiq", "RPIQ", "interquartile range of the measured values / SEP"),
    ("slope", "slope", "of predicted against measured"),
    ("intercept", "intercept", "of predicted against measured"),
)


@dataclass(frozen=True, kw_only=True)
class FiguresOfMerit:
    """How well predictions agree with measured values; see `figures_of_merit`.

    Attributes
    ----------
    n : int
        Number of rows.
    rmse, r2, bias, sep, rpd, rpiq, slope, intercept : float
        nan where a figure is not defined: all but rmse and bias of one row, r2, rpd, slope and
        intercept of measured values that do not vary.
    """

    n: int
    rmse: float
    r2: float
    bias: float
    sep: float
    rpd: float
    rpiq: float
    slope: float
    intercept: float

    @property
    def std_errors(self) -> dict[str, float]:
        """Standard errors of the figures, by name, if errors are normal: what they are rounded by.

        Of a slope b and n rows: ((1 / RPD^2 - (1 - b)^2) / (n - 2))^1/2.
        """
        n, part = self.n, 1.0 / np.sqrt(2.0 * self.n) if self.n else np.nan
        found = {name: abs(getattr(self, name)) * part for name in ("rmse", "sep", "rpd", "rpiq")}
        found |= {"r2": 2.0 * (1.0 - self.r2) * part, "bias": self.sep * np.sqrt(2.0) * part}
        with np.errstate(all="ignore"):
            slope, rest = np.float64(self.slope), 1.0 / np.float64(self.rpd) ** 2
            found["slope"] = float(np.sqrt((rest - (1.0 - slope) ** 2) / np.float64(n - 2)))
            # The mean of the measured values is where the line and the bias meet.
            mean = (self.intercept - self.bias) / (1.0 - slope)
            spread = self.rpd * self.sep * np.sqrt(1.0 - 2.0 * part**2)
            found["intercept"] = float(found["slope"] * np.hypot(mean, spread))
        return found

    def _repr_html_(self) -> str:
        columns = {
            "figure": [label for _, label, _ in HEADINGS],
            "value": [getattr(self, name) for name, _, _ in HEADINGS],
            "meaning": [meaning for _, _, meaning in HEADINGS],
        }
        return as_html(f"Figures of merit of {self.n} rows", columns)


# Of no rows.
UNDEFINED = FiguresOfMerit(n=0, **dict.fromkeys((name for name, _, _ in HEADINGS), np.nan))


def figures_of_merit(observed: Any, predicted: Any) -> FiguresOfMerit:
    """Compare predictions with measured values.

    Parameters
    ----------
    observed, predicted : (n,) arrays
        Without missing values.

    Returns
    -------
    FiguresOfMerit
        With the definitions at the top of `plsdof.chemometrics.merit`.

    Notes
    -----
    SEP leaves the bias out, and so do RPD and RPIQ: read the bias beside them. Software differs
    here; some divide by RMSEP instead. Cost: O(n log n) for the quartiles.

    References
    ----------
    P. Williams, K. Norris (2001), Near-Infrared Technology in the Agricultural and Food
    Industries, 2nd ed., chapter 8. V. Bellon-Maurel et al. (2010), Critical review of chemometric
    indicators commonly used for assessing the quality of the prediction of soil attributes by NIR
    spectroscopy, Trends in Analytical Chemistry 29, 1073-1081 (RPIQ).

    Examples
    --------
    >>> found = figures_of_merit([1.0, 2.0, 3.0, 4.0], [1.5, 2.0, 3.5, 4.0])
    >>> round(found.rmse, 4), found.bias, round(found.sep, 4), round(found.rpd, 4)
    (0.3536, 0.25, 0.2887, 4.4721)
    """
    y = as_response(observed, as_float(observed, "observed").size, "observed")
    yhat = as_response(predicted, len(y), "predicted")
    if not len(y):
        raise InvalidInputError("Figures of merit need at least one row; there is none.")
    # Deviations from means first: sums of squares of the values themselves would cancel.
    e, dy, dyhat = yhat - y, y - y.mean(), yhat - yhat.mean()
    bias, total = float(e.mean()), float(dy @ dy)
    return _figures(
        y,
        squares=float(e @ e),
        spread=float((e - bias) @ (e - bias)),
        total=total,
        bias=_or_zero(bias, float(np.abs(y).max())),
        slope=float(dy @ dyhat) / total if total > 0 else np.nan,
        mean=float(yhat.mean()),
    )


def figures_of_fit(model: Any, y: Any = None) -> FiguresOfMerit:
    """Return the figures of merit of the rows of a fit without their fitted values.

    With filter factors f and the response z in the coordinates of the spectrum, the sum of
    squares of the residuals is that of the path, and fitted and observed values have the sum of
    products f z^2 about their mean, which they share. So a table that is read piece by piece need
    not be read again.

    Parameters
    ----------
    model : Model, or a fitted estimator
        Without weights.
    y : (n,) array, optional
        The response; a path of rows in memory knows it.

    Examples
    --------
    >>> from plsdof import pls_path
    >>> from plsdof.datasets import load_ozone
    >>> X, y = load_ozone(return_X_y=True)
    >>> model = pls_path(X, y, 3)[2]
    >>> found, known = figures_of_fit(model), figures_of_merit(y, model.fitted)
    >>> bool(np.isclose(found.sep, known.sep)), bool(np.isclose(found.slope, known.slope))
    (True, True)
    """
    model = as_model(model)
    exact, y = model.exact, model.path.response() if y is None else as_response(y, np.size(y))
    total, rss, slope = exact.total, max(model.rss, 0.0), exact.slope(model.row)
    mean = exact.y_mean
    return _figures(y, squares=rss, spread=rss, total=total, bias=0.0, slope=slope, mean=mean)


def _figures(
    y: Array, *, squares: float, spread: float, total: float, bias: float, slope: float, mean: float
) -> FiguresOfMerit:
    """Return the figures of sums of squares: of errors, of those around the bias, and of y.

    ``mean`` is that of the predictions.
    """
    n = len(y)
    sep = np.sqrt(spread / (n - 1)) if n > 1 else np.nan
    quartiles = np.quantile(y, [0.25, 0.75])
    return FiguresOfMerit(
        n=n,
        rmse=float(np.sqrt(squares / n)),
        r2=_or_zero(1.0 - squares / total) if total > 0 else np.nan,
        bias=bias,
        sep=float(sep),
        rpd=_ratio(np.sqrt(total / (n - 1)), sep) if total > 0 else np.nan,
        rpiq=_ratio(float(quartiles[1] - quartiles[0]), sep),
        slope=_or_zero(slope),
        intercept=float(mean - slope * y.mean()),
    )


def _or_zero(value: float, unit: float = 1.0) -> float:
    """Return a number, 0 if it is rounding next to the unit."""
    return 0.0 if abs(value) < _ROUNDING * unit else value


def _ratio(above: float, below: float) -> float:
    """Return a quotient; nan where the denominator is 0 or not defined."""
    return float(above / below) if below > 0 else float("nan")


# Criteria of acceptance
# ----------------------

_CRITERION = re.compile(r"\s*(\w+)\s*(<=|>=|<|>)\s*([+-]?\d*\.?\d+(?:[eE][+-]?\d{1,3})?)\s*")
_COMPARE = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
_ERRORS = {name.lower(): rows for rows, name in RMSE_NAMES.items()}
_FIGURES = {label.lower(): name for name, label, _ in HEADINGS if name != "rmse"}


@dataclass(frozen=True, kw_only=True)
class Acceptance:
    """Whether a model meets a criterion: which rows say so, their value, and the verdict."""

    criterion: str
    rows: str
    value: float
    passed: bool


def accepted(criterion: str, merit: Mapping[str, FiguresOfMerit]) -> Acceptance:
    """Judge a criterion, such as RMSEP<0.15, by the figures of merit of several kinds of rows.

    RMSEC, RMSECV and RMSEP name their rows; R2, bias (its size), SEP, RPD, RPIQ and slope are those
    of the test, or of held-out rows without a test.

    Examples
    --------
    >>> found = {"test": figures_of_merit([1.0, 2.0, 3.0], [1.1, 2.0, 2.9])}
    >>> accepted("RMSEP < 0.1", found).passed, accepted("rpd>20", found).passed
    (True, False)
    """
    name, sign, bound = parse_criterion(criterion)
    rows = _ERRORS.get(name) or list(merit)[-1]
    if rows not in merit:
        raise InvalidInputError(
            f"{criterion[:40]!r}: it needs rows of a {rows}, and none were given."
        )
    value = float(getattr(merit[rows], _FIGURES.get(name, "rmse")))
    value = abs(value) if name == "bias" else value
    passed = bool(_COMPARE[sign](value, float(bound)))
    return Acceptance(criterion=criterion.strip(), rows=rows, value=value, passed=passed)


def parse_criterion(criterion: str) -> tuple[str, ...]:
    """Return figure, sign and bound of a criterion of acceptance; refuse what is not one."""
    found = _CRITERION.fullmatch(criterion)
    if found is None or found[1].lower() not in {**_ERRORS, **_FIGURES}:
        allowed = ", ".join([*RMSE_NAMES.values(), *_FIGURES])
        raise InvalidInputError(
            f"a criterion is such as RMSEP<0.15, of {allowed}; got {criterion[:40]!r}."
        )
    return (found[1].lower(), *found.groups()[1:])
