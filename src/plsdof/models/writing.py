"""Files that are written whole or not at all, and plain JSON."""

import glob
import math
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from plsdof.errors import InvalidInputError

# Ending of a file that is not finished yet. Its writer holds a lock on it, so that what a kill left
# behind can be told and is removed by the next one who writes the same file.
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
    is_device = target.exists() and not target.is_file() and not target.is_dir()
    try:
        with target.open("wb") if is_device else _replacing(target) as stream:
            yield stream
    except OSError as error:
        reason = error.strerror or str(error)
        raise InvalidInputError(
            f"{os.fspath(file)!r} could not be written: {reason}. Choose another file name."
        ) from error


@contextmanager
def _replacing(target: Path) -> Iterator[BinaryIO]:
    # A name of its own for every writer, as of mkstemp; but the file gets the rights of a new one.
    start = f".{target.name[:50]}."
    if os.name != "nt":  # there, a file cannot take the place of another one while it is locked
        for one in target.parent.glob(f"{glob.escape(start)}*{UNFINISHED}"):
            _remove_abandoned(one)
    part = target.with_name(f"{start}{secrets.token_hex(8)}{UNFINISHED}")
    opened = part.open("xb")  # from here on it is ours, and so may be removed
    try:
        with opened as stream:
            with suppress(OSError):  # some network folders have no locks
                lock(stream)
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
            if os.name != "nt":
                part.replace(target)  # as long as it is locked
        if os.name == "nt":  # pragma: no cover
            part.replace(target)
    except BaseException:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        raise


def _remove_abandoned(part: Path) -> None:
    """Remove an unfinished file, unless its writer is alive and has locked it."""
    with suppress(OSError):
        with part.open("r+b") as stream:
            lock(stream, wait=False)
            if not stream.seek(0, os.SEEK_END):  # it may have been made just now
                return
        part.unlink()


def check_writable(file: str | os.PathLike[str]) -> None:
    """Raise now what `atomic_write` would raise later, after a long computation."""
    target = Path(os.path.realpath(file))
    if target.is_dir():
        raise InvalidInputError(f"{os.fspath(file)!r} is a folder; give the name of a file in it.")
    if not os.access(target if target.exists() else target.parent, os.W_OK):
        raise InvalidInputError(
            f"{os.fspath(file)!r} could not be written: its folder does not exist, or may not be "
            "written to. Choose another one."
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


def lock(stream: BinaryIO, *, wait: bool = True) -> None:
    """Lock a file until it is closed; if another one has locked it, wait or raise OSError."""
    if os.name == "nt":  # pragma: no cover
        import msvcrt

        stream.seek(0)
        how = msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK  # type: ignore[attr-defined]
        msvcrt.locking(stream.fileno(), how, 1)  # type: ignore[attr-defined]
    else:
        import fcntl

        fcntl.flock(stream, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
