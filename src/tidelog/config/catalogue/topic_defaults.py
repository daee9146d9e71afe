"""The broker properties that give topic properties their defaults.

They are nobody's fields: `BrokerConfig.topic_defaults` puts them below the properties of each topic. Type, allowed
values and default are the topic property's where the row does not say otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping

from tidelog.config.definitions import (
    NOT_NEGATIVE,
    POSITIVE,
    Between,
    ConfigDefinition,
    ConfigType,
    ConfigValue,
    Constraint,
    UpdateMode,
    by_name,
)
from tidelog.config.topic import HOUR_MS, MAX_LONG, MINUTE_MS, TOPIC_DEFINITIONS

_INT = ConfigType.INT


def _same(name: str, topic_property: str) -> ConfigDefinition:
    of = TOPIC_DEFINITIONS[topic_property]
    return _row(name, topic_property, of.type, of.default, of.allowed, ignored_because=of.ignored_because)


def _row(
    name: str,
    topic_property: str,
    kind: ConfigType,
    default: ConfigValue,
    allowed: Constraint | None,
    note: str = "",
    *,
    factor: int = 1,
    dynamic: bool = True,
    ignored_because: str | None = None,
) -> ConfigDefinition:
    mode = UpdateMode.TOPIC_DEFAULT if ignored_because is None else UpdateMode.IGNORED
    return ConfigDefinition(
        name=name,
        type=kind,
        default=default,
        allowed=allowed,
        documentation=f"The default of a topic's {topic_property}{note}.",
        update_mode=mode if dynamic else UpdateMode.READ_ONLY,
        default_of=topic_property,
        factor=factor,
        ignored_because=ignored_because,
    )


def _of_long(name: str, topic_property: str, allowed: Constraint | None, otherwise: str) -> ConfigDefinition:
    """The most exact of several, which is not set by default."""
    return _row(name, topic_property, ConfigType.LONG, None, allowed, f"; if it is not set, {otherwise} is used")


def _of_hours(name: str, topic_property: str, default: int, allowed: Constraint | None) -> ConfigDefinition:
    return _row(name, topic_property, _INT, default, allowed, ", in hours", factor=HOUR_MS, dynamic=False)


# Of several with the same topic property the first that is set wins, within one layer.
TOPIC_DEFAULT_DEFINITIONS = by_name(
    (
        _same("compression.type", "compression.type"),
        _same("compression.gzip.level", "compression.gzip.level"),
        _same("compression.lz4.level", "compression.lz4.level"),
        _same("compression.zstd.level", "compression.zstd.level"),
        _same("message.max.bytes", "max.message.bytes"),
        _same("min.insync.replicas", "min.insync.replicas"),
        _same("unclean.leader.election.enable", "unclean.leader.election.enable"),
        _same("log.cleanup.policy", "cleanup.policy"),
        _same("log.segment.bytes", "segment.bytes"),
        _same("log.segment.delete.delay.ms", "file.delete.delay.ms"),
        _same("log.index.interval.bytes", "index.interval.bytes"),
        _same("log.index.size.max.bytes", "segment.index.bytes"),
        _same("log.preallocate", "preallocate"),
        _of_long("log.roll.ms", "segment.ms", POSITIVE, "log.roll.hours"),
        _of_hours("log.roll.hours", "segment.ms", 168, POSITIVE),
        _of_long("log.roll.jitter.ms", "segment.jitter.ms", NOT_NEGATIVE, "log.roll.jitter.hours"),
        _of_hours("log.roll.jitter.hours", "segment.jitter.ms", 0, NOT_NEGATIVE),
        _same("log.retention.bytes", "retention.bytes"),
        _of_long("log.retention.ms", "retention.ms", Between(1, extra=(-1,)), "log.retention.minutes"),
        _row(
            "log.retention.minutes",
            "retention.ms",
            _INT,
            None,
            None,
            ", in minutes; if it is not set, log.retention.hours is used",
            factor=MINUTE_MS,
            dynamic=False,
        ),
        _of_hours("log.retention.hours", "retention.ms", 168, None),
        _same("log.flush.interval.messages", "flush.messages"),
        _of_long("log.flush.interval.ms", "flush.ms", None, "log.flush.scheduler.interval.ms"),
        _row("log.flush.scheduler.interval.ms", "flush.ms", ConfigType.LONG, MAX_LONG, None, dynamic=False),
        _same("log.message.timestamp.type", "message.timestamp.type"),
        _same("log.message.timestamp.before.max.ms", "message.timestamp.before.max.ms"),
        _same("log.message.timestamp.after.max.ms", "message.timestamp.after.max.ms"),
        _same("log.local.retention.bytes", "local.retention.bytes"),
        _same("log.local.retention.ms", "local.retention.ms"),
        _same("log.cleaner.delete.retention.ms", "delete.retention.ms"),
        _same("log.cleaner.min.cleanable.ratio", "min.cleanable.dirty.ratio"),
        _same("log.cleaner.min.compaction.lag.ms", "min.compaction.lag.ms"),
        _same("log.cleaner.max.compaction.lag.ms", "max.compaction.lag.ms"),
    )
)


def _chains() -> Mapping[str, tuple[ConfigDefinition, ...]]:
    chains: dict[str, tuple[ConfigDefinition, ...]] = {}
    for definition in TOPIC_DEFAULT_DEFINITIONS.values():
        assert definition.default_of is not None
        chains[definition.default_of] = (*chains.get(definition.default_of, ()), definition)
    return chains


# The broker properties behind each topic property that has any, the most exact first.
TOPIC_SYNONYMS = _chains()


def family_of(name: str) -> tuple[str, ...]:
    """`name` and the properties that set the same thing in other units, the most exact first: setting any of them in
    a stronger layer wins over all of them in a weaker one."""
    definition = TOPIC_DEFAULT_DEFINITIONS.get(name)
    if definition is None or definition.default_of is None or name == "log.flush.scheduler.interval.ms":
        # As in Apache Kafka, the interval of the scheduler stands in for the other, but not the other for it.
        return (name,)
    return tuple(each.name for each in TOPIC_SYNONYMS[definition.default_of])
