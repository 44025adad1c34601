"""Numbers as a report shows them: rounded once, so that page and embedded data say the same.

Tables of numbers that are drawn but not read are 32-bit floats, which take less space than digits.
"""

import base64
from typing import Any

import numpy as np
import numpy.typing as npt

from plsdof.workbench.analysis.result import DIGITS, in_number

_MOST_DIGITS = 15

Number = float | int | None


def rounded(values: Any, digits: int = DIGITS) -> list[Number]:
    """Round to significant digits; None for what is not finite.

    Values that differ little compared with their size keep as many more digits as it takes to
    tell them apart.

    Examples
    --------
    >>> rounded([1.23456789, float("nan")])
    [1.235, None]
    >>> rounded([100000.1234567, 100000.7654321])
    [100000.123, 100000.765]
    """
    array = np.asarray(values, dtype=np.float64).ravel()
    most = min(digits + _more_digits(array), _MOST_DIGITS)
    return [in_number(value, digits=most) for value in array.tolist()]


def shown(value: Number) -> str:
    """Write a rounded number so that reading it gives the same number again.

    Examples
    --------
    >>> shown(12.0), shown(0.00012), shown(1e-12), shown(None)
    ('12', '0.00012', '1e-12', 'not defined')
    """
    if value is None:
        return "not defined"
    text = repr(float(value)).removesuffix(".0")
    if "e" not in text or abs(value) < 1e-6 or abs(value) >= 1e21:
        return text
    return np.format_float_positional(value, trim="-")


def _more_digits(array: npt.NDArray[np.float64]) -> int:
    """Return how many leading digits all values have in common."""
    known = array[np.isfinite(array)]
    if not known.size:
        return 0
    with np.errstate(over="ignore"):
        ratio = np.abs(known).max() / np.ptp(known) if np.ptp(known) > 0 else 1.0
    return int(np.clip(np.floor(np.log10(max(ratio, 1.0)) + 0.5), 0, _MOST_DIGITS))


def evenly_spaced(total: int, most: int) -> npt.NDArray[np.intp]:
    """Return all of 0..total-1, or ``most`` of them.

    Examples
    --------
    >>> evenly_spaced(3, 5), evenly_spaced(9, 3)
    (array([0, 1, 2]), array([0, 4, 8]))
    """
    if total <= most:
        return np.arange(total)
    return np.linspace(0, total - 1, most).round().astype(np.intp)


def floats(values: npt.NDArray[np.float64]) -> dict[str, Any]:
    """Keep numbers as 32-bit floats, row by row.

    Examples
    --------
    >>> floats(np.array([[1.0, 2.0]]))
    {'columns': 2, 'data': 'AACAPwAAAEA='}
    """
    array = np.atleast_2d(values)
    numbers = np.ascontiguousarray(array, dtype="<f4").tobytes()
    return {"columns": array.shape[1], "data": base64.b64encode(numbers).decode("ascii")}
