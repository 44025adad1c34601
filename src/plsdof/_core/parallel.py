"""Many tasks, one after the other or in parallel; progress."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

from plsdof.errors import InvalidInputError, MissingExtraError

Task = TypeVar("Task")
Result = TypeVar("Result")


def run_each(
    work: Callable[[Task], Result],
    tasks: Sequence[Task],
    *,
    n_jobs: int | None = None,
    progress: bool = False,
    description: str = "Folds",
) -> list[Result]:
    """Return ``[work(task) for task in tasks]``, in this order.

    Results do not depend on ``n_jobs``, but for rounding where a threaded linear algebra library
    adds up in another order.

    Parameters
    ----------
    work : callable
        Takes a task, such as a `Fold`. Must be picklable (by cloudpickle) with ``n_jobs``.
    n_jobs : int, optional
        None or 1: a plain loop. Otherwise that many processes, each with one thread for linear
        algebra so that they do not compete; -1 for all processors. Needs joblib.
    progress : bool
        Show a bar on stderr. Needs rich.
    description : str
        What the bar says.

    Examples
    --------
    >>> from plsdof._core.folds import make_folds
    >>> folds = make_folds(np.zeros((7, 1)), np.zeros(7), 3)
    >>> run_each(lambda fold: len(fold.train), folds)
    [4, 5, 5]
    """
    outcomes: Iterable[Result] = map(work, tasks)
    if (jobs := as_jobs(n_jobs)) != 1 and tasks:
        import joblib

        with joblib.parallel_config(backend="loky", inner_max_num_threads=1):
            run = joblib.Parallel(n_jobs=jobs, return_as="generator")
        outcomes = run(joblib.delayed(work)(task) for task in tasks)
    return list(with_progress(outcomes, len(tasks), description) if progress else outcomes)


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


def with_progress(outcomes: Iterable[Result], total: int, description: str) -> Iterator[Result]:
    """Pass things on one by one while a bar on stderr counts them; needs rich."""
    with progress_bar(description, total=total) as counter:
        assert counter is not None
        for count, outcome in enumerate(outcomes, start=1):
            yield outcome
            counter(count, total)


@contextmanager
def progress_bar(
    description: str, *, total: int | None = None, wanted: bool = True, console: Any = None
) -> Iterator[Callable[[int, int], object] | None]:
    """Show a bar, on stderr or a rich console, and give a function that takes how far work is.

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
