"""Packages that stand after the core: who opens containers, and who draws.

The core fits arrays. A package that reads other containers (sparse, on disk, on a cluster, sums of
rows) registers itself here, and `opened` asks it; an array never gets there. The package's front
door does the registering, so that nothing in the core imports a package that stands after it.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from plsdof._core.spectrum import Gram
    from plsdof._core.standardize import Observations

# Libraries whose tables and numbers become an array in memory without a question.
_IN_MEMORY = ("builtins", "pandas", "polars", "pyarrow")
_CHECKED = ("ndarray", "Observations")


class Source(Protocol):
    """Data that were recognised, and not read yet."""

    def read(self, scale: bool) -> "tuple[Gram, Observations | None]":
        """Return their Gram matrix, and the rows behind it; None if these cannot be reached."""

    def prepared(self, chain: Any) -> "Source":
        """Fit a preparation of the columns to all rows, and return them prepared."""

    def unprepared(self, given: "Observations") -> Any:
        """Return the same rows as those of a path fitted to `prepared` ones, before that."""


class Plugin(Protocol):
    """What a package that reads containers has."""

    def recognises(self, X: Any) -> bool:
        """Whether X is of a kind that is read here."""

    def open_source(self, X: Any, y: Any, sample_weight: Any, *, progress: bool) -> Source:
        """Check what can be checked without reading."""


_loaders: list[Callable[[], Any]] = []


def register(load: Callable[[], Any]) -> None:
    """Say how a plugin is loaded, the first time one is needed."""
    _loaders.append(load)


def plugin_for(X: Any) -> Plugin | None:
    """Return the plugin that reads X; None for what is, or easily becomes, an array in memory.

    Examples
    --------
    >>> plugin_for([[1.0], [2.0]]) is None
    True
    """
    kind = type(X)
    if kind.__name__ in _CHECKED or kind.__module__.partition(".")[0] in _IN_MEMORY:
        return None
    plugins: list[Plugin] = [load() for load in _loaders]
    return next((one for one in plugins if one.recognises(X)), None)


def opened(X: Any, y: Any, sample_weight: Any, *, progress: bool = False) -> Source | None:
    """Return the data as something to be read; None for an array in memory."""
    plugin = plugin_for(X)
    if plugin is None:
        return None
    return plugin.open_source(X, y, sample_weight, progress=progress)


# How paths and models are drawn, and what answers for new rows
# -------------------------------------------------------------

_packages: dict[str, Callable[[], Any]] = {}


def announce(name: str, load: Callable[[], Any]) -> None:
    """Say how the package of "pictures" or "models" is loaded, the first time it is needed."""
    _packages[name] = load


def quick_look(result: object, **options: Any) -> Any:
    """Draw a path or a model."""
    return _packages["pictures"]().quick_look(result, **options)


def predictor_of(model: object, **options: Any) -> Any:
    """Return what answers for new rows, `plsdof.models.predictor`."""
    return _packages["models"]().predictor(model, **options)
