"""Spectra from files of instruments: JCAMP-DX, SPC, OPUS, MATLAB, two columns of text.

What a file is, its first bytes tell. Each reader returns `Spectra`; `joined` puts those of several
files below each other after it has checked that axis and units agree.
"""

import re
import struct
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from plsdof._core.inputs import Array
from plsdof.errors import InvalidInputError, MissingExtraError
from plsdof.files.columns import listed, shortened, shortened_path

# Points of two axes that differ by a smaller share of their distance are the same point.
_SAME_POINT = 0.01
# Two columns with fewer rows are a small table.
_FEWEST_POINTS = 10
# What a file may say about its spectra, or not.
_SAID = {"unit": "unit of the axis", "quantity": "quantity"}
# How formats spell the units of an axis that column names may carry.
_UNITS = {
    "cm-1": ("1/cm", "cm-1", "cm^-1", "cm⁻¹", "wavenumber", "wavenumbers", "wn"),
    "nm": ("nm", "nanometer", "nanometers", "nanometre", "nanometres"),
    "µm": ("µm", "μm", "um", "mi", "micrometer", "micrometers", "micrometre", "micrometres"),
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Spectra:
    """Spectra over one axis.

    Attributes
    ----------
    format : str
        What the file is, in words.
    axis : (p,) array
    values : (n, p) array
    unit, quantity : str
        Of the axis and of the values; "" if the file does not say.
    titles : tuple of str
        What the file calls its spectra; empty if it does not.
    ids : tuple of str
        Set by `joined`: names of the files, with a number where a file holds several spectra.
    columns : dict of (n,) arrays
        What else the file knows of each spectrum, numbers or texts.
    notes : tuple of str
        What had to be guessed, or was passed over.
    """

    format: str
    axis: Array
    values: Array
    unit: str = ""
    quantity: str = ""
    titles: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    columns: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        """Names of the points of the axis, as short as tells them apart; with a known unit."""
        unit = f" {self.unit}" if self.unit in _UNITS else ""
        for digits in (6, 9, 12, 17):  # float32 has six good ones
            names = [f"{point:.{digits}g}" for point in self.axis]
            if len(set(names)) == len(names):
                break
        return [f"{name}{unit}" for name in names]


def is_spectra(content: bytes) -> bool:
    """Whether the content of a file is that of a known format for spectra."""
    return _format(content) is not None


def read_spectra(content: bytes, source: str, choice: str | None = None) -> Spectra:
    r"""Read the spectra of one file; of several matrices in it the one that ``choice`` names.

    Examples
    --------
    >>> lines = "".join(f"{4000 - 2 * i},{i / 10}\n" for i in range(12))
    >>> found = read_spectra(lines.encode(), "a.dpt")
    >>> found.axis[:2], found.values.shape
    (array([4000., 3998.]), (1, 12))
    """
    read = _format(content)
    if read is None:
        raise InvalidInputError("the file is not one of spectra in a known format.")
    if choice is not None and read is not _from_matlab:
        raise InvalidInputError("a sheet can be chosen in Excel and MATLAB files only.")
    try:
        found = read(content, source, choice) if choice is not None else read(content, source)
    except InvalidInputError:
        raise
    except (struct.error, IndexError, KeyError, TypeError, ValueError) as error:
        raise InvalidInputError(f"the file is damaged or cut off ({error}).") from error
    steps = np.diff(found.axis)
    if found.values.shape[1] < 2 or not (np.all(steps > 0) or np.all(steps < 0)):
        raise InvalidInputError("the axis of the spectra does not rise or fall throughout.")
    return found


def joined(parts: Sequence[tuple[str, Spectra]]) -> Spectra:
    """Put the spectra of files below each other: same format of axis, same units, or an error."""
    file, first = parts[0]
    known = {key: next(filter(None, (getattr(one, key) for _, one in parts)), "") for key in _SAID}
    for other, one in parts:
        for key, what in _SAID.items():
            if getattr(one, key) not in ("", known[key]):
                raise _unlike(other, file, what, f"{getattr(one, key)} instead of {known[key]}")
        if len(one.axis) != len(first.axis):
            how = f"{len(one.axis)} instead of {len(first.axis)}"
            raise _unlike(other, file, "number of points", how)
        if np.any(np.abs(one.axis - first.axis) > _SAME_POINT * np.abs(np.diff(first.axis)).min()):
            reach = [f"{axis[0]:g} to {axis[-1]:g}" for axis in (one.axis, first.axis)]
            raise _unlike(other, file, "axis", " instead of ".join(reach))
        if set(one.columns) != set(first.columns):
            raise _unlike(other, file, "set of columns", listed(list(one.columns), 4, shortened))
    # Names of files without their ending, unless that is what tells them apart.
    stems = Counter(Path(name).stem for name, _ in parts)
    names = [
        Path(name).stem if stems[Path(name).stem] == 1 else Path(name).name for name, _ in parts
    ]
    named = list(zip(names, (one for _, one in parts), strict=True))
    notes = dict.fromkeys(note for _, one in parts for note in one.notes)
    for key, what in _SAID.items():
        silent = [name for name, one in named if not getattr(one, key)]
        if known[key] and silent:
            shown = f"{listed(silent, 3, shortened)}; taken for {known[key]}, as in other files."
            notes[f"No {what} in {shown}"] = None
    return replace(
        first,
        unit=known["unit"],
        quantity=known["quantity"],
        notes=tuple(notes),
        values=np.vstack([one.values for _, one in parts]),
        titles=tuple(t for _, one in parts for t in one.titles or ("",) * len(one.values)),
        ids=tuple(
            name if len(one.values) == 1 else f"{name}-{number + 1}"
            for name, one in named
            for number in range(len(one.values))
        ),
        columns={
            name: np.concatenate([one.columns[name] for _, one in parts]) for name in first.columns
        },
    )


def _unlike(other: str, first: str, what: str, how: str) -> InvalidInputError:
    return InvalidInputError(
        f"{shortened_path(other)} has another {what} than {shortened_path(first)}: {how}; spectra "
        "that are fitted together need one axis."
    )


def _known_unit(text: str) -> str:
    """Return a unit spelled as in column names, or as it is."""
    plain = text.strip().lower()
    return next((unit for unit, words in _UNITS.items() if plain in words), plain)


# The formats, and how they begin
# -------------------------------

_OPUS, _MATLAB, _HDF5 = b"\x0a\x0a\xfe\xfe", b"MATLAB 5.0", b"MATLAB 7.3"
_ZIP = b"PK\x03\x04"
# Second byte of SPC files: written on little and big endian machines, and before 1996.
_SPC = {0x4B: "<", 0x4C: ">", 0x4D: ""}
_POINT = re.compile(
    rb"\s*(?:([+-]?[\d.]+(?:e[+-]?\d+)?)\s*,\s*([+-]?[\d.]+(?:e[+-]?\d+)?)"
    rb"|([+-]?[\d.,]+(?:e[+-]?\d+)?)\s*[;\t ]\s*([+-]?[\d.,]+(?:e[+-]?\d+)?))[\s;,]*",
    re.IGNORECASE,
)
_HEADING = re.compile(
    rb"[#\s\"]*(wave ?(length|number)|raman ?shift|(nm|cm-1|cm\^-1|1/cm)\b)", re.I
)
_IN_HEADING = re.compile(r"\b(nm|[µμu]m|cm\^?-1|1/cm)(?=$|\W)", re.IGNORECASE)


def _format(content: bytes) -> Callable[..., Spectra] | None:
    """Return the reader of a file, None if it is none of these."""
    start = content[:1000].removeprefix(b"\xef\xbb\xbf").lstrip()
    if start[:7].upper() == b"##TITLE":
        return _from_jcamp
    if content.startswith(_OPUS):
        return _from_opus
    if content.startswith((_MATLAB, _HDF5)):
        return _from_matlab
    # Text has no zero bytes, and Excel files begin like one kind of SPC.
    if len(content) > 512 and content[1] in _SPC and b"\0" in content[2:32]:
        return None if content.startswith(_ZIP) else _from_spc
    lines = start.splitlines()[:4]
    if len(lines) > 1 and _HEADING.match(lines[0]):
        del lines[0]
    if len(lines) < 3 or not all(map(_POINT.fullmatch, lines[:2])):
        return None
    return _from_two_columns if len(_points(content)) >= _FEWEST_POINTS else None


# Two columns of text
# -------------------


def _points(content: bytes) -> list[tuple[float, float]]:
    """Return pairs of numbers, none if some line below a heading is not one."""
    lines = [line for line in content.removeprefix(b"\xef\xbb\xbf").splitlines() if line.strip()]
    found = [_POINT.fullmatch(line) for line in lines[bool(_HEADING.match(lines[0])) :]]
    try:
        pairs = [
            (
                float(one[1] or one[3].replace(b",", b".")),
                float(one[2] or one[4].replace(b",", b".")),
            )
            for one in found
            if one is not None
        ]
    except ValueError:  # 1.2.3, a date
        return []
    rises = np.diff([x for x, _ in pairs])
    return pairs if len(pairs) == len(found) and (np.all(rises > 0) or np.all(rises < 0)) else []


def _from_two_columns(content: bytes, source: str) -> Spectra:  # noqa: ARG001
    heading = content.lstrip().splitlines()[0].decode("latin-1")
    unit = _IN_HEADING.search(heading)
    axis, values = np.array(_points(content)).T
    return Spectra(
        format="two columns of text",
        axis=axis,
        values=values[None, :],
        unit="" if unit is None else _known_unit(unit[1].replace("^", "")),
    )


# JCAMP-DX 4.24: McDonald and Wilks (1988), Applied Spectroscopy 42, 151-162
# --------------------------------------------------------------------------
#
# The library jcamp fails where a repeated value is not a difference, or repeats ten times.

# First digits of squeezed values, of differences and of repeats (section 5.9 of the paper).
_SQUEEZED = dict(zip("@ABCDEFGHIabcdefghi", (*range(10), *range(-1, -10, -1)), strict=True))
_DIFFERENCES = dict(zip("%JKLMNOPQRjklmnopqr", (*range(10), *range(-1, -10, -1)), strict=True))
_REPEATS = dict(zip("STUVWXYZs", range(1, 10), strict=True))
_TOKEN = re.compile(r"[@A-Ia-i%J-Rj-rS-Zs]\d*|[+-]?(?:\d+\.?\d*|\.\d+)(?:[Ee][+-]\d+)?|\?|[^\s,;]")
_RECORD = re.compile(r"^##([^=\n]*)=(.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)


def _from_jcamp(content: bytes, source: str) -> Spectra:  # noqa: ARG001
    text = re.sub(r"\$\$.*", "", content.decode("utf-8", errors="replace"))
    blocks: list[dict[str, str]] = []
    for label, value in _RECORD.findall(text):
        name = re.sub(r"[\s/_-]", "", label).upper()
        if name == "TITLE":  # a file of several spectra begins a block with each
            blocks.append({})
        blocks[-1][name] = value.strip()
    spectra = [one for one in map(_jcamp_block, blocks) if one is not None]
    if not spectra:
        raise InvalidInputError("the JCAMP-DX file has no XYDATA or XYPOINTS of one spectrum.")
    found = replace(joined([(f"block {i + 1}", one) for i, one in enumerate(spectra)]), ids=())
    # A block that only holds the others has no data of its own.
    empty = len(blocks) - len(spectra) - sum("BLOCKS" in block for block in blocks)
    if empty > 0:
        found = replace(
            found, notes=(*found.notes, f"Blocks without a spectrum, left out: {empty}.")
        )
    return found


def _jcamp_block(block: Mapping[str, str]) -> Spectra | None:
    """Return the spectrum of a block, None if it has none."""
    form, _, data = (block.get("XYDATA") or block.get("XYPOINTS") or "").partition("\n")
    if not data:
        return None
    points = int(float(block["NPOINTS"]))
    if "++" in form:
        axis = np.linspace(float(block["FIRSTX"]), float(block["LASTX"]), points)
        values = np.array(list(_ordinates(data.splitlines())))
    else:
        numbers = np.array([float(one) for one in re.split(r"[\s,;]+", data.strip())])
        axis, values = numbers[::2] * float(block.get("XFACTOR", 1)), numbers[1::2]
    if not len(axis) == len(values) == points:
        raise InvalidInputError(f"{len(values)} values where NPOINTS promises {points}.")
    return Spectra(
        format="JCAMP-DX",
        axis=axis,
        values=values[None, :] * float(block.get("YFACTOR", 1)),
        unit=_known_unit(block.get("XUNITS", "")),
        quantity=block.get("YUNITS", "").lower(),
        titles=(block["TITLE"],),
    )


def _ordinates(lines: Sequence[str]) -> Iterator[float]:
    """Return the ordinates of lines that begin with an abscissa, whatever form they have."""
    last, step, is_difference = 0.0, 0.0, False
    for line in lines:
        # After differences a line repeats the last value, so that errors show.
        is_check = is_difference
        for token in _TOKEN.findall(line)[1:]:
            start, rest = token[0], token[1:]
            if start in _REPEATS:
                for _ in range(int(f"{_REPEATS[start]}{rest}") - 1):
                    last += step if is_difference else 0.0
                    yield last
                continue
            is_difference = start in _DIFFERENCES
            if is_difference:
                step = float(f"{_DIFFERENCES[start]}{rest}")
                value = last + step
            elif start in _SQUEEZED:
                value = float(f"{_SQUEEZED[start]}{rest}")
            else:
                value = np.nan if start == "?" else float(token)
            if is_check and value != last:
                raise InvalidInputError(f"a check of its values fails: {last:g}, not {value:g}.")
            last = value
            if not is_check:
                yield value
            is_check = False


# SPC, new format: Galactic Industries (1996), SPC.H
# --------------------------------------------------
#
# The library spc-io takes the exponent of a single spectrum from the wrong header.

_SPC_UNITS = {1: "cm-1", 2: "µm", 3: "nm", 13: "raman shift (cm-1)"}
_SPC_QUANTITIES = {2: "absorbance", 3: "kubelka-munk", 11: "log(1/r)", 128: "transmission"}
_SPC_QUANTITIES |= {129: "reflectance"}
_HALF, _MULTI, _EACH_AXIS, _AXIS = 0x01, 0x04, 0x40, 0x80
_FLOAT = -128


def _from_spc(content: bytes, source: str) -> Spectra:  # noqa: ARG001
    order = _SPC[content[1]]
    if not order:
        raise InvalidInputError("the SPC file has the format of before 1996; save it anew as SPC.")
    flags, exponent = content[0], struct.unpack_from("b", content, 3)[0]
    points, first, last, count = struct.unpack_from(f"{order}iddi", content, 4)
    title = content[88:218].split(b"\0")[0].decode("latin-1").strip()
    place = 512

    def take(kind: str, size: int) -> Array:
        nonlocal place
        found = np.frombuffer(content, f"{order}{kind}", size, place).astype(np.float64)
        place += found.size * int(kind[1])
        return found

    common = take("f4", points) if flags & _AXIS and not flags & _EACH_AXIS else None
    found = []
    for number in range(max(1, count)):
        scale, size = struct.unpack_from("b", content, place + 1)[0], points
        if flags & _EACH_AXIS:
            size = struct.unpack_from(f"{order}i", content, place + 16)[0]
        place += 32
        axis = take("f4", size) if flags & _EACH_AXIS else common
        if axis is None:
            axis = np.linspace(first, last, size)
        if _FLOAT in (exponent, scale):
            values = take("f4", size)
        else:
            bits = 16 if flags & _HALF else 32
            values = take(f"i{bits // 8}", size)
            values *= 2.0 ** ((scale if flags & _MULTI else exponent) - bits)
        one = Spectra(format="SPC", axis=axis, values=values[None, :], titles=(title,))
        found.append((f"subfile {number + 1}", one))
    return replace(
        joined(found),
        ids=(),
        unit=_SPC_UNITS.get(content[28], ""),
        quantity=_SPC_QUANTITIES.get(content[29], ""),
    )


# OPUS, by the library brukeropus
# -------------------------------

# What is taken if a file holds several: results before the single channel of a sample.
_OPUS_KINDS = ("a", "logr", "atr", "km", "r", "t", "ra", "pas", "e", "sm")


def _from_opus(content: bytes, source: str) -> Spectra:  # noqa: ARG001
    try:
        from brukeropus import read_opus
    except ImportError as error:
        raise MissingExtraError("brukeropus", "instruments", "Reading OPUS files") from error
    file = read_opus(source)
    kinds = [key for key in _OPUS_KINDS if key in file.all_data_keys]
    if not kinds:
        raise InvalidInputError("the OPUS file has no spectrum of a sample.")
    data, *others = [getattr(file, kind) for kind in kinds]
    more = listed([one.label.lower() for one in others])
    values = np.atleast_2d(np.asarray(data.y, dtype=np.float64))
    name = str(file.params.snm).strip() if "snm" in file.params.keys() else ""  # noqa: SIM118
    return Spectra(
        format="OPUS",
        axis=np.asarray(data.x, dtype=np.float64),
        values=values,
        unit=_known_unit(str(data.params.dxu)),
        quantity=data.label.lower(),
        titles=(name,) * len(values),
        notes=(f"Read: {data.label.lower()}; the file also has {more}.",) if others else (),
    )


# MATLAB, by scipy
# ----------------


def _from_matlab(content: bytes, source: str, choice: str | None = None) -> Spectra:
    from scipy.io import loadmat

    if content.startswith(_HDF5):
        raise InvalidInputError("the MATLAB file is of version 7.3; save it with -v7.")
    found = {name: one for name, one in loadmat(source).items() if name[0] != "_"}
    numbers = {
        name: one.astype(np.float64)
        for name, one in found.items()
        if one.dtype.kind in "fiu" and one.ndim == 2
    }
    matrices = {name: one for name, one in numbers.items() if min(one.shape) > 1}
    choice = next(iter(matrices)) if choice is None and len(matrices) == 1 else choice
    if choice not in matrices:
        there = listed(list(matrices), 8, shortened) or "none"
        raise InvalidInputError(
            f"one matrix with a row for each spectrum is needed, and there are {there}; choose one "
            "with --sheet."
        )
    n, p = matrices[choice].shape
    vectors = {name: one.ravel() for name, one in numbers.items() if 1 in one.shape}
    axes = [
        name for name, one in vectors.items() if one.size == p and (p != n or len(found[name]) == 1)
    ]
    columns: dict[str, Any] = {
        name: one for name, one in vectors.items() if one.size == n and name not in axes
    }
    columns |= {
        name: np.array([str(np.squeeze(text)).strip() for text in one.ravel()], dtype=object)
        for name, one in found.items()
        if one.dtype.kind in "OU" and one.size == n
    }
    notes = []
    if len(axes) != 1:
        why = f"{listed(axes, 4, shortened)} may be it" if axes else "no vector is as long"
        notes.append(f"The axis is not known ({why}): points are numbered from 1.")
    unused = [name for name in found if name not in (choice, *columns, *axes)]
    if unused:
        notes.append(f"Not read: {listed(unused, 4, shortened)}.")
    return Spectra(
        format="MATLAB",
        axis=vectors[axes[0]] if len(axes) == 1 else np.arange(1.0, p + 1),
        values=matrices[choice],
        columns=columns,
        notes=tuple(notes),
    )
