"""The parser of `sasl.jaas.config` (KIP-85): login modules with their options, as Kafka's JaasConfig reads them.

    org.apache.kafka.common.security.plain.PlainLoginModule required username="a" password="b;c\"d" user_x="y";

The text is cut into tokens as Java's StreamTokenizer does it. That leaves surprises, which are kept: a number without
quotes is no value, `/` begins a comment, and a quote that is not closed ends with its line.

What the options mean is decided where they are used: `plain.py`, `scram.py` and `unsecured_tokens.py`. Nothing here
shows a value, nor a word of the text that could be a part of one: errors say where they are instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from typing import NamedTuple

from tidelog.model.lazy_dataclasses import dataclass

_PACKAGE = "org.apache.kafka.common.security"
PLAIN_LOGIN_MODULE = f"{_PACKAGE}.plain.PlainLoginModule"
SCRAM_LOGIN_MODULE = f"{_PACKAGE}.scram.ScramLoginModule"
OAUTHBEARER_LOGIN_MODULE = f"{_PACKAGE}.oauthbearer.OAuthBearerLoginModule"
LOGIN_MODULES = {
    "PLAIN": PLAIN_LOGIN_MODULE,
    "SCRAM-SHA-256": SCRAM_LOGIN_MODULE,
    "SCRAM-SHA-512": SCRAM_LOGIN_MODULE,
    "OAUTHBEARER": OAUTHBEARER_LOGIN_MODULE,
}

# The options that may be shown. Everything else is taken for a secret.
_PUBLIC_OPTIONS = frozenset(
    {
        "clientId",
        "scope",
        "tokenauth",
        "unsecuredLoginLifetimeSeconds",
        "unsecuredLoginPrincipalClaimName",
        "unsecuredLoginScopeClaimName",
        "unsecuredValidatorAllowableClockSkewMs",
        "unsecuredValidatorPrincipalClaimName",
        "unsecuredValidatorRequiredScope",
        "unsecuredValidatorScopeClaimName",
        "username",
    }
)
# Those whose name may be shown, but not their value. The name of any other may itself be a part of a secret, which was
# not quoted.
_SECRET_OPTIONS = frozenset({"clientSecret", "password"})
_HIDDEN = "[hidden]"


class InvalidJaasConfig(Exception):
    """Says where the text is wrong, never what stands there."""


class ControlFlag(Enum):
    """What the success of a login module means to those after it. Kafka has one module only, so it changes nothing."""

    REQUIRED = "required"
    REQUISITE = "requisite"
    SUFFICIENT = "sufficient"
    OPTIONAL = "optional"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class JaasEntry:
    login_module: str
    control_flag: ControlFlag
    options: Mapping[str, str]

    def __repr__(self) -> str:
        module = self.login_module if self.login_module in LOGIN_MODULES.values() else "[unknown login module]"
        shown = {name: repr(value) for name, value in self.options.items() if name in _PUBLIC_OPTIONS}
        shown |= {name: _HIDDEN for name in self.options if name in _SECRET_OPTIONS}
        others = len(self.options) - len(shown)
        written = "".join(f" {name}={value}" for name, value in sorted(shown.items()))
        return f"<JaasEntry {module} {self.control_flag.value}{written}, {others} other options>"


def parse_jaas_config(text: str) -> tuple[JaasEntry, ...]:
    """All entries of the text, at least one. Of an option that is there twice, the last counts."""
    tokens = _Tokens(text)
    entries = []
    while (first := tokens.read()).kind is not _Kind.END:
        entries.append(_entry(first, tokens))
    if not entries:
        raise InvalidJaasConfig("sasl.jaas.config names no login module")
    return tuple(entries)


def login_options(text: str, mechanism: str) -> Mapping[str, str]:
    """The options of the only entry, which must have the login module of the mechanism."""
    entries = parse_jaas_config(text)
    if len(entries) != 1:
        raise InvalidJaasConfig(
            f"sasl.jaas.config has {len(entries)} login modules and must have 1: each mechanism has its own property"
        )
    expected = LOGIN_MODULES[mechanism]
    if entries[0].login_module != expected:
        raise InvalidJaasConfig(f"sasl.jaas.config for {mechanism} must have the login module {expected}")
    return entries[0].options


class _Kind(Enum):
    TEXT = "a word or a quoted text"
    NUMBER = "a number"
    SIGN = "any other character"
    END = "the end"


class _Token(NamedTuple):
    kind: _Kind
    # Of a number nothing is kept: nobody asks for it.
    text: str
    position: int

    def is_sign(self, sign: str) -> bool:
        return self.kind is _Kind.SIGN and self.text == sign


def _entry(first: _Token, tokens: _Tokens) -> JaasEntry:
    flag = tokens.read()
    if flag.kind is _Kind.END:
        raise InvalidJaasConfig(f"a control flag such as 'required' is missing {tokens.place(flag)}")
    if flag.kind is not _Kind.TEXT or flag.text.upper() not in ControlFlag.__members__:
        allowed = ", ".join(each.value for each in ControlFlag)
        raise InvalidJaasConfig(f"the control flag {tokens.place(flag)} must be one of {allowed}")
    options: dict[str, str] = {}
    while not (name := tokens.read()).is_sign(";"):
        if name.kind is _Kind.END:
            raise InvalidJaasConfig(f"a login module must end with a semicolon, which is missing {tokens.place(name)}")
        equals = tokens.read()
        value = tokens.read() if equals.is_sign("=") else equals
        # Kafka lets a number or a sign be the name of an option, which nobody can ask for then.
        if not equals.is_sign("=") or value.kind is not _Kind.TEXT or name.kind is not _Kind.TEXT:
            raise InvalidJaasConfig(
                f'an option must have the form name="value", which the one {tokens.place(name)} does not have'
            )
        options[name.text] = value.text
    if first.kind is not _Kind.TEXT or not first.text:
        raise InvalidJaasConfig(f"the class of a login module is missing {tokens.place(first)}")
    return JaasEntry(login_module=first.text, control_flag=ControlFlag[flag.text.upper()], options=options)


_DIGITS = frozenset("0123456789")
_NUMERIC = _DIGITS | frozenset(".-")
_OCTAL = frozenset("01234567")
_QUOTES = frozenset("\"'")
_ENDS_OF_LINE = frozenset("\r\n")
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def _is_word(character: str) -> bool:
    """Letters, and everything beyond Latin-1 and in its upper half."""
    return ("a" <= character <= "z") or ("A" <= character <= "Z") or character >= "\xa0" or character in "-_$"


class _Tokens:
    """StreamTokenizer as JaasConfig sets it up. An empty character is the end of the text."""

    __slots__ = ("_position", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0

    def read(self) -> _Token:
        self._skip_blanks_and_comments()
        start = self._position
        kind, text = self._take()
        return _Token(kind=kind, text=text, position=start)

    def place(self, token: _Token) -> str:
        before = self._text[: token.position].replace("\r\n", "\n").replace("\r", "\n")
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        return f"at line {line}, column {column} of sasl.jaas.config"

    def _take(self) -> tuple[_Kind, str]:
        character = self._peek()
        if not character:
            return _Kind.END, ""
        if character in _NUMERIC:
            return self._number()
        if _is_word(character):
            return _Kind.TEXT, "".join(self._while(lambda each: _is_word(each) or each in _NUMERIC))
        if character in _QUOTES:
            return _Kind.TEXT, self._quoted()
        self._position += 1
        return _Kind.SIGN, character

    def _number(self) -> tuple[_Kind, str]:
        if self._peek() == "-":
            self._position += 1
            if self._peek() not in _DIGITS | {"."}:
                return _Kind.SIGN, "-"
        tuple(self._while(_DIGITS.__contains__))
        if self._peek() == ".":
            self._position += 1
            tuple(self._while(_DIGITS.__contains__))
        return _Kind.NUMBER, ""

    def _quoted(self) -> str:
        quote = self._next()
        characters = []
        while (character := self._peek()) and character != quote and character not in _ENDS_OF_LINE:
            self._position += 1
            characters.append(self._escaped() if character == "\\" else character)
        if character == quote:
            self._position += 1
        return "".join(characters)

    def _escaped(self) -> str:
        """What follows a backslash. Octal numbers have up to three digits, and no more than 377."""
        if self._peek() not in _OCTAL:
            character = self._next()
            return _ESCAPES.get(character, character)
        longest = 3 if self._peek() <= "3" else 2
        digits = ""
        while len(digits) < longest and self._peek() in _OCTAL:
            digits += self._next()
        return chr(int(digits, 8))

    def _skip_blanks_and_comments(self) -> None:
        while character := self._peek():
            if character <= " ":
                self._position += 1
            elif character != "/":
                return
            elif self._text.startswith("/*", self._position):
                end = self._text.find("*/", self._position + 2)
                self._position = len(self._text) if end < 0 else end + 2
            else:
                # One slash is enough. Java does not look at what follows a single one: also if it is the end of a line.
                self._position += 2
                tuple(self._while(lambda each: each not in _ENDS_OF_LINE))

    def _peek(self) -> str:
        return self._text[self._position : self._position + 1]

    def _next(self) -> str:
        character = self._peek()
        self._position += len(character)
        return character

    def _while(self, wanted: Callable[[str], bool]) -> Iterator[str]:
        while (character := self._peek()) and wanted(character):
            self._position += 1
            yield character
