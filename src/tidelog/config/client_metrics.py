"""The properties of a subscription to the metrics of clients (resource type CLIENT_METRICS, KIP-714).

They are stored, checked and shown, without effect: brokers serve neither GetTelemetrySubscriptions nor PushTelemetry.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from tidelog.config.definitions import ConfigDefinition, ConfigType, by_name, read_overrides

LONGEST_INTERVAL_MS = 3_600_000
SHORTEST_INTERVAL_MS = 100

_NOT_SERVED = "brokers do not ask clients for their metrics yet"

CLIENT_METRICS_DEFINITIONS = by_name(
    ConfigDefinition(name=name, type=kind, default=default, documentation=text, ignored_because=_NOT_SERVED)
    for name, kind, default, text in (
        ("interval.ms", ConfigType.INT, 300_000, "How often a client sends its metrics."),
        ("match", ConfigType.LIST, (), "The clients of the subscription, as name=pattern pairs; empty means all."),
        ("metrics", ConfigType.LIST, (), "The prefixes of the names of the metrics; empty means none."),
    )
)
_MATCHED = (
    "client_instance_id",
    "client_id",
    "client_software_name",
    "client_software_version",
    "client_source_address",
    "client_source_port",
)


def client_metrics_request_problems(overrides: Mapping[str, str]) -> list[str]:
    """What Kafka calls an invalid request: names that it does not know, and intervals out of range."""
    values, problems = read_overrides("client metrics subscriptions", CLIENT_METRICS_DEFINITIONS, overrides)
    for name, value in values.items():
        if isinstance(value, int) and not SHORTEST_INTERVAL_MS <= value <= LONGEST_INTERVAL_MS:
            problems.append(f"{name}={value} must be from {SHORTEST_INTERVAL_MS} to {LONGEST_INTERVAL_MS}")
    return problems


def client_metrics_value_problems(overrides: Mapping[str, str]) -> list[str]:
    """What Kafka calls an invalid configuration: patterns that match no client."""
    return [
        f"match: {pattern!r} is not a pair of {', '.join(_MATCHED)} and a regular expression"
        for pattern in _patterns(overrides.get("match", ""))
        if not _is_match(pattern)
    ]


def _patterns(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _is_match(pattern: str) -> bool:
    name, separator, expression = pattern.partition("=")
    if not separator or "=" in expression or name.strip() not in _MATCHED:
        return False
    try:
        re.compile(expression.strip())
    except re.error:
        return False
    return True
