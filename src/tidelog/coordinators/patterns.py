"""Regular expressions that clients send, matched in time that grows only linearly with the text.

Python's own `re` backtracks: a short pattern can keep it busy for years, and a broker has one thread. Here a pattern
becomes a small automaton whose possible states are followed all at once, as in RE2, whose syntax Apache Kafka accepts
in these places. What RE2 leaves out (back references, looking around) is left out as well. Whether a match is greedy
makes no difference, because only whole texts are matched.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

# What the automaton may grow to, by repetitions within repetitions.
MAX_INSTRUCTIONS = 5000
MAX_REPETITIONS = 1000
MAX_NESTING = 100
# Steps that are remembered, so that the second of many texts costs a look-up for each character.
MAX_REMEMBERED_STEPS = 2000

_LAST_CHARACTER = 0x10FFFF
Ranges = tuple[tuple[int, int], ...]

_DIGITS: Ranges = ((0x30, 0x39),)
_WORD: Ranges = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
_SPACE: Ranges = ((0x09, 0x0A), (0x0C, 0x0D), (0x20, 0x20))
_EVERYTHING: Ranges = ((0, _LAST_CHARACTER),)
_ALL_BUT_NEWLINE: Ranges = ((0, 0x09), (0x0B, _LAST_CHARACTER))
_CLASS_ESCAPES = {"d": _DIGITS, "w": _WORD, "s": _SPACE}
_CHARACTER_ESCAPES = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_NAMED_CLASSES: dict[str, Ranges] = {
    "alnum": ((0x30, 0x39), (0x41, 0x5A), (0x61, 0x7A)),
    "alpha": ((0x41, 0x5A), (0x61, 0x7A)),
    "digit": _DIGITS,
    "lower": ((0x61, 0x7A),),
    "upper": ((0x41, 0x5A),),
    "punct": ((0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E)),
    "space": ((0x09, 0x0D), (0x20, 0x20)),
    "word": _WORD,
    "xdigit": ((0x30, 0x39), (0x41, 0x46), (0x61, 0x66)),
}


class PatternProblem(ValueError):
    """Why a pattern is not accepted, in words for whoever sent it."""


def compile_pattern(pattern: str) -> Callable[[str], bool]:
    """A function that says whether a whole text matches. Raises PatternProblem."""
    instructions = _Emitter().emit(_Parser(pattern).parse())
    return _Automaton(instructions).matches


# ----------------------------------------------------------------------------------------------------------------
# The pattern as a tree.


@dataclass(frozen=True, slots=True)
class _Characters:
    ranges: Ranges


@dataclass(frozen=True, slots=True)
class _Edge:
    """The beginning or the end of the text."""

    at_start: bool


@dataclass(frozen=True, slots=True)
class _Sequence:
    parts: tuple[_Node, ...]


@dataclass(frozen=True, slots=True)
class _Choice:
    options: tuple[_Node, ...]


@dataclass(frozen=True, slots=True)
class _Repeat:
    part: _Node
    least: int
    most: int | None


_Node = _Characters | _Edge | _Sequence | _Choice | _Repeat


class _Parser:
    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0
        self._depth = 0
        self._ignore_case = False
        self._dot_is_everything = False

    def parse(self) -> _Node:
        node = self._choice()
        if self._at < len(self._pattern):
            raise self._problem("has a closing parenthesis without an opening one")
        return node

    def _problem(self, what: str) -> PatternProblem:
        return PatternProblem(f"the pattern {self._pattern!r} {what} (at character {self._at + 1})")

    def _peek(self) -> str:
        return self._pattern[self._at] if self._at < len(self._pattern) else ""

    def _take(self, what: str) -> str:
        if self._at >= len(self._pattern):
            raise self._problem(f"ends where {what} is expected")
        character = self._pattern[self._at]
        self._at += 1
        return character

    def _skip(self, text: str) -> bool:
        if not self._pattern.startswith(text, self._at):
            return False
        self._at += len(text)
        return True

    def _choice(self) -> _Node:
        self._depth += 1
        if self._depth > MAX_NESTING:
            raise self._problem(f"nests deeper than {MAX_NESTING} levels")
        options = [self._sequence()]
        while self._skip("|"):
            options.append(self._sequence())
        self._depth -= 1
        return options[0] if len(options) == 1 else _Choice(tuple(options))

    def _sequence(self) -> _Node:
        parts: list[_Node] = []
        while self._peek() not in ("", "|", ")"):
            part = self._atom()
            if part is not None:
                parts.append(self._repeated(part))
        return _Sequence(tuple(parts))

    def _atom(self) -> _Node | None:
        character = self._take("an expression")
        match character:
            case "(":
                return self._group()
            case "[":
                return self._cased(self._class())
            case ".":
                return _Characters(_EVERYTHING if self._dot_is_everything else _ALL_BUT_NEWLINE)
            case "^":
                return _Edge(at_start=True)
            case "$":
                return _Edge(at_start=False)
            case "\\":
                return self._escape()
            case "*" | "+" | "?":
                raise self._problem(f"repeats nothing with {character!r}")
            case _:
                return self._cased(((ord(character), ord(character)),))

    def _group(self) -> _Node | None:
        if self._skip("?"):
            if self._skip("P<") or (self._peek() == "<" and self._pattern[self._at + 1 : self._at + 2] not in "=!"):
                self._skip("<")
                while self._take("the name of a group") != ">":
                    pass
            elif self._flags():
                return None
        node = self._choice()
        if not self._skip(")"):
            raise self._problem("has an opening parenthesis without a closing one")
        return node

    def _flags(self) -> bool:
        """After `(?`. True if it was nothing but flags for what follows."""
        while (flag := self._take("a flag")) not in ":)":
            if flag == "i":
                self._ignore_case = True
            elif flag == "s":
                self._dot_is_everything = True
            else:
                raise self._problem(f"uses '(?{flag}', which is not supported")
        return flag == ")"

    def _escape(self) -> _Node:
        character = self._take("an escaped character")
        if character == "A":
            return _Edge(at_start=True)
        if character == "z":
            return _Edge(at_start=False)
        if character == "Q":
            return self._quoted()
        return self._cased(self._escaped(character))

    def _quoted(self) -> _Node:
        end = self._pattern.find("\\E", self._at)
        text = self._pattern[self._at :] if end < 0 else self._pattern[self._at : end]
        self._at = len(self._pattern) if end < 0 else end + 2
        return _Sequence(tuple(self._cased(((ord(each), ord(each)),)) for each in text))

    def _escaped(self, character: str) -> Ranges:
        if character in _CLASS_ESCAPES:
            return _CLASS_ESCAPES[character]
        if character.lower() in _CLASS_ESCAPES:
            return _inverted(_CLASS_ESCAPES[character.lower()])
        if character == "x":
            number = self._hexadecimal()
            return ((number, number),)
        if character in _CHARACTER_ESCAPES:
            number = ord(_CHARACTER_ESCAPES[character])
            return ((number, number),)
        if character.isalnum():
            raise self._problem(f"uses '\\{character}', which is not supported")
        return ((ord(character), ord(character)),)

    def _hexadecimal(self) -> int:
        digits = ""
        if self._skip("{"):
            while (digit := self._take("a hexadecimal digit")) != "}":
                digits += digit
        else:
            digits = self._take("a hexadecimal digit") + self._take("a hexadecimal digit")
        try:
            number = int(digits, 16)
        except ValueError:
            raise self._problem(f"has {digits!r} where a hexadecimal number is expected") from None
        if number > _LAST_CHARACTER:
            raise self._problem(f"has the number {digits} for a character")
        return number

    def _class(self) -> Ranges:
        negated = self._skip("^")
        ranges: list[tuple[int, int]] = []
        first = True
        while first or self._peek() != "]":
            ranges += self._class_member()
            first = False
        self._at += 1
        merged = _merged(ranges)
        if self._ignore_case:
            merged = _both_cases(merged)
        return _inverted(merged) if negated else merged

    def _class_member(self) -> list[tuple[int, int]]:
        if self._skip("[:"):
            end = self._pattern.find(":]", self._at)
            name = self._pattern[self._at : end] if end >= 0 else ""
            if name not in _NAMED_CLASSES:
                raise self._problem("has an unknown class after '[:'")
            self._at = end + 2
            return list(_NAMED_CLASSES[name])
        low = self._class_character()
        if len(low) != 1 or low[0][0] != low[0][1]:
            return list(low)
        following = self._pattern[self._at + 1 : self._at + 2]
        if self._peek() != "-" or following in ("]", ""):
            return list(low)
        self._at += 1
        high = self._class_character()
        if len(high) != 1 or high[0][0] != high[0][1] or high[0][0] < low[0][0]:
            raise self._problem("has a range of characters that ends before it begins")
        return [(low[0][0], high[0][0])]

    def _class_character(self) -> Ranges:
        character = self._take("the end of a class ']'")
        if character == "\\":
            return self._escaped(self._take("an escaped character"))
        return ((ord(character), ord(character)),)

    def _cased(self, ranges: Ranges) -> _Characters:
        return _Characters(_both_cases(ranges) if self._ignore_case else ranges)

    def _repeated(self, part: _Node) -> _Node:
        while True:
            if self._skip("*"):
                part = _Repeat(part, 0, None)
            elif self._skip("+"):
                part = _Repeat(part, 1, None)
            elif self._skip("?"):
                part = _Repeat(part, 0, 1)
            elif (bounds := self._bounds()) is not None:
                part = _Repeat(part, *bounds)
            else:
                return part
            # Reluctant repetition finds the same whole texts.
            self._skip("?")

    def _bounds(self) -> tuple[int, int | None] | None:
        """`{2}`, `{2,}` or `{2,5}`; anything else in braces is text, as in RE2."""
        end = self._pattern.find("}", self._at)
        if self._peek() != "{" or end < 0:
            return None
        low, comma, high = self._pattern[self._at + 1 : end].partition(",")
        if not low.isdecimal() or (high and not high.isdecimal()):
            return None
        least = int(low)
        most = (int(high) if high else None) if comma else least
        if max(least, most or 0) > MAX_REPETITIONS or (most is not None and most < least):
            raise self._problem(f"repeats from {low} to {high or low} times; up to {MAX_REPETITIONS} are allowed")
        self._at = end + 1
        return least, most


def _merged(ranges: list[tuple[int, int]]) -> Ranges:
    merged: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return tuple(merged)


def _inverted(ranges: Ranges) -> Ranges:
    gaps: list[tuple[int, int]] = []
    following = 0
    for low, high in _merged(list(ranges)):
        if low > following:
            gaps.append((following, low - 1))
        following = high + 1
    if following <= _LAST_CHARACTER:
        gaps.append((following, _LAST_CHARACTER))
    return tuple(gaps)


def _both_cases(ranges: Ranges) -> Ranges:
    """Latin letters only: names of topics and transactions have hardly any others."""
    both = list(ranges)
    for low, high in ranges:
        for first, last, distance in ((0x41, 0x5A, 32), (0x61, 0x7A, -32)):
            overlap = (max(low, first), min(high, last))
            if overlap[0] <= overlap[1]:
                both.append((overlap[0] + distance, overlap[1] + distance))
    return _merged(both)


# ----------------------------------------------------------------------------------------------------------------
# The tree as an automaton.


@dataclass(slots=True)
class _Instruction:
    """Reads a character (`ranges`), or goes on to `targets` without one, if need be only at an edge of the text."""

    ranges: Ranges = ()
    targets: list[int] = field(default_factory=list)
    edge: _Edge | None = None


class _Emitter:
    def __init__(self) -> None:
        self._instructions: list[_Instruction] = []

    def emit(self, node: _Node) -> list[_Instruction]:
        self._node(node)
        # Arriving here means that the text matches.
        self._add(_Instruction())
        return self._instructions

    def _add(self, instruction: _Instruction) -> int:
        if len(self._instructions) >= MAX_INSTRUCTIONS:
            raise PatternProblem(f"the pattern is too large: it comes to more than {MAX_INSTRUCTIONS} steps")
        self._instructions.append(instruction)
        return len(self._instructions) - 1

    def _next(self) -> int:
        return len(self._instructions)

    def _node(self, node: _Node) -> None:
        match node:
            case _Characters():
                self._add(_Instruction(ranges=node.ranges, targets=[self._next() + 1]))
            case _Edge():
                self._add(_Instruction(edge=node, targets=[self._next() + 1]))
            case _Sequence():
                for part in node.parts:
                    self._node(part)
            case _Choice():
                self._choice(node)
            case _Repeat():
                self._repeat(node)

    def _choice(self, node: _Choice) -> None:
        fork = _Instruction()
        self._add(fork)
        ends: list[_Instruction] = []
        for option in node.options:
            fork.targets.append(self._next())
            self._node(option)
            end = _Instruction()
            self._add(end)
            ends.append(end)
        for end in ends:
            end.targets.append(self._next())

    def _repeat(self, node: _Repeat) -> None:
        for _ in range(node.least):
            self._node(node.part)
        if node.most is None:
            fork = _Instruction()
            start = self._add(fork)
            fork.targets.append(self._next())
            self._node(node.part)
            self._add(_Instruction(targets=[start]))
            fork.targets.append(self._next())
            return
        forks: list[_Instruction] = []
        for _ in range(node.most - node.least):
            fork = _Instruction()
            self._add(fork)
            fork.targets.append(self._next())
            self._node(node.part)
            forks.append(fork)
        for fork in forks:
            fork.targets.append(self._next())


class _Automaton:
    """The possible states are a set of instructions that wait for a character or for the end of the text."""

    def __init__(self, instructions: list[_Instruction]) -> None:
        self._instructions = instructions
        self._goal = len(instructions) - 1
        self._start = self._closure([0], at_start=True)
        self._steps: dict[tuple[frozenset[int], str], frozenset[int]] = {}

    def matches(self, text: str) -> bool:
        states = self._start
        for character in text:
            following = self._steps.get((states, character))
            if following is None:
                following = self._step(states, character)
            if not following:
                return False
            states = following
        return self._goal in self._closure(states, at_start=not text, at_end=True)

    def _step(self, states: frozenset[int], character: str) -> frozenset[int]:
        number = ord(character)
        reached = [
            self._instructions[state].targets[0]
            for state in states
            if any(low <= number <= high for low, high in self._instructions[state].ranges)
        ]
        following = self._closure(reached)
        if len(self._steps) >= MAX_REMEMBERED_STEPS:
            self._steps.clear()
        self._steps[states, character] = following
        return following

    def _closure(
        self, states: frozenset[int] | list[int], *, at_start: bool = False, at_end: bool = False
    ) -> frozenset[int]:
        """Everything that can be reached without reading. Edges that do not hold yet stay in the set."""
        found: set[int] = set()
        todo = list(states)
        while todo:
            state = todo.pop()
            if state in found:
                continue
            found.add(state)
            instruction = self._instructions[state]
            edge = instruction.edge
            if instruction.ranges or (edge is not None and not (at_start if edge.at_start else at_end)):
                continue
            todo.extend(instruction.targets)
        return frozenset(found)
