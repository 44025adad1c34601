"""Numbers as a report shows them: rounded once, so that page and embedded data say the same.

Tables of numbers that are drawn but not read are packed: 16-bit steps between the smallest and the
largest value are finer than a screen, and take a third of the space of digits. Scores, loadings
and predictors, of which the page computes contributions, are 32-bit floats.
"""

import base64
import math
from typing import Any

import numpy as np
import numpy.typing as npt

DIGITS = 4
_MOST_DIGITS = 15
# The largest 16-bit number stands for what is not defined.
_STEPS = 65_534
_MISSING = 65_535

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
    pattern = f"%.{min(digits + _more_digits(array), _MOST_DIGITS)}g"
    return [_rounded(value, pattern) for value in array.tolist()]


def rounded_one(value: float, digits: int = DIGITS) -> Number:
    """Round one number to significant digits; None if it is not finite."""
    return _rounded(float(value), f"%.{digits}g")


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


def _rounded(value: float, pattern: str) -> Number:
    """Round by a format; whole numbers become integers, which makes the data shorter."""
    if not math.isfinite(value):
        return None
    result = float(pattern % value)
    if not math.isfinite(result):  # rounded up beyond the largest number
        return value
    return int(result) if result.is_integer() and abs(result) < 1e15 else result


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


def packed(values: npt.NDArray[np.float64]) -> dict[str, Any]:
    """Pack numbers into 16 bits each: row by row, missing where they are not finite.

    Examples
    --------
    >>> packed(np.array([[0.0, 1.0], [np.nan, 0.5]]))
    {'columns': 2, 'low': 0.0, 'high': 1.0, 'data': 'AAD+/////38='}
    """
    array = np.atleast_2d(values)
    known = np.isfinite(array)
    low, high = (
        (float(array[known].min()), float(array[known].max())) if known.any() else (0.0, 0.0)
    )
    width = high - low if high > low else 1.0
    steps = np.rint((np.where(known, array, low) - low) / width * _STEPS)
    codes = np.where(known, steps, _MISSING).astype("<u2")
    return {"columns": array.shape[1], "low": low, "high": high, "data": _text(codes)}


def floats(values: npt.NDArray[np.float64]) -> dict[str, Any]:
    """Keep numbers as 32-bit floats, row by row.

    Examples
    --------
    >>> floats(np.array([[1.0, 2.0]]))
    {'columns': 2, 'data': 'AACAPwAAAEA='}
    """
    array = np.atleast_2d(values)
    return {"columns": array.shape[1], "data": _text(array.astype("<f4"))}


def _text(array: npt.NDArray[Any]) -> str:
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode("ascii")
