"""Reproduce tables and figures: compute, write, check."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from plsdof._core.inputs import as_count
from plsdof._core.work import one_thread
from plsdof.datasets.catalogue import Folder
from plsdof.paper import _drawing as style
from plsdof.paper import data_figures, page, readings, simulation
from plsdof.paper._settings import (
    COLUMNS,
    DIMENSIONS,
    Check,
    Settings,
    Source,
    as_targets,
    fingerprint,
    load_ozone_source,
    load_sources,
)
from plsdof.paper._work import (
    Progress,
    Store,
    Unit,
    Values,
    Work,
    csv_text,
    finish,
    json_text,
    remove_unfinished,
    write_whole,
)
from plsdof.paper.data_figures import Exhibit
from plsdof.paper.simulation_figures import OF_SIMULATION

_OF_DATA = ("table1", "fig1")
_OF_COMPARISON = {"fig2": data_figures.fig2, "fig3": data_figures.fig3}


@dataclass(frozen=True, kw_only=True)
class Reproduction:
    """What `reproduce` has done.

    Attributes
    ----------
    out : Path
        The folder.
    files : tuple of Path
        Files written, without the finished repeats.
    checks : tuple of Check
        What the paper says, with our numbers.
    settings : Settings
    stand_ins : tuple of str
        Data sets that were simulated because the published ones were out of reach.
    """

    out: Path
    files: tuple[Path, ...]
    checks: tuple[Check, ...]
    settings: Settings
    stand_ins: tuple[str, ...]

    @property
    def index(self) -> Path:
        """The web page with everything."""
        return self.out / "index.html"


@dataclass(frozen=True, kw_only=True)
class _Run:
    """Where to put what, and how to compute it."""

    out: Path
    settings: Settings
    jobs: int
    data_home: Folder
    progress: Progress


def reproduce(
    targets: str | Sequence[str],
    out: Any,
    *,
    repeats: int = 50,
    seed: int = 0,
    jobs: int = 1,
    data_home: Folder = None,
    console: Any = None,
    dimensions: Sequence[int] = DIMENSIONS,
    distance: str = "squared",
) -> Reproduction:
    """Reproduce tables and figures of Kraemer & Sugiyama (2011), and check what it says of them.

    Finished repeats are kept in ``out/repeats``, in a folder named after all that they depend on
    (seed, sizes, data, code), each written as a whole. A run that was interrupted, even
    killed, goes on where it was and ends with the same tables, byte for byte; other settings start
    anew; more repeats use those that are there. Do not run twice at the same time into one folder.

    Parameters
    ----------
    targets : str or sequence of str
        "table1", "fig1", ..., "fig8", "criteria" (AIC and gMDL in place of BIC), "readings" (other
        seeds and other readings of the simulation) or "all".
    out : folder
        Made if it is not there. Gets ``index.html``, ``summary.md``, ``checks.csv`` and
        ``checks.json`` (``runtime_checks`` for those that compare times), ``tables/*.csv``,
        ``figures/*.png`` and ``*.svg``.
    repeats : int
        Random splits, and repeats of the simulation for each dimension.
    seed : int
        All random numbers derive from it; the results do not depend on ``jobs``.
    jobs : int
        Processes (more than one needs joblib).
    data_home : folder, optional
        Where the published files of kin and cookie are or shall be kept. Where they cannot be
        had, `make_kin` and `make_spectra` stand in; captions and checks then say so.
    console : rich.console.Console, optional
        For progress bars and the table of checks; silent without it.
    dimensions : sequence of int
        Numbers of basis functions in the simulation.
    distance : {"squared", "plain"}
        In the radial basis functions: squared as the paper prints it, or not.

    Notes
    -----
    Cost: with 50 repeats about a minute on two processors.
    Needs matplotlib (extra "plot") and jinja2 (extra "report").

    Examples
    --------
    >>> result = reproduce("all", "reproduced", jobs=2)  # doctest: +SKIP
    >>> [check.name for check in result.checks if not check.holds]  # doctest: +SKIP
    """
    wanted = as_targets(targets)
    style.require_matplotlib()
    page.require_jinja()
    run = _Run(
        out=Path(out),
        settings=Settings.of(repeats, seed, dimensions, distance),
        jobs=as_count(jobs, "jobs", minimum=1),
        data_home=data_home,
        progress=Progress(console),
    )
    remove_unfinished(
        [run.out, run.out / "tables", run.out / "figures", *run.out.glob("repeats/*")]
    )
    with one_thread():
        sources = _sources(run, wanted)
        exhibits = _exhibits(run, wanted, sources)
        files = _write(run, exhibits)
    checks = tuple(page.all_checks(exhibits))
    if console is not None:
        console.print(page.console_table(checks))
        run.progress.say(page.summary(checks))
        run.progress.say(f"Everything is in {run.out / 'index.html'}")
    return Reproduction(
        out=run.out,
        files=tuple(files),
        checks=checks,
        settings=run.settings,
        stand_ins=tuple(source.name for source in sources.values() if source.stand_in),
    )


def _sources(run: _Run, targets: Sequence[str]) -> dict[str, Source]:
    if not set(_OF_DATA) & set(targets):
        return {"ozone": load_ozone_source()}
    sources = load_sources(run.data_home, run.settings.seed)
    for source in sources.values():
        if source.stand_in:
            run.progress.say(f"{source.stand_in} {source.reason}")
    return sources


def _exhibits(run: _Run, targets: Sequence[str], sources: dict[str, Source]) -> list[Exhibit]:
    exhibits = []
    if "table1" in targets:
        exhibits.append(data_figures.table1(sources))
    if "fig1" in targets:
        exhibits.append(data_figures.fig1(data_figures.compute_curves(sources, run.settings)))
    compared = [make for name, make in _OF_COMPARISON.items() if name in targets]
    if compared:
        comparison_results = _compare(run, sources["ozone"])
        exhibits += [make(comparison_results) for make in compared]
    simulated = [make for name, make in OF_SIMULATION.items() if name in targets]
    if simulated:
        simulation_results = _simulate(run, sources["ozone"])
        exhibits += [make(simulation_results) for make in simulated]
    if "readings" in targets:
        results = [
            [_simulate(replace(run, settings=one), sources["ozone"]) for one in by_seed]
            for reading in readings.READINGS
            for by_seed in [readings.settings_of(reading, run.settings)]
        ]
        exhibits.append(readings.readings(results))
    return exhibits


def _compare(run: _Run, ozone: Source) -> data_figures.Comparison:
    units = [data_figures.Split(repeat=repeat) for repeat in range(run.settings.repeats)]
    work = partial(data_figures.compare_once, source=ozone, settings=run.settings)
    return data_figures.gather(_finished(run, "comparison", ozone, units, work), run.settings)


def _simulate(run: _Run, ozone: Source) -> simulation.Simulation:
    work = partial(simulation.simulate_once, source=ozone, settings=run.settings)
    units = simulation.trials(run.settings)
    return simulation.gather(_finished(run, "simulation", ozone, units, work), run.settings)


def _finished(
    run: _Run, experiment: str, source: Source, units: Sequence[Unit], work: Work
) -> list[Values]:
    key, described = fingerprint(experiment, run.settings, [source.X, source.y], work)
    store = Store.open(run.out / "repeats" / f"{experiment}-{key}", described)
    return finish(
        units,
        work,
        store,
        jobs=run.jobs,
        progress=run.progress,
        description=experiment.capitalize(),
    )


def _write(run: _Run, exhibits: Sequence[Exhibit]) -> list[Path]:
    files = [
        write_whole(run.out / "tables" / e.table_name, csv_text(e.columns, e.rows))
        for e in exhibits
    ]
    drawn = [exhibit for exhibit in exhibits if exhibit.draw is not None]
    with run.progress.bar("Figures", len(drawn)) as advance:
        for exhibit in drawn:
            for ending, content in style.render(exhibit.draw).items():
                files.append(write_whole(run.out / "figures" / f"{exhibit.name}.{ending}", content))
            advance()
    files += _write_checks(run.out, page.all_checks(exhibits))
    files.append(write_whole(run.out / "summary.md", page.markdown(exhibits, run.settings)))
    files.append(write_whole(run.out / "index.html", page.html_page(exhibits, run.settings)))
    return files


def _write_checks(out: Path, checks: Sequence[Check]) -> list[Path]:
    """Write the checks; those of measured times apart, so that the others can be compared."""
    files = []
    for name, timing in (("checks", False), ("runtime_checks", True)):
        chosen = [check for check in checks if check.claim.timing is timing]
        rows = [check.row() for check in chosen]
        files.append(write_whole(out / f"{name}.csv", csv_text(COLUMNS, rows)))
        content = json_text([check.as_dict() for check in chosen])
        files.append(write_whole(out / f"{name}.json", content))
    return files
