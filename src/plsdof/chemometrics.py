"""Chemometrics: what the components explain, which variables matter, which rows stand out.

Notation: X = U S V' are the standardised predictors (rows times the square roots of the weights),
T the rotated orthonormal scores of m components. In this basis PLS splits X into

    X = (U T)(V S T)' + E,      E = U B V',      B = (I - TT') S,

so training rows need products of size r only; a new row x has the scores x V S^{-1} T.
With weights, n is their sum, as if every row were repeated that often.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv, fdtri, gammaincinv, ndtri, stdtrit

from plsdof._validation import Array, as_choice, as_fraction, as_positive, as_response, read_only
from plsdof.errors import InvalidInputError, NotAvailableError
from plsdof.methods import PLSPath
from plsdof.path import Noise

Q_LIMITS = ("jackson-mudholkar", "box", "moments")
STUDENTIZE = ("leverage", "jacobian")
Flags = npt.NDArray[np.bool_]

_EPS = float(np.finfo(np.float64).eps)
# A share of the residual variance below this one is rounding: nothing is left to divide by.
_INTERPOLATED = 1e-12
_MEANING = {
    "t2": "far from the centre of the training rows, within the components of the model",
    "q": "varies in a way that the components do not describe: a new effect or a faulty row",
    "leverage": "the fit at this row depends strongly on single responses",
    "studentized": "the response is further from the fit than the noise explains",
}


@dataclass(frozen=True, kw_only=True)
class ExplainedVariance:
    """Fractions of the variance of X and y, one entry per component: (M,) arrays."""

    x: Array
    y: Array
    x_cumulative: Array
    y_cumulative: Array


@dataclass(frozen=True, kw_only=True)
class Diagnostic:
    """One number per row (or variable), with the limit above which it is flagged.

    Attributes
    ----------
    name : str
    values : (k,) array
    limit : float
        nan where no limit is defined; ``message`` says why, and nothing is flagged.
    flags : (k,) bool array
        Whether the value (for studentised residuals its size) is above the limit.
    level : float or None
        Probability of staying below the limit, None for a rule of thumb.
    method : str
        How the limit was made.
    message : str
        Why something is undefined, or what to be careful about; empty if nothing is.
    """

    name: str
    values: Array
    limit: float
    flags: Flags
    level: float | None
    method: str
    message: str = ""


@dataclass(frozen=True, kw_only=True)
class _Limit:
    value: float
    method: str
    message: str = ""


def explained_variance(path: PLSPath) -> ExplainedVariance:
    """Return which fractions of the variance of X and y each component explains.

    With orthonormal scores t_j, component j explains |X't_j|^2 / |X|^2 of X and
    (y't_j)^2 / |y|^2 of y. The fractions of X need not decrease. Cost: O(r M) time.

    Examples
    --------
    >>> from plsdof import pls_path
    >>> path = pls_path([[1.0, 2.0], [2.0, 1.0], [3.0, 5.0], [4.0, 4.0]], [1.0, 2.0, 3.0, 5.0])
    >>> explained_variance(path).x.round(3), explained_variance(path).y_cumulative.round(3)
    (array([0.848, 0.152]), array([0.836, 0.971]))
    """
    f = _checked(path).filter
    eigenvalues = path.spectrum.eigenvalues
    x = eigenvalues @ f.scores**2 / (eigenvalues.sum() or 1.0)
    y = f.loadings**2 / (path.spectrum.total or 1.0)
    return ExplainedVariance(
        x=read_only(x),
        y=read_only(y),
        x_cumulative=read_only(np.cumsum(x)),
        y_cumulative=read_only(np.cumsum(y)),
    )


def vip(path: PLSPath, m: int) -> Array:
    """Return the Variable Importance in Projection of every variable. Shape (p,).

        VIP_k = sqrt( p sum_j s_j w_kj^2 / sum_j s_j ),    s_j = (y't_j)^2,  j = 1..m,

    with weight vectors w_j of length one. The mean of the squares over all p columns (constant
    ones included, with VIP 0) is 1, hence the rule of thumb "important if above 1".
    Cost: O(p m) time once the weights are there.

    References
    ----------
    Wold, Johansson & Cocchi (1993), in: 3D QSAR in Drug Design, 523-550; Chong & Jun (2005),
    Chemometrics and Intelligent Laboratory Systems 78, 103-112.

    Examples
    --------
    >>> from plsdof import pls_path
    >>> path = pls_path([[1.0, 2.0], [2.0, 1.0], [3.0, 5.0], [4.0, 4.0]], [1.0, 2.0, 3.0, 5.0])
    >>> vip(path, 1).round(3)
    array([1.184, 0.773])
    """
    m = _components(path, m, minimum=1)
    explained = path.filter.loadings[:m] ** 2
    weights = path.x_weights[:, :m]
    squares: Array = len(weights) * (weights**2 @ (explained / explained.sum()))
    return np.sqrt(squares)


def selectivity_ratio(path: PLSPath, m: int) -> Array:
    """Return explained over residual variance of every variable on the target component. (p,).

    The target component is t = X b / |b|, proportional to the fitted values; variable k has

        SR_k = |x_k'u|^2 / |x_k - (x_k'u) u|^2,     u = t / |t|.

    inf (or huge, by rounding) where the target component explains a variable completely, as it
    always does with p = 1; nan for constant columns. Cost: O(p r^2) time.

    References
    ----------
    Kvalheim (2010), Journal of Chemometrics 24, 496-504.

    Examples
    --------
    >>> from plsdof import pls_path
    >>> path = pls_path([[1.0, 2.0], [2.0, 1.0], [3.0, 5.0], [4.0, 4.0]], [1.0, 2.0, 3.0, 5.0])
    >>> selectivity_ratio(path, 1).round(3)
    array([10.028,  3.698])
    """
    m = _components(path, m, minimum=1)
    S = path.decomposition.singular_values
    fit = path.filter.factors[m] * path.spectrum.z
    u = fit / np.linalg.norm(fit)
    explained = path.decomposition.to_features((S * u)[:, None])[:, 0] ** 2
    rest = path.decomposition.to_features(np.diag(S) - np.outer(S * u, u))
    residual = _squared_rows(rest)
    # Subtracting u leaves rounding of size eps |x_k| where nothing should be left.
    residual[residual <= (len(S) * _EPS) ** 2 * (explained + residual)] = 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        return explained / residual


def selectivity_ratio_test(path: PLSPath, m: int, level: float = 0.95) -> Diagnostic:
    """Flag the variables whose selectivity ratio exceeds the F quantile with n-2, n-3 df.

    The test asks whether the explained variance of a variable is *larger* than the residual one,
    a much stronger demand than some relation with y. `selectivity_ratio` gives the values.

    References
    ----------
    Rajalahti et al. (2009), Chemometrics and Intelligent Laboratory Systems 95, 35-48.

    Examples
    --------
    >>> from plsdof import pls_path
    >>> path = pls_path([[1.0, 2.0], [2.0, 1.0], [3.0, 5.0], [4.0, 4.0]], [1.0, 2.0, 3.0, 5.0])
    >>> round(selectivity_ratio_test(path, 1).limit, 1)
    199.5
    """
    values, level, n = selectivity_ratio(path, m), as_fraction(level, "level"), path.spectrum.n
    method = "F distribution, n - 2 and n - 3 degrees of freedom"
    limit = _Limit(value=np.nan, method=method, message=f"The F-test needs n > 3; n is {n:g}.")
    if n > 3:
        limit = _Limit(value=float(fdtri(n - 2.0, n - 3.0, level)), method=method)
    return _diagnostic("selectivity ratio", values, limit, level)


def hotelling_t2(path: PLSPath, m: int, X_new: Any = None, level: float = 0.95) -> Diagnostic:
    """Return Hotelling's T^2 of the training rows, or of new rows, with its limit.

        T^2_i = sum_{j <= m} t_ij^2 / s_j^2,     s_j^2: variance of score j (divisor n - 1).

    Training rows are part of the mean and variances they are measured by, so that T^2 <=
    (n-1)^2/n and the limit is a quantile of (n-1)^2/n Beta(m/2, (n-m-1)/2). New rows are not,
    and the limit is that of m (n^2-1) / (n (n-m)) F(m, n-m). Both are exact for normal scores of
    a fixed projection; PLS chooses its projection from y, which makes the second one cautious
    (in simulations with n = 50..1000, p = 10..500, m = 2..5 and nominal 5%, between 1.7% and 5%
    of the new rows and 4.7% to 5.2% of the training rows were above it).
    With m = 0 all values are 0. Cost: O(n r m) time, for new rows O((n_new + r) p m).

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
    m, level = _components(path, m), as_fraction(level, "level")
    training = X_new is None
    T = path.filter.scores[:, :m]
    scores = path.to_rows(T) if training else _new_scores(path, m, _standardized(path, X_new))
    values = (path.spectrum.n - 1.0) * _squared_rows(scores)
    return _diagnostic("t2", values, _t2_limit(path.spectrum.n, m, level, training), level)


def q_residuals(
    path: PLSPath,
    m: int,
    X_new: Any = None,
    level: float = 0.95,
    *,
    limit: str = "jackson-mudholkar",
) -> Diagnostic:
    """Return the squared prediction error of every row of the standardised X, with its limit.

        Q_i = |x_i - sum_{j <= m} t_ij p_j|^2

    Parameters
    ----------
    path, m, X_new, level
        Rows X_new, by default the training rows (with m = rank their Q is zero).
    limit : {"jackson-mudholkar", "box", "moments"}
        The first two use the eigenvalues l of the residual covariance E'E/(n-1) through
        theta_k = sum l^k: a normal approximation to a power of Q, and Box's
        (theta_2/theta_1) chi^2 with theta_1^2/theta_2 degrees of freedom. "moments" fits
        g chi^2(h) to mean and variance of Q over the training rows.

    Notes
    -----
    Sample eigenvalues are too unequal for large p, and training residuals are smaller than new
    ones. In simulations (n = 50, p = 10..500, m = 3..5, nominal 5%) the first two limits flagged
    0.4% to 4% of ordinary training rows and 2% to 15% of new ones, "moments" 5% and 12% to 40%;
    from n = 200 on, 2% to 5% and 4% to 6%, "moments" 5% and 5% to 9%. So take "moments" for
    training rows of wide data. Cost: O(n r^2 + r^3) time, for new rows O(n_new p m) more.

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
    m, level = _components(path, m), as_fraction(level, "level")
    as_choice(limit, "limit", Q_LIMITS)
    B = _residual_factor(path, m)
    new = X_new is not None
    values = _new_q(path, m, X_new) if new else _squared_rows(path.to_rows(B))
    return _diagnostic("q", values, _q_limit(path, B, level, limit, new), level)


def _checked(path: Any) -> PLSPath:
    if not isinstance(path, PLSPath):
        raise InvalidInputError(
            f"path must be a PLSPath, as made by pls_path; got {type(path).__name__}."
        )
    return path


def _components(path: Any, m: int, *, minimum: int = 0) -> int:
    index = _checked(path).index(m)
    if index < minimum:
        raise NotAvailableError(
            "The model without components (m = 0) uses no variable, so variables have no "
            "importance in it; ask for m >= 1."
        )
    return index


def _diagnostic(
    name: str, values: Array, limit: _Limit, level: float | None, note: str = ""
) -> Diagnostic:
    flags = np.abs(values) > limit.value if name == "studentized" else values > limit.value
    flags.flags.writeable = False
    return Diagnostic(
        name=name,
        values=read_only(values),
        limit=float(limit.value),
        flags=flags,
        level=level,
        method=limit.method,
        message=f"{limit.message} {note}".strip(),
    )


def _squared_rows(rows: Array) -> Array:
    squares: Array = np.einsum("ij,ij->i", rows, rows)
    return squares


def _standardized(path: PLSPath, X_new: Any) -> Array:
    return (path.check_new_rows(X_new) - path.units.x_mean) / path.units.x_scale


def _new_scores(path: PLSPath, m: int, rows: Array) -> Array:
    """Return the scores of standardised rows, in units where training scores are orthonormal."""
    rotated = path.filter.scores[:, :m] / path.decomposition.singular_values[:, None]
    return rows @ path.decomposition.to_features(rotated)


def _new_q(path: PLSPath, m: int, X_new: Any) -> Array:
    rows = _standardized(path, X_new)
    rotated = path.filter.scores[:, :m] * path.decomposition.singular_values[:, None]
    rows -= _new_scores(path, m, rows) @ path.decomposition.to_features(rotated).T
    return _squared_rows(rows)


def _residual_factor(path: PLSPath, m: int) -> Array:
    """Return B = (I - TT') S, exactly zero where m components leave only rounding of X."""
    S, T = path.decomposition.singular_values, path.filter.scores[:, :m]
    B = np.diag(S) - T @ (T.T * S)
    # The same floor as for the numerical rank of X.
    floor = max(path.spectrum.n, len(path.units.x_mean)) * _EPS * S.max(initial=0.0)
    return B if np.linalg.norm(B) > floor else np.zeros_like(B)


def _t2_limit(n: float, m: int, level: float, training: bool) -> _Limit:
    spare = n - m - 1.0 if training else n - m
    method = "beta distribution" if training else "F distribution"
    if m == 0:
        return _Limit(value=np.nan, method=method, message="Without components T^2 is 0.")
    if spare <= 0:
        text = f"The {method} of T^2 needs n > {m + training}; n is {n:g}."
        return _Limit(value=np.nan, method=method, message=text)
    if training:
        value = (n - 1.0) ** 2 / n * betaincinv(m / 2, spare / 2, level)
    else:
        value = m * (n**2 - 1.0) / (n * spare) * fdtri(m, spare, level)
    return _Limit(value=float(value), method=method)


def _q_limit(path: PLSPath, B: Array, level: float, method: str, new: bool) -> _Limit:
    text = "The components reproduce X: Q is 0 in all training rows and has no limit."
    limit = _Limit(value=np.nan, method=method, message=text)
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
    return _Limit(value=limit.value, method=method, message=" ".join(filter(None, notes)))


def _from_eigenvalues(path: PLSPath, B: Array, level: float, method: str) -> _Limit:
    singular_values = np.asarray(np.linalg.svd(B, compute_uv=False), dtype=np.float64)
    eigenvalues = singular_values**2 / (path.spectrum.n - 1.0)
    approximate = _jackson_mudholkar if method == "jackson-mudholkar" else _box
    return approximate(eigenvalues, level)


def _jackson_mudholkar(eigenvalues: Array, level: float) -> _Limit:
    method = "jackson-mudholkar"
    one, two, three = (float(np.sum(eigenvalues**k)) for k in (1, 2, 3))
    power = 1.0 - 2.0 * one * three / (3.0 * two**2)
    slope = float(ndtri(level)) * np.sqrt(2.0 * two) / one + two * (power - 1.0) / one**2
    if 1.0 + power * slope <= 0:
        text = f"The Jackson-Mudholkar limit does not exist here (h0 = {power:.2f}); use 'box'."
        return _Limit(value=np.nan, method=method, message=text)
    text = ""
    if power < 0:
        text = f"One residual direction dominates (h0 = {power:.2f} < 0): the Jackson-Mudholkar "
        text += "limit is too high then, that of 'box' rather too low for levels near 1."
    # (1 + h0 a)^(1/h0), continued to exp(a) at h0 = 0
    exponent = np.log1p(power * slope) / power if power else slope
    return _Limit(value=one * float(np.exp(exponent)), method=method, message=text)


def _box(eigenvalues: Array, level: float) -> _Limit:
    one, two = float(np.sum(eigenvalues)), float(np.sum(eigenvalues**2))
    return _Limit(value=_scaled_chi_square(one, 2.0 * two, level), method="box")


def _from_moments(path: PLSPath, B: Array, level: float) -> _Limit:
    q = _squared_rows(path.to_rows(B))
    weight = np.ones_like(q) if path.units.row_scale is None else path.units.row_scale**2
    mean = float(weight @ q) / path.spectrum.n
    variance = float(weight @ (q - mean) ** 2) / (path.spectrum.n - 1.0)
    if variance <= (len(q) * _EPS * mean) ** 2:
        text = "Q is the same in all training rows, so its variance gives no limit."
        return _Limit(value=np.nan, method="moments", message=text)
    return _Limit(value=_scaled_chi_square(mean, variance, level), method="moments")


def _scaled_chi_square(mean: float, variance: float, level: float) -> float:
    """Return the quantile of g chi^2(h) with this mean g h and variance 2 g^2 h."""
    df = 2.0 * mean**2 / variance
    return mean / df * 2.0 * float(gammaincinv(df / 2.0, level))


@dataclass(frozen=True, kw_only=True)
class OutlierTable:
    """Four diagnostics of the same rows; see `outliers`."""

    t2: Diagnostic
    q: Diagnostic
    leverage: Diagnostic
    studentized: Diagnostic

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

    def describe(self) -> str:
        """Say in words what was flagged, where the limits are and what the flags mean."""
        return "\n".join(_in_words(d) for d in self.diagnostics.values())


def outliers(
    path: PLSPath,
    m: int,
    y: Any = None,
    X_new: Any = None,
    *,
    level: float = 0.95,
    q_limit: str = "jackson-mudholkar",
    noise: Noise = None,
    studentize: str = "leverage",
    leverage_factor: float = 3.0,
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
    q_limit : {"jackson-mudholkar", "box", "moments"}
        See `q_residuals`.
    noise : {"jacobian", "dof", "naive"} or float, optional
        Noise variance sigma^2; see `PLSPath.noise_variance`. None means "jacobian".
    studentize : {"leverage", "jacobian"}
        How the residual e_i = y_i - yhat_i of a training row is put on the scale of the noise:
        e_i / (sigma sqrt(1 - h_i)), exact for methods linear in y, or
        e_i / (sigma |row i of I - J|) with J = d yhat / d y, its first-order version for PLS,
        which stays defined where h_i >= 1. New rows: e / (sigma sqrt(1 + h)).
    leverage_factor : float
        Leverages above this multiple of their average over the training rows are flagged; 2
        (Hoaglin & Welsch 1978, The American Statistician 32, 17-22) and 3 are customary.

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
    leads to the normal distribution. In simulations at nominal 5% (n = 30..100, p = 10..100,
    m = 2..5) studentize="leverage" flagged 4% to 14% of ordinary training rows and "jacobian" 5%
    to 11%, the most with n = 30, p = 100. Cost: O(n r^2) time.

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
    m, level = _components(path, m), as_fraction(level, "level")
    as_choice(studentize, "studentize", STUDENTIZE)
    factor = float(as_positive(leverage_factor, "leverage_factor")[0])
    leverage = _leverage(path, m, X_new, factor)
    if X_new is not None:
        share = 1.0 + leverage.values
    elif studentize == "leverage":
        share = 1.0 - leverage.values
    else:
        share = _jacobian_share(path, m)
    residual = None if y is None else _residual(path, m, y, X_new)
    return OutlierTable(
        t2=hotelling_t2(path, m, X_new, level),
        q=q_residuals(path, m, X_new, level, limit=q_limit),
        leverage=leverage,
        studentized=_studentized(path, m, residual, share, noise, level, X_new is None),
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
        centred = path.check_new_rows(X_new) - path.units.x_mean
        values = 1.0 / path.spectrum.n + _squared_rows(centred @ path.coef_factor(m))
        average = (1.0 + float(np.sum(path.filter.jacobian(m) ** 2))) / path.spectrum.n
    method = f"{factor:g} times the average over the training rows"
    limit = _Limit(value=factor * average, method=method)
    if average <= 0:
        text = f"The Degrees of Freedom are {path.dof[m]:.3g}: the average is no standard here."
        limit = _Limit(value=np.nan, method=method, message=text)
    return _diagnostic("leverage", values, limit, None)


def _residual(path: PLSPath, m: int, y: Any, X_new: Any) -> Array:
    """Return y minus the fit, times the square roots of the weights for training rows."""
    if X_new is not None:
        rows = path.check_new_rows(X_new)
        predicted: Array = path.intercept[m] + rows @ path.coef[m]
        return as_response(y, len(rows)) - predicted
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
    identity = np.eye(path.spectrum.rank)
    outside = 1.0 - weight / path.spectrum.n - weight * _squared_rows(path.to_rows(identity))
    inside = weight * _squared_rows(path.to_rows(identity - path.filter.jacobian(m)))
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
        return _diagnostic("studentized", np.full(len(share), np.nan), limit, level, note)
    usable = (share > _INTERPOLATED) & (variance > 0)
    spread = np.sqrt(np.where(usable, share, np.nan) * variance)
    note = _why_not_studentized(int(np.count_nonzero(~usable)), variance)
    return _diagnostic("studentized", residual / spread, limit, level, note)


def _studentized_limit(df: float, level: float, training: bool) -> _Limit:
    tail = (1.0 + level) / 2.0
    if np.isinf(df):
        return _Limit(value=float(ndtri(tail)), method="normal distribution")
    method = "beta distribution" if training else "t distribution"
    if not df > training:
        text = f"The {method} needs more than {int(training)} residual degree(s) of freedom."
        return _Limit(value=np.nan, method=method, message=text)
    if training:
        return _Limit(value=np.sqrt(df * betaincinv(0.5, (df - 1.0) / 2, level)), method=method)
    return _Limit(value=float(stdtrit(df, tail)), method=method)


def _why_not_studentized(missing: int, variance: float) -> str:
    if not variance > 0:
        return f"The noise variance is {variance:g}, so residuals have no scale; give noise."
    if not missing:
        return ""
    return (
        f"Undefined for {missing} row(s) that the model interpolates or whose leverage is 1 or "
        "more; studentize='jacobian' has no difficulty with the latter."
    )
