"""What a calibration needs: variables that matter, rows that do not fit."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
