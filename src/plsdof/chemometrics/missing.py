"""Holes in X: filled along the axis of each row, or by what the other rows have in common.

Neither looks at the response. Given the rows of X the completed X is fixed, so that Degrees of
Freedom of a model that is fitted to it are exact. `interpolated` treats each row by itself;
`low_rank` learns from rows: it is the step ``impute`` of a `Preprocessor`, which is fitted anew
without the rows that cross-validation holds out.
"""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from plsdof._core.inputs import Array
from plsdof.errors import InvalidInputError

# Neighbouring points that a line across a gap stands for; a band is a few times as wide.
WIDEST_GAP = 5
# The number of components is chosen by a share of the known values that is taken out: from 0 to
# more than any filling needs, until so many in a row are not better.
_TAKEN_OUT, _MOST_COMPONENTS, _PATIENCE = 0.1, 30, 3
# Rounds of filling and decomposing: more would fit the holes of a weak component to nothing but
# noise. They end if no filled value changes by this share of a standard deviation.
_ROUNDS, _SETTLED = 30, 1e-4
# Smallest variance of the noise, as a share of the largest one, that keeps equations solvable.
_NO_NOISE, _TINY = 1e-12, float(np.finfo(float).tiny)

Mask = npt.NDArray[np.bool_]


def interpolated(X: Array, axis: Array, widest: int = WIDEST_GAP) -> Array:
    """Fill gaps of at most ``widest`` neighbouring points by lines along the axis, row by row.

    Wider gaps, and gaps at the ends, stay as they are. Cost: O(n p).

    Parameters
    ----------
    X : (n, p) array
        nan where a value is missing.
    axis : (p,) array
        Rising or falling positions of the columns.
    widest : int

    Examples
    --------
    >>> row = np.array([[1.0, np.nan, np.nan, 4.0, np.nan]])
    >>> interpolated(row, np.array([0.0, 1.0, 2.0, 4.0, 5.0]), widest=2)
    array([[1.  , 1.75, 2.5 , 4.  ,  nan]])
    """
    filled, order = np.array(X, dtype=np.float64), np.argsort(axis)
    points = np.asarray(axis)[order]
    for i in np.flatnonzero(np.isnan(filled).any(axis=1)):
        values = filled[i, order]
        known = np.flatnonzero(~np.isnan(values))
        for left, right in pairwise(known.tolist()):
            if 1 < right - left <= widest + 1:
                gap, ends = slice(left + 1, right), [left, right]
                values[gap] = np.interp(points[gap], points[ends], values[ends])
        filled[i, order] = values
    return filled


def low_rank(X: Array, rank: int = 0, weights: Array | None = None) -> dict[str, Array]:
    r"""Learn what fills holes, a few components of the other values: the step ``impute``.

    Columns are standardised. With components W (probabilistic principal components: deviations
    :math:`r = W u + e`, u of variance 1, e of constant variance, W in units of the standard
    deviation of e) the holes of a row are filled by their expectation given what is known,

    .. math:: \hat r = W (W_o' W_o + I)^{-1} W_o' r_o,

    and means and components are computed from the filled rows, in turns, until the values stay.

    Parameters
    ----------
    X : (n, p) array
        nan where a value is missing; a column without any value is refused.
    rank : int
        Number of components; 0 takes the one that predicts a tenth of the known values best.
    weights : (n,) array, optional
        Positive ones.

    Returns
    -------
    dict
        ``mean_`` and ``scale_``, (p,) arrays, and ``loadings_``, W above, (p, k).

    Notes
    -----
    Cost: O(n p min(n, p)) per round, up to 30 rounds for each number of components considered.

    References
    ----------
    M. E. Tipping, C. M. Bishop (1999), Probabilistic principal component analysis, Journal of the
    Royal Statistical Society B 61, 611-622.

    Examples
    --------
    >>> from plsdof.datasets import load_gasoline
    >>> X, _ = load_gasoline(return_X_y=True)
    >>> holes = X.copy()
    >>> holes[::4, ::10] = np.nan
    >>> learned = low_rank(holes)
    >>> bool(np.std(filled(holes, learned) - X) < 0.05 * np.std(X - X.mean(axis=0)))
    True
    """
    w, known = np.ones(len(X)) if weights is None else weights, ~np.isnan(X)
    empty = np.flatnonzero(~known.any(axis=0))
    if len(empty):
        raise InvalidInputError(
            f"column {empty[0]} has no value to learn from; leave it out before the fit."
        )
    count = w @ known
    mean = w @ np.where(known, X, 0.0) / count
    spread = np.sqrt(w @ np.where(known, X - mean, 0.0) ** 2 / count)
    scale = np.where(spread > 0, spread, 1.0)
    r = np.where(known, (X - mean) / scale, 0.0)
    k = _chosen(r, known, w, rank, _distinct(X))
    _, shift, loadings = _settled(r, known, w, k)
    return {"mean_": mean + scale * shift, "scale_": scale, "loadings_": loadings}


def filled(X: Array, learned: Mapping[str, Array], **_: Any) -> Array:
    """Return rows with their holes filled by what `low_rank` learned; others as they are. (n, p).

    Examples
    --------
    >>> learned = {"mean_": np.zeros(2), "scale_": np.ones(2), "loadings_": 9 * np.ones((2, 1))}
    >>> filled(np.array([[1.0, np.nan]]), learned).round(2)
    array([[1.  , 0.99]])
    """
    known, mean, scale = ~np.isnan(X), learned["mean_"], learned["scale_"]
    r = np.where(known, (X - mean) / scale, 0.0)
    expected = _expected(r, known, np.zeros(len(mean)), learned["loadings_"])
    return np.where(known, X, mean + scale * expected)


def _distinct(values: Array) -> npt.NDArray[np.intp]:
    """Return for each row the number of the first row that equals it, among rows that differ."""
    seen: dict[bytes, int] = {}
    return np.array([seen.setdefault(row.tobytes(), len(seen)) for row in values])


def _chosen(r: Array, known: Mask, w: Array, rank: int, distinct: npt.NDArray[np.intp]) -> int:
    """Return how many components predict known values best that were taken out at random.

    Rows that are the same lose the same values: a weight of 2 does what a row given twice does.
    """
    n, p = int(distinct.max()) + 1, r.shape[1]
    most = min(n - 1, p - 1)
    if rank:
        return int(min(rank, most))
    drawn = np.random.default_rng([n, p]).uniform(size=(n, p))
    taken = known & (drawn[distinct] < _TAKEN_OUT)
    rest = known & ~taken
    filled, errors = np.where(rest, r, 0.0), []
    for k in range(min(most, _MOST_COMPONENTS) + 1):
        # Each number begins where the last one ended.
        filled = _settled(filled, rest, w, k)[0]
        errors.append(float(w @ np.sum((filled - r) ** 2 * taken, axis=1)))
        if k - int(np.argmin(errors)) >= _PATIENCE:
            break
    return int(np.argmin(errors))


def _settled(r: Array, known: Mask, w: Array, k: int) -> tuple[Array, Array, Array]:
    """Decompose and fill in turns until values stay; return them, means and components."""
    for _ in range(_ROUNDS):
        shift, W = _components(r, known, w, k)
        before, r = r, _expected(r, known, shift, W)
        if np.abs(r - before).max() <= _SETTLED:
            break
    return r, shift, W


def _components(r: Array, known: Mask, w: Array, k: int) -> tuple[Array, Array]:
    """Return column means and k components in units of the noise."""
    n, p = float(w.sum()), r.shape[1]
    shift = w @ r / n
    centred = r - shift
    # The smaller of the two Gram matrices.
    rows = np.sqrt(w)[:, None] * centred
    wide = len(rows) < p
    values, vectors = np.linalg.eigh(rows @ rows.T if wide else rows.T @ rows)
    values, vectors = np.maximum(values[::-1][:k], _TINY), vectors[:, ::-1][:, :k]
    if wide:
        vectors = rows.T @ (vectors / np.sqrt(values))
    # The noise is that of known values, by the freedom that components leave them.
    rest = (centred - centred @ vectors @ vectors.T) ** 2 * known
    freedom = max(w @ known.sum(axis=1) - p - k * (n + p - k - 1), 1)
    noise = max(w @ rest.sum(axis=1) / freedom, _NO_NOISE * (rows**2).sum() / n, _TINY)
    return shift, vectors * np.sqrt(np.maximum(values / n - noise, 0.0) / noise)


def _expected(r: Array, known: Mask, shift: Array, W: Array) -> Array:
    """Return rows with holes filled by their expectation given what is known."""
    holes = ~known.all(axis=1)
    if not holes.any():
        return r
    p, k = W.shape
    there = known[holes]
    gram = (there @ (W[:, :, None] * W[:, None, :]).reshape(p, k * k)).reshape(len(there), k, k)
    right = np.where(there, r[holes] - shift, 0.0) @ W
    u = np.linalg.solve(gram + np.eye(k), right[:, :, None])[:, :, 0]
    filled = r.copy()
    filled[holes] = np.where(there, r[holes], shift + u @ W.T)
    return filled
