"""A path and its choice as one web page that needs no network: `write_report`."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
