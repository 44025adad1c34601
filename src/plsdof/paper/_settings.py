"""What is run, on which data, and what the paper says about it."""

import ast
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from plsdof._core.inputs import Array, as_choice, as_count, read_only
from plsdof.datasets import (
    Bunch,
    DatasetUnavailableError,
    fetch_cookie,
    fetch_kin32fh,
    load_ozone,
    make_kin,
    make_spectra,
)
from plsdof.datasets.catalogue import Folder
from plsdof.errors import InvalidInputError, MissingExtraError

# What is run: targets, sizes, seeds; and a fingerprint by which finished work is recognised
# ------------------------------------------------------------------------------------------

FIGURES = tuple(f"fig{number}" for number in range(1, 9))
# What the paper shows, what it says without showing it, and what other seeds and readings give.
TARGETS = ("table1", *FIGURES, "criteria", "readings")
LEVEL, DRAWS = 0.95, 1000
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
    distance : {"squared", "plain"}
        Which distance the radial basis functions exp(-distance) take: its square, as the paper
        prints it, or the distance itself, a reading that meets more of its claims for d = 50.
    draws : int
        Bootstrap draws behind every interval; 0 for none.
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
    distance: str = "squared"
    draws: int = DRAWS

    @classmethod
    def of(
        cls,
        repeats: Any,
        seed: Any,
        dimensions: Any,
        distance: str = "squared",
    ) -> "Settings":
        """Check what a user may choose."""
        return cls(
            repeats=as_count(repeats, "repeats", minimum=1),
            seed=as_count(seed, "seed"),
            dimensions=_as_dimensions(dimensions),
            distance=as_choice(distance, "distance", ("squared", "plain")),
            draws=DRAWS,
        )

    def per_repeat(self) -> dict[str, Any]:
        """Return what a single repeat depends on: not how many there are, nor which other d."""
        values = asdict(self)
        for name in ("repeats", "dimensions", "draws"):
            del values[name]
        return values


def as_targets(targets: str | Sequence[str]) -> tuple[str, ...]:
    """Return the targets in the order of the paper, "all" spelled out.

    Examples
    --------
    >>> as_targets(["fig3", "table1"])
    ('table1', 'fig3')
    >>> len(as_targets("all"))
    11
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


def fingerprint(
    experiment: str, settings: Settings, data: Iterable[Any], work: Callable[..., Any]
) -> tuple[str, str]:
    """Return a hash of all that one repeat depends on, and the same in words (JSON).

    Parameters
    ----------
    experiment : str
        Which experiment.
    settings : Settings
    data : arrays
        The data it starts from.
    work : callable
        What does a repeat. The code that counts is that of its module and of all modules of the
        package that this one imports, directly or not, without comments and docstrings.
    """
    from plsdof import __version__

    described: Mapping[str, Any] = {
        "experiment": experiment,
        "settings": settings.per_repeat(),
        "data": [_hash(np.ascontiguousarray(array).tobytes()) for array in data],
        "plsdof": __version__,
        "source": _source_hash(work),
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


def used_modules(name: str) -> list[str]:
    """Return a module of the package and all others that it imports, directly or not.

    Rooms themselves (``__init__``) only pass names on, and do not count.

    Examples
    --------
    >>> used = used_modules("plsdof._core.krylov")
    >>> "plsdof._core.spectrum" in used, "plsdof.cli.fit" in used
    (True, False)
    """
    found: set[str] = set()
    waiting = [name]
    while waiting:
        module = waiting.pop()
        file = _file_of(module)
        if module in found or file is None:
            continue
        found.add(module)
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("plsdof"):
                waiting += [f"{node.module}.{alias.name}" for alias in node.names]
                waiting.append(str(node.module))
    return sorted(found)


def _file_of(module: str) -> Path | None:
    file = Path(__file__).parents[1].joinpath(*module.split(".")[1:]).with_suffix(".py")
    return file if file.is_file() else None


def _source_hash(work: Callable[..., Any]) -> str:
    """Hash the code behind a repeat: repeats of other code are not taken up again."""
    while isinstance(work, partial):
        work = work.func
    trees = []
    for module in used_modules(work.__module__):
        file = _file_of(module)
        assert file is not None
        tree = ast.parse(file.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(
                node, clean=False
            ):
                del node.body[0]
        trees.append(ast.dump(tree))
    return _hash("\n".join(trees).encode())


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


# The three data sets of the paper, or labelled stand-ins for what is out of reach
# --------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class Source:
    """A data set and where it comes from.

    Attributes
    ----------
    name : str
        "kin (fh)", "ozone" or "cookie", as in the paper.
    X, y : arrays
        Predictors (n, p) and response (n,).
    stand_in : str
        What was simulated instead of the published data; empty for published data.
    reason : str
        Why the published data were not used.
    """

    name: str
    X: Array
    y: Array
    stand_in: str = ""
    reason: str = ""

    @property
    def label(self) -> str:
        """Name, with a mark on stand-ins."""
        return f"{self.name} (stand-in)" if self.stand_in else self.name

    def first(self, rows: int) -> "Source":
        """Keep the first rows."""
        return replace(self, X=self.X[:rows], y=self.y[:rows])


def load_sources(data_home: Folder, seed: int) -> dict[str, Source]:
    """Load kin, ozone and cookie; simulate kin and cookie where they cannot be had."""
    return {
        "kin": _or_stand_in(
            "kin (fh)",
            lambda: fetch_kin32fh(data_home=data_home),
            lambda: make_kin(random_state=generator(seed, "kin stand-in")),
            "make_kin",
        ),
        "ozone": load_ozone_source(),
        "cookie": _or_stand_in(
            "cookie",
            lambda: fetch_cookie(data_home=data_home),
            lambda: make_spectra(random_state=generator(seed, "cookie stand-in")),
            "make_spectra",
        ),
    }


def load_ozone_source() -> Source:
    """Load the 203 complete rows of ozone, which are part of the package."""
    return _source("ozone", load_ozone())


def _or_stand_in(
    name: str, fetch: Callable[[], Bunch], make: Callable[[], Bunch], maker: str
) -> Source:
    try:
        return _source(name, fetch())
    except (DatasetUnavailableError, MissingExtraError) as error:
        stand_in = (
            f"{name} was not available: SIMULATED STAND-IN from plsdof.datasets.{maker}, "
            "not the published data."
        )
        return replace(_source(name, make()), stand_in=stand_in, reason=str(error))


def _source(name: str, bunch: Bunch) -> Source:
    return Source(name=name, X=read_only(bunch.data), y=read_only(bunch.target))


# Checks: what the paper says about a figure, with the number behind it
# ---------------------------------------------------------------------

COLUMNS = (
    "name",
    "exhibit",
    "verdict",
    "value",
    "low",
    "high",
    "required",
    "claim",
    "measure",
    "note",
)


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A statement of the paper, and when we say that it holds.

    Attributes
    ----------
    name : str
        Short name, starting with the exhibit.
    text : str
        What the paper says (or, where it says so, what this package adds).
    measure : str
        What number decides.
    above, below : float, optional
        The claim holds if the number is at least ``above`` and at most ``below``.
    note : str
        What to know about the number.
    otherwise : str
        Added to the note where the claim does not hold: how we differ and why.
    timing : bool
        Whether the number is a measured time, which no seed can repeat.
    """

    name: str
    text: str
    measure: str
    above: float | None = None
    below: float | None = None
    note: str = ""
    otherwise: str = ""
    timing: bool = False

    @property
    def exhibit(self) -> str:
        """The table or figure the claim is about."""
        return self.name.split("-")[0]

    @property
    def required(self) -> str:
        """The condition, in symbols."""
        if self.above is None:
            return f"<= {self.below:g}"
        if self.below is None:
            return f">= {self.above:g}"
        return f"{self.above:.4g} .. {self.below:.4g}"

    def allows(self, value: float) -> bool:
        """Whether a number meets the condition; nan does not."""
        low = -np.inf if self.above is None else self.above
        high = np.inf if self.below is None else self.below
        return bool(low <= value <= high)


@dataclass(frozen=True, kw_only=True)
class Check:
    """A claim and its number.

    Attributes
    ----------
    claim : Claim
    value : float
        The number.
    low, high : float or None
        95 percent bootstrap interval over the repeats; None where nothing was repeated.
    stand_in : str
        What was simulated in place of published data; empty if nothing.
    """

    claim: Claim
    value: float
    low: float | None = None
    high: float | None = None
    stand_in: str = ""

    @property
    def name(self) -> str:
        """Short name."""
        return self.claim.name

    @property
    def holds(self) -> bool:
        """Whether the number meets the condition."""
        return self.claim.allows(self.value)

    @property
    def clear(self) -> bool:
        """Whether both ends of the interval agree with the verdict."""
        ends = [end for end in (self.low, self.high) if end is not None]
        if self.holds:
            return all(self.claim.allows(end) for end in ends)
        bounds = (self.claim.above, self.claim.below)
        inside = [b for b in bounds if b is not None and ends and ends[0] <= b <= ends[1]]
        return not inside and not any(self.claim.allows(end) for end in ends)

    @property
    def verdict(self) -> str:
        """The outcome in words; "not clearly" if the interval reaches across the condition."""
        return ("holds" if self.holds else "does not hold") + (
            "" if self.clear else ", not clearly"
        )

    @property
    def note(self) -> str:
        """Everything to know about the number."""
        parts = (
            self.stand_in,
            self.claim.note,
            "" if self.holds else self.claim.otherwise,
        )
        return " ".join(part for part in parts if part)

    @property
    def interval(self) -> str:
        """The interval in brackets; a dash where there is none."""
        if self.low is None or self.high is None:
            return "—"
        return f"[{self.low:.3g}, {self.high:.3g}]"

    def row(self) -> tuple[Any, ...]:
        """Return one cell for each of `COLUMNS`."""
        claim = self.claim
        return (
            claim.name,
            claim.exhibit,
            self.verdict,
            self.value,
            self.low,
            self.high,
            claim.required,
            claim.text,
            claim.measure,
            self.note,
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the check by names, for JSON."""
        flags = {"holds": self.holds, "clear": self.clear, "stand_in": self.stand_in}
        return dict(zip(COLUMNS, self.row(), strict=True)) | flags


def fixed(claim: Claim, value: float, stand_ins: Sequence[str] = ()) -> Check:
    """Judge a claim about one fixed data set, where nothing is repeated."""
    return Check(
        claim=claim, value=float(value), stand_in=" ".join(text for text in stand_ins if text)
    )


def repeated(
    claim: Claim, statistic: Callable[[Array], Any], sample: Array, settings: Settings
) -> Check:
    """Judge a claim by a statistic of repeats, with a percentile bootstrap interval.

    Parameters
    ----------
    claim : Claim
    statistic : callable
        From a sample to a number.
    sample : (repeats, ...) array
        Repeats are drawn with replacement, each with everything that was measured in it.
    settings : Settings
        The random numbers depend on ``seed`` and on the name of the claim.

    Notes
    -----
    Cost: ``settings.draws`` evaluations of ``statistic``.

    Examples
    --------
    >>> claim = Claim(name="fig0-positive", text="It is positive.", measure="mean", above=0.0)
    >>> check = repeated(claim, np.mean, np.array([1.0, 2.0, 3.0]), Settings())
    >>> check.verdict, check.value, check.interval
    ('holds', 2.0, '[1, 3]')
    """
    check = Check(claim=claim, value=float(statistic(sample)))
    if len(sample) < 2 or not settings.draws:
        return check
    rng = generator(settings.seed, claim.name)
    size = len(sample)
    draws = np.array(
        [statistic(sample[rng.integers(size, size=size)]) for _ in range(settings.draws)]
    )
    defined = draws[~np.isnan(draws)]
    if not len(defined):
        return check
    tail = (1.0 - LEVEL) / 2.0
    low, high = np.quantile(defined, [tail, 1.0 - tail])
    return replace(check, low=float(low), high=float(high))
