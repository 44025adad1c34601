"""PLS2 in rotated coordinates, with its derivative carried along (forward differentiation).

Notation: X = U S V', Z = U'Y (r x q), T (k x r) orthonormal scores in rows, F = Z - T'TZ what the
components leave. A *tangent* is the derivative of a quantity in each of B directions, stacked
along a first axis. No spectral filter describes PLS2 for q > 1: its components are not in one
Krylov space.

*Errors.* A computed decomposition is that of X + E, with |E| of the size of rounding. Copies of the
problem with a random E of that size, decomposed again, go through the same steps; what they
disagree about is not known.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from plsdof._core.folds import Integers
from plsdof._core.inputs import Array, read_only
from plsdof._core.rounding import COPIES, SAFETY, SUPPORTED_ERROR
from plsdof._core.spectrum import Spectrum
from plsdof._core.threads import cached_property

ALGORITHMS = ("nipals", "simpls")
_EPS = float(np.finfo(np.float64).eps)
# Two singular values closer than this, relatively, count as one.
_EQUAL = 1e-10
# Numbers in memory at once, of the tangents of one block of directions: 64 MB.
_BLOCK_ENTRIES = 8_000_000


@dataclass(frozen=True, kw_only=True, eq=False)
class JointFit:
    """PLS2 fits for m = 0..M in rotated coordinates.

    Attributes
    ----------
    S : (r,) array
        Singular values.
    residuals : (M + 1, r, q) array
    scores : (r, M) array
        Orthonormal.
    lengths : (M,) array
        Of the scores for weight vectors of length one.
    coef_error : (M + 1,) array
        Estimated error of the coefficients of all responses, relative to their norm.
    message : str
        Why there are fewer components than wanted; empty if there are not.
    """

    S: Array
    residuals: Array
    scores: Array
    lengths: Array
    coef_error: Array
    message: str

    @cached_property
    def loadings(self) -> Array:
        """Of the responses on the scores. Shape (M, q)."""
        return read_only(np.einsum("ik,kij->kj", self.scores, self.residuals[:-1]))

    @cached_property
    def fitted(self) -> Array:
        """Fitted values. Shape (M + 1, r, q)."""
        found = np.zeros_like(self.residuals)
        np.cumsum(self.scores.T[:, :, None] * self.loadings[:, None], axis=0, out=found[1:])
        return read_only(found)

    @property
    def coef(self) -> Array:
        """Coefficients in rotated coordinates. Shape (M + 1, r, q)."""
        return np.asarray(self.fitted / self.S[:, None])

    @property
    def rotations(self) -> Array:
        """From rotated X to scores of these lengths. Shape (r, M)."""
        return np.asarray(self.scores * self.lengths / self.S[:, None])

    @cached_property
    def weights(self) -> Array:
        """Orthonormal vectors that span `rotations`, in order: the weights of NIPALS. (r, M)."""
        Q, R = np.linalg.qr(self.rotations)
        return read_only(Q * np.where(np.diagonal(R) < 0, -1.0, 1.0))


@dataclass(frozen=True, kw_only=True, eq=False)
class JointTraces:
    """Traces of d zhat_j / d z_j and |I - d zhat_j / d z_j|^2, and errors. (M + 1, q) arrays.

    nan, with an infinite error, where rounding leaves them uncertain.
    """

    dof: Array
    squares: Array
    dof_error: Array


@dataclass(frozen=True)
class _Moving:
    """A quantity and its tangent in B directions, shape (B, *value.shape)."""

    value: Array
    tangent: Array


@dataclass(frozen=True)
class _Copy:
    """S and Z of a problem, and V in the basis of the features of the first one, (r + 1, r)."""

    S: Array
    Z: Array
    V: Array


@dataclass(frozen=True, kw_only=True, eq=False)
class Joint:
    """Several responses of one X, to be fitted together.

    Attributes
    ----------
    spectra : tuple of Spectrum
        One per response, in their units, of the same X.
    algorithm : {"nipals", "simpls"}
    scaled : bool
        Divide responses by their standard deviations, which then move with them.
    max_components : int or None
    """

    spectra: tuple[Spectrum, ...]
    algorithm: str
    scaled: bool
    max_components: int | None

    @cached_property
    def y_scale(self) -> Array:
        """What responses are divided by. Shape (q,)."""
        spread = np.sqrt([one.total / (one.n - 1.0) for one in self.spectra])
        return read_only(np.where((spread > 0) & self.scaled, spread, 1.0))

    @cached_property
    def _copies(self) -> list[_Copy]:
        """The problem and, behind it, copies of it within the error of the decomposition."""
        first = self.spectra[0]
        S = np.sqrt(first.eigenvalues)
        Z = np.column_stack([one.z for one in self.spectra]) / self.y_scale
        r, q = Z.shape
        # What X does not reach of each response is a direction that E may turn others towards,
        # and the last column stands for all features that X does not have.
        whole, beyond = np.zeros((r + q, r + 1)), np.zeros((r + q, q))
        whole[:r, :r], beyond[:r] = np.diag(S), Z
        beyond[r:] = np.diag([np.sqrt(one.outside) for one in self.spectra] / self.y_scale)
        z_error = [np.max(one.z_error, initial=0.0) for one in self.spectra] / self.y_scale
        error = np.max(first.eigenvalue_error / (2.0 * S), initial=0.0)
        # A direction that was left out is there, as large as it may be.
        kept = r + (first.collinear > 0)
        whole[r:, r] = np.sqrt(first.floor) if first.collinear else 0.0
        rng, found = np.random.default_rng(2011), [_Copy(S, Z, np.eye(r + 1, r))]
        for _ in range(COPIES if r else 0):
            E, D = (rng.choice([-1.0, 1.0], size) for size in (whole.shape, beyond.shape))
            U, values, V_t = np.linalg.svd(whole + error * E, full_matrices=False)
            Z = (U.T @ (beyond + z_error * D))[:kept]
            found.append(_Copy(values[:kept], Z, V_t[:kept].T))
        return found

    @cached_property
    def fit(self) -> JointFit:
        """Fits of 0..M components, as many as the data support.

        Cost: O(r q M (q + M)) time and three decompositions of order r, for the error.
        """
        rank = self.spectra[0].rank
        wanted = rank if self.max_components is None else self.max_components
        main, *others = (self._fitted(one, min(wanted, rank)) for one in self._copies)
        size, coef = len(main.lengths), self._copies[0].V @ main.coef
        norm, error = np.linalg.norm(coef, axis=(1, 2)), np.zeros(size + 1)
        for one, copy in zip(others, self._copies[1:], strict=True):
            moved = copy.V @ one.coef[: size + 1]
            off = np.linalg.norm(moved - coef[: len(moved)], axis=(1, 2))
            error[: len(off)] = np.maximum(error[: len(off)], off)
            error[len(off) :] = np.inf
        relative = np.divide(SAFETY * error, norm, out=np.zeros_like(norm), where=norm > 0)
        # The first size whose coefficients the copies disagree about ends the path: where these
        # have six digits, Degrees of Freedom have them, too, with few exceptions.
        bad = np.flatnonzero(~(relative <= SUPPORTED_ERROR))
        kept, message = size, main.message
        if len(bad):
            kept = int(bad[0]) - 1
            message = (
                f"from component {kept + 1} on, rounding in the data's decomposition changes the "
                f"coefficients by more than {SUPPORTED_ERROR:g} relative."
            )
        elif size == rank < wanted:
            message = f"X has rank {rank}, so the path ends here."
        return JointFit(
            S=main.S,
            residuals=read_only(main.residuals[: kept + 1]),
            scores=read_only(main.scores[:, :kept]),
            lengths=read_only(main.lengths[:kept]),
            coef_error=read_only(relative[: kept + 1]),
            message=message,
        )

    @cached_property
    def traces(self) -> JointTraces:
        """Sums of d zhat_ij / d z_ij over the rows i, of every fit; infinite errors where unknown.

        Cost: O(r^2 q M (q + M)) time, four times over for the error; bounded memory.
        """
        main, *others = (self._traces(one) for one in self._copies)
        error = np.zeros_like(main[0])
        for dof, _ in others:
            # Added up: the largest of three random changes is small by chance now and then.
            error[: len(dof)] += np.abs(dof - main[0][: len(dof)])
            error[len(dof) :] = np.inf
        # Responses share their components, so that an error of these moves all of them.
        error[:] = error.max(axis=1, keepdims=True)
        # Every component rounds again, relative to the terms of the sum, of this model and before.
        r, steps = len(self.fit.scores), np.arange(1, len(error) + 1)[:, None]
        terms = r + np.sqrt(r * np.maximum.accumulate(main[1], axis=0))
        error = SAFETY * (error + _EPS * steps * terms)
        # From the first model on that is too uncertain nothing is known.
        known = error <= SUPPORTED_ERROR * np.maximum(1.0, np.abs(1.0 + main[0]))
        known = np.logical_and.accumulate(known.all(axis=1))[:, None]
        return JointTraces(
            dof=read_only(np.where(known, main[0], np.nan)),
            squares=read_only(np.where(known, main[1], np.nan)),
            dof_error=read_only(np.where(known, error, np.inf)),
        )

    def _fitted(self, copy: _Copy, steps: int) -> JointFit:
        """Fit without derivatives, as many components as there are."""
        Z = copy.Z
        residuals, scores, lengths, message = [Z], [], [], ""
        # No directions: values only, by the same recursion.
        still = _Moving(Z, np.zeros((0, *Z.shape)))
        try:
            for step in _components(copy.S, still, steps, self.algorithm):
                # Singular vectors have no sign: the largest loading of a response is positive.
                loadings = step.score.value @ residuals[-1]
                sign = np.sign(loadings[np.argmax(np.abs(loadings))])
                residuals.append(step.residual.value)
                scores.append(sign * step.score.value)
                lengths.append(step.length)
        except _EndedError as end:
            message = str(end)
        return JointFit(
            S=copy.S,
            residuals=np.array(residuals),
            scores=np.array(scores).reshape(len(scores), len(Z)).T,
            lengths=np.array(lengths),
            coef_error=np.zeros(len(residuals)),
            message=message,
        )

    def _traces(self, copy: _Copy) -> tuple[Array, Array]:
        """Sum up the derivatives of all r q directions. (M + 1, q) each."""
        steps = len(self._fitted(copy, len(self.fit.lengths)).lengths)
        dof, squares = np.zeros((2, steps + 1, copy.Z.shape[1]))
        squares[0] = len(copy.Z)
        for rows, columns, m, change in self._derivatives(copy, steps):
            each = np.arange(len(rows))
            own = change[each, :, columns]
            np.add.at(dof[m], columns, own[each, rows])
            own[each, rows] -= 1.0
            np.add.at(squares[m], columns, np.vecdot(own, own))
        return dof, squares

    def _derivatives(
        self, copy: _Copy, steps: int
    ) -> Iterator[tuple[Integers, Integers, int, Array]]:
        """Yield rows and columns of entries of Z, m = 1..steps, and d zhat_m by these entries.

        In blocks of B entries, (B, r, q), so that the tangents of all are never there at once.
        """
        Z, spare = copy.Z, self.spectra[0].n - 1.0
        r, q = Z.shape
        block = max(1, _BLOCK_ENTRIES // max(1, 2 * r * (q + steps)))
        for start in range(0, r * q, block):
            rows, columns = np.divmod(np.arange(start, min(start + block, r * q)), q)
            each = np.arange(len(rows))
            tangent = np.zeros((len(rows), r, q))
            tangent[each, rows, columns] = 1.0
            # d (y/s) = dy/s - y ds/s^2 with ds = y'dy / ((n - 1) s), in units where s = 1.
            shares = Z[rows, columns, None] / spare * self.scaled
            tangent[each, :, columns] -= Z.T[columns] * shares
            moving = _Moving(Z, tangent)
            for m, step in enumerate(_components(copy.S, moving, steps, self.algorithm), start=1):
                change = moving.tangent - step.residual.tangent
                # The scale that multiplies the fit moves with the response, too.
                change[each, :, columns] += (Z - step.residual.value).T[columns] * shares
                yield rows, columns, m, change


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
