"""What kinds of offsets a part of a log has: records, control records, nothing. No I/O.

For those who count. Headers of batches tell almost everything: records are only decoded of batches in which compaction
has left holes.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from tidelog.model.lazy_dataclasses import dataclass
from tidelog.records.batch import CURRENT_MAGIC, BatchHeader, Buffer, CorruptBatch, iterate_headers
from tidelog.records.control import read_end_transaction_marker
from tidelog.records.record import decode_records, read_payload


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
    try:
        for position, header in iterate_headers(data):
            if header.magic != CURRENT_MAGIC:
                return
            yield from _runs_of_batch(header, data[position : position + header.size])
    except CorruptBatch:
        # Where it begins is known, but not how far it goes.
        return


def _runs_of_batch(header: BatchHeader, batch: memoryview) -> Iterator[OutlineRun]:
    first, last = header.base_offset, header.last_offset
    producer_id = header.producer_id if header.is_transactional else None
    if header.record_count == 0:
        # Compaction keeps the last batch of a producer, without its records.
        yield OutlineRun(first, last, RunKind.GAP)
    elif header.is_control:
        yield OutlineRun(first, last, _control_kind(header, batch), producer_id)
    elif header.record_count == last - first + 1:
        yield OutlineRun(first, last, RunKind.RECORDS, producer_id)
    else:
        try:
            records = decode_records(header, read_payload(header, batch))
        except CorruptBatch:
            yield OutlineRun(first, last, RunKind.RECORDS, producer_id)
            return
        for record in records:
            yield OutlineRun(record.offset, record.offset, RunKind.RECORDS, producer_id)
        if records[-1].offset < last:
            yield OutlineRun(records[-1].offset + 1, last, RunKind.GAP)


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
