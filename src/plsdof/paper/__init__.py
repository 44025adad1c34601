"""The two algorithms of the paper, to the letter but for its misprints.

They are here to compare with and to learn from; `plsdof.pls_path` gives the same numbers faster
and more accurately. Comments name lines, equations and propositions of

    N. Kraemer, M. Sugiyama (2011). The Degrees of Freedom of Partial Least Squares Regression.
    Journal of the American Statistical Association.

Notation: X is centred and scaled, y centred, S = X'X/(n-1), s = X'y/(n-1), K = XX', T are the
orthonormal scores. A name that starts with ``d_`` is a derivative with respect to y, with one
column per entry of y.

Corrections to the printed text: the derivative of v/|v|_S has v'Sv (not v'v) in the denominator;
lines 10 and 11 of Algorithm 1 need no factor sqrt(n-1); the Jacobian of the fit has 11'/n (not
I/n); the third term of the trace formula is sum c_j t_l'K^j t_l.
"""

from plsdof.paper.algorithm1 import LanczosResult, lanczos
from plsdof.paper.trace_formula import KrylovResult, krylov

__all__ = ["KrylovResult", "LanczosResult", "krylov", "lanczos"]
