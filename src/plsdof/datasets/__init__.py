"""Data sets of the paper and of the examples, simulated stand-ins for those not at hand, and the
paper's simulation.

`load_*` reads files that are part of the package, `fetch_*` downloads once or reads a local
folder, `make_*` simulates. All give a `Bunch` in scikit-learn's convention.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
