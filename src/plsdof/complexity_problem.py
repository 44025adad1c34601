"""What `degrees_of_freedom` needs to know about a fit, whether of a regressor or of a path."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from plsdof._validation import Array, as_matrix, as_response, as_weights, unmasked
from plsdof.complexity_exact import exact_dof
from plsdof.complexity_rules import Exact, exact_dof_of_path
from plsdof.errors import InvalidInputError
from plsdof.monte_carlo import Fit
from plsdof.path import Path
from plsdof.refitting import (
    Refit,
    Weighted,
    cross_validated_noise,
    fit_regressor,
    linear_basis,
    refitted,
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Problem:
    """A fit, whatever made it: how to repeat it, and what is known about it.

    Attributes
    ----------
    name : str
    n, rss : float
        Number of rows or sum of the weights, and (weighted) residual sum of squares.
    exact : callable
        Gives the Degrees of Freedom by a formula, or raises `NotAvailableError`.
    fit : callable
        From a response in units of equal noise, and a seed, to fitted values in these units.
    y : (k,) array or None
        The response in these units; None if it was not given.
    basis : callable
        See `plsdof.monte_carlo`.
    estimate_noise : callable
    noise_source : str
        Where that estimate is from.
    weighted : bool
    """

    name: str
    n: float
    rss: float
    exact: Callable[[], Exact]
    fit: Fit
    y: Array | None
    basis: Callable[[], Array | None]
    estimate_noise: Callable[[], float]
    noise_source: str
    weighted: bool

    def perturbed(self) -> Array:
        """Return the response that Monte Carlo perturbs."""
        if self.y is None:
            raise InvalidInputError("Monte Carlo perturbs y, which a path does not keep; give y.")
        return self.y


def path_problem(path: Path, model: int | None, y: Any, sample_weight: Any) -> Problem:
    """Describe one model of a path."""
    if sample_weight is not None:
        raise InvalidInputError(
            "A path has the weights it was fitted with; make it with other sample_weight instead."
        )
    if model is None:
        raise InvalidInputError(
            f"A path holds {len(path.dof)} models; say which with model=0..{len(path.dof) - 1}."
        )
    index = path.index(model)
    response = None if y is None else as_response(y, path.units.n_rows)
    weights = None if path.units.row_scale is None else path.units.row_scale**2
    fit, values = _in_equal_units(partial(refitted, path, index), response, weights)
    return Problem(
        name=f"{type(path).__name__} with {path.label(index)}",
        n=path.spectrum.n,
        rss=float(path.rss[index]),
        exact=partial(exact_dof_of_path, path, index),
        fit=fit,
        y=values,
        basis=lambda: linear_basis(path.rows_of_basis(), weights),
        estimate_noise=partial(path.noise_at, index),
        noise_source="the path's estimate",
        weighted=weights is not None,
    )


def estimator_problem(
    estimator: Any, X: Any, y: Any, model: int | None, sample_weight: Any, seed: int
) -> Problem:
    """Fit a regressor and describe the fit."""
    if model is not None:
        raise InvalidInputError(f"model={model!r} is for paths; an estimator has one model.")
    if X is None or y is None:
        raise InvalidInputError("X and y are needed: the estimator is fitted to them.")
    X = unmasked(X) if hasattr(X, "shape") else as_matrix(X)
    response = as_response(y, X.shape[0])
    weights = as_weights(sample_weight, len(response))
    fitted = fit_regressor(estimator, X, response, seed, weights)
    squares = (response - fitted.values) ** 2
    refit = Refit(estimator=estimator, X=X, weights=weights)
    fit, values = _in_equal_units(refit, response, weights)
    return Problem(
        name=type(estimator).__name__,
        n=float(len(response)) if weights is None else float(weights.sum()),
        rss=float(squares.sum() if weights is None else weights @ squares),
        exact=partial(exact_dof, fitted.model, X, response, weights),
        fit=fit,
        y=values,
        basis=partial(linear_basis, X, weights),
        estimate_noise=partial(cross_validated_noise, estimator, X, response, seed, weights),
        noise_source="5-fold cross-validation",
        weighted=weights is not None,
    )


def _in_equal_units(fit: Fit, y: Array | None, weights: Array | None) -> tuple[Fit, Array | None]:
    """Bring a fit and its response to units in which all rows have the same noise."""
    if y is None or weights is None:
        return fit, y
    weighted = Weighted(fit=fit, y=y, weights=weights)
    return weighted, weighted.response
