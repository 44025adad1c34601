"""From a file and a choice of columns to predictors and response, whole or piece by piece."""

import os
import re
import shlex
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from plsdof._core.inputs import Array, as_fraction
from plsdof._core.spectrum import Gram
from plsdof.analysis.data import Numbers, Rows, StreamedProblem, TableProblem, changed_rows
from plsdof.cli._tables import (
    Mask,
    Reading,
    choose_rows,
    find_response,
    first_alike,
    in_file,
    listed,
    located,
    match_columns,
    repeated_rows,
    row_labels,
    same_sample,
    suspects,
)
from plsdof.cli._terminal import plural
from plsdof.errors import InvalidInputError
from plsdof.files.blocks import FileBlocks, file_blocks
from plsdof.files.columns import (
    Labels,
    choose_columns,
    find_column,
    header_number,
    in_order,
    labels_of,
    shortened,
    shortened_path,
    suggestion,
    wavelengths,
)
from plsdof.files.tables import PARQUET, ZIP, Table, files_in
from plsdof.files.text import require_pandas
from plsdof.large.blocks import Blocks, RowBlocks, take_rows
from plsdof.large.sources import source_gram

if TYPE_CHECKING:  # needs scikit-learn, which takes a second to import
    from plsdof.chemometrics.preprocessing import Preprocessor

# From a file and a choice of columns to predictors and response
# --------------------------------------------------------------

# A school's grades, or a panel's scores from 1 to 9: more values are as good as measured.
_MOST_GRADES = 10
# So many columns named by numbers make a spectrum, if others are fewer.
_SPECTRUM = 10


@dataclass(frozen=True, kw_only=True)
class Held:
    """Which rows are kept apart to test a model on: at most one of these.

    Attributes
    ----------
    file : Path or None
        A table of its own.
    rows : sequence of str or None
        Numbers and ranges such as 1,5,41:60, or COLUMN=VALUE; see `choose_rows`.
    fraction : float or None
        A share of the rows, drawn at random (by scikit-learn, with ``random_state=0``).
    """

    file: Path | None = None
    rows: Sequence[str] | None = None
    fraction: float | None = None

    def __post_init__(self) -> None:
        """Refuse contradictions before a table is read."""
        given = [
            f"--test{suffix}"
            for suffix, value in (
                ("", self.file),
                ("-rows", self.rows),
                ("-fraction", self.fraction),
            )
            if value is not None
        ]
        if len(given) > 1:
            raise InvalidInputError(f"{' and '.join(given)} exclude each other; give one of them.")
        if self.fraction is not None:
            as_fraction(self.fraction, "--test-fraction")

    def __bool__(self) -> bool:
        return any(one is not None for one in (self.file, self.rows, self.fraction))


def read_problem(file: str, response: str, **options: Any) -> TableProblem:
    """Read a table and take one response and its predictors out of it; see `read_problems`."""
    return read_problems(file, [response], **options)[0]


def read_problems(
    file: str,
    responses: Sequence[str],
    *,
    features: Sequence[str] = (),
    exclude: Sequence[str] = (),
    groups: str | None = None,
    label: str | None = None,
    drop_missing: bool = False,
    exclude_rows: Sequence[str] | None = None,
    reading: Reading | None = None,
    held: Held | None = None,
) -> list[TableProblem]:
    """Read a table and take the responses, one at a time, and the predictors out of it.

    The columns of the other responses, of ``groups`` and of ``label`` are not predictors.
    """
    held, reading = held or Held(), reading or Reading()
    for response in responses:
        require_apart(response, features, {"--groups": groups, "--id": label})
    table = reading.with_response(file, responses, label)
    targets = [find_response(table, response, reading) for response in responses]
    return [
        _problem(
            table,
            target,
            targets,
            features=features,
            exclude=exclude,
            groups=groups,
            label=label,
            drop_missing=drop_missing,
            exclude_rows=exclude_rows,
            reading=reading,
            held=held,
        )
        for target in targets
    ]


def _problem(
    table: Table,
    target: str,
    targets: Sequence[str],
    *,
    features: Sequence[str],
    exclude: Sequence[str],
    groups: str | None,
    label: str | None,
    drop_missing: bool,
    exclude_rows: Sequence[str] | None,
    reading: Reading,
    held: Held,
) -> TableProblem:
    others = [name for name in targets if name != target]
    with located(table):
        apart = [find_column(name, table.names) for name in (groups, label) if name is not None]
        names, notes = _predictors(table, target, features, [*exclude, *apart, *others])
    notes = (*table.notes, *notes)
    if len(table) < 2:
        raise InvalidInputError(in_file(table, "there is only 1 row; a fit needs more."))
    wanted = np.ones(len(table), dtype=bool)
    excluded: tuple[str, ...] = ()
    if exclude_rows:
        wanted = ~choose_rows(table, exclude_rows, "--exclude-rows")
        excluded = _names_of(table, label, ~wanted)
        notes = (*notes, f"Left out as asked for: {plural(int((~wanted).sum()), 'row')}.")
    rows, kept = _complete_rows(table, target, names, label, wanted, drop_missing=drop_missing)
    dropped = int(wanted.sum() - kept.sum())
    if dropped:
        notes = (*notes, _dropped(dropped, int(wanted.sum())))
    notes += _few_values(rows.y, target)
    notes += suspects(table, rows.X.to_numpy(), rows.y, names, target, kept)
    known = None if groups is None else _groups(table, groups, kept)
    if known is None:
        notes += repeated_rows(rows.X.to_numpy(), rows.y, rows.numbers)
        notes += same_sample(rows.y, target)
    test = None
    if held:
        fit, test, note = _held_out(table, rows, known, held, target, names, reading, drop_missing)
        rows = _taken(rows, fit)
        notes = (*notes, note, *_seen_before(rows, test))
        known = None if known is None else known[fit]
    if np.all(rows.y == rows.y[0]):
        raise InvalidInputError(
            in_file(
                table,
                f"{shortened(target)} is {rows.y[0]:g} in all rows; there is nothing to predict.",
            )
        )
    return TableProblem(
        rows=rows,
        X=rows.X,
        test=test,
        groups=known,
        grouped_by=groups or "",
        excluded=excluded,
        replicates=_replicates(table, [target, *names], label),
        shape=(len(rows.y), len(names)),
        names=names,
        response=target,
        source=table.source,
        described=table.described,
        dropped=dropped,
        notes=notes,
    )


def _names_of(table: Table, label: str | None, which: Mask) -> tuple[str, ...]:
    """Return numbers and names of rows."""
    labels, places = row_labels(table, label), np.flatnonzero(which)
    names = [""] * len(places) if labels is None else labels[places].tolist()
    return tuple(
        f"{table.row_numbers[i]} ({shortened(name)})" if name else str(table.row_numbers[i])
        for i, name in zip(places, names, strict=True)
    )


def _few_values(y: Array, response: str) -> tuple[str, ...]:
    """Say that a response is a class or a grade: two values, or few whole numbers, each often."""
    values = np.unique(y)
    is_whole = len(values) <= _MOST_GRADES and bool(np.all(values % 1 == 0))
    if not (1 < len(values) <= (_MOST_GRADES if is_whole else 2) and len(y) >= 4 * len(values)):
        return ()
    shown = ", ".join(f"{one:g}" for one in values)
    return (
        f"{shortened(response)} has only {len(values)} values ({shown}): if they are classes or "
        "grades, predictions are scores between them, and noise level and intervals, which are "
        "for measured responses, do not hold.",
    )


def _dropped(count: int, wanted: int) -> str:
    return f"{count} of {wanted} rows dropped because of missing values."


def _complete_rows(
    table: Table,
    target: str,
    names: tuple[str, ...],
    label: str | None,
    wanted: Mask,
    *,
    drop_missing: bool,
    fewest: int = 2,
) -> tuple[Rows, Mask]:
    """Return the wanted rows without missing values, and which ones these are."""
    with located(table):
        y = table.numbers((target,))[:, 0]
        X = table.numbers(names)
    missing = np.column_stack([np.isnan(y), np.isnan(X)])
    kept: Mask = np.logical_not(missing.any(axis=1)) & wanted
    missing = missing[wanted]
    if missing.any():
        _require_some_values(table, missing, target, names)
        if not drop_missing:
            raise InvalidInputError(in_file(table, _missing_values(missing, (target, *names))))
    if kept.sum() < fewest:
        raise InvalidInputError(
            in_file(
                table,
                f"{len(table) - int(kept.sum())} of {len(table)} rows have missing values, or are "
                "left out, which leaves too few; use --exclude to leave out the columns with "
                "missing values.",
            )
        )
    labels = row_labels(table, label)
    everything = Rows(
        X=table.with_names(X, names),
        y=y,
        numbers=table.row_numbers,
        labels=labels,
        source=table.source,
    )
    return (everything if kept.all() else _taken(everything, kept)), kept


def _taken(rows: Rows, which: Mask) -> Rows:
    labels = None if rows.labels is None else rows.labels[which]
    X = rows.X[which].reset_index(drop=True)
    return replace(rows, X=X, y=rows.y[which], numbers=rows.numbers[which], labels=labels)


# Rows that are kept apart to test a model on
# -------------------------------------------


def _held_out(
    table: Table,
    rows: Rows,
    groups: Labels | None,
    held: Held,
    target: str,
    names: tuple[str, ...],
    reading: Reading,
    drop_missing: bool,
) -> tuple[Mask, Rows, str]:
    """Return which rows to fit, the rows to test on, and what to say about them."""
    if held.file is not None:
        test = _test_table(held.file, target, names, reading, drop_missing)
        return (
            np.ones(len(rows.y), dtype=bool),
            test,
            _tested_on(test, held.file),
        )
    which, kept_apart = _chosen_for_test(table, rows.numbers, groups, held)
    source = f"{int(which.sum())} rows of {Path(rows.source).name}"
    return ~which, replace(_taken(rows, which), source=source), kept_apart


def _seen_before(rows: Rows, test: Rows) -> tuple[str, ...]:
    """Say how many rows of the test are rows of the calibration, too."""
    X = np.vstack([rows.X.to_numpy(), test.X.to_numpy()])
    first = first_alike(X, np.concatenate([rows.y, test.y]))
    count = int(np.count_nonzero(first[len(rows.y) :] < len(rows.y)))
    if not count:
        return ()
    return (
        f"Also in the calibration: {count} of {plural(len(test.y), 'test row')}, so that the test "
        "looks too good.",
    )


def _tested_on(test: Rows, file: Path) -> str:
    return f"Tested on {plural(len(test.y), 'row')} of {file.name}."


def _chosen_for_test(
    table: Table, numbers: Numbers, groups: Labels | None, held: Held
) -> tuple[Mask, str]:
    """Return which of the numbered rows are kept apart, and what to say about them."""
    if held.fraction is not None:
        which = _drawn(len(numbers), groups, held.fraction)
        how = f"drawn at random ({held.fraction:.0%}, random_state=0)"
    else:
        assert held.rows is not None
        chosen = choose_rows(table, held.rows, "--test-rows")
        which, how = np.isin(numbers, table.row_numbers[chosen]), "as asked for"
    count = int(which.sum())
    if not 0 < count < len(which) - 1:
        raise InvalidInputError(
            in_file(
                table,
                f"{count} of {len(which)} rows would be kept apart for the test; at least one must "
                "be, and at least two must stay for the fit.",
            )
        )
    kept_apart = f"Kept apart for the test, {how}: {count} of {len(which)} rows."
    if groups is not None and held.rows is not None:
        shared = sorted(set(groups[which].tolist()) & set(groups[~which].tolist()))
        if shared:
            kept_apart += (
                f" Groups with rows on both sides: {listed(list(map(shortened, shared)))}."
            )
    return which, kept_apart


def _drawn(n: int, groups: Labels | None, fraction: float) -> Mask:
    """Draw rows, or whole groups, at random."""
    from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit

    make = ShuffleSplit if groups is None else GroupShuffleSplit
    try:
        split = make(1, test_size=fraction, random_state=0).split(np.empty(n), None, groups)
        _, drawn = next(split)
    except ValueError as error:
        raise InvalidInputError(
            f"--test-fraction {fraction:g} of {n} rows leaves too few to fit or to test."
        ) from error
    which = np.zeros(n, dtype=bool)
    which[drawn] = True
    return which


def _test_table(
    file: Path, target: str, names: tuple[str, ...], reading: Reading, drop_missing: bool
) -> Rows:
    reading, table, found = _read_for_test(file, names, reading)
    if target not in table.names and reading.response_file is not None:
        table = reading.with_response(file, [target], None)
    with located(table):
        if target not in table.names:
            raise InvalidInputError(
                f"--test needs the response {shortened(target)}{suggestion(target, table.names)}"
            )
    everything = np.ones(len(table), dtype=bool)
    rows, _ = _complete_rows(
        table, target, found, None, everything, drop_missing=drop_missing, fewest=1
    )
    return replace(rows, X=table.with_names(rows.X.to_numpy(), names), source=str(file))


def _read_for_test(
    file: Path, names: tuple[str, ...], reading: Reading
) -> tuple[Reading, Table, tuple[str, ...]]:
    """Read another table with these columns: as asked for, or, if that fails, as it is found."""
    found = replace(reading, sheet=None, header_row=None, skip_rows=0, transpose=False)
    errors = []
    for one in (reading, found):
        try:
            table = one.table(file)
            with located(table):
                return one, table, match_columns(names, table)[0]
        except InvalidInputError as error:
            errors.append(error)
    raise errors[0]


# The response and the predictors among the columns of a table
# ------------------------------------------------------------


def _groups(table: Table, name: str, kept: npt.NDArray[np.bool_]) -> Labels:
    labels = labels_of(table, name)
    empty = table.row_numbers[(labels == "") & kept]
    if len(empty):
        raise InvalidInputError(
            in_file(
                table, f"{shortened(name)} is empty in row {empty[0]}; every row needs a group."
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
        if text and not names:
            raise InvalidInputError(
                f"no predictor is left; no column but the response is numeric: {listed(shown)}."
            )
        names, others = only_wavelengths(names)
        notes += others
    if not names:
        raise InvalidInputError("no predictor is left; choose others with --features.")
    if names != in_order(names):
        names = in_order(names)
        notes += ("The columns were put in the order of their numbers.",)
    units = {name: table.unit(name) for name in (response, *names)}
    written = [f"{shortened(name)} ({unit})" for name, unit in units.items() if unit]
    if written:
        notes += (f"Read as numbers without their unit: {listed(written)}.",)
    return names, notes


def only_wavelengths(names: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the wavelengths if most names are wavelengths, and name what is left out.

    Examples
    --------
    >>> names, notes = only_wavelengths((*map(str, range(900, 950)), "Temp"))
    >>> len(names), notes
    (50, ("Left out, not wavelengths: 'Temp'. To use one, add -f 900:949 -f Temp.",))
    >>> only_wavelengths(("900", "902", "Temp"))
    (('900', '902', 'Temp'), ())
    """
    waves = tuple(name for name in names if header_number(name) is not None)
    others = [name for name in names if header_number(name) is None]
    if not others or len(waves) < _SPECTRUM or len(waves) <= len(others):
        return names, _named_otherwise(names)
    shown = listed([shortened(name) for name in others])
    reach = sorted((header_number(name) or 0.0) for name in waves)
    option = f"-f {reach[0]:g}:{reach[-1]:g} -f {shlex.quote(others[0])}"
    return waves, (f"Left out, not wavelengths: {shown}. To use one, add {option}.",)


def _named_otherwise(names: tuple[str, ...]) -> tuple[str, ...]:
    """Name predictors among many that differ by a number only, such as 'fat' among A1100, A1102.

    Examples
    --------
    >>> _named_otherwise((*(f"V{i}" for i in range(1, 101)), "fat"))[0]
    "Predictors, too, though named unlike 'V1': 'fat'. If they are not, add --exclude fat."
    """
    around = {name: re.sub(r"\d+([.,]\d+)?", "#", name, count=1) for name in names}
    (common, count), *_ = Counter(around.values()).most_common(1) or [("", 0)]
    others = [name for name in names if around[name] != common and header_number(name) is None]
    if "#" not in common or count < _SPECTRUM or not 0 < len(others) < count:
        return ()
    first = next(name for name in names if around[name] == common)
    option = " ".join(f"--exclude {shlex.quote(name)}" for name in others[:3])
    shown = listed([shortened(name) for name in others])
    return (
        f"Predictors, too, though named unlike {shortened(first)}: {shown}. If they are not, add "
        f"{option}.",
    )


def require_apart(response: str, features: Sequence[str], others: Mapping[str, str | None]) -> None:
    """Refuse columns that were asked for by name in two places."""
    if response in features:
        raise InvalidInputError(f"{shortened(response)} is the response, not a predictor.")
    for option, name in others.items():
        # Rows with the same response may be those of the same sample.
        if name == response and option == "--groups":
            continue
        if name is not None and name in (response, *features):
            role = "the response" if name == response else "a predictor"
            raise InvalidInputError(
                f"{option} {shortened(name)}: the column is {role}; choose another one."
            )


def _require_some_values(table: Table, missing: Mask, target: str, names: Sequence[str]) -> None:
    gone: Mask = np.asarray(missing.all(axis=0))
    if not gone.any():
        return
    empty = [shortened(name) for name, no in zip((target, *names), gone, strict=True) if no]
    advice = "choose another response" if gone[0] else "leave it out with --exclude"
    if table.described.startswith("Excel"):
        advice += ", or, if there are formulas, open the file in a spreadsheet and save it"
    raise InvalidInputError(in_file(table, f"no values at all in {listed(empty)}; {advice}."))


def _missing_values(missing: Any, names: tuple[str, ...]) -> str:
    counts = missing.sum(axis=0)
    order = np.argsort(-counts, kind="stable")
    shown = [f"{shortened(names[i])} {counts[i]}" for i in order if counts[i]]
    return (
        f"{int(missing.any(axis=1).sum())} of {len(missing)} rows have missing values, by column: "
        f"{listed(shown)}. Use --drop-missing to drop these rows, or --exclude to leave out "
        "columns."
    )


# Tables that are read piece by piece: folders, and files too large for memory
# ----------------------------------------------------------------------------

# Files above these sizes, in bytes, are read piece by piece unless told otherwise; and folders,
# which in memory are held twice, above a smaller one.
LARGE_TEXT, LARGE_PARQUET, LARGE_FOLDER = 1_000_000_000, 500_000_000, 100_000_000


# Rows that a report draws, and numbers of rows of a test that are held in memory: 1 GB.
_SAMPLE, _MOST_NUMBERS = 1000, 2**27


def is_streamed(file: Path, in_memory: bool | None) -> bool:
    """Whether to read piece by piece: as asked for, else what is large and allows it."""
    if in_memory is not None:
        return not in_memory
    try:
        if file.is_dir():
            return sum(one.stat().st_size for one in files_in(file)) > LARGE_FOLDER
        found = file.stat()
        if found.st_size <= min(LARGE_TEXT, LARGE_PARQUET):  # a pipe, too, has no size
            return False
        with file.open("rb") as stream:
            start = stream.read(4)
    except (OSError, ValueError):  # reading it will say what is wrong
        return False
    return start != ZIP and found.st_size > (LARGE_PARQUET if start == PARQUET else LARGE_TEXT)


def refuse_streamed(file: Path, wanted: Mapping[str, bool]) -> None:
    """Refuse options that need the table in memory."""
    for option, is_wanted in wanted.items():
        if is_wanted:
            raise InvalidInputError(
                f"{option} needs the table in memory, but {shortened_path(str(file))} is read "
                f"piece by piece; leave {option} out, or add --in-memory if the table fits."
            )


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What is asked of a table that is read piece by piece, besides a fit.

    Attributes
    ----------
    steps : str
        Preprocessing.
    held : Held
        Rows to test on.
    groups : str or None
    exclude_rows : sequence of str or None
        As for `choose_rows`.
    drop_missing : bool
        Leave out rows with missing values.
    sample : bool
        Some rows, for pictures.
    """

    steps: str = "none"
    held: Held = Held()
    groups: str | None = None
    exclude_rows: Sequence[str] | None = None
    drop_missing: bool = False
    sample: bool = False

    @property
    def columns(self) -> list[str]:
        """Columns that say something about rows."""
        texts = [*(self.held.rows or ()), *(self.exclude_rows or ())]
        named = [text.partition("=")[0] for text in texts if "=" in text]
        return named if self.groups is None else [*named, self.groups]

    @property
    def before(self) -> bool:
        """Whether something about all rows has to be known before they are fitted."""
        chosen = bool(self.exclude_rows) or self.drop_missing
        return bool(self.columns) or bool(self.held) or chosen


def read_streamed(
    file: Path,
    response: str,
    *,
    features: Sequence[str] = (),
    exclude: Sequence[str] = (),
    label: str | None = None,
    scale: bool | None = None,
    asked: Asked | None = None,
    progress: bool = False,
) -> StreamedProblem:
    """Read a file, or the files of a folder, in bounded memory.

    The columns ``label`` and ``asked.groups`` are not predictors. One pass, and one more each for
    what rows are to be chosen by (of a few columns), for missing values, for steps that learn
    from rows, and for rows that are kept in memory.
    """
    asked = asked or Asked()
    require_apart(response, features, {"--id": label, "--groups": asked.groups})
    _require_readable(file)
    try:
        apart = [name for name in (label, asked.groups) if name is not None]
        blocks, others = _opened(file, response, features, [*exclude, *apart])
        blocks.progress = progress
        if asked.steps != "none" and blocks.names != in_order(blocks.names):
            raise InvalidInputError(
                "the columns are not in the order of their numbers, as --preprocess needs them; "
                "put them in order, or add --in-memory."
            )
        if scale is None:
            scale = wavelengths(blocks.names) is None
        chosen = _choose_rows_of(file, blocks, label, asked)
        rows = RowBlocks(blocks, chosen.fit)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            chain = _learned(asked.steps, rows)
            changed = changed_rows(rows, chain)
            gram = source_gram(changed, scale=scale)
        _require_variation(gram, response)
        y = gram.units.y_mean + gram.response
        if isinstance(changed, RowBlocks):
            assert changed.y is not None
            y = rows.y = changed.y
        test, sample, places = _kept_rows(file, blocks, chosen, asked)
    except InvalidInputError as error:
        raise InvalidInputError(_located(str(error), file)) from error
    left_out = [shortened(name) for name in blocks.left_out]
    notes = [f"Left out, not numeric or without a name: {listed(left_out)}."] if left_out else []
    notes += [*blocks.notes, *others, *chosen.notes, *_few_values(y, response)]
    notes += same_sample(y, response) if asked.groups is None else ()
    if asked.held.file is not None:
        test = _test_table(
            asked.held.file, response, blocks.names, Reading(), drop_missing=asked.drop_missing
        )
        notes.append(_tested_on(test, asked.held.file))
    return StreamedProblem(
        gram=gram,
        blocks=rows,
        y=y,
        test=test,
        sample=sample,
        places=places,
        groups=chosen.groups,
        grouped_by=asked.groups or "",
        excluded=chosen.excluded,
        preprocessing=chain,
        shape=(gram.units.n_rows, len(gram.units.x_mean)),
        names=blocks.names,
        response=response,
        source=os.fspath(file),
        described=f"blocks of {plural(blocks.step, 'row')}",
        dropped=chosen.dropped,
        notes=(*notes, *dict.fromkeys(str(one.message) for one in caught)),
    )


@dataclass(frozen=True, kw_only=True)
class _ChosenRows:
    """Which rows are fitted and tested (None: all, none), their names, and what to say of them."""

    fit: Mask | None = None
    test: Mask | None = None
    labels: Labels | None = None
    groups: Labels | None = None
    dropped: int = 0
    excluded: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def _choose_rows_of(file: Path, blocks: FileBlocks, label: str | None, asked: Asked) -> _ChosenRows:
    """Choose rows by a few columns of the table, as of a table in memory."""
    if not asked.before and (label is None or not asked.sample):
        return _ChosenRows()
    named = [find_column(name, blocks.known) for name in asked.columns]
    named += [] if label is None else [find_column(label, blocks.known)]
    table = blocks.table(named, source=str(file))
    fit, notes = np.ones(len(table), dtype=bool), []
    excluded: tuple[str, ...] = ()
    if asked.exclude_rows:
        fit = ~choose_rows(table, asked.exclude_rows, "--exclude-rows")
        excluded = _names_of(table, label, ~fit)
        notes.append(f"Left out as asked for: {plural(int((~fit).sum()), 'row')}.")
    wanted = int(fit.sum())
    if asked.drop_missing:
        fit = fit & blocks.complete_rows()
    dropped = wanted - int(fit.sum())
    if dropped:
        notes.append(_dropped(dropped, wanted))
        if wanted - dropped < 2:
            raise InvalidInputError("too few rows are left; leave out columns with --exclude.")
    groups = None if asked.groups is None else _groups(table, asked.groups, fit)
    test = None
    if asked.held and asked.held.file is None:
        numbers = np.flatnonzero(fit) + 1
        which, note = _chosen_for_test(table, numbers, groups, asked.held)
        test = np.zeros_like(fit)
        test[numbers[which] - 1] = True
        fit, groups = fit & ~test, None if groups is None else groups[~which]
        notes.append(note)
    labels = None if label is None else labels_of(table, find_column(label, table.names))
    return _ChosenRows(
        fit=fit,
        test=test,
        labels=labels,
        groups=groups,
        dropped=dropped,
        excluded=excluded,
        notes=tuple(notes),
    )


def _learned(steps: str, rows: Blocks) -> "Preprocessor | None":
    if steps == "none":
        return None
    # It needs scikit-learn, which takes a second to import.
    from plsdof.chemometrics.preprocessing import Preprocessor

    return Preprocessor(steps).fit_blocks(rows)


def _kept_rows(
    file: Path, blocks: FileBlocks, chosen: _ChosenRows, asked: Asked
) -> tuple[Rows | None, Rows | None, Numbers | None]:
    """Return the rows to test on and a sample of the others, by one pass; and which these are."""
    if chosen.test is None and not asked.sample:
        return None, None, None
    total = blocks.n_rows or 0
    tested = np.zeros(total, dtype=bool) if chosen.test is None else chosen.test
    fitted = np.arange(total) if chosen.fit is None else np.flatnonzero(chosen.fit)
    drawn = np.zeros(0, dtype=np.intp)
    if asked.sample:
        draw = np.random.default_rng(0).choice
        drawn = np.sort(draw(len(fitted), min(_SAMPLE, len(fitted)), replace=False))
    count, p = int(tested.sum()), blocks.n_columns
    if count * p > _MOST_NUMBERS:
        raise InvalidInputError(
            f"{count:,} rows to test on are kept in memory and take {8e-9 * count * p:.1f} GB; "
            "keep fewer apart, or put them into a file of their own for plsdof predict."
        )
    wanted = tested.copy()
    wanted[fitted[drawn]] = True
    kept = RowBlocks(blocks, wanted)
    X, numbers = take_rows(kept), np.flatnonzero(wanted) + 1
    assert kept.y is not None
    labels = None if chosen.labels is None else chosen.labels[wanted]
    frame = require_pandas().DataFrame(X, columns=list(blocks.names), copy=False)
    everything = Rows(X=frame, y=kept.y, numbers=numbers, labels=labels, source=str(file))
    is_test = tested[wanted]
    test, sample = (_taken(everything, which) for which in (is_test, ~is_test))
    test = replace(test, source=f"{count} rows of {file.name}")
    return (
        None if chosen.test is None else test,
        sample if asked.sample else None,
        drawn if asked.sample else None,
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
    file: Path,
    response: str,
    features: Sequence[str],
    exclude: Sequence[str],
) -> tuple[FileBlocks, tuple[str, ...]]:
    """Open the chosen columns, and name those left out because they are not wavelengths."""
    blocks = file_blocks(file, response, columns=features or None, exclude=exclude)
    names, notes = (blocks.names, ()) if features else only_wavelengths(blocks.names)
    if names != blocks.names:
        left_out = blocks.left_out
        blocks = file_blocks(file, response, columns=names)
        blocks.left_out = left_out
    return blocks, notes


def _require_variation(gram: Gram, response: str) -> None:
    if gram.total == 0:
        raise InvalidInputError(
            f"{shortened(response)} is {gram.units.y_mean:g} in all rows; there is nothing to "
            "predict."
        )


def _located(message: str, file: Path) -> str:
    """Begin a message with the file, unless it names one."""
    return message if file.name in message else f"{shortened_path(str(file))}: {message}"
