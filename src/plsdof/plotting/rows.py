"""Pictures of the rows: predictions, scores, biplot, distances and contributions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from plsdof._core.inputs import Array, as_choice, as_count, as_level, as_response, row_labels
from plsdof._core.model import ModelLike, as_model, as_path
from plsdof._core.path import PLSPath
from plsdof.chemometrics.diagnostics import (
    Diagnostic,
    as_predictor_path,
    as_score_path,
    explained_variance,
)
from plsdof.chemometrics.rows import (
    contributions,
    has_left_out_limits,
    hotelling_t2,
    q_residuals,
    t2_limit,
)
from plsdof.errors import InvalidInputError
from plsdof.plotting.curves import PathLike
from plsdof.plotting.predictors import as_two_components
from plsdof.plotting.style import (
    BLUE,
    GREY,
    LINES,
    MOST_NAMED,
    VERMILLION,
    Display,
    FeatureAxis,
    draw_over_features,
    feature_axis,
    plain,
    show_features,
    show_legend,
    write_name,
)

Labels = tuple[str, ...]
# More names than this in one picture hide each other.
_MOST_LABELS = 60


# Predicted against measured, for rows that were fitted, left out, and never seen
# -------------------------------------------------------------------------------


@dataclass(kw_only=True, eq=False)
class PredictionDisplay(Display):
    """Predicted against measured values of up to five sets of rows.

    Attributes
    ----------
    measured, predicted : dict of (n,) arrays
        By the name of the set: "calibration", "cross-validation", "test".
    response : str
    ax_, figure_ : matplotlib objects
    points_ : dict of matplotlib lines by the name of the set

    Examples
    --------
    >>> from plsdof import pls_path
    >>> from plsdof.datasets import load_ozone
    >>> path = pls_path(*load_ozone(return_X_y=True))
    >>> list(PredictionDisplay.from_model(path[2]).points_)
    ['calibration', 'cross-validation']
    """

    measured: Mapping[str, Array]
    predicted: Mapping[str, Array]
    response: str = "response"
    points_: dict[str, Any] = field(init=False, repr=False)

    @classmethod
    def from_model(
        cls,
        model: ModelLike,
        X_test: Any = None,
        y_test: Any = None,
        *,
        response: str = "response",
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the training rows, as fitted and as left out, and those kept for a test.

        Parameters
        ----------
        model : Model, or a fitted estimator
        X_test, y_test : arrays, optional
            Rows that took no part in the fit, as ``model.predict`` takes them.
        response : str
            What was measured, for the labels.
        """
        model = as_model(model)
        if (X_test is None) != (y_test is None):
            raise InvalidInputError("X_test and y_test belong together; give both or neither.")
        measured: dict[str, Array] = {}
        predicted: dict[str, Array] = {}
        if model.path._given is not None or X_test is None:
            y = model.path._response()
            measured |= {"calibration": y, "cross-validation": y}
            predicted["calibration"] = model.fitted
            predicted["cross-validation"] = y - model.left_out_residuals
        if X_test is not None:
            found = model.predict(X_test)
            measured["test"], predicted["test"] = as_response(y_test, len(found), "y_test"), found
        display = cls(measured=measured, predicted=predicted, response=response)
        return display.plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw on ``ax``, or on new axes; ``kwargs`` go to all points."""
        self._open(ax)
        every = np.concatenate([*self.measured.values(), *self.predicted.values()])
        ends = [np.nanmin(every), np.nanmax(every)]
        self.ax_.plot(ends, ends, color=GREY, linewidth=1, label="predicted = measured")
        self.points_ = {}
        for (name, measured), (color, _, marker) in zip(self.measured.items(), LINES, strict=False):
            style: dict[str, Any] = {"color": color, "marker": marker, "linestyle": "none"}
            style |= {"markersize": 5, "markerfacecolor": "none", "label": self._label(name)}
            (line,) = self.ax_.plot(measured, self.predicted[name], **style | kwargs)
            self.points_[name] = line
        name = plain(self.response)
        self.ax_.set_xlabel(f"measured {name}")
        self.ax_.set_ylabel(f"predicted {name}")
        show_legend(self.ax_)
        return self

    def _label(self, name: str) -> str:
        error = self.predicted[name] - self.measured[name]
        return f"{name} (RMSE {np.sqrt(np.nanmean(error**2)):.4g})"


# Scores of two components, with names, groups and the ellipse of T^2
# -------------------------------------------------------------------


@dataclass(kw_only=True, eq=False)
class ScoresDisplay(Display):
    """Rows in the plane of two components, with the ellipse that holds most of them.

    Attributes
    ----------
    scores : (n, 2) array
    components : tuple of two int
    x_share, y_share : tuple of two floats
        What the components explain of X and of the response, in percent.
    names : tuple of str or None
        Written beside rows outside of the ellipse (beside all of a few rows).
    groups : (n,) array of str or None
        Differ in colour and marker.
    half_axes : tuple of two floats
        Of the ellipse: T^2 of these two components at its limit for training rows.
    level : float
    ax_, figure_ : matplotlib objects
    points_ : dict of matplotlib lines by group
    ellipse_ : matplotlib line or None

    Examples
    --------
    >>> from plsdof import pls_path
    >>> from plsdof.datasets import load_ozone
    >>> display = ScoresDisplay.from_path(pls_path(*load_ozone(return_X_y=True)))
    >>> display.ax_.get_xlabel()
    'component 1 (37% of X, 66% of y)'
    """

    scores: Array
    components: tuple[int, ...]
    x_share: Array
    y_share: Array
    half_axes: Array
    names: Labels | None = None
    groups: npt.NDArray[Any] | None = None
    level: float = 0.95
    points_: dict[str, Any] = field(init=False, repr=False)
    ellipse_: Any = field(init=False, repr=False)

    @classmethod
    def from_path(
        cls,
        path: PathLike,
        components: Sequence[int] = (1, 2),
        *,
        names: Sequence[Any] | None = None,
        groups: Sequence[Any] | None = None,
        level: float = 0.95,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the training rows in the plane of two components, counted from 1.

        Parameters
        ----------
        path : PLSPath, PenalizedPLSPath or KernelPLSPath, or a fitted estimator
        components : two int
        names, groups : sequences of n, optional
            What to call the rows; which ones belong together.
        level : float
            Share of ordinary rows inside of the ellipse.
        """
        path, level = as_score_path(as_path(path)), as_level(level)
        wanted = as_two_components(components, path.x_scores.shape[1])
        columns = [one - 1 for one in wanted]
        n = len(path.x_scores)
        shares = explained_variance(path)
        display = cls(
            scores=path.x_scores[:, columns],
            components=wanted,
            x_share=100 * shares.x[columns],
            y_share=100 * shares.y[columns],
            half_axes=ellipse(path, level)[columns],
            names=_labels(names, n, "names"),
            groups=None if groups is None else np.array(_labels(groups, n, "groups")),
            level=level,
        )
        return display.plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw on ``ax``, or on new axes; ``kwargs`` go to all points."""
        self._open(ax)
        every = np.array([""] * len(self.scores)) if self.groups is None else self.groups
        self.points_ = {}
        for number, group in enumerate(dict.fromkeys(every.tolist())):
            color, _, marker = LINES[number % len(LINES)]
            # After five groups colours come again, and markers are filled.
            face = color if number >= len(LINES) else "none"
            style: dict[str, Any] = {"color": color, "marker": marker, "linestyle": "none"}
            label = None if self.groups is None else plain(group)
            style |= {"markersize": 5, "markerfacecolor": face, "label": label}
            (line,) = self.ax_.plot(*self.scores[every == group].T, **style | kwargs)
            self.points_[group] = line
        self._draw_ellipse()
        self._draw_names()
        for set_label, i in ((self.ax_.set_xlabel, 0), (self.ax_.set_ylabel, 1)):
            shares = f"{self.x_share[i]:.0f}% of X, {self.y_share[i]:.0f}% of y"
            set_label(f"component {self.components[i]} ({shares})")
        if self.ax_.get_legend_handles_labels()[0]:
            show_legend(self.ax_)
        return self

    @property
    def outside(self) -> npt.NDArray[np.bool_]:
        """Which rows are outside of the ellipse."""
        return np.asarray(np.sum((self.scores / self.half_axes) ** 2, axis=1) > 1)

    def _draw_ellipse(self) -> None:
        self.ellipse_ = None
        self.ax_.axhline(0.0, color=GREY, linewidth=0.5, zorder=0)
        self.ax_.axvline(0.0, color=GREY, linewidth=0.5, zorder=0)
        if np.all(np.isfinite(self.half_axes)):
            angle = np.linspace(0, 2 * np.pi, 200)
            x, y = self.half_axes[:, None] * [np.cos(angle), np.sin(angle)]
            label = f"T² of these two, {100 * self.level:g}%"
            (self.ellipse_,) = self.ax_.plot(x, y, color=GREY, linestyle="--", label=label)

    def _draw_names(self) -> None:
        if self.names is None:
            return
        wanted = self.outside
        if len(self.names) <= _MOST_LABELS // 2:
            wanted = np.ones(len(self.names), dtype=bool)
        for i in np.flatnonzero(wanted)[:_MOST_LABELS]:
            write_name(self.ax_, self.names[i], self.scores[i])


def ellipse(path: PLSPath, level: float) -> Array:
    """Return, for every component, the half axis of the ellipse of T^2 of two components. (M,).

    t_a^2 / s_a^2 + t_b^2 / s_b^2 = limit of T^2 with two components, for training rows; nan where
    there are too few rows for it.
    """
    n = path.exact.spectrum.n
    limit = t2_limit(n, 2, level, True).value
    spread = path._filter.diagonal / np.sqrt(n - 1.0)
    return np.asarray(np.sqrt(limit) * np.abs(spread))


def _labels(labels: Sequence[Any] | None, n_rows: int, what: str) -> Labels | None:
    if labels is None:
        return None
    found = tuple(str(one) for one in labels)
    if len(found) != n_rows:
        raise InvalidInputError(
            f"{what} has {len(found)} entries for {n_rows} rows; give one for every row."
        )
    return found


# Rows and predictors in one plane
# --------------------------------


@dataclass(kw_only=True, eq=False)
class BiplotDisplay(Display):
    """Rows as points (scores) and predictors as arrows (loadings) in the plane of two components.

    A row far out in the direction of an arrow has large values of that predictor. Arrows have a
    scale of their own: the longest is as long as the distance of the farthest row.

    Attributes
    ----------
    scores : (n, 2) array
    loadings : (p, 2) array
        In standardised units.
    components : tuple of two int
        Counted from 1.
    features : FeatureAxis
    names : tuple of str or None
        Written beside the rows, if there are not more than 30.
    ax_, figure_ : matplotlib objects
    points_ : matplotlib line
    arrows_ : matplotlib Quiver

    Examples
    --------
    >>> from plsdof import pls_path
    >>> from plsdof.datasets import load_ozone
    >>> path = pls_path(*load_ozone(return_X_y=True, as_frame=True))
    >>> BiplotDisplay.from_path(path).ax_.get_ylabel()
    'component 2'
    """

    scores: Array
    loadings: Array
    components: tuple[int, ...]
    features: FeatureAxis
    names: Labels | None = None
    points_: Any = field(init=False, repr=False)
    arrows_: Any = field(init=False, repr=False)

    @classmethod
    def from_path(
        cls,
        path: PathLike,
        components: Sequence[int] = (1, 2),
        *,
        names: Sequence[Any] | None = None,
        predictors: Sequence[str] | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw training rows and predictors in the plane of two components, counted from 1.

        Parameters
        ----------
        path : PLSPath, PenalizedPLSPath, or a fitted estimator
        components : two int
        names : sequence of n, optional
            What to call the rows.
        predictors : sequence of p str, optional
            What to call the predictors; by default what the path calls them.
        """
        path = as_predictor_path(as_path(path), "A biplot")
        wanted = as_two_components(components, path.x_scores.shape[1])
        columns = [one - 1 for one in wanted]
        loadings = path.x_loadings[:, columns]
        known = path.feature_names if predictors is None else predictors
        display = cls(
            scores=path.x_scores[:, columns],
            loadings=loadings,
            components=wanted,
            features=feature_axis(known, len(loadings)),
            names=_labels(names, len(path.x_scores), "names"),
        )
        return display.plot(ax, **kwargs)

    @property
    def arrow_scale(self) -> float:
        """What loadings are multiplied by to be drawn among the scores."""
        rows, arrows = (np.max(np.linalg.norm(a, axis=1)) for a in (self.scores, self.loadings))
        return float(rows / arrows)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw on ``ax``, or on new axes; ``kwargs`` go to the points."""
        self._open(ax)
        self.ax_.axhline(0.0, color=GREY, linewidth=0.5, zorder=0)
        self.ax_.axvline(0.0, color=GREY, linewidth=0.5, zorder=0)
        style: dict[str, Any] = {"color": BLUE, "marker": "o", "linestyle": "none"}
        style |= {"markersize": 4, "markerfacecolor": "none", "label": "rows (scores)"}
        (self.points_,) = self.ax_.plot(*self.scores.T, **style | kwargs)
        tips = self.arrow_scale * self.loadings
        zeros = np.zeros(len(tips))
        scaled: dict[str, Any] = {"angles": "xy", "scale_units": "xy", "scale": 1, "width": 0.003}
        label = f"predictors (loadings x {self.arrow_scale:.3g})"
        self.arrows_ = self.ax_.quiver(
            zeros, zeros, *tips.T, color=VERMILLION, label=label, **scaled
        )
        self.ax_.update_datalim(tips)
        self.ax_.autoscale_view()
        if len(tips) <= MOST_NAMED:
            for name, where in zip(self.features.names, tips, strict=True):
                write_name(self.ax_, name, where, most=22)
        if self.names is not None and len(self.names) <= _MOST_LABELS // 2:
            for name, where in zip(self.names, self.scores, strict=True):
                write_name(self.ax_, name, where)
        self.ax_.set_xlabel(f"component {self.components[0]}")
        self.ax_.set_ylabel(f"component {self.components[1]}")
        show_legend(self.ax_)
        return self


# T^2 against Q, and which variables are behind them in one row
# -------------------------------------------------------------


@dataclass(kw_only=True, eq=False)
class DistanceDisplay(Display):
    """T^2 (distance within the components) against Q (beside them) of every row, with limits.

    Attributes
    ----------
    t2, q : Diagnostic
    names : tuple of str or None
        Written beside rows beyond a limit; their positions, counted from 0, if there are none.
    ax_, figure_, points_, beyond_ : matplotlib objects

    Examples
    --------
    >>> from plsdof import pls_path
    >>> from plsdof.datasets import load_ozone
    >>> display = DistanceDisplay.from_model(pls_path(*load_ozone(return_X_y=True))[2])
    >>> display.ax_.get_xlabel()
    'T² (within the model)'
    """

    t2: Diagnostic
    q: Diagnostic
    names: Labels | None = None
    points_: Any = field(init=False, repr=False)
    beyond_: Any = field(init=False, repr=False)

    @classmethod
    def from_model(
        cls,
        model: ModelLike,
        X_new: Any = None,
        *,
        level: float = 0.95,
        names: Sequence[Any] | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the training rows, or new ones; ``kwargs`` go to the ordinary points.

        Parameters
        ----------
        model, X_new, level
            As for `plsdof.chemometrics.hotelling_t2` and `plsdof.chemometrics.q_residuals`. Limits
            come from rows left out where the path has kept them, so that they hold for new rows.
        names : sequence of n, optional
            What to call the rows; by default the index of a frame X_new, or positions from 0.
        """
        model = as_model(model)
        crossed = has_left_out_limits(as_score_path(model.path))
        limit: Any = "cross-validated" if crossed else None
        t2 = hotelling_t2(model, X_new, level=level, limit=limit)
        q = q_residuals(model, X_new, level=level, limit=limit)
        names = row_labels(X_new) if names is None else names
        display = cls(t2=t2, q=q, names=_labels(names, len(q.values), "names"))
        return display.plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw on ``ax``, or on new axes; ``kwargs`` go to the ordinary points."""
        self._open(ax)
        beyond = self.t2.flags | self.q.flags
        both = np.column_stack([self.t2.values, self.q.values])
        style: dict[str, Any] = {"linestyle": "none", "marker": "o", "markersize": 5}
        style |= {"color": BLUE, "markerfacecolor": "none"} | kwargs
        (self.points_,) = self.ax_.plot(*both[~beyond].T, **style)
        marks: dict[str, Any] = {"linestyle": "none", "marker": "D", "color": VERMILLION}
        (self.beyond_,) = self.ax_.plot(*both[beyond].T, markersize=5, **marks)
        for i in np.flatnonzero(beyond)[:_MOST_LABELS]:
            write_name(self.ax_, str(i) if self.names is None else self.names[i], both[i])
        for draw, one in ((self.ax_.axvline, self.t2), (self.ax_.axhline, self.q)):
            if np.isfinite(one.limit):
                draw(one.limit, color=GREY, linestyle="--", linewidth=1)
        self.ax_.set_xlabel("T² (within the model)")
        self.ax_.set_ylabel("Q (beside the model)")
        self.ax_.set_xlim(left=0)
        self.ax_.set_ylim(bottom=0)
        return self


@dataclass(kw_only=True, eq=False)
class ContributionDisplay(Display):
    """What the variables add to T^2 or Q of one row.

    Attributes
    ----------
    values : (p,) array
        See `plsdof.chemometrics.contributions`.
    features : FeatureAxis
    kind : {"q", "t2"}
    name : str
        Of the row.
    ax_, figure_, line_ : matplotlib objects

    Examples
    --------
    >>> from plsdof import pls_path
    >>> from plsdof.datasets import load_ozone
    >>> path = pls_path(*load_ozone(return_X_y=True, as_frame=True))
    >>> ContributionDisplay.from_model(path[2], row=5, kind="t2").ax_.get_xlabel()
    'contribution to T² of row 5'
    """

    values: Array
    features: FeatureAxis
    kind: str = "q"
    name: str = ""
    line_: Any = field(init=False, repr=False)

    @classmethod
    def from_model(
        cls,
        model: ModelLike,
        X_new: Any = None,
        *,
        row: int,
        kind: Literal["q", "t2"] = "q",
        names: Sequence[str] | None = None,
        name: str = "",
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the contributions to one of the training rows, or of new ones.

        Parameters
        ----------
        model, X_new
            As for `plsdof.chemometrics.contributions`.
        row : int
            Position of the row, counted from 0.
        kind : {"q", "t2"}
        names : sequence of str, optional
            Of the predictors; by default those of the path.
        name : str
            What to call the row; by default its label in a frame X_new, or its position.
        """
        model = as_model(model)
        found = contributions(model, X_new)
        values = found.q if as_choice(kind, "kind", ("q", "t2")) == "q" else found.t2
        if as_count(row, "row") >= len(values):
            raise InvalidInputError(f"row must be in 0..{len(values) - 1}; got {row}.")
        label = row if found.row_names is None else found.row_names[row]
        display = cls(
            values=values[row],
            features=feature_axis(
                model.path.feature_names if names is None else names, values.shape[1]
            ),
            kind=kind,
            name=name or f"row {label}",
        )
        return display.plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw on ``ax``, or on new axes; ``kwargs`` go to the line."""
        self._open(ax)
        style = {"color": VERMILLION} | kwargs
        self.line_ = draw_over_features(self.ax_, self.features, self.values, **style)
        of = {"q": "Q", "t2": "T²"}[self.kind]
        show_features(self.ax_, self.features, f"contribution to {of} of {plain(self.name)}")
        return self
