"""From a file and a choice of columns to predictors and response, whole or piece by piece."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from plsdof._core.display import plural
from plsdof._core.inputs import Array
from plsdof.chemometrics.preprocessing import Chain
from plsdof.errors import InvalidInputError
from plsdof.large.blocks import RowBlocks, take_rows
from plsdof.workbench import choosing, doubts
from plsdof.workbench.analysis.data import Mask, Measured, Rows, TableProblem
from plsdof.workbench.analysis.request import Request
from plsdof.workbench.tables.blocks import FileBlocks, file_blocks
from plsdof.workbench.tables.columns import (
    Labels,
    find_column,
    listed,
    shortened,
    shortened_path,
    suggestion,
)
from plsdof.workbench.tables.joining import JoinedReading, averaged_table, labels_of, measurements
from plsdof.workbench.tables.reading import PARQUET, ZIP, files_in, holds_spectra
from plsdof.workbench.tables.table import Note, Table, blank_notes, located

# So many rows are named where they were dropped.
_MOST_DROPPED = 40

# From a table to what is analysed
# --------------------------------


def read_problems(
    files: Sequence[Path],
    request: Request,
    reading: JoinedReading,
    *,
    streamed: bool = False,
    drawn: bool = False,
    progress: bool = False,
) -> list[TableProblem]:
    """Read a table, or several with the same columns, and take the problems out of it.

    If it is ``streamed``, memory is bounded: one pass over the files for the response and what
    rows are chosen by, and one each for missing values, for steps that learn from rows, and for
    rows that are kept in memory: those to test on, and a sample of those that are ``drawn``.
    """
    _require_response(request)
    if not streamed:
        table = reading.with_response(files, request.response, request.label)
        found = problems_of(table, request, reading)
        return found if len(files) == 1 else [replace(one, files=tuple(files)) for one in found]
    (file,) = files
    _refuse_streamed(file, request, reading, drawn=drawn)
    with located(file):
        return [
            _streamed(file, response, request, reading, drawn, progress)
            for response in request.response
        ]


def _require_response(request: Request) -> None:
    if not request.response:
        raise InvalidInputError("choose the column to predict, the response.")


def problems_of(
    table: Table, request: Request, reading: JoinedReading | None = None
) -> list[TableProblem]:
    """Take the responses, one at a time, and the predictors out of a table.

    ``reading`` says how a table to test on is read.
    """
    _require_response(request)
    reading = reading or JoinedReading()
    with located(table.source):
        targets = [choosing.find_response(table, response) for response in request.response]
        single = table
        if request.average_by is not None:
            _refuse_several_classes(table, request.average_by, targets)
            table = averaged_table(table, request.average_by, targets)
            request = replace(request, label=request.label or request.average_by)
        apart = [find_column(name, table.names) for name in request.apart]
        problems = []
        for target in targets:
            others = [*apart, *(name for name in targets if name != target)]
            names, notes = choosing.predictors(table, target, request, others)
            one = _problem(table, target, names, (*table.notes, *notes), request, reading)
            if request.average_by is not None:
                one = replace(one, measured=_measured(one, single, request.average_by))
            problems.append(one.after(request.steps))
        return problems


def _refuse_several_classes(table: Table, by: str, targets: Sequence[str]) -> None:
    """Refuse means over rows of different classes."""
    for target in filter(table.is_text, targets):
        pairs = set(zip(labels_of(table, by), labels_of(table, target), strict=True))
        if len(pairs) > len({sample for sample, _ in pairs}):
            raise InvalidInputError(
                f"some sample of {shortened(by)} has several classes of {shortened(target)}, which "
                "cannot be averaged."
            )


def _measured(problem: TableProblem, single: Table, by: str) -> Measured:
    """Return the measurements that the rows of a problem are means of."""
    samples = labels_of(single, by)
    order = list(dict.fromkeys(samples.tolist()))
    kept = np.isin(samples, [order[i - 1] for i in problem.rows.numbers.tolist()])
    return Measured(column=by, X=single.numbers(problem.names)[kept], samples=samples[kept])


def _problem(
    table: Table,
    target: str,
    names: tuple[str, ...],
    notes: tuple[Note, ...],
    request: Request,
    reading: JoinedReading,
    pieces: "_Pieces | None" = None,
) -> TableProblem:
    """Choose rows and look at them; of a table in ``pieces`` only the response is in memory."""
    everything, missing, about_holes = _rows_of(table, target, () if pieces else names, request)

    def complete(wanted: Mask) -> Mask:
        used = (target, *everything.X.columns)
        _require_complete(table, missing[wanted], used, request.missing == "drop")
        whole, drop = choosing.without_any(missing), request.missing == "drop"
        return whole & pieces.blocks.complete_rows() if pieces and drop else whole

    chosen = _chosen_rows(table, request, complete, everything)
    written = choosing.numbers_in_text(table, (target,))
    rows = everything.take(chosen.fit)
    tested, note = _test_table(target, names, reading, request, table.source, rows.classes)
    if not rows.classes and np.all(rows.y == rows.y[0]):
        raise InvalidInputError(
            f"{shortened(target)} is {rows.y[0]:g} in all rows; there is nothing to predict."
        )
    used = everything.take(chosen.fit | chosen.test)
    found = list(doubts.suspects(table, used, target, groups=request.groups))
    facts: dict[str, Any] = {"rows": rows, "X": rows.X, "test": tested}
    if pieces:
        facts |= pieces.rows(chosen, everything)
    elif chosen.test.any():
        facts["test"] = everything.take(chosen.test)
    if chosen.test.any():
        source = f"{int(chosen.test.sum())} rows of {Path(table.source).name}"
        facts["test"] = replace(facts["test"], source=source)
    found += [] if pieces else doubts.seen_before(rows, facts["test"])
    return TableProblem(
        **facts,
        y=rows.y,
        replicates=_replicates(table, [target, *names], request.label),
        shape=(len(rows.y), len(names)),
        names=names,
        response=target,
        source=table.source,
        described=f"blocks of {plural(pieces.blocks.step, 'row')}" if pieces else table.described,
        notes=(*notes, *written, *chosen.notes, *about_holes, *note),
        doubts=tuple(found),
        **chosen.facts,
    )


def _rows_of(
    table: Table,
    target: str,
    names: tuple[str, ...],
    request: Request,
    classes: tuple[str, ...] = (),
) -> tuple[Rows, Mask, tuple[str, ...]]:
    """Return all rows, which of their values forbid a row (response first), and what was filled."""
    if classes or table.is_text(target):
        if request.missing == "impute":
            raise InvalidInputError("missing impute is for responses of numbers; leave it out.")
        y, classes = _coded(table, target, classes)
    else:
        y = table.numbers((target,))[:, 0]
    # A row needs some value, and a column, too.
    how = "imputed by components of the other values, learned anew in every fold"
    imputed = how if request.missing == "impute" else ""
    X, holes, notes = choosing.filled(table.numbers(names), names, request.missing, imputed)
    holes |= np.isnan(X).all(axis=0)
    rows = Rows(
        classes=classes,
        X=table.with_names(X, names),
        y=y,
        numbers=table.row_numbers,
        labels=choosing.row_labels(table, request.label),
        source=table.source,
        weights=measurements(table),
    )
    return rows, np.column_stack([np.isnan(y), holes]), notes


def _coded(table: Table, target: str, classes: tuple[str, ...]) -> tuple[Array, tuple[str, ...]]:
    """Return a response of text as positions among its classes, or those that are known already."""
    found = labels_of(table, target).tolist()
    classes = classes or tuple(sorted(set(found) - {""}))
    places: dict[str, float] = {one: place for place, one in enumerate(classes)} | {"": np.nan}
    strange = [one for one in found if one not in places]
    if strange:
        raise InvalidInputError(
            f"{shortened(target)} is {shortened(strange[0])} in a row to test on, which is not one "
            f"of the classes {listed(list(map(shortened, classes)))}."
        )
    return np.array([places[one] for one in found]), classes


def _require_complete(table: Table, missing: Mask, names: tuple[str, ...], drop: bool) -> None:
    """Refuse columns without values, and values that are missing unless they are dropped."""
    gone = [name for i, name in enumerate(names) if missing[:, i].all()]
    if gone and len(missing):
        advice, mend = "leave it out", {"exclude": gone}
        if missing[:, 0].all():
            advice, mend = "choose another response", {}
        if table.described.startswith("Excel"):
            advice += ", or, if there are formulas, open the file in a spreadsheet and save it"
        raise InvalidInputError(
            f"no values at all in {listed(gone, 8, shortened)}; {advice}.", mend=mend
        )
    if missing.any() and not drop:
        raise choosing.missing_values(missing, names, "Drop these rows, leave out columns")


# Which rows are fitted, and which are kept apart to test a model on
# ------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _ChosenRows:
    """Which rows are fitted and which are tested, facts about them, and what to say of them."""

    fit: Mask
    test: Mask
    facts: dict[str, Any]
    notes: list[str]


def _chosen_rows(
    table: Table, request: Request, complete: Callable[[Mask], Mask], everything: Rows
) -> _ChosenRows:
    """Choose rows; ``complete`` says which rows have no missing value, given those wanted."""
    fit, notes = np.ones(len(table), dtype=bool), []
    if request.exclude_rows:
        fit = ~choosing.choose_rows(table, request.exclude_rows, "rows to leave out", request.label)
        notes.append(f"Left out as asked for: {plural(int((~fit).sum()), 'row')}.")
    excluded, wanted = np.flatnonzero(~fit), int(fit.sum())
    fit = fit & complete(fit)
    dropped = wanted - int(fit.sum())
    if fit.sum() < 2:
        raise InvalidInputError(
            f"{plural(int(fit.sum()), 'row')} can be fitted; at least 2 are needed. "
            f"{len(excluded)} are left out as asked for, {dropped} because of missing values: "
            "columns can be left out instead."
        )
    if dropped:
        gone = np.setdiff1d(np.flatnonzero(~fit), excluded).tolist()
        shown = listed([everything.row_name(i) for i in gone], _MOST_DROPPED)
        notes.append(f"{dropped} of {wanted} rows dropped because of missing values: {shown}.")
    groups = None if request.groups is None else _groups(table, request.groups, fit)
    tested = np.zeros_like(fit)
    if request.tests_inside:
        which, note = _chosen_for_test(table, everything.take(fit), groups, request)
        tested[np.flatnonzero(fit)[which]] = True
        fit, groups = fit & ~tested, None if groups is None else groups[~which]
        notes.append(note)
    facts = {
        "groups": groups,
        "grouped_by": request.groups or "",
        "tested_by": (request.split or "as asked for") if request.tests_inside else "",
        "dropped": dropped,
        "excluded": tuple(everything.row_name(int(i)) for i in excluded),
    }
    return _ChosenRows(fit=fit, test=tested, facts=facts, notes=notes)


def _chosen_for_test(
    table: Table, rows: Rows, groups: Labels | None, request: Request
) -> tuple[Mask, str]:
    """Return which of the rows are kept apart, and what to say about them."""
    if request.split is not None:
        which, how = (
            _split(rows, groups, request.split, scale=request.scales),
            f"by {request.split}",
        )
    else:
        chosen = choosing.choose_rows(table, request.test_rows, "test rows")
        which, how = np.isin(rows.numbers, table.row_numbers[chosen]), "as asked for"
    count = int(which.sum())
    if not 0 < count < len(which) - 1:
        raise InvalidInputError(
            f"{count} of {len(which)} rows would be kept apart for the test; at least one must be, "
            "and at least two must stay for the fit."
        )
    kept_apart = f"Kept apart for the test, {how}: {count} of {len(which)} rows."
    if groups is not None and request.test_rows:
        shared = sorted(set(groups[which].tolist()) & set(groups[~which].tolist()))
        if shared:
            kept_apart += (
                f" Groups with rows on both sides: {listed(list(map(shortened, shared)))}."
            )
    return which, kept_apart


def _split(rows: Rows, groups: Labels | None, way: str, *, scale: bool) -> Mask:
    """Split rows, or whole groups; distances are scaled where a fit would scale."""
    from plsdof.chemometrics.samples import parse_split, split_rows

    method, fraction = parse_split(way)
    X = rows.X.to_numpy()
    if not X.shape[1]:  # they are not in memory
        if method not in ("random", "last"):
            raise InvalidInputError(f"split {method} needs the table in memory.", mend=_IN_MEMORY)
        X = np.zeros((len(rows.y), 1))
    return split_rows(X, rows.y, method, fraction, groups=groups, scale=scale)


def _test_table(
    target: str,
    names: tuple[str, ...],
    reading: JoinedReading,
    request: Request,
    source: str,
    classes: tuple[str, ...],
) -> tuple[Rows | None, list[str]]:
    """Read rows to test on from a file, if there is one, and say how many there are."""
    file = request.test
    if file is None:
        return None, []
    if file.suffix != Path(source).suffix:  # where its names are was said of the other kind of file
        reading = replace(reading, sheet=None, header_row=None, skip_rows=0, transpose=False)
    table = reading.table(file)
    with located(table.source):
        found, _ = choosing.match_columns(names, table)
        if target not in table.names and reading.response_file is not None:
            table = reading.with_response([file], [target], None)
        if target not in table.names:
            raise InvalidInputError(
                f"test needs the response {shortened(target)}{suggestion(target, table.names)}"
            )
        rows, missing, notes = _rows_of(table, target, found, replace(request, label=None), classes)
        _require_complete(table, missing, (target, *found), request.missing == "drop")
        rows = rows.take(choosing.without_any(missing))
        if not len(rows.y):
            raise InvalidInputError("all rows have missing values; none is left to test on.")
    rows = replace(rows, X=table.with_names(rows.X.to_numpy(), names), source=str(file))
    return rows, [f"Tested on {plural(len(rows.y), 'row')} of {file.name}.", *notes]


# The response and the predictors among the columns of a table
# ------------------------------------------------------------


def _groups(table: Table, name: str, kept: Mask) -> Labels:
    labels = labels_of(table, find_column(name, table.names))
    empty = table.row_numbers[(labels == "") & kept]
    if len(empty):
        raise InvalidInputError(
            f"{shortened(name)} is empty in row {empty[0]}; every row needs a group."
        )
    return labels[kept]


_FEWEST_SAMPLES = 5


def _replicates(table: Table, used: Sequence[str], label: str | None) -> str | None:
    """Return the column with the most values, among those not used with some value twice.

    A handful of values are kinds of rows, not samples that were measured again and again.
    """
    left = set(table.names) - set(used)
    counts = {
        name: int(table.frame[name].nunique())
        for name in table.names
        if name in left and (name == label or table.is_text(name))
    }
    repeated = [name for name, count in counts.items() if _FEWEST_SAMPLES <= count < len(table)]
    return max(repeated, key=counts.__getitem__, default=None)


# Tables that are read piece by piece: folders, and files too large for memory
# ----------------------------------------------------------------------------

# Files above these sizes, in bytes, are read piece by piece unless told otherwise; and folders,
# which in memory are held twice, above a smaller one.
LARGE_TEXT, LARGE_PARQUET, LARGE_FOLDER = 1_000_000_000, 500_000_000, 100_000_000
_IN_MEMORY = {"in_memory": True}
# Rows that a report draws, and numbers of rows of a test that are held in memory: 1 GB.
_SAMPLE, _MOST_NUMBERS = 1000, 2**27


def is_streamed(file: Path, in_memory: bool | None) -> bool:
    """Whether to read piece by piece: as asked for, else what is large and allows it."""
    if in_memory is not None:
        return not in_memory
    try:
        if file.is_dir():
            files = files_in(file)
            size = sum(one.stat().st_size for one in files)
            return size > LARGE_FOLDER and not holds_spectra(files[0])
        found = file.stat()
        if found.st_size <= min(LARGE_TEXT, LARGE_PARQUET):  # a pipe, too, has no size
            return False
        with file.open("rb") as stream:
            start = stream.read(4)
    except (OSError, ValueError):  # reading it will say what is wrong
        return False
    return start != ZIP and found.st_size > (LARGE_PARQUET if start == PARQUET else LARGE_TEXT)


def _refuse_streamed(file: Path, request: Request, reading: JoinedReading, *, drawn: bool) -> None:
    """Refuse options that need the table in memory, and what cannot be read again."""
    for option, is_wanted in {
        "cv loo": request.cv == "loo",
        "permutations": request.permutations is not None,
        "intervals": request.intervals not in (None, "normal"),
        "covariance": request.covariance != "homoscedastic",
        "select": request.select is not None,
        # The leverage of a row in an average depends on the responses of all rows.
        "report of an average": request.criterion == "average" and drawn,
        "missing": request.missing not in (None, "drop"),
        "average-by": request.average_by is not None,
        "response-file": reading.response_file is not None,
        "response-sheet": reading.response_sheet is not None,
    }.items():
        if is_wanted:
            raise InvalidInputError(
                f"{option!r} needs the table in memory, but {shortened_path(str(file))} is read "
                "piece by piece; leave that out, or read the table into memory if it fits.",
                mend=_IN_MEMORY,
            )
    if file.exists() and not file.is_file() and not file.is_dir():
        raise InvalidInputError(
            f"{shortened_path(str(file))}: it is read more than once, which needs a file or a "
            "folder; read it into memory.",
            mend=_IN_MEMORY,
        )


@dataclass(frozen=True, kw_only=True)
class _Pieces:
    """A table that is read piece by piece, how it is preprocessed, and whether it is drawn."""

    blocks: FileBlocks
    steps: str
    drawn: bool

    def rows(self, chosen: _ChosenRows, everything: Rows) -> dict[str, Any]:
        """Return the chosen rows in pieces, and by one pass a sample and the rows to test on."""
        blocks, p = self.blocks, self.blocks.n_columns
        rows, chain = RowBlocks(blocks, None if chosen.fit.all() else chosen.fit), None
        if self.steps != "none":
            chain = Chain(self.steps).fit_blocks(rows)
            rows = RowBlocks(blocks, rows.keep, chain.transform)
        fitted, count = np.flatnonzero(chosen.fit), int(chosen.test.sum())
        if count * p > _MOST_NUMBERS:
            raise InvalidInputError(
                f"{count:,} rows to test on are kept in memory and take {8e-9 * count * p:.1f} GB; "
                "keep fewer apart, or put them into a file of their own for plsdof predict."
            )
        most = min(_SAMPLE, len(fitted)) if self.drawn else 0
        places = np.sort(np.random.default_rng(0).choice(len(fitted), most, replace=False))
        wanted = chosen.test.copy()
        wanted[fitted[places]] = True
        X = take_rows(RowBlocks(blocks, wanted)) if wanted.any() else np.empty((0, p))
        kept = everything.take(wanted)
        kept = replace(kept, X=kept.X.__class__(X, columns=list(blocks.names), copy=False))
        found = {"rows": kept.take(~chosen.test[wanted]), "X": rows, "places": places}
        found |= {"test": kept.take(chosen.test[wanted])} if count else {}
        return found | {"preprocessing": chain}


def _streamed(
    file: Path,
    response: str,
    request: Request,
    reading: JoinedReading,
    drawn: bool,
    progress: bool,
) -> TableProblem:
    exclude = [*request.exclude, *request.response, *request.apart]
    blocks = file_blocks(
        file,
        response,
        columns=request.features or None,
        exclude=exclude,
        progress=progress,
        reading=reading,
    )
    # What the first rows tell of the columns is so in memory, too.
    others = [find_column(one, blocks.known) for one in (*request.response, *request.apart)]
    blocks.names, guessed = choosing.predictors(blocks.head, blocks.target, request, others)
    # Rows are chosen, and named, by a few columns of the table.
    texts = (*request.test_rows, *request.exclude_rows)
    named = [text.partition("=")[0] for text in texts if "=" in text]
    wanted = [find_column(name, blocks.known) for name in (*named, *request.apart)]
    table = blocks.table(wanted, source=str(file))
    if table.is_text(blocks.target):
        raise InvalidInputError(
            f"{shortened(response)} holds text{table.example(blocks.target)}; classes need the "
            "table in memory.",
            mend=_IN_MEMORY,
        )
    notes = (*blocks.notes, *blank_notes(table.blank), *guessed)
    pieces = _Pieces(blocks=blocks, steps=request.steps, drawn=drawn)
    return _problem(table, blocks.target, blocks.names, notes, request, reading, pieces)
