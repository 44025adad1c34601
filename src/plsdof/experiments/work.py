"""Doing the repeats: in one or several processes, keeping each as soon as it is finished."""

import contextlib
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol

from plsdof.errors import MissingExtraError, RankExhaustedWarning
from plsdof.experiments.store import Store
from plsdof.threads import one_thread

Values = dict[str, Any]
Work = Callable[[Any], Values]


class Unit(Protocol):
    """A piece of work that can be done by itself."""

    @property
    def name(self) -> str:
        """Name of its file."""


class Progress:
    """Bars on a rich console; nothing without one."""

    def __init__(self, console: Any = None) -> None:
        self.console = console

    def say(self, text: str) -> None:
        """Print a line."""
        if self.console is not None:
            self.console.print(text, markup=False, highlight=False)

    @contextlib.contextmanager
    def bar(self, description: str, total: int) -> Iterator[Callable[[], None]]:
        """Give a function that moves the bar by one."""
        if self.console is None:
            yield lambda: None
            return
        try:
            from rich.progress import MofNCompleteColumn, TimeElapsedColumn
            from rich.progress import Progress as Bars
        except ImportError as error:
            raise MissingExtraError("rich", "cli", "A progress bar") from error
        columns = (*Bars.get_default_columns(), MofNCompleteColumn(), TimeElapsedColumn())
        with Bars(*columns, console=self.console) as bars:
            task = bars.add_task(description, total=total)
            yield lambda: bars.advance(task)


def finish(
    units: Sequence[Unit],
    work: Work,
    store: Store,
    *,
    jobs: int,
    progress: Progress,
    description: str,
) -> list[Values]:
    """Do the units that are not in the store yet; return all, in order, as the store has them.

    What is computed and what is taken up again goes through the same file, so that an
    interrupted and an uninterrupted run see the same numbers.
    """
    missing = [unit for unit in units if store.load(unit.name) is None]
    if len(missing) < len(units):
        progress.say(f"{description}: {len(units) - len(missing)} of {len(units)} found finished")
    with progress.bar(description, len(missing)) as advance:
        for unit, values in _outcomes(missing, work, jobs):
            store.save(unit.name, values)
            advance()
    return [store.load(unit.name) or {} for unit in units]


def _outcomes(units: Sequence[Unit], work: Work, jobs: int) -> Iterable[tuple[Any, Values]]:
    if jobs == 1 or len(units) < 2:
        return (_done(unit, work) for unit in units)
    try:
        import joblib
    except ImportError as error:
        raise MissingExtraError("joblib", "sklearn", "jobs other than 1") from error
    with joblib.parallel_config(backend="loky", inner_max_num_threads=1):
        run = joblib.Parallel(n_jobs=jobs, return_as="generator_unordered")
    outcomes: Iterable[tuple[Any, Values]] = run(
        joblib.delayed(_done)(unit, work) for unit in units
    )
    return outcomes


def _done(unit: Unit, work: Work) -> tuple[Unit, Values]:
    with one_thread(), warnings.catch_warnings():
        # How many components a split supports is part of the results.
        warnings.simplefilter("ignore", RankExhaustedWarning)
        return unit, work(unit)
