"""High-precision Degrees of Freedom: the Krylov formula in its moment form, in ball arithmetic.

With mu_k = sum lambda^k z^2, tau_k = sum lambda^k, H = (mu_{a+b}), c = H^{-1} (mu_1..mu_m):

    DoF = 1 + sum_j c_j tau_j + 2 (m - sum_j c_j sum_ab (H^{-1})_ab mu_{a+b+j})

No orthogonalisation, no filter, no eigenvectors: an independent route.
"""

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
