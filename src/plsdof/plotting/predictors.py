"""Pictures over the predictors: spectra, loadings, correlation loadings, importance."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self

import numpy as np

from plsdof._core.inputs import Array, as_choice, as_count, as_matrix, as_response, feature_names
from plsdof._core.model import ModelLike, as_model, as_path
from plsdof.chemometrics.diagnostics import as_predictor_path, as_score_path
from plsdof.chemometrics.variables import selectivity_ratio_test, vip
from plsdof.errors import InvalidInputError
from plsdof.plotting.curves import PathLike
from plsdof.plotting.style import (
    BLUE,
    GREY,
    LINES,
    MOST_NAMED,
    Display,
    FeatureAxis,
    draw_over_features,
    feature_axis,
    is_curve,
    plain,
    show_features,
    show_legend,
    write_name,
)

# Spectra, raw or preprocessed, one line per row
# ----------------------------------------------


@dataclass(kw_only=True, eq=False)
class SpectraDisplay(Display):
    """Rows as curves over the predictors, coloured by the response.

    Attributes
    ----------
    spectra : (n, p) array
    features : FeatureAxis
    y : (n,) array or None
        Colours the rows; without it all have the same colour.
    response : str
        Name of ``y``, for the colour bar.
    title : str
        What the values are.
    ax_, figure_ : matplotlib objects
    lines_ : matplotlib LineCollection
    color_bar_ : matplotlib Colorbar or None

    Examples
    --------
    >>> from plsdof.datasets import make_spectra
    >>> spectra = make_spectra(20, 50, as_frame=True, random_state=0)
    >>> X, y = spectra.data, spectra.target
    >>> SpectraDisplay.from_spectra(X, y).ax_.get_xlabel()
    'wavelength (nm)'
    """

    spectra: Array
    features: FeatureAxis
    y: Array | None = None
    response: str = "response"
    title: str = "value"
    lines_: Any = field(init=False, repr=False)
    color_bar_: Any = field(init=False, repr=False)

    @classmethod
    def from_spectra(
        cls,
        X: Any,
        y: Any = None,
        *,
        names: Sequence[str] | None = None,
        response: str = "response",
        title: str = "value",
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the rows of a table; its column names, or ``names``, are the axis."""
        spectra = as_matrix(X)
        names = feature_names(X) if names is None else names
        display = cls(
            spectra=spectra,
            features=feature_axis(names, spectra.shape[1]),
            y=None if y is None else as_response(y, len(spectra)),
            response=response,
            title=title,
        )
        return display.plot(ax, **kwargs)

    @classmethod
    def from_model(cls, model: ModelLike, X: Any, y: Any = None, **kwargs: Any) -> Self:
        """Draw rows as the regression sees them, after the steps before it in a Pipeline.

        ``kwargs`` are those of `from_spectra`.
        """
        found, names = as_model(model), feature_names(X)
        rows = found.prepared(X)
        rows = np.asarray(rows if found.path._is_dual else found.path._rows_of(rows, sparse=False))
        values = np.asarray(X)
        if values.shape != rows.shape or not np.array_equal(values, rows):
            kwargs = {"title": "preprocessed value"} | kwargs
        known = found.path.feature_names
        if known is None and names is not None and len(names) == rows.shape[1]:
            known = names
        return cls.from_spectra(rows, y, **{"names": known} | kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw on ``ax``, or on new axes; ``kwargs`` go to the collection of lines."""
        self._open(ax)
        from matplotlib.collections import LineCollection

        order = self.features.order
        x = np.broadcast_to(self.features.positions[order], self.spectra.shape)
        segments = np.stack([x, self.spectra[:, order]], axis=-1)
        style: dict[str, Any] = {"linewidths": 0.8, "cmap": "viridis"} | kwargs
        if self.y is None:
            style = {"colors": BLUE, **{key: one for key, one in style.items() if key != "cmap"}}
        self.lines_ = self.ax_.add_collection(LineCollection(list(segments), **style))
        self.ax_.autoscale_view()
        self.ax_.set_xlabel(self.features.title)
        self.ax_.set_ylabel(self.title)
        self.ax_.margins(x=0.01)
        self.ax_.ticklabel_format(axis="x", style="plain", useOffset=False)
        self.color_bar_ = None
        if self.y is not None:
            self.lines_.set_array(self.y)
            name = plain(self.response)
            self.color_bar_ = self.figure_.colorbar(self.lines_, ax=self.ax_, label=name)
        return self


# Loadings and weights: what the components are made of
# -----------------------------------------------------

LOADINGS = {"loadings": "x_loadings", "weights": "x_weights", "rotations": "x_rotations"}


@dataclass(kw_only=True, eq=False)
class LoadingsDisplay(Display):
    """Loadings, weights or rotations of some components over the predictors.

    Attributes
    ----------
    values : (p, k) array
        One column per component drawn, in standardised units.
    components : tuple of int
        Counted from 1.
    features : FeatureAxis
    kind : {"loadings", "weights", "rotations"}
    ax_, figure_ : matplotlib objects
    lines_ : list of matplotlib lines

    Examples
    --------
    >>> from plsdof import pls_path
    >>> from plsdof.datasets import make_spectra
    >>> spectra = make_spectra(30, 50, as_frame=True, random_state=0)
    >>> X, y = spectra.data, spectra.target
    >>> display = LoadingsDisplay.from_path(pls_path(X, y, 4), kind="weights")
    >>> display.ax_.get_ylabel(), len(display.lines_)
    ('weight', 2)
    """

    values: Array
    components: tuple[int, ...]
    features: FeatureAxis
    kind: str = "loadings"
    lines_: list[Any] = field(init=False, repr=False)

    @classmethod
    def from_path(
        cls,
        path: PathLike,
        components: Sequence[int] | None = None,
        *,
        kind: Literal["loadings", "weights", "rotations"] = "loadings",
        names: Sequence[str] | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the components with these numbers, counted from 1.

        Parameters
        ----------
        path : PLSPath, PenalizedPLSPath, or a fitted estimator
        components : sequence of int, optional
            At most five; by default the first two.
        kind : {"loadings", "weights", "rotations"}
            P = X't / t't, what the predictors look like in a component; W, the directions that PLS
            takes; or R, with scores = standardised X times R.
        names : sequence of str, optional
            Names of the predictors; by default those of the path.
        """
        path = as_predictor_path(as_path(path), "A loading")
        values = getattr(path, LOADINGS[as_choice(kind, "kind", tuple(LOADINGS))])
        if components is None:
            components = range(1, 1 + min(2, values.shape[1]))
        wanted = as_component_numbers(components, values.shape[1], most=len(LINES))
        display = cls(
            values=values[:, [one - 1 for one in wanted]],
            components=wanted,
            features=feature_axis(path.feature_names if names is None else names, len(values)),
            kind=kind,
        )
        return display.plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw on ``ax``, or on new axes; ``kwargs`` go to all lines."""
        self._open(ax)
        self.lines_ = [self._draw(i, kwargs) for i in range(len(self.components))]
        show_features(self.ax_, self.features, self.kind.removesuffix("s"))
        show_legend(self.ax_)
        return self

    def _draw(self, number: int, kwargs: dict[str, Any]) -> Any:
        color, dash, marker = LINES[number]
        style: dict[str, Any] = {"color": color, "label": f"component {self.components[number]}"}
        # Lines differ in dash, points in marker: colours are not for everybody.
        style |= {"linestyle": dash} if is_curve(self.features) else {"marker": marker}
        return draw_over_features(self.ax_, self.features, self.values[:, number], **style | kwargs)


def as_component_numbers(components: Any, available: int, most: int) -> tuple[int, ...]:
    """Return numbers of components, counted from 1, that a path has."""
    if isinstance(components, int):
        components = (components,)
    found = tuple(as_count(one, "components", minimum=1) for one in components)
    if not 0 < len(found) <= most or len(set(found)) < len(found):
        raise InvalidInputError(
            f"components must be 1 to {most} different numbers such as (1, 2); got {components!r}."
        )
    if max(found) > available:
        raise InvalidInputError(
            f"components must be in 1..{available}, what the path has; got {components!r}."
        )
    return found


# Correlation loadings: how predictors and two components go together
# -------------------------------------------------------------------


@dataclass(kw_only=True, eq=False)
class CorrelationDisplay(Display):
    """Correlations of the predictors with two components, inside of the unit circle.

    The squared distance from the centre is the share of a predictor's variance that the two
    components explain; on the inner circle it is one half.

    Attributes
    ----------
    values : (p, 2) array
        Correlation of every predictor with the two scores; nan for a predictor without variance.
    components : tuple of two int
        Counted from 1.
    features : FeatureAxis
    ax_, figure_ : matplotlib objects
    points_ : matplotlib line
    circles_ : list of two matplotlib lines

    Examples
    --------
    >>> from plsdof import pls_path
    >>> from plsdof.datasets import load_ozone
    >>> X, y = load_ozone(return_X_y=True, as_frame=True)
    >>> display = CorrelationDisplay.from_path(pls_path(X, y), X)
    >>> display.values.shape, display.ax_.get_xlabel()
    ((12, 2), 'correlation with component 1')
    """

    values: Array
    components: tuple[int, ...]
    features: FeatureAxis
    points_: Any = field(init=False, repr=False)
    circles_: list[Any] = field(init=False, repr=False)

    @classmethod
    def from_path(
        cls,
        path: PathLike,
        X: Any,
        components: Sequence[int] = (1, 2),
        *,
        names: Sequence[str] | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the predictors of the training rows against two components, counted from 1.

        Parameters
        ----------
        path : PLSPath, PenalizedPLSPath or KernelPLSPath, or a fitted estimator
        X : (n, p) array or frame
            The rows the path was fitted on, or other columns that were measured on them.
        components : two int
        names : sequence of str, optional
            Names of the columns; by default those of ``X`` or of the path.
        """
        path = as_score_path(as_path(path))
        wanted = as_two_components(components, path.x_scores.shape[1])
        columns, scores = as_matrix(X), path.x_scores[:, [one - 1 for one in wanted]]
        if len(columns) != len(scores):
            raise InvalidInputError(
                f"X has {len(columns)} rows, but the path was fitted on {len(scores)}; give those."
            )
        known = feature_names(X) or path.feature_names
        display = cls(
            values=_correlations(columns, scores),
            components=wanted,
            features=feature_axis(known if names is None else names, columns.shape[1]),
        )
        return display.plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw on ``ax``, or on new axes; ``kwargs`` go to the points."""
        self._open(ax)
        angle = np.linspace(0, 2 * np.pi, 200)
        circle = np.array([np.cos(angle), np.sin(angle)])
        self.circles_ = []
        for share, dash in ((0.5, "--"), (1.0, "-")):
            label = f"{100 * share:g}% of the variance"
            style: dict[str, Any] = {"color": GREY, "linestyle": dash, "linewidth": 1}
            self.circles_ += self.ax_.plot(*(np.sqrt(share) * circle), label=label, **style)
        self.ax_.axhline(0.0, color=GREY, linewidth=0.5, zorder=0)
        self.ax_.axvline(0.0, color=GREY, linewidth=0.5, zorder=0)
        style = {"color": BLUE, "marker": "o", "linestyle": "none", "markersize": 4}
        (self.points_,) = self.ax_.plot(*self.values.T, **style | kwargs)
        if len(self.values) <= MOST_NAMED:
            for name, where in zip(self.features.names, self.values, strict=True):
                write_name(self.ax_, name, where, most=22)
        self.ax_.set(aspect="equal", xticks=np.linspace(-1, 1, 5), yticks=np.linspace(-1, 1, 5))
        self.ax_.set_xlabel(f"correlation with component {self.components[0]}")
        self.ax_.set_ylabel(f"correlation with component {self.components[1]}")
        show_legend(self.ax_)
        return self


def _correlations(columns: Array, scores: Array) -> Array:
    """Return the correlation of every column with every score; nan for constant columns."""
    columns, scores = (a - a.mean(axis=0) for a in (columns, scores))
    largest = np.max(np.abs(columns), axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        columns = columns / largest  # lengths below would overflow otherwise
        lengths = np.linalg.norm(columns, axis=0)[:, None] * np.linalg.norm(scores, axis=0)
        return np.asarray(columns.T @ scores / lengths)


def as_two_components(components: Any, available: int) -> tuple[int, ...]:
    """Return two different numbers of components, counted from 1, that a path has."""
    found = as_component_numbers(components, available, most=2)
    if len(found) != 2:
        raise InvalidInputError(f"components must be two numbers; got {components!r}.")
    return found


# Importance of variables: VIP and selectivity ratio, with the line that calls one important
# ------------------------------------------------------------------------------------------

IMPORTANCE = {"vip": "VIP", "selectivity-ratio": "selectivity ratio"}


@dataclass(kw_only=True, eq=False)
class ImportanceDisplay(Display):
    """VIP or selectivity ratio of every predictor, with its limit.

    Attributes
    ----------
    values : (p,) array
    limit : float
        1 for VIP, a rule of thumb; the quantile of F for the selectivity ratio; nan if undefined.
    features : FeatureAxis
    kind : {"vip", "selectivity-ratio"}
    ax_, figure_, line_ : matplotlib objects
    limit_line_ : matplotlib line or None

    Examples
    --------
    >>> from plsdof import pls_path
    >>> from plsdof.datasets import load_ozone
    >>> path = pls_path(*load_ozone(return_X_y=True, as_frame=True))
    >>> ImportanceDisplay.from_model(path[2]).ax_.get_xlabel()
    'VIP'
    """

    values: Array
    limit: float
    features: FeatureAxis
    kind: str = "vip"
    line_: Any = field(init=False, repr=False)
    limit_line_: Any = field(init=False, repr=False)

    @classmethod
    def from_model(
        cls,
        model: ModelLike,
        *,
        kind: Literal["vip", "selectivity-ratio"] = "vip",
        level: float = 0.95,
        names: Sequence[str] | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the importance in a model; ``kwargs`` go to the line.

        Parameters
        ----------
        model : Model, or a fitted estimator
            As for `plsdof.chemometrics.vip`.
        kind : {"vip", "selectivity-ratio"}
        level : float
            Of the limit of the selectivity ratio.
        names : sequence of str, optional
            Names of the predictors; by default those of the path.
        """
        model = as_model(model)
        if as_choice(kind, "kind", tuple(IMPORTANCE)) == "vip":
            values, limit = vip(model), 1.0
        else:
            found = selectivity_ratio_test(model, level=level)
            values, limit = found.values, found.limit
        display = cls(
            values=values,
            limit=limit,
            features=feature_axis(
                model.path.feature_names if names is None else names, len(values)
            ),
            kind=kind,
        )
        return display.plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw on ``ax``, or on new axes; ``kwargs`` go to the line."""
        self._open(ax)
        style = {"color": BLUE} | kwargs
        self.line_ = draw_over_features(self.ax_, self.features, self.values, **style)
        show_features(self.ax_, self.features, IMPORTANCE[self.kind])
        self.limit_line_ = None
        if np.isfinite(self.limit):
            draw = self.ax_.axhline if is_curve(self.features) else self.ax_.axvline
            label = f"limit {self.limit:.3g}"
            self.limit_line_ = draw(self.limit, color=GREY, linestyle="--", label=label)
            show_legend(self.ax_)
        return self
