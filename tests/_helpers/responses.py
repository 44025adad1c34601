"""Problems with several responses, and PLS2 by two published algorithms, dense and plain."""

import numpy as np

from _helpers.problems import make_problem

STEP = 1e-5


def make_responses(n, p, q, seed=0, decay=0.3):
    rng = np.random.default_rng(seed)
    X, _ = make_problem(n, p, seed=seed, decay=decay)
    return X, X @ rng.normal(size=(p, q)) * np.arange(1, q + 1) + rng.normal(size=(n, q)) + 5.0


def nipals(X, Y, m):
    """Fit of PLS2 with deflation of X and Y by the scores, in original coordinates."""
    left, residual = X - X.mean(axis=0), Y - Y.mean(axis=0)
    for _ in range(m):
        w = np.linalg.svd(left.T @ residual)[0][:, 0]
        t = left @ w
        t /= np.linalg.norm(t)
        left, residual = left - np.outer(t, t @ left), residual - np.outer(t, t @ residual)
    return Y - residual


def simpls(X, Y, m):
    """Fit of de Jong's SIMPLS: deflation of X'Y by the loadings."""
    centred, response = X - X.mean(axis=0), Y - Y.mean(axis=0)
    cross, V, fitted = centred.T @ response, [], np.zeros_like(Y) + Y.mean(axis=0)
    for _ in range(m):
        r = np.linalg.svd(cross)[0][:, 0]
        t = centred @ r
        t /= np.linalg.norm(t)
        v = centred.T @ t
        for other in V:
            v -= other * (other @ v)
        v /= np.linalg.norm(v)
        V.append(v)
        cross = cross - np.outer(v, v @ cross)
        fitted += np.outer(t, t @ response)
    return fitted


ALGORITHMS = {"nipals": nipals, "simpls": simpls}


def traces(fit, Y):
    """Sums of d yhat_ij / d y_ij over i by central differences, one per response."""
    total = np.zeros(Y.shape[1])
    for i, j in np.ndindex(Y.shape):
        step = np.zeros_like(Y)
        step[i, j] = STEP
        total[j] += (fit(Y + step) - fit(Y - step))[i, j] / (2 * STEP)
    return total


def scaled(X):
    return (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)


def limits_of(results):
    """Stack the limits of one result per response. Shape (k, q, 2)."""
    return np.stack([np.column_stack([one.lower, one.upper]) for one in results], axis=1)
