"""One result: what there is to say, once. Every door renders it, and none of them computes.

Fits, classes, predictions, checks, comparisons and transfers fill the same five fields. A number is
rounded here, by its own uncertainty, and nowhere else.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from math import floor, isfinite, log10
from typing import Any

import numpy as np
import numpy.typing as npt

from plsdof._core.display import (
    LARGEST_WRITTEN_OUT,
    as_html,
    data_frame,
    one_line,
    plural,
    significant,
)
from plsdof._core.remarks import Remark
from plsdof.models.writing import plain

# Numbers without an error keep so many digits.
DIGITS = 4
# An error that shows two decimals: Degrees of Freedom, t, shares and percent.
TWO_DECIMALS = 0.1
# Numbers with more decimals have an exponent.
_MOST_DECIMALS = 9


# Rounding
# --------


def in_text(value: Any, error: float | None = None, digits: int = DIGITS) -> str:
    """Write a number with two digits of its error, or some of its own; text as it is.

    Examples
    --------
    >>> in_text(0.61234, 0.0512), in_text(1234.5, 210.0), in_text(-0.0001, 0.05), in_text(0.61234)
    ('0.612', '1234', '0.000', '0.6123')
    >>> in_text(None), in_text(True), in_text(7), in_text("ok")
    ('-', 'yes', '7', 'ok')
    """
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, str | int | np.integer):
        return str(value)
    if value is None or not isfinite(value):
        return "-"
    if error is None or not isfinite(error) or error <= 0 or abs(value) >= LARGEST_WRITTEN_OUT:
        return significant(value, digits)
    decimals = max(0, 1 - floor(log10(error)))
    if decimals > _MOST_DECIMALS:
        own = floor(log10(abs(value))) + 1 if value else 0
        return f"{value:.{min(max(own + decimals, 1), 15)}g}"
    text = f"{value:.{decimals}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def as_measured(values: Any, otherwise: float | None = None) -> float | None:
    """Return the error by which measured values are shown as they are, or another one.

    Examples
    --------
    >>> [in_text(24.5, as_measured(np.array(one))) for one in ([24.5, 21.64], [24.5, 20.0])]
    ['24.50', '24.5']
    """
    known = values[np.isfinite(values)]
    exact = (d for d in range(_MOST_DECIMALS - 3) if np.array_equal(np.round(known, d), known))
    decimals = next(exact, None)
    return otherwise if decimals is None else 10.0 ** (1 - decimals)


def in_number(value: Any, error: float | None = None, digits: int = DIGITS) -> Any:
    """Return a value rounded as `in_text` writes it; None where there is no number.

    Examples
    --------
    >>> in_number(0.61234, 0.0512), in_number(float("nan")), in_number("ok")
    (0.612, None, 'ok')
    """
    if value is None or isinstance(value, str | bool | np.bool_ | int | np.integer):
        return value
    text = in_text(value, error, digits)
    if text == "-":
        return None
    # The largest number of all may be rounded up beyond it.
    return float(text) if isfinite(float(text)) else value


def with_error(value: float, error: float) -> str:
    """Write a number and its error, both with two digits of the error.

    Examples
    --------
    >>> with_error(0.61234, 0.0512), with_error(1234.5, 140.2), with_error(1.38, 1.42)
    ('0.612 ± 0.051', '1234 ± 140', '1.4 ± 1.4')
    >>> with_error(2.5, 0.0), with_error(float("nan"), 1.0)
    ('2.500', '-')
    """
    known = 0 < error < np.inf and np.isfinite(value)
    return in_text(value, error) + (f" ± {in_text(error, error)}" if known else "")


# What there is to say
# --------------------


@dataclass(frozen=True, kw_only=True)
class Fact:
    """A number or a sentence.

    Attributes
    ----------
    value : float, int, bool, str or None
    label : str
        What people call it; without one it is for machines.
    unit : str
    error : float or None
        What it is rounded by.
    words : str
        What people read instead, such as a range.
    """

    value: Any
    label: str = ""
    unit: str = ""
    error: float | None = None
    words: str = ""

    @property
    def text(self) -> str:
        """The value as people read it."""
        unit = "" if self.value is None else self.unit
        return self.words or in_text(self.value, self.error) + unit

    @property
    def with_error(self) -> str:
        """The value and its standard error as people read them."""
        return with_error(self.value, self.error or 0.0)


@dataclass(frozen=True, kw_only=True, eq=False)
class Column:
    """One column of a table.

    Attributes
    ----------
    values : (n,) array
        Numbers or texts; nan or None where there is none.
    label : str
        Its heading; without one it is for machines and spreadsheets.
    unit : str
    error : float, (n,) array or None
        What its numbers are rounded by: two digits of it are shown.
    digits : int
        Of numbers without an error.
    least : float
        Smaller numbers are shown as smaller than this.
    brief : bool
        Whether it belongs to the table on a narrow screen.
    """

    values: Any
    label: str = ""
    unit: str = ""
    error: Any = None
    digits: int = DIGITS
    least: float = 0.0
    brief: bool = True

    def __len__(self) -> int:
        return len(self.values)

    @property
    def heading(self) -> str:
        """Its label, with the unit."""
        return f"{self.label} ({self.unit})" if self.unit else self.label

    @property
    def is_text(self) -> bool:
        """Whether it holds texts."""
        return any(isinstance(one, str) for one in np.asarray(self.values).tolist()[:50])

    def take(self, places: Any) -> "Column":
        """Return some rows."""
        error = np.asarray(self.error)[places] if np.ndim(self.error) else self.error
        return replace(self, values=np.asarray(self.values)[places], error=error)

    def _cells(self, places: Sequence[int] | None) -> list[tuple[Any, Any]]:
        values = np.asarray(self.values)
        error = np.broadcast_to(np.nan if self.error is None else self.error, len(values))
        if places is not None:
            values, error = values[list(places)], error[list(places)]
        return list(zip(values.tolist(), error.tolist(), strict=True))

    def texts(self, places: Sequence[int] | None = None) -> list[str]:
        """Return the cells of some rows, or of all, as people read them."""
        return [
            f"<{self.least:g}"
            if self.least and isinstance(one, float) and one < self.least
            else in_text(one, error, self.digits)
            for one, error in self._cells(places)
        ]

    def rounded(self, most: int | None = None) -> list[Any]:
        """Return the first values as they are shown, None where there is none."""
        places = range(min(len(self), len(self) if most is None else most))
        return [in_number(one, error, self.digits) for one, error in self._cells(places)]

    def exact(self) -> list[Any]:
        """Return the values with all digits, None where there is none."""
        found: list[Any] = np.asarray(self.values).tolist()
        return [None if isinstance(one, float) and one != one else one for one in found]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Table:
    """Columns of equal length.

    Attributes
    ----------
    columns : dict of Column
        By their names in JSON and in workbooks.
    title, caption : str
        What people read above and below it. Without a title it is for machines.
    brief : bool
        Whether it is shown on a narrow screen.
    chosen : int or None
        The row that was chosen.
    mark : str
        What is said of this row.
    short : sequence of int or None
        The rows of a short table, all by default.
    by : str
        The column that names the rows, if they are looked up by name.
    """

    columns: Mapping[str, Column]
    title: str = ""
    caption: str = ""
    chosen: int | None = None
    mark: str = "chosen"
    short: Sequence[int] | None = None
    by: str = ""
    brief: bool = True

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def __repr__(self) -> str:
        return one_line(self, plural(len(self), "row"), columns=list(self.columns))

    def _repr_html_(self) -> str:
        places = range(len(self)) if self.short is None else self.short
        shown = {one.heading: one.texts(places) for one in self.labelled.values()}
        chosen = None if self.chosen is None else list(places).index(self.chosen)
        return as_html(self.title, shown, notes=[self.caption] * bool(self.caption), chosen=chosen)

    def values(self) -> dict[str, Any]:
        """Return the columns as arrays."""
        return {name: one.values for name, one in self.columns.items()}

    @property
    def labelled(self) -> dict[str, Column]:
        """The columns that people look at."""
        return {name: one for name, one in self.columns.items() if one.label}

    def records(self, most: int | None = None) -> Any:
        """Return the rows as dictionaries, a list, or by their names.

        With ``most`` they are at most so many, as people see them: labelled columns, rounded.
        """
        columns = self.columns if most is None else self.labelled
        lists = [one.exact() if most is None else one.rounded(most) for one in columns.values()]
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True)]
        return {row.pop(self.by): row for row in rows} if self.by else rows


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Result:
    """What there is to say about a fit, predictions, a check, a comparison or a transfer.

    Attributes
    ----------
    title : str
    facts : dict of Fact
        Numbers and sentences; a dot in a name begins a part.
    tables : dict of Table
    remarks : tuple of Remark
        What is worth knowing, each with what would mend it.
    pictures : dict of arrays
        Whatever else is drawn, and lists that are not columns.
    record : dict of str
        How it was made.
    main : str
        The table that a file of one table holds.

    Examples
    --------
    >>> found = Result(facts={"rmsep": Fact(value=0.61234, label="RMSEP", error=0.05)})
    >>> found.facts["rmsep"].text, found.to_dict()["rmsep"]
    ('0.612', 0.61234)
    >>> found
    Result('', tables=[], remarks=0)
    """

    title: str = ""
    facts: Mapping[str, Fact] = field(default_factory=dict)
    tables: Mapping[str, Table] = field(default_factory=dict)
    remarks: tuple[Remark, ...] = ()
    pictures: Mapping[str, Any] = field(default_factory=dict)
    record: Mapping[str, str] = field(default_factory=dict)
    main: str = ""

    def __repr__(self) -> str:
        return one_line(self, repr(self.title), tables=list(self.tables), remarks=len(self.remarks))

    def _repr_html_(self) -> str:
        """Return what people look at, for a notebook."""
        said = [f"{label}: {text}" for label, text in self.sentences.items()]
        said += [one.words for one in self.remarks]
        tables = (one._repr_html_() for one in self.titled.values() if one.brief)
        return as_html(self.title, {}, notes=said) + "".join(tables)

    @property
    def main_table(self) -> Table:
        """The table that a file of one table holds."""
        return self.tables[self.main]

    @property
    def titled(self) -> dict[str, Table]:
        """The tables that people look at."""
        return {name: one for name, one in self.tables.items() if one.title}

    @property
    def sentences(self) -> dict[str, str]:
        """What is said in words, by its label."""
        return {
            one.label: one.value
            for one in self.facts.values()
            if one.label and isinstance(one.value, str) and one.value
        }

    @property
    def numbers(self) -> dict[str, Fact]:
        """The numbers that people look at, by their names."""
        return {
            name: one
            for name, one in self.facts.items()
            if one.label and one.value is not None and not isinstance(one.value, str)
        }

    def to_dict(self, most: int | None = None) -> dict[str, Any]:
        """Return everything for machines; with ``most`` what people see, of so many rows."""
        flat: dict[str, Any] = {
            name: one.value if most is None else in_number(one.value, one.error)
            for name, one in self.facts.items()
        }
        flat |= self.pictures if most is None else {}
        tables = self.tables if most is None else self.titled
        flat |= {name: one.records(most) for name, one in tables.items()}
        found: dict[str, Any] = {}
        for name, value in flat.items():
            *parts, last = name.split(".")
            where = found
            for part in parts:
                where = where.setdefault(part, {})
            where[last] = value
        found["recipe"] = {**self.record, **found.get("recipe", {})}
        said = [asdict(one) for one in self.remarks]
        return found | {"remarks": said, "notes": [one.words for one in self.remarks]}

    def sheets(self) -> dict[str, dict[str, Any]]:
        """Return everything as columns by the names of their sheets."""
        found = {name.replace(".", " "): one.values() for name, one in self.tables.items()}
        found["facts"] = _listed(self.facts)
        found["remarks"] = {
            "key": [one.key for one in self.remarks],
            "severity": [one.severity for one in self.remarks],
            "words": [one.words for one in self.remarks],
            "mend": [json.dumps(plain(one.mend)) if one.mend else "" for one in self.remarks],
        }
        found["recipe"] = {"fact": list(self.record), "value": list(self.record.values())}
        return {name: columns for name, columns in found.items() if _size(columns)}

    def frames(self) -> dict[str, Any]:
        """Return everything as data frames by their names."""
        return {name: data_frame(columns) for name, columns in self.sheets().items()}


def _listed(facts: Mapping[str, Fact]) -> dict[str, Any]:
    values = np.array([one.value for one in facts.values()], dtype=object)
    return {"fact": list(facts), "value": values, "label": [one.label for one in facts.values()]}


def _size(columns: Mapping[str, Any]) -> int:
    return max((np.asarray(values).shape[0] for values in columns.values()), default=0)


def named(prefix: str, facts: Mapping[str, Any], **labels: str) -> dict[str, Fact]:
    """Return values as facts with a common beginning of their names.

    Examples
    --------
    >>> named("sigma", {"value": 0.5}, value="Noise")["sigma.value"].label
    'Noise'
    """
    return {
        f"{prefix}.{name}": Fact(value=value, label=labels.get(name, ""))
        for name, value in facts.items()
    }


def as_column(values: Any, label: str = "", **how: Any) -> Column:
    """Return a column of an array."""
    array: npt.NDArray[Any] = np.asarray(values)
    return Column(values=array, label=label, **how)
