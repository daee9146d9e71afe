"""Declares a property as a typed field of a dataclass, so that its name, type, default and meaning have one home.

The property's name is the field's with dots for underscores: `retention_ms` is `retention.ms`. The classes made of
such fields are `tidelog.config.topic.TopicConfig` and the sections under `tidelog.config.catalogue`.
"""

from __future__ import annotations

import dataclasses
from typing import Any, TypeVar, dataclass_transform

from tidelog.config.definitions import (
    Between,
    ConfigDefinition,
    ConfigType,
    ConfigValue,
    Constraint,
    Importance,
    UpdateMode,
)

_METADATA_KEY = "tidelog.config"

HIGH = Importance.HIGH
MEDIUM = Importance.MEDIUM
LOW = Importance.LOW

READ_ONLY = UpdateMode.READ_ONLY
CLUSTER_WIDE = UpdateMode.CLUSTER_WIDE
PER_BROKER = UpdateMode.PER_BROKER


T = TypeVar("T")


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=())
def section(cls: type[T]) -> type[T]:
    """Marks a table of broker properties, of which BrokerConfig is made by inheritance.

    Without slots, which classes with several parents cannot have; and without the methods of a dataclass, because
    only BrokerConfig itself is ever made and writing them takes a noticeable part of a broker's start.
    """
    return dataclasses.dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)(cls)


# The functions below return Any, as dataclasses.field does, so that they can stand for a default of any type.


def boolean(
    default: bool,
    documentation: str,
    allowed: Constraint | None = None,
    importance: Importance = MEDIUM,
    mode: UpdateMode = READ_ONLY,
) -> Any:
    return _field(ConfigType.BOOLEAN, default, documentation, allowed, importance, mode)


def integer(
    default: int | None,
    documentation: str,
    allowed: Constraint | None = None,
    importance: Importance = MEDIUM,
    mode: UpdateMode = READ_ONLY,
) -> Any:
    """A whole number of 32 bits."""
    return _field(ConfigType.INT, default, documentation, allowed, importance, mode)


def short(default: int, documentation: str, importance: Importance = MEDIUM) -> Any:
    """A positive whole number of 16 bits."""
    return _field(ConfigType.SHORT, default, documentation, Between(1), importance, READ_ONLY)


def long(
    default: int | None,
    documentation: str,
    allowed: Constraint | None = None,
    importance: Importance = MEDIUM,
    mode: UpdateMode = READ_ONLY,
) -> Any:
    """A whole number of 64 bits."""
    return _field(ConfigType.LONG, default, documentation, allowed, importance, mode)


def double(
    default: float,
    documentation: str,
    allowed: Constraint | None = None,
    importance: Importance = MEDIUM,
    mode: UpdateMode = READ_ONLY,
) -> Any:
    return _field(ConfigType.DOUBLE, default, documentation, allowed, importance, mode)


def string(
    default: str | None,
    documentation: str,
    allowed: Constraint | None = None,
    importance: Importance = MEDIUM,
    mode: UpdateMode = READ_ONLY,
) -> Any:
    return _field(ConfigType.STRING, default, documentation, allowed, importance, mode)


def words(
    default: tuple[str, ...],
    documentation: str,
    allowed: Constraint | None = None,
    importance: Importance = MEDIUM,
    mode: UpdateMode = READ_ONLY,
) -> Any:
    """A list, separated by commas."""
    return _field(ConfigType.LIST, default, documentation, allowed, importance, mode)


def property_name(field_name: str) -> str:
    """The property that a field stands for: no property of Kafka has an underscore in its name."""
    return field_name.replace("_", ".")


def field_name(name: str) -> str:
    """The field that stands for a property."""
    return name.replace(".", "_")


def definitions_of(cls: type) -> tuple[ConfigDefinition, ...]:
    """The definitions of the fields that were declared with the functions of this module."""
    return tuple(
        dataclasses.replace(field.metadata[_METADATA_KEY], name=property_name(field.name))
        for field in dataclasses.fields(cls)
        if _METADATA_KEY in field.metadata
    )


def _field(
    kind: ConfigType,
    default: ConfigValue,
    documentation: str,
    allowed: Constraint | None,
    importance: Importance,
    mode: UpdateMode,
) -> Any:
    definition = ConfigDefinition(
        name="",
        type=kind,
        default=default,
        allowed=allowed,
        importance=importance,
        documentation=documentation,
        update_mode=mode,
    )
    return dataclasses.field(default=default, metadata={_METADATA_KEY: definition})
