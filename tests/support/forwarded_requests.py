"""Requests for every API that brokers pass on to the controller, in every served version, made from the schemas.

A field gets a value by its name, and only if the version has it. So a version's own fields are always filled, also
those of an API that is added later: where no value is known for a name, one fits by its type.
"""

from __future__ import annotations

from typing import Any

from tidelog.protocol.api import request_class
from tidelog.protocol.messages import ApiKey
from tidelog.protocol.schema import Field, Message, covers
from tidelog.server.api.catalogue import APIS

TOPIC = 2
CLUSTER_METADATA = "__cluster_metadata"
# Stands for the name of the topic that a request is about.
NAME = object()

# By struct and field, or by field alone.
_VALUES: dict[str, Any] = {
    "name": NAME,
    "topic": NAME,
    "topic_names": [NAME],
    "resource_name": NAME,
    "resource_type": TOPIC,
    "CreatableTopicConfig.name": "retention.ms",
    "AlterableConfig.name": "retention.ms",
    "value": "123456",
    "OpData.key": "producer_byte_rate",
    "OpData.value": 5.0,
    "OpData.remove": False,
    "entity_type": "user",
    "mechanism": 1,
    "iterations": 4096,
    "config_operation": 0,
    # The assignments say it.
    "num_partitions": -1,
    "replication_factor": -1,
    "count": 2,
    "broker_ids": [1],
    "replicas": [2],
    "partition_index": 0,
    "partition_indexes": [0],
    "partitions": [0],
    "election_type": 0,
    "validate_only": False,
    "timeout_ms": 10_000,
    "feature": "transaction.version",
    "max_version_level": 1,
    "allow_downgrade": True,
    "upgrade_type": 2,
    "broker_id": 99,
    "topic_id": bytes(16),
    "TopicData.topic_name": CLUSTER_METADATA,
}
_BY_KIND: dict[str, Any] = {"bool": True, "float64": 1.0, "uuid": bytes(16), "string": NAME, "bytes": b"x"}


def every_version() -> list[tuple[ApiKey, int]]:
    return [
        (api.key, version)
        for api in APIS
        if api.is_forwarded
        for version in range(api.versions[0], api.versions[1] + 1)
    ]


def request_for(api_key: ApiKey, version: int, topic: str) -> Any:
    return _filled(request_class(api_key), version, topic)


def _filled(kind: type[Message], version: int, topic: str) -> Message:
    fields = [field for field in kind.SCHEMA.fields if covers(field.versions, version)]
    return kind(**{field.name: _value(kind, field, version, topic) for field in fields})


def _value(kind: type[Message], field: Field, version: int, topic: str) -> Any:
    element = field.kind.removeprefix("[]")
    nested = kind.STRUCTS.get(element)
    if nested is not None:
        filled = _filled(nested, version, topic)
        return [filled] if field.kind != element else filled
    known = _VALUES.get(f"{kind.__name__}.{field.name}", _VALUES.get(field.name))
    if known is None:
        known = _BY_KIND.get(element, 1)
        known = [known] if field.kind != element else known
    if isinstance(known, list):
        return [topic if each is NAME else each for each in known]
    return topic if known is NAME else known


# What differs between two replies although they mean the same.
_VARYING = ("topic_id", "offset", "timestamp", "watermark", "epoch")


def comparable(value: Any, topic: str) -> Any:
    """A reply without what differs by chance, and with the topic's name replaced, as plain data."""
    if isinstance(value, Message):
        return {
            name: comparable(getattr(value, name), topic)
            for name in value.__slots__
            if not any(name.endswith(part) for part in _VARYING)
        }
    if isinstance(value, (list, tuple)):
        return [comparable(each, topic) for each in value]
    return value.replace(topic, "TOPIC") if isinstance(value, str) else value
