"""From a file and a choice of columns to predictors and response."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from plsdof._validation import Array
from plsdof.cli.folder import read_folder
from plsdof.columns import choose_columns, find_column, header_number, shortened, wavelengths
from plsdof.errors import InvalidInputError
from plsdof.table_content import Table
from plsdof.tables import read_table, shortened_path

_MOST_LISTED = 8


@dataclass(frozen=True, kw_only=True, eq=False)
class Problem:
    """What is known of a regression problem, however its table is read.

    Attributes
    ----------
    shape : tuple of int
        Numbers of rows and of predictors.
    names : tuple of str
    response, source, described : str
        Name of the response, the file, and how it was read.
    dropped : int
        Number of rows left out because of missing values.
    notes : tuple of str
        What the user should know about the choice of columns and rows.
    """

    shape: tuple[int, int]
    names: tuple[str, ...]
    response: str
    source: str
    described: str
    dropped: int
    notes: tuple[str, ...]

    @property
    def wavelengths(self) -> Array | None:
        """The column names as numbers, if they are numbers."""
        return wavelengths(self.names)


@dataclass(frozen=True, kw_only=True, eq=False)
class TableProblem(Problem):
    """A regression problem whose table is in memory.

    Attributes
    ----------
    X : pandas.DataFrame
        Predictors, without missing values.
    y : (n,) array
    """

    X: Any
    y: Array


def read_problem(
    file: str,
    response: str,
    *,
    features: Sequence[str] = (),
    exclude: Sequence[str] = (),
    drop_missing: bool = False,
    sheet: str | None = None,
) -> TableProblem:
    """Read a table and take response and predictors out of it."""
    table = (read_folder if Path(file).is_dir() else read_table)(file, sheet=sheet)
    target = _response(table, response)
    names, notes = _predictors(table, target, features, exclude)
    y = _numbers(table, (target,))[:, 0]
    X = _numbers(table, names)
    if len(table) < 2:
        raise InvalidInputError(_in(table, "there is only 1 row; a fit needs more."))
    missing = np.column_stack([np.isnan(y), np.isnan(X)])
    rows = missing.any(axis=1)
    if rows.any():
        _require_some_values(table, missing, (target, *names))
        if not drop_missing:
            raise InvalidInputError(_in(table, _missing_values(missing, (target, *names))))
        _require_rows(table, int(rows.sum()))
        X, y = X[~rows], y[~rows]
        notes = (*notes, f"{rows.sum()} of {len(table)} rows dropped because of missing values.")
    if np.all(y == y[0]):
        raise InvalidInputError(
            _in(table, f"{shortened(target)} is {y[0]:g} in all rows; there is nothing to predict.")
        )
    return TableProblem(
        X=table.with_names(X, names),
        y=y,
        shape=(len(y), len(names)),
        names=names,
        response=target,
        source=table.source,
        described=table.described,
        dropped=int(rows.sum()),
        notes=notes,
    )


def _response(table: Table, response: str) -> str:
    try:
        return find_column(response, table.names)
    except InvalidInputError as error:
        hint = ""
        if all(header_number(name) is not None for name in table.names):
            hint = " The first line must hold the names of the columns; here it holds numbers."
        raise InvalidInputError(_in(table, f"{error}{hint}")) from error


def _predictors(
    table: Table, response: str, features: Sequence[str], exclude: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the chosen columns, and what to say about those left out."""
    require_no_response(response, features)
    try:
        names = choose_columns(table.names, features, exclude)
    except InvalidInputError as error:
        raise InvalidInputError(_in(table, str(error))) from error
    names = tuple(name for name in names if name != response)
    notes: tuple[str, ...] = ()
    if table.left_out:
        notes = (f"Left out, without a name: {listed(table.left_out)}.",)
    if not features:
        text = tuple(name for name in names if table.is_text(name))
        names = tuple(name for name in names if name not in text)
        if text:
            shown = [f"{shortened(name)} (such as {table.example(name)})" for name in text]
            notes += (f"Left out, not numeric: {listed(shown)}.",)
    if not names:
        raise InvalidInputError(_in(table, "no predictor is left; choose others with --features."))
    return names, notes


def require_no_response(response: str, features: Sequence[str]) -> None:
    """Refuse the response among the predictors that were asked for by name."""
    if response in features:
        raise InvalidInputError(f"{shortened(response)} is the response, not a predictor.")


def _numbers(table: Table, names: tuple[str, ...]) -> Array:
    try:
        return table.numbers(names)
    except InvalidInputError as error:
        raise InvalidInputError(_in(table, str(error))) from error


def _require_some_values(table: Table, missing: Any, names: tuple[str, ...]) -> None:
    empty = [shortened(name) for name, no in zip(names, missing.all(axis=0), strict=True) if no]
    if empty:
        raise InvalidInputError(
            _in(table, f"no values at all in {listed(empty)}; leave it out with --exclude.")
        )


def _require_rows(table: Table, dropped: int) -> None:
    if len(table) - dropped < 2:
        raise InvalidInputError(
            _in(
                table,
                f"{dropped} of {len(table)} rows have missing values, which leaves too few; use "
                "--exclude to leave out the columns they are in.",
            )
        )


def _missing_values(missing: Any, names: tuple[str, ...]) -> str:
    counts = missing.sum(axis=0)
    order = np.argsort(-counts, kind="stable")
    shown = [f"{shortened(names[i])} {counts[i]}" for i in order if counts[i]]
    return (
        f"{int(missing.any(axis=1).sum())} of {len(missing)} rows have missing values, by column: "
        f"{listed(shown)}. Use --drop-missing to drop these rows, or --exclude to leave out "
        "columns."
    )


def labels_of(table: Table, name: str) -> npt.NDArray[np.str_]:
    """Return a column as text that names the rows, empty where a value is missing."""
    column = table.frame[name]
    texts = [
        str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
        for value in column.tolist()
    ]
    return np.where(column.notna().to_numpy(), np.array(texts, dtype=np.str_), "")


def listed(shown: Sequence[str]) -> str:
    """Return the first entries of a list, and how many more there are."""
    more = f" and {len(shown) - _MOST_LISTED} more" if len(shown) > _MOST_LISTED else ""
    return ", ".join(shown[:_MOST_LISTED]) + more


def _in(table: Table, message: str) -> str:
    return f"{shortened_path(table.source)}: {message}"
