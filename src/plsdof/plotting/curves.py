"""Curves over the models of a path and over Degrees of Freedom, and one figure of a model."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from plsdof._core.choice import LEFT_OUT, Selection
from plsdof._core.fit import method_label
from plsdof._core.inputs import Array, as_choice, require_type
from plsdof._core.model import ModelLike, as_model, as_path
from plsdof._core.path import Path
from plsdof.chemometrics.distances import t2_limit
from plsdof.complexity.comparison import Comparison
from plsdof.plotting import style
from plsdof.plotting.observations import PredictionDisplay, ScoresDisplay
from plsdof.plotting.predictors import CoefficientDisplay, ImportanceDisplay
from plsdof.selection.cross_validation import CrossValidation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from plsdof.estimators.classifier import PLSClassifier

# Errors below this share of the largest one are those of fits through all points.
_ROUNDING = 1e-5

# Curves over the models of a path: Degrees of Freedom, criteria and cross-validated errors
# ------------------------------------------------------------------------------------------


@dataclass(kw_only=True, eq=False)
class ModelsDisplay(style.Display):
    """What pictures over all models share: their parameters, simplest first, and the chosen one."""

    parameters: Array
    parameter_name: str = "n_components"
    chosen: float | None = None

    @classmethod
    def from_path(
        cls,
        path: style.PathLike,
        selection: Selection | str | None = None,
        *,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw all models of a path; ``kwargs`` go to `plot`.

        Parameters
        ----------
        path : Path, Model or fitted estimator
            That of a model or of an estimator is marked.
        selection : Selection or str, optional
            The choice to mark and, among criteria, to draw, or the name of its criterion. By
            default the choice behind a model or an estimator, or that of ``path.select()``.
            Cross-validated errors are those of the folds behind the choice, with their groups.
        """
        subject, path = path, as_path(path)
        order = path.simplest_first()
        data = cls._data(subject, path, selection, order)
        data["parameter_name"] = path.parameter_name
        return cls(parameters=path.parameters[order], **data).plot(ax, **kwargs)

    @staticmethod
    def _data(subject: Any, path: Path, selection: Any, order: Any) -> dict[str, Any]:
        raise NotImplementedError

    def _show_models(self) -> None:
        """Prepare the horizontal axis, and mark the chosen model."""
        self.chosen_line_ = self._mark(self.chosen, "chosen")
        if self.parameter_name == "alpha":
            self.ax_.set_xlabel("penalty alpha (richer models to the right)")
            self.ax_.set_xscale("log")
            self.ax_.xaxis.set_inverted(True)
        else:
            self.ax_.set_xlabel("number of components")
            self.ax_.xaxis.set_major_locator(style.matplotlib("ticker").MaxNLocator(integer=True))

    def _mark(self, parameter: float | None, word: str) -> Any:
        """Draw a vertical line at a model, if there is one."""
        if parameter is None:
            return None
        name = f"{self.parameter_name} = {parameter:.4g}"
        if self.parameter_name == "n_components":
            name = f"{parameter:.3g} component{'' if parameter == 1 else 's'}"
        dash, label = ":" if word == "chosen" else "-.", f"{word}: {name}"
        return self.ax_.axvline(parameter, color=style.GREY, linestyle=dash, label=label, zorder=1)


def _markers(values: Array) -> dict[str, Any]:
    """Return the spacing of markers that keeps a long line legible."""
    return {"marker": "o", "markersize": 4, "markevery": max(1, len(values) // 25)}


@dataclass(kw_only=True, eq=False)
class DoFDisplay(ModelsDisplay):
    """Degrees of Freedom of every model, with the line of the number of components + 1.

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
        None where they would show nothing new.

    Examples
    --------
    >>> from plsdof import pls_path
    >>> from plsdof.datasets import load_ozone
    >>> path = pls_path(*load_ozone(return_X_y=True))
    >>> display = DoFDisplay.from_path(path, path.select("bic"))
    >>> display.ax_.get_ylabel()
    'Degrees of Freedom'
    """

    dof: Array
    naive_dof: Array
    n: float | None = None

    @staticmethod
    def _data(subject: Any, path: Path, selection: Any, order: Any) -> dict[str, Any]:
        chosen = _own_parameter(subject, path)
        if selection is not None:
            chosen = _choice(subject, path, selection).parameter
        found = {"dof": path.dof[order], "naive_dof": path.naive_dof[order]}
        return found | {"chosen": chosen, "n": path.exact.n}

    def _draw(self, look: dict[str, Any]) -> None:
        usual = _markers(self.dof) | {"color": style.BLUE, "label": "exact"}
        (self.line_,) = self.ax_.plot(self.parameters, self.dof, **usual | look)
        self.naive_line_ = None
        if not np.allclose(self.dof, self.naive_dof):
            usual |= {"color": style.VERMILLION, "linestyle": "--", "marker": "s"}
            usual["label"] = "naive: number of components + 1"
            (self.naive_line_,) = self.ax_.plot(self.parameters, self.naive_dof, **usual)
        if self.n is not None and np.nanmax(self.dof, initial=-np.inf) > 0.8 * self.n:
            text = f"n = {self.n:g} (no intervals above)"
            self.ax_.axhline(self.n, color=style.GREY, linewidth=1, label=text)
        self._show_models()
        self.ax_.set_ylabel("Degrees of Freedom")


@dataclass(kw_only=True, eq=False)
class CriterionDisplay(ModelsDisplay):
    """What chooses a model: cross-validated errors, or a criterion, of every model.

    Attributes
    ----------
    parameters, scores : (K,) arrays
        Models from the simplest to the richest; nan where the criterion is not defined.
    std_error : (K,) array or None
        Standard error of the scores, drawn as a band.
    criterion : str
        "left-out" and "cv-error": root mean squared cross-validated errors (RMSECV); "bic", ...
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

    scores: Array
    criterion: str = LEFT_OUT
    std_error: Array | None = None
    model: float | None = None

    @staticmethod
    def _data(subject: Any, path: Path, selection: Any, order: Any) -> dict[str, Any]:
        mark, own = _choice(subject, path, selection), _own_parameter(subject, path)
        scores, left, std_error = mark.scores, mark.left_out, None
        if mark.criterion == LEFT_OUT and left is not None:
            scores, std_error = left.rmse, _padded(left.rmse_std_error, len(path))[order]
        elif mark.criterion in style.ROOTED:
            scores = np.sqrt(scores)
        found = {"scores": _padded(scores, len(path))[order], "std_error": std_error}
        found |= {"criterion": mark.criterion, "chosen": mark.parameter}
        return found | {"model": None if own == mark.parameter else own}

    @classmethod
    def from_cross_validation(cls, cv: CrossValidation, *, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the root of the mean error over folds, with its standard error, and the choice."""
        require_type(cv, CrossValidation, "cv", "cross_validate")
        order = cv.order
        return cls(
            parameters=cv.parameters[order],
            scores=cv.rmse[order],
            std_error=cv.rmse_std_error[order],
            criterion="cv-error",
            parameter_name=cv.parameter_name,
            chosen=cv.select().parameter,
        ).plot(ax, **kwargs)

    def _draw(self, look: dict[str, Any]) -> None:
        usual = {"color": style.BLUE} | _markers(self.scores)
        (self.line_,) = self.ax_.plot(self.parameters, self.scores, **usual | look)
        self.band_: Any = None
        if self.std_error is not None:
            low, high = self.scores - self.std_error, self.scores + self.std_error
            # A logarithmic axis has no place for zero.
            low = np.where(low > 0, low, np.nanmin(self.scores, initial=np.inf) / 10)
            band = {"color": self.line_.get_color(), "alpha": 0.2, "label": "± 1 standard error"}
            self.band_ = self.ax_.fill_between(self.parameters, low, high, linewidth=0, **band)
        self._show_models()
        self.model_line_ = self._mark(self.model, "model")
        self.ax_.set_ylabel(style.criterion_title(self.criterion, self.response))
        if style.spans_decades(self.scores):
            self.ax_.set_yscale("log")


def _own_parameter(subject: Any, path: Path) -> float | None:
    """Return the parameter of a model that is drawn by its path."""
    return None if subject is path else as_model(subject).parameter


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
class ComparisonDisplay(style.Display):
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
        values = np.sqrt(values) if by in style.ROOTED else values
        display = cls(method=comparison.method, dof=comparison.dof, values=values, by=by)
        return display.plot(ax, **kwargs)

    def _draw(self, look: dict[str, Any]) -> None:
        self.lines_ = {}
        # A fit through all points would take most of a logarithmic axis.
        least = (
            _ROUNDING * np.nanmax(self.values, initial=0.0) if self.by in style.ROOTED else -np.inf
        )
        for number, name in enumerate(dict.fromkeys(self.method.tolist())):
            color, dash, marker = style.LINES[number % len(style.LINES)]
            rows = self.method == name
            line = _markers(self.dof[rows]) | {"color": color, "linestyle": dash}
            line |= {"marker": marker, "label": style.plain(method_label(name))}
            values = np.where(self.values > least, self.values, np.nan)[rows]
            (self.lines_[name],) = self.ax_.plot(self.dof[rows], values, **line | look)
        self.ax_.set_xlabel("Degrees of Freedom")
        self.ax_.set_ylabel(style.criterion_title(self.by))
        if style.spans_decades(self.values[self.values > least]):
            self.ax_.set_yscale("log")


# One figure of a model and of a classifier
# -----------------------------------------


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
        memory, the second panel shows a criterion instead of errors, and the fourth is left out;
        kernel models have no third, as their coefficients belong to rows.

    Examples
    --------
    >>> from plsdof import pls_path
    >>> from plsdof.datasets import load_ozone
    >>> path = pls_path(*load_ozone(return_X_y=True))
    >>> len(overview_figure(path[path.select().index]).axes)
    4
    """
    model = as_model(model)
    roomy = style.matplotlib("layout_engine").ConstrainedLayoutEngine(h_pad=0.12, w_pad=0.12)
    figure: Figure = style.matplotlib("figure").Figure(figsize=(11.0, 8.0), layout=roomy)
    dof, choice, coefficients, rows = figure.subplots(2, 2).ravel()
    DoFDisplay.from_path(model, ax=dof)
    dof.set_title("What the models cost")
    CriterionDisplay.from_path(model, response=response, ax=choice)
    choice.set_title("How the model was chosen" if model.selection else "How well models predict")
    if model.path.rows.is_dual:  # coefficients of a kernel belong to rows
        coefficients.remove()
    else:
        options: Any = {"level": level, "per": None, "response": response, "ax": coefficients}
        note = CoefficientDisplay.from_model(model, **options).ax_.get_title()
        coefficients.set_title("Coefficients of the model" + (f"\n{note}" if note else ""))
    if model.path.given is None:
        rows.remove()
    else:
        PredictionDisplay.from_model(model, response=response, ax=rows)
        rows.set_title("Predicted against measured")
    return figure


def quick_look(result: style.PathLike, **options: Any) -> "Figure":
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
    figure: Figure = style.matplotlib("figure").Figure(figsize=(11.0, 4.0), layout="constrained")
    dof, choice = figure.subplots(1, 2)
    DoFDisplay.from_path(result, ax=dof)
    CriterionDisplay.from_path(result, ax=choice, **options)
    return figure


def class_figure(model: "PLSClassifier") -> "Figure":
    """Draw what chose a classifier, which classes it confuses, scores by class, and importance.

    Confusions are those of held-out rows. Scores need two components, importance one: their
    pictures are left out without them.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from plsdof import PLSClassifier
    >>> len(class_figure(PLSClassifier().fit(*load_iris(return_X_y=True))).axes)
    4
    """
    from sklearn.metrics import ConfusionMatrixDisplay

    m, left = model.n_components_, model.left_out_
    figure: Figure = style.matplotlib("figure").Figure(figsize=(11.0, 8.0), layout="constrained")
    choice, confusion, scores, importance = figure.subplots(2, 2).ravel()
    CriterionDisplay(
        parameters=np.arange(len(left.log_loss), dtype=np.float64),
        scores=left.log_loss,
        criterion="cross-validated log loss",
        chosen=float(m),
    ).plot(choice)
    choice.set_title("How the model was chosen")
    names = [style.plain(str(one), 16) for one in model.classes_]
    shown = ConfusionMatrixDisplay(model.errors().matrix, display_labels=names)
    shown.plot(ax=confusion, colorbar=False, cmap="Blues", values_format="g")
    confusion.set_title("Held-out rows")
    if m < 2:
        scores.remove()
    else:
        T, n = model.x_scores_[:, :2], left.weights.sum()
        share = np.reshape(model.y_explained_variance_ratio_, (m, -1)).mean(axis=1)
        ScoresDisplay(
            scores=T,
            components=(1, 2),
            x_share=100 * model.explained_variance_ratio_[:2],
            y_share=100 * share[:2],
            half_axes=T.std(axis=0, ddof=1) * np.sqrt(t2_limit(n, 2, 0.95, True).limit),
            groups=np.array([str(one) for one in model.classes_[left.codes]]),
            response="the classes",
        ).plot(scores)
        scores.set_title("Scores by class")
    if m < 1:
        importance.remove()
    else:
        values = np.asarray(model.vip())
        known = getattr(model, "feature_names_in_", None)
        features = style.feature_axis(None if known is None else list(known), len(values))
        display = ImportanceDisplay(values=values, limit=1.0, features=features, title="VIP")
        display.plot(importance)
        importance.set_title("What the classes differ in")
    return figure
