"""The paper: its two algorithms, and every experiment in it.

`lanczos` and `krylov` are here to compare with and to learn from; `plsdof.pls_path` gives the same
numbers faster and more accurately. `reproduce` writes tidy tables (CSV), pictures (PNG and SVG), a
web page, and checks: every claim the paper makes about a figure, with the number behind it.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
