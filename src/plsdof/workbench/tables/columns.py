"""Columns by name, range or pattern."""

import difflib
import fnmatch
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from plsdof._core.axes import header_number, wavelengths
from plsdof._core.display import listed as listed
from plsdof._core.display import shortened as shortened
from plsdof.errors import InvalidInputError

Labels = npt.NDArray[np.str_]

# Numbers that differ by a smaller share may be meant by each other.
_NEAR = 1e-3


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


def shortened_path(source: str) -> str:
    """Return a file name for a message, cut at the front if it is long."""
    return source if len(source) <= 120 else "…" + source[-119:]


def in_ranges(rows: Sequence[int]) -> str:
    """Return increasing row numbers as an option takes them.

    Examples
    --------
    >>> in_ranges([1, 2, 3, 7, 9])
    '1:3,7,9'
    """
    starts = np.flatnonzero(np.diff(rows, prepend=-1) > 1)
    runs = np.split(np.asarray(rows), starts[1:])
    return ",".join(f"{run[0]}:{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)
