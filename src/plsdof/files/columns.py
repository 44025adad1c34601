"""Columns by name, range or pattern, names that are numbers, and columns that name the rows."""

import difflib
import fnmatch
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from plsdof._core.display import plural
from plsdof._core.inputs import Array, read_only
from plsdof._core.threads import cached_property
from plsdof.errors import InvalidInputError

if TYPE_CHECKING:
    from plsdof.files.tables import Table

Labels = npt.NDArray[np.str_]

# 1100 | 1100.5 | 1100,5 | 1.1e3 | X1100 (how R spells it) | 1100 nm | 1100 (nm) | [1100] |
# NIR.1100.nm | Abs_1100 | log(1/R) 1100 | λ=1100
_SPECTRAL = (
    r"(?:nir|vis|mir|ir|raman|abs(?:or(?:bance|p(?:tion)?))?|refl(?:ectance)?|wl|wn|"
    r"wave(?:length|number)?|nm|spec(?:tr(?:um|a))?|spc|λ|lambda|log ?\(1/[RT]\))"
)
_NUMBER = re.compile(
    rf"'?(?:X|(?i:{_SPECTRAL})[ ._=-]?)?[(\[]?(?P<number>[+-]?\d+(?:[.,]\d+)?(?:[eE][+-]?\d+)?)"
    r"[)\]]?(?:\s*|[._])[(\[]?"
    r"(?P<unit>nm|um|µm|μm|cm\^?[-−]1|cm⁻[¹1]|1/cm|Hz|kHz|MHz|GHz|THz|eV|ppm)?[)\]]?"
)
_LONGEST_SHOWN = 60
# Numbers that differ by a smaller share may be meant by each other.
_NEAR = 1e-3


def header_number(name: str) -> float | None:
    """Return the wavelength (or other number) that a column name stands for, None if it is text.

    A decimal comma, R's prefix X, words for spectra and a unit are understood.

    Examples
    --------
    >>> [header_number(name) for name in ("1100", "X1100.5", "1100,5 nm", "fat", "V7")]
    [1100.0, 1100.5, 1100.5, None, None]
    >>> [header_number(name) for name in ("NIR.900 nm", "Abs_1100", "wl1100", "gene_7")]
    [900.0, 1100.0, 1100.0, None]
    >>> [header_number(name) for name in ("1100 (nm)", "[1100]", "nir_1100_nm", "log(1/R) 1100")]
    [1100.0, 1100.0, 1100.0, 1100.0]
    """
    found = _NUMBER.fullmatch(name.strip())
    return None if found is None else float(found["number"].replace(",", "."))


def header_unit(name: str) -> str:
    """Return the unit behind the number that a column name stands for, "" without one.

    Examples
    --------
    >>> header_unit("NIR.900 nm"), header_unit("1100")
    ('nm', '')
    """
    found = _NUMBER.fullmatch(name.strip())
    return "" if found is None else found["unit"] or ""


def wavelengths(names: Sequence[str]) -> Array | None:
    """Return the numbers of the column names if all are numbers in rising or falling order.

    Examples
    --------
    >>> wavelengths(["900", "902", "904"])
    array([900., 902., 904.])
    >>> wavelengths(["900", "fat"]) is None
    True
    """
    known = [number for number in map(header_number, names) if number is not None]
    steps = np.diff(known)
    is_axis = len(known) == len(names) > 1 and (np.all(steps > 0) or np.all(steps < 0))
    return read_only(known) if is_axis else None


def in_order(names: Sequence[str]) -> tuple[str, ...]:
    """Return names in the order of their numbers, if all are different numbers in no order.

    Examples
    --------
    >>> in_order(["900", "904", "902"]), in_order(["904", "902", "900"]), in_order(["b", "a"])
    (('900', '902', '904'), ('904', '902', '900'), ('b', 'a'))
    """
    numbers = _numbers(names)
    is_axis = len(numbers) == len(names) == len(set(numbers.values()))
    if not is_axis or wavelengths(names) is not None:
        return tuple(names)
    return tuple(sorted(names, key=numbers.__getitem__))


def find_column(name: str, names: Sequence[str], what: str = "column") -> str:
    """Return the name if it is one of the columns; otherwise suggest the ones it may mean."""
    if not isinstance(name, str):
        raise InvalidInputError(f"a {what} is given by its name; got {type(name).__name__}.")
    if name in names:
        return name
    # 1100 may stand for 1100 nm.
    number = header_number(name)
    same = [one for one in names if number is not None and header_number(one) == number]
    if len(same) == 1 and name.strip() == same[0].split()[0]:
        return same[0]
    raise InvalidInputError(f"no {what} {shortened(name)}{suggestion(name, names)}")


def suggestion(name: str, names: Sequence[str]) -> str:
    """Return the end of a message about an unknown name: what may have been meant.

    Examples
    --------
    >>> suggestion("fat ", ["fat", "sucrose"])
    "; did you mean 'fat'?"
    >>> suggestion("1101", ["fat", "1100", "1610"]), suggestion("1300", ["fat", "1100", "1310"])
    ("; did you mean '1100'?", '.')
    >>> suggestion("fat", ["sucrose", "Fat content (%)"])
    "; did you mean 'Fat content (%)'?"
    """
    wanted = name.strip().casefold()
    same = [known for known in names if known.strip().casefold() == wanted]
    if not same and len(wanted) > 2 and header_number(name) is None:
        same = [known for known in names if wanted in known.casefold()][:3]
    numbers = _numbers(names)
    number = header_number(name) if numbers else None
    if same or number is None:
        near = same or difflib.get_close_matches(name[:200], [known[:200] for known in names], n=3)
    else:  # wavelengths that look alike may be far apart
        distance = {known: abs(other - number) for known, other in numbers.items()}
        near = [one for one in distance if distance[one] <= _NEAR * abs(number)]
        near = sorted(near, key=distance.__getitem__)[:3]
    if near:
        return f"; did you mean {' or '.join(shortened(known) for known in near)}?"
    if number is not None:
        return "."
    return f"; there are {listed(names, 8, shortened)}."


def _numbers(names: Sequence[str]) -> dict[str, float]:
    """Return the names that are numbers, with these."""
    known = {name: header_number(name) for name in names}
    return {name: number for name, number in known.items() if number is not None}


def choose_columns(
    names: Sequence[str], features: Sequence[str] = (), exclude: Sequence[str] = ()
) -> tuple[str, ...]:
    """Return the columns that some of ``features`` select and none of ``exclude``, in file order.

    Parameters
    ----------
    names : sequence of str
        All columns to choose from.
    features, exclude : sequences of str
        Each is a name; a range ``first:last`` of names or, with numbers in the header, of
        numbers (both ends included, either may be left out); or a pattern with ``*``, ``?`` and
        ``[...]``. An exact name wins.
        Without features all columns are taken.

    Examples
    --------
    >>> choose_columns(["id", "900", "902", "904", "temp"], ["900:902", "t*"])
    ('900', '902', 'temp')
    >>> choose_columns(["id", "900", "902", "904", "temp"], exclude=["9*", "id"])
    ('temp',)
    """
    wanted = {name for one in features for name in _selected(one, names)}
    unwanted = {name for one in exclude for name in _selected(one, names)}
    return tuple(
        name for name in names if (not features or name in wanted) and name not in unwanted
    )


def _selected(choice: str, names: Sequence[str]) -> list[str]:
    if not isinstance(choice, str) or choice in names:
        return [find_column(choice, names)]
    if ":" in choice:
        return _in_range(choice, names)
    if any(mark in choice for mark in "*?["):
        found = [name for name in names if fnmatch.fnmatchcase(name, choice)]
        if not found:
            raise InvalidInputError(
                f"no column matches the pattern {shortened(choice)}{suggestion(choice, names)}"
            )
        return found
    return [find_column(choice, names)]


def _in_range(choice: str, names: Sequence[str]) -> list[str]:
    first, _, last = choice.partition(":")
    low, high = header_number(first), header_number(last)
    if (low is not None or high is not None) and "" in (first.strip(), last.strip()):
        return _between(low, high, names)
    if low is not None and high is not None:
        return _between(min(low, high), max(low, high), names)
    for end in (first, last):
        if end and end not in names:
            several = " Give one range at a time." if "," in choice else ""
            raise InvalidInputError(
                f"no column {shortened(end)} for the range {shortened(choice)}"
                f"{suggestion(end, names)}{several}"
            )
    start = names.index(first) if first else 0
    stop = names.index(last) if last else len(names) - 1
    return list(names[min(start, stop) : max(start, stop) + 1])


def _between(low: float | None, high: float | None, names: Sequence[str]) -> list[str]:
    low, high = -np.inf if low is None else low, np.inf if high is None else high
    numbers = _numbers(names)
    found = [name for name, number in numbers.items() if low <= number <= high]
    if found:
        return found
    known = numbers.values()
    extent = f"they go from {min(known):g} to {max(known):g}" if known else "there is none"
    raise InvalidInputError(f"no column name is a number between {low:g} and {high:g}; {extent}.")


def shortened(name: str) -> str:
    """Return a name in quotes, its control characters spelled out, cut if it is very long."""
    return repr(name if len(name) <= _LONGEST_SHOWN else name[: _LONGEST_SHOWN - 1] + "…")


def shortened_path(source: str) -> str:
    """Return a file name for a message, cut at the front if it is long."""
    return source if len(source) <= 120 else "…" + source[-119:]


def listed(items: Sequence[Any], most: int = 8, shown: Callable[[str], str] = str) -> str:
    """Return the first of some items in words, and how many more there are.

    Examples
    --------
    >>> listed([3, 5, 8], 2), listed(["a"], 2, shortened)
    ('3, 5 and 1 more', "'a'")
    """
    more = f" and {len(items) - most} more" if len(items) > most else ""
    return ", ".join(shown(str(item)) for item in items[:most]) + more


# Responses from another table, joined row by row as the labels of the rows say
# ------------------------------------------------------------------------------


def labels_of(table: "Table", name: str) -> Labels:
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
    table: "Table",
    other: "Table",
    responses: Sequence[str],
    *,
    label: str | None = None,
    by_row_order: bool = False,
) -> "Table":
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
    >>> from plsdof.files.reading import read_table
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
        match = _match(table, other, responses, label)
        places, note = match.places, f"Joined with {where} by {match.described}"
        lost = list(dict.fromkeys(match.ids[places < 0].tolist()))
        extra = match.known[np.isin(match.known_keys, match.keys, invert=True)].tolist()
        if lost:
            if shown := _misspelled(lost, extra):
                raise _spell_alike(match, shown, where)
            rows = plural(int(np.count_nonzero(places < 0)), "row")
            note += f"; {rows} not found there: {listed(lost, 5, shortened)}"
        note += f"; only there: {listed(extra, 5, shortened)}." if extra else "."
    found = other.frame[list(responses)].iloc[np.where(places < 0, 0, places)]
    found = found.reset_index(drop=True).where((places >= 0)[:, None])
    known = {name.casefold() for name in responses}
    kept = [name for name in table.names if name.casefold() not in known]
    return replace(
        table,
        frame=table.frame[kept].join(found),
        names=(*kept, *responses),
        notes=(*table.notes, *other.notes, note),
        percent=table.percent.intersection(kept) | other.percent.intersection(responses),
    )


def _require_order(
    table: "Table", other: "Table", responses: Sequence[str], label: str | None
) -> None:
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
            f"is {ours} in {here} and {theirs} there. Leave out --by-row-order to join by it."
        )


def _misspelled(ours: Sequence[str], theirs: Sequence[str]) -> list[str]:
    """Return in words which ids differ from one there by blanks or signs only."""
    bare = {re.sub(r"[\W_]+", "", one).casefold(): one for one in theirs}
    pairs = {one: bare.get(re.sub(r"[\W_]+", "", one).casefold(), "") for one in ours if one}
    return [
        f"{shortened(one)} here is {shortened(two)} there"
        for one, two in pairs.items()
        if two and one.casefold() != two.casefold()
    ]


def _spell_alike(match: "_Match", shown: Sequence[str], where: str) -> InvalidInputError:
    return InvalidInputError(
        f"{where}: some values of {match.described} differ by blanks or signs only: "
        f"{listed(shown, 5)}. Spell them alike in both tables."
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


def _match(table: "Table", other: "Table", responses: Sequence[str], label: str | None) -> _Match:
    """Return the columns that name the rows, or say why there are none."""
    if label is not None:
        find_column(label, table.names)
    ours = {
        one: labels_of(table, one) for one in (_candidates(table) if label is None else [label])
    }
    pairs = [
        _Match(ours=one, theirs=name, ids=ids, known=known, are_numbers=one in table.numeric)
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
                f"{shortened_path(table.source)} names them with --id."
            )
    return best[0]


def _why_none(
    table: "Table", other: "Table", pairs: Sequence[_Match], unclear: Sequence[_Match]
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
    advice = "add a column that names the rows to both"
    if len(table) == len(other):
        advice += ", or, if the rows are in the same order, --by-row-order"
    return InvalidInputError(
        f"{where}: no column holds the names of the rows of {here} ({len(other)} rows there, "
        f"{len(table)} here); {advice}."
    )


def _candidates(table: "Table") -> list[str]:
    """Return the columns that may hold ids: texts and whole numbers, but for wavelengths."""
    unnamed = list(table.left_out[:1]) if table.row_names else []
    return unnamed + [
        name
        for name in table.names
        if name not in table.numeric
        or (header_number(name) is None and table.frame[name].dropna().mod(1).eq(0).all())
    ]


def _spelled_alike(labels: Labels) -> list[str]:
    """Return labels that differ only if they do so by more than upper case or leading zeros."""
    folded = (str(one).casefold() for one in labels.tolist())
    return [one.lstrip("0") or "0" if one.isdecimal() else one for one in folded]
