"""Many tasks, one after the other or in parallel, with one warning for all of them; progress."""

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeAlias, TypeVar

import numpy as np

from plsdof._core.warnings import warn_caller
from plsdof.errors import InvalidInputError, MissingExtraError, PlsdofWarning

Task = TypeVar("Task")
Result = TypeVar("Result")
Caught = list[tuple[type[Warning], str]]
Outcome: TypeAlias = tuple[Result, Caught]


def run_each(
    work: Callable[[Task], Result],
    tasks: Sequence[Task],
    *,
    n_jobs: int | None = None,
    progress: bool = False,
    description: str = "Folds",
    unit: str = "folds",
) -> list[Result]:
    """Return ``[work(task) for task in tasks]``, in this order.

    To be called from a public function: what the tasks warn about is put into one warning, which
    points at the caller of that function. Results do not depend on ``n_jobs``, but for rounding
    where a threaded linear algebra library adds up in another order.

    Parameters
    ----------
    work : callable
        Takes a task, such as a `Fold`. Must be picklable (by cloudpickle) with ``n_jobs``.
    n_jobs : int, optional
        None or 1: a plain loop. Otherwise that many processes, each with one thread for linear
        algebra so that they do not compete; -1 for all processors. Needs joblib.
    progress : bool
        Show a bar on stderr. Needs rich.
    description, unit : str
        What the bar says, and what warnings call the tasks.

    Examples
    --------
    >>> from plsdof._core.folds import make_folds
    >>> folds = make_folds(np.zeros((7, 1)), np.zeros(7), 3)
    >>> run_each(lambda fold: len(fold.train), folds)
    [4, 5, 5]
    """
    recorded, jobs = partial(_recorded, work), as_jobs(n_jobs)
    outcomes: Iterable[Outcome[Result]] = map(recorded, tasks)
    if jobs != 1 and tasks:
        import joblib

        with joblib.parallel_config(backend="loky", inner_max_num_threads=1):
            run = joblib.Parallel(n_jobs=jobs, return_as="generator")
        outcomes = run(joblib.delayed(recorded)(task) for task in tasks)
    done = list(with_progress(outcomes, len(tasks), description) if progress else outcomes)
    _warn_once([notes for _, notes in done], unit)
    return [result for result, _ in done]


def as_jobs(n_jobs: int | None) -> int:
    """Check a number of processes."""
    if n_jobs is None:
        return 1
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer) or n_jobs == 0:
        raise InvalidInputError(
            f"n_jobs must be None, a number of processes >= 1, or -1 for all processors; "
            f"got {n_jobs!r}."
        )
    return int(n_jobs)


def _recorded(work: Callable[[Task], Result], task: Task) -> Outcome[Result]:
    """Do the work and hand its warnings over, across processes too."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", PlsdofWarning)
        result = work(task)
    return result, [(note.category, str(note.message)) for note in caught]


def with_progress(outcomes: Iterable[Result], total: int, description: str) -> Iterator[Result]:
    """Pass things on one by one while a bar on stderr counts them; needs rich."""
    with progress_bar(description, total=total) as told:
        assert told is not None
        for count, outcome in enumerate(outcomes, start=1):
            yield outcome
            told(count, total)


@contextmanager
def progress_bar(
    description: str, *, total: int | None = None, wanted: bool = True, console: Any = None
) -> Iterator[Callable[[int, int], object] | None]:
    """Show a bar, on stderr or a rich console, and give a function that is told how far work is.

    It takes the numbers of things done and planned. None is given if no bar is wanted.
    """
    if not wanted:
        yield None
        return
    try:
        from rich.console import Console
        from rich.progress import MofNCompleteColumn, Progress, TimeElapsedColumn
    except ImportError as error:
        raise MissingExtraError("rich", "cli", "A progress bar") from error
    columns = (*Progress.get_default_columns(), MofNCompleteColumn(), TimeElapsedColumn())
    transient = console is None
    console = Console(stderr=True) if console is None else console
    with Progress(*columns, console=console, transient=transient) as bars:
        task = bars.add_task(description, total=total)
        yield lambda done, planned: bars.update(task, completed=done, total=planned)


def _warn_once(caught: Sequence[Caught], unit: str) -> None:
    """Issue one warning for all tasks and kind of ours, and each distinct one of others once."""
    everything = list(dict.fromkeys(note for notes in caught for note in notes))
    ours = {kind: text for kind, text in reversed(everything) if issubclass(kind, PlsdofWarning)}
    for kind, text in everything:
        if kind not in ours:
            warn_caller(text, kind)
    count = Counter(kind for notes in caught for kind in {kind for kind, _ in notes})
    for kind, text in ours.items():
        warn_caller(f"In {count[kind]} of {len(caught)} {unit}: {text}", kind)
