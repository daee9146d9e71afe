"""What `tidelog dump-log --print-data-log` shows of a record: its key and value, read in one of several ways.

Plain text is the default. The others know the records that Kafka keeps for itself: in `__consumer_offsets`, in
`__transaction_state` and in the log of cluster metadata. The lines around them are made in `dump_log_batches`.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from struct import Struct
from struct import error as StructError

from tidelog.cli.dump_log.json_form import JsonObject, message_to_json, render
from tidelog.protocol.codec import ProtocolError, decode, decode_uvarint
from tidelog.protocol.messages import METADATA_RECORDS
from tidelog.protocol.messages.consumer_group_current_member_assignment_key import (
    ConsumerGroupCurrentMemberAssignmentKey,
)
from tidelog.protocol.messages.consumer_group_current_member_assignment_value import (
    ConsumerGroupCurrentMemberAssignmentValue,
)
from tidelog.protocol.messages.consumer_group_member_metadata_key import ConsumerGroupMemberMetadataKey
from tidelog.protocol.messages.consumer_group_member_metadata_value import ConsumerGroupMemberMetadataValue
from tidelog.protocol.messages.consumer_group_metadata_key import ConsumerGroupMetadataKey
from tidelog.protocol.messages.consumer_group_metadata_value import ConsumerGroupMetadataValue
from tidelog.protocol.messages.consumer_group_partition_metadata_key import ConsumerGroupPartitionMetadataKey
from tidelog.protocol.messages.consumer_group_partition_metadata_value import ConsumerGroupPartitionMetadataValue
from tidelog.protocol.messages.consumer_group_regular_expression_key import ConsumerGroupRegularExpressionKey
from tidelog.protocol.messages.consumer_group_regular_expression_value import ConsumerGroupRegularExpressionValue
from tidelog.protocol.messages.consumer_group_target_assignment_member_key import ConsumerGroupTargetAssignmentMemberKey
from tidelog.protocol.messages.consumer_group_target_assignment_member_value import (
    ConsumerGroupTargetAssignmentMemberValue,
)
from tidelog.protocol.messages.consumer_group_target_assignment_metadata_key import (
    ConsumerGroupTargetAssignmentMetadataKey,
)
from tidelog.protocol.messages.consumer_group_target_assignment_metadata_value import (
    ConsumerGroupTargetAssignmentMetadataValue,
)
from tidelog.protocol.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
from tidelog.protocol.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from tidelog.protocol.messages.group_metadata_key import GroupMetadataKey
from tidelog.protocol.messages.group_metadata_value import GroupMetadataValue
from tidelog.protocol.messages.legacy_offset_commit_key import LegacyOffsetCommitKey
from tidelog.protocol.messages.legacy_offset_commit_value import LegacyOffsetCommitValue
from tidelog.protocol.messages.offset_commit_key import OffsetCommitKey
from tidelog.protocol.messages.offset_commit_value import OffsetCommitValue
from tidelog.protocol.messages.transaction_log_key import TransactionLogKey
from tidelog.protocol.messages.transaction_log_value import TransactionLogValue
from tidelog.protocol.schema import Message, covers
from tidelog.records.record import Record

_INT16 = Struct(">h")
_INT32 = Struct(">i")
_INT64 = Struct(">q")

_METADATA_FRAME_VERSION = 1

_KeyAndValue = tuple[type[Message], type[Message]]

_GROUP_RECORDS: tuple[_KeyAndValue, ...] = (
    (LegacyOffsetCommitKey, LegacyOffsetCommitValue),
    (OffsetCommitKey, OffsetCommitValue),
    (GroupMetadataKey, GroupMetadataValue),
    (ConsumerGroupMetadataKey, ConsumerGroupMetadataValue),
    (ConsumerGroupPartitionMetadataKey, ConsumerGroupPartitionMetadataValue),
    (ConsumerGroupMemberMetadataKey, ConsumerGroupMemberMetadataValue),
    (ConsumerGroupTargetAssignmentMetadataKey, ConsumerGroupTargetAssignmentMetadataValue),
    (ConsumerGroupTargetAssignmentMemberKey, ConsumerGroupTargetAssignmentMemberValue),
    (ConsumerGroupCurrentMemberAssignmentKey, ConsumerGroupCurrentMemberAssignmentValue),
    (ConsumerGroupRegularExpressionKey, ConsumerGroupRegularExpressionValue),
)
_TRANSACTION_RECORDS: tuple[_KeyAndValue, ...] = ((TransactionLogKey, TransactionLogValue),)


_REPLACE_LIKE_JAVA = "tidelog.replace_like_java"


def _replace_like_java(error: UnicodeError) -> tuple[str, int]:
    """Java takes an encoded surrogate (ED A0..BF 80..BF) for one malformed character, Python for three."""
    assert isinstance(error, UnicodeDecodeError)
    data, end = error.object, error.end
    if data[error.start] == 0xED and data[end : end + 1] >= b"\xa0" and _is_continuation(data, end):
        end += 2 if _is_continuation(data, end + 1) else 1
    return "\ufffd", end


def _is_continuation(data: bytes, position: int) -> bool:
    return position < len(data) and data[position] & 0xC0 == 0x80


codecs.register_error(_REPLACE_LIKE_JAVA, _replace_like_java)


class UndecodableRecord(Exception):
    """A record that the chosen decoder cannot be meant for. Says which and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoded:
    """What to print behind `key:` and `payload:`; None prints nothing."""

    key: str | None
    payload: str | None


RecordDecoder = Callable[[Record], Decoded]
ValueDecoder = Callable[[bytes], str]


def decode_text(data: bytes) -> str:
    """UTF-8. What is none of it becomes the replacement character, where Java's decoder would put one."""
    return data.decode("utf-8", _REPLACE_LIKE_JAVA)


def decode_integer(data: bytes) -> str:
    return str(_INT32.unpack(data)[0])


def decode_long(data: bytes) -> str:
    return str(_INT64.unpack(data)[0])


# By the last part of the Java class names that people know from Kafka's tool. Its DefaultDecoder prints the address of
# a Java array; the bytes themselves say more.
VALUE_DECODERS: Mapping[str, ValueDecoder] = {
    "StringDecoder": decode_text,
    "IntegerDecoder": decode_integer,
    "LongDecoder": decode_long,
    "DefaultDecoder": repr,
}


def value_decoder(class_name: str) -> ValueDecoder:
    """Raises ValueError for a class that is not one of Kafka's own."""
    try:
        return VALUE_DECODERS[class_name.rpartition(".")[2]]
    except KeyError:
        known = ", ".join(VALUE_DECODERS)
        raise ValueError(f"{class_name!r} is not a decoder; it must be one of {known}") from None


def plain_decoder(key: ValueDecoder = decode_text, value: ValueDecoder = decode_text) -> RecordDecoder:
    def decode_record(record: Record) -> Decoded:
        try:
            return Decoded(
                key=None if record.key is None else key(record.key),
                payload=None if record.value is None else value(record.value),
            )
        except StructError as error:
            raise UndecodableRecord(f"the record at offset {record.offset} is not a number: {error}") from error

    return decode_record


def group_decoder() -> RecordDecoder:
    """For `__consumer_offsets`."""
    return _coordinator_decoder(_GROUP_RECORDS)


def transaction_decoder() -> RecordDecoder:
    """For `__transaction_state`."""
    return _coordinator_decoder(_TRANSACTION_RECORDS)


def metadata_decoder() -> RecordDecoder:
    """For `__cluster_metadata`, whose records have no keys."""

    def decode_record(record: Record) -> Decoded:
        try:
            return Decoded(key=None, payload=_decode_metadata(record.value or b""))
        except (ProtocolError, IndexError) as error:
            return Decoded(key=None, payload=f"Error at {record.offset}, skipping. {error}")

    return decode_record


def _decode_metadata(value: bytes) -> str:
    frame_version, position = decode_uvarint(value, 0)
    if frame_version != _METADATA_FRAME_VERSION:
        raise ProtocolError(f"Could not deserialize metadata record with frame version {frame_version}.")
    record_type, position = decode_uvarint(value, position)
    version, position = decode_uvarint(value, position)
    name = METADATA_RECORDS.get(record_type)
    if name is None:
        raise ProtocolError(f"Unknown metadata id {record_type}")
    upper_name = re.sub(r"(?<!^)(?=[A-Z])", "_", name).upper()
    kind: type[Message] = getattr(import_module(f"tidelog.protocol.messages.{upper_name.lower()}"), name)
    message, _end = decode(kind, value, version, position)
    return render({"type": upper_name, "version": version, "data": message_to_json(message, version)})


def _coordinator_decoder(records: tuple[_KeyAndValue, ...]) -> RecordDecoder:
    kinds = {key.SCHEMA.api_key: (key, value) for key, value in records}

    def decode_record(record: Record) -> Decoded:
        if record.key is None:
            raise UndecodableRecord(
                f"Failed to decode message at offset {record.offset} using the specified decoder "
                "(message had a missing key)"
            )
        try:
            record_type: int = _INT16.unpack_from(record.key)[0]
            if record_type not in kinds:
                text = f"Unknown record type {record_type} at offset {record.offset}, skipping."
                return Decoded(key=text, payload=None)
            key_kind, value_kind = kinds[record_type]
            key, _end = decode(key_kind, record.key, 0, _INT16.size)
            key_text = render({"type": str(record_type), "data": message_to_json(key, 0)})
            payload = "<DELETE>" if record.value is None else _decode_versioned(value_kind, record.value)
        except (ProtocolError, StructError) as error:
            return Decoded(key=f"Error at offset {record.offset}, skipping. {error}", payload=None)
        return Decoded(key=key_text, payload=payload)

    return decode_record


def _decode_versioned(kind: type[Message], data: bytes) -> str:
    version: int = _INT16.unpack_from(data)[0]
    message, _end = decode(kind, data, version, _INT16.size)
    document = message_to_json(message, version)
    if isinstance(message, GroupMetadataValue) and message.protocol_type == "consumer":
        for member, member_document in zip(message.members, document["members"], strict=True):
            _replace_embedded(member_document, "subscription", ConsumerProtocolSubscription, member.subscription)
            _replace_embedded(member_document, "assignment", ConsumerProtocolAssignment, member.assignment)
    return render({"version": str(version), "data": document})


def _replace_embedded(document: JsonObject, field: str, kind: type[Message], data: bytes) -> None:
    """Consumers embed messages of their own in what they tell the group; what cannot be read stays as it is."""
    try:
        version: int = _INT16.unpack_from(data)[0]
        if covers(kind.SCHEMA.valid, version):
            document[field] = message_to_json(decode(kind, data, version, _INT16.size)[0], version)
    except (ProtocolError, StructError):
        return
