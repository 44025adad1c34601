"""Responses from another table, joined row by row as the ids of the rows say."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from plsdof._core.display import plural
from plsdof._core.work import cached_property
from plsdof.errors import InvalidInputError
from plsdof.files.columns import find_column, header_number, shortened
from plsdof.files.tables import Table, shortened_path
from plsdof.files.text import require_pandas

Labels = npt.NDArray[np.str_]

# Names that a message lists; the count of the others says enough.
_LISTED = 5


def labels_of(table: Table, name: str) -> Labels:
    """Return a column as text that names the rows, empty where a value is missing."""
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

    Raises
    ------
    InvalidInputError
        No columns name the rows, several do and contradict each other, or one has repeats.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from plsdof.files.tables import read_table
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
        if len(table) != len(other):
            raise InvalidInputError(
                f"{shortened_path(table.source)} has {len(table)} rows and {where} has "
                f"{len(other)}; by their order they cannot be joined."
            )
        places = np.arange(len(table))
        note = f"Joined with {where} by the order of the rows, as asked for."
    else:
        match = _match(table, other, responses, label)
        places, note = match.places, f"Joined with {where} by {match.described}"
        lost = list(dict.fromkeys(match.ids[places < 0].tolist()))
        extra = match.known[np.isin(match.known_keys, match.keys, invert=True)].tolist()
        if lost:
            rows = plural(int(np.count_nonzero(places < 0)), "row")
            note += f"; {rows} not found there: {_named(lost)}"
        note += f"; only there: {_named(extra)}." if extra else "."
    found = other.frame[list(responses)].iloc[np.where(places < 0, 0, places)]
    found = found.reset_index(drop=True).where((places >= 0)[:, None])
    known = {name.casefold() for name in responses}
    kept = [name for name in table.names if name.casefold() not in known]
    return replace(
        table,
        frame=require_pandas().concat([table.frame[kept], found], axis=1),
        names=(*kept, *responses),
        notes=(*table.notes, *other.notes, note),
        percent=table.percent.intersection(kept) | other.percent.intersection(responses),
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
    """

    ours: str
    theirs: str
    ids: Labels
    known: Labels
    are_numbers: bool

    @cached_property
    def keys(self) -> list[str]:
        """The values here, spelled alike."""
        return _spelled_alike(self.ids)

    @cached_property
    def known_keys(self) -> list[str]:
        """The values there, spelled alike."""
        return _spelled_alike(self.known)

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


def _match(table: Table, other: Table, responses: Sequence[str], label: str | None) -> _Match:
    """Return the columns that name the rows, or say why there are none."""
    if label is not None:
        find_column(label, table.names)
    ours = _texts(table, _candidates(table) if label is None else [label])
    there = _texts(other, [name for name in _candidates(other) if name not in responses])
    pairs = [
        _Match(ours=one, theirs=name, ids=ids, known=known, are_numbers=one in table.numeric)
        for name, known in there.items()
        for one, ids in ours.items()
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
                f"{shortened_path(table.source)} names them with --id."
            )
    return best[0]


def _why_none(
    table: Table, other: Table, pairs: Sequence[_Match], unclear: Sequence[_Match]
) -> InvalidInputError:
    here, where = shortened_path(table.source), shortened_path(other.source)
    if unclear:
        pair = max(unclear, key=lambda one: one.rank)
        twice = [pair.known[pair.known_keys.index(key)] for key in pair.repeated]
        return InvalidInputError(
            f"{where}: {shortened(pair.theirs)} has {_named(twice)} more than once, so that it is "
            "not clear which response belongs to it; keep one row for each."
        )
    same = [pair for pair in pairs if pair.same_name and pair.known.any() and pair.ids.any()]
    if same:
        pair = same[0]
        first = [next(one for one in texts.tolist() if one) for texts in (pair.known, pair.ids)]
        return InvalidInputError(
            f"{where}: no value of {shortened(pair.theirs)} is also in {here}; there is "
            f"{shortened(first[0])} there and {shortened(first[1])} here."
        )
    advice = "add a column that names the rows to both"
    if len(table) == len(other):
        advice += ", or, if the rows are in the same order, --by-row-order"
    return InvalidInputError(
        f"{where}: no column holds the names of the rows of {here} ({len(other)} rows there, "
        f"{len(table)} here); {advice}."
    )


def _candidates(table: Table) -> list[str]:
    """Return the columns that may hold ids: texts and whole numbers, but for wavelengths."""
    unnamed = list(table.left_out[:1]) if table.row_names else []
    return unnamed + [
        name
        for name in table.names
        if name not in table.numeric
        or (header_number(name) is None and _are_whole(table.frame[name]))
    ]


def _texts(table: Table, names: Sequence[str]) -> dict[str, Labels]:
    """Return the texts of columns, also of one that was left out because it has no name."""
    return {
        name: np.array(table.row_names) if name in table.left_out else labels_of(table, name)
        for name in names
    }


def _are_whole(column: Any) -> bool:
    values = column.dropna().to_numpy(dtype=np.float64)
    return len(values) > 0 and bool(np.all(np.isfinite(values)) and np.all(values % 1 == 0))


def _spelled_alike(labels: Labels) -> list[str]:
    """Return labels that differ only if they do so by more than upper case or leading zeros."""
    folded = (str(one).casefold() for one in labels.tolist())
    return [one.lstrip("0") or "0" if one.isdecimal() else one for one in folded]


def _named(values: Sequence[str]) -> str:
    more = f" and {len(values) - _LISTED} more" if len(values) > _LISTED else ""
    return ", ".join(map(shortened, map(str, values[:_LISTED]))) + more
