"""The bytes of a metadata snapshot: record batches that begin with a header and end with a footer (KIP-630).

The offsets in it are its own, counted from 0; the file's name says what part of the metadata log it stands for. Which
records it holds is in `tidelog.metadata.snapshot`. Apache Kafka reads these files, and we read Apache Kafka's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from tidelog.metadata.records import METADATA_VERSION, InvalidMetadataRecord, decode_record, encode_record
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.protocol.codec import Buffer, ProtocolError, decode_whole, encode
from tidelog.protocol.messages.snapshot_footer_record import SnapshotFooterRecord
from tidelog.protocol.messages.snapshot_header_record import SnapshotHeaderRecord
from tidelog.protocol.schema import Message
from tidelog.records.batch import CorruptBatch, iterate_headers
from tidelog.records.control import ControlType, QuorumControl, decode_control_record, encode_control_batch
from tidelog.records.record import decode_batch, encode_batch

# A batch is made, and read, in memory.
RECORDS_PER_BATCH = 500


class CorruptSnapshot(Exception):
    """A file that is not a whole metadata snapshot."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotContent:
    """`timestamp_ms` is that of the last record of the log that went into the snapshot."""

    records: tuple[Message, ...]
    timestamp_ms: int


def encode_snapshot(
    records: Iterable[Message],
    *,
    epoch: int,
    timestamp_ms: int,
    now_ms: int,
    metadata_version: int = METADATA_VERSION,
) -> Iterator[bytes]:
    """The snapshot in pieces. `epoch` is that of its name, `metadata_version` the level of the cluster."""
    header = encode(SnapshotHeaderRecord(last_contained_log_timestamp=timestamp_ms), 0)
    yield encode_control_batch(ControlType.SNAPSHOT_HEADER, header, timestamp=now_ms, leader_epoch=epoch)
    offset = 1
    remaining = iter(records)
    while chunk := list(islice(remaining, RECORDS_PER_BATCH)):
        values = [(timestamp_ms, None, encode_record(record, metadata_version), ()) for record in chunk]
        yield encode_batch(values, base_offset=offset, leader_epoch=epoch)
        offset += len(values)
    yield encode_control_batch(
        ControlType.SNAPSHOT_FOOTER,
        encode(SnapshotFooterRecord(), 0),
        timestamp=now_ms,
        base_offset=offset,
        leader_epoch=epoch,
    )


def decode_snapshot(data: Buffer) -> SnapshotContent:
    """Everything in a snapshot. Raises CorruptSnapshot unless it is whole, from the header to the footer."""
    try:
        return _decode(memoryview(data))
    except (CorruptBatch, InvalidMetadataRecord, ProtocolError) as problem:
        raise CorruptSnapshot(str(problem)) from problem


def _decode(view: memoryview) -> SnapshotContent:
    timestamp_ms: int | None = None
    ended = False
    records: list[Message] = []
    end = 0
    for position, header in iterate_headers(view):
        end = position + header.size
        batch = view[position:end]
        if ended:
            raise CorruptSnapshot(f"unexpected data after the footer at byte {position}")
        if not header.is_control:
            if timestamp_ms is None:
                raise CorruptSnapshot("it does not begin with a header")
            values = [record.value for record in decode_batch(batch) if record.value is not None]
            records += [decode_record(value).message for value in values]
            continue
        for control in _controls(batch):
            if control.type is ControlType.SNAPSHOT_HEADER:
                timestamp_ms = decode_whole(SnapshotHeaderRecord, control.value, 0).last_contained_log_timestamp
            ended = control.type is ControlType.SNAPSHOT_FOOTER
    if timestamp_ms is None or not ended or end != len(view):
        raise CorruptSnapshot(f"it is truncated after {end} of {len(view)} bytes")
    return SnapshotContent(records=tuple(records), timestamp_ms=timestamp_ms)


def read_timestamp_ms(beginning: Buffer) -> int | None:
    """When the last record in a snapshot was written, from the first bytes of the file; None if they do not hold it."""
    try:
        for position, header in iterate_headers(beginning):
            for control in _controls(memoryview(beginning)[position : position + header.size]):
                if control.type is ControlType.SNAPSHOT_HEADER:
                    return decode_whole(SnapshotHeaderRecord, control.value, 0).last_contained_log_timestamp
            return None
    except (CorruptBatch, ProtocolError):
        return None
    return None


def _controls(batch: Buffer) -> Iterator[QuorumControl]:
    for record in decode_batch(batch):
        control = decode_control_record(record.key, record.value)
        if isinstance(control, QuorumControl):
            yield control
