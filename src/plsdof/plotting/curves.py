"""Curves over the models of a path, and over Degrees of Freedom."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from plsdof._core.criteria import Noise, Selection
from plsdof._core.fit import method_label
from plsdof._core.inputs import Array, as_choice, require_type
from plsdof._core.path import Path, PathLike, as_model, as_path
from plsdof.complexity.comparison import Comparison
from plsdof.errors import NotAvailableError
from plsdof.inference.permutation import PermutationTest, permutation_test
from plsdof.plotting.style import (
    BLUE,
    GREY,
    LINES,
    VERMILLION,
    as_selection,
    axes_or_new,
    criterion_title,
    mark_chosen,
    plain,
    show_legend,
    show_models,
    spans_decades,
    sparse_markers,
)
from plsdof.selection.cross_validation import CrossValidation

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D


# Curves over the models of a path: Degrees of Freedom, criteria and cross-validated errors
# -----------------------------------------------------------------------------------------


@dataclass(kw_only=True, eq=False)
class DoFDisplay:
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
    ax_: "Axes" = field(init=False, repr=False)
    figure_: "Figure" = field(init=False, repr=False)
    line_: "Line2D" = field(init=False, repr=False)
    naive_line_: "Line2D | None" = field(init=False, repr=False)
    chosen_line_: "Line2D | None" = field(init=False, repr=False)

    @classmethod
    def from_path(
        cls, path: PathLike, selection: Selection | None = None, *, ax: Any = None, **kwargs: Any
    ) -> Self:
        """Draw the Degrees of Freedom of a path; ``kwargs`` go to the line."""
        path, selection = as_path(path), as_selection(selection)
        order = path.simplest_first()
        display = cls(
            parameters=path.parameters[order],
            dof=path.dof[order],
            naive_dof=path.naive_dof[order],
            parameter_name=path.parameter_name,
            chosen=None if selection is None else selection.parameter,
            n=path.spectrum.n,
        )
        return display.plot(ax, **kwargs)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the Degrees of Freedom of a fitted estimator's path."""
        model = as_model(estimator, average=False)
        return cls.from_path(
            model.path, getattr(model.estimator, "selection_", None), ax=ax, **kwargs
        )

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw on ``ax``, or on new axes; ``kwargs`` go to the line."""
        self.ax_ = axes_or_new(ax)
        self.figure_ = self.ax_.figure  # type: ignore[assignment]
        style = {"color": BLUE, "label": "exact"} | sparse_markers(self.dof) | kwargs
        (self.line_,) = self.ax_.plot(self.parameters, self.dof, **style)
        self.naive_line_ = self._draw_naive()
        self._draw_limit()
        self.chosen_line_ = mark_chosen(self.ax_, self.chosen, self.parameter_name)
        show_models(self.ax_, self.parameter_name)
        self.ax_.set_ylabel("Degrees of Freedom")
        show_legend(self.ax_)
        return self

    def _draw_naive(self) -> "Line2D | None":
        if np.allclose(self.dof, self.naive_dof):
            return None
        style = sparse_markers(self.dof) | {"color": VERMILLION, "linestyle": "--", "marker": "s"}
        label = "naive: number of components + 1"
        (line,) = self.ax_.plot(self.parameters, self.naive_dof, label=label, **style)
        return line

    def _draw_limit(self) -> None:
        if self.n is not None and np.nanmax(self.dof, initial=-np.inf) > 0.8 * self.n:
            text = f"n = {self.n:g} (no intervals above)"
            self.ax_.axhline(self.n, color=GREY, linewidth=1, label=text)


@dataclass(kw_only=True, eq=False)
class CriterionDisplay:
    """An information criterion, or a cross-validated error, of every model.

    Attributes
    ----------
    parameters, scores : (K,) arrays
        Models from the simplest to the richest; nan where the criterion is not defined.
    std_error : (K,) array or None
        Standard error of the scores, drawn as a band.
    criterion : str
        "bic", ..., or "cv-error", ...
    parameter_name : str
    chosen : float or None
    ax_, figure_, line_ : matplotlib objects
    band_, chosen_line_ : matplotlib objects or None

    Examples
    --------
    >>> from plsdof import pls_path
    >>> from plsdof.datasets import load_ozone
    >>> path = pls_path(*load_ozone(return_X_y=True))
    >>> CriterionDisplay.from_path(path, criterion="aic").ax_.get_ylabel()
    'AIC (response²)'
    """

    parameters: Array
    scores: Array
    criterion: str = "bic"
    std_error: Array | None = None
    parameter_name: str = "n_components"
    chosen: float | None = None
    ax_: "Axes" = field(init=False, repr=False)
    figure_: "Figure" = field(init=False, repr=False)
    line_: "Line2D" = field(init=False, repr=False)
    band_: Any = field(init=False, repr=False)
    chosen_line_: "Line2D | None" = field(init=False, repr=False)

    @classmethod
    def from_path(
        cls,
        path: PathLike,
        selection: Selection | str | None = None,
        *,
        criterion: str = "bic",
        dof: str = "exact",
        noise: Noise = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the scores behind a selection, or those of a criterion by name."""
        if isinstance(selection, str):
            criterion, selection = selection, None
        path, selection = as_path(path), as_selection(selection)
        if selection is not None:
            criterion, scores = selection.criterion, padded(selection.scores, len(path.dof))
        else:
            scores = path.criterion(criterion, dof, noise)
        order = path.simplest_first()
        display = cls(
            parameters=path.parameters[order],
            scores=scores[order],
            criterion=criterion,
            parameter_name=path.parameter_name,
            chosen=None if selection is None else selection.parameter,
        )
        return display.plot(ax, **kwargs)

    @classmethod
    def from_cross_validation(
        cls,
        cv: CrossValidation,
        selection: Selection | None = None,
        *,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the mean error over folds with its standard error."""
        require_type(cv, CrossValidation, "cv", "cross_validate")
        order = cv.simplest_first
        display = cls(
            parameters=cv.parameters[order],
            scores=cv.mean_error[order],
            std_error=cv.std_error[order],
            criterion="cv-error",
            parameter_name=cv.parameter_name,
            chosen=None if selection is None else selection.parameter,
        )
        return display.plot(ax, **kwargs)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **kwargs: Any) -> Self:
        """Draw what a fitted estimator chose its model by (BIC if its size was given)."""
        model = as_model(estimator, average=False)
        cv, chosen = (getattr(model.estimator, one, None) for one in ("cv_results_", "selection_"))
        if cv is not None:
            return cls.from_cross_validation(cv, chosen, ax=ax, **kwargs)
        return cls.from_path(model.path, chosen, ax=ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw on ``ax``, or on new axes; ``kwargs`` go to the line."""
        self.ax_ = axes_or_new(ax)
        self.figure_ = self.ax_.figure  # type: ignore[assignment]
        style = {"color": BLUE} | sparse_markers(self.scores) | kwargs
        (self.line_,) = self.ax_.plot(self.parameters, self.scores, **style)
        self.band_ = self._draw_band()
        self.chosen_line_ = mark_chosen(self.ax_, self.chosen, self.parameter_name)
        show_models(self.ax_, self.parameter_name)
        self.ax_.set_ylabel(criterion_title(self.criterion))
        if spans_decades(self.scores):
            self.ax_.set_yscale("log")
        if self.ax_.get_legend_handles_labels()[0]:
            show_legend(self.ax_)
        return self

    def _draw_band(self) -> Any:
        if self.std_error is None:
            return None
        low, high = self.scores - self.std_error, self.scores + self.std_error
        # A logarithmic axis has no place for zero.
        low = np.where(low > 0, low, np.nanmin(self.scores, initial=np.inf) / 10)
        color, label = self.line_.get_color(), "± 1 standard error"
        return self.ax_.fill_between(
            self.parameters, low, high, color=color, alpha=0.2, linewidth=0, label=label
        )


@dataclass(kw_only=True, eq=False)
class ErrorDisplay:
    """Estimates of the error on new rows, in units of the response, side by side.

    RMSECV with error bars; the root of PRESS / n, leave-one-out without refits (to first order);
    the root of GCV with smoothed Degrees of Freedom.

    Attributes
    ----------
    parameters : (K,) array
        Models from the simplest to the richest.
    errors : dict of (K,) arrays
        By name; nan where one is not defined.
    std_errors : dict of (K,) arrays
        Of those that have one.
    parameter_name : str
    chosen : float or None
    ax_, figure_ : matplotlib objects
    lines_ : dict of matplotlib lines by name
    chosen_line_ : matplotlib line or None

    Examples
    --------
    >>> from plsdof import cross_validate, pls_path
    >>> from plsdof.datasets import load_ozone
    >>> X, y = load_ozone(return_X_y=True)
    >>> path, cv = pls_path(X, y), cross_validate(X, y)
    >>> display = ErrorDisplay.from_path(path, cv=cv)
    >>> display.errors["RMSECV"][:3].round(2)
    array([8.19, 4.84, 4.62])
    """

    parameters: Array
    errors: dict[str, Array]
    std_errors: dict[str, Array] = field(default_factory=dict)
    parameter_name: str = "n_components"
    chosen: float | None = None
    ax_: "Axes" = field(init=False, repr=False)
    figure_: "Figure" = field(init=False, repr=False)
    lines_: "dict[str, Line2D]" = field(init=False, repr=False)
    chosen_line_: "Line2D | None" = field(init=False, repr=False)

    @classmethod
    def from_path(
        cls,
        path: Path,
        selection: Selection | None = None,
        *,
        cv: CrossValidation | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw what a path knows of its errors, and a cross-validation of it if there is one."""
        order, selection = as_path(path).simplest_first(), as_selection(selection)
        errors, std_errors = error_estimates(path, cv)
        display = cls(
            parameters=path.parameters[order],
            errors={name: values[order] for name, values in errors.items()},
            std_errors={name: values[order] for name, values in std_errors.items()},
            parameter_name=path.parameter_name,
            chosen=None if selection is None else selection.parameter,
        )
        return display.plot(ax, **kwargs)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the errors of a fitted estimator's path, cross-validated if it was."""
        model = as_model(estimator, average=False)
        cv, chosen = (getattr(model.estimator, one, None) for one in ("cv_results_", "selection_"))
        return cls.from_path(model.path, chosen, cv=cv, ax=ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw on ``ax``, or on new axes; ``kwargs`` go to all lines."""
        self.ax_ = axes_or_new(ax)
        self.figure_ = self.ax_.figure  # type: ignore[assignment]
        self.lines_ = {}
        for (name, values), (color, dash, marker) in zip(self.errors.items(), LINES, strict=False):
            style = sparse_markers(values) | {"color": color, "linestyle": dash, "marker": marker}
            label = f"{name} ± 1 standard error" if name in self.std_errors else name
            (line,) = self.ax_.plot(self.parameters, values, label=label, **style | kwargs)
            self.lines_[name] = line
            if name in self.std_errors:
                bars: dict[str, Any] = {
                    "fmt": "none",
                    "ecolor": color,
                    "capsize": 3,
                    "linewidth": 1,
                }
                self.ax_.errorbar(self.parameters, values, self.std_errors[name], **bars)
        self.chosen_line_ = mark_chosen(self.ax_, self.chosen, self.parameter_name)
        show_models(self.ax_, self.parameter_name)
        self.ax_.set_ylabel("error on new rows (response)")
        if spans_decades(np.concatenate(list(self.errors.values()))):
            self.ax_.set_yscale("log")
        show_legend(self.ax_)
        return self


LEAVE_ONE_OUT = "leave-one-out (PRESS)"


def error_estimates(
    path: Path, cv: CrossValidation | None
) -> tuple[dict[str, Array], dict[str, Array]]:
    """Return errors on new rows by name, in units of the response, and what standard errors have.

    Arrays are in the order of the path; nan where something is not defined.
    """
    errors, std_errors, size = {}, {}, len(path.dof)
    if cv is not None:
        require_type(cv, CrossValidation, "cv", "cross_validate")
        errors["RMSECV"] = padded(cv.rmse, size)
        std_errors["RMSECV"] = padded(rmse_std_error(cv), size)
    for name, label in (("press", LEAVE_ONE_OUT), ("gcv", "GCV")):
        try:
            errors[label] = np.sqrt(path.criterion(name, "smoothed"))
        except NotAvailableError:
            continue
    return errors, std_errors


def rmse_std_error(cv: CrossValidation) -> Array:
    """Return the standard error of RMSECV: that of its square, over twice RMSECV. Shape (K,)."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(cv.std_error / (2 * cv.rmse))


def padded(scores: Array, size: int) -> Array:
    """Fill up scores that not all models have (cross-validation stops early) with nan."""
    values = np.full(size, np.nan)
    values[: len(scores)] = scores
    return values


# Is there anything at all? Scores of permuted responses beside that of the data
# ------------------------------------------------------------------------------


@dataclass(kw_only=True, eq=False)
class PermutationDisplay:
    """Best scores of permuted responses as a histogram, with that of the data.

    Attributes
    ----------
    score : float
    permuted : (B,) array
    p_value : float
    ax_, figure_, line_ : matplotlib objects
    bars_ : matplotlib container

    Examples
    --------
    >>> from plsdof import pls_path
    >>> from plsdof.datasets import load_ozone
    >>> display = PermutationDisplay.from_path(pls_path(*load_ozone(return_X_y=True), 3), 99)
    >>> display.p_value
    0.01
    """

    score: float
    permuted: Array
    p_value: float
    ax_: "Axes" = field(init=False, repr=False)
    figure_: "Figure" = field(init=False, repr=False)
    line_: "Line2D" = field(init=False, repr=False)
    bars_: Any = field(init=False, repr=False)

    @classmethod
    def from_test(cls, test: PermutationTest, *, ax: Any = None, **kwargs: Any) -> Self:
        """Draw a permutation test; ``kwargs`` go to the bars."""
        require_type(test, PermutationTest, "test", "permutation_test")
        display = cls(score=test.score, permuted=test.permuted, p_value=test.p_value)
        return display.plot(ax, **kwargs)

    @classmethod
    def from_path(
        cls, path: PathLike, n_permutations: int = 999, *, random_state: int = 0, **kwargs: Any
    ) -> Self:
        """Permute the response of a path and draw the scores; see `permutation_test`."""
        test = permutation_test(path, n_permutations=n_permutations, random_state=random_state)
        return cls.from_test(test, **kwargs)

    @classmethod
    def from_estimator(cls, estimator: Any, n_permutations: int = 999, **kwargs: Any) -> Self:
        """Permute the response of a fitted estimator's path and draw the scores."""
        return cls.from_path(as_model(estimator).path, n_permutations, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw on ``ax``, or on new axes; ``kwargs`` go to the bars."""
        self.ax_ = axes_or_new(ax)
        self.figure_ = self.ax_.figure  # type: ignore[assignment]
        counts, edges = permutation_bins(self.permuted)
        style: dict[str, Any] = {"color": GREY, "alpha": 0.5, "label": "permuted responses"}
        self.bars_ = self.ax_.bar(
            edges[:-1], counts, np.diff(edges), align="edge", **style | kwargs
        )
        label = f"the data (p = {self.p_value:.3g})"
        self.line_ = self.ax_.axvline(self.score, color=VERMILLION, linewidth=2, label=label)
        self.ax_.set_xlabel("best score over all models (response²)")
        self.ax_.set_ylabel("number of permutations")
        show_legend(self.ax_)
        return self


def permutation_bins(permuted: Array) -> tuple[npt.NDArray[np.intp], Array]:
    """Return counts and edges of a histogram of permuted scores."""
    counts, edges = np.histogram(permuted, bins=min(40, max(5, round(np.sqrt(len(permuted))))))
    return counts, edges


# Several methods in one picture, on the scale of Degrees of Freedom
# ------------------------------------------------------------------

TITLES = {
    "cv_error": "cross-validated error (response²)",
    "train_error": "RSS / n (response²)",
}


@dataclass(kw_only=True, eq=False)
class ComparisonDisplay:
    """An error or criterion of several methods against their Degrees of Freedom.

    Attributes
    ----------
    method : (K,) array of str
    dof, values : (K,) arrays
    by : str
        What ``values`` are: "cv_error", "train_error" or the name of a criterion.
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
    ax_: "Axes" = field(init=False, repr=False)
    figure_: "Figure" = field(init=False, repr=False)
    lines_: "dict[str, Line2D]" = field(init=False, repr=False)

    @classmethod
    def from_comparison(
        cls, comparison: Comparison, *, by: str | None = None, ax: Any = None, **kwargs: Any
    ) -> Self:
        """Draw a comparison; ``by`` is the cross-validated error if there is one, else RSS / n."""
        require_type(comparison, Comparison, "comparison", "compare_paths")
        by = default_quantity(comparison) if by is None else by
        as_choice(by, "by", ("cv_error", "train_error", *comparison.criteria))
        values = comparison.columns()[by]
        display = cls(method=comparison.method, dof=comparison.dof, values=values, by=by)
        return display.plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw on ``ax``, or on new axes; ``kwargs`` go to all lines."""
        self.ax_ = axes_or_new(ax)
        self.figure_ = self.ax_.figure  # type: ignore[assignment]
        names = list(dict.fromkeys(self.method.tolist()))
        self.lines_ = {name: self._draw(name, i, kwargs) for i, name in enumerate(names)}
        self.ax_.set_xlabel("Degrees of Freedom")
        self.ax_.set_ylabel(TITLES.get(self.by) or criterion_title(self.by))
        if spans_decades(self.values):
            self.ax_.set_yscale("log")
        show_legend(self.ax_)
        return self

    def _draw(self, name: str, number: int, kwargs: dict[str, Any]) -> "Line2D":
        color, dash, marker = LINES[number % len(LINES)]
        style = {"color": color, "linestyle": dash, "marker": marker, "markersize": 4} | kwargs
        rows = self.method == name
        label = method_label(name)
        (line,) = self.ax_.plot(self.dof[rows], self.values[rows], label=plain(label), **style)
        return line


def default_quantity(comparison: Comparison) -> str:
    """Return "cv_error" if there is one, else "train_error"."""
    return "train_error" if np.all(np.isnan(comparison.cv_error)) else "cv_error"
