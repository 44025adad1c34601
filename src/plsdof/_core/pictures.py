"""How paths and models are drawn: by a package that stands after the core.

The front door says how it is loaded, so that nothing in the core imports it.
"""

from collections.abc import Callable
from typing import Any

_known: list[Callable[[], Any]] = []


def announce_pictures(load: Callable[[], Any]) -> None:
    """Say how the package of pictures is loaded, the first time it is needed."""
    _known[:] = [load]


def quick_look(result: object, **options: Any) -> Any:
    """Draw a path or a model."""
    return _known[0]().quick_look(result, **options)
