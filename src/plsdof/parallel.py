"""Work on many tasks, one after the other or in parallel, with one warning for all of them."""

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TypeAlias, TypeVar

import numpy as np

from plsdof.errors import InvalidInputError, MissingExtraError, PlsdofWarning, warn_caller

Task = TypeVar("Task")
Result = TypeVar("Result")
Caught = list[tuple[type[Warning], str]]
Outcome: TypeAlias = tuple[Result, Caught]


def run_each(
    work: Callable[[Task], Result],
    tasks: Sequence[Task],
    *,
    done: Sequence[Outcome[Result] | None] | None = None,
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
    done : sequence, optional
        One item per task: None, or the result and its warnings (pairs of category and text) where
        they are known already and no work is left.
    n_jobs : int, optional
        None or 1: a plain loop. Otherwise that many processes, each with one thread for linear
        algebra so that they do not compete; -1 for all processors. Needs joblib.
    progress : bool
        Show a bar on stderr. Needs rich.
    description, unit : str
        What the bar says, and what warnings call the tasks.

    Examples
    --------
    >>> from plsdof.folds import make_folds
    >>> folds = make_folds(np.zeros((7, 1)), np.zeros(7), 3)
    >>> run_each(lambda fold: len(fold.train), folds)
    [4, 5, 5]
    """
    results, caught = [], []
    known = [None] * len(tasks) if done is None else done
    todo = [task for task, outcome in zip(tasks, known, strict=True) if outcome is None]
    made = _outcomes(partial(_recorded, work), todo, _as_jobs(n_jobs))
    outcomes = _completed(known, iter(made))
    for result, notes in with_progress(outcomes, len(tasks), description) if progress else outcomes:
        results.append(result)
        caught.append(notes)
    _warn_once(caught, unit)
    return results


def _as_jobs(n_jobs: int | None) -> int:
    if n_jobs is None:
        return 1
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer) or n_jobs == 0:
        raise InvalidInputError(
            f"n_jobs must be None, a number of processes >= 1, or -1 for all processors; "
            f"got {n_jobs!r}."
        )
    return int(n_jobs)


def _outcomes(
    work: Callable[[Task], Outcome[Result]], tasks: Sequence[Task], n_jobs: int
) -> Iterable[Outcome[Result]]:
    if n_jobs == 1:
        return map(work, tasks)
    try:
        import joblib
    except ImportError as error:
        raise MissingExtraError("joblib", "sklearn", "n_jobs other than 1") from error
    if not tasks:
        return ()
    with joblib.parallel_config(backend="loky", inner_max_num_threads=1):
        run = joblib.Parallel(n_jobs=n_jobs, return_as="generator")
    outcomes: Iterable[Outcome[Result]] = run(joblib.delayed(work)(task) for task in tasks)
    return outcomes


def _completed(
    known: Sequence[Outcome[Result] | None], made: Iterator[Outcome[Result]]
) -> Iterator[Outcome[Result]]:
    """Fill the gaps in what is known with what is made."""
    for outcome in known:
        yield next(made) if outcome is None else outcome
    next(made, None)  # nothing is left; joblib closes its generator when it is asked


def _recorded(work: Callable[[Task], Result], task: Task) -> Outcome[Result]:
    """Do the work and hand its warnings over, across processes too."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", PlsdofWarning)
        result = work(task)
    return result, [(note.category, str(note.message)) for note in caught]


def with_progress(outcomes: Iterable[Result], total: int, description: str) -> Iterator[Result]:
    """Pass things on one by one while a bar on stderr counts them; needs rich."""
    try:
        from rich.console import Console
        from rich.progress import Progress
    except ImportError as error:
        raise MissingExtraError("rich", "cli", "A progress bar") from error
    with Progress(console=Console(stderr=True), transient=True) as bar:
        yield from bar.track(outcomes, total=total, description=description)


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
