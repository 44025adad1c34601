"""Other seeds and other readings of the simulation: which verdicts depend on them.

The paper does not publish its centres, and a few of its sentences can be read in two ways. Where
one seed, or one reading, decides whether a claim holds, the page should say so.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from plsdof.paper._settings import Check, Settings
from plsdof.paper.data_figures import Exhibit
from plsdof.paper.simulation import Simulation
from plsdof.paper.simulation_figures import OF_SIMULATION

# Seeds compared, counted from the seed of the run, and the most repeats with each.
N_SEEDS, MOST_REPEATS = 6, 20


@dataclass(frozen=True, kw_only=True)
class Reading:
    """One way to read what the paper prints about its simulation.

    Attributes
    ----------
    name : str
        A letter.
    text : str
        The reading in words.
    options : dict
        What differs from the settings as printed.
    """

    name: str
    text: str
    options: Mapping[str, Any]

    @property
    def command(self) -> str:
        """The command that reproduces the simulation in this reading.

        Examples
        --------
        >>> READINGS[1].command
        'plsdof reproduce --distance plain'
        """
        given = [f"--{name.replace('_', '-')} {value}" for name, value in self.options.items()]
        return " ".join(["plsdof reproduce", *given])


READINGS = (
    Reading(name="A", text="as printed, exp(-|x - c|^2) and var(f)/sigma^2 = 9", options={}),
    Reading(
        name="B",
        text="the distance is not squared, exp(-|x - c|)",
        options={"distance": "plain"},
    ),
)


def settings_of(reading: Reading, settings: Settings) -> list[Settings]:
    """Return the settings of one reading for every seed; without intervals."""
    return [
        replace(
            settings,
            seed=settings.seed + k,
            repeats=min(settings.repeats, MOST_REPEATS),
            draws=0,
            **reading.options,
        )
        for k in range(N_SEEDS)
    ]


def readings(simulations: Sequence[Sequence[Simulation]]) -> Exhibit:
    """Tell which claims about the simulation depend on the seed or on the reading.

    Parameters
    ----------
    simulations : sequence of sequences
        For every one of `READINGS` one simulation per seed.
    """
    checked = [[_checks(one) for one in by_seed] for by_seed in simulations]
    settings = [one.settings for one in simulations[0]]
    claims = {
        name: check.claim
        for by_seed in checked
        for found in by_seed
        for name, check in found.items()
    }
    rows = [
        (
            name,
            claim.required,
            *(_cell([found[name] for found in by_seed if name in found]) for by_seed in checked),
        )
        for name, claim in claims.items()
    ]
    counts = [
        f"{reading.name}: {reading.text} ({reading.command}); "
        f"{', '.join(str(sum(c.holds for c in found.values())) for found in by_seed)} of "
        f"{len(claims)} checks hold."
        for reading, by_seed in zip(READINGS, checked, strict=True)
    ]
    return Exhibit(
        name="readings",
        title="Appendix: other seeds and other readings of the simulation",
        caption=f"{settings[0].repeats} repeats for each of the seeds {settings[0].seed} to "
        f"{settings[-1].seed}; a seed draws other centres, responses and splits. Every cell says "
        "for how many seeds a check holds, and the smallest and the largest number. "
        + " ".join(counts),
        columns=("check", "required", *(reading.name for reading in READINGS)),
        rows=rows,
        checks=(),
    )


def _checks(results: Simulation) -> dict[str, Check]:
    """Return all checks of one simulation but those of measured times, by name."""
    return {
        check.name: check
        for make in OF_SIMULATION.values()
        for check in make(results).checks
        if not check.claim.timing
    }


def _cell(checks: Sequence[Check]) -> str:
    if not checks:
        return "-"
    values = sorted(check.value for check in checks)
    holding = sum(check.holds for check in checks)
    return f"{holding} of {len(checks)}: {values[0]:.3g} to {values[-1]:.3g}"
