"""What looks like a mistake in a table: codes, summaries, rows twice, a response in disguise."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from plsdof._core.axes import header_number
from plsdof._core.display import plural
from plsdof._core.inputs import Array
from plsdof._core.remarks import Remark
from plsdof.chemometrics.suspects import first_alike, rows_in_words
from plsdof.chemometrics.suspects import suspects as mistakes
from plsdof.workbench.analysis.data import Numbers, Rows
from plsdof.workbench.tables.columns import Labels, listed, shortened
from plsdof.workbench.tables.joining import labels_of
from plsdof.workbench.tables.table import SUMMARY, Table


def suspects(table: Table, rows: Rows, response: str, *, groups: str | None) -> Iterator[Remark]:
    """Name what looks like a mistake in numbers, and what only a table knows.

    That are summaries among the rows, fractions shown as percent, and responses that are one of
    the wavelengths or name the ``groups``.
    """
    names, is_class = list(rows.X.columns), bool(rows.classes)
    called: dict[str, Any] = {"response": response, "columns": names, "rows": rows.numbers}
    X, grouped = rows.X.to_numpy(), groups is not None
    yield from mistakes(X, rows.y, **called, is_class=is_class, grouped=grouped)
    if not is_class:
        yield from _odd_response(rows.y, response, names, groups)
    if names:  # they are in memory
        yield from _fractions(table, (response, *names))
        yield from _summaries(table, set(rows.numbers.tolist()))


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
        shown = rows_in_words([f"{row} ({shortened(label)})" for row, label in found.items()])
        yield _doubt("summary", f"{shown} {what}.", exclude_rows=sorted(found))


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
