"""The paper's two algorithms, to compare with and to learn from.

`lanczos` is Algorithm 1, built from `normalize`, `dA` and `dvvtz`; `krylov` is the trace formula.
`plsdof.pls_path` gives the same numbers faster and more accurately. The paper's experiments are in
the repository, not in the package: ``make paper``.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
