"""Data sets of the paper and of the examples, and simulated spectra.

`load_*` reads files that are part of the package, `fetch_*` downloads once or reads a local
folder, `make_spectra` simulates. All give scikit-learn's `Bunch`.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
