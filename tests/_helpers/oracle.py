"""High-precision Degrees of Freedom: the Krylov formula in its moment form, in ball arithmetic.

With mu_k = sum lambda^k z^2, tau_k = sum lambda^k, H = (mu_{a+b}), c = H^{-1} (mu_1..mu_m):

    DoF = 1 + sum_j c_j tau_j + 2 (m - sum_j c_j sum_ab (H^{-1})_ab mu_{a+b+j})

No orthogonalisation, no filter, no eigenvectors: an independent route.
"""

import dataclasses

import flint
import numpy as np


def exact_dof(eigenvalues, z, max_components, bits=3000):
    """Return DoF for m = 0..max_components, each correct to 1e-12 relative."""
    before = flint.ctx.prec
    flint.ctx.prec = bits
    try:
        lam = [flint.arb(float(v)) for v in eigenvalues]
        weights = [flint.arb(float(v)) ** 2 for v in z]
        moments, traces = _moments(lam, weights, 3 * max_components + 1)
        return np.array(
            [1.0] + [dof_from_moments(moments, traces, m) for m in range(1, max_components + 1)]
        )
    finally:
        flint.ctx.prec = before


def _moments(lam, weights, highest):
    powers = [flint.arb(1)] * len(lam)
    moments, traces = [], []
    for _ in range(highest + 1):
        moments.append(sum((p * w for p, w in zip(powers, weights, strict=True)), flint.arb(0)))
        traces.append(sum(powers, flint.arb(0)))
        powers = [p * v for p, v in zip(powers, lam, strict=True)]
    return moments, traces


def dof_from_moments(moments, traces, m):
    """Return DoF(m) from mu_0..mu_3m and tau_0..tau_m, or fail if the balls are too wide."""
    hankel = flint.arb_mat([[moments[a + b] for b in range(1, m + 1)] for a in range(1, m + 1)])
    inverse = hankel.inv()
    c = inverse * flint.arb_mat([[moments[a]] for a in range(1, m + 1)])
    # sum_ab (H^{-1})_ab mu_{a+b+j} needs only the sums of H^{-1} along a + b = s.
    along = [flint.arb(0)] * (2 * m + 1)
    for a in range(m):
        for b in range(m):
            along[a + b + 2] += inverse[a, b]
    total = flint.arb(1 + 2 * m)
    for j in range(1, m + 1):
        trace = sum((along[s] * moments[s + j] for s in range(2, 2 * m + 1)), flint.arb(0))
        total += c[j - 1, 0] * (traces[j] - 2 * trace)
    value = float(total.mid())
    assert total.rad() < 1e-12 * max(1.0, abs(value)), "raise the working precision"
    return value


def random_spectrum(rng, *, largest=15, eigenvalue_decades=14.0, z_decades=12.0):
    """Draw a hard spectrum: wide ranges, sometimes repeated eigenvalues or z_i = 0."""
    r = int(rng.integers(2, largest + 1))
    eigenvalues = 10 ** (-eigenvalue_decades * rng.uniform() * rng.uniform(size=r))
    z = 10 ** (-z_decades * rng.uniform() * rng.uniform(size=r)) * rng.choice([-1.0, 1.0], r)
    if rng.uniform() < 0.3:
        z[rng.uniform(size=r) < 0.3] = 0.0
    if rng.uniform() < 0.3:
        eigenvalues[rng.uniform(size=r) < 0.3] = eigenvalues[0]
    if not z.any():
        z[0] = 1.0
    order = np.argsort(-eigenvalues, kind="stable")
    return eigenvalues[order], z[order]


@dataclasses.dataclass(frozen=True, kw_only=True)
class ExactFit:
    """What ball arithmetic says of 0..M components, as far as the balls stay small."""

    dof: np.ndarray
    rss: np.ndarray
    coef: np.ndarray  # of standardised predictors
    residual_trace: np.ndarray


def exact_fit(X, y, max_components, *, scale=True, sample_weight=None):
    """Fit PLS to floats as they are, in ball arithmetic: centring, scaling, weights and all.

    Coefficients are beta = sum_j c_j G^{j-1} X'y with G = X'X and c of the moment form above. So
    few digits as balls of every number allow, else very many.
    """
    before = flint.ctx.prec
    try:
        flint.ctx.prec = 1000
        fit = _exact_fit(X, y, max_components, scale, sample_weight, narrow=True)
        if len(fit.dof) <= max_components:
            flint.ctx.prec = 4000
            fit = _exact_fit(X, y, max_components, scale, sample_weight, narrow=False)
        return fit
    finally:
        flint.ctx.prec = before


def _exact_fit(X, y, M, scale, sample_weight, *, narrow):
    weight = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    kept = weight > 0
    Z, response = _standardized_balls(X[kept], y[kept], weight[kept], scale)
    turned = Z.transpose()
    n, p = Z.nrows(), Z.ncols()
    wide = p > n
    G = Z * turned if wide else turned * Z
    gradient = turned * response
    total = (response.transpose() * response)[0, 0]
    # mu_k = y'K^k y, from Krylov vectors in the smaller space.
    vectors = [response if wide else gradient]
    moments = [] if wide else [total]
    while len(moments) < 3 * M + 2:
        degree = len(moments) - (0 if wide else 1)
        while len(vectors) <= (degree + 1) // 2:
            vectors.append(G * vectors[-1])
        low = vectors[degree // 2].transpose()
        moments.append((low * vectors[degree - degree // 2])[0, 0])
    traces, power = [flint.arb(min(n, p))], None
    for _ in range(2 * M):
        power = G if power is None else power * G
        traces.append(sum((power[i, i] for i in range(G.nrows())), flint.arb(0)))
    steps = [gradient]
    for _ in range(1, M):
        steps.append(turned * (Z * steps[-1]))
    fits = [(1.0, float(total.mid()), np.zeros(p), float(weight[kept].sum()) - 1.0)]
    for m in range(1, M + 1):
        try:
            fits.append(_exact_model(moments, traces, steps, m, fits[0][3], narrow=narrow))
        except (AssertionError, ZeroDivisionError):  # the Krylov space is exhausted
            break
    dof, rss, coef, trace = (np.array(part) for part in zip(*fits, strict=True))
    return ExactFit(dof=dof, rss=rss, coef=coef, residual_trace=trace)


def exact_penalized(X, y, max_components, penalty, strength, *, scale=False, bits=2000):
    """Fit penalised PLS, with the Krylov space of K = X (I + strength P)^{-1} X'."""
    before = flint.ctx.prec
    flint.ctx.prec = bits
    try:
        Z, response = _standardized_balls(X, y, np.ones(len(y)), scale)
        factor, p, M = flint.arb(float(strength)), Z.ncols(), max_components
        metric = flint.arb_mat(
            [[factor * float(penalty[i, j]) + int(i == j) for j in range(p)] for i in range(p)]
        )
        solved = metric.solve(Z.transpose())
        K = Z * solved
        vectors = [response]
        while len(vectors) <= (3 * M + 2) // 2 + 1:
            vectors.append(K * vectors[-1])
        moments = [
            (vectors[k // 2].transpose() * vectors[k - k // 2])[0, 0] for k in range(3 * M + 2)
        ]
        traces, power = [flint.arb(Z.nrows())], None
        for _ in range(2 * M):
            power = K if power is None else power * K
            traces.append(sum((power[i, i] for i in range(Z.nrows())), flint.arb(0)))
        steps = [solved * vector for vector in vectors[:M]]
        fits = [_exact_model(moments, traces, steps, m, len(y) - 1.0) for m in range(1, M + 1)]
        dof, rss, coef, trace = (np.array(part) for part in zip(*fits, strict=True))
        return ExactFit(dof=dof, rss=rss, coef=coef, residual_trace=trace)
    finally:
        flint.ctx.prec = before


def exact_ridge(X, y, alpha, *, scale=True, bits=1000):
    """Return RSS and coefficients of standardised predictors, (X'X + alpha I) b = X'y."""
    before = flint.ctx.prec
    flint.ctx.prec = bits
    try:
        Z, response = _standardized_balls(X, y, np.ones(len(y)), scale)
        p, turned = Z.ncols(), Z.transpose()
        penalty = flint.arb_mat(
            [[flint.arb(float(alpha)) if i == j else 0 for i in range(p)] for j in range(p)]
        )
        beta = (turned * Z + penalty).solve(turned * response)
        left = response - Z * beta
        rss = (left.transpose() * left)[0, 0]
        return float(rss.mid()), np.array([float(beta[i, 0].mid()) for i in range(p)])
    finally:
        flint.ctx.prec = before


def exact_pcr(X, y, max_components, *, scale=True, sample_weight=None, bits=1500):
    """Return RSS (M + 1,) and coefficients of standardised predictors (M + 1, p), 0..M components.

    Eigenvectors in many digits; rounded at that precision, not enclosed.
    """
    before = flint.ctx.prec
    flint.ctx.prec = bits
    try:
        weight = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight)
        kept = weight > 0
        Z, response = _standardized_balls(X[kept], y[kept], weight[kept], scale)
        return _exact_pcr(Z, response, max_components)
    finally:
        flint.ctx.prec = before


def _exact_pcr(Z, response, M):
    turned = Z.transpose()
    wide = Z.nrows() <= Z.ncols()
    G = Z * turned if wide else turned * Z
    d = G.nrows()
    middle = flint.arb_mat([[G[i, j].mid() for j in range(d)] for i in range(d)])
    values, vectors = flint.acb_mat(middle).eig(right=True, algorithm="approx")
    order = sorted(range(d), key=lambda i: values[i].real.mid(), reverse=True)
    coef = flint.arb_mat(Z.ncols(), 1)
    fits = [(response, np.zeros(Z.ncols()))]
    for i in order[:M]:
        v = flint.arb_mat([[vectors[j, i].real.mid()] for j in range(d)])
        along = (v.transpose() * (response if wide else turned * response))[0, 0]
        share = along / values[i].real.mid() / (v.transpose() * v)[0, 0]
        coef = coef + (turned * v if wide else v) * share
        beta = np.array([float(coef[j, 0].mid()) for j in range(Z.ncols())])
        fits.append((response - Z * coef, beta))
    rss = [float((left.transpose() * left)[0, 0].mid()) for left, _ in fits]
    return np.array(rss), np.array([beta for _, beta in fits])


def _standardized_balls(X, y, weight, scale):
    n, p = X.shape
    W = [flint.arb(float(value)) for value in weight]
    N = sum(W, flint.arb(0))
    columns = [[flint.arb(float(value)) for value in column] for column in (*X.T, y)]
    means = [_dot(W, column) / N for column in columns]
    columns = [
        [value - mean for value in column] for column, mean in zip(columns, means, strict=True)
    ]
    if scale:
        for j in range(p):
            if np.ptp(X[:, j]) > 0:
                variance = _dot(W, [value**2 for value in columns[j]]) / (N - 1)
                columns[j] = [value / variance.sqrt() for value in columns[j]]
    roots = [value.sqrt() for value in W]
    Z = flint.arb_mat([[roots[i] * columns[j][i] for j in range(p)] for i in range(n)])
    return Z, flint.arb_mat([[roots[i] * columns[p][i]] for i in range(n)])


def _dot(a, b):
    return sum((x * y for x, y in zip(a, b, strict=False)), flint.arb(0))


def _exact_model(moments, traces, steps, m, spare, *, narrow=False):
    dof = dof_from_moments(moments, traces, m)
    hankel = flint.arb_mat([[moments[a + b] for b in range(1, m + 1)] for a in range(1, m + 1)])
    c = hankel.solve(flint.arb_mat([[moments[a]] for a in range(1, m + 1)]))
    c = [c[j, 0] for j in range(m)]
    rss = moments[0] - _dot(c, moments[1:])
    beta = sum((steps[j] * c[j] for j in range(1, m)), steps[0] * c[0])
    # tr f (2 - f) = 2 tr f - tr f^2 with f = sum_j c_j lambda^j.
    explained = 2 * _dot(c, traces[1:])
    for a in range(m):
        explained -= c[a] * _dot(c, traces[a + 2 :])
    coef = np.array([float(beta[i, 0].mid()) for i in range(beta.nrows())])
    if narrow:
        largest = max(abs(beta[i, 0].mid()) for i in range(beta.nrows()))
        assert all(beta[i, 0].rad() < 1e-18 * largest for i in range(beta.nrows()))
        assert rss.rad() < 1e-18 * abs(rss.mid())
        assert explained.rad() < 1e-18 * abs(explained.mid())
    return dof, float(rss.mid()), coef, spare - float(explained.mid())
