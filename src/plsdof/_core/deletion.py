r"""Predictions of left-out rows by all PLS models, from the rows of one decomposition.

With rows A = U S (those of X, of a kernel or of a penalised problem, centred and scaled) and roots
of weights a, the fit without the rows of a fold is PLS on the other rows, about means of their own.
Column i of an n x F block holds all that belongs to fold i, with zeros at its rows:

    r_0 = sqrt(w) (y - ybar_i),      t_j ~ P_i A A' r_{j-1},      r_j = r_{j-1} - t_j t_j' r_{j-1},

P_i takes out the mean and earlier scores t. The entries of P_i A A' r at the rows of the fold,
which have no part in it, are the scores of the rows that were left out. All folds advance together:
one product with A A' per component, no decomposition. Scales of columns and the width of a kernel
stay those of all rows.
"""

import numpy as np

from plsdof._core.inputs import Array

# What a step leaves is uncertain where it is a smaller share of what it started from.
_SMALLEST_SHARE = 1e-9


def deleted_predictions(
    rows: Array,
    y: Array,
    root: Array | None,
    n_components: int,
    patience: int,
    n_folds: int | None = None,
) -> Array:
    """Predict every row by the fits without it, or without its fold.

    Parameters
    ----------
    rows : (n, r) array
        Centred rows, times the roots of their weights.
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
    Cost: O(k n F (min(n, 2 r) + k)) time, O(k n F) memory for F folds.

    Examples
    --------
    >>> X = np.array([[-2.0], [0.0], [2.0]])
    >>> deleted_predictions(X, np.array([1.0, 2.0, 6.0]), None, 1, 5)
    array([[ 4. ,  3.5,  1.5],
           [-2. ,  3.5,  3. ]])
    """
    n, r = rows.shape
    F = n if n_folds is None else min(n, n_folds)
    a = np.ones(n) if root is None else root
    each, fold = np.arange(n), np.arange(n) % F
    others = a[:, None] * (fold[:, None] != np.arange(F))
    weight = np.square(others).sum(axis=0)
    mean = (others.T**2 @ y) / weight
    left = (y[:, None] - mean) * others
    gram = rows @ rows.T if 2 * r > n else None
    scores = np.empty((F, n_components, n))
    own, fitted = np.empty((n, n_components)), np.zeros(n)
    predictions = [mean[fold]]
    errors = [float(np.sum((a * (y - predictions[0])) ** 2))]
    for j in range(n_components):
        # One step for all folds, and the scores of the rows that are left out.
        moved = gram @ left if gram is not None else rows @ (rows.T @ left)
        moved -= a[:, None] * (np.einsum("ji,ji->i", others, moved) / weight)
        score = moved[each, fold]
        t = np.ascontiguousarray(moved.T)
        t[fold, each] = 0.0
        size = np.linalg.norm(t, axis=1)
        # Orthogonal to the earlier scores.
        shares = (scores[:, :j] @ t[:, :, None])[:, :, 0]
        t -= (shares[:, None] @ scores[:, :j])[:, 0]
        score -= np.vecdot(shares[fold], own[:, :j])
        norm = np.linalg.norm(t, axis=1)
        if np.any(norm <= _SMALLEST_SHARE * size):
            break
        t /= norm[:, None]
        scores[:, j], own[:, j] = t, score / norm[fold]
        # What the component explains of the rows that are left, and of those left out.
        loading = np.vecdot(t, left.T)
        left -= (loading[:, None] * t).T
        fitted += own[:, j] * loading[fold]
        predictions.append(mean[fold] + fitted / a)
        errors.append(float(np.sum((a * (y - predictions[-1])) ** 2)))
        if int(np.argmin(errors)) + patience <= j + 1:
            break
    return np.array(predictions)
