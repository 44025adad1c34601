"""Pictures of the rows: predictions, scores and distances from the model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from plsdof._core.inputs import Array, as_level, as_response, row_labels
from plsdof._core.model import ModelLike, as_model, as_path
from plsdof.chemometrics.diagnostics import Diagnostic, as_score_path, explained_variance
from plsdof.chemometrics.rows import has_left_out_limits, hotelling_t2, q_residuals, score_spread
from plsdof.errors import InvalidInputError
from plsdof.plotting.predictors import as_component_numbers
from plsdof.plotting.style import (
    BLUE,
    GREY,
    LINES,
    VERMILLION,
    Display,
    PathLike,
    plain,
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
        if model.path.given is not None or X_test is None:
            y = model.path.response()
            measured |= {"calibration": y, "cross-validation": y}
            predicted["calibration"] = model.fitted
            predicted["cross-validation"] = y - model.left_out_residuals
        if X_test is not None:
            found = model.predict(X_test)
            measured["test"], predicted["test"] = as_response(y_test, len(found), "y_test"), found
        display = cls(measured=measured, predicted=predicted, response=response)
        return display.plot(ax, **kwargs)

    def _draw(self, style: dict[str, Any]) -> None:
        every = np.concatenate([*self.measured.values(), *self.predicted.values()])
        ends = [np.nanmin(every), np.nanmax(every)]
        self.ax_.plot(ends, ends, color=GREY, linewidth=1, label="predicted = measured")
        self.points_ = {}
        for (name, measured), (color, _, marker) in zip(self.measured.items(), LINES, strict=False):
            points: dict[str, Any] = {"color": color, "marker": marker, "linestyle": "none"}
            error = np.sqrt(np.nanmean((self.predicted[name] - measured) ** 2))
            points |= {"markersize": 5, "markerfacecolor": "none"}
            points["label"] = f"{name} (RMSE {error:.4g})"
            (line,) = self.ax_.plot(measured, self.predicted[name], **points | style)
            self.points_[name] = line
        response = plain(self.response)
        self.ax_.set_xlabel(f"measured {response}")
        self.ax_.set_ylabel(f"predicted {response}")


# Scores of two components, with names, groups and the ellipse of T^2
# -------------------------------------------------------------------


@dataclass(kw_only=True, eq=False)
class ScoresDisplay(Display):
    """Rows in the plane of two components, with the ellipse that holds most of them.

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
    half_axes : (2,) array
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
        wanted = as_component_numbers(components, path.x_scores.shape[1], 2, 2)
        columns = [one - 1 for one in wanted]
        rows, shares = len(path.x_scores), explained_variance(path)
        return cls(
            scores=path.x_scores[:, columns],
            components=wanted,
            x_share=100 * shares.x[columns],
            y_share=100 * shares.y[columns],
            half_axes=score_spread(path, level)[1][columns],
            names=_labels(names, rows, "names"),
            groups=None if groups is None else np.array(_labels(groups, rows, "groups")),
            level=level,
        ).plot(ax, **kwargs)

    @property
    def outside(self) -> npt.NDArray[np.bool_]:
        """Which rows are outside of the ellipse."""
        return np.asarray(np.sum((self.scores / self.half_axes) ** 2, axis=1) > 1)

    def _draw(self, style: dict[str, Any]) -> None:
        every = np.array([""] * len(self.scores)) if self.groups is None else self.groups
        self.points_ = {}
        for number, group in enumerate(dict.fromkeys(every.tolist())):
            color, _, marker = LINES[number % len(LINES)]
            points: dict[str, Any] = {"color": color, "marker": marker, "linestyle": "none"}
            # After five groups colours come again, and markers are filled.
            points |= {"markerfacecolor": color if number >= len(LINES) else "none"}
            points |= {} if self.groups is None else {"label": plain(group)}
            (line,) = self.ax_.plot(
                *self.scores[every == group].T, **{"markersize": 5} | points | style
            )
            self.points_[group] = line
        self._draw_ellipse()
        for i in self._named():
            write_name(self.ax_, self.names[i] if self.names else "", self.scores[i])
        for axis, i in ((self.ax_.xaxis, 0), (self.ax_.yaxis, 1)):
            shares = f"{self.x_share[i]:.0f}% of X, {self.y_share[i]:.0f}% of y"
            axis.set_label_text(f"component {self.components[i]} ({shares})")

    def _draw_ellipse(self) -> None:
        self.ellipse_ = None
        self.ax_.axhline(0.0, color=GREY, linewidth=0.5, zorder=0)
        self.ax_.axvline(0.0, color=GREY, linewidth=0.5, zorder=0)
        if np.all(np.isfinite(self.half_axes)):
            angle = np.linspace(0, 2 * np.pi, 200)
            x, y = self.half_axes[:, None] * [np.cos(angle), np.sin(angle)]
            label = f"T² of these two, {100 * self.level:g}%"
            (self.ellipse_,) = self.ax_.plot(x, y, color=GREY, linestyle="--", label=label)

    def _named(self) -> Sequence[int]:
        """Return the rows whose names are written: all of a few, else those outside."""
        if self.names is None:
            return []
        few = len(self.names) <= _MOST_LABELS // 2
        return (
            range(len(self.names)) if few else np.flatnonzero(self.outside)[:_MOST_LABELS].tolist()
        )


def _labels(labels: Sequence[Any] | None, n_rows: int, what: str) -> Labels | None:
    if labels is None:
        return None
    found = tuple(str(one) for one in labels)
    if len(found) != n_rows:
        raise InvalidInputError(
            f"{what} has {len(found)} entries for {n_rows} rows; give one for every row."
        )
    return found


# T^2 against Q: distances within the model and beside it
# -------------------------------------------------------


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
        return cls(t2=t2, q=q, names=_labels(names, len(q.values), "names")).plot(ax, **kwargs)

    def _draw(self, style: dict[str, Any]) -> None:
        beyond = self.t2.flags | self.q.flags
        both = np.column_stack([self.t2.values, self.q.values])
        points: dict[str, Any] = {"linestyle": "none", "markersize": 5}
        ordinary = {"marker": "o", "color": BLUE, "markerfacecolor": "none"}
        (self.points_,) = self.ax_.plot(*both[~beyond].T, **points | ordinary | style)
        marks = {"marker": "D", "color": VERMILLION}
        (self.beyond_,) = self.ax_.plot(*both[beyond].T, **points | marks)
        for i in np.flatnonzero(beyond)[:_MOST_LABELS]:
            write_name(self.ax_, str(i) if self.names is None else self.names[i], both[i])
        for draw, one in ((self.ax_.axvline, self.t2), (self.ax_.axhline, self.q)):
            if np.isfinite(one.limit):
                draw(one.limit, color=GREY, linestyle="--", linewidth=1)
        self.ax_.set_xlabel("T² (within the model)")
        self.ax_.set_ylabel("Q (beside the model)")
        self.ax_.set_xlim(left=0)
        self.ax_.set_ylim(bottom=0)
