"""What a configuration property is: its name, type, default, allowed values, and how its text is read.

The properties themselves are listed in `tidelog.config.topic` and in the tables under `tidelog.config.catalogue`.
Which of several sources wins is decided in `tidelog.config.layers`.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Collection, Iterable, Mapping
from enum import Enum, IntEnum
from typing import Protocol

from tidelog.model.lazy_dataclasses import dataclass

ConfigValue = bool | int | float | str | tuple[str, ...] | None


class ConfigType(IntEnum):
    """The numbers are those that DescribeConfigs carries."""

    UNKNOWN = 0
    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


class ConfigSource(IntEnum):
    """Where a value comes from; the numbers are those that DescribeConfigs carries."""

    UNKNOWN = 0
    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6
    DYNAMIC_CLIENT_METRICS_CONFIG = 7
    DYNAMIC_GROUP_CONFIG = 8


class UpdateMode(Enum):
    """When a change of a broker property takes effect. All but READ_ONLY are dynamic (KIP-226): they can be changed
    while brokers run, for one broker or for all.

    A test alters each of them on a running broker and looks for the part that sees the new value.
    """

    READ_ONLY = "no"
    ON_USE = "yes, read at each use"
    ON_CHANGE = "yes, handed to the part that uses it"
    TOPIC_DEFAULT = "yes, for topics without a value of their own"
    PER_LISTENER = "yes, for single listeners: listener.name.<name>.<property>"
    IGNORED = "accepted, without effect"


class Effect(Enum):
    """What setting a property does."""

    EFFECTIVE = "yes"
    # Only the default is accepted, because the feature is not built.
    FIXED = "only the default"
    # Accepted so that files written for Apache Kafka keep working, but there is nothing that it could steer.
    NONE = "none"


class InvalidConfig(ValueError):
    """One or more properties are wrong. Each problem is a sentence that names the property and its value."""

    def __init__(self, *problems: str) -> None:
        # As they are, so that the error can be pickled: unpickling calls this with `args`.
        super().__init__(*problems)
        self.problems = problems

    def __str__(self) -> str:
        return "\n".join(self.problems)


class Constraint(Protocol):
    """The values that a property allows, beyond its type."""

    def allows(self, value: ConfigValue) -> bool: ...

    def describe(self) -> str:
        """Completes the sentence "it must ..."."""
        ...


@dataclass(frozen=True, slots=True)
class Between:
    """Numbers from `low` to `high`, both included, and whatever `extra` names."""

    low: float
    high: float | None = None
    extra: tuple[int, ...] = ()

    def allows(self, value: ConfigValue) -> bool:
        assert isinstance(value, int | float)
        if value in self.extra:
            return True
        return value >= self.low and (self.high is None or value <= self.high)

    def describe(self) -> str:
        text = f"be at least {self.low}" if self.high is None else f"be from {self.low} to {self.high}"
        return text + "".join(f", or {number}" for number in self.extra)


POSITIVE = Between(1)
NOT_NEGATIVE = Between(0)


@dataclass(frozen=True, slots=True)
class OneOf:
    """One word of a few; a list of them where the property is a list."""

    words: tuple[str, ...]
    may_be_empty: bool = True

    def allows(self, value: ConfigValue) -> bool:
        if isinstance(value, tuple):
            return (bool(value) or self.may_be_empty) and all(word in self.words for word in value)
        return value in self.words

    def describe(self) -> str:
        return "be one of " + ", ".join(self.words)


@dataclass(frozen=True, slots=True)
class Only:
    """A single value, because the feature that gives the others a meaning is not built."""

    value: ConfigValue
    reason: str

    def allows(self, value: ConfigValue) -> bool:
        return value == self.value

    def describe(self) -> str:
        return f"be {format_value(self.value)} ({self.reason})"


@dataclass(frozen=True, slots=True)
class BuiltIn:
    """Java classes of Kafka that have an equivalent here. `fixed` where it makes no difference which one is named."""

    classes: tuple[str, ...]
    fixed: bool = False

    def allows(self, value: ConfigValue) -> bool:
        return value == "" or value in self.classes

    def describe(self) -> str:
        return f"be empty or one of {', '.join(self.classes)}, because tidelog cannot load other Java classes"


@dataclass(frozen=True, slots=True)
class NotEmpty:
    """At least one element or character."""

    def allows(self, value: ConfigValue) -> bool:
        return bool(value) and not (isinstance(value, tuple) and "" in value)

    def describe(self) -> str:
        return "not be empty or have an empty element"


@dataclass(frozen=True, slots=True)
class MatchingPattern:
    """Lists whose elements follow a pattern, or a list of exactly the one literal."""

    pattern: str
    literal: str
    form: str

    def allows(self, value: ConfigValue) -> bool:
        assert isinstance(value, tuple)
        return value == (self.literal,) or all(re.fullmatch(self.pattern, word) for word in value)

    def describe(self) -> str:
        return f"be {self.literal} or {self.form}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigDefinition:
    """One property. `required` says that it has no default."""

    name: str
    type: ConfigType
    default: ConfigValue
    allowed: Constraint | None = None
    documentation: str = ""
    update_mode: UpdateMode = UpdateMode.READ_ONLY
    required: bool = False
    # Why tidelog has nothing that the property could steer, where it is accepted without effect.
    ignored_because: str | None = None
    # The topic property that this broker property gives its default, and the factor between their units.
    default_of: str | None = None
    factor: int = 1

    @property
    def sensitive(self) -> bool:
        return self.type is ConfigType.PASSWORD

    @property
    def dynamic(self) -> bool:
        return self.update_mode is not UpdateMode.READ_ONLY

    @property
    def effect(self) -> Effect:
        if self.ignored_because is not None:
            return Effect.NONE
        fixed = isinstance(self.allowed, Only) or (isinstance(self.allowed, BuiltIn) and self.allowed.fixed)
        return Effect.FIXED if fixed else Effect.EFFECTIVE

    @property
    def description(self) -> str:
        """What DescribeConfigs and the reference page say."""
        if self.ignored_because is None:
            return self.documentation
        return f"Accepted without effect: {self.ignored_because}."

    def parse(self, text: str) -> ConfigValue:
        """The value that `text` stands for; raises InvalidConfig."""
        try:
            value = parse_text(self.type, text)
        except ValueError as error:
            raise InvalidConfig(f"{self.name} {error}, but is {self._shown(text)}") from None
        if self.allowed is not None and not self.allowed.allows(value):
            raise InvalidConfig(f"{self.name} must {self.allowed.describe()}, but is {self._shown(text)}")
        return value

    def _shown(self, text: str) -> str:
        return "hidden" if self.sensitive else text.strip() or "empty"


_INTEGER_BITS = {ConfigType.SHORT: 16, ConfigType.INT: 32, ConfigType.LONG: 64}
_INTEGER = re.compile(r"[+-]?[0-9]+")


def parse_text(kind: ConfigType, text: str) -> ConfigValue:
    """Read `text` as Java's Kafka does: surrounding blanks do not count, lists are separated by commas."""
    trimmed = text.strip()
    if kind is ConfigType.BOOLEAN:
        if trimmed.lower() not in ("true", "false"):
            raise ValueError("must be true or false")
        return trimmed.lower() == "true"
    if kind in _INTEGER_BITS:
        return _parse_integer(trimmed, _INTEGER_BITS[kind])
    if kind is ConfigType.DOUBLE:
        try:
            number = float(trimmed)
        except ValueError:
            raise ValueError("must be a number") from None
        if math.isnan(number) or "_" in trimmed:
            raise ValueError("must be a number")
        return number
    if kind is ConfigType.LIST:
        return tuple(word.strip() for word in trimmed.split(",")) if trimmed else ()
    return text if kind is ConfigType.PASSWORD else trimmed


def _parse_integer(text: str, bits: int) -> int:
    if not _INTEGER.fullmatch(text):
        raise ValueError("must be a whole number")
    bound = 1 << (bits - 1)
    # A longer text can only be out of range, and int() takes quadratic time for it.
    if len(text) > 40 or not -bound <= (number := int(text)) < bound:
        raise ValueError(f"must be a whole number from {-bound} to {bound - 1}")
    return number


def format_value(value: ConfigValue) -> str | None:
    """The text of a value as DescribeConfigs and people's files carry it."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ",".join(value)
    if isinstance(value, float):
        return repr(value).replace("e+", "E").replace("e", "E")
    return str(value)


def nearest_name(name: str, known: Collection[str]) -> str | None:
    """The known name that `name` was most probably meant to be, if any is close."""
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    return close[0] if close else None


def unknown_name_problem(kind: str, name: str, known: Collection[str]) -> str:
    """A sentence for the user about a property that does not exist; `kind` is a plural."""
    suggestion = nearest_name(name, known)
    return f"{name} is not a property of {kind}" + (f"; did you mean {suggestion}?" if suggestion else "")


def read_overrides(
    kind: str, definitions: Mapping[str, ConfigDefinition], overrides: Mapping[str, str]
) -> tuple[dict[str, ConfigValue], list[str]]:
    """The values that can be read, and one sentence for each name or value that cannot."""
    values: dict[str, ConfigValue] = {}
    problems: list[str] = []
    for name, text in overrides.items():
        definition = definitions.get(name)
        if definition is None:
            problems.append(unknown_name_problem(kind, name, definitions.keys()))
            continue
        try:
            values[name] = definition.parse(text)
        except InvalidConfig as error:
            problems.extend(error.problems)
    return values, problems


def by_name(definitions: Iterable[ConfigDefinition]) -> Mapping[str, ConfigDefinition]:
    """Index definitions; a name that is defined twice is a mistake of ours."""
    index: dict[str, ConfigDefinition] = {}
    for definition in definitions:
        assert definition.name not in index, definition.name
        index[definition.name] = definition
    return index
