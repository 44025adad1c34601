"""Doing the repeats, and keeping each as soon as it is finished."""

import contextlib
import csv
import functools
import hashlib
import io
import itertools
import json
import math
import os
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from plsdof._core.work import one_thread, progress_bar
from plsdof.errors import RankExhaustedWarning
from plsdof.files.writing import UNFINISHED, atomic_write, plain

# Files: written whole or not at all, and finished repeats that survive an interrupt
# ----------------------------------------------------------------------------------


def write_whole(path: Path, content: str | bytes) -> Path:
    """Write a file, and its folder if need be, so that it appears complete or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as stream:
        stream.write(content.encode() if isinstance(content, str) else content)
    return path


def remove_unfinished(folders: Iterable[Path]) -> None:
    """Remove what an interrupted `write_whole` has left in these folders."""
    for folder in folders:
        for path in folder.glob(f"*{UNFINISHED}"):
            path.unlink(missing_ok=True)


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a table as CSV: ten digits, empty where there is no number.

    Examples
    --------
    >>> print(csv_text(["d", "error"], [(10, 1 / 3), (50, float("nan"))]), end="")
    d,error
    10,0.3333333333
    50,
    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_cell(value) for value in row] for row in rows)
    return stream.getvalue()


def json_text(value: Any) -> str:
    """Return strict JSON: arrays as lists, null where there is no number.

    Examples
    --------
    >>> print(json_text({"dof": np.array([1.0, np.nan])}), end="")
    {"dof": [1.0, null]}
    """
    return json.dumps(plain(value), allow_nan=False) + "\n"


@dataclass(frozen=True, kw_only=True)
class Store:
    """Finished repeats of one experiment with one set of settings, one small file each."""

    folder: Path

    @classmethod
    def open(cls, folder: Path, described: str) -> "Store":
        """Use a folder, and keep in it the settings in words."""
        write_whole(folder / "settings.json", described)
        return cls(folder=folder)

    def load(self, name: str) -> dict[str, Any] | None:
        """Return what was kept under a name; None if there is nothing, or it was changed."""
        try:
            digest, values = self._path(name).read_text(encoding="utf-8").split("\n", 1)
        except (OSError, ValueError):
            return None
        content: dict[str, Any] | None = json.loads(values) if digest == _digest(values) else None
        return content

    def save(self, name: str, values: Mapping[str, Any]) -> None:
        """Keep a finished repeat, and what tells whether it is still the same."""
        text = json_text(values)
        write_whole(self._path(name), f"{_digest(text)}\n{text}")

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.json"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _cell(value: Any) -> str:
    if value is None or (isinstance(value, float | np.floating) and math.isnan(value)):
        return ""
    if isinstance(value, float | np.floating):
        return format(float(value), ".10g")
    return str(value)


# Doing the repeats: in one or several processes, keeping each as soon as it is finished
# --------------------------------------------------------------------------------------

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
        done = itertools.count(1)
        with progress_bar(description, total=total, console=self.console) as told:
            assert told is not None

            def advance() -> None:
                told(next(done), total)

            yield advance


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
    import joblib

    with joblib.parallel_config(backend="loky", inner_max_num_threads=1):
        run = joblib.Parallel(n_jobs=jobs, return_as="generator_unordered")
    outcomes: Iterable[tuple[Any, Values]] = run(
        joblib.delayed(_done_below)(unit, work, os.getpid()) for unit in units
    )
    return outcomes


def _done_below(unit: Unit, work: Work, parent: int) -> tuple[Unit, Values]:
    """Do a unit in another process, which ends when the one that started it does."""
    _end_with(parent)
    return _done(unit, work)


@functools.cache
def _end_with(parent: int) -> None:
    """Watch the process that started this one; a killed one cannot end its workers."""
    if os.getppid() == parent:
        threading.Thread(target=_watch, args=(parent,), daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


def _done(unit: Unit, work: Work) -> tuple[Unit, Values]:
    with one_thread(), warnings.catch_warnings():
        # How many components a split supports is part of the results.
        warnings.simplefilter("ignore", RankExhaustedWarning)
        return unit, work(unit)
