"""Curves over the models of a path and over Degrees of Freedom, and one figure of a whole model."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from plsdof._core.choice import LEFT_OUT, Selection
from plsdof._core.fit import method_label
from plsdof._core.inputs import Array, as_choice, require_type
from plsdof._core.model import ModelLike, as_model, as_path
from plsdof._core.path import Path
from plsdof.complexity.comparison import Comparison
from plsdof.plotting.predictors import CoefficientDisplay
from plsdof.plotting.rows import PredictionDisplay
from plsdof.plotting.style import (
    BLUE,
    GREY,
    LINES,
    ROOTED,
    VERMILLION,
    Display,
    PathLike,
    chosen_parameter,
    criterion_title,
    mark_chosen,
    matplotlib,
    plain,
    show_models,
    spans_decades,
    sparse_markers,
)
from plsdof.selection.cross_validation import CrossValidation

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

# Errors below this share of the largest one are rounding.
_ROUNDING = 1e-10

# Curves over the models of a path: Degrees of Freedom, criteria and errors of rows left out
# ------------------------------------------------------------------------------------------


@dataclass(kw_only=True, eq=False)
class DoFDisplay(Display):
    """Degrees of Freedom of every model, with the line that only counts components.

    Attributes
    ----------
    parameters, dof, naive_dof : (K,) arrays
        Models from the simplest to the richest.
    parameter_name : str
        "n_components" or "alpha".
    chosen : float or None
        Parameter of the chosen model.
    n : float or None
        Number of observations, drawn where the Degrees of Freedom come near.
    ax_, figure_, line_ : matplotlib objects
    naive_line_, chosen_line_ : matplotlib lines or None
        None where they would say nothing new.

    Examples
    --------
    >>> from plsdof import pls_path
    >>> from plsdof.datasets import load_ozone
    >>> path = pls_path(*load_ozone(return_X_y=True))
    >>> display = DoFDisplay.from_path(path, path.select("bic"))
    >>> display.ax_.get_ylabel()
    'Degrees of Freedom'
    """

    parameters: Array
    dof: Array
    naive_dof: Array
    parameter_name: str = "n_components"
    chosen: float | None = None
    n: float | None = None
    line_: "Line2D" = field(init=False, repr=False)
    naive_line_: "Line2D | None" = field(init=False, repr=False)
    chosen_line_: "Line2D | None" = field(init=False, repr=False)

    @classmethod
    def from_path(
        cls, path: PathLike, selection: Selection | None = None, *, ax: Any = None, **kwargs: Any
    ) -> Self:
        """Draw the Degrees of Freedom of a path; ``kwargs`` go to the line.

        Parameters
        ----------
        path : Path, Model or fitted estimator
            All models are drawn; that of a model or of an estimator is marked.
        selection : Selection, optional
            The choice to mark instead.
        """
        subject, path = path, as_path(path)
        order = path.simplest_first()
        return cls(
            parameters=path.parameters[order],
            dof=path.dof[order],
            naive_dof=path.naive_dof[order],
            parameter_name=path.parameter_name,
            chosen=chosen_parameter(subject, path, selection),
            n=path.exact.spectrum.n,
        ).plot(ax, **kwargs)

    def _draw(self, style: dict[str, Any]) -> None:
        markers = sparse_markers(self.dof)
        style = {"color": BLUE, "label": "exact"} | markers | style
        (self.line_,) = self.ax_.plot(self.parameters, self.dof, **style)
        self.naive_line_ = None
        if not np.allclose(self.dof, self.naive_dof):
            naive = markers | {"color": VERMILLION, "linestyle": "--", "marker": "s"}
            naive["label"] = "naive: number of components + 1"
            (self.naive_line_,) = self.ax_.plot(self.parameters, self.naive_dof, **naive)
        if self.n is not None and np.nanmax(self.dof, initial=-np.inf) > 0.8 * self.n:
            text = f"n = {self.n:g} (no intervals above)"
            self.ax_.axhline(self.n, color=GREY, linewidth=1, label=text)
        self.chosen_line_ = mark_chosen(self.ax_, self.chosen, self.parameter_name)
        show_models(self.ax_, self.parameter_name)
        self.ax_.set_ylabel("Degrees of Freedom")


@dataclass(kw_only=True, eq=False)
class CriterionDisplay(Display):
    """What chooses a model: errors of rows left out, or a criterion, of every model.

    Attributes
    ----------
    parameters, scores : (K,) arrays
        Models from the simplest to the richest; nan where the criterion is not defined.
    std_error : (K,) array or None
        Standard error of the scores, drawn as a band.
    criterion : str
        "left-out" and "cv-error": root mean squared errors of rows left out (RMSECV); "bic", ...
    parameter_name, response : str
    chosen : float or None
        Parameter of the model that these scores choose.
    model : float or None
        Parameter of another model that is marked.
    ax_, figure_, line_ : matplotlib objects
    band_, chosen_line_, model_line_ : matplotlib objects or None

    Examples
    --------
    >>> from plsdof import pls_path
    >>> from plsdof.datasets import load_ozone
    >>> path = pls_path(*load_ozone(return_X_y=True), 4)
    >>> CriterionDisplay.from_path(path).scores.round(2)
    array([8.19, 4.84, 4.62, 4.62, 4.57])
    >>> CriterionDisplay.from_path(path, "aic").ax_.get_ylabel()
    'AIC (response²)'
    """

    parameters: Array
    scores: Array
    criterion: str = LEFT_OUT
    std_error: Array | None = None
    parameter_name: str = "n_components"
    response: str = "response"
    chosen: float | None = None
    model: float | None = None
    line_: "Line2D" = field(init=False, repr=False)
    band_: Any = field(init=False, repr=False)
    chosen_line_: "Line2D | None" = field(init=False, repr=False)
    model_line_: "Line2D | None" = field(init=False, repr=False)

    @classmethod
    def from_path(
        cls,
        path: PathLike,
        selection: Selection | str | None = None,
        *,
        response: str = "response",
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the scores behind a choice, or a criterion by name; ``kwargs`` go to the line.

        What these scores choose is marked, and a model or an estimator that is something else.

        Parameters
        ----------
        path : Path, Model or fitted estimator
        selection : Selection or str, optional
            A choice, or the name of a criterion. By default the choice behind a model or an
            estimator, or that of ``path.select()``. Errors of rows left out are those of the folds
            behind the choice, with their groups.
        response : str
            Its name, for the axis.
        """
        subject, path = path, as_path(path)
        mark, std_error = _choice(subject, path, selection), None
        scores, left = mark.scores, mark.left_out
        if mark.criterion == LEFT_OUT and left is not None:
            scores, std_error = left.rmse, _padded(left.rmse_std_error, len(path))
        elif mark.criterion in ROOTED:
            scores = np.sqrt(scores)
        own = None if subject is path else as_model(subject).parameter
        order = path.simplest_first()
        return cls(
            parameters=path.parameters[order],
            scores=_padded(scores, len(path))[order],
            criterion=mark.criterion,
            std_error=None if std_error is None else std_error[order],
            parameter_name=path.parameter_name,
            response=response,
            chosen=mark.parameter,
            model=None if own == mark.parameter else own,
        ).plot(ax, **kwargs)

    @classmethod
    def from_cross_validation(
        cls,
        cv: CrossValidation,
        selection: Selection | None = None,
        *,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the root of the mean error over folds, with its standard error."""
        require_type(cv, CrossValidation, "cv", "cross_validate")
        order = cv.order
        return cls(
            parameters=cv.parameters[order],
            scores=cv.rmse[order],
            std_error=cv.rmse_std_error[order],
            criterion="cv-error",
            parameter_name=cv.parameter_name,
            chosen=None if selection is None else selection.parameter,
        ).plot(ax, **kwargs)

    def _draw(self, style: dict[str, Any]) -> None:
        style = {"color": BLUE} | sparse_markers(self.scores) | style
        (self.line_,) = self.ax_.plot(self.parameters, self.scores, **style)
        self.band_ = None
        if self.std_error is not None:
            low, high = self.scores - self.std_error, self.scores + self.std_error
            # A logarithmic axis has no place for zero.
            low = np.where(low > 0, low, np.nanmin(self.scores, initial=np.inf) / 10)
            band: dict[str, Any] = {"color": self.line_.get_color(), "alpha": 0.2, "linewidth": 0}
            band["label"] = "± 1 standard error"
            self.band_ = self.ax_.fill_between(self.parameters, low, high, **band)
        self.chosen_line_ = mark_chosen(self.ax_, self.chosen, self.parameter_name)
        self.model_line_ = mark_chosen(self.ax_, self.model, self.parameter_name, "model")
        show_models(self.ax_, self.parameter_name)
        self.ax_.set_ylabel(criterion_title(self.criterion, self.response))
        if spans_decades(self.scores):
            self.ax_.set_yscale("log")


def _choice(subject: Any, path: Path, selection: Any) -> Selection:
    """Return a choice: that given, that behind a model, or that of the path."""
    if isinstance(selection, Selection):
        return selection
    known = None if subject is path or selection is not None else as_model(subject).selection
    return path.select(selection) if known is None else known


def _padded(scores: Array, size: int) -> Array:
    """Fill up scores that not all models have (cross-validation stops early) with nan."""
    values = np.full(size, np.nan)
    values[: len(scores)] = scores
    return values


# Several methods in one picture, on the scale of Degrees of Freedom
# ------------------------------------------------------------------


@dataclass(kw_only=True, eq=False)
class ComparisonDisplay(Display):
    """An error or criterion of several methods against their Degrees of Freedom.

    Attributes
    ----------
    method : (K,) array of str
    dof, values : (K,) arrays
    by : str
        What ``values`` are: "cv_error" (RMSECV), "train_error" (RMSEC) or the name of a criterion.
    ax_, figure_ : matplotlib objects
    lines_ : dict of matplotlib lines by method

    Examples
    --------
    >>> from plsdof import compare_paths
    >>> from plsdof.datasets import load_ozone
    >>> table = compare_paths(*load_ozone(return_X_y=True))
    >>> sorted(ComparisonDisplay.from_comparison(table, by="bic").lines_)
    ['pcr', 'pls', 'ridge']
    """

    method: npt.NDArray[np.str_]
    dof: Array
    values: Array
    by: str = "cv_error"
    lines_: "dict[str, Line2D]" = field(init=False, repr=False)

    @classmethod
    def from_comparison(
        cls, comparison: Comparison, *, by: str | None = None, ax: Any = None, **kwargs: Any
    ) -> Self:
        """Draw a comparison; ``by`` is the cross-validated error if there is one, else RMSEC."""
        require_type(comparison, Comparison, "comparison", "compare_paths")
        if by is None:
            by = "train_error" if np.all(np.isnan(comparison.cv_error)) else "cv_error"
        as_choice(by, "by", ("cv_error", "train_error", *comparison.criteria))
        values = comparison.columns()[by]
        values = np.sqrt(values) if by in ROOTED else values
        display = cls(method=comparison.method, dof=comparison.dof, values=values, by=by)
        return display.plot(ax, **kwargs)

    def _draw(self, style: dict[str, Any]) -> None:
        self.lines_ = {}
        # A fit through all points leaves rounding, which has no place on a logarithmic axis.
        least = _ROUNDING * np.nanmax(self.values, initial=0.0) if self.by in ROOTED else -np.inf
        for number, name in enumerate(dict.fromkeys(self.method.tolist())):
            color, dash, marker = LINES[number % len(LINES)]
            rows = self.method == name
            line = sparse_markers(self.dof[rows]) | {"color": color, "linestyle": dash}
            line |= {"marker": marker, "label": plain(method_label(name))}
            values = np.where(self.values > least, self.values, np.nan)[rows]
            (self.lines_[name],) = self.ax_.plot(self.dof[rows], values, **line | style)
        self.ax_.set_xlabel("Degrees of Freedom")
        self.ax_.set_ylabel(criterion_title(self.by))
        if spans_decades(self.values[self.values > least]):
            self.ax_.set_yscale("log")


# One figure that tells the main story of a model
# -----------------------------------------------


def overview_figure(
    model: ModelLike, *, response: str = "response", level: float = 0.95
) -> "Figure":
    """Draw Degrees of Freedom, errors, coefficients, and predicted against measured values.

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
        memory, the second panel shows a criterion instead of errors, and the fourth is left out.

    Examples
    --------
    >>> from plsdof import pls_path
    >>> from plsdof.datasets import load_ozone
    >>> path = pls_path(*load_ozone(return_X_y=True))
    >>> len(overview_figure(path[path.select().index]).axes)
    4
    """
    model = as_model(model)
    roomy = matplotlib("layout_engine").ConstrainedLayoutEngine(h_pad=0.12, w_pad=0.12)
    figure: Figure = matplotlib("figure").Figure(figsize=(11.0, 8.0), layout=roomy)
    dof, choice, coefficients, rows = figure.subplots(2, 2).ravel()
    DoFDisplay.from_path(model, ax=dof)
    dof.set_title("What the models cost")
    CriterionDisplay.from_path(model, response=response, ax=choice)
    choice.set_title("How the model was chosen" if model.selection else "How well models predict")
    CoefficientDisplay.from_model(model, level=level, per=None, response=response, ax=coefficients)
    note = coefficients.get_title()
    coefficients.set_title("Coefficients of the model" + (f"\n{note}" if note else ""))
    if model.path.given is None:
        rows.remove()
    else:
        PredictionDisplay.from_model(model, response=response, ax=rows)
        rows.set_title("Predicted against measured")
    return figure


def quick_look(result: PathLike, **options: Any) -> "Figure":
    """Draw a model (`overview_figure`), or Degrees of Freedom and errors of a path.

    ``path.plot()`` and ``model.plot()`` are this.

    Examples
    --------
    >>> from plsdof import pls_path
    >>> from plsdof.datasets import load_ozone
    >>> path = pls_path(*load_ozone(return_X_y=True))
    >>> len(path.plot().axes), len(path[2].plot(response="ozone").axes)
    (2, 4)
    """
    if not isinstance(result, Path):
        return overview_figure(result, **options)
    figure: Figure = matplotlib("figure").Figure(figsize=(11.0, 4.0), layout="constrained")
    dof, choice = figure.subplots(1, 2)
    DoFDisplay.from_path(result, ax=dof)
    CriterionDisplay.from_path(result, ax=choice, **options)
    return figure
