r"""Averages of all models of a path, as one more method that is a filter.

With weights w_m that sum to one the average of the fits is zhat = f * z, f = sum_m w_m f_m. The
weights GCV_m^(-n/2) depend on the response, so that the derivative has one more term,

    d zhat / d z = sum_m w_m J_m + sum_m w_m (zhat_m - zhat) g_m',   g_m = -(n/2) d log GCV_m / dz.

J_m = diag(f_m) + 2 T_m T_m' diag(phi_m) is the derivative of one model, phi_m = 1 - f_m. The
residual phi_m z is orthogonal to T_m, hence d RSS_m / dz = 2 phi_m^2 z, and with the Degrees of
Freedom held fixed (smoothed ones hardly move)

    g_m = -n phi_m^2 z / RSS_m     along X,      -n y_perp / RSS_m     outside of what X reaches.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from plsdof._core.criteria import Noise, Selection, model_weights
from plsdof._core.display import one_line
from plsdof._core.filters import Filter, factors_at
from plsdof._core.inputs import Array, read_only
from plsdof._core.smoothing import DRAWS, smoothed_dof
from plsdof._core.spectrum import Spectrum

if TYPE_CHECKING:
    from plsdof._core.path import Path

Method = Callable[[Spectrum], Filter]


@dataclass(frozen=True, kw_only=True)
class AverageFilter(Filter):
    """The average of all models of a filter: one model, number 0.

    Attributes
    ----------
    model_weights : (K,) array
        Weights of the models that are averaged.
    feedback : (k, r) array
        Row j is t_j' diag(sum_{m >= j} w_m phi_m), what the scores' dependence on y adds.
    spread : (r, K) array
        w_m (zhat_m - zhat) of every model.
    steering : (r, K) array
        g_m, how the logarithms of the weights move with z.
    steering_outside : (K,) array
        The same per unit of y_perp, what X does not reach.
    """

    model_weights: Array
    feedback: Array
    spread: Array
    steering: Array
    steering_outside: Array

    def times_jacobian(self, rows: Array, index: int) -> Array:  # noqa: ARG002
        """Return rows @ (d zhat / d z) for (k, r) rows. Cost: O(k r (M + K))."""
        direct: Array = rows * self.factors[0]
        feedback: Array = (rows @ self.scores) @ self.feedback
        moved: Array = (rows @ self.spread) @ self.steering.T
        return direct + 2 * feedback + moved

    def times_outside(self, rows: Array) -> Array:
        """Return rows @ (d zhat / d y_perp), per unit of y_perp. Shape (k,)."""
        return np.asarray(rows @ (self.spread @ self.steering_outside))


def average_filter(
    spectrum: Spectrum,
    method: Method,
    weights: Array | None = None,
    *,
    draws: int = DRAWS,
    random_state: int = 0,
) -> AverageFilter:
    """Average all models of a method on a spectrum.

    Parameters
    ----------
    spectrum : Spectrum
    method : callable
        From a spectrum to a filter, simplest model first.
    weights : (K,) array, optional
        Known values of the weights; by default `model_weights` with smoothed Degrees of Freedom.
    draws, random_state
        See `smoothed_dof`.
    """
    fitted = method(spectrum)
    rss = np.sum((fitted.residuals * spectrum.z) ** 2, axis=1) + spectrum.outside
    if weights is None:
        smooth = smoothed_dof(
            spectrum, fitted, rss, draws=draws, random_state=random_state, limited=True
        )
        # Penalties of ridge regression may come in any order.
        order = np.argsort(fitted.naive_dof, kind="stable")
        weights = np.empty(len(rss))
        weights[order] = model_weights(rss[order], smooth.value[order], spectrum.n)
    return averaged(spectrum, fitted, rss, weights)


def averaged(spectrum: Spectrum, fitted: Filter, rss: Array, weights: Array) -> AverageFilter:
    """Combine the models of a filter with weights that move with the response as GCV^(-n/2).

    Cost: O(r K (M + K)).
    """
    z, kept = spectrum.z, weights > 0
    factors, residuals = weights @ fitted.factors, weights @ fitted.residuals
    with np.errstate(divide="ignore"):
        pull = np.where(kept & (rss > 0), -spectrum.n / rss, 0.0)
    spread = (weights[:, None] * (fitted.factors - factors) * z).T
    steering = (pull[:, None] * fitted.residuals**2 * z).T
    # sum_{m >= j} w_m phi_m for j = 1..k; models without components have no scores.
    k = fitted.scores.shape[1]
    tails = np.cumsum((weights[:, None] * fitted.residuals)[::-1], axis=0)[::-1]
    feedback = fitted.scores.T * tails[1 : k + 1]
    moved = float(np.sum(spread * steering))

    def mean(values: Array) -> Array:
        """Average over the models that count; others may not be defined."""
        return read_only([weights @ np.where(kept, values, 0.0)])

    # The derivative is diag(f) + left @ right'.
    left = np.hstack([2.0 * fitted.scores, spread])
    right = np.hstack([feedback.T, steering])
    outside = spread @ pull
    return AverageFilter(
        factors=read_only(factors[None]),
        residuals=read_only(residuals[None]),
        scores=fitted.scores,
        dof=read_only(mean(fitted.dof) + moved),
        dof_error=mean(fitted.dof_error),
        rss_error=mean(fitted.rss_error),
        coef_error=mean(fitted.coef_error),
        dof_std_error=mean(fitted.dof_std_error),
        residual_trace_error=mean(fitted.residual_trace_error),
        residual_trace=read_only(
            [
                _sum_of_squares(spectrum, fitted, weights)
                - 2.0 * float(residuals @ np.sum(left * right, axis=1))
                + float(np.sum((left.T @ left) * (right.T @ right)))
                + float(outside @ outside) * spectrum.outside
            ]
        ),
        naive_dof=read_only([weights @ fitted.naive_dof]),
        label=f"average of {int(kept.sum())} models",
        model_weights=read_only(weights),
        feedback=read_only(feedback),
        spread=read_only(spread),
        steering=read_only(steering),
        steering_outside=read_only(pull),
    )


def _sum_of_squares(spectrum: Spectrum, fitted: Filter, weights: Array) -> float:
    """Return the sum of (1 - f)^2 over all directions of the samples but the mean."""
    f, counted = weights @ fitted.factors, spectrum.counted
    explained = float(spectrum.multiplicity @ (f * (2.0 - f)))
    if counted is None:
        return len(f) - explained + spectrum.residual_dimension
    beyond = weights @ factors_at(spectrum, counted.eigenvalues, len(weights) - 1)
    explained += float(counted.total((beyond * (2.0 - beyond))[None])[0][0])
    return counted.dimension - explained + spectrum.residual_dimension


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Average:
    """The weighted average of all models of a path.

    Attributes
    ----------
    path : Path
        The average as a path with one model, number 0: what takes a path and a number of
        components, such as `plsdof.inference.prediction_interval`, takes this path and 0.
    weights : (K,) array
        Weights of the models.
    selection : Selection
        The average in words; its index is the model with the largest weight.

    Examples
    --------
    >>> from plsdof import pls_path
    >>> from plsdof.datasets import load_ozone
    >>> pls_path(*load_ozone(return_X_y=True), 4).average()
    Average(5 models, dof=12.2663, noise_std=4.45619)
    """

    path: "Path"
    weights: Array
    selection: Selection

    @property
    def coef(self) -> Array:
        """Coefficients in original units. Shape (p,)."""
        return read_only(self.path.coef[0])

    @property
    def intercept(self) -> float:
        """Intercept."""
        return float(self.path.intercept[0])

    @property
    def dof(self) -> float:
        """Trace of d yhat / d y, with what the dependence of the weights on y adds."""
        return float(self.path.dof[0])

    @property
    def noise_variance(self) -> float:
        """RSS / trace((I - J)(I - J)') with the derivative J of the average."""
        return self.path.noise_at(0)

    @property
    def noise_std(self) -> float:
        """Root of `noise_variance`."""
        return float(np.sqrt(self.noise_variance))

    @property
    def rss(self) -> float:
        """Residual sum of squares."""
        return float(self.path.rss[0])

    @property
    def fitted(self) -> Array:
        """Fitted values of the training rows with positive weight. Shape (n_rows,)."""
        return read_only(self.path.fitted[0])

    @property
    def n_components(self) -> float:
        """Weighted mean of the numbers of components."""
        return float(self.path.parameters[0])

    def predict(self, X_new: Any) -> Array:
        """Predict new rows, dense or sparse. Shape (n_new,)."""
        return np.asarray(self.path.predict(X_new)[0])

    def jacobian(self) -> Array:
        """Return d yhat / d y. Shape (n, n)."""
        return self.path.jacobian(0)

    def coef_std_error(self, *, noise: Noise = None) -> Array:
        """Standard errors of the coefficients. Shape (p,)."""
        return self.path.coef_std_error(0, noise=noise)

    def __repr__(self) -> str:
        return one_line(
            self,
            f"{len(self.weights)} models",
            dof=self.dof,
            noise_std=self.noise_std,
        )
