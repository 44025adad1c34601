"""Degrees of Freedom of any fit by perturbing the response."""

import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from plsdof._validation import Array, as_count, read_only
from plsdof.errors import InvalidInputError
from plsdof.parallel import run_each

# From a response and a seed (for fits that are random themselves) to the fitted values.
Fit = Callable[[Array, int], Array]


@dataclass(frozen=True, kw_only=True, eq=False)
class MonteCarlo:
    """An average over draws.

    Attributes
    ----------
    value, std_error : float
    draws : (B,) array
        One estimate per antithetic pair; their mean is ``value``.
    warned : dict of str to int
        In how many draws the fit issued a warning, by its class.
    """

    value: float
    std_error: float
    draws: Array
    warned: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class _Draw:
    covariance: float
    controls: tuple[float, ...]  # each of mean zero
    warned: tuple[str, ...]


def monte_carlo_dof(
    fit: Fit,
    y: Array,
    *,
    step: float,
    n_draws: int = 100,
    rng: np.random.Generator,
    basis: Array | None = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> MonteCarlo:
    """Estimate the Degrees of Freedom of a fit from its response to perturbations of y.

    With B Gaussian vectors e and perturbations of standard deviation s (``step``),

        DoF = mean of  e' (yhat(y + s e) - yhat(y - s e)) / (2 s),

    whose mean is the sum over i of cov(yhat_i, y_i) / s^2 for responses drawn from N(y, s^2 I):
    the generalised Degrees of Freedom of Ye (1998) and the covariance penalty of Efron (2004),
    around y instead of its mean. Where the fit has no jumps, by Stein's lemma, that is the
    average of the trace of d yhat / d y over these responses: the trace at y itself if the fit
    is linear, and close to it for a small step otherwise.

    Parameters
    ----------
    fit : callable
        ``fit(response, seed)`` gives the n fitted values. Both members of a pair get the same
        seed, so that a random method adds no noise of its own to their difference. Picklable.
    y : (n,) array
    step : float
        Standard deviation of the perturbations, > 0.
    n_draws : int
        Number of antithetic pairs B >= 4.
    rng : numpy Generator
        Gives one seed per draw, so that the result does not depend on ``n_jobs``.
    basis : (n, r) array, optional
        Orthonormal columns Q, not all of the space, to which the fit may be close, such as those
        of the predictors: they make the estimate more precise, whether or not it is.
    n_jobs, progress
        As for `plsdof.parallel.run_each`.

    Notes
    -----
    What a draw owes to the length of e is removed by regression on |e|^2 and |Q'e|^2, whose means
    n and r are known (control variates). On the ozone data the first takes 40 to 50 % off the
    standard error for forests and boosting, the second for the lasso and PLS.

    Cost: 2 B fits.

    References
    ----------
    Ye (1998), On measuring and correcting the effects of data mining and model selection, J. Am.
    Stat. Assoc. 93, 120-131. Efron (2004), The estimation of prediction error: covariance
    penalties and cross-validation, J. Am. Stat. Assoc. 99, 619-632.

    Examples
    --------
    >>> estimate = monte_carlo_dof(
    ...     lambda y, seed: y / 2, np.zeros(40), step=1.0, rng=np.random.default_rng(0)
    ... )
    >>> round(estimate.value, 6)
    20.0
    """
    B = as_count(n_draws, "n_draws", minimum=4)
    seeds = rng.integers(2**32, size=B).tolist()
    work = partial(_draw, fit=fit, y=y, step=step, basis=basis)
    outcomes = run_each(
        work, seeds, n_jobs=n_jobs, progress=progress, description="Draws", unit="draws"
    )
    return _average(outcomes)


def _draw(seed: int, *, fit: Fit, y: Array, step: float, basis: Array | None) -> _Draw:
    rng = np.random.default_rng(seed)
    direction = rng.standard_normal(len(y))
    fit_seed = int(rng.integers(2**31 - 1))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        change = _perturbed(fit, y, step * direction, fit_seed) - _perturbed(
            fit, y, -step * direction, fit_seed
        )
    return _Draw(
        covariance=float(direction @ change) / (2 * step),
        controls=_controls(direction, basis),
        warned=tuple(sorted({note.category.__name__ for note in caught})),
    )


def _controls(direction: Array, basis: Array | None) -> tuple[float, ...]:
    length = float(direction @ direction) - len(direction)
    if basis is None:
        return (length,)
    inside = basis.T @ direction
    return length, float(inside @ inside) - basis.shape[1]


def _perturbed(fit: Fit, y: Array, perturbation: Array, seed: int) -> Array:
    try:
        return fit(y + perturbation, seed)
    except InvalidInputError as error:
        raise InvalidInputError(
            f"{error} The response was y plus a random perturbation of standard deviation "
            f"{np.std(perturbation):.3g}: if the method needs, say, positive values, give a "
            "smaller step, or fit a transformed response."
        ) from error


def _average(outcomes: list[_Draw]) -> MonteCarlo:
    """Regress the draws on their controls; the intercept is the value where all have their mean."""
    values = np.array([draw.covariance for draw in outcomes])
    controls = np.array([draw.controls for draw in outcomes])
    design = np.column_stack([np.ones(len(values)), controls])
    Q, R = np.linalg.qr(design)
    slopes = np.linalg.solve(R, Q.T @ values)[1:]
    adjusted = values - controls @ slopes
    # Draws with long perturbations vary more, so each residual speaks for itself, made up for
    # its leverage (the jackknife, HC3 of MacKinnon & White 1985).
    left_over = (adjusted - adjusted.mean()) / (1.0 - np.sum(Q**2, axis=1))
    weights = Q @ np.linalg.solve(R.T, np.eye(len(R))[0])
    return MonteCarlo(
        value=float(adjusted.mean()),
        std_error=float(np.linalg.norm(weights * left_over)),
        draws=read_only(adjusted),
        warned=dict(Counter(name for draw in outcomes for name in draw.warned)),
    )
