"""Fits to changed data: rows left out, responses drawn again or permuted.

`left_out_coefs` fits without each row (or group) in turn and is behind the jackknife;
`residual_bootstrap` and `permutation_test` fit many responses of the same X at once, on one
decomposition (`many_models`).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import stdtr

from plsdof._core.criteria import Noise
from plsdof._core.display import data_frame, one_line
from plsdof._core.exact import Exact
from plsdof._core.filters import PLSFilter
from plsdof._core.folds import Integers
from plsdof._core.inputs import Array, as_count, as_fraction, as_generator, read_only
from plsdof._core.krylov import golub_kahan
from plsdof._core.left_out import hold_out
from plsdof._core.model import as_model, as_path
from plsdof._core.recursion import Run, Split
from plsdof._core.rounding import distinct_nodes
from plsdof._core.warnings import quietly
from plsdof.errors import NotAvailableError

if TYPE_CHECKING:
    from pandas import DataFrame

# Numbers that the recursion holds at once for responses drawn again: 32 MB.
_AT_ONCE = 4_000_000
# What a coordinate of a response of length one is at least, so that it can be divided by.
_FAINT = 1e-30


@dataclass(frozen=True, kw_only=True, repr=False)
class TestedCoefficients:
    """Coefficients with standard errors, and the tests that follow.

    Attributes
    ----------
    coef, std_error : (p,) arrays
    degrees_of_freedom : float
        Of Student's t; infinite for the normal distribution.
    names : tuple of str or None
    """

    __test__ = False  # not a class of tests

    coef: Array
    std_error: Array
    degrees_of_freedom: float
    names: tuple[str, ...] | None = None

    @property
    def statistic(self) -> Array:
        """Ratio t = coef / std_error, 0 where a coefficient cannot vary. Shape (p,)."""
        varies = self.std_error > 0
        return np.divide(self.coef, self.std_error, out=np.zeros_like(self.coef), where=varies)

    @property
    def p_value(self) -> Array:
        """Two-sided p-values of E[coef] = 0, the number of components held fixed. Shape (p,)."""
        return np.asarray(2.0 * stdtr(self.degrees_of_freedom, -np.abs(self.statistic)))

    @property
    def null(self) -> str:
        """What the p-values test."""
        return "E[coef] = 0"

    def _frame(self, *names: str, **others: Array) -> "DataFrame":
        """Return a data frame of some attributes, and what is tested."""
        null = np.full(len(self.coef), self.null, dtype=object)
        columns = {name: getattr(self, name) for name in names}
        return data_frame(columns | others | {"null": null}, self.names)


@dataclass(frozen=True, kw_only=True, repr=False)
class Resampled(TestedCoefficients):
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
    method: str

    def interval(self, level: float = 0.95) -> Array:
        """Return the central share ``level`` of the replicates. Shape (p, 2).

        Meant for the bootstrap; jackknife replicates are far less spread than the estimate.
        """
        tail = (1 - as_fraction(level, "level")) / 2
        return np.quantile(self.replicates, [tail, 1 - tail], axis=0).T

    def to_frame(self) -> "DataFrame":
        """Return a pandas data frame: coefficient, standard error, t, p, df and the null."""
        df = np.full(len(self.coef), self.degrees_of_freedom)
        return self._frame("coef", "std_error", "statistic", "p_value", df=df)

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
    if path.is_dual:
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
        fold = path.folds("loo" if cv is None else cv, None)[0]
    split = Split.of(fold)
    weights = np.eye(model.index + 1)[-1] if model.weights is None else model.weights
    active = np.flatnonzero(weights)
    mean = model.exact.units.x_mean
    problem, largest = path.fold_problem(), int(active.max())
    if problem is not None and problem.kernel is None:
        run = hold_out(problem, split, largest, keep=True)
        if run is not None and len(run.rss) > largest:
            return _coefs_of(run, weights, active, mean)
    coefs, levels = [], []
    given = path.require_rows()
    for test in split.tests:
        kept = np.setdiff1d(np.arange(len(given.y)), test)
        with quietly():
            part = path.fit_rows(kept).exact
        rows = np.minimum(active, len(part.dof) - 1)
        coef = weights[active] @ part.coef[rows]
        coefs.append(coef)
        levels.append(part.units.y_mean + float((mean - part.units.x_mean) @ coef))
    return LeftOutCoefs(coef=read_only(coefs), level=read_only(levels))


def _coefs_of(run: Run, weights: Array, active: Integers, mean: Array) -> LeftOutCoefs:
    coef = np.zeros((len(run.levels) - 1, len(mean)))
    for f in range(len(coef)):
        for m in active:
            coef[f] += weights[m] * run.coef(int(m), f)
    level = run.levels[:-1] + np.vecdot(mean - run.means[:-1], coef)
    return LeftOutCoefs(coef=read_only(coef), level=read_only(level))


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
    # Residuals in units where rows have equal noise, of the size of the noise.
    root = 1.0 if units.row_scale is None else units.row_scale
    residuals = root * model.residuals
    residuals = residuals - residuals.mean()
    spread = np.sqrt(np.mean(residuals**2))
    if spread > 0:
        residuals = residuals * np.sqrt(model.noise_variance(noise)) / spread
    drawn = as_generator(rng).choice(residuals, (n_draws, units.n_rows))
    # The fit is what they are added to; coefficients in rotated coordinates, then of the features.
    Z = _rotated(complete, root * (model.fitted - units.y_mean) + drawn)
    factors = [part.factors[:, -1] for part in many_models(complete, Z, model.row)]
    rotated = np.concatenate(factors) * Z / complete.decomposition.singular_values
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


def _rotated(complete: Exact, responses: Array) -> Array:
    """Return (B, r) coordinates of (B, n) responses, which have equal noise in all rows."""
    root = complete.units.row_scale
    ones = np.ones(responses.shape[1]) if root is None else root
    ones = ones / np.sqrt(complete.spectrum.n)
    # Centring, in the weighted metric.
    centred = responses - (responses @ ones)[:, None] * ones
    return np.asarray(centred @ complete.decomposition.sample_basis)


@dataclass(frozen=True, kw_only=True, eq=False)
class ManyModels:
    """Models of many responses (B, r): factors (B, K, r), Degrees of Freedom (B, K)."""

    Z: Array
    factors: Array
    dof: Array

    @property
    def rss(self) -> Array:
        """Residual sums of squares, without what lies outside of the column space. (B, K)."""
        left = (1.0 - self.factors) * self.Z[:, None]
        return np.asarray(np.vecdot(left, left))


def many_models(path: Exact, Z: Array, max_components: int) -> Iterator[ManyModels]:
    """Fit a method to many responses, given as (B, r) rotated coordinates.

    One recursion runs on a batch of them; yields one part of the batch after the other, for models
    of 0..max_components components (all models of a method that is linear in y). Rounding errors
    are not estimated here. Cost: O(r M^2) time per response, bounded memory.
    """
    if not path.filter.reflects:
        raise NotAvailableError(
            "Responses are drawn again for single models of one response, not for an average of "
            "them or for PLS2; choose one model."
        )
    size = max(1, _AT_ONCE // max(1, Z.shape[1] * (max_components + 2)))
    linear = not isinstance(path.filter, PLSFilter)
    for start in range(0, len(Z), size):
        part = Z[start : start + size]
        yield _linear_models(path, part) if linear else _pls_models(path, part, max_components)


def _linear_models(path: Exact, Z: Array) -> ManyModels:
    if np.isnan(path.dof).any():
        raise NotAvailableError("This method chooses components by looking at y; refit it instead.")
    shape = (len(Z), *path.filter.factors.shape)
    factors = np.broadcast_to(path.filter.factors, shape)
    return ManyModels(Z=Z, factors=factors, dof=np.broadcast_to(path.dof, shape[:2]))


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
    return ManyModels(Z=Z, factors=run.factors.take(nodes.member, axis=2), dof=dof)


# Is there anything at all? A permutation test of the whole procedure, the choice included
# ----------------------------------------------------------------------------------------

# Models with more than this share of n as Degrees of Freedom are not candidates.
_MOST_DOF = 0.9


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PermutationTest:
    """The best score of a method on its data, and on permuted responses.

    Attributes
    ----------
    p_value : float
        (1 + number of permutations with a score as small) / (1 + number of permutations).
    score : float
        Smallest score over all model sizes, on the data.
    permuted : (B,) array
        The same on permuted responses.
    index : int
        Row of the path of the smallest score.
    total : float
        Score of the empty model, to compare with.
    dof : (K,) array or None
        Degrees of Freedom in the scores, averaged over the permutations; None for classes.

    Examples
    --------
    >>> from plsdof import pls_path
    >>> from plsdof.datasets import load_ozone
    >>> permutation_test(pls_path(*load_ozone(return_X_y=True)), n_permutations=99)
    PermutationTest(p_value=0.01, best of 99 permutations 63.23, score=20.52)
    """

    p_value: float
    score: float
    permuted: Array
    index: int
    total: float
    dof: Array | None = None

    @property
    def assumptions(self) -> str:
        """What is tested, in one line."""
        return (
            "Null: the response is unrelated to the rows of X, which are exchangeable; the best "
            "score over all model sizes is compared, so the choice is part of the test."
        )

    @property
    def message(self) -> str:
        """The result in a sentence."""
        lower = int(np.count_nonzero(self.permuted <= self.score))
        return (
            f"p = {self.p_value:.3g}: {lower} of {len(self.permuted)} permutations of the response "
            "have a score as good as the data."
        )

    def __repr__(self) -> str:
        best = float(self.permuted.min())
        return (
            f"PermutationTest(p_value={self.p_value:.3g}, best of {len(self.permuted)} "
            f"permutations {best:.4g}, score={self.score:.4g})"
        )


def permutation_test(
    path: Any,
    *,
    n_permutations: int = 999,
    rng: Any = 0,
) -> PermutationTest:
    """Test whether the response has anything to do with X, for the whole path at once.

    The score of model m is that of generalised cross-validation,

        (RSS(m) / n) / (1 - D(m) / n)^2,

    with the Degrees of Freedom D(m) averaged over the permutations, which is what they are
    expected to be without a relation. The smallest one over m >= 1 is compared with that of
    permuted responses, so that looking for the best size is part of the test.

    Parameters
    ----------
    path : Path
        Fitted without sample weights.
    n_permutations : int
        At least 19; 999 by default.
    rng : int or numpy Generator, optional
        The default makes the test reproducible.

    Returns
    -------
    PermutationTest

    Notes
    -----
    The p-value is exact for exchangeable rows: at most alpha of the tests reject at level alpha.
    Cost: one recursion for all permutations, O(r M^2) time each; X is not decomposed again. 999
    permutations of 70 x 700 spectra with 30 components take less than a second. Reference: Phipson
    & Smyth (2010), Statistical Applications in Genetics and Molecular Biology 9, 39.

    Examples
    --------
    >>> from plsdof import pls_path
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(40, 8))
    >>> permutation_test(pls_path(X, rng.normal(size=40)), n_permutations=199).p_value > 0.05
    True
    >>> permutation_test(pls_path(X, X[:, 0] + rng.normal(size=40))).p_value
    0.001
    """
    n_permutations = as_count(n_permutations, "n_permutations", minimum=19)
    path = as_path(path)
    exact = path.exact
    if exact.units.row_scale is not None:
        raise NotAvailableError(
            "Weighted rows are not exchangeable, so their responses cannot be permuted; repeat "
            "rows instead of weighting them."
        )
    largest = len(path) - 1
    if largest < 1:
        raise NotAvailableError("The path has the empty model only, which no test can reject.")
    complete = exact.complete()
    centred = path.response() - exact.units.y_mean
    generator = as_generator(rng)
    # The data themselves come first.
    drawn = np.array([centred, *(generator.permutation(centred) for _ in range(n_permutations))])
    Z = _rotated(complete, drawn)
    total = float(centred @ centred)
    spare = complete.spectrum.residual_dimension > 0
    outside = np.maximum(total - np.vecdot(Z, Z), 0.0) if spare else np.zeros(len(Z))
    parts = [(part.rss, part.dof) for part in many_models(complete, Z, largest)]
    n, size = exact.spectrum.n, min(dof.shape[1] for _, dof in parts)
    rss = np.concatenate([rss[:, :size] for rss, _ in parts]) + outside[:, None]
    scores, expected = _scores(rss, np.concatenate([dof[:, :size] for _, dof in parts]), n)
    best = scores.min(axis=1)
    better = int(np.count_nonzero(best[1:] <= best[0]))
    return PermutationTest(
        p_value=(1 + better) / (1 + n_permutations),
        score=float(best[0]),
        permuted=read_only(best[1:]),
        index=int(np.argmin(scores[0])),
        dof=read_only(expected),
        total=total / n / (1.0 - 1.0 / n) ** 2,
    )


def _scores(rss: Array, dof: Array, n: float) -> tuple[Array, Array]:
    """Return scores (B, K), infinite for what is not a candidate, and the average dof (K,)."""
    # Single values are heavy-tailed; the average is what they estimate.
    expected = np.clip(np.nan_to_num(dof, nan=n), 1.0, n).mean(axis=0)
    candidate = expected <= _MOST_DOF * n
    candidate[0] = False
    if not candidate.any():
        candidate[1 + int(np.argmin(expected[1:]))] = True
    share = 1.0 - np.minimum(expected, 0.999 * n) / n
    scores = rss / n / share**2
    return np.where(candidate & np.isfinite(scores), scores, np.inf), expected
