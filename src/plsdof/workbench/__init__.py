"""Tables in, answers out: what the command line, the app and programs ask, without printing."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
