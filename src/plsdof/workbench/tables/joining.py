"""Tables made of tables: responses joined by the labels of rows, means of samples.

Each is a function from tables to a table, with a note of what was done.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from plsdof._core.axes import header_number
from plsdof._core.display import plural
from plsdof._core.inputs import Array
from plsdof._core.threads import cached_property
from plsdof.chemometrics.samples import averaged
from plsdof.errors import InvalidInputError
from plsdof.workbench.tables.columns import Labels, find_column, listed, shortened, shortened_path
from plsdof.workbench.tables.reading import Reading
from plsdof.workbench.tables.table import Table, located, stacked

# How to read a table with the responses beside it
# ------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class JoinedReading(Reading):
    """How tables are to be read whose responses may be in another file or sheet.

    Attributes
    ----------
    response_file : Path or None
        Table with the response, joined by the values of the column that names the rows.
    response_sheet : str or None
        Its sheet; of the table itself without another file.
    by_row_order : bool
        Its rows are in the order of those of the table.
    ids_alike : bool
        Names of rows that differ by blanks or signs only are the same.
    """

    response_file: Path | None = None
    response_sheet: str | None = None
    by_row_order: bool = False
    ids_alike: bool = False

    def __post_init__(self) -> None:
        """Refuse what cannot be meant, before a table is read."""
        super().__post_init__()
        if self.by_row_order and self.response_file is None and self.response_sheet is None:
            raise InvalidInputError(
                "by_row_order needs the file or the sheet that holds the response."
            )

    def with_response(
        self, files: Sequence[Path], responses: Sequence[str], label: str | None
    ) -> Table:
        """Read a table, with the responses from another file or sheet if asked for."""
        table = self.table(files[0])
        if len(files) > 1:
            others = [self.table(one) for one in files[1:]]
            table = stacked([table, *others], " and ".join(map(str, files)))
        if self.response_file is None and self.response_sheet is None:
            return table
        how = Reading(sheet=self.response_sheet, na=self.na)
        other = how.table(self.response_file or files[0], one_column=self.by_row_order)
        with located(other.source):
            names = [find_column(name, other.names) for name in responses]
        return join_responses(
            table,
            other,
            names,
            label=label,
            by_row_order=self.by_row_order,
            ids_alike=self.ids_alike,
        )


# Responses from another table, joined row by row as the labels of the rows say
# ------------------------------------------------------------------------------


def labels_of(table: Table, name: str) -> Labels:
    """Return a column as text that names the rows, empty where a value is missing."""
    if name in table.left_out:  # it has no name
        return np.array(table.row_names)
    column = table.frame[name]
    texts = [
        str(int(value)) if isinstance(value, float) and value.is_integer() else str(value).strip()
        for value in column.tolist()
    ]
    return np.where(column.notna().to_numpy(), np.array(texts, dtype=np.str_), "")


def join_responses(
    table: Table,
    other: Table,
    responses: Sequence[str],
    *,
    label: str | None = None,
    by_row_order: bool = False,
    ids_alike: bool = False,
) -> Table:
    r"""Add columns of another table to the rows that they belong to.

    Two columns name the rows if they hold the same values, text or whole numbers, whatever they
    are called; a value may be in many rows here, but in one row there. Neither upper case nor
    zeros in front of a number matter. Nothing is ever joined by the order of the rows unless that
    is asked for.

    Parameters
    ----------
    table, other : Table
    responses : sequence of str
        Columns of ``other``.
    label : str, optional
        Column of ``table`` that names the rows; found by its values by default.
    by_row_order : bool
        The first row belongs to the first row, and so on.
    ids_alike : bool
        Names that differ by blanks or signs only, such as T-05 and T05, are the same.

    Raises
    ------
    InvalidInputError
        No columns name the rows, several do and contradict each other, or one has repeats.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from plsdof.workbench.tables.reading import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     spectra, lab = Path(folder) / "x.csv", Path(folder) / "y.csv"
    ...     _ = spectra.write_text("no,1100\n7,0.1\n8,0.2\n8,0.3\n")
    ...     _ = lab.write_text("Sample,fat\n8,20.5\n7,10.5\n")
    ...     joined = join_responses(read_table(spectra), read_table(lab), ["fat"])
    >>> joined.numbers(("fat",))[:, 0].tolist()
    [10.5, 20.5, 20.5]
    """
    where = shortened_path(other.source)
    if by_row_order:
        _require_order(table, other, responses, label)
        places = np.arange(len(table))
        note = f"Joined with {where} by the order of the rows, as asked for."
    else:
        match = _match(table, other, responses, label, ids_alike)
        places, note = match.places, f"Joined with {where} by {match.described}"
        if ids_alike and (shown := _misspelled(match.ids.tolist(), match.known.tolist())):
            note += f", taken for the same: {listed(shown, 5)}"
        lost = list(dict.fromkeys(match.ids[places < 0].tolist()))
        extra = match.known[np.isin(match.known_keys, match.keys, invert=True)].tolist()
        if lost:
            if shown := _misspelled(lost, extra):
                raise _spell_alike(match, shown, where)
            rows = plural(int(np.count_nonzero(places < 0)), "row")
            note += f"; {rows} not found there: {listed(lost, 5, shortened)}"
        note += f"; only there: {listed(extra, 5, shortened)}." if extra else "."
    known_rows = other.frame[list(responses)].reset_index(drop=True)
    found = known_rows.reindex(places).reset_index(drop=True)  # no row is at place -1
    known = {name.casefold() for name in responses}
    kept = [name for name in table.names if name.casefold() not in known]
    return replace(
        table,
        frame=table.frame[kept].join(found),
        names=(*kept, *responses),
        notes=(*table.notes, *other.notes, note),
        percent={name: table.percent[name] for name in kept if name in table.percent}
        | {name: other.percent[name] for name in responses if name in other.percent},
    )


def _require_order(table: Table, other: Table, responses: Sequence[str], label: str | None) -> None:
    """Refuse tables whose rows cannot be in the same order."""
    here, where = shortened_path(table.source), shortened_path(other.source)
    if len(table) != len(other):
        raise InvalidInputError(
            f"{here} has {len(table)} rows and {where} has {len(other)}; by their order they "
            "cannot be joined."
        )
    try:
        match = _match(table, other, responses, label)
    except InvalidInputError:
        return  # no ids, which is what the order of rows is for
    moved = np.flatnonzero(match.places != np.arange(len(table)))
    if len(moved) and np.all(match.places >= 0):
        ours, theirs = (shortened(str(ids[moved[0]])) for ids in (match.ids, match.known))
        raise InvalidInputError(
            f"{where}: {match.described} names the same rows in another order: row {moved[0] + 1} "
            f"is {ours} in {here} and {theirs} there. Join the rows by it."
        )


def _misspelled(ours: Sequence[str], theirs: Sequence[str]) -> list[str]:
    """Return in words which ids differ from one there by blanks or signs only."""
    bare = {_bare(one): one for one in theirs}
    pairs = {one: bare.get(_bare(one), "") for one in ours if one}
    return [
        f"{shortened(one)} here is {shortened(two)} there"
        for one, two in pairs.items()
        if two and one.casefold() != two.casefold()
    ]


def _spell_alike(match: "_Match", shown: Sequence[str], where: str) -> InvalidInputError:
    return InvalidInputError(
        f"{where}: some values of {match.described} differ by blanks or signs only: "
        f"{listed(shown, 5)}. Spell them alike in both tables, or take them for the same.",
        mend={"ids_alike": True},
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class _Match:
    """A column of one table and one of another, which may name the same rows.

    Attributes
    ----------
    ours, theirs : str
        What they are called.
    ids, known : (n,) and (m,) arrays of str
        What they hold.
    are_numbers : bool
        Whether the values here are numbers, which may be equal by chance.
    alike : bool
        Whether blanks and signs do not matter.
    """

    ours: str
    theirs: str
    ids: Labels
    known: Labels
    are_numbers: bool
    alike: bool = False

    @cached_property
    def keys(self) -> list[str]:
        """The values here, spelled alike."""
        return _spelled_alike(self.ids, self.alike)

    @cached_property
    def known_keys(self) -> list[str]:
        """The values there, spelled alike."""
        return _spelled_alike(self.known, self.alike)

    @cached_property
    def places(self) -> npt.NDArray[np.intp]:
        """Which row there belongs to each row here; -1 where there is none."""
        order = {key: i for i, key in enumerate(self.known_keys) if key}
        return np.array([order.get(key, -1) for key in self.keys], dtype=np.intp)

    @property
    def repeated(self) -> list[str]:
        """Values that are there more than once."""
        counts = Counter(self.known_keys)
        return [key for key, count in counts.items() if key and count > 1]

    @property
    def same_name(self) -> bool:
        """Whether the columns have one name."""
        return self.ours.casefold() == self.theirs.casefold()

    @property
    def rank(self) -> tuple[bool, int]:
        """How likely it is that they name the rows: one name; rows here that have one there."""
        return self.same_name, int(np.count_nonzero(self.places >= 0))

    @property
    def holds_ids(self) -> bool:
        """Whether the values are those of ids: so many are the same that it is not by chance."""
        here, there = set(self.keys) - {""}, set(self.known_keys) - {""}
        common = len(here & there)
        if 2 * len(there) <= np.count_nonzero(self.known != ""):  # batches, say
            return False
        if self.same_name:
            return common > 0
        if self.are_numbers and len(here) < len(self.keys):
            return here == there
        return 2 * common > min(len(here), len(there))

    @property
    def described(self) -> str:
        """What the columns are called, in words."""
        there = "" if self.ours == self.theirs else f" ({shortened(self.theirs)} there)"
        return shortened(self.ours) + there


def _match(
    table: Table, other: Table, responses: Sequence[str], label: str | None, alike: bool = False
) -> _Match:
    """Return the columns that name the rows, or say why there are none."""
    if label is not None:
        find_column(label, table.names)
    ours = {
        one: labels_of(table, one) for one in (_candidates(table) if label is None else [label])
    }
    pairs = [
        _Match(
            ours=one,
            theirs=name,
            ids=ids,
            known=known,
            are_numbers=one in table.numeric,
            alike=alike,
        )
        for name, known in ((name, labels_of(other, name)) for name in _candidates(other))
        for one, ids in ours.items()
        if name not in responses
    ]
    if label is not None and label in other.names:
        pairs = [pair for pair in pairs if pair.theirs == label]
    likely = [pair for pair in pairs if pair.holds_ids]
    clear = [pair for pair in likely if not pair.repeated]
    # Columns of one name come first; then those by which more rows are found.
    rank = max((pair.rank for pair in clear), default=(False, 0))
    best = [pair for pair in clear if pair.rank == rank]
    unclear = [pair for pair in likely if pair.repeated and pair.rank >= rank]
    if not best or (unclear and not rank[0]):
        raise _why_none(table, other, pairs, unclear)
    for pair in best[1:]:
        if not np.array_equal(pair.places, best[0].places):
            raise InvalidInputError(
                f"{shortened_path(other.source)}: rows may be named by {best[0].described} or by "
                f"{pair.described}, which do not agree; say which column of "
                f"{shortened_path(table.source)} names them."
            )
    return best[0]


def _why_none(
    table: Table, other: Table, pairs: Sequence[_Match], unclear: Sequence[_Match]
) -> InvalidInputError:
    here, where = shortened_path(table.source), shortened_path(other.source)
    for pair in pairs:
        ids = list(dict.fromkeys(pair.ids.tolist()))
        shown = [] if pair.are_numbers else _misspelled(ids, pair.known.tolist())
        if 2 * len(shown) > len(ids):
            return _spell_alike(pair, shown, where)
    if unclear:
        pair = max(unclear, key=lambda one: one.rank)
        twice = [pair.known[pair.known_keys.index(key)] for key in pair.repeated]
        return InvalidInputError(
            f"{where}: {shortened(pair.theirs)} has {listed(twice, 5, shortened)} more than once, "
            "so that it is not clear which response belongs to it; keep one row for each."
        )
    same = [pair for pair in pairs if pair.same_name and pair.known.any() and pair.ids.any()]
    if same:
        pair = same[0]
        first = [next(one for one in texts.tolist() if one) for texts in (pair.known, pair.ids)]
        return InvalidInputError(
            f"{where}: no value of {shortened(pair.theirs)} is also in {here}; there is "
            f"{shortened(first[0])} there and {shortened(first[1])} here."
        )
    advice, alike = "add a column that names the rows to both", len(table) == len(other)
    if alike:
        advice += ", or, if the rows are in the same order, join them by it"
    return InvalidInputError(
        f"{where}: no column holds the names of the rows of {here} ({len(other)} rows there, "
        f"{len(table)} here); {advice}.",
        mend={"by_row_order": True} if alike else {},
    )


def _candidates(table: Table) -> list[str]:
    """Return the columns that may hold ids: texts and whole numbers, but for wavelengths."""
    unnamed = list(table.left_out[:1]) if table.row_names else []
    return unnamed + [
        name
        for name in table.names
        if name not in table.numeric
        or (header_number(name) is None and table.frame[name].dropna().mod(1).eq(0).all())
    ]


def _bare(label: str) -> str:
    """Return a label without blanks and signs."""
    return re.sub(r"[\W_]+", "", label).casefold()


def _spelled_alike(labels: Labels, alike: bool) -> list[str]:
    """Return labels that differ only if they do so by more than upper case or leading zeros."""
    folded = (_bare(str(one)) if alike else str(one).casefold() for one in labels.tolist())
    return [one.lstrip("0") or "0" if one.isdecimal() else one for one in folded]


# Means of samples
# ----------------


def averaged_table(table: Table, by: str, known: Sequence[str] = ()) -> Table:
    """Return means over rows with the same value in a column; texts are those of the first row.

    Missing values make a mean missing, but for columns that are ``known`` to be of the sample,
    such as a response that is given once. Rows are then samples, counted from 1.
    """
    samples = labels_of(table, find_column(by, table.names))
    empty = table.row_numbers[samples == ""]
    if len(empty):
        raise InvalidInputError(
            f"{shortened(by)} is empty in row {empty[0]}; to be averaged, every row needs a sample."
        )
    names, first = np.unique(samples, return_index=True)
    order = np.sort(first)
    frame = table.frame.iloc[order].reset_index(drop=True).copy()
    texts = {by}
    for name in table.names:
        values, wrong = table.readable(name)
        if name == by or table.is_text(name) or wrong:
            texts.add(name)
        else:
            frame[name] = averaged(values, samples, known=name in known)
    counts = np.array([np.count_nonzero(samples == samples[i]) for i in order])
    frame[by] = samples[order]
    each = f"{counts.min()} to {counts.max()}" if np.ptp(counts) else str(counts[0])
    note = (
        f"Averaged by {shortened(by)}: {len(table)} rows became {len(names)} samples ({each} each)."
    )
    return replace(
        table,
        frame=frame,
        declared_text=frozenset(texts),
        row_names=(),
        blank=(),
        notes=(*table.notes, note),
        counts=tuple(counts.tolist()),
    )


def measurements(table: Table) -> Array | None:
    """Return how many measurements rows are means of, over their mean; None if all are alike."""
    counts = np.array(table.counts, dtype=np.float64)
    return counts / counts.mean() if len(set(table.counts)) > 1 else None
