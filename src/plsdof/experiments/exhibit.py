"""What an experiment hands over: a table, a picture, a text and checks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from plsdof.experiments.checks import Check


@dataclass(frozen=True, kw_only=True, eq=False)
class Exhibit:
    """One table or figure of the paper, reproduced.

    Attributes
    ----------
    name : str
        "table1", "fig1", ...
    title, caption : str
        What it shows; the caption says where stand-ins were used.
    columns, rows : sequences
        Tidy table: one observation per row.
    checks : tuple of Check
        What the paper says about it.
    draw : callable or None
        Makes a matplotlib figure; None for a table.
    table : str
        Name of the CSV file, ``name`` unless given.
    """

    name: str
    title: str
    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    checks: tuple[Check, ...]
    draw: Callable[[], Any] | None = None
    table: str = ""

    @property
    def table_name(self) -> str:
        """Name of the CSV file."""
        return f"{self.table or self.name}.csv"
