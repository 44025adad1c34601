"""Pictures of the rows: predictions, scores and distances from the model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from plsdof._core.inputs import Array, as_choice, as_count, as_level, as_response, row_labels
from plsdof._core.model import ModelLike, as_model, as_path
from plsdof.chemometrics.diagnostics import (
    Diagnostic,
    as_predictor_path,
    as_score_path,
    explained_variance,
)
from plsdof.chemometrics.merit import figures_of_merit
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
    feature_axis,
    plain,
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
    response: str = "response"
    points_: dict[str, Any] = field(init=False, repr=False)
    line_: Any = field(init=False, repr=False)

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
            found = figures_of_merit(measured, self.predicted[name])
            points: dict[str, Any] = {"color": color, "marker": marker, "linestyle": "none"}
            points |= {"markersize": 5, "markerfacecolor": "none"}
            points["label"] = (
                f"{name}: RMSE {found.rmse:.4g}, R² {found.r2:.3f}, bias {found.bias:.2g}"
            )
            (line,) = self.ax_.plot(measured, self.predicted[name], **points | style)
            self.points_[name] = line
        # The line of the rows that are most like new ones.
        line_at = [found.intercept + found.slope * end for end in ends]
        label = f"fitted to {name}: slope {found.slope:.3f}"
        (self.line_,) = self.ax_.plot(ends, line_at, color=color, linestyle="--", label=label)
        response = plain(self.response)
        self.ax_.set_xlabel(f"measured {response}")
        self.ax_.set_ylabel(f"predicted {response}")


# Residuals of rows left out, against fitted values or in the order of the rows
# -----------------------------------------------------------------------------


@dataclass(kw_only=True, eq=False)
class ResidualDisplay(Display):
    """Residuals of rows left out against their predictions, or in the order of the rows.

    Attributes
    ----------
    x, residuals : (n,) arrays
    spread : float
        Root mean square of the residuals; lines are drawn at twice of it.
    against : {"predicted", "order"}
    response : str
    names : tuple of str or None
        Written beside rows beyond the lines.
    ax_, figure_, points_ : matplotlib objects

    Examples
    --------
    >>> from plsdof import pls_path
    >>> from plsdof.datasets import load_ozone
    >>> ResidualDisplay.from_model(pls_path(*load_ozone(return_X_y=True))[2]).ax_.get_xlabel()
    'predicted response'
    """

    x: Array
    residuals: Array
    spread: float
    against: str = "predicted"
    response: str = "response"
    names: Labels | None = None
    points_: Any = field(init=False, repr=False)

    @classmethod
    def from_model(
        cls,
        model: ModelLike,
        *,
        against: Literal["predicted", "order"] = "predicted",
        response: str = "response",
        names: Sequence[Any] | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw measured minus predicted values of the training rows by the fits without them."""
        as_choice(against, "against", ("predicted", "order"))
        model = as_model(model)
        e = model.left_out_residuals
        return cls(
            x=np.asarray(np.arange(len(e)) if against == "order" else model.path.response() - e),
            residuals=e,
            spread=float(np.sqrt(np.mean(e**2))),
            against=against,
            response=response,
            names=_labels(names, len(e), "names"),
        ).plot(ax, **kwargs)

    def _draw(self, style: dict[str, Any]) -> None:
        points: dict[str, Any] = {"marker": "o", "linestyle": "none", "markerfacecolor": "none"}
        points |= {"color": BLUE, "markersize": 5}
        (self.points_,) = self.ax_.plot(self.x, self.residuals, **points | style)
        self.ax_.axhline(0.0, color=GREY, linewidth=0.8, zorder=0)
        for side, label in ((-2, "± 2 RMSECV"), (2, None)):
            self.ax_.axhline(side * self.spread, color=GREY, linestyle="--", label=label)
        ordered, response = self.against == "order", plain(self.response)
        self.ax_.set_xlabel("row, in their order" if ordered else f"predicted {response}")
        self.ax_.set_ylabel(f"residual of rows left out ({response})")
        beyond = np.flatnonzero(np.abs(self.residuals) > 2 * self.spread)
        names = [str(i) if self.names is None else self.names[i] for i in beyond]
        self._names = names, np.column_stack([self.x, self.residuals])[beyond]


# Scores of two components, with names, groups and the ellipse of T^2
# -------------------------------------------------------------------


@dataclass(kw_only=True, eq=False)
class ScoresDisplay(Display):
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
    names: Labels | None = None
    groups: npt.NDArray[Any] | None = None
    y: Array | None = None
    arrows: Mapping[str, Array] = field(default_factory=dict)
    level: float = 0.95
    response: str = "y"
    color_bar_: Any = field(init=False, repr=False)
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
        y: Any = None,
        arrows: int = 0,
        level: float = 0.95,
        response: str = "y",
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
        y : (n,) array, optional
            Colours the rows instead, such as the response.
        arrows : int
            So many predictors, those with the longest loadings, are drawn as arrows: a biplot.
        level : float
            Share of ordinary rows inside of the ellipse.
        response : str
            Its name, for the axes.
        """
        path, level = as_score_path(as_path(path)), as_level(level)
        wanted = as_component_numbers(components, path.x_scores.shape[1], 2, 2)
        columns = [one - 1 for one in wanted]
        rows, shares = len(path.x_scores), explained_variance(path)
        longest = {}
        if as_count(arrows, "arrows"):
            loadings = as_predictor_path(path, "A loading").x_loadings[:, columns]
            known = feature_axis(path.feature_names, len(loadings)).names
            first = np.argsort(-np.sum(loadings**2, axis=1), kind="stable")[:arrows]
            longest = {known[i]: loadings[i] for i in first}
        return cls(
            scores=path.x_scores[:, columns],
            components=wanted,
            x_share=100 * shares.x[columns],
            y_share=100 * shares.y[columns],
            half_axes=score_spread(path, level)[1][columns],
            names=_labels(names, rows, "names"),
            groups=None if groups is None else np.array(_labels(groups, rows, "groups")),
            y=None if y is None else as_response(y, rows),
            arrows=longest,
            level=level,
            response=response,
        ).plot(ax, **kwargs)

    @property
    def outside(self) -> npt.NDArray[np.bool_]:
        """Which rows are outside of the ellipse."""
        return np.asarray(np.sum((self.scores / self.half_axes) ** 2, axis=1) > 1)

    def _draw(self, style: dict[str, Any]) -> None:
        self.points_, self.color_bar_ = {}, None
        if self.y is None:
            self._draw_groups(style)
        else:
            look: dict[str, Any] = {"c": self.y, "s": 25} | style
            points = self.ax_.scatter(*self.scores.T, **look)
            name = plain(self.response)
            self.color_bar_ = self.figure_.colorbar(points, ax=self.ax_, label=name)
            self.points_[""] = points
        self._draw_ellipse()
        named = self._named()
        names = [self.names[i] if self.names else "" for i in named]
        self._names = [*self.arrows, *names], [*self._draw_arrows(), *self.scores[named]]
        for axis, i in ((self.ax_.xaxis, 0), (self.ax_.yaxis, 1)):
            name, x, y = plain(self.response, 16), self.x_share[i], self.y_share[i]
            axis.set_label_text(
                f"component {self.components[i]} ({x:.0f}% of X, {y:.0f}% of {name})"
            )

    def _draw_groups(self, style: dict[str, Any]) -> None:
        every = np.array([""] * len(self.scores)) if self.groups is None else self.groups
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

    def _draw_arrows(self) -> Sequence[Array]:
        """Draw loadings as arrows as long as the scores reach, and return their ends."""
        if not self.arrows:
            return []
        reach = np.abs(self.scores).max() / max(np.abs(one).max() for one in self.arrows.values())
        ends = [0.9 * reach * one for one in self.arrows.values()]
        look = {"arrowstyle": "->", "color": VERMILLION}
        for end in ends:
            self.ax_.annotate("", tuple(end), (0.0, 0.0), arrowprops=look)
        self.ax_.update_datalim(ends)
        self.ax_.autoscale_view()
        return ends

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
    names: Labels | None = None
    level: float = 0.95
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
        named = _labels(names, len(q.values), "names")
        return cls(t2=t2, q=q, names=named, level=level).plot(ax, **kwargs)

    def _draw(self, style: dict[str, Any]) -> None:
        beyond = self.t2.flags | self.q.flags
        both = np.column_stack([self.t2.values, self.q.values])
        points: dict[str, Any] = {"linestyle": "none", "markersize": 5}
        ordinary = {"marker": "o", "color": BLUE, "markerfacecolor": "none"}
        (self.points_,) = self.ax_.plot(*both[~beyond].T, **points | ordinary | style)
        marks = {"marker": "D", "color": VERMILLION, "label": "beyond a limit"}
        (self.beyond_,) = self.ax_.plot(*both[beyond].T, **points | marks)
        for draw, one, name, dash in (
            (self.ax_.axvline, self.t2, "T²", "--"),
            (self.ax_.axhline, self.q, "Q", ":"),
        ):
            if np.isfinite(one.limit):
                label = f"limit of {name}, {100 * self.level:g}%"
                draw(one.limit, color=GREY, linestyle=dash, linewidth=1, label=label)
        self.ax_.set_xlabel("T² (within the model)")
        self.ax_.set_ylabel("Q (beside the model)")
        self.ax_.set_xlim(left=0)
        self.ax_.set_ylim(bottom=0)
        # The farthest first: not all names may find room.
        far = np.max([one.values / one.limit for one in (self.t2, self.q)], axis=0)
        shown = [i for i in np.argsort(-far, kind="stable") if beyond[i]][:_MOST_LABELS]
        names = [str(i) if self.names is None else self.names[i] for i in shown]
        self._names = names, both[shown]
