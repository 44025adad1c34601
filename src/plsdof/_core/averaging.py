r"""Averages of all models of a path, as one more method that is a filter.

With weights w_m that sum to one the average of the fits is zhat = f * z, f = sum_m w_m f_m. The
weights depend on the response, so that the derivative has one more term,

    d zhat / d z = sum_m w_m J_m + sum_m zhat_m (d w_m / dz)'.

J_m = diag(f_m) + 2 T_m T_m' diag(phi_m) is the derivative of one model, phi_m = 1 - f_m. The
residual phi_m z is orthogonal to T_m, hence d RSS_m / dz = 2 phi_m^2 z, and 2 y_perp outside of
what X reaches. Degrees of Freedom are held fixed (smoothed ones hardly move).

Weights by "mallows" (`mallows_weights`) are steps of the shares v that are kept of components. Let
a < b be neighbours among the models with weight. The components a + 1 .. b share

    v = 1 - s^2 (DoF(b) - DoF(a)) / (RSS_a - RSS_b),      s^2 = RSS_c / (n - DoF(c)),

c the chosen model, hence d v = (1 - v) (d log (RSS_a - RSS_b) - d log RSS_c), which moves the
average by (zhat_b - zhat_a) d v. Weights by "gcv" are GCV_m^(-n/2) but for a common factor: the
average moves by sum_m w_m (zhat_m - zhat) d log w_m, with d log w_m = -(n/2) d log RSS_m.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from plsdof._core.criteria import Noise, Selection
from plsdof._core.display import one_line
from plsdof._core.filters import Filter, factors_at
from plsdof._core.inputs import Array, read_only
from plsdof._core.spectrum import Spectrum

if TYPE_CHECKING:
    from plsdof._core.path import Path


@dataclass(frozen=True, kw_only=True)
class AverageFilter(Filter):
    """The average of all models of a filter: one model, number 0.

    Attributes
    ----------
    model_weights : (K,) array
        Weights of the models that are averaged.
    feedback : (k, r) array
        Row j is t_j' diag(sum_{m >= j} w_m phi_m), what the scores' dependence on y adds.
    spread : (r, b) array
        Where the average moves with its weights: zhat_b - zhat_a, or w_m (zhat_m - zhat).
    steering : (r, b) array
        How far it moves there with z: gradients of v, or of log w_m.
    steering_outside : (b,) array
        The same per unit of y_perp, what X does not reach.
    """

    model_weights: Array
    feedback: Array
    spread: Array
    steering: Array
    steering_outside: Array

    def times_jacobian(self, rows: Array, index: int) -> Array:  # noqa: ARG002
        """Return rows @ (d zhat / d z) for (k, r) rows. Cost: O(k r (M + b))."""
        direct: Array = rows * self.factors[0]
        feedback: Array = (rows @ self.scores) @ self.feedback
        moved: Array = (rows @ self.spread) @ self.steering.T
        return direct + 2 * feedback + moved

    def times_outside(self, rows: Array) -> Array:
        """Return rows @ (d zhat / d y_perp), per unit of y_perp. Shape (k,)."""
        return np.asarray(rows @ (self.spread @ self.steering_outside))


def averaged(
    spectrum: Spectrum, fitted: Filter, rss: Array, weights: Array, chosen: int | None
) -> AverageFilter:
    """Combine the models of a filter with weights that move with the response.

    Parameters
    ----------
    rss, weights : (K,) arrays
    chosen : int or None
        The model whose noise variance is in weights by "mallows"; None for weights by "gcv".

    Notes
    -----
    Cost: O(r K (M + b)) for b neighbours among the models with weight.
    """
    kept = weights > 0
    factors, residuals = weights @ fitted.factors, weights @ fitted.residuals
    moving = _steered(spectrum, fitted, rss, weights, chosen)
    spread, steering, pull = moving.spread, moving.steering, moving.outside
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


@dataclass(frozen=True, kw_only=True)
class _Steering:
    """How an average moves with its weights, see `AverageFilter`."""

    spread: Array
    steering: Array
    outside: Array


def _steered(
    spectrum: Spectrum, fitted: Filter, rss: Array, weights: Array, chosen: int | None
) -> _Steering:
    z, slopes = spectrum.z, 2.0 * fitted.residuals**2
    if chosen is None:  # by "gcv"
        with np.errstate(divide="ignore"):
            pull = np.where((weights > 0) & (rss > 0), -spectrum.n / 2 / rss, 0.0)
        off = fitted.factors - weights @ fitted.factors
        return _Steering(
            spread=(weights[:, None] * off * z).T,
            steering=(pull[:, None] * slopes * z).T,
            outside=2.0 * pull,
        )
    # Components between neighbouring models with weight share one v; 1 - v is what came before.
    support = np.flatnonzero(weights)
    a, b = support[:-1], support[1:]
    lost = np.cumsum(weights[a])[:, None]
    gains = (slopes[a] - slopes[b]) / (rss[a] - rss[b])[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):  # one model only, which fits exactly
        noise = slopes[chosen] / rss[chosen] if len(a) else 0.0
        outside = -2.0 * lost[:, 0] / rss[chosen]
    return _Steering(
        spread=((fitted.factors[b] - fitted.factors[a]) * z).T,
        steering=(lost * (gains - noise) * z).T,
        outside=outside,
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
    """The weighted average of the models of a path.

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
    Average(5 models, dof=10.6781, noise_std=4.47621)
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
