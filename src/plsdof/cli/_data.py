"""From a file and a choice of columns to predictors and response, whole or piece by piece."""

import os
import shlex
import stat
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from plsdof._core.inputs import Array
from plsdof._core.spectrum import FORMED, Gram
from plsdof.cli._terminal import plural
from plsdof.errors import InvalidInputError
from plsdof.files.blocks import FileBlocks, file_blocks
from plsdof.files.columns import choose_columns, find_column, header_number, shortened, wavelengths
from plsdof.files.tables import Table, files_in, read_folder, read_table, shortened_path
from plsdof.large.sources import source_gram
from plsdof.selection.folds import Fold, make_folds

# From a file and a choice of columns to predictors and response
# --------------------------------------------------------------

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


# Tables that are read piece by piece: folders, and files too large for memory
# ----------------------------------------------------------------------------

# Files above these sizes, in bytes, are read piece by piece unless told otherwise.
LARGE_TEXT, LARGE_PARQUET = 1_000_000_000, 500_000_000


@dataclass(frozen=True, kw_only=True, eq=False)
class StreamedProblem(Problem):
    """A regression problem of which only sums were kept.

    Attributes
    ----------
    gram : Gram
        What its rows come down to.
    """

    gram: Gram

    @property
    def is_read_again(self) -> bool:
        """Whether a fit has to go through the files again."""
        return self.gram.matrix is None or self.gram.side == "samples"

    @property
    def has_intervals(self) -> bool:
        """Whether what standard errors rest on, p x rank numbers, takes bounded memory."""
        n, p = self.shape
        return self.gram.matrix is not None and p * min(n - 1, p) <= FORMED**2

    @property
    def why_no_intervals(self) -> str:
        """Say what is missing, and what to do about it."""
        return (
            f"for {self.shape[1]:,} coefficients they need as much memory as the table; use "
            "--in-memory if it fits."
        )


def is_streamed(file: Path, in_memory: bool | None) -> bool:
    """Whether to read piece by piece: as asked for, else folders and large files that allow it."""
    if in_memory is not None:
        return not in_memory
    try:
        found = file.stat()
        if stat.S_ISDIR(found.st_mode):
            return True
        if found.st_size <= min(LARGE_TEXT, LARGE_PARQUET):  # a pipe, too, has no size
            return False
        with file.open("rb") as stream:
            start = stream.read(4)
    except (OSError, ValueError):  # reading it will say what is wrong
        return False
    is_excel = start == b"PK\x03\x04"
    return not is_excel and found.st_size > (LARGE_PARQUET if start == b"PAR1" else LARGE_TEXT)


def refuse_streamed(file: Path, wanted: Mapping[str, bool]) -> None:
    """Refuse options that need the table in memory."""
    for option, is_wanted in wanted.items():
        if is_wanted:
            raise InvalidInputError(
                f"{option} needs the table in memory, but {shortened_path(str(file))} is read "
                f"piece by piece; leave {option} out, or add --in-memory if the table fits."
            )


def read_streamed(
    file: Path,
    response: str,
    *,
    features: Sequence[str] = (),
    exclude: Sequence[str] = (),
    label: str | None = None,
    scale: bool = True,
    progress: bool = False,
) -> StreamedProblem:
    """Read a file, or the files of a folder, in one pass and bounded memory.

    The column ``label`` is no predictor.
    """
    require_apart(response, features, {"--id": label})
    _require_readable(file)
    try:
        exclude = [*exclude, *([] if label is None else [label])]
        blocks = _opened(file, response, features, exclude)
        blocks.progress = progress
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            gram = source_gram(blocks, scale=scale)
        _require_variation(gram, response)
    except InvalidInputError as error:
        raise InvalidInputError(_located(str(error), file)) from error
    unit = "column" if blocks.axis else "row"
    left_out = [shortened(name) for name in blocks.left_out]
    notes = [f"Left out, not numeric or without a name: {listed(left_out)}."] if left_out else []
    notes += [] if features else also_used(blocks.names)
    return StreamedProblem(
        gram=gram,
        shape=(gram.units.n_rows, len(gram.units.x_mean)),
        names=blocks.names,
        response=response,
        source=os.fspath(file),
        described=f"blocks of {plural(blocks.step, unit)}",
        dropped=0,
        notes=(*notes, *dict.fromkeys(str(one.message) for one in caught)),
    )


def _require_readable(file: Path) -> None:
    if file.is_dir():
        files_in(file)
    elif file.exists() and not file.is_file():
        raise InvalidInputError(
            f"{shortened_path(str(file))}: it is read more than once, which needs a file or a "
            "folder; leave out --streamed."
        )


def _opened(
    file: Path, response: str, features: Sequence[str], exclude: Sequence[str]
) -> FileBlocks:
    blocks = file_blocks(file, response, columns=features or None)
    exclude = [choice for choice in exclude if choice != response]
    if not exclude:
        return blocks
    excluded = set(file_blocks(file, response, columns=exclude).names)
    names = [name for name in blocks.names if name not in excluded]
    if not names:
        raise InvalidInputError("no predictor is left; choose others with --features.")
    chosen = file_blocks(file, response, columns=names)
    chosen.left_out = tuple(name for name in blocks.left_out if name not in excluded)
    return chosen


def _require_variation(gram: Gram, response: str) -> None:
    if gram.total == 0:
        raise InvalidInputError(
            f"{shortened(response)} is {gram.units.y_mean:g} in all rows; there is nothing to "
            "predict."
        )


def _located(message: str, file: Path) -> str:
    """Begin a message with the file, unless it names one."""
    return message if file.name in message else f"{shortened_path(str(file))}: {message}"
