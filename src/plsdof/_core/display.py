"""How results show themselves: in one line, as a data frame, and in a notebook."""

import math
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from plsdof.errors import MissingExtraError

if TYPE_CHECKING:
    from pandas import DataFrame

# Numbers beyond this size have an exponent.
LARGEST_WRITTEN_OUT = 1e9
SMALLEST_P = 1e-4
# Characters of a name that are shown.
_LONGEST_SHOWN = 60


def one_line(result: object, *facts: str, **values: object) -> str:
    """Return the class of a result with what matters about it, for its ``repr``.

    Examples
    --------
    >>> one_line(1.5, "3 models", n=20.0, solver="svd")
    "float(3 models, n=20, solver='svd')"
    """
    named = (f"{name}={_shown(value)}" for name, value in values.items())
    return f"{type(result).__name__}({', '.join([*facts, *named])})"


def plural(count: int, noun: str) -> str:
    """Return a number of things in words.

    Examples
    --------
    >>> plural(1, "component"), plural(2, "component")
    ('1 component', '2 components')
    """
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def significant(value: float | None, digits: int = 4) -> str:
    """Format a number with some significant digits, with a dash for no number.

    Examples
    --------
    >>> [significant(value) for value in (1234567.8, 1234.5, 2.5, 0.00012345, 0.0, float("nan"))]
    ['1234568', '1234', '2.500', '0.0001234', '0', '-']
    """
    if value is None or not math.isfinite(value):
        return "-"
    if value == 0:
        return "0"
    if 10**digits <= abs(value) < LARGEST_WRITTEN_OUT:
        return f"{value:.0f}"
    return f"{value:#.{digits}g}".removesuffix(".")


def p_value(value: float | None) -> str:
    """Format a p-value; smaller ones than 0.0001 say more than the assumptions behind them hold.

    Examples
    --------
    >>> p_value(0.0321), p_value(0.00052), p_value(2e-39)
    ('0.032', '0.00052', '<0.0001')
    """
    if value is not None and value < SMALLEST_P:
        return f"<{SMALLEST_P:g}"
    return significant(value, 2)


def p_in_words(value: float) -> str:
    """Return a p-value in a sentence.

    Examples
    --------
    >>> p_in_words(0.0321), p_in_words(2e-39)
    ('p = 0.032', 'p < 0.0001')
    """
    text = p_value(value)
    return f"p < {text[1:]}" if text.startswith("<") else f"p = {text}"


def shortened(name: str) -> str:
    """Return a name in quotes, its control characters spelled out, cut if it is very long."""
    return repr(name if len(name) <= _LONGEST_SHOWN else name[: _LONGEST_SHOWN - 1] + "…")


def listed(items: Sequence[Any], most: int = 8, shown: Callable[[str], str] = str) -> str:
    """Return the first of some items in words, and how many more there are.

    Examples
    --------
    >>> listed([3, 5, 8], 2), listed(["a"], 2, shortened)
    ('3, 5 and 1 more', "'a'")
    """
    more = f" and {len(items) - most} more" if len(items) > most else ""
    return ", ".join(shown(str(item)) for item in items[:most]) + more


def listed_in_words(words: Sequence[str]) -> str:
    """Return words with commas between them, and the last one after "and".

    Examples
    --------
    >>> listed_in_words(["1"]), listed_in_words(["1", "3", "7 to 9"])
    ('1', '1, 3 and 7 to 9')
    """
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def runs_in_words(numbers: Sequence[int]) -> str:
    """Return increasing whole numbers in words, neighbours as ranges.

    Examples
    --------
    >>> runs_in_words([1, 3]), runs_in_words([1, 2, 4, 5, 6])
    ('1 and 3', '1, 2 and 4 to 6')
    """
    runs = np.split(np.asarray(numbers), np.flatnonzero(np.diff(numbers) > 1) + 1)
    words = [[f"{one[0]} to {one[-1]}"] if len(one) > 2 else map(str, one) for one in runs]
    return listed_in_words([word for run in words for word in run])


def model_in_words(parameter: float, name: str) -> str:
    """Return what a model is called by its parameter.

    Examples
    --------
    >>> model_in_words(2.0, "n_components"), model_in_words(0.5, "alpha")
    ('2 components', 'alpha = 0.5')
    """
    return (
        plural(int(parameter), "component") if name == "n_components" else f"{name} = {parameter:g}"
    )


def data_frame(columns: Mapping[str, Any], names: Sequence[Any] | None = None) -> "DataFrame":
    """Return columns as a pandas data frame, with the names of the rows where they are known.

    Examples
    --------
    >>> data_frame({"coef": [1.0, 2.0]}, ["fat", "water"])
           coef
    fat     1.0
    water   2.0
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingExtraError("pandas", "frame", "A data frame") from error
    # A copy: results are read-only, frames are not.
    index = None if names is None else list(names)
    return pd.DataFrame(dict(columns), index=index, copy=True)


def parameter_column(values: npt.NDArray[Any], name: str) -> npt.NDArray[Any]:
    """Return the parameters of models as they are shown: whole numbers of components, or alphas."""
    return values.astype(np.intp) if name == "n_components" else values


def _shown(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else repr(value)


# How results show themselves in a notebook: a table, in HTML of its own
# ----------------------------------------------------------------------

# Rows of a table that are shown around the one that matters.
_MOST_ROWS = 16
# What stands in place of numbers that have not been computed.
NOT_YET = "Nothing is computed before it is asked for, such as by .dof or .coef."


def as_html(
    title: str,
    columns: Mapping[str, Sequence[Any] | npt.NDArray[Any]],
    *,
    notes: Sequence[str] = (),
    chosen: int | None = None,
) -> str:
    """Return a result as HTML that needs nothing else: a title, a table, remarks.

    Parameters
    ----------
    title : str
    columns : mapping from headings to values
        Long tables show the rows around the chosen one.
    notes : texts below the table
    chosen : int, optional
        Row in bold.

    Examples
    --------
    >>> "<td>0.5</td>" in as_html("a model", {"name": ["<x>"], "coef": [0.5]})
    True
    >>> "<x>" in as_html("a model", {"name": ["<x>"], "coef": [0.5]})
    False
    """
    size = max((len(values) for values in columns.values()), default=0)
    first = 0
    if size > _MOST_ROWS and chosen is not None:
        first = max(0, min(chosen - _MOST_ROWS // 2, size - _MOST_ROWS))
    shown = range(first, min(first + _MOST_ROWS, size))
    head = "".join(f"<th>{escape(str(name))}</th>" for name in columns)
    rows = []
    for i in shown:
        cells = "".join(f"<td>{_cell(values[i])}</td>" for values in columns.values())
        rows.append(f"<tr{' style=font-weight:bold' if i == chosen else ''}>{cells}</tr>")
    remarks = list(notes)
    if len(shown) < size:
        remarks.append(f"Rows {shown.start + 1} to {shown.stop} of {size}.")
    below = "".join(f"<p style='margin:4px 0'>{escape(note)}</p>" for note in remarks)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    return (
        f"<div><p style='margin:4px 0'><b>{escape(title)}</b></p>"
        f"{table if columns else ''}{below}</div>"
    )


def _cell(value: Any) -> str:
    if isinstance(value, float | np.floating):
        return "" if np.isnan(value) else f"{value:.4g}"
    return escape(str(value))
