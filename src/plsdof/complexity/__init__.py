"""Degrees of Freedom of any regressor, and methods compared on that scale."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
