"""Declares a property as a typed field of a dataclass, so that its name, type, default and meaning have one home.

The property's name is the field's with dots for underscores: `retention_ms` is `retention.ms`. The classes made of
such fields are `tidelog.config.topic.TopicConfig`, the sections under `tidelog.config.catalogue` and the configurations
of clients in `tidelog.client.options`.
"""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import Any, TypeVar, dataclass_transform

from tidelog.config.definitions import ConfigDefinition, ConfigType, ConfigValue, Constraint, UpdateMode
from tidelog.model.lazy_dataclasses import lazy_dataclass

_METADATA_KEY = "tidelog.config"

ON_USE = UpdateMode.ON_USE
ON_CHANGE = UpdateMode.ON_CHANGE


T = TypeVar("T")


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=())
def section(cls: type[T]) -> type[T]:
    """Marks a table of broker properties, of which BrokerConfig is made by inheritance.

    Without slots, which classes with several parents cannot have.
    """
    return lazy_dataclass(frozen=True, kw_only=True, repr=False, eq=False)(cls)


def _field(
    kind: ConfigType,
    default: ConfigValue,
    documentation: str,
    allowed: Constraint | None = None,
    mode: UpdateMode = UpdateMode.READ_ONLY,
    ignored_because: str | None = None,
    *,
    required: bool = False,
) -> Any:
    """Any, as dataclasses.field returns it, so that it can stand for a default of any type."""
    definition = ConfigDefinition(
        name="",
        type=kind,
        default=default,
        allowed=allowed,
        documentation=documentation,
        update_mode=mode,
        required=required,
        ignored_because=ignored_because,
    )
    return dataclasses.field(default=default, metadata={_METADATA_KEY: definition})


boolean = partial(_field, ConfigType.BOOLEAN)
short = partial(_field, ConfigType.SHORT)
integer = partial(_field, ConfigType.INT)
long = partial(_field, ConfigType.LONG)
double = partial(_field, ConfigType.DOUBLE)
string = partial(_field, ConfigType.STRING)
password = partial(_field, ConfigType.PASSWORD)
java_class = partial(_field, ConfigType.CLASS)
# A list, separated by commas.
words = partial(_field, ConfigType.LIST)


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
