"""A model in a table, as a statistician expects it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from plsdof._core.display import as_html, data_frame
from plsdof._core.inputs import Array, read_only, require_type
from plsdof._core.model import Model, as_model
from plsdof.inference.intervals import CoefficientInference

if TYPE_CHECKING:
    from pandas import DataFrame

_MOST_ROWS = 30
_COLUMNS = ("coef", "std err", "t", "p", "lower", "upper")


@dataclass(frozen=True, kw_only=True, repr=False)
class Summary:
    """Facts about one model and a table of its coefficients; ``print`` shows both.

    Attributes
    ----------
    facts : dict
        n, features, model, DoF, noise level, R^2, criterion, ...
    names : tuple of str
        Row labels; the first one is the intercept.
    table : (p + 1, 6) array
        Coefficient, standard error, statistic, p-value, lower and upper limit.
    assumptions : str
        What is held fixed and what the p-values test, in one line.

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
    table: Array
    assumptions: str = ""

    @property
    def columns(self) -> tuple[str, ...]:
        """Headings of the table."""
        return _COLUMNS

    def to_frame(self) -> "DataFrame":
        """Return the table as a pandas data frame, one row per coefficient."""
        columns = {name: self.table[:, j] for j, name in enumerate(_COLUMNS)}
        return data_frame(columns, self.names)

    def __str__(self) -> str:
        width = max(len(key) for key in self.facts)
        lines = [f"{key:<{width}}  {_shown(value)}" for key, value in self.facts.items()]
        return "\n".join([*lines, "", *self._rows(), *filter(None, [self.assumptions])])

    def __repr__(self) -> str:
        return str(self)  # what a console shows without print

    def _repr_html_(self) -> str:
        """Return the facts, and the coefficients that stand out."""
        order = self._order()
        columns: dict[str, Any] = {"": [self.names[i] for i in order]}
        columns |= {name: self.table[order, j] for j, name in enumerate(_COLUMNS)}
        facts = [f"{key}: {_shown(value)}" for key, value in self.facts.items() if key != "model"]
        return as_html(
            str(self.facts.get("model", "Summary")),
            columns,
            notes=["; ".join(facts), *filter(None, [self.assumptions])],
        )

    def _order(self) -> npt.NDArray[np.intp]:
        """Return the rows that are shown: the intercept, then the features that stand out most."""
        if len(self.names) <= _MOST_ROWS:
            return np.arange(len(self.names))
        strongest = 1 + np.argsort(-np.abs(self.table[1:, 2]), kind="stable")
        return np.concatenate([[0], strongest[: _MOST_ROWS - 1]])

    def _rows(self) -> list[str]:
        order = self._order()
        note = []
        if len(order) < len(self.names):
            note = [f"({len(self.names) - _MOST_ROWS} more features; these have the largest |t|)"]
        labels = [_trimmed(self.names[i]) for i in order]
        width = max(map(len, labels))
        head = " " * width + "".join(f"{name:>12}" for name in _COLUMNS)
        body = [
            f"{label:<{width}}" + "".join(_cell(v) for v in self.table[i])
            for label, i in zip(labels, order, strict=True)
        ]
        return [head, *body, *note]


def summarize(
    model: Any, result: CoefficientInference, names: Sequence[str] | None = None
) -> Summary:
    """Collect what there is to say about one model.

    Examples
    --------
    >>> from plsdof import pls_path
    >>> model = pls_path([[1.0], [2.0], [4.0], [5.0]], [1.0, 2.0, 3.0, 5.0])[1]
    >>> from plsdof.inference import coefficient_inference
    >>> summarize(model, coefficient_inference(model), ["x"]).names
    ('intercept', 'x')
    """
    model = as_model(model)
    require_type(result, CoefficientInference, "result", "coefficient_inference")
    names = names if names is not None else [f"x{i}" for i in range(len(result.coef))]
    tests = (result.coef, result.std_error, result.statistic, result.p_value)
    features = (*tests, result.lower, result.upper)
    return Summary(
        facts=_facts(model, result),
        names=("intercept", *map(str, names)),
        table=read_only(np.vstack([_intercept_row(result), np.column_stack(features)])),
        assumptions=result.assumptions,
    )


def _facts(model: Model, result: CoefficientInference) -> dict[str, float | str]:
    spectrum, selection = model.exact.spectrum, model.selection
    total = spectrum.total
    facts: dict[str, float | str] = {
        "model": f"{model.path.recipe.method.label}, {model.label}",
        "observations": spectrum.n,
        "features": float(len(result.coef)),
        "Degrees of Freedom": model.dof,
        "noise std deviation": float(np.sqrt(result.noise_variance)),
        "noise estimated by": result.noise,
        "R^2": float(1 - model.rss / total) if total > 0 else float("nan"),
        "intervals": f"{100 * result.level:g}%, {_reference(result)}, {result.covariance}",
        "null hypothesis": result.null,
    }
    if model.path.given is not None:
        facts["error of rows left out"] = model.rmse
    if selection is not None:
        facts["choice"] = selection.message
    return facts


def _reference(result: CoefficientInference) -> str:
    if np.isinf(result.degrees_of_freedom):
        return "normal distribution"
    return f"t distribution with {result.degrees_of_freedom:.4g} degrees of freedom"


def _intercept_row(result: CoefficientInference) -> Array:
    # The intercept is not tested: its zero depends on the origin of the predictors.
    half = result.critical * result.intercept_std_error
    value, error = result.intercept, result.intercept_std_error
    return np.array([[value, error, np.nan, np.nan, value - half, value + half]])


def _trimmed(name: str, most: int = 24) -> str:
    printable = "".join(c if c.isprintable() else "?" for c in name)
    return printable if len(printable) <= most else printable[: most - 1] + "…"


def _cell(value: float) -> str:
    return f"{'':>12}" if np.isnan(value) else f"{value:>12.4g}"


def _shown(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.6g}"
