"""How many threads linear algebra takes.

Threads wait for each other. In a small problem that takes longer than they save, and far longer
where other programs keep the cores busy.
"""

from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

# Multiplications from which on a problem is worth several threads.
_WORTH = 1e8


def threads_for(shape: tuple[int, ...]) -> AbstractContextManager[Any]:
    """Take one thread for a small (n, p) matrix, as many as there are for a large one."""
    n_rows, n_columns = shape
    small = n_rows * n_columns * min(n_rows, n_columns) < _WORTH
    return one_thread() if small else nullcontext()


def one_thread() -> AbstractContextManager[Any]:
    """Limit linear algebra to one thread; without threadpoolctl (extra "sklearn") nothing changes.

    Where the threads belong to the whole process, only one Python thread at a time has a say, so
    that two of them cannot leave each other's limit behind.
    """
    controller = _controller()
    return nullcontext() if controller is None else controller.limit(limits=1)


@cache
def _controller() -> Any:
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        return None
    return ThreadpoolController()
