"""The properties of one group (resource type GROUP, KIP-848), which win over the broker's `group.consumer.*`.

Share groups and Streams groups are not part of tidelog, so their properties are not known here.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tidelog.config.broker import BROKER_DEFINITIONS, BrokerConfig
from tidelog.config.definitions import ConfigDefinition, ConfigType, InvalidConfig, by_name, read_overrides
from tidelog.config.fields import field_name

# A property of a group, and the part of the names of the broker's default and bounds.
_BROKERS = {
    "consumer.session.timeout.ms": "session.timeout.ms",
    "consumer.heartbeat.interval.ms": "heartbeat.interval.ms",
    "consumer.assignment.interval.ms": "assignment.interval.ms",
}

# The broker property that gives each its default.
GROUP_SYNONYMS: Mapping[str, str] = MappingProxyType(
    {name: f"group.consumer.{rest}" for name, rest in _BROKERS.items()}
)
GROUP_DEFINITIONS = by_name(
    ConfigDefinition(
        name=name,
        type=ConfigType.INT,
        default=BROKER_DEFINITIONS[synonym].default,
        documentation=BROKER_DEFINITIONS[synonym].documentation,
    )
    for name, synonym in GROUP_SYNONYMS.items()
)


def group_problems(overrides: Mapping[str, str], broker: BrokerConfig) -> list[str]:
    """Why these cannot be the properties of a group, one sentence each; empty if they can."""
    read, problems = read_overrides("groups", GROUP_DEFINITIONS, overrides)
    for name, value in read.items():
        assert isinstance(value, int)
        problems.extend(_bound_problems(name, value, broker))
    if not problems:
        values = group_values(overrides, broker)
        session, beat = values["consumer.session.timeout.ms"], values["consumer.heartbeat.interval.ms"]
        if beat >= session:
            problems.append(
                f"consumer.heartbeat.interval.ms={beat} must be less than consumer.session.timeout.ms={session}"
            )
    return problems


def group_values(overrides: Mapping[str, str], broker: BrokerConfig) -> dict[str, int]:
    """The value of every property. Overrides that cannot be read were written by another version and do not count."""
    values: dict[str, int] = {}
    for name, definition in GROUP_DEFINITIONS.items():
        values[name] = getattr(broker, field_name(GROUP_SYNONYMS[name]))
        if name in overrides:
            try:
                value = definition.parse(overrides[name])
            except InvalidConfig:
                continue
            assert isinstance(value, int)
            values[name] = value
    return values


def _bound_problems(name: str, value: int, broker: BrokerConfig) -> list[str]:
    low, high = (f"group.consumer.{bound}.{_BROKERS[name]}" for bound in ("min", "max"))
    if value < getattr(broker, field_name(low)):
        return [f"{name}={value} must be at least {low}={getattr(broker, field_name(low))}"]
    if value > getattr(broker, field_name(high)):
        return [f"{name}={value} must be at most {high}={getattr(broker, field_name(high))}"]
    return []
