"""Outliers: T^2, Q, leverage and studentised residuals of the same rows in one table."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv, ndtri, stdtrit

from plsdof._validation import Array, as_choice, as_fraction, as_positive, as_response
from plsdof.diagnostic import Diagnostic, Limit, as_components, diagnose, squared_rows
from plsdof.errors import InvalidInputError
from plsdof.monitoring import hotelling_t2, q_residuals
from plsdof.named_output import row_labels
from plsdof.noise import Noise
from plsdof.path_types import PLSPath
from plsdof.readable import data_frame, one_line

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

    def to_frame(self) -> Any:
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
    path: PLSPath,
    m: int,
    y: Any = None,
    X_new: Any = None,
    *,
    level: float = 0.95,
    q_limit: str = "jackson-mudholkar",
    noise: Noise = None,
    studentize: str = "jacobian",
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
    studentize : {"jacobian", "leverage"}
        How the residual e_i = y_i - yhat_i of a training row is put on the scale of the noise:
        e_i / (sigma |row i of I - J|) with J = d yhat / d y, right to first order for PLS, or
        the textbook's e_i / (sigma sqrt(1 - h_i)), which is the same for projections such as
        least squares but undefined where h_i >= 1. New rows: e / (sigma sqrt(1 + h)).
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
    m, level, path = as_components(path, m), as_fraction(level, "level"), path.complete()
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
    labels = row_labels(y if X_new is None else X_new)
    return OutlierTable(
        t2=hotelling_t2(path, m, X_new, level),
        q=q_residuals(path, m, X_new, level, limit=q_limit),
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
        reach = path.centred_times(X_new, path.coef_factor(m))
        values = 1.0 / path.spectrum.n + squared_rows(reach)
        average = (1.0 + float(np.sum(path.filter.jacobian(m) ** 2))) / path.spectrum.n
    method = f"{factor:g} times the average over the training rows"
    limit = Limit(value=factor * average, method=method)
    if average <= 0:
        text = f"The Degrees of Freedom are {path.dof[m]:.3g}: the average is no standard here."
        limit = Limit(value=np.nan, method=method, message=text)
    return diagnose("leverage", values, limit, None)


def _residual(path: PLSPath, m: int, y: Any, X_new: Any) -> Array:
    """Return y minus the fit, times the square roots of the weights for training rows."""
    if X_new is not None:
        predicted = path.units.y_mean + path.centred_times(X_new, path.coef[m])
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
