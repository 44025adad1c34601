"""Resident memory of a process, as Linux counts it.

``VmHWM`` is the peak of resident memory since the program started or `forget_peak` was called.
``ru_maxrss`` would not do: it is inherited from the process that started this one. Pages of mapped
files count as resident in ``VmRSS`` and ``VmHWM``, and not in ``RssAnon``.
"""

import ctypes
from pathlib import Path


def status(field: str, process: str = "self") -> float | None:
    """Return a field of /proc/PID/status in bytes, None where there is no such file."""
    try:
        text = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return None
    for line in text.splitlines():
        if line.startswith(f"{field}:"):
            return 1024.0 * int(line.split()[1])
    return None


def forget_peak() -> float | None:
    """Give freed memory back, restart the peak and return what is resident now, in bytes."""
    try:
        ctypes.CDLL("libc.so.6").malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return None
    return status("VmRSS")
