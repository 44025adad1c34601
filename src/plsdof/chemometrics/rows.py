"""Rows that do not fit: T^2, Q, leverage and residuals.

Notation: X = U S V' are the standardised predictors (rows times the square roots of the weights),
T the rotated orthonormal scores of m components. In this basis PLS splits X into

    X = (U T)(V S T)' + E,      E = U B V',      B = (I - TT') S,

so training rows need products of size r only; a new row x has the scores x V S^{-1} T.
With weights, n is their sum, as if every row were repeated that often. Paths of penalised PLS are
taken as well, with X = U F Q' for orthonormal Q and F in the place of S (`diagnostics`);
those of kernel PLS have scores, hence T^2, but no residuals in the predictors.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv, fdtri, gammaincinv, ndtri, stdtrit

from plsdof._core.criteria import Noise
from plsdof._core.display import data_frame, one_line, plural
from plsdof._core.inputs import (
    Array,
    as_choice,
    as_count,
    as_fraction,
    as_positive,
    as_response,
    read_only,
    require_type,
    row_labels,
)
from plsdof._core.path import Path, PathLike, PLSPath, as_model
from plsdof.chemometrics.diagnostics import (
    Diagnostic,
    Limit,
    as_pls_path,
    as_predictor_path,
    as_score_path,
    diagnose,
    row_factor,
    squared_rows,
    times_predictors,
)
from plsdof.errors import InvalidInputError, PlsdofWarning
from plsdof.selection.folds import Fold, Integers, make_folds
from plsdof.selection.left_out import left_out_models

if TYPE_CHECKING:
    from pandas import DataFrame

# Monitoring: how far rows are from the model, within its components (T^2) and beside them (Q)
# --------------------------------------------------------------------------------------------

T2_LIMITS = ("cross-validated", "distribution")
Q_LIMITS = ("cross-validated", "jackson-mudholkar", "box", "moments")
_FOLDS = 10

_EPS = float(np.finfo(np.float64).eps)
# A left-out row beyond so many times the limit of the others at this level is no ordinary one.
_FAR, _FAR_LEVEL = 2.0, 0.999


@dataclass(frozen=True, kw_only=True, eq=False)
class LeftOutRows:
    """T^2 and Q of rows that took no part in the fit they are measured by.

    ``t2`` and ``q`` are (n_rows,) arrays; ``q`` is None for kernel PLS. ``weights`` are those of
    the rows, ones without weights.
    """

    t2: Array
    q: Array | None
    weights: Array

    def moments(self, name: str) -> tuple[float, float]:
        """Return the mean and the variance of "t2" or "q"; a row counts as often as it weighs.

        Rows far from all others do not count (`outlying`).
        """
        values, rows = self._values(name), self._ordinary(name)
        return _moments(values[rows], self.weights[rows])

    def outlying(self, name: str) -> int:
        """Return how many rows are far from all others: they would hide behind their own limit.

        The largest values, at most a tenth of them, if each is more than twice the limit that all
        smaller ones give at level 0.999. Several such rows do not hide each other.
        """
        return len(self._values(name)) - len(self._ordinary(name))

    def limit(self, name: str, level: float) -> Limit:
        """Return the limit of "t2" or "q": g chi^2(h) with the moments of the left-out values."""
        found, far = limit_from_moments(*self.moments(name), level), self.outlying(name)
        if not far:
            return found
        text = f"The limit comes from the other rows: {plural(far, 'row')} far from them left out."
        return replace(found, message=" ".join(filter(None, [found.message, text])))

    def _values(self, name: str) -> Array:
        values = self.t2 if name == "t2" else self.q
        assert values is not None
        return values

    def _ordinary(self, name: str) -> Integers:
        """Return the rows whose values are not far from all smaller ones, smallest first."""
        values = self._values(name)
        order, least = np.argsort(values, kind="stable"), int(max(0.9 * len(values), 3))
        kept = len(order)
        for size in range(kept - 1, least - 1, -1):
            rest = order[:size]
            mean, variance = _moments(values[rest], self.weights[rest])
            if not (mean > 0 and variance > (_EPS * mean) ** 2):
                break
            if values[order[size]] > _FAR * _scaled_chi_square(mean, variance, _FAR_LEVEL):
                kept = size
        return order[:kept]


def _moments(values: Array, weights: Array) -> tuple[float, float]:
    n = float(weights.sum())
    mean = float(weights @ values) / n
    return mean, float(weights @ (values - mean) ** 2) / (n - 1.0)


def limit_from_moments(mean: float, variance: float, level: float) -> Limit:
    """Return the quantile of g chi^2(h) with this mean and variance; nan if nothing varies."""
    if not (mean > 0 and variance > (_EPS * mean) ** 2):
        text = "The rows left out have the same value, so their variance gives no limit."
        return Limit(value=np.nan, method="cross-validated", message=text)
    return Limit(value=_scaled_chi_square(mean, variance, level), method="cross-validated")


def left_out_rows(path: PathLike, m: int | None = None, *, cv: Any = _FOLDS) -> LeftOutRows:
    """Fit m components without each fold in turn and measure the rows of the fold.

    Rows that take part in a fit are closer to it than new ones; these do not, so that limits from
    their values hold for new rows whatever the distribution of X. Cost: a small decomposition per
    fold, all folds at once.

    Parameters
    ----------
    path : PLSPath, PenalizedPLSPath or KernelPLSPath
        Fitted to arrays in memory.
    m : int
    cv : int, splitter or pairs
        Folds, at most one per row; 10 by default.

    Examples
    --------
    >>> from plsdof import pls_path
    >>> from plsdof.datasets import load_ozone
    >>> X, y = load_ozone(return_X_y=True)
    >>> found = left_out_rows(pls_path(X, y), 2)
    >>> round(found.limit("t2", 0.95).value, 1), round(found.limit("q", 0.95).value, 1)
    (5.4, 11.0)
    """
    model = as_model(path, m)
    return left_out_rows_of(as_score_path(model.path), [model.index], cv=cv)[0]


def left_out_rows_of(
    path: PLSPath, models: Sequence[int], *, cv: Any = _FOLDS
) -> tuple[LeftOutRows, ...]:
    """Measure left-out rows with several numbers of components: one fit per fold has all of them.

    See `left_out_rows`, which takes one of them.
    """
    y, X = path.require_response(), path.training_inputs()
    weights = np.ones(len(y)) if path.units.row_scale is None else path.units.row_scale**2
    has_q, most = not hasattr(path, "inputs"), max(models)
    t2, q = np.full((len(models), len(y)), np.nan), np.full((len(models), len(y)), np.nan)
    folds = make_folds(X, y, min(cv, len(y)) if isinstance(cv, int) else cv)

    def measure(part: Any, fold: Fold) -> None:
        size = min(most, len(part.dof) - 1)
        taken = np.minimum(models, size)
        rows = _standardized(part, X[fold.test])
        scores = _new_scores(part, size, rows)
        t2[:, fold.test] = (part.spectrum.n - 1.0) * _sums_of_squares(scores)[taken]
        if has_q:
            loadings = times_predictors(part, part.filter.scores[:, :size])
            q[:, fold.test] = _squared_residuals(rows, scores, loadings)[taken]

    with warnings.catch_warnings():
        # Columns may be constant in a fold, and components fewer; the whole fit has told.
        warnings.simplefilter("ignore", PlsdofWarning)
        left_out_models(path, folds, measure, components=max(most, 1))
    # Folds need not leave out every row.
    known = np.isfinite(t2).all(axis=0)
    return tuple(
        LeftOutRows(
            t2=read_only(one_t2[known]),
            q=read_only(one_q[known]) if has_q else None,
            weights=read_only(weights[known]),
        )
        for one_t2, one_q in zip(t2, q, strict=True)
    )


def _sums_of_squares(scores: Array) -> Array:
    """Return the squared lengths of the first 0, 1, ... scores. Shape (m + 1, n_rows)."""
    return np.vstack([np.zeros(len(scores)), np.cumsum(scores.T**2, axis=0)])


def _squared_residuals(rows: Array, scores: Array, loadings: Array) -> Array:
    """Return what the first 0, 1, ... components leave of every row. Shape (m + 1, n_rows)."""
    left = np.array(rows)
    found = [squared_rows(left)]
    for score, loading in zip(scores.T, loadings.T, strict=True):
        left -= np.outer(score, loading)
        found.append(squared_rows(left))
    return np.array(found)


def _is_cross_validated(path: PLSPath, limit: str | None, new: bool) -> bool:
    """Whether a limit comes from rows left out: by default for new rows, where there are data."""
    if limit is not None:
        return limit == "cross-validated"
    return new and has_left_out_limits(path)


def has_left_out_limits(path: PLSPath) -> bool:
    """Whether limits can come from rows left out: data in memory, and enough of them."""
    kept = path.response is not None and path.fit_again is not None
    return kept and path.units.n_rows >= _FOLDS


def hotelling_t2(
    path: PathLike,
    m: int | None = None,
    X_new: Any = None,
    level: float = 0.95,
    *,
    limit: str | None = None,
    left_out: LeftOutRows | None = None,
) -> Diagnostic:
    """Return Hotelling's T^2 of the training rows, or of new rows, with its limit.

        T^2_i = sum_{j <= m} t_ij^2 / s_j^2,     s_j^2: variance of score j (divisor n - 1).

    Training rows are part of the mean and variances they are measured by, so that T^2 <=
    (n-1)^2/n and the limit is a quantile of (n-1)^2/n Beta(m/2, (n-m-1)/2). New rows are not,
    and the limit is that of m (n^2-1) / (n (n-m)) F(m, n-m). Both are exact for normal scores of
    a fixed projection. PLS chooses its projection from y, and X need not be normal; so the limit
    for new rows is by default that of rows left out by cross-validation.

    Parameters
    ----------
    path : PLSPath, PenalizedPLSPath or KernelPLSPath
    m : int
        Number of components. With m = 0 all values are 0.
    X_new : (n_new, p) array or data frame, optional
        New rows; by default the training rows.
    level : float
        Probability that an ordinary row stays below the limit.
    limit : {"cross-validated", "distribution"}, optional
        g chi^2(h) with the mean and variance of T^2 over rows left out in 10 folds, or the
        distributions above. By default the first for new rows, the second for training rows, and
        for a path that has kept no data.
    left_out : LeftOutRows, optional
        What `left_out_rows` returns, if it is there already.

    Returns
    -------
    Diagnostic

    Notes
    -----
    Nominal 5%: the cross-validated limit flagged 4.3% to 7.1% of ordinary new rows in 21 designs
    with normal, log-normal and real predictors, "distribution" 0.4% to 7.2% (docs/coverage.md).
    Cost: O(n r m) time, for new rows O((n_new + r) p m), and 10 fits for the cross-validated limit.

    References
    ----------
    Tracy, Young & Mason (1992), Journal of Quality Technology 24, 88-95.

    Examples
    --------
    >>> from plsdof import pls_path
    >>> path = pls_path([[1.0, 2.0], [2.0, 1.0], [3.0, 5.0], [4.0, 4.0]], [1.0, 2.0, 3.0, 5.0])
    >>> result = hotelling_t2(path, 1)
    >>> result.values.round(2), round(result.limit, 2), result.flags.any()
    (array([0.98, 0.52, 0.52, 0.98]), 2.03, np.False_)
    """
    model, level = as_model(path, m, average=False), as_fraction(level, "level")
    path, m, X_new = as_score_path(model.path), model.index, model.rows(X_new)
    if limit is not None:
        as_choice(limit, "limit", T2_LIMITS)
    training = X_new is None
    values = _t2_values(path, m, X_new)
    if m > 0 and _is_cross_validated(path, limit, not training):
        return diagnose("t2", values, _left_out(path, m, left_out).limit("t2", level), level)
    return diagnose("t2", values, t2_limit(path.spectrum.n, m, level, training), level)


def _left_out(path: Path, m: int, known: LeftOutRows | None) -> LeftOutRows:
    if known is None:
        return left_out_rows(path, m)
    require_type(known, LeftOutRows, "left_out", "left_out_rows")
    return known


def _t2_values(path: PLSPath, m: int, X_new: Any) -> Array:
    T = path.filter.scores[:, :m]
    new = X_new is not None
    scores = _new_scores(path, m, _standardized(path, X_new)) if new else path.to_rows(T)
    return (path.spectrum.n - 1.0) * squared_rows(scores)


def q_residuals(
    path: PathLike,
    m: int | None = None,
    X_new: Any = None,
    level: float = 0.95,
    *,
    limit: str | None = None,
    left_out: LeftOutRows | None = None,
) -> Diagnostic:
    """Return the squared prediction error of every row of the standardised X, with its limit.

        Q_i = |x_i - sum_{j <= m} t_ij p_j|^2

    Parameters
    ----------
    path : PLSPath or PenalizedPLSPath
    m : int
        Number of components; with m = rank the Q of training rows is zero.
    X_new : (n_new, p) array or data frame, optional
        New rows; by default the training rows.
    level : float
        Probability that an ordinary row stays below the limit.
    limit : {"cross-validated", "jackson-mudholkar", "box", "moments"}, optional
        "cross-validated" fits g chi^2(h) to mean and variance of Q over rows left out in 10 folds;
        it is the default for new rows. The next two use the eigenvalues l of the residual
        covariance E'E/(n-1) through theta_k = sum l^k: a normal approximation to a power of Q
        (the default for training rows, and for a path that has kept no data), and Box's
        (theta_2/theta_1) chi^2 with theta_1^2/theta_2 degrees of freedom. "moments" fits g chi^2(h)
        to mean and variance of Q over the training rows.
    left_out : LeftOutRows, optional
        What `left_out_rows` returns, if it is there already.

    Returns
    -------
    Diagnostic

    Notes
    -----
    Nominal 5%: the cross-validated limit flagged 4.3% to 7.1% of ordinary new rows in 21 designs
    with normal, log-normal and real predictors, "jackson-mudholkar" 3% to 41% (docs/coverage.md).
    Sample eigenvalues are too unequal for large p, and training residuals are smaller than new
    ones. In simulations with 5 latent factors (n = 50, p = 10..500, m = 3..5, nominal 5%) the
    first two limits flagged 0.4% to 4% of ordinary training rows and 2% to 15% of new ones,
    "moments" 5% and 12% to 40%; from n = 200 on, 2% to 5% and 4% to 6%, "moments" 5% and 5% to
    9%. So take "moments" for training rows of wide data. Columns that vary independently are
    outside of these ranges: with 500 of them and n = 50, m = 3 the first two limits flagged 0.1%
    of new rows and "moments" 60%. Cost: O(n r^2 + r^3) time, for new rows O(n_new p m) more.

    References
    ----------
    Jackson & Mudholkar (1979), Technometrics 21, 341-349; Box (1954), Annals of Mathematical
    Statistics 25, 290-302; Nomikos & MacGregor (1995), Technometrics 37, 41-59.

    Examples
    --------
    >>> from plsdof import pls_path
    >>> path = pls_path([[1.0, 2.0], [2.0, 1.0], [3.0, 5.0], [4.0, 4.0]], [1.0, 2.0, 3.0, 5.0])
    >>> q_residuals(path, 1).values.round(3)
    array([0.157, 0.298, 0.298, 0.157])
    """
    model, level = as_model(path, m, average=False), as_fraction(level, "level")
    path, m = as_predictor_path(model.path, "Q").complete(), model.index
    X_new = model.rows(X_new)
    if limit is not None:
        as_choice(limit, "limit", Q_LIMITS)
    B = residual_factor(path, m)
    new = X_new is not None
    values = _new_q(path, m, X_new) if new else squared_rows(path.to_rows(B))
    if B.any() and _is_cross_validated(path, limit, new):
        return diagnose("q", values, _left_out(path, m, left_out).limit("q", level), level)
    method = "jackson-mudholkar" if limit in (None, "cross-validated") else limit
    return diagnose("q", values, _q_limit(path, B, level, method, new), level)


def _standardized(path: PLSPath, X_new: Any) -> Array:
    """Return new rows in the units of the fit."""
    rows: Array = path.check_new_rows(X_new)
    return (rows - path.units.x_mean) / row_units(path.units.x_scale)


def row_units(x_scale: Array) -> Array:
    """Return what the columns of a row are divided by.

    A column that did not vary has no unit (inf) and is left out, unless nothing was scaled at all.
    """
    unscaled = np.all(np.isin(x_scale, (1.0, np.inf)))
    return np.ones_like(x_scale) if unscaled else x_scale


def _new_scores(path: PLSPath, m: int, rows: Array) -> Array:
    """Return the scores of standardised rows, in units where training scores are orthonormal."""
    rotated = path.filter.scores[:, :m] / path.decomposition.singular_values[:, None]
    return rows @ path.decomposition.to_features(rotated)


def _new_q(path: PLSPath, m: int, X_new: Any) -> Array:
    rows = _standardized(path, X_new)
    loadings = times_predictors(path, path.filter.scores[:, :m])
    return squared_rows(rows - _new_scores(path, m, rows) @ loadings.T)


def residual_factor(path: PLSPath, m: int) -> Array:
    """Return B = (I - TT') F, exactly zero where m components leave only rounding of X."""
    F, T = row_factor(path), path.filter.scores[:, :m]
    B = F - T @ (T.T @ F)
    # About the floor of the numerical rank of X.
    floor = max(path.spectrum.n, len(path.units.x_mean)) * _EPS * np.linalg.norm(F)
    return B if np.linalg.norm(B) > floor else np.zeros_like(B)


def t2_limit(n: float, m: int, level: float, training: bool) -> Limit:
    """Return the limit of T^2 for training rows, or for new ones."""
    spare = n - m - 1.0 if training else n - m
    method = "beta distribution" if training else "F distribution"
    if m == 0:
        return Limit(value=np.nan, method=method, message="Without components T^2 is 0.")
    if spare <= 0:
        text = f"The {method} of T^2 needs n > {m + training}; n is {n:g}."
        return Limit(value=np.nan, method=method, message=text)
    if training:
        value = (n - 1.0) ** 2 / n * betaincinv(m / 2, spare / 2, level)
    else:
        value = m * (n**2 - 1.0) / (n * spare) * fdtri(m, spare, level)
    return Limit(value=float(value), method=method)


def _q_limit(path: PLSPath, B: Array, level: float, method: str, new: bool) -> Limit:
    text = "The components reproduce X: Q is 0 in all training rows and has no limit."
    limit = Limit(value=np.nan, method=method, message=text)
    if B.any():
        moments = method == "moments"
        limit = (
            _from_moments(path, B, level) if moments else _from_eigenvalues(path, B, level, method)
        )
    notes = [limit.message]
    if new and B.any():
        notes.append("New rows exceed a limit made from training rows too often if n is small.")
    if path.spectrum.unresolved * path.spectrum.floor > 1e-3 * np.linalg.norm(B) ** 2:
        notes.append("Q is near the resolution of the Gram matrix; fit with solver='svd'.")
    return Limit(value=limit.value, method=method, message=" ".join(filter(None, notes)))


def _from_eigenvalues(path: PLSPath, B: Array, level: float, method: str) -> Limit:
    approximate = jackson_mudholkar if method == "jackson-mudholkar" else _box
    return approximate(residual_variances(path, B), level)


def residual_variances(path: PLSPath, B: Array) -> Array:
    """Return the eigenvalues of the residual covariance E'E/(n-1), from its factor B."""
    singular_values = np.asarray(np.linalg.svd(B, compute_uv=False), dtype=np.float64)
    return singular_values**2 / (path.spectrum.n - 1.0)


def jackson_mudholkar(eigenvalues: Array, level: float) -> Limit:
    """Return the limit of Q for residuals with these variances."""
    method = "jackson-mudholkar"
    unit = float(eigenvalues.max(initial=0.0)) or 1.0  # powers may leave the range of floats
    one, two, three = (float(np.sum((eigenvalues / unit) ** k)) for k in (1, 2, 3))
    power = 1.0 - 2.0 * one * three / (3.0 * two**2)
    slope = float(ndtri(level)) * np.sqrt(2.0 * two) / one + two * (power - 1.0) / one**2
    if 1.0 + power * slope <= 0:
        text = f"The Jackson-Mudholkar limit does not exist here (h0 = {power:.2f}); use 'box'."
        return Limit(value=np.nan, method=method, message=text)
    text = ""
    if power < 0:
        text = f"One residual direction dominates (h0 = {power:.2f} < 0): the Jackson-Mudholkar "
        text += "limit is too high then, that of 'box' rather too low for levels near 1."
    # (1 + h0 a)^(1/h0), continued to exp(a) at h0 = 0
    exponent = np.log1p(power * slope) / power if power else slope
    return Limit(value=unit * one * float(np.exp(exponent)), method=method, message=text)


def _box(eigenvalues: Array, level: float) -> Limit:
    one, two = float(np.sum(eigenvalues)), float(np.sum(eigenvalues**2))
    return Limit(value=_scaled_chi_square(one, 2.0 * two, level), method="box")


def _from_moments(path: PLSPath, B: Array, level: float) -> Limit:
    q = squared_rows(path.to_rows(B))
    weight = np.ones_like(q) if path.units.row_scale is None else path.units.row_scale**2
    mean = float(weight @ q) / path.spectrum.n
    variance = float(weight @ (q - mean) ** 2) / (path.spectrum.n - 1.0)
    if variance <= (len(q) * _EPS * mean) ** 2:
        text = "Q is the same in all training rows, so its variance gives no limit."
        return Limit(value=np.nan, method="moments", message=text)
    return Limit(value=_scaled_chi_square(mean, variance, level), method="moments")


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
    >>> contributions(pls_path([[1.0], [2.0], [4.0], [5.0]], [1.0, 2.0, 3.0, 5.0]), 1)
    Contributions(4 rows, 1 variables)
    """

    t2: Array
    q: Array
    names: tuple[str, ...] | None = None
    row_names: tuple[Any, ...] | None = None

    def to_frame(self, row: int) -> "DataFrame":
        """Return the contributions to one row as a data frame with one row per variable."""
        index = as_count(row, "row")
        if index >= len(self.t2):
            raise InvalidInputError(f"row must be in 0..{len(self.t2) - 1}; got {row}.")
        return data_frame({"t2": self.t2[index], "q": self.q[index]}, self.names)

    def __repr__(self) -> str:
        return one_line(self, f"{self.t2.shape[0]} rows", f"{self.t2.shape[1]} variables")


def contributions(path: PathLike, m: int | None = None, X_new: Any = None) -> Contributions:
    """Return what every variable adds to T^2 and to Q of the training rows, or of new rows.

    With standardised predictors x, rotations R (t = R'x) and loadings P,

        T^2 = sum_k c_k,    c_k = x_k sum_{j <= m} R_kj t_j / s_j^2,
        Q   = sum_k e_k^2,  e = x - sum_{j <= m} t_j p_j.

    Variables share a large value among correlated ones, so that a contribution points at a region
    of a spectrum rather than at one wavelength; there is no limit for single contributions.

    Parameters
    ----------
    path : PLSPath or PenalizedPLSPath
    m : int
        Number of components. With m = 0 all contributions to T^2 are 0.
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
    >>> found = contributions(path, 1)
    >>> found.t2.sum(axis=1).round(2), hotelling_t2(path, 1).values.round(2)
    (array([0.98, 0.52, 0.52, 0.98]), array([0.98, 0.52, 0.52, 0.98]))
    """
    model, labels = as_model(path, m, average=False), row_labels(X_new)
    path, m = as_predictor_path(model.path, "A contribution").complete(), model.index
    X_new = model.rows(X_new)
    T = path.filter.scores[:, :m]
    loadings = times_predictors(path, T)
    if X_new is None:
        # In rotated coordinates, where scores and residuals lose no digits.
        everything = np.eye(len(T))
        predictors = times_predictors(path, everything)
        rows, scores = path.to_rows(everything) @ predictors.T, path.to_rows(T)
        left = everything - T @ T.T if residual_factor(path, m).any() else 0.0 * everything
        residual = path.to_rows(left) @ predictors.T
    else:
        rows = _standardized(path, X_new)
        scores = _new_scores(path, m, rows)
        residual = rows - scores @ loadings.T
    # The direction in the space of the predictors that the scores of a row point to.
    rotations = path.decomposition.to_features(T / path.decomposition.singular_values[:, None])
    return Contributions(
        t2=read_only((path.spectrum.n - 1.0) * rows * (scores @ rotations.T)),
        q=read_only(residual * np.abs(residual)),
        names=path.feature_names,
        row_names=None if labels is None else tuple(labels),
    )


# Outliers: T^2, Q, leverage and studentised residuals of the same rows in one table
# ----------------------------------------------------------------------------------

STUDENTIZE = ("jacobian", "leverage")

# A share of the residual variance below this one is rounding: nothing is left to divide by.
_INTERPOLATED = 1e-12
_MEANING = {
    "t2": "far from the centre of the training rows, within the components of the model",
    "q": "varies in a way that the components do not describe: a new effect or a faulty row",
    "leverage": "the fit at this row depends strongly on single responses",
    "studentized": "the response is further from the fit than the noise explains",
}


@dataclass(frozen=True, kw_only=True, repr=False)
class OutlierTable:
    """Four diagnostics of the same rows; see `outliers`.

    Attributes
    ----------
    t2, q, leverage, studentized : Diagnostic
    names : tuple or None
        Labels of the rows, where X_new or y was a pandas object.

    Examples
    --------
    >>> from plsdof import pls_path
    >>> X, y = [[1.0], [2.0], [4.0], [5.0]], [1.0, 2.0, 3.0, 5.0]
    >>> outliers(pls_path(X, y), 1, y)
    OutlierTable(4 rows, flagged: 0 by t2, 0 by q, 0 by leverage, 1 by studentized)
    """

    t2: Diagnostic
    q: Diagnostic
    leverage: Diagnostic
    studentized: Diagnostic
    names: tuple[Any, ...] | None = None

    @property
    def diagnostics(self) -> dict[str, Diagnostic]:
        """The four diagnostics by name."""
        return {name: getattr(self, name) for name in _MEANING}

    @property
    def n_flags(self) -> npt.NDArray[np.intp]:
        """Number of flags of every row, 0..4."""
        flags = [diagnostic.flags for diagnostic in self.diagnostics.values()]
        return np.asarray(np.sum(flags, axis=0), dtype=np.intp)

    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """Return values and flags by column name, ready for a data frame."""
        table: dict[str, npt.NDArray[Any]] = {}
        for name, diagnostic in self.diagnostics.items():
            table |= {name: diagnostic.values, f"{name}_flag": diagnostic.flags}
        return table | {"n_flags": self.n_flags}

    def to_frame(self) -> "DataFrame":
        """Return a pandas data frame with one row per row of the data, named if those are."""
        return data_frame(self.columns(), self.names)

    def describe(self) -> str:
        """Say in words what was flagged, where the limits are and what the flags mean."""
        return "\n".join(_in_words(d) for d in self.diagnostics.values())

    def __repr__(self) -> str:
        counts = {name: int(one.flags.sum()) for name, one in self.diagnostics.items()}
        flagged = ", ".join(f"{count} by {name}" for name, count in counts.items())
        return one_line(self, f"{len(self.t2.values)} rows", f"flagged: {flagged}")


def outliers(
    path: PathLike,
    m: int | None = None,
    y: Any = None,
    X_new: Any = None,
    *,
    level: float = 0.95,
    q_limit: str | None = None,
    noise: Noise = None,
    studentize: str = "jacobian",
    leverage_factor: float = 3.0,
    left_out: LeftOutRows | None = None,
) -> OutlierTable:
    """Put T^2, Q, leverage and studentised residuals of every row into one table, with flags.

    Parameters
    ----------
    path, m, level
        As for `hotelling_t2`. About a fraction 1 - level of ordinary rows is flagged by each
        of the diagnostics that have a level.
    y : array, optional
        Responses of the rows in question: those the path was fitted on (rows with positive
        weight), or those of X_new. Without them there are no residuals.
    X_new : (n_new, p) array or data frame, optional
        New rows; by default the training rows.
    q_limit : {"cross-validated", "jackson-mudholkar", "box", "moments"}, optional
        See `q_residuals`. Limits of new rows come from rows left out by cross-validation.
    noise : {"jacobian", "dof", "naive"} or float, optional
        Noise variance sigma^2; see `PLSPath.noise_variance`. None means "jacobian".
    studentize : {"jacobian", "leverage"}
        How the residual e_i = y_i - yhat_i of a training row is put on the scale of the noise:
        e_i / (sigma |row i of I - J|) with J = d yhat / d y, right to first order for PLS, or
        the textbook's e_i / (sigma sqrt(1 - h_i)), which is the same for projections such as
        least squares but undefined where h_i >= 1. New rows: e / (sigma sqrt(1 + h)).
    leverage_factor : float
        Leverages above this multiple of their average over the training rows are flagged; 2
        (Hoaglin & Welsch 1978, The American Statistician 32, 17-22) and 3 are customary.
    left_out : LeftOutRows, optional
        What `left_out_rows` returns, if it is there already.

    Returns
    -------
    OutlierTable
        ``leverage`` holds d yhat_i / d y_i for training rows, and |d yhat / d y|^2, the variance
        of the fitted mean over sigma^2, for new ones (the same thing for least squares).

    Notes
    -----
    With nu = RSS / sigma^2 (at most n - 1) degrees of freedom, squares of the studentised
    residuals of training rows follow nu Beta(1/2, (nu-1)/2) for methods linear in y, and
    those of new rows Student's t with nu; both are approximations for PLS. A given sigma^2
    leads to the normal distribution. In simulations with 5 latent factors at nominal 5%
    (n = 30..100, p = 10..100, m = 2..5) studentize="jacobian" flagged 5% to 11% of ordinary
    training rows and "leverage" 4% to 14%, the most with n = 30, p = 100.

    Weights of the path are read as precisions here, var(y_i) = sigma^2 / w_i: a row is judged as
    one observation that is the more exact the larger its weight, not as w_i repeated rows, each
    with a residual and a leverage of its own. A new row has weight 1.

    Cost: O(n r^2) time.

    Examples
    --------
    >>> from plsdof import pls_path
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(30, 3))
    >>> y = X @ [1.0, 2.0, 0.0] + 0.1 * rng.normal(size=30)
    >>> y[7] += 5.0
    >>> table = outliers(pls_path(X, y), 2, y)
    >>> np.flatnonzero(table.studentized.flags)
    array([7])
    """
    model, level = as_model(path, m, average=False), as_fraction(level, "level")
    path, m = as_pls_path(model.path).complete(), model.index
    labels, X_new = row_labels(y if X_new is None else X_new), model.rows(X_new)
    as_choice(studentize, "studentize", STUDENTIZE)
    if q_limit is not None:
        as_choice(q_limit, "q_limit", Q_LIMITS)
    factor = float(as_positive(leverage_factor, "leverage_factor")[0])
    leverage = _leverage(path, m, X_new, factor)
    if X_new is not None:
        share = 1.0 + leverage.values
    elif studentize == "leverage":
        share = 1.0 - leverage.values
    else:
        share = _jacobian_share(path, m)
    residual = None if y is None else _residual(path, m, y, X_new)
    crossed = m > 0 and _is_cross_validated(path, q_limit, X_new is not None)
    if crossed and left_out is None:
        left_out = left_out_rows(path, m)
    return OutlierTable(
        t2=hotelling_t2(path, m, X_new, level, left_out=left_out),
        q=q_residuals(path, m, X_new, level, limit=q_limit, left_out=left_out),
        leverage=leverage,
        studentized=_studentized(path, m, residual, share, noise, level, X_new is None),
        names=None if labels is None else tuple(labels),
    )


def _in_words(diagnostic: Diagnostic) -> str:
    rows = np.flatnonzero(diagnostic.flags)
    shown = ", ".join(map(str, rows[:10])) + (", ..." if len(rows) > 10 else "")
    text = (
        f"{diagnostic.name}: {len(rows)} of {len(diagnostic.values)} row(s) above "
        f"{diagnostic.limit:.4g} ({diagnostic.method})"
    )
    text += f": {shown}" if len(rows) else ""
    return f"{text}. Meaning: {_MEANING[diagnostic.name]}. {diagnostic.message}".rstrip()


def _leverage(path: PLSPath, m: int, X_new: Any, factor: float) -> Diagnostic:
    if X_new is None:
        values = path.leverage(m)
        average = float(path.dof[m]) / len(values)
    else:
        reach = path.standardized_times(X_new, path.standardized_coef_factor(m))
        values = 1.0 / path.spectrum.n + squared_rows(reach)
        average = (1.0 + float(np.sum(path.filter.jacobian(m) ** 2))) / path.spectrum.n
    method = f"{factor:g} times the average over the training rows"
    limit = Limit(value=factor * average, method=method)
    if average <= 0:
        text = f"The Degrees of Freedom are {path.dof[m]:.3g}: the average is not a standard here."
        limit = Limit(value=np.nan, method=method, message=text)
    return diagnose("leverage", values, limit, None)


def _residual(path: PLSPath, m: int, y: Any, X_new: Any) -> Array:
    """Return y minus the fit, times the square roots of the weights for training rows."""
    if X_new is not None:
        predicted = path.standardized_times(X_new, path.standardized_coef[m])
        predicted += path.units.y_mean
        return as_response(y, len(predicted)) - predicted
    scale = 1.0 if path.units.row_scale is None else path.units.row_scale
    residual: Array = scale * (as_response(y, len(path.fitted[m])) - path.fitted[m])
    rss = float(residual @ residual)
    if not np.isclose(rss, path.rss[m], rtol=1e-6, atol=1e-9 * path.spectrum.total):
        raise InvalidInputError(
            f"y leaves a residual sum of squares of {rss:.6g}, the path has {path.rss[m]:.6g}; "
            "give the responses the path was fitted on, or X_new along with y."
        )
    return residual


def _jacobian_share(path: PLSPath, m: int) -> Array:
    """Return the squared rows of I - J: the variance of the residuals over sigma^2."""
    weight = 1.0 if path.units.row_scale is None else path.units.row_scale**2
    U = path.rows_of_basis()
    outside = 1.0 - weight / path.spectrum.n - weight * squared_rows(U)
    inside = weight * squared_rows(U - path.filter.times_jacobian(U, m))
    return np.maximum(outside, 0.0) + inside


def _studentized(
    path: PLSPath,
    m: int,
    residual: Array | None,
    share: Array,
    noise: Noise,
    level: float,
    training: bool,
) -> Diagnostic:
    variance = path.noise_at(m, noise)
    df = np.inf
    if noise is None or isinstance(noise, str):
        # The divisor behind the estimate; there are never more than n - 1 residual directions.
        df = min(path.rss[m] / variance, path.spectrum.n - 1.0) if variance > 0 else np.nan
    limit = _studentized_limit(df, level, training)
    if residual is None:
        note = "Without y there are no residuals."
        return diagnose("studentized", np.full(len(share), np.nan), limit, level, note=note)
    usable = (share > _INTERPOLATED) & (variance > 0)
    spread = np.sqrt(np.where(usable, share, np.nan) * variance)
    note = _why_not_studentized(int(np.count_nonzero(~usable)), variance)
    values = residual / spread
    return diagnose("studentized", values, limit, level, note=note, two_sided=True)


def _studentized_limit(df: float, level: float, training: bool) -> Limit:
    tail = (1.0 + level) / 2.0
    if np.isinf(df):
        return Limit(value=float(ndtri(tail)), method="normal distribution")
    method = "beta distribution" if training else "t distribution"
    if not df > training:
        text = f"The {method} needs more than {int(training)} residual degree(s) of freedom."
        return Limit(value=np.nan, method=method, message=text)
    if training:
        return Limit(value=np.sqrt(df * betaincinv(0.5, (df - 1.0) / 2, level)), method=method)
    return Limit(value=float(stdtrit(df, tail)), method=method)


def _why_not_studentized(missing: int, variance: float) -> str:
    if not variance > 0:
        return f"The noise variance is {variance:g}, so residuals have no scale; give noise."
    if not missing:
        return ""
    return (
        f"Undefined for {missing} row(s) that the model interpolates or, with "
        "studentize='leverage', whose leverage is 1 or more; 'jacobian' copes with the latter."
    )
