"""A model in a table, as a statistician expects it."""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from plsdof._core.display import as_html, data_frame, p_value
from plsdof._core.inputs import Array, read_only
from plsdof._core.model import Model
from plsdof.errors import NotAvailableError
from plsdof.inference.intervals import CoefficientInference, coefficient_inference

if TYPE_CHECKING:
    from pandas import DataFrame

_MOST_ROWS = 30
_COLUMNS = ("coef", "std err", "t", "p", "lower", "upper")
# Standard errors are far apart beyond this factor. Numbers that fits without one row each may hold.
_FAR_APART, _MOST_FITTED = 1.5, 5_000_000
JACKKNIFE = (
    "Jackknife: standard errors if the rows are a random sample, as most are; some differ from the "
    f"others by more than a factor {_FAR_APART:g}."
)


def jackknife_beside(model: Model, found: CoefficientInference) -> Array | None:
    """Return standard errors for rows that are a sample, where they are far from those found."""
    path = model.path
    if found.covariance != "homoscedastic" or not path.rows.in_memory or path.rows.is_dual:
        return None
    if path.rows.require_in_memory().X.size > _MOST_FITTED:
        return None
    with contextlib.suppress(NotAvailableError):
        other = coefficient_inference(model, covariance="jackknife").std_error
        known = (found.std_error > 0) & (other > 0)
        ratio = np.abs(np.log(other[known] / found.std_error[known]))
        return other if np.any(ratio > np.log(_FAR_APART)) else None
    return None


@dataclass(frozen=True, kw_only=True, repr=False)
class Summary:
    """Facts about one model and a table of its coefficients; ``print`` shows both.

    Attributes
    ----------
    facts : dict
        n, features, model, DoF, noise level, R^2, criterion, ...
    names : tuple of str
        Row labels; the first one is the intercept.
    columns : tuple of str
        Headings of the table.
    table : (p + 1, 6) or (p + 1, 7) array
        Coefficient, standard error, statistic, p-value, lower and upper limit; then standard errors
        of the jackknife, where some are far from the others.
    assumptions : str
        What is held fixed and what the p-values test.

    Examples
    --------
    >>> from plsdof import PLSRegressor
    >>> PLSRegressor(1).fit([[1.0], [2.0], [4.0], [5.0]], [1.0, 2.0, 3.0, 5.0]).summary()
    model                PLS, 1 component
    observations         4
    ...
    """

    facts: dict[str, float | str]
    names: tuple[str, ...]
    columns: tuple[str, ...]
    table: Array
    assumptions: str

    def to_frame(self) -> "DataFrame":
        """Return the table as a pandas data frame, one row per coefficient."""
        return data_frame(dict(zip(self.columns, self.table.T, strict=True)), self.names)

    def __str__(self) -> str:
        lines = self._shown()
        widths = [max(len(key) for key in self.facts), max(len(line[0]) for line in lines)]
        facts = [f"{key:<{widths[0]}}  {value}" for key, value in self._facts().items()]
        rows = [
            f"{label:<{widths[1]}}" + "".join(f"{cell:>12}" for cell in cells)
            for label, *cells in [["", *self.columns], *lines]
        ]
        return "\n".join([*facts, "", *rows, *self._notes()])

    def __repr__(self) -> str:
        return str(self)  # what a console shows without print

    def _repr_html_(self) -> str:
        columns = zip(["", *self.columns], zip(*self._shown(), strict=True), strict=True)
        facts = [f"{key}: {value}" for key, value in self._facts().items()]
        return as_html("Summary", dict(columns), notes=["; ".join(facts), *self._notes()])

    def _facts(self) -> dict[str, str]:
        return {k: v if isinstance(v, str) else f"{v:.6g}" for k, v in self.facts.items()}

    def _notes(self) -> list[str]:
        more = len(self.names) - _MOST_ROWS
        note = [f"({more} more features; these have the largest |t|)"] if more > 0 else []
        return [*note, self.assumptions]

    def _shown(self) -> list[list[str]]:
        """Return the intercept and the features that stand out most: labels and cells."""
        order = np.arange(len(self.names))
        if len(order) > _MOST_ROWS:
            strongest = 1 + np.argsort(-np.abs(self.table[1:, 2]), kind="stable")
            order = np.append(0, strongest[: _MOST_ROWS - 1])
        lines = []
        for i in order:
            cells = ["" if np.isnan(value) else f"{value:.4g}" for value in self.table[i]]
            cells[3] = p_value(self.table[i, 3]) if cells[3] else ""
            lines.append([_trimmed(self.names[i]), *cells])
        return lines


def summarize(model: Model, result: CoefficientInference, names: Sequence[str] | None) -> Summary:
    """Collect what there is to say about one model."""
    names = names if names is not None else [f"x{i}" for i in range(len(result.coef))]
    # The intercept is not tested: its zero depends on the origin of the predictors.
    value, error = result.intercept, result.intercept_std_error
    half = result.critical * error
    first = [value, error, np.nan, np.nan, value - half, value + half]
    tests = (result.coef, result.std_error, result.statistic, result.p_value)
    table = np.vstack([first, np.column_stack([*tests, result.lower, result.upper])])
    columns: tuple[str, ...] = _COLUMNS
    other, assumptions = jackknife_beside(model, result), result.assumptions
    if other is not None:
        table = np.column_stack([table, [np.nan, *other]])
        columns, assumptions = (*_COLUMNS, "jackknife"), f"{assumptions}\n{JACKKNIFE}"
    return Summary(
        facts=_facts(model, result),
        names=("intercept", *map(str, names)),
        columns=columns,
        table=read_only(table),
        assumptions=assumptions,
    )


def _facts(model: Model, result: CoefficientInference) -> dict[str, float | str]:
    selection, total, df = model.selection, model.exact.total, result.degrees_of_freedom
    reference = f"t distribution with {df:.4g} degrees of freedom"
    if np.isinf(df):
        reference = "normal distribution"
    facts: dict[str, float | str] = {
        "model": f"{model.path.recipe.method.label}, {model.label}",
        "observations": model.exact.n,
        "features": float(len(result.coef)),
        "Degrees of Freedom": model.dof,
        "noise std deviation": float(np.sqrt(result.noise_variance)),
        "noise estimated by": result.noise,
        "R^2": float(1 - model.rss / total) if total > 0 else float("nan"),
        "intervals": f"{100 * result.level:g}%, {reference}, {result.covariance}",
        "null hypothesis": result.null,
    }
    if model.path.given is not None:
        facts["cross-validated error"] = model.rmse
    if selection is not None:
        facts["choice"] = selection.message
    return facts


def _trimmed(name: str, most: int = 24) -> str:
    printable = "".join(c if c.isprintable() else "?" for c in name)
    return printable if len(printable) <= most else printable[: most - 1] + "…"
