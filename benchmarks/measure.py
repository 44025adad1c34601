"""Measures contestants in child processes of their own, one call at a time, taking turns."""

import contextlib
import json
import os
import select
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from contestants import Contestant
from regimes import Regime, make_problem, make_test_rows, reference_predictions

THREAD_VARIABLES = (
    "OPENBLAS_NUM_THREADS",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "RAYON_NUM_THREADS",
)
# Idle threads of a linear algebra library spin before they sleep (110 ms were seen); let them.
PAUSE = 0.15
GRACE = 5.0
# Seconds for imports, while all start at once.
WARM_UP = 90.0


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How much work goes into the numbers.

    Attributes
    ----------
    rounds : int
        Turns of each contestant after its first call, which is not counted.
    slow : float
        A first call that takes longer (seconds) is the only one, and counts: "run once".
    limit : float
        Seconds after which a call is given up; the contestant then sits out larger regimes.
    draws : int
        Training sets, and ways to cut the first one into folds, for the spread of the choice.
    quality : float
        Seconds per contestant and regime for these.
    deadline : float
        Seconds for everything, in equal parts for each number of threads; what has no time left is
        reported as not run.
    """

    rounds: int = 7
    slow: float = 2.0
    limit: float = 20.0
    draws: int = 10
    quality: float = 2.0
    deadline: float = 840.0


@dataclass(kw_only=True)
class Row:
    """What is known of one contestant in one regime with one number of threads."""

    regime: str
    threads: int
    contestant: str
    status: str = "ok"
    times: list[float] = field(default_factory=list)
    once: bool = False
    memory: float | None = None
    draws: list[dict[str, Any]] = field(default_factory=list)
    splits: list[dict[str, Any]] = field(default_factory=list)

    @property
    def seconds(self) -> float | None:
        return statistics.median(self.times) if self.times else None


class ContestantError(Exception):
    """A contestant raised, died or took too long; the message is for the table."""


class Child:
    """A child process for one contestant with a given number of threads; started when needed."""

    def __init__(self, contestant: Contestant, threads: int, all_threads: bool) -> None:
        self.contestant, self.threads = contestant, threads
        self.environment = thread_environment(None if all_threads else threads)
        self.process: subprocess.Popen[str] | None = None
        self.warm = False
        self.gave_up = False

    def start(self) -> None:
        """Start the process; it warms up while others start."""
        if self.process is None:
            self.log = tempfile.TemporaryFile("w+")  # noqa: SIM115  (closed by stop)
            self.process = subprocess.Popen(
                [
                    sys.executable,
                    str(Path(__file__).with_name("worker.py")),
                    self.contestant.key,
                    str(self.threads),
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self.log,
                text=True,
                env=self.environment,
                start_new_session=True,
            )
            self._say("warm_up")

    def ready(self) -> None:
        """Wait until it is warm; nothing to wait for if it is."""
        if not self.warm:
            try:
                self._hear(WARM_UP)
            except ContestantError:
                self.stop(at_once=True)
                raise
            self.warm = True

    def ask(self, do: str, limit: float, **order: Any) -> dict[str, Any]:
        """Give an order and return the answer."""
        self.start()
        self.ready()
        self._say(do, **order)
        return self._hear(limit)

    def rest(self) -> None:
        """Wait until the threads of the one before have gone to sleep."""
        time.sleep(PAUSE if self.threads > 1 else 0.0)

    def stop(self, *, at_once: bool = False) -> None:
        """End the process and those it started, by the door if it is not stuck."""
        if self.process is None:
            return
        process, self.process, self.warm = self.process, None, False
        # joblib's process that cleans up after the others ignores SIGTERM; it must come last.
        if at_once:
            _signal_group(process.pid, signal.SIGTERM)
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        until = time.monotonic() + GRACE
        while _signal_group(process.pid, 0) and time.monotonic() < until:
            process.poll()
            time.sleep(0.01)
        _signal_group(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()
        self.log.close()

    def _say(self, do: str, **order: Any) -> None:
        try:
            self.process.stdin.write(json.dumps({"do": do, **order}) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise ContestantError(self._last_words()) from None

    def _hear(self, limit: float) -> dict[str, Any]:
        ready, _, _ = select.select([self.process.stdout], [], [], limit)
        if not ready:
            self.stop(at_once=True)
            self.gave_up = True
            raise ContestantError(f"over the limit of {limit:g} s")
        line = self.process.stdout.readline()
        if not line:
            raise ContestantError(self._last_words())
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise ContestantError(f"failed: {answer['error']:.200}")
        return answer

    def _last_words(self) -> str:
        self.log.seek(0)
        words = self.log.read().strip().splitlines()
        self.stop(at_once=True)
        return f"failed: the process ended; {words[-1] if words else 'no message'}"


def _signal_group(group: int, number: int) -> bool:
    """Send a signal to a process and all it started; False if there are none."""
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return False
    return True


def thread_environment(threads: int | None) -> dict[str, str]:
    """Return the environment with the thread variables set; None unsets them all."""
    environment = {k: v for k, v in os.environ.items() if k not in THREAD_VARIABLES}
    if threads is not None:
        environment |= dict.fromkeys(THREAD_VARIABLES, str(threads))
    return environment


def available_cores() -> int:
    """Return the number of cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def measure(
    regimes: Sequence[Regime],
    contestants: Sequence[Contestant],
    thread_counts: Sequence[int],
    effort: Effort,
    report: Callable[[str], None] = print,
) -> list[Row]:
    """Measure everybody everywhere. Quality is measured with the last number of threads."""
    started, rows = time.monotonic(), []
    for turn, threads in enumerate(thread_counts, start=1):
        until = started + effort.deadline * turn / len(thread_counts)
        children = [
            Child(one, threads, all_threads=threads == available_cores())
            for one in contestants
            if threads > 1 or one.key != "ikpls-jobs"
        ]
        try:
            for regime in sorted(regimes, key=lambda one: one.n * one.p):
                report(f"{regime.title}; {threads} thread(s)")
                found = time_regime(regime, children, effort, until)
                if threads == thread_counts[-1]:
                    try_choices(regime, children, found, effort, until)
                rows += found
        finally:
            for child in children:
                child.stop()
    return rows


def time_regime(
    regime: Regime, children: Iterable[Child], effort: Effort, until: float
) -> list[Row]:
    """Time all contestants on the first problem of a regime, in turns."""
    rows, running = [], []
    for child in children:
        one = child.contestant
        row = Row(regime=regime.name, threads=child.threads, contestant=one.key)
        rows.append(row)
        if one.version(one.package) is None:
            row.status = "not installed"
        elif child.gave_up:
            row.status = "not run, over the limit before"
        else:
            child.start()
            running.append((child, row))
    for child, row in running:
        _guarded(row, child.ready)
    for child, row in running:
        if row.status == "ok":
            _guarded(row, _first_call, child, regime, row, effort, until)
    for _ in range(effort.rounds):
        for child, row in running:
            if row.status == "ok" and not row.once:
                _guarded(row, _one_turn, child, row, effort)
    return rows


def _guarded(row: Row, step: Callable[..., None], *arguments: Any) -> None:
    try:
        step(*arguments)
    except ContestantError as error:
        row.status = str(error)


def _first_call(child: Child, regime: Regime, row: Row, effort: Effort, until: float) -> None:
    if time.monotonic() > until:
        raise ContestantError(f"not run, {effort.deadline:g} s were over")
    child.ask("load", effort.limit, regime=asdict(regime))
    child.rest()
    answer = child.ask("first", effort.limit)
    row.memory = answer["memory"]
    row.once = answer["seconds"] > effort.slow
    if row.once:
        row.times = [answer["seconds"]]


def _one_turn(child: Child, row: Row, effort: Effort) -> None:
    child.rest()
    # Calls of milliseconds are made many times in a row, as simulations make them.
    row.times += child.ask("repeat", effort.limit, calls=20, seconds=0.1)["times"]


def try_choices(
    regime: Regime, children: Iterable[Child], rows: Sequence[Row], effort: Effort, until: float
) -> None:
    """Let every contestant choose on other training sets and other folds, within its time."""
    models = [
        (child, row)
        for child, row in zip(children, rows, strict=True)
        if row.status == "ok" and child.contestant.task == "choose"
    ]
    if not models:
        return
    with tempfile.TemporaryDirectory() as folder:
        _write_references(regime, effort.draws, Path(folder))
        for child, row in models:
            _guarded(row, _choices, child, row, effort, folder, until)


def _write_references(regime: Regime, draws: int, folder: Path) -> None:
    X, _ = make_test_rows(regime)
    for draw in range(draws):
        np.save(folder / f"{draw}.npy", reference_predictions(make_problem(regime, draw), X))


def _choices(child: Child, row: Row, effort: Effort, folder: str, until: float) -> None:
    """Assess the first choice in any case; then draws and splits in turn while time lasts."""
    first = child.ask("assess", effort.limit, references=folder)
    ask = {"do": "choose", "limit": effort.limit, "references": folder}
    row.draws.append(first)
    row.splits.append(first)
    spent = first["seconds"]
    for number in range(1, effort.draws):
        each = spent / (len(row.draws) + len(row.splits) - 1)
        if spent + each > effort.quality or time.monotonic() + each > until:
            return
        row.draws.append(child.ask(**ask, draw=number, split=0))
        spent += row.draws[-1]["seconds"]
        if child.contestant.random:
            row.splits.append(child.ask(**ask, draw=0, split=number))
            spent += row.splits[-1]["seconds"]
