"""Pictures over the predictors: spectra, loadings, coefficients, importance and contributions."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np

from plsdof._core.inputs import Array, as_choice, as_count, as_matrix, as_response, feature_names
from plsdof._core.model import Model, ModelLike, as_model, as_path
from plsdof.chemometrics.diagnostics import (
    as_predictor_path,
    column_lengths,
    selectivity_ratio,
    vip,
    window_weights,
)
from plsdof.chemometrics.distances import contributions
from plsdof.errors import InvalidInputError, NotAvailableError
from plsdof.inference.intervals import CoefficientInference, coefficient_inference
from plsdof.plotting import style

# Spectra, raw or preprocessed, one line per row
# ----------------------------------------------


@dataclass(kw_only=True, eq=False)
class SpectraDisplay(style.Display):
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
    features: style.FeatureAxis
    y: Array | None = None
    title: str = "value"

    @classmethod
    def from_spectra(
        cls,
        X: Any,
        y: Any = None,
        *,
        names: Sequence[str] | None = None,
        title: str = "value",
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the rows of a table; its column names, or ``names``, are the axis."""
        spectra = as_matrix(X)
        names = feature_names(X) if names is None else names
        return cls(
            spectra=spectra,
            features=style.feature_axis(names, spectra.shape[1]),
            y=None if y is None else as_response(y, len(spectra)),
            title=title,
        ).plot(ax, **kwargs)

    @classmethod
    def from_model(cls, model: ModelLike, X: Any, y: Any = None, **kwargs: Any) -> Self:
        """Draw rows as the regression sees them, after the steps before it in a Pipeline.

        ``kwargs`` are those of `from_spectra`.
        """
        found = as_model(model)
        rows, path = found.prepare(X), found.path
        rows = np.asarray(rows if path.rows.is_dual else path.rows.new(rows, sparse=False))
        same = np.shape(X) == rows.shape and np.array_equal(X, rows)
        names, title = (
            path.feature_names or feature_names(X),
            "value" if same else "preprocessed value",
        )
        return cls.from_spectra(rows, y, **{"names": names, "title": title} | kwargs)

    def _draw(self, look: dict[str, Any]) -> None:
        order = self.features.order
        x = np.broadcast_to(self.features.positions[order], self.spectra.shape)
        segments = np.stack([x, self.spectra[:, order]], axis=-1)
        usual = {"linewidths": 0.8} | (
            {"colors": style.BLUE} if self.y is None else {"array": self.y}
        )
        collection = style.matplotlib("collections").LineCollection
        self.lines_ = self.ax_.add_collection(collection(list(segments), **usual | look))
        self.ax_.autoscale_view()
        style.show_positions(self.ax_, self.features, self.title)
        self.color_bar_ = None if self.y is None else self._color_bar(self.lines_, self.response)


# Numbers of the predictors: loadings, coefficients with intervals, importance, contributions
# -------------------------------------------------------------------------------------------


@dataclass(kw_only=True, eq=False)
class FeatureDisplay(style.Display):
    """Numbers of the predictors: curves over wavelengths, or bars of the twenty largest by name.

    Attributes
    ----------
    values : (p,) or (p, k) array
        One curve, or k of them.
    features : FeatureAxis
    title : str
        What the values are.
    labels : tuple of str
        Of the curves, for the legend.
    lower, upper : (p,) arrays or None
        Limits of the intervals of a single curve, and what they are: ``interval``.
    limit : float
        nan where there is none.
    ax_, figure_ : matplotlib objects
    lines_ : list of matplotlib lines, or bars; ``line_`` is the first
    band_, limit_line_ : matplotlib objects or None
    """

    values: Array
    features: style.FeatureAxis
    title: str
    labels: tuple[str, ...] = ("",)
    lower: Array | None = None
    upper: Array | None = None
    interval: str = ""
    limit: float = np.nan

    def _draw(self, look: dict[str, Any]) -> None:
        ax, features, curve = self.ax_, self.features, style.is_spectrum(self.features)
        values = self.values.reshape(len(self.values), -1)
        size = np.max(np.abs(np.nan_to_num(values)), axis=1)
        which = features.order if curve else np.argsort(-size, kind="stable")[: style.MOST_BARS]
        places = features.positions[which] if curve else np.arange(float(len(which)))
        count, self.lines_ = values.shape[1], []
        # Lines differ in dash as well: colours are not for everybody.
        for i, (label, (color, dash, _)) in enumerate(zip(self.labels, style.LINES, strict=False)):
            own = {"color": color, "label": label} | look
            if curve:
                usual = {"linestyle": dash, "linewidth": 1.2} | own
                self.lines_ += ax.plot(places, values[which, i], **usual)
            else:
                bars, shift = {"height": 0.8 / count, "alpha": 0.75}, (i + 0.5) / count - 0.5
                self.lines_.append(ax.barh(places + 0.8 * shift, values[which, i], **bars | own))
        self.line_, self.band_, self.limit_line_ = self.lines_[0], None, None
        if self.lower is not None and self.upper is not None:
            band = (
                {"color": style.BLUE, "alpha": 0.25, "linewidth": 0}
                if curve
                else {"color": style.BLACK}
            )
            draw = ax.fill_between if curve else ax.hlines
            ends = self.lower[which], self.upper[which]
            self.band_ = draw(places, *ends, label=self.interval, **band)
        line = ax.axhline if curve else ax.axvline
        line(0.0, color=style.GREY, linewidth=0.8, zorder=0)
        if np.isfinite(self.limit):
            text = f"limit {self.limit:.3g}"
            self.limit_line_ = line(self.limit, color=style.GREY, linestyle="--", label=text)
        title = self.title.replace("{response}", style.readable(self.response, 16))
        if curve:
            style.show_positions(ax, features, style.plain(title, 60))
            return
        names, total = [style.plain(features.names[i], 22) for i in which], len(values)
        ax.set_yticks(places, names, fontsize="small")
        ax.set_ylim(len(names) - 0.5, -0.5)
        rest = "" if len(names) == total else f", {len(names)} of {total}"
        ax.set_xlabel(style.plain(title, 60) + rest)


class LoadingsDisplay(FeatureDisplay):
    """Loadings, weights or rotations of some components over the predictors.

    Attributes are those of `FeatureDisplay`, with one curve per component, in standardised units.

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

    @classmethod
    def from_path(
        cls,
        path: style.PathLike,
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
        every = getattr(path, "x_" + as_choice(kind, "kind", ("loadings", "weights", "rotations")))
        asked = range(1, 1 + min(2, every.shape[1])) if components is None else components
        wanted = style.component_numbers(asked, every.shape[1], 1, len(style.LINES))
        return cls(
            values=every[:, [one - 1 for one in wanted]],
            features=style.feature_axis(path.feature_names, len(every)),
            title=kind.removesuffix("s"),
            labels=tuple(f"component {one}" for one in wanted),
        ).plot(ax, **kwargs)


class CoefficientDisplay(FeatureDisplay):
    """Coefficients with confidence intervals: a curve over wavelengths, or the largest as bars.

    Attributes are those of `FeatureDisplay`; without intervals the title of the picture says why.

    Examples
    --------
    >>> from plsdof import pls_path
    >>> from plsdof.datasets import make_spectra
    >>> made = make_spectra(as_frame=True, random_state=0)
    >>> CoefficientDisplay.from_model(pls_path(made.data, made.target, 5)[3]).ax_.get_xlabel()
    'wavelength (nm)'
    """

    @classmethod
    def from_model(
        cls,
        model: ModelLike,
        *,
        level: float = 0.95,
        per: Literal["unit", "standard-deviation"] | None = "unit",
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the coefficients of a model; ``kwargs`` go to `plot`.

        Parameters
        ----------
        model, level
            As for `plsdof.inference.coefficient_inference`.
        per : {"unit", "standard-deviation"} or None
            The second makes predictors in different units comparable. None: the second, unless
            predictors are wavelengths.
        """
        model = as_model(model)
        if model.path.rows.is_dual:
            raise NotAvailableError(
                "A kernel model has one coefficient per training row and none per predictor, so "
                "there are no coefficients to draw; see PredictionDisplay for the fit."
            )
        result, reason = inference_or_reason(model, level)
        features = style.feature_axis(model.path.feature_names, len(model.coef))
        if per is None:
            per = "unit" if features.is_numeric else "standard-deviation"
        is_unit = as_choice(per, "per", ("unit", "standard-deviation")) == "unit"
        scale = np.ones(len(model.coef)) if is_unit else _standard_deviations(model)
        display = cls(
            values=model.coef * scale,
            features=features,
            title=f"coefficient ({{response}} per {per.replace('-', ' ')})",
            labels=("coefficient",),
            lower=None if result is None else result.lower * scale,
            upper=None if result is None else result.upper * scale,
            interval=f"{100 * level:g}% intervals, one at a time",
        ).plot(ax, **kwargs)
        display.ax_.set_title(reason, fontsize="small")
        return display


def inference_or_reason(model: Model, level: float) -> tuple[CoefficientInference | None, str]:
    """Return intervals for the coefficients of a model, or why there are none worth showing.

    With less than one observation beyond the Degrees of Freedom the t distribution has no use:
    its limits are astronomical if they exist.
    """
    dof, n = model.dof, model.exact.n
    try:
        if n - dof >= 1:
            return coefficient_inference(model, level=level), ""
    except NotAvailableError:
        pass
    if np.isnan(dof):
        return None, "No intervals: the Degrees of Freedom of this model are not known"
    return None, f"No intervals: this model uses {dof:.1f} Degrees of Freedom of {n:g} observations"


def _standard_deviations(model: Model) -> Array:
    """Return those of the predictors, 0 for constant columns. Shape (p,)."""
    scale = model.exact.x_scale / np.sqrt(model.exact.n - 1.0)
    return np.asarray(np.where(np.isfinite(scale), scale, 0.0) * column_lengths(model.path))


_IMPORTANCE = {
    "vip": "VIP",
    "selectivity-ratio": "selectivity ratio",
    "windows": "weight in the average, 1 if even",
    "t2": "contribution to T²",
    "q": "contribution to Q",
}


class ImportanceDisplay(FeatureDisplay):
    """VIP or selectivity ratio of every predictor, or its contribution to T^2 or Q of one row.

    Also its weight in an average over windows of a spectrum. Attributes are those of
    `FeatureDisplay`; the limit of VIP is 1, a rule of thumb, that of the selectivity ratio a
    quantile of F.

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

    @classmethod
    def from_model(
        cls,
        model: ModelLike,
        X_new: Any = None,
        *,
        kind: Literal["vip", "selectivity-ratio", "windows", "t2", "q"] = "vip",
        row: int | None = None,
        level: float = 0.95,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the importance of the predictors; ``kwargs`` go to `plot`.

        Parameters
        ----------
        model : Model, or a fitted estimator
            As for `plsdof.chemometrics.vip`.
        X_new : (n_new, p) array or data frame, optional
            The rows of "t2" and "q"; by default the training rows.
        kind : {"vip", "selectivity-ratio", "windows", "t2", "q"}
            "windows" is `plsdof.chemometrics.window_weights`; the last two are the contributions
            to T^2 and Q of one row, see `plsdof.chemometrics.contributions`.
        row : int, optional
            Position of this row, counted from 0.
        level : float
            Of the limit of the selectivity ratio.
        """
        model, limit = as_model(model), np.nan
        title = _IMPORTANCE[as_choice(kind, "kind", tuple(_IMPORTANCE))]
        if kind == "vip":
            values, limit = vip(model), 1.0
        elif kind == "selectivity-ratio":
            ratio = selectivity_ratio(model, level=level)
            values, limit = ratio.values, ratio.limit
        elif kind == "windows":
            values = window_weights(model)
        else:
            found = contributions(model, X_new)
            every, place = found.t2 if kind == "t2" else found.q, as_count(row, "row")
            if place >= len(every):
                raise InvalidInputError(f"row must be in 0..{len(every) - 1}; got {row}.")
            values = every[place]
            title += f" of row {place if found.row_names is None else found.row_names[place]}"
        features = style.feature_axis(model.path.feature_names, len(values))
        return cls(values=values, limit=limit, features=features, title=title).plot(ax, **kwargs)
