"""How many threads linear algebra takes."""

import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from plsdof import pls_path
from plsdof._core import work as threads


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
    pls_path(X, X[:, 0] + rng.normal(size=60), 3)
    assert set(seen) == {1}
    assert most_threads() == 2


@pytest.mark.parametrize("first_leaves_first", [True, False])
def test_python_threads_share_the_limit_and_leave_none_behind(first_leaves_first):
    first_in, second_in, left = (threading.Event() for _ in range(3))
    seen = []

    def first():
        with threads.one_thread():
            first_in.set()
            (second_in if first_leaves_first else left).wait(10)
        if first_leaves_first:
            seen.append(most_threads())  # the second one still holds it
            left.set()

    def second():
        first_in.wait(10)
        with threads.one_thread():
            second_in.set()
            if first_leaves_first:
                left.wait(10)
        if not first_leaves_first:
            seen.append(most_threads())  # the first one still holds it
            left.set()

    workers = [threading.Thread(target=one) for one in (first, second)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert seen == [1]
    assert most_threads() == 2


def test_an_error_inside_lifts_the_limit():
    with pytest.raises(KeyError, match="gone"), threads.one_thread():
        raise KeyError("gone")
    assert most_threads() == 2


def test_without_threadpoolctl_nothing_is_limited(monkeypatch):
    monkeypatch.setattr(threads, "_controller", lambda: None)
    with threads.one_thread():
        assert most_threads() == 2
