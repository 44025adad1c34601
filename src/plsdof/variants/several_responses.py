"""Several responses: one path per column, or one set of components for all (PLS2).

*One path per column* is the plain meaning of a response with several columns: every column is
fitted as if it came alone, and only what depends on X is computed once.

*PLS2* chooses its components for all responses together, so that the fit of one response depends
on the others. No spectral filter describes it for q > 1, because its components are not in one
Krylov space; the derivative is carried along instead.

Notation: X = U S V', Z = U'Y (r x q), T (k x r) orthonormal scores in rows, F = Z - T'TZ what the
components leave. A *tangent* is the derivative of a quantity in each of B directions, stacked
along a first axis.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from plsdof._core import criteria
from plsdof._core.criteria import Fits, Selection
from plsdof._core.filters import SUPPORTED_ERROR, pcr_filter, pls_filter, ridge_filter
from plsdof._core.fit import (
    MakeFilter,
    default_alphas,
    is_accurate,
    optional_count,
    report_end,
    whole_routes,
)
from plsdof._core.inputs import (
    Array,
    Units,
    as_choice,
    as_matrix,
    as_new_rows,
    as_positive,
    as_weights,
    centre_response,
    feature_names,
    opened_table,
    read_only,
    shortened,
    standardize,
)
from plsdof._core.path import Path, PCRPath, PLSPath, RidgePath, as_row
from plsdof._core.spectrum import SOLVERS, Decomposition, Spectrum, decompose
from plsdof._core.work import threads_for
from plsdof.errors import RankExhaustedWarning

# Several responses, one model each: a path per column of Y on one decomposition of X
# -----------------------------------------------------------------------------------

PathType = TypeVar("PathType", bound=Path)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ResponsePaths(Generic[PathType]):
    """One path per response; ``paths[j]`` and ``paths["name"]`` are `Path` objects.

    Attributes
    ----------
    paths : tuple of Path
        In the order of the columns of Y. They share one decomposition of X.
    names : tuple of str
        Column names of Y; "0", "1", ... if it had none.

    Examples
    --------
    >>> import pandas as pd
    >>> Y = pd.DataFrame({"fat": [1.0, 2.0, 3.0], "water": [3.0, 1.0, 2.0]})
    >>> paths = pls_paths([[1.0], [2.0], [4.0]], Y)
    >>> paths, paths["fat"].dof
    (ResponsePaths(2 responses: 'fat', 'water'), array([1., 2.]))
    """

    paths: tuple[PathType, ...]
    names: tuple[str, ...]

    def __getitem__(self, key: int | str) -> PathType:
        if isinstance(key, str):
            if key not in self.names:
                raise KeyError(f"{key!r} is no response; there are {shortened(self.names, 10)}.")
            key = self.names.index(key)
        return self.paths[key]

    def __iter__(self) -> Iterator[PathType]:
        return iter(self.paths)

    def __len__(self) -> int:
        return len(self.paths)

    def __repr__(self) -> str:
        return f"ResponsePaths({len(self)} responses: {shortened(self.names)})"


def pls_paths(
    X: Any,
    Y: Any,
    max_components: int | None = None,
    *,
    scale: bool = True,
    sample_weight: Any = None,
    solver: str = "auto",
    strict: bool = False,
) -> ResponsePaths[PLSPath]:
    """Fit PLS1 to every column of Y, decomposing X once.

    Every response has its own components and its own exact Degrees of Freedom, as if
    `pls_path` had been called for it alone.

    Parameters
    ----------
    X : (n, p) array or data frame
    Y : (n, q) array or data frame, or (n,) array
        One response per column; names of a data frame are kept.
    max_components, scale, sample_weight, solver, strict
        As for `pls_path`.

    Returns
    -------
    ResponsePaths

    Notes
    -----
    Cost: one decomposition of X, plus O(n r + r M^2) time per response.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(30, 4))
    >>> Y = X[:, :2] + rng.normal(size=(30, 2))
    >>> paths = pls_paths(X, Y)
    >>> [path.select("bic").n_components for path in paths]
    [1, 2]
    """
    method = partial(pls_filter, max_components=optional_count(max_components))
    paths = _fit_columns(PLSPath, X, Y, method, scale, sample_weight, solver, max_components)
    return _reported(paths, strict, max_components)


def pcr_paths(
    X: Any,
    Y: Any,
    max_components: int | None = None,
    *,
    scale: bool = True,
    sample_weight: Any = None,
    solver: str = "auto",
    strict: bool = False,
) -> ResponsePaths[PCRPath]:
    """Fit principal components regression to every column of Y; parameters as for `pls_paths`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(30, 4))
    >>> [path.dof[-1] for path in pcr_paths(X, X[:, :2] + rng.normal(size=(30, 2)))]
    [np.float64(5.0), np.float64(5.0)]
    """
    method = partial(pcr_filter, max_components=optional_count(max_components))
    paths = _fit_columns(PCRPath, X, Y, method, scale, sample_weight, solver, max_components)
    return _reported(paths, strict, max_components)


def ridge_paths(
    X: Any,
    Y: Any,
    alphas: Any = None,
    *,
    scale: bool = True,
    sample_weight: Any = None,
    solver: str = "auto",
) -> ResponsePaths[RidgePath]:
    """Fit ridge regression to every column of Y; parameters as for `ridge_path`.

    Examples
    --------
    >>> paths = ridge_paths([[1.0], [2.0], [4.0]], [[1.0, 3.0], [2.0, 1.0], [3.0, 2.0]], [2.0])
    >>> [path.dof.round(6) for path in paths]
    [array([1.5]), array([1.5])]
    """
    X, Y, sample_weight = opened_table(X, Y, sample_weight)
    if alphas is None:
        n_rows = len(as_responses(Y)[1])
        weights = as_weights(sample_weight, n_rows)
        n = n_rows if weights is None else weights.sum()
        alphas = default_alphas(n or 1.0)  # no weight at all is refused later
    penalties = read_only(as_positive(alphas, "alphas"))
    method = partial(ridge_filter, alphas=penalties)
    return _fit_columns(RidgePath, X, Y, method, scale, sample_weight, solver, alphas=penalties)


def refit_columns(
    make: Callable[..., PathType], X: Any, Y: Any, *, sample_weight: Any = None, **options: Any
) -> ResponsePaths[PathType]:
    """Fit any method to the first column of Y, and refit it to the others.

    Parameters
    ----------
    make : callable
        ``make(X, y, sample_weight=..., **options)`` returns a path.
    X, Y, sample_weight
        As for `pls_paths`.
    **options
        Of ``make``, ``max_components`` among them. With ``solver="auto"`` all columns get the
        decomposition that the most delicate one needs.
    """
    names, responses = as_responses(Y)
    kept, asked = kept_rows(responses, sample_weight), options.get("max_components")
    for solver in ("auto", "svd") if options.get("solver") == "auto" else (None,):
        chosen = options if solver is None else {**options, "solver": solver}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RankExhaustedWarning)  # reported below, for all
            first = make(X, responses[:, 0], sample_weight=sample_weight, **chosen)
        paths = _others(first, kept)
        if first.solver == "svd" or all(is_accurate(path, asked) for path in paths):
            break
    return _reported(ResponsePaths(paths=paths, names=names), False, asked)


def as_responses(Y: Any) -> tuple[tuple[str, ...], Array]:
    """Return names and values of the responses, (n, q)."""
    names = feature_names(Y)
    if names is None and np.ndim(Y) == 1:
        Y = np.asanyarray(Y)[:, None]  # with its mask, if there is one
    values = as_matrix(Y, "Y", min_rows=2)
    return names or tuple(map(str, range(values.shape[1]))), values


def kept_rows(responses: Array, sample_weight: Any) -> Array:
    """Leave out rows without weight."""
    weights = as_weights(sample_weight, len(responses))
    return responses if weights is None else responses[weights > 0]


def _fit_columns(
    kind: type[PathType],
    X: Any,
    Y: Any,
    method: MakeFilter,
    scale: bool,
    sample_weight: Any,
    solver: str,
    asked: int | None = None,
    **further: object,
) -> ResponsePaths[PathType]:
    as_choice(solver, "solver", SOLVERS)
    X, Y, sample_weight = opened_table(X, Y, sample_weight)
    names, responses = as_responses(Y)
    data = standardize(X, responses[:, 0], scale=scale, sample_weight=sample_weight)
    kept = kept_rows(responses, sample_weight)
    with threads_for(data.X.shape):
        for first in whole_routes(kind, data, method, solver, **further):
            paths = _others(first, kept)
            if all(is_accurate(path, asked) for path in paths):
                break
    return ResponsePaths(paths=paths, names=names)


def _others(first: PathType, responses: Array) -> tuple[PathType, ...]:
    """Refit the path of the first response to the others."""
    return (first, *(first.refit(y) for y in responses.T[1:]))


def _reported(
    paths: ResponsePaths[PathType], strict: bool, asked: int | None
) -> ResponsePaths[PathType]:
    for path in paths:
        report_end(path, strict, asked)
    return paths


# PLS2 in rotated coordinates, with its derivative carried along (forward differentiation)
# ----------------------------------------------------------------------------------------

ALGORITHMS = ("nipals", "simpls")
_EPS = float(np.finfo(np.float64).eps)
# As in `filters`: largest deviation over perturbed copies, times a safety factor.
_COPIES = 2
_SAFETY = 4.0
# Two singular values closer than this, relatively, count as one.
_EQUAL = 1e-10
# Numbers held at once by the tangents of one block of directions: 64 MB.
_BLOCK_ENTRIES = 8_000_000


@dataclass(frozen=True, kw_only=True)
class JointFit:
    """PLS2 fits for m = 0..M in rotated coordinates.

    Attributes
    ----------
    fitted, residuals : (M + 1, r, q) arrays
    traces : (M + 1, q, q) array
        ``traces[:, j, k]`` are the sums over i of d zhat_ij / d z_ik, without intercepts.
    error : (M + 1,) array
        Estimated absolute error of the traces of ``traces``.
    scores : (r, M) array
        Orthonormal.
    lengths : (M,) array
        Of the scores for weight vectors of length one.
    message : str
        Why there are fewer components than asked for; empty if there are not.
    """

    fitted: Array
    residuals: Array
    traces: Array
    error: Array
    scores: Array
    lengths: Array
    message: str


@dataclass(frozen=True)
class _Moving:
    """A quantity and its tangent in B directions, shape (B, *value.shape)."""

    value: Array
    tangent: Array


@dataclass(frozen=True, kw_only=True)
class _Run:
    fitted: Array
    residuals: Array
    traces: Array
    scores: Array
    lengths: Array
    message: str


def joint_fit(
    spectra: Sequence[Spectrum], max_components: int | None, algorithm: str, *, scaled: bool
) -> JointFit:
    """Fit PLS2 and differentiate it, with 0..M components.

    Parameters
    ----------
    spectra : sequence of Spectrum
        One per response, of the same X.
    max_components : int or None
    algorithm : {"nipals", "simpls"}
    scaled : bool
        Whether the responses were divided by their standard deviations, which then move too.

    Notes
    -----
    Cost: O(r^2 q M (q + M)) time, three times over for the error; bounded memory.
    """
    rank = spectra[0].rank
    wanted = rank if max_components is None else max_components
    copies = [
        _run(S, Z, min(wanted, rank), algorithm, spectra[0].n if scaled else None)
        for S, Z in _with_copies(spectra)
    ]
    main = copies[0]
    error = _error(copies)
    dof = len(spectra) + _total(main)
    bad = ~(error <= SUPPORTED_ERROR * np.maximum(1.0, np.abs(dof)))
    size = int(np.argmax(bad)) if bad.any() else len(bad)
    return JointFit(
        fitted=read_only(main.fitted[:size]),
        residuals=read_only(main.residuals[:size]),
        traces=read_only(main.traces[:size]),
        error=read_only(error[:size]),
        scores=read_only(main.scores[: size - 1].T),
        lengths=read_only(main.lengths[: size - 1]),
        message=_why_ended(size - 1, wanted, main, rank),
    )


def _with_copies(spectra: Sequence[Spectrum]) -> list[tuple[Array, Array]]:
    """Return (S, Z) and copies shifted by their errors in random directions."""
    lam, lam_error = spectra[0].eigenvalues, spectra[0].eigenvalue_error
    Z = np.column_stack([one.z for one in spectra])
    Z_error = np.column_stack([one.z_error for one in spectra])
    rng = np.random.default_rng(2011)
    pairs = [(np.sqrt(lam), Z)]
    for _ in range(_COPIES):
        shifted = lam + rng.choice([-1.0, 1.0], lam.shape) * lam_error
        moved = Z + rng.choice([-1.0, 1.0], Z.shape) * Z_error
        pairs.append((np.sqrt(np.maximum(shifted, lam / 2)), moved))
    return pairs


def _total(run: _Run) -> Array:
    """Return the trace of d vec(Zhat) / d vec(Z) for every number of components."""
    return np.asarray(np.trace(run.traces, axis1=1, axis2=2))


def _error(copies: Sequence[_Run]) -> Array:
    """Return the error estimate of the sums of traces; infinite where a copy ended earlier."""
    main = copies[0]
    total, error = _total(main), np.zeros(len(main.traces))
    for copy in copies[1:]:
        common = min(len(main.traces), len(copy.traces))
        deviation = _total(copy)[:common] - total[:common]
        error[:common] = np.maximum(error[:common], np.abs(deviation))
        error[common:] = np.inf
    own = np.diagonal(main.traces, axis1=1, axis2=2)
    size = float(main.residuals[0].size) + np.abs(own).sum(axis=1)
    return np.asarray(_SAFETY * (error + _EPS * size))


def _why_ended(size: int, wanted: int, run: _Run, rank: int) -> str:
    if size >= min(wanted, rank):
        return f"X has rank {rank}, so there is no further component." if wanted > size else ""
    if size < len(run.traces) - 1:
        return (
            f"from component {size + 1} on, rounding in the data's decomposition changes the "
            f"Degrees of Freedom by more than {SUPPORTED_ERROR:g} relative."
        )
    return run.message


def _run(S: Array, Z: Array, steps: int, algorithm: str, n_scaled: float | None) -> _Run:
    """Fit, and sum up the derivatives of all r q directions, block by block."""
    r, q = Z.shape
    fits = _values(S, Z, steps, algorithm)
    steps = len(fits.fitted) - 1
    traces = np.zeros((steps + 1, q, q))
    block = max(1, _BLOCK_ENTRIES // max(1, 2 * r * (q + steps)))
    for start in range(0, r * q, block):
        rows, columns = np.divmod(np.arange(start, min(start + block, r * q)), q)
        each, responses = np.arange(len(rows)), np.eye(q)[columns]
        moving = _Moving(Z, _tangent(Z, rows, columns, n_scaled))
        for m, step in enumerate(_components(S, moving, steps, algorithm), start=1):
            change = (moving.tangent - step.residual.tangent)[each, rows]
            if n_scaled is not None:
                # The scale that multiplies the fit moves with the response, too.
                shares = Z[rows, columns] / (n_scaled - 1.0)
                change[each, columns] += fits.fitted[m, rows, columns] * shares
            traces[m] += change.T @ responses
    return replace(fits, traces=traces)


def _values(S: Array, Z: Array, steps: int, algorithm: str) -> _Run:
    """Fit without derivatives, as many components as there are."""
    fitted, residuals, message = [np.zeros_like(Z)], [Z], ""
    scores, lengths = [], []
    still = _Moving(Z, np.zeros((0, *Z.shape)))
    try:
        for step in _components(S, still, steps, algorithm):
            score = step.score.value
            fitted.append(fitted[-1] + np.outer(score, score @ residuals[-1]))
            residuals.append(step.residual.value)
            scores.append(score)
            lengths.append(step.length)
    except _EndedError as end:
        message = str(end)
    return _Run(
        fitted=np.array(fitted),
        residuals=np.array(residuals),
        traces=np.zeros((len(fitted), Z.shape[1], Z.shape[1])),
        scores=np.array(scores).reshape(len(scores), len(Z)),
        lengths=np.array(lengths),
        message=message,
    )


def _tangent(
    Z: Array, rows: npt.NDArray[np.intp], columns: npt.NDArray[np.intp], n_scaled: float | None
) -> Array:
    """Return the derivative of Z in the directions of its entries (rows, columns). (B, r, q)."""
    tangent = np.zeros((len(rows), *Z.shape))
    each = np.arange(len(rows))
    tangent[each, rows, columns] = 1.0
    if n_scaled is not None:
        # d (y/s) = dy/s - y ds/s^2 with ds = y'dy / ((n - 1) s), in units where s = 1.
        shares = Z[rows, columns] / (n_scaled - 1.0)
        tangent[each, :, columns] -= Z.T[columns] * shares[:, None]
    return tangent


@dataclass(frozen=True, kw_only=True)
class _Step:
    score: _Moving
    residual: _Moving
    length: float


class _EndedError(Exception):
    """There is no next component; the message says why."""


def _components(S: Array, Z: _Moving, steps: int, algorithm: str) -> Iterator[_Step]:
    """Run PLS2 and carry the tangents along.

    The weight vector is w = A c, c the dominant right singular vector of A, with A = diag(S) F
    for "nipals" and A = X'Y without its part along earlier loadings for "simpls".
    """
    residual, cross = Z, _scaled(S, Z)
    scores, loadings = _Basis(steps, Z), _Basis(steps, Z)
    first = float(np.linalg.norm(cross.value))
    for _ in range(steps):
        weight = _dominant(cross, first)
        raw = _scaled(S, weight)
        score = scores.append(raw)
        residual = _deflated(residual, score)
        length = float(score.value @ raw.value) / float(np.linalg.norm(weight.value))
        yield _Step(score=score, residual=residual, length=length)
        if algorithm == "nipals":
            cross = _scaled(S, residual)
        else:
            cross = _deflated(cross, loadings.append(_scaled(S, score)))


def _scaled(S: Array, quantity: _Moving) -> _Moving:
    """Multiply rows by the singular values."""
    factor = S if quantity.value.ndim == 1 else S[:, None]
    return _Moving(factor * quantity.value, factor * quantity.tangent)


def _dominant(A: _Moving, first: float) -> _Moving:
    """Return w = A c with c the dominant right singular vector of A.

    With A = P diag(s) C', c = C_1 and p = P_1,

        dc = sum_{j > 1} C_j (s_1 C_j' dA' p + s_j P_j' dA c) / (s_1^2 - s_j^2)

    and what of dc lies outside the rows of A does not move w.
    """
    P, s, C_t = np.linalg.svd(A.value, full_matrices=False)
    if not s[0] > A.value.shape[0] * _EPS * first:
        raise _EndedError("the responses have no covariance with X left.")
    if len(s) > 1 and s[0] - s[1] <= _EQUAL * s[0]:
        raise _EndedError(
            "two singular values of the deflated X'Y coincide, where the next component is not "
            "unique and the fit not differentiable."
        )
    c = C_t[0]
    from_left = P[:, 0] @ A.tangent  # dA' p, (B, q)
    from_right = A.tangent @ c  # dA c, (B, r)
    moved = (s[0] * (from_left @ C_t[1:].T) + s[1:] * (from_right @ P[:, 1:])) / (
        s[0] ** 2 - s[1:] ** 2
    )
    return _Moving(A.value @ c, from_right + (moved * s[1:]) @ P[:, 1:].T)


def _deflated(M: _Moving, g: _Moving) -> _Moving:
    """Return M - g g'M for a unit vector g."""
    along = g.value @ M.value
    d_along = g.tangent @ M.value + g.value @ M.tangent
    return _Moving(
        M.value - np.outer(g.value, along),
        M.tangent - g.tangent[:, :, None] * along - g.value[:, None] * d_along[:, None, :],
    )


class _Basis:
    """Orthonormal vectors that move, one after the other."""

    def __init__(self, most: int, like: _Moving) -> None:
        directions, r = like.tangent.shape[:2]
        self._value = np.zeros((most, r))
        self._tangent = np.zeros((directions, most, r))
        self._size = 0

    def append(self, vector: _Moving) -> _Moving:
        """Orthonormalise a vector against the basis (twice) and add it."""
        Q, d_Q = self._value[: self._size], self._tangent[:, : self._size]
        v, d_v = vector.value, vector.tangent
        for _ in range(2):
            along = Q @ v
            d_along = d_Q @ v + d_v @ Q.T
            v, d_v = v - along @ Q, d_v - along @ d_Q - d_along @ Q
        length = float(np.linalg.norm(v))
        if not length > _EPS * float(np.linalg.norm(vector.value)):
            raise _EndedError("X has no further direction.")
        v = v / length
        d_v = d_v / length
        d_v -= np.outer(d_v @ v, v)
        self._value[self._size], self._tangent[:, self._size] = v, d_v
        self._size += 1
        return _Moving(v, d_v)


# PLS2: one set of components for several responses, with exact Degrees of Freedom
# --------------------------------------------------------------------------------

# Criteria whose sum over responses estimates one number, the total squared error of prediction.
JOINT_CRITERIA = tuple(name for name, one in criteria.CRITERIA.items() if one.additive)
NOISE_MODELS = ("independent", "correlated")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PLS2Path:
    """PLS2 for 0..M components; arrays over models start at the empty model.

    Attributes
    ----------
    units : Units
        Means, scales and weights of the rows and columns of X.
    decomposition : Decomposition
        Singular vectors of the standardised predictors.
    fit : JointFit
        Fits in rotated coordinates and their derivatives.
    y_mean, y_scale : (q,) arrays
        ``(y - y_mean) / y_scale`` is what was fitted.
    outside : (q, q) array
        Cross-products of what no linear function of X reaches.
    names : tuple of str
        Column names of Y; "0", "1", ... if it had none.
    algorithm : str
        "nipals" or "simpls".

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(30, 4))
    >>> path = pls2_path(X, X[:, :2] + rng.normal(size=(30, 2)), 2)
    >>> path, path.coef.shape
    (PLS2Path(3 models, n=30, p=4, 2 responses, algorithm='nipals'), (3, 4, 2))
    """

    units: Units
    decomposition: Decomposition
    fit: JointFit
    y_mean: Array
    y_scale: Array
    outside: Array
    names: tuple[str, ...]
    algorithm: str

    @property
    def n_components(self) -> npt.NDArray[np.intp]:
        """Numbers of components 0, 1, ..., M."""
        return np.arange(len(self.dof))

    @property
    def dof(self) -> Array:
        """Trace of d vec(Yhat) / d vec(Y), with one for each of the q intercepts. (M + 1,)."""
        return read_only(self.dof_by_response.sum(axis=1))

    @property
    def dof_by_response(self) -> Array:
        """Sums of d yhat_ij / d y_ij over rows i, one column per response. (M + 1, q)."""
        return read_only(np.diagonal(self.dof_matrix, axis1=1, axis2=2))

    @property
    def dof_matrix(self) -> Array:
        """Sums of d yhat_ij / d y_ik over rows i, at [:, j, k]. Shape (M + 1, q, q)."""
        units = self.y_scale[:, None] / self.y_scale
        return read_only(np.eye(len(self.names)) + self.fit.traces * units)

    @property
    def dof_error(self) -> Array:
        """Estimated absolute rounding error of `dof`. Shape (M + 1,)."""
        return self.fit.error

    @property
    def naive_dof(self) -> Array:
        """What counting parameters gives, q (m + 1). Shape (M + 1,)."""
        return read_only(len(self.names) * (1.0 + self.n_components))

    @property
    def message(self) -> str:
        """Why the path is shorter than asked for; empty if it is not."""
        return self.fit.message

    @cached_property
    def rss(self) -> Array:
        """Residual sums of squares in original units. Shape (M + 1, q)."""
        return read_only(np.diagonal(self._residual_products, axis1=1, axis2=2))

    @cached_property
    def coef(self) -> Array:
        """Coefficients in original units. Shape (M + 1, p, q)."""
        rotated = self.fit.fitted / self.decomposition.singular_values[:, None]
        features = np.array([self.decomposition.to_features(one) for one in rotated])
        return read_only(features * self.y_scale / self.units.x_scale[:, None])

    @cached_property
    def intercept(self) -> Array:
        """Intercepts. Shape (M + 1, q)."""
        return read_only(self.y_mean - self.units.x_mean @ self.coef)

    @cached_property
    def fitted(self) -> Array:
        """Fitted values of the training rows with positive weight. Shape (M + 1, n_rows, q)."""
        rows = np.array([self.decomposition.to_samples(one) for one in self.fit.fitted])
        if self.units.row_scale is not None:
            rows /= self.units.row_scale[:, None]
        return read_only(self.y_mean + rows * self.y_scale)

    def predict(self, X_new: Any) -> Array:
        """Predict new rows with every model. Shape (M + 1, n_new, q)."""
        new = as_new_rows(X_new, len(self.units.x_mean), self.units.names)
        return self.y_mean + (new - self.units.x_mean) @ self.coef

    @cached_property
    def x_scores(self) -> Array:
        """Orthogonal scores of the training rows, ``X @ x_rotations``. Shape (n_rows, M)."""
        rows = self.decomposition.to_samples(self.fit.scores * self.fit.lengths)
        scale = self.units.row_scale
        return read_only(rows if scale is None else rows / scale[:, None])

    @cached_property
    def x_rotations(self) -> Array:
        """From standardised X to the scores. Shape (p, M)."""
        S = self.decomposition.singular_values[:, None]
        return read_only(self.decomposition.to_features(self.fit.scores * self.fit.lengths / S))

    def transform(self, X_new: Any) -> Array:
        """Return the scores of new rows on all components. Shape (n_new, M)."""
        new = as_new_rows(X_new, len(self.units.x_mean), self.units.names)
        return ((new - self.units.x_mean) / self.units.x_scale) @ self.x_rotations

    def noise_variance(self) -> Array:
        """RSS_j / (n - DoF_j) of every response; nan where DoF_j >= n. Shape (M + 1, q)."""
        return criteria.noise_from_dof(self.rss, self.dof_by_response, self.units.n)

    def noise_covariance(self) -> Array:
        """Estimate the covariance of the noise of the responses. Shape (M + 1, q, q).

        E'E over the roots of (n - DoF_j) (n - DoF_k), E the residuals, which is never indefinite
        and has `noise_variance` on its diagonal; nan where that is.
        """
        spare = self.units.n - self.dof_by_response
        root = np.sqrt(np.where(spare > 0, spare, np.nan))
        return read_only(self._residual_products / (root[:, :, None] * root[:, None, :]))

    def criterion(self, name: str, noise: str = "independent") -> Array:
        """Evaluate a criterion for all responses together. Shape (M + 1,).

        With W_j one over the squared ``y_scale`` (1 unless responses were scaled),

            aic = sum_j W_j (RSS_j / n + 2 / n sigma_j^2 DoF_j),       bic: log(n) for 2,
            gcv = sum_j W_j (RSS_j / n) / (1 - DoF_j / n)^2,

        estimates of the total squared error of prediction, sum_j W_j |mu_j - muhat_j|^2 / n plus
        noise. For responses with the same noise variance the penalty of aic is
        2 / n sigma^2 DoF with the joint ``dof``. For one response they are the criteria of
        `Path.criterion` with noise "dof".

        Parameters
        ----------
        name : {"aic", "bic", "gcv"}
        noise : {"independent", "correlated"}
            Whether the noise of different responses in the same row is independent. If not,
            sigma_j^2 DoF_j, which stands for sum_i cov(yhat_ij, y_ij), is by Stein's lemma
            sum_k Sigma_jk D_jk with Sigma = `noise_covariance` and D = `dof_matrix`.
        """
        as_choice(name, "criterion", JOINT_CRITERIA)
        as_choice(noise, "noise", NOISE_MODELS)
        dof, variance = self.dof_by_response, self.noise_variance()
        if noise == "correlated":
            covariance = np.sum(self.noise_covariance() * self.dof_matrix, axis=2)
            # Without any noise there is nothing that could be correlated.
            dof = np.divide(covariance, variance, out=dof.copy(), where=variance > 0)
        fits = Fits(rss=self.rss, dof=dof, noise=variance, n=self.units.n, total=np.nan)
        return np.asarray(np.sum(criteria.score(name, fits) / self.y_scale**2, axis=1))

    def select(
        self, criterion: str = "bic", noise: str = "independent", rule: str = "first-minimum"
    ) -> Selection:
        """Choose one number of components for all responses; see `criterion`.

        Rules, and what is never chosen, as for `Path.select`.
        """
        scores = self.criterion(criterion, noise)
        implausible = self.dof < len(self.names) - 1e-9
        index = criteria.choose(np.where(implausible, np.nan, scores), rule)
        return Selection(
            index=index,
            parameter=float(index),
            parameter_name="n_components",
            scores=read_only(scores),
            criterion=criterion,
            rule=rule,
            dof="exact",
            noise=noise,
            message=f"{rule} of {criterion} over {len(self.names)} response(s) at "
            f"{self.label(index)} ({self.dof[index]:.2f} Degrees of Freedom).",
        )

    def label(self, index: int) -> str:
        """Return what a row of the path is, in words."""
        return f"{index} component(s)"

    def index(self, m: int) -> int:
        """Check a row of the path and return it."""
        return as_row(m, len(self.dof), self.message)

    @cached_property
    def _residual_products(self) -> Array:
        inside: Array = np.einsum("mij,mik->mjk", self.fit.residuals, self.fit.residuals)
        return inside * np.outer(self.y_scale, self.y_scale) + self.outside

    def __repr__(self) -> str:
        return (
            f"PLS2Path({len(self.dof)} models, n={self.units.n:g}, p={len(self.units.x_mean)}, "
            f"{len(self.names)} responses, algorithm={self.algorithm!r})"
        )


def pls2_path(
    X: Any,
    Y: Any,
    max_components: int | None = None,
    *,
    algorithm: str = "nipals",
    scale: bool = True,
    scale_response: bool = False,
    sample_weight: Any = None,
    strict: bool = False,
) -> PLS2Path:
    """Fit PLS2 with 0..M components for all responses, with exact Degrees of Freedom.

    Component m has the weight vector w that maximises |cov(X w, Y_m)|, Y_m what m - 1 components
    have left, and

        DoF(m) = q + trace( d vec(Yhat_m) / d vec(Y) )   of the centred data,

    by exact forward differentiation of the algorithm.

    Parameters
    ----------
    X : (n, p) array or data frame
    Y : (n, q) array or data frame, or (n,) array
    max_components : int, optional
        Largest model wanted; by default all that the data support.
    algorithm : {"nipals", "simpls"}
        Deflate X and Y by the scores (Wold; scikit-learn's PLSRegression), or the cross-product
        X'Y by the loadings (de Jong 1993). They agree for one response only.
    scale : bool
        Scale the columns of X to unit variance (divisor n - 1).
    scale_response : bool
        Scale the columns of Y likewise, which gives every response the same say; that the scale
        depends on Y is part of the derivative.
    sample_weight : (n,) array, optional
        Weights; integer weights mean repeated rows.
    strict : bool
        Raise `RankExhaustedError` instead of warning when ``max_components`` is not reached.

    Returns
    -------
    PLS2Path

    Notes
    -----
    There is no closed form as for one response, so one derivative per direction is needed:
    O(r^2 q M (q + M)) time, in blocks of bounded memory, three times over to estimate the
    rounding error. For q = 1 `pls_path` gives the same numbers in O(r M^2). Where the two largest
    singular values of the deflated cross-product coincide, the fit is not differentiable and the
    path ends.

    References
    ----------
    S. de Jong (1993), SIMPLS: an alternative approach to partial least squares regression,
    Chemometrics and Intelligent Laboratory Systems 18, 251-263.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(30, 4))
    >>> Y = X[:, :2] * [3.0, 1.0] + rng.normal(size=(30, 2))
    >>> path = pls2_path(X, Y)
    >>> path.dof.round(2)
    array([ 2.  ,  6.59,  9.5 ,  9.72, 10.  ])
    """
    as_choice(algorithm, "algorithm", ALGORITHMS)
    asked = optional_count(max_components)
    X, Y, sample_weight = opened_table(X, Y, sample_weight)
    names, responses = as_responses(Y)
    data = standardize(X, responses[:, 0], scale=scale, sample_weight=sample_weight)
    kept = kept_rows(responses, sample_weight)
    centred = [centre_response(y, data.units.row_scale) for y in kept.T]
    values = np.column_stack([one.values for one in centred])
    spread = np.sqrt(np.einsum("ij,ij->j", values, values) / (data.units.n - 1.0))
    y_scale = np.where(spread > 0, spread, 1.0) if scale_response else np.ones(len(names))
    decomposition = decompose(data, "svd")
    spectra = [decomposition.spectrum(column, data.units.n) for column in (values / y_scale).T]
    fit = joint_fit(spectra, asked, algorithm, scaled=scale_response)
    beyond = _outside(decomposition, values, data.units.n)
    path = PLS2Path(
        units=data.units,
        decomposition=decomposition,
        fit=fit,
        y_mean=read_only([one.mean for one in centred]),
        y_scale=read_only(y_scale),
        outside=read_only(beyond.T @ beyond),
        names=names,
        algorithm=algorithm,
    )
    report_end(path, strict, asked)
    return path


def _outside(decomposition: Decomposition, values: Array, n: float) -> Array:
    """Return what of the centred responses no linear function of X reaches. Shape (n_rows, q)."""
    if n - 1.0 <= len(decomposition.eigenvalues):  # then X reaches everything, up to rounding
        return np.zeros_like(values)
    rotated = np.column_stack([decomposition.rotate(column) for column in values.T])
    return values - decomposition.to_samples(rotated)
