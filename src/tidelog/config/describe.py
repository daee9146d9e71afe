"""What DescribeConfigs shows: every property of a topic or broker with its value, where that comes from, and what
else would have been used.

Changes to properties are planned in `tidelog.config.alteration`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tidelog.config.broker import BROKER_DEFINITIONS, BrokerConfig, convert_synonym
from tidelog.config.definitions import (
    ConfigDefinition,
    ConfigSource,
    ConfigType,
    InvalidConfig,
    UpdateMode,
    format_value,
)
from tidelog.config.layers import BrokerLayers, family_of
from tidelog.config.topic import TOPIC_DEFINITIONS, TOPIC_SYNONYMS


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedSynonym:
    """One of the places a value can come from, in the order in which they win."""

    name: str
    value: str | None
    source: ConfigSource


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedConfig:
    """One property as DescribeConfigs shows it. The value of a sensitive one is None."""

    name: str
    value: str | None
    source: ConfigSource
    read_only: bool
    sensitive: bool
    type: ConfigType
    documentation: str
    synonyms: tuple[DescribedSynonym, ...]

    @property
    def is_default(self) -> bool:
        return self.source is ConfigSource.DEFAULT_CONFIG


def describe_topic(overrides: Mapping[str, str], broker: BrokerConfig) -> Iterator[DescribedConfig]:
    """All properties of a topic with these overrides, on this broker."""
    for name, definition in TOPIC_DEFINITIONS.items():
        chain = {synonym.name: synonym for synonym in TOPIC_SYNONYMS.get(name, ())}
        synonyms = list(_broker_synonyms(tuple(chain), broker.layers))
        value = format_value(definition.default)
        if name in overrides:
            value = _normalised(definition, overrides[name])
            synonyms.insert(0, DescribedSynonym(name=name, value=value, source=ConfigSource.DYNAMIC_TOPIC_CONFIG))
        elif synonyms and synonyms[0].value is not None:
            value = convert_synonym(chain[synonyms[0].name], synonyms[0].value)
        yield _described(definition, value, synonyms, read_only=False)


def describe_broker(broker: BrokerConfig) -> Iterator[DescribedConfig]:
    """All properties of this broker."""
    for name, definition in BROKER_DEFINITIONS.items():
        synonyms = list(_broker_synonyms(family_of(name), broker.layers))
        # Stronger synonyms in another unit are left out, so that the value shown is always one of this property.
        while synonyms and synonyms[0].name != name:
            synonyms.pop(0)
        value = synonyms[0].value if synonyms else format_value(definition.default)
        yield _described(definition, value, synonyms, read_only=_read_only(definition))


def describe_cluster_defaults(dynamic: Mapping[str, str]) -> Iterator[DescribedConfig]:
    """The dynamic properties that hold for all brokers: only those that are set."""
    layers = BrokerLayers(cluster=dynamic)
    for name in dynamic:
        definition = BROKER_DEFINITIONS.get(name)
        if definition is not None:
            synonyms = [
                synonym
                for synonym in _broker_synonyms((name,), layers)
                if synonym.source is ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG
            ]
            yield _described(definition, synonyms[0].value, synonyms, read_only=_read_only(definition))


def _described(
    definition: ConfigDefinition, value: str | None, synonyms: list[DescribedSynonym], *, read_only: bool
) -> DescribedConfig:
    return DescribedConfig(
        name=definition.name,
        value=None if definition.sensitive else value,
        source=synonyms[0].source if synonyms else ConfigSource.DEFAULT_CONFIG,
        read_only=read_only,
        sensitive=definition.sensitive,
        type=definition.type,
        documentation=definition.documentation,
        synonyms=tuple(synonyms),
    )


def _read_only(definition: ConfigDefinition) -> bool:
    return definition.update_mode is UpdateMode.READ_ONLY


def _broker_synonyms(names: tuple[str, ...], layers: BrokerLayers) -> Iterator[DescribedSynonym]:
    for found in layers.values_of(names):
        definition = BROKER_DEFINITIONS[found.name]
        yield DescribedSynonym(name=found.name, value=_normalised(definition, found.text), source=found.source)
    for name in names:
        default = BROKER_DEFINITIONS[name].default
        if default is not None:
            yield DescribedSynonym(name=name, value=format_value(default), source=ConfigSource.DEFAULT_CONFIG)


def _normalised(definition: ConfigDefinition, text: str) -> str | None:
    """The text in its usual form; as it is where it stems from another version and cannot be read."""
    if definition.sensitive:
        return None
    try:
        return format_value(definition.parse(text))
    except InvalidConfig:
        return text
