"""The text format of Java's .properties files, read as Kafka's scripts read it.

What the properties mean is none of this module's business: see `tidelog.config.broker`.
"""

from __future__ import annotations

import re

from tidelog.config.definitions import InvalidConfig

_BLANKS = " \t\f"
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
# A lonely backslash at the end stands for nothing.
_ESCAPE = re.compile(r"\\(?:u(?P<digits>.{0,4})|(?P<letter>.?))", re.DOTALL)
_FOUR_DIGITS = re.compile("[0-9a-fA-F]{4}")


def parse_properties(text: str) -> dict[str, str]:
    """The properties of a file; raises InvalidConfig that names the line.

    A name given twice is refused: Java would silently keep the last.
    """
    properties: dict[str, str] = {}
    numbers: dict[str, int] = {}
    for number, line in _logical_lines(text):
        split = _find_separator(line)
        name = _unescape(line[:split], number)
        rest = line[split:].lstrip(_BLANKS)
        if rest[:1] in ("=", ":"):
            rest = rest[1:].lstrip(_BLANKS)
        if not name:
            # The line is not shown: it may have a password.
            raise InvalidConfig(f"line {number} has no name before the separator")
        if name in numbers:
            raise InvalidConfig(f"line {number}: {name} is already set on line {numbers[name]}")
        properties[name] = _unescape(rest, number)
        numbers[name] = number
    return properties


def _logical_lines(text: str) -> list[tuple[int, str]]:
    """Lines without blanks in front, comments left out, and continued lines joined."""
    lines: list[tuple[int, str]] = []
    pending: str | None = None
    first_number = 0
    # Only these three ends of line count; str.splitlines knows more of them.
    raw_lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for number, raw in enumerate(raw_lines, start=1):
        line = raw.lstrip(_BLANKS)
        if pending is None:
            # A comment cannot be continued, and what looks like one inside a continued line is not a comment.
            if not line or line[0] in "#!":
                continue
            pending = ""
            first_number = number
        if _ends_in_continuation(line):
            pending += line[:-1]
            continue
        lines.append((first_number, pending + line))
        pending = None
    if pending is not None:
        lines.append((first_number, pending))
    return [(number, line) for number, line in lines if line]


def _ends_in_continuation(line: str) -> bool:
    backslashes = len(line) - len(line.rstrip("\\"))
    return backslashes % 2 == 1


def _find_separator(line: str) -> int:
    """The end of the name: the first =, : or blank that no backslash protects."""
    found = re.match(r"(?:\\.|[^\\=: \t\f])*", line, re.DOTALL)
    assert found is not None
    return found.end()


def _unescape(text: str, number: int) -> str:
    if "\\" not in text:
        return text

    def character(escape: re.Match[str]) -> str:
        if escape["digits"] is None:
            return _ESCAPES.get(escape["letter"], escape["letter"])
        if not _FOUR_DIGITS.fullmatch(escape["digits"]):
            raise InvalidConfig(
                f"line {number}: a backslash with u is not an escape there; four hexadecimal digits must follow"
            )
        return chr(int(escape["digits"], 16))

    # Characters beyond the first plane are written as two escapes, a pair of surrogates.
    return _ESCAPE.sub(character, text).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
