"""The records of control batches: ends of transactions, and what the metadata quorum writes about itself.

A control record's key is a version and a type (two 16-bit numbers); its value depends on the type. Clients never see
them. The messages in the quorum's control records are schemas of `tidelog.protocol`: here they stay bytes.
"""

from __future__ import annotations

from enum import IntEnum
from struct import Struct

from tidelog.model.lazy_dataclasses import dataclass
from tidelog.records.batch import HEADER_SIZE, Buffer, CorruptBatch, parse_header
from tidelog.records.record import decode_records, encode_batch, read_payload


class ControlType(IntEnum):
    """The numbers are those in the keys of control records."""

    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


_KNOWN_TYPES = frozenset(ControlType)

_KEY = Struct(">hh")
_MARKER_VALUE = Struct(">hi")
_CURRENT_KEY_VERSION = 0
_CURRENT_MARKER_VERSION = 0

# A marker is one record of about twenty bytes: no honest control batch comes near this.
_MAX_CONTROL_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class EndTransactionMarker:
    """Ends the open transaction of the batch's producer."""

    commit: bool
    # Of the transaction coordinator that wrote it: a marker from a coordinator that has been replaced is refused.
    coordinator_epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class QuorumControl:
    """A control record of the metadata log. `value` is the encoded message that belongs to `type`."""

    type: ControlType
    version: int
    value: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownControl:
    """Written by a newer version: to be skipped."""

    type: int
    version: int


ControlRecord = EndTransactionMarker | QuorumControl | UnknownControl


def encode_control_key(control_type: ControlType) -> bytes:
    return _KEY.pack(_CURRENT_KEY_VERSION, control_type)


def encode_marker_value(marker: EndTransactionMarker) -> bytes:
    return _MARKER_VALUE.pack(_CURRENT_MARKER_VERSION, marker.coordinator_epoch)


def decode_control_record(key: bytes | None, value: bytes | None) -> ControlRecord:
    """What one record of a control batch says. Raises CorruptBatch if it is too short to say anything."""
    if key is None or len(key) < _KEY.size:
        raise CorruptBatch(HEADER_SIZE, f"{key!r} is not the key of a control record")
    version, number = _KEY.unpack_from(key)
    if version < 0:
        raise CorruptBatch(HEADER_SIZE, f"unknown version {version} of a control record's key")
    if number in (ControlType.ABORT, ControlType.COMMIT):
        if value is None or len(value) < _MARKER_VALUE.size:
            raise CorruptBatch(HEADER_SIZE, f"{value!r} is not the value of a transaction marker")
        marker_version, coordinator_epoch = _MARKER_VALUE.unpack_from(value)
        if marker_version < 0:
            raise CorruptBatch(HEADER_SIZE, f"unknown version {marker_version} of a transaction marker")
        return EndTransactionMarker(commit=number == ControlType.COMMIT, coordinator_epoch=coordinator_epoch)
    if number in _KNOWN_TYPES:
        return QuorumControl(type=ControlType(number), version=version, value=value or b"")
    return UnknownControl(type=number, version=version)


def read_end_transaction_marker(batch: Buffer) -> EndTransactionMarker | None:
    """The marker in a control batch of a producer; None if compaction has removed it and left the batch empty."""
    header = parse_header(batch)
    if header.record_count == 0:
        return None
    records = decode_records(header, read_payload(header, batch, _MAX_CONTROL_BYTES, check_crc=False))
    control = decode_control_record(records[0].key, records[0].value)
    if not isinstance(control, EndTransactionMarker):
        raise CorruptBatch(HEADER_SIZE, f"a producer's control batch holds {control}, not a transaction marker")
    return control


def encode_end_transaction_marker(
    marker: EndTransactionMarker,
    *,
    producer_id: int,
    producer_epoch: int,
    timestamp: int,
    base_offset: int = 0,
    leader_epoch: int = -1,
) -> bytes:
    """The control batch that ends a producer's transaction in one partition."""
    control_type = ControlType.COMMIT if marker.commit else ControlType.ABORT
    return encode_batch(
        [(timestamp, encode_control_key(control_type), encode_marker_value(marker), ())],
        base_offset=base_offset,
        leader_epoch=leader_epoch,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        transactional=True,
        control=True,
    )


def encode_control_batch(
    control_type: ControlType, value: bytes, *, timestamp: int, base_offset: int = 0, leader_epoch: int = -1
) -> bytes:
    """A control batch of the metadata log, with one record."""
    return encode_batch(
        [(timestamp, encode_control_key(control_type), value, ())],
        base_offset=base_offset,
        leader_epoch=leader_epoch,
        control=True,
    )
