"""Files of instruments, written byte by byte from the specifications of their formats."""

import struct
import zlib
from collections.abc import Sequence

import numpy as np


def spc_bytes(
    spectra: Sequence[Sequence[float]],
    axis: Sequence[float],
    *,
    unit: int = 3,
    title: str = "",
    stored: str = "float",
    own_axis: str = "even",
    order: str = "<",
    exponent: int = 4,
    exponent_in: str = "both",
) -> bytes:
    """Write the new SPC format (Galactic, SPC.H): header of 512 bytes, subfiles with 32 each.

    stored: float, int32 or int16; own_axis: even (first and last), common, or each.
    """
    y = np.asarray(spectra, dtype=float)
    x = np.asarray(axis, dtype=float)
    multi = len(y) > 1
    flags = {"even": 0, "common": 0x80, "each": 0xC0}[own_axis]
    flags |= (0x04 if multi else 0) | (0x01 if stored == "int16" else 0)
    code = -128 if stored == "float" else exponent
    main, sub_exponent = code, code
    if stored != "float" and exponent_in == "main":
        sub_exponent = 0
    if stored != "float" and exponent_in == "sub":
        main = 0
    header = struct.pack(
        order + "BBBbiddiBBBBi9s9sh32s130s30siiBBhf48sfifB187s",
        *(flags, 0x4B if order == "<" else 0x4C, 0, main, x.size, x[0], x[-1], len(y)),
        *(unit, 2, 0, 0, 0, b"", b"", 0, b"", title.encode("latin-1"), b"", 0, 0, 0, 0, 0, 0.0),
        *(b"", 0.0, 0, 0.0, 0, b""),
    )
    assert len(header) == 512
    parts = [header]
    if own_axis == "common":
        parts.append(x.astype(order + "f4").tobytes())
    for number, row in enumerate(y):
        points = x.size if own_axis == "each" else 0
        parts.append(
            struct.pack(
                order + "BbhfffiifI", 0, sub_exponent, number, number, number, 0, points, 0, 0, 0
            )
        )
        if own_axis == "each":
            parts.append(x.astype(order + "f4").tobytes())
        kind = {"float": "f4", "int32": "i4", "int16": "i2"}[stored]
        bits = {"float": 0, "int32": 32, "int16": 16}[stored]
        scale = 1.0 if stored == "float" else 2.0 ** (exponent - bits)
        values = row if stored == "float" else np.round(row / scale)
        parts.append(values.astype(order + kind).tobytes())
    return b"".join(parts)


def opus_bytes(
    spectrum: Sequence[float],
    first: float,
    last: float,
    *,
    name: str = "sample",
    unit: str = "WN",
    kinds: Sequence[tuple[int, int]] = ((3, 4),),
    factor: float = 1.0,
    without: str = "",
    series: bool = False,
) -> bytes:
    """Write an OPUS file: header, directory, status of the data, data, and a sample's name.

    kinds: channel and data of every spectrum in it; series: rows of one block.

    The code of a block holds, from its lowest bits: 2 bits complex (3: amplitude), 2 bits
    channel (1: sample, 3: ratio), 6 bits parameters (1: status of data, 10: origin), 7 bits data
    (1: single channel, 2: interferogram, 4: absorbance), 2 bits derivative, 3 bits extension (2:
    series).
    """
    values = np.atleast_2d(np.asarray(spectrum, dtype="<f4"))

    def entry(key: str, value: object) -> bytes:
        if isinstance(value, int):
            kind_of, raw = 0, struct.pack("<i", value)
        elif isinstance(value, float):
            kind_of, raw = 1, struct.pack("<d", value)
        else:
            raw = str(value).encode("latin-1") + b"\0"
            kind_of, raw = 2, raw + b"\0" * (len(raw) % 2)
        return key.encode() + b"\0" + struct.pack("<HH", kind_of, len(raw) // 2) + raw

    def block(**entries: object) -> bytes:
        raw = b"".join(entry(key, value) for key, value in entries.items()) + b"END\0" + b"\0" * 4
        return raw + b"\0" * (-len(raw) % 4)

    spread = float(factor)
    entries = {
        "DPF": 1,
        "NPT": values.shape[1],
        "FXV": float(first),
        "LXV": float(last),
        "CSF": spread,
        "MXY": float(spread * values.max()),
        "MNY": float(spread * values.min()),
        "DXU": unit,
    }
    status = block(**{key: value for key, value in entries.items() if key != without})
    raw = values.tobytes()
    if series:  # a header, and 152 bytes of information behind each row
        rows = (row.tobytes() + b"\0" * 152 for row in values)
        header = struct.pack("<6i", 0, len(values), 24, 4 * values.shape[1], 152, 0)
        raw = header + b"".join(rows)
    blocks = [(10 << 4, block(SNM=name))]
    for channel, kind in kinds:
        code = 3 | channel << 2 | kind << 10 | (2 << 19 if series else 0)
        blocks += [(code | 1 << 4, status), (code, raw)]
    start = 24
    place = start + 12 * (len(blocks) + 1)
    directory, body = [struct.pack("<3i", 13 << 10, 3 * (len(blocks) + 1), start)], b""
    for code, raw in blocks:
        directory.append(struct.pack("<3i", code, len(raw) // 4, place + len(body)))
        body += raw
    header = b"\x0a\x0a\xfe\xfe" + struct.pack("<d3i", 920622.0, start, 40, len(blocks) + 1)
    return header + b"".join(directory) + body


def mat_bytes(found: dict[str, np.ndarray], order: str = "<", *, packed: bool = False) -> bytes:
    """Write matrices of numbers and of letters in version 5 of MATLAB's format."""

    def element(kind: int, raw: bytes) -> bytes:
        return struct.pack(f"{order}II", kind, len(raw)) + raw + b"\0" * (-len(raw) % 8)

    parts = [b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack(f"{order}HH", 0x0100, 0x4D49)]
    for name, values in found.items():
        letters = values.dtype.kind == "U"
        matrix = element(6, struct.pack(f"{order}II", 4 if letters else 6, 0))
        matrix += element(5, np.array(values.shape, dtype=f"{order}i4").tobytes())
        matrix += element(1, name.encode())
        codes = np.vectorize(ord)(values) if letters else values
        raw = codes.astype(f"{order}{'u2' if letters else 'f8'}").tobytes(order="F")
        matrix += element(4 if letters else 9, raw)
        whole = element(14, matrix)
        if packed:
            small = zlib.compress(whole)
            whole = struct.pack(f"{order}II", 15, len(small)) + small
        parts.append(whole)
    return b"".join(parts)


def jcamp_text(
    lines: Sequence[str],
    first: float,
    last: float,
    points: int,
    *,
    title: str = "sample",
    unit: str = "1/CM",
    y_factor: str = "1.0",
    form: str = "(X++(Y..Y))",
    more: str = "",
) -> str:
    """Write JCAMP-DX 4.24 (McDonald and Wilks 1988) around lines of data."""
    label = "XYDATA" if "++" in form else "XYPOINTS"
    return "\n".join(
        [
            f"##TITLE={title}",
            "##JCAMP-DX=4.24 $$ a comment",
            "##DATA TYPE=INFRARED SPECTRUM",
            f"##XUNITS= {unit}",
            "##YUNITS= ABSORBANCE",
            "##XFACTOR=1.0",
            f"##YFACTOR={y_factor}",
            f"##FIRSTX={first}",
            f"##LASTX={last}",
            f"##NPOINTS={points}",
            *([more] if more else []),
            f"##{label}= {form}",
            *lines,
            "##END=",
            "",
        ]
    )
