"""Curves over the models of a path, and over Degrees of Freedom."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from plsdof._core.choice import LEFT_OUT, Selection
from plsdof._core.criteria import Noise
from plsdof._core.fit import method_label
from plsdof._core.inputs import Array, as_choice, require_type
from plsdof._core.left_out import LeftOut
from plsdof._core.model import ModelLike, as_model, as_path
from plsdof._core.path import Path
from plsdof.complexity.comparison import Comparison
from plsdof.inference.resampling import PermutationTest, permutation_test
from plsdof.plotting.style import (
    BLUE,
    GREY,
    LINES,
    VERMILLION,
    Display,
    chosen_parameter,
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
    from matplotlib.lines import Line2D

# What pictures of all models take.
PathLike = Path | ModelLike

# Curves over the models of a path: Degrees of Freedom, criteria and cross-validated errors
# -----------------------------------------------------------------------------------------


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
        order = path._simplest_first()
        display = cls(
            parameters=path.parameters[order],
            dof=path.dof[order],
            naive_dof=path.naive_dof[order],
            parameter_name=path.parameter_name,
            chosen=chosen_parameter(subject, path, selection),
            n=path.exact.spectrum.n,
        )
        return display.plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw on ``ax``, or on new axes; ``kwargs`` go to the line."""
        self._open(ax)
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
class CriterionDisplay(Display):
    """An information criterion, or a cross-validated error, of every model.

    Attributes
    ----------
    parameters, scores : (K,) arrays
        Models from the simplest to the richest; nan where the criterion is not defined.
    std_error : (K,) array or None
        Standard error of the scores, drawn as a band.
    criterion : str
        "left-out", "bic", ..., or "cv-error", ...
    parameter_name : str
    chosen : float or None
    ax_, figure_, line_ : matplotlib objects
    band_, chosen_line_ : matplotlib objects or None

    Examples
    --------
    >>> from plsdof import pls_path
    >>> from plsdof.datasets import load_ozone
    >>> path = pls_path(*load_ozone(return_X_y=True))
    >>> CriterionDisplay.from_path(path, "aic").ax_.get_ylabel()
    'AIC (response²)'
    """

    parameters: Array
    scores: Array
    criterion: str = LEFT_OUT
    std_error: Array | None = None
    parameter_name: str = "n_components"
    chosen: float | None = None
    line_: "Line2D" = field(init=False, repr=False)
    band_: Any = field(init=False, repr=False)
    chosen_line_: "Line2D | None" = field(init=False, repr=False)

    @classmethod
    def from_path(
        cls,
        path: PathLike,
        selection: Selection | str | None = None,
        *,
        dof: str = "exact",
        noise: Noise = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the scores behind a choice, or a criterion by name; ``kwargs`` go to the line.

        Parameters
        ----------
        path : Path, Model or fitted estimator
        selection : Selection or str, optional
            A choice, or the name of a criterion. By default the choice behind a model or an
            estimator, or that of ``path.select()``.
        dof, noise
            Of a criterion by name, as for `plsdof.Path.criterion`.
        """
        subject, path = path, as_path(path)
        mark = None
        if isinstance(selection, str) and selection != LEFT_OUT:
            name, scores = selection, path.criterion(selection, dof, noise)
        else:
            mark = _choice(subject, path, selection)
            name, scores = mark.criterion, padded(mark.scores, len(path))
        if subject is not path and not isinstance(selection, Selection):
            mark = None  # the model itself is marked
        order = path._simplest_first()
        display = cls(
            parameters=path.parameters[order],
            scores=scores[order],
            criterion=name,
            parameter_name=path.parameter_name,
            chosen=chosen_parameter(subject, path, mark),
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

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw on ``ax``, or on new axes; ``kwargs`` go to the line."""
        self._open(ax)
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


def _choice(subject: Any, path: Path, selection: Any) -> Selection:
    """Return a choice: that given, that behind a model, or that of the path."""
    if isinstance(selection, Selection):
        return selection
    known = None if subject is path or selection is not None else as_model(subject).selection
    return path.select(selection) if known is None else known


@dataclass(kw_only=True, eq=False)
class ErrorDisplay(Display):
    """Root mean squared error of rows left out (RMSECV) of every model, with the chosen one.

    Attributes
    ----------
    parameters : (K,) array
        Models from the simplest to the richest.
    rmse, std_error : (K,) arrays
        RMSECV and its standard error.
    parameter_name : str
    chosen : float or None
    ax_, figure_, line_ : matplotlib objects
    bars_ : matplotlib container
    chosen_line_ : matplotlib line or None

    Examples
    --------
    >>> from plsdof import pls_path
    >>> from plsdof.datasets import load_ozone
    >>> display = ErrorDisplay.from_path(pls_path(*load_ozone(return_X_y=True), 4))
    >>> display.rmse.round(2)
    array([8.19, 4.84, 4.62, 4.62, 4.57])
    """

    parameters: Array
    rmse: Array
    std_error: Array
    parameter_name: str = "n_components"
    chosen: float | None = None
    line_: "Line2D" = field(init=False, repr=False)
    bars_: Any = field(init=False, repr=False)
    chosen_line_: "Line2D | None" = field(init=False, repr=False)

    @classmethod
    def from_path(
        cls, path: PathLike, selection: Selection | None = None, *, ax: Any = None, **kwargs: Any
    ) -> Self:
        """Draw the errors of rows left out; ``kwargs`` go to the line.

        Parameters
        ----------
        path : Path, Model or fitted estimator
            Fitted to rows in memory.
        selection : Selection, optional
            The choice to mark. Rows are left out in the folds behind it, or behind the model, with
            their groups; of a path in its usual folds, and its own choice is marked.
        """
        subject, path = path, as_path(path)
        if selection is None and subject is path:
            selection = path.select(LEFT_OUT)
        chosen = chosen_parameter(subject, path, selection)
        left = None if selection is None else selection.left_out
        if left is None:
            left = path.left_out() if subject is path else as_model(subject).left_out
        display = cls(
            parameters=left.parameters[left.order],
            rmse=left.rmse[left.order],
            std_error=rmse_std_error(left)[left.order],
            parameter_name=left.parameter_name,
            chosen=chosen,
        )
        return display.plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw on ``ax``, or on new axes; ``kwargs`` go to the line."""
        self._open(ax)
        style = {"color": BLUE, "label": "RMSECV ± 1 standard error"} | sparse_markers(self.rmse)
        (self.line_,) = self.ax_.plot(self.parameters, self.rmse, **style | kwargs)
        bars: dict[str, Any] = {"fmt": "none", "capsize": 3, "linewidth": 1}
        bars["ecolor"] = self.line_.get_color()
        self.bars_ = self.ax_.errorbar(self.parameters, self.rmse, self.std_error, **bars)
        self.chosen_line_ = mark_chosen(self.ax_, self.chosen, self.parameter_name)
        show_models(self.ax_, self.parameter_name)
        self.ax_.set_ylabel("error of rows left out (response)")
        if spans_decades(self.rmse):
            self.ax_.set_yscale("log")
        show_legend(self.ax_)
        return self


def rmse_std_error(left: LeftOut) -> Array:
    """Return the standard error of RMSECV: that of its square over folds, over 2 RMSECV. (K,)."""
    rows = left.fold_sums(np.ones((1, len(left.y))))
    errors = left.fold_sums(left.residuals**2) / rows
    spread = (errors - (left.press / left.n)[:, None]) ** 2 @ (rows[0] / left.n)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.sqrt(spread / (rows.shape[1] - 1.0)) / (2 * left.rmse))


def padded(scores: Array, size: int) -> Array:
    """Fill up scores that not all models have (cross-validation stops early) with nan."""
    values = np.full(size, np.nan)
    values[: len(scores)] = scores
    return values


# Is there anything at all? Scores of permuted responses beside that of the data
# ------------------------------------------------------------------------------


@dataclass(kw_only=True, eq=False)
class PermutationDisplay(Display):
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
        cls, path: PathLike, n_permutations: int = 999, *, rng: Any = 0, **kwargs: Any
    ) -> Self:
        """Permute the response of a path and draw the scores; see `permutation_test`."""
        test = permutation_test(path, n_permutations=n_permutations, rng=rng)
        return cls.from_test(test, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw on ``ax``, or on new axes; ``kwargs`` go to the bars."""
        self._open(ax)
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
class ComparisonDisplay(Display):
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
        self._open(ax)
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
