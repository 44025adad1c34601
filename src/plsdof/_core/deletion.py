r"""Leave-one-out predictions of all PLS models from the rows of one decomposition.

With rows A = U S (those of X, of a kernel or of a penalised problem, centred and scaled) and roots
of weights a, the fit without row i is PLS on the other rows, about means of their own. Column i of
an n x n block holds all that belongs to it, with zero at entry i:

    r_0 = sqrt(w) (y - ybar_i),      t_j ~ P_i A A' r_{j-1},      r_j = r_{j-1} - t_j t_j' r_{j-1},

P_i takes out the mean and earlier scores t. Entry i of P_i A A' r, which row i has no part in, is
the score of the row that was left out. All rows advance together: one product with A A' per
component, no decomposition. Scales of columns and the width of a kernel stay those of all rows.
"""

import numpy as np

from plsdof._core.inputs import Array

# What a step leaves is uncertain where it is a smaller share of what it started from.
_SMALLEST_SHARE = 1e-9


def deleted_predictions(
    rows: Array, y: Array, root: Array | None, n_components: int, patience: int
) -> Array:
    """Predict every row by the fits without it.

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

    Returns
    -------
    (k + 1, n) array
        With 0..k components, k at most ``n_components``.

    Notes
    -----
    Cost: O(k n^2 (min(n, 2 r) + k)) time, O(k n^2) memory.

    Examples
    --------
    >>> X = np.array([[-2.0], [0.0], [2.0]])
    >>> deleted_predictions(X, np.array([1.0, 2.0, 6.0]), None, 1, 5)
    array([[ 4. ,  3.5,  1.5],
           [-2. ,  3.5,  3. ]])
    """
    n, r = rows.shape
    a = np.ones(n) if root is None else root
    others = a[:, None] * (1.0 - np.eye(n))
    weight = np.square(others).sum(axis=0)
    mean = (others.T**2 @ y) / weight
    left = (y[:, None] - mean) * others
    gram = rows @ rows.T if 2 * r > n else None
    scores = np.empty((n, n_components, n))
    own, fitted = np.empty((n, n_components)), np.zeros(n)
    predictions, errors = [mean], [float(np.sum((a * (y - mean)) ** 2))]
    for j in range(n_components):
        # One step for all rows, and the score of the row that is left out.
        moved = gram @ left if gram is not None else rows @ (rows.T @ left)
        moved -= a[:, None] * (np.einsum("ji,ji->i", others, moved) / weight)
        score = np.diagonal(moved).copy()
        t = np.ascontiguousarray(moved.T)
        np.fill_diagonal(t, 0.0)
        size = np.linalg.norm(t, axis=1)
        # Orthogonal to the earlier scores.
        shares = (scores[:, :j] @ t[:, :, None])[:, :, 0]
        t -= (shares[:, None] @ scores[:, :j])[:, 0]
        score -= np.vecdot(shares, own[:, :j])
        norm = np.linalg.norm(t, axis=1)
        if np.any(norm <= _SMALLEST_SHARE * size):
            break
        t /= norm[:, None]
        scores[:, j], own[:, j] = t, score / norm
        loading = np.vecdot(t, left.T)
        left -= (loading[:, None] * t).T
        fitted += own[:, j] * loading
        predictions.append(mean + fitted / a)
        errors.append(float(np.sum((a * (y - predictions[-1])) ** 2)))
        if int(np.argmin(errors)) + patience <= j + 1:
            break
    return np.array(predictions)
