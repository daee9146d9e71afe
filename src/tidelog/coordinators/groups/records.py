"""The records of `__consumer_offsets`: Kafka's schemas, and the versions that Kafka 4.3 writes."""

from __future__ import annotations

from tidelog.coordinators.decision import CoordinatorRecord
from tidelog.coordinators.record_format import RecordFormat
from tidelog.model.topics import CONSUMER_OFFSETS_TOPIC
from tidelog.protocol.api import message_class
from tidelog.protocol.messages.group_metadata_key import GroupMetadataKey
from tidelog.protocol.messages.group_metadata_value import GroupMetadataValue
from tidelog.protocol.messages.offset_commit_key import OffsetCommitKey
from tidelog.protocol.messages.offset_commit_value import OffsetCommitValue
from tidelog.protocol.schema import Message

# What very old brokers wrote for offsets; the layout is that of today's type.
_LEGACY_OFFSET_COMMIT_TYPE = 0

_CONSUMER_GROUP_RECORDS = [
    (message_class(f"ConsumerGroup{name}Key"), message_class(f"ConsumerGroup{name}Value"))
    for name in (
        "Metadata",
        "PartitionMetadata",
        "MemberMetadata",
        "TargetAssignmentMetadata",
        "TargetAssignmentMember",
        "CurrentMemberAssignment",
        "RegularExpression",
    )
]

# Type to the classes of key and value.
RECORD_TYPES: dict[int, tuple[type[Message], type[Message]]] = {
    _LEGACY_OFFSET_COMMIT_TYPE: (OffsetCommitKey, OffsetCommitValue),
    OffsetCommitKey.SCHEMA.api_key: (OffsetCommitKey, OffsetCommitValue),
    GroupMetadataKey.SCHEMA.api_key: (GroupMetadataKey, GroupMetadataValue),
    **{kinds[0].SCHEMA.api_key: kinds for kinds in _CONSUMER_GROUP_RECORDS},
}

_CONSUMER_GROUP_VALUES = frozenset(value for _, value in _CONSUMER_GROUP_RECORDS)

_GROUP_METADATA_VERSION = 3
_OFFSET_COMMIT_VERSION = 4
_CONSUMER_GROUP_VERSION = 0
# The only version that can say when the offset expires.
_EXPIRING_OFFSET_COMMIT_VERSION = 1
NO_EXPIRY = -1


def group_record(group_id: str, value: GroupMetadataValue) -> CoordinatorRecord:
    return CoordinatorRecord(GroupMetadataKey(group=group_id), value)


def group_tombstone(group_id: str) -> CoordinatorRecord:
    return CoordinatorRecord(GroupMetadataKey(group=group_id), None)


def offset_record(group_id: str, topic: str, partition: int, value: OffsetCommitValue) -> CoordinatorRecord:
    return CoordinatorRecord(OffsetCommitKey(group=group_id, topic=topic, partition=partition), value)


def offset_tombstone(group_id: str, topic: str, partition: int) -> CoordinatorRecord:
    return CoordinatorRecord(OffsetCommitKey(group=group_id, topic=topic, partition=partition), None)


def _value_version(value: Message) -> int:
    match value:
        case GroupMetadataValue():
            return _GROUP_METADATA_VERSION
        case OffsetCommitValue():
            return _OFFSET_COMMIT_VERSION if value.expire_timestamp == NO_EXPIRY else _EXPIRING_OFFSET_COMMIT_VERSION
        case _ if type(value) in _CONSUMER_GROUP_VALUES:
            return _CONSUMER_GROUP_VERSION
        case _:
            raise TypeError(f"{type(value).__name__} is not written to __consumer_offsets")


FORMAT = RecordFormat(CONSUMER_OFFSETS_TOPIC, RECORD_TYPES, _value_version)
encode_record = FORMAT.encode
decode_record = FORMAT.decode
