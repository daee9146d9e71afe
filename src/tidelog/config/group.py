"""The properties of one group (resource type GROUP, KIP-848), which win over the broker's `group.consumer.*`.

Share groups and Streams groups are not part of tidelog, so their properties are not known here.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tidelog.config.broker import BROKER_DEFINITIONS, BrokerConfig
from tidelog.config.definitions import Between, ConfigDefinition, ConfigType, by_name, read_overrides
from tidelog.config.fields import field_name

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
        f"{_bound_name(name, 'min')} and .max."
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
    values: dict[str, int] = {name: getattr(config, field_name(synonym)) for name, synonym in GROUP_SYNONYMS.items()}
    read, _ = read_overrides("groups", GROUP_DEFINITIONS, overrides)
    return values | {name: value for name, value in read.items() if isinstance(value, int)}


def _bounds(config: BrokerConfig) -> Mapping[str, Between]:
    return {
        name: Between(*(getattr(config, field_name(_bound_name(name, bound))) for bound in ("min", "max")))
        for name in GROUP_SYNONYMS
    }


def _bound_name(name: str, bound: str) -> str:
    """The broker property that bounds a group's: `group.consumer.min.session.timeout.ms`."""
    return name.replace("consumer.", f"group.consumer.{bound}.", 1)
