"""Pictures over the predictors: spectra, loadings, coefficients, importance and contributions."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self

import numpy as np

from plsdof._core.inputs import Array, as_choice, as_count, as_matrix, as_response, feature_names
from plsdof._core.model import Model, ModelLike, as_model, as_path
from plsdof.chemometrics.diagnostics import as_predictor_path, selectivity_ratio, vip
from plsdof.chemometrics.rows import contributions
from plsdof.errors import InvalidInputError, NotAvailableError
from plsdof.inference.intervals import CoefficientInference, coefficient_inference
from plsdof.plotting.style import (
    BLACK,
    BLUE,
    GREY,
    LINES,
    MOST_BARS,
    VERMILLION,
    Display,
    FeatureAxis,
    PathLike,
    draw_over_features,
    drawn_features,
    feature_axis,
    is_spectrum,
    matplotlib,
    plain,
    show_features,
    show_positions,
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
        return cls(
            spectra=spectra,
            features=feature_axis(names, spectra.shape[1]),
            y=None if y is None else as_response(y, len(spectra)),
            response=response,
            title=title,
        ).plot(ax, **kwargs)

    @classmethod
    def from_model(cls, model: ModelLike, X: Any, y: Any = None, **kwargs: Any) -> Self:
        """Draw rows as the regression sees them, after the steps before it in a Pipeline.

        ``kwargs`` are those of `from_spectra`.
        """
        found, names = as_model(model), feature_names(X)
        rows = found.prepared(X)
        rows = np.asarray(rows if found.path.is_dual else found.path.new_rows(rows, sparse=False))
        values = np.asarray(X)
        if values.shape != rows.shape or not np.array_equal(values, rows):
            kwargs = {"title": "preprocessed value"} | kwargs
        known = found.path.feature_names
        if known is None and names is not None and len(names) == rows.shape[1]:
            known = names
        return cls.from_spectra(rows, y, **{"names": known} | kwargs)

    def _draw(self, style: dict[str, Any]) -> None:
        order = self.features.order
        x = np.broadcast_to(self.features.positions[order], self.spectra.shape)
        segments = np.stack([x, self.spectra[:, order]], axis=-1)
        colours = {"colors": BLUE} if self.y is None else {"cmap": "viridis"}
        collection = matplotlib("collections").LineCollection
        lines = collection(list(segments), **{"linewidths": 0.8} | colours | style)
        self.lines_ = self.ax_.add_collection(lines)
        self.ax_.autoscale_view()
        show_positions(self.ax_, self.features, self.title)
        self.color_bar_ = None
        if self.y is not None:
            self.lines_.set_array(self.y)
            name = plain(self.response)
            self.color_bar_ = self.figure_.colorbar(self.lines_, ax=self.ax_, label=name)


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
    lines_ : list of matplotlib lines, or bars

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
        """
        path = as_predictor_path(as_path(path), "A loading")
        values = getattr(path, LOADINGS[as_choice(kind, "kind", tuple(LOADINGS))])
        if components is None:
            components = range(1, 1 + min(2, values.shape[1]))
        wanted = as_component_numbers(components, values.shape[1], 1, len(LINES))
        return cls(
            values=values[:, [one - 1 for one in wanted]],
            components=wanted,
            features=feature_axis(path.feature_names, len(values)),
            kind=kind,
        ).plot(ax, **kwargs)

    def _draw(self, style: dict[str, Any]) -> None:
        self.lines_, count = [], len(self.components)
        which = drawn_features(self.features, *self.values.T)
        for place, (values, look) in enumerate(zip(self.values.T, LINES, strict=False)):
            # Lines differ in dash as well: colours are not for everybody.
            line: dict[str, Any] = {"color": look[0], "linestyle": look[1]}
            line["label"] = f"component {self.components[place]}"
            drawn = draw_over_features(
                self.ax_, self.features, values, which, (place, count), **line | style
            )
            self.lines_.append(drawn)
        show_features(self.ax_, self.features, which, self.kind.removesuffix("s"))


def as_component_numbers(components: Any, available: int, least: int, most: int) -> tuple[int, ...]:
    """Return different numbers of components, counted from 1, that a path has."""
    if isinstance(components, int):
        components = (components,)
    found = tuple(as_count(one, "components", minimum=1) for one in components)
    if not least <= len(found) <= most or len(set(found)) < len(found):
        count = f"{least} to {most}" if least < most else "two"
        raise InvalidInputError(
            f"components must be {count} different numbers such as (1, 2); got {components!r}."
        )
    if max(found) > available:
        raise InvalidInputError(
            f"components must be in 1..{available}, what the path has; got {components!r}."
        )
    return found


# Correlation loadings: how columns go with two components
# --------------------------------------------------------


@dataclass(kw_only=True, eq=False)
class CorrelationDisplay(Display):
    """Correlations of the predictors and the response with the scores of two components.

    Circles are where the two components explain all and half of the variance of a column.

    Attributes
    ----------
    values : (p, 2) array
        Correlations of the predictors, nan for columns that do not vary.
    y : (2,) array
        Of the response.
    components : tuple of two int
    features : FeatureAxis
    response : str
    ax_, figure_, points_ : matplotlib objects

    Examples
    --------
    >>> from plsdof import pls_path
    >>> from plsdof.datasets import load_ozone
    >>> path = pls_path(*load_ozone(return_X_y=True, as_frame=True))
    >>> abs(CorrelationDisplay.from_path(path).y).round(2)
    array([0.81, 0.19])
    """

    values: Array
    y: Array
    components: tuple[int, ...]
    features: FeatureAxis
    response: str = "response"
    points_: Any = field(init=False, repr=False)

    @classmethod
    def from_path(
        cls,
        path: PathLike,
        components: Sequence[int] = (1, 2),
        *,
        response: str = "response",
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw two components, counted from 1; ``kwargs`` go to the points."""
        path = as_predictor_path(as_path(path), "A correlation with scores")
        wanted = as_component_numbers(components, path.x_loadings.shape[1], 2, 2)
        which = [one - 1 for one in wanted]
        exact = path.exact.complete()
        weights = exact.units.row_scale
        scores = path.x_scores if weights is None else path.x_scores * weights[:, None]
        lengths = np.linalg.norm(scores[:, which], axis=0)
        # Sums of squares of the columns, in the units of the fit.
        S = exact.decomposition.singular_values
        columns = np.linalg.norm(exact.decomposition.to_features(np.diag(S)), axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            values = path.x_loadings[:, which] * lengths / columns[:, None]
        return cls(
            values=values,
            y=path.y_loadings[which] * lengths / np.sqrt(exact.spectrum.total),
            components=wanted,
            features=feature_axis(path.feature_names, len(values)),
            response=response,
        ).plot(ax, **kwargs)

    def _draw(self, style: dict[str, Any]) -> None:
        ax, angle = self.ax_, np.linspace(0, 2 * np.pi, 200)
        for radius, label in ((1.0, "all of the variance"), (np.sqrt(0.5), "half of it")):
            line: dict[str, Any] = {"color": GREY, "linestyle": "-" if radius == 1 else "--"}
            ax.plot(radius * np.cos(angle), radius * np.sin(angle), label=label, **line)
        points: dict[str, Any] = {"marker": "o", "linestyle": "none", "markersize": 4}
        (self.points_,) = ax.plot(*self.values.T, **points | {"color": BLUE} | style)
        name = plain(self.response)
        ax.plot(*self.y, marker="D", color=VERMILLION, linestyle="none", label=name)
        for axis, number in zip((ax.xaxis, ax.yaxis), self.components, strict=True):
            axis.set_label_text(f"correlation with component {number}")
            axis.set_ticks([-1.0, -0.5, 0.0, 0.5, 1.0])
        ax.set_aspect("equal")
        far = np.argsort(-np.nan_to_num(np.sum(self.values**2, axis=1)), kind="stable")[:MOST_BARS]
        self._names = [self.features.names[i] for i in far], self.values[far]


# Coefficients of one model with confidence intervals
# ---------------------------------------------------

PER = ("unit", "standard-deviation")


@dataclass(kw_only=True, eq=False)
class CoefficientDisplay(Display):
    """Coefficients with confidence intervals: a curve over wavelengths, or the largest as bars.

    Attributes
    ----------
    coef : (p,) array
    lower, upper : (p,) arrays or None
        Limits of the intervals; None where they are not defined, and ``reason`` says why.
    features : FeatureAxis
    level : float
    per : {"unit", "standard-deviation"}
        Change of the response per unit, or per standard deviation, of a predictor.
    response : str
        Its name, for the axis.
    reason : str
    ax_, figure_, line_ : matplotlib objects
    band_ : matplotlib object or None

    Examples
    --------
    >>> from plsdof import pls_path
    >>> from plsdof.datasets import make_spectra
    >>> made = make_spectra(as_frame=True, random_state=0)
    >>> CoefficientDisplay.from_model(pls_path(made.data, made.target, 5)[3]).ax_.get_xlabel()
    'wavelength (nm)'
    """

    coef: Array
    lower: Array | None
    upper: Array | None
    features: FeatureAxis
    level: float = 0.95
    per: str = "unit"
    response: str = "response"
    reason: str = ""
    line_: Any = field(init=False, repr=False)
    band_: Any = field(init=False, repr=False)

    @classmethod
    def from_model(
        cls,
        model: ModelLike,
        *,
        level: float = 0.95,
        per: Literal["unit", "standard-deviation"] | None = "unit",
        response: str = "response",
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the coefficients of a model; ``kwargs`` go to the line.

        Parameters
        ----------
        model, level
            As for `plsdof.inference.coefficient_inference`.
        per : {"unit", "standard-deviation"} or None
            The second makes predictors in different units comparable; it needs a path with
            ``scale=True``. None: the second where it is there, unless predictors are wavelengths.
        response : str
            Its name, for the axis.
        """
        model = as_model(model)
        result, reason = inference_or_reason(model, level)
        features = feature_axis(model.path.feature_names, len(model.coef))
        scale = _scale_of(model)
        if per is None:
            per = "unit" if features.is_numeric or scale is None else "standard-deviation"
        if as_choice(per, "per", PER) == "unit":
            scale = np.ones(len(model.coef))
        elif scale is None:
            raise NotAvailableError(
                "per='standard-deviation' needs a path fitted with scale=True; this one keeps the "
                "units of the predictors. Use per='unit'."
            )
        return cls(
            coef=model.coef * scale,
            lower=None if result is None else result.lower * scale,
            upper=None if result is None else result.upper * scale,
            features=features,
            level=level,
            per=per,
            response=response,
            reason=reason,
        ).plot(ax, **kwargs)

    def _draw(self, style: dict[str, Any]) -> None:
        ax, curve, self.band_ = self.ax_, is_spectrum(self.features), None
        which = drawn_features(self.features, self.coef)
        title = f"coefficient ({plain(self.response, 16)} per {self.per.replace('-', ' ')})"
        style = {"color": BLUE, "label": "coefficient"} | style
        self.line_ = draw_over_features(ax, self.features, self.coef, which, **style)
        if self.lower is not None and self.upper is not None:
            low, high = self.lower[which], self.upper[which]
            label = f"{100 * self.level:g}% intervals, one at a time"
            if curve:
                band: dict[str, Any] = {"color": BLUE, "alpha": 0.25, "linewidth": 0}
                x = self.features.positions[which]
                self.band_ = ax.fill_between(x, low, high, label=label, **band)
            else:
                self.band_ = ax.hlines(np.arange(len(which)), low, high, color=BLACK, label=label)
        show_features(ax, self.features, which, title)
        if self.reason:
            ax.set_title(self.reason.partition(",")[0].partition(" and")[0], fontsize="small")


def inference_or_reason(model: Model, level: float) -> tuple[CoefficientInference | None, str]:
    """Return intervals for the coefficients of a model, or why there are none worth showing.

    With less than one observation beyond the Degrees of Freedom the t distribution has no use:
    its limits are astronomical if they exist.
    """
    dof, n = model.dof, model.exact.spectrum.n
    try:
        if n - dof >= 1:
            return coefficient_inference(model, level=level), ""
    except NotAvailableError:
        pass
    if np.isnan(dof):
        return None, "No intervals: the Degrees of Freedom of this model are not known."
    return None, (
        f"No intervals: this model uses {dof:.1f} Degrees of Freedom and there are {n:g} "
        "observations, so nothing is left to judge the uncertainty by. Take a smaller model."
    )


def _scale_of(model: Model) -> Array | None:
    """Return the standard deviations the predictors were divided by; 0 for constant columns."""
    scale = model.exact.units.x_scale
    varying = scale[np.isfinite(scale)]
    unscaled = varying.size and np.all(varying == 1)
    return None if unscaled else np.where(np.isfinite(scale), scale, 0.0)


# One number per predictor: its importance in a model, or what it adds to T^2 or Q of a row
# -----------------------------------------------------------------------------------------

IMPORTANCE = {
    "vip": "VIP",
    "selectivity-ratio": "selectivity ratio",
    "t2": "contribution to T²",
    "q": "contribution to Q",
}


@dataclass(kw_only=True, eq=False)
class ImportanceDisplay(Display):
    """VIP or selectivity ratio of every predictor, or its contribution to T^2 or Q of one row.

    Attributes
    ----------
    values : (p,) array
    limit : float
        1 for VIP, a rule of thumb; the quantile of F for the selectivity ratio; nan if undefined.
    features : FeatureAxis
    title : str
        What the values are.
    ax_, figure_, line_ : matplotlib objects
    limit_line_ : matplotlib line or None

    Examples
    --------
    >>> from plsdof import pls_path
    >>> from plsdof.datasets import load_ozone
    >>> path = pls_path(*load_ozone(return_X_y=True, as_frame=True))
    >>> ImportanceDisplay.from_model(path[2]).ax_.get_xlabel()
    'VIP'
    >>> ImportanceDisplay.from_model(path[2], kind="t2", row=5).ax_.get_xlabel()
    'contribution to T² of row 5'
    """

    values: Array
    limit: float
    features: FeatureAxis
    title: str
    line_: Any = field(init=False, repr=False)
    limit_line_: Any = field(init=False, repr=False)

    @classmethod
    def from_model(
        cls,
        model: ModelLike,
        X_new: Any = None,
        *,
        kind: Literal["vip", "selectivity-ratio", "t2", "q"] = "vip",
        row: int | None = None,
        level: float = 0.95,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the importance of the predictors; ``kwargs`` go to the line.

        Parameters
        ----------
        model : Model, or a fitted estimator
            As for `plsdof.chemometrics.vip`.
        X_new : (n_new, p) array or data frame, optional
            The rows of "t2" and "q"; by default the training rows.
        kind : {"vip", "selectivity-ratio", "t2", "q"}
            The last two are the contributions to T^2 and Q of one row, see
            `plsdof.chemometrics.contributions`.
        row : int, optional
            Position of this row, counted from 0.
        level : float
            Of the limit of the selectivity ratio.
        """
        model, limit = as_model(model), np.nan
        title = IMPORTANCE[as_choice(kind, "kind", tuple(IMPORTANCE))]
        if kind == "vip":
            values, limit = vip(model), 1.0
        elif kind == "selectivity-ratio":
            ratio = selectivity_ratio(model, level=level)
            values, limit = ratio.values, ratio.limit
        else:
            found = contributions(model, X_new)
            every = found.t2 if kind == "t2" else found.q
            place = as_count(row, "row")
            if place >= len(every):
                raise InvalidInputError(f"row must be in 0..{len(every) - 1}; got {row}.")
            values = every[place]
            title += f" of row {place if found.row_names is None else found.row_names[place]}"
        features = feature_axis(model.path.feature_names, len(values))
        return cls(values=values, limit=limit, features=features, title=title).plot(ax, **kwargs)

    def _draw(self, style: dict[str, Any]) -> None:
        which = drawn_features(self.features, self.values)
        self.line_ = draw_over_features(
            self.ax_, self.features, self.values, which, **{"color": BLUE} | style
        )
        show_features(self.ax_, self.features, which, plain(self.title, 60))
        self.limit_line_ = None
        if np.isfinite(self.limit):
            draw = self.ax_.axhline if is_spectrum(self.features) else self.ax_.axvline
            label = f"limit {self.limit:.3g}"
            self.limit_line_ = draw(self.limit, color=GREY, linestyle="--", label=label)
