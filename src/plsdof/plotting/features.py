"""How predictors are named and placed on an axis: by the numbers in their names, if there are."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plsdof._validation import Array, read_only
from plsdof.columns import header_number

# What the axis is called, by the unit in the names.
_AXIS_TITLES = {
    "": "wavelength (number in the column name)",
    "nm": "wavelength (nm)",
    "um": "wavelength (µm)",
    "µm": "wavelength (µm)",
    "cm-1": "wavenumber (1/cm)",
    "cm^-1": "wavenumber (1/cm)",
    "cm⁻¹": "wavenumber (1/cm)",
    "1/cm": "wavenumber (1/cm)",
    "ppm": "chemical shift (ppm)",
    "eV": "energy (eV)",
}
_NUMBER = re.compile(r"X?[+-]?\d+(?:[.,]\d+)?(?:[eE][+-]?\d+)?\s*")
# Characters that turn the direction of the text around them: they hide what a name says.
_OVERRIDES = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


@dataclass(frozen=True, kw_only=True)
class FeatureAxis:
    """Positions and names of the predictors.

    Attributes
    ----------
    positions : (p,) array
        The numbers in the names, or 1..p.
    names : tuple of str
        Readable names, of bounded length and without control characters.
    is_numeric : bool
        Whether the names are numbers, such as wavelengths.
    title : str
        What the positions are, with their unit.
    order : (p,) array of int
        Predictors from left to right.
    """

    positions: Array
    names: tuple[str, ...]
    is_numeric: bool
    title: str
    order: npt.NDArray[np.intp]


def feature_axis(names: Sequence[str] | None, n_features: int) -> FeatureAxis:
    """Place predictors by the numbers in their names, or in the given order.

    Names are numbers if all are (`plsdof.columns.header_number`), with the same unit or none, and
    no two are equal. The numbers 0, 1, 2, ... or 1, 2, 3, ... only count the columns.

    Examples
    --------
    >>> axis = feature_axis(["1100 nm", "1102 nm", "1104 nm"], 3)
    >>> axis.positions, axis.title
    (array([1100., 1102., 1104.]), 'wavelength (nm)')
    >>> feature_axis(["age", "1102"], 2).is_numeric
    False
    """
    if names is None or len(names) != n_features:
        names = [f"x{i + 1}" for i in range(n_features)]
    found = _numbers(names)
    if found is None:
        positions, title = np.arange(1.0, n_features + 1), "predictor (in the order of the columns)"
    else:
        positions, title = found
    return FeatureAxis(
        positions=read_only(positions),
        names=tuple(readable(name) for name in names),
        is_numeric=found is not None,
        title=title,
        order=np.argsort(positions, kind="stable"),
    )


def readable(text: str, most: int = 60) -> str:
    """Return text fit to be shown in one line: bounded, no control characters or overrides.

    Examples
    --------
    >>> readable(" two   words ")
    'two words'
    >>> readable("x" * 100, most=10)
    'xxxxxxxxx…'
    """
    line = " ".join(text[: 4 * most].split()) or "(no name)"
    clean = "".join(c if is_harmless(c) else "\ufffd" for c in line)
    return clean if len(clean) <= most and len(text) <= 4 * most else clean[: most - 1] + "…"


def is_harmless(character: str) -> bool:
    """Whether a character neither controls the output nor turns the text around it."""
    return character not in _OVERRIDES and unicodedata.category(character) not in ("Cc", "Cs")


def _numbers(names: Sequence[str]) -> tuple[Array, str] | None:
    found = [header_number(name) for name in names]
    values = np.array([number for number in found if number is not None])
    if len(values) < max(2, len(names)) or not np.all(np.isfinite(values)):
        return None
    units = {_NUMBER.sub("", name.strip(), count=1) for name in names}
    if len(units) > 1 or len(np.unique(values)) < len(values) or _only_counts(values):
        return None
    unit = units.pop()
    return values, _AXIS_TITLES.get(unit, f"position ({unit})")


def _only_counts(values: Array) -> bool:
    return bool(values[0] in (0, 1) and np.all(np.diff(values) == 1))
