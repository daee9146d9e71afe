"""Sets of characters as Java's regular expressions name them, and how to write one for Python's `re`.

Used by `java_patterns.py` only.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

# First and last code points of ranges, in order, apart from one another.
CharacterSet = tuple[tuple[int, int], ...]

_LAST = 0x10FFFF
_CASE = ord("a") - ord("A")


class UntranslatablePattern(Exception):
    """A regular expression, or a replacement, that is not one of Java or has no equivalent in Python."""


def single(character: int) -> CharacterSet:
    return ((character, character),)


def union(first: CharacterSet, second: CharacterSet) -> CharacterSet:
    joined: list[tuple[int, int]] = []
    for low, high in sorted(first + second):
        if joined and low <= joined[-1][1] + 1:
            joined[-1] = joined[-1][0], max(joined[-1][1], high)
        else:
            joined.append((low, high))
    return tuple(joined)


def complement(characters: CharacterSet) -> CharacterSet:
    gaps = []
    following = 0
    for low, high in characters:
        if low > following:
            gaps.append((following, low - 1))
        following = high + 1
    if following <= _LAST:
        gaps.append((following, _LAST))
    return tuple(gaps)


def intersection(first: CharacterSet, second: CharacterSet) -> CharacterSet:
    return complement(union(complement(first), complement(second)))


def without_case(characters: CharacterSet) -> CharacterSet:
    """With the letters of the other case: those of ASCII only, as Java has it without the flag u."""
    found = characters
    for first, last, distance in (("A", "Z", _CASE), ("a", "z", -_CASE)):
        for low, high in intersection(characters, ((ord(first), ord(last)),)):
            found = union(found, ((low + distance, high + distance),))
    return found


def class_text(characters: CharacterSet) -> str:
    if not characters:
        return "(?!)"
    if characters[0][0] == characters[-1][1]:
        return re.escape(chr(characters[0][0]))
    return "[" + "".join(_character(low) + "-" + _character(high) for low, high in characters) + "]"


def _character(code: int) -> str:
    return f"\\U{code:08x}"


def _ranges(*pairs: str) -> CharacterSet:
    """Of pairs of characters."""
    found: CharacterSet = ()
    for pair in pairs:
        found = union(found, ((ord(pair[0]), ord(pair[-1])),))
    return found


_DIGIT = _ranges("09")
_LOWER, _UPPER = _ranges("az"), _ranges("AZ")
_ALPHA = union(_LOWER, _UPPER)
_ALNUM = union(_ALPHA, _DIGIT)
_WORD = union(_ALNUM, _ranges("_"))
_SPACE = _ranges("\t\r", " ")
_HORIZONTAL = _ranges("\t", " ", "\xa0", "\u1680", "\u180e", "\u2000\u200a", "\u202f", "\u205f", "\u3000")
_VERTICAL = _ranges("\n\r", "\x85", "\u2028\u2029")
_PUNCTUATION = _ranges("!/", ":@", "[`", "{~")

# By the letter of the escape.
NAMED_CLASSES = {
    "d": _DIGIT,
    "h": _HORIZONTAL,
    "s": _SPACE,
    "v": _VERTICAL,
    "w": _WORD,
}
NAMED_CLASSES |= {letter.upper(): complement(characters) for letter, characters in NAMED_CLASSES.items()}

# ASCII only, as in Java without the flag U.
_PROPERTIES = {
    "ASCII": _ranges("\x00\x7f"),
    "Alnum": _ALNUM,
    "Alpha": _ALPHA,
    "Blank": _ranges("\t", " "),
    "Cntrl": _ranges("\x00\x1f", "\x7f"),
    "Digit": _DIGIT,
    "Graph": union(_ALNUM, _PUNCTUATION),
    "Lower": _LOWER,
    "Print": _ranges(" ~"),
    "Punct": _PUNCTUATION,
    "Space": _SPACE,
    "Upper": _UPPER,
    "XDigit": union(_DIGIT, _ranges("af", "AF")),
}
CASED_PROPERTIES = frozenset({"Ll", "Lower", "Lt", "Lu", "Upper"})
_CATEGORIES = frozenset({"L", "Ll", "Lm", "Lo", "Lt", "Lu", "N", "Nd", "Nl", "No", "P", "S", "Z", "Zs"})


def property_set(name: str) -> CharacterSet:
    """Of \\p{name}: the classes of POSIX and the general categories of Unicode."""
    if name in _PROPERTIES:
        return _PROPERTIES[name]
    if name in _CATEGORIES:
        return _category(name)
    known = ", ".join(sorted(_PROPERTIES.keys() | _CATEGORIES))
    raise UntranslatablePattern(f"it has a property of characters that is none of {known}")


@lru_cache(maxsize=len(_CATEGORIES))
def _category(name: str) -> CharacterSet:
    """A tenth of a second: a million characters are asked."""
    found: list[tuple[int, int]] = []
    for code in range(_LAST + 1):
        if unicodedata.category(chr(code)).startswith(name):
            if found and found[-1][1] == code - 1:
                found[-1] = found[-1][0], code
            else:
                found.append((code, code))
    return tuple(found)
