"""The properties of one group (resource type GROUP, KIP-848), which win over the broker's `group.consumer.*`.

Share groups and Streams groups are not part of tidelog, so their properties are not known here.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tidelog.config.broker import BROKER_DEFINITIONS, BrokerConfig
from tidelog.config.definitions import Between, ConfigDefinition, ConfigType, by_name, read_overrides

# The broker property that gives each its default.
GROUP_SYNONYMS: Mapping[str, str] = MappingProxyType(
    {
        name: f"group.{name}"
        for name in ("consumer.session.timeout.ms", "consumer.heartbeat.interval.ms", "consumer.assignment.interval.ms")
    }
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
    bounds = _bounds(broker)
    problems.extend(
        f"{name} must {bounds[name].describe()}, but is {value}; the bounds are the brokers' "
        f"{GROUP_SYNONYMS[name].replace('group.consumer.', 'group.consumer.min.')} and .max."
        for name, value in read.items()
        if not bounds[name].allows(value)
    )
    if not problems:
        values = group_values(overrides, broker)
        session, beat = values["consumer.session.timeout.ms"], values["consumer.heartbeat.interval.ms"]
        if beat >= session:
            problems.append(
                f"consumer.heartbeat.interval.ms={beat} must be less than consumer.session.timeout.ms={session}"
            )
    return problems


def group_values(overrides: Mapping[str, str], config: BrokerConfig) -> dict[str, int]:
    """The value of every property. Overrides that cannot be read were written by another version and do not count."""
    values = {
        "consumer.session.timeout.ms": config.group_consumer_session_timeout_ms,
        "consumer.heartbeat.interval.ms": config.group_consumer_heartbeat_interval_ms,
        "consumer.assignment.interval.ms": config.group_consumer_assignment_interval_ms,
    }
    read, _ = read_overrides("groups", GROUP_DEFINITIONS, overrides)
    return values | {name: value for name, value in read.items() if isinstance(value, int)}


def _bounds(config: BrokerConfig) -> Mapping[str, Between]:
    return {
        "consumer.session.timeout.ms": Between(
            config.group_consumer_min_session_timeout_ms, config.group_consumer_max_session_timeout_ms
        ),
        "consumer.heartbeat.interval.ms": Between(
            config.group_consumer_min_heartbeat_interval_ms, config.group_consumer_max_heartbeat_interval_ms
        ),
        "consumer.assignment.interval.ms": Between(
            config.group_consumer_min_assignment_interval_ms, config.group_consumer_max_assignment_interval_ms
        ),
    }
