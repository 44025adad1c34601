"""What is run: targets, sizes, seeds; and a fingerprint by which finished work is recognised."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from plsdof._validation import as_choice, as_count
from plsdof.errors import InvalidInputError

TARGETS = ("table1", "fig1", "fig2", "fig3", "fig4", "fig5", "fig6", "fig7", "fig8")
DIMENSIONS = (10, 50, 90, 130, 170, 210)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The paper's settings, where it states them.

    Attributes
    ----------
    repeats : int
        Random splits into training and test rows.
    seed : int
        Everything random derives from it.
    dimensions : tuple of int
        Numbers d of radial basis functions in the simulation.
    n_train : int
        Training rows; the other rows are for testing.
    n_folds : int
        Folds of cross-validation.
    max_components : int
        Largest PLS model in the simulation.
    signal_to_noise : float
        var(f) / sigma^2 in the simulation.
    curve_components : int
        Largest PLS model on kin and cookie in Figure 1.
    kin_rows : int
        Rows of kin in Figure 1.
    """

    repeats: int = 50
    seed: int = 0
    dimensions: tuple[int, ...] = DIMENSIONS
    n_train: int = 50
    n_folds: int = 10
    max_components: int = 30
    signal_to_noise: float = 9.0
    curve_components: int = 20
    kin_rows: int = 300

    @classmethod
    def of(cls, repeats: Any, seed: Any, dimensions: Any) -> "Settings":
        """Check what a user may choose."""
        return cls(
            repeats=as_count(repeats, "repeats", minimum=1),
            seed=as_count(seed, "seed"),
            dimensions=_as_dimensions(dimensions),
        )

    def per_repeat(self) -> dict[str, Any]:
        """Return what a single repeat depends on: not how many there are, nor which other d."""
        values = asdict(self)
        for name in ("repeats", "dimensions"):
            del values[name]
        return values


def as_targets(targets: str | Sequence[str]) -> tuple[str, ...]:
    """Return the targets in the order of the paper, "all" spelled out.

    Examples
    --------
    >>> as_targets(["fig3", "table1"])
    ('table1', 'fig3')
    >>> len(as_targets("all"))
    9
    """
    wanted = (targets,) if isinstance(targets, str) else tuple(targets)
    if not wanted:
        raise InvalidInputError(f"targets is empty; choose from all, {', '.join(TARGETS)}.")
    for target in wanted:
        as_choice(target, "targets", ("all", *TARGETS))
    return TARGETS if "all" in wanted else tuple(name for name in TARGETS if name in wanted)


def generator(seed: int, purpose: str, *keys: int) -> np.random.Generator:
    """Return the random generator for one purpose and one piece of work.

    It depends on nothing else, so the order in which work is done, and by how many processes,
    does not matter.

    Examples
    --------
    >>> draws = [generator(0, "simulation", 10, repeat).random() for repeat in (0, 1, 0)]
    >>> draws[0] == draws[2], draws[0] == draws[1]
    (True, False)
    """
    sequence = np.random.SeedSequence(seed, spawn_key=(crc32(purpose.encode()), *keys))
    return np.random.default_rng(sequence)


def fingerprint(experiment: str, settings: Settings, data: Iterable[Any]) -> tuple[str, str]:
    """Return a hash of all that one repeat depends on, and the same in words (JSON).

    Parameters
    ----------
    experiment : str
        Which experiment.
    settings : Settings
    data : arrays
        The data it starts from.
    """
    from plsdof import __version__

    described: Mapping[str, Any] = {
        "experiment": experiment,
        "settings": settings.per_repeat(),
        "data": [_hash(np.ascontiguousarray(array).tobytes()) for array in data],
        "plsdof": __version__,
        "source": _source_hash(),
        "numpy": np.__version__,
    }
    text = json.dumps(described, indent=2, sort_keys=True) + "\n"
    return _hash(text.encode())[:12], text


def _as_dimensions(dimensions: Any) -> tuple[int, ...]:
    try:
        values = {as_count(d, "dimensions", minimum=2) for d in dimensions}
    except TypeError as error:
        raise InvalidInputError(
            f"dimensions must be a list of whole numbers such as {DIMENSIONS}; got {dimensions!r}."
        ) from error
    if not values:
        raise InvalidInputError(f"dimensions is empty; the paper's are {DIMENSIONS}.")
    return tuple(sorted(values))


def _source_hash() -> str:
    """Hash the code: repeats of other code, even of one rounding apart, are not taken up again."""
    modules = sorted(Path(__file__).parents[1].rglob("*.py"))
    return _hash(b"".join(module.read_bytes() for module in modules))


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
