"""Configurations and features."""

from __future__ import annotations

from typing import Any

from twin.asking import Case, ask, script, step
from twin.cases.topics import create, delete
from twin.state import COMPACTED, MISSING, PLAIN

from tidelog.protocol.messages import ApiKey

TOPIC, BROKER, LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32


def describe(kind: int, name: str, keys: list[str] | None, **fields: Any) -> dict[str, Any]:
    resource = {"resource_type": kind, "resource_name": name, "configuration_keys": keys}
    return {"resources": [resource], "include_synonyms": True, "include_documentation": False, **fields}


def change(
    name: str, value: str | None, *, kind: int = TOPIC, of: str = PLAIN, operation: int | None = 0, **fields: Any
) -> Any:
    config = {"name": name, "value": value, **({} if operation is None else {"config_operation": operation})}
    resource = {"resource_type": kind, "resource_name": of, "configs": [config]}
    return {"validate_only": True, "resources": [resource], **fields}


_DESCRIBE = ApiKey.DESCRIBE_CONFIGS
_SET = ApiKey.INCREMENTAL_ALTER_CONFIGS
_REPLACE = ApiKey.ALTER_CONFIGS
# The older API knows no operations.
_OPERATION = {_SET: 0, _REPLACE: None}
_SETTING = "twin-set-{run}"

DESCRIBED: list[Case] = [
    ask(_DESCRIBE, "two of a topic", describe(TOPIC, PLAIN, ["cleanup.policy", "max.message.bytes"]), varied=True),
    ask(_DESCRIBE, "all of a topic", describe(TOPIC, PLAIN, None)),
    ask(_DESCRIBE, "all of another topic", describe(TOPIC, COMPACTED, None)),
    ask(_DESCRIBE, "an empty list of a topic", describe(TOPIC, PLAIN, [])),
    ask(_DESCRIBE, "unknown ones of a topic", describe(TOPIC, PLAIN, ["nonsense"])),
    ask(_DESCRIBE, "without synonyms", describe(TOPIC, PLAIN, ["retention.ms"], include_synonyms=False)),
    ask(_DESCRIBE, "of a missing topic", describe(TOPIC, MISSING, None)),
    ask(_DESCRIBE, "of a bad topic", describe(TOPIC, "a b", None)),
    ask(_DESCRIBE, "of a nameless topic", describe(TOPIC, "", None)),
    ask(_DESCRIBE, "two of a broker", describe(BROKER, "1", ["message.max.bytes", "log.retention.hours"])),
    ask(_DESCRIBE, "the id of a broker", describe(BROKER, "1", ["node.id", "broker.id"])),
    ask(_DESCRIBE, "of the default broker", describe(BROKER, "", None)),
    ask(_DESCRIBE, "of another broker", describe(BROKER, "9", None)),
    ask(_DESCRIBE, "of no broker", describe(BROKER, "x", None)),
    ask(_DESCRIBE, "of loggers", describe(LOGGER, "1", ["root"]), one_node=True),
    ask(_DESCRIBE, "of loggers of nobody", describe(LOGGER, "x", None)),
    ask(_DESCRIBE, "of client metrics", describe(CLIENT_METRICS, "m", None)),
    ask(_DESCRIBE, "of nameless client metrics", describe(CLIENT_METRICS, "", None)),
    ask(_DESCRIBE, "of a group", describe(GROUP, "g", None)),
    ask(_DESCRIBE, "of a nameless group", describe(GROUP, "", None)),
    *[ask(_DESCRIBE, f"of type {kind}", describe(kind, "x", None)) for kind in (0, 1, 3, 99, -1)],
    ask(_DESCRIBE, "of nothing", {"resources": []}),
    ask(ApiKey.LIST_CONFIG_RESOURCES, "of client metrics", {"resource_types": [16]}),
    *[
        ask(ApiKey.LIST_CONFIG_RESOURCES, f"of {types}", {"resource_types": types}, versions=(1, 1))
        for types in ([], [TOPIC], [BROKER], [LOGGER], [GROUP], [CLIENT_METRICS, GROUP], [99], [0])
    ],
]

CHANGED: list[Case] = [
    *[
        ask(key, f"{name} to {value}", change(name, value, operation=_OPERATION[key]), varied=value == "5000")
        for key in (_SET, _REPLACE)
        for name, value in (
            ("retention.ms", "5000"),
            ("retention.ms", "five"),
            ("retention.ms", ""),
            ("retention.ms", None),
            ("retention.ms", "-2"),
            ("nonsense", "1"),
            ("", "1"),
            ("cleanup.policy", "compact,delete"),
            ("cleanup.policy", "shred"),
            ("segment.bytes", "200"),
            ("segment.bytes", "1048576"),
            ("min.insync.replicas", "0"),
            ("compression.type", "brotli"),
            ("message.timestamp.type", "Never"),
            ("unclean.leader.election.enable", "perhaps"),
            ("min.cleanable.dirty.ratio", "1.5"),
            ("leader.replication.throttled.replicas", "*"),
            ("leader.replication.throttled.replicas", "nonsense"),
        )
    ],
    *[
        ask(_SET, f"{name} by operation {operation}", change(name, value, operation=operation))
        for name, value in (("cleanup.policy", "compact"), ("retention.ms", "5"), ("nonsense", "x"))
        for operation in (1, 2, 3, 4, -1)
    ],
    *[
        ask(key, f"of {kind} {of!r}: {name}", change(name, value, kind=kind, of=of, operation=_OPERATION[key]))
        for key in (_SET, _REPLACE)
        for kind, of, name, value in (
            (TOPIC, MISSING, "retention.ms", "5"),
            (TOPIC, "", "retention.ms", "5"),
            (BROKER, "1", "log.retention.ms", "5000"),
            (BROKER, "1", "nonsense", "1"),
            (BROKER, "", "log.retention.ms", "5000"),
            (BROKER, "9", "log.retention.ms", "5000"),
            (BROKER, "x", "log.retention.ms", "5000"),
            (BROKER, "1", "node.id", "7"),
            (BROKER, "1", "log.cleaner.threads", "x"),
            (CLIENT_METRICS, "m", "interval.ms", "1000"),
            (CLIENT_METRICS, "m", "nonsense", "1"),
            (GROUP, "g", "consumer.session.timeout.ms", "50000"),
            (GROUP, "g", "nonsense", "1"),
            (99, "x", "a", "b"),
            (0, "x", "a", "b"),
        )
    ],
    ask(
        _SET,
        "a config twice",
        {
            "resources": [
                {
                    **change("retention.ms", "1")["resources"][0],
                    "configs": [{"name": "retention.ms", "value": "1", "config_operation": 0}] * 2,
                }
            ],
            "validate_only": True,
        },
    ),
    ask(_SET, "a resource twice", {"resources": change("retention.ms", "1")["resources"] * 2, "validate_only": True}),
    ask(_SET, "nothing", {"resources": [], "validate_only": True}),
    *[
        script(
            key,
            "set, described, taken away",
            step(ApiKey.CREATE_TOPICS, create(_SETTING, validate_only=False), version=7),
            step(key, change("retention.ms", "5000", of=_SETTING, operation=_OPERATION[key], validate_only=False)),
            step(_DESCRIBE, describe(TOPIC, _SETTING, ["retention.ms", "retention.bytes"]), version=4),
            step(_SET, change("retention.ms", None, of=_SETTING, operation=1, validate_only=False), version=1),
            step(_DESCRIBE, describe(TOPIC, _SETTING, ["retention.ms"]), version=4),
            step(ApiKey.DELETE_TOPICS, delete(_SETTING), version=3),
        )
        for key in (_SET, _REPLACE)
    ],
]


def feature(name: str, level: int, *, kind: int = 1, downgrade: bool = False, **fields: Any) -> dict[str, Any]:
    update = {"feature": name, "max_version_level": level, "upgrade_type": kind, "allow_downgrade": downgrade}
    return {"timeout_ms": 15_000, "validate_only": True, "feature_updates": [update], **fields}


_FEATURES = ApiKey.UPDATE_FEATURES

# Version 0 has no way to try without doing, so what is asked there must not change anything.
FEATURES: list[Case] = [
    ask(_FEATURES, "none", {"timeout_ms": 15_000, "feature_updates": []}),
    ask(_FEATURES, "an unknown one", feature("nonsense", 1)),
    ask(_FEATURES, "an unknown one away", feature("nonsense", 0, kind=2, downgrade=True)),
    ask(_FEATURES, "a level that is too high", feature("group.version", 99)),
    ask(_FEATURES, "the level that it has", feature("transaction.version", 2)),
    ask(_FEATURES, "a lower level as an upgrade", feature("transaction.version", 1)),
    ask(_FEATURES, "a lower level", feature("transaction.version", 1, kind=2), versions=(1, 2)),
    ask(_FEATURES, "a lower level at all costs", feature("transaction.version", 1, kind=3), versions=(1, 2)),
    ask(_FEATURES, "an unknown kind", feature("transaction.version", 1, kind=0), versions=(1, 2)),
    ask(_FEATURES, "another unknown kind", feature("transaction.version", 1, kind=9), versions=(1, 2)),
    ask(_FEATURES, "a level below zero", feature("transaction.version", -1)),
    ask(_FEATURES, "a level of zero without permission", feature("transaction.version", 0)),
    ask(_FEATURES, "a nameless one", feature("", 1)),
    ask(_FEATURES, "an old level of the metadata", feature("metadata.version", 1, kind=2), versions=(1, 2)),
    ask(_FEATURES, "no level of the metadata", feature("metadata.version", 0, kind=2), versions=(1, 2)),
]

CASES = [*DESCRIBED, *CHANGED, *FEATURES]
