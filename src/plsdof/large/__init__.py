"""Data that are not one array: blocks, moments, dask, sparse.

All of it ends in a Gram matrix, which the core takes.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
