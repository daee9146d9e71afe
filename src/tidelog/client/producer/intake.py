"""What a producer does for each record: check it, choose its partition, put it into its batch. Never waits.

Compiled (decision 37). What has to be waited for, an unknown topic or room in the buffer, and what is refused, is left
to `tidelog.client.producer.producer`.
"""

from __future__ import annotations

from collections.abc import Callable

from tidelog.client.cluster.cluster import Cluster
from tidelog.client.producer.batches import Accumulator, ProducerBatch, size_of_record
from tidelog.client.producer.delivery import Delivery
from tidelog.client.producer.partition_choice import KnownTopic, PartitionChoice, named_partition
from tidelog.client.producer.payloads import as_bytes
from tidelog.records.record import Header


class Intake:
    """The way of a record into its batch."""

    def __init__(
        self,
        cluster: Cluster,
        accumulator: Accumulator,
        choice: PartitionChoice,
        *,
        largest_record: int,
        buffer_memory: int,
    ) -> None:
        self._cluster = cluster
        self._now_ms: Callable[[], int] = cluster.clock.now_ms
        self._monotonic_ms: Callable[[], float] = cluster.clock.monotonic_ms
        self._accumulator = accumulator
        self._choice = choice
        self._metadata = cluster.metadata
        self._topics: dict[str, KnownTopic] = {}
        self._largest_record = largest_record
        self._buffer_memory = buffer_memory
        # Called when a batch has begun or is closed: the sender has something to do.
        self.on_work: Callable[[], None] | None = None
        # Batches whose outcome is not known. A dictionary keeps its order; sets have another one in every run.
        self.unfinished: dict[ProducerBatch, None] = {}
        # Whether the last record has closed a batch, which may go as soon as the event loop gets a turn.
        self.has_closed_a_batch = False

    def take(
        self,
        topic: str,
        value: object,
        key: object,
        headers: tuple[Header, ...],
        partition: object,
        timestamp_ms: object,
    ) -> Delivery | None:
        """Put the record into its batch; None if something has to be waited for or is not in order."""
        key_bytes = key if key is None or type(key) is bytes else as_bytes("key", key)
        value_bytes = value if value is None or type(value) is bytes else as_bytes("value", value)
        size = size_of_record(key_bytes, value_bytes, headers)
        if size > self._largest_record or self._accumulator.pending_bytes + size > self._buffer_memory:
            return None
        found = self.known_topic(topic)
        if found is None:
            return None
        if partition is not None and (type(partition) is not int or partition >= len(found.partitions)):
            return None
        if timestamp_ms is None:
            timestamp = self._now_ms()
        elif type(timestamp_ms) is int:
            timestamp = timestamp_ms
        else:
            return None
        return self.put(found, key_bytes, value_bytes, headers, size, partition, timestamp)

    def known_topic(self, name: str) -> KnownTopic | None:
        """None if nothing is known of its partitions."""
        metadata = self._cluster.metadata
        if metadata is not self._metadata:
            # Another picture of the cluster: each is immutable.
            self._metadata = metadata
            self._topics.clear()
        known = self._topics.get(name)
        if known is None:
            found = metadata.topics.get(name)
            if found is None or not found.partitions:
                return None
            known = KnownTopic(found)
            self._topics[name] = known
        return known

    def put(
        self,
        topic: KnownTopic,
        key: bytes | None,
        value: bytes | None,
        headers: tuple[Header, ...],
        size: int,
        partition: int | None,
        timestamp_ms: int,
    ) -> Delivery:
        """The same for a record that has been checked, and for which there is room."""
        closed_before = self._accumulator.closed
        if partition is None:
            target = self._choice.choose(topic, key, value, size)
        else:
            target = named_partition(topic, partition)
        batch, index = self._accumulator.append(target, (timestamp_ms, key, value, headers), size, self._monotonic_ms)
        # Either it is full with this record, or the one before it had no room for this record.
        self.has_closed_a_batch = self._accumulator.closed != closed_before
        if index == 0:
            self.unfinished[batch] = None
        if index == 0 or self.has_closed_a_batch:
            assert self.on_work is not None
            self.on_work()
        return Delivery(batch, index)
