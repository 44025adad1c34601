"""What a calibration needs: preprocessing, figures of merit, diagnostics, checks, transfer."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
