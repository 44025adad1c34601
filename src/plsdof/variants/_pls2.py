"""PLS2 in rotated coordinates, with its derivative carried along (forward differentiation).

Notation: X = U S V', Z = U'Y (r x q), T (k x r) orthonormal scores in rows, F = Z - T'TZ what the
components leave. A *tangent* is the derivative of a quantity in each of B directions, stacked
along a first axis. No spectral filter describes PLS2 for q > 1: its components are not in one
Krylov space.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from plsdof._core.inputs import Array, read_only
from plsdof._core.recursion import Integers
from plsdof._core.rounding import SUPPORTED_ERROR
from plsdof._core.spectrum import Spectrum

ALGORITHMS = ("nipals", "simpls")
_EPS = float(np.finfo(np.float64).eps)
# As in `filters`: largest deviation over perturbed copies, times a safety factor.
_COPIES = 2
_SAFETY = 4.0
# Two singular values closer than this, relatively, count as one.
_EQUAL = 1e-10
# Numbers in memory at once, of the tangents of one block of directions: 64 MB.
_BLOCK_ENTRIES = 8_000_000


@dataclass(frozen=True, kw_only=True)
class JointFit:
    """PLS2 fits for m = 0..M in rotated coordinates, without derivatives.

    Attributes
    ----------
    fitted, residuals : (M + 1, r, q) arrays
    scores : (r, M) array
        Orthonormal.
    lengths : (M,) array
        Of the scores for weight vectors of length one.
    message : str
        Why there are fewer components than wanted; empty if there are not.
    """

    fitted: Array
    residuals: Array
    scores: Array
    lengths: Array
    message: str

    def first(self, size: int, message: str) -> "JointFit":
        """Return the first ``size`` components."""
        return JointFit(
            fitted=read_only(self.fitted[: size + 1]),
            residuals=read_only(self.residuals[: size + 1]),
            scores=read_only(self.scores[:, :size]),
            lengths=read_only(self.lengths[:size]),
            message=message,
        )


@dataclass(frozen=True)
class _Moving:
    """A quantity and its tangent in B directions, shape (B, *value.shape)."""

    value: Array
    tangent: Array


def joint_fit(spectra: Sequence[Spectrum], max_components: int | None, algorithm: str) -> JointFit:
    """Fit PLS2 with 0..M components, as many as the data support.

    Parameters
    ----------
    spectra : sequence of Spectrum
        One per response, of the same X.
    max_components : int or None
    algorithm : {"nipals", "simpls"}

    Notes
    -----
    Cost: O(r q M (q + M)) time, three times over for the error.
    """
    rank = spectra[0].rank
    wanted = rank if max_components is None else max_components
    pairs = _with_copies(spectra)
    main, *copies = (_values(S, Z, min(wanted, rank), algorithm) for S, Z in pairs)
    # The first size whose coefficients copies of the data disagree about ends the path.
    size = len(main.lengths)
    supported = min(size, *(len(one.lengths) for one in copies))
    coef = main.fitted / pairs[0][0][:, None]
    for (S, _), one in zip(pairs[1:], copies, strict=True):
        moved = one.fitted[: supported + 1] / S[:, None] - coef[: supported + 1]
        off = _SAFETY * _norms(moved) > SUPPORTED_ERROR * _norms(coef[: supported + 1])
        supported = int(np.argmax(off)) - 1 if off.any() else supported
    message = ""
    if supported < size:
        message = _rounded(supported)
    elif size < min(wanted, rank):
        message = main.message
    elif size < wanted:
        message = f"X has rank {rank}, so the path ends here."
    return main.first(supported, message)


def _norms(values: Array) -> Array:
    return np.asarray(np.linalg.norm(values, axis=(1, 2)))


def _rounded(size: int) -> str:
    return (
        f"from component {size + 1} on, rounding in the data's decomposition changes the "
        f"coefficients by more than {SUPPORTED_ERROR:g} relative."
    )


def joint_traces(
    spectra: Sequence[Spectrum], fit: JointFit, algorithm: str, n_scaled: float | None
) -> tuple[Array, Array]:
    """Sum up d zhat_ij / d z_ij over the rows i, of every fit. (M + 1, q), and errors (M + 1,).

    The errors are estimates of those of the sums over responses, without intercepts.

    Parameters
    ----------
    spectra, algorithm
        As for `joint_fit`, which made ``fit``.
    n_scaled : float or None
        The number of rows where responses were divided by their standard deviations, which then
        move, too.

    Notes
    -----
    Cost: O(r^2 q M (q + M)) time, three times over for the error; bounded memory.
    """
    # The data and perturbed copies of them; what the copies disagree about is the error.
    main, *copies = (
        _traces(S, Z, len(fit.lengths), algorithm, n_scaled) for S, Z in _with_copies(spectra)
    )
    total, error = main.sum(axis=1), np.zeros(len(main))
    for one in copies:
        off = np.abs(one.sum(axis=1) - total[: len(one)])
        error[: len(one)] = np.maximum(error[: len(one)], off)
        error[len(one) :] = np.inf
    # Rounding is relative to the terms of the sum.
    size = float(fit.residuals[0].size) + np.abs(main).sum(axis=1)
    return main, read_only(_SAFETY * (error + _EPS * size))


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


def _traces(S: Array, Z: Array, steps: int, algorithm: str, n_scaled: float | None) -> Array:
    """Sum up the derivatives of all r q directions. Shape (M + 1, q)."""
    steps = len(_values(S, Z, steps, algorithm).lengths)
    traces = np.zeros((steps + 1, Z.shape[1]))
    for rows, columns, m, change in _derivatives(S, Z, steps, algorithm, n_scaled):
        np.add.at(traces[m], columns, change[np.arange(len(rows)), rows, columns])
    return traces


def joint_jacobian(
    S: Array, Z: Array, m: int, algorithm: str, n_scaled: float | None = None
) -> Array:
    """Return d zhat / d z of m components; [k, l, i, j] is d zhat_ij / d z_kl. Shape (r, q, r, q).

    ``n_scaled`` as for `joint_traces`. Cost: O(r^2 q m (q + m)) time and O(r^2 q^2) memory.
    """
    jacobian = np.zeros((*Z.shape, *Z.shape))
    for rows, columns, size, change in _derivatives(S, Z, m, algorithm, n_scaled):
        if size == m:
            jacobian[rows, columns] = change
    return jacobian


def _derivatives(
    S: Array, Z: Array, steps: int, algorithm: str, n_scaled: float | None
) -> Iterator[tuple[Integers, Integers, int, Array]]:
    """Yield rows and columns of entries of Z, m = 1..steps, and d zhat_m by these entries.

    In blocks of B entries, (B, r, q), so that the tangents of all of them are never there at once.
    """
    r, q = Z.shape
    block = max(1, _BLOCK_ENTRIES // max(1, 2 * r * (q + steps)))
    for start in range(0, r * q, block):
        rows, columns = np.divmod(np.arange(start, min(start + block, r * q)), q)
        moving = _Moving(Z, _tangent(Z, rows, columns, n_scaled))
        for m, step in enumerate(_components(S, moving, steps, algorithm), start=1):
            change = moving.tangent - step.residual.tangent
            if n_scaled is not None:
                # The scale that multiplies the fit moves with the response, too.
                shares = Z[rows, columns] / (n_scaled - 1.0)
                fitted = (Z - step.residual.value).T[columns]
                change[np.arange(len(rows)), :, columns] += fitted * shares[:, None]
            yield rows, columns, m, change


def _values(S: Array, Z: Array, steps: int, algorithm: str) -> JointFit:
    """Fit without derivatives, as many components as there are."""
    fitted, residuals, message = [np.zeros_like(Z)], [Z], ""
    scores, lengths = [], []
    # No directions: values only, by the same recursion.
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
    return JointFit(
        fitted=np.array(fitted),
        residuals=np.array(residuals),
        scores=np.array(scores).reshape(len(scores), len(Z)).T,
        lengths=np.array(lengths),
        message=message,
    )


def _tangent(Z: Array, rows: Integers, columns: Integers, n_scaled: float | None) -> Array:
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
    """The path ends here; the message says why."""


def _components(S: Array, Z: _Moving, steps: int, algorithm: str) -> Iterator[_Step]:
    """Run PLS2 and carry the tangents along.

    The weight vector is w = A c, c the dominant right singular vector of A, with A = diag(S) F
    for "nipals" and A = X'Y without its part along earlier loadings for "simpls".
    """
    residual, cross = Z, _scaled(S, Z)
    scores, loadings = _Basis(steps, Z), _Basis(steps, Z)
    first = float(np.linalg.norm(cross.value))
    for _ in range(steps):
        # Weight, score (orthonormal to the earlier ones), what the component leaves of Z.
        weight = _dominant(cross, first)
        raw = _scaled(S, weight)
        score = scores.append(raw)
        residual = _deflated(residual, score)
        length = float(score.value @ raw.value) / float(np.linalg.norm(weight.value))
        yield _Step(score=score, residual=residual, length=length)
        # nipals deflates the responses, simpls X'Y by the loadings.
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
    # First-order perturbation of the dominant singular pair.
    c = C_t[0]
    from_left = P[:, 0] @ A.tangent  # dA' p, (B, q)
    from_right = A.tangent @ c  # dA c, (B, r)
    moved = (s[0] * (from_left @ C_t[1:].T) + s[1:] * (from_right @ P[:, 1:])) / (
        s[0] ** 2 - s[1:] ** 2
    )
    return _Moving(A.value @ c, from_right + (moved * s[1:]) @ P[:, 1:].T)


def _deflated(M: _Moving, g: _Moving) -> _Moving:
    """Return M - g g'M for a unit vector g."""
    # Product rule for g (g'M).
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
        # Twice is enough for orthogonality to rounding (Kahan and Parlett).
        for _ in range(2):
            along = Q @ v
            d_along = d_Q @ v + d_v @ Q.T
            v, d_v = v - along @ Q, d_v - along @ d_Q - d_along @ Q
        length = float(np.linalg.norm(v))
        if not length > _EPS * float(np.linalg.norm(vector.value)):
            raise _EndedError("X has no further direction.")
        # The tangent of a unit vector is orthogonal to it.
        v = v / length
        d_v = d_v / length
        d_v -= np.outer(d_v @ v, v)
        self._value[self._size], self._tangent[:, self._size] = v, d_v
        self._size += 1
        return _Moving(v, d_v)
