"""Which model: cross-validation of any path, and rules of choice on it."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
