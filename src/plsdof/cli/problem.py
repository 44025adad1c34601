"""From a file and a choice of columns to predictors and response."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from plsdof._validation import Array
from plsdof.columns import choose_columns, find_column, header_number, shortened, wavelengths
from plsdof.errors import InvalidInputError
from plsdof.folders import read_folder
from plsdof.folds import Fold, make_folds
from plsdof.table_content import Table
from plsdof.tables import read_table, shortened_path

Labels = npt.NDArray[np.str_]
Folds = int | Literal["loo"]

LEAVE_ONE_OUT: Final = "loo"
_MOST_LISTED = 8
# Names that are not numbers are remarked if they are a smaller share of all.
_FEW = 0.1


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
    groups : (n,) array of str or None
        Rows with the same label stay together in cross-validation.
    labels : (n,) array of str or None
        What names the rows.
    replicates : str or None
        A column that is no predictor and has repeated values, if there is one.
    """

    X: Any
    y: Array
    groups: Labels | None = None
    labels: Labels | None = None
    replicates: str | None = None

    def n_folds(self, folds: Folds) -> int:
        """Return a number of folds; "loo" leaves out one row, or one group, at a time."""
        if folds != LEAVE_ONE_OUT:
            return int(folds)
        return len(self.y) if self.groups is None else len(set(self.groups.tolist()))

    def split(self, folds: Folds) -> tuple[Fold, ...]:
        """Return the folds of cross-validation."""
        return make_folds(self.X, self.y, self.n_folds(folds), self.groups)

    @property
    def cross_validation_notes(self) -> tuple[str, ...]:
        """Say how to keep rows together that may be replicates."""
        if self.groups is not None or self.replicates is None:
            return ()
        name = shortened(self.replicates)
        return (
            f"{name} has repeated values: if these are replicates, keep them together with "
            f"--groups {name}.",
        )


def read_problem(
    file: str,
    response: str,
    *,
    features: Sequence[str] = (),
    exclude: Sequence[str] = (),
    groups: str | None = None,
    label: str | None = None,
    drop_missing: bool = False,
    sheet: str | None = None,
) -> TableProblem:
    """Read a table and take response and predictors out of it.

    The columns of ``groups`` and ``label`` are no predictors.
    """
    require_apart(response, features, {"--groups": groups, "--id": label})
    table = (read_folder if Path(file).is_dir() else read_table)(file, sheet=sheet)
    target = _response(table, response)
    with located(table):
        apart = [find_column(name, table.names) for name in (groups, label) if name is not None]
        names, notes = _predictors(table, target, features, [*exclude, *apart])
        y = table.numbers((target,))[:, 0]
        X = table.numbers(names)
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
        groups=None if groups is None else _groups(table, groups, np.asarray(~rows)),
        labels=None if (named := row_labels(table, label)) is None else named[~rows],
        replicates=_replicates(table, [target, *names], label),
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
        name = find_column(response, table.names)
    except InvalidInputError as error:
        hint = ""
        if all(header_number(name) is not None for name in table.names):
            hint = " The first line must hold the names of the columns; here it holds numbers."
        raise InvalidInputError(_in(table, f"{error}{hint}")) from error
    if table.is_text(name):
        raise InvalidInputError(
            _in(
                table,
                f"{shortened(name)} holds text, such as {table.example(name)}, which cannot be "
                "predicted; choose a column of numbers with --response.",
            )
        )
    return name


def _groups(table: Table, name: str, kept: npt.NDArray[np.bool_]) -> Labels:
    labels = labels_of(table, name)
    empty = np.flatnonzero((labels == "") & kept)
    if len(empty):
        raise InvalidInputError(
            _in(
                table, f"{shortened(name)} is empty in row {empty[0] + 1}; every row needs a group."
            )
        )
    return labels[kept]


def _replicates(table: Table, used: Sequence[str], label: str | None) -> str | None:
    """Return the column with the most values, among those not used with some value twice."""
    left = set(table.names) - set(used)
    counts = {
        name: int(table.frame[name].nunique())
        for name in table.names
        if name in left and (name == label or table.is_text(name))
    }
    repeated = [name for name, count in counts.items() if 1 < count < len(table)]
    return max(repeated, key=counts.__getitem__, default=None)


def _predictors(
    table: Table, response: str, features: Sequence[str], exclude: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the chosen columns, and what to say about those left out."""
    names = choose_columns(table.names, features, exclude)
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
        raise InvalidInputError("no predictor is left; choose others with --features.")
    return names, notes if features else (*notes, *also_used(names))


def also_used(names: Sequence[str]) -> tuple[str, ...]:
    """Name the few predictors that are no wavelengths where nearly all are.

    Examples
    --------
    >>> also_used([*map(str, range(900, 950)), "Temp"])
    ("Also used as predictors: 'Temp'; leave out with -x Temp.",)
    >>> also_used(["900", "902", "Temp"])
    ()
    """
    others = [name for name in names if header_number(name) is None]
    if not others or len(others) >= _FEW * len(names):
        return ()
    options = " ".join(f"-x {shlex.quote(name)}" for name in others[:_MOST_LISTED])
    shown = listed([shortened(name) for name in others])
    return (f"Also used as predictors: {shown}; leave out with {options}.",)


def require_apart(response: str, features: Sequence[str], others: Mapping[str, str | None]) -> None:
    """Refuse columns that were asked for by name in two places."""
    if response in features:
        raise InvalidInputError(f"{shortened(response)} is the response, not a predictor.")
    for option, name in others.items():
        if name is not None and name in (response, *features):
            role = "the response" if name == response else "a predictor"
            raise InvalidInputError(
                f"{option} {shortened(name)}: the column is {role}; choose another one."
            )


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


def labels_of(table: Table, name: str) -> Labels:
    """Return a column as text that names the rows, empty where a value is missing."""
    column = table.frame[name]
    texts = [
        str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
        for value in column.tolist()
    ]
    return np.where(column.notna().to_numpy(), np.array(texts, dtype=np.str_), "")


def row_labels(table: Table, label: str | None) -> Labels | None:
    """Return what names the rows: the column asked for, else a text that is never repeated."""
    if label is not None:
        return labels_of(table, find_column(label, table.names))
    texts = (name for name in table.names if table.is_text(name))
    name = next((one for one in texts if table.frame[one].nunique() == len(table)), None)
    return None if name is None else labels_of(table, name)


def listed(shown: Sequence[str]) -> str:
    """Return the first entries of a list, and how many more there are."""
    more = f" and {len(shown) - _MOST_LISTED} more" if len(shown) > _MOST_LISTED else ""
    return ", ".join(shown[:_MOST_LISTED]) + more


@contextmanager
def located(table: Table) -> Iterator[None]:
    """Begin the messages of errors with the file of the table."""
    try:
        yield
    except InvalidInputError as error:
        raise InvalidInputError(_in(table, str(error))) from error


def _in(table: Table, message: str) -> str:
    return f"{shortened_path(table.source)}: {message}"
