"""Calibration transfer: a step that makes spectra of one instrument those of another.

The same samples are measured on the primary instrument, whose calibration is to be used, and on
the secondary one. With means m_1 and m_2 of both, a spectrum x of the secondary becomes

=====  ========================================================================================
bias   x + (m_1 - m_2)
ds     x + (m_1 - m_2) + F'(x - m_2), F the least squares solution of smallest norm for the
       differences of the pairs (direct standardisation)
pds    the same, but the difference at a wavelength is predicted from 2 w + 1 wavelengths around it
       (piecewise direct standardisation), by two components
=====  ========================================================================================

Differences are regressed, not the spectra themselves: what the pairs do not show stays unchanged.
F comes from chemotools. Method and w are chosen by held-out pairs: after a step made without them,
secondary spectra should be predicted as the primary ones are.

Reference: Y. Wang, D. J. Veltkamp, B. R. Kowalski (1991), Multivariate instrument standardization,
Analytical Chemistry 63, 2750-2756.
"""

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from plsdof._core.display import one_line
from plsdof._core.inputs import Array, as_choice, as_matrix, as_response, read_only
from plsdof.errors import InvalidInputError, MissingExtraError

Method = Literal["auto", "bias", "ds", "pds"]
# Wavelengths to either side of one that pds looks at, each about three times the one before, and
# its components. Where differences are regressed, neither matters much.
_WINDOWS = (1, 3, 8)
_COMPONENTS = 2
# Pairs are held out in so many parts.
_FOLDS = 5
_LEAST_PAIRS = 4


@dataclass(frozen=True, kw_only=True, eq=False)
class Transfer:
    """A linear step in front of a model, which makes rows of one instrument those of another.

    A new row x becomes ``offset + x' matrix``, or with bands of w columns to either side

        x_j  <-  offset_j + sum_{k=-w..w} bands[k + w, j] x_{j + k},

    where columns that do not exist count as 0, or ``offset + x`` if there is neither.

    Attributes
    ----------
    kind : str
        What it is called, such as "bias", "ds" or "pds".
    offset : (p,) array
    matrix : (q, p) array or None
    bands : (2 w + 1, p) array or None
    names : tuple of str
        The q columns of new rows, if they are not those of the model.
    date, reason : str
    rows : float
        Number of pairs it was fitted to.

    Examples
    --------
    >>> bands = np.array([[0.0, 1.0, 0.0]]).T * np.ones(3)
    >>> step = Transfer(kind="pds", offset=np.zeros(3), bands=bands)
    >>> step.apply(np.array([[1.0, 2.0, 3.0]]))
    array([[1., 2., 3.]])
    """

    kind: str
    offset: Array
    matrix: Array | None = None
    bands: Array | None = None
    names: tuple[str, ...] = ()
    date: str = ""
    reason: str = ""
    rows: float = 0.0

    def apply(self, rows: Array) -> Array:
        """Return rows as the model takes them. Shape (n_new, p)."""
        if self.matrix is not None:
            return np.asarray(rows @ self.matrix + self.offset)
        if self.bands is None:
            return rows + self.offset
        width, p = len(self.bands) // 2, rows.shape[1]
        padded = np.pad(rows, ((0, 0), (width, width)))
        shifted = (band * padded[:, k : k + p] for k, band in enumerate(self.bands))
        return np.asarray(self.offset + sum(shifted))

    def after(self, W: Array, names: tuple[str, ...]) -> "Transfer":
        """Return this step after rows with other columns are multiplied by W (q, p)."""
        matrix = read_only(self.apply(W) - self.offset)
        return replace(self, matrix=matrix, bands=None, names=names)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class TransferFit:
    """A transfer step and how it was chosen; see `fit_transfer`.

    Attributes
    ----------
    step : Transfer
    chosen : str
        Which of the methods below it is.
    errors : mapping from methods ("none", "bias", "ds", "pds 3", ...) to float
        Root mean square of the differences between predictions of both instruments, over held-out
        pairs; "none" is without a step.
    rmsep : mapping
        The same methods with the errors against reference values; empty without them.
    """

    step: Transfer
    chosen: str
    errors: Mapping[str, float]
    rmsep: Mapping[str, float]

    def __repr__(self) -> str:
        return one_line(self, self.chosen, **{k: self.errors[k] for k in ("none", self.chosen)})


def fit_transfer(
    predict: Callable[[Array], Array],
    primary: Any,
    secondary: Any,
    method: Method = "auto",
    *,
    y: Any = None,
) -> TransferFit:
    """Return the step that makes spectra of a secondary instrument those of the primary one.

    Parameters
    ----------
    predict : callable
        Predictions of the calibration for spectra of the primary instrument.
    primary, secondary : (n, p) arrays
        The same samples on both, pair by pair.
    method : {"auto", "bias", "ds", "pds"}
        "auto" takes the one whose predictions of held-out pairs are nearest.
    y : (n,) array, optional
        Reference values, for a table of errors; they do not choose.

    Notes
    -----
    Cost of pds: one small PLS regression for each wavelength, window and fold.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(12, 6)).cumsum(axis=1)
    >>> fit_transfer(lambda rows: rows.sum(axis=1), X, 1.1 * X + 0.2, "ds")
    TransferFit(ds, none=..., ds=...)
    """
    as_choice(method, "method", get_args(Method))
    A, B = as_matrix(primary, "primary"), as_matrix(secondary, "secondary")
    if A.shape != B.shape or len(A) < _LEAST_PAIRS:
        raise InvalidInputError(
            f"A transfer needs at least {_LEAST_PAIRS} samples measured on both instruments, with "
            f"the same wavelengths; got {len(A)} x {A.shape[1]} and {len(B)} x {B.shape[1]}."
        )
    wide = [f"pds {w}" for w in _WINDOWS if 2 * w + 1 <= A.shape[1]]
    ways = {"bias": ["bias"], "ds": ["ds"], "pds": wide, "auto": ["bias", "ds", *wide]}[method]
    if not ways:
        raise InvalidInputError(f"pds needs at least 3 wavelengths; got {A.shape[1]}.")
    # Predictions of pairs by steps made without them
    target, fold = predict(A), np.arange(len(A)) % min(_FOLDS, len(A))
    found = {"none": predict(B)} | {way: np.empty(len(A)) for way in ways}
    for way in ways:
        for f in range(fold.max() + 1):
            step = _step(way, A[fold != f], B[fold != f])
            found[way][fold == f] = predict(step.apply(B[fold == f]))
    errors = {way: _rms(one - target) for way, one in found.items()}
    known = None if y is None else as_response(y, len(A))
    rmsep = {} if known is None else {way: _rms(one - known) for way, one in found.items()}
    chosen = min(ways, key=errors.__getitem__)
    return TransferFit(step=_step(chosen, A, B), chosen=chosen, errors=errors, rmsep=rmsep)


def interpolation(axis: Iterable[float | None], target: Iterable[float | None]) -> Array:
    """Return W (q, p) with spectra @ W, cubic splines through q wavelengths, at p others.

    Examples
    --------
    >>> W = interpolation([1.0, 2.0, 3.0, 4.0], [1.5, 3.0])
    >>> (np.array([1.0, 4.0, 9.0, 16.0]) @ W).round(12)
    array([2.25, 9.  ])
    """
    from scipy.interpolate import CubicSpline

    there, wanted = (np.array(list(one), dtype=np.float64) for one in (axis, target))
    low, high = (there.min(), there.max()) if len(there) else (np.nan, np.nan)
    if np.isnan(wanted).any() or not (
        len(there) > 3 and low <= wanted.min() <= wanted.max() <= high
    ):
        raise InvalidInputError(
            f"the columns of the model, from {wanted.min():g} to {wanted.max():g}, cannot be "
            f"interpolated from those from {low:g} to {high:g}: they must lie between them."
        )
    order = np.argsort(there)
    return np.asarray(CubicSpline(there[order], np.eye(len(there))[order])(wanted).T)


def _rms(values: Array) -> float:
    return float(np.sqrt(np.mean(values**2)))


def _step(way: str, A: Array, B: Array) -> Transfer:
    """Fit one step to pairs."""
    kind, _, width = way.partition(" ")
    mean, shift, n = B.mean(axis=0), A.mean(axis=0) - B.mean(axis=0), float(len(A))
    if kind == "bias":
        return Transfer(kind=kind, offset=read_only(shift), rows=n)
    try:
        from chemotools.adaptation import DirectStandardization, PiecewiseDirectStandardization
    except ImportError as error:
        raise MissingExtraError("chemotools", "spectra", "Calibration transfer") from error
    U, D = B - mean, A - B - shift
    if kind == "ds":
        fitted = DirectStandardization().fit(U, X_source=D)
        F = fitted.V_ds_ @ fitted.B_ds_
        matrix = read_only(F + np.eye(len(F)))
        return Transfer(kind=kind, offset=read_only(shift - mean @ F), matrix=matrix, rows=n)
    w, k = int(width), min(_COMPONENTS, len(A) - 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # where instruments do not differ
        F = PiecewiseDirectStandardization(window_length=w, n_components=k).fit(U, X_source=D).T_
    bands = np.zeros((2 * w + 1, len(F)))
    for row, j in enumerate(range(-w, w + 1)):
        diagonal = np.diagonal(F, -j)
        bands[row, max(-j, 0) : max(-j, 0) + len(diagonal)] = diagonal
    bands[w] += 1.0
    return Transfer(kind=kind, offset=read_only(shift - mean @ F), bands=read_only(bands), rows=n)
