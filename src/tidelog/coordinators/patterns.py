"""Regular expressions that clients send, matched in time that grows only linearly with the text.

Python's own `re` backtracks: a short pattern can keep it busy for years, and a broker has one thread. Here a pattern
becomes a small automaton whose possible states are followed all at once, as in RE2, whose syntax Apache Kafka accepts
in these places. What RE2 leaves out (back references, looking around) is left out as well. Whether a match is greedy
makes no difference, because only whole texts are matched.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Collection
from enum import Enum

from tidelog.model.lazy_dataclasses import dataclass

# What the automaton may grow to, by repetitions within repetitions.
MAX_STATES = 5000
MAX_REPETITIONS = 1000
MAX_NESTING = 100
# Steps that are remembered, so that the second of many texts costs a look-up for each character.
MAX_REMEMBERED_STEPS = 2000

_LAST_CHARACTER = 0x10FFFF

_WORD = string.ascii_letters + string.digits + "_"
_CLASS_ESCAPES = {"d": string.digits, "w": _WORD, "s": " \t\n\f\r"}
_CHARACTER_ESCAPES = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_NAMED_CLASSES = {
    "alnum": string.ascii_letters + string.digits,
    "alpha": string.ascii_letters,
    "digit": string.digits,
    "lower": string.ascii_lowercase,
    "upper": string.ascii_uppercase,
    "punct": string.punctuation,
    "space": string.whitespace,
    "word": _WORD,
    "xdigit": string.hexdigits,
}

# The least and the most repetitions.
_OPERATORS: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}

# Whether a character is one of those that the automaton may read at some point.
_Test = Callable[[str], bool]
# A part of the pattern: given the state that follows on it, adds its own states and returns the first of them.
_Part = Callable[[int], int]


class PatternProblem(ValueError):
    """Why a pattern is not accepted, in words for whoever sent it."""


def compile_pattern(pattern: str) -> Callable[[str], bool]:
    """A function that says whether a whole text matches. Raises PatternProblem."""
    parser = _Parser(pattern)
    whole = parser.parse()
    return _Automaton(parser.states, whole(_GOAL)).matches


# ----------------------------------------------------------------------------------------------------------------
# From the pattern to the states of an automaton.


class _Edge(Enum):
    START = "the beginning of the text"
    END = "the end of the text"


@dataclass(slots=True)
class _State:
    """Reads a character and goes on to its one target, or goes on without one, if need be only at an edge."""

    targets: list[int]
    reads: _Test | None = None
    edge: _Edge | None = None


# Arriving in this state means that the text matches.
_GOAL = 0


class _Parser:
    def __init__(self, pattern: str) -> None:
        self.states = [_State([])]
        self._pattern = pattern
        self._at = 0
        self._depth = 0
        self._ignore_case = False
        self._dot_is_everything = False

    def parse(self) -> _Part:
        part = self._choice()
        if self._at < len(self._pattern):
            raise self._problem("has a closing parenthesis without an opening one")
        return part

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

    def _add(self, state: _State) -> int:
        if len(self.states) >= MAX_STATES:
            raise PatternProblem(f"the pattern is too large: it comes to more than {MAX_STATES} steps")
        self.states.append(state)
        return len(self.states) - 1

    def _choice(self) -> _Part:
        self._depth += 1
        if self._depth > MAX_NESTING:
            raise self._problem(f"nests deeper than {MAX_NESTING} levels")
        options = [self._sequence()]
        while self._skip("|"):
            options.append(self._sequence())
        self._depth -= 1
        if len(options) == 1:
            return options[0]
        return lambda following: self._add(_State([option(following) for option in options]))

    def _sequence(self) -> _Part:
        parts: list[_Part] = []
        while self._peek() not in ("", "|", ")"):
            part = self._atom()
            if part is not None:
                parts.append(self._repeated(part))
        return _one_after_another(parts)

    def _atom(self) -> _Part | None:
        character = self._take("an expression")
        match character:
            case "(":
                return self._group()
            case "[":
                return self._reading(self._class())
            case ".":
                return self._reading((lambda _: True) if self._dot_is_everything else _none_of("\n"))
            case "^":
                return self._at_edge(_Edge.START)
            case "$":
                return self._at_edge(_Edge.END)
            case "\\":
                return self._escape()
            case "*" | "+" | "?":
                raise self._problem(f"repeats nothing with {character!r}")
            case _:
                return self._reading(self._cased(character))

    def _reading(self, test: _Test) -> _Part:
        return lambda following: self._add(_State([following], reads=test))

    def _at_edge(self, edge: _Edge) -> _Part:
        return lambda following: self._add(_State([following], edge=edge))

    def _group(self) -> _Part | None:
        if self._skip("?"):
            if self._skip("P<") or (self._peek() == "<" and self._pattern[self._at + 1 : self._at + 2] not in "=!"):
                self._skip("<")
                while self._take("the name of a group") != ">":
                    pass
            elif self._flags():
                return None
        part = self._choice()
        if not self._skip(")"):
            raise self._problem("has an opening parenthesis without a closing one")
        return part

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

    def _escape(self) -> _Part:
        character = self._take("an escaped character")
        if character == "A":
            return self._at_edge(_Edge.START)
        if character == "z":
            return self._at_edge(_Edge.END)
        if character == "Q":
            return self._quoted()
        return self._reading(self._cased(self._escaped(character)))

    def _quoted(self) -> _Part:
        text, _, _ = self._pattern[self._at :].partition("\\E")
        self._at = min(self._at + len(text) + 2, len(self._pattern))
        return _one_after_another([self._reading(self._cased(each)) for each in text])

    def _escaped(self, character: str) -> str | _Test:
        """One character, or a test where the escape stands for several."""
        if character in _CLASS_ESCAPES:
            return _one_of(_CLASS_ESCAPES[character])
        if character.lower() in _CLASS_ESCAPES:
            return _none_of(_CLASS_ESCAPES[character.lower()])
        if character == "x":
            return chr(self._hexadecimal())
        if character in _CHARACTER_ESCAPES:
            return _CHARACTER_ESCAPES[character]
        if character.isalnum():
            raise self._problem(f"uses '\\{character}', which is not supported")
        return character

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

    def _class(self) -> _Test:
        negated = self._skip("^")
        members = [self._class_member()]
        while self._peek() != "]":
            members.append(self._class_member())
        self._at += 1
        test = self._cased(lambda character: any(member(character) for member in members))
        return (lambda character: not test(character)) if negated else test

    def _class_member(self) -> _Test:
        if self._skip("[:"):
            end = self._pattern.find(":]", self._at)
            name = self._pattern[self._at : end] if end >= 0 else ""
            if name not in _NAMED_CLASSES:
                raise self._problem("has an unknown class after '[:'")
            self._at = end + 2
            return _one_of(_NAMED_CLASSES[name])
        low = self._class_character()
        if not isinstance(low, str):
            return low
        following = self._pattern[self._at + 1 : self._at + 2]
        if self._peek() != "-" or following in ("]", ""):
            return _one_of(low)
        self._at += 1
        high = self._class_character()
        if not isinstance(high, str) or high < low:
            raise self._problem("has a range of characters that ends before it begins")
        return lambda character: low <= character <= high

    def _class_character(self) -> str | _Test:
        character = self._take("the end of a class ']'")
        return self._escaped(self._take("an escaped character")) if character == "\\" else character

    def _cased(self, wanted: str | _Test) -> _Test:
        """Of characters that differ in case only those of Latin are known: names have hardly any others."""
        test = _one_of(wanted) if isinstance(wanted, str) else wanted
        if not self._ignore_case:
            return test
        return lambda character: test(character) or (character.isascii() and test(character.swapcase()))

    def _repeated(self, part: _Part) -> _Part:
        bounds = self._bounds()
        if bounds is None:
            return part
        # Reluctant repetition finds the same whole texts.
        self._skip("?")
        if self._bounds() is not None:
            raise self._problem("repeats a repetition, which needs parentheses around it")
        return lambda following: self._repeat(part, *bounds, following)

    def _repeat(self, part: _Part, least: int, most: int | None, following: int) -> int:
        first = following
        if most is None:
            first = self._add(_State([following]))
            self.states[first].targets.append(part(first))
        else:
            for _ in range(most - least):
                first = self._add(_State([part(first), following]))
        for _ in range(least):
            after, first = first, part(first)
            if first == after:
                # The part is empty, however often it is repeated.
                break
        return first

    def _bounds(self) -> tuple[int, int | None] | None:
        """After `*`, `+`, `?`, `{2}`, `{2,}` or `{2,5}`; anything else in braces is text, as in RE2."""
        if self._peek() in _OPERATORS:
            return _OPERATORS[self._take("a repetition")]
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


def _one_of(characters: str) -> _Test:
    return frozenset(characters).__contains__


def _none_of(characters: str) -> _Test:
    return lambda character: character not in characters


def _one_after_another(parts: list[_Part]) -> _Part:
    def sequence(following: int) -> int:
        for part in reversed(parts):
            following = part(following)
        return following

    return sequence


# ----------------------------------------------------------------------------------------------------------------
# Running the automaton.


class _Automaton:
    """Where it may be after a text is a set of states that wait for a character or for the end of the text."""

    def __init__(self, states: list[_State], start: int) -> None:
        self._states = states
        self._start = self._closure([start], at=(_Edge.START,))
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
        return _GOAL in self._closure(states, at=(_Edge.END,) if text else (_Edge.START, _Edge.END))

    def _step(self, states: frozenset[int], character: str) -> frozenset[int]:
        following = self._closure(
            [
                state.targets[0]
                for state in map(self._states.__getitem__, states)
                if state.reads is not None and state.reads(character)
            ]
        )
        if len(self._steps) >= MAX_REMEMBERED_STEPS:
            self._steps.clear()
        self._steps[states, character] = following
        return following

    def _closure(self, states: Collection[int], *, at: Collection[_Edge] = ()) -> frozenset[int]:
        """Everything that can be reached without reading. Edges that do not hold yet stay in the set."""
        found: set[int] = set()
        todo = list(states)
        while todo:
            number = todo.pop()
            if number not in found:
                found.add(number)
                state = self._states[number]
                if state.reads is None and (state.edge is None or state.edge in at):
                    todo.extend(state.targets)
        return frozenset(found)
