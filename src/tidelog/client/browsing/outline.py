"""What kinds of offsets a part of a log has: records, control records, nothing. No I/O.

For those who count. Headers of batches tell almost everything: records are only decoded of batches in which compaction
has left holes.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from tidelog.client.browsing.batch_records import LARGEST_BATCH_BYTES, payload_of, records_of
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.records.batch import CURRENT_MAGIC, BatchHeader, Buffer, CorruptBatch, iterate_headers
from tidelog.records.control import read_end_transaction_marker

# Of the batches of one outline; it ends behind the one that goes beyond this.
_MOST_UNPACKED_BYTES = 32 << 20


class RunKind(Enum):
    RECORDS = "records"
    # Ends of transactions.
    COMMIT = "commit"
    ABORT = "abort"
    # What else brokers write for themselves.
    OTHER_CONTROL = "other control"
    # Compaction has removed them, or they were never used.
    GAP = "gap"


class OutlineRun(NamedTuple):
    """Offsets of one kind that follow each other. `producer_id` is None outside of transactions."""

    offset: int
    last_offset: int
    kind: RunKind
    producer_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LogOutline:
    """The runs have every offset from `offset` up to `next_offset`, which is `offset` if nothing could be read. What is
    damaged counts as records: readers stop in front of it."""

    offset: int
    next_offset: int
    runs: tuple[OutlineRun, ...]
    log_start_offset: int
    last_stable_offset: int
    high_watermark: int


def runs_of(data: Buffer, offset: int) -> tuple[tuple[OutlineRun, ...], int]:
    """What is in these batches from `offset` on, and the offset behind it. Damage ends it."""
    runs: list[OutlineRun] = []
    position = offset
    for run in _found(memoryview(data)):
        if run.last_offset < position:
            continue
        if run.offset > position:
            _append(runs, OutlineRun(position, run.offset - 1, RunKind.GAP))
        _append(runs, run._replace(offset=max(run.offset, position)))
        position = run.last_offset + 1
    return tuple(runs), position


def _append(runs: list[OutlineRun], run: OutlineRun) -> None:
    previous = runs[-1] if runs else None
    if previous is not None and (previous.kind, previous.producer_id) == (run.kind, run.producer_id):
        runs[-1] = previous._replace(last_offset=run.last_offset)
    else:
        runs.append(run)


def _found(data: memoryview) -> Iterator[OutlineRun]:
    unpacked = 0
    try:
        for position, header in iterate_headers(data):
            if header.magic != CURRENT_MAGIC or unpacked >= _MOST_UNPACKED_BYTES:
                return
            batch = data[position : position + header.size]
            if _has_holes(header):
                payload = _unpacked(header, batch)
                unpacked += LARGEST_BATCH_BYTES if payload is None else len(payload)
                yield from _runs_beside_holes(header, payload)
            else:
                yield _run_of_batch(header, batch)
    except CorruptBatch:
        # Where it begins is known, but not how far it goes.
        return


def _has_holes(header: BatchHeader) -> bool:
    count = header.last_offset - header.base_offset + 1
    return not header.is_control and header.record_count not in (0, count)


def _run_of_batch(header: BatchHeader, batch: memoryview) -> OutlineRun:
    producer_id = _producer_of(header)
    if header.record_count == 0:
        # Compaction keeps the last batch of a producer, without its records.
        return OutlineRun(header.base_offset, header.last_offset, RunKind.GAP)
    kind = _control_kind(header, batch) if header.is_control else RunKind.RECORDS
    return OutlineRun(header.base_offset, header.last_offset, kind, producer_id)


def _producer_of(header: BatchHeader) -> int | None:
    return header.producer_id if header.is_transactional else None


def _unpacked(header: BatchHeader, batch: memoryview) -> bytes | None:
    """None of a batch that is damaged, or too large."""
    try:
        return payload_of(header, batch)
    except CorruptBatch:
        return None


def _runs_beside_holes(header: BatchHeader, payload: bytes | None) -> Iterator[OutlineRun]:
    following, last = header.base_offset, header.last_offset
    producer_id = _producer_of(header)
    rest = RunKind.GAP
    try:
        for part in records_of(header, payload) if payload is not None else ():
            for record in part:
                yield OutlineRun(record.offset, record.offset, RunKind.RECORDS, producer_id)
            following = part[-1].offset + 1
    except CorruptBatch:
        rest = RunKind.RECORDS
    if payload is None:
        rest = RunKind.RECORDS
    if following <= last:
        yield OutlineRun(following, last, rest, producer_id if rest is RunKind.RECORDS else None)


def _control_kind(header: BatchHeader, batch: memoryview) -> RunKind:
    if not header.is_transactional:
        return RunKind.OTHER_CONTROL
    try:
        marker = read_end_transaction_marker(batch)
    except CorruptBatch:
        return RunKind.OTHER_CONTROL
    if marker is None:
        return RunKind.OTHER_CONTROL
    return RunKind.COMMIT if marker.commit else RunKind.ABORT
