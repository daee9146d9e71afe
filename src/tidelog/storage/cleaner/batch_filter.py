"""What becomes of one batch in a compaction: copied as it is, rewritten with fewer records, emptied, or dropped.

Decides and encodes; reading and writing is in `tidelog.storage.cleaner.compaction`. Works in small steps: a generator
that yields every few records (0, for no bytes read), so that a batch of thousands keeps nobody waiting.

When records go:
- one with a later offset for its key goes, and one of an aborted transaction
- one without a key goes: it does not belong in a compacted topic
- a tombstone (a record without a value) stays until its delete horizon, so that readers who fall behind by no more
  than delete.retention.ms learn of the deletion (KIP-534). The horizon is set by the first compaction that keeps it
- a marker whose transaction has no batches left is treated like a tombstone
Offsets never change. A batch without records stays if it is its producer's last one, which keeps the sequence number,
or if it is the last one of the round, so that a log whose other segments are lost still ends where it did. Both as in
Apache Kafka; the next round removes it, unless it is the last one again.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Generator, Mapping
from dataclasses import field
from typing import NamedTuple

from tidelog.model.lazy_dataclasses import dataclass
from tidelog.partition.transactions import AbortedTransaction
from tidelog.records.batch import BatchHeader, Buffer
from tidelog.records.implementation import filtering
from tidelog.records.record import decode_records, encode_retained, read_payload
from tidelog.records.spans import RecordSpan, encode_remaining
from tidelog.storage.cleaner.key_map import RECORDS_PER_STEP, KeyMap
from tidelog.storage.cleaner.large_batch import rewrite, small_payload, survey
from tidelog.storage.cleaner.transactions import PassedTransactions


class LastRecord(NamedTuple):
    """Where the last batch of a producer is; the offset is None if only markers of it are left."""

    epoch: int
    data_offset: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionRules:
    """What decides about records, apart from the keys."""

    # When the compaction began.
    now_ms: int
    delete_retention_ms: int
    # The map of keys holds everything up to here; later records are all kept.
    mapped_up_to: int
    last_records: Mapping[int, LastRecord]
    # Where the part of the log ends that this round compacts.
    end_offset: int


class FilteredBatch(NamedTuple):
    """What must be written, if anything, and how many records that is."""

    data: Buffer | None
    records_read: int
    records_kept: int
    # To be noted in the transaction index of the new segment.
    aborted: AbortedTransaction | None = None


@dataclass(slots=True)
class BatchFilter:
    keys: KeyMap
    transactions: PassedTransactions
    rules: RetentionRules
    # Used again for each batch: the records of it that stay, and what `filtering.keep_records` counts.
    _room: bytearray = field(default_factory=bytearray, init=False)
    _totals: memoryview = field(default_factory=lambda: memoryview(array("q", [0] * 4)), init=False)

    def filter(self, header: BatchHeader, batch: Buffer) -> Generator[int, None, FilteredBatch]:
        """Must be called for all batches in order. Raises CorruptBatch."""
        if header.is_control:
            if not header.has_producer_id:
                # Not the end of a transaction, so not of interest here.
                return FilteredBatch(batch, header.record_count, header.record_count)
            return self._filter_marker(header, batch)
        if self.transactions.pass_data(header):
            return FilteredBatch(self._emptied(header), header.record_count, 0)
        payload = small_payload(header, batch)
        if payload is None:
            return (yield from self._filter_large(header, batch))
        yield from self._copy_remaining(header, payload)
        totals = self._totals
        count, kept = header.record_count, totals[filtering.KEPT]
        remaining = memoryview(self._room)[: totals[filtering.WRITTEN]]
        if not kept:
            return FilteredBatch(self._emptied(header), count, 0)
        if totals[filtering.TOMBSTONES] and not header.has_delete_horizon:
            horizon = self.rules.now_ms + self.rules.delete_retention_ms
            records = decode_records(header._replace(record_count=kept), bytes(remaining))
            return FilteredBatch(encode_retained(header, records, delete_horizon_ms=horizon), count, kept)
        if kept == count:
            return FilteredBatch(batch, count, count)
        return FilteredBatch(encode_remaining(header, remaining, kept, totals[filtering.MAX_DELTA]), count, kept)

    def _copy_remaining(self, header: BatchHeader, payload: Buffer) -> Generator[int, None, None]:
        """The records that stay come into the room, and what there is to know of them into the totals."""
        rules, keys, totals = self.rules, self.keys, self._totals
        totals[filtering.KEPT] = totals[filtering.TOMBSTONES] = 0
        totals[filtering.MAX_DELTA] = totals[filtering.WRITTEN] = 0
        if len(self._room) < len(payload):
            self._room = bytearray(len(payload))
        for count in keys.steps(header, payload):
            keys.keep_step(
                payload,
                count,
                base_offset=header.base_offset,
                mapped_up_to=rules.mapped_up_to,
                keeps_tombstones=self._keeps_tombstones(header),
                output=self._room,
                totals=totals,
            )
            if count == RECORDS_PER_STEP:
                yield 0

    def _filter_large(self, header: BatchHeader, batch: Buffer) -> Generator[int, None, FilteredBatch]:
        stays = self._stays(header)
        found = yield from survey(header, batch, stays)
        count = header.record_count
        if not found.kept:
            return FilteredBatch(self._emptied(header), count, 0)
        sets_horizon = found.tombstones and not header.has_delete_horizon
        if found.kept == count and not sets_horizon:
            return FilteredBatch(batch, count, count)
        horizon = self.rules.now_ms + self.rules.delete_retention_ms if sets_horizon else None
        rewritten = yield from rewrite(header, batch, stays, found, horizon)
        return FilteredBatch(rewritten, count, found.kept)

    def _stays(self, header: BatchHeader) -> Callable[[RecordSpan], bool]:
        rules = self.rules
        last_offset_of = self.keys.get
        base_offset = header.base_offset
        mapped_up_to = rules.mapped_up_to
        keeps_tombstones = self._keeps_tombstones(header)

        def stays(span: RecordSpan) -> bool:
            _, _, offset_delta, _, key, has_value = span
            offset = base_offset + offset_delta
            return offset > mapped_up_to or (
                key is not None and (has_value or keeps_tombstones) and offset >= last_offset_of(key)
            )

        return stays

    def _keeps_tombstones(self, header: BatchHeader) -> bool:
        return not header.has_delete_horizon or self.rules.now_ms < header.base_timestamp

    def _filter_marker(self, header: BatchHeader, batch: Buffer) -> FilteredBatch:
        rules = self.rules
        is_over, aborted = self.transactions.pass_marker(header, batch)
        count = header.record_count
        if not is_over:
            return FilteredBatch(batch, count, count, aborted)
        if count and not header.has_delete_horizon:
            records = decode_records(header, read_payload(header, batch, check_crc=False))
            horizon = rules.now_ms + rules.delete_retention_ms
            return FilteredBatch(encode_retained(header, records, delete_horizon_ms=horizon), count, count)
        if count and rules.now_ms < header.base_timestamp:
            return FilteredBatch(batch, count, count)
        return FilteredBatch(self._emptied(header), count, 0)

    def _emptied(self, header: BatchHeader) -> bytes | None:
        if header.next_offset == self.rules.end_offset or self._is_last_of_producer(header):
            return encode_retained(header, ())
        return None

    def _is_last_of_producer(self, header: BatchHeader) -> bool:
        last = self.rules.last_records.get(header.producer_id) if header.has_producer_id else None
        if last is None:
            return False
        if last.data_offset is None:
            return header.is_control and header.producer_epoch == last.epoch
        return header.last_offset == last.data_offset
