"""Files that are written whole or not at all, and what is written: plain JSON."""

import math
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from plsdof.errors import InvalidInputError

# Ending of a file that is not finished yet; what a kill leaves behind can be told by it.
UNFINISHED = ".plsdof-part"


@contextmanager
def atomic_write(file: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for writing bytes, so that it appears complete or not at all.

    The bytes go to a temporary file of the same folder, then to the disk, and take the place of
    the old file in one step (``os.replace``). On any exception, Ctrl-C included, the temporary
    file is removed and the old file stays. A device or pipe, such as /dev/stdout, is written
    directly. A symbolic link stays one; what it points to is replaced.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     target = Path(folder) / "numbers.txt"
    ...     with atomic_write(target) as stream:
    ...         _ = stream.write(b"1 2 3")
    ...     [one.name for one in Path(folder).iterdir()]
    ['numbers.txt']
    """
    target = Path(os.path.realpath(file))
    try:
        if target.exists() and not target.is_file() and not target.is_dir():
            with target.open("wb") as stream:
                yield stream
            return
        with _replacing(target) as stream:
            yield stream
    except OSError as error:
        reason = error.strerror or str(error)
        raise InvalidInputError(
            f"{os.fspath(file)!r} could not be written: {reason}. Choose another file name."
        ) from error


@contextmanager
def _replacing(target: Path) -> Iterator[BinaryIO]:
    part = target.with_name(f".{target.name[:100]}.{os.getpid()}{UNFINISHED}")
    try:
        with part.open("xb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        part.replace(target)
    except BaseException:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        raise


def check_writable(file: str | os.PathLike[str]) -> None:
    """Raise now what `atomic_write` would raise later, after a long computation."""
    target = Path(os.path.realpath(file))
    if target.is_dir():
        raise InvalidInputError(f"{os.fspath(file)!r} is a folder; give the name of a file in it.")
    if not target.parent.is_dir():
        raise InvalidInputError(
            f"The folder of {os.fspath(file)!r} does not exist; create it or choose another one."
        )
    if not os.access(target if target.exists() else target.parent, os.W_OK):
        raise InvalidInputError(
            f"{os.fspath(file)!r} could not be written: no permission. Choose another folder."
        )


def plain(value: Any) -> Any:
    """Return a value made of lists, dictionaries, text, finite numbers and None only.

    Examples
    --------
    >>> plain({"dof": np.array([1.0, np.nan])})
    {'dof': [1.0, None]}
    """
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
