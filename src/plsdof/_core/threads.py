"""How many threads linear algebra takes, and properties that are computed once without a lock.

Threads wait for each other. In a small problem that takes longer than they save, and far longer
where other programs keep the cores busy.
"""

import functools
import math
import sys
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

# Multiplications from which on a decomposition, or a single product, is worth several threads.
_WORTH = 1e8
_PRODUCT_WORTH = 2e6
# Below these OpenBLAS takes one thread anyway.
_ALONE = 2**18


def threads_for(shape: tuple[int, ...]) -> AbstractContextManager[Any]:
    """Take one thread to decompose a small (n, p) matrix, all that there are for a large one."""
    n_rows, n_columns = shape
    small = n_rows * n_columns * min(n_rows, n_columns) < _WORTH
    return one_thread() if small else nullcontext()


def threads_for_products(rows: int, shape: tuple[int, ...]) -> AbstractContextManager[Any]:
    """Do the same for products of so many rows with a matrix."""
    return one_thread() if _ALONE < rows * math.prod(shape) < _PRODUCT_WORTH else nullcontext()


def one_thread() -> AbstractContextManager[Any]:
    """Limit linear algebra to one thread; without threadpoolctl nothing changes.

    The limit holds for the whole process. Of several Python threads the first one sets and lifts
    it (threadpoolctl 3.7 and later).
    """
    controller = _controller()
    return nullcontext() if controller is None else controller.limit(limits=1)


@functools.cache
def _controller() -> Any:
    """Return what finds and limits the libraries with threads of their own; None without it."""
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        return None
    return ThreadpoolController()


if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property as cached_property
else:

    class cached_property(functools.cached_property):  # noqa: N801
        """The same without the one lock for all instances that Python 3.11 has.

        Several threads would wait for each other, and a forked child for a thread that it has not.
        """

        def __get__(self, instance, owner=None):
            if instance is None:
                return self
            known = instance.__dict__
            if self.attrname not in known:
                known[self.attrname] = self.func(instance)
            return known[self.attrname]
