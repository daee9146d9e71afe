"""The records of `__consumer_offsets` and `__transaction_state` as people read them. No I/O.

Keys and values become plain fields with a sentence beside them. A record of a type that is newer than this console, or
one that is damaged, is shown as bytes, with the reason.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from tidelog.client.browsing.image_parts import plain_fields
from tidelog.coordinators.decision import CoordinatorRecord
from tidelog.coordinators.groups import embedded_protocol
from tidelog.coordinators.groups import records as group_records
from tidelog.coordinators.transactions import records as transaction_records
from tidelog.coordinators.transactions.states import TransactionState
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.model.topics import CONSUMER_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC
from tidelog.protocol.codec import ProtocolError
from tidelog.protocol.messages.group_metadata_key import GroupMetadataKey
from tidelog.protocol.messages.group_metadata_value import GroupMetadataValue
from tidelog.protocol.messages.offset_commit_key import OffsetCommitKey
from tidelog.protocol.messages.offset_commit_value import OffsetCommitValue
from tidelog.protocol.messages.transaction_log_key import TransactionLogKey
from tidelog.protocol.messages.transaction_log_value import TransactionLogValue
from tidelog.protocol.schema import Message

_FORMATS = {
    CONSUMER_OFFSETS_TOPIC: group_records.decode_record,
    TRANSACTION_STATE_TOPIC: transaction_records.decode_record,
}
READABLE_TOPICS = frozenset(_FORMATS)

_KEY_VERSION = 0
# So many partitions are in a sentence.
_NAMED = 3

Fields = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadableRecord:
    """`summary` is a sentence; key and value are JSON, the value None if the record deletes its key."""

    type: str
    summary: str
    key: str
    value: str | None
    # Who it is about, for a link.
    group: str | None = None
    transactional_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownRecord:
    """Why it is not readable."""

    reason: str


def readable(topic: str, key: bytes | None, value: bytes | None) -> ReadableRecord | UnknownRecord | None:
    """None for records of other topics."""
    decode = _FORMATS.get(topic)
    if decode is None:
        return None
    if key is None:
        return UnknownRecord(reason="it has no key")
    try:
        record = decode(key, value)
    except ProtocolError as problem:
        return UnknownRecord(reason=str(problem))
    version = None if value is None else int.from_bytes(value[:2], "big")
    kind = type(record.key).__name__.removesuffix("Key")
    key_text = _json({"type": kind, **plain_fields(record.key, _KEY_VERSION)})
    value_text = None
    if record.value is not None and version is not None:
        value_text = _json({"version": version, **_value_fields(record.value, version)})
    if isinstance(record.key, TransactionLogKey):
        transactional_id = record.key.transactional_id
        summary = _transaction(transactional_id, record.value)
        return ReadableRecord(
            type=kind, summary=summary, key=key_text, value=value_text, transactional_id=transactional_id
        )
    group = _group_of(record.key)
    return ReadableRecord(
        type=kind, summary=_group_summary(kind, group, record), key=key_text, value=value_text, group=group
    )


def _group_of(key: Message) -> str | None:
    """Older keys call it `group`, those of the consumer protocol `group_id`."""
    found = getattr(key, "group", None) if hasattr(key, "group") else getattr(key, "group_id", None)
    return found if isinstance(found, str) else None


def _group_summary(kind: str, group: str | None, record: CoordinatorRecord) -> str:
    key, value = record
    if isinstance(key, OffsetCommitKey):
        place = f"{key.topic}-{key.partition}"
        if isinstance(value, OffsetCommitValue):
            return f"group {group} commits offset {value.offset} of {place}"
        return f"the offset of group {group} for {place} is deleted"
    if isinstance(key, GroupMetadataKey):
        if isinstance(value, GroupMetadataValue):
            members = f"{len(value.members)} {'member' if len(value.members) == 1 else 'members'}"
            return f"group {group} is in generation {value.generation} with {members}"
        return f"group {group} is deleted"
    member = getattr(key, "member_id", None)
    about = f"group {group}" + (f", member {member}" if member else "")
    return f"{kind} of {about}" + ("" if value is not None else " is deleted")


def _transaction(transactional_id: str, value: Message | None) -> str:
    if not isinstance(value, TransactionLogValue):
        return f"{transactional_id} is deleted"
    producer = f"producer {value.producer_id}, epoch {value.producer_epoch}"
    partitions = [
        f"{topic.topic}-{number}" for topic in value.transaction_partitions or () for number in topic.partition_ids
    ]
    return f"{transactional_id} is {_state(value.transaction_status)}: {producer}{_places(partitions)}"


def _places(partitions: list[str]) -> str:
    if not partitions:
        return ""
    more = len(partitions) - _NAMED
    return ", " + ", ".join(partitions[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def _state(number: int) -> str:
    try:
        return TransactionState(number).label
    except ValueError:
        return f"state {number}"


def _value_fields(value: Message, version: int) -> Fields:
    fields = plain_fields(value, version)
    if isinstance(value, TransactionLogValue):
        fields["transaction_status"] = _state(value.transaction_status)
    if isinstance(value, GroupMetadataValue):
        fields["members"] = [
            _member_fields(each, shown) for each, shown in zip(value.members, fields["members"], strict=True)
        ]
    return fields


def _member_fields(member: Any, shown: Mapping[str, Any]) -> Fields:
    """With what consumers have written for each other; other members keep their bytes."""
    fields = dict(shown)
    try:
        subscription = embedded_protocol.read_subscription(bytes(member.subscription))
        assignment = embedded_protocol.read_assignment(bytes(member.assignment))
    except embedded_protocol.MalformedProtocol:
        return fields
    fields["subscription"] = {"topics": list(subscription.topics)}
    fields["assignment"] = _assigned(assignment.assigned_partitions)
    return fields


def _assigned(partitions: Iterable[Any]) -> Fields:
    return {each.topic: list(each.partitions) for each in partitions}


def _json(fields: Fields) -> str:
    return json.dumps(fields, ensure_ascii=False)
