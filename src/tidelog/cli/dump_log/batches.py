"""The lines that `tidelog dump-log` prints for record batches: `.log` segments and `.checkpoint` metadata snapshots.

The same lines as Kafka 4.3's `DumpLogSegments`, down to the names of Java's types in them, so that scripts which read
the output of one tool can read the other's. Index files are in `indexes`.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable
from pathlib import Path
from struct import Struct
from struct import error as StructError

from tidelog.cli.dump_log.decoders import RecordDecoder, UndecodableRecord
from tidelog.cli.dump_log.json_form import message_to_json, render
from tidelog.cli.dump_log.options import UNLIMITED_BYTES, DumpOptions
from tidelog.protocol.codec import ProtocolError, decode
from tidelog.protocol.messages.k_raft_version_record import KRaftVersionRecord
from tidelog.protocol.messages.leader_change_message import LeaderChangeMessage
from tidelog.protocol.messages.snapshot_footer_record import SnapshotFooterRecord
from tidelog.protocol.messages.snapshot_header_record import SnapshotHeaderRecord
from tidelog.protocol.messages.voters_record import VotersRecord
from tidelog.protocol.schema import Message
from tidelog.records.batch import (
    CURRENT_MAGIC,
    LOG_APPEND_TIME,
    SEQUENCE_MODULUS,
    BatchHeader,
    CorruptBatch,
    compute_crc,
    iterate_headers,
)
from tidelog.records.compression import Compression
from tidelog.records.control import ControlType, EndTransactionMarker, QuorumControl, decode_control_record
from tidelog.records.record import Record, decode_batch
from tidelog.storage.files.file_names import BOOTSTRAP_CHECKPOINT

Write = Callable[[str], None]

# A compressed batch on disk was accepted by a broker: its limit is not ours to guess, but memory is finite.
MAX_DECOMPRESSED_BYTES = 1 << 30

_INT16 = Struct(">h")

_QUORUM_MESSAGES: dict[ControlType, tuple[str, type[Message]]] = {
    ControlType.LEADER_CHANGE: ("LeaderChange:", LeaderChangeMessage),
    ControlType.SNAPSHOT_HEADER: ("SnapshotHeader", SnapshotHeaderRecord),
    ControlType.SNAPSHOT_FOOTER: ("SnapshotFooter", SnapshotFooterRecord),
    ControlType.KRAFT_VERSION: ("KRaftVersion", KRaftVersionRecord),
    ControlType.KRAFT_VOTERS: ("KRaftVoters", VotersRecord),
}


class DumpFailure(Exception):
    """A file that cannot be shown (to its end). Says which and why."""


def dump_batches(
    path: Path, options: DumpOptions, decoder: RecordDecoder | None, write: Write
) -> list[tuple[int, int]]:
    """Print a file of batches; return the pairs of neighbouring offsets between which some are missing.

    Without a decoder no keys and values are printed.
    """
    write(_first_line(path))
    gaps: list[tuple[int, int]] = []
    last_offset: int | None = None
    content = map_file(path)[: options.max_bytes]
    end = 0
    try:
        for position, header in iterate_headers(content):
            end = position + header.size
            batch = content[position:end]
            write(_describe_batch(header, batch, position))
            if not options.deep_iteration and decoder is None:
                continue
            for record in _records(path, position, batch):
                if last_offset is not None and record.offset != last_offset + 1:
                    gaps.append((last_offset, record.offset))
                last_offset = record.offset
                write(_describe_record(header, record, decoder, skip_metadata=options.skip_record_metadata))
    except CorruptBatch as error:
        raise DumpFailure(f"{path}, {error}") from error
    except UndecodableRecord as error:
        raise DumpFailure(f"{path}: {error}") from error
    trailing = len(content) - end
    if trailing > 0 and options.max_bytes == UNLIMITED_BYTES:
        write(f"Found {trailing} invalid bytes at the end of {path.name}")
    return gaps


def map_file(path: Path) -> memoryview:
    """The bytes of a file without reading them into memory: segments may have gigabytes."""
    with path.open("rb") as file:
        # An empty file cannot be mapped.
        if not path.stat().st_size:
            return memoryview(b"")
        # Unmapped when the last view of it is gone.
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def records_of(batch: memoryview) -> list[Record]:
    """Without a look at the checksum: the line of the batch has said whether it is right."""
    return decode_batch(batch, max_decompressed_bytes=MAX_DECOMPRESSED_BYTES, check_crc=False)


def _records(path: Path, position: int, batch: memoryview) -> list[Record]:
    try:
        return records_of(batch)
    except CorruptBatch as error:
        raise DumpFailure(f"{path}, batch at byte {position}: {error}") from error


def _first_line(path: Path) -> str:
    if path.suffix == ".log":
        return f"Log starting offset: {int(path.name.partition('.')[0])}"
    if path.name == BOOTSTRAP_CHECKPOINT:
        return "KRaft bootstrap snapshot"
    offset, _, epoch = path.stem.partition("-")
    try:
        return f"Snapshot end offset: {int(offset)}, epoch: {int(epoch)}"
    except ValueError:
        raise DumpFailure(f"{path}: a snapshot's name is <offset>-<epoch>.checkpoint") from None


def _describe_batch(header: BatchHeader, batch: memoryview, position: int) -> str:
    horizon = f"OptionalLong[{header.base_timestamp}]" if header.has_delete_horizon else "OptionalLong.empty"
    is_valid = header.magic == CURRENT_MAGIC and compute_crc(batch) == header.crc
    return (
        f"baseOffset: {header.base_offset} lastOffset: {header.last_offset} count: {header.record_count} "
        f"baseSequence: {header.base_sequence} lastSequence: {header.last_sequence} "
        f"producerId: {header.producer_id} producerEpoch: {header.producer_epoch} "
        f"partitionLeaderEpoch: {header.partition_leader_epoch} isTransactional: {_java(header.is_transactional)} "
        f"isControl: {_java(header.is_control)} deleteHorizonMs: {horizon} position: {position} "
        f"{_timestamp_type(header)}: {header.max_timestamp} size: {header.size} magic: {header.magic} "
        f"compresscodec: {_codec_name(header)} crc: {header.crc} isvalid: {_java(is_valid)}"
    )


def _describe_record(header: BatchHeader, record: Record, decoder: RecordDecoder | None, *, skip_metadata: bool) -> str:
    line = "" if skip_metadata else _describe_metadata(header, record)
    if decoder is not None and not header.is_control:
        decoded = decoder(record)
        prefix = "| " if skip_metadata else " "
        if decoded.key is not None:
            line += f"{prefix}key: {decoded.key}"
            prefix = " "
        if decoded.payload is not None:
            line += f"{prefix}payload: {decoded.payload}"
    return line


def _describe_metadata(header: BatchHeader, record: Record) -> str:
    sequence = -1
    if header.base_sequence >= 0:
        sequence = (header.base_sequence + record.offset - header.base_offset) % SEQUENCE_MODULUS
    line = (
        f"| offset: {record.offset} {_timestamp_type(header)}: {record.timestamp} "
        f"keySize: {_size(record.key)} valueSize: {_size(record.value)} sequence: {sequence} "
        f"headerKeys: [{','.join(key for key, _value in record.headers)}]"
    )
    return f"{line} {_describe_control(record)}" if header.is_control else line


def _describe_control(record: Record) -> str:
    control = decode_control_record(record.key, record.value)
    if isinstance(control, EndTransactionMarker):
        outcome = "COMMIT" if control.commit else "ABORT"
        return f"endTxnMarker: {outcome} coordinatorEpoch: {control.coordinator_epoch}"
    if not isinstance(control, QuorumControl):
        return f"controlType: UNKNOWN({control.type})"
    label, kind = _QUORUM_MESSAGES[control.type]
    try:
        # Each of these messages begins with its version.
        version: int = _INT16.unpack_from(control.value)[0]
        message, _end = decode(kind, control.value, version)
    except (ProtocolError, StructError) as error:
        raise UndecodableRecord(
            f"the control record at offset {record.offset} is no {kind.__name__}: {error}"
        ) from error
    return f"{label} {render(message_to_json(message, version))}"


def _timestamp_type(header: BatchHeader) -> str:
    return "LogAppendTime" if header.timestamp_type == LOG_APPEND_TIME else "CreateTime"


def _codec_name(header: BatchHeader) -> str:
    try:
        return Compression(header.compression).name.lower()
    except ValueError:
        return f"unknown({header.compression})"


def _size(data: bytes | None) -> int:
    return -1 if data is None else len(data)


def _java(value: bool) -> str:
    return "true" if value else "false"
