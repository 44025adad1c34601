"""How many threads linear algebra takes.

Threads wait for each other. In a small problem that takes longer than they save, and far longer
where other programs keep the cores busy.
"""

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from typing import Any

# Multiplications from which on a problem is worth several threads.
_WORTH = 1e8


def threads_for(shape: tuple[int, ...]) -> AbstractContextManager[Any]:
    """Take one thread for a small (n, p) matrix, as many as there are for a large one."""
    n_rows, n_columns = shape
    small = n_rows * n_columns * min(n_rows, n_columns) < _WORTH
    return one_thread() if small else nullcontext()


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit linear algebra to one thread; without threadpoolctl (extra "sklearn") nothing changes.

    The limit holds for the whole process, until the last one who asked for it is done.
    """
    _limit.acquire()
    try:
        yield
    finally:
        _limit.release()


class _Limit:
    """A limit that several Python threads share: the first one sets it, the last one lifts it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holders = 0
        self._limiter: Any = None

    def acquire(self) -> None:
        with self._lock:
            if self._holders == 0 and (controller := _controller()) is not None:
                _give_up_control(controller)
                self._limiter = controller.limit(limits=1)
            self._holders += 1

    def release(self) -> None:
        with self._lock:
            self._holders -= 1
            if self._holders == 0 and self._limiter is not None:
                _give_up_control(_controller())
                self._limiter.restore_original_limits()
                _give_up_control(_controller())
                self._limiter = None


def _give_up_control(controller: Any) -> None:
    """Let any Python thread set limits: threadpoolctl listens to the one that set the last."""
    for library in controller.lib_controllers:
        if hasattr(library, "clear_controlling_thread"):
            library.clear_controlling_thread(force=True)


@cache
def _controller() -> Any:
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        return None
    return ThreadpoolController()


_limit = _Limit()
