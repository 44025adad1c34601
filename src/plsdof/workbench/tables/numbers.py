"""Numbers as people write them: decimal marks, thousands, units, signs, and what is missing."""

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from plsdof._core.inputs import Array

Cells = Sequence[Sequence[str]]

NO_VALUE = {"", "na", "n/a", "nan", "null", "none", "#n/a"}
NUMBER = {
    mark: re.compile(rf"[+-]?(\d+([{mark}]\d*)?|[{mark}]\d+)([eE][+-]?\d+)?") for mark in ".,"
}
_INFINITY = re.compile(r"[+-]?inf(inity)?", re.IGNORECASE)
# 1,234 is more than a thousand, or a bit more than one.
UNCLEAR, WHOLE = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}"), re.compile(r"[+-]?\d{1,3}")
# What spreadsheets write where a formula fails.
FAILED_FORMULAS = ("#DIV/0!", "#N/A", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!")
# Blanks that do not break a line, and thin ones, are blanks; a minus sign is a hyphen.
_SIGNS = str.maketrans({"\u00a0": " ", "\u202f": " ", "\u2009": " ", "\u2212": "-"})
_GROUPED = re.compile(r"([+-]?\d{1,3})((?:[ ']\d{3})+)([.,]\d+)?")
# Only what is known for a unit: 12 A may be the name of a sample.
_SINGLE_UNIT = (
    r"(?:%|‰|ppm|ppb|[kcmµμn]?g|[mµμ]?[lL]|dl|hl|[mµμn]?mol|[mµμ]?M|nm|[µμ]m|[cm]m|cm-1|kg|°C?|°Brix|"
    r"°Bx|Brix|K|AU|a\.u\.|h|min|s|[kM]?Pa|bar|[kM]?J|kcal|[mkM]?V|wt ?%|vol ?%|(?:w/w|v/v|m/m))"
)
_WITH_UNIT = re.compile(
    rf"(?P<number>[+-]?[\d.,][\d.,' ]*(?:[eE][+-]?\d+)?) ?"
    rf"(?P<unit>{_SINGLE_UNIT}(?: ?[/·] ?(?:\d+ ?)?{_SINGLE_UNIT})*)"
)


def tidy(text: str) -> str:
    r"""Return a text with plain blanks and signs, without blanks around it and in a number.

    Examples
    --------
    >>> tidy("\u00a0\u22121\u202f234,5 "), tidy("a b")
    ('-1234,5', 'a b')
    """
    plain = text.translate(_SIGNS).strip()
    found = _GROUPED.fullmatch(plain)
    if found is None:
        return plain
    return found[1] + re.sub("[ ']", "", found[2]) + (found[3] or "")


def without_unit(text: str) -> tuple[str, str]:
    """Split a tidy text into a number and its unit, if it is known to be one.

    Examples
    --------
    >>> without_unit("12.5 %"), without_unit("3 g/100g"), without_unit("12 A")
    (('12.5', '%'), ('3', 'g/100g'), ('12 A', ''))
    """
    found = _WITH_UNIT.fullmatch(text)
    return (text, "") if found is None else (tidy(found["number"]), found["unit"])


def as_number(text: str, decimal: str) -> float:
    """Return the number that a tidy text stands for, nan if it is none."""
    if NUMBER[decimal].fullmatch(text) or _INFINITY.fullmatch(text):
        return float(text.replace(",", "."))
    return math.nan


def looks_numeric(cell: str, marks: str = ".,") -> bool:
    """Whether a text is a number, by one of the decimal marks, with or without a unit."""
    if any(NUMBER[mark].fullmatch(cell) for mark in marks):
        return True
    number, _ = without_unit(tidy(cell))
    return not all(math.isnan(as_number(number, mark)) for mark in marks)


def as_numbers(values: Sequence[Any], decimal: str) -> tuple[Array, str]:
    """Return values as numbers, nan where they are none, and the unit that all numbers have.

    Marks between thousands are left out where it is certain that they are that.

    Examples
    --------
    >>> as_numbers(["1,5", 2.5, True, "3 %", "2024-01-01"], ",")
    (array([1.5, 2.5, 1. , 3. , nan]), '%')
    """
    known = [isinstance(one, float | bool | np.number) for one in values]
    found = np.array([float(one) if k else math.nan for one, k in zip(values, known, strict=True)])
    texts = [tidy(str(one)) for one, k in zip(values, known, strict=True) if not k]
    split = [without_unit(text) for text in without_thousands(texts, decimal) or texts]
    units = {unit for _, unit in split if unit}
    found[~np.array(known, dtype=bool)] = [
        math.nan if unit and len(units) > 1 else as_number(number, decimal)
        for number, unit in split
    ]
    return found, units.pop() if len(units) == 1 else ""


def without_thousands(texts: Sequence[str], decimal: str) -> list[str] | None:
    """Return the numbers of a column without the marks between their thousands.

    None unless it is certain that the mark which is not the decimal one stands there: it is always
    followed by three digits, and some number has it twice, or the decimal mark after it.

    Examples
    --------
    >>> without_thousands(["16,004.81", "950.2", "1,234"], ".")
    ['16004.81', '950.2', '1234']
    >>> without_thousands(["1.234.567"], ",")
    ['1234567']
    >>> without_thousands(["1,234", "999"], "."), without_thousands(["16,4.81"], ".")
    (None, None)
    """
    other = "," if decimal == "." else "."
    marked = [text for text in texts if other in text]
    pattern = re.compile(rf"[+-]?[1-9]\d{{0,2}}(?:[{other}]\d{{3}})+(?:[{decimal}]\d*)?")
    if not marked or not all(map(pattern.fullmatch, marked)):
        return None
    if not any(text.count(other) > 1 or decimal in text for text in marked):
        return None
    return [text.replace(other, "") for text in texts]


def other_mark(value: str, decimal: str) -> str:
    """Say what to do about a number with the mark that is not the decimal one; "" for others.

    Examples
    --------
    >>> other_mark("1.234,5", ",")
    "The file is read with decimal commas: write all decimals so, and thousands without '.'."
    >>> other_mark("12 mg", ",")
    ''
    """
    other, word = (".", "comma") if decimal == "," else (",", "point")
    if other not in value or not re.fullmatch(r"[+-]?[\d.,]*\d[\d.,]*", value.strip()):
        return ""
    return (
        f"The file is read with decimal {word}s: write all decimals so, and thousands without "
        f"{other!r}."
    )


def decimal_mark(body: Cells, *, certain: bool = False) -> str:
    """Return the mark by which more cells are numbers: a point, or, to be certain, a clear comma.

    Examples
    --------
    >>> decimal_mark([["12,73", "7"]], certain=True), decimal_mark([["1,234", "7"]], certain=True)
    (',', '.')
    """
    cells = (cell.strip() for row in body for cell in row if "," in cell)
    clear = (NUMBER[","].fullmatch(one) and not UNCLEAR.fullmatch(one) for one in cells)
    if certain and not any(clear):
        return "."
    shares = {mark: numeric_share(body, mark) for mark in ".,"}
    return max(shares, key=lambda mark: shares[mark])


def numeric_share(body: Cells, mark: str) -> float:
    """Return which share of the cells that hold something are numbers, by a decimal mark."""
    cells = [cell.strip() for row in body for cell in row]
    cells = [cell for cell in cells if cell.lower() not in NO_VALUE]
    numeric = sum(looks_numeric(cell, mark) for cell in cells)
    return numeric / max(1, len(cells))
