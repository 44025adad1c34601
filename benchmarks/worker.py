"""The child process of one contestant: takes orders on standard input, one JSON object a line.

Started by measure.py with the thread variables set, so that they are seen by every library that
reads them when it is imported. Each order is answered by one line; what libraries print goes to
standard error.
"""

import json
import os
import sys
import time
import traceback
import warnings
from pathlib import Path
from typing import Any

import memory
import numpy as np
from contestants import BY_KEY, Contestant, load
from regimes import Choice, Problem, Regime, make_problem, make_test_rows, recut

WARM_UP = Regime(name="warm-up", n=30, p=20, max_components=2)


class Worker:
    """One contestant, and the problem it is working on."""

    def __init__(self, contestant: Contestant, threads: int) -> None:
        self.contestant, self.threads = contestant, threads
        self.regime: Regime | None = None
        self.problem: Problem | None = None
        self.seconds, self.choice = 0.0, None
        self.test: tuple[np.ndarray, np.ndarray] | None = None

    def warm_up(self) -> dict[str, Any]:
        """Import everything, and start what helpers there are, on a problem of no size."""
        load(self.contestant)
        self.contestant.run(make_problem(WARM_UP), self.threads)
        return {}

    def load(self, regime: dict[str, Any]) -> dict[str, Any]:
        """Make the data of a regime."""
        self.test = None
        self.regime = Regime(**regime)
        self.problem = make_problem(self.regime)
        return {}

    def first(self) -> dict[str, Any]:
        """Run once: the time, and the memory beyond the data and the imported libraries."""
        before = memory.forget_peak()
        self.seconds, self.choice = self._timed(self.problem)
        peak = memory.status("VmHWM")
        # A contestant with its own clock works in another process, whose memory is not seen.
        known = None not in (before, peak) and getattr(self.choice, "seconds", None) is None
        return {"seconds": self.seconds, "memory": peak - before if known else None}

    def repeat(self, calls: int, seconds: float) -> dict[str, Any]:
        """Run again, up to ``calls`` times or until ``seconds`` have passed."""
        times: list[float] = []
        while len(times) < calls and sum(times) < seconds:
            times.append(self._timed(self.problem)[0])
        return {"times": times}

    def assess(self, references: str) -> dict[str, Any]:
        """Try the model that the first run chose on rows held out."""
        return {"seconds": self.seconds, **self._quality(self.choice, Path(references) / "0.npy")}

    def choose(self, draw: int, split: int, references: str) -> dict[str, Any]:
        """Choose a model for other data, or (``draw`` 0) other folds; try it on rows held out."""
        problem = recut(self.problem, split) if split else make_problem(self.regime, draw)
        seconds, choice = self._timed(problem)
        return {"seconds": seconds, **self._quality(choice, Path(references) / f"{draw}.npy")}

    def _timed(self, problem: Problem) -> tuple[float, Choice | None]:
        started = time.perf_counter()
        choice = self.contestant.run(problem, self.threads)
        seconds = time.perf_counter() - started
        return (getattr(choice, "seconds", None) or seconds), choice

    def _quality(self, choice: Choice, reference: Path) -> dict[str, Any]:
        if self.test is None:
            self.test = make_test_rows(self.regime)
        X, y = self.test
        predicted, expected = np.asarray(choice.predict(X)), np.load(reference)
        errors = np.mean((expected - y) ** 2, axis=1)
        gap = np.max(np.abs(predicted - expected[choice.n_components]))
        return {
            "n_components": choice.n_components,
            "test_error": float(np.mean((predicted - y) ** 2)),
            "best_n_components": int(np.argmin(errors)),
            "best_error": float(errors.min()),
            "disagreement": float(gap / np.std(y)),
        }


def main() -> None:
    """Serve one contestant until standard input ends."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    worker = Worker(BY_KEY[sys.argv[1]], int(sys.argv[2]))
    orders = {
        "warm_up": worker.warm_up,
        "load": worker.load,
        "first": worker.first,
        "repeat": worker.repeat,
        "assess": worker.assess,
        "choose": worker.choose,
    }
    for line in sys.stdin:
        order = json.loads(line)
        try:
            answer = orders[order.pop("do")](**order)
        except Exception as error:
            traceback.print_exc()
            answer = {"error": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main()
