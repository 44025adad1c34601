"""Rows of a file as Arrow holds them, copied to arrays and checked."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from plsdof._validation import Array
from plsdof.columns import shortened
from plsdof.errors import InvalidInputError, MissingExtraError
from plsdof.tables import shortened_path


@dataclass(frozen=True, kw_only=True)
class Piece:
    """Some rows of a file, the first of which is number ``row``; ``known`` to be finite or not."""

    batch: Any
    path: Path
    names: Sequence[str]
    row: int
    known: bool

    def __len__(self) -> int:
        return int(self.batch.num_rows)

    def fill(self, out: Array, start: int) -> None:
        """Copy rows from ``start`` on to the columns of an array, as many as it has."""
        float64 = arrow_module("pyarrow").float64()
        part = self.batch.slice(start, out.shape[1])
        for values, column in zip(out, part.columns, strict=True):
            numbers = column if column.type == float64 else column.cast(float64, safe=False)
            values[:] = numbers.to_numpy(zero_copy_only=False)
        if self.known:
            return
        with np.errstate(over="ignore", invalid="ignore"):
            finite = np.isfinite(out.sum()) or np.isfinite(out).all()
        if not finite:
            self._refuse(out, start)

    def _refuse(self, out: Array, start: int) -> None:
        bad = ~np.isfinite(out)
        row = int(np.flatnonzero(bad.any(axis=0))[0])
        column = int(np.flatnonzero(bad[:, row])[0])
        what = "missing" if np.isnan(out[column, row]) else "infinite"
        raise InvalidInputError(
            f"{short(self.path)}: the value in row {self.row + start + row + 1} of column "
            f"{shortened(self.names[column])} is {what}; remove such rows, fill the values in, or "
            "leave the column out."
        )


def short(path: Path) -> str:
    """Return a path for a message."""
    return shortened_path(str(path))


def arrow_module(name: str) -> Any:
    """Import pyarrow, or a part of it, or say which extra is missing."""
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingExtraError("pyarrow", "large", "Reading files piece by piece") from error
