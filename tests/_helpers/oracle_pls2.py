"""PLS2 of one or two responses in ball arithmetic, and its Degrees of Freedom by differences.

Plain NIPALS and SIMPLS on the data themselves, 1500 bits: steps of 2^-375 have no rounding to
speak of. No decomposition, no tangents: an independent route.
"""

import flint
import numpy as np


def exact_dof_by_response(X, Y, components, algorithm="nipals", bits=1500):
    """Return sums of d yhat_ij / d y_ij over i. Shape (components + 1, q)."""
    before = flint.ctx.prec
    flint.ctx.prec = bits
    try:
        X, Y, step = _balls(X), _balls(Y), flint.arb(2) ** (-bits // 4)
        total = np.full((components + 1, Y.shape[1]), flint.arb(0), dtype=object)
        for i, j in np.ndindex(Y.shape):
            fits = []
            for sign in (1, -1):
                moved = Y.copy()
                moved[i, j] += sign * step
                fits.append([fit[i, j] for fit in _fits(X, moved, components, algorithm)])
            total[:, j] += (np.array(fits[0]) - np.array(fits[1])) / (2 * step)
        assert max(float(one.rad()) for one in total.ravel()) < 1e-30
        return np.vectorize(lambda one: float(one.mid()), otypes=[float])(total)
    finally:
        flint.ctx.prec = before


def _balls(values):
    return np.vectorize(lambda one: flint.arb(float(one)), otypes=[object])(np.asarray(values))


def _fits(X, Y, components, algorithm):
    """Fitted values of 0, 1, ... components."""
    X, mean = X - X.sum(axis=0) / len(X), Y.sum(axis=0) / len(Y)
    left, residual, cross, basis = X, Y - mean, X.T @ (Y - mean), []
    fits = [Y - residual]
    for _ in range(components):
        A = cross if algorithm == "simpls" else left.T @ residual
        t = _unit((X if algorithm == "simpls" else left) @ (A @ _dominant(A.T @ A)))
        residual = residual - np.outer(t, t @ residual)
        left = left - np.outer(t, t @ left)
        v = X.T @ t
        for other in basis:
            v = v - other * (other @ v)
        basis.append(_unit(v))
        cross = cross - np.outer(basis[-1], basis[-1] @ cross)
        fits.append(Y - residual)
    return fits


def _dominant(G):
    """Return a dominant eigenvector of a symmetric matrix of order one or two."""
    if len(G) == 1:
        return np.array([flint.arb(1)], dtype=object)
    a, b, d = G[0, 0], G[0, 1], G[1, 1]
    largest = (a + d) / 2 + (((a - d) / 2) ** 2 + b * b).sqrt()
    pairs = [largest - d, b], [b, largest - a]
    return np.array(max(pairs, key=lambda pair: float(abs(pair[0]) + abs(pair[1]))), dtype=object)


def _unit(v):
    return v / (v @ v).sqrt()
