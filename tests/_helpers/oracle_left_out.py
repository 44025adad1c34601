"""Held-out rows by PLS on any kernel, in ball arithmetic: a plain refit for every fold.

The fit of m components is the best one in the span of K y, ..., K^m y, K the centred kernel matrix
of the training rows; normal equations, 3000 bits. No recursion, no decomposition.
"""

import flint
import numpy as np


def exact_left_out(gram, X, y, fold, components, *, scale=False, bits=3000):
    """Return y minus cross-validated predictions. Shape (components + 1, n).

    ``gram`` leads from rows, an object array of balls, to their kernel matrix.
    """
    before = flint.ctx.prec
    flint.ctx.prec = bits
    try:
        rows, response = _balls(X), _balls(y)
        residuals = np.empty((components + 1, len(y)))
        for number in np.unique(fold):
            train, test = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
            found = _predictions(gram, rows, response, train, test, components, scale)
            for m, predicted in enumerate(found):
                residuals[m, test] = [float(one.mid()) for one in response[test] - predicted]
                assert max(float(one.rad()) for one in predicted) < 1e-15
        return residuals
    finally:
        flint.ctx.prec = before


def rbf(gamma):
    """Return the Gaussian kernel of balls."""

    def gram(rows):
        apart = rows[:, None, :] - rows[None, :, :]
        squares = (apart * apart).sum(axis=2)
        return np.vectorize(lambda one: (-flint.arb(gamma) * one).exp(), otypes=[object])(squares)

    return gram


def penalized(penalty, strength):
    """Return the kernel x'(I + strength P)^{-1} x' of balls."""

    def gram(rows):
        p = rows.shape[1]
        metric = [
            [flint.arb(float(penalty[i, j])) * strength + int(i == j) for j in range(p)]
            for i in range(p)
        ]
        inverse = np.array(flint.arb_mat(metric).inv().tolist(), dtype=object)
        return rows @ inverse @ rows.T

    return gram


def with_far_rows(X, rng):
    """Return X with one to three rows that are 1e2 to 1e9 away: an entry, a multiple, a code."""
    X = X.copy()
    for _ in range(int(rng.integers(1, 4))):
        size, row, kind = 10.0 ** rng.uniform(2, 9), rng.integers(len(X)), rng.random()
        if kind < 0.5:
            X[row, rng.integers(X.shape[1])] = size * rng.choice([-1.0, 1.0])
        elif kind < 0.75:
            X[row] *= size
        else:
            X[row] = size
    return X


def _balls(values):
    return np.vectorize(lambda one: flint.arb(float(one)), otypes=[object])(np.asarray(values))


def _predictions(gram, rows, y, train, test, components, scale):
    kept, count = rows[train], len(train)
    mean = kept.sum(axis=0) / count
    moved = rows - mean
    if scale:
        spread = ((moved[train] * moved[train]).sum(axis=0) / (count - 1)).tolist()
        moved = moved / np.array([one.sqrt() for one in spread], dtype=object)
    K = gram(moved)
    K = K - K[train].sum(axis=0)[None, :] / count
    K = K - K[:, train].sum(axis=1)[:, None] / count
    level = y[train].sum() / count
    powers = [y[train] - level]
    for _ in range(components):
        powers.append(K[np.ix_(train, train)] @ powers[-1])
    for m in range(components + 1):
        dual = 0 * powers[0]
        if m:
            V = np.array(powers[1 : m + 1], dtype=object)
            left, right = (
                flint.arb_mat((V @ V.T).tolist()),
                flint.arb_mat([[v @ powers[0]] for v in V]),
            )
            for row, v in zip(left.solve(right).tolist(), powers, strict=False):
                dual = dual + row[0] * v
        yield level + K[np.ix_(test, train)] @ dual
