"""Spectra from files of instruments: JCAMP-DX, SPC, OPUS, MATLAB, two columns of text.

What a file is, its first bytes tell. Each reader returns `Spectra`; `joined` puts those of several
files below each other after it has checked that axis and units agree.

Files may be damaged or forged. One guard stands around every reader (`read_spectra`), and nothing
is made as large as a header promises: an array is made of bytes that are there (`_numbers`), an
axis has the length of its values, and what unpacks to far more than its file is refused
(`_require_room`).
"""

import re
import struct
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from plsdof._core.inputs import Array
from plsdof.errors import InvalidInputError
from plsdof.workbench.tables.columns import listed, shortened, shortened_path

# Points of two axes that differ by a smaller share of their distance are the same point.
_SAME_POINT = 0.01
# Two columns with fewer rows are a small table.
_FEWEST_POINTS = 10
# What a file may unpack to in bytes: so many, and so many for each of its own. Spectra pack three
# times, a matrix of zeros a thousand times; and a file with 32 MB of zeros is not to be expected.
_UNPACKED, _UNPACKED_EACH = 2**25, 64
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


def read_spectra(content: bytes, choice: str | None = None) -> Spectra:
    r"""Read the spectra of one file; of several matrices in it the one that ``choice`` names.

    Examples
    --------
    >>> lines = "".join(f"{4000 - 2 * i},{i / 10}\n" for i in range(12))
    >>> found = read_spectra(lines.encode())
    >>> found.axis[:2], found.values.shape
    (array([4000., 3998.]), (1, 12))
    """
    form = _format(content)
    if form is None:
        raise InvalidInputError("the file is not one of spectra in a known format.")
    if choice is not None and form != "MATLAB":
        raise InvalidInputError("a sheet can be chosen in Excel and MATLAB files only.")
    try:
        with np.errstate(all="ignore"):
            found = _READERS[form](content, choice)
    except InvalidInputError:
        raise
    except Exception as error:  # whatever a damaged file leads to
        why = str(error) or type(error).__name__
        raise InvalidInputError(f"the {form} file is damaged or cut off ({why}).") from error
    steps = np.diff(found.axis)
    one_way = np.all(steps > 0) or np.all(steps < 0)
    if found.values.shape[1] < 2 or not one_way or not np.all(np.isfinite(found.axis)):
        raise InvalidInputError("the axis of the spectra does not rise or fall throughout.")
    return found


def _numbers(content: bytes | memoryview, kind: str, count: int, place: int = 0) -> Array:
    """Return so many numbers of a file; an error if they are not there."""
    if count < 1:
        raise InvalidInputError(f"the header promises a spectrum of {count} points.")
    return np.frombuffer(content, kind, count, place).astype(np.float64)


def _require_room(promised: float, content: bytes) -> None:
    """Refuse a file that unpacks to far more bytes than it has."""
    if not promised <= _UNPACKED + _UNPACKED_EACH * len(content):
        raise InvalidInputError(
            f"it unpacks to {promised:.3g} bytes, too many for a file of {len(content)}."
        )


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
_ENTRY = re.compile(rb"[+-]?[\d.]+(?:e[+-]?\d+)?", re.IGNORECASE)
_HEADING = re.compile(
    rb"[#\s\"]*(wave ?(length|number)|raman ?shift|(nm|cm-1|cm\^-1|1/cm)\b)", re.I
)
_IN_HEADING = re.compile(r"\b(nm|[µμu]m|cm\^?-1|1/cm)(?=$|\W)", re.IGNORECASE)


def _format(content: bytes) -> str | None:
    """Return what a file is, in words; None if it is none of these."""
    start = content[:1000].removeprefix(b"\xef\xbb\xbf").lstrip()
    if start[:7].upper() == b"##TITLE":
        return "JCAMP-DX"
    if content.startswith(_OPUS):
        return "OPUS"
    if content.startswith((_MATLAB, _HDF5)):
        return "MATLAB"
    # Text has no zero bytes, and Excel files begin like one kind of SPC.
    if len(content) > 512 and content[1] in _SPC and b"\0" in content[2:32]:
        return None if content.startswith(_ZIP) else "SPC"
    lines = start.splitlines()[:4]
    if len(lines) > 1 and _HEADING.match(lines[0]):
        del lines[0]
    if len(lines) < 3 or None in map(_point, lines[:2]):
        return None
    return "two columns of text" if len(_points(content)) >= _FEWEST_POINTS else None


# Two columns of text
# -------------------


def _point(line: bytes) -> tuple[float, float] | None:
    """Return the two numbers of a line: 1.5,2.5 or with other separators and a decimal comma."""
    line = line.strip(b" \t;,\r\n\v\f")
    for parts in (line.split(b","), re.split(rb"[;\t ]+", line.replace(b",", b"."))):
        entries = [part.strip() for part in parts]
        if len(entries) == 2 and all(map(_ENTRY.fullmatch, entries)):
            try:
                return float(entries[0]), float(entries[1])
            except ValueError:  # 1.2.3, a date
                return None
    return None


def _points(content: bytes) -> list[tuple[float, float]]:
    """Return pairs of numbers, none if some line below a heading is not one."""
    lines = [line for line in content.removeprefix(b"\xef\xbb\xbf").splitlines() if line.strip()]
    found = [_point(line) for line in lines[bool(_HEADING.match(lines[0])) :]]
    pairs = [pair for pair in found if pair is not None]
    rises = np.diff([x for x, _ in pairs])
    return pairs if len(pairs) == len(found) and (np.all(rises > 0) or np.all(rises < 0)) else []


def _from_two_columns(content: bytes, _: str | None) -> Spectra:
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


def _from_jcamp(content: bytes, _: str | None) -> Spectra:
    text = re.sub(r"\$\$.*", "", content.decode("utf-8", errors="replace"))
    blocks: list[dict[str, str]] = []
    for label, value in _RECORD.findall(text):
        name = re.sub(r"[\s/_-]", "", label).upper()
        if name == "TITLE":  # a file of several spectra begins a block with each
            blocks.append({})
        blocks[-1][name] = value.strip()
    full = [block for block in blocks if "\n" in _jcamp_data(block)]
    if not full:
        raise InvalidInputError("the JCAMP-DX file has no XYDATA or XYPOINTS of one spectrum.")
    _require_room(sum(8 * float(block["NPOINTS"]) for block in full), content)
    spectra = list(map(_jcamp_block, full))
    found = replace(joined([(f"block {i + 1}", one) for i, one in enumerate(spectra)]), ids=())
    # A block that only holds the others has no data of its own.
    empty = len(blocks) - len(spectra) - sum("BLOCKS" in block for block in blocks)
    if empty > 0:
        found = replace(
            found, notes=(*found.notes, f"Blocks without a spectrum, left out: {empty}.")
        )
    return found


def _jcamp_data(block: Mapping[str, str]) -> str:
    """Return the form of a block's data, and below it the data."""
    return block.get("XYDATA") or block.get("XYPOINTS") or ""


def _jcamp_block(block: Mapping[str, str]) -> Spectra:
    """Return the spectrum of a block that has one."""
    form, _, data = _jcamp_data(block).partition("\n")
    points = int(float(block["NPOINTS"]))
    if "++" in form:
        # A repeat of two bytes may promise any number of values: one too many is enough to know.
        values = np.fromiter(islice(_ordinates(data.splitlines()), points + 1), np.float64)
        axis = np.linspace(float(block["FIRSTX"]), float(block["LASTX"]), len(values))
        start = float(next(_TOKEN.finditer(data))[0]) * float(block.get("XFACTOR", 1))
        if not abs(start - axis[0]) <= abs(axis[0] - axis[-1]) / (points - 1):
            raise InvalidInputError(f"its first line begins at {start:g}, not at FIRSTX.")
    else:
        numbers = np.array([float(one) for one in re.split(r"[\s,;]+", data.strip("\r\n\t ,;"))])
        axis, values = numbers[::2] * float(block.get("XFACTOR", 1)), numbers[1::2]
    if not len(axis) == len(values) == points:
        raise InvalidInputError(f"its values are not the {points} that NPOINTS promises.")
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


def _from_spc(content: bytes, _: str | None) -> Spectra:
    order = _SPC[content[1]]
    if not order:
        raise InvalidInputError("the SPC file has the format of before 1996; save it anew as SPC.")
    flags, exponent = content[0], struct.unpack_from("b", content, 3)[0]
    points, first, last, count = struct.unpack_from(f"{order}iddi", content, 4)
    title = content[88:218].split(b"\0")[0].decode("latin-1").strip()
    place = 512

    def take(kind: str, size: int) -> Array:
        nonlocal place
        found = _numbers(content, f"{order}{kind}", size, place)
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
        if _FLOAT in (exponent, scale):
            values = take("f4", size)
        else:
            bits = 16 if flags & _HALF else 32
            values = take(f"i{bits // 8}", size)
            values *= 2.0 ** ((scale if flags & _MULTI else exponent) - bits)
        if axis is None:
            axis = np.linspace(first, last, len(values))
        one = Spectra(format="SPC", axis=axis, values=values[None, :], titles=(title,))
        found.append((f"subfile {number + 1}", one))
    return replace(
        joined(found),
        ids=(),
        unit=_SPC_UNITS.get(content[28], ""),
        quantity=_SPC_QUANTITIES.get(content[29], ""),
    )


# OPUS: a directory of blocks
# ---------------------------
#
# The code of a block holds, from its lowest bits: 2 bits complex, 2 bits channel (1: sample), 6
# bits parameters (1: status of data, 10: origin), 7 bits data, 2 bits derivative, 3 bits extension.

# Channel and data of what is taken if a file holds several: results before the single channel.
_OPUS_KINDS = {
    (3, 4): "absorbance",
    (3, 15): "log(reflectance)",
    (3, 16): "atr",
    (3, 6): "kubelka-munk",
    (3, 12): "reflectance",
    (3, 5): "transmittance",
    (3, 10): "raman",
    (3, 17): "photoacoustic",
    (3, 11): "emission",
    (1, 1): "sample spectrum",
}
_STATUS, _ORIGIN, _SERIES = 1 << 4, 10 << 4, 2


def _from_opus(content: bytes, _: str | None) -> Spectra:
    start, _most, count = struct.unpack_from("<3i", content, 12)
    blocks = defaultdict(list)
    for number in range(count):
        code, words, place = struct.unpack_from("<3i", content, start + 12 * number)
        if place <= 0:
            break
        blocks[code & 0x3FFFFF].append((place, memoryview(content)[place : place + 4 * words]))
    of_kind: dict[str, int] = {}
    for code in blocks:
        kind = _OPUS_KINDS.get((code >> 2 & 3 or 3, code >> 10 & 127))
        # Not parameters, reports or compact data, and with a block that describes it.
        if kind and not code >> 4 & 63 and code >> 19 in (0, _SERIES) and code | _STATUS in blocks:
            of_kind[kind] = code
    if not of_kind:
        raise InvalidInputError("the OPUS file has no spectrum of a sample.")
    kind, *others = (kind for kind in _OPUS_KINDS.values() if kind in of_kind)
    code = of_kind[kind]
    # Of several pairs of one kind the last one is the newest.
    (_, data), (_, status) = max(blocks[code]), max(blocks[code | _STATUS])
    known = _opus_parameters(status)
    points = known["NPT"]
    form, scale = "<i4" if known.get("DPF") == 2 else "<f4", known["CSF"]
    if code >> 19 == _SERIES:
        total, first, size, more = struct.unpack_from("<4I", data, 4)
        places = range(first, len(data), size + more)[:total]
        values = [_numbers(data[place : place + size], form, points) for place in places]
        scale = 1.0
    else:
        values = [_numbers(data, form, points)]
    origin = {
        key: value
        for other in blocks
        if other & 0x3F0 == _ORIGIN and other >> 2 & 3 != 2
        for _, raw in blocks[other]
        for key, value in _opus_parameters(raw).items()
    }
    spectra = scale * np.array(values)
    return Spectra(
        format="OPUS",
        axis=np.linspace(known["FXV"], known["LXV"], spectra.shape[1]),
        values=spectra,
        unit=_known_unit(str(known["DXU"])),
        quantity=kind,
        titles=(str(origin.get("SNM", "")).strip(),) * len(spectra),
        notes=(f"Read: {kind}; the file also has {listed(others)}.",) if others else (),
    )


def _opus_parameters(block: memoryview) -> dict[str, Any]:
    """Return the entries of a block: a key of three letters, kind, size in 2-byte words, value."""
    found: dict[str, Any] = {}
    place = 0
    while bytes(block[place : place + 3]) != b"END":
        name, kind, words = struct.unpack_from("<4sHH", block, place)
        place += 8
        if kind < 2:
            (value,) = struct.unpack_from("<d" if kind else "<i", block, place)
        else:
            value = bytes(block[place : place + 2 * words]).split(b"\0")[0].decode("latin-1")
        found[name[:3].decode("latin-1")] = value
        place += 2 * words
    return found


# MATLAB, version 5 to 7: MAT-File Format (MathWorks)
# ---------------------------------------------------
#
# The reader of scipy trusts the headers of elements: one wrong byte can end the process.

_MAT_NUMBERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8"}
_MAT_NUMBERS |= {13: "u8"}
_MAT_TEXTS = {16: "utf-8", 17: "utf-16", 18: "utf-32"}
_MAT_MATRIX, _MAT_PACKED = 14, 15
# Classes of matrices: lists, letters, and from 6 to 15 numbers.
_MAT_CELL, _MAT_LETTERS, _MAT_CLASSES_OF_NUMBERS = 1, 4, range(6, 16)
_MAT_COMPLEX = 0x800


def _mat_elements(content: memoryview, order: str) -> Iterator[tuple[int, memoryview]]:
    """Go through the elements of a file or a matrix: what they are, and their bytes."""
    place = 0
    while place < len(content):
        kind, size = struct.unpack_from(f"{order}II", content, place)
        start, step = place + 8, size if kind == _MAT_PACKED else -(-size // 8) * 8
        if kind >> 16:  # up to four bytes within the tag
            kind, size, start, step = kind & 0xFFFF, kind >> 16, place + 4, 0
        if start + size > len(content) or (not step and size > 4):
            raise InvalidInputError(f"an element of {size} bytes does not end within its file.")
        yield kind, content[start : start + size]
        place += 8 + step


def _mat_matrix(content: memoryview, order: str) -> tuple[str, Any]:
    """Return name and values of a matrix: numbers, texts, or None for what is neither."""
    (_, flags), (_, dims), (_, name), *parts = _mat_elements(content, order)
    code = struct.unpack_from(f"{order}I", flags)[0]
    shape = np.frombuffer(dims, f"{order}i4").tolist()
    values: Any = None
    if min(shape) < 0:
        raise InvalidInputError(f"a matrix has the shape {shape}.")
    if code & 0xFF == _MAT_CELL:
        inside = [_mat_matrix(part, order)[1] for _, part in parts]
        if all(one is not None and one.size < 2 for one in inside):  # a text or a number in each
            alone = [one.ravel()[0] if one.size else "" for one in inside]
            texts = [one if isinstance(one, str) else f"{one:.15g}" for one in alone]
            values = np.array(texts, dtype=object)
    elif code & 0xFF == _MAT_LETTERS:
        ((kind, raw),) = parts
        if kind in _MAT_TEXTS:
            ends = "" if kind == 16 else {"<": "-le", ">": "-be"}[order]
            letters = list(str(raw, _MAT_TEXTS[kind] + ends))
        else:
            letters = [chr(one) for one in np.frombuffer(raw, order + _MAT_NUMBERS[kind])]
        # Of rows without letters a header may promise any number.
        rows = np.array(letters, dtype=object).reshape(shape, order="F")[: len(letters)]
        values = np.array(["".join(row.ravel()) for row in rows], dtype=object)
    elif code & 0xFF in _MAT_CLASSES_OF_NUMBERS and not code & _MAT_COMPLEX:
        ((kind, raw),) = parts
        numbers = np.frombuffer(raw, order + _MAT_NUMBERS[kind]).astype(np.float64)
        values = numbers.reshape(shape, order="F")
    return str(name, "latin-1"), values


def _mat_content(content: bytes) -> dict[str, Any]:
    """Return what a file holds by name, unpacked where it is packed."""
    order = {b"IM": "<", b"MI": ">"}[content[126:128]]
    found, unpacked = {}, 0
    for kind, raw in _mat_elements(memoryview(content)[128:], order):
        if kind == _MAT_PACKED:
            # A byte more than there is room for tells that there is more.
            room = _UNPACKED + _UNPACKED_EACH * len(content) - unpacked
            whole = zlib.decompressobj().decompress(raw, room + 1)
            unpacked += len(whole)
            _require_room(unpacked, content)
            ((kind, raw),) = _mat_elements(memoryview(whole), order)
        if kind != _MAT_MATRIX:
            raise InvalidInputError(f"an element of kind {kind} is not a matrix.")
        name, values = _mat_matrix(raw, order)
        if name:  # functions have a work space without one
            found[name] = values
    return found


def _from_matlab(content: bytes, choice: str | None) -> Spectra:
    if content.startswith(_HDF5):
        raise InvalidInputError("the MATLAB file is of version 7.3; save it with -v7.")
    found = _mat_content(content)
    numbers = {
        name: one
        for name, one in found.items()
        if one is not None and one.dtype.kind == "f" and one.ndim == 2
    }
    matrices = {name: one for name, one in numbers.items() if min(one.shape) > 1}
    choice = next(iter(matrices)) if choice is None and len(matrices) == 1 else choice
    if choice not in matrices:
        there = listed(list(matrices), 8, shortened) or "none"
        raise InvalidInputError(
            f"one matrix with a row for each spectrum is needed, and there are {there}; choose one "
            "by its name (sheet)."
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
        name: np.array([text.strip() for text in one], dtype=object)
        for name, one in found.items()
        if one is not None and one.dtype.kind == "O" and one.size == n
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


_READERS = {
    "JCAMP-DX": _from_jcamp,
    "SPC": _from_spc,
    "OPUS": _from_opus,
    "MATLAB": _from_matlab,
    "two columns of text": _from_two_columns,
}
