"""Titles, names and units: the first rows of a table, in text and in spreadsheets alike."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from plsdof._core.axes import header_unit
from plsdof.errors import InvalidInputError
from plsdof.workbench.tables.columns import listed, shortened
from plsdof.workbench.tables.numbers import NO_VALUE, Cells, looks_numeric

_MOST_TITLES = 20
_LONGEST_UNIT = 15


@dataclass(frozen=True, kw_only=True)
class HeaderPlace:
    """Which rows of cells hold names and units; what is above them are titles.

    Attributes
    ----------
    header : int
        The row of the names.
    units : int or None
        The row below it, if it holds units.
    """

    header: int
    units: int | None

    @property
    def body(self) -> int:
        """The first row below names and units."""
        return (self.header if self.units is None else self.units) + 1

    def notes(self, numbers: Sequence[int], rows: Cells, word: str) -> tuple[str, ...]:
        """Say what was taken for titles and units, with the numbers of these rows in the file."""
        found = []
        titles = self.header
        if self.header and names_of(rows, self.header) != list(rows[self.header]):
            titles -= 1
            both = f"{word}s {numbers[titles]} and {numbers[self.header]}"
            found.append(f"{both} were taken for names together.")
        for i in range(titles):
            cells = [cell for cell in map(str.strip, rows[i]) if cell]
            if cells:
                shown = shortened(" ".join(cells))
                found.append(f"{word} {numbers[i]} was taken for a title: {shown}.")
        if self.units is not None:
            units = dict.fromkeys(cell.strip() for cell in rows[self.units] if cell.strip())
            shown = listed(list(units), 4, shortened)
            found.append(f"{word} {numbers[self.units]} was taken for units: {shown}.")
        return tuple(found)


def find_header(rows: Cells, *, given: bool = False) -> HeaderPlace:
    """Find names and units in the first rows of a table, which are texts of cells.

    Rows at the top with at most a third as many cells as most rows have are titles, and so are
    groups of columns above the names. The row below the names is one of units if there are numbers
    below it, but none in it.

    Parameters
    ----------
    rows : sequence of sequences of str
        Empty where there is nothing.
    given : bool
        The first row holds the names, whatever it looks like.

    Examples
    --------
    >>> find_header([["Meat"], ["fat", "1100", "1102"], ["1.5", "0.2", "0.3"]])
    HeaderPlace(header=1, units=None)
    >>> find_header([["fat", "1100", "1102"], ["%", "nm", "nm"], ["1.5", "0.2", "0.3"]])
    HeaderPlace(header=0, units=1)
    >>> find_header([["Lab", "", "pH", ""], ["fat", "water", "a", "b"], ["1.5", "50", "6", "7"]])
    HeaderPlace(header=1, units=None)
    """
    counts = [sum(bool(cell.strip()) for cell in row) for row in rows]
    common = Counter(counts).most_common()
    width = max(count for count, often in common if often == common[0][1])
    header = 0
    if not given:
        few, last = max(1, width // 3), min(_MOST_TITLES, len(rows) - 1)
        while header < last and (
            counts[header] <= few < width
            or (counts[header] < width and rows[header][0].startswith("#"))
            or _are_groups(rows, header, counts)
        ):
            header += 1
        header = 0 if header == last else header  # all are short: these are not titles
    below = header + 1
    has_units = below + 1 < len(rows) and _are_units(rows[below], rows[below + 1 :])
    return HeaderPlace(header=header, units=below if has_units else None)


def _are_groups(rows: Cells, i: int, counts: Sequence[int]) -> bool:
    """Whether the row below has more cells, which all differ: names, not units of these ones."""
    below = [cell.strip() for cell in rows[i + 1] if cell.strip()]
    more = 1 < counts[i] < counts[i + 1] == len(set(below))
    return more and _are_units(rows[i + 1], rows[i + 2 :])


def names_of(rows: Cells, header: int) -> list[str]:
    """Return the names in a row; where a cell is empty, that of the row above, if it has one."""
    names = list(rows[header])
    above = rows[header - 1] if header else []
    if sum(bool(cell.strip()) for cell in above) < 2:  # a title, not some of the names
        return names
    return [name if name.strip() or i >= len(above) else above[i] for i, name in enumerate(names)]


def _are_units(row: Sequence[str], below: Cells) -> bool:
    """Whether a row has text, and no number, where rows below have numbers."""
    texts = 0
    for i, cell in enumerate(map(str.strip, row)):
        values = [one[i].strip() for one in below if i < len(one)]
        values = [value for value in values if value.lower() not in NO_VALUE]
        numeric = sum(map(looks_numeric, values))
        if not numeric or numeric < 0.8 * len(values):
            continue
        if looks_numeric(cell):
            return False
        if cell and (cell.lower() in NO_VALUE or len(cell) > _LONGEST_UNIT):
            return False
        texts += bool(cell)
    return texts > 0


def column_names(
    header: Sequence[Any], units: Sequence[str] = ()
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return names with single plain blanks only, and those made up for columns without one.

    Line ends in names, and blanks that do not break a line, cannot be typed in a command. Names
    that are numbers get their unit, so that it is known wherever they are shown.

    Examples
    --------
    >>> column_names(["fat", "1100", ""], ["%", "nm", "nm"])
    (('fat', '1100 nm', 'unnamed 3'), ('unnamed 3',))
    """
    names, unnamed = [], []
    for position, (entry, unit) in enumerate(zip_longest(header, units[: len(header)]), start=1):
        name = " ".join(str(entry).split())
        if name and unit and not header_unit(name) and header_unit(f"{name} {unit.strip()}"):
            name = f"{name} {unit.strip()}"
        if not name:
            name = f"unnamed {position}"
            unnamed.append(name)
        names.append(name)
    counts = Counter(names).items()
    repeated = [f"{shortened(name)} ({count} times)" for name, count in counts if count > 1]
    if repeated:
        raise InvalidInputError(
            f"column names must differ; found {listed(repeated, 3)}. Rename or delete one of them; "
            "if the names are in another line, say which (header row)."
        )
    return tuple(names), tuple(unnamed)
