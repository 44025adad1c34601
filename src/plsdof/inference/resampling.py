"""Fits to changed data: rows left out, responses drawn again.

`leave_out` fits without each row (or fold) in turn and is behind the jackknife and jackknife+
intervals; `residual_bootstrap` and `many_models` fit many responses of the same X at once, on one
decomposition.
"""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy.special import stdtr

from plsdof._core.averaging import AverageFilter
from plsdof._core.criteria import Noise
from plsdof._core.display import data_frame, one_line
from plsdof._core.filters import PLSFilter
from plsdof._core.fit import pcr_path, pls_path, ridge_path
from plsdof._core.inputs import (
    Array,
    as_count,
    as_fraction,
    as_generator,
    as_matrix,
    as_response,
    as_weights,
    opened_table,
    read_only,
)
from plsdof._core.krylov import distinct_nodes, golub_kahan
from plsdof._core.path import ComponentPath, Path, PathLike, as_model, as_path
from plsdof._core.work import run_each, with_progress
from plsdof.errors import (
    InvalidInputError,
    NotAvailableError,
    RankExhaustedWarning,
    warn_caller,
)
from plsdof.selection.folds import Fold, make_folds
from plsdof.selection.left_out import averaged_like, complete_folds, left_out_models

if TYPE_CHECKING:
    from pandas import DataFrame

Choose = Callable[[Path], int]
# Numbers that the recursion holds at once for responses drawn again: 32 MB.
_AT_ONCE = 4_000_000
# What a coordinate of a response of length one is at least, so that it can be divided by.
_FAINT = 1e-30


@dataclass(frozen=True, kw_only=True, repr=False)
class Resampled:
    """Coefficients of one model under resampling.

    Attributes
    ----------
    replicates : (B, p) array
        Coefficients of each resample, in original units.
    std_error : (p,) array
    method : str
    coef : (p,) array
        Coefficients of the data themselves.
    degrees_of_freedom : float
        Of the t distribution: number of folds - 1 for the jackknife, as in R's jack.test; infinite
        for the bootstrap.
    names : tuple of str or None

    Examples
    --------
    >>> from plsdof import pls_path
    >>> from plsdof.inference import residual_bootstrap
    >>> X, y = [[1.0], [2.0], [4.0], [5.0]], [1.0, 2.0, 3.0, 5.0]
    >>> residual_bootstrap(pls_path(X, y), m=1, n_draws=100)
    Resampled(residual bootstrap, 100 draws, p=1)
    """

    replicates: Array
    std_error: Array
    method: str
    coef: Array
    degrees_of_freedom: float
    names: tuple[str, ...] | None = None

    @property
    def statistic(self) -> Array:
        """Ratio t = coef / std_error, 0 where a coefficient cannot vary. Shape (p,)."""
        safe = np.where(self.std_error > 0, self.std_error, 1.0)
        return np.where(self.std_error > 0, self.coef / safe, 0.0)

    @property
    def p_value(self) -> Array:
        """Two-sided p-values of E[coef] = 0, the number of components held fixed. Shape (p,)."""
        return np.asarray(2.0 * stdtr(self.degrees_of_freedom, -np.abs(self.statistic)))

    def interval(self, level: float = 0.95) -> Array:
        """Return the central share ``level`` of the replicates. Shape (p, 2).

        Meant for the bootstrap; jackknife replicates are far less spread than the estimate.
        """
        tail = (1 - as_fraction(level, "level")) / 2
        return np.quantile(self.replicates, [tail, 1 - tail], axis=0).T

    def to_frame(self) -> "DataFrame":
        """Return a pandas data frame: coefficient, standard error, t, df, p and the null."""
        columns = {
            "coef": self.coef,
            "std_error": self.std_error,
            "t": self.statistic,
            "df": np.full(len(self.coef), self.degrees_of_freedom),
            "p_value": self.p_value,
            "null": np.full(len(self.coef), "E[coef] = 0", dtype=object),
        }
        return data_frame(columns, self.names)

    def __repr__(self) -> str:
        return one_line(self, self.method, p=self.replicates.shape[1])


# Rows left out
# -------------


@dataclass(frozen=True, kw_only=True, eq=False)
class _Without:
    """The model that was chosen without the rows of one fold.

    ``coef`` multiplies deviations from ``mean``; of kernel PLS these are kernel values with the
    rows that were left, which ``inputs`` makes.
    """

    coef: Array
    mean: Array
    y_mean: float
    index: int
    inputs: Any

    def predict(self, X_new: Array) -> Array:
        rows = X_new if self.inputs is None else self.inputs.values(X_new)
        return self.y_mean + (rows - self.mean) @ self.coef


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class LeftOut:
    """Models fitted without each fold of the rows in turn; made by `leave_out`.

    Attributes
    ----------
    residuals : (n_rows,) array
        y_i minus the prediction by the fit without row i.
    fold_of : (n_rows,) array of int
        Which fit leaves row i out.
    index : (g,) array of int
        Model that was chosen in each fit.
    coef : (g, p) array or None
        Coefficients in original units; None for kernel PLS.
    level : (g,) array
        Predictions at ``x_mean``.
    x_mean : (p,) array
        Mean row of the whole fit.
    """

    residuals: Array
    fold_of: npt.NDArray[np.intp]
    index: npt.NDArray[np.intp]
    coef: Array | None
    level: Array
    x_mean: Array
    fits: tuple[_Without, ...] = ()

    def predict(self, X_new: Array) -> Array:
        """Predict new rows with every fit. Shape (g, n_new)."""
        if self.coef is None:
            return np.array([one.predict(X_new) for one in self.fits])
        return np.asarray(self.level[:, None] + self.coef @ (X_new - self.x_mean).T)

    def __repr__(self) -> str:
        return one_line(self, f"{len(self.index)} fits", f"{len(self.residuals)} rows")


def leave_out(
    path: PathLike,
    choose: int | Choose,
    *,
    cv: Any = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> LeftOut:
    """Fit the method of a path without each row (or fold) in turn, and choose a model each time.

    Everything is done again without the rows: centring, scaling, decomposition, choice.

    Parameters
    ----------
    path : Path
        Fitted to arrays in memory.
    choose : int or callable
        Row of the path, or ``choose(path)`` that returns one: the choice is then part of it.
    cv : int, splitter or pairs, optional
        Folds as in `cross_validate`; each row by itself by default.
    n_jobs, progress
        As in `cross_validate`.

    Notes
    -----
    Cost: one small decomposition per fold, many folds at once (`plsdof.selection.left_out`); a fit
    per fold where that is not certain, and for principal components and ridge regression. The data
    come out of the decomposition of the path, so that nothing needs to be kept but the path.

    Examples
    --------
    >>> from plsdof import pls_path
    >>> from plsdof.datasets import load_ozone
    >>> X, y = load_ozone(return_X_y=True)
    >>> left = leave_out(pls_path(X, y, 4), 2)
    >>> round(float(np.sqrt(np.mean(left.residuals**2))), 2)
    4.65
    """
    path = as_path(path)
    if not (isinstance(choose, int | np.integer) or callable(choose)):
        raise InvalidInputError(
            f"choose must be the row of a model or a function path -> row; got {choose!r:.80} of "
            f"type {type(choose).__name__}."
        )
    X, y = path.training_inputs(), path.require_response()
    folds = complete_folds(X, y, cv)
    chosen = path.index(choose) if isinstance(choose, int | np.integer) else choose
    components = None
    if isinstance(chosen, int) and isinstance(path, ComponentPath):
        components = max(chosen, 1)  # no more than is needed
    average = averaged_like(path)
    fits = left_out_models(
        path,
        folds,
        partial(_chosen_without, choose=chosen, average=average),
        components=components if average is None else None,
        smooth=average is not None or not isinstance(chosen, int),
        n_jobs=n_jobs,
        progress=progress,
    )
    fold_of, residuals = np.empty(len(y), dtype=np.intp), np.empty(len(y))
    for number, (fold, one) in enumerate(zip(folds, fits, strict=True)):
        fold_of[fold.test] = number
        residuals[fold.test] = y[fold.test] - one.predict(X[fold.test])
    linear = all(one.inputs is None for one in fits)
    mean = path.units.x_mean if linear else X.mean(axis=0)
    return LeftOut(
        residuals=read_only(residuals),
        fold_of=fold_of,
        index=np.array([one.index for one in fits]),
        coef=read_only([one.coef for one in fits]) if linear else None,
        level=read_only([float(one.predict(mean[None])[0]) for one in fits]),
        x_mean=mean,
        fits=() if linear else tuple(fits),
    )


def _chosen_without(
    path: Path,
    fold: Fold,  # noqa: ARG001
    choose: int | Choose,
    average: Callable[[Path], Path] | None,
) -> _Without:
    if average is not None:  # all models averaged again, as a path with one model
        path = average(path)
    index = choose if isinstance(choose, int) else as_count(choose(path), "choose(path)")
    if index >= len(path.dof):
        text = f"{index} components asked for, {len(path.dof) - 1} supported: {path.message}"
        warn_caller(text, RankExhaustedWarning)
        index = len(path.dof) - 1
    return _Without(
        coef=path.coef_of(index),
        mean=path.units.x_mean,
        y_mean=float(path.units.y_mean),
        index=int(index),
        inputs=getattr(path, "inputs", None),
    )


def jackknife(
    X: Any,
    y: Any,
    m: int | None = None,
    *,
    path: Any = pls_path,
    scale: bool = True,
    alphas: Any = None,
    cv: Any = None,
    sample_weight: Any = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> Resampled:
    """Refit without each fold in turn; standard errors after Efron & Stein (1981).

        var = (g - 1)/g sum_k (beta_(k) - mean)^2       over g folds (grouped jackknife)

    Parameters
    ----------
    X, y : arrays
    m : int
        Row of the path (number of components, or place in ``alphas``); what it has chosen if
        ``path`` is an estimator.
    path : callable, or a fitted estimator
        ``path(X, y)`` returns a `Path`; `pls_path` by default, fitted up to m components. An
        estimator, or a Pipeline that ends in one, is fitted to every fold with all its steps; its
        choice is kept.
    scale : bool
        Scale the columns to unit variance in every fit; for the three methods of this package.
    alphas : array of float, optional
        Penalties of `ridge_path`, the same for all folds.
    cv : int, splitter or pairs, optional
        Folds as in `cross_validate`; leave-one-out by default.
    sample_weight : (n,) array, optional
        Weights of the rows in the fits. A fold is left out whole, so that a row of weight two
        counts as two rows that belong together.
    n_jobs, progress
        As in `cross_validate`.

    Returns
    -------
    Resampled
        With replicates, standard errors, t, degrees of freedom g - 1 and p-values, as R's
        jack.test of the package pls computes them.

    Notes
    -----
    Cost: one fit per fold, of `pls_path` many folds at once. Unlike the analytic errors it treats
    the rows of X as random. Reference: Martens & Martens (2000), Food Quality and Preference 11,
    5-16.

    Examples
    --------
    >>> from plsdof.datasets import load_ozone
    >>> X, y = load_ozone(return_X_y=True)
    >>> found = jackknife(X, y, 2, cv=10)
    >>> found.std_error[:3].round(3), found.p_value[:3].round(3)
    (array([0.045, 0.012, 0.179]), array([0.011, 0.65 , 0.885]))
    """
    X, y, sample_weight = opened_table(X, y, sample_weight)
    if hasattr(path, "fit"):
        fit, m = _again(path, m)
    else:
        m = as_count(m, "m")
        fit = _method(path, m, scale, alphas)
    matrix = as_matrix(X, min_rows=3)
    y = as_response(y, len(matrix))
    weights = as_weights(sample_weight, len(matrix))
    counts = np.ones(len(matrix)) if weights is None else weights
    # Nothing changes without rows that have no weight: they are not a fold.
    folds = [
        one
        for one in make_folds(matrix, y, len(matrix) if cv is None else cv)
        if counts[one.test].any()
    ]
    if len(folds) < 2:
        raise InvalidInputError(f"The jackknife needs at least 2 folds; got {len(folds)}.")
    whole: Path = fit(X, y, **({} if weights is None else {"sample_weight": weights}))
    if path is pls_path and counts.all():
        coefs = left_out_models(
            whole, folds, partial(_coef_of, m=m), n_jobs=n_jobs, progress=progress
        )
    else:
        work = partial(_coef_without, X=matrix, y=y, weights=weights, fit=fit, m=m)
        coefs = run_each(work, folds, n_jobs=n_jobs, progress=progress, description="Jackknife")
    replicates, g = np.array(coefs), len(folds)
    spread = np.sum((replicates - replicates.mean(axis=0)) ** 2, axis=0)
    return Resampled(
        replicates=read_only(replicates),
        std_error=read_only(np.sqrt((g - 1) / g * spread)),
        method=f"jackknife over {g} folds",
        coef=read_only(whole.coef[whole.index(m)]),
        degrees_of_freedom=g - 1.0,
        names=whole.feature_names,
    )


def _again(fitted: Any, m: int | None) -> tuple[Any, int]:
    """Return how an estimator, or a Pipeline, is fitted again, and the row of what it chose."""
    from sklearn.base import clone

    model = as_model(fitted, m, average=False)
    unfitted = clone(getattr(fitted, "best_estimator_", fitted))
    last = unfitted if model.before is None else unfitted.steps[-1][1]
    last.set_params(**model.estimator.fixed_parameters(model.index))
    row = model.index if model.path.parameter_name == "n_components" else 0
    return partial(_fitted_again, unfitted), row


def _fitted_again(unfitted: Any, X: Any, y: Array, sample_weight: Array | None = None) -> Path:
    from sklearn.base import clone

    again = clone(unfitted)
    name = f"{again.steps[-1][0]}__sample_weight" if hasattr(again, "steps") else "sample_weight"
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        again.fit(X, y, **({} if sample_weight is None else {name: sample_weight}))
    return as_path(again)


def _method(path: Any, m: int, scale: bool, alphas: Any) -> Any:
    """Return the fit of a fold: ours with their options, others as they are."""
    if path is ridge_path:
        if alphas is None:
            raise InvalidInputError(
                "The jackknife of ridge_path needs alphas=<penalties>: the default ones depend on "
                "the number of rows and differ between folds."
            )
        return partial(ridge_path, alphas=alphas, scale=scale)
    if alphas is not None:
        raise InvalidInputError("alphas is for path=ridge_path; the other methods have none.")
    if path is pls_path or path is pcr_path:
        return partial(path, max_components=m, scale=scale)
    if not callable(path):
        raise InvalidInputError(
            f"path must be a function (X, y) -> path, such as pls_path; got {type(path).__name__}."
        )
    return path


def _coef_of(path: Path, fold: Fold, m: int) -> Array:  # noqa: ARG001
    return path.coef_of(path.index(m))


def _coef_without(fold: Fold, X: Array, y: Array, weights: Array | None, fit: Any, m: int) -> Array:
    weighted = {} if weights is None else {"sample_weight": weights[fold.train]}
    path: Path = fit(X[fold.train], y[fold.train], **weighted)
    return np.asarray(path.coef[path.index(m)])


# Responses drawn again
# ---------------------


def residual_bootstrap(
    path: PathLike,
    y: Any = None,
    m: int | None = None,
    *,
    n_draws: int = 500,
    noise: Noise = None,
    random_state: int | None = 0,
    progress: bool = False,
) -> Resampled:
    """Refit responses made of the fit plus resampled residuals, X kept fixed.

    The residuals are centred and scaled to the noise variance of the model, so that their
    optimism does not shrink the standard errors. With weights w it is the residuals times the
    roots of the weights that are drawn: the noise variance of row i is taken as sigma^2 / w_i.

    Parameters
    ----------
    path : Path
    y : (n,) array, optional
        The response it was fitted to; by default the one that the path has kept.
    m : int
        Row of the path.
    n_draws : int
        Number of resampled responses, at least 2.
    noise : {"jacobian", "dof", "naive"} or float, optional
        Noise variance of the resampled residuals; "jacobian" by default.
    random_state : int, optional
        Seed of the resampling; the default makes it reproducible.
    progress : bool
        Show a bar on stderr (needs rich).

    Returns
    -------
    Resampled

    Notes
    -----
    Cost: O(n r + r M^2) per draw, many draws at once; X is not decomposed again. Reference: Efron &
    Tibshirani (1993), chapter 9.

    Examples
    --------
    >>> from plsdof.datasets import load_ozone
    >>> X, y = load_ozone(return_X_y=True)
    >>> path = pls_path(X, y)
    >>> residual_bootstrap(path, y, 2, n_draws=200).std_error[:3].round(2)
    array([0.05, 0.02, 0.15])
    >>> path.coef_std_error(2)[:3].round(2)  # analytic, at once
    array([0.06, 0.02, 0.15])
    """
    model = as_model(path, m)
    path, index = model.path, model.index
    n_draws = as_count(n_draws, "n_draws", minimum=2)
    complete = path.complete()
    y = path.require_response() if y is None else as_response(y, path.units.n_rows)
    root = 1.0 if path.units.row_scale is None else path.units.row_scale
    fitted = path.fitted[index]
    residuals = root * (y - fitted)
    residuals = residuals - residuals.mean()
    spread = np.sqrt(np.mean(residuals**2))
    if spread > 0:
        residuals = residuals * np.sqrt(path.noise_at(index, noise)) / spread
    rng = as_generator(random_state)
    # The fit is what the residuals are added to; both in units where rows have equal noise.
    centre = root * (fitted - path.units.y_mean)
    U = complete.decomposition.sample_basis
    ones = np.broadcast_to(root, (len(y),)) / np.sqrt(path.spectrum.n)
    drawn = centre + rng.choice(residuals, (n_draws, len(y)))
    drawn -= (drawn @ ones)[:, None] * ones  # centring, in the weighted metric
    factors = np.concatenate(
        [part.factors[:, -1] for part in many_models(complete, drawn @ U, index, progress=progress)]
    )
    rotated = factors * (drawn @ U) / complete.decomposition.singular_values
    replicates = complete.decomposition.to_features(rotated.T).T
    scale = path.units.x_scale
    with np.errstate(over="ignore"):  # units of 1e-200 may lead out of the range of floats
        return Resampled(
            replicates=read_only(replicates / scale),
            std_error=read_only(replicates.std(axis=0, ddof=1) / scale),
            method=f"residual bootstrap, {n_draws} draws",
            coef=read_only(path.coef[index]),
            degrees_of_freedom=float("inf"),
            names=path.feature_names,
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class ManyModels:
    """Models of many responses: factors (B, K, r), Degrees of Freedom (B, K)."""

    factors: Array
    dof: Array

    def rss(self, Z: Array, outside: Array) -> Array:
        """Return residual sums of squares for (B, r) rotated responses. Shape (B, K)."""
        left = (1.0 - self.factors) * Z[:, None]
        return np.asarray(np.vecdot(left, left) + outside[:, None])


def many_models(
    path: Path, Z: Array, max_components: int, *, progress: bool = False
) -> Iterator[ManyModels]:
    """Fit the method of a complete path to many responses, given as (B, r) rotated coordinates.

    One recursion runs on a batch of them; yields one part of the batch after the other, for models
    of 0..max_components components (all models of a method that is linear in y). Rounding errors
    are not estimated here. Cost: O(r M^2) time per response, bounded memory.
    """
    if isinstance(path.filter, AverageFilter):
        raise NotAvailableError(
            "Responses are drawn again for single models, not for an average of them; choose one "
            "model, or use method='analytic'."
        )
    size = max(1, _AT_ONCE // max(1, Z.shape[1] * (max_components + 2)))
    starts = range(0, len(Z), size)
    shown = with_progress(starts, len(starts), "Responses") if progress else starts
    linear = not isinstance(path.filter, PLSFilter)
    for start in shown:
        part = Z[start : start + size]
        yield _linear_models(path, part) if linear else _pls_models(path, part, max_components)


def _linear_models(path: Path, Z: Array) -> ManyModels:
    if np.isnan(path.dof).any():
        raise NotAvailableError("This method chooses components by looking at y; refit it instead.")
    shape = (len(Z), *path.filter.factors.shape)
    return ManyModels(
        factors=np.broadcast_to(path.filter.factors, shape),
        dof=np.broadcast_to(path.dof, shape[:2]),
    )


def _pls_models(path: Path, Z: Array, max_components: int) -> ManyModels:
    nodes = distinct_nodes(path.spectrum)
    g = len(nodes.eigenvalues)
    # Norms over the eigenvalues that one node stands for.
    squares = np.zeros((g, len(Z)))
    np.add.at(squares, nodes.member, Z.T**2)
    z = np.sqrt(squares.T)
    length = np.linalg.norm(z, axis=1, keepdims=True)
    z /= np.where(length > 0, length, 1.0)  # zero: a response that does not vary
    z = np.maximum(z, _FAINT)  # a node that a response does not excite at all
    eigenvalues = np.broadcast_to(nodes.eigenvalues, z.shape)
    run = golub_kahan(eigenvalues, z, np.ones(g, dtype=bool), max_components)
    h = np.cumsum(run.scores**2, axis=1)
    dof = np.ones(run.residuals.shape[:2])
    with np.errstate(invalid="ignore", over="ignore"):
        dof += run.factors @ nodes.multiplicity
        dof[:, 1:] += 2.0 * np.vecdot(run.residuals[:, 1:], h)
    return ManyModels(factors=run.factors.take(nodes.member, axis=2), dof=dof)
