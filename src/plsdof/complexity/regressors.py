"""Degrees of Freedom of any regressor: exact where a formula is known, Monte Carlo otherwise."""

import math
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, get_args

import numpy as np

from plsdof._core.fit import pls_path
from plsdof._core.inputs import (
    Array,
    as_choice,
    as_draws,
    as_generator,
    as_matrix,
    as_one_positive,
    as_response,
    read_only,
    require_flag,
    unmasked,
)
from plsdof._core.model import as_model, members_of
from plsdof._core.parallel import run_each
from plsdof._core.standardize import Columns, centre_columns
from plsdof._core.warnings import quietly
from plsdof.errors import InvalidInputError, NotAvailableError

_EPS = float(np.finfo(np.float64).eps)

Method = Literal["auto", "exact", "monte-carlo"]

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
        of components), the cost of the choice itself not included.
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
    std_error: float = 0.0
    method: Literal["exact", "conditional", "monte-carlo"]
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
    X: Any,
    y: Any,
    method: Method = "auto",
    *,
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
    estimator : regressor
        Any scikit-learn regressor, also a pipeline or a search; it is cloned and fitted. A path
        of this package has its Degrees of Freedom in ``path.dof``.
    X : (n, p) array, data frame or sparse matrix
        Whatever the regressor accepts.
    y : (n,) array
        One response.
    method : {"auto", "exact", "monte-carlo"}
        "exact" takes a formula, or raises `NotAvailableError` if none is known; "monte-carlo"
        perturbs y; "auto" takes a formula if there is one for the whole fit.
    n_draws : int
        Pairs of perturbations for Monte Carlo.
    noise : float, optional
        Noise variance, for the size of the perturbations only. By default the squared error of
        5-fold cross-validation.
    step : float, optional
        Standard deviation of the perturbations in units of the noise's; by default 0.02 for fits
        that are known to have no jumps (support vectors, Huber, generalised linear models,
        estimators of this package whose size is given), 0.5 for all others.
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
        If the estimator is not a regressor or cannot be fitted to (X, y), or an option is
        invalid.
    NotAvailableError
        With ``method="exact"`` where no formula is known.

    Notes
    -----
    *Exact*: estimators of this package, LinearRegression, Ridge, Lasso, ElasticNet,
    PLSRegression, nearest neighbours, and pipelines that end in one of them after transformers
    that ignore y (scaling, PCA, polynomials, splines, imputation, ...).

    *Choices made by looking at y* (LassoCV, GridSearchCV, ``PLSRegressor("bic")``) are part of
    the fit, and Monte Carlo includes them. For an estimator of this package a formula takes the
    choice as given: "exact" reports that as method "conditional", "auto" gives it in
    ``conditional`` next to the Monte Carlo value.

    *Monte Carlo* (trees, forests, boosting, support vectors, kernels, searches, anything): the
    average response of the fit to perturbations of a given size, see `monte_carlo_dof`. Fits that
    jump, such as trees, have derivative zero nearly everywhere, and only perturbations of the
    size of the noise show how the splits follow it; hence the finite step. For them, and to a
    lesser extent for all that is not linear in y, the result belongs to that size.

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
    as_choice(method, "method", get_args(Method))
    rng = as_generator(rng)
    seed = int(rng.integers(2**31 - 1))
    X = unmasked(X) if len(getattr(X, "shape", ())) > 1 else as_matrix(X)
    y = as_response(y, X.shape[0])
    model, fitted = _fitted_clone(estimator, X, y, seed)
    name, reason, exact = type(estimator).__name__, "", None
    if method != "monte-carlo":
        try:
            exact = exact_dof(model, X, y)
        except NotAvailableError as error:
            reason = str(error)
    if method == "exact" and exact is None:
        raise NotAvailableError(
            f"method='exact' for {name}: {reason}. Use method='monte-carlo' or 'auto'."
        )
    rss = float(np.sum((y - fitted) ** 2))
    found = partial(DegreesOfFreedom, name=name, n=float(len(y)), rss=rss)
    if exact is not None and (method == "exact" or not exact.chosen):
        given = (
            f" Given {exact.chosen}, chosen by looking at y; what the choice costs is not included."
        )
        return found(
            value=exact.value,
            method="conditional" if exact.chosen else "exact",
            message=exact.how + (given if exact.chosen else ""),
        )
    source = "5-fold cross-validation" if noise is None else "as given"
    guess = noise if noise is not None else _cross_validated_noise(estimator, X, y, seed)
    deviation = math.sqrt(as_one_positive(guess, "noise", or_zero=noise is None))
    fraction = as_one_positive(_default_step(model) if step is None else step, "step")
    # Below this, rounding of y + perturbation shows in the third digit of a draw.
    if not fraction * deviation > 1e-12 * float(np.max(np.abs(y))):
        raise InvalidInputError(
            f"Perturbations of standard deviation {fraction * deviation:.3g} (noise {source}) are "
            "too small to be seen in y. Give noise=<variance>, or a larger step."
        )
    estimate = monte_carlo_dof(
        partial(_fitted_values, estimator, X),
        y,
        step=fraction * deviation,
        n_draws=n_draws,
        rng=rng,
        n_jobs=n_jobs,
        progress=progress,
    )
    size = f"{fraction * deviation:.4g} = {fraction:g} x the noise's ({source})"
    return found(
        value=estimate.value,
        std_error=estimate.std_error,
        method="monte-carlo",
        message=_in_words(estimate, size, exact, reason),
        draws=estimate.draws,
        conditional=None if exact is None else exact.value,
    )


def _in_words(estimate: "MonteCarlo", step: str, exact: "Formula | None", reason: str) -> str:
    words = [
        f"Monte Carlo (Ye 1998; Efron 2004) over {len(estimate.draws)} antithetic perturbations "
        f"of y with standard deviation {step}. For a fit that is not linear in y, above all one "
        "that jumps, the value belongs to perturbations of this size."
    ]
    if exact is not None:
        words.append(
            f"It includes the choice; a formula that takes it as given ({exact.chosen}) has "
            f"{exact.value:.4g} at this y."
        )
    elif reason:
        words.append(f"Monte Carlo because {reason}.")
    words += [f"{count} draw(s) issued {kind}." for kind, count in estimate.warned.items()]
    return " ".join(words)


def _default_step(model: Any) -> float:
    """Return the step for a fitted model: small where neither it nor what comes before it jumps."""
    *before, last = [one for _, one in model.steps] if hasattr(model, "steps") else [model]
    package, name = _class_of(last)
    given = getattr(last, "selection_", model) is None  # an estimator of ours that chose nothing
    smooth = given or (package == "sklearn" and name in _SMOOTH)
    return _SMOOTH_STEP if smooth and all(map(_is_smooth, before)) else _STEP


def _is_smooth(transformer: Any) -> bool:
    """Tell whether a transformer ignores y, or is one of ours: none of those jumps."""
    if getattr(transformer, "looks_at_y", False):
        return True
    try:
        _require_blind(transformer)
    except NotAvailableError:
        return False
    return True


# Exact formulas
# --------------
# A rule is found by the exact class of a model, never by its behaviour: a subclass may do
# anything, and a fit that looks linear in y on one data set need not be.

_LINEAR = "The fit is linear in y and the Degrees of Freedom are the trace of its smoother matrix: "
_STEIN = "Trace of the derivative of the fit at this y, unbiased under Gaussian noise: "


@dataclass(frozen=True, kw_only=True)
class Formula:
    """Degrees of Freedom from a formula.

    Attributes
    ----------
    value : float
    how : str
        The formula and what it assumes.
    chosen : str
        What the model has chosen by looking at y, which the formula takes as given; empty if
        nothing.
    """

    value: float
    how: str
    chosen: str = ""


def exact_dof(model: Any, X: Any, y: Array) -> Formula:
    """Return the exact Degrees of Freedom of a model fitted to (X, y).

    Cost: a singular value decomposition of X.

    Raises
    ------
    NotAvailableError
        If no rule is known for this class of models.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsRegressor
    >>> X, y = [[i] for i in range(12)], list(range(12))
    >>> exact_dof(KNeighborsRegressor(3).fit(X, y), X, y).value
    4.0
    """
    package, name = _class_of(model)
    if package == "plsdof" and hasattr(model, "path_"):
        return _our_estimator(model)
    rule = RULES.get(name) if package == "sklearn" else None
    if rule is None:
        raise NotAvailableError(f"no exact rule is known for {name}")
    return rule(model, X, y)


def _class_of(model: Any) -> tuple[str, str]:
    return type(model).__module__.partition(".")[0], type(model).__name__


def _our_estimator(model: Any) -> Formula:
    one = as_model(model)
    if any(each.path.rows.looks_at_y for each in members_of(one)):
        raise NotAvailableError("the preparation of the columns looks at y")
    if one.weights is not None:
        return Formula(
            value=one.dof,
            how=f"Those of {len(one.weights)} models, averaged, plus what their weights cost.",
            chosen="the models with weight",
        )
    exact = _of_path(one.path, one.index)
    return exact if model.selection_ is None else replace(exact, chosen=one.label)


def _of_path(path: Any, index: int) -> Formula:
    value, name = float(path.dof[index]), type(path).__name__
    if not np.isfinite(value):
        raise NotAvailableError(f"the Degrees of Freedom of this {name} have no closed form")
    return Formula(value=value, how=f"{_STEIN}closed form of {name} for {path[index].label}.")


def _linear(model: Any, X: Any, y: Array) -> Formula:
    """Sum of s^2 / (s^2 + penalty) over the singular values s of the predictors that take part.

    Those with a non-zero coefficient, where the method selects, as if they were fixed: Zou, Hastie
    & Tibshirani (2007), Tibshirani & Taylor (2012).
    """
    X, free = _dense(X), int(model.fit_intercept)
    # scikit-learn divides the squared error of an elastic net by 2 n, which makes its ridge part n
    # times as strong; a lasso has none, and least squares no penalty.
    share = 1.0 - model.l1_ratio if hasattr(model, "l1_ratio") else 1.0
    alpha = float(np.ravel(getattr(model, "alpha", 0.0))[0])
    penalty = alpha * (share * len(y) if hasattr(model, "l1_ratio") else 1.0)
    selects = hasattr(model, "l1_ratio") or model.positive
    active = np.ravel(model.coef_) != 0 if selects else np.full(X.shape[1], True)
    X = X[:, active]
    X = X - X.mean(axis=0) if free else X
    if penalty == 0:
        # The solver's own rank, if it has one: which small singular values it took for zero.
        known = None if selects else getattr(model, "rank_", None)
        value = float(known if known is not None else np.linalg.matrix_rank(X) if X.size else 0)
    else:
        squares = np.linalg.svd(X, compute_uv=False) ** 2
        value = float(np.sum(squares / (squares + penalty)))
    what = "rank" if penalty == 0 else f"sum of s^2 / (s^2 + {penalty:g}), s the singular values,"
    some = f"{int(active.sum())} predictors with a non-zero coefficient, as the solver found them"
    how = f"{_STEIN}{what} of the {some}" if selects else f"{_LINEAR}{what} of the predictors"
    intercept = "and 1 for the intercept" if free else "without intercept"
    return Formula(value=value + free, how=f"{how}, {intercept}.")


def _dense(X: Any) -> Array:
    return np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)


def _nearest_neighbours(model: Any, X: Any, y: Array) -> Formula:  # noqa: ARG001
    """Sum over i of the share that row i has among the weights of its neighbours."""
    distances, rows = model.kneighbors(X)
    if callable(model.weights):
        weights = model.weights(distances)
    elif model.weights == "distance":
        # Where some neighbours coincide with the row, they alone count.
        coincident = distances == 0
        nearness = 1.0 / np.where(coincident, 1.0, distances)
        weights = np.where(coincident.any(axis=1, keepdims=True), coincident, nearness)
    else:
        weights = np.ones(distances.shape)
    own = np.sum(weights * (rows == np.arange(len(rows))[:, None]), axis=1)
    value = float(np.sum(own / np.sum(weights, axis=1)))
    return Formula(value=value, how=f"{_LINEAR}the weights of the rows in their own predictions.")


def _partial_least_squares(model: Any, X: Any, y: Array) -> Formula:
    with quietly():  # the fit itself has warned
        path = pls_path(_dense(X), y, model.n_components, scale=model.scale)
    return _of_path(path, len(path.dof) - 1)


# Modules whose transformers never look at y and treat the training rows as any others, but for one.
_BLIND = (
    "chemotools.baseline",
    "chemotools.derivative",
    "chemotools.scale",
    "chemotools.scatter",
    "chemotools.smooth",
    "plsdof.chemometrics.preprocessor",
    "sklearn.decomposition._pca",
    "sklearn.feature_selection._variance_threshold",
    "sklearn.impute",
    "sklearn.preprocessing",
)
_SUPERVISED = ("TargetEncoder",)
# Transformers that are made of others, and where these are.
_CONTAINERS = {
    "ColumnTransformer": "transformers",
    "FeatureUnion": "transformer_list",
    "Pipeline": "steps",
}


def _pipeline(model: Any, X: Any, y: Array) -> Formula:
    """Principal components regression, preprocessing, imputation: that of the last step."""
    transformers = [step for _, step in model.steps[:-1]]
    for one in transformers:
        _require_blind(one)
    features = model[:-1].transform(X) if transformers else X
    exact = exact_dof(model.steps[-1][1], features, y)
    return replace(exact, how=f"The transformers do not look at y. {exact.how}")


def _require_blind(transformer: Any) -> None:
    """Refuse a transformer that may look at y."""
    if transformer is None or isinstance(transformer, str):  # "passthrough", "drop"
        return
    name, module = type(transformer).__name__, type(transformer).__module__
    if module.startswith("sklearn.") and name in _CONTAINERS:
        for part in getattr(transformer, _CONTAINERS[name]):
            _require_blind(part[1])
    elif getattr(transformer, "looks_at_y", False) or name in _SUPERVISED:
        raise NotAvailableError(f"the transformer {name} looks at y")
    elif not f"{module}.".startswith(tuple(f"{one}." for one in _BLIND)):
        raise NotAvailableError(f"the transformer {name} is not known to ignore y")


RULES: dict[str, Callable[[Any, Any, Array], Formula]] = {
    **dict.fromkeys(("ElasticNet", "Lasso", "LinearRegression", "Ridge"), _linear),
    "KNeighborsRegressor": _nearest_neighbours,
    "PLSRegression": _partial_least_squares,
    "Pipeline": _pipeline,
}


# Monte Carlo: any fit, by perturbing the response
# ------------------------------------------------

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
    warned: dict[str, int]


def monte_carlo_dof(
    fit: Fit,
    y: Array,
    *,
    step: float,
    n_draws: int = 100,
    rng: np.random.Generator,
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
    n_jobs, progress
        As for `_core.parallel.run_each`.

    Notes
    -----
    What a draw owes to the length of e is removed by regression on |e|^2, whose mean n is known (a
    control variate). On the ozone data that takes 40 to 50 % off the standard error for forests
    and boosting.

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
    B = as_draws(n_draws, "n_draws", minimum=4)
    seeds = rng.integers(2**32, size=B).tolist()
    work = partial(_draw, fit=fit, y=y, step=step)
    outcomes = run_each(work, seeds, n_jobs=n_jobs, progress=progress, description="Draws")
    # Regress the draws on the control; the intercept is the value where it has its mean, zero.
    values, control = np.array([numbers for numbers, _ in outcomes]).T
    Q, R = np.linalg.qr(np.column_stack([np.ones(B), control]))
    adjusted = values - control * np.linalg.solve(R, Q.T @ values)[1]
    # Draws with long perturbations vary more, so each residual speaks for itself, made up for
    # its leverage (the jackknife, HC3 of MacKinnon & White 1985).
    left_over = (adjusted - adjusted.mean()) / (1.0 - np.sum(Q**2, axis=1))
    weights = Q @ np.linalg.solve(R.T, np.eye(len(R))[0])
    return MonteCarlo(
        value=float(adjusted.mean()),
        std_error=float(np.linalg.norm(weights * left_over)),
        draws=read_only(adjusted),
        warned=dict(Counter(name for _, warned in outcomes for name in warned)),
    )


def _draw(seed: int, *, fit: Fit, y: Array, step: float) -> tuple[list[float], set[str]]:
    """Return the covariance of one draw and its control, of mean zero; and what warned."""
    rng = np.random.default_rng(seed)
    e = rng.standard_normal(len(y))
    fit_seed = int(rng.integers(2**31 - 1))
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            change = fit(y + step * e, fit_seed) - fit(y - step * e, fit_seed)
    except InvalidInputError as error:
        raise InvalidInputError(
            f"{error} The response was y plus a random perturbation of standard deviation "
            f"{step:.3g}: if the method needs, say, positive values, give a smaller step, or fit "
            "a transformed response."
        ) from error
    numbers = [float(e @ change) / (2 * step), float(e @ e) - len(e)]
    return numbers, {note.category.__name__ for note in caught}


# Regressors, fitted again and again
# ----------------------------------


def _fitted_clone(estimator: Any, X: Any, y: Array, seed: int) -> tuple[Any, Array]:
    """Fit a clone, with ``seed`` wherever it has ``random_state=None``; and its fitted values.

    Raises
    ------
    InvalidInputError
        If it is not a regressor, cannot be fitted, or does not predict one number per row.
    """
    _require_regressor(estimator)
    model, name = _seeded_clone(estimator, seed), type(estimator).__name__
    try:
        predicted = np.asarray(model.fit(X, y).predict(X), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"{name} could not be fitted to X and y: {error}") from error
    if predicted.shape not in ((len(y),), (len(y), 1)) or not np.all(np.isfinite(predicted)):
        raise InvalidInputError(
            f"{name} must predict one finite number for each of {len(y)} rows; got shape "
            f"{predicted.shape} with {np.sum(~np.isfinite(predicted))} not finite."
        )
    return model, predicted.reshape(len(y))


def _fitted_values(estimator: Any, X: Any, y: Array, seed: int) -> Array:
    return _fitted_clone(estimator, X, y, seed)[1]


def _cross_validated_noise(estimator: Any, X: Any, y: Array, seed: int) -> float:
    """Return the mean squared error of 5-fold cross-validation, an upper guess of the noise's."""
    from sklearn.model_selection import KFold, cross_val_predict

    folds = KFold(min(5, len(y)), shuffle=True, random_state=seed)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the fit on all rows has warned already
            predicted = cross_val_predict(_seeded_clone(estimator, seed), X, y, cv=folds)
    except ValueError as error:
        raise InvalidInputError(
            f"The noise could not be estimated by cross-validation of {type(estimator).__name__}: "
            f"{error} Give noise=<variance>."
        ) from error
    return float(np.mean((y - np.reshape(predicted, len(y))) ** 2))


def _require_regressor(estimator: Any) -> None:
    from sklearn.base import is_regressor

    if isinstance(estimator, type):
        raise InvalidInputError(
            f"The estimator is the class {estimator.__name__}; give an instance, "
            f"{estimator.__name__}()."
        )
    # Of the class: some, such as StackingRegressor, show a method only once they are fitted.
    complete = all(hasattr(type(estimator), name) for name in ("fit", "predict", "get_params"))
    if not (complete and hasattr(estimator, "__sklearn_tags__") and is_regressor(estimator)):
        raise InvalidInputError(
            f"Degrees of Freedom are defined for regressors; got {estimator!r:.80} of type "
            f"{type(estimator).__name__}. Give a scikit-learn regressor (a class of your own "
            "derives from RegressorMixin and BaseEstimator); a path has its own, path.dof."
        )


def _seeded_clone(estimator: Any, seed: int) -> Any:
    from sklearn.base import clone

    model = clone(estimator)
    free = {
        name: seed
        for name, value in model.get_params(deep=True).items()
        if value is None and (name == "random_state" or name.endswith("__random_state"))
    }
    return model.set_params(**free)


# A lower bound that holds for every response
# -------------------------------------------


def dof_lower_bound(X: Any, *, scale: bool = True) -> float | None:
    """Bound the Degrees of Freedom of PLS with one component from below, whatever y is.

    If the largest eigenvalue of S = X'X/(n-1) is at most half of its trace,

        DoF(m = 1) >= 1 + trace(S) / lambda_max

    for every response that the predictors explain at all (X'y not zero). The less collinear the
    predictors, the higher the bound.

    Parameters
    ----------
    X : (n, p) array
        Predictors. Constant columns neither help nor hurt.
    scale : bool
        Scale the columns to unit variance, so that S is the correlation matrix.

    Returns
    -------
    float or None
        None if the condition fails (collinear predictors, or a single one): the theorem then says
        nothing.

    Notes
    -----
    Cost: O(n p min(n, p)) time, O(np + min(n, p)^2) memory.

    References
    ----------
    Kraemer & Sugiyama (2011), Theorem with eqs. (lambdamax) and (low).

    Examples
    --------
    >>> dof_lower_bound([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    3.0
    >>> dof_lower_bound([[1.0, 1.1], [2.0, 1.9], [3.0, 3.2]]) is None
    True
    """
    require_flag(scale)
    X = as_matrix(X, min_rows=2)
    columns = centre_columns(X, Columns.of(X), None, float(len(X)), scale).values
    n_rows, p = columns.shape
    gram = columns.T @ columns if p <= n_rows else columns @ columns.T
    largest, trace = float(np.linalg.eigvalsh(gram)[-1]), float(np.trace(gram))
    # Uncorrelated pairs of predictors meet the condition with equality; rounding must not decide.
    if largest <= 0 or largest > 0.5 * trace * (1.0 + max(n_rows, p) * _EPS):
        return None
    return 1.0 + trace / largest
