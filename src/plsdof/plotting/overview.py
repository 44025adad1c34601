"""One figure that tells the main story of a path."""

from typing import TYPE_CHECKING, Any

import numpy as np

from plsdof._core.criteria import Selection, criterion_label, is_squared
from plsdof._core.inputs import Array, as_response
from plsdof._core.path import Path
from plsdof.errors import NotAvailableError
from plsdof.plotting.coefficients import CoefficientDisplay, scale_of
from plsdof.plotting.curves import CriterionDisplay, DoFDisplay
from plsdof.plotting.style import (
    BLUE,
    GREY,
    VERMILLION,
    as_fitted,
    average_of,
    feature_axis,
    new_figure,
    plain,
    show_legend,
)
from plsdof.selection.cross_validation import CrossValidation

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def overview_figure(
    path: Any,
    selection: Selection | None = None,
    *,
    y: Any = None,
    cv: CrossValidation | None = None,
    response: str = "response",
    level: float = 0.95,
) -> "Figure":
    """Draw Degrees of Freedom, criterion, coefficients, and observed against fitted values.

    Parameters
    ----------
    path : Path or fitted estimator
        Of any method.
    selection : Selection
        The chosen model; that of an estimator by default.
    y : (n,) array, optional
        The response the path was fitted on; without it (and without ``cv``, which knows it) the
        last panel shows the leverage of every row instead.
    cv : CrossValidation, optional
        Cross-validated errors, drawn with the criterion; those of an estimator by default.
    response : str
        Name of the response, for the labels.
    level : float
        Confidence level of the coefficients' intervals.

    Returns
    -------
    matplotlib.figure.Figure
        Not registered with pyplot: save it with ``figure.savefig(file)``.

    Examples
    --------
    >>> from plsdof import pls_path
    >>> from plsdof.datasets import load_ozone
    >>> X, y = load_ozone(return_X_y=True)
    >>> path = pls_path(X, y)
    >>> len(overview_figure(path, path.select("bic"), y=y).axes)
    4
    """
    model = as_fitted(path, selection, cv)
    path, selection, cv = model.path, model.selection, model.cv
    figure = new_figure(11.0, 8.0)
    dof, criterion, coefficients, rows = figure.subplots(2, 2).ravel()
    DoFDisplay.from_path(path, selection, ax=dof)
    dof.set_title("What the models cost")
    _draw_criterion(criterion, path, selection, cv)
    answering, index = _answering(path, selection)
    _draw_coefficients(coefficients, answering, index, level)
    observed = _response(path, y, cv)
    if observed is None:
        _draw_leverage(rows, answering, index)
    else:
        _draw_fit(rows, answering, index, observed, plain(response))
    made: Figure = figure
    return made


def _answering(path: Path, selection: Selection) -> tuple[Path, int]:
    """Return the path and the row that were chosen; an average is a path of its own."""
    average = average_of(path, selection)
    if average is None:
        return path, selection.index
    found = average.path
    return found if path.feature_names is None else found.with_names(path.feature_names), 0


def information_criterion(path: Path, selection: Selection) -> tuple[str, Array] | None:
    """Return name and scores of the criterion behind a choice; GCV beside a cross-validation."""
    if not selection.criterion.startswith("cv-"):
        return selection.criterion, selection.scores
    try:
        return "gcv", path.criterion("gcv", "smoothed")
    except NotAvailableError:
        return None


def comparable_units(path: Path) -> str:
    """Return how to show coefficients: per unit of a spectrum, per standard deviation otherwise."""
    if feature_axis(path.feature_names, len(path.units.x_mean)).is_numeric:
        return "unit"
    try:
        scale_of(path)
    except NotAvailableError:
        return "unit"
    return "standard-deviation"


def _draw_criterion(
    ax: "Axes", path: Path, selection: Selection, cv: CrossValidation | None
) -> None:
    ax.set_title("How the model was chosen")
    criterion = information_criterion(path, selection)
    if cv is None or criterion is None:
        CriterionDisplay.from_path(path, selection, ax=ax)
        return
    name, order = criterion[0], path.simplest_first()
    main = CriterionDisplay(
        parameters=path.parameters[order],
        scores=criterion[1][order],
        criterion=name,
        parameter_name=path.parameter_name,
        chosen=selection.parameter,
    ).plot(ax, label=criterion_label(name))
    other = ax if is_squared(name) else ax.twinx()
    style: dict[str, Any] = {"color": VERMILLION, "linestyle": "--", "marker": "s"}
    beside = CriterionDisplay.from_cross_validation(cv, ax=other, label="cross-validation", **style)
    if other is ax:
        ax.set_ylabel("mean squared error (response²)")
        return
    handles = [main.line_, beside.line_, beside.band_, main.chosen_line_]
    show_legend(ax, handles=handles)
    other.legend().remove()


def _draw_coefficients(ax: "Axes", path: Path, index: int, level: float) -> None:
    CoefficientDisplay.from_path(path, index, level=level, per=comparable_units(path), ax=ax)
    note = ax.get_title()
    ax.set_title("Coefficients of the chosen model" + (f"\n{note}" if note else ""))


def _response(path: Path, y: Any, cv: CrossValidation | None) -> Array | None:
    if y is not None:
        return as_response(y, path.units.n_rows)
    known = cv is not None and len(cv.y) == path.units.n_rows
    return cv.y if cv is not None and known else None


def _draw_fit(ax: "Axes", path: Path, index: int, y: Array, response: str) -> None:
    fitted = path.fitted[index]
    ends = [min(y.min(), fitted.min()), max(y.max(), fitted.max())]
    ax.plot(ends, ends, color=GREY, linewidth=1, label="observed = fitted")
    style: dict[str, Any] = {"marker": "o", "linestyle": "none", "markersize": 4}
    ax.plot(fitted, y, color=BLUE, markerfacecolor="none", **style)
    share = 1 - path.rss[index] / path.spectrum.total if path.spectrum.total > 0 else np.nan
    ax.set_title(f"Observed against fitted (R² = {share:.3f})")
    ax.set_xlabel(f"fitted {response}")
    ax.set_ylabel(f"observed {response}")
    show_legend(ax)


def _draw_leverage(ax: "Axes", path: Path, index: int) -> None:
    values = path.leverage(index)
    rows = np.arange(1, len(values) + 1)
    ax.plot(rows, values, color=BLUE, marker="o", linestyle="none", markersize=4)
    ax.axhline(values.mean(), color=GREY, linewidth=1, label="average")
    ax.set_title("Leverage of the rows")
    ax.set_xlabel("row")
    ax.set_ylabel("leverage")
    ax.set_ylim(min(0.0, 1.1 * values.min()), 1.1 * max(values.max(), 1 / len(values)))
    show_legend(ax)
