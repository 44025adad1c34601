"""What looks like a mistake in a table: codes, summaries, rows twice, a response in disguise."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from plsdof._core.axes import header_number
from plsdof._core.display import plural
from plsdof._core.inputs import Array
from plsdof._core.remarks import Remark
from plsdof.chemometrics.data_checks import affine_copies
from plsdof.workbench.analysis.data import Mask, Numbers, Rows
from plsdof.workbench.tables.columns import Labels, listed, shortened
from plsdof.workbench.tables.joining import labels_of
from plsdof.workbench.tables.table import SUMMARY, Table

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


def suspects(table: Table, rows: Rows, response: str, *, groups: str | None) -> Iterator[Remark]:
    """Name what looks like a mistake: codes, summaries among the rows, the response in disguise.

    Numbers of the rows among the predictors, fractions shown as percent, spectra that are one
    value throughout, responses that are 0 unlike all others or have few values, that are one of
    the wavelengths or name the ``groups``; without groups, rows that are in the table twice or may
    be of one sample. Cost: O(n p).
    """
    X, y, names, numbers = rows.X.to_numpy(), rows.y, list(rows.X.columns), rows.numbers
    if not rows.classes:
        yield from few_values(y, response)
        yield from _odd_response(y, response, names, groups)
        yield from _zeros(X, y, response, numbers)
        yield from affine_copies(X, y, names)
        yield from [] if groups else same_sample(y, response)
    if not names:  # they are not in memory
        return
    yield from _fractions(table, (response, *names))
    yield from _summaries(table, set(numbers.tolist()))
    yield from _codes(X, y, names, response)
    yield from _flat(X, numbers)
    yield from _counters(X, names)
    if groups is None:
        yield from _repeated_rows(X, y, numbers)


def _rows_in_words(names: Sequence[str]) -> str:
    return f"{'Rows' if len(names) > 1 else 'Row'} {listed(names)}"


def _doubt(key: str, words: str, **mend: Any) -> Remark:
    return Remark(key=key, words=words, severity="warning", mend=mend)


def _odd_response(
    y: Array, response: str, names: Sequence[str], groups: str | None
) -> Iterator[Remark]:
    """Say that the response is one of many columns named by numbers, or names the groups."""
    numbers = sum(header_number(name) is not None for name in names)
    if header_number(response) is not None and 2 * numbers > len(names):
        yield _doubt(
            "response-wavelength",
            f"The response {shortened(response)} is a number like the names of {numbers} "
            "predictors: a wavelength, it seems. If it is not what is to be predicted, choose "
            "another column.",
        )
    if groups == response:
        yield _doubt(
            "response-groups",
            f"The groups are those of the response {shortened(response)} itself: rows with equal "
            f"values are taken for one sample ({len(np.unique(y))} in {len(y)} rows).",
        )


def repeated_labels(labels: Labels | None, numbers: Numbers) -> Iterator[str]:
    """Say which names several rows have."""
    if labels is None:
        return
    names, counts = np.unique(labels[labels != ""], return_counts=True)
    rows = {name: numbers[labels == name].tolist() for name in names[counts > 1].tolist()}
    twice = [f"{shortened(n)} (rows {', '.join(map(str, found))})" for n, found in rows.items()]
    if twice:
        yield f"In several rows: {listed(twice)}. Each row has its own prediction."


def few_values(y: Array, response: str) -> Iterator[Remark]:
    """Say that a response is a class or a grade: two values, or few whole numbers, each often."""
    values = np.unique(y)
    is_whole = len(values) <= _MOST_GRADES and bool(np.all(values % 1 == 0))
    if 1 < len(values) <= (_MOST_GRADES if is_whole else 2) and len(y) >= 4 * len(values):
        shown = ", ".join(f"{one:g}" for one in values)
        yield _doubt(
            "few-values",
            f"{shortened(response)} has only {len(values)} values ({shown}): if they are classes "
            "or grades, predictions are scores between them, and noise level and intervals, which "
            "are for measured responses, do not hold.",
        )


def _fractions(table: Table, names: Sequence[str]) -> Iterator[Remark]:
    for everywhere, where in ((True, ""), (False, "in some rows only, ")):
        found = [shortened(one) for one in names if table.percent.get(one) is everywhere]
        if found:
            are = "are" if len(found) > 1 else "is"
            formatted = f"{listed(found)} {are} formatted as percent in the sheet"
            yield _doubt("percent", f"{formatted}, {where}so that 12.3 % is 0.123 here.")


def _summaries(table: Table, kept: set[int]) -> Iterator[Remark]:
    found = {}
    # Numbers with such a word among them are not a column of text.
    columns = [labels_of(table, name).tolist() for name in table.names if name not in table.numeric]
    for column in (*columns, table.row_names):
        for row, label in zip(table.row_numbers.tolist(), column, strict=False):
            if row in kept and SUMMARY.fullmatch(label):
                found[row] = label
    # A column that often says "n" holds answers, not names of summaries.
    if 0 < len(found) <= max(6, 0.2 * len(table)):
        what = (
            "look like summaries, not samples"
            if len(found) > 1
            else "looks like a summary, not a sample"
        )
        shown = _rows_in_words([f"{row} ({shortened(label)})" for row, label in found.items()])
        yield _doubt("summary", f"{shown} {what}.", exclude_rows=sorted(found))


def _codes(X: Array, y: Array, names: Sequence[str], response: str) -> Iterator[Remark]:
    for code in _CODES:
        hits, in_y = np.count_nonzero(code == X, axis=0), int(np.count_nonzero(y == code))
        columns = np.flatnonzero(hits).tolist()
        near = X[:, columns]
        others = np.abs(near[near != code]) if columns else np.abs(y[y != code])
        is_far = not len(others) or others.max() * _FAR <= abs(code)
        if (in_y or columns) and is_far:
            shown = [shortened(response)] * (in_y > 0) + [shortened(names[i]) for i in columns]
            often = plural(int(hits.sum()) + in_y, "time")
            yield _doubt(
                "missing-code",
                f"{code:g} occurs {often}, in {listed(shown)}: it may stand for a missing value.",
                na=[f"{code:g}"],
                missing="drop",
            )


def _are_few(rows: Mask) -> bool:
    count = int(np.count_nonzero(rows))
    return 0 < count <= max(2, 0.1 * len(rows)) and 2 * count < len(rows)


def _zeros(X: Array, y: Array, response: str, numbers: Numbers) -> Iterator[Remark]:
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
    yield _doubt(
        "zero-response",
        f"{shortened(response)} is 0 in {where}, and the nearest other value is {nearest:g}: 0 "
        "may stand for a missing value.",
        **mend,
    )


def _flat(X: Array, numbers: Numbers) -> Iterator[Remark]:
    """Name spectra that are one value throughout, unless others often have it, as counts do."""
    flat = X.max(axis=1) == X.min(axis=1)
    # Where many rows are so, that is what the data are like.
    if X.shape[1] < _FEW_VALUES or not _are_few(flat):
        return
    if np.mean(np.isin(X[~flat], X[flat, 0])) <= _SELDOM:
        shown = [f"{row} ({value:g})" for row, value in zip(numbers[flat], X[flat, 0], strict=True)]
        have = "have" if len(shown) > 1 else "has"
        yield _doubt(
            "flat-rows",
            f"{_rows_in_words(shown)} {have} the same value in all predictors: the measurement may "
            "have failed.",
            exclude_rows=numbers[flat].tolist(),
        )


def _counters(X: Array, names: Sequence[str]) -> Iterator[Remark]:
    """Name predictors that number the rows: whole numbers that rise from row to row."""
    if len(X) < _FEWEST_RISING:
        return
    near = np.flatnonzero((X[0] % 1 == 0) & (X[0] < X[1]) & (X[-2] < X[-1])).tolist()
    found = [names[j] for j in near if np.all(X[:, j] % 1 == 0) and np.all(np.diff(X[:, j]) > 0)]
    if found:
        yield _doubt(
            "row-numbers",
            f"Numbers of the rows, it seems, and not a predictor: {listed(found, 8, shortened)}.",
            exclude=found,
        )


def first_alike(X: Array, y: Array) -> Numbers:
    """Return for every row the first row that has the same response and predictors.

    Examples
    --------
    >>> first_alike(np.array([[1.0, 2.0], [1.0, 3.0], [1.0, 2.0]]), np.array([5.0, 5.0, 5.0]))
    array([0, 1, 0])
    """
    table = np.column_stack([y, X]) + 0.0  # -0 is 0
    rows = table.view(f"V{table.shape[1] * table.itemsize}").ravel()
    _, first, group = np.unique(rows, return_index=True, return_inverse=True)
    return first[group]


def _repeated_rows(X: Array, y: Array, numbers: Numbers) -> Iterator[Remark]:
    """Name rows that are in the table twice; ``numbers`` are those of the file."""
    first = first_alike(X, y)
    again = np.flatnonzero(first != np.arange(len(y)))
    if len(again):
        shown = [f"{numbers[i]} (as {numbers[first[i]]})" for i in again]
        are = "repeat others" if len(again) > 1 else "repeats another"
        yield _doubt(
            "repeated-rows",
            f"{_rows_in_words(shown)} {are} in all numbers used. Cross-validation and tests may "
            "fit one and predict the other, and look too good: leave such rows out, or name the "
            "groups of rows that belong together.",
            exclude_rows=numbers[again].tolist(),
        )


def same_sample(y: Array, response: str) -> Iterator[Remark]:
    """Say that neighbouring rows with the same response may be spectra of the same sample.

    Every value must be in neighbouring rows only, two or more on average. Rows sorted by a
    response with few digits look like this, too, unless all values occur equally often.
    """
    starts = np.flatnonzero(np.append(True, np.diff(y) != 0))
    lengths, values = np.diff(np.append(starts, len(y))), np.diff(y[starts])
    runs = len(starts)
    is_sorted = bool(np.all(values > 0) or np.all(values < 0)) and np.ptp(lengths) > 0
    if runs >= 5 and 2 * runs <= len(y) and len(np.unique(y)) == runs and not is_sorted:
        yield _doubt(
            "same-sample",
            f"{shortened(response)} has {runs} values in {len(y)} rows, each in rows that follow "
            "each other. If these are repeated measurements of the same sample, choice, noise "
            "level and cross-validation look too good unless the samples are named as groups.",
            groups=response,
        )


def seen_before(rows: Rows, test: Rows | None) -> Iterator[Remark]:
    """Say how many rows of the test are rows of the calibration, too."""
    if test is None:
        return
    X = np.vstack([rows.X.to_numpy(), test.X.to_numpy()])
    first = first_alike(X, np.concatenate([rows.y, test.y]))
    count = int(np.count_nonzero(first[len(rows.y) :] < len(rows.y)))
    if count:
        yield _doubt(
            "test-seen",
            f"Also in the calibration: {count} of {plural(len(test.y), 'test row')}, so that the "
            "test looks too good.",
        )
