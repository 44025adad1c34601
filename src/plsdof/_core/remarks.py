"""What is worth knowing about data or a result, in one form for every door.

Code looks at the key of a `Remark`, people read its words, and a program may apply its mend.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Severity = Literal["note", "warning", "severe"]


@dataclass(frozen=True, kw_only=True)
class Remark:
    """Something worth knowing about data or a result.

    Attributes
    ----------
    key : str
        What it is about, such as "empty-model" or "last-model": for code.
    words : str
        One plain sentence: for people.
    severity : {"note", "warning", "severe"}
        Worth knowing; look at it before you rely on the result; do not use the result as it is.
    rows : tuple of int
        Positions of the rows that it is about.
    columns : tuple of int
        Positions of the columns that it is about.
    mend : mapping
        Arguments that would help, such as ``{"cv": "blocks:5"}``; empty if none is known.
    """

    key: str
    words: str
    severity: Severity = "note"
    rows: tuple[int, ...] = ()
    columns: tuple[int, ...] = ()
    mend: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __str__(self) -> str:
        return self.words
