r"""Predictions of left-out rows by all PLS models, from the rows of one decomposition.

With rows A = U S (those of X, of a kernel or of a penalised problem, centred and scaled) and roots
of weights a, the fit without the rows of a fold is PLS on the other rows, about means of their own.
Row i of an F x n block holds all that belongs to fold i, with zeros at its rows:

    r_0 = sqrt(w) (y - ybar_i),      t_j ~ P_i A A' r_{j-1},      r_j = r_{j-1} - t_j t_j' r_{j-1},

P_i takes out the mean and earlier scores t. The entries of P_i A A' r at the rows of the fold,
which have no part in it, are the scores of the rows that were left out. All folds advance together:
one product with A A' per component, no decomposition. Scales of columns and the width of a kernel
stay those of all rows.
"""

import numpy as np

from plsdof._core.inputs import Array
from plsdof._core.spectrum import Map

# What a step leaves is uncertain where it is a smaller share of what it started from.
_SMALLEST_SHARE = 1e-9


def deleted_predictions(
    times: Map,
    y: Array,
    root: Array | None,
    n_components: int,
    patience: int,
    n_folds: int | None = None,
) -> Array:
    """Predict every row by the fits without it, or without its fold.

    Parameters
    ----------
    times : callable
        A A' @ v for an (n, F) array v; A has centred rows, times the roots of their weights.
    y : (n,) array
        The response.
    root : (n,) array or None
        Roots of the weights, all positive.
    n_components : int
    patience : int
        End after so many components without a smaller (weighted) sum of squared errors.
    n_folds : int, optional
        Row i is in fold i modulo this number; each row by itself by default.

    Returns
    -------
    (k + 1, n) array
        With 0..k components, k at most ``n_components``.

    Notes
    -----
    Cost: k products with F columns, O(k^2 n F) time, O(k n F) memory for F folds.

    Examples
    --------
    >>> X = np.array([[-2.0], [0.0], [2.0]])
    >>> deleted_predictions((X @ X.T).__matmul__, np.array([1.0, 2.0, 6.0]), None, 1, 5)
    array([[ 4. ,  3.5,  1.5],
           [-2. ,  3.5,  3. ]])
    """
    n = len(y)
    F = n if n_folds is None else min(n, n_folds)
    a = np.ones(n) if root is None else root
    fold = np.arange(n) % F
    # Where the rows that a fold leaves out stand in a block of all folds.
    held_out = fold * n + np.arange(n)
    others = a * (fold != np.arange(F)[:, None])
    weight = np.square(others).sum(axis=1)
    mean = (np.square(others) @ y) / weight
    left = (y - mean[:, None]) * others
    scores, part = np.empty((n_components, F, n)), np.empty((F, n))
    own, fitted = np.empty((n, n_components)), np.zeros(n)
    predictions = [mean[fold]]
    errors = [_weighted_squares(y - predictions[0], a)]
    for j in range(n_components):
        # One step for all folds, and the scores of the rows that are left out.
        t = np.ascontiguousarray(times(left.T).T)
        t -= np.multiply((np.vecdot(others, t) / weight)[:, None], a, out=part)
        score = t.take(held_out)
        t.reshape(-1)[held_out] = 0.0
        size = np.vecdot(t, t)
        # Orthogonal to the earlier scores.
        earlier = scores[:j].transpose(1, 0, 2)
        shares = np.matvec(earlier, t)
        t -= np.vecmat(shares, earlier, out=part)
        score -= np.vecdot(shares.take(fold, axis=0), own[:, :j])
        squares = np.vecdot(t, t)
        if (squares <= _SMALLEST_SHARE**2 * size).any():
            break
        norm = np.sqrt(squares)
        t = np.divide(t, norm[:, None], out=scores[j])
        np.divide(score, norm.take(fold), out=own[:, j])
        # What the component explains of the rows that are left, and of those left out.
        loading = np.vecdot(t, left)
        left -= np.multiply(loading[:, None], t, out=part)
        fitted += own[:, j] * loading.take(fold)
        predictions.append(predictions[0] + fitted / a)
        errors.append(_weighted_squares(y - predictions[-1], a))
        if errors.index(min(errors)) + patience <= j + 1:
            break
    return np.array(predictions)


def _weighted_squares(errors: Array, root: Array) -> float:
    weighted = errors * root
    return float(weighted @ weighted)
