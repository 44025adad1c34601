"""Names of columns that are numbers: the axis of spectra, and what names decide."""

import re
from collections.abc import Sequence

import numpy as np

from plsdof._core.inputs import Array, read_only
from plsdof._core.remarks import Remark

# 1100 | 1100.5 | 1100,5 | 1.1e3 | X1100 and x_1100 (how R spells it) | 1100 nm | 1100 (nm) |
# [1100] | NIR.1100.nm | Abs_1100 | log(1/R) 1100 | λ=1100
_SPECTRAL = (
    r"(?:nir|vis|mir|ir|raman|abs(?:or(?:bance|p(?:tion)?))?|refl(?:ectance)?|wl|wn|"
    r"wave(?:length|number)?|nm|spec(?:tr(?:um|a))?|spc|λ|lambda|log ?\(1/[RT]\))"
)
_NUMBER = re.compile(
    rf"'?(?:X|x_|(?i:{_SPECTRAL})[ ._=-]?)?[(\[]?(?P<number>[+-]?\d+(?:[.,]\d+)?(?:[eE][+-]?\d+)?)"
    r"[)\]]?(?:\s*|[._])[(\[]?"
    r"(?P<unit>nm|um|µm|μm|cm\^?[-−]1|cm⁻[¹1]|1/cm|Hz|kHz|MHz|GHz|THz|eV|ppm)?[)\]]?"
)


def header_number(name: str) -> float | None:
    """Return the wavelength (or other number) that a column name stands for, None if it is text.

    A decimal comma, R's prefix X, words for spectra and a unit are understood.

    Examples
    --------
    >>> [header_number(name) for name in ("1100", "X1100.5", "1100,5 nm", "fat", "V7")]
    [1100.0, 1100.5, 1100.5, None, None]
    >>> [header_number(name) for name in ("NIR.900 nm", "Abs_1100", "wl1100", "gene_7")]
    [900.0, 1100.0, 1100.0, None]
    >>> [header_number(name) for name in ("x_001", "x1", "gene_1")]
    [1.0, None, None]
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


def kind_of_columns(names: Sequence[str]) -> str:
    """Return "spectra" if names of columns are wavelengths, else "table": they differ in units.

    Numbers that only count the columns (0, 1, 2, ... or 1, 2, 3, ...) say nothing.

    Examples
    --------
    >>> kind_of_columns(["900", "902", "904"]), kind_of_columns(["1", "2", "3"])
    ('spectra', 'table')
    """
    axis = wavelengths(names)
    counts = axis is not None and axis[0] in (0, 1) and bool(np.all(np.diff(axis) == 1))
    return "table" if axis is None or counts else "spectra"


# What the names of columns have decided, in words, and what would be asked for otherwise.
_DECIDED = {
    "spectra": (
        "Names of columns are numbers in order, so recipes of spectra were compared, not those of "
        "columns in different units.",
        "table",
    ),
    "table": (
        "Names of columns are not wavelengths, so recipes of tables were compared; those of "
        "spectra are for columns that share a unit and follow each other.",
        "spectra",
    ),
}


def decided(kind: str, **mend: str) -> Remark:
    """Say that names of columns decided which recipes were compared, and what asks for others."""
    words, other = _DECIDED[kind]
    asked = {option: value.format(other) for option, value in mend.items()}
    return Remark(key="recipes-by-columns", words=words, mend=asked)
