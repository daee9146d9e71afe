"""The text format of Java's .properties files, read as Kafka's scripts read it.

What the properties mean is none of this module's business: see `tidelog.config.broker`.
"""

from __future__ import annotations

from dataclasses import dataclass

from tidelog.config.definitions import InvalidConfig

_BLANKS = " \t\f"
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Property:
    """One entry of a file, with the number of its (first) line."""

    name: str
    value: str
    line: int


def parse_properties(text: str) -> dict[str, str]:
    """The properties of a file. A name given twice is refused: Java would silently keep the last."""
    properties: dict[str, Property] = {}
    for entry in iterate_properties(text):
        earlier = properties.get(entry.name)
        if earlier is not None:
            raise InvalidConfig(f"line {entry.line}: {entry.name} is already set on line {earlier.line}")
        properties[entry.name] = entry
    return {entry.name: entry.value for entry in properties.values()}


def iterate_properties(text: str) -> list[Property]:
    """All entries in the order of the file, repeated names included; raises InvalidConfig that names the line."""
    entries: list[Property] = []
    for number, line in _logical_lines(text):
        split = _find_separator(line)
        name = _unescape(line[:split], number)
        rest = line[split:].lstrip(_BLANKS)
        if rest[:1] in ("=", ":"):
            rest = rest[1:].lstrip(_BLANKS)
        if not name:
            raise InvalidConfig(f"line {number}: {line!r} has no name before the separator")
        entries.append(Property(name=name, value=_unescape(rest, number), line=number))
    return entries


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
    position = 0
    while position < len(line):
        if line[position] == "\\":
            position += 2
            continue
        if line[position] in "=:" or line[position] in _BLANKS:
            return position
        position += 1
    return len(line)


def _unescape(text: str, number: int) -> str:
    if "\\" not in text:
        return text
    out: list[str] = []
    position = 0
    while position < len(text):
        letter = text[position]
        position += 1
        if letter != "\\" or position == len(text):
            out.append(letter if letter != "\\" else "")
            continue
        escaped = text[position]
        position += 1
        if escaped != "u":
            out.append(_ESCAPES.get(escaped, escaped))
            continue
        digits = text[position : position + 4]
        if len(digits) < 4 or any(digit not in "0123456789abcdefABCDEF" for digit in digits):
            raise InvalidConfig(f"line {number}: \\u{digits} is not an escape; four hexadecimal digits must follow")
        out.append(chr(int(digits, 16)))
        position += 4
    # Characters beyond the first plane are written as two escapes, a pair of surrogates.
    return "".join(out).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
