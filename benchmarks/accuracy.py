"""Degrees of Freedom of four algorithms against ball arithmetic from the raw data.

Run with ``python benchmarks/accuracy.py`` (needs python-flint). The oracle standardises
the data, forms moments of the smaller Gram matrix and evaluates the Krylov formula in moment form,
all with 4,000 bits: no step is shared with the library.
"""

import sys
from pathlib import Path

import flint
import numpy as np

from plsdof import paper, pls_path
from plsdof.datasets import load_gasoline, load_ozone, make_spectra

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from _helpers.oracle import dof_from_moments


def raw_moments(X: np.ndarray, y: np.ndarray, m: int) -> tuple[list, list]:
    """Return mu_0..mu_3m and tau_0..tau_m of the standardised data."""
    n, p = X.shape
    columns = [_standardized(X[:, j]) for j in range(p)]
    centred = _centred([flint.arb(float(v)) for v in y])
    A = flint.arb_mat([[columns[j][i] for j in range(p)] for i in range(n)])
    s = A.transpose() * flint.arb_mat([[v] for v in centred])
    C = A * A.transpose() if n <= p else A.transpose() * A
    # mu_k = y'(XX')^k y = s'(X'X)^(k-1) s: work in the smaller space.
    start = flint.arb_mat([[v] for v in centred]) if n <= p else s
    mu = [sum((v * v for v in centred), flint.arb(0))]
    left, v = start.transpose(), start
    for k in range(3 * m):
        if n <= p or k:
            v = C * v
        mu.append((left * v)[0, 0])
    tau, power = [flint.arb(min(n, p))], C
    for _ in range(m):
        tau.append(sum((power[i, i] for i in range(power.nrows())), flint.arb(0)))
        power = power * C
    return mu, tau


def _centred(values: list) -> list:
    mean = sum(values, flint.arb(0)) / len(values)
    return [v - mean for v in values]


def _standardized(column: np.ndarray) -> list:
    centred = _centred([flint.arb(float(v)) for v in column])
    variance = sum((v * v for v in centred), flint.arb(0)) / (len(centred) - 1)
    return [v / variance.sqrt() for v in centred]


def main() -> None:
    flint.ctx.prec = 4000
    spectra = make_spectra(70, 700, random_state=0)
    cases = {
        "ozone 203 x 12": (load_ozone(), 12),
        "gasoline 60 x 401": (load_gasoline(), 15),
        "simulated NIR 70 x 700": (spectra, 15),
    }
    print(f"{'max |DoF - exact|':<24}{'m':>4}{'svd':>9}{'gram':>9}{'lanczos':>9}{'krylov':>9}")
    for name, (data, m) in cases.items():
        X, y = data.data, data.target
        mu, tau = raw_moments(X, y, m)
        exact = np.array([1.0] + [dof_from_moments(mu, tau, k) for k in range(1, m + 1)])
        found = [pls_path(X, y, m, solver=solver).dof for solver in ("svd", "gram")]
        found += [paper.lanczos(X, y, m).dof, paper.krylov(X, y, m).dof]
        errors = "".join(f"{np.max(np.abs(dof - exact)):>9.0e}" for dof in found)
        print(f"{name:<24}{m:>4}{errors}")


if __name__ == "__main__":
    main()
