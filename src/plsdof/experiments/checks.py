"""Checks: what the paper says about a figure, with the number behind it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from plsdof._validation import Array
from plsdof.experiments.settings import generator

LEVEL = 0.95
DRAWS = 1000

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


def repeated(claim: Claim, statistic: Callable[[Array], Any], sample: Array, seed: int) -> Check:
    """Judge a claim by a statistic of repeats, with a percentile bootstrap interval.

    Parameters
    ----------
    claim : Claim
    statistic : callable
        From a sample to a number.
    sample : (repeats, ...) array
        Repeats are drawn with replacement, each with everything that was measured in it.
    seed : int
        The random numbers depend on it and on the name of the claim.

    Notes
    -----
    Cost: 1000 evaluations of ``statistic``.

    Examples
    --------
    >>> claim = Claim(name="fig0-positive", text="It is positive.", measure="mean", above=0.0)
    >>> check = repeated(claim, lambda sample: sample.mean(), np.array([1.0, 2.0, 3.0]), seed=0)
    >>> check.verdict, check.value, check.interval
    ('holds', 2.0, '[1, 3]')
    """
    check = Check(claim=claim, value=float(statistic(sample)))
    if len(sample) < 2:
        return check
    rng = generator(seed, claim.name)
    draws = np.array(
        [statistic(sample[rng.integers(len(sample), size=len(sample))]) for _ in range(DRAWS)]
    )
    defined = draws[~np.isnan(draws)]
    if not len(defined):
        return check
    tail = (1.0 - LEVEL) / 2.0
    low, high = np.quantile(defined, [tail, 1.0 - tail])
    return replace(check, low=float(low), high=float(high))
