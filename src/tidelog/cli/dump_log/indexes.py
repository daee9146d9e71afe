"""The lines that `tidelog dump-log` prints for the files beside a log, and what it finds wrong with them.

The formats of the files are known by `tidelog.storage`; log segments are in `batches`.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import field
from pathlib import Path
from struct import Struct

from tidelog.cli.dump_log.batches import DumpFailure, Write, map_file, records_of
from tidelog.cli.dump_log.options import DumpOptions
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.partition.producer_entry import BatchMetadata
from tidelog.records.batch import NO_TIMESTAMP, BatchHeader, CorruptBatch, iterate_headers
from tidelog.storage.indexes.offset_index import OFFSET_ENTRY
from tidelog.storage.indexes.time_index import TIME_ENTRY
from tidelog.storage.indexes.transaction_index import TRANSACTION_ENTRY
from tidelog.storage.log.producer_snapshot import CorruptProducerSnapshot, decode_snapshot

OffsetEntry = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexFindings:
    """Where an index and its log disagree."""

    # (offset in the index, offset in the log)
    offset_mismatches: list[tuple[int, int]] = field(default_factory=list)
    # (offset in the index, last offset of the batch that was found or -1)
    offsets_not_found: list[tuple[int, int]] = field(default_factory=list)
    # (timestamp in the index, timestamp in the log)
    timestamp_mismatches: list[tuple[int, int]] = field(default_factory=list)
    # (timestamp, the one before it)
    timestamps_out_of_order: list[tuple[int, int]] = field(default_factory=list)


def dump_offset_index(path: Path, options: DumpOptions, write: Write) -> IndexFindings:
    findings = IndexFindings()
    base_offset = _base_offset(path)
    content = path.read_bytes()
    entries = _offset_entries(content, base_offset)
    if not entries:
        write(f"{path} is empty.")
        return findings
    if options.index_sanity_check:
        _check(path, len(content), OFFSET_ENTRY, entries[-1][0] >= base_offset)
        write(f"{path} passed sanity check.")
        return findings
    log = _log_of(path)
    for number, (offset, position) in enumerate(entries):
        if offset == base_offset and number > 0:
            break  # Kafka allocates an index in advance; the unused rest of it is zeroes.
        header = _first_batch(path, log[position : position + options.max_message_size], position)
        if header.last_offset != offset:
            findings.offset_mismatches.append((offset, header.last_offset))
        if not options.verify_index_only:
            write(f"offset: {offset} position: {position}")
    return findings


def dump_time_index(path: Path, options: DumpOptions, write: Write) -> IndexFindings:
    findings = IndexFindings()
    base_offset = _base_offset(path)
    content = path.read_bytes()
    usable = len(content) // TIME_ENTRY.size * TIME_ENTRY.size
    entries = [(time, base_offset + relative) for time, relative in TIME_ENTRY.iter_unpack(content[:usable])]
    if options.index_sanity_check:
        in_order = not entries or (entries[-1][0] >= entries[0][0] and entries[-1][1] >= base_offset)
        _check(path, len(content), TIME_ENTRY, in_order)
        write(f"{path} passed sanity check.")
        return findings
    offset_index = _used_offset_entries(path.with_suffix(".index"), base_offset)
    previous = NO_TIMESTAMP
    log = _log_of(path)
    for number, (timestamp, offset) in enumerate(entries):
        if offset == base_offset and number > 0:
            break  # The unused rest, as above.
        _verify_timestamp(path, log, offset_index, (timestamp, offset), previous, findings)
        if not options.verify_index_only:
            write(f"timestamp: {timestamp} offset: {offset}")
        previous = timestamp
    return findings


def dump_transaction_index(path: Path, write: Write) -> None:
    content = path.read_bytes()
    if len(content) % TRANSACTION_ENTRY.size:
        raise DumpFailure(f"{path}: {len(content)} bytes are not a multiple of {TRANSACTION_ENTRY.size}")
    for entry in TRANSACTION_ENTRY.iter_unpack(content):
        version, producer_id, first_offset, last_offset, last_stable_offset = entry
        write(
            f"version: {version} producerId: {producer_id} firstOffset: {first_offset} "
            f"lastOffset: {last_offset} lastStableOffset: {last_stable_offset}"
        )


def dump_producer_snapshot(path: Path, write: Write) -> None:
    try:
        entries = decode_snapshot(path.read_bytes())
    except CorruptProducerSnapshot as error:
        raise DumpFailure(f"{path}: {error}") from error
    for entry in entries:
        first_offset = entry.current_transaction_first_offset
        transaction = f"OptionalLong[{first_offset}]" if first_offset >= 0 else "OptionalLong.empty"
        line = (
            f"producerId: {entry.producer_id} producerEpoch: {entry.epoch} "
            f"coordinatorEpoch: {entry.coordinator_epoch} currentTxnFirstOffset: {transaction} "
            f"lastTimestamp: {entry.timestamp}"
        )
        if entry.last_offset >= 0:
            batch = BatchMetadata(entry.last_sequence, entry.last_offset, entry.offset_delta, entry.timestamp)
            line += (
                f" firstSequence: {batch.first_sequence} lastSequence: {batch.last_sequence} "
                f"lastOffset: {batch.last_offset} offsetDelta: {batch.offset_delta} timestamp: {batch.timestamp}"
            )
        write(line)


def dump_leader_epochs(path: Path, write: Write) -> None:
    """`leader-epoch-checkpoint`, which Kafka's own tool does not show."""
    # A version and a count come first.
    for line in path.read_text().splitlines()[2:]:
        epoch, _, start_offset = line.partition(" ")
        write(f"epoch: {epoch} startOffset: {start_offset}")


def _verify_timestamp(
    path: Path,
    log: memoryview,
    offset_index: list[OffsetEntry],
    entry: tuple[int, int],
    previous_timestamp: int,
    findings: IndexFindings,
) -> None:
    timestamp, offset = entry
    place = bisect_right(offset_index, offset, key=lambda indexed: indexed[0])
    start = offset_index[place - 1][1] if place else 0
    try:
        found = next(
            (
                (start + position, header)
                for position, header in iterate_headers(log[start:])
                if header.last_offset >= offset
            ),
            None,
        )
        if found is None or found[1].last_offset != offset:
            findings.offsets_not_found.append((offset, -1 if found is None else found[1].last_offset))
            return
        position, header = found
        largest = max((record.timestamp for record in records_of(log[position : position + header.size])), default=-1)
    except CorruptBatch as error:
        raise DumpFailure(f"{path}: the log cannot be read behind byte {start}: {error}") from error
    if largest != timestamp:
        findings.timestamp_mismatches.append((timestamp, largest))
    if previous_timestamp >= timestamp:
        findings.timestamps_out_of_order.append((timestamp, previous_timestamp))


def _base_offset(path: Path) -> int:
    try:
        return int(path.name.partition(".")[0])
    except ValueError:
        raise DumpFailure(f"{path}: the name of an index begins with its first offset") from None


def _offset_entries(content: bytes, base_offset: int) -> list[OffsetEntry]:
    usable = len(content) // OFFSET_ENTRY.size * OFFSET_ENTRY.size
    return [(base_offset + relative, position) for relative, position in OFFSET_ENTRY.iter_unpack(content[:usable])]


def _used_offset_entries(path: Path, base_offset: int) -> list[OffsetEntry]:
    """Without the zeroes behind the last entry."""
    if not path.exists():
        return []
    entries = _offset_entries(path.read_bytes(), base_offset)
    count = next((number for number, entry in enumerate(entries) if number and entry[0] == base_offset), len(entries))
    return entries[:count]


def _check(path: Path, size: int, entry: Struct, in_order: bool) -> None:
    if size % entry.size:
        raise DumpFailure(f"{path}: {size} bytes are not a multiple of {entry.size}")
    if not in_order:
        raise DumpFailure(f"{path}: the last entry is below the first one, or below the segment's first offset")


def _log_of(path: Path) -> memoryview:
    log = path.with_suffix(".log")
    if not log.exists():
        raise DumpFailure(f"{path}: there is no {log.name} beside it to compare it with")
    return map_file(log)


def _first_batch(path: Path, window: memoryview, position: int) -> BatchHeader:
    try:
        found = next(iterate_headers(window), None)
    except CorruptBatch as error:
        raise DumpFailure(f"{path}: the log has no batch at position {position}: {error}") from error
    if found is None:
        raise DumpFailure(f"{path}: the log has no whole batch in the {len(window)} bytes from position {position} on")
    return found[1]
