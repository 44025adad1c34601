"""`python -m reproduction all`: reproduce tables and figures, and check what is said of them."""

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from threadpoolctl import threadpool_limits

from reproduction import data_figures, page, simulation_figures
from reproduction.simulation import simulate
from reproduction.work import DIMENSIONS, Exhibit, Settings, Store

TARGETS = ("table1", *(f"fig{number}" for number in range(1, 9)), "criteria", "readings", "rules")


def reproduce(
    targets: Sequence[str], settings: Settings, store: Store, data: Path | None = None
) -> list[Exhibit]:
    """Compute the targets, in the order of the paper."""
    wanted = [name for name in TARGETS if name in targets or "all" in targets]
    exhibits: dict[str, Exhibit] = {}
    if {"table1", "fig1"} & set(wanted):
        sources = data_figures.load_sources(data, settings.seed)
        with threadpool_limits(1):
            exhibits["table1"] = data_figures.table1(sources)
            exhibits["fig1"] = data_figures.fig1(data_figures.compute_curves(sources))
    if {"fig2", "fig3"} & set(wanted):
        comparison = data_figures.compare(store, settings)
        exhibits["fig2"], exhibits["fig3"] = (
            make(comparison) for make in (data_figures.fig2, data_figures.fig3)
        )
    makers = ("fig4", "fig5", "fig6", "fig7", "fig8", "criteria", "rules")
    if set(makers) & set(wanted):
        results = simulate(store, settings)
        for name in set(makers) & set(wanted):
            exhibits[name] = getattr(simulation_figures, name)(results)
    if "readings" in wanted:
        exhibits["readings"] = simulation_figures.readings(
            [
                data_figures.compare(store, one)
                for one in simulation_figures.seeds_of(settings, "squared")
            ],
            {
                distance: [
                    simulate(store, one) for one in simulation_figures.seeds_of(settings, distance)
                ]
                for distance in simulation_figures.READINGS
            },
        )
    return [exhibits[name] for name in wanted]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m reproduction",
        description="Reproduce the table and figures of Kraemer & Sugiyama (2011). A run that was "
        "interrupted goes on where it was when the same command is given again.",
    )
    parser.add_argument("targets", nargs="*", default=["all"], choices=["all", *TARGETS])
    parser.add_argument("--out", type=Path, default=Path("reproduced"), help="folder for results")
    parser.add_argument("--repeats", type=int, default=50, help="random splits per setting (50)")
    parser.add_argument("--seed", type=int, default=0, help="all random numbers derive from it (0)")
    parser.add_argument("--seeds", type=int, default=6, help="seeds compared in Appendix A (6)")
    parser.add_argument("--draws", type=int, default=1000, help="bootstrap draws (1000)")
    parser.add_argument("--dimensions", type=int, nargs="+", default=DIMENSIONS, metavar="D")
    parser.add_argument("--distance", choices=list(simulation_figures.READINGS), default="squared")
    parser.add_argument("--data", type=Path, help="folder with the published data sets")
    parser.add_argument("--quiet", action="store_true", help="print nothing")
    given = parser.parse_args(arguments)
    if min(given.repeats, given.seeds, *given.dimensions) < 1 or min(given.seed, given.draws) < 0:
        parser.error("--repeats, --seeds and --dimensions must be >= 1, --seed and --draws >= 0")
    settings = Settings(
        repeats=given.repeats,
        seed=given.seed,
        seeds=given.seeds,
        draws=given.draws,
        dimensions=tuple(sorted(set(given.dimensions))),
        distance=given.distance,
    )
    words = ["python", "-m", "reproduction", *(sys.argv[1:] if arguments is None else arguments)]
    command = shlex.join(words)
    store = Store(given.out / "repeats.jsonl", quiet=given.quiet)
    try:
        exhibits = reproduce(given.targets, settings, store, given.data)
    except KeyboardInterrupt:
        print(f"\nInterrupted. Finished repeats are kept; resume with: {command}", file=sys.stderr)
        return 130
    summary = page.write(exhibits, settings, given.out, command)
    if not given.quiet:
        print(f"{summary}\nEverything is in {given.out / 'reproduced.md'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
