"""Pictures of the rows: predictions, scores, biplot, distances and contributions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from plsdof._core.inputs import Array, as_choice, as_count, as_fraction, as_response, require_type
from plsdof._core.path import Path, PLSPath, as_model, as_path
from plsdof.chemometrics.diagnostics import Diagnostic, as_predictor_path, as_score_path
from plsdof.chemometrics.rows import contributions, hotelling_t2, q_residuals, t2_limit
from plsdof.chemometrics.variables import explained_variance
from plsdof.errors import InvalidInputError, NotAvailableError
from plsdof.plotting.predictors import as_two_components
from plsdof.plotting.style import (
    BLUE,
    GREY,
    LINES,
    MOST_NAMED,
    VERMILLION,
    FeatureAxis,
    axes_or_new,
    draw_over_features,
    feature_axis,
    plain,
    show_features,
    show_legend,
    write_name,
)
from plsdof.selection.cross_validation import CrossValidation

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Labels = tuple[str, ...]
# More names than this in one picture hide each other.
_MOST_LABELS = 60


# Predicted against measured, for rows that were fitted, left out, and never seen
# -------------------------------------------------------------------------------


@dataclass(kw_only=True, eq=False)
class PredictionDisplay:
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
    >>> from plsdof import cross_validate, pls_path
    >>> from plsdof.datasets import load_ozone
    >>> X, y = load_ozone(return_X_y=True)
    >>> path, cv = pls_path(X, y), cross_validate(X, y)
    >>> list(PredictionDisplay.from_path(path, 2, y=y, cv=cv).points_)
    ['calibration', 'cross-validation']
    """

    measured: Mapping[str, Array]
    predicted: Mapping[str, Array]
    response: str = "response"
    ax_: "Axes" = field(init=False, repr=False)
    figure_: "Figure" = field(init=False, repr=False)
    points_: dict[str, Any] = field(init=False, repr=False)

    @classmethod
    def from_path(
        cls,
        path: Path,
        m: int,
        *,
        y: Any,
        cv: CrossValidation | None = None,
        X_test: Any = None,
        y_test: Any = None,
        response: str = "response",
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the training rows, and those left out in cross-validation or kept for a test.

        Parameters
        ----------
        path : Path
        m : int
            Row of the path.
        y : (n,) array
            The response the path was fitted on.
        cv : CrossValidation, optional
            Of the same method.
        X_test, y_test : arrays, optional
            Rows that took no part in the fit, preprocessed as those that did.
        """
        index = as_path(path).index(m)
        observed = as_response(y, path.units.n_rows)
        measured, predicted = {"calibration": observed}, {"calibration": path.fitted[index]}
        if cv is not None:
            require_type(cv, CrossValidation, "cv", "cross_validate")
            measured["cross-validation"] = cv.y
            predicted["cross-validation"] = left_out_predictions(cv, index)
        if (X_test is None) != (y_test is None):
            raise InvalidInputError("X_test and y_test belong together; give both or neither.")
        if X_test is not None:
            found = path.predict(X_test)[index]
            measured["test"], predicted["test"] = as_response(y_test, len(found), "y_test"), found
        display = cls(measured=measured, predicted=predicted, response=response)
        return display.plot(ax, **kwargs)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        X_test: Any = None,
        y_test: Any = None,
        response: str = "response",
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the predictions of a fitted estimator or Pipeline for the rows given.

        Its cross-validation is drawn too if it chose its model by one.
        """
        model = as_model(estimator, average=False)
        predicted = {"calibration": np.asarray(estimator.predict(X))}
        measured = {"calibration": as_response(y, len(predicted["calibration"]))}
        cv = getattr(model.estimator, "cv_results_", None)
        if cv is not None and cv.predictions is not None:
            measured["cross-validation"] = cv.y
            predicted["cross-validation"] = left_out_predictions(cv, model.index)
        if (X_test is None) != (y_test is None):
            raise InvalidInputError("X_test and y_test belong together; give both or neither.")
        if X_test is not None:
            predicted["test"] = np.asarray(estimator.predict(X_test))
            measured["test"] = as_response(y_test, len(predicted["test"]), "y_test")
        display = cls(measured=measured, predicted=predicted, response=response)
        return display.plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw on ``ax``, or on new axes; ``kwargs`` go to all points."""
        self.ax_ = axes_or_new(ax)
        self.figure_ = self.ax_.figure  # type: ignore[assignment]
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


def left_out_predictions(cv: CrossValidation, index: int) -> Array:
    """Return what a model predicted for each row when it was left out, averaged over repeats."""
    if cv.predictions is None:
        raise NotAvailableError(
            "This cross-validation did not keep its predictions; run it with keep_predictions=True."
        )
    if index >= cv.predictions.shape[1]:
        return np.full(len(cv.y), np.nan)
    kept = cv.predictions[:, index]
    known = np.isfinite(kept)
    total = np.where(known, kept, 0.0).sum(axis=0)
    with np.errstate(invalid="ignore"):
        return np.asarray(total / known.sum(axis=0))


# Scores of two components, with names, groups and the ellipse of T^2
# -------------------------------------------------------------------


@dataclass(kw_only=True, eq=False)
class ScoresDisplay:
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
    ax_: "Axes" = field(init=False, repr=False)
    figure_: "Figure" = field(init=False, repr=False)
    points_: dict[str, Any] = field(init=False, repr=False)
    ellipse_: Any = field(init=False, repr=False)

    @classmethod
    def from_path(
        cls,
        path: PLSPath,
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
        path : PLSPath, PenalizedPLSPath or KernelPLSPath
        components : two int
        names, groups : sequences of n, optional
            What to call the rows; which ones belong together.
        level : float
            Share of ordinary rows inside of the ellipse.
        """
        path, level = as_score_path(path), as_fraction(level, "level")
        wanted = as_two_components(components, path.x_scores.shape[1])
        columns = [one - 1 for one in wanted]
        n = path.units.n_rows
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

    @classmethod
    def from_estimator(
        cls, estimator: Any, components: Sequence[int] = (1, 2), **kwargs: Any
    ) -> Self:
        """Draw the training rows of a fitted PLS estimator; ``kwargs`` as for `from_path`."""
        path: Any = as_path(estimator)
        return cls.from_path(path, components, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw on ``ax``, or on new axes; ``kwargs`` go to all points."""
        self.ax_ = axes_or_new(ax)
        self.figure_ = self.ax_.figure  # type: ignore[assignment]
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
    limit = t2_limit(path.spectrum.n, 2, level, True).value
    spread = path.filter.diagonal / np.sqrt(path.spectrum.n - 1.0)
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
class BiplotDisplay:
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
    ax_: "Axes" = field(init=False, repr=False)
    figure_: "Figure" = field(init=False, repr=False)
    points_: Any = field(init=False, repr=False)
    arrows_: Any = field(init=False, repr=False)

    @classmethod
    def from_path(
        cls,
        path: PLSPath,
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
        path : PLSPath or PenalizedPLSPath
        components : two int
        names : sequence of n, optional
            What to call the rows.
        predictors : sequence of p str, optional
            What to call the predictors; by default what the path calls them.
        """
        path = as_predictor_path(path, "A biplot")
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

    @classmethod
    def from_estimator(
        cls, estimator: Any, components: Sequence[int] = (1, 2), **kwargs: Any
    ) -> Self:
        """Draw those of a fitted PLS estimator; ``kwargs`` as for `from_path`."""
        path: Any = as_path(estimator)
        return cls.from_path(path, components, **kwargs)

    @property
    def arrow_scale(self) -> float:
        """What loadings are multiplied by to be drawn among the scores."""
        rows, arrows = (np.max(np.linalg.norm(a, axis=1)) for a in (self.scores, self.loadings))
        return float(rows / arrows)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw on ``ax``, or on new axes; ``kwargs`` go to the points."""
        self.ax_ = axes_or_new(ax)
        self.figure_ = self.ax_.figure  # type: ignore[assignment]
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
class DistanceDisplay:
    """T^2 (distance within the components) against Q (beside them) of every row, with limits.

    Attributes
    ----------
    t2, q : Diagnostic
    names : tuple of str or None
        Written beside rows beyond a limit; their numbers, counted from 1, if there are none.
    ax_, figure_, points_, beyond_ : matplotlib objects

    Examples
    --------
    >>> from plsdof import pls_path
    >>> from plsdof.datasets import load_ozone
    >>> display = DistanceDisplay.from_path(pls_path(*load_ozone(return_X_y=True)), 2)
    >>> display.ax_.get_xlabel()
    'T² (within the model)'
    """

    t2: Diagnostic
    q: Diagnostic
    names: Labels | None = None
    ax_: "Axes" = field(init=False, repr=False)
    figure_: "Figure" = field(init=False, repr=False)
    points_: Any = field(init=False, repr=False)
    beyond_: Any = field(init=False, repr=False)

    @classmethod
    def from_path(
        cls,
        path: PLSPath,
        m: int,
        X_new: Any = None,
        *,
        level: float = 0.95,
        q_limit: str = "cross-validated",
        names: Sequence[Any] | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the training rows, or new ones.

        ``path``, ``m``, ``X_new`` and ``level`` are those of `plsdof.chemometrics.hotelling_t2`,
        ``q_limit`` is the ``limit`` of `plsdof.chemometrics.q_residuals`, by default one that
        comes from rows left out and holds for new rows.
        """
        t2 = hotelling_t2(path, m, X_new, level)
        q = q_residuals(path, m, X_new, level, limit=q_limit)
        display = cls(t2=t2, q=q, names=_labels(names, len(q.values), "names"))
        return display.plot(ax, **kwargs)

    @classmethod
    def from_estimator(cls, estimator: Any, X_new: Any = None, **kwargs: Any) -> Self:
        """Draw the training rows of a fitted PLS estimator or Pipeline, or new ones."""
        model = as_model(estimator, average=False)
        path: Any = model.path
        return cls.from_path(path, model.index, model.rows(X_new), **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw on ``ax``, or on new axes; ``kwargs`` go to the ordinary points."""
        self.ax_ = axes_or_new(ax)
        self.figure_ = self.ax_.figure  # type: ignore[assignment]
        beyond = self.t2.flags | self.q.flags
        both = np.column_stack([self.t2.values, self.q.values])
        style: dict[str, Any] = {"linestyle": "none", "marker": "o", "markersize": 5}
        style |= {"color": BLUE, "markerfacecolor": "none"} | kwargs
        (self.points_,) = self.ax_.plot(*both[~beyond].T, **style)
        marks: dict[str, Any] = {"linestyle": "none", "marker": "D", "color": VERMILLION}
        (self.beyond_,) = self.ax_.plot(*both[beyond].T, markersize=5, **marks)
        for i in np.flatnonzero(beyond)[:_MOST_LABELS]:
            write_name(self.ax_, str(i + 1) if self.names is None else self.names[i], both[i])
        for draw, one in ((self.ax_.axvline, self.t2), (self.ax_.axhline, self.q)):
            if np.isfinite(one.limit):
                draw(one.limit, color=GREY, linestyle="--", linewidth=1)
        self.ax_.set_xlabel("T² (within the model)")
        self.ax_.set_ylabel("Q (beside the model)")
        self.ax_.set_xlim(left=0)
        self.ax_.set_ylim(bottom=0)
        return self


@dataclass(kw_only=True, eq=False)
class ContributionDisplay:
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
    >>> ContributionDisplay.from_path(path, 2, row=5, kind="t2").ax_.get_xlabel()
    'contribution to T² of row 6'
    """

    values: Array
    features: FeatureAxis
    kind: str = "q"
    name: str = ""
    ax_: "Axes" = field(init=False, repr=False)
    figure_: "Figure" = field(init=False, repr=False)
    line_: Any = field(init=False, repr=False)

    @classmethod
    def from_path(
        cls,
        path: PLSPath,
        m: int,
        *,
        row: int,
        X_new: Any = None,
        kind: str = "q",
        names: Sequence[str] | None = None,
        name: str = "",
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the contributions to row ``row``, counted from 0, of the training or new rows.

        ``names`` are those of the predictors, ``name`` is what to call the row.
        """
        found = contributions(path, m, X_new)
        values = found.q if as_choice(kind, "kind", ("q", "t2")) == "q" else found.t2
        if as_count(row, "row") >= len(values):
            raise InvalidInputError(f"row must be in 0..{len(values) - 1}; got {row}.")
        names = path.feature_names if names is None else names
        display = cls(
            values=values[row],
            features=feature_axis(names, values.shape[1]),
            kind=kind,
            name=name or f"row {row + 1}",
        )
        return display.plot(ax, **kwargs)

    @classmethod
    def from_estimator(cls, estimator: Any, *, row: int, X_new: Any = None, **kwargs: Any) -> Self:
        """Draw the contributions in the model of a fitted PLS estimator or Pipeline."""
        model = as_model(estimator, average=False)
        path: Any = model.path
        return cls.from_path(path, model.index, row=row, X_new=model.rows(X_new), **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw on ``ax``, or on new axes; ``kwargs`` go to the line."""
        self.ax_ = axes_or_new(ax)
        self.figure_ = self.ax_.figure  # type: ignore[assignment]
        style = {"color": VERMILLION} | kwargs
        self.line_ = draw_over_features(self.ax_, self.features, self.values, **style)
        of = {"q": "Q", "t2": "T²"}[self.kind]
        show_features(self.ax_, self.features, f"contribution to {of} of {plain(self.name)}")
        return self
