"""What one fit has to say, for any way of showing it: a `Request` becomes an `Analysis`."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
