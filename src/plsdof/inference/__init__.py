"""How sure: standard errors, intervals, tests, bands, resampling, a model in a table."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
