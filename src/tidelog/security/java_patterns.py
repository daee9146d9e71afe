"""Java's regular expressions in Python's: what `ssl.principal.mapping.rules` is written in.

A pattern is parsed and written again for `re`, with everything spelled out in which the two differ: which characters a
class, a dot or `\\s` stands for, where `$` matches, what a flag changes and from where on. What `re` cannot do, or is
hardly ever written, is refused with `UntranslatablePattern`; what is accepted means the same as in Java. One thing
depends on Java's version: `\\b` knows ASCII words only, as from Java 19 on.

The rules that use this are in `principal_mapping.py`, sets of characters in `java_characters.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from tidelog.model.lazy_dataclasses import dataclass
from tidelog.security.java_characters import (
    CASED_PROPERTIES,
    NAMED_CLASSES,
    CharacterSet,
    UntranslatablePattern,
    class_text,
    complement,
    intersection,
    property_set,
    single,
    union,
    without_case,
)

_NOT_END_OF_LINE = "[^\\n\\r\\x85\\u2028\\u2029]"
_END = r"(?=(?:\r\n|[\r\x85\u2028\u2029]|(?<!\r)\n)?\Z)"
# Of escapes that stand for no character.
_POSITIONS = {"A": r"(?:\A)", "B": r"(?:\B)", "Z": _END, "b": r"(?:\b)", "z": r"(?:\Z)"}
_CONTROLS = {"a": "\x07", "e": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_COUNT = re.compile(r"\{[0-9]{1,9}(?:,(?:[0-9]{1,9})?)?\}")
_GROUP_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9]*")
_HEXADECIMAL = re.compile(r"x([0-9a-fA-F]{2})|x\{([0-9a-fA-F]{1,8})\}|u([0-9a-fA-F]{4})")
_OCTAL = re.compile(r"0([0-3]?[0-7]{1,2})")
_FLAGS = re.compile(r"([is]*)(?:-([is]+))?([:)])")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Flags:
    ignore_case: bool = False
    # Whether a dot is also the end of a line.
    dot_all: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class JavaPattern:
    compiled: re.Pattern[str]
    # Numbers of the groups that have a name.
    names: dict[str, int]

    @classmethod
    def of(cls, text: str) -> JavaPattern:
        """Raises UntranslatablePattern."""
        translation = _Translation(_without_quoting(text))
        try:
            written = translation.whole()
            return cls(compiled=re.compile(written, re.ASCII), names=translation.names)
        except (re.error, OverflowError, RecursionError) as error:
            raise UntranslatablePattern(f"Python cannot match it: {error}") from error

    def find_all(self, text: str) -> Iterator[re.Match[str]]:
        """As Matcher.find(): after an empty match, Java goes one character on, while Python looks for a longer one."""
        position = 0
        while position <= len(text):
            found = self.compiled.search(text, position)
            if found is None:
                return
            yield found
            position = found.end() + (found.end() == found.start())


@dataclass(frozen=True, slots=True, kw_only=True)
class JavaReplacement:
    """What a match is replaced with: texts, and numbers of groups."""

    parts: tuple[str | int, ...]

    @classmethod
    def of(cls, text: str, pattern: JavaPattern) -> JavaReplacement:
        """Raises UntranslatablePattern for what Java would refuse with the first match."""
        parts: list[str | int] = []
        position = 0
        while position < len(text):
            character = text[position]
            if character == "$":
                group, position = _reference(text, position + 1, pattern)
                parts.append(group)
                continue
            if character == "\\":
                position += 1
                if position == len(text):
                    raise UntranslatablePattern("the replacement ends with a backslash that escapes nothing")
            parts.append(text[position])
            position += 1
        return cls(parts=tuple(parts))

    def replace_all(self, pattern: JavaPattern, text: str) -> str:
        written: list[str] = []
        end = 0
        for found in pattern.find_all(text):
            written.append(text[end : found.start()])
            written += [part if isinstance(part, str) else found[part] or "" for part in self.parts]
            end = found.end()
        return "".join(written) + text[end:]


def _reference(text: str, position: int, pattern: JavaPattern) -> tuple[int, int]:
    """The group that `$` and what follows it mean, and where the text goes on. More digits only if there is a group."""
    named = re.compile(r"\{([a-zA-Z][a-zA-Z0-9]*)\}").match(text, position)
    if named:
        if named[1] not in pattern.names:
            raise UntranslatablePattern(
                f"the replacement names the group {named[1]!r}, which the pattern does not have"
            )
        return pattern.names[named[1]], named.end()
    groups = pattern.compiled.groups
    digits = re.compile("[0-9]*").match(text, position)
    assert digits is not None
    if not digits[0]:
        raise UntranslatablePattern("the replacement has a $ that no number of a group follows: write \\$ instead")
    length = 1
    while length < len(digits[0]) and int(digits[0][: length + 1]) <= groups:
        length += 1
    number = int(digits[0][:length])
    if number > groups:
        raise UntranslatablePattern(f"the replacement has ${number}, but the pattern has {groups} groups")
    return number, position + length


def _without_quoting(text: str) -> str:
    r"""Each character between \Q and \E with an escape of its own, as Java prepares a pattern."""
    written: list[str] = []
    position, quoted = 0, False
    while position < len(text):
        pair = text[position : position + 2]
        if pair == (r"\E" if quoted else r"\Q"):
            quoted = not quoted
            position += 2
        elif quoted:
            written.append(_quoted(text[position]))
            position += 1
        else:
            taken = pair if pair[0] == "\\" else pair[0]
            written.append(taken)
            position += len(taken)
    return "".join(written)


def _quoted(character: str) -> str:
    if character.isascii() and character.isdigit():
        return f"\\x3{character}"
    return f"\\{character}" if character.isascii() and not character.isalpha() else character


class _Translation:
    """One pass over one pattern."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0
        self._groups = 0
        self.names: dict[str, int] = {}

    def whole(self) -> str:
        written = self._alternatives(_Flags())
        if not self._peek():
            return written
        raise self._refused("a closing parenthesis that nothing opens")

    def _alternatives(self, flags: _Flags) -> str:
        """Up to the end of the group. Flags that are set within hold from there on, also in the alternatives after."""
        written: list[str] = []
        while (character := self._peek()) not in ("", ")"):
            if character == "|":
                written.append(self._next())
                continue
            changed = self._flags_for_the_rest(flags)
            if changed is not None:
                flags = changed
            else:
                written += (self._atom(flags), self._quantifier())
        return "".join(written)

    def _atom(self, flags: _Flags) -> str:
        character = self._next()
        match character:
            case "(":
                return self._group(flags)
            case "[":
                return class_text(self._class(flags))
            case "\\":
                return self._escape(flags)
            case ".":
                return "(?s:.)" if flags.dot_all else _NOT_END_OF_LINE
            case "^":
                return r"(?:\A)"
            case "$":
                return _END
            case "*" | "+" | "?" | "{":
                raise self._refused(f"a {character} that repeats nothing")
        return class_text(_folded(single(ord(character)), flags))

    def _quantifier(self) -> str:
        count = _COUNT.match(self._text, self._position)
        if count:
            self._position = count.end()
            return count[0] + self._manner()
        # A { that no number follows is refused as an atom.
        return self._next() + self._manner() if self._peek() in ("*", "+", "?") else ""

    def _manner(self) -> str:
        """Reluctant, possessive, or nothing for greedy."""
        return self._next() if self._peek() in ("?", "+") else ""

    def _group(self, flags: _Flags) -> str:
        opening = self._opening()
        if opening == "flags":
            flags, opening = self._flags_of_group(flags), "(?:"
        written = self._alternatives(flags)
        if self._next() != ")":
            raise self._refused("a group that is not closed")
        return f"{opening}{written})"

    def _opening(self) -> str:
        for kind in ("?:", "?=", "?!", "?>", "?<=", "?<!"):
            if self._takes(kind):
                return f"({kind}"
        if self._takes("?<"):
            name = _GROUP_NAME.match(self._text, self._position)
            if not name or name[0] in self.names or not self._text.startswith(">", name.end()):
                raise self._refused("a name of a group that is invalid or there twice")
            self._position = name.end() + 1
            self._groups += 1
            self.names[name[0]] = self._groups
        elif self._takes("?"):
            return "flags"
        else:
            self._groups += 1
        return "("

    def _flags_for_the_rest(self, flags: _Flags) -> _Flags | None:
        """`(?i)` and the like, which is no group; None if it is something else."""
        if not self._text.startswith("(?", self._position):
            return None
        found = _FLAGS.match(self._text, self._position + 2)
        if not found or found[3] != ")":
            return None
        self._position = found.end()
        return _changed(flags, found)

    def _flags_of_group(self, flags: _Flags) -> _Flags:
        found = _FLAGS.match(self._text, self._position)
        if not found or found[3] != ":":
            raise self._refused("a group of an unknown kind, or a flag other than i and s")
        self._position = found.end()
        return _changed(flags, found)

    def _escape(self, flags: _Flags) -> str:
        character = self._peek()
        if character in _POSITIONS:
            self._position += 1
            return _POSITIONS[character]
        if character == "k" or character in "123456789":
            number = self._referred()
            return f"(?i:\\{number})" if flags.ignore_case else f"(?:\\{number})"
        found = self._escaped_set(flags)
        return class_text(_folded(single(found), flags) if isinstance(found, int) else found)

    def _referred(self) -> int:
        """The group of a back reference. More digits only if there is a group."""
        if self._takes("k<"):
            name = _GROUP_NAME.match(self._text, self._position)
            if name and name[0] in self.names:
                self._position = name.end()
                if self._takes(">"):
                    return self.names[name[0]]
            raise self._refused("a reference to a group that is not there")
        if not "1" <= self._peek() <= "9":
            raise self._refused("an escape without meaning")
        number = int(self._next())
        while "0" <= self._peek() <= "9" and number * 10 + int(self._peek()) <= self._groups:
            number = number * 10 + int(self._next())
        if number > self._groups:
            raise self._refused("a reference to a group that is not there")
        return number

    def _escaped_set(self, flags: _Flags) -> CharacterSet | int:
        """After a backslash: a set, or a single character. The same inside and outside of classes."""
        for pattern, radix in ((_HEXADECIMAL, 16), (_OCTAL, 8)):
            found = pattern.match(self._text, self._position)
            if found:
                self._position = found.end()
                return self._character(int(found[found.lastindex or 0], radix))
        character = self._next()
        if character in ("p", "P"):
            return self._property(flags, negated=character == "P")
        if character in NAMED_CLASSES:
            return NAMED_CLASSES[character]
        if character == "c" and self._peek().isascii() and self._peek():
            return ord(self._next()) ^ 64
        if not character or (character.isascii() and character.isalnum() and character not in _CONTROLS):
            raise self._refused("an escape without meaning")
        return ord(_CONTROLS.get(character, character))

    def _property(self, flags: _Flags, *, negated: bool) -> CharacterSet:
        found = re.compile(r"\{(\w+)\}|([A-Z])", re.ASCII).match(self._text, self._position)
        if not found:
            raise self._refused("a property of characters without a name")
        # What ignoring case does to these depends on Java's version.
        if flags.ignore_case and (found[1] or found[2]) in CASED_PROPERTIES:
            raise self._refused("a property of characters about case, together with the flag i")
        self._position = found.end()
        kind = property_set(found[1] or found[2])
        return complement(kind) if negated else kind

    def _character(self, number: int) -> int:
        if number > 0x10FFFF or 0xD800 <= number <= 0xDFFF:
            raise self._refused("the number of a character that there is not")
        return number

    def _class(self, flags: _Flags) -> CharacterSet:
        """After the opening bracket, including the closing one."""
        negated = self._takes("^")
        found = self._class_items(flags)
        if not self._takes("]"):
            raise self._refused("a class of characters that is not closed")
        return complement(found) if negated else found

    def _class_items(self, flags: _Flags) -> CharacterSet:
        """Up to the closing bracket, which is a character like others if it comes first."""
        found: CharacterSet | None = None
        while self._peek() and (self._peek() != "]" or found is None):
            if self._takes("&&"):
                right = self._intersected(flags)
                if right is None:
                    raise self._refused("an intersection with nothing")
                found = right if found is None else intersection(found, right)
                continue
            item = self._class(flags) if self._takes("[") else self._class_item(flags)
            found = item if found is None else union(found, item)
        return found or ()

    def _intersected(self, flags: _Flags) -> CharacterSet | None:
        """What follows `&&`: up to the next one, or all the rest if it does not begin with a bracket."""
        right: CharacterSet | None = None
        while self._peek() not in ("", "]", "&"):
            item = self._class(flags) if self._takes("[") else self._class_items(flags)
            right = item if right is None else union(right, item)
        return right

    def _class_item(self, flags: _Flags) -> CharacterSet:
        first = self._class_character(flags)
        if not isinstance(first, int):
            return first
        # Before a bracket, a hyphen is a character like others.
        if self._peek() != "-" or self._text[self._position + 1 : self._position + 2] in ("", "[", "]"):
            return _folded(single(first), flags)
        self._position += 1
        last = self._class_character(flags)
        if not isinstance(last, int) or last < first:
            raise self._refused("a range of characters that ends before it begins")
        return _folded(((first, last),), flags)

    def _class_character(self, flags: _Flags) -> CharacterSet | int:
        return self._escaped_set(flags) if self._takes("\\") else ord(self._next())

    def _takes(self, text: str) -> bool:
        found = self._text.startswith(text, self._position)
        self._position += len(text) if found else 0
        return found

    def _peek(self) -> str:
        return self._text[self._position : self._position + 1]

    def _next(self) -> str:
        character = self._peek()
        self._position += len(character)
        return character

    def _refused(self, what: str) -> UntranslatablePattern:
        return UntranslatablePattern(f"it has {what}, before or at its character {self._position}")


def _changed(flags: _Flags, found: re.Match[str]) -> _Flags:
    on, off = found[1], found[2] or ""
    return replace(
        flags,
        ignore_case=("i" in on or flags.ignore_case) and "i" not in off,
        dot_all=("s" in on or flags.dot_all) and "s" not in off,
    )


def _folded(characters: CharacterSet, flags: _Flags) -> CharacterSet:
    return without_case(characters) if flags.ignore_case else characters
