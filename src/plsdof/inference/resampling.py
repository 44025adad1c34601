"""Fits to changed data: rows left out, responses drawn again.

`left_out_coefs` fits without each row (or group) in turn and is behind the jackknife;
`residual_bootstrap` and `many_models` fit many responses of the same X at once, on one
decomposition.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import stdtr

from plsdof._core.criteria import Noise
from plsdof._core.display import data_frame, one_line
from plsdof._core.exact import Exact
from plsdof._core.filters import AverageFilter, PLSFilter
from plsdof._core.folds import Integers
from plsdof._core.inputs import Array, as_count, as_fraction, as_generator, read_only
from plsdof._core.krylov import golub_kahan
from plsdof._core.left_out import hold_out
from plsdof._core.model import as_model
from plsdof._core.recursion import Run, Split
from plsdof._core.rounding import distinct_nodes
from plsdof._core.work import with_progress
from plsdof.errors import NotAvailableError, quietly

if TYPE_CHECKING:
    from pandas import DataFrame

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
    >>> residual_bootstrap(pls_path(X, y)[1], n_draws=100)
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
class LeftOutCoefs:
    """Coefficients (g, p) of the fits without each of g folds, and predictions at the mean (g,)."""

    coef: Array
    level: Array


def left_out_coefs(model: Any, cv: Any = None) -> LeftOutCoefs:
    """Fit a model without each row (or group) in turn, its size or weights held fixed.

    By default each row by itself, or each group where rows were left out in groups.
    """
    model = as_model(model)
    path = model.path
    if path._is_dual:
        raise NotAvailableError(
            "The jackknife compares coefficients of fits without single rows, and kernel PLS has "
            "one coefficient per row; use covariance 'homoscedastic' or 'hc3'."
        )
    known = model.left_out_or_none
    grouped = cv is None and known is not None and known.groups is not None
    if grouped:
        assert known is not None
        fold = known.fold
    else:
        fold = path._folds("loo" if cv is None else cv, None)[0]
    split = Split.of(fold)
    weights = np.eye(model.index + 1)[-1] if model.weights is None else model.weights
    active = np.flatnonzero(weights)
    mean = model.exact.units.x_mean
    problem, largest = path._problem(), int(active.max())
    if problem is not None and problem.kernel is None:
        held = hold_out(problem, split, largest, keep=True)
        if held.certain and len(held.predictions) > largest:
            return _coefs_of(held.run, weights, active, mean)
    coefs, levels = [], []
    given = path._require_rows()
    for test in split.tests:
        kept = np.setdiff1d(np.arange(len(given.y)), test)
        with quietly():
            part = path._fit_rows(kept).exact
        rows = np.minimum(active, len(part.dof) - 1)
        coef = weights[active] @ part.coef[rows]
        coefs.append(coef)
        levels.append(part.units.y_mean + float((mean - part.units.x_mean) @ coef))
    return LeftOutCoefs(coef=read_only(coefs), level=read_only(levels))


def _coefs_of(run: Run, weights: Array, active: Integers, mean: Array) -> LeftOutCoefs:
    assert run.centres is not None
    folds = len(run.centres[1]) - 1
    coef = np.zeros((folds, len(mean)))
    for f in range(folds):
        for m in active:
            if m:
                coef[f] += weights[m] * run.coef(int(m), f)
    centres, levels = run.centres
    return LeftOutCoefs(
        coef=read_only(coef), level=read_only(levels[:-1] + np.vecdot(mean - centres[:-1], coef))
    )


def jackknife(model: Any, *, cv: Any = None) -> Resampled:
    """Refit without each fold in turn; standard errors after Efron & Stein (1981).

        var = (g - 1)/g sum_k (beta_(k) - mean)^2       over g folds (grouped jackknife)

    Parameters
    ----------
    model : Model, or a fitted estimator
        Its size is held fixed. Steps of a Pipeline before the estimator are held fixed, too.
    cv : int, splitter or pairs, optional
        Folds as in `cross_validate`; leave-one-out by default, groups where there are any.

    Returns
    -------
    Resampled
        With replicates, standard errors, t, degrees of freedom g - 1 and p-values, as R's
        jack.test of the package pls computes them.

    Notes
    -----
    Cost: one recursion for all folds of PLS, a fit per fold for other methods. Unlike the analytic
    errors it treats the rows of X as random. Reference: Martens & Martens (2000), Food Quality and
    Preference 11, 5-16.

    Examples
    --------
    >>> from plsdof import pls_path
    >>> from plsdof.datasets import load_ozone
    >>> found = jackknife(pls_path(*load_ozone(return_X_y=True))[2], cv=10)
    >>> found.std_error[:3].round(3), found.p_value[:3].round(3)
    (array([0.045, 0.012, 0.179]), array([0.011, 0.65 , 0.885]))
    """
    model = as_model(model)
    fits = left_out_coefs(model, cv)
    g = len(fits.coef)
    spread = np.sum((fits.coef - fits.coef.mean(axis=0)) ** 2, axis=0)
    return Resampled(
        replicates=fits.coef,
        std_error=read_only(np.sqrt((g - 1) / g * spread)),
        method=f"jackknife over {g} folds",
        coef=model.coef,
        degrees_of_freedom=g - 1.0,
        names=model.path.feature_names,
    )


# Responses drawn again
# ---------------------


def residual_bootstrap(
    model: Any,
    *,
    n_draws: int = 500,
    noise: Noise = None,
    rng: Any = 0,
    progress: bool = False,
) -> Resampled:
    """Refit responses made of the fit plus resampled residuals, X kept fixed.

    The residuals are centred and scaled to the noise variance of the model, so that their
    optimism does not shrink the standard errors. With weights w it is the residuals times the
    roots of the weights that are drawn: the noise variance of row i is taken as sigma^2 / w_i.

    Parameters
    ----------
    model : Model, or a fitted estimator
        One model, not an average.
    n_draws : int
        Number of resampled responses, at least 2.
    noise : str or float, optional
        Noise variance of the resampled residuals, see `Path.noise_variance`.
    rng : int or numpy Generator, optional
        The default makes it reproducible.
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
    >>> from plsdof import pls_path
    >>> path = pls_path(*load_ozone(return_X_y=True))
    >>> residual_bootstrap(path[2], n_draws=200).std_error[:3].round(2)
    array([0.05, 0.02, 0.15])
    >>> path.coef_std_error(2)[:3].round(2)  # analytic, at once
    array([0.06, 0.02, 0.14])
    """
    model = as_model(model)
    n_draws = as_count(n_draws, "n_draws", minimum=2)
    complete = model.exact.complete()
    units = complete.units
    root = 1.0 if units.row_scale is None else units.row_scale
    residuals = root * model.residuals
    residuals = residuals - residuals.mean()
    spread = np.sqrt(np.mean(residuals**2))
    if spread > 0:
        residuals = residuals * np.sqrt(model.noise_variance(noise)) / spread
    # The fit is what the residuals are added to; both in units where rows have equal noise.
    centre = root * (model.fitted - units.y_mean)
    U = complete.decomposition.sample_basis
    ones = np.broadcast_to(root, (units.n_rows,)) / np.sqrt(complete.spectrum.n)
    drawn = centre + as_generator(rng).choice(residuals, (n_draws, units.n_rows))
    drawn -= (drawn @ ones)[:, None] * ones  # centring, in the weighted metric
    Z = drawn @ U
    factors = np.concatenate(
        [part.factors[:, -1] for part in many_models(complete, Z, model.row, progress=progress)]
    )
    rotated = factors * Z / complete.decomposition.singular_values
    replicates = complete.decomposition.to_features(rotated.T).T
    with np.errstate(over="ignore"):  # units of 1e-200 may lead out of the range of floats
        return Resampled(
            replicates=read_only(replicates / units.x_scale),
            std_error=read_only(replicates.std(axis=0, ddof=1) / units.x_scale),
            method=f"residual bootstrap, {n_draws} draws",
            coef=model.coef,
            degrees_of_freedom=float("inf"),
            names=model.path.feature_names,
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
    path: Exact, Z: Array, max_components: int, *, progress: bool = False
) -> Iterator[ManyModels]:
    """Fit a method to many responses, given as (B, r) rotated coordinates.

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


def _linear_models(path: Exact, Z: Array) -> ManyModels:
    if np.isnan(path.dof).any():
        raise NotAvailableError("This method chooses components by looking at y; refit it instead.")
    shape = (len(Z), *path.filter.factors.shape)
    return ManyModels(
        factors=np.broadcast_to(path.filter.factors, shape),
        dof=np.broadcast_to(path.dof, shape[:2]),
    )


def _pls_models(path: Exact, Z: Array, max_components: int) -> ManyModels:
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
