"""What a partition remembers of one producer, as an immutable value, and the checks on the producer's next batch.

The last five batches suffice to tell a duplicate from a gap, because a producer has at most five requests in flight.
Which entries there are, and the transactions they keep open, is in `tidelog.partition.producers`.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from tidelog.model.ids import NO_PRODUCER_EPOCH, NO_SEQUENCE
from tidelog.model.invariants import require
from tidelog.records.batch import NO_TIMESTAMP, SEQUENCE_MODULUS, BatchHeader

RETAINED_BATCHES = 5
NO_TRANSACTION = -1
NO_COORDINATOR_EPOCH = -1
LAST_SEQUENCE = SEQUENCE_MODULUS - 1


class BatchMetadata(NamedTuple):
    """One batch that is in the log."""

    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int

    @property
    def first_sequence(self) -> int:
        return (self.last_sequence - self.offset_delta) % SEQUENCE_MODULUS

    @property
    def first_offset(self) -> int:
        return self.last_offset - self.offset_delta


class SnapshotEntry(NamedTuple):
    """What a `.snapshot` file (version 1) keeps of a producer: only the last of its batches."""

    producer_id: int
    epoch: int
    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int
    coordinator_epoch: int
    current_transaction_first_offset: int


class ProducerEntry(NamedTuple):
    """Replaced, never changed, so that a plan can be dropped. A tuple because each idempotent batch creates one."""

    producer_id: int
    epoch: int = NO_PRODUCER_EPOCH
    coordinator_epoch: int = NO_COORDINATOR_EPOCH
    last_timestamp: int = NO_TIMESTAMP
    # The offset at which the producer's open transaction began.
    transaction_first_offset: int = NO_TRANSACTION
    # Oldest first, all of them of this epoch.
    batches: tuple[BatchMetadata, ...] = ()

    @property
    def last_sequence(self) -> int:
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE

    @property
    def has_open_transaction(self) -> bool:
        return self.transaction_first_offset >= 0

    @property
    def may_lack_batches(self) -> bool:
        """Whether this epoch had batches that the producer may resend but that are not known here."""
        return 0 < len(self.batches) < RETAINED_BATCHES and self.batches[0].first_sequence != 0

    def find_duplicate(self, header: BatchHeader) -> BatchMetadata | None:
        """The batch in the log that holds exactly the sequence numbers of `header`."""
        if header.producer_epoch != self.epoch:
            return None
        last_sequence = header.last_sequence
        for batch in self.batches:
            if batch.last_sequence == last_sequence and batch.first_sequence == header.base_sequence:
                return batch
        return None

    def expects_sequence(self, sequence: int) -> bool:
        """Whether a batch of the same epoch may begin with `sequence`; after 2^31-1 comes 0."""
        last_sequence = self.last_sequence
        return sequence == (0 if last_sequence == LAST_SEQUENCE else last_sequence + 1)

    def after_data(self, header: BatchHeader, base_offset: int) -> ProducerEntry:
        """The entry once this batch of records is in the log. A new epoch forgets the batches of the old one."""
        batch = BatchMetadata(
            header.last_sequence,
            base_offset + header.last_offset_delta,
            header.last_offset_delta,
            header.max_timestamp,
        )
        epoch = header.producer_epoch
        kept = self.batches[1 - RETAINED_BATCHES :] if epoch == self.epoch else ()
        first_offset = self.transaction_first_offset
        if first_offset < 0 and header.is_transactional:
            first_offset = base_offset
        return ProducerEntry(
            self.producer_id,
            epoch,
            self.coordinator_epoch,
            header.max_timestamp,
            first_offset,
            (*kept, batch),
        )

    def after_marker(self, epoch: int, *, coordinator_epoch: int, timestamp: int) -> ProducerEntry:
        """The entry once a marker has ended the transaction."""
        kept = self.batches if epoch == self.epoch else ()
        return ProducerEntry(self.producer_id, epoch, coordinator_epoch, timestamp, NO_TRANSACTION, kept)

    def check_invariants(self, end_offset: int) -> None:
        """Sequences need not be adjacent: the cleaner removes batches, and coordinators write without sequences."""
        batches = self.batches
        require(self.producer_id >= 0 and self.epoch >= 0, self, "id and epoch are known", epoch=self.epoch)
        require(len(batches) <= RETAINED_BATCHES, self, "only the latest batches are retained", count=len(batches))
        in_order = all(before.last_offset < batch.first_offset for before, batch in pairwise(batches))
        require(in_order, self, "batches are in the order of their offsets", batches=batches)
        for batch in batches:
            in_range = NO_SEQUENCE <= batch.last_sequence <= LAST_SEQUENCE and batch.offset_delta >= 0
            require(in_range, self, "sequences and sizes are within their ranges", batch=batch)
            require(
                batch.first_offset >= 0 and batch.last_offset < end_offset,
                self,
                "batches lie in the log",
                end=end_offset,
            )

    def to_snapshot(self) -> SnapshotEntry:
        last = self.batches[-1] if self.batches else None
        return SnapshotEntry(
            self.producer_id,
            self.epoch,
            last.last_sequence if last else NO_SEQUENCE,
            last.last_offset if last else -1,
            last.offset_delta if last else 0,
            self.last_timestamp,
            self.coordinator_epoch,
            self.transaction_first_offset,
        )

    @staticmethod
    def from_snapshot(entry: SnapshotEntry) -> ProducerEntry:
        batches: tuple[BatchMetadata, ...] = ()
        if entry.last_offset >= 0:
            batches = (BatchMetadata(entry.last_sequence, entry.last_offset, entry.offset_delta, entry.timestamp),)
        return ProducerEntry(
            entry.producer_id,
            entry.epoch,
            entry.coordinator_epoch,
            entry.timestamp,
            max(entry.current_transaction_first_offset, NO_TRANSACTION),
            batches,
        )
