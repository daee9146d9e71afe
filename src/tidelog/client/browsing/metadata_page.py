"""What a page of the metadata log shows: each record, and what it changes in the cluster's image. No I/O.

A `MetadataPosition` is a place in the log with the image of everything before it. Reading on from there is incremental,
and a position can be kept: images share what did not change.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from tidelog.client.browsing.image_parts import plain_fields, touched_by
from tidelog.metadata.draft import BrokenMetadata
from tidelog.metadata.image import ClusterImage
from tidelog.metadata.records import FRAME_VERSION, InvalidMetadataRecord, decode_record
from tidelog.metadata.replay import apply
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.protocol.codec import ProtocolError, decode_uvarint, decode_whole
from tidelog.protocol.messages import METADATA_RECORDS
from tidelog.protocol.messages.abort_transaction_record import AbortTransactionRecord
from tidelog.protocol.messages.begin_transaction_record import BeginTransactionRecord
from tidelog.protocol.messages.end_transaction_record import EndTransactionRecord
from tidelog.protocol.messages.k_raft_version_record import KRaftVersionRecord
from tidelog.protocol.messages.leader_change_message import LeaderChangeMessage
from tidelog.protocol.messages.snapshot_footer_record import SnapshotFooterRecord
from tidelog.protocol.messages.snapshot_header_record import SnapshotHeaderRecord
from tidelog.protocol.messages.voters_record import VotersRecord
from tidelog.protocol.schema import Message
from tidelog.records.batch import BatchHeader, Buffer, CorruptBatch, iterate_headers
from tidelog.records.control import ControlType, QuorumControl, decode_control_record
from tidelog.records.record import Record, decode_batch

_CONTROL_MESSAGES: Mapping[ControlType, type[Message]] = {
    ControlType.LEADER_CHANGE: LeaderChangeMessage,
    ControlType.SNAPSHOT_HEADER: SnapshotHeaderRecord,
    ControlType.SNAPSHOT_FOOTER: SnapshotFooterRecord,
    ControlType.KRAFT_VERSION: KRaftVersionRecord,
    ControlType.KRAFT_VOTERS: VotersRecord,
}
_TRANSACTION_BOUNDS = (BeginTransactionRecord, EndTransactionRecord, AbortTransactionRecord)


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataEntry:
    """One record of the metadata log. `fields`, `before` and `after` hold only what JSON has, and no secrets.

    `before` and `after` are what the image says of the entity that the record is about, None where it does not exist.
    """

    offset: int
    leader_epoch: int
    timestamp_ms: int
    # Whether the quorum has written it about itself: it changes nothing in the image.
    is_control: bool
    # As Kafka names it: TopicRecord, PartitionChangeRecord, LEADER_CHANGE, ...; "type 99" if it is not known here.
    type: str
    type_number: int | None
    version: int | None
    size_bytes: int
    fields: Mapping[str, Any]
    # topic, partition, broker, controller, configs, feature, acl, ...; None if the record is about none of them.
    entity_kind: str | None
    entity_name: str | None
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None
    # Why the record could not be read or replayed; the image stays as it was before.
    problem: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataPosition:
    """`offset` is that of the next record, `epoch` that of the record before it."""

    offset: int
    epoch: int
    image: ClusterImage
    # The image where an unfinished metadata transaction began (KIP-866): what follows may be taken back.
    transaction_began: ClusterImage | None = None


class _LogRecord(NamedTuple):
    header: BatchHeader
    record: Record


def beginning_of(cluster_id: str) -> MetadataPosition:
    return MetadataPosition(offset=0, epoch=0, image=ClusterImage(cluster_id=cluster_id))


def position_of_snapshot(cluster_id: str, data: Buffer, *, end_offset: int, epoch: int) -> MetadataPosition:
    """Behind a snapshot. Records that are not known here are left out. Raises CorruptBatch."""
    empty = ClusterImage(cluster_id=cluster_id)
    messages = [message for found in _records(data) if (message := _message(found)) is not None]
    image = _apply_all(empty, messages, end_offset - 1)
    return MetadataPosition(offset=end_offset, epoch=epoch, image=image)


def skip(position: MetadataPosition, data: Buffer, *, end_offset: int) -> MetadataPosition:
    """The position behind the records of these batches that are before `end_offset`. Raises CorruptBatch."""
    wanted = [found for found in _records(data) if position.offset <= found.record.offset < end_offset]
    if not wanted:
        return position
    messages = [message for found in wanted if (message := _message(found)) is not None]
    last = wanted[-1]
    bounded = any(isinstance(message, _TRANSACTION_BOUNDS) for message in messages)
    if bounded:
        for message in messages:
            position, _ = _replayed(position, message)
    else:
        position = replace(position, image=_apply_all(position.image, messages, last.record.offset))
    return _behind(position, last)


def read_entries(
    position: MetadataPosition, data: Buffer, *, end_offset: int, max_entries: int
) -> tuple[list[MetadataEntry], MetadataPosition]:
    """What these batches hold from the position on, before `end_offset`, and the position behind it.

    Raises CorruptBatch.
    """
    entries: list[MetadataEntry] = []
    for found in _records(data):
        if len(entries) >= max_entries:
            break
        if position.offset <= found.record.offset < end_offset:
            entry, position = _entry(position, found)
            entries.append(entry)
    return entries, position


def _entry(position: MetadataPosition, found: _LogRecord) -> tuple[MetadataEntry, MetadataPosition]:
    header, record = found
    unread = MetadataEntry(
        offset=record.offset,
        leader_epoch=header.partition_leader_epoch,
        timestamp_ms=record.timestamp,
        is_control=header.is_control,
        type="",
        type_number=None,
        version=None,
        size_bytes=len(record.value or b""),
        fields={},
        entity_kind=None,
        entity_name=None,
        before=None,
        after=None,
        problem=None,
    )
    if header.is_control:
        return _control_entry(unread, record), _behind(position, found)
    value = record.value or b""
    number, version = _type_and_version(value)
    name = METADATA_RECORDS.get(-1 if number is None else number)
    entry = replace(unread, type=name or f"type {number}", type_number=number, version=version)
    if number is None:
        entry = replace(entry, type="unreadable")
    try:
        framed = decode_record(value)
    except InvalidMetadataRecord as problem:
        return replace(entry, problem=str(problem)), _behind(position, found)
    entry = replace(entry, fields=plain_fields(framed.message, framed.version))
    following, failure = _replayed(position, framed.message)
    following = _behind(following, found)
    touched = touched_by(framed.message, position.image, following.image)
    if touched is not None:
        entry = replace(
            entry,
            entity_kind=touched.kind,
            entity_name=touched.name,
            before=touched.find(position.image),
            after=touched.find(following.image),
        )
    return replace(entry, problem=failure), following


def _control_entry(entry: MetadataEntry, record: Record) -> MetadataEntry:
    try:
        control = decode_control_record(record.key, record.value)
    except CorruptBatch as problem:
        return replace(entry, type="unreadable", problem=str(problem))
    if not isinstance(control, QuorumControl):
        number = getattr(control, "type", None)
        return replace(entry, type=f"control type {number}", type_number=number)
    entry = replace(entry, type=control.type.name, type_number=int(control.type))
    # The messages of all control records begin with the version that they are written in.
    version = int.from_bytes(control.value[:2], "big")
    try:
        message = decode_whole(_CONTROL_MESSAGES[control.type], control.value, version)
    except (KeyError, ProtocolError) as problem:
        return replace(entry, version=version, problem=f"the control record cannot be read: {problem}")
    return replace(entry, version=version, fields=plain_fields(message, version))


def _replayed(position: MetadataPosition, message: Message) -> tuple[MetadataPosition, str | None]:
    """The position with the image after the record, and why the record could not be applied, if so."""
    image, began = position.image, position.transaction_began
    if isinstance(message, BeginTransactionRecord):
        return replace(position, transaction_began=image), None
    if isinstance(message, EndTransactionRecord):
        return replace(position, transaction_began=None), None
    if isinstance(message, AbortTransactionRecord):
        return replace(position, image=image if began is None else began, transaction_began=None), None
    try:
        after, _ = apply(image, [message])
    except (BrokenMetadata, ValueError) as problem:
        return position, str(problem)
    return replace(position, image=after), None


def _apply_all(image: ClusterImage, messages: Sequence[Message], offset: int) -> ClusterImage:
    """At once, which is much faster; one by one if a record cannot be applied, without that."""
    try:
        return apply(image, messages, offset=offset)[0]
    except (BrokenMetadata, ValueError):
        position = MetadataPosition(offset=offset, epoch=0, image=image)
        for message in messages:
            position, _ = _replayed(position, message)
        return replace(position.image, offset=offset)


def _behind(position: MetadataPosition, found: _LogRecord) -> MetadataPosition:
    offset = found.record.offset
    return replace(
        position,
        offset=offset + 1,
        epoch=found.header.partition_leader_epoch,
        image=replace(position.image, offset=offset),
    )


def _records(data: Buffer) -> Iterator[_LogRecord]:
    view = memoryview(data)
    for start, header in iterate_headers(view):
        for record in decode_batch(view[start : start + header.size]):
            yield _LogRecord(header, record)


def _message(found: _LogRecord) -> Message | None:
    if found.header.is_control:
        return None
    try:
        return decode_record(found.record.value or b"").message
    except InvalidMetadataRecord:
        return None


def _type_and_version(value: bytes) -> tuple[int | None, int | None]:
    try:
        frame_version, position = decode_uvarint(value, 0)
        number, position = decode_uvarint(value, position)
        version, _ = decode_uvarint(value, position)
    except (IndexError, ProtocolError):
        return None, None
    return (number, version) if frame_version == FRAME_VERSION else (None, None)
