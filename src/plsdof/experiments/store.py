"""Files: written whole or not at all, and finished repeats that survive an interrupt."""

import csv
import io
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from plsdof.atomic import UNFINISHED, atomic_write


def write_whole(path: Path, content: str | bytes) -> Path:
    """Write a file, and its folder if need be, so that it appears complete or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as stream:
        stream.write(content.encode() if isinstance(content, str) else content)
    return path


def remove_unfinished(folders: Iterable[Path]) -> None:
    """Remove what an interrupted `write_whole` has left in these folders."""
    for folder in folders:
        for path in folder.glob(f"*{UNFINISHED}"):
            path.unlink(missing_ok=True)


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a table as CSV: ten digits, empty where there is no number.

    Examples
    --------
    >>> print(csv_text(["d", "error"], [(10, 1 / 3), (50, float("nan"))]), end="")
    d,error
    10,0.3333333333
    50,
    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_cell(value) for value in row] for row in rows)
    return stream.getvalue()


def json_text(value: Any) -> str:
    """Return strict JSON: arrays as lists, null where there is no number.

    Examples
    --------
    >>> print(json_text({"dof": np.array([1.0, np.nan])}), end="")
    {"dof": [1.0, null]}
    """
    return json.dumps(_plain(value), allow_nan=False) + "\n"


@dataclass(frozen=True, kw_only=True)
class Store:
    """Finished repeats of one experiment with one set of settings, one small file each."""

    folder: Path

    @classmethod
    def open(cls, folder: Path, described: str) -> "Store":
        """Use a folder, and keep in it the settings in words."""
        write_whole(folder / "settings.json", described)
        return cls(folder=folder)

    def load(self, name: str) -> dict[str, Any] | None:
        """Return what was kept under a name; None if there is nothing that can be read."""
        try:
            content: Any = json.loads(self._path(name).read_bytes())
        except (OSError, ValueError):
            return None
        return content if isinstance(content, dict) else None

    def save(self, name: str, values: Mapping[str, Any]) -> None:
        """Keep a finished repeat."""
        write_whole(self._path(name), json_text(values))

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.json"


def _cell(value: Any) -> str:
    if value is None or (isinstance(value, float | np.floating) and math.isnan(value)):
        return ""
    if isinstance(value, float | np.floating):
        return format(float(value), ".10g")
    return str(value)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
