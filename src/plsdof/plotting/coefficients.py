"""Coefficients of one model with confidence intervals."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self

import numpy as np

from plsdof._core.criteria import Noise
from plsdof._core.inputs import Array, as_choice
from plsdof._core.model import Model, ModelLike, as_model
from plsdof.errors import NotAvailableError
from plsdof.inference.intervals import CoefficientInference, coefficient_inference
from plsdof.plotting.style import (
    BLUE,
    Display,
    FeatureAxis,
    draw_over_features,
    feature_axis,
    is_curve,
    show_features,
    show_legend,
)

PER = ("unit", "standard-deviation")


@dataclass(kw_only=True, eq=False)
class CoefficientDisplay(Display):
    """Coefficients with confidence intervals: a curve over wavelengths, or a line per name.

    Attributes
    ----------
    coef : (p,) array
    lower, upper : (p,) arrays or None
        Limits of the intervals; None where they are not defined, and ``reason`` says why.
    features : FeatureAxis
    level : float
    per : {"unit", "standard-deviation"}
        Change of the response per unit, or per standard deviation, of a predictor.
    reason : str
    ax_, figure_, line_ : matplotlib objects
    band_ : matplotlib object or None

    Examples
    --------
    >>> from plsdof import pls_path
    >>> from plsdof.datasets import make_spectra
    >>> spectra = make_spectra(as_frame=True, random_state=0)
    >>> X, y = spectra.data, spectra.target
    >>> CoefficientDisplay.from_model(pls_path(X, y, 5)[3]).ax_.get_xlabel()
    'wavelength (nm)'
    """

    coef: Array
    lower: Array | None
    upper: Array | None
    features: FeatureAxis
    level: float = 0.95
    per: str = "unit"
    reason: str = ""
    line_: Any = field(init=False, repr=False)
    band_: Any = field(init=False, repr=False)

    @classmethod
    def from_model(
        cls,
        model: ModelLike,
        *,
        level: float = 0.95,
        noise: Noise = None,
        per: Literal["unit", "standard-deviation"] = "unit",
        names: Sequence[str] | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the coefficients of a model; ``kwargs`` go to the line.

        Parameters
        ----------
        model, level, noise
            As for `plsdof.inference.coefficient_inference`.
        per : {"unit", "standard-deviation"}
            The second makes predictors in different units comparable; it needs a path with
            ``scale=True``.
        names : sequence of str, optional
            Names of the predictors; by default those of the path.
        """
        as_choice(per, "per", PER)
        model = as_model(model)
        result, reason = inference_or_reason(model, level=level, noise=noise)
        factor = scale_of(model) if per == "standard-deviation" else np.ones(len(model.coef))
        display = cls(
            coef=model.coef * factor,
            lower=None if result is None else result.lower * factor,
            upper=None if result is None else result.upper * factor,
            features=feature_axis(
                model.path.feature_names if names is None else names, len(factor)
            ),
            level=level,
            per=per,
            reason=reason,
        )
        return display.plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw on ``ax``, or on new axes; ``kwargs`` go to the line."""
        self._open(ax)
        if is_curve(self.features):
            self._draw_curve(kwargs)
        else:
            self._draw_named(kwargs)
        if self.reason:
            self.ax_.set_title(self.reason.partition(",")[0].partition(" and")[0], fontsize="small")
        return self

    def _draw_curve(self, style: dict[str, Any]) -> None:
        order, ax = self.features.order, self.ax_
        x = self.features.positions[order]
        self.band_ = None
        if self.lower is not None and self.upper is not None:
            label = f"{100 * self.level:g}% intervals, one at a time"
            low, high = self.lower[order], self.upper[order]
            self.band_ = ax.fill_between(x, low, high, label=label, color=BLUE, alpha=0.25, lw=0)
        style = {"color": BLUE, "label": "coefficient"} | style
        self.line_ = draw_over_features(ax, self.features, self.coef, **style)
        show_features(ax, self.features, self._title())
        show_legend(ax)

    def _draw_named(self, style: dict[str, Any]) -> None:
        ax, places = self.ax_, np.arange(len(self.coef))
        self.band_ = None
        if self.lower is not None and self.upper is not None:
            self.band_ = ax.hlines(places, self.lower, self.upper, color=BLUE, linewidth=2)
        self.line_ = draw_over_features(ax, self.features, self.coef, **{"color": BLUE} | style)
        show_features(ax, self.features, self._title(interval=self.band_ is not None))

    def _title(self, *, interval: bool = False) -> str:
        unit = "standard deviation" if self.per == "standard-deviation" else "unit"
        note = f", {100 * self.level:g}% interval" if interval else ""
        return f"coefficient (response per {unit}{note})"


def inference_or_reason(
    model: Model, *, level: float, noise: Noise = None, **options: Any
) -> tuple[CoefficientInference | None, str]:
    """Return intervals for the coefficients of a model, or why there are none worth showing.

    With less than one observation beyond the Degrees of Freedom the t distribution has no use:
    its limits are astronomical if they exist. ``options`` are those of `coefficient_inference`.
    """
    dof, n = model.dof, model.exact.spectrum.n
    try:
        if n - dof >= 1:
            return coefficient_inference(model, level=level, noise=noise, **options), ""
    except NotAvailableError:
        pass
    if np.isnan(dof):
        return None, "No intervals: the Degrees of Freedom of this model are not known."
    return None, (
        f"No intervals: this model uses {dof:.1f} Degrees of Freedom and there are {n:g} "
        "observations, so nothing is left to judge the uncertainty by. Take a smaller model."
    )


def scale_of(model: Model) -> Array:
    """Return the standard deviations the predictors were divided by; 0 for constant columns."""
    scale = model.exact.units.x_scale
    varying = scale[np.isfinite(scale)]
    if varying.size and np.all(varying == 1):
        raise NotAvailableError(
            "per='standard-deviation' needs a path fitted with scale=True; this one keeps the "
            "units of the predictors. Use per='unit'."
        )
    return np.where(np.isfinite(scale), scale, 0.0)
