"""Files of instruments with seeded damage."""

import io
import struct
import zlib
from functools import cache

import numpy as np
import scipy.io

from _helpers.instruments import jcamp_text, mat_bytes, opus_bytes, spc_bytes

AXIS = np.linspace(1100, 1122, 12)
ROWS = np.outer(np.arange(1, 5), np.linspace(0.125, 1.5, 12))
# What a damaged or forged header says: nothing, everything, the largest, the smallest, too many.
_NUMBERS = (0, -1, 2**31 - 1, -(2**31), 500_000_000, 1, 13)
_WORDS = (b"999999999", b"1e999", b"-1", b"nan", b"S99999999", b"0", b"", b"%", b"?", b"##", b"\n")
_TEXTS = ("jcamp packed", "jcamp pairs", "jcamp blocks", "text")


@cache
def _made() -> dict[str, bytes]:
    lines = ["1100A0KLJJ", "1110A7%JJJ", "1120B0V"]
    small = jcamp_text(["1 5 6 7"], 1, 3, 3)
    made = {
        "jcamp packed": jcamp_text(lines, 1100, 1122, 12, y_factor="0.5"),
        "jcamp pairs": jcamp_text(["1, 5; 2.5, 6", "4, 7"], 1, 4, 3, form="(XY..XY)"),
        "jcamp blocks": f"##TITLE=all\n##BLOCKS=2\n{small}{small}##END=\n",
        "text": "".join(f"{x:.1f}\t{y:.4f}\n" for x, y in zip(AXIS, ROWS[0], strict=True)),
    }
    content = {
        "X": ROWS,
        "nm": AXIS,
        "id": np.array(["a", "b", "c", "d"], dtype=object),
        "more": {"a": 1.0, "b": [np.eye(2), "text"]},
    }
    streams = io.BytesIO(), io.BytesIO()
    scipy.io.savemat(streams[0], content)
    scipy.io.savemat(streams[1], content, do_compression=True)
    return {
        **{name: text.encode() for name, text in made.items()},
        "spc": spc_bytes(ROWS[:1], AXIS),
        "spc integers": spc_bytes(ROWS, AXIS, stored="int16", own_axis="common"),
        "spc axes": spc_bytes(ROWS, AXIS, own_axis="each", order=">"),
        "opus": opus_bytes(ROWS[0], 4000, 3890, kinds=[(1, 1), (3, 4)]),
        "opus series": opus_bytes(ROWS, 4000, 3890, series=True),
        "matlab": streams[0].getvalue(),
        "matlab packed": streams[1].getvalue(),
        "matlab packed anew": mat_bytes({"X": ROWS}),
    }


def originals() -> list[str]:
    """Return the names of the files that can be damaged."""
    return list(_made())


def original(form: str) -> bytes:
    """Return a file before it is damaged."""
    return _made()[form]


def damaged(form: str, seed: int) -> bytes:
    """Return a file with one to three places changed, cut, doubled, or overwritten by a number."""
    rng = np.random.default_rng([seed, originals().index(form)])
    content = _made()[form]
    if form != "matlab packed anew":
        return _changed(content, rng, text=form in _TEXTS)
    # The headers of elements are behind the compression.
    small = zlib.compress(_changed(content[128:], rng, text=False))
    return content[:128] + struct.pack("<II", 15, len(small)) + small


def _changed(content: bytes, rng: np.random.Generator, *, text: bool) -> bytes:
    for _ in range(rng.integers(1, 4)):
        place = int(rng.integers(len(content) or 1))
        kind = rng.integers(5)
        length = int(rng.integers(1, 40))
        if kind == 0:
            new, length = bytes([int(rng.choice([0, 0x7F, 0xFF, rng.integers(256)]))]), 1
        elif kind == 1 and text:
            new, length = bytes(rng.choice(_WORDS)), int(rng.integers(4))
        elif kind == 1:
            place -= place % 4
            new, length = struct.pack(str(rng.choice(["<i", ">i"])), rng.choice(_NUMBERS)), 4
        elif kind == 2:
            new = b""
        elif kind == 3:
            new = 2 * content[place : place + length]
        else:
            new = rng.bytes(length)
        content = content[:place] + new + content[place + length :]
        if rng.integers(6) == 0:
            content = content[: rng.integers(len(content) + 1)]
    return content
