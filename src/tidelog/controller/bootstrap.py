"""The beginnings: the first records of a new cluster, and fresh ids made of random bytes."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tidelog.controller.eligible_leaders import DEFAULT_MIN_IN_SYNC, MIN_IN_SYNC
from tidelog.metadata.image import ResourceType
from tidelog.metadata.records import (
    ELIGIBLE_LEADER_REPLICAS,
    ELIGIBLE_LEADER_REPLICAS_FEATURE,
    GROUP_VERSION,
    GROUP_VERSION_FEATURE,
    METADATA_VERSION,
    METADATA_VERSION_FEATURE,
    TRANSACTION_VERSION,
    TRANSACTION_VERSION_FEATURE,
)
from tidelog.model.ids import Uuid
from tidelog.protocol.messages.config_record import ConfigRecord
from tidelog.protocol.messages.feature_level_record import FeatureLevelRecord
from tidelog.protocol.schema import Message

INITIAL_FEATURES: Mapping[str, int] = MappingProxyType(
    {
        METADATA_VERSION_FEATURE: METADATA_VERSION,
        ELIGIBLE_LEADER_REPLICAS_FEATURE: ELIGIBLE_LEADER_REPLICAS,
        GROUP_VERSION_FEATURE: GROUP_VERSION,
        TRANSACTION_VERSION_FEATURE: TRANSACTION_VERSION,
    }
)


def bootstrap_records(
    features: Mapping[str, int] = INITIAL_FEATURES, *, min_in_sync: int = DEFAULT_MIN_IN_SYNC
) -> tuple[Message, ...]:
    """What the first controller writes into an empty metadata log. `min_in_sync` is its own min.insync.replicas: with
    eligible leaders all nodes must have the same value.
    """
    records: list[Message] = [*feature_records(features)]
    if features.get(ELIGIBLE_LEADER_REPLICAS_FEATURE, 0):
        value = str(min_in_sync)
        records.append(ConfigRecord(resource_type=ResourceType.BROKER, resource_name="", name=MIN_IN_SYNC, value=value))
    return tuple(records)


def feature_records(features: Mapping[str, int] = INITIAL_FEATURES) -> list[FeatureLevelRecord]:
    return [FeatureLevelRecord(name=name, feature_level=level) for name, level in features.items() if level]


def fresh_uuid(random_bytes: bytes) -> Uuid:
    """A random id (RFC 9562, version 4) of 16 random bytes, as Kafka makes them.

    An id whose text would begin with "-" is changed in one bit: command lines would take it for an option. The bits
    of the version keep every such id out of the range that Kafka reserves.
    """
    value = bytearray(random_bytes)
    if len(value) != 16:
        raise ValueError(f"an id needs 16 random bytes, not {len(value)}")
    value[6] = value[6] & 0x0F | 0x40
    value[8] = value[8] & 0x3F | 0x80
    if value[0] >> 2 == 62:
        value[0] ^= 0x80
    return Uuid(bytes(value))
