"""Which columns and rows of a table are meant, and what is done about missing values."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from plsdof._core.axes import header_number, wavelengths
from plsdof._core.display import plural
from plsdof._core.inputs import Array
from plsdof._core.remarks import Remark
from plsdof.chemometrics.missing import WIDEST_GAP, interpolated
from plsdof.errors import InvalidInputError
from plsdof.workbench.analysis.request import Request
from plsdof.workbench.tables.columns import (
    Labels,
    choose_columns,
    find_column,
    in_order,
    listed,
    shortened,
    suggestion,
)
from plsdof.workbench.tables.joining import labels_of
from plsdof.workbench.tables.table import Note, Table

Mask = npt.NDArray[np.bool_]

# So many columns named by numbers make a spectrum, if others are fewer.
_SPECTRUM = 10


def as_table(table: Any) -> Table:
    """Return a table, which may be a data frame; an index of texts is a column that names rows."""
    if isinstance(table, Table):
        return table
    plain, index = table.set_axis(list(map(str, table.columns)), axis=1), table.index
    name = str(index.name or "index")
    named = index.nlevels == 1 and isinstance(next(iter(index), None), str)
    plain = plain.reset_index(names=name, drop=not named or name in plain.columns)
    names = tuple(plain.columns)
    return Table(source="data frame", frame=plain, names=names, described="data frame")


# Which column is the response, and what names the rows
# -----------------------------------------------------


def find_response(table: Table, response: str) -> str:
    """Return the column of the response, or say where it may be instead."""
    try:
        name = find_column(response, table.names)
    except InvalidInputError as error:
        hint, mend = _elsewhere(table, [response])
        if not hint and all(header_number(one) is not None for one in table.names):
            hint = " The first line must hold the names of the columns; here it holds numbers."
        raise InvalidInputError(f"{error}{hint}", mend=mend) from error
    if table.is_text(name) and 2 * table.frame[name].nunique() > len(table):
        raise InvalidInputError(
            f"{shortened(name)} holds text{table.example(name)}, which cannot be "
            "predicted: most rows have a text of their own. Choose another response."
        )
    return name


def _elsewhere(table: Table, wanted: Sequence[str]) -> tuple[str, dict[str, Any]]:
    """Say where columns that are not names may be, in the first column or a sheet; and the mend."""
    first = table.row_names
    if not first and len(table.names):
        first = tuple(table.frame.iloc[:, 0].map(str).tolist())
    numbers = {header_number(one) for one in first} - {None}
    # A first column without a name that counts, as wavelengths do, was left out.
    as_many = bool(table.left_out) and len(table) == len(wanted) > 1
    if as_many or any(one in first or header_number(one) in numbers for one in wanted):
        return (
            " In the first column: transpose tables that lie on their side, or say which row holds "
            "the names (header row).",
            {"transpose": True},
        )
    if table.sheets:
        shown = listed(list(map(shortened, table.sheets)))
        return f" There are other sheets: {shown}.", {}
    return "", {}


def row_labels(table: Table, label: str | None, *, repeats: bool = False) -> Labels | None:
    """Return what names the rows: the column asked for, else a text that is never repeated.

    With ``repeats``, else a text that names two rows at most, on average.
    """
    if label is not None:
        return labels_of(table, find_column(label, table.names))
    texts = (name for name in table.names if table.is_text(name))
    counts = {name: int(table.frame[name].nunique()) for name in texts}
    name = max(counts, key=counts.__getitem__, default="")
    if counts and (counts[name] == len(table) or (repeats and 2 * counts[name] >= len(table))):
        return labels_of(table, name)
    is_unique = len(table.row_names) == len(set(table.row_names)) == len(table) > 0
    return np.array(table.row_names, dtype=np.str_) if is_unique else None


def choose_rows(table: Table, texts: Sequence[str], option: str, label: str | None = None) -> Mask:
    """Return which rows are meant by numbers and ranges, by values of a column, or by ids.

    Parameters
    ----------
    table : Table
    texts : sequence of str
        Such as "1,5,41:60", rows counted from 1 below the header, both ends included; or
        "set=test,control", all rows with one of these values. What they mean adds up.
    option : str
        For messages.
    label : str, optional
        Column whose values name rows, too, unless they are numbers.
    """
    ids = set() if label is None else set(labels_of(table, find_column(label, table.names)))
    chosen = []
    for text in texts:
        named = text in ids or any(one.strip() in ids for one in text.split(","))
        if named and not re.fullmatch(r"[\d,: ]*", text):
            text = f"{label}={text}"
        choose = _with_values if "=" in text else _numbered
        chosen.append(choose(table, text, f"{option} {text[:40]}"))
    return np.asarray(np.any(chosen, axis=0))


def _with_values(table: Table, text: str, option: str) -> Mask:
    name, _, value = text.partition("=")
    labels = labels_of(table, find_column(name, table.names))
    known = set(labels.tolist())
    # A comma may be part of a value.
    wanted = [value.strip()] if value.strip() in known else [*map(str.strip, value.split(","))]
    absent = [one for one in wanted if one not in known]
    if absent:
        there = listed([shortened(one) for one in dict.fromkeys(labels.tolist())])
        raise InvalidInputError(
            f"{option}: no row has the value {shortened(absent[0])} in {shortened(name)}; there "
            f"are {there}."
        )
    return np.isin(labels, wanted)


def _numbered(table: Table, text: str, option: str) -> Mask:
    last = int(table.row_numbers[-1])
    chosen = np.zeros(last + 1, dtype=bool)
    for part in text.split(","):
        ends = [end.strip() for end in part.split(":")]
        numbers = [int(end) if end.isdecimal() and len(end) < 10 else 0 for end in ends]
        if len(ends) > 2 or min(numbers) < 1 or max(numbers) > last:
            raise InvalidInputError(
                f"{option}: numbers from 1 to {last} are needed, with ranges as in 1,5,41:60, or "
                "COLUMN=VALUE."
            )
        chosen[min(numbers) : max(numbers) + 1] = True
    return chosen[table.row_numbers]


def match_columns(wanted: tuple[str, ...], rows: Table) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Find predictors in a table: by name, else by the number the name stands for."""
    known = set(rows.names)
    absent = [name for name in wanted if name not in known]
    if not absent:
        return wanted, ()
    by_number: dict[float, list[str]] = {}
    for name in rows.names:
        if (value := header_number(name)) is not None:
            by_number.setdefault(value, []).append(name)
    numbers = {name: header_number(name) for name in absent}
    found = {
        name: [] if value is None else by_number.get(value, []) for name, value in numbers.items()
    }
    lost = [name for name, candidates in found.items() if len(candidates) != 1]
    if lost:
        hint, mend = suggestion(lost[0], rows.names), dict[str, Any]()
        axis = [value for value in numbers.values() if value is not None]
        where, way = _elsewhere(rows, wanted)
        if len(lost) == len(wanted) and where:
            hint, mend = f".{where}", way
        elif len(lost) == len(wanted) and axis and len(by_number) > 1:
            hint = (
                f". The model was made for columns from {min(axis):g} to {max(axis):g}; here they "
                f"go from {min(by_number):g} to {max(by_number):g}. Give the same positions in the "
                "same unit, with their names in the first line."
            )
        raise InvalidInputError(
            f"{len(lost)} of {len(wanted)} predictors of the model are not in the table: "
            f"{listed([shortened(name) for name in lost])}{hint}",
            mend=mend,
        )
    names = tuple(found[name][0] if name in found else name for name in wanted)
    return names, (f"{plural(len(absent), 'column')} recognised by the number in the name.",)


# Which columns are the predictors
# --------------------------------


def predictors(
    table: Table, response: str, request: Request, others: Sequence[str]
) -> tuple[tuple[str, ...], tuple[Note, ...]]:
    """Return the chosen columns, and what to say about those left out."""
    names = choose_columns(table.names, request.features, [*request.exclude, *others])
    names = tuple(name for name in names if name != response)
    notes: tuple[Note, ...] = ()
    if table.left_out:
        notes = (f"Left out, without a name: {listed(table.left_out)}.",)
    if not request.features:
        text = tuple(name for name in names if table.is_text(name))
        if text:
            shown = listed([f"{shortened(name)}{table.example(name)}" for name in text])
            notes += (f"Left out, not numeric: {shown}.",)
        names, guessed = only_wavelengths(tuple(name for name in names if name not in text))
        notes += guessed
    if not names:
        raise InvalidInputError(
            f"no predictor is left; choose others. {' '.join(map(str, notes))}".rstrip()
        )
    if names != in_order(names):
        names = in_order(names)
        notes += ("The columns were put in the order of their numbers.",)
    return names, (*notes, *numbers_in_text(table, names))


def numbers_in_text(table: Table, names: Sequence[str]) -> Iterator[str]:
    """Say which columns are read as numbers although more than numbers is written there."""
    for how, found, example in (
        ("Read as numbers without their unit", table.unit, "({})"),
        ("Read without marks between thousands", table.grouped, "(such as {})"),
    ):
        seen = {name: found(name) for name in names}
        shown = listed([f"{shortened(n)} {example.format(one)}" for n, one in seen.items() if one])
        if shown:
            yield f"{how}: {shown}."


def only_wavelengths(names: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[Remark, ...]]:
    """Return the wavelengths if most names are wavelengths, and name what is left out.

    Examples
    --------
    >>> names, (note,) = only_wavelengths((*map(str, range(900, 950)), "Temp"))
    >>> len(names), str(note), note.mend
    (50, "Left out, not wavelengths: 'Temp'.", {'features': ['900:949', 'Temp']})
    >>> only_wavelengths(("900", "902", "Temp"))
    (('900', '902', 'Temp'), ())
    """
    waves = tuple(name for name in names if header_number(name) is not None)
    others = [name for name in names if header_number(name) is None]
    if not others or len(waves) < _SPECTRUM or len(waves) <= len(others):
        return names, _named_otherwise(names)
    shown = listed([shortened(name) for name in others])
    reach = sorted((header_number(name) or 0.0) for name in waves)
    words = f"Left out, not wavelengths: {shown}."
    mend = {"features": [f"{reach[0]:g}:{reach[-1]:g}", others[0]]}
    return waves, (Remark(key="data", words=words, mend=mend),)


def _named_otherwise(names: tuple[str, ...]) -> tuple[Remark, ...]:
    """Name predictors among many that differ by a number only, such as 'fat' among A1100, A1102.

    Examples
    --------
    >>> (note,) = _named_otherwise((*(f"V{i}" for i in range(1, 101)), "fat"))
    >>> str(note), note.mend
    ("Predictors, too, though named unlike 'V1': 'fat'.", {'exclude': ['fat']})
    """
    around = {name: re.sub(r"\d+([.,]\d+)?", "#", name, count=1) for name in names}
    (common, count), *_ = Counter(around.values()).most_common(1) or [("", 0)]
    others = [name for name in names if around[name] != common and header_number(name) is None]
    if "#" not in common or count < _SPECTRUM or not 0 < len(others) < count:
        return ()
    first = next(name for name in names if around[name] == common)
    shown = listed([shortened(name) for name in others])
    words = f"Predictors, too, though named unlike {shortened(first)}: {shown}."
    return (Remark(key="data", words=words, mend={"exclude": others}),)


# Missing values
# --------------


def filled(
    X: Array, names: Sequence[str], missing: str | None, imputed: str = ""
) -> tuple[Array, Mask, tuple[str, ...]]:
    """Fill holes as a request says; return the rows, the holes that stay, and what was filled.

    ``imputed`` says how a model imputes holes, if it does: those of a row that has some value.
    """
    notes: tuple[str, ...] = ()
    if missing is not None and missing.startswith("interpolate"):
        X, notes = _interpolated(X, names, missing)
    holes = np.isnan(X)
    if imputed:
        empty = holes.all(axis=1, keepdims=True)
        notes += _filled_in_words(holes & ~empty, imputed)
        holes = holes & empty
    return X, holes, notes


def _interpolated(X: Array, names: Sequence[str], text: str) -> tuple[Array, tuple[str, ...]]:
    """Fill holes along the wavelengths as a request says, and count what was filled."""
    axis = wavelengths(names)
    if axis is None:
        raise InvalidInputError(
            "missing interpolate goes along wavelengths, and the columns are not named by rising "
            "or falling numbers; use impute or drop."
        )
    widest = int(text.partition(":")[2] or WIDEST_GAP)
    found = interpolated(X, axis, widest)
    what = f"interpolated along the wavelengths, over gaps of at most {plural(widest, 'point')}"
    return found, _filled_in_words(np.isnan(X) & ~np.isnan(found), what)


def _filled_in_words(filled: Mask, how: str) -> tuple[str, ...]:
    """Say how many values were filled, in how many rows, and what that means."""
    count, rows = int(filled.sum()), int(filled.any(axis=1).sum())
    if not count:
        return ()
    return (
        f"Filled: {plural(count, 'missing value')} ({count / filled.size:.2%}) in {rows} of "
        f"{plural(len(filled), 'row')}, {how}. Standard errors and intervals take them for "
        "measured.",
    )


def without_any(missing: Mask) -> Mask:
    """Return which rows have no missing value."""
    return np.asarray(~missing.any(axis=1))


def missing_values(missing: Mask, names: Sequence[str], advice: str) -> InvalidInputError:
    """Return the error that says how many rows have missing values, where, and what to do."""
    counts = missing.sum(axis=0)
    order = np.argsort(-counts, kind="stable")
    shown = listed([f"{shortened(names[i])} {counts[i]}" for i in order if counts[i]])
    rows = f"{int(missing.any(axis=1).sum())} of {len(missing)} rows"
    return InvalidInputError(
        f"{rows} have missing values, by column: {shown}. {advice}, or fill the values in: "
        "interpolate along wavelengths, or impute.",
        mend={"missing": "drop"},
    )
