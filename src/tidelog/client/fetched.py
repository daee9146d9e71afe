"""What a Fetch reply holds for one partition, taken apart as it is read: records that the reader may see.

Left out are markers and other control records, records before the position, and, for readers of committed records,
what belongs to aborted transactions. Offsets therefore have gaps, and the position moves over them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tidelog.client.errors import RecordTooLarge
from tidelog.model.ids import TopicPartition
from tidelog.records.batch import BatchHeader, Buffer, iterate_headers
from tidelog.records.control import read_end_transaction_marker
from tidelog.records.implementation import decoding
from tidelog.records.record import Header, read_payload


class ConsumerRecord(NamedTuple):
    """A named tuple, because one is made for every record that is read; `tidelog.records.decoding` knows the order."""

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
    """The same undecoded: whole batches with their headers. Of the first, only offsets from `first_offset` on count."""

    batches: list[tuple[BatchHeader, memoryview]]
    first_offset: int
    next_offset: int
    leader_epoch: int


class FetchedPartition:
    """Decodes batch by batch, so that one large reply does not block the loop for long."""

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
        self.exhausted = False
        self._check_crcs = check_crcs
        self._data = memoryview(data)
        self._aborted = None if aborted is None else sorted((offset, producer) for producer, offset in aborted)
        self._aborting: set[int] = set()
        self._batches: Iterator[tuple[int, BatchHeader]] = iterate_headers(data)
        self._current: tuple[BatchHeader, memoryview] | None = None
        self._ready: list[ConsumerRecord] = []
        self._ready_at = 0
        self._batch_end = fetch_offset
        self._leader_epoch = -1
        self._any_batch = False

    def take(self, limit: int) -> Chunk:
        """Up to `limit` records; fewer only when the reply is exhausted."""
        records: list[ConsumerRecord] = []
        while len(records) < limit and not self.exhausted:
            if self._ready_at >= len(self._ready):
                self._decode_next()
            first = self._ready_at
            some = self._ready[first : first + limit - len(records)]
            records += some
            self._ready_at += len(some)
            if self._ready_at >= len(self._ready):
                # Behind the last visible record there may be offsets that nobody sees.
                self.next_offset = max(self.next_offset, self._batch_end)
            elif some:
                self.next_offset = some[-1].offset + 1
        return Chunk(records, self.next_offset, self._leader_epoch)

    def take_batches(self, limit_bytes: int) -> BatchChunk:
        """Batches of about `limit_bytes` together, at least one; none only when the reply is exhausted."""
        first_offset = self.next_offset
        batches: list[tuple[BatchHeader, memoryview]] = []
        size = 0
        if self._current is not None and self._ready_at < len(self._ready):
            # What `take` has left of a batch that it has decoded.
            batches.append(self._current)
            size += self._current[0].size
            self._ready = []
            self.next_offset = max(self.next_offset, self._batch_end)
        while size < limit_bytes and (found := self._next_visible()) is not None:
            batches.append(found)
            size += found[0].size
            self.next_offset = max(self.next_offset, self._batch_end)
        return BatchChunk(batches, first_offset, self.next_offset, self._leader_epoch)

    def _decode_next(self) -> None:
        self._ready = []
        self._ready_at = 0
        while (found := self._next_visible()) is not None:
            header, batch = found
            self._ready = self._records(header, batch)
            if self._ready:
                return
            self.next_offset = header.next_offset

    def _next_visible(self) -> tuple[BatchHeader, memoryview] | None:
        """The next batch with records that the reader may see; None, and exhausted, if there is none."""
        for position, header in self._batches:
            self._any_batch = True
            self._batch_end = header.next_offset
            self._leader_epoch = header.partition_leader_epoch
            batch = self._data[position : position + header.size]
            visible = self._visible(header, batch)
            # Before the position it is only of interest for what it says about transactions.
            if header.next_offset <= self.next_offset:
                continue
            if visible:
                self._current = (header, batch)
                return self._current
            self.next_offset = header.next_offset
        if not self._any_batch:
            raise RecordTooLarge(
                f"the batch at offset {self.next_offset} of partition {self.partition} is larger than the "
                f"{len(self._data)} bytes that were fetched: raise max.partition.fetch.bytes and fetch.max.bytes"
            )
        self.exhausted = True
        return None

    def _visible(self, header: BatchHeader, batch: memoryview) -> bool:
        if self._aborted is not None and header.has_producer_id:
            while self._aborted and self._aborted[0][0] <= header.last_offset:
                self._aborting.add(self._aborted.pop(0)[1])
            if header.is_control and header.is_transactional:
                marker = read_end_transaction_marker(batch)
                if marker is not None and not marker.commit:
                    self._aborting.discard(header.producer_id)
        if header.is_control:
            return False
        return not (header.is_transactional and header.producer_id in self._aborting)

    def _records(self, header: BatchHeader, batch: memoryview) -> list[ConsumerRecord]:
        topic, partition = self.partition
        payload = read_payload(header, batch, check_crc=self._check_crcs)
        records: list[ConsumerRecord] = decoding.decode_records(
            ConsumerRecord, header, payload, (topic, partition, self.next_offset)
        )
        return records
