"""Misprints of the paper, and statements that do not hold in general."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Erratum:
    """One place of the paper: what is printed and what is correct."""

    where: str
    printed: str
    correct: str


ERRATA = (
    Erratum(
        where="Derivative of v/|v|_S",
        printed="vv'S / (v'v)",
        correct="vv'S / (v'Sv)",
    ),
    Erratum(
        where="Algorithm 1, lines 10 and 11, and appendix",
        printed="factor sqrt(n-1) in the normalisation",
        correct="no factor: with S and s as defined the recursions need v'Sv = 1",
    ),
    Erratum(
        where="Jacobian of the fit (Krylov representation)",
        printed="(1/n) I_n",
        correct="11'/n (the trace is the same)",
    ),
    Erratum(
        where="Trace formula (Krylov representation), third term",
        printed="sum_{j,l} t_l'K^j t_l",
        correct="sum_{j,l} c_j t_l'K^j t_l",
    ),
    Erratum(where="Hat matrix, before eq. (hat)", printed="p x p", correct="n x n"),
    Erratum(
        where="Table 1, cookie",
        printed="0.867 for 70 rows",
        correct="0.8669 on all 72 rows; 0.8817 without rows 23 and 61",
    ),
    Erratum(
        where="Table 1, ozone",
        printed="0.260",
        correct="0.2592 on the 203 complete rows",
    ),
    Erratum(
        where="Caption of Figure 8",
        printed="Left: ... Left: ...",
        correct="Left: ... Right: ...",
    ),
    Erratum(
        where="Discussion",
        printed="the results confirm the conjecture DoF(m) >= m + 1",
        correct="it is no theorem: eigenvalues (1, 1e-4) with z^2 = (1e-6, 1) give DoF(1) = -95.01 "
        "exactly, and on cookie DoF(2) = 2.89",
    ),
    Erratum(
        where="Section on numerical stability",
        printed="negative Degrees of Freedom indicate a numerical problem",
        correct="they may (Krylov form), but the exact value can be negative as well",
    ),
)
