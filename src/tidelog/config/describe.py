"""What DescribeConfigs shows: every property of a topic or broker with its value, where that comes from, and what
else would have been used.

Changes to properties are planned in `tidelog.config.alteration`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import dropwhile

from tidelog.config.broker import BROKER_DEFINITIONS, BrokerConfig, definition_of
from tidelog.config.catalogue.topic_defaults import TOPIC_SYNONYMS, family_of
from tidelog.config.client_metrics import CLIENT_METRICS_DEFINITIONS
from tidelog.config.definitions import (
    ConfigDefinition,
    ConfigSource,
    ConfigType,
    InvalidConfig,
    format_value,
)
from tidelog.config.fields import field_name
from tidelog.config.group import GROUP_DEFINITIONS, GROUP_SYNONYMS, group_values
from tidelog.config.layers import NOTHING, BrokerLayers
from tidelog.config.listener_properties import split_listener_property
from tidelog.config.topic import TOPIC_DEFINITIONS
from tidelog.model.lazy_dataclasses import dataclass

# Kafka has no defaults for these: a node of Kafka must set them.
_REQUIRED = frozenset({"process.roles", "controller.listener.names"})

# Kafka keeps these to itself unless somebody sets them: for its tests, or defined only as dynamic properties.
_SHOWN_IF_SET = frozenset(
    {
        "controller.performance.always.log.threshold.ms",
        "controller.performance.sample.period.ms",
        "follower.replication.throttled.rate",
        "group.consumer.regex.refresh.interval.ms",
        "group.share.initialize.retry.interval.ms",
        "internal.metadata.delete.delay.millis",
        "internal.metadata.max.batch.size.in.bytes",
        "leader.replication.throttled.rate",
        "log.initial.task.delay.ms",
        "producer.id.expiration.check.interval.ms",
        "remote.log.index.file.cache.ttl.ms",
        "remote.log.manager.task.retry.backoff.max.ms",
        "remote.log.manager.task.retry.backoff.ms",
        "remote.log.manager.task.retry.jitter",
        "replica.alter.log.dirs.io.max.bytes.per.second",
        "server.max.startup.time.ms",
        "share.coordinator.cold.partition.snapshot.interval.ms",
        "share.coordinator.state.topic.prune.interval.ms",
        "unclean.leader.election.interval.ms",
        "unstable.api.versions.enable",
        "unstable.feature.versions.enable",
    }
)


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
    documentation: str | None
    synonyms: tuple[DescribedSynonym, ...]

    @property
    def is_default(self) -> bool:
        return self.source is ConfigSource.DEFAULT_CONFIG


def describe_topic(overrides: Mapping[str, str], broker: BrokerConfig) -> Iterator[DescribedConfig]:
    """All properties of a topic with these overrides, on this broker; those for tests only if they are set."""
    defaults = broker.topic_defaults()
    for name, definition in TOPIC_DEFINITIONS.items():
        chain = TOPIC_SYNONYMS.get(name, ())
        synonyms = _synonyms_of(chain[0].name, broker.layers, tuple(each.name for each in chain)) if chain else []
        value = format_value(getattr(defaults, field_name(name)))
        if name in overrides:
            value = _normalised(definition, overrides[name])
            synonyms.insert(0, DescribedSynonym(name=name, value=value, source=ConfigSource.DYNAMIC_TOPIC_CONFIG))
        elif name.startswith("internal."):
            continue
        yield _described(definition, value, synonyms, read_only=False)


def describe_broker(
    broker: BrokerConfig, *, cluster: Mapping[str, str] = NOTHING, own: Mapping[str, str] = NOTHING
) -> Iterator[DescribedConfig]:
    """All properties of this broker. `cluster` and `own` are what is stored for all brokers and for this one; what of
    it is not known here is shown by name only.
    """
    # Both names mean the node's number, whichever of them was given.
    number = str(broker.node_id)
    static = {**broker.layers.static, "node.id": number, "broker.id": number}
    layers = BrokerLayers(static=static, cluster=broker.layers.cluster, broker=broker.layers.broker)
    for name, definition in BROKER_DEFINITIONS.items():
        # Stronger synonyms in another unit are left out, so that the value shown is always one of this property.
        synonyms = _synonyms_of(name, layers, family_of(name))
        if name in _SHOWN_IF_SET and all(each.source is ConfigSource.DEFAULT_CONFIG for each in synonyms):
            continue
        value = synonyms[0].value if synonyms else format_value(definition.default)
        yield _described(definition, value, synonyms, read_only=not definition.dynamic)
    yield from _of_listeners(layers)
    yield from _unknown(BrokerLayers(cluster=cluster, broker=own))


def _of_listeners(layers: BrokerLayers) -> Iterator[DescribedConfig]:
    """Those that are set for single listeners. Behind their own values stands that of the property without prefix."""
    for name in dict.fromkeys((*layers.broker, *layers.cluster, *layers.static)):
        split, definition = split_listener_property(name), definition_of(name)
        if split is not None and definition is not None:
            synonyms = [*_set_values((name,), layers), *_broker_synonyms((split.name,), layers)]
            yield _described(definition, synonyms[0].value, synonyms, read_only=not definition.dynamic)


def describe_cluster_defaults(dynamic: Mapping[str, str]) -> Iterator[DescribedConfig]:
    """The dynamic properties that hold for all brokers: only those that are set."""
    layers = BrokerLayers(cluster=dynamic)
    for name in dynamic:
        definition = definition_of(name)
        if definition is not None:
            synonyms = list(_set_values((name,), layers))
            yield _described(definition, synonyms[0].value, synonyms, read_only=not definition.dynamic)
    yield from _unknown(layers)


def describe_group(overrides: Mapping[str, str], broker: BrokerConfig) -> Iterator[DescribedConfig]:
    """All properties of a group, which need not exist."""
    values = group_values(overrides, broker)
    for name, definition in GROUP_DEFINITIONS.items():
        synonyms = _synonyms_of(GROUP_SYNONYMS[name], broker.layers, (GROUP_SYNONYMS[name],))
        value = format_value(values[name])
        if name in overrides:
            synonyms.insert(0, DescribedSynonym(name=name, value=value, source=ConfigSource.DYNAMIC_GROUP_CONFIG))
        yield _described(definition, value, synonyms, read_only=False)


def describe_client_metrics(overrides: Mapping[str, str]) -> Iterator[DescribedConfig]:
    """All properties of a subscription, which need not exist."""
    for name, definition in CLIENT_METRICS_DEFINITIONS.items():
        value = format_value(definition.default)
        synonyms: list[DescribedSynonym] = []
        if name in overrides:
            value = _normalised(definition, overrides[name])
            synonyms = [DescribedSynonym(name=name, value=value, source=ConfigSource.DYNAMIC_CLIENT_METRICS_CONFIG)]
        yield _described(definition, value, synonyms, read_only=False)


def describe_loggers(levels: Mapping[str, str]) -> Iterator[DescribedConfig]:
    for name, level in levels.items():
        yield DescribedConfig(
            name=name,
            value=level,
            source=ConfigSource.DYNAMIC_BROKER_LOGGER_CONFIG,
            read_only=False,
            sensitive=False,
            type=ConfigType.UNKNOWN,
            documentation="",
            synonyms=(),
        )


def _unknown(layers: BrokerLayers) -> Iterator[DescribedConfig]:
    """What is stored but not known here. It may be a secret of some plug-in, so nobody sees the value."""
    for name in dict.fromkeys((*layers.broker, *layers.cluster)):
        if definition_of(name) is not None:
            continue
        synonyms = tuple(
            DescribedSynonym(name=name, value=None, source=found.source) for found in layers.values_of((name,))
        )
        yield DescribedConfig(
            name=name,
            value=None,
            source=synonyms[0].source,
            read_only=True,
            sensitive=True,
            type=ConfigType.UNKNOWN,
            documentation=None,
            synonyms=synonyms,
        )


def _synonyms_of(name: str, layers: BrokerLayers, family: tuple[str, ...]) -> list[DescribedSynonym]:
    """Where a value of `name` can come from, the winning place first. As in Kafka, what stands before the first value
    of this very name (in another unit) does not count.
    """
    return list(dropwhile(lambda each: each.name != name, _broker_synonyms(family, layers)))


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
        documentation=definition.description,
        synonyms=tuple(synonyms),
    )


def _set_values(names: tuple[str, ...], layers: BrokerLayers) -> Iterator[DescribedSynonym]:
    for found in layers.values_of(names):
        definition = definition_of(found.name)
        assert definition is not None
        yield DescribedSynonym(name=found.name, value=_normalised(definition, found.text), source=found.source)


def _broker_synonyms(names: tuple[str, ...], layers: BrokerLayers) -> Iterator[DescribedSynonym]:
    yield from _set_values(names, layers)
    for name in names:
        default = BROKER_DEFINITIONS[name].default
        if default is not None and name not in _REQUIRED:
            yield DescribedSynonym(name=name, value=format_value(default), source=ConfigSource.DEFAULT_CONFIG)


def _normalised(definition: ConfigDefinition, text: str) -> str | None:
    """The text in its usual form; as it is where it stems from another version and cannot be read."""
    if definition.sensitive:
        return None
    try:
        return format_value(definition.parse(text))
    except InvalidConfig:
        return text
