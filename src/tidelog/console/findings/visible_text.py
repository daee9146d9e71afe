"""Text with everything in it visible: control characters, marks of direction, and bytes that are not UTF-8. No I/O.

Text becomes pieces: at even places what is shown as it is, at odd places what stands for characters that nobody would
see, or that would change how the rest is shown. The page draws them differently, so that a record which has `U+202E` as
six letters is not taken for one with the character.
"""

from __future__ import annotations

import codecs
import re
from typing import NamedTuple

# Each is an element of the page.
MOST_MARKS = 1000
# From so many on, equal characters in a row are counted instead of repeated.
_COUNTED = 5

# C0 and C1 without tab and newline; format characters, such as those of direction and of no width; line and paragraph
# separators; letters that are empty; what stands for bytes that are not UTF-8 (surrogates); tags; noncharacters.
_UNSEEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_IN_LINES = re.compile(f"[{_UNSEEN}]+")
_IN_ONE_LINE = re.compile(f"[{_UNSEEN}\t\n]+")
_RUN = re.compile(r"(.)\1*", re.DOTALL)
_SHORT = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}
# Python's names for bytes that are not UTF-8.
_FIRST_BYTE, _LAST_BYTE, _BYTE_OFFSET = 0xDC80, 0xDCFF, 0xDC00


class VisibleText(NamedTuple):
    """`used` counts the characters that are in the pieces: fewer than there are if there are too many marks."""

    pieces: list[str]
    used: int


def decoded(data: bytes, *, is_cut: bool = False) -> str:
    """With surrogates for bytes that are not UTF-8. Of data that was cut, half a character at the end is left out."""
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    return decoder.decode(data, final=not is_cut)


def is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def unseen_count(text: str) -> int:
    """Characters that need a mark."""
    return sum(len(found[0]) for found in _IN_LINES.finditer(text))


def visible(text: str, *, in_one_line: bool = False, most_marks: int = MOST_MARKS) -> VisibleText:
    """Tabs and the ends of lines stay as they are, unless all of it is shown in one line."""
    pieces: list[str] = []
    position = 0
    for found in (_IN_ONE_LINE if in_one_line else _IN_LINES).finditer(text):
        if len(pieces) >= 2 * most_marks:
            return VisibleText([*pieces, text[position : found.start()]], found.start())
        pieces += (text[position : found.start()], _marks(found[0]))
        position = found.end()
    return VisibleText([*pieces, text[position:]], len(text))


def shown_name(name: str) -> list[str]:
    """Pieces of a name that comes from a record, in one line."""
    return visible(name, in_one_line=True).pieces


def _marks(characters: str) -> str:
    marks = []
    for run in _RUN.finditer(characters):
        mark, count = _mark(run[1]), len(run[0])
        marks.append(f"{mark}×{count}" if count >= _COUNTED else mark * count)
    return "".join(marks)


def _mark(character: str) -> str:
    known = _SHORT.get(character)
    if known is not None:
        return known
    code = ord(character)
    if _FIRST_BYTE <= code <= _LAST_BYTE:
        return f"\\x{code - _BYTE_OFFSET:02x}"
    return f"\\x{code:02x}" if code < 0x20 or code == 0x7F else f"U+{code:04X}"
