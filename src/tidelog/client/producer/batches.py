"""Records that wait to be sent, gathered into batches per partition. No I/O, no clock of its own.

When a batch may go is decided here (full, lingered, flushed, pause after a failure over); which of those that may go
are sent in which request is decided in `tidelog.client.producer.sender`; in which order a partition's batches must go,
for an idempotent producer, in `tidelog.client.producer.sequences`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from tidelog.model.ids import TopicPartition
from tidelog.records.batch import HEADER_SIZE, BatchHeader, Buffer
from tidelog.records.record import Header, NewRecord

# Lengths, deltas and attributes of a record take at most about this much beside its key, value and headers.
RECORD_OVERHEAD = 21
HEADER_OVERHEAD = 10

NO_OFFSET = -1


class Stored(NamedTuple):
    """How a batch ended well. The offset is -1 where the broker does not tell (acks=0, or a recognised duplicate)."""

    base_offset: int
    log_append_time_ms: int


class ProducerBatch:
    """One batch, from its first record until the outcome is known.

    Written out and not a dataclass: compiled code makes objects of such a class without a call into Python.
    """

    __slots__ = (
        "_waiters",
        "attempts",
        "base_sequence",
        "children",
        "created_ms",
        "encoded",
        "failure",
        "last_problem",
        "observed",
        "open",
        "partition",
        "producer_epoch",
        "producer_id",
        "records",
        "refused_in_order",
        "retry_at_ms",
        "size",
        "stored",
        "unanswered",
    )

    def __init__(
        self,
        partition: TopicPartition,
        created_ms: float,
        *,
        open: bool = True,
        attempts: int = 0,
        unanswered: bool = False,
    ) -> None:
        self.partition = partition
        self.created_ms = created_ms
        self.records: list[NewRecord] = []
        self.size = HEADER_SIZE
        # Takes more records. Once closed, a batch never opens again.
        self.open = open
        self.attempts = attempts
        self.retry_at_ms = 0.0
        self.encoded: Buffer | None = None
        self.last_problem: Exception | None = None
        # Given out by `tidelog.client.producer.sequences`; -1 while there is none.
        self.producer_id = -1
        self.producer_epoch = -1
        self.base_sequence = -1
        # At least one request with this batch got no answer: it may still arrive at the broker.
        self.unanswered = unanswered
        # The broker has said that this batch is not stored, because one before it is not.
        self.refused_in_order = False
        # Exactly one of these three is set when the outcome is known.
        self.stored: Stored | None = None
        self.failure: Exception | None = None
        self.children: tuple[ProducerBatch, ProducerBatch] | None = None
        # Whether somebody has been told about a failure.
        self.observed = False
        self._waiters: list[Callable[[], None]] = []

    @property
    def done(self) -> bool:
        return self.stored is not None or self.failure is not None or self.children is not None

    @property
    def has_sequence(self) -> bool:
        return self.base_sequence >= 0

    @property
    def record_count(self) -> int:
        return len(self.records)

    @property
    def can_be_split(self) -> bool:
        return len(self.records) > 1

    def timestamp_of(self, index: int) -> int:
        return self.records[index][0]

    def add(self, record: NewRecord, size: int) -> int:
        """The record's index in the batch."""
        self.records.append(record)
        self.size += size
        return len(self.records) - 1

    def when_done(self, waiter: Callable[[], None]) -> None:
        if self.done:
            waiter()
        else:
            self._waiters.append(waiter)

    def succeed(self, stored: Stored) -> None:
        self.stored = stored
        self._finish()

    def fail(self, failure: Exception) -> None:
        self.failure = failure
        self._finish()

    def split(self) -> tuple[ProducerBatch, ProducerBatch]:
        """Two batches with half of the records each, in place of this one, which the broker found too large."""
        middle = len(self.records) // 2
        halves = []
        for part in (self.records[:middle], self.records[middle:]):
            half = ProducerBatch(
                self.partition, self.created_ms, open=False, attempts=self.attempts, unanswered=self.unanswered
            )
            for record in part:
                half.add(record, size_of_record(record[1], record[2], record[3]))
            halves.append(half)
        self.children = (halves[0], halves[1])
        self._finish()
        return self.children

    def _finish(self) -> None:
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            waiter()


class PreencodedBatch(ProducerBatch):
    """A batch that was encoded elsewhere, sent as it is but for what is stamped into it (`encoded_batches`)."""

    __slots__ = ("content", "header")

    def __init__(
        self, partition: TopicPartition, created_ms: float, content: bytearray | memoryview, header: BatchHeader
    ) -> None:
        super().__init__(partition, created_ms)
        self.content = content
        self.header = header
        self.size = len(content)
        self.open = False

    @property
    def record_count(self) -> int:
        return self.header.record_count

    @property
    def can_be_split(self) -> bool:
        return False

    def timestamp_of(self, index: int) -> int:
        return self.header.base_timestamp


def size_of_record(key: object, value: object, headers: Sequence[Header]) -> int:
    """An upper bound of the bytes that a record takes before compression."""
    size = RECORD_OVERHEAD
    if key is not None:
        size += len(key)  # type: ignore[arg-type]
    if value is not None:
        size += len(value)  # type: ignore[arg-type]
    for name, content in headers:
        size += HEADER_OVERHEAD + len(name) * 4 + (0 if content is None else len(content))
    return size


class Accumulator:
    """The batches that wait, in the order in which each partition's have to go."""

    def __init__(self, *, batch_size: int, linger_ms: float) -> None:
        self.batch_size = batch_size
        self._linger_ms = linger_ms
        # Hears of every batch that takes no more records.
        self.on_closed: Callable[[TopicPartition], None] | None = None
        self._queues: dict[TopicPartition, deque[ProducerBatch]] = {}
        # Bytes of all batches whose outcome is not known, waiting and in flight.
        self.pending_bytes = 0
        # How many batches have been closed so far.
        self.closed = 0
        self.flushing = False

    def append(
        self, partition: TopicPartition, record: NewRecord, size: int, monotonic_ms: Callable[[], float]
    ) -> tuple[ProducerBatch, int]:
        """(the batch that took the record, its index there). The time is asked for only where a batch begins."""
        queue = self._queues.get(partition)
        if queue is None:
            queue = self._queues[partition] = deque()
        batch = queue[-1] if queue else None
        if batch is None or not batch.open or batch.size + size > self.batch_size:
            if batch is not None:
                self._close(batch)
            batch = ProducerBatch(partition, monotonic_ms())
            queue.append(batch)
            self.pending_bytes += HEADER_SIZE
        index = batch.add(record, size)
        if batch.size >= self.batch_size:
            self._close(batch)
        self.pending_bytes += size
        return batch, index

    def close_if_full(self, partition: TopicPartition, size: int) -> bool:
        """Close the partition's batch if it has no room for a record of this size; whether it was so."""
        queue = self._queues.get(partition)
        if not queue or not queue[-1].open or queue[-1].size + size <= self.batch_size:
            return False
        self._close(queue[-1])
        return True

    def append_encoded(self, batch: PreencodedBatch) -> None:
        """Behind everything that waits for the same partition. What is there takes no more records."""
        queue = self._queues.setdefault(batch.partition, deque())
        if queue:
            self._close(queue[-1])
        queue.append(batch)
        self.pending_bytes += batch.size

    def heads(self) -> Iterator[ProducerBatch]:
        """For each partition the batch that goes next: the oldest that does not wait for a new sequence number."""
        for queue in list(self._queues.values()):
            for batch in queue:
                if not batch.refused_in_order:
                    yield batch
                    break

    def ready_at_ms(self, batch: ProducerBatch) -> float:
        """From when on the batch may go; a time in the past if it already may."""
        if batch.attempts > 0:
            return batch.retry_at_ms
        if not batch.open or self.flushing or len(self._queues[batch.partition]) > 1:
            return 0.0
        return batch.created_ms + self._linger_ms

    def take(self, batch: ProducerBatch) -> None:
        """A batch that `heads` has named is about to be sent."""
        self._queues[batch.partition].remove(batch)
        self._close(batch)

    def put_back(self, batch: ProducerBatch) -> None:
        """To be sent again: before everything younger, so that the order of the partition is kept."""
        queue = self._queues.setdefault(batch.partition, deque())
        position = 0
        while position < len(queue) and _goes_before(queue[position], batch):
            position += 1
        queue.insert(position, batch)

    def remove(self, batch: ProducerBatch) -> None:
        """Out of the queue, if it is there."""
        queue = self._queues.get(batch.partition)
        if queue is not None and batch in queue:
            queue.remove(batch)

    def release(self, batch: ProducerBatch) -> None:
        """The outcome is known: the memory is free again."""
        self.pending_bytes -= batch.size
        if not self._queues.get(batch.partition):
            self._queues.pop(batch.partition, None)

    def expired(self, created_before_ms: float) -> list[ProducerBatch]:
        """Take out what has waited for too long. In a queue the oldest are in front."""
        found: list[ProducerBatch] = []
        for queue in self._queues.values():
            while queue and queue[0].created_ms <= created_before_ms:
                found.append(queue.popleft())
        return found

    def waiting(self) -> Iterator[ProducerBatch]:
        for queue in list(self._queues.values()):
            yield from list(queue)

    def _close(self, batch: ProducerBatch) -> None:
        if batch.open:
            batch.open = False
            self.closed += 1
            if self.on_closed is not None:
                self.on_closed(batch.partition)


def _goes_before(waiting: ProducerBatch, returning: ProducerBatch) -> bool:
    """Whether a batch in the queue is older than one that comes back to it.

    Only batches that have been sent before can be. Sequence numbers wrap, so their distance tells, not their size.
    """
    if waiting.attempts == 0:
        return False
    if waiting.has_sequence and returning.has_sequence:
        if waiting.producer_epoch != returning.producer_epoch:
            return waiting.producer_epoch < returning.producer_epoch
        return (returning.base_sequence - waiting.base_sequence) % (1 << 31) < 1 << 30
    return waiting.created_ms <= returning.created_ms
