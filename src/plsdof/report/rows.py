"""The numbers of the rows: fit, residual, leverage and distances from the model."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from plsdof._validation import Array
from plsdof.diagnostic import Diagnostic
from plsdof.outliers import outliers
from plsdof.report.rounding import rounded, rounded_one
from plsdof.report.subject import MOST_ROWS, Subject, evenly_spaced

# Order of the bits in "flags", and how the page calls them.
KINDS = {"t2": "T²", "q": "Q", "leverage": "leverage", "studentized": "residual"}
# Of training rows of wide data, the other limits flag too few; see `plsdof.q_residuals`.
_Q_LIMIT = "moments"
_LEVERAGE_FACTOR = 3.0
_MOST_SUSPECTS = 10

Flags = npt.NDArray[np.intp]


@dataclass(frozen=True, kw_only=True, eq=False)
class _RowNumbers:
    """Numbers per row, limits and flags (a bit per kind) of one model."""

    values: dict[str, Array]
    limits: dict[str, float]
    flags: Flags
    notes: list[str]


@dataclass(frozen=True, kw_only=True, eq=False)
class RowSample:
    """Which rows are drawn, and what is known of them in the chosen model."""

    places: npt.NDArray[np.intp]
    total: int
    chosen: _RowNumbers


def sample_rows(subject: Subject) -> RowSample:
    """Draw all rows, or evenly spaced ones and those the chosen model flags most."""
    total, chosen = len(subject.y), _row_numbers(subject, subject.selection.index)
    places = np.arange(total)
    if total > MOST_ROWS:
        unusual = _most_flagged(chosen)[: MOST_ROWS // 4]
        places = np.union1d(unusual, evenly_spaced(total, MOST_ROWS - len(unusual)))
    return RowSample(places=places, total=total, chosen=chosen)


def row_facts(subject: Subject, sample: RowSample) -> dict[str, Any]:
    """Return what is known of the rows before any model: number, label, observed response."""
    return {
        "number": (sample.places + 1).tolist(),
        "labels": None
        if subject.row_labels is None
        else [subject.row_labels[i] for i in sample.places],
        "observed": rounded(subject.y[sample.places]),
        "total": sample.total,
        "q_limit": _Q_LIMIT,
        "kinds": KINDS if subject.pls_path is not None else {"leverage": KINDS["leverage"]},
    }


def row_details(subject: Subject, index: int, sample: RowSample) -> dict[str, Any]:
    """Return fit, residuals and diagnostics of the drawn rows, and the most unusual of all rows."""
    is_chosen = index == subject.selection.index
    numbers = sample.chosen if is_chosen else _row_numbers(subject, index)
    drawn = sample.places
    bits = {kind: 1 << i for i, kind in enumerate(KINDS)}
    return {
        **{name: rounded(values[drawn]) for name, values in numbers.values.items()},
        "flags": numbers.flags[drawn].tolist(),
        "limits": {kind: rounded_one(value) for kind, value in numbers.limits.items()},
        "counts": {
            kind: int(np.count_nonzero(numbers.flags & bits[kind])) for kind in numbers.limits
        },
        "flagged": int(np.count_nonzero(numbers.flags)),
        "suspects": _suspects(subject, numbers),
        "notes": numbers.notes,
    }


def _row_numbers(subject: Subject, index: int) -> _RowNumbers:
    fitted, pls = subject.path.fitted[index], subject.pls_path
    fit = {"fitted": fitted, "residual": subject.y - fitted}
    if pls is None:
        found = {"leverage": _leverage(subject, index)}
    else:
        found = outliers(pls, index, subject.y, level=subject.level, q_limit=_Q_LIMIT).diagnostics
    flags = np.zeros(len(subject.y), dtype=np.intp)
    for i, kind in enumerate(KINDS):
        if kind in found:
            flags |= found[kind].flags.astype(np.intp) << i
    return _RowNumbers(
        values=fit | {kind: one.values for kind, one in found.items()},
        limits={kind: one.limit for kind, one in found.items()},
        flags=flags,
        notes=[f"{KINDS[kind]}: {one.message}" for kind, one in found.items() if one.message],
    )


def _leverage(subject: Subject, index: int) -> Diagnostic:
    values = subject.path.leverage(index)
    limit = _LEVERAGE_FACTOR * float(values.mean())
    return Diagnostic(
        name="leverage",
        values=values,
        limit=limit,
        flags=values > limit,
        level=None,
        method=f"{_LEVERAGE_FACTOR:g} times the average",
    )


def _most_flagged(numbers: _RowNumbers) -> npt.NDArray[np.intp]:
    """Return the flagged rows: most flags first, then furthest beyond a limit."""
    count = np.bitwise_count(numbers.flags).astype(np.intp)
    excess = np.zeros(len(count))
    for kind, limit in numbers.limits.items():
        if limit > 0:
            excess = np.fmax(excess, np.abs(numbers.values[kind]) / limit)
    order = np.lexsort([-excess, -count])
    return order[count[order] > 0]


def _suspects(subject: Subject, numbers: _RowNumbers) -> list[dict[str, Any]]:
    rows = _most_flagged(numbers)[:_MOST_SUSPECTS]
    table = {name: rounded(values[rows]) for name, values in numbers.values.items()}
    table["observed"] = rounded(subject.y[rows])
    return [
        {
            "row": int(row) + 1,
            "label": "" if subject.row_labels is None else subject.row_labels[row],
            "why": ", ".join(
                word for bit, word in enumerate(KINDS.values()) if numbers.flags[row] >> bit & 1
            ),
            **{name: values[k] for name, values in table.items()},
        }
        for k, row in enumerate(rows)
    ]
