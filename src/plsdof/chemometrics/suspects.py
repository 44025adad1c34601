"""What looks like a mistake in data: codes, rows twice, the response in another unit.

Every door asks for the same: the command line and the app when a table is read, estimators where
their remarks are read.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from plsdof._core.display import listed, plural, shortened
from plsdof._core.folds import Integers
from plsdof._core.inputs import Array
from plsdof._core.remarks import Remark

# A school's grades, or a panel's scores from 1 to 9: more values are as good as measured.
_MOST_GRADES = 10
# Numbers that stand for "no value" in many programs.
_CODES = (-999.0, -9999.0, -99999.0, -99.0, 999.0, 9999.0, 99999.0)
# Such a number is suspicious if it is so many times larger than all others.
_FAR = 10.0
# So few values in a row may well be equal.
_FEW_VALUES = 5
# So many measured values do not rise from row to row by chance: one of 10! orders does.
_FEWEST_RISING = 10
# Values that are a larger share of all are usual.
_SELDOM = 0.05
# Zero is suspicious if it is so many standard deviations of the other values away from all of them.
_FAR_FROM_ZERO = 5.0
# A column with such a correlation is the response in another unit, with few digits.
_COPY = 0.9995


def suspects(
    X: Array,
    y: Array,
    *,
    response: str = "y",
    columns: Sequence[str] | None = None,
    rows: Integers | None = None,
    is_class: bool = False,
    grouped: bool = False,
) -> Iterator[Remark]:
    """Name what looks like a mistake in rows and columns of numbers.

    Responses that are 0 unlike all others or have few values, columns that are the response in
    another unit or number the rows, codes for missing values, spectra that are one value
    throughout; without groups, rows that are there twice or may be of one sample. Cost: O(n p).

    Parameters
    ----------
    X, y : arrays
        Without columns, only the response is looked at.
    response, columns, rows
        What sentences call them: by default y, and columns and rows by their position.
    is_class : bool
        The response is a class, not a number.
    grouped : bool
        Which rows belong together is known.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(9, 2))
    >>> [(one.key, one.rows) for one in suspects(X[[0, *range(9)]], np.array([0, *range(9)]))]
    [('repeated-rows', (1,))]
    """
    names = list(map(str, range(X.shape[1]))) if columns is None else list(columns)
    numbers = np.arange(len(y)) if rows is None else rows
    if not is_class:
        yield from _few_values(y, response)
        yield from _zeros(X, y, response, numbers)
        yield from affine_copies(X, y, names)
        yield from [] if grouped else _same_sample(y, response)
    if not names:
        return
    yield from _codes(X, y, names, response)
    yield from _flat(X, numbers)
    yield from _counters(X, names)
    yield from [] if grouped else _repeated_rows(X, y, numbers)


def affine_copies(X: Array, y: Array, names: Sequence[str] | None = None) -> Iterator[Remark]:
    """Name columns that are the response in another unit.

    Examples
    --------
    >>> y = np.arange(9.0) ** 2
    >>> [one.columns for one in affine_copies(np.column_stack([np.sin(y), 3 - 2 * y, y**2]), y)]
    [(1,)]
    """
    if len(y) < 5:
        return
    with np.errstate(all="ignore"):  # what is not finite is refused later
        d, deviation = y - y.mean(), X.std(axis=0)
        varies = deviation > 1e-12 * np.abs(X).max(axis=0)
        r = (d @ X) / (np.where(varies, deviation, np.inf) * np.sqrt(len(y) * (d @ d)))
    copies = np.flatnonzero(np.abs(r) > _COPY).tolist()
    # If many are, the data have next to no noise.
    if 0 < len(copies) <= max(3, 0.02 * X.shape[1]):
        called = [shortened(names[j]) if names else str(j) for j in copies]
        shown = ", ".join(f"{name} ({r[j]:.5f})" for name, j in zip(called, copies, strict=True))
        yield Remark(
            key="affine-copy",
            severity="warning",
            columns=tuple(copies),
            words=f"Nearly the same as the response but for its unit, by correlation: {shown}. "
            "Leave it out if it is not known before the response is.",
        )


def rows_in_words(names: Sequence[str]) -> str:
    """Return rows by their names, as the beginning of a sentence."""
    return f"{'Rows' if len(names) > 1 else 'Row'} {listed(names)}"


def _suspect(key: str, words: str, rows: Any = (), columns: Any = (), **mend: Any) -> Remark:
    return Remark(
        key=key,
        words=words,
        severity="warning",
        rows=tuple(map(int, rows)),
        columns=tuple(map(int, columns)),
        mend=mend,
    )


def _few_values(y: Array, response: str) -> Iterator[Remark]:
    """Say that a response is a class or a grade: two values, or few whole numbers, each often."""
    values = np.unique(y)
    is_whole = len(values) <= _MOST_GRADES and bool(np.all(values % 1 == 0))
    if 1 < len(values) <= (_MOST_GRADES if is_whole else 2) and len(y) >= 4 * len(values):
        shown = ", ".join(f"{one:g}" for one in values)
        yield _suspect(
            "few-values",
            f"{shortened(response)} has only {len(values)} values ({shown}): if they are classes "
            "or grades, predictions are scores between them, and noise level and intervals, which "
            "are for measured responses, do not hold.",
        )


def _codes(X: Array, y: Array, names: Sequence[str], response: str) -> Iterator[Remark]:
    for code in _CODES:
        hits, in_y = np.count_nonzero(code == X, axis=0), int(np.count_nonzero(y == code))
        columns = np.flatnonzero(hits).tolist()
        near = X[:, columns]
        others = np.abs(near[near != code]) if columns else np.abs(y[y != code])
        is_far = not len(others) or others.max() * _FAR <= abs(code)
        if (in_y or columns) and is_far:
            shown = [response] * (in_y > 0) + [names[i] for i in columns]
            often = plural(int(hits.sum()) + in_y, "time")
            yield _suspect(
                "missing-code",
                f"{code:g} occurs {often}, in {listed(shown, 8, shortened)}: it may stand for a "
                "missing value.",
                columns=columns,
                na=[f"{code:g}"],
                missing="drop",
            )


def _are_few(rows: npt.NDArray[np.bool_]) -> bool:
    count = int(np.count_nonzero(rows))
    return 0 < count <= max(2, 0.1 * len(rows)) and 2 * count < len(rows)


def _zeros(X: Array, y: Array, response: str, numbers: Integers) -> Iterator[Remark]:
    """Name rows whose response is 0 while all others are far from it."""
    zero = y == 0
    others, found = y[~zero], numbers[zero]
    # Two classes, 0 and another number, have no spread.
    if not _are_few(zero) or len(others) < 5 or np.all(np.abs(others) == abs(others[0])):
        return
    nearest = others[np.argmin(np.abs(others))]
    with np.errstate(over="ignore"):  # what is too large is refused later
        if abs(nearest) <= _FAR_FROM_ZERO * others.std():
            return
    # As a code it would stand for a missing value in the predictors, too.
    code: dict[str, Any] = {"na": ["0"], "missing": "drop"}
    mend = {"exclude_rows": found.tolist()} if np.any(X == 0) else code
    where = f"row{'s' * (len(found) > 1)} {listed(list(map(str, found)))}"
    yield _suspect(
        "zero-response",
        f"{shortened(response)} is 0 in {where}, and the nearest other value is {nearest:g}: 0 "
        "may stand for a missing value.",
        rows=np.flatnonzero(zero),
        **mend,
    )


def _flat(X: Array, numbers: Integers) -> Iterator[Remark]:
    """Name spectra that are one value throughout, unless others often have it, as counts do."""
    flat = X.max(axis=1) == X.min(axis=1)
    # Where many rows are so, that is what the data are like.
    if X.shape[1] < _FEW_VALUES or not _are_few(flat):
        return
    if np.mean(np.isin(X[~flat], X[flat, 0])) <= _SELDOM:
        shown = [f"{row} ({value:g})" for row, value in zip(numbers[flat], X[flat, 0], strict=True)]
        have = "have" if len(shown) > 1 else "has"
        yield _suspect(
            "flat-rows",
            f"{rows_in_words(shown)} {have} the same value in all predictors: the measurement may "
            "have failed.",
            rows=np.flatnonzero(flat),
            exclude_rows=numbers[flat].tolist(),
        )


def _counters(X: Array, names: Sequence[str]) -> Iterator[Remark]:
    """Name predictors that number the rows: whole numbers that rise from row to row."""
    if len(X) < _FEWEST_RISING:
        return
    near = np.flatnonzero((X[0] % 1 == 0) & (X[0] < X[1]) & (X[-2] < X[-1])).tolist()
    places = [j for j in near if np.all(X[:, j] % 1 == 0) and np.all(np.diff(X[:, j]) > 0)]
    if places:
        found = [names[j] for j in places]
        yield _suspect(
            "row-numbers",
            f"Numbers of the rows, it seems, and not a predictor: {listed(found, 8, shortened)}.",
            columns=places,
            exclude=found,
        )


def first_alike(X: Array, y: Array) -> Integers:
    """Return for every row the first row that has the same response and predictors.

    Examples
    --------
    >>> first_alike(np.array([[1.0, 2.0], [1.0, 3.0], [1.0, 2.0]]), np.array([5.0, 5.0, 5.0]))
    array([0, 1, 0])
    """
    table = np.ascontiguousarray(np.column_stack([y, X]) + 0.0)  # -0 is 0
    rows = table.view(f"V{table.shape[1] * table.itemsize}").ravel()
    _, first, group = np.unique(rows, return_index=True, return_inverse=True)
    return first[group]


def _repeated_rows(X: Array, y: Array, numbers: Integers) -> Iterator[Remark]:
    """Name rows that are in the table twice; ``numbers`` are those of the file."""
    first = first_alike(X, y)
    again = np.flatnonzero(first != np.arange(len(y)))
    if len(again):
        shown = [f"{numbers[i]} (as {numbers[first[i]]})" for i in again]
        are = "repeat others" if len(again) > 1 else "repeats another"
        yield _suspect(
            "repeated-rows",
            f"{rows_in_words(shown)} {are} in all numbers used. Cross-validation and tests may "
            "fit one and predict the other, and look too good: leave such rows out, or name the "
            "groups of rows that belong together.",
            rows=again,
            exclude_rows=numbers[again].tolist(),
        )


def _same_sample(y: Array, response: str) -> Iterator[Remark]:
    """Say that neighbouring rows with the same response may be spectra of the same sample.

    Every value must be in neighbouring rows only, two or more on average. Rows sorted by a
    response with few digits look like this, too, unless all values occur equally often.
    """
    starts = np.flatnonzero(np.append(True, np.diff(y) != 0))
    lengths, values = np.diff(np.append(starts, len(y))), np.diff(y[starts])
    runs = len(starts)
    is_sorted = bool(np.all(values > 0) or np.all(values < 0)) and np.ptp(lengths) > 0
    if runs >= 5 and 2 * runs <= len(y) and len(np.unique(y)) == runs and not is_sorted:
        yield _suspect(
            "same-sample",
            f"{shortened(response)} has {runs} values in {len(y)} rows, each in rows that follow "
            "each other. If these are repeated measurements of the same sample, choice, noise "
            "level and cross-validation look too good unless the samples are named as groups.",
            groups=response,
        )
