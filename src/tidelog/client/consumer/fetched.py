"""What a Fetch reply holds for one partition, taken apart as it is read: records that the reader may see.

Left out are markers and other control records, records before the position, and, for readers of committed records,
what belongs to aborted transactions. Offsets therefore have gaps, and the position moves over them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from tidelog.client.errors import RecordTooLarge
from tidelog.model.ids import TopicPartition
from tidelog.records.batch import BatchHeader, Buffer, CorruptBatch, iterate_headers
from tidelog.records.control import read_end_transaction_marker
from tidelog.records.implementation import decoding
from tidelog.records.record import Header, read_payload


class ConsumerRecord(NamedTuple):
    """A named tuple, because one is made for every record that is read."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    timestamp_type: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...]
    leader_epoch: int

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)


class Chunk(NamedTuple):
    """Some records of one partition, and the position behind them."""

    records: list[ConsumerRecord]
    next_offset: int
    leader_epoch: int


class BatchChunk(NamedTuple):
    """The same undecoded: whole batches with their headers, of which offsets in [first_offset, next_offset) count."""

    batches: list[tuple[BatchHeader, memoryview]]
    first_offset: int
    next_offset: int
    leader_epoch: int


class FetchedPartition:
    """Decodes batch by batch, so that one large reply does not block the loop for long.

    Records (`take`) and undecoded batches (`take_batches`) may be taken in any order; both move `next_offset`.
    """

    def __init__(
        self,
        partition: TopicPartition,
        fetch_offset: int,
        data: Buffer,
        *,
        aborted: Iterable[tuple[int, int]] | None = None,
        check_crcs: bool = True,
    ) -> None:
        """`aborted` are (producer id, first offset) of aborted transactions; None if the reader wants everything."""
        self.partition = partition
        self.next_offset = fetch_offset
        # Behind the last whole batch, and the leader epoch of that: from here on the next fetch goes on.
        self.end_offset = fetch_offset
        self.end_epoch = -1
        self.exhausted = False
        # Why what follows the batches below cannot be read.
        self.problem: Exception | None = None
        self._check_crcs = check_crcs
        self._data = memoryview(data)
        self._batches: list[tuple[int, BatchHeader]] = []
        self._at = 0
        # The records of the batch at `_at`, from `_ready_at` on, if it has been decoded.
        self._ready: list[ConsumerRecord] | None = None
        self._ready_at = 0
        self._choose(_Transactions(aborted))

    def take(self, limit: int) -> Chunk:
        """Up to `limit` records; fewer only when nothing is left, or when the rest cannot be read.

        Raises CorruptBatch when what comes next cannot be read.
        """
        records: list[ConsumerRecord] = []
        epoch = self.end_epoch
        while len(records) < limit and self._at < len(self._batches):
            position, header = self._batches[self._at]
            if self._ready is None:
                try:
                    self._ready = self._decode(header, self._data[position : position + header.size])
                except CorruptBatch:
                    if not records:
                        raise
                    break
                self._ready_at = 0
            some = self._ready[self._ready_at : self._ready_at + limit - len(records)]
            records += some
            self._ready_at += len(some)
            epoch = header.partition_leader_epoch
            if self._ready_at >= len(self._ready):
                self._pass(header.next_offset)
            else:
                self.next_offset = some[-1].offset + 1
        self._look_for_the_end(bool(records))
        return Chunk(records, self.next_offset, self.end_epoch if self.exhausted else epoch)

    def take_batches(self, limit_bytes: int, limit_rows: int | None = None) -> BatchChunk:
        """Batches of about `limit_bytes` together, at least one, with at most `limit_rows` rows that count."""
        first_offset = self.next_offset
        batches: list[tuple[BatchHeader, memoryview]] = []
        epoch = self.end_epoch
        size = 0
        while size < limit_bytes and limit_rows != 0 and self._at < len(self._batches):
            position, header = self._batches[self._at]
            batches.append((header, self._data[position : position + header.size]))
            size += header.size
            epoch = header.partition_leader_epoch
            if limit_rows is None:
                self._pass(header.next_offset)
                continue
            # There are at most as many records left as offsets, and at most as many as the header says.
            left = min(header.next_offset - max(self.next_offset, header.base_offset), header.record_count)
            if left <= limit_rows:
                limit_rows -= left
                self._pass(header.next_offset)
            else:
                self.next_offset = max(self.next_offset, header.base_offset) + limit_rows
                self._ready = None
                limit_rows = 0
        self._look_for_the_end(bool(batches))
        return BatchChunk(batches, first_offset, self.next_offset, self.end_epoch if self.exhausted else epoch)

    def _choose(self, transactions: _Transactions) -> None:
        """Find the batches that the reader may see from the position on."""
        found = False
        try:
            for position, header in iterate_headers(self._data):
                found = True
                visible = transactions.visible(header, self._data[position : position + header.size])
                if header.next_offset > self.next_offset:
                    self.end_offset = header.next_offset
                    if visible:
                        self._batches.append((position, header))
                self.end_epoch = header.partition_leader_epoch
        except CorruptBatch as error:
            self.problem = error
            return
        if not found:
            self.problem = RecordTooLarge(
                f"the batch at offset {self.next_offset} of partition {self.partition} is larger than the "
                f"{len(self._data)} bytes that were fetched: raise max.partition.fetch.bytes and fetch.max.bytes"
            )

    def _pass(self, next_offset: int) -> None:
        self.next_offset = max(self.next_offset, next_offset)
        self._at += 1
        self._ready = None

    def _look_for_the_end(self, anything: bool) -> None:
        if self._at < len(self._batches):
            return
        # Behind the last visible batch there may be offsets that nobody sees.
        self.next_offset = max(self.next_offset, self.end_offset)
        if self.problem is None:
            self.exhausted = True
        elif not anything:
            raise self.problem

    def _decode(self, header: BatchHeader, batch: memoryview) -> list[ConsumerRecord]:
        topic, partition = self.partition
        payload = read_payload(header, batch, check_crc=self._check_crcs)
        records: list[ConsumerRecord] = decoding.decode_records(
            ConsumerRecord, header, payload, (topic, partition, self.next_offset)
        )
        return records


class _Transactions:
    """Which batches belong to aborted transactions; asked once for every batch, in order.

    A transaction's records are between its first offset, which the reply tells, and the marker of its producer. A
    producer has one transaction at a time, so its id is enough to know them by.
    """

    def __init__(self, aborted: Iterable[tuple[int, int]] | None) -> None:
        self._filtering = aborted is not None
        # Latest first, so that the next one is taken from the end.
        self._ahead = sorted(((offset, producer) for producer, offset in aborted or ()), reverse=True)
        self._aborting: set[int] = set()

    def visible(self, header: BatchHeader, batch: memoryview) -> bool:
        if self._filtering and header.has_producer_id:
            while self._ahead and self._ahead[-1][0] <= header.last_offset:
                self._aborting.add(self._ahead.pop()[1])
            if header.is_control and header.is_transactional:
                marker = read_end_transaction_marker(batch)
                if marker is not None and not marker.commit:
                    self._aborting.discard(header.producer_id)
        if header.is_control:
            return False
        return not (header.is_transactional and header.producer_id in self._aborting)
