"""Pictures of the rows: predictions, scores and distances from the model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from plsdof._core.inputs import Array, as_count, as_level, as_response, row_labels
from plsdof._core.model import ModelLike, as_model, as_path
from plsdof.chemometrics.diagnostics import (
    Diagnostic,
    as_predictor_path,
    as_score_path,
    explained_variance,
)
from plsdof.chemometrics.distances import (
    has_left_out_limits,
    hotelling_t2,
    q_residuals,
    score_spread,
)
from plsdof.chemometrics.merit import figures_of_merit
from plsdof.errors import InvalidInputError
from plsdof.plotting import style

Labels = tuple[str, ...]
# More names than this in one picture hide each other.
_MOST_NAMES = 60


# Predicted against measured, for fitted, held-out and test rows
# --------------------------------------------------------------


@dataclass(kw_only=True, eq=False)
class PredictionDisplay(style.Display):
    """Predicted against measured values of up to five sets of rows.

    Attributes
    ----------
    measured, predicted : dict of (n,) arrays
        By the name of the set: "calibration", "cross-validation", "test".
    response : str
    ax_, figure_ : matplotlib objects
    points_ : dict of matplotlib lines by the name of the set
    line_ : matplotlib line
        Fitted to the last set.

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

    @classmethod
    def from_model(
        cls,
        model: ModelLike,
        X_test: Any = None,
        y_test: Any = None,
        *,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the training rows, fitted and cross-validated, and those kept for a test.

        Parameters
        ----------
        model : Model, or a fitted estimator
        X_test, y_test : arrays, optional
            Rows that took no part in the fit, as ``model.predict`` takes them.
        kwargs
            To `plot`: ``response``, what was measured, and what points take.
        """
        model = as_model(model)
        if (X_test is None) != (y_test is None):
            raise InvalidInputError("X_test and y_test belong together; give both or neither.")
        measured: dict[str, Array] = {}
        predicted: dict[str, Array] = {}
        if model.path.given is not None or X_test is None:
            y = model.path.response()
            measured |= {"calibration": y, "cross-validation": y}
            predicted["calibration"] = model.fitted
            predicted["cross-validation"] = y - model.left_out_residuals
        if X_test is not None:
            found = model.predict(X_test)
            measured["test"], predicted["test"] = as_response(y_test, len(found), "y_test"), found
        return cls(measured=measured, predicted=predicted).plot(ax, **kwargs)

    def _draw(self, look: dict[str, Any]) -> None:
        every = np.concatenate([*self.measured.values(), *self.predicted.values()])
        ends = np.array([np.nanmin(every), np.nanmax(every)])
        self.ax_.plot(ends, ends, color=style.GREY, linewidth=1, label="predicted = measured")
        self.points_ = {}
        for (name, measured), (color, _, marker) in zip(
            self.measured.items(), style.LINES, strict=False
        ):
            found = figures_of_merit(measured, self.predicted[name])
            usual = {"color": color, "marker": marker}
            usual["label"] = (
                f"{name}: RMSE {found.rmse:.4g}, R² {found.r2:.3f}, bias {found.bias:.2g}"
            )
            points = np.column_stack([measured, self.predicted[name]])
            self.points_[name] = self._points(points, **usual | look)
        # The line of the rows that are most like new ones.
        fitted, text = found.intercept + found.slope * ends, f"slope {found.slope:.3f}"
        line = {"color": color, "linestyle": "--", "label": f"fitted to {name}: {text}"}
        (self.line_,) = self.ax_.plot(ends, fitted, **line)
        self.ax_.set_xlabel(f"measured {style.plain(self.response)}")
        self.ax_.set_ylabel(f"predicted {style.plain(self.response)}")


# Scores of two components, with names, groups and the ellipse of T^2
# -------------------------------------------------------------------


@dataclass(kw_only=True, eq=False)
class ScoresDisplay(style.Display):
    """Rows in the plane of two components, with the ellipse that holds most of them.

    With arrows for the predictors it is a biplot.

    Attributes
    ----------
    scores : (n, 2) array
    components : tuple of two int
    x_share, y_share : (2,) arrays
        What the components explain of X and of the response, in percent.
    names : tuple of str or None
        Written beside rows outside of the ellipse (beside all of a few rows).
    groups : (n,) array of str or None
        Differ in colour and marker.
    y : (n,) array or None
        Colours the rows.
    arrows : dict of str to (2,) array
        Loadings of predictors, by name.
    half_axes : (2,) array
        Of the ellipse: T^2 of these two components at its limit for training rows.
    level : float
    response : str
    ax_, figure_ : matplotlib objects
    points_ : dict of matplotlib lines by group
    ellipse_ : matplotlib line or None
    color_bar_ : matplotlib Colorbar or None

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
    groups: npt.NDArray[Any] | None = None
    y: Array | None = None
    arrows: Mapping[str, Array] = field(default_factory=dict)
    level: float = 0.95
    response: str = "y"

    @classmethod
    def from_path(
        cls,
        path: style.PathLike,
        components: Sequence[int] = (1, 2),
        *,
        groups: Sequence[Any] | None = None,
        y: Any = None,
        arrows: int = 0,
        level: float = 0.95,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the training rows in the plane of two components, counted from 1.

        Parameters
        ----------
        path : PLSPath, PenalizedPLSPath or KernelPLSPath, or a fitted estimator
        components : two int
        groups : sequence of n, optional
            Which rows belong together.
        y : (n,) array, optional
            Colours the rows instead, such as the response.
        arrows : int
            So many predictors, those with the longest loadings, are drawn as arrows: a biplot.
        level : float
            Share of ordinary rows inside of the ellipse.
        kwargs
            To `plot`: ``names`` of the rows, ``response``, and what points take.
        """
        path, level = as_score_path(as_path(path)), as_level(level)
        wanted = style.component_numbers(components, path.x_scores.shape[1], 2, 2)
        columns = [one - 1 for one in wanted]
        rows, shares = len(path.x_scores), explained_variance(path)
        longest = {}
        if as_count(arrows, "arrows"):
            loadings = as_predictor_path(path, "A loading").x_loadings[:, columns]
            known = style.feature_axis(path.feature_names, len(loadings)).names
            first = np.argsort(-np.sum(loadings**2, axis=1), kind="stable")[:arrows]
            longest = {known[i]: loadings[i] for i in first}
        return cls(
            scores=path.x_scores[:, columns],
            components=wanted,
            x_share=100 * shares.x[columns],
            y_share=100 * shares.y[columns],
            half_axes=score_spread(path, level)[1][columns],
            groups=None if groups is None else np.array(_labels(groups, rows, "groups")),
            y=None if y is None else as_response(y, rows),
            arrows=longest,
            level=level,
        ).plot(ax, **kwargs)

    @property
    def outside(self) -> npt.NDArray[np.bool_]:
        """Which rows are outside of the ellipse."""
        return np.asarray(np.sum((self.scores / self.half_axes) ** 2, axis=1) > 1)

    def _draw(self, look: dict[str, Any]) -> None:
        ax = self.ax_
        self.points_, self.color_bar_, self.ellipse_ = {}, None, None
        if self.y is None:
            self._draw_groups(look)
        else:
            self.points_[""] = ax.scatter(*self.scores.T, **{"c": self.y, "s": 25} | look)
            self.color_bar_ = self._color_bar(self.points_[""], self.response)
            self._dots = self.scores
        if self.arrows:  # their names matter more than single rows
            self._dots = self._dots[:0]
        ax.axhline(0.0, color=style.GREY, linewidth=0.5, zorder=0)
        ax.axvline(0.0, color=style.GREY, linewidth=0.5, zorder=0)
        if np.all(np.isfinite(self.half_axes)):
            angle = np.linspace(0, 2 * np.pi, 200)
            x, y = self.half_axes[:, None] * [np.cos(angle), np.sin(angle)]
            label = f"T² of these two, {100 * self.level:g}%"
            (self.ellipse_,) = ax.plot(x, y, color=style.GREY, linestyle="--", label=label)
        # Arrows as long as the scores reach
        arrows = np.array([*self.arrows.values()]).reshape(-1, 2)
        ends = 0.9 * np.abs(self.scores).max() / np.abs(arrows).max(initial=1e-300) * arrows
        for end in ends:
            arrow = {"arrowstyle": "->", "color": style.VERMILLION}
            ax.annotate("", tuple(end), (0.0, 0.0), arrowprops=arrow)
        ax.update_datalim(ends)
        ax.autoscale_view()
        self._named = [*self.arrows], ends
        if self.names is not None:
            # All of a few rows, else those outside
            wanted = self.outside | (len(self.names) <= _MOST_NAMES // 2)
            far = np.sum((self.scores / self.half_axes) ** 2, axis=1)
            names, places = _named(self.names, self.scores, far, wanted)
            self._named = [*self.arrows, *names], [*ends, *places]
        for axis, i in ((ax.xaxis, 0), (ax.yaxis, 1)):
            name, x, y = style.plain(self.response, 16), self.x_share[i], self.y_share[i]
            axis.set_label_text(
                f"component {self.components[i]} ({x:.0f}% of X, {y:.0f}% of {name})"
            )

    def _draw_groups(self, look: dict[str, Any]) -> None:
        every = np.full(len(self.scores), "") if self.groups is None else self.groups
        for number, group in enumerate(dict.fromkeys(every.tolist())):
            color, _, marker = style.LINES[number % len(style.LINES)]
            # After five groups colours come again, and markers are filled.
            inside = color if number >= len(style.LINES) else "none"
            usual = {"color": color, "marker": marker, "markerfacecolor": inside}
            usual |= {"label": style.plain(group) if group else ""}
            self.points_[group] = self._points(self.scores[every == group], **usual | look)


def _labels(labels: Sequence[Any] | None, n_rows: int, what: str) -> Labels | None:
    if labels is None:
        return None
    found = tuple(str(one) for one in labels)
    if len(found) != n_rows:
        raise InvalidInputError(
            f"{what} has {len(found)} entries for {n_rows} rows; give one for every row."
        )
    return found


def _named(
    names: Labels | None, points: Array, size: Array, wanted: npt.NDArray[np.bool_]
) -> tuple[list[str], Array]:
    """Return names of the wanted rows, or positions, and places; the farthest find room first."""
    names = _labels(names, len(points), "names")
    shown = [i for i in np.argsort(-size, kind="stable").tolist() if wanted[i]][:_MOST_NAMES]
    return [str(i) if names is None else names[i] for i in shown], points[shown]


# T^2 against Q: distances within the model and beside it
# -------------------------------------------------------


@dataclass(kw_only=True, eq=False)
class DistanceDisplay(style.Display):
    """T^2 (distance within the components) against Q (beside them) of every row, with limits.

    Attributes
    ----------
    t2, q : Diagnostic
    names : tuple of str or None
        Written beside rows beyond a limit; their positions, counted from 0, if there are none.
    level : float
        Of the limits.
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
    level: float = 0.95

    @classmethod
    def from_model(
        cls,
        model: ModelLike,
        X_new: Any = None,
        *,
        level: float = 0.95,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the training rows, or new ones; with their limits.

        Parameters
        ----------
        model, X_new, level
            As for `plsdof.chemometrics.hotelling_t2` and `plsdof.chemometrics.q_residuals`. Limits
            come from cross-validation where the path has kept them, so that they hold for new rows.
        kwargs
            To `plot`: ``names`` of the rows, by default the index of a frame X_new, or positions
            from 0; what ordinary points take.
        """
        model = as_model(model)
        crossed = has_left_out_limits(as_score_path(model.path))
        limit: Any = "cross-validated" if crossed else None
        t2 = hotelling_t2(model, X_new, level=level, limit=limit)
        q = q_residuals(model, X_new, level=level, limit=limit)
        labels = row_labels(X_new)
        known = None if labels is None else tuple(map(str, labels))
        return cls(t2=t2, q=q, names=known, level=level).plot(ax, **kwargs)

    def _draw(self, look: dict[str, Any]) -> None:
        beyond = self.t2.flags | self.q.flags
        points = np.column_stack([self.t2.values, self.q.values])
        self.points_ = self._points(points[~beyond], **look)
        marks = {"marker": "D", "color": style.VERMILLION, "markerfacecolor": style.VERMILLION}
        marks |= {"label": "beyond a limit"} if beyond.any() else {}
        self.beyond_ = self._points(points[beyond], **marks)
        for draw, one, name, dash in (
            (self.ax_.axvline, self.t2, "T²", "--"),
            (self.ax_.axhline, self.q, "Q", ":"),
        ):
            if np.isfinite(one.limit):
                label = f"limit of {name}, {100 * self.level:g}%"
                draw(one.limit, color=style.GREY, linestyle=dash, linewidth=1, label=label)
        self.ax_.set_xlabel("T² (within the model)")
        self.ax_.set_ylabel("Q (beside the model)")
        self.ax_.set_xlim(left=0)
        self.ax_.set_ylim(bottom=0)
        far = np.max([one.values / one.limit for one in (self.t2, self.q)], axis=0)
        self._named = _named(self.names, points, far, beyond)
