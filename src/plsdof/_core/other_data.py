"""Data that are not one array in memory: sparse, on disk, on a cluster, only there as products.

The core fits arrays. A room for other data announces itself here, and `room_for` says whether it
is needed; an array never gets there. The package's front door makes the announcement, so that
nothing in the core imports a room that stands after it.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from plsdof._core.path import PCRPath, PLSPath, RidgePath
    from plsdof._core.spectrum import Gram

# Libraries whose tables and numbers become an array in memory without a question.
_IN_MEMORY = ("builtins", "pandas", "polars", "pyarrow")
_CHECKED = ("ndarray", "Observations")


class Room(Protocol):
    """What turns other data into a Gram matrix, and a Gram matrix into paths."""

    def recognises(self, X: Any) -> bool:
        """Whether X is of a kind that is read here."""

    def read_gram(self, X: Any, y: Any, **options: Any) -> "Gram":
        """Return the Gram matrix of the data."""

    def pls_path_from(self, source: Any, max_components: Any, **options: Any) -> "PLSPath":
        """Fit Partial Least Squares."""

    def pcr_path_from(self, source: Any, max_components: Any, **options: Any) -> "PCRPath":
        """Fit principal components regression."""

    def ridge_path_from(self, source: Any, alphas: Any) -> "RidgePath":
        """Fit ridge regression."""


_load: Callable[[], Any] | None = None


def announce(load: Callable[[], Any]) -> None:
    """Say how the room for other data is loaded, the first time it is needed."""
    global _load
    _load = load


def room_for(X: Any) -> Room | None:
    """Return the room that reads X; None for what is, or easily becomes, an array in memory.

    Examples
    --------
    >>> room_for([[1.0], [2.0]]) is None
    True
    """
    kind = type(X)
    library = kind.__module__.partition(".")[0]
    if kind.__name__ in _CHECKED or library in _IN_MEMORY or _load is None:
        return None
    room: Room = _load()
    return room if room.recognises(X) else None
