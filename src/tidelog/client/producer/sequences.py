"""The sequence numbers of an idempotent producer, and what to do when a broker does not accept one (KIP-98, KIP-360).

A partition's leader takes a producer's batches only in the order of their sequence numbers, without a gap, and knows
the last five again. So up to five may be on their way at once, and each may be sent again until its fate is known.

When a batch is given up for good, the numbers behind it have a gap. The batches behind it that are on their way may or
may not have been stored, so they first go on under their old numbers, until the broker has either taken each of them or
refused it as out of order, which proves that it is not stored. Only then the producer's epoch is raised and the rest
is renumbered from zero. Nothing is stored twice, and nothing fails that did not have to.

One case needs more care. A request whose answer was lost may still lie in a buffer of the broker. If the batch that was
given up may still arrive in this way, and then one behind it too, the proof above is none. Such a batch is tried under
its old number until it is stored or its time is over.

A leader that does not know a producer yet takes any number as its first. So the first batch goes alone: if it had to
be sent again, because the leader was not ready for it, the second one would be taken for the first, and the first one
refused for ever. KIP-890 has leaders remember the first number that was tried in a transaction, but a leader that did
not yet know of the partition remembers nothing, so transactions take the same care. Once the leader has stored
something of the producer, it takes nothing but zero as the first number of a later epoch.

In a transaction nothing is renumbered: a batch that is given up makes the whole transaction fail, those behind it
with it, and the next transaction starts with another epoch, which the coordinator gives (`restart`).
"""

from __future__ import annotations

from dataclasses import field
from enum import Enum, auto

from tidelog.client.producer.batches import ProducerBatch
from tidelog.model.ids import TopicPartition
from tidelog.model.lazy_dataclasses import dataclass

MODULUS = 1 << 31
LARGEST_EPOCH = 32767
# As many batches of one producer as a partition's leader knows again.
MAX_UNRESOLVED = 5


class BatchRefusal(Enum):
    """What a refusal for the sake of the sequence means for the batch."""

    # A batch before it has to be stored first.
    BEHIND = auto()
    # It may still be stored by a request that is under way: try the same again later.
    AGAIN = auto()
    # It is not stored, and cannot be under its number: it waits for a new one.
    RENUMBER = auto()
    # The broker lacks batches that it had acknowledged: data is lost there, and the user has to know.
    GAP = auto()


@dataclass(slots=True, eq=False)
class _Partition:
    producer_id: int
    epoch: int
    # The leader has stored something of this producer id.
    known: bool = False
    next_sequence: int = 0
    # Numbered batches whose fate is not known, in order: in flight, or waiting to be sent again.
    unresolved: list[ProducerBatch] = field(default_factory=list)
    # A number has been given up.
    broken: bool = False
    # The batch with that number may still reach the leader.
    gap_may_close: bool = False


class Sequences:
    """For all partitions of one producer."""

    def __init__(self, *, transactional: bool = False) -> None:
        self.producer_id = -1
        self.epoch = -1
        self._transactional = transactional
        self._partitions: dict[TopicPartition, _Partition] = {}

    @property
    def initialized(self) -> bool:
        return self.producer_id >= 0

    def initialize(self, producer_id: int, epoch: int) -> None:
        self.producer_id = producer_id
        self.epoch = epoch
        # Partitions that waited for a new identity get it now.
        for partition in self._partitions.values():
            self._renumber_if_resolved(partition)

    @property
    def broken(self) -> bool:
        """Whether a number has been given up in some partition, so that the next ones would not be accepted there."""
        return any(partition.broken for partition in self._partitions.values())

    def restart(self, producer_id: int, epoch: int) -> None:
        """Go on under another identity, all numbers from zero. Nothing is on its way."""
        self._partitions = {
            name: _Partition(producer_id, epoch, known=True)
            for name, partition in self._partitions.items()
            if partition.known and partition.producer_id == producer_id
        }
        self.initialize(producer_id, epoch)

    def may_send(self, batch: ProducerBatch) -> bool:
        """Whether the head of a partition's queue may go now."""
        if not self.initialized:
            return False
        partition = self._partitions.get(batch.partition)
        if partition is None:
            return True
        if batch.has_sequence:
            # Retries go one by one, in order: the next one only when the fate of the one before is known.
            first = next((other for other in partition.unresolved if not other.refused_in_order), None)
            return first is batch
        if partition.broken:
            return False
        stale = (partition.producer_id, partition.epoch) != (self.producer_id, self.epoch)
        if stale and partition.unresolved:
            return False
        if not partition.known:
            return not partition.unresolved
        return len(partition.unresolved) < MAX_UNRESOLVED

    def assign(self, batch: ProducerBatch) -> None:
        """Number a batch that is sent for the first time; `may_send` has allowed it."""
        if batch.has_sequence:
            return
        partition = self._partitions.get(batch.partition)
        if partition is None:
            partition = self._partitions[batch.partition] = _Partition(self.producer_id, self.epoch)
        self._take_identity(partition)
        _number(partition, batch)
        partition.unresolved.append(batch)

    def stored(self, batch: ProducerBatch) -> None:
        partition = self._partitions[batch.partition]
        partition.known = partition.known or batch.producer_id == partition.producer_id
        if batch in partition.unresolved:
            partition.unresolved.remove(batch)
        self._renumber_if_resolved(partition)

    def refused(self, batch: ProducerBatch) -> BatchRefusal:
        """The broker did not take the batch because of its sequence number."""
        partition = self._partitions[batch.partition]
        if partition.broken and self._transactional:
            return BatchRefusal.GAP
        if partition.broken:
            if partition.gap_may_close and batch.unanswered:
                return BatchRefusal.AGAIN
            batch.refused_in_order = True
            self._renumber_if_resolved(partition)
            return BatchRefusal.RENUMBER
        return BatchRefusal.GAP if partition.unresolved[:1] == [batch] else BatchRefusal.BEHIND

    def forgotten(self, batch: ProducerBatch) -> BatchRefusal:
        """The broker does not know the producer any more, for instance because retention deleted all it had sent."""
        partition = self._partitions[batch.partition]
        partition.broken = True
        partition.gap_may_close = True
        return self.refused(batch)

    def give_up(self, batch: ProducerBatch, *, refused: bool) -> None:
        """The batch has failed for good. `refused` says that the leader does not take it, however often it comes."""
        partition = self._partitions.get(batch.partition)
        if partition is None or batch not in partition.unresolved:
            return
        partition.unresolved.remove(batch)
        partition.broken = True
        partition.gap_may_close |= batch.unanswered and not refused
        self._renumber_if_resolved(partition)

    def replace(self, batch: ProducerBatch, parts: tuple[ProducerBatch, ...]) -> None:
        """The parts of a batch that was too large take over its numbers."""
        partition = self._partitions.get(batch.partition)
        if partition is None or batch not in partition.unresolved:
            return
        sequence = batch.base_sequence
        for part in parts:
            part.producer_id, part.producer_epoch = batch.producer_id, batch.producer_epoch
            part.base_sequence = sequence
            sequence = (sequence + part.record_count) % MODULUS
        position = partition.unresolved.index(batch)
        partition.unresolved[position : position + 1] = parts

    def _take_identity(self, partition: _Partition) -> None:
        """Go on under the producer's current id and epoch, from zero if they have changed."""
        if (partition.producer_id, partition.epoch) != (self.producer_id, self.epoch):
            partition.known = partition.known and partition.producer_id == self.producer_id
            partition.producer_id, partition.epoch, partition.next_sequence = self.producer_id, self.epoch, 0

    def _renumber_if_resolved(self, partition: _Partition) -> None:
        """Start over, once it is certain of every numbered batch of the partition that it is not stored."""
        if (
            self._transactional
            or not partition.broken
            or not all(batch.refused_in_order for batch in partition.unresolved)
        ):
            return
        if (partition.producer_id, partition.epoch) == (self.producer_id, self.epoch):
            if self.epoch >= LARGEST_EPOCH:
                # No higher epoch exists: a new producer id has to be asked for. `initialize` comes back here.
                self.producer_id = self.epoch = -1
                return
            self.epoch += 1
        elif not self.initialized:
            return
        self._take_identity(partition)
        partition.broken = partition.gap_may_close = False
        for batch in partition.unresolved:
            batch.refused_in_order = False
            batch.encoded = None
            _number(partition, batch)


def _number(partition: _Partition, batch: ProducerBatch) -> None:
    batch.producer_id = partition.producer_id
    batch.producer_epoch = partition.epoch
    batch.base_sequence = partition.next_sequence
    partition.next_sequence = (partition.next_sequence + batch.record_count) % MODULUS
