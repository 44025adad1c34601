"""Warnings that point at the caller, and fits that keep theirs to themselves."""

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

_PACKAGE = str(Path(__file__).parents[1]) + os.sep
_quiet: ContextVar[tuple[type[Warning], ...]] = ContextVar("quiet", default=())


@contextmanager
def quietly(*kinds: type[Warning]) -> Iterator[None]:
    """Keep this package's own warnings, or some kinds of them, in this thread of execution.

    For fits inside of a fit, such as those without some rows: the whole fit has said what there is
    to say. Filters of the module `warnings` belong to the process and are left alone.
    """
    token = _quiet.set(_quiet.get() + (kinds or (Warning,)))
    try:
        yield
    finally:
        _quiet.reset(token)


def is_quiet(category: type[Warning]) -> bool:
    """Tell whether warnings of this kind are kept here."""
    return issubclass(category, _quiet.get())


def warn_caller(text: str, category: type[Warning]) -> None:
    """Warn at the first line up the stack that is not in this package, unless `quietly`."""
    if is_quiet(category):
        return
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)
