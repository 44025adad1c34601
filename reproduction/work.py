"""Settings, checks, and repeats that are kept as soon as they are finished."""

import json
import tomllib
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

import plsdof
from plsdof.errors import RankExhaustedWarning

Array = npt.NDArray[np.float64]
Values = dict[str, Any]
Statistic = Callable[[Array], Any]

DIMENSIONS = (10, 50, 90, 130, 170, 210)
# Of the paper: training rows (the other 153 are for testing), folds, largest model.
N_TRAIN, N_FOLDS, MAX_COMPONENTS = 50, 10, 30
LEVEL = 0.95


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What a user may choose.

    Attributes
    ----------
    repeats : int
        Random splits, and repeats of the simulation for each dimension.
    seed : int
        Everything random derives from it.
    dimensions : tuple of int
        Numbers d of radial basis functions in the simulation.
    distance : {"squared", "plain"}
        In the basis functions: squared as printed, or not.
    seeds : int
        Seeds compared in the appendix, counted from ``seed``.
    draws : int
        Bootstrap draws behind every interval; 0 for none.
    """

    repeats: int = 50
    seed: int = 0
    dimensions: tuple[int, ...] = DIMENSIONS
    distance: str = "squared"
    seeds: int = 6
    draws: int = 1000


def generator(seed: int, purpose: str, *keys: int) -> np.random.Generator:
    """Return the random generator for one purpose and one piece of work, in whatever order.

    Examples
    --------
    >>> draws = [generator(0, "simulation", 10, repeat).random() for repeat in (0, 1, 0)]
    >>> draws[0] == draws[2], draws[0] == draws[1]
    (True, False)
    """
    sequence = np.random.SeedSequence(seed, spawn_key=(crc32(purpose.encode()), *keys))
    return np.random.default_rng(sequence)


# Finished repeats: one line each, in one file
# --------------------------------------------


@dataclass(frozen=True)
class Store:
    """Finished repeats in a file of JSON lines, recognised by version, settings and number.

    A line that was cut off by a kill does not count. Repeats made by other code of the same
    version are not told apart: delete the file after such a change.

    Attributes
    ----------
    file : Path
    quiet : bool
        Show no progress.
    """

    file: Path
    quiet: bool = False
    _known: dict[str, Values] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.file.is_file():
            return
        for line in self.file.read_text(encoding="utf-8").splitlines():
            try:
                entry = json.loads(line)
            except json.JSONDecodeError:
                continue
            self._known[entry["key"]] = entry["values"]

    def finish(
        self,
        experiment: str,
        units: Sequence[tuple[int, ...]],
        work: Callable[..., Values],
        *of: Any,
    ) -> list[Values]:
        """Do ``work(*unit)`` for the units not yet done; return all, in order.

        Parameters
        ----------
        experiment : str
            Which experiment.
        units : sequence of tuples of int
            What tells the repeats apart, the arguments of ``work``.
        work : callable
            Gives numbers and arrays by name.
        *of
            Settings a repeat depends on: words and numbers.
        """
        keys = [" ".join(map(str, [plsdof.__version__, experiment, *of, *unit])) for unit in units]
        missing = [pair for pair in zip(keys, units, strict=True) if pair[0] not in self._known]
        # How many components a split supports is part of the results.
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore", RankExhaustedWarning)
            for key, unit in tracked(missing, " ".join(map(str, (experiment, *of))), self.quiet):
                self._keep(key, work(*unit))
        return [self._known[key] for key in keys]

    def _keep(self, key: str, values: Values) -> None:
        line = json.dumps({"key": key, "values": values}, default=lambda a: a.tolist())
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with self.file.open("a", encoding="utf-8") as stream:
            # The end of the line comes first: what a kill has cut off stays alone.
            stream.write(f"\n{line}")
        # As it will be read again, so that an interrupted run sees the same numbers.
        self._known[key] = json.loads(line)["values"]


def tracked(items: Sequence[Any], description: str, quiet: bool) -> Iterable[Any]:
    """Show a bar while the items are gone through, if rich is installed."""
    if quiet or not items:
        return items
    try:
        from rich.progress import track
    except ImportError:
        return items
    return track(items, description)


# Checks: what is said about a figure, with the number behind it
# --------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A statement, and when we say that it holds: an entry of claims.toml, which explains them."""

    name: str
    text: str
    measure: str
    above: float = -np.inf
    below: float = np.inf
    meaning: str = ""
    otherwise: str = ""
    ours: bool = False
    timing: bool = False

    @property
    def required(self) -> str:
        """The condition, in symbols."""
        if np.isinf(self.above):
            return f"<= {self.below:g}"
        if np.isinf(self.below):
            return f">= {self.above:g}"
        return f"{self.above:.4g} .. {self.below:.4g}"

    def allows(self, value: float) -> bool:
        """Whether a number meets the condition; nan does not."""
        return bool(self.above <= value <= self.below)


with Path(__file__).with_name("claims.toml").open("rb") as _stream:
    _CLAIMS: Mapping[str, Any] = tomllib.load(_stream)


def claim_of(name: str, about: str = "") -> Claim:
    """Return a claim by name, about one of several methods, criteria or data sets.

    Examples
    --------
    >>> claim = claim_of("fig7-{}-above", "LANCZOS")
    >>> claim.name, claim.text
    ('fig7-lanczos-above', 'LANCZOS slightly overestimates the noise level.')
    """
    entry = dict(_CLAIMS[name])
    entry["text"] = entry["text"].replace("{}", about)
    return Claim(name=name.replace("{}", about.lower().split(" ")[0]), **entry)


@dataclass(frozen=True, kw_only=True)
class Check:
    """A claim and its number.

    Attributes
    ----------
    claim : Claim
    value : float
    low, high : float
        Bootstrap interval over the repeats; nan where nothing was repeated.
    about : str
        What to know about the number.
    rule : str
        By which rule models were chosen; empty where none was.
    """

    claim: Claim
    value: float
    low: float = np.nan
    high: float = np.nan
    about: str = ""
    rule: str = ""

    @property
    def holds(self) -> bool:
        """Whether the number meets the condition."""
        return self.claim.allows(self.value)

    @property
    def clear(self) -> bool:
        """Whether the whole interval agrees with the verdict."""
        if np.isnan(self.low):
            return True
        if self.holds:
            return self.claim.allows(self.low) and self.claim.allows(self.high)
        return self.high < self.claim.above or self.low > self.claim.below

    @property
    def verdict(self) -> str:
        """The outcome in words; "not clearly" if the interval reaches across the condition."""
        return (
            ("" if self.holds else "does not ")
            + ("holds" if self.holds else "hold")
            + ("" if self.clear else ", not clearly")
        )

    @property
    def interval(self) -> str:
        """The interval in brackets; a dash where there is none."""
        return "—" if np.isnan(self.low) else f"[{self.low:.3g}, {self.high:.3g}]"

    @property
    def note(self) -> str:
        """Everything to know about the number."""
        claim = self.claim
        parts = (self.about, claim.meaning, "" if self.holds else claim.otherwise)
        return " ".join(part for part in parts if part)


def repeated(check: Check, statistic: Statistic, sample: Array, settings: Settings) -> Check:
    """Add to a check a percentile bootstrap interval over the repeats.

    Parameters
    ----------
    check : Check
        Its value is replaced by that of the statistic.
    statistic : callable
        From a sample to a number.
    sample : (repeats, ...) array
        Repeats are drawn with replacement, each with everything that was measured in it.
    settings : Settings
        The random numbers depend on ``seed`` and on the name of the claim.

    Examples
    --------
    >>> check = Check(claim=claim_of("fig2-more-dof"), value=0.0)
    >>> check = repeated(check, np.mean, np.array([1.0, 2.0, 3.0]), Settings())
    >>> check.verdict, check.value, check.interval
    ('holds', 2.0, '[1, 3]')
    """
    check, size = replace(check, value=float(statistic(sample))), len(sample)
    if size < 2 or not settings.draws:
        return check
    rng = generator(settings.seed, check.claim.name)
    draws = [statistic(sample[rng.integers(size, size=size)]) for _ in range(settings.draws)]
    if np.isnan(draws).all():
        return check
    low, high = np.nanquantile(draws, [(1.0 - LEVEL) / 2.0, (1.0 + LEVEL) / 2.0])
    return replace(check, low=float(low), high=float(high))


@dataclass(frozen=True, kw_only=True, eq=False)
class Exhibit:
    """One table or figure of the paper, reproduced.

    Attributes
    ----------
    name : str
        "table1", "fig1", ...
    title, caption : str
        What it shows; the caption says where stand-ins were used.
    columns : str
        Names of the columns, separated by blanks.
    rows : sequence of sequences
        Tidy table: one observation per row.
    checks : tuple of Check
        What is said about it.
    draw : callable or None
        Makes a matplotlib figure; None for a table.
    """

    name: str
    title: str
    caption: str
    columns: str
    rows: Sequence[Sequence[Any]]
    checks: tuple[Check, ...] = ()
    draw: Callable[[], Any] | None = None
