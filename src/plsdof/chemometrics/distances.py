"""How far rows are from a model: T^2 within its components and Q beside them, with limits.

Notation: X = U S V' are the standardised predictors (rows times the square roots of the weights),
T the rotated orthonormal scores of m components. In this basis PLS splits X into

    X = (U T)(V S T)' + E,      E = U B V',      B = (I - TT') S,

so training rows need products of size r only; a new row x has the scores x V S^{-1} T.
With weights, n is their sum, as if every row were repeated that often. Paths of penalised PLS are
taken as well, with X = U F Q' for orthonormal Q and F in the place of S (`diagnostics`);
those of kernel PLS have scores, hence T^2, but no residuals in the predictors.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv, fdtri, gammaincinv, ndtr, stdtrit

from plsdof._core import inputs
from plsdof._core.display import data_frame, one_line, plural
from plsdof._core.folds import Split
from plsdof._core.inputs import Array
from plsdof._core.left_out import MOST_COMPONENTS, conformal_quantile, hold_out
from plsdof._core.model import as_model
from plsdof._core.paths import PLSPath
from plsdof._core.standardize import Standardized, standardize_observations
from plsdof._core.warnings import quietly
from plsdof.chemometrics.diagnostics import (
    Diagnostic,
    Limit,
    as_predictor_path,
    as_score_path,
    diagnose,
    row_factor,
    squared_rows,
    times_predictors,
)
from plsdof.errors import InvalidInputError

if TYPE_CHECKING:
    from pandas import DataFrame

Integers = npt.NDArray[np.intp]

# Monitoring: how far rows are from the model, within its components (T^2) and beside them (Q)
# --------------------------------------------------------------------------------------------

LIMITS = ("cross-validated", "distribution")
LimitKind = Literal["cross-validated", "distribution"]

_EPS = float(np.finfo(np.float64).eps)
# Mean and variance of fewer held-out rows do not describe a tail.
_FEWEST = 10
# A held-out row beyond so many times the limit of the others at this level is not ordinary.
_FAR, _FAR_LEVEL = 2.0, 0.999
# Shares of rows that differ by less are equal.
_ROUNDING = 1e-9


@dataclass(frozen=True, kw_only=True, eq=False)
class LeftOutValues:
    """T^2 or Q of rows that took no part in the fit they are measured by, and the limit they give.

    ``values`` and ``weights``, ones without weights, are (n_rows,) arrays; ``units`` is the number
    of rows, or of groups of rows that were held out together.

    Examples
    --------
    >>> left = LeftOutValues(values=np.arange(1.0, 40.0), weights=np.ones(39), units=39)
    >>> left.limit(0.95).limit
    38.0
    """

    values: Array
    weights: Array
    units: int

    @property
    def ordinary(self) -> Integers:
        """The rows whose values are not far from all smaller ones, smallest first.

        Rows far from all others would raise their own limit: the largest values, at most a
        tenth of them, if each is more than twice the quantile of g chi^2(h) at 0.999 that all
        smaller ones give. Several such rows do not mask each other.
        """
        values = self.values
        order, least = np.argsort(values, kind="stable"), int(max(0.9 * len(values), 3))
        kept = len(order)
        for size in range(kept - 1, least - 1, -1):
            mean, variance = self._moments(order[:size])
            if not variance > (_EPS * mean) ** 2:
                break
            if values[order[size]] > _FAR * _scaled_chi_square(mean, variance, _FAR_LEVEL):
                kept = size
        return order[:kept]

    def limit(self, level: float) -> Limit:
        """Return the limit that one more row stays below with probability ``level``.

        That of the ordinary values (`conformal_quantile`: no distribution is assumed). Where no
        value is that large, the largest one, or the quantile of g chi^2(h) with their mean and
        variance if that is larger, at the level that Student's t would take for one more
        observation of n normal ones.
        """
        rows = self.ordinary
        far = len(self.values) - len(rows)
        units, values = max(self.units - far, 1), self.values[rows]
        mean, variance = self._moments(rows)
        if not variance > (_EPS * mean) ** 2:
            text = "The held-out rows have the same value, so they give no limit."
            return Limit(limit=np.nan, method="cross-validated", message=text)
        notes, value = [], conformal_quantile(values, level, self.weights[rows], units)
        if value is None:
            further = ndtr(stdtrit(max(units - 1, 1), level) * np.sqrt(1.0 + 1.0 / units))
            value = max(_scaled_chi_square(mean, variance, further), values[-1])
            needed = int(np.ceil(level / (1.0 - level) - _ROUNDING))
            notes.append(
                f"A limit at level {level:g} needs {needed} rows; with {units} it is an "
                "extrapolation, which about twice as many ordinary rows exceed if predictors are "
                "skewed."
            )
        if far:
            rows_far = plural(far, "row")
            notes.append(f"The limit comes from the other rows: {rows_far} far from them ignored.")
        return Limit(limit=float(value), method="cross-validated", message=" ".join(notes))

    def _moments(self, rows: Integers) -> tuple[float, float]:
        values, weights = self.values[rows], self.weights[rows]
        n = float(weights.sum())
        mean = float(weights @ values) / n
        return mean, float(weights @ (values - mean) ** 2) / (n - 1.0)


@dataclass(frozen=True, kw_only=True, eq=False)
class LeftOutRows:
    """T^2 and Q of held-out rows; ``q`` is None for kernel PLS."""

    t2: LeftOutValues
    q: LeftOutValues | None


def left_out_rows(model: Any, *, cv: Any = None) -> LeftOutRows:
    """Measure every row by the fit without its fold.

    Rows that take part in a fit are closer to it than new ones; these do not, so that limits from
    their values hold for new rows whatever the distribution of X.

    Parameters
    ----------
    model : Model, or a fitted estimator
        Of PLS, penalised or kernel PLS, fitted to arrays in memory; of an average the model with
        the largest weight.
    cv : int, splitter or pairs, optional
        Folds that leave out every row once. By default those behind the choice of the model, with
        its groups, or those of `Path.left_out`.

    Notes
    -----
    Cost: one recursion for all folds, or a fit of each where a step of preprocessing learns from
    rows. Models with up to 30 components are measured at once, and kept.

    Examples
    --------
    >>> from plsdof import pls_path
    >>> from plsdof.datasets import load_ozone
    >>> found = left_out_rows(pls_path(*load_ozone(return_X_y=True))[2])
    >>> round(found.t2.limit(0.95).limit, 1), round(found.q.limit(0.95).limit, 1)
    (5.7, 10.7)
    """
    model = as_model(model)
    path = as_score_path(model.path)
    given = path.rows.require_in_memory()
    if cv is None:
        left = model.left_out
    else:
        folds = path.store.folds(min(cv, len(given.y)) if isinstance(cv, int) else cv, None)
        left = path.store.left_out(*folds, through=model.index)
    fold, count = left.fold, left.groups
    weights = np.ones(len(given.y)) if given.weights is None else given.weights
    # Sums of weights of the fits without each fold: leverages are 1/n_f + |t|^2.
    n = (weights.sum() - np.bincount(fold, weights))[fold]
    t2 = (n - 1.0) * np.maximum(left.leverage[model.index] - 1.0 / n, 0.0)
    rows = partial(LeftOutValues, weights=weights, units=len(given.y) if count is None else count)
    return LeftOutRows(
        t2=rows(values=inputs.read_only(t2)),
        q=None if path.rows.is_dual else rows(values=_left_out_q(path, fold, model.index)),
    )


def _left_out_q(path: PLSPath, fold: Integers, m: int) -> Array:
    """Return Q of the held-out rows, by all models that a choice considers at once; kept."""
    known, key = path.store.q, fold.tobytes()
    if key not in known or len(known[key]) <= m:
        every = path.store.most_components()
        most = min(every, MOST_COMPONENTS) if m <= MOST_COMPONENTS else every
        problem, run = path.store.fold_problem(), None
        with quietly():  # what there is to say of a fold was said of all rows
            if problem is not None:
                run = hold_out(problem, Split.of(fold), most, keep=True)
            if run is not None and len(run.rss) <= m:
                run = None  # the recursion ends before this model, which every fold then fits
            most = most if run is None else len(run.rss) - 1
            found = np.zeros((most + 1, len(fold)))
            for f in range(int(fold.max()) + 1):
                train, test = np.flatnonzero(fold != f), fold == f
                if problem is None or run is None:
                    part = as_score_path(path.store.fit_rows(train))
                    size = min(most, part.store.most_components())
                    rotations = part.leverage_of(np.eye(size + 1)[-1]).rotations
                    rows, new = part.rows.seen(), part.rows.new(path.rows.require().X[test])
                else:
                    size = int(np.count_nonzero(~run.exhausted[:, f])) - 1
                    rotations = run.rotations(size, f)
                    rows, new = problem.given.some(train), problem.given.X[test]
                data = standardize_observations(rows, scale=path.recipe.options.get("scale", True))
                left = _squared_residuals(data, rotations, new)
                # A fold without further components stays at its last one.
                found[:, test] = left[np.minimum(np.arange(most + 1), len(left) - 1)]
        known[key] = inputs.read_only(found)
    values: Array = known[key][m]
    return values


def _squared_residuals(data: Standardized, rotations: Array, X_new: Array) -> Array:
    """Return what the first 0, 1, ... components of a fit leave of new rows. (k + 1, n_new)."""
    unit, mean = row_units(data.units.x_scale), data.units.x_mean
    rotations = np.where(np.isfinite(unit), unit, 0.0) * rotations
    left = (X_new - mean) / unit
    # Scores are orthonormal over the training rows, so that these times them are the loadings.
    scores, loadings = left @ rotations.T, data.X.T @ (data.X @ rotations.T)
    found = [squared_rows(left)]
    for score, loading in zip(scores.T, loadings.T, strict=True):
        left = left - np.outer(score, loading)
        found.append(squared_rows(left))
    return np.array(found)


def _is_cross_validated(limit: str | None) -> bool:
    """Whether the limit of training rows comes from cross-validation."""
    return limit is not None and inputs.as_choice(limit, "limit", LIMITS) == "cross-validated"


def has_left_out_limits(path: PLSPath) -> bool:
    """Whether limits can come from cross-validation: data in memory, and enough of them."""
    return path.rows.in_memory and len(path.response()) >= _FEWEST


def hotelling_t2(
    model: Any, X_new: Any = None, *, level: float = 0.95, limit: LimitKind | None = None
) -> Diagnostic:
    """Return Hotelling's T^2 of the training rows, or of new rows, with its limit.

        T^2_i = sum_{j <= m} t_ij^2 / s_j^2,     s_j^2: variance of score j (divisor n - 1).

    Training rows are part of the mean and variances they are measured by, so that T^2 <=
    (n-1)^2/n and the limit is a quantile of (n-1)^2/n Beta(m/2, (n-m-1)/2). New rows are not,
    and the limit is that of m (n^2-1) / (n (n-m)) F(m, n-m). Both are exact for normal scores of
    a fixed projection. PLS chooses its projection from y, and X need not be normal; so the limit
    for new rows is by default that of held-out rows by cross-validation.

    Parameters
    ----------
    model : Model, or a fitted estimator
        Of PLS, penalised or kernel PLS; of an average the model with the largest weight. Without
        components all values are 0.
    X_new : (n_new, p) array or data frame, optional
        New rows; by default the training rows.
    level : float
        Probability that an ordinary row stays below the limit.
    limit : {"cross-validated", "distribution"}, optional
        The quantile for one more row of T^2 of held-out rows (`left_out_rows`), or the
        distributions above. By default the first for new rows, the second for training rows, and
        for a path that has kept no data.

    Returns
    -------
    Diagnostic

    Notes
    -----
    How many ordinary new rows either limit flags was measured: docs/coverage.md.
    Cost: O(n r m) time, for new rows O((n_new + r) p m), and `left_out_rows` once for the
    cross-validated limit.

    References
    ----------
    Tracy, Young & Mason (1992), Journal of Quality Technology 24, 88-95.

    Examples
    --------
    >>> from plsdof import pls_path
    >>> path = pls_path([[1.0, 2.0], [2.0, 1.0], [3.0, 5.0], [4.0, 4.0]], [1.0, 2.0, 3.0, 5.0])
    >>> result = hotelling_t2(path[1])
    >>> result.values.round(2), round(result.limit, 2), result.flags.any()
    (array([0.98, 0.52, 0.52, 0.98]), 2.03, np.False_)
    """
    if X_new is not None:
        return _of_new_rows(model, "t2", X_new, level, limit)
    model, level = as_model(model), inputs.as_level(level)
    path, m = as_score_path(model.path), model.index
    exact = path.exact
    n = exact.n
    values = (n - 1.0) * squared_rows(exact.to_rows(exact.scores(m)))
    if _is_cross_validated(limit) and m > 0:
        return diagnose("t2", values, left_out_rows(model).t2.limit(level), level)
    return diagnose("t2", values, t2_limit(n, m, level, True), level)


def q_residuals(
    model: Any, X_new: Any = None, *, level: float = 0.95, limit: LimitKind | None = None
) -> Diagnostic:
    """Return the squared prediction error of every row of the standardised X, with its limit.

        Q_i = |x_i - sum_{j <= m} t_ij p_j|^2

    Parameters
    ----------
    model : Model, or a fitted estimator
        Of PLS or penalised PLS; of an average the model with the largest weight. With as many
        components as X has directions the Q of training rows is zero.
    X_new : (n_new, p) array or data frame, optional
        New rows; by default the training rows.
    level : float
        Probability that an ordinary row stays below the limit.
    limit : {"cross-validated", "distribution"}, optional
        The quantile for one more row of Q of held-out rows (`left_out_rows`), the default for new
        rows; or, the default for training rows and for a path that has kept no data, that of
        g chi^2(h) with the mean and variance that the eigenvalues of the residual covariance
        E'E / (n - 1) give a sum of squares.

    Returns
    -------
    Diagnostic

    Notes
    -----
    How many ordinary new rows either limit flags was measured: docs/coverage.md. Sample
    eigenvalues are too unequal for large p, and training residuals are smaller than new ones: with
    few rows of wide data "distribution" flags less than 5% of training rows.
    Cost: O(n r^2 + r^3) time, for new rows O(n_new p m) more.

    References
    ----------
    Box (1954), Annals of Mathematical Statistics 25, 290-302; Nomikos & MacGregor (1995),
    Technometrics 37, 41-59.

    Examples
    --------
    >>> from plsdof import pls_path
    >>> path = pls_path([[1.0, 2.0], [2.0, 1.0], [3.0, 5.0], [4.0, 4.0]], [1.0, 2.0, 3.0, 5.0])
    >>> q_residuals(path[1]).values.round(3)
    array([0.157, 0.298, 0.298, 0.157])
    """
    if X_new is not None:
        return _of_new_rows(model, "q", X_new, level, limit)
    model, level = as_model(model), inputs.as_level(level)
    path, m = as_predictor_path(model.path, "Q"), model.index
    B, exact = residual_factor(path, m), path.exact.complete()
    values = squared_rows(exact.to_rows(B))
    if _is_cross_validated(limit) and B.any():
        left = left_out_rows(model).q
        assert left is not None
        return diagnose("q", values, left.limit(level), level)
    found, spectrum = q_limit(residual_variances(path, B), level), exact.spectrum
    notes = [found.message]
    if spectrum.unresolved * spectrum.floor > 1e-3 * np.linalg.norm(B) ** 2:
        notes.append("Q is near the resolution of the Gram matrix; fit with solver='svd'.")
    return diagnose("q", values, replace(found, message=" ".join(filter(None, notes))), level)


def _of_new_rows(
    model: Any, name: str, X_new: Any, level: float, limit: LimitKind | None
) -> Diagnostic:
    """Ask what answers for new rows."""
    asked = model if hasattr(model, name) else as_model(model).predictor
    found: Diagnostic = getattr(asked, name)(X_new, level=level, limit=limit)
    return found


def score_spread(path: PLSPath, level: float) -> tuple[Array, Array]:
    """Return standard deviations of the scores, and half axes of the ellipse of two of them. (M,).

    t_a^2 / s_a^2 + t_b^2 / s_b^2 = limit of T^2 with two components, for training rows; nan where
    there are too few rows for it.
    """
    n = path.exact.n
    spread = np.abs(path.filter.diagonal) / np.sqrt(n - 1.0)
    return spread, np.sqrt(t2_limit(n, 2, level, True).limit) * spread


def standardized_rows(path: PLSPath, X_new: Any) -> Array:
    """Return new rows in the units of the fit."""
    rows: Array = path.rows.new(X_new, sparse=False)
    return np.asarray((rows - path.exact.x_mean) / row_units(path.exact.x_scale))


def row_units(x_scale: Array) -> Array:
    """Return what the columns of a row are divided by.

    A column that did not vary has no unit (inf) and is left out, unless nothing was scaled at all.
    """
    unscaled = np.all(np.isin(x_scale, (1.0, np.inf)))
    return np.ones_like(x_scale) if unscaled else x_scale


def residual_factor(path: PLSPath, m: int) -> Array:
    """Return B = (I - TT') F, exactly zero where m components leave only rounding of X."""
    F, T = row_factor(path), path.exact.complete().scores(m)
    B = F - T @ (T.T @ F)
    # About the floor of the numerical rank of X.
    floor = max(path.exact.n, len(path.exact.x_mean)) * _EPS * np.linalg.norm(F)
    return B if np.linalg.norm(B) > floor else np.zeros_like(B)


def t2_limit(n: float, m: int, level: float, training: bool) -> Limit:
    """Return the limit of T^2 for training rows, or for new ones."""
    spare = n - m - 1.0 if training else n - m
    method = "beta distribution" if training else "F distribution"
    if m == 0 or spare <= 0:
        text = f"T^2 of {m} components and {n:g} rows has no limit."
        return Limit(limit=np.nan, method=method, message=text)
    if training:
        value = (n - 1.0) ** 2 / n * betaincinv(m / 2, spare / 2, level)
    else:
        value = m * (n**2 - 1.0) / (n * spare) * fdtri(m, spare, level)
    return Limit(limit=float(value), method=method)


def residual_variances(path: PLSPath, B: Array) -> Array:
    """Return the eigenvalues of the residual covariance E'E/(n-1), from its factor B."""
    singular_values = np.asarray(np.linalg.svd(B, compute_uv=False), dtype=np.float64)
    return singular_values**2 / (path.exact.n - 1.0)


def q_limit(variances: Array, level: float) -> Limit:
    """Return the limit of Q for residuals with these variances, by Box's approximation.

    Examples
    --------
    >>> round(q_limit(np.ones(5), 0.95).limit, 2)  # chi^2 with 5 degrees of freedom
    11.07
    """
    method = "chi-square distribution"
    unit = float(variances.max(initial=0.0))
    if unit == 0:
        text = "The components reproduce X: Q is 0 in all training rows and has no limit."
        return Limit(limit=np.nan, method=method, message=text)
    shares = variances / unit  # powers may leave the range of floats
    value = _scaled_chi_square(float(shares.sum()), 2.0 * float(shares @ shares), level)
    return Limit(limit=unit * value, method=method)


def _scaled_chi_square(mean: float, variance: float, level: float) -> float:
    """Return the quantile of g chi^2(h) with this mean g h and variance 2 g^2 h."""
    df = 2.0 * mean**2 / variance
    return mean / df * 2.0 * float(gammaincinv(df / 2.0, level))


# Contributions: which variables make the T^2 or the Q of a row large
# -------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Contributions:
    """What every variable adds to T^2 and Q of every row; see `contributions`.

    Attributes
    ----------
    t2 : (n, p) array
        Rows sum to T^2. Single entries may be negative.
    q : (n, p) array
        e |e| for the residuals e of the standardised predictors: their sizes sum to Q, and the
        sign says whether a variable is above or below what the components describe.
    names : tuple of str or None
        Of the variables.
    row_names : tuple or None
        Of the rows, where X_new was a pandas object.

    Examples
    --------
    >>> from plsdof import pls_path
    >>> contributions(pls_path([[1.0], [2.0], [4.0], [5.0]], [1.0, 2.0, 3.0, 5.0])[1])
    Contributions(4 rows, 1 variables)
    """

    t2: Array
    q: Array
    names: tuple[str, ...] | None = None
    row_names: tuple[Any, ...] | None = None

    def to_frame(self, row: int) -> "DataFrame":
        """Return the contributions to one row as a data frame with one row per variable."""
        index = inputs.as_count(row, "row")
        if index >= len(self.t2):
            raise InvalidInputError(f"row must be in 0..{len(self.t2) - 1}; got {row}.")
        return data_frame({"t2": self.t2[index], "q": self.q[index]}, self.names)

    def __repr__(self) -> str:
        return one_line(self, f"{self.t2.shape[0]} rows", f"{self.t2.shape[1]} variables")


def contributions(model: Any, X_new: Any = None) -> Contributions:
    """Return what every variable adds to T^2 and to Q of the training rows, or of new rows.

    With standardised predictors x, rotations R (t = R'x) and loadings P,

        T^2 = sum_k c_k,    c_k = x_k sum_{j <= m} R_kj t_j / s_j^2,
        Q   = sum_k e_k^2,  e = x - sum_{j <= m} t_j p_j.

    Variables share a large value among correlated ones, so that a contribution points at a region
    of a spectrum rather than at one wavelength; single contributions have no limit.

    Parameters
    ----------
    model : Model, or a fitted estimator
        Of PLS or penalised PLS; of an average the model with the largest weight. Without
        components all contributions to T^2 are 0.
    X_new : (n_new, p) array or data frame, optional
        New rows; by default the training rows.

    Returns
    -------
    Contributions

    Notes
    -----
    Cost: O(n p r) time for training rows, O(n_new p m) for new ones.

    References
    ----------
    Miller, Swanson & Heckler (1998), Applied Mathematics and Computer Science 8, 775-792;
    Westerhuis, Gurden & Smilde (2000), Chemometrics and Intelligent Laboratory Systems 51, 95-114.

    Examples
    --------
    >>> from plsdof import pls_path
    >>> path = pls_path([[1.0, 2.0], [2.0, 1.0], [3.0, 5.0], [4.0, 4.0]], [1.0, 2.0, 3.0, 5.0])
    >>> found = contributions(path[1])
    >>> found.t2.sum(axis=1).round(2), hotelling_t2(path[1]).values.round(2)
    (array([0.98, 0.52, 0.52, 0.98]), array([0.98, 0.52, 0.52, 0.98]))
    """
    model, labels = as_model(model), inputs.row_labels(X_new)
    path, m = as_predictor_path(model.path, "A contribution"), model.index
    exact = path.exact.complete()
    if X_new is None:
        everything = np.eye(len(exact.scores(m)))
        rows = exact.to_rows(everything) @ times_predictors(path, everything).T
    else:
        rows = standardized_rows(path, model.prepare(X_new))
    # Scores in units where those of the training rows are orthonormal, and what they leave of rows
    rotations, loadings = exact.rotations(m), times_predictors(path, exact.scores(m))
    scores = rows @ rotations
    residual = rows - scores @ loadings.T
    if X_new is None and not residual_factor(path, m).any():
        residual[:] = 0.0
    return Contributions(
        t2=inputs.read_only((exact.n - 1.0) * rows * (scores @ rotations.T)),
        q=inputs.read_only(residual * np.abs(residual)),
        names=path.feature_names,
        row_names=None if labels is None else tuple(labels),
    )
