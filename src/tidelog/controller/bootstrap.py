"""The beginnings: the first records of a new cluster, and fresh ids made of random bytes."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tidelog.metadata.records import (
    GROUP_VERSION,
    GROUP_VERSION_FEATURE,
    METADATA_VERSION,
    METADATA_VERSION_FEATURE,
    TRANSACTION_VERSION,
    TRANSACTION_VERSION_FEATURE,
    FeatureLevelRecord,
)
from tidelog.model.ids import Uuid
from tidelog.protocol.schema import Message

INITIAL_FEATURES: Mapping[str, int] = MappingProxyType(
    {
        METADATA_VERSION_FEATURE: METADATA_VERSION,
        TRANSACTION_VERSION_FEATURE: TRANSACTION_VERSION,
        GROUP_VERSION_FEATURE: GROUP_VERSION,
    }
)


def bootstrap_records(features: Mapping[str, int] = INITIAL_FEATURES) -> tuple[Message, ...]:
    """What the first controller writes into an empty metadata log."""
    return tuple(FeatureLevelRecord(name=name, feature_level=level) for name, level in features.items() if level)


def fresh_uuid(random_bytes: bytes) -> Uuid:
    """A random id (RFC 9562, version 4) of 16 random bytes, as Kafka makes them.

    An id whose text would begin with "-" is changed in one bit: command lines would take it for an option. The bits
    of the version keep every such id out of the range that Kafka reserves.
    """
    value = bytearray(random_bytes)
    if len(value) != 16:
        raise ValueError(f"an id is made of 16 random bytes, not of {len(value)}")
    value[6] = value[6] & 0x0F | 0x40
    value[8] = value[8] & 0x3F | 0x80
    if value[0] >> 2 == 62:
        value[0] ^= 0x80
    return Uuid(bytes(value))
