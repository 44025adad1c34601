"""How many threads linear algebra takes."""

import os
import re
import signal
import threading
from pathlib import Path

import numpy as np
import pytest
from _helpers.problems import counted
from threadpoolctl import threadpool_info, threadpool_limits

import plsdof
from plsdof import pls_path
from plsdof._core import threads


def most_threads():
    return max(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")


@pytest.fixture(autouse=True)
def _two_threads():
    with threadpool_limits(limits=2):
        yield


@pytest.mark.parametrize(("shape", "expected"), [((70, 700), 1), ((10_000, 500), 2)])
def test_small_problems_take_one_thread(shape, expected):
    with threads.threads_for(shape):
        assert most_threads() == expected
    assert most_threads() == 2


def test_a_fit_takes_one_thread_and_leaves_the_others_as_they_were(monkeypatch):
    seen = []
    eigvalsh = np.linalg.eigvalsh

    def watched(matrix):
        seen.append(most_threads())
        return eigvalsh(matrix)

    monkeypatch.setattr(np.linalg, "eigvalsh", watched)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 40))
    counted(pls_path(X, X[:, 0] + rng.normal(size=60), 3))
    assert set(seen) == {1}
    assert most_threads() == 2


def test_an_error_inside_lifts_the_limit():
    with pytest.raises(KeyError, match="gone"), threads.one_thread():
        raise KeyError("gone")
    assert most_threads() == 2


def test_without_threadpoolctl_nothing_is_limited(monkeypatch):
    monkeypatch.setattr(threads, "_controller", lambda: None)
    with threads.one_thread():
        assert most_threads() == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning")
def test_a_child_that_is_forked_while_a_property_is_computed_can_compute_it():
    held, done = threading.Event(), threading.Event()

    class Slow:
        @threads.cached_property
        def value(self):
            held.set()
            done.wait(30)
            return 1

    computing = threading.Thread(target=lambda: Slow().value)
    computing.start()
    held.wait(10)
    child = os.fork()
    if child == 0:  # a deadlock would end by the alarm
        signal.alarm(20)
        done.set()
        os._exit(1 - Slow().value)
    done.set()
    computing.join()
    assert os.waitpid(child, 0)[1] == 0


def test_every_property_that_is_computed_once_is_without_a_lock():
    sources = Path(plsdof.__file__).parent.rglob("*.py")
    others = [file for file in sources if file.name != "threads.py"]
    imported = re.compile("^from functools import.*cached_property", re.MULTILINE)
    assert [file for file in others if imported.search(file.read_text(encoding="utf-8"))] == []
