"""How a text file is encoded."""

import codecs
import re

from plsdof.errors import InvalidInputError

_BLOCK = 1 << 20
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# A text file has hardly any control characters besides tab and line ends.
_CONTROL = bytes(set(range(32)) - set(b"\t\n\v\f\r"))
_MOST_CONTROL = 0.02
# Signs such as the euro in Windows' encoding, control characters in Latin-1.
_WINDOWS = re.compile(rb"[\x80-\x9f]")


def find_encoding(content: bytes) -> str:
    """Return utf-8, utf-8-sig, utf-16, cp1252 or latin-1; refuse what is not text."""
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            return _checked(content, encoding)
    if b"\0" in content:
        return _without_mark(content)
    head = content[:_BLOCK]
    if len(head) - len(head.translate(None, _CONTROL)) > _MOST_CONTROL * len(head):
        raise InvalidInputError("the file is binary, not a text table.")
    if _decodes(content, "utf-8"):
        return "utf-8"
    return "cp1252" if _WINDOWS.search(content) and _decodes(content, "cp1252") else "latin-1"


def _without_mark(content: bytes) -> str:
    """Tell UTF-16 without its mark (every second byte is NUL) from a binary file."""
    head = content[:4096]
    for encoding, zero in (("utf-16-le", head[1::2]), ("utf-16-be", head[::2])):
        if zero.count(0) > 0.9 * len(zero) and head.count(0) == zero.count(0):
            return _checked(content, encoding)
    raise InvalidInputError(
        f"the file contains NUL bytes (the first one at byte {content.index(0)}); it is binary or "
        "damaged. Save the table as CSV in UTF-8."
    )


def _checked(content: bytes, encoding: str) -> str:
    if not _decodes(content, encoding):
        raise InvalidInputError(
            f"the file starts like {encoding} text but is not; it is damaged or binary."
        )
    return encoding


def _decodes(content: bytes, encoding: str) -> bool:
    """Whether all bytes are valid, block by block so that no second copy is held."""
    decoder = codecs.getincrementaldecoder(encoding)()
    view = memoryview(content)
    try:
        for start in range(0, len(content), _BLOCK):
            decoder.decode(view[start : start + _BLOCK])
        decoder.decode(b"", final=True)
    except UnicodeError:
        return False
    return True
