"""Degrees of Freedom of any regressor: exact where a formula is known, Monte Carlo otherwise."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from plsdof._core.inputs import (
    Array,
    as_choice,
    as_generator,
    as_matrix,
    as_positive,
    as_response,
    as_weights,
    read_only,
    unmasked,
)
from plsdof._core.path import Path
from plsdof.complexity._exact import Exact, exact_dof, exact_dof_of_path
from plsdof.complexity._monte_carlo import (
    Fit,
    MonteCarlo,
    Refit,
    Weighted,
    cross_validated_noise,
    fit_regressor,
    linear_basis,
    monte_carlo_dof,
    refitted,
)
from plsdof.errors import InvalidInputError, NotAvailableError

# What `degrees_of_freedom` needs to know about a fit, whether of a regressor or of a path
# ----------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class Refittable:
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
        See `complexity._monte_carlo`.
    estimate_noise : callable
    noise_source : str
        Where that estimate is from.
    weighted : bool
    smooth : bool
        Whether the fit is known to move with y without jumps.
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
    smooth: bool = False

    def perturbed(self) -> Array:
        """Return the response that Monte Carlo perturbs."""
        if self.y is None:
            raise InvalidInputError("Monte Carlo perturbs y, which a path does not keep; give y.")
        return self.y


def _of_path(path: Path, model: int | None, y: Any, sample_weight: Any) -> Refittable:
    """Describe one model of a path."""
    if sample_weight is not None:
        raise InvalidInputError(
            "A path has the weights it was fitted with; make it with other sample_weight instead."
        )
    if model is None:
        raise InvalidInputError(
            f"A path holds {len(path.dof)} models; say which with model=0..{len(path.dof) - 1}."
        )
    index = path._index(model)
    response = None if y is None else as_response(y, path.exact.units.n_rows)
    scale = path.exact.units.row_scale
    weights = None if scale is None else scale**2
    fit, values = _in_equal_units(partial(refitted, path, index), response, weights)
    return Refittable(
        name=f"{type(path).__name__} with {path[index].label}",
        n=path.exact.spectrum.n,
        rss=float(path.rss[index]),
        exact=partial(exact_dof_of_path, path, index),
        fit=fit,
        y=values,
        basis=lambda: linear_basis(path.exact.rows_of_basis(), weights),
        estimate_noise=path[index].noise_variance,
        noise_source="the path's estimate",
        weighted=weights is not None,
    )


def _of_estimator(
    estimator: Any, X: Any, y: Any, model: int | None, sample_weight: Any, seed: int
) -> Refittable:
    """Fit a regressor and describe the fit."""
    if model is not None:
        raise InvalidInputError(f"model={model!r} is for paths; an estimator has one model.")
    if X is None or y is None:
        raise InvalidInputError("X and y are needed: the estimator is fitted to them.")
    X = unmasked(X) if len(getattr(X, "shape", ())) > 1 else as_matrix(X)
    response = as_response(y, X.shape[0])
    weights = as_weights(sample_weight, len(response))
    fitted = fit_regressor(estimator, X, response, seed, weights)
    squares = (response - fitted.values) ** 2
    refit = Refit(estimator=estimator, X=X, weights=weights)
    fit, values = _in_equal_units(refit, response, weights)
    return Refittable(
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
        smooth=_is_smooth(estimator),
    )


def _is_smooth(estimator: Any) -> bool:
    """Whether a fit has no jumps: known regressors, and Pipelines that end in one."""
    last = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
    return type(last).__module__.startswith("sklearn.") and type(last).__name__ in _SMOOTH


def _in_equal_units(fit: Fit, y: Array | None, weights: Array | None) -> tuple[Fit, Array | None]:
    """Bring a fit and its response to units in which all rows have the same noise."""
    if y is None or weights is None:
        return fit, y
    weighted = Weighted(fit=fit, y=y, weights=weights)
    return weighted, weighted.response


# Degrees of Freedom of any regressor: exact where a formula is known, Monte Carlo otherwise
# ------------------------------------------------------------------------------------------

_WAYS = ("auto", "exact", "monte-carlo")

# In units of the noise's standard deviation. Ye (1998) recommends 0.5 to 1; the lower end, since
# prediction errors, from which the noise is estimated, contain it and more.
_STEP = 0.5
# Fits without jumps have a derivative, which a smaller step is closer to: support vector
# regression with the default step is 6 % too low.
_SMOOTH_STEP = 0.02
_SMOOTH = {
    "SVR",
    "NuSVR",
    "LinearSVR",
    "HuberRegressor",
    "QuantileRegressor",
    "TweedieRegressor",
    "PoissonRegressor",
    "GammaRegressor",
    "BayesianRidge",
    "ARDRegression",
}


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class DegreesOfFreedom:
    """Degrees of Freedom of one fitted model, and how they were obtained.

    Attributes
    ----------
    value : float
    std_error : float
        Standard error of ``value`` over the random perturbations; 0 for a formula.
    method : {"exact", "conditional", "monte-carlo"}
        "conditional": exact for what the model has chosen by looking at y (a penalty, a number
        of components), the choice itself not counted.
    message : str
        How the number was obtained and what it assumes.
    name : str
        The regressor.
    n, rss : float
        Number of observations and residual sum of squares, for criteria.
    draws : (B,) array
        Monte Carlo draws, whose mean is ``value``; empty for a formula.
    conditional : float or None
        The "conditional" value at this y next to a Monte Carlo one, where there is one. The
        latter also averages over what would have been chosen for other responses.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> found = degrees_of_freedom(LinearRegression(), [[1.0], [2.0], [4.0]], [1.0, 2.0, 3.0])
    >>> found, float(found), found.method
    (LinearRegression: 2 Degrees of Freedom (exact), 2.0, 'exact')
    """

    value: float
    std_error: float
    method: str
    message: str
    name: str
    n: float
    rss: float
    draws: Array = field(default_factory=lambda: read_only(np.empty(0)))
    conditional: float | None = None

    def __float__(self) -> float:
        return self.value

    def __repr__(self) -> str:
        spread = f" +- {self.std_error:.2g}" if self.std_error else ""
        return f"{self.name}: {self.value:.4g}{spread} Degrees of Freedom ({self.method})"


def degrees_of_freedom(
    estimator: Any,
    X: Any = None,
    y: Any = None,
    method: str = "auto",
    *,
    model: int | None = None,
    sample_weight: Any = None,
    n_draws: int = 100,
    noise: float | None = None,
    step: float | None = None,
    rng: Any = 0,
    n_jobs: int | None = None,
    progress: bool = False,
) -> DegreesOfFreedom:
    """Return the Degrees of Freedom of any regressor, with how they were obtained.

    For observations with noise variance sigma^2 they are (Efron 2004)

        DoF = sum_i cov(yhat_i, y_i) / sigma^2 = E[ trace(d yhat / d y) ],

    the second under Gaussian noise and for a fit without jumps (Stein's lemma).

    Parameters
    ----------
    estimator : regressor or Path
        Any scikit-learn regressor, also a pipeline or a search; it is cloned and fitted. Or a
        path of this package with ``model``.
    X : (n, p) array, data frame or sparse matrix
        Whatever the regressor accepts; not needed for a path.
    y : (n,) array
        One response. Not needed for a path with a formula.
    method : {"auto", "exact", "monte-carlo"}
        "exact" takes a formula, or raises `NotAvailableError` if none is known; "monte-carlo"
        perturbs y; "auto" takes a formula if there is one for the whole fit.
    model : int, optional
        Row of the path: number of components, or place in ``alphas``.
    sample_weight : (n,) array, optional
        Weights for ``fit``; integer weights mean repeated rows wherever the regressor takes them
        so. A pipeline uses them in its last step only. A path has its own already.
    n_draws : int
        Pairs of perturbations for Monte Carlo.
    noise : float, optional
        Noise variance, for the size of the perturbations only. By default the squared error of
        5-fold cross-validation, for a path its own estimate.
    step : float, optional
        Standard deviation of the perturbations in units of the noise's; by default 0.02 for fits
        that are known to have no jumps (support vectors, Huber, generalised linear models), 0.5
        for all others.
    rng : int or numpy Generator
        Seeds the perturbations, and whatever in the estimator has ``random_state=None``. The
        result does not depend on ``n_jobs``.
    n_jobs : int, optional
        Parallel draws, each with one thread for linear algebra; -1 for all processors.
    progress : bool
        Show a bar on stderr.

    Returns
    -------
    DegreesOfFreedom
        With ``value``, ``std_error``, ``method`` and ``message``.

    Raises
    ------
    InvalidInputError
        If the estimator is not a regressor or cannot be fitted to (X, y), if it takes no weights
        but is given some, or an option is invalid.
    NotAvailableError
        With ``method="exact"`` where no formula is known.

    Notes
    -----
    *Exact*: paths and estimators of this package, LinearRegression, Ridge, Lasso, ElasticNet,
    PLSRegression, nearest neighbours, and pipelines that end in one of them after transformers
    that ignore y (scaling, PCA, polynomials, splines, imputation, ...).

    *Choices made by looking at y* (LassoCV, GridSearchCV, ``PLSRegressor("bic")``) are part of
    the fit, and Monte Carlo counts them. For an estimator of this package a formula takes the
    choice as given: "exact" reports that as method "conditional", "auto" gives it in
    ``conditional`` next to the Monte Carlo value.

    *Monte Carlo* (trees, forests, boosting, support vectors, kernels, searches, anything): the
    average response of the fit to perturbations of a given size, see `monte_carlo`. Fits that
    jump, such as trees, have derivative zero nearly everywhere, and only perturbations of the
    size of the noise show how the splits follow it; hence the finite step. For them, and to a
    lesser extent for all that is not linear in y, the result belongs to that size.

    *Weights*: the Degrees of Freedom are still the trace of d yhat / d y, over rows with a
    positive weight. With integer weights that is also the trace for the repeated rows, each
    with a response of its own. ``n`` is the sum of the weights and ``rss`` the weighted sum of
    squares. Monte Carlo takes the noise variance of a row as proportional to 1 / weight.

    Cost: one fit and a decomposition, or 2 ``n_draws`` + 6 fits.

    References
    ----------
    Ye (1998), J. Am. Stat. Assoc. 93, 120-131. Efron (2004), J. Am. Stat. Assoc. 99, 619-632.
    Zou, Hastie & Tibshirani (2007), Ann. Stat. 35, 2173-2192. Tibshirani & Taylor (2012), Ann.
    Stat. 40, 1198-1232.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from plsdof.datasets import load_ozone
    >>> X, y = load_ozone(return_X_y=True)
    >>> degrees_of_freedom(LinearRegression(), X, y)
    LinearRegression: 13 Degrees of Freedom (exact)
    >>> tree = degrees_of_freedom(DecisionTreeRegressor(max_leaf_nodes=5), X, y, n_draws=20)
    >>> tree.method, tree.value > 5
    ('monte-carlo', True)
    """
    as_choice(method, "method", _WAYS)
    rng = as_generator(rng)
    if isinstance(estimator, Path):
        subject = _of_path(estimator, model, y, sample_weight)
    else:
        seed = int(rng.integers(2**31 - 1))
        subject = _of_estimator(estimator, X, y, model, sample_weight, seed)
    exact, reason = _exact_or_reason(subject) if method != "monte-carlo" else (None, "")
    if method == "exact" and exact is None:
        raise NotAvailableError(
            f"method='exact' for {subject.name}: {reason}. Use method='monte-carlo' or 'auto'."
        )
    if exact is not None and (method == "exact" or not exact.chosen):
        return _from_formula(subject, exact)
    scale, source = _perturbation(subject, noise, step)
    estimate = monte_carlo_dof(
        subject.fit,
        subject.perturbed(),
        step=scale,
        n_draws=n_draws,
        rng=rng,
        basis=subject.basis(),
        n_jobs=n_jobs,
        progress=progress,
    )
    return _from_draws(subject, estimate, source, exact, reason)


def _exact_or_reason(subject: Refittable) -> tuple[Exact | None, str]:
    try:
        return subject.exact(), ""
    except NotAvailableError as error:
        return None, str(error)


def _perturbation(
    subject: Refittable, noise: float | None, step: float | None
) -> tuple[float, str]:
    """Return the standard deviation of the perturbations, and in words where it is from."""
    usual = _SMOOTH_STEP if subject.smooth else _STEP
    fraction = usual if step is None else _positive(step, "step")
    source = subject.noise_source if noise is None else "as given"
    variance = subject.estimate_noise() if noise is None else _positive(noise, "noise")
    size = float(np.max(np.abs(subject.perturbed())))
    scale = fraction * float(np.sqrt(variance))
    # Below this, rounding of y + perturbation shows in the third digit of a draw.
    if not scale > 1e-12 * size:
        raise InvalidInputError(
            f"The perturbations would be {scale:.3g}, with a noise variance of {variance:.3g} "
            f"({source}) and |y| up to {size:.3g}: too small to be seen. Give noise=<variance>, "
            "or a larger step."
        )
    per_row = ", over the root of a row's weight" if subject.weighted else ""
    return scale, f"{scale:.4g} = {fraction:g} x the noise's ({source}){per_row}"


def _positive(value: Any, name: str) -> float:
    numbers = as_positive(value, name)
    if len(numbers) != 1:
        raise InvalidInputError(f"{name} must be one number > 0; got {len(numbers)}.")
    return float(numbers[0])


def _from_formula(subject: Refittable, exact: Exact) -> DegreesOfFreedom:
    given = f" Given {exact.chosen}, chosen by looking at y; the choice is not counted."
    return DegreesOfFreedom(
        value=exact.value,
        std_error=0.0,
        method="conditional" if exact.chosen else "exact",
        message=exact.how + (given if exact.chosen else ""),
        name=subject.name,
        n=subject.n,
        rss=subject.rss,
    )


def _from_draws(
    subject: Refittable, estimate: MonteCarlo, source: str, exact: Exact | None, reason: str
) -> DegreesOfFreedom:
    parts = [
        f"Monte Carlo (Ye 1998; Efron 2004) over {len(estimate.draws)} antithetic perturbations "
        f"of y with standard deviation {source}. For a fit that is not linear in y, above all "
        "one that jumps, the value belongs to perturbations of this size."
    ]
    if exact is not None:
        parts.append(
            f"The choice is counted; a formula that takes it as given ({exact.chosen}) has "
            f"{exact.value:.4g} at this y."
        )
    elif reason:
        parts.append(f"Monte Carlo because {reason}.")
    parts += [f"{count} draw(s) issued {name}." for name, count in estimate.warned.items()]
    return DegreesOfFreedom(
        value=estimate.value,
        std_error=estimate.std_error,
        method="monte-carlo",
        message=" ".join(parts),
        name=subject.name,
        n=subject.n,
        rss=subject.rss,
        draws=estimate.draws,
        conditional=None if exact is None else exact.value,
    )
