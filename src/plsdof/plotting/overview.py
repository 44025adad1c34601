"""One figure that tells the main story of a model."""

from typing import TYPE_CHECKING, Any

import numpy as np

from plsdof._core.choice import LEFT_OUT
from plsdof._core.model import Model, ModelLike, as_model
from plsdof.errors import NotAvailableError
from plsdof.plotting.coefficients import CoefficientDisplay, scale_of
from plsdof.plotting.curves import CriterionDisplay, DoFDisplay, ErrorDisplay
from plsdof.plotting.style import BLUE, GREY, feature_axis, new_figure, plain, show_legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def overview_figure(
    model: ModelLike, *, response: str = "response", level: float = 0.95
) -> "Figure":
    """Draw Degrees of Freedom, errors, coefficients, and observed against fitted values.

    Parameters
    ----------
    model : Model, or a fitted estimator
        Of any method.
    response : str
        Name of the response, for the labels.
    level : float
        Confidence level of the coefficients' intervals.

    Returns
    -------
    matplotlib.figure.Figure
        Not registered with pyplot: save it with ``figure.savefig(file)``. Where the rows are not in
        memory, the last panel shows the leverages instead, and the second one a criterion.

    Examples
    --------
    >>> from plsdof import pls_path
    >>> from plsdof.datasets import load_ozone
    >>> path = pls_path(*load_ozone(return_X_y=True))
    >>> len(overview_figure(path[path.select().index]).axes)
    4
    """
    model = as_model(model)
    figure = new_figure(11.0, 8.0)
    dof, choice, coefficients, rows = figure.subplots(2, 2).ravel()
    DoFDisplay.from_path(model, ax=dof)
    dof.set_title("What the models cost")
    by = LEFT_OUT if model.selection is None else model.selection.criterion
    if by == LEFT_OUT and model.path._given is not None:
        ErrorDisplay.from_path(model, ax=choice)
    else:
        CriterionDisplay.from_path(model, ax=choice)
    choice.set_title("How the model was chosen" if model.selection else "How well models predict")
    CoefficientDisplay.from_model(model, level=level, per=_comparable(model), ax=coefficients)
    note = coefficients.get_title()
    coefficients.set_title("Coefficients of the model" + (f"\n{note}" if note else ""))
    if model.path._given is None:
        _draw_leverage(rows, model)
    else:
        _draw_fit(rows, model, plain(response))
    made: Figure = figure
    return made


def _comparable(model: Model) -> Any:
    """Return how to show coefficients: per unit of a spectrum, per standard deviation otherwise."""
    if feature_axis(model.path.feature_names, len(model.coef)).is_numeric:
        return "unit"
    try:
        scale_of(model)
    except NotAvailableError:
        return "unit"
    return "standard-deviation"


def _draw_fit(ax: "Axes", model: Model, response: str) -> None:
    y, fitted = model.path._response(), model.fitted
    ends = [min(y.min(), fitted.min()), max(y.max(), fitted.max())]
    ax.plot(ends, ends, color=GREY, linewidth=1, label="observed = fitted")
    style: dict[str, Any] = {"marker": "o", "linestyle": "none", "markersize": 4}
    ax.plot(fitted, y, color=BLUE, markerfacecolor="none", **style)
    total = model.exact.spectrum.total
    share = 1 - model.rss / total if total > 0 else np.nan
    ax.set_title(f"Observed against fitted (R² = {share:.3f})")
    ax.set_xlabel(f"fitted {response}")
    ax.set_ylabel(f"observed {response}")
    show_legend(ax)


def _draw_leverage(ax: "Axes", model: Model) -> None:
    values = model.leverage()
    ax.plot(np.arange(len(values)), values, color=BLUE, marker="o", linestyle="none", markersize=4)
    ax.axhline(values.mean(), color=GREY, linewidth=1, label="average")
    ax.set_title("Leverage of the rows")
    ax.set_xlabel("row")
    ax.set_ylabel("leverage")
    ax.set_ylim(min(0.0, 1.1 * values.min()), 1.1 * max(values.max(), 1 / len(values)))
    show_legend(ax)
